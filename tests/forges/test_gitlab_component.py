"""The component for GitLab CI: its YAML with any inputs, and its script run for real, in a git repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.forges.gitlab.instance import MergeRequest
from tests.forges.gitlab.job import job_variables
from tests.forges.gitlab.server import Gitlab

import rankgate
from rankgate.cli import main
from rankgate.forges.comments import mark_of
from rankgate.forges.workflows.gitlab import COMPONENT, PIPELINE

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "templates" / "rankgate.yml"
INPUTS: dict[str, dict[str, Any]] = next(iter(yaml.safe_load_all(TEMPLATE.read_text())))["spec"]["inputs"]
SHELLS = [  # of images with bash, and of those without
    "bash",
    pytest.param(
        "dash", marks=[pytest.mark.full, pytest.mark.skipif(shutil.which("dash") is None, reason="there is no dash")]
    ),
]


def interpolated(given: Mapping[str, Any], text: str | None = None) -> dict[str, Any]:
    """The jobs as GitLab makes them: inputs are checked, put into the text, and that is read as YAML.

    doc/ci/inputs of GitLab. It puts them into the text since 16.9.
    """
    spec, _, body = (text or TEMPLATE.read_text()).partition("\n---\n")
    inputs = yaml.safe_load(spec)["spec"]["inputs"]
    assert set(given) <= set(inputs), "an input that the component does not know"
    texts: dict[str, str] = {}
    for name, about in inputs.items():
        value = given.get(name, about["default"])
        if about.get("type") == "boolean":
            assert isinstance(value, bool), name
            value = json.dumps(value)
        pattern = about.get("regex", "$").removesuffix("$") + r"\Z"  # to RE2 the end is not before a line feed
        assert re.search(pattern, value), f"{name} does not fit its pattern"
        assert value in about.get("options", [value]), f"{name} is none of its options"
        texts[name] = value
    return dict(yaml.safe_load(re.sub(r"\$\[\[ inputs\.([\w-]+) ]]", lambda match: texts[match[1]], body)))


def accepted(given: Mapping[str, Any]) -> bool:
    """Whether GitLab makes jobs of it rather than an error."""
    try:
        interpolated(given)
    except AssertionError:
        return False
    return True


def test_what_init_copies_is_the_component() -> None:
    copy = Path(rankgate.__file__).parent / "forges" / "workflows" / "gitlab.yml"
    assert copy.read_bytes() == TEMPLATE.read_bytes()
    assert INPUTS["version"]["default"] == rankgate.__version__


@pytest.mark.parametrize(
    "given",
    [{}, {"page": False, "job": "search gate", "stage": "late", "gate-id": "search"}, {"run": 'a: b #c [x] "y" {z}'}],
    ids=["defaults", "others", "what YAML would read otherwise"],
)
def test_gitlabs_own_schema_accepts_it(given: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / ".gitlab-ci.yml"
    file.write_text(yaml.safe_dump(interpolated(given)))
    words = ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci", str(file)]
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *words], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_nothing_lets_the_pipeline_pass_where_the_gate_fails() -> None:
    (job,) = interpolated({}).values()
    assert "allow_failure" not in TEMPLATE.read_text()
    assert job["rules"] == [
        {"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'},
        {"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"},
    ]
    assert job["artifacts"]["when"] == "always"
    assert job["artifacts"]["reports"] == {"junit": "rankgate-report/junit.xml"}


WORDS = [*"'\"`$;&|<>(){}[]*?~#!\\ \n\r\t-", "$(touch hacked)", "';touch hacked;'", "$[[ inputs.run ]]", "a", "é", ": "]


@given(st.sampled_from([name for name in INPUTS if name != "page"]), st.lists(st.sampled_from(WORDS), max_size=6))
def test_any_input_that_gitlab_accepts_is_that_text_and_nothing_else(name: str, words: list[str]) -> None:
    value = "".join(words)
    if not accepted({name: value}):
        return
    usual, found = interpolated({}), interpolated({name: value})
    (job,) = found.values()
    script = job["script"][0]
    assert script == next(iter(usual.values()))["script"][0] or f"'{value}'" in script or f"=={value}'" in script
    parsed = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert parsed.returncode == 0, parsed.stderr


@dataclass
class Clone:
    """A project with its remote, the merge request's working copy, and programs of a job's image."""

    gitlab: Gitlab
    folder: Path
    request: MergeRequest
    more: dict[str, str] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def git(self, *words: str, at: str = "work") -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *words], cwd=self.folder / at, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def write_run(self, hits: int, *, name: str = "run.jsonl") -> None:
        write_run(self.work / name, hits)

    def push(self) -> None:
        """The branch's new commit, as the instance knows it, too."""
        self.request.sha = self.commit("change")
        self.gitlab.project.commits.add(self.request.sha)

    def run(self, given: Mapping[str, Any] = {}, shell: str = "bash") -> subprocess.CompletedProcess[str]:
        """The job's script in the merge request's pipeline."""
        (job,) = interpolated(given).values()
        variables = job_variables(self.gitlab, self.request) | {"RANKGATE_GITLAB_TOKEN": self.gitlab.token} | self.more
        usual = {name: os.environ[name] for name in ("HOME", "LANG", "SYSTEMROOT") if name in os.environ}
        path = f"{self.folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = usual | variables | job["variables"] | {"PATH": path}
        script = "set -e\n" + ("set -o pipefail\n" if shell == "bash" else "") + job["script"][0]
        words = [shell, "-c", script]
        return subprocess.run(words, cwd=self.work, env=environment, capture_output=True, text=True, check=False)

    def note(self) -> str:
        (note,) = self.gitlab.notes(self.request.iid)
        return note.body

    def installed(self) -> list[str]:
        """What pip was asked for."""
        return (self.folder / "pip").read_text().splitlines()


def write_run(path: Path, hits: int) -> None:
    """A run of 40 questions, of which so many find their document."""
    lines = [
        json.dumps({"query_id": f"q-{n}", "topk": [{"chunk_id": f"doc-{n}" if n < hits else "none", "score": 1.0}]})
        for n in range(40)
    ]
    path.write_text("\n".join(lines) + "\n")


CRITERIA = """\
gates:
  - {name: recall@5, threshold: 0.5, regression_max: 0.05}
inputs: {gold: gold.yaml, run: run.jsonl, baseline: accepted.jsonl}
"""
PIP = """\
#!/bin/sh
if [ "$1 $2 $3" = "-I -m pip" ]; then shift 3; printf '%s|' "$@" >> "$PIP_LOG"
  echo >> "$PIP_LOG"; exit "${PIP_EXIT:-0}"
fi
exec "$PYTHON" "$@"
"""


@pytest.fixture
def clone(gitlab: Gitlab, tmp_path: Path) -> Clone:
    """A merge request whose run is as good as the baseline, with criteria, gold set and baseline on main."""
    made = Clone(gitlab, tmp_path, gitlab.open_merge_request())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(PIP)
    (tmp_path / "bin" / "python").chmod(0o755)
    made.more = {"PIP_LOG": str(tmp_path / "pip"), "PYTHON": sys.executable}
    made.git("init", "-q", "--bare", "-b", "main", "origin.git", at=".")
    made.git("clone", "-q", "origin.git", "work", at=".")
    made.git("checkout", "-q", "-b", "main")
    questions = (f"  - {{id: q-{n}, input: {{question: 'Q {n}?'}}, expected_output: [doc-{n}]}}\n" for n in range(40))
    (made.work / "gold.yaml").write_text("samples:\n" + "".join(questions))
    (made.work / "ship-criteria.yaml").write_text(CRITERIA)
    made.write_run(36)
    made.write_run(36, name="accepted.jsonl")
    gitlab.project.branches["main"] = made.request.base_sha = made.commit("base")
    made.git("push", "-q", "origin", "main")
    made.git("checkout", "-q", "--detach")
    return made


@pytest.mark.parametrize("shell", SHELLS)
def test_a_merge_request_goes_from_red_to_green_with_one_note(clone: Clone, shell: str) -> None:
    clone.write_run(20)
    clone.push()
    red = clone.run(shell=shell)
    assert red.returncode == 1, red.stdout + red.stderr
    assert "FAIL. Do not merge" in clone.note()
    (status,) = clone.gitlab.statuses(clone.request.sha)
    assert (status.name, status.status) == ("rankgate/verdict", "failed")
    for name in ("report.json", "report.html", "junit.xml", "comment.md"):
        assert (clone.work / "rankgate-report" / name).is_file(), name
    page = f"{clone.gitlab.url}/acme/search/rag/-/jobs/41/artifacts/file/rankgate-report/report.html"
    assert f"[Page with every question]({page})" in clone.note()
    shutil.rmtree(clone.work / "rankgate-report")  # another job has another working copy
    clone.write_run(37)
    clone.push()
    green = clone.run(shell=shell)
    assert green.returncode == 0, green.stdout + green.stderr
    assert "PASS" in clone.note()
    mark = mark_of(clone.note().split("\n")[0])
    assert mark is not None
    assert mark.sha == clone.request.sha
    (status,) = clone.gitlab.statuses(clone.request.sha)
    assert status.status == "success"
    assert clone.installed() == [f"install|--quiet|rankgate[html]=={rankgate.__version__}|"] * 2


@pytest.mark.parametrize("shell", SHELLS)
def test_what_cannot_be_judged_fails_the_job_and_says_so(clone: Clone, shell: str) -> None:
    (clone.work / "run.jsonl").unlink()
    clone.push()
    done = clone.run({"page": False}, shell=shell)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "NOT JUDGED" in clone.note()
    assert [status.status for status in clone.gitlab.statuses(clone.request.sha)] == ["failed"]


def test_a_warning_fails_where_that_is_wanted(clone: Clone) -> None:
    criteria = clone.work / "ship-criteria.yaml"
    criteria.write_text(CRITERIA.replace("0.05}", "0.05, severity: warning}"))
    clone.git("push", "-q", "origin", f"{clone.commit('milder')}:main")
    clone.write_run(30)
    clone.push()
    assert clone.run({"page": False}).returncode == 0
    assert clone.run({"page": False, "fail-on": "warn"}).returncode == 1
    assert [each.status for each in clone.gitlab.statuses(clone.request.sha)] == ["success", "failed"]


def test_the_criteria_of_the_target_branch_judge_too(clone: Clone) -> None:
    (clone.work / "ship-criteria.yaml").write_text(CRITERIA.replace("0.5,", "0.1,").replace("0.05}", "0.9}"))
    clone.write_run(12)
    clone.push()
    assert clone.run({"page": False}).returncode == 1
    assert "by the criteria of the base" in clone.note()


def test_an_old_branch_is_judged_as_the_target_branch_asks_now(clone: Clone) -> None:
    old = clone.git("rev-parse", "HEAD")
    (clone.work / "ship-criteria.yaml").write_text(CRITERIA.replace("0.5,", "0.88,"))
    clone.git("push", "-q", "origin", f"{clone.commit('stricter')}:main")
    clone.git("checkout", "-q", old)
    clone.write_run(35)
    clone.push()
    done = clone.run({"page": False})
    assert done.returncode == 1, done.stdout
    assert "FAIL" in clone.note()


def test_a_conflict_with_the_target_branch_is_not_judged(clone: Clone) -> None:
    old = clone.git("rev-parse", "HEAD")
    clone.write_run(30)
    clone.git("push", "-q", "origin", f"{clone.commit('meanwhile')}:main")
    clone.git("checkout", "-q", old)
    clone.write_run(37)
    clone.push()
    done = clone.run({"page": False})
    assert done.returncode == 2
    assert "CONFLICT" in done.stdout
    assert "rankgate: git could not fetch and merge main, see above" in done.stderr
    assert "NOT JUDGED" in clone.note()


def test_a_merged_result_is_judged_onto_what_gitlab_merged_it_onto(clone: Clone) -> None:
    """A merge train merges onto what is not yet on the target branch."""
    onto = clone.git("rev-parse", "HEAD")
    clone.write_run(37)
    clone.request.sha = clone.commit("change")
    clone.gitlab.project.commits.add(clone.request.sha)
    clone.git("checkout", "-q", onto)
    clone.git("merge", "-q", "--no-ff", "--no-edit", clone.request.sha)
    merged = clone.git("rev-parse", "HEAD")
    clone.gitlab.project.commits.add(merged)
    clone.more |= {
        "CI_COMMIT_SHA": merged,
        "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": onto,
        "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": clone.request.sha,
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "not-fetched",
    }
    pipeline = clone.gitlab.start_pipeline(merged, "refs/merge-requests/1/merge", "merge_request_event")
    clone.more["CI_PIPELINE_ID"] = str(pipeline.id)
    done = clone.run({"page": False})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS" in clone.note()
    assert json.loads((clone.work / "rankgate-report/report.json").read_text())["base"]["sha"] == onto
    assert [status.status for status in clone.gitlab.statuses(merged)] == ["success"]


def test_the_pipeline_of_a_fork_decides_by_its_exit_code_alone(clone: Clone) -> None:
    clone.write_run(20)
    clone.push()
    home = f"file://{clone.folder}/origin"
    clone.more |= {"CI_PROJECT_ID": "9000", "CI_MERGE_REQUEST_PROJECT_URL": home, "RANKGATE_GITLAB_TOKEN": ""}
    done = clone.run({"page": False})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "this pipeline runs in a fork" in done.stderr
    assert clone.gitlab.log == []


def test_on_the_default_branch_it_judges_and_posts_nothing(clone: Clone) -> None:
    clone.more |= {"CI_MERGE_REQUEST_IID": "", "CI_COMMIT_BRANCH": "main"}
    assert clone.run({"page": False}).returncode == 0
    clone.write_run(20)
    assert clone.run({"page": False}).returncode == 1
    assert clone.gitlab.log == []


def test_without_a_token_the_verdict_decides(clone: Clone) -> None:
    clone.write_run(20)
    clone.push()
    clone.more["RANKGATE_GITLAB_TOKEN"] = ""
    done = clone.run({"page": False})
    assert done.returncode == 1
    assert "not published: no token to publish with" in done.stderr
    assert clone.gitlab.log == []


def test_where_rankgate_cannot_be_installed_the_job_fails(clone: Clone) -> None:
    clone.more["PIP_EXIT"] = "1"
    assert clone.run({"page": False}).returncode == 2


RETRIEVER = """\
def retrieve(question):
    number = int(question.split()[1].rstrip("?"))
    return [f"doc-{number}"] if number < HITS else ["none"]
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_retriever_records_the_run_that_is_judged(clone: Clone, shell: str) -> None:
    """What was committed, or left by an earlier job, is not."""
    (clone.work / "my app.txt").write_text("")
    (clone.work / "app.py").write_text(RETRIEVER.replace("HITS", "20"))
    clone.push()
    given = {"page": False, "retriever": "app:retrieve", "install": "-r requirements.txt *", "run": "run.jsonl"}
    done = clone.run(given, shell=shell)
    assert done.returncode == 1, done.stdout + done.stderr
    assert clone.installed()[1] == "install|--quiet|-r|requirements.txt|*|"
    (clone.work / "app.py").write_text("def retrieve(question): raise OSError\n")
    clone.push()
    assert clone.run(given, shell=shell).returncode == 2
    assert "NOT JUDGED" in clone.note()


@pytest.mark.parametrize("shell", SHELLS)
def test_no_input_is_code(clone: Clone, shell: str) -> None:
    odd = '$(touch hacked) `touch hacked` "; touch hacked; #'
    for name in ("run", "criteria", "baseline", "install"):
        clone.run({"page": False, name: odd}, shell=shell)
    assert list(clone.folder.rglob("hacked")) == []


def test_two_gates_of_a_project_have_a_note_and_a_status_each(clone: Clone) -> None:
    clone.write_run(20)
    clone.push()
    for gate in ("search", "chat"):
        clone.run({"page": False, "job": gate, "gate-id": gate})
    assert len(clone.gitlab.notes(1)) == 2
    names = [status.name for status in clone.gitlab.statuses(clone.request.sha)]
    assert names == ["rankgate/verdict/search", "rankgate/verdict/chat"]


def init(*words: str) -> int:
    return main(["init", "--gitlab", *words])


@pytest.fixture
def project(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(clone.work)
    return clone.work


def included(pipeline: str = PIPELINE) -> dict[str, Any]:
    """The jobs of the pipeline that init wrote."""
    (include,) = yaml.safe_load(Path(pipeline).read_text())["include"]
    return interpolated(include.get("inputs", {}), Path(include["local"]).read_text())


def test_init_writes_the_component_and_a_pipeline_that_includes_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "requirements.txt").write_text("")
    assert init("--retriever", "app:retrieve") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"wrote {COMPONENT}\nwrote {PIPELINE}\n")
    assert "RANKGATE_GITLAB_TOKEN" in said
    assert "Pipelines must succeed" in said
    assert f"Add to {PIPELINE}" not in said
    assert not (project / ".github").exists()
    (job,) = included().values()
    for line in ("retriever='app:retrieve'", "install='-r requirements.txt'", "run='run.jsonl'", "criteria=''"):
        assert line in job["script"][0]


def test_what_takes_more_than_pip_is_installed_before_the_script(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = project / "serv ices" / "it's"
    folder.mkdir(parents=True)
    (folder / "poetry.lock").write_text("# generated by Poetry 2.1.3 and\n")
    (folder / "finder.py").write_text('import os\nKEY = os.environ["SEARCH_KEY"]\n')
    assert init("--retriever", "finder:retrieve") == 0
    assert "SEARCH_KEY" in capsys.readouterr().out
    pipeline = yaml.safe_load(Path(PIPELINE).read_text())
    assert pipeline["include"][0]["inputs"] == {"run": "run.jsonl", "retriever": "finder:retrieve"}
    before = pipeline["rankgate"]["before_script"]
    (project / "bin").mkdir()
    for program in ("python", "poetry"):
        stub = project / "bin" / program
        stub.write_text(f'#!/bin/sh\necho "$PWD: {program} $*"\nmkdir -p .venv/bin && : >.venv/bin/activate\n')
        stub.chmod(0o755)
    environment = {"PATH": f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}", "CI_PROJECT_DIR": str(project)}
    script = "\n".join(["set -e", *before, 'echo "$PWD, $PYTHONPATH"'])
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"{folder}: python -m pip install poetry==2.1.3",
        f"{folder}: python -m venv .venv",
        f"{folder}: poetry install --no-interaction --no-root",
        f"{folder}: python -m pip install rankgate=={rankgate.__version__}",
        f"{project}, serv ices/it's",
    ]


def test_a_command_is_recorded_in_place_of_a_function(project: Path) -> None:
    (project / "package-lock.json").write_text("{}")
    assert init("--command", "node search.js --json") == 0
    pipeline = yaml.safe_load(Path(PIPELINE).read_text())
    assert pipeline["include"][0]["inputs"] == {"run": "run.jsonl", "command": "node search.js --json"}
    assert pipeline["rankgate"]["before_script"][-1] == "npm ci"
    (job,) = included().values()
    assert "command='node search.js --json'" in job["script"][0]


def test_a_pipeline_that_is_there_stays_as_it_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = "build: {script: make}\n"
    Path(PIPELINE).write_text(own)
    said = ""
    for words in ([], ["--force"]):
        assert init(*words) == 0
        assert Path(PIPELINE).read_text() == own
        said = capsys.readouterr().out
        assert f"Add to {PIPELINE}" in said
        assert "One\n     pipeline for all" in said
    lines = re.findall(r"^ {7}(.*)$", said, re.MULTILINE)
    Path("added.yml").write_text("\n".join(lines))
    assert included("added.yml")
    Path(PIPELINE).write_text("\n".join(lines))
    assert init("--force") == 0
    assert f"Add to {PIPELINE}" not in capsys.readouterr().out


def test_a_component_that_is_there_is_replaced_by_force_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(COMPONENT).parent.mkdir()
    Path(COMPONENT).write_text("mine")
    assert init() == 2
    assert f"{COMPONENT}: exists already; --force overwrites it" in capsys.readouterr().err
    assert not Path(PIPELINE).exists()
    assert init("--force") == 0
    assert "spec:" in Path(COMPONENT).read_text()


def test_a_path_that_no_input_can_hold_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("it's.yaml").write_text(CRITERIA)
    assert init("--to", "it's.yaml") == 2
    assert "cannot be an input of GitLab's component" in capsys.readouterr().err
    assert not Path(COMPONENT).exists()
