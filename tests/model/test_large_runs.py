"""What stands for maps by query, and for gains by id, behaves as the dict that it replaces, which is the oracle."""

import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.model.large_runs import FewGains, NumberColumn, RankSummaries, Rows, compact
from rankgate.model.scores import RankSummary, StageTimes
from rankgate.model.values import Sample

QUERIES = tuple(f"q{number}" for number in range(300))


@given(st.lists(st.integers(0, 299)))
def test_rows_in_any_order(order: list[int]) -> None:
    rows = Rows(QUERIES)
    assert [rows[QUERIES[row]] for row in order] == order
    assert dict(rows) == {query: row for row, query in enumerate(QUERIES)}


def test_rows_in_order_need_no_map() -> None:
    rows = Rows(QUERIES)
    for _ in range(2):
        assert [rows[query] for query in QUERIES[::40]] == [*range(0, 300, 40)]
    assert not rows._rows
    with pytest.raises(KeyError):
        rows["no such"]


@given(st.sets(st.integers(0, 299)))
def test_summaries_as_a_dict(present: set[int]) -> None:
    known = {QUERIES[row]: RankSummary((row,), 5, 5) for row in sorted(present)}
    held = RankSummaries(Rows(QUERIES), [known.get(query) for query in QUERIES])
    assert dict(held) == known
    assert len(held) == len(known)
    assert [held.get(query) for query in QUERIES] == [known.get(query) for query in QUERIES]


def test_how_many_there_are_is_counted_once() -> None:
    """Each of thirty thousand segments asks."""

    class Counted(list[RankSummary | None]):
        times = 0

        def count(self, value: RankSummary | None) -> int:
            self.times += 1
            return super().count(value)

    by_row = Counted([RankSummary((1,), 5, 5), None])
    held = RankSummaries(Rows(QUERIES[:2]), by_row)
    assert [bool(held), len(held), bool(held)] == [True, 1, True]
    assert by_row.times == 1


@given(st.lists(st.none() | st.floats(allow_nan=False)))
def test_numbers_as_a_list(values: list[float | None]) -> None:
    column = NumberColumn(len(values))
    assert column == [None] * len(values)
    for row, value in enumerate(values):
        column[row] = value
    assert column == values
    assert [*column] == column[:] == values
    assert column.count(None) == values.count(None)
    assert repr(column) == repr(values)


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 100))))
def test_times_as_they_come(pairs: list[tuple[int, float]]) -> None:
    times = StageTimes()
    for row, time in pairs:
        times.add(row, time)
    assert times.by_row == dict(pairs)


GAINS = st.dictionaries(st.text(), st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]) | st.floats(-9, 9), max_size=8)


@given(GAINS, st.text())
def test_gains_as_a_dict(gains: dict[str, float], other: str) -> None:
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
def test_gains_are_equal_where_dicts_are(one: dict[str, float], other: dict[str, float]) -> None:
    assert (compact(one) == compact(other)) is (one == other)
    assert (compact(one) == other) is (one == other)
    assert (Sample(query_id="q", gains=one) == Sample(query_id="q", gains=compact(other))) is (one == other)
    assert [Sample(query_id="q", gains=compact(one)).judgments()] == [Sample(query_id="q", gains=one).judgments()]


def test_few_gains_take_half_of_the_memory() -> None:
    gains = {"doc-1": 1.0}
    one, other = compact(gains), compact({"doc-2": 1.0})
    assert isinstance(one, FewGains)
    assert isinstance(other, FewGains)
    assert one._gains is other._gains
    held = sys.getsizeof(one) + sys.getsizeof(one._docs)
    assert held < 0.5 * (sys.getsizeof(gains) + sys.getsizeof("doc-1"))
    many = {f"doc-{number}": 1.0 for number in range(6)}
    assert compact(many) is many
