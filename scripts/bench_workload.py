"""Writes the workloads that scripts/bench measures; the same files on every machine.

    python scripts/bench_workload.py DIR [--queries N] [--depth N] [--seed N] [--run-only] [--parquet] [--tagged]

DIR then holds `gold.jsonl`, `run.jsonl` (the candidate), `accepted.jsonl` (the run before it), the same as
`qrels.txt`, `run.trec` and `accepted.trec`, and a `ship-criteria.yaml` under which the candidate passes. With
`--run-only` the accepted run and the criteria are left out; with `--parquet` the candidate is there as `run.parquet`
too, which takes DuckDB. With `--tagged` a query of the gold set has a question and two tags, of 12 languages and 20
topics, and `corpus.jsonl` has a passage of about 600 characters for each document among the first ten of any list. A
`workload.json` that names all files and their sizes comes last: where it is there and fits, nothing is written.

A query has one to three relevant documents, in three of ten queries graded 1 to 3 with one document judged 0 beside
them. About five in six relevant documents are retrieved, near the top more often than far down. The accepted run is the
candidate's with one document moved in three of ten lists, and with latencies of its own.

One query is held at a time, so that memory does not grow with their number, but for the ids that have a passage.
"""

import argparse
import importlib.util
import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import NamedTuple, TextIO

WRITER = 3  # raised whenever the same parameters give other files than before
MARKER = "workload.json"
DOCUMENTS = 1_000_000
MAX_RELEVANT = 3
LANGUAGES, TOPICS = 12, 20
LISTED = 10  # results of each list that have a passage
GRADED = 0.3  # of the queries
FOUND = 0.85  # of the relevant documents
MOVED = 0.3  # of the lists, between the accepted run and the candidate
NEXT_RANK = 0.75  # how likely a relevant document stands lower still, at every rank
BUFFER = 1 << 20
CRITERIA = """\
inputs:
  gold: gold.jsonl
  run: run.jsonl
  baseline: baseline
gates:
  - {name: recall@5, threshold: 0.55, regression_max: 0.03}
  - {name: mrr, threshold: 0.40, regression_max: 0.05}
  - {name: ndcg@10, threshold: 0.45, regression_max: 0.03}
  - {name: map, threshold: 0.35, regression_max: 0.03}
  - {name: hit@10, threshold: 0.75, severity: warning}
  - {name: latency(quantile=0.95), threshold: 200, regression_max: 10, severity: warning}
"""
TO_PARQUET = """\
COPY (
    SELECT query_id, rank, chunk_id, score, 'v' || (1 + rank % 3) AS doc_version
    FROM read_csv(?, delim = ' ', header = false, quote = '', columns = {
        query_id: 'VARCHAR', q0: 'VARCHAR', chunk_id: 'VARCHAR', rank: 'INTEGER', score: 'DOUBLE', tag: 'VARCHAR'
    })
) TO TARGET (FORMAT parquet)
"""


class Workload(NamedTuple):
    """What is to be written: how many queries of how many results, drawn from which seed, and with what beside them."""

    queries: int = 1_400
    depth: int = 20
    seed: int = 1
    accepted: bool = True
    tagged: bool = False

    @property
    def needs(self) -> int:
        """About how many bytes of disk it takes, Parquet included."""
        runs = 2 if self.accepted else 1
        return self.queries * (runs * (self.depth * 130 + 100) + 150)


class Query(NamedTuple):
    """A query's judgments and two rankings for it, best first."""

    query_id: str
    gains: dict[str, int]
    candidate: list[str]
    accepted: list[str]


class Incomplete(Exception):  # noqa: N818 -- a state, not an error
    """The directory does not hold the workload."""


def draw(number: int, depth: int, random: Random) -> Query:
    """One query of the workload."""
    drawn = random.sample(range(DOCUMENTS), depth + MAX_RELEVANT)
    documents = [f"doc-{document:06d}#c{document % 10}" for document in drawn]
    ranking, elsewhere = documents[:depth], documents[depth:]
    graded = random.random() < GRADED
    gains: dict[str, int] = {}
    for place in range(random.choices((1, 2, 3), weights=(60, 25, 15))[0]):
        rank = int(math.log(1 - random.random()) / math.log(NEXT_RANK))
        found = random.random() < FOUND and rank < depth
        gains[ranking[rank] if found else elsewhere[place]] = random.randint(1, 3) if graded else 1
    if graded:
        gains.setdefault(ranking[depth // 2], 0)
    accepted = list(ranking)
    if random.random() < MOVED:
        accepted.insert(random.randrange(depth), accepted.pop(random.randrange(depth)))
    return Query(f"q{number:07d}", gains, ranking, accepted)


def drawn(workload: Workload) -> Iterator[Query]:
    """All queries, one after the other."""
    random = Random(workload.seed)  # noqa: S311 -- data for a benchmark, not a secret
    return (draw(number, workload.depth, random) for number in range(workload.queries))


def described(number: int) -> dict[str, object]:
    """The question of a query and its tags."""
    tags = [f"lang:l{number % LANGUAGES:02d}", f"topic:t{number * 7 % TOPICS:02d}"]
    question = f"question {number}: how do I change the delivery address of an order that has been paid?"
    return {"input": {"question": question}, "metadata": {"tags": tags}}


def passage(document: str, words: Sequence[str]) -> dict[str, str]:
    """A document of the corpus: words drawn by its id."""
    return {"id": document, "text": " ".join(Random(document).choices(words, k=90))}  # noqa: S311 -- as above


class GoldFiles:
    """`gold.jsonl` and `qrels.txt`; judgments that are all 1 are a plain list in the former."""

    def __init__(self, directory: Path, opened: ExitStack, *, tagged: bool) -> None:
        self._lines = _open(directory / "gold.jsonl", opened)
        self._rows = _open(directory / "qrels.txt", opened)
        self._tagged = tagged
        self._written = 0

    def add(self, query: Query) -> None:
        """Write one query's judgments."""
        binary = set(query.gains.values()) == {1}
        expected = list(query.gains) if binary else query.gains
        about = described(self._written) if self._tagged else {}
        self._written += 1
        line = json.dumps({"id": query.query_id, "expected_output": expected, **about}, separators=(",", ":"))
        self._lines.write(f"{line}\n")
        self._rows.writelines(f"{query.query_id} 0 {document} {gain}\n" for document, gain in query.gains.items())


class RunFiles:
    """A run as NAME.jsonl and NAME.trec; scores fall strictly, so that no tool has to break a tie."""

    def __init__(self, directory: Path, name: str, seed: str, opened: ExitStack) -> None:
        self._name = name
        self._random = Random(seed)  # noqa: S311 -- as above
        self._lines = _open(directory / f"{name}.jsonl", opened)
        self._rows = _open(directory / f"{name}.trec", opened)

    def add(self, query_id: str, ranking: Sequence[str]) -> None:
        """Write one query's results, in the shape of the contract but without a JSON encoder, for the sake of speed."""
        random = self._random.random
        ranked = [(rank, id_, 20 - 0.1 * rank - 0.05 * random()) for rank, id_ in enumerate(ranking, start=1)]
        items = ",".join(
            f'{{"rank":{rank},"chunk_id":"{id_}","score":{score:.6f},"doc_version":"v{1 + rank % 3}"}}'
            for rank, id_, score in ranked
        )
        times = f'{{"retrieve":{5 + 40 * random():.3f},"rerank":{20 + 100 * random():.3f}}}'
        self._lines.write(f'{{"query_id":"{query_id}","topk":[{items}],"latency_ms":{times}}}\n')
        rows = (f"{query_id} Q0 {id_} {rank} {score:.6f} {self._name}\n" for rank, id_, score in ranked)
        self._rows.write("".join(rows))


def write_workload(directory: Path, workload: Workload) -> None:
    """All files of the workload but the Parquet, whatever is there."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARKER).unlink(missing_ok=True)
    with ExitStack() as opened:
        gold = GoldFiles(directory, opened, tagged=workload.tagged)
        candidate = RunFiles(directory, "run", f"run {workload.seed}", opened)
        before = RunFiles(directory, "accepted", f"accepted {workload.seed}", opened) if workload.accepted else None
        corpus = _open(directory / "corpus.jsonl", opened) if workload.tagged else None
        seen: set[str] = set()
        words = [f"{first}{last}" for first in ("de", "or", "pay", "re", "con") for last in ("liver", "fund", "tact")]
        for query in drawn(workload):
            gold.add(query)
            listed = {*query.candidate[:LISTED], *query.accepted[:LISTED]} if corpus else set()
            for document in sorted(listed - seen):
                print(json.dumps(passage(document, words)), file=corpus)
            seen |= listed
            candidate.add(query.query_id, query.candidate)
            if before:
                before.add(query.query_id, query.accepted)
    names = ["gold.jsonl", "qrels.txt", "run.jsonl", "run.trec"]
    if workload.accepted:
        (directory / "ship-criteria.yaml").write_text(CRITERIA, encoding="ascii")
        names += ["accepted.jsonl", "accepted.trec", "ship-criteria.yaml"]
    _mark(directory, workload, [*names, *["corpus.jsonl"] * workload.tagged])


def write_parquet(directory: Path, workload: Workload) -> None:
    """`run.parquet`, one result a row, beside the rest of the workload."""
    import duckdb  # noqa: PLC0415 -- only here, and seldom installed

    with duckdb.connect(":memory:") as connection:
        # Older releases take no parameter for the file that is written.
        target = "'" + str(directory / "run.parquet").replace("'", "''") + "'"
        connection.execute(TO_PARQUET.replace("TARGET", target), [str(directory / "run.trec")])
    _mark(directory, workload, [*files_of(directory, workload), "run.parquet"])


def files_of(directory: Path, workload: Workload) -> list[str]:
    """Names of the files that are there.

    Raises:
        Incomplete: they are not all there, or not as the marker says, or another workload's.
    """
    try:
        marker = json.loads((directory / MARKER).read_text(encoding="ascii"))
        sizes: dict[str, int] = marker.pop("files")
        whole = all((directory / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError) as error:
        raise Incomplete from error
    if not whole or marker != {**workload._asdict(), "writer": WRITER}:
        raise Incomplete
    return list(sizes)


def make(directory: Path, workload: Workload, *, parquet: bool = False) -> bool:
    """Write what is missing of a workload; whether that was anything."""
    wrote = False
    try:
        files = files_of(directory, workload)
    except Incomplete:
        write_workload(directory, workload)
        files, wrote = files_of(directory, workload), True
    if parquet and "run.parquet" not in files:
        write_parquet(directory, workload)
        wrote = True
    return wrote


def _open(path: Path, opened: ExitStack) -> TextIO:
    return opened.enter_context(path.open("w", buffering=BUFFER, encoding="ascii", newline="\n"))


def _mark(directory: Path, workload: Workload, names: Sequence[str]) -> None:
    sizes = {name: (directory / name).stat().st_size for name in names}
    marker = {**workload._asdict(), "writer": WRITER, "files": sizes}
    (directory / MARKER).write_text(json.dumps(marker, indent=2) + "\n", encoding="ascii")


def main() -> int:
    """Write what the arguments say."""
    parser = argparse.ArgumentParser(description="Write a workload that scripts/bench measures.")
    parser.add_argument("directory", metavar="DIR", type=Path, help="where to write; made if missing")
    parser.add_argument("--queries", metavar="N", type=int, default=Workload().queries)
    parser.add_argument("--depth", metavar="N", type=int, default=Workload().depth)
    parser.add_argument("--seed", metavar="N", type=int, default=Workload().seed)
    parser.add_argument("--run-only", action="store_true", help="neither an accepted run nor criteria")
    parser.add_argument("--parquet", action="store_true", help="also run.parquet; takes DuckDB")
    parser.add_argument("--tagged", action="store_true", help="questions and tags in the gold set, and a corpus")
    arguments = parser.parse_args()
    if arguments.parquet and importlib.util.find_spec("duckdb") is None:
        parser.error("--parquet: DuckDB is not installed here")
    workload = Workload(
        arguments.queries, arguments.depth, arguments.seed, not arguments.run_only, tagged=arguments.tagged
    )
    wrote = make(arguments.directory, workload, parquet=arguments.parquet)
    print("written" if wrote else "was there already", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
