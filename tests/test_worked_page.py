"""docs/worked-example.md: its files, commands, outputs and every number of its arithmetic.

`pytest --refresh` writes the outputs anew.
"""

import ast
import math
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from rankgate.cli import main
from rankgate.metrics.estimates import estimate
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.readers.formats import read_gold, read_run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "worked-example.md"
FENCED = re.compile(r'^```(\w+)(?: title="(\S+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = [(found[1], found[2], found[3]) for found in FENCED.finditer(TEXT)]
FILES = {name: text for language, name, text in BLOCKS if language in ("yaml", "json")}
ARITHMETIC = [
    (subject, line) for language, subject, text in BLOCKS if language == "arithmetic" for line in text.splitlines()
]
FUNCTIONS: dict[str, Callable[[float], float]] = {"log2": math.log2, "ln": math.log}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's files, where the commands find them."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_has_what_is_checked_here() -> None:
    assert set(FILES) == {"gold.yaml", "run.jsonl"}
    assert {subject for subject, _ in ARITHMETIC} == {"q-1", "q-2", "q-3", "q-4", "mean"}
    assert {language for language, _, _ in BLOCKS} == {"yaml", "json", "arithmetic", "console"}


def outputs(block: str, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """Each command of a console block with what it prints."""
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        program, *words = shlex.split(command)
        if program == "cat":
            printed = "".join(Path(word).read_text(encoding="utf-8") for word in words)
        else:
            assert program == "rankgate"
            assert main(words) == 0
            printed, err = capsys.readouterr()
            assert err == ""
        yield f"$ {command}\n{printed}"


def test_the_commands_print_what_the_page_says(
    folder: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    page = TEXT
    for language, _, block in BLOCKS:
        if language == "console":
            printed = "".join(outputs(block, capsys))
            if request.config.getoption("--refresh"):
                page = page.replace(f"```console\n{block}```", f"```console\n{printed}```")
            else:
                assert printed == block
    if page != TEXT:
        PAGE.write_text(page, encoding="utf-8")


@cache
def value_of(subject: str, metric: str, folder: Path) -> float | None:
    """The metric by the tool, of one query or as the mean."""
    parsed = parse_metric(metric)
    gold = read_gold((folder / "gold.yaml").as_posix())
    rankings = list(read_run((folder / "run.jsonl").as_posix()).rankings)
    scores = score(gold, rankings, Plan(metrics=[parsed]))
    values = scores.values[parsed.name]
    if subject == "mean":
        found = estimate(values, parsed)
        return found.value if found else None
    return values[scores.query_ids.index(subject)]


def evaluated(text: str, named: dict[str, float]) -> float:
    """An expression of numbers, + · /, logarithms and what lines above have named."""

    def of(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return named[name]
            case ast.Call(func=ast.Name(id=name), args=[argument]):
                return FUNCTIONS[name](of(argument))
            case ast.BinOp(op=ast.Add()):
                return of(node.left) + of(node.right)
            case ast.BinOp(op=ast.Mult()):
                return of(node.left) * of(node.right)
            case ast.BinOp(op=ast.Div()):
                return of(node.left) / of(node.right)
            case _:
                raise ValueError(f"{text!r}: what is {ast.dump(node)}?")

    return of(ast.parse(text.replace("·", "*"), mode="eval").body)


def test_every_number_of_the_arithmetic(folder: Path) -> None:
    """Each line is `name = expression = … = number`, all of them equal to as many decimals as are shown."""
    named: dict[str, float] = {}
    for subject, line in ARITHMETIC:
        name, *steps, shown = line.split(" = ")
        try:
            by_tool = value_of(subject, name, folder)
        except UnknownMetricError:
            assert name in ("area", "ideal"), line
            by_tool = evaluated(steps[0], named)
        if shown == "undefined":
            assert by_tool is None, line
            continue
        assert by_tool is not None, line
        last_digit = 10.0 ** -len(shown.partition(".")[2])
        assert abs(by_tool - float(shown)) <= last_digit / 2 + 1e-12, f"{line}: the tool says {by_tool}"
        for step in steps:  # a step may start from rounded numbers
            assert abs(evaluated(step, named) - by_tool) <= max(last_digit, 1e-4), f"{line}: {step}"
        named[name] = by_tool


def test_every_metric_of_the_arithmetic_is_computed_by_the_command() -> None:
    [command] = re.findall(r"--metrics '(.*)'", TEXT)
    asked = {parse_metric(name).name for name in command.split(",")}
    means = {parse_metric(line.split(" = ")[0]).name for subject, line in ARITHMETIC if subject == "mean"}
    assert means <= asked
