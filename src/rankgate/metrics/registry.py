"""The explicit table of metric families, in display order, and the door for those of other packages.

Adding a metric takes its class and one row here. A module is imported when a name is not one of the rows before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module

from rankgate.errors import bad_input
from rankgate.metrics.base import BaseMetric

# Those that read ids and gains alone come first, and then those of which most checks ask for none.
ROWS = (
    "rankgate.metrics.sets:Hit",
    "rankgate.metrics.sets:Recall",
    "rankgate.metrics.sets:RecallAll",
    "rankgate.metrics.sets:CappedRecall",
    "rankgate.metrics.sets:WeightedRecall",
    "rankgate.metrics.ranks:RecallAUC",
    "rankgate.metrics.sets:Precision",
    "rankgate.metrics.sets:F",
    "rankgate.metrics.ranks:ReciprocalRank",
    "rankgate.metrics.ranks:AveragePrecision",
    "rankgate.metrics.ranks:RPrecision",
    "rankgate.metrics.ranks:BinaryPreference",
    "rankgate.metrics.ranks:RankBiasedPrecision",
    "rankgate.metrics.ranks:RankBiasedResidual",
    "rankgate.metrics.gains:DCG",
    "rankgate.metrics.gains:NDCG",
    "rankgate.metrics.gains:ERR",
    "rankgate.metrics.lines:Latency",
    "rankgate.metrics.contents:NegativesAbove",
    "rankgate.metrics.lines:FalseEvidenceRate",
    "rankgate.metrics.contents:Judged",
    "rankgate.metrics.contents:Holes",
    "rankgate.metrics.passages:PassageRecall",
    "rankgate.metrics.passages:PassagePrecision",
    "rankgate.metrics.passages:PassageIoU",
    "rankgate.metrics.contents:Containment",
    "rankgate.metrics.contents:DistinctDocs",
    "rankgate.metrics.contents:Redundancy",
    "rankgate.metrics.contents:Novelty",
    "rankgate.metrics.contents:Freshness",
    "rankgate.metrics.lines:SourceCoverage",
    "rankgate.metrics.lines:MisrouteRate",
    "rankgate.metrics.lines:SourceShare",
    "rankgate.metrics.lines:EntityF1",
    "rankgate.metrics.lines:GivenRate",
    "rankgate.metrics.answers:Faithfulness",
    "rankgate.metrics.answers:UnfaithfulRate",
    "rankgate.metrics.answers:AnsweredRate",
    "rankgate.metrics.answers:AbstainedRate",
    "rankgate.metrics.answers:ClaimRecall",
    "rankgate.metrics.answers:VitalClaimRecall",
    "rankgate.metrics.answers:FactualCorrectness",
    "rankgate.metrics.contexts:ContextRecall",
    "rankgate.metrics.contexts:ContextPrecision",
    "rankgate.metrics.contexts:ContextUtilization",
    "rankgate.metrics.answers:NoiseSensitivity",
    "rankgate.metrics.contexts:CitationPrecision",
    "rankgate.metrics.contexts:CitationRecall",
    "rankgate.metrics.answers:AnswerRelevancy",
    "rankgate.metrics.answers:Rubric",
    "rankgate.metrics.lines:Score",
    "rankgate.metrics.drift:Overlap",
    "rankgate.metrics.drift:RankBiasedOverlap",
    "rankgate.metrics.references:AnswerContains",
    "rankgate.metrics.references:ExactMatch",
    "rankgate.metrics.references:TokenF1",
)

# Other tools' names that stand for a family with parameters and, where none is written, a cut-off; `?` asks for one.
Preset = tuple[str, dict[str, str], str]
_SET = {"of": "retrieved"}
_EXPONENTIAL = {"gain": "exponential"}
_ENGLISH = {"articles": "dropped"}
_RAGAS = ("ranked_context_precision", "nonllmcontextprecisionwithreference", "non_llm_context_precision_with_reference")
PRESETS: dict[str, Preset] = {
    "ndcg_any": ("ndcg", {"gain": "binary"}, ""),  # LongMemEval
    "recall_any": ("hit", {}, "?"),
    "f1": ("f", {"beta": "1"}, ""),
    "f2": ("f", {"beta": "2"}, ""),
    **dict.fromkeys(("set_p", "setp", "id_based_context_precision"), ("precision", _SET, "all")),  # trec_eval, …, Ragas
    **dict.fromkeys(("set_recall", "setr", "id_based_context_recall"), ("recall", {}, "all")),
    **dict.fromkeys(("set_f", "setf"), ("f", _SET, "all")),
    **dict.fromkeys(_RAGAS, ("ap", _SET, "all")),
    "squad_em": ("exact_match", _ENGLISH, ""),
    "squad_f1": ("token_f1", _ENGLISH, ""),
    "map_cut": ("ap", {}, "?"),
    "ndcg_cut": ("ndcg", {}, "?"),
    "dcg_burges": ("dcg", _EXPONENTIAL, ""),  # ranx
    "ndcg_burges": ("ndcg", _EXPONENTIAL, ""),
    **{
        name: ("latency", {"quantile": f"p{percent}"}, "")
        for percent in (50, 75, 90, 95, 99)
        for name in (f"latency_p{percent}", f"p{percent}_latency")
    },
    **dict.fromkeys(("accuracy", "top_k_accuracy"), ("hit", {}, "?")),  # of retrieval: DPR, sentence-transformers
}
# What names mean beyond our families; None: whatever is installed.
_KNOWN: ContextVar[tuple[type[BaseMetric], ...] | None] = ContextVar("known", default=None)

Meaning = tuple[type[BaseMetric], dict[str, str], str]
ENTRY_POINT_GROUP = "rankgate.metrics"
REQUIRED = ("key", "formula", "plain")  # what a family must say of itself


def families() -> Iterator[type[BaseMetric]]:
    """The families of the table in its order, each imported when it is reached."""
    for row in ROWS:
        module, _, name = row.partition(":")
        family: type[BaseMetric] = getattr(import_module(module), name)
        yield family


def find(word: str) -> Meaning | None:
    """The family, and the parameters and the cut-off that its name implies, for a key or an alias in lower case."""
    key, parameters, cutoff = PRESETS.get(word, (word, {}, ""))
    # Only an unknown name pays for the look at installed packages.
    family = _named(key, families()) or _named(key, plugins())
    return (family, parameters, cutoff) if family else None


def _named(word: str, families: Iterable[type[BaseMetric]]) -> type[BaseMetric] | None:
    return next((family for family in families if word == family.key or word in family.aliases), None)


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
    from importlib.metadata import entry_points  # noqa: PLC0415 -- costs more than scoring a small gold set

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
