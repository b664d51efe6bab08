"""What a check is called with, and the gold set: what the caller named wins over what the criteria name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from rankgate.criteria import InputFile
from rankgate.errors import ProblemKind, bad_input, on_one_line, option
from rankgate.metrics.base import Metric
from rankgate.model.base_ref import SetLabel
from rankgate.model.values import Gold
from rankgate.readers.formats import read_gold
from rankgate.readers.source import STDIN, is_remote, shown_path

if TYPE_CHECKING:
    from rankgate.baselines.base import BaselineStore
    from rankgate.criteria import Criteria
    from rankgate.criteria.waivers import Waivers

FIRST_INPUTS = {"run": "run.jsonl", "baseline": "baseline"}  # what a retriever's criteria need beside the gold set
FAILED = ".failed"  # beside a run whose last recording failed
SHOWN_ITEMS = 10  # of each ranking, on a page
_LONGEST = 300  # characters of why it did

Awaited = Literal["label", "merge"]  # a maintainer's label, or that what names a judge is merged


class Stores:
    """Opens each store once: a branch is fetched and a bucket read once, however many runs are judged by it.

    With `copy` what has a scheme is read in the directory into which it was copied.
    """

    def __init__(self, copy: str | None = None) -> None:
        self.copy = copy
        self._opened: dict[InputFile, BaselineStore] = {}

    def store(self, file: InputFile) -> BaselineStore:
        """The store that a file names, or the run file in its place."""
        from rankgate.baselines.stores import store_for, store_in  # noqa: PLC0415 -- paid only where one is named

        if file not in self._opened:
            named = (file.path, file.format, file.map)
            self._opened[file] = store_in(self.copy, *named) if self.copy else store_for(*named)
        return self._opened[file]


class PullInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What the job knows of the pull request.

    `branch` is the base branch where `Inputs.base` does not name it, as in Actions, where that is a sha; `tip` is the
    commit that it is at now. `labels` stand on the pull request; they count only with a base. `awaits` is what has to
    come before the judge is asked about answers that lack its word, `gold` the gold set that the caller names.
    """

    branch: str | None = None
    tip: str | None = None
    labels: tuple[SetLabel, ...] = ()
    awaits: Awaited | None = None
    gold: InputFile | None = None


class DetailInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What pages show beyond the report: so many items of each ranking, and whether with their texts.

    Texts are of the runs or of the `corpus`; `leading` is the metric whose changes are listed.
    """

    depth: int
    texts: bool = False
    corpus: str | None = None
    leading: Metric | None = None


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller names; `date` is the only clock.

    Criteria that are None are looked for in the usual places, unless there are `parsed_criteria`, which have no file;
    any other file that is None comes from `inputs:` in them.
    `base` names the commit by which the run is judged as well; None for none. With `untrusted_run` the run is read as
    hostile data. With `without_baseline` it is compared with nothing, whatever the criteria name. With `verdict_alone`
    no list is read again for what a report says beside its verdict. `older_gold` has the labels by which the accepted
    run is scored where it has none of the gold set's ids. `verdicts` is the file of what a judge said of answers.
    """

    date: str
    criteria: str | None = None
    parsed_criteria: Criteria | None = None
    gold: InputFile | None = None
    run: InputFile | None = None
    baseline: InputFile | None = None
    base: str | None = None
    pull: PullInputs = PullInputs()
    untrusted_run: bool = False
    without_baseline: bool = False
    verdict_alone: bool = False
    older_gold: Gold | None = None
    details: DetailInputs | None = None
    verdicts: str | None = None
    stores: Stores = msgspec.field(default_factory=Stores)

    @property
    def in_memory(self) -> bool:
        """Whether Python holds the gold set or a run that no file has."""
        return any(file is not None and not file.is_file for file in (self.gold, self.run, self.baseline))


def require_inputs(inputs: Inputs, criteria: Criteria) -> None:
    """Refuse a check without a gold set or a run: a RankgateError that says which lines to add."""
    needed = {"gold": inputs.gold or criteria.inputs.gold, "run": inputs.run or criteria.inputs.run}
    missing = [flag for flag, file in needed.items() if file is None]
    if missing:
        raise not_named(missing, criteria)


def gold_of(named: InputFile | None, criteria: Criteria | None, *, untrusted: bool = False) -> Gold:
    """The gold set; one that is untrusted is measured before.

    Raises:
        RankgateError: none is named, it cannot be read, or it is untrusted and too large.
    """
    file = named or (criteria.inputs.gold if criteria else None)
    if file is None:
        raise not_named(["gold"], criteria)
    if untrusted:
        from rankgate.readers.untrusted import refuse_large_gold  # noqa: PLC0415 -- paid only where it is needed

        refuse_large_gold(file.path)
    if file.held is not None:
        from rankgate.metrics.held import held_gold  # noqa: PLC0415 -- paid only from Python

        return held_gold(file.held)
    return read_gold(file.path, file.format, file.map)


def waivers_of(criteria: Criteria) -> Waivers | None:
    """The waivers beside the criteria, or where their `inputs.waivers` says; None where there is no such file.

    Raises:
        RankgateError: every problem of the file; or the criteria name a file that is not there.
    """
    if not criteria.waivers_named and not Path(criteria.inputs.waivers).exists():
        return None
    from rankgate.criteria.waivers import load_waivers  # noqa: PLC0415 -- paid only where there are waivers

    return load_waivers(criteria.inputs.waivers, criteria.every_gate)


def not_recorded(criteria: Criteria) -> str | None:
    """The name of the run that the criteria's retriever has not been recorded into yet; None where it is there."""
    run = criteria.inputs.run
    if criteria.retriever is None or run is None or not run.is_file:
        return None
    if is_remote(run.path) or Path(run.path).exists():
        return None
    return shown_path(run.path)


def missing_inputs(criteria: Criteria) -> dict[str, str]:
    """What criteria with a retriever need and do not name: run and baseline, relative to the criteria.

    They lie beside the criteria, or beside their folder where the gold set is not below it.
    """
    inputs, folder = criteria.inputs, Path(criteria.name).parent
    below = inputs.gold is None or Path(inputs.gold.path).resolve().is_relative_to(folder.resolve())
    start = Path() if below else Path("..")
    return {key: (start / name).as_posix() for key, name in FIRST_INPUTS.items() if getattr(inputs, key) is None}


def refuse_failed(path: str, *, untrusted: bool) -> None:
    """Refuse a run whose last recording failed, so that an older one would be judged in its place."""
    mark = Path(f"{path}{FAILED}")
    if path != STDIN and not is_remote(path) and mark.is_file():
        text = "" if untrusted else mark.read_text(encoding="utf-8", errors="replace").partition("\n")[0][:_LONGEST]
        why = f" ({on_one_line(text)})" if text else ""
        name = shown_path(str(mark))
        older = f", or remove {name} to judge the run that was there before" if Path(path).exists() else ""
        what = f"its last recording failed{why}; record again{older}"
        raise bad_input(what, file=shown_path(path), kind=ProblemKind.NOT_RECORDED)


# What each input is, and an example of its name.
_WANTED = {
    "gold": ("the gold set", "gold.yaml"),
    "run": ("the run of your retriever (`rankgate record` makes one)", "run.jsonl"),
}


def not_named(flags: Sequence[str], criteria: Criteria | None) -> Exception:
    """The error that nothing names these inputs; it says which lines to add."""
    name = criteria.name if criteria else "ship-criteria.yaml"
    wanted = " and ".join(f"{_WANTED[flag][0]} with {option(flag, 'FILE')}" for flag in flags)
    lines = "".join(f"\n  {flag}: {_WANTED[flag][1]}" for flag in flags)
    return bad_input(f"no {' and no '.join(flags)} named; give {wanted}, or add to {name}:\ninputs:{lines}")
