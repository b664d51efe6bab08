"""What is suspicious in the lists, in sentences; ids of the inputs go through `quote`."""

from __future__ import annotations

from rankgate.model.report import Oddities
from rankgate.model.wording import count_text
from rankgate.renderers.escape import Spell, listed


def odd_lines(odd: Oddities, quote: Spell, *, compared: bool) -> list[str]:
    """What is suspicious in the lists, a sentence each."""
    lines: list[str] = []
    if odd.never_returned:
        lines.append(never_line(odd, quote, "the run or of the baseline" if compared else "the run"))
    if odd.rising:
        examples = listed(odd.rising_queries, len(odd.rising_queries), quote, odd.rising)
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


def never_line(odd: Oddities, quote: Spell, runs: str) -> str:
    """How many relevant ids are in no list of these runs; with ids of either kind where that are all."""
    count = count_text(odd.relevant, "relevant id")
    verb = "is" if odd.never_returned == 1 else "are"
    examples = listed(odd.examples, len(odd.examples), quote, odd.never_returned)
    instead = f"; the lists have {listed(odd.returned, len(odd.returned), quote)}" if odd.returned else ""
    pairs = (f"{quote(each.gold)} and {quote(each.run)} ({each.differs})" for each in odd.spellings)
    more = ", …" if odd.respelled > len(odd.spellings) else ""
    form = f" {odd.respelled:,} of them differ from ids of the run in their form alone: {', '.join(pairs)}{more}."
    sentence = f"{odd.never_returned:,} of {count} {verb} in no list of {runs}: {examples}{instead}."
    return sentence + form * bool(odd.respelled)
