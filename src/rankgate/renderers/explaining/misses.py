"""The triage table as text: what the misses share, then each of them with what was expected and what came instead."""

from __future__ import annotations

from rankgate.diagnosis.misses import MISSED, Miss, Misses
from rankgate.model.details import Cause
from rankgate.model.values import Unit
from rankgate.model.wording import count_text, value_text
from rankgate.renderers.explaining.advice import SHORT
from rankgate.renderers.explaining.layout import columns_of, finished, padded, paragraph, safe
from rankgate.renderers.explaining.query import cause_clause
from rankgate.renderers.phrases import CAUSE_WORDS, whereabouts

MAX_DOCUMENTS = 6
MAX_SHARED = 3


def render_misses(found: Misses, unit: Unit | None, width: int) -> str:
    """The table, in lines of about `width` columns.

    Args:
        found: the misses.
        unit: of the table's metric; None without one.
        width: of the terminal.
    """
    total = len(found.listed) + found.more
    if not total:
        asked = count_text(found.questions, "question")
        return finished([f"None of {asked} is such a miss (a relevant document not in the first {found.k} results)."])
    missed = set(found.causes) <= {cause.value for cause in MISSED}
    what = f"miss a relevant document in the first {found.k} results" if missed else "are listed"
    lines = paragraph(f"{total:,} of {count_text(found.questions, 'question')} {what}:", width, hanging=2)
    labels = {cause: CAUSE_WORDS[Cause(cause)][0].upper() for cause in found.causes}
    widest = max(map(len, labels.values()))
    digits = max(len(f"{count:,}") for count in found.causes.values())
    for cause, count in found.causes.items():
        clause = cause_clause(Cause(cause), found.k, compared=found.compared)
        text = f"{count:>{digits},}  {labels[cause].ljust(widest)}  {clause}"
        lines += paragraph(text, width, indent=2, hanging=digits + widest + 4)
    lines += _shared(found, width)
    if found.found_by_words is not None:
        said = f"BM25 finds a relevant document for {found.found_by_words} of the {len(found.listed)} questions listed."
        lines += ["", *paragraph(said, width, hanging=2)]
    for place, miss in enumerate(found.listed, start=1):
        lines += ["", *_miss(place, miss, found, unit, width)]
    if found.more:
        more = f"and {found.more:,} more; --limit shows more, --tag and --cause choose."
        lines += ["", *paragraph(more, width, hanging=2)]
    return finished(lines)


def _shared(found: Misses, width: int) -> list[str]:
    lines: list[str] = []
    for share in found.shared[:MAX_SHARED]:
        of_all = value_text(share.questions / share.of_questions, Unit.SHARE)
        which = "lost questions" if found.of_lost else "questions listed here"
        said = (
            f"{share.misses:,} of the {share.of_misses:,} {which} have the tag {safe(share.tag)}, which {of_all} of "
            "all have: look there first."
        )
        lines += paragraph(said, width, hanging=2)
    return ["", *lines] if lines else []


def _miss(place: int, miss: Miss, found: Misses, unit: Unit | None, width: int) -> list[str]:
    label, _ = CAUSE_WORDS[Cause(miss.cause)]
    head = f"{place}. {safe(miss.query_id)}  {label.upper()}{_values(miss, found, unit)}"
    lines = paragraph(head, width, hanging=3)
    if miss.question:
        lines += paragraph(safe(miss.question, 300), width, indent=3)
    documents = miss.expected[:MAX_DOCUMENTS]
    names = [safe(document.id, 60) for document in documents]
    widest = max(map(columns_of, names), default=0)
    ranks = {each.id: each for each in miss.lexical.expected} if miss.lexical else {}
    for name, document in zip(names, documents, strict=True):
        text = f"expected  {padded(name, widest)}  {whereabouts(document, compared=found.compared)}"
        if document.id in ranks:
            text += f"; {SHORT[ranks[document.id].suggests]}"
        lines += paragraph(text, width, indent=5, hanging=10)
    if len(miss.expected) > len(documents):
        lines.append(f"               and {len(miss.expected) - len(documents)} more")
    if miss.instead:
        lines += paragraph(
            f"instead   {', '.join(safe(each, 60) for each in miss.instead)}", width, indent=5, hanging=10
        )
    return lines


def _values(miss: Miss, found: Misses, unit: Unit | None) -> str:
    if unit is None or found.metric is None or miss.now is None:
        return ""
    now = value_text(miss.now, unit)
    return f"  {found.metric} {now if miss.before is None else f'{value_text(miss.before, unit)} → {now}'}"
