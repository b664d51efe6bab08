"""Which accepted run a check compares with: for which commit it was accepted, and how far that lies behind.

And what became since of the gold set, and of what the run says of itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from rankgate.model.answers import JudgeMark
from rankgate.model.base_ref import SHORT_SHA, CommitSha

How = Literal["merge_base", "ancestor", "newest", "here"]

AnchorProblem = Literal["log", "gone", "run", "foreign"]

MAX_IDS = 20  # of queries that changed, of each kind


class AnchorMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The acceptance from which small losses add up, as a later one remembers it: its id and day.

    `steps` acceptances followed it. `given_up` has by metric the loss since then that one of them was told of.
    """

    id: str
    date: str
    steps: int = 0
    given_up: Mapping[str, float] = {}


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted record that was compared with, and the commit that it was accepted for; None where nobody said.

    `how` is `merge_base` where that is the very commit at which the pull request left the base (or HEAD), `ancestor`
    where it is the nearest one before it, `newest` where no ancestor has any, `here` where the store is a directory and
    holds but one. `commits_behind` is how many commits lie between; None where that commit is no known ancestor.
    `days_behind` is how many days before the day of the check; negative in the future. `reason` is why it was accepted
    although a gate said no, `by` who did, `failed` that its gates failed then; `judge` judged its answers, and
    `packages` have the versions of others that gave it metrics, where that is known.
    """

    record: str
    date: str
    commit: CommitSha | None = None
    branch: str | None = None
    how: How = "here"
    commits_behind: int | None = None
    days_behind: int
    reason: str | None = None
    by: str | None = None
    failed: bool = False
    judge: JudgeMark | None = None
    packages: Mapping[str, str] = {}

    @property
    def shown(self) -> str:
        """The commit, or the day where there is none."""
        return f"for {self.commit[:SHORT_SHA]}" if self.commit else f"on {self.date}"


class GoldMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The gold set at the time of acceptance.

    `fingerprint` is of the judgments, `queries_fingerprint` of ids and questions. `judged` has a short digest of each
    query's judgments, by which one sees later what changed; None in records, beside which the store keeps them, and for
    very large gold sets. `as_of` is the first and last day for which a question is asked, None where none says.
    """

    path: str
    queries: int
    fingerprint: str
    queries_fingerprint: str
    judged: Mapping[str, str] | None = None
    as_of: tuple[str, str] | None = None


class GoldChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How the gold set differs from the one that was current when the baseline was accepted.

    `queries` is how many it had then. `added`, `removed` and `relabelled` count queries; None where the baseline does
    not say which it knew, so that all one can tell is that something changed. The ids are the first of each.
    """

    queries: int
    added: int | None = None
    removed: int | None = None
    relabelled: int | None = None
    added_ids: list[str] = []
    removed_ids: list[str] = []
    relabelled_ids: list[str] = []


# Components in the order in which people look at them, each with the keys that state it; docs/formats.md has the table.
COMPONENTS: dict[str, tuple[str, ...]] = {
    "system": ("system",),
    "index": ("index_version", "index"),
    "corpus": ("corpus_version", "corpus"),
    "dataset": ("dataset_version", "dataset"),
    "chunker": ("chunker", "chunker_version", "chunking", "chunk_size", "chunk_overlap"),
    "embedder": ("embedder", "embedding_model", "embedder_version"),
    "reranker": ("reranker", "reranker_model", "reranker_version"),
    "results before reranking": ("k_raw",),
    "code": ("code_version", "commit"),
}


GOLD, OTHER = "gold", "other"
LABELS, QUESTIONS, AS_OF = "labels", "questions", "as_of"
KNOWN_KEYS = frozenset(key for keys in COMPONENTS.values() for key in keys)
RECORDING = "recording"  # how the run was made, which is another thing each time
_EXACT = 1e15  # below it, a whole number as a fraction is exact


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not what it was when the baseline was made; values are texts, None where one is not stated.

    `what` is a component, `gold`, or `other` for keys that name none. `key` is there where that is not all of it: the
    key within the component, dotted where it is nested; of the gold set `labels`, `questions` or `as_of`; of `other`
    the key of the run line.
    """

    what: str
    key: str | None = None
    before: str | None
    after: str | None


def text_of(value: object) -> str:
    """A value of JSON as text: a text as it is, 600 and 600.0 alike, a list by commas, an object with sorted keys."""
    if isinstance(value, str):
        return " ".join(value.split())
    plain = _with_whole_numbers(value)
    if isinstance(plain, list) and plain and not any(isinstance(each, list | dict) for each in plain):
        return ", ".join(map(text_of, plain))
    return msgspec.json.encode(plain, order="sorted").decode()


def _with_whole_numbers(value: object) -> object:
    """The value with whole numbers as such, however they were written."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, dict):
        return {key: _with_whole_numbers(each) for key, each in value.items()}
    return [_with_whole_numbers(each) for each in value] if isinstance(value, list) else value
