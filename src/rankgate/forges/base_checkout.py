"""A check at the base of a pull request: a work tree of its own, a process of its own, and a run that is only data.

The base is read from where it is now, for an event's payload may be hours old. Nothing is checked out: what of a commit
judges is copied out of git as plain files, and nothing else of it is there.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.files import Tree, digest_below, digest_of
from rankgate.baselines.base import Where
from rankgate.baselines.clones import Clone, clone_of
from rankgate.baselines.stores import copied, remote_memory
from rankgate.criteria import DEFAULT_PATHS, Criteria, inputs_named, load_criteria
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.judge_block import KEY_VARIABLE, JudgeBlock
from rankgate.errors import Problem, RankgateError, bad_input, shown
from rankgate.files.environment import CERTIFICATES, JOBS, OURS
from rankgate.files.git import Repository, is_ancestor, repository_around, run_git, stderr_of
from rankgate.forges.runner import Pull, stopped
from rankgate.gates.not_judged import not_judged
from rankgate.model.base_ref import Commit, SetLabel
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report
from rankgate.readers.source import is_remote, parts_of
from rankgate.renderers.markdown_text import code

MAX_BYTES = 200_000_000  # of a pull request's files, all together
MAX_JUDGING = 1200.0  # seconds to ask about the answers of one run; what was answered is kept
MAX_SECONDS = 300.0  # of one check; the reporting job has to outlive those of several pull requests
# What an interpreter may need to find its own libraries.
LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
_KEPT = (*LOADER, "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP")  # the token is not among them
_OTHERS = ("inputs.waivers", "inputs.traffic", "inputs.traffic_labels", "judge.prompts", "judge.calibration")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
_ASKING = (KEY_VARIABLE, "GITHUB_STEP_SUMMARY", *_PROXIES, *map(str.lower, _PROXIES), *CERTIFICATES)
_US = {f"GIT_{who}_{what}": "rankgate" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Subject(msgspec.Struct, frozen=True):
    """What is judged, by which labels are bound to it: a digest of the gate, a dot, and one of the run.

    The text is empty where nobody can say. `accept_own` is the base's.
    """

    text: str = ""
    accept_own: bool = False


class _Named(NamedTuple):
    """Where the files lie that judge, each empty where none is named."""

    gold: str
    baseline: str
    others: Sequence[str]


class BaseCheckout(msgspec.Struct, frozen=True, kw_only=True):
    """Judges at the base of a pull request, in a work tree and a process of their own.

    `repository` is a clone that has the commits of the base, `date` the one to judge by. `arguments` are further flags
    of the check with their paths, relative to the repository's root.
    `store` is where the verdicts on answers are kept; without one the judge is not asked. In `pages` every pull request
    gets its `report.html`, called by its number; a page that cannot be made is none, and changes no verdict.
    """

    repository: Path
    date: str
    arguments: Mapping[str, str] = {}
    store: Path | None = None
    pages: Path | None = None

    def at_tip(self, pull: Pull) -> Pull:
        """The pull request with the tip of its base branch, fetched with the job's token, as its base."""
        clone = self._clone(pull)
        ref = clone.fetch(f"refs/heads/{pull.base_ref}", pull.base_ref)
        if ref is None:
            raise bad_input(f"the {clone.spec} of pull request {pull.number} is not there; point it at another one")
        return replace(pull, base_sha=clone.object_of("rev-parse", "--verify", f"{ref}^{{commit}}"))

    def merged(self, pull: Pull) -> str:
        """A commit that merges the pull request's head, fetched, onto its base; no file is checked out."""
        clone = self._clone(pull)
        clone.fetch(pull.head_sha, f"pull/{pull.number}")
        tree = clone.git("merge-tree", "--write-tree", pull.base_sha, pull.head_sha)
        if tree.returncode:
            why = f"{clone.complaint(tree)}; git 2.38 or later can"
            if tree.returncode == 1:
                why = "they have conflicts"
            raise bad_input(f"git cannot merge {pull.head_sha[:12]} into {shown(pull.base_ref)} as that is now: {why}")
        parents = ("-p", pull.base_sha, "-p", pull.head_sha)
        commit = ("commit-tree", tree.stdout.decode().strip(), "-m", "merge", *parents)
        return clone.object_of(*commit, environment=_US)

    def _clone(self, pull: Pull) -> Clone:
        spec = f"base branch {shown(pull.base_ref)}"
        return clone_of(pull.base_ref, None, spec=spec, folder=str(self.repository), tokens=(*JOBS, OURS))

    def subject(self, pull: Pull, head: str | None, run: bytes | str, gold: bytes | None = None) -> Subject:
        """What is judged: the commit, the gate's files at the base and in the head, and the run.

        The head is None where the base's files alone judge. A run that is a path lies in the work tree, as do gold set
        and scores; of an empty one the criteria say where. The base's baseline is no part of it: that moves by itself.
        """
        repository = repository_around(str(self.repository))
        named: list[Mapping[str, str]] = []
        facts = ["rankings" if head is None else "change", pull.head_sha, pull.base_ref]
        with tempfile.TemporaryDirectory(prefix="rankgate-") as directory, suppress(RankgateError):
            for commit in map(repository.commit, filter(None, [pull.base_sha, head])):
                tree = Path(directory, str(len(named)))
                files = Tree(repository, Commit(ref=commit, sha=commit), str(tree), most=sys.maxsize)
                self._write(files, tree, baseline=False)
                named.append(self._named(tree))
                facts += [digest_below(tree), "" if self._path(tree) else commit]  # nobody knows what else judges
            if isinstance(run, bytes):
                gold_digest = hashlib.sha256(gold or b"").hexdigest()
                run_digest = hashlib.sha256(run).hexdigest()
            else:
                golds = [self.arguments.get("--gold"), *(each.get("inputs.gold") for each in named)]
                runs = [run] if run else [each["inputs.run"] for each in named if "inputs.run" in each]
                paths = [path for each in runs for path in sorted(parts_of(each))]
                paths += [each["inputs.scores"] for each in named if "inputs.scores" in each]
                gold_digest = digest_of(self.repository / each for each in golds if each)
                run_digest = digest_of(self.repository / each for each in paths if each)
            gate = hashlib.sha256("\0".join([*facts, gold_digest]).encode("utf-8", "surrogateescape")).hexdigest()
            base = self._criteria(Path(directory, "0"))
            return Subject(f"{gate[:32]}.{run_digest[:32]}", accept_own=base is not None and base.accept_own)
        return Subject()

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
        """The report of `rankgate check --untrusted-run` as the repository was at the pull request's base.

        Criteria, gold set and baseline are those of that commit, copied out of git: a work tree has no other files, and
        no links. The run, JSONL, lies beside it. The check runs without the job's environment, and so without its token
        and keys: what a baseline store elsewhere holds is fetched here, and handed over as files.

        With a `head`, the pull request's merged onto the base, it is judged against the base (`--base`), as the pull
        request's own criteria and gold set ask, too; `labels` are those that stand on it. `gold` is the gold set that
        the job made; it counts only with a head, and where neither commit has one at its place.

        The base's judge is asked about the answers within its budget: with a head, or with that for forks where the run
        was `accepted`. Before, gates on answers wait for that.
        """
        repository = repository_around(str(self.repository))
        commit = repository.commit(pull.base_sha)
        with tempfile.TemporaryDirectory(prefix="rankgate-") as directory, ExitStack() as trees:
            folder = Path(directory)
            tree = trees.enter_context(self._tree(repository, folder / "base", commit))
            flags = {"--run": "../run.jsonl", "--date": self.date, **self.arguments}
            flags |= self._copied(tree, folder / "baseline", pull)
            if head is not None:
                tree = trees.enter_context(self._tree(repository, folder / "head", head, most=MAX_BYTES))
                if gold is not None:
                    _add_gold(tree, self._files(tree).gold, gold)
                (tree / "../labels.json").write_bytes(msgspec.json.encode(labels))
                flags |= {"--base": commit, "--labels": "../labels.json"}
            (tree / "../run.jsonl").write_bytes(run)
            more = {"GITHUB_BASE_REF": pull.base_ref}
            missing = ""
            base_criteria = self._criteria(folder / "base" / "tree")
            if head is None and not accepted:
                flags["--awaits"] = "label"
            elif self.store and base_criteria and base_criteria.judge:
                (tree / "../verdicts.jsonl").touch()
                words = _words({name: path for name, path in flags.items() if name not in ("--date", "--labels")})
                missing = self._ask(tree, base_criteria.judge, words if head is not None else [*words, "--fork"], more)
                flags["--verdicts"] = "../verdicts.jsonl"
            page = ["-o", str(self.pages / f"{pull.number}.html")] if self.pages else []
            report = _report(tree, folder / "report.json", [*page, *_words(flags)], more)
            return report.with_notes(missing) if missing else report

    def _ask(self, tree: Path, judge: JudgeBlock, words: Sequence[str], more: Mapping[str, str]) -> str:
        """Let `rankgate judge` write verdicts.jsonl beside the tree; what was in the way, as a note, or nothing.

        Its process has the judge's key and nothing else that is secret. The base may be a branch that its author made:
        the key goes to the endpoint alone that the default branch names, which is what is checked out here.
        """
        trusted = self._criteria(self.repository)
        if trusted is None or trusted.judge is None or trusted.judge.endpoint != judge.endpoint:
            return unjudged_note("judge.endpoint: is not that of the default branch, to which alone the key is sent")
        command = [sys.executable, "-I", "-m", "rankgate", "judge", "--untrusted-run", "-o", "../verdicts.jsonl"]
        environment = {name: os.environ[name] for name in (*_KEPT, *_ASKING) if name in os.environ}
        process = subprocess.Popen(  # noqa: S603 -- as below
            [*command, "--store", str(self.store), *words],
            cwd=tree,
            env={**environment, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            try:
                output, log = process.communicate(timeout=MAX_JUDGING)
            except subprocess.TimeoutExpired:
                process.terminate()  # it writes what was answered
                output, log = process.communicate()
            except BaseException:
                process.terminate()
                raise
        log_text = log.decode("utf-8", "replace")
        sys.stdout.write(stopped(output.decode("utf-8", "replace") + log_text))
        if not process.returncode:
            return ""
        return unjudged_note(_last_line(log_text))

    @contextmanager
    def _tree(self, repository: Repository, folder: Path, commit: str, most: int | None = None) -> Iterator[Path]:
        """A work tree of a commit with the files that its criteria name, all of them regular ones, and no others."""
        tree = folder / "tree"
        # Hooks lie outside what a commit brings; a work tree needs none.
        add = ("worktree", "add", "--no-checkout", "--detach", str(tree), commit)
        added = run_git(repository.root, "-c", f"core.hooksPath={os.devnull}", *add)
        if added.returncode:
            raise bad_input(f"git cannot make a work tree of {commit[:12]}: {stderr_of(added)}")
        try:
            self._write(Tree(repository, Commit(ref=commit, sha=commit), str(tree), most=most), tree)
            yield tree
        finally:
            run_git(repository.root, "worktree", "remove", "--force", str(tree))

    def _write(self, files: Tree, tree: Path, *, baseline: bool = True) -> None:
        """Write the files that judge into a tree: the criteria, and what they name."""
        for path in self._places:
            files.copy_inside(os.path.normpath(path), path)
        named = self._files(tree)
        for path in filter(None, [named.gold, named.baseline if baseline else "", *named.others]):
            if _outside(path) and path not in self.arguments.values():  # this machine's files are no commit's
                raise bad_input("leads out of the repository; name a file of the commit in the criteria", file=path)
            if not _outside(path) and not is_remote(path):
                files.copy_inside(os.path.normpath(path), path)

    @property
    def _places(self) -> Sequence[str]:
        return [self.arguments["--criteria"]] if "--criteria" in self.arguments else DEFAULT_PATHS

    def _path(self, tree: Path) -> str | None:
        """Where a tree has criteria; None where it has none."""
        return next((path for path in self._places if (tree / path).is_file()), None)

    def _named(self, tree: Path) -> Mapping[str, str]:
        """Where the files lie that the criteria of a tree name."""
        path = self._path(tree)
        return inputs_named(str(tree / path), at=path) if path else {}

    def _criteria(self, tree: Path) -> Criteria | None:
        """The criteria of a tree; None where it has none, or none that can be read, which the check says."""
        path = self._path(tree)
        with suppress(RankgateError):
            return load_criteria(str(tree / path), at=path) if path else None
        return None

    def _files(self, tree: Path) -> _Named:
        """Where gold set, baseline and the others lie, by the caller or a tree; else empty.

        Of the pull request's criteria nothing else is read here, and nothing that they name is imported.
        """
        named = self._named(tree)
        return _Named(
            gold=self.arguments.get("--gold") or named.get("inputs.gold", ""),
            baseline=self.arguments.get("--baseline") or named.get("inputs.baseline", ""),
            others=[named.get(key, "") for key in _OTHERS],
        )

    def _copied(self, tree: Path, copy: Path, pull: Pull) -> Mapping[str, str]:
        """The flag that names a copy of the baseline; none where the base's own files have it, or name none."""
        criteria = self._criteria(tree)
        spec = self._files(tree).baseline
        if criteria is None or not is_remote(spec):
            return {}
        where = Where(date=self.date, tree=str(tree), branch=pull.base_ref)
        copied(remote_memory(spec), str(copy), where)
        return {"--baseline-copy": str(copy)}

    def not_judged(self, problems: Sequence[Problem]) -> Report:
        """The report of a check that could not judge."""
        return not_judged(Inputs(date=self.date), problems)


def at_merge(pull: Pull, now: Pull, clone: Path, event_sha: str | None) -> Pull:
    """The pull request as it is now, with what the merge commit that is checked out was merged onto as its base.

    `pull` is the event's, whose head is judged, and `event_sha` its merge commit: whoever can push can make more.
    `now` has the tip of the base branch as its base. What that has got since the merge is not in the working tree, and
    would look as if it had been undone.

    Raises:
        RankgateError: what is checked out is not GitHub's merge of that head, or no longer one onto that branch.
    """
    repository = repository_around(str(clone))
    parents = repository.parents("HEAD")
    if len(parents) != 2 or parents[1] != pull.head_sha or repository.commit("HEAD") != event_sha:  # noqa: PLR2004
        raise bad_input(
            f"the merge commit is stale: HEAD is not GitHub's merge of {pull.head_sha[:12]} into its base. Check out "
            "what actions/checkout takes without `ref:`, or name the commit to judge against in the input `base`"
        )
    if now.base_ref != pull.base_ref or not is_ancestor(parents[0], now.base_sha, folder=str(clone)):
        onto = f"it was merged onto {parents[0][:12]}, not onto {shown(now.base_ref)} as that is now"
        raise bad_input(f"the merge commit is stale: {onto}; push to the pull request, or close and reopen it")
    return replace(now, base_sha=parents[0])


def unjudged_note(problem: str) -> str:
    """That the judge was not asked about all answers, with what was in the way: somebody's text."""
    return f"Not all answers were judged: {code(problem.removeprefix('error: '), 600)}"


def _words(flags: Mapping[str, str]) -> list[str]:
    return [word for each in flags.items() for word in each]


def _outside(path: str) -> bool:
    return path.startswith(("/", "../"))


def _add_gold(tree: Path, named: str, gold: bytes) -> None:
    """Write the gold set that the job made where it is named, if the commit has nothing there."""
    file = tree / (named or ".")
    if _outside(named) or file.exists():
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gold)
    except OSError as error:  # a file of the commit in a folder's place
        raise bad_input(f"cannot be where it is: {error.strerror}", file=named) from error


def _report(tree: Path, file: Path, arguments: Sequence[str], more: Mapping[str, str]) -> Report:
    command = [sys.executable, "-I", "-m", "rankgate", "check", "--untrusted-run", "-o", str(file), *arguments]
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        ended = subprocess.run(  # noqa: S603 -- our own command, and arguments of the workflow
            command,
            cwd=tree,
            env={**kept, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        if not file.is_file():  # else it is the page that took so long
            raise bad_input(f"the check of the pull request's run took longer than {MAX_SECONDS:.0f} s") from error
    else:
        if not file.is_file():
            why = _last_line(ended.stderr.decode("utf-8", "replace"))[:300] or "no reason given"
            raise bad_input(f"the check of the pull request's run left no report: {why}")
    return decode_report(file.read_bytes(), "report.json")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
