"""What went wrong, where, and what to do: the one error type that users ever see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import force_setattr

from rankgate.redaction import redacted, redacted_text


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong with an input, as `file:line: key: message`; no address in it shows a secret."""

    message: str
    file: str | None = None
    line: int | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        """Whatever is refused or not found is named here, and from here it goes to every output."""
        force_setattr(self, "message", redacted_text(self.message))
        force_setattr(self, "file", self.file and redacted(self.file))
        force_setattr(self, "key", self.key and redacted_text(self.key))

    def __str__(self) -> str:
        place = on_one_line(self.file or "")
        if place and self.line is not None:
            place += f":{self.line}"
        return ": ".join(part for part in (place, on_one_line(self.key or ""), self.message) if part)


class RankgateError(Exception):
    """Input that cannot be judged. Carries every problem found, so that one look mends them all."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


def bad_input(
    message: str, *, file: str | None = None, line: int | None = None, key: str | None = None
) -> RankgateError:
    """The error for a single problem; the caller raises it."""
    return RankgateError([Problem(message, file, line, key)])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'recall'?` for the nearest known word, or nothing when none is near."""
    import difflib  # noqa: PLC0415 -- paid only for a message

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def on_one_line(text: str) -> str:
    """Text as it is, or with its control characters escaped."""
    return text if text.isprintable() else repr(text)[1:-1]


def shown(value: object, limit: int = 60) -> str:
    """A found value for an error message: on one line, cut, and with control characters visible."""
    try:
        text = on_one_line(repr(value))
    except RecursionError:
        text = f"a deeply nested {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"
