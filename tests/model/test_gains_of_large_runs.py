"""Gains beside one text of ids behave as the dict that they replace, which is the oracle."""

import pickle
import sys

from hypothesis import given
from hypothesis import strategies as st

from rankgate.model.large_runs import FewGains, compact
from rankgate.model.values import Sample

GAINS = st.dictionaries(st.text(), st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]) | st.floats(-9, 9), max_size=8)


@given(GAINS, st.text())
def test_as_a_dict(gains: dict[str, float], other: str) -> None:
    held = compact(gains)
    assert [*held] == [*gains]
    assert [*held.items()] == [*gains.items()]
    assert [*held.values()] == [*gains.values()]
    assert len(held) == len(gains)
    assert {**held, other: 5.0} == {**gains, other: 5.0}
    for doc in [*gains, other]:
        assert (doc in held) is (doc in gains)
        assert held.get(doc) == gains.get(doc)
    assert pickle.loads(pickle.dumps(held)) == gains  # noqa: S301 -- written here


@given(GAINS, GAINS)
def test_equal_where_dicts_are(one: dict[str, float], other: dict[str, float]) -> None:
    assert (compact(one) == compact(other)) is (one == other)
    assert (compact(one) == other) is (one == other)
    assert (Sample(query_id="q", gains=one) == Sample(query_id="q", gains=compact(other))) is (one == other)
    assert [Sample(query_id="q", gains=compact(one)).judgments()] == [Sample(query_id="q", gains=one).judgments()]


def test_half_of_the_memory() -> None:
    gains = {"doc-1": 1.0}
    one, other = compact(gains), compact({"doc-2": 1.0})
    assert isinstance(one, FewGains)
    assert isinstance(other, FewGains)
    assert one._gains is other._gains
    held = sys.getsizeof(one) + sys.getsizeof(one._docs)
    assert held < 0.5 * (sys.getsizeof(gains) + sys.getsizeof("doc-1"))
    many = {f"doc-{number}": 1.0 for number in range(6)}
    assert compact(many) is many
