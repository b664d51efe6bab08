"""What a change does to questions without labels: the second line of the conclusion, and where other results come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from rankgate.model.conclusion import Traffic, TrafficExample, TrafficSegment
from rankgate.model.values import TOLERANCE, Unit
from rankgate.model.wording import count_text, first_text, value_text
from rankgate.renderers.escape import LONGEST_COMMAND, Pieces, Sentence, Text, command_line

MAX_SEGMENTS = 20

TO_LABEL = 40  # questions of a sheet


class ChangedTraffic(msgspec.Struct, frozen=True):
    """The questions that get other results: how many, in which segments, and those that are asked most."""

    count: str
    segments: Sequence[TrafficSegment]
    examples: Sequence[TrafficExample]


def traffic_sentence(traffic: Traffic) -> Sentence:
    """The line, and the command that draws questions to label."""
    pieces = Pieces(40)
    line = pieces.sentence(traffic_line(traffic, pieces.spell))
    command = traffic_command(traffic)
    return (*line, " To label: ", Text(command_line(command), LONGEST_COMMAND)) if command else line


def traffic_line(traffic: Traffic, name: Callable[[str], str]) -> str:
    """The second line of the conclusion, such as `12.0% of 2,000 traffic questions get other results`.

    `name` spells a tag.
    """
    if not traffic.asked:
        return _uncompared(traffic)
    of = f"the {traffic.asked:,} traffic questions compared (of {traffic.named:,})"
    of = count_text(traffic.asked, "traffic question") if traffic.asked == traffic.named else of
    if not traffic.changed:
        return f"None of {of} gets {other_results(traffic.k)}."
    where = ""
    if traffic.concentrated:
        where = f", {value_text(traffic.concentrated.share, Unit.SHARE, 0)} of them {name(traffic.concentrated.tag)}"
    empty = f", {traffic.empty:,} none at all" if traffic.empty else ""
    share = value_text(traffic.share, Unit.SHARE)
    get = "gets" if traffic.asked == 1 else "get"
    return f"{share} of {of} {get} other results{where}{empty}: {_worth(traffic)}."


def _uncompared(traffic: Traffic) -> str:
    named = count_text(traffic.named, "traffic question")
    if not traffic.recorded:
        return f"The run has no line for the {named}: record again."
    are = "is" if traffic.named == 1 else "are"
    return f"The {named} {are} compared as soon as a run with traffic is accepted."


def _worth(traffic: Traffic) -> str:
    """What is known of whether that is worse."""
    if _ruled_out(traffic):
        lost = f"{traffic.bound * 100:.1f}"
        allowed = f"{(traffic.limit or 0.0) * 100:.1f}"
        more = "further " if traffic.labelled else ""
        return f"at most {lost} points can be lost there, {allowed} are allowed; no {more}label is needed"
    if not traffic.labelled:
        return "unlabelled"
    return f"{traffic.labelled:,} of {traffic.changed:,} labelled"


def traffic_command(traffic: Traffic) -> list[str]:
    """What to type for labels; nothing where none are needed."""
    if not traffic.changed or _ruled_out(traffic) or traffic.measured or traffic.labelled >= traffic.changed:
        return []
    return ["rankgate", "gold", "pool", "--traffic", "--n", str(min(TO_LABEL, traffic.changed))]


def _ruled_out(traffic: Traffic) -> bool:
    return traffic.limit is not None and traffic.bound <= traffic.limit + TOLERANCE


def changed_traffic(traffic: Traffic) -> ChangedTraffic | None:
    """None where no question is known to get other results."""
    if not traffic.changed:
        return None
    return ChangedTraffic(_count(traffic), traffic.segments[:MAX_SEGMENTS], traffic.examples)


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


def other_results(k: int) -> str:
    """What questions get whose list changed: `other results among the first 5`, or `another first result`."""
    return "another first result" if k == 1 else f"other results among {first_text(k)}"
