"""Tiny packages, and a directory that is an index of them as pip and uv read it."""

from __future__ import annotations

import hashlib
import html
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def wheel(
    name: str,
    version: str = "1.0",
    *,
    tag: str = "py3-none-any",
    files: Mapping[str, str] | None = None,
    requires: Sequence[str] = (),
) -> tuple[str, bytes]:
    """A wheel's file name and bytes; with a module of its name and version, and these files beside it."""
    about = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    members = {
        f"{name}.py": f"version = {version!r}\n",
        **(files or {}),
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{about}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    members[f"{about}/RECORD"] = "".join(f"{member},,\n" for member in [*members, f"{about}/RECORD"])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member, text in members.items():
            archive.writestr(zipfile.ZipInfo(member), text)
    return f"{name}-{version}-{tag}.whl", packed.getvalue()


def sdist(name: str, version: str = "1.0", *, files: Mapping[str, str]) -> tuple[str, bytes]:
    """A source distribution's file name and bytes."""
    members = {"PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", **files}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for member, text in members.items():
            about = tarfile.TarInfo(f"{name}-{version}/{member}")
            about.size = len(text.encode())
            archive.addfile(about, io.BytesIO(text.encode()))
    return f"{name}-{version}.tar.gz", packed.getvalue()


def sha256(data: bytes) -> str:
    """A file's digest as locks write it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Index:
    """A simple index in a directory; what is put into it is listed with its digest."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.files: dict[str, dict[str, tuple[bytes, str]]] = {}

    @property
    def url(self) -> str:
        """The index as a file of this machine."""
        return self.directory.as_uri()

    def put(self, file: tuple[str, bytes], *, yanked: bool = False) -> str:
        """List a file, in place of one of the same name; returns its digest."""
        name, data = file
        project = name.partition("-")[0].replace("_", "-")
        self.files.setdefault(project, {})[name] = (data, ' data-yanked="broken"' if yanked else "")
        folder = self.directory / project
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        links = "".join(
            f'<a href="{html.escape(each)}#{sha256(content).replace(":", "=")}"{note}>{each}</a>\n'
            for each, (content, note) in self.files[project].items()
        )
        (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n", encoding="utf-8")
        return sha256(data)
