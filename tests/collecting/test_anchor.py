"""`gold anchor`: what stands once becomes a span, all else is listed and stays; and the spans judge as the ids did."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.cli import main
from rankgate.metrics.matching import By, Matching, match
from rankgate.model.values import Details, Item, Ranking
from rankgate.readers.formats import read_gold

DOCS = {
    "refund.md": "# Refunds\n\nRefunds are paid within 30 days. Contact us.\n\nRefunds need a receipt.\n",
    "ship.txt": "Shipped in 5 days. Contact us.\n",
}
RUN: list[dict[str, Any]] = [
    {"chunk_id": "c1", "doc_id": "refund.md", "text": "Refunds are paid within\n30 days."},
    {"chunk_id": "c2", "doc_id": "refund.md", "start": 59, "end": 81},
    {"chunk_id": "c3", "doc_id": "refund.md", "start": 59, "end": 810},
    {"chunk_id": "c4", "doc_id": "refund.md", "text": "Refunds"},
    {"chunk_id": "c5", "text": "Nowhere"},
    {"chunk_id": "c6", "doc_id": "gone.md", "start": 1, "end": 2},
]


def anchored(folder: Path, sample: dict[str, Any], *more: str, name: str = "out.jsonl") -> tuple[int, str]:
    """The exit code, and what was written."""
    for doc, text in DOCS.items():
        (folder / "docs").mkdir(exist_ok=True)
        (folder / "docs" / doc).write_text(text)
    items = [{"rank": rank, **item} for rank, item in enumerate(RUN, 1)]
    (folder / "run.jsonl").write_text(json.dumps({"query_id": "q", "topk": items}))
    (folder / "gold.jsonl").write_text(json.dumps({"id": "q", **sample}) + "\n")
    call = ["gold", "anchor", str(folder / "gold.jsonl"), "--corpus", str(folder / "docs"), *more]
    code = main([*call, "--run", str(folder / "run.jsonl"), "-o", str(folder / name), "--force"])
    return code, (folder / name).read_text()


PAID: dict[str, Any] = {"doc": "refund.md", "start": 11, "end": 43, "text": "Refunds are paid within 30 days."}
NEED: dict[str, Any] = {"doc": "refund.md", "start": 57, "end": 80, "text": "Refunds need a receipt."}


@pytest.mark.parametrize(
    ("expected", "answer", "more", "spans"),
    [
        pytest.param(["c1"], None, [], [PAID], id="the text of a chunk, other white space"),
        pytest.param({"c1": 2}, None, [], [{**PAID, "gain": 2}], id="a gain"),
        pytest.param(["c2"], None, [], [{"doc": "refund.md", "start": 59, "end": 81}], id="offsets of a chunk"),
        pytest.param(["refund.md"], ["never", "NEED a receipt"], [], [{**NEED, "start": 65, "end": 79}], id="answers"),
        pytest.param([], "refunds need a receipt.", [], [NEED], id="an answer alone"),
        pytest.param(["Refunds need a receipt."], None, ["--passages"], [NEED], id="a passage"),
        pytest.param(
            ["refund.md"],
            "\uff2e\uff25\uff25\uff24 a re\u00adceipt",
            [],
            [{**NEED, "start": 65, "end": 79}],
            id="full width",
        ),
        pytest.param([PAID, "c2"], None, [], [PAID, {"doc": "refund.md", "start": 59, "end": 81}], id="some already"),
    ],
)
def test_what_stands_once(
    expected: object, answer: object, more: list[str], spans: list[dict[str, Any]], tmp_path: Path
) -> None:
    code, text = anchored(tmp_path, {"expected_output": expected, "metadata": {"answer": answer, "own": 1}}, *more)
    found = json.loads(text)
    assert code == 0
    assert found["metadata"] == {"answer": answer, "own": 1}
    whole = DOCS["refund.md"]
    assert found["expected_output"] == [{**each, "text": whole[each["start"] : each["end"]]} for each in spans]
    nested = {"ids": expected, "answer": "x"}
    if answer is None:
        _, text = anchored(tmp_path, {"expected_output": nested}, *more, name="out.yaml")
        sample = read_gold(str(tmp_path / "out.yaml")).samples["q"]
        assert [(span.doc, span.start, span.end) for span in sample.spans.values()] == [
            (each["doc"], each["start"], each["end"]) for each in spans
        ]
        assert sample.answers == ("x",)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        pytest.param({"expected_output": ["c4"]}, "'c4' stands more than once ('refund.md:2-9', ", id="several"),
        pytest.param({"expected_output": ["c5"]}, "'c5' stands nowhere in the corpus", id="nowhere"),
        pytest.param(
            {"expected_output": ["c3"]}, "ends at 810, beyond its document, which has 81 code points", id="end"
        ),
        pytest.param(
            {"expected_output": ["c6"]}, "'c6' is of 'gone.md', which is no document of the corpus", id="gone"
        ),
        pytest.param({"expected_output": ["x1"]}, "'x1' is no chunk of --run or --chunks that", id="unknown"),
        pytest.param({"expected_output": ["ship.txt"]}, "'ship.txt' is a whole document; quote the answer", id="whole"),
        pytest.param({"expected_output": ["c1", "c5"]}, "'c5' stands nowhere", id="one of two"),
        pytest.param(
            {"expected_output": ["c1"], "judge_labels": {"c9": 1}},
            "judge_labels are ids ('c9'), which `match: span` does not read; remove judge_labels of the sample",
            id="labels",
        ),
        pytest.param({"expected_output": ["c1"], "negatives": ["c9"]}, "negatives are ids ('c9')", id="negatives"),
        pytest.param(
            {"expected_output": [], "metadata": {"answer": "contact us"}},
            "'contact us' stands more than",
            id="two docs",
        ),
        pytest.param(
            {"expected_output": ["ship.txt"], "metadata": {"answer": ["no", "x" * 99]}},
            f"'no' or '{'x' * 58}… stands nowhere in 'ship.txt'; quote it exactly",
            id="no answer stands there",
        ),
        pytest.param({"expected_output": [PAID, "c1"]}, "'c1' is the same passage as another", id="the same"),
        pytest.param({"expected_output": [{**PAID, "end": 900}]}, "ends at 900, beyond its document", id="beyond"),
        pytest.param({"expected_output": [{**PAID, "start": 14}]}, "correct its offsets", id="other text there"),
    ],
)
def test_what_does_not_is_listed_and_stays(
    sample: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = anchored(tmp_path, sample)
    assert code == 2
    assert json.loads(text) == {"id": "q", **sample}
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert f"gold.jsonl:1: expected_output: sample 'q': {message}" in errors[0] or message in errors[0]


WORDS = st.lists(
    st.sampled_from(["rye", "oat", "bun", "“bun”", "日本", "n°", "½", "the", "The", "a"]), min_size=30, max_size=60
)


@pytest.mark.full
@given(WORDS, st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), st.permutations(range(10)))
def test_anchored_gold_finds_what_its_ids_found(words: list[str], relevant: list[int], order: list[int]) -> None:
    size = len(words) // 10
    parts = [f"{number} {' '.join(words[number * size : (number + 1) * size])} {number}x" for number in range(10)]
    text = "\n".join(parts)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "d.txt").write_text(text)
        chunks = [{"id": f"c{number}", "doc_id": "d.txt", "text": part} for number, part in enumerate(parts)]
        (folder / "chunks.jsonl").write_text("".join(json.dumps(chunk) + "\n" for chunk in chunks))
        sample = {"id": "q", "expected_output": {f"c{number}": number % 3 + 1 for number in relevant}}
        (folder / "gold.jsonl").write_text(json.dumps(sample) + "\n")
        call = ["gold", "anchor", str(folder / "gold.jsonl"), "--corpus", str(folder / "d.txt")]
        assert main([*call, "--chunks", str(folder / "chunks.jsonl"), "-o", str(folder / "out.jsonl")]) == 0
        before, after = (read_gold(str(folder / file)).samples["q"] for file in ("gold.jsonl", "out.jsonl"))
    starts = [text.index(part) for part in parts]
    items = [Item("d.txt", start=starts[each], end=starts[each] + len(parts[each])) for each in order]
    ranking = Ranking("q", [f"c{each}" for each in order], 0, Details(items=items))
    by_span = match(after, ranking, how=Matching(by=By.SPAN))
    by_id = match(before, ranking)
    assert (by_span.hits, by_span.ideal, by_span.repeats) == (by_id.hits, by_id.ideal, ())
