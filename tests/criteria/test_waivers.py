"""`ship-waivers.yaml`: what is read of it, and that whatever stands in it ends in waivers or one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgate.criteria import load_criteria
from rankgate.criteria.inputs import waivers_of
from rankgate.criteria.waivers import Waiver, Waivers, load_waivers
from rankgate.errors import RankgateError

WHOLE = """\
waivers:
  - gate: retrieval_recall_at_5
    segment: lang:pt-BR
    up_to: 0.05
    expires: 2026-12-31
    issue: https://github.com/acme/rag/issues/12
    reason: "the new chunker loses tables until the parser is fixed"
    by: alice
"""
GATES = "gates: [{name: recall@5, threshold: 0.8}]\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems(text: str) -> list[str]:
    Path("ship-waivers.yaml").write_text(text)
    with pytest.raises(RankgateError) as caught:
        load_waivers("ship-waivers.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_a_whole_waiver_is_read_with_its_line() -> None:
    Path("ship-waivers.yaml").write_text(WHOLE)
    assert load_waivers("ship-waivers.yaml") == Waivers(
        name="ship-waivers.yaml",
        entries=(
            Waiver(
                gate="retrieval_recall_at_5",
                segment="lang:pt-BR",
                up_to=0.05,
                expires="2026-12-31",
                issue="https://github.com/acme/rag/issues/12",
                reason="the new chunker loses tables until the parser is fixed",
                by="alice",
                line=2,
            ),
        ),
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param("up_to:", "upto:", ":4: waivers[0].upto: unknown key; did you mean 'up_to'?", id="unknown key"),
        pytest.param("    by: alice\n", "", ":2: waivers[0].by: is missing", id="missing key"),
        pytest.param("0.05", '"0.05"', ":4: waivers[0].up_to: expected a number", id="a number in quotes"),
        pytest.param("0.05", "-0.05", ":4: waivers[0].up_to: expected a number of at least 0", id="negative"),
        pytest.param("0.05", ".nan", ":4: waivers[0].up_to: expected a number", id="not a number"),
        pytest.param("2026-12-31", "2026-02-30", ":5: waivers[0].expires: expected a day", id="a day that is none"),
        pytest.param("2026-12-31", "20261231", ":5: waivers[0].expires: expected text", id="a number for a day"),
        pytest.param("2026-12-31", "2026-12-31T10:00", ":5: waivers[0].expires: expected a day", id="a time"),
        pytest.param("https://", "ftp://", ":6: waivers[0].issue: expected a link", id="no web link"),
        pytest.param("https://github.com/acme/rag/issues/12", '"#12"', ":6: waivers[0].issue: expected a l", id="#12"),
        pytest.param("alice", '" "', ":8: waivers[0].by: say who answers for it", id="nobody"),
        pytest.param("alice", '"<who answers for it>"', ":8: waivers[0].by: say who", id="a placeholder for who"),
        pytest.param('"the new', '"<the new', ":7: waivers[0].reason: say", id="an angle bracket that is left"),
    ],
)
def test_a_malformed_waiver_names_file_line_and_key(old: str, new: str, said: str) -> None:
    text = WHOLE.replace(old, new)
    if "<the new" in new:
        text = text.replace('is fixed"', 'is fixed>"')
    assert [found for found in problems(text) if f"ship-waivers.yaml{said}" in found]


def test_all_problems_are_told_at_once() -> None:
    assert len(problems(WHOLE.replace("0.05", "x").replace("2026-12-31", "soon").replace("https", "ftp"))) >= 1
    assert len(problems(WHOLE.replace("2026-12-31", "soon").replace("https", "ftp"))) == 2


@pytest.mark.parametrize(
    ("up_to", "refused"),
    [("1", []), ("1.0000001", ["1.0000001 is more than recall@5 can move (1)"]), ("30", ["write 0.3 for 30%"])],
)
def test_a_waiver_of_more_than_its_metric_can_move_is_refused(up_to: str, refused: list[str]) -> None:
    Path("ship-criteria.yaml").write_text(GATES)
    Path("ship-waivers.yaml").write_text(WHOLE.replace("retrieval_recall_at_5", "recall@5").replace("0.05", up_to))
    try:
        waivers_of(load_criteria("ship-criteria.yaml"))
    except RankgateError as error:
        [found] = map(str, error.problems)
        assert "ship-waivers.yaml:4: waivers[0].up_to: " in found
        assert [text for text in refused if text in found]
    else:
        assert not refused


def test_a_second_waiver_of_the_same_gate_and_segment_is_refused() -> None:
    [found] = problems(WHOLE + WHOLE.replace("waivers:\n", ""))
    assert ":9: waivers[1].gate: a waiver of this gate and segment stands above already" in found


def test_the_same_gate_as_a_whole_is_another_waiver() -> None:
    whole_gate = WHOLE.replace("waivers:\n", "").replace("    segment: lang:pt-BR\n", "")
    Path("ship-waivers.yaml").write_text(WHOLE + whole_gate)
    found = load_waivers("ship-waivers.yaml")
    assert [found.of("retrieval_recall_at_5", segment) for segment in ("lang:pt-BR", None)] == list(found.entries)
    assert found.of("retrieval_recall_at_5", "lang:en") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("# all mended\n", "found nothing; write `waivers: []` for none", id="a comment alone"),
        pytest.param("- gate: x\n", "expected `waivers:`", id="a list"),
        pytest.param("waivers:\n", "waivers: expected a list", id="no list"),
    ],
)
def test_what_is_no_list_of_waivers_is_refused(text: str, said: str) -> None:
    assert said in problems(text)[0]


def test_the_example_of_the_page_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "waivers.md").read_text(encoding="utf-8")
    Path("ship-waivers.yaml").write_text(page.partition("```yaml\n")[2].partition("```")[0])
    assert [waiver.by for waiver in load_waivers("ship-waivers.yaml").entries] == ["alice"]


def test_they_lie_beside_the_criteria(folder: Path) -> None:
    (folder / "config").mkdir()
    Path("config/ship-criteria.yaml").write_text(GATES)
    criteria = load_criteria("config/ship-criteria.yaml")
    assert waivers_of(criteria) is None
    Path("config/ship-waivers.yaml").write_text("waivers: []\n")
    assert waivers_of(criteria) == Waivers(name="config/ship-waivers.yaml")
    Path("config/ship-waivers.yaml").write_text(WHOLE)
    assert waivers_of(criteria) == load_waivers("config/ship-waivers.yaml")


def test_a_file_that_the_criteria_name_must_be_there(folder: Path) -> None:
    (folder / "config").mkdir()
    Path("config/ship-criteria.yaml").write_text(GATES + "inputs: {waivers: ../allowed.yaml}\n")
    criteria = load_criteria("config/ship-criteria.yaml")
    with pytest.raises(RankgateError, match=r"allowed\.yaml"):
        waivers_of(criteria)
    Path("allowed.yaml").write_text(WHOLE)
    assert waivers_of(criteria) == load_waivers("allowed.yaml")


@pytest.mark.parametrize(
    ("violation", "date", "covered"),
    [
        pytest.param(0.05, "2026-12-31", True, id="on the last day, up to the ceiling"),
        pytest.param(0.05 + 1e-10, "2026-12-31", True, id="what rounding adds counts for nothing"),
        pytest.param(0.051, "2026-12-31", False, id="too small"),
        pytest.param(0.05, "2027-01-01", False, id="the day after"),
        pytest.param(0.0, "2020-01-01", True, id="long before"),
    ],
)
def test_what_a_waiver_covers(violation: float, date: str, covered: bool) -> None:  # noqa: FBT001 -- a table's column
    Path("ship-waivers.yaml").write_text(WHOLE)
    [waiver] = load_waivers("ship-waivers.yaml").entries
    assert waiver.covers(violation, date) is covered


YAML_LIKE = st.text(st.sampled_from('waivers:gatup_to-[]{}"#&*!| \n\t0.5e<>')).map(str.encode)


@given(st.binary() | YAML_LIKE)
@example(b"waivers: [{gate: x, up_to: 1e999, expires: 2026-01-01, issue: 'http://x', reason: y, by: z}]")
@example(b"waivers: [{gate: [], segment: {}, up_to: {}, expires: 1, issue: null, reason: true, by: z}]")
def test_no_bytes_give_anything_but_waivers_or_one_error(data: bytes) -> None:
    Path("ship-waivers.yaml").write_bytes(data)
    try:
        found = load_waivers("ship-waivers.yaml")
    except RankgateError as error:
        named = {problem.file for problem in error.problems}
    else:
        named = {found.name}
    assert named == {"ship-waivers.yaml"}
