"""`artifact:NAME`: which workflow run counts, what is read of it, and that the token stays with the API."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import pytest
from tests.forges.proxy import Proxy
from tests.forges.storage import Storage
from tests.forges.test_fork import zipped

from rankgate.baselines.base import open_record
from rankgate.baselines.packing import unpack
from rankgate.cli.inputs import open_store
from rankgate.errors import RankgateError
from rankgate.forges.artifact_store import ArtifactMemory, artifact_memory
from rankgate.forges.artifacts import LIMITS
from rankgate.judge.model import Record, Slot, Split, Task
from rankgate.judge.store import line_of, stored_verdicts
from rankgate.model.values import Need

SHA = "a" * 40
RUN = (
    b'{"query_id": "q1", "system": "bm25", "index_version": "v7", "latency_ms": {"retrieve": 5}, '
    b'"topk": [{"rank": 1, "chunk_id": "a", "score": 2.5}, {"rank": 2, "chunk_id": "b"}]}\n'
    b'{"query_id": "q2", "topk": []}\n'
)


@pytest.fixture
def environment(proxy: Proxy) -> dict[str, str]:
    """Of a job of a pull request against main."""
    return {
        "GITHUB_API_URL": proxy.url,
        "GITHUB_REPOSITORY": proxy.emulator.repository,
        "GITHUB_BASE_REF": "main",
        "GITHUB_TOKEN": proxy.emulator.token,
    }


def run_of(proxy: Proxy, number: int, **about: Any) -> dict[str, Any]:
    """A workflow run as GitHub lists it, as far as anybody here looks."""
    usual: dict[str, Any] = {
        "id": number,
        "event": "push",
        "status": "completed",
        "conclusion": "success",
        "head_branch": "main",
        "head_sha": SHA,
        "created_at": "2025-06-01T23:59:59Z",
        "path": ".github/workflows/rankgate.yml",
        "head_repository": {"id": 1, "full_name": proxy.emulator.repository},
        "pull_requests": [],
    }
    return {**usual, **about}


def lists(proxy: Proxy, *runs: dict[str, Any], workflow: str = "rankgate.yml") -> None:
    answer = {"total_count": len(runs), "workflow_runs": list(runs)}
    proxy.play("GET", f"/actions/workflows/{workflow}/runs", json=answer)


def leaves(proxy: Proxy, storage: Storage, number: int, content: bytes = RUN, **about: Any) -> None:
    """What a run left: the artifact, and where it is fetched."""
    data = zipped(content)
    listed = {"id": 1000 + number, "name": "rankgate", "size_in_bytes": len(data), "expired": False, **about}
    proxy.play("GET", f"/actions/runs/{number}/artifacts", json={"total_count": 1, "artifacts": [listed]})
    proxy.play("GET", f"/actions/artifacts/{1000 + number}/zip", 302, redirect=storage.keep(data))


def memory_of(environment: dict[str, str], spec: str = "artifact:rankgate") -> ArtifactMemory:
    return artifact_memory(spec, environment)


def refused(memory: ArtifactMemory) -> str:
    with pytest.raises(RankgateError) as caught:
        memory.read("accepted")
    return str(caught.value)


def test_the_newest_green_run_of_the_base_branch_is_what_is_accepted(
    proxy: Proxy, storage: Storage, environment: dict[str, str]
) -> None:
    lists(proxy, run_of(proxy, 7), run_of(proxy, 9), run_of(proxy, 8))
    leaves(proxy, storage, 9)
    memory = memory_of(environment)
    (record,) = memory.read("accepted")
    assert (record.commit, record.branch, record.date, record.queries, record.cut) == (SHA, "main", "2025-06-01", 2, 0)
    assert record.provenance["system"] == "bm25"
    assert "latency_ms" in record.kept
    opened = unpack(record, lambda: memory.fetch(record), frozenset({Need.LATENCY}), name=memory.spec, deepest=1000)
    assert [(each.query_id, each.ids) for each in opened.rankings] == [("q1", ["a", "b"]), ("q2", [])]
    assert (memory.read("history"), memory.read("anchors")) == ([], [])
    (asked,) = proxy.asked("GET", "/workflows/")
    assert asked.path.endswith(
        "/actions/workflows/rankgate.yml/runs?per_page=100&branch=main&event=push&status=success"
    )


def test_an_artifact_after_baseline_is_opened_with_what_the_job_has(
    proxy: Proxy, storage: Storage, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7)
    opened = open_store("artifact:rankgate").open(frozenset())
    assert opened is not None
    assert [each.query_id for each in opened.rankings] == ["q1", "q2"]


VERDICT = Record(judge="j", task=Task.SPLIT, key="k", repeat=0, verdicts=Split(asserts=True, claims=("A",)))


@pytest.mark.parametrize("pack", [pytest.param(bytes, id="plain"), pytest.param(gzip.compress, id="gzipped")])
@pytest.mark.parametrize(
    ("value", "kept"),
    [
        pytest.param(line_of(VERDICT).decode(), {VERDICT.slot: VERDICT}, id="as a store keeps them"),
        pytest.param("", {}, id="none"),
    ],
)
def test_verdicts_of_an_uploaded_stored_run_are_kept(
    value: str,
    kept: dict[Slot, Record],
    pack: Callable[[bytes], bytes],
    proxy: Proxy,
    storage: Storage,
    environment: dict[str, str],
) -> None:
    """The push that left it is of the base branch; a pull request's run goes another way."""
    line = f'{{"query_id": "q1", "retrieved": ["a"], "answer": "A.", "verdicts": [{value.strip()}]}}\n'
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7, pack(line.encode()))
    (record,) = (memory := memory_of(environment)).read("accepted")
    assert (record.answers, record.verdicts or 0) == (1, len(kept))
    assert "verdicts" not in record.provenance
    assert stored_verdicts(open_record(memory, record, frozenset({Need.VERDICTS}))) == kept


@pytest.mark.parametrize("value", ["null", "7", '"yes"', '{"n": 1}', "[1, [2]]", '[{"verdict": "yes", "reason": "r"}]'])
def test_a_key_that_is_called_verdicts_disturbs_no_gate_on_rankings(
    value: str, proxy: Proxy, storage: Storage, environment: dict[str, str]
) -> None:
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7, f'{{"query_id": "q1", "topk": ["a"], "verdicts": {value}}}\n'.encode())
    (record,) = (memory := memory_of(environment)).read("accepted")
    opened = open_record(memory, record, frozenset({Need.LATENCY, Need.TEXTS}))
    assert [each.ids for each in opened.rankings] == [["a"]]


def test_it_is_asked_for_once(proxy: Proxy, storage: Storage, environment: dict[str, str]) -> None:
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7)
    memory = memory_of(environment)
    (record,) = memory.read("accepted")
    memory.read("accepted")
    memory.fetch(record)
    assert len(storage.log) == 1
    assert len(proxy.log) == 3


def test_the_token_goes_to_the_api_and_never_to_where_the_artifact_lies(
    proxy: Proxy, storage: Storage, environment: dict[str, str]
) -> None:
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7)
    memory_of(environment).read("accepted")
    assert all(exchange.authorized for exchange in proxy.log)
    (fetched,) = storage.log
    assert not fetched.headers & {"authorization", "cookie", "x-github-api-version"}


STRANGERS = [
    pytest.param({"event": "pull_request"}, id="a pull request's, from a branch of the same name"),
    pytest.param({"event": "pull_request_target"}, id="pull_request_target"),
    pytest.param({"event": "workflow_dispatch"}, id="by hand"),
    pytest.param({"conclusion": "failure"}, id="failed"),
    pytest.param({"conclusion": "cancelled"}, id="cancelled"),
    pytest.param({"status": "in_progress", "conclusion": None}, id="not ended"),
    pytest.param({"head_branch": "change"}, id="of another branch"),
    pytest.param({"head_branch": None}, id="of no branch"),
    pytest.param({"head_repository": {"id": 2, "full_name": "mallory/search"}}, id="a fork's branch called main"),
    pytest.param({"head_repository": None}, id="of a repository that is gone"),
]


@pytest.mark.parametrize("about", STRANGERS)
def test_a_newer_run_that_does_not_count_is_passed_over_whatever_github_answers(
    proxy: Proxy, storage: Storage, environment: dict[str, str], about: dict[str, Any]
) -> None:
    lists(proxy, run_of(proxy, 9, **about), run_of(proxy, 7, head_sha="b" * 40))
    leaves(proxy, storage, 7)
    assert [record.commit for record in memory_of(environment).read("accepted")] == ["b" * 40]


def test_it_is_found_on_a_later_page(proxy: Proxy, storage: Storage, environment: dict[str, str]) -> None:
    path = "/actions/workflows/rankgate.yml/runs"
    whole = f"{proxy.url}/repos/{proxy.emulator.repository}{path}?page=2"
    first = {"total_count": 2, "workflow_runs": [run_of(proxy, 9, event="pull_request")]}
    proxy.status("GET", path, 200, json=first, headers={"Link": f'<{whole}>; rel="next"'})
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7)
    assert len(memory_of(environment).read("accepted")) == 1
    assert len(proxy.asked("GET", "/workflows/")) == 2


def test_where_the_workflow_was_never_green_nothing_is_accepted_yet(proxy: Proxy, environment: dict[str, str]) -> None:
    lists(proxy)
    assert memory_of(environment).read("accepted") == []


def test_another_workflow_is_named_behind_an_at(proxy: Proxy, storage: Storage, environment: dict[str, str]) -> None:
    lists(proxy, run_of(proxy, 7), workflow="nightly.yaml")
    leaves(proxy, storage, 7)
    assert len(memory_of(environment, "artifact:rankgate@nightly.yaml").read("accepted")) == 1


@pytest.mark.parametrize(
    ("about", "branch"),
    [
        pytest.param({"GITHUB_BASE_REF": "release/2"}, "release/2", id="a pull request's"),
        pytest.param(
            {"GITHUB_BASE_REF": "", "GITHUB_REF": f"refs/heads/gh-readonly-queue/release/2/pr-7-{SHA}"},
            "release/2",
            id="the merge queue's",
        ),
        pytest.param({"GITHUB_BASE_REF": "", "GITHUB_REF": "refs/heads/change"}, "main", id="else the default branch"),
    ],
)
def test_the_base_branch(
    proxy: Proxy, storage: Storage, environment: dict[str, str], about: dict[str, str], branch: str
) -> None:
    proxy.play("GET", "", json={"id": 1, "full_name": proxy.emulator.repository, "default_branch": "main"})
    lists(proxy, run_of(proxy, 9, head_branch="change"), run_of(proxy, 7, head_branch=branch))
    leaves(proxy, storage, 7)
    (record,) = memory_of({**environment, **about}).read("accepted")
    assert record.branch == branch


def test_a_run_that_was_gzipped_is_read(proxy: Proxy, storage: Storage, environment: dict[str, str]) -> None:
    lists(proxy, run_of(proxy, 7), run_of(proxy, 6))
    leaves(proxy, storage, 6)
    leaves(proxy, storage, 7, gzip.compress(RUN))
    (record,) = memory_of(environment).read("accepted")
    lists(proxy, run_of(proxy, 6))
    assert [record] == memory_of(environment).read("accepted"), "the same run is the same baseline"


def test_an_artifact_that_has_expired_is_named_with_what_to_do(
    proxy: Proxy, storage: Storage, environment: dict[str, str]
) -> None:
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7, expired=True)
    assert refused(memory_of(environment)) == "rankgate: the artifact of run 7 has expired; run the workflow again"
    assert storage.log == []


def test_a_run_without_the_artifact_is_named(proxy: Proxy, environment: dict[str, str]) -> None:
    lists(proxy, run_of(proxy, 7))
    proxy.play("GET", "/actions/runs/7/artifacts", json={"total_count": 0, "artifacts": []})
    assert refused(memory_of(environment)).startswith("rankgate: run 7 left no artifact of this name")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "artifact:rankgate/run.jsonl: the run has no query; nothing to accept", id="empty"),
        pytest.param(b"{\n", "artifact:rankgate/run.jsonl:1: ", id="no JSON"),
        pytest.param(b"\x1f\x8bxx", "artifact:rankgate/run.jsonl: damaged gzip data: ", id="damaged gzip"),
        pytest.param(
            gzip.compress(RUN)[:-9],
            f"artifact:rankgate/run.jsonl: is no whole gzip file of at most {LIMITS.unpacked:,} bytes",
            id="truncated gzip",
        ),
    ],
)
def test_a_damaged_run_is_named(
    proxy: Proxy, storage: Storage, environment: dict[str, str], content: bytes, message: str
) -> None:
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7, content)
    assert refused(memory_of(environment)).startswith(message)


def test_an_archive_without_the_run_is_named(proxy: Proxy, storage: Storage, environment: dict[str, str]) -> None:
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7)
    proxy.play("GET", "/actions/artifacts/1007/zip", 302, redirect=storage.keep(zipped(b"{}", "report.json")))
    assert refused(memory_of(environment)) == "run.jsonl: the artifact is not read: it has no file of that name"


def test_a_token_that_may_not_read_actions_is_told_which_right_it_lacks(
    proxy: Proxy, environment: dict[str, str]
) -> None:
    proxy.play("GET", "/actions/workflows/rankgate.yml/runs", 403, json={"message": "Resource not accessible"})
    said = refused(memory_of(environment))
    assert said.startswith("artifact:rankgate: GitHub refused GET ")
    assert said.endswith("; the job needs `permissions: actions: read`")
    assert environment["GITHUB_TOKEN"] not in said


def test_only_a_403_is_a_lack_of_rights_whatever_the_words_are(proxy: Proxy, environment: dict[str, str]) -> None:
    proxy.play("GET", "/actions/workflows/rankgate.yml/runs", 404, json={"message": "no 403 today"})
    said = refused(memory_of(environment))
    assert said.endswith("404 no 403 today")


@pytest.mark.parametrize(
    "about",
    [
        pytest.param({"head_sha": "main"}, id="a branch for a commit"),
        pytest.param({"head_sha": "a" * 40 + "\n"}, id="a commit with a line break"),
        pytest.param({"created_at": "yesterday"}, id="no date"),
    ],
)
def test_what_github_lists_is_looked_at(proxy: Proxy, environment: dict[str, str], about: dict[str, str]) -> None:
    lists(proxy, run_of(proxy, 7, **about))
    assert refused(memory_of(environment)).startswith("workflow_runs: GitHub lists a workflow run that is none: ")


def test_nothing_is_added_or_pruned(environment: dict[str, str], proxy: Proxy, storage: Storage) -> None:
    lists(proxy, run_of(proxy, 7))
    leaves(proxy, storage, 7)
    memory = memory_of(environment)
    (record,) = memory.read("accepted")
    said = r"^artifact:rankgate: is read, not written: what rankgate\.yml uploads on the base branch is accepted"
    with pytest.raises(RankgateError, match=said):
        memory.add("accepted", record, b"")
    with pytest.raises(RankgateError, match=said):
        memory.prune("accepted", {record.id})


@pytest.mark.parametrize(
    ("about", "spec", "message"),
    [
        pytest.param(
            {"GITHUB_REPOSITORY": ""},
            "artifact:rankgate",
            "artifact:rankgate: no repository is named; outside of GitHub Actions set GITHUB_REPOSITORY to OWNER/NAME",
            id="no repository",
        ),
        pytest.param(
            {"GITHUB_TOKEN": ""},
            "artifact:rankgate",
            "artifact:rankgate: GitHub gives artifacts to nobody without a token; set it in env, as GITHUB_TOKEN: "
            "${{ github.token }}",
            id="no token",
        ),
        pytest.param(
            {},
            "artifact:a/b",
            "baseline: expected artifact:NAME or artifact:NAME@WORKFLOW.yml, found 'artifact:a/b'",
            id="a name with a slash",
        ),
        pytest.param(
            {},
            "artifact:a@../x.yml",
            "baseline: expected artifact:NAME or artifact:NAME@WORKFLOW.yml, found 'artifact:a@../x.yml'",
            id="a workflow with a path",
        ),
    ],
)
def test_what_is_missing_is_named(about: dict[str, str], spec: str, message: str) -> None:
    complete = {"GITHUB_REPOSITORY": "acme/search", "GITHUB_TOKEN": "t", "GITHUB_API_URL": "http://127.0.0.1:1"}
    with pytest.raises(RankgateError) as caught:
        artifact_memory(spec, {**complete, **about})
    assert str(caught.value) == message
