"""What a commit's check says, as a table: records of check runs and the open pull requests in, one conclusion out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.forges.checks import QUEUE, Record, Result, base_key, commit_verdict, record_of

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
