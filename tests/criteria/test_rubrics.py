"""`judge.rubrics`: criteria in words, and gates on them."""

from pathlib import Path

import pytest

from rankgate.criteria import load_criteria
from rankgate.criteria.model import parse_criteria
from rankgate.errors import RankgateError
from rankgate.gates.warnings import UnusedRubric, rubric_facts

JUDGE = {"endpoint": "http://localhost:1/v1", "model": "m-2026-01-01"}


@pytest.mark.parametrize(
    ("gate", "rubrics", "message"),
    [
        pytest.param("rubric(cites)", {"cites": "It names the policy."}, None, id="known"),
        pytest.param(
            "rubric(cite)", {"cites": "It names the policy."}, "no rubric 'cite'; did you mean 'cites'?", id="near"
        ),
        pytest.param("rubric(cites)", {}, "no rubric 'cites'; write judge: {rubrics: {cites: TEXT}}", id="none there"),
        pytest.param("rubric", {"cites": "x"}, "rubric needs its criterion; write rubric(CRITERION)", id="no name"),
        pytest.param("rubric(cites)", {"Cites It": "x"}, "a rubric's name has small letters", id="a name with blanks"),
        pytest.param("rubric(cites)", {"cites": ""}, "judge.rubrics.cites", id="no text"),
    ],
)
def test_a_gate_is_on_a_rubric_that_is_there(gate: str, rubrics: dict[str, str], message: str | None) -> None:
    written = {"judge": {**JUDGE, "rubrics": rubrics}, "gates": [{"name": gate, "regression_max": 0.1}]}
    if message is None:
        assert parse_criteria(written).judge is not None
        return
    with pytest.raises(RankgateError) as caught:
        parse_criteria(written)
    assert message in str(caught.value)


def test_a_rubric_without_a_gate_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "gates: [{name: rubric(a), regression_max: 0.1}]\n"
        'judge: {endpoint: "http://localhost:1/v1", model: m-2026-01-01, rubrics: {a: One., b: Two.}}\n'
    )
    assert rubric_facts(load_criteria(str(path))) == [UnusedRubric("b")]
