"""p-values of real changes beside those of scipy, as the reference data hold them; skips where they are absent.

The sign-flip test of bare signs is the sign test, so there the numbers must be equal. On the differences themselves it
asks what the paired t-test asks, without its normal distribution: the numbers must be near.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankgate.comparison import baseline_column, compare
from rankgate.metrics.names import parse_metric
from rankgate.model import Gold, Scores
from rankgate.plan import Plan
from rankgate.readers.formats import read_gold, read_run
from rankgate.scoring import score
from rankgate.statistics.sign_flips import sign_flip_p

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
COLLECTIONS = ("cranfield", "adi", "hotpotqa_sample")
ENOUGH = 30  # changed queries: with fewer, the steps of the exact test are wide
NEAR = 0.02
METRICS = {"recall_5": "recall@5", "recip_rank": "mrr", "ndcg_cut_10": "ndcg@10", "success_5": "hit@5"}


def pairs() -> list[Any]:
    found = []
    for name in COLLECTIONS:
        file = DATA / name / "expected" / "compare.json"
        if file.is_file():
            for system, entry in json.loads(file.read_text(encoding="utf-8"))["pairs"].items():
                metrics = {
                    ours: entry["metrics"][theirs] for theirs, ours in METRICS.items() if theirs in entry["metrics"]
                }
                found.append(pytest.param(name, system, metrics, id=f"{name}, {system}"))
    return found


PAIRS = pairs() or [pytest.param("", "", {}, id="none", marks=pytest.mark.skip("no shared/data beside the repository"))]


@pytest.mark.parametrize(("name", "system", "expected"), PAIRS)
def test_bare_signs_give_the_sign_test(name: str, system: str, expected: dict[str, dict[str, Any]]) -> None:
    assert expected
    for values in expected.values():
        signs = [1.0] * int(values["wins"]) + [-1.0] * int(values["losses"])
        reference = values["sign_test_p"]
        assert sign_flip_p(signs) == pytest.approx(1.0 if reference is None else reference, abs=1e-9)


def scored(gold: Gold, name: str, system: str, metrics: list[str]) -> Scores:
    plan = Plan(metrics=[parse_metric(metric) for metric in metrics])
    return score(gold, read_run(str(DATA / name / "runs" / f"{system}.trec")).rankings, plan)


@pytest.mark.parametrize(("name", "system", "expected"), PAIRS)
def test_real_changes_are_near_the_paired_t_test(name: str, system: str, expected: dict[str, dict[str, Any]]) -> None:
    gold = read_gold(str(DATA / name / "qrels.trec"))
    before, now = (scored(gold, name, each, list(expected)) for each in ("bm25", system))
    for metric, values in expected.items():
        found = compare(parse_metric(metric), now.values[metric], baseline_column(parse_metric(metric), before))
        assert found is not None
        assert found.delta == pytest.approx(values["delta"], abs=1e-6)
        changed = values["wins"] + values["losses"]
        if changed == 0:
            assert found.p == 1
        elif metric == "hit@5":  # all changes are of one size, so that it is the sign test
            assert found.p == pytest.approx(values["sign_test_p"], abs=1e-9)
        elif changed >= ENOUGH:
            # Recall moves in halves and wholes: sums often tie with the observed one, which counts against it.
            assert found.p is not None
            assert found.p >= values["ttest_rel_p"] - NEAR
            assert metric == "recall@5" or found.p == pytest.approx(values["ttest_rel_p"], abs=NEAR)
