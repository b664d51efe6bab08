"""`ship-waivers.yaml`: which gates may be violated, how far, until when, and who answers for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from rankgate.criteria import Criteria
from rankgate.errors import bad_input, shown
from rankgate.model.report import GateResult
from rankgate.model.values import TOLERANCE
from rankgate.quoting import quoted
from rankgate.readers.dates import days_after, days_between, iso_day
from rankgate.readers.source import open_source
from rankgate.shapes import shaped
from rankgate.yaml_text import KeyPath, YamlDocument, load_yaml

MOST_BYTES = 1_000_000
ENTRY_DAYS = 30
_DIGITS = 3  # of a ceiling, after the point; two waivers of one gate rarely differ by less
ACCEPT_GOLD, ACCEPT_RUN = "rankgate: accept gold", "rankgate: accept run path"  # labels of pull requests

Standing = Literal["counts", "stranger", "head moved", "unreported", "unknown", "not the head's"]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LINK = re.compile(r"https?://[^\s/]+(/\S*)?")
_UNFILLED = re.compile(r"<.*>")  # how a ready entry marks what its writer fills in


class WrittenWaiver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gate that may be violated for a while."""

    gate: Annotated[str, Meta(min_length=1, description="The gate's name in ship-criteria.yaml.")]
    segment: Annotated[
        str | None,
        Meta(description="Only this segment of the gate, such as lang:pt-BR; absent: the gate over all queries."),
    ] = None
    up_to: Annotated[
        float,
        Meta(ge=0, description="How far beyond its limit the gate may be, in the metric's own unit: 0.05 is 5 points."),
    ]
    expires: Annotated[str, Meta(description="The last day on which the waiver counts, as 2026-12-31.")]
    issue: Annotated[str, Meta(description="Link to the issue in which the work is tracked.")]
    reason: Annotated[str, Meta(min_length=1, description="Why the violation is accepted for now.")]
    by: Annotated[str, Meta(min_length=1, description="Who answers for it.")]


class WrittenWaivers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Waivers of rankgate: violations of ship criteria that are accepted until a day."""

    waivers: Annotated[list[WrittenWaiver], Meta(description="The waivers; one for a gate or a segment of it.")]


class Waiver(msgspec.Struct, frozen=True, kw_only=True):
    """A checked waiver; `expires` is an ISO day, and the last one on which it counts."""

    gate: str
    segment: str | None
    up_to: float
    expires: str
    issue: str
    reason: str
    by: str
    line: int | None = None

    def days_left(self, date: str) -> int:
        """Days until it expires: 0 on its last day, negative afterwards."""
        return days_between(date, self.expires)

    def covers(self, violation: float, date: str) -> bool:
        """Whether it is in force and wide enough."""
        return self.days_left(date) >= 0 and violation <= self.up_to + TOLERANCE


class Waivers(msgspec.Struct, frozen=True, kw_only=True):
    """All waivers of a file, no two for the same gate and segment; none where there is no file."""

    name: str
    entries: tuple[Waiver, ...] = ()

    def of(self, gate: str, segment: str | None) -> Waiver | None:
        """The waiver of a gate, or of a segment of it."""
        return next((each for each in self.entries if (each.gate, each.segment) == (gate, segment)), None)


class SetLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label that stands on the pull request, and what it is worth.

    It counts if whoever set it may write to the repository, and for the commit that it was set on alone, which had been
    reported on by then. Of `not the head's` it is about a gold set that the job made, and not the commit's.
    """

    name: str
    by: str
    standing: Standing


def labels_in(path: str) -> tuple[SetLabel, ...]:
    """The labels that the reporting job has written down for a check."""
    return msgspec.json.decode(Path(path).read_bytes(), type=tuple[SetLabel, ...])


def waivers_of(criteria: Criteria) -> Waivers:
    """The waivers beside the criteria, or where their `inputs.waivers` says; none where there is no such file.

    Raises:
        RankgateError: every problem of the file; or the criteria name a file that is not there.
    """
    if not criteria.waivers_named and not Path(criteria.waivers).exists():
        return Waivers(name=criteria.waivers)
    return load_waivers(criteria.waivers)


def load_waivers(path: str, *, name: str | None = None) -> Waivers:
    """Read and check waivers.

    Args:
        path: of the file.
        name: how messages call it; as its path where absent.

    Raises:
        RankgateError: every problem of the file, with line and key path.
    """
    with open_source(path) as source:
        text = source.text(MOST_BYTES, "waivers are not that long; is this another file?")
        return parse_waivers(text, name or source.name)


def parse_waivers(text: str, called: str) -> Waivers:
    """Check waivers that are read already; see `load_waivers`.

    Raises:
        RankgateError: every problem of the text.
    """
    document = load_yaml(text, called)
    if not isinstance(document.value, dict):
        found = "nothing; write `waivers: []` for none" if document.value is None else shown(document.value)
        raise bad_input(f"expected `waivers:` with a list of waivers, found {found}", file=called, line=1)
    written = shaped(document, WrittenWaivers, called, _check_of(document))
    return Waivers(
        name=called,
        entries=tuple(
            Waiver(
                gate=each.gate,
                segment=each.segment,
                up_to=each.up_to,
                expires=each.expires,
                issue=each.issue,
                reason=each.reason,
                by=each.by,
                line=document.line(("waivers", index)),
            )
            for index, each in enumerate(written.waivers)
        ),
    )


def _check_of(document: YamlDocument) -> Callable[[msgspec.Struct, KeyPath], Iterator[tuple[str | KeyPath, str]]]:
    """What is wrong with the meaning of a waiver, as (key, message) pairs."""

    def check(written: msgspec.Struct, path: KeyPath) -> Iterator[tuple[str | KeyPath, str]]:
        if not isinstance(written, WrittenWaiver):
            return
        earlier = [each for each in document.value["waivers"][: path[-1]] if isinstance(each, dict)]
        if (written.gate, written.segment) in [(each.get("gate"), each.get("segment")) for each in earlier]:
            yield "gate", "a waiver of this gate and segment stands above already; keep one"
        if not _DAY.fullmatch(written.expires) or iso_day(written.expires) is None:
            yield "expires", f"expected a day such as 2026-12-31, found the text {shown(written.expires)}"
        if not _LINK.fullmatch(written.issue):
            yield "issue", f"expected a link that begins with https:// or http://, found {shown(written.issue)}"
        for key, text in (("reason", written.reason), ("by", written.by)):
            if not text.strip() or _UNFILLED.fullmatch(text.strip()):
                yield key, f"say {'why' if key == 'reason' else 'who answers for it'}, in place of {shown(text)}"

    return check


def entry(result: GateResult, date: str) -> str:
    """A waiver to copy for a gate that is violated now, as YAML. It does not validate until it is filled in.

    Args:
        result: a gate whose `violation` is known.
        date: the ISO day of today; the entry expires thirty days later.
    """
    segment = "" if result.segment is None else f"    segment: {quoted(result.segment)}\n"
    return (
        f"  - gate: {quoted(result.name)}\n{segment}"
        f"    up_to: {ceiling(result.violation or 0.0)}\n"
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
    whole = round(scaled) if math.isclose(scaled, round(scaled), rel_tol=0, abs_tol=1e-6) else math.ceil(scaled)
    return f"{whole // scale}.{whole % scale:0{_DIGITS}d}"
