"""What a report says of judged answers: of their judge, why its word counts or is missing, and what got worse.

Beside it the claims that a right answer must state, by the gold, and in what they lost their support.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum

import msgspec

# For a drop to count: labelled answers, those with the rarer verdict, and what the lower bound of J exceeds.
MIN_ANSWERS, MIN_RARER, SEES_LITTLE = 100, 30, 0.4
MIN_CLUSTERS = 45  # of labelled answers: with 40, 95 % intervals of a value near 1 hold it in 91.5 %, with 45 in 93 %
# Labels are of these metrics, and of gated ones by criteria in words (`judge.tasks.Question.criteria`), by family.
LABELLED = ("faithfulness", "unfaithful_rate", "answered_rate", "abstained_rate")
OF_CRITERIA = ("rubric",)


def has_labels(metric: str) -> bool:
    """Whether people's labels are of a metric, by its name."""
    return metric.partition("(")[0] in (*LABELLED, *OF_CRITERIA)


def says_nothing(answer: str | None) -> bool:
    """Whether an answer is missing, or has only white space and characters that nobody sees, as a zero-width one."""
    return all(sign.isspace() or not sign.isprintable() for sign in answer or "")


class AnswerFlaw(Enum):
    """A way in which all answers of a run can go wrong, in the words for it."""

    EMPTY = "empty or missing"
    REFUSAL = "refusals in words"
    COPY = "copies of the question"
    SAME = "the same for all questions"
    CUT = "cut off"
    LANGUAGE = "in another language"


class UnjudgedKind(Enum):
    """Why there is no verdict."""

    # The question cannot be answered, or not by this model: kept in the store.
    NO_JSON = "no_json"
    SCHEMA = "schema"
    NUMBERING = "numbering"  # `number` verdicts, which are not numbered from 1 to `limit`
    UNKNOWN_PASSAGE = "unknown_passage"  # passage `number` of `limit`
    CONTRADICTION = "contradiction"  # claims of an answer that asserts nothing, or the reverse
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    EMPTY = "empty"
    CONTEXT_TOO_LONG = "context_too_long"  # about `number` tokens, of at most `limit`, where these are known
    # Something was in the way: tried again another time.
    NO_VERDICT = "no_verdict"  # nobody has asked the judge
    HTTP_STATUS = "http_status"  # `number` is the status
    ENVELOPE = "envelope"  # an answer that no such endpoint gives, as a proxy's page
    UNREACHABLE = "unreachable"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"

    @property
    def lasts(self) -> bool:
        """Whether it is kept: asking the same again would cost the same and hardly help."""
        return list(UnjudgedKind).index(self) < list(UnjudgedKind).index(UnjudgedKind.NO_VERDICT)


class Entailment(Enum):
    """What passages say of a statement. `UNVERIFIED`: called supported, by a quote that they do not have."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    ABSENT = "absent"
    UNVERIFIED = "unverified"


class GoldClaim(msgspec.Struct, frozen=True, gc=False):
    """One fact that a right answer must state, in NFC and with single spaces; one that is not vital may be missing."""

    text: str
    vital: bool = True


class JudgeMark(msgspec.Struct, frozen=True):
    """A judge as people know it: the first eight digits of its id, and its model."""

    id: str
    model: str


class Advisory(Enum):
    """Why what a judge says of a metric only warns."""

    FILE = "file"  # no calibration is named, or none is there
    JUDGE = "judge"  # it is another judge's
    AGE = "age"  # it is too old
    AHEAD = "ahead"  # its day lies in the future
    METRIC = "metric"  # the labels say nothing of the metric
    QUERIES = "queries"  # the labelled run has less than half of the questions, so that a floor warns
    SEGMENT = "segment"  # nobody drew labels for each segment, so that its floor warns
    CLUSTERS = "clusters"  # too few clusters have labels for a floor
    LABELS = "labels"  # too few labels, or too few of the rarer verdict
    CANNOT_TELL = "cannot_tell"  # the judge may not tell right from wrong
    WEAK = "weak"  # it may see too little of a difference for a drop


OF_FLOORS = (Advisory.QUERIES, Advisory.SEGMENT, Advisory.CLUSTERS)  # of drops they say nothing


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An estimate with its 95 % interval, over `n` answers."""

    value: float
    low: float
    high: float
    n: int


class LabelCounts(msgspec.Struct, frozen=True):
    """How many answers people labelled, how many have the rarer verdict, by how many people, of how many answers."""

    answers: int
    rarer: int
    people: int
    among: int

    def needed(self, j: Rate | None) -> int | None:
        """About how many labels make drops count; None where J <= 0.4 or a class is missing: more labels do not."""
        if not j or not self.rarer or j.value <= SEES_LITTLE:
            return None
        reach = (j.value - j.low) / (j.value - SEES_LITTLE)
        return max(MIN_ANSWERS, -(-MIN_RARER * self.answers // self.rarer), int(self.answers * reach**2) + 1)


class GateJudge(msgspec.Struct, frozen=True, kw_only=True):
    """The judge of a gate: whether what it says may block, or why it, or the limit that `reason` is of, only warns.

    `id` is None where it gave no verdict; `served` are the models that gave the run's, as the server called them. `j`
    is the part of a true difference that it sees, by people's labels.
    """

    id: str | None = None
    served: tuple[str, ...] = ()
    counts: bool = False
    reason: Advisory | None = None
    labels: LabelCounts | None = None
    j: Rate | None = None


class VerdictKind(StrEnum):
    """What a metric needs of an answer and its claims, by the field of `AnswerVerdicts` that has it."""

    STATE = "state"
    SUPPORT = "support"
    CORRECTNESS = "correctness"
    GOLD_IN_ANSWER = "gold_in_answer"
    GOLD_IN_CONTEXT = "gold_in_context"


class Stage(Enum):
    """Where an answer got worse, the first that holds.

    `RETRIEVAL`: the context supports fewer of the gold's claims than before. `REFUSAL`: the answer asserted something,
    and now nothing. `GENERATOR`: the context supports as many of the gold's claims, and the answer itself got worse.
    """

    RETRIEVAL = "retrieval"
    REFUSAL = "refusal"
    GENERATOR = "generator"


class Place(Enum):
    """Where a passage that supported a claim is now; `BEYOND`: in the list, and not in the context."""

    GONE = "gone"
    BEYOND = "beyond"
    REWRITTEN = "rewritten"  # in the context, with another text
    IN_CONTEXT = "in_context"


class LostClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim without support now; `before` is None where the baseline's answer does not make it.

    `asked` names the claims and what has to support them, as `AnswerVerdicts` does: those of the answer by the context,
    or those of the gold by the answer or by the context. `passage` supported it in the baseline's context, and of
    several it is the one that is least gone. Of a gold claim that the answer leaves out it supports the claim now, if
    the context still does (`IN_CONTEXT`). The ranks are those of the lists, None where a list lacks it. Nothing is
    known of a passage where `place` is None.
    """

    text: str
    asked: VerdictKind
    before: Entailment | None
    now: Entailment
    passage: str | None = None
    rank_before: int | None = None
    rank_now: int | None = None
    place: Place | None = None


class AnswerLoss(msgspec.Struct, frozen=True):
    """A question that got worse by a judged metric; `more` claims are not listed. No `stage` where verdicts lack."""

    query_id: str
    question: str | None
    metric: str
    before: float
    after: float
    stage: Stage | None
    claims: tuple[LostClaim, ...] = ()
    more: int = 0


class UnsupportedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of an answer that its context does not support.

    `passages` are the ids of those that the judge rests on, or where it names none, of all that it looked at; `quote`
    is what it quotes.
    """

    text: str
    verdict: Entailment
    passages: tuple[str, ...]
    quote: str = ""


class Unsupported(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with claims that its context does not support, of `among` claims that it makes."""

    query_id: str
    question: str | None
    claims: tuple[UnsupportedClaim, ...]
    among: int


class Silent(msgspec.Struct, frozen=True, kw_only=True):
    """How many of `among` questions have an answer that asserts nothing, which `metrics` leave out.

    With a baseline over the questions whose answers are judged in both runs; `before` is None without one.
    """

    before: int | None
    now: int
    among: int
    metrics: tuple[str, ...]


class NoVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """How many of `among` answers the judge failed at, why, and the value with all of them at the metric's worst."""

    count: int
    among: int
    kinds: Mapping[UnjudgedKind, int]
    at_worst: float


class AnswerChanges(msgspec.Struct, frozen=True):
    """What reports show of judged answers: the questions that got `worse`, and answers that are not faithful now.

    report.json lists the first of the `losses` and of what is `unsupported`, the largest share first.
    """

    silent: Silent | None
    worse: int
    losses: list[AnswerLoss]
    unsupported: list[Unsupported] = []
