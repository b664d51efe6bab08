"""The table of gates: the rows of the view, what failed before all else, and what has no room counted."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import HOLDS, LATENCY, RECALL, REPORT

from rankgate.gates.conclude import concluded
from rankgate.model.gate_result import GateResult, Waived
from rankgate.model.values import Verdict
from rankgate.renderers.pages.report import LIMITS, OPEN_ROWS, render_report


def page(*gates: GateResult) -> str:
    return render_report(concluded(replace(REPORT, gates=list(gates))))


def rows(html: str, caption: str = "Gates") -> list[str]:
    """The rows of a table of gates, as text."""
    table = html.partition(f'<caption class="unseen">{caption}</caption>')[2].partition("</table>")[0]
    return [
        " ".join(re.sub(r"<[^>]+>", " ", re.sub("</?(?:code|bdi)>", "", row)).split())
        for row in table.split("<tr>")[2:]
    ]


def test_a_row_says_what_the_comment_says() -> None:
    (row,) = rows(page(RECALL))
    assert row == (
        "recall@5 share of the relevant documents found in the first 5 results ✕ fail 90.0% → 80.0% "
        "(75.0 to 85.0%) −10.0 pp (−12.0 to −8.0) ≥ 85.0%, −3.0 pp"
    )
    assert "Change (95% interval)" in page(RECALL)


def test_what_failed_stands_first_and_what_holds_in_a_segment_has_no_row() -> None:
    part = changed(RECALL, segment="lang:\u2066es", violation=0.2)
    names = [row.split(" share")[0] for row in rows(page(HOLDS, LATENCY, part, replace(HOLDS, segment="lang:en")))]
    assert [name.split(" milli")[0] for name in names] == [
        "recall@5 · lang:\\u2066es · 40 questions",
        "latency",
        "hit@5",
    ]


def test_questions_of_a_hard_check_and_who_waived_it_are_named_within_bounds() -> None:
    waived = Waived(by="ana", reason="new\nindex", issue="https://example.org/1", expires="2026-12-31", up_to=0.1)
    html = page(changed(RECALL, queries=[f"q{n}" for n in range(12)], waived=waived))
    assert "and 9 more must pass and do not" in rows(html)[0]
    assert "</span> waived</span>" in html
    assert "<bdi>new index</bdi>" in html


@pytest.mark.parametrize("more", [0, 3])
def test_gates_without_a_row_are_counted_and_of_the_others_the_worst_stand_open(more: int) -> None:
    parts = [
        changed(RECALL, segment=f"lang:{number:03}", violation=number / 1000) for number in range(LIMITS.numbers + more)
    ]
    html = page(*parts)
    opened, folded = rows(html), rows(html, "More gates")
    assert (len(opened), len(folded)) == (OPEN_ROWS, LIMITS.numbers - OPEN_ROWS)
    assert opened[0].startswith(f"recall@5 · lang:{LIMITS.numbers + more - 1:03}")
    assert f"<summary>{LIMITS.numbers - OPEN_ROWS} more rows, none of them worse</summary>" in html
    assert (f"{more} more parts fail" in html) is bool(more)
    assert all(row.verdict is Verdict.FAIL for row in parts)
