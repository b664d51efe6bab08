"""The short texts that terminal and comment share."""

import pytest
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import RECALL, TOO_SMALL
from tests.report_keys import report_from, with_keys

from rankgate.model import wording
from rankgate.model.details import Expected
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Provenance, Queries, Report, SegmentValue
from rankgate.model.values import Direction, EvidenceState, Interval, Unit, Verdict
from rankgate.renderers import phrases
from rankgate.renderers.view.decided import segments_line
from rankgate.renderers.view.questions import rank_move

GATE = changed(
    RECALL,
    value=0.858,
    ci=(0.80, 0.90),
    baseline=0.919,
    paired_value=0.858,
    delta=-0.061,
    delta_ci=(-0.104, -0.021),
    reasons=[],
)
SCORE = replace(GATE, unit=Unit.SCORE)
LATENCY = changed(
    GATE,
    unit=Unit.MILLISECONDS,
    direction=Direction.LOWER,
    value=35.25,
    baseline=30.0,
    paired_value=35.25,
    delta=5.25,
    delta_ci=(1.0, 9.5),
    threshold=50.0,
    regression_max=10.0,
)
NO_BASELINE = changed(GATE, baseline=None, delta=None, delta_ci=None)


@pytest.mark.parametrize(
    ("gate", "values", "now", "change"),
    [
        pytest.param(GATE, "91.9% → 85.8%", "85.8%", "−6.1 pp", id="share"),
        pytest.param(SCORE, "0.919 → 0.858", "0.858", "−0.061", id="score"),
        pytest.param(LATENCY, "30.0 ms → 35.2 ms", "35.2 ms", "+5.2 ms", id="milliseconds"),
        pytest.param(NO_BASELINE, "85.8%", "85.8%", "–", id="no baseline"),
        pytest.param(changed(NO_BASELINE, value=None), "–", "–", "–", id="nothing scored"),
        pytest.param(changed(GATE, delta=0.0), "91.9% → 85.8%", "85.8%", "±0.0 pp", id="nothing changed"),
        pytest.param(
            changed(GATE, value=0.84999),
            "91.900% → 85.800%",
            "84.999%",
            "−6.100 pp",
            id="decimals that show a broken floor",
        ),
        pytest.param(
            changed(GATE, delta=-0.0301), "91.90% → 85.80%", "85.80%", "−3.01 pp", id="decimals that show a broken drop"
        ),
        pytest.param(changed(GATE, value=0.85), "91.9% → 85.8%", "85.0%", "−6.1 pp", id="exactly at the floor"),
    ],
)
def test_values_of_a_gate(gate: GateResult, values: str, now: str, change: str) -> None:
    assert (phrases.gate_values(gate), phrases.gate_now(gate), phrases.gate_change(gate)) == (values, now, change)


@pytest.mark.parametrize(
    ("ci", "unit", "text"),
    [
        pytest.param((0.841, 0.899), Unit.SHARE, "84.1 to 89.9%", id="the unit once"),
        pytest.param((0.841, 0.899), Unit.SCORE, "0.841 to 0.899", id="no unit"),
        pytest.param((30.0, 41.5), Unit.MILLISECONDS, "30.0 to 41.5 ms", id="milliseconds"),
        pytest.param((None, 41.5), Unit.MILLISECONDS, "? to 41.5 ms", id="no lower bound"),
        pytest.param((30.0, None), Unit.MILLISECONDS, "30.0 ms to ?", id="no upper bound"),
        pytest.param(None, Unit.SHARE, "", id="no interval"),
        pytest.param((None, None), Unit.SHARE, "", id="no bound"),
    ],
)
def test_interval_of_a_value(ci: Interval | None, unit: Unit, text: str) -> None:
    assert wording.interval_text(ci, unit) == text


@pytest.mark.parametrize(
    ("gate", "text"),
    [
        pytest.param(GATE, "≥ 85.0%, −3.0 pp", id="floor and drop"),
        pytest.param(changed(GATE, regression_max=None), "≥ 85.0%", id="floor"),
        pytest.param(changed(GATE, threshold=None), "−3.0 pp", id="drop"),
        pytest.param(changed(GATE, threshold=None, regression_max=0.0), "no drop", id="no drop"),
        pytest.param(SCORE, "≥ 0.850, −0.030", id="score"),
        pytest.param(LATENCY, "≤ 50.0 ms, +10.0 ms", id="lower is better"),
        pytest.param(changed(LATENCY, regression_max=0.0), "≤ 50.0 ms, no rise", id="no rise"),
        pytest.param(changed(GATE, threshold=0.8505, regression_max=None), "≥ 85.05%", id="a fine floor"),
        pytest.param(changed(GATE, threshold=None, regression_max=0.0004), "−0.04 pp", id="a drop below a decimal"),
    ],
)
def test_limit_of_a_gate(gate: GateResult, text: str) -> None:
    assert phrases.gate_limit(gate) == text


@pytest.mark.parametrize(
    ("verdict", "icon", "status"),
    [
        pytest.param(Verdict.PASS, "✅", "pass", id="pass"),
        pytest.param(Verdict.WARN, "⚠️", "warn", id="warn"),
        pytest.param(Verdict.FAIL, "❌", "fail", id="fail"),
        pytest.param(Verdict.NOT_JUDGED, "❔", "not judged", id="not judged"),
    ],
)
def test_status_and_icon(verdict: Verdict, icon: str, status: str) -> None:
    assert phrases.gate_status(changed(GATE, verdict=verdict)) == status
    assert phrases.ICONS[verdict] == icon


@pytest.mark.parametrize(
    ("value", "delta", "text"),
    [
        pytest.param(0.742, -0.183, "74.2% (−18.3 pp)", id="changed"),
        pytest.param(0.742, 0.0, "74.2%", id="not changed"),
        pytest.param(0.742, None, "74.2%", id="no baseline"),
        pytest.param(None, None, "–", id="nothing scored"),
    ],
)
def test_value_in_a_segment(value: float | None, delta: float | None, text: str) -> None:
    segment = SegmentValue(
        value=value, n=20, baseline=0.9, delta=delta, n_pairs=20, unit=Unit.SHARE, direction=Direction.HIGHER
    )
    assert phrases.segment_text(segment) == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        pytest.param(2, 9, "rank 2 → 9", id="down"),
        pytest.param(9, 2, "rank 9 → 2", id="up"),
        pytest.param(2, None, "rank 2 → gone", id="gone"),
        pytest.param(None, 3, "not found → rank 3", id="found"),
        pytest.param(2, 2, "stays at rank 2", id="stays"),
        pytest.param(None, None, "not found before or now", id="never found"),
    ],
)
def test_move_of_a_document(before: int | None, after: int | None, text: str) -> None:
    assert rank_move(Expected(id="doc-3", gain=1.0, before=before, after=after)) == text


@pytest.mark.parametrize(
    ("total", "scored", "text"),
    [
        pytest.param(40, 40, "40 of 40 questions scored.", id="all"),
        pytest.param(
            1_500,
            1_400,
            "1,400 of 1,500 questions scored; 100 without a relevant document in the gold set left out.",
            id="some have no relevant document",
        ),
        pytest.param(1, 1, "1 of 1 question scored.", id="one"),
    ],
)
def test_how_many_questions(total: int, scored: int, text: str) -> None:
    queries = Queries(
        total=total,
        scored=scored,
        no_relevant=total - scored,
        missing=0,
        missing_ids=[],
        unjudged=0,
        duplicates=0,
        new=0,
    )
    provenance = Provenance(rankgate="0.1.0", date="2026-01-31")
    report = report_from(verdict=Verdict.PASS, summary="", queries=queries, provenance=provenance)
    assert phrases.queries_line(report) == text
    assert phrases.queries_line(with_keys(report, queries=None)) == ""


PART = changed(RECALL, segment="lang:en", verdict=Verdict.PASS, evidence_state=EvidenceState.CLEAR)
NOISE = changed(PART, evidence_state=EvidenceState.INCONCLUSIVE)
SMALL = changed(PART, too_small=True)


@pytest.mark.parametrize(
    ("gates", "line"),
    [
        pytest.param([RECALL], "", id="no segments"),
        pytest.param([PART, replace(PART, segment="lang:es")], "Segments: 2 hold.", id="all hold"),
        pytest.param(
            [PART, replace(NOISE, segment="lang:es"), replace(SMALL, segment="lang:zh")],
            "Segments: 1 is unproven, 1 holds, 1 is too small to judge.",
            id="one of each",
        ),
        pytest.param(
            [PART, changed(NOISE, segment="lang:es", too_small=True)],
            "Segments: 1 holds, 1 is too small to judge.",
            id="one that is too small is counted once, whatever its interval says",
        ),
        pytest.param(
            [changed(PART, verdict=Verdict.FAIL), changed(PART, segment="lang:es", verdict=Verdict.WARN)],
            "Segments: 1 fails, 1 warns.",
            id="fail and warn",
        ),
        pytest.param(
            [changed(PART, name="other"), changed(PART, verdict=Verdict.FAIL), SMALL],
            "Segments: 1 fails.",
            id="one that several gates look at counts once, as the hardest of them has it",
        ),
    ],
)
def test_how_many_segments_hold(gates: list[GateResult], line: str) -> None:
    report = Report(verdict=Verdict.PASS, summary="s", gates=gates, provenance=Provenance(rankgate="0", date="d"))
    assert segments_line(report, repr) == line


FEWER = "fewer than the 30 that a segment needs to be judged"


def small(number: int, keys: str = "lang", n: int = 25, **known: object) -> GateResult:
    return changed(SMALL, segment=f"{keys}:{number:02}", n=n, **{"reasons": [replace(TOO_SMALL, count=n)], **known})


def line_of(gates: list[GateResult]) -> str:
    report = Report(verdict=Verdict.PASS, summary="s", gates=gates, provenance=Provenance(rankgate="0", date="d"))
    return segments_line(report, repr)


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        pytest.param(
            [small(number, n=number) for number in range(12)],
            f"recall@5 judges none of its 12 segments: at most 11 questions, {FEWER}.",
            id="twelve languages",
        ),
        pytest.param([small(1)], f"recall@5 does not judge its only segment: at most 25 questions, {FEWER}.", id="one"),
        pytest.param([small(1), replace(PART, segment="lang:en")], "", id="one of two is judged"),
        pytest.param(
            [small(1), replace(PART, segment="topic:a")],
            f"recall@5 does not judge its only segment: at most 25 questions, {FEWER}.",
            id="another rule judges its own",
        ),
    ],
)
def test_a_rule_that_judges_none_of_its_segments_says_so(gates: list[GateResult], said: str) -> None:
    assert line_of(gates).partition(" judge.")[2].strip() == said


def fallen(number: int, delta: float = -0.28) -> GateResult:
    return small(number, delta=delta, fell=True, reasons=[TOO_SMALL])


WORSE = f"-28.0 pp in recall@5 (25 questions, {FEWER})".replace("-", "\N{MINUS SIGN}")


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        pytest.param([fallen(1)], f"Worse when looked at alone, which does not block: 'lang:01' {WORSE}.", id="one"),
        pytest.param(
            [small(0), fallen(3), fallen(2, -0.4)],
            "Worse when looked at alone, which does not block: "
            f"'lang:02' {WORSE.replace('28', '40')}; 'lang:03' {WORSE}.",
            id="the worst first",
        ),
        pytest.param([changed(fallen(1), verdict=Verdict.FAIL)], "", id="what fails has a row of its own"),
        pytest.param([changed(fallen(1), fell=False)], "", id="what may be noise"),
    ],
)
def test_segments_that_fell_and_do_not_block_are_listed(gates: list[GateResult], said: str) -> None:
    assert (said or "Got worse") in line_of(gates) if said else "Got worse" not in line_of(gates)


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, " and 1 more"), (13, " and 8 more")])
def test_those_beyond_the_first_five_are_counted(count: int, more: str) -> None:
    line = line_of([fallen(number) for number in range(count)])
    assert line.count("in recall@5 (") == 5
    assert line.endswith(f"judged){more}.")


def test_the_values_of_a_green_comment_stand_in_the_order_of_the_gates_each_metric_once() -> None:
    gates = [replace(RECALL, metric=name) for name in ("recall@5", "mrr", "recall@5", "a", "b", "c")]
    report = Report(verdict=Verdict.PASS, summary="s", gates=gates, provenance=Provenance(rankgate="0", date="d"))
    assert phrases.values_line(report) == (
        "recall@5 80.0% (−10.0 pp), mrr 80.0% (−10.0 pp), a 80.0% (−10.0 pp), b 80.0% (−10.0 pp) and 1 more."
    )
