"""The comment within a limit: what goes first, what stays, that nothing is left open, and that what is cut is said."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.renderers.page import Page
from tests.renderers.reports import ENGLISH, HOLDS, LATENCY, MOVE, NOT_JUDGED, RECALL, REPORT, texts

from rankgate.errors import Problem
from rankgate.gates.conclude import with_conclusion
from rankgate.model.differences import Difference
from rankgate.model.report import Diagnosis, GateResult, Moved, Report, TrendPoint
from rankgate.model.values import Verdict
from rankgate.renderers import phrases
from rankgate.renderers.fitting import COMMENT_LIMIT, LEAST, SUMMARY_BYTES
from rankgate.renderers.markdown import render_markdown, render_summary

LEFT_OUT = re.compile(r"Left out to fit: (?P<what>.*); they are in `report\.json`\.\n\Z")
PART = re.compile(
    r"([\d,]+) of ([\d,]+) (problem|gate|other reason|further reason|note|moved question|tag|trend|line|row)"
)


def left_out(text: str) -> dict[str, tuple[int, int]]:
    """By section how many are left out of how many, from the last line; empty without such a line."""
    found = LEFT_OUT.search(text)
    return {what: (number(left), number(total)) for left, total, what in PART.findall(found["what"] if found else "")}


def number(text: str) -> int:
    return int(text.replace(",", ""))


def named(gate: GateResult, label: str, **changes: Any) -> GateResult:
    """A gate that can be found again in the comment."""
    return replace(
        gate, meaning=f"meaning of {label}", reasons=texts(f"reason of {label}"), **{"name": label, **changes}
    )


def counted(report: Report, text: str) -> dict[str, int]:
    """How many of each kind the page shows, counted in what GitHub's parser makes of it."""
    page = Page(text)
    said = " ".join(page.code)
    numbers = re.split(r"\n(?:<summary>|\*\*)All numbers", text)[-1] if "All numbers" in text else ""
    numbers = re.split(r"\n(?:</details>|\*\*What was compared)", numbers)[0]
    above = text.partition("\n<details>\n")[0]
    return {
        "problem": len(set(re.findall(r"problem-\d+", said))),
        "gate": sum(row.startswith("| ") and "**" in row for row in text.partition("\n<details>")[0].splitlines()),
        "row": len(re.findall("^\\| [❌⚠✅❔]", numbers, re.MULTILINE)),
        "note": len(set(re.findall(r"Note \d+\.", page.plain))),
        "other reason": len(re.findall("^- (?:FAIL|WARN): ", above, re.MULTILINE)),
        "further reason": len(re.findall("^- (?:FAIL|WARN): ", numbers, re.MULTILINE)),
        "moved question": len(set(re.findall(r"moved-\d+", said))),
        "tag": sum(row[0].startswith("lang:tag-") for row in page.rows),
    }


TEXT = st.lists(
    st.sampled_from(["`", "```", "|", "\\", "<details>", "é", "漢字", "word ", "@x", "\n"]), max_size=12
).map("".join)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Small reports blown up: many gates, tags, questions, problems and notes, with names that try to break out."""
    text = draw(TEXT) * draw(st.sampled_from([1, 40]))
    many = st.sampled_from([0, 1, 3, 70])
    verdict = draw(st.sampled_from([Verdict.FAIL, Verdict.WARN, Verdict.PASS, Verdict.NOT_JUDGED]))
    kinds = draw(st.lists(st.sampled_from([RECALL, LATENCY, HOLDS]), min_size=1, max_size=3))
    gates = [
        named(kinds[index % len(kinds)], f"gate-{index}", name=text, segment=None if index % 3 else f"s{index}{text}")
        for index in range(draw(many))
    ]
    moves = [
        replace(MOVE, query_id=f"moved-{index}", question=text or None, worse=bool(index % 4))
        for index in range(min(draw(many), 50))
    ]
    report = replace(
        REPORT,
        verdict=verdict,
        gates=gates,
        problems=[Problem(f"problem-{index} {text}", "f", 3) for index in range(draw(many))],
        warnings=[f"warning-{index}" for index in range(draw(st.sampled_from([0, 1, 50])))],
        notes=[f"Note {index}." for index in range(draw(st.sampled_from([0, 2, 500])))],
        diagnosis=draw(st.sampled_from([[], [Diagnosis(rule="r", finding="the finding", evidence={"tag": text})]])),
        differences=[Difference(what="index", before=text, after=f"{text}2")] * draw(st.sampled_from([0, 1, 50])),
        misses=moves,
        moved=Moved(worse=900, better=80),
        segments=[replace(ENGLISH, value=f"tag-{index}-{text}") for index in range(draw(many))],
        provenance=replace(REPORT.provenance, command=["rankgate", text], criteria=text or None),
    )
    return with_conclusion(report)


@settings(max_examples=20)
@given(reports(), st.integers(LEAST, 70_000))
def test_any_report_fits_any_limit_whole_closed_and_honest(report: Report, limit: int) -> None:
    text, whole = render_markdown(report, limit=limit), render_markdown(report)
    assert len(text) <= limit
    assert text.startswith(whole[:40])
    page = Page(text)  # asserts that what is opened is closed
    assert page.count("details") == page.count("summary") == text.count("\n</details>\n")
    if len(whole) <= limit:
        assert text == whole
        return
    assert "Left out to fit" in page.plain
    left = left_out(text)
    assert left
    shown, usual = counted(report, text), counted(report, whole)
    totals = {"problem": len(report.problems), "moved question": len(report.misses), "tag": len(report.segments)}
    totals["gate"] = len(phrases.decided(report))
    for what in shown:
        if what in left:
            assert left[what] == (totals.get(what, usual[what]) - shown[what], totals.get(what, usual[what]))
        else:
            assert shown[what] == usual[what]
    assert ("what to look at first" in LEFT_OUT.findall(text)[0]) is (
        "the finding" in whole and "the finding" not in text
    )
    assert ("what differs from the baseline" in LEFT_OUT.findall(text)[0]) is (
        "What differs from the baseline" in whole and "What differs from the baseline" not in text
    )


def test_without_a_limit_and_within_it_nothing_is_left_out() -> None:
    assert render_markdown(REPORT, limit=COMMENT_LIMIT) == render_markdown(REPORT)
    assert "Left out" not in render_markdown(REPORT)


def test_exactly_as_long_as_the_limit_is_within_it() -> None:
    notes = ["A note that makes the comment a little longer."] * 40
    whole = render_markdown(replace(REPORT, notes=notes))
    assert render_markdown(replace(REPORT, notes=notes), limit=len(whole)) == whole
    assert "Left out to fit" in render_markdown(replace(REPORT, notes=notes), limit=len(whole) - 1)


def big(count: int) -> Report:
    """A report with something in every section; only half of the gates fail."""
    gates = [named(RECALL if index % 2 else HOLDS, f"gate-{index}") for index in range(count)]
    return replace(
        REPORT,
        gates=[*gates, named(LATENCY, "warns")],
        notes=["Note 1.", "Note 2."],
        warnings=["warning-1"],
        diagnosis=[Diagnosis(rule="r", finding="the finding", evidence={})],
        differences=[Difference(what="index", before="v1", after="v2")],
        misses=[replace(MOVE, query_id=f"moved-{index}", worse=index < 12) for index in range(20)],
        moved=Moved(worse=12, better=8),
        segments=[replace(ENGLISH, value=f"tag-{index}") for index in range(80)],
        trend=[TrendPoint(date="2026-01-01", scores={"recall@5": 0.9})],
    )


def test_sections_go_in_the_stated_order() -> None:
    """The smaller the limit, the more goes, and never a later section before an earlier one is gone."""
    report = big(20)
    order = [
        "trend",
        "tag",
        "moved question",
        "line",
        "note",
        "differs",
        "finding",
        "further reason",
        "row",
        "other reason",
        "gate",
    ]
    before = 0
    for limit in range(len(render_markdown(report)) - 1, LEAST, -160):
        text = render_markdown(report, limit=limit)
        sentences = {"differs": "what differs from the baseline", "finding": "what to look at first"}
        cut = left_out(text).keys() | {name for name, words in sentences.items() if words in text}
        assert ("What differs from the baseline: index" in text) is ("differs" not in cut)
        assert cut == set(order[: len(cut)])
        assert len(cut) >= before
        before = len(cut)
    assert before >= order.index("row") + 1, "the least limit has room for what decided"


def test_gates_that_decided_stay_longest_and_in_their_order() -> None:
    report = big(60)
    text = render_markdown(report, limit=5_000)
    above, _, below = text.partition("<details>")
    first, shown = (re.findall(r"meaning of (gate-\d+|warns)", part) for part in (above, below))
    assert first == ["gate-1", "gate-3", "gate-5"]
    assert shown == [f"gate-{index}" for index in range(1, 2 * len(shown), 2)]
    assert 0 < len(shown) < 30


def test_of_the_questions_the_better_ones_go_first_and_headings_count_what_is_shown() -> None:
    report = replace(big(2), segments=[])
    whole = len(render_markdown(report))
    texts = [render_markdown(report, limit=limit) for limit in range(whole - 1, max(whole - 1_200, LEAST), -20)]
    assert any("4 of the 12 that got worse and 2 of the 8 that got better" in text for text in texts)
    assert any("4 of the 12 that got worse and 0 of the 8 that got better" in text for text in texts)
    for text in texts:
        worse, _, better = text.partition("**Better**")
        said = re.findall(r"(\d+) of the (?:12|8) that got", text)
        assert (
            said == [str(part.count("- `how do I get a refund?`")) for part in (worse, better)] or "questions" in text
        )


@pytest.mark.parametrize("limit", [LEAST, 10_000, COMMENT_LIMIT])
@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.NOT_JUDGED])
def test_two_thousand_gates_and_four_thousand_problems_fit(verdict: Verdict, limit: int) -> None:
    huge = "x`|" * 33_334
    gates = [replace(RECALL, name=huge, metric=f"ndcg(gain=exponential)@{index}") for index in range(2_000)]
    report = replace(
        big(0),
        verdict=verdict,
        gates=gates,
        metrics={**{gate.metric: REPORT.metrics["recall@5"] for gate in gates}, **REPORT.metrics},
        problems=[Problem("problem", "f", index) for index in range(4_000)] if verdict is Verdict.NOT_JUDGED else [],
        misses=[replace(MOVE, query_id=huge, question=huge)] * 50,
        moved=Moved(worse=50, better=0),
    )
    text = render_markdown(with_conclusion(report), limit=limit)
    assert limit / 2 < len(text) <= limit
    assert text.startswith("**❌ FAIL. Do not merge" if verdict is Verdict.FAIL else "**❔ NOT JUDGED. `f:0: problem`")
    left, total = left_out(text)["row"]
    assert (total - left, total) == (counted(report, text)["row"], 2_000)
    assert ("see all numbers" in text) is (
        left < total and len(phrases.decided(report)) > counted(report, text)["gate"]
    )


def test_the_summary_of_a_check_is_limited_in_bytes() -> None:
    report = replace(REPORT, notes=["漢" * 100] * 500)
    text = render_summary(report, SUMMARY_BYTES)
    assert SUMMARY_BYTES - 400 < len(text.encode()) <= SUMMARY_BYTES
    assert left_out(text)["note"][1] == 500


def test_problems_go_last_and_are_counted_against_all_of_them() -> None:
    report = replace(NOT_JUDGED, problems=[Problem(f"problem-{index} {'x' * 300}") for index in range(30)])
    text = render_markdown(report, limit=3_000)
    shown = counted(report, text)["problem"]
    assert 0 < shown < 20
    assert left_out(text) == {"problem": (30 - shown, 30), "line": (1, 1)}
    assert f"- and {30 - shown} more in `report.json`\n" in text


def test_a_limit_that_no_comment_fits_into_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="the least is 2000"):
        render_markdown(REPORT, limit=LEAST - 1)
