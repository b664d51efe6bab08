"""scripts/bench: its workload is one that passes, and what it measures is a whole process."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main

SCRIPT = Path(__file__).parents[2] / "scripts" / "bench"


@pytest.fixture
def bench() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.mark.full
def test_the_candidate_of_the_workload_passes(
    bench: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench["write_workload"](tmp_path, 200, 20)
    monkeypatch.chdir(tmp_path)
    assert main(["baseline", "accept", "--run", "accepted.jsonl", "--to", "baseline"]) == 0
    assert main(["check", "-o", "report.json"]) == 0
    by_lines = json.loads(Path("report.json").read_text(encoding="utf-8"))["metrics"]
    capsys.readouterr()
    main(["score", "--gold", "qrels.txt", "--run", "run.trec", "--metrics", "mrr,map", "--format", "json"])
    by_rows = json.loads(capsys.readouterr().out)["metrics"]
    assert {name: by_lines[name]["value"] for name in by_rows} == {name: by_rows[name]["value"] for name in by_rows}


def test_a_process_is_measured_and_one_that_fails_is_named(bench: dict[str, Any], tmp_path: Path) -> None:
    usage = bench["measured"]([*bench["programs"]()["python -c pass"]], tmp_path)
    assert usage.cpu > 0
    assert 2 < usage.peak < 100
    with pytest.raises(SystemExit, match=r"(?s)exit code 3\nwhy$"):
        bench["measured"](["/bin/sh", "-c", "echo why >&2; exit 3"], tmp_path)
