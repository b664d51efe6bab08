"""One question as text: what was expected, where it was and is, and both rankings side by side."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.diagnosis.lexical import Lexical
from rankgate.diagnosis.question import QueryExplained, Score
from rankgate.model.details import Cause, Listed
from rankgate.model.wording import count_text, delta_text, value_text
from rankgate.renderers.blocks import aligned
from rankgate.renderers.explaining.advice import advice
from rankgate.renderers.explaining.layout import beside, columns_of, finished, padded, paragraph, safe
from rankgate.renderers.phrases import CAUSE_WORDS, NOTHING, whereabouts

LONGEST_ID = 60
LONGEST_QUESTION = 2_000
MAX_EXPECTED = 50
NOT_FOUND = "a relevant document is not in the first k"  # where there is no baseline to speak of


def render_query(found: QueryExplained, width: int) -> str:
    """The explanation, in lines of about `width` columns."""
    question = found.question
    said = safe(question.question, LONGEST_QUESTION) if question.question else "(the gold set has no text for it)"
    lines = paragraph(f"{safe(question.query_id)}  {said}", width, hanging=2)
    if question.tags:
        lines += paragraph(f"tags: {', '.join(map(safe, question.tags))}", width, hanging=2)
    lines += [*paragraph(cause_sentence(question.cause, found.k, compared=found.compared), width, hanging=2), ""]
    if question.expected:
        lines += ["Expected by the gold set", *_expected(found), ""]
    if any(score.now is not None or score.before is not None for score in found.scores):
        lines += [*_scores(found.scores, compared=found.compared), ""]
    lines += [*beside(_rankings(found), width), ""]
    lines += [line for sentence in _legend(found) for line in paragraph(sentence, width, indent=2, hanging=2)]
    if found.lexical:
        told = advice(found.lexical, question.expected, found.k, found.depth)
        lines += ["", *(line for sentence in told for line in paragraph(sentence, width, hanging=2))]
    return finished(lines)


def cause_sentence(cause: Cause, k: int, *, compared: bool) -> str:
    """`LOWER: a relevant document left the first 5 and still stands further down`."""
    return f"{CAUSE_WORDS[cause][0].upper()}: {cause_clause(cause, k, compared=compared)}"


def cause_clause(cause: Cause, k: int, *, compared: bool) -> str:
    """What a cause means at a cut-off; without a baseline, without a word of one."""
    clause = CAUSE_WORDS[cause][1] if compared or cause is not Cause.NEVER_FOUND else NOT_FOUND
    return clause.replace("first k", f"first {k}")


def _expected(found: QueryExplained) -> list[str]:
    documents = found.question.expected[:MAX_EXPECTED]
    graded = _graded(found)
    names = [safe(document.id, LONGEST_ID) for document in documents]
    widest = max(map(columns_of, names))
    lines = [
        f"  {padded(name, widest)}  {f'gain {document.gain:g}  ' if graded else ''}"
        f"{whereabouts(document, compared=found.compared)}"
        f"{f' (below the {found.depth} shown)' if (document.after or 0) > found.depth else ''}"
        for name, document in zip(names, documents, strict=True)
    ]
    more = len(found.question.expected) - len(documents)
    return [*lines, f"  and {more} more"] if more else lines


def _scores(scores: Sequence[Score], *, compared: bool) -> list[str]:
    if not compared:
        rows = [("metric", "now"), *((score.metric, _value(score.now, score)) for score in scores)]
        return aligned(rows, right=(1,))
    rows4 = [
        (
            score.metric,
            _value(score.before, score),
            _value(score.now, score),
            NOTHING if score.change is None else delta_text(score.change, score.unit),
        )
        for score in scores
    ]
    return aligned([("metric", "baseline", "now", "change"), *rows4], right=(1, 2, 3))


def _value(value: float | None, score: Score) -> str:
    return NOTHING if value is None else value_text(value, score.unit)


def _rankings(found: QueryExplained) -> list[list[str]]:
    question, graded = found.question, _graded(found)
    lists = []
    if found.compared:
        lists.append(_list("baseline", question.before, "the baseline lacks this question", graded=graded))
    lists.append(_list("now", question.now, "the run lacks this question", graded=graded))
    if found.lexical:
        lists.append(_list("BM25 (words alone)", _hits(found.lexical, found), "", graded=graded))
    return lists


def _hits(lexical: Lexical, found: QueryExplained) -> list[Listed]:
    """BM25's documents with the gains that the question's expected ones and its rankings state.

    A gain for the very chunk comes before that of its document.
    """
    question = found.question
    gains = {item.id: item.gain for item in (*(question.before or ()), *(question.now or ()))}
    gains |= {document.id: document.gain for document in question.expected}
    return [Listed(id=hit.id, gain=gains.get(hit.id, gains.get(hit.doc_id or hit.id))) for hit in lexical.first]


def _list(heading: str, items: Sequence[Listed] | None, absent: str, *, graded: bool) -> list[str]:
    if items is None:
        return [heading, f"({absent})"]
    if not items:
        return [heading, "(no results)"]
    marks = [_mark(item, graded=graded) for item in items]
    ranks, widest = len(str(len(items))), max(map(len, marks))
    return [
        heading,
        *(
            f"{rank:>{ranks}} {mark.ljust(widest)} {safe(item.id, LONGEST_ID)}"
            for rank, (item, mark) in enumerate(zip(items, marks, strict=True), start=1)
        ),
    ]


def _mark(item: Listed, *, graded: bool) -> str:
    if item.gain is None:
        return ""
    if item.gain <= 0:
        return "x"
    return f"*{item.gain:g}" if graded else "*"


def _graded(found: QueryExplained) -> bool:
    return any(document.gain != 1 for document in found.question.expected)


def _legend(found: QueryExplained) -> list[str]:
    """What the marks mean that are there."""
    question = found.question
    items = [*(question.before or ()), *(question.now or ())]
    lines = []
    if any(item.gain is not None and item.gain > 0 for item in items) or (found.lexical and question.expected):
        most = max(document.gain for document in question.expected)
        graded = f"*{most:g} right, with a gain of {most:g} in the gold set"
        lines.append(graded if _graded(found) else "* right: the gold set expects it")
    if any(item.gain is not None and item.gain <= 0 for item in items):
        lines.append("x judged, and not right")
    longest = max((len(items) for items in (question.before, question.now) if items), default=0)
    if longest == found.depth:
        lines.append(f"the first {count_text(found.depth, 'result')} of each; --depth shows more")
    return lines
