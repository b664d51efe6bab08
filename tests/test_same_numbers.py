"""One view, many readers: what a scenario's report says is read back from everything that shows it."""

from __future__ import annotations

import html
import json
import re
from xml.etree import ElementTree as ET

import msgspec
import pytest
from tests.rows import each_row
from tests.scenario_calls import CHECKS, report_of

from rankgate.api import Report as InPython
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report, with_texts
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers.badge import render_badge
from rankgate.renderers.blocks import plain_text
from rankgate.renderers.escape import plain
from rankgate.renderers.github import check_run_output, render_github
from rankgate.renderers.junit import render_junit
from rankgate.renderers.markdown import render_comment
from rankgate.renderers.pages.report import render_report
from rankgate.renderers.terminal import render_terminal, terminal_blocks
from rankgate.renderers.view import EVERYTHING, view_of


def report_named(name: str) -> Report:
    return decode_report(report_of(name), name)


def words_of(text: str) -> str:
    """Without markup, white space of any kind as one blank."""
    text = re.sub(r"</?(?:bdi|code|wbr|strong)>", "", text)  # within a line
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(text).replace("`", "").replace("\\|", "|").split())


def in_python(report: Report) -> InPython:
    spelled = with_texts(report)
    return InPython(**{name: getattr(spelled, name) for name in spelled.__struct_fields__})


def all_outputs(report: Report) -> dict[str, str]:
    """Every output with room for all rows."""
    suite = ET.fromstring(render_junit(report))  # noqa: S314 -- ours
    return {
        "comment": render_comment(report),
        "terminal": plain_text(terminal_blocks(report, everything=True)),
        "junit": " ".join("".join(case.itertext()) for case in suite.iter("testcase")),
        "check run": check_run_output(report).summary,
        "page": render_report(report),
        "notebook": in_python(report)._repr_html_(),
        "prompt": repr(in_python(report)),
    }


@pytest.mark.full
@each_row("name", CHECKS)
def test_the_numbers_of_every_row_are_the_same_everywhere(name: str) -> None:
    """Values before and now, the change, its interval, and the limit."""
    report = report_named(name)
    view = view_of(report)
    rows = [*view.numbers.first.rows, *view.numbers.all.rows]
    outputs = {output: words_of(text) for output, text in all_outputs(report).items()}
    for row in rows:
        if row.kind == "rest":
            continue
        change = "".join(part for part in row.change if isinstance(part, str))
        numbers = [*row.values.split(" → "), change, row.interval.split(" to ")[0], row.limit]
        for output, text in outputs.items():
            assert [number for number in numbers if number and number not in text] == [], output


@each_row("name", CHECKS)
def test_the_numbers_are_those_of_report_json(name: str) -> None:
    """Read back from the text and compared with the values: nothing is rounded into another number."""
    written = json.loads(report_of(name))
    gates = {(gate["metric"], gate["segment"]): gate for gate in written["gates"]}
    for row in view_of(report_named(name)).numbers.all.rows:
        gate = gates[row.metric, row.part.raw if row.part else None]
        values = [gate["value"]] if gate["delta"] is None else [gate["baseline"], gate["paired_value"]]
        factor = 100 if gate["unit"] == "share" else 1
        for text, value in zip(row.values.split(" → "), values, strict=True):
            assert (text == "–") == (value is None)
            if value is not None:
                assert float(re.sub(r"[%a-z ]", "", text.replace("−", "-"))) == pytest.approx(factor * value, abs=0.051)


@pytest.mark.full
@each_row("name", CHECKS)
def test_the_conclusion_is_the_same_everywhere(name: str) -> None:
    report = report_named(name)
    said = " ".join(report.summary.replace("`", "").split())
    outputs = {
        "comment": words_of(render_comment(report)),
        "terminal": words_of(render_terminal(report)),
        "annotations": words_of(render_github(report).replace("%25", "%").replace("%0A", " ")),
        "junit": words_of(html.unescape(render_junit(report))),
        "check run": words_of(check_run_output(report).summary),
        "page": words_of(render_report(report)),
        "notebook": words_of(in_python(report)._repr_html_()),
        "report.json": words_of(json.loads(report_of(name))["summary"]),
    }
    assert [output for output, text in outputs.items() if said not in text] == []
    assert outputs["comment"].split(". ")[0].endswith(VERDICT_WORDS[report.verdict])


@each_row("name", CHECKS)
def test_the_badge_and_the_annotations_show_the_numbers_of_the_rows(name: str) -> None:
    report = report_named(name)
    rows, message = view_of(report, EVERYTHING).numbers.all.rows, json.loads(render_badge(report))["message"]
    word, _, leading = message.partition(" · ")
    assert word == VERDICT_WORDS[report.verdict].lower()
    metric, _, value = leading.partition(" ")
    shown = {word for row in rows for word in f"{row.metric} {row.values} {' '.join(map(plain, row.notes))}".split()}
    assert not leading or {metric, *value.split()} <= shown
    lines = [line for line in render_github(report).splitlines() if not line.startswith("::notice")]
    levels = {Verdict.FAIL: "::error", Verdict.WARN: "::warning"}
    for verdict, level in levels.items():
        metrics = {row.metric for row in rows if row.verdict is verdict}
        assert len([line for line in lines if line.startswith(level)]) >= bool(metrics)
    annotated = msgspec.json.encode(check_run_output(report).annotations).decode()
    failing = [gate for gate in report.gates if gate.verdict is Verdict.FAIL and gate.line]
    assert annotated.count('"failure"') == len({gate.name for gate in failing})
