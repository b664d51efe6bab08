"""A name that is none of our metrics: families of other packages, by their entry points; or what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import entry_points

from rankgate.errors import bad_input
from rankgate.metrics.base import RERANK_GAIN, REWRITE_GAIN, BaseMetric
from rankgate.metrics.registry import PRESETS, Meaning, families, named

# What names mean beyond our families; None: whatever is installed.
_KNOWN: ContextVar[tuple[type[BaseMetric], ...] | None] = ContextVar("known", default=None)

ENTRY_POINT_GROUP = "rankgate.metrics"
REQUIRED = ("key", "formula", "plain")  # what a family must say of itself

# What other tools compute and rankgate does not, by patterns of their names, each with what to write instead.
ELSEWHERE: dict[str, str] = {
    r"delta": "the change from the baseline is what `regression_max` of a gate on the metric itself looks at, and what "
    "reranking adds is rerank_gain(ndcg@5)",
    r"gm_?map|g_?map|geometric_map": "values are means over the questions, and none is geometric; write map",
    r"iprec.*|11_?pt.*|interpolated_.*": "precision at levels of recall is not computed; write map, or precision@5",
    r"x?inf_?ap|x?inf_?ndcg": "nothing is inferred of unjudged documents; write map(judged_only=true), or bpref",
    r"alpha_?n?dcg|err_ia|nrbp": "the gold has no subtopics; write ndcg@10, and novelty@10 for what repeats",
}
# Further names of what a model judges.
JUDGED = r"(context|answer|response|semantic)_\w+|hallucination"

_SHORT = 3  # letters; words as short are each other's neighbours


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
        entry_point = f"entry point {point.name!r} of {ENTRY_POINT_GROUP}"
        try:
            family = point.load()
        except Exception as error:
            raise bad_input(f"{entry_point}: {point.value} cannot be imported: {error}") from error
        if not (isinstance(family, type) and issubclass(family, BaseMetric)):
            raise bad_input(f"{entry_point}: {point.value} is not a subclass of rankgate.metrics.base.BaseMetric")
        lacking = [name for name in REQUIRED if not hasattr(family, name)]
        names = (getattr(family, "key", ""), *family.aliases)
        clash = taken.intersection(names)
        if clash:
            raise bad_input(f"{entry_point}: the name {min(clash)!r} is already taken")
        strange = [name for name in names if name and not re.fullmatch(r"(?!\w*_\d+$)[a-z][a-z0-9_]*", name)]
        if strange:  # an end as _5 is a cut-off
            raise bad_input(
                f"{entry_point}: the name {strange[0]!r} must be lower-case letters, digits and underscores"
            )
        if lacking:
            raise bad_input(f"{entry_point}: {point.value} has no {lacking[0]}")
        if family.reads and not any("kind" in vars(base) for base in family.__mro__ if base is not BaseMetric):
            what = "reads more than ids and gains, so it has to say what of a retrieval it measures: `kind`"
            raise bad_input(f"{entry_point}: {point.value} {what}")
        taken.update(names)
        accepted[family] = (point.dist.name, point.dist.version) if point.dist else (point.value, "")
    return accepted


def why_unknown(stem: str, cutoff: str | None) -> str:
    """What to write instead of the name with this stem, and why it is unknown where that is not plain."""
    instead = elsewhere(stem)
    if instead is not None:
        return instead
    at = f"@{cutoff.lower()}" if cutoff else ""
    if re.fullmatch(JUDGED, stem):
        what = f"a model judges it; write its numbers into `scores` of the run's lines and name it score({stem})"
    elif stem == "hits":  # ranx counts, others take it for the share
        what = f"some tools count relevant documents by it; write hit{at} for whether there is one, or precision{at}"
    else:
        meant = _meant(stem)
        what = f"did you mean {meant + at!r}?" if meant else "`rankgate metrics` lists them"
    if _KNOWN.get() is not None:  # then names mean nothing else of packages
        what += "; a metric of a package that no gate of the base uses counts once it is merged"
    return what


def elsewhere(stem: str) -> str | None:
    """What is near to a metric that other tools compute and rankgate does not; None for any other."""
    return next((instead for pattern, instead in ELSEWHERE.items() if re.fullmatch(pattern, stem)), None)


def _meant(stem: str) -> str | None:
    """What a word is mistyped from: nearly alike, its first letter and its digits the same: not `idcg`, not `mmr`."""
    digits = re.sub(r"\D", "", stem)
    known = [*words(), RERANK_GAIN, REWRITE_GAIN] if len(stem) > _SHORT else []
    candidates = [word for word in known if word[0] == stem[0] and re.sub(r"\D", "", word) == digits]
    swapped = [word for word in candidates if sorted(word) == sorted(stem)]
    nearest = swapped or difflib.get_close_matches(stem, candidates, 1, 0.87)
    return nearest[0] if nearest else None
