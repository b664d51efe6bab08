"""The answer of a run line, what it cites, what the prompt held: read where it is needed, and left alone where not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.rows import each_row

from rankgate.errors import Problem, RankgateError
from rankgate.metrics.lines import LineMetric
from rankgate.metrics.matching import OF_THE_LINE, match
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan, require_fields
from rankgate.metrics.scoring import score
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import CONTEXT_DEPTH, Details, Generated, Gold, Item, Ranking, RunField, Sample
from rankgate.readers import untrusted
from rankgate.readers.base import Run
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import read_run
from rankgate.readers.run_lines import read_jsonl_quickly
from rankgate.readers.untrusted import read_untrusted_run

ANSWER = frozenset({RunField.ANSWER})
WITH_TEXTS = frozenset({RunField.ANSWER, RunField.TEXTS})
EVERYTHING = frozenset(RunField) - {RunField.TRAFFIC}
LINE: dict[str, Any] = {
    "query_id": "q",
    "topk": [{"rank": 1, "chunk_id": "a#1", "text": "30 days"}, {"rank": 2, "chunk_id": 7}],
    "answer": "You have 30 days.",
    "citations": ["a#1", 7, "a#1", "invented"],
    "context": [7, "parent", "a#1"],
    "context_texts": {"parent": "All about refunds.", "7": "Cut he…"},
    "abstained": False,
}
FOUND = Generated(
    answer="You have 30 days.",
    citations=("a#1", "7", "invented"),
    context=("7", "parent", "a#1"),
    texts={"parent": "All about refunds.", "7": "Cut he…"},
    abstained=False,
)
KEYS = ("answer", "citations", "context", "context_texts", "abstained")


def opened(
    where: Path, line: Any, needs: frozenset[RunField] = ANSWER, form: str = "jsonl", fields: FieldMap | None = None
) -> Run:
    path = where / "run"
    text = json.dumps(line, ensure_ascii=False) + "\n" if form == "jsonl" else json.dumps([line], indent=2)
    path.write_text(text, encoding="utf-8")
    return read_run(path.as_posix(), form, needs=needs, map=fields)


def read(where: Path, line: Any, needs: frozenset[RunField] = ANSWER, form: str = "jsonl") -> Ranking:
    (ranking,) = opened(where, line, needs, form).rankings
    return ranking


def generated(where: Path, form: str = "jsonl", **keys: Any) -> Generated | None:
    found = read(where, {"query_id": "q", "topk": ["a", "b"], **keys}, form=form)
    return found.details.generated if found.details else None


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_a_line_with_all_of_it(tmp_path: Path, form: str) -> None:
    assert read(tmp_path, LINE, form=form) == Ranking("q", ["a#1", "7"], 0, Details(generated=FOUND))


@pytest.mark.parametrize("needs", [ANSWER, ANSWER | {RunField.LATENCY}, WITH_TEXTS, EVERYTHING])
def test_the_quick_reader_says_the_same(tmp_path: Path, needs: frozenset[RunField]) -> None:
    """Also of lines without an answer, which it settles at once, and of those that are stored."""
    short = {"query_id": "p", "topk": [{"rank": 1, "chunk_id": "a"}]}
    lines = [short, LINE, {"query_id": "s", "retrieved": ["b"], "abstained": True}, {"query_id": "t", "retrieved": []}]
    path = tmp_path / "run"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with path.open("rb") as stream:
        quick = list(read_jsonl_quickly(stream, needs, 0))
    assert quick == list(read_run(path.as_posix(), needs=needs).rankings)
    answered = [each.query_id for each in quick if each.details and each.details.generated]
    assert answered == ["q", "s"]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param(dict.fromkeys(KEYS), None, id="null is nothing"),
        pytest.param({"answer": ""}, Generated(answer=""), id="an empty answer is one"),
        pytest.param({"answer": "a]"}, Generated(answer="a]"), id="a bracket in the answer"),
        pytest.param({"answer": "[1]"}, Generated(answer="[1]"), id="two brackets in the answer"),
        pytest.param({"abstained": True}, Generated(abstained=True), id="abstained without a word"),
        pytest.param({"citations": []}, Generated(citations=()), id="nothing cited"),
        pytest.param({"citations": [3, "3"]}, Generated(citations=("3",)), id="a number equals its digits"),
        pytest.param({"context": []}, Generated(context=()), id="an empty prompt"),
        pytest.param({"context": ["b"]}, Generated(context=("b",)), id="the second alone"),
        pytest.param(
            {"context": ["z"], "context_texts": {"z": ""}},
            Generated(context=("z",), texts={"z": ""}),
            id="an empty passage from elsewhere",
        ),
        pytest.param({"context_texts": {"b": "cut"}}, Generated(texts={"b": "cut"}), id="a text of an item"),
        pytest.param({"context_texts": {}}, None, id="no texts"),
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_lines_that_say_little(tmp_path: Path, form: str, keys: dict[str, Any], expected: Generated | None) -> None:
    assert generated(tmp_path, form, **keys) == expected


BAD: list[Any] = [
    pytest.param({"answer": 5}, "answer: expected text, found a whole number", id="an answer that is a number"),
    pytest.param({"answer": ["a"]}, "answer: expected text, found a list", id="a list of answers"),
    pytest.param({"answer": {"text": "a"}}, "answer: expected text, found a mapping", id="an answer in an object"),
    pytest.param({"citations": "a"}, "citations: expected a list, found text", id="a citation without a list"),
    pytest.param({"citations": {"a": 1}}, "citations: expected a list, found a mapping", id="citations as a mapping"),
    pytest.param({"citations": [["a"]]}, "citations[0]: expected an id, found a list", id="a list in the list"),
    pytest.param({"citations": ["a", 1.5]}, "citations[1]: expected an id, found a number", id="a fraction cited"),
    pytest.param({"citations": [None]}, "citations[0]: expected an id, found nothing", id="null cited"),
    pytest.param({"context": "a"}, "context: expected a list, found text", id="a context without a list"),
    pytest.param({"context": [True]}, "context[0]: expected an id, found true or false", id="a truth in the context"),
    pytest.param(
        {"context": [{"id": "a", "text": "x"}]},
        "context[0]: expected an id, found a mapping",
        id="an object in the context",
    ),
    pytest.param(
        {"context": ["a", "b", "a"]},
        "query 'q': context: 'a' stands twice; name each passage of the prompt once",
        id="an id twice in the context",
    ),
    pytest.param(
        {"context": ["a", "z"]},
        "query 'q': context: 'z' is not in the list of results; list it there, or give what the prompt held of it in "
        "context_texts",
        id="an id in the context that nobody knows",
    ),
    pytest.param(
        {"context": ["z"], "context_texts": {"y": "?"}},
        "query 'q': context: 'z' is not in the list of results; list it there, or give what the prompt held of it in "
        "context_texts",
        id="the text of another id",
    ),
    pytest.param(
        {"context": ["a"], "context_texts": {"b": "?"}},
        "query 'q': context_texts: 'b' is not in context, so the prompt did not hold it",
        id="a text that the prompt did not hold",
    ),
    pytest.param(
        {"context_texts": {"z": "?"}},
        "query 'q': context_texts: 'z' is not in the list of results, so the prompt did not hold it",
        id="a text of no item",
    ),
    pytest.param({"context_texts": ["a"]}, "context_texts: expected a mapping, found a list", id="texts in a list"),
    pytest.param({"context_texts": {"a": None}}, "context_texts[...]: expected text, found nothing", id="no text"),
    pytest.param({"abstained": "no"}, "abstained: expected true or false, found text", id="abstained in words"),
    pytest.param({"abstained": 1}, "abstained: expected true or false, found a whole number", id="abstained as 1"),
]


@pytest.mark.parametrize(("keys", "message"), BAD)
@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_bad_input(tmp_path: Path, form: str, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        generated(tmp_path, form, **keys)
    place = (1, None) if form == "jsonl" else (None, "[0]")
    assert caught.value.problems == (Problem(message, (tmp_path / "run").as_posix(), *place),)


@pytest.mark.parametrize(("keys", "message"), BAD)
@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_without_need_nothing_is_refused(tmp_path: Path, form: str, keys: dict[str, Any], message: str) -> None:
    line = {"query_id": "q", "topk": ["a", "b"], **keys}
    assert read(tmp_path, line, EVERYTHING - ANSWER, form).ids == ["a", "b"], message
    assert read(tmp_path, line, frozenset(), form) == Ranking("q", ["a", "b"])


@each_row(
    ("keys", "message"),
    {
        rb'"answer": "\ud800"': r"text with half of a surrogate pair (\ud800 and the like); write valid Unicode",
        rb'"citations": ["\udfff"]': r"text with half of a surrogate pair (\ud800 and the like); write valid Unicode",
        b'"answer": "\xff"': "not UTF-8 (byte 0xff); save the file as UTF-8",
        b'"answer": "yes", "answer": "no"': "the key 'answer' stands twice in one object",
        b'"context_texts": {"a": "x", "a": "y"}': "the key 'a' stands twice in one object",
    }.items(),
)
def test_broken_text(tmp_path: Path, keys: bytes, message: str) -> None:
    path = tmp_path / "run"
    path.write_bytes(b'{"query_id": "q", "topk": ["a"], ' + keys + b"}\n")
    with pytest.raises(RankgateError) as caught:
        list(read_run(path.as_posix(), needs=ANSWER).rankings)
    assert caught.value.problems == (Problem(message, path.as_posix(), 1),)


HOSTILE = {
    "control characters": "\x00\x1b[2J\r\n::error::pwned\x7f\x85\u2028",
    "right to left": "\u202eevil\u202c \u2067rtl\u2069 مرحبا",
    "brackets, braces and quotes": '"]}, "query_id": "other", "topk": ["b"], "x": "[{',
    "words that are no numbers": "NaN, Infinity and -0.0",
    "a megabyte": "word and word. " * 70_000,
    "beyond the basic plane": "🧾👩\u200d👧 𠮷野家",
    "combining": "e\u0301" * 50,
}
LANGUAGES = {
    "de": "Die Rückgabefrist beträgt 30 Tage.",
    "fr": "Le délai de retour est de 30 jours, à compter de l'achat.",
    "pt": "O prazo de devolução é de 30 dias.",
    "pl": "Zwrotu można dokonać w ciągu 30 dni.",
    "tr": "İade süresi 30 gündür; IĞDIR'a kargo ücretsizdir.",
    "ru": "Срок возврата — 30 дней.",
    "ar": "مدة الإرجاع ٣٠ يومًا.",
    "he": "ניתן להחזיר תוך 30 יום.",
    "hi": "वापसी की अवधि ३० दिन है।",
    "th": "คืนสินค้าได้ภายใน 30 วัน",
    "ja": "返品は30日以内に可能です。",
    "ko": "반품 기간은 30일입니다.",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in (HOSTILE | LANGUAGES).items()])
@pytest.mark.parametrize("form", ["jsonl", "json"])
@pytest.mark.parametrize("escaped", [False, True])
def test_a_text_is_kept_as_it_is(tmp_path: Path, form: str, text: str, escaped: bool) -> None:  # noqa: FBT001
    line: dict[str, Any] = {
        "answer": text,
        "query_id": "q",
        "topk": ["a", text],
        "citations": [text],
        "context": [text],
    }
    line |= {"context_texts": {text: text}}
    path = tmp_path / "run"
    path.write_text(json.dumps(line if form == "jsonl" else [line], ensure_ascii=escaped) + "\n", "utf-8", newline="")
    expected = Generated(answer=text, citations=(text,), context=(text,), texts={text: text})
    for needs in (ANSWER, EVERYTHING):
        (found,) = read_run(path.as_posix(), form, needs=needs).rankings
        assert found.ids == ["a", text]
        assert found.details is not None
        assert found.details.generated == expected
    (found,) = read_run(path.as_posix(), form).rankings
    assert found == Ranking("q", ["a", text])


def test_these_keys_are_of_the_query_and_not_of_the_system(tmp_path: Path) -> None:
    assert opened(tmp_path, {**LINE, "system": "hybrid"}).provenance == {"system": "hybrid"}


# What the prompt held.


@pytest.mark.parametrize(
    ("keys", "needs", "expected"),
    [
        pytest.param({}, WITH_TEXTS, [("a", "A"), ("b", "B"), ("c", None)], id="the list, where nobody says"),
        pytest.param({}, ANSWER, [("a", None), ("b", None), ("c", None)], id="without texts, where they are not read"),
        pytest.param({"context": ["c", "a"]}, WITH_TEXTS, [("c", None), ("a", "A")], id="in the order of the prompt"),
        pytest.param({"context": []}, WITH_TEXTS, [], id="nothing"),
        pytest.param(
            {"context": ["b", "z"], "context_texts": {"b": "cut", "z": "Z"}},
            ANSWER,
            [("b", "cut"), ("z", "Z")],
            id="the line's own texts are read with the answer",
        ),
        pytest.param(
            {"context_texts": {"b": "cut"}}, WITH_TEXTS, [("a", "A"), ("b", "cut"), ("c", None)], id="one cut"
        ),
    ],
)
def test_context(tmp_path: Path, keys: dict[str, Any], needs: frozenset[RunField], expected: list[Any]) -> None:
    topk = [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}, "c"]
    assert read(tmp_path, {"query_id": "q", "topk": topk, **keys}, needs).context() == expected


def test_how_many_items_are_the_context_where_nobody_says() -> None:
    ranking = Ranking("q", [str(number) for number in range(9)])
    assert [len(ranking.context()), len(ranking.context(7)), CONTEXT_DEPTH] == [5, 7, 5]


# Other ways in.

OWN = {
    "qid": "q",
    "hits": [{"docId": "a#1", "body": "30 days"}, {"docId": 7}],
    "out": {"text": "You have 30 days.", "refs": ["a#1", 7, "invented"]},
    "prompt": [7, "parent", "a#1"],
    "passages": {"parent": "All about refunds.", "7": "Cut he…"},
    "refused": False,
}
MAP = FieldMap(
    query_id="qid",
    items="hits",
    chunk_id="docId",
    text="body",
    answer="out.text",
    citations="out.refs",
    context="prompt",
    context_texts="passages",
    abstained="refused",
)


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_a_map_names_them(tmp_path: Path, form: str) -> None:
    (found,) = opened(tmp_path, OWN, WITH_TEXTS, form, MAP).rankings
    assert found.details == Details(items=[Item(text="30 days"), Item()], generated=FOUND)
    (found,) = opened(tmp_path, {**OWN, "out": 5, "prompt": 5}, frozenset(), form, MAP).rankings
    assert found == Ranking("q", ["a#1", "7"]), "without need it is not looked at"


def test_a_map_of_parquet_names_them_too(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "run.parquet"
    rows = """SELECT 'q' AS qid, [{docId: 'a#1', body: '30 days'}, {docId: '7', body: NULL}] AS hits,
        {text: 'You have 30 days.', refs: ['a#1', '7', 'invented']} AS out, ['7', 'parent', 'a#1'] AS prompt,
        MAP {'parent': 'All about refunds.', '7': 'Cut he…'} AS passages, false AS refused"""
    duckdb.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    (found,) = read_run(path.as_posix(), needs=WITH_TEXTS, map=MAP).rankings
    assert found == Ranking("q", ["a#1", "7"], 0, Details(items=[Item(text="30 days"), Item()], generated=FOUND))


def test_a_mapped_answer_is_checked_as_any_other(tmp_path: Path) -> None:
    with pytest.raises(RankgateError) as caught:
        list(opened(tmp_path, {**OWN, "prompt": ["z"], "passages": {}}, ANSWER, "jsonl", MAP).rankings)
    assert "run:1: query 'q': context: 'z' is not in the list of results" in str(caught.value)


def test_a_map_of_rows_has_no_answers() -> None:
    of_rows = FieldMap(query_id="qid", chunk_id="docId", rank="rank", answer="text")
    message = "is of a query, and without `items` each row is one result; map `items`, or leave it out"
    assert of_rows.problem() == ("answer", message)
    assert MAP.problem() is None


RAGAS_LINE = {"user_input": "q", "retrieved_contexts": ["30 days", "two"], "response": "You have 30 days."}


@pytest.mark.parametrize(
    ("line", "ids", "expected"),
    [
        pytest.param(
            RAGAS_LINE,
            ["30 days", "two"],
            Generated(answer="You have 30 days.", context=("30 days", "two")),
            id="texts that are the ids",
        ),
        pytest.param(
            {**RAGAS_LINE, "retrieved_context_ids": [1, 2, 1], "retrieved_contexts": ["x", "y", "x"]},
            ["1", "2"],
            Generated(answer="You have 30 days.", context=("1", "2")),
            id="ids, one of them twice",
        ),
        pytest.param({**RAGAS_LINE, "response": None}, ["30 days", "two"], None, id="no answer"),
    ],
)
def test_ragas(tmp_path: Path, line: dict[str, Any], ids: list[str], expected: Generated | None) -> None:
    (found,) = opened(tmp_path, line, WITH_TEXTS, "ragas").rankings
    assert found.ids == ids
    assert found.details is not None
    assert found.details.generated == expected
    assert [text for _, text in found.context()] == line["retrieved_contexts"][:2]


def test_a_ragas_answer_that_is_none(tmp_path: Path) -> None:
    run = opened(tmp_path, {**RAGAS_LINE, "response": 5}, ANSWER, "ragas")
    with pytest.raises(RankgateError, match=r"run: \[0\]: query 'q': the response is 5, not a text"):
        list(run.rankings)
    assert list(opened(tmp_path, {**RAGAS_LINE, "response": 5}, frozenset(), "ragas").rankings), "nobody needs it"


@pytest.mark.parametrize("key", ["answer", "citations", "context", "context_texts"])
def test_all_that_is_held_of_an_untrusted_run_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """The limit on what is held covers answers as it does texts."""
    monkeypatch.setattr(untrusted, "MAX_HELD", 10_000)
    long = "x" * 6_000
    keys: dict[str, dict[str, Any]] = {
        "answer": {"answer": long * 2},
        "citations": {"citations": [long, long + "y"]},
        "context": {"context": [long]},  # which is an id of the list too
        "context_texts": {"context_texts": {long: "y" * 6_000}},
    }
    topk = [long] if key.startswith("context") else ["a"]
    path = tmp_path / "run"
    path.write_text(json.dumps({"query_id": "q", "topk": topk, **keys[key]}) + "\n", encoding="utf-8")
    with pytest.raises(RankgateError, match=r"has more than 10,000 bytes in memory of ids and texts"):
        list(read_untrusted_run(path.as_posix(), needs=ANSWER).rankings)
    assert list(read_untrusted_run(path.as_posix()).rankings), "without need nothing is held"


# On the way to metrics.


GOLD = Gold(samples={"q": Sample(query_id="q", gains={"a#1": 1.0})}, name="gold", format="yaml")
PLAN = Plan(metrics=parse_metrics("mrr"), keep_matched=True, also=WITH_TEXTS)


def test_it_reaches_the_matched_query_as_it_is(tmp_path: Path) -> None:
    ranking = read(tmp_path, LINE, WITH_TEXTS)
    for needs in (ANSWER, OF_THE_LINE, WITH_TEXTS):
        details = match(GOLD.samples["q"], ranking, depth=1, needs=needs).details
        assert details is not None
        assert details.generated == FOUND, "the depth does not cut it"


class Answered(LineMetric, frozen=True, kw_only=True):
    """A metric that reads answers."""

    key: ClassVar[str] = "answered"
    formula: ClassVar[str] = "1"
    plain: ClassVar[str] = "answered"
    reads: ClassVar[frozenset[RunField]] = ANSWER

    def per_query(self, query: MatchedQuery) -> float | None:
        return float(query.details is not None)


def test_a_run_that_answers_nowhere_lacks_what_reads_it(tmp_path: Path) -> None:
    plan = Plan(metrics=[Answered()])
    silent = score(GOLD, [read(tmp_path, {"query_id": "q", "topk": ["a#1"]})], plan)
    with pytest.raises(RankgateError, match="reads `answer`, which the run states nowhere"):
        require_fields(silent, plan, "run")
    abstaining = score(GOLD, [read(tmp_path, {"query_id": "q", "topk": [], "abstained": True})], plan)
    require_fields(abstaining, plan, "run")
    assert abstaining.unstated == {}
