"""Datasets of RAG frameworks: samples of Ragas as gold and as a run, and pairs of LlamaIndex as gold.

Of a sample of Ragas, one a line or in a JSON list, what should be retrieved is gold, and what was retrieved a run.
LlamaIndex' `EmbeddingQAFinetuneDataset` is one JSON object, `{queries, corpus, relevant_docs, mode}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Ranking, RunField, Sample
from rankgate.readers.base import ProblemLog, id_of
from rankgate.readers.json_text import RAGAS_CSV, source_json
from rankgate.readers.loose_lines import rankings_of
from rankgate.readers.mapped import json_records, objects_in
from rankgate.readers.per_query import number_of
from rankgate.readers.recognition import (
    LISTS,
    RAGAS_QUESTION,
    RAGAS_REFERENCE,
    RAGAS_RETRIEVED,
    Beginning,
    GoldFormat,
    Likeness,
    Recognised,
    RunFormat,
)
from rankgate.readers.samples import add_sample
from rankgate.readers.source import Source
from rankgate.readers.tables import RAGAS_NAMES

_OF_SAMPLES = {*RAGAS_REFERENCE, *RAGAS_RETRIEVED, RAGAS_QUESTION, "id", "query_id", "judge", "response", "reference"}
_OF_SAMPLES |= {"rubrics", "multi_responses", "persona_name", "query_style", "query_length", "synthesizer_name"}
_QUERIES = "queries"
_RELEVANT_DOCS = "relevant_docs"

Line = Mapping[str, Any]


def _read_ragas_gold(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from `user_input`, `reference_context_ids` or else `reference_contexts`, and `reference`, the answer.

    A context without an id goes by its text, as it does in a run of the same kind.
    """
    samples: dict[str, Sample] = {}
    for location, line in _samples(source, log):
        try:
            sample = _sample(line, location.line)
        except ValueError as error:
            log.note(location, error)
        else:
            add_sample(samples, sample, location, log)
            others = {key: each for key, each in line.items() if isinstance(each, str) or number_of(each) is ...}
            log.beside.add_all(sample.query_id, others, frozenset(_OF_SAMPLES))
    return samples


def _sample(line: Line, number: int | None) -> Sample:
    query_id = _query_id(line)
    question = line.get(RAGAS_QUESTION)
    ids = _listed(line, RAGAS_REFERENCE)
    answer = line.get("reference")
    if answer is not None and not isinstance(answer, str):
        raise ValueError(f"query {shown(query_id)}: the reference is {shown(answer)}, not a text")
    return Sample(
        query_id=query_id,
        gains=dict.fromkeys(ids, 1.0),
        question=question if isinstance(question, str) else None,
        answers=(answer,) if answer and answer.strip() else (),
        line=number,
    )


def _read_ragas_run(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from `retrieved_context_ids`, or else `retrieved_contexts`, in the order of the list."""
    return rankings_of(_lines(source, needs, log), needs, log)


def _lines(
    source: Source, needs: frozenset[RunField], log: ProblemLog
) -> Iterator[tuple[int, Problem, dict[str, Any]]]:
    """The contract's lines, after number and place; texts are left out where their number is not that of the ids.

    `response` is the answer, and all that was retrieved its context, since Ragas judges it so. Where a table of results
    has metrics beside a sample's own columns, these are its `scores`, and a column `judge` says who gave them.
    """
    for number, (location, line) in enumerate(_samples(source, log)):
        try:
            query_id = _query_id(line)
            ids = _listed(line, RAGAS_RETRIEVED)
            answer = _answer(line, ids, needs)
        except ValueError as error:
            log.note(location, error)
            continue
        texts = line.get(RAGAS_RETRIEVED[1]) if RunField.TEXTS in needs else None
        items: list[Any] = list(ids)
        if isinstance(texts, list) and len(texts) == len(ids):
            items = [{"chunk_id": each, "text": text} for each, text in zip(ids, texts, strict=True)]
        numbers = {key: number_of(each) for key, each in line.items() if key not in _OF_SAMPLES}
        scores = {key: each for key, each in numbers.items() if each is not ...}
        given = {"scores": scores, "judge": line.get("judge")} if scores and RunField.SCORES in needs else {}
        yield location.line or number, location, {"query_id": query_id, "topk": items, **answer, **given}


def _answer(line: Line, ids: list[str], needs: frozenset[RunField]) -> dict[str, Any]:
    """The answer and its context, under the contract's keys; nothing where it is not needed or there is none."""
    answer = line.get("response") if RunField.ANSWER in needs else None
    if answer is None:
        return {}
    if not isinstance(answer, str):
        raise ValueError(f"query {shown(_query_id(line))}: the response is {shown(answer)}, not a text")
    return {"answer": answer, "context": list(dict.fromkeys(ids))}


def _samples(source: Source, log: ProblemLog) -> Iterator[tuple[Problem, Line]]:
    """Objects, each with its place: one a line, or a list of them, as pandas writes it without `lines=True`."""
    return objects_in(json_records(source, log), "a sample of Ragas", log)


def _query_id(line: Line) -> str:
    """`id` or `query_id`, else the question itself: what two runs of one dataset have in common."""
    for key in ("id", "query_id", RAGAS_QUESTION):
        value = line.get(key)
        if value is None:
            continue
        if isinstance(value, list) and key == RAGAS_QUESTION:
            raise ValueError("user_input is a conversation, which is no id; add an `id` to each line")
        return id_of(value, key)
    raise ValueError("no user_input, id or query_id; one of them names the query")


def _listed(line: Line, keys: tuple[str, str]) -> list[str]:
    """The ids under the first key, or else the texts under the second."""
    key = next((key for key in keys if line.get(key) is not None), None)
    name = f"query {shown(_query_id(line))}"
    if key is None:
        raise ValueError(f"{name} has neither {keys[0]} nor {keys[1]}")
    other = RAGAS_RETRIEVED[0] if keys is RAGAS_REFERENCE else RAGAS_REFERENCE[0]
    if key != keys[0] and line.get(other) is not None:
        raise ValueError(f"{name} has {other} and no {keys[0]}: ids and texts never match; write both as ids")
    value = line[key]
    if isinstance(value, str) and value.startswith("["):
        raise ValueError(f"{name}: {key} is {shown(value)}: {RAGAS_CSV}")
    if not isinstance(value, list):
        raise ValueError(f"{name}: {key}: expected a list, found {shown(value)}")
    return [id_of(each, f"{name}: {key}") for each in value]


def _recognise_ragas(start: Beginning) -> Recognised:
    """By its keys; a line of the contract may have the question under its name too."""
    if not start.json:
        table = any(name in start.header for name in RAGAS_NAMES) and not (start.gold and len(start.header) == 1)
        return RAGAS_CSV if table else Likeness.NO
    others = {"expected_output"} if start.gold else LISTS
    return Likeness.sure(RAGAS_QUESTION in start.keys and start.keys.isdisjoint(others))


RAGAS_GOLD = GoldFormat(
    recognise=_recognise_ragas,
    read=_read_ragas_gold,
    shape='`{"user_input": "…", "reference_context_ids": ["doc-3"], "reference": "30 days"}`, one a line or in a JSON '
    "list",
)
RAGAS_RUN = RunFormat(
    recognise=_recognise_ragas,
    read=_read_ragas_run,
    shape='`{"user_input": "…", "retrieved_context_ids": ["doc-3"]}`, one a line or in a JSON list',
    order="the list",
)


def _read_llama_index(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples with their questions, in the order of `queries`; each of `relevant_docs`, if any, has gain 1."""
    value = source_json(source)
    stated = value if isinstance(value, dict) else {}
    queries = stated.get(_QUERIES)
    relevant = stated.get(_RELEVANT_DOCS)
    if not isinstance(queries, dict) or not isinstance(relevant, dict):
        message = f"expected mappings {_QUERIES} and {_RELEVANT_DOCS}, as LlamaIndex' save_json writes them"
        raise bad_input(message, file=source.name, line=1)
    samples: dict[str, Sample] = {}
    for query_id, question in queries.items():
        try:
            if not isinstance(question, str):
                raise ValueError(f"expected the question's text, found {shown(question)}")
            ids = relevant.get(query_id, [])
            if not isinstance(ids, list):
                raise ValueError(f"{_RELEVANT_DOCS}: expected a list of ids, found {shown(ids)}")
            gains = dict.fromkeys((id_of(each, _RELEVANT_DOCS) for each in ids), 1.0)
            samples[query_id] = Sample(query_id=query_id, gains=gains, question=question)
        except ValueError as error:
            log.add(Problem(str(error), source.name, None, query_id))
    for query_id in relevant.keys() - queries.keys():
        log.add(Problem(f"stands in {_RELEVANT_DOCS} and not in {_QUERIES}", source.name, None, query_id))
    return samples


def _recognise_llama_index(start: Beginning) -> Likeness:
    begins = not start.keys and start.first_key in {_QUERIES, _RELEVANT_DOCS, "corpus"}
    return Likeness.sure(start.json == "{" and (begins or start.keys >= {_QUERIES, _RELEVANT_DOCS}))


LLAMA_INDEX = GoldFormat(
    recognise=_recognise_llama_index,
    read=_read_llama_index,
    shape='`{"queries": {"q-1": "…"}, "corpus": {…}, "relevant_docs": {"q-1": ["doc-3"]}, "mode": "text"}`',
)
