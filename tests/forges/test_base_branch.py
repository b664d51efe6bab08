"""The base of a pull request: from where the branch is now and what was merged, never from an event that may be old."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.baselines.test_git_token import OTHER, TOKEN, GitServer, header
from tests.baselines.test_git_token import certificate as certificate  # noqa: PLC0414 -- a fixture
from tests.baselines.test_git_token import server as server  # noqa: PLC0414 -- a fixture
from tests.repositories import git, sha_of_commit

from rankgate.errors import RankgateError
from rankgate.forges.base_checkout import BaseCheckout, at_merge
from rankgate.forges.runner import Pull

ABSENT = "e" * 40


def at_tip(pull: Pull, clone: Path) -> Pull:
    return BaseCheckout(repository=clone, date="2026-01-02").at_tip(pull)


class Hosted:
    """A repository on GitHub, the clone of a job, and a pull request from `change` to `main`."""

    def __init__(self, place: Path) -> None:
        self.remote, self.clone, self.people = place / "origin.git", place / "clone", place / "people"
        git("init", "--quiet", "--bare", "--initial-branch=main", str(self.remote))
        git("init", "--quiet", "--initial-branch=main", str(self.people))
        git("remote", "add", "origin", str(self.remote), at=self.people)
        self.first = self.push("main")
        git("checkout", "--quiet", "-b", "change", at=self.people)
        self.head = self.push("change")
        git("checkout", "--quiet", "main", at=self.people)
        self.opened = self.push("main")

    def push(self, branch: str, *, force: bool = False) -> str:
        """One more commit on what people have checked out, pushed to a branch."""
        (self.people / branch).write_text(str(len(list(self.people.iterdir()))))
        sha = sha_of_commit(self.people)
        git("push", "--quiet", *(["--force"] if force else []), "origin", f"HEAD:refs/heads/{branch}", at=self.people)
        return sha

    def merge(self, *parents: str) -> str:
        """A commit with these parents, which lies in the remote, as GitHub's merge commits do."""
        tree = git("rev-parse", f"{parents[0]}^{{tree}}", at=self.people)
        merged = git(
            "commit-tree", tree, *(word for each in parents for word in ("-p", each)), "-m", "Merge", at=self.people
        )
        git("push", "--quiet", "--force", "origin", f"{merged}:refs/pull/7/merge", at=self.people)
        return merged

    def checked_out(self, sha: str, *options: str) -> None:
        """What actions/checkout does."""
        git("clone", "--quiet", "--no-checkout", *options, f"file://{self.remote}", str(self.clone))
        git("fetch", "--quiet", *options, "origin", sha, at=self.clone)
        git("checkout", "--quiet", "--detach", sha, at=self.clone)

    def judged_by(self, base: str = "main", merged: str = "HEAD") -> str:
        """The base of a job whose event has a merge commit, while GitHub names a base branch."""
        now = at_tip(self.pull(base), self.clone)
        return at_merge(self.pull(), now, self.clone, git("rev-parse", merged, at=self.clone)).base_sha

    def pull(self, base: str = "main", **about: str) -> Pull:
        """As an event describes it that is hours old: GitHub's sha of the base is what main was then."""
        told: dict[str, Any] = {"head_sha": self.head, "base_ref": base, "base_sha": self.first, **about}
        return Pull(number=7, head_repository=1, from_fork=False, **told)


@pytest.fixture
def hosted(tmp_path: Path) -> Hosted:
    return Hosted(tmp_path)


@pytest.mark.full
def test_the_base_is_what_the_merge_commit_was_merged_onto(hosted: Hosted) -> None:
    """Main has moved since the event: its new commits are in the working tree, and are not the pull request's doing."""
    hosted.checked_out(hosted.merge(hosted.opened, hosted.head))
    assert hosted.judged_by() == hosted.opened


@pytest.mark.full
def test_what_came_to_the_branch_after_the_merge_commit_is_not_in_the_working_tree(hosted: Hosted) -> None:
    hosted.checked_out(hosted.merge(hosted.opened, hosted.head))
    newest = hosted.push("main")
    assert hosted.judged_by() == hosted.opened
    assert at_tip(hosted.pull(), hosted.clone).base_sha == newest


def rewound(hosted: Hosted) -> str:
    """Main was forced back to before what the merge commit was merged onto."""
    git("push", "--quiet", "--force", "origin", f"{hosted.first}:refs/heads/main", at=hosted.people)
    return hosted.merge(hosted.opened, hosted.head)


def of_a_weaker_branch(hosted: Hosted) -> str:
    """The pull request pointed at a branch with criteria of its author's when GitHub merged it."""
    git("checkout", "--quiet", "-b", "weak", at=hosted.people)
    return hosted.merge(hosted.push("weak"), hosted.head)


def of_its_own_making(hosted: Hosted) -> str:
    """The pull request's own merge commit, whose parents it chose."""
    git("checkout", "--quiet", "change", at=hosted.people)
    hosted.head = hosted.merge(hosted.first, hosted.head)
    return hosted.head


def replaced(hosted: Hosted) -> str:
    """Git in this clone shows another commit in place of the one that is checked out."""
    merged = hosted.merge(hosted.first, hosted.opened)
    right = hosted.merge(hosted.opened, hosted.head)
    hosted.checked_out(merged)
    git("fetch", "--quiet", "origin", right, at=hosted.clone)
    git("replace", merged, right, at=hosted.clone)
    return merged


@pytest.mark.full
@pytest.mark.parametrize(
    "made",
    [
        pytest.param(rewound, id="the branch was forced back"),
        pytest.param(of_a_weaker_branch, id="merged onto another branch"),
        pytest.param(lambda hosted: hosted.head, id="the head itself is checked out"),
        pytest.param(of_its_own_making, id="a merge commit of the pull request's own"),
        pytest.param(lambda hosted: hosted.opened, id="the base itself is checked out"),
        pytest.param(lambda hosted: hosted.merge(hosted.opened, hosted.first), id="merged from another head"),
        pytest.param(lambda hosted: hosted.merge(hosted.head, hosted.opened), id="merged the other way round"),
        pytest.param(lambda hosted: hosted.merge(hosted.opened, hosted.head, hosted.first), id="of three parents"),
        pytest.param(replaced, id="one that git replaces in this clone"),
    ],
)
def test_a_stale_merge_commit_is_not_judged(hosted: Hosted, made: Callable[[Hosted], str]) -> None:
    sha = made(hosted)
    if not hosted.clone.exists():
        hosted.checked_out(sha)
    with pytest.raises(RankgateError, match="the merge commit is stale") as caught:
        hosted.judged_by()
    assert len(caught.value.problems) == 1


@pytest.mark.full
def test_the_branch_is_the_one_that_github_names_now(hosted: Hosted) -> None:
    """The event says `main`; meanwhile somebody has pointed the pull request at `release`, which lacks that commit."""
    git("push", "--quiet", "origin", f"{hosted.first}:refs/heads/release", at=hosted.people)
    hosted.checked_out(hosted.merge(hosted.opened, hosted.head))
    with pytest.raises(RankgateError, match="not onto 'release' as that is now"):
        hosted.judged_by("release")


@pytest.mark.full
def test_a_pull_request_that_pointed_elsewhere_when_it_was_merged_is_not_judged(hosted: Hosted) -> None:
    """It was opened to a branch at an old commit of main, and its first run is started again once it is one to main."""
    hosted.checked_out(hosted.merge(hosted.first, hosted.head))
    git("push", "--quiet", "origin", f"{hosted.opened}:refs/heads/release", at=hosted.people)
    with pytest.raises(RankgateError, match="the merge commit is stale: it was merged onto"):
        hosted.judged_by("release")


@pytest.mark.full
def test_a_merge_commit_of_somebody_else_is_not_judged(hosted: Hosted) -> None:
    """Whoever can push can merge the head into a commit from before the gate, and have the job check that out."""
    right = hosted.merge(hosted.opened, hosted.head)
    hosted.checked_out(hosted.merge(hosted.first, hosted.head))
    git("fetch", "--quiet", "origin", right, at=hosted.clone)
    with pytest.raises(RankgateError, match="the merge commit is stale: HEAD is not GitHub's merge"):
        hosted.judged_by(merged=right)


@pytest.mark.full
@pytest.mark.parametrize("depth", [1, 2])
def test_a_shallow_checkout_gets_what_it_lacks_of_the_base(hosted: Hosted, depth: int) -> None:
    hosted.checked_out(hosted.merge(hosted.opened, hosted.head), f"--depth={depth}")
    hosted.push("main")
    assert hosted.judged_by() == hosted.opened


@pytest.mark.full
@pytest.mark.parametrize(
    "ref",
    [
        pytest.param("refs/tags/main", id="a tag of the branch's name"),
        pytest.param("refs/heads/origin/main", id="a branch called as the remote's"),
        pytest.param("refs/heads/refs/heads/main", id="a branch called as the branch's full name"),
        pytest.param("refs/heads/refs/rankgate/origin/main", id="a branch called as what we keep"),
    ],
)
def test_no_other_ref_is_taken_for_the_branch(hosted: Hosted, ref: str) -> None:
    git("push", "--quiet", "origin", f"{hosted.head}:{ref}", at=hosted.people)
    hosted.checked_out(hosted.head)
    git("fetch", "--quiet", "origin", "+refs/*:refs/*", at=hosted.clone)
    assert at_tip(hosted.pull(), hosted.clone).base_sha == hosted.opened


@pytest.mark.parametrize("branch", ["gone", "--upload-pack=touch pwned", "a..b", "main:refs/heads/x", "", "a b"])
def test_a_branch_that_is_not_there_or_none_at_all_is_one_error(hosted: Hosted, branch: str) -> None:
    hosted.checked_out(hosted.head)
    with pytest.raises(RankgateError):
        at_tip(hosted.pull(branch), hosted.clone)
    assert not list(hosted.clone.rglob("pwned"))


@pytest.mark.full
@pytest.mark.parametrize(
    ("tokens", "sent"),
    [
        pytest.param({"GITHUB_TOKEN": TOKEN, "RANKGATE_TOKEN": OTHER}, TOKEN, id="the job's, before an App's"),
        pytest.param({"RANKGATE_TOKEN": TOKEN}, TOKEN, id="ours, where there is no other"),
    ],
)
def test_the_fetch_has_the_jobs_token_in_no_argument_and_no_file(
    server: GitServer, tmp_path: Path, tokens: dict[str, str], sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """actions/checkout persists no credentials. Git is a script here, which writes down its arguments, then is git."""
    bare = server.root / "acme" / "rag.git"
    source = tmp_path / "source"
    git("init", "--quiet", str(source))
    tip = sha_of_commit(source)
    git("push", "--quiet", str(bare), "HEAD:refs/heads/main", at=source)
    (tmp_path / "bin").mkdir()
    script = f'#!/bin/sh\necho "$@" >> "{tmp_path}/seen"\nexec {shutil.which("git")} "$@"\n'
    (tmp_path / "bin" / "git").write_text(script)
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for name, value in tokens.items():
        monkeypatch.setenv(name, value)
    pull = Pull(number=7, head_sha=ABSENT, base_ref="main", base_sha=ABSENT, head_repository=2, from_fork=True)
    assert at_tip(pull, Path.cwd()).base_sha == tip
    assert {tuple(said) for said in server.heard} == {(header(sent),)}
    written = [file.read_bytes() for file in Path(".git").rglob("*") if file.is_file()]
    for text in ((tmp_path / "seen").read_bytes(), *written):
        assert TOKEN.encode() not in text
        assert header(TOKEN).split()[1].encode() not in text
