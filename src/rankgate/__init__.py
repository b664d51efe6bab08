"""rankgate, the merge gate for retrieval: a run, a gold set and a baseline in; pass, warn or fail out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgate.errors import RankgateError
    from rankgate.metrics.evaluation import Evaluation, score
    from rankgate.recording import Recorded, RecordingError, record

__version__ = "0.1.0"

__all__ = ["Evaluation", "RankgateError", "Recorded", "RecordingError", "__version__", "record", "score"]

_HOMES = {
    **dict.fromkeys(("record", "Recorded", "RecordingError"), "rankgate.recording"),
    **dict.fromkeys(("score", "Evaluation"), "rankgate.metrics.evaluation"),
    "RankgateError": "rankgate.errors",
}


def __getattr__(name: str) -> Any:
    """Public names load on first use, so that `import rankgate` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rankgate' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
