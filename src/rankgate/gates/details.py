"""The report with what pages show beyond it."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from rankgate.criteria.inputs import DetailInputs
from rankgate.criteria.rereading import texts_of
from rankgate.diagnosis.details import details_of
from rankgate.diagnosis.movements import worst_rows
from rankgate.gates.evaluation import Evaluation
from rankgate.metrics.base import Metric
from rankgate.metrics.tags import violated_segments
from rankgate.model.details import TEXTS_OF
from rankgate.model.report import Report


def with_details(report: Report, inputs: DetailInputs, evaluation: Evaluation, leading: Metric | None) -> Report:
    """The report with what pages show beyond it.

    The plan had to read `SHOWN` as well; `leading` is the metric whose changes are listed. A text that one run does not
    state is the corpus's or the other's.
    """
    scores, baseline_scores = evaluation.scores, evaluation.baseline_scores
    measured = (evaluation.gold, evaluation.plan.metrics, leading, report.measured.segments, scores, baseline_scores)
    details = details_of(*measured, depth=inputs.depth, named=inputs.leading is not None, gates=report.gates)
    details = replace(details, order=worst_rows(details, violated_segments(report.gates)))
    if inputs.texts:
        worst = [details.questions[row] for row in details.order[:TEXTS_OF]]
        wanted = {item.id for each in worst for items in (each.before, each.now) for item in items or ()}
        wanted |= {document.id for each in worst for document in each.expected}
        new = texts_of(evaluation.run, wanted)
        old = texts_of(evaluation.baseline, wanted) if evaluation.baseline else {}
        corpus = _corpus_texts(inputs.corpus, wanted) if inputs.corpus else {}
        details = replace(details, texts=({**new, **corpus, **old}, {**old, **corpus, **new}))
    return replace(report, explanation=replace(report.explanation, details=details))


def _corpus_texts(corpus: str, wanted: Collection[str]) -> dict[str, str]:
    from rankgate.readers.corpus import read_corpus  # noqa: PLC0415 -- paid only where a corpus is named

    return {each.id: each.text for each in read_corpus(corpus, wanted)}
