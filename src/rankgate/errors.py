"""What went wrong, where, and what to do: the one error type that users ever see, without what may be secret in it.

In doubt more of an address is left out than needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

_Call = TypeVar("_Call", bound=Callable[..., Any])
_in_python: ContextVar[bool | None] = ContextVar("in_python", default=None)


def from_python(function: _Call, *, python: bool = True) -> _Call:
    """What Python calls: its errors name parameters, and options where a command (`python=False`) calls it in turn."""

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        outer = _in_python.get()
        before = _in_python.set(python if outer is None else outer)
        try:
            return function(*given, **named)
        finally:
            _in_python.reset(before)

    return cast("_Call", called)


def option(name: str, value: str = "") -> str:
    """How the caller would write an option: `--gold FILE` and `--allow-errors 1`, or `gold=` and `allow_errors=1`."""
    if _in_python.get():
        return f"{name.replace('-', '_')}={'' if value.isupper() else value}"
    return f"--{name} {value}".rstrip()


class ProblemKind(Enum):
    """What is wrong: an input, the gold set with the ids of today, a run that is to be recorded, or rankgate itself."""

    INPUT = "input"
    GOLD_STALE = "gold_stale"
    NOT_RECORDED = "not_recorded"
    INTERNAL = "internal"


# A scheme of more than one letter, so that a drive of Windows is none. What handles paths leaves one slash of two.
_SCHEME = r"(?<![\w+.-])[A-Za-z][\w+.-]+:[/\\]"
_ADDRESS = re.compile(rf"(?:({_SCHEME})|^[/\\](?=[/\\]))[/\\]*")
_WORD = re.compile(r"""[^\s'"`(\[]\S*?(?=['"`)\],.;:]*(?:\s|\Z))""")
_QUERY = re.compile(r"[?&;](?=[^/?&;=]*=)")  # in what is no address: `a?b.jsonl` is the name of a file
_STORE = re.compile(r"git\+branch:[^:?#]*")  # git+branch:NAME@REMOTE
_PORT_ONLY = re.compile(r"[^/:%\\]*(:[0-9]*)?(?![^/\\])")


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong with an input, as `file:line: key: message`; no address in it shows a secret."""

    message: str
    file: str | None = None
    line: int | None = None
    key: str | None = None
    kind: ProblemKind = ProblemKind.INPUT

    def __post_init__(self) -> None:
        """Whatever is refused or not found is named here, and from here it goes to every output."""
        force_setattr(self, "message", redacted_text(self.message))
        force_setattr(self, "file", self.file and redacted(self.file))
        force_setattr(self, "key", self.key and redacted_text(self.key))

    def __str__(self) -> str:
        location = on_one_line(self.file or "")
        if location and self.line is not None:
            location += f":{self.line}"
        return ": ".join(part for part in (location, on_one_line(self.key or ""), self.message) if part)


class RankgateError(Exception):
    """Input that cannot be judged. Carries every problem found, so that all can be fixed at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


def bad_input(
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    key: str | None = None,
    kind: ProblemKind = ProblemKind.INPUT,
) -> RankgateError:
    """The error for a single problem; the caller raises it."""
    return RankgateError([Problem(message, file, line, key, kind)])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'recall'?` for the nearest known word, or nothing when none is near."""
    import difflib  # noqa: PLC0415 -- paid only for a message

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def on_one_line(text: str) -> str:
    """Text as it is, or with its control characters escaped."""
    return text if text.isprintable() else repr(text)[1:-1]


def shown(value: object, limit: int = 60) -> str:
    """A found value for an error message: on one line, cut, and with control characters visible; null is nothing."""
    try:
        text = "nothing" if value is None else on_one_line(repr(value))
    except RecursionError:
        text = f"a deeply nested {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"


@lru_cache  # every line of a file may be noted with its name
def redacted(name: str) -> str:
    """The name of a source without user, password, query and fragment, which is shown as `s3://…@host/folder?…`.

    What is no address is returned as it is, and so is `file:///folder`, whose path may hold any of those signs. Where
    nobody can tell a password from the rest, as in one with a `?`, nothing but the scheme is left.
    """
    address = _ADDRESS.search(name)
    before = name[: address.start()] if address else name
    if _STORE.fullmatch(name):
        return name
    if re.search(":" if address else ":.*@", before, re.DOTALL):
        return "…"
    if not address:
        plain = _QUERY.split(name, maxsplit=1)[0]
        return name if plain == name else f"{plain}?…"
    scheme, rest = (address[1] or "")[:-1], name[address.end() :]
    if scheme == "file:" and address[0].endswith("///"):
        return f"{before}file:///{redacted(rest)}"
    user, at, host = rest.rpartition("@")
    plain = re.split(r"[?#;]", host, maxsplit=1)[0]
    if re.search(r"[?#]", user) or not _PORT_ONLY.match(plain):
        return f"{before}{scheme}//…"
    hidden_user = "…@" if at else ""
    hidden_query = "?…" if plain != host else ""
    return f"{before}{scheme}//{hidden_user}{plain}{hidden_query}"


def redacted_text(text: str) -> str:
    """A text with every name of a source in it redacted, each up to the next space."""
    return _WORD.sub(lambda word: redacted(word[0]), text) if ":" in text or "?" in text else text
