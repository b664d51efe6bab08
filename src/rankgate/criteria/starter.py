"""What `rankgate init` writes as ship criteria, with floors from a run. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from rankgate.criteria.paths import InputFile
from rankgate.criteria.retriever_block import KINDS, Retriever
from rankgate.metrics.base import Metric
from rankgate.metrics.estimates import Estimate
from rankgate.metrics.matching import By
from rankgate.metrics.tags import rows_by_tag
from rankgate.model.gate_result import Detectable
from rankgate.model.report import BARE_TAG
from rankgate.model.values import Gold, Unit
from rankgate.model.wording import count_text, points_text, value_text
from rankgate.readers.gold_columns import map_text
from rankgate.readers.yaml_text import quoted

# The metrics of a first gate set, each with whether it blocks.
FirstGates = tuple[tuple[str, bool], ...]
FIRST_GATES: FirstGates = (("recall@5", True), ("mrr", False), ("ndcg@10", False))
# The same where many questions have more relevant documents than recall@5 looks at.
MANY_RELEVANT: FirstGates = (("capped_recall@5", True), ("mrr", False), ("ndcg@10", True))
SMALL_DROP = 0.03
LARGE_DROP = 0.05
FEW_QUESTIONS = 250  # fewer see no small drop
FEWEST_VALUES, MOST_VALUES = 2, 30  # of a tag whose values become segments
SEGMENT_DROP, SEGMENT_QUESTIONS = 0.1, 10
LEAST_REACHABLE = 0.8
# Of answers; with fewer questions these comment only, since 100 of them see drops of 10 to 15 points.
JUDGED_GATES = (("faithfulness", 0.03), ("answered_rate", 0.05), ("claim_recall", 0.05))
ENOUGH_TO_BLOCK = 500
_MATCHED = {
    By.DOC: "the gold names documents; a result belongs to its `doc_id`, or to what its id has before #",
    By.SPAN: "the gold names passages; results state `text`, or `start` and `end`",
}
_BLOCK = re.compile(r"^retriever:.*(?:\n(?:(?:#.*)?\n)*[ \t].*)*", re.MULTILINE)  # to its last line that is indented
_INPUTS = re.compile(  # to its last line that is indented; the first line's indentation is a group
    r"^inputs:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*([ \t]+)[^\s#].*(?:\n(?:(?:#.*)?\n)*[ \t].*)*", re.MULTILINE
)
_INPUTS_LINE = re.compile(r"^inputs:[ \t]*\{((?:[^{}\n]|\{[^{}\n]*\})*)\}", re.MULTILINE)
LARGEST_PART = 10  # a first gate allows at most a tenth of the value to be lost


class FirstJudge(msgspec.Struct, frozen=True):
    """Who judges answers, over how many questions, and whether the gold says what right answers say."""

    endpoint: str
    model: str
    questions: int
    claims: bool


class FirstGate(msgspec.Struct, frozen=True):
    """A gate to write: its metric, the value of the run, if any, what it may lose, and the loss that questions see."""

    metric: Metric
    blocks: bool
    measured: Estimate | None
    drop: float
    seen: Detectable | None


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when criteria are written for the first time; paths are relative to the criteria file.

    `accepted` says that the baseline is there already. `reachable` is the best recall@5 that the gold set allows;
    `gates` are those of `first_gates(reachable)`. `tags` are those that become segments, with how many values each has.
    `by` is how results match the gold set. `accept_own` lets authors of pull requests set their label.
    """

    gold: InputFile
    run: InputFile
    baseline: str
    accepted: bool = False
    gates: Sequence[FirstGate]
    tags: Mapping[str, int] = {}
    measured_run: str | None
    reachable: float
    by: By = By.CHUNK
    judge: FirstJudge | None = None
    accept_own: bool = False


def first_gates(reachable: float) -> FirstGates:
    """What to gate first: recall@5, or what can still reach 1 where that cannot."""
    return FIRST_GATES if reachable >= LEAST_REACHABLE else MANY_RELEVANT


def first_drop(questions: int, value: float | None) -> float:
    """What a first gate allows over so many questions: of a low value a tenth, for 3 points of 11 % are a quarter."""
    most = LARGE_DROP if questions < FEW_QUESTIONS else SMALL_DROP
    return min(most, float(f"{value / LARGEST_PART:.2g}")) if value is not None and value > 0 else most


def segment_tags(gold: Gold) -> dict[str, int]:
    """The tags that become segments, with how many values each has; one of which no value is judged is left out."""
    return {tag: len(sizes) for tag, sizes in tag_sizes(gold).items() if not why_no_segment(sizes)}


def tag_sizes(gold: Gold) -> dict[str, list[int]]:
    """The tags that have values, each with how many questions these have."""
    sizes: dict[str, list[int]] = {}
    for (tag, _), rows in rows_by_tag(gold).items():
        if tag != BARE_TAG:
            sizes.setdefault(tag, []).append(len(rows))
    return dict(sorted(sizes.items()))


def small_segments(gold: Gold, tags: Collection[str]) -> list[tuple[str, int]]:
    """Of the tags that become segments the values with too few questions to be gated, with how many they have."""
    sizes = {f"{tag}:{value}": len(rows) for (tag, value), rows in rows_by_tag(gold).items() if tag in tags}
    return [(name, size) for name, size in sizes.items() if size < SEGMENT_QUESTIONS]


def why_no_segment(sizes: Sequence[int]) -> str:
    """Why no gate is written for the values of a tag; nothing where one is."""
    if len(sizes) < FEWEST_VALUES:
        return "only one value"
    if len(sizes) > MOST_VALUES:
        return f"{len(sizes)} values, more than {MOST_VALUES}"
    return f"no value has {SEGMENT_QUESTIONS} questions" if max(sizes) < SEGMENT_QUESTIONS else ""


REQUIRED = "baseline: {required: true}  # without one nothing is judged, so that nobody removes it unseen"


def criteria_text(start: Start) -> str:
    """A commented `ship-criteria.yaml`.

    A floor is the lower end of the measured value's 95 % interval, rounded down to two decimals: below it, chance
    alone no longer explains the difference. Without a run there is nothing to derive floors from, and none is written.
    """
    lines = [
        "# What a change to the retriever must hold before it may be merged. `rankgate validate` checks this file,",
        "# `rankgate check` judges by it, `rankgate metrics` lists what can be gated.",
    ]
    if start.measured_run:
        lines.append(f"# Floors come from {quoted(start.measured_run)}; raise them as the retriever improves.")
    else:
        lines.append("# There are no floors yet: `rankgate init --gold … --run … --force` derives them from a run.")
    lines += [
        "# Only a proven drop blocks. Beside each limit stands the loss that these questions see in four of five runs.",
        "evidence: proven_harm  # estimate: the measured drop decides by itself",
        "",
        "gates:",
    ]
    if first_gates(start.reachable) is MANY_RELEVANT:
        lines += [
            f"  # Many questions have more than 5 relevant documents: recall@5 reaches {start.reachable:.0%} at best,",
            "  # and hardly moves. capped_recall@5 counts out of 5 where there are more, and ndcg@10 blocks as well.",
        ]
    first, *others = start.gates
    lines += [*_gate_lines(first), *_segment_lines(start.tags)]
    for gate in others:
        lines += _gate_lines(gate)
    if start.judge:
        lines += _judged_lines(start.judge)
    lines += ["", f"match: {start.by.value}  # {_MATCHED[start.by]}"] if start.by in _MATCHED else []
    if start.accept_own:
        lines += ["", "accept_own: true  # the author of a pull request may set its label, as in a team of one"]
    lines += [
        "",
        "inputs:  # relative to this file; flags of the command line win",
        f"  gold: {_input(start.gold)}",
        f"  run: {_input(start.run)}",
        f"  baseline: {quoted(start.baseline)}  # made by `rankgate baseline accept`",
    ]
    lines += ["", REQUIRED] if start.accepted else []
    return "\n".join(lines) + "\n"


def _input(file: InputFile) -> str:
    if file.format is None and file.map is None:
        return quoted(file.path)
    keys = [f"path: {quoted(file.path)}", *([f"format: {file.format}"] if file.format else [])]
    if file.map is not None:
        stated = {key: value for key, value in msgspec.structs.asdict(file.map).items() if value}
        keys.append(f"map: {map_text(stated)}")
    return f"{{{', '.join(keys)}}}"


def with_inputs(text: str, inputs: Mapping[str, str]) -> str:
    """Criteria with more under `inputs:`, whether it is a block, on one line, or not there yet; else as they are."""
    if not inputs:
        return text
    block, line = _INPUTS.search(text), _INPUTS_LINE.search(text)
    if line:
        pairs = ", ".join(f"{key}: {name}" for key, name in inputs.items())
        end = line.end(1)
        return f"{text[:end].rstrip()}{', ' if line[1].strip() else ''}{pairs}{text[end:]}"
    if block:
        lines = "".join(f"\n{block[1]}{key}: {name}" for key, name in inputs.items())
        return text[: block.end()] + lines + text[block.end() :]
    if re.search(r"^inputs\b", text, re.MULTILINE):
        return text
    lines = "".join(f"  {key}: {name}\n" for key, name in inputs.items())
    return text.rstrip("\n") + f"\n\ninputs:  # relative to this file\n{lines}"


def _allowed(drop: float, metric: Metric) -> str:
    allowed = f"{100 * drop:g} percentage points" if metric.unit is Unit.SHARE else f"{drop:g}"
    return f"at most {allowed}" + (" (a tenth of the value)" if drop not in (SMALL_DROP, LARGE_DROP) else "")


def _gate_lines(gate: FirstGate) -> Iterator[str]:
    metric = gate.metric
    measured = gate.measured
    yield f"  - name: {metric.name}"
    if measured is not None and measured.ci is not None and measured.ci[0] is not None:
        floor = max(0.0, math.floor(measured.ci[0] * 100 + 1e-9) / 100)
        value = value_text(measured.value, metric.unit)
        bounds = " to ".join(value_text(bound, metric.unit) for bound in measured.ci if bound is not None)
        yield f"    # {value} over {measured.n:,} questions, 95% interval {bounds}:"
        yield "    # the floor is its lower end, rounded down"
        yield f"    threshold: {floor:.2f}"
    sees = ""
    if gate.seen is not None:
        least = gate.seen.detectable
        loss = f"losses from {points_text(least, metric.unit)} on" if least <= 1 else "no loss"
        sees = f"; {count_text(gate.seen.queries, 'question sees', 'questions see')} {loss}"
    yield f"    regression_max: {gate.drop:g}  # {_allowed(gate.drop, metric)} below the baseline{sees}"
    severity = "error" if gate.blocks else "warning"
    yield f"    severity: {severity}  # {'blocks the merge' if gate.blocks else 'only comments'}"


def _segment_lines(tags: Mapping[str, int]) -> list[str]:
    if not tags:
        return []
    return [
        "    # A mean hides a loss in one part. `evidence: proven_harm` corrects for how many parts there are; with",
        "    # `estimate` one lost question of ten would be ten points, so raise min_queries to 30 then.",
        "    segments:",
        *(
            f"      - {{by: {quoted(tag)}, regression_max: {SEGMENT_DROP:.2f}, min_queries: {SEGMENT_QUESTIONS}}}"
            f"  # {values} values"
            for tag, values in tags.items()
        ),
    ]


def retriever_text(retriever: Retriever) -> str:
    """The block that names what is recorded."""
    written = "".join(f"  {kind}: {quoted(value)}\n" for kind in KINDS if (value := getattr(retriever, kind)))
    return f"\nretriever:  # what `rankgate check --record` asks before it judges\n{written}"


def block_in(text: str) -> str | None:
    """The block as a file of criteria has it."""
    block = _BLOCK.search(text)
    return f"\n{block[0]}\n" if block else None


def _judged_lines(judge: FirstJudge) -> list[str]:
    few = f"warning  # only comments, for {judge.questions} questions see large drops alone"
    severity = few if judge.questions < ENOUGH_TO_BLOCK else "error  # blocks the merge"
    lines = [
        "  # Of the answers, as the model below judges them. Add a `threshold` once you have seen values to trust.",
        "  # A refusal claims nothing, so that faithfulness leaves it out: answered_rate stands beside it.",
    ]
    for name, drop in JUDGED_GATES if judge.claims else JUDGED_GATES[:2]:
        lines += [
            f"  - name: {name}",
            f"    regression_max: {drop:g}  # at most {100 * drop:g} percentage points below the accepted baseline",
            f"    severity: {severity}",
        ]
    return [
        *lines,
        "",
        "judge:  # its key is read from RANKGATE_JUDGE_KEY, never from a file; `rankgate judge --dry-run` is free",
        f"  endpoint: {quoted(judge.endpoint)}  # any OpenAI-compatible API, such as http://localhost:11434/v1",
        f"  model: {quoted(judge.model)}  # with its date: what a name without one stands for changes",
        "  parameters: {max_tokens: 2000}  # sent as they are; newer models of OpenAI want max_completion_tokens",
        "  budget: {calls: 4000}  # of one run; beyond it nothing is asked",
    ]
