"""A gold set as it was written: the samples with all their keys, to be changed and written again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rankgate.collecting.labels import Gains, plain_number, with_labels
from rankgate.model.values import Gold, Sample, Span
from rankgate.readers.json_text import strict_json
from rankgate.readers.source import Source, open_source

Written = dict[str, Any]


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
        return msgspec.structs.replace(self, samples={**self.samples, **changed}, lines=unchanged)

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


def read_documents(path: str, gold: Gold) -> GoldDocuments:
    """The samples of a gold set as they were written in the file at `path`, from which it was read without a problem.

    A format that does not hold samples in the contract's shape, such as TREC qrels, is put into that shape.
    """
    if gold.format in _SHAPES:
        with open_source(path) as source:
            documents = _SHAPES[gold.format](source)
        if documents.samples.keys() == gold.samples.keys():
            return documents
    return GoldDocuments(samples={query_id: written(sample) for query_id, sample in gold.samples.items()})


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


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _from_jsonl(source: Source) -> GoldDocuments:
    samples: dict[str, Written] = {}
    lines: dict[str, str] = {}
    for _, line in source.lines():
        value = strict_json(line)
        if isinstance(value, dict):
            samples[str(value.get("id"))] = value
            lines[str(value.get("id"))] = line.decode().strip()
    return GoldDocuments(samples=samples, lines=lines)


def _from_json(source: Source) -> GoldDocuments:
    return _from_document(strict_json(source.text()))


def _from_yaml(source: Source) -> GoldDocuments:
    from rankgate.readers.yaml_text import load_yaml  # noqa: PLC0415 -- paid only for YAML

    return _from_document(load_yaml(source.text(), source.name).value)


def _from_document(value: Any) -> GoldDocuments:
    beside = {key: other for key, other in value.items() if key != "samples"} if isinstance(value, dict) else None
    entries = value.get("samples") if isinstance(value, dict) else value
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return GoldDocuments(samples={str(entry.get("id")): entry for entry in entries}, beside=beside)


_SHAPES = {
    "jsonl": _from_jsonl,
    "json": _from_json,
    "yaml": _from_yaml,
}
