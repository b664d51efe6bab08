"""Exact tails, beside their textbook sums in fractions."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.statistics.chance import at_least, hypergeometric_tail


@given(st.integers(-1, 30), st.integers(0, 30), st.fractions(0, 1))
def test_the_binomial_tail(hits: int, trials: int, probability: Fraction) -> None:
    terms = (
        comb(trials, x) * probability**x * (1 - probability) ** (trials - x) for x in range(max(0, hits), trials + 1)
    )
    assert at_least(hits, trials, float(probability)) == pytest.approx(float(sum(terms)), abs=1e-9)


@given(st.data())
def test_the_hypergeometric_tail(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 30))
    drawn, marked = data.draw(st.integers(0, total)), data.draw(st.integers(0, total))
    hits = data.draw(st.integers(-1, total))
    ways = sum(comb(marked, x) * comb(total - marked, drawn - x) for x in range(max(0, hits), drawn + 1))
    assert hypergeometric_tail(hits, drawn, marked, total) == pytest.approx(ways / comb(total, drawn), abs=1e-9)
