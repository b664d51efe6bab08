"""What stands for maps by query in large runs behaves as the dict that it replaces, which is the oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.model.large_runs import NumberColumn, RankSummaries, Rows
from rankgate.model.scores import RankSummary, StageTimes

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
