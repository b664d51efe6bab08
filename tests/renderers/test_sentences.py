"""A reader who knows no metrics reads the first sentence alone: what happened, by how much, and whether it blocks."""

from pathlib import Path

import pytest
from tests.rows import each_row

SCENARIOS = Path(__file__).parents[1] / "scenarios"
SENTENCES = dict(line.split(": ", 1) for line in (SCENARIOS / "sentences.txt").read_text(encoding="utf-8").splitlines())


def comments() -> dict[str, str]:
    """Those that we lay out."""
    ours = (path for path in SCENARIOS.glob("*/expected/comment.md") if path.parts[-3] != "user_template")
    return {path.parts[-3]: path.read_text(encoding="utf-8") for path in ours}


def test_every_scenario_has_its_sentence() -> None:
    assert {name: text.splitlines()[0].strip("*") for name, text in comments().items()} == SENTENCES


@each_row("name", sorted(SENTENCES))
def test_it_says_whether_the_pull_request_may_be_merged(name: str) -> None:
    """By the word of the verdict, by the sentence where it fails, and never by the icon alone."""
    icon, word, said = (
        SENTENCES[name].partition(". ")[0].split()[0],
        SENTENCES[name].partition(". ")[0],
        SENTENCES[name],
    )
    blocks = "Do not merge" in said
    assert blocks is (icon == "❌")
    assert word.split(" ", 1)[1] in {"PASS", "WARN", "FAIL", "NOT JUDGED"}


@pytest.mark.parametrize("name", [name for name in sorted(SENTENCES) if "PASS" in SENTENCES[name]])
def test_a_green_comment_is_few_lines_until_it_is_opened(name: str) -> None:
    shown = comments()[name].partition("<details>")[0]
    summary = comments()[name].partition("<summary>")[2].partition("</summary>")[0]
    lines = [line for line in shown.splitlines() if line and not line.startswith("|")]
    assert len(lines) <= 4 + ("Unproven: beyond" in shown)
    assert "unproven |" in shown or "\n|" not in shown
    assert summary == "Gates, tags, what was compared, and how to repeat it"
    assert comments()[name].count("<details>") == 1
