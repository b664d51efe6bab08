"""The steps that both workflows share, as text, and the actions that they use, pinned by hash.

They are the pins of this repository's own .github, where the update bot keeps them; a test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rankgate.forges.workflows.job import APP_KEY, Job
from rankgate.readers.yaml_text import quoted

CHECKOUT = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2"
SETUP_PYTHON = "actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0"
UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0"
DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1"

# GitHub Enterprise Server keeps artifacts by an older protocol; GitHub itself refuses jobs that name these.
UPLOAD_ENTERPRISE = "actions/upload-artifact@c6a3b2bd78b3985e4b2f15397fec357f0fd808de # v3.2.2-node20"
DOWNLOAD_ENTERPRISE = "actions/download-artifact@ad191675b41f6a5b46da9a048cb6893812da158b # v3.1.0-node20"

# This repository has no App of its own, so nothing here uses this one.
APP_TOKEN = "actions/create-github-app-token@bcd2ba49218906704ab6c1aa796996da409d3eb1 # v3.2.0"  # noqa: S105 -- a name


def checkout(with_lines: Sequence[str]) -> str:
    """The step that fetches the repository, without leaving a token where later steps find it."""
    lines = [*with_lines, "persist-credentials: false"]
    return _step(f"- uses: {CHECKOUT}", "  with:", *(f"    {line}" for line in lines))


def setup_python() -> str:
    """The step that brings the Python in which the action installs itself."""
    return _step(f"- uses: {SETUP_PYTHON}", "  with:", '    python-version: "3.12"')


def app_token(job: Job, permissions: Mapping[str, str]) -> str:
    """The step that fetches a token of the team's App with these permissions; without an App nothing."""
    if job.app is None:
        return ""
    return _step(
        "- name: Token of the team's App",
        "  id: app",
        f"  uses: {APP_TOKEN}",
        "  with:",
        f"    app-id: {value(str(job.app))}",
        f"    private-key: ${{{{ secrets.{APP_KEY} }}}}",
        *(f"    permission-{name}: {level}" for name, level in permissions.items()),
    )


def publish(job: Job, title: str, inputs: Mapping[str, str], *, condition: str | None = None) -> str:
    """The step of our own action with these inputs, and with the App's token where there is an App.

    Without a condition it does not run where a step before it failed.
    """
    given = [f"{name}: {value(text)}" for name, text in inputs.items()]
    given += ['upload: "false" # by the step of its own'] if job.enterprise else []
    if job.app is not None:
        given += [
            "token: ${{ steps.app.outputs.token }}",
            "bot-login: ${{ steps.app.outputs.app-slug }}[bot] # whose comments are ours",
        ]
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
