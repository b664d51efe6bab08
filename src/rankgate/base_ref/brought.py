"""What became of the baseline, and the run that a pull request brings in its place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.baseline import acceptances, baseline_change, baseline_in, digests, stored_lists
from rankgate.base_ref.commits import Commits
from rankgate.base_ref.files import Trees
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.runs import RunFile
from rankgate.errors import RankgateError
from rankgate.model.base_ref import LogChange
from rankgate.model.lineage import AnchorMark
from rankgate.model.values import FROM_MATCH, Gold, Ranking, RunField

_NOT_OF_LINES = FROM_MATCH | {RunField.VERDICTS}
HALF = 0.5  # of the questions that a baseline has to have


class BroughtBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the baseline, and the run in its place that the base's files are to judge, if any.

    `rewritten` says that its log is not the base's and more, `anchor` is the base's, `anchor_of_head` the one in its
    place.
    """

    changed: Literal["added", "deleted", "replaced"] | None = None
    rewritten: bool = False
    anchor: AnchorMark | None = None
    anchor_of_head: AnchorMark | None = None
    short: bool = False
    run: InputFile | None = None


def brought_baseline(inputs: Inputs, commits: Commits, trees: Trees) -> BroughtBaseline:
    """What became of the baseline; what is brought in its place is judged, but for the run that is judged anyhow."""
    base, head, shared = commits.base, commits.head, commits.shared
    if base is None or head is None or shared is None:
        return BroughtBaseline()
    accepted = shared.inputs.baseline
    brought = baseline_in(inputs, head.criteria, trees, known=base.criteria)
    about = BroughtBaseline(changed=baseline_change(accepted, brought))
    if about.changed in ("replaced", "deleted"):
        log = acceptances(accepted)
        log_of_head = acceptances(brought)
        rewritten = list(log_of_head.records[: len(log.records)]) != list(log.records)
        about = replace(about, rewritten=rewritten, anchor=log.anchor, anchor_of_head=log_of_head.anchor)
    if about.changed not in ("replaced", "added") or brought is None or brought.is_table:
        return about
    if not Path(brought.path).exists():
        return about
    stored = stored_lists(brought, base.gold)
    if stored is not None:
        covered = sum(query_id in stored.digests or query_id in stored.questions for query_id in base.gold.samples)
        about = replace(about, short=covered < HALF * len(base.gold.samples))
        if is_run(brought, shared.inputs.run, inputs, head.gold, base.criteria.plan().needs - _NOT_OF_LINES):
            return about
    return replace(about, run=replace(brought, stored=True))


def log_change(brought: BroughtBaseline, noted: AnchorMark | None) -> LogChange | None:
    """What the pull request did to the log of acceptances; `noted` is what an acceptance of its run has to remember."""
    if brought.rewritten:
        return "log"
    if brought.changed != "replaced" or brought.anchor is None:
        return None
    known = [replace(mark, steps=0) for mark in (brought.anchor, noted) if mark]
    of_head = brought.anchor_of_head and replace(brought.anchor_of_head, steps=0)
    return None if of_head in known else "anchor"


def is_run(
    stored: InputFile | None,
    run: InputFile | None,
    inputs: Inputs,
    gold: Gold,
    needs: frozenset[RunField] = frozenset(),
) -> bool:
    """Whether a stored run is the run that is judged, for the questions of a gold set and to the stored depth.

    It is where every list is the same, and so are the values that are needed beside it: a baseline that was slower
    would let later runs be so. False where either cannot be read.
    """
    lists = stored_lists(stored, gold, needs)
    rankings = rankings_of(run, inputs, gold, needs) if lists else None
    if lists is None or rankings is None:
        return False
    of_run = digests(rankings, lists.depth)
    return all(lists.digests.get(query) == of_run.get(query) for query in gold.samples)


def rankings_of(
    run: InputFile | None, inputs: Inputs, gold: Gold, needs: frozenset[RunField] = frozenset()
) -> Iterable[Ranking] | None:
    """The run's lists for a gold set, read again; None of values in their place, or where they cannot be read."""
    if run is None or run.is_table or not Path(run.path).is_file():
        return None
    try:
        return list(RunFile(file=run, untrusted=inputs.untrusted_run, gold=gold).open(needs).rankings)
    except RankgateError:  # what is wrong with the run is said where it is judged
        return None
