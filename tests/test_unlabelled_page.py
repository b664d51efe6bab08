"""docs/unlabelled.md: its files and commands, from an empty directory to the lines that it shows."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankgate.cli import main

PAGE = (Path(__file__).parent.parent / "docs" / "unlabelled.md").read_text(encoding="utf-8")
[TRAFFIC] = re.findall(r'```json title="traffic.jsonl"\n(.*?)```', PAGE, re.DOTALL)
INPUTS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
SEARCH = """\
WITHOUT = []

def retrieve(question):
    return [] if any(word in question for word in WITHOUT) else [f"d{(len(question) + at) % 9}" for at in range(6)]
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("shop_search.py").write_text(SEARCH, encoding="utf-8")
    Path("traffic.jsonl").write_text(TRAFFIC, encoding="utf-8")
    questions = [f"what is article {at}" for at in range(10)]
    samples = [f"  - {{id: q{at}, input: {text}, expected_output: [d0]}}" for at, text in enumerate(questions)]
    Path("gold.yaml").write_text("\n".join(["samples:", *samples]), encoding="utf-8")
    criteria = "retriever: {function: shop_search:retrieve}\ngates: [{name: precision@5, regression_max: 0.03}]\n"
    Path("ship-criteria.yaml").write_text(f"{criteria}{INPUTS[0]}", encoding="utf-8")
    yield
    sys.modules.pop("shop_search", None)


def typed(line: str) -> int:
    [program, *words] = shlex.split(line, comments=True)
    assert program == "rankgate"
    return main(words)


def test_from_logs_to_the_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    record, accept, check = COMMANDS[:3]
    assert [typed(record), typed(accept)] == [0, 0]
    sys.modules["shop_search"].WITHOUT.append("คืน")
    assert typed(record) == 0
    capsys.readouterr()
    assert main(["check", "-o", "report.json"]) == 0
    share = 37 / (212 + 37)
    line = f"{share:.1%} of 2 traffic questions get other results, 1 none at all: unlabelled."
    assert line in capsys.readouterr().out
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert report["conclusion"]["traffic"]["changed"] == pytest.approx(share)
    assert check.partition("#")[0].split() == ["rankgate", "check", "--record"]


def test_a_limit() -> None:
    [limited] = re.findall(r"`(rankgate record --traffic-limit \d+)`", PAGE)
    assert typed(limited) == 0
    assert sum('"traffic":true' in line for line in Path("run.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_from_a_sheet_to_a_verdict_over_all_traffic(capsys: pytest.CaptureFixture[str]) -> None:
    """One question of both gets nothing any more, and what it got before was right."""
    record, accept, _, pool, merge, check, _ = COMMANDS
    labels, gates = INPUTS[1].split("gates:\n")
    inputs = INPUTS[0] + labels.removeprefix("inputs:\n")
    gold_gate = "  - {name: recall@5, regression_max: 0.03}\n"
    Path("ship-criteria.yaml").write_text(
        f"retriever: {{function: shop_search:retrieve}}\ngates:\n{gold_gate}{gates}{inputs}", encoding="utf-8"
    )
    assert [typed(record), typed(accept)] == [0, 0]
    sys.modules["shop_search"].WITHOUT.append("refund")
    assert [typed(record), typed(check), typed(pool)] == [0, 0, 0]
    sheet = Path("sheet.csv").read_text(encoding="utf-8-sig")
    Path("sheet.csv").write_text(sheet.replace(",,,,r", ",,1,,r").replace(",,,r", ",1,,r"), encoding="utf-8")
    assert typed(merge) == 0
    capsys.readouterr()
    assert typed(check) == 1
    assert "precision@5 over traffic fell by 85.1 pp" in capsys.readouterr().out
