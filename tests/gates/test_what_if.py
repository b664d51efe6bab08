"""Which questions carry a violation: the fewest, where the estimate of a mean decides; never of what holds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import pytest
from msgspec.structs import replace

from rankgate.criteria import Gate
from rankgate.gates import what_if
from rankgate.gates.decide import decide
from rankgate.metrics.names import parse_metric
from rankgate.model.values import Evidence, Sample, Scores

METRIC = parse_metric("recall@5")
QUERIES = tuple(f"q{number}" for number in range(9))


def scores(values: Sequence[float | None], weights: tuple[float, ...] = ()) -> Scores:
    return Scores(
        query_ids=QUERIES[: len(values)],
        values={METRIC.name: list(values)},
        matched={},
        missing=frozenset(),
        unknown_queries=(),
        duplicates=0,
        cut=0,
        weights=weights,
    )


def gate(**keys: object) -> Gate:
    return Gate.model_construct(name="g", metric=METRIC, line=None, **keys)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_no_smaller_set_of_questions_undoes_a_drop_of_a_mean(seed: int) -> None:
    """Against every subset of nine questions."""
    chance = random.Random(seed)  # noqa: S311 -- no secret
    old, new = ([chance.choice([0.0, 0.25, 0.5, 1.0]) for _ in QUERIES] for _ in range(2))
    weights = tuple(chance.choice([0.1, 0.5, 1.0]) for _ in QUERIES) if seed % 2 else ()
    asked = gate(regression_max=chance.choice([0.0, 0.05, 0.1]), weight="traffic")
    after, before = scores(list(new), weights), scores(list(old), weights)

    def holds(reverted: tuple[int, ...]) -> bool:
        values: list[float | None] = [old[row] if row in reverted else value for row, value in enumerate(new)]
        return decide(asked, scores(values, weights), before).violation is None

    counts = (count for count in range(10) for rows in combinations(range(9), count) if holds(rows))
    fewest, found = next(counts), what_if._carried(asked, after, before)
    assert (found is None) is (fewest == 0)
    if found is not None:
        carried = found["queries"]
        assert isinstance(carried, list)
        assert (len(carried), found["fewest"]) == (fewest, True)
        assert holds(tuple(map(QUERIES.index, carried)))


@pytest.mark.parametrize("evidence", [Evidence.PROVEN_HARM, Evidence.PROVEN_SAFE])
def test_by_proof_the_questions_named_are_the_first_count_that_holds(evidence: Evidence) -> None:
    old, new = scores([1.0] * 9), scores([0.0] * 8 + [1.0])
    asked = gate(regression_max=0.0, evidence=evidence)
    found = what_if._carried(asked, new, old)
    assert found is not None
    assert found["fewest"] is False
    if evidence is Evidence.PROVEN_HARM:
        assert found["queries"] == ["q0", "q1", "q2"]  # of nine, five losses and no gain prove nothing
    else:
        assert (found["queries"], found["tried"]) == ([], 8)  # nine questions never prove that nothing was lost


def test_a_floor_counts_the_questions_that_would_have_to_be_perfect(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = {query: Sample(query_id=query, gains={"d": 1.0}) for query in QUERIES}
    monkeypatch.setattr(what_if, "best_possible", lambda _, sample, k: 0.6 if sample.query_id == "q0" and k else 1.0)
    run = scores([0.0, 0.0, *[1.0] * 7])
    found = what_if._carried(gate(threshold=0.85), replace(run, samples=samples), None)
    assert found == {"queries": ["q1"], "tried": 2, "fewest": True}  # q0 can only be 0.6
    assert what_if._carried(gate(threshold=0.7), run, None) is None
