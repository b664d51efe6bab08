"""Questions of the traffic and labels of their documents: every shape that is read, and every mistake by its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankgate.errors import RankgateError
from rankgate.model.traffic_lists import TrafficLabel, TrafficQuestion, TrafficSheet
from rankgate.readers.traffic import read_traffic, read_traffic_labels, read_traffic_sheets

REFUND = TrafficQuestion(query_id="t1", question="refund?", tags=("lang:en",), count=12.0)
LATE = TrafficQuestion(query_id="7", question="too late")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(
            "t.jsonl",
            '{"query_id": "t1", "question": "refund?", "tags": ["lang:en"], "count": 12}\n'
            '{"query_id": 7, "question": "too late"}\n',
            id="jsonl",
        ),
        pytest.param(
            "t.json",
            '[{"query_id": "t1", "question": "refund?", "tags": "lang:en", "count": 12.0, "asked_at": "x"},'
            '{"query_id": "7", "question": "too late", "tags": null, "count": null}]',
            id="json-with-a-key-that-nobody-reads",
        ),
        pytest.param("t.csv", "query_id,question,tags,count\nt1,refund?,lang:en; lang:en,12\n7,too late,,\n", id="csv"),
        pytest.param("t.csv", "query_id;count;question;tags\nt1;12;refund?;lang:en\n7;1;too late;\n", id="semicolons"),
    ],
)
def test_questions_are_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_traffic(str(tmp_path / name)) == (REFUND, LATE)


@pytest.mark.parametrize(
    ("text", "problem"),
    {
        "": "t.jsonl: the file is empty",
        "[]": "t.jsonl: has no question; add lines with query_id and question",
        '{"query_id": "t1", "question": "a", "count": 0}': (
            "t.jsonl:1: count: expected how often it is asked, a number above 0, found 0"
        ),
        '{"query_id": "t1", "question": "a", "count": "NaN"}': (
            "t.jsonl:1: count: expected how often it is asked, a number above 0, found 'NaN'"
        ),
        '{"query_id": "t1", "question": "a", "count": true}': (
            "t.jsonl:1: count: expected how often it is asked, a number above 0, found True"
        ),
        '{"query_id": "t1", "query": "a"}': "t.jsonl:1: question: no text; write the question here",
        '{"queryid": "t1", "question": "a"}': "t.jsonl:1: query_id: no id; write it here; did you mean 'queryid'?",
        '{"query_id": "t1", "question": "a"}\n{"query_id": "t1", "question": "b"}': (
            "t.jsonl:2: query_id: the question 't1' stands twice (first on line 1); keep one, with its count"
        ),
        '{"query_id": "t1", "question": "a", "tags": {"lang": "th"}}': (
            "t.jsonl:1: tags: expected a list of texts such as lang:th, found {'lang': 'th'}"
        ),
    }.items(),
)
def test_mistakes_have_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(text)
    with pytest.raises(RankgateError) as refused:
        read_traffic("t.jsonl")
    assert problem in str(refused.value)


def test_every_mistake_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("query_id,question,count\nt1,,1\n,b,1\nt3,c,-1\n")
    with pytest.raises(RankgateError) as refused:
        read_traffic("t.csv")
    places = [(each.line, each.key) for each in refused.value.problems]
    assert places == [(2, "question"), (3, "query_id"), (4, "count")]


def test_labels_are_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("query_id,document,relevant,labeller\nt1,d1,1,ann\nt1,d1,0,bob\nt1,d2,TRUE,\nt1,d1,1,ann\n")
    assert read_traffic_labels(str(path)) == (
        TrafficLabel(query_id="t1", document="d1", relevant=True, labeller="ann"),
        TrafficLabel(query_id="t1", document="d1", relevant=False, labeller="bob"),
        TrafficLabel(query_id="t1", document="d2", relevant=True),
    )
    assert read_traffic_labels(str(tmp_path / "none-yet.jsonl")) == ()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        pytest.param(
            '{"query_id": "t1", "document": "d1", "relevant": "maybe"}',
            "labels.jsonl:1: relevant: expected true or false, found 'maybe'",
            id="a-word",
        ),
        pytest.param(
            '{"query_id": "t1", "document": "d1", "relevant": true}\n'
            '{"query_id": "t1", "document": "d1", "relevant": false}',
            "labels.jsonl:2: relevant: 'd1' of 't1' has another label on line 1; keep one",
            id="both",
        ),
        pytest.param(
            '{"query_id": "t1", "relevant": true}', "labels.jsonl:1: document: no id; write it here", id="no-document"
        ),
    ],
)
def test_labels_that_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, problem: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labels.jsonl").write_text(lines)
    with pytest.raises(RankgateError) as refused:
        read_traffic_labels("labels.jsonl")
    assert problem in str(refused.value)


SHEET = '{"sheet": {"run": "a1", "baseline": "b2", "n": 40}}'
LABEL = '{"query_id": "t1", "document": "d1", "relevant": true, "labeller": "ann", "sheet": "of mine"}'


@pytest.mark.parametrize(
    ("lines", "labels", "sheets"),
    [
        pytest.param([SHEET, LABEL], 1, 1, id="both"),
        pytest.param([SHEET], 0, 1, id="a sheet that came back empty"),
        pytest.param([LABEL], 1, 0, id="a key of somebody"),
    ],
)
def test_sheets_stand_beside_labels(tmp_path: Path, lines: list[str], labels: int, sheets: int) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    assert len(read_traffic_labels(str(path))) == labels
    assert read_traffic_sheets(str(path)) == (TrafficSheet(run="a1", baseline="b2", n=40),) * sheets


@pytest.mark.parametrize("n", ["0", "-3", '"40"', "null"])
def test_a_sheet_of_no_questions(tmp_path: Path, n: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{SHEET.replace('40', n)}\n{LABEL}\n")
    with pytest.raises(RankgateError, match="merge the sheet again, or remove the line") as refused:
        read_traffic_sheets(str(path))
    assert refused.value.problems[0].line == 1
