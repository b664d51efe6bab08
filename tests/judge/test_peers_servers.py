"""`rankgate judge` against other people's stand-ins for a model's API: stubllm 0.1.5 and @copilotkit/aimock 1.43.0."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_judge import as_json, line, write_gold, write_lines

from rankgate.collecting import waits
from rankgate.judge import client
from rankgate.judge.store import read_verdicts

pytestmark = pytest.mark.full
STUBLLM = [sys.executable, "-m", "uv", "tool", "run", "--from", "stubllm==0.1.5", "stubllm", "serve"]
FACT = "Fact 0 is that the thing holds."
REPLIES = {
    "Answer with this JSON object": {"ok": True},
    "Task: split": {"asserts": True, "claims": [FACT]},
    "Task: entail": {"entries": [{"n": 1, "verdict": "supported", "passages": [1], "quote": FACT}]},
    "Task: address": {"addresses": "fully", "noncommittal": False},
}
METRICS = ["--metric", "faithfulness", "--metric", "answered_rate", "--metric", "answer_relevancy"]


@contextmanager
def at_work(command: Sequence[str], port: int) -> Iterator[str]:
    """A server of another process, from when it takes connections to the end of the block; its address."""
    with Path("server.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            while True:
                assert process.poll() is None, Path("server.log").read_text()
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                except OSError:
                    time.sleep(0.1)
                else:
                    break
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture
def waited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """A project of one question, and the waits for which servers ask, which are not kept."""
    monkeypatch.chdir(tmp_path)
    write_gold(1)
    write_lines("run.jsonl", [line(0)])
    asked = list[float | None]()

    def noted(wait: Callable[..., float | None]) -> Callable[..., float]:
        def instead(*words: Any) -> float:
            if seconds := wait(*words):
                asked.append(seconds)
            return 0.0

        return instead

    monkeypatch.setattr(client, "pause", noted(waits.pause))
    monkeypatch.setattr(client, "until_limits_end", noted(waits.until_limits_end))
    return asked


def judged(address: str, capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    judge = f"judge: {{endpoint: '{address}', model: some-model}}\n"
    inputs = "inputs: {gold: gold.jsonl, run: run.jsonl}\ngates: [{name: faithfulness, threshold: 0.5}]\n"
    Path("ship-criteria.yaml").write_text(judge + inputs, encoding="utf-8")
    return as_json(capsys, *words, code=code)


def test_stubllm(waited: list[float | None], capsys: pytest.CaptureFixture[str]) -> None:
    """Its first answer to a task is a 429 without a time."""
    fixtures = [
        {
            "name": words,
            "match": {"messages": [{"role": "user", "content": {"contains": words}}]},
            "sequence": [{"http_status": 429, "error_message": "slow down"}, {"content": json.dumps(reply)}],
        }
        for words, reply in REPLIES.items()
    ]
    Path("fixtures").mkdir()
    Path("fixtures/all.json").write_text(json.dumps({"fixtures": fixtures}), encoding="utf-8")
    port = free_port()
    with at_work([*STUBLLM, "--port", str(port), "--fixture-dir", "fixtures"], port) as address:
        judged(address, capsys, *METRICS)
        assert [each is not None and 1 <= each < 1.5 for each in waited] == [True] * 4
        kept = read_verdicts("run.verdicts.jsonl").values()
        assert {each.task for each in kept if each.verdicts is not None} == {"split", "entail", "address"}


def test_aimock(node_modules: Path, waited: list[float | None], capsys: pytest.CaptureFixture[str]) -> None:
    """Its 429 says for how long, in a chunked body; what it has no answer for is a refusal that ends it."""
    busy = {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}
    fixtures: list[Any] = [{"match": {"userMessage": "Task: split", "sequenceIndex": 0}, "response": busy}]
    fixtures += [
        {"match": {"userMessage": words}, "response": {"content": json.dumps(reply)}}
        for words, reply in REPLIES.items()
    ]
    Path("fixtures.json").write_text(json.dumps({"fixtures": fixtures}), encoding="utf-8")
    port, program = free_port(), node_modules / "@copilotkit" / "aimock" / "dist" / "cli.js"
    command = ["node", str(program), "--port", str(port), "--fixtures", "fixtures.json", "--strict"]
    with at_work(command, port) as address:
        judged(address, capsys, *METRICS)
        until_its_limit, for_the_refusal = waited
        assert until_its_limit == waits.MAX_WAIT
        assert for_the_refusal is not None
        assert 1 <= for_the_refusal < 1.5
        kept = read_verdicts("run.verdicts.jsonl").values()
        assert {each.task for each in kept if each.verdicts is not None} == {"split", "entail", "address"}
        found = judged(address, capsys, "--metric", "context_precision", code=2)
    assert "http_status" in json.dumps(found)
