"""`.github/workflows/rankgate.yml`: records a run, judges it and posts the verdict."""

from __future__ import annotations

from rankgate.forges.workflows.job import ARTIFACT, DOWNLOAD, Job, checkout, publish, setup_python, value

PATH = ".github/workflows/rankgate.yml"

# The place for whatever the retriever needs: one line of the step that records.
INSTALL = "# ADD HERE what installs your project, such as: python -m pip install -r requirements.txt"

_HEAD = """\
# Written by `rankgate init --github`: records a run and judges it, by the exit code too.
name: rankgate

# There are no path filters: a required check that is skipped stays pending for ever.
on:
  pull_request:
    # Another base judges by other criteria (`edited`), and a label may waive violations (docs/waivers.md).
    types: [opened, synchronize, reopened, edited, labeled, unlabeled]
  merge_group:
  push: # for the step summary
    branches: [{branches}]
  workflow_dispatch:
"""

# Whether an event may change the verdict. A label on a fork's pull request, or another title of it, does not; and a
# second run on the same commit would take back what a maintainer has accepted.
_OURS = "github.event.pull_request.head.repo.id == github.event.repository.id"
_CHANGED = """\
github.event.action != 'labeled' && github.event.action != 'unlabeled' &&
    (github.event.action != 'edited' || github.event.changes.base.ref.from)"""

_GATE = f"""\

permissions: {{}}

# What does not start the gate waits apart, so that it pushes nobody out of the queue.
concurrency:
  group: >-
    rankgate-${{{{ ({_OURS} ||
    ({_CHANGED}))
    && (github.event.pull_request.number || github.ref) || github.run_id }}}}
  cancel-in-progress: false

jobs:
  gate:
    name: retrieval gate
    # Not for a label on a fork's pull request, nor for another title of it: a second verdict on the same commit would
    # take back what a maintainer has accepted. Within one repository it never skips: GitHub would call that a success.
    if: >-
      {_OURS} ||
      ({_CHANGED.replace("    ", "      ")})
    runs-on: ubuntu-latest
    timeout-minutes: TIMEOUT
    # GitHub makes the token of a fork's or Dependabot's pull request read-only, whatever stands here.
    permissions:
      contents: read # to read the change, and criteria, gold and baseline at its base
      pull-requests: write # for the comment
      checks: write # for the check rankgate/verdict
"""
_READS = "      actions: read # to fetch what was recorded of this commit\n"

# What a pull request or a merge group is judged against, as the merge commit that is checked out has it.
BASE = """\
          BASE: ${{ github.event.pull_request && 'HEAD^1' || github.event.merge_group.base_sha }} # its questions, too
"""

_QUEUE = """\

  # Apart from the gate and without any code of the change, so that the queue gets its check whatever the gate did.
  queue:
    name: retrieval verdict in the merge queue
    needs: gate
    if: always() && github.event_name == 'merge_group'
    runs-on: ubuntu-latest
    timeout-minutes: 10
    permissions:
      actions: read # to fetch what the gate found out
      checks: write # for the check rankgate/verdict
    steps:
"""

_FETCH = f"""\
      - name: Fetch the recorded run
        id: recorded
        if: >-
          github.event.pull_request && !(
          {_CHANGED.replace("    ", "          ")})
        continue-on-error: true # where it is not kept any more, it is recorded again
        env:
          RUN: {{run}}
          GITHUB_TOKEN: ${{{{{{{{ github.token }}}}}}}}
        run: |
          rm -f -- "$RUN"
          python -I -m pip install 'rankgate=={{version}}'
          python -I -m rankgate.cli.action recorded
"""

_DOWNLOAD = f"""\
      - name: Fetch the report
        continue-on-error: true # without a report the check says that nothing was judged
        uses: {DOWNLOAD}
        with:
          name: {ARTIFACT}
          path: {ARTIFACT}
"""


def gate_text(job: Job) -> str:
    """The workflow's text. Where the criteria name no retriever, the run is taken as it is committed."""
    given = {} if job.criteria is None else {"criteria": job.criteria}
    return (
        _HEAD.format(branches=", ".join(map(value, job.branches)))
        + _GATE.replace("TIMEOUT", str(job.timeout))
        + (_READS if job.records else "")
        + "    steps:\n"
        + checkout(["fetch-depth: 0 # the base is judged by too"])
        + setup_python()
        + (_recording(job) if job.records else "")
        + publish(job, "Judge", given, condition="!cancelled()", judges=True)
        + _QUEUE
        + setup_python()
        + _DOWNLOAD
        + publish(job, "Publish the verdict", {"report": f"{ARTIFACT}/report.json"})
    )


def _recording(job: Job) -> str:
    """What the criteria name is asked; paths reach the shell as variables, so that it reads nothing into them."""
    named = {"RUN": job.run, "CRITERIA": job.criteria}
    variables = "".join(f"          {name}: {value(text)}\n" for name, text in named.items() if text is not None)
    criteria = "" if job.criteria is None else ' --criteria="$CRITERIA"'
    return f"""\
{_FETCH.format(version=job.version, run=value(job.run))}\
      - name: Record a run
        if: steps.recorded.outcome != 'success'
        env: # keys of the retriever go here; pull requests of forks and Dependabot get no secrets
{variables}\
{BASE}\
        run: |
          rm -f -- "$RUN" # if recording fails, nothing older is judged in its place
          {INSTALL}
          python -m pip install 'rankgate=={job.version}'
          rankgate record{criteria} ${{BASE:+"--base=$BASE"}}
"""
