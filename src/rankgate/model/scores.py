"""What matching and scoring give: a ranking seen through the gold, and the values of a run by query."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from enum import Enum

import msgspec

from rankgate.model.values import Details, RunField, Sample

Stretch = tuple[int, int]  # code points of a document, the end exclusive


class Unfit(Enum):
    """Why nobody can say whether a run found a passage."""

    STALE = "stale"  # at its place the run shows another text: the document changed
    NO_TEXT = "no_text"  # the gold quotes no text, and the run states no offsets


class Placed(msgspec.Struct, frozen=True, gc=False):
    """What each item covers of each passage, by the passage's id, and the passages of which that is in doubt."""

    covered: Sequence[Mapping[str, Stretch]]
    unfit: Mapping[str, Unfit]


# As bytes it leaves out what is as the class has it, so that an empty tuple does not come back as an empty list.
class MatchedQuery(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A ranking seen through the gold: all that a metric may look at.

    `hits` are (rank, gain) of the relevant documents found, by rank; `found` are their ids in the same order;
    `ideal` are all positive gains of the gold, descending; `retrieved` is the length of the list; `k` is the cut-off
    for metrics that leave it to the sample. `repeats` are (rank, gain) of further items of a document that is a hit
    already, which only matching by document, text or span can give. By span several passages may be found at one rank.

    Where nobody can say whether a relevant passage is in the list, the query is `unfit` and has neither hits nor gains.

    The rest is there only where a metric needs it, else empty or None: `placed` is how the items lie over passages;
    `judged` and `negatives` are ranks of items that
    the gold judges at all, and of its hard negatives; `ids` and `baseline_ids` the list and the baseline's list for
    the same query; `documents` the document of each item; `details` what the run says beyond ids; `raw` and
    `rewrites` the other lists, matched alike.
    """

    query_id: str
    hits: tuple[tuple[int, float], ...]
    found: tuple[str, ...]
    ideal: tuple[float, ...]
    retrieved: int
    k: int
    repeats: tuple[tuple[int, float], ...] = ()
    sample: Sample | None = None
    unfit: Unfit | None = None
    placed: Placed | None = None
    judged: tuple[int, ...] = ()
    negatives: tuple[int, ...] = ()
    ids: Sequence[str] = ()
    documents: Sequence[str] = ()
    baseline_ids: Sequence[str] | None = None
    details: Details | None = None
    raw: MatchedQuery | None = None
    rewrites: tuple[MatchedQuery, ...] = ()


class RankSummary(msgspec.Struct, frozen=True, gc=False):
    """What is kept of every matched query; queries that look alike share one.

    `ranks` are those of the gold's relevant documents, in its order, None where the list lacks one; `repeats` are the
    ranks of further items of a document that is found already. `retrieved` and `k` are those of the `MatchedQuery`.
    Where values alone are known, and no list, `retrieved` is None and so are all ranks.
    """

    ranks: tuple[int | None, ...]
    retrieved: int | None
    k: int
    repeats: tuple[int, ...] = ()


class StageTimes(msgspec.Struct, frozen=True, gc=False):
    """Milliseconds of one stage as the run's lines came in, the first of each row of the gold in turn.

    `rows` are those of the last times, from the first on that is not of the next row.
    """

    rows: array[int] = msgspec.field(default_factory=lambda: array("i"))
    times: array[float] = msgspec.field(default_factory=lambda: array("d"))

    def add(self, row: int, time: float) -> None:
        """One more."""
        if self.rows or row != len(self.times):
            self.rows.append(row)
        self.times.append(time)

    @property
    def by_row(self) -> dict[int, float]:
        """The last of each row."""
        in_turn = len(self.times) - len(self.rows)
        return dict(zip([*range(in_turn), *self.rows], self.times, strict=True))


class KeptQueries(msgspec.Struct, frozen=True):
    """What is kept of a run's queries beside their values, as far as it was to be kept.

    `rank_summaries` has the queries that the run has, `matched` all that was matched of them where metrics read more
    than ids, gains and times. `stage_times` has the times that were read, by the stage's name.
    """

    rank_summaries: Mapping[str, RankSummary] = {}
    matched: Mapping[str, MatchedQuery] = {}
    stage_times: Mapping[str, StageTimes] = {}


class Exact(msgspec.Struct, frozen=True):
    """An exact one-sided test for harm: its p-value, and the least that it could have been with what moved."""

    p: float
    least: float


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """How a rate is spread over the queries: shares at 0, in between and at 1, and the three quartiles.

    A mean of 0.5 may be half of everything for every query, or all for one half and nothing for the other.
    """

    zero: float
    between: float
    one: float
    quartiles: tuple[float, float, float]


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """One run under the gold: per metric one value a gold query, in gold order.

    `values[name][i]` belongs to `query_ids[i]`; None where the metric is undefined for that query. A gold query
    that the run lacks holds the metric's worst value and stands in `missing`. `samples` are the gold's.
    `with_judge` holds the same columns with the judge's labels added to the gold's, None where the gold alone
    leaves the metric undefined; it is empty where the gold has none. `unknown_queries` are the run's queries that
    the gold does not have, `duplicates` the removed repeats, `cut` the lists longer than the depth. `unstated` is
    what metrics read and no ranking states, each with the first query that could have stated it. `clusters` has the
    cluster of each query where the gold names any. `unasked` are the missing queries that the run was not asked:
    its line is of another text than the gold's, or states none where the gold wants to know it; or it is a table
    without a row of the query. `new_queries` are of a baseline all the missing ones that it was not asked, as far
    as its own gold set is known.
    `uncut` has the columns that lists give which are not cut at the depth, where those differ from `values`, which
    compare. `foreign` names of a baseline the metrics that cannot be compared, since its lists speak of other ids
    than the gold. `lists[name][i]` is the same in two runs where what the metric looks at of their lists is the same
    (`changed_lists`); it is empty where lists are not known. `givers[name]` has by query who gave a value that lines
    state, where the line names anybody, and None where the line lacks the value although the gold defines the metric.
    `unfit` has the queries of whose passages nobody can say whether the run found them. `beside` has the columns of
    metrics that pages alone show.
    """

    query_ids: tuple[str, ...]
    values: Mapping[str, Sequence[float | None]]
    missing: frozenset[str]
    unknown_queries: tuple[str, ...]
    duplicates: int
    cut: int
    uncut: Mapping[str, Sequence[float | None]] = {}
    samples: Mapping[str, Sample] = {}
    kept: KeptQueries = KeptQueries()
    with_judge: Mapping[str, list[float | None]] = {}
    clusters: tuple[str, ...] = ()
    unstated: Mapping[RunField, str] = {}
    foreign: frozenset[str] = frozenset()
    lists: Mapping[str, Sequence[int]] = {}
    givers: Mapping[str, Mapping[str, str | None]] = {}
    unfit: Mapping[str, Unfit] = {}
    beside: Mapping[str, Sequence[float | None]] = {}
    unasked: frozenset[str] = frozenset()
    new_queries: frozenset[str] = frozenset()

    @property
    def rank_summaries(self) -> Mapping[str, RankSummary]:
        """Those of the queries that the run has."""
        return self.kept.rank_summaries

    @property
    def matched(self) -> Mapping[str, MatchedQuery]:
        """The matched queries."""
        return self.kept.matched

    def uncut_values(self, name: str) -> Sequence[float | None]:
        """A metric's values of the run as it is, which no comparison has cut."""
        return self.uncut.get(name, self.values[name])

    @property
    def listed(self) -> bool:
        """Whether the lists are known; they are not where the values come from a table."""
        first = next(iter(self.rank_summaries.values()), None)
        return first is None or first.retrieved is not None
