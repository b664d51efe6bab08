"""docs/workflows.md: what it says to type and to send is what there is."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rankgate.cli.init import parser
from rankgate.workflows.job import APP_KEY, CHECK, LABEL

PAGE = (Path(__file__).parents[1] / "docs" / "workflows.md").read_text(encoding="utf-8")
[RULESET] = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def test_it_names_check_label_and_key_as_they_are() -> None:
    assert f"gh label create {shlex.quote(LABEL)} " in PAGE
    assert f"`gh secret set {APP_KEY} < private-key.pem`" in PAGE
    assert f"The check is called `{CHECK}`" in PAGE
    [required] = RULESET["rules"][0]["parameters"]["required_status_checks"]
    assert required["context"] == CHECK


def test_its_commands_are_understood() -> None:
    commands = re.findall(r"^rankgate init (.*)$", PAGE, re.MULTILINE)
    assert len(commands) == 4
    for words in commands:
        parser().parse_args(shlex.split(words, comments=True))


@pytest.mark.parametrize("change", [{}, {"enforcement": "strict"}], ids=["as it stands", "with a mistake"])
def test_github_would_take_the_ruleset(node_modules: Path, change: dict[str, str]) -> None:
    description = node_modules / "@octokit" / "openapi" / "generated" / "api.github.com.json"
    whole: Any = json.loads(description.read_text(encoding="utf-8"))
    post = whole["paths"]["/repos/{owner}/{repo}/rulesets"]["post"]
    schema = {**post["requestBody"]["content"]["application/json"]["schema"], "components": whole["components"]}
    assert jsonschema.Draft202012Validator(schema).is_valid(RULESET | change) == (not change)
