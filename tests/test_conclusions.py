"""What a reviewer reads first, of whole checks: the first screen of the comment is golden, and all outputs agree."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.json_lines import write_lines

from rankgate.cli import main

GOLDEN = Path(__file__).parent / "conclusions"
LANGUAGES = ("ar", "bn", "de", "en", "es", "fr", "hi", "id", "ja", "pt", "sw", "th")
DATE = "2026-01-31"
RECALL = "  - {name: recall@5, regression_max: 0.03}\n"
BY_LANGUAGE = (
    "  - {name: recall@5, regression_max: 0.05, segments: {by: lang, regression_max: 0.10, min_queries: 10}}\n"
)
MANY = "".join(f"  - {{name: recall@{k}, regression_max: 0.03}}\n" for k in range(5, 30))
WAIVED = """waivers:
  - {{gate: recall@5, up_to: {up_to}, expires: {expires}, issue: "https://github.com/acme/rag/issues/12", reason: a new
      index, by: alice}}
"""
FOUND, LOST, EMPTY = ["a", "x"], ["x", "y"], list[str]()


class Case(NamedTuple):
    """Gates, and what became of the lists of so many questions: a list in place of that of its row."""

    size: int
    gates: str
    before: Mapping[int, Sequence[str]] | None = {}
    now: Mapping[int, Sequence[str]] = {}
    code: int = 0
    kind: str = "pass"
    strength: str | None = None
    waivers: str = ""


def rows(language: str, count: int, size: int) -> list[int]:
    """The first questions in a language; languages go round."""
    return [row for row in range(size) if LANGUAGES[row % 12] == language][:count]


def every(step: int, size: int, start: int = 0) -> list[int]:
    return list(range(start, size, step))


def these(chosen: Sequence[int], ids: Sequence[str] = LOST) -> dict[int, Sequence[str]]:
    return dict.fromkeys(chosen, ids)


MISSED_BEFORE = these(every(13, 300, 5))
CASES = {
    "lost_language": Case(
        300, BY_LANGUAGE, these(rows("th", 1, 300)), these(rows("th", 11, 300)), code=1, kind="gate_fails"
    ),
    "lost_language_at_the_overall_limit": Case(
        300, BY_LANGUAGE, {}, these(rows("th", 15, 300)), code=1, kind="gate_fails"
    ),
    "lost_language_that_no_gate_names": Case(
        300, RECALL, these(rows("th", 1, 300)), these(rows("th", 10, 300)), kind="lost_part"
    ),
    "evenly_spread_loss": Case(300, BY_LANGUAGE, {}, these(every(20, 300)), strength="lost_and_allowed"),
    "unchanged_30": Case(30, RECALL, these([3, 8]), these([3, 9]), strength="not_excluded"),
    "unchanged_631": Case(631, RECALL, these(every(10, 631)), these([0, *every(10, 631)[2:], 5]), strength="ruled_out"),
    "unchanged_3000": Case(3000, RECALL, these(every(10, 3000)), these(every(10, 3000)), strength="unchanged"),
    "proven_loss_within_the_limit": Case(
        631, "  - {name: recall@5, regression_max: 0.05}\n", {}, these(every(31, 631)), strength="lost_and_allowed"
    ),
    "floor_missed_by_the_baseline_too": Case(
        300,
        "  - {name: recall@5, threshold: 0.99}\n",
        MISSED_BEFORE,
        these(every(13, 300, 6)),
        code=1,
        kind="gate_fails",
    ),
    "empty_run": Case(225, RECALL, {}, these(range(225), EMPTY), code=1, kind="empty"),
    "empty_baseline": Case(100, RECALL, these(range(100), EMPTY), {}, kind="warning"),
    "empty_in_one_language": Case(
        300, "  - {name: recall@5, threshold: 0.2}\n", None, these(rows("th", 23, 300), EMPTY), kind="empty_segment"
    ),
    "one_cause_in_25_gates": Case(300, MANY, {}, these(every(11, 300)), code=1, kind="gate_fails"),
    "expired_waiver": Case(
        300,
        RECALL,
        {},
        these(every(11, 300)),
        code=1,
        kind="gate_fails",
        waivers=WAIVED.format(expires="2026-01-01", up_to=0.2),
    ),
    "waiver_too_small": Case(
        300,
        RECALL,
        {},
        these(every(11, 300)),
        code=1,
        kind="gate_fails",
        waivers=WAIVED.format(expires="2026-06-30", up_to=0.05),
    ),
    "first_run": Case(300, "  - {name: recall@5, threshold: 0.03, regression_max: 0.03}\n", None, kind="no_baseline"),
}


def write_inputs(case: Case) -> None:
    names = [f"q-{LANGUAGES[row % 12]}-{row:04}" for row in range(case.size)]
    gold = [
        {"id": name, "expected_output": ["a"], "metadata": {"tags": [f"lang:{name.split('-')[1]}"]}} for name in names
    ]
    write_lines("gold.jsonl", gold)
    inputs = "gold: gold.jsonl, run: run.jsonl"
    lists = [case.now] if case.before is None else [case.now, case.before]
    for path, changed in zip(("run.jsonl", "baseline.jsonl"), lists, strict=False):
        lines = [{"query_id": name, "retrieved": changed.get(row, FOUND)} for row, name in enumerate(names)]
        write_lines(path, lines)
    if case.before is not None:
        inputs += ", baseline: baseline.jsonl"
    text = f"inputs: {{{inputs}}}\nevidence: proven_harm\ngates:\n{case.gates}"
    Path("ship-criteria.yaml").write_text(text, encoding="utf-8")
    if case.waivers:
        Path("ship-waivers.yaml").write_text(case.waivers, encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_the_first_screen_and_every_output_says_the_same(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    """Sentence and next command of comment, terminal and report.json, and the numbers of the conclusion in them.

    A sentence has at most thirty words, above a screen of at most 120.
    """
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    write_inputs(case)
    assert main(["check", "--date", DATE, "-o", "comment.md", "-o", "report.json"]) == case.code
    printed = capsys.readouterr().out
    comment = Path("comment.md").read_text(encoding="utf-8")
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    screen = comment.partition("<details>")[0]
    golden = GOLDEN / f"{name}.md"
    if request.config.getoption("--refresh"):
        golden.write_text(screen, encoding="utf-8")
    assert screen == golden.read_text(encoding="utf-8")

    conclusion = report["conclusion"]
    assert (conclusion["kind"], conclusion["strength"]) == (case.kind, case.strength)
    first = comment.splitlines()[0].strip("*").replace("`", "")
    assert printed.splitlines()[0].split("  ", 1)[1] == report["summary"] == first.split(". ", 1)[1]
    command = " ".join(conclusion["next"])
    assert not command or (f": {command}" in printed and f":** `{command}`" in comment)
    stated = [conclusion[key] for key in ("before", "now") if conclusion[key] is not None]
    if conclusion["kind"] == "gate_fails":
        assert all(f"{100 * value:.1f}%" in report["summary"] for value in stated)
    assert len(re.findall(r"\S*\w\S*", report["summary"])) <= 30
