"""The first criteria and the first workflow, as texts."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rankgate.estimates import Estimate
from rankgate.metrics.names import parse_metric
from rankgate.model import Interval
from rankgate.starting import (
    CHECKOUT,
    FIRST_GATES,
    SETUP_PYTHON,
    UPLOAD,
    Job,
    Start,
    criteria_text,
    requirements_commands,
    workflow_text,
)

WORKFLOWS = Path(__file__).parents[1] / ".github" / "workflows"


def start_from(
    value: float | None, ci: Interval | None = None, *, run: str | None = "run.jsonl", questions: int = 40
) -> Start:
    found = None if value is None else Estimate(value=value, n=40, undefined=0, ci=ci)
    return Start(
        gold="gold.yaml",
        run="run.jsonl",
        baseline="baseline",
        measured=[(parse_metric(name), found) for name, _, _ in FIRST_GATES],
        measured_run=run,
        questions=questions,
    )


def test_the_whole_text_with_a_run() -> None:
    assert (
        criteria_text(start_from(0.9, (0.8412, 0.95)))
        == """\
# What a change to the retriever must hold before it may be merged. `rankgate validate` checks this file,
# `rankgate check` judges by it, `rankgate metrics` lists what can be gated.
# Floors come from "run.jsonl"; raise them as the retriever improves.
# Few questions: 40 cannot tell the drops allowed below from noise, which takes about 785 (if changes spread by 0.3;
# `rankgate noise` measures it). So only a proven drop blocks, and what is within noise warns.
evidence: proven_harm  # estimate: the measured drop decides by itself

gates:
  - name: recall@5
    # 90.0% over 40 questions, 95% interval 84.1% to 95.0%:
    # the floor is its lower end, rounded down
    threshold: 0.84
    regression_max: 0.03  # at most 3 percentage points below the accepted baseline, on the same questions
    severity: error  # blocks the merge
  - name: mrr
    # 0.900 over 40 questions, 95% interval 0.841 to 0.950:
    # the floor is its lower end, rounded down
    threshold: 0.84
    regression_max: 0.05  # at most 0.05 below the accepted baseline, on the same questions
    severity: warning  # only comments
  - name: ndcg@10
    # 0.900 over 40 questions, 95% interval 0.841 to 0.950:
    # the floor is its lower end, rounded down
    threshold: 0.84
    regression_max: 0.03  # at most 0.03 below the accepted baseline, on the same questions
    severity: warning  # only comments

inputs:  # relative to this file; flags of the command line win
  gold: "gold.yaml"
  run: "run.jsonl"
  baseline: "baseline"  # made by `rankgate baseline accept`
"""
    )


def test_without_a_run_there_are_no_floors_and_it_says_how_to_get_them() -> None:
    text = criteria_text(start_from(None, run=None))
    assert "threshold" not in text
    assert "# There are no floors yet: `rankgate init --run RUN --force` derives them from a run.\n" in text
    assert [gate.keys() for gate in yaml.safe_load(text)["gates"]] == [{"name", "regression_max", "severity"}] * 3


@pytest.mark.parametrize(
    ("questions", "evidence", "why"),
    [
        pytest.param(0, "proven_harm", "# Few questions: 0 cannot tell", id="none that can be scored"),
        pytest.param(784, "proven_harm", "# Few questions: 784 cannot tell", id="one too few"),
        pytest.param(785, "estimate", "# Many questions: 785 tell", id="enough"),
        pytest.param(1400, "estimate", "# Many questions: 1,400 tell", id="many"),
    ],
)
def test_the_evidence_is_what_the_questions_can_carry_and_a_comment_says_why(
    questions: int, evidence: str, why: str
) -> None:
    text = criteria_text(start_from(None, run=None, questions=questions))
    assert yaml.safe_load(text)["evidence"] == evidence
    assert f"\n{why} the drops allowed below from noise, which takes about 785 (" in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    ("low", "floor"),
    [
        pytest.param(0.8499, 0.84, id="rounded down"),
        pytest.param(0.85, 0.85, id="exact"),
        pytest.param(0.29, 0.29, id="exact, though 100 times it is less than 29 in floating point"),
        pytest.param(1.0, 1.0, id="the top"),
        pytest.param(0.0, 0.0, id="the bottom"),
        pytest.param(0.004, 0.0, id="almost nothing"),
    ],
)
def test_a_floor_is_the_lower_end_rounded_down(low: float, floor: float) -> None:
    gates = yaml.safe_load(criteria_text(start_from(1.0, (low, 1.0))))["gates"]
    assert [gate["threshold"] for gate in gates] == [floor] * 3


@pytest.mark.parametrize(
    ("value", "ci"),
    [
        pytest.param(None, None, id="defined nowhere"),
        pytest.param(0.9, None, id="no interval"),
        pytest.param(0.9, (None, 0.95), id="no lower end"),
    ],
)
def test_what_the_data_do_not_support_becomes_no_floor(value: float | None, ci: Interval | None) -> None:
    assert "threshold" not in criteria_text(start_from(value, ci))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("gold set.yaml", id="space"),
        pytest.param("gold: v2 #1.yaml", id="colon and hash"),
        pytest.param('a "b" \\ c.yaml', id="quotes and a backslash"),
        pytest.param("it's *gold*.yaml", id="apostrophe and stars"),
        pytest.param("perguntas-é.yaml", id="letters beyond ASCII"),
        pytest.param("a\nb.yaml", id="line break"),
        pytest.param("no", id="a word that YAML reads as false"),
    ],
)
def test_paths_survive_in_the_criteria(path: str) -> None:
    measured = start_from(None).measured
    start = Start(gold=path, run=path, baseline=path, measured=measured, measured_run=path, questions=40)
    assert yaml.safe_load(criteria_text(start))["inputs"] == {"gold": path, "run": path, "baseline": path}


def workflow(
    retriever: str | None = None, gold: str = "gold.yaml", run: str = "run.jsonl", requirements: tuple[str, ...] = ()
) -> Any:
    job = Job(retriever=retriever, gold=gold, run=run, criteria=None, requirements=requirements, version="1.2.3")
    return yaml.safe_load(workflow_text(job))


def steps_of(made: Any) -> dict[str, str]:
    """The `run:` steps by name."""
    return {step["name"]: step["run"] for step in made["jobs"]["gate"]["steps"] if "run" in step}


def test_a_workflow_has_no_more_rights_than_it_needs() -> None:
    made = workflow()
    [job] = made["jobs"].values()
    assert made["permissions"] == {}
    assert job["permissions"] == {"contents": "read"}
    assert job["steps"][0]["with"] == {"persist-credentials": False}
    assert made["concurrency"]["cancel-in-progress"] is False
    assert set(made[True]) == {"pull_request", "merge_group", "workflow_dispatch"}  # YAML 1.1 reads `on` as true


def test_what_was_found_out_is_kept_whatever_the_verdict() -> None:
    steps = workflow()["jobs"]["gate"]["steps"]
    after_check = steps[[step.get("name") for step in steps].index("Check") + 1 :]
    assert [step["if"] for step in after_check] == ["always()"] * 2
    assert after_check[-1]["with"] == {"name": "rankgate", "path": "rankgate/"}


def test_with_a_retriever_it_records_before_it_checks() -> None:
    steps = steps_of(workflow(retriever="my_app.search:retrieve"))
    assert list(steps) == ["Install", "Record a run", "Check", "Summary"]
    assert steps["Record a run"] == ("rankgate record --retriever my_app.search:retrieve --gold gold.yaml -o run.jsonl")


def test_without_a_retriever_it_takes_the_run_as_it_is() -> None:
    assert list(steps_of(workflow())) == ["Install", "Check", "Summary"]


@pytest.mark.parametrize(
    ("requirements", "command"),
    [
        pytest.param((), "python -m pip install 'rankgate==1.2.3'", id="nothing else"),
        pytest.param(
            ("python -m pip install .",),
            "python -m pip install 'rankgate==1.2.3' && python -m pip install .",
            id="more",
        ),
    ],
)
def test_it_installs_this_version_and_the_project(requirements: tuple[str, ...], command: str) -> None:
    assert steps_of(workflow(requirements=requirements))["Install"] == command


@pytest.mark.parametrize(
    ("path", "word"),
    [
        pytest.param("data/gold-v2.yaml", "data/gold-v2.yaml", id="plain"),
        pytest.param("gold set.yaml", "'gold set.yaml'", id="space"),
        pytest.param("it's.yaml", "'it'\\''s.yaml'", id="apostrophe"),
        pytest.param("a;b$(c).yaml", "'a;b$(c).yaml'", id="what a shell would run"),
        pytest.param("gold: v2.yaml", "'gold: v2.yaml'", id="what YAML takes for a key"),
        pytest.param("gold #2.yaml", "'gold #2.yaml'", id="what YAML takes for a comment"),
    ],
)
def test_paths_are_single_words_of_the_shell(path: str, word: str) -> None:
    command = steps_of(workflow(retriever="a:b", gold=path))["Record a run"]
    assert command == f"rankgate record --retriever a:b --gold {word} -o run.jsonl"


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        pytest.param({}, [], id="neither"),
        pytest.param({"pyproject.toml": True}, ["python -m pip install ."], id="a project"),
        pytest.param({"requirements.txt": True}, ["python -m pip install -r requirements.txt"], id="requirements"),
        pytest.param(
            {"requirements.txt": True, "pyproject.toml": True},
            ["python -m pip install -r requirements.txt"],
            id="both: the requirements name the project where they need it",
        ),
        pytest.param({"requirements.txt": False, "pyproject.toml": False}, [], id="looked for and not found"),
    ],
)
def test_how_the_project_itself_is_installed(files: dict[str, bool], commands: list[str]) -> None:
    assert requirements_commands(files) == commands


@pytest.mark.parametrize("action", [CHECKOUT, SETUP_PYTHON, UPLOAD])
def test_actions_are_pinned_as_in_our_own_workflows(action: str) -> None:
    assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    name = re.escape(action.partition("@")[0])
    texts = [file.read_text(encoding="utf-8") for file in WORKFLOWS.glob("*.yml")]
    ours = {use for text in texts for use in re.findall(rf"uses: ({name}@\S+ # \S+)", text)}
    if not ours:
        pytest.skip("a source distribution has no workflows")
    assert ours == {action}
