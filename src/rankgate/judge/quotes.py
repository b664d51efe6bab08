"""Whether a quote stands in the texts that it is said to be from, found without a model.

An invented quote fails; a true one that proves nothing passes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

MIN_LENGTH = 12
MAX_LENGTH = 240
_OMISSION = re.compile(r"\[?(?:…|\.{3,})\]?")
# Scripts that say in one character what takes others two: Thai, Lao, Burmese, Khmer, Kana, Han and Hangul.
_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
_QUOTES = "\"'`\u00b4\u02b9\u02ba\u02bc\u201a\u201e\u2032\u2033\u301d\u301e\u301f"
_FOLDED = {  # by Unicode's category: no format characters, one blank, one dash, one quote
    "Cf": None,
    **dict.fromkeys(("Cc", "Zs", "Zl", "Zp"), " "),
    "Pd": "-",
    "Pi": "'",
    "Pf": "'",
}


class _Folding(dict[int, str | None]):
    """What each character becomes: filled as characters come."""

    def __missing__(self, code: int) -> str | None:
        self[code] = _FOLDED.get(unicodedata.category(chr(code)), chr(code))
        return self[code]


_FOLDING = _Folding({**dict.fromkeys(map(ord, _QUOTES), "'"), 0x2212: "-"})


def verified(quote: str, passages: Sequence[str]) -> bool:
    """Whether each piece of a quote, which is cut at `…`, stands in one of the passages.

    Case, white space, format characters, kinds of quotes and dashes and what Unicode holds for the same (NFKC) do not
    count. A piece has at least 12 characters without white space, of which one in Han, Kana, Hangul, Thai and the like
    counts twice, or else is the entire passage. All pieces together have at most 240.
    """
    pieces = [piece for piece in map(_folded, _OMISSION.split(quote)) if piece]
    length = sum(len(_composed(piece)) for piece in pieces)
    texts = [_folded(passage) for passage in passages]
    return 0 < length <= MAX_LENGTH and all(_stands(piece, texts) for piece in pieces)


def _stands(piece: str, texts: Sequence[str]) -> bool:
    """Whether a piece is a part of one of the texts; a short one, whether it is one of them. All are folded."""
    composed = _composed(piece)
    if len(composed) + len(_DENSE.findall(composed)) >= MIN_LENGTH:
        return any(piece in text for text in texts)
    return piece in texts


def _composed(piece: str) -> str:
    return unicodedata.normalize("NFC", piece)


@lru_cache(maxsize=512)  # the passages of a question come once a statement
def _folded(text: str) -> str:
    """Decomposed, so that a letter is found whether its accent follows or is part of it, in any order of accents.

    Blanks go last: until then they part a letter from the accents of another, such as that of a cedilla alone.
    """
    plain = unicodedata.normalize("NFKD", text.translate(_FOLDING)).casefold()
    folded = unicodedata.normalize("NFKD", plain).translate(_FOLDING).replace(" ", "")
    return folded.replace("i\u0307", "i").replace("\u0131", "i")  # Turkish: two letters, of which case makes three
