"""`.github/workflows/rankgate-drift.yml`: once a week, whether the judge still says what it said of the baseline."""

from __future__ import annotations

from rankgate.forges.workflows.job import ENVIRONMENT, JUDGE_KEY, Job, checkout, setup_python, value

PATH = ".github/workflows/rankgate-drift.yml"

_HEAD = """\
# Written by `rankgate init`: fails where the judge drifted, or where the baseline has too few of its verdicts to tell.
name: rankgate-drift

on:
  schedule:
    - cron: "23 4 * * 1"
  workflow_dispatch:

permissions: {}

concurrency:
  group: rankgate-drift
  cancel-in-progress: false

jobs:
  drift:
    name: drift of the judge
    runs-on: ubuntu-latest
"""


def drift_text(job: Job) -> str:
    """The workflow's text. It runs on the default branch alone, and reads what is accepted there."""
    place = f"    environment: {ENVIRONMENT} # holds the key, and admits the default branch alone\n" if job.app else ""
    why = "" if job.app else " # zizmor: ignore[secrets-outside-env] as for a branch's pull request"
    criteria = "" if job.criteria is None else f"          CRITERIA: {value(job.criteria)}\n"
    return (
        f"{_HEAD}    timeout-minutes: {job.timeout}\n{place}    permissions:\n"
        f"      contents: read # to read criteria, gold and baseline\n    steps:\n"
        + checkout(["fetch-depth: 0 # which baseline counts is known by the commits before"])
        + setup_python()
        + f"""\
      - name: Ask the judge again
        env:
          {JUDGE_KEY}: ${{{{ secrets.{JUDGE_KEY} }}}}{why}
          GITHUB_TOKEN: ${{{{ github.token }}}} # fetches the baseline, if it lies on GitHub
{criteria}        run: |
          python -I -m pip install 'rankgate=={job.version}'
          rankgate judge drift{' --criteria="$CRITERIA"' if criteria else ""}
"""
    )
