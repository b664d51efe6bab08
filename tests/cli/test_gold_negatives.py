"""`rankgate gold negatives`: what is mined, where it is put in, and what the run loses by it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.cli import main
from rankgate.collecting.pool import hard_negatives, with_inserted
from rankgate.metrics.matching import BY_CHUNK, By, Matching
from rankgate.model.values import Details, Gold, Item, Ranking, Sample

BY_DOC = Matching(by=By.DOC)
IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)


def gold(**said: object) -> Gold:
    sample = Sample(query_id="q", **{"gains": {"a": 1.0, "b": 0.0}, **said})  # type: ignore[arg-type]
    return Gold(samples={"q": sample}, name="gold.json", format="json")


@pytest.mark.parametrize(
    ("said", "ids", "how", "expected"),
    [
        pytest.param({}, "xbaz", BY_CHUNK, {"x": 1, "b": 2}, id="above the first relevant one, judged or not"),
        pytest.param({}, "axb", BY_CHUNK, {}, id="nothing above it"),
        pytest.param({}, "xyzuv", BY_CHUNK, {"x": 1, "y": 2, "z": 3, "u": 4}, id="none found: to the depth"),
        pytest.param({"judge_gains": {"x": 2.0}}, "xya", BY_CHUNK, {"y": 2}, id="a judge calls it relevant"),
        pytest.param({"gains": {"b": 0.0}}, "xy", BY_CHUNK, {}, id="nothing relevant: nothing to confuse"),
        pytest.param({}, ["x#1", "x#2", "a#1"], BY_DOC, {"x": 1}, id="by document, once"),
        pytest.param({}, "", BY_CHUNK, {}, id="an empty list"),
    ],
)
def test_what_is_mined(said: Mapping[str, object], ids: Sequence[str], how: Matching, expected: dict[str, int]) -> None:
    found = hard_negatives(gold(**said), [Ranking("q", list(ids)), Ranking("stranger", ["x"])], 4, how)
    assert found == ({"q": expected} if expected else {})


@given(ids=IDS, places=st.dictionaries(st.integers(1, 9), st.sampled_from("fghxyz")), stated=st.booleans())
def test_what_is_put_in_stands_as_high_as_it_did_and_the_rest_keeps_its_order(
    ids: list[str], places: dict[int, str], stated: object
) -> None:
    negatives = {doc: rank for rank, doc in places.items()}
    details = Details(items=[Item(doc_id=f"doc-{each}") for each in ids]) if stated else None
    found = with_inserted(Ranking("q", ids, 0, details), negatives, BY_CHUNK)
    assert sorted(found.ids) == sorted({*ids, *negatives})
    rest = [each for each in ids if each not in negatives]
    assert [each for each in found.ids if each not in negatives] == rest
    for doc, rank in negatives.items():
        at = found.ids.index(doc) + 1
        assert at <= rank or set(found.ids[at:]) <= set(negatives)  # or at the end
    if ids and stated:
        assert found.details
        names = {each: item.doc_id for each, item in zip(found.ids, found.details.items or (), strict=True)}
        assert {each: names[each] for each in ids} == {each: f"doc-{each}" for each in ids}


def test_the_new_gold_set_and_the_drop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = '{"id": "q1",  "expected_output": ["a"], "negatives": ["n1"]}'
    Path("gold.jsonl").write_text(f'{first}\n{{"id": "q2", "expected_output": {{"b": 2, "x": 0}}}}\n')
    Path("run.jsonl").write_text('{"query_id": "q1", "topk": ["a"]}\n{"query_id": "q2", "topk": ["b", "x"]}\n')
    Path("other.jsonl").write_text('{"query_id": "q1", "topk": ["n1", "a"]}\n{"query_id": "q2", "topk": ["x", "y"]}\n')
    words = ["gold", "negatives", "gold.jsonl", "--run", "run.jsonl", "--metrics", "mrr,negatives_above@5"]
    assert main([*words, "--from", "other.jsonl", "-o", "new.jsonl"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(
        "wrote new.jsonl: 3 hard negatives in 2 of 2 questions, 2 of them new\n"
        "  1 judged not relevant, 2 not judged: these may be relevant\n"
    )
    assert " ".join(printed.splitlines()[3].split()[:4]) == "mrr 1.000 0.417 −0.583"  # 1/2 and 1/3
    lines = Path("new.jsonl").read_text().splitlines()
    assert lines[0] == first  # nothing new: as it was written
    assert json.loads(lines[1])["negatives"] == ["x", "y"]
    assert main([*words, "-o", "own.jsonl"]) == 0  # mined from itself: all of it stands there already
    assert "0 hard negatives in 0 of 2 questions" in capsys.readouterr().out
    assert Path("own.jsonl").read_text() == Path("gold.jsonl").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--depth", "0"], "--depth must be at least 1, not 0", id="no depth"),
        pytest.param(["--run", "run.jsonl", "--match", "text"], "negatives are ids", id="passages"),
        pytest.param([], "no run named", id="no run"),
        pytest.param(["--run", "-", "--from", "-"], "only one input can be read", id="two from standard input"),
        pytest.param(["--run", "run.jsonl", "--from", "gone.jsonl"], "gone.jsonl: no such file", id="no such run"),
        pytest.param(["--run", "run.jsonl", "-o", "run.jsonl", "--force"], "run.jsonl", id="over the run"),
    ],
)
def test_what_it_refuses(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text('{"id": "q", "expected_output": ["a"]}\n')
    Path("run.jsonl").write_text('{"query_id": "q", "topk": ["a"]}\n')
    assert main(["gold", "negatives", "gold.jsonl", *words]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
