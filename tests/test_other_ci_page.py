"""docs/other-ci.md and docs/pipelines: the YAML is what the forges take, and its lines of curl keep one comment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml
from tests.forges.faults import Answer
from tests.forges.loopback_server import Handler, LoopbackServer, serving
from tests.repositories import commit, git

DOCS = Path(__file__).parents[1] / "docs"
(GITLAB,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "other-ci.md").read_text(encoding="utf-8"), re.DOTALL)
BITBUCKET, AZURE = (
    (DOCS / "pipelines" / f"{forge}-pipelines.yml").read_text(encoding="utf-8") for forge in ("bitbucket", "azure")
)


@pytest.mark.full
@pytest.mark.parametrize(  # the schema of Azure takes a minute, and no number and no boolean
    ("text", "words"),
    [
        pytest.param(GITLAB, ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"], id="GitLab"),
        pytest.param(BITBUCKET, ["vendor.bitbucket-pipelines"], id="Bitbucket"),
    ],
)
def test_its_yaml_is_what_the_forge_takes(text: str, words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yml"
    file.write_text(text)
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *words, str(file)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


class Comments(LoopbackServer):
    """What the three APIs have in common as far as curl goes: a list, one more, and another text for one."""

    def __init__(self, key: str | None) -> None:
        super().__init__(self._respond)
        self.key = key
        self.kept: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str, str | None]] = []

    def _respond(self, handler: Handler, body: bytes) -> Answer:
        token = handler.headers["Authorization"] or handler.headers["PRIVATE-TOKEN"]
        self.asked.append((handler.command, handler.path.partition("?")[0], token))
        if handler.command != "GET":
            fields = json.loads(body) if body[:1] == b"{" else {"body": parse_qs(body.decode())["body"][0]}
            if handler.command == "POST":
                self.kept.append({"id": 7, "deleted": False, **fields})
            else:
                (self.kept[0]["comments"][0] if handler.command == "PATCH" else self.kept[0]).update(fields)
        found = {self.key: self.kept} if self.key else self.kept
        return Answer(200, {"Content-Type": "application/json"}, json.dumps(found).encode())


def scripts(text: str) -> list[str]:
    """All lines of shell in a pipeline."""
    found = yaml.safe_load(text)
    if "pipelines" in found:
        found = found["pipelines"]["pull-requests"]["**"][0]["step"]
    steps = found.get("retrieval gate", found)
    return (
        list(steps["script"]) if "script" in steps else [each["script"] for each in steps["steps"] if "script" in each]
    )


# Of each its pipeline, the key of its list of comments, what its jobs know, and the last request.
FORGES = [
    pytest.param(
        GITLAB,
        None,
        {"CI_API_V4_URL": "URL/api/v4", "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "3"},
        ("PUT", "/api/v4/projects/5/merge_requests/3/notes/7", "secret"),
        id="GitLab",
    ),
    pytest.param(
        BITBUCKET,
        "values",
        {"BITBUCKET_REPO_FULL_NAME": "acme/rag", "BITBUCKET_PR_ID": "3"},
        ("PUT", "/2.0/repositories/acme/rag/pullrequests/3/comments/7", "Bearer secret"),
        id="Bitbucket",
    ),
    pytest.param(
        AZURE,
        "value",
        {
            "SYSTEM_COLLECTIONURI": "URL/acme/",
            "SYSTEM_TEAMPROJECTID": "rag",
            "BUILD_REPOSITORY_ID": "r-1",
            "SYSTEM_PULLREQUEST_PULLREQUESTID": "3",
        },
        ("PATCH", "/acme/rag/_apis/git/repositories/r-1/pullRequests/3/threads/7/comments/1", "Bearer secret"),
        id="Azure DevOps",
    ),
]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(("text", "key", "variables", "last"), FORGES)
def test_its_lines_of_curl_keep_one_comment(
    text: str, key: str | None, variables: dict[str, str], last: tuple[str, str, str], tmp_path: Path
) -> None:
    (script,) = [each for each in scripts(text) if "curl" in each]
    server = Comments(key)
    with serving(server):
        for verdict in ("fail", "pass"):
            for name in ("comment.md", "check.txt"):
                (tmp_path / name).write_text(f"{verdict}\n/merge\n")
            done = run(script, tmp_path, server, variables)
            assert (done.returncode, done.stderr) == (0, "")
            assert "not posted" not in done.stdout
    (comment,) = server.kept
    written = comment.get("body") or comment.get("content", {}).get("raw") or comment["comments"][0]["content"]
    first, blank, *shown = written.splitlines()
    assert (first, blank) == ("rankgate/verdict", "")
    assert [line.strip() for line in shown] == ["pass", "/merge"]
    assert text == AZURE or not re.search("^/", written, re.MULTILINE), "no line is a command"
    assert server.asked[-1] == last
    assert {token for _, _, token in server.asked} == {last[2]}


def run(script: str, folder: Path, server: Comments, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A job's script, with what the forge tells it."""
    given = {name: value.replace("URL", server.url) for name, value in variables.items()}
    given |= dict.fromkeys(("RANKGATE_GITLAB_TOKEN", "BITBUCKET_TOKEN", "TOKEN"), "secret")
    given |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "no_proxy": "127.0.0.1"}
    command = ["bash", "-ec", script.replace("https://api.bitbucket.org", server.url)]
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


CRITERIA = """\
gates: [{name: recall@5, threshold: 0.9, regression_max: 0.03}]
inputs: {gold: gold.yaml, run: run.jsonl, baseline: baseline}
retriever: {function: my_app.search:retrieve}
"""


@pytest.fixture
def merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone at the merge of a change that loses the only document; nobody has recorded its run."""
    clone = tmp_path / "clone"
    (clone / "my_app").mkdir(parents=True)
    monkeypatch.chdir(clone)
    git("init", "--quiet", "--initial-branch", "main")
    search = clone / "my_app" / "search.py"
    search.write_text("def retrieve(question):\n    return ['doc-3']\n")
    (clone / "gold.yaml").write_text("samples: [{id: q-1, input: refunds, expected_output: [doc-3]}]")
    (clone / "ship-criteria.yaml").write_text(CRITERIA)
    (clone / ".gitignore").write_text("run.jsonl\n")
    for words in ("check --record", "baseline accept"):
        subprocess.run([sys.executable, "-m", "rankgate", *words.split()], check=True, capture_output=True)
    commit()
    git("init", "--quiet", "--bare", "../shared")
    git("remote", "add", "origin", "../shared")
    git("push", "--quiet", "origin", "main")
    git("switch", "--quiet", "--create", "change")
    search.write_text("def retrieve(question):\n    return ['doc-1']\n")
    (clone / "run.jsonl").unlink()
    commit()
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", "--message", "merge", "change")
    return clone


@pytest.mark.full
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(("text", "key", "variables", "last"), FORGES)
def test_a_job_runs_from_its_first_line_to_its_last_and_fails(
    text: str, key: str | None, variables: dict[str, str], last: tuple[str, str, str], merge: Path
) -> None:
    base = git("rev-parse", "HEAD^1")
    known = {**variables, "CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "BITBUCKET_PR_DESTINATION_BRANCH": "main"}
    jobs = ["\n".join(scripts(text))] if text != AZURE else scripts(text)
    server = Comments(key)
    with serving(server):
        done = [run(re.sub(r"^ *pip install .*$", "", job, flags=re.MULTILINE), merge, server, known) for job in jobs]
    assert [each.returncode for each in done] == [1, 0][: len(jobs)], done
    assert "not posted" not in done[-1].stdout
    assert len(server.kept) == 1
    assert "Do not merge" in json.dumps(server.kept)
    assert server.asked[-1][2] == last[2]
    assert len(list(merge.rglob("*.xml"))) == 1
