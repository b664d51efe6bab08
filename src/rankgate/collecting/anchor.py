"""Gold that names chunks, or quotes its answers, becomes gold of spans where a text stands once; nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rankgate.collecting.gold_documents import GoldDocuments, written_span
from rankgate.errors import Problem, shown
from rankgate.metrics.matching import document_of
from rankgate.metrics.plan import ids_beside_spans
from rankgate.metrics.texts import folded, places
from rankgate.model.values import Gold, Item, Sample, Span

_BY_HAND = "or write the span by hand"


def anchor(
    gold: Gold, written: GoldDocuments, corpus: Mapping[str, str], chunks: Mapping[str, Item], *, passages: bool = False
) -> tuple[GoldDocuments, list[Problem]]:
    """The samples with spans in place of ids; one of which anything is not found once stays as it is, and is listed.

    `corpus` has documents by id, `chunks` texts or offsets by id. Spans that are there already are compared with the
    corpus. With `passages` the gold's ids are texts themselves, as `match: text` has them.
    """
    samples = dict(written.samples)
    lines = dict(written.lines)
    problems = list[Problem]()
    for query_id, sample in gold.samples.items():
        spans: dict[str, dict[str, object]] = {}
        wrong = list[str]()
        others = [*ids_beside_spans(gold, sample)]
        quotes = [""] if sample.answers and not sample.gains and not sample.no_answer else []
        for each in (*sample.gains, *quotes):
            try:
                for span in _spans(sample, each, corpus, chunks, passages=passages):
                    if span.id in spans:
                        what = shown(each or span.text)
                        raise ValueError(f"{what} is the same passage as another, {shown(span.id)}; keep one")
                    spans[span.id] = written_span(span, sample.gains.get(each, 1))
            except ValueError as error:
                wrong.append(str(error))
        name = f"sample {shown(query_id)}"
        problems += [Problem(f"{name}: {each}", gold.name, sample.line, "expected_output") for each in wrong]
        problems += others
        if spans and not wrong and not others:
            old = samples[query_id].get("expected_output")
            new = [*spans.values()]
            nested = isinstance(old, Mapping) and isinstance(old.get("ids"), list | dict)
            samples[query_id] = {**samples[query_id], "expected_output": {**old, "ids": new} if old and nested else new}
            lines.pop(query_id, None)
    return replace(written, samples=samples, lines=lines), problems


def _spans(
    sample: Sample, each: str, corpus: Mapping[str, str], chunks: Mapping[str, Item], *, passages: bool
) -> Sequence[Span]:
    """The spans that a judged id stands for; else a ValueError says what is wrong."""
    name = shown(each)
    chunk = chunks.get(each)
    span = sample.spans.get(each)
    if chunk and chunk.start is not None and chunk.end is not None:
        span = Span(document_of(each, chunk.doc_id), chunk.start, chunk.end)
    if span:
        document = corpus.get(span.doc)
        if document is None:
            raise ValueError(f"{name} is of {shown(span.doc)}, which is no document of the corpus")
        if span.end > len(document):
            raise ValueError(f"{name} ends at {span.end}, beyond its document, which has {len(document)} code points")
        text = document[span.start : span.end]
        if span.text and folded(span.text.rstrip("….")) not in folded(text):
            raise ValueError(f"{name} is {shown(text)} in the corpus, not {shown(span.text)}; correct its offsets")
        return [span if span.text else replace(span, text=text)]
    if chunk and chunk.text:
        return _spans_of([chunk.text], document_of(each, chunk.doc_id), corpus, name)
    if passages and each:
        return _spans_of([each], "", corpus)
    if sample.answers and (each in corpus or not each):
        return _spans_of(sample.answers, each, corpus)
    if each in corpus:
        raise ValueError(f"{name} is a whole document; quote the answer in metadata.answer, {_BY_HAND}")
    raise ValueError(f"{name} is no chunk of --run or --chunks that has a text or offsets, nor a whole document")


def _spans_of(texts: Sequence[str], doc: str, corpus: Mapping[str, str], chunk: str = "") -> list[Span]:
    """The passages that these texts are, each at most once: in this document if the corpus has it, else in any.

    `chunk` is what messages call the chunk that the text is of, whose ends may lie within words. A ValueError where a
    text stands more than once, or none stands anywhere.
    """
    documents = {doc: corpus[doc]} if doc in corpus else corpus
    spans: list[Span] = []
    for quoted in texts:
        matches: list[Span] = []
        for name, text in documents.items():
            for start, end in places(quoted, text, borders=not chunk):
                matches.append(Span(name, start, end, text[start:end]))
        if matches[1:]:
            where = ", ".join(shown(each.id) for each in matches[:3])
            raise ValueError(f"{chunk or shown(quoted)} stands more than once ({where}); quote more of it, {_BY_HAND}")
        spans += matches
    if not spans:
        what = chunk or " or ".join(map(shown, texts[:3]))
        where = shown(doc) if doc in corpus else "the corpus"
        raise ValueError(f"{what} stands nowhere in {where}; quote it exactly, {_BY_HAND}")
    return spans
