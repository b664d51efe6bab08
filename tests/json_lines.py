"""Files of one JSON object a line: runs, gold sets, labels."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def json_lines(entries: Iterable[object]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def write_lines(path: str | Path, entries: Iterable[object]) -> None:
    Path(path).write_text(json_lines(entries), encoding="utf-8")


def read_lines(path: str | Path = "run.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
