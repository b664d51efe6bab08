"""`{query: {document: number}}`: the JSON of ranx, pytrec_eval, BEIR and MTEB, as gold and as a run."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.errors import RankgateError
from rankgate.readers import recognition, score_dicts
from rankgate.readers.formats import read_gold, read_run

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")


def write(value: Any) -> None:
    Path("file").write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def gold(value: Any, form: str | None = None) -> tuple[str, dict[str, dict[str, float]]]:
    write(value)
    read = read_gold("file", form)
    return read.format, {query_id: dict(sample.gains) for query_id, sample in read.samples.items()}


def run(value: Any, form: str | None = None) -> tuple[str, dict[str, list[str]]]:
    write(value)
    read = read_run("file", form)
    return read.format, {ranking.query_id: ranking.ids for ranking in read.rankings}


def gold_refusal(value: Any, form: str | None = None) -> str:
    with pytest.raises(RankgateError) as caught:
        gold(value, form)
    return str(caught.value)


def run_refusal(value: Any, form: str | None = None) -> str:
    with pytest.raises(RankgateError) as caught:
        run(value, form)
    return str(caught.value)


QRELS = {"q1": {"d1": 0, "d2": 1}, "q2": {"d2": 2, "d3": 1}}
SCORES = {"q1": {"d1": 0.5, "d2": 1.5}, "q2": {"d3": -2.0, "d2": 1.0}}
RANKED = {"q1": ["d2", "d1"], "q2": ["d2", "d3"]}


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_both_are_recognised(indent: int | None) -> None:
    assert gold(json.dumps(QRELS, indent=indent)) == ("dict", QRELS)
    assert run(json.dumps(SCORES, indent=indent)) == ("dict", RANKED)


@pytest.mark.parametrize("indent", [None, 2])
def test_queries_without_documents_may_stand_first(indent: int | None) -> None:
    assert gold(json.dumps({"q0": {}, **QRELS}, indent=indent))[1] == {"q0": {}, **QRELS}
    assert run(json.dumps({"q0": {}, "q00": {}, **SCORES}, indent=indent))[1] == {"q0": [], "q00": [], **RANKED}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param({"a": 1.0, "b": 3.5, "c": 2}, ["b", "c", "a"], id="descending, integers among floats"),
        pytest.param({"a": 1.0, "c": 1.0, "b": 1.0}, ["c", "b", "a"], id="ties by id, descending"),
        pytest.param({"b": 1.0, "a": 1.00000001}, ["a", "b"], id="no tie as 64-bit floats"),
        pytest.param({"d9": 0.5, "d10": 0.5}, ["d9", "d10"], id="ids compare as texts"),
        pytest.param({"é": 0.5, "z": 0.5, "文": 0.5}, ["文", "é", "z"], id="by code point"),
        pytest.param({"http://a/b:c": 0.5, "x#1|2 3": 0.7}, ["x#1|2 3", "http://a/b:c"], id="signs in ids"),
        pytest.param({"a": 1e-320, "b": -0.0, "c": 1e308}, ["c", "a", "b"], id="extremes"),
    ],
)
def test_order(scores: dict[str, float], expected: list[str]) -> None:
    assert run({"q": scores}) == ("dict", {"q": expected})


NOT_FINITE = "scores must be finite numbers"


@each_row(
    ("content", "expected"),
    {
        '{"q": {"a": 0.5, "b": NaN}}': f"file: query 'q': the score of 'b' is NaN; {NOT_FINITE}",
        '{"q": {"a": 0.5}, "r": {"b": -Infinity}}': f"file: query 'r': the score of 'b' is infinite; {NOT_FINITE}",
        '{"q": {"a": 0.5, "b": 1e999}}': f"file: query 'q': the score of 'b' is infinite; {NOT_FINITE}",
        '{"q": {"a": null}}': "file: query 'q': the score of 'a' is nothing, not a number",
        '{"q": {"a": "1"}}': "file: query 'q': the score of 'a' is '1', not a number",
        '{"q": {"a": true}}': "file: query 'q': the score of 'a' is True, not a number",
        '{"q": {"a": 0.5}, "r": ["b"]}': "file: query 'r': expected a mapping of ids to scores, found ['b']",
        '{"q": {"a": 0.5, "a": 0.7}}': "file: the key 'a' stands twice in one object",
        '{"q": {"a": 0.5}, "q": {"b": 0.7}}': "file: the key 'q' stands twice in one object",
        '{"q:1": {"a:b": 0.5}, "q:1": {"b": 0.7}}': "file: the key 'q:1' stands twice in one object",
        '{"q": {"a": 0.5}': "file:1: broken JSON: expecting ',' delimiter (column 17)",
        "[1]": "file: expected {query: {document: score}}, found [1]",
        '{"q": {"a": null}, "r": {"b": "x"}}': "file: query 'q': the score of 'a' is nothing, not a number\n"
        "file: query 'r': the score of 'b' is 'x', not a number",
    }.items(),
)
def test_bad_run(content: str, expected: str) -> None:
    assert run_refusal(content, "dict") == expected


@each_row(
    ("content", "expected"),
    {
        '{"q": {"a": "E"}}': "file: q: the gain 'E' is not a finite number",
        '{"q": {"a": 1}, "r": 2}': "file: query 'r': value: expected a list of documents, found 2",
        '{"q": {"a": 1, "a": 2}}': "file: the key 'a' stands twice in one object",
        '{"q": {"a": 2000}}': "file: q: the gain of 'a' is 2000; gains lie between -1000 and 1000",
        "[1]": "file: map.query_id: [0]: the object has no 'key' (found: nothing)",
    }.items(),
)
def test_bad_gold(content: str, expected: str) -> None:
    assert gold_refusal(content, "dict") == expected


def test_qrels_given_as_a_run() -> None:
    message = run_refusal(QRELS)
    assert "that looks like qrels, which is a gold set: the numbers of 'q1' are small and whole" in message
    assert "if they are scores, name the format: dict" in message
    assert run(QRELS, "dict")[1]["q2"] == ["d2", "d3"]


def test_a_run_given_as_gold() -> None:
    message = gold_refusal(SCORES)
    assert "that looks like a run: the numbers of 'q1' are scores, and gains are whole" in message
    assert gold({"q": {"a": 0.5}}, "dict") == ("dict", {"q": {"a": 0.5}})


def test_gains_written_as_floats_are_gains() -> None:
    assert gold('{"q": {"a": 1.0, "b": 0.0}}') == ("dict", {"q": {"a": 1.0, "b": 0.0}})


@pytest.mark.parametrize(
    ("content", "form"),
    [
        pytest.param('{"samples": [{"id": "q", "expected_output": ["a"]}]}', "json", id="the contract's document"),
        pytest.param('{"id": "q", "expected_output": {"a": 1}}', "jsonl", id="one sample"),
        pytest.param('{"expected_output": {"a": 1}, "id": "q"}', "jsonl", id="one sample, its gains first"),
        pytest.param('{"judge_labels": {"b": 1}, "id": "q", "expected_output": ["a"]}', "jsonl", id="labels first"),
        pytest.param('{\n"samples": [{"id": "q", "expected_output": ["a"]}]}', "json", id="over several lines"),
    ],
)
def test_gold_of_the_contract_keeps_its_format(content: str, form: str) -> None:
    assert gold(content)[0] == form


@pytest.mark.parametrize(
    ("content", "form"),
    [
        pytest.param('{"latency_ms": {"retrieve": 3}, "query_id": "q", "topk": ["a"]}', "jsonl", id="times first"),
        pytest.param('{"params": {"k1": 0.9}, "query_id": "q", "topk": ["a"]}', "jsonl", id="provenance first"),
        pytest.param(
            '{"scores": {"faithfulness": 0.9},\n "query_id": "q", "topk": ["a"]}', "json", id="over two lines"
        ),
    ],
)
def test_a_line_of_the_contract_keeps_its_format(content: str, form: str) -> None:
    assert run(content) == (form, {"q": ["a"]})


@pytest.mark.parametrize("key", ["topk", "retrieved", "actual_output", "actualOutput"])
@pytest.mark.parametrize("content", ['{"%s": []}', '{"%s": ["a"], "q": ["b"]}', '{\n "%s": ["a"]\n}'])
def test_a_key_of_a_list_is_never_a_query(key: str, content: str) -> None:
    """`{"topk": []}` could be a line without its id, or a query called topk: it is the first, and so an error."""
    assert run_refusal(content % key).endswith("no query id; write it as query_id (or id)")


# MTEB.

META = {"mteb_model_meta": {"model_name": "intfloat/e5-small", "revision": "abc"}}


@pytest.mark.parametrize("indent", [None, 2])
def test_mteb_predictions(indent: int | None) -> None:
    write(json.dumps(META | {"default": {"test": SCORES}}, indent=indent))
    read = read_run("file")
    assert (read.format, read.provenance) == ("mteb", {"system": "intfloat/e5-small", "revision": "abc"})
    assert {ranking.query_id: ranking.ids for ranking in read.rankings} == RANKED


def test_older_mteb_predictions_are_a_plain_dict() -> None:
    assert run(SCORES) == ("dict", RANKED)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param(
            {"en": {"test": SCORES}, "de": {"test": SCORES}}, "2 subsets and splits (en/test, de/test)", id="subsets"
        ),
        pytest.param(
            {"default": {"dev": SCORES, "test": {}}}, "2 subsets and splits (default/dev, default/test)", id="splits"
        ),
        pytest.param({}, "0 subsets and splits (none)", id="none"),
        pytest.param({"default": [1]}, "0 subsets and splits (none)", id="not of retrieval"),
    ],
)
def test_mteb_with_more_than_one_part(parts: dict[str, Any], expected: str) -> None:
    assert run_refusal(META | parts) == (
        f"file: holds {expected} where one can be read; save the predictions of that one as "
        "{query: {document: score}}"
    )


def test_mteb_scores_are_checked() -> None:
    content = json.dumps(META | {"default": {"test": {"q": {"a": None}}}})
    assert run_refusal(content) == "file: query 'q': the score of 'a' is nothing, not a number"


# Written by the tools themselves.

WRITTEN = Path(__file__).parent / "written"


def test_as_ranx_saved_it() -> None:
    assert gold((WRITTEN / "ranx-0.3.21.qrels.json").read_text()) == ("dict", QRELS)
    assert run((WRITTEN / "ranx-0.3.21.run.json").read_text()) == ("dict", RANKED)


def test_order_is_that_of_trec_eval() -> None:
    """The rank of the one relevant document, by pytrec_eval and by the reader."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    scores = {f"d{number}": float(number % 4) for number in range(12)}
    for relevant in scores:
        judge = pytrec_eval.RelevanceEvaluator({"q": {relevant: 1}}, {"recip_rank"})
        expected = judge.evaluate({"q": scores})["q"]["recip_rank"]
        assert 1 / (1 + run({"q": scores})[1]["q"].index(relevant)) == pytest.approx(expected)


IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.full
@given(
    scores=st.dictionaries(IDS, st.dictionaries(IDS, NUMBERS, max_size=5), max_size=4), indent=st.none() | st.just(1)
)
def test_any_run_reads_back(scores: dict[str, dict[str, float]], indent: int | None) -> None:
    expected = {
        query: [doc for _, doc in sorted(((score, doc) for doc, score in found.items()), reverse=True)]
        for query, found in scores.items()
    }
    assert run(json.dumps(scores, indent=indent), "dict")[1] == expected


@pytest.mark.full
@given(scores=st.dictionaries(IDS, st.dictionaries(IDS, NUMBERS, max_size=3), max_size=3))
def test_any_predictions_read_back(scores: dict[str, dict[str, float]]) -> None:
    assert run(META | {"default": {"test": scores}})[1].keys() == scores.keys()


@pytest.mark.parametrize("pattern", [recognition._FIRST_SCORES, score_dicts._FIRST_IDS.decode()])
def test_what_python_before_3_11_5_matches_wrongly_is_in_no_pattern(pattern: str) -> None:
    """A possessive repeat, as `*+`, of a group that could match in several ways."""
    assert not re.search(r"[*+?}]\+", pattern)
