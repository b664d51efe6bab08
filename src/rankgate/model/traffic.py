"""What a report has of questions that users ask and nobody has labelled."""

from __future__ import annotations

import msgspec

from rankgate.model.values import Interval


class TrafficSegment(msgspec.Struct, frozen=True, kw_only=True):
    """The questions with a tag: how many were compared, how many of them changed, and their share of what changed."""

    tag: str
    asked: int
    changed: int
    share: float


class TrafficShare(msgspec.Struct, frozen=True, kw_only=True):
    """What a conclusion says of the traffic.

    `changed` is the share of the traffic, by counts, that gets other results, `asked` how many questions were compared,
    `segment` where the change lies, beyond chance. Of `labelled` questions all needed labels are there, and no more
    than `bound` can be lost.
    """

    changed: float
    asked: int
    segment: str | None
    labelled: int
    bound: float


class TrafficExample(msgspec.Struct, frozen=True, kw_only=True):
    """A question that gets other results, the most asked first; its text only where that may be published."""

    query_id: str
    question: str | None
    count: float
    before: tuple[str, ...]
    now: tuple[str, ...]


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """What a report has of the traffic.

    The file has `named` questions and the run `recorded`; compared are the `asked` that the accepted run has. Of these
    `changed` get other results among the first `k`, in another order too where that counts; `share` is that by counts,
    `bound` what can be lost there, `interval` the exact one of the share of questions. `limit` is the drop that the
    gate allows. `empty` have no result any more, and `absent` no line in the run. `measured` says that each gate over
    traffic has the labels that it needs. `concentrated` is the tag where more changed than chance puts there.
    `repeated` are ids of questions whose id or text the gold set has, too.
    """

    named: int
    recorded: int = 0
    asked: int = 0
    changed: int = 0
    share: float = 0.0
    bound: float = 0.0
    interval: Interval = (None, None)
    k: int = 0
    limit: float | None = None
    empty: int = 0
    absent: int = 0
    labelled: int = 0
    measured: bool = False
    concentrated: TrafficSegment | None = None
    segments: list[TrafficSegment] = []
    examples: list[TrafficExample] = []
    repeated: list[str] = []
