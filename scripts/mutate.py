#!/usr/bin/env python3
"""Makes small mistakes in modules of src, one at a time, and names those that no test notices.

    PYTHONPATH=src python scripts/mutate.py MODULE.py... [--only TEXT] [--again] -- TEST...

A mistake inside a function is made in memory, in a fork of one pytest process, where the tests that call the function
run, the quickest first, up to the first that fails. A mistake outside of functions (a default, a class variable), and
with `--again` every one that no test noticed, is made in a copy of src, which all the tests then import afresh. No file
of the repository is written. Exit code 0: every mistake is noticed; 1: some are not; 2: the tests fail without any.
"""

from __future__ import annotations

import argparse
import ast
import copy
import inspect
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120  # seconds: a mistake that makes the tests run longer is noticed
MEMORY = 4 << 30
UNDECIDED = 3  # the exit code of a fork that came to no answer
EXAMPLES = 20
SETTINGS = "_hypothesis_internal_use_settings"
ORDER = "MUTATE_ORDER"  # names the file of the tests' names, the quickest first

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
UNTOUCHED = {"annotation", "returns", "decorator_list", "bases", "type_comment"}


@dataclass
class Mistake:
    """One change of a module's syntax tree."""

    module: Path
    line: int
    was: str
    now: str
    function: str  # its qualified name; empty outside of functions
    tree: ast.Module
    make: Callable[[], None]  # changes the tree, for good: only forks call it

    def __str__(self) -> str:
        return f"{self.module.name}:{self.line}: {self.was}  →  {self.now}"


@dataclass
class Score:
    """What became of a module's mistakes."""

    made: int = 0
    lived: list[str] = field(default_factory=list)


def mistakes(module: Path, enums: dict[str, list[str]]) -> Iterator[Mistake]:
    """All that are made in a module."""
    tree = ast.parse(module.read_text(encoding="utf-8"))

    def within(parent: ast.AST, *, scope: tuple[str, ...], function: str, quiet: bool) -> Iterator[Mistake]:
        for name, value in ast.iter_fields(parent):
            if name in UNTOUCHED or (isinstance(parent, ast.ClassDef) and name == "keywords"):
                continue
            children = value if isinstance(value, list) else [value]
            for index, node in enumerate(children):
                if not isinstance(node, ast.AST) or _says_nothing(node):
                    continue
                inside, called = scope, function
                if isinstance(node, ast.ClassDef | ast.FunctionDef) and not function:
                    inside = (*scope, node.name)
                if isinstance(parent, ast.FunctionDef) and name == "body":
                    called = function or ".".join(scope)
                for other in replacements(node, parent, enums, texts=bool(called) and not quiet):
                    ast.copy_location(other, node)
                    ast.fix_missing_locations(other)
                    inside_list = isinstance(value, list)
                    make = (
                        partial(value.__setitem__, index, other)
                        if inside_list
                        else partial(setattr, parent, name, other)
                    )
                    line = getattr(node, "lineno", getattr(parent, "lineno", 0))
                    was, now = (ast.unparse(each).split("\n")[0] for each in (node, other))
                    yield Mistake(module, line, was, now, called, tree, make)
                yield from within(node, scope=inside, function=called, quiet=quiet or isinstance(node, ast.Raise))

    return within(tree, scope=(), function="", quiet=False)


def _says_nothing(node: ast.AST) -> bool:
    """Docstrings, imports for types, and the check that two lists are of one length."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def replacements(node: ast.AST, parent: ast.AST, enums: dict[str, list[str]], *, texts: bool) -> Iterator[ast.AST]:
    """What a node is mistaken for."""
    if isinstance(node, ast.expr):
        yield from _expressions(node, parent, enums, texts=texts)
    elif isinstance(node, ast.stmt):
        yield from _statements(node)
    elif isinstance(node, ast.comprehension):
        for index in range(len(node.ifs)):
            yield _changed(node, ifs=node.ifs[:index] + node.ifs[index + 1 :])


def _expressions(node: ast.expr, parent: ast.AST, enums: dict[str, list[str]], *, texts: bool) -> Iterator[ast.AST]:  # noqa: C901, PLR0912 -- a table, each row with a shape of its own
    asked = getattr(parent, "test", None) is node or (isinstance(parent, ast.comprehension) and node in parent.ifs)
    if asked and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                for other in COMPARED[type(operator)]:
                    yield _changed(node, ops=[*node.ops[:index], other(), *node.ops[index + 1 :]])
        case ast.BinOp() if type(node.op) in COMPUTED:
            yield _changed(node, op=COMPUTED[type(node.op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.BoolOp():
            yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
            for index in range(len(node.values)):
                rest = node.values[:index] + node.values[index + 1 :]
                yield _changed(node, values=rest) if len(rest) > 1 else rest[0]
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Constant(value=str() as value) if texts:
            yield ast.Constant(f"{value}X")
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            keywords = [] if name == "sorted" else node.keywords
            yield _changed(node, func=ast.Name(CALLED[name], ast.Load()), keywords=keywords)
        case ast.Slice():
            for end in ("lower", "upper"):
                if getattr(node, end) is not None:
                    yield _changed(node, **{end: None})
        case ast.Attribute(value=ast.Name(id=name), attr=member) if member in enums.get(name, ()):
            members = enums[name]
            yield _changed(node, attr=members[(members.index(member) + 1) % len(members)])


def _statements(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.If():
            yield _changed(node, test=ast.Constant(value=False))
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign():
            yield ast.Pass()
            if type(node.op) in COMPUTED:
                yield _changed(node, op=COMPUTED[type(node.op)]())
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Expr():
            yield ast.Pass()


def _changed(node: Any, **fields: object) -> Any:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def enums_of(source: Path) -> dict[str, list[str]]:
    """The members of every enumeration, by its name; names of several enumerations are left out."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id == "Enum" for b in node.bases):
                members = [each.targets[0] for each in node.body if isinstance(each, ast.Assign)]
                found[node.name].append([member.id for member in members if isinstance(member, ast.Name)])
    return {name: members[0] for name, members in found.items() if len(members) == 1}


def function_of(mistake: Mistake) -> FunctionType | None:
    """The function as it was imported, under properties and caches, which are emptied."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(mistake.module):
            break
    else:
        return None
    found: Any = module
    for name in mistake.function.split("."):
        found = inspect.getattr_static(found, name, None)
    if isinstance(found, property):
        found = found.fget
    return inspect.unwrap(found) if callable(found) else None


def code_of(code: CodeType, name: str) -> CodeType | None:
    """The code of a function in the code of its module."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return next((each for each in inner if each.co_qualname == name), None) or next(
        filter(None, (code_of(each, name) for each in inner)), None
    )


def empty_caches(source: Path) -> None:
    """What the import has computed is computed anew."""
    for module in list(sys.modules.values()):
        if (getattr(module, "__file__", None) or "").startswith(str(source)):
            for value in list(vars(module).values()):
                getattr(value, "cache_clear", int)()


def pytest_configure() -> None:
    """Properties have the same examples each time, and none is made smaller."""
    from hypothesis import Phase, settings  # noqa: PLC0415 -- pytest wants to be there first

    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("mutate", max_examples=EXAMPLES, derandomize=True, database=None, phases=phases)
    settings.load_profile("mutate")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Properties have few examples; in the process that imports a copy of src, the quickest tests come first."""
    from hypothesis import settings  # noqa: PLC0415

    for item in items:
        test = getattr(item, "obj", None)
        chosen = getattr(test, SETTINGS, None)
        if chosen is not None:
            fewer = settings(chosen, max_examples=min(EXAMPLES, chosen.max_examples))
            setattr(getattr(test, "__func__", test), SETTINGS, fewer)
    if ORDER not in os.environ:
        return
    order = {name: place for place, name in enumerate(Path(os.environ[ORDER]).read_text(encoding="utf-8").split("\n"))}
    items.sort(key=lambda item: order.get(item.nodeid, 0))  # a test of another name may owe it to the mistake


def forked(work: Callable[[], bool | None], patience: int = PATIENCE) -> bool | None:
    """What the work says, done in a fork whose output nobody sees; True where it does not end, None where it breaks."""
    child = os.fork()
    if child == 0:
        code = UNDECIDED
        try:
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            signal.alarm(patience)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            code = {True: 1, False: 0, None: UNDECIDED}[work()]
        finally:
            os._exit(code)
    return {0: False, UNDECIDED: None}.get(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), True)


class Pass:
    """The plug-in that takes over once pytest has collected the tests."""

    def __init__(self, every: list[Mistake], tests: list[str], source: Path, *, again: bool) -> None:
        self.every, self.tests, self.source, self.again = every, tests, source, again
        self.scores: dict[str, Score] = defaultdict(Score)
        self.broken = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests once: once to see what they call, then for every mistake."""
        session.config.pluginmanager.unregister(name="terminalreporter")
        calls = self._calls(session)
        if calls is None:
            self.broken = True
            return True
        with tempfile.TemporaryDirectory() as directory:
            fresh = Path(directory) / "src"
            order = Path(directory) / "order"
            order.write_text("\n".join(item.nodeid for item, _ in calls), encoding="utf-8")
            os.environ[ORDER] = str(order)
            shutil.copytree(self.source, fresh, ignore=shutil.ignore_patterns("__pycache__"))
            for mistake in self.every:
                score = self.scores[str(mistake.module.relative_to(self.source))]
                score.made += 1
                callers = [item for item, called in calls if (str(mistake.module), mistake.function) in called]
                noticed = None
                if mistake.function:
                    noticed = forked(partial(self._in_memory, session, mistake, callers))
                if noticed is None or (self.again and not noticed):
                    noticed = forked(partial(self._in_files, mistake, fresh), patience=2 * PATIENCE)
                    shutil.copy(mistake.module, fresh / mistake.module.relative_to(self.source))
                if not noticed:
                    score.lived.append(str(mistake))
                    print(f"{mistake}   ({len(callers)} tests)" if mistake.function else mistake, flush=True)
        return True

    def _calls(self, session: pytest.Session) -> list[tuple[pytest.Item, set[tuple[str, str]]]] | None:
        """The tests, the quickest first, each with the functions that it calls; None where one fails."""
        modules = {str(mistake.module) for mistake in self.every}
        with tempfile.TemporaryDirectory() as directory:
            note = Path(directory) / "calls.json"

            def watch() -> bool:
                notes = []
                for item, after in zip_longest(session.items, session.items[1:]):
                    called: set[tuple[str, str]] = set()

                    def see(frame: FrameType, event: str, _: object, called: set[tuple[str, str]] = called) -> None:
                        if event == "call" and frame.f_code.co_filename in modules:
                            called.add((frame.f_code.co_filename, frame.f_code.co_qualname))

                    start = time.perf_counter()
                    sys.setprofile(see)
                    item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
                    sys.setprofile(None)
                    notes.append((time.perf_counter() - start, sorted(called)))
                    if session.testsfailed:
                        note.write_text(json.dumps(item.nodeid), encoding="utf-8")
                        return True
                note.write_text(json.dumps(notes), encoding="utf-8")
                return False

            if forked(watch, patience=1200):
                print(f"without any mistake: {note.read_text(encoding='utf-8') if note.exists() else 'no end'} fails")
                return None
            notes = json.loads(note.read_text(encoding="utf-8"))
        timed = sorted(zip(notes, session.items, strict=True), key=lambda pair: pair[0][0])
        return [(item, {(path, name) for path, name in called}) for (_, called), item in timed]

    def _in_memory(self, session: pytest.Session, mistake: Mistake, callers: Sequence[pytest.Item]) -> bool | None:
        function = function_of(mistake)
        mistake.make()
        code = code_of(compile(mistake.tree, str(mistake.module), "exec"), mistake.function)
        if function is None or code is None or code.co_freevars != function.__code__.co_freevars:
            return None
        function.__code__ = code
        empty_caches(self.source)
        for item, after in zip_longest(callers, callers[1:]):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if session.testsfailed:
                return True
        return False

    def _in_files(self, mistake: Mistake, fresh: Path) -> bool:
        mistake.make()
        place = fresh / mistake.module.relative_to(self.source)
        place.write_text(ast.unparse(mistake.tree), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "mutate", *self.tests]
        variables = {
            "PYTHONPATH": f"{fresh}{os.pathsep}{Path(__file__).parent}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(fresh),
        }
        environment = {**os.environ, **variables}
        try:
            return subprocess.run(command, env=environment, timeout=PATIENCE, check=False).returncode != 0
        except subprocess.TimeoutExpired:
            return True


def main(words: Sequence[str]) -> int:
    """Make the mistakes, print those that live, and a table."""
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument(
        "--source", type=Path, default=ROOT / "src", help="the folder that the modules are imported from"
    )
    parser.add_argument("--only", default="", help="only mistakes that are printed with this text")
    parser.add_argument("--again", action="store_true", help="try those that live again in a process of their own")
    parser.add_argument("--where", choices=("inside", "outside"), help="only mistakes inside functions, or outside")
    asked, tests = parser.parse_args(words[:split]), list(words[split + 1 :])
    source = asked.source.resolve()
    enums = enums_of(source)
    every = [each for module in asked.modules for each in mistakes(module.resolve(), enums) if asked.only in str(each)]
    if asked.where:
        every = [each for each in every if bool(each.function) is (asked.where == "inside")]

    work = Pass(every, tests, source, again=asked.again)
    pytest.main(["-s", "-q", "-p", "no:cacheprovider", *tests], plugins=[work, sys.modules[__name__]])
    if work.broken:
        return 2
    print("\n| module | mistakes | noticed | not |\n|:--|--:|--:|--:|")
    for name, score in work.scores.items():
        lived = len(score.lived)
        print(f"| {name} | {score.made} | {score.made - lived} | {lived} |")
    return int(any(score.lived for score in work.scores.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
