"""One gold set and one run as other tools wrote them: each read, given as the other kind, and cut within a row.

`written/tools/` has them under the tool's name and version: `….gold.…` are the judgments, `….run.…` the results. All
hold the same four queries, but for two files that are named below. The values are pytrec_eval's, of the same numbers.
"""

import gzip
from pathlib import Path

import pytest
from tests.rows import each_row

from rankgate.errors import RankgateError
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.readers.formats import read_gold, read_run

WRITTEN = Path(__file__).parent / "written"
TOOLS = WRITTEN / "tools"
GOLDS = sorted(path.name for path in TOOLS.glob("*.gold.*"))
RUNS = sorted([path.name for path in TOOLS.glob("*.run.*") if path.suffix not in (".arrow", ".lz4")])
RUNS += ["pyterrier-1.1.2.frame.csv"]
GAINS = {
    "q-1": {"doc-3": 1, "doc-9": 2, "doc-7": 0},
    "007": {"00123": 1, "ünï": 1},
    "301": {"4.0": 1, "a,b": 3, "doc-1": 0},
    "é4": {"doc-5": 1},
}
LISTS = {
    "q-1": ["doc-7", "doc-3", "doc-1", "doc-9", "doc-2"],
    "007": ["123", "ünï", "00123"],
    "301": ["a,b", "doc-1", "4.0", "doc-6"],
    "é4": ["doc-1", "doc-2"],
}
VALUES = {
    "mrr": {"q-1": 0.5, "007": 0.5, "301": 1.0, "é4": 0.0},
    "recall@3": {"q-1": 0.5, "007": 1.0, "301": 1.0, "é4": 0.0},
    "map": {"q-1": 0.5, "007": 0.5833333333333333, "301": 0.8333333333333333, "é4": 0.0},
    "ndcg@5": {"q-1": 0.5672074169568709, "007": 0.6934264036172708, "301": 0.9639404333166532, "é4": 0.0},
}


def problem_of(kind: str, path: Path) -> str:
    """What is wrong with a file that is read as this kind: one thing, with its file, or one a line."""
    with pytest.raises(RankgateError) as caught:
        read_as(kind, path)
    first, *others = caught.value.problems
    assert first.file is not None
    assert first.file.endswith(path.name)
    assert first.line is not None or not others
    return first.message


def read_as(kind: str, path: Path) -> None:
    if kind == "gold":
        read_gold(str(path))
    else:
        list(read_run(str(path)).rankings)


@each_row("name", GOLDS)
def test_gold(name: str) -> None:
    samples = read_gold(str(TOOLS / name)).samples
    assert {query_id: dict(sample.gains) for query_id, sample in samples.items()} == GAINS


@pytest.mark.full
@each_row("name", RUNS)
def test_run_and_its_values(name: str) -> None:
    rankings = list(read_run(str(TOOLS / name)).rankings)
    assert {ranking.query_id: ranking.ids for ranking in rankings} == LISTS
    plan = Plan(metrics=[parse_metric(metric) for metric in VALUES])
    scores = score(read_gold(str(TOOLS / "ranx-0.3.21.gold.json")), rankings, plan)
    for metric, values in VALUES.items():
        computed = dict(zip(scores.query_ids, scores.values[metric], strict=True))
        assert computed == pytest.approx(values, abs=1e-9), metric


RAGAS = WRITTEN / "ragas-0.4.3.results.jsonl"


@pytest.mark.full
@each_row("path", [*(TOOLS / name for name in [*GOLDS, *RUNS]), RAGAS], ids=lambda path: path.name)
def test_as_the_other_kind(path: Path) -> None:
    if path.name == "ranx-0.3.21.gold.parquet":  # whole numbers in a column `score`: what it is asked for as
        assert len(list(read_run(str(path)).rankings)) == len(GAINS)
        return
    message = problem_of("run" if ".gold." in path.name else "gold", path)
    assert any(advice in message for advice in ("swapped?", "`map: {", "name the format: dict", "has neither")), message


@pytest.mark.parametrize("path", [*(TOOLS / name for name in [*GOLDS, *RUNS]), RAGAS], ids=lambda path: path.name)
def test_cut_within_a_row(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    half = content[: len(content) // 2]
    if path.suffix not in (".parquet", ".gz"):
        rows = content.splitlines(keepends=True)
        middle = rows[len(rows) // 2]
        half = b"".join(rows[: len(rows) // 2]) + middle[: len(middle) // 2]
    cut = tmp_path / path.name
    cut.write_bytes(half)
    message = problem_of("gold" if ".gold." in path.name else "run", cut)
    words = ("broken JSON", "cells", "columns", "cannot be read as Parquet", "damaged gzip data", "not UTF-8")
    assert any(word in message for word in words), message


@pytest.mark.parametrize(
    ("name", "kind", "advice"),
    [
        ("polars-2.1.0.run.arrow", "run", "an Arrow or Feather file; write Parquet"),
        ("polars-2.1.0.run.arrow", "gold", "an Arrow or Feather file; write Parquet"),
        ("ranx-0.3.21.run.lz4", "run", "compressed by lz4; write JSON, or compress by gzip"),
        ("pandas-3.1.1.split.json", "run", 'a data frame as one object; write rows: to_json(path, orient="records")'),
        ("pandas-3.1.1.split.json", "gold", 'a data frame as one object; write rows: to_json(path, orient="records")'),
        ("pandas-3.1.1.columns.json", "run", 'write rows, as pandas does with to_json(path, orient="records")'),
        (
            "ir_datasets-0.6.3.qrels.tsv",
            "gold",
            "gain, iteration, as ir_datasets exports tsv; export with --format trec",
        ),
        (
            "ir_datasets-0.6.3.scoreddocs.tsv",
            "run",
            "three columns that end in a score need a header: query_id, doc_id,",
        ),
    ],
)
def test_what_is_no_format_here_is_named_with_what_to_write(name: str, kind: str, advice: str) -> None:
    assert advice in problem_of(kind, TOOLS / name)


def test_ranks_from_0_are_to_be_renumbered() -> None:
    with pytest.raises(RankgateError, match="'doc-7' has rank 0; ranks start at 1: renumber them"):
        list(read_run(str(TOOLS / "pyterrier-1.1.2.minimal.tsv")).rankings)


@pytest.mark.parametrize(
    ("begins", "advice"),
    [
        (b"PK\x03\x04\x14\x00", "a spreadsheet or a zip; save the sheet as CSV"),
        (b"\x80\x05\x95\x08\x06", "a pickle; write Parquet or JSON"),
        (b"SQLite format 3\x00", "a database; write the table as CSV"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "compressed by zstd"),
        (gzip.compress(b"\x1f\x8b\x08\x00", mtime=0), "compressed twice; unpack it once"),
        (b"BZh91AY&SY", "compressed by bzip2"),
        (b"\xfd7zXZ\x00\x00", "compressed by xz"),
    ],
)
@pytest.mark.parametrize("kind", ["run", "gold"])
def test_other_binary_files(kind: str, begins: bytes, advice: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(begins + bytes(40))
    assert f"that is {advice}" in problem_of(kind, path)
