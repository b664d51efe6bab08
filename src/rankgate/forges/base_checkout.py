"""A check at another commit: a work tree of its own, a process of its own, and a run that is only data.

Of a pull request nothing is checked out: what of it judges as well is written as plain files, and nothing else of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from rankgate.against_base.files import FilesAtBase
from rankgate.base_side import Commit
from rankgate.baselines.base import Where
from rankgate.baselines.stores import copied, is_remote, remote_memory
from rankgate.compose import not_judged
from rankgate.criteria import DEFAULT_PATHS, Criteria, load_criteria
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.forges.base_branch import at_tip, merged
from rankgate.forges.context import Pull
from rankgate.git import LINK, Repository, repository_around, run_git, said
from rankgate.inputs import Inputs
from rankgate.renderers.isolation import LOADER, Template
from rankgate.report import Report
from rankgate.report_text import decode_report
from rankgate.waivers import SetLabel

MOST_BYTES = 200_000_000  # of a pull request's files, all together
MOST_SECONDS = 300.0  # of one check; the reporting job has to outlive those of several pull requests
_KEPT = (*LOADER, "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP")  # the token is not among them


class BaseCheckout(msgspec.Struct, frozen=True, kw_only=True):
    """Judges at the base of a pull request, in a work tree and a process of their own.

    Attributes:
        repository: a clone that has the commits of the base.
        date: the date to judge by.
        arguments: further flags of the check with their paths, relative to the repository's root.
        template_path: the user's template, relative to the root too.
    """

    repository: Path
    date: str
    arguments: Mapping[str, str] = {}
    template_path: str | None = None

    def at_tip(self, pull: Pull) -> Pull:
        """The pull request with the tip of its base branch, fetched, as its base; raises what `at_tip` does."""
        return at_tip(pull, self.repository)

    def judge(
        self, pull: Pull, run: bytes, *, labels: Sequence[SetLabel] | None = None, gold: bytes | None = None
    ) -> Report:
        """The report of `rankgate check --untrusted-run` as the repository was at the pull request's base.

        Criteria, gold set and baseline are those of that commit. The run lies beside the work tree. The check runs
        without the job's environment, and so without its token and keys: what a baseline store elsewhere holds is
        fetched here, and handed over as files.

        With labels it is judged against the base (`--base`), as the pull request's own criteria and gold set ask, too:
        those of its head merged onto the base, as regular files in a work tree that has no others.

        Args:
            pull: the pull request, with its base.
            run: JSONL.
            labels: those that stand on the pull request; None where it is judged by the base alone.
            gold: the gold set that the job made; only with labels, and where neither commit has one at its place.

        Raises:
            RankgateError: the clone does not have the commit; the baseline cannot be fetched; the head cannot be
                merged, or its files lie elsewhere or are too large; or the check left no report.
        """
        repository = repository_around(str(self.repository))
        head = merged(pull, self.repository) if labels is not None else ""  # with it comes a group's own base
        commit = repository.commit(pull.base_sha)
        with tempfile.TemporaryDirectory(prefix="rankgate-") as directory, ExitStack() as trees:
            place = Path(directory)
            tree, data, written = place / "base", place / "fork" / "run.jsonl", place / "report.json"
            data.parent.mkdir()
            data.write_bytes(run)
            trees.enter_context(_tree(repository, tree, commit))
            flags = {"--run": "../fork/run.jsonl", "--date": self.date, **self.arguments}
            flags |= self._copied(tree, place / "baseline", pull)
            if labels is not None:
                tree = place / "tree"
                trees.enter_context(_tree(repository, tree, head, "--no-checkout"))
                files = FilesAtBase(repository, Commit(ref=head, sha=head), str(place), most=MOST_BYTES)
                self._write(files, tree, place / "base", gold)
                (place / "labels.json").write_bytes(msgspec.json.encode(labels))
                flags |= {"--base": commit, "--labels": "../labels.json"}
            words = [word for each in flags.items() for word in each]
            return _report(tree, written, words, {"GITHUB_BASE_REF": pull.base_ref})

    def _write(self, files: FilesAtBase, tree: Path, base: Path, gold: bytes | None) -> None:
        """Write the files of a pull request that its criteria name; those that cannot be read name none.

        What the base names, too, may lie anywhere; else this machine's files are none of a pull request's.
        """
        for path in self._places:
            files.copy(path)
        theirs, ours = self._files(base), self._files(tree)
        for path in filter(None, ours):
            outside = path.startswith(("/", "../"))
            if outside and path not in theirs:
                raise bad_input("leads out of the repository; name a file of the commit in the criteria", file=path)
            if not outside and not is_remote(path):
                files.copy(path)
        file = tree / (ours[0] or ".")
        if gold is not None and file.is_relative_to(tree) and ".." not in file.parts and not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(gold)

    @property
    def _places(self) -> Sequence[str]:
        return [self.arguments["--criteria"]] if "--criteria" in self.arguments else DEFAULT_PATHS

    def _asked(self, tree: Path) -> Criteria | None:
        """The criteria of a tree; None where it has none, or none that can be read, which the check says.

        This process has secrets, and what a link aims at may be one: nothing outside of the tree is read.
        """
        path = next((path for path in self._places if (tree / path).is_file()), None)
        if path is None or not (tree / path).resolve().is_relative_to(tree.resolve()):
            return None
        try:
            return load_criteria(str(tree / path), at=path)
        except RankgateError:
            return None

    def _files(self, tree: Path) -> Sequence[str]:
        """Where gold set, baseline and waivers lie, by the caller or a tree's criteria; empty where nothing says."""
        asked, named = self._asked(tree), self.arguments
        gold = named.get("--gold") or (asked.gold.path if asked and asked.gold else "")
        baseline = named.get("--baseline") or (asked.baseline.path if asked and asked.baseline else "")
        return gold, baseline, asked.waivers if asked else ""

    def _copied(self, tree: Path, copy: Path, pull: Pull) -> Mapping[str, str]:
        """The flag that names a copy of the baseline; none where the base's own files have it, or name none."""
        asked, (_, spec, _) = self._asked(tree), self._files(tree)
        if asked is None or not is_remote(spec):
            return {}
        where = Where(date=self.date, ancestors=repository_around(str(tree)).ancestors, branch=pull.base_ref)
        memory = remote_memory(spec, {**os.environ, "GITHUB_BASE_REF": pull.base_ref})
        copied(memory, str(copy), where, asked.policy.anchor)
        return {"--baseline-copy": str(copy)}

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


@contextmanager
def _tree(repository: Repository, tree: Path, commit: str, *options: str) -> Iterator[None]:
    # Hooks lie outside what a commit brings; a work tree needs none.
    add = ("-c", f"core.hooksPath={os.devnull}", "worktree", "add", *options, "--detach", str(tree), commit)
    found = run_git(repository.root, *add)
    if found.returncode:
        raise bad_input(f"git cannot check out {commit[:12]}: {said(found)}")
    try:
        yield
    finally:
        run_git(repository.root, "worktree", "remove", "--force", str(tree))


def _report(tree: Path, written: Path, arguments: Sequence[str], more: Mapping[str, str]) -> Report:
    command = [sys.executable, "-I", "-m", "rankgate", "check", "--untrusted-run", "-o", str(written), *arguments]
    try:
        ended = subprocess.run(  # noqa: S603 -- our own command, and arguments of the workflow
            command,
            cwd=tree,
            env={**{name: os.environ[name] for name in _KEPT if name in os.environ}, **more},
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
