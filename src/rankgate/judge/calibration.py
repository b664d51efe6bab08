"""The file of what people found of a judge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rankgate.errors import bad_input
from rankgate.model.answers import MIN_ANSWERS, MIN_RARER, Rate
from rankgate.model.calibration import CALIBRATION_VERSION, Calibration, MetricCalibration
from rankgate.readers.dates import iso_day
from rankgate.readers.json_text import source_json, spoken
from rankgate.readers.source import open_source
from rankgate.statistics.prediction_powered import Powered

_STEEPEST = 1.5  # no judge sees half as much again as there is
_FAR = 1e6  # a few labels give wide intervals
_ADVICE = "write it again with `rankgate judge calibrate`"


def read_calibration(path: str) -> Calibration | None:
    """What people found of a judge; None where there is no such file.

    Raises:
        RankgateError: the file is damaged, says what no labels can, or is written by a later version.
    """
    if not Path(path).exists():
        return None
    with open_source(path) as source:
        written = source_json(source)
        if isinstance(written, dict) and written.get("version") not in (None, CALIBRATION_VERSION):
            raise bad_input("is of another version of rankgate; " + _ADVICE, file=source.name, key="version")
        try:
            calibration = msgspec.convert(written, Calibration)
        except msgspec.ValidationError as error:
            raise bad_input(f"{spoken(error)}; {_ADVICE}", file=source.name) from error
        if iso_day(calibration.date) != calibration.date:
            raise bad_input(f"expected a day such as 2026-01-31; {_ADVICE}", file=source.name, key="date")
        if not re.fullmatch("[0-9a-f]{64}", calibration.judge):
            raise bad_input(f"expected the whole id of a judge; {_ADVICE}", file=source.name, key="judge")
        for key in _impossible(calibration):
            raise bad_input(f"cannot be so; {_ADVICE}", file=source.name, key=key)
    return calibration


def _impossible(calibration: Calibration) -> Iterator[str]:
    """The keys of numbers that no labels give."""
    parts = {"metrics": calibration.metrics, **{f"segments.{tag}": each for tag, each in calibration.segments.items()}}
    for part, metrics in parts.items():
        yield from (f"{part}.{name}.{key}" for name, metric in metrics.items() for key in _absurd(metric))


def _absurd(metric: MetricCalibration) -> Iterator[str]:
    """The keys of numbers that no labels give, as of a file that was written by hand."""
    shares = {"sensitivity": metric.sensitivity, "specificity": metric.specificity}
    rates: dict[str, Rate | None] = {**shares, "slope": metric.slope}
    for key, rate in rates.items():
        if rate and not (-_FAR < rate.low <= rate.value <= rate.high < _FAR and 0 <= rate.n <= metric.labels):
            yield key
    yield from (key for key, rate in shares.items() if rate and not 0 <= rate.low <= rate.high <= 1)
    enough = metric.labels >= MIN_ANSWERS and metric.rarer >= MIN_RARER
    if enough and metric.slope and abs(metric.slope.value) > _STEEPEST:
        yield "slope.value"
    if not 0 <= metric.rarer <= metric.labels or not -1 <= (metric.kappa or 0.0) <= 1:
        yield "labels" if abs(metric.kappa or 0.0) <= 1 else "kappa"
    if metric.value and not _is_sound(metric.value):
        yield "value"
    if not all(0 <= value <= 1 for value in metric.values.values()):
        yield "values"


def _is_sound(known: Powered) -> bool:
    numbers = (known.value, known.error, known.cumulant, known.unseen)  # of answers that are worth from 0 to 1
    signed = min(known.error, known.unseen) >= 0 and 0 <= known.tuning <= 1
    return all(abs(each) <= _STEEPEST for each in numbers) and signed and known.n > 1
