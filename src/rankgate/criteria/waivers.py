"""`ship-waivers.yaml`: which gates may be violated, how far, until when, and who answers for it."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import msgspec
from pydantic import AfterValidator, Field, ValidationInfo

from rankgate.criteria.gate import AllowedDrop, Gate, too_wide
from rankgate.criteria.parts import Listed, NotWritten, Part, Text, optional, refuse, validated
from rankgate.criteria.paths import MAX_BYTES
from rankgate.errors import bad_input, shown
from rankgate.model.gate_result import GateResult
from rankgate.model.values import TOLERANCE
from rankgate.readers.dates import days_after, days_between, iso_day
from rankgate.readers.source import open_source
from rankgate.readers.yaml_text import KeyPath, load_yaml, quoted

ENTRY_DAYS = 30
_DIGITS = 3  # of a ceiling, after the point; two waivers of one gate rarely differ by less

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LINK = re.compile(r"https?://[^\s/]+(/\S*)?")
_UNFILLED = re.compile(r"<.*>")  # how a ready entry marks what its writer fills in


def _day(text: str) -> str:
    if not _DAY.fullmatch(text) or iso_day(text) is None:
        refuse([((), f"expected a day such as 2026-12-31, found the text {shown(text)}")])
    return text


def _link(text: str) -> str:
    if not _LINK.fullmatch(text):
        refuse([((), f"expected a link that begins with https:// or http://, found {shown(text)}")])
    return text


def _filled_in(text: str, info: ValidationInfo) -> str:
    if not text.strip() or _UNFILLED.fullmatch(text.strip()):
        what = "why" if info.field_name == "reason" else "who answers for it"
        refuse([((), f"say {what}, in place of {shown(text)}")])
    return text


class Waiver(Part):
    """A gate that may be violated for a while."""

    gate: Text = Field(description="The gate's name in ship-criteria.yaml.")
    segment: str | None = optional(
        "Only this segment of the gate, such as lang:pt-BR; absent: the gate over all queries."
    )
    up_to: AllowedDrop = Field(
        description="How far beyond its limit the gate may be, in the metric's own unit: 0.05 is 5 points."
    )
    expires: Annotated[str, AfterValidator(_day)] = Field(
        description="The last day on which the waiver counts, as 2026-12-31."
    )
    issue: Annotated[str, AfterValidator(_link)] = Field(description="Link to the issue in which the work is tracked.")
    reason: Annotated[Text, AfterValidator(_filled_in)] = Field(description="Why the violation is accepted for now.")
    by: Annotated[Text, AfterValidator(_filled_in)] = Field(description="Who answers for it.")
    line: NotWritten[int | None] = None

    def days_left(self, date: str) -> int:
        """Days until it expires: 0 on its last day, negative afterwards."""
        return days_between(date, self.expires)

    def covers(self, violation: float, date: str) -> bool:
        """Whether it is in force and wide enough."""
        return self.days_left(date) >= 0 and violation <= self.up_to + TOLERANCE


class WaiverFile(Part):
    """Waivers of rankgate: violations of ship criteria that are accepted until a day."""

    waivers: Listed[Waiver] = Field(description="The waivers; one for a gate or a segment of it.")


class Waivers(msgspec.Struct, frozen=True, kw_only=True):
    """All waivers of a file, no two for the same gate and segment; none where there is no file."""

    name: str
    entries: tuple[Waiver, ...] = ()

    def of(self, gate: str, segment: str | None) -> Waiver | None:
        """The waiver of a gate, or of a segment of it."""
        return next((each for each in self.entries if (each.gate, each.segment) == (gate, segment)), None)


def load_waivers(path: str, gates: Iterable[Gate] = (), *, name: str | None = None) -> Waivers:
    """Read and check waivers of `gates`; messages call the file by its path, or by `name`."""
    with open_source(path) as source:
        text = source.text(MAX_BYTES, "waivers are not that long; is this another file?")
        return parse_waivers(text, name or source.name, gates)


def parse_waivers(text: str, called: str, gates: Iterable[Gate] = ()) -> Waivers:
    """Check waivers that are read already; see `load_waivers`.

    Raises:
        RankgateError: every problem of the text.
    """
    document = load_yaml(text, called)
    if not isinstance(document.value, dict):
        written = "nothing; write `waivers: []` for none" if document.value is None else shown(document.value)
        raise bad_input(f"expected `waivers:` with a list of waivers, found {written}", file=called, line=1)
    problems = [*_repeated(document.value), *_too_wide(document.value, gates)]
    waivers = validated(document, WaiverFile, called, called, problems).waivers
    lines = (document.line(("waivers", index)) for index in range(len(waivers)))
    entries = (each.model_copy(update={"line": line}) for each, line in zip(waivers, lines, strict=True))
    return Waivers(name=called, entries=tuple(entries))


def _repeated(written: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Waivers of a gate and segment that has one already, whatever else is wrong with the file."""
    waivers = written.get("waivers")
    seen: set[tuple[str, str | None]] = set()
    for index, waiver in enumerate(waivers if isinstance(waivers, list) else ()):
        if not isinstance(waiver, dict):
            continue
        gate = waiver.get("gate")
        segment = waiver.get("segment")
        if isinstance(gate, str) and isinstance(segment, str | None):
            if (gate, segment) in seen:
                yield ("waivers", index, "gate"), "a waiver of this gate and segment stands above already; keep one"
            seen.add((gate, segment))


def _too_wide(written: Mapping[str, Any], gates: Iterable[Gate]) -> Iterator[tuple[KeyPath, str]]:
    """Waivers of more than their gate's metric can be beyond a limit: 30 for 30 % would waive everything."""
    metrics = {gate.name: gate.metric for gate in gates}
    waivers = written.get("waivers")
    for index, waiver in enumerate(waivers if isinstance(waivers, list) else ()):
        gate = waiver.get("gate") if isinstance(waiver, dict) else None
        metric = metrics.get(gate) if isinstance(gate, str) else None
        if metric is not None and isinstance(waiver.get("up_to"), int | float):
            for key, text in too_wide(waiver["up_to"], metric):
                yield ("waivers", index, "up_to", *key), text


def entry(result: GateResult, date: str) -> str:
    """A waiver to copy for a gate whose `violation` is known, as YAML; it expires thirty days after `date`.

    It does not validate until it is filled in.
    """
    segment = "" if result.segment is None else f"    segment: {quoted(result.segment)}\n"
    return (
        f"  - gate: {quoted(result.name)}\n{segment}"
        f"    up_to: {ceiling(result.decision.violation or 0.0)}\n"
        f"    expires: {days_after(date, ENTRY_DAYS)}\n"
        '    issue: "<link to the issue>"\n'
        '    reason: "<why this is accepted for now>"\n'
        '    by: "<who answers for it>"\n'
    )


def ceiling(violation: float) -> str:
    """A violation rounded up to three decimals, as YAML writes a number."""
    scale = 10**_DIGITS
    scaled = violation * scale
    # A value such as 0.18000000000000002 is 0.18: waivers are compared with that tolerance too.
    rounded = round(scaled) if math.isclose(scaled, round(scaled), rel_tol=0, abs_tol=1e-6) else math.ceil(scaled)
    return f"{rounded // scale}.{rounded % scale:0{_DIGITS}d}"
