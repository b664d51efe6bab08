"""The explicit table of metric families, in display order, and the door for those of other packages.

Families that read more than ids and gains are listed in `beyond`, which is imported when one of them is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from rankgate.errors import bad_input
from rankgate.metrics.base import BaseMetric
from rankgate.metrics.curves import RecallAUC
from rankgate.metrics.gains import DCG, NDCG
from rankgate.metrics.latency import Latency
from rankgate.metrics.ranks import AveragePrecision, ReciprocalRank
from rankgate.metrics.sets import CappedRecall, F, Hit, Precision, Recall, RecallAll, WeightedRecall

if TYPE_CHECKING:
    FAMILIES: tuple[type[BaseMetric], ...]

USUAL: tuple[type[BaseMetric], ...] = (
    Hit,
    Recall,
    RecallAll,
    CappedRecall,
    WeightedRecall,
    RecallAUC,
    Precision,
    F,
    ReciprocalRank,
    AveragePrecision,
    DCG,
    NDCG,
    Latency,
)

# Other tools' names that stand for a family with parameters and, where none is written, a cut-off; `?` asks for one.
Preset = tuple[type[BaseMetric], dict[str, str], str]
_SET, _EXPONENTIAL = {"of": "retrieved"}, {"gain": "exponential"}
PRESETS: dict[str, Preset] = {
    "ndcg_any": (NDCG, {"gain": "binary"}, ""),  # LongMemEval
    "recall_any": (Hit, {}, "?"),
    "f1": (F, {"beta": "1"}, ""),
    "f2": (F, {"beta": "2"}, ""),
    **dict.fromkeys(("set_p", "setp", "id_based_context_precision"), (Precision, _SET, "all")),  # trec_eval, …, Ragas
    **dict.fromkeys(("set_recall", "setr", "id_based_context_recall"), (Recall, {}, "all")),
    **dict.fromkeys(("set_f", "setf"), (F, _SET, "all")),
    "map_cut": (AveragePrecision, {}, "?"),
    "ndcg_cut": (NDCG, {}, "?"),
    "dcg_burges": (DCG, _EXPONENTIAL, ""),  # ranx
    "ndcg_burges": (NDCG, _EXPONENTIAL, ""),
    **{f"latency_p{percent}": (Latency, {"quantile": f"p{percent}"}, "") for percent in (50, 90, 95, 99)},
}
# Names of what a model judges, whoever asks it.
JUDGED = r"(context|answer|response)_\w+|faithfulness|groundedness|hallucination|factual_correctness|noise_sensitivity"

ENTRY_POINT_GROUP = "rankgate.metrics"
REQUIRED = ("key", "formula", "plain")  # what a family must say of itself


def __getattr__(name: str) -> Any:
    """`FAMILIES`: the usual ones and those of `beyond`, which most checks need not load."""
    if name != "FAMILIES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _all()


def _all() -> tuple[type[BaseMetric], ...]:
    from rankgate.metrics.beyond import BEYOND  # noqa: PLC0415 -- paid only where a metric is none of the usual ones

    return (*USUAL, *BEYOND)


def find(word: str) -> Preset | None:
    """The family, and the parameters and the cut-off that its name implies, for a key or an alias in lower case."""
    if found := _named(word, USUAL):
        return found, {}, ""
    if word in PRESETS:
        return PRESETS[word]
    # Only an unknown name pays for the look at installed packages.
    found = _named(word, _all()) or _named(word, plugins())
    return (found, {}, "") if found else None


def _named(word: str, families: Iterable[type[BaseMetric]]) -> type[BaseMetric] | None:
    return next((family for family in families if word == family.key or word in family.aliases), None)


def words() -> list[str]:
    """Every name under which a family is found."""
    return [word for family in (*_all(), *plugins()) for word in (family.key, *family.aliases)] + list(PRESETS)


@cache
def plugins() -> tuple[type[BaseMetric], ...]:
    """Families of installed packages, from the entry points `rankgate.metrics`, by entry point name.

    An entry point names a subclass of `BaseMetric`. A key or alias that is already taken is an error: no package may
    change what `recall` means.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 -- costs more than scoring a small gold set

    taken = {word for family in _all() for word in (family.key, *family.aliases)} | set(PRESETS)
    found: list[type[BaseMetric]] = []
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        place = f"entry point {point.name!r} of {ENTRY_POINT_GROUP}"
        try:
            family = point.load()
        except Exception as error:
            raise bad_input(f"{place}: {point.value} cannot be imported: {error}") from error
        if not (isinstance(family, type) and issubclass(family, BaseMetric)):
            raise bad_input(f"{place}: {point.value} is not a subclass of rankgate.metrics.base.BaseMetric")
        lacking = [name for name in REQUIRED if not hasattr(family, name)]
        clash = taken & {getattr(family, "key", ""), *family.aliases}
        if clash:
            raise bad_input(f"{place}: the name {min(clash)!r} is already taken")
        words = (getattr(family, "key", ""), *family.aliases)
        strange = [word for word in words if word and not re.fullmatch(r"(?!\w*_\d+$)[a-z][a-z0-9_]*", word)]
        if strange:  # an end as _5 is a cut-off
            raise bad_input(f"{place}: the name {strange[0]!r} must be lower-case letters, digits and underscores")
        if lacking:
            raise bad_input(f"{place}: {point.value} has no {lacking[0]}")
        taken |= {family.key, *family.aliases}
        found.append(family)
    return tuple(found)
