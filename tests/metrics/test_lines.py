"""Metrics of what a line states beside its list, worked by hand: false evidence, routes, entities, scores."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.rows import each_row

from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Direction, Generated, Item, Ranking, Sample


def value(metric: str, gold: Mapping[str, Any], ids: Sequence[str] = (), **said: Any) -> float | None:
    wanted = parse_metric(metric)
    sample = Sample(query_id="q", **{"gains": {}, **gold})
    return wanted.per_query(match(sample, Ranking("q", list(ids), 0, Details(**said)), needs=wanted.needs))


def scored(*scores: float | None) -> dict[str, Any]:
    return {"ids": [f"c{rank}" for rank in range(len(scores))], "items": [Item(score=score) for score in scores]}


UNANSWERABLE = {"no_answer": True}


@pytest.mark.parametrize(
    ("metric", "gold", "line", "expected"),
    [
        pytest.param("false_evidence_rate", UNANSWERABLE, {"ids": ["a"]}, 1, id="something is returned"),
        pytest.param("false_evidence_rate", UNANSWERABLE, {"ids": []}, 0, id="an empty list is right"),
        pytest.param("false_evidence_rate", {}, {"ids": ["a"]}, None, id="answerable: undefined"),
        pytest.param(
            "false_evidence_rate", {"gains": {"a": 1.0}}, {"ids": []}, None, id="answerable, empty: undefined"
        ),
        pytest.param(
            "false_evidence_rate",
            {"gains": {"a": 0.0}},
            {"ids": ["a"]},
            None,
            id="nothing relevant is not unanswerable",
        ),
        pytest.param("false_evidence_rate(min_score=0.5)", UNANSWERABLE, scored(0.4, 0.5), 1, id="at the lowest score"),
        pytest.param("false_evidence_rate(min_score=0.5)", UNANSWERABLE, scored(0.4, 0.3), 0, id="all below it"),
        pytest.param("false_evidence_rate(min_score=0)", UNANSWERABLE, scored(-0.1, 0.0), 1, id="a lowest score of 0"),
        pytest.param("false_evidence_rate(min_score=-2)", UNANSWERABLE, scored(-1.5), 1, id="a lowest score below 0"),
        pytest.param(
            "false_evidence_rate(min_score=0.5)", UNANSWERABLE, scored(), 0, id="a lowest score, an empty list"
        ),
        pytest.param("false_evidence_rate(min_score=0.5)", {}, scored(0.9), None, id="a lowest score, answerable"),
    ],
)
def test_false_evidence_rate(
    metric: str, gold: Mapping[str, Any], line: Mapping[str, Any], expected: float | None
) -> None:
    assert value(metric, gold, **line) == expected


@pytest.mark.parametrize(
    ("gold", "generated", "expected"),
    [
        pytest.param({}, Generated(answer="30 days."), 1, id="an answer"),
        pytest.param({}, Generated(answer="I cannot say."), 1, id="a refusal in words is one"),
        pytest.param({}, Generated(answer=" \n\u3000"), 0, id="blank"),
        pytest.param({}, Generated(answer="\u200b \ufeff\u2060\x00"), 0, id="characters that nobody sees"),
        pytest.param({}, Generated(answer="\u200b7"), 1, id="and one that is seen"),
        pytest.param({}, Generated(answer=None), 0, id="none"),
        pytest.param({}, None, 0, id="a line without an answer"),
        pytest.param({}, Generated(answer=None, abstained=True), 0, id="declared"),
        pytest.param({}, Generated(answer="30 days.", abstained=True), 0, id="declared, with words"),
        pytest.param(UNANSWERABLE, Generated(answer=""), None, id="nothing answers it: undefined"),
    ],
)
def test_given_rate(gold: Mapping[str, Any], generated: Generated | None, expected: float | None) -> None:
    assert value("given_rate", gold, generated=generated) == expected


@pytest.mark.parametrize(
    ("wanted", "found", "coverage"),
    [
        pytest.param("kb-br", "kb-br", 1, id="the right source"),
        pytest.param("kb-br", "kb-pt", 0, id="another"),
        pytest.param("kb-br", "KB-BR", 0, id="case makes another"),
        pytest.param("faq wiki", "wiki", 1 / 2, id="one of two"),
        pytest.param("faq wiki", "wiki web faq", 1, id="both, and one more"),
        pytest.param("faq wiki", "", 0, id="routed nowhere"),
        pytest.param("", "kb-br", None, id="the gold names none: undefined"),
        pytest.param("kb-br", None, None, id="the line names none: undefined"),
    ],
)
def test_routes(wanted: str, found: str | None, coverage: float | None) -> None:
    gold, stated = {"source": tuple(wanted.split())}, None if found is None else tuple(found.split())
    assert value("source_coverage", gold, source=stated) == coverage
    assert value("misroute_rate", gold, source=stated) == (None if coverage is None else 1 - coverage)


@pytest.mark.parametrize(
    ("metric", "found", "expected"),
    [
        pytest.param("source_share(kb-br)", "kb-br", 1, id="this source"),
        pytest.param("source_share(kb-br)", "kb-pt", 0, id="another"),
        pytest.param("source_share(kb-br)", "KB-BR", 0, id="case makes another"),
        pytest.param("source_share(kb-br)", "kb-pt kb-br", 1, id="one of several"),
        pytest.param("source_share(kb-br)", None, None, id="the line names none: undefined"),
    ],
)
@pytest.mark.parametrize("wanted", [pytest.param(("kb-pt",), id="gold"), pytest.param((), id="no gold")])
def test_source_share_does_not_ask_the_gold(
    metric: str, wanted: tuple[str, ...], found: str | None, expected: float | None
) -> None:
    assert value(metric, {"source": wanted}, source=None if found is None else tuple(found.split())) == expected


@pytest.mark.parametrize(
    ("items", "line", "expected"),
    [
        pytest.param(["wiki", "faq", "faq"], None, (1 / 3, 2 / 3), id="two of three come from the faq"),
        pytest.param(["wiki", None, "faq"], None, (1 / 3, 1 / 3), id="what states none comes from nowhere"),
        pytest.param([None, None, None], ("wiki",), (1, 0), id="none states one: the line's"),
        pytest.param(["faq", None, None], ("wiki",), (0, 1 / 3), id="some do: theirs alone"),
        pytest.param([None, None, None], ("wiki", "faq"), (0, 0), id="of a list nobody knows which"),
        pytest.param(["WIKI", "Faq", "x"], None, (0, 0), id="case makes another"),
    ],
)
def test_relevant_documents_of_one_source(
    items: list[str | None], line: tuple[str, ...] | None, expected: tuple[float, float]
) -> None:
    said = {"items": [Item(source=each) for each in items], "source": line}
    gold = {"gains": dict.fromkeys("abc", 1.0)}
    for source, recall in zip(("wiki", "faq"), expected, strict=True):
        assert value(f"recall(item_source={source})@5", gold, "abc", **said) == pytest.approx(recall)


@each_row(
    ("wanted", "found", "expected"),
    [
        pytest.param(("Porto", "Lisbon"), ["Lisbon", "Porto"], 1, id="the same, in any order"),
        pytest.param(("Porto", "Lisbon"), ["Porto"], 2 / 3, id="one of two: precision 1, recall 1/2"),
        pytest.param(("Porto",), ["Porto", "Faro", "Braga"], 1 / 2, id="two too many: precision 1/3, recall 1"),
        pytest.param(("Porto", "Lisbon"), ["Porto", "Faro"], 1 / 2, id="half right, half found"),
        pytest.param(("Porto",), ["Faro"], 0, id="none"),
        pytest.param(("Porto",), ["porto"], 0, id="exactly as written"),
        pytest.param(("Porto",), ["Porto", "Porto"], 1, id="as sets"),
        pytest.param(("Porto",), [], 0, id="none stated"),
        pytest.param((), ["Porto"], 0, id="one where there is none"),
        pytest.param((), [], 1, id="both say that there is none"),
        pytest.param(None, ["Porto"], None, id="the gold does not say: undefined"),
        pytest.param(("Porto",), None, None, id="the line does not say: undefined"),
    ],
)
def test_entity_f1(wanted: tuple[str, ...] | None, found: list[str] | None, expected: float | None) -> None:
    given = value("entity_f1", {"entities": wanted}, entities=found)
    assert given == (None if expected is None else pytest.approx(expected))


@each_row(
    ("metric", "scores", "expected"),
    [
        pytest.param("score(faithfulness)", {"faithfulness": 0.75, "cost": 3}, 0.75, id="one of several"),
        pytest.param("score(faithfulness)", {"faithfulness": 0}, 0, id="0 is a number"),
        pytest.param("score(cost)", {"cost": -12.5}, -12.5, id="any number"),
        pytest.param("score(Cost)", {"cost": 1}, None, id="case makes another"),
        pytest.param("score(cost)", {"faithfulness": 1}, None, id="another is stated: undefined"),
        pytest.param("score(cost)", {}, None, id="none stated: undefined"),
        pytest.param("score(cost)", None, None, id="no scores: undefined"),
        *(
            pytest.param("score(noisy,drop_from=clean)", scores, value, id=f"drop: {what}")
            for what, scores, value in [
                ("a quarter is lost", {"clean": 1, "noisy": 0.75}, 1 / 4),
                ("all is lost", {"clean": 0.8, "noisy": 0}, 1),
                ("nothing is lost", {"clean": 0.8, "noisy": 0.8}, 0),
                ("it rose", {"clean": 0.4, "noisy": 0.8}, -1),
                ("nothing to lose", {"clean": 0, "noisy": 0.8}, None),
                ("a score below 0", {"clean": -1, "noisy": 0.8}, None),
                ("clean is null", {"clean": None, "noisy": 0.8}, None),
                ("noisy is null", {"clean": 0.8, "noisy": None}, None),
                ("clean is not there", {"noisy": 0.8}, None),
                ("noisy is not there", {"clean": 0.8}, None),
                ("too much for a number", {"clean": 1e-300, "noisy": 1e300}, None),
            ]
        ),
    ],
)
def test_score(metric: str, scores: Mapping[str, float] | None, expected: float | None) -> None:
    assert value(metric, {}, scores=scores) == expected


@each_row(
    ("metric", "direction"),
    [
        pytest.param("false_evidence_rate", Direction.LOWER, id="false evidence"),
        pytest.param("misroute_rate", Direction.LOWER, id="misroutes"),
        pytest.param("source_coverage", Direction.HIGHER, id="right routes"),
        pytest.param("entity_f1", Direction.HIGHER, id="entities"),
        pytest.param("score(cost)", Direction.HIGHER, id="a score, unless it is said"),
        pytest.param("score(cost,better=lower)", Direction.LOWER, id="a score of which less is better"),
        pytest.param("redundancy@5", Direction.LOWER, id="redundancy"),
        pytest.param("holes@5", Direction.LOWER, id="holes"),
        pytest.param("negatives_above@5", Direction.LOWER, id="negatives above"),
        pytest.param("latency", Direction.LOWER, id="latency"),
        pytest.param("recall@5", Direction.HIGHER, id="recall"),
        pytest.param("recall(stage=raw)@5", Direction.HIGHER, id="recall of another list"),
        pytest.param("rerank_gain(recall@5)", Direction.HIGHER, id="what reranking adds"),
    ],
)
def test_which_way_is_better(metric: str, direction: Direction) -> None:
    assert parse_metric(metric).direction is direction


@pytest.mark.parametrize(
    "metric",
    [
        *("containment@5", "freshness@5", "negatives_above@5"),
        *("false_evidence_rate", "source_coverage", "misroute_rate", "entity_f1", "recall(source=kb)@5"),
    ],
)
def test_a_query_without_its_sample_is_undefined_for_what_asks_the_gold(metric: str) -> None:
    """As a package may build it."""
    said = Details(items=[Item(text="a", version="2025-06-01")], source=("kb",), entities=["a"])
    query = MatchedQuery(
        query_id="q", hits=((1, 1.0),), found=("a",), ideal=(1.0,), retrieved=1, k=5, negatives=(1,), details=said
    )
    wanted = parse_metric(metric)
    assert wanted.per_query(query) is None
    if metric != "negatives_above@5":  # which asks the sample through `per_query`
        assert wanted.absent(query) is None


@pytest.mark.parametrize(
    ("metric", "gold", "expected"),
    [
        pytest.param("containment@5", {"answers": ("30 days",)}, 0, id="no text: no answer in one"),
        pytest.param("false_evidence_rate(min_score=0.5)", UNANSWERABLE, 0, id="no item: none at the lowest score"),
        pytest.param("freshness@5", {"as_of": "2025-06-01"}, 0, id="no version: none that is fresh"),
        pytest.param("source_coverage", {"source": "kb"}, None, id="no source: undefined"),
        pytest.param("source_share(kb)", {}, None, id="no source, whichever was asked for: undefined"),
        pytest.param("entity_f1", {"entities": ("a",)}, None, id="no entities: undefined"),
        pytest.param("score(cost)", {}, None, id="no scores: undefined"),
        pytest.param("latency", {}, None, id="no times: undefined"),
    ],
)
def test_a_query_without_details(metric: str, gold: Mapping[str, Any], expected: float | None) -> None:
    """As a package may build it."""
    sample = Sample(query_id="q", **{"gains": {}, **gold})
    query = MatchedQuery(query_id="q", hits=(), found=(), ideal=(), retrieved=1, k=5, sample=sample)
    assert parse_metric(metric).per_query(query) == expected
