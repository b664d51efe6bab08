"""The p-value of clusters beside what scipy computes for the same sums: exactly, and by Wilcoxon's ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.statistics.sign_flips import cluster_flip_p


def p_of(sums: list[float]) -> float:
    found = cluster_flip_p(sums, range(len(sums)), side="above")
    assert found is not None
    return found[0]


@pytest.mark.full
@given(st.lists(st.integers(-8, 8).filter(bool), min_size=6, max_size=10))
def test_it_is_the_permutation_test_of_paired_samples(sums: list[int]) -> None:
    from scipy.stats import permutation_test  # a second of every process that collects the tests

    found = permutation_test(
        (np.array(sums, dtype=float), np.zeros(len(sums))),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative="greater",
        vectorized=True,
    )
    assert p_of([float(x) for x in sums]) == pytest.approx(found.pvalue, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_of_ranks_with_signs_it_is_wilcoxons_exact_test(seed: int) -> None:
    """Wilcoxon's test is this one on the ranks of the sums."""
    from scipy.stats import rankdata, wilcoxon

    sums = np.random.default_rng(seed).normal(0.1, 0.3, 18)
    ranks = rankdata(np.abs(sums)) * np.sign(sums)
    expected = wilcoxon(sums, method="exact", alternative="greater").pvalue
    assert p_of(ranks.tolist()) == pytest.approx(expected, abs=1e-9)
