"""Whether the baseline that a pull request brings is its own run: that copy counts once it is merged."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from rankgate.criteria import Criteria, InputFile
from rankgate.errors import RankgateError
from rankgate.inputs import Inputs, baseline_of, run_of
from rankgate.model import Ranking
from rankgate.readers.source import STDIN


def is_this_run(inputs: Inputs, criteria: Criteria, baseline: InputFile | None) -> bool | None:
    """Whether a stored baseline holds the rankings of the candidate's run, to the depth that it was stored at.

    Args:
        inputs: name the run.
        criteria: name it otherwise.
        baseline: the pull request's copy.

    Returns:
        None where there is no stored copy, or one of the two cannot be read again.
    """
    named = inputs.run or criteria.run
    if baseline is None or not Path(baseline.path).is_dir() or named is None or named.path == STDIN:
        return None
    try:
        stored = baseline_of(baseline, None)
        if stored is None:
            return None
        run = run_of(named, None, untrusted=inputs.untrusted_run)
        return _lists(stored.rankings, stored.depth) == _lists(run.rankings, stored.depth)
    except RankgateError:  # what is wrong with the run is said where it is judged; with the copy, where it counts
        return None


def _lists(rankings: Iterable[Ranking], depth: int | None) -> dict[str, tuple[str, ...]]:
    return {ranking.query_id: tuple(islice(ranking.ids, depth)) for ranking in rankings}
