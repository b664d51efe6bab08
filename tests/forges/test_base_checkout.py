"""A check at the base of a pull request: what of the job's environment its process sees."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests import repositories
from tests.baselines.test_git_token import TOKEN, GitServer
from tests.baselines.test_git_token import certificate as certificate  # noqa: PLC0414 -- a fixture
from tests.baselines.test_git_token import server as server_of_git

import rankgate.forges.base_checkout
from rankgate.cli import main
from rankgate.errors import RankgateError
from rankgate.forges.base_checkout import LOADER, BaseCheckout, Subject
from rankgate.forges.runner import Pull
from rankgate.model.base_ref import ACCEPT_CHANGE, SetLabel
from rankgate.model.report import Report


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file into which an interpreter that does nothing else writes its environment."""
    interpreter, told = tmp_path / "python", tmp_path / "seen"
    interpreter.write_text(f"#!/bin/sh\nenv > {told}\n")
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    return told


@pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a shell script")
def test_the_process_gets_what_its_interpreter_needs_to_start_and_neither_token_nor_event(
    seen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the loader's variables a Python of setup-python that was built as a shared library would not start."""
    clone = tmp_path / "clone"
    clone.mkdir()
    repositories.git("init", "--quiet", at=clone)
    base = repositories.sha_of_commit(clone)
    needed = {name: f"/nowhere/{name}" for name in LOADER}
    kept = needed | {"LANG": "C", "HOME": str(tmp_path)}
    secret = {"GITHUB_TOKEN": "t", "RANKGATE_TOKEN": "t", "GITHUB_EVENT_PATH": "e", "PYTHONPATH": "p"}
    for name, value in (kept | secret).items():
        monkeypatch.setenv(name, value)
    pull = Pull(number=1, head_sha="a" * 40, base_ref="main", base_sha=base, head_repository=2, from_fork=True)
    with pytest.raises(RankgateError, match="left no report"):
        BaseCheckout(repository=clone, date="2026-01-31").judge(pull, b"")
    environment = dict(line.split("=", 1) for line in seen.read_text().splitlines())
    assert kept.items() <= environment.items()
    assert not secret.keys() & environment.keys()
    assert environment["PATH"] == os.environ["PATH"]


git_server = server_of_git  # the fixture, whose name is the emulator's here

CRITERIA = """\
gates: [{{name: recall@1, threshold: 0.2, regression_max: 0.15}}]
inputs: {{gold: gold.yaml, baseline: "{}"}}
"""


def run(right: int) -> bytes:
    """A run that answers so many of ten questions."""
    lines = [{"query_id": f"q{n}", "retrieved": [f"d{n}" if n < right else "x"]} for n in range(10)]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def pull_into_head() -> Pull:
    """A fork's pull request into the commit of the current directory."""
    return Pull(
        number=1,
        head_sha="a" * 40,
        base_ref="main",
        base_sha=repositories.sha_of_commit(),
        head_repository=2,
        from_fork=True,
    )


def base_with(baseline: str) -> Pull:
    """Criteria that name a baseline, committed in the current directory, and a pull request into that."""
    Path("gold.yaml").write_text("".join(f"- {{id: q{n}, expected_output: [d{n}]}}\n" for n in range(10)))
    Path("ship-criteria.yaml").write_text(CRITERIA.format(baseline))
    Path(".gitignore").write_text("*.jsonl\n")
    Path("run.jsonl").write_bytes(run(10))
    return pull_into_head()


def accept(baseline: str) -> None:
    words = ["--run", "run.jsonl", "--date", "2026-01-01", "--reason", "first"]
    assert main(["baseline", "accept", *words, "--to", baseline]) == 0


def judged(pull: Pull, right: int, *arguments: str) -> Any:
    """The gate, and what was compared with."""
    at_base = BaseCheckout(repository=Path.cwd(), date="2026-01-31", arguments=dict(pairwise(arguments)))
    report = at_base.judge(pull, run(right))
    assert report.problems == []
    return report.gates, report.provenance.baseline


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that is the current directory, as the checkout of the reporting job."""
    repositories.git("init", "--quiet", "--initial-branch=main", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")


@pytest.mark.full
def test_a_private_branch_is_fetched_here_with_the_token_that_the_check_has_not(
    git_server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKGATE_TOKEN", TOKEN)
    pull = base_with("git+branch:baselines")
    accept("git+branch:baselines")
    git_server.private = True
    gates, baseline = judged(pull, 5)
    assert [(each.change.baseline, each.verdict.value) for each in gates] == [(1.0, "fail")]
    assert (baseline.path, baseline.lineage.how) == ("git+branch:baselines", "merge_base")
    monkeypatch.delenv("RANKGATE_TOKEN")
    with pytest.raises(RankgateError, match="git\\+branch:baselines: cannot be fetched from origin"):
        judged(pull, 5)


@pytest.mark.usefixtures("in_process")
def test_a_bucket_is_read_here_and_what_the_caller_names_wins(clone: None, tmp_path: Path) -> None:
    """A folder stands for the bucket: it is the same store."""
    bucket = f"file://{tmp_path}/bucket"
    pull = base_with("s3://another/bucket")
    accept(bucket)
    gates, baseline = judged(pull, 9, "--baseline", bucket)
    assert (gates[0].change.baseline, Path(baseline.path).name) == (1.0, "bucket")


@pytest.mark.usefixtures("in_process")
def test_of_several_accepted_runs_that_of_the_pull_requests_own_base_branch_counts(clone: None, tmp_path: Path) -> None:
    """The event that starts the reporting job names no base branch."""
    pull = base_with(bucket := f"file://{tmp_path}/bucket")
    for branch in ("release", "main"):
        words = ["--run", "run.jsonl", "--reason", "first", "--commit", "none", "--branch", branch]
        assert main(["baseline", "accept", *words, "--date", "2026-01-01", "--to", bucket]) == 0
    for branch in ("main", "release"):
        assert judged(replace(pull, base_ref=branch), 9)[1].lineage.branch == branch


@pytest.mark.full
def test_where_nothing_was_accepted_yet_there_is_no_baseline(clone: None, tmp_path: Path) -> None:
    gates, baseline = judged(base_with(f"file://{tmp_path}/bucket"), 5)
    assert (gates[0].change.baseline, baseline) == (None, None)


def linked_file() -> None:
    Path("ship-criteria.yaml").unlink()
    Path("ship-criteria.yaml").symlink_to("/proc/self/environ")


def linked_folder(secret: Path) -> None:
    Path("ship-criteria.yaml").rename(secret / "ship-criteria.yaml")
    Path("ship-criteria.yaml").symlink_to(secret / "ship-criteria.yaml")


@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize("aim", ["environ", "elsewhere"])
def test_a_link_of_the_base_shows_this_process_nothing(clone: None, tmp_path: Path, aim: str) -> None:
    """The base may be a branch that the pull request's author made; what the check reads there has no secret."""
    base_with("git+branch:baselines")
    if aim == "environ":
        linked_file()
    else:
        linked_folder(tmp_path)
    pull = pull_into_head()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RANKGATE_TOKEN", TOKEN)
        with pytest.raises(RankgateError, match="is a symbolic link that leads out of the repository") as refused:
            BaseCheckout(repository=Path.cwd(), date="2026-01-31").judge(pull, run(5))
    assert TOKEN not in str(refused.value)


@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize("kind", ["a link", "a path"])
def test_nor_does_a_gold_set_of_the_base_show_what_lies_on_this_machine(clone: None, tmp_path: Path, kind: str) -> None:
    """The environment of this process, say, which has the token: whoever can push makes a base of his own."""
    (tmp_path / "secret").write_text(gold_of(*range(10)))
    aim = f"{tmp_path}/secret"
    if kind == "a link":
        Path("secret.yaml").symlink_to(aim)
        aim = "secret.yaml"
    Path("ship-criteria.yaml").write_text(PLAIN.replace("gold.yaml", aim))
    pull = pull_into_head()
    with pytest.raises(RankgateError, match="leads out of the repository"):
        BaseCheckout(repository=Path.cwd(), date="2026-01-31").judge(pull, run(5))


# With an App: a writer's pull request is judged by both sides, of which nothing is checked out.

PLAIN = "gates: [{name: recall@1, threshold: 0.8}]\ninputs: {gold: gold.yaml}\n"
LABEL = SetLabel(name=ACCEPT_CHANGE, by="alice", state="counts")


def gold_of(*numbers: int) -> str:
    return "".join(f"- {{id: q{n}, expected_output: [d{n}]}}\n" for n in numbers)


@pytest.fixture
def judging(clone: None, tmp_path: Path) -> Path:
    """The clone of the judging job, with the files of main; the team's own clone is the current directory."""
    repositories.git("init", "--quiet", "--bare", str(tmp_path / "origin.git"))
    repositories.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    Path("ship-criteria.yaml").write_text(PLAIN)
    Path("gold.yaml").write_text(gold_of(*range(10)))
    repositories.commit()
    repositories.git("push", "--quiet", "origin", "main")
    repositories.git("clone", "--quiet", "--branch=main", str(tmp_path / "origin.git"), str(tmp_path / "judging"))
    repositories.git("switch", "--quiet", "--create", "change")
    return tmp_path / "judging"


def pushed() -> Pull:
    """A pull request of what is in the current directory; its branch is gone, as after a merge."""
    head = repositories.sha_of_commit()
    repositories.git("push", "--quiet", "origin", f"{head}:refs/pull/1/head")
    return Pull(number=1, head_sha=head, base_ref="main", base_sha="b" * 40, head_repository=1, from_fork=False)


def report_on(judging: Path, right: int, *labels: SetLabel, gold: bytes | None = None) -> Report:
    pull, at_base = pushed(), BaseCheckout(repository=judging, date="2026-01-31")
    based = at_base.at_tip(pull)
    return at_base.judge(based, run(right), head=at_base.merged(based), labels=labels, gold=gold)


def easier_gate() -> None:
    Path("ship-criteria.yaml").write_text(PLAIN.replace("0.8", "0.1"))


def fewer_questions() -> None:
    Path("gold.yaml").write_text(gold_of(*range(6)))


@pytest.mark.usefixtures("in_process")
@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "right", "labels", "verdict"),
    [
        pytest.param(None, 9, [], "pass", id="nothing"),
        pytest.param(None, 5, [], "fail", id="a worse run"),
        pytest.param(easier_gate, 5, [], "fail", id="an easier gate"),
        pytest.param(fewer_questions, 6, [LABEL], "warn", id="that is accepted"),
        pytest.param(fewer_questions, 6, [replace(LABEL, state="outsider")], "fail", id="… by one who may not write"),
    ],
)
def test_a_writers_pull_request_is_judged_by_both_sides(
    judging: Path, change: Callable[[], None] | None, right: int, labels: list[SetLabel], verdict: str
) -> None:
    if change:
        change()
    report = report_on(judging, right, *labels)
    assert (report.problems, report.verdict.value) == ([], verdict)
    assert report.origin.untrusted_run


@pytest.mark.full
def test_what_main_got_meanwhile_is_not_the_pull_requests_doing(judging: Path) -> None:
    Path("notes.txt").write_text("a change")
    repositories.commit()
    repositories.git("switch", "--quiet", "main")
    Path("gold.yaml").write_text(gold_of(*range(12)))
    repositories.commit()
    repositories.git("push", "--quiet", "origin", "main")
    repositories.git("switch", "--quiet", "change")
    report = report_on(judging, 10)
    assert report.base is not None
    assert (report.verdict.value, report.base.queries, report.base.keys) == ("pass", None, [])


def more_questions() -> None:
    Path("gold.yaml").write_text(gold_of(*range(12)))


def notes() -> None:
    Path("notes.txt").write_text("a change")


def own_labels() -> None:
    Path("ship-criteria.yaml").write_text(PLAIN + "accept_own: true\n")


def on_main(judging: Path, change: Callable[[], None]) -> None:
    repositories.git("switch", "--quiet", "main")
    change()
    repositories.commit()
    repositories.git("push", "--quiet", "origin", "main")
    repositories.git("switch", "--quiet", "change")


def subject_of(judging: Path, pull: Pull, right: int = 9, *, own: bool = True, gold: bytes | None = None) -> Subject:
    at_base = BaseCheckout(repository=judging, date="2026-01-31")
    based = at_base.at_tip(pull)
    return at_base.subject(based, at_base.merged(based) if own else None, run(right), gold)


@pytest.mark.full
def test_what_is_judged_is_the_commit_the_gate_at_both_sides_and_the_run(judging: Path) -> None:
    """Published apart before the dot by the gate, behind it by the run; whatever else main gets changes neither."""
    easier_gate()
    pull = pushed()
    first = subject_of(judging, pull)
    gate, _, ran = first.text.partition(".")
    assert (len(gate), len(ran), first.accept_own) == (32, 32, False)
    on_main(judging, notes)
    assert subject_of(judging, pull) == first
    other_run = subject_of(judging, pull, 8).text.partition(".")
    assert (other_run[0], other_run[2] == ran) == (gate, False)
    others = [
        subject_of(judging, pull, own=False),
        subject_of(judging, pull, gold=b"made"),
        subject_of(judging, replace(pull, head_sha="c" * 40), own=False),
    ]
    on_main(judging, more_questions)
    others.append(subject_of(judging, pull))
    on_main(judging, own_labels)
    others.append(subject_of(judging, pull))
    assert [each.accept_own for each in others] == [False] * 4 + [True]
    gates = {gate, *(each.text.partition(".")[0] for each in others)}
    assert len(gates) == 1 + len(others)


@pytest.mark.full
def test_what_a_jobs_own_checkout_judges_is_told_by_its_run_its_scores_and_its_gold_set(clone: None) -> None:
    base_with("baseline")
    pull = Pull(
        number=1,
        head_sha="a" * 40,
        base_ref="main",
        base_sha=repositories.sha_of_commit(),
        head_repository=1,
        from_fork=False,
    )
    at_base, told = BaseCheckout(repository=Path.cwd(), date="2026-01-31"), list[tuple[str, ...]]()
    for file, content in (("notes.txt", b""), ("run.jsonl", run(9)), ("other.jsonl", run(8)), ("gold.yaml", b"- {}")):
        Path(file).write_bytes(content)
        told.append(at_base.subject(pull, "HEAD", "run.jsonl").text.partition("."))
    (gate, _, ran), run_again, other_run, other_gold = told
    assert (run_again[0], run_again[2] == ran) == (gate, False)
    assert other_run == run_again, "a file that is not the run"
    assert (other_gold[0] == gate, other_gold[2]) == (False, run_again[2])


def linked_gold() -> None:
    Path("gold.yaml").unlink()
    Path("gold.yaml").symlink_to("/proc/self/environ")


def linked_criteria() -> None:
    Path("ship-criteria.yaml").rename("other.yaml")
    Path("ship-criteria.yaml").symlink_to("../other.yaml")


def named_gold(path: str) -> Callable[[], None]:
    def named() -> None:
        Path("ship-criteria.yaml").write_text(PLAIN.replace("gold.yaml", path))

    return named


def gold_behind_a_link() -> None:
    Path("folder").symlink_to("/proc/self")
    named_gold("folder/environ")()


def gold_in_a_submodule() -> None:
    repositories.git("update-index", "--add", "--cacheinfo", f"160000,{'c' * 40},module")
    Path("module").mkdir()
    named_gold("module/gold.yaml")()


def large_gold() -> None:
    Path("gold.yaml").write_text(f"{gold_of(*range(10))}# {'x' * 20_000}\n")


def other_labels() -> None:
    todays = "".join(f"- {{id: q{n}, expected_output: [x]}}\n" for n in range(6, 10))
    Path("gold.yaml").write_text(gold_of(*range(6)) + todays)


def conflict() -> None:
    fewer_questions()
    repositories.commit()
    repositories.git("switch", "--quiet", "main")
    other_labels()
    repositories.commit()
    repositories.git("push", "--quiet", "origin", "main")
    repositories.git("switch", "--quiet", "change")


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(linked_gold, "gold.yaml at ", id="the gold set is a link"),
        pytest.param(linked_criteria, "link that leads out of the repository", id="the criteria are a link"),
        pytest.param(gold_behind_a_link, "link that leads out of the repository", id="a folder is a link"),
        pytest.param(gold_in_a_submodule, "lies in a submodule", id="the gold set lies in a submodule"),
        pytest.param(named_gold("/proc/self/environ"), "leads out of the repository", id="an absolute path"),
        pytest.param(named_gold("../../proc/self/environ"), "leads out of the repository", id="a path that leads out"),
        pytest.param(large_gold, "gold.yaml: is too large", id="a large file"),
        pytest.param(conflict, "into 'main' as that is now: they have conflicts", id="conflicts"),
    ],
)
def test_nothing_but_small_regular_files_of_a_pull_request_is_read(
    judging: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[], None], why: str
) -> None:
    monkeypatch.setattr(rankgate.forges.base_checkout, "MAX_BYTES", 10_000)
    change()
    with pytest.raises(RankgateError, match=re.escape(why)):
        report_on(judging, 10, LABEL)


@pytest.mark.full
def test_nothing_else_of_a_pull_request_is_written_and_nothing_of_it_is_run(
    judging: Path, seen: Path, tmp_path: Path
) -> None:
    """Neither a filter that the machine knows, nor a hook, nor any other file of the head."""
    runs = tmp_path / "ran"
    for name, value in {"filter.own.smudge": f"touch {runs}; cat", "merge.own.driver": f"touch {runs}"}.items():
        repositories.git("config", name, value, at=judging)
    Path(".gitattributes").write_text("* filter=own merge=own\n")
    Path("retriever.py").write_text("import os\n")
    Path("ship-waivers.yaml").write_text("waivers: []\n")
    Path("link").symlink_to("/")
    interpreter = Path(sys.executable)
    interpreter.write_text(f"#!/bin/sh\nfind . ! -type d | sort > {seen}\n")
    with pytest.raises(RankgateError, match="left no report"):
        report_on(judging, 10)
    assert seen.read_text().split() == ["./.git", "./gold.yaml", "./ship-criteria.yaml", "./ship-waivers.yaml"]
    assert not runs.exists()


@pytest.mark.full
def test_no_package_is_looked_for_in_the_job_that_has_the_token(judging: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head's criteria name a metric; where what they name lies is read without it."""

    def never() -> None:
        raise AssertionError

    monkeypatch.setattr("rankgate.metrics.plugins._installed", never)
    Path("ship-criteria.yaml").write_text(PLAIN.replace("[{", "[{name: first@1, threshold: 0.5}, {"))
    report = report_on(judging, 10)
    assert (report.verdict.value, "unknown metric 'first@1'" in str(report.problems)) == ("not_judged", True)


def pointer() -> None:
    Path("gold.yaml").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 100\n")


def linked_within() -> None:
    Path("kept").mkdir()
    Path("gold.yaml").rename("kept/gold.yaml")
    Path("gold.yaml").symlink_to("kept/gold.yaml")


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        pytest.param(pointer, "not_judged", id="a pointer of Git LFS is no gold set"),
        pytest.param(named_gold(".git"), "not_judged", id="nor are git's own files"),
        pytest.param(linked_within, "warn", id="a link within the commit is followed there, as without an App"),
    ],
)
def test_what_stands_in_a_gold_sets_place(judging: Path, change: Callable[[], None], verdict: str) -> None:
    change()
    assert report_on(judging, 10, LABEL).verdict.value == verdict


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("committed", "made", "verdict", "supplied"),
    [
        pytest.param(None, gold_of(*range(10)), "pass", True, id="neither commit has one"),
        pytest.param(None, None, "not_judged", False, id="there is none at all"),
        pytest.param(gold_of(*range(10)), gold_of(0), "fail", False, id="the commit has one, which counts"),
    ],
)
def test_a_gold_set_that_the_job_made_counts_where_no_commit_has_one(
    judging: Path, committed: str | None, made: str | None, verdict: str, *, supplied: bool
) -> None:
    repositories.git("switch", "--quiet", "main")
    if committed is None:
        Path("gold.yaml").unlink()
        repositories.commit()
        repositories.git("push", "--quiet", "origin", "main")
    repositories.git("switch", "--quiet", "--force-create", "change")
    report = report_on(judging, 9 if committed is None else 5, gold=made.encode() if made else None)
    assert report.verdict.value == verdict
    assert report.base is not None
    assert report.base.gold_supplied is supplied


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
def test_a_gold_set_of_the_base_that_the_pull_request_takes_out_of_git_decides_all_the_same(judging: Path) -> None:
    Path("gold.yaml").unlink()
    made = gold_of(*range(5)).encode()
    assert report_on(judging, 5, gold=made).verdict.value == "fail"
    assert report_on(judging, 5, LABEL, gold=made).verdict.value == "not_judged"


@pytest.mark.full
def test_a_gold_set_of_the_job_below_a_file_of_the_commit_is_no_verdict(judging: Path) -> None:
    criteria = Path("ship-criteria.yaml")
    criteria.write_text(criteria.read_text().replace("gold.yaml", "ship-criteria.yaml/gold.yaml"))
    with pytest.raises(RankgateError, match="cannot be where it is"):
        report_on(judging, 5, gold=gold_of(*range(5)).encode())


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
def test_what_the_workflow_names_may_lie_anywhere_and_nothing_of_an_artifact_is_written_there(
    judging: Path, tmp_path: Path
) -> None:
    """On a machine of the team's own: it is the default branch's workflow that names it."""
    (tmp_path / "elsewhere.yaml").write_text(gold_of(*range(5)))
    pull = pushed()
    for gold, right, verdict in (("elsewhere.yaml", 5, "pass"), ("absent.yaml", 5, "not_judged")):
        arguments = {"--gold": str(tmp_path / gold)}
        at_base = BaseCheckout(repository=judging, date="2026-01-31", arguments=arguments)
        based = at_base.at_tip(pull)
        made = gold_of(*range(5)).encode()
        report = at_base.judge(based, run(right), head=at_base.merged(based), gold=made)
        assert report.verdict.value == verdict
    assert not (tmp_path / "absent.yaml").exists()


@pytest.mark.full
def test_a_group_of_the_merge_queue_is_judged_onto_one_that_only_the_queue_has(judging: Path) -> None:
    """The second in the queue is merged onto the first one's commit, which no branch of the clone has."""
    other_labels()
    first = repositories.sha_of_commit()
    Path("notes.txt").write_text("the second")
    second = repositories.sha_of_commit()
    repositories.git("push", "--quiet", "origin", f"{second}:refs/heads/gh-readonly-queue/main/pr-2-{first}")
    group = Pull(number=0, head_sha=second, base_ref="main", base_sha=first, head_repository=1, from_fork=False)
    at_base = BaseCheckout(repository=judging, date="2026-01-31")
    report = at_base.judge(group, run(6), head=at_base.merged(group))
    assert report.base is not None
    assert (report.verdict.value, report.base.sha, report.base.queries) == ("pass", first, None)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("committed", [True, False], ids=["committed", "supplied to the other job"])
@pytest.mark.usefixtures("clone")
def test_traffic_of_a_fork_is_compared_where_the_base_has_its_questions(committed: bool) -> None:  # noqa: FBT001 -- a table
    asked = {"query_id": "t1", "retrieved": ["x"], "traffic": True}
    base_with("baseline")
    Path("run.jsonl").write_bytes(run(10) + json.dumps(asked).encode())
    Path("traffic.json").write_text(json.dumps([{"query_id": "t1", "question": "how long?"}]))
    text = CRITERIA.format("baseline").replace("inputs: {", "inputs: {traffic: traffic.json, traffic_labels: l.csv, ")
    Path("ship-criteria.yaml").write_text(text)
    accept("baseline")
    Path(".gitignore").write_text(f"*.jsonl\n!baseline/*{'' if committed else chr(10) + 'traffic.json'}\n")
    base = repositories.sha_of_commit()
    pull = Pull(number=1, head_sha="a" * 40, base_ref="main", base_sha=base, head_repository=2, from_fork=True)
    at_base = BaseCheckout(repository=Path.cwd(), date="2026-01-31")
    report = at_base.judge(pull, run(10) + json.dumps({**asked, "retrieved": ["y"]}).encode())
    assert (report.verdict, report.problems) == ("pass", [])
    assert ("the questions of `inputs.traffic` are not here" in str(report.remarks.notes).casefold()) is not committed
    assert (report.measured.traffic is not None and report.measured.traffic.changed == 1) is committed
    Path("l.csv").write_text("query_id,document,relevant\nt1,x,1\n")
    labelled = replace(pull, base_sha=repositories.sha_of_commit())
    assert at_base.subject(labelled, None, b"") != at_base.subject(pull, None, b""), "a label is bound to them"
