"""JSON of `{query: {document: number}}`: qrels and runs of ranx, pytrec_eval and BEIR, and MTEB's predictions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from rankgate.errors import Problem, bad_input, on_one_line, shown
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, line_json
from rankgate.readers.field_map import FieldMap
from rankgate.readers.json_text import JsonError, not_finite, strict_json
from rankgate.readers.judgments import read_mapped_gold
from rankgate.readers.mapped import is_number
from rankgate.readers.recognition import LINE_KEYS, SAMPLE_KEYS, Beginning, GoldFormat, Likeness, Recognised, RunFormat
from rankgate.readers.source import Source

MTEB_KEY = "mteb_model_meta"


def _read_run(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """As in TREC files the score decides, descending, ties by document id descending, compared as 64-bit floats."""
    del needs  # the format holds ids and scores only
    yield from _rankings(_queries_of(source), source.name, log)


def _read_mteb(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Of subset → split → `{query: {document: score}}` one with one: of several, nothing says which the gold is for."""
    del needs
    subsets = {subset: parts for subset, parts in _queries_of(source).items() if subset != MTEB_KEY}
    of_tasks = [(subset, parts) for subset, parts in subsets.items() if isinstance(parts, dict)]
    of_splits = [(f"{subset}/{split}", each) for subset, parts in of_tasks for split, each in parts.items()]
    splits = [(name, queries) for name, queries in of_splits if isinstance(queries, dict)]
    if len(splits) != 1:
        names = ", ".join(on_one_line(name) for name, _ in splits) or "none"
        what = f"holds {len(splits)} subsets and splits ({names}) where one can be read"
        hint = "save the predictions of that one as {query: {document: score}}"
        raise bad_input(f"{what}; {hint}", file=source.name)
    yield from _rankings(splits[0][1], source.name, log)


def _mteb_provenance(source: Source) -> Mapping[str, Any]:
    """The model and its revision, which stand first."""
    begins = source.head.partition(f'"{MTEB_KEY}"'.encode())[2].lstrip(b" \n\r\t:")
    try:
        meta = msgspec.json.decode(begins[: begins.find(b"}") + 1], type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    known = {"system": meta.get("model_name"), "revision": meta.get("revision")}
    return {key: value for key, value in known.items() if value is not None}


def _rankings(queries: dict[str, Any], name: str, log: ProblemLog) -> Iterator[Ranking]:
    for query_id, scores in queries.items():
        if flaw := _flaw(scores) if query_id else "its id is empty":
            log.add(Problem(f"query {shown(query_id)}: {flaw}", name))
            continue
        order = sorted(((float(score), doc) for doc, score in scores.items()), reverse=True)
        yield Ranking(query_id, [doc for _, doc in order], tied=len(order) > 1 and order[0][0] == order[-1][0])
    log.raise_if_any()


def _queries_of(source: Source) -> dict[str, Any]:
    """The one object of the input, in which numbers need not be finite."""
    text = source.text()
    try:
        value = line_json(text.encode())
    except (ValueError, RecursionError):
        try:
            value = strict_json(text, finite=False)
        except JsonError as error:
            raise bad_input(str(error), file=source.name, line=error.line) from error
    if not isinstance(value, dict):
        raise bad_input(f"expected {{query: {{document: score}}}}, found {shown(value)}", file=source.name)
    return value


def _flaw(scores: Any) -> str | None:
    """Names the first document whose score is no finite number, or that has no id."""
    if not isinstance(scores, dict):
        return f"expected a mapping of ids to scores, found {shown(scores)}"
    if "" in scores:
        return "the id of a result is empty"
    for doc, score in scores.items():
        if not is_number(score):
            return f"the score of {shown(doc)} is {shown(score)}, not a number"
        if not math.isfinite(score):
            return not_finite(doc, score)
    return None


def _recognise(start: Beginning) -> Recognised:
    """By the numbers of the first query: gains are small and whole, scores are not."""
    other_keys, no_query = _OF_SAMPLES if start.gold else _OF_LINES
    if start.gold and start.json == "{" and not start.keys & other_keys and re.match(_FIRST_IDS, start.head):
        return Likeness.sure(start.first_key not in {*other_keys, "tags", "negatives", "queries", "corpus"})
    query_id, numbers = start.first_scores if start.json == "{" and not start.keys & other_keys else ("", {})
    if not numbers or query_id in no_query:
        return Likeness.NO
    if start.gold and any(number != number or number % 1 for number in numbers.values()):  # noqa: PLR0124 -- NaN
        what = f"that looks like a run: the numbers of {shown(query_id)} are scores, and gains are whole"
        return f"{what}; if they are gains, name the format: dict"
    if not start.gold and all(type(each) is int and abs(each) <= _LARGEST_USUAL_GAIN for each in numbers.values()):
        what = f"that looks like qrels, which is a gold set: the numbers of {shown(query_id)} are small and whole"
        return f"{what}; if they are scores, name the format: dict"
    return Likeness.YES


_LARGEST_USUAL_GAIN = 10
_FIRST_IDS = rb'\{\s*(?:"[^"\\]*(?:\\.[^"\\]*)*"\s*:\s*\[\s*\]\s*,\s*)*"[^"\\]*(?:\\.[^"\\]*)*"\s*:\s*\[\s*["\d]'
# Keys that say that an object is a line or a sample, and those of its own mappings of numbers.
_OF_LINES = LINE_KEYS | SAMPLE_KEYS, {"latency_ms", "scores"}
_OF_SAMPLES = LINE_KEYS | SAMPLE_KEYS | {"id"}, {"expected_output", "judge_labels"}

GOLD = GoldFormat(
    recognise=_recognise,
    read=partial(read_mapped_gold, FieldMap(query_id="key", records="", items="value")),
    shape='`{"q-1": {"doc-3": 1, "doc-9": 0}}`: ranx, pytrec_eval, BEIR; or `{"q-1": ["doc-3"]}`',
)
RUN = RunFormat(
    recognise=_recognise,
    read=_read_run,
    shape='`{"q-1": {"doc-3": 18.4, "doc-9": 17.1}}`: ranx, pytrec_eval, BEIR, older MTEB',
    order="the score",
)
MTEB = RunFormat(
    recognise=lambda start: Likeness.sure(start.json == "{" and MTEB_KEY in {*start.keys, start.first_key}),
    read=_read_mteb,
    shape="MTEB's `<task>_predictions.json`",
    order="the score",
    looks_like="that looks like a run of MTEB",
    provenance=_mteb_provenance,
)
