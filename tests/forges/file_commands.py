"""What a step tells the runner through files, read by the runner's own rules."""

from __future__ import annotations

from collections.abc import Iterator

SUMMARY_LIMIT = 1024 * 1024  # bytes that a step may write to GITHUB_STEP_SUMMARY


class FileCommandError(Exception):
    """The runner could not read such a file, which fails the step."""


class SummaryTooLongError(Exception):
    """A summary that the runner does not show; the step does not fail for it."""


def values_of(text: str) -> Iterator[tuple[str, str]]:
    """The names and values of GITHUB_OUTPUT, GITHUB_ENV or GITHUB_STATE, in the order of the file.

    A line is `name=value`, or `name<<DELIMITER` and then lines of the value up to one that is the delimiter alone. What
    comes first in a line decides which. Empty lines between count for nothing.

    Raises:
        FileCommandError: with the runner's words.
    """
    lines = text.split("\n")
    while lines:
        line = lines.pop(0)
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, value = line.split("=", 1)
            if not name:
                raise FileCommandError(f"Invalid format '{line}'. Name must not be empty")
        elif heredoc >= 0:
            name, delimiter = line.split("<<", 1)
            if not name or not delimiter:
                raise FileCommandError(
                    f"Invalid format '{line}'. Name must not be empty and delimiter must not be empty"
                )
            value = heredoc_of(lines, delimiter)
        else:
            raise FileCommandError(f"Invalid format '{line}'")
        yield name, value


def heredoc_of(lines: list[str], delimiter: str) -> str:
    """The lines before the delimiter, which are taken away with it."""
    if delimiter not in lines:
        raise FileCommandError(f"Invalid value. Matching delimiter not found '{delimiter}'")
    end = lines.index(delimiter)
    value = "\n".join(lines[:end])
    del lines[: end + 1]
    return value


def variables_of(text: str) -> dict[str, str]:
    """What GITHUB_ENV sets for the steps to come.

    Raises:
        FileCommandError: also for NODE_OPTIONS, which the runner does not let a step set.
    """
    variables = dict(values_of(text))
    if any(name.upper() == "NODE_OPTIONS" for name in variables):
        raise FileCommandError("Can't store NODE_OPTIONS output parameter using '$GITHUB_ENV' command.")
    return variables


def checked_summary(text: str) -> str:
    """What a step wrote to GITHUB_STEP_SUMMARY.

    Raises:
        SummaryTooLongError: none of it is shown.
    """
    if len(text.encode()) > SUMMARY_LIMIT:
        raise SummaryTooLongError("$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of 1024k")
    return text
