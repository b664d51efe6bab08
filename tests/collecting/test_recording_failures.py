"""What fails costs only itself: successes are kept, hung calls hold nobody, a service that is down is left alone."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rankgate
from rankgate.collecting import workers
from rankgate.collecting.recorder import RecordingError
from rankgate.model.values import Gold, Sample

COUNT = 30


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workers, "_PAUSE_SECONDS", 0.001)
    yield
    os.chdir(tmp_path)


def gold_of(count: int = COUNT) -> Gold:
    samples = {f"q{n}": Sample(query_id=f"q{n}", gains={"d": 1.0}, question=str(n)) for n in range(1, count + 1)}
    return Gold(samples=samples, name="gold.jsonl", format="jsonl", fingerprint="of the judgments")


def silent(notice: str) -> None:
    pass


def recorded() -> list[str]:
    return [json.loads(line)["query_id"] for line in Path("run.jsonl").read_text().splitlines()]


def kept() -> int:
    """How many answers wait for the others; no run is written."""
    assert not Path("run.jsonl").exists()
    return Path("run.jsonl.partial").read_text().count("\n") - 1


class Flaky:
    """Fails a question so many times, and counts what it is asked."""

    def __init__(self, failures: dict[str, int]) -> None:
        self.left = Counter(failures)
        self.asked: Counter[str] = Counter()

    def __call__(self, question: str) -> list[str]:
        self.asked[question] += 1
        self.left[question] -= 1
        if self.left[question] >= 0:
            raise ConnectionError(f"no answer to {question}")
        return ["d"]

    async def on_a_loop(self, question: str) -> list[str]:
        await asyncio.sleep(0)
        return self(question)


SYNC_AND_ASYNC = [
    pytest.param(False, {}, id="sync"),
    pytest.param(False, {"workers": 3}, id="threads"),
    pytest.param(False, {"timeout": 60.0}, id="sync with a timeout"),
    pytest.param(False, {"timeout": 60.0, "workers": 3}, id="threads with a timeout"),
    pytest.param(True, {}, id="async"),
    pytest.param(True, {"workers": 3, "timeout": 60.0}, id="tasks with a timeout"),
]


@pytest.mark.parametrize(("on_a_loop", "how"), SYNC_AND_ASYNC)
def test_one_failed_call_costs_one_call(on_a_loop: bool, how: dict[str, Any]) -> None:  # noqa: FBT001
    flaky = Flaky({"7": 1})
    retrieve = flaky.on_a_loop if on_a_loop else flaky
    with pytest.raises(RecordingError, match="1 of 30 questions failed"):
        rankgate.record(gold_of(), retrieve, "run.jsonl", **how)
    assert kept() == COUNT - 1
    notices: list[str] = []
    done = rankgate.record(gold_of(), retrieve, "run.jsonl", notice=notices.append, **how)
    assert (done.recorded, done.resumed) == (COUNT, COUNT - 1)
    assert recorded() == [f"q{number}" for number in range(1, COUNT + 1)]
    assert flaky.asked == Counter({str(n): 1 for n in range(1, COUNT + 1)}) + Counter({"7": 1})
    assert notices[0].startswith("resuming run.jsonl.partial: 29 of 30 questions are recorded already")
    assert not Path("run.jsonl.partial").exists()


@pytest.mark.parametrize(("on_a_loop", "how"), SYNC_AND_ASYNC)
def test_a_call_is_repeated_as_often_as_asked(on_a_loop: bool, how: dict[str, Any]) -> None:  # noqa: FBT001
    flaky = Flaky({"3": 2, "5": 3})
    retrieve = flaky.on_a_loop if on_a_loop else flaky
    done = rankgate.record(gold_of(), retrieve, "run.jsonl", retries=2, allow_errors=1, **how)
    assert [problem.key for problem in done.failures] == ["q5"]
    assert (flaky.asked["3"], flaky.asked["5"], flaky.asked["1"]) == (3, 3, 1)


def test_the_pauses_double(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(workers, "_PAUSE_SECONDS", 0.5)
    monkeypatch.setattr(workers, "time", SimpleNamespace(**vars(time) | {"sleep": slept.append}))
    rankgate.record(gold_of(1), Flaky({"1": 3}), "run.jsonl", retries=3)
    assert slept == [0.0, 0.5, 1.0, 2.0]


@pytest.mark.parametrize(("on_a_loop", "how"), SYNC_AND_ASYNC)
def test_a_service_that_is_down_is_asked_ten_times(on_a_loop: bool, how: dict[str, Any]) -> None:  # noqa: FBT001
    flaky = Flaky({str(number): 9 for number in range(COUNT + 1)})
    Path("run.jsonl").write_text("old")
    with pytest.raises(RecordingError) as caught:
        rankgate.record(gold_of(), flaky.on_a_loop if on_a_loop else flaky, "run.jsonl", **how)
    first, summary = caught.value.problems
    assert first.message.startswith("ConnectionError: no answer to ")
    assert str(summary) == "none of the first 10 calls succeeded, so 20 questions were not asked"
    assert 10 <= flaky.asked.total() <= 12, "no more than were under way"
    assert Path("run.jsonl").read_text() == "old"
    assert not Path("run.jsonl.partial").exists()


def test_one_success_and_it_goes_on() -> None:
    flaky = Flaky({str(number): 9 for number in range(COUNT + 1) if number != 10})
    with pytest.raises(RecordingError, match="29 of 30 questions failed"):
        rankgate.record(gold_of(), flaky, "run.jsonl")
    assert flaky.asked.total() == COUNT


def test_what_was_answered_before_is_kept_when_the_service_is_down() -> None:
    with pytest.raises(RecordingError):
        rankgate.record(gold_of(), Flaky({str(number): 1 for number in range(11, 31)}), "run.jsonl")
    flaky = Flaky({str(number): 9 for number in range(COUNT + 1)})
    with pytest.raises(RecordingError, match="so 10 questions were not asked"):
        rankgate.record(gold_of(), flaky, "run.jsonl", notice=silent)
    assert kept() == 10
    done = rankgate.record(gold_of(), Flaky({}), "run.jsonl", notice=silent)
    assert (done.recorded, done.resumed) == (COUNT, 10)


def test_as_many_as_are_allowed_may_fail_before_one_succeeds() -> None:
    flaky = Flaky({str(number): 1 for number in range(1, 21)})
    assert rankgate.record(gold_of(), flaky, "run.jsonl", allow_errors=20).recorded == 10


@pytest.mark.parametrize("count", [1, 8])
def test_a_hung_call_holds_no_worker(count: int) -> None:
    """Ten calls that never end, one worker or eight: every other question has its answer."""
    release = threading.Event()

    def hanging(question: str) -> list[str]:
        if int(question) % 3 == 0:
            release.wait()
        return ["d"]

    done = rankgate.record(gold_of(), hanging, "run.jsonl", workers=count, timeout=0.5, allow_errors=10)
    release.set()
    assert (done.recorded, len(done.failures)) == (20, 10)
    assert str(done.failures[0]) == "q3: no answer within 0.5 s"


def test_a_hung_task_is_cancelled() -> None:
    cancelled: list[str] = []

    async def hanging(question: str) -> list[str]:
        if int(question) % 3 == 0:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(question)
        return ["d"]

    done = rankgate.record(gold_of(), hanging, "run.jsonl", workers=4, timeout=0.5, allow_errors=10)
    assert (done.recorded, len(done.failures), len(cancelled)) == (20, 10, 10)


def test_a_call_that_blocks_the_loop_ends_too() -> None:
    release = threading.Event()

    async def blocking(question: str) -> list[str]:
        release.wait()
        return ["d"]

    with pytest.raises(RecordingError, match="none of the first 10 calls succeeded"):
        rankgate.record(gold_of(), blocking, "run.jsonl", workers=4, timeout=0.02)
    release.set()


def test_an_answer_that_comes_too_late_is_none() -> None:
    release = threading.Event()

    def late(question: str) -> list[str]:
        if question == "1":
            release.wait()
        if question == "2":
            release.set()
        return [question]

    done = rankgate.record(gold_of(), late, "run.jsonl", timeout=0.2, allow_errors=1)
    assert [problem.key for problem in done.failures] == ["q1"]
    assert recorded() == [f"q{number}" for number in range(2, COUNT + 1)]


def test_a_call_that_timed_out_is_repeated() -> None:
    first = iter([threading.Event()])

    def once(question: str) -> list[str]:
        if question == "1":
            for event in first:
                event.wait()
        return ["d"]

    assert rankgate.record(gold_of(), once, "run.jsonl", timeout=0.1, retries=1).recorded == COUNT


# What the user's code may do to the process.


def test_a_retriever_that_changes_the_directory_has_its_run_where_it_was_named(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()

    def moving(question: str) -> list[str]:
        os.chdir(tmp_path / "elsewhere")
        return ["d"]

    done = rankgate.record(gold_of(), moving, "run.jsonl")
    assert done.path == "run.jsonl"
    assert (tmp_path / "run.jsonl").is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def returning_a_generator_that_raises(question: str) -> Iterator[str]:
    yield "d"
    raise OSError("the connection is gone")


def leaving(question: str) -> list[str]:
    sys.exit(0)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("retrieve", "message"),
    [
        pytest.param(returning_a_generator_that_raises, "OSError: the connection is gone", id="a generator"),
        pytest.param(leaving, "SystemExit: 0", id="sys.exit"),
    ],
)
def test_whatever_ends_a_call_fails_its_question(retrieve: Callable[[str], Any], message: str, count: int) -> None:
    with pytest.raises(RecordingError) as caught:
        rankgate.record(gold_of(3), retrieve, "run.jsonl", workers=count)
    assert [problem.message for problem in caught.value.recorded.failures] == [message] * 3


def test_a_partial_file_that_the_retriever_takes_away_loses_nothing() -> None:
    def sweeping(question: str) -> list[str]:
        if question == "2":
            Path("run.jsonl.partial").unlink()
        return ["d"]

    assert rankgate.record(gold_of(), sweeping, "run.jsonl").recorded == COUNT
    assert len(recorded()) == COUNT


HOSTILE = {
    "closes standard output": "import sys\ndef retrieve(question):\n    sys.stdout.close()\n    return ['d']\n",
    "closes both": ("import os\ndef retrieve(question):\n    question == '1' and os.close(1)\n    return ['d']\n"),
    "prints": "def retrieve(question):\n    print('asked', question)\n    return ['d']\n",
    "changes the directory when it is imported": (
        "import os\nos.makedirs('other', exist_ok=True)\nos.chdir('other')\ndef retrieve(question):\n    return ['d']\n"
    ),
    "changes locale and environment": (
        "import locale, os\ndef retrieve(question):\n    os.environ.clear()\n    os.environ['PYTHONIOENCODING'] = 'x'\n"
        "    locale.setlocale(locale.LC_ALL, 'C')\n    return [{'id': 'd', 'score': 0.5}]\n"
    ),
    "forks and comes back twice": (
        "import os\ndef retrieve(question):\n    if os.fork():\n        os.wait()\n    return ['d']\n"
    ),
    "forks and raises in the child": (
        "import os\ndef retrieve(question):\n    if not os.fork():\n        raise ValueError('child')\n    os.wait()\n"
        "    return ['d']\n"
    ),
    "leaves a thread of a pool that hangs": (
        "import asyncio, threading\nasync def retrieve(question):\n    if question == '1':\n"
        "        await asyncio.to_thread(threading.Event().wait)\n    return ['d']\n"
    ),
    "leaves a pool of its own that hangs": (
        "import threading\nfrom concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor()\n"
        "def retrieve(question):\n    if question == '1':\n        pool.submit(threading.Event().wait).result()\n"
        "    return ['d']\n"
    ),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("code", [pytest.param(code, id=name) for name, code in HOSTILE.items()])
@pytest.mark.full
def test_a_run_is_recorded_whatever_the_retriever_does_to_the_process(code: str, workers: int) -> None:
    Path("hostile.py").write_text(code)
    samples = [{"id": f"q{n}", "input": str(n), "expected_output": ["d"]} for n in (1, 2, 3)]
    Path("gold.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    hangs = ["--timeout", "0.5", "--allow-errors", "1"] if "hangs" in code or "wait)" in code else []
    words = ["record", "--retriever", "hostile:retrieve", "--gold", "gold.jsonl", "-o", "run.jsonl"]
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-m", "rankgate", *words, "--workers", str(workers), *hangs],
        env={**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0 or ("os.close(1)" in code and ended.returncode == 2), ended
    assert "internal error" not in ended.stderr
    assert "Traceback" not in ended.stderr
    assert recorded() == (["q2", "q3"] if hangs else ["q1", "q2", "q3"])
    assert not Path("other", "run.jsonl").exists()
    assert (
        f"recorded {3 - bool(hangs)} of 3 questions in run.jsonl" in ended.stdout + ended.stderr or "os.close" in code
    )
