"""Reasons for somebody who knows no metrics: the same numbers, and nothing else changed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.gates.decision_rule import Finding, Ruling
from rankgate.gates.reasons import drop_reason, floor_reason, plain_reason
from rankgate.metrics.comparison import Comparison
from rankgate.metrics.names import parse_metric
from rankgate.model.values import Evidence, EvidenceState

NUMBER = re.compile(r"\d+\.\d+|\d+")


@pytest.mark.parametrize(
    ("reason", "plain"),
    [
        pytest.param(
            "recall@5 dropped from 87.0% to 81.2% (−5.8 pp; at most −3.0 pp allowed)",
            "recall@5 dropped by 5.8 points, from 87.0% to 81.2%; at most 3.0 are allowed",
            id="a share",
        ),
        pytest.param(
            "mrr dropped from 0.751 to 0.690 on the 7 queries of both runs (−0.061; no drop allowed)",
            "mrr dropped by 0.061, from 0.751 to 0.690 on the 7 queries of both runs; none is allowed",
            id="a score, on pairs, nothing allowed",
        ),
        pytest.param(
            "latency rose from 28.9 ms to 37.9 ms (+9.0 ms; at most +5.0 ms allowed)",
            "latency rose by 9.0 ms, from 28.9 ms to 37.9 ms; at most 5.0 are allowed",
            id="milliseconds that rose",
        ),
        pytest.param(
            "waived until 2026-06-30: recall@5 dropped from 100.0% to 78.6% (−21.4 pp; at most −3.0 pp allowed), "
            "within noise (95%: −62.7 to +31.2 pp)",
            "waived until 2026-06-30: recall@5 dropped by 21.4 points, from 100.0% to 78.6%; at most 3.0 are allowed; "
            "that may be chance",
            id="waived, within noise",
        ),
        pytest.param(
            "recall@5 is 100.0%, above the floor of 97.0%, not proven to hold the floor (95%: 94.5 to 100.0%)",
            "recall@5 is 100.0%, above the floor of 97.0%; with so few questions it may be as low as 94.5%",
            id="a floor that is not proven",
        ),
        pytest.param(
            "latency is 34.0 ms, below the ceiling of 50.0 ms, not proven to hold the ceiling (95%: 30.1 to 61.2 ms)",
            "latency is 34.0 ms, below the ceiling of 50.0 ms; with so few questions it may be as high as 61.2 ms",
            id="a ceiling that is not proven",
        ),
        pytest.param(
            "recall@5 dropped from 90.0% to 89.0% (−1.0 pp; at most −3.0 pp allowed), a larger drop is not ruled out "
            "(97.5%: −6.5 to +4.1 pp)",
            "recall@5 dropped by 1.0 points, from 90.0% to 89.0%; at most 3.0 are allowed; with so few questions the "
            "drop may be 6.5 points",
            id="a drop that is not ruled out",
        ),
        pytest.param(
            "latency rose from 28.9 ms to 29.9 ms (+1.0 ms; at most +5.0 ms allowed), a larger rise is not ruled out "
            "(95%: −1.2 to +8.8 ms)",
            "latency rose by 1.0 ms, from 28.9 ms to 29.9 ms; at most 5.0 are allowed; with so few questions the rise "
            "may be 8.8 ms",
            id="a rise that is not ruled out",
        ),
        pytest.param(
            "recall@5 rose from 80.0% to 82.0% (+2.0 pp; at most −3.0 pp allowed), a larger drop is not ruled out "
            "(95%: −5.0 to +9.0 pp)",
            "recall@5 rose by 2.0 points, from 80.0% to 82.0%; a drop of at most 3.0 is allowed; with so few questions "
            "the drop may be 5.0 points",
            id="for the better, and not proven",
        ),
        pytest.param(
            "latency dropped from 35.0 ms to 33.0 ms (−2.0 ms; no rise allowed), a larger rise is not ruled out "
            "(95%: −9.0 to +5.0 ms)",
            "latency dropped by 2.0 ms, from 35.0 ms to 33.0 ms; no rise is allowed; with so few questions the rise "
            "may be 5.0 ms",
            id="for the better where lower is, and not proven",
        ),
    ],
)
def test_a_plain_reason(reason: str, plain: str) -> None:
    assert plain_reason(reason) == plain


@pytest.mark.parametrize(
    "reason",
    [
        "mrr is 0.612, below the floor of 0.620",
        "no baseline: whether recall@5 got worse could not be checked",
        "1 must-pass question fails: hit@5 is at its worst there",
        "recall@5 is 81.0%, above the floor of 80.0%, not proven to hold the floor (95%: ? to 95.0%)",
    ],
)
def test_any_other_sentence_stays_as_it_is(reason: str) -> None:
    assert plain_reason(reason) == reason


METRICS = st.sampled_from(["recall@5", "mrr", "latency", "ndcg(gain=exponential)@10", "latency(quantile=0.9)"])
VALUES = st.floats(0, 1)
FINDINGS = st.builds(Finding, st.sampled_from(Ruling), st.sampled_from(EvidenceState), st.sampled_from(Evidence))


@given(METRICS, VALUES, VALUES, st.floats(0, 0.2), FINDINGS, st.tuples(st.floats(-1, 0), st.floats(0, 1)))
def test_a_plain_drop_says_no_number_that_the_reason_does_not(
    name: str, value: float, baseline: float, allowed: float, found: Finding, ci: tuple[float, float]
) -> None:
    pairs = Comparison(value=value, baseline=baseline, n_pairs=7, better=1, worse=2, ci=ci)
    reason = drop_reason(pairs, allowed, parse_metric(name), 9, found, 0.95, "queries")
    plain = plain_reason(reason)
    assert set(NUMBER.findall(plain)) <= set(NUMBER.findall(reason))
    assert "within noise" not in plain
    assert ("allowed)" in plain) is (" stayed at " in reason and "allowed)" in reason)
    assert plain.startswith(f"{name} ")


@given(METRICS, VALUES, VALUES, FINDINGS, st.tuples(st.floats(0, 0.5), st.floats(0.5, 1)))
def test_a_plain_floor_says_no_number_that_the_reason_does_not(
    name: str, value: float, threshold: float, found: Finding, ci: tuple[float, float]
) -> None:
    reason = floor_reason(value, ci, threshold, parse_metric(name), found, 0.95, "queries")
    plain = plain_reason(reason)
    assert set(NUMBER.findall(plain)) <= set(NUMBER.findall(reason))
    assert plain.partition(",")[0] == reason.partition(",")[0]
