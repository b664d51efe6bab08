"""The file of what people found of a judge."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rankgate.errors import bad_input
from rankgate.model.calibration import CALIBRATION_VERSION, Calibration
from rankgate.readers.dates import iso_day
from rankgate.readers.json_text import source_json, spoken
from rankgate.readers.source import open_source

_ADVICE = "write it again with `rankgate judge calibrate`"


def read_calibration(path: str) -> Calibration | None:
    """What people found of a judge; None where there is no such file.

    Raises:
        RankgateError: the file is damaged, or written by a later version.
    """
    if not Path(path).exists():
        return None
    with open_source(path) as source:
        written = source_json(source)
        if isinstance(written, dict) and written.get("version") not in (None, CALIBRATION_VERSION):
            raise bad_input("is of another version of rankgate; " + _ADVICE, file=source.name, key="version")
        try:
            found = msgspec.convert(written, Calibration)
        except msgspec.ValidationError as error:
            raise bad_input(f"{spoken(error)}; {_ADVICE}", file=source.name) from error
        if iso_day(found.date) != found.date:
            raise bad_input(f"expected a day such as 2026-01-31; {_ADVICE}", file=source.name, key="date")
    return found
