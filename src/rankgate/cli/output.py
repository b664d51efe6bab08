"""Printing: coloured at a terminal unless NO_COLOR says otherwise, plain everywhere else."""

from __future__ import annotations

import os
import sys

STYLES = {"PASS": "bold green", "WARN": "bold yellow", "FAIL": "bold red", "NOT JUDGED": "bold magenta"}


def say(text: str) -> None:
    """Print text to standard output, with the verdict words coloured at a terminal."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    for word, style in STYLES.items():
        styled.highlight_words([word], style)
    Console(soft_wrap=True).print(styled, end="", highlight=False)
