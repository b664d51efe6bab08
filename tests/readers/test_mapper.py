"""Runs in shapes of their own, read by the map of the criteria."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.criteria import InputFile, load_criteria
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.runs import candidate_run
from rankgate.errors import RankgateError
from rankgate.gates.validation import validate
from rankgate.model.values import Details, Item, Ranking, RunField
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import read_run
from rankgate.readers.mapping import MISSING, look_up, names_of
from rankgate.readers.strict_lines import ANSWER_KEYS

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

EVERYTHING = frozenset(RunField) - {RunField.TRAFFIC}
LISTS = FieldMap(query_id="qid", items="results", chunk_id="docId", score="relevance")
ROWS = FieldMap(query_id="qid", chunk_id="docId", score="relevance")


def rankings(
    content: str, fields: FieldMap, needs: frozenset[RunField] = frozenset(), form: str | None = None
) -> list[Ranking]:
    Path("run").write_text(content, encoding="utf-8")
    return list(read_run("run", form, needs=needs, map=fields).rankings)


def refusal(
    content: str, fields: FieldMap, needs: frozenset[RunField] = EVERYTHING, form: str | None = None
) -> list[str]:
    with pytest.raises(RankgateError) as caught:
        rankings(content, fields, needs, form)
    return str(caught.value).splitlines()


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def result(doc: Any, relevance: Any = 0.5, **more: Any) -> dict[str, Any]:
    return {"docId": doc, "relevance": relevance, **more}


# A list of results a line.

TWO = [{"qid": "q1", "results": [result("a", 0.1), result("b", 0.9)]}, {"qid": 2, "results": []}]


@pytest.mark.parametrize("content", [lines(*TWO), json.dumps(TWO), json.dumps(TWO, indent=2)])
def test_lists(content: str) -> None:
    """The order of a list counts, not its scores: a reranker's list keeps the scores of the first stage."""
    assert rankings(content, LISTS) == [Ranking("q1", ["a", "b"]), Ranking("2", [])]


def test_lists_of_bare_ids() -> None:
    content = lines({"qid": "q", "hits": ["a", 7, "a"]})
    assert rankings(content, FieldMap(query_id="qid", items="hits")) == [Ranking("q", ["a", "7"], 1)]


def test_ranks_order_a_list_where_they_are_mapped() -> None:
    content = lines({"qid": "q", "results": [result("a", position=2), result("b", position=1)]})
    fields = FieldMap(query_id="qid", items="results", chunk_id="docId", rank="position")
    assert rankings(content, fields) == [Ranking("q", ["b", "a"])]
    assert refusal(content.replace("2", "3"), fields) == [
        "run:1: query 'q': rank 2 is missing; ranks run from 1 without gaps"
    ]


HITS: dict[str, Any] = {
    "query": {"id": "q"},
    "took": 12,
    "hits": {
        "total": {"value": 2},
        "hits": [
            {"_id": "1", "_score": 9.5, "_source": {"id": "a#1", "doc": "a", "body": "one", "day": "2025-06-01"}},
            {"_id": "2", "_score": 3, "_source": {"id": "b#1", "body": None}},
        ],
    },
}


def test_nested_objects_as_a_search_engine_answers() -> None:
    fields = FieldMap(
        query_id="query.id",
        items="hits.hits",
        chunk_id="_source.id",
        doc_id="_source.doc",
        text="_source.body",
        doc_version="_source.day",
        score="_score",
        latency_ms="took",
    )
    items = [Item("a", "2025-06-01", "one", 9.5), Item(score=3.0)]
    expected = Details(items=items, latency_ms={"total": 12.0})
    assert rankings(lines(HITS), fields, EVERYTHING) == [Ranking("q", ["a#1", "b#1"], 0, expected)]
    assert rankings(lines(HITS), fields) == [Ranking("q", ["a#1", "b#1"], 0, None)]


def test_times_by_stage() -> None:
    content = lines({"qid": "q", "results": [], "ms": {"retrieve": 5, "rerank": None}})
    (found,) = rankings(content, FieldMap(query_id="qid", items="results", latency_ms="ms"), EVERYTHING)
    assert found.details is not None
    assert found.details.latency_ms == {"retrieve": 5.0, "rerank": None}  # so that the sum is missing too


# A result a row.

ROWS_OF_EACH_KIND = [
    pytest.param(lines(*({"qid": "q", **result(doc, score)} for doc, score in (("a", 1), ("b", 2.5)))), id="JSONL"),
    pytest.param(json.dumps([{"qid": "q", **result("a", 1)}, {"qid": "q", **result("b", 2.5)}]), id="JSON"),
    pytest.param("qid,docId,relevance\nq,a,1\nq,b,2.5\n", id="CSV"),
    pytest.param("qid\tdocId\trelevance\r\nq\ta\t1\r\nq\tb\t2.5\r\n", id="TSV"),
]


@pytest.mark.parametrize("content", ROWS_OF_EACH_KIND)
def test_rows(content: str) -> None:
    assert rankings(content, ROWS) == [Ranking("q", ["b", "a"])]


def test_rows_with_details() -> None:
    content = lines({"qid": "q", **result("a#1", 1, body="one", part_of="a", ms=7)}, {"qid": "q", **result("b", 2)})
    fields = FieldMap(
        query_id="qid", chunk_id="docId", score="relevance", text="body", doc_id="part_of", latency_ms="ms"
    )
    items = [Item(score=2.0), Item("a", None, "one", 1.0)]
    expected = Ranking("q", ["b", "a#1"], 0, Details(items=items, latency_ms={"total": 7.0}))
    assert rankings(content, fields, EVERYTHING) == [expected]
    table = "qid,docId,relevance,body,part_of,ms\nq,a#1,1,one,a,7\nq,b,2,,,\n"
    assert rankings(table, fields, EVERYTHING) == [expected]


def test_rows_by_rank() -> None:
    content = lines({"q": 1, "d": "a", "r": 2}, {"q": 1, "d": "b", "r": 1})
    assert rankings(content, FieldMap(query_id="q", chunk_id="d", rank="r")) == [Ranking("1", ["b", "a"])]


# What the map names and the file does not have.


@each_row(
    ("content", "fields", "expected"),
    [
        (
            lines({"id": "q", "results": []}),
            LISTS,
            ["run:1: map.query_id: the object has no 'qid'; did you mean 'id'? (found: 'id', 'results')"],
        ),
        (
            lines({"qid": "q", "result": []}),
            LISTS,
            ["run:1: map.items: query 'q' has no 'results'; did you mean 'result'? (found: 'qid', 'result')"],
        ),
        (
            lines(TWO[0], {"qid": "q2", "results": [result("a"), {"docID": "b"}]}),
            LISTS,
            [
                (
                    "run:2: map.chunk_id: query 'q2': result 2 of results has no 'docId'; did you mean 'docID'? "
                    "(found: 'docID')"
                )
            ],
        ),
        (
            lines(*({"qid": n, "results": [{"docid": "a", "relevance": 1}]} for n in range(50))),
            LISTS,
            [
                (
                    "run:1: map.chunk_id: query '0': result 1 of results has no 'docId'; did you mean 'docid'? "
                    "(found: 'docid', 'relevance')"
                )
            ],
        ),
        (
            lines({"qid": "q", "results": [{"docId": "a"}]}),
            LISTS,
            ["run:1: map.score: the first object, like all others, has no 'relevance' (found: 'docId')"],
        ),
        (
            lines(HITS),
            FieldMap(query_id="query.id", items="hits.hit", chunk_id="_id"),
            [
                (
                    "run:1: map.items: query 'q' has no 'hits.hit'; did you mean 'hits.hits'? "
                    "(found: 'query', 'query.id', 'took', 'hits', 'hits.total', 'hits.total.value', 'hits.hits')"
                )
            ],
        ),
        (
            lines({"qid": "q", "docId": "a"}),
            ROWS,
            ["run:1: map.score: query 'q' has no 'relevance' (found: 'qid', 'docId')"],
        ),
        (
            "qid,doc_id,relevanc\nq,a,1\n",
            ROWS,
            [
                (
                    "run:1: map.chunk_id: the table has no 'docId'; did you mean 'doc_id'? "
                    "(found: 'qid', 'doc_id', 'relevanc')"
                ),
                (
                    "run:1: map.score: the table has no 'relevance'; did you mean 'relevanc'? "
                    "(found: 'qid', 'doc_id', 'relevanc')"
                ),
            ],
        ),
    ],
)
def test_names_that_are_not_there(content: str, fields: FieldMap, expected: list[str]) -> None:
    assert refusal(content, fields) == expected


def test_a_name_that_some_have_is_there() -> None:
    content = lines({"qid": "q", "results": [{"docId": "a"}, result("b")]})
    (found,) = rankings(content, LISTS, EVERYTHING)
    assert found.details is not None
    assert [item.score for item in found.details.items or []] == [None, 0.5]


def test_many_names_are_cut() -> None:
    (message,) = refusal(lines({f"key {n}": n for n in range(100)}), LISTS)
    assert message.endswith("'key 18', 'key 19', …)")


# What the file has is not what the map says.


@each_row(
    ("content", "fields", "expected"),
    [
        (lines({"qid": None, "results": []}), LISTS, ["run:1: the query: expected an id, found nothing"]),
        (
            lines({"qid": "q", "results": {"a": 1}}),
            LISTS,
            ["run:1: query 'q': results: expected a list of results, found {'a': 1}"],
        ),
        (
            lines({"qid": "q", "results": [result(1.5)]}),
            LISTS,
            ["run:1: query 'q': result 1 of results: expected an id, found 1.5"],
        ),
        (
            lines({"qid": "q", "results": [result("a", "high")]}),
            LISTS,
            ["run:1: the score of 'a' is 'high'; expected a finite number"],
        ),
        (
            lines({"qid": "q", "results": [{"x": 1}]}),
            FieldMap(query_id="qid", items="results"),
            ["run:1: query 'q': result 1 of results is an object, so the map must name its chunk_id (found: 'x')"],
        ),
        (
            lines({"qid": "q", "results": ["a"]}, {"qid": "q", "results": ["b"]}),
            LISTS,
            ["run:2: query 'q' stands twice (first on line 1); keep one ranking of it"],
        ),
        (
            lines({"qid": "q", "docId": "a", "relevance": True}),
            ROWS,
            ["run:1: the score of 'a' is True; expected a finite number"],
        ),
        (
            '{"qid": "q", "results": [}\n5\n',
            LISTS,
            [
                "run:1: broken JSON: expecting value (column 26)",
                "run:2: map.query_id: the object has no 'qid' (found: nothing)",
            ],
        ),
        (
            lines({"qid": "q", "results": "['a', 'b']"}),
            LISTS,
            [
                (
                    "run:1: query 'q': results is \"['a', 'b']\": lists as Python shows them, as Ragas' to_csv "
                    "writes them, cannot be read back; write JSONL instead, with to_jsonl(path) or "
                    'to_pandas().to_json(path, orient="records", lines=True)'
                )
            ],
        ),
        (
            "qid,results\nq,a\n",
            LISTS,
            ["run: a CSV file holds no lists; write JSONL, or, of a result a row, map score or rank and no `items`"],
        ),
        ('[{"qid": 1', LISTS, ["run:1: broken JSON: expecting ',' delimiter (column 11)"]),
    ],
)
def test_bad_values(content: str, fields: FieldMap, expected: list[str]) -> None:
    assert refusal(content, fields) == expected


def test_formats_of_a_map() -> None:
    assert refusal("x", LISTS, form="trec") == [
        "run: unknown mapped run format 'trec' (known: jsonl, json, csv, parquet)"
    ]
    assert rankings("qid,docId,relevance\nq,a,1\n", ROWS, form="csv") == [Ranking("q", ["a"])]


# Looking up.


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", 1),
        ("b.c", 2),
        ("b.d.e", None),
        ("x.y", 3),
        ("x.y.z", 4),
        ("s.t.u", 5),
        ("b.x", MISSING),
        ("a.b", MISSING),
        ("", MISSING),
        ("b.", MISSING),
    ],
)
def test_look_up(name: str, expected: object) -> None:
    """A key that is called just so comes before one that is reached by dots."""
    record = {"a": 1, "b": {"c": 2, "d": {"e": None}}, "x.y": 3, "x": {"y": {"z": 4}}, "s.t": {"u": 5}}
    assert look_up(record, name) is expected or look_up(record, name) == expected


def test_names_of() -> None:
    assert list(names_of({"a": {"b": {"c": {"d": 1}}}, "e": []})) == ["a", "a.b", "a.b.c", "e"]
    assert list(names_of(5)) == []


# In the criteria.

GATE = "gates:\n  - {name: recall_at_5, threshold: 0.5}\n"
MAPPED = f"""{GATE}inputs:
  gold: gold.yaml
  run:
    path: run.jsonl
    map: {{query_id: qid, items: results, chunk_id: docId, score: relevance}}
"""


def test_the_map_of_the_criteria_is_read_by() -> None:
    Path("criteria.yaml").write_text(MAPPED)
    Path("gold.yaml").write_text("- {id: q1, expected_output: [b]}\n")
    Path("run.jsonl").write_text(lines(TWO[0]))
    criteria = load_criteria("criteria.yaml")
    assert criteria.inputs.run == InputFile("run.jsonl", None, LISTS)
    assert list(candidate_run(None, criteria).open(frozenset()).rankings) == [Ranking("q1", ["a", "b"])]
    found = validate(Inputs(criteria="criteria.yaml", date="2026-01-31"))
    assert (found.problems, found.read) == ([], ["criteria", "gold", "run"])


A_DISTANCE = "is a distance by its name; add `order: ascending`, or `descending` if the highest is best"


@each_row(
    ("written", "expected"),
    [
        (
            "{query_id: q, itms: r, chunk_id: 5}",
            [
                "5: inputs.run.map.itms: unknown key; did you mean 'items'?",
                "5: inputs.run.map.chunk_id: expected text, found 5",
            ],
        ),
        ("{items: r}", ["5: inputs.run.map.query_id: is missing"]),
        (
            "{query_id: q}",
            ["5: inputs.run.map.chunk_id: is missing: without `items` each row is one result, and this is its id"],
        ),
        (
            "{query_id: q, chunk_id: c}",
            [
                (
                    "5: inputs.run.map.score: is missing: without `items` each row is one result, and score or rank "
                    "must order them"
                )
            ],
        ),
        *(
            pytest.param(
                f"{{query_id: q, chunk_id: c, score: {name}}}",
                [f"5: inputs.run.map.score: {A_DISTANCE}"],
                id=f"a score called {name}",
            )
            for name in ("distance", "hit.cosine_dist", "L2Distance")
        ),
        (
            "{query_id: q, items: r, order: ascending}",
            ["5: inputs.run.map.order: says which score is best, and the map names no `score`"],
        ),
        ("{query_id: ''}", ["5: inputs.run.map.query_id: expected text that is not empty"]),
    ],
)
def test_bad_maps(written: str, expected: list[str]) -> None:
    Path("criteria.yaml").write_text(f"{GATE}inputs:\n  run:\n    {{path: r, map: {written}}}\n")
    with pytest.raises(RankgateError) as caught:
        load_criteria("criteria.yaml")
    assert str(caught.value).splitlines() == [f"criteria.yaml:{line}" for line in expected]


@pytest.mark.parametrize("written", ["rank: n, score: distance, chunk_id: c", "items: r, score: distance"])
def test_a_distance_that_orders_nothing_alone_is_none_to_name(written: str) -> None:
    """A list has an order, and a rank that contradicts the scores is an error where both are read."""
    Path("criteria.yaml").write_text(f"{GATE}inputs:\n  run:\n    {{path: r, map: {{query_id: q, {written}}}}}\n")
    assert load_criteria("criteria.yaml").inputs.run is not None


@pytest.mark.parametrize(("order", "best"), [("ascending", ["b", "c", "a"]), ("descending", ["a", "c", "b"])])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_distance_says_which_end_is_best(suffix: str, order: str, best: list[str]) -> None:
    rows = [{"q": "q1", "c": doc, "distance": far} for doc, far in (("a", 0.9), ("b", 0.1), ("c", 0.5))]
    table = "q,c,distance\n" + "".join(f"{row['q']},{row['c']},{row['distance']}\n" for row in rows)
    Path(f"run.{suffix}").write_text(table if suffix == "csv" else "".join(json.dumps(row) + "\n" for row in rows))
    mapped = f"{{query_id: q, chunk_id: c, score: distance, order: {order}}}"
    Path("criteria.yaml").write_text(f"{GATE}inputs:\n  run: {{path: run.{suffix}, map: {mapped}}}\n")
    [ranking] = candidate_run(None, load_criteria("criteria.yaml")).open(frozenset()).rankings
    assert ranking.ids == best


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "{query_id: q, chunk_id: d, score: s}",
            "unknown key (known: query_id, records, question, items, chunk_id, gain, tags)",
        ),
        ("{query_id: q, gain: g}", "is missing: without `items` each row is one judgment, and this is its document"),
    ],
)
def test_a_gold_set_has_a_map_of_its_own(written: str, said: str) -> None:
    Path("criteria.yaml").write_text(f"{GATE}inputs:\n  gold: {{path: r, map: {written}}}\n")
    with pytest.raises(RankgateError) as caught:
        load_criteria("criteria.yaml")
    key = "score" if "score" in written else "chunk_id"
    assert str(caught.value) == f"criteria.yaml:4: inputs.gold.map.{key}: {said}"


# Whatever it is.

KEYS = st.sampled_from(["qid", "results", "docId", "relevance", "a", "b", "a.b", ""])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | KEYS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))
NAMES = st.none() | st.sampled_from(["qid", "results", "docId", "relevance", "a", "a.b", "results.a", "."])


def readable(keys: dict[str, str | None]) -> FieldMap:
    """A map by which a file can be read: what it lacks for that is added, and what it must not name is left out."""
    if keys["items"] is None:
        keys |= dict.fromkeys(ANSWER_KEYS) | {"chunk_id": keys["chunk_id"] or "docId"}
        keys["rank"] = keys["rank"] or ("relevance" if keys["score"] is None else None)
    return msgspec.convert(keys | ({"order": None} if keys["score"] is None else {}), FieldMap)


MAPS = st.fixed_dictionaries(
    {key: NAMES for key in FieldMap.__struct_fields__ if key not in ("query_id", "tags")}
    | {"query_id": NAMES.filter(bool), "order": st.sampled_from([None, "ascending", "descending"])}
).map(readable)


@pytest.mark.full
@given(records=st.lists(VALUES, min_size=1, max_size=4), fields=MAPS)
def test_any_records_are_read_or_refused(records: list[Any], fields: FieldMap) -> None:
    assert fields.problem() is None
    refused = ""
    for content in (lines(*records), json.dumps(records)):
        try:
            for ranking in rankings(content, fields, EVERYTHING):
                assert len(set(ranking.ids)) == len(ranking.ids)
        except RankgateError as error:
            refused = str(error)
    assert refused.replace("\n", "").isprintable()
