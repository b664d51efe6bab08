"""What may explain the numbers: what differs from the baseline, in a line, and what is suspicious in the lists.

Text of the inputs goes through `spell`.
"""

from __future__ import annotations

import re
from itertools import takewhile

from rankgate.model.lineage import AS_OF, GOLD, OTHER, QUESTIONS, Difference
from rankgate.model.report import Oddities, Report
from rankgate.model.wording import count_text
from rankgate.renderers.escape import Spell, listed, one_line, shorten

MAX_SHOWN = 8
MAX_REMOVED = 3
_LONGEST_VALUE = 40  # characters of a key or a value
_CONTEXT = 8  # characters before the place where two long values part
_NUMBER = re.compile(r"-?[0-9]{1,6}(\.[0-9]{1,6})?")  # GitHub links seven digits where a commit begins with them


def differences_line(report: Report, spell: Spell) -> str:
    """`What differs from the baseline: index v1 → v2; gold +12 questions, 3 relabelled.`, or nothing."""
    parts = [_part(each, spell) for each in report.explanation.differences if each.what != GOLD or each.key == AS_OF]
    parts += filter(None, [_gold(report, spell)])
    more = len(parts) - MAX_SHOWN
    shown = "; ".join(parts[:MAX_SHOWN]) + (f"; and {more} more in {spell('report.json')}" if more > 0 else "")
    return f"What differs from the baseline: {shown}." if shown else ""


def _part(each: Difference, spell: Spell) -> str:
    before, after = _where_they_part(each.before, each.after)
    key = "" if each.key is None else spell(one_line(each.key, _LONGEST_VALUE))
    name = " ".join(filter(None, ("" if each.what == OTHER else each.what, key)))
    return f"{name} {_value(before, spell)} → {_value(after, spell)}"


def _value(text: str | None, spell: Spell) -> str:
    if text is None:
        return "(not stated)"
    return text if _NUMBER.fullmatch(text) else spell(shorten(text, _LONGEST_VALUE))


def _where_they_part(before: str | None, after: str | None) -> tuple[str | None, str | None]:
    """Both as they are shown: of long ones that begin alike only what follows."""
    old = None if before is None else one_line(before)
    new = None if after is None else one_line(after)
    if old is None or new is None or shorten(old, _LONGEST_VALUE) != shorten(new, _LONGEST_VALUE):
        return old, new
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    start = max(shared - _CONTEXT, 0)
    return f"…{old[start:]}", f"…{new[start:]}"


def _gold(report: Report, spell: Spell) -> str:
    """What became of the gold set, counted where the baseline knows its queries."""
    changes = report.explanation.gold_changes
    reworded = any(each.what == GOLD and each.key == QUESTIONS for each in report.explanation.differences)
    if changes is None:
        return f"{GOLD} questions reworded" if reworded else ""
    if changes.added is None:
        queries = report.measured.queries
        now = f" → {queries.total:,}" if queries else ""
        return f"{GOLD} changed ({changes.queries:,}{now} questions)"
    numbers = [f"+{changes.added:,}"] if changes.added else []
    numbers += [f"−{changes.removed:,}"] if changes.removed else []
    one = (changes.added or 0) + (changes.removed or 0) == 1
    noun = "question" if one else "questions"
    parts = [f"{' '.join(numbers)} {noun}"] if numbers else []
    if changes.removed_ids:
        parts[0] += f" (removed {listed(changes.removed_ids, MAX_REMOVED, spell, changes.removed)})"
    parts += [f"{changes.relabelled:,} relabelled"] if changes.relabelled else []
    parts += ["questions reworded"] if reworded and not numbers else []
    return f"{GOLD} {', '.join(parts)}"


def odd_lines(odd: Oddities, spell: Spell, *, compared: bool) -> list[str]:
    """What is suspicious in the lists, a sentence each."""
    lines: list[str] = []
    if odd.never_returned:
        lines.append(never_line(odd, spell, "the run or of the baseline" if compared else "the run"))
    if odd.rising:
        examples = listed(odd.rising_queries, len(odd.rising_queries), spell, odd.rising)
        lines.append(
            f"In {odd.rising:,} of {count_text(odd.long_lists, 'list')} of five or more results the scores rise from "
            f"rank to rank, as distances do or a list in reverse order: {examples}."
        )
    if odd.tied:
        lines.append(
            f"In {odd.tied:,} of {count_text(odd.lists, 'list')} all scores are equal, so that ids order them."
        )
    if odd.self_first:
        what = f"{odd.self_first:,} of {count_text(odd.lists, 'list')} begin with the question's own document"
        lines.append(f"{what}; `match: {{exclude_query_id: true}}` leaves it out.")
    return lines


def never_line(odd: Oddities, spell: Spell, runs: str) -> str:
    """How many relevant ids are in no list of these runs; with ids of either kind where that are all."""
    count = count_text(odd.relevant, "relevant id")
    verb = "is" if odd.never_returned == 1 else "are"
    examples = listed(odd.examples, len(odd.examples), spell, odd.never_returned)
    instead = f"; the lists have {listed(odd.returned, len(odd.returned), spell)}" if odd.returned else ""
    sentence = f"{odd.never_returned:,} of {count} {verb} in no list of {runs}: {examples}{instead}."
    if not odd.respelled:
        return sentence
    pairs = ", ".join(f"{spell(each.gold)} and {spell(each.run)} ({each.differs})" for each in odd.spellings)
    more = ", …" if odd.respelled > len(odd.spellings) else ""
    return f"{sentence} {odd.respelled:,} of them differ from ids of the run in their form alone: {pairs}{more}."
