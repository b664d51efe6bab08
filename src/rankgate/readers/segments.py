"""What a gold set says of its questions beside the judgments: parts, which become tags, and what nothing reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from rankgate.model.values import Reading, Sample

# Columns and keys that usually name a part of the questions: `lang` with es becomes the tag lang:es.
SEGMENTS = frozenset(
    {"lang", "language", "locale", "category", "topic", "subtopic", "source", "tenant", "type", "question_type"}
    | {"query_type", "domain", "intent", "product", "region", "country", "market", "segment", "difficulty", "persona"}
)
TAGS = frozenset({"tag", "tags"})  # whose cells are tags as they stand
MOST_VALUES = 30  # of a column that becomes tags without being named in a map


def key_of(name: str) -> str:
    """The name of a column or key as the key of a tag."""
    return re.sub(r"\s+", "_", name.strip().casefold())


def names_part(name: str) -> bool:
    """Whether a column or key of this name becomes tags."""
    return key_of(name) in SEGMENTS | TAGS


class Beside:
    """Collects parts of the questions by column, and the names of what is not read, while a gold set is read.

    `mapped` are the columns that a map names as tags, which are kept however many values they have.
    """

    def __init__(self) -> None:
        self.mapped = frozenset[str]()
        self.separator: tuple[str, str] | None = None
        self.columns: dict[str, str] = {}
        self._unread: dict[str, None] = {}
        self._tags: dict[str, dict[str, list[str]]] = {}

    def leave_out(self, names: Iterable[str]) -> None:
        """Note columns or keys that nothing reads."""
        self._unread.update(dict.fromkeys(names))

    def add(self, query_id: str, column: str, value: Any) -> None:
        """Note what a column says of a question."""
        tags = _tags(column, value)
        if tags:
            self._tags.setdefault(column, {}).setdefault(query_id, []).extend(tags)

    def add_all(self, query_id: str, record: Mapping[str, Any], known: frozenset[str]) -> None:
        """Note all keys of an object that are not `known`."""
        if record.keys() <= known:
            return
        for key, value in record.items():
            if key not in known and names_part(key):
                self.add(query_id, key, value)
            elif key not in known:
                self.leave_out([key])

    def tagged(self, samples: dict[str, Sample]) -> dict[str, Sample]:
        """The samples with their tags."""
        crowded = self._crowded()  # by columns of too many values there are no segments
        for column, by_query in self._tags.items():
            if column in crowded:
                continue
            for query_id, tags in by_query.items():
                sample = samples.get(query_id)
                if sample:
                    samples[query_id] = replace(sample, tags=tuple(dict.fromkeys([*sample.tags, *tags])))
        return samples

    def reading(self) -> Reading:
        """What was read as tags, and what was not read."""
        crowded = self._crowded()
        kept = [column for column in self._tags if column not in crowded]
        return Reading(
            segments=tuple(kept),
            unread=tuple(self._unread),
            crowded=crowded,
            separator=self.separator,
            columns=self.columns,
        )

    def _crowded(self) -> dict[str, int]:
        """The columns with too many values for segments, and how many these are."""
        crowded: dict[str, int] = {}
        for column, by_query in self._tags.items():
            count = len({tag for tags in by_query.values() for tag in tags})
            if count > MOST_VALUES and column not in self.mapped and key_of(column) not in TAGS:
                crowded[column] = count
        return crowded


def _tags(column: str, value: Any) -> list[str]:
    """The tags that a cell or a value stands for; none for an empty one."""
    entries = value if isinstance(value, list | tuple) else [value]
    if key_of(column) in TAGS:
        tags: list[str] = []
        for entry in entries:
            if isinstance(entry, str):
                tags += [text.strip().strip("\"'") for text in re.split(r"[;|,\n]", entry.strip("[]"))]
        return [tag for tag in tags if tag]
    texts = [_text(entry) for entry in entries]
    return [f"{key_of(column)}:{text}" for text in texts if text]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).casefold()
    if isinstance(value, int | float):
        return f"{value:g}"
    return value.strip() if isinstance(value, str) else ""
