"""What became of a question's relevant documents, in words, and which of them to show."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.model.details import Cause, Expected, depth_of, left
from rankgate.model.wording import first_text, in_first_text

# A short label, and a clause that `cause_clause` fills in. In the order of how much each one hurts.
CAUSE_WORDS: dict[Cause, tuple[str, str]] = {
    Cause.NO_RESULT: ("no result", "the run lacks the question or returns an empty list"),
    Cause.GONE: ("gone", "a relevant document that the baseline had {in_first} is nowhere in the list now"),
    Cause.LOWER: ("lower", "a relevant document left {first} and still stands further down"),
    Cause.NEVER_FOUND: ("not all found", "a relevant document is {in_first} neither now nor in the baseline"),
    Cause.NEW: ("new", "the question is not in the baseline"),
    Cause.BETTER: ("better", "a relevant document is {in_first} now and was not before"),
    Cause.FINE: ("fine", "all relevant documents are {in_first}"),
    Cause.NOTHING_RELEVANT: ("nothing to find", "the gold set names no relevant document"),
}


def cause_clause(cause: Cause, k: int | None, *, compared: bool) -> str:
    """What a cause means at a cut-off, nothing for each question's own; without a baseline, without a word of one."""
    uncompared = cause is Cause.NEVER_FOUND and not compared
    clause = "a relevant document is not {in_first}" if uncompared else CAUSE_WORDS[cause][1]
    return clause.format(first="rank 1" if k == 1 else first_text(k or None), in_first=in_first_text(k or None))


def rank_move(doc: Expected) -> str:
    """`rank 2 → 9`, `rank 2 → gone`, `not found → rank 3`."""
    if doc.before is None:
        return "not found before or now" if doc.after is None else f"not found → rank {doc.after}"
    if doc.before == doc.after:
        return f"stays at rank {doc.before}"
    return f"rank {doc.before} → {doc.after if doc.after is not None else 'gone'}"


def whereabouts(document: Expected, *, compared: bool) -> str:
    """`rank 2 → 9`; without a baseline `rank 9` or `not found`."""
    if compared:
        return rank_move(document)
    return "not found" if document.after is None else f"rank {document.after}"


def documents_to_show(documents: Sequence[Expected], k: int, most: int) -> tuple[list[Expected], list[Expected]]:
    """Of a question's relevant documents those to show, at most `most`, and the rest.

    Those that left the first k, the deepest fall first, and that entered; if none did, those that moved, else all.
    """
    order = sorted(documents, key=depth_of, reverse=True)
    gone = [each for each in order if left(each, k)]
    entered = [each for each in order if (each.after or k + 1) <= k < (each.before or k + 1)]
    shown = ([*gone, *entered] or [each for each in order if each.before != each.after] or order)[:most]
    return shown, [each for each in order if each not in shown]
