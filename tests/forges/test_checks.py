"""The named check on GitHub: in progress first, completed in place, and the worst of what counts."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forges.github import GitHub, PullRequest
from tests.forges.scripted import patient
from tests.rows import each_row

from rankgate.forges.checks import (
    CHECK,
    QUEUE,
    Check,
    Record,
    Result,
    base_key,
    begin,
    check_name,
    commit_verdict,
    complete,
    record_of,
)
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


MAIN, WEAK = base_key("main"), base_key("weak")


def said(
    pull: int, result: Result, *, run: int = 100, attempt: int = 1, job: str = "gate/0", base: str | None = None
) -> Record:
    bases = {11: MAIN, 12: WEAK, 20: MAIN}
    return Record(run=run, attempt=attempt, pull=pull, base=base or bases.get(pull, MAIN), job=job, result=result)


BOTH = {11: MAIN, 12: WEAK}
ONE = {11: MAIN}
SUCCESS = ("success",)
FAILS = ("failure", "pull request #11 fails")
NO_REPORT_OF_11 = ("action_required", "pull request #11 has no report yet")
NO_REPORT_OF_12 = ("action_required", "pull request #12 has no report yet")


@each_row(
    ("records", "counted", "outcome"),
    [
        pytest.param([said(11, "success")], ONE, SUCCESS, id="one report"),
        pytest.param([said(11, "failure")], ONE, FAILS, id="one that fails"),
        pytest.param(
            [said(11, "failure"), said(12, "success", run=101)],
            BOTH,
            FAILS,
            id="another pull request of the same head does not turn it green",
        ),
        pytest.param([said(12, "success")], BOTH, NO_REPORT_OF_11, id="one without a report keeps it from success"),
        pytest.param(
            [said(11, "success"), said(12, "pending")], BOTH, NO_REPORT_OF_12, id="one that is being judged, too"
        ),
        pytest.param(
            [said(11, "failure"), said(12, "pending")],
            BOTH,
            FAILS,
            id="a failure says more than a report that is not there",
        ),
        pytest.param(
            [said(11, "failure"), said(12, "success")], {12: WEAK}, SUCCESS, id="one that was closed counts no more"
        ),
        pytest.param(
            [said(12, "success"), said(12, "success", run=101)],
            {12: MAIN},
            NO_REPORT_OF_12,
            id="a report by another base than the pull request has now is none",
        ),
        pytest.param(
            [said(11, "action_required"), said(12, "success")],
            BOTH,
            ("action_required", "pull request #11 asks for a maintainer"),
            id="one that asks for a maintainer",
        ),
        pytest.param(
            [said(11, "success", attempt=2), said(11, "failure", run=101)],
            ONE,
            FAILS,
            id="an older run that was started again",
        ),
        pytest.param(
            [said(11, "failure", attempt=2), said(11, "success", run=101)],
            ONE,
            SUCCESS,
            id="nor does it take the newer one's success back",
        ),
        pytest.param(
            [said(11, "failure"), said(11, "success", attempt=2)], ONE, SUCCESS, id="a later attempt of the job"
        ),
        pytest.param(
            [said(11, "success"), said(11, "pending", attempt=2)],
            ONE,
            NO_REPORT_OF_11,
            id="a later attempt that has not ended",
        ),
        pytest.param(
            [said(11, "failure", job="gate/0"), said(11, "success", job="gate/1")],
            ONE,
            ("failure", "pull request #11 in job gate/0 fails"),
            id="two jobs of one run",
        ),
        pytest.param(
            [
                said(11, "failure", job="gate/0"),
                said(11, "success", job="gate/1"),
                said(11, "success", job="gate/1", attempt=2),
            ],
            ONE,
            ("failure", "pull request #11 in job gate/0 fails"),
            id="an attempt replaces the result of its own job and no other's",
        ),
        pytest.param(
            [said(11, "failure", job="a.yml/gate/0"), said(11, "success", job="b.yml/gate/0", run=101)],
            ONE,
            ("failure", "pull request #11 in job a.yml/gate/0 fails"),
            id="a job of the same id in another workflow, which ran later",
        ),
        pytest.param(
            [said(11, "success"), said(11, "failure")],
            ONE,
            FAILS,
            id="two results of one attempt: two steps of a job with one gate id",
        ),
        pytest.param(
            [said(11, "success"), said(11, "pending")], ONE, SUCCESS, id="a second check that a lost answer made"
        ),
        pytest.param([said(20, "failure"), said(11, "success")], ONE, SUCCESS, id="a fork's where it does not count"),
        pytest.param(
            [said(QUEUE, "success"), said(11, "failure")], {}, SUCCESS, id="a merge group's own, and no other"
        ),
        pytest.param(
            [said(QUEUE, "failure"), said(11, "success")],
            ONE,
            ("failure", "this commit fails"),
            id="a pull request of the merge group's commit",
        ),
        pytest.param([said(QUEUE, "success")], ONE, SUCCESS, id="the queue waits for no pull request of its commit"),
        pytest.param(
            [said(QUEUE, "success"), said(11, "failure")], ONE, FAILS, id="but one that has failed is not turned green"
        ),
        pytest.param(
            [said(11, "success")],
            {},
            ("action_required", "no open pull request has this commit as its head"),
            id="closed, so that nobody else inherits the success",
        ),
        pytest.param(
            [said(11, "success")],
            None,
            (
                "action_required",
                "GitHub does not list the open pull requests of this commit; the job needs `pull-requests: read`",
            ),
            id="nobody knows who else is there",
        ),
        pytest.param([said(11, "failure"), said(12, "success")], None, FAILS, id="nor then is a failure lost"),
    ],
)
def test_the_worst_of_what_counts(
    records: list[Record], counted: dict[int, str] | None, outcome: tuple[str, ...]
) -> None:
    for order in itertools.permutations(records):
        found = commit_verdict(order, counted)
        assert (found.conclusion, *found.reasons) == outcome, "whatever order GitHub lists them in"


RECORDS = st.builds(
    Record,
    run=st.integers(0, 10**18),
    attempt=st.integers(0, 10**8),
    pull=st.integers(0, 10**9),
    base=st.text("0123456789abcdef", min_size=12, max_size=12),
    job=st.from_regex(r"[A-Za-z0-9_./-]{1,170}", fullmatch=True),
    result=st.sampled_from(["pending", "success", "action_required", "failure"]),
)


@given(RECORDS)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    assert record_of(record.text()) == record


@each_row(
    "text",
    [
        None,
        "",
        "rankgate 7/1",
        "{}",
        "[" * 100_000,
        "\ud800",
        said(11, "success").text() + "}",
        said(11, "success").text().replace("success", "neutral"),
        said(11, "success").text().replace("gate/0", "gate`0"),
        said(11, "success").text().replace('"gate/0"', '"gate/0\\n"'),
        said(11, "success").text().replace("11", '"11"'),
        said(11, "success").text().replace("100", "9" * 5000),
    ],
    ids=lambda text: str(text)[:40],
)
def test_anything_else_is_no_record(text: str | None) -> None:
    assert record_of(text) is None


@pytest.mark.full
@given(st.lists(RECORDS, max_size=6), st.dictionaries(st.integers(1, 30), st.just(MAIN), max_size=3))
def test_one_more_pull_request_never_makes_it_milder(records: list[Record], counted: dict[int, str]) -> None:
    order = ["success", "action_required", "failure"]
    fewer = commit_verdict(records, counted)
    more = commit_verdict(records, {**counted, 31: MAIN})
    if counted or any(record.pull == QUEUE for record in records):
        assert order.index(more.conclusion) >= order.index(fewer.conclusion)


@given(st.text())
def test_any_branch_has_a_key(branch: str) -> None:
    assert record_of(said(11, "success", base=base_key(branch)).text()) is not None
