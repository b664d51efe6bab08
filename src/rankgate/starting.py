"""What `rankgate init` writes: ship criteria with floors from a run, and a workflow that records and checks. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

import msgspec

from rankgate.criteria import Gate
from rankgate.detectable import detectable
from rankgate.estimates import Estimate
from rankgate.metrics.base import Metric, Unit
from rankgate.wording import value_text

# The metrics of a first gate set, each with the drop that a first gate allows and whether it blocks.
FIRST_GATES: tuple[tuple[str, float, bool], ...] = (
    ("recall@5", 0.03, True),
    ("mrr", 0.05, False),
    ("ndcg@10", 0.03, False),
)

# The same pins as in .github/workflows, where the update bot keeps them; a test holds the two together.
CHECKOUT = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2"
SETUP_PYTHON = "actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0"
UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0"


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when criteria are written for the first time; paths are relative to the criteria file.

    `questions` are those with a relevant document.
    """

    gold: str
    run: str
    baseline: str
    measured: Sequence[tuple[Metric, Estimate | None]]
    measured_run: str | None
    questions: int


def criteria_text(start: Start) -> str:
    """A commented `ship-criteria.yaml`.

    A floor is the lower end of the measured value's 95 % interval, rounded down to two decimals: below it, chance
    alone no longer explains the difference. Without a run there is nothing to derive floors from, and none is written.
    The evidence is what so many questions can carry (see `evidence_lines`).
    """
    lines = [
        "# What a change to the retriever must hold before it may be merged. `rankgate validate` checks this file,",
        "# `rankgate check` judges by it, `rankgate metrics` lists what can be gated.",
    ]
    if start.measured_run:
        lines.append(f"# Floors come from {json.dumps(start.measured_run)}; raise them as the retriever improves.")
    else:
        lines.append("# There are no floors yet: `rankgate init --run RUN --force` derives them from a run.")
    lines += [*evidence_lines(start.questions, [metric for metric, _ in start.measured]), "", "gates:"]
    for (name, drop, blocks), (metric, found) in zip(FIRST_GATES, start.measured, strict=True):
        lines.append(f"  - name: {name}")
        if found is not None and found.ci is not None and found.ci[0] is not None:
            floor = max(0.0, math.floor(found.ci[0] * 100 + 1e-9) / 100)
            low, high = (value_text(bound, metric.unit) for bound in found.ci if bound is not None)
            lines += [
                f"    # {value_text(found.value, metric.unit)} over {found.n} questions, 95% interval {low} to {high}:",
                "    # the floor is its lower end, rounded down",
                f"    threshold: {floor:.2f}",
            ]
        allowed = f"{100 * drop:g} percentage points" if metric.unit is Unit.SHARE else f"{drop:g}"
        lines += [
            f"    regression_max: {drop:g}  # at most {allowed} below the accepted baseline, on the same questions",
            f"    severity: {'error' if blocks else 'warning'}  # {'blocks the merge' if blocks else 'only comments'}",
        ]
    lines += [
        "",
        "inputs:  # relative to this file; flags of the command line win",
        f"  gold: {json.dumps(start.gold)}",
        f"  run: {json.dumps(start.run)}",
        f"  baseline: {json.dumps(start.baseline)}  # made by `rankgate baseline accept`",
    ]
    return "\n".join(lines) + "\n"


def evidence_lines(questions: int, metrics: Sequence[Metric]) -> list[str]:
    """`evidence:` and why: the estimate where the questions tell every allowed drop from noise, else proven harm.

    Nothing has been compared yet, so how much changes spread is assumed.
    """
    gates = [
        Gate(name=name, metric=metric, threshold=None, regression_max=drop, blocks=blocks, line=None)
        for (name, drop, blocks), metric in zip(FIRST_GATES, metrics, strict=True)
    ]
    found = [seen for gate in gates if (seen := detectable(gate, queries=1))]
    needed = max(seen.queries_needed or 0 for seen in found)
    asked = f"which takes about {needed:,} (if changes spread by 0.3;"
    if questions >= needed:
        return [
            f"# Many questions: {questions:,} tell the drops allowed below from noise, {asked}",
            "# `rankgate noise` measures it). So the measured drop decides by itself.",
            "evidence: estimate  # proven_harm: only a proven drop blocks",
        ]
    return [
        f"# Few questions: {questions:,} cannot tell the drops allowed below from noise, {asked}",
        "# `rankgate noise` measures it). So only a proven drop blocks, and what is within noise warns.",
        "evidence: proven_harm  # estimate: the measured drop decides by itself",
    ]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What the workflow's job needs to know; paths are relative to the repository's root."""

    retriever: str | None
    gold: str
    run: str
    criteria: str | None
    requirements: Sequence[str]
    version: str


def workflow_text(job: Job) -> str:
    """A GitHub workflow that records a run where there is a retriever, and checks it."""
    install = " && ".join([f"python -m pip install 'rankgate=={job.version}'", *job.requirements])
    record = f"rankgate record --retriever {_word(job.retriever or '')} --gold {_word(job.gold)} -o {_word(job.run)}"
    check = "rankgate check --format github -o rankgate/report.json -o rankgate/comment.md"
    if job.criteria:
        check += f" --criteria {_word(job.criteria)}"
    lines = [
        "name: rankgate",
        "",
        "on:",
        "  pull_request:",
        "  merge_group:",
        "  workflow_dispatch:",
        "",
        "permissions: {}",
        "",
        "concurrency:",
        "  group: rankgate-${{ github.ref }}",
        "  cancel-in-progress: false",
        "",
        "jobs:",
        "  gate:",
        "    name: retrieval gate",
        "    runs-on: ubuntu-latest",
        "    timeout-minutes: 30",
        "    permissions:",
        "      contents: read # to check the repository out",
        "    steps:",
        f"      - uses: {CHECKOUT}",
        "        with:",
        "          persist-credentials: false",
        f"      - uses: {SETUP_PYTHON}",
        "        with:",
        '          python-version: "3.12"',
        "      - name: Install",
        f"        run: {_scalar(install)}",
        *(["      - name: Record a run", f"        run: {_scalar(record)}"] if job.retriever else []),
        "      - name: Check",
        f"        run: {_scalar(check)}",
        "      - name: Summary",
        "        if: always()",
        '        run: cat rankgate/comment.md >> "$GITHUB_STEP_SUMMARY"',
        f"      - uses: {UPLOAD}",
        "        if: always()",
        "        with:",
        "          name: rankgate",
        "          path: rankgate/",
    ]
    return "\n".join(lines) + "\n"


def requirements_commands(files: Mapping[str, bool]) -> list[str]:
    """How to install the project itself, by the files that it has."""
    if files.get("requirements.txt"):
        return ["python -m pip install -r requirements.txt"]
    return ["python -m pip install ."] if files.get("pyproject.toml") else []


def _word(text: str) -> str:
    """A word for the shell."""
    return text if re.fullmatch(r"[\w./:@-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def _scalar(text: str) -> str:
    """A YAML scalar, quoted where plain text would end or change its meaning."""
    return json.dumps(text, ensure_ascii=False) if re.search(r": | #|:$", text) else text
