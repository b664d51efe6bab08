"""Judgments of very many questions, of which most have a few."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping
from functools import lru_cache

_FEW = 5  # entries of the smallest dict, which takes the same with one


@lru_cache(maxsize=4096)
def _shared(gains: tuple[float, ...]) -> tuple[float, ...]:
    return gains


class FewGains(Mapping[str, float]):
    """Gains by id, of which there is at least one and none has several lines.

    The ids as one text, and a tuple that equal gains share, take half of what a dict does.
    """

    __slots__ = ("_docs", "_gains")

    def __init__(self, docs: str, gains: Iterable[float]) -> None:
        self._docs = docs
        self._gains = _shared(tuple(gains))

    def __getitem__(self, doc: str) -> float:
        return dict(self.items())[doc]

    def __iter__(self) -> Iterator[str]:
        return iter(self._docs.split("\n"))

    def __len__(self) -> int:
        return len(self._gains)

    def items(self) -> ItemsView[str, float]:
        """As those of a dict, in its order."""
        return dict(zip(self._docs.split("\n"), self._gains)).items()  # noqa: B905 -- `strict` shows on the hot path


def compact(gains: Mapping[str, float]) -> Mapping[str, float]:
    """The same gains in less memory."""
    docs = "\n".join(gains)
    few = 0 < len(gains) <= _FEW and docs.count("\n") == len(gains) - 1
    return FewGains(docs, gains.values()) if few else gains
