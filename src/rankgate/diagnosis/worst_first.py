"""The one order of questions, the worst first, in the comment, the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.metrics.tags import SegmentIndex
from rankgate.model.details import NOWHERE, Cause, Expected, ReportDetails, depth_of, fate_of


def severity(documents: Sequence[Expected], k: int, *, no_result: bool, failing: bool) -> tuple[int, bool, int]:
    """The one order of questions that got worse, in the comment, the terminal and the page: the least is the worst.

    No result first, then a relevant document that fell out of the list, then one that fell below the first k, then the
    rest; within each those of a failing segment; then by the deepest fall.
    """
    fate = (Cause.NO_RESULT, Cause.GONE, Cause.LOWER, Cause.FINE).index(fate_of(documents, k, no_result=no_result))
    return fate, not failing, -max(map(depth_of, documents), default=0)


def worst_rows(details: ReportDetails, violated: SegmentIndex) -> list[int]:
    """The rows of the questions by `severity`; those that did not get worse after the others, by change and cause."""
    ranks = {cause: rank for rank, cause in enumerate(Cause)}
    sign = -1 if details.lower else 1

    def key(row: int) -> tuple[float, ...]:
        question = details.questions[row]
        now = question.values.get(details.leading or "", (None, None))[1]
        change, net = details.moved(question)
        value = -NOWHERE if now is None else sign * now  # a value that is not there is the worst
        if question.before is not None and (change, net) < (0, 0):
            gone, k = question.cause is Cause.NO_RESULT, details.first(question)
            worse = severity(question.expected, k, no_result=gone, failing=violated.has_any(question.tags))
            return (0, *worse, change, value)
        return (1, change, ranks[question.cause], value)

    return sorted(range(len(details.questions)), key=key)
