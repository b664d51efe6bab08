"""Texts as values in a workflow: what GitHub reads is the text, whatever stands in it."""

from __future__ import annotations

import re

from rankgate.readers.yaml_text import quoted


def value(text: str) -> str:
    """A text as a YAML scalar in which GitHub finds no expression of the text's own to evaluate.

    `${{` becomes an expression that evaluates to itself.
    """
    return quoted(text.replace("${{", "${{ '${{' }}"))


def is_word(text: str) -> bool:
    """Whether a text means nothing but itself to the shell, to YAML and to a filter of branches."""
    return re.fullmatch(r"[A-Za-z_][\w./-]*", text, re.ASCII) is not None
