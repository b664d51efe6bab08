"""Records and memories for tests of what happens over time: no rankings but where a test packs some."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rankgate.baselines.packing import pack, recorded
from rankgate.baselines.records import Record
from rankgate.model.lineage import GoldMark
from rankgate.model.values import Ranking, Verdict

CRITERIA = """\
gates:
  - {name: recall@1, threshold: 0.7, regression_max: 0.3}
inputs: {gold: gold.yaml, baseline: 'STORE'}
"""
GOLD = "".join(f"- {{id: q{number}, expected_output: [d{number}]}}\n" for number in range(10))


def sha(word: str) -> str:
    """A commit of that name, so to speak."""
    return hashlib.sha1(word.encode(), usedforsecurity=False).hexdigest()


def made(
    date: str,
    right: int = 8,
    *,
    commit: str | None = None,
    scores: Mapping[str, float | None] | None = None,
    gold: str = "a",
    of: int = 10,
    **said: Any,
) -> tuple[Record, bytes]:
    """A run that finds so many of ten or `of` documents at rank 1 and the others at rank 2, as recorded on a day."""
    lists = [Ranking(f"q{n}", [f"d{n}", "x"] if n < right else ["x", f"d{n}"]) for n in range(of)]
    packed = pack(lists, source="run.jsonl")
    mark = GoldMark(path="gold.yaml", queries=of, fingerprint=gold, queries_fingerprint=gold)
    record = recorded(packed, source="run.jsonl", provenance={}, gold=mark, date=date)
    said = {"branch": "main", "verdict": Verdict.PASS if right >= 0.7 * of else Verdict.FAIL, **said}
    own = {"recall@1": right / of} if scores is None else scores
    return replace(record, commit=commit or sha(date), scores=own, **said), packed.data


def record(date: str, right: int = 8, **said: Any) -> Record:
    """The same without its rankings."""
    return made(date, right, **said)[0]
