"""A report that the tests of renderers vary: a gate that fails, a warning, a question that moved, a tag."""

from tests.gate_rows import changed, gate_result
from tests.report_keys import report_from

from rankgate.errors import Problem
from rankgate.gates.conclude import with_conclusion
from rankgate.model.details import Expected
from rankgate.model.report import (
    BaselineSource,
    MetricValue,
    Moved,
    Movement,
    Provenance,
    Queries,
    Report,
    Segment,
    SegmentValue,
    Source,
)
from rankgate.model.values import Direction, EvidenceState, Reason, ReasonKind, Ruling, Unit, Verdict

FELL = Reason(ReasonKind.REGRESSION, ruling=Ruling.VIOLATED, state=EvidenceState.CLEAR)
LOW = Reason(ReasonKind.THRESHOLD, ruling=Ruling.VIOLATED, state=EvidenceState.CLEAR)
STAYED = Reason(ReasonKind.REGRESSION, ruling=Ruling.HOLDS, state=EvidenceState.CLEAR)
ABSENT = Reason(ReasonKind.ABSENT, count=3)
TOO_SMALL = Reason(ReasonKind.TOO_SMALL, count=25, limit=30)


RECALL = gate_result(
    name="retrieval_recall_at_5",
    metric="recall@5",
    meaning="share of the relevant documents found in the first 5 results",
    unit=Unit.SHARE,
    direction=Direction.HIGHER,
    segment=None,
    severity="error",
    value=0.80,
    ci=(0.75, 0.85),
    threshold=0.85,
    baseline=0.90,
    paired_value=0.80,
    delta=-0.10,
    delta_ci=(-0.12, -0.08),
    regression_max=0.03,
    evidence_state=EvidenceState.CLEAR,
    verdict=Verdict.FAIL,
    reasons=[FELL, LOW],
    n=40,
    n_pairs=40,
    line=2,
)
LATENCY = changed(
    RECALL,
    name="fast enough",
    metric="latency",
    meaning="milliseconds that a question takes on average",
    unit=Unit.MILLISECONDS,
    direction=Direction.LOWER,
    severity="warning",
    value=35.0,
    threshold=50.0,
    baseline=None,
    paired_value=None,
    delta=None,
    delta_ci=None,
    evidence_state=EvidenceState.NO_BASELINE,
    regression_max=5.0,
    verdict=Verdict.WARN,
    reasons=[Reason(ReasonKind.NO_BASELINE)],
)
HOLDS = changed(
    RECALL,
    metric="hit@5",
    value=0.9,
    paired_value=0.9,
    delta=0.0,
    delta_ci=(0.0, 0.0),
    verdict=Verdict.PASS,
    reasons=[STAYED],
)
MOVE = Movement(
    query_id="q-1",
    question="how do I get a refund?",
    tags=["lang:en"],
    metric="recall@5",
    before=1.0,
    after=0.0,
    worse=True,
    k=5,
    lost=1,
    gained=0,
    documents=[Expected(id="doc-3", gain=1.0, before=2, after=None)],
)
IN_SEGMENT = SegmentValue(
    value=0.7, n=20, baseline=0.9, delta=-0.2, n_pairs=20, unit=Unit.SHARE, direction=Direction.HIGHER
)
ENGLISH = Segment(dimension="lang", value="en", queries=20, metrics={"recall@5": IN_SEGMENT})
_REPORT = report_from(
    verdict=Verdict.FAIL,
    summary="",
    notes=["2 repeated ids were removed from the rankings."],
    gates=[RECALL],
    metrics={
        "recall@5": MetricValue(
            value=0.8,
            ci=(0.75, 0.85),
            n=40,
            undefined=2,
            unit=Unit.SHARE,
            direction=Direction.HIGHER,
            meaning="share of the relevant documents found in the first 5 results",
        )
    },
    queries=Queries(total=42, scored=40, no_relevant=2, missing=0, missing_ids=[], unjudged=0, duplicates=2, new=0),
    segments=[ENGLISH],
    misses=[MOVE],
    moved=Moved(worse=1, better=0),
    provenance=Provenance(
        rankgate="0.1.0",
        date="2026-01-31",
        criteria="ship-criteria.yaml",
        gold=Source(path="gold.yaml", format="yaml"),
        run=Source(path="run.jsonl", format="jsonl", about={"system": "hybrid_v3", "k_raw": 50, "chunker": {"a": 1}}),
        baseline=BaselineSource(path="baseline", format="baseline", about={"accepted": "2026-01-01"}),
        command=["rankgate", "check", "--run", "run.jsonl"],
    ),
)
_NOT_JUDGED = Report(
    verdict=Verdict.NOT_JUDGED,
    summary="",
    problems=[Problem("broken JSON", "run.jsonl", 3)],
    provenance=Provenance(rankgate="0.1.0", date="2026-01-31", criteria="ship-criteria.yaml"),
)
REPORT, NOT_JUDGED = with_conclusion(_REPORT), with_conclusion(_NOT_JUDGED)
