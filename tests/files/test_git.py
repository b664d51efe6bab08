"""Git by its command line: which commit a ref names, what lies there, and what is said where that cannot be told."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.repositories import commit, git, sha_of_commit

from rankgate.base_ref.files import Tree, trees_at
from rankgate.errors import RankgateError
from rankgate.files.git import GitError, repository_around, run_git
from rankgate.model.base_ref import Commit


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "--quiet", "--initial-branch", "main", ".")
    Path("gold.yaml").write_text("old\n")
    commit()
    return folder


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(GitError) as caught:
        action()
    return str(caught.value)


# Commits


def test_a_branch_a_tag_and_a_sha_name_a_commit(repository: Path) -> None:
    sha = git("rev-parse", "HEAD")
    git("tag", "--annotate", "v1", "--message", "v1")
    found = repository_around(".")
    assert [found.commit(ref) for ref in ("main", "refs/tags/v1", sha, sha[:10], "HEAD")] == [sha] * 5


@pytest.mark.parametrize("ref", ["--output=x", "-h", "", " ", "main\n--x", "a\x00b"])
def test_what_looks_like_an_option_is_no_ref(repository: Path, ref: str) -> None:
    message = refused(lambda: repository_around(".").commit(ref))
    assert message == f"--base {ref!r} is no commit; name a branch, a tag or a sha"
    assert not Path("x").exists()


@pytest.mark.parametrize("ref", ["nowhere", "0" * 40, "HEAD:gold.yaml", "main..main", "main^{/x}", "$(id)"])
def test_an_unknown_ref_says_what_to_fetch(repository: Path, ref: str) -> None:
    message = refused(lambda: repository_around(".").commit(ref))
    assert message == (
        f"--base {ref!r}: no such commit in this repository; fetch it, with actions/checkout by `fetch-depth: 0`"
    )


def test_a_branch_that_only_the_remote_has(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout in CI has no local main."""
    git("clone", "--quiet", str(repository), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    git("switch", "--quiet", "--create", "pull")
    git("branch", "--quiet", "-D", "main")
    message = refused(lambda: repository_around(".").commit("main"))
    assert message == "--base 'main': no such branch here; did you mean 'origin/main'?"


def test_a_shallow_clone_without_the_commit(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = git("rev-parse", "HEAD")
    commit()
    git("clone", "--quiet", "--depth", "1", f"file://{repository}", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    found = repository_around(".")
    assert found.commit("HEAD") == git("rev-parse", "HEAD")
    message = refused(lambda: found.commit(first))
    assert "this is a shallow clone without that commit; fetch the whole history" in message
    assert "`fetch-depth: 0`" in message


# Where there is no repository


def test_no_repository(tmp_path: Path) -> None:
    message = refused(lambda: repository_around(str(tmp_path)))
    assert message == "--base reads files at a commit, and this is not a git repository; check it out with git"


def test_a_repository_without_files(tmp_path: Path) -> None:
    git("init", "--quiet", "--bare", str(tmp_path / "bare"))
    message = refused(lambda: repository_around(str(tmp_path / "bare")))
    assert message == "--base needs a working tree; this is a bare repository or a .git directory"


def test_a_repository_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that is mounted into a container. What is to be run helps also below its root."""
    folder = tmp_path / "it's at one" / "search"
    folder.mkdir(parents=True)
    git("init", "--quiet", str(folder.parent))
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    message = refused(lambda: repository_around(str(folder)))
    assert message.startswith("--base: git does not trust a directory which another user owns; run `git config ")
    subprocess.run(["bash", "-c", message.split("`")[1]], check=True)
    assert repository_around(str(folder)).root == str(folder.parent.resolve())


def test_no_git(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    message = refused(lambda: repository_around("."))
    assert message == "--base needs git, which is not installed or not on the PATH"


def test_a_git_that_does_not_end(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake(tmp_path / "bin", "git", "exec sleep 60", monkeypatch)
    message = refused(lambda: run_git(".", "cat-file", patience=0.2))
    assert message == "`git cat-file` did not end within 0.2 seconds"


def fake(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name that comes first."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"])
def test_a_hook_does_not_lead_elsewhere(
    repository: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a hook git says in the environment which repository it means."""
    monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    found = repository_around(".")
    assert found.root == str(repository)
    assert found.entry(found.commit("main"), "gold.yaml") is not None


def test_a_replaced_object_is_not_what_was_merged(repository: Path) -> None:
    old = git("rev-parse", "main:gold.yaml")
    Path("gold.yaml").write_text("new\n")
    commit()
    git("replace", old, git("rev-parse", "main:gold.yaml"))
    target = Path("found")
    with target.open("wb") as file:
        repository_around(".").write(old, file)
    assert target.read_text() == "old\n"


def test_an_object_that_is_not_there(repository: Path) -> None:
    with Path("found").open("wb") as file:
        message = refused(lambda: repository_around(".").write("1" * 40, file))
    assert message.startswith(f"git cannot read the object {'1' * 40}: ")


# Files at a commit


def on_pull_request() -> None:
    git("switch", "--quiet", "--create", "pull")
    commit()


def read_at(ref: str, path: str) -> str | None:
    """The text of a file at a ref; None where it is not there."""
    around = repository_around(".")
    with tempfile.TemporaryDirectory() as folder:
        copy = Tree(around, Commit(ref=ref, sha=around.commit(ref)), folder).copy(path)
        return None if copy is None else Path(copy).read_text()


def test_a_file_is_read_as_it_was(repository: Path) -> None:
    git("switch", "--quiet", "--create", "pull")
    Path("gold.yaml").write_text("new\n")
    Path("later.yaml").write_text("later\n")
    commit()
    Path("made.yaml").write_text("made by the job\n")
    assert read_at("main", "gold.yaml") == "old\n"
    assert read_at("main", str(repository / "gold.yaml")) == "old\n"
    assert read_at("main", "./x/../gold.yaml") == "old\n"
    assert read_at("main", "later.yaml") is None
    assert read_at("main", "made.yaml") is None
    with trees_at("main") as trees:
        supplied = [path for path in ("gold.yaml", "later.yaml", "made.yaml", "../out") if trees.supplied(path)]
        brought = [trees.brought(path) for path in ("gold.yaml", "later.yaml", "made.yaml", ".gitignore")]
    assert (supplied, brought) == (["made.yaml", "../out"], ["edited", "added", None, None])


def test_a_path_that_leads_into_the_repository_by_a_link(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)
    Path("gold.yaml").write_text("new\n")
    assert read_at("main", str(tmp_path / "link" / "gold.yaml")) == "old\n"


def test_a_name_is_only_a_name(repository: Path) -> None:
    """No pattern, no magic, no option, whatever it looks like."""
    names = ("*.yaml", ":(top)x", "-rf", "a b", "ä", "a\nb", "--output=x", '"q"')
    for name in names:
        Path(name).write_text(name)
    commit()
    for name in names:
        Path(name).unlink()
    commit()
    assert [read_at("HEAD~1", name) for name in names] == list(names)


def test_the_copies_are_gone_afterwards_also_after_an_error(repository: Path) -> None:
    seen: list[Path] = []
    on_pull_request()

    def fail() -> None:
        with trees_at("main") as trees:
            seen.append(Path(str(trees.base.copy("gold.yaml"))))
            assert seen[0].exists()
            raise GitError("broken")

    with pytest.raises(RankgateError, match="broken"):
        fail()
    assert not seen[0].exists()


def test_an_error_names_the_file_at_the_commit(repository: Path) -> None:
    sha = git("rev-parse", "main")
    on_pull_request()
    with pytest.raises(RankgateError) as caught, trees_at("main") as trees:
        raise GitError(f"{trees.base.copy('gold.yaml')} is broken")
    assert str(caught.value) == f"gold.yaml at main ({sha[:7]}) is broken"


def test_no_filter_of_the_repository_is_run(repository: Path) -> None:
    """What attributes ask for is the pull request's word."""
    git("config", "filter.evil.smudge", "touch evil; cat")
    git("config", "filter.evil.textconv", "touch evil; cat")
    Path(".gitattributes").write_text("*.yaml filter=evil diff=evil eol=crlf\n")
    commit()
    assert read_at("main", "gold.yaml") == "old\n"
    assert not Path("evil").exists()


def test_links_are_followed_within_the_tree(repository: Path) -> None:
    Path("data").mkdir()
    Path("data/real.yaml").write_text("real\n")
    Path("link.yaml").symlink_to("data/real.yaml")
    Path("folder").symlink_to("data")
    Path("data/back.yaml").symlink_to("../link.yaml")
    commit()
    for name in ("link.yaml", "folder", "data/back.yaml"):
        Path(name).unlink()
    found = [read_at("main", name) for name in ("link.yaml", "folder/real.yaml", "data/back.yaml")]
    assert found == ["real\n"] * 3


@pytest.mark.parametrize("aim", ["../../outside.yaml", "/etc/hostname", "..", "circle.yaml"])
def test_links_that_lead_out_are_refused(repository: Path, aim: str) -> None:
    Path("circle.yaml").symlink_to(aim)
    sha = sha_of_commit()
    with pytest.raises(RankgateError) as caught:
        read_at("main", "circle.yaml")
    assert str(caught.value) == (
        f"circle.yaml at main ({sha[:7]}): is a symbolic link that leads out of the repository"
    )


def test_submodules_are_refused(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git("init", "--quiet", "--initial-branch", "main", ".", at=other)
    (other / "gold.yaml").write_text("inner\n")
    commit(other)
    git("submodule", "--quiet", "add", str(other), "sub")
    sha = sha_of_commit()
    with pytest.raises(RankgateError) as caught:
        read_at("main", "sub/gold.yaml")
    assert str(caught.value) == (
        f"sub/gold.yaml at main ({sha[:7]}): lies in a submodule, whose files at the base are not here"
    )


def test_a_folder_is_copied_with_the_files_in_it(repository: Path) -> None:
    Path("baseline/deep").mkdir(parents=True)
    for name in ("baseline/manifest.json", "baseline/run.gz", "baseline/deep/x"):
        Path(name).write_text(name)
    commit()
    on_pull_request()
    with trees_at("main") as trees:
        found = trees.base.copy("baseline/")
        assert sorted(path.name for path in Path(str(found)).rglob("*")) == ["deep", "manifest.json", "run.gz", "x"]
        assert (Path(str(found)) / "run.gz").read_text() == "baseline/run.gz"


# Git LFS

CONTENT = b"the gold set, which is large\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{DIGEST}\nsize {len(CONTENT)}\n"


def test_a_pointer_of_lfs_without_git_lfs(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path / "bin", "git-lfs", "exit 1", monkeypatch)
    Path("gold.yaml").write_text(POINTER)
    sha = sha_of_commit()
    with pytest.raises(RankgateError) as caught:
        read_at("main", "gold.yaml")
    assert str(caught.value) == (
        f"gold.yaml at main ({sha[:7]}) is kept in Git LFS, and git-lfs is not installed; install it, or keep the file "
        "in git"
    )


@pytest.mark.parametrize(
    ("gives", "expected"),
    [
        pytest.param(CONTENT, CONTENT.decode(), id="the file"),
        pytest.param(b"something else", None, id="another file"),
    ],
)
def test_a_pointer_of_lfs_is_filled_by_what_it_names(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gives: bytes, expected: str | None
) -> None:
    """Whoever serves it: which server that is, the pull request may have written."""
    (tmp_path / "store").write_bytes(gives)
    script = f'[ "$1" = version ] && exit 0; [ "$1" = smudge ] && grep -q {DIGEST} && cat {tmp_path / "store"}'
    fake(tmp_path / "bin", "git-lfs", script, monkeypatch)
    Path("gold.yaml").write_text(POINTER)
    commit()
    if expected is not None:
        assert read_at("main", "gold.yaml") == expected
        return
    with pytest.raises(RankgateError, match="is kept in Git LFS, which does not give it"):
        read_at("main", "gold.yaml")


@pytest.mark.parametrize("text", [POINTER.replace("sha256", "md5"), f"# {POINTER}", POINTER + "x" * 1024])
def test_what_only_looks_like_a_pointer_stays(repository: Path, text: str) -> None:
    Path("gold.yaml").write_text(text)
    commit()
    assert read_at("main", "gold.yaml") == text


def test_a_blob_is_written_as_it_is(repository: Path) -> None:
    data = bytes(range(256)) * 10
    Path("bytes").write_bytes(data)
    commit()
    found = repository_around(".")
    entry = found.entry("main", "bytes")
    assert entry is not None
    with Path("copy").open("wb") as file:
        found.write(entry.sha, file)
    assert Path("copy").read_bytes() == data
