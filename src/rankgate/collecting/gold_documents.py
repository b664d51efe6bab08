"""A gold set as it was written: samples with all their keys, which take labels, negatives and spans.

Whatever else stands in a sample stays. Spans come in the place of ids where a text stands once; nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rankgate.collecting.pool import Gains
from rankgate.errors import Problem, shown
from rankgate.metrics.matching import document_of
from rankgate.metrics.plan import ids_beside_spans
from rankgate.metrics.texts import folded, places
from rankgate.model.values import Gold, Item, Sample, Span
from rankgate.readers.json_text import strict_json
from rankgate.readers.source import Source, open_source

Written = dict[str, Any]
_BY_HAND = "or write the span by hand"


class GoldDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """The written samples by query id, in file order.

    `lines` is the JSONL line of each sample that still stands as it was written. `beside` are the keys of a document
    next to `samples:`; None where the document is the list itself.
    """

    samples: Mapping[str, Written]
    lines: Mapping[str, str] = {}
    beside: Mapping[str, Any] | None = msgspec.field(default_factory=dict)

    def with_new(self, new: Mapping[str, Gains], *, as_judge: bool = False) -> GoldDocuments:
        """The same, with labels added by query."""
        return self._with({each: with_labels(self.samples[each], new[each], as_judge=as_judge) for each in new})

    def with_negatives(self, new: Mapping[str, Sequence[str]]) -> GoldDocuments:
        """The same, with hard negatives added by query."""
        old = {each: self.samples[each].get("negatives") or [] for each in new if new[each]}
        return self._with({each: {**self.samples[each], "negatives": [*old[each], *new[each]]} for each in old})

    def _with(self, changed: Mapping[str, Written]) -> GoldDocuments:
        unchanged = {query_id: line for query_id, line in self.lines.items() if query_id not in changed}
        return replace(self, samples={**self.samples, **changed}, lines=unchanged)

    def as_jsonl(self) -> str:
        """One sample a line; a line of JSONL that took no label stays as it was."""
        written = (self.lines.get(query_id) or _json(sample) for query_id, sample in self.samples.items())
        return "".join(f"{line}\n" for line in written)

    def as_json(self) -> str:
        """One document, with whatever stood beside the samples."""
        samples = list(self.samples.values())
        value = samples if self.beside is None else {**self.beside, "samples": samples}
        return f"{_json(value, indent=2)}\n"

    def as_text(self, suffix: str) -> str:
        """In the form of a file that ends so."""
        if suffix == ".yaml":
            from rankgate.readers.yaml_text import dump_yaml  # noqa: PLC0415 -- paid only for YAML

            return dump_yaml(json.loads(self.as_json()))
        return self.as_json() if suffix == ".json" else self.as_jsonl()


def with_labels(written: Mapping[str, Any], new: Gains, *, as_judge: bool = False) -> dict[str, Any]:
    """A written sample with labels added: to `expected_output`, or a judge's to `judge_labels`."""
    if as_judge:
        return {**written, "judge_labels": with_gains(written.get("judge_labels") or {}, new)}
    return {**written, "expected_output": with_gains(written.get("expected_output"), new)}


def with_gains(written: Any, new: Gains) -> Any:
    """Judgments in the shape in which they were written, with more added.

    A list of ids stays one as long as every new gain is 1. Any other gain makes it a mapping, 0 too: that somebody
    looked and said no is what `judged@k` counts. `{ids: …, answer: …}` keeps its answer.
    """
    if isinstance(written, Mapping) and isinstance(written.get("ids"), list | dict):
        return {**written, "ids": with_gains(written["ids"], new)}
    if isinstance(written, Mapping):
        return {**written, **{doc: plain_number(gain) for doc, gain in new.items()}}
    ids = written or []
    if all(gain == 1 for gain in new.values()):
        return [*ids, *new]
    return with_gains({str(doc): 1 for doc in ids}, new)


def read_documents(path: str, gold: Gold) -> GoldDocuments:
    """The samples of a gold set as they were written in the file at `path`, from which it was read without a problem.

    A format that does not hold samples in the contract's shape, such as TREC qrels, is put into that shape.
    """
    if gold.format in ("jsonl", "json", "yaml"):
        with open_source(path) as source:
            documents = _documents_in(source, gold.format)
        if documents.samples.keys() == gold.samples.keys():
            return documents
    return GoldDocuments(samples={query_id: written(sample) for query_id, sample in gold.samples.items()})


def _documents_in(source: Source, form: str) -> GoldDocuments:
    if form == "jsonl":
        return _from_jsonl(source)
    if form == "json":
        return _from_document(strict_json(source.text()))
    from rankgate.readers.yaml_text import load_yaml  # noqa: PLC0415 -- paid only for YAML

    return _from_document(load_yaml(source.text(), source.name).value)


def _from_jsonl(source: Source) -> GoldDocuments:
    samples: dict[str, Written] = {}
    lines: dict[str, str] = {}
    for _, line in source.lines():
        value = strict_json(line)
        if isinstance(value, dict):
            samples[str(value.get("id"))] = value
            lines[str(value.get("id"))] = line.decode().strip()
    return GoldDocuments(samples=samples, lines=lines)


def _from_document(value: Any) -> GoldDocuments:
    beside = {key: other for key, other in value.items() if key != "samples"} if isinstance(value, dict) else None
    entries = value.get("samples") if isinstance(value, dict) else value
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return GoldDocuments(samples={str(entry.get("id")): entry for entry in entries}, beside=beside)


def written(sample: Sample) -> Written:
    """A sample in the contract's shape, which reads back as the same sample."""
    metadata = {
        "k": sample.k,
        "tags": list(sample.tags) or None,
        "no_answer": sample.no_answer or None,
        "answer": list(sample.answers) or None,
        "claims": [{"text": claim.text, "vital": claim.vital} for claim in sample.claims] or None,
        "as_of": sample.as_of,
        "source": sample.source[0] if len(sample.source) == 1 else list(sample.source) or None,
        "entities": sample.entities if sample.entities is None else list(sample.entities),
        "cluster": sample.cluster,
    }
    gains = {doc: plain_number(gain) for doc, gain in sample.gains.items()}
    listed = [written_span(sample.spans[doc], gain) if doc in sample.spans else doc for doc, gain in gains.items()]
    value: Written = {
        "id": sample.query_id,
        "input": None if sample.question is None else {"question": sample.question},
        "expected_output": listed if sample.spans or set(gains.values()) <= {1} else gains,
        "judge_labels": {doc: plain_number(gain) for doc, gain in sample.judge_gains.items()} or None,
        "negatives": list(sample.negatives) or None,
        "metadata": {key: value for key, value in metadata.items() if value is not None} or None,
    }
    return {key: each for key, each in value.items() if each is not None}


def written_span(span: Span, gain: float = 1) -> Written:
    """A span as `expected_output` lists it."""
    text = {} if span.text is None else {"text": span.text}
    return {
        "doc": span.doc,
        "start": span.start,
        "end": span.end,
        **text,
        **({} if gain == 1 else {"gain": plain_number(gain)}),
    }


def plain_number(gain: float) -> float:
    """A gain as people write it: 1, not 1.0."""
    return int(gain) if gain == int(gain) else gain


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def anchor(
    gold: Gold,
    documents: GoldDocuments,
    corpus: Mapping[str, str],
    chunks: Mapping[str, Item],
    *,
    passages: bool = False,
) -> tuple[GoldDocuments, list[Problem]]:
    """The samples with spans in place of ids; one of which anything is not found once stays as it is, and is listed.

    `corpus` has documents by id, `chunks` texts or offsets by id. Spans that are there already are compared with the
    corpus. With `passages` the gold's ids are texts themselves, as `match: text` has them.
    """
    samples = dict(documents.samples)
    lines = dict(documents.lines)
    problems: list[Problem] = []
    for query_id, sample in gold.samples.items():
        spans: dict[str, Written] = {}
        of_sample: list[Problem] = []
        judged_ids = [*sample.gains]
        if sample.answers and not sample.gains and not sample.no_answer:
            judged_ids = [""]
        for judged_id in judged_ids:
            try:
                for span in _spans(sample, judged_id, corpus, chunks, passages=passages):
                    if span.id in spans:
                        what = shown(judged_id or span.text)
                        raise ValueError(f"{what} is the same passage as another, {shown(span.id)}; keep one")
                    spans[span.id] = written_span(span, sample.gains.get(judged_id, 1))
            except ValueError as error:
                what = f"sample {shown(query_id)}: {error}"
                of_sample.append(Problem(what, gold.name, sample.line, "expected_output"))
        of_sample += ids_beside_spans(gold, sample)
        problems += of_sample
        if spans and not of_sample:
            samples[query_id] = _with_expected(samples[query_id], [*spans.values()])
            lines.pop(query_id, None)
    return replace(documents, samples=samples, lines=lines), problems


def _with_expected(written: Written, spans: list[Written]) -> Written:
    """The sample with these spans, which take the place of its ids, also where those lie in `ids` beside other keys."""
    expected = written.get("expected_output")
    if isinstance(expected, Mapping) and isinstance(expected.get("ids"), list | dict):
        return {**written, "expected_output": {**expected, "ids": spans}}
    return {**written, "expected_output": spans}


def _spans(
    sample: Sample, judged_id: str, corpus: Mapping[str, str], chunks: Mapping[str, Item], *, passages: bool
) -> Sequence[Span]:
    """The spans that a judged id stands for, or where it is empty the sample's answers in any document.

    A ValueError says what is wrong.
    """
    name = shown(judged_id)
    chunk = chunks.get(judged_id)
    span = sample.spans.get(judged_id)
    if chunk and chunk.start is not None and chunk.end is not None:
        span = Span(document_of(judged_id, chunk.doc_id), chunk.start, chunk.end)
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
        return _spans_of([chunk.text], document_of(judged_id, chunk.doc_id), corpus, name)
    if passages and judged_id:
        return _spans_of([judged_id], "", corpus)
    if sample.answers and (judged_id in corpus or not judged_id):
        return _spans_of(sample.answers, judged_id, corpus)
    if judged_id in corpus:
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
