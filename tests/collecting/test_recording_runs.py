"""Recording in one go: order, workers, failures, provenance, files."""

import asyncio
import functools
import gzip
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.json_lines import read_lines

import rankgate
from rankgate.collecting.recorder import RecordingError
from rankgate.errors import RankgateError
from rankgate.model.values import Gold, Sample
from rankgate.readers.base import TEXT_KEY
from rankgate.readers.formats import read_run

COUNT = 6
EMPTY = "give a list, an empty one where nothing was found"
QRELS = "qrels hold judgments only"


def gold_of(count: int = COUNT) -> Gold:
    samples = {
        f"q{number}": Sample(query_id=f"q{number}", gains={"d": 1.0}, question=f"question {number}")
        for number in range(1, count + 1)
    }
    return Gold(samples=samples, name="gold.jsonl", format="jsonl", fingerprint="of the judgments")


def plain(question: str) -> list[str]:
    return [question, "d"]


async def awaiting(question: str, tail: str = "d") -> list[str]:
    await asyncio.sleep(0)
    return [question, tail]


async def streaming(question: str) -> Any:
    yield question
    yield "d"


class Client:
    async def __call__(self, question: str) -> list[str]:
        return await awaiting(question)


class Reversed:
    """Answers the last question first, once all of them are under way."""

    def __init__(self) -> None:
        self.turn = COUNT
        self.changed = threading.Condition()

    def __call__(self, question: str) -> list[str]:
        with self.changed:
            self.changed.wait_for(lambda: question == f"question {self.turn}")
            self.turn -= 1
            self.changed.notify_all()
        return plain(question)


def reversed_on_a_loop() -> Callable[[str], Any]:
    turn = [COUNT]

    async def retrieve(question: str) -> list[str]:
        while question != f"question {turn[0]}":
            await asyncio.sleep(0)
        turn[0] -= 1
        return plain(question)

    return retrieve


@pytest.mark.parametrize(
    ("retrieve", "workers"),
    [
        pytest.param(plain, 1, id="sync"),
        pytest.param(plain, 3, id="threads"),
        pytest.param(plain, 100, id="more threads than questions"),
        pytest.param(Reversed(), COUNT, id="threads that answer in another order"),
        pytest.param(awaiting, 1, id="async"),
        pytest.param(awaiting, 3, id="tasks"),
        pytest.param(reversed_on_a_loop(), COUNT, id="tasks that answer in another order"),
        pytest.param(streaming, 2, id="async generator"),
        pytest.param(functools.partial(awaiting, tail="d"), 2, id="partial of async"),
        pytest.param(Client(), 2, id="async callable"),
    ],
)
def test_every_question_once_and_in_gold_order(tmp_path: Path, retrieve: Any, workers: int) -> None:
    path = tmp_path / "new" / "run.jsonl"
    seen: list[tuple[int, int]] = []
    done = rankgate.record(gold_of(), retrieve, path, workers=workers, progress=lambda *step: seen.append(step))
    assert [(ranking.query_id, ranking.ids) for ranking in read_run(str(path)).rankings] == [
        (f"q{number}", [f"question {number}", "d"]) for number in range(1, COUNT + 1)
    ]
    assert all(line["latency_ms"]["retrieve"] >= 0 for line in read_lines(path))
    assert (done.path, done.total, done.recorded, done.resumed, done.failures) == (path.as_posix(), COUNT, COUNT, 0, ())
    assert seen == [(number, COUNT) for number in range(COUNT + 1)]
    assert [file.name for file in path.parent.iterdir()] == ["run.jsonl"]


def test_one_worker_calls_in_this_thread(tmp_path: Path) -> None:
    rankgate.record(gold_of(), lambda _: [threading.get_ident()], tmp_path / "run.jsonl")
    [(only,)] = {tuple(item["chunk_id"] for item in line["topk"]) for line in read_lines(tmp_path / "run.jsonl")}
    assert only == threading.get_ident()


def test_several_workers_are_under_way_at_once(tmp_path: Path) -> None:
    barrier = threading.Barrier(3, timeout=300)

    def retrieve(question: str) -> list[str]:
        barrier.wait()
        return plain(question)

    assert rankgate.record(gold_of(), retrieve, tmp_path / "run.jsonl", workers=3).recorded == COUNT


def test_the_median_is_of_what_the_lines_state(tmp_path: Path) -> None:
    def retrieve(question: str) -> dict[str, Any]:
        number = int(question[-1])
        return {"topk": [], "latency_ms": {"retrieve": number, "rerank": 10 * number}}

    assert rankgate.record(gold_of(5), retrieve, tmp_path / "run.jsonl").median_ms == 33


def failing(question: str) -> Any:
    match question[-1]:
        case "2":
            raise LookupError("no index")
        case "3":
            raise SystemExit(0)
        case "4":
            return "d"
        case "5":
            raise asyncio.CancelledError
    return [question]


async def failing_on_a_loop(question: str) -> Any:
    await asyncio.sleep(0)
    return failing(question)


def interrupted_by_itself(question: str) -> Any:
    raise KeyboardInterrupt


async def interrupted_on_a_loop(question: str) -> Any:
    raise KeyboardInterrupt


FAILURES = [
    ("q2", "LookupError: no index"),
    ("q3", "SystemExit: 0"),
    ("q4", "the result is a bare string, 'd'; give a list, also of one id"),
    ("q5", "CancelledError"),
]
MODES = [
    pytest.param(failing, 1, id="sync"),
    pytest.param(failing, 3, id="threads"),
    pytest.param(failing_on_a_loop, 1, id="async"),
    pytest.param(failing_on_a_loop, 3, id="tasks"),
]


@pytest.mark.parametrize(("retrieve", "workers"), MODES)
def test_failing_questions_are_absent_and_reported(tmp_path: Path, retrieve: Any, workers: int) -> None:
    path = tmp_path / "run.jsonl"
    with pytest.raises(RecordingError) as caught:
        rankgate.record(gold_of(), retrieve, path, workers=workers, allow_errors=3)
    assert not path.exists()
    assert [(problem.key, problem.message) for problem in caught.value.recorded.failures] == FAILURES
    assert caught.value.recorded.failures[0].file is not None
    assert caught.value.recorded.failures[0].file.endswith("test_recording_runs.py")
    assert str(caught.value.problems[-1]) == (
        f"4 of 6 questions failed, more than allow_errors=3; {path.as_posix()} is not written, "
        "and the same command asks only them again"
    )
    assert path.with_name("run.jsonl.partial").exists()


@pytest.mark.parametrize(("retrieve", "workers"), MODES)
def test_allowed_failures_are_no_error(tmp_path: Path, retrieve: Any, workers: int) -> None:
    done = rankgate.record(gold_of(), retrieve, tmp_path / "run.jsonl", workers=workers, allow_errors=4)
    assert (done.recorded, len(done.failures)) == (2, 4)


@pytest.mark.parametrize("retrieve", [interrupted_by_itself, interrupted_on_a_loop])
def test_in_another_thread_an_interrupt_of_its_own_is_a_failure(tmp_path: Path, retrieve: Any) -> None:
    with pytest.raises(RecordingError) as caught:
        rankgate.record(gold_of(), retrieve, tmp_path / "run.jsonl", workers=2)
    assert caught.value.recorded.failures[0].message == "KeyboardInterrupt"


def test_when_every_question_fails_the_old_run_stays(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("old")
    with pytest.raises(RecordingError) as caught:
        rankgate.record(gold_of(30), lambda _: None, path, allow_errors=30)
    *first, more, summary = map(str, caught.value.problems)
    assert first == [f"q{number}: the result is None; {EMPTY}" for number in range(1, 21)]
    assert more == "and 10 more"
    assert summary == f"every question failed; {path.as_posix()} is not written"
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"run.jsonl": "old"}


def test_provenance_stands_on_every_line_between_query_and_results(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    rankgate.record(gold_of(2), plain, path, provenance={"system": "hybrid", "chunker": {"overlap": 80}})
    assert [list(line) for line in read_lines(path)] == [
        ["query_id", TEXT_KEY, "system", "chunker", "topk", "latency_ms"]
    ] * 2
    assert read_run(str(path)).provenance == {"system": "hybrid", "chunker": {"overlap": 80}}


@pytest.mark.parametrize(
    ("provenance", "message"),
    [
        pytest.param({"topk": []}, "'topk' cannot be set for the whole run", id="the contract's own key"),
        pytest.param({"latency_ms": 3}, "'latency_ms' cannot be set for the whole run", id="another"),
        pytest.param({"index": object}, "the provenance: it cannot be written as JSON", id="not JSON"),
        pytest.param({"index": float("nan")}, "the provenance: it cannot be written as JSON", id="NaN"),
    ],
)
def test_provenance_that_does_not_fit_is_refused(tmp_path: Path, provenance: dict[str, Any], message: str) -> None:
    with pytest.raises(RankgateError, match=message):
        rankgate.record(gold_of(), plain, tmp_path / "run.jsonl", provenance=provenance)


def test_gzip_by_name_and_the_same_bytes_for_the_same_run(tmp_path: Path) -> None:
    def retrieve(question: str) -> dict[str, Any]:
        return {"topk": [question], "latency_ms": {"retrieve": 1}}

    paths = [tmp_path / "run.jsonl", tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"]
    for path in paths:
        rankgate.record(gold_of(), retrieve, path)
    plain_run, first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert gzip.decompress(first) == plain_run
    assert len(list(read_run(str(paths[1])).rankings)) == COUNT


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        pytest.param(
            '{"id": "q1", "expected_output": ["d"], "input": {"question": "What?"}}\n'
            '{"id": "q2", "expected_output": ["d"]}\n'
            '{"id": "q3", "expected_output": ["d"], "input": " "}\n',
            [
                "gold.jsonl:2: sample 'q2' has no question; add input.question",
                "gold.jsonl:3: sample 'q3' has no question; add input.question",
            ],
            id="some samples",
        ),
        pytest.param(
            "q1 0 d 1\n",
            ["gold.jsonl: no sample has a question (input.question), so there is nothing to ask; " + QRELS],
            id="qrels",
        ),
    ],
)
def test_samples_without_a_question_are_named_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, problems: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text(content)
    with pytest.raises(RankgateError) as caught:
        rankgate.record("gold.jsonl", pytest.fail, "run.jsonl")
    assert list(map(str, caught.value.problems)) == problems
    assert [file.name for file in tmp_path.iterdir()] == ["gold.jsonl"]


def test_an_unanswerable_sample_is_asked_too(tmp_path: Path) -> None:
    gold = tmp_path / "gold.yaml"
    gold.write_text(
        "samples:\n"
        "  - {id: 7, input: {question: 'Wo?'}, expected_output: [d]}\n"
        "  - {id: none, input: 'Où ?', metadata: {no_answer: true}}\n",
        encoding="utf-8",
    )
    rankgate.record(gold, lambda question: [question], tmp_path / "run.jsonl")
    asked = [(line["query_id"], line["topk"][0]["chunk_id"]) for line in read_lines(tmp_path / "run.jsonl")]
    assert asked == [("7", "Wo?"), ("none", "Où ?")]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("-", "a run cannot be recorded to standard output", id="standard output"),
        pytest.param(".", "is not a regular file; name a file for the run", id="directory"),
    ],
)
def test_a_run_needs_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RankgateError, match=message):
        rankgate.record(gold_of(), pytest.fail, path)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"workers": 0}, "workers=0: must be at least 1"),
        ({"allow_errors": -1}, "allow_errors=-1: must be at least 0"),
        ({"retries": -1}, "retries=-1: must be at least 0"),
        ({"timeout": 0.0}, "timeout=0: must be above 0"),
        ({"timeout": -1.0}, "timeout=-1: must be above 0"),
        ({"timeout": float("nan")}, "timeout=nan: must be above 0"),
    ],
)
def test_limits_have_ranges(tmp_path: Path, limits: dict[str, Any], message: str) -> None:
    with pytest.raises(RankgateError, match=message):
        rankgate.record(gold_of(), pytest.fail, tmp_path / "run.jsonl", **limits)


def test_inside_a_running_loop_an_async_function_has_its_own(tmp_path: Path) -> None:
    async def notebook() -> Any:
        return rankgate.record(gold_of(), awaiting, tmp_path / "run.jsonl", workers=2).recorded

    assert asyncio.run(notebook()) == COUNT


def test_a_function_that_stops_its_loop_does_not_hang_the_recording(tmp_path: Path) -> None:
    async def stopping(question: str) -> list[str]:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return [question]

    with pytest.raises(RankgateError, match="the retriever stopped its event loop"):
        rankgate.record(gold_of(), stopping, tmp_path / "run.jsonl")
