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
    report = replace(report, traffic=report.traffic and _by_id(report.traffic, documents=texts != "numbers"))
    if texts == "gold":
        return report
    answers = report.answers and replace(
        report.answers,
        losses=[_without_texts(loss) for loss in report.answers.losses],
        unsupported=[_unquoted(each) for each in report.answers.unsupported],
    )
    details = report.details
    if details is not None:
        questions = [replace(each, question=None) for each in details.questions]
        if texts == "numbers":
            questions = [replace(each, expected=tuple(_numbered(each.expected))) for each in questions]
        details = replace(details, questions=tuple(questions), texts=({}, {}))
    misses, odd = [replace(move, question=None) for move in report.misses], report.oddities
    if texts == "numbers":
        misses = [replace(move, documents=_numbered(move.documents)) for move in misses]
        odd = odd and replace(odd, examples=[], spellings=[])
    return replace(report, misses=misses, answers=answers, details=details, oddities=odd)


def _numbered(documents: Sequence[Expected]) -> list[Expected]:
    return [replace(each, id=f"passage {number}") for number, each in enumerate(documents, start=1)]


def _by_id(traffic: Traffic, *, documents: bool) -> Traffic:
    examples = [replace(each, question=None) for each in traffic.examples]
    if not documents:
        examples = [replace(each, before=(), now=()) for each in examples]
    return replace(traffic, examples=examples)


def _without_texts(loss: AnswerLoss) -> AnswerLoss:
    return replace(loss, question=None, claims=tuple(replace(claim, text="") for claim in loss.claims))


def _unquoted(found: Unsupported) -> Unsupported:
    return replace(found, question=None, claims=tuple(replace(claim, text="", quote="") for claim in found.claims))
