"""The folder that the pages are written to: what lies there and is not ours stays as it is.

A marker names our files. It is written first, so that a run that is killed leaves nothing that the next one would take
for somebody else's. The index, which links to all pages, is written last.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from rankgate.errors import bad_input
from rankgate.files.writing import write_atomic
from rankgate.renderers.dashboards.values import INDEX

MARKER = ".rankgate-dashboard"
NO_JEKYLL = ".nojekyll"  # GitHub Pages serves the files as they are
_KIND = "rankgate dashboard"


class _Marker(msgspec.Struct, frozen=True):
    written_by: str
    files: list[str]


def write_site(folder: str, pages: Mapping[str, str]) -> None:
    """Write all pages by file name, `index.html` among them, and delete those of an earlier dashboard that are no more.

    Raises:
        RankgateError: the folder holds something else, a file that is not ours has a page's name, or it cannot be
            written.
    """
    ours = _ours(folder)
    wanted = {**pages, NO_JEKYLL: ""}
    directory = Path(folder)
    for file in (directory / name for name in sorted(set(wanted) - ours)):
        if file.exists() or file.is_symlink():
            message = "is not a file that `rankgate dashboard` wrote, and a page would have its name; move it away"
            raise bad_input(message, file=file.as_posix())
    _mark(directory, ours | set(wanted))
    for name in sorted(wanted, key=lambda name: (name == INDEX, name)):
        write_atomic(directory / name, wanted[name])
    try:
        for name in ours - set(wanted):
            (directory / name).unlink(missing_ok=True)
    except OSError as error:
        raise bad_input(f"cannot be written: {error.strerror}", file=folder) from error
    _mark(directory, set(wanted))


def _ours(folder: str) -> set[str]:
    """The files of an earlier dashboard; none where the folder is empty or not there."""
    directory = Path(folder)
    try:
        names = {file.name for file in directory.iterdir()} if directory.exists() else set()
        if MARKER not in names:
            if names:
                why = f"is not empty and was not written by `rankgate dashboard` (it has no {MARKER})"
                raise bad_input(f"{why}; name an empty or a new directory", file=folder)
            return set()
        marker = msgspec.json.decode((directory / MARKER).read_bytes(), type=_Marker)
    except NotADirectoryError as error:
        raise bad_input("is a file; name a directory", file=folder) from error
    except OSError as error:
        raise bad_input(f"cannot be read: {error.strerror}", file=folder) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise bad_input("is damaged; name a new directory", file=(directory / MARKER).as_posix()) from error
    return {name for name in marker.files if _plain(name)}


def _plain(name: str) -> bool:
    """Whether a marker may name it: a page or `.nojekyll` in the folder itself, whoever wrote the marker."""
    stem, dot, suffix = name.rpartition(".")
    return name == NO_JEKYLL or (dot + suffix == ".html" and stem.isascii() and stem.replace("-", "").isalnum())


def _mark(directory: Path, names: set[str]) -> None:
    marker = _Marker(_KIND, sorted(names))
    write_atomic(directory / MARKER, msgspec.json.format(msgspec.json.encode(marker), indent=2) + b"\n")
