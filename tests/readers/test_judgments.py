"""Gold from judgments under other names: tables, rows of JSON, exports of search tools, and whatever a map names."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

import rankgate
from rankgate.errors import RankgateError
from rankgate.model.values import Sample
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import read_gold, read_run
from rankgate.readers.untrusted import refuse_large_gold

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

Gains = dict[str, dict[str, float]]


def samples(content: str, fields: FieldMap | None = None, form: str | None = None) -> dict[str, Sample]:
    Path("gold").write_text(content, encoding="utf-8")
    return dict(read_gold("gold", form, fields).samples)


def gains(content: str, fields: FieldMap | None = None) -> Gains:
    return {query_id: dict(sample.gains) for query_id, sample in samples(content, fields).items()}


def refusal(content: str, fields: FieldMap | None = None) -> list[str]:
    with pytest.raises(RankgateError) as caught:
        samples(content, fields)
    return str(caught.value).splitlines()


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


RED: Gains = {"red dress": {"d1": 3.0, "d2": 0.0}}
Q1: Gains = {"q1": {"d1": 3.0, "d2": 0.0}}
RATINGS = [{"docId": "d1", "rating": "3.000"}, {"docId": "d2", "rating": 0}]
RATED = [{"_index": "i", "_id": "d1", "rating": 3}, {"_index": "i", "_id": "d2", "rating": 0}]
HITS = [{"hit": {"_id": "d1", "_score": 7.5}, "rating": 3}, {"hit": {"_id": "d2"}, "rating": 0}]
HITS += [{"hit": {"_id": "d3"}, "rating": None}]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("query,docid,rating\nred dress,d1,3\nred dress,d2,0\n", RED, id="Quepid's CSV"),
        pytest.param("query,docid,rating\nred dress,d1,3\nred dress,d2,0\nx,d9,\n", RED | {"x": {}}, id="not rated"),
        pytest.param("query,docid,rating\nx\nred dress,d1,3\nred dress,d2,0\n", {"x": {}} | RED, id="a lone query"),
        pytest.param("Query ID\tQuery Text\tDoc ID\tRating\nq1\tred\td1\t3\nq1\tred\td2\t0\n", Q1, id="TSV"),
        pytest.param("query_id;doc_id;relevance\nq1;d1;3\nq1;d2;0\n", Q1, id="semicolons"),
        pytest.param("rank,grade,docno,topic\n1,3,d1,q1\n2,0,d2,q1\n", Q1, id="columns in another order, a rank"),
        pytest.param("qid,docid,relevance,score\nq1,d1,3,0.7\nq1,d2,0,0.9\n", Q1, id="a rating beside a score"),
        pytest.param("query-id,document-id,score\nq1,d1,3\nq1,d2,0\n", Q1, id="whole scores, another document-id"),
        pytest.param("문서,query,product_id,label\n1,물,상품,2\n", {"물": {"상품": 2.0}}, id="no Latin"),
        pytest.param(
            lines(*({"query-id": 7, "corpus-id": d, "score": 1.0} for d in "ab")), {"7": {"a": 1, "b": 1}}, id="HF"
        ),
        pytest.param(
            json.dumps([{"query": "q1", "doc_id": d, "label": n} for d, n in (("d1", 3), ("d2", 0))]), Q1, id="list"
        ),
        pytest.param(
            lines({"id": "q1", "query": "red", "relevant_docs": ["d1", 2]}), {"q1": {"d1": 1, "2": 1}}, id="ids"
        ),
        pytest.param(
            lines({"query": "q1", "ratings": []}, {"query": "q2", "ratings": RATINGS}),
            {"q1": {}, "q2": Q1["q1"]},
            id="x",
        ),
        pytest.param(
            json.dumps({"judgmentRatings": [{"query": "red dress", "ratings": RATINGS}]}), RED, id="OpenSearch"
        ),
        pytest.param(
            json.dumps({"name": "n", "judgmentRatings": [{"query": "q1", "ratings": RATINGS}]}, indent=1),
            Q1,
            id="pretty",
        ),
        pytest.param(
            json.dumps({"requests": [{"id": "q1", "request": {}, "ratings": RATED}], "metric": {}}), Q1, id="request"
        ),
        pytest.param(
            json.dumps({"metric_score": 1, "details": {"q1": {"hits": HITS}}, "failures": {}}), Q1, id="response"
        ),
        pytest.param(json.dumps({"queries": [{"query": "q1", "ratings": {"d1": 3, "d2": 0}}]}), Q1, id="Quepid's JSON"),
        pytest.param(json.dumps({"q0": [], "q1": ["d1"]}), {"q0": {}, "q1": {"d1": 1.0}}, id="ids by query"),
    ],
)
def test_judgments(content: str, expected: Gains) -> None:
    assert gains(content) == expected
    assert gains("\ufeff" + content.replace("\n", "\r\n")) == expected


def test_the_text_of_a_question_is_kept_and_its_id_where_there_is_none() -> None:
    assert samples("qid,query,docid,rating\n1,red,d,1\n")["1"].question == "red"
    assert samples("query,docid,rating\nred,d,1\n")["red"].question == "red"


def test_what_becomes_of_rows_that_are_wrong() -> None:
    """One error each, with file, line and query; and all of them at once."""
    rows = ["q1,d1,3", "q1,d1,2", "q1,d2,E", "q1,d3,nan", "q1,,1", ",d4,1", "q1,d5,2000", "q1,d6", "q1,d7,true"]
    rows.append("q1,d8,relevant")
    assert refusal("\n".join(["query,docid,rating", *rows])) == [
        "gold:3: q1: conflicting judgment: 'd1' has gain 3 above and 2 here",
        "gold:4: q1: the gain 'E' is not a finite number",
        "gold:5: q1: the gain 'nan' is not a finite number",
        "gold:6: q1: the document: expected an id, found ''",
        "gold:7: the query: expected an id, found ''",
        "gold:8: q1: the gain of 'd5' is 2000; gains lie between -1000 and 1000",
        "gold:9: expected 3 cells (query, docid, rating), found 2: ['q1', 'd6']",
        "gold:10: q1: the gain 'true' is not a finite number; write 1 or 0",
        "gold:11: q1: the gain 'relevant' is not a finite number; write 1 or 0",
    ]


@each_row(
    ("content", "expected"),
    {
        lines({"query": "q", "doc_id": "d", "label": True}, {"query": "q", "doc_id": "e", "label": float("nan")}): [
            "gold:1: q: the gain of 'd' is True, not a number",
            ("gold:2: NaN is not a number that JSON allows; use a finite number or leave the key out"),
        ],
        lines({"query": "q", "doc_id": "d", "label": 1}, {"query": "q", "doc_id": "e"}): [
            "gold:2: map.gain: query 'q' has no 'label' (found: 'query', 'doc_id')"
        ],
        "query,docid,rating,grade\nq,d,1,1\n": [
            (
                "gold:2: 'rating' and 'grade' could both be the rating (columns: 'query', 'docid', 'rating', "
                "'grade'); say which is which: `rankgate init --gold gold --map "
                "question=query,document=docid,rating=rating`, or in criteria, beside `path` under inputs.gold: "
                "`map: {query_id: query, question: query, chunk_id: docid, gain: rating}`"
            )
        ],
        "question,doc,relevant\nq,d,yes\n": ["gold:2: q: the gain 'yes' is not a finite number; write 1 or 0"],
        "How long can I return it?,returns#1\nWhere is it?,orders#1\n": [
            (
                "gold: the first row has no names of columns ('How long can I return it?', 'returns#1'); write "
                "`question,document` above it"
            )
        ],
        "question,docs\nq,\"['a', 'b']\"\n": [
            (
                "gold:2: query 'q': \"['a', 'b']\": lists as Python shows them, as Ragas' to_csv writes them, "
                "cannot be read back; write JSONL instead, with to_jsonl(path) or "
                'to_pandas().to_json(path, orient="records", lines=True)'
            )
        ],
        json.dumps({"judgmentRatings": [{"query": "q", "ratings": [{"docId": "d", "rating": "high"}]}]}): [
            "gold: judgmentRatings[0].q: the gain 'high' is not a finite number"
        ],
        json.dumps({"details": {"q1": {"hits": HITS}}, "failures": {"q2": {"error": {"type": "timeout"}}}}): [
            (
                "gold: failures.q2: the search failed, so that its ratings are not here; name the request, or a "
                "response without failures"
            )
        ],
        **{
            content.replace("id", name, 1): [
                (
                    f"gold: no column is known to be the document (columns: '{name}', 'question', 'answer'); say which "
                    f"is which: `rankgate init --gold gold --map id={name},question=question,document=COLUMN`, or in "
                    f"criteria, beside `path` under inputs.gold: `map: {{query_id: {name}, question: question, "
                    "chunk_id: COLUMN}`"
                )
            ]
            for content, name in (
                ("id,question,answer\nq1,Why?,so\n", "id"),
                ("id,question,answer\nq1,Why?,so\n", "ID"),
                (lines({"id": "q1", "question": "Why?", "answer": "so"}), "_id"),
            )
        },
        json.dumps([{"_id": "q1", "question": "Why?", "supporting_facts": [["d", 0]]}]): [
            (
                "gold: no column is known to be the documents (columns: '_id', 'question', 'supporting_facts'); say "
                "which is which: `rankgate init --gold gold --map "
                "id=_id,question=question,documents=supporting_facts`, or in criteria, beside `path` under "
                "inputs.gold: `map: {query_id: _id, question: question, items: supporting_facts}`"
            )
        ],
        lines({"query_id": "q1", "query": "Why?", "positive_passages": [{"docid": "d"}]}): [
            (
                "gold: no column is known to be the documents (columns: 'query_id', 'query', 'positive_passages'); say "
                "which is which: `rankgate init --gold gold --map "
                "id=query_id,question=query,documents=positive_passages`, or in criteria, beside `path` under "
                "inputs.gold: `map: {query_id: query_id, question: query, items: positive_passages}`"
            )
        ],
        json.dumps({"hits": {"x": {"judgmentRatings": []}}}): [
            "gold: expected a list under 'judgmentRatings', found none, or an empty one"
        ],
        lines({"query": "q", "ratings": [{"docId": "d", "stars": 1}]}): [
            (
                "gold:1: no usual name for the rating (found: 'docId', 'stars'); name them with `map: "
                "{chunk_id: docId, "
                "gain: COLUMN}` under inputs.gold, beside `path`"
            )
        ],
    }.items(),
)
def test_what_is_refused(content: str, expected: list[str]) -> None:
    assert refusal(content) == expected


def test_a_separator_alone_is_no_gold_set() -> None:
    assert "no gold format starts like that" in refusal("\x1c")[0]


@pytest.mark.parametrize("head", ["qid,docid,score\nq,d,0.5\n", "qid,docid,rank,score\nq,d,1,3\n"])
def test_a_run_is_no_gold_set(head: str) -> None:
    assert "that looks like a run as a table" in refusal(head)[0]


def test_judgments_are_no_run() -> None:
    Path("run").write_text("query,docid,rating\nq,d,1\n")
    with pytest.raises(RankgateError, match="that looks like judgments, which are a gold set"):
        read_run("run")


@pytest.mark.parametrize(
    ("content", "fields", "expected"),
    [
        ("search,sku,stars\nred,d,2\n", {"query_id": "Search", "chunk_id": "sku", "gain": "stars"}, {"red": {"d": 2}}),
        ("search,sku\nred,d\n", {"query_id": "search", "chunk_id": "sku"}, {"red": {"d": 1}}),
        (
            lines({"q": {"id": 1}, "docs": '[{"d": "a", "g": 2}]'}),
            {"query_id": "q.id", "items": "docs", "chunk_id": "d", "gain": "g"},
            {"1": {"a": 2}},
        ),
        (
            json.dumps({"a": {"b": {"q": ["d"]}}}),
            {"records": "a.b", "query_id": "key", "items": "value"},
            {"q": {"d": 1}},
        ),
    ],
)
def test_a_map(content: str, fields: dict[str, Any], expected: Gains) -> None:
    assert gains(content, FieldMap(**fields)) == expected


def test_a_map_that_names_what_is_not_there() -> None:
    fields = FieldMap(query_id="search", chunk_id="sku", gain="star")
    assert refusal("search,sku,stars\nred,d,2\n", fields) == [
        "gold:1: map.gain: the table has no 'star'; did you mean 'stars'? (found: 'search', 'sku', 'stars')"
    ]


def test_a_folder_of_beir() -> None:
    Path("nfcorpus/qrels").mkdir(parents=True)
    header = "query-id\tcorpus-id\tscore\n"
    for split, doc in (("dev", "d0"), ("test", "d1"), ("train", "d2")):
        Path(f"nfcorpus/qrels/{split}.tsv").write_text(f"{header}q1\t{doc}\t1\n")
    Path("nfcorpus/queries.jsonl").write_text(lines({"_id": "q1", "text": "Why?", "metadata": {}}))
    read = read_gold("nfcorpus/")
    assert read.samples["q1"] == Sample(query_id="q1", gains={"d1": 1.0}, question="Why?", line=2)
    assert (read.name, read.format) == ("nfcorpus", "beir")
    Path("nfcorpus/qrels/test.tsv").unlink()
    with pytest.raises(RankgateError, match=r"found dev.tsv, train.tsv; name one of these files"):
        read_gold("nfcorpus")


def test_parquet_of_a_fork_is_not_read() -> None:
    Path("gold").write_bytes(b"PAR1")
    with pytest.raises(RankgateError, match="gold: is Parquet, which --untrusted-run does not read; write it as CSV"):
        refuse_large_gold("gold")


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4).filter(str.strip)
JUDGED = st.dictionaries(
    NAMES, st.dictionaries(NAMES, st.integers(-2, 4), min_size=1, max_size=4), min_size=1, max_size=4
)


@pytest.mark.full
@given(judged=JUDGED)
def test_every_container_gives_the_same(judged: Gains) -> None:
    """A table in each form, beside the judgments by themselves."""
    rows = [{"qid": q, "docid": d, "rating": gain} for q, docs in judged.items() for d, gain in docs.items()]
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    forms = [table.getvalue(), lines(*rows), json.dumps(rows, ensure_ascii=False), json.dumps(judged)]
    if not any(gain > 0 for docs in judged.values() for gain in docs.values()):
        return
    for content in forms[:3]:
        assert gains(content) == judged
    fields = FieldMap(records="", query_id="key", items="value")
    assert gains(forms[3], fields) == judged


def test_parquet_gives_the_same_as_csv() -> None:
    duckdb = pytest.importorskip("duckdb")
    content = "query_id,query,doc_id,rating\n1,red,7,2.0\n1,red,8,\n2,blue,7,0\n"
    Path("gold.csv").write_text(content)
    with duckdb.connect() as connection:
        connection.execute("COPY (FROM read_csv('gold.csv')) TO 'gold.parquet' (FORMAT parquet)")
    read = read_gold("gold.parquet").samples
    assert {q: (s.gains, s.question) for q, s in read.items()} == {"1": ({"7": 2.0}, "red"), "2": ({"7": 0.0}, "blue")}


def test_values_are_those_of_pytrec_eval() -> None:
    """From a table of ratings, text for ids and blanks for what nobody judged, per query."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judged = {f"query {q}": {f"d{d}": (q * d + 1) % 4 for d in range(1, 9)} for q in range(1, 6)}
    ranked = {q: {f"d{d}": 1 / (1 + (d * 5) % 11) for d in range(1, 11)} for q in judged}
    rows = [f"{q},{d},{gain}" for q, docs in judged.items() for d, gain in docs.items()]
    Path("gold.csv").write_text("\n".join(["query,docid,rating", *rows, "query 1,d99,"]))
    Path("run.json").write_text(json.dumps(ranked))
    scored = rankgate.score("gold.csv", "run.json", metrics=["ndcg@5", "map", "mrr"])
    by_tool = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.5", "map", "recip_rank"}).evaluate(ranked)
    for ours, theirs in (("ndcg@5", "ndcg_cut_5"), ("map", "map"), ("mrr", "recip_rank")):
        found = {q: values[ours] for q, values in scored.per_query.items()}
        assert found == pytest.approx({q: values[theirs] for q, values in by_tool.items()}, abs=1e-6)


def test_a_column_of_traffic_is_as_any_other() -> None:
    plain = "query,docid,rating\na,d1,1\na,d2,0\nb,d1,1\n"
    assert samples("query,traffic,docid,rating\na,30,d1,1\na,often,d2,0\nb,0.5,d1,1\n") == samples(plain)


def test_two_texts_of_one_question_are_named() -> None:
    head = "query_id,query,docid,rating\n"
    same = samples(f"{head}a,Why?,d1,1\na,,d2,1\na,Why?,d3,1\n")
    assert same["a"].question == "Why?"
    [problem] = refusal(f"{head}a,Why?,d1,1\na,How?,d2,1\n")
    said = "conflicting text: 'Why?' above and 'How?' here"
    assert problem == f"gold:3: a: {said}"


def test_whole_numbers_with_a_point_are_gains() -> None:
    """As pandas writes them."""
    assert gains("qid,docid,score\nq,d,1.0\nq,e,0.0\n") == {"q": {"d": 1, "e": 0}}


# Tables of one's own, without ratings.

FRAGE: Gains = {"Wie lange?": {"d1": 1.0, "d2": 1.0}, "Wann?": {"d3": 1.0}}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("question,doc\nWie lange?,d1\nWie lange?,d2\nWann?,d3\n", id="a row a document"),
        pytest.param("question;expected_document;lang\nWie lange?;d1;de\nWie lange?;d2;de\nWann?;d3;de\n", id="query"),
        pytest.param("QUESTION,DOC\nWie lange?,d1\nWie lange?,d2\nWann?,d3\n", id="capitals"),
        pytest.param("question_text,gold_doc_id\nWie lange?,d1\nWie lange?,d2\nWann?,d3\n", id="gold_doc_id"),
        pytest.param("query\tRelevant Doc\nWie lange?\td1\nWie lange?\td2\nWann?\td3\n", id="tabs"),
        pytest.param("question,answer,source\nWie lange?,30 d,d1\nWie lange?,,d2\nWann?,bald,d3\n", id="source"),
        pytest.param("id,question,doc\n1,Wie lange?,d1\n2,Wie lange?,d2\n3,Wann?,d3\n", id="numbered rows"),
        pytest.param("nr,question,doc\n1,Wie lange?,d1\n2,Wie lange?,d2\n3,Wann?,d3\n", id="numbers of rows"),
        pytest.param(",question,relevant\n0,Wie lange?,d1\n1,Wie lange?,d2\n2,Wann?,d3\n", id="an index of pandas"),
        pytest.param(
            "Title,Question,Expected Document IDs,The Answer\nx,Wie lange?,d1;d2,y\nx,Wann?,d3,y\n",
            id="words as in qrels",
        ),
        pytest.param("question,doc\nWie lange?,d1;d2\nWann?,d3\n", id="a row a question"),
        pytest.param("question,docs\nWie lange?,d1 | d2\nWann?,d3\n", id="a bar"),
        pytest.param('question,doc\nWie lange?,"d1, d2"\nWann?,d3\n', id="a comma"),
        pytest.param('question,doc\nWie lange?,"d1\nd2"\nWann?,d3\n', id="a line break"),
        pytest.param('question,relevant_docs\nWie lange?,"[""d1"", ""d2""]"\nWann?,"[""d3""]"\n', id="JSON in cells"),
        pytest.param(
            'question,documents\nWie lange?,"{""d1"": 1, ""d2"": 1}"\nWann?,"{""d3"": 1}"\n', id="ratings in cells"
        ),
        pytest.param(lines(*({"question": q, "documents": [*docs]} for q, docs in FRAGE.items())), id="JSONL"),
        pytest.param(lines(*({"question": q, "expected_doc": [*docs]} for q, docs in FRAGE.items())), id="lists"),
    ],
)
def test_without_ratings_what_is_listed_is_relevant(content: str) -> None:
    assert gains(content) == FRAGE
    assert gains("\ufeff" + content) == FRAGE


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        pytest.param("id,question,doc\nq-1,Wie lange?,d1\nq-2,Wann?,d3\n", ["q-1", "q-2"], id="an id a question"),
        pytest.param("topic,docid,rel\n301,d1,1\n302,d3,1\n", ["301", "302"], id="topics of TREC"),
        pytest.param("topic,question,doc\npay,Wie lange?,d1\npay,Wann?,d3\n", ["Wie lange?", "Wann?"], id="a part"),
    ],
)
def test_what_a_question_goes_by(content: str, ids: list[str]) -> None:
    assert [*samples(content)] == ids


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param("Terms, 2024 edition.pdf", id="a comma in a name with blanks"),
        pytest.param("a#b/c", id="signs of ids"),
        pytest.param("https://example.org/a?b=1;c=2", id="an address"),
    ],
)
def test_one_document_stays_one(cell: str) -> None:
    assert gains(f'question,doc\nWie lange?,"{cell}"\nWann?,d3\n')["Wie lange?"] == {cell: 1.0}
    rows = "question,doc\nWie lange?,d;1\nWie lange?,d;2\nWann?,d3\n"
    assert gains(rows)["Wie lange?"] == {"d;1": 1.0, "d;2": 1.0}, "a question has several rows"


def test_a_question_without_a_document_has_none() -> None:
    assert gains("question,doc\nWie lange?,d1\nWann?,\n") == {"Wie lange?": {"d1": 1.0}, "Wann?": {}}


TAGGED = {"Wie lange?": ("lang:de", "category:pay"), "Wann?": ("lang:en", "category:ship")}


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        pytest.param("question,doc,Lang,category\nWie lange?,d1,de,pay\nWann?,d3,en,ship\n", None, id="usual names"),
        pytest.param(
            'question,doc,tags\nWie lange?,d1,"lang:de, category:pay"\nWann?,d3,lang:en;category:ship\n',
            None,
            id="tags",
        ),
        pytest.param(
            "F,D,lang,category\nWie lange?,d1,de,pay\nWann?,d3,en,ship\n",
            FieldMap(query_id="F", chunk_id="D"),
            id="beside a map",
        ),
        pytest.param(
            lines(
                {"id": "Wie lange?", "expected_output": ["d1"], "metadata": {"lang": "de", "category": "pay"}},
                {"id": "Wann?", "expected_output": ["d3"], "metadata": {"tags": ["lang:en"], "category": "ship"}},
            ),
            None,
            id="metadata",
        ),
        pytest.param(
            lines(
                {"id": "Wie lange?", "expected_output": ["d1"], "lang": "de", "category": "pay"},
                {"id": "Wann?", "expected_output": ["d3"], "lang": "en", "category": "ship"},
            ),
            None,
            id="keys of samples",
        ),
    ],
)
def test_what_names_a_part_of_the_questions_becomes_tags(content: str, fields: FieldMap | None) -> None:
    assert {query_id: sample.tags for query_id, sample in samples(content, fields).items()} == TAGGED


def test_columns_of_a_map_become_tags_and_what_is_not_read_is_known() -> None:
    head = "Frage,Dokument,Sprache,Autor,source\n"
    rows = [f"F{row},d{row},{'de' if row % 2 else 'en'},x,page-{row}\n" for row in range(40)]
    fields = FieldMap(query_id="Frage", chunk_id="Dokument", tags=("Sprache",))
    Path("gold").write_text(head + "".join(rows), encoding="utf-8")
    gold = read_gold("gold", map=fields)
    assert {sample.tags for sample in gold.samples.values()} == {("sprache:de",), ("sprache:en",)}
    assert gold.reading.unread == ("Autor",)
    assert gold.reading.crowded == {"source": 40}
    assert refusal(head + rows[0], FieldMap(query_id="Frage", chunk_id="Dokument", tags=("Amt",))) == [
        "gold:1: map.tags: the table has no 'Amt' (found: 'Frage', 'Dokument', 'Sprache', 'Autor', 'source')"
    ]


@pytest.mark.parametrize(
    ("content", "pairs"),
    [
        pytest.param("Frage,Dokument\nWie lange?,d1\n", "question=Frage,document=Dokument", id="another language"),
        pytest.param(
            "Frage,Antwort,Dokument,lang\nWie lange denn noch?,In drei Tagen,d1,de\n",
            "question=Frage,document=Dokument",
            id="an answer between",
        ),
        pytest.param("question,answer\nWhy?,So.\n", "question=question,document=COLUMN", id="no document"),
        pytest.param("question,Ziel-ID\nWhy?,d1\n", "question=question,document=Ziel-ID", id="half known"),
        pytest.param("question,query,doc\nq,q,d\n", "question=question,document=doc", id="two questions"),
        pytest.param("Die Frage;Das Dokument\na b c;d\n", "'question=Die Frage,document=Das Dokument'", id="blanks"),
        pytest.param(lines(*[{"frage": "Why so?", "ziel": "d1"}] * 2), "question=frage,document=ziel", id="keys"),
    ],
)
def test_columns_that_are_not_known_are_named_with_the_command_that_maps_them(content: str, pairs: str) -> None:
    [message] = refusal(content)
    assert f"`rankgate init --gold gold --map {pairs}`" in message
    assert "columns: " in message
