"""What the simulations beside it share: their options, and how they print tables."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

ABOUT = "Print what scripts/tables has of this script, whose first lines say what the options are."

Row = TypeVar("Row")
Column = TypeVar("Column")


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print as Markdown, the first column to the left and the others to the right."""
    print(f"**{title}**\n")
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    for line in (lines[0], rule, *lines[1:]):
        first, *others = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        print("|", " | ".join([first, *others]), "|", flush=True)
    print()


def grid(
    title: str, corner: str, columns: Mapping[str, Column], rows: Mapping[str, Row], cell: Callable[[Row, Column], str]
) -> None:
    """Print a table whose cells are computed one after the other, row by row."""
    cells = ([name, *(cell(row, column) for column in columns.values())] for name, row in rows.items())
    table(title, [corner, *columns], cells)


def percent(share: float) -> str:
    """To a tenth, as the chance of the simulation itself allows."""
    return f"{100 * share:.1f}"


def quick_or_not(seed: int, rough: int, samples: int) -> tuple[int, int]:
    """The seed, and how many samples a cell has: as the script's docstring says of ``--quick`` and ``--seed``."""
    parser = argparse.ArgumentParser(description=ABOUT)
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes, and rough")
    parser.add_argument("--seed", type=int, default=seed)
    options = parser.parse_args()
    return options.seed, rough if options.quick else samples


def noisy_systems(seed: int, name: str, count: int) -> argparse.Namespace:
    """``seed``, how many of what is named, and the folders of collections that stand beside made systems."""
    parser = argparse.ArgumentParser(description=ABOUT)
    parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--collections", type=Path)
    return parser.parse_args()
