"""rankgate, the merge gate for retrieval: a run, a gold set and a baseline in; pass, warn or fail out."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgate.api import Report, check, compare
    from rankgate.collecting.recorder import Recorded, RecordingError, record
    from rankgate.errors import RankgateError
    from rankgate.metrics.evaluation import Evaluation, RunComparison, score

__version__ = "0.1.0"
# What every line that installs names, by `scripts/make_pages.py --install`: a wheel's path until there is an address.
INSTALL = "./rankgate-0.1.0-py3-none-any.whl"

__all__ = ["Evaluation", "RankgateError", "Recorded", "RecordingError", "Report", "RunComparison", "__version__"]
__all__ += ["check", "compare", "record", "score"]

_HOMES = {
    **dict.fromkeys(("record", "Recorded", "RecordingError"), "rankgate.collecting.recorder"),
    **dict.fromkeys(("score", "Evaluation", "RunComparison"), "rankgate.metrics.evaluation"),
    **dict.fromkeys(("check", "compare", "Report"), "rankgate.api"),
    "RankgateError": "rankgate.errors",
}


class _Package(ModuleType):
    """Keeps `rankgate.check` the function: importing the module of that name, the story, would bind it here."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "check" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def pip_install(extra: str) -> str:
    """The command that installs rankgate with an extra."""
    named = f"rankgate[{extra}] @ {INSTALL}" if "://" in INSTALL else f"{INSTALL}[{extra}]"
    return f"pip install '{named}'"


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Public names load on first use, so that `import rankgate` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rankgate' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
