"""The summary for a terminal or a log: verdict first, aligned, narrow, and no text of the inputs acts."""

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console
from tests.gate_rows import changed
from tests.renderers import reports
from tests.report_keys import report_from, with_keys

from rankgate.cli.terminal import lay_out
from rankgate.errors import Problem
from rankgate.gates.conclude import with_conclusion
from rankgate.model.details import Expected
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Diagnosis, Moved, Provenance, Queries, Report
from rankgate.model.values import Unit, Verdict
from rankgate.renderers.blocks import plain_text
from rankgate.renderers.markdown import render_comment
from rankgate.renderers.terminal import render_terminal, terminal_blocks, verdict_line

RECALL = changed(reports.RECALL, reasons=[reports.FELL])
MRR = changed(
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
    report_from(
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


def everything(report: Report) -> str:
    return plain_text(terminal_blocks(report, everything=True))


def test_what_decided_and_what_comes_next() -> None:
    assert render_terminal(REPORT) == (
        "FAIL  Do not merge: recall@5 lost 10.0 points: 90.0% → 80.0%, 3.0 allowed.\n"
        "\n"
        "  metric    before → now   change    interval       limit             status\n"
        "  recall@5  90.0% → 80.0%  −10.0 pp  −12.0 to −8.0  ≥ 85.0%, −3.0 pp  FAIL\n"
        "  mrr       1.000                                   no drop           WARN\n"
        "\n"
        "1 question got worse, 3 got better; --all shows them\n"
        "\n"
        "Next: rankgate validate\n"
        "If it is meant: a waiver; `rankgate validate` prints its lines.\n"
    )


def test_all_of_it() -> None:
    report = with_keys(REPORT, segments=[reports.ENGLISH], metrics=reports.REPORT.measured.metrics)
    assert everything(report).partition("WARN\n\n")[2] == (
        "1 question got worse, 3 got better. The worst:\n"
        "  q-1  how do I get a refund?  recall@5 100.0% → 0.0%, gone\n"
        "    doc-3  rank 2 → gone\n"
        "\n"
        "  tag      questions          recall@5\n"
        "  lang:en         20  70.0% (−20.0 pp)\n"
        "\n"
        "40 of 42 questions scored; 2 without a relevant document in the gold set left out.\n"
        "A note.\n"
        "Another one.\n"
        "\n"
        "  Criteria  judged on 2026-01-31 by rankgate 0.1.0\n"
        "\n"
        "Next: rankgate validate\n"
        "If it is meant: a waiver; `rankgate validate` prints its lines.\n"
    )


def test_the_conclusion_alone() -> None:
    assert verdict_line(REPORT) == "FAIL  Do not merge: recall@5 lost 10.0 points: 90.0% → 80.0%, 3.0 allowed."


def test_what_to_look_at_first_stands_above_the_numbers_and_other_warnings_below() -> None:
    finding = Diagnosis(rule="one_tag", finding="all 6 share the tag {tag}", evidence={"tag": "lang:\u202ees"})
    found = render_terminal(with_keys(REPORT, diagnosis=[finding, finding], warnings=["ids are stale"])).splitlines()
    assert found[2] == r"Look here first: all 6 share the tag 'lang:\\u202ees'."
    assert found[8] == "Warning: ids are stale."


GATES = [
    changed(RECALL, name=f"gate number {number}", metric=f"recall@{number}", n=1_000, verdict=verdict)
    for number in range(25)
    for verdict in [Verdict.FAIL if number % 2 else Verdict.WARN]
]
PARTS = [replace(gate, name="one", metric="recall(rel=2)@10", segment=f"topic:{'returns ' * 3}") for gate in GATES]


@pytest.mark.parametrize("gates", [pytest.param(GATES, id="gates"), pytest.param(PARTS, id="parts of long names")])
@pytest.mark.parametrize("width", [80, 120])
def test_twenty_five_gates_are_a_screen(gates: list[GateResult], width: int) -> None:
    moved = [replace(MOVE, query_id=f"question-{number}") for number in range(50)]
    finding = Diagnosis(
        rule="index", finding="all that got worse share {tag} (25% of all)", evidence={"tag": "lang:es"}
    )
    report = with_keys(REPORT, gates=gates, misses=moved, warnings=["ids are stale"] * 9, diagnosis=[finding])
    stream = io.StringIO()
    blocks = terminal_blocks(with_conclusion(report))
    lay_out(blocks, Console(file=stream, width=width, height=24, color_system=None))
    lines = stream.getvalue().splitlines()
    assert len(lines) <= 24
    assert max(map(cell_len, lines)) <= width


def test_a_warning_that_the_first_line_holds_is_said_once() -> None:
    warned = with_keys(REPORT, verdict=Verdict.WARN, gates=[], warnings=["ids are stale"], problems=[])
    assert render_terminal(with_conclusion(warned)).count("ids are stale") == 1


def test_an_interval_has_the_decimals_of_its_change() -> None:
    gate = changed(RECALL, delta=-0.001, delta_ci=(-0.0019, -0.0003), regression_max=0.0005)
    assert "−0.10 pp  −0.19 to −0.03  " in render_terminal(with_keys(REPORT, gates=[gate]))


def test_warnings_without_room_are_counted() -> None:
    warned = with_conclusion(with_keys(REPORT, warnings=[f"warning {number}" for number in range(4)]))
    assert "; 2 more warnings; --all shows them" in render_terminal(warned)
    assert "<summary>All numbers, and 2 more warnings</summary>" in render_comment(warned)


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
    report = with_keys(REPORT, gates=[], misses=[], problems=problems)
    assert render_terminal(report).splitlines()[2:-2] == [f"  problem {number}" for number in range(20)] + more


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(with_keys(REPORT, misses=[], moved=None), id="no baseline"),
        pytest.param(with_keys(REPORT, misses=[], moved=Moved(worse=0, better=0)), id="nothing moved"),
        pytest.param(
            with_keys(REPORT, misses=[replace(MOVE, worse=False)], moved=Moved(worse=0, better=1)), id="better"
        ),
    ],
)
def test_without_losses_no_question_is_shown(report: Report) -> None:
    assert "got worse" not in render_terminal(report)


@pytest.mark.parametrize("question", [None, "q-1"], ids=["no text", "the text is the id"])
def test_a_question_without_words_of_its_own_is_shown_by_its_id(question: str | None) -> None:
    assert "\n  q-1  recall@5 " in everything(with_keys(REPORT, misses=[replace(MOVE, question=question)]))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x1b[31mb\x07", "a\\u001b[31mb\\u0007", id="control characters"),
        pytest.param("a\u202eb", "a\\u202eb", id="bidi characters"),
        pytest.param("a\nb\r\nc", "a b c", id="line breaks"),
        pytest.param("x" * 201, f"{'x' * 199}…", id="too long"),
    ],
)
def test_questions_are_shown_on_one_line_with_nothing_hidden(text: str, shown: str) -> None:
    assert f"  q-1  {shown}  recall@5 " in everything(with_keys(REPORT, misses=[replace(MOVE, question=text)]))


def filled_with(text: str) -> Report:
    """A report that holds the text wherever an input's own words can end up."""
    move = replace(MOVE, query_id=text, question=text, documents=[Expected(id=text, gain=1.0, before=None, after=None)])
    return with_keys(REPORT, misses=[move], problems=[Problem(text), Problem("wrong", text, 3, text)])


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


@pytest.mark.full
@given(TEXT)
@example("::stop-commands::x")
def test_whatever_the_text_nothing_is_hidden(text: str) -> None:
    for line in everything(filled_with(text)).removesuffix("\n").split("\n"):
        assert [char for char in line if not char.isprintable() and char not in "\u200c\u200d"] == []


@pytest.mark.full
@given(TEXT)
@example("a ")
@example("a\n \nb")
def test_whatever_the_text_no_line_ends_in_a_space(text: str) -> None:
    lines = everything(filled_with(text)).split("\n")
    assert [line for line in lines if line != line.rstrip()] == []


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
    lines = everything(filled_with(text)).splitlines()
    assert [line for line in lines if line.lstrip().startswith("::") or "##[" in line] == []
