"""Queries by tag: `lang:pt-BR` has the key lang and the value pt-BR; a bare word is a key without a value."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.model import Gold, Sample
from rankgate.report import BARE_TAG

CROSSED = " × "


def segments_of(gold: Gold, keys: Sequence[str]) -> dict[str, list[int]]:
    """Rows of the gold by segment, sorted by name: `lang:en`, or `lang:en × topic:billing` for several keys.

    A query belongs to every segment of which it has all tags; one that lacks a key belongs to none.
    """
    found: dict[str, list[int]] = {}
    for row, sample in enumerate(gold.samples.values()):
        names = [""]
        for key in keys:
            values = dict.fromkeys(_values(sample, key))
            names = [f"{name}{CROSSED if name else ''}{key}:{value}" for name in names for value in values]
        for name in names:
            if name:
                found.setdefault(name, []).append(row)
    return dict(sorted(found.items()))


def split_tag(tag: str) -> tuple[str, str]:
    """The dimension and the value of a tag, as a report's segment has them."""
    dimension, colon, value = tag.partition(":")
    return (dimension, value) if colon else (BARE_TAG, tag)


def _values(sample: Sample, key: str) -> list[str]:
    pairs = (tag.partition(":") for tag in sample.tags)
    return [value for name, colon, value in pairs if colon and name == key]
