"""A waiver turns a violation into a warning that shows; it makes nothing pass, changes no value and hides nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import RECALL, REPORT, STAYED
from tests.report_keys import with_keys
from tests.rows import each_row

from rankgate.criteria.waivers import Waiver, Waivers, ceiling, entry
from rankgate.gates.apply_waivers import waive
from rankgate.gates.conclude import concluded
from rankgate.model.gate_result import GATE_PARTS, GateResult, Waived, to_row
from rankgate.model.reasons import sentences
from rankgate.model.report import Report, exit_code
from rankgate.model.values import SEVERITY_ORDER, Reason, ReasonKind, Verdict

PASS, WARN, FAIL, NOT_JUDGED = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED
TODAY = "2026-01-31"
WAIVER = Waiver(
    gate="found",
    segment=None,
    up_to=0.05,
    expires="2026-12-31",
    issue="https://example.org/1",
    reason="the parser",
    by="alice",
    line=2,
)


def altered(**changes: object) -> Waiver:
    """The waiver with other values."""
    return WAIVER.model_copy(update=changes)


VIOLATED = changed(
    RECALL,
    name="found",
    segment=None,
    verdict=FAIL,
    violation=0.04,
    hard_check_failed=False,
    only_inconclusive=False,
    reasons=[Reason(ReasonKind.MUST_PASS, count=2), Reason(ReasonKind.LOST, count=3, limit=1)],
    queries=[],
)
HOLDS = changed(VIOLATED, verdict=PASS, violation=None, reasons=[STAYED])


def report(*gates: GateResult, warnings: list[str] | None = None, failures: list[str] | None = None) -> Report:
    verdicts = [gate.verdict for gate in gates] + ([FAIL] if failures else []) + ([WARN] if warnings else [])
    return with_keys(
        REPORT,
        verdict=max(verdicts, key=SEVERITY_ORDER.index),
        gates=list(gates),
        warnings=warnings or [],
        failures=failures or [],
        notes=[],
        problems=[],
    )


def waived(*gates: GateResult, waiver: Waiver = WAIVER, date: str = TODAY) -> Report:
    return applied(report(*gates), Waivers(name="ship-waivers.yaml", entries=(waiver,)), date)


def applied(judged: Report, waivers: Waivers, date: str = TODAY) -> Report:
    """The report with what the waivers let pass, concluded as a check does."""
    return concluded(waive(judged, waivers, date))


def test_a_covered_violation_warns_and_says_so() -> None:
    found = waived(VIOLATED)
    [gate] = found.gates
    assert (found.verdict, gate.verdict) == (WARN, WARN)
    assert sentences(gate) == [
        "waived until 2026-12-31: 2 must-pass questions fail: recall@5 is at its worst there",
        "3 questions were lost in recall@5; at most 1 allowed",
    ]
    assert gate.decision.waived == Waived(
        by="alice", reason="the parser", issue="https://example.org/1", expires="2026-12-31", up_to=0.05
    )
    assert found.summary == (
        "May be merged, with a warning: waived until 2026-12-31: 2 must-pass questions fail: recall@5 "
        "is at its worst there."
    )
    assert [use.state for use in found.waivers] == ["in_force"]
    assert (found.remarks.warnings, found.remarks.notes) == ([], [])


def test_a_waived_violation_stops_nobody_not_even_where_warnings_do() -> None:
    assert [exit_code(waived(VIOLATED), fail_on) for fail_on in ("fail", "warn")] == [0, 0]
    assert exit_code(waived(VIOLATED, changed(HOLDS, name="other", verdict=WARN)), "warn") == 1


HARD = changed(VIOLATED, hard_check_failed=True)
HARD_ALONE = changed(HARD, violation=None)
UNJUDGED = changed(VIOLATED, verdict=NOT_JUDGED, violation=None)
LACKING = changed(HOLDS, verdict=WARN, reasons=[Reason(ReasonKind.MISSING, count=8, among=20, source="run")])
UNCOMPARED = changed(HOLDS, verdict=WARN, reasons=[Reason(ReasonKind.NO_BASELINE)])
UNPROVEN = changed(VIOLATED, verdict=WARN, violation=None, only_inconclusive=True)


@each_row(
    ("gate", "waiver", "date", "state", "warns", "says"),
    [
        pytest.param(VIOLATED, WAIVER, "2026-12-31", "expiring", False, "expires today, on 2026-12-31", id="last day"),
        pytest.param(VIOLATED, WAIVER, "2026-12-30", "expiring", False, "expires tomorrow", id="the day before"),
        pytest.param(VIOLATED, WAIVER, "2026-12-17", "expiring", False, "expires in 14 days", id="two weeks before"),
        pytest.param(VIOLATED, WAIVER, "2026-12-16", "in_force", False, "", id="earlier nothing is said"),
        pytest.param(VIOLATED, WAIVER, "2027-01-01", "expired", True, "expired on 2026-12-31", id="expired"),
        pytest.param(HOLDS, WAIVER, "2027-01-01", "expired", True, "expired on 2026-12-31", id="expired, not needed"),
        pytest.param(VIOLATED, altered(up_to=0.03), TODAY, "too_small", False, "is too small", id="too small"),
        pytest.param(HOLDS, WAIVER, TODAY, "unused", False, "is not used", id="unused"),
        pytest.param(VIOLATED, altered(gate="x"), TODAY, "unknown", True, "no gate of the", id="wrong gate"),
        pytest.param(VIOLATED, altered(segment="lang:xx"), TODAY, "unknown", True, "no segment of", id="wrong segment"),
        pytest.param(HARD, WAIVER, TODAY, "hard_check", False, "no waiver covers", id="single questions fail as well"),
        pytest.param(HARD_ALONE, WAIVER, TODAY, "hard_check", False, "no waiver covers", id="they fail alone"),
        pytest.param(UNJUDGED, WAIVER, TODAY, "not_judged", False, "could not be judged", id="not judged"),
        pytest.param(LACKING, WAIVER, TODAY, "not_judged", False, "could not be judged", id="lacking, and only warns"),
        pytest.param(UNCOMPARED, WAIVER, TODAY, "not_judged", False, "not compared with", id="nothing to compare with"),
        pytest.param(UNPROVEN, WAIVER, TODAY, "unused", False, "is not used", id="not proven is not violated"),
    ],
)
def test_what_becomes_of_a_waiver(
    gate: GateResult,
    waiver: Waiver,
    date: str,
    state: str,
    warns: bool,  # noqa: FBT001 -- a table's column
    says: str,
) -> None:
    found = waived(gate, waiver=waiver, date=date)
    assert [use.state for use in found.waivers] == [state]
    assert [says in text for text in found.remarks.warnings] == [True] * warns
    assert [says in text for text in found.remarks.notes] == [True] * (bool(says) and not warns)
    if state not in ("in_force", "expiring"):
        assert found.gates == [gate]
    if warns:
        assert found.verdict in (WARN, FAIL)


@pytest.mark.parametrize(
    ("gate", "segment", "named"),
    [
        pytest.param("found", None, "of gate 'found'", id="a gate"),
        pytest.param("found", "lang:de", "of gate 'found' in 'lang:de'", id="a segment"),
        pytest.param(RECALL.metric, "lang:de", "in 'lang:de'", id="a name with a sign that Markdown knows"),
        pytest.param("see https://evil.example", None, "", id="an address"),
        pytest.param("found", "[here](https://evil.example)", "of gate 'found' in a segment", id="Markdown"),
        pytest.param("@octocat", "lang:de\n# PASS", "in a segment", id="a mention, and lines"),
    ],
)
def test_a_waiver_is_named_as_its_file_has_it_where_that_is_a_plain_name(
    gate: str, segment: str | None, named: str
) -> None:
    judged = waived(HOLDS, waiver=altered(gate=gate, segment=segment))
    [sentence] = [each for each in (*judged.remarks.warnings, *judged.remarks.notes) if "waiver" in each]
    assert sentence.lower().startswith(f"the waiver {named} on line 2 ".replace("  ", " "))


def test_a_gate_that_has_its_metrics_name_is_named_in_its_waiver() -> None:
    holds = changed(HOLDS, name=RECALL.metric)
    judged = waived(holds, waiver=altered(gate=RECALL.metric))
    assert judged.remarks.notes[-1].startswith(f"The waiver of gate '{RECALL.metric}' on line 2 ")


def test_a_violation_that_only_warned_is_marked_as_waived_too() -> None:
    [gate] = waived(changed(VIOLATED, verdict=WARN)).gates
    assert gate.verdict is WARN
    assert gate.decision.waived is not None


def test_a_segment_has_a_waiver_of_its_own() -> None:
    part = replace(VIOLATED, segment="lang:pt")
    assert [gate.decision.waived is None for gate in waived(VIOLATED, part).gates] == [False, True]
    found = waived(VIOLATED, part, waiver=altered(segment="lang:pt"))
    assert [gate.decision.waived is None for gate in found.gates] == [True, False]
    assert found.verdict is FAIL


def test_failures_that_no_gate_has_stay() -> None:
    whole = report(VIOLATED, failures=["the pull request removes 1 query of the gold set"])
    assert applied(whole, Waivers(name="w", entries=(WAIVER,))).verdict is FAIL


def test_without_waivers_nothing_changes() -> None:
    whole = report(VIOLATED)
    assert waive(whole, Waivers(name="w"), TODAY) == whole


GATES = st.builds(
    lambda name, segment, verdict, violation, hard: changed(
        VIOLATED,
        name=name,
        segment=segment,
        verdict=verdict,
        violation=violation if verdict in (WARN, FAIL) else None,
        hard_check_failed=hard,
    ),
    st.sampled_from(["found", "other"]),
    st.sampled_from([None, "lang:pt"]),
    st.sampled_from([PASS, WARN, FAIL, NOT_JUDGED]),
    st.none() | st.floats(0, 1),
    st.booleans(),
)
# A report has the row of a whole gate wherever it has one of a segment.
REPORTED = st.lists(GATES, max_size=6).map(lambda gates: [HOLDS, replace(HOLDS, name="other"), *gates])
UP_TO = st.floats(0, 1)
DATES = st.dates().map(str)


@pytest.mark.full
@given(REPORTED, UP_TO, DATES, st.sampled_from([None, "lang:pt"]))
def test_waiving_turns_nothing_into_a_pass_and_changes_no_value(
    gates: list[GateResult], up_to: float, date: str, segment: str | None
) -> None:
    before = report(*gates)
    found = applied(before, Waivers(name="w", entries=(altered(up_to=up_to, segment=segment),)), date)
    for after in (found,):
        for old, new in zip(gates, after.gates, strict=True):
            assert (new.verdict is PASS) is (old.verdict is PASS)
            assert SEVERITY_ORDER.index(new.verdict) <= SEVERITY_ORDER.index(old.verdict)
            words = {"verdict", "waived"}
            kept, was = ({k: v for k, v in to_row(gate, GATE_PARTS).items() if k not in words} for gate in (new, old))
            assert kept == was
            assert new == old or new.decision.waived is not None
        assert (after.verdict is PASS) <= (before.verdict is PASS)
        assert (after.verdict is NOT_JUDGED) is (before.verdict is NOT_JUDGED)


@given(REPORTED, UP_TO, UP_TO)
def test_a_wider_waiver_is_never_stricter(gates: list[GateResult], one: float, other: float) -> None:
    narrow, wide = (waived(*gates, waiver=altered(up_to=up_to)).gates for up_to in sorted((one, other)))
    for less, more in zip(narrow, wide, strict=True):
        assert SEVERITY_ORDER.index(more.verdict) <= SEVERITY_ORDER.index(less.verdict)
        assert less.decision.waived is None or more.decision.waived is not None


@pytest.mark.parametrize(
    ("violation", "text"),
    [
        pytest.param(0.1842857, "0.185", id="rounded up"),
        pytest.param(0.18000000000000002, "0.180", id="what rounding added is none"),
        pytest.param(0.0, "0.000", id="a value that holds, and no proof of it"),
        pytest.param(0.0000004, "0.001", id="never to less than the violation"),
        pytest.param(35.2, "35.200", id="milliseconds"),
    ],
)
def test_a_ready_entry_rounds_the_violation_up(violation: float, text: str) -> None:
    assert ceiling(violation) == text


@given(st.floats(0, 1e6))
def test_a_ready_entry_is_wide_enough(violation: float) -> None:
    assert altered(up_to=float(ceiling(violation))).covers(violation, TODAY)


def test_a_ready_entry_expires_in_thirty_days_and_quotes_what_it_names() -> None:
    text = entry(replace(VIOLATED, name='a "b": c', segment="lang:pt"), TODAY)
    assert '  - gate: "a \\"b\\": c"\n    segment: "lang:pt"\n    up_to: 0.040\n    expires: 2026-03-02\n' in text
