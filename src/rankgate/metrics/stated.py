"""What rankings state of what metrics read beyond ids."""

from __future__ import annotations

from rankgate.model.values import LINE_KEYS, Ranking, RunField

# What items state, by the key of `Item`. A document id may be missing: it is part of the item's id then.
_ITEM_KEYS = {RunField.TEXTS: "text", RunField.VERSIONS: "version", RunField.ITEM_SCORES: "score"}
STATED = (*_ITEM_KEYS, RunField.OFFSETS, RunField.ANSWER, *LINE_KEYS)


class StatedFields:
    """Which of these fields some ranking states, as rankings go by."""

    def __init__(self, needs: frozenset[RunField]) -> None:
        self._required = [need for need in STATED if need in needs]
        self._stated: set[RunField] = set()
        self._lacking: dict[RunField, str] = {}  # the first query that could have stated it

    def add(self, ranking: Ranking) -> None:
        """The next ranking."""
        if len(self._stated) == len(self._required):
            return
        for need in self._required:
            stated = states(ranking, need)
            if stated:
                self._stated.add(need)
            elif stated is not None:
                self._lacking.setdefault(need, ranking.query_id)

    @property
    def unstated(self) -> dict[RunField, str]:
        """What no ranking has stated, each with the first query that could have."""
        return {need: query_id for need, query_id in self._lacking.items() if need not in self._stated}


def states(ranking: Ranking, need: RunField) -> bool | None:
    """Whether a ranking states what a need reads; None where it has no item that could."""
    details = ranking.details
    if need is RunField.ANSWER:
        return details is not None and details.generated is not None
    if need in LINE_KEYS:
        return details is not None and getattr(details, LINE_KEYS[need]) is not None
    items = details.items if details else None
    if need is RunField.OFFSETS and ranking.ids:
        return any(item.start is not None or item.text is not None for item in items or ())
    return any(getattr(item, _ITEM_KEYS[need]) is not None for item in items or ()) if ranking.ids else None
