"""A test of many rows goes through all of them and names those that fail."""

import pytest
from tests.rows import each_row


def test_every_row_is_tried_and_those_that_fail_are_named() -> None:
    tried = []

    @each_row("number", [1, pytest.param(2, id="an even one"), 3])
    @each_row(("letter", "fits"), [("a", True), ("b", False)], ids=["first", "second"])
    def a_test(number: int, letter: str, *, fits: bool) -> None:
        tried.append((number, letter))
        assert number != 2 or fits

    with pytest.raises(ExceptionGroup, match="1 of 3 rows") as raised:
        a_test()
    assert tried == [(number, letter) for number in (1, 2, 3) for letter in "ab"]
    [row] = raised.value.exceptions
    assert isinstance(row, ExceptionGroup)
    assert row.__notes__ == ["row 1: an even one"]
    assert row.exceptions[0].__notes__ == ["row 1: second"]


def test_a_table_without_rows_is_no_test() -> None:
    with pytest.raises(AssertionError, match="tests nothing"):
        each_row("number", [])(lambda number: None)
