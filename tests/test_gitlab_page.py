"""docs/gitlab.md: its inputs are those of the component, its YAML is what the forges take, and its ten lines work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.forges.faults import Answer
from tests.forges.loopback_server import Handler, LoopbackServer, serving
from tests.scenario_calls import report_of

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "gitlab.md").read_text(encoding="utf-8")
INCLUDE, LOCKED, BITBUCKET, AZURE = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
SCHEMAS = [  # that of Azure takes a minute, and no number and no boolean
    pytest.param(INCLUDE, "gitlab-ci", id="the include"),
    pytest.param(LOCKED, "gitlab-ci", id="a pipeline that a branch cannot edit"),
    pytest.param(BITBUCKET, "bitbucket-pipelines", id="Bitbucket"),
]


def test_its_table_has_the_inputs_of_the_component() -> None:
    spec = next(iter(yaml.safe_load_all((ROOT / "templates" / "rankgate.yml").read_text())))
    table = PAGE.partition("| input | default | |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(spec["spec"]["inputs"])


@pytest.mark.parametrize(("text", "schema"), SCHEMAS)
def test_its_yaml_is_what_the_forge_takes(text: str, schema: str, tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yml"
    file.write_text(text)
    words = ["--builtin-schema", f"vendor.{schema}", str(file)]
    words += ["--data-transform", schema] if schema == "gitlab-ci" else []
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *words], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def bitbucket_script() -> list[str]:
    (step,) = yaml.safe_load(BITBUCKET)["pipelines"]["pull-requests"]["**"]
    return list(step["step"]["script"])


def azure_scripts() -> list[str]:
    return [step["script"] for step in yaml.safe_load(AZURE)["steps"] if "script" in step]


@pytest.mark.parametrize("script", ["\n".join(bitbucket_script()), *azure_scripts()])
def test_bash_reads_its_scripts(script: str) -> None:
    parsed = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (parsed.returncode, parsed.stderr) == (0, "")


class Comments(LoopbackServer):
    """What both APIs have in common as far as the ten lines go: a list, one more, and another text for one."""

    def __init__(self, key: str) -> None:
        super().__init__(self._respond)
        self.key = key
        self.kept: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str, str]] = []

    def _respond(self, handler: Handler, body: bytes) -> Answer:
        path = handler.path.partition("?")[0]
        self.asked.append((handler.command, path, handler.headers["Authorization"]))
        if handler.command == "POST":
            self.kept.append({"id": 7, "deleted": False, **json.loads(body)})
        elif handler.command in ("PUT", "PATCH"):
            changed = json.loads(body)
            found = self.kept[0]["comments"][0] if handler.command == "PATCH" else self.kept[0]
            found.update(changed)
        return Answer(200, {"Content-Type": "application/json"}, json.dumps({self.key: self.kept}).encode())


def run(script: str, folder: Path, **variables: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **variables}
    done = subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_ten_lines_for_bitbucket_keep_one_comment(tmp_path: Path) -> None:
    (script,) = [each for each in bitbucket_script() if "requests" in each]
    where = {"BITBUCKET_REPO_FULL_NAME": "acme/rag", "BITBUCKET_PR_ID": "3", "BITBUCKET_TOKEN": "secret"}
    server = Comments("values")
    with serving(server):
        for verdict in ("fail", "pass"):
            (tmp_path / "report.json").write_bytes(report_of(verdict))
            run(script.replace("https://api.bitbucket.org", server.url), tmp_path, **where)
    (comment,) = server.kept
    first, blank, *shown = comment["content"]["raw"].splitlines()
    assert (first, blank) == ("rankgate/verdict", "")
    assert all(line.startswith("    ") for line in shown), "of code nothing is read as Markdown"
    assert "PASS" in "\n".join(shown)
    assert {token for _, _, token in server.asked} == {"Bearer secret"}
    assert server.asked[-1][:2] == ("PUT", "/2.0/repositories/acme/rag/pullrequests/3/comments/7")


def test_the_ten_lines_for_azure_keep_one_comment(tmp_path: Path) -> None:
    (script,) = [each for each in azure_scripts() if "requests" in each]
    server = Comments("value")
    where = {"SYSTEM_TEAMPROJECTID": "rag", "BUILD_REPOSITORY_ID": "r-1", "SYSTEM_PULLREQUEST_PULLREQUESTID": "3"}
    where |= {"SYSTEM_COLLECTIONURI": f"{server.url}/acme/", "TOKEN": "secret"}
    with serving(server):
        for verdict in ("fail", "pass"):
            (tmp_path / "comment.md").write_text(f"{verdict}\n")
            run(script, tmp_path, **where)
    (thread,) = server.kept
    assert thread["comments"][0]["content"] == "**rankgate/verdict**\n\npass\n"
    path = "/acme/rag/_apis/git/repositories/r-1/pullRequests/3/threads/7/comments/1"
    assert server.asked[-1] == ("PATCH", path, "Bearer secret")
