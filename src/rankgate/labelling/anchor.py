"""Gold that names chunks, or quotes its answers, becomes gold of spans where a text stands once; nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import msgspec
from msgspec.structs import replace

from rankgate.errors import Problem, shown
from rankgate.labelling.gold_documents import GoldDocuments, written_span
from rankgate.metrics.matching import document_of
from rankgate.metrics.texts import folded, places
from rankgate.model.values import Gold, Item, Sample, Span

_NAMED = 3
_BY_HAND = "or write the span by hand"


class Known(msgspec.Struct, frozen=True):
    """What ids and answers are looked up in: texts of whole documents, and chunks with a text or offsets, by id.

    With `passages` the gold's ids are texts themselves, as `match: text` has them.
    """

    corpus: Mapping[str, str]
    chunks: Mapping[str, Item] = {}
    passages: bool = False


def anchor(gold: Gold, documents: GoldDocuments, known: Known) -> tuple[GoldDocuments, list[Problem]]:
    """The samples with spans in place of ids; one of which anything is not found once stays as it is, and is listed.

    Spans that are there already stay, and are compared with the corpus.
    """
    samples, lines, problems = dict(documents.samples), dict(documents.lines), list[Problem]()
    for query_id, sample in gold.samples.items():
        wrong: dict[str, None] = {}
        gains, negatives = (_anchored(sample, ids, known, wrong) for ids in (sample.gains, sample.negatives))
        if not sample.gains and sample.answers and not sample.no_answer:
            gains = _anchored(replace(sample, gains={"": 1.0}), [""], known, wrong)
        if sample.judge_gains:
            wrong["has judge_labels, which name documents by id; take them out first"] = None
        name = f"sample {shown(query_id)}"
        problems += [Problem(f"{name}: {each}", gold.name, sample.line, "expected_output") for each in wrong]
        if wrong or not (gains or negatives):
            continue
        listed = [written_span(*each) for each in gains.values()]
        new = {**samples[query_id], "expected_output": listed}
        old = samples[query_id].get("expected_output")
        if isinstance(old, Mapping) and isinstance(old.get("ids"), list | dict):
            new["expected_output"] = {**old, "ids": listed}
        samples[query_id] = new | (
            {"negatives": [written_span(each) for each, _ in negatives.values()]} if negatives else {}
        )
        lines.pop(query_id, None)
    return replace(documents, samples=samples, lines=lines), problems


def _anchored(
    sample: Sample, ids: Iterable[str], known: Known, wrong: dict[str, None]
) -> dict[str, tuple[Span, float]]:
    """The spans of judged ids with their gains; what is wrong with an id is noted."""
    found: dict[str, tuple[Span, float]] = {}
    for each in ids:
        try:
            for span in _spans(sample, each, known):
                if span.id in found:
                    raise ValueError(f"is the same passage as another, {shown(span.id)}; keep one")
                found[span.id] = span, sample.gains.get(each, 1.0)
        except ValueError as error:
            wrong[f"{shown(each)} {error}" if each else f"the answer {error}"] = None
    return found


def _spans(sample: Sample, each: str, known: Known) -> list[Span]:
    """The spans that a judged id stands for; else a ValueError says, of the id, what is wrong."""
    chunk, corpus = known.chunks.get(each), known.corpus
    span = sample.spans.get(each)
    if chunk and chunk.start is not None and chunk.end is not None:
        span = Span(document_of(each, chunk.doc_id), chunk.start, chunk.end)
    if span:
        if span.doc not in corpus:
            raise ValueError(f"is of {shown(span.doc)}, which is no document of the corpus")
        if span.end > len(corpus[span.doc]):
            raise ValueError(f"ends at {span.end}, beyond its document, which has {len(corpus[span.doc])} code points")
        text = corpus[span.doc][span.start : span.end]
        if span.text and folded(span.text.rstrip("….")) not in folded(text):
            raise ValueError(f"is {shown(text)} in the corpus, not {shown(span.text)}; correct its offsets")
        return [span if span.text else replace(span, text=text)]
    if chunk and chunk.text:
        return _once([chunk.text], document_of(each, chunk.doc_id), corpus, borders=False)
    if known.passages and each:
        return _once([each], "", corpus)
    if sample.answers and (each in corpus or not each):
        return _once(sample.answers, each, corpus)
    if each in corpus:
        raise ValueError(f"is a whole document; quote the answer in metadata.answer, {_BY_HAND}")
    raise ValueError("is no chunk of --run or --chunks that has a text or offsets, and no document of the corpus")


def _once(texts: Sequence[str], doc: str, corpus: Mapping[str, str], *, borders: bool = True) -> list[Span]:
    """Where these texts stand, of which some may be nowhere: in this document, if the corpus has it, else anywhere."""
    within = {doc: corpus[doc]} if doc in corpus else corpus
    spans: list[Span] = []
    for quoted in texts:
        everywhere = (
            Span(name, start, end, text[start:end])
            for name, text in within.items()
            for start, end in places(quoted, text, borders=borders)
        )
        found = list(islice(everywhere, _NAMED))
        if found[1:]:
            where = ", ".join(shown(each.id) for each in found)
            raise ValueError(f"stands more than once ({where}); quote more of it, {_BY_HAND}")
        spans += found
    if not spans:
        raise ValueError(
            f"stands nowhere in {shown(doc) if doc in corpus else 'the corpus'}; quote it as it stands, {_BY_HAND}"
        )
    return spans
