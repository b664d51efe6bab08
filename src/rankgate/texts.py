"""Texts as matching and metrics compare them: folded, as sets of words, and freed of what a chat log puts in front."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import lru_cache

_DATE_LINE = re.compile(r"\A\s*Date:[^\n]*\n?")
_SPEAKER = re.compile(r"^[ \t]*(?:user|assistant): ", re.MULTILINE)


def folded(text: str) -> str:
    """Case folded, and every run of white space one blank: how two texts compare as the same."""
    return " ".join(text.casefold().split())


def words(text: str) -> list[str]:
    """The words of a text, case folded: runs of letters, digits and underscores of any script."""
    return re.findall(r"\w+", text.casefold())


def share_of_words(text: str, other: str) -> float:
    """Share of the distinct words of `text` that `other` has too; 0 where it has no word."""
    own = _distinct(text)
    return len(own & _distinct(other)) / len(own) if own else 0.0


def lies_in(text: str, passage: str, similarity: float = 1.0) -> bool:
    r"""Whether a retrieved text is part of a passage of the gold.

    A leading `Date: …` line and the prefixes `user: ` and `assistant: ` at the start of lines are removed from both,
    and white space is folded; case counts. A text that was JSON-escaped (`\n` for a line break) is tried as well.

    Args:
        text: of the retrieved item; an empty one lies in nothing.
        passage: of the gold.
        similarity: below 1, it is enough that this share of the item's words, each as often as it stands there, is in
            the passage.
    """
    item, whole = _plain(text), _plain(passage)
    if not item:
        return False
    if item in whole or _plain(_unescaped(text)) in whole:
        return True
    if similarity >= 1:
        return False
    own = Counter(words(item))
    return sum((own & Counter(words(whole))).values()) >= similarity * own.total() > 0


@lru_cache(maxsize=4096)
def _distinct(text: str) -> frozenset[str]:
    return frozenset(words(text))


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(_SPEAKER.sub("", _DATE_LINE.sub("", text)).split())


def _unescaped(text: str) -> str:
    """The text that a JSON string with this content stands for; as it is where it is no such content."""
    try:
        value = json.loads(f'"{text}"')
    except ValueError:
        return text
    return value if isinstance(value, str) else text
