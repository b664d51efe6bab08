"""A report: everything that a renderer or the bot needs, so that neither ever scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import Meta
from msgspec.structs import force_setattr, replace

from rankgate.errors import Problem, redacted
from rankgate.model.answers import AnswerChanges, JudgeMark
from rankgate.model.base_ref import BaseSide
from rankgate.model.conclusion import NO_CONCLUSION, Conclusion, Empties, GivenUp, OtherCode, PartLoss, Traffic
from rankgate.model.details import Cause, Expected, ReportDetails, fate_of
from rankgate.model.gate_result import GateResult, Parts, WaiverUse
from rankgate.model.lineage import AnchorMark, Difference, GoldChanges, Lineage
from rankgate.model.scores import Distribution
from rankgate.model.values import Direction, Interval, Unit, Verdict

Row = tuple[str, str | None]  # of a report: a gate and a segment, None for all questions
BARE_TAG = "tag"  # the dimension of tags without a key
NAMED = 3  # ids beside a count, or in place of what a question lost


class JudgedValue(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's value with a judge's labels added to the gold's.

    `bound` is `upper` where further relevant documents can only raise the metric: the gold alone is the lower bound.
    """

    value: float | None
    n: int
    bound: Literal["upper"] | None


class MetricValue(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's value for a run; `undefined` queries are left out of it.

    `distribution` goes with metrics from 0 to 1; `with_judge` where the gold has a judge's labels beside it. Where the
    metric reads what lines state, `missing` of the undefined are those whose line does not state it.
    """

    value: float | None
    ci: Interval | None
    n: int
    undefined: int
    missing: int | None = None
    unit: Unit
    direction: Direction
    meaning: str
    distribution: Distribution | None = None
    with_judge: JudgedValue | None = None


class Queries(msgspec.Struct, frozen=True, kw_only=True):
    """How many gold queries there are, and what became of them.

    `scored` have a relevant document; `no_relevant` have none and are left out of relevance metrics; `missing` are in
    the gold and not in the run (worst value); `unjudged` are in the run and not in the gold (ignored). `new` are those
    that the baseline was not asked.
    """

    total: int
    scored: int
    no_relevant: int
    missing: int
    missing_ids: list[str]
    unjudged: int
    duplicates: int
    new: int


class SegmentValue(msgspec.Struct, frozen=True, kw_only=True):
    """A metric within a segment; the baseline and the change are over the pairs.

    `ci` is the value's own 95 % interval, gated or not. `delta_ci` is there for the metric whose changes the report
    lists, in the largest segments.
    """

    value: float | None
    ci: Interval | None = None
    n: int
    baseline: float | None
    delta: float | None
    delta_ci: Interval | None = None
    n_pairs: int
    unit: Unit
    direction: Direction


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """The queries that share a tag: `lang:pt-BR` is dimension lang, value pt-BR; a bare word has dimension `tag`."""

    dimension: str
    value: str
    queries: int
    metrics: Mapping[str, SegmentValue]

    @property
    def tag(self) -> str:
        """The tag as the gold has it."""
        return self.value if self.dimension == BARE_TAG else f"{self.dimension}:{self.value}"


class Movement(msgspec.Struct, frozen=True, kw_only=True):
    """A query whose relevant documents moved: into or out of the first k, or so that the metric changed.

    `worse` tells the losers from the winners; where the metric did not move, by documents lost and gained. Where it
    lost any, `instead` are up to three documents that stand in the first k now and did not before, from the top;
    `no_result` says that its list is empty or absent.
    """

    query_id: str
    question: str | None
    tags: list[str]
    metric: str
    before: float
    after: float
    worse: bool
    k: int
    lost: int
    gained: int
    documents: list[Expected]
    instead: list[str] = []
    no_result: bool = False

    @property
    def fate(self) -> Cause:
        """What became of the relevant documents, where it got worse."""
        return fate_of(self.documents, self.k, no_result=self.no_result)


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """How many queries moved each way; the report lists the most telling of them."""

    worse: int
    better: int


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """A finding about why gates are violated: the rule that holds, what it says, and the numbers that it stands on.

    `finding` holds no text from the inputs: `{tag}` in it stands for the `tag` of `evidence`.
    """

    rule: str
    finding: str
    evidence: Mapping[str, str | int | float]


class Spelling(msgspec.Struct, frozen=True):
    """An id of the gold set, one of the run, and in what alone they differ: `case`, `a path`."""

    gold: str
    run: str
    differs: str


class Oddities(msgspec.Struct, frozen=True, kw_only=True):
    """What is suspicious in the lists, whatever the verdict: counts, each with its first few ids.

    `never_returned` of the `relevant` ids of the gold set are in no list of the run or of the baseline; if these are
    all, the lists have ids such as `returned`. `respelled` of them differ from ids of the run in their form alone, with
    `spellings` as examples. In `rising` of the `long_lists`, which have at least five results, the scores rise from
    rank to rank, as they did in `rising_before` of the baseline. In `tied` of all `lists` they are equal, and
    `self_first` begin with the question's own document.
    """

    never_returned: int
    relevant: int
    examples: list[str]
    rising: int
    lists: int
    rising_queries: list[str]
    returned: list[str] = []
    respelled: int = 0
    spellings: list[Spelling] = []
    tied: int = 0
    self_first: int = 0
    long_lists: int = 0
    rising_before: int = 0


class TrendPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the main branch as it was recorded: gated metrics by name, and whether it became the baseline."""

    date: str
    commit: str | None = None
    verdict: Verdict | None = None
    accepted: bool = False
    scores: Mapping[str, float | None]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where an input came from, and what it says of itself."""

    path: str
    format: str
    about: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        """Without what may be secret in an address, also where it was never read."""
        force_setattr(self, "path", redacted(self.path))
        force_setattr(self, "format", redacted(self.format))


class BaselineSource(Source, frozen=True, kw_only=True):
    """A baseline, and which accepted run of its store it is; no `lineage` where it is a plain run file."""

    lineage: Lineage | None = None


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared with what, and how to do it again.

    `gold_fingerprint` is a digest of the gold set's judgments, `gold_queries_fingerprint` of its ids and questions.
    `judge` is the one whose verdicts the report rests on.
    """

    rankgate: str
    date: str
    criteria: str | None = None
    gold: Source | None = None
    gold_fingerprint: str | None = None
    gold_queries_fingerprint: str | None = None
    run: Source | None = None
    baseline: BaselineSource | None = None
    depth: int | None = None
    command: list[str] = []
    judge: JudgeMark | msgspec.UnsetType = msgspec.UNSET

    @property
    def lineage(self) -> Lineage | None:
        """That of the baseline."""
        return self.baseline.lineage if self.baseline else None

    def __post_init__(self) -> None:
        """As for a `Source`."""
        force_setattr(self, "criteria", self.criteria and redacted(self.criteria))
        force_setattr(self, "command", list(map(redacted, self.command)))


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses that a comment may lead to, as far as the job knows them: its run, the page, the criteria file.

    A line of the criteria is `criteria` with `#L` and its number.
    """

    run: str | None = None
    page: str | None = None
    criteria: str | None = None


class Remarks(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be told beside the gates, in sentences."""

    failures: Annotated[list[str], Meta(description="Reasons to fail that no gate has.")] = []
    warnings: Annotated[list[str], Meta(description="Reasons to warn that no gate has.")] = []
    notes: Annotated[list[str], Meta(description="What every reader of the verdict should know.")] = []


class Measurements(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured, and over how many questions."""

    metrics: Annotated[Mapping[str, MetricValue], Meta(description="Values of the run.")] = {}
    baseline_metrics: Annotated[Mapping[str, MetricValue], Meta(description="Values of the baseline.")] = {}
    segments: Annotated[list[Segment], Meta(description="Values by tag.")] = []
    queries: Annotated[Queries | None, Meta(description="How many questions, and what became of them.")] = None
    empties: Annotated[Empties | None, Meta(description="Lists that are empty or absent.")] = None
    traffic: Annotated[Traffic | None, Meta(description="Questions without labels.")] = None
    trend: Annotated[list[TrendPoint], Meta(description="The last runs of the main branch, oldest first.")] = []


class RunChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Which questions, answers and parts got better or worse than before.

    Three are known to the check alone: `losers` has by `GateResult.row_key` the questions that got worse, the worst
    first, `lowest` one with the lowest value, and `anchor` is what the acceptance of the run has to remember of
    `given_up`.
    """

    misses: Annotated[
        list[Movement], Meta(description="The questions that changed most, with ranks before and now.")
    ] = []
    moved: Annotated[Moved | None, Meta(description="How many questions got worse and better.")] = None
    answers: Annotated[AnswerChanges | None, Meta(description="What became of judged answers.")] = None
    lost_parts: Annotated[
        list[PartLoss], Meta(description="Parts of the questions that lost what the rest did not, the most first.")
    ] = []
    given_up: Annotated[
        list[GivenUp], Meta(description="What small losses, accepted one by one, add up to, the worst first.")
    ] = []
    losers: Mapping[Row, list[str]] = {}
    lowest: Mapping[Row, str] = {}
    anchor: AnchorMark | None = None

    def losers_of(self, row: Row | None) -> list[str]:
        """The questions that got worse by a row, the worst first; none where that is not known."""
        return [] if row is None else self.losers.get(row, [])


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What may explain the numbers; `details` are for pages, where they were asked for, and stay out of the file."""

    diagnosis: Annotated[list[Diagnosis], Meta(description="Where to look, the first entry first.")] = []
    oddities: Annotated[Oddities | None, Meta(description="What is suspicious in the lists.")] = None
    gold_changes: Annotated[GoldChanges | None, Meta(description="What differs from the baseline's gold set.")] = None
    differences: Annotated[list[Difference], Meta(description="What else differs from the baseline.")] = []
    details: ReportDetails | None = None


class RunOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Who supplied the run, whether that counts, and of which code it is."""

    untrusted_run: Annotated[bool, Meta(description="Whether a pull request supplied the rankings.")] = False
    fork_runs: Annotated[
        Literal["untrusted", "trusted"], Meta(description="Whether a pass on such rankings counts.")
    ] = "untrusted"
    other_code: Annotated[OtherCode | None, Meta(description="Why the run is not of this code.")] = None


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What the check was called with, for the next command: by option the files that the criteria do not name.

    `judging` is what a judge takes beside these. `retriever` says that the criteria name one, `store` that the place of
    the baseline is known. Of what Python alone holds no command is `typed`.
    """

    options: Mapping[str, str] = {}
    judging: tuple[str, ...] = ()
    retriever: bool = False
    store: bool = False
    typed: bool = True


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a check concludes, and what it rests on.

    `links` are the job's, and `call` is what the check was called with. `report.json` has neither; it has the keys of
    the parts beside the others (`report_text`).
    """

    verdict: Annotated[Verdict, Meta(description="The worst of all that is judged.")]
    summary: Annotated[str, Meta(description="The sentence of `conclusion`.")]
    conclusion: Annotated[Conclusion, Meta(description="What the reader is told first.")] = NO_CONCLUSION
    problems: Annotated[list[Problem], Meta(description="Why nothing could be judged.")] = []
    gates: Annotated[list[GateResult], Meta(description="Each gate's decision, and each segment's.")] = []
    waivers: Annotated[list[WaiverUse], Meta(description="What is waived.")] = []
    remarks: Remarks = msgspec.field(default_factory=Remarks)
    measured: Measurements = msgspec.field(default_factory=Measurements)
    changes: RunChanges = msgspec.field(default_factory=RunChanges)
    explanation: Explanation = msgspec.field(default_factory=Explanation)
    base: Annotated[BaseSide | None, Meta(description="Both verdicts, and what the pull request changed.")] = None
    origin: RunOrigin = msgspec.field(default_factory=RunOrigin)
    provenance: Annotated[Provenance, Meta(description="What was compared with what, and the command for it.")]
    call: Call | None = None
    links: Links | None = None

    @property
    def warns_beside(self) -> bool:
        """Whether there is anything to warn of that no gate has."""
        empties = self.measured.empties
        losses = self.changes.lost_parts or self.changes.given_up
        return bool(self.remarks.warnings or losses or self.origin.other_code or (empties and empties.warns))

    def with_notes(self, *notes: str) -> Self:
        """The report with further notes, after those that it has."""
        return replace(self, remarks=replace(self.remarks, notes=[*self.remarks.notes, *notes]))


# What of a report are parts, whose keys report.json has beside the others.
REPORT_PARTS: Parts = {
    "remarks": Remarks,
    "measured": Measurements,
    "changes": RunChanges,
    "explanation": Explanation,
    "origin": RunOrigin,
}


Published = Literal["full", "gold", "ids", "numbers"]


def exit_code(report: Report, fail_on: str = "fail") -> int:
    """The exit code of a check: 0 pass or warn, 1 fail (and warn where `fail_on` is `warn`), 2 not judged."""
    # A violation that is waived stops nobody: that is what the waiver was merged for.
    warned = any(each.verdict is Verdict.WARN and each.decision.waived is None for each in report.gates)
    counts = fail_on == "warn" and (warned or report.warns_beside or not report.gates)
    codes = {Verdict.PASS: 0, Verdict.WARN: int(counts), Verdict.FAIL: 1, Verdict.NOT_JUDGED: 2}
    return codes[report.verdict]
