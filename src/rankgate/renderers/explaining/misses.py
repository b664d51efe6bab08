"""The triage table as text: what the misses share, then each of them with what was expected and what came instead."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.diagnosis.misses import MISSED, Miss, Misses
from rankgate.model.details import Cause, Listed
from rankgate.model.values import Unit
from rankgate.model.wording import count_text, in_first_text, value_text
from rankgate.renderers.document_words import CAUSE_WORDS, cause_clause, whereabouts
from rankgate.renderers.escape import safe
from rankgate.renderers.explaining.layout import finished, padded_all, paragraph
from rankgate.renderers.explaining.query import SHORT, mark

MAX_DOCUMENTS = 6
MAX_SHARED = 3


def render_misses(misses: Misses, unit: Unit | None, width: int) -> str:
    """The table, in lines of about `width` columns; `unit` is that of its metric, None without one."""
    total = len(misses.listed) + misses.more
    questions = count_text(misses.questions, "question")
    where = in_first_text(misses.k or None, results=True) + ("" if misses.k else ", where k is the question's own")
    if not total:
        miss = f"a relevant document not {where}"
        return finished([f"None of {questions} is such a miss ({miss})."])
    missed = set(misses.causes) <= {cause.value for cause in MISSED}
    what = f"miss a relevant document {where}" if missed else "are listed"
    lines = paragraph(f"{total:,} of {questions} {what}:", width)
    causes = [Cause(cause) for cause in misses.causes]
    labels = padded_all([CAUSE_WORDS[cause][0].upper() for cause in causes])
    digits = max(len(f"{count:,}") for count in misses.causes.values())
    for cause, label, count in zip(causes, labels, misses.causes.values(), strict=True):
        text = f"{count:>{digits},}  {label}  {cause_clause(cause, misses.k, compared=misses.compared)}"
        lines += paragraph(text, width, indent=2, hanging=digits + len(label) + 4)
    lines += _shared(misses, width)
    if misses.found_by_words is not None:
        listed = f"{misses.found_by_words} of the {len(misses.listed)} questions listed"
        lines += ["", *paragraph(f"BM25 finds a relevant document for {listed}.", width)]
    for number, each in enumerate(misses.listed, start=1):
        lines += ["", *_miss(number, each, misses, unit, width)]
    if misses.more:
        lines += ["", *paragraph(f"and {misses.more:,} more; --limit shows more, --tag and --cause choose.", width)]
    return finished(lines)


def _shared(misses: Misses, width: int) -> list[str]:
    which = "questions that lost a document" if misses.of_lost else "questions listed here"
    lines: list[str] = []
    for share in misses.shared[:MAX_SHARED]:
        of_all = value_text(share.questions / share.of_questions, Unit.SHARE)
        tagged = f"{share.misses:,} of the {share.of_misses:,} {which} have the tag {safe(share.tag)}"
        lines += paragraph(f"{tagged}, which {of_all} of all have: look there first.", width)
    return ["", *lines] if lines else []


def _miss(number: int, miss: Miss, misses: Misses, unit: Unit | None, width: int) -> list[str]:
    label = CAUSE_WORDS[Cause(miss.cause)][0].upper()
    lines = paragraph(f"{number}. {safe(miss.query_id)}  {label}{_values(miss, misses, unit)}", width, hanging=3)
    if miss.question and miss.question != miss.query_id:
        lines += paragraph(safe(miss.question, 300), width, indent=3, hanging=0)
    documents = miss.expected[:MAX_DOCUMENTS]
    suggestions = {each.id: f"; {SHORT[each.suggests]}" for each in miss.lexical.expected} if miss.lexical else {}
    for name, document in zip(padded_all([safe(each.id, 60) for each in documents]), documents, strict=True):
        text = f"expected  {name}  {whereabouts(document, compared=misses.compared)}{suggestions.get(document.id, '')}"
        lines += paragraph(text, width, indent=5, hanging=10)
    if len(miss.expected) > len(documents):
        lines.append(f"               and {len(miss.expected) - len(documents)} more")
    if miss.instead:
        instead = f"instead   {', '.join(safe(each, 60) for each in miss.instead)}"
        lines += paragraph(instead, width, indent=5, hanging=10)
    for name, items in _rankings(miss, compared=misses.compared):
        listed = ", ".join(f"{mark(item, graded=False)}{safe(item.id, 60)}" for item in items or ()) or "no results"
        lines += [] if items is None else paragraph(f"{name:<10}{listed}", width, indent=5, hanging=10)
    return lines


def _rankings(miss: Miss, *, compared: bool) -> list[tuple[str, Sequence[Listed] | None]]:
    """The first results of the baseline, of the run and of BM25; * marks what is right."""
    gains = {document.id: document.gain for document in miss.expected}
    hits = [
        (hit.id, gains.get(hit.id, gains.get(hit.doc_id or ""))) for hit in (miss.lexical.first if miss.lexical else ())
    ]
    lists = [("baseline", miss.first_before)] if compared else []
    return [*lists, ("now", miss.first_now), ("BM25", [Listed(id=doc, gain=gain) for doc, gain in hits] or None)]


def _values(miss: Miss, misses: Misses, unit: Unit | None) -> str:
    if unit is None or misses.metric is None or miss.now is None:
        return ""
    now = value_text(miss.now, unit)
    return f"  {misses.metric} {now if miss.before is None else f'{value_text(miss.before, unit)} → {now}'}"
