"""`.github/workflows/rankgate-report.yml`: judges what forks and Dependabot recorded."""

from __future__ import annotations

from rankgate.forges.workflows.job import Job, checkout, publish, setup_python
from rankgate.model.waiver_use import ACCEPT_CHANGE, ACCEPT_RANKINGS

PATH = ".github/workflows/rankgate-report.yml"

_HEAD = """\
# Written by `rankgate init --github`: judges the runs that pull requests of forks and of Dependabot recorded. Their own
# job may have been rewritten by them, so that neither its exit code nor its name proves anything. This one runs on the
# default branch and takes the recorded run as data.
"""

_JOB = """\
name: rankgate-report

on:
  # zizmor: ignore[dangerous-triggers] no code of the pull request is fetched or run, and its artifact is only data
  workflow_run:
    workflows: [rankgate]
    types: [completed]
  # A writer's label accepts something, until it is taken off or the base is another; another base, closing and
  # reopening change which reports count.
  pull_request_target:
    types: [labeled, unlabeled, edited, closed, reopened]

permissions: {{}}

jobs:
  report:
    name: retrieval verdict of a fork
    if: >-
      (github.event_name == 'workflow_run' &&
        github.event.workflow_run.event == 'pull_request' &&
        (github.event.workflow_run.head_repository.id != github.event.repository.id ||
          github.event.workflow_run.actor.login == 'dependabot[bot]') &&
        github.event.workflow_run.conclusion != 'skipped') ||
      (github.event_name == 'pull_request_target' &&
        (github.event.changes.base.ref.from ||
          (github.event.action == 'closed' && !github.event.pull_request.merged) ||
          (github.event.pull_request.head.repo.id != github.event.repository.id ||
            github.event.pull_request.user.login == 'dependabot[bot]') &&
          (github.event.label.name == '{ACCEPT_CHANGE}' ||
            github.event.label.name == '{ACCEPT_RANKINGS}' || github.event.action == 'reopened')))
    # Of the job and not of the workflow, so that a run or a label that is none of ours takes no place in the queue.
    concurrency:
      group: >-
        rankgate-report-${{{{
        github.event.workflow_run.head_repository.id || github.event.pull_request.head.repo.id }}}}-${{{{
        github.event.workflow_run.head_branch || github.event.pull_request.head.ref }}}}
      cancel-in-progress: false
    runs-on: ubuntu-latest
    timeout-minutes: {timeout}
    permissions:
      actions: read # to fetch the recorded run
      checks: write # for the check rankgate/verdict
      contents: read # to read criteria, gold and baseline at the base
      pull-requests: write # for the comment
    steps:
"""

_DEFAULT_BRANCH = "ref: ${{ github.event.repository.default_branch }} # never the pull request"

_BUCKET = "      # ADD HERE what a baseline in a bucket needs: its keys, as `env:` of this step, and `extras: cloud`.\n"


def report_text(job: Job) -> str:
    """The workflow's text. It fetches the default branch and never the pull request."""
    return (
        _HEAD
        + _JOB.format(ACCEPT_CHANGE=ACCEPT_CHANGE, ACCEPT_RANKINGS=ACCEPT_RANKINGS, timeout=job.timeout)
        + checkout([_DEFAULT_BRANCH, "fetch-depth: 0 # the base of every pull request"])
        + setup_python()
        + _BUCKET
        + publish(job, "Judge and publish", {} if job.criteria is None else {"criteria": job.criteria}, judges=True)
    )
