"""A pool as JSONL and CSV, and the labels that come back: exact ids, no formulas, every problem with its line."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.collecting.pool import Pair
from rankgate.collecting.pool_files import POOL_FORMS, Labelled, as_csv, as_jsonl, read_labels
from rankgate.collecting.sheets import BYTE_ORDER_MARK, defused, exact
from rankgate.errors import RankgateError
from rankgate.readers.base import ProblemLog

PAIRS = [
    Pair(query_id="q1", question="O quê?", id="d,1", text='a "b"\nc', gain=None, ranks={"r.jsonl": 2, "s": None}),
    Pair(query_id="q1", question=None, id="d2", text=None, gain=1.0, ranks={"r.jsonl": None, "s": 1}),
    Pair(query_id="q1", question=None, id="d3", text=None, gain=0.5, ranks={"r.jsonl": 3, "s": 3}),
]
NAMES = ["r.jsonl", "s"]


def test_jsonl() -> None:
    assert as_jsonl(PAIRS, NAMES) == (
        r'{"query_id": "q1", "question": "O quê?", "id": "d,1", "text": "a \"b\"\nc", "gain": null, '
        '"ranks": {"r.jsonl": 2, "s": null}}\n'
        '{"query_id": "q1", "question": null, "id": "d2", "text": null, "gain": 1, '
        '"ranks": {"r.jsonl": null, "s": 1}}\n'
        '{"query_id": "q1", "question": null, "id": "d3", "text": null, "gain": 0.5, '
        '"ranks": {"r.jsonl": 3, "s": 3}}\n'
    )


def test_csv_has_the_same_columns() -> None:
    assert as_csv(PAIRS, NAMES) == BYTE_ORDER_MARK + (
        "query_id,question,id,text,gain,ranks.r.jsonl,ranks.s\r\n"
        'q1,O quê?,"d,1","a ""b""\nc",,2,\r\n'
        "q1,,d2,,1,,1\r\n"
        "q1,,d3,,0.5,3,3\r\n"
    )


FORMULAS = ["=1+1", "+1", "-2", "@SUM(A1)", "\tx", "\rx", "'=1", "''@x", "-", "\n=1", "\uff1d1", "\uff0b1"]
HARMLESS = ["", "a", "a=b", "'", "'a", "'tis", "1-2", "é"]


@each_row("text", FORMULAS)
def test_no_cell_begins_like_a_formula(text: str) -> None:
    pair = Pair(query_id=text, question=text, id=text, text=text, gain=-1.0, ranks={})
    cells = list(csv.reader(io.StringIO(as_csv([pair], []), newline="")))[1]
    assert [cell[0] for cell in cells[:4]] == ["'"] * 4
    assert cells[4] == "-1"  # a number, not a formula


@pytest.mark.parametrize("text", HARMLESS)
def test_other_cells_stay(text: str) -> None:
    assert defused(text) == exact(text) == text


@given(text=st.text("'=+-@\t\ra") | st.text())
def test_defused_ids_come_back_exact(text: str) -> None:
    assert exact(defused(text)) == text


def read(tmp_path: Path, content: str | bytes, name: str = "back") -> tuple[Labelled, list[str]]:
    file = tmp_path / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    log = ProblemLog(1000)
    found = read_labels(file.as_posix(), log)
    return found, [str(problem).removeprefix(f"{file.as_posix()}:") for problem in log.problems]


ROWS = [("q1", "a", 1.0, 2), ("7", "8", 0.0, 3)]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(
            '\n{"query_id": "q1", "id": "a", "gain": 1, "mine": []}\n{"gain": 0.0, "id": 8, "query_id": 7}\n',
            id="JSONL",
        ),
        pytest.param("query_id,id,gain\nq1,a,1\n7,8,0.0\n", id="CSV"),
        pytest.param('id;mine;query_id; gain \na;;q1;1\n8;"x;y";7;0\n', id="semicolons, columns in another order"),
        pytest.param("query_id\tid\tgain\r\nq1\ta\t 1 \r\n7\t8\t0\r\n", id="tabs"),
        pytest.param(BYTE_ORDER_MARK + "query_id,id,gain\r\nq1,a,1\r\n7,8,0\r\n", id="byte order mark"),
        pytest.param("query_id,id,gain,note\nq1,a,1\n7,8,0,,,,\n,,,\n\n", id="ragged empty cells and rows"),
    ],
)
def test_forms(tmp_path: Path, content: str) -> None:
    found, problems = read(tmp_path, content)
    assert [(label.query_id, label.id, label.gain, label.line) for label in found.labels] == ROWS
    assert (found.blank, problems) == (0, [])


def test_lines_are_counted_through_texts_of_several_lines(tmp_path: Path) -> None:
    content = 'query_id,text,id,gain\nq,"one\n\ntwo",a,1\nq,"three\nfour",b,2\n'
    assert [label.line for label in read(tmp_path, content)[0].labels] == [2, 5]


def test_a_text_of_any_length(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    content = f"query_id,text,id,gain\nq,{'x' * 300_000},a,1\n"
    assert read(tmp_path, content) == (Labelled(labels=read(tmp_path, content)[0].labels, blank=0), [])
    assert csv.field_size_limit() == limit


def test_pairs_without_a_gain_are_counted(tmp_path: Path) -> None:
    lines = "".join(f'{{"query_id": "q", "id": "{doc}", "gain": {gain}}}\n' for doc, gain in (("a", "null"), ("b", 1)))
    assert read(tmp_path, lines)[0].blank == 1
    assert read(tmp_path, "query_id,id,gain\nq,a,\nq,b, \nq,c,1\n")[0].blank == 2


HEAD = "query_id,id,gain\n"


@pytest.mark.parametrize(
    ("content", "problems"),
    {
        '{"query_id": "q", "id": "a", "gain": "1"}\n{"query_id": "q", "id": "b", "gain": true}\n': [
            "1: query 'q': the gain of 'a' is '1', not a number",
            "2: query 'q': the gain of 'b' is True, not a number",
        ],
        f"{HEAD}q,a,yes\n": ["2: query 'q': the gain of 'a' is 'yes', not a number"],
        f'{HEAD}q,a,"0,5"\n': ["2: query 'q': the gain of 'a' is '0,5', not a number"],
        f"{HEAD}q,a,2000\n": ["2: query 'q': the gain of 'a' is 2000; gains lie between -1000 and 1000"],
        '{"query_id": "q", "id": "a", "gian": 1}\n{"id": "a", "gain": null}\n': [
            "1: no gain; a labelled pair has query_id, id, gain (a gain of null is no label)",
            "2: no query_id; a labelled pair has query_id, id, gain (a gain of null is no label)",
        ],
        f"{HEAD}q\n": ["2: no id; a labelled pair has query_id, id, gain (a gain of null is no label)"],
        f"{HEAD},a,1\nq,a,1,oh\n": [
            "2: query_id: expected an id, found ''",
            "3: the header has 3 columns and this row more; quote cells that hold ','",
        ],
        '{"query_id": true, "id": "a", "gain": 1}\n{"query_id": "q", "id": 1.5, "gain": 1}\n': [
            "1: query_id: expected an id, found True",
            "2: id: expected an id, found 1.5",
        ],
        '{"query_id": "q", "id": "a", "gain": 1\n[1]\n{"id": 1, "id": 2}\n': [
            "1: broken JSON: expecting ',' delimiter (column 1)",
            "2: expected one JSON object a line, found [1]",
            "3: the key 'id' stands twice in one object",
        ],
        f'{HEAD}q,a,1\nq,"b,1\n': ["3: broken CSV: unexpected end of data"],
    }.items(),
)
def test_every_problem_has_its_line(tmp_path: Path, content: str, problems: list[str]) -> None:
    assert read(tmp_path, content)[1] == problems


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "the file is empty", id="empty"),
        pytest.param(
            "query,doc,gain\n", "it starts with 'query,doc,gain'; a labelled pool is JSONL, or CSV whose", id="n"
        ),
        pytest.param("query_id,id,gain,gain\n", "it starts with 'query_id,id,gain,gain'; a labelled pool", id="twice"),
        pytest.param(b"query_id,id,gain\nq,\xe9,1\n", "not UTF-8 (byte 0xe9); save the file as UTF-8", id="encoding"),
    ],
)
def test_what_is_no_labelled_pool(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(RankgateError) as refused:
        read(tmp_path, content)
    assert message in str(refused.value)


IDS = st.text(min_size=1, max_size=6)
TEXTS = st.none() | st.text(max_size=20)
GAINS = st.none() | st.sampled_from([0.0, 1.0, -1.0, 2.5])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pools")


@pytest.mark.full
@pytest.mark.parametrize("form", POOL_FORMS)
@settings(max_examples=100)
@given(rows=st.lists(st.tuples(IDS, TEXTS, IDS, TEXTS, GAINS), min_size=1, max_size=8))
@example(rows=[("\r", "\r\n", "\n", "\x00", 1.0), ("=", ",", '"', '";', None), ("\ufeff", None, "\u2028", "", 0.0)])
def test_what_is_written_reads_back(directory: Path, form: str, rows: list[tuple[str, str, str, str, float]]) -> None:
    pairs = [
        Pair(query_id=query_id, question=question, id=doc, text=text, gain=gain, ranks={"run": 1})
        for query_id, question, doc, text, gain in rows
    ]
    found, problems = read(directory, POOL_FORMS[form](pairs, ["run"]), f"pool{form}")
    assert problems == []
    assert [(label.query_id, label.id, label.gain) for label in found.labels] == [
        (pair.query_id, pair.id, pair.gain) for pair in pairs if pair.gain is not None
    ]
    assert found.blank == sum(pair.gain is None for pair in pairs)


def test_a_line_of_jsonl_is_plain_json() -> None:
    assert json.loads(as_jsonl(PAIRS, NAMES).splitlines()[0])["ranks"] == {"r.jsonl": 2, "s": None}
