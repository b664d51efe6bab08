"""The steps that both workflows share, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankgate.forges.workflows.job import APP_KEY, Job
from rankgate.forges.workflows.pins import APP_TOKEN, CHECKOUT, SETUP_PYTHON
from rankgate.forges.workflows.values import value


def checkout(with_lines: Sequence[str]) -> str:
    """The step that fetches the repository, without leaving a token where later steps find it."""
    return _step(f"- uses: {CHECKOUT}", "  with:", *(f"    {line}" for line in with_lines), _NO_TOKEN)


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


_NO_TOKEN = "    persist-credentials: false"  # noqa: S105 -- a setting
