"""The reporting job: whose run it judges, by what, and what a fork cannot make it say."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace
from tests.forges.events import environment
from tests.forges.github import GitHub, PullRequest
from tests.forges.scripted import patient
from tests.report_keys import with_keys
from tests.scenario_calls import report_of

from rankgate.criteria.inputs import Inputs
from rankgate.errors import Problem, bad_input
from rankgate.forges.base_checkout import BaseCheckout, Subject
from rankgate.forges.checks import CHECK
from rankgate.forges.comments import Mark
from rankgate.forges.fork import Judged, concerns_forks, judge_fork, publish_each
from rankgate.forges.publish import Published, Settings, conclude, joined
from rankgate.forges.runner import Context, Pull, context_of
from rankgate.gates.not_judged import not_judged
from rankgate.model.base_ref import ACCEPT_CHANGE, ACCEPT_RANKINGS, LabelState, SetLabel
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Verdict

RUN = b'{"query_id": "q1", "retrieved": ["a"]}\n'


@dataclass
class Verdicts:
    """Stands for the checkouts of the bases: the verdict by base, and what was judged."""

    by_base: dict[str, str] = field(default_factory=dict)
    trusting: tuple[str, ...] = ()  # the bases whose criteria accept the rankings of all forks
    judged: list[tuple[int, str, bytes]] = field(default_factory=list)
    labels: list[SetLabel] | None = None  # by which the pull request's own criteria and gold set judged, too
    gold: bytes | None = None
    gate: str = "gate"  # what the base's files are
    accepted: list[bool] = field(default_factory=list)  # whether the judge may be asked about a fork's answers

    @property
    def at_base(self) -> BaseCheckout:
        return cast("BaseCheckout", self)

    def merged(self, pull: Pull) -> str:
        return "merged"

    def subject(self, pull: Pull, head: str | None, run: bytes | str, gold: bytes | None = None) -> Subject:
        return Subject(f"{head} {pull.head_sha} {self.gate}.{run!r}")

    def judge(
        self,
        pull: Pull,
        run: bytes,
        *,
        head: str | None = None,
        labels: Sequence[SetLabel] = (),
        gold: bytes | None = None,
        accepted: bool = False,
    ) -> Report:
        self.judged.append((pull.number, pull.base_sha, run))
        self.accepted.append(accepted)
        self.labels, self.gold = None if head is None else list(labels), gold
        verdict = self.by_base.get(pull.base_sha, "pass")
        if verdict == "problem":
            raise bad_input("this base is not in the clone", key="base")
        report = with_keys(decode_report(report_of(verdict), verdict), untrusted_run=True)
        return with_keys(report, fork_runs="trusted") if pull.base_sha in self.trusting else report

    def at_tip(self, pull: Pull) -> Pull:
        return pull

    def not_judged(self, problems: Sequence[Problem]) -> Report:
        return not_judged(Inputs(date="2026-01-31"), problems)


def zipped(content: bytes, name: str = "run.jsonl", **others: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, data in {name: content, **others}.items():
            archive.writestr(each, data)
    return held.getvalue()


EARLY, LATE = "2000-01-01T00:00:00Z", "2099-01-01T00:00:00Z"  # before and after all that happens in a test
Answered = tuple[Any, Published, Verdicts]


@dataclass
class ReportingJob:
    """The job that judges what another one left, and what GitHub says to it."""

    github: GitHub
    folder: Path

    def artifact(self, content: bytes | None = None, *, named: str = "rankgate") -> None:
        """What GitHub says of run 7, which was started once, and of its artifacts."""
        data = zipped(RUN) if content is None else content
        self.github.keep(data, name=named)

    def runs(self, pull: PullRequest, *runs: dict[str, Any]) -> None:
        plays_runs(self.github, pull, *runs)

    def permits(self, login: str, permission: str) -> None:
        plays_permission(self.github, login, permission)

    def accepts(self, pull: PullRequest, *events: dict[str, Any], by: str = "alice", may: str = "write") -> None:
        accepts(self.github, pull, *events, by=by, may=may)

    def sets(self, pull: PullRequest, at: str = LATE) -> None:
        """carol accepts what a pull request changes."""
        self.github.label(pull.number, ACCEPT_CHANGE)
        self.permits("carol", "write")
        self.github.timelines[pull.number] = [happened(5, "labeled", at, by="carol", label=ACCEPT_CHANGE)]

    def context(self, event: str, pull: PullRequest, queue: str | None = None, **about: Any) -> Context:
        """Of an event; of a finished workflow as one of a merge group, where its branch is named."""
        context = context_of(environment(self.folder, self.github, event, pull=pull, **about))
        if queue is None or context.workflow_run is None:
            return context
        return replace(context, workflow_run=replace(context.workflow_run, event="merge_group", head_branch=queue))

    def does(
        self, context: Context, verdicts: Verdicts, settings: Settings, token: str
    ) -> tuple[Report | None, Published]:
        """What the phases `judge` and `publish` of the action do, the second one also where the first was ended."""
        client, left, told = patient(self.github.url, token), self.folder / "pulls.json", Published()
        left.write_text("[]")
        ended = verdicts.not_judged([Problem("the job ended before there was a verdict")])
        try:
            told = judge_fork(client, context, settings, verdicts.at_base, "rankgate", left)
        finally:
            found = msgspec.json.decode(left.read_bytes(), type=list[Judged])
            told = joined(told, publish_each(client, found, settings, ended)) if found else told
        if context.settles and not found:
            told = joined(told, conclude(client, context, ended, settings))
        return (found[0].report if found else None), told

    def report(
        self,
        pull: PullRequest,
        event: str = "workflow_run",
        verdicts: Verdicts | None = None,
        runs: Sequence[dict[str, Any]] = ({},),
        **about: Any,
    ) -> Answered:
        """What the job does on an event."""
        self.runs(pull, *runs)
        used = verdicts or Verdicts()
        return *self.does(self.context(event, pull, **about), used, Settings(), self.github.token), used

    def app_judges(
        self,
        pull: PullRequest,
        event: str = "workflow_run",
        verdict: str = "pass",
        runs: Sequence[dict[str, Any]] = ({},),
        may: str = "write",
        **about: Any,
    ) -> Answered:
        """The same for a team whose GitHub App posts, so that no other job judges."""
        self.runs(pull, *runs)
        self.permits("alice", may)
        self.permits("mallory", "read")
        used, settings, token = (
            Verdicts({pull.base_sha: verdict}),
            Settings(login="acme-gate[bot]"),
            self.github.app_token(),
        )
        context = self.context(event, pull, **about)
        return *self.does(context, used, settings, token), used

    def labelled(self, pull: PullRequest, **about: Any) -> Answered:
        """What the job does on a maintainer's label."""
        return self.report(pull, "pull_request_target", **{"label": ACCEPT_RANKINGS, "run": 8, **about})

    def recorded(self) -> PullRequest:
        """A fork's pull request whose own job has left a run."""
        self.artifact()
        return self.github.fork_pull()

    def reported(self) -> PullRequest:
        """The same with a report."""
        pull = self.recorded()
        self.report(pull)
        return pull

    def pull_of_writer(self) -> PullRequest:
        """A pull request from a branch of the repository whose job has left a run."""
        self.artifact()
        return self.github.new_pull()

    def concluded(self, pull: PullRequest) -> list[str | None]:
        checks = self.github.check_runs(pull.head_sha)
        assert {check["name"] for check in checks} <= {CHECK}
        return [check["conclusion"] for check in checks]


def queue_of(pull: PullRequest) -> str:
    return f"gh-readonly-queue/main/pr-{pull.number}-{pull.base_sha}"


@pytest.fixture
def job(github: GitHub, tmp_path: Path) -> ReportingJob:
    return ReportingJob(github, tmp_path)


def plays_runs(github: GitHub, pull: PullRequest, *runs: dict[str, Any]) -> None:
    """What GitHub lists of a commit's workflows: for each entry run 7, started once and ended, except as it says."""
    github.runs = [as_listed(pull, **about) for about in runs]


def as_listed(pull: PullRequest, **about: Any) -> dict[str, Any]:
    """A run of the gate's workflow for a pull request."""
    usual = {
        "id": 7,
        "run_attempt": 1,
        "name": "rankgate",
        "event": "pull_request",
        "status": "completed",
        "conclusion": "success",
        "head_sha": pull.head_sha,
        "head_repository": {"id": pull.head_repository},
        "actor": {"login": "mallory"},
        "run_started_at": EARLY,
    }
    return {**usual, **about}


def happened(
    number: int, event: str, at: str = LATE, *, by: str = "alice", label: str = ACCEPT_RANKINGS
) -> dict[str, Any]:
    """An event of a pull request, as GitHub lists it."""
    named = {"label": {"name": label, "color": "ededed"}} if "label" in event else {}
    return {"id": number, "event": event, "actor": {"login": by}, "created_at": at, **named}


# What else GitHub lists there: a commit has neither a number nor a time.
OF_NO_TIME = ({"event": "committed", "sha": "c" * 40}, {"event": "reviewed", "id": 9, "submitted_at": LATE})


def accepts(github: GitHub, pull: PullRequest, *events: dict[str, Any], by: str = "alice", may: str = "write") -> None:
    """The label is put on a pull request, after all reports unless the events say otherwise."""
    github.label(pull.number, ACCEPT_RANKINGS)
    plays_permission(github, by, may)
    github.timelines[pull.number] = [*OF_NO_TIME, *(events or [happened(1, "labeled", by=by)])]


def plays_permission(github: GitHub, login: str, permission: str) -> None:
    github.permissions[login] = permission


def test_a_forks_run_is_judged_at_the_base_commented_on_and_checked(job: ReportingJob) -> None:
    pull = job.recorded()
    report, told, verdicts = job.report(pull, verdicts=Verdicts({pull.base_sha: "fail"}))
    assert verdicts.judged == [(pull.number, pull.base_sha, RUN)]
    assert report.verdict.value == "fail"
    (comment,) = job.github.comments(pull.number)
    assert "FAIL" in comment.body
    assert job.concluded(pull) == ["failure"]
    assert told.troubles == []


def test_a_pass_of_a_fork_asks_for_a_maintainer(job: ReportingJob) -> None:
    """The gold set can be read, so the rankings may be made up: neither success nor anything that counts as one."""
    pull = job.reported()
    assert job.concluded(pull) == ["action_required"]
    (check,) = job.github.check_runs(pull.head_sha)
    assert "rankings supplied by the pull request" in check["output"]["title"]


def new_run(**about: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run 7, which was reported, and another one."""
    return {}, {"id": 8, **about}


def test_a_label_accepts_no_rankings_but_those_that_were_reported(job: ReportingJob) -> None:
    """What the maintainer saw was run 7; the newest one holds others. The comment says so, and the label stays."""
    pull = job.reported()
    job.accepts(pull)
    job.labelled(pull)
    assert job.concluded(pull) == ["success"]
    job.artifact(zipped(RUN + b"\n"))
    report, _, verdicts = job.labelled(pull, runs=[{"run_attempt": 2}], run=9)
    assert "what is judged now is not what was reported before it was set" in report.remarks.notes[-1]
    assert (job.concluded(pull)[-1], verdicts.accepted) == ("action_required", [False])
    assert job.github.labels(pull.number) == [ACCEPT_RANKINGS]


def test_a_label_accepts_by_no_other_files_of_the_base(job: ReportingJob) -> None:
    """What the base judges by now is a later report, of the same attempt, and the label was set before it."""
    pull = job.reported()
    job.accepts(pull)
    first = job.github.check_runs(pull.head_sha)[0]["completed_at"]
    job.labelled(pull, verdicts=Verdicts(gate="another"))
    [check] = job.github.check_runs(pull.head_sha)
    assert (check["conclusion"], check["completed_at"] >= first) == ("action_required", True)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"conclusion": "skipped"}, id="what the label set off, and skipped itself"),
        pytest.param(
            {"status": "queued", "conclusion": None, "run_started_at": LATE}, id="what the label just set off"
        ),
        pytest.param({"name": "tests"}, id="another workflow"),
        pytest.param({"head_sha": "c" * 40}, id="of another commit"),
        pytest.param({"event": "push"}, id="of another event"),
        pytest.param({"head_repository": {"id": 999}}, id="of another fork with the same commit"),
        pytest.param({"head_repository": None}, id="of a fork that is gone"),
    ],
)
def test_what_records_nothing_for_this_commit_stands_in_no_labels_way(job: ReportingJob, other: dict[str, Any]) -> None:
    pull = job.reported()
    job.accepts(pull)
    job.labelled(pull, runs=new_run(**other))
    assert job.concluded(pull) == ["success"]


def test_a_forks_answers_are_asked_about_only_while_a_label_accepts_the_very_run_that_is_judged(
    job: ReportingJob,
) -> None:
    pull = job.recorded()
    assert job.report(pull)[2].accepted == [False]
    job.accepts(pull)
    assert job.labelled(pull)[2].accepted == [True]
    assert job.labelled(pull, verdicts=Verdicts(gate="another"), run=9)[2].accepted == [False]


def test_a_label_that_is_taken_off_accepts_no_longer(job: ReportingJob) -> None:
    pull = job.reported()
    job.accepts(pull)
    job.labelled(pull)
    job.github.unlabel(pull.number, ACCEPT_RANKINGS)
    job.report(pull, "pull_request_target", action="unlabeled", run=9)
    assert job.concluded(pull) == ["action_required"]


def test_the_same_run_judged_again_is_no_later_report(job: ReportingJob) -> None:
    """The label itself sets that off, and so does an edit: what people could read first is what counts."""
    pull = job.reported()
    first = job.github.check_runs(pull.head_sha)[0]["completed_at"]
    number = job.github.check_runs(pull.head_sha)[0]["id"]
    job.github.do("PATCH", f"/check-runs/{number}", {"completed_at": EARLY}, by=job.github.token)
    job.accepts(pull, happened(5, "labeled", "2001-01-01T00:00:00Z"))
    for run in (8, 9):
        job.report(pull, "pull_request_target", label=ACCEPT_RANKINGS, run=run)
        (check,) = job.github.check_runs(pull.head_sha)
        assert (check["conclusion"], check["completed_at"]) == ("success", EARLY), first


def test_what_waited_is_judged_from_the_state_that_it_finds(job: ReportingJob) -> None:
    """GitHub replaces jobs that wait: the one after run 6 judges run 7, and heeds a label whose own job never began."""
    pull = job.reported()
    job.accepts(pull)
    job.report(pull, "workflow_run", runs=[{"id": 6}, {}], of_run=6)
    assert job.concluded(pull) == ["success"]


def test_a_run_that_github_does_not_list_yet_is_judged(job: ReportingJob) -> None:
    pull = job.recorded()
    job.github.unlisted_runs = [as_listed(pull)]
    job.report(pull, runs=())
    assert job.concluded(pull) == ["action_required"]


NOT_YET = "the pull request is one of this repository, and its own workflow decides when it is judged"


def test_a_label_on_a_pull_request_of_this_repository_accepts_nothing(job: ReportingJob) -> None:
    """Its own job has judged it, by this very check: rankings of an artifact must not take the verdict's place."""
    pull = job.pull_of_writer()
    job.accepts(pull, may="admin")
    report, told, verdicts = job.labelled(pull)
    assert (report, verdicts.judged, job.concluded(pull)) == (None, [], [])
    assert told.done == [f"nothing to do: {NOT_YET}"]


@pytest.mark.parametrize(
    ("actor", "concluded"),
    [
        pytest.param("dependabot[bot]", ["success"], id="its own run"),
        pytest.param("alice", [], id="the run of somebody's own branch at the same commit"),
    ],
)
def test_a_label_on_a_pull_request_of_dependabot_accepts_as_on_a_forks(
    job: ReportingJob, actor: str, concluded: list[str]
) -> None:
    """Its branch lies in this repository, but its own job could not write."""
    pull = job.pull_of_writer()
    job.runs(pull, {"actor": {"login": actor}})
    job.accepts(pull, by="carol")
    labelled: dict[str, Any] = {"label": ACCEPT_RANKINGS, "run": 8}
    for event, about in (("workflow_run", {}), ("pull_request_target", labelled)):
        context = replace(job.context(event, pull, **about), read_only=True)
        if context.workflow_run:
            context = replace(context, workflow_run=replace(context.workflow_run, from_fork=True))
            job.github.unlabel(pull.number, ACCEPT_RANKINGS)
        else:
            job.github.label(pull.number, ACCEPT_RANKINGS)
        job.does(context, Verdicts(), Settings(), job.github.token)
    assert job.concluded(pull) == concluded


def test_a_label_on_one_pull_request_judges_every_other_with_that_head_too(job: ReportingJob) -> None:
    """The check is the commit's: a label where the base is content must not turn it green where it is not."""
    pulls, release = two_bases(job)
    job.artifact()
    verdicts = Verdicts({pulls[0].base_sha: "pass", release: "fail"})
    job.report(pulls[0], verdicts=verdicts)
    job.accepts(pulls[0])
    report, _, again = job.labelled(pulls[0], verdicts=Verdicts(verdicts.by_base))
    assert [number for number, _, _ in again.judged] == [each.number for each in pulls]
    assert report.verdict.value == "fail"
    assert job.concluded(pulls[0]) == ["failure"] * 2


def test_a_label_on_a_pull_request_that_was_closed_meanwhile_changes_nothing(job: ReportingJob) -> None:
    pull = job.reported()
    job.accepts(pull)
    job.github.close(pull.number)
    report, told, _ = job.labelled(pull)
    assert report is None
    assert told.done == [f"nothing to do: no open pull request has {pull.head_sha[:12]} as its head"]
    assert job.concluded(pull) == ["action_required"]


@pytest.mark.parametrize("permission", ["read", "triage", "none"])
def test_a_label_of_somebody_who_may_not_write_accepts_nothing(job: ReportingJob, permission: str) -> None:
    """Whoever the event's sender is: who set the label counts."""
    pull = job.reported()
    job.accepts(pull, by="mallory", may=permission)
    job.report(pull, "pull_request_target", label=ACCEPT_RANKINGS, sender="alice", run=8)
    [comment] = job.github.comments(pull.number)
    assert "it was set by a bot, or by somebody who may not write to this repository" in comment.body
    assert job.concluded(pull) == ["action_required"]


def test_the_label_of_a_branch_here_accepts_nothing_and_the_comment_says_so(job: ReportingJob) -> None:
    pull = job.reported()
    job.sets(pull)
    report, _, _ = job.report(pull, "pull_request_target", label=ACCEPT_CHANGE, run=8)
    assert report.remarks.notes[-1] == (
        f"The label `{ACCEPT_CHANGE}` changes nothing: on this pull request that is `{ACCEPT_RANKINGS}`."
    )
    assert job.concluded(pull) == ["action_required"]


def test_where_nobody_can_tell_who_set_the_label_it_accepts_nothing(job: ReportingJob) -> None:
    pull = job.recorded()
    job.accepts(pull)
    job.github.play("GET", f"/issues/{pull.number}/timeline", 403, json={"message": "Resource not accessible"})
    report, _, _ = job.report(pull)
    assert "GitHub did not say who set it" in report.remarks.notes[-1]
    assert job.concluded(pull) == ["action_required"]


def test_another_label_accepts_nothing(job: ReportingJob) -> None:
    pull = job.reported()
    job.github.label(pull.number, "bug")
    job.report(pull, "pull_request_target", label="bug", run=8)
    assert job.concluded(pull) == ["action_required"]


def test_a_label_accepts_no_other_commit(job: ReportingJob) -> None:
    pull = job.reported()
    job.accepts(pull, happened(5, "labeled", "2098-01-01T00:00:00Z"))
    assert job.report(replace_head(pull, job.github.push_fork()))[2].accepted == [False]
    assert job.concluded(job.github.pull(pull.number)) == ["action_required"]


def replace_head(pull: PullRequest, sha: str) -> PullRequest:
    return PullRequest(pull.number, sha, pull.base_sha, pull.head_repository)


def test_a_label_accepts_the_run_that_was_reported_and_no_other(job: ReportingJob) -> None:
    """Our check names it; what a stranger's comment says does not count."""
    pull = job.recorded()
    forged = Mark(gate="default", sha=pull.head_sha, run=99, attempt=1, verdict=Verdict.PASS)
    job.github.comment(pull.number, f"{forged.line()}\nfine", by="mallory")
    job.report(pull)
    job.accepts(pull)
    job.labelled(pull)
    assert job.concluded(pull) == ["success"]
    assert {each.path.split("?")[0].split("/")[-2] for each in job.github.asked("GET", "/artifacts")} == {
        "7",
        str(job.github.artifacts[7][0]["id"]),
    }


def test_a_label_before_any_verdict_accepts_nothing(job: ReportingJob) -> None:
    pull = job.github.fork_pull()
    job.accepts(pull)
    report, told, _ = job.report(pull, "pull_request_target", label=ACCEPT_RANKINGS)
    assert report is None
    assert told.done == [f"nothing to do: no run for {pull.head_sha[:12]} has ended yet"]


def test_the_pull_request_is_never_taken_from_the_artifact_or_the_payload(job: ReportingJob) -> None:
    """Another pull request's number in the archive changes nothing; the head of the run says which one it is."""
    other, pull = job.github.new_pull("other"), job.github.fork_pull()
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("pr-number.txt", str(other.number))
        archive.writestr("report.json", '{"verdict": "pass"}')
        archive.writestr("run.jsonl", RUN)
    job.artifact(held.getvalue())
    job.report(pull)
    assert job.github.comments(other.number) == []
    assert len(job.github.comments(pull.number)) == 1


def two_bases(job: ReportingJob) -> tuple[tuple[PullRequest, PullRequest], str]:
    """Two pull requests of one commit of a fork, for main and for an older release, and where the release is."""
    job.github.branch("release")
    release = job.github.push("release", "release.txt", "older")
    return (job.github.fork_pull(), job.github.open_pull("mallory:change", base="release", by="mallory")), release


def test_every_open_pull_request_of_that_head_is_judged_by_its_own_base_and_the_check_takes_the_worst(
    job: ReportingJob,
) -> None:
    (first, second), release = two_bases(job)
    job.artifact()
    verdicts = Verdicts({first.base_sha: "pass", release: "fail"})
    report, _, _ = job.report(first, verdicts=verdicts)
    assert [(number, base) for number, base, _ in verdicts.judged] == [
        (first.number, first.base_sha),
        (second.number, release),
    ]
    assert report.verdict.value == "fail"
    bodies = [job.github.comments(each.number)[0].body for each in (first, second)]
    assert "✅ PASS." in bodies[0]
    assert f"all reports of this commit. Fail: pull request #{second.number} fails." in bodies[0]
    assert "❌ FAIL." in bodies[1]
    assert job.concluded(first) == ["failure"] * 2


@pytest.mark.parametrize(
    ("at_main", "at_release", "concluded"),
    [
        pytest.param("pass", "fail", "failure", id="a failure before a pass"),
        pytest.param("pass", "pass", "action_required", id="a pass that nobody has accepted before one that counts"),
        pytest.param("pass", "warn", "action_required", id="a pass that nobody has accepted before a warning"),
    ],
)
def test_the_check_concludes_as_the_strictest_base_does(
    job: ReportingJob, at_main: str, at_release: str, concluded: str
) -> None:
    """The release believes every fork, main does not: a milder verdict may keep more from merging."""
    (first, _), release = two_bases(job)
    job.artifact()
    job.report(first, verdicts=Verdicts({first.base_sha: at_main, release: at_release}, trusting=(release,)))
    assert job.concluded(first) == [concluded] * 2


def test_a_closed_pull_request_is_left_alone_with_a_clear_line(job: ReportingJob) -> None:
    pull = job.github.fork_pull()
    job.github.close(pull.number)
    job.artifact()
    report, told, _ = job.report(pull)
    assert report is None
    assert told.done == [f"nothing to do: no open pull request has {pull.head_sha[:12]} as its head"]
    assert job.concluded(pull) == []


def test_the_same_commit_in_another_repository_is_another_pull_request(job: ReportingJob) -> None:
    pull = job.recorded()
    report, told, _ = job.report(PullRequest(pull.number, pull.head_sha, pull.base_sha, 999_999))
    assert report is None
    assert "no open pull request" in told.done[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"not a zip", "it is no zip archive", id="not an archive"),
        pytest.param(zipped(RUN, "../run.jsonl"), "the artifact is not read", id="a path that leads out"),
        pytest.param(zipped(RUN, "other.jsonl"), "it has no file of that name", id="another file"),
        pytest.param(zipped(b"a" * 30_000_000), "200 times its size", id="a bomb"),
    ],
)
def test_a_hostile_artifact_is_no_verdict(job: ReportingJob, content: bytes, said: str) -> None:
    pull = job.github.fork_pull()
    job.artifact(content)
    report, _, verdicts = job.report(pull)
    assert verdicts.judged == []
    assert report.verdict.value == "not_judged"
    assert said in report.problems[0].message
    assert "NOT JUDGED" in job.github.comments(pull.number)[0].body
    assert job.concluded(pull) == ["failure"]


def test_a_workflow_that_left_no_run_is_no_verdict(job: ReportingJob) -> None:
    pull = job.github.fork_pull()
    job.artifact(named="something else")
    report, _, _ = job.report(pull)
    assert "left no artifact of this name" in report.problems[0].message
    assert job.concluded(pull) == ["failure"]


def test_a_base_that_is_not_in_the_clone_is_no_verdict(job: ReportingJob) -> None:
    pull = job.recorded()
    report, _, _ = job.report(pull, verdicts=Verdicts({pull.base_sha: "problem"}))
    assert report.problems[0].message == "this base is not in the clone"
    assert job.concluded(pull) == ["failure"]


def test_an_interruption_between_two_pull_requests_is_no_verdict(job: ReportingJob) -> None:
    """The one that was not judged any more may be the one that fails."""

    class Interrupted(Verdicts):
        def judge(self, pull: Pull, run: bytes, **about: Any) -> Report:
            if self.judged:
                raise KeyboardInterrupt
            return super().judge(pull, run, **about)

    (first, second), release = two_bases(job)
    job.artifact()
    with pytest.raises(KeyboardInterrupt):
        job.report(first, verdicts=Interrupted(trusting=(first.base_sha, release)))
    judged, ended = job.github.check_runs(first.head_sha)
    assert (judged["conclusion"], judged["output"]["title"]) == (
        "failure",
        f"Fail: pull request #{second.number} fails",
    )
    assert (ended["conclusion"], ended["output"]["title"]) == (
        "failure",
        "Not judged: the job ended before there was a verdict",
    )
    assert "the job ended before there was a verdict" in ended["output"]["summary"]
    (comment,) = job.github.comments(second.number)
    assert "NOT JUDGED" in comment.body


@pytest.mark.parametrize("event", ["push", "schedule", "pull_request_target"])
def test_a_workflow_of_another_event_is_not_ours_to_report(job: ReportingJob, event: str) -> None:
    pull = job.github.fork_pull()
    context = job.context("workflow_run", pull)
    assert context.workflow_run is not None
    other = replace(context, workflow_run=replace(context.workflow_run, event=event))
    found, told = job.does(other, Verdicts(), Settings(), job.github.token)
    assert found is None
    assert told.done == ["nothing to do: the workflow was not one of a fork's pull request"]


def test_a_pull_request_of_the_repository_itself_is_its_own_jobs_to_report(job: ReportingJob) -> None:
    report, told, _ = job.report(job.github.new_pull())
    assert report is None
    assert told.done == ["nothing to do: the workflow was not one of a fork's pull request"]


def test_only_finished_workflows_and_labels_concern_forks(job: ReportingJob) -> None:
    pull = job.github.new_pull()

    def concerned(event: str, **about: Any) -> bool:
        return concerns_forks(job.context(event, pull, **about))

    assert concerned("workflow_run")
    assert concerned("pull_request_target", label="bug")
    assert all(concerned("pull_request_target", action=each) for each in ("unlabeled", "edited", "closed", "reopened"))
    assert not concerned("pull_request_target", action="synchronize")
    assert not concerned("pull_request")
    assert not concerned("push")


@pytest.mark.parametrize(("verdict", "concluded"), [("pass", "success"), ("warn", "success"), ("fail", "failure")])
def test_with_an_app_the_run_of_a_writers_branch_is_judged_at_the_base_and_counts(
    job: ReportingJob, verdict: str, concluded: str
) -> None:
    pull = job.pull_of_writer()
    report, _, verdicts = job.app_judges(pull, verdict=verdict)
    assert verdicts.judged == [(pull.number, pull.base_sha, RUN)]
    assert "whoever can push could have invented them" in report.remarks.notes[-1]
    assert job.concluded(pull) == [concluded]
    assert len(job.github.comments(pull.number)) == 1


@pytest.mark.parametrize("conclusion", ["failure", "cancelled", "timed_out"])
def test_with_an_app_a_recording_that_failed_is_not_judged_and_the_check_fails(
    job: ReportingJob, conclusion: str
) -> None:
    pull = job.github.new_pull()
    report, _, _ = job.app_judges(pull, runs=[{"conclusion": conclusion}])
    assert report.verdict is Verdict.NOT_JUDGED
    assert job.concluded(pull) == ["failure"]


def test_with_an_app_a_run_of_this_repository_counts_as_a_forks_where_its_author_may_not_write(
    job: ReportingJob,
) -> None:
    """Anybody may open a pull request from a branch that is there."""
    job.github.branch("change")
    job.github.push("change", "change.txt", "a change")
    pull = job.github.open_pull("change", by="mallory")
    job.artifact()
    job.app_judges(pull)
    assert job.concluded(pull) == ["action_required"]


@pytest.mark.parametrize("may", ["triage", "none"])
def test_with_an_app_who_may_not_write_any_more_is_not_believed(job: ReportingJob, may: str) -> None:
    pull = job.pull_of_writer()
    job.app_judges(pull, may=may)
    assert job.concluded(pull) == ["action_required"]


@pytest.mark.parametrize(
    "newer", [pytest.param({"id": 8}, id="another run"), pytest.param({"run_attempt": 2}, id="the same once more")]
)
def test_with_an_app_nothing_is_success_while_a_newer_recording_is_at_work(
    job: ReportingJob, newer: dict[str, Any]
) -> None:
    pull = job.pull_of_writer()
    at_work = {**newer, "status": "in_progress", "conclusion": None}
    report, _, _ = job.app_judges(pull, runs=[{}, at_work])
    assert report is None
    assert job.concluded(pull) == []


@pytest.mark.parametrize("action", ["edited", "reopened"])
def test_with_an_app_another_base_or_a_reopening_is_no_success_until_it_is_recorded_anew(
    job: ReportingJob, action: str
) -> None:
    """The old run is not judged again: it was of another merge commit."""
    job.github.branch("release")
    pull = job.pull_of_writer()
    job.app_judges(pull)
    if action == "edited":
        pull = job.github.retarget(pull.number, "release")
    else:
        job.github.close(pull.number)
        job.app_judges(pull, "pull_request_target", action="closed", run=8)
        job.github.reopen(pull.number)
    report, told, _ = job.app_judges(pull, "pull_request_target", action=action, run=9)
    assert report is None
    assert told.done[0] == f"nothing to do: {NOT_YET}"
    assert job.concluded(pull) == ["action_required"]
    job.app_judges(pull)
    assert job.concluded(pull) == ["success"]


def test_with_an_app_a_label_judges_the_recorded_run_again(job: ReportingJob) -> None:
    pull = job.pull_of_writer()
    job.app_judges(pull)
    _, _, verdicts = job.app_judges(pull, "pull_request_target", "fail", label=ACCEPT_RANKINGS, run=8)
    assert verdicts.judged == [(pull.number, pull.base_sha, RUN)]
    assert job.concluded(pull) == ["failure"]


@pytest.mark.parametrize(("verdict", "concluded"), [("pass", "success"), ("fail", "failure"), ("problem", "failure")])
def test_with_an_app_the_merge_queue_is_judged_onto_what_its_branch_names(
    job: ReportingJob, verdict: str, concluded: str
) -> None:
    """Without a comment, since a group is no pull request; and the queue never waits for nothing."""
    pull = job.pull_of_writer()
    _, _, verdicts = job.app_judges(pull, verdict=verdict, queue=queue_of(pull))
    assert verdicts.judged == [(0, pull.base_sha, RUN)]
    assert job.concluded(pull) == [concluded]
    assert job.github.comments(pull.number) == []


def counts(state: LabelState = "counts") -> list[SetLabel]:
    return [SetLabel(name=ACCEPT_CHANGE, by="carol", state=state)]


def test_with_an_app_labels_count_on_a_writers_pull_request_once_its_head_was_reported(job: ReportingJob) -> None:
    """Its own criteria and gold set judge as well, as without an App; and the gold set that its job made."""
    pull = job.github.new_pull()
    job.artifact(zipped(RUN, gold=b"made"))
    _, _, first = job.app_judges(pull)
    assert (first.labels, first.gold) == ([], b"made")
    job.sets(pull)
    _, _, second = job.app_judges(pull, "pull_request_target", label=ACCEPT_CHANGE, run=8)
    assert second.labels == counts()
    job.github.unlabel(pull.number, ACCEPT_CHANGE)
    _, _, third = job.app_judges(pull, "pull_request_target", action="unlabeled", run=9)
    assert third.labels == []


def test_with_an_app_a_label_that_was_set_before_any_report_counts_for_nothing(job: ReportingJob) -> None:
    """A push one second before the label is of a head that nobody has seen judged."""
    pull = job.pull_of_writer()
    job.sets(pull)
    _, _, verdicts = job.app_judges(pull)
    assert verdicts.labels == counts("unreported")


@pytest.mark.parametrize("whose", ["a fork's", "a stranger's, from a branch here"])
def test_with_an_app_nothing_of_a_stranger_judges_whatever_its_labels(job: ReportingJob, whose: str) -> None:
    if whose == "a fork's":
        pull = job.github.fork_pull()
    else:
        job.github.branch("change")
        job.github.push("change", "change.txt", "a change")
        pull = job.github.open_pull("change", by="mallory")
    job.artifact(zipped(RUN, gold=b"made"))
    job.app_judges(pull)
    job.sets(pull)
    _, _, verdicts = job.app_judges(pull, "pull_request_target", label=ACCEPT_CHANGE, run=8)
    assert (verdicts.labels, verdicts.gold) == (None, None)
    assert job.concluded(pull) == ["action_required"]


def test_with_an_app_a_pull_request_of_another_app_from_a_branch_here_counts_as_a_writers(job: ReportingJob) -> None:
    """Dependabot, Renovate: whatever pushed the branch may write."""
    pull = job.github.new_pull()
    job.github.by(pull.number, "renovate[bot]", "Bot")
    job.artifact()
    _, _, verdicts = job.app_judges(pull, may="none")
    assert verdicts.labels == []
    assert job.concluded(pull) == ["success"]


def test_with_an_app_a_label_of_the_pull_request_counts_in_the_merge_queue(job: ReportingJob) -> None:
    pull = job.pull_of_writer()
    job.app_judges(pull)
    job.sets(pull)
    _, _, verdicts = job.app_judges(pull, queue=queue_of(pull))
    assert (verdicts.judged[0][0], verdicts.labels) == (0, counts())


def test_without_an_app_the_merge_queue_has_a_job_of_its_own(job: ReportingJob) -> None:
    pull = job.github.new_pull()
    queued = job.context("workflow_run", pull, queue_of(pull))
    found, _ = job.does(queued, Verdicts(), Settings(), job.github.token)
    assert (found, job.concluded(pull)) == (None, [])
