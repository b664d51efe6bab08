"""How numbers and verdicts read. One place, so that terminal, comment and reasons say the same thing alike."""

from __future__ import annotations

import re

from rankgate.model.values import TOLERANCE, Direction, Interval, Unit, Verdict

MINUS = "−"
_SUFFIXES = {Unit.SHARE: "%", Unit.SCORE: "", Unit.NUMBER: "", Unit.MILLISECONDS: " ms"}
LANGUAGES = ("lang:", "language:", "locale:")
_MAX_DECIMALS = 9
# Of nothing at which Markdown begins a link, and no clause that could be ours.
_PLAIN_NAME = re.compile(r"(?!.*(?:://|www\.|[.:](?: |$)))\w[\w:.+×/ -]*")
_LONGEST_NAME = 61  # characters

VERDICT_WORDS = {verdict: verdict.value.upper().replace("_", " ") for verdict in Verdict}  # as NOT JUDGED

_MILLION, _EXACT = 1_000_000, 50_000  # tokens


def value_text(value: float, unit: Unit, decimals: int | None = None) -> str:
    """`87.0%`, `0.752` or `35.2 ms`."""
    if value < 0:
        return f"{MINUS}{value_text(-value, unit, decimals)}"
    return f"{_digits(value, unit, decimals)}{_SUFFIXES[unit]}"


def delta_text(delta: float, unit: Unit, decimals: int | None = None) -> str:
    """`−5.8 pp`, `+0.012` or `+3.1 ms`; a difference that rounds to nothing is `±0.0 pp`."""
    sign = "+" if delta > 0 else MINUS
    if vanishes(delta, unit, decimals):
        sign = "±"
    return f"{sign}{_digits(delta, unit, decimals)}{' pp' if unit is Unit.SHARE else _SUFFIXES[unit]}"


def vanishes(delta: float, unit: Unit, decimals: int | None = None) -> bool:
    """Whether a difference rounds to nothing."""
    return not _digits(delta, unit, decimals).strip("0.")


def _digits(delta: float, unit: Unit, decimals: int | None) -> str:
    """Without a sign; a share in percent."""
    return f"{abs(delta) * (100 if unit is Unit.SHARE else 1):.{_decimals(unit, decimals)}f}"


def first_text(k: int | None, *, results: bool = False) -> str:
    """`the first 5`, or `the first 5 results`; of one alone `the first result`, of a question's own number `k`."""
    if k == 1:
        return "the first result"
    number = "k" if k is None else f"{k:,}"
    return f"the first {number} results" if results else f"the first {number}"


def in_first_text(k: int | None, *, results: bool = False) -> str:
    """Where a document is that is among these: `in the first 5`, or `at rank 1`."""
    return "at rank 1" if k == 1 else f"in {first_text(k, results=results)}"


def size_text(size: float, unit: Unit, decimals: int | None = None) -> str:
    """`5.8 pp`: a change without its sign."""
    return delta_text(size, unit, decimals).lstrip(f"+±{MINUS}")


def points_text(size: float, unit: Unit, decimals: int | None = None) -> str:
    """The same with the word: `5.8 points`."""
    return _with_points(size_text(size, unit, decimals))


def delta_points_text(delta: float, unit: Unit, decimals: int | None = None) -> str:
    """`−5.8 points`: a change with the word."""
    return _with_points(delta_text(delta, unit, decimals))


def _with_points(text: str) -> str:
    number, _, unit = text.partition(" ")
    if unit != "pp":
        return text
    return f"{number} point" if number.lstrip(f"+±{MINUS}") == "1.0" else f"{number} points"


def beyond_text(beyond: float, covered: float, unit: Unit) -> str:
    """`it covers 5.0 points beyond the limit, and this is 6.3 beyond`."""
    digits = limit_decimals(covered, beyond, unit)
    size = points_text(covered, unit, digits)
    return f"it covers {size} beyond the limit, and this is {size_text(beyond, unit, digits).partition(' ')[0]} beyond"


def without_marks(text: str) -> str:
    """A name without the vowels and tones that Thai and Hindi write as marks, which `re` takes for no letters."""
    if text.isascii():
        return text
    from unicodedata import category  # noqa: PLC0415 -- paid only where a name has other letters

    return "".join(char for char in text if category(char) not in ("Mn", "Mc"))


def is_plain_name(text: str) -> bool:
    """Whether a text of the inputs can be nothing but a name, so that it may stand in a sentence as it is."""
    return len(text) <= _LONGEST_NAME and _PLAIN_NAME.fullmatch(without_marks(text)) is not None


def tag_keys(segment: str | None) -> tuple[str, ...]:
    """By what a segment divides the questions: `lang` of `lang:th`, and both keys of `lang:th × topic:visa`."""
    return tuple(tag.partition(":")[0] for tag in (segment or "").split(" × "))


def part_word(tag: str | None) -> str:
    """What the questions with one value of a tag are called: `language` where the tag says so."""
    return "language" if tag is not None and tag.startswith(LANGUAGES) and " × " not in tag else "part"


def harm_word(direction: Direction) -> str:
    """`drop` or `rise`: the change for the worse."""
    return "drop" if direction is Direction.HIGHER else "rise"


def beyond_word(direction: Direction) -> str:
    """`below` or `above`: where a value is that misses its threshold."""
    return "below" if direction is Direction.HIGHER else "above"


def limit_word(direction: Direction) -> str:
    """`floor` or `ceiling`: what a threshold is."""
    return "floor" if direction is Direction.HIGHER else "ceiling"


def interval_text(ci: Interval | None, unit: Unit, *, change: bool = False, decimals: int | None = None) -> str:
    """`84.1 to 89.9%`; `?` for a bound that the data do not support, nothing where there is no interval."""
    if ci is None or ci == (None, None):
        return ""
    spell = delta_text if change else value_text
    low, high = ("?" if bound is None else spell(bound, unit, decimals) for bound in ci)
    for suffix in (" pp", "%", " ms"):
        if high.endswith(suffix):
            low = low.removesuffix(suffix)
    return f"{low} to {high}"


def confidence_text(confidence: float) -> str:
    """`95%` or `99.5%`."""
    return f"{round(100 * confidence, 6):g}%"


def distinguishing_decimals(value: float, limit: float, unit: Unit) -> int:
    """The fewest decimals with which two different numbers also look different.

    Numbers that differ by rounding in binary fractions alone count as equal.
    """
    for decimals in range(_decimals(unit, None), _MAX_DECIMALS):
        same = value_text(value, unit, decimals) == value_text(limit, unit, decimals)
        if abs(value - limit) <= TOLERANCE or not same:
            return decimals
    return _MAX_DECIMALS


def exact_decimals(limit: float, unit: Unit) -> int:
    """The fewest decimals, from the unit's usual number on, that write a limit as it was given."""
    shown = limit * (100 if unit is Unit.SHARE else 1)
    for decimals in range(_decimals(unit, None), _MAX_DECIMALS):
        if abs(round(shown, decimals) - shown) <= TOLERANCE * max(1.0, abs(shown)):
            return decimals
    return _MAX_DECIMALS


def limit_decimals(limit: float | None, value: float | None, unit: Unit) -> int:
    """Those that write a limit as it was given, and with which another value beside it looks different."""
    if limit is None:
        return _decimals(unit, None)
    exact = exact_decimals(limit, unit)
    return exact if value is None else max(exact, distinguishing_decimals(value, limit, unit))


def count_text(count: int, one: str, many: str | None = None) -> str:
    """`1 query`, `1,400 queries`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _decimals(unit: Unit, wanted: int | None) -> int:
    default = 1 if unit in (Unit.SHARE, Unit.MILLISECONDS) else 3
    return default if wanted is None else wanted


def tokens_text(count: int) -> str:
    """`48,211 tokens`, or `1.2 M tokens`."""
    return f"{count / _MILLION:.1f} M tokens" if count >= _EXACT else f"{count:,} tokens"
