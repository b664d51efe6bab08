"""What of a report may leave the machine that made it: all texts, those of the gold set, ids or numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rankgate.model.answer_losses import AnswerLoss, Unsupported
from rankgate.model.details import Expected
from rankgate.model.report import Published, Report
from rankgate.model.traffic import Traffic


def published(report: Report, texts: Published) -> Report:
    """The report with as many texts of questions, answers and passages as may leave: all, none, or none of traffic.

    By `numbers` what the gold set expects has no ids but its texts, and is numbered.
    """
    if texts == "full":
        return report
    traffic = report.measured.traffic
    if traffic is not None:
        traffic = _by_id(traffic, documents=texts != "numbers")
        report = replace(report, measured=replace(report.measured, traffic=traffic))
    if texts == "gold":
        return report
    misses = [replace(move, question=None) for move in report.changes.misses]
    if texts == "numbers":
        misses = [replace(move, documents=_numbered(move.documents)) for move in misses]
    answers = report.changes.answers
    if answers is not None:
        losses = [_without_texts(loss) for loss in answers.losses]
        answers = replace(answers, losses=losses, unsupported=[_unquoted(each) for each in answers.unsupported])
    oddities = report.explanation.oddities
    if oddities is not None and texts == "numbers":
        oddities = replace(oddities, examples=[], spellings=[])
    details = report.explanation.details
    if details is not None:
        questions = [replace(each, question=None) for each in details.questions]
        if texts == "numbers":
            questions = [replace(each, expected=tuple(_numbered(each.expected))) for each in questions]
        details = replace(details, questions=tuple(questions), texts=({}, {}))
    return replace(
        report,
        changes=replace(report.changes, misses=misses, answers=answers),
        explanation=replace(report.explanation, oddities=oddities, details=details),
    )


def _numbered(documents: Sequence[Expected]) -> list[Expected]:
    return [replace(each, id=f"passage {number}") for number, each in enumerate(documents, start=1)]


def _by_id(traffic: Traffic, *, documents: bool) -> Traffic:
    examples = [replace(each, question=None) for each in traffic.examples]
    if not documents:
        examples = [replace(each, before=(), now=()) for each in examples]
    return replace(traffic, examples=examples)


def _without_texts(loss: AnswerLoss) -> AnswerLoss:
    return replace(loss, question=None, claims=tuple(replace(claim, text="") for claim in loss.claims))


def _unquoted(answer: Unsupported) -> Unsupported:
    return replace(answer, question=None, claims=tuple(replace(claim, text="", quote="") for claim in answer.claims))
