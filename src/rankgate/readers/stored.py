"""Runs as they are stored: compressed lines."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, Quick, Run
from rankgate.readers.gzipped import Unzipped
from rankgate.readers.run_lines import read_jsonl, read_jsonl_quickly
from rankgate.readers.source import Source, share_of

_BLOCK = 1 << 20  # bytes of lines that are unpacked at a time


def read_stored(data: bytes, needs: frozenset[RunField], name: str) -> Run:
    """A run that was stored as compressed lines."""
    stream = io.BufferedReader(Unzipped(io.BytesIO(data), name))
    return Run(
        name=name,
        format="baseline",
        rankings=read_jsonl(Source(name, stream, b""), needs, ProblemLog(), stored=True),
        quick=Quick(opened=partial(_quickly, data, needs, name), by_line=True),
    )


@contextmanager
def _quickly(
    data: bytes, needs: frozenset[RunField], name: str
) -> Iterator[tuple[Iterator[Ranking], Callable[[], float]]]:
    packed = io.BytesIO(data)
    stream = io.BufferedReader(Unzipped(packed, name), _BLOCK)
    yield read_jsonl_quickly(stream, needs, len(data), stored=True), partial(share_of, packed, len(data))
