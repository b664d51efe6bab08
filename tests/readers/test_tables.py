"""Runs as tables: CSV and TSV with a header, and MS MARCO's three columns."""

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.errors import RankgateError
from rankgate.model.values import Details, Item, Ranking, RunField
from rankgate.readers.formats import read_run

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

EVERYTHING = frozenset(RunField) - {RunField.TRAFFIC}


def rankings(
    content: str | bytes, form: str | None = None, needs: frozenset[RunField] = frozenset()
) -> tuple[str, list[Ranking]]:
    Path("run").write_bytes(content.encode() if isinstance(content, str) else content)
    read = read_run("run", form, needs=needs)
    return read.format, list(read.rankings)


def run(content: str | bytes, form: str | None = None) -> tuple[str, dict[str, list[str]]]:
    """The format that was found, and the ranked ids by query."""
    found, read = rankings(content, form)
    return found, {ranking.query_id: ranking.ids for ranking in read}


def refusal(content: str | bytes, form: str | None = None) -> list[str]:
    with pytest.raises(RankgateError) as caught:
        rankings(content, form)
    return str(caught.value).splitlines()


# CSV.


@pytest.mark.parametrize("query", ["query_id", "q_id", "qid", "query-id", "Query_ID", " qid "])
@pytest.mark.parametrize("doc", ["doc_id", "chunk_id", "docid", "docno", "id", "corpus-id", "DocID"])
@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_headers(query: str, doc: str, separator: str) -> None:
    content = f"{query}|{doc}|score\nq1|a|1.5\nq1|b|2.5\nq2|c|0.1\n".replace("|", separator)
    assert run(content) == ("csv", {"q1": ["b", "a"], "q2": ["c"]})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("qid,docid,score\nq,a,1\nq,c,1\nq,b,1\n", ["c", "b", "a"], id="ties by id, descending"),
        pytest.param("qid,docid,score\nq,b,1.0\nq,a,1.00000001\n", ["a", "b"], id="no tie as 64-bit floats"),
        pytest.param("qid,docid,score\nq,a,1e-3\nq,b,-2\nq,c,.5\n", ["c", "a", "b"], id="numbers as people write them"),
        pytest.param("qid,docid,rank\nq,b,2\nq,c,3\nq,a,1\n", ["a", "b", "c"], id="ranks, unsorted"),
        pytest.param("qid,docid,rank\nq,b,2.0\nq,a,1.0\n", ["a", "b"], id="ranks as pandas writes them"),
        pytest.param("qid,docid,rank,score\nq,a,0,1\nq,b,0,3\nq,c,0,2\n", ["b", "c", "a"], id="rank 0 on every row"),
        pytest.param("qid,docno,rank,score\nq,a,0,2\nq,b,1,2\nq,c,2,1\n", ["a", "b", "c"], id="ranks from 0, and ties"),
        pytest.param("qid,docid,docno,score\nq,17,a,1\nq,18,b,2\n", ["b", "a"], id="PyTerrier: docno before docid"),
        pytest.param(",qid,docid,score\n0,q,a,1\n1,q,b,2\n", ["b", "a"], id="pandas' index"),
        pytest.param("question_id,doc_id,score\nq,a,1\nq,b,2\n", ["b", "a"], id="question_id"),
        pytest.param("user_input,doc_id,score\nq,a,1\nq,b,2\n", ["b", "a"], id="a question as Ragas calls it"),
        pytest.param("score,docid,qid\n1,a,q\n2,b,q\n", ["b", "a"], id="columns in another order"),
        pytest.param("qid,docid,score\r\nq,a,1\r\n\r\nq,b,2\r\n", ["b", "a"], id="CRLF and a blank line"),
        pytest.param("\ufeffqid,docid,score\nq,a,1\n", ["a"], id="byte order mark"),
        pytest.param("\nqid,docid,score\nq,a,1", ["a"], id="blank line first, no end of the last"),
        pytest.param('"qid","docid","score"\n"q","a, b",1\n"q","c ""d""",2\n', ['c "d"', "a, b"], id="quotes"),
        pytest.param('qid,docid,score,text\nq,a,1,"two\nlines"\nq,b,2,""\n', ["b", "a"], id="a text of two lines"),
        pytest.param("qid,docid,score\nq,a#1,1\nq,b|2,2\nq,#c d,3\n", ["#c d", "b|2", "a#1"], id="signs in ids"),
        pytest.param("qid\tdocid\tscore\nq\ta, b; c\t1\nq\td e\t2\n", ["d e", "a, b; c"], id="separators in ids"),
        pytest.param("qid,docid,score\nq,文書,1\nq,é,2\nq,e\u0301,3\n", ["e\u0301", "é", "文書"], id="Unicode"),
    ],
)
def test_csv(content: str, expected: list[str]) -> None:
    assert run(content) == ("csv", {"q": expected})
    assert run(gzip.compress(content.encode())) == ("csv", {"q": expected})


def test_rows_of_a_query_may_stand_anywhere() -> None:
    assert run("qid,docid,score\nq2,a,1\nq1,b,1\nq2,c,2\n")[1] == {"q2": ["c", "a"], "q1": ["b"]}


def test_repeats_are_removed_and_counted() -> None:
    """The best of them stays."""
    assert rankings("qid,docid,score\nq,a,1\nq,b,2\nq,a,3\n")[1] == [Ranking("q", ["a", "b"], 1)]


def test_a_time_that_is_not_there() -> None:
    rows = "".join(f"q{row},a,1,{cell}\n" for row, cell in enumerate(["NaN", "", "null", "40"]))
    found = rankings(f"qid,docid,score,latency_ms\n{rows}", needs=frozenset({RunField.LATENCY}))[1]
    times = [ranking.details.latency_ms if ranking.details else None for ranking in found]
    assert times == [None, None, None, {"total": 40.0}]


def test_details_only_where_needed() -> None:
    content = (
        "qid,chunk_id,doc_id,score,text,doc_version,latency_ms\n"
        "q,a#1,a,0.5,one,2025-06-01,40\nq,b#1,b,0.9,,,\nr,c#1,,1,,,\n"
    )
    assert rankings(content)[1] == [Ranking("q", ["b#1", "a#1"]), Ranking("r", ["c#1"])]
    items = [Item(doc_id="b", score=0.9), Item("a", "2025-06-01", "one", 0.5)]
    first, second = rankings(content, needs=EVERYTHING)[1]
    assert first == Ranking("q", ["b#1", "a#1"], 0, Details(items=items, latency_ms={"total": 40.0}))
    assert second == Ranking("r", ["c#1"], 0, Details(items=[Item(score=1.0)]))


CELLS = "expected 3 cells (qid, docid, score)"
LISTS = (
    "lists as Python shows them, as Ragas' to_csv writes them, cannot be read back; write JSONL instead, with "
    'to_jsonl(path) or to_pandas().to_json(path, orient="records", lines=True)'
)


@each_row(
    ("content", "expected"),
    {
        "qid,docid\nq,a\n": [
            (
                "run:1: no usual name for what orders (found: 'qid', 'docid'); name them with `map: "
                "{query_id: qid, "
                "chunk_id: docid, score: COLUMN}` under inputs.run, beside `path`"
            )
        ],
        "qid,document,score\nq,a,1\n": [
            (
                "run:1: no usual name for the document's id (found: 'qid', 'document', 'score'); name "
                "them with `map: "
                "{query_id: qid, chunk_id: COLUMN, score: score}` under inputs.run, beside `path`"
            )
        ],
        "qid,query_id,docid,score\nq,q,a,1\n": [
            (
                "run:1: 'qid' and 'query_id' could both be the query (found: 'qid', 'query_id', 'docid', "
                "'score'); name "
                "them with `map: {query_id: COLUMN, chunk_id: docid, score: score}` under inputs.run, beside `path`"
            )
        ],
        "qid,id,doc_id,score\nq,1,a,1\n": [
            (
                "run:1: 'id' and 'doc_id' could both be the document's id (found: 'qid', 'id', 'doc_id', "
                "'score'); name "
                "them with `map: {query_id: qid, chunk_id: COLUMN, score: score}` under inputs.run, beside `path`"
            )
        ],
        "qid,docid,score,Score\nq,a,1,2\n": ["run:1: two columns are called 'score'; keep one"],
        "qid,docid,score\nq,a,nan\nq,b,inf\nq,c,\nq,d,1_0\nq,e,½\n": [
            "run:2: query 'q': the score of 'a' is 'nan'; expected a finite number",
            "run:3: query 'q': the score of 'b' is 'inf'; expected a finite number",
            "run:4: query 'q': the score of 'c' is ''; expected a finite number",
            "run:5: query 'q': the score of 'd' is '1_0'; expected a finite number",
            "run:6: query 'q': the score of 'e' is '½'; expected a finite number",
        ],
        "qid;docid;score\nq;a;0,85\n": ["run:2: query 'q': the score of 'a' is '0,85'; expected a finite number"],
        "qid,docid,rank\nq,a,1.5\n": ["run:2: query 'q': the rank of 'a' is '1.5'; expected a whole number"],
        "qid,docid,score\nq,a\nq,b,1,2\n": [
            f"run:2: {CELLS}, found 2: ['q', 'a']",
            f"run:3: {CELLS}, found 4: ['q', 'b', '1', '2']",
        ],
        "qid,docid,score\n,a,1\nq,,1\n": [
            "run:2: query '': the id of the query is empty",
            "run:3: query 'q': the id of the result is empty",
        ],
        "qid,docid,rank,score\nq,a,1,0.1\nq,b,2,0.2\n": [
            (
                "run:2: query 'q': 'b' has the better score and 'a' the better rank; drop one of the two columns, "
                "or map the one that orders"
            )
        ],
        "qid,docid,score\nq,\"['a', 'b']\",1\n": [f"""run:2: query 'q': "['a', 'b']" is no id: {LISTS}"""],
        b"qid,docid,score\nq,caf\xe9,1\n": ["run:2: not UTF-8 (byte 0xe9); save the file as UTF-8"],
        f'qid,docid,score\nq,"{"a" * 131_073}",1\n': [
            "run:2: a cell of more than 131,072 characters; close its quote, or write longer texts as JSONL"
        ],
        "qid,docid,score\rq,a,1\r": ["run:1: lines end in CR alone, as of an old Mac; save the file with LF or CRLF"],
        'qid,docid,score\nq,a,1\nq,"b" c,1\n': [
            "run:3: broken CSV: ',' expected after '\"'; a cell with quotes is quoted, and its quotes doubled"
        ],
    }.items(),
)
def test_bad_csv(content: str | bytes, expected: list[str]) -> None:
    assert refusal(content) == expected


def test_beir_qrels_given_as_a_run() -> None:
    (message,) = refusal("query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t0\n")
    assert "that looks like BEIR qrels, which is a gold set; if these are scores, name the format: csv" in message
    assert run("query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t2\n", "csv") == ("csv", {"q": ["b", "a"]})
    assert run("query-id\tcorpus-id\tscore\nq\ta\t1.5\nq\tb\t2.5\n") == ("csv", {"q": ["b", "a"]})


def test_header_of_a_trec_run() -> None:
    """With tabs it is a table like any other; with blanks it is a row whose score is none."""
    rows = "qid Q0 docno rank score tag\nq Q0 a 1 0.5 x\nq Q0 b 2 0.4 x\n"
    assert run(rows.replace(" ", "\t")) == ("csv", {"q": ["a", "b"]})
    assert refusal(rows) == ["run:1: query 'qid': the score of 'docno' is 'score'; scores must be finite numbers"]


def test_trec_rank_0_on_every_row_and_no_order() -> None:
    """The score decides."""
    assert run("q Q0 a 0 1.0 x\nq Q0 b 0 1.00000001 x\nq Q0 c 0 0.5 x\n") == ("trec", {"q": ["b", "a", "c"]})


WRITTEN = Path(__file__).parent / "written"
AS_WRITTEN = ("csv", {"q": ['c "d"', "a,b"], "7": ["7"]})


@pytest.mark.parametrize("name", ["pandas-3.1.1.csv", "pandas-3.1.1-with-index.csv", "pandas-3.1.1.tsv"])
def test_as_pandas_wrote_it(name: str) -> None:
    assert run((WRITTEN / name).read_text(encoding="utf-8")) == AS_WRITTEN


@pytest.mark.full
def test_as_the_pandas_that_is_installed_writes_it() -> None:
    import pandas as pd

    frame = pd.DataFrame({"qid": ["q", "q", "7"], "docno": ["a,b", 'c "d"', "7"], "score": [1.5, 2.5, 3.0]})
    for options in ({"index": False}, {}, {"index": False, "sep": "\t"}):
        buffer = io.StringIO()
        frame.to_csv(buffer, **options)
        assert run(buffer.getvalue()) == AS_WRITTEN


# MS MARCO.


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("1\t20\t1\n1\t21\t2\n2\t20\t1\n", {"1": ["20", "21"], "2": ["20"]}, id="in order"),
        pytest.param("1\t21\t2\n2\t20\t1\n1\t20\t1\n", {"1": ["20", "21"], "2": ["20"]}, id="in no order"),
        pytest.param("q 1\td 1\t1\nq 1\td#2|x\t2\n", {"q 1": ["d 1", "d#2|x"]}, id="blanks and signs in ids"),
        pytest.param("1 20 1\n1 21 2\n", {"1": ["20", "21"]}, id="blanks between"),
        pytest.param("1\t20\t1\r\n\r\n1\t21\t2\r\n", {"1": ["20", "21"]}, id="CRLF"),
        pytest.param("água\t文\t1\n", {"água": ["文"]}, id="Unicode"),
    ],
)
def test_msmarco(content: str, expected: dict[str, list[str]]) -> None:
    assert run(b"\xef\xbb\xbf" + content.encode()) == ("msmarco", expected)
    assert run(gzip.compress(content.encode())) == ("msmarco", expected)


def test_msmarco_repeats_are_removed_and_counted() -> None:
    assert rankings("q\ta\t1\nq\ta\t2\nq\tb\t3\n")[1] == [Ranking("q", ["a", "b"], 1)]


RENUMBER = "renumber them, or order the rows by a score"


@each_row(
    ("content", "expected"),
    {
        "q\ta\t1\nq\tb\t3\n": [f"run:1: query 'q': rank 2 is missing; ranks run from 1 without gaps: {RENUMBER}"],
        "q\ta\t2\nq\tb\t3\n": [f"run:1: query 'q': rank 1 is missing; ranks run from 1 without gaps: {RENUMBER}"],
        "q\ta\t1\nq\tb\t1\nr\tc\t1\n": [f"run:1: query 'q': rank 1 stands twice ('a', 'b'): {RENUMBER}"],
        "q\ta\t0\nq\tb\t1\n": [f"run:1: query 'q': 'a' has rank 0; ranks start at 1: {RENUMBER}"],
        "q\ta\t1\nq\tb\nq\tc\tx\n": [
            "run:2: expected 3 columns (query document rank), found 2: 'q b'",
            "run:3: query 'q': the rank of 'c' is 'x'; expected a whole number",
        ],
        b"q\ta\t1\nq\tb\xe9\t2\n": ["run:2: not UTF-8 (byte 0xe9); save the file as UTF-8"],
    }.items(),
)
def test_bad_msmarco(content: str | bytes, expected: list[str]) -> None:
    assert refusal(content) == expected


def test_header_of_msmarco() -> None:
    assert refusal("query doc rank\nq a 1\n", "msmarco") == [
        (
            "run:1: query 'query': the rank of 'doc' is 'rank'; expected a whole number; if that is a header, "
            "remove the row"
        )
    ]


def test_msmarco_is_no_gold() -> None:
    (message,) = refusal("q\ta\t0.5\n")
    assert "three columns that end in a score need a header" in message


# Whatever it is.

IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), min_size=1, max_size=5).filter(
    lambda text: text.strip() and not text.startswith("[")
)
RUNS = st.dictionaries(IDS, st.lists(IDS, unique=True, min_size=1, max_size=5), min_size=1, max_size=4)


@pytest.mark.full
@given(ranked=RUNS, separator=st.sampled_from([",", "\t", ";"]))
def test_any_csv_reads_back(ranked: dict[str, list[str]], separator: str) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerow(["qid", "docid", "score"])
    writer.writerows([query, doc, 1 / rank] for query, docs in ranked.items() for rank, doc in enumerate(docs, 1))
    assert run(buffer.getvalue()) == ("csv", ranked)


CELLS_OF_ANY_KIND = st.sampled_from(["q", "a", "1", "2", "0.5", "nan", "", '"', "['a']", "\t", "x,y", "é", "1e999"])


@given(
    header=st.lists(st.sampled_from(["qid", "docid", "id", "score", "rank", "text", "doc_version", "latency_ms", ""])),
    rows=st.lists(st.lists(CELLS_OF_ANY_KIND, max_size=5), max_size=5),
    form=st.sampled_from(["csv", "msmarco", None]),
)
def test_any_cells_are_read_or_refused(header: list[str], rows: list[list[str]], form: str | None) -> None:
    content = "\n".join(",".join(row) for row in [header, *rows])
    refused = ""
    try:
        for ranking in rankings(content, form, EVERYTHING)[1]:
            assert len(set(ranking.ids)) == len(ranking.ids)
    except RankgateError as error:
        refused = str(error)
    assert refused.replace("\n", "").isprintable()
