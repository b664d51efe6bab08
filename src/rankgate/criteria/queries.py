"""Queries that criteria name: those that must pass."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.criteria import Gate
from rankgate.errors import Problem, RankgateError, did_you_mean, shown
from rankgate.model.values import Gold


def must_pass_rows(gate: Gate, gold: Gold) -> set[int]:
    """Rows of the queries that a gate's `must_pass` names, by id or by tag."""
    wanted = set(gate.must_pass)
    return {
        row
        for row, sample in enumerate(gold.samples.values())
        if wanted and (sample.query_id in wanted or not wanted.isdisjoint(sample.tags))
    }


def refuse_unknown_must_pass(gates: Sequence[Gate], gold: Gold, name: str) -> None:
    """Refuse what `must_pass` of a gate names and the gold set lacks.

    Raises:
        RankgateError: every entry that is neither a query nor a tag of the gold.
    """
    tags = {tag for sample in gold.samples.values() for tag in sample.tags}
    known = {*gold.samples, *tags}
    problems: list[Problem] = []
    for gate in gates:
        for entry in gate.must_pass:
            if entry not in known:
                text = f"{shown(entry)} is neither a query nor a tag of {gold.name}{did_you_mean(entry, known)}"
                problems.append(Problem(text, name, gate.line, f"gate {gate.name}: must_pass"))
    if problems:
        raise RankgateError(problems)
