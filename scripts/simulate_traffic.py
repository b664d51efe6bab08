"""What labels of a draw prove of all traffic, from the sheet to the verdict: scripts/tables/traffic.md.

python scripts/simulate_traffic.py [DIR]      # a collection with runs/bm25.jsonl and runs/minilm.jsonl, or made ones
"""

from __future__ import annotations

import csv
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from rankgate.collecting.traffic import FilledSheet, as_csv, drawn_for, merge_sheets, read_sheet, rows_of, sheet_of
from rankgate.criteria import Gate
from rankgate.gates.traffic import changes_of, decide_traffic
from rankgate.metrics.sets import Hit
from rankgate.model.traffic_lists import TrafficLists, TrafficPair, TrafficQuestion
from rankgate.model.values import Verdict
from rankgate.readers.base import ProblemLog
from rankgate.readers.formats import read_gold, read_run
from rankgate.statistics.traffic import Draw, estimate_change
from simulating import grid, percent

ASKED, K, SAMPLES = 2000, 5, 200  # questions of the traffic; results that the metric looks at; of a cell
CHANGED, LABELS, KINDS = (0.02, 0.12, 0.3, 0.6), (20, 40, 100), ("even counts", "uneven counts", "some left empty")
OVER = {"over": "traffic", "regression_max": 0}
HIT, PRECISION = (Gate.model_validate({"name": name, **OVER}) for name in (f"hit@{K}", f"precision@{K}"))
ROWS = ((HIT, KINDS[0]), (PRECISION, KINDS[0]), (PRECISION, KINDS[1]), (PRECISION, KINDS[2]))
BLANK, BLANK_LOSERS = 0.05, 0.1  # of questions, and of those that lost
Asked = Mapping[str, tuple[float, "Judged"]]  # by id how often, and what


class Judged(NamedTuple):
    """A question with the first k of both runs, and what is relevant."""

    before: tuple[str, ...]
    now: tuple[str, ...]
    relevant: frozenset[str]

    def change(self, gate: Gate) -> float:
        """By the gate's metric."""
        before, now = (len(self.relevant.intersection(documents)) for documents in (self.before, self.now))
        return float((now > 0) - (before > 0)) if isinstance(gate.metric, Hit) else (now - before) / K


class Cell(NamedTuple):
    """What is simulated; in a null each change has a twin the other way round."""

    gate: Gate
    share: float
    n: int
    kind: str
    null: bool


def collected(folder: Path | None, source: random.Random) -> list[Judged]:
    """The questions of a collection for which two runs return another set; without one what such runs could return."""
    if folder is None:
        lists = [tuple(source.sample("abcdefgh", K)) for _ in range(200)]
        return [Judged(before, now, frozenset("abc")) for before, now in pairwise(lists) if {*before} != {*now}]
    gold = read_gold(str(folder / "gold.jsonl"))
    runs = [read_run(str(folder / "runs" / name)) for name in ("bm25.jsonl", "minilm.jsonl")]
    before, now = ({each.query_id: tuple(each.ids[:K]) for each in run.rankings} for run in runs)
    samples = [(name, frozenset(sample.relevant())) for name, sample in gold.samples.items() if name in before]
    return [Judged(before[name], now[name], relevant) for name, relevant in samples if {*before[name]} != {*now[name]}]


def population(known: Sequence[Judged], cell: Cell, sample: int, source: random.Random) -> tuple[Asked, TrafficLists]:
    """The changed questions, and the lists as a check has them; what did not change is one question, asked as often."""
    size = round(ASKED * cell.share)
    drawn = source.choices(known, k=size // 2 if cell.null else size)
    drawn += [Judged(each.now, each.before, each.relevant) for each in drawn] if cell.null else []
    counts = [1 / (rank % (size // 2) + 1) if cell.kind == KINDS[1] else 1.0 for rank in range(size)]
    asked = {f"{sample}.{rank}": (size * counts[rank] / sum(counts), each) for rank, each in enumerate(drawn)}
    rest = TrafficQuestion(query_id="rest", question="rest", count=ASKED - size)
    pairs = [TrafficPair(question=rest, before=("same",), now=("same",), changed=False)]
    for name, (count, each) in asked.items():
        question = TrafficQuestion(query_id=name, question=name, count=count)
        pairs.append(TrafficPair(question=question, before=each.before, now=each.now, changed=True))
    return asked, TrafficLists(k=K, named=len(pairs), pairs=tuple(pairs))


def filled(text: str, asked: Asked, cell: Cell, source: random.Random) -> FilledSheet:
    """The sheet as people fill it in, read: some questions are left empty, more often such that lost."""
    header, *rows = list(csv.reader(text.removeprefix("\ufeff").splitlines()))
    chances = {row[0]: BLANK_LOSERS if asked[row[0]][1].change(cell.gate) < 0 else BLANK for row in rows}
    empty = {name for name, chance in chances.items() if cell.kind == KINDS[2] and source.random() < chance}
    for row in rows:
        if row[0] not in empty:
            row[4] = source.choice(("1", "yes") if row[2] in asked[row[0]][1].relevant else ("0", "no"))
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", suffix=".csv") as file:
        csv.writer(file).writerows([header, *rows])
        file.flush()
        return read_sheet(file.name, ProblemLog())


def outcome(known: Sequence[Judged], cell: Cell, sample: int, source: random.Random) -> bool:
    """Whether the interval holds the truth; of a null whether the gate fails."""
    asked, lists = population(known, cell, sample, source)
    draw = drawn_for(lists, cell.n)
    drawn = set(draw.questions)
    pairs = [pair for pair in lists.changed if pair.question.query_id in drawn]
    rows = rows_of(pairs, {}, {}, shared=isinstance(cell.gate.metric, Hit))
    merged = merge_sheets([], [], [filled(as_csv(rows, sheet_of(lists, cell.n)), asked, cell, source)])
    if cell.null:
        return decide_traffic(cell.gate, lists, merged.labels, merged.sheets).verdict is Verdict.FAIL
    low, high = estimate_change(draw, changes_of(cell.gate, replace(lists, pairs=tuple(pairs)), merged.labels)).ci
    truth = sum(count * each.change(cell.gate) for count, each in asked.values()) / ASKED
    return low - 1e-9 <= truth <= high + 1e-9


def needed(share: float, loss: float, total: int, source: random.Random) -> str:
    """The labels, drawn from so many questions, that prove a loss of hit@5 in 80 of 100; 5 % of what changed wins."""
    losers, winners = round(ASKED * (loss + share / 20)), round(ASKED * share / 20)
    changes, rest = [-1.0] * losers + [1.0] * winners + [0.0] * (total - losers - winners), total / ASKED
    for n in (round(4 * 1.1**step) for step in range(70)):
        if losers + winners > ASKED * share or n > total:
            break
        draw = Draw(certain=(), weights=(), sampled=tuple(map(str, range(n))), chances=(n / total,) * n, rest=rest)
        drawn = ({str(at): (each, each) for at, each in enumerate(source.sample(changes, n))} for _ in range(SAMPLES))
        if sum(estimate_change(draw, each).ci[1] < 0 for each in drawn) >= 0.8 * SAMPLES:
            return f"{n:,}"
    return "–"


def main() -> None:
    """Print the tables."""
    source = random.Random(39)  # noqa: S311
    known = collected(Path(sys.argv[1]) if sys.argv[1:] else None, source)
    columns = {f"{share:.0%} changed": share for share in CHANGED}

    def share_of(row: tuple[Gate, int, str, bool], share: float) -> str:
        gate, n, kind, null = row
        cell = Cell(gate, share, n, kind, null)
        hits = [outcome(known, cell, sample, source) for sample in range(SAMPLES)]
        return percent(sum(hits) / SAMPLES)

    for null, title in enumerate(("Intervals that hold the truth (%), nominal 95", "False blocks (%)")):
        cells = [(gate, n, kind, bool(null)) for (gate, kind), n in product(ROWS, LABELS[null:])]
        grid(title, "", columns, {f"{each[0].name}, {each[1]} drawn, {each[2]}": each for each in cells}, share_of)

    def labels(loss: float, share: float) -> str:
        return " / ".join(needed(share, loss, n, source) for n in (round(ASKED * share), ASKED))

    title = "Labels that prove a loss of hit@5 in 80 of 100: drawn from what changed / from all"
    grid(title, "", columns, {f"{points} points": points / 100 for points in (3, 5, 10)}, labels)


if __name__ == "__main__":
    main()
