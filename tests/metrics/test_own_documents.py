"""`match: {exclude_query_id: true}`: lists without the question's own document, every list, however it is read."""

import json
from pathlib import Path
from typing import Any

import pytest

import rankgate
from rankgate.errors import RankgateError
from rankgate.metrics.matching import By, Matching
from rankgate.metrics.scored_run import of_gold
from rankgate.model.values import Gold, Ranking, RunField, Sample
from rankgate.readers.formats import read_run

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

OWN = Matching(exclude_query_id=True)
ASKED = Gold(name="gold.jsonl", format="jsonl", samples={"q": Sample(query_id="q", gains={"a": 1.0})})


def read(line: dict[str, Any], how: Matching, needs: frozenset[RunField] = frozenset()) -> tuple[Ranking, Ranking]:
    """The ranking, carefully and quickly read."""
    Path("run.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    run = of_gold(read_run("run.jsonl", needs=needs), ASKED, how)
    assert run.quick
    with run.quick.opened() as reading:
        assert reading
        return next(iter(run.rankings)), next(reading[0])


@pytest.mark.parametrize(
    ("topk", "how", "expected"),
    [
        pytest.param(["q", "a", "b"], OWN, ["a", "b"], id="first"),
        pytest.param(["a", "q"], OWN, ["a"], id="last"),
        pytest.param(["q"], OWN, [], id="alone"),
        pytest.param(["a", "b"], OWN, ["a", "b"], id="not there"),
        pytest.param(["q#1", "a"], OWN, ["q#1", "a"], id="a chunk of it, by chunk"),
        pytest.param(
            ["q#1", "a", "q#2"], Matching(by=By.DOC, exclude_query_id=True), ["a"], id="its chunks, by document"
        ),
        pytest.param(
            [{"chunk_id": "7", "doc_id": "q"}, "a"],
            Matching(by=By.DOC, exclude_query_id=True),
            ["a"],
            id="a chunk that states its document",
        ),
        pytest.param(["q", "a"], Matching(), ["q", "a"], id="not asked for"),
    ],
)
def test_a_list(topk: list[Any], how: Matching, expected: list[str]) -> None:
    for ranking in read({"query_id": "q", "topk": topk}, how, how.needs):
        assert ranking.ids == expected
        assert ranking.details is None or len(ranking.details.items or expected) == len(expected)


def test_lists_beside_it() -> None:
    line = {"query_id": "q", "topk": ["q", "a"], "raw_topk": ["a", "q"], "rewrites": [{"topk": ["q"]}]}
    for ranking in read(line, OWN, frozenset({RunField.RAW, RunField.REWRITES})):
        assert ranking.details
        assert ranking.details.raw
        assert ranking.details.raw.ids == ["a"]
        assert [each.ids for each in ranking.details.rewrites or ()] == [[]]


GOLD = {f"q{n}": ["a"] for n in range(4)}
RUN = {query_id: [query_id, "a"] for query_id in GOLD}
GATE = {"name": "mrr", "threshold": 0.1}


def test_scores_of_a_check_and_in_python() -> None:
    plain = rankgate.check(GOLD, RUN, criteria={"gates": [GATE]})
    excluded = rankgate.check(GOLD, RUN, criteria={"gates": [GATE], "match": {"exclude_query_id": True}})
    assert [report.gates[0].measured.value for report in (plain, excluded)] == [0.5, 1.0]
    oddities = [report.explanation.oddities for report in (plain, excluded)]
    assert [each.self_first if each else 0 for each in oddities] == [4, 0]
    assert rankgate.score(GOLD, RUN, metrics="mrr", match=OWN)["mrr"] == 1.0


@pytest.mark.parametrize(
    ("run", "gold", "expected"),
    [
        pytest.param(RUN, GOLD, 4, id="all"),
        pytest.param({**RUN, "q0": ["a"]}, GOLD, 3, id="more than half"),
        pytest.param({**RUN, "q0": ["a"], "q1": ["a"]}, GOLD, 0, id="half"),
        pytest.param(RUN, {query_id: [query_id] for query_id in GOLD}, 0, id="where it is what is looked for"),
    ],
)
def test_a_note_where_most_lists_begin_with_it(run: Any, gold: Any, expected: int) -> None:
    report = rankgate.check(gold, run, criteria={"gates": [GATE]})
    assert (report.explanation.oddities.self_first if report.explanation.oddities else 0) == expected


def test_only_true_and_false() -> None:
    with pytest.raises(RankgateError, match="exclude_query_id"):
        rankgate.check(GOLD, RUN, criteria={"gates": [GATE], "match": {"exclude_query_id": "yes"}})
