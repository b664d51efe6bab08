"""What a run says beyond ranked ids: read where a metric asks for it, and left alone where none does."""

import json
from pathlib import Path
from typing import Any

import pytest

from rankgate.errors import Problem, RankgateError
from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.metrics.registry import families
from rankgate.model.values import Details, Item, Ranking, RunField, Sample
from rankgate.readers.formats import read_run

FAMILIES = tuple(family for family in families() if RunField.VERDICTS not in family.reads)  # which no run states

EVERYTHING = frozenset(RunField) - {RunField.TRAFFIC}

LINE = {
    "query_id": "q",
    "topk": [
        {
            "rank": 1,
            "chunk_id": "a#1",
            "doc_id": "a",
            "doc_version": "2025-06-01T10:00Z",
            "text": "30 days",
            "score": 2,
        },
        {"rank": 2, "chunk_id": "b#1", "doc_id": 7, "doc_version": None, "text": None, "score": None},
        {"rank": 3, "chunk_id": "c"},
    ],
    "raw_topk": [{"rank": 2, "chunk_id": "a#1", "doc_id": "a", "score": 0.5}, {"rank": 1, "chunk_id": "z"}],
    "rewrites": [{"query": "How long?", "topk": ["a#1", "b#1"]}, {"topk": [{"id": "z", "text": "x"}]}],
    "latency_ms": {"retrieve": 35, "rerank": 22.5},
    "source": "kb-BR",
    "entities": ["Porto", "Porto", "2025"],
    "scores": {"faithfulness": 0.5, "cost": None, "tokens": 812},
}


def read(where: Path, line: dict[str, Any], *needs: RunField, form: str = "jsonl") -> Ranking:
    path = where / "run"
    path.write_text(json.dumps(line) + "\n" if form == "jsonl" else json.dumps([line]), encoding="utf-8")
    (ranking,) = read_run(path.as_posix(), None, needs=frozenset(needs)).rankings
    return ranking


def refused(where: Path, line: dict[str, Any], *needs: RunField) -> str:
    with pytest.raises(RankgateError) as caught:
        read(where, line, *needs)
    (problem,) = caught.value.problems
    assert problem == Problem(problem.message, (where / "run").as_posix(), 1)
    return problem.message


def items(**columns: list[Any]) -> list[Item]:
    """Items from what is said of each, by key."""
    return [Item(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    ("need", "expected"),
    [
        pytest.param(RunField.DOCS, Details(items=items(doc_id=["a", "7", None])), id="documents, numbers as text"),
        pytest.param(
            RunField.VERSIONS, Details(items=items(version=["2025-06-01", None, None])), id="versions, as days"
        ),
        pytest.param(RunField.TEXTS, Details(items=items(text=["30 days", None, None])), id="texts"),
        pytest.param(RunField.ITEM_SCORES, Details(items=items(score=[2.0, None, None])), id="scores of items"),
        pytest.param(RunField.RAW, Details(raw=Ranking("q", ["z", "a#1"])), id="the raw list, by its ranks"),
        pytest.param(
            *(RunField.REWRITES, Details(rewrites=[Ranking("q", ["a#1", "b#1"]), Ranking("q", ["z"])])),
            id="the lists of rewritten questions",
        ),
        pytest.param(RunField.LATENCY, Details(latency_ms={"retrieve": 35.0, "rerank": 22.5}), id="times"),
        pytest.param(RunField.SOURCE, Details(source=("kb-BR",)), id="the source"),
        pytest.param(RunField.ENTITIES, Details(entities=["Porto", "Porto", "2025"]), id="entities, as written"),
        pytest.param(
            *(RunField.SCORES, Details(scores={"faithfulness": 0.5, "cost": None, "tokens": 812.0})),
            id="scores, null where the tool has none",
        ),
        pytest.param(RunField.JUDGED, None, id="what comes from the match: nothing"),
        pytest.param(RunField.BASELINE, None, id="what comes from the baseline: nothing"),
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_only_what_is_needed_is_read(tmp_path: Path, form: str, need: RunField, expected: Details | None) -> None:
    assert read(tmp_path, LINE, need, form=form) == Ranking("q", ["a#1", "b#1", "c"], 0, expected)


def test_other_lists_have_items_too(tmp_path: Path) -> None:
    ranking = read(tmp_path, LINE, RunField.RAW, RunField.REWRITES, RunField.DOCS, RunField.TEXTS)
    assert ranking.details is not None
    assert ranking.details.raw == Ranking("q", ["z", "a#1"], 0, Details(items=[Item(), Item(doc_id="a")]))
    assert ranking.details.rewrites == [
        Ranking("q", ["a#1", "b#1"], 0, Details(items=[Item(), Item()])),
        Ranking("q", ["z"], 0, Details(items=[Item(text="x")])),
    ]


@pytest.mark.parametrize(
    ("line", "needs", "expected"),
    [
        pytest.param({"topk": ["a", "b"]}, EVERYTHING, Details(items=[Item(), Item()]), id="bare ids say nothing"),
        pytest.param({"topk": []}, EVERYTHING, Details(items=[]), id="an empty list"),
        pytest.param(
            {"topk": [], "raw_topk": []}, {RunField.RAW}, Details(raw=Ranking("q", [])), id="an empty raw list"
        ),
        pytest.param({"topk": [], "raw_topk": None}, {RunField.RAW}, None, id="no raw list"),
        pytest.param(
            {"topk": [], "rewrites": []}, {RunField.REWRITES}, Details(rewrites=[]), id="no rewritten question"
        ),
        pytest.param(
            {"topk": [], "source": 7}, {RunField.SOURCE}, Details(source=("7",)), id="a source that is a number"
        ),
        pytest.param(
            {"topk": [], "source": ["kb", 7, "kb"]}, {RunField.SOURCE}, Details(source=("kb", "7")), id="several"
        ),
        pytest.param({"topk": [], "source": []}, {RunField.SOURCE}, Details(source=()), id="routed nowhere"),
        pytest.param(
            {"topk": [], "latency_ms": 57}, {RunField.LATENCY}, Details(latency_ms={"total": 57}), id="a time in all"
        ),
        pytest.param({"topk": [], "source": None}, {RunField.SOURCE}, None, id="no source"),
        pytest.param({"topk": [], "entities": []}, {RunField.ENTITIES}, Details(entities=[]), id="no entity"),
        pytest.param({"topk": [], "latency_ms": {}}, {RunField.LATENCY}, None, id="no times"),
        pytest.param({"topk": [], "latency_ms": None}, {RunField.LATENCY}, None, id="times without a value"),
        pytest.param(
            *({"topk": [], "latency_ms": {"retrieve": 0, "rerank": 1e12}}, {RunField.LATENCY}),
            Details(latency_ms={"retrieve": 0.0, "rerank": 1e12}),
            id="the shortest and the longest time",
        ),
    ],
)
def test_lines_that_say_little(
    tmp_path: Path, line: dict[str, Any], needs: set[RunField], expected: Details | None
) -> None:
    assert read(tmp_path, {"query_id": "q", **line}, *needs).details == expected


def test_items_stay_with_their_ids(tmp_path: Path) -> None:
    """Ranks decide the order, and of two items with one id the first by rank is kept."""
    topk = [
        {"rank": 3, "chunk_id": "a", "text": "third"},
        {"rank": 1, "chunk_id": "a", "text": "first"},
        {"rank": 4, "chunk_id": "c", "text": "fourth"},
        {"rank": 2, "chunk_id": "b", "text": "second"},
    ]
    found = read(tmp_path, {"query_id": "q", "topk": topk, "raw_topk": topk}, RunField.TEXTS, RunField.RAW)
    kept = Ranking("q", ["a", "b", "c"], 1, Details(items=items(text=["first", "second", "fourth"])))
    assert found.details is not None
    assert found.details.raw == kept
    assert (found.ids, found.duplicates, found.details.items) == (
        kept.ids,
        1,
        items(text=["first", "second", "fourth"]),
    )


MALFORMED = {
    "query_id": "q",
    "topk": [{"rank": 1, "chunk_id": "a", "doc_id": [], "doc_version": "v3", "text": 5}],
    "raw_topk": [{"rank": 2, "chunk_id": "a"}],
    "rewrites": "none",
    "latency_ms": {"retrieve": -1, "rerank": "fast"},
    "source": {"kb": 1},
    "entities": "Porto",
    "scores": [0.5],
}
# What needs it, and what is then said of it.
PROBLEMS = {
    RunField.DOCS: "topk[0].doc_id: expected an id, found a list",
    RunField.VERSIONS: "query 'q': the doc_version of 'a' is 'v3'; write a date, as 2025-06-01",
    RunField.TEXTS: "topk[0].text: expected text, found a whole number",
    RunField.RAW: "query 'q': raw_topk: rank 1 is missing; ranks run from 1 without gaps",
    RunField.REWRITES: "rewrites: expected a list, found text",
    RunField.LATENCY: "latency_ms[...]: expected a number, found text",
    RunField.SOURCE: "source: expected an id or a list, found a mapping",
    RunField.ENTITIES: "entities: expected a list, found text",
    RunField.SCORES: "scores: expected a mapping, found a list",
}


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_what_nobody_needs_does_not_disturb(tmp_path: Path, form: str) -> None:
    assert read(tmp_path, MALFORMED, form=form) == Ranking("q", ["a"])
    assert read(tmp_path, MALFORMED, RunField.ITEM_SCORES, RunField.NEGATIVES, form=form).ids == ["a"]


@pytest.mark.parametrize(
    ("need", "message"), [pytest.param(need, message, id=need.value) for need, message in PROBLEMS.items()]
)
def test_what_is_needed_is_checked(tmp_path: Path, need: RunField, message: str) -> None:
    sound = {key: value for key, value in LINE.items() if key != need.value}
    assert refused(tmp_path, {**MALFORMED, "topk": MALFORMED["topk"]}, need) == message
    assert read(tmp_path, sound, need).ids == ["a#1", "b#1", "c"]


@pytest.mark.parametrize(
    ("line", "needs", "message"),
    [
        # Versions.
        *(
            pytest.param(
                {"topk": [{"chunk_id": "a", "doc_version": version}]},
                {RunField.VERSIONS},
                f"query 'q': the doc_version of 'a' is {version!r}; write a date, as 2025-06-01",
                id=f"doc_version {version!r}",
            )
            for version in ("2025", "2025-02-30", "", 3)
        ),
        (
            {"topk": [{"id": 12, "doc_version": "new"}]},
            {RunField.VERSIONS},
            "query 'q': the doc_version of 12 is 'new'; write a date, as 2025-06-01",
        ),
        (
            {"topk": ["a"], "raw_topk": [{"id": "b", "doc_version": "new"}]},
            {RunField.VERSIONS, RunField.RAW},
            "query 'q': raw_topk: the doc_version of 'b' is 'new'; write a date, as 2025-06-01",
        ),
        # The raw list.
        (
            {"topk": [], "raw_topk": [{"id": "a", "rank": 0}]},
            {RunField.RAW},
            "query 'q': raw_topk: 'a' has rank 0; ranks start at 1",
        ),
        (
            {"topk": [], "raw_topk": [{"id": "a", "rank": 1}, {"id": "b", "rank": 1}]},
            {RunField.RAW},
            "query 'q': raw_topk: rank 1 stands twice ('a', 'b')",
        ),
        (
            {"topk": [], "raw_topk": [{"id": "a", "rank": 1}, {"id": "b"}]},
            {RunField.RAW},
            "query 'q': raw_topk: 'b' has no rank but others do; give all or none",
        ),
        (
            {"topk": [], "raw_topk": ["a", {"text": "x"}]},
            {RunField.RAW},
            "query 'q': raw_topk: item 2 has neither chunk_id nor id",
        ),
        ({"topk": [], "raw_topk": {"a": 1}}, {RunField.RAW}, "raw_topk: expected a list, found a mapping"),
        # Rewritten questions.
        (
            {"topk": [], "rewrites": [{"topk": []}, {"topk": [{"id": "a", "rank": 2}]}]},
            {RunField.REWRITES},
            "query 'q': rewrites[1]: rank 1 is missing; ranks run from 1 without gaps",
        ),
        (
            {"topk": [], "rewrites": [{"query": "?"}]},
            {RunField.REWRITES},
            "rewrites[0]: object missing required field topk",
        ),
        # Times.
        *(
            pytest.param(
                {"topk": ["a"], "latency_ms": {"retrieve": 5, "rerank": time}},
                {RunField.LATENCY},
                "query 'q': latency_ms must lie between 0 and 1e+12",
                id=f"{time:g} ms",
            )
            for time in (-1, -0.001, 1e13)
        ),
        (
            {"topk": [{"rank": 1, "chunk_id": "a"}], "latency_ms": "57"},
            {RunField.LATENCY},
            "latency_ms: expected a number or a mapping, found text",
        ),
        # Scores of other tools.
        (
            {"topk": [], "scores": {"faithfulness": "high"}},
            {RunField.SCORES},
            "scores[...]: expected a number or a mapping, found text",
        ),
        (
            {"topk": [], "entities": ["Porto", 7]},
            {RunField.ENTITIES},
            "entities[1]: expected text, found a whole number",
        ),
    ],
)
def test_messages(tmp_path: Path, line: dict[str, Any], needs: set[RunField], message: str) -> None:
    assert refused(tmp_path, {"query_id": "q", **line}, *needs) == message


SAMPLE = Sample(
    query_id="q",
    gains={"a#1": 2.0, "z": 1.0},
    negatives=("b#1",),
    answers=("30 DAYS",),
    as_of="2025-06-01",
    source=("kb-BR",),
    entities=("Porto",),
)
NEEDY = {"score": "(tokens)", "source_share": "(kb-BR)", "false_evidence_rate": "(min_score=1)"}
VIEWS = ("recall(stage=raw)@2", "recall(rewrite=2)@2", "rerank_gain(mrr)", "rewrite_gain(ndcg@5)")


@pytest.mark.parametrize("name", [*(family.key + NEEDY.get(family.key, "") for family in FAMILIES), *VIEWS])
@pytest.mark.parametrize("no_answer", [False, True])
def test_a_metric_finds_all_that_it_reads(tmp_path: Path, name: str, no_answer: bool) -> None:  # noqa: FBT001
    """With what it says that it needs, it has the value that it has with everything."""
    metric = parse_metric(name)
    sample = SAMPLE if not no_answer else Sample(query_id="q", gains={}, no_answer=True)
    alone, all_of_it = (
        metric.per_query(match(sample, read(tmp_path, LINE, *needs), needs=needs, baseline_ids=["a#1"]))
        for needs in (metric.needs, EVERYTHING)
    )
    assert alone == all_of_it
    without = ("false_evidence_rate", "passage_")  # of questions without an answer, and of passages
    assert no_answer or name.startswith(without) or alone is not None
