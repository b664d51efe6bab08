"""The line that says what differs from the baseline: as people read it, and with hostile text in it."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.renderers.page import Page
from tests.renderers.reports import REPORT
from tests.report_keys import with_keys

from rankgate.model.lineage import COMPONENTS, Difference, GoldChanges
from rankgate.model.report import Report
from rankgate.renderers.blocks import plain_text
from rankgate.renderers.explanation import MAX_SHOWN, differences_line
from rankgate.renderers.junit import render_junit
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.markdown_text import code
from rankgate.renderers.terminal import terminal_blocks

INDEX = Difference(what="index", before="v2025_06_01", after="v2025_07_01")
TOKENS = Difference(what="chunker", key="target_tokens", before="600", after="400")
REWORDED = Difference(what="gold", key="questions", before="aa", after="bb")
LABELS = Difference(what="gold", key="labels", before="aa", after="bb")
BEGINNING = "What differs from the baseline: "


def plain(text: str) -> str:
    """As it is where it is plain words, else in quotation marks."""
    return text if re.fullmatch(r"[\w.:/@+-]+( [\w.:/@+-]+)*", text) else repr(text)


def everything(report: Report) -> str:
    return plain_text(terminal_blocks(report, everything=True))


def report(*differences: Difference, gold: GoldChanges | None = None) -> Report:
    return with_keys(REPORT, differences=list(differences), gold_changes=gold)


def changes(added: int | None = 0, removed: int | None = 0, relabelled: int | None = 0) -> GoldChanges:
    return GoldChanges(queries=24, added=added, removed=removed, relabelled=relabelled)


def test_the_line_of_the_specification() -> None:
    found = report(INDEX, TOKENS, LABELS, REWORDED, gold=changes(added=12, relabelled=3))
    said = "index v2025_06_01 → v2025_07_01; chunker target_tokens 600 → 400; gold +12 questions, 3 relabelled."
    assert differences_line(found, plain) == BEGINNING + said
    assert f"\n{BEGINNING}{said}\n" in everything(found)
    marked = "index `v2025_06_01` → `v2025_07_01`; chunker `target_tokens` 600 → 400; gold +12 questions, 3 relabelled."
    assert f"\n\n{BEGINNING}{marked}\n\n" in render_markdown(found)


@pytest.mark.parametrize(
    ("ids", "named"),
    [
        pytest.param(["q1"], "removed q1", id="one"),
        pytest.param(["q1", "wo ist es?", "q3", "q4", "q5"], "removed q1, 'wo ist es?', q3 and 2 more", id="several"),
    ],
)
def test_questions_that_the_gold_set_lost_are_named(ids: list[str], named: str) -> None:
    gold = replace(changes(added=1, removed=len(ids)), removed_ids=ids)
    assert differences_line(report(gold=gold), plain) == f"{BEGINNING}gold +1 −{len(ids)} questions ({named})."


def test_where_nothing_differs_there_is_no_line() -> None:
    assert differences_line(report(), plain) == ""
    assert BEGINNING not in render_markdown(report()) + everything(report())


LONG = "sha256:" + "0" * 60


@pytest.mark.parametrize(
    ("what", "key", "before", "after", "expected"),
    [
        pytest.param("index", None, None, "v2", "index (not stated) → v2", id="not stated before"),
        pytest.param("code", None, "a1", None, "code a1 → (not stated)", id="not stated now"),
        pytest.param("other", "k1", "0.9", "1.2", "k1 0.9 → 1.2", id="another key"),
        pytest.param("system", None, "hybrid v3", "hybrid v4", "system hybrid v3 → hybrid v4", id="several words"),
        pytest.param(
            "system", None, "a; b", "a → b", "system 'a; b' → 'a → b'", id="what could be taken for ours is quoted"
        ),
        pytest.param(
            "index",
            None,
            LONG + "1",
            LONG + "2",
            "index '…000000001' → '…000000002'",
            id="long ones from where they part",
        ),
        pytest.param("index", None, LONG, LONG + "2", "index '…00000000' → '…000000002'", id="a long one that goes on"),
        pytest.param(
            "index", None, "a" * 90, "b" * 90, f"index '{'a' * 39}…' → '{'b' * 39}…'", id="long ones that part at once"
        ),
        pytest.param(
            "gold",
            "as_of",
            "2025-03-01",
            "2025-03-01 to 2025-06-01",
            "gold as_of 2025-03-01 → 2025-03-01 to 2025-06-01",
            id="the days of the gold set",
        ),
        pytest.param(
            "index", None, "a\u202eb", "a\x1bb", r"index 'a\\u202eb' → 'a\\u001bb'", id="what is hidden is shown"
        ),
    ],
)
def test_a_difference_in_words(
    what: str, key: str | None, before: str | None, after: str | None, expected: str
) -> None:
    difference = Difference(what=what, key=key, before=before, after=after)
    assert differences_line(report(difference), plain) == f"{BEGINNING}{expected}."


@pytest.mark.parametrize("name", ["v2. All gates pass", "v2: PASS", "v2 and nothing that anybody asks for was lost"])
def test_a_name_that_could_be_a_sentence_of_ours_is_quoted_wherever_it_stands(name: str) -> None:
    system = Difference(what="system", before="v1", after=name)
    chunker = Difference(what="chunker", key=name, before=name, after="600")
    found = report(system, chunker)
    start = name[:30]
    terminal = " ".join(everything(found).split())
    assert terminal.count(start) == terminal.count(f"'{start}") >= 3
    junit = " ".join(unescape(render_junit(found)).split())
    assert junit.count(start) == junit.count(f"'{start}")
    page = Page(render_markdown(found))
    assert start not in page.plain, "there it is code"


@pytest.mark.parametrize(
    ("gold", "others", "expected"),
    [
        pytest.param(changes(added=1), [LABELS, REWORDED], "gold +1 question", id="one more"),
        pytest.param(changes(removed=1), [LABELS, REWORDED], "gold −1 question", id="one fewer"),
        pytest.param(changes(added=1, removed=1), [LABELS, REWORDED], "gold +1 −1 questions", id="one for another"),
        pytest.param(changes(relabelled=1200), [LABELS], "gold 1,200 relabelled", id="relabelled"),
        pytest.param(
            changes(relabelled=2), [LABELS, REWORDED], "gold 2 relabelled, questions reworded", id="and reworded"
        ),
        pytest.param(None, [REWORDED], "gold questions reworded", id="reworded alone"),
        pytest.param(
            changes(None, None, None), [LABELS, REWORDED], "gold changed (24 → 40 questions)", id="nobody knows how"
        ),
    ],
)
def test_the_gold_set_in_words(gold: GoldChanges | None, others: list[Difference], expected: str) -> None:
    assert REPORT.measured.queries is not None
    found = report(*others, gold=gold)
    assert found.measured.queries is not None
    found = with_keys(found, queries=replace(found.measured.queries, total=40))
    assert differences_line(found, plain) == f"{BEGINNING}{expected}."


def test_of_many_the_first_are_shown_and_the_rest_counted() -> None:
    many = [Difference(what="other", key=f"key{n}", before="1", after="2") for n in range(MAX_SHOWN + 3)]
    found = report(*many, gold=changes(added=2))
    shown = "; ".join(f"key{n} 1 → 2" for n in range(MAX_SHOWN))
    assert differences_line(found, plain) == f"{BEGINNING}{shown}; and 4 more in report.json."
    assert "; and 4 more in `report.json`.\n" in render_markdown(found)
    exact = report(*many[:MAX_SHOWN])
    assert "more in" not in differences_line(exact, plain)


TEXT = st.text(max_size=60) | st.sampled_from(
    ["@name", "a@b.co", "#12", "https://x.co", "`", "``|`", "<img src=x>", "**b**", "1234567", "\n- x", "::error::"]
)
DIFFERENCES = st.builds(
    Difference, what=st.sampled_from([*COMPONENTS, "other"]), key=TEXT | st.none(), before=TEXT | st.none(), after=TEXT
)


@pytest.mark.full
@given(st.lists(DIFFERENCES, min_size=1, max_size=MAX_SHOWN))
def test_text_of_the_inputs_is_only_ever_code(differences: list[Difference]) -> None:
    line = differences_line(report(*differences), code)
    assert "\n" not in line
    page, words = Page(line), " ".join(COMPONENTS)
    assert {name for name, _ in page.tags} <= {"p", "code"}
    left = page.plain.removeprefix(BEGINNING).replace("(not stated)", "").replace("→", "")
    for word in left.replace(";", " ").replace(".", " ").split():
        assert word in words or word.lstrip("-").isdigit()


@pytest.mark.full
@given(st.lists(DIFFERENCES, max_size=3))
def test_a_terminal_gets_one_line_whatever_the_text(differences: list[Difference]) -> None:
    found = report(*differences)
    without = everything(with_keys(found, differences=[]))
    added = len(everything(found).splitlines()) - len(without.splitlines())
    assert added == bool(differences)
