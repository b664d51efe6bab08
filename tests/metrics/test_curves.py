"""recall_auc, worked by hand: recall at several cut-offs in one number."""

from collections.abc import Mapping
from math import log

import pytest
from tests.rows import each_row

from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.model.values import Ranking, Sample


def list_with(ranks: Mapping[int, str], length: int) -> list[str]:
    """A list of strangers with these ids at these ranks."""
    return [ranks.get(rank, f"x{rank}") for rank in range(1, length + 1)]


def value(metric: str, gains: Mapping[str, float], ids: list[str]) -> float | None:
    return parse_metric(metric).per_query(match(Sample(query_id="q", gains=gains), Ranking("q", ids)))


ONE = {"a": 1.0}
TWO = {"a": 1.0, "b": 1.0}
GRADED = {"a": 1.0, "b": 3.0}


@each_row(
    ("metric", "gains", "ids", "expected"),
    [
        pytest.param("recall_auc", ONE, list_with({1: "a"}, 20), 1, id="at the top: 1"),
        pytest.param("recall_auc", ONE, ["a"], 1, id="a list shorter than the grid: found is found"),
        pytest.param(
            "recall_auc", ONE, list_with({3: "a"}, 20), 1 - log(3) / 2 / log(20), id="rank 3: a triangle less"
        ),
        pytest.param("recall_auc", ONE, list_with({2: "a"}, 20), 1 - log(3) / 2 / log(20), id="rank 2 is as rank 3"),
        pytest.param(
            "recall_auc", ONE, list_with({20: "a"}, 20), log(2) / 2 / log(20), id="rank 20: the last triangle"
        ),
        pytest.param("recall_auc", ONE, list_with({21: "a"}, 30), 0, id="below the last cut-off"),
        pytest.param("recall_auc", ONE, [], 0, id="an empty list"),
        pytest.param(
            *("recall_auc", TWO, list_with({2: "a", 4: "b"}, 5)),
            (log(3) / 4 + 3 / 4 * log(5 / 3) + log(20 / 5)) / log(20),
            id="ranks 2 and 4: 0, 1/2, 1, 1, 1",
        ),
        pytest.param("recall_auc(grid=1/10)", ONE, list_with({10: "a"}, 10), 1 / 2, id="a grid of two: one triangle"),
        pytest.param("recall_auc(grid=5/10)", ONE, list_with({4: "a"}, 10), 1, id="a grid that begins at 5"),
        pytest.param(
            "recall_auc(grid=2/4/8)", ONE, list_with({3: "a"}, 10), 3 / 4, id="equal steps of the logarithm count alike"
        ),
        pytest.param("recall_auc(grid=1/2,rel=2)", GRADED, ["a", "b"], 1 / 2, id="from grade 2 on"),
        pytest.param("recall_auc", {}, ["a"], None, id="no judgment: undefined"),
        pytest.param("recall_auc", {"a": 0.0}, ["a"], None, id="nothing relevant: undefined"),
    ],
)
def test_recall_auc(metric: str, gains: Mapping[str, float], ids: list[str], expected: float | None) -> None:
    assert value(metric, gains, ids) == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_the_area_is_at_most_1_whatever_rounding_makes_of_it() -> None:
    assert value("recall_auc(grid=1/2/7/21/36/37)", ONE, ["a"]) == 1  # the sum is the next number above 1
