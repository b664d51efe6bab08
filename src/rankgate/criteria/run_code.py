"""Whether the run is of the code that lies here, by what it states of its making."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from rankgate.model.lineage import RECORDING
from rankgate.model.report import BaselineSource, Report, Source
from rankgate.readers.source import STDIN, is_remote

if TYPE_CHECKING:
    from rankgate.collecting.code_state import CodeFiles
    from rankgate.criteria import Criteria
    from rankgate.criteria.inputs import Inputs
    from rankgate.model.conclusion import OtherCode

S = TypeVar("S", Source | None, BaselineSource | None)


def with_code(report: Report, inputs: Inputs, criteria: Criteria) -> Report:
    """The report with what the run says of its code, by the files that lie here: it can only make a verdict worse."""
    run, baseline = report.provenance.run, report.provenance.baseline
    provenance = replace(report.provenance, run=_without_recording(run), baseline=_without_recording(baseline))
    other_code = None
    if run is not None:
        branch = baseline.lineage.branch if baseline and baseline.lineage else None
        other_code = code_of(run.about, baseline.about if baseline else {}, inputs, criteria, branch)
    report = replace(report, provenance=provenance)
    return replace(report, origin=replace(report.origin, other_code=other_code)) if other_code else report


def code_of(
    run: Mapping[str, Any], accepted: Mapping[str, Any], inputs: Inputs, criteria: Criteria, branch: str | None = None
) -> OtherCode | None:
    """Why a run is not of the code that lies here, by what it and the accepted run, of a branch, say of themselves."""
    if RECORDING not in run:
        return None
    from rankgate.collecting.code_state import Present, other_code, repository_here, stated_in  # noqa: PLC0415 -- git is paid for only here

    recording = stated_in(run)
    repository = repository_here()
    if recording is None or repository is None:
        return None
    file = inputs.run or criteria.inputs.run
    path = file.path if file else ""
    gold = inputs.gold.path if inputs.gold else None
    retriever = criteria.retriever
    present = Present(
        files=code_files(criteria, gold, path, repository.root, retriever.files if retriever else ()),
        retriever=retriever.digest if retriever else None,
        criteria=criteria.name,
        accepted=stated_in(accepted),
        branch=branch,
    )
    return other_code(recording, present, repository)


def _without_recording(source: S) -> S:
    """Where an input came from, without how it was recorded, which is for the check alone."""
    return source and replace(source, about={key: value for key, value in source.about.items() if key != RECORDING})


def code_files(criteria: Criteria | None, gold: str | None, run: str, root: str, patterns: Sequence[str]) -> CodeFiles:
    """Which files of the repository at `root` make a run what it is: all but what judges it, unless patterns say."""
    from rankgate.collecting.code_state import CodeFiles, inside  # noqa: PLC0415 -- as above

    named = [gold, f"{run}.verdicts.jsonl", f"{run.removesuffix('.jsonl')}.verdicts.jsonl"]
    if criteria is not None:
        inputs = criteria.inputs
        named += [criteria.name, inputs.waivers, inputs.scores]
        named += [file.path for file in (inputs.gold, inputs.baseline) if file and not is_remote(file.path)]
    excluded = tuple(sorted({inside(root, path) for path in named if path and path != STDIN}))
    return CodeFiles(run=inside(root, run), patterns=tuple(patterns), excluded=excluded)
