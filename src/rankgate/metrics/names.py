"""From a written name to a metric: `Recall@5`, `retrieval_recall_at_5`, `ndcg(gain=exponential)@10`, `mrr`."""

from __future__ import annotations

import math
import re

import msgspec

from rankgate.errors import did_you_mean
from rankgate.metrics import registry
from rankgate.metrics.base import BaseMetric, Cutoff

_NAME = re.compile(
    r"(?:retrieval[_-])?(?P<stem>[a-z][a-z0-9_-]*?)(?:\((?P<parameters>[^()]*)\))?(?:(?:@|_at_|-at-)(?P<cutoff>\w+))?"
)
_LONGEST_CUTOFF = 7  # digits; no ranking is longer


class UnknownMetricError(ValueError):
    """A name that is no metric; the message says what is wrong and what is near."""


def parse_metric(text: str) -> BaseMetric:
    """The metric that a name means.

    Case does not matter; `_at_`, `-at-` and `@` are alike; a leading `retrieval_` is dropped. Without a number, mrr,
    map, dcg and ndcg take the whole list and the others the sample's `metadata.k`; `@all` and `@k` say so for any.

    Raises:
        UnknownMetricError: no such metric, parameter or cut-off.
    """
    match = _NAME.fullmatch(text.strip().lower())
    if match is None:
        raise UnknownMetricError(f"{text!r} is not a metric name; write it like recall@5 or ndcg(gain=exponential)@10")
    stem = match["stem"].replace("-", "_")
    found = registry.find(stem)
    if found is None:
        near = did_you_mean(stem, registry.words())
        if near and match["cutoff"]:
            near = near.removesuffix("'?") + f"@{match['cutoff']}'?"
        raise UnknownMetricError(f"unknown metric {text!r}{near or '; `rankgate metrics` lists them'}")
    family, implied = found
    parameters: dict[str, object] = {}
    for key, value in {**implied, **_pairs(text, match["parameters"] or "")}.items():
        parameters[key] = _parameter(text, family, key, value)
    cutoff = _cutoff(text, family, match["cutoff"])
    try:
        return family(cutoff=cutoff, **parameters)
    except (ValueError, TypeError) as error:
        raise UnknownMetricError(f"{text!r}: {error}") from error


def parse_metrics(text: str) -> list[BaseMetric]:
    """Several metrics from one comma-separated text; `recall@1,3,5` expands to three.

    Raises:
        UnknownMetricError: one of them is none.
    """
    metrics: dict[str, BaseMetric] = {}
    stem = ""
    for part in re.split(r",(?![^()]*\))", text):
        word = part.strip()
        if re.fullmatch(r"\d+|all|k", word) and stem:
            word = f"{stem}@{word}"
        stem = re.split(r"@|_at_|-at-", word.lower())[0]
        metric = parse_metric(word)
        metrics.setdefault(metric.name, metric)
    return list(metrics.values())


def _pairs(text: str, inside: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in inside.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key in pairs:
            raise UnknownMetricError(f"{text!r}: parameters are written once each as name=value, not {part!r}")
        pairs[key] = value
    return pairs


def _parameter(text: str, family: type[BaseMetric], key: str, value: str) -> object:
    fields = {field.name: field for field in msgspec.structs.fields(family) if field.name != "cutoff"}
    if key not in fields:
        known = ", ".join(fields) or "none"
        raise UnknownMetricError(f"{text!r}: {family.key} has no parameter {key!r} (known: {known})")
    percent = re.fullmatch(r"p(\d{1,2})", value)
    if key == "quantile" and percent:
        value = str(int(percent[1]) / 100)
    try:
        converted = msgspec.convert(value, fields[key].type, strict=False)
    except msgspec.ValidationError as error:
        raise UnknownMetricError(f"{text!r}: parameter {key}: {error}") from error
    if isinstance(converted, float) and not math.isfinite(converted):
        raise UnknownMetricError(f"{text!r}: parameter {key} must be a finite number")
    return converted


def _cutoff(text: str, family: type[BaseMetric], written: str | None) -> int | Cutoff:
    if written is None:
        return family.default_cutoff
    if family.default_cutoff is Cutoff.NONE:
        raise UnknownMetricError(f"{text!r}: {family.key} takes no cut-off")
    if written in (Cutoff.WHOLE.value, Cutoff.SAMPLE.value):
        return Cutoff(written)
    if not (written.isascii() and written.isdigit() and len(written) <= _LONGEST_CUTOFF):
        raise UnknownMetricError(f"{text!r}: the cut-off {written!r} is neither a number nor `all` nor `k`")
    if int(written) < 1:
        raise UnknownMetricError(f"{text!r}: the cut-off k must be at least 1")
    return int(written)
