"""The values that flow from step to step. All are frozen; absence is `None` or a named state, never 0, NaN or ""."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rankgate.model.answers import GoldClaim, UnjudgedKind

if TYPE_CHECKING:
    from rankgate.model.verdicts import AnswerVerdicts

# Differences smaller than this come from rounding in binary fractions and mean nothing.
TOLERANCE = 1e-9

BEYOND = 1e12  # by how much missing values lie beyond all others of which a quantile is taken

CONFIDENCE = 0.95  # of intervals, where nobody asks for another
WARNING_LEVEL = 0.08  # one-sided: what is beyond a limit and less sure than this is noise

CONTEXT_DEPTH = 5  # items that a prompt is taken to hold where neither the run nor anybody else says

# Lower and upper bound; None where the data do not support that bound.
Interval = tuple[float | None, float | None]


class Direction(Enum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"

    def __str__(self) -> str:
        return self.value

    @property
    def sign(self) -> int:
        """What a number is multiplied with so that below is worse."""
        return 1 if self is Direction.HIGHER else -1

    def upright(self, ci: Interval | None) -> Interval:
        """The bounds, mirrored where lower is better, so that below is worse; two None where there is no interval."""
        low, high = ci or (None, None)
        if self is Direction.HIGHER:
            return low, high
        return (None if high is None else -high), (None if low is None else -low)

    def certain(self, ci: Interval | None) -> int:
        """Of a change by its interval: −1 where all of it is for the worse, 1 where it is for the better, else 0."""
        low, high = self.upright(ci)
        return -1 if high is not None and high < 0 else int(low is not None and low > 0)


class Unit(Enum):
    """How people read a value: a share in percent, a score from 0 to 1, a plain number, milliseconds."""

    SHARE = "share"
    SCORE = "score"
    NUMBER = "number"
    MILLISECONDS = "ms"


class Verdict(StrEnum):
    """What the gate says about a pull request; `NOT_JUDGED` means that it could not. It equals its text, too."""

    PASS = "pass"  # noqa: S105 -- a verdict, not a password
    WARN = "warn"
    FAIL = "fail"
    NOT_JUDGED = "not_judged"


class Evidence(Enum):
    """What a gate asks for: the estimate alone, proof that all is well, or proof of harm."""

    ESTIMATE = "estimate"
    PROVEN_SAFE = "proven_safe"
    PROVEN_HARM = "proven_harm"


class EvidenceState(Enum):
    """What the interval says of a gate's limits: nothing against the ruling, too wide to tell, or not there."""

    CLEAR = "clear"
    INCONCLUSIVE = "inconclusive"
    NO_INTERVAL = "no_interval"
    NOT_COMPARABLE = "not_comparable"
    NO_BASELINE = "no_baseline"


class Ruling(Enum):
    """What becomes of a limit."""

    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


SEVERITY_ORDER = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED)


def worst(verdicts: list[Verdict]) -> Verdict:
    """The most severe of several verdicts; `PASS` when there is none."""
    return max(verdicts, key=SEVERITY_ORDER.index, default=Verdict.PASS)


def blocks(verdict: Verdict) -> bool:
    """Whether it keeps a change from being merged; of two that do neither is milder."""
    return verdict in (Verdict.FAIL, Verdict.NOT_JUDGED)


class RunField(Enum):
    """What is read beyond ids and gains. Readers decode, and matching fills in, nothing that no metric needs."""

    # From the run: the key that a line or an item of it has.
    LATENCY = "latency_ms"
    DOCS = "doc_id"
    VERSIONS = "doc_version"
    TEXTS = "text"
    ITEM_SCORES = "score"
    OFFSETS = "start"  # with `end`, the text where an item states no offsets, and the document
    RAW = "raw_topk"
    REWRITES = "rewrites"
    SOURCE = "source"
    ENTITIES = "entities"
    SCORES = "scores"
    ANSWER = "answer"  # with citations, context, context_texts and abstained
    # From a judge.
    VERDICTS = "verdicts"
    # Of the run the lines of traffic questions, beside those of the gold set.
    TRAFFIC = "traffic"
    # From the match.
    JUDGED = "judged items"
    PASSAGES = "passages"
    NEGATIVES = "hard negatives"
    IDS = "ids"
    BASELINE = "the baseline's ids"


FROM_MATCH = frozenset({RunField.JUDGED, RunField.PASSAGES, RunField.NEGATIVES, RunField.IDS, RunField.BASELINE})

# What a line states beside its list of results, by the key of `Details` that holds it.
_STATED = (
    RunField.RAW,
    RunField.REWRITES,
    RunField.LATENCY,
    RunField.SOURCE,
    RunField.ENTITIES,
    RunField.SCORES,
    RunField.VERDICTS,
)
LINE_KEYS: Mapping[RunField, str] = {need: need.value.removesuffix("_topk") for need in _STATED}


class ReasonKind(Enum):
    """What a gate's verdict rests on; `reasons.py` has the sentence of each."""

    THRESHOLD = "threshold"
    REGRESSION = "regression"
    NO_BASELINE = "no_baseline"
    NOT_STATED = "not_stated"  # the baseline's run lacks what the metric reads
    NOT_IN_BASELINE = "not_in_baseline"  # it has the metric for none of today's queries
    FOREIGN_BASELINE = "foreign_baseline"  # its lists speak of other ids than today's gold
    OTHER_JUDGE = "other_judge"
    MISSING = "missing"
    NO_VERDICT = "no_verdict"  # the same of a judge's word
    AWAITS_LABEL = "awaits_label"  # a fork's answers are not judged before a maintainer accepts its run
    AWAITS_MERGE = "awaits_merge"  # the base has no judge yet
    UNDEFINED = "undefined"
    NOT_FINITE = "not_finite"
    ABSENT = "absent"
    ONE_SIDED = "one_sided"
    UNJUDGED = "unjudged"
    ADVISORY = "advisory"  # people have not checked the judge enough for it to block
    GIVEN = "given"  # of answers only what needs no judge counts: whether there is one
    MUST_PASS = "must_pass"  # noqa: S105 -- no password either
    LOST = "lost"
    TOO_SMALL = "too_small"
    TRAFFIC = "traffic"  # the change over all traffic, measured by labels of a draw, or not


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a gate passed, warned or failed: what the sentence needs beyond the numbers of the gate itself.

    `ruling` and `state` are what a limit says of the value or the pairs, whose noise is counted in `clusters` or
    queries; where `at_worst` is there, the value or change with the worst for the `count` queries whose value is
    missing, or that only the baseline has, or that a judge has no word on (`need`), that ruling is in doubt. `count` of
    `among` queries are concerned, and `limit` is what is allowed or needed of them. `source` lacks the values, `need`
    is what the baseline does not state. `corrected_for` is how many segments share the correction. `text` is written
    into report.json for its readers, and not read again. `names` are the judges of run and baseline, or those of
    verdicts of which none is on these answers; `kinds` counts why verdicts are missing. `beyond_noise` says that noise
    alone breaks the limit like this in less than `WARNING_LEVEL` of the checks, which warns and proves nothing.
    """

    kind: ReasonKind
    ruling: Ruling | None = None
    state: EvidenceState | None = None
    clusters: bool = False
    count: int = 0
    among: int = 0
    limit: int = 0
    source: Literal["run", "baseline"] | None = None
    need: RunField | None = None
    names: tuple[str, ...] = ()
    kinds: Mapping[UnjudgedKind, int] = {}
    at_worst: float | None = None
    corrected_for: int = 0
    beyond_noise: bool = False
    text: str = ""

    @property
    def in_doubt(self) -> bool:
        """Whether a limit that is not proven broken warns: beyond noise, by what is missing, or with no interval."""
        if self.ruling is not Ruling.INCONCLUSIVE:
            return False
        return self.beyond_noise or self.at_worst is not None or self.state is not EvidenceState.INCONCLUSIVE


class Span(msgspec.Struct, frozen=True, gc=False):
    """A passage of a document: the code points `start` to `end`, exclusive, of its text, which `text` may quote."""

    doc: str
    start: int
    end: int
    text: str | None = None

    @property
    def id(self) -> str:
        """How judgments name it: `handbook:1042-1311`."""
        return f"{self.doc}:{self.start}-{self.end}"


MANY = 10_000  # questions: with more, memory counts more than the time that a form takes which spares it


class Sample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One gold query: its judgments and what is known about it.

    `gains` maps every judged id to its gain; ids with a gain above zero are relevant. `judge_gains` are a judge's
    labels beside them, for documents that the gold does not judge. `negatives` are documents that must not stand above
    the relevant ones. `spans` are the passages among all these, by the ids that stand for them there. `k` is its
    own cut-off (`metadata.k`) for metrics whose name has none. `answers` are texts of which any one answers the
    question, `claims` what a right answer must say, each once. `as_of` is the day (ISO 8601) for which it is asked,
    `source` and `entities` what a router and an entity extractor should have found.
    """

    query_id: str
    gains: Mapping[str, float]
    judge_gains: Mapping[str, float] = {}
    negatives: tuple[str, ...] = ()
    spans: Mapping[str, Span] = {}
    question: str | None = None
    tags: tuple[str, ...] = ()
    k: int | None = None
    no_answer: bool = False
    answers: tuple[str, ...] = ()
    claims: tuple[GoldClaim, ...] = ()
    as_of: str | None = None
    source: tuple[str, ...] = ()
    entities: tuple[str, ...] | None = None
    cluster: str | None = None
    line: int | None = None

    def relevant(self) -> list[str]:
        """Ids with a positive gain, in the order of the gold file."""
        return [doc for doc, gain in self.gains.items() if gain > 0]

    def judgments(self) -> list[Any]:
        """The gains and, where there are any, claims and texts of spans, as JSON can hold them, in one order."""
        claims = [sorted((claim.text, claim.vital) for claim in self.claims)] if self.claims else []
        quoted = [(span.id, span.text) for span in self.spans.values() if span.text is not None]
        return [sorted(self.gains.items()), *claims, *([sorted(quoted)] if quoted else [])]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How the columns or keys of a gold set's file were read, beside questions, documents and ratings.

    `segments` became tags; `crowded` would have, with so many values that no segment is of use. `separator` is the sign
    at which the cells of a column were split into documents, after the column's name. `columns` are the others, by the
    words of `init --map`; none where the file has no columns.
    """

    segments: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    crowded: Mapping[str, int] = {}
    separator: tuple[str, str] | None = None
    columns: Mapping[str, str] = {}


class Gold(msgspec.Struct, frozen=True, kw_only=True):
    """The gold set by query id, in file order.

    `fingerprint` is a digest of the judgments, claims among them, whatever the format; None until somebody asks for it
    (`fingerprint_of`). The questions `by_text` are answered only by lines that state their text.
    """

    samples: Mapping[str, Sample]
    name: str
    format: str
    fingerprint: str | None = None
    by_text: frozenset[str] = frozenset()
    reading: Reading = Reading()

    @property
    def by_id(self) -> Gold:
        """For accepted runs: a line of theirs that states no text is taken by its id, whatever has changed."""
        return msgspec.structs.replace(self, by_text=frozenset())


class Item(msgspec.Struct, frozen=True, gc=False):
    """What the run says of an item beyond its id, as far as asked; `version` is an ISO day, `end` goes with `start`."""

    doc_id: str | None = None
    version: str | None = None
    text: str | None = None
    score: float | None = None
    source: str | None = None
    start: int | None = None
    end: int | None = None


class Generated(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a generator wrote from the results of a query, as the run states it; None where it does not say.

    An empty answer is an answer. `citations` are the ids that the answer cites, each once, retrieved or not. `context`
    are the ids of what the prompt held, in its order: each is an item of the list, or has its text in `texts`. These
    texts are what the prompt held of an id, and count in place of the item's. `abstained` is what the line says,
    whatever the answer.
    """

    answer: str | None = None
    citations: tuple[str, ...] | None = None
    context: tuple[str, ...] | None = None
    texts: Mapping[str, str] | None = None
    abstained: bool | None = None


class Details(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What the run says of a query beyond ranked ids, as far as a metric asked for it; None where it does not say.

    `items` stand in the order of the ids. `raw` is the list before reranking, `rewrites` the lists that rewritten
    forms of the question gave. `source` are the sources that the question was routed to or, of a line that says none,
    those of its items. `scores` are other tools' numbers, `judges` has who gave them where that is named. A time or a
    number that its tool left undefined (null) is None. `generated` is there where the line has any key of it,
    `verdicts` (one set a repeat) where a judge was asked for. `records` is the JSON list of the verdicts that were
    stored with the answer; no run but a stored one has any.
    """

    items: Sequence[Item] | None = None
    raw: Ranking | None = None
    rewrites: Sequence[Ranking] | None = None
    latency_ms: Mapping[str, float | None] | None = None
    source: tuple[str, ...] | None = None
    entities: Sequence[str] | None = None
    scores: Mapping[str, float | None] | None = None
    judges: Mapping[str, str] | None = None
    generated: Generated | None = None
    verdicts: tuple[AnswerVerdicts, ...] | None = None
    records: bytes | None = None


class Ranking(msgspec.Struct, frozen=True, gc=False):
    """What the retriever returned for one query: ids by rank, each once.

    `duplicates` counts repeated ids that were removed (later items moved up). The scores that the run states beside
    the ids are `rising` where there are at least five, none is lower than the one before it, and the last is higher
    than the first: by accident that is so in one of 120 lists. They are `tied` where they order a list and are all
    equal. `question_digest` is of the question's text, where the run states it. `traffic` says that the question is
    none of the gold set.
    """

    query_id: str
    ids: list[str]
    duplicates: int = 0
    details: Details | None = None
    rising: bool = False
    tied: bool = False
    question_digest: str | None = None
    traffic: bool = False

    @property
    def stated_items(self) -> Sequence[Item]:
        """What the run says of each item, in their order; nothing where it was not read with that."""
        return (self.details and self.details.items) or ()

    def context(self, depth: int = CONTEXT_DEPTH) -> list[tuple[str, str | None]]:
        """Ids and texts of what the prompt held: the context that the line states, else the first `depth` items.

        A text is None where the run does not state it, or was not read with `RunField.TEXTS`.
        """
        details = self.details or Details()
        generated = details.generated or Generated()
        listed = {item_id: item.text for item_id, item in zip(self.ids, details.items or (), strict=False)}
        texts = {**listed, **(generated.texts or {})}
        held = self.ids[:depth] if generated.context is None else generated.context
        return [(item_id, texts.get(item_id)) for item_id in held]
