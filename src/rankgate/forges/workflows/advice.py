"""What is left to do on GitHub once the workflows are written: text for the terminal."""

from __future__ import annotations

import shlex

from rankgate.forges.workflows.written import CHECK, HOME, JUDGE_KEY, Job, pinned
from rankgate.model.waiver_use import ACCEPT_CHANGE, ACCEPT_RANKINGS

PAGE = f"https://github.com/{HOME}/blob/main/docs/workflows.md"


def to_do_on_github(job: Job) -> str:
    """The steps in order, with the commands to copy."""
    steps = [_INSTALL] if job.records else []
    steps += [] if pinned(job.action) else [_pin(job)]
    steps += [_REQUIRE, *([_JUDGE] if job.judged else []), _FORGEABLE, _LABELS]
    numbered = "".join(f"  {number}. {step}" for number, step in enumerate(steps, 1))
    return f"on GitHub ({PAGE}):\n{numbered}"


def _pin(job: Job) -> str:
    repository, _, reference = job.action.partition("@")
    tag = f"refs/tags/{reference}"
    found = (
        f"git ls-remote https://github.com/{repository} {tag} {shlex.quote(tag + '^{}')}"  # an annotated one's is last
    )
    pins = f"s|{repository}@{reference}$|{repository}@${{hash:?no such tag}} # {reference}|"
    files = ".github/workflows/rankgate*.yml"
    return f"""\
Pin the action by the hash of its commit, since a tag can be moved; with bash, in the repository's root:
       hash=$({found} |
         tail -n 1 | cut -f 1) && sed -i.tag \\
         "{pins}" \\
         {files} && rm {files}.tag
"""


_INSTALL = """\
Write what installs your project into rankgate.yml, where it says ADD HERE.
"""

_REQUIRE = f"""\
In a ruleset of the default branch, require the check `{CHECK}` and not the job `retrieval gate`: of a
     fork's pull request that proves nothing.
"""

_JUDGE = f"""\
Store the judge's key; a fork's answers are asked about only after the label, within judge.budget.fork_calls (0):
       gh secret set {JUDGE_KEY}
"""

_FORGEABLE = """\
Whoever can push a workflow can forge that check; a GitHub App of your own helps: `hardened` on that page.
"""

_LABELS = f"""\
Create the labels by which people with write access accept a fork's rankings, or what a pull request loses:
       gh label create {shlex.quote(ACCEPT_RANKINGS)} --description 'the rankings of this commit are believed'
       gh label create {shlex.quote(ACCEPT_CHANGE)} --description 'the losses of this commit are accepted'
"""
