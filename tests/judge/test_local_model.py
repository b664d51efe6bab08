"""`rankgate judge` against a real server and a real model: llama.cpp with SmolLM2-135M-Instruct, on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.test_judge import line, write_gold, write_lines
from tests.conftest import ROOT, lacking

from rankgate.cli import main
from rankgate.judge.store import read_verdicts

pytestmark = pytest.mark.full
SERVER = """
import pathlib, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = str(next(pathlib.Path(sys.prefix).rglob("SmolLM2-135M-Instruct.Q4_1.gguf")))
params.cpuparams.n_threads = 1  # else its threads spin while other tests have the cores
params.n_ctx, params.n_parallel, params.port, params.hostnames = 4096, 1, 0, ["127.0.0.1"]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
CRITERIA = """\
judge:
  endpoint: {address}/v1
  model: smollm2-135m-instruct@q4_1
  parameters: {{max_tokens: 40, temperature: 0}}
  timeouts: {{read: 600, total: 600}}
inputs: {{gold: gold.jsonl, run: run.jsonl}}
gates: [{{name: answered_rate, threshold: 0.5}}]
"""


@pytest.fixture
def address() -> Iterator[str]:
    python = ROOT / ".llama" / "bin" / "python"
    if not (ROOT / ".llama" / "setup-finished").is_file():
        lacking("needs llama.cpp and a model: scripts/test --all installs them into .llama")
    with subprocess.Popen(
        [python, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin and process.stdout  # noqa: PT018 -- both are pipes
        yield process.stdout.readline().strip()
        process.stdin.close()


def test_a_small_model_is_asked_and_its_verdicts_are_read(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What such a model says is of little worth; each call ends in a verdict or in a reason that is kept."""
    monkeypatch.chdir(tmp_path)
    write_gold(1)
    write_lines("run.jsonl", [line(0)])
    Path("ship-criteria.yaml").write_text(CRITERIA.format(address=address), "utf-8")
    assert main(["judge", "--workers", "1"]) == 0
    kept = read_verdicts("run.verdicts.jsonl")
    assert len(kept) == 1
    assert all(record.unjudged is None or record.unjudged.kind.lasts for record in kept.values())
    assert {Path(record.model).suffix for record in kept.values()} == {".gguf"}
    capsys.readouterr()
    assert main(["judge", "--dry-run"]) == 0
    out, _ = capsys.readouterr()
    assert "none to judge" in out
