"""One question as text: what was expected, where it was and is, both rankings side by side, and what BM25 suggests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rankgate.diagnosis.misses import TELLING, Lexical, LexicalExpected, QueryExplained, Score, Suggestion
from rankgate.model.answers import Entailment, Unsupported, UnsupportedClaim
from rankgate.model.details import Listed
from rankgate.model.judge_words import STAGE_WORDS
from rankgate.model.wording import count_text, delta_text, first_text, in_first_text
from rankgate.renderers.answer_rows import LONGEST_TEXT, fate
from rankgate.renderers.blocks import aligned
from rankgate.renderers.document_words import CAUSE_WORDS, cause_clause, whereabouts
from rankgate.renderers.escape import listed, safe
from rankgate.renderers.explaining.layout import beside, finished, padded_all, paragraph
from rankgate.renderers.phrases import NOTHING, value_or_dash

LONGEST_ID = 60
LONGEST_QUESTION = 2_000
MAX_EXPECTED = 50
MAX_NAMED = 3

# For a table: what BM25 says, in few words.
SHORT: dict[Suggestion, str] = {
    "not_in_corpus": "not in the corpus: old labels, or another chunking",
    "run_misses": "BM25 finds it: look at index or embedding",
    "run_lower": "BM25 has it further up: look at embedding or reranker",
    "neither": "nor does BM25: other words, or no such chunk",
    "run_alone": "BM25 does not find it",
    "both": "BM25 finds it too",
    "no_question": "no text to look for",
    "nothing_relevant": "",
}


def render_query(explained: QueryExplained, width: int) -> str:
    """The explanation, in lines of about `width` columns."""
    question = explained.question
    text = safe(question.question, LONGEST_QUESTION) if question.question else "(the gold set has no text for it)"
    heading = safe(question.query_id)
    if question.question != question.query_id:
        heading += f"  {text}"
    lines = paragraph(heading, width)
    if question.tags:
        lines += paragraph(f"tags: {', '.join(map(safe, question.tags))}", width)
    clause = cause_clause(question.cause, explained.k, compared=explained.compared)
    lines += [*paragraph(f"{CAUSE_WORDS[question.cause][0].upper()}: {clause}", width), ""]
    if question.expected:
        lines += ["Expected by the gold set", *_expected(explained), ""]
    if any(score.now is not None or score.before is not None for score in explained.scores):
        lines += [*_scores(explained.scores, compared=explained.compared), ""]
    lines += [*beside(_rankings(explained), width), ""]
    lines += [line for sentence in _legend(explained) for line in paragraph(sentence, width, indent=2)]
    if explained.answer:
        label, clause = STAGE_WORDS[explained.answer.stage]
        lines += ["", *paragraph(f"The answer got worse ({label}): {clause}", width)]
        texts = [f"{safe(each.text, LONGEST_TEXT)!r}: {fate(each, safe)}" for each in explained.answer.claims]
        texts += [f"and {count_text(explained.answer.more, 'more claim')}"] if explained.answer.more else []
        lines += [line for text in texts for line in paragraph(text, width, indent=2)]
    if explained.unsupported:
        lines += ["", *_unsupported(explained.unsupported, width)]
    if explained.lexical:
        lines += [
            "",
            *(line for sentence in _advice(explained, explained.lexical) for line in paragraph(sentence, width)),
        ]
    return finished(lines)


def _unsupported(unsupported: Unsupported, width: int) -> list[str]:
    """Each claim without support: what was looked at, and what is quoted for it."""
    count = f"{len(unsupported.claims):,} of {count_text(unsupported.among, 'claim')}"
    lines = paragraph(f"The answer makes claims that its passages do not support ({count}):", width)
    for claim in unsupported.claims[:MAX_EXPECTED]:
        lines += paragraph(_claim(claim), width, indent=2)
    more = len(unsupported.claims) - MAX_EXPECTED
    return [*lines, f"  and {count_text(more, 'more claim')}"] if more > 0 else lines


def _claim(claim: UnsupportedClaim) -> str:
    """`'30 days': nothing in doc_1, doc_2 says so`."""
    passages = listed(claim.passages, MAX_NAMED, partial(safe, limit=LONGEST_ID))
    quote = f": {safe(claim.quote, LONGEST_TEXT)!r}" if claim.quote else ""
    says = {
        Entailment.CONTRADICTED: f"{passages} says otherwise{quote}",
        Entailment.UNVERIFIED: f"the judge finds it in {passages}, where its quote does not stand{quote}",
    }
    nothing = f"nothing in {passages} says so" if claim.passages else "there is no passage that could say so"
    return f"{safe(claim.text, LONGEST_TEXT)!r}: {says.get(claim.verdict, nothing)}"


def _expected(explained: QueryExplained) -> list[str]:
    documents = explained.question.expected[:MAX_EXPECTED]
    graded = _graded(explained)
    lines = [
        f"  {name}  {f'gain {document.gain:g}  ' if graded else ''}{whereabouts(document, compared=explained.compared)}"
        f"{f' (below the {explained.depth} shown)' if (document.after or 0) > explained.depth else ''}"
        for name, document in zip(padded_all([safe(each.id, LONGEST_ID) for each in documents]), documents, strict=True)
    ]
    more = len(explained.question.expected) - len(documents)
    return [*lines, f"  and {more} more"] if more else lines


def _scores(scores: Sequence[Score], *, compared: bool) -> list[str]:
    rows = [("metric", "baseline", "now", "change"), *map(_score_row, scores)]
    return aligned(rows, right=(1, 2, 3)) if compared else aligned([(row[0], row[2]) for row in rows], right=(1,))


def _score_row(score: Score) -> tuple[str, str, str, str]:
    before = value_or_dash(score.before, score.unit)
    now = value_or_dash(score.now, score.unit)
    change = NOTHING if score.change is None else delta_text(score.change, score.unit)
    return score.metric, before, now, change


def _rankings(explained: QueryExplained) -> list[list[str]]:
    question = explained.question
    graded = _graded(explained)
    lists = [_list("now", question.now, "the run lacks this question", graded=graded)]
    if explained.compared:
        lists.insert(0, _list("baseline", question.before, "the baseline lacks this question", graded=graded))
    if explained.lexical:
        lists.append(_list("BM25 (words alone)", _hits(explained.lexical, explained), "", graded=graded))
    return lists


def _hits(lexical: Lexical, explained: QueryExplained) -> list[Listed]:
    """BM25's documents with the gains that the gold set states: of the very chunk, else of its document."""
    question = explained.question
    gains = {item.id: item.gain for item in (*(question.before or ()), *(question.now or ()))}
    gains |= {document.id: document.gain for document in question.expected}
    return [Listed(id=hit.id, gain=gains.get(hit.id, gains.get(hit.doc_id or hit.id))) for hit in lexical.first]


def _list(heading: str, items: Sequence[Listed] | None, absent: str, *, graded: bool) -> list[str]:
    if items is None:
        return [heading, f"({absent})"]
    if not items:
        return [heading, "(no results)"]
    digits = len(str(len(items)))
    marks = padded_all([mark(item, graded=graded) for item in items])
    ranked = enumerate(zip(items, marks, strict=True), start=1)
    return [heading, *(f"{rank:>{digits}} {mark} {safe(item.id, LONGEST_ID)}" for rank, (item, mark) in ranked)]


def mark(item: Listed, *, graded: bool) -> str:
    """`*` where the gold expects the item, with its gain where gains differ; `x` where it judges it not relevant."""
    if item.gain is None:
        return ""
    if item.gain <= 0:
        return "x"
    return f"*{item.gain:g}" if graded else "*"


def _graded(explained: QueryExplained) -> bool:
    return any(document.gain != 1 for document in explained.question.expected)


def _legend(explained: QueryExplained) -> Iterator[str]:
    question = explained.question
    gains = [item.gain for item in (*(question.before or ()), *(question.now or ())) if item.gain is not None]
    if any(gain > 0 for gain in gains) or (explained.lexical and question.expected):
        most = max(document.gain for document in question.expected)
        graded = f"*{most:g} right, with a gain of {most:g} in the gold set"
        yield graded if _graded(explained) else "* right: the gold set expects it"
    if any(gain <= 0 for gain in gains):
        yield "x judged, and not right"
    if explained.depth == max((len(items) for items in (question.before, question.now) if items), default=0):
        yield f"{first_text(explained.depth, results=True)} of each; --depth shows more"


def _advice(explained: QueryExplained, lexical: Lexical) -> Iterator[str]:
    """What the run and BM25 beside it suggest, a sentence for each kind of trouble, the most telling first."""
    if lexical.suggests == "nothing_relevant":
        yield "The gold set expects nothing here, so there is nothing to compare with BM25."
    elif lexical.suggests == "no_question":
        yield "The gold set has no text for this question, so BM25 has nothing to look for."
    else:
        for kind in TELLING:
            documents = [each for each in lexical.expected if each.suggests == kind]
            if documents:
                yield _suggestion(kind, documents, explained)


def _suggestion(kind: Suggestion, documents: Sequence[LexicalExpected], explained: QueryExplained) -> str:
    ranks = {document.id: document.after for document in explained.question.expected}
    names = _names([safe(each.id, 60) for each in documents])
    by_bm25 = _at([each.rank for each in documents])
    by_run = _at([ranks[each.id] for each in documents])
    it, they, has = ("it", "it is", "is") if len(documents) == 1 else ("them", "they are", "are")
    match kind:
        case "not_in_corpus":
            why = "the labels are old, or the corpus is cut into other chunks than the gold set names"
            return f"Gold or chunking trouble: {names} {has} not in the corpus at all; {why}."
        case "run_misses":
            where = f", which has {it}{by_run}" if by_run else ""
            return (
                f"Index or embedding trouble: BM25 finds {names}{by_bm25} by the question's own words, "
                f"and {they} not {in_first_text(explained.depth)} of the run{where}."
            )
        case "run_lower":
            return (
                f"Ranking trouble: BM25 has {names}{by_bm25} by the question's own words, and the run only{by_run}, "
                f"below {first_text(explained.k)}; look at the embedding or the reranker."
            )
        case "neither":
            return (
                f"Wording or chunking trouble: neither BM25{_in_brackets(by_bm25)} nor the run{_in_brackets(by_run)} "
                f"has {names} {in_first_text(explained.depth)}; the question says it in other words, or the chunk with "
                "the answer is missing or cut apart."
            )
        case "run_alone":
            beside_it = f"and BM25 does not{_in_brackets(by_bm25)}"
            return f"The run finds {names}{by_run} {beside_it}: the words differ, the meaning carries."
        case _:
            return f"Both find {names}: BM25{by_bm25}, the run{by_run}."


def _at(ranks: Sequence[int | None]) -> str:
    """` at rank 2`, ` at ranks 2 and 5`; nothing where one has none, or there are more than are named."""
    known = [str(rank) for rank in ranks if rank is not None]
    if not known or len(known) < len(ranks) or len(known) > MAX_NAMED:
        return ""
    return f" at rank{'s' if len(known) > 1 else ''} {_names(known)}"


def _in_brackets(ranks: str) -> str:
    return f" ({ranks.strip()})" if ranks else ""


def _names(names: Sequence[str]) -> str:
    """`a, b and c`, `a, b, c and 2 more`."""
    shown = [*names[:MAX_NAMED], *([f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else [])]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
