"""Waivers as the base has them: a pull request cannot waive itself, so what it changes of them counts once merged."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from rankgate.against_base.files import FilesAtBase
from rankgate.criteria import WAIVERS, Criteria, beside
from rankgate.waivers import Waivers, load_waivers

WaiversChange = Literal["added", "deleted", "edited"]


class WaiversAtBase(msgspec.Struct, frozen=True, kw_only=True):
    """The base's waivers, the label by which its criteria let violations be waived, and what became of the file.

    Both are those of the base alone: criteria of the pull request that stand in for broken ones waive nothing.
    """

    waivers: Waivers
    label: str | None = None
    changed: WaiversChange | None = None


def waivers_at_base(own: Criteria, criteria: Criteria | None, path: str, files: FilesAtBase) -> WaiversAtBase:
    """Read what the base waives.

    A file that git does not know may have been written by the pull request's own code, so that it is not read: unlike
    a gold set or a baseline, waivers count only as the base has them.

    Args:
        own: the pull request's criteria.
        criteria: the base's; None where it has none that can be read.
        path: of the criteria, beside which waivers lie unless criteria say otherwise.
        files: as the base has them.

    Raises:
        RankgateError: they are malformed.
        GitError: git cannot read them.
    """
    named = criteria.waivers if criteria else beside(path, WAIVERS)
    found = files.find(named)
    at_base = Path(found) if found is not None and found != named and Path(found).is_file() else None
    return WaiversAtBase(
        waivers=load_waivers(str(at_base), name=files.name(named)) if at_base else Waivers(name=named),
        label=criteria.waiver_label if criteria else None,
        changed=_changed(at_base, Path(own.waivers)),
    )


def _changed(at_base: Path | None, own: Path) -> WaiversChange | None:
    if not own.is_file():
        return "deleted" if at_base else None
    if at_base is None:
        return "added"
    return None if at_base.read_bytes() == own.read_bytes() else "edited"
