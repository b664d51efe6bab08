"""Stopping a real process in mid-run: Ctrl-C, SIGTERM and kill -9, then the same command again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.children import start

import rankgate
from rankgate.readers.formats import read_run

pytestmark = pytest.mark.full

# Notes each call; the fourth question hangs until there is a file `go`.
SEARCH = """\
import asyncio, logging, os, time

logging.getLogger("asyncio").setLevel(logging.ERROR)  # a busy machine takes over 0.1 s for a step, which it would note

def note(question):
    with open("calls.txt", "a") as calls:
        calls.write(question + "\\n")
    return question == "question 4" and not os.path.exists("go")

def retrieve(question):
    if note(question):
        time.sleep(60)
    return [question]

async def ablocking(question):
    return retrieve(question)

async def aretrieve(question):
    if note(question):
        await asyncio.sleep(60)
    return [question]
"""
COUNT = 6
MODES = [
    pytest.param("my_search:retrieve", 1, id="sync"),
    pytest.param("my_search:retrieve", 2, id="threads"),
    pytest.param("my_search:aretrieve", 1, id="async"),
    pytest.param("my_search:aretrieve", 2, id="tasks"),
    pytest.param("my_search:ablocking", 1, id="async that blocks its loop"),
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("my_search.py").write_text(SEARCH)
    samples = [
        {"id": f"q{n}", "input": {"question": f"question {n}"}, "expected_output": ["d"]} for n in range(1, COUNT + 1)
    ]
    Path("gold.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    Path("run.jsonl").write_text("old")
    return tmp_path


def begin(retriever: str, workers: int) -> subprocess.Popen[str]:
    words = ["record", "--retriever", retriever, "--gold", "gold.jsonl", "-o", "run.jsonl", "--workers", str(workers)]
    return start(
        [sys.executable, "-X", "dev", "-W", "error", "-m", "rankgate", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parents[1])},
        text=True,
    )


def calls() -> list[str]:
    return Path("calls.txt").read_text().splitlines() if Path("calls.txt").exists() else []


def kept() -> set[str]:
    """The queries in the partial file, whose first line is the header."""
    path = Path("run.jsonl.partial")
    lines = path.read_text().split("\n")[1:-1] if path.exists() else []
    return {json.loads(line)["query_id"] for line in lines}


def until_it_hangs(process: subprocess.Popen[str], workers: int) -> None:
    """Wait until only the fourth question is under way: one worker stops there, others do the rest."""
    wanted = {"q1", "q2", "q3"} if workers == 1 else {"q1", "q2", "q3", "q5", "q6"}
    while not (kept() == wanted and "question 4" in calls()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def stop(process: subprocess.Popen[str], number: signal.Signals, workers: int) -> tuple[int, str, str]:
    until_it_hangs(process, workers)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def resume(retriever: str, workers: int) -> tuple[int, str, str]:
    Path("go").touch()
    process = begin(retriever, workers)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize(("retriever", "workers"), MODES)
def test_a_stopped_recording_says_how_far_it_got(
    project: Path, retriever: str, workers: int, number: signal.Signals
) -> None:
    code, out, err = stop(begin(retriever, workers), number, workers)
    count = len(kept())
    assert (code, out) == (130, "")
    assert err == (
        f"interrupted: {count} of 6 questions are recorded and kept in run.jsonl.partial; "
        "the same command resumes there\n"
    )
    assert Path("run.jsonl").read_text() == "old"


@pytest.mark.parametrize(("retriever", "workers"), MODES)
def test_after_kill_9_the_same_command_asks_only_what_is_missing(project: Path, retriever: str, workers: int) -> None:
    code, _, _ = stop(begin(retriever, workers), signal.SIGKILL, workers)
    assert code == -signal.SIGKILL
    assert Path("run.jsonl").read_text() == "old"
    count = len(kept())
    code, out, err = resume(retriever, workers)
    assert code == 0, err
    assert out.startswith("recorded 6 of 6 questions in run.jsonl (median ")
    assert err.startswith(
        f"resuming run.jsonl.partial: {count} of 6 questions are recorded already and not asked again"
    )
    questions = [f"question {number}" for number in range(1, COUNT + 1)]
    assert Counter(calls()) == {question: 1 + (question == "question 4") for question in questions}
    assert [ranking.ids for ranking in read_run("run.jsonl").rankings] == [[question] for question in questions]
    assert not Path("run.jsonl.partial").exists()
