"""The pull-request comment: its structure as GitHub's parser sees it, its caps, hostile text, and users' templates."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.renderers.page import Page
from tests.renderers.reports import ENGLISH, HOLDS, IN_SEGMENT, LATENCY, MOVE, NOT_JUDGED, RECALL, REPORT, texts

from rankgate.errors import Problem, RankgateError
from rankgate.gates.conclude import with_conclusion
from rankgate.model.details import Expected
from rankgate.model.report import Diagnosis, Moved, Oddities, Report, Segment, Source
from rankgate.model.values import Reason, ReasonKind, Verdict
from rankgate.renderers.environment import environment
from rankgate.renderers.markdown import OURS, render_markdown, user_renderer

ROOT = Path(__file__).parents[2]


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
            replace(REPORT, verdict=Verdict.WARN, gates=[HOLDS], warnings=["ids are stale"]),
            "**⚠️ WARN. May be merged, with a warning: ids are stale.**",
            id="warn",
        ),
        pytest.param(
            replace(REPORT, gates=[HOLDS], failures=["ids are stale"]),
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


def test_what_decided_is_a_row_above_the_folds_and_every_gate_is_one_within() -> None:
    found = page(replace(REPORT, gates=[RECALL, LATENCY, HOLDS], segments=[], misses=[]))
    assert [tag for tag, _ in found.tags if tag in {"table", "details"}] == ["table", "details", "table", "details"]
    assert "All numbers: 1 gate fails, 1 gate warns" in found.plain, "results of one gate are one gate"
    head = ["Status", "Metric", "Change", "Limit"]
    recall = [
        "❌\xa0fail",
        "recall@5: share of the relevant documents found in the first 5 results",
        "90.0% → 80.0% 95%:\xa075.0\xa0to\xa085.0%−10.0\xa0pp 95%:\xa0−12.0\xa0to\xa0−8.0\xa0pp",
        "at least 85.0%, drop at most\xa03.0\xa0pp",
    ]
    latency = [
        "⚠️\xa0warn",
        "latency: milliseconds that a question takes on average",
        "35.0 ms 95%:\xa00.8\xa0to\xa00.8\xa0ms",
        "at most\xa050.0\xa0ms, rise at most\xa05.0\xa0ms",
    ]
    holds = [
        "✅\xa0pass",
        "hit@5: share of the relevant documents found in the first 5 results",
        "90.0% → 90.0% 95%:\xa075.0\xa0to\xa085.0%±0.0\xa0pp",
        "at least 85.0%, drop at most\xa03.0\xa0pp",
    ]
    assert found.rows == [head, recall, head, recall, latency, holds]


def test_reasons_stand_below_the_table_where_the_first_line_cannot_hold_them_all() -> None:
    found = page(replace(REPORT, gates=[RECALL, LATENCY], segments=[], misses=[]))
    assert found.items[:2] == [
        "FAIL: recall@5 is 80.0%, below the floor of 85.0%.",
        "WARN: no baseline: whether latency got worse could not be checked.",
    ], "the first line says the first reason"


def test_what_to_look_at_first_is_one_line_with_the_tag_as_code() -> None:
    finding = Diagnosis(rule="one_tag", finding="all 6 that lost share a tag", evidence={"tag": "@all|`x`"})
    other = Diagnosis(rule="index_or_chunking", finding="the index", evidence={"recall@50": 0.5})
    text = render_markdown(replace(REPORT, diagnosis=[finding, other]))
    assert text.splitlines()[2] == "**Look here first:** all 6 that lost share a tag: `` @all|`x` ``."
    assert "the index" not in text, "the rest is in report.json"
    assert "Look here first" not in render_markdown(REPORT)


def test_a_warning_that_no_gate_has_stands_among_the_reasons() -> None:
    assert "- WARN: ids are stale.\n" in render_markdown(replace(REPORT, warnings=["ids are stale"]))


def test_a_single_reason_is_said_once_in_the_first_line() -> None:
    report = replace(REPORT, gates=[replace(RECALL, reasons=texts("recall@5 dropped")), HOLDS])
    assert render_markdown(report).count("recall@5 dropped") == 1


def test_it_says_on_how_many_questions_it_stands_and_every_note() -> None:
    report = replace(REPORT, notes=["A note.", "Another one."])
    lines = render_markdown(report).splitlines()
    assert "40 of 42 questions scored; 2 without a relevant document in the gold set left out." in lines
    assert "A note. Another one." in lines


def test_details_are_closed_and_rendered_as_markdown_inside() -> None:
    found = page(REPORT)
    assert [attributes for tag, attributes in found.tags if tag == "details"] == [(), (), ()]
    assert found.count("summary") == 3
    assert found.count("table") == 3
    assert found.count("pre") == 1
    assert "|" not in found.plain
    assert "**" not in found.plain


def test_a_question_that_lost_documents_is_shown_with_where_they_went() -> None:
    found = page(REPORT)
    assert "1 question got worse, 0 got better" in found.plain
    assert "how do I get a refund? (q-1): recall@5 100.0% → 0.0%" in "".join(found.items)
    assert "expected doc-3: rank 2 → gone" in found.items
    assert "Gone: a relevant document that the baseline had in the first 5 is nowhere in the list now" in found.plain
    assert "Better" not in found.plain


def test_a_question_without_words_is_shown_by_its_id() -> None:
    report = replace(REPORT, misses=[replace(MOVE, question=None)])
    assert "- `q-1`: recall@5 100.0% → 0.0%\n" in render_markdown(report)


def test_segments_are_a_table_with_one_column_a_metric() -> None:
    bare = Segment(dimension="tag", value="urgent", queries=3, metrics={"recall@5": replace(IN_SEGMENT, delta=0.0)})
    empty = Segment(
        dimension="tag", value="new", queries=1, metrics={"recall@5": replace(IN_SEGMENT, value=None, delta=None)}
    )
    found = page(replace(REPORT, gates=[], segments=[ENGLISH, bare, empty]))
    assert found.rows == [
        ["Tag", "Questions", "recall@5"],
        ["lang:en", "20", "70.0% (−20.0 pp)"],
        ["urgent", "3", "70.0%"],
        ["new", "1", "–"],
    ]


def test_what_was_compared_names_sources_with_what_they_say_of_themselves() -> None:
    found = page(replace(REPORT, gates=[], misses=[], segments=[]))
    assert found.items == [
        "Gold set: gold.yaml",
        "Run: run.jsonl, system=hybrid_v3, k_raw=50",
        "Baseline: baseline, accepted=2026-01-01",
        "Criteria: ship-criteria.yaml, judged on 2026-01-31 by rankgate 0.1.0",
    ]
    assert found.code[-1] == "rankgate check --run run.jsonl\n"


def test_without_a_baseline_there_is_none_to_name_and_nothing_moved() -> None:
    provenance = replace(REPORT.provenance, baseline=None)
    note = "There is no baseline yet: floors were judged, drops were not."
    found = page(
        replace(REPORT, gates=[LATENCY], misses=[], moved=None, segments=[], notes=[note], provenance=provenance)
    )
    assert note in found.plain
    assert "moved" not in found.plain
    assert [item for item in found.items if item.startswith("Baseline")] == []


def test_a_check_that_could_not_judge_says_so_and_what_to_mend() -> None:
    found = page(NOT_JUDGED)
    assert "No verdict could be reached, so this does not count as passed." in found.plain
    assert found.items[0] == "run.jsonl:3: broken JSON"
    assert found.count("table") == 0
    assert found.count("details") == 1


def many_worse(count: int) -> Report:
    lower = [Expected(id="doc-3", gain=1.0, before=2, after=9)]
    falls: list[dict[str, Any]] = [{"no_result": True}, {}, {"documents": lower}]
    moves = [replace(MOVE, query_id=f"worse-{number}", **falls[number * 3 // count]) for number in range(count)]
    return replace(REPORT, misses=moves[:50], moved=Moved(worse=count, better=0))


def many_better(count: int) -> Report:
    moves = [replace(MOVE, query_id=f"better-{number}", worse=False) for number in range(count)]
    return replace(REPORT, misses=moves, moved=Moved(worse=0, better=count))


def many_tags(count: int) -> Report:
    return replace(REPORT, segments=[replace(ENGLISH, value=f"tag-{number}") for number in range(count)])


def test_gates_that_share_a_metric_are_told_apart_by_name() -> None:
    other = replace(RECALL, name="the | hard ones")
    found = page(replace(REPORT, gates=[RECALL, other, LATENCY], segments=[], misses=[]))
    assert {"retrieval_recall_at_5", "the | hard ones"} <= set(found.code)
    assert "fast enough" not in found.code
    assert len(found.rows) == 7, "two heads, two gates that decided, three gates"
    assert {len(row) for row in found.rows} == {4}


def many_problems(count: int) -> Report:
    return replace(NOT_JUDGED, problems=[Problem(f"problem-{number}") for number in range(count)])


def many_documents(count: int) -> Report:
    documents = [replace(MOVE.documents[0], id=f"document-{number}") for number in range(count)]
    return replace(REPORT, misses=[replace(MOVE, documents=documents)])


@pytest.mark.parametrize(
    ("report", "listed", "count", "said"),
    [
        pytest.param(many_worse(10), r"worse-\d+", 10, "", id="10 worse questions"),
        pytest.param(many_worse(11), r"worse-\d+", 10, "10 of the 11 that got worse", id="11 worse questions"),
        pytest.param(many_better(3), r"better-\d+", 3, "", id="3 better questions"),
        pytest.param(many_better(6), r"better-\d+", 3, "3 of the 6 that got better", id="6 better questions"),
        pytest.param(many_tags(60), r"tag-\d+", 60, "", id="60 tags"),
        pytest.param(many_tags(61), r"tag-\d+", 60, "1 more tag is in", id="61 tags"),
        pytest.param(many_tags(62), r"tag-\d+", 60, "2 more tags are in", id="62 tags"),
        pytest.param(many_problems(20), r"problem-\d+", 20, "19 more problems below", id="20 problems"),
        pytest.param(many_problems(23), r"problem-\d+", 20, "and 3 more in", id="23 problems"),
        pytest.param(many_documents(6), r"document-\d+", 6, "", id="6 documents of a question"),
        pytest.param(many_documents(9), r"document-\d+", 6, "3 more", id="9 documents of a question"),
    ],
)
def test_a_long_list_is_cut_and_says_so(report: Report, listed: str, count: int, said: str) -> None:
    found = page(report)
    assert len({name for text in found.code for name in re.findall(listed, text)}) == count
    assert said in found.plain
    assert bool(said) == bool(re.search(r"\d of the \d+ that got|\d more", found.plain, re.IGNORECASE))


def test_it_does_not_claim_that_the_report_holds_all_moves_where_it_does_not() -> None:
    assert "All of them are in" in page(many_worse(50)).plain
    assert "All of them are in" not in page(many_worse(51)).plain


def test_a_run_that_says_much_of_itself_does_not_fill_the_comment() -> None:
    """GitHub takes 65,536 characters; the first line of a run may hold any number of keys."""
    talkative = Source(path="run.jsonl", format="jsonl", about={f"key-{n}": "value" * 20 for n in range(2_000)})
    report = replace(REPORT, provenance=replace(REPORT.provenance, run=talkative))
    assert len(render_markdown(report)) < 10_000
    assert re.search(r"\d+ more", page(report).plain)


MENTION = re.compile(r"(?:^|\W)@\w")


def test_a_metric_with_parameters_mentions_nobody() -> None:
    """GitHub reads `)@10` as a mention of the user called 10."""
    name = "ndcg(gain=exponential)@10"
    gate = replace(RECALL, metric=name, reasons=texts(f"{name} dropped", f"{name} is low"))
    segment = replace(ENGLISH, metrics={name: IN_SEGMENT})
    report = replace(
        REPORT,
        summary=f"Do not merge: {name} dropped",
        gates=[gate],
        metrics={name: REPORT.metrics["recall@5"]},
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
    source = Source(path=text, format="jsonl", about={text: text, "number": 7})
    return replace(
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
        *("p", "strong", "br", "sub", "ul", "li", "code", "pre", "details", "summary"),
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
        pytest.param("{{ 'a|b' | cell }}", "`a\\|b`", id="cell"),
        pytest.param("{{ 'a\\nb' | visible }}", "a b", id="visible"),
        pytest.param("{{ 'a long word' | shorten(5) }}", "a lo…", id="shorten"),
        pytest.param("{{ '3.0 pp' | unbroken }}", "3.0&nbsp;pp", id="unbroken"),
        pytest.param("{{ icon(report.verdict) }} {{ word(report.verdict) }}", "❌ FAIL", id="icon and word"),
        pytest.param("{{ gate_now(report.gates[0]) }}", "80.0%", id="gate_now"),
        pytest.param("{{ amount(0.5, report.gates[0].unit) }}", "50.0%", id="amount"),
        pytest.param("{{ change(0.5, report.gates[0].unit) }}", "+50.0 pp", id="change"),
        pytest.param("{{ count(1400, 'question') }}", "1,400 questions", id="count"),
        pytest.param("{{ segment_tag(report.segments[0]) }}", "lang:en", id="segment_tag"),
        pytest.param(
            "{{ command_block(report.provenance.command) }}",
            "```sh\nrankgate check --run run.jsonl\n```",
            id="command_block",
        ),
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
    cells = re.findall(r"^\|([^|]+)\|", (ROOT / "docs" / "templates.md").read_text(encoding="utf-8"), re.MULTILINE)
    documented = {name for written in cells for name in re.findall(r"`(\w+)[^`]*`", written)}
    assert documented == (ours.filters.keys() - plain.filters.keys()) | (ours.globals.keys() - plain.globals.keys())


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
        pytest.param("\n{{ gate_now(1) }}", 2, "", id="a number for a gate"),
        pytest.param("\n{{ amount(0.5, 'share') }}", 2, "", id="text for a unit"),
        pytest.param("{{ rank_move(report) }}", 1, "", id="a report for a document"),
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
        pytest.param("{{ reasons(report, report.gates) | last }}", f"FAIL: {LOST}.", id="by our function"),
    ],
)
def test_reasons_are_sentences_in_templates(templates: Templates, template: str, text: str) -> None:
    """As they were before they had kinds, in new reports and in old ones."""
    kinds = replace(REPORT, gates=[replace(RECALL, reasons=KINDS)])
    old = replace(REPORT, gates=[replace(RECALL, reasons=texts(MUST, LOST))])
    templates.path.write_text(template, encoding="utf-8")
    assert [user_renderer(templates.path.as_posix())(each).strip() for each in (kinds, old)] == [text] * 2


def test_ours_is_a_template_that_a_user_can_begin_with() -> None:
    assert user_renderer(OURS.as_posix())(REPORT).split() == render_markdown(REPORT).split()


def test_a_reason_that_only_warns_is_never_labelled_fail() -> None:
    gate = replace(RECALL, verdict=Verdict.FAIL, reasons=texts("fell", "is low", "may be noise"), doubts=1)
    text = render_markdown(replace(REPORT, verdict=Verdict.FAIL, gates=[gate]))
    assert "- FAIL: is low." in text
    assert "- WARN: may be noise." in text


def test_the_tag_of_a_finding_stands_in_its_sentence_and_that_of_an_old_report_behind_it() -> None:
    new = Diagnosis(rule="one_tag", finding="all 6 are tagged {tag} (25% of the gold set)", evidence={"tag": "@a|b"})
    old = replace(new, finding="one part of the questions")
    first = "**Look here first:** "
    assert f"{first}all 6 are tagged `@a|b` (25% of the gold set).\n" in render_markdown(
        replace(REPORT, diagnosis=[new])
    )
    assert f"{first}one part of the questions: `@a|b`.\n" in render_markdown(replace(REPORT, diagnosis=[old]))


def test_what_is_odd_in_the_lists_is_named_as_code() -> None:
    odd = Oddities(never_returned=7, relevant=30, examples=["@x", "b", "c"], rising=1, lists=9, rising_queries=["<q>"])
    text = render_markdown(replace(REPORT, oddities=odd))
    assert "7 of 30 relevant ids are in no list of the run or of the baseline: `@x`, `b`, `c` and 4 more." in text
    assert (
        "In 1 of 9 lists the scores rise from rank to rank, as distances do or a list in reverse order: `<q>`." in text
    )
