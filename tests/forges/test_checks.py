"""The named check: in progress first, completed once, and never taken for another run's."""

from __future__ import annotations

import json

import pytest
from tests.forges.github import GitHub, PullRequest
from tests.forges.scripted import patient

from rankgate.forges.checks import CHECK, Check, Record, base_key, begin, check_name, complete
from rankgate.forges.client import ForgeError
from rankgate.forges.comments import ACTIONS_LOGIN
from rankgate.renderers.github import Annotation, CheckRunOutput

CHECK_RUNS = r"/check-runs$"


def check(
    github: GitHub,
    pull: PullRequest,
    run: int = 7,
    attempt: int = 1,
    gate: str = "default",
    *,
    job: str = "gate/0",
    base: str | None = None,
    login: str = ACTIONS_LOGIN,
) -> Check:
    key = base_key(base or pull.base_ref)
    return Check(
        repository=github.repository,
        sha=pull.head_sha,
        name=check_name(gate),
        login=login,
        record=Record(run=run, attempt=attempt, pull=pull.number, base=key, job=job),
        criteria=["ship-criteria.yaml"],
    )


def output(annotations: int = 0) -> CheckRunOutput:
    made = [
        Annotation(
            path="ship-criteria.yaml",
            start_line=number + 1,
            end_line=number + 1,
            annotation_level="failure",
            message=f"finding {number}",
        )
        for number in range(annotations)
    ]
    return CheckRunOutput(title="Fail: recall@5 fell by 5.8 pp", summary="**FAIL**", annotations=made)


def states(github: GitHub, sha: str) -> list[tuple[str, str, str | None]]:
    return [(run["name"], run["status"], run["conclusion"]) for run in github.check_runs(sha)]


def test_the_check_is_in_progress_first_and_then_completed_in_place(github: GitHub) -> None:
    pull = github.new_pull()
    client = patient(github.url, github.token)
    begin(client, check(github, pull))
    assert states(github, pull.head_sha) == [(CHECK, "in_progress", None)]
    complete(client, check(github, pull), output(), "failure")
    assert states(github, pull.head_sha) == [(CHECK, "completed", "failure")]
    (run,) = github.check_runs(pull.head_sha)
    assert run["output"]["title"] == "Fail: recall@5 fell by 5.8 pp"


def test_a_check_that_nobody_began_is_completed_all_the_same(github: GitHub) -> None:
    pull = github.new_pull()
    complete(patient(github.url, github.token), check(github, pull), output(), "success")
    assert states(github, pull.head_sha) == [(CHECK, "completed", "success")]


def test_every_run_and_attempt_completes_its_own(github: GitHub) -> None:
    """An older run that ends late must not complete the newer one's check, nor is its own green before that one's."""
    pull = github.new_pull()
    client = patient(github.url, github.token)
    older, newer = check(github, pull, 7), check(github, pull, 7, attempt=2)
    begin(client, older)
    begin(client, newer)
    complete(client, older, output(), "success")
    assert states(github, pull.head_sha) == [(CHECK, "completed", "action_required"), (CHECK, "in_progress", None)]
    complete(client, newer, output(), "failure")
    assert states(github, pull.head_sha) == [(CHECK, "completed", "failure")] * 2


def test_beginning_twice_makes_one_check(github: GitHub) -> None:
    pull = github.new_pull()
    for _ in range(2):
        begin(patient(github.url, github.token), check(github, pull))
    assert states(github, pull.head_sha) == [(CHECK, "in_progress", None)]


@pytest.mark.parametrize("fault", ["the answer is lost", "the server fails before"])
def test_a_post_without_an_answer_makes_one_check(github: GitHub, fault: str) -> None:
    pull = github.new_pull()
    if fault == "the answer is lost":
        github.drop_after("POST", CHECK_RUNS)
    else:
        github.status("POST", CHECK_RUNS, 502, json={"message": "Bad Gateway"})
    begin(patient(github.url, github.token), check(github, pull))
    assert states(github, pull.head_sha) == [(CHECK, "in_progress", None)]


@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_the_page_of_a_proxy_in_place_of_an_answer_leaves_one_check_that_is_complete(
    github: GitHub, method: str, *, done: bool
) -> None:
    pull = github.new_pull()
    client = patient(github.url, github.token)
    (github.page_after if done else github.page_before)(method, "/check-runs")
    begin(client, check(github, pull))
    complete(client, check(github, pull), output(), "failure")
    assert states(github, pull.head_sha) == [(CHECK, "completed", "failure")]
    assert len(github.asked(method, "/check-runs")) == (1 if done else 2)


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(0, [0]), (1, [1]), (50, [50]), (51, [50, 1]), (130, [50, 50, 30])],
    ids=str,
)
@pytest.mark.parametrize("begun", [True, False], ids=["begun", "not begun"])
def test_annotations_go_fifty_a_request_and_all_of_them(
    github: GitHub,
    count: int,
    sizes: list[int],
    begun: bool,  # noqa: FBT001
) -> None:
    pull = github.new_pull()
    client = patient(github.url, github.token)
    if begun:
        begin(client, check(github, pull))
    before = len(github.log)
    complete(client, check(github, pull), output(count), "failure")
    writes = [json.loads(each.body) for each in github.log[before:] if each.method != "GET"]
    assert [len(body["output"]["annotations"]) for body in writes] == sizes
    lines = [note["start_line"] for body in writes for note in body["output"]["annotations"]]
    assert lines == list(range(1, count + 1))


def test_a_further_gate_has_a_check_of_its_own(github: GitHub) -> None:
    pull = github.new_pull()
    client = patient(github.url, github.token)
    for gate in ("default", "search"):
        begin(client, check(github, pull, gate=gate))
    assert [name for name, _, _ in states(github, pull.head_sha)] == ["rankgate/verdict", "rankgate/verdict/search"]


def test_a_token_that_may_not_write_checks_is_a_refusal_that_says_so(github: GitHub) -> None:
    pull = github.new_pull()
    client = patient(github.url, github.token_with({"contents": "read", "metadata": "read", "checks": "read"}))
    with pytest.raises(ForgeError, match="403"):
        begin(client, check(github, pull))
