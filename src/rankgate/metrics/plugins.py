"""Metric families of other packages, by their entry points: looked for only where a name is none of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import entry_points

from rankgate.errors import bad_input
from rankgate.metrics.base import BaseMetric
from rankgate.metrics.registry import PRESETS, Meaning, families, named

# What names mean beyond our families; None: whatever is installed.
_KNOWN: ContextVar[tuple[type[BaseMetric], ...] | None] = ContextVar("known", default=None)

ENTRY_POINT_GROUP = "rankgate.metrics"
REQUIRED = ("key", "formula", "plain")  # what a family must say of itself


def find_installed(word: str) -> Meaning | None:
    """The family of a package for a key or an alias in lower case."""
    family = named(word, plugins())
    return (family, {}, "") if family else None


def words() -> list[str]:
    """Every name under which a family is found."""
    return [word for family in (*families(), *plugins()) for word in (family.key, *family.aliases)] + list(PRESETS)


def plugins() -> tuple[type[BaseMetric], ...]:
    """Families of installed packages, by entry point name; within `known_alone` those alone that it was given."""
    known = _KNOWN.get()
    return tuple(_installed()) if known is None else known


@contextmanager
def known_alone(metrics: Iterable[BaseMetric]) -> Iterator[None]:
    """Names mean our families and those of these metrics, and no package is imported for another."""
    token = _KNOWN.set(_of_packages(metrics))
    try:
        yield
    finally:
        _KNOWN.reset(token)


def knows_alone() -> bool:
    """Whether names mean nothing of packages but what was given."""
    return _KNOWN.get() is not None


def packages_of(metrics: Iterable[BaseMetric]) -> dict[str, str]:
    """The packages that gave these metrics, with their versions; we are none of them."""
    families = _of_packages(metrics)
    return dict(sorted(_installed()[family] for family in families if family in _installed()))


def _of_packages(metrics: Iterable[BaseMetric]) -> tuple[type[BaseMetric], ...]:
    """The families of these metrics, or of what they are around, that are not ours; nothing is imported for them."""
    measured: list[BaseMetric] = [getattr(metric, "metric", metric) for metric in metrics]
    families = [type(metric) for metric in measured]
    return tuple(dict.fromkeys(family for family in families if family.__module__.partition(".")[0] != "rankgate"))


@cache
def _installed() -> dict[type[BaseMetric], tuple[str, str]]:
    """Families of installed packages, from the entry points `rankgate.metrics`, with the package and its version.

    An entry point names a subclass of `BaseMetric`. A key or alias that is already taken is an error: no package may
    change what `recall` means.
    """
    taken = {word for family in families() for word in (family.key, *family.aliases)} | set(PRESETS)
    accepted: dict[type[BaseMetric], tuple[str, str]] = {}
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        place = f"entry point {point.name!r} of {ENTRY_POINT_GROUP}"
        try:
            family = point.load()
        except Exception as error:
            raise bad_input(f"{place}: {point.value} cannot be imported: {error}") from error
        if not (isinstance(family, type) and issubclass(family, BaseMetric)):
            raise bad_input(f"{place}: {point.value} is not a subclass of rankgate.metrics.base.BaseMetric")
        lacking = [name for name in REQUIRED if not hasattr(family, name)]
        names = (getattr(family, "key", ""), *family.aliases)
        clash = taken.intersection(names)
        if clash:
            raise bad_input(f"{place}: the name {min(clash)!r} is already taken")
        strange = [name for name in names if name and not re.fullmatch(r"(?!\w*_\d+$)[a-z][a-z0-9_]*", name)]
        if strange:  # an end as _5 is a cut-off
            raise bad_input(f"{place}: the name {strange[0]!r} must be lower-case letters, digits and underscores")
        if lacking:
            raise bad_input(f"{place}: {point.value} has no {lacking[0]}")
        if family.reads and not any("kind" in vars(base) for base in family.__mro__ if base is not BaseMetric):
            what = "reads more than ids and gains, so it has to say what of a retrieval it measures: `kind`"
            raise bad_input(f"{place}: {point.value} {what}")
        taken.update(names)
        accepted[family] = (point.dist.name, point.dist.version) if point.dist else (point.value, "")
    return accepted
