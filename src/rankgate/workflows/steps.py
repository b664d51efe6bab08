"""The steps that both workflows share, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankgate.workflows.job import APP_KEY, Job
from rankgate.workflows.pins import APP_TOKEN, CHECKOUT, SETUP_PYTHON
from rankgate.workflows.values import value


def checkout(with_lines: Sequence[str]) -> str:
    """The step that fetches the repository, without leaving a token where later steps find it."""
    return _step(f"- uses: {CHECKOUT}", "  with:", *(f"    {line}" for line in with_lines), _NO_TOKEN)


def setup_python() -> str:
    """The step that brings the Python in which the action installs itself."""
    return _step(f"- uses: {SETUP_PYTHON}", "  with:", '    python-version: "3.12"')


def app_token(job: Job, permissions: Mapping[str, str], *, condition: Sequence[str] = ()) -> str:
    """The step that fetches a token of the team's App with these permissions; nothing where there is no App."""
    if job.app is None:
        return ""
    return _step(
        "- name: Token of the team's App",
        "  id: app",
        *(["  if: >-", *(f"    {line}" for line in condition)] if condition else []),
        "  continue-on-error: true # the verdict stands without it",
        f"  uses: {APP_TOKEN}",
        "  with:",
        f"    app-id: {value(str(job.app))}",
        "    # zizmor: ignore[secrets-outside-env] jobs of pull requests need it, and no environment lets them all in",
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
            "token: ${{ steps.app.outputs.token || github.token }}",
            "# Whose comments are ours: the App's, or those of GitHub's own bot where the App's token is missing.",
            f"bot-login: ${{{{ {_SLUG} && format('{{0}}[bot]', {_SLUG}) || 'github-actions[bot]' }}}}",
        ]
    return _step(
        f"- name: {title}",
        *([f"  if: ${{{{ {condition} }}}}"] if condition else []),
        f"  uses: {job.action}",
        *(["  with:", *(f"    {line}" for line in given)] if given else []),
    )


def _step(*lines: str) -> str:
    return "".join(f"      {line}\n" for line in lines)


_SLUG = "steps.app.outputs.app-slug"
_NO_TOKEN = "    persist-credentials: false"  # noqa: S105 -- a setting
