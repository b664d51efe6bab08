"""The sentence of each reason, for those who know metrics and for those who do not: the same numbers in both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import RECALL
from tests.rows import each_row

from rankgate.gates.judged import without_labels
from rankgate.model.answers import Advisory, GateJudge, UnjudgedKind
from rankgate.model.gate_result import Waived
from rankgate.model.reasons import plain_sentence, problems_of, sentences
from rankgate.model.scores import Exact
from rankgate.model.values import (
    Direction,
    Evidence,
    EvidenceState,
    Reason,
    ReasonKind,
    Ruling,
    RunField,
    Unit,
    Verdict,
)

NUMBER = re.compile(r"\d+\.\d+|\d+")
CLEAR, NOISE, FEW = EvidenceState.CLEAR, EvidenceState.INCONCLUSIVE, EvidenceState.NO_INTERVAL
SAFE = {"evidence": Evidence.PROVEN_SAFE}

SHARE = changed(RECALL, value=0.812, paired_value=0.812, baseline=0.87, delta=-0.058, threshold=0.85, delta_ci=None)
SCORE = changed(SHARE, metric="mrr", unit=Unit.SCORE, value=0.612, threshold=0.62)
SCORE = changed(SCORE, paired_value=0.69, baseline=0.751, delta=-0.061, regression_max=0.05)
MS = changed(SHARE, metric="latency", unit=Unit.MILLISECONDS, direction=Direction.LOWER, value=34.0, threshold=50.0)
MS = changed(MS, paired_value=37.9, baseline=28.9, delta=9.0, regression_max=5.0)


def drop(ruling: Ruling = Ruling.VIOLATED, state: EvidenceState = CLEAR, **more: Any) -> Reason:
    return Reason(ReasonKind.REGRESSION, ruling=ruling, state=state, **more)


def floor(ruling: Ruling = Ruling.VIOLATED, state: EvidenceState = CLEAR) -> Reason:
    return Reason(ReasonKind.THRESHOLD, ruling=ruling, state=state)


LIMITS = [
    pytest.param(
        *(SHARE, drop(), {}),
        "recall@5 dropped from 87.0% to 81.2% (−5.8 pp; allowed drop: 3.0 pp)",
        id="a share",
    ),
    pytest.param(
        *(SCORE, drop(), {"n_pairs": 7, "regression_max": 0.0}),
        "mrr dropped from 0.751 to 0.690 on the 7 questions of both runs (−0.061; no drop allowed)",
        id="a score, on pairs, nothing allowed",
    ),
    pytest.param(
        *(MS, drop(), {}),
        "latency rose from 28.9 ms to 37.9 ms (+9.0 ms; allowed rise: 5.0 ms)",
        id="milliseconds that rose",
    ),
    pytest.param(
        *(SHARE, drop(state=NOISE), {"delta_ci": (-0.627, 0.312)}),
        "recall@5 dropped from 87.0% to 81.2% (−5.8 pp; allowed drop: 3.0 pp), within noise (95%: −62.7 to +31.2 pp)",
        id="within noise",
    ),
    pytest.param(
        *(SHARE, drop(state=NOISE), {"exact": Exact(0.0314, 0.001)}),
        "recall@5 dropped from 87.0% to 81.2% (−5.8 pp; allowed drop: 3.0 pp), within noise (p = 0.031)",
        id="within noise, by the exact test",
    ),
    pytest.param(
        *(SHARE, drop(state=FEW), {}),
        "recall@5 dropped from 87.0% to 81.2% (−5.8 pp; allowed drop: 3.0 pp), with too few questions to tell it "
        "from noise",
        id="too few questions",
    ),
    pytest.param(
        *(SHARE, drop(state=FEW, clusters=True), {"paired_value": 0.87, "delta": 0.0, **SAFE}),
        "recall@5 stayed at 87.0% (±0.0 pp; allowed drop: 3.0 pp), with too few clusters to prove that it holds",
        id="nothing moved, too few clusters",
    ),
    pytest.param(
        *(SHARE, drop(count=3, at_worst=-0.2), {}),
        "recall@5 dropped from 87.0% to 81.2% (−5.8 pp; allowed drop: 3.0 pp); only the baseline has a value for "
        "3 questions, and with the worst value there the change is −20.0 pp",
        id="values in the baseline only",
    ),
    pytest.param(
        *(SHARE, drop(Ruling.HOLDS), {"paired_value": 0.89, "delta": 0.02}),
        "recall@5 rose from 87.0% to 89.0% (+2.0 pp)",
        id="for the better",
    ),
    pytest.param(*(SCORE, floor(), {}), "mrr is 0.612, below the floor of 0.620", id="a floor that does not hold"),
    pytest.param(
        *(SHARE, floor(state=NOISE), {"value": 1.0, "threshold": 0.97, "ci": (0.945, 1.0), **SAFE}),
        "recall@5 is 100.0%, above the floor of 97.0%, not proven to hold the floor (95%: 94.5 to 100.0%)",
        id="a floor that is not proven",
    ),
    pytest.param(
        *(MS, floor(state=NOISE), {"ci": (30.1, 61.2), **SAFE}),
        "latency is 34.0 ms, below the ceiling of 50.0 ms, not proven to hold the ceiling (95%: 30.1 to 61.2 ms)",
        id="a ceiling that is not proven",
    ),
    pytest.param(
        *(SHARE, floor(state=NOISE), {"value": 0.81, "threshold": 0.8, "ci": (None, 0.95), **SAFE}),
        "recall@5 is 81.0%, above the floor of 80.0%, not proven to hold the floor (95%: ? to 95.0%)",
        id="half an interval",
    ),
    pytest.param(
        *(SHARE, drop(state=NOISE), {"baseline": 0.9, "paired_value": 0.89, "delta": -0.01, "confidence": 0.975}),
        {"delta_ci": (-0.065, 0.041), **SAFE},
        "recall@5 dropped from 90.0% to 89.0% (−1.0 pp; allowed drop: 3.0 pp), a larger drop is not ruled out "
        "(97.5%: −6.5 to +4.1 pp)",
        id="a drop that is not ruled out",
    ),
    pytest.param(
        *(MS, drop(state=NOISE), {"paired_value": 29.9, "delta": 1.0}),
        {"delta_ci": (-1.2, 8.8), **SAFE},
        "latency rose from 28.9 ms to 29.9 ms (+1.0 ms; allowed rise: 5.0 ms), a larger rise is not ruled out "
        "(95%: −1.2 to +8.8 ms)",
        id="a rise that is not ruled out",
    ),
    pytest.param(
        *(SHARE, drop(state=NOISE), {"baseline": 0.8, "paired_value": 0.82, "delta": 0.02}),
        {"delta_ci": (-0.05, 0.09), **SAFE},
        "recall@5 rose from 80.0% to 82.0% (+2.0 pp; allowed drop: 3.0 pp), a larger drop is not ruled out "
        "(95%: −5.0 to +9.0 pp)",
        id="for the better, and not proven",
    ),
    pytest.param(
        *(MS, drop(state=NOISE), {"baseline": 35.0, "paired_value": 33.0, "delta": -2.0, "regression_max": 0.0}),
        {"delta_ci": (-9.0, 5.0), **SAFE},
        "latency dropped from 35.0 ms to 33.0 ms (−2.0 ms; no rise allowed), a larger rise is not ruled out "
        "(95%: −9.0 to +5.0 ms)",
        id="for the better where lower is, and not proven",
    ),
]


@each_row("case", [pytest.param(each.values, id=each.id) for each in LIMITS])
def test_a_limit(case: tuple[Any, ...]) -> None:
    gate, reason, *changes, technical = case
    for change in changes:
        gate = changed(gate, **change)
    gate = changed(gate, reasons=[reason])
    assert sentences(gate) == [technical]


LACKING = "recall@5 lacks verdicts for 3 of 1,200 questions in the run: "
OTHERS = {
    ReasonKind.NO_BASELINE: "no baseline: whether recall@5 got worse could not be checked",
    ReasonKind.NOT_STATED: "the baseline states no `latency_ms`, which recall@5 reads; accept its run again",
    ReasonKind.FOREIGN_BASELINE: "whether recall@5 got worse is unknown: the baseline's lists hold ids that the gold "
    "set lacks; accept a run of today's ids",
    ReasonKind.NOT_IN_BASELINE: "the baseline has recall@5 for none of the questions that are scored now; accept a run "
    "that has it",
    ReasonKind.OTHER_JUDGE: "recall@5 is not comparable with the baseline: for 3 of 1,200 questions the two runs do "
    "not name the same judge",
    ReasonKind.NO_VERDICT: f"{LACKING}the judge was not asked; run `rankgate judge`",
    ReasonKind.MISSING: "recall@5 is missing (absent, null or NaN) for 3 of 1,200 questions in the run; state it, "
    "or raise `max_unjudged`",
    ReasonKind.UNDEFINED: "recall@5 is defined for none of the 3 questions",
    ReasonKind.NOT_FINITE: "recall@5 is not a finite number for every question",
    ReasonKind.ABSENT: "3 questions are absent from the run and not counted in recall@5",
    ReasonKind.ONE_SIDED: "3 questions have recall@5 in only one of the two runs",
    ReasonKind.UNJUDGED: "recall@5 rests on judgments of 40% of the first results, 98% of the baseline's: the change "
    "is −5.8 pp if the others are wrong, +1.0 pp if right, −2.0 pp without them; rankgate gold pool lists what "
    "to label",
    ReasonKind.AWAITS_LABEL: "recall@5 is waiting for the label `rankgate: accept rankings`: 3 of 1,200 questions have "
    "answers that are not judged before",
    ReasonKind.AWAITS_MERGE: "recall@5 is judged once this is merged: the base has no `judge:` yet",
    ReasonKind.ADVISORY: "advisory: no person has checked this judge; labels on 200 answers would do (`rankgate judge "
    "sample`)",
    ReasonKind.GIVEN: "of answered_rate only empty, missing and declared answers count, which needs no judge: no "
    "person has checked this judge; labels on 200 answers would do (`rankgate judge sample`); the judge finds 3 "
    "further refusals",
    ReasonKind.MUST_PASS: "3 must-pass questions fail: recall@5 has no value there",
    ReasonKind.LOST: "3 questions were lost in recall@5; at most 2 allowed",
    ReasonKind.TOO_SMALL: "3 questions, fewer than the 2 that a segment needs to be judged",
}


def test_another_served_model_is_named() -> None:
    reason = Reason(ReasonKind.OTHER_JUDGE, count=3, among=1_200, names=("m-2", "m-1"))
    text = (
        "recall@5 is not comparable with the baseline: for 3 of 1,200 questions the judge was 'm-2' now and 'm-1' then"
    )
    ours = changed(SHARE, reasons=[reason], judge=GateJudge(id="a"))
    assert sentences(ours) == [f"{text}; `rankgate judge` judges the baseline's answers again"]


@pytest.mark.parametrize(
    ("kinds", "names", "expected"),
    [
        pytest.param(
            {UnjudgedKind.NO_JSON: 2, UnjudgedKind.LENGTH: 1},
            (),
            "the judge failed at 3 of 1,200 questions in the run (2 without JSON, 1 cut off by length), which recall@5 "
            "needs; run `rankgate judge --again`",
            id="failed at all",
        ),
        pytest.param(
            {UnjudgedKind.NO_VERDICT: 2, UnjudgedKind.EMPTY: 1},
            (),
            f"{LACKING}the judge failed at 1 (1 empty); run `rankgate judge --again`",
            id="failed at some",
        ),
        pytest.param({UnjudgedKind.NO_VERDICT: 3}, (), OTHERS[ReasonKind.NO_VERDICT], id="not asked"),
        pytest.param(
            {UnjudgedKind.NO_VERDICT: 3},
            ("b", "c"),
            f"{LACKING}those at hand are by another judge (b and c); run `rankgate judge`",
            id="other judges",
        ),
        pytest.param(
            {UnjudgedKind.NO_VERDICT: 3},
            ("a", "b"),
            f"{LACKING}those at hand are on other answers or passages; run `rankgate judge`",
            id="other texts",
        ),
    ],
)
def test_what_lacks_verdicts_says_why_and_what_to_run(
    kinds: dict[UnjudgedKind, int], names: tuple[str, ...], expected: str
) -> None:
    reason = Reason(ReasonKind.NO_VERDICT, count=3, among=1_200, source="run", kinds=kinds, names=names)
    assert sentences(changed(SHARE, reasons=[reason], judge=GateJudge(id="a"))) == [expected]


ENDS = {"judged": 0.4, "judged_before": 0.98, "relevant": 0.01, "condensed": -0.02}


def test_every_kind_has_its_sentence_here() -> None:
    """But for limits and traffic, which have tests of their own."""
    assert set(OTHERS) == set(ReasonKind) - {ReasonKind.THRESHOLD, ReasonKind.REGRESSION, ReasonKind.TRAFFIC}


def test_the_page_names_every_kind_and_every_number() -> None:
    page = (Path(__file__).parents[2] / "docs" / "report-json.md").read_text().partition("| `kind` |")[2]
    table = page.partition("\n\n")[0]
    fields = {field.name for field in msgspec.structs.fields(Reason)} - {"kind", "text"}
    assert set(re.findall(r"`(\w+)`", table)) >= {kind.value for kind in ReasonKind} | fields


@each_row("kind", OTHERS, ids=lambda kind: kind.value)
def test_any_other_kind(kind: ReasonKind) -> None:
    reason = Reason(kind, count=3, among=1200, limit=2, source="run", need=RunField.LATENCY, text="not read again")
    gate = changed(SHARE, reasons=[reason], unjudged=ENDS, judge=without_labels(Advisory.FILE).judge())
    assert sentences(gate) == [OTHERS[kind]]
    begins = plain_sentence(gate).startswith(f"recall@5 ({gate.meaning}) is ")
    assert begins is (OTHERS[kind].startswith("recall@5 is ") and kind is not ReasonKind.MISSING), (
        "the meaning stands where the sentence begins with the name, and there is a value"
    )


def test_a_metric_that_compares_with_the_baseline_itself() -> None:
    gate = changed(SHARE, metric="rbo", value=None, reasons=[Reason(ReasonKind.NO_BASELINE)])
    assert sentences(gate) == ["no baseline: rbo compares with it"]


@pytest.mark.parametrize(
    ("changes", "before"),
    [
        pytest.param({"waived": Waived(by="a", expires="2026-12-31")}, "waived until 2026-12-31: ", id="a waiver"),
    ],
)
def test_what_the_gate_is_about_comes_first_and_a_waiver_once(changes: dict[str, Any], before: str) -> None:
    gate = changed(SHARE, reasons=[drop(), floor()], **changes)
    first, second = sentences(gate)
    assert first.startswith(f"{before}recall@5 dropped from")
    assert second == f"{before.rpartition(': ')[2]}recall@5 is 81.2%, below the floor of 85.0%"


def test_a_correction_comes_last() -> None:
    gate = changed(SHARE, segment="lang:es", delta_ci=(-0.1, 0.01), reasons=[drop(state=NOISE, corrected_for=30)])
    assert sentences(gate)[0].endswith("within noise (95%: −10.0 to +1.0 pp), corrected for 30 segments")


def test_what_could_not_be_judged_of_a_segment_names_it() -> None:
    unjudged = changed(SHARE, verdict=Verdict.NOT_JUDGED, reasons=[Reason(ReasonKind.NO_VERDICT, count=39, among=112)])
    found = problems_of([unjudged, replace(unjudged, segment="lang:de")], "c.yaml")
    assert [each.key for each in found] == [f"gate {SHARE.name}", f"gate {SHARE.name} in lang:de"]
