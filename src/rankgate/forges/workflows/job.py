"""What both workflows share: what they need to know, the names, the actions pinned by hash, and the steps as text.

The pins are those of this repository's own .github, where the update bot keeps them; a test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from rankgate.errors import bad_input
from rankgate.readers.yaml_text import quoted

HOME = "rankgate/rankgate"
CHECK = "rankgate/verdict"
ARTIFACT = "rankgate"
JUDGE_KEY = "RANKGATE_JUDGE_KEY"

CHECKOUT = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2"
SETUP_PYTHON = "actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0"
DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1"


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
    version: str
    action: str
    records: bool = False
    judged: bool = False

    @property
    def timeout(self) -> int:
        """Minutes that the deciding job may take."""
        return 60 if self.judged else 30


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


def checkout(with_lines: Sequence[str]) -> str:
    """The step that fetches the repository, without leaving a token where later steps find it."""
    lines = [*with_lines, "persist-credentials: false"]
    return _step(f"- uses: {CHECKOUT}", "  with:", *(f"    {line}" for line in lines))


def setup_python() -> str:
    """The step that brings the Python in which the action installs itself."""
    return _step(f"- uses: {SETUP_PYTHON}", "  with:", '    python-version: "3.12"')


def publish(
    job: Job, title: str, inputs: Mapping[str, str], *, condition: str | None = None, judges: bool = False
) -> str:
    """The step of our own action with these inputs.

    Where it `judges`, a model is asked about answers, if the criteria say so.
    Without a condition it does not run where a step before it failed.
    """
    given = [f"{name}: {value(text)}" for name, text in inputs.items()]
    if judges and job.judged:
        why = "zizmor: ignore[secrets-outside-env] a branch's pull request is judged too"
        given += ['judge: "true"', f"judge-key: ${{{{ secrets.{JUDGE_KEY} }}}} # {why}"]
    given += ['html: "true" # the page that the comment leads to'] if judges else []
    return _step(
        f"- name: {title}",
        *([f"  if: ${{{{ {condition} }}}}"] if condition else []),
        f"  uses: {job.action}",
        *(["  with:", *(f"    {line}" for line in given)] if given else []),
    )


def _step(*lines: str) -> str:
    return "".join(f"      {line}\n" for line in lines)


def value(text: str) -> str:
    """A text as a YAML scalar in which GitHub finds no expression of the text's own to evaluate.

    `${{` becomes an expression that evaluates to itself.
    """
    return quoted(text.replace("${{", "${{ '${{' }}"))


def is_word(text: str) -> bool:
    """Whether a text means nothing but itself to the shell, to YAML and to a filter of branches."""
    return re.fullmatch(r"[A-Za-z_][\w./-]*", text, re.ASCII) is not None
