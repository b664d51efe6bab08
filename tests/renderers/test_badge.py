"""The badge: what it says in a few characters, by the rules of shields.io's endpoint and drawn by shields' library."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import HOLDS, LATENCY, NOT_JUDGED, RECALL, REPORT
from tests.report_keys import with_keys

from rankgate.gates.conclude import with_conclusion
from rankgate.model.conclusion import Empties
from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.renderers.badge import LONGEST, render_badge

SEGMENT = replace(RECALL, segment="lang:en")
PASSES = replace(REPORT, verdict=Verdict.PASS, gates=[HOLDS])
WARNS = replace(REPORT, verdict=Verdict.WARN, gates=[HOLDS, LATENCY])

# https://shields.io/badges/endpoint-badge: the endpoint refuses any key but these.
TYPES: Mapping[str, type] = {"schemaVersion": int, "label": str, "message": str, "color": str, "isError": bool}


def badge_of(report: Report) -> dict[str, Any]:
    """The badge, which keeps the endpoint's rules."""
    text = render_badge(report)
    assert text.endswith("}\n")
    found: dict[str, Any] = json.loads(text)
    assert {key: type(value) for key, value in found.items()} == TYPES
    assert found["schemaVersion"] == 1
    assert found["message"], "the endpoint refuses an empty message"
    return found


def passing(delta_ci: tuple[float, float]) -> Report:
    return with_conclusion(replace(PASSES, gates=[changed(HOLDS, delta_ci=delta_ci)]))


@pytest.mark.parametrize(
    ("report", "message", "color", "is_error"),
    [
        pytest.param(PASSES, "pass · hit@5 90.0%", "brightgreen", False, id="pass"),
        pytest.param(
            passing((-0.02, 0.02)),
            "pass · hit@5 90.0%",
            "brightgreen",
            False,
            id="a loss of more than 3 points is ruled out",
        ),
        pytest.param(passing((-0.02, -0.01)), "pass · hit@5 90.0%", "green", False, id="lost, and allowed"),
        pytest.param(
            passing((-0.2, 0.1)), "pass · hit@5 90.0%", "yellowgreen", False, id="a pass that excludes little"
        ),
        pytest.param(
            with_conclusion(with_keys(REPORT, empties=Empties(empty=92, total=100))),
            "fail",
            "red",
            True,
            id="a run that is nearly empty has no value",
        ),
        pytest.param(WARNS, "warn · latency 35.0 ms", "yellow", False, id="warn"),
        pytest.param(REPORT, "fail · recall@5 80.0%", "red", True, id="fail"),
        pytest.param(NOT_JUDGED, "not judged", "lightgrey", True, id="not judged"),
        pytest.param(
            replace(REPORT, gates=[HOLDS, SEGMENT, RECALL]),
            "fail · recall@5 80.0%",
            "red",
            True,
            id="all before a part",
        ),
    ],
)
def test_a_badge_says_the_verdict_and_the_metric_that_speaks_for_it(
    report: Report, message: str, color: str, *, is_error: bool
) -> None:
    assert badge_of(report) == {
        "schemaVersion": 1,
        "label": "retrieval",
        "message": message,
        "color": color,
        "isError": is_error,
    }


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(replace(REPORT, gates=[HOLDS, SEGMENT]), id="a segment: its tag is not ours to show"),
        pytest.param(replace(REPORT, gates=[changed(RECALL, hard_check_failed=True)]), id="for single questions"),
        pytest.param(with_keys(REPORT, gates=[HOLDS], failures=["the baseline is old"]), id="for what no gate has"),
        pytest.param(replace(REPORT, gates=[replace(RECALL, metric="score(x)" + "x" * LONGEST)]), id="no room"),
        pytest.param(replace(REPORT, gates=[changed(RECALL, value=None)]), id="no value"),
    ],
)
def test_a_value_that_does_not_show_why_is_left_out(report: Report) -> None:
    assert badge_of(report)["message"] == "fail"


@given(st.text(max_size=50), st.sampled_from(list(Verdict)))
def test_whatever_a_metric_is_called_the_badge_is_one_short_line(text: str, verdict: Verdict) -> None:
    message = badge_of(replace(REPORT, verdict=verdict, gates=[changed(RECALL, metric=text, verdict=verdict)]))[
        "message"
    ]
    assert len(message) <= LONGEST
    assert [char for char in message if not char.isprintable() and char not in "\u200c\u200d"] == []


DRAW = """
import { readFileSync } from 'node:fs'
const { makeBadge } = await import(process.argv[1])
const { namedColors } = await import(process.argv[2])
const drawn = JSON.parse(readFileSync(0, 'utf8')).map(({ schemaVersion, isError, ...badge }) => {
  if (!(badge.color in namedColors)) throw new Error(`no color: ${badge.color}`)
  return makeBadge(badge)
})
console.log(JSON.stringify(drawn))
"""


def drawn(badges: Sequence[Mapping[str, Any]], node_modules: Path) -> list[ET.Element]:
    """The badges as shields' own library draws them."""
    library = node_modules / "badge-maker" / "lib"
    modules = [(library / name).as_uri() for name in ("index.js", "color.js")]
    command = ["node", "--input-type=module", "-e", DRAW, *modules]
    found = subprocess.run(command, input=json.dumps(badges), capture_output=True, text=True, check=True)
    return [ET.fromstring(svg) for svg in json.loads(found.stdout)]  # noqa: S314 -- made here from what we wrote


def test_shields_own_library_draws_each_of_them(node_modules: Path) -> None:
    hostile = replace(PASSES, gates=[replace(HOLDS, metric="</text><script>&\x1b[31m")])
    badges = [badge_of(report) for report in (PASSES, WARNS, REPORT, NOT_JUDGED, hostile)]
    svgs = drawn(badges, node_modules)
    assert [svg.get("aria-label") for svg in svgs] == [f"retrieval: {badge['message']}" for badge in badges]
    assert {element.tag.rpartition("}")[2] for svg in svgs for element in svg.iter()}.isdisjoint({"script", "a"})
