"""Labels of sheets into `traffic-labels.jsonl`: what is new, what contradicts itself, and where people differ. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import msgspec

from rankgate.collecting.sheets import as_json_lines
from rankgate.collecting.traffic_sheets import FilledSheet
from rankgate.errors import Problem, shown
from rankgate.model.traffic_lists import TrafficLabel, TrafficSheet
from rankgate.statistics.calibration import kappa


class MergedLabels(msgspec.Struct, frozen=True, kw_only=True):
    """What sheets add to known labels.

    `differ` are the documents, each with its question, on which people differ, among `shared` labels that two of them
    gave of one document; `agreement` is Cohen's kappa of these, None where there are none, or no word but one.
    """

    labels: tuple[TrafficLabel, ...]
    sheets: tuple[TrafficSheet, ...]
    known: int
    problems: tuple[Problem, ...]
    differ: tuple[tuple[str, str], ...]
    shared: int
    agreement: float | None


def merge_sheets(
    known: Iterable[TrafficLabel], drawn: Sequence[TrafficSheet], filled: Iterable[FilledSheet]
) -> MergedLabels:
    """The new labels in the order of the sheets; it is a problem where one person says both of a document."""
    by_person = {(label.query_id, label.document, label.labeller): label for label in known}
    new: list[TrafficLabel] = []
    sheets: list[TrafficSheet] = []
    problems: list[Problem] = []
    repeated = 0
    for sheet in filled:
        if sheet.sheet is not None and sheet.sheet not in (*drawn, *sheets):
            sheets.append(sheet.sheet)
        for line, label in sheet.labels.items():
            first = by_person.get((label.query_id, label.document, label.labeller))
            if first is None:
                by_person[label.query_id, label.document, label.labeller] = label
                new.append(label)
            elif first.relevant is label.relevant:
                repeated += 1
            else:
                what = f"{shown(label.document)} of {shown(label.query_id)}"
                message = f"{what} has the other label by {shown(label.labeller)} already; change one of them"
                problems.append(Problem(message, sheet.name, line, "relevant"))
    pairs = _pairs(by_person.values())
    return MergedLabels(
        labels=tuple(new),
        sheets=tuple(sheets),
        known=repeated,
        problems=tuple(problems),
        differ=tuple(dict.fromkeys(document for document, one, other in pairs if one is not other)),
        shared=len(pairs),
        agreement=kappa([(one, other) for _, one, other in pairs]),
    )


def labels_text(merged: MergedLabels) -> str:
    """The lines to add: a line a sheet, then a line a label."""
    lines: list[dict[str, Any]] = [{"sheet": msgspec.structs.asdict(sheet)} for sheet in merged.sheets]
    lines += [msgspec.structs.asdict(label) for label in merged.labels]
    return as_json_lines(lines)


def _pairs(labels: Iterable[TrafficLabel]) -> list[tuple[tuple[str, str], bool, bool]]:
    """Each document that two people labelled, with its question and both labels, of people in the order of names."""
    by_document: dict[tuple[str, str], dict[str, bool]] = {}
    for label in labels:
        by_document.setdefault((label.query_id, label.document), {})[label.labeller or ""] = label.relevant
    return [
        (document, persons[one], persons[other])
        for document, persons in by_document.items()
        for one, other in combinations(sorted(persons), 2)
    ]
