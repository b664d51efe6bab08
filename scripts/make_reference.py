#!/usr/bin/env python3
"""Writes tests/reference: a small gold set, two runs, and what other tools make of them, query by query.

    scripts/make_reference.py [--trec-eval PROGRAM] [--check]

The gold set and the runs depend on this script alone. They hold what implementations disagree about: grades from -1
to 3, documents that nobody judged, tied scores, a query without relevant documents, one with more of them than any
cut-off, lists shorter than the cut-off, and queries that a run lacks. Each tool has a file of its own, whose first
line names its version: pytrec_eval and ir_measures are imported, trec_eval is a program that you have, and without it
its file stays as it is. `--check` compares with the committed files instead of writing.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ir_measures
import pytrec_eval

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "reference"

QUERIES = 30
POOL = 40  # documents that a query is about
NOTHING_RELEVANT, ONE_RELEVANT, MANY_RELEVANT = "q07", "q11", "q19"
SHORT, LACKED = "q05", ("q13", "q28")  # a list of three; queries that the run `ties` lacks

TREC_EVAL = (
    *("map", "recip_rank", "ndcg", "ndcg_cut.5,10", "P.1,5,10", "recall.1,3,5,10,20", "success.1,5,10"),
    *("set_P", "set_recall", "set_F"),
)
FROM_TWO = ("map", "recip_rank", "recall.5,10", "success.5")  # with relevance_level 2
IR_MEASURES = (
    *("AP", "AP(rel=2)", "RR", "RR(rel=2)", "RR@10", "P@5", "P(rel=2)@10", "R@5", "R(rel=2)@10", "Success@5"),
    *("SetP", "SetR", "SetF", "nDCG", "nDCG@5", "nDCG@10", "nDCG(gains={0: 0, 1: 1, 2: 3, 3: 7})@10", "Judged@10"),
)
SAME = 1e-9  # values of two versions of a tool

Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]
Values = dict[str, dict[str, float]]  # by query and measure


def gold_set() -> Grades:
    """Grades by query and document."""
    chance = random.Random(1)  # noqa: S311 -- the same numbers each time
    grades: Grades = {}
    for number in range(1, QUERIES + 1):
        query_id = f"q{number:02}"
        weights = {NOTHING_RELEVANT: (1, 9, 0, 0, 0), MANY_RELEVANT: (0, 0, 5, 3, 2)}.get(query_id, (1, 8, 3, 2, 1))
        judged = chance.sample(range(POOL), 26 if query_id == MANY_RELEVANT else chance.randint(8, 16))
        found = {f"d{number}-{doc}": chance.choices((-1, 0, 1, 2, 3), weights)[0] for doc in judged}
        if query_id == ONE_RELEVANT:
            found = {doc: 2 if place == 0 else 0 for place, doc in enumerate(found)}
        grades[query_id] = found
    return grades


def run(gold: Grades, name: str) -> Scores:
    """Scores by query and document: in `ties` they are rounded to halves and queries are lacking."""
    chance = random.Random(name)  # noqa: S311
    scores: Scores = {}
    for number, (query_id, grades) in enumerate(gold.items(), 1):
        if name == "ties" and query_id in LACKED:
            continue
        length = 3 if query_id == SHORT else chance.randint(12, 30)
        docs = [f"d{number}-{doc}" for doc in range(POOL)]
        found = {doc: 2 * grades.get(doc, 0) + chance.gauss(0, 3) for doc in chance.sample(docs, length)}
        scores[query_id] = {
            doc: round(2 * score) / 2 if name == "ties" else round(score, 4) for doc, score in found.items()
        }
    return scores


def by_pytrec_eval(gold: Grades, scores: Scores) -> Values:
    """All digits, for the queries of the run."""
    found = pytrec_eval.RelevanceEvaluator(gold, TREC_EVAL).evaluate(scores)
    strict = pytrec_eval.RelevanceEvaluator(gold, FROM_TWO, relevance_level=2).evaluate(scores)
    return {query_id: {**found[query_id], **_level_two(strict[query_id])} for query_id in sorted(found)}


def by_ir_measures(gold: Grades, scores: Scores) -> Values:
    """All digits, for every query of the gold set: what a run lacks has 0.

    Each measure by itself: asked for several, 0.4.3 takes the `gains` of one for another's, by the seed of hashes.
    """
    found: Values = {query_id: {} for query_id in gold}
    for measure in map(ir_measures.parse_measure, IR_MEASURES):
        for each in ir_measures.iter_calc([measure], gold, scores):
            found[each.query_id][str(each.measure)] = each.value
    return {query_id: dict(sorted(values.items())) for query_id, values in found.items()}


def by_trec_eval(program: str, qrels: Path, scores: Path) -> Values:
    """Four decimals, for the queries of the run."""

    def printed(level: int, measures: tuple[str, ...]) -> Iterator[tuple[str, str, float]]:
        chosen = [word for measure in measures for word in ("-m", measure)]
        command = [program, "-q", "-n", "-l", str(level), *chosen, str(qrels), str(scores)]
        for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
            measure, query_id, value = line.split()
            yield query_id, measure, float(value)

    found: Values = {}
    for query_id, measure, value in printed(1, TREC_EVAL):
        found.setdefault(query_id, {})[measure] = value
    for query_id, measure, value in printed(2, FROM_TWO):
        found[query_id] |= _level_two({measure: value})
    return found


def _level_two(values: Mapping[str, float]) -> dict[str, float]:
    return {f"{measure} -l2": value for measure, value in values.items()}


def files(program: str | None) -> Iterator[tuple[str, str]]:
    """Every file's name and text."""
    gold = gold_set()
    runs = {name: run(gold, name) for name in ("plain", "ties")}
    lines = [
        {"id": query_id, "input": {"question": query_id}, "expected_output": gains} for query_id, gains in gold.items()
    ]
    qrels = "".join(f"{query_id} 0 {doc} {gain}\n" for query_id, gains in gold.items() for doc, gain in gains.items())
    trec = {name: "".join(_trec(name, scores)) for name, scores in runs.items()}
    yield "gold.jsonl", _jsonl(lines)
    yield "qrels.trec", qrels
    yield from ((f"{name}.trec", text) for name, text in trec.items())
    yield (
        "plain.jsonl",
        _jsonl([{"query_id": query_id, "topk": _topk(found)} for query_id, found in runs["plain"].items()]),
    )
    tools = {"pytrec_eval": ("pytrec-eval-terrier", by_pytrec_eval), "ir_measures": ("ir-measures", by_ir_measures)}
    for tool, (package, values) in tools.items():
        yield (
            f"{tool}.jsonl",
            _table(f"{package} {version(package)}", {name: values(gold, runs[name]) for name in runs}),
        )
    if program:
        answer = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)
        with TemporaryDirectory() as folder:
            for name, text in {"qrels": qrels, **trec}.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            found = {name: by_trec_eval(program, Path(folder, "qrels"), Path(folder, name)) for name in runs}
        yield "trec_eval.jsonl", _table((answer.stdout + answer.stderr).strip(), found)


def _trec(name: str, scores: Scores) -> Iterator[str]:
    for query_id, found in scores.items():
        for item in _topk(found):
            yield f"{query_id} Q0 {item['chunk_id']} {item['rank']} {item['score']} {name}\n"


def _topk(scores: Mapping[str, float]) -> list[dict[str, Any]]:
    order = sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)
    return [{"rank": rank, "chunk_id": doc, "score": scores[doc]} for rank, doc in enumerate(order, 1)]


def _table(tool: str, runs: Mapping[str, Values]) -> str:
    rows = [
        {"run": name, "query_id": query_id, "values": values}
        for name, found in runs.items()
        for query_id, values in found.items()
    ]
    return _jsonl([{"tool": tool}, *rows])


def _jsonl(rows: list[Any]) -> str:
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def _agree(one: str, other: str) -> bool:
    """Whether two texts are the same, for tables: whether every value is, whichever version of the tool gave it."""
    if '"tool"' not in one.partition("\n")[0]:
        return one == other
    values, others = (
        {
            (row["run"], row["query_id"], measure): value
            for row in map(json.loads, text.splitlines()[1:])
            for measure, value in row["values"].items()
        }
        for text in (one, other)
    )
    return values.keys() == others.keys() and all(abs(values[each] - others[each]) < SAME for each in values)


def main() -> int:
    """Write the files, or name those that differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trec-eval", metavar="PROGRAM", help="trec_eval, to write its values too")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a file differs")
    asked = parser.parse_args()
    differing = []
    for name, text in files(asked.trec_eval):
        if not asked.check:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / name).write_text(text, encoding="utf-8")
        elif not _agree((FOLDER / name).read_text(encoding="utf-8"), text):
            differing.append(name)
    if differing:
        print(f"{', '.join(differing)}: not what this script writes")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
