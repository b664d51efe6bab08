"""Answers in the stored baseline: kept whatever the gates read, with what it takes to judge them again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.baselines.accepting import newest_of

from rankgate.baselines.packing import Packed, pack, recorded, unpack, with_context_texts
from rankgate.baselines.stores import store_for
from rankgate.cli import main
from rankgate.model.values import CONTEXT_DEPTH, Details, Generated, Ranking, RunField
from rankgate.readers.formats import read_run

ANSWER = frozenset({RunField.ANSWER})
WITH_TEXTS = frozenset({RunField.ANSWER, RunField.TEXTS})
LATER = frozenset({RunField.LATENCY, RunField.ANSWER})


def rankings(packed: Packed, needs: frozenset[RunField] = ANSWER) -> list[Ranking]:
    record = recorded(packed, source="run", provenance={}, gold=None, date="2026-01-31")
    return list(unpack(record, packed.data, needs, name="baseline").rankings)


def lines_of(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(data).decode().splitlines()]


# Any values come back.

TEXT = st.text(st.characters(codec="utf-8"))
IDS = st.lists(st.text(st.characters(codec="utf-8"), max_size=4), unique=True, max_size=8)
RESULT_IDS = IDS.map(lambda ids: [each for each in ids if each])  # of which none is empty


@st.composite
def answered(draw: st.DrawFn) -> tuple[dict[str, Any], Generated | None]:
    """A run line and what it states of an answer."""
    ids = draw(RESULT_IDS)
    texts = draw(st.none() | st.dictionaries(st.sampled_from(ids) if ids else TEXT, TEXT, max_size=3 * bool(ids)))
    elsewhere = draw(st.dictionaries(TEXT, TEXT, max_size=2))
    context = None
    if draw(st.booleans()):
        held = draw(st.permutations([*dict.fromkeys([*draw(st.permutations(ids)), *elsewhere])]))
        context = [each for each in held if each in elsewhere or draw(st.booleans())]
        texts = {each: text for each, text in {**(texts or {}), **elsewhere}.items() if each in context} or None
    keys: dict[str, Any] = {
        "answer": draw(st.none() | TEXT),
        "citations": draw(st.none() | IDS),
        "context": context,
        "context_texts": texts or None,
        "abstained": draw(st.none() | st.booleans()),
    }
    stated = {key: value for key, value in keys.items() if value is not None or draw(st.booleans())}
    found = Generated(
        answer=keys["answer"],
        citations=None if keys["citations"] is None else tuple(keys["citations"]),
        context=None if context is None else tuple(context),
        texts=keys["context_texts"],
        abstained=keys["abstained"],
    )
    line = {"query_id": "q", "topk": [{"rank": rank, "chunk_id": each} for rank, each in enumerate(ids, 1)], **stated}
    return line, None if found == Generated() else found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stored") / "run.jsonl"


@pytest.mark.full
@given(line=answered(), depth=st.integers(1, 9))
@example(line=({"query_id": "q", "topk": [], "abstained": True}, Generated(abstained=True)), depth=1)
def test_any_values_come_back(file: Path, line: tuple[dict[str, Any], Generated | None], depth: int) -> None:
    """Written, read, stored and read again; and once more, from what was stored, with the same bytes."""
    written, expected = line
    file.write_text(json.dumps(written, ensure_ascii=False) + "\n", encoding="utf-8", newline="")
    read = list(read_run(file.as_posix(), "jsonl", needs=ANSWER).rankings)
    assert [each.details.generated if each.details else None for each in read] == [expected]
    packed = pack(read, source="run", depth=depth)
    (found,) = rankings(packed)
    assert (found.details.generated if found.details else None) == expected
    assert found.ids[:depth] == read[0].ids[:depth]
    assert found.context() == read[0].context() if expected else len(found.ids) <= depth, "the same prompt"
    assert pack([found], source="run", depth=depth) == packed or packed.cut
    assert rankings(packed, frozenset()) == [Ranking("q", found.ids)], "without need it is left alone"


# What earlier versions wrote.

LINE = {
    "query_id": "q",
    "topk": [
        {
            "rank": 1,
            "chunk_id": "a#1",
            "doc_id": "a",
            "doc_version": "2025-06-01T10:00Z",
            "text": "30 days",
            "score": 2,
        },
        {"rank": 2, "chunk_id": "b#1", "doc_id": 7},
        {"rank": 3, "chunk_id": "c"},
    ],
    "raw_topk": ["z", {"chunk_id": "a#1", "text": "t"}],
    "rewrites": [{"query": "How?", "topk": ["a#1"]}],
    "latency_ms": {"retrieve": 35, "rerank": 22.5},
    "source": "kb",
    "entities": ["Porto"],
    "scores": {"faithfulness": {"value": 0.5, "judge": "j"}, "cost": None},
    "system": "x",
}
EVERYTHING = frozenset(RunField) - {RunField.TRAFFIC}
# Bytes that the version before answers stored of it, to a depth of 2.
BEFORE = {
    LATER: b'{"query_id":"q","retrieved":["a#1","b#1"],"latency_ms":{"retrieve":35.0,"rerank":22.5}}\n',
    WITH_TEXTS: b'{"query_id":"q","retrieved":[{"id":"a#1","text":"30 days"},{"id":"b#1"}]}\n',
    EVERYTHING: b'{"query_id":"q","retrieved":[{"id":"a#1","doc_id":"a","doc_version":"2025-06-01","text":"30 days",'
    b'"score":2.0},{"id":"b#1","doc_id":"7"}],"raw_topk":[{"id":"z"},{"id":"a#1","text":"t"}],'
    b'"rewrites":[{"topk":[{"id":"a#1"}]}],"latency_ms":{"retrieve":35.0,"rerank":22.5},"source":"kb",'
    b'"entities":["Porto"],"scores":{"faithfulness":{"value":0.5,"judge":"j"},"cost":null}}\n',
}


@pytest.mark.parametrize("needs", BEFORE, ids=["latencies", "texts", "everything"])
def test_a_run_without_answers_is_stored_as_before(tmp_path: Path, needs: frozenset[RunField]) -> None:
    path = tmp_path / "run"
    path.write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    packed = pack(read_run(path.as_posix(), needs=needs).rankings, source="run", depth=2)
    assert gzip.decompress(packed.data) == BEFORE[needs]
    assert not {"answer", "citations", "context", "context_texts", "abstained"} & {*packed.kept}


# What `baseline accept` keeps.

GOLD = '{"id": "q1", "expected_output": ["a"]}\n{"id": "q2", "expected_output": ["b"]}\n'
CRITERIA = """\
gates: [{{name: {gate}, regression_max: 0.1}}]
inputs: {{gold: gold.jsonl, run: run.jsonl, baseline: baseline}}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text(GOLD, encoding="utf-8")
    Path("ship-criteria.yaml").write_text(CRITERIA.format(gate="recall@1"), encoding="utf-8")


def accept(lines: Iterable[dict[str, Any]], *words: str) -> list[dict[str, Any]]:
    """Accept a run; the lines that are stored."""
    Path("run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["baseline", "accept", "--date", "2026-01-31", *words]) == 0
    manifest = newest_of()
    return lines_of(Path("baseline/rankings", manifest["run"]).read_bytes())


def items(ids: str) -> list[dict[str, Any]]:
    return [{"chunk_id": each, "text": each.upper()} for each in ids]


UNANSWERED = {"query_id": "q2", "topk": items("bc")}


@pytest.mark.parametrize(
    ("keys", "stored"),
    [
        pytest.param(
            {"answer": "A.", "citations": ["a"], "abstained": False, "context": ["g", "a"]},
            {
                "answer": "A.",
                "citations": ["a"],
                "context": ["g", "a"],
                "context_texts": {"g": "G", "a": "A"},
                "abstained": False,
            },
            id="the texts of the context",
        ),
        pytest.param(
            {"answer": ""},
            {"answer": "", "context_texts": {each: each.upper() for each in "abcde"}},
            id="those of the first five, where the run does not say",
        ),
        pytest.param(
            {"context": ["a", "parent"], "context_texts": {"parent": "P", "a": "cut"}},
            {"context": ["a", "parent"], "context_texts": {"a": "cut", "parent": "P"}},
            id="the line's own",
        ),
        pytest.param({"abstained": True, "context": []}, {"context": [], "abstained": True}, id="an empty prompt"),
    ],
)
def test_answers_are_kept_whatever_the_gates_read(keys: dict[str, Any], stored: dict[str, Any]) -> None:
    found = accept([{"query_id": "q1", "topk": items("abcdefg"), **keys}, UNANSWERED])
    assert found == [
        {"query_id": "q1", "retrieved": [*"abcdefg"], **stored},
        {"query_id": "q2", "retrieved": ["b", "c"]},
    ]
    assert main(["check", "--date", "2026-01-31"]) == 0, "it is compared with as any other"


def test_a_gate_that_reads_texts_keeps_them_all_with_the_items() -> None:
    """And where none does, the few beside an answer are not taken for all: the gate says that it lacks them."""
    Path("gold.jsonl").write_text(GOLD.replace('["a"]}', '["a"], "metadata": {"answer": "A"}}'), encoding="utf-8")
    answers = [{"query_id": "q1", "topk": items("abcdefg"), "answer": "A."}, UNANSWERED]
    accept(answers)
    Path("ship-criteria.yaml").write_text(CRITERIA.format(gate="containment@5"), encoding="utf-8")
    assert main(["check", "--date", "2026-01-31", "-o", "report.json"]) == 0
    (gate,) = json.loads(Path("report.json").read_text(encoding="utf-8"))["gates"]
    assert [reason["kind"] for reason in gate["reasons"]] == ["not_stated"]
    found = accept(answers, "--reason", "texts")
    assert found[0] == {
        "query_id": "q1",
        "retrieved": [{"id": e, "text": e.upper()} for e in "abcdefg"],
        "answer": "A.",
    }


@pytest.mark.parametrize("gate", ["recall@1", "containment@1"])
@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        pytest.param({"answer": "A."}, {"recall@1": 5, "containment@1": 5}, id="the first five"),
        pytest.param({"answer": "A.", "context": ["f", "a"]}, {"recall@1": 1, "containment@1": 6}, id="by its context"),
    ],
)
def test_a_list_is_kept_as_deep_as_its_prompt_needs(keys: dict[str, Any], kept: dict[str, int], gate: str) -> None:
    """So that what the prompt held is the same when it is read again; scores are of the depth that was asked for."""
    Path("ship-criteria.yaml").write_text(CRITERIA.format(gate=gate), encoding="utf-8")
    Path("gold.jsonl").write_text(
        '{"id": "q1", "expected_output": ["a", "b"], "metadata": {"answer": "A"}}\n', encoding="utf-8"
    )
    lines = [{"query_id": "q1", "topk": items("abcdefg"), **keys}]
    (found,) = accept(lines, "--depth", "1")
    assert len(found["retrieved"]) == kept[gate]
    opened = store_for("baseline").open(WITH_TEXTS)
    assert opened is not None
    (before,), (after,) = read_run("run.jsonl", needs=WITH_TEXTS).rankings, opened.rankings
    assert after.context() == before.context()
    assert opened.depth == 1


def test_a_run_without_answers_may_have_texts_in_any_shape() -> None:
    lines = [{"query_id": "q1", "topk": [{"chunk_id": "a", "text": {"parts": [1]}}]}, {**UNANSWERED, "topk": ["b"]}]
    assert accept(lines) == [{"query_id": "q1", "retrieved": ["a"]}, {"query_id": "q2", "retrieved": ["b"]}]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            {"query_id": "q1", "topk": ["a"], "answer": {"text": "own"}},
            "run.jsonl:1: answer: expected text, found a mapping",
            id="an answer that is none",
        ),
        pytest.param(
            {"query_id": "q1", "topk": [{"chunk_id": "a", "text": 5}], "answer": "A."},
            "run.jsonl:1: topk[0].text: expected text, found a whole number",
            id="a passage that is none",
        ),
    ],
)
def test_what_cannot_be_judged_later_is_not_accepted(
    line: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert main(["baseline", "accept"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("baseline").exists()


def test_texts_beside_the_answers_alone() -> None:
    """Unanswered lines and all other details stay as they were read."""
    details = Details(latency_ms={"retrieve": 5.0}, generated=Generated(answer="A."))
    plain, answer = Ranking("q1", ["a"]), Ranking("q2", ["a", "b"], 1, details)
    (path := Path("run.jsonl")).write_text(
        '{"query_id": "q2", "topk": [{"chunk_id": "a", "text": "A"}, "b"], "answer": "A."}\n'
    )
    (with_texts,) = read_run(path.as_posix(), needs=WITH_TEXTS).rankings
    first, second = with_context_texts([plain, answer], [plain, with_texts])
    assert first is plain
    expected = Details(latency_ms={"retrieve": 5.0}, generated=Generated(answer="A.", texts={"a": "A"}))
    assert second == Ranking("q2", ["a", "b"], 1, expected)
    assert CONTEXT_DEPTH == 5
