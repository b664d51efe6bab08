"""Criteria that name what the gold set lacks: `check` and `validate` say the same, and exit 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankgate.cli import main

GOLD = "".join(
    f'{{"id": "q{row}", "expected_output": ["a"], "metadata": {{"tags": ["lang:en"]}}}}\n' for row in range(3)
)
RUN = "".join(f'{{"query_id": "q{row}", "topk": ["a"]}}\n' for row in range(3))


@pytest.mark.parametrize(
    ("keys", "message"),
    {
        "segments: {by: lnag, threshold: 0.5, min_queries: 1}": (
            "segments.by: no question of gold.jsonl has a tag 'lnag'; did you mean 'lang'?"
        ),
        "segments: {by: lang, threshold: 0.5}": (
            "segments.min_queries: 30 is more than the 3 questions of gold.jsonl: no segment could be judged"
        ),
        "segments: {by: lang, min_queries: 1, only: {fr: {threshold: 0.5}}}": (
            "segments.only.fr: no question of gold.jsonl is in this segment (known: en)"
        ),
        "must_pass: [q9]": "must_pass: 'q9' is neither a query nor a tag of gold.jsonl",
        "confidence: 1": "confidence: expected a number below 1, found 1",
    }.items(),
)
@pytest.mark.parametrize("command", ["check", "validate"])
def test_refused(
    command: str,
    keys: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text(GOLD)
    Path("run.jsonl").write_text(RUN)
    Path("ship-criteria.yaml").write_text(
        f"gates:\n  - name: recall@5\n    threshold: 0.5\n    {keys}\ninputs: {{gold: gold.jsonl, run: run.jsonl}}\n"
    )
    assert main([command]) == 2
    printed = capsys.readouterr()
    assert message in printed.out + printed.err
    assert "ship-criteria.yaml:" in printed.out + printed.err
