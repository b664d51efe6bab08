"""Queries that criteria name or keep apart: those that must pass, and the private part of a gold set."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from rankgate.criteria import Gate
from rankgate.errors import Problem, RankgateError, bad_input, did_you_mean, shown
from rankgate.metrics.plan import Part
from rankgate.model.values import Gold, Sample
from rankgate.model.wording import count_text


def must_pass_rows(gate: Gate, gold: Gold) -> set[int]:
    """Rows of the queries that a gate's `must_pass` names, by id or by tag."""
    wanted = set(gate.must_pass)
    return {
        row
        for row, sample in enumerate(gold.samples.values())
        if wanted and (sample.query_id in wanted or not wanted.isdisjoint(sample.tags))
    }


def part_of(gold: Gold, holdout: float, gates: Sequence[Gate], part: Part = "public") -> Gold:
    """The part of a gold set that is judged; what is not stands in `left_out`.

    A query is private where int(sha256(its cluster, else its id, as UTF-8)[:8 bytes]) / 2⁶⁴ < holdout, so that a larger
    share contains the smaller; one that must pass by any of the gates never is.

    Raises:
        RankgateError: there is no query in that part.
    """
    if part == "whole":
        return gold
    musts = {row for gate in gates for row in must_pass_rows(gate, gold)}
    kept: dict[str, Sample] = {}
    others: dict[str, Sample] = {}
    for row, sample in enumerate(gold.samples.values()):
        private = row not in musts and _position(sample) < holdout
        (kept if private == (part == "private") else others)[sample.query_id] = sample
    if not kept:
        raise bad_input(f"`holdout: {holdout:g}` leaves no {part} query to judge", file=gold.name)
    return replace(gold, samples=kept, left_out=others, private=part == "private", fingerprint=None) if others else gold


def _position(sample: Sample) -> float:
    """Where a query stands among all, from 0 to 1, by its cluster or id alone."""
    named = sample.query_id if sample.cluster is None else sample.cluster
    return int.from_bytes(hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()[:8], "big") / 2**64


def refuse_unweighted(gates: Sequence[Gate], gold: Gold, name: str) -> None:  # noqa: ARG001 - as `refuse_unknown_musts`
    """Raise a `RankgateError` where a gate counts by traffic and queries have no weight, with the first of each."""
    lacking, gate = gold.unweighted, next((gate for gate in gates if gate.weight == "traffic"), None)
    if gate and lacking:
        none = f"{len(lacking):,} of {count_text(len(gold.all_samples), 'query', 'queries')} have no weight"
        do = "give each a number above 0 under metadata, map a table's column (`map.weight`), or say `weight: none`"
        message = f"{none}, first {shown(lacking[0].query_id)}, and gate {shown(gate.name)} counts by traffic; {do}"
        raise bad_input(message, file=gold.name, line=lacking[0].line, key="metadata.weight")


def refuse_unknown_musts(gates: Sequence[Gate], gold: Gold, name: str) -> None:
    """What must pass must be there.

    Raises:
        RankgateError: every entry that is neither a query nor a tag of the gold.
    """
    tags = {tag for sample in gold.all_samples.values() for tag in sample.tags}
    known = {*gold.all_samples, *tags}
    problems = [
        Problem(
            f"{shown(entry)} is neither a query nor a tag of {gold.name}{did_you_mean(entry, {*gold.samples, *tags})}",
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
