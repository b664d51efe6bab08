"""`rankgate judge` killed in each of its states: nothing kept is asked again, nothing is lost, and no line stays torn.

One interpreter forks a process a place, so that they cost little; three are processes of their own. A line that ends
anywhere is in `test_store.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.children import is_readable, start
from tests.conftest import ROOT
from tests.forges.faults import Answer
from tests.forges.loopback_server import Handler, serving
from tests.judge.hash_judge import KEY, HashJudge

from rankgate.judge.store import read_verdicts

pytestmark = pytest.mark.full

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits as POSIX has them")

ANSWERS, CALLS = 5, 10
SECOND = "sk-of-the-second-process"
CRITERIA = """\
judge: {{endpoint: {address}, model: hash-2026-01-01, structured: json_schema}}
inputs: {{gold: gold.jsonl, run: run.jsonl}}
gates: [{{name: faithfulness, threshold: 0.9}}, {{name: answered_rate, regression_max: 0.05}}]
"""
# Reads a folder, words, a key and the most bytes that a file may have; prints a process's number, and how it ended.
DRIVER = """
import json, os, resource, signal, sys
import rankgate.cli.judge, rankgate.metrics.contents, rankgate.metrics.ranks, rankgate.readers.gold_text
from rankgate.cli import main

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for line in sys.stdin:
    folder, words, key, most = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        if most:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        os.environ["RANKGATE_JUDGE_KEY"] = key
        os._exit(main(words))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "RANKGATE_JUDGE_KEY": KEY}


class Place(NamedTuple):
    """Where a process ends: by a signal at the nth request, or in the midst of writing that byte of its file."""

    moment: str
    number: signal.Signals
    n: int
    workers: int = 1
    delay: float = 0.0  # seconds from the answer to the signal

    @property
    def silent_from(self) -> int:
        """The first request that nobody answers, so that the process is not done before its end."""
        return {"hung at": self.n, "answered": self.n + 1}.get(self.moment, sys.maxsize)

    def __str__(self) -> str:
        delay = f" and {self.delay * 1000:g} ms" if self.delay else ""
        return f"{self.number.name} {self.moment} {self.n}{delay}, {self.workers} at once"


INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
PLACES = [
    *(Place("received", signal.SIGKILL, n, 1 + n % 3) for n in (1, 5, 6, 10)),
    *(Place("answered", signal.SIGKILL, n, 1, delay) for n, delay in product((1, 9), (0.0, 0.001))),
    *(Place("in byte", signal.SIGXFSZ, n, 1 + n % 2) for n in (1, 110, 1_501, 2_960)),
    *(Place("received", number, n, 1 + n % 3) for number, n in zip(INTERRUPTS, (1, 9), strict=True)),
    *(Place("hung at", number, n, 1 + n % 3) for number, n in zip(INTERRUPTS * 2, (3, 1, 10, 10), strict=True)),
]
OF_THEIR_OWN = [
    Place("answered", signal.SIGKILL, 6),
    *(Place("hung at", number, n, 8) for number, n in zip(INTERRUPTS, (2, 10), strict=True)),
]


class Judge(HashJudge):
    """The judge that sends a signal at a place. `answered` counts answers, `before` those before the signal."""

    def __init__(self) -> None:
        super().__init__()
        self.place: Place | None = None
        self.victim = self.answered = self.before = 0
        self.released = threading.Event()

    def respond(self, handler: Handler, body: bytes) -> Answer | None:
        """The answer as it is, unless this is the place; of a process that died while it asked there is no request."""
        if len(body) < int(handler.headers["Content-Length"]):
            raise ConnectionAbortedError
        answer = super().respond(handler, body)
        assert answer is not None
        place, here = self.place, self.place is not None and len(self.requests) == self.place.n
        if place and place.moment == "received" and here:
            self.send()
        if place and place.moment == "hung at" and here:
            self.send()
        if place and len(self.requests) >= place.silent_from:
            self.released.wait()
            raise ConnectionAbortedError
        if place and place.moment == "answered" and here:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer.body), answer.body))
            self.answered += 1
            time.sleep(place.delay)
            self.send()
            raise ConnectionAbortedError
        self.answered += 1
        return answer

    def send(self) -> None:
        """End the process that asks."""
        assert self.place
        self.before = self.answered
        os.kill(self.victim, self.place.number)


class Driver:
    """The interpreter that forks."""

    def __init__(self) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self.process = subprocess.Popen([sys.executable, "-c", DRIVER], env=ENVIRONMENT, **pipes)

    def begin(self, folder: Path, words: list[str], most: int | None = None, key: str = KEY) -> int:
        """Start a process; its number."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps([str(folder), words, key, most]).encode() + b"\n")
        return self.read()

    def end(self) -> int:
        """How it ended; a process that does not end is an error, within a bound that no machine is too slow for."""
        return self.read()

    def read(self) -> int:
        assert self.process.stdout
        assert is_readable(self.process.stdout), "the process does not end"
        return int(self.process.stdout.readline())


class Single:
    """A process of its own each time."""

    def begin(self, folder: Path, words: list[str], most: int | None = None) -> int:
        """Start it; its number."""
        assert most is None
        null: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = start([sys.executable, "-m", "rankgate", *words], env=ENVIRONMENT, cwd=folder, **null)
        return self.process.pid

    def end(self) -> int:
        """How it ended."""
        return self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    found = Driver()
    yield found
    with found.process:
        assert found.process.stdin
        found.process.stdin.close()


def project(folder: Path, address: str) -> None:
    facts = [f"Fact {n} is that the thing holds." for n in range(ANSWERS)]
    gold = [{"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"d{n}"]} for n in range(ANSWERS)]
    run = [
        {"query_id": f"q{n}", "topk": [{"chunk_id": f"d{n}", "text": f"{fact} There is more."}], "answer": fact}
        for n, fact in enumerate(facts)
    ]
    for name, lines in (("gold.jsonl", gold), ("run.jsonl", run)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "ship-criteria.yaml").write_text(CRITERIA.format(address=address))


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_forked_process_that_is_killed(place: Place, driver: Driver, tmp_path: Path) -> None:
    killed(place, driver, tmp_path, driver)


@pytest.mark.parametrize("place", OF_THEIR_OWN, ids=str)
def test_a_process_that_is_killed(place: Place, driver: Driver, tmp_path: Path) -> None:
    killed(place, Single(), tmp_path, driver)


def killed(place: Place, runner: Driver | Single, folder: Path, driver: Driver) -> None:
    server, file = Judge(), folder / "run.verdicts.jsonl"
    words = ["judge", "--workers", str(place.workers)]
    with serving(server):
        project(folder, server.address)
        with server.lock:  # no request is answered before the process is known
            server.place = place
            server.victim = runner.begin(folder, words, place.n if place.moment == "in byte" else None)
        try:
            code = runner.end()
        finally:
            server.released.set()  # a process that does not end is an error, and no server that waits for it
        interrupted = place.number in INTERRUPTS
        assert code == (130 if interrupted else -place.number)
        kept = len(read_verdicts(file)) if file.exists() else 0
        if interrupted:
            assert kept == server.answered, "what was answered is kept"
        else:
            assert (server.before or server.answered) - place.workers <= kept <= server.answered
        if place.moment == "in byte":
            assert file.stat().st_size == place.n
        server.place = None
        driver.begin(folder, words, key=SECOND)  # a request of the first may be read only now
        assert driver.end() == 0
    assert server.keys.count(f"Bearer {SECOND}") == CALLS - kept, "what was kept is not asked again"
    known = read_verdicts(file)
    assert len(known) == len(file.read_bytes().splitlines()) == CALLS
    assert all(record.unjudged is None for record in known.values())
