"""What is left to do on GitHub once the workflows are written: text for the terminal."""

from __future__ import annotations

import shlex

from rankgate import INSTALL
from rankgate.forges.workflows.written import CHECK, HOME, JUDGE_KEY, Job, pinned
from rankgate.model.waiver_use import ACCEPT_CHANGE, ACCEPT_RANKINGS

PAGE = f"https://github.com/{HOME}/blob/main/docs/workflows.md"


def to_do_on_github(job: Job) -> str:
    """The steps in order, with the commands to copy."""
    steps = [_INSTALL] if job.records else []
    steps += [] if pinned(job.action) else [_pin(job)]
    steps += [_REQUIRE, *([_JUDGE] if job.judged else []), _LABELS]
    numbered = "".join(f"  {number}. {step}" for number, step in enumerate(steps, 1))
    return f"on GitHub ({PAGE}):\n{numbered}"


def _pin(job: Job) -> str:
    repository, _, reference = job.action.partition("@")
    tag = f"refs/tags/{reference}"  # of an annotated one its commit is the last
    commits = f"git ls-remote https://github.com/{repository} {tag} {shlex.quote(tag + '^{}')}"
    pins = f"s|{repository}@{reference}$|{repository}@${{hash:?no such tag}} # {reference}|"
    files = ".github/workflows/rankgate*.yml"
    return f"""\
Pin the action by the hash of its commit, since a tag can be moved (bash, in the repository's root):
       hash=$({commits} | tail -n 1 | cut -f 1) && sed -i.tag "{pins}" {files} && rm {files}.tag
"""


_INSTALL = f"""\
Write what installs your project into rankgate.yml, where it says ADD HERE{
    "" if "://" in INSTALL else f"; commit what the workflow installs: {INSTALL}"
}.
"""

_REQUIRE = f"""\
Require the check `{CHECK}`, not the job `retrieval gate`, in a ruleset; an App of your own keeps it from being forged.
"""

_JUDGE = f"""\
Store the judge's key (a fork's answers are judged after the label only): gh secret set {JUDGE_KEY}
"""

_LABELS = f"""\
Create its labels: gh label create {shlex.quote(ACCEPT_RANKINGS)} && gh label create {shlex.quote(ACCEPT_CHANGE)}
"""
