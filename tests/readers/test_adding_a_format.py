"""A format is one module and one row: what else needs to know of it derives from the table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.rows import each_row

from rankgate.cli.options import SHARED
from rankgate.errors import RankgateError
from rankgate.model.values import Ranking, RunField, Sample
from rankgate.readers import formats
from rankgate.readers.base import ProblemLog
from rankgate.readers.formats import GOLD_FORMATS, RUN_FORMATS, gold_format, read_gold, read_run, run_format
from rankgate.readers.recognition import Beginning, GoldFormat, Likeness, RunFormat
from rankgate.readers.source import Source

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "rankgate"


def arrows(start: Beginning) -> Likeness:
    return Likeness.YES if b" -> " in start.line else Likeness.NO


def read_arrows(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    del needs, log
    for _, line in source.lines():
        query, _, docs = line.decode().partition(" -> ")
        yield Ranking(query, docs.split())


def read_gold_arrows(source: Source, log: ProblemLog) -> dict[str, Sample]:
    del log
    rows = [line.decode().split(" -> ") for _, line in source.lines()]
    return {query: Sample(query_id=query, gains={docs.strip(): 1.0}) for query, docs in rows}


RUN = RunFormat(recognise=arrows, read=read_arrows, shape="`q -> a b`", order="the list", looks_like="that has arrows")
GOLD = GoldFormat(recognise=arrows, read=read_gold_arrows, shape="`q -> a`", looks_like="that has arrows, as gold")


@pytest.fixture
def content(tmp_path: Path) -> str:
    (tmp_path / "file").write_text("q -> a\n")
    return str(tmp_path / "file")


def test_one_row_of_runs_is_all_that_a_format_takes(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recognised, read, forced, named in the help and in errors, and told from a gold set."""
    monkeypatch.setitem(RUN_FORMATS, "arrows", f"{__name__}:RUN")
    read = read_run(content)
    assert (read.format, [(each.query_id, each.ids) for each in read.rankings]) == ("arrows", [("q", ["a"])])
    assert read_run(content, "arrows").format == "arrows"
    with pytest.raises(RankgateError, match=r"did you mean 'arrows'\? \(known: .*, parquet, arrows\)"):
        read_run(content, "arows")
    with pytest.raises(RankgateError, match="cannot be read as a gold set: it starts with 'q -> a'; that has arrows;"):
        read_gold(content)


def test_one_row_of_gold_sets_is_all_that_a_format_takes(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GOLD_FORMATS, "arrows", f"{__name__}:GOLD")
    gold = read_gold(content)
    assert (gold.format, gold.samples["q"].gains) == ("arrows", {"a": 1.0})
    with pytest.raises(RankgateError, match=r"that has arrows, as gold; .*Name it with --gold FILE"):
        read_run(content)


@pytest.mark.parametrize(("option", "table"), [("gold", GOLD_FORMATS), ("run", RUN_FORMATS)])
def test_the_help_lists_every_row(option: str, table: Mapping[str, object]) -> None:
    assert f"({', '.join(table)};" in SHARED[option][1]


@pytest.mark.full
@each_row(
    ("table", "name"),
    [
        *(pytest.param("gold", name, id=f"gold, {name}") for name in GOLD_FORMATS),
        *(pytest.param("run", name, id=f"run, {name}") for name in RUN_FORMATS),
    ],
)
def test_no_other_module_names_a_format_of_its_own(table: str, name: str) -> None:
    """Its module is named by its row alone, except by modules that read that very format on purpose."""
    place = (GOLD_FORMATS if table == "gold" else RUN_FORMATS)[name]
    module, _, value = place.partition(":")
    others = [path for path in SOURCE.rglob("*.py") if path.stem != "formats"]
    imports = [path.name for path in others if re.search(rf"from {module} import [^\n]*\b{value}\b", path.read_text())]
    assert imports == []


def row_of(name: str, table: str) -> str:
    found = gold_format(name) if table == "gold" else run_format(name)
    return " | ".join([found.shape, *([found.order] if isinstance(found, RunFormat) else [])])


@pytest.mark.parametrize("table", ["gold", "run"])
def test_the_page_lists_the_table(table: str) -> None:
    """Every row of the tables of docs/formats.md is what the format says of itself, in the order of the table."""
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    heading = "| format | what it looks like |\n" if table == "gold" else "| format | what it looks like | what orders"
    written = page.partition(heading)[2].partition("\n\n")[0].splitlines()
    rows = dict(re.findall(r"^\| (`.+?`) \| (.+) \|$", "\n".join(written), re.MULTILINE))
    found = {name: row_of(name, table) for name in (GOLD_FORMATS if table == "gold" else RUN_FORMATS)}
    by_shape: dict[str, list[str]] = {}
    for name, row in found.items():
        by_shape.setdefault(row, []).append(f"`{name}`")
    assert rows == {", ".join(names): row for row, names in by_shape.items()}


def test_readers_of_other_formats_are_not_imported(tmp_path: Path) -> None:
    """A check of the usual formats pays for no other."""
    (tmp_path / "gold.yaml").write_text("samples:\n  - {id: q, expected_output: [a]}\n")
    (tmp_path / "run.jsonl").write_text('{"query_id": "q", "topk": [{"rank": 1, "chunk_id": "a"}]}\n')
    program = (
        "import sys\nfrom rankgate.readers.formats import read_gold, read_run\n"
        "read_gold('gold.yaml')\nlist(read_run('run.jsonl').rankings)\nprint(*sys.modules)"
    )
    command = [sys.executable, "-c", program]
    environment = {"PYTHONPATH": str(SOURCE.parent), "PATH": ""}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    places = [each.partition(":")[0] for each in (*GOLD_FORMATS.values(), *RUN_FORMATS.values())]
    loaded = set(done.stdout.split()) & set(places)
    assert loaded == {"rankgate.readers.gold_text", "rankgate.readers.run_lines"}
    assert formats.__name__ in done.stdout
