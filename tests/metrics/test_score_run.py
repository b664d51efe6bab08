"""A run gives the same scores and the same errors, whether it is read quickly or carefully."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rankgate.errors import RankgateError
from rankgate.metrics.base import BaseMetric
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ReadProgress, score_run
from rankgate.metrics.scoring import score
from rankgate.model.scores import MatchedQuery, Scores
from rankgate.model.values import Gold, Ranking, Sample
from rankgate.readers.formats import read_run

ROOT = Path(__file__).resolve().parents[2]
GOLD = Gold(
    samples={
        "q1": Sample(query_id="q1", gains={"a": 1.0}),
        "q2": Sample(query_id="q2", gains={"b": 2.0, "c": 1.0, "x": 0.0}, judge_gains={"d": 1.0}, source=("kb",)),
        "q3": Sample(query_id="q3", gains={}, no_answer=True),
        "q4": Sample(query_id="q4", gains={"d": 1.0}, negatives=("a",), answers=("deep",)),
    },
    name="gold.yaml",
    format="yaml",
    fingerprint="",
)
PLAN = Plan(metrics=parse_metrics("recall@1,2,3,mrr,ndcg@10,map,precision@3"), keep_matched=True)
FULL = Plan(
    metrics=parse_metrics(
        "recall@2,recall(stage=raw)@2,recall(rewrite=1)@2,latency,latency(quantile=0.9),judged@3,negatives_above,mrr,"
        "containment@3,distinct_docs@3,novelty@3,freshness@3,source_coverage,entity_f1,score(faithful),overlap@3,rbo@3"
    ),
    depth=3,
    keep_matched=True,
    baseline_ids={"q1": ["a", "b"], "q2": ["c"]},
)


def outcome(work: Callable[[], Scores]) -> Scores | str:
    try:
        return work()
    except RankgateError as error:
        return str(error)


def carefully(path: Path, plan: Plan, form: str) -> Scores | str:
    return outcome(lambda: score(GOLD, read_run(str(path), form, needs=plan.needs).rankings, plan))


def scored(path: Path, plan: Plan, form: str) -> Scores | str:
    return outcome(lambda: score_run(GOLD, read_run(str(path), form, needs=plan.needs), plan))


def assert_same(path: Path, plan: Plan, form: str) -> Scores | str:
    expected = carefully(path, plan, form)
    found = scored(path, plan, form)
    assert found == expected
    if isinstance(found, Scores) and isinstance(expected, Scores):
        assert list(found.matched) == list(expected.matched)
        assert list(found.unstated) == list(expected.unstated)
    return expected


queries = st.sampled_from(["q1", "q2", "q3", "q4", "other", "stranger", "é"])
items = st.lists(st.sampled_from("abcdx"), max_size=6)


def told(query_id: str, ids: list[str], number: int, keys: set[str]) -> dict[str, Any]:
    """A line with some of all that a line can tell."""
    day = f"2025-01-0{number + 1}"
    items = [{"id": doc, "doc_id": f"d{number}", "doc_version": day, "text": f"{doc} deep"} for doc in ids]
    line = {
        "raw_topk": items[::-1],
        "latency_ms": {"retrieve": number},
        "rewrites": [{"topk": ids[1:]}],
        "source": "kb",
        "entities": ["e"] * number,
        "scores": {"faithful": number / 7},
    }
    return {"id": query_id, "topk": items, **{key: line[key] for key in line if key in keys}}


details = st.sets(st.sampled_from(["raw_topk", "latency_ms", "rewrites", "source", "entities", "scores"]))


def contract(query_id: str, ids: list[str]) -> dict[str, Any]:
    return {"query_id": query_id, "topk": [{"rank": n, "chunk_id": doc} for n, doc in enumerate(ids, start=1)]}


good_lines = st.one_of(
    st.builds(contract, queries, items.map(lambda ids: list(dict.fromkeys(ids)))),
    st.builds(contract, queries, items),
    st.builds(lambda query_id, ids: {"id": query_id, "retrieved": ids}, queries, items),
    st.builds(told, queries, items, st.integers(0, 3), details),
).map(lambda line: json.dumps(line, ensure_ascii=False).encode())
bad_lines = st.sampled_from(
    [
        b"{broken",
        b'{"query_id": "q1"}',
        b'{"query_id": "q2", "topk": [{"rank": 2, "chunk_id": "a"}]}',
        b'{"query_id": "q2", "topk": ["a"], "retrieved": ["b"]}',
        b'{"query_id": "q3", "topk": [{"rank": 1, "chunk_id": "a", "score": 1e999}]}',
        b'{"query_id": "q\xff", "topk": []}',
        b"[]",
    ]
)
ends = st.sampled_from([b"\n", b"\n", b"\r\n", b"\n\n", b"\n  \n"])


@st.composite
def files(draw: st.DrawFn, good: st.SearchStrategy[bytes], bad: st.SearchStrategy[bytes]) -> bytes:
    """Mostly flawless; with or without a byte order mark and an end of the last line."""
    lines = draw(st.lists(st.one_of(good, good, good, bad) if draw(st.booleans()) else good, min_size=1, max_size=12))
    content = b"".join(line + draw(ends) for line in lines)
    content = content if draw(st.booleans()) else content.rstrip()
    return b"\xef\xbb\xbf" * draw(st.booleans()) + content


@pytest.mark.full
@given(files(good_lines, bad_lines))
def test_jsonl(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    for plan in (PLAN, FULL):
        if content.removeprefix(b"\xef\xbb\xbf").strip():
            assert_same(path, plan, "jsonl")


scores_of_rows = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-3, 3).map(str),
    st.sampled_from(["1", "1.0", "+1", ".5", "1.", "1E2", "-0", "0", "007", "1e-400", "123456789012345678901"]),
)
blanks = st.sampled_from([" ", " ", " ", "\t", "  ", "\x0b"])


@st.composite
def trec_rows(draw: st.DrawFn) -> bytes:
    doc = draw(st.sampled_from(["a", "b", "c", "d", "x", "é", "d_1", "d\x1f1", "d\x001", "#"]))
    return draw(blanks).join([draw(queries), "Q0", doc, "1", draw(scores_of_rows), "tag"]).encode()


bad_rows = st.sampled_from(
    [
        b"q1 Q0 a 1 1_0 tag",
        b"q1 Q0 a 1 nan tag",
        b"q1 Q0 a 1 1e999 tag",
        b"q1 Q0 a 1 1,2 tag",
        b"q1 Q0 a 1 tag",
        b"q1 Q0 a 1 1 tag tag q2 Q0 a 1 1 tag",
        b"q1 Q0 \xff 1 1 tag",
        b"q1 Q0 \0 1",
    ]
)


@pytest.mark.full
@given(files(trec_rows(), bad_rows), st.booleans(), st.sampled_from([1, 40, 1 << 16]))
def test_trec(tmp_path: Path, content: bytes, together: bool, block: int) -> None:  # noqa: FBT001
    if together:
        content = b"\n".join(sorted(content.removeprefix(b"\xef\xbb\xbf").splitlines()))
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        return
    path = tmp_path / "run.trec"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankgate.readers.tables._BLOCK", block)
        assert_same(path, PLAN, "trec")


@given(st.lists(scores_of_rows, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_scores_of_a_trec_run_are_those_that_python_reads(tmp_path: Path, written: list[str], chance: Any) -> None:
    docs = [f"d{number}" for number in range(len(written))]
    chance.shuffle(docs)
    rows = [f"q1 Q0 {doc} 0 {number} tag\n" for doc, number in zip(docs, written, strict=True)]
    (tmp_path / "run.trec").write_text("".join(rows), encoding="utf-8")
    (found,) = read_run(str(tmp_path / "run.trec"), "trec").rankings
    assert found.ids == [doc for _, doc in sorted(zip(map(float, written), docs, strict=True), reverse=True)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param(
            ["q1", "q2", "other", "q2"], "run.jsonl:4: query 'q2' stands twice (first on line 2)", id="of the gold"
        ),
        pytest.param(
            ["q1", "other", "q2", "other"], "run.jsonl:4: query 'other' stands twice (first on line 2)", id="a stranger"
        ),
        pytest.param(["q1", "q1"], "run.jsonl:2: query 'q1' stands twice (first on line 1)", id="one after the other"),
    ],
)
def test_a_query_that_stands_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.jsonl").write_text("".join(f'{{"query_id": "{query}", "retrieved": ["a"]}}\n' for query in lines))
    found = assert_same(Path("run.jsonl"), PLAN, "jsonl")
    assert str(found).startswith(message)


def test_the_number_of_a_line_counts_from_the_beginning_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = [f'{{"query_id": "s{number}", "retrieved": []}}' for number in range(50)]
    Path("run.jsonl").write_text("\n".join([*good, "", '{"query_id": "q1", "retrieved": ["a"']))
    found = assert_same(Path("run.jsonl"), PLAN, "jsonl")
    assert str(found) == "run.jsonl:52: broken JSON: expecting ',' delimiter (column 37)"


def careful_reading_fails() -> Iterator[Ranking]:
    yield from ()
    raise AssertionError("was not flawless")


@pytest.mark.parametrize(
    ("form", "content"),
    [
        pytest.param("jsonl", b'{"query_id": "q1", "topk": [{"rank": 1, "chunk_id": "a"}]}\n' * 1, id="the contract"),
        pytest.param(
            "jsonl",
            b'\xef\xbb\xbf{"id": "q1", "retrieved": ["a", "a"]}\r\n\r\n  \n{"id": "q2", "topk": [{"id": "\xc3\xa9"}]}',
            id="other shapes",
        ),
        pytest.param("trec", b"q1 Q0 a 1 2 t\nq1 Q0 b 1 3 t\n\nq2 Q0 a 1 1 t\r\nq\xc3\xa9 Q0 a 1 1 t", id="TREC"),
    ],
)
def test_a_flawless_file_is_read_once(tmp_path: Path, form: str, content: bytes) -> None:
    path = tmp_path / "run"
    path.write_bytes(content)
    expected = carefully(path, PLAN, form)
    opened = replace(read_run(str(path), form), rankings=careful_reading_fails())
    assert score_run(GOLD, opened, PLAN) == expected


def test_scattered_rows_of_a_query_are_held_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("q1 Q0 x 1 1 t\nq2 Q0 b 1 1 t\nq1 Q0 a 1 2 t\n")
    found = assert_same(path, PLAN, "trec")
    assert isinstance(found, Scores)
    assert found.values["recall@1"] == [1.0, 0.5, None, 0.0]


class Touching(BaseMetric, frozen=True, kw_only=True):
    """Does something to the world at every query, as no metric should."""

    key: ClassVar[str] = "touching"
    formula: ClassVar[str] = "?"
    plain: ClassVar[str] = "?"
    touch: ClassVar[Callable[[], object]] = staticmethod(lambda: None)

    def per_query(self, query: MatchedQuery) -> float | None:
        type(self).touch()
        return 1.0


def run_file(tmp_path: Path, count: int = 4) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(f'{{"query_id": "q{number}", "retrieved": ["a"]}}\n' for number in range(1, count + 1)))
    return path


@pytest.mark.parametrize(
    ("added", "size"),
    [
        pytest.param(b'{"query_id": "new", "retrieved": []}\n', 193, id="grows by a line"),
        pytest.param(b'{"query_id": "new", "ret', 180, id="grows by half a line"),
        pytest.param(None, 20, id="shrinks"),
    ],
)
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, added: bytes | None, size: int
) -> None:
    monkeypatch.chdir(tmp_path)
    path = run_file(Path())

    def change() -> None:
        if path.stat().st_size == 156:
            if added is None:
                os.truncate(path, size)
            else:
                path.write_bytes(path.read_bytes() + added)

    monkeypatch.setattr(Touching, "touch", staticmethod(change))
    message = f"run.jsonl: the file changed from 156 to {size} bytes while it was read; try again once it is written"
    assert scored(path, Plan(metrics=[Touching()]), "jsonl") == message
    path = run_file(Path())
    if added:
        assert carefully(path, Plan(metrics=[Touching()]), "jsonl") == message


def test_another_file_in_its_place_is_not_read(tmp_path: Path) -> None:
    path = run_file(tmp_path)
    opened = read_run(str(path))
    path.rename(tmp_path / "old.jsonl")
    path.write_text('{"query_id": "q1", "retrieved": ["x"]}\n')
    assert score_run(GOLD, opened, PLAN) == carefully(tmp_path / "old.jsonl", PLAN, "jsonl")


def test_what_a_metric_raises_is_raised_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError("of a package")

    monkeypatch.setattr(Touching, "touch", staticmethod(fail))
    with pytest.raises(ZeroDivisionError, match="of a package"):
        score_run(GOLD, read_run(str(run_file(tmp_path))), Plan(metrics=[Touching()]))


@pytest.mark.parametrize("form", ["jsonl", "trec"])
def test_who_watches_sees_how_far_the_reading_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    path = run_file(tmp_path)
    if form == "trec":
        path.write_text("".join(f"q{number} Q0 a 1 1 t\n" for number in range(1, 5)))
    seen: list[float | None] = []
    progress = ReadProgress()
    monkeypatch.setattr(Touching, "touch", staticmethod(lambda: seen.append(progress.share())))
    score_run(GOLD, read_run(str(path)), Plan(metrics=[Touching()]), progress)
    assert progress.share() is None, "nothing is being read"
    assert set(seen) == {1.0}, "a small file is read at once"
