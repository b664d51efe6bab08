"""What differs between a run and its baseline beside the rankings: what each says of itself, and the gold set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rankgate.model.differences import (
    AS_OF,
    COMPONENTS,
    GOLD,
    KNOWN_KEYS,
    LABELS,
    OTHER,
    QUESTIONS,
    RECORDING,
    Difference,
    text_of,
)
from rankgate.model.lineage import GoldMark

_OF_STORE = "accepted"  # the one fact that a store adds to what the run said of itself
_DEEPEST = 8  # levels of mappings that are compared key by key


def run_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Where what two runs say of themselves differs, by component, then other keys in the order of the alphabet."""
    differences: list[Difference] = []
    for what, keys in COMPONENTS.items():
        old = {key: before[key] for key in keys if before.get(key) is not None}
        new = {key: after[key] for key in keys if after.get(key) is not None}
        if len(old) <= 1 and len(new) <= 1:  # the same thing, whatever each calls it
            differences += _differences(what, None, next(iter(old.values()), None), next(iter(new.values()), None))
        else:
            differences += [each for key in keys for each in _differences(what, key, old.get(key), new.get(key))]
    for key in sorted((before.keys() | after.keys()) - KNOWN_KEYS - {_OF_STORE, RECORDING}):
        differences += _differences(OTHER, key, before.get(key), after.get(key))
    return differences


def gold_differences(then: GoldMark | None, now: GoldMark) -> list[Difference]:
    """Where the gold set differs from the one that was current when the baseline was accepted.

    Labels and questions are fingerprints, `as_of` is the first and last day.
    """
    if then is None:
        return []
    values: dict[str, tuple[str | None, str | None]] = {
        LABELS: (then.fingerprint, now.fingerprint),
        QUESTIONS: (then.queries_fingerprint, now.queries_fingerprint),
        AS_OF: (_range(then.as_of), _range(now.as_of)),
    }
    return [Difference(what=GOLD, key=key, before=old, after=new) for key, (old, new) in values.items() if old != new]


def _differences(what: str, key: str | None, before: object, after: object, depth: int = 0) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict) and depth < _DEEPEST:
        for inner in sorted(before.keys() | after.keys()):
            path = inner if key is None else f"{key}.{inner}"
            yield from _differences(what, path, before.get(inner), after.get(inner), depth + 1)
        return
    old = None if before is None else text_of(before)
    new = None if after is None else text_of(after)
    if old != new:
        yield Difference(what=what, key=key, before=old, after=new)


def _range(days: tuple[str, str] | None) -> str | None:
    return days and (days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}")
