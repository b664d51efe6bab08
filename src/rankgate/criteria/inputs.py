"""From flags and `inputs:` to opened files: what the caller named wins over what the criteria name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from rankgate.baselines.base import BaselineStore, Where
from rankgate.baselines.stores import is_remote, store_for
from rankgate.criteria import InputFile
from rankgate.errors import ProblemKind, RankgateError, bad_input, on_one_line, option, redacted
from rankgate.metrics.base import Cutoff, Metric
from rankgate.metrics.lines import Score
from rankgate.metrics.plan import Plan
from rankgate.model.report import TrendPoint
from rankgate.model.traffic import TrafficFiles
from rankgate.model.values import Gold, RunField
from rankgate.model.waiver_use import SetLabel
from rankgate.readers.base import Run, answering
from rankgate.readers.formats import read_gold, read_run
from rankgate.readers.mapping import FieldMap
from rankgate.readers.per_query import open_values
from rankgate.readers.source import STDIN, near_name, shown_path

if TYPE_CHECKING:
    from rankgate.baselines.memory import Memory
    from rankgate.criteria import Criteria

FIRST_INPUTS = {"run": "run.jsonl", "baseline": "baseline"}  # what a retriever's criteria need beside the gold set
FAILED = ".failed"  # beside a run whose last recording failed
_LONGEST = 300  # characters of why it did

Awaited = Literal["label", "merge"]  # a maintainer's label, or that what names a judge is merged
Opener = Callable[..., Run | None]
OpenStore = Callable[[str, str | None, FieldMap | None], BaselineStore]


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller names; `date` is the only clock.

    Criteria that are None are looked for in the usual places, unless they are `asked` without a file; any other file
    that is None comes from `inputs:` in them.
    `base` names the commit by which the run is judged as well; None for none. `branch` is the base branch where `base`
    does not name it, as in Actions, where that is a sha; `tip` is the commit that it is at now. With `untrusted_run`
    the run is read as hostile data. With `without_baseline` it is compared with nothing, whatever the criteria name.
    `older_gold` has the labels by which the accepted run is scored where it has none of the gold set's ids.
    `traffic` is what was read of it, in place of what the criteria name.
    `labels` stand on the pull request; they count only with a base. `details` asks for what pages show beyond the
    report, with so many items of each ranking, and `texts` for what these say, by the runs or by the `corpus`;
    `leading` is the metric whose changes are listed. `open_store` opens a store once: a branch is fetched and a bucket
    read once, however many runs are judged by what lies there. `verdicts` is the file of what a judge said of answers,
    and `awaits` what has to come before the judge is asked about those that lack its word.
    """

    date: str
    criteria: str | None = None
    asked: Criteria | None = None
    gold: InputFile | None = None
    run: InputFile | None = None
    baseline: InputFile | None = None
    base: str | None = None
    branch: str | None = None
    tip: str | None = None
    untrusted_run: bool = False
    without_baseline: bool = False
    older_gold: Gold | None = None
    traffic: TrafficFiles | None = None
    labels: tuple[SetLabel, ...] = ()
    details: int | None = None
    texts: bool = False
    corpus: str | None = None
    leading: Metric | None = None
    verdicts: str | None = None
    awaits: Awaited | None = None
    open_store: OpenStore = msgspec.field(default_factory=lambda: cache(store_for))


def require_inputs(inputs: Inputs, criteria: Criteria) -> None:
    """Refuse a check without a gold set or a run: a RankgateError that says which lines to add."""
    needed = {"gold": inputs.gold or criteria.inputs.gold, "run": inputs.run or criteria.inputs.run}
    missing = [flag for flag, file in needed.items() if file is None]
    if missing:
        raise _not_named(missing, criteria)


def gold_of(named: InputFile | None, criteria: Criteria | None, *, untrusted: bool = False) -> Gold:
    """The gold set; one that is untrusted is measured before.

    Raises:
        RankgateError: none is named, it cannot be read, or it is untrusted and too large.
    """
    file = named or (criteria.inputs.gold if criteria else None)
    if file is None:
        raise _not_named(["gold"], criteria)
    if untrusted:
        from rankgate.readers.untrusted import refuse_large_gold  # noqa: PLC0415 -- paid only where it is needed

        refuse_large_gold(file.path)
    gold: Gold = file.held() if file.held else read_gold(file.path, file.format, file.map)
    return gold


def run_of(
    named: InputFile | None,
    criteria: Criteria | None,
    needs: frozenset[RunField] = frozenset(),
    *,
    untrusted: bool = False,
    most_problems: int | None = None,
    gold: Gold | None = None,
) -> Run:
    """The candidate's run, opened, without lines that answer another text than the gold set has of their question.

    One that is untrusted is measured before.

    Raises:
        RankgateError: none is named, it cannot be opened, or it is untrusted and not allowed.
    """
    file = named or (criteria.inputs.run if criteria else None)
    if file is None:
        raise _not_named(["run"], criteria)
    if file.is_table:
        return open_values(file.path)
    run = _opened(file, criteria, needs, untrusted=untrusted, most_problems=most_problems)
    return run if gold is None else answering(run, gold)


def _opened(
    file: InputFile,
    criteria: Criteria | None,
    needs: frozenset[RunField],
    *,
    untrusted: bool,
    most_problems: int | None,
) -> Run:
    scores = criteria.inputs.scores if criteria and RunField.SCORES in needs else None
    if not untrusted:
        read = partial(read_run, file.path, file.format, map=file.map, most_problems=most_problems)
        run: Run = file.held(needs, criteria) if file.held else read(needs=needs)
        if scores is None:
            return run
        from rankgate.readers.scores import with_scores  # noqa: PLC0415 -- as above

        metrics = (each for each in (criteria.metrics() if criteria else ()) if isinstance(each, Score))
        return with_scores(run, scores, {name for each in metrics for name in (each.field, each.drop_from) if name})
    if scores is not None:
        message = "is not read with --untrusted-run; state the scores in the run's lines"
        raise bad_input(message, file=shown_path(scores), key="inputs.scores")
    from rankgate.readers.untrusted import read_untrusted_run  # noqa: PLC0415 -- as above

    if file.map is not None or file.format not in {None, "jsonl"}:
        message = "--untrusted-run reads JSONL in rankgate's own shape alone; leave out the format and the map"
        raise bad_input(message, file=file.path)
    return read_untrusted_run(file.path, needs=needs)


def baseline_of(
    named: InputFile | None,
    criteria: Criteria | None,
    needs: frozenset[RunField] = frozenset(),
    *,
    deepest: int = 0,
    where: Where | None = None,
    open_store: OpenStore = store_for,
) -> Run | None:
    """The accepted baseline, opened, chosen by `where` of several; None where there is none yet.

    A directory that the criteria name and that does not exist yet is the state "no baseline"; one that the caller
    names is a mistake. `needs` and `deepest` are what the metrics read beyond ids, and the lowest rank of a cut-off.

    Raises:
        RankgateError: the baseline is missing, damaged, newer than this rankgate, or not stored deep enough.
    """
    file = named or (criteria.inputs.baseline if criteria else None)
    if file is None:
        return None
    if file.held:
        opened: Run | None = file.held(needs, criteria)
        return opened
    if file.is_table:
        return open_values(file.path)
    opened = open_store(file.path, file.format, file.map).open(needs, deepest=deepest, where=where)
    if opened is None and named is not None:
        raise _no_baseline(file)
    return opened


def runs_of(
    inputs: Inputs, criteria: Criteria, plan: Plan, gold: Gold
) -> tuple[Callable[..., Run], Opener, Callable[[], list[TrendPoint]]]:
    """What opens the candidate and the accepted run, and what gives the trend.

    Raises:
        RankgateError: there are values in place of rankings, and a metric that compares lists or judges answers.
    """
    unread = [metric.name for metric in plan.metrics if metric.needs & {RunField.BASELINE, RunField.VERDICTS}]
    if unread and (table := next((file for file in (inputs.run, inputs.baseline) if file and file.is_table), None)):
        what = "compare lists or judge answers, and a table of values has neither; give the runs, or leave them out"
        raise bad_input(f"{', '.join(unread)}: these gates {what}", file=shown_path(table.path))
    if (run := inputs.run or criteria.inputs.run) and not run.held:
        refuse_failed(run.path, untrusted=inputs.untrusted_run)
        if name := (None if inputs.run else not_recorded(criteria)):
            raise bad_input("is not recorded yet", file=name, kind=ProblemKind.NOT_RECORDED)
    candidate = partial(run_of, inputs.run, criteria, needs=plan.needs, untrusted=inputs.untrusted_run, gold=gold)
    accepted = partial(accepted_run, inputs, criteria, needs=plan.needs, deepest=deepest_cutoff(plan, gold))
    return candidate, accepted, partial(_trend_before, inputs, criteria)


def not_recorded(criteria: Criteria) -> str | None:
    """The name of the run that the criteria's retriever has not been recorded into yet; None where it is there."""
    run = criteria.inputs.run
    if criteria.retriever is None or run is None or run.held or is_remote(run.path) or Path(run.path).exists():
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


def accepted_run(inputs: Inputs, criteria: Criteria, needs: frozenset[RunField], deepest: int) -> Run | None:
    """The accepted run that a check compares with: chosen by its date and by the commits before it.

    These are, in a repository, the commit where HEAD left the base, or HEAD where no base is named, and what lies
    before. It raises as `baseline_of` does.
    """

    def ancestors() -> Sequence[str]:
        from rankgate.files.git import known_ancestors  # noqa: PLC0415 -- git is paid for only where a record names a commit

        return known_ancestors(inputs.base)

    if inputs.without_baseline:
        return None
    branch = inputs.branch or (inputs.base.removeprefix("origin/") if inputs.base else None)
    where = Where(date=inputs.date, ancestors=ancestors, branch=branch)
    return baseline_of(inputs.baseline, criteria, needs, deepest=deepest, where=where, open_store=inputs.open_store)


def memory_of(inputs: Inputs, criteria: Criteria) -> Memory | None:
    """What the baseline's store remembers; None where there is no store, or where it remembers nothing."""
    file = inputs.baseline or criteria.inputs.baseline
    if inputs.without_baseline or file is None or file.held or file.is_table:
        return None
    return inputs.open_store(file.path, file.format, file.map).memory


def _trend_before(inputs: Inputs, criteria: Criteria) -> list[TrendPoint]:
    """The last recorded runs up to the day of the check; none where the store remembers none.

    A history that cannot be read is none: nothing is decided by it, and `rankgate baseline verify` says what is wrong.
    """
    try:
        memory = memory_of(inputs, criteria)
        if memory is None:
            return []
        from rankgate.baselines.acceptances import MAX_ACCEPTED, MAX_POINTS, trend_of  # noqa: PLC0415 -- as above

        history = memory.recent("history", MAX_POINTS, until=inputs.date)
        accepted = memory.recent("accepted", MAX_ACCEPTED, until=inputs.date) if history else []
    except RankgateError:
        return []
    return trend_of(history, accepted)


def named_run(file: InputFile, needs: frozenset[RunField] = frozenset(), *, deepest: int = 0) -> Run:
    """A run file or a baseline directory that must be there, opened; `needs` and `deepest` as for `baseline_of`.

    Raises:
        RankgateError: nothing is there, or it is damaged, newer than this rankgate, or not stored deep enough.
    """
    if file.path != STDIN and not is_remote(file.path) and not Path(file.path).exists():
        raise bad_input(f"no such file or baseline directory{near_name(file.path)}", file=file.path)
    opened = store_for(file.path, file.format, file.map).open(needs, deepest=deepest)
    if opened is None:
        raise _no_baseline(file)
    return opened


def _no_baseline(file: InputFile) -> Exception:
    message = f"no baseline here; accept one with `rankgate baseline accept --run RUN --to {redacted(file.path)}`"
    return bad_input(message, file=file.path)


def deepest_cutoff(plan: Plan, gold: Gold) -> int:
    """The lowest rank that a metric reads by its cut-off; whole-list metrics read what is there and do not count."""
    numbers = [metric.cutoff for metric in plan.metrics if isinstance(metric.cutoff, int)]
    if any(metric.cutoff is Cutoff.SAMPLE for metric in plan.metrics):
        numbers += [sample.k or plan.default_k for sample in gold.samples.values()]
    return max(numbers, default=0)


# What each input is, and an example of its name.
_WANTED = {
    "gold": ("the gold set", "gold.yaml"),
    "run": ("the run of your retriever (`rankgate record` makes one)", "run.jsonl"),
}


def _not_named(flags: Sequence[str], criteria: Criteria | None) -> Exception:
    name = criteria.name if criteria else "ship-criteria.yaml"
    wanted = " and ".join(f"{_WANTED[flag][0]} with {option(flag, 'FILE')}" for flag in flags)
    lines = "".join(f"\n  {flag}: {_WANTED[flag][1]}" for flag in flags)
    return bad_input(f"no {' and no '.join(flags)} named; give {wanted}, or add to {name}:\ninputs:{lines}")
