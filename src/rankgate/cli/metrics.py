"""`rankgate metrics`: what can be gated, how it is computed, and what it needs.

Everything said here is read from the families' docstrings and class variables, as docs/metrics.md is.
"""

from __future__ import annotations

import argparse
import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import zip_longest
from typing import Any

import msgspec

from rankgate.cli.options import add_option, add_shared, make_parser
from rankgate.cli.output import as_json, say
from rankgate.errors import bad_input
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import RERANK_GAIN, REWRITE_GAIN, BaseMetric, Cutoff, Metric, choices_of
from rankgate.metrics.names import UnknownMetricError, family_of, parse_metric
from rankgate.metrics.plugins import plugins
from rankgate.metrics.registry import PRESETS, families
from rankgate.metrics.views import ListGain, View
from rankgate.model.values import Direction, RunField

Facts = dict[str, Any]

# What any ranking metric can be asked besides, each by an example.
VIEWS = {"stage": "recall(stage=raw)@50", "rewrite": "recall(rewrite=1)@5", "source": "recall(source=kb-br)@5"}
VIEWS |= {"item_source": "recall(item_source=kb-br)@5"}
VIEWS["judged_only"] = "map(judged_only=true)"
GAINS = {RERANK_GAIN: f"{RERANK_GAIN}(recall@5)", REWRITE_GAIN: f"{REWRITE_GAIN}(recall@5)"}

WITHOUT_NUMBER = {
    "k": "without a number the sample's `metadata.k`, else `default_k` (5)",
    "all": "without a number the whole list",
    "": "takes no cut-off",
}
# The file that states what is needed, and the key if it is not named alike; ids and judgments all files state.
_KEYS = {
    **{
        field: ("run", f"topk[].{field.value}")
        for field in (RunField.DOCS, RunField.VERSIONS, RunField.TEXTS, RunField.ITEM_SCORES)
    },
    RunField.OFFSETS: ("run", "topk[].start"),
    RunField.PASSAGES: ("gold", "expected_output[].start"),
    RunField.REWRITES: ("run", "rewrites[].topk"),
    RunField.JUDGED: ("gold", ""),
    RunField.NEGATIVES: ("gold", "negatives"),
    RunField.IDS: ("run", ""),
    RunField.BASELINE: ("baseline", "topk"),
    RunField.VERDICTS: ("judge", "verdicts"),
}

_WIDTH = 80
_NAMES = 23  # columns
_LABELS = 18


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    examples = ("", " f1", " 'ndcg(gain=exponential)@10'", " stage", " rerank_gain", " --format json")
    options = make_parser(
        "metrics",
        "Ask for one by any of its names, as in `rankgate metrics 'recall(stage=raw)@50'`.\n"
        "Without one, all are listed with meaning, formula, direction and needs.",
        *(f"rankgate metrics{words}" for words in examples),
    )
    add_option(options, "name NAME", "a metric as a gate writes it, or a part of its name", nargs="?")
    add_shared(options, "format")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Print one metric or all."""
    try:
        metric = None
        if arguments.name:
            metric, facts = look_up(arguments.name)
        else:
            facts = everything()
    except UnknownMetricError as error:
        raise bad_input(str(error)) from error
    if arguments.format == "json":
        say(as_json(facts))
    elif arguments.name:
        new = metric is not None and metric.name not in facts[0]["written"]
        pages = [_wrapped(f"{metric.name}: {metric.meaning}", "") + "\n"] if metric and new else []
        say("\n".join([*pages, *map(_page, facts)]))
    else:
        say(_list(facts))
    return 0


def everything() -> list[Facts]:
    """All families in display order, those of other packages, the views and the gains."""
    return [
        *(describe(family) for family in (*families(), *plugins())),
        *(describe_view(parameter) for parameter in VIEWS),
        *(describe_gain(name) for name in GAINS),
    ]


def look_up(text: str) -> tuple[Metric | None, list[Facts]]:
    """What a name means, if it is a whole metric, and the facts that belong to it."""
    word = text.strip().lower().replace("-", "_")
    if word in VIEWS or word in GAINS:
        return None, [describe_view(word) if word in VIEWS else describe_gain(word)]
    try:
        metric = parse_metric(text)
    except UnknownMetricError:
        # A family whose parameter has no default, such as `score`, is no metric without it; still it can be explained.
        if "(" in text or not family_of(text).alone:
            raise
        return None, [describe(family_of(text))]
    if isinstance(metric, ListGain):
        name = RERANK_GAIN if metric.rewrite is None else REWRITE_GAIN
        return metric, [describe_gain(name), describe(type(metric.metric))]
    if isinstance(metric, View):
        views = [parameter for parameter in VIEWS if f"{parameter}=" in metric.name]
        return metric, [describe(type(metric.metric)), *map(describe_view, views)]
    return metric, [describe(family_of(text))]


def describe(family: type[BaseMetric]) -> Facts:
    """A family as plain values."""
    direction = inspect.getattr_static(family, "direction")  # a property where whoever asks for the metric states it
    example = _example(family, family.default_cutoff)
    examples = [example]
    if family.default_cutoff is Cutoff.WHOLE:
        examples.append(_example(family, Cutoff.SAMPLE))
    # By verdicts, and undefined for every query that the run lacks.
    never_counts_absent = issubclass(family, JudgedMetric) and family.counts is JudgedMetric.counts
    return {
        "kind": "metric",
        "name": family.key,
        "written": [each.name for each in examples],
        "aliases": list(family.aliases),
        "stands_for": {word: parse_metric(word).name for word in map(_written, PRESETS) if family_of(word) is family},
        "meaning": example.meaning,
        "formula": family.formula,
        "direction": direction.value if isinstance(direction, Direction) else None,
        "unit": family.unit.value,
        "low": family.low,
        "high": family.high,
        "cutoff": family.default_cutoff.value,
        "absent": None if never_counts_absent else family.worst,
        "judge_bounds": family.judge_bounds,
        "parameters": parameters_of(family),
        "views": [parameter for parameter in VIEWS if family.ranking and parameter not in family.__struct_fields__],
        "needs": needs_of_files(family.reads, family.gold_keys),
        "description": documentation(family)[0],
    }


def _written(preset: str) -> str:
    """With the cut-off that it may take."""
    _, _, implied = PRESETS[preset]
    return preset if implied == "all" or family_of(preset).default_cutoff is Cutoff.NONE else f"{preset}@k"


def describe_view(parameter: str) -> Facts:
    """A parameter that any ranking metric takes, as plain values."""
    gold_keys = ["metadata.source"] if parameter == "source" else []
    parameters = {parameter: parameters_of(View)[parameter]}
    return _described("view", parameter, View, parse_metric(VIEWS[parameter]), gold_keys, parameters=parameters)


def describe_gain(name: str) -> Facts:
    """A gain as plain values."""
    example = parse_metric(GAINS[name])
    parameters = parameters_of(ListGain)
    parameters = parameters if name == REWRITE_GAIN else {"metric": parameters["metric"]}
    return _described("gain", name, ListGain, example, absent=example.worst, parameters=parameters)


def _described(
    kind: str, name: str, struct: type, example: Metric, gold_keys: Sequence[str] = (), **facts: object
) -> Facts:
    return {
        "kind": kind,
        "name": name,
        "written": [example.name],
        "meaning": example.meaning,
        **facts,
        "needs": needs_of_files(example.needs, gold_keys),
        "description": documentation(struct)[0],
    }


def documentation(kind: type) -> tuple[str, dict[str, str]]:
    """What a class's docstring says of it, and what it and its bases' say of each parameter."""
    description, *_ = inspect.cleandoc(kind.__doc__ or "").split("\n\nAttributes:\n")
    meanings: dict[str, str] = {}
    for base in kind.__mro__:
        *_, attributes = inspect.cleandoc(base.__doc__ or "").partition("\nAttributes:\n")
        for name, meaning in re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", attributes, re.MULTILINE):
            meanings.setdefault(name, " ".join(meaning.split()))
    return description, meanings


def _example(family: type[BaseMetric], cutoff: Any) -> BaseMetric:
    """A metric of the family; a parameter without a default stands as its name in capitals."""
    needed = [field.name for field in msgspec.structs.fields(family) if field.required or field.name == family.alone]
    return family(cutoff=cutoff, **{name: name.upper() for name in needed})


def parameters_of(kind: type) -> dict[str, Facts]:
    """The fields of a struct but the cut-off, each with default, choices and meaning."""
    _, meanings = documentation(kind)
    parameters: dict[str, Facts] = {}
    for field in msgspec.structs.fields(kind):
        if field.name == "cutoff":
            continue
        default = field.default.value if isinstance(field.default, Enum) else field.default
        required = field.required or default == ""
        facts: Facts = {"default": None if required else default, "required": required}
        if choices := choices_of(field.type):
            facts["choices"] = choices
        parameters[field.name] = {**facts, "meaning": meanings.get(field.name, "")}
    return parameters


def needs_of_files(needs: Iterable[RunField], gold_keys: Sequence[str]) -> dict[str, list[str]]:
    """The keys beyond ranked ids and judgments, by the file that has them."""
    keys: dict[str, list[str]] = {"run": [], "gold": list(gold_keys), "baseline": [], "judge": []}
    for file, key in sorted(_KEYS.get(field, ("run", field.value)) for field in needs):
        keys[file] += [key] if key else []
    return keys


def needs_text(facts: Facts) -> str:
    """Run `latency_ms`, gold `metadata.source`, a baseline; or nothing."""
    needs = facts["needs"]
    named = [f"{file} {', '.join(f'`{key}`' for key in needs[file])}" for file in ("run", "gold") if needs[file]]
    others = {"baseline": "a baseline", "judge": "verdicts of `rankgate judge`"}
    return ", ".join([*named, *(text for file, text in others.items() if needs[file])])


def range_text(facts: Facts) -> str:
    """0 to 1, from 0 up, any number."""
    low, high = facts["low"], facts["high"]
    if low is None:
        return "any number"
    return f"from {low:g} up" if high is None else f"{low:g} to {high:g}"


def default_text(facts: Facts) -> str:
    """A parameter's default as it is written; required, or none."""
    default = facts["default"]
    if facts["required"]:
        return "required"
    if default is None:
        return "none"
    if isinstance(default, float):
        return f"{default:g}"
    return str(default).lower() if isinstance(default, bool) else str(default)


def _list(listed: Sequence[Facts]) -> str:
    kinds = {
        "metric": "Ask for one by name: `rankgate metrics ndcg`. R_k: the first k results, G: the\n"
        "gold's relevant documents, n: how many. `recall@1,3,5` asks for three metrics.",
        "view": "Of another list, or of some of the questions: parameters of any ranking metric.",
        "gain": "What a step adds: any ranking metric after it, minus before it.",
    }
    blocks: list[str] = []
    for kind, heading in kinds.items():
        blocks += [heading, *(_entry(facts) for facts in listed if facts["kind"] == kind)]
    return "\n\n".join(blocks) + "\n"


def _entry(facts: Facts) -> str:
    """One metric of the list: names and direction left; meaning, formula and needs right."""
    left = [", ".join(facts["written"])]
    if facts["kind"] == "metric":
        left.append(f"  {facts['direction']}, {range_text(facts)}" if facts["direction"] else "  as its user states")
    needs = needs_text(facts)
    right: list[str] = []
    for text in (facts["meaning"], facts.get("formula"), f"needs {needs}" if needs else None):
        right += textwrap.wrap(text or "", _WIDTH - _NAMES, break_on_hyphens=False)
    if len(left[0]) >= _NAMES:
        right.insert(0, "")
    return "\n".join(f"{one:{_NAMES}}{other}".rstrip() for one, other in zip_longest(left, right, fillvalue=""))


def _page(facts: Facts) -> str:
    """All about one."""
    paragraphs = [_wrapped(" ".join(each.split()), "  ") for each in facts["description"].split("\n\n")]
    rows: list[tuple[str, str]] = [("written", ", ".join(facts["written"]))]
    if facts["kind"] == "metric":
        also = [word for word in facts["aliases"] if word not in facts["written"]]
        also += [f"{word} (= {name})" for word, name in facts["stands_for"].items()]
        rows += [
            ("also written", ", ".join(also)),
            ("formula", facts["formula"]),
            ("better", f"{facts['direction'] or 'as its user states'}; {range_text(facts)}"),
            ("cut-off", WITHOUT_NUMBER[facts["cutoff"]]),
        ]
    if facts["kind"] != "view":
        rows.append(("absent query", "undefined" if facts["absent"] is None else f"scores {facts['absent']:g}"))
    rows.append(("needs", needs_text(facts) or "ranked ids and judgments only"))
    for name, parameter in facts["parameters"].items():
        default = default_text(parameter)
        rows.append((name if default in ("none", "required") else f"{name}={default}", parameter["meaning"]))
    if facts.get("views"):
        rows.append(("other lists", f"{', '.join(facts['views'])}; see `rankgate metrics stage`"))
    table = [_wrapped(text, f"  {label:{_LABELS}}", " " * (_LABELS + 2)) for label, text in rows if text]
    return "\n\n".join([_wrapped(f"{facts['name']}: {facts['meaning']}", ""), *paragraphs, "\n".join(table)]) + "\n"


def _wrapped(text: str, first: str, then: str | None = None) -> str:
    below = first if then is None else then
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=below, break_on_hyphens=False)
