"""What every reader shares: the opened run, the log of problems, and the rules for ids, gains and questions."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Protocol

import msgspec

from rankgate.errors import Problem, RankgateError, shown
from rankgate.model.answers import JudgeMark
from rankgate.model.lineage import GoldMark, Lineage
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.segments import Beside

MAX_PROBLEMS = 20
LARGEST_GAIN = 1000  # 2^gain must stay a finite number
USUAL_GAINS = {float(gain): float(gain) for gain in range(-2, 11)}  # shared: a judgment's own would take 24 bytes
NO_ENTRIES: dict[str, Any] = {}  # shared: a default of each sample's own would take 64 bytes
TABLE = "per_query"  # the format of an input that has values per query in place of rankings


class Values(msgspec.Struct, frozen=True):
    """By query one value a column, None where it is undefined; `missing` are those that the run lacks, by the table."""

    rows: Mapping[str, Sequence[float | None]]
    missing: frozenset[str]


Choose = Callable[[Sequence[str], str], Sequence[str]]  # of a table's columns and its name, the columns to read


class Quick(msgspec.Struct, frozen=True):
    """How a run is read quickly, as often as one likes. Any exception means that it must be read carefully.

    Attributes:
        opened: gives the rankings, and how much of them has been read, from 0 to 1; None where another file has taken
            the place of the run. On leaving, a RankgateError where the file has changed its size.
        by_line: whether every line is a whole query.
    """

    opened: Callable[[], AbstractContextManager[tuple[Iterator[Ranking], Callable[[], float]] | None]]
    by_line: bool


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """An opened run: its rankings, to be read once, and what it says about its origin.

    `depth` is the rank at which the lists were cut when they were stored as a baseline, `cut` how many were longer;
    None and 0 when they are whole. `gold` is the gold set of that time, where it is known, and `lineage` says which
    accepted run it is. `judge` is who judged its answers, `judges` the ids of all whose verdicts were at hand. `quick`
    is there where it can be read quickly; `share_read` says how much of its `rankings` have been read, from 0 to 1,
    where that is known. `scored` are the queries of the file whose scores were joined to it. Where `values` are there,
    they are all that is known: there are no rankings.
    """

    name: str
    format: str
    rankings: Iterator[Ranking]
    provenance: Mapping[str, Any] = {}
    depth: int | None = None
    cut: int = 0
    gold: GoldMark | None = None
    lineage: Lineage | None = None
    judge: JudgeMark | None = None
    judges: tuple[str, ...] = ()
    quick: Quick | None = None
    share_read: Callable[[], float] | None = None
    scored: frozenset[str] = frozenset()
    values: Callable[[Choose], Values] | None = None


class RunSource(Protocol):
    """Where a run comes from, so that it can be opened again with more of what its lines state."""

    def open(self, needs: frozenset[RunField]) -> Run | None:
        """The run, of which nothing has been read, with what `needs` names beside its ids; None where there is none."""


class CandidateSource(Protocol):
    """Where the run comes from that is judged: a `RunSource` that always has one."""

    def open(self, needs: frozenset[RunField]) -> Run:
        """The run, as `RunSource` opens it; a RankgateError where there is none."""


def through(run: Run, pick: Callable[[Iterator[Ranking]], Iterator[Ranking]]) -> Run:
    """The run with the rankings that come through."""
    quick = run.quick and msgspec.structs.replace(run.quick, opened=partial(_quickly_through, run.quick, pick))
    return msgspec.structs.replace(run, rankings=pick(run.rankings), quick=quick)


def answering(run: Run, gold: Gold, other_texts: set[str] | None = None) -> Run:
    """The run without lines that answer another text than the gold set has of their question.

    The questions of those are added to `other_texts` as they go by.
    """
    if all(sample.question is None for sample in gold.samples.values()):
        return run

    def answers(ranking: Ranking) -> bool:
        fits = answers_question(ranking, gold)
        if other_texts is not None and not fits:
            other_texts.add(ranking.query_id)
        return fits

    return through(run, partial(filter, answers))


@contextmanager
def _quickly_through(
    quick: Quick, pick: Callable[[Iterator[Ranking]], Iterator[Ranking]]
) -> Iterator[tuple[Iterator[Ranking], Callable[[], float]] | None]:
    with quick.opened() as reading:
        yield reading and (pick(reading[0]), reading[1])


class KeyedError(ValueError):
    """What is wrong with an entry of an input, and under which of its keys."""

    def __init__(self, message: object, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class ProblemLog:
    """Collects what is wrong with one input, so that the user sees all of it at once, but no more than `most`."""

    def __init__(self, most: int | None = None) -> None:
        self.problems: list[Problem] = []
        self.most = most or MAX_PROBLEMS
        self.beside = Beside()

    def add(self, problem: Problem) -> None:
        """Note a problem; a RankgateError where there are now too many to go on."""
        self.problems.append(problem)
        if len(self.problems) >= self.most:
            self.problems.append(Problem(f"stopped after {self.most} problems; there may be more", problem.file))
            self.raise_if_any()

    def note(self, location: Problem, error: object) -> None:
        """Note what is wrong at a location.

        Args:
            location: file, line and key, as a problem that has no message.
            error: what is wrong, as a sentence or as an error that says it; the key of a KeyedError lies below that of
                the location.
        """
        key = location.key
        if isinstance(error, KeyedError):
            key = ".".join(filter(None, (key, error.key))) or None
        self.add(msgspec.structs.replace(location, message=str(error), key=key))

    def raise_if_any(self) -> None:
        """End the reading of an input by a RankgateError where problems were noted."""
        if self.problems:
            raise RankgateError(self.problems)


def deduplicated(ids: list[str]) -> tuple[list[str], int]:
    """A ranking with each id kept where it first stands, and how many repeats were removed."""
    if len(set(ids)) == len(ids):
        return ids, 0
    unique = list(dict.fromkeys(ids))
    return unique, len(ids) - len(unique)


def all_of(written: str | int | list[str | int] | None) -> tuple[str, ...]:
    """What is written as one id or as a list of them, each once; nothing where nothing is written."""
    listed = written if isinstance(written, list) else [] if written is None else [written]
    return tuple(dict.fromkeys(map(str, listed)))


def id_of(value: object, what: str) -> str:
    """An id as text; an integer equals its digits. A ValueError for all else, and for one that is empty."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ValueError(f"{what}: expected an id, found {shown(value)}")
    return str(value)


def finite_number(text: str) -> float | None:
    """A finite number, or None; `1_000` and foreign digits, which Python takes, are none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and text.isascii() and "_" not in text else None


def whole_number(text: str) -> int | None:
    """A whole number, also written as 3.0, which pandas does where some ranks are missing; None for all else."""
    value = finite_number(text)
    return None if value is None or not value.is_integer() else int(value)


class WrittenQuestion(msgspec.Struct):
    """A sample's question as a mapping, which may have other keys."""

    question: str | None = None


def question_of(written: WrittenQuestion | str | None) -> str | None:
    """A sample's question, written as a text or as a mapping."""
    return written.question if isinstance(written, WrittenQuestion) else written


TEXT_KEY = "question_sha256"  # of a line
DIGITS = 16  # of a digest, at least


def text_digest(text: str) -> str:
    """What a recorded line states of its question: the first digits of the SHA-256 of the text in UTF-8."""
    return _whole(text)[:DIGITS]


def answers_question(ranking: Ranking, gold: Gold) -> bool:
    """Whether a line is of the text that the gold set has of its question, if both have one.

    A line that states no text is taken by its id, unless the gold set wants to know its text.
    """
    sample = gold.samples.get(ranking.query_id)
    if sample is None or sample.question is None or ranking.traffic:
        return True
    if ranking.question_digest is None:
        return ranking.query_id not in gold.by_text
    return digest_matches(ranking.question_digest, sample.question)


def digest_matches(digest: str, text: str) -> bool:
    """Whether a line that states this digest is of the text."""
    return len(digest) >= DIGITS and _whole(text).startswith(digest)


def texts_changed(before: Gold, after: Gold) -> frozenset[str]:
    """The queries whose text, as it was before, is no longer there."""
    kept = after.samples
    return frozenset(
        query_id
        for query_id, sample in before.samples.items()
        if sample.question is not None and (query_id not in kept or kept[query_id].question != sample.question)
    )


def _whole(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def line_json(line: bytes, *, missing: bool = False) -> Any:
    """The value of one line; a ValueError, which `json_text.explain` puts in plain words, where it is none.

    Of two equal keys a decoder keeps the last, so that the value, written again, has fewer quotes than the line: only
    such a line is parsed strictly.
    """
    line.decode()
    if missing and (b"NaN" in line or b"Infinity" in line):
        return _strict(line, missing=True)
    value = msgspec.json.decode(line)
    return value if msgspec.json.encode(value).count(b'"') == line.count(b'"') else _strict(line, missing=False)


def _strict(line: bytes, *, missing: bool) -> Any:
    from rankgate.readers.json_text import strict_json  # noqa: PLC0415 -- paid only where a line is not plain

    return strict_json(line, missing=missing)
