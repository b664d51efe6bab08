"""`rankgate comment` in a job of GitLab CI: one note, one status, and what becomes of them whatever happens."""

from __future__ import annotations

import json
import os
import re
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypothesis import example, given
from hypothesis import strategies as st
from tests.forges.gitlab.instance import MergeRequest, Pipeline, Role, without_quick_actions
from tests.forges.gitlab.job import job_variables
from tests.forges.gitlab.server import Gitlab
from tests.forges.scripted import InstantClock, playing, reply
from tests.renderers.page import Page
from tests.renderers.test_markdown import filled_with
from tests.scenario_calls import report_of

import rankgate.forges.client
from rankgate.cli import main
from rankgate.forges.client import GITLAB, Client
from rankgate.forges.comments import Mark, mark_of
from rankgate.forges.gitlab.publish import NoteThread
from rankgate.model.values import Verdict
from rankgate.renderers.escape import block, code
from rankgate.renderers.markdown import render_markdown

NOTES = r"/merge_requests/\d+/notes(\?|$)"


@dataclass
class Job:
    """A job in the pipeline of a merge request, whose clock does not make anybody wait."""

    gitlab: Gitlab
    request: MergeRequest
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def enter(self, pipeline: Pipeline | None = None, *, job: int = 41, **changes: str) -> None:
        variables = job_variables(self.gitlab, self.request, pipeline, job=job)
        for name, value in (variables | {"RANKGATE_GITLAB_TOKEN": self.gitlab.token} | changes).items():
            self.monkeypatch.setenv(name, value)

    def comment(self, verdict: str = "fail", *words: str) -> int:
        Path(f"{verdict}.json").write_bytes(report_of(verdict))
        return main(["comment", f"{verdict}.json", *words])

    def note(self) -> str:
        """The one note."""
        (note,) = self.gitlab.notes(self.request.iid)
        return note.body

    def states(self, sha: str | None = None) -> list[tuple[str, str]]:
        """Name and state of the statuses that count in the job's pipeline."""
        found = self.gitlab.statuses(sha or os.environ["CI_COMMIT_SHA"])
        own = [each for each in found if str(each.pipeline.id) == os.environ["CI_PIPELINE_ID"]]
        return [(each.name, each.status) for each in own if not each.retried]

    def writes(self) -> list[str]:
        return [each.method for each in self.gitlab.log if each.method != "GET"]

    def err(self) -> str:
        return self.capsys.readouterr().err


@pytest.fixture
def job(gitlab: Gitlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Job:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rankgate.forges.client, "Clock", InstantClock)
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI_"))]:
        monkeypatch.delenv(name)
    entered = Job(gitlab, gitlab.open_merge_request(), monkeypatch, capsys)
    entered.enter()
    return entered


def test_it_writes_a_note_and_the_status_of_the_pipeline(job: Job) -> None:
    assert job.comment("fail") == 0
    captured = job.capsys.readouterr()
    assert captured.out == "commented on merge request !1\nstatus rankgate/verdict: failed\n"
    assert captured.err == ""
    first, second, *_ = job.note().split("\n")
    mark = mark_of(first)
    assert mark is not None
    assert (mark.sha, mark.run, mark.attempt) == (job.request.sha, int(os.environ["CI_PIPELINE_ID"]), 41)
    assert "FAIL. Do not merge" in second
    home = f"{job.gitlab.url}/{job.gitlab.project.path}"
    assert f"[Run]({home}/-/jobs/41) · [Criteria]({home}/-/blob/{job.request.sha}/ship-criteria.yaml)" in job.note()
    (status,) = job.gitlab.statuses(job.request.sha)
    assert (status.pipeline.id, status.target_url) == (mark.run, f"{home}/-/jobs/41")
    assert (status.description or "").startswith("Fail: ")


@pytest.mark.parametrize(
    ("verdict", "state"), [("pass", "success"), ("warn", "success"), ("fail", "failed"), ("not_judged", "failed")]
)
def test_the_exit_code_is_0_whatever_the_verdict(job: Job, verdict: str, state: str) -> None:
    assert job.comment(verdict) == 0
    assert job.states() == [("rankgate/verdict", state)]


def test_fail_on_warn_makes_the_status_agree_with_the_jobs_exit_code(job: Job) -> None:
    assert job.comment("warn", "--fail-on", "warn") == 0
    assert job.states() == [("rankgate/verdict", "failed")]


def test_from_red_to_green_there_is_one_note(job: Job) -> None:
    job.comment("fail")
    before = job.states()
    job.gitlab.push(job.request)
    job.enter(job=42)
    job.comment("pass")
    assert "PASS" in job.note()
    assert (before, job.states()) == ([("rankgate/verdict", "failed")], [("rankgate/verdict", "success")])


def test_the_same_report_again_writes_no_note(job: Job) -> None:
    """What GitLab drops at the end of a note makes it no other one."""
    job.comment("fail")
    job.gitlab.log.clear()
    job.comment("fail")
    assert job.writes() == ["POST"], "the status alone"


def test_in_a_pipeline_of_the_merged_result_the_note_is_of_the_head_and_the_status_of_the_merge(job: Job) -> None:
    pipeline = job.gitlab.merge_request_pipeline(job.request, merged=True)
    job.enter(pipeline)
    job.comment("pass")
    mark = mark_of(job.note().split("\n")[0])
    assert mark is not None
    assert mark.sha == job.request.sha
    assert job.states(pipeline.sha) == [("rankgate/verdict", "success")]
    assert job.states(job.request.sha) == []


def test_a_pipeline_of_an_older_commit_says_nothing_of_the_newer(job: Job) -> None:
    job.comment("pass")
    green, old = job.note(), os.environ["CI_COMMIT_SHA"]
    job.gitlab.push(job.request)
    job.enter(CI_COMMIT_SHA=old, CI_JOB_ID="43")
    job.comment("fail")
    assert job.note() == green
    assert "left the comment on merge request !1 alone" in job.capsys.readouterr().out


def test_a_job_that_is_started_again_counts_as_newer(job: Job) -> None:
    pipeline = job.gitlab.merge_request_pipeline(job.request)
    job.enter(pipeline, job=12_345_678_901)
    job.comment("fail")
    job.enter(pipeline, job=12_345_678_902)
    job.comment("pass")
    job.enter(pipeline, job=12_345_678_901)
    job.comment("warn")
    assert "PASS" in job.note()


def test_each_gate_has_its_note_and_its_status(job: Job) -> None:
    job.comment("fail", "--gate-id", "search")
    job.comment("pass", "--gate-id", "chat")
    assert len(job.gitlab.notes(1)) == 2
    assert job.states() == [("rankgate/verdict/search", "failed"), ("rankgate/verdict/chat", "success")]


def test_a_note_of_somebody_else_with_our_marker_is_none_of_ours(job: Job) -> None:
    sha = job.request.sha
    forged = Mark(gate="default", sha=sha, run=9**15, attempt=1, verdict=Verdict.PASS).line() + "\nall is well"
    job.gitlab.write_note(job.request, forged)
    job.gitlab.write_note(job.request, forged, system=True)
    job.comment("fail")
    theirs, ours = job.gitlab.notes(1)
    assert theirs.body == forged
    assert "FAIL" in ours.body
    job.enter(job=44)
    job.comment("pass")
    assert [theirs.body, "PASS" in ours.body] == [forged, True]


@pytest.mark.parametrize("proxied", [False, True], ids=["as it is", "behind a proxy that ends TLS"])
def test_our_note_is_found_on_the_seventh_page(job: Job, *, proxied: bool) -> None:
    """Then GitLab's links name another origin than the job, which no token goes to; the pages' numbers suffice."""
    for number in range(650):
        job.gitlab.write_note(job.request, f"chatter {number}")
    job.comment("fail")
    if proxied:
        job.monkeypatch.setattr(job.gitlab, "_host", "http://gitlab.example")
    job.enter(job=45)
    job.comment("pass")
    assert len(job.gitlab.notes(1)) == 651
    assert "PASS" in job.gitlab.notes(1)[-1].body
    assert job.err() == ""


def test_of_several_notes_of_ours_the_oldest_stays(job: Job) -> None:
    us = job.gitlab.user_of(job.gitlab.token)
    line = Mark(gate="default", sha=job.request.sha, run=1, attempt=1, verdict=Verdict.PASS).line()
    old = [job.gitlab.write_note(job.request, f"{line}\n{number}", by=us) for number in range(3)]
    job.comment("fail")
    assert [note.id for note in job.gitlab.notes(1)] == [old[0].id]
    assert "FAIL" in job.note()


@pytest.mark.parametrize("fault", ["drop_after", "page_after", "reset_before", "page_before"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_a_lost_answer_leaves_one_note(job: Job, fault: str, method: str) -> None:
    job.comment("fail")
    if method == "POST":
        job.request.notes.clear()
    job.enter(job=46)
    getattr(job.gitlab, fault)(method, r"/notes(\?|$|/\d+$)", times=1 if method == "GET" else 2)
    job.comment("pass")
    assert "PASS" in job.note()
    assert job.states() == [("rankgate/verdict", "success")]


@pytest.mark.parametrize("fault", ["drop_after", "page_after", "reset_before"])
def test_a_lost_answer_leaves_one_status(job: Job, fault: str) -> None:
    getattr(job.gitlab, fault)("POST", "/statuses/")
    job.comment("pass")
    assert job.states() == [("rankgate/verdict", "success")]
    assert job.err() == ""


def test_a_server_error_is_waited_for(job: Job) -> None:
    job.gitlab.status("POST", "/notes$", 502, content=b"<html>Bad Gateway")
    job.gitlab.status("GET", "/user$", 503)
    job.comment("fail")
    assert "FAIL" in job.note()


def test_limits_are_waited_for(job: Job) -> None:
    job.gitlab.limit("GET", "/user$", seconds=7)
    job.gitlab.limit_notes()
    job.comment("fail")
    assert "FAIL" in job.note()
    said = job.capsys.readouterr().out
    assert "trying again in 7 s (the server asks to wait)" in said
    assert "Try again later" in said


def test_a_note_that_is_deleted_meanwhile_is_written_again(job: Job) -> None:
    job.comment("fail")
    job.enter(job=47)
    job.gitlab.meanwhile("PUT", "/notes/", job.request.notes.clear)
    job.comment("pass")
    assert "PASS" in job.note()
    assert job.err() == ""


def test_two_jobs_at_once_leave_one_note(job: Job) -> None:
    """Both list, find nothing, and post: whoever looks again last takes the second away."""
    met = threading.Barrier(2)

    def meet() -> None:
        met.wait(timeout=300)

    job.gitlab.meanwhile("POST", "/notes$", meet, times=2)
    mark = Mark(gate="default", sha=job.request.sha, run=5, attempt=1, verdict=Verdict.FAIL)

    def post(attempt: int) -> None:
        client = Client(job.gitlab.api, job.gitlab.token, forge=GITLAB, write_gap=0.0)
        path = f"/projects/{job.gitlab.project.id}/merge_requests/1"
        thread = NoteThread(client, path, job.gitlab.user_of(job.gitlab.token).id)
        own = Mark(gate=mark.gate, sha=mark.sha, run=5, attempt=attempt, verdict=mark.verdict)
        rankgate.forges.comments.upsert(thread, own, "fell", fresh=False)

    both = [threading.Thread(target=post, args=(attempt,)) for attempt in (1, 2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    found = mark_of(job.note().split("\n")[0])
    assert found is not None
    assert found.attempt == 2


def test_without_a_token_one_line_says_so_and_nothing_is_posted(job: Job) -> None:
    job.monkeypatch.delenv("RANKGATE_GITLAB_TOKEN")
    assert job.comment("fail") == 0
    assert job.gitlab.log == []
    (line,) = job.err().splitlines()
    assert line.startswith("warning: not published: no token to publish with; set the CI/CD variable RANKGATE_GITLAB")


TOKENS: list[tuple[str, Callable[[Gitlab], str], str]] = [
    ("a job's own", lambda gitlab: gitlab.job_token(), "401 Unauthorized"),
    ("unknown", lambda _: "glpat-nobody", "401 Unauthorized"),
    ("reads alone", lambda gitlab: gitlab.project_token(Role.DEVELOPER, "read_api"), "403 insufficient_scope: The"),
    ("of a guest", lambda gitlab: gitlab.project_token(Role.GUEST), "403 Forbidden"),
    (
        "of another project",
        lambda gitlab: gitlab.project_token(project=gitlab.add_project("acme/other")),
        "404 Project",
    ),
]


@pytest.mark.parametrize(("token", "words"), [each[1:] for each in TOKENS], ids=[each[0] for each in TOKENS])
def test_a_token_that_does_not_suffice_is_named_by_what_gitlab_says(
    job: Job, token: Callable[[Gitlab], str], words: str
) -> None:
    given = token(job.gitlab)
    job.enter(RANKGATE_GITLAB_TOKEN=given)
    assert job.comment("fail") == 0
    said = job.err()
    assert f": {words}" in said
    assert given not in said
    assert job.gitlab.notes(1) == []


def test_a_reporter_may_comment_but_set_no_status(job: Job) -> None:
    job.enter(RANKGATE_GITLAB_TOKEN=job.gitlab.project_token(Role.REPORTER))
    job.comment("fail")
    assert "FAIL" in job.note()
    assert job.err().splitlines()[0].endswith(": 403 Forbidden")


def test_an_expired_token_is_said_to_be(job: Job) -> None:
    job.gitlab.tokens[job.gitlab.token].state = "expired"
    assert job.comment("fail") == 0
    assert "401 invalid_token: Token is expired." in job.err()


def test_the_pipeline_of_a_fork_posts_nothing_and_says_why(job: Job) -> None:
    job.enter(CI_PROJECT_ID="9000")
    assert job.comment("fail") == 0
    assert "this pipeline runs in a fork" in job.err()
    assert job.gitlab.log == []


def test_a_pipeline_without_a_merge_request_needs_its_number(job: Job) -> None:
    pipeline = job.gitlab.start_pipeline(job.request.sha, job.request.source_branch)
    for name in [name for name in os.environ if name.startswith("CI_MERGE_REQUEST_")]:
        job.monkeypatch.setenv(name, "")
    job.monkeypatch.setenv("CI_PIPELINE_ID", str(pipeline.id))
    assert job.comment("fail") == 0
    assert "--pull N names one" in job.err()
    assert job.gitlab.log == []
    job.comment("fail", "--pull", "1")
    assert "FAIL" in job.note()
    assert job.states() == [("rankgate/verdict", "failed")]


def test_a_repository_on_github_is_still_named_by_the_options(job: Job) -> None:
    """A job of GitLab may test what lies on GitHub."""
    job.monkeypatch.setenv("GH_TOKEN", "ghs_of_nobody")
    job.monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    assert job.comment("fail", "--repository", "acme/rag", "--pull", "1", "--max-wait", "0") == 0
    assert job.gitlab.log == []
    assert "GitHub gave no usable answer to GET /repos/acme/rag/pulls/1" in job.err()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CI_PROJECT_ID", "../../admin"),
        ("CI_COMMIT_SHA", "main"),
        ("CI_PIPELINE_ID", ""),
        ("CI_API_V4_URL", "file:///etc/passwd"),
        ("CI_JOB_URL", "javascript:alert(1)"),
        ("CI_MERGE_REQUEST_IID", "1/notes"),
    ],
)
def test_a_variable_that_gitlab_does_not_set_so_is_named(job: Job, name: str, value: str) -> None:
    job.monkeypatch.setenv(name, value)
    assert job.comment("fail") == 0
    said = job.err()
    assert f"not published: {name}: " in said
    assert "is this running in GitLab CI?" in said
    assert job.gitlab.log == []


def test_http_would_show_the_token_on_the_way(job: Job) -> None:
    job.monkeypatch.setenv("CI_API_V4_URL", "http://gitlab.example/api/v4")
    assert job.comment("fail") == 0
    assert "is http, which would show the token" in job.err()


def test_the_address_of_a_self_managed_server_may_have_a_path(job: Job) -> None:
    with Gitlab("/code/gitlab").running() as other:
        job.gitlab, job.request = other, other.open_merge_request()
        job.enter()
        job.comment("fail")
        assert f"[Run]({other.url}/acme/search/rag/-/jobs/41)" in job.note()
        assert job.states() == [("rankgate/verdict", "failed")]


def test_no_token_follows_a_redirect_to_another_origin(job: Job) -> None:
    job.gitlab.status("GET", "/user$", 302, headers={"Location": "http://127.0.0.1:9/api/v4/user"})
    assert job.comment("fail") == 0
    assert "GitLab sent GET /user to another place; it was not followed" in job.err()


def test_a_dry_run_sends_nothing(job: Job) -> None:
    assert job.comment("fail", "--dry-run") == 0
    assert job.writes() == []
    posts = [line.split(" ", 2) for line in job.capsys.readouterr().out.splitlines() if line.startswith("POST ")]
    note, status = (json.loads(body) for _, _, body in posts)
    assert mark_of(note["body"].split("\n")[0]) is not None
    assert status["state"] == "failed"


def test_the_page_is_linked_where_it_is_an_artifact_of_this_very_job(job: Job) -> None:
    page = f"{os.environ['CI_JOB_URL']}/artifacts/file/report.html"
    job.enter(RANKGATE_PAGE=page)
    job.comment("fail")
    assert f"[Page with every question]({page})" in job.note()
    for other in ("https://evil.example/report.html", page.replace("/41/", "/40/"), f"{page}?x=)"):
        job.enter(RANKGATE_PAGE=other)
        job.comment("fail")
        assert "Page with every question" not in job.note()


@pytest.mark.parametrize("when", ["changed", "failing", "never"])
def test_no_note_where_none_is_wanted(job: Job, when: str) -> None:
    job.comment("pass", "--comment", when)
    assert job.gitlab.notes(1) == []
    assert job.states() == [("rankgate/verdict", "success")]


def test_without_the_check_the_note_is_alone(job: Job) -> None:
    job.comment("fail", "--no-check")
    assert "FAIL" in job.note()
    assert job.states() == []


def test_a_fresh_comment_replaces_the_old_one_where_green_turns_red(job: Job) -> None:
    job.comment("pass", "--fresh-comment")
    (old,) = job.gitlab.notes(1)
    job.enter(job=48)
    job.comment("fail", "--fresh-comment")
    (new,) = job.gitlab.notes(1)
    assert new.id != old.id


def test_not_judged_leaves_no_old_note_standing(job: Job) -> None:
    job.comment("pass")
    job.enter(job=49)
    assert main(["comment", "missing.json"]) == 2
    assert "NOT JUDGED" in job.note()


def test_the_longest_note_passes_however_many_lines_of_a_template_look_like_commands(job: Job) -> None:
    Path("long.md.j2").write_text("{{ '/\\n' * 400000 }}")
    job.enter(CI_MERGE_REQUEST_DIFF_BASE_SHA="")
    job.comment("fail", "--template", "long.md.j2")
    assert job.err() == ""
    assert 900_000 < len(job.note()) <= 1_000_000
    assert re.search(r"^/", job.note(), re.MULTILINE) is None


def test_the_runners_own_certificate_authority_is_trusted(job: Job) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path("ca.pem")
    job.enter(CI_SERVER_TLS_CA_FILE="ca.pem")
    with playing(reply(200, {"id": 5}), tls=context) as server:
        client = Client(server.url.replace("http:", "https:"), "glpat-x", forge=GITLAB)
        assert client.get("/user") == {"id": 5}


def test_begin_is_of_github(job: Job) -> None:
    assert main(["comment", "--begin"]) == 2
    assert "--begin: is for GitHub" in job.err()


HOSTILE = [
    "/merge",
    "/close",
    "/approve @all",
    "\n/label ~bug\n",
    "@all @here #12 !12 ~label %milestone $12 &3 GL-1",
    "![x](https://e.example/x.png) <img src=x onerror=alert(1)> [x](javascript:alert(1))",
    "$`a`$ $$x$$ [[_TOC_]] [[wiki]] {+ a +} [- b -] - [~] :tada: #FF0000 [^1] %{project_path}",
    "---\ntitle: x\n---\n```mermaid\ngraph TD\n```",
    ">>>\n/merge\n>>>",
    "````\n/merge",
]


def thread_of_nobody() -> NoteThread:
    return NoteThread(Client("http://127.0.0.1", "glpat-x", forge=GITLAB), "/projects/1/merge_requests/1", 1)


def hostile_report() -> bytes:
    """A failed report whose texts of the inputs are all hostile."""
    report: dict[str, Any] = json.loads(report_of("fail"))
    texts = iter(HOSTILE * 1000)

    def spoiled(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: spoiled(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [spoiled(each, key) for each in value]
        return f"{value}\n{next(texts)}" if isinstance(value, str) and key in TEXTS else value

    spoiled_report = spoiled(report)
    assert "/merge" in json.dumps(spoiled_report)
    return json.dumps(spoiled_report).encode()


TEXTS = {"query", "question", "id", "system", "lost", "gained", "path"}


def test_hostile_text_in_a_report_is_obeyed_by_nobody(job: Job) -> None:
    Path("hostile.json").write_bytes(hostile_report())
    assert main(["comment", "hostile.json"]) == 0
    assert "/merge" in job.note()
    (posted,) = job.gitlab.asked("POST", "/notes$")
    body = json.loads(posted.body)["body"]
    assert without_quick_actions(body) == (body, [])
    assert re.search(r"^\s*/", body, re.MULTILINE) is None
    outside = re.sub(r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)", "", body)
    for sign in ("@all", "!12", "~label", "%milestone", "$12", "![", "javascript:", "[[", "{+", "mermaid", ":tada:"):
        assert sign not in outside, sign


# What GitLab makes links, pictures, formulas and lists of, as doc/user/markdown.md has it; commits may be links.
LIVE = re.compile(
    r"""(?<!\w)@\w|(?<!\w)[#!&$*^]\d|(?<!\w)[~%]["\w]|:\w*[a-z]:|\$[^\s$][^$]*\$|\{[+-]|\[\[|\[[~^]|(?<![\w.])[A-Z]\w+-\d|%\{"""
)
GITLABS = st.sampled_from(
    [
        *(
            "@all",
            "#1",
            "!1",
            "&1",
            "$1",
            "~bug",
            '~"a b"',
            "%v1",
            ":tada:",
            "$x$",
            "$`x`$",
            "{+ a +}",
            "[[a]]",
            "[[_TOC_]]",
        ),
        *(
            "[~] a",
            "[^1]",
            "GL-1",
            "%{project_path}",
            "#FF0000",
            "\n>>>\n",
            "\n---\n",
            "```mermaid\n",
            "![](x)",
            "\n/merge\n",
        ),
        *("`", "```", "|", "\n", "<b>", "a"),
    ]
)


@given(st.lists(GITLABS, max_size=8).map("".join))
@example("\n/merge\n")
@example("$`x`$ `")
def test_no_text_of_the_inputs_is_alive_on_gitlab(text: str) -> None:
    note = thread_of_nobody().kept(render_markdown(filled_with(text)))
    assert LIVE.findall(Page(note).plain) == []
    assert re.search(r"^/", note, re.MULTILINE) is None


def test_nor_is_any_word_of_ours() -> None:
    comments = [path.read_text() for path in Path(__file__).parents[1].rglob("expected/comment*.md")]
    assert len(comments) > 20
    assert [LIVE.findall(Page(each).plain) for each in comments] == [[]] * len(comments)
    fences = {fence for each in comments for fence in re.findall(r"^ *`{3,}(\S+)", each, re.MULTILINE)}
    assert fences <= {"sh"}, "GitLab draws what is called mermaid, plantuml or math"


COMMANDS = st.sampled_from(
    ["/merge", "/close\n", " /approve", "```", "````", ">>>", "<b>", "</b>", "`", "\r", "\n", "a"]
)


@given(st.lists(COMMANDS | st.text(max_size=3), max_size=12).map("".join))
@example("/merge")
@example("a\r/merge\r\n/close")
@example("````\n```\n/merge\n````")
def test_gitlab_finds_no_command_in_what_is_posted(text: str) -> None:
    """Nor does it keep another text than was posted, which would be written again and again."""
    thread = thread_of_nobody()
    body = thread.kept(f"<!-- marker -->\n{code(text)}\n\n{block(text.splitlines())}\n\n{text}\n")
    assert [line for line in body.replace("\r", "").split("\n") if line.startswith("/")] == []
    assert thread.kept(body) == body
    assert without_quick_actions(body) == (body.replace("\r", ""), [])
