"""What the workflows that `rankgate init --github` writes need to know of a repository."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rankgate import __version__
from rankgate.criteria import DEFAULT_PATHS, load_criteria
from rankgate.errors import bad_input
from rankgate.forges.workflows import Job, action_of, is_word

_REMOTE_HEAD = ".git/refs/remotes/origin/HEAD"


def workflow_job(arguments: argparse.Namespace, criteria: str, first_run: str, *, records: bool) -> Job | None:
    """What the workflows need to know, from the criteria where no gold set is named; None without `--github`.

    `first_run` is where the run lies that will be recorded.
    """
    if not arguments.github:
        return None
    if arguments.gold is not None:
        gold = arguments.gold.path
        run = arguments.run.path if arguments.run else first_run
        judged = arguments.judge is not None
    else:
        loaded = load_criteria(criteria)
        inputs = loaded.inputs
        if inputs.gold is None or inputs.run is None:
            missing = " and no ".join(key for key in ("gold", "run") if getattr(inputs, key) is None)
            raise bad_input(f"names no {missing}, which the workflow needs; add it", file=loaded.name, key="inputs")
        gold = inputs.gold.path
        run = inputs.run.path
        judged = loaded.judge is not None
        records |= loaded.retriever is not None
    _inside(gold)
    if not (records or arguments.run or Path(run).is_file()):
        advice = f"name what to record with --retriever, --url or --command, or commit {run!r}"
        raise bad_input(f"the workflow has no run to judge: {advice}")
    return Job(
        run=_inside(run),
        criteria=_named(_inside(criteria)),
        branches=_default_branches(),
        action=action_of(arguments.action, __version__),
        records=records,
        judged=judged,
    )


def _named(criteria: str) -> str | None:
    """Criteria as the action's input; None where they are the first that it looks for."""
    first = next((path for path in DEFAULT_PATHS if path == criteria or Path(path).is_file()), None)
    return None if first == criteria else criteria


def _inside(path: str) -> str:
    inner = Path(os.path.relpath(path)).as_posix()
    if inner.startswith("../"):
        raise bad_input("lies outside this directory; run init at the repository's root", file=path)
    return inner


def _default_branches() -> list[str]:
    """The remote's default branch as the clone remembers it; else the two usual names."""
    try:
        branch = Path(_REMOTE_HEAD).read_text(encoding="utf-8").strip().removeprefix("ref: refs/remotes/origin/")
    except (OSError, UnicodeDecodeError):
        branch = ""
    return [branch] if is_word(branch) else ["main", "master"]
