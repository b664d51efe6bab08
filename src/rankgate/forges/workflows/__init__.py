"""The two workflows that `rankgate init --github` writes, and what is left to do on GitHub: text for the terminal.

All of these texts are templates.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import jinja2
import msgspec

from rankgate import INSTALL
from rankgate.errors import bad_input
from rankgate.model.base_ref import ACCEPT_CHANGE, ACCEPT_RANKINGS
from rankgate.readers.yaml_text import quoted

GATE = ".github/workflows/rankgate.yml"
REPORT = ".github/workflows/rankgate-report.yml"
HOME = "rankgate/rankgate"
CHECK = "rankgate/verdict"
JUDGE_KEY = "RANKGATE_JUDGE_KEY"

PAGE = f"https://github.com/{HOME}/blob/main/docs/workflows.md"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What the workflows need to know; paths are relative to the repository's root.

    With `records` the criteria name a retriever, which is asked; else the committed run is judged. `run` is where the
    criteria name it, `criteria` None where the action finds them by itself. `action` is as `action_of` returns it.
    Pushes to `branches` are judged for the summary. `judged` says that the criteria have answers judged, for which the
    job that decides gets the judge's key.
    """

    run: str
    criteria: str | None
    branches: Sequence[str]
    action: str
    records: bool = False
    judged: bool = False

    @property
    def timeout(self) -> int:
        """Minutes that the deciding job may take."""
        return 60 if self.judged else 30


def gate_text(job: Job) -> str:
    """The workflow that records a run, judges it and posts the verdict."""
    return _rendered(GATE, job)


def report_text(job: Job) -> str:
    """The workflow that judges what forks and Dependabot recorded; it fetches the default branch alone."""
    return _rendered(REPORT, job)


def action_of(reference: str | None, version: str) -> str:
    """What stands behind `uses:` for our own action: OWNER/NAME@REF, with the version as a comment behind a hash.

    Without a reference it is the tag of this version.
    """
    if reference is None:
        return f"{HOME}@v{version}"
    if not re.fullmatch(r"[\w.-]+/[\w.-]+@[\w.][\w./-]*", reference, re.ASCII):
        raise bad_input(f"--action {reference!r} is not OWNER/NAME@REF; write it as {HOME}@HASH")
    return f"{reference} # v{version}" if pinned(reference) else reference


def pinned(action: str) -> bool:
    """Whether an action is named by the full hash of a commit, which nobody can move."""
    return re.search(r"@[0-9a-f]{40}(?: #|$)", action) is not None


def scalar(text: str) -> str:
    """A text as a YAML scalar in which GitHub finds no expression of the text's own to evaluate.

    `${{` becomes an expression that evaluates to itself.
    """
    return quoted(text.replace("${{", "${{ '${{' }}"))


def is_word(text: str) -> bool:
    """Whether a text means nothing but itself to the shell, to YAML and to a filter of branches."""
    return re.fullmatch(r"[A-Za-z_][\w./-]*", text, re.ASCII) is not None


def _rendered(path: str, job: Job) -> str:
    """A template whose marks are `[[ ]]` and `[% %]`, since GitHub's expressions have braces."""
    environment = jinja2.Environment(
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 -- YAML, and `scalar` quotes what is not ours
    )
    environment.filters["scalar"] = scalar
    environment.tests["pinned"] = pinned
    template = Path(__file__).with_name(f"{Path(path).name}.j2")
    values = {
        "job": job,
        "install": INSTALL,
        "check": CHECK,
        "key": JUDGE_KEY,
        "labels": list(map(shlex.quote, (ACCEPT_RANKINGS, ACCEPT_CHANGE))),
    }
    return environment.from_string(template.read_text(encoding="utf-8")).render(values)


def to_do_on_github(job: Job) -> str:
    """The steps in order, with the commands to copy; a line of its own that is indented belongs to the step above."""
    numbers = count(1)
    text = f"on GitHub ({PAGE}):\n"
    for line in _rendered("to-do.txt", job).splitlines():
        number = "" if line.startswith(" ") else f"  {next(numbers)}. "
        text += f"{number}{line}\n"
    return text
