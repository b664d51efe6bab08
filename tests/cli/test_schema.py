"""`rankgate schema`: what an editor checks criteria by agrees with the file in config/ and with what loads."""

import json
from pathlib import Path
from typing import Any

import pydantic
import pytest
import yaml

from rankgate.cli import main
from rankgate.criteria import load_criteria
from rankgate.errors import RankgateError

ROOT = Path(__file__).parents[2]
WRITTEN_BY = (2, 14)  # the files in config/; older releases print the same with other words for some of it
SHORTEST = "gates: [{name: mrr, threshold: 0.5}]\n"
BLESSED = """\
gates:
  - name: retrieval_recall_at_5
    threshold: 0.85        # absolute floor
    regression_max: 0.03   # may not drop more than 3pp from baseline
    severity: error        # blocks merge
  - name: retrieval_mrr
    threshold: 0.62
    regression_max: 0.05
    severity: warning      # PR comment, no block
"""


@pytest.fixture
def schema(capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["schema"]) == 0
    return json.loads(capsys.readouterr().out)


def plain(schema: Any) -> Any:
    """The same schema whatever pydantic wrote it: before 2.9 a reference beside other keys is wrapped in `allOf`."""
    if isinstance(schema, dict):
        inner = {key: plain(value) for key, value in schema.items() if key != "title"}
        return {**inner.pop("allOf", [{}])[0], **inner}
    return [plain(value) for value in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize(("options", "file"), [([], "ship-criteria"), (["--of", "waivers"], "ship-waivers")])
def test_the_schema_in_config_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], options: list[str], file: str
) -> None:
    assert main(["schema", *options]) == 0
    printed = capsys.readouterr().out
    kept = (ROOT / "config" / f"{file}.schema.json").read_text(encoding="utf-8")
    assert plain(json.loads(printed)) == plain(json.loads(kept))
    if tuple(map(int, pydantic.VERSION.split(".")[:2])) >= WRITTEN_BY:
        assert printed == kept


def test_every_key_of_a_waiver_but_its_segment_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--of", "waivers"]) == 0
    waiver = json.loads(capsys.readouterr().out)["$defs"]["Waiver"]
    assert set(waiver["required"]) == {"gate", "up_to", "expires", "issue", "reason", "by"}
    assert waiver["additionalProperties"] is False


def test_the_schema_is_a_schema(schema: Any) -> None:
    validator = pytest.importorskip("jsonschema").Draft7Validator
    assert schema["$schema"] == validator.META_SCHEMA["$id"]
    validator.check_schema(schema)


def test_every_key_is_explained(schema: Any) -> None:
    shapes = [shape.get("properties", {}) for shape in (schema, *schema["$defs"].values())]
    assert {name for keys in shapes for name in keys} >= {"gates", "inputs", "default_k", "name", "threshold", "path"}
    assert [name for keys in shapes for name, key in keys.items() if not key.get("description")] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(BLESSED, id="two gates"),
        pytest.param(SHORTEST, id="the shortest"),
        pytest.param((ROOT / "config" / "ship-criteria.yaml").read_text(encoding="utf-8"), id="config"),
        pytest.param((ROOT / "src/rankgate/cli/example/ship-criteria.yaml").read_text(encoding="utf-8"), id="demo"),
        pytest.param(
            SHORTEST + "inputs: {gold: g.yaml, run: {path: r.txt, format: trec}}\n", id="inputs of both kinds"
        ),
        pytest.param(SHORTEST + "default_k: 10\n", id="a default k"),
        pytest.param(
            SHORTEST + "match: {by: doc, separator: '-'}\nbaseline: {max_age: {days: 3}}\n",
            id="parts with keys of their own",
        ),
        pytest.param(
            SHORTEST + "match: text\nevidence: proven_safe\nbaseline: {max_age: {commits: 3}}\n", id="short forms"
        ),
        pytest.param(
            "gates: [{name: mrr, must_pass: [q1, 7], segments: {by: lang, threshold: 0.5}}, {name: map, segments: "
            "[{by: [lang, topic], only: {'pt × law': {threshold: 0.5}}}]}]\n",
            id="one or more segments",
        ),
        pytest.param(
            SHORTEST + "inputs: {run: {path: r, map: {query_id: q, items: hits}}, waivers: w.yaml}\n", id="a map"
        ),
    ],
)
def test_what_loads_is_valid(schema: Any, tmp_path: Path, text: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    file = tmp_path / "ship-criteria.yaml"
    file.write_text(text, encoding="utf-8")
    assert len(load_criteria(file.as_posix()).gates) >= 1
    jsonschema.validate(yaml.safe_load(text), schema)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("gates: []\n", id="no gate"),
        pytest.param("default_k: 5\n", id="no gates at all"),
        pytest.param("gates: [{threshold: 0.5}]\n", id="a gate without a name"),
        pytest.param("gates: [{name: '', threshold: 0.5}]\n", id="an empty name"),
        pytest.param("gates: [{name: mrr, treshold: 0.5}]\n", id="an unknown key of a gate"),
        pytest.param(SHORTEST + "input: {gold: gold.yaml}\n", id="an unknown key"),
        pytest.param('gates: [{name: mrr, threshold: "0.85"}]\n', id="a number in quotes"),
        pytest.param("gates: [{name: mrr, threshold: true}]\n", id="true for a number"),
        pytest.param("gates: [{name: mrr, regression_max: -0.1}]\n", id="a negative drop"),
        pytest.param("gates: [{name: mrr, threshold: 0.5, severity: fatal}]\n", id="an unknown severity"),
        pytest.param(SHORTEST + "inputs: {gold: 7}\n", id="a number for a path"),
        pytest.param(SHORTEST + "inputs: {gold: {format: yaml}}\n", id="an input without a path"),
        pytest.param(SHORTEST + "default_k: 0\n", id="k below 1"),
        pytest.param(SHORTEST + "default_k: 2.5\n", id="a broken k"),
        pytest.param(SHORTEST + "name: mine\n", id="a name of the file"),
        pytest.param("gates: [{name: mrr, threshold: 0.5, line: 3}]\n", id="a gate's line"),
        pytest.param(SHORTEST + "match: document\n", id="a matching of no kind"),
        pytest.param("gates: [{name: mrr, segments: {by: [5], threshold: 1}}]\n", id="segments by a number"),
        pytest.param(SHORTEST + "inputs: {gold: {path: g, map: {}}}\n", id="a map of a gold set"),
        pytest.param(SHORTEST + "inputs: {run: {path: r, map: {items: i}}}\n", id="a map without queries"),
    ],
)
def test_what_the_schema_refuses_does_not_load(schema: Any, tmp_path: Path, text: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    file = tmp_path / "ship-criteria.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), schema)
    with pytest.raises(RankgateError):
        load_criteria(file.as_posix())
