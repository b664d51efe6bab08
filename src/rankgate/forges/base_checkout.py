"""A check at another commit: a work tree of its own, a process of its own, and a run that is only data."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rankgate.baselines.base import Where
from rankgate.baselines.stores import copied, is_remote, remote_memory
from rankgate.compose import not_judged
from rankgate.criteria import DEFAULT_PATHS, load_criteria
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.forges.base_branch import at_tip
from rankgate.forges.context import Pull
from rankgate.git import LINK, Repository, repository_around, run_git, said
from rankgate.inputs import Inputs
from rankgate.renderers.isolation import LOADER, Template
from rankgate.report import Report
from rankgate.report_text import decode_report

MOST_SECONDS = 300.0  # of one check; the reporting job has to outlive those of several pull requests
_KEPT = (*LOADER, "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP")  # the token is not among them


class BaseCheckout(msgspec.Struct, frozen=True, kw_only=True):
    """Judges at the base of a pull request, in a work tree and a process of their own.

    Attributes:
        repository: a clone that has the commits of the base.
        date: the date to judge by.
        arguments: further arguments of the check, with paths relative to the repository's root.
        template_path: the user's template, relative to the root too.
    """

    repository: Path
    date: str
    arguments: Sequence[str] = ()
    template_path: str | None = None

    def at_tip(self, pull: Pull) -> Pull:
        """The pull request with the tip of its base branch, fetched, as its base; raises what `at_tip` does."""
        return at_tip(pull, self.repository)

    def judge(self, pull: Pull, run: bytes) -> Report:
        """The report of `rankgate check --untrusted-run` as the repository was at the pull request's base.

        Criteria, gold set and baseline are those of that commit. The run lies beside the work tree. The check runs
        without the job's environment, and so without its token and keys: what a baseline store elsewhere holds is
        fetched here, and handed over as files.

        Raises:
            RankgateError: the clone does not have the commit; the baseline cannot be fetched; or the check left no
                report.
        """
        repository = repository_around(str(self.repository))
        commit = repository.commit(pull.base_sha)
        with tempfile.TemporaryDirectory(prefix="rankgate-") as directory:
            place = Path(directory)
            tree, data, written = place / "base", place / "fork" / "run.jsonl", place / "report.json"
            data.parent.mkdir()
            data.write_bytes(run)
            _add_tree(repository, tree, commit)
            try:
                copy = self._copied(tree, place / "baseline", pull)
                words = ["--run", "../fork/run.jsonl", "--date", self.date, *self.arguments, *copy]
                return _report(tree, written, words)
            finally:
                run_git(repository.root, "worktree", "remove", "--force", str(tree))

    def _copied(self, tree: Path, copy: Path, pull: Pull) -> list[str]:
        """The flag that names a copy of the baseline; none where the base's own files have it, or name none.

        This process has secrets, and what a link of the base aims at may be one: nothing outside of the tree is read.
        """
        named = dict(zip(self.arguments[::2], self.arguments[1::2], strict=True))
        paths = [named["--criteria"]] if "--criteria" in named else DEFAULT_PATHS
        criteria = next((tree / path for path in paths if (tree / path).is_file()), None)
        if criteria is None or not criteria.resolve().is_relative_to(tree.resolve()):
            return []
        try:
            asked = load_criteria(str(criteria))
        except RankgateError:  # said by the check
            return []
        spec = named.get("--baseline") or (asked.baseline.path if asked.baseline else "")
        if not is_remote(spec):
            return []
        where = Where(date=self.date, ancestors=repository_around(str(tree)).ancestors, branch=pull.base_ref)
        copied(
            remote_memory(spec, {**os.environ, "GITHUB_BASE_REF": pull.base_ref}), str(copy), where, asked.policy.anchor
        )
        return ["--baseline-copy", str(copy)]

    def template(self, pull: Pull) -> Template | None:
        """The user's template as it is at the base; None where none is wanted, or the base has none."""
        if self.template_path is None:
            return None
        try:
            return Template(self.template_path, text_at(self.repository, pull.base_sha, self.template_path))
        except RankgateError:
            return None

    def not_judged(self, problems: Sequence[Problem]) -> Report:
        """The report of a check that could not judge."""
        return not_judged(Inputs(date=self.date), problems)


def text_at(folder: Path, ref: str, path: str) -> str:
    """A file of a commit as text; the path is relative to the repository's root, and links are not followed.

    Raises:
        RankgateError: the commit is not in the clone, or has no such file.
    """
    repository = repository_around(str(folder))
    entry = repository.entry(repository.commit(ref), path)
    if entry is None or entry.kind != "blob" or entry.mode == LINK:
        raise bad_input("is not a file at the base", file=path)
    return repository.text(entry.sha)


def _add_tree(repository: Repository, tree: Path, commit: str) -> None:
    # Hooks lie outside what a commit brings; a work tree needs none.
    found = run_git(
        repository.root, "-c", f"core.hooksPath={os.devnull}", "worktree", "add", "--detach", str(tree), commit
    )
    if found.returncode:
        raise bad_input(f"git cannot check out the base {commit[:12]}: {said(found)}")


def _report(tree: Path, written: Path, arguments: Sequence[str]) -> Report:
    command = [sys.executable, "-I", "-m", "rankgate", "check", "--untrusted-run", "-o", str(written), *arguments]
    try:
        ended = subprocess.run(  # noqa: S603 -- our own command, and arguments of the workflow
            command,
            cwd=tree,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise bad_input(f"the check of the pull request's run took longer than {MOST_SECONDS:.0f} s") from error
    if not written.is_file():
        said = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise bad_input(
            f"the check of the pull request's run left no report: {''.join(said)[:300] or 'no reason given'}"
        )
    return decode_report(written.read_bytes(), "report.json")
