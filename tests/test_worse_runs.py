"""A run that is strictly worse never gets a better verdict, of the whole or of a gate."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import rankgate

ORDER = ["pass", "warn", "fail", "not_judged"]
FAIL = ORDER.index("fail")  # which blocks, as not judged does
DOCUMENTS = [f"d{number}" for number in range(6)]
RANKED = ["recall@3", "mrr", "ndcg@3", "map", "precision@3", "capped_recall@2", "rprec", "err@3", "f@3", "recall_auc"]
OF_ALL_OR_NOTHING = ["hit@1", "hit@3", "recall_all@3"]  # of others a larger loss may spread more, and prove less
CASES = 60


@pytest.mark.full
@pytest.mark.parametrize("evidence", ["estimate", "proven_harm"])
@pytest.mark.parametrize("part", range(5))
def test_a_worse_run_has_no_better_verdict(part: int, evidence: str) -> None:
    random = Random(part)  # noqa: S311 -- cases, no secrets
    for _ in range(CASES):
        names = [f"q{row}" for row in range(random.choice([2, 5, 12, 30]))]
        relevant = {name: set(random.sample(DOCUMENTS, random.randint(1, 3))) for name in names}
        baseline = {name: random.sample(DOCUMENTS, random.choice([3, 6])) for name in names}
        run = {name: baseline[name] if random.random() < 0.7 else random.sample(DOCUMENTS, 3) for name in names}
        gold = [_sample(name, relevant[name], row) for row, name in enumerate(names)]
        criteria = {"gates": [_gate(random, evidence)], "evidence": evidence}
        worse = dict(run)
        for name in random.sample(names, random.randint(1, 2)):
            lost = [f"x{each}" if each in relevant[name] else each for each in run[name]]
            worse[name] = random.choice([lost, []])
        if random.random() < 0.3:
            del worse[random.choice(names)]
        compared = baseline if random.random() < 0.8 else None
        before, after = (_verdicts(gold, each, compared, criteria) for each in (run, worse))
        pairs = [(ORDER.index(old), ORDER.index(new)) for old, new in zip(before, after, strict=False)]
        assert all(new >= min(old, FAIL) for old, new in pairs), (criteria, gold, compared, run, worse)


def _sample(name: str, relevant: set[str], row: int) -> dict[str, Any]:
    tags = [f"lang:{'en' if row % 2 else 'de'}"]
    return {"id": name, "expected_output": sorted(relevant), "metadata": {"tags": tags}}


def _gate(random: Random, evidence: str) -> dict[str, Any]:
    """A gate with limits, rules for single questions and segments."""
    metrics = RANKED if evidence == "estimate" else OF_ALL_OR_NOTHING
    gate: dict[str, Any] = {"name": "gate", "metric": random.choice(metrics), "severity": "error"}
    limits = [0.0, 0.05, 0.3, 1.0]
    gate["regression_max"] = random.choice(limits)
    if random.random() < 0.3:
        gate["threshold"] = random.choice([0.1, 0.5, 0.9])
    if random.random() < 0.3:
        gate["segments"] = {"by": "lang", "regression_max": random.choice(limits), "min_queries": 1}
    if random.random() < 0.3:
        gate["must_pass"] = ["q0"]
    if random.random() < 0.5:
        gate["max_lost_queries"] = random.randint(0, 2)
    return gate


def _verdicts(gold: Any, run: Any, baseline: Any, criteria: dict[str, Any]) -> list[str]:
    """Of the whole and of each row; what cannot be judged, such as a run without any relevant id, is no pass."""
    try:
        report = rankgate.check(gold=gold, run=run, baseline=baseline, criteria=criteria, date="2026-01-31")
    except rankgate.RankgateError:
        return ["not_judged"]
    return [report.verdict.value, *(gate.verdict.value for gate in report.gates)]
