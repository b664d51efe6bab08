"""What became of a question, in words: one place for the page, the terminal and whoever else names a cause."""

from __future__ import annotations

from rankgate.model.details import Cause

# A short label, and a clause that explains it; `first k` is the exhibit's. In the order of how much each one hurts.
CAUSE_WORDS: dict[Cause, tuple[str, str]] = {
    Cause.NO_RESULT: ("no result", "the run lacks the question or returns an empty list"),
    Cause.GONE: ("gone", "a right document that the baseline had in the first k is nowhere in the list now"),
    Cause.LOWER: ("lower", "a right document left the first k and still stands further down"),
    Cause.NEVER_FOUND: ("not found", "a right document is in the first k neither now nor in the baseline"),
    Cause.NEW: ("new", "the baseline lacks the question"),
    Cause.BETTER: ("better", "a right document came into the first k"),
    Cause.FINE: ("fine", "all right documents are in the first k"),
    Cause.NOTHING_RELEVANT: ("nothing to find", "the gold set names no right document"),
}
