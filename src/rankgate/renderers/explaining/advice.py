"""What a run and BM25 beside it suggest, in a sentence for each kind of trouble."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.diagnosis.lexical import TELLING, Lexical, LexicalExpected, Suggestion
from rankgate.model.details import Expected
from rankgate.renderers.explaining.layout import safe

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


def advice(lexical: Lexical, expected: Sequence[Expected], k: int, depth: int) -> list[str]:
    """The sentences, the most telling first.

    Args:
        lexical: BM25's results.
        expected: the question's documents, with the run's ranks.
        k: the first ranks, in which a document is wanted.
        depth: how many results count as found.
    """
    if lexical.suggests == "nothing_relevant":
        return ["The gold set expects nothing here, so there is nothing to compare with BM25."]
    ranks = {document.id: document.after for document in expected}
    said = []
    if lexical.suggests == "no_question":
        return ["The gold set has no text for this question, so BM25 has nothing to look for."]
    for kind in TELLING:
        found = [each for each in lexical.expected if each.suggests == kind]
        if found:
            said.append(_sentence(kind, found, ranks, k, depth))
    return said


def _sentence(
    kind: Suggestion, found: Sequence[LexicalExpected], ranks: dict[str, int | None], k: int, depth: int
) -> str:
    names = _listed([safe(each.id, 60) for each in found])
    one = len(found) == 1
    has = "is" if one else "are"
    by_bm25 = _at([each.rank for each in found])
    by_run = _at([ranks[each.id] for each in found])
    match kind:
        case "not_in_corpus":
            why = "the labels are old, or the corpus is cut into other chunks than the gold set names"
            return f"Gold or chunking trouble: {names} {has} not in the corpus at all; {why}."
        case "run_misses":
            where = f", which has {'it' if one else 'them'}{by_run}" if by_run else ""
            return (
                f"Index or embedding trouble: BM25 finds {names}{by_bm25} by the question's own words, "
                f"and {'it is' if one else 'they are'} not in the first {depth} of the run{where}."
            )
        case "run_lower":
            return (
                f"Ranking trouble: BM25 has {names}{by_bm25} by the question's own words, and the run only{by_run}, "
                f"below its first {k}; look at the embedding or the reranker."
            )
        case "neither":
            return (
                f"Wording or chunking trouble: neither BM25{_in_brackets(by_bm25)} nor the run{_in_brackets(by_run)} "
                f"has {names} in its first {depth}; the question says it in other words, or the chunk with the answer "
                "is missing or cut apart."
            )
        case "run_alone":
            beside = f"and BM25 does not{_in_brackets(by_bm25)}"
            return f"The run finds {names}{by_run} {beside}: the words differ, the meaning carries."
        case _:
            return f"Both find {names}: BM25{by_bm25}, the run{by_run}."


def _at(ranks: Sequence[int | None]) -> str:
    """` at rank 2`, ` at ranks 2 and 5`; nothing where one has none, or there are more than are named."""
    known = [str(rank) for rank in ranks if rank is not None]
    if not known or len(known) < len(ranks) or len(known) > MAX_NAMED:
        return ""
    return f" at rank {known[0]}" if len(known) == 1 else f" at ranks {', '.join(known[:-1])} and {known[-1]}"


def _in_brackets(said: str) -> str:
    return f" ({said.strip()})" if said else ""


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:MAX_NAMED], *([f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else [])]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
