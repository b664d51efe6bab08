"""What every output takes from one place: which rows, questions and parts, in which order, and how many."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import ENGLISH, HOLDS, IN_SEGMENT, LATENCY, MOVE, NOT_JUDGED, RECALL, REPORT
from tests.report_keys import with_keys
from tests.rows import each_row

from rankgate.errors import Problem, ProblemKind
from rankgate.gates.conclude import concluded, with_conclusion
from rankgate.model.conclusion import ConclusionKind, PartLoss
from rankgate.model.details import Expected
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Links, Moved, Report, Source, TrendPoint
from rankgate.model.values import Direction, Evidence, Reason, ReasonKind, Ruling, Unit, Verdict
from rankgate.renderers.escape import plain
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.view import EVERYTHING, view_of
from rankgate.renderers.view.parts import sparkline

DROPPED = changed(RECALL, reasons=[Reason(ReasonKind.REGRESSION, ruling=Ruling.VIOLATED)], violation=0.07)
KEPT = changed(HOLDS, metric="recall@5", reasons=[])
MRR = changed(KEPT, name="mrr", metric="mrr", delta=-0.01)


def part(tag: str, delta: float, verdict: Verdict = Verdict.FAIL, **fields: Any) -> GateResult:
    base = DROPPED if verdict is not Verdict.PASS else KEPT
    value = 0.9 + delta
    keys = {"segment": f"lang:{tag}", "delta": delta, "paired_value": value, "value": value, "verdict": verdict}
    return changed(base, **keys, violation=-delta if verdict is not Verdict.PASS else None, **fields)


def report_of(*gates: GateResult, **fields: Any) -> Report:
    return concluded(with_keys(REPORT, gates=list(gates), **fields))


def rows_of(report: Report) -> list[str]:
    """Status, name, values and change of each row of the first screen."""
    rows = view_of(report).numbers.first.rows
    return [" | ".join([row.status, plain(row.name), row.values, plain(row.change)]) for row in rows]


HOLDING = [part(tag, change, Verdict.PASS) for tag, change in (("ar", -0.08), ("de", 0.0), ("en", 0.1))]
LOSS = PartLoss(
    segment="lang:th",
    metric="recall@5",
    unit=Unit.SHARE,
    direction=Direction.HIGHER,
    before=0.96,
    now=0.6,
    n=25,
    worse=9,
    p=0.001,
)


@pytest.mark.parametrize(
    ("report", "heading", "rows", "more"),
    [
        pytest.param(report_of(KEPT, MRR), "Metric", [], "", id="all is well"),
        pytest.param(
            report_of(DROPPED), "recall@5", ["fail | all 40 questions | 90.0% → 80.0% | −10.0 pp"], "", id="one gate"
        ),
        pytest.param(
            report_of(DROPPED, MRR),
            "recall@5",
            ["fail | all 40 questions | 90.0% → 80.0% | −10.0 pp", "pass | 1 other gate |  | mrr −1.0 pp"],
            "",
            id="another gate holds",
        ),
        pytest.param(
            report_of(KEPT, part("zh", -0.5), *HOLDING, part("xx", 0.0, Verdict.PASS, too_small=True)),
            "recall@5",
            [
                "fail | lang:zh · 40 questions | 90.0% → 40.0% | −50.0 pp",
                "pass | 3 other languages, 1 too small to judge |  | worst: lang:ar −8.0 pp",
                "pass | all 40 questions | 90.0% → 90.0% | ±0.0 pp",
            ],
            "",
            id="a part fails: the rest, then the whole",
        ),
        pytest.param(
            report_of(KEPT, part("a", -0.1), part("b", -0.3), part("c", -0.2), part("d", -0.05)),
            "recall@5",
            [
                "fail | lang:b · 40 questions | 90.0% → 60.0% | −30.0 pp",
                "fail | lang:c · 40 questions | 90.0% → 70.0% | −20.0 pp",
                "pass | all 40 questions | 90.0% → 90.0% | ±0.0 pp",
            ],
            "",
            id="the worst first, and the sentence counts those that have no room",
        ),
        pytest.param(
            report_of(*(changed(LATENCY, name=f"gate {number}", reasons=[]) for number in range(5)), DROPPED),
            "Metric",
            [
                "fail | recall@5 | 90.0% → 80.0% | −10.0 pp",
                "warn | latency (gate 0) | 35.0 ms | ",
                "warn | latency (gate 1) | 35.0 ms | ",
            ],
            "3 more gates warn",
            id="what fails before what warns, and a line counts what no sentence does",
        ),
        pytest.param(
            report_of(KEPT, MRR, lost_parts=[LOSS]),
            "recall@5",
            [
                "warn | lang:th · 25 questions | 96.0% → 60.0% | −36.0 pp",
                "pass | 1 other gate |  | mrr −1.0 pp",
                "pass | all 40 questions | 90.0% → 90.0% | ±0.0 pp",
            ],
            "",
            id="a part that no gate names",
        ),
        pytest.param(
            report_of(
                *(replace(DROPPED, name=f"r{k}", metric=f"recall@{k}") for k in (5, 6, 7, 8)),
                losers={(f"r{k}", None): ["q-1", "q-2"] for k in (5, 6, 7, 8)},
            ),
            "recall@5",
            ["fail | all 40 questions | 90.0% → 80.0% | −10.0 pp"],
            "",
            id="more of one cause than there is room for are one row",
        ),
        pytest.param(
            report_of(
                *(replace(DROPPED, name=f"r{k}", metric=f"recall@{k}") for k in (5, 6)),
                losers={(f"r{k}", None): ["q-1", "q-2"] for k in (5, 6)},
            ),
            "Metric",
            ["fail | recall@5 | 90.0% → 80.0% | −10.0 pp", "fail | recall@6 | 90.0% → 80.0% | −10.0 pp"],
            "",
            id="two of one cause are two rows",
        ),
    ],
)
def test_the_rows_of_the_first_screen(report: Report, heading: str, rows: list[str], more: str) -> None:
    first = view_of(report).numbers.first
    assert rows_of(report) == rows
    assert (first.heading, first.more) == (heading, more)


SLOWER = changed(LATENCY, delta=1.0, delta_ci=(0.0, 2.0), confidence=0.9)
MUST = changed(DROPPED, queries=["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("gates", "level"),
    [
        pytest.param([RECALL], "95% interval", id="one level"),
        pytest.param([RECALL, SLOWER], "90% or 95% interval", id="two"),
        pytest.param(
            [RECALL, changed(part("a", -0.2), reasons=[Reason(ReasonKind.REGRESSION, corrected_for=12)])],
            "interval, for 12 languages at once",
            id="corrected",
        ),
        pytest.param([changed(RECALL, delta_ci=None)], "interval", id="none"),
    ],
)
def test_what_the_intervals_of_a_table_are(gates: list[GateResult], level: str) -> None:
    assert view_of(report_of(*gates)).numbers.all.level == level


NOTED = Reason(ReasonKind.LOST, count=7, limit=2)


@pytest.mark.parametrize(
    ("gate", "notes"),
    [
        pytest.param(DROPPED, [], id="numbers say all"),
        pytest.param(MUST, ["a, b, c and 1 more must pass and do not"], id="must pass"),
        pytest.param(
            changed(DROPPED, value=0.7, n=44),
            ["70.0% on all 44 questions, held against the floor"],
            id="pairs differ from all",
        ),
        pytest.param(
            changed(DROPPED, value=0.7),
            ["70.0% of the whole lists, held against the floor"],
            id="lists are cut to be compared",
        ),
        pytest.param(
            changed(DROPPED, name="second", metric="mrr", reasons=[NOTED]),
            ["7 questions were lost in mrr; at most 2 allowed"],
            id="another rule than a limit",
        ),
    ],
)
def test_what_the_numbers_of_a_row_do_not_show_stands_in_it(gate: GateResult, notes: list[str]) -> None:
    rows = view_of(report_of(DROPPED, *([gate] if gate.name == "second" else []))).numbers.all.rows
    if gate.name != "second":
        rows = view_of(report_of(gate)).numbers.all.rows
    assert [plain(note) for note in rows[-1].notes] == notes
    said = [plain(note.text) for note in view_of(report_of(DROPPED, gate)).remarks.reasons]
    assert not any(note in text for note in notes for text in said), "once"


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        pytest.param((24, 14), "24 → 14 of 40", id="fewer"),
        pytest.param((1_000, 1_001), "1,000 → 1,001 of 40", id="more, and many"),
        pytest.param((24, 24), "", id="as many"),
        pytest.param(None, "", id="not counted"),
    ],
)
def test_counts_stand_beside_shares_where_they_changed(counts: tuple[int, int] | None, text: str) -> None:
    report = report_of(changed(DROPPED, counts=counts))
    assert view_of(report).numbers.first.rows[0].counts == text
    assert (f"<br>{text} |" in render_markdown(report).replace("&nbsp;", " ")) is bool(text)


def test_all_numbers_are_the_gates_and_the_parts_that_did_not_pass_the_worst_first() -> None:
    gates = [MRR, KEPT, part("zh", -0.5), *HOLDING, changed(LATENCY, reasons=[])]
    rows = view_of(report_of(*gates)).numbers.all.rows
    assert [plain(row.name) for row in rows] == ["recall@5 · lang:zh · 40 questions", "latency", "mrr", "recall@5"]


def test_of_more_gates_than_there_is_room_for_those_that_say_most_are_shown_and_the_rest_is_counted() -> None:
    gates = [replace(KEPT, name=f"gate {number}", metric=f"recall@{number}") for number in range(70)]
    found = view_of(report_of(*gates, DROPPED)).numbers.all
    assert (len(found.rows), found.more) == (60, "11 more gates hold")
    assert found.rows[0].status == "fail"
    assert view_of(report_of(*gates, DROPPED), EVERYTHING).numbers.all.more == ""


# Questions


def test_ten_questions_in_the_order_of_the_report_each_with_its_documents() -> None:
    gone = [Expected(id=f"doc-{number}", gain=1.0, before=2, after=None) for number in range(5)]
    moves = [replace(MOVE, query_id=f"q-{number}", documents=gone, instead=["x"]) for number in range(12)]
    better = replace(MOVE, query_id="better", worse=False)
    view = view_of(with_keys(REPORT, misses=[better, *moves], moved=Moved(worse=12, better=1)))
    assert view.questions.moved == "12 questions got worse, 1 got better"
    assert [item.id.raw for item in view.questions.lost] == [f"q-{number}" for number in range(10)]
    first = view.questions.lost[0]
    assert (first.cause, first.values, first.more) == ("gone", "100.0% → 0.0%", 2)
    assert (first.documents[0].id.raw, first.documents[0].move) == ("doc-0", "rank 2 → gone")
    assert [each.raw for each in first.instead] == ["x"]


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        pytest.param("recall@5", "1 question got worse, 0 got better", id="the metric of the conclusion"),
        pytest.param("mrr", "1 question got worse in mrr, 0 better", id="another one"),
        pytest.param("score(a*b)", "1 question got worse in another metric, 0 better", id="one that Markdown reads"),
    ],
)
def test_questions_that_got_worse_in_another_metric_than_the_conclusion_s_name_it(metric: str, said: str) -> None:
    assert view_of(report_of(DROPPED, misses=[replace(MOVE, metric=metric)])).questions.moved == said


@pytest.mark.parametrize(
    ("page", "address"),
    [
        pytest.param("https://example.org/page", "https://example.org/page#q=q%2F1%20%C3%A9%29", id="known"),
        pytest.param(None, None, id="unknown"),
        pytest.param("javascript:alert(1)", None, id="no address"),
    ],
)
def test_a_question_leads_to_its_place_on_the_page(page: str | None, address: str | None) -> None:
    moved = with_keys(REPORT, misses=[replace(MOVE, query_id="q/1 é)")], links=Links(page=page))
    assert view_of(moved).questions.lost[0].address == address


# Parts


def test_parts_are_ordered_by_what_they_lost_and_cut_at_ten() -> None:
    changes = [0.0, -0.3, None, 0.2, *([-0.1] * 9)]
    parts = [
        replace(ENGLISH, value=str(number), metrics={"recall@5": replace(IN_SEGMENT, delta=change)})
        for number, change in enumerate(changes)
    ]
    found = view_of(with_keys(REPORT, segments=parts)).numbers.parts
    assert [row.tag.raw for row in found.rows] == ["lang:1", *(f"lang:{number}" for number in range(4, 13))]
    assert found.more == 3
    assert found.rows[0].values[0].text == "70.0% (−30.0 pp)"


def test_where_gates_correct_for_many_parts_these_have_their_intervals_and_no_plain_ones() -> None:
    """A plain 95% interval that excludes zero would contradict a gate that says within noise."""
    metric = {"recall@5": replace(IN_SEGMENT, delta_ci=(-0.3, -0.1))}
    parts = [replace(ENGLISH, value=name, metrics=metric) for name in ("es", "pt", "en")]
    judged = changed(RECALL, segment="lang:es", evidence=Evidence.PROVEN_HARM, confidence=0.9983, delta_ci=(-0.4, 0.1))
    judged = changed(judged, reasons=[Reason(ReasonKind.REGRESSION, corrected_for=3)])
    small = changed(judged, segment="lang:pt", too_small=True)
    plain_rows = view_of(with_keys(REPORT, segments=parts)).numbers.parts.rows
    assert {row.values[0].interval for row in plain_rows} == {"95%: −30.0 to −10.0 pp"}
    rows = view_of(with_keys(REPORT, segments=parts, gates=[RECALL, judged, small])).numbers.parts.rows
    expected = {"lang:es": "for 3 languages at once: −40.0 to +10.0 pp", "lang:pt": "", "lang:en": ""}
    assert {row.tag.raw: row.values[0].interval for row in rows} == expected


# The last runs


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        pytest.param([0.0, 0.5, 1.0], "▁▅█", id="rising"),
        pytest.param([0.8, 0.8], "▄▄", id="flat"),
        pytest.param([None, 0.1, 0.2], "·▁█", id="one run without a value"),
        pytest.param([None], "·", id="none"),
    ],
)
def test_a_spark(values: list[float | None], drawn: str) -> None:
    assert sparkline(values) == drawn


def with_trend(*values: float | None) -> Report:
    points = [TrendPoint(date=f"2026-01-{day:02}", scores={"recall@5": value}) for day, value in enumerate(values, 1)]
    return with_keys(REPORT, trend=points)


def test_the_last_ten_runs_are_one_line() -> None:
    history = view_of(with_trend(0.1, 0.1, *([0.9, 0.85] * 5))).numbers.history
    assert history is not None
    assert (history.runs, history.days, history.metric) == (10, "2026-01-03 to 2026-01-12", "recall@5")
    assert (history.drawn, history.range, history.now) == ("█▁" * 5, "85.0% to 90.0%", "80.0%")


@pytest.mark.parametrize("report", [REPORT, with_trend(None, None)])
def test_without_a_value_there_is_no_history(report: Report) -> None:
    assert view_of(report).numbers.history is None


# Problems, and what was compared


@pytest.mark.parametrize(
    ("problems", "listed"),
    [
        pytest.param([Problem("broken", "run.jsonl", 3)], [], id="the conclusion says the one"),
        pytest.param([Problem("a"), Problem("b")], ["b"], id="and the first of several"),
        pytest.param(
            [Problem("add:\n  run: x"), Problem("b")], ["add:\n  run: x", "b"], id="but none of several lines"
        ),
        pytest.param([Problem("bug", kind=ProblemKind.INTERNAL)], ["bug"], id="nor a bug of ours"),
    ],
)
def test_problems_are_said_once(problems: list[Problem], listed: list[str]) -> None:
    assert [
        each.raw for each in view_of(with_conclusion(replace(NOT_JUDGED, problems=problems))).problems.first
    ] == listed


def test_twenty_problems_are_listed_the_rest_is_counted() -> None:
    problems = [Problem(f"problem {number}") for number in range(30)]
    view = view_of(with_conclusion(replace(NOT_JUDGED, problems=problems)))
    assert (len(view.problems.first), len(view.problems.further), view.problems.more) == (5, 15, 9)


def test_an_input_says_its_versions_first_and_not_all_that_it_knows() -> None:
    about: dict[str, Any] = {f"a{number}": number for number in range(9)}
    about |= {"chunker": {"size": 400}, "index_version": "v2", "recording": {"commit": "ad05745", "hash": "x"}}
    run = Source(path="run.jsonl", format="jsonl", about=about)
    view = view_of(replace(REPORT, provenance=replace(REPORT.provenance, run=run)))
    (origin,) = [plain(each.text) for each in view.origins.listed if each.kind == "Run"]
    assert origin.startswith("run.jsonl, 'chunker.size=400', 'index_version=v2', 'a0=0'")
    assert origin.endswith(", and 4 more in `report.json`")
    assert "hash" not in origin


def test_of_an_empty_run_no_numbers_are_shown() -> None:
    empty = replace(REPORT, conclusion=replace(REPORT.conclusion, kind=ConclusionKind.EMPTY))
    view = view_of(empty)
    numbers = view.numbers
    assert (numbers.first.rows, numbers.all.rows, numbers.parts.rows, numbers.values) == ((), (), (), ())
    assert view.questions.lost == ()


RENDERERS = Path(__file__).parents[2] / "src" / "rankgate" / "renderers"
MARKUP = re.compile(r"\*\*|</?(details|summary|br|sub|td|tr|p)\\b|\| | \||\|:?--|^- ")


@each_row("path", [*sorted(RENDERERS.glob("*.py")), *sorted((RENDERERS / "view").glob("*.py"))])
def test_no_module_writes_markdown_or_html(path: Path) -> None:
    """Templates do, and the escaper, which spells text for them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]
    assert path.name == "markdown_text.py" or [text for text in texts if MARKUP.search(text)] == []
