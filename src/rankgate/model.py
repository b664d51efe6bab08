"""The values that flow from step to step. All are frozen; absence is `None` or a named state, never 0, NaN or ""."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

# Differences smaller than this come from rounding in binary fractions and mean nothing.
TOLERANCE = 1e-9

# Lower and upper bound; None where the data do not support that bound.
Interval = tuple[float | None, float | None]


class Verdict(Enum):
    """What the gate says about a pull request; `NOT_JUDGED` means that it could not say anything."""

    PASS = "pass"  # noqa: S105 -- a verdict, not a password
    WARN = "warn"
    FAIL = "fail"
    NOT_JUDGED = "not_judged"


SEVERITY_ORDER = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED)


def worst(verdicts: list[Verdict]) -> Verdict:
    """The most severe of several verdicts; `PASS` when there is none."""
    return max(verdicts, key=SEVERITY_ORDER.index, default=Verdict.PASS)


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One gold query: its judgments and what is known about it.

    `gains` maps every judged id to its gain; ids with a gain above zero are relevant. `k` is the sample's own
    cut-off (`metadata.k`) for metrics whose name has none.
    """

    query_id: str
    gains: Mapping[str, float]
    question: str | None = None
    tags: tuple[str, ...] = ()
    k: int | None = None
    no_answer: bool = False
    line: int | None = None

    def relevant(self) -> list[str]:
        """Ids with a positive gain, in the order of the gold file."""
        return [doc for doc, gain in self.gains.items() if gain > 0]


class Gold(msgspec.Struct, frozen=True, kw_only=True):
    """The gold set by query id, in file order. `fingerprint` is a digest of the judgments, whatever the format."""

    samples: Mapping[str, Sample]
    name: str
    format: str
    fingerprint: str


class Ranking(msgspec.Struct, frozen=True, gc=False):
    """What the retriever returned for one query: ids by rank, each once.

    `duplicates` counts repeated ids that were removed (later items moved up). `latency_ms` holds the stages' times
    where the run has them and a metric asked for them.
    """

    query_id: str
    ids: list[str]
    duplicates: int = 0
    latency_ms: Mapping[str, float] | None = None


class MatchedQuery(msgspec.Struct, frozen=True, gc=False):
    """A ranking seen through the gold: all that a metric may look at.

    `hits` are (rank, gain) of the relevant documents found, by rank; `found` are their ids in the same order;
    `ideal` are all positive gains of the gold, descending; `retrieved` is the length of the list; `k` is the cut-off
    for metrics that leave it to the sample.
    """

    query_id: str
    hits: tuple[tuple[int, float], ...]
    found: tuple[str, ...]
    ideal: tuple[float, ...]
    retrieved: int
    k: int
    latency_ms: Mapping[str, float] | None = None


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """One run under the gold: per metric one value a gold query, in gold order.

    `values[name][i]` belongs to `query_ids[i]`; None where the metric is undefined for that query. A gold query that
    the run lacks holds the metric's worst value and stands in `missing`. `strangers` are the run's queries that the
    gold does not have, `duplicates` the removed repeats, `cut` the lists that were longer than the depth.
    """

    query_ids: tuple[str, ...]
    values: Mapping[str, list[float | None]]
    matched: Mapping[str, MatchedQuery]
    missing: frozenset[str]
    strangers: tuple[str, ...]
    duplicates: int
    cut: int
