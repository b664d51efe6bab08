"""Rankings become the compressed run file that is stored, and that becomes an opened run again.

The same rankings give the same bytes on every system, so that a run file is named by its content.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from rankgate.baselines.records import RESTORE, Record
from rankgate.errors import RankgateError, bad_input
from rankgate.model.lineage import GoldMark
from rankgate.model.values import CONTEXT_DEPTH, Generated, Item, Ranking, RunField
from rankgate.readers.base import TEXT_KEY, Run
from rankgate.readers.source import shown_path
from rankgate.readers.stored import read_stored
from rankgate.readers.strict_lines import ANSWER_KEYS

DEFAULT_DEPTH = 100
_LEVEL = 4  # 6 takes more than twice the time for a file that is 8 % smaller
_GZIP = 31  # zlib's number of the format, whose header has no name and no time
_SYSTEM = 9  # the byte of the header that names the system
_BLOCK = 1 << 20  # bytes of lines that are compressed at a time, so that a large run is never there as a whole
_OF_ALL = frozenset({"query_id", "retrieved", TEXT_KEY, RunField.TRAFFIC.value})  # keys that no metric asks for
_LATENCY = RunField.LATENCY.value  # looked up once, not for every line
RUN = re.compile(r"run-[0-9a-f]{12}\.jsonl\.gz")  # the name of a run file, as `run_name` makes it


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """A run file and what a record says of it; `of_gold` of its queries are the gold set's."""

    data: bytes
    sha256: str
    depth: int
    queries: int
    cut: int
    kept: list[str]
    answers: int = 0
    verdicts: int = 0
    traffic: int = 0
    of_gold: int = 0


def run_name(sha256: str) -> str:
    """The name of the run file with this digest."""
    return f"run-{sha256[:12]}.jsonl.gz"


def pack(rankings: Iterable[Ranking], *, source: str, depth: int = DEFAULT_DEPTH, gold: Collection[str] = ()) -> Packed:
    """Ids to `depth`, and what the rankings were read with: latencies, answers, and what gated metrics need.

    A list is kept deeper than that where the prompt of an answer held what lies there. Of traffic questions
    their ids, those of their documents and a digest of the text are kept, nothing else: what is stored is committed.

    Raises:
        RankgateError: the run is malformed or has no query.
    """
    encode = msgspec.json.Encoder().encode
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    packed = bytearray()
    lines = bytearray()
    kept: set[str] = set()
    queries = of_gold = cut = answers = verdicts = traffic = 0
    for ranking in rankings:
        entry = _of_traffic(ranking, depth) if ranking.traffic else kept_line(ranking, depth)
        kept.update(entry)
        if details := ranking.details:
            answers += details.generated is not None
            verdicts += _count(details.records) if details.records else 0
            kept.update(key for item in details.items or () for key in _stated(item))
        lines += encode(entry) + b"\n"
        traffic += ranking.traffic
        queries += not ranking.traffic
        of_gold += ranking.query_id in gold and not ranking.traffic
        cut += len(ranking.ids) > depth and not ranking.traffic
        if len(lines) >= _BLOCK:
            packed += deflate.compress(lines)
            lines.clear()
    if not queries:
        raise bad_input("the run has no question; nothing to accept", file=source)
    packed += deflate.compress(lines) + deflate.flush()
    packed[_SYSTEM] = 255  # unknown: the same bytes on every system
    data = bytes(packed)
    digest = hashlib.sha256(data).hexdigest()
    counts = {"queries": queries, "cut": cut, "answers": answers, "verdicts": verdicts, "traffic": traffic}
    return Packed(data=data, sha256=digest, depth=depth, kept=sorted(kept - _OF_ALL), of_gold=of_gold, **counts)


def pack_run(
    run: Run,
    traffic: Sequence[Ranking],
    *,
    source: str,
    depth: int = DEFAULT_DEPTH,
    gold: Collection[str] = (),
) -> Packed:
    """The same of an opened run and the traffic's rankings: quickly, or carefully where a line is out of order."""
    if run.quick is not None and run.quick.by_line:
        with suppress(ValueError, RecursionError, RankgateError), run.quick.opened() as reading:
            if reading is not None:
                return pack(chain(_each_once(reading[0]), traffic), source=source, depth=depth, gold=gold)
    return pack(chain(run.rankings, traffic), source=source, depth=depth, gold=gold)


def _each_once(rankings: Iterable[Ranking]) -> Iterator[Ranking]:
    """The rankings; a ValueError at the second of one query."""
    seen: set[str] = set()
    for ranking in rankings:
        if ranking.query_id in seen:
            raise ValueError(ranking.query_id)
        seen.add(ranking.query_id)
        yield ranking


def with_context_texts(
    rankings: Iterable[Ranking], with_texts: Iterable[Ranking], depth: int = CONTEXT_DEPTH
) -> Iterator[Ranking]:
    """Rankings whose answers have the texts of what the prompt held beside them, so that they can be judged again.

    The items stay without texts: a metric that reads these would take the few for all. The `rankings` are read with
    `RunField.ANSWER`, those `with_texts` with `RunField.TEXTS` too. `depth` items are a prompt's where no run says so.
    """
    for ranking, other in zip(rankings, with_texts, strict=True):
        details = ranking.details
        if details is None or details.generated is None:
            yield ranking
            continue
        texts = {item_id: text for item_id, text in other.context(depth) if text is not None}
        yield replace(ranking, details=replace(details, generated=replace(details.generated, texts=texts or None)))


def recorded(packed: Packed, *, source: str, provenance: Mapping[str, Any], gold: GoldMark | None, date: str) -> Record:
    """The record of a packed run, of which nobody has said yet at which commit it was made or what became of it."""
    return Record(
        run=run_name(packed.sha256),
        sha256=packed.sha256,
        depth=packed.depth,
        queries=packed.queries,
        cut=packed.cut,
        kept=packed.kept,
        answers=packed.answers or UNSET,
        verdicts=packed.verdicts or UNSET,
        date=date,
        source=source,
        provenance=provenance,
        gold=gold,
    )


def checked(data: bytes, record: Record, file: str) -> bytes:
    """The bytes of a record's run file.

    Raises:
        RankgateError: their digest is not the record's.
    """
    if hashlib.sha256(data).hexdigest() != record.sha256:
        raise bad_input(f"damaged baseline: its digest is not its record's; {RESTORE}", file=file)
    return data


def refuse_shallow(record: Record, deepest: int, *, name: str) -> None:
    """A RankgateError where a metric reads ranks down to `deepest` and the run is not stored that deep."""
    if deepest > record.depth:
        stored = f"the gates read ranks down to {deepest}, this baseline was stored to {record.depth}"
        raise bad_input(f"{stored}; accept its run again with --depth {deepest}", file=name)


def unpack(record: Record, data: bytes, needs: frozenset[RunField], *, name: str) -> Run:
    """Open a stored run, whose file has this `data`, its digest checked; lists are read when they are iterated over."""
    return replace(
        read_stored(data, needs, shown_path(name)),
        provenance={**record.provenance, "accepted": record.date},
        depth=record.depth,
        cut=record.cut,
        gold=record.gold,
    )


def _of_traffic(ranking: Ranking, depth: int) -> dict[str, Any]:
    """The line of a question of the traffic."""
    docs = ranking.details.items if ranking.details else None
    items = [{"id": name, "doc_id": item.doc_id} for name, item in zip(ranking.ids, docs or (), strict=False)]
    stated = {TEXT_KEY: ranking.question_digest} if ranking.question_digest else {}
    return {
        "query_id": ranking.query_id,
        "retrieved": (items or ranking.ids)[:depth],
        **stated,
        RunField.TRAFFIC.value: True,
    }


def kept_line(ranking: Ranking, depth: int) -> dict[str, Any]:
    """The line of a ranking, as a run writes it; what it does not state is left out."""
    details = ranking.details
    if details is None:
        return {"query_id": ranking.query_id, "retrieved": ranking.ids[:depth]}
    deepest = _depth_of_context(ranking, details.generated, depth) if details.generated else depth
    entry: dict[str, Any] = {"query_id": ranking.query_id, "retrieved": _listed(ranking, deepest)}
    if details.raw is not None:
        entry[RunField.RAW.value] = _listed(details.raw, depth)
    if details.rewrites is not None:
        entry[RunField.REWRITES.value] = [{"topk": _listed(each, depth)} for each in details.rewrites]
    if details.latency_ms:
        entry[_LATENCY] = details.latency_ms
    if details.source is not None:
        entry[RunField.SOURCE.value] = details.source[0] if len(details.source) == 1 else details.source
    if details.entities is not None:
        entry[RunField.ENTITIES.value] = details.entities
    if (scores := details.scores) is not None:
        judges = (details.judges or {}) if scores else {}
        by_judge = {name: {"value": scores[name], "judge": judge} for name, judge in judges.items()}
        entry[RunField.SCORES.value] = {**scores, **by_judge}
    if generated := details.generated:
        answered = (generated.answer, generated.citations, generated.context, generated.texts, generated.abstained)
        entry |= {key: value for key, value in zip(ANSWER_KEYS, answered, strict=True) if value is not None}
    if details.records:
        entry[RunField.VERDICTS.value] = msgspec.Raw(details.records)
    return entry


def _depth_of_context(ranking: Ranking, generated: Generated, depth: int) -> int:
    """How many items of an answered query are kept, so that its prompt can be put together again."""
    with_text = set(generated.texts or {})  # beside the answer, or in place of its item
    if generated.context is None:
        in_prompt = with_text.union(ranking.ids[:CONTEXT_DEPTH])
    else:
        in_prompt = set(generated.context) - with_text
    ranks = [rank for rank, item_id in enumerate(ranking.ids, start=1) if item_id in in_prompt]
    return max([depth, *ranks])


def _count(records: bytes) -> int:
    """How many there are; 0 of what is no list, which an uploaded run may have under the same key."""
    with suppress(msgspec.MsgspecError):
        return len(msgspec.json.decode(records, type=list[msgspec.Raw]))
    return 0


def _listed(ranking: Ranking, depth: int) -> list[Any]:
    """Bare ids, or items where they have more than that."""
    items = ranking.details.items if ranking.details else None
    if not items:
        return ranking.ids[:depth]
    return [{"id": item_id, **_stated(item)} for item_id, item in zip(ranking.ids[:depth], items, strict=False)]


def _stated(item: Item) -> dict[str, object]:
    """What a run states of an item beside its id, by the key that says it."""
    keys = {
        RunField.DOCS: item.doc_id,
        RunField.VERSIONS: item.version,
        RunField.TEXTS: item.text,
        RunField.ITEM_SCORES: item.score,
    }
    keys |= {RunField.SOURCE: item.source}
    stated = {need.value: value for need, value in keys.items()} | {"start": item.start, "end": item.end}
    return {key: value for key, value in stated.items() if value is not None}
