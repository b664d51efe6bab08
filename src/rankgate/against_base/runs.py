"""Which run is judged, and whether its rankings are those of a baseline."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rankgate.against_base.files import FilesAtBase
from rankgate.against_base.inputs import Own
from rankgate.criteria import Criteria, InputFile
from rankgate.errors import RankgateError
from rankgate.inputs import Opener, run_of
from rankgate.model import Ranking


def judged_run(own: Own, criteria: Criteria | None, files: FilesAtBase) -> tuple[InputFile | None, bool]:
    """The run, and whether it is the pull request's own in place of one that the base names and that is absent.

    What the caller names decides; else what the base's criteria name, with its format and map.

    Raises:
        RankgateError: the run is a link.
    """
    mine, theirs = own.criteria.run, (criteria or own.criteria).run
    moved = own.inputs.run is None and mine is not None and mine != theirs
    moved = moved and (theirs is None or not os.path.lexists(theirs.path))
    run = own.inputs.run or (mine if moved else theirs)
    if run is not None:
        files.refuse_link(run.path)
    return run, moved


def same_rankings(stored: Opener | None, run: InputFile | None, *, untrusted: bool = False) -> bool | None:
    """Whether a run holds the rankings of a stored one, to the depth of that, and perhaps those of more queries.

    None where nothing is stored, or one of the two cannot be read again.
    """
    if stored is None or run is None or not Path(run.path).is_file():
        return None
    try:
        before = stored()
        if before is None:
            return None
        lists, known = _marked(before.rankings, before.depth)
        return _marked(run_of(run, None, untrusted=untrusted).rankings, before.depth, known) == (lists, known)
    except RankgateError:  # what is wrong with the run is said where it is judged; with a copy, where it counts
        return None


def _marked(rankings: Iterable[Ranking], depth: int | None, known: set[str] | None = None) -> tuple[int, set[str]]:
    """One number for all lists of the known queries, in any order, and the queries; there may be millions of lists."""
    encode = msgspec.json.Encoder().encode
    total, queries = 0, set[str]()
    for ranking in rankings:
        if known is None or ranking.query_id in known:
            text = encode((ranking.query_id, ranking.ids[:depth]))
            total += int.from_bytes(hashlib.sha256(text).digest())
            queries.add(ranking.query_id)
    return total, queries
