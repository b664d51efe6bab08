"""Files as data frames, applications and search tools write them, each also as the other kind and cut in half."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.json_lines import json_lines

from rankgate.errors import RankgateError
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import read_gold, read_run
from rankgate.readers.per_query import read_scores

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

ROWS: list[dict[str, Any]] = [
    {"query_id": "q", "doc_id": "b", "score": 0.5},
    {"query_id": "p", "doc_id": "a", "score": 0.5},
    {"query_id": "q", "doc_id": "a", "score": 0.9},
]
IN_ORDER = {"q": ["a", "b"], "p": ["a"]}


def run_of(content: str, fields: FieldMap | None = None) -> dict[str, list[str]] | str:
    """The ranked ids by query, or what is wrong."""
    Path("run").write_text(content, encoding="utf-8")
    try:
        return {ranking.query_id: ranking.ids for ranking in read_run("run", map=fields).rankings}
    except RankgateError as error:
        return str(error)


def gold_of(content: str, fields: FieldMap | None = None) -> Mapping[str, Mapping[str, float]] | str:
    """The gains by query, or what is wrong."""
    Path("gold").write_text(content, encoding="utf-8")
    try:
        return {query_id: dict(sample.gains) for query_id, sample in read_gold("gold", map=fields).samples.items()}
    except RankgateError as error:
        return str(error)


# One result a row.


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(json_lines(ROWS), IN_ORDER, id="lines, the rows of a query apart"),
        pytest.param(json.dumps(ROWS), IN_ORDER, id="a list on one line"),
        pytest.param(json.dumps(ROWS, indent=2), IN_ORDER, id="a list, indented"),
        pytest.param(
            json_lines([{"qid": "q", "docid": 5, "docno": "a", "rank": 0, "score": 3.0, "query": "?"}]),
            {"q": ["a"]},
            id="PyTerrier's columns",
        ),
        pytest.param(
            json_lines([{"query": "q", "id": 7, "rank": 2}, {"query": "q", "id": 8, "rank": 1}]),
            {"q": ["8", "7"]},
            id="ranks alone, a query by its text",
        ),
        pytest.param(json_lines([{**ROWS[0], "score": "0.5"}]), {"q": ["b"]}, id="a score as text"),
        pytest.param(json_lines([{**ROWS[0], "score": 3}]), {"q": ["b"]}, id="a whole score, asked for as a run"),
        pytest.param(
            json_lines([{**ROWS[0], "score": float("nan")}]),
            "run:1: the score of 'b' is nothing; expected a finite number",
            id="NaN as score",
        ),
        pytest.param(
            json_lines([{**row, "system": name} for name in ("s1", "s2") for row in ROWS[:1]]),
            "run:2: query 'q' has rows of two systems by 'system', 's1' (line 1) and 's2'; split the file by it, or "
            "write one value there if these rows are one list",
            id="two systems",
        ),
        pytest.param(
            json.dumps({"query_id": {"0": "q"}, "doc_id": {"0": "a"}, "score": {"0": 0.5}}),
            "run:1: query_id: holds columns in place of rows; write rows, as pandas does with "
            'to_json(path, orient="records")',
            id="columns, as pandas writes them by default",
        ),
        pytest.param(
            json_lines([{"query-id": "q", "corpus-id": "a", "score": 1}]),
            'run: cannot be read as a run: it starts with \'{"query-id": "q", "corpus-id": "a", "score": 1}\'; that '
            "looks like BEIR qrels, which is a gold set; if these are scores, name the format: rows",
            id="qrels of Hugging Face",
        ),
        pytest.param(
            json_lines([{"query_id": "q", "doc_id": "a", "rating": 1}]),
            'run: cannot be read as a run: it starts with \'{"query_id": "q", "doc_id": "a", "rating": 1}\'; that '
            "looks like judgments, which are a gold set; are gold set and run swapped? Name it with --gold FILE",
            id="ratings",
        ),
        pytest.param(
            json_lines([{"query_id": "q", "doc_id": "a", "similarity": 0.5}]),
            "run:1: no usual name for what orders (found: 'query_id', 'doc_id', 'similarity'); name them with "
            "`map: {query_id: query_id, chunk_id: doc_id, score: COLUMN}` under inputs.run, beside `path`",
            id="an unusual name for what orders",
        ),
        pytest.param(
            json_lines([{"query_id": "q", "doc_id": "a", "rating": 0.5}]),
            'run: cannot be read as a run: it starts with \'{"query_id": "q", "doc_id": "a", "rating": 0.5}\'; that '
            "looks like judgments, which are a gold set; are gold set and run swapped? Name it with --gold FILE",
            id="a rating that is a fraction",
        ),
        pytest.param(
            json_lines(ROWS)[:80],
            "run:2: broken JSON: expecting property name enclosed in double quotes (column 33)",
            id="lines cut in half",
        ),
        pytest.param(json.dumps(ROWS)[:80], "run:1: broken JSON: expecting ',' delimiter (column 81)", id="a list cut"),
    ],
)
def test_rows_of_json_are_a_run(content: str, expected: object) -> None:
    found = run_of(content)
    assert (found.partition(" (known formats")[0] if isinstance(found, str) else found) == expected


def test_rows_are_told_by_what_was_asked_for() -> None:
    whole = json_lines([{**row, "score": number} for number, row in enumerate(ROWS)])
    assert run_of(whole) == IN_ORDER
    assert gold_of(whole) == {"q": {"b": 0.0, "a": 2.0}, "p": {"a": 1.0}}
    assert "that looks like a run, whose scores are no whole numbers" in str(gold_of(json_lines(ROWS)))


# Lists of results as JSON texts.


@pytest.mark.parametrize("key", ["actual_output", "actualOutput", "retrieved"])
@pytest.mark.parametrize("wrap", [json.dumps, lambda line: json.dumps([line], indent=1)], ids=["line", "list"])
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param('["a", "b"]', ["a", "b"], id="a list"),
        pytest.param('{"retrieved": ["a"], "answer": "30 days"}', ["a"], id="an object"),
        pytest.param('{"topk": [{"chunk_id": "b", "rank": 2}, {"chunk_id": "a", "rank": 1}]}', ["a", "b"], id="topk"),
        pytest.param('{"retrieved": "[\\"a\\"]"}', ["a"], id="a text within"),
        pytest.param(json.dumps('["a"]'), ["a"], id="a text of a text"),
        pytest.param('["a"', "broken JSON: expecting ',' delimiter (column 5)", id="cut in half"),
        pytest.param(
            "Within 30 days.", "found 'Within 30 days.': the text of an answer goes under `answer`", id="prose"
        ),
        pytest.param("", "found '': the text of an answer goes under `answer`", id="empty"),
        pytest.param("['a', 'b']", "lists as Python shows them", id="as Python shows it"),
        pytest.param("5", "found a whole number", id="a number"),
    ],
)
def test_a_list_of_results_may_be_a_json_text(key: str, wrap: Any, written: str, expected: list[str] | str) -> None:
    found = run_of(wrap({"query_id": "q", key: written}))
    if isinstance(expected, list):
        assert found == {"q": expected}
    else:
        assert expected in str(found)
        assert key in str(found)


# Judgments of search tools, wherever they lie.

LIST = {"name": "mine", "judgmentRatings": [{"query": "hat", "ratings": [{"docId": "P1", "rating": "3.000"}]}]}
OTHER = {"judgmentRatings": [{"query": "coat", "ratings": [{"docId": "P2", "rating": "1"}]}]}
HIT = {"_index": "search-relevance-judgment", "_id": "j1", "_source": LIST}
ENVELOPE = {"took": 2, "hits": {"total": {"value": 1, "relation": "eq"}, "hits": [HIT]}}
RATED = {"id": "hat", "request": {}, "ratings": [{"_index": "i", "_id": "P1", "rating": 3}]}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(LIST, id="a judgment list"),
        pytest.param(HIT, id="a hit"),
        pytest.param(ENVELOPE, id="the response of a GET"),
        pytest.param([HIT], id="a list of hits"),
        pytest.param([LIST], id="a list of judgment lists"),
        pytest.param({"requests": [RATED]}, id="Elasticsearch's request"),
        pytest.param({"body": {"requests": [RATED]}}, id="Elasticsearch's request in a body"),
        pytest.param(
            {"metric_score": 0.6, "details": {"hat": {"hits": [{"hit": {"_id": "P1", "_score": 1.0}, "rating": 3}]}}},
            id="Elasticsearch's response",
        ),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_exports_of_search_tools(value: Any, indent: int | None) -> None:
    content = json.dumps(value, indent=indent)
    assert gold_of(content) == {"hat": {"P1": 3.0}}
    assert isinstance(run_of(content), str), "which is no run"
    assert isinstance(gold_of(content[: len(content) // 2]), str), "nor is half of it a gold set"


def test_several_judgment_lists_are_one_gold_set() -> None:
    assert gold_of(json.dumps([LIST, OTHER])) == {"hat": {"P1": 3.0}, "coat": {"P2": 1.0}}


@pytest.mark.parametrize("records", ["hits.hits._source.judgmentRatings", "hits.hits.0._source.judgmentRatings"])
def test_a_map_reaches_into_lists_within_lists(records: str) -> None:
    fields = FieldMap(records=records, query_id="query", items="ratings", chunk_id="docId", gain="rating")
    assert gold_of(json.dumps(ENVELOPE), fields) == {"hat": {"P1": 3.0}}
    spans = {"spans": [{"id": "q", "docs": ["a"]}, {"id": "p", "docs": []}]}
    traces = {"resourceSpans": [{"scopeSpans": [spans]}, {"scopeSpans": [{"spans": [{"id": "o", "docs": ["b"]}]}]}]}
    of_traces = FieldMap(records="resourceSpans.scopeSpans.spans", query_id="id", items="docs")
    assert run_of(json.dumps(traces), of_traces) == {"q": ["a"], "p": [], "o": ["b"]}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            "# qid:1: rambo\n4 qid:1 1:0.5 2:3.1 # 7555 First Blood\n0 qid:1 # 12\n",
            {"1": {"7555": 4.0, "12": 0.0}},
            id="of Elasticsearch's plugin",
        ),
        pytest.param("3\tqid:1\t#\t7555\trambo\n", {"1": {"7555": 3.0}}, id="of Quepid"),
        pytest.param(
            "2 qid:10 1:0.05 46:0.07 #docid = GX029-35 inc = 0.0119 prob = 0.139\n",
            {"10": {"GX029-35": 2.0}},
            id="LETOR",
        ),
        pytest.param(
            "2 qid:10 1:0.05 46:0.07\n",
            "gold:1: no document of a learning-to-rank list, `3 qid:1 1:0.5 # doc-3`; found '2 qid:10 1:0.05 46:0.07'",
            id="without documents",
        ),
        pytest.param("x qid:1 # a\n", "gold:1: 1: the gain 'x' is not a finite number", id="no gain"),
        pytest.param(
            "1 qid:1 # a\n2 qid:1 # a\n",
            "gold:2: 1: conflicting judgment: 'a' has gain 1 above and 2 here",
            id="rated twice",
        ),
        pytest.param(
            "1 qid:1 # a\nnonsense\n",
            "gold:2: no row of a learning-to-rank list, `3 qid:1 1:0.5 # doc-3`; found 'nonsense'",
            id="another line",
        ),
    ],
)
def test_learning_to_rank(content: str, expected: object) -> None:
    assert gold_of(content) == expected
    assert "learning-to-rank list, which is a gold set" in str(run_of(content)) or content.startswith("#")


def test_questions_of_a_learning_to_rank_list() -> None:
    gold_of("# qid:1: red hat\n# a word on it\n1 qid:1 # a\n1 qid:2 # a\n")
    assert [sample.question for sample in read_gold("gold").samples.values()] == ["red hat", None]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("sep=;\r\nqid;docid;{}\r\nq;d,1;3\r\n", id="semicolons"),
        pytest.param('\ufeffsep=,\nqid,docid,{}\nq,"d,1",3\n', id="commas, after a byte order mark"),
        pytest.param('"sep=;"\nqid;docid;{}\nq;d,1;3\n', id="quoted"),
        pytest.param("sep=\t\nqid\tdocid\t{}\nq\td,1\t3\n", id="tabs"),
    ],
)
def test_a_separator_that_a_spreadsheet_states(content: str) -> None:
    assert gold_of(content.format("rating")) == {"q": {"d,1": 3.0}}
    assert run_of(content.format("score")) == {"q": ["d,1"]}
    assert "run:3: query 'q': the score of 'd,1' is 'x'" in str(run_of(content.replace("3", "x").format("score")))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            "query,docid,rating,rater\nhat,P1,3,Anna\nhat,P1,2,Bob\n",
            "gold:3: hat: conflicting judgment: 'P1' has gain 3 above and 2 here; 'Bob' is the rater here: keep the "
            "rows of one",
            id="a row a rater",
        ),
        pytest.param(
            "query,docid,Anna,Bob\nhat,P1,3,2\n",
            "gold:2: no column is known to be the rating (columns: 'query', 'docid', 'Anna', 'Bob'); say which is "
            "which: `rankgate init --gold gold --map question=query,document=docid,rating=Anna`, or in criteria, "
            "beside `path` under inputs.gold: `map: {query_id: query, question: query, chunk_id: docid, gain: Anna}`",
            id="a column a rater",
        ),
        pytest.param("query,docid,rating,rater\nhat,P1,3,Anna\nhat,P1,3,Bob\n", {"hat": {"P1": 3.0}}, id="who agree"),
    ],
)
def test_several_raters(content: str, expected: object) -> None:
    assert gold_of(content) == expected


# What is missing.

MISSING = pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "null"])


@MISSING
def test_a_score_that_its_tool_left_out_is_missing(word: str) -> None:
    rows = '{"user_input": "q", "faithfulness": %s}', '{"user_input": "p", "faithfulness": 0.5}'
    expected = {"q": ({"faithfulness": None}, None), "p": ({"faithfulness": 0.5}, None)}
    for content in ("\n".join(rows) % word, f"[{','.join(rows)}]" % word):
        Path("scores").write_text(content, encoding="utf-8")
        assert read_scores("scores") == expected


@MISSING
def test_rows_of_ragas_with_a_missing_score_are_read(word: str) -> None:
    row = '{"user_input": "q", "retrieved_context_ids": ["a"], "faithfulness": WORD}'.replace("WORD", word)
    for content in (row, f"[{row}]"):
        assert run_of(content) == {"q": ["a"]}


# Scores that order a list otherwise than its ranks, or not at all.


def trec(scores: list[float], ranks: list[int] | None = None) -> str:
    numbers = ranks or range(1, len(scores) + 1)
    pairs = enumerate(zip(scores, numbers, strict=True))
    return "".join(f"q Q0 d{at} {rank} {score} tag\n" for at, (score, rank) in pairs)


def rows_of(scores: list[float]) -> str:
    return json_lines([{"query_id": "q", "doc_id": f"d{at}", "score": score} for at, score in enumerate(scores)])


@pytest.mark.parametrize(
    ("content", "rising", "tied"),
    [
        pytest.param(trec([0.1, 0.2, 0.3, 0.4, 0.5]), True, False, id="distances"),
        pytest.param(trec([0.1, 0.2, 0.3, 0.4]), False, False, id="four may rise by accident"),
        pytest.param(trec([0.1, 0.2, 0.3, 0.4, 0.5], [5, 4, 3, 2, 1]), False, False, id="the last row is the best"),
        pytest.param(trec([0.1, 0.2, 0.3, 0.4, 0.5], [0] * 5), False, False, id="rank 0 on every row"),
        pytest.param(trec([5, 4, 3, 2, 1]), False, False, id="scores"),
        pytest.param(trec([1, 1, 1]), False, True, id="all equal"),
        pytest.param(trec([1]), False, False, id="one result"),
        pytest.param(rows_of([0, 0]), False, True, id="rows, all equal"),
        pytest.param(rows_of([0, 1]), False, False, id="rows"),
        pytest.param('{"q": {"a": 0.5, "b": 0.5}}', False, True, id="a dict, all equal"),
    ],
)
def test_scores_that_rise_or_say_nothing(content: str, rising: bool, tied: bool) -> None:  # noqa: FBT001 -- a table
    Path("run").write_text(content, encoding="utf-8")
    run = read_run("run")
    (ranking,) = run.rankings
    assert (ranking.rising, ranking.tied) == (rising, tied)
    if run.quick:
        with run.quick.opened() as reading:
            assert reading
            assert [*reading[0]] == [ranking]


# As tools write rows, with the versions that wrote the files.

WRITTEN = Path(__file__).parent / "written"
AS_WRITTEN = {"q": ['c "d"', "a,b"], "7": ["7"]}
FRAME = {"qid": ["q", "7", "q"], "docno": ["a,b", "7", 'c "d"'], "score": [1.5, 3.0, 2.5]}


@pytest.mark.parametrize("name", ["pandas-3.1.1.rows.jsonl", "pandas-3.1.1.rows.json", "duckdb-2.0.1.rows.jsonl"])
def test_rows_as_a_tool_wrote_them(name: str) -> None:
    content = (WRITTEN / name).read_text(encoding="utf-8")
    assert run_of(content) == AS_WRITTEN
    assert "that looks like a run" in str(gold_of(content))
    assert isinstance(run_of(content[: len(content) // 2]), str), "cut in half"


@pytest.mark.full
def test_rows_as_the_tools_that_are_installed_write_them() -> None:
    import duckdb
    import pandas as pd

    frame = pd.DataFrame(FRAME)
    frame.to_json("pandas.jsonl", orient="records", lines=True)
    frame.to_json("pandas.json", orient="records")
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        connection.execute("COPY rows TO 'duckdb.jsonl' (FORMAT json)")
        connection.execute("COPY rows TO 'duckdb.json' (FORMAT json, ARRAY true)")
    for name in ("pandas.jsonl", "pandas.json", "duckdb.jsonl", "duckdb.json"):
        assert run_of(Path(name).read_text(encoding="utf-8")) == AS_WRITTEN, name


# Files that two readers could read.
TWO_RUNS = {"query_id": "q", "topk": ["a"], "user_input": "?", "retrieved_context_ids": ["b"]}
TWO_GOLDS = {"id": "q", "expected_output": ["a"], "user_input": "?", "reference_context_ids": ["b"]}
WITH_ROW = {"query_id": "q", "retrieved": ["a"], "doc_id": "b", "score": 0.5}


@pytest.mark.parametrize(
    ("read", "content", "message", "by_name"),
    [
        pytest.param(
            read_run,
            json_lines([TWO_RUNS]),
            "'topk' is read as jsonl and 'retrieved_context_ids' as ragas; say which by jsonl:FILE or ragas:FILE, in "
            "the criteria by `format:`",
            ("jsonl", "ragas"),
            id="a line of the contract and of Ragas",
        ),
        pytest.param(
            read_run,
            json.dumps([TWO_RUNS]),
            "'topk' is read as json and 'retrieved_context_ids' as ragas; say which by json:FILE or ragas:FILE, in "
            "the criteria by `format:`",
            ("json", "ragas"),
            id="in a list",
        ),
        pytest.param(
            read_run,
            json_lines([WITH_ROW]),
            "'retrieved' is read as jsonl and 'doc_id' as rows; say which by jsonl:FILE or rows:FILE, in "
            "the criteria by `format:`",
            ("jsonl", "rows"),
            id="a list and one result",
        ),
        pytest.param(
            read_gold,
            json_lines([TWO_GOLDS]),
            "'expected_output' is read as jsonl and 'reference_context_ids' as ragas; say which by jsonl:FILE or "
            "ragas:FILE, in the criteria by `format:`",
            ("jsonl", "ragas"),
            id="a sample of the contract and of Ragas",
        ),
    ],
)
def test_a_file_of_two_readers_is_read_by_the_one_that_is_named(
    read: Any, content: str, message: str, by_name: tuple[str, str]
) -> None:
    Path("file").write_text(content, encoding="utf-8")
    with pytest.raises(RankgateError, match=message):
        read("file")
    ids = []
    for name in by_name:
        opened = read("file", name)
        ids.append([*(next(opened.rankings).ids if read is read_run else opened.samples["q"].gains)])
    assert ids == [["a"], ["b"]]
