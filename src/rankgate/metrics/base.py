"""What a metric is: a frozen value that turns one matched query into a number, or into None where it is undefined."""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Literal, get_args, get_origin

import msgspec

from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Direction, RunField, Unit
from rankgate.model.wording import first_text, in_first_text

# Written around a ranking metric: see `gain`. Parameters of any ranking metric: see `views`.
RERANK_GAIN = "rerank_gain"
REWRITE_GAIN = "rewrite_gain"
VIEWS = ("stage", "rewrite", "source", "item_source", "judged_only")

# Verbs of `plain` whose subject is `first`: one result or a whole list, or several results.
_ONE = {"are": "is", "were": "was", "s": "s"}
_SEVERAL = {"are": "are", "were": "were", "s": ""}


class Kind(Enum):
    """What of a retrieval a metric measures; what is said of a gate that failed goes by it."""

    RELEVANCE = "relevance"  # of the list that the run returns, by the gold's judgments
    CONTENT = "content"  # of that list too: its texts, documents, how much of it is judged
    OTHER_LIST = "other_list"  # of another list of the run line, or of two of them
    DRIFT = "drift"  # how far the list moved from the baseline's
    STATED = "stated"  # what the run states beside ids: routes, entities, versions, other tools' scores
    LATENCY = "latency"
    ANSWER = "answer"  # of what was generated from the list, by a judge or by the gold's reference answer


class Cutoff(Enum):
    """Cut-offs that are not a number: the whole list, or the sample's own `metadata.k`."""

    WHOLE = "all"
    SAMPLE = "k"
    NONE = ""


class BaseMetric(msgspec.Struct, frozen=True, kw_only=True):
    """Shared by all our metrics: the canonical name, and the mean as aggregate.

    A subclass is a family of the registry. Its fields besides `cutoff` are its parameters; its class variables say
    how it is written and read; its docstring is its documentation. `ranking` families judge one ranked list by the
    gold's gains alone, so that they can be asked of another list of the line; `alone` is the parameter that may be
    written without its name; where a family `asks_direction`, its users say which way is better; `reads` is what it
    needs of the run beyond ids, `gold_keys` what it needs of a sample beyond its judgments. `kind` is what of a
    retrieval it measures: by it findings and lists of questions that moved are chosen. `spread` plans what a gold set
    can see before there is any run.

    Attributes:
        cutoff: rank up to which the list counts; a number, or a named cut-off.
    """

    cutoff: int | Cutoff = Cutoff.SAMPLE

    key: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    formula: ClassVar[str]
    default_cutoff: ClassVar[Cutoff] = Cutoff.SAMPLE
    direction: ClassVar[Direction] = Direction.HIGHER
    unit: ClassVar[Unit] = Unit.SHARE
    kind: ClassVar[Kind] = Kind.RELEVANCE
    spread: ClassVar[float | None] = 0.3
    low: ClassVar[float | None] = 0.0
    high: ClassVar[float | None] = 1.0
    worst: ClassVar[float | None] = 0.0
    judge_bounds: ClassVar[bool] = False
    ranking: ClassVar[bool] = False
    asks_direction: ClassVar[bool] = False
    alone: ClassVar[str | None] = None
    reads: ClassVar[frozenset[RunField]] = frozenset()
    gold_keys: ClassVar[tuple[str, ...]] = ()
    plain: ClassVar[str]

    @property
    def name(self) -> str:
        """The canonical spelling: `recall@5`, `ndcg(gain=exponential)@10`, `mrr`."""
        return spelled(self.stem, self.parameters(), self.suffix, self.alone)

    @property
    def stem(self) -> str:
        """The name without parameters and cut-off."""
        return self.key

    @property
    def suffix(self) -> str:
        """`@5`, `@k`, `@all`, or nothing where the cut-off is the family's own default."""
        if self.cutoff in (Cutoff.NONE, Cutoff.WHOLE) and self.cutoff is self.default_cutoff:
            return ""
        return f"@{_written(self.cutoff)}"

    @property
    def meaning(self) -> str:
        """One clause for a reader who does not know the metric."""
        of_all = self.cutoff is Cutoff.WHOLE
        number = self.cutoff if isinstance(self.cutoff, int) else None
        first = "the whole list" if of_all else first_text(number, results=True)
        in_first = "in the whole list" if of_all else in_first_text(number, results=True)
        verbs = _ONE if of_all or number == 1 else _SEVERAL
        return self.plain.format(first=first, in_first=in_first, **verbs)

    @property
    def needs(self) -> frozenset[RunField]:
        """What it reads beyond ids and gains."""
        return self.reads

    @property
    def at_quantile(self) -> float | None:
        """The quantile that `aggregate` takes; None for a mean."""
        return None

    @abstractmethod
    def per_query(self, query: MatchedQuery) -> float | None:
        """The value for one query, or None where the metric is undefined for it."""

    def absent(self, query: MatchedQuery) -> float | None:
        """The worst value, or None where the metric is undefined for the query with an empty list."""
        return None if self.per_query(query) is None else self.worst

    def parameters(self) -> dict[str, str]:
        """Parameters that differ from their defaults, as text, in declared order."""
        defaults = dict(zip(self.__struct_fields__, self.__struct_defaults__, strict=True))  # every field has one
        return {
            name: _written(value)
            for name, default in defaults.items()
            if name not in ("cutoff", "metric") and (value := getattr(self, name)) != default
        }

    def limit(self, query: MatchedQuery) -> int:
        """The last rank that counts for this query."""
        cutoff = self.cutoff
        if isinstance(cutoff, int):
            return cutoff
        return query.k if cutoff is Cutoff.SAMPLE else sys.maxsize

    def aggregate(self, values: Sequence[float]) -> float:
        """The mean over the queries where the metric is defined."""
        return math.fsum(values) / len(values)  # exact, so that the order of the queries does not matter


Metric = BaseMetric  # ours, a plug-in's, or one of `views` around another


def choices_of(kind: Any) -> list[str]:
    """What a parameter of this type is one of, an enum's values or a literal's; none for another type."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [choice.value for choice in kind]
    return [*get_args(kind)] if get_origin(kind) is Literal else []


def _written(value: object) -> str:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def needs_of(metrics: Iterable[Metric]) -> frozenset[RunField]:
    """All that these metrics read beyond ids and gains."""
    return frozenset[RunField]().union(*(metric.needs for metric in metrics))


def widest_change(metric: Metric) -> float | None:
    """The largest change that a metric's range allows; None where the range is open."""
    return None if metric.low is None or metric.high is None else metric.high - metric.low


def spelled(stem: str, parameters: Mapping[str, str], suffix: str, alone: str | None = None) -> str:
    """The canonical spelling of a metric; the parameter that may stand alone does."""
    inside = ",".join(value if key == alone else f"{key}={value}" for key, value in parameters.items())
    return f"{stem}({inside}){suffix}" if inside else f"{stem}{suffix}"


class RelevanceMetric(BaseMetric, frozen=True, kw_only=True):
    """A metric for which a document is relevant or not.

    Attributes:
        rel: the lowest gain that counts as relevant, as trec_eval's `-l`; 0 means every positive gain.
    """

    rel: float = 0.0

    ranking: ClassVar[bool] = True

    def ranks(self, query: MatchedQuery, *, repeats: bool = False) -> list[int]:
        """Ranks of the relevant documents within the cut-off, ascending; with `repeats` of each item of theirs."""
        limit, rel = self.limit(query), self.rel
        ranks = [rank for rank, gain in query.hits + query.repeats * repeats if rank <= limit and gain >= rel]
        return sorted({*ranks}) if repeats else ranks

    def relevant(self, query: MatchedQuery) -> int:
        """How many documents of the gold are relevant; 0 makes the metric undefined."""
        return len(query.ideal) if self.rel <= 0 else sum(gain >= self.rel for gain in query.ideal)


_MAX_KNOWN = 4096  # queries unlike each other whose values are kept: about 2 MB


class Together:
    """The values of several metrics for one query after the other; what queries alike share is computed once.

    Most queries of a large run have their hits where an earlier one had them, so a dozen cut-offs cost about what one
    does.
    """

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = [(metric, sees_hits_alone(metric)) for metric in metrics]
        self._others = [(index, metric) for index, (metric, alone) in enumerate(self._metrics) if not alone]
        self._known: dict[object, list[float | None]] = {}

    def values(self, query: MatchedQuery) -> list[float | None]:
        """One value a metric, in their order; not to be changed."""
        shared_by = (query.hits, query.ideal, query.retrieved, query.k, query.repeats)
        known = self._known.get(shared_by)
        if known is None:
            known = [metric.per_query(query) if alone else None for metric, alone in self._metrics]
            if len(self._known) < _MAX_KNOWN:
                self._known[shared_by] = known
        if not self._others:
            return known
        values = known.copy()
        for index, metric in self._others:
            values[index] = metric.per_query(query)
        return values


def sees_hits_alone(metric: Metric) -> bool:
    """Whether a metric is ours and reads of a query only hits, gains and lengths; a package's may read anything."""
    return is_ours(metric) and metric.ranking and not metric.needs


def sees_below(metric: Metric) -> bool:
    """Whether a metric of one run may see below the depth of a baseline, which is no less than any number in a name."""
    inner = getattr(metric, "metric", metric)
    deep = metric.cutoff is Cutoff.WHOLE or (metric.cutoff is Cutoff.NONE and inner.ranking)
    deep = deep or getattr(metric, "judged_only", False)  # what is below moves up
    return RunField.BASELINE not in metric.needs and (deep or not is_ours(inner))


def is_ours(metric: Metric) -> bool:
    """Whether a metric comes with rankgate and not with another package."""
    return type(metric).__module__.startswith("rankgate.metrics.")
