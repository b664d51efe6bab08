"""The p-value of a change beside what scipy computes for the same differences: exactly, by t, by Wilcoxon's ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rankgate.statistics.sign_flips import sign_flip_p


@settings(max_examples=60)
@given(st.lists(st.integers(-8, 8).filter(bool), min_size=2, max_size=9))
def test_it_is_the_permutation_test_of_paired_samples(differences: list[int]) -> None:
    found = stats.permutation_test(
        (np.array(differences, dtype=float), np.zeros(len(differences))),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert sign_flip_p(map(float, differences)) == pytest.approx(found.pvalue, abs=1e-9)


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("size", [50, 400, 3_000])
def test_on_many_differences_without_outliers_it_is_near_the_paired_t_test(size: int, shift: float) -> None:
    differences = np.random.default_rng(size).normal(shift, 0.3, size)
    expected = stats.ttest_rel(differences, np.zeros(size)).pvalue
    assert sign_flip_p(differences.tolist()) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_of_ranks_with_signs_it_is_wilcoxons_exact_test(seed: int) -> None:
    """Wilcoxon's test is this one on the ranks of the differences."""
    differences = np.random.default_rng(seed).normal(0.1, 0.3, 18)
    ranks = stats.rankdata(np.abs(differences)) * np.sign(differences)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert sign_flip_p(ranks.tolist()) == pytest.approx(expected, abs=1e-9)
