"""`.github/workflows/rankgate.yml`: records a run and judges it; with a GitHub App it only records."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rankgate.forges.workflows.installing import Service, is_secret
from rankgate.forges.workflows.job import (
    ARTIFACT,
    CACHE,
    DOWNLOAD,
    DOWNLOAD_ENTERPRISE,
    UPLOAD,
    UPLOAD_ENTERPRISE,
    Job,
    checkout,
    is_word,
    publish,
    setup_python,
    value,
)

PATH = ".github/workflows/rankgate.yml"

_HEAD = """\
# Written by `rankgate init`: records a run and, unless a GitHub App posts the check, judges it, by the exit code too.
name: rankgate

# There are no path filters: a required check that is skipped stays pending for ever.
on:
  pull_request:
    # Another base judges by other criteria (`edited`), and a label may waive violations (docs/waivers.md).
    types: [opened, synchronize, reopened, edited{labels}]
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
"""
_READS = "      actions: read # to fetch what was recorded of this commit\n"
_POSTS = "      pull-requests: write # for the comment\n      checks: write # for the check rankgate/verdict\n"

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

_KEEP = f"""\
      - name: Keep the report
        if: always()
        continue-on-error: true # the verdict stands without it
        uses: {UPLOAD_ENTERPRISE}
        with:
          name: {ARTIFACT}
          path: ${{{{ runner.temp }}}}/rankgate/gate-default/upload/
          if-no-files-found: ignore
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

# Where an index comes from that is not in git.
_INDEX = """\
      # An index that is built elsewhere comes from a cache, or from the artifact of another workflow's run:
      # - uses: {cache}
      #   with:
      #     path: index/
      #     key: index-${{{{ hashFiles('docs/**') }}}}
      # - uses: {download}
      #   with:
      #     name: index
      #     path: index/
      #     run-id: 0 # and `actions: read` among the permissions
      #     github-token: ${{{{ github.token }}}}
"""

_COLLECT = """\
      - name: Put the run where it is uploaded from
        env:
          RUN: {run}
          GOLD: {gold}
        run: |
          keep() {{
            test "$(realpath -- "$1")" = "$(realpath -s -- "$1")" # no link, which leads to another file
            install -D -- "$1" "$RUNNER_TEMP/recorded/$2"
          }}
          keep "$RUN" run.jsonl
          # A gold set of the commit is read there; one that this job made goes along.
          if [ -e "$GOLD" ] && ! git cat-file -e "HEAD:$GOLD"; then keep "$GOLD" gold; fi
      - name: Upload the run
        uses: {pin}
        with:
          name: {artifact}
          path: ${{{{ runner.temp }}}}/recorded/
"""

_DOWNLOAD = f"""\
      - name: Fetch the report
        continue-on-error: true # without a report the check says that nothing was judged
        uses: {{pin}}
        with:
          name: {ARTIFACT}
          path: {ARTIFACT}
"""


def gate_text(job: Job) -> str:
    """The workflow's text. Without a retriever the run is taken as it is committed; with an App it is only uploaded."""
    given = {} if job.criteria is None else {"criteria": job.criteria}
    given |= {} if job.run_shaped else {"run": job.run}
    recorded = (
        _HEAD.format(branches=", ".join(map(value, job.branches)), labels="" if job.app else ", labeled, unlabeled")
        + _GATE.replace("TIMEOUT", str(replace(job, judged=job.judged and not job.app).timeout))
        + ("" if job.app else _POSTS)
        + (_READS if job.app is None and job.records else "")
        + _containers(job.setup.services)
        + "    steps:\n"
        + checkout(["fetch-depth: 0 # the base is judged by too"])
        + setup_python(job.setup.python, job.setup.found)
        + _recording(job)
    )
    if job.app is not None:
        pin, keyless = UPLOAD_ENTERPRISE if job.enterprise else UPLOAD, replace(job, app=None, enterprise=True)
        no_base = "!github.event.pull_request && !github.event.merge_group"
        upload = _COLLECT.format(run=value(job.run), gold=value(job.gold), pin=pin, artifact=ARTIFACT)
        summary = "" if job.judged else publish(keyless, "Summarize", given, condition=no_base)  # no key is here
        return recorded + upload + summary
    return (
        recorded
        + publish(job, "Judge", given, condition="!cancelled()", judges=True)
        + (_KEEP if job.enterprise else "")
        + _QUEUE
        + setup_python()
        + _DOWNLOAD.format(pin=DOWNLOAD_ENTERPRISE if job.enterprise else DOWNLOAD)
        + publish(job, "Publish the verdict", {"report": f"{ARTIFACT}/report.json"})
    )


def _containers(services: Sequence[Service]) -> str:
    """The services that the source seems to talk to, commented out."""
    lines = ["services: # take the # away where the retriever needs one, and fill its index before the run is recorded"]
    for each in services:
        lines += [f"  {each.name}:", f"    image: {each.image}", f'    ports: ["{each.port}:{each.port}"]']
        pairs = [word.partition("=") for word in each.environment.split()]
        lines += ["    env:", *(f'      {name}: "{text}"' for name, _, text in pairs)] if pairs else []
    return "".join(f"    # {line}\n" for line in lines) if services else ""


def _keys(names: Sequence[str]) -> str:
    """The variables that the source reads, commented out; what holds no secret is read from the plain variables."""
    lines = [
        "# What the source reads; take the # away where it is needed. Pull requests of forks and Dependabot get none:"
    ]
    for name in names:
        store, why = ("secrets", " # zizmor: ignore[secrets-outside-env]") if is_secret(name) else ("vars", "")
        lines.append(f"# {name}: ${{{{ {store}.{name} }}}}{why}")
    return "".join(f"          {line}\n" for line in lines) if names else ""


def _recording(job: Job) -> str:
    """Names and paths reach the shell as variables, so that it reads nothing into them."""
    if not job.records:
        return ""
    setup = job.setup
    what = {"RETRIEVER": job.retriever, "COMMAND": job.command, "FOLDER": setup.folder or None}
    named = {**what, "MODULES": setup.path or None, "GOLD": job.gold, "GOLD_FORMAT": job.gold_format, "RUN": job.run}
    variables = "".join(f"          {name}: {value(text)}\n" for name, text in named.items() if text is not None)
    around = ['cd -- "$FOLDER"', *setup.commands, "cd - > /dev/null"] if setup.folder else setup.commands
    install = "".join(f"          {command}\n" for command in around)
    modules = 'PYTHONPATH="$PWD/$MODULES" ' if setup.path else ""
    by = "retriever" if job.retriever is not None else "command"
    known_format = "" if job.gold_format is None else ' --gold-format="$GOLD_FORMAT"'
    fetch = "" if job.app else _FETCH.format(version=job.version, run=value(job.run))  # no label starts an App's
    condition = "        if: steps.recorded.outcome != 'success'\n" if fetch else ""
    return f"""\
{fetch}\
{_INDEX.format(cache=CACHE, download=DOWNLOAD_ENTERPRISE if job.enterprise else DOWNLOAD)}\
      - name: Record a run{f" # installed by {setup.found}" if is_word(setup.found) else ""}
{condition}\
        env:
{variables}{_keys(setup.keys)}\
        run: |
          rm -f -- "$RUN" # if recording fails, nothing older is judged in its place
{install}\
          {modules}rankgate record --{by}="${by.upper()}" --gold="$GOLD"{known_format} --output="$RUN"
"""
