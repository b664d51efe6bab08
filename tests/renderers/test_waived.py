"""A waived violation shows as such, with who, why and where it is tracked; all three are somebody's text."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import FELL, RECALL, REPORT
from tests.report_keys import with_keys

from rankgate.model.gate_result import Waived
from rankgate.model.report import Report
from rankgate.model.values import Reason, ReasonKind, Verdict
from rankgate.renderers.blocks import plain_text
from rankgate.renderers.github import conclusion_of, render_github
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.terminal import render_terminal, terminal_blocks

HOSTILE = "@octocat `x` | <img src=x> [link](https://evil.example)\n::error::x ##[x]"


def report(waived: Waived, reason: Reason = FELL) -> Report:
    gate = changed(
        RECALL,
        verdict=Verdict.WARN,
        segment=None,
        queries=[],
        waived=waived,
        reasons=[reason],
    )
    return with_keys(REPORT, verdict=Verdict.WARN, gates=[gate], problems=[], failures=[], warnings=[])


WAIVED = Waived(by="alice", reason="the parser", issue="https://example.org/1", expires="2026-12-31", up_to=0.05)


def test_the_comment_says_who_waived_why_and_where_although_there_is_but_one_reason() -> None:
    text = render_markdown(report(WAIVED))
    assert "⚠️ waived |" in text
    assert "waived until 2026-12-31 |" in text
    said = "- WARN: recall@5 is waived until 2026-12-31"
    assert f"{said} (`alice`, `the parser`, `https://example.org/1`)." in text.splitlines()


def test_what_the_numbers_do_not_show_stands_behind_the_waiver_once() -> None:
    lost = Reason(ReasonKind.LOST, count=3, limit=1)
    rows = [line for line in render_markdown(report(WAIVED, lost)).splitlines() if "⚠️ waived |" in line]
    assert rows
    for row in rows:
        assert row.count("waived until 2026-12-31") == 1
        assert "waived until 2026-12-31: 3 questions were lost in recall@5; at most 1 allowed |" in row


def test_the_terminal_says_the_same() -> None:
    assert "\n  recall@5: waived until 2026-12-31\n" in render_terminal(report(WAIVED))
    text = plain_text(terminal_blocks(report(WAIVED), everything=True))
    assert (
        "Warning: recall@5 is waived until 2026-12-31 (alice, the parser, https://example.org/1)." in text.splitlines()
    )


def test_the_check_succeeds_and_the_log_warns() -> None:
    assert conclusion_of(report(WAIVED)) == "success"
    assert "::warning " in render_github(report(WAIVED))


@pytest.mark.parametrize("field", ["by", "reason", "issue"])
def test_hostile_text_stays_code(field: str) -> None:
    made = report(replace(WAIVED, **{field: HOSTILE}))
    [line] = [line for line in render_markdown(made).splitlines() if line.startswith("- WARN: recall@5 is waived")]
    assert "``@octocat `x` | <img src=x> [link](https://evil.example) ::error::x ##[x]``" in line
    [line] = [line for line in plain_text(terminal_blocks(made, everything=True)).splitlines() if "@octocat" in line]
    assert "##[" not in line
