"""The context of a job: from the variables and payloads that GitHub itself publishes, or one clear error."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.errors import RankgateError
from rankgate.forges.runner import MAX_BYTES, Context, JudgingRun, Pull, WorkflowRun, context_of
from rankgate.model.report import Links

HEAD, BASE, MERGE = "a" * 40, "b" * 40, "c" * 40
EXAMPLES = "@octokit/webhooks-examples"
SERVERS = ("api.github.com", "ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35")

PULL_REQUEST: dict[str, Any] = {
    "action": "synchronize",
    "pull_request": {
        "number": 7,
        "head": {"sha": HEAD, "repo": {"id": 1}},
        "base": {"sha": BASE, "ref": "main", "repo": {"id": 1}},
        "user": {"login": "octocat"},
    },
    "repository": {"id": 1},
}
WORKFLOW_RUN: dict[str, Any] = {
    "action": "completed",
    "workflow_run": {
        "id": 55,
        "run_attempt": 2,
        "head_sha": HEAD,
        "head_branch": "patch-1",
        "head_repository": {"id": 2},
        "event": "pull_request",
        "actor": {"login": "stranger"},
        "pull_requests": [{"number": 99}],
    },
    "repository": {"id": 1},
}
MERGE_GROUP: dict[str, Any] = {"merge_group": {"head_sha": HEAD, "base_sha": BASE}}


def changed(payload: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A payload with one key set to something else."""
    first, _, rest = path.partition(".")
    return {**payload, first: changed(payload[first], rest, value) if rest else value}


def without(payload: dict[str, Any], path: str) -> dict[str, Any]:
    """A payload with one key taken out."""
    first, _, rest = path.partition(".")
    if rest:
        return {**payload, first: without(payload[first], rest)}
    return {key: value for key, value in payload.items() if key != first}


def environment(event: str, path: Path | None = None, **more: str) -> dict[str, str]:
    """The variables of a job; a keyword overrides `GITHUB_` and its name in capitals."""
    given_here = {
        "GITHUB_EVENT_NAME": event,
        "GITHUB_REPOSITORY": "acme/rag",
        "GITHUB_SHA": MERGE,
        "GITHUB_RUN_ID": "1234",
        "GITHUB_RUN_ATTEMPT": "3",
        "GITHUB_ACTOR": "octocat",
    }
    if path is not None:
        given_here["GITHUB_EVENT_PATH"] = str(path)
    return given_here | {f"GITHUB_{name.upper()}": value for name, value in more.items()}


def context(tmp_path: Path, event: str, payload: object, **more: str) -> Context:
    """The context of an event with this payload."""
    file = tmp_path / "event.json"
    file.write_text(json.dumps(payload), encoding="utf-8")
    return context_of(environment(event, file, **more))


def refused(tmp_path: Path, event: str, payload: object, **more: str) -> str:
    with pytest.raises(RankgateError) as caught:
        context(tmp_path, event, payload, **more)
    assert len(caught.value.problems) == 1
    return str(caught.value).removeprefix(f"{tmp_path}/")


def test_a_pull_request_is_checked_at_its_head_and_judged_against_its_base(tmp_path: Path) -> None:
    assert context(tmp_path, "pull_request", PULL_REQUEST) == Context(
        event="pull_request",
        api_url="https://api.github.com",
        server_url="https://github.com",
        repository="acme/rag",
        sha=HEAD,
        base=BASE,
        pull=Pull(
            7, head_sha=HEAD, base_ref="main", base_sha=BASE, head_repository=1, from_fork=False, author="octocat"
        ),
        run=JudgingRun(id=1234, attempt=3, job="0"),
        actor="octocat",
        action="synchronize",
        links=Links(run="https://github.com/acme/rag/actions/runs/1234/attempts/3"),
    )


@pytest.mark.parametrize(
    ("variables", "job"),
    [
        pytest.param({"GITHUB_JOB": "gate"}, "gate/0", id="a job without a matrix"),
        pytest.param({"GITHUB_JOB": "gate", "RANKGATE_JOB_INDEX": "12"}, "gate/12", id="one of a matrix"),
        pytest.param(
            {
                "GITHUB_JOB": "gate",
                "GITHUB_WORKFLOW_REF": "acme/rag/.github/workflows/search gate.yml@refs/heads/a@b/c",
            },
            "search_gate.yml/gate/0",
            id="the file tells jobs of the same id apart, whatever the branch is called",
        ),
        pytest.param({"GITHUB_JOB": "a" * 100}, "a" * 100 + "/0", id="the longest id"),
    ],
)
def test_jobs_are_told_apart_by_file_id_and_place_in_the_matrix(variables: dict[str, str], job: str) -> None:
    assert context_of(environment("push") | variables).run.job == job


@pytest.mark.parametrize(
    ("name", "written"),
    [
        pytest.param("GITHUB_JOB", "gate own=success", id="more than an id"),
        pytest.param("RANKGATE_JOB_INDEX", "-1", id="no place"),
        pytest.param("RANKGATE_JOB_INDEX", "1000", id="GitHub has no such matrix"),
    ],
)
def test_a_job_that_actions_does_not_know_is_refused(name: str, written: str) -> None:
    with pytest.raises(RankgateError, match=name):
        context_of(environment("push") | {name: written})


@pytest.mark.parametrize(
    ("event", "action", "settles"),
    [
        ("pull_request_target", "closed", True),
        ("pull_request_target", "edited", True),
        ("pull_request_target", "labeled", False),
        ("pull_request_target", "opened", False),
        ("pull_request", "closed", True),
        ("pull_request", "edited", False),
        ("pull_request", "synchronize", False),
    ],
)
def test_an_event_that_judges_nothing_is_said_to(tmp_path: Path, event: str, action: str, *, settles: bool) -> None:
    """With `pull_request` another base is judged by the job itself."""
    assert context(tmp_path, event, changed(PULL_REQUEST, "action", action)).settles is settles


def test_a_merge_group_is_checked_at_its_head_and_judged_against_its_base(tmp_path: Path) -> None:
    found = context(tmp_path, "merge_group", MERGE_GROUP)
    assert (found.sha, found.base, found.pull, found.read_only) == (HEAD, BASE, None, False)


def test_a_finished_workflow_stands_for_the_run_that_judged(tmp_path: Path) -> None:
    found = context(tmp_path, "workflow_run", WORKFLOW_RUN)
    assert found.workflow_run == WorkflowRun(
        id=55, head_sha=HEAD, head_repository=2, event="pull_request", from_fork=True
    )
    assert (found.sha, found.base, found.run.id, found.run.attempt) == (HEAD, None, 55, 2)
    assert found.read_only is False


@pytest.mark.parametrize(("event", "branch"), [("merge_group", "patch-1"), ("pull_request", None), ("push", None)])
def test_the_branch_of_a_finished_workflow_is_read_where_the_merge_queue_made_it(
    tmp_path: Path, event: str, branch: str | None
) -> None:
    """Anybody can name a branch of a fork as he likes."""
    found = context(tmp_path, "workflow_run", changed(WORKFLOW_RUN, "workflow_run.event", event)).workflow_run
    assert found is not None
    assert found.head_branch == branch


def test_the_pull_requests_that_a_finished_workflow_names_are_not_believed(tmp_path: Path) -> None:
    assert context(tmp_path, "workflow_run", WORKFLOW_RUN).pull is None


@pytest.mark.parametrize("event", ["push", "workflow_dispatch", "schedule", "issue_comment", "repository_dispatch"])
def test_any_other_event_belongs_to_the_commit_that_actions_names(event: str) -> None:
    found = context_of(environment(event))
    assert (found.sha, found.base, found.pull, found.workflow_run) == (MERGE, None, None, None)
    assert (found.run.id, found.run.attempt, found.read_only) == (1234, 3, False)


def test_a_fork_may_have_the_number_of_any_repository(tmp_path: Path) -> None:
    payload = changed(changed(PULL_REQUEST, "pull_request.base.repo", {"id": 5}), "pull_request.head.repo", {"id": 1})
    assert context(tmp_path, "pull_request", payload).read_only is True


def test_an_event_without_a_commit_has_none() -> None:
    assert context_of(environment("watch", sha="")).sha is None


def test_a_server_that_names_no_attempt_runs_the_first() -> None:
    assert context_of(environment("push", run_attempt="")).run.attempt == 1


@pytest.mark.parametrize(
    ("head", "head_repository", "from_fork"),
    [
        pytest.param({"sha": HEAD, "repo": {"id": 1}}, 1, False, id="a branch of the repository"),
        pytest.param({"sha": HEAD, "repo": {"id": 2}}, 2, True, id="a fork"),
        pytest.param({"sha": HEAD, "repo": None}, None, True, id="a fork that was deleted"),
    ],
)
def test_which_pull_request_is_of_a_fork(
    head: object, head_repository: int | None, *, from_fork: bool, tmp_path: Path
) -> None:
    found = context(tmp_path, "pull_request", changed(PULL_REQUEST, "pull_request.head", head))
    assert found.pull is not None
    assert (found.pull.head_repository, found.pull.from_fork) == (head_repository, from_fork)
    assert found.read_only is from_fork


@pytest.mark.parametrize(
    ("head_repository", "actor", "from_fork"),
    [
        pytest.param({"id": 1}, {"login": "octocat"}, False, id="a branch of the repository"),
        pytest.param({"id": 1}, None, False, id="nobody is named"),
        pytest.param({"id": 1}, {"login": "dependabot[bot]"}, True, id="Dependabot's token was read-only too"),
        pytest.param({"id": 2}, {"login": "octocat"}, True, id="a fork"),
        pytest.param(None, {"login": "octocat"}, True, id="a fork that was deleted"),
    ],
)
def test_which_workflow_run_is_of_a_fork(
    head_repository: object, actor: object, *, from_fork: bool, tmp_path: Path
) -> None:
    payload = changed(
        changed(WORKFLOW_RUN, "workflow_run.head_repository", head_repository), "workflow_run.actor", actor
    )
    found = context(tmp_path, "workflow_run", payload)
    assert found.workflow_run is not None
    assert found.workflow_run.from_fork is from_fork


FORK = changed(PULL_REQUEST, "pull_request.head.repo", {"id": 2})
BY_DEPENDABOT = changed(PULL_REQUEST, "pull_request.user", {"login": "dependabot[bot]"})


@pytest.mark.parametrize(
    ("event", "payload", "actor", "read_only"),
    [
        pytest.param("pull_request", PULL_REQUEST, "octocat", False, id="our own"),
        pytest.param("pull_request", FORK, "octocat", True, id="a fork"),
        pytest.param("pull_request", PULL_REQUEST, "dependabot[bot]", True, id="Dependabot set it off"),
        pytest.param("pull_request", BY_DEPENDABOT, "octocat", False, id="a person set off what Dependabot opened"),
        pytest.param("pull_request_target", FORK, "stranger", False, id="a fork, with the repository's own token"),
        pytest.param("pull_request_target", BY_DEPENDABOT, "octocat", True, id="target, opened by Dependabot"),
        pytest.param("pull_request_target", PULL_REQUEST, "dependabot[bot]", False, id="target, set off by Dependabot"),
        pytest.param("push", {}, "dependabot[bot]", True, id="a push by Dependabot"),
        pytest.param("workflow_run", WORKFLOW_RUN, "dependabot[bot]", False, id="the reporting job may always write"),
    ],
)
def test_whose_token_cannot_write(event: str, payload: object, actor: str, *, read_only: bool, tmp_path: Path) -> None:
    assert context(tmp_path, event, payload, actor=actor).read_only is read_only


def test_a_pull_request_of_a_deleted_account_is_one(tmp_path: Path) -> None:
    payload = changed(PULL_REQUEST, "pull_request.user", None)
    assert context(tmp_path, "pull_request_target", payload).read_only is False


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("event", ["pull_request", "merge_group", "workflow_run", "push", "workflow_dispatch"])
def test_every_payload_that_github_publishes_is_understood(
    event: str, server: str, node_modules: Path, tmp_path: Path
) -> None:
    published = json.loads((node_modules / EXAMPLES / server / "index.json").read_text(encoding="utf-8"))
    payloads = [payload for entry in published if entry["name"] == event for payload in entry["examples"]]
    assert payloads or (event == "merge_group" and server != "api.github.com")
    names = [event, "pull_request_target"] if event == "pull_request" else [event]
    for payload in payloads:
        for name in names:
            assert said_by(context(tmp_path, name, payload)) == expected_of(event, payload)


def said_by(found: Context) -> tuple[object, ...]:
    assert found.pull is None or (found.pull.head_sha, found.pull.base_sha) == (found.sha, found.base)
    return (found.sha, found.base, found.pull and found.pull.number, found.run.id)


def expected_of(event: str, payload: dict[str, Any]) -> tuple[object, ...]:
    if event == "pull_request":
        pull = payload["pull_request"]
        return (pull["head"]["sha"], pull["base"]["sha"], pull["number"], 1234)
    if event == "merge_group":
        return (payload["merge_group"]["head_sha"], payload["merge_group"]["base_sha"], None, 1234)
    if event == "workflow_run":
        return (payload["workflow_run"]["head_sha"], None, None, payload["workflow_run"]["id"])
    return (MERGE, None, None, 1234)


IN_ACTIONS = "; is this running in GitHub Actions?"
HEX = "expected the 40 or 64 hex digits of a commit"


@each_row(
    ("name", "value", "message"),
    [
        pytest.param("event_name", "", "is not set", id="no event"),
        pytest.param("event_name", "push\n", "expected the name of an event", id="not an event"),
        pytest.param("repository", "", "is not set", id="no repository"),
        pytest.param("repository", "acme", "expected OWNER/NAME", id="no owner"),
        pytest.param("repository", "acme/rag/pulls", "expected OWNER/NAME", id="a path"),
        pytest.param("repository", "acme/..", "expected OWNER/NAME", id="a way up"),
        pytest.param("repository", "../rag", "expected OWNER/NAME", id="an owner that is a way up"),
        pytest.param("repository", "acme/rag?x=1", "expected OWNER/NAME", id="a query"),
        pytest.param("repository", "acme/rag\n", "expected OWNER/NAME", id="a line break"),
        pytest.param("run_id", "", "is not set", id="no run"),
        pytest.param("run_id", "12a", "expected a number", id="not a number"),
        pytest.param("run_id", "0", "expected a number", id="zero"),
        pytest.param("run_id", "9" * 5000, "expected a number", id="a number of 5,000 digits"),
        pytest.param("run_id", "١٢", "expected a number", id="digits of another script"),
        pytest.param("run_attempt", "-1", "expected a number", id="no such attempt"),
        pytest.param("sha", "main", HEX, id="a branch for a commit"),
        pytest.param("sha", "A" * 40, HEX, id="capitals"),
        pytest.param("sha", "a" * 41, HEX, id="a digit too many"),
        pytest.param("actor", "a/b", "expected a login", id="no login"),
    ],
)
def test_a_variable_that_actions_would_not_set_is_named(name: str, value: str, message: str) -> None:
    variables = environment("push") | {f"GITHUB_{name.upper()}": value}
    with pytest.raises(RankgateError) as caught:
        context_of(variables)
    assert str(caught.value) == f"GITHUB_{name.upper()}: {message}{IN_ACTIONS}"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.github.com",
        "https://ghe.example/api/v3",
        "https://ghe.example:8443/api/v3",
        "http://127.0.0.1:4101",
        "http://localhost:4101",
        "http://[::1]:4101",
    ],
)
def test_the_api_of_enterprise_and_of_this_machine(url: str) -> None:
    assert context_of(environment("push", api_url=url)).api_url == url
    assert context_of(environment("push", server_url=f"{url}/")).server_url == url


@each_row(
    "url",
    [
        pytest.param("http://ghe.example/api/v3", id="the token would go in the clear"),
        pytest.param("https://user:word@ghe.example", id="a password"),
        pytest.param("http://127.0.0.1@evil.example", id="a host in a name's clothes"),
        pytest.param("http://127.0.0.1.evil.example", id="a host that begins like this machine"),
        pytest.param("https://ghe.example/?x=", id="a query"),
        pytest.param("https://ghe.example/#", id="a fragment"),
        pytest.param("file:///etc/passwd", id="a file"),
        pytest.param("ghe.example", id="no scheme"),
        pytest.param("https://ghe.example/ x", id="a space"),
    ],
)
@each_row("name", ["api_url", "server_url"])
def test_an_address_that_the_token_must_not_go_to(name: str, url: str) -> None:
    with pytest.raises(
        RankgateError, match=rf"^GITHUB_{name.upper()}: expected an address such as https://[^;]*; is th"
    ):
        context_of(environment("push") | {f"GITHUB_{name.upper()}": url})


PAYLOADS: dict[str, dict[str, Any]] = {
    "pull_request": PULL_REQUEST,
    "pull_request_target": PULL_REQUEST,
    "merge_group": MERGE_GROUP,
    "workflow_run": WORKFLOW_RUN,
}
TEXT, WHOLE = "expected text", "expected a whole number"


@pytest.mark.parametrize(
    ("event", "key", "value", "problem"),
    [
        ("pull_request", "pull_request.number", "7", f"{WHOLE}, found text"),
        ("pull_request", "pull_request.number", 0, f"{WHOLE} of at least 1"),
        ("pull_request", "pull_request.number", 2**53 + 1, f"{WHOLE} of at most {2**53}"),
        ("pull_request", "pull_request.head.sha", "refs/heads/main", HEX),
        ("pull_request", "pull_request.head.sha", f"{HEAD}\n", HEX),
        ("pull_request_target", "pull_request.base.sha", "$(id)", HEX),
        ("pull_request", "pull_request.user.login", "../../user", "expected a login"),
        ("merge_group", "merge_group.head_sha", None, f"{TEXT}, found nothing"),
        ("merge_group", "merge_group.base_sha", "b" * 39, HEX),
        ("workflow_run", "workflow_run.head_sha", HEAD + "0", HEX),
        ("workflow_run", "workflow_run.run_attempt", 1.5, f"{WHOLE}, found a number"),
    ],
)
def test_a_payload_of_something_else_is_refused_by_its_key(
    event: str, key: str, value: object, problem: str, tmp_path: Path
) -> None:
    said = refused(tmp_path, event, changed(PAYLOADS[event], key, value))
    assert said == f"event.json: not the payload of a {event} event: {key}: {problem}{IN_ACTIONS}"


@pytest.mark.parametrize(
    ("event", "within", "key"),
    [
        ("pull_request", "", "pull_request"),
        ("pull_request", "pull_request.head", "repo"),
        ("workflow_run", "", "repository"),
    ],
)
def test_a_payload_that_lacks_a_key_is_refused(event: str, within: str, key: str, tmp_path: Path) -> None:
    said = refused(tmp_path, event, without(PAYLOADS[event], f"{within}.{key}".lstrip(".")))
    problem = f"{within}: object missing required field {key}".removeprefix(": ")
    assert said == f"event.json: not the payload of a {event} event: {problem}{IN_ACTIONS}"


def test_a_payload_that_is_a_list_is_refused(tmp_path: Path) -> None:
    problem = "expected a mapping, found a list"
    said = refused(tmp_path, "pull_request", [])
    assert said == f"event.json: not the payload of a pull_request event: {problem}{IN_ACTIONS}"


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "merge_group", "workflow_run"])
def test_an_event_that_needs_a_payload_says_so(event: str, tmp_path: Path) -> None:
    with pytest.raises(RankgateError) as caught:
        context_of(environment(event))
    assert str(caught.value) == f"GITHUB_EVENT_PATH: is not set{IN_ACTIONS}"
    with pytest.raises(RankgateError, match="GITHUB_EVENT_PATH: the event's payload cannot be read: No such file"):
        context_of(environment(event, tmp_path / "gone.json"))
    with pytest.raises(RankgateError, match="cannot be read: no file can have this name"):
        context_of(environment(event, event_path="a\0b"))


def test_a_payload_is_at_most_as_large_as_github_sends(tmp_path: Path) -> None:
    file = tmp_path / "event.json"
    text = json.dumps(PULL_REQUEST)
    file.write_text(text + " " * (MAX_BYTES - len(text)), encoding="utf-8")
    assert context_of(environment("pull_request", file)).sha == HEAD
    with file.open("a", encoding="utf-8") as more:
        more.write(" ")
    with pytest.raises(RankgateError, match=r"more than 26,214,400 bytes; GitHub sends none so large$"):
        context_of(environment("pull_request", file))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="half"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b'{"action": "\\ud800"}', id="half of a surrogate pair"),
        pytest.param(b'{"pull_request":' * 100_000, id="nested without end"),
        pytest.param(b'{"action": 1' + b"0" * 5000 + b"}", id="an integer of 5,000 digits"),
        pytest.param(b'{"action": NaN}', id="NaN"),
    ],
)
def test_a_payload_that_is_no_json_is_one_error(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "event.json"
    file.write_bytes(data)
    with pytest.raises(RankgateError, match="not the payload of a pull_request event: ") as caught:
        context_of(environment("pull_request", file))
    assert len(str(caught.value)) < 400


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([HEAD, {"id": 1}]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
PATHS = st.sampled_from(
    [
        *("action", "pull_request", "pull_request.number", "pull_request.head", "pull_request.head.sha"),
        *("pull_request.head.repo", "pull_request.base", "pull_request.base.sha", "pull_request.base.repo"),
        *("workflow_run", "workflow_run.id", "workflow_run.head_sha", "workflow_run.actor", "repository"),
        *("merge_group", "merge_group.head_sha", "merge_group.base_sha"),
    ]
)
ALL = PULL_REQUEST | WORKFLOW_RUN | MERGE_GROUP
BYTES = st.binary(max_size=200) | st.builds(
    lambda path, value: json.dumps(changed(ALL, path, value)).encode(), PATHS, VALUES
)


@given(BYTES, st.sampled_from(["pull_request", "pull_request_target", "merge_group", "workflow_run", "push"]))
def test_no_payload_ends_in_anything_but_a_context_or_one_error(data: bytes, event: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "event.json"
        file.write_bytes(data)
        outcome = outcome_of(environment(event, file))
    if isinstance(outcome, Context):
        assert outcome.sha is not None
        assert re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", outcome.sha)
    else:
        assert len(outcome.problems) == 1
        assert str(outcome).isprintable()


def outcome_of(variables: dict[str, str]) -> Context | RankgateError:
    try:
        return context_of(variables)
    except RankgateError as error:
        return error
