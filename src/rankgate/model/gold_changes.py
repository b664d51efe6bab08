"""What became of the gold set since the baseline was accepted: queries added, removed, relabelled."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

MAX_IDS = 20


class GoldMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The gold set at the time of acceptance.

    `fingerprint` is of the judgments. `judged` has a short digest of each query's judgments, by which one sees later
    what changed; None in records, beside which the store keeps them, and for very large gold sets.
    `queries_fingerprint` is of ids and questions, None in older records; `as_of` the first and last day for which a
    question is asked, None where none says.
    """

    path: str
    queries: int
    fingerprint: str
    judged: Mapping[str, str] | None = None
    queries_fingerprint: str | None = None
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
