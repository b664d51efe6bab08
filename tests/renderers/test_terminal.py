"""The summary for a terminal or a log: verdict first, aligned, narrow, and no text of the inputs acts."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.renderers import reports
from tests.renderers.reports import texts

from rankgate.errors import Problem
from rankgate.gates.conclude import with_conclusion
from rankgate.model.details import Expected
from rankgate.model.report import Diagnosis, Moved, Provenance, Queries, Report
from rankgate.model.values import Unit, Verdict
from rankgate.renderers.terminal import render_terminal

RECALL = replace(reports.RECALL, reasons=texts("recall@5 dropped from 90.0% to 80.0%"))
MRR = replace(
    RECALL,
    metric="mrr",
    unit=Unit.SCORE,
    value=1.0,
    threshold=None,
    baseline=None,
    delta=None,
    delta_ci=None,
    regression_max=0.0,
    verdict=Verdict.WARN,
)
MOVE = replace(reports.MOVE, tags=[])
REPORT = with_conclusion(
    Report(
        verdict=Verdict.FAIL,
        summary="",
        notes=["A note.", "Another one."],
        gates=[RECALL, MRR],
        queries=Queries(total=42, scored=40, no_relevant=2, missing=0, missing_ids=[], unjudged=0, duplicates=0, new=0),
        misses=[MOVE],
        moved=Moved(worse=1, better=3),
        provenance=Provenance(rankgate="0.1.0", date="2026-01-31"),
    )
)


def test_the_whole_summary() -> None:
    assert render_terminal(REPORT) == (
        "FAIL  Do not merge: recall@5 dropped from 90.0% to 80.0%.\n"
        "\n"
        "  metric    baseline    now    change  limit                                status\n"
        "  recall@5     90.0%  80.0%  −10.0 pp  at least 85.0%, drop at most 3.0 pp  FAIL\n"
        "  mrr              –  1.000         –  no drop                              WARN\n"
        "\n"
        "  interval  of the value         of the change\n"
        "  recall@5  95%: 75.0 to 85.0%   95%: −12.0 to −8.0 pp\n"
        "  mrr       95%: 0.750 to 0.850  –\n"
        "\n"
        "40 of 42 questions scored; 2 without a relevant document in the gold set left out.\n"
        "A note.\n"
        "Another one.\n"
        "\n"
        "1 question got worse, 3 got better. The worst of each kind:\n"
        "  q-1  how do I get a refund?\n"
        "    doc-3  rank 2 → gone\n"
        "\n"
        "Next: rankgate validate\n"
    )


def test_what_to_look_at_first_and_other_warnings_stand_below_the_gates() -> None:
    finding = Diagnosis(rule="one_tag", finding="all 6 that lost share a tag", evidence={"tag": "lang:\u202ees"})
    found = render_terminal(replace(REPORT, diagnosis=[finding, finding], warnings=["ids are stale"])).splitlines()
    place = found.index("What to look at first: all 6 that lost share a tag: lang:\\u202ees.")
    assert found[place + 1] == "Warning: ids are stale."


def test_a_warning_that_the_first_line_holds_is_said_once() -> None:
    warned = replace(REPORT, verdict=Verdict.WARN, gates=[], warnings=["ids are stale"], problems=[])
    assert render_terminal(with_conclusion(warned)).count("ids are stale") == 1


def test_a_check_that_could_not_judge_lists_its_problems() -> None:
    problems = [Problem("broken JSON", "run.jsonl", 3), Problem("add these lines:\ninputs:\n  run: run.jsonl")]
    report = Report(
        verdict=Verdict.NOT_JUDGED,
        summary="",
        problems=problems,
        provenance=REPORT.provenance,
    )
    assert render_terminal(with_conclusion(report)) == (
        "NOT JUDGED  run.jsonl:3: broken JSON. 1 more problem below.\n"
        "\n"
        "  run.jsonl:3: broken JSON\n"
        "  add these lines:\n"
        "    inputs:\n"
        "      run: run.jsonl\n"
        "\n"
        "Next: rankgate validate\n"
    )


@pytest.mark.parametrize(
    ("verdict", "word"),
    [
        pytest.param(Verdict.PASS, "PASS", id="pass"),
        pytest.param(Verdict.WARN, "WARN", id="warn"),
        pytest.param(Verdict.FAIL, "FAIL", id="fail"),
        pytest.param(Verdict.NOT_JUDGED, "NOT JUDGED", id="not judged"),
    ],
)
def test_the_verdict_is_the_first_word(verdict: Verdict, word: str) -> None:
    assert render_terminal(with_conclusion(replace(REPORT, verdict=verdict))).startswith(f"{word}  ")


@pytest.mark.parametrize(
    ("count", "more"), [pytest.param(20, [], id="20 are listed"), pytest.param(23, ["  and 3 more"], id="23 are cut")]
)
def test_problems_are_cut_at_20(count: int, more: list[str]) -> None:
    problems = [Problem(f"problem {number}") for number in range(count)]
    report = replace(REPORT, gates=[], misses=[], problems=problems)
    assert render_terminal(report).splitlines()[2:-2] == [f"  problem {number}" for number in range(20)] + more


def test_the_three_questions_that_lost_most_are_shown_with_three_documents_each() -> None:
    documents = [replace(MOVE.documents[0], id=f"doc-{number}") for number in range(5)]
    moves = [replace(MOVE, query_id=f"q-{number}", documents=documents) for number in range(5)]
    shown = render_terminal(replace(REPORT, misses=moves, moved=Moved(worse=5, better=0)))
    assert re.findall(r"q-\d", shown) == ["q-0", "q-1", "q-2"]
    assert re.findall(r"doc-\d", shown) == ["doc-0", "doc-1", "doc-2"] * 3


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(replace(REPORT, misses=[], moved=None), id="no baseline"),
        pytest.param(replace(REPORT, misses=[], moved=Moved(worse=0, better=0)), id="nothing moved"),
        pytest.param(replace(REPORT, misses=[replace(MOVE, worse=False)], moved=Moved(worse=0, better=1)), id="better"),
    ],
)
def test_without_losses_no_question_is_shown(report: Report) -> None:
    assert "The worst of each kind" not in render_terminal(report)


def test_a_question_without_words_is_shown_by_its_id() -> None:
    assert "\n  q-1  q-1\n" in render_terminal(replace(REPORT, misses=[replace(MOVE, question=None)]))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x1b[31mb\x07", "a\\u001b[31mb\\u0007", id="control characters"),
        pytest.param("a\u202eb", "a\\u202eb", id="bidi characters"),
        pytest.param("a\nb\r\nc", "a b c", id="line breaks"),
        pytest.param("x" * 71, f"{'x' * 69}…", id="too long"),
    ],
)
def test_questions_are_shown_on_one_line_with_nothing_hidden(text: str, shown: str) -> None:
    assert f"  q-1  {shown}\n" in render_terminal(replace(REPORT, misses=[replace(MOVE, question=text)]))


def filled_with(text: str) -> Report:
    """A report that holds the text wherever an input's own words can end up."""
    move = replace(MOVE, query_id=text, question=text, documents=[Expected(id=text, gain=1.0, before=None, after=None)])
    return replace(REPORT, misses=[move], problems=[Problem(text), Problem("wrong", text, 3, text)])


PIECES = [
    "\n",
    "\r",
    "\t",
    " ",
    "\x00",
    "\x1b[2J",
    "\u202e",
    "\u2028",
    "::error::x",
    "##[group]",
    "\u200d",
    "word" * 20,
]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), min_size=1, max_size=10).map("".join)


@given(TEXT)
@example("::stop-commands::x")
def test_whatever_the_text_nothing_is_hidden(text: str) -> None:
    for line in render_terminal(filled_with(text)).removesuffix("\n").split("\n"):
        assert [char for char in line if not char.isprintable() and char not in "\u200c\u200d"] == []


@given(TEXT)
@example("a ")
@example("a\n \nb")
def test_whatever_the_text_no_line_ends_in_a_space(text: str) -> None:
    lines = render_terminal(filled_with(text)).split("\n")
    assert [line for line in lines if line != line.rstrip()] == []


@given(TEXT)
def test_whatever_the_text_the_lines_of_questions_stay_narrow(text: str) -> None:
    lines = render_terminal(replace(filled_with(text), problems=[])).splitlines()
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("::add-mask::e", id="a command"),
        pytest.param("wrong\n::add-mask::e", id="a command on a line of its own"),
        pytest.param("wrong ##[add-mask]e", id="the old syntax"),
    ],
)
def test_the_actions_runner_finds_no_command_in_it(text: str) -> None:
    """It obeys `::command::` at the start of a line, after white space too, and `##[command]` anywhere."""
    lines = render_terminal(filled_with(text)).splitlines()
    assert [line for line in lines if line.lstrip().startswith("::") or "##[" in line] == []
