"""Objects that note what a bucket is asked for."""

from __future__ import annotations

from typing import Any


class Counted:
    """Notes which objects are read."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def names(self, folder: str) -> Any:
        self.asked.append(f"{folder}/")
        return self.inner.names(folder)

    def read(self, names: Any) -> Any:
        self.asked.extend(names)
        return self.inner.read(names)
