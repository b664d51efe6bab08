"""A memory on a branch: real clones of real remotes, writers that race or are killed, and hands that edited it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.baselines.git_writer import ACCEPTING, SPEC, add, record_of, run_of
from tests.children import start

from rankgate.baselines.branch import BranchPlace, branch_memory
from rankgate.baselines.memory import Place
from rankgate.cli import main
from rankgate.errors import RankgateError

BRANCH = "rankgate-baselines"
FIRST = "history/00000001.json"
ROOT = Path(__file__).resolve().parents[2]
WRITER = Path(__file__).with_name("git_writer.py")
PATHS = os.pathsep.join([str(ROOT / "src"), str(ROOT)])


def git(*arguments: str, at: Path | str = ".", given: str | None = None) -> str:
    found = subprocess.run(["git", *arguments], cwd=at, input=given, check=True, capture_output=True, text=True)
    return found.stdout.strip()


@pytest.fixture(scope="module", autouse=True)
def git_of_nobody() -> Iterator[None]:
    """Whatever the developer has configured; a name for the tests' own commits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for who in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{who}_NAME", "A")
            patch.setenv(f"GIT_{who}_EMAIL", "a@b.example")
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, git_of_nobody: None) -> Path:
    """A bare remote with three commits on main, and a whole clone of it."""
    tmp_path = tmp_path_factory.mktemp("made")
    made = tmp_path / "remote.git"
    git("init", "--quiet", "--bare", "--initial-branch", "main", str(made))
    first = tmp_path / "first"
    git("clone", "--quiet", str(made), str(first))
    git("switch", "--quiet", "--create", "main", at=first)
    for number in range(3):
        (first / "file").write_text(f"{number}\n")
        git("add", "file", at=first)
        git("commit", "--quiet", "--message", "change", at=first)
    git("push", "--quiet", "origin", "main", at=first)
    git("clone", "--quiet", f"file://{made}", str(tmp_path / "clone"))
    return tmp_path


@pytest.fixture
def remote(made: Path, tmp_path: Path) -> Path:
    """A copy of the remote."""
    return shutil.copytree(made / "remote.git", tmp_path / "remote.git")


@pytest.fixture
def clone(made: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole clone, and the current directory."""
    copied = shutil.copytree(made / "clone", tmp_path / "clone")
    monkeypatch.chdir(copied)
    git("config", "remote.origin.url", f"file://{remote}")
    git("update-index", "--refresh")
    return copied


def held(spec: str = SPEC) -> dict[str, list[str | None]]:
    """Whose runs the logs hold, as the current directory sees them."""
    memory = branch_memory(spec)
    logs = ("history", "accepted")
    found = {log: memory.read(log) for log in logs}  # type: ignore[arg-type]
    for records in found.values():
        for record in records:
            who, number = str(record.branch).rsplit("-", 1)
            assert memory.fetch(record) == run_of(who, int(number))
    return {log: [record.branch for record in records] for log, records in found.items()}


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(RankgateError) as caught:
        action()
    (problem,) = caught.value.problems
    assert "\n" not in str(problem)
    return str(problem)


def listed(remote: Path) -> list[str]:
    """What the branch holds."""
    return git("ls-tree", "-r", "--name-only", BRANCH, at=remote).split()


def state(folder: Path) -> dict[str, str]:
    """All that a user has in a clone: what rankgate does must not show in it."""
    refs = git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", at=folder)
    return {
        "refs": refs,
        "HEAD": (Path(git("rev-parse", "--absolute-git-dir", at=folder)) / "HEAD").read_text(),
        "index": git("ls-files", "--stage", at=folder),
        "files": git("status", "--porcelain", "--ignored", at=folder),
        "shallow": git("rev-parse", "--is-shallow-repository", at=folder),
        "commits": git("rev-list", "--count", "--branches", at=folder),
    }


# What lies on the branch


@pytest.mark.full
def test_the_first_record_makes_a_branch_without_a_parent(clone: Path, remote: Path) -> None:
    assert add("history", "a", 1)
    data = run_of("a", 1)
    record = record_of("a", 1, data)
    assert git("log", "--format=%P|%an|%s", BRANCH, at=remote) == f"|A|history: {record.id} of 2025-07-01"
    assert listed(remote) == ["history/00000001.json", f"rankings/{record.run}"]
    blob = subprocess.run(
        ["git", "show", f"{BRANCH}:rankings/{record.run}"], cwd=remote, check=True, capture_output=True
    )
    assert blob.stdout == data


@pytest.mark.full
def test_what_is_accepted_lies_beside_the_history(clone: Path, remote: Path) -> None:
    add("history", "a", 1)
    add("history", "a", 2)
    add("accepted", "a", 1)
    assert held() == {"history": ["a-1", "a-2"], "accepted": ["a-1"]}
    names = [name for name in listed(remote) if not name.startswith("rankings/")]
    assert names == ["accepted/00000001.json", "history/00000001.json", "history/00000002.json"]


def test_what_is_there_already_makes_no_commit(clone: Path, remote: Path) -> None:
    add("history", "a", 1)
    assert not add("history", "a", 1)
    assert git("rev-list", "--count", BRANCH, at=remote) == "1"


@pytest.mark.full
def test_pruned_records_leave_the_tip_and_stay_in_gits_own_history(clone: Path, remote: Path) -> None:
    for number in range(3):
        add("history", "a", number)
    gone = record_of("a", 1, run_of("a", 1))
    assert branch_memory(SPEC).prune("history", [gone.id]) == 1
    assert held()["history"] == ["a-0", "a-2"]
    assert f"rankings/{gone.run}" not in listed(remote)
    assert git("rev-list", "--count", BRANCH, at=remote) == "4"


# In whichever kind of clone


CLONES: dict[str, list[str]] = {
    "whole": [],
    "shallow": ["--depth=1"],
    "two deep": ["--depth=2", "--no-single-branch"],
    "of one branch": ["--single-branch"],
    "shallow and of one tag": ["--depth=1", "--branch=v1", "-c", "advice.detachedHead=false"],
    "without blobs": ["--filter=blob:none"],
}


@pytest.mark.parametrize(
    ("options", "before"),
    [
        *(pytest.param(options, 2, id=f"{name}, on top of others") for name, options in CLONES.items()),
        *(pytest.param(CLONES[name], 0, id=f"{name}, the first record") for name in ("whole", "shallow")),
    ],
)
@pytest.mark.full
def test_a_clone_reads_and_adds_and_nothing_of_the_users_changes(
    clone: Path, remote: Path, tmp_path: Path, options: list[str], before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("tag", "v1", "main", at=remote)
    git("config", "uploadpack.allowFilter", "true", at=remote)
    for number in range(before):
        add("history", "a", number)
    other = tmp_path / "other"
    git("clone", "--quiet", *options, f"file://{remote}", str(other))
    (other / "file").write_text("edited\n")
    monkeypatch.chdir(other)
    old = state(other)
    earlier = [f"a-{number}" for number in range(before)]
    assert held()["history"] == earlier
    for number in range(2):
        assert add("history", "b", number)
    assert held()["history"] == [*earlier, "b-0", "b-1"]
    assert state(other) == old
    monkeypatch.chdir(clone)
    assert held()["history"] == [*earlier, "b-0", "b-1"]
    assert git("rev-list", "--count", BRANCH, at=remote) == str(before + 2), "no commit was lost or grafted away"
    git("fsck", "--strict", at=remote)


def test_a_worktree_and_a_folder_in_it(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("worktree", "add", "--quiet", "-b", "pull", str(tmp_path / "tree"))
    (tmp_path / "tree" / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "tree" / "deep")
    assert add("history", "a", 1)
    monkeypatch.chdir(clone)
    assert held()["history"] == ["a-1"]


def test_a_repository_without_commits(remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "--quiet", str(tmp_path / "fresh"))
    monkeypatch.chdir(tmp_path / "fresh")
    git("remote", "add", "origin", str(remote))
    assert add("history", "a", 1)
    assert held()["history"] == ["a-1"]
    assert git("for-each-ref", "refs/heads") == ""


def test_without_any_remote_the_branch_lies_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "--quiet", str(tmp_path / "alone"))
    monkeypatch.chdir(tmp_path / "alone")
    assert add("history", "a", 1)
    assert add("history", "a", 2)
    assert held()["history"] == ["a-1", "a-2"]
    assert git("for-each-ref", "--format=%(refname)") == f"refs/heads/{BRANCH}"
    assert git("status", "--porcelain") == ""


@pytest.mark.full
def test_another_remote_or_this_repository_may_be_named(clone: Path, remote: Path, tmp_path: Path) -> None:
    git("init", "--quiet", "--bare", str(tmp_path / "else.git"))
    git("remote", "add", "up/stream", str(tmp_path / "else.git"))
    for spec in ("git+branch:kept/here@up/stream", "git+branch:kept@."):
        assert add("history", "a", 1, spec)
        assert held(spec)["history"] == ["a-1"]
    assert git("branch", "--list", at=tmp_path / "else.git") == "kept/here"
    assert git("branch", "--list", "kept*", at=remote) == ""
    assert git("branch", "--list", "kept*") == "kept"


@pytest.mark.parametrize(
    ("spec", "branch", "remote_name", "told"),
    [
        pytest.param("git+branch:b", "b", None, "git+branch:b", id="a branch"),
        pytest.param("git+branch:", BRANCH, None, f"git+branch:{BRANCH}", id="the usual branch"),
        pytest.param("git+branch:b@up", "b", "up", "git+branch:b@up", id="and a remote"),
        pytest.param("git+branch:@up", BRANCH, "up", f"git+branch:{BRANCH}@up", id="the usual branch of a remote"),
        pytest.param("git+branch:a@b@up", "a@b", "up", "git+branch:a@b@up", id="an at in the name"),
    ],
)
def test_what_a_value_names(spec: str, branch: str, remote_name: str | None, told: str) -> None:
    place = branch_memory(spec).place
    assert isinstance(place, BranchPlace)
    assert (place.branch, place.remote, place.spec) == (branch, remote_name, told)


# Who writes it


@pytest.mark.full
def test_without_a_name_of_the_users_rankgate_signs(clone: Path, remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never the name of the machine."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{who}_NAME")
        monkeypatch.delenv(f"GIT_{who}_EMAIL")
    monkeypatch.setenv("EMAIL", "")
    add("history", "a", 1)
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@b.example")
    add("history", "a", 2)
    assert git("log", "--format=%an <%ae> %cn <%ce>", BRANCH, at=remote).splitlines() == [
        "Ada <ada@b.example> Ada <ada@b.example>",
        " ".join(["rankgate <rankgate@users.noreply.github.com>"] * 2),
    ]


def test_no_hook_of_the_clone_is_run(clone: Path, tmp_path: Path) -> None:
    """A pull request may bring some, where core.hooksPath lies in the tree."""
    hooks = clone / ".hooks"
    hooks.mkdir()
    for name in ("pre-push", "post-commit", "reference-transaction", "pre-auto-gc", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/ran\n")
        (hooks / name).chmod(0o755)
    git("config", "core.hooksPath", ".hooks")
    assert add("history", "a", 1)
    assert held()["history"] == ["a-1"]
    assert not (tmp_path / "ran").exists()
    git("update-ref", "refs/heads/x", "HEAD")
    assert (tmp_path / "ran").exists(), "they would have run"


# Two at once


def two_places(spec: str = SPEC) -> tuple[Place, Place]:
    """Two that have both seen the branch as it is now."""
    places = branch_memory(spec).place, branch_memory(spec).place
    for place in places:
        place.refresh()
    return places


@pytest.mark.full
@pytest.mark.parametrize("spec", [SPEC, "git+branch:here@."], ids=["at a remote", "here"])
@pytest.mark.parametrize("before", [0, 1], ids=["making the branch", "on top of it"])
def test_who_comes_second_writes_nothing_and_sees_the_first(clone: Path, spec: str, before: int) -> None:
    for number in range(before):
        add("history", "a", number, spec)
    quick, slow = two_places(spec)
    x, y, z = (f"history/0000000{number}.json" for number in (2, 3, 4))
    old = slow.names("history")
    assert quick.create({x: b"quick"}, "x")
    assert not slow.create({x: b"slow"}, "x")
    assert slow.names("history") == old, "what was seen stays until it is looked at anew"
    assert quick.create({y: b"quick"}, "y")
    slow.refresh()
    assert slow.read([x, y, "history/none"]) == {x: b"quick", y: b"quick"}
    assert slow.create({z: b"slow"}, "z")
    assert slow.delete([x, "history/none"], "z")
    quick.refresh()
    assert quick.read([x, y, z]) == {y: b"quick", z: b"slow"}


@pytest.mark.full
def test_a_branch_that_was_deleted_meanwhile_is_begun_anew(clone: Path, remote: Path) -> None:
    add("history", "a", 1)
    git("update-ref", "-d", f"refs/heads/{BRANCH}", at=remote)
    assert held() == {"history": [], "accepted": []}
    assert add("history", "a", 2)
    assert held()["history"] == ["a-2"]


WRITERS, ROUNDS = 4, 3


def start_writer(folder: Path, who: str, rounds: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": PATHS}
    command = [sys.executable, str(WRITER), who, str(rounds)]
    pipe = subprocess.PIPE
    return start(command, cwd=folder, env=environment, text=True, stdout=pipe, stderr=pipe)


@pytest.mark.full
def test_jobs_that_push_at_once_all_get_everything_in(clone: Path, remote: Path, tmp_path: Path) -> None:
    """Whole and shallow clones, and two that share one; what was accepted last is accepted."""
    folders: list[Path] = []
    for number in range(WRITERS - 1):
        folder = tmp_path / f"writer-{number}"
        git("clone", "--quiet", *(["--depth=1"] if number % 2 else []), f"file://{remote}", str(folder))
        folders.append(folder)
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "shared"), at=folders[0])
    folders.append(tmp_path / "shared")
    writers = [start_writer(folder, f"w{number}", ROUNDS) for number, folder in enumerate(folders)]
    for writer in writers:
        assert (writer.communicate()[1], writer.returncode) == ("", 0)
    found = held()
    assert sorted(map(str, found["history"])) == sorted(f"w{who}-{n}" for who in range(WRITERS) for n in range(ROUNDS))
    for who in range(WRITERS):
        own = [f"w{who}-{number}" for number in range(ROUNDS)]
        assert [name for name in found["history"] if name in own] == own, "each in its own order"
    accepting = [n for n in range(ROUNDS) if n % ACCEPTING == 0]
    assert sorted(map(str, found["accepted"])) == sorted(f"w{who}-{n}" for who in range(WRITERS) for n in accepting)
    subjects = git("log", "--format=%s", BRANCH, at=remote).splitlines()
    assert len(subjects) == WRITERS * (ROUNDS + len(accepting))
    newest = next(subject for subject in subjects if subject.startswith("accepted"))
    accepted = branch_memory(SPEC).read("accepted")[-1]
    assert accepted.branch == found["accepted"][-1]
    assert newest == f"accepted: {accepted.id} of 2025-07-01"
    git("fsck", "--strict", at=remote)


@pytest.mark.full
@pytest.mark.skipif(shutil.which("setsid") is None, reason="needs setsid, to keep the server apart from who is killed")
def test_a_writer_killed_at_any_moment_leaves_the_branch_old_or_new(clone: Path, remote: Path, tmp_path: Path) -> None:
    """The writer and its git; the server's half of a push, which here is a process too, is another machine's."""
    said: list[str] = []
    add("history", "before", 0)
    for number in range(12):
        folder = tmp_path / f"killed-{number}"
        git("clone", "--quiet", *(["--depth=1"] if number % 2 else []), f"file://{remote}", str(folder))
        git("config", "remote.origin.receivepack", "setsid git-receive-pack", at=folder)
        writer = start_writer(folder, f"k{number}", 100)
        assert writer.stdout is not None
        said.append(writer.stdout.readline())
        time.sleep(0.013 * number)  # spread over the steps of one addition
        os.killpg(writer.pid, signal.SIGKILL)
        said += writer.communicate()[0].splitlines(keepends=True)
        for_sure = [f"{who}-{n}" for log, who, n in map(str.split, filter(None, said)) if log == "history"]
        found = held()
        assert set(for_sure) <= set(map(str, found["history"])), "what was said to be in is in"
        assert len(found["history"]) == len(set(found["history"]))
        assert len(found["history"]) <= 1 + len(for_sure) + (number + 1), "at most one more of each, whole"
    assert add("history", "after", 0)
    git("fsck", "--strict", at=remote)


# Errors: one sentence, and nothing overwritten


def tip(remote: Path) -> str:
    return git("for-each-ref", "--format=%(refname) %(objectname)", at=remote)


def test_an_unreachable_remote(clone: Path, tmp_path: Path) -> None:
    git("remote", "set-url", "origin", str(tmp_path / "nowhere.git"))
    for action in (held, lambda: add("history", "a", 1)):
        message = refused(action)
        assert message == (
            f"{SPEC}: cannot be fetched from origin: '{tmp_path}/nowhere.git' does not appear to be a git repository"
        )


def test_a_server_that_is_not_there(clone: Path) -> None:
    git("remote", "set-url", "origin", "https://ada:secret@127.0.0.1:1/acme/rag.git")
    message = refused(held)
    assert message.startswith(f"{SPEC}: cannot be fetched from origin: unable to access 'https://")
    assert "secret" not in message
    assert "ada" not in message


def test_a_remote_of_another_name(clone: Path) -> None:
    git("remote", "rename", "origin", "upstream")
    assert refused(held) == (
        f"{SPEC}: this repository has no remote 'origin' (it has: upstream); write git+branch:NAME@REMOTE"
    )
    assert refused(lambda: held(f"{SPEC}@up")).startswith(f"{SPEC}@up: this repository has no remote 'up' ")


@pytest.mark.parametrize("name", ["-x", "a b", "a..b", "a:b", "a\nb", "x.lock", "*", "/"])
def test_a_name_that_no_branch_can_have(clone: Path, name: str) -> None:
    assert refused(lambda: held(f"git+branch:{name}")) == f"git+branch:{name!r}: git takes no branch of this name"


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(held) == f"{SPEC} reads files at a commit, and this is not a git repository; check it out with git"


def test_no_git(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(held) == f"{SPEC} needs git, which is not installed or not on the PATH"


@pytest.mark.full
@pytest.mark.parametrize(
    ("script", "why"),
    [
        pytest.param(
            "echo 'protected: ask Ada' >&2; exit 1", "pre-receive hook declined: protected: ask Ada", id="words"
        ),
        pytest.param("exit 1", "pre-receive hook declined", id="no words"),
        pytest.param(
            "echo 'cannot lock ref' >&2; exit 1", "pre-receive hook declined: cannot lock ref", id="like a race"
        ),
    ],
)
def test_a_server_that_refuses_the_push(clone: Path, remote: Path, script: str, why: str) -> None:
    add("history", "a", 1)
    old = tip(remote)
    (remote / "hooks").mkdir(exist_ok=True)
    (remote / "hooks" / "pre-receive").write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
    (remote / "hooks" / "pre-receive").chmod(0o755)
    assert refused(lambda: add("history", "a", 2)) == f"{SPEC}: the push to origin was refused: {why}"
    assert tip(remote) == old
    assert held()["history"] == ["a-1"]


@pytest.mark.full
@pytest.mark.parametrize("shallow", [False, True], ids=["whole clone", "shallow clone"])
@pytest.mark.parametrize("others", [False, True], ids=["alone", "others come after it"])
def test_a_server_that_dies_after_it_has_applied_the_push(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shallow: bool, others: bool
) -> None:
    """What was pushed is in, once, whether or not somebody else has pushed before the client looks."""
    add("history", "a", 1)
    if shallow:
        git("clone", "--quiet", "--depth=1", f"file://{remote}", str(tmp_path / "shallow"))
        monkeypatch.chdir(tmp_path / "shallow")
    hook = remote / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    more = f"""git update-ref refs/heads/{BRANCH} $(git -c user.name=o -c user.email=o@o commit-tree \\
        -p refs/heads/{BRANCH} -m other refs/heads/{BRANCH}^{{tree}})"""
    hook.write_text(
        f"#!/bin/sh\n[ $1 = committed ] || exit 0\nrm -f hooks/reference-transaction\n{more if others else ''}\n"
        "kill -9 $PPID\n"
    )
    hook.chmod(0o755)
    assert add("accepted", "a", 2)
    assert not hook.exists(), "the server has died"
    assert held() == {"history": ["a-1"], "accepted": ["a-2"]}
    assert git("rev-list", "--count", BRANCH, at=remote).strip() == ("3" if others else "2")


def test_a_server_that_dies_before_it_has_applied_the_push(clone: Path, remote: Path) -> None:
    add("history", "a", 1)
    old = tip(remote)
    (remote / "hooks").mkdir(exist_ok=True)
    (remote / "hooks" / "pre-receive").write_text("#!/bin/sh\nkill -9 $PPID\n")
    (remote / "hooks" / "pre-receive").chmod(0o755)
    assert refused(lambda: add("history", "a", 2)).startswith(f"{SPEC}: the push to origin failed: ")
    assert tip(remote) == old


@pytest.mark.full
@pytest.mark.parametrize(
    ("spec", "lock"),
    [
        pytest.param(SPEC, f"{{clone}}/.git/refs/rankgate/origin/{BRANCH}.lock", id="what was fetched"),
        pytest.param(SPEC, f"{{remote}}/refs/heads/{BRANCH}.lock", id="at the remote"),
        pytest.param(f"{SPEC}@.", f"{{clone}}/.git/refs/heads/{BRANCH}.lock", id="the branch of this repository"),
    ],
)
def test_a_lock_that_a_killed_git_has_left_is_named_with_what_to_do(
    clone: Path, remote: Path, spec: str, lock: str
) -> None:
    add("history", "a", 1, spec)
    if "refs/rankgate" in lock:  # nothing is locked where nothing is new
        git("update-ref", "-d", f"refs/rankgate/origin/{BRANCH}", at=clone)
    file = Path(lock.format(clone=clone, remote=remote))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    message = refused(lambda: add("history", "a", 2, spec))
    assert message.startswith(f"{spec}: ")
    assert message.endswith("no git is at work there, delete it")
    assert file.name in message
    file.unlink()
    assert add("history", "a", 2, spec)


@pytest.mark.full
def test_a_branch_in_the_way_of_the_name(clone: Path, remote: Path) -> None:
    """`a` and `a/b` cannot both be; that is no race, however often it is tried."""
    for spec in (f"{SPEC}/more", f"{SPEC}/more@."):
        add("history", "a", 1, spec.replace("/more", ""))
        old = tip(remote)
        message = refused(lambda spec=spec: add("history", "a", 1, spec))  # type: ignore[misc]
        assert "cannot create" in message
        assert tip(remote) == old


def edit(remote: Path, tmp_path: Path, change: Callable[[Path], object]) -> str:
    """Somebody checks the branch out, changes something and pushes it; the remote's refs afterwards."""
    folder = tmp_path / "by-hand"
    git("clone", "--quiet", "--branch", BRANCH, str(remote), str(folder))
    change(folder)
    git("add", "--all", at=folder)
    git("commit", "--quiet", "--allow-empty", "--message", "by hand", at=folder)
    git("push", "--quiet", at=folder)
    return tip(remote)


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def make_link(folder: Path) -> None:
    (folder / FIRST).unlink()
    (folder / FIRST).symlink_to("/etc/hostname")


def merge(folder: Path) -> None:
    git("merge", "--quiet", "--allow-unrelated-histories", "--no-edit", "origin/main", at=folder)
    git("reset", "--quiet", "--soft", "HEAD", at=folder)


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "begins"),
    [
        pytest.param(write(FIRST, "<<<<<<< HEAD\n"), f"{SPEC}/{FIRST}: damaged record: ", id="no record"),
        pytest.param(
            write("history/newest.json", "{}"),
            f"{SPEC}/history/newest.json: is no name of a record; somebody changed this by hand",
            id="no name of one",
        ),
        pytest.param(make_link, f"{SPEC}: somebody edited this branch by hand: {FIRST} is no file there", id="link"),
    ],
)
def test_an_edited_branch_is_named_and_left_as_it_is(
    clone: Path, remote: Path, tmp_path: Path, change: Callable[[Path], object], begins: str
) -> None:
    add("history", "a", 1)
    add("accepted", "a", 1)
    old = edit(remote, tmp_path, change)
    for action in (held, lambda: add("history", "a", 2)):
        assert refused(action).startswith(begins)
    assert tip(remote) == old


@pytest.mark.full
@pytest.mark.parametrize("options", [[], ["--depth=1"]], ids=["whole", "shallow"])
def test_a_merge_on_the_branch(
    clone: Path, remote: Path, tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add("history", "a", 1)
    by_hand = tmp_path / "merged"
    git("clone", "--quiet", "--branch", BRANCH, str(remote), str(by_hand))
    merge(by_hand)
    git("push", "--quiet", at=by_hand)
    old, sha = tip(remote), git("rev-parse", BRANCH, at=remote)[:7]
    git("clone", "--quiet", *options, f"file://{remote}", str(tmp_path / "other"))
    monkeypatch.chdir(tmp_path / "other")
    for action in (held, lambda: add("history", "a", 2)):
        assert refused(action) == (
            f"{SPEC}: somebody edited this branch by hand: it ends in a merge ({sha}); undo that with "
            f"`git revert -m 1 {sha}`; nothing was written"
        )
    assert tip(remote) == old
    git("revert", "--no-edit", "-m", "1", sha, at=by_hand)
    git("push", "--quiet", at=by_hand)
    assert add("history", "a", 2)
    assert held()["history"] == ["a-1", "a-2"]


@pytest.mark.full
def test_foreign_files_stay(clone: Path, remote: Path, tmp_path: Path) -> None:
    add("history", "a", 1)

    def change(folder: Path) -> None:
        (folder / "docs").mkdir()
        (folder / "docs" / "ä b.md").write_text("text")
        (folder / "README.md").symlink_to("docs/ä b.md")
        (folder / "run.sh").write_text("")
        (folder / "run.sh").chmod(0o755)

    edit(remote, tmp_path, change)
    before = git("ls-tree", "-r", BRANCH, "--", "docs", "README.md", "run.sh", at=remote)
    add("accepted", "a", 2)
    add("history", "a", 3)
    branch_memory(SPEC).prune("history", [record_of("a", 1, run_of("a", 1)).id])
    assert held() == {"history": ["a-3"], "accepted": ["a-2"]}
    assert git("ls-tree", "-r", BRANCH, "--", "docs", "README.md", "run.sh", at=remote) == before
    assert len(before.splitlines()) == 3


@pytest.mark.full
def test_a_branch_of_somebody_elses(clone: Path, remote: Path) -> None:
    git("push", "--quiet", "origin", "main:refs/heads/other")
    old = tip(remote)
    for action in (lambda: held("git+branch:other"), lambda: add("history", "a", 1, "git+branch:other")):
        assert refused(action) == (
            "git+branch:other: this branch exists and holds no baselines; it is left as it is, choose another name"
        )
    assert tip(remote) == old


def test_a_branch_that_is_checked_out_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "--quiet", str(tmp_path / "alone"))
    monkeypatch.chdir(tmp_path / "alone")
    add("history", "a", 1)
    git("switch", "--quiet", BRANCH)
    assert refused(lambda: add("history", "a", 2)) == (
        f"{SPEC}: this branch is checked out; switch to another one first"
    )
    assert git("status", "--porcelain") == ""
    assert held()["history"] == ["a-1"]


@pytest.mark.parametrize("what", [FIRST, "", "^{tree}"], ids=["a log", "the commit", "the tree"])
def test_a_corrupt_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    git("init", "--quiet", str(tmp_path / "alone"))
    monkeypatch.chdir(tmp_path / "alone")
    add("history", "a", 1)
    sha = git("rev-parse", f"{BRANCH}:{what}" if what == FIRST else BRANCH + what)
    file = Path(".git/objects") / sha[:2] / sha[2:]
    file.chmod(0o644)
    file.write_bytes(b"\0" + file.read_bytes()[1:])
    for action in (held, lambda: add("history", "a", 2)):
        message = refused(action)
        assert message.startswith(f"{SPEC}: git cannot read ")
        assert "corrupt" in message or "unable" in message or "incorrect" in message or "inflate" in message
    assert git("for-each-ref", "--format=%(refname)") == f"refs/heads/{BRANCH}"


# Through the command line


CRITERIA = """
inputs: {gold: gold.yaml, run: run.jsonl, baseline: "git+branch:rankgate-baselines"}
gates:
  - {name: recall@1, regression_max: 0.1}
"""
GOLD = """
samples:
  - {id: q1, input: {question: "a"}, expected_output: [d1]}
  - {id: q2, input: {question: "b"}, expected_output: [d2]}
"""


def write_run(folder: Path, first: str) -> None:
    lines = [f'{{"query_id": "q1", "retrieved": ["{first}"]}}', '{"query_id": "q2", "retrieved": ["d2"]}']
    (folder / "run.jsonl").write_text("\n".join(lines) + "\n")


@pytest.mark.full
def test_accepted_in_one_clone_and_checked_in_another(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rankgate(*words: str) -> tuple[int, str, str]:
        return main([*words]), *capsys.readouterr()

    (clone / "ship-criteria.yaml").write_text(CRITERIA)
    (clone / "gold.yaml").write_text(GOLD)
    git("add", "ship-criteria.yaml", "gold.yaml")
    git("commit", "--quiet", "--message", "gate")
    git("push", "--quiet", "origin", "main")
    write_run(clone, "d1")
    code, out, err = rankgate("baseline", "accept", "--date", "2025-07-01")
    assert (code, err) == (0, "")
    assert f"as the baseline in {SPEC}: 2 questions" in out
    other = tmp_path / "other"
    git("clone", "--quiet", "--depth=1", f"file://{remote}", str(other))
    write_run(other, "x")
    monkeypatch.chdir(other)
    for options in (["--baseline", SPEC], []):
        code, out, err = rankgate("check", "--all", "--date", "2025-07-03", *options)
        assert (code, err) == (1, "")
        assert "lost 50.0 points: 100.0% → 50.0%" in out
        assert "0 commits and 2 days behind" in out
    assert git("status", "--porcelain") == "?? run.jsonl"
    git("remote", "set-url", "origin", str(tmp_path / "nowhere.git"))
    for command in (["check"], ["baseline", "accept", "--reason", "x"], ["baseline", "show"]):
        code, out, err = rankgate(*command)
        assert code == 2
        assert f"{SPEC}: cannot be fetched from origin: " in out + err
