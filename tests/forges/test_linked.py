"""Which addresses a job knows: its run, its page and the criteria; and that no text of others makes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.forges.events import environment
from tests.forges.github import GitHub, PullRequest
from tests.forges.test_fork import ReportingJob, Verdicts, job  # noqa: F401 -- a fixture
from tests.report_keys import with_keys
from tests.scenario_calls import report_of

from rankgate.forges.publish import Settings, linked
from rankgate.forges.runner import Context, JudgingRun, Pull, context_of
from rankgate.model.base_ref import BaseSide
from rankgate.model.report import Links, Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Verdict

HOME = "https://github.com/acme/rag"
HEAD, BASE = "a" * 40, "b" * 40
PULL = Pull(12, HEAD, "main", BASE, 2, from_fork=True)
CONTEXT = Context(
    event="pull_request",
    api_url="https://api.github.com",
    server_url="https://github.com",
    repository="acme/rag",
    sha=HEAD,
    pull=PULL,
    run=JudgingRun(id=7, attempt=1),
)


def report(criteria: str | None = "ship-criteria.yaml", **changes: Any) -> Report:
    made = decode_report(report_of("fail"), "fail")
    return with_keys(made, provenance=replace(made.provenance, criteria=criteria), **changes)


def links(made: Report, context: Context = CONTEXT, criteria: str | None = None) -> Links:
    found = linked(made, context, Settings(criteria=criteria)).links
    assert isinstance(found, Links)
    return found


@pytest.mark.parametrize(
    ("event", "sha"),
    [
        pytest.param("pull_request", "head_sha", id="a pull request: its head"),
        pytest.param("merge_group", "head_sha", id="the group's head"),
        pytest.param("push", "head_sha", id="what was pushed"),
    ],
)
def test_the_criteria_lie_in_the_commit_of_the_check(github: GitHub, tmp_path: Path, event: str, sha: str) -> None:
    pull = github.new_pull()
    context = context_of(environment(tmp_path, github, event, pull=pull, attempt=2))
    home = f"https://github.com/{github.repository}"
    assert links(report(), context) == Links(
        run=f"{home}/actions/runs/7/attempts/2", criteria=f"{home}/blob/{getattr(pull, sha)}/ship-criteria.yaml"
    )


def test_a_forks_run_was_judged_by_the_base_alone() -> None:
    """And a writer's by both sides: there the pull request's own criteria are the ones that are shown."""
    assert links(report(untrusted_run=True)).criteria == f"{HOME}/blob/{BASE}/ship-criteria.yaml"
    base = BaseSide(ref="main", sha=BASE, head_verdict=Verdict.PASS)
    assert links(report(untrusted_run=True, base=base)).criteria == f"{HOME}/blob/{HEAD}/ship-criteria.yaml"


@pytest.mark.parametrize(
    ("path", "named", "linked"),
    [
        pytest.param("ship-criteria.yaml", None, "ship-criteria.yaml", id="a usual place"),
        pytest.param("./config/ship-criteria.yaml", None, "config/ship-criteria.yaml", id="spelled otherwise"),
        pytest.param(
            "gates/search & chat.yaml", "gates/search & chat.yaml", "gates/search%20%26%20chat.yaml", id="named"
        ),
        pytest.param("gates/search.yaml", "./gates/search.yaml", "gates/search.yaml", id="named otherwise"),
        pytest.param("gates/search.yaml", None, None, id="a place that only the report names"),
        pytest.param("../../../evil/x/blob/main/a.yaml", "../../../evil/x/blob/main/a.yaml", None, id="leads out"),
        pytest.param("https://evil.example/x.yaml", None, None, id="an address"),
        pytest.param("/home/me/ship-criteria.yaml", "/home/me/ship-criteria.yaml", None, id="of this machine"),
        pytest.param("ship-criteria.yaml\u202e", "ship-criteria.yaml\u202e", None, id="hidden characters"),
        pytest.param(None, None, None, id="none"),
        pytest.param(None, "ship-criteria.yaml", None, id="none was read"),
    ],
)
def test_only_a_place_that_the_job_looks_at_is_linked(path: str | None, named: str | None, linked: str | None) -> None:
    assert links(report(path), criteria=named).criteria == (linked and f"{HOME}/blob/{HEAD}/{linked}")


def test_outside_of_a_job_there_is_no_run() -> None:
    assert links(report(), replace(CONTEXT, event="", run=JudgingRun())) == Links(
        criteria=f"{HOME}/blob/{HEAD}/ship-criteria.yaml"
    )


def of_page(folder: Path, github: GitHub, pull: PullRequest, page: str, host: str = "https://github.com") -> str | None:
    told = environment(folder, github, "pull_request", pull=pull)
    told |= {"RANKGATE_PAGE": page, "GITHUB_SERVER_URL": host, "GITHUB_REPOSITORY": "acme/rag"}
    return context_of(told).links.page


@pytest.mark.parametrize("host", ["https://github.com", "https://ghe.acme.example", "https://ghe.acme.example:8443"])
def test_the_page_is_an_artifact_of_this_repository(github: GitHub, tmp_path: Path, host: str) -> None:
    pull, page = github.new_pull(), f"{host}/acme/rag/actions/runs/7/artifacts/31"
    assert of_page(tmp_path, github, pull, page, host) == page
    wrong = [
        *("", "x", f"{page}/", f"{page}?x", f"{page}\n", f" {page}", f"{page})"),
        *(page.replace("acme", "evil"), page.replace(host, "https://evil.example"), page.replace("31", "٣١")),
    ]
    assert [of_page(tmp_path, github, pull, each, host) for each in wrong] == [None] * len(wrong)


def test_a_forks_comment_leads_to_the_run_that_judged(job: ReportingJob) -> None:  # noqa: F811 -- the fixture
    """Its own run is not linked: its log says whatever the fork likes; the criteria are the base's."""
    pull = job.recorded()
    job.runs(pull, {})
    context = job.context("workflow_run", pull, run=99, of_run=7)
    context = replace(context, links=replace(context.links, page=f"{HOME}/actions/runs/99/artifacts/1"))
    job.does(context, Verdicts(), Settings(), job.github.token)
    (comment,) = job.github.comments(pull.number)
    home = f"https://github.com/{job.github.repository}"
    assert f"[run](<{home}/actions/runs/99/attempts/1>) · [criteria](<{home}/blob/{pull.base_sha}/" in comment.body
    assert "/actions/runs/7" not in comment.body
    (check,) = job.github.check_runs(pull.head_sha)
    assert check["details_url"] == f"{home}/actions/runs/99/attempts/1"
    assert f"[run](<{home}/actions/runs/99/attempts/1>)" in check["output"]["summary"]
