"""A gate over traffic limits the change of precision@k or hit@k, and nothing else."""

from __future__ import annotations

import pytest
from tests.rows import each_row

from rankgate.criteria.model import Criteria, criteria_in
from rankgate.errors import RankgateError
from rankgate.model.values import Evidence

TRAFFIC = "inputs: {traffic: traffic.jsonl}\n"
GATES = "gates:\n- {name: recall@5, threshold: 0.5}\n"


def load(gates: str, files: str = TRAFFIC) -> Criteria:
    return criteria_in(f"{files}{GATES}{gates}", "criteria.yaml")


@pytest.mark.parametrize("name", ["precision@5", "p@5", "hit@10", "precision"])
def test_a_gate_over_traffic_stands_beside_the_others(name: str) -> None:
    criteria = load(f"- {{name: {name}, over: traffic, regression_max: 0.03}}\n")
    assert [gate.name for gate in criteria.gates] == ["recall@5"]
    assert [(gate.name, gate.evidence) for gate in criteria.traffic_gates] == [(name, Evidence.PROVEN_HARM)]


OTHER = "is not measured over traffic; use precision@k or hit@k, without parameters"
LEFT_OUT = "leave it out, or put it into a gate over the gold set"


@each_row(
    ("keys", "expected"),
    {
        "name: ndcg@5, regression_max: 0.1": f"over: ndcg@5 {OTHER}",
        "name: recall@5, metric: recall@5, regression_max: 0.1": f"over: recall@5 {OTHER}",
        "name: f1@5, regression_max: 0.1": f"over: f@5 {OTHER}",
        "name: hit(rel=2)@5, regression_max: 0.1": f"over: hit(rel=2)@5 {OTHER}",
        "name: precision@all, regression_max: 0.1": (
            "over: precision@all has no cut-off, so that all documents would need a label; use precision@5"
        ),
        "name: hit@5, must_pass: [q]": (
            "over: a gate over traffic limits the change against the baseline; give it a regression_max"
        ),
        "name: hit@5, threshold: 0.5, regression_max: 0.1": (
            f"threshold: a gate over traffic has no threshold; {LEFT_OUT}"
        ),
        "name: hit@5, regression_max: 0.1, segments: {by: lang, regression_max: 0.1}": (
            f"segments: a gate over traffic has no segments; {LEFT_OUT}"
        ),
        "name: hit@5, regression_max: 0.1, evidence: estimate": (
            "evidence: over traffic it is always proven_harm; leave the key out"
        ),
    }.items(),
)
def test_what_it_cannot_have(keys: str, expected: str) -> None:
    with pytest.raises(RankgateError) as refused:
        load(f"- {{{keys}, over: traffic}}\n")
    assert f"criteria.yaml:4: gates[1].{expected}" in str(refused.value).split("\n")


@each_row(
    ("text", "expected"),
    {
        f"{GATES}- {{name: hit@5, over: traffic, regression_max: 0.1}}\n": (
            "criteria.yaml:3: gates[1].over: there is no traffic; add inputs: {traffic: traffic.jsonl}"
        ),
        f"{TRAFFIC}gates:\n- {{name: hit@5, over: traffic, regression_max: 0.1}}\n": (
            "criteria.yaml:2: gates: all gates are over traffic; add one over the gold set, which knows what is "
            "relevant"
        ),
        (
            f"{TRAFFIC}{GATES}- {{name: hit@5, over: traffic, regression_max: 0.1}}\n"
            "- {name: hit@10, over: traffic, regression_max: 0.1}\n"
        ): "criteria.yaml:5: gates[2].over: gates over traffic have one cut-off, since one sheet is for all",
        f"{TRAFFIC}{GATES}- {{name: hit@5, over: gold, regression_max: 0.1}}\n": (
            "criteria.yaml:4: gates[1].over: expected traffic, found the text 'gold'"
        ),
    }.items(),
)
def test_what_does_not_fit_the_file(text: str, expected: str) -> None:
    with pytest.raises(RankgateError) as refused:
        criteria_in(text, "criteria.yaml")
    assert expected in str(refused.value).split("\n")
