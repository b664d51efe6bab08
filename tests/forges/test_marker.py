"""The marker: exactly one spelling, read back as written, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.errors import RankgateError
from rankgate.forges.comments import BEGINS, Mark, checked_gate_id, mark_of
from rankgate.model.values import Verdict
from rankgate.renderers.markdown import MARKER_ROOM

SHA = "a1" * 20
LINE = f"<!-- rankgate gate=default sha={SHA} run=7 attempt=2 verdict=pass -->"
MARK = Mark(gate="default", sha=SHA, run=7, attempt=2, verdict=Verdict.PASS)

marks = st.builds(
    Mark,
    gate=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True),
    sha=st.text("0123456789abcdef", min_size=40, max_size=40) | st.text("0123456789abcdef", min_size=64, max_size=64),
    run=st.integers(0, 10**18),
    attempt=st.integers(0, 10**8),
    verdict=st.sampled_from(Verdict),
)


def test_it_carries_gate_commit_run_attempt_and_verdict() -> None:
    assert MARK.line() == LINE


@given(marks, st.text())
def test_what_is_written_is_read_back_whatever_follows(mark: Mark, text: str) -> None:
    assert mark_of(f"{mark.line()}\n{text}") == mark
    assert mark.line().startswith(BEGINS)
    assert len(f"{mark.line()}\n") <= MARKER_ROOM


def test_a_carriage_return_of_githubs_editor_changes_nothing() -> None:
    assert mark_of(f"{LINE}\r\ntext") == MARK


@each_row(
    "body",
    [
        pytest.param("", id="nothing"),
        pytest.param(f" {LINE}", id="indented"),
        pytest.param(f"\n{LINE}", id="second line"),
        pytest.param(f"{LINE} ", id="something behind"),
        pytest.param(f"> {LINE}", id="quoted in an answer"),
        pytest.param(LINE.replace("run=7", "run=-7"), id="negative run"),
        pytest.param(LINE.replace("run=7", "run=\N{ARABIC-INDIC DIGIT SEVEN}"), id="digits of another script"),
        pytest.param(LINE.replace(SHA, SHA[:39]), id="short commit"),
        pytest.param(LINE.replace(SHA, SHA.upper()), id="commit in capitals"),
        pytest.param(LINE.replace("default", "a b"), id="gate with a space"),
        pytest.param(LINE.replace("pass", "fine"), id="unknown verdict"),
        pytest.param(LINE.replace("-->", "--><!-- x -->"), id="two comments"),
    ],
)
def test_anything_else_is_no_marker(body: str) -> None:
    assert mark_of(body) is None


@pytest.mark.parametrize(
    ("run", "attempt", "newer"),
    [
        pytest.param(8, 1, True, id="later run"),
        pytest.param(7, 3, True, id="later attempt"),
        pytest.param(7, 2, False, id="the same"),
        pytest.param(7, 1, False, id="earlier attempt"),
        pytest.param(6, 9, False, id="later attempt of an earlier run"),
    ],
)
def test_the_run_decides_and_then_the_attempt(run: int, attempt: int, newer: bool) -> None:  # noqa: FBT001
    other = Mark(gate="default", sha=SHA, run=run, attempt=attempt, verdict=Verdict.PASS)
    assert other.newer_than(MARK) is newer


@pytest.mark.parametrize("gate", ["", "a b", "-->", "a/b", "é", "x" * 65, ".hidden", "a\n"])
def test_a_gate_id_that_could_break_out_is_refused(gate: str) -> None:
    with pytest.raises(RankgateError, match="is no gate id; use up to 64 letters"):
        checked_gate_id(gate)


@pytest.mark.parametrize("gate", ["default", "search-v2", "a.b_c", "7", "x" * 64])
def test_other_gate_ids_are_taken(gate: str) -> None:
    assert checked_gate_id(gate) == gate
