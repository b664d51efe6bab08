"""What became of a gate, for all questions or in a segment: its decision and the numbers that it rests on, and waivers.

Its parts stand beside each other in a file: `to_row` and `in_parts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from rankgate.errors import shown
from rankgate.model.answers import GateJudge, NoVerdicts
from rankgate.model.scores import Exact
from rankgate.model.values import (
    Direction,
    Evidence,
    EvidenceState,
    Interval,
    Reason,
    ReasonKind,
    Ruling,
    RunField,
    Unit,
    Verdict,
)

OF_QUESTIONS = (ReasonKind.MUST_PASS, ReasonKind.LOST)  # what fails for single questions, which no waiver covers
LIMITS: Mapping[ReasonKind, Literal["floor", "drop"]] = {ReasonKind.THRESHOLD: "floor", ReasonKind.REGRESSION: "drop"}


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


class MeasuredValue(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate's value, over all `n` scored queries.

    `counted` is what the floor takes for it, without a gain that the judge alone has seen. Where the value is in
    people's units, `value_raw` is as the judge saw it.
    """

    value: float | None
    value_raw: float | None = None
    counted: Counted | None = None
    ci: Interval | None
    n: int

    @property
    def for_floor(self) -> MeasuredValue | Counted:
        """What the floor is held against."""
        return self.counted or self


class MeasuredChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change from the baseline, over the `n_pairs` queries for which both runs have a value.

    `paired_value` is the candidate's on those, so that paired_value − baseline = delta. `counts` are the queries of
    these whose share is 1, before and now, where each has 0 or 1. `exact` is the one-sided test that can prove a drop
    beside the interval: of clusters under 30, and of quantiles. Where the change is in people's units, `delta_raw` is
    as the judge saw it, and `assumption` says that it rests on the judge's erring alike on both runs.
    """

    baseline: float | None
    paired_value: float | None
    counts: tuple[int, int] | None = None
    delta: float | None
    delta_ci: Interval | None
    delta_raw: float | None = None
    assumption: Literal["alike"] | None = None
    exact: Exact | None = None
    n_pairs: int


NO_CHANGE = MeasuredChange(baseline=None, paired_value=None, delta=None, delta_ci=None, n_pairs=0)


class GateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the criteria ask of the gate: its limits, and by which evidence, at which confidence, they are judged."""

    threshold: float | None
    regression_max: float | None
    evidence: Evidence = Evidence.ESTIMATE
    confidence: float = 0.95


class GateEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """How far the numbers can be trusted.

    `evidence_state` is what the intervals say of the limits: clear, inconclusive (within noise), no_interval (too few
    queries to prove anything, or clusters to tell it from noise), no_baseline where a regression check had nothing to
    compare with, or not_comparable where another judge gave the baseline's values. `only_inconclusive` marks a warning
    for nothing but what could not be proven. Of a segment `too_small` says that it has too few queries to be judged,
    `fell` that the whole interval of its own change is on the worse side of zero, `surely_fell` that it is so when
    corrected for the number of segments (Holm). `unjudged` is there where a pooled gold set judges less of the run: the
    `judged` shares of both first k, the changes with the rest `relevant`, and left out (`condensed`); where the gold
    set has a judge's labels, the share that is `labelled` or judged, and the changes with what is left wrong and
    relevant.
    """

    evidence_state: EvidenceState
    only_inconclusive: bool = False
    too_small: bool = False
    fell: bool = False
    surely_fell: bool = False
    detectable: Detectable | None = None
    unjudged: Mapping[str, float] = {}


WaiverState = Literal["in_force", "expiring", "too_small", "expired", "unused", "unknown", "hard_check", "not_judged"]


class Waived(msgspec.Struct, frozen=True, kw_only=True):
    """Who lets a violation pass, why, until which day and up to how far beyond the limit."""

    by: str
    reason: str | None = None
    issue: str | None = None
    expires: str | None = None
    up_to: float | None = None

    @property
    def texts(self) -> list[str]:
        """Who, why and where that is discussed, as far as it is known: somebody's text."""
        return [text for text in (self.by, self.reason, self.issue) if text is not None]


class WaiverUse(msgspec.Struct, frozen=True, kw_only=True):
    """A waiver and what became of it; `line` is where it stands in its file.

    `violation` is how far its gate lies beyond the limit, None where it does not. `in_force` and `expiring` (within two
    weeks) let the violation pass. The others do nothing: `too_small` for the violation; `expired`; `unused`, since
    nothing is violated; `unknown`, since there is no such gate or segment; `hard_check`, since single questions fail,
    which no waiver covers; `not_judged`, since nobody can tell.
    """

    gate: str
    segment: str | None
    up_to: float
    expires: str
    issue: str
    reason: str
    by: str
    line: int | None
    state: WaiverState
    violation: float | None = None


class GateDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict and why.

    `doubts` is how many of the last `reasons` would only warn by themselves. `queries` are those that must pass and do
    not, and `hard_check_failed` says that the gate fails for single questions, whatever its limits. `violation` is how
    far the gate lies beyond its limits (the larger, where it breaks both), None where it breaks none; `waived` who lets
    that pass.
    """

    verdict: Verdict
    reasons: list[Reason]
    doubts: int = 0
    queries: list[str] = []
    violation: float | None = None
    hard_check_failed: bool = False
    waived: Waived | None = None

    def verdict_of(self, position: int) -> Verdict:
        """What a reason means by itself: of a gate that fails, some only warn."""
        warns = self.verdict is Verdict.FAIL and position >= len(self.reasons) - self.doubts
        return Verdict.WARN if warns else self.verdict

    @property
    def deciding(self) -> list[Reason]:
        """The reasons that give the verdict by themselves: what is broken, and where nothing is, what is in doubt."""
        by_themselves = [
            reason for position, reason in enumerate(self.reasons) if self.verdict_of(position) is self.verdict
        ]
        broken = [each for each in by_themselves if each.ruling is Ruling.VIOLATED or each.kind in OF_QUESTIONS]
        return broken or [each for each in by_themselves if each.in_doubt] or by_themselves


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """One gate's decision and the numbers behind it, over all queries or over those of a segment.

    `segment` is the tag, or tags, whose queries the result is about; None for all. `line` is where the gate stands in
    the criteria. `judge` is there where the gate is on judged answers, and `no_verdicts` where it failed at answers of
    the run. In report.json the keys of the five parts stand beside the others (`report_text`).
    """

    name: str
    metric: str
    meaning: str
    unit: Unit
    direction: Direction
    segment: str | None
    severity: Literal["error", "warning"]
    line: int | None
    judge: GateJudge | None = None
    no_verdicts: NoVerdicts | None = None
    measured: MeasuredValue
    change: MeasuredChange
    limits: GateLimits
    evidence: GateEvidence
    decision: GateDecision

    def __repr__(self) -> str:
        part = f" in {shown(self.segment)}" if self.segment else ""
        measured = self.measured
        limits = f"limit {self.limits.threshold}, change {self.change.delta}"
        numbers = f"{self.metric} {measured.value}, interval {measured.ci}, {limits}"
        return f"<gate {shown(self.name)}{part}: {self.verdict}, {numbers}, {measured.n} queries>"

    @property
    def verdict(self) -> Verdict:
        """The decision's verdict."""
        return self.decision.verdict

    @property
    def limit(self) -> float | None:
        """The largest change for the worse that it allows, with its sign."""
        return None if self.limits.regression_max is None else -self.direction.sign * self.limits.regression_max

    @property
    def bound(self) -> float | None:
        """The end of the interval of its change for the worse, as a size; None where the data support no such end."""
        low, _ = self.direction.upright(self.change.delta_ci)
        return None if low is None else max(-low, 0.0)

    @property
    def row_key(self) -> tuple[str, str | None]:
        """Gate and segment: what waivers name, and what rows of the base and of the head have in common."""
        return self.name, self.segment

    @property
    def missing(self) -> int:
        """How many values it lacks, which its limits hold or miss with them at their worst."""
        counts = [reason.count for reason in self.decision.reasons if reason.kind in LIMITS]
        return max(*counts, self.no_verdicts.count if self.no_verdicts else 0, 0)

    @property
    def is_main(self) -> bool:
        """Whether it is the gate's own row: over all queries."""
        return not self.segment

    @property
    def is_unproven(self) -> bool:
        """Whether it passes although it lies beyond a limit, since noise alone may put it there."""
        judged = self.verdict is Verdict.PASS and not self.evidence.too_small
        return judged and self.evidence.evidence_state is EvidenceState.INCONCLUSIVE

    @property
    def is_uncompared(self) -> bool:
        """Whether it passes for want of anything to judge: only its drop is limited, and no question has a pair."""
        drop_alone = self.limits.threshold is None and self.evidence.evidence_state is EvidenceState.NO_BASELINE
        return drop_alone and self.verdict is Verdict.PASS and not self.evidence.too_small

    @property
    def over_traffic(self) -> bool:
        """Whether it is the change over all traffic."""
        return any(reason.kind is ReasonKind.TRAFFIC for reason in self.decision.reasons)

    @property
    def lacks_labels(self) -> bool:
        """Whether it is over traffic, and people have labelled too few of the drawn questions."""
        return self.over_traffic and self.evidence.evidence_state is EvidenceState.NO_INTERVAL

    @property
    def by_judge(self) -> bool:
        """Whether a judge's verdicts are what it measures."""
        return self.judge is not None and self.judge.id is not None

    @property
    def lacks_verdicts(self) -> bool:
        """Whether it waits for what `rankgate judge` gives."""
        moved = ReasonKind.OTHER_JUDGE if self.by_judge else None
        lacking = [reason for reason in self.decision.reasons if reason.need is not RunField.ANSWER]
        return any(reason.kind in (ReasonKind.NO_VERDICT, moved) for reason in lacking)

    @property
    def of_whole_lists(self) -> bool:
        """Whether its value is over the questions of the pairs: where those have another, lists were cut for them."""
        return self.measured.n == self.change.n_pairs and not self.by_judge

    @property
    def corrects_for_parts(self) -> bool:
        """Whether it limits the change of a segment and judges that by an interval corrected for how many there are."""
        return bool(self.segment) and self.limits.evidence is Evidence.PROVEN_HARM and self.limit is not None


Parts = Mapping[str, type[msgspec.Struct]]  # by the field that holds it

# The values of a result that report.json has no key for: it has their keys beside the others.
GATE_PARTS: Parts = {
    "measured": MeasuredValue,
    "change": MeasuredChange,
    "limits": GateLimits,
    "evidence": GateEvidence,
    "decision": GateDecision,
}


def to_row(value: msgspec.Struct, parts: Parts) -> dict[str, Any]:
    """A value by its keys and those of its parts; what they hold is not copied."""
    row = msgspec.structs.asdict(value)
    held = [row.pop(name) for name in parts]  # all of them first: a part may have the name of another one's key
    for part in held:
        row |= msgspec.structs.asdict(part)
    return row


def in_parts(row: Mapping[str, Any], parts: Parts) -> dict[str, Any]:
    """The keys of a row, those of each part by themselves; a key that is absent stays so."""
    rest = dict(row)
    held = {name: {key: rest.pop(key) for key in part.__struct_fields__ if key in rest} for name, part in parts.items()}
    return rest | held
