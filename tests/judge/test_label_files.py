"""Labels of people: every problem with its place, sheets that come back as they went, nothing lost."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgate.errors import RankgateError
from rankgate.judge.label_files import (
    WORDS,
    Label,
    add_labels,
    label_of,
    label_sheet,
    read_labels,
    read_sample,
    read_sheet,
    sample_text,
)
from rankgate.judge.sample import Item

ITEM = Item("q1", "How long?", "Thirty days. Free.", ("Within 30 days.", "Costs five."), ("30 days", "It is free"))
OTHER = Item("q2", "Why?", "I do not know.", (), ())
WITH_RUBRIC = Item("q3", "Why?", "By law.", ("The law says so.",), ("By law",), ("It names a law.",))
Rows = list[dict[str, str]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def problems(read: Callable[[], object]) -> list[str]:
    with pytest.raises(RankgateError) as caught:
        read()
    return [str(problem) for problem in caught.value.problems]


def labels_of(*labels: Label) -> dict[tuple[str, str, int], Label]:
    return {label.label_key: label for label in labels}


def test_a_sample_reads_back() -> None:
    Path("s.jsonl").write_bytes(sample_text([ITEM, OTHER]))
    assert read_sample("s.jsonl") == (ITEM, OTHER)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({"claims": ["60 days", "It is free"]}, "s.jsonl:1: key: is that of another content", id="changed"),
        pytest.param({"key": None}, "s.jsonl:1: key: is that of another content", id="no key"),
        pytest.param({"verdict": "supported"}, "s.jsonl:1: ", id="another key"),
        pytest.param({"claims": "30 days"}, "s.jsonl:1: claims: expected", id="another type"),
    ],
)
def test_a_damaged_sample_is_refused(change: dict[str, Any], problem: str) -> None:
    line = {**json.loads(sample_text([ITEM])), **change}
    Path("s.jsonl").write_text(json.dumps(line) + "\n[]\n{", "utf-8")
    found = problems(lambda: read_sample("s.jsonl"))
    assert found[0].startswith(problem)
    assert [each.split(" ")[0] for each in found] == ["s.jsonl:1:", "s.jsonl:2:", "s.jsonl:3:"]


def test_samples_may_be_joined() -> None:
    Path("s.jsonl").write_bytes(sample_text([ITEM, OTHER]) + sample_text([ITEM]))
    assert read_sample("s.jsonl") == (ITEM, OTHER)


# Labels


def test_the_last_label_counts_and_people_are_apart() -> None:
    one, two = label_of(ITEM, 1, "supported", "ana"), label_of(ITEM, 1, "absent", "ben")
    changed, gone = label_of(ITEM, 1, "contradicted", "ana"), label_of(ITEM, 1, None, "ben")
    assert read_labels("l.jsonl") == {}
    for label in (one, two):
        add_labels("l.jsonl", [label])
    assert read_labels("l.jsonl", [ITEM]) == labels_of(one, two)
    add_labels("l.jsonl", [changed, gone])
    assert read_labels("l.jsonl", [ITEM]) == labels_of(changed)


def test_a_line_that_an_editor_left_open_is_closed_first() -> None:
    add_labels("l.jsonl", [label_of(ITEM, 0, "asserts", "ana")])
    Path("l.jsonl").write_bytes(Path("l.jsonl").read_bytes().rstrip())
    add_labels("l.jsonl", [label_of(ITEM, 1, "absent", "ana")])
    assert len(read_labels("l.jsonl")) == 2


def test_labels_of_other_samples_are_kept() -> None:
    add_labels("l.jsonl", [label_of(OTHER, 0, "abstained", "ana")])
    assert len(read_labels("l.jsonl", [ITEM])) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({"verdict": "unverified"}, "absent, yes, no or null", id="no word of people"),
        pytest.param({"verdict": "yes"}, "expected supported, contradicted, absent or null", id="of a criterion"),
        pytest.param(
            {"n": 0, "claim": ""}, "expected asserts, abstained or null, found 'supported'", id="of an answer"
        ),
        pytest.param({"n": 3}, "claim: is not claim 3 of this answer to 'q1'", id="no such claim"),
        pytest.param({"n": -1}, "n is below 0", id="below"),
        pytest.param({"claim": "60 days"}, "claim: is not claim 1", id="another claim"),
        pytest.param({"by": " "}, "by names nobody", id="nobody"),
        pytest.param({"by": None}, "by: expected", id="no name"),
        pytest.param({"sure": True}, "sure", id="unknown key"),
        pytest.param({"n": "1"}, "n: expected", id="text"),
    ],
)
def test_what_is_no_label_is_named(change: dict[str, Any], problem: str) -> None:
    add_labels("l.jsonl", [label_of(ITEM, 1, "supported", "ana")])
    line = {**json.loads(Path("l.jsonl").read_bytes()), **change}
    with Path("l.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    (found,) = problems(lambda: read_labels("l.jsonl", [ITEM]))
    assert found.startswith("l.jsonl:2: ")
    assert problem in found


# Sheets

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FORMULA = st.sampled_from(
    ["=1+1", "+1", "-2", "@A1", "\t=1", "\r=1", "\n=1", "'=1", "\uff1d1", "a;=1", 'a",=1', "\x00"]
)
ITEMS = st.builds(
    Item,
    TEXT,
    TEXT | FORMULA,
    TEXT | FORMULA,
    st.tuples(TEXT | FORMULA),
    st.lists(TEXT | FORMULA, max_size=3).map(tuple),
    st.lists(TEXT | FORMULA, max_size=2).map(tuple),
)


@pytest.mark.full
@given(st.lists(ITEMS, max_size=3, unique_by=lambda item: item.key), st.randoms(use_true_random=False), st.data())
@example([Item("=q", "=1", "\r", ("\x00",), ("=1", "", "'@", "\r"))], None, None)
def test_any_text_comes_back_from_a_sheet(items: list[Item], random: Any, data: Any) -> None:
    labels = {}
    for item in items:
        for n in range(len(item.statements)):
            words = [None, *WORDS[item.labelled(n)].values()]
            word = data.draw(st.sampled_from(words)) if data else words[-1]
            labels[("ana", item.key, n)] = label_of(item, n, word, "ana")
    given_ones = {place: label for place, label in labels.items() if label.verdict}
    sheet = label_sheet(items)
    for cells in csv.reader(io.StringIO(sheet.removeprefix("\ufeff"), newline="")):
        assert not any(cell[:1] in {*"=+-@\t\r\n\uff1d\uff0b"} for cell in cells if cell)
    rows = rows_of(items)
    for row in rows:
        row["verdict"] = labels[("ana", row["key"], int(row["n"]))].verdict or ""
    write(rows or [dict.fromkeys(("n", "claim", "verdict", "key"), "")])
    assert labels_of(*read_sheet("sheet.csv", items, "ana")) == given_ones
    Path("labels.jsonl").unlink(missing_ok=True)
    add_labels("labels.jsonl", given_ones.values())
    assert read_labels("labels.jsonl", items) == given_ones
    Path("sample.jsonl").write_bytes(sample_text(items))
    assert not items or list(read_sample("sample.jsonl")) == items


def rows_of(items: list[Item]) -> Rows:
    """The rows of a sheet, whose head of the verdict begins with its name."""
    rows = csv.DictReader(io.StringIO(label_sheet(items).removeprefix("\ufeff"), newline=""))
    return [{name.partition(" (")[0]: cell for name, cell in row.items()} for row in rows]


def write(rows: Rows, delimiter: str = ",") -> None:
    with Path("sheet.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_sheet_that_was_sorted_and_given_columns_still_reads(delimiter: str) -> None:
    rows = [{"mine": "x;y", **row, "note": "=1"} for row in reversed(rows_of([ITEM, OTHER]))]
    for row, word in zip(rows, (" Supported ", "c", "N", ""), strict=True):
        row["verdict"] = word
    write(rows, delimiter)
    assert [(each.query_id, each.n, each.verdict) for each in read_sheet("sheet.csv", [ITEM, OTHER], "ana")] == [
        ("q1", 2, "supported"),
        ("q1", 1, "contradicted"),
        ("q2", 0, "abstained"),
    ]


def test_criteria_come_after_the_claims_and_leave_other_keys_as_they_were() -> None:
    rows = rows_of([WITH_RUBRIC])
    assert [(row["n"], row["claim"], row["passages"]) for row in rows[1:]] == [
        ("1", "By law", "[1] The law says so."),
        ("2", "It names a law.", ""),
    ]
    assert "of a criterion: yes, no" in label_sheet([ITEM, WITH_RUBRIC])
    assert "rubrics" not in sample_text([ITEM]).decode()
    Path("s.jsonl").write_bytes(sample_text([ITEM, WITH_RUBRIC]))
    assert read_sample("s.jsonl") == (ITEM, WITH_RUBRIC)


def test_the_head_lists_the_words_and_is_read_back() -> None:
    head, rows = label_sheet([OTHER]).removeprefix("\ufeff").split("\r\n", 1)
    assert '"verdict (of an answer: asserts, abstained; of a claim: supported, contradicted, absent)"' in head
    for written in (head, head.replace('"verdict (of', '" verdict (of'), re.sub('"verdict.*"', "verdict", head)):
        Path("sheet.csv").write_bytes(f"{written}\r\n{rows.replace(',,', ',no,')}".encode())
        assert read_sheet("sheet.csv", [OTHER], "ana") == [label_of(OTHER, 0, "abstained", "ana")]


CELLS = [
    *((0, word, "asserts") for word in ("asserts", " Asserts ", "ASSERTS", "as", "yes", "Y", "\uff39\uff45\uff53")),
    *((0, word, "abstained") for word in ("abstained", "Abst", "ab", "no", "N")),
    *((0, word, "a: may be asserts or abstained; write which") for word in ("a",)),
    *((0, word, "expected asserts, abstained or nothing") for word in ("supported", "yess", "?", "1", "true", "as.")),
    *((1, word, "supported") for word in ("supported", "Supp", "s", "S", "yes", "y")),
    *((1, word, "contradicted") for word in ("contradicted", "c", "CONTRA")),
    *((1, word, "absent") for word in ("absent", "a", "Abs")),
    *((1, word, "may be contradicted or absent; write which") for word in ("no", "N")),
    *(
        (1, word, "expected supported, contradicted, absent or nothing")
        for word in ("asserts", "suported", "unsupported")
    ),
    *((2, word, "yes") for word in ("yes", "Y", "YES")),
    *((2, word, "no") for word in ("no", "N")),
    *((2, word, "expected yes, no or nothing") for word in ("supported", "true", "1")),
    *((n, " ", None) for n in (0, 1, 2)),
]


@pytest.mark.parametrize(("n", "word", "meant"), CELLS, ids=str)
def test_what_a_cell_means(n: int, word: str, meant: str | None) -> None:
    rows = rows_of([WITH_RUBRIC])
    rows[n]["verdict"] = word
    write(rows)
    if meant is None or any(meant in words.values() for words in WORDS.values()):
        labels = read_sheet("sheet.csv", [WITH_RUBRIC], "ana")
        assert [label.verdict for label in labels] == ([meant] if meant else [])
    else:
        (problem,) = problems(lambda: read_sheet("sheet.csv", [WITH_RUBRIC], "ana"))
        assert problem.startswith(f"sheet.csv: row {2 + n}, verdict: ")
        assert meant.removeprefix("a: ") in problem


def test_all_cells_with_other_words_are_named_at_once_and_nothing_is_read() -> None:
    rows = rows_of([ITEM, OTHER])
    assert [(row["query_id"], row["n"]) for row in rows] == [("q1", "0"), ("q2", "0"), ("q1", "1"), ("q1", "2")]
    for row, word in zip(rows, ("yes", "a", "no", "suported"), strict=True):
        row["verdict"] = word
    write(rows)
    assert problems(lambda: read_sheet("sheet.csv", [ITEM, OTHER], "ana")) == [
        "sheet.csv: row 3, verdict: 'a' may be asserts or abstained; write which",
        "sheet.csv: row 4, verdict: 'no' may be contradicted or absent; write which",
        "sheet.csv: row 5, verdict: expected supported, contradicted, absent or nothing, found 'suported'",
    ]


def test_rows_that_came_apart_are_found() -> None:
    """A spreadsheet sorts the marked column alone if it is told to: labels would stand beside other claims."""
    rows = rows_of([ITEM])
    rows[1]["claim"], rows[2]["claim"] = rows[2]["claim"], rows[1]["claim"]
    write([*rows, rows[0], {**rows[0], "key": "0" * 64}, {**rows[0], "n": "one"}])
    assert problems(lambda: read_sheet("sheet.csv", [ITEM], "ana")) == [
        "sheet.csv: row 3, claim: is not that of this key and n; was a column sorted alone?",
        "sheet.csv: row 4, claim: is not that of this key and n; was a column sorted alone?",
        "sheet.csv: row 5, key and n: these stand in row 2 already; remove one",
        "sheet.csv: row 6, key and n: the sample has no such row",
        "sheet.csv: row 7, key and n: the sample has no such row",
    ]


def test_texts_that_a_cell_cannot_hold_are_cut_and_labels_come_back() -> None:
    long = Item("q", "?", "a" * 40_000, ("p" * 40_000,), ("c" * 40_000,))
    rows = rows_of([long])
    assert max(len(cell) for row in rows for cell in row.values()) < 32_767
    rows[1]["verdict"] = "absent"
    write(rows)
    assert read_sheet("sheet.csv", [long], "ana") == [label_of(long, 1, "absent", "ana")]


def test_a_file_that_is_no_sheet_is_refused() -> None:
    Path("sheet.csv").write_text("a,b\n1,2\n")
    (found,) = problems(lambda: read_sheet("sheet.csv", [ITEM], "ana"))
    assert "whose header names n, claim, verdict, key once each" in found
