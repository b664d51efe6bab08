"""The runs that a check reads, as values: where each comes from, how it is opened, and how it is read again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs, Stores, not_named, not_recorded, refuse_failed
from rankgate.errors import ProblemKind, RankgateError, bad_input, redacted
from rankgate.metrics.base import Cutoff
from rankgate.metrics.matching import BY_CHUNK, By, Matching
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ScoredRun, of_gold
from rankgate.model.report import TrendPoint
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.base import CandidateSource, Run, RunSource, answering
from rankgate.readers.formats import read_run
from rankgate.readers.source import STDIN, is_remote, near_name, shown_path

if TYPE_CHECKING:
    from rankgate.baselines.base import Where
    from rankgate.baselines.memory import Memory
    from rankgate.criteria import Criteria

_PROBED = 10_000  # items
_LONGEST_TEXT = 1_000  # characters of an item's text that pages may show


class RunFile(msgspec.Struct, frozen=True, kw_only=True):
    """A run as a file, or as Python holds it.

    The criteria say which values are joined to it. An `untrusted` one is measured before it is read. Where a `gold` set
    is there, lines that answer another text than it has of their question are left out.
    """

    file: InputFile
    criteria: Criteria | None = None
    untrusted: bool = False
    most_problems: int | None = None
    gold: Gold | None = None

    def open(self, needs: frozenset[RunField]) -> Run:
        """The run.

        Raises:
            RankgateError: it cannot be opened, or it is untrusted and not allowed.
        """
        if self.file.is_table:
            return _table(self.file)
        if self.file.stored:  # with the values that it had: those of the file of scores are the candidate's
            run: Run = NamedRun(self.file).open(needs)
        else:
            run = self._untrusted(needs) if self.untrusted else self._with_scores(needs)
        return run if self.gold is None else answering(run, self.gold)

    def _with_scores(self, needs: frozenset[RunField]) -> Run:
        """The run with the values of the file of scores, if the criteria name one that is needed."""
        file, criteria = self.file, self.criteria
        if file.held is not None:
            run = _held(file, criteria, needs)
        else:
            run = read_run(file.path, file.format, needs=needs, map=file.map, most_problems=self.most_problems)
        scores = self._scores(needs)
        if scores is None or criteria is None:
            return run
        from rankgate.metrics.lines import Score  # noqa: PLC0415 -- paid only where criteria name scores
        from rankgate.readers.per_query import with_scores  # noqa: PLC0415 -- as above

        fields: set[str] = set()
        for metric in criteria.metrics():
            if isinstance(metric, Score):
                fields.update(filter(None, (metric.field, metric.drop_from)))
        return with_scores(run, scores, fields)

    def _untrusted(self, needs: frozenset[RunField]) -> Run:
        scores = self._scores(needs)
        if scores is not None:
            message = "is not read with --untrusted-run; state the scores in the run's lines"
            raise bad_input(message, file=shown_path(scores), key="inputs.scores")
        if self.file.map is not None or self.file.format not in {None, "jsonl"}:
            message = "--untrusted-run reads JSONL in rankgate's own shape alone; leave out the format and the map"
            raise bad_input(message, file=self.file.path)
        from rankgate.readers.untrusted import read_untrusted_run  # noqa: PLC0415 -- paid only where it is needed

        return read_untrusted_run(self.file.path, needs=needs)

    def _scores(self, needs: frozenset[RunField]) -> str | None:
        return self.criteria.inputs.scores if self.criteria and RunField.SCORES in needs else None


class AcceptedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted run of a store, or a run file in its place; no file where nothing is to be compared with.

    Of several that a store keeps `where` chooses. A directory that the criteria name and that does not exist yet is the
    state "no baseline"; one that is `required`, as the caller names it, is a mistake. `deepest` is the lowest rank of a
    cut-off.
    """

    file: InputFile | None
    criteria: Criteria | None = None
    required: bool = False
    deepest: int = 0
    where: Where | None = None
    stores: Stores = msgspec.field(default_factory=Stores)

    def open(self, needs: frozenset[RunField]) -> Run | None:
        """The run; None where nothing has been accepted yet.

        Raises:
            RankgateError: it is missing, damaged, newer than this rankgate, or not stored deep enough.
        """
        file = self.file
        if file is None:
            return None
        if file.held is not None:
            return _held(file, self.criteria, needs)
        if file.is_table:
            return _table(file)
        store = self.stores.store(file)
        run = store.open(needs, deepest=self.deepest, where=self.where)
        if run is None and self.required:
            raise _no_baseline(file)
        return run


def _held(file: InputFile, criteria: Criteria | None, needs: frozenset[RunField]) -> Run:
    from rankgate.metrics.held import HeldRun  # noqa: PLC0415 -- paid only from Python

    return HeldRun(file.held, criteria.match if criteria else BY_CHUNK, file.path).open(needs)


def _table(file: InputFile) -> Run:
    from rankgate.readers.per_query import open_values  # noqa: PLC0415 -- paid only by a table of values

    return open_values(file.path)


class NamedRun(msgspec.Struct, frozen=True):
    """A run file or a baseline directory that must be there, as `compare` reads it."""

    file: InputFile
    deepest: int = 0

    def open(self, needs: frozenset[RunField]) -> Run:
        """The run; raises as `AcceptedRun` does."""
        file = self.file
        if file.path != STDIN and not is_remote(file.path) and not Path(file.path).exists():
            raise bad_input(f"no such file or baseline directory{near_name(file.path)}", file=file.path)
        run = Stores().store(file).open(needs, deepest=self.deepest)
        if run is None:
            raise _no_baseline(file)
        return run


def _no_baseline(file: InputFile) -> Exception:
    command = f"rankgate baseline accept --run RUN --to {quote(redacted(file.path))}"
    return bad_input(f"no baseline here; accept one with `{command}`", file=file.path)


def candidate_run(
    named: InputFile | None, criteria: Criteria | None, *, untrusted: bool = False, gold: Gold | None = None
) -> RunFile:
    """The run that the caller names, or else the criteria; a RankgateError where neither does."""
    file = named or (criteria.inputs.run if criteria else None)
    if file is None:
        raise not_named(["run"], criteria)
    return RunFile(file=file, criteria=criteria, untrusted=untrusted, gold=gold)


def accepted_run(inputs: Inputs, criteria: Criteria, *, deepest: int = 0) -> AcceptedRun:
    """The accepted run that a check compares with; one without a file where none is named, or none is wanted.

    A store chooses it by the check's date and by the commits that it may be of: in a repository those up to where HEAD
    left the base, or up to HEAD where no base is named.
    """
    file = inputs.baseline or criteria.inputs.baseline
    if file is None or inputs.without_baseline:
        return AcceptedRun(file=None)
    from rankgate.baselines.base import Where  # noqa: PLC0415 -- paid only where a baseline is named

    branch = inputs.pull.branch or (inputs.base.removeprefix("origin/") if inputs.base else None)
    return AcceptedRun(
        file=file,
        criteria=criteria,
        required=inputs.baseline is not None,
        deepest=deepest,
        where=Where(date=inputs.date, tree=".", base=inputs.base, branch=branch),
        stores=inputs.stores,
    )


class Sources(NamedTuple):
    """Where the candidate and the accepted run come from."""

    candidate: CandidateSource
    accepted: RunSource


def runs_of(inputs: Inputs, criteria: Criteria, plan: Plan, gold: Gold) -> Sources:
    """Where the candidate and the accepted run come from.

    Raises:
        RankgateError: the run is not recorded yet, or its last recording failed; or there are values in place of
            rankings, and a metric that compares lists or judges answers.
    """
    unread = [metric.name for metric in plan.metrics if metric.needs & {RunField.BASELINE, RunField.VERDICTS}]
    table = next((file for file in (inputs.run, inputs.baseline) if file and file.is_table), None)
    if unread and table is not None:
        what = "compare lists or judge answers, and a table of values has neither; give the runs, or leave them out"
        raise bad_input(f"{', '.join(unread)}: these gates {what}", file=shown_path(table.path))
    run = inputs.run or criteria.inputs.run
    if run is not None and run.is_file:
        refuse_failed(run.path, untrusted=inputs.untrusted_run)
        if inputs.run is None and (name := not_recorded(criteria)):
            raise bad_input("is not recorded yet", file=name, kind=ProblemKind.NOT_RECORDED)
    candidate = candidate_run(inputs.run, criteria, untrusted=inputs.untrusted_run)
    return Sources(candidate, accepted_run(inputs, criteria, deepest=deepest_cutoff(plan, gold)))


def deepest_cutoff(plan: Plan, gold: Gold) -> int:
    """The lowest rank that a metric reads by its cut-off; whole-list metrics read what is there and do not count."""
    numbers = [metric.cutoff for metric in plan.metrics if isinstance(metric.cutoff, int)]
    if any(metric.cutoff is Cutoff.SAMPLE for metric in plan.metrics):
        numbers += [sample.k or plan.default_k for sample in gold.samples.values()]
    return max(numbers, default=0)


def memory_of(inputs: Inputs, criteria: Criteria) -> Memory | None:
    """What the baseline's store remembers; None where there is no store, or where it remembers nothing."""
    file = inputs.baseline or criteria.inputs.baseline
    if inputs.without_baseline or file is None or not file.is_file or file.is_table:
        return None
    return inputs.stores.store(file).memory


def trend_before(inputs: Inputs, criteria: Criteria) -> list[TrendPoint]:
    """The last recorded runs up to the day of the check; none where the store remembers none.

    A history that cannot be read is none: nothing is decided by it, and `rankgate baseline verify` says what is wrong.
    """
    try:
        memory = memory_of(inputs, criteria)
        if memory is None:
            return []
        from rankgate.baselines.records import MAX_ACCEPTED, MAX_POINTS, trend_of  # noqa: PLC0415 -- as above

        history = memory.recent("history", MAX_POINTS, until=inputs.date)
        accepted = memory.recent("accepted", MAX_ACCEPTED, until=inputs.date) if history else []
    except RankgateError:
        return []
    return trend_of(history, accepted)


def lists_of(run: ScoredRun) -> Iterable[Ranking]:
    """The rankings from the first, as metrics read them; none of values without rankings."""
    return _again(run) if run.kept is None else run.kept


def detailed_lists_of(run: ScoredRun) -> Iterable[Ranking]:
    """The rankings with documents and the list before reranking.

    Raises:
        RankgateError: while they are read, where these are malformed; no metric has read them.
    """
    return _again(run, frozenset({RunField.RAW, RunField.DOCS}))


def texts_of(run: ScoredRun, wanted: Collection[str]) -> dict[str, str]:
    """The texts that the run states of these items; none where it cannot be read again with them.

    One whose first `_PROBED` items state none is read no further.
    """
    texts: dict[str, str] = {}
    items = 0
    states_texts = False
    with suppress(RankgateError):
        for ranking in _again(run, frozenset({RunField.TEXTS})):
            stated = list(zip(ranking.ids, ranking.stated_items, strict=False))
            texts |= {name: item.text[:_LONGEST_TEXT] for name, item in stated if item.text and name in wanted}
            states_texts = states_texts or any(item.text for _, item in stated)
            items += len(ranking.ids)
            if not states_texts and items >= _PROBED:
                break
    return texts


def traffic_of(run: ScoredRun, how: Matching) -> Iterable[Ranking]:
    """The rankings of questions that are none of the gold set; none where the run came through a pipe."""
    docs = {RunField.DOCS} if how.by is By.DOC else set[RunField]()
    return _opened_again(run, frozenset({RunField.TRAFFIC, *docs})) if run.again else ()


def rankings_again(source: RunSource, needs: frozenset[RunField]) -> Iterator[Ranking]:
    """A run's rankings once more: quickly where every line is a query, and carefully from where that does not go."""
    return _quickly_or_carefully(source.open(needs))


def _again(run: ScoredRun, more: frozenset[RunField] = frozenset()) -> Iterable[Ranking]:
    return _opened_again(run, run.again.needs | more) if run.again else run.kept or ()


def _opened_again(run: ScoredRun, needs: frozenset[RunField]) -> Iterator[Ranking]:
    again = run.again
    opened = again.source.open(needs) if again else None
    return _quickly_or_carefully(of_gold(opened, again.gold, again.how) if again and opened else None)


def _quickly_or_carefully(run: Run | None) -> Iterator[Ranking]:
    count = 0
    if run and run.quick and run.quick.by_line:
        with suppress(ValueError, RankgateError), run.quick.opened() as reading:
            if reading:
                for ranking in reading[0]:
                    count += 1
                    yield ranking
                return
    yield from islice(run.rankings, count, None) if run else ()
