"""The page as HTML: its order, what it says from `report.json` alone, and that text of the inputs stays text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.pages.exhibits import details_of, question_of, value_of
from tests.renderers.reports import MOVE, REPORT
from tests.report_keys import with_keys
from tests.scenario_calls import make_page, report_of

from rankgate.cli import main
from rankgate.errors import Problem
from rankgate.model.base_ref import BaseSide, GateChange, KeyChange
from rankgate.model.details import Cause, Listed, PanelRow, ReportDetails
from rankgate.model.gate_result import Waived, WaiverUse
from rankgate.model.report import Diagnosis, Movement, Provenance, Report, Source, TrendPoint
from rankgate.model.values import Unit, Verdict
from rankgate.renderers.base_changes import STATES, ceiling_text
from rankgate.renderers.escape import one_line
from rankgate.renderers.pages.charts import trend_of
from rankgate.renderers.pages.report import LIMITS, bin_of, render_report, share_text, spread_of


class Read(HTMLParser):
    """What a page holds: its tags with their attributes, its headings, and its text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[str] = []
        self.text = ""
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("style", "script"):
            self._open = tag
        elif re.fullmatch("h[1-6]", tag):
            self._open = tag
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = "" if tag == self._open else self._open

    def handle_data(self, data: str) -> None:
        if self._open in ("style", "script"):
            return
        self.text += data
        if self._open:
            self.headings[-1] += data

    @property
    def words(self) -> str:
        """The text on one line."""
        return " ".join(self.text.split())


def base_of(count: int) -> BaseSide:
    """A base of which the pull request removed so many gates."""
    gates = [GateChange(name=f"g{number}", change="removed", keys=[]) for number in range(count)]
    return BaseSide(ref="main", sha="a" * 40, head_verdict=Verdict.PASS, gates=gates)


def test_sections_stand_in_the_order_in_which_they_are_needed(tmp_path: Path) -> None:
    page = make_page("one_language", tmp_path).read_text(encoding="utf-8")
    assert [" ".join(heading.split()) for heading in Read(page).headings[1:]] == [
        *("Questions", "By segment", "By cause", "Gates"),
        *("Retrieval by segment", "How many results are worth it", "By segment"),
        *("Distribution behind the mean", "What was compared, and how to repeat it"),
    ]


def test_where_no_question_got_worse_the_gates_stand_before_the_questions(tmp_path: Path) -> None:
    page = make_page("pass", tmp_path).read_text(encoding="utf-8")
    headings = [" ".join(heading.split()) for heading in Read(page).headings]
    assert headings.index("Gates") < headings.index("Questions")


def test_a_page_from_report_json_alone_says_who_shows_the_rest(tmp_path: Path) -> None:
    """Without rankings there is nothing to draw, so not even the extra is needed."""
    source = tmp_path / "report.json"
    source.write_bytes(report_of("fail"))
    written = tmp_path / "report.html"
    assert main(["check", "--from", str(source), "-o", str(written)]) == 1
    read = Read(written.read_text(encoding="utf-8"))
    assert "are shown by rankgate check -o report.html" in read.words
    assert "2 questions got worse, 0 got better. The worst:" in read.words
    assert "sin-azucar rank 1 → gone" in read.words
    assert "How many results are worth it" not in read.words


def test_what_took_the_place_of_a_lost_document_and_what_experts_ask_are_said() -> None:
    move = replace(MOVE, instead=["doc-7", "doc-\u202e8"])
    read = Read(render_report(with_keys(REPORT, misses=[move], notes=["40 questions see a drop of 9 points."])))
    assert "In the first 5 instead: doc-7, doc-\\u202e8" in read.words
    assert "40 questions see a drop of 9 points." in read.words


def test_what_is_not_there_makes_no_section() -> None:
    bare = Report(verdict=Verdict.NOT_JUDGED, summary="No.", provenance=Provenance(rankgate="0", date="2026-01-31"))
    assert [" ".join(heading.split()) for heading in Read(render_report(bare)).headings] == [
        *("? NOT JUDGED", "What was compared")
    ]


def test_problems_are_listed_and_counted_beyond_a_number() -> None:
    problems = [Problem(f"problem {number}") for number in range(203)]
    read = Read(render_report(replace(REPORT, verdict=Verdict.NOT_JUDGED, problems=problems)))
    assert "problem 199" in read.words
    assert "problem 200" not in read.words
    assert "and 3 more in report.json" in read.words


def test_trend_has_a_line_a_gated_metric_and_marks_what_was_accepted() -> None:
    points = [
        TrendPoint(
            date="2026-01-01",
            commit="1234567890abcdef",
            verdict=Verdict.PASS,
            accepted=True,
            scores={"recall@5": 0.9, "other": 1.0},
        ),
        TrendPoint(date="2026-01-02", scores={"recall@5": None}),
        TrendPoint(date="2026-01-03", verdict=Verdict.WARN, scores={"recall@5": 0.85}),
    ]
    found = trend_of(with_keys(REPORT, trend=points))
    assert found is not None
    assert ([figure.name for figure in found[0]], found[1]) == (["recall@5"], 0)
    chart = found[0][0]
    assert chart.description == "2 recorded runs, from 90.0% to 85.0%; this run 80.0%. The limit is 85.0%."
    marks = [(mark.x, mark.y, mark.shape) for mark in chart.panes[0].marks]
    assert marks == [(0, 0.9, "diamond"), (2, 0.85, "circle"), (3, 0.8, "square")]
    page = render_report(with_keys(REPORT, trend=points))
    assert re.findall('<tr>(<th scope="row">2026.*)</tr>', page) == [
        f'<th scope="row">{day}</th><td data-label="Commit"><code>{commit}</code></td>'
        f'<td data-label="Verdict">{verdict}</td><td data-label="Baseline">{noted}</td>'
        f'<td data-label="recall@5" class="number">{value}</td>'
        for day, commit, verdict, noted, value in (
            ("2026-01-01", "1234567", "PASS", "accepted", "90.0%"),
            ("2026-01-02", "", "–", "", "–"),
            ("2026-01-03", "", "WARN", "", "85.0%"),
        )
    ]
    assert "accepted as baseline" in Read(page).words


def test_without_a_history_there_is_no_trend() -> None:
    assert trend_of(REPORT) is None
    assert trend_of(with_keys(REPORT, trend=[TrendPoint(date="2026-01-01", scores={"unknown": 1.0})])) is None


@pytest.mark.parametrize("state", sorted(STATES))
def test_a_waiver_says_what_it_does(state: str) -> None:
    waiver = WaiverUse(
        gate="retrieval_recall_at_5",
        segment="lang:es",
        up_to=0.05,
        expires="2026-12-31",
        issue="https://example.org/12",
        reason="the new\nchunker",
        by="ana",
        line=3,
        state=state,  # type: ignore[arg-type]
    )
    read = Read(render_report(replace(REPORT, waivers=[waiver])))
    assert STATES[waiver.state] in read.words
    assert "5.0 pp" in read.words
    assert "the new chunker" in read.words
    assert "a" not in {tag for tag, attributes in read.tags if "example.org" in str(attributes)}


@pytest.mark.parametrize(
    ("up_to", "unit", "said"),
    [
        (0.05, Unit.SHARE, "5.0 pp"),
        (0.0004, Unit.SHARE, "0.04 pp"),
        (0.0002, Unit.SCORE, "0.0002"),
        (0.0, Unit.SHARE, "0.0 pp"),
    ],
)
def test_a_ceiling_reads_as_it_was_given_on_report_and_dashboard(up_to: float, unit: Unit, said: str) -> None:
    assert ceiling_text(up_to, unit) == said


def test_what_the_pull_request_weakened_is_said_in_words() -> None:
    change = GateChange(
        name="recall", change="changed", keys=[KeyChange(key="threshold", before=0.9, after=0.8, weakens=True)]
    )
    base = BaseSide(ref="main", sha="a" * 40, head_verdict=Verdict.PASS, gates=[change])
    read = Read(render_report(replace(REPORT, base=base)))
    assert "! weaker The pull request lowers the threshold of gate recall from 0.9 to 0.8." in read.words
    unchanged = Read(render_report(replace(REPORT, base=replace(base, gates=[]))))
    assert "The pull request changes nothing of criteria and gold set." in unchanged.words


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"base": base_of(LIMITS.changes + 3)}, "and 3 more changes", id="changes"),
        pytest.param({"base": base_of(LIMITS.changes)}, None, id="all changes are listed"),
    ],
)
def test_what_a_page_has_no_room_for_is_counted(change: dict[str, object], said: str | None) -> None:
    words = Read(render_report(with_keys(REPORT, **change))).words
    assert (said in words) if said else not re.search(r"more (?:gate|change)", words)


@pytest.mark.parametrize(
    ("details", "said"),
    [
        pytest.param(
            details_of(question_of("a", Cause.FINE)),
            "are in the first 5 results, as they were in the baseline, and recall@5 changed for none.",
            id="nothing changed",
        ),
        pytest.param(
            replace(details_of(question_of("a", Cause.FINE)), leading=None),
            "are in the first 5 results, as they were in the baseline.",
            id="no metric of ranked documents",
        ),
        pytest.param(
            details_of(question_of("a", Cause.FINE, None)), "are in the first 5 results.", id="nothing to compare with"
        ),
    ],
)
def test_where_no_question_needs_a_look_the_page_says_what_is_known(details: ReportDetails, said: str) -> None:
    words = Read(render_report(with_keys(REPORT, details=details))).words
    assert said in words
    assert "All relevant documents of every question" in words


def test_without_questions_there_is_no_list() -> None:
    words = Read(render_report(with_keys(REPORT, details=details_of()))).words
    assert "Every question" not in words
    assert "Questions that moved" not in words


LIVE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title></style>", "{{ 7 }}", "&amp;"]
TEXT = st.one_of(st.text(min_size=1), st.sampled_from(LIVE))
OURS = set(
    re.findall(
        r"\w+",
        "html head meta title style body a header h1 h2 h3 span p nav ul ol li main section code table caption thead "
        "tbody tr th td strong bdi div dl dt dd pre button script svg line circle wbr",
    )
)


@pytest.mark.full
@given(TEXT, TEXT)
def test_text_of_the_inputs_is_text_wherever_it_stands(one: str, other: str) -> None:
    move: Movement = replace(MOVE, query_id=one, question=other)
    report = with_keys(
        REPORT,
        summary=one,
        problems=[Problem(other)],
        warnings=[one],
        notes=[other],
        diagnosis=[Diagnosis(rule="tag", finding="one part", evidence={"tag": one})],
        gates=[changed(gate, segment=other, queries=[one]) for gate in REPORT.gates],
        misses=[move],
        provenance=replace(
            REPORT.provenance,
            run=Source(path=one, format="jsonl", about={other: one}),
            command=["rankgate", "check", one],
        ),
    )
    page = render_report(report)
    read = Read(page)
    assert {tag for tag, _ in read.tags} <= OURS
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on") or name == "style"]
    assert " ".join(one_line(one).split()) in read.words or len(one) > 80
    assert page.count("<script") == 1


def test_nothing_that_the_inputs_hide_is_hidden_on_the_page_or_endless() -> None:
    hidden = "a\u202eb\u2066c" * 300
    waived = Waived(by=hidden, reason=hidden, issue=hidden)
    gate = changed(REPORT.gates[0], meaning=hidden, segment=hidden, queries=[hidden] * 12, waived=waived)
    waiver = WaiverUse(
        gate=hidden,
        segment=hidden,
        up_to=0,
        expires=hidden,
        issue=hidden,
        reason=hidden,
        by=hidden,
        line=1,
        state="unused",
    )
    documents = [replace(MOVE.documents[0], id=hidden)]
    source = Source(path=hidden, format="jsonl", about={hidden: hidden})
    report = with_keys(
        REPORT,
        gates=[gate, replace(gate, segment=None), replace(gate, segment=None, name=hidden)],
        waivers=[waiver],
        misses=[replace(MOVE, query_id=hidden, question=hidden, instead=[hidden], documents=documents)],
        provenance=replace(REPORT.provenance, run=source, command=["rankgate", hidden]),
        trend=[TrendPoint(date=hidden, commit=hidden, scores={"recall@5": 0.9})],
    )
    question = question_of(hidden, Cause.GONE, 1.0, 0.0, tags=(hidden,))
    question = replace(question, question=hidden, expected=tuple(documents), now=(Listed(id=hidden, gain=None),))
    panel = tuple(PanelRow(tag=hidden, queries=1, values={"recall@5": value_of(-0.1)}) for _ in range(2))
    for shown in (report, with_keys(report, details=details_of(question, panel=panel))):
        page = render_report(shown)
        assert not re.search("[\u202e\u2066]", page)
        assert "a\\u202eb\\u2066c" in page
        commands = '<code class="line">.*?</code>|data-copy=".*?"|"explain":".*?"'
        assert max(map(len, re.findall(r"[abc\\u0269e]{20,}", re.sub(commands, "", page)))) <= 400


@pytest.mark.parametrize(
    ("count", "of", "expected"),
    [(0, 8, "0%"), (1, 8, "12%"), (8, 8, "100%"), (1, 5000, "<1%"), (4999, 5000, ">99%"), (50, 5000, "1%")],
)
def test_a_share_never_reads_as_none_or_all_when_it_is_neither(count: int, of: int, expected: str) -> None:
    assert share_text(count, of) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, 0), (0.01, 1), (0.1, 1), (0.3, 3), (1 / 3, 4), (0.5, 5), (0.7, 7), (0.95, 10), (1.0, 11)],
)
def test_nothing_and_all_have_bins_of_their_own(value: float, expected: int) -> None:
    assert bin_of(value) == expected


def test_the_distribution_says_what_the_mean_hides() -> None:
    found = spread_of("recall@5", [(0.5, float(n % 2)) for n in range(4)])
    assert found is not None
    assert found.sentences == (
        "Now the mean is 50.0%: all relevant documents are found for 2 questions (50%), none for 2 (50%), some for 0.",
        (
            "In the baseline the mean is 50.0%: all relevant documents are found for 0 questions (0%), "
            "none for 0 (0%), some for 4."
        ),
    )


def test_the_distribution_never_says_all_or_none_where_it_is_neither() -> None:
    found = spread_of("recall@5", [(None, float(n > 0)) for n in range(1000)])
    assert found is not None
    assert "found for 999 questions (>99%), none for 1 (<1%)" in found.sentences[0]
