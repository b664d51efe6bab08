"""The expressions of our own action and workflows, read as Python: texts that are compared, `&&`, `||`, `!` and names.

Nothing else of GitHub's language is known here, and ours use nothing else: another sign is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Value = str | float | bool | None
Context = Callable[[str], Value]  # what a dotted name stands for; raises ExpressionError where it stands for nothing
Functions = Mapping[str, Callable[[], bool]]

EMBEDDED = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
TOKEN = re.compile(r"'[^']*'|(?P<call>[a-z]+)\(\)|(?P<name>[A-Za-z_][\w.-]*)|(?P<sign>&&|\|\||==|!=|[!()])|\s+|.")
PYTHON = {"&&": " and ", "||": " or ", "!": " not ", "true": "True", "false": "False", "null": "None"}


class ExpressionError(Exception):
    """An expression that is wrong, or that is not among those that we use."""


def evaluate(text: str, context: Context, functions: Functions | None = None) -> Value:
    """The value of an expression, without its `${{ }}`."""
    known = functions or {}

    def python(match: re.Match[str]) -> str:
        token = match[0]
        if match["call"]:
            if match["call"] not in known:
                raise ExpressionError(f"no function of ours: {token} in {text!r}")
            return f"functions[{match['call']!r}]()"
        if match["name"]:
            return PYTHON.get(token) or f"context({token!r})"
        if not (match["sign"] or token.isspace() or token.startswith("'")):
            raise ExpressionError(f"not understood: {token!r} in {text!r}")
        return PYTHON.get(token, token)

    source = f"({TOKEN.sub(python, text)})"
    value: Value = eval(source, {"__builtins__": {}, "context": context, "functions": known})  # noqa: S307 -- ours
    return value


def filled_in(text: str, context: Context) -> str:
    """A text with the value of each `${{ ... }}` in its place."""
    return EMBEDDED.sub(lambda found: written(evaluate(found[1], context)), text)


def written(value: Value) -> str:
    """A value as it stands in a text."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def condition(text: str, context: Context, functions: Functions) -> bool:
    """Whether a step with this `if` runs: where no status function is called, it has to be `success()`, too."""
    whole = EMBEDDED.fullmatch(text.strip())
    inner = whole[1] if whole else text
    value = bool(evaluate(inner, context, functions))
    return value and (any(f"{name}()" in inner for name in functions) or functions["success"]())
