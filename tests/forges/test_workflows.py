"""The workflows that `rankgate init` writes and the hardened ones, as values: triggers, rights, conditions, shells."""

import inspect
import os
import re
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.forges.expressions import Value, condition, filled_in
from tests.rows import each_row

from rankgate import INSTALL
from rankgate.errors import RankgateError
from rankgate.forges.base_checkout import MAX_JUDGING, MAX_SECONDS
from rankgate.forges.client import Client
from rankgate.forges.workflows import Job, action_of, gate_text, is_word, report_text, scalar, to_do_on_github
from rankgate.readers.yaml_text import quoted

ROOT = Path(__file__).parents[2]
OURS = ROOT / ".github" / "workflows"
HARDENED = ROOT / "docs" / "hardened"
HASH = "0123456789abcdef0123456789abcdef01234567"
BASE = "${{ github.event.pull_request && 'HEAD^1' || github.event.merge_group.base_sha }}"
NASTY = 'a"; rm -rf $HOME #.jsonl'

JOB = Job(
    run="run.jsonl",
    criteria=None,
    branches=["main"],
    action="rankgate/rankgate@v1.2.3",
)


def gate(**changes: Any) -> Any:
    return yaml.safe_load(gate_text(replace(JOB, **changes)))


def report(**changes: Any) -> Any:
    return yaml.safe_load(report_text(replace(JOB, **changes)))


def hardened(name: str) -> Any:
    return yaml.safe_load((HARDENED / name).read_text(encoding="utf-8"))


def triggers(made: Any) -> Any:
    return made[True]  # YAML 1.1 reads `on` as true


def step(made: Any, job: str, part: str) -> Any:
    """The one step whose name or action has this part."""
    [found] = [each for each in made["jobs"][job]["steps"] if part in f"{each.get('name')} {each.get('uses')}"]
    return found


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def as_github_reads(text: str) -> str:
    """A value after GitHub has evaluated its expressions; only a literal string is allowed there."""
    return re.sub(r"\$\{\{ '(.*?)' \}\}", lambda found: found[1], text)


def test_the_gate_runs_on_every_pull_request_without_path_filters() -> None:
    assert triggers(gate(branches=["trunk", "next"])) == {
        "pull_request": {"types": ["opened", "synchronize", "reopened", "edited", "labeled", "unlabeled"]},
        "merge_group": None,
        "push": {"branches": ["trunk", "next"]},
        "workflow_dispatch": None,
    }


def test_hardened_a_label_records_nothing_again() -> None:
    """The second workflow judges what is recorded already."""
    made = triggers(hardened("rankgate.yml"))
    assert made["pull_request"] == {"types": ["opened", "synchronize", "reopened", "edited"]}
    assert {**made, "pull_request": None} == {**triggers(gate()), "pull_request": None}
    assert triggers(hardened("rankgate-report.yml")) == triggers(report())


@pytest.mark.parametrize("made", [gate(), hardened("rankgate.yml")], ids=["written", "hardened"])
def test_the_names_that_rulesets_and_the_second_workflow_refer_to(made: Any) -> None:
    assert made["name"] == "rankgate"
    assert made["jobs"]["gate"]["name"] == "retrieval gate"
    assert triggers(report())["workflow_run"] == {"workflows": [made["name"]], "types": ["completed"]}


def test_our_own_gate_starts_by_the_same_events_as_the_written_one() -> None:
    if not OURS.is_dir():
        pytest.skip("a source distribution has no workflows")
    ours = yaml.safe_load((OURS / "rankgate.yml").read_text(encoding="utf-8"))
    assert triggers(ours) == triggers(gate())


POSTING = {
    "gate": {"actions": "read", "contents": "read", "pull-requests": "write", "checks": "write"},
    "queue": {"actions": "read", "checks": "write"},
}


@pytest.mark.parametrize(
    ("made", "reporting", "first"),
    [
        pytest.param(gate(), report(), POSTING, id="written"),
        pytest.param(
            hardened("rankgate.yml"),
            hardened("rankgate-report.yml"),
            {"gate": {"contents": "read"}},
            id="hardened",
        ),
    ],
)
def test_every_job_has_the_rights_that_it_needs_and_no_more(made: Any, reporting: Any, first: dict[str, Any]) -> None:
    assert made["permissions"] == reporting["permissions"] == {}
    assert {name: job["permissions"] for name, job in (made["jobs"] | reporting["jobs"]).items()} == {
        **first,
        "report": {"actions": "read", "checks": "write", "contents": "read", "pull-requests": "write"},
    }


def test_runs_of_one_pull_request_wait_for_each_other_and_none_is_cancelled() -> None:
    assert gate()["concurrency"]["cancel-in-progress"] is False
    reporting = report()
    assert "concurrency" not in reporting  # of the job: a label that is none of ours must push nobody out of the queue
    assert reporting["jobs"]["report"]["concurrency"] == {
        "group": "rankgate-report-${{ "
        "github.event.workflow_run.head_repository.id || github.event.pull_request.head.repo.id }}-${{ "
        "github.event.workflow_run.head_branch || github.event.pull_request.head.ref }}",
        "cancel-in-progress": False,
    }


OURS_ID, FORKS_ID = 1, 2


def of_pull(
    action: str,
    head: int = OURS_ID,
    changed: str | None = None,
    label: str | None = None,
    user: str = "mallory",
    *,
    merged: bool = False,
) -> dict[str, Any]:
    """The `github` context of an event of a pull request from this repository, and what an edit changed."""
    pull = {"number": 12, "head": {"repo": {"id": head}}, "user": {"login": user}, "merged": merged}
    changes = {"base": {"base": {"ref": {"from": "release"}}}, "title": {"title": {"from": "Anohter"}}}
    event = {
        "action": action,
        "pull_request": pull,
        "repository": {"id": OURS_ID},
        "changes": changes.get(changed or ""),
        "label": {"name": label},
    }
    return {"event": event, "ref": "refs/pull/12/merge", "run_id": 77}


def of_push(ref: str, **event: Any) -> dict[str, Any]:
    """The `github` context of an event that is none of a pull request."""
    return {"event": {"repository": {"id": OURS_ID}, **event}, "ref": ref, "run_id": 77}


QUEUE = "refs/heads/gh-readonly-queue/main/pr-12-0"


@each_row(
    ("context", "queue"),
    [
        pytest.param(of_pull("synchronize"), "12", id="a push"),
        pytest.param(of_pull("labeled"), "12", id="a label, which may waive"),
        pytest.param(of_pull("edited", changed="base"), "12", id="another base"),
        pytest.param(of_pull("edited", changed="title"), "12", id="another title: a job that skips is a success"),
        pytest.param(of_pull("synchronize", FORKS_ID), "12", id="a push to a fork"),
        pytest.param(of_pull("edited", FORKS_ID, "base"), "12", id="another base for a fork"),
        pytest.param(of_pull("unlabeled"), "12", id="a label taken off, which waived"),
        pytest.param(of_pull("labeled", FORKS_ID), None, id="a label on a fork's, such as the one that accepts"),
        pytest.param(of_pull("unlabeled", FORKS_ID), None, id="the same taken off"),
        pytest.param(of_pull("edited", FORKS_ID, "title"), None, id="another title of a fork's"),
        pytest.param(of_push("refs/heads/main"), "refs/heads/main", id="a push to main"),
        pytest.param(of_push(QUEUE, action="checks_requested"), QUEUE, id="the merge queue"),
    ],
)
def test_what_changes_no_verdict_of_a_fork_does_not_start_the_gate_and_waits_apart(
    context: dict[str, Any], queue: str | None
) -> None:
    """A second run on the same commit would take back what a maintainer has accepted."""

    def look_up(name: str) -> Value:
        found: Any = {"github": context}
        for key in name.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return cast("Value", found)

    made = gate()
    runs = condition(made["jobs"]["gate"]["if"], look_up, {"success": lambda: True})
    assert runs is (queue is not None)
    group = filled_in(made["concurrency"]["group"], look_up)
    assert group == f"rankgate-{queue or 77}"


def test_the_reporting_job_outlives_the_checks_of_several_bases() -> None:
    """GitHub ends it without a verdict; each check may take its time, and each step may wait for GitHub's limits."""
    waits = inspect.signature(Client).parameters["max_wait"].default
    assert report()["jobs"]["report"]["timeout-minutes"] * 60 >= 4 * MAX_SECONDS + 2 * waits


def test_the_base_is_fetched_and_no_token_is_left_in_the_checkout() -> None:
    assert step(gate(), "gate", "checkout")["with"] == {"fetch-depth": 0, "persist-credentials": False}


def test_the_reporting_job_fetches_the_default_branch_and_never_the_pull_request() -> None:
    made = report()
    assert step(made, "report", "checkout")["with"] == {
        "ref": "${{ github.event.repository.default_branch }}",
        "fetch-depth": 0,
        "persist-credentials": False,
    }
    assert [each for each in made["jobs"]["report"]["steps"] if "run" in each] == []


def of_run(event: str, conclusion: str, head: int = OURS_ID, actor: str = "alice") -> dict[str, Any]:
    """The `github` context of a run of the gate's workflow that has ended."""
    run = {"event": event, "conclusion": conclusion, "head_repository": {"id": head}, "actor": {"login": actor}}
    return {**of_push("refs/heads/main", workflow_run=run), "event_name": "workflow_run"}


ACCEPT = "rankgate: accept rankings"


@pytest.mark.full
@each_row(
    ("context", "alone", "with_app"),
    [
        pytest.param(of_run("pull_request", "success", FORKS_ID), True, True, id="a fork's run"),
        pytest.param(of_run("pull_request", "failure", FORKS_ID), True, True, id="a fork's run that failed"),
        pytest.param(of_run("pull_request", "success", actor="dependabot[bot]"), True, True, id="Dependabot's run"),
        pytest.param(of_run("pull_request", "success"), False, True, id="a run of this repository"),
        pytest.param(of_run("pull_request", "failure"), False, True, id="one that failed"),
        pytest.param(of_run("pull_request", "cancelled"), False, True, id="one that was cancelled"),
        pytest.param(of_run("pull_request", "timed_out"), False, True, id="one that took too long"),
        pytest.param(of_run("pull_request", "skipped"), False, False, id="one that recorded nothing, as of a title"),
        pytest.param(of_run("pull_request", "skipped", FORKS_ID), False, False, id="the same of a fork"),
        pytest.param(of_run("merge_group", "failure"), False, True, id="the merge queue, which must not wait"),
        pytest.param(of_run("push", "success"), False, False, id="a push: it has no base"),
        pytest.param(of_run("workflow_dispatch", "success"), False, False, id="a start by hand"),
        pytest.param(of_pull("labeled", FORKS_ID, label=ACCEPT), True, True, id="the label"),
        pytest.param(of_pull("unlabeled", FORKS_ID, label=ACCEPT), True, True, id="the label taken off"),
        pytest.param(of_pull("labeled", label=ACCEPT), False, True, id="the label, in this repository"),
        pytest.param(of_pull("labeled", FORKS_ID, label="bug"), False, True, id="another label, which may waive"),
        pytest.param(of_pull("labeled", label="bug"), False, True, id="the same, in this repository"),
        pytest.param(of_pull("unlabeled", label="bug"), False, True, id="another label taken off, in this repository"),
        pytest.param(of_pull("edited", FORKS_ID, "base"), True, True, id="another base"),
        pytest.param(of_pull("edited", OURS_ID, "base"), True, True, id="another base, in this repository"),
        pytest.param(of_pull("edited", FORKS_ID, "title"), False, False, id="another title"),
        pytest.param(of_pull("edited", OURS_ID, "title"), False, False, id="another title, in this repository"),
        pytest.param(of_pull("closed", FORKS_ID), True, True, id="closed"),
        pytest.param(of_pull("closed"), True, True, id="closed, of this repository"),
        pytest.param(of_pull("closed", merged=True), False, False, id="merged"),
        pytest.param(of_pull("closed", FORKS_ID, merged=True), False, False, id="a fork's merged"),
        pytest.param(of_pull("reopened", FORKS_ID), True, True, id="reopened"),
        pytest.param(of_pull("reopened"), False, True, id="reopened, of this repository"),
        pytest.param(of_pull("reopened", user="dependabot[bot]"), True, True, id="reopened, of Dependabot"),
    ],
)
@each_row("app", [False, True], ids=["written", "hardened"])
def test_the_reporting_job_starts_where_something_was_recorded_or_an_acceptance_may_have_changed(
    context: dict[str, Any],
    alone: bool,  # noqa: FBT001 -- a table's column
    with_app: bool,  # noqa: FBT001 -- a table's column
    app: bool,  # noqa: FBT001 -- a table's column
) -> None:
    def look_up(name: str) -> Value:
        found: Any = {"github": {"event_name": "pull_request_target", **context}}
        for key in name.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return cast("Value", found)

    made = hardened("rankgate-report.yml") if app else report()
    starts = condition(made["jobs"]["report"]["if"], look_up, {"success": lambda: True})
    assert starts is (with_app if app else alone)


def test_the_merge_queue_gets_its_check_without_a_checkout_and_whatever_became_of_the_gate() -> None:
    queue = gate()["jobs"]["queue"]
    assert queue["needs"] == "gate"
    assert queue["if"] == "always() && github.event_name == 'merge_group'"
    assert not any("checkout" in each.get("uses", "") for each in queue["steps"])
    fetch, publish = step(gate(), "queue", "Fetch"), queue["steps"][-1]
    assert fetch["continue-on-error"] is True
    assert fetch["with"] == {"name": "rankgate", "path": "rankgate"}
    assert publish == {
        "name": "Publish the verdict",
        "uses": "rankgate/rankgate@v1.2.3",
        "with": {"report": "rankgate/report.json"},
    }


def test_without_a_retriever_the_committed_run_is_judged_and_nothing_is_installed() -> None:
    made = gate()
    assert [each for each in made["jobs"]["gate"]["steps"] if "run" in each] == []
    assert step(made, "gate", "Judge") == {
        "name": "Judge",
        "if": "${{ !cancelled() }}",
        "uses": "rankgate/rankgate@v1.2.3",
        "with": {"html": "true"},  # the criteria say where the run is, and how it is read
    }


@pytest.mark.parametrize("app", [False, True], ids=["written", "hardened"])
def test_whoever_judges_makes_the_page_and_nobody_else(app: bool) -> None:  # noqa: FBT001 -- a table's column
    """The queue has no comment that could lead to one."""
    ours = {
        (name, each["name"]): each.get("with", {}).get("html")
        for made in ([hardened("rankgate.yml"), hardened("rankgate-report.yml")] if app else [gate(), report()])
        for name, job in made["jobs"].items()
        for each in job["steps"]
        if "rankgate/rankgate@" in each.get("uses", "")
    }
    assert {where for where, html in ours.items() if html} == {
        ("report", "Judge and publish"),
        *([] if app else [("gate", "Judge")]),
    }
    assert set(ours.values()) <= {None, "true"}


def test_a_retriever_records_after_what_the_project_adds() -> None:
    recording = step(gate(records=True), "gate", "Record")
    assert recording["env"] == {"RUN": "run.jsonl", "BASE": BASE}
    assert recording["run"].splitlines() == [
        'rm -f -- "$RUN" # if recording fails, nothing older is judged in its place',
        "# ADD HERE what installs your project, such as: python -m pip install -r requirements.txt",
        f"python -m pip install '{INSTALL}'",
        'rankgate record ${BASE:+"--base=$BASE"}',
    ]
    other = step(hardened("rankgate.yml"), "gate", "Record")
    assert {*recording["run"].splitlines()[1::2]} < {*other["run"].splitlines()}
    assert other["env"]["BASE"] == BASE


@pytest.mark.parametrize(
    ("context", "fetched"),
    [
        pytest.param(of_pull("labeled"), True, id="a label"),
        pytest.param(of_pull("unlabeled"), True, id="a label taken off"),
        pytest.param(of_pull("edited", changed="title"), True, id="another title"),
        pytest.param(of_pull("edited", changed="base"), False, id="another base"),
        pytest.param(of_pull("opened"), False, id="opened"),
        pytest.param(of_pull("synchronize"), False, id="a push to it"),
        pytest.param(of_pull("reopened"), False, id="reopened"),
        pytest.param(of_push("refs/heads/main"), False, id="a push"),
    ],
)
def test_what_changes_nothing_of_the_run_judges_the_recorded_one_again(context: dict[str, Any], fetched: bool) -> None:  # noqa: FBT001 -- a table's column
    def look_up(name: str) -> Value:
        found: Any = {"github": context}
        for key in name.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return cast("Value", found)

    fetch = step(gate(records=True), "gate", "Fetch the recorded")
    assert bool(condition(fetch["if"], look_up, {"success": lambda: True})) is fetched


def test_the_step_that_has_a_token_runs_nothing_of_the_pull_request_and_may_find_nothing() -> None:
    made = gate(records=True, run=NASTY)
    fetch, record = step(made, "gate", "Fetch the recorded"), step(made, "gate", "Record")
    assert fetch["env"] == {"RUN": NASTY, "GITHUB_TOKEN": "${{ github.token }}"}
    lines = fetch["run"].splitlines()
    assert lines[0] == 'rm -f -- "$RUN"'
    assert all(line.startswith("python -I -m ") for line in lines[1:])
    assert (fetch["continue-on-error"], record["if"]) == (True, "steps.recorded.outcome != 'success'")
    assert "GITHUB_TOKEN" not in record["env"]
    assert made["jobs"]["gate"]["permissions"]["actions"] == "read"


def test_hardened_or_without_a_retriever_nothing_recorded_is_fetched() -> None:
    for made in (gate(), hardened("rankgate.yml")):
        assert not any("id" in each for each in made["jobs"]["gate"]["steps"])
    assert "if" not in step(hardened("rankgate.yml"), "gate", "Record")


def test_criteria_in_a_place_of_their_own_are_named_in_both_workflows() -> None:
    recording = step(gate(records=True, criteria="gates/search.yaml"), "gate", "Record")
    assert recording["env"]["CRITERIA"] == "gates/search.yaml"
    assert recording["run"].splitlines()[-1] == 'rankgate record --criteria="$CRITERIA" ${BASE:+"--base=$BASE"}'
    named = {"criteria": "gates/search.yaml", "html": "true"}
    assert step(gate(criteria="gates/search.yaml"), "gate", "Judge")["with"] == named
    assert step(report(criteria="gates/search.yaml"), "report", "Judge")["with"] == named
    assert step(report(), "report", "Judge")["with"] == {"html": "true"}


def test_the_apps_key_is_in_the_judging_job_alone_in_an_environment_of_its_own() -> None:
    """What a pull request can rewrite never gets it; and without the token no check of another source is posted."""
    text = (HARDENED / "rankgate.yml").read_text(encoding="utf-8")
    assert not re.search("secrets[.]|steps.app|create-github-app-token|: write", text)
    made = hardened("rankgate-report.yml")
    assert list(made["jobs"]) == ["report"]
    assert made["jobs"]["report"]["environment"] == "rankgate"
    assert "environment" not in report()["jobs"]["report"]
    token, ours = made["jobs"]["report"]["steps"][-2:]
    assert token == {
        "name": "Token of the team's App",
        "id": "app",
        "uses": token["uses"],
        "with": {
            "app-id": "123456",
            "private-key": "${{ secrets.RANKGATE_APP_KEY }}",
            "permission-actions": "read",
            "permission-checks": "write",
            "permission-contents": "read",
            "permission-pull-requests": "write",
        },
    }
    assert ours["with"] == {
        "html": "true",
        "token": "${{ steps.app.outputs.token }}",
        "bot-login": "${{ steps.app.outputs.app-slug }}[bot]",
    }


def test_the_hardened_gate_records_and_uploads_and_judges_only_what_has_no_base() -> None:
    made = hardened("rankgate.yml")
    names = [each.get("name") for each in made["jobs"]["gate"]["steps"]][2:]
    assert names == ["Record a run", "Put the run where it is uploaded from", "Upload the run", "Summarize"]
    assert step(made, "gate", "Put the run")["env"] == {"RUN": "run.jsonl", "GOLD": "gold.yaml"}
    assert step(made, "gate", "Upload")["with"] == {"name": "rankgate", "path": "${{ runner.temp }}/recorded/"}
    summary = step(made, "gate", "Summarize")
    assert summary["if"] == "${{ !github.event.pull_request && !github.event.merge_group }}"
    assert summary["with"] == {"run": "run.jsonl", "upload": "false"}


def test_what_is_written_reads_no_secret() -> None:
    assert "secrets." not in gate_text(JOB) + report_text(JOB)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("data/gold-v2.yaml", id="plain"),
        pytest.param("gold set.yaml", id="space"),
        pytest.param("it's.yaml", id="apostrophe"),
        pytest.param(NASTY, id="a quote, a command, a variable and a comment"),
        pytest.param("gold: v2 #1.yaml", id="what YAML takes for a key and a comment"),
        pytest.param("a\nb\u2028c\x85d\x7f.yaml", id="line breaks and controls"),
        pytest.param("perguntas-é-🧪.yaml", id="letters beyond ASCII and beyond 16 bits"),
        pytest.param("${{ secrets.KEY }}.yaml", id="an expression"),
        pytest.param("$${{{ 'x' }}.yaml", id="half an expression before another"),
        pytest.param("-gold.yaml", id="what looks like a flag"),
    ],
)
def test_a_path_reaches_the_action_and_the_shell_as_it_is(path: str) -> None:
    made = gate(records=True, run=path, criteria=path)
    recording = step(made, "gate", "Record")
    assert {name: as_github_reads(text) for name, text in recording["env"].items() if text != BASE} == {
        "RUN": path,
        "CRITERIA": path,
    }
    assert recording["run"] == step(gate(records=True, criteria="x"), "gate", "Record")["run"]
    assert as_github_reads(step(made, "gate", "Judge")["with"]["criteria"]) == path


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_as_a_scalar_on_one_line(text: str) -> None:
    line = quoted(text)
    assert len(line.splitlines()) == 1
    assert yaml.safe_load(f"key: {line} # a comment\n") == {"key": text}


@given(st.text(st.sampled_from("${} '\"a\\")))
def test_no_text_becomes_an_expression_of_its_own(text: str) -> None:
    read = yaml.safe_load(scalar(text))
    assert set(re.findall(r"\$\{\{(.*?)\}\}", read)) <= {" '${{' "}
    assert read.replace("${{ '${{' }}", "${{") == text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("main", True, id="a name"),
        pytest.param("release/2.x", True, id="with a slash"),
        pytest.param("", False, id="nothing"),
        pytest.param("!main", False, id="a filter that takes away"),
        pytest.param("v+", False, id="a filter that repeats"),
        pytest.param("a b", False, id="two words"),
        pytest.param("main\n", False, id="with a line break"),
        pytest.param("é", False, id="beyond ASCII"),
    ],
)
def test_a_word_means_only_itself(text: str, word: bool) -> None:  # noqa: FBT001 -- a table's column
    assert is_word(text) is word


@pytest.mark.parametrize(
    ("reference", "action"),
    [
        pytest.param(None, "rankgate/rankgate@v1.2.3", id="this version's tag"),
        pytest.param(f"rankgate/rankgate@{HASH}", f"rankgate/rankgate@{HASH} # v1.2.3", id="a hash, for update bots"),
        pytest.param(f"my-org/rank.gate@{HASH}", f"my-org/rank.gate@{HASH} # v1.2.3", id="a mirror"),
        pytest.param("rankgate/rankgate@v1.2.3", "rankgate/rankgate@v1.2.3", id="a tag"),
        pytest.param(f"rankgate/rankgate@{HASH[:-1]}", f"rankgate/rankgate@{HASH[:-1]}", id="not a whole hash"),
        pytest.param(f"rankgate/rankgate@{HASH}8", f"rankgate/rankgate@{HASH}8", id="more than a hash"),
    ],
)
def test_how_the_action_is_named(reference: str | None, action: str) -> None:
    assert action_of(reference, "1.2.3") == action


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param("rankgate", id="no owner"),
        pytest.param("rankgate/rankgate", id="no reference"),
        pytest.param("rankgate/rankgate@", id="an empty reference"),
        pytest.param("rankgate/rankgate@v1\nrun: x", id="a line of its own"),
        pytest.param("rankgate/rankgate@v1 # v2", id="a comment"),
        pytest.param("./local@v1/x y", id="a path"),
        pytest.param("a/b/c@v1", id="a folder of a repository"),
    ],
)
def test_what_is_no_action_is_refused(reference: str) -> None:
    with pytest.raises(RankgateError, match="is not OWNER/NAME@REF"):
        action_of(reference, "1.2.3")


def test_what_is_left_to_do_on_github() -> None:
    assert (
        to_do_on_github(replace(JOB, records=True))
        == """\
on GitHub (https://github.com/rankgate/rankgate/blob/main/docs/workflows.md):
  1. Write what installs your project into rankgate.yml, where it says ADD HERE; commit what the workflow installs: \
./rankgate-0.1.0-py3-none-any.whl.
  2. Pin the action by the hash of its commit, since a tag can be moved (bash, in the repository's root):
       hash=$(git ls-remote https://github.com/rankgate/rankgate refs/tags/v1.2.3 'refs/tags/v1.2.3^{}' | tail -n 1 \
| cut -f 1) && sed -i.tag "s|rankgate/rankgate@v1.2.3$|rankgate/rankgate@${hash:?no such tag} # v1.2.3|" \
.github/workflows/rankgate*.yml && rm .github/workflows/rankgate*.yml.tag
  3. Require the check `rankgate/verdict`, not the job `retrieval gate`, in a ruleset; an App of your own keeps it \
from being forged.
  4. Create its labels: gh label create 'rankgate: accept rankings' && gh label create 'rankgate: accept change'
"""
    )


@pytest.mark.parametrize(
    ("tag", "files"),
    [
        pytest.param(["tag", "v1.2.3"], ["rankgate.yml", "rankgate-report.yml"], id="a tag"),
        pytest.param(["tag", "-am", "The release", "v1.2.3"], ["rankgate.yml"], id="an annotated tag, one workflow"),
        pytest.param(["tag", "v1.2.30"], ["rankgate.yml"], id="no such tag"),
    ],
)
def test_the_command_that_pins_does(tmp_path: Path, tag: list[str], files: list[str]) -> None:
    home = tmp_path / "rankgate" / "rankgate"
    home.mkdir(parents=True)
    git = ["git", "-C", str(home), "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "tag.gpgSign=false"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x", "--no-gpg-sign"], tag):
        subprocess.run([*git, *words], check=True, capture_output=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    workflows = tmp_path / ".github" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "other.yml").write_text(f"      uses: {JOB.action}\n")
    for file in files:
        (workflows / file).write_text((gate_text if file == "rankgate.yml" else report_text)(JOB), encoding="utf-8")
    before = {file.name: file.read_text(encoding="utf-8") for file in workflows.iterdir()}

    command = to_do_on_github(JOB).partition("  1. ")[2].partition("  2. ")[0].partition("\n")[2]
    local = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{tmp_path.as_uri()}/.insteadOf"}
    around = {**os.environ, **local, "GIT_CONFIG_VALUE_0": "https://github.com/"}
    ended = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=around, capture_output=True, text=True, check=False
    )
    after = {file.name: file.read_text(encoding="utf-8") for file in workflows.iterdir()}
    if tag[-1] == "v1.2.30":
        assert (ended.returncode != 0, after) == (True, before)
        assert "no such tag" in ended.stderr
        return
    assert ended.returncode == 0, ended.stderr
    pinned_text = f"uses: {action_of(f'rankgate/rankgate@{head}', '1.2.3')}\n"
    assert after == {
        name: text if name == "other.yml" else text.replace(f"uses: {JOB.action}\n", pinned_text)
        for name, text in before.items()
    }
    assert all(pinned_text in after[file] for file in files)


def test_what_is_done_already_is_not_asked_for_again() -> None:
    text = to_do_on_github(replace(JOB, action=action_of(f"rankgate/rankgate@{HASH}", "1.2.3")))
    assert "git ls-remote" not in text
    assert "ADD HERE" not in text, "nothing is recorded"
    assert re.findall(r"^  (\d)\. ", text, re.MULTILINE) == ["1", "2"]


WRITTEN = gate_text(replace(JOB, records=True)) + report_text(JOB)
PINS = {use for use in re.findall(r"uses: (.+)", WRITTEN) if use != JOB.action}


@pytest.mark.parametrize("pin", sorted(PINS))
def test_written_workflows_pin_by_a_whole_hash_what_our_own_workflows_pin(pin: str) -> None:
    assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", pin)
    name = re.escape(pin.partition("@")[0])
    texts = [file.read_text(encoding="utf-8") for file in OURS.glob("*.yml")]
    if not texts:
        pytest.skip("a source distribution has no workflows")
    assert {use for text in texts for use in re.findall(rf"uses: ({name}@\S+ # \S+)", text)} == {pin}


def test_the_hardened_workflows_pin_what_the_written_ones_and_the_action_pin() -> None:
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    known = {*PINS, *re.findall(r"uses: (actions/upload-artifact@.+)", action)}
    used = {use for file in HARDENED.iterdir() for use in re.findall(r"uses: (.+)", file.read_text(encoding="utf-8"))}
    others = {use for use in used if not use.startswith("rankgate/rankgate@")} - known
    assert len(others) == 1
    assert re.fullmatch(r"actions/create-github-app-token@[0-9a-f]{40} # v\d+\.\d+\.\d+", others.pop())


def test_the_judges_key_is_where_it_is_decided_and_only_where_the_criteria_name_a_judge() -> None:
    key = "${{ secrets.RANKGATE_JUDGE_KEY }}"
    assert key not in gate_text(JOB) + report_text(JOB)
    text = gate_text(replace(JOB, judged=True, records=True))
    for inputs in (
        step(report(judged=True), "report", "Judge and publish")["with"],
        step(gate(judged=True), "gate", "Judge")["with"],
    ):
        assert (inputs["judge"], inputs["judge-key"]) == ("true", key)
    assert "with" in step(gate(judged=True), "queue", "Publish the verdict")
    assert text.count("secrets.") == 1


def test_a_job_that_asks_the_judge_outlives_that() -> None:
    """Besides what the reporting job does anyway."""
    waits = inspect.signature(Client).parameters["max_wait"].default
    minutes = report(judged=True)["jobs"]["report"]["timeout-minutes"]
    assert minutes * 60 >= MAX_JUDGING + 4 * MAX_SECONDS + 2 * waits
    assert gate(judged=True)["jobs"]["gate"]["timeout-minutes"] == minutes
    assert gate()["jobs"]["gate"]["timeout-minutes"] == 30


def test_where_a_key_is_to_be_stored_is_said() -> None:
    assert "gh secret set RANKGATE_JUDGE_KEY\n" in to_do_on_github(replace(JOB, judged=True))
    assert "JUDGE" not in to_do_on_github(JOB)
