"""From a written name to a metric: `Recall@5`, `retrieval_recall_at_5`, `ndcg(gain=exponential)@10`, `mrr`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rankgate.metrics import registry
from rankgate.metrics.base import RERANK_GAIN, REWRITE_GAIN, VIEWS, BaseMetric, Cutoff, Metric, choices_of

if TYPE_CHECKING:
    from rankgate.metrics.views import View

COMPARED_METRICS = "hit@5,recall@5,recall@10,precision@5,mrr,map,ndcg@10"  # where nobody names any
_NAME = re.compile(
    r"(?:retrieval[_-])?(?P<stem>[a-z][a-z0-9_-]*?)(?:\((?P<inside>(?:[^()]|\([^()]*\))*)\))?(?:(?:@|_at_|-at-|[_.](?=\d+$))(?P<cutoff>\w+))?",
    re.IGNORECASE,
)
_CUTOFF = r"(?i)(?:(?:@|_at_|-at-)\w+|[_.]\d+)$"
_PLAIN_TEXT = r"[\w.:/+-](?:[\w.:/+ -]{0,98}[\w.:/+-])?"  # as names go into comments and tables
_PERCENTILE = r"[pP](\d{1,2})"
_LONGEST_CUTOFF = 7  # digits; no ranking is longer


class UnknownMetricError(ValueError):
    """A name that is no metric; the message says what is wrong and what is near."""


def parse_metric(text: str) -> Metric:
    """The metric that a name means.

    Case does not matter but in the names of sources and of fields; `_at_`, `-at-` and `@` are alike, and so are `_` and
    `.` before a number at the end, as trec_eval writes it; a leading `retrieval_` is dropped. Without a number, mrr,
    map, dcg and ndcg take the whole list and the others the sample's `metadata.k`; `@all` and `@k` say so for any.

    Raises:
        UnknownMetricError: no such metric, parameter or cut-off.
    """
    match = _NAME.fullmatch(text.strip().replace("dcg='exp-log2'", "gain=exponential"))  # as ir_measures writes it
    if match is None:
        from rankgate.metrics.plugins import elsewhere  # noqa: PLC0415 -- paid only for a message

        instead = elsewhere(text.lower().partition("@")[0].replace("-", "_"))
        if instead is not None:
            raise UnknownMetricError(f"unknown metric {text!r}; {instead}")
        raise UnknownMetricError(f"{text!r} is not a metric name; write it like recall@5 or ndcg(gain=exponential)@10")
    stem, inside = _stem(match), match["inside"] or ""
    try:
        if stem in (RERANK_GAIN, REWRITE_GAIN):
            return _gain(stem, inside, match["cutoff"])
        family, parameters, implied = _family(text, stem, match["cutoff"])
        if implied == "?" and not match["cutoff"]:
            raise ValueError(f"its number is missing; write {stem}@10")
        parameters = {**parameters, **_pairs(family, inside)}
        if stem.startswith("set") and "beta" in parameters:
            raise ValueError("there beta is the square of what it is here; write f(beta=…,of=retrieved)@all")
        around = [key for key in VIEWS if family.ranking and key in parameters and key not in family.__struct_fields__]
        view = {key: parameters.pop(key) for key in around}
        cutoff = _cutoff(family, match["cutoff"] or implied or None)
        metric = family(cutoff=cutoff, **_converted(family, parameters))
        if family.alone and not getattr(metric, family.alone):
            raise ValueError(f"{family.key} needs its {family.alone}; write {family.key}({family.alone.upper()})")
        return _view(metric, view) if view else metric
    except UnknownMetricError:
        raise
    except (ValueError, TypeError) as error:
        raise UnknownMetricError(f"{text!r}: {error}") from error


def _stem(match: re.Match[str]) -> str:
    return match["stem"].lower().replace("-", "_")


def family_of(text: str) -> type[BaseMetric]:
    """The family that a name belongs to, whatever parameters and cut-off it has or lacks; else UnknownMetricError."""
    match = _NAME.fullmatch(text.strip())
    return _family(text, _stem(match) if match else text, match and match["cutoff"])[0]


def parse_metrics(text: str) -> list[Metric]:
    """Several metrics from one comma-separated text; `recall@1,3,5` expands to three.

    Raises:
        UnknownMetricError: one of them is none.
    """
    metrics: dict[str, Metric] = {}
    stem = ""
    for part in _split(text):
        word = part.strip()
        if re.fullmatch(r"\d+|all|k", word, re.IGNORECASE) and stem:
            word = f"{stem}@{word}"
        stem = re.sub(_CUTOFF, "", word)
        metric = parse_metric(word)
        metrics.setdefault(metric.name, metric)
    return list(metrics.values())


def at_cutoffs(text: str, cutoffs: Sequence[int]) -> str:
    """A list of names in which each that takes a cut-off and has none is written once for each of these."""
    written = ",".join(map(str, cutoffs))
    parts = [part.strip() for part in _split(text)]
    return ",".join(f"{part}@{written}" if _lacks_cutoff(part) else part for part in parts)


def _lacks_cutoff(name: str) -> bool:
    match = _NAME.fullmatch(name)
    if match is None or match["cutoff"] or _stem(match) in (RERANK_GAIN, REWRITE_GAIN):
        return False
    return family_of(name).default_cutoff is not Cutoff.NONE


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand in no parentheses."""
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]


def _family(text: str, stem: str, cutoff: str | None) -> registry.Meaning:
    meaning = registry.find(stem)
    if meaning is None:
        from rankgate.metrics.plugins import find_installed, why_unknown  # noqa: PLC0415 -- costs more than a small check

        meaning = find_installed(stem)
        if meaning is None:
            raise UnknownMetricError(f"unknown metric {text!r}; {why_unknown(stem, cutoff)}")
    return meaning


def _view(metric: BaseMetric, written: Mapping[str, str]) -> Metric:
    from rankgate.metrics.views import View  # noqa: PLC0415 -- paid only where another list or a source is asked for

    view = View(metric=metric, **_converted(View, written))
    return metric if view == View(metric=metric) else view


def _gain(stem: str, inside: str, cutoff: str | None) -> Metric:
    from rankgate.metrics.views import ListGain, View  # noqa: PLC0415 -- as above

    *inner, last = _split(inside)
    key, equals, number = last.partition("=")
    chosen: int | None = None if stem == RERANK_GAIN else 1
    if len(inner) == 1 and key.strip().lower() == "rewrite" and stem == REWRITE_GAIN and equals:
        chosen = _converted(View, {"rewrite": number.strip()})["rewrite"]
    elif inner:
        raise ValueError(f"{stem} takes one metric, such as {stem}(recall@5)")
    metric = parse_metric(inner[0] if inner else last) if inside.strip() else None
    if cutoff or metric is None or not metric.ranking:
        raise ValueError(f"{stem} takes one ranking metric, such as {stem}(recall@5)")
    return ListGain(metric=metric, rewrite=chosen)


def _pairs(family: type[BaseMetric], inside: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in _split(inside))):
        written_key, equals, written_value = part.partition("=")
        key = written_key.strip()
        value = written_value.strip()
        if not equals and family.alone and family.alone not in pairs:
            key, value = family.alone, part
        elif not equals and re.fullmatch(_PERCENTILE, part) and "quantile" in family.__struct_fields__:
            key, value = "quantile", part
        if not value or key.lower() in pairs:
            raise ValueError(f"parameters are written once each as name=value, not {part!r}")
        pairs[key.lower()] = value
    return pairs


def _converted(kind: type[BaseMetric | View], written: Mapping[str, str]) -> dict[str, Any]:
    if not written:
        return {}
    types = {each.name: each.type for each in msgspec.structs.fields(kind) if each.name not in ("cutoff", "metric")}
    converted: dict[str, Any] = {}
    for key, value in written.items():
        if key not in types:
            known = [*types, *VIEWS] if getattr(kind, "ranking", False) else [*types]
            names = ", ".join(known) or "none"
            raise ValueError(f"{getattr(kind, 'key', '')} has no parameter {key!r} (known: {names})")
        converted[key] = _parameter(key, types[key], value)
    return converted


def _parameter(key: str, kind: Any, value: str) -> object:
    percent = re.fullmatch(_PERCENTILE, value)
    if key == "quantile" and percent:
        value = str(int(percent[1]) / 100)
    if choices := choices_of(kind):
        value = value.lower()
        if value not in choices:
            raise ValueError(f"parameter {key} is one of {', '.join(choices)}, not {value!r}")
    if kind in (str, str | None) and not re.fullmatch(_PLAIN_TEXT, value):
        raise ValueError(f"parameter {key} may hold letters, digits, blanks and . _ : / + -")
    try:
        converted = msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        expected = {bool: "true or false", int: "a whole number"}.get(kind, "a finite number")
        raise ValueError(f"parameter {key} must be {expected}, not {value!r}") from error
    if converted is None:  # what the decoder makes of the text null
        raise ValueError(f"parameter {key} must be a number, not {value!r}")
    if isinstance(converted, float) and not math.isfinite(converted):
        raise ValueError(f"parameter {key} must be a finite number, not {value!r}")
    return converted


def _cutoff(family: type[BaseMetric], written: str | None) -> int | Cutoff:
    if written is None:
        return family.default_cutoff
    written = written.lower()
    if family.default_cutoff is Cutoff.NONE:
        raise ValueError(f"{family.key} takes no cut-off")
    if written in (Cutoff.WHOLE.value, Cutoff.SAMPLE.value):
        return Cutoff(written)
    if not (written.isascii() and written.isdigit() and len(written) <= _LONGEST_CUTOFF):
        raise ValueError(f"the cut-off {written!r} is neither a number nor `all` nor `k`")
    if int(written) < 1:
        raise ValueError("the cut-off k must be at least 1")
    return int(written)
