"""Texts as matching and metrics compare them: folded, as sets of words, and freed of what a chat log puts in front."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import lru_cache

_DATE_LINE = r"\A\s*Date:[^\n]*\n?"
_SPEAKER = r"(?m)^[ \t]*(?:user|assistant): "


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
    and white space is folded; case counts. Where only one side was JSON-escaped (`\n` for a line break) they match too.

    Args:
        text: of the retrieved item; an empty one lies in nothing.
        passage: of the gold.
        similarity: below 1, it is enough that this share of the item's words, each as often as it stands there, is in
            the passage.
    """
    whole = _plain(passage)
    readings = (text, _unescaped(text), json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    items = [item for item in dict.fromkeys(map(_plain, readings)) if item]
    if any(item in whole for item in items):
        return True
    return similarity < 1 and any(_share_of_occurrences(item, whole) >= similarity for item in items)


def _share_of_occurrences(text: str, other: str) -> float:
    own = Counter(words(text))
    return (own & Counter(words(other))).total() / own.total() if own else 0.0


@lru_cache(maxsize=4096)
def _distinct(text: str) -> frozenset[str]:
    return frozenset(words(text))


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(re.sub(_SPEAKER, "", re.sub(_DATE_LINE, "", text)).split())


def _unescaped(text: str) -> str:
    """The text that a JSON string with this content stands for; as it is where it is no such content."""
    if "\\" not in text:
        return text
    try:
        value = json.loads(f'"{text}"')
    except ValueError:
        return text
    return value if isinstance(value, str) else text
