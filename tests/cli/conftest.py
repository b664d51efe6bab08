"""What the tests of commands share."""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path

import jsonschema
import pytest

from rankgate.cli.output import as_json
from rankgate.cli.schema import output_schema

# Where JSON is printed, and by which schemas.
PRINTED = {
    "baseline_accept": ["baseline-accept"],
    "baseline": ["baseline-show", "baseline-history", "baseline-prune", "baseline-verify"],
    "compare": ["compare"],
    "explain": ["explain"],
    "judge": ["judge"],
    "judge_calibrate": ["judge-calibrate"],
    "metrics": ["metrics"],
    "score": ["score"],
}


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """What checks an output by `rankgate schema --of NAME`."""
    return jsonschema.Draft202012Validator(output_schema(name))


@pytest.fixture(autouse=True)
def every_json_that_a_test_prints_is_as_its_schema_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(names: list[str], value: object) -> str:
        printed = json.loads(as_json(value))
        wrong = {name: [error.message for error in validator(name).iter_errors(printed)] for name in names}
        assert [] in wrong.values(), wrong
        return as_json(value)

    for module, names in PRINTED.items():
        monkeypatch.setattr(f"rankgate.cli.{module}.as_json", partial(checked, names))


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: it holds what the test's module lists as PROJECT, texts or bytes by file name."""
    for name, content in request.module.PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    monkeypatch.chdir(tmp_path)
    return tmp_path
