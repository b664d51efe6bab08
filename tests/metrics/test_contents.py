"""Metrics of texts, documents and versions, worked by hand."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.rows import each_row

from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.model.values import Details, Item, Ranking, Sample


def value(metric: str, items: Sequence[Item], **gold: Any) -> float | None:
    """The metric of items that are called c1, c2, … by rank; nothing is relevant, which these do not ask."""
    return of(metric, {f"c{rank}": item for rank, item in enumerate(items, start=1)}, **gold)


def of(metric: str, items: dict[str, Item], **gold: Any) -> float | None:
    wanted = parse_metric(metric)
    ranking = Ranking("q", list(items), 0, Details(items=list(items.values())))
    return wanted.per_query(match(Sample(query_id="q", gains={}, **gold), ranking, needs=wanted.needs))


def texts(*written: str | None) -> list[Item]:
    return [Item(text=text) for text in written]


@each_row(
    ("metric", "items", "answers", "expected"),
    [
        pytest.param("containment@5", texts("x", "It is 30 days."), ("30 days",), 1, id="stands in the second text"),
        pytest.param("containment@1", texts("x", "It is 30 days."), ("30 days",), 0, id="stands below the cut-off"),
        pytest.param("containment@all", texts("x", "It is 30 days."), ("30 days",), 1, id="the whole list"),
        pytest.param("containment@5", texts("THIRTY Days"), ("Thirty days",), 1, id="case is folded"),
        pytest.param("containment@5", texts("die Straße"), ("STRASSE",), 1, id="case is folded as Unicode has it"),
        pytest.param("containment@5", texts("it is 30\n\t days"), ("30  days ",), 1, id="white space is folded"),
        pytest.param("containment@5", texts("it is 30", "days"), ("30 days",), 0, id="not across two texts"),
        pytest.param("containment@5", texts("a month"), ("30 days", "a month"), 1, id="several answers: any"),
        pytest.param("containment@5", texts("two weeks"), ("30 days", "a month"), 0, id="several answers: none"),
        pytest.param(
            "containment@5", texts(None, "30 days"), ("30 days",), 1, id="an item without a text is passed over"
        ),
        pytest.param("containment@5", texts(None, ""), ("30 days",), 0, id="no text at all in this list"),
        pytest.param("containment@5", [], ("30 days",), 0, id="an empty list contains nothing"),
        pytest.param("containment@5", texts("30 days"), (), None, id="no answer in the gold: undefined"),
    ],
)
def test_containment(metric: str, items: list[Item], answers: tuple[str, ...], expected: float | None) -> None:
    assert value(metric, items, answers=answers) == expected


@pytest.mark.parametrize(
    ("items", "cutoff", "distinct"),
    [
        pytest.param({"a": Item(), "b": Item(), "c": Item()}, "@5", 3, id="ids without a separator are documents"),
        pytest.param({"a#1": Item(), "a#2": Item(), "b#1": Item()}, "@5", 2, id="the id up to the separator"),
        pytest.param({"x": Item(doc_id="a"), "y": Item(doc_id="a")}, "@5", 1, id="as the run says"),
        pytest.param({"a#1": Item(doc_id="b"), "a#2": Item(doc_id="c")}, "@5", 2, id="what the run says goes first"),
        pytest.param({"a#1": Item(), "x": Item(doc_id="a")}, "@5", 1, id="said and read from the id are the same"),
        pytest.param({"a#1": Item(), "a#2": Item(), "b#1": Item()}, "@2", 1, id="up to the cut-off"),
        pytest.param({"a#1": Item(), "a#2": Item(), "b#1": Item()}, "@all", 2, id="the whole list"),
        pytest.param({"#1": Item(), "#2": Item()}, "@5", 2, id="nothing before the separator: the id is the document"),
        pytest.param({}, "@5", None, id="an empty list: undefined"),
    ],
)
def test_distinct_docs_and_redundancy(items: dict[str, Item], cutoff: str, distinct: int | None) -> None:
    length = min(len(items), int(cutoff[1:]) if cutoff != "@all" else len(items))
    assert of(f"distinct_docs{cutoff}", items) == distinct
    expected = None if distinct is None else pytest.approx(1 - distinct / length)
    assert of(f"redundancy{cutoff}", items) == expected


SENTENCE = "refunds take thirty days from purchase"  # six words


@each_row(
    ("metric", "items", "expected"),
    [
        pytest.param("novelty@5", texts(SENTENCE), 1, id="the first is always new"),
        pytest.param("novelty@5", texts(SENTENCE, SENTENCE), 1 / 2, id="a repetition is not"),
        pytest.param("novelty@5", texts(SENTENCE, "ask our support team"), 1, id="nothing in common"),
        pytest.param(
            "novelty@5", texts(SENTENCE, SENTENCE.upper() + "!"), 1 / 2, id="case and signs do not make it new"
        ),
        pytest.param("novelty@5", texts(SENTENCE, "thirty days"), 1 / 2, id="a part of what stands above"),
        pytest.param("novelty@5", texts("thirty days", SENTENCE), 1, id="more than what stands above"),
        pytest.param(
            "novelty@5",
            texts(SENTENCE, "refunds take thirty days today"),
            1 / 2,
            id="4 of 5 words: at the threshold of 0.8",
        ),
        pytest.param(
            "novelty(threshold=0.81)@5",
            texts(SENTENCE, "refunds take thirty days today"),
            1,
            id="below a higher threshold",
        ),
        pytest.param(
            "novelty(threshold=0.5)@5", texts(SENTENCE, "thirty apples"), 1 / 2, id="half, at a threshold of 0.5"
        ),
        pytest.param(
            "novelty(threshold=1)@5", texts(SENTENCE, "thirty days ago"), 1, id="threshold 1: only a whole repeats"
        ),
        pytest.param("novelty(threshold=1)@5", texts(SENTENCE, "days thirty"), 1 / 2, id="threshold 1: in any order"),
        pytest.param(
            *("novelty@5", texts("thirty days", "from purchase", "thirty days from purchase"), 1),
            id="each alone says half of it: overlap is with one text, not with all together",
        ),
        pytest.param(
            "novelty@5", texts(SENTENCE, "x y", SENTENCE), 2 / 3, id="every text above counts, not only the last one"
        ),
        pytest.param("novelty@1", texts(SENTENCE, SENTENCE), 1, id="up to the cut-off"),
        pytest.param("novelty@5", texts(None, SENTENCE, ""), 1, id="items without a text are left out"),
        pytest.param("novelty@5", texts(None, ""), None, id="no text at all: undefined"),
        pytest.param("novelty@5", [], None, id="an empty list: undefined"),
    ],
)
def test_novelty(metric: str, items: list[Item], expected: float | None) -> None:
    assert value(metric, items) == (None if expected is None else pytest.approx(expected))


def versions(*days: str | None) -> list[Item]:
    return [Item(version=day) for day in days]


@pytest.mark.parametrize(
    ("metric", "items", "as_of", "expected"),
    [
        pytest.param("freshness@5", versions("2025-05-31", "2025-06-02"), "2025-06-01", 1 / 2, id="earlier and later"),
        pytest.param("freshness@5", versions("2025-06-01"), "2025-06-01", 1, id="the day itself is fresh"),
        pytest.param("freshness@5", versions("2024-12-31"), "2025-01-01", 1, id="days compare across years"),
        pytest.param("freshness@5", versions(None, "2025-05-31"), "2025-06-01", 1 / 2, id="no version is not fresh"),
        pytest.param("freshness@1", versions("2025-06-02", "2025-05-31"), "2025-06-01", 0, id="up to the cut-off"),
        pytest.param("freshness@5", [], "2025-06-01", None, id="an empty list: undefined"),
        pytest.param("freshness@5", versions("2025-05-31"), None, None, id="no as_of: undefined"),
    ],
)
def test_freshness(metric: str, items: list[Item], as_of: str | None, expected: float | None) -> None:
    assert value(metric, items, as_of=as_of) == expected
