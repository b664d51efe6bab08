"""What a change does to questions without labels: the second line of the conclusion, and where other results come."""

from __future__ import annotations

import msgspec

from rankgate.model.traffic import Traffic, TrafficExample
from rankgate.model.traffic_words import other_results, traffic_command, traffic_line
from rankgate.model.values import Unit
from rankgate.model.wording import count_text, value_text
from rankgate.renderers.escape import Pieces, Sentence, Text, command_line

MAX_SEGMENTS = 20


class ChangedSegment(msgspec.Struct, frozen=True):
    """How many questions with a tag were compared, and how many of them get other results."""

    tag: str
    questions: int
    changed: int


class ChangedQuestion(msgspec.Struct, frozen=True):
    """A question that gets other results: the documents that are no longer among them, and those that came."""

    id: str
    question: str | None
    gone: tuple[str, ...]
    new: tuple[str, ...]


class ChangedTraffic(msgspec.Struct, frozen=True):
    """The questions that get other results: how many, in which segments, and those that are asked most."""

    count: str
    segments: tuple[ChangedSegment, ...]
    examples: tuple[ChangedQuestion, ...]


def traffic_sentence(traffic: Traffic) -> Sentence:
    """The line, and the command that draws questions to label."""
    pieces = Pieces(40)
    line = pieces.sentence(traffic_line(traffic, pieces.spell))
    command = traffic_command(traffic)
    return (*line, " To label: ", Text(command_line(command))) if command else line


def changed_traffic(traffic: Traffic) -> ChangedTraffic | None:
    """None where no question is known to get other results."""
    if not traffic.changed:
        return None
    segments = [ChangedSegment(each.tag, each.asked, each.changed) for each in traffic.segments[:MAX_SEGMENTS]]
    return ChangedTraffic(_count(traffic), tuple(segments), tuple(map(_question, traffic.examples)))


def _count(traffic: Traffic) -> str:
    """`12 of 300 questions get other results among the first 5: 4.0%, 95% interval 2.1% to 6.9%.`."""
    verb = "gets" if traffic.changed == 1 else "get"
    of = count_text(traffic.asked, "question")
    text = f"{traffic.changed:,} of {of} {verb} {other_results(traffic.k)}"
    low, high = traffic.interval
    if low is None or high is None:
        return f"{text}."
    share = value_text(traffic.changed / traffic.asked, Unit.SHARE)
    return f"{text}: {share}, 95% interval {value_text(low, Unit.SHARE)} to {value_text(high, Unit.SHARE)}."


def _question(example: TrafficExample) -> ChangedQuestion:
    gone = tuple(document for document in example.before if document not in example.now)
    new = tuple(document for document in example.now if document not in example.before)
    return ChangedQuestion(example.query_id, example.question, gone, new)
