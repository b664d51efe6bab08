"""A check against a base: the base's files judge the run, and so do the pull request's own; the worst of both counts.

Otherwise a pull request could lower the limit that it misses, or remove the questions that it loses.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.baseline import acceptances, baseline_change, baseline_in, digests, stored_lists
from rankgate.base_ref.changes import (
    gate_changes,
    key_changes,
    moved_toward,
    query_changes,
    traffic_changes,
    waiver_changes,
    with_labels_of,
)
from rankgate.base_ref.commits import (
    Commits,
    Gate,
    given,
    head_criteria_of,
    judge_file_changes,
    read_commits,
    refuse_committed_verdicts,
    without_other_labels,
)
from rankgate.base_ref.files import Trees, trees_at
from rankgate.base_ref.worst import lower_gates, worst_of
from rankgate.criteria import Criteria, InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.run_code import with_code
from rankgate.criteria.runs import RunFile
from rankgate.errors import Problem, RankgateError
from rankgate.files.git import GitError
from rankgate.gates.commands import as_typed
from rankgate.gates.compose import published
from rankgate.gates.conclude import with_other_code
from rankgate.gates.evaluation import Case
from rankgate.gates.not_judged import not_judged
from rankgate.metrics.matching import By
from rankgate.model.base_ref import ACCEPT_CHANGE, BaseSide, LogChange
from rankgate.model.lineage import AnchorMark
from rankgate.model.remarks import BASELINE_SUPPLIED, label_notes
from rankgate.model.report import Report
from rankgate.model.values import FROM_MATCH, Gold, Ranking, RunField
from rankgate.readers.source import is_remote, parts_of

_NOT_OF_LINES = FROM_MATCH | {RunField.VERDICTS}
HALF = 0.5  # of the questions that a baseline has to have


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request to be judged: by the base's files, which know nothing of it, and by its own.

    `accepted_by` is who has set the label by which its own files judge alone. `cases` are what there is to judge by:
    `base`, `head`, and `brought`, the run that is brought as a baseline, by the base. There is no `base` where both
    commits judge by the same, and no `head` where `head_problems` say why it cannot judge.
    """

    inputs: Inputs
    trees: Trees
    commits: Commits
    accepted_by: str | None
    brought: BroughtBaseline
    cases: Mapping[str, Case]
    head_problems: Sequence[Problem]

    def not_judged(self, case: Case, error: RankgateError) -> Report:
        """The report of a case that cannot be judged; what is wrong with git or with the base's own place is raised."""
        if isinstance(error, GitError):
            raise error
        files = case.criteria.inputs
        return not_judged(replace(case.inputs, run=files.run, baseline=files.baseline), self.trees.problems(error))

    def report(self, reports: Mapping[str, Report]) -> Report:
        """The worst of the reports by `cases`, with what the pull request changed of the gate."""
        by_base, by_head = self.both(reports)
        report = worst_of(by_base, by_head, self._about(by_base, by_head, reports.get("brought")))
        supplied = [BASELINE_SUPPLIED] if self._baseline_supplied else []
        notes = [*label_notes(self.inputs.pull.labels, ACCEPT_CHANGE), *supplied, *report.remarks.notes]
        report = replace(report, remarks=replace(report.remarks, notes=notes))
        report = with_other_code(_named(report, self.inputs, self.commits, self.trees))
        following = [self.trees.typed(word) for word in report.conclusion.next]
        report = replace(report, conclusion=replace(report.conclusion, next=following))
        gate = self.commits.base or self.commits.head  # its own texts, where the base says nothing of them
        return published(report, gate.criteria.published) if gate else report

    @property
    def _baseline_supplied(self) -> bool:
        """Whether only the job can have made what the run is compared with: it is read where it is named, no copy."""
        base = self.commits.base
        stored = self.commits.shared.inputs.baseline if self.commits.shared else None
        if base is None or stored is None or is_remote(stored.path):
            return False
        named = (self.inputs.baseline, base.criteria.inputs.baseline)
        return any(file is not None and file.path == stored.path for file in named)

    def both(self, reports: Mapping[str, Report]) -> tuple[Report | None, Report]:
        """The base's report, None where there is no need of one, and the head's; each also where it cannot judge."""
        inputs = _without_files(self.inputs)
        by_base = reports.get("base")
        if by_base is None and self.commits.base_problems:
            by_base = not_judged(inputs, self.commits.base_problems)
        return by_base, reports.get("head") or not_judged(inputs, self.head_problems)

    def _about(self, by_base: Report | None, by_head: Report, of_brought: Report | None) -> BaseSide:
        """What the pull request changed of the gate, as values."""
        commits, brought = self.commits, self.brought
        by_run = of_brought or by_base or by_head  # of the run that is in the baseline's place
        commit = self.trees.base.commit
        about = BaseSide(
            ref=commit.ref,
            sha=commit.sha,
            head_verdict=by_head.verdict,
            introduced=commits.introduced,
            accepted_by=self.accepted_by,
            on_github=os.environ.get("GITHUB_ACTIONS") == "true",
        )
        base, head, shared = commits.base, commits.head, commits.shared
        if base is None or head is None or shared is None:
            return about
        run = shared.inputs.run
        queries = query_changes(base.gold, head.gold, base.criteria, head.criteria)
        keys = key_changes(base.criteria, head.criteria) + judge_file_changes(base.criteria, head.criteria, self.trees)
        by_ids = {gate.criteria.match.by for gate in (base, head)} == {By.CHUNK}
        relabelled = queries is not None and bool(queries.relabelled)
        lists = rankings_of(run, self.inputs, base.gold) if relabelled and by_ids else None
        if queries is not None and lists is not None:
            queries = replace(queries, toward=moved_toward(lists, base.gold, head.gold))
        lacks_traffic = base.criteria.inputs.traffic is not None and base.traffic is None
        names_unread = head.criteria.inputs.traffic is not None and not lacks_traffic
        return replace(
            about,
            gates=gate_changes(base.criteria, head.criteria),
            keys=keys,
            waivers=waiver_changes(base.waivers, head.waivers),
            queries=queries,
            traffic=traffic_changes(base.traffic, head.traffic, named=names_unread),
            gold_supplied=base.supplied,
            values_brought=_brings_values(commits, self.trees),
            run_brought=run is not None and not run.is_table and self.trees.brought(run.path) is not None,
            baseline_changed=brought.changed,
            acceptances_changed=log_change(brought, by_run.changes.anchor),
            anchor=brought.anchor and brought.anchor.date,
            baseline_short=brought.short,
            baseline_verdict=of_brought.verdict if of_brought else None,
            baseline_lower=lower_gates(of_brought) if of_brought else 0,
        )


@contextmanager
def against_base(inputs: Inputs, ref: str) -> Iterator[PullRequest]:
    """A check against a base: what cannot be judged by either commit blocks.

    Where the label stands on the pull request, and counts, its own files judge alone, and warn at least.

    Raises:
        RankgateError: git cannot read the base, or the base is stale; the commit brings what a judge said.
    """
    label = next((label for label in inputs.pull.labels if label.name == ACCEPT_CHANGE), None)
    accepted = label is not None and label.state == "counts"
    with trees_at(ref) as trees:
        commits = read_commits(inputs, trees, accepted=accepted)
        if not accepted:
            commits = without_other_labels(commits)
        refuse_committed_verdicts(inputs, commits, trees)
        accepted_by = label.by if label and accepted else None
        brought = brought_baseline(inputs, commits, trees)
        cases: dict[str, Case] = {}
        base, shared = commits.base, commits.shared
        same_judging = accepted_by is None and _have_same_judging(commits)
        if base is not None and shared is not None and not same_judging:
            cases["base"] = _case(_without_files(inputs), base, shared)
        head = _head_case(inputs, commits, trees, accepted=accepted, same_judging=same_judging)
        if isinstance(head, Case):
            cases["head"] = head
        if base is not None and shared is not None and brought.run is not None:
            files = shared.inputs.model_copy(update={"run": brought.run})
            verdicts = _verdicts_of(inputs, shared)
            only_verdict = replace(_without_files(inputs), details=None, untrusted_run=False, verdicts=verdicts)
            cases["brought"] = _case(only_verdict, base, shared.model_copy(update={"inputs": files}))
        yield PullRequest(
            inputs=inputs,
            trees=trees,
            commits=commits,
            accepted_by=accepted_by,
            brought=brought,
            cases=cases,
            head_problems=[] if isinstance(head, Case) else head,
        )


def _head_case(
    inputs: Inputs, commits: Commits, trees: Trees, *, accepted: bool, same_judging: bool
) -> Case | Sequence[Problem]:
    """What the head judges by, or why it cannot.

    It judges with what is the base's; with its own where there is no base, or where a label lets it stand in for what
    is gone.
    """
    head_inputs = _without_files(inputs)
    head, shared = commits.head, commits.shared
    if head is None:
        return commits.head_problems
    if same_judging and shared is not None:
        return _case(head_inputs, head, shared)
    criteria = head.criteria
    if commits.introduced or accepted:
        head_criteria = head_criteria_of(inputs, head, commits.base, trees, trusted=commits.introduced)
        shared = _head_alone(head_criteria, shared, inputs, head.gold) if shared else head_criteria
        lacking = shared.inputs.baseline is None and head_criteria.inputs.baseline is not None
        head_inputs = replace(head_inputs, without_baseline=lacking)
    else:  # the base's report says whether the baseline is enough
        criteria = criteria.requiring_no_baseline()
    if shared is None:
        return [Problem("the base's files cannot judge, and so nothing says which run to judge")]
    if criteria.judge is not None and shared.judge is None:
        head_inputs = replace(head_inputs, pull=replace(head_inputs.pull, awaits="merge"))
    if commits.base is not None:
        head_inputs = replace(head_inputs, older_gold=with_labels_of(commits.base.gold, head.gold))
    return _case(head_inputs, replace(head, criteria=criteria), shared)


def _case(inputs: Inputs, gate: Gate, shared: Criteria) -> Case:
    """What one commit judges by, with the run, the baseline and the judge that both share."""
    criteria = given(gate.criteria, shared)
    return Case(inputs=inputs, criteria=criteria, gold=gate.gold, waivers=gate.waivers, traffic=gate.traffic)


def _head_alone(head_criteria: Criteria, shared: Criteria, inputs: Inputs, gold: Gold) -> Criteria:
    """What is shared, with the pull request's run where the base's is gone, and no drop from that very run."""
    run = shared.inputs.run
    gone = run is not None and inputs.run is None and not os.path.lexists(run.path)
    baseline = None if is_run(head_criteria.inputs.baseline, run, inputs, gold) else shared.inputs.baseline
    files = shared.inputs.model_copy(update={"run": head_criteria.inputs.run if gone else run, "baseline": baseline})
    return shared.model_copy(update={"inputs": files})


def _without_files(inputs: Inputs) -> Inputs:
    """What a check is called with, but for the files: each case has its own."""
    return replace(inputs, gold=None, run=None, baseline=None, pull=replace(inputs.pull, gold=inputs.gold))


def _verdicts_of(inputs: Inputs, shared: Criteria) -> str | None:
    """What the job's judge said: of a run that is brought as a baseline, too, whatever that says itself."""
    if shared.judge is None or inputs.untrusted_run:
        return inputs.verdicts
    from rankgate.judge.runs import verdicts_file  # noqa: PLC0415 -- paid only where answers are judged

    return verdicts_file(shared.inputs.run, inputs.verdicts)


def _have_same_judging(commits: Commits) -> bool:
    """Whether both commits would say the same."""
    base, head = commits.base, commits.head
    if base is None or head is None:
        return False
    criteria = base.criteria.model_copy(update={"name": head.criteria.name}) == head.criteria
    files = (base.waivers.entries, base.traffic) == (head.waivers.entries, head.traffic)
    return criteria and files and base.gold.samples == head.gold.samples


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


def log_change(brought: BroughtBaseline, noted: AnchorMark | None) -> LogChange | None:
    """What the pull request did to the log of acceptances; `noted` is what an acceptance of its run has to remember."""
    if brought.rewritten:
        return "log"
    if brought.changed != "replaced" or brought.anchor is None:
        return None
    known = [replace(mark, steps=0) for mark in (brought.anchor, noted) if mark]
    of_head = brought.anchor_of_head and replace(brought.anchor_of_head, steps=0)
    return None if of_head in known else "anchor"


def _brings_values(commits: Commits, trees: Trees) -> bool:
    """Whether the pull request changes files of values that a gate reads."""
    gates = [gate.criteria for gate in (commits.base, commits.head) if gate]
    reads = any(RunField.SCORES in criteria.plan().needs for criteria in gates)
    paths = [criteria.inputs.scores for criteria in gates if criteria.inputs.scores and reads]
    run = commits.shared.inputs.run if commits.shared else None
    paths += parts_of(run.path) if run and run.is_table else []
    return any(trees.brought(path) for path in paths)


def _named(report: Report, inputs: Inputs, commits: Commits, trees: Trees) -> Report:
    """The report with names in place of the copies' paths, what its run says of its code, and the command."""
    gate = commits.head or commits.base
    if gate is not None:
        run = commits.shared.inputs.run if commits.shared else inputs.run
        report = with_code(report, replace(inputs, run=run), gate.criteria)
    old = report.provenance
    run_source = old.run and replace(old.run, path=trees.named(old.run.path))
    baseline = old.baseline and replace(old.baseline, path=trees.named(old.baseline.path))
    command = [trees.typed(word) for word in old.command]
    if not command:  # nothing was read that could be named
        return replace(report, provenance=replace(old, run=run_source, baseline=baseline))
    for name in ("gold", "run", "baseline"):
        file: InputFile | None = getattr(inputs, name)
        if file is not None and f"--{name}" not in command:
            command += [f"--{name}", as_typed(file, file.path)]
    command += ["--base", trees.base.commit.ref]
    return replace(report, provenance=replace(old, run=run_source, baseline=baseline, command=command))
