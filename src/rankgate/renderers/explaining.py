"""What `rankgate explain` says, as plain text of a given width: one question, or the table of all misses.

Of a question what was expected, where it was and is, both rankings side by side, and what BM25 suggests; of misses what
they share. Last how lines fit a terminal. Colours are the printer's business.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import zip_longest

from rankgate.diagnosis.misses import (
    MISSED,
    SUGGESTION_ORDER,
    Lexical,
    LexicalExpected,
    Miss,
    Misses,
    QueryExplained,
    Score,
    Suggestion,
)
from rankgate.model.answers import Entailment, Unsupported, UnsupportedClaim
from rankgate.model.details import Cause, Listed
from rankgate.model.judge_words import STAGE_WORDS
from rankgate.model.values import Unit
from rankgate.model.wording import count_text, delta_text, first_text, in_first_text, value_text
from rankgate.renderers.blocks import aligned
from rankgate.renderers.escape import listed, log_line, safe
from rankgate.renderers.phrases import NOTHING, value_or_dash
from rankgate.renderers.view.answers import LONGEST_TEXT, fate
from rankgate.renderers.view.questions import CAUSE_WORDS, cause_clause, whereabouts

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

NARROWEST = 20  # columns; a terminal that says less is not believed

GAP = 3  # blanks between lists

MAX_DOCUMENTS = 6

MAX_SHARED = 3


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
        for kind in SUGGESTION_ORDER:
            documents = [each for each in lexical.expected if each.suggests == kind]
            if documents:
                yield _suggestion(kind, documents, explained)


def _suggestion(kind: Suggestion, documents: Sequence[LexicalExpected], explained: QueryExplained) -> str:
    ranks = {document.id: document.after for document in explained.question.expected}
    names = _names([safe(each.id, LONGEST_ID) for each in documents])
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
    listed = [*names[:MAX_NAMED]]
    if len(names) > MAX_NAMED:
        listed.append(f"{len(names) - MAX_NAMED} more")
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))


def render_misses(misses: Misses, unit: Unit | None, width: int) -> str:
    """The table, in lines of about `width` columns; `unit` is that of its metric, None without one."""
    total = len(misses.listed) + misses.more
    questions = count_text(misses.questions, "question")
    where = in_first_text(misses.k or None, results=True) + ("" if misses.k else ", where k is the question's own")
    if not total:
        miss = f"a relevant document not {where}"
        return finished([f"None of {questions} is such a miss ({miss})."])
    missed = set(misses.causes) <= {cause.value for cause in MISSED}
    if missed:
        what = f"{'misses' if total == 1 else 'miss'} a relevant document {where}"
    else:
        what = "is listed" if total == 1 else "are listed"
    lines = paragraph(f"{total:,} of {questions} {what}:", width)
    causes = [Cause(cause) for cause in misses.causes]
    labels = padded_all([CAUSE_WORDS[cause][0].upper() for cause in causes])
    digits = max(len(f"{count:,}") for count in misses.causes.values())
    for cause, label, count in zip(causes, labels, misses.causes.values(), strict=True):
        text = f"{count:>{digits},}  {label}  {cause_clause(cause, misses.k, compared=misses.compared)}"
        lines += paragraph(text, width, indent=2, hanging=digits + len(label) + 4)
    lines += _shared(misses, width)
    if misses.found_by_words is not None:
        listed = f"{misses.found_by_words:,} of the {count_text(len(misses.listed), 'question')} listed"
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
    lines = paragraph(f"{number}. {safe(miss.query_id)}  {label}{_metric_values(miss, misses, unit)}", width, hanging=3)
    if miss.question and miss.question != miss.query_id:
        lines += paragraph(safe(miss.question, 300), width, indent=3, hanging=0)
    documents = miss.expected[:MAX_DOCUMENTS]
    suggestions = {each.id: f"; {SHORT[each.suggests]}" for each in miss.lexical.expected} if miss.lexical else {}
    for name, document in zip(padded_all([safe(each.id, LONGEST_ID) for each in documents]), documents, strict=True):
        text = f"expected  {name}  {whereabouts(document, compared=misses.compared)}{suggestions.get(document.id, '')}"
        lines += paragraph(text, width, indent=5, hanging=10)
    if len(miss.expected) > len(documents):
        lines.append(f"               and {len(miss.expected) - len(documents)} more")
    if miss.instead:
        instead = f"instead   {', '.join(safe(each, LONGEST_ID) for each in miss.instead)}"
        lines += paragraph(instead, width, indent=5, hanging=10)
    for name, items in _first_results(miss, compared=misses.compared):
        listed = (
            ", ".join(f"{mark(item, graded=False)}{safe(item.id, LONGEST_ID)}" for item in items or ()) or "no results"
        )
        lines += [] if items is None else paragraph(f"{name:<10}{listed}", width, indent=5, hanging=10)
    return lines


def _first_results(miss: Miss, *, compared: bool) -> list[tuple[str, Sequence[Listed] | None]]:
    """The first results of the baseline, of the run and of BM25; * marks what is right."""
    gains = {document.id: document.gain for document in miss.expected}
    by_words: list[Listed] = []
    if miss.lexical is not None:
        for hit in miss.lexical.first:
            gain = gains.get(hit.id, gains.get(hit.doc_id or ""))
            by_words.append(Listed(id=hit.id, gain=gain))
    lists: list[tuple[str, Sequence[Listed] | None]] = [("baseline", miss.first_before)] if compared else []
    return [*lists, ("now", miss.first_now), ("BM25", by_words or None)]


def _metric_values(miss: Miss, misses: Misses, unit: Unit | None) -> str:
    if unit is None or misses.metric is None or miss.now is None:
        return ""
    now = value_text(miss.now, unit)
    baseline = "" if miss.before is None else f"{value_text(miss.before, unit)} → "
    return f"  {misses.metric} {baseline}{now}"


def mark(item: Listed, *, graded: bool) -> str:
    """`*` where the gold expects the item, with its gain where gains differ; `x` where it judges it not relevant."""
    if item.gain is None:
        return ""
    if item.gain <= 0:
        return "x"
    return f"*{item.gain:g}" if graded else "*"


def _graded(explained: QueryExplained) -> bool:
    return any(document.gain != 1 for document in explained.question.expected)


def _list(heading: str, items: Sequence[Listed] | None, absent: str, *, graded: bool) -> list[str]:
    if items is None:
        return [heading, f"({absent})"]
    if not items:
        return [heading, "(no results)"]
    digits = len(str(len(items)))
    marks = padded_all([mark(item, graded=graded) for item in items])
    ranked = enumerate(zip(items, marks, strict=True), start=1)
    return [heading, *(f"{rank:>{digits}} {mark} {safe(item.id, LONGEST_ID)}" for rank, (item, mark) in ranked)]


def paragraph(text: str, width: int, indent: int = 0, hanging: int = 2) -> list[str]:
    """Text in lines of at most `width` columns, all indented, all but the first by `hanging` more.

    A longer word keeps its line; blanks are kept unless a line ends there.
    """
    return textwrap.wrap(
        text,
        max(width, NARROWEST),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese, Japanese and Korean characters and emoji take two."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.combining(char) or char in "\u200b\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def padded(text: str, width: int) -> str:
    """Text with blanks behind it, up to `width` columns."""
    return text + " " * (width - columns_of(text))


def padded_all(texts: Sequence[str]) -> list[str]:
    """Texts with blanks behind them, as wide as the widest."""
    return [padded(text, _widest(texts)) for text in texts]


def beside(lists: Sequence[Sequence[str]], width: int, indent: int = 2) -> list[str]:
    """Lists whose first entries are headings: as many side by side as fit, the others below."""
    groups: list[list[Sequence[str]]] = []
    taken = width  # columns of the last group
    for entries in lists:
        taken += GAP + _widest(entries)
        if not groups or taken > width:
            groups.append([])
            taken = indent + _widest(entries)
        groups[-1].append(entries)
    lines: list[str] = []
    for group in groups:
        widths = list(map(_widest, group))
        lines.append("")
        for row in zip_longest(*group, fillvalue=""):
            cells = (" " * GAP).join(map(padded, row, widths))
            lines.append(f"{' ' * indent}{cells}".rstrip())
    return lines[1:]


def _widest(texts: Sequence[str]) -> int:
    return max(map(columns_of, texts), default=0)


def finished(lines: Iterable[str]) -> str:
    """The lines as one text that neither a terminal nor a runner of CI obeys, also where a report brought it along."""
    return "\n".join(log_line(line).rstrip() for line in lines) + "\n"
