"""`report.json`: everything that a renderer or the bot needs, so that neither ever scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import force_setattr, replace

from rankgate.errors import Problem, redacted, shown
from rankgate.model.answer_losses import AnswerChanges, AnswerLoss, NoVerdicts, Unsupported
from rankgate.model.answers import GateJudge, JudgeMark
from rankgate.model.base_ref import BaseSide
from rankgate.model.conclusion import NO_CONCLUSION, Conclusion, Empties, GivenUp, OtherCode, PartLoss
from rankgate.model.details import Cause, Expected, ReportDetails, fate_of
from rankgate.model.differences import Difference
from rankgate.model.gold_changes import GoldChanges
from rankgate.model.lineage import AnchorMark, Lineage
from rankgate.model.traffic import Traffic
from rankgate.model.values import (
    Direction,
    Distribution,
    Evidence,
    EvidenceState,
    Exact,
    Interval,
    Reason,
    ReasonKind,
    RunField,
    Unit,
    Verdict,
)
from rankgate.model.waiver_use import Waived, WaiverUse

SCHEMA_VERSION = 2
BARE_TAG = "tag"  # the dimension of tags without a key
NAMED = 3  # ids beside a count, or in place of what a question lost


class Detectable(msgspec.Struct, frozen=True, kw_only=True):
    """What the gold set can see of the change that a gate forbids.

    A true change of `detectable` violates the gate in 80 % of the runs. `margin` is the smallest true change that
    `queries` queries tell from none as often, and the smallest `regression_max` within which a change without effect is
    proven safe as often; it `sees` if that is within `regression_max`, for which `queries_needed` would be enough
    (None: no number is). `spread` is the standard deviation of the paired differences, `assumed` where too few queries
    moved.
    """

    detectable: float
    margin: float
    queries: int
    queries_needed: int | None
    spread: float
    assumed: bool
    sees: bool


class Counted(msgspec.Struct, frozen=True):
    """A value that counts in the place of another."""

    value: float
    ci: Interval | None


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """One gate's decision and the numbers behind it.

    `value` is over all `n` scored queries. `baseline`, `delta` and `delta_ci` are over the `n_pairs` queries for which
    both runs have a value, and `paired_value` is the candidate's on those, so that paired_value − baseline = delta.
    `counts` are the queries of these whose share is 1, before and now, where each has 0 or 1.
    `exact` is the one-sided test that can prove a drop beside the interval: of clusters under 30, and of quantiles.
    `line` is where the gate stands in the criteria.

    `evidence` says what decides; `evidence_state` is what the intervals, at `confidence`, say of the limits: clear,
    inconclusive (within noise), no_interval (too few queries, or clusters, to prove anything), no_baseline where a
    regression check had nothing to compare with, or not_comparable where another judge gave the baseline's values.
    `only_inconclusive` marks a warning for nothing but what could not be proven.
    `segment` is the tag, or tags, whose queries the result is about; None for all, and
    `too_small` says that it has too few of them to be judged, `fell` that the whole interval of its own change is on
    the worse side of zero, `surely_fell` that it is so when corrected for the number of segments (Holm). `queries` are
    those that must pass and do not. `violation` is how far the gate lies beyond its limits (the larger, where it breaks
    both), None where it breaks none; `hard_check_failed` says that it fails for single questions, whatever its limits;
    `doubts` is how many of the last `reasons` would only warn by themselves; `waived` who lets the violation pass.
    `judge` is there where the gate is on judged answers, and `no_verdicts` where it failed at answers of the run. Where
    value or change are in people's units `value_raw` and `delta_raw` are as the judge saw them, and `assumption` says
    that they rest on its erring alike on both runs.
    `counted` is what the floor takes for the value, without a gain that the judge alone has seen. `unjudged` is there
    where a pooled gold set judges less of the run: the `judged` shares of both first k, the changes with the rest
    `relevant`, and left out (`condensed`); where the gold set has a judge's
    labels, the share that is `labelled` or judged, and the changes with what is left wrong and relevant.
    """

    name: str
    metric: str
    meaning: str
    unit: Unit
    direction: Direction
    segment: str | None
    severity: Literal["error", "warning"]
    value: float | None
    value_raw: float | None = None
    counted: Counted | None = None
    ci: Interval | None
    threshold: float | None
    baseline: float | None
    paired_value: float | None
    counts: tuple[int, int] | None = None
    delta: float | None
    delta_ci: Interval | None
    delta_raw: float | None = None
    exact: Exact | None = None
    regression_max: float | None
    evidence: Evidence = Evidence.ESTIMATE
    evidence_state: EvidenceState
    confidence: float = 0.95
    only_inconclusive: bool = False
    too_small: bool = False
    fell: bool = False
    surely_fell: bool = False
    violation: float | None = None
    hard_check_failed: bool = False
    waived: Waived | None = None
    detectable: Detectable | None = None
    unjudged: Mapping[str, float] = {}
    judge: GateJudge | None = None
    assumption: Literal["alike"] | None = None
    no_verdicts: NoVerdicts | None = None
    verdict: Verdict
    reasons: list[Reason]
    doubts: int = 0
    queries: list[str] = []
    n: int
    n_pairs: int
    line: int | None

    def __repr__(self) -> str:
        part = f" in {shown(self.segment)}" if self.segment else ""
        numbers = f"{self.metric} {self.value}, interval {self.ci}, limit {self.threshold}, change {self.delta}"
        return f"<gate {shown(self.name)}{part}: {self.verdict}, {numbers}, {self.n} queries>"

    def verdict_of(self, position: int) -> Verdict:
        """What a reason means by itself: of a gate that fails, some only warn."""
        warns = self.verdict is Verdict.FAIL and position >= len(self.reasons) - self.doubts
        return Verdict.WARN if warns else self.verdict

    @property
    def limit(self) -> float | None:
        """The largest change for the worse that it allows, with its sign."""
        return None if self.regression_max is None else -self.direction.sign * self.regression_max

    @property
    def place(self) -> tuple[str, str | None]:
        """Gate and segment: what waivers name, and what both sides of a base judge alike."""
        return self.name, self.segment

    @property
    def is_main(self) -> bool:
        """Whether it is the gate's own row: over all queries."""
        return not self.segment

    @property
    def is_unproven(self) -> bool:
        """Whether it passes although it lies beyond a limit, since noise alone may put it there."""
        judged = self.verdict is Verdict.PASS and not self.too_small
        return judged and self.evidence_state is EvidenceState.INCONCLUSIVE

    @property
    def over_traffic(self) -> bool:
        """Whether it is the change over all traffic."""
        return any(reason.kind is ReasonKind.TRAFFIC for reason in self.reasons)

    @property
    def lacks_labels(self) -> bool:
        """Whether it is over traffic, and people have labelled too few of the drawn questions."""
        return self.over_traffic and self.evidence_state is EvidenceState.NO_INTERVAL

    @property
    def by_judge(self) -> bool:
        """Whether a judge's verdicts are what it measures."""
        return self.judge is not None and self.judge.id is not None

    @property
    def lacks_verdicts(self) -> bool:
        """Whether it waits for what `rankgate judge` gives."""
        moved = ReasonKind.OTHER_JUDGE if self.by_judge else None
        lacking = [reason for reason in self.reasons if reason.need is not RunField.ANSWER]
        return any(reason.kind in (ReasonKind.NO_VERDICT, moved) for reason in lacking)

    @property
    def corrects(self) -> bool:
        """Whether it limits the change of a segment and judges that by an interval corrected for how many there are."""
        return bool(self.segment) and self.evidence is Evidence.PROVEN_HARM and self.limit is not None


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
    that the baseline lacks.
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
    `spellings` as examples. In `rising` of `lists` the scores rise from rank to rank, in `tied` they are all equal, and
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


class ReportFile(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `report.json`.

    `conclusion` is what the reader is told first, and `summary` its sentence. `lost_parts` lost what the rest did not,
    the most first, whatever the gates ask. `given_up` is what small losses, accepted one by one, add up to, the worst
    first. `other_code` says why the run is not of this code, and `empties` what came back empty.
    `failures` and `warnings` are reasons to fail and to warn that no gate has. `notes` are facts that every reader
    of the verdict should know, `fine_print` is empty but in reports of earlier releases. `diagnosis`
    is empty unless a gate is violated or ids are stale; its first entry is what to look at first. `gold_changes` is
    None where the gold set is the one that was current when the baseline was accepted, or the baseline does not
    say. `differences` are what else is not what it was then, as far as the runs state it. `base` is there where a
    base was named. `untrusted_run` says that the pull request supplied the rankings and may have invented them;
    `fork_runs` whether a pass counts all the same, as the criteria have it. `trend` are the last runs of the main
    branch, oldest first, where the baseline's store remembers them. `traffic` is of questions without labels.
    """

    schema_version: int = SCHEMA_VERSION
    verdict: Verdict
    summary: str
    conclusion: Conclusion = NO_CONCLUSION
    problems: list[Problem] = []
    failures: list[str] = []
    warnings: list[str] = []
    notes: list[str] = []
    fine_print: list[str] = []
    diagnosis: list[Diagnosis] = []
    oddities: Oddities | None = None
    gates: list[GateResult] = []
    waivers: list[WaiverUse] = []
    lost_parts: list[PartLoss] = []
    given_up: list[GivenUp] = []
    empties: Empties | None = None
    metrics: Mapping[str, MetricValue] = {}
    baseline_metrics: Mapping[str, MetricValue] = {}
    queries: Queries | None = None
    segments: list[Segment] = []
    misses: list[Movement] = []
    moved: Moved | None = None
    answers: AnswerChanges | None = None
    gold_changes: GoldChanges | None = None
    differences: list[Difference] = []
    base: BaseSide | None = None
    other_code: OtherCode | None = None
    traffic: Traffic | None = None
    untrusted_run: bool = False
    fork_runs: Literal["untrusted", "trusted"] = "untrusted"
    trend: list[TrendPoint] = []
    provenance: Provenance


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What the check was called with, for the next command: by option the files that the criteria do not name.

    `judging` is what a judge takes beside these. `retriever` says that the criteria name one, `store` that the place of
    the baseline is known.
    """

    options: Mapping[str, str] = {}
    judging: tuple[str, ...] = ()
    retriever: bool = False
    store: bool = False


class Report(ReportFile, frozen=True, kw_only=True):
    """What is in `report.json`, and beside it `details` for pages, where they were asked for, and the job's `links`.

    `losers` has by `GateResult.place` the questions that got worse, the worst first, and `lowest` one with the lowest
    value. `anchor` is what the acceptance of the run has to remember of small losses, `call` what the check was called
    with.
    """

    details: ReportDetails | msgspec.UnsetType = msgspec.UNSET
    links: Links | msgspec.UnsetType = msgspec.UNSET
    losers: Mapping[str, list[str]] | msgspec.UnsetType = msgspec.UNSET
    lowest: Mapping[str, str] | msgspec.UnsetType = msgspec.UNSET
    anchor: AnchorMark | msgspec.UnsetType = msgspec.UNSET
    call: Call | msgspec.UnsetType = msgspec.UNSET

    @property
    def warns_beside(self) -> bool:
        """Whether there is anything to warn of that no gate has."""
        empty = self.empties is not None and self.empties.warns
        return bool(self.warnings or self.lost_parts or self.given_up or self.other_code or empty)

    def losers_of(self, place: tuple[str, str | None] | None) -> list[str]:
        """The questions that got worse by a row, the worst first; none where that is not known."""
        if place is None or self.losers is msgspec.UNSET:
            return []
        return self.losers.get(place_key(place), [])


def place_key(place: tuple[str, str | None]) -> str:
    """A row's name and segment as one key."""
    name, segment = place
    return f"{name}\n{segment or ''}"


Published = Literal["full", "gold", "ids", "numbers"]


def published(report: Report, texts: Published) -> Report:
    """The report with as many texts of questions, answers and passages as may leave: all, none, or none of traffic.

    By `numbers` what the gold set expects has no ids but its texts, and is numbered.
    """
    if texts == "full":
        return report
    report = replace(report, traffic=report.traffic and _by_id(report.traffic, documents=texts != "numbers"))
    if texts == "gold":
        return report
    answers = report.answers and replace(
        report.answers,
        losses=[_without_texts(loss) for loss in report.answers.losses],
        unsupported=[_unquoted(each) for each in report.answers.unsupported],
    )
    details = report.details
    if details is not msgspec.UNSET:
        questions = [replace(each, question=None) for each in details.questions]
        if texts == "numbers":
            questions = [replace(each, expected=tuple(_numbered(each.expected))) for each in questions]
        details = replace(details, questions=tuple(questions), texts=({}, {}))
    misses, odd = [replace(move, question=None) for move in report.misses], report.oddities
    if texts == "numbers":
        misses = [replace(move, documents=_numbered(move.documents)) for move in misses]
        odd = odd and replace(odd, examples=[], spellings=[])
    return replace(report, misses=misses, answers=answers, details=details, oddities=odd)


def _numbered(documents: Sequence[Expected]) -> list[Expected]:
    return [replace(each, id=f"passage {number}") for number, each in enumerate(documents, start=1)]


def _by_id(traffic: Traffic, *, documents: bool) -> Traffic:
    examples = [replace(each, question=None) for each in traffic.examples]
    if not documents:
        examples = [replace(each, before=(), now=()) for each in examples]
    return replace(traffic, examples=examples)


def _without_texts(loss: AnswerLoss) -> AnswerLoss:
    return replace(loss, question=None, claims=tuple(replace(claim, text="") for claim in loss.claims))


def _unquoted(found: Unsupported) -> Unsupported:
    return replace(found, question=None, claims=tuple(replace(claim, text="", quote="") for claim in found.claims))


def exit_code(report: Report, fail_on: str = "fail") -> int:
    """The exit code of a check: 0 pass or warn, 1 fail (and warn where `fail_on` is `warn`), 2 not judged."""
    # A violation that is waived stops nobody: that is what the waiver was merged for.
    warned = any(each.verdict is Verdict.WARN and each.waived is None for each in report.gates)
    counts = fail_on == "warn" and (warned or report.warns_beside or not report.gates)
    codes = {Verdict.PASS: 0, Verdict.WARN: int(counts), Verdict.FAIL: 1, Verdict.NOT_JUDGED: 2}
    return codes[report.verdict]
