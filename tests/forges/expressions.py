"""The part of GitHub's expression language that an action of ours may use; anything else is an error.

Comparisons are GitHub's: strings compare without regard to case, and values of different types as numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

Value = str | float | bool | None
Context = Callable[[str], Value]  # what a dotted name stands for; raises ExpressionError where it stands for nothing
Functions = Mapping[str, Callable[[], bool]]

TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w.-]*)|(?P<sign>==|!=|&&|\|\||[!()]))"
)
EMBEDDED = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
WORDS: Mapping[str, Value] = {"true": True, "false": False, "null": None}


class ExpressionError(Exception):
    """An expression that is wrong, or that is not among those that we use."""


def tokens_of(text: str) -> list[str]:
    """The words and signs of an expression."""
    tokens, position = [], 0
    while text[position:].strip():
        match = TOKEN.match(text, position)
        if match is None:
            raise ExpressionError(f"not understood: {text[position:].strip()!r} in {text!r}")
        tokens.append(match[0].strip())
        position = match.end()
    return tokens


def truth(value: Value) -> bool:
    """Whether a value counts as true: all but false, 0, NaN, null and the empty text."""
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


def number(value: Value) -> float:
    """What a value is in a comparison with one of another type."""
    if isinstance(value, str):
        try:
            return float(value.strip() or 0)
        except ValueError:
            return math.nan
    return float(value or 0)


def equal(left: Value, right: Value) -> bool:
    """As `==` has it."""
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() == right.lower()
    return number(left) == number(right)


def written(value: Value) -> str:
    """A value as it stands in a text."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return str(value)


class Evaluation:
    """One expression on its way: `or` of `and`s of comparisons of values."""

    def __init__(self, text: str, context: Context, functions: Functions) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.context = context
        self.functions = functions

    def result(self) -> Value:
        """Its value.

        Raises:
            ExpressionError: something is left over, or is missing.
        """
        value = self.disjunction()
        if self.tokens:
            raise ExpressionError(f"not understood: {self.tokens[0]!r} in {self.text!r}")
        return value

    def accept(self, *signs: str) -> str | None:
        """The next token, if it is one of these."""
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in signs else None

    def disjunction(self) -> Value:
        """`a || b`: the first that is true, or the last. All are looked at, so that no mistake hides."""
        value = self.conjunction()
        while self.accept("||"):
            other = self.conjunction()
            value = value if truth(value) else other
        return value

    def conjunction(self) -> Value:
        """`a && b`: the first that is not true, or the last."""
        value = self.comparison()
        while self.accept("&&"):
            other = self.comparison()
            value = other if truth(value) else value
        return value

    def comparison(self) -> Value:
        """`a == b`, `a != b`, or a value alone."""
        value = self.value()
        while sign := self.accept("==", "!="):
            value = equal(value, self.value()) == (sign == "==")
        return value

    def value(self) -> Value:
        """A literal, a name, a function without arguments, `!` of one of these, or parentheses."""
        if self.accept("!"):
            return not truth(self.value())
        if self.accept("("):
            inner = self.disjunction()
            self.expect(")")
            return inner
        token = self.tokens.pop(0) if self.tokens else ""
        if token in WORDS or not re.match(r"[A-Za-z_]", token):
            return self.literal(token)
        if not self.accept("("):
            return self.context(token)
        self.expect(")")
        if token not in self.functions:
            raise ExpressionError(f"no function of ours: {token} in {self.text!r}")
        return self.functions[token]()

    def literal(self, token: str) -> Value:
        """A text, a number or a word."""
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token in WORDS:
            return WORDS[token]
        if not re.fullmatch(r"-?\d+(\.\d+)?", token):
            raise ExpressionError(f"a value is missing in {self.text!r}")
        return float(token)

    def expect(self, sign: str) -> None:
        """The next token has to be this one."""
        if not self.accept(sign):
            raise ExpressionError(f"{sign} is missing in {self.text!r}")


def evaluate(text: str, context: Context, functions: Functions | None = None) -> Value:
    """The value of an expression, without its `${{ }}`.

    Raises:
        ExpressionError: it is wrong, or uses what we do not.
    """
    return Evaluation(text, context, functions or {}).result()


def filled_in(text: str, context: Context) -> str:
    """A text with the value of each `${{ ... }}` in its place."""
    return EMBEDDED.sub(lambda found: written(evaluate(found[1], context)), text)


def condition(text: str, context: Context, functions: Functions) -> bool:
    """Whether a step with this `if` runs: where no status function is called, it has to be `success()`, too."""
    whole = EMBEDDED.fullmatch(text.strip())
    inner = whole[1] if whole else text
    if "${{" in inner:
        raise ExpressionError(f"a text, which is always true: {text!r}")
    asked = set()

    def noted(name: str) -> Callable[[], bool]:
        def call() -> bool:
            asked.add(name)
            return functions[name]()

        return call

    value = truth(evaluate(inner, context, {name: noted(name) for name in functions}))
    return value and (bool(asked) or functions["success"]())
