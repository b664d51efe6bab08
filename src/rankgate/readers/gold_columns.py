"""What the columns of a gold set's table are, or the keys of its records: by their names, or as a map to write."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rankgate.errors import Problem, bad_input, shown
from rankgate.readers.base import finite_number
from rankgate.readers.field_map import DOC, QUERY, TEXT, FieldMap, Sets, named
from rankgate.readers.mapping import named_in
from rankgate.readers.recognition import is_texts, plain
from rankgate.readers.segments import names_part

GAIN = (
    {"rating", "relevance", "rel", "gain", "grade", "judgment", "judgement", "label", "qrel", "relevant"},
    {"score"},
)
_KINDS = ("doc", "document", "chunk", "passage", "article", "page")
_MARKS = ("expected", "relevant", "gold", "correct")
_RELEVANT = {f"{mark}{kind}" for mark in _MARKS for kind in (*_KINDS, "source")}
_RELEVANT_IDS = {f"{name}id" for name in (*_RELEVANT, *_MARKS)}
LISTS = (
    {"ratings", "relevant", "positives", "docids", "documentids", "chunkids"}
    | {f"{name}s" for name in _RELEVANT | _RELEVANT_IDS},
    {f"{kind}s" for kind in _KINDS},
)
# A column `id` is the question's where another one names documents; the last set does so only where nothing else does.
_SURELY_DOCUMENTS: Sets = (*DOC[:-1], DOC[-1] - {"id"}, _RELEVANT | _RELEVANT_IDS, {*_KINDS})
DOCUMENT: Sets = (*_SURELY_DOCUMENTS, {"id"}, {"url", "uri", "file", "filename", "path", "source"})
QUESTION: Sets = (TEXT, {"questiontext", "userquestion", "userquery", "utterance", "prompt"})
ANSWERS: Sets = (
    {"answer", "answers", "expectedanswer", "response", "reply", "groundtruth", "reference"},
)  # no documents
_LARGEST_RATING = 10
_LONGEST_NAME = 5  # words of a column's name
ROW_NUMBERS: Sets = ({"nr", "no", "num", "number", "row", "index", "idx", "line", "pos", "position"},)
_MOST_NAMES = 20
_UNKNOWN = "COLUMN"
_SEPARATORS = ("\n", ";", "|")  # of documents in one cell
_JSON = ("[", "{")  # how a cell begins that is no such list
# What `init --map` calls the keys of a map.
WORDS = {"id": "query_id", "question": "question", "document": "chunk_id", "documents": "items", "rating": "gain"}
_WHAT = {"query_id": "the question", "chunk_id": "the document", "gain": "the rating", "items": "the documents"}


def roles_of(names: Sequence[str]) -> dict[str, list[str]]:
    """The columns that may be each key of a map; topic is a part of the questions where their texts are there."""
    text = named(QUESTION, names)
    items = named(LISTS, names)
    document = named(DOCUMENT, names)
    gain = named(GAIN, names)
    has_ids = bool(named(_SURELY_DOCUMENTS, names))
    if has_ids and (named(({"relevant"},), items) or not named(LISTS[:1], items)):
        items = []  # `doc_id,documents,relevant` has ids, what may be texts, and what rates them
    gain = [name for name in gain if name not in items]
    ids = QUERY[0] - {"topic"} if text else QUERY[0]
    row_id = {"id"} if items or has_ids else set[str]()
    query = named((ids, row_id, *QUESTION), names)
    return {"query_id": query, "question": text, "items": items, "chunk_id": document, "gain": gain}


def usual_fields(
    names: Sequence[str], location: Problem, kind: str = "gold", first: Mapping[str, Any] | None = None
) -> FieldMap:
    """The map that the columns of a table imply, or the keys of a record; else a RankgateError says what to write.

    Without a rating what is listed is relevant, unless the `first` row has what may be one under another name. A frame
    has a rating.
    """
    roles = roles_of(names)
    wanted = ["query_id"] if roles["items"] else ["query_id", "chunk_id"]
    has_ratings = bool(roles["gain"] or _maybe_ratings(names, roles, first or {}))
    if (kind == "frame" or "rank" in names or has_ratings) and not roles["items"]:
        wanted.append("gain")
    doubtful = [key for key in wanted if len(roles[key]) != 1]
    if doubtful:
        advice = f"rename its columns to {', '.join(wanted)}"
        if kind != "frame":
            advice = _commands(_suggested(names, roles, wanted, first or {}), location.file or "FILE")
        message = f"{_doubt(names, roles, doubtful[0])}; {advice}"
        raise bad_input(message, file=location.file, line=location.line, key=location.key)
    optional = [key for key in ("question", "items") if len(roles[key]) == 1]
    known: dict[str, Any] = {key: roles[key][0] for key in (*wanted, *optional)}
    return with_segments(FieldMap(**known), names)


def with_segments(fields: FieldMap, names: Sequence[str]) -> FieldMap:
    """The map with the columns that are named like a part of the questions."""
    parts = [name for name in names if name not in read_by(fields) and names_part(name)]
    return replace(fields, tags=(*fields.tags, *parts))


def read_by(fields: FieldMap) -> set[str]:
    """The columns that a map reads, and the keys of a record."""
    names = {*named_in(fields).values(), *fields.tags}
    return names | {name.partition(".")[0] for name in names}


def unknown_columns(first: Mapping[str, Any], file: str) -> str:
    """Why a table is no gold set whose columns are not known, by its first row, and the map to write."""
    names = [*first]
    roles = roles_of(names)
    documents = "items" if any(isinstance(value, list) for value in first.values()) else "chunk_id"
    wanted = ["query_id"] if roles["items"] else ["query_id", documents]
    doubtful = next((key for key in wanted if len(roles[key]) != 1), documents)
    if documents in wanted and (roles["gain"] or _maybe_ratings(names, roles, first)):
        wanted.append("gain")
    if doubtful != "query_id" and named(({"id"},), roles["chunk_id"]):
        roles |= {"query_id": roles["chunk_id"], "chunk_id": []}  # alone beside the text it is the question's
    if not any(roles.values()) and any("?" in name or len(name.split()) > _LONGEST_NAME for name in names):
        row = ", ".join(map(shown, names))
        return f"the first row has no names of columns ({row}); write `question,document` above it"
    return f"{_doubt(names, roles, doubtful)}; {_commands(_suggested(names, roles, wanted, first), file)}"


def _doubt(names: Sequence[str], roles: Mapping[str, Sequence[str]], key: str) -> str:
    listed = ", ".join(map(shown, names[:_MOST_NAMES])) or "none"
    both = " and ".join(map(shown, roles[key]))
    what = f"{both} could both be {_WHAT[key]}" if both else f"no column is known to be {_WHAT[key]}"
    return f"{what} (columns: {listed})"


def _maybe_ratings(names: Sequence[str], roles: Mapping[str, Sequence[str]], first: Mapping[str, Any]) -> list[str]:
    """The columns of no known name that have a small number, as ratings are."""
    known = {name for each in (*roles.values(), named(ROW_NUMBERS, names)) for name in each}
    others = [name for name in names if name.strip() and name not in known and not names_part(name)]
    return [name for name in others if (_number(first.get(name)) or _LARGEST_RATING + 1) <= _LARGEST_RATING]


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return finite_number(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _suggested(
    names: Sequence[str], roles: Mapping[str, Sequence[str]], wanted: Sequence[str], first: Mapping[str, Any]
) -> dict[str, str]:
    """A map to begin with: what is known, and for the rest the columns whose first cell looks most like it."""
    known = {key: roles[key][0] for key in wanted if len(roles[key]) == 1}
    known |= {"question": roles["question"][0]} if roles["question"] else {}
    blanks = {name: len(str(first.get(name) or "").split()) - 1 for name in names}
    if "query_id" not in known and named(QUESTION, roles["query_id"]):
        known["query_id"] = roles["query_id"][0]
    if "query_id" not in known:
        known["query_id"] = _first([*roles["query_id"], *names], known, {name for name in names if blanks[name] > 1})
    if "items" in wanted:
        known["items"] = _first(names, known, {name for name in names if is_texts(first[name])})
    if "chunk_id" in wanted and "chunk_id" not in known:
        known["chunk_id"] = _first([*roles["chunk_id"], *names], known, {name for name in names if blanks[name] == 0})
    if "gain" in wanted and "gain" not in known:
        known["gain"] = _first([*roles["gain"], *_maybe_ratings(names, roles, first)], known, {*names})
    known.setdefault("question", known["query_id"])
    return {key: known[key] for key in ("query_id", "question", "items", "chunk_id", "gain") if key in known}


def _first(names: Sequence[str], known: Mapping[str, str], likely: set[str]) -> str:
    """The first column that is not known yet, of the likely ones if there is one."""
    answers = named(ANSWERS, names)
    free = [name for name in names if name.strip() and name not in {*known.values(), *answers} and not names_part(name)]
    return next((name for name in free if name in likely), free[0] if free else _UNKNOWN)


def _commands(fields: Mapping[str, str], file: str) -> str:
    """The option that says which column is what, and the same for criteria that are there."""
    pairs = ",".join(f"{word}={name}" for word, name in in_words(fields).items())
    command = f"rankgate init --gold {shlex.quote(file)} --map {shlex.quote(pairs)}"
    return (
        f"say which is which: `{command}`, or in criteria, beside `path` under inputs.gold: `map: {map_text(fields)}`"
    )


def in_words(fields: Mapping[str, Any]) -> dict[str, str]:
    """What a map names, by the words of `init --map`; the question is its own id where nothing else is."""
    stated = {key: name if str(name).isprintable() else _UNKNOWN for key, name in fields.items()}
    by_word = {word: stated[key] for word, key in WORDS.items() if stated.get(key)}
    if by_word.get("id") == by_word.get("question"):
        del by_word["id"]
    return by_word


def map_text(fields: Mapping[str, str | Sequence[str]]) -> str:
    """A map as criteria have it, on one line."""
    pairs = []
    for key, name in fields.items():
        text = _scalar(name) if isinstance(name, str) else f"[{', '.join(map(_scalar, name))}]"
        pairs.append(f"{key}: {text}")
    return f"{{{', '.join(pairs)}}}"


def _scalar(name: str) -> str:
    name = name if name.isprintable() else _UNKNOWN
    return name if re.fullmatch(r"[^\W\d]\w*(?:[ -]\w+)*", name) else json.dumps(name, ensure_ascii=False)


def fields_of(written: Sequence[str]) -> FieldMap:
    """The map that `--map question=Frage,document=Dokument,tags=Sprache` states; a RankgateError says what it lacks."""
    known = {**WORDS, **{key: key for key in (*WORDS.values(), "tags")}}
    fields: dict[str, Any] = {}
    for pair in (pair for each in written for pair in _pairs(each, known)):
        word, equals, name = pair.partition("=")
        if word.strip() not in known or not equals or not name.strip():
            raise bad_input(f"{shown(pair)} is not one of {'=COLUMN, '.join((*WORDS, 'tags'))}=COLUMN", key="--map")
        fields[known[word.strip()]] = name.strip()
    fields.setdefault("query_id", fields.get("question"))
    if fields["query_id"] is None:
        raise bad_input("names no question; add question=COLUMN", key="--map")
    if "chunk_id" not in fields and "items" not in fields:
        raise bad_input("names no document; add document=COLUMN", key="--map")
    tags = [name.strip() for name in fields.pop("tags", "").split(",")]
    return FieldMap(**fields, tags=tuple(filter(None, tags)))


def _pairs(written: str, known: Mapping[str, str]) -> list[str]:
    """The pairs between commas; other commas are part of a column's name, or of a list of them."""
    return re.split(rf",(?=\s*(?:{'|'.join(known)})=)", written)


def by_text(fields: FieldMap, rows: Sequence[tuple[Problem, Any]]) -> FieldMap:
    """The map, with the question's text as its id where the column `id` numbers rows, of which a question has several.

    It does where no two rows have the same id, and some have the same text. `rows` are each row's place and the row.
    """
    if plain(fields.query_id) != "id" or fields.question is None or fields.items:
        return fields
    ids = {row.get(fields.query_id) for _, row in rows}
    texts = {row.get(fields.question) for _, row in rows}
    numbers_rows = len(texts) < len(ids) == len(rows)
    return replace(fields, query_id=fields.question) if numbers_rows else fields


def split_cells(rows: list[tuple[Problem, Any]], fields: FieldMap) -> tuple[list[tuple[Problem, Any]], str]:
    """The rows of a table without ratings with cells that hold several documents split, and the sign between these.

    Cells are split where each question has one row, at the first sign of a list that any of them has; at a comma where
    the column is called a list, or no part of any cell has a blank.
    """
    column = fields.items or fields.chunk_id or ""
    cells = [row.get(column) for _, row in rows]
    texts = [cell for cell in cells if isinstance(cell, str) and not cell.startswith(_JSON)]
    questions = [row.get(fields.query_id) for _, row in rows]
    if not fields.items and len({*questions}) < len(questions):
        return rows, ""
    sign = next((each for each in _SEPARATORS if any(each in text.strip() for text in texts)), "")
    parts = [part for text in texts for part in text.split(",")]
    if (
        not sign
        and len(parts) > len(texts)
        and (fields.items or not any(re.search(r"\S\s+\S", part) for part in parts))
    ):
        sign = ","
    if not sign and not fields.items:
        return rows, ""
    addresses = [part for text in texts if "://" in text for part in text.split(sign or ",")]
    if any("://" not in part for part in addresses):
        return rows, ""
    return [(location, {**row, column: _documents(row.get(column), sign or ",")}) for location, row in rows], sign


def _documents(cell: Any, sign: str) -> Any:
    if not isinstance(cell, str) or cell.startswith(_JSON):
        return cell
    return [part.strip() for part in cell.split(sign) if part.strip()]
