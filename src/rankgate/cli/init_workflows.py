"""The workflows of `rankgate init`: which ones, and what they need to know of this repository."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path

from rankgate import __version__
from rankgate.criteria import DEFAULT_PATHS, InputFile, find_criteria, load_criteria
from rankgate.errors import bad_input
from rankgate.files import write_atomic
from rankgate.git import run_git
from rankgate.workflows.gate import PATH as GATE
from rankgate.workflows.gate import gate_text
from rankgate.workflows.job import Job, action_of, requirements_commands
from rankgate.workflows.report import PATH as REPORT
from rankgate.workflows.report import report_text
from rankgate.workflows.values import is_word

_TEXTS = {GATE: gate_text, REPORT: report_text}
_HOST = re.compile(r"(?:(?:https?|ssh|git)://(?:[^/]*@)?|(?:[^/:]*@)?(?=[^/:]{2,}:))([\w.-]+)", re.IGNORECASE)
_GITHUB = re.compile(r"(.+\.)?(github|ghe)\.com|github\.com-.*|[^.]+")
_REMOTE_HEAD = ".git/refs/remotes/origin/HEAD"


def workflows_wanted(arguments: argparse.Namespace) -> list[str]:
    """The files to write: both with `--github`, the first where there is a run or a retriever, else none."""
    if arguments.github:
        return [GATE, REPORT]
    return [GATE] if arguments.retriever or arguments.run else []


def refuse_without_workflow(arguments: argparse.Namespace) -> None:
    """Flags that say how workflows are written mean nothing without them.

    Raises:
        RankgateError: such a flag is given and no such workflow is written; or the App's id is none.
    """
    if arguments.app is not None and not arguments.github:
        raise bad_input("--app goes with --github")
    if arguments.app is not None and arguments.app < 1:
        raise bad_input(f"--app {arguments.app} is not the id of a GitHub App")
    if arguments.action is not None and not workflows_wanted(arguments):
        raise bad_input("--action says how workflows use the action; add --github")


def job_of(arguments: argparse.Namespace, default: str) -> Job:
    """What the workflows need to know; `default` is where new criteria go unless they are told otherwise.

    Raises:
        RankgateError: the criteria are there and wrong or name too little, there is no run to judge, or a path leads
            out of this directory, which the workflows start in.
    """
    if arguments.gold is None:
        criteria = arguments.to or find_criteria()
        gold, found, baseline = _inputs_of(criteria)
        run, shaped = found.path, not arguments.retriever and bool(found.format or found.map)
    else:
        criteria = arguments.to or default
        gold = InputFile(arguments.gold, arguments.gold_format)
        run, shaped, baseline = arguments.run or "run.jsonl", False, "baseline"
    if not (arguments.retriever or arguments.run or Path(run).is_file()):
        raise bad_input(
            f"the workflow has no run to judge: --retriever MODULE:FUNCTION records one in it, or commit {run!r}"
        )
    return Job(
        retriever=arguments.retriever,
        gold=_inside(gold.path),
        gold_format=gold.format,
        run=_inside(run),
        baseline=baseline,
        criteria=_named(_inside(criteria)),
        requirements=requirements_commands(
            {name: Path(name).is_file() for name in ("requirements.txt", "pyproject.toml")}
        ),
        branches=_default_branches(),
        version=__version__,
        action=action_of(arguments.action, __version__),
        app=arguments.app,
        run_shaped=shaped,
        enterprise=_is_enterprise(run_git(".", "remote", "get-url", "origin", asker="init").stdout.decode("latin-1")),
    )


def write_workflows(job: Job, paths: Sequence[str]) -> None:
    """Write these workflows and say so."""
    for path in paths:
        write_atomic(path, _TEXTS[path](job))
        print(f"wrote {path}")


def _inputs_of(criteria: str) -> tuple[InputFile, InputFile, str]:
    """The gold set, the run and the baseline's place, as criteria name them."""
    loaded = load_criteria(criteria)
    missing = [key for key in ("gold", "run") if getattr(loaded, key) is None]
    if loaded.gold is None or loaded.run is None:
        raise bad_input(
            f"names no {' and no '.join(missing)}, which the workflow needs; add it", file=loaded.name, key="inputs"
        )
    return loaded.gold, loaded.run, loaded.baseline.path if loaded.baseline else ""


def _named(criteria: str) -> str | None:
    """Criteria as the action's input; None where they are the first that it looks for."""
    first = next((path for path in DEFAULT_PATHS if path == criteria or Path(path).is_file()), None)
    return None if first == criteria else criteria


def _inside(path: str) -> str:
    inner = Path(os.path.relpath(path)).as_posix()
    if inner.startswith("../"):
        raise bad_input("lies outside this directory; run init at the repository's root", file=path)
    return inner


def _is_enterprise(remote: str) -> bool:
    """Whether a remote's host is neither GitHub's own nor a name for it in somebody's settings of ssh."""
    found = _HOST.match(remote)
    return found is not None and not _GITHUB.fullmatch(found[1].lower())


def _default_branches() -> list[str]:
    """The remote's default branch as the clone remembers it; else the two usual names."""
    try:
        found = Path(_REMOTE_HEAD).read_text(encoding="utf-8").strip().removeprefix("ref: refs/remotes/origin/")
    except (OSError, UnicodeDecodeError):
        return ["main", "master"]
    return [found] if is_word(found) else ["main", "master"]
