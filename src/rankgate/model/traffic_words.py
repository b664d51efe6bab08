"""What a change does to the traffic, in words."""

from __future__ import annotations

from collections.abc import Callable

from rankgate.model.traffic import Traffic
from rankgate.model.values import TOLERANCE, Unit
from rankgate.model.wording import count_text, first_text, value_text

TO_LABEL = 40  # questions of a sheet
NOT_THERE = "the questions of `inputs.traffic` are not here, so that none was compared"


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


def other_results(k: int) -> str:
    """What questions get whose list changed: `other results among the first 5`, or `another first result`."""
    return "another first result" if k == 1 else f"other results among {first_text(k)}"


def traffic_command(traffic: Traffic) -> list[str]:
    """What to type for labels; nothing where none are needed."""
    if not traffic.changed or _ruled_out(traffic) or traffic.measured or traffic.labelled >= traffic.changed:
        return []
    return ["rankgate", "gold", "pool", "--traffic", "--n", str(min(TO_LABEL, traffic.changed))]


def absent_text(traffic: Traffic) -> str:
    """That the run has not all lines that the accepted run has."""
    of = f"{traffic.absent:,} of {count_text(traffic.asked, 'traffic question')}"
    return f"the run has no line for {of} of the accepted run, which count as empty; record them again"


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


def _ruled_out(traffic: Traffic) -> bool:
    return traffic.limit is not None and traffic.bound <= traffic.limit + TOLERANCE
