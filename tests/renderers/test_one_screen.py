"""A comment is one screen until somebody unfolds it, and its status stands within a telephone's width."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from playwright.sync_api import Browser, Page
from tests.gate_rows import changed
from tests.renderers.page import Page as Parsed
from tests.renderers.reports import ENGLISH, HOLDS, LATENCY, NOT_JUDGED, RECALL, REPORT
from tests.renderers.windows import window
from tests.report_keys import with_keys
from tests.rows import each_row

from rankgate.errors import Problem
from rankgate.gates.conclude import concluded, with_conclusion
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Diagnosis, Report
from rankgate.model.values import EvidenceState, Reason, ReasonKind, Ruling, Verdict
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers.markdown import render_markdown

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from make_comment_picture import as_github_shows_it

SCREEN = 700  # px, at GitHub's width for a comment
WIDE, NARROW = 860, 390
HOSTILE = (
    "@all </td></tr></table>\n|`x`| <img src=x> \u202e漢字漢字漢字漢字漢字漢字 [a](http://e.example) " + "long" * 60
)
LANGUAGES = ("zh", "th", "ar", "de", "en", "es", "fr", "hi", "ja", "ko", "pt-BR", "ru")
DROPPED = Reason(ReasonKind.REGRESSION, ruling=Ruling.VIOLATED, state=EvidenceState.INCONCLUSIVE)
FALLEN = changed(
    RECALL,
    reasons=[DROPPED, replace(DROPPED, kind=ReasonKind.THRESHOLD)],
    evidence_state=EvidenceState.INCONCLUSIVE,
    delta_ci=(-0.2, 0.05),
)
REST_OF_TWELVE = "3.0 allowed; 1 more language fails. 9 other languages hold, 1 is unproven."
KEPT = changed(HOLDS, metric="recall@5", reasons=[])


def segment(tag: str, delta: float, verdict: Verdict = Verdict.FAIL) -> GateResult:
    state = EvidenceState.INCONCLUSIVE if delta else EvidenceState.CLEAR
    base = FALLEN if verdict is not Verdict.PASS else changed(KEPT, evidence_state=state)
    return changed(base, segment=tag, delta=delta, paired_value=0.9 + delta, value=0.9 + delta, verdict=verdict)


def two_of_twelve(mark: str = "") -> list[GateResult]:
    """Twelve languages of which two are broken; one fell within noise."""
    deltas = dict(zip(LANGUAGES, (-0.84, -0.72, -0.08), strict=False))
    verdicts = {"zh": Verdict.FAIL, "th": Verdict.FAIL}
    return [segment(f"lang:{tag}{mark}", deltas.get(tag, 0.0), verdicts.get(tag, Verdict.PASS)) for tag in LANGUAGES]


def report_of(gates: list[GateResult]) -> Report:
    segments = [replace(ENGLISH, value=gate.segment or "") for gate in gates if gate.segment][:60]
    return concluded(with_keys(REPORT, gates=gates, segments=segments, diagnosis=[LOOK]))


def gates_named(count: int, label: str = "gate") -> list[str]:
    return [f"{label} {number}" for number in range(count)]


LOOK = Diagnosis(rule="one_tag", finding="all 12 questions that got worse are tagged {tag}", evidence={"tag": HOSTILE})
ADVISED = Reason(ReasonKind.LOST, count=7, limit=2)
REPORTS = {
    "one segment": report_of([KEPT, segment("lang:zh", -0.84)]),
    "two of twelve languages": report_of([KEPT, *two_of_twelve()]),
    "two of twelve languages, and the whole": report_of([FALLEN, *two_of_twelve()]),
    "sixty segments": report_of([FALLEN, *(segment(f"topic:{number}", -number / 100) for number in range(1, 61))]),
    "twelve gates": report_of([replace(FALLEN, name=name) for name in gates_named(12)]),
    "twelve gates by twelve languages": report_of(
        [
            replace(gate, name=name)
            for name in gates_named(12)
            for gate in (FALLEN, *(segment(f"lang:{tag}", -0.5) for tag in LANGUAGES))
        ]
    ),
    "all of it hostile": report_of(
        [
            changed(gate, name=f"{name} {HOSTILE}", reasons=[*gate.decision.reasons, ADVISED])
            for name in gates_named(12)
            for gate in (FALLEN, *two_of_twelve(HOSTILE))
        ]
    ),
    "hostile questions that must pass": report_of(
        [changed(FALLEN, name=name, queries=[f"{number}{HOSTILE}" for number in range(9)]) for name in gates_named(2)]
    ),
    "sixty reasons that are no gate's": with_keys(
        report_of([FALLEN]),
        warnings=[f"the file number {number} changed, and here is why " * 3 for number in range(60)],
    ),
    "twelve gates with reasons of their own": report_of(
        [changed(FALLEN, name=name, reasons=[*FALLEN.decision.reasons, ADVISED]) for name in gates_named(12)]
    ),
    "forty hostile problems": replace(NOT_JUDGED, problems=[Problem(HOSTILE * 9, HOSTILE, 3)] * 40),
    "all is well in sixty segments of twelve gates": report_of(
        [
            changed(KEPT, name=name, segment=part, too_small=part is not None, reasons=reasons)
            for name in gates_named(12)
            for part in (None, *(f"topic:{HOSTILE}{number}" for number in range(60)))
            for reasons in [[Reason(ReasonKind.TOO_SMALL, count=7, limit=30)] if part else []]
        ]
    ),
    "sixty gates hold": report_of([replace(KEPT, name=name, metric=f"recall@{name[5:]}") for name in gates_named(60)]),
    "a warning": report_of([replace(LATENCY, name=name) for name in gates_named(5)]),
}
SCENARIOS = sorted(Path(__file__).parents[1].glob("scenarios/*/expected/comment.md"))
CONCLUSIONS = sorted(Path(__file__).parents[1].glob("conclusions/*.md"))
JUDGED = sorted(Path(__file__).parents[1].glob("judged/*.md"))
WRITTEN = {path.parts[-3]: path for path in SCENARIOS} | {path.stem: path for path in (*JUDGED, *CONCLUSIONS)}
COMMENTS = [*WRITTEN, *REPORTS]
HOSTILE_ONES = {name for name in REPORTS if "hostile" in name}  # whose names are as long as anybody's
STATUSES = """[...document.querySelectorAll("article > table td:first-child")].map((cell) => {
  const box = cell.getBoundingClientRect();
  return [box.left, box.right, cell.innerText];
})"""


@pytest.fixture(scope="module")
def sheet(chromium: Browser, node_modules: Path) -> Page:
    """A page with GitHub's stylesheet, which comments are laid into."""
    css = (node_modules / "github-markdown-css" / "github-markdown-light.css").read_text(encoding="utf-8")
    own = "body { margin: 0 } .markdown-body { box-sizing: border-box; padding: 24px; font-size: 14px }"
    page = window(chromium)
    page.set_content(f"<!doctype html><meta charset='utf-8'><style>{css}{own}</style><article class='markdown-body'>")
    return page


@cache
def comment_of(name: str) -> str:
    return WRITTEN[name].read_text(encoding="utf-8") if name in WRITTEN else render_markdown(REPORTS[name])


def lay(sheet: Page, comment: str, width: int) -> float:
    """The height of the comment with every section closed."""
    sheet.set_viewport_size({"width": width, "height": 800})
    sheet.eval_on_selector("article", "(article, html) => { article.innerHTML = html }", as_github_shows_it(comment))
    return float(sheet.eval_on_selector("article", "article => article.getBoundingClientRect().height"))


@pytest.mark.parametrize("name", COMMENTS)
def test_a_comment_is_one_screen_until_it_is_unfolded(sheet: Page, name: str) -> None:
    assert 50 < lay(sheet, comment_of(name), WIDE) <= SCREEN


@pytest.mark.parametrize("name", COMMENTS)
def test_the_status_of_every_row_stands_within_a_narrow_screen(sheet: Page, name: str) -> None:
    lay(sheet, comment_of(name), NARROW)
    for left, right, text in sheet.evaluate(STATUSES):
        assert left >= 0
        assert right <= NARROW
        assert re.search(r"pass|unproven|warn|fail|waived|not judged", text)


@each_row("name", COMMENTS)
def test_before_the_first_fold_stand_at_most_120_words(name: str) -> None:
    screen = as_github_shows_it(comment_of(name).partition("<details>")[0])
    said = re.sub(r"<code>.*?</code>", "code", screen, flags=re.DOTALL) if name in HOSTILE_ONES else screen
    words = re.sub(r"<[^>]*>", " ", said).replace("\N{NO-BREAK SPACE}", "_")  # what that joins is read as one
    assert len(re.findall(r"\S*\w\S*", words)) <= 120


def first_screen(report: Report) -> str:
    return render_markdown(report).partition("<details>")[0]


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("one segment", "3.0 allowed."),
        ("two of twelve languages", REST_OF_TWELVE),
        ("two of twelve languages, and the whole", REST_OF_TWELVE),
        ("twelve gates", "3.0 allowed; 11 more gates fail."),
        ("twelve gates by twelve languages", "3.0 allowed; 11 more languages and 11 more gates fail."),
    ],
)
def test_the_sentence_counts_segments_as_parts_and_never_as_gates(name: str, counted: str) -> None:
    assert REPORTS[name].summary.endswith(counted)


REASONS = st.sampled_from(
    [
        *(DROPPED, replace(DROPPED, kind=ReasonKind.THRESHOLD), replace(DROPPED, state=EvidenceState.NO_INTERVAL)),
        *(ADVISED, Reason(ReasonKind.ABSENT, count=2), Reason(ReasonKind.MUST_PASS, count=1)),
        Reason(ReasonKind.NO_BASELINE),
    ]
)


@st.composite
def gates(draw: st.DrawFn) -> GateResult:
    verdict = draw(st.sampled_from([Verdict.FAIL, Verdict.WARN, Verdict.PASS]))
    return changed(
        FALLEN,
        name=(name := draw(st.sampled_from(["a", "b", "c", "d"]))),
        metric=f"metric-{name}",
        segment=draw(st.sampled_from([None, None, "lang:es", "lang:zh"])),
        delta=draw(st.sampled_from([-0.5, -0.1, 0.0, None])),
        verdict=verdict,
        reasons=draw(st.lists(REASONS, min_size=1, max_size=3, unique_by=lambda reason: reason.kind))
        if verdict is not Verdict.PASS
        else [],
        queries=draw(st.sampled_from([[], ["must-1"]])),
    )


@pytest.mark.full
@given(
    st.lists(gates(), min_size=1, max_size=12, unique_by=lambda gate: gate.row_key),
    st.lists(st.sampled_from(["ids are stale", "a change"]), max_size=4),
)
def test_no_bullet_says_what_the_sentence_says_and_nothing_that_failed_says_noise(
    found: list[GateResult], warnings: list[str]
) -> None:
    report = concluded(with_keys(REPORT, gates=found, warnings=warnings))
    text = render_markdown(report)
    page = Parsed(text)
    said = [re.sub(r"^(FAIL|WARN): ", "", item).rstrip(".") for item in page.items]
    for bullet in said[: said.index(next(each for each in said if each.startswith("Gold set")))]:
        # What it says for a part says nothing of the whole, which the bullet is about.
        of_the_whole = re.sub(rf"for (one part of the questions|[\w:-]+), {re.escape(bullet)}", "", report.summary)
        assert bullet not in of_the_whole or bullet in warnings[1:]
        assert not re.search(r"(dropped|fell|is) (from|[\d.]+%)", bullet), "numbers stand in rows"
    if report.verdict is Verdict.FAIL:
        assert not re.search("noise|chance", report.summary)
    for item in page.items:
        assert not (item.startswith(VERDICT_WORDS[Verdict.FAIL]) and re.search("noise|chance", item))


@pytest.mark.full
def test_what_fails_by_an_estimate_gives_its_interval_and_no_excuse() -> None:
    report = with_conclusion(replace(REPORT, gates=[FALLEN]))
    assert "chance" not in report.summary
    warns = with_conclusion(replace(REPORT, verdict=Verdict.WARN, gates=[changed(FALLEN, verdict=Verdict.WARN)]))
    assert warns.summary.endswith("90.0% → 80.0%, 3.0 allowed.")
    assert "−10.0&nbsp;pp (−20.0&nbsp;to&nbsp;+5.0)" in first_screen(report)
