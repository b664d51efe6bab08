"""judged, holes and negatives_above, worked by hand."""

from collections.abc import Mapping, Sequence

import pytest

from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.model.values import Ranking, Sample

GAINS = {"right": 2.0, "also": 1.0, "known wrong": 0.0, "harmful": -1.0}


def value(metric: str, ids: Sequence[str], gains: Mapping[str, float], *negatives: str) -> float | None:
    wanted = parse_metric(metric)
    sample = Sample(query_id="q", gains=gains, negatives=negatives)
    return wanted.per_query(match(sample, Ranking("q", list(ids)), needs=wanted.needs))


@pytest.mark.parametrize(
    ("ids", "judged"),
    [
        pytest.param(["right", "x", "also", "y", "z"], {"@5": 2 / 5, "@1": 1, "@2": 1 / 2}, id="two of five"),
        pytest.param(["known wrong", "x"], {"@5": 1 / 2, "@1": 1}, id="gain 0 is a judgment"),
        pytest.param(["harmful", "x"], {"@5": 1 / 2}, id="so is a gain below 0"),
        pytest.param(["right"], {"@5": 1, "@all": 1, "@k": 1}, id="a short list: by what it holds"),
        pytest.param(["x", "y"], {"@5": 0}, id="nothing judged"),
        pytest.param(["x", "right"], {"@1": 0, "@2": 1 / 2}, id="judged below the cut-off does not count"),
        pytest.param([], {"@5": None, "@all": None}, id="an empty list: undefined"),
    ],
)
def test_judged_and_holes(ids: Sequence[str], judged: Mapping[str, float | None]) -> None:
    for suffix, share in judged.items():
        assert value(f"judged{suffix}", ids, GAINS) == share
        assert value(f"holes{suffix}", ids, GAINS) == (None if share is None else pytest.approx(1 - share))


def test_without_judgments_every_place_is_a_hole() -> None:
    assert (value("judged@5", ["x"], {}), value("holes@5", ["x"], {})) == (0, 1)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        pytest.param(["right", "wrong"], 0, id="below the first relevant one"),
        pytest.param(["wrong", "right"], 1, id="above it"),
        pytest.param(["also", "wrong", "right"], 0, id="any relevant one above is enough"),
        pytest.param(["x", "wrong"], 1, id="no relevant one at all"),
        pytest.param(["x", "y", "z", "wrong", "u", "right"], 1, id="the relevant one stands below the cut-off"),
        pytest.param(["x", "y", "z", "u", "v", "wrong"], 0, id="the negative stands below the cut-off"),
        pytest.param(["known wrong", "harmful"], 0, id="what is judged wrong is not what one was warned of"),
        pytest.param(["x", "y"], 0, id="neither is there"),
        pytest.param([], 0, id="an empty list shows nothing wrong"),
    ],
)
def test_negatives_above(ids: Sequence[str], expected: float) -> None:
    assert value("negatives_above@5", ids, GAINS, "wrong", "wrong too") == expected


@pytest.mark.parametrize(
    ("gains", "negatives"),
    [
        pytest.param(GAINS, (), id="no negatives"),
        pytest.param({}, ("wrong",), id="no judgment"),
        pytest.param({"known wrong": 0.0}, ("wrong",), id="nothing relevant"),
    ],
)
def test_negatives_above_is_undefined(gains: Mapping[str, float], negatives: tuple[str, ...]) -> None:
    assert value("negatives_above@5", ["wrong", "right"], gains, *negatives) is None
