"""What a label is worth, by what happened before and after it: a table of windows."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.rows import each_row

from rankgate.forges.pull_labels import Given, Reported, Seen, worth
from rankgate.model.base_ref import LabelState


def at(time: str) -> str:
    return f"2026-01-31T{time}{'' if time.count(':') > 1 else ':00'}Z"


NOON = at("12:00")  # when the label is set
SEEN, OTHER_GATE, OTHER_RUN = "gate1.run1", "gate2.run1", "gate1.run2"
REPORTED = {"09:00": SEEN}


def seen_by(now: str, reports: Mapping[str, str], moved: str = "", *, queued: bool = False) -> Seen:
    listed = tuple(Reported(at(time), judged) for time, judged in reports.items())
    return Seen(judged=now, reports=listed, moved=moved and at(moved), author="bob", queued=queued)


@each_row(
    ("seen", "state"),
    [
        pytest.param(seen_by(SEEN, REPORTED), "counts", id="reported, then set"),
        pytest.param(seen_by(SEEN, REPORTED | {"12:05": SEEN}), "counts", id="reported again, as the label makes it"),
        pytest.param(seen_by(SEEN, {"08:00": OTHER_RUN} | REPORTED), "counts", id="another run was reported before"),
        pytest.param(seen_by(SEEN, {"11:59": SEEN}), "counts", id="a minute after the report"),
        pytest.param(seen_by(SEEN, {"11:59:01": SEEN}), "unreported", id="less than a minute after it"),
        pytest.param(seen_by(SEEN, {}), "unreported", id="no report, or they are lost"),
        pytest.param(seen_by(SEEN, {"12:05": SEEN}), "unreported", id="pushed just before the label, reported since"),
        pytest.param(seen_by(OTHER_GATE, REPORTED), "changed", id="another gate at the base, or another base, since"),
        pytest.param(seen_by(SEEN, REPORTED | {"13:00": OTHER_GATE}), "counts", id="the same, and back again"),
        pytest.param(seen_by(SEEN, REPORTED | {"10:00": OTHER_GATE}), "changed", id="set on another base, then back"),
        pytest.param(seen_by(OTHER_RUN, REPORTED), "changed", id="run again"),
        pytest.param(
            seen_by(OTHER_RUN, REPORTED | {"13:00": OTHER_RUN}), "changed", id="its run expired and was recorded again"
        ),
        pytest.param(seen_by(OTHER_RUN, REPORTED | {"11:00": OTHER_RUN}), "counts", id="run again, reported, then set"),
        pytest.param(seen_by(SEEN, REPORTED, "10:00"), "unreported", id="A, B, A: set on B or on A unreported"),
        pytest.param(seen_by(SEEN, REPORTED, "13:00"), "unreported", id="A, B, A: back on A since"),
        pytest.param(seen_by(SEEN, REPORTED, "09:00"), "unreported", id="forced within the second of the report"),
        pytest.param(seen_by(SEEN, REPORTED, "08:30"), "counts", id="rebased, reported, set"),
        pytest.param(seen_by(SEEN, {"13:30": SEEN}, "13:00"), "unreported", id="rebased since"),
        pytest.param(seen_by(SEEN, REPORTED | {"11:00": ""}), "changed", id="a report that could not say what it saw"),
        pytest.param(seen_by("", {"11:00": ""}), "changed", id="nobody can say what is judged"),
        pytest.param(seen_by(OTHER_RUN, REPORTED, queued=True), "counts", id="in the queue, which has its own run"),
        pytest.param(seen_by(OTHER_GATE, REPORTED, queued=True), "changed", id="in the queue, onto another gate"),
        pytest.param(seen_by("", {"11:00": ""}, queued=True), "changed", id="in the queue, and nobody can say"),
    ],
)
def test_a_label_counts_while_what_was_reported_before_it_is_what_is_judged(seen: Seen, state: LabelState) -> None:
    assert worth(Given(by="alice", at=NOON, writes=True), seen) == state


@pytest.mark.parametrize(
    ("by", "writes", "own", "state"),
    [
        pytest.param("alice", True, "", "counts", id="a writer"),
        pytest.param("mallory", False, "", "outsider", id="a bot, or who may not write"),
        pytest.param("bob", True, "", "own", id="the author"),
        pytest.param("Bob", True, "", "own", id="the author, in other letters"),
        pytest.param("bob", True, "accept_own", "counts", id="the author, where the base allows that"),
        pytest.param("bob", False, "accept_own", "outsider", id="the author, who may not write"),
        pytest.param("", True, "", "unknown", id="nobody knows who"),
    ],
)
def test_who_may_set_a_label(by: str, writes: bool, own: str, state: LabelState) -> None:  # noqa: FBT001
    given = Given(by=by, at=NOON, writes=writes) if by else None
    seen = Seen(judged=SEEN, reports=(Reported(at("09:00"), SEEN),), author="bob", accept_own=bool(own))
    assert worth(given, seen) == state
