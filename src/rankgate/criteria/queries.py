"""Queries that criteria name: those that must pass."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.criteria import Gate
from rankgate.errors import Problem, RankgateError, bad_input, did_you_mean, shown
from rankgate.model.values import Gold
from rankgate.model.wording import count_text


def must_pass_rows(gate: Gate, gold: Gold) -> set[int]:
    """Rows of the queries that a gate's `must_pass` names, by id or by tag."""
    wanted = set(gate.must_pass)
    return {
        row
        for row, sample in enumerate(gold.samples.values())
        if wanted and (sample.query_id in wanted or not wanted.isdisjoint(sample.tags))
    }


def refuse_unweighted(gates: Sequence[Gate], gold: Gold, name: str) -> None:  # noqa: ARG001 - as `refuse_unknown_musts`
    """Raise a `RankgateError` where a gate counts by traffic and queries have no weight, with the first of each."""
    lacking, gate = gold.unweighted, next((gate for gate in gates if gate.weight == "traffic"), None)
    if gate and lacking:
        none = f"{len(lacking):,} of {count_text(len(gold.samples), 'query', 'queries')} have no weight"
        do = "give each a number above 0 under metadata, map a table's column (`map.weight`), or say `weight: none`"
        message = f"{none}, first {shown(lacking[0].query_id)}, and gate {shown(gate.name)} counts by traffic; {do}"
        raise bad_input(message, file=gold.name, line=lacking[0].line, key="metadata.weight")


def refuse_unknown_musts(gates: Sequence[Gate], gold: Gold, name: str) -> None:
    """What must pass must be there.

    Raises:
        RankgateError: every entry that is neither a query nor a tag of the gold.
    """
    tags = {tag for sample in gold.samples.values() for tag in sample.tags}
    known = {*gold.samples, *tags}
    problems = [
        Problem(
            f"{shown(entry)} is neither a query nor a tag of {gold.name}{did_you_mean(entry, known)}",
            name,
            gate.line,
            f"gate {gate.name}: must_pass",
        )
        for gate in gates
        for entry in gate.must_pass
        if entry not in known
    ]
    if problems:
        raise RankgateError(problems)
