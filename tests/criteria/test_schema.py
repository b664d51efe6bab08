"""The JSON Schemas for editors: they agree with the loaders, on the files for SchemaStore and on what is nearly right.

`tests/schemastore/` has these files in the folders of SchemaStore's own repository: `test` and `negative_test`, and in
each a folder for each schema.
"""

from __future__ import annotations

import copy
import fnmatch
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError
from tests.rows import each_row

from rankgate.criteria import DEFAULT_PATHS, WAIVERS, load_criteria
from rankgate.criteria.model import Criteria
from rankgate.criteria.parts import Part
from rankgate.criteria.waivers import WaiverFile, load_waivers
from rankgate.errors import RankgateError
from rankgate.readers.yaml_text import load_yaml

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "schemastore"
# The schema's name at SchemaStore → its file here, its model, its loader.
SCHEMAS: dict[str, tuple[str, type[Part], Callable[[str], object]]] = {
    "rankgate-ship-criteria": ("ship-criteria", Criteria, load_criteria),
    "rankgate-waivers": ("ship-waivers", WaiverFile, load_waivers),
}
INSTEAD: list[Any] = json.loads('[null, true, 0, -1, 1.0, 0.75, 2, "", "x", "0.5", [], ["x"], [1], {}, {"x": 1}]')
GONE = object()  # in place of a value: the key is taken away


def schema(name: str) -> Any:
    return json.loads((ROOT / "config" / f"{SCHEMAS[name][0]}.schema.json").read_text(encoding="utf-8"))


def written(file: Path) -> Any:
    return load_yaml(file.read_text(encoding="utf-8"), file.name).value


def loads(name: str, file: Path) -> bool:
    try:
        SCHEMAS[name][2](str(file))
    except RankgateError:
        return False
    return True


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_valid_and_named_as_at_schemastore(name: str) -> None:
    jsonschema.Draft7Validator.check_schema(schema(name))
    assert schema(name)["$id"] == f"https://www.schemastore.org/{name}.json"


@each_row("file", sorted(FILES.rglob("*.yaml")), ids=lambda file: "/".join(file.parts[-3:]))
def test_schema_and_loader_agree_on_the_files_for_schemastore(file: Path) -> None:
    name, right = file.parent.name, file.parts[-3] == "test"
    assert jsonschema.Draft7Validator(schema(name)).is_valid(written(file)) == right
    assert loads(name, file) == right


def test_every_key_is_in_a_file_for_schemastore() -> None:
    """So that below every key is changed."""
    files = [written(file) for file in (FILES / "test").rglob("*.yaml")]
    used = {key for file in files for path, _ in places(file) for key in path}
    definitions = [part for name in SCHEMAS for part in (schema(name), *schema(name)["$defs"].values())]
    known = {key for part in definitions for key in part.get("properties", {})}
    assert known - used == set()


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value of a file with its path, the whole first."""
    yield at, value
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))


def parts(file: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Where to change something in a file with little else: below each key, and in each entry of the list."""
    entries, *others = file  # gates or waivers come first
    last = file[entries][-1:]
    named = {key: value for key, value in file.items() if key == "inputs"}
    yield (entries,), {entries: last}
    for entry in file[entries][:-1]:
        yield (entries, 0), {entries: [entry, *last], **named}
    for key in others:
        yield (key,), {entries: last, key: file[key]}


def nearly_right(file: Any, below: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """The file with one value replaced or taken away, or one key too many."""
    for path, value in places(file):
        if path[: len(below)] != below:
            continue
        more = [{**value, "x": 1}] if isinstance(value, dict) else []
        for instead in (*INSTEAD, *more, GONE):
            around = changed = copy.deepcopy(file)
            for key in path[:-1]:
                around = around[key]
            around[path[-1]] = instead
            if instead is GONE:
                del around[path[-1]]
            yield f"{path} {instead!r}", changed


def refused_for(kind: type[Part], value: Any) -> set[str]:
    """The kinds of what is wrong with the structure, apart from what it means."""
    try:
        kind.model_validate(value, context={"at": "file.yaml"})
    except ValidationError as error:
        # A list is also too short where all its entries are refused.
        errors = [each for each in error.errors() if each["type"] != "too_short" or not each["input"]]
        return {each["type"] for each in errors} - {"meaning"}
    return set()


@pytest.mark.full
@pytest.mark.parametrize("name", SCHEMAS)
def test_over_every_small_change_the_schema_refuses_what_the_loader_refuses_for_its_structure(
    name: str, tmp_path: Path
) -> None:
    """Looser in one point, that docs/criteria.md names: for JSON Schema 5.0 is a whole number."""
    validator, changed, disagreed = jsonschema.Draft7Validator(schema(name)), tmp_path / "file.yaml", []
    for right in sorted((FILES / "test" / name).glob("*.yaml")):
        for below, part in parts(written(right)):
            changed.write_text(json.dumps(part), encoding="utf-8")
            assert validator.is_valid(part)
            assert loads(name, changed), part
            for what, value in nearly_right(part, below):
                valid, kinds = validator.is_valid(value), refused_for(SCHEMAS[name][1], value)
                looser = what.endswith(" 1.0") and kinds <= {"int_type", "string_type"}
                changed.write_text(json.dumps(value), encoding="utf-8")
                if (valid and kinds and not looser) or (not valid and not kinds and loads(name, changed)):
                    disagreed.append(f"{right.name}: {what}: the schema {'takes' if valid else 'refuses'} it")
    assert disagreed == []


def test_the_entries_for_the_catalog_match_the_files_that_are_looked_for() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [block] = [each for each in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if "fileMatch" in each]
    entries = {entry["url"]: entry for entry in json.loads(f"[{block}]")}
    assert set(entries) == {schema(name)["$id"] for name in SCHEMAS}
    criteria, waivers = (entries[schema(name)["$id"]]["fileMatch"] for name in SCHEMAS)
    for path in (*DEFAULT_PATHS, WAIVERS):  # a pattern without a slash is for a file of that name in any folder
        fits = [pattern for pattern in criteria + waivers if fnmatch.fnmatchcase(Path(path).name, pattern)]
        assert fits == (waivers if path == WAIVERS else criteria)
