"""What goes with a gate: its parts, the base's stricter rows, waivers in every state, and what nobody could judge."""

from typing import get_args

import pytest
from msgspec.structs import replace
from tests.renderers.reports import LATENCY, RECALL, texts

from rankgate.gates.explain import checks_of, explain_gate, gates_named, whole_gates
from rankgate.metrics.names import parse_metric
from rankgate.model.answers import JudgeState, Rate, Standing
from rankgate.model.details import Cause, Listed, Question, ReportDetails
from rankgate.model.report import Counted, GateResult, Provenance, Queries, Report
from rankgate.model.values import Direction, Evidence, EvidenceState, Exact, Reason, ReasonKind, Ruling, Verdict
from rankgate.model.waiver_use import Waived, WaiverState, WaiverUse
from rankgate.renderers.explaining.gate import render_gates

QUERIES = Queries(total=42, scored=40, no_relevant=2, missing=0, missing_ids=[], unjudged=0, duplicates=0, new=0)


def report(*gates: GateResult, **others: object) -> Report:
    made = Report(
        verdict=Verdict.FAIL,
        summary="Do not merge.",
        gates=list(gates),
        queries=QUERIES,
        provenance=Provenance(rankgate="0", date="2026-01-31", criteria="ship-criteria.yaml"),
    )
    return replace(made, **others)


def text(made: Report, gate: GateResult) -> str:
    return render_gates([explain_gate(made, gate)], made, 10_000)


def section(told: str, heading: str) -> list[str]:
    """The lines below a heading; empty without it."""
    lines = told.splitlines()
    if heading not in lines:
        return []
    below = lines[lines.index(heading) + 1 :]
    return [line.strip() for line in below[: below.index("") if "" in below else None]]


def asked_about(
    name: str,
    values: tuple[float | None, float | None],
    *,
    metric: str = "recall@5",
    cause: Cause = Cause.FINE,
    before: tuple[Listed, ...] | None = (),
    now: tuple[Listed, ...] | None = (),
) -> Question:
    return Question(
        query_id=name, question=None, tags=(), cause=cause, values={metric: values}, expected=(), before=before, now=now
    )


def details_of(*questions: Question) -> ReportDetails:
    return ReportDetails(leading=None, k=5, depth=5, measures=(), panel=(), sweeps=(), questions=questions)


ES = replace(RECALL, segment="lang:es", verdict=Verdict.PASS)
SINCE = replace(RECALL, name="retrieval_recall_at_5 since launch", since="launch", threshold=None)
BY_BASE = replace(RECALL, judged_by="base", threshold=0.9, regression_max=None)
LOSS = "all of it is for the worse, so that a loss is certain, not its size"
OTHER = replace(RECALL, name="another", metric="hit@5")


def test_a_gate_brings_its_parts_and_no_other_gates() -> None:
    made = report(RECALL, ES, SINCE, BY_BASE, OTHER)
    found = explain_gate(made, RECALL)
    assert [row.result for row in found.segments] == [ES]
    assert [row.result for row in found.since] == [SINCE]
    assert [row.result for row in found.by_base] == [BY_BASE]


def test_parts_are_no_gates_of_their_own() -> None:
    made = report(RECALL, ES, SINCE, BY_BASE, OTHER)
    assert whole_gates(made) == [RECALL, OTHER]
    assert gates_named(made, "recall@5") == [RECALL]
    assert gates_named(made, "lang:es") == []


def test_a_gate_that_only_the_base_has_is_one() -> None:
    removed = replace(BY_BASE, name="removed")
    assert whole_gates(report(RECALL, removed)) == [RECALL, removed]


def test_all_gates_of_a_metric_are_found_by_it_and_each_by_its_name() -> None:
    second = replace(RECALL, name="the second")
    made = report(RECALL, second)
    assert gates_named(made, "recall@5") == [RECALL, second]
    assert gates_named(made, "the second") == [second]


def test_a_metric_that_this_rankgate_does_not_know_is_found_as_written() -> None:
    theirs = replace(RECALL, metric="their_metric@7")
    made = report(theirs)
    assert gates_named(made, "their_metric@7") == [theirs]
    assert explain_gate(made, theirs).quantile is None


@pytest.mark.parametrize(
    ("own", "part", "wanted"),
    [
        pytest.param(Verdict.PASS, Verdict.FAIL, "FAIL", id="a segment fails"),
        pytest.param(Verdict.WARN, Verdict.PASS, "WARN", id="the whole warns"),
        pytest.param(Verdict.PASS, Verdict.PASS, "PASS", id="all hold"),
    ],
)
def test_the_verdict_is_the_worst_of_all_rows(own: Verdict, part: Verdict, wanted: str) -> None:
    gate = replace(RECALL, verdict=own)
    told = text(report(gate, replace(ES, verdict=part)), gate)
    assert told.startswith(f"{wanted}  recall@5: ")
    assert section(told, "Verdict")[-1].startswith(f"→ {wanted}: ")


def test_the_base_judges_by_its_own_limits() -> None:
    assert section(text(report(RECALL, BY_BASE), RECALL), "By the base") == [
        "80.0% now − 90.0% in the baseline = −10.0 pp, over the 40 questions that both have.",
        "No limit is set on it.",
        "80.0% now − 90.0% asked for = −10.0 pp. That is below the floor.",
        "Its 95% interval: all of it lies below the floor.",
        "→ VIOLATED, by estimate",
        "→ FAIL",
    ]


def test_the_drift_that_the_base_judges_is_since_the_anchor() -> None:
    """Its limit is the base's; what it is compared with is no baseline."""
    theirs = replace(SINCE, judged_by="base", verdict=Verdict.FAIL)
    told = text(report(RECALL, theirs), RECALL)
    assert section(told, "By the base since launch (drift_max)")[0] == (
        "80.0% now − 90.0% in the anchor = −10.0 pp, over the 40 questions that both have."
    )
    assert section(told, "By the base") == []


def test_the_drift_since_the_anchor() -> None:
    since = replace(SINCE, verdict=Verdict.FAIL)
    assert section(text(report(RECALL, since), RECALL), "Since launch (drift_max)") == [
        "80.0% now − 90.0% in the anchor = −10.0 pp, over the 40 questions that both have.",
        "Allowed: a drop down to −3.0 pp. That is 7.0 pp more than allowed.",
        f"95% interval of the change, −12.0 to −8.0 pp: {LOSS}.",
        "→ VIOLATED, by estimate",
        "→ FAIL",
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param({}, LOSS, id="a drop"),
        pytest.param({"delta_ci": (-0.12, 0.01)}, "0 lies within, so that chance alone may have done it", id="noise"),
        pytest.param({"delta_ci": (-0.12, 0.0)}, "0 lies within, so that chance alone may have done it", id="up to 0"),
        pytest.param({"delta": 0.1, "delta_ci": (0.05, 0.15)}, "all of it is for the better", id="a rise"),
        pytest.param({"delta_ci": (-0.12, None)}, "its better end is not known", id="one bound"),
        pytest.param({"direction": Direction.LOWER, "delta_ci": (0.01, 0.2)}, LOSS, id="a rise where lower is better"),
        pytest.param(
            {"evidence": Evidence.PROVEN_SAFE, "delta_ci": (-0.029, 0.01)},
            "0 lies within, so that chance alone may have done it; its worst end, −2.9 pp, is within what is allowed",
            id="proven safe",
        ),
        pytest.param(
            {"evidence": Evidence.PROVEN_SAFE, "delta_ci": (-0.031, 0.01)},
            "0 lies within, so that chance alone may have done it; its worst end, −3.1 pp, is beyond what is allowed",
            id="not proven safe",
        ),
    ],
)
def test_what_the_interval_of_a_change_says(changes: dict[str, object], sentence: str) -> None:
    gate = replace(RECALL, **changes)
    found = [line for line in text(report(gate), gate).splitlines() if "interval of the change" in line]
    assert [line.partition(": ")[2] for line in found] == [f"{sentence}."]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param({"ci": (0.75, 0.84)}, "all of it lies below the floor", id="below"),
        pytest.param({"ci": (0.85, 0.9)}, "all of it holds the floor", id="from the floor on"),
        pytest.param(
            {"ci": (0.75, 0.85)},
            "the floor lies within it, so that other questions of the kind may give either",
            id="up to the floor",
        ),
        pytest.param(
            {"ci": (0.75, 0.9), "evidence": Evidence.PROVEN_SAFE},
            "the floor lies within it, so that other questions of the kind may give either: not proven",
            id="not proven",
        ),
        pytest.param(
            {"ci": (0.86, 0.9), "direction": Direction.LOWER}, "all of it lies above the ceiling", id="above a ceiling"
        ),
    ],
)
def test_what_the_interval_of_a_value_says(changes: dict[str, object], sentence: str) -> None:
    gate = replace(RECALL, **changes)
    assert f"  Its 95% interval: {sentence}.\n" in text(report(gate), gate)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        pytest.param(0.86, "86.0% now − 85.0% asked for = +1.0 pp. That is above the floor.", id="above"),
        pytest.param(0.85, "85.0% now − 85.0% asked for = ±0.0 pp. That is exactly at the floor.", id="at it"),
        pytest.param(0.8499, "84.99% now − 85.00% asked for = −0.01 pp. That is below the floor.", id="just below"),
    ],
)
def test_a_floor_with_its_arithmetic(value: float, sentence: str) -> None:
    gate = replace(RECALL, value=value, regression_max=None, delta=None, delta_ci=None)
    assert section(text(report(gate), gate), "The floor (threshold)")[0] == sentence


@pytest.mark.parametrize("state", get_args(WaiverState))
def test_a_waiver_says_what_became_of_it(state: WaiverState) -> None:
    use = WaiverUse(
        gate=RECALL.name,
        segment=None,
        up_to=0.05,
        expires="2026-06-30",
        issue="https://example.org/1",
        reason="until the parser is fixed",
        by="ana",
        line=3,
        state=state,
        violation=0.07,
    )
    covers, who, became = section(text(report(RECALL, waivers=[use]), RECALL), "Waiver")
    assert covers == "Up to 5.0 pp beyond the limit, until 2026-06-30, line 3 of the waivers; the violation is 7.0 pp."
    assert who == "By ana: until the parser is fixed (https://example.org/1)"
    lets_pass = became.startswith("→ in force")
    assert lets_pass is (state in {"in_force", "expiring"})


def test_a_waiver_of_another_gate_is_not_told() -> None:
    use = WaiverUse(
        gate="another",
        segment=None,
        up_to=0.05,
        expires="2026-06-30",
        issue="",
        reason="",
        by="",
        line=1,
        state="unused",
    )
    assert section(text(report(RECALL, waivers=[use]), RECALL), "Waiver") == []


def test_a_waived_gate_says_who_lets_it_pass() -> None:
    gate = replace(RECALL, verdict=Verdict.WARN, waived=Waived(by="ana"))
    told = text(report(gate), gate)
    assert told.startswith("WAIVED  recall@5: ")
    assert "The violation is let pass by ana." in section(told, "Verdict")


def test_what_could_not_be_judged_says_why() -> None:
    gate = replace(
        RECALL,
        value=None,
        ci=None,
        baseline=None,
        paired_value=None,
        delta=None,
        delta_ci=None,
        n=0,
        n_pairs=0,
        verdict=Verdict.NOT_JUDGED,
        evidence_state=EvidenceState.NO_INTERVAL,
        reasons=texts("recall@5 is defined for none of the 42 queries"),
    )
    told = text(report(gate), gate)
    assert section(told, "The value") == ["There is no value."]
    assert section(told, "Verdict") == [
        "NOT JUDGED: recall@5 is defined for none of the 42 queries.",
        "→ NOT JUDGED: it could not be judged, and so does not let the change pass",
    ]


def test_without_a_baseline_the_limit_is_told_all_the_same() -> None:
    assert section(text(report(LATENCY), LATENCY), "The change (regression_max)") == [
        "There is nothing to compare with; a rise up to +5.0 ms would be allowed."
    ]


def test_a_report_counts_what_it_does_not_name() -> None:
    assert section(text(report(RECALL), RECALL), "The value")[1] == (
        "Left out: 2 questions, since the gold set names no relevant document for them."
    )
    fewer = replace(RECALL, n=39, n_pairs=38)
    told = text(report(fewer), fewer)
    assert "Left out: 3 questions, since the metric is undefined for them." in section(told, "The value")
    assert "Not compared: 1 question, since the metric has no value for it in the baseline." in section(
        told, "The change (regression_max)"
    )


def test_questions_that_the_run_lacks_are_told_to_count() -> None:
    queries = replace(QUERIES, missing=3)
    assert "At most 3 questions that the run lacks, counted at the metric's worst value." in section(
        text(report(RECALL, queries=queries), RECALL), "The value"
    )
    assert "lacks" not in text(report(LATENCY, queries=queries), LATENCY)
    few = replace(RECALL, n=2, n_pairs=2)
    assert explain_gate(report(few, queries=queries), few).absent == 2


def test_questions_that_the_run_lacks_count_only_where_the_metric_is_defined() -> None:
    """Those of which the gold names nothing right are left out, and must not be told to count as well."""
    asked = (
        asked_about("counted", (1.0, 0.0), cause=Cause.NO_RESULT, now=None),
        asked_about("undefined", (None, None), cause=Cause.NOTHING_RELEVANT, now=None),
        asked_about("there", (1.0, 0.0), now=()),
    )
    made = report(RECALL, queries=replace(QUERIES, missing=2), details=details_of(*asked))
    told = section(text(made, RECALL), "The value")
    assert "The run lacks 1 question, which it counts at the metric's worst value." in told
    assert "Left out: 1 question, since the gold set names no relevant document for it (undefined)." in told


def test_a_hundred_segments_are_cut_and_counted() -> None:
    parts = [replace(ES, segment=f"lang:{number:03}") for number in range(100)]
    told = section(text(report(RECALL, *parts), RECALL), "Segments")
    assert told[-1] == "and 60 more, none of them worse."
    assert sum(line.startswith("lang:") for line in told) == 40


def test_what_only_rounding_puts_beyond_a_limit_holds_it() -> None:
    gate = replace(RECALL, value=0.1 + 0.2, threshold=0.3, regression_max=0.1, delta=0.8 - 0.9, delta_ci=(-0.2, 0.0))
    assert [(check.beyond, check.ruling) for check in checks_of(gate)] == [(0.0, Ruling.HOLDS)] * 2
    ceiling = replace(gate, direction=Direction.LOWER)
    assert checks_of(ceiling)[1].beyond == 0.0


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        pytest.param(0.5, 0.0, True, id="something, then nothing"),
        pytest.param(0.0, 0.0, False, id="nothing, then nothing"),
        pytest.param(0.5, 0.25, False, id="less"),
        pytest.param(None, 0.0, False, id="new"),
        pytest.param(0.5, None, True, id="no value now"),
    ],
)
def test_a_question_is_lost_where_nothing_right_is_found_any_more(
    before: float | None, now: float | None, *, lost: bool
) -> None:
    found = explain_gate(report(RECALL, details=details_of(asked_about("q", (before, now)))), RECALL)
    assert found.lost == (("q",) if lost else ())
    assert [each.queries for each in found.left_out] == ([("q",)] if now is None else [])
    assert [each.queries for each in found.unpaired] == []


@pytest.mark.parametrize(
    ("metric", "values", "words"),
    [
        pytest.param(
            "recall@5",
            (1.0, 0.0),
            "for which the baseline found something right and the run finds nothing",
            id="of relevant documents",
        ),
        pytest.param(
            "redundancy@5",
            (0.0, 1.0),
            "at the metric's worst now, or without a value, and not in the baseline",
            id="of other things",
        ),
    ],
)
def test_what_is_lost_is_told_in_words_that_are_true_of_the_metric(
    metric: str, values: tuple[float, float], words: str
) -> None:
    gate = replace(RECALL, metric=metric, direction=parse_metric(metric).direction)
    made = report(gate, details=details_of(asked_about("q", values, metric=metric)))
    assert section(text(made, gate), "Single questions") == [f"Lost: 1 question {words}: q."]


def test_many_parts_that_fail_are_counted_whatever_they_are() -> None:
    days = [f"day {number}" for number in range(22)]
    parts = [replace(SINCE, name=f"{RECALL.name} since {day}", since=day, verdict=Verdict.FAIL) for day in days]
    told = section(text(report(RECALL, *parts), RECALL), "Verdict")
    assert told[-2] == "and 2 more parts that fail or warn."


def test_questions_that_are_not_compared_are_named() -> None:
    gate = replace(RECALL, n=42, n_pairs=40)
    details = details_of(asked_about("new", (None, 1.0), before=None), asked_about("one-sided", (None, 1.0)))
    told = section(text(report(gate, details=details), gate), "The change (regression_max)")
    assert "Not compared: 1 question, since the baseline lacks it (new)." in told
    assert "Not compared: 1 question, since the metric has no value for it in the baseline (one-sided)." in told


def test_an_exact_test_that_stands_beside_the_interval_is_said() -> None:
    gate = replace(RECALL, exact=Exact(p=2**-9, least=2**-9), delta_ci=None)
    told = section(text(report(gate), gate), "The change (regression_max)")
    assert (
        "Exact test: p = 0.002 (what moved, tossed like coins; it is 0.002 at least); harm is proven below 0.025."
        in told
    )


J = Rate(0.8, 0.7, 0.9, 200)
KNOWN = Standing(floor=JudgeState.CALIBRATED, drop=JudgeState.CALIBRATED, labels=200, rarer=40, people=1, slope=J)
CONVERTED = replace(RECALL, standing=KNOWN, assumption="alike", value_raw=0.5, delta_raw=-0.04)
LIMIT = Reason(ReasonKind.THRESHOLD, ruling=Ruling.VIOLATED, state=EvidenceState.CLEAR)
DROP = Reason(ReasonKind.REGRESSION, ruling=Ruling.HOLDS, state=EvidenceState.CLEAR)


@pytest.mark.parametrize(
    ("changes", "limit", "ruling"),
    [
        pytest.param({"reasons": [LIMIT]}, "threshold", Ruling.VIOLATED, id="what a judge left open breaks the floor"),
        pytest.param(
            {"reasons": [replace(DROP, ruling=Ruling.INCONCLUSIVE, count=9, at_worst=-0.2)]},
            *("regression_max", Ruling.INCONCLUSIVE),
            id="in doubt",
        ),
        pytest.param({"counted": Counted(0.1, (0.0, 0.2)), "reasons": []}, "threshold", Ruling.VIOLATED, id="a gain"),
    ],
)
def test_a_limit_holds_where_the_check_found_that_it_does(
    changes: dict[str, object], limit: str, ruling: Ruling
) -> None:
    numbers = {"threshold": 0.5, "value": 0.9, "ci": (0.8, 0.95), "evidence": Evidence.PROVEN_HARM, "delta": 0.0}
    made = replace(RECALL, **{**numbers, "paired_value": 0.9, "baseline": 0.9, "delta_ci": (-0.01, 0.01)}, **changes)
    assert [check.ruling for check in checks_of(made) if check.limit == limit] == [ruling]


def test_a_value_in_people_s_units_says_so_and_what_of_it_counts() -> None:
    made = replace(CONVERTED, value=0.9, threshold=0.8, counted=Counted(0.75, (0.7, 0.8)))
    told = text(report(made, replace(ES, value_raw=None)), made)
    converted = "what the judge has seen change since then, over the 80% (95%: 70 to 90%) of a difference that it sees."
    assert section(told, "The value")[0].endswith(converted)
    assert section(told, "The value")[1].startswith("The judge's own value is 50.0%, the mean over ")
    assert section(told, "The floor (threshold)")[:2] == [
        "90.0% counts as 75.0%: a gain that only the judge has seen does not count.",
        "75.0% now − 80.0% asked for = −5.0 pp. That is below the floor.",
    ]
    assert "That change is in people's units; the judge's own is −4.0 pp." in section(
        told, "The change (regression_max)"
    )
    assert "The values of segments are the judge's own." in section(told, "Segments")
    alone = section(text(report(replace(made, value_raw=None)), replace(made, value_raw=None)), "The value")
    assert alone[1].startswith("That is the judge's own value; the change is in people's units, over the 80%")
