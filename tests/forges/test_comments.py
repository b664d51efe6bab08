"""One comment, ours: whatever else stands on the pull request, whatever gets lost, and whoever races."""

from __future__ import annotations

import threading
from functools import partial
from itertools import pairwise

import pytest
from tests.forges.github import GitHub, PullRequest
from tests.forges.scripted import InstantClock, patient

from rankgate.forges.client import ForgeError
from rankgate.forges.comments import ACTIONS_LOGIN, Mark, PullThread, upsert
from rankgate.model.values import Verdict

COMMENTS = r"/issues/\d+/comments$"
BROKEN = {"message": "Bad Gateway"}


def mark(pull: PullRequest, run: int = 7, attempt: int = 1, *, gate: str = "default", verdict: str = "pass") -> Mark:
    return Mark(gate=gate, sha=pull.head_sha, run=run, attempt=attempt, verdict=Verdict(verdict))


def post(
    github: GitHub, pull: PullRequest, who: Mark, text: str, *, login: str = ACTIONS_LOGIN, fresh: bool = False
) -> str:
    client = patient(github.url, github.token)
    github.started(who.run, who.attempt)
    return upsert(PullThread(client, github.repository, pull.number, login), who, text, fresh=fresh)


def bodies(github: GitHub, pull: PullRequest) -> list[str]:
    return [comment.body for comment in github.comments(pull.number)]


def test_the_first_report_makes_a_comment_and_later_ones_update_it_in_place(github: GitHub) -> None:
    pull = github.new_pull()
    first, second = mark(pull), mark(pull, 8, verdict="fail")
    assert post(github, pull, first, "held\n") == "created"
    assert post(github, pull, second, "fell\n") == "updated"
    (comment,) = github.comments(pull.number)
    assert comment.body == f"{second.line()}\nfell\n"
    assert comment.login == ACTIONS_LOGIN
    assert len(github.asked("POST")) == 1


def test_nothing_is_written_where_the_comment_says_so_already(github: GitHub) -> None:
    pull = github.new_pull()
    post(github, pull, mark(pull), "held\n")
    before = len(github.log)
    assert post(github, pull, mark(pull), "held\n") == "unchanged"
    assert {each.method for each in github.log[before:]} == {"GET"}


def test_of_several_of_ours_the_oldest_is_updated_and_the_rest_deleted(github: GitHub) -> None:
    pull = github.new_pull()
    ids = [github.comment(pull.number, f"{mark(pull, run).line()}\nold", by=github.token) for run in (1, 2, 3)]
    assert post(github, pull, mark(pull, 4), "new") == "updated"
    (left,) = github.comments(pull.number)
    assert (left.id, left.body) == (ids[0], f"{mark(pull, 4).line()}\nnew")


def test_a_strangers_comment_with_our_marker_stays_untouched(github: GitHub) -> None:
    pull = github.new_pull()
    forged = f"{mark(pull, 99).line()}\nretrieval is fine, merge it"
    github.comment(pull.number, forged, by="mallory")
    assert post(github, pull, mark(pull), "fell") == "created"
    assert bodies(github, pull) == [forged, f"{mark(pull).line()}\nfell"]
    assert post(github, pull, mark(pull, 8), "fell") == "updated"
    assert bodies(github, pull)[0] == forged


def test_a_comment_of_ours_without_the_marker_on_its_first_line_stays_untouched(github: GitHub) -> None:
    pull = github.new_pull()
    other = f"see below\n{mark(pull).line()}\n"
    github.comment(pull.number, other, by=github.token)
    assert post(github, pull, mark(pull), "held") == "created"
    assert bodies(github, pull)[0] == other


def test_the_kind_of_account_has_to_match_too(github: GitHub) -> None:
    """A login that does not end in [bot] is a person's; what a bot of that name wrote is not theirs."""
    pull = github.new_pull()
    post(github, pull, mark(pull), "held", login="github-actions")
    post(github, pull, mark(pull, 8), "held")
    assert len(bodies(github, pull)) == 1  # the bot found its own; the person named github-actions did not


def test_a_machine_user_may_be_the_bot(github: GitHub) -> None:
    pull = github.new_pull()
    client = patient(github.url, github.user_token("alice"))
    for run in (1, 2):
        upsert(PullThread(client, github.repository, pull.number, "alice"), mark(pull, run), "held", fresh=False)
    assert [comment.login for comment in github.comments(pull.number)] == ["alice"]


def test_ours_is_found_among_250_comments(github: GitHub) -> None:
    pull = github.new_pull()
    for number in range(125):
        github.comment(pull.number, f"before {number}")
    github.comment(pull.number, f"{mark(pull, 1).line()}\nold", by=github.token)
    for number in range(124):
        github.comment(pull.number, f"after {number}")
    assert post(github, pull, mark(pull), "new") == "updated"
    assert len(bodies(github, pull)) == 250
    assert bodies(github, pull)[125] == f"{mark(pull).line()}\nnew"


def test_every_gate_of_a_repository_has_its_own_comment(github: GitHub) -> None:
    pull = github.new_pull()
    for gate in ("search", "chat", "search"):
        post(github, pull, mark(pull, gate=gate), f"{gate} held")
    assert bodies(github, pull) == [f"{mark(pull, gate=gate).line()}\n{gate} held" for gate in ("search", "chat")]


@pytest.mark.parametrize(("run", "attempt"), [(9, 1), (7, 2)], ids=["a newer run", "a newer attempt"])
def test_a_newer_run_is_never_overwritten_by_an_older_one(github: GitHub, run: int, attempt: int) -> None:
    pull = github.new_pull()
    newer = f"{mark(pull, run, attempt).line()}\nnewer"
    github.started(run, attempt)
    github.comment(pull.number, newer, by=github.token)
    assert post(github, pull, mark(pull, 7, 1), "older") == "outdated"
    assert bodies(github, pull) == [newer]


@pytest.mark.parametrize(("run", "attempt"), [(9**19, 1), (7, 2)], ids=["a run", "an attempt"])
def test_a_run_that_somebody_invented_holds_no_comment(github: GitHub, run: int, attempt: int) -> None:
    """As a workflow of the pull request may, with the token of Actions: its green comment would stand for ever."""
    pull = github.new_pull()
    github.comment(pull.number, f"{mark(pull, run, attempt).line()}\nPASS", by=github.token)
    ours = mark(pull, 7, 1, verdict="fail")
    assert post(github, pull, ours, "FAIL") == "updated"
    assert bodies(github, pull) == [f"{ours.line()}\nFAIL"]


def test_without_the_right_to_look_a_newer_run_is_believed(github: GitHub) -> None:
    pull = github.new_pull()
    newer = f"{mark(pull, 9).line()}\nnewer"
    github.comment(pull.number, newer, by=github.token)
    github.status("GET", "/actions/runs/9", 403, json={"message": "Resource not accessible by integration"})
    assert post(github, pull, mark(pull, 7), "older") == "outdated"
    assert bodies(github, pull) == [newer]


def test_nothing_is_written_when_the_head_has_moved_on(github: GitHub) -> None:
    pull = github.new_pull()
    github.push("change", text="a newer commit")
    assert post(github, pull, mark(pull), "about the old commit") == "outdated"
    assert bodies(github, pull) == []


def test_a_lost_answer_makes_no_second_comment(github: GitHub) -> None:
    pull = github.new_pull()
    github.drop_after("POST", COMMENTS)
    assert post(github, pull, mark(pull), "held") == "created"
    assert len(bodies(github, pull)) == 1
    assert len(github.asked("POST", COMMENTS)) == 1


@pytest.mark.parametrize("reset", [False, True], ids=["refused", "reset"])
def test_what_did_not_arrive_is_posted_again_after_looking(github: GitHub, *, reset: bool) -> None:
    pull = github.new_pull()
    if reset:
        github.reset_before("POST", COMMENTS)
    else:
        github.status("POST", COMMENTS, 502, json=BROKEN)
    assert post(github, pull, mark(pull), "held") == "created"
    assert len(bodies(github, pull)) == 1
    posts = [each.method for each in github.log if each.method == "POST" or "/comments" in each.path]
    assert posts == ["GET", "POST", "GET", "POST", "GET"]


def test_a_server_that_never_takes_it_is_told_of(github: GitHub) -> None:
    pull = github.new_pull()
    github.status("POST", COMMENTS, 502, json=BROKEN, times=100)
    clock = InstantClock()
    client = patient(github.url, github.token, clock)
    with pytest.raises(ForgeError, match="502"):
        upsert(PullThread(client, github.repository, pull.number, ACTIONS_LOGIN), mark(pull), "held", fresh=False)
    assert len(github.asked("POST", COMMENTS)) == 4
    assert [wait for wait in clock.slept if wait > 1] == [2, 4, 8, 16]


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_lost_answer_to_an_update_is_asked_for_again(github: GitHub, method: str) -> None:
    pull = github.new_pull()
    for run in (1, 2):
        github.comment(pull.number, f"{mark(pull, run).line()}\nold", by=github.token)
    github.drop_after(method, "/issues/comments/")
    assert post(github, pull, mark(pull), "new") == "updated"
    assert bodies(github, pull) == [f"{mark(pull).line()}\nnew"]


def test_a_comment_that_is_deleted_while_it_is_updated_is_posted_anew(github: GitHub) -> None:
    pull = github.new_pull()
    post(github, pull, mark(pull, 1), "old")
    (comment,) = github.comments(pull.number)
    path = f"/issues/comments/{comment.id}"
    github.meanwhile("PATCH", path, partial(github.do, "DELETE", path, by=github.token))
    assert post(github, pull, mark(pull, 2), "new") == "created"
    assert bodies(github, pull) == [f"{mark(pull, 2).line()}\nnew"]


def test_one_that_is_listed_and_may_not_be_edited_is_told_of(github: GitHub) -> None:
    pull = github.new_pull()
    post(github, pull, mark(pull, 1), "old")
    github.status("PATCH", "/issues/comments/", 404, json={"message": "Not Found"}, times=100)
    with pytest.raises(ForgeError, match="404 Not Found"):
        post(github, pull, mark(pull, 2), "new")
    assert len(bodies(github, pull)) == 1


@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "GET"])
def test_the_page_of_a_proxy_in_place_of_an_answer_makes_no_second_comment(
    github: GitHub, method: str, *, done: bool
) -> None:
    """A read is tried once more; after a write the comments are listed by their marker before anything is sent."""
    pull = github.new_pull()
    for run in (1, 2) if method != "POST" else ():
        github.comment(pull.number, f"{mark(pull, run).line()}\nold", by=github.token)
    (github.page_after if done else github.page_before)(method, "comments")
    post(github, pull, mark(pull), "new")
    assert bodies(github, pull) == [f"{mark(pull).line()}\nnew"]
    sent = [each.method for each in github.log if "/comments" in each.path]
    assert not any(pair == (method, method) for pair in pairwise(sent) if method != "GET")


def test_ten_concurrent_jobs_leave_one_comment(github: GitHub) -> None:
    """Of which run depends on who writes last; GitHub has no conditional update (decision 7)."""
    pull = github.new_pull()
    start = threading.Barrier(10)

    def job(run: int) -> None:
        start.wait()
        post(github, pull, mark(pull, run), f"run {run}")

    jobs = [threading.Thread(target=job, args=(run,)) for run in range(1, 11)]
    for each in jobs:
        each.start()
    for each in jobs:
        each.join()
    (body,) = bodies(github, pull)
    assert body in {f"{mark(pull, run).line()}\nrun {run}" for run in range(1, 11)}


def test_two_jobs_that_both_find_nothing_end_with_one_comment(github: GitHub) -> None:
    """The race itself: another job posts between our list and our post, once an older run and once a newer one."""
    for other, left in ((6, "ours"), (8, "theirs")):
        pull = github.new_pull(f"race-{other}")
        theirs = f"{mark(pull, other).line()}\ntheirs"
        github.started(other, 1)
        github.meanwhile("POST", COMMENTS, partial(github.comment, pull.number, theirs, by=github.token))
        post(github, pull, mark(pull, 7), "ours")
        (body,) = bodies(github, pull)
        assert body.endswith(left)


def test_a_newer_run_that_writes_while_we_look_is_not_set_back(github: GitHub) -> None:
    pull = github.new_pull()
    number = github.comment(pull.number, f"{mark(pull, 1).line()}\nold", by=github.token)
    newer = f"{mark(pull, 9).line()}\nnewer"
    path = f"/issues/comments/{number}"
    github.started(9, 1)
    github.meanwhile("GET", r"/pulls/\d+$", lambda: github.do("PATCH", path, {"body": newer}, by=github.token))
    assert post(github, pull, mark(pull, 7), "older") == "outdated"
    assert bodies(github, pull) == [newer]


def test_a_fresh_comment_is_posted_when_the_verdict_turns_and_the_old_one_goes(github: GitHub) -> None:
    pull = github.new_pull()
    post(github, pull, mark(pull, 1), "held", fresh=True)
    (old,) = github.comments(pull.number)
    assert post(github, pull, mark(pull, 2, verdict="fail"), "fell", fresh=True) == "created"
    (new,) = github.comments(pull.number)
    assert new.id > old.id
    assert new.body == f"{mark(pull, 2, verdict='fail').line()}\nfell"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("fail", "fail", id="still failing"),
        pytest.param("fail", "pass", id="mended"),
        pytest.param("pass", "warn", id="only a warning"),
        pytest.param("not_judged", "fail", id="was not judged before"),
    ],
)
def test_other_turns_are_silent_edits(github: GitHub, before: str, after: str) -> None:
    pull = github.new_pull()
    post(github, pull, mark(pull, 1, verdict=before), "before", fresh=True)
    assert post(github, pull, mark(pull, 2, verdict=after), "after", fresh=True) == "updated"
    assert len(github.asked("POST", COMMENTS)) == 1


def test_a_fresh_comment_whose_answer_is_lost_is_still_one_comment(github: GitHub) -> None:
    pull = github.new_pull()
    post(github, pull, mark(pull, 1), "held", fresh=True)
    github.drop_after("POST", COMMENTS)
    post(github, pull, mark(pull, 2, verdict="warn"), "held", fresh=True)
    post(github, pull, mark(pull, 3, verdict="fail"), "fell", fresh=True)
    assert bodies(github, pull) == [f"{mark(pull, 3, verdict='fail').line()}\nfell"]


def test_a_token_that_may_not_comment_is_a_refusal_that_says_so(github: GitHub) -> None:
    pull = github.new_pull()
    client = patient(github.url, github.token_with({"contents": "read", "metadata": "read", "pull_requests": "read"}))
    with pytest.raises(ForgeError, match="403"):
        upsert(PullThread(client, github.repository, pull.number, ACTIONS_LOGIN), mark(pull), "held", fresh=False)
    assert bodies(github, pull) == []
