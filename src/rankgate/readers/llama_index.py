"""LlamaIndex' `EmbeddingQAFinetuneDataset` as gold: `{queries, corpus, relevant_docs, mode}` in one JSON object."""

from __future__ import annotations

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Sample
from rankgate.readers.base import ProblemLog, id_of
from rankgate.readers.json_text import source_json
from rankgate.readers.recognition import Beginning, GoldFormat, Likeness
from rankgate.readers.source import Source

QUERIES, RELEVANT = "queries", "relevant_docs"


def _read(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples with their questions, in the order of `queries`; each of `relevant_docs`, if any, has gain 1."""
    value = source_json(source)
    stated = value if isinstance(value, dict) else {}
    queries = stated.get(QUERIES)
    relevant = stated.get(RELEVANT)
    if not isinstance(queries, dict) or not isinstance(relevant, dict):
        message = f"expected mappings {QUERIES} and {RELEVANT}, as LlamaIndex' save_json writes them"
        raise bad_input(message, file=source.name, line=1)
    samples: dict[str, Sample] = {}
    for query_id, question in queries.items():
        try:
            if not isinstance(question, str):
                raise ValueError(f"expected the question's text, found {shown(question)}")
            samples[query_id] = Sample(query_id=query_id, gains=_gains(relevant.get(query_id, [])), question=question)
        except ValueError as error:
            log.add(Problem(str(error), source.name, None, query_id))
    for query_id in relevant.keys() - queries.keys():
        log.add(Problem(f"stands in {RELEVANT} and not in {QUERIES}", source.name, None, query_id))
    return samples


def _gains(ids: object) -> dict[str, float]:
    if not isinstance(ids, list):
        raise ValueError(f"{RELEVANT}: expected a list of ids, found {shown(ids)}")
    return dict.fromkeys((id_of(each, RELEVANT) for each in ids), 1.0)


def _recognise(start: Beginning) -> Likeness:
    begins = not start.keys and start.first_key in {QUERIES, RELEVANT, "corpus"}
    return Likeness.sure(start.json == "{" and (begins or start.keys >= {QUERIES, RELEVANT}))


GOLD = GoldFormat(
    recognise=_recognise,
    read=_read,
    shape='`{"queries": {"q-1": "…"}, "corpus": {…}, "relevant_docs": {"q-1": ["doc-3"]}, "mode": "text"}`',
)
