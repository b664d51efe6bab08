"""What a judge said of an answer, as metrics read it: frozen values, with a reason in the place of what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeAlias

import msgspec

# For a drop to count: labelled answers, those with the rarer verdict, and what the lower bound of J exceeds.
MIN_ANSWERS, MIN_RARER, SEES_LITTLE = 100, 30, 0.4
MIN_CLUSTERS = 45  # of labelled answers: with 40, 95 % intervals of a value near 1 hold it in 91.5 %, with 45 in 93 %
# Labels are of these metrics, and of rubrics.
LABELLED = ("faithfulness", "unfaithful_rate", "answered_rate", "abstained_rate")


def has_labels(metric: str) -> bool:
    """Whether people's labels are of a metric, by its name."""
    return metric in LABELLED or metric.startswith("rubric(")


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


class Unjudged(msgspec.Struct, frozen=True, omit_defaults=True):
    """Stands where a verdict is missing; what the numbers mean depends on the kind."""

    kind: UnjudgedKind
    number: int | None = None
    limit: int | None = None


NO_VERDICT = Unjudged(UnjudgedKind.NO_VERDICT)


class Entailment(Enum):
    """What passages say of a statement. `UNVERIFIED`: called supported, by a quote that they do not have."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    ABSENT = "absent"
    UNVERIFIED = "unverified"


class Addressing(Enum):
    """How far an answer addresses its question, or that it commits itself to nothing."""

    FULLY = "fully"
    PARTLY = "partly"
    NO = "no"
    NONCOMMITTAL = "noncommittal"


class Support(msgspec.Struct, frozen=True):
    """The verdict on statement `n`, with the numbers of the passages that it rests on and a quote from them."""

    n: int
    verdict: Entailment
    passages: tuple[int, ...] = ()
    quote: str = ""


Supports: TypeAlias = tuple[Support, ...]


class GoldClaim(msgspec.Struct, frozen=True, gc=False):
    """One fact that a right answer must state, in NFC and with single spaces; one that is not vital may be missing."""

    text: str
    vital: bool = True


class AnswerState(Enum):
    """Whether an answer asserts something, abstains, or is not there: empty, and not said to be an abstention."""

    ASSERTS = "asserts"
    ABSTAINED = "abstained"
    MISSING = "missing"


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


class VerdictKind(Enum):
    """What a metric needs of an answer, by the field of `AnswerVerdicts` that has it."""

    STATE = "state"
    SUPPORT = "support"
    CORRECTNESS = "correctness"
    GOLD_IN_ANSWER = "gold_in_answer"
    GOLD_IN_CONTEXT = "gold_in_context"
    RELEVANCE = "relevance"
    ADDRESS = "address"
    RUBRICS = "rubrics"


class AnswerVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """All that metrics read of one answer.

    Each value is None where it was not wanted or has no meaning for the query, and an `Unjudged` where the judge's word
    is missing. `support` are the claims against the context, `correctness` the claims against the reference, or against
    the gold claims where there is no reference. `gold_in_answer` and `gold_in_context` are the gold claims, which are
    those of the gold or else those of its reference. Of these four each has one verdict a claim, in order; passages are
    numbers, from 1, of `context`, of the reference or the gold claims, of the answer (always 1), and of `context`.
    `relevance` has a grade a passage of the context, `rubrics` a verdict a criterion, which rests on the answer.
    `key` is the SHA-256 of question, answer and passages, where the run has an answer. `served` names what gave the
    verdicts, as the server called it: see `served_names`.
    """

    query_id: str
    context: tuple[str, ...]
    citations: tuple[str, ...]
    no_answer: bool
    state: AnswerState | Unjudged | None = None
    claims: tuple[str, ...] | Unjudged | None = None
    support: Supports | Unjudged | None = None
    correctness: Supports | Unjudged | None = None
    gold_claims: tuple[GoldClaim, ...] | Unjudged | None = None
    gold_in_answer: Supports | Unjudged | None = None
    gold_in_context: Supports | Unjudged | None = None
    relevance: tuple[int, ...] | Unjudged | None = None
    address: Addressing | Unjudged | None = None
    rubrics: Mapping[str, Support | Unjudged] | Unjudged | None = None
    key: str | None = None
    served: str | None = None


def served_names(models: Iterable[tuple[str, str | None]]) -> str | None:
    """What gave verdicts, a line each: a model as the server called it, with its fingerprint behind a tab.

    None where nothing did.
    """
    names = {f"{model}\t{fingerprint}" if fingerprint else model for model, fingerprint in models}
    return "\n".join(sorted(names)) if names else None


def served_text(names: str) -> str:
    """The same for people: `gpt-4o-2024-08-06, fp_5 and fp_6`."""
    return names.replace("\n", " and ").replace("\t", ", ")


def fingerprints_count(now: Mapping[str, str | None], before: Mapping[str, str | None]) -> bool:
    """Whether fingerprints tell models apart, by what gave the values of either run, by query.

    A service of several machines answers by several fingerprints, and both runs have met each. They tell where the
    values that were not taken over have none in common.
    """
    changed = [query for query, names in now.items() if names != before.get(query)]
    ours = {name for query in changed for name in (now[query] or "").splitlines()}
    return ours.isdisjoint(name for query in changed for name in (before.get(query) or "").splitlines())


def same_served(one: str | None, other: str | None, *, fingerprints: bool) -> bool:
    """Whether two names are of one model; its fingerprint counts where that is asked for.

    A value without a name takes no model's word, as that of an empty answer: it compares with any.
    """
    if one is None or other is None:
        return True
    if fingerprints:
        return one == other
    models, others = ({name.partition("\t")[0] for name in names.splitlines()} for names in (one, other))
    return models == others
