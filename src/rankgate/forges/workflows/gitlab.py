"""How a project on GitLab includes the component, and what is left to do there: text for a file and the terminal.

The component itself is `gitlab.yml` beside this file, and as `templates/rankgate.yml` what GitLab's catalog looks for.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from rankgate.errors import bad_input
from rankgate.forges.workflows.installing import Setup
from rankgate.forges.workflows.job import HOME, Job
from rankgate.readers.yaml_text import quoted

COMPONENT, PIPELINE = ".gitlab/rankgate.yml", ".gitlab-ci.yml"
PAGE = f"https://github.com/{HOME}/blob/main/docs/gitlab.md"

_PIP = ["python", "-m", "pip", "install"]
_TOKEN = f"""\
Settings > Access tokens: a token of role Developer and scope api; store it as the masked CI/CD variable
     RANKGATE_GITLAB_TOKEN. Without it the verdict decides, and nothing is commented. Whoever can push a branch can read
     it unless it is protected: {PAGE}#the-token
"""
_REQUIRE = """\
Settings > Merge requests: switch on "Pipelines must succeed", and off "Skipped pipelines are considered successful".
"""
_BOTH = f"""\
Jobs of {PIPELINE} without `rules` run in another pipeline than a merge request's, which then counts alone. One
     pipeline for all: include `template: Workflows/MergeRequest-Pipelines.gitlab-ci.yml` too.
"""
_JUDGE = """\
The criteria have answers judged, which the component does not do: run `rankgate judge` in a job of yours before it.
"""


def include_text(job: Job) -> str:
    """The lines of `.gitlab-ci.yml` that include the component with what differs from its defaults.

    What installs a project by more than pip comes before the job's script, in the same shell.
    """
    install = _words_for_pip(job.setup)
    inputs = "".join(f"      {name}: {quoted(value)}\n" for name, value in _inputs(job, install).items())
    text = f"include:\n  - local: {COMPONENT}\n" + (f"    inputs:\n{inputs}" if inputs else "")
    before = [] if install is not None else [*job.setup.commands]
    if before and job.setup.folder:
        before = [f"cd {shlex.quote(job.setup.folder)}", *before, 'cd "$CI_PROJECT_DIR"']
    if job.setup.path:
        before.append(f"export PYTHONPATH={shlex.quote(job.setup.path)}")
    script = "".join(f"    - {quoted(line)}\n" for line in before)
    return text + (f"\nrankgate:\n  before_script:\n{script}" if script else "")


def _words_for_pip(setup: Setup) -> str | None:
    """What pip is to install beside rankgate; None where it takes more than pip in the root."""
    calls = [shlex.split(command) for command in setup.commands]
    if setup.folder or any(call[: len(_PIP)] != _PIP for call in calls):
        return None
    return " ".join(word for call in calls for word in call[len(_PIP) :] if not word.startswith("rankgate"))


def _inputs(job: Job, install: str | None) -> Mapping[str, str]:
    given = {
        "criteria": job.criteria,
        "run": None if job.run_shaped else job.run,
        "retriever": job.retriever,
        "command": job.command,
        "install": install if job.records else None,
    }
    for name, value in given.items():
        if value and ("'" in value or "$[[" in value or not value.isprintable()):
            raise bad_input(f"{value!r} cannot be an input of GitLab's component; rename it", key=name)
    return {name: value for name, value in given.items() if value}


def to_do_on_gitlab(job: Job, there: bool, included: bool) -> str:  # noqa: FBT001 -- the two are of one answer
    """The steps in order: `there` is whether the project had a pipeline, `included` whether that has the component."""
    lines = "".join(f"       {line}\n" for line in include_text(job).splitlines())
    steps = [] if included else [f"Add to {PIPELINE}, under the `include` that it may have:\n{lines}"]
    steps += [f"{each}\n" for each in job.setup.left]
    steps += [_TOKEN, _REQUIRE, *([_BOTH] if there else []), *([_JUDGE] if job.judged else [])]
    return f"on GitLab ({PAGE}):\n" + "".join(f"  {number}. {step}" for number, step in enumerate(steps, 1))
