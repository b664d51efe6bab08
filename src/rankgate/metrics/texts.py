"""Texts as matching and metrics compare them: folded, as sets of words, and freed of what a chat log puts in front."""

from __future__ import annotations

import json
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

_DATE_LINE = r"\A\s*Date:[^\n]*\n?"
_SPEAKER = r"(?m)^[ \t]*(?:user|assistant): "
# Quotes and dashes of any kind are one; soft hyphens and marks without width are none.
_SINGLE, _DOUBLE = "\u2018\u2019\u201a\u201b\u2032`\u00b4\u02bc", "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"
_NO_WIDTH = "\xad\u200b\u200c\u200d\u2060\ufeff"
_FOLDED = {ord(sign): "'" for sign in _SINGLE} | {ord(sign): '"' for sign in _DOUBLE} | {0x2212: "-"}
_FOLDED |= dict.fromkeys(range(0x2010, 0x2016), "-") | dict.fromkeys(map(ord, _NO_WIDTH), "")
# What words are made of where blanks part them and no particle is attached: Latin, Greek, Cyrillic, Armenian, the
# scripts of India, Georgian, Ethiopic, and digits. Chinese, Japanese, Thai, Korean, Arabic and Hebrew are not so.
_OF_WORDS = (
    r"[0-9A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u0559\u0560-\u0588\u0900-\u0963\u0966-\u0dff\u10a0-\u10fa"
    r"\u10fc-\u10ff\u1200-\u135f\u1e00-\u1fff]"
)


def folded(text: str) -> str:
    """How two texts compare as the same: NFKC, case, quotes and dashes folded, every run of white space one blank."""
    plain = unicodedata.normalize("NFKC", text.translate(_FOLDED)).casefold()
    # Of a Turkish capital I case folding leaves the dot.
    return " ".join(unicodedata.normalize("NFKC", plain).replace("i\u0307", "i").split())


def primary(text: str) -> str:
    """`folded`, and without what a script does not tell words apart by, or what people leave out as they type.

    | script | alike |
    |:--|:--|
    | any | decimal digits: ٣٠, ۳۰, ३०, ๓๐ and 30; in Arabic numbers ٫ and `.`, ٬ and `,`, ٪ and % |
    | Arabic, Persian, Urdu | with and without points and tatweel; أ إ آ ٱ and ا; ى ی and ي; ک and ك; ة and ه |
    | Hebrew | with and without points; final letters and others |
    | Greek | with and without accents, as capitals are written |
    | Cyrillic | ё and е |

    So it is by ICU's collation at primary strength, for the root or the language, and for Arabic's alef and teh marbuta
    by Lucene's ArabicNormalizer. Accents of Latin letters, which that strength ignores too, count all the same: año and
    ano, sí and si are two words. So do the vowel signs of other scripts.
    """  # noqa: RUF002 -- letters of other scripts
    return folded(text).translate(_PRIMARY)


class _Primary(dict[int, str]):
    """What `primary` makes of a folded sign, worked out once each."""

    pairs = str.maketrans("أإآٱىیکةךםןףץё٫٬٪", "ااااييكهכמנפצе.,%", "ـ")  # noqa: RUF001
    greek = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
    points = re.compile("[\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]")

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        plain = sign.translate(self.pairs)
        if sign.isdecimal():
            plain = str(unicodedata.decimal(sign))
        elif self.greek.match(sign):
            plain = unicodedata.normalize("NFD", sign)[0]
        elif self.points.match(sign) and unicodedata.combining(sign):
            plain = ""
        self[code] = plain
        return plain


_PRIMARY = _Primary()


def stands_in(words: str, text: str) -> bool:
    """Whether these words stand in a text, both folded, not within a longer word or number: "art" not in "party".

    Where a script does not part words by blanks, or attaches particles to them, any place counts.
    """
    return next(starts_of(words, text), None) is not None


def starts_of(words: str, text: str) -> Iterator[int]:
    """Where these words begin in a text as in `stands_in`, in order; places may overlap."""
    at = text.find(words) if words else -1
    bordered = re.compile(_apart(words, re.escape(words)) if at >= 0 else "")
    while at >= 0:
        if bordered.match(text, at):
            yield at
        at = text.find(words, at + 1)


def _apart(words: str, pattern: str) -> str:
    """The pattern of words with what must not stand right before and after them."""
    if re.match(_OF_WORDS, words[0]):
        no_decimals = r"(?<!\d[.,])" if words[0].isdigit() else ""
        pattern = rf"(?<!{_OF_WORDS}){no_decimals}{pattern}"
    if re.match(_OF_WORDS, words[-1]):
        no_decimals = r"(?![.,]\d)" if words[-1].isdigit() else ""
        pattern = rf"{pattern}(?!{_OF_WORDS}){no_decimals}"
    return pattern


def places(words: str, text: str, *, borders: bool = True) -> Iterator[tuple[int, int]]:
    """Where words stand in a text, as code points; neither white space nor the kind of quotes and dashes counts.

    With `borders` not within a longer word, as in `stands_in`, and case does not count either. Found are also words
    that are the same under NFKC and without marks that have no width, where whole signs of the text make them up.
    """
    stretches = [*_occurrences(_alike(words), _alike(text), borders=borders)]
    if not (words.isascii() and text.isascii()) and _folded(words) in _folded(text):
        wanted, _ = _flat(words)
        flat, begins = _flat(text)
        taken = {at for span in stretches for at in range(*span)}
        for start, end in _occurrences(wanted, flat, borders=borders):
            first, last = begins[start], begins[end]
            last = first + len(text[first:last].rstrip(_NO_WIDTH))
            parted = (start and begins[start - 1] == first) or begins[end - 1] == begins[end]
            if not parted and taken.isdisjoint(range(first, last)):
                stretches.append((first, last))
    yield from sorted(stretches)


def _occurrences(words: str, text: str, *, borders: bool) -> Iterator[tuple[int, int]]:
    wanted = words.split()
    if not wanted:
        return
    pattern = r"\s+".join(map(re.escape, wanted))
    if borders:
        pattern = f"(?i){_apart(''.join(wanted), pattern)}"
    yield from (occurrence.span() for occurrence in re.finditer(pattern, text))


def words(text: str) -> list[str]:
    """The words of a text, case folded: runs of letters, digits and underscores of any script."""
    return re.findall(r"\w+", text.casefold())


def share_of_words(text: str, other: str) -> float:
    """Share of the distinct words of `text` that `other` has too; 0 where it has no word."""
    distinct = _distinct(text)
    return len(distinct & _distinct(other)) / len(distinct) if distinct else 0.0


def lies_in(text: str, passage: str, similarity: float = 1.0) -> bool:
    r"""Whether a retrieved text is part of a passage of the gold.

    A leading `Date: …` line and the prefixes `user: ` and `assistant: ` at the start of lines are removed from both,
    and white space is folded; case counts. Where only one of them was JSON-escaped (`\n` for a line break) they match
    too. An empty text lies in nothing. With a `similarity` below 1, it is enough that this share of the item's words,
    each as often as it stands there, is in the passage.
    """
    plain_passage = _plain(passage)
    readings = (text, unescaped(text), json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    items = [item for item in dict.fromkeys(map(_plain, readings)) if item]
    if any(item in plain_passage for item in items):
        return True
    return similarity < 1 and any(_share_of_occurrences(item, plain_passage) >= similarity for item in items)


def _share_of_occurrences(text: str, other: str) -> float:
    occurrences = Counter(words(text))
    return (occurrences & Counter(words(other))).total() / occurrences.total() if occurrences else 0.0


@lru_cache(maxsize=4096)
def _alike(text: str) -> str:
    return text.translate({sign: plain for sign, plain in _FOLDED.items() if plain})  # one for one: places stay


_folded = lru_cache(maxsize=4096)(folded)


@lru_cache(maxsize=16)  # its places take four times the text
def _flat(text: str) -> tuple[str, Sequence[int]]:
    """A text as `folded` has it before case, and where in `text` what each code point comes from begins; then the end.

    Signs that NFKC changes together, such as a letter and its accent, begin at one place.
    """
    normal = partial(unicodedata.normalize, "NFKC")
    parts: list[str] = []
    begins = array("I")
    part = ""
    begin = 0
    for at, sign in enumerate(f"{text}\n"):  # which ends the last part, and stands apart from it
        plain = _FOLDED.get(ord(sign), sign)
        joined = plain and part and not plain.isascii()
        if joined and (unicodedata.combining(plain) or normal(part + plain) != normal(part) + normal(plain)):
            part += plain
        elif plain:
            parts.append(normal(part))
            begins.extend([begin] * len(parts[-1]))
            part, begin = plain, at
    begins.append(begin)
    return "".join(parts), begins


@lru_cache(maxsize=4096)
def _distinct(text: str) -> frozenset[str]:
    return frozenset(words(text))


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(re.sub(_SPEAKER, "", re.sub(_DATE_LINE, "", text)).split())


def unescaped(text: str) -> str:
    """The text that a JSON string with this content stands for; as it is where it is no such content."""
    if "\\" not in text:
        return text
    try:
        value = json.loads(f'"{text}"')
    except ValueError:
        return text
    return value if isinstance(value, str) else text
