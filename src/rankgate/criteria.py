"""`ship-criteria.yaml`: which metrics are gated, at what limits, and where the inputs lie."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from rankgate.criteria_problems import check_of, metric_of, rules_of
from rankgate.errors import RankgateError, bad_input, shown
from rankgate.metrics.base import Metric
from rankgate.metrics.matching import BY_CHUNK, By, Matching
from rankgate.metrics.plan import Plan
from rankgate.model.lineage import AgeLimit
from rankgate.model.values import CONFIDENCE, Evidence
from rankgate.readers.mapping import FieldMap
from rankgate.readers.source import open_source
from rankgate.shapes import shaped
from rankgate.written import (
    MIN_QUERIES,
    WrittenAge,
    WrittenBaseline,
    WrittenCriteria,
    WrittenGate,
    WrittenInput,
    WrittenLimits,
    WrittenMatching,
    WrittenRun,
    WrittenSegments,
)
from rankgate.yaml_text import load_yaml

WAIVERS = "ship-waivers.yaml"  # beside the criteria, unless they name another place
DEFAULT_PATHS = ("config/ship-criteria.yaml", "ship-criteria.yaml", ".github/ship-criteria.yaml")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # of a baseline store that is no path: git+branch:, s3:
MOST_BYTES = 1_000_000  # hundreds of gates have a hundredth of it


class InputFile(msgspec.Struct, frozen=True):
    """A path as given on the command line or resolved from the criteria, a forced format, and a run's map."""

    path: str
    format: str | None = None
    map: FieldMap | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one segment; `blocks` is None where the gate's own severity holds."""

    threshold: float | None
    regression_max: float | None
    blocks: bool | None


class SegmentRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which segments a gate looks at, and their limits; `only` has those of single values."""

    by: tuple[str, ...]
    limits: Limits
    min_queries: int = MIN_QUERIES
    only: Mapping[str, Limits] = {}

    def limits_of(self, segment: str) -> Limits | None:
        """The limits of a segment such as `lang:pt-BR`; None where it has none."""
        value = segment.partition(":")[2] if len(self.by) == 1 else segment
        limits = self.only.get(value, self.limits)
        return None if limits.threshold is None and limits.regression_max is None else limits


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A gate, checked and with its metric; at least one of `threshold` and `regression_max` is set."""

    name: str
    metric: Metric
    threshold: float | None
    regression_max: float | None
    drift_max: float | None = None
    blocks: bool
    evidence: Evidence = Evidence.ESTIMATE
    confidence: float = CONFIDENCE
    noise: float = 0.0
    segments: tuple[SegmentRule, ...] = ()
    must_pass: tuple[str, ...] = ()
    max_lost_queries: int | None = None
    line: int | None


class BaselinePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes the baseline and for how long it is good; `anchor` names the run that drift is measured from."""

    accepts_green: bool = False
    anchor: str | None = None
    max_age: AgeLimit = AgeLimit()


class Criteria(msgspec.Struct, frozen=True, kw_only=True):
    """Checked ship criteria.

    `waivers` is where waivers would lie; `waivers_named` says that the file names the place, so that they must be.
    `holdout` is the share of private queries; 0 for none.
    """

    name: str
    gates: tuple[Gate, ...]
    default_k: int
    gold: InputFile | None
    run: InputFile | None
    baseline: InputFile | None
    holdout: float = 0.0
    match: Matching = BY_CHUNK
    gold_changes: Literal["warn", "fail"] | None = None
    fork_runs: Literal["untrusted", "trusted"] = "untrusted"
    policy: BaselinePolicy = BaselinePolicy()
    waivers: str = WAIVERS
    waivers_named: bool = False
    waiver_label: str | None = None

    def plan(self) -> Plan:
        """What a check computes of each run."""
        return Plan(metrics=self.metrics(), default_k=self.default_k, how=self.match, keep_matched=True)

    def metrics(self) -> list[Metric]:
        """The gated metrics, each once, in the order of the gates."""
        return list({gate.metric.name: gate.metric for gate in self.gates}.values())


def find_criteria() -> str:
    """The first of the default paths that exists.

    Raises:
        RankgateError: none does.
    """
    for path in DEFAULT_PATHS:
        if Path(path).is_file():
            return path
    raise bad_input(
        f"no ship criteria found (looked for {', '.join(DEFAULT_PATHS)}); name the file with --criteria, "
        "or let `rankgate init --gold GOLD` write one"
    )


def load_criteria(path: str, *, at: str | None = None) -> Criteria:
    """Read and check ship criteria.

    Args:
        path: of the file.
        at: the path that it is a copy of; inputs are relative to that.

    Raises:
        RankgateError: every problem of the file, with line and key path.
    """
    with open_source(path) as source:
        name = source.name
        document = load_yaml(source.text(MOST_BYTES, "ship criteria are not that long; is this another file?"), name)
    if not isinstance(document.value, dict):
        raise bad_input(f"expected `gates:` with a list of gates, found {shown(document.value)}", file=name, line=1)
    written = shaped(document, WrittenCriteria, name, check_of(document))
    return Criteria(
        name=name,
        gates=tuple(_gate(gate, written, document.line(("gates", index))) for index, gate in enumerate(written.gates)),
        default_k=written.default_k,
        holdout=written.holdout or 0.0,
        match=_matching(written.match),
        gold_changes=written.gold_changes,
        fork_runs=written.fork_runs,
        gold=_resolve(written.inputs.gold, at or path),
        run=_resolve(written.inputs.run, at or path),
        baseline=_resolve(written.inputs.baseline, at or path),
        policy=_policy(written.baseline),
        waivers=beside(at or path, written.inputs.waivers or WAIVERS),
        waivers_named=written.inputs.waivers is not None,
        waiver_label=written.waiver_label,
    )


def inputs_named(path: str) -> dict[str, str]:
    """Where the inputs of a criteria file lie, by their key, as far as it can be read."""
    try:
        with open_source(path) as source:
            value = load_yaml(source.text(MOST_BYTES), source.name).value
    except RankgateError:
        return {}
    written = value.get("inputs") if isinstance(value, dict) else None
    named = {"waivers": WAIVERS, **(written if isinstance(written, dict) else {})}
    paths = {key: entry.get("path") if isinstance(entry, dict) else entry for key, entry in named.items()}
    return {key: _place(entry, path) for key, entry in paths.items() if isinstance(entry, str)}


def _gate(written: WrittenGate, whole: WrittenCriteria, line: int | None) -> Gate:
    return Gate(
        name=written.name,
        metric=metric_of(written),
        threshold=written.threshold,
        regression_max=written.regression_max,
        drift_max=written.drift_max,
        blocks=written.severity == "error",
        evidence=Evidence(written.evidence or whole.evidence),
        confidence=whole.confidence if written.confidence is None else written.confidence,
        noise=written.noise,
        segments=tuple(_rule(rule) for rule in rules_of(written)),
        must_pass=tuple(map(str, written.must_pass)),
        max_lost_queries=written.max_lost_queries,
        line=line,
    )


def _policy(written: WrittenBaseline) -> BaselinePolicy:
    age = written.max_age or WrittenAge()
    return BaselinePolicy(
        accepts_green=written.accept == "green",
        anchor=written.anchor,
        max_age=AgeLimit(days=age.days, commits=age.commits, blocks=age.severity == "error"),
    )


def _rule(written: WrittenSegments) -> SegmentRule:
    limits = _limits(written, Limits(threshold=None, regression_max=None, blocks=None))
    return SegmentRule(
        by=(written.by,) if isinstance(written.by, str) else tuple(written.by),
        limits=limits,
        min_queries=written.min_queries,
        only={value: _limits(own, limits) for value, own in written.only.items()},
    )


def _limits(written: WrittenSegments | WrittenLimits, otherwise: Limits) -> Limits:
    return Limits(
        threshold=otherwise.threshold if written.threshold is None else written.threshold,
        regression_max=otherwise.regression_max if written.regression_max is None else written.regression_max,
        blocks=otherwise.blocks if written.severity is None else written.severity == "error",
    )


def _matching(written: str | WrittenMatching) -> Matching:
    if isinstance(written, str):
        return Matching(by=By(written))
    return Matching(by=By(written.by), separator=written.separator, similarity=written.similarity)


def _resolve(written: str | WrittenInput | None, criteria_path: str) -> InputFile | None:
    if written is None:
        return None
    path, forced = (written, None) if isinstance(written, str) else (written.path, written.format)
    fields = written.map if isinstance(written, WrittenRun) else None
    return InputFile(_place(path, criteria_path), forced, fields)


def _place(path: str, criteria_path: str) -> str:
    return path if _SCHEME.match(path) else beside(criteria_path, path)


def beside(criteria_path: str, path: str) -> str:
    """A path that is written relative to a criteria file, as one would type it."""
    base = "" if criteria_path == "-" else os.path.dirname(criteria_path)  # noqa: PTH120 -- keeps `./a/../b` readable
    return os.path.normpath(os.path.join(base, path))  # noqa: PTH118
