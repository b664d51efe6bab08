"""The pull-request comment: its structure as GitHub's parser sees it, its limits, hostile text, users' templates."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers import reports
from tests.renderers.page import Page
from tests.renderers.reports import ENGLISH, HOLDS, IN_SEGMENT, LATENCY, MOVE, NOT_JUDGED, RECALL, REPORT
from tests.report_keys import with_keys

from rankgate.errors import Problem, RankgateError
from rankgate.gates.conclude import with_conclusion
from rankgate.model.details import Expected
from rankgate.model.report import BaselineSource, Diagnosis, Links, Moved, Oddities, Report, Source
from rankgate.model.values import Reason, ReasonKind, Verdict
from rankgate.renderers.base_changes import Permission
from rankgate.renderers.links import Link
from rankgate.renderers.markdown import (
    COMMENT_LIMIT,
    DROP_ORDER,
    OURS,
    SUMMARY_BYTES,
    TEMPLATES,
    environment,
    render_comment,
    render_markdown,
    render_summary,
    user_renderer,
)
from rankgate.renderers.phrases import Note
from rankgate.renderers.view import View, view_of
from rankgate.renderers.view.answers import LostAnswer
from rankgate.renderers.view.numbers import History, Part, Parts, PartValue, Row, Rows
from rankgate.renderers.view.origins import Origin
from rankgate.renderers.view.questions import Document, Lost

DOCS = Path(__file__).parents[2] / "docs" / "templates.md"


def page(report: Report) -> Page:
    return Page(render_markdown(report))


@pytest.mark.parametrize(
    ("report", "first_line"),
    [
        pytest.param(
            replace(REPORT, verdict=Verdict.PASS, gates=[HOLDS]),
            "**✅ PASS. No list changed in the first 5: hit@5 stays at 90.0% (40 questions).**",
            id="pass",
        ),
        pytest.param(
            with_keys(REPORT, verdict=Verdict.WARN, gates=[HOLDS], warnings=["ids are stale"]),
            "**⚠️ WARN. May be merged, with a warning: ids are stale.**",
            id="warn",
        ),
        pytest.param(
            with_keys(REPORT, gates=[HOLDS], failures=["ids are stale"]),
            "**❌ FAIL. Do not merge: ids are stale.**",
            id="fail",
        ),
        pytest.param(NOT_JUDGED, "**❔ NOT JUDGED. `run.jsonl:3: broken JSON`.**", id="not judged"),
    ],
)
def test_the_first_line_is_the_verdict_in_one_sentence(report: Report, first_line: str) -> None:
    comment = render_markdown(with_conclusion(report))
    assert comment.splitlines()[:2] == [first_line, ""]


def test_it_ends_in_one_newline() -> None:
    assert re.search(r"\S\n\Z", render_markdown(REPORT))


def test_what_to_look_at_first_is_one_line_with_the_tag_as_code() -> None:
    finding = Diagnosis(rule="one_tag", finding="all 6 that lost share {tag}", evidence={"tag": "@all|`x`"})
    other = Diagnosis(rule="index_or_chunking", finding="the index", evidence={"recall@50": 0.5})
    text = render_markdown(with_keys(REPORT, diagnosis=[finding, other]))
    assert text.splitlines()[2] == "**Look here first:** all 6 that lost share `` @all|`x` ``."
    assert "the index" not in text, "the rest is in report.json"
    assert "Look here first" not in render_markdown(REPORT)


def test_a_warning_that_no_gate_has_stands_among_the_reasons() -> None:
    assert "- WARN: ids are stale.\n" in render_markdown(with_keys(REPORT, warnings=["ids are stale"]))


def test_a_single_reason_is_said_once_in_the_first_line() -> None:
    report = replace(REPORT, gates=[changed(RECALL, reasons=[reports.FELL]), HOLDS])
    assert render_markdown(report).count("lost 10.0 points") == 1


def test_details_are_closed_and_rendered_as_markdown_inside() -> None:
    found = page(REPORT)
    assert [attributes for tag, attributes in found.tags if tag == "details"] == [(), (), (), ()]
    assert found.count("summary") == 4
    assert found.count("table") == 3
    assert found.count("pre") == 1
    assert "|" not in found.plain
    assert "**" not in found.plain


def test_all_that_stands_behind_the_first_screen() -> None:
    """Questions with their documents, numbers, parts, and what was compared."""
    report = with_keys(REPORT, notes=["A note.", "Another one."], gates=[RECALL, LATENCY])
    found = page(report)
    assert found.rows == [
        ["", "Metric", "Before → now", "Change (95% interval)", "Limit"],
        ["❌ fail", "recall@5", "90.0%\xa0→\xa080.0% (75.0\xa0to\xa085.0%)", FELL, "≥\xa085.0%, −3.0\xa0pp"],
        ["⚠️ warn", "latency", "35.0\xa0ms (0.8\xa0to\xa00.8\xa0ms)", "no baseline", "≤\xa050.0\xa0ms, +5.0\xa0ms"],
    ] * 2 + [["Tag", "Questions", "recall@5"], ["lang:en", "20", "70.0% (−20.0\xa0pp)"]]
    assert found.items == [
        "how do I get a refund? (q-1): recall@5 100.0% → 0.0%, gone",
        "expected doc-3: rank 2 → gone",
        "recall@5: share of the relevant documents found in the first 5 results",
        "latency: milliseconds that a question takes on average",
        "Gold set: gold.yaml",
        "Run: run.jsonl, system=hybrid_v3, k_raw=50, chunker.a=1",
        "Baseline: baseline, accepted=2026-01-01",
        "Criteria: ship-criteria.yaml, judged on 2026-01-31 by rankgate 0.1.0",
    ]
    assert "40 of 42 questions scored; 2 without a relevant document in the gold set left out." in found.plain
    assert "A note.\n" in found.plain
    assert found.code[-1] == "rankgate check --run run.jsonl\n"


@pytest.mark.parametrize("question", [None, "q-1"], ids=["no text", "the text is the id"])
def test_a_question_without_words_of_its_own_is_shown_by_its_id(question: str | None) -> None:
    report = with_keys(REPORT, misses=[replace(MOVE, question=question)])
    assert "- `q-1`: recall@5 100.0% → 0.0%, gone\n" in render_markdown(report)


def test_a_question_leads_to_its_place_on_the_page() -> None:
    linked = render_markdown(
        replace(REPORT, links=Links(page="https://example.org/page", criteria="https://x.org/a)b"))
    )
    assert "- [`how do I get a refund?`](<https://example.org/page#q=q-1>) (`q-1`): " in linked
    assert "| [≥&nbsp;85.0%, −3.0&nbsp;pp](<https://x.org/a%29b#L2>) |" in linked


def test_a_check_that_could_not_judge_says_so_and_what_to_mend() -> None:
    found = page(with_conclusion(replace(NOT_JUDGED, problems=[*NOT_JUDGED.problems, Problem("another")])))
    assert "No verdict could be reached, so this does not count as passed. Also to fix:" in found.plain
    assert found.items[0] == "another"
    assert found.count("table") == 0
    assert found.count("details") == 1


# What goes where not all fits


def test_sections_go_whole_and_in_the_order_that_is_stated() -> None:
    whole, gone = render_markdown(REPORT), list[str]()
    parts = [(getattr(view_of(REPORT), part), field, words) for part, field, words in DROP_ORDER]
    present = [words for part, field, words in parts if getattr(part, field) != getattr(type(part)(), field)]
    limit = len(whole)
    while len(gone) < len(present):
        cut = render_markdown(REPORT, limit=limit - 1)
        (line,) = re.findall("^Left out to fit: (.*); `report.json` has (?:it|them).$", cut, re.MULTILINE)
        assert line.split(", ")[: len(gone)] == gone
        gone, limit = line.split(", "), len(cut)
        assert cut.splitlines()[0] == whole.splitlines()[0]
        assert Page(cut).count("details") == cut.count("</details>")
    assert gone == present


@pytest.mark.parametrize("limit", [900, 2_000, 2_500])
def test_a_limit_counts_characters_or_bytes(limit: int) -> None:
    report = with_keys(REPORT, misses=[replace(MOVE, question="漢" * 200)] * 9)
    assert len(render_markdown(report, limit=limit)) <= limit
    assert len(render_summary(report, limit).encode()) <= limit


@pytest.mark.full
def test_a_comment_of_everything_fits() -> None:
    long = "漢" * 1_000
    moves = [replace(MOVE, query_id=f"{number}{long}", question=long) for number in range(50)]
    gates = [changed(RECALL, name=f"{number}{long}", queries=[long] * 20) for number in range(100)]
    parts = [replace(ENGLISH, value=f"{number}{long}") for number in range(90)]
    report = with_keys(REPORT, misses=moves, gates=gates, segments=parts, warnings=[long] * 99)
    assert len(render_comment(report)) <= COMMENT_LIMIT
    assert len(render_summary(report, SUMMARY_BYTES).encode()) <= SUMMARY_BYTES


def test_a_run_that_says_much_of_itself_does_not_fill_the_comment() -> None:
    """GitHub takes 65,536 characters; the first line of a run may hold any number of keys."""
    talkative = Source(path="run.jsonl", format="jsonl", about={f"key-{n}": "value" * 20 for n in range(2_000)})
    report = replace(REPORT, provenance=replace(REPORT.provenance, run=talkative))
    assert len(render_markdown(report)) < 10_000
    assert re.search(r"\d+ more", page(report).plain)


FELL = "−10.0\xa0pp (−12.0\xa0to\xa0−8.0)"
MENTION = re.compile(r"(?:^|\W)@\w")


def test_a_metric_with_parameters_mentions_nobody() -> None:
    """GitHub reads `)@10` as a mention of the user called 10."""
    name = "ndcg(gain=exponential)@10"
    gate = changed(RECALL, metric=name)
    segment = replace(ENGLISH, metrics={name: IN_SEGMENT})
    report = with_keys(
        REPORT,
        summary=f"Do not merge: {name} dropped",
        gates=[gate],
        metrics={name: REPORT.measured.metrics["recall@5"]},
        misses=[replace(MOVE, metric=name)],
        segments=[segment],
        notes=[f"A note on {name}."],
    )
    assert MENTION.findall(page(report).plain) == []


HOSTILE = (
    *(
        "@octocat",
        "a@b.co",
        "https://e.example/x",
        "www.e.example",
        "#1",
        "[a](http://e.example)",
        "![a](http://e.co/a)",
    ),
    *("<img src=x>", "<script>alert(1)</script>", "</details>", "</td></tr></table>", "<!--", "&#64;octocat"),
    *("\n\n# heading", "\n- item", "\n```\n", "\n| a |\n|---|\n", "|", "\\|", "\\", "`", "```", "**", "~~", "\n---\n"),
    *("\x00", "\x1b[31m", "\u202e", "\u200d", "\r", "\u2028", "{{ 7 * 7 }}", "{% raw %}", "::error::x", "##[error]x"),
)


def filled_with(text: str) -> Report:
    """A report that holds the text wherever an input's own words can end up."""
    problem = Problem(text, text, 3, text)
    document = Expected(id=text, gain=1.0, before=2, after=None)
    move = replace(MOVE, query_id=text, question=text, tags=[text], documents=[document, document])
    better = replace(move, question=None, worse=False)
    source = BaselineSource(path=text, format="jsonl", about={text: text, "number": 7})
    return with_keys(
        REPORT,
        problems=[problem, problem],
        gates=[replace(RECALL, name=text), LATENCY],
        segments=[replace(ENGLISH, dimension=text, value=text), replace(ENGLISH, dimension="tag", value=text), ENGLISH],
        misses=[move, better],
        moved=Moved(worse=1, better=1),
        provenance=replace(
            REPORT.provenance,
            criteria=text,
            gold=source,
            run=source,
            baseline=source,
            command=["rankgate", "check", "--run", text],
        ),
    )


@cache
def harmless_page() -> Page:
    return page(filled_with("word"))


@pytest.mark.full
@given(
    st.lists(st.sampled_from(HOSTILE) | st.text(max_size=4), min_size=1, max_size=8).map(
        lambda parts: "x".join(parts) or "x"
    )
)
@example("x".join(HOSTILE))
@example(" ")
def test_hostile_text_changes_nothing_outside_of_code(text: str) -> None:
    hostile, harmless = page(filled_with(text)), harmless_page()
    assert hostile.tags == harmless.tags
    assert hostile.plain == harmless.plain
    assert len(hostile.rows) == len(harmless.rows)
    assert list(map(len, hostile.rows)) == list(map(len, harmless.rows))


def test_a_comment_consists_of_a_few_harmless_tags() -> None:
    assert {tag for tag, _ in harmless_page().tags} == {
        *("p", "strong", "ul", "li", "code", "pre", "details", "summary"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }


class Templates:
    """Renders the report through a template of a user."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "ours.md.j2"

    def render(self, source: str) -> str:
        self.path.write_text(source, encoding="utf-8")
        return user_renderer(self.path.as_posix())(REPORT)

    def problem(self, source: str) -> tuple[int | None, str]:
        """Line and message of the one problem."""
        with pytest.raises(RankgateError) as raised:
            self.render(source)
        [problem] = raised.value.problems
        assert problem.file == self.path.as_posix()
        return problem.line, problem.message


@pytest.fixture
def templates(tmp_path: Path) -> Templates:
    return Templates(tmp_path)


@pytest.mark.parametrize(
    ("source", "rendered"),
    [
        pytest.param("{{ report.verdict.value }}", "fail", id="the report's keys are attributes"),
        pytest.param("{{ report.gates[0].metric }}", "recall@5", id="a list"),
        pytest.param("{{ report.metrics['recall@5'].n }}", "40", id="a mapping"),
        pytest.param("{{ report.provenance.run.about.system }}", "hybrid_v3", id="provenance"),
        pytest.param(
            "{% for move in report.misses %}{{ move.question | code }}{% endfor %}",
            "`how do I get a refund?`",
            id="code",
        ),
        pytest.param("{{ 'a b c d' | code(4) }}", "`a b…`", id="code with a limit"),
        pytest.param("{{ 'a|b' | code | cell }}", "`a\\|b`", id="cell"),
        pytest.param("{{ view.questions.lost[0].question | text }}", "`how do I get a refund?`", id="text"),
        pytest.param("{{ view.questions.lost[0].question | text(8) }}", "`how do…`", id="text with a limit"),
        pytest.param(
            "{% for row in view.numbers.first.rows %}{{ row.change | cell }}{% endfor %}", "−10.0&nbsp;pp", id="rows"
        ),
        pytest.param("{{ link('page', 'https://example.org') }}", "[page](<https://example.org>)", id="link"),
        pytest.param("{{ 'a\\nb' | visible }}", "a b", id="visible"),
        pytest.param("{{ 'a long word' | shorten(5) }}", "a lo…", id="shorten"),
        pytest.param("{{ icon(report.verdict) }} {{ word(report.verdict) }}", "❌ FAIL", id="icon and word"),
        pytest.param("{{ amount(0.5, report.gates[0].unit) }}", "50.0%", id="amount"),
        pytest.param("{{ change(0.5, report.gates[0].unit) }}", "+50.0 pp", id="change"),
        pytest.param("{{ count(1400, 'question') }}", "1,400 questions", id="count"),
        pytest.param("{{ command(view.origins.command) }}", "```sh\nrankgate check --run run.jsonl\n```", id="command"),
        pytest.param("\n\n  text  \n\n", "text", id="blank lines around it are dropped"),
        pytest.param(
            "{% for gate in report.gates %}\n* {{ gate.n }}\n{% endfor %}\n", "* 40", id="tags leave no lines"
        ),
        pytest.param("{{ '<b>' }}", "<b>", id="its own markup is its own business"),
    ],
)
def test_a_template_sees_the_report_and_our_functions(templates: Templates, source: str, rendered: str) -> None:
    assert templates.render(source) == rendered + "\n"


def test_the_documentation_lists_exactly_the_filters_and_functions_that_there_are() -> None:
    ours, plain = environment(sandboxed=True), jinja2.Environment()  # noqa: S701 -- nothing is rendered
    listed = re.findall(r"^- (`[^:]+`):", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {name for written in listed for name in re.findall(r"`(\w+)[^`]*`", written) if "`." not in written}
    named = (ours.filters.keys() - plain.filters.keys()) | (ours.globals.keys() - plain.globals.keys())
    assert documented - {"view"} == named
    assert len(named) <= 12


def test_the_documentation_names_every_field_of_the_view_and_its_example_renders(templates: Templates) -> None:
    text = DOCS.read_text(encoding="utf-8")
    fields = re.findall(r"`\.(\w+)`", text)
    held = msgspec.structs.astuple(view_of(REPORT))
    parts = {type(part) for part in held if isinstance(part, msgspec.Struct)}
    rows = (Row, Rows, Note, History, Lost, Document, LostAnswer, Parts, Part, PartValue, Origin, Link, Permission)
    structs: set[type[msgspec.Struct]] = {View, *parts, *rows}
    assert set(fields) == {name for each in structs for name in each.__struct_fields__} - {"left_out"}
    (example,) = re.findall(r"```jinja title=\"\S+\"\n(.*?)```", text, re.DOTALL)
    assert templates.render(example).splitlines() == [
        "# Search quality: FAIL",
        "",
        "Do not merge: recall@5 lost 10.0 points: 90.0% → 80.0%, 3.0 allowed.",
        "",
        "| Gate | Now | Allowed |",
        "|:--|:--|:--|",
        "| ❌ recall@5 | 90.0%&nbsp;→&nbsp;80.0% | ≥&nbsp;85.0%, −3.0&nbsp;pp |",
        "",
        "* `q-1`: 100.0% → 0.0%, gone",
    ]


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        pytest.param("one\ntwo\n{{ nope }}", 3, "'nope'", id="unknown name"),
        pytest.param("\n{{ report.nope }}", 2, "'nope'", id="unknown attribute"),
        pytest.param("{{ report.gates[7].metric }}", 1, "7", id="unknown index"),
        pytest.param("{% if nope %}{% endif %}", 1, "'nope'", id="unknown name in a condition"),
        pytest.param("one\n{% for %}", 2, "", id="syntax"),
        pytest.param("one\n\n{% for a in report.gates %}", 3, "", id="block left open"),
        pytest.param("{{ 1 | nope }}", 1, "'nope'", id="unknown filter"),
        pytest.param("\n\n{{ 1 / 0 }}", 3, "division by zero", id="arithmetic"),
        pytest.param("{{ icon('x') }}", 1, "x", id="a word for a verdict"),
        pytest.param("{{ report.summary + 1 }}", 1, "str", id="types"),
        pytest.param("{{ range(10 ** 9) | list }}", 1, "", id="endless range"),
        pytest.param("{% include 'other' %}", 1, "", id="another file"),
        pytest.param("{% include '../markdown.py' %}", 1, "", id="a file beside our templates"),
        pytest.param("\n{{ 1 | text }}", 2, "", id="a number for a text"),
        pytest.param("\n{{ amount(0.5, 'share') }}", 2, "", id="text for a unit"),
        pytest.param("{{ command(report) }}", 1, "", id="a report for a command"),
        pytest.param("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", 1, "recursion", id="recursion without end"),
        pytest.param("{% import 'os' as os %}", 1, "", id="a module"),
        pytest.param("{{ 10 ** 5000 }}", 1, "integer string conversion", id="an integer of 5,000 digits"),
    ],
)
def test_a_mistake_in_a_template_is_named_with_its_line(
    templates: Templates, source: str, line: int, words: str
) -> None:
    found_line, message = templates.problem(source)
    assert found_line == line
    assert message.startswith("template error: ")
    assert words in message


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("{{ report.__class__ }}", id="class of the report"),
        pytest.param("{{ ''.__class__.__mro__ }}", id="class of a text"),
        pytest.param("{{ report.__struct_fields__ }}", id="fields of the report"),
        pytest.param("{{ report['__class__'] }}", id="as an item"),
        pytest.param("{{ report | attr('__class__') }}", id="through the filter"),
        pytest.param("{{ '{0.__class__}'.format(report) }}", id="through a format"),
        pytest.param("{{ '{x.__class__}'.format_map({'x': report}) }}", id="through a format map"),
        pytest.param("{{ amount.__globals__ }}", id="globals of a function"),
        pytest.param("{{ cycler.__init__.__globals__.os }}", id="globals of Jinja"),
        pytest.param("{{ self._TemplateReference__context }}", id="the context"),
        pytest.param("{{ icon.__self__ }}", id="mapping behind a function"),
        pytest.param("{{ report.gates.append(1) }}", id="append to a list"),
        pytest.param("{{ report.gates.clear() }}", id="clear a list"),
        pytest.param("{{ report.metrics.update({}) }}", id="change a mapping"),
        pytest.param("{{ report.provenance.run.about.pop('system') }}", id="take out of a mapping"),
        pytest.param("{% set report.verdict = 1 %}", id="set an attribute"),
    ],
)
def test_the_sandbox_refuses(templates: Templates, source: str) -> None:
    before = repr(REPORT)
    line, _ = templates.problem(source)
    assert line == 1
    assert repr(REPORT) == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda path: None, "cannot be read: No such file or directory", id="missing"),
        pytest.param(lambda path: path.mkdir(), "cannot be read: Is a directory", id="a directory"),
        pytest.param(lambda path: path.write_bytes(b"\xff"), "cannot be read: ", id="not UTF-8"),
    ],
)
def test_a_template_that_cannot_be_read_is_named(tmp_path: Path, make: Any, words: str) -> None:
    path = tmp_path / "ours.md.j2"
    make(path)
    with pytest.raises(RankgateError) as raised:
        user_renderer(path.as_posix())
    assert str(raised.value).startswith(f"{path.as_posix()}: {words}")


def test_a_mistake_without_a_line_is_a_sentence_too(templates: Templates) -> None:
    assert templates.problem("{{ '\\ud800' }}")[1].endswith("surrogates not allowed")
    assert templates.problem("{{ " + "(" * 50_000 + " }}")[1].startswith("template error: ")


def test_a_message_is_shortened_and_shows_what_would_be_hidden(templates: Templates) -> None:
    _, message = templates.problem("{{ icon('\\x1b[31m' ~ 'x' * 5000) }}")
    assert len(message) < 600
    assert message.isprintable()
    assert "\\u001b" in message or "\\x1b" in message


LOST = "3 questions were lost in recall@5; at most 1 allowed"
ONE_SIDED = Reason(ReasonKind.ONE_SIDED, count=2)
KINDS = [Reason(ReasonKind.MUST_PASS, count=2), Reason(ReasonKind.LOST, count=3, limit=1)]
MUST = "2 must-pass questions fail: recall@5 is at its worst there"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param("{{ report.gates[0].reasons[1] }}", LOST, id="one"),
        pytest.param(
            "{% for each in report.gates %}{{ each.reasons | join('; ') }}{% endfor %}", f"{MUST}; {LOST}", id="all"
        ),
        pytest.param("{{ report.gates[0]['reasons'][1] + '.' }}", f"{LOST}.", id="by a key, as text"),
        pytest.param("{{ (report.gates[0] | attr('reasons'))[1].upper() }}", LOST.upper(), id="by a filter"),
        pytest.param("{{ report.gates | map(attribute='reasons.1') | first | length }}", str(len(LOST)), id="by map"),
        pytest.param("{{ report.gates | selectattr('reasons') | list | length }}", "1", id="those that have any"),
    ],
)
def test_reasons_are_sentences_in_templates(templates: Templates, template: str, text: str) -> None:
    report = replace(REPORT, gates=[changed(RECALL, reasons=KINDS)])
    templates.path.write_text(template, encoding="utf-8")
    assert user_renderer(templates.path.as_posix())(report).strip() == text


def test_ours_is_a_template_that_a_user_can_begin_with() -> None:
    assert user_renderer(str(TEMPLATES / OURS))(REPORT).split() == render_markdown(REPORT).split()


def test_a_reason_that_only_warns_is_never_labelled_fail() -> None:
    gate = changed(RECALL, verdict=Verdict.FAIL, reasons=[reports.FELL, reports.ABSENT, ONE_SIDED], doubts=1)
    text = render_markdown(replace(REPORT, verdict=Verdict.FAIL, gates=[gate]))
    assert (
        "- FAIL: 3 questions are absent from the run and not counted in recall@5.\n"
        "- WARN: 2 questions have recall@5 in only one of the two runs.\n"
    ) in text


def test_the_tag_of_a_finding_stands_in_its_sentence() -> None:
    finding = Diagnosis(rule="one_tag", finding="all 6 are tagged {tag} (25% of all)", evidence={"tag": "@a|b"})
    text = render_markdown(with_keys(REPORT, diagnosis=[finding]))
    assert "**Look here first:** all 6 are tagged `@a|b` (25% of all).\n" in text


def test_what_is_odd_in_the_lists_is_named_as_code() -> None:
    odd = Oddities(
        never_returned=7,
        relevant=30,
        examples=["@x", "b", "c"],
        rising=1,
        lists=9,
        long_lists=4,
        rising_queries=["<q>"],
    )
    text = render_markdown(with_keys(REPORT, oddities=odd))
    assert "7 of 30 relevant ids are in no list of the run or of the baseline: `@x`, `b`, `c` and 4 more." in text
    assert (
        "In 1 of 4 lists of five or more results the scores rise from rank to rank, as distances do or a list in "
        "reverse order: `<q>`." in text
    )
