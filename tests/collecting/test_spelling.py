"""Ids that differ in their form alone, and in what; and ids that only look so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.collecting.spelling import differs_in, respelled


@each_row(
    ("one", "other", "expected"),
    [
        pytest.param("Doc-1", "doc-1", "case", id="case"),
        pytest.param("00123", "123", "leading zeros", id="what a spreadsheet cuts"),
        pytest.param("000", "0", "leading zeros", id="zeros alone"),
        pytest.param("123.0", "123", "a .0", id="what a data frame adds"),
        pytest.param("1.00E+07", "10000000", "case and an exponent", id="what a spreadsheet rounds"),
        pytest.param("2-Jan", "1-2", "case and a date", id="what a spreadsheet takes for a day"),
        pytest.param("2-Jan", "1-3", "", id="another day"),
        pytest.param("Mar1", "3-1", "case and a date", id="a name that looks like a day"),
        pytest.param("Jan-99", "1-99", "case and a date", id="a month and its year"),
        pytest.param("1/2/2026", "2026-01-02", "a date", id="a date as in English"),
        pytest.param("02.01.2026", "2026-01-02", "a date", id="a date as in German"),
        pytest.param("2026-01-02 00:00:00", "2026-01-02", "a date", id="a date with its time"),
        pytest.param("2-Jan-26", "2026-01-02", "case and a date", id="a date in words"),
        pytest.param("docs/1/2/2026", "2026-01-02", "", id="a path of numbers"),
        pytest.param("octopus1", "10-1", "", id="a word that begins like a month"),
        pytest.param("3-4", "4-3", "", id="two chunks"),
        pytest.param("1.2", "1-2", "", id="a version"),
        pytest.param("e\u0301", "\u00e9", "Unicode form", id="composed and not"),
        pytest.param("a\u00a0b", "a b", "Unicode form", id="a no-break space"),
        pytest.param(" a ", "a", "blanks", id="around it"),
        pytest.param("a  b", "a b", "blanks", id="two within"),
        pytest.param("docs/a.md", "a.md", "a path", id="a path and none"),
        pytest.param("repo/docs/a.md", "docs/a.md", "a path", id="a longer path"),
        pytest.param("s3://b/a.pdf", "a.pdf", "a path", id="an address"),
        pytest.param("docs\\a.md", "a.md", "a path", id="of Windows"),
        pytest.param("a.md", "a", "an extension", id="an extension and none"),
        pytest.param("docs/A.md", "a", "case and a path and an extension", id="three at once"),
        pytest.param("docs/A", "A", "a path", id="capitals that both have, and a path"),
        pytest.param("A ", "A", "blanks", id="capitals that both have, and a blank"),
        pytest.param("DOC-1.0", "DOC-1", "a .0", id="capitals that both have, and what a data frame adds"),
        pytest.param("\u00c9.md", "\u00c9", "an extension", id="an accent that both have, and an extension"),
        pytest.param("007.md", "7.md", "leading zeros", id="zeros before an extension that both have"),
        pytest.param("a/readme.md", "b/readme.md", "", id="two files of one name"),
        pytest.param("a.md", "a.html", "", id="two extensions"),
        pytest.param("d1", "d2", "", id="two ids"),
        pytest.param("v1.2", "v1.3", "", id="two versions"),
        pytest.param("a#1", "a", "", id="a chunk and its document"),
        pytest.param("a", "a", "", id="the same"),
    ],
)
def test_in_what_ids_differ(one: str, other: str, expected: str) -> None:
    assert differs_in(one, other) == differs_in(other, one) == expected
    assert respelled([one], ["x", other]) == ({one: other} if expected else {})


def test_the_plainest_id_of_a_form_is_named() -> None:
    assert respelled(["A.md", "b"], ["docs/a.md", "a.md", "sub/docs/a.md"]) == {"A.md": "a.md"}
    assert respelled(["a"], []) == {}
    assert respelled([], ["a"]) == {}
    assert respelled(["a\0b"], ["A\0B"]) == {}, "what parts the ids here"


@given(st.lists(st.text(max_size=8), max_size=5), st.lists(st.text(max_size=8), max_size=5))
def test_any_ids(ids: list[str], known: list[str]) -> None:
    found = respelled(ids, known)
    assert set(found) <= set(ids)
    assert set(found.values()) <= set(known)
    assert all(differs_in(one, other) for one, other in found.items())
