"""What imports what, read from the source: layers go one way, decisions are pure, and heavy libraries have one home.

The rules are the map of the package in a form that fails when the code leaves it. A new module needs a line in LAYERS.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType

import pytest
from tests.rows import each_row
from tests.scenario_calls import DATE, inputs_of

from rankgate.check import check
from rankgate.criteria.inputs import Inputs

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "rankgate"


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def imports_in(tree: ast.AST) -> Iterator[str]:
    """Full names of what is imported, within functions and for types only as well: a dependency is a dependency."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else str(node.module)


def without_types(tree: ast.Module) -> ast.Module:
    """What is left of a module when nobody checks types."""
    body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
    ]
    return ast.Module(body=body, type_ignores=[])


@cache
def imports_of(module: str) -> set[str]:
    """The package offers names that load on first use; only to type checkers does it say where from."""
    tree = tree_of(module)
    return set(imports_in(without_types(tree) if module == "rankgate" else tree))


def unit(module: str) -> str:
    """The step or the seam that a module belongs to: `rankgate.metrics.ranks` is of `metrics`."""
    return module.split(".")[1] if "." in module else module


def ours(module: str) -> set[str]:
    return {unit(name) for name in imports_of(module) if name.split(".")[0] == "rankgate"}


def theirs(module: str) -> set[str]:
    return {name for name in imports_of(module) if name.split(".")[0] != "rankgate"}


# A package or module imports what stands in earlier layers, and itself. Why each stands where it does:
LAYERS: list[tuple[set[str], str]] = [
    ({"rankgate"}, "the version and the public names: imported by everything, so it imports nothing"),
    ({"errors", "statistics"}, "the one error, and arithmetic on numbers that textbooks can check"),
    ({"model", "files"}, "the values that flow, and files as such"),
    ({"readers"}, "files become gold sets and runs; what is done with them later is not theirs to know"),
    ({"metrics"}, "matched queries become values"),
    (
        {"baselines", "collecting"},
        "where accepted runs lie; runs from the user's retriever and labels from people: neither judges anything",
    ),
    ({"criteria"}, "what is asked for, and the files that it names: it has not seen a score"),
    ({"diagnosis", "judge"}, "why, and which questions, from values to values; a model's word on answers"),
    ({"gates"}, "criteria and scores become decisions, and decisions a report"),
    ({"renderers", "base_ref"}, "a report becomes text; a check judged by the base's files too"),
    ({"check", "forges"}, "the story, the only module that knows the order of the steps; a report reaches a platform"),
    ({"api"}, "what Python calls: the same steps, from files or from values in memory"),
    ({"cli", "__main__"}, "arguments, exit codes and printing: nothing below may know that there is a command line"),
]
LEVEL = {name: level for level, (names, _) in enumerate(LAYERS) for name in names}
MAX_LAYERS, MAX_TOP = 11, 18
UNCOUNTED = {"rankgate", "__main__", "api"}  # what users name

# What the order of the layers alone would allow, and the design does not: by the beginning of a module's name.
WITHOUT_SCORES = ("metrics.scoring", "metrics.comparison", "metrics.matching", "gates", "criteria", "readers")
FORBIDDEN = [
    ("metrics.matching", ("metrics.base", "metrics.names", "statistics", "errors"), "gold and ranking in, hits out"),
    ("metrics.scoring", ("readers", "files", "model.report", "model.wording"), "reads no file and says no word"),
    ("metrics.comparison", ("readers", "files", "model.report", "model.wording"), "reads no file and says no word"),
    ("metrics.gaps", ("readers", "files", "model.report", "model.wording"), "reads no file and says no word"),
    ("metrics.drift", ("readers", "files", "model.report", "model.wording"), "reads no file and says no word"),
    ("collecting.pool", ("readers", "files", "metrics.scoring"), "rankings in, pairs out; labels in, judgments out"),
    ("gates.decide", ("readers", "files", "baselines", "diagnosis"), "pure: scores in, a decision out"),
    ("gates.drops", ("readers", "files", "baselines", "diagnosis"), "pure: scores in, a decision out"),
    ("model", ("readers", "metrics"), "the bot reads a report without the machinery"),
    ("base_ref", ("renderers", "gates.decide", "metrics.scoring"), "what one check says is given to it"),
    ("renderers.pages", WITHOUT_SCORES, "everything that a renderer shows is in the report"),
    ("renderers.markdown", WITHOUT_SCORES, "everything that a renderer shows is in the report"),
    ("renderers.phrases", WITHOUT_SCORES, "everything that a renderer shows is in the report"),
    ("renderers.terminal", WITHOUT_SCORES, "everything that a renderer shows is in the report"),
    ("forges.workflows", ("criteria", "gates", "model.report", "readers.formats"), "names and paths in, text out"),
    ("baselines", ("metrics.scoring", "metrics.comparison", "model.wording"), "a store keeps runs, it judges none"),
    (
        "judge.plan",
        ("readers", "files", "judge.client", "judge.store", "judge.replies"),
        "answers and verdicts in, calls out",
    ),
    (
        "collecting.recorder",
        ("metrics", "baselines", "renderers"),
        "recording writes a run; judging it is another command",
    ),
    ("check", ("renderers", "files", "readers", "baselines"), "named steps only; details are further down"),
]


@each_row("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    own = unit(module)
    assert own in LEVEL, f"{own} is new at the top: it takes another one's place in LAYERS"
    for name in ours(module) - {own}:
        assert LEVEL[name] < LEVEL[own] or own == "__main__", f"{module} imports {name}"
    for place, forbidden, why in FORBIDDEN:
        if f"{module}.".startswith(f"rankgate.{place}."):
            for name in imports_of(module):
                assert not f"{name}.".startswith(tuple(f"rankgate.{each}." for each in forbidden)), f"{name}: {why}"


@pytest.mark.parametrize("name", ["pass", "what_differs", "one_language"])
def test_calls_go_one_way(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check hands values down: nothing below calls a function that lies above it, or pulls an iterator from there."""
    monkeypatch.chdir(inputs_of(name, tmp_path))
    modules = {str(path): module for module, path in MODULES.items()}
    upwards: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        called = modules.get(frame.f_code.co_filename)
        if event != "call" or called is None or frame.f_code.co_name == "<module>":
            return
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename not in modules:
            caller = caller.f_back
        if caller is not None and LEVEL[unit(modules[caller.f_code.co_filename])] < LEVEL[unit(called)]:
            upwards.add((caller.f_code.co_qualname, frame.f_code.co_qualname))

    inputs = Inputs(date=DATE, criteria="ship-criteria.yaml")
    sys.setprofile(note)
    try:
        check(inputs)
    finally:
        sys.setprofile(None)
    assert upwards == set()


def test_the_tree_is_a_table_of_contents() -> None:
    """A new name at the top takes another one's place; a new layer is a second look at the order."""
    assert set(LEVEL) == {unit(module) for module in MODULES}
    assert len(set(LEVEL) - UNCOUNTED) <= MAX_TOP
    assert len([names for names, _ in LAYERS if names - UNCOUNTED]) <= MAX_LAYERS


def test_the_rules_speak_of_modules_that_exist() -> None:
    named = {name for place, forbidden, _ in FORBIDDEN for name in (place, *forbidden)}
    assert {name for name in named if f"rankgate.{name}" not in MODULES} == set()


def test_the_map_speaks_of_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The map")[2].partition("\n## ")[0]
    named = {name.removeprefix("src/rankgate/") for name in re.findall(r"`((?:\w+/)+(?:[\w.]+\.(?:py|j2))?)`", text)}
    ours = {name for name in named if not name.startswith(("tests/", "docs/", "config/"))}
    assert len(ours) > 40
    assert {name for name in ours if not any(SOURCE.glob(f"**/{name}"))} == set()


def test_no_step_imports_itself_by_a_detour() -> None:
    """Steps of one layer may know each other, but not in a circle; nor may the modules of a folder."""
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " → ".join((*path[path.index(module) :], module)) if module in path else ""
        if module not in done:
            for name in sorted(imports_of(module) & set(MODULES)):
                visit(name, (*path, module))
            done.add(module)

    for module in MODULES:
        visit(module, ())


def test_model_and_errors_stand_alone() -> None:
    """Everything imports them, so whatever they imported everything would pay for."""
    assert ours("rankgate.model.answers") == set()
    for module in ("rankgate.model.answers", "rankgate.model.values", "rankgate.errors"):
        assert ours(module) <= {"model"}
        allowed = {"__future__", "msgspec", "msgspec.structs", "enum", "difflib", "collections.abc", "functools", "re"}
        allowed |= {"typing"}  # which msgspec imports anyway
        allowed |= {"contextvars"}  # four lines around what the interpreter has built in
        assert theirs(module) <= allowed


PURE_UNITS = {"model", "statistics", "gates", "diagnosis"}
PURE_MODULES = {
    *(f"rankgate.metrics.{name}" for name in ("base", "names", "matching", "plan", "scoring", "estimates")),
    "rankgate.metrics.comparison",
    "rankgate.metrics.gaps",
    "rankgate.metrics.drift",
    "rankgate.collecting.pool",
    *(f"rankgate.renderers.dashboards.{name}" for name in ("values", "build")),
    *(f"rankgate.base_ref.{name}" for name in ("changes", "worst")),
    "rankgate.criteria.starter",
    *(f"rankgate.judge.{name}" for name in ("model", "plan", "quotes", "records", "replies", "sample", "tasks")),
    *(f"rankgate.baselines.{name}" for name in ("base", "memory", "records")),
    *("rankgate.files.environment", "rankgate.forges.retry"),
}  # of packages that otherwise see the world
NOT_PURE = {"rankgate.gates.validation", "rankgate.gates.not_judged"}
PURE = sorted({module for module in MODULES if unit(module) in PURE_UNITS} - NOT_PURE | PURE_MODULES)

# Libraries that see more than their arguments: files, processes, environment, clocks, chance, the network, a log.
WORLD = {
    *("os", "io", "pathlib", "shutil", "tempfile", "glob", "fileinput", "gzip", "zlib", "fcntl", "subprocess"),
    *("time", "datetime", "random", "secrets", "uuid", "platform", "locale", "getpass", "signal", "threading"),
    *("logging", "warnings", "requests", "urllib", "http", "socket", "asyncio", "ssl", "jinja2", "rich", "argparse"),
}
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}


@each_row("module", PURE)
def test_a_decision_depends_on_its_arguments_alone(module: str) -> None:
    """Otherwise the same inputs would not give the same verdict, and a fork's run could not be judged elsewhere."""
    assert {name for name in theirs(module) if name.split(".")[0] in WORLD} == set()
    called = {
        node.func.id
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called & WORLDLY_CALLS == set()


@pytest.mark.full
@each_row("module", PURE)
def test_of_the_interpreter_only_its_largest_number_is_used(module: str) -> None:
    """`sys` also has arguments, streams and the environment's encoding."""
    used = {
        node.attr
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys"
    }
    assert used <= {"maxsize"}
    assert "sys" not in {str(node.module) for node in ast.walk(tree_of(module)) if isinstance(node, ast.ImportFrom)}, (
        "from sys import …"
    )


def test_packages_are_looked_for_in_one_place() -> None:
    """Metrics of other packages come through entry points: the one look at the environment that a metric costs."""
    assert {module for module in MODULES if "importlib.metadata" in imports_of(module)} == {"rankgate.metrics.plugins"}


HOMES = [
    pytest.param("multiprocessing", set(), id="multiprocessing: nowhere, one process scores a run"),
    pytest.param("concurrent", {"judge.judging"}, id="concurrent.futures: questions at once"),
    pytest.param(
        "threading",
        {
            "cli.demo",
            "cli.output",
            "collecting",
            "judge.client",
            "judge.judging",
            "judge.store",
        },
        id="threading: around the work",
    ),
    pytest.param("argparse", {"cli"}, id="argparse: only the command line has arguments"),
    pytest.param(
        "jinja2",
        {"renderers.markdown", "renderers.pages", "judge.identity", "forges.workflows"},
        id="jinja2: Markdown, pages, prompts and workflows have templates",
    ),
    pytest.param(
        "rich",
        {"cli", "collecting.recorder", "collecting.workers"},
        id="rich: only where something is shown at a terminal",
    ),
    pytest.param("xml", {"renderers.junit"}, id="xml: written, never read"),
    pytest.param(
        "yaml", {"readers.yaml_text"}, id="yaml: one strict reading of YAML, for criteria and gold sets alike"
    ),
    pytest.param(
        "tempfile",
        {"files.writing", "readers.parquet", "forges.base_checkout", "base_ref.files", "collecting.retriever"},
        id="tempfile: one way to write a file whole; room for DuckDB; files of a commit; streams of a command",
    ),
    pytest.param(
        "csv", {"collecting.sheets", "readers.tables"}, id="csv: one strict reading of tables; and label sheets"
    ),
    pytest.param("fsspec", {"readers.buckets"}, id="fsspec: an extra, for baselines and runs in a bucket"),
    pytest.param("bm25s", {"diagnosis.misses"}, id="bm25s: an extra, for `explain --bm25` alone"),
    pytest.param("pyspark", {"metrics.spark"}, id="pyspark: an extra, whose session is the user's"),
    pytest.param("pyarrow", {"metrics.spark"}, id="pyarrow: what Spark hands to Python"),
    pytest.param("duckdb", {"readers.parquet"}, id="duckdb: an extra, for Parquet alone"),
    pytest.param(
        "datetime",
        {"api", "cli.options", "readers.dates", "collecting", "forges.pull_labels"},
        id="datetime: --date, or date= in Python, is the only clock of a check",
    ),
    pytest.param("pytest", {"cli.pytest_plugin"}, id="pytest: its plugin, which nothing of ours imports"),
    pytest.param("pandas", {"metrics.evaluation"}, id="pandas: who asks for a frame has it"),
    pytest.param(
        "time",
        {"collecting", "forges.http", "baselines.branch", "baselines.clones", "judge.client", "judge.judging"},
        id="time: a recorded retriever is timed; the API asks to wait, and so do pushes of others",
    ),
    pytest.param("sqlite3", set(), id="sqlite3: nowhere, what is kept are lines"),
    pytest.param("pydantic", {"criteria", "judge"}, id="pydantic: criteria and waivers, and what a model answers"),
    pytest.param("pydantic_core", {"criteria", "judge"}, id="pydantic_core: as pydantic"),
    pytest.param("logging", set(), id="logging: nowhere, results are values"),
    pytest.param("random", set(), id="random: nowhere, nothing is drawn"),
    pytest.param("statistics", set(), id="statistics: nowhere, its import costs more than an interval"),
    pytest.param("numpy", set(), id="numpy: nowhere, its import costs more than a check"),
    pytest.param(
        "requests",
        {"forges.http", "judge.client"},
        id="requests: where a request is sent, nowhere else",
    ),
    pytest.param(
        "urllib3", {"forges.http", "judge.client"}, id="urllib3: what requests says about a failure, in our words"
    ),
    pytest.param(
        "urllib",
        {"forges", "criteria", "collecting.retriever", "renderers.view.numbers", "renderers.view.questions"},
        id="urllib: addresses of APIs, and of places on a page",
    ),
    pytest.param("pickle", set(), id="pickle: nowhere, reading data must not run it"),
    pytest.param(
        "subprocess",
        {"cli.processes", "forges.base_checkout", "files.git", "collecting.retriever"},
        id="subprocess: our own interpreter, git, and the command of `record`; no input becomes a command",
    ),
]


@each_row(("library", "homes"), HOMES)
def test_a_library_has_its_home(library: str, homes: set[str]) -> None:
    users = {
        module.removeprefix("rankgate.")
        for module in MODULES
        if library in {name.split(".")[0] for name in theirs(module)}
    }
    unknown_queries = {user for user in users if user not in homes and user.split(".")[0] not in homes}
    assert unknown_queries == set()


def test_every_library_is_declared_and_every_declared_library_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    ours = [each for extra, group in extras.items() if extra not in ("dev", "recipes") for each in group]
    declared = [*project["dependencies"], *ours]
    names = {name.split(">=")[0].split("[")[0].lower() for name in declared}
    used = {name.split(".")[0] for module in MODULES for name in theirs(module)} - set(sys.stdlib_module_names)
    used -= {"pytest", "pandas"}  # the user's own
    loaded = {"s3fs"}  # by fsspec, for s3://
    called = {
        "yaml": "pyyaml",
        "pydantic_core": "pydantic",
        "pyspark": "pyspark-client",
    }
    assert {called.get(name, name) for name in used} | loaded == names


def test_the_story_fits_on_one_screen() -> None:
    assert len((SOURCE / "check.py").read_text(encoding="utf-8").splitlines()) <= 70


MAX_FIELDS = 15
# What a file or a row has beside each other, and what is read for every question.
LARGER = {
    "BaseSide": 24,
    "Conclusion": 17,
    "FieldMap": 21,
    "MatchedQuery": 18,
    "Record": 23,
    "Row": 18,
    "RunMap": 18,
    "Sample": 16,
    "Scores": 19,
    "Traffic": 17,
}


def fields_of(module: str) -> Iterator[tuple[str, int]]:
    """The values that a module defines, each with how many fields it adds to those of its base."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ClassDef):
            stated = [each.annotation for each in node.body if isinstance(each, ast.AnnAssign)]
            yield node.name, sum("ClassVar" not in ast.unparse(each) for each in stated)


@pytest.mark.full
def test_a_value_with_many_fields_has_parts() -> None:
    sizes = dict(each for module in MODULES for each in fields_of(module) if each[1] > MAX_FIELDS)
    assert sizes == LARGER


VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "misc", "core", "base_utils", "tools", "lib"}


def test_every_module_is_named_after_something() -> None:
    """A drawer for odds and ends is where the next reader looks last."""
    assert {module for module in MODULES if VAGUE & set(module.split("."))} == set()
    assert {module for module in MODULES if module.split(".")[-1].endswith(("_utils", "_helpers", "_manager"))} == set()


SENTENCES = {"message", "reasons", "summary", "failures", "warnings", "notes", "finding", "meaning"}
SPELLING = {"spoken", "explain", "sentences", "plain_sentence", "short_headline", "other_sentences"}  # give some
READING = {"startswith", "endswith", "find", "index", "split", "removeprefix", "removesuffix"}
READING |= {"partition", "rpartition"}
MATCHING = {"match", "search", "fullmatch", "findall", "finditer", "sub", "split"}
READS_ALL_THE_SAME = {
    "rankgate.readers.json_text": "msgspec says in prose alone what is wrong and where; `spoken` is the one place",
    "rankgate.renderers.view": "a finding has `{tag}` where its tag goes, which is a place and no word",
}


def holds_sentence(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression is, or is made of, a sentence: a field that holds one, or the text of an error."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            reason = isinstance(part.value, ast.Name) and "reason" in part.value.id
            if part.attr in SENTENCES or (part.attr == "text" and reason):
                return True
        if isinstance(part, ast.Name) and part.id in names:
            return True
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "str" and part.args:
            given = part.args[0]
            if isinstance(given, ast.Name) and given.id in ("error", "problem"):
                return True
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in SPELLING:
            return True
    return False


def readings(tree: ast.AST) -> Iterator[str]:
    """Where the text of a sentence decides something: its beginning, a word in it, a pattern, or the whole of it."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.comprehension)]
    names = {
        name.id
        for node in loops
        if isinstance(node.iter, ast.Attribute) and node.iter.attr in SENTENCES
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(tree):
        found = False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            layout = all(isinstance(each, ast.Constant) and not str(each.value).strip() for each in node.args)
            found = node.func.attr in READING and not layout and holds_sentence(node.func.value, names)
            found |= node.func.attr in MATCHING and any(holds_sentence(each, names) for each in node.args)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if isinstance(node.ops[0], ast.In | ast.NotIn):
                found = holds_sentence(node.comparators[0], names)
            elif isinstance(node.ops[0], ast.Eq | ast.NotEq):
                text = any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in sides)
                found = text and any(holds_sentence(each, names) for each in sides)
        if found:
            yield f"{node.lineno}: {ast.unparse(node)}"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("reason.text.startswith('no baseline')", id="its beginning"),
        pytest.param("report.gates[0].reasons[0].text.startswith('no baseline')", id="of the first"),
        pytest.param("[each for each in gate.reasons if each.startswith('x')]", id="of each"),
        pytest.param("'lost in' in problem.message", id="a word in it"),
        pytest.param("text not in report.summary", id="a sentence in another"),
        pytest.param("re.match(pattern, problem.message)", id="a pattern"),
        pytest.param("_CHANGE.sub(said, report.summary)", id="a pattern that is compiled"),
        pytest.param("' 403 ' in str(error)", id="a word in an error"),
        pytest.param("report.summary.partition(': ')[2]", id="a part of it"),
        pytest.param("report.warnings[0] == 'the gold set is stale'", id="the whole of it"),
    ],
)
def test_reading_a_sentence_is_recognised(code: str) -> None:
    assert list(readings(ast.parse(code)))


def test_writing_one_is_not() -> None:
    lines = [
        "str(error).splitlines()[0]",
        "' '.join(str(error).split())",
        "f'{report.summary}.'",
        "if report.warnings: x()",
    ]
    assert [found for line in lines for found in readings(ast.parse(line))] == []


@pytest.mark.full
@each_row("module", MODULES)
def test_state_is_a_value(module: str) -> None:
    """No decision hangs on the words of a sentence, so that words may change."""
    assert list(readings(tree_of(module))) == [] or module in READS_ALL_THE_SAME


def test_every_module_says_what_it_is() -> None:
    assert {
        module for module, tree in zip(MODULES, map(tree_of, MODULES), strict=True) if not ast.get_docstring(tree)
    } == set()


@pytest.mark.full
def test_nothing_knows_the_command_line() -> None:
    """Neither by an import nor by a name to import later."""
    assert {module for module in MODULES if "cli" in ours(module) and unit(module) != "cli"} == {"rankgate.__main__"}
    named = {
        module
        for module in MODULES
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("rankgate.cli")
    }
    assert {unit(module) for module in named} <= {"cli"}


def test_the_package_itself_imports_nothing_of_weight() -> None:
    """`import rankgate` for its version costs nothing; public names load on first use."""
    assert imports_of("rankgate") == {"__future__", "typing", "importlib", "sys", "types"}


@each_row(
    ("statement", "absent"),
    [
        pytest.param("import rankgate", {"msgspec", "rankgate.model.values", "argparse"}, id="import rankgate"),
        pytest.param(
            "import rankgate.cli.pytest_plugin",
            {"msgspec", "pydantic", "rankgate.errors", "rankgate.api", "rankgate.cli.options"},
            id="the plugin of pytest, in everybody's tests",
        ),
        pytest.param(
            "import rankgate.check",
            {"jinja2", "rich", "requests", "numpy", "argparse", "rankgate.cli", "rankgate.renderers"},
            id="the story",
        ),
        pytest.param(
            "import rankgate.cli.check", {"requests", "urllib3", "rankgate.forges.client"}, id="rankgate check"
        ),
        pytest.param(
            "import rankgate.gates.decide, rankgate.metrics.scoring, rankgate.metrics.names",
            {"jinja2", "rich", "gzip", "tempfile", "pydantic", "rankgate.baselines", "rankgate.criteria.inputs"},
            id="deciding",
        ),
        pytest.param(
            "import rankgate.cli.inputs, rankgate.metrics.scored_run, rankgate.diagnosis.notes",
            {"pydantic", "yaml", "rankgate.criteria.model"},
            id="opening and scoring a run",
        ),
        pytest.param(
            "import rankgate.judge.plan, rankgate.judge.store",
            {"pydantic", "jinja2", "requests", "rankgate.judge.replies", "rankgate.judge.client"},
            id="reading verdicts",
        ),
        pytest.param("import rankgate.collecting.recorder, rankgate.cli.record", {"jinja2"}, id="recording"),
        pytest.param(
            "import rankgate.cli.comment, rankgate.forges.publish, rankgate.gates.not_judged, rankgate.criteria.inputs",
            {"pydantic", "rankgate.criteria.model"},
            id="publishing a report",
        ),
        pytest.param(
            "import rankgate.renderers.markdown",
            {"pydantic", "requests", "rankgate.criteria"},
            id="a user's template",
        ),
        pytest.param(
            "import rankgate.diagnosis.misses, rankgate.renderers.explaining",
            {"bm25s", "numpy", "yaml", "jinja2", "rich", "rankgate.metrics.scoring", "rankgate.criteria"},
            id="explaining",
        ),
        pytest.param(
            "import rankgate.model.report, rankgate.renderers.terminal",
            {"yaml", "jinja2", "rich", "rankgate.metrics.scoring", "rankgate.readers", "rankgate.criteria"},
            id="rendering to a terminal",
        ),
        pytest.param(
            "import rankgate.model.report, rankgate.renderers.markdown",
            {
                "yaml",
                "rich",
                "rankgate.metrics.scoring",
                "rankgate.readers",
                "rankgate.criteria",
                "rankgate.statistics",
            },
            id="rendering Markdown",
        ),
    ],
)
def test_an_import_is_paid_only_by_what_uses_it(statement: str, absent: set[str]) -> None:
    """The table above sees single modules; this sees all that an import drags along."""
    program = f"import sys; {statement}; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) & absent == set()


MOST_MODULES, MOST_LINES = 72, 12_950  # of ours that a check of one question reads


def test_a_check_of_one_question_reads_little_of_the_source(tmp_path: Path) -> None:
    """One gate with a floor, one question, no baseline: what goes beyond is imported where the input has it."""
    (tmp_path / "ship-criteria.yaml").write_text("gates:\n  - {name: recall@5, threshold: 0.85, severity: error}\n")
    (tmp_path / "gold.jsonl").write_text('{"id": "q", "input": {"question": "x"}, "expected_output": ["a"]}\n')
    (tmp_path / "run.jsonl").write_text('{"query_id": "q", "topk": [{"rank": 1, "chunk_id": "a"}]}\n')
    program = (
        "import sys; from rankgate.cli import main; code = main(['check', '--gold=gold.jsonl', '--run=run.jsonl']); "
        "print(*[name for name in sys.modules if name.split('.')[0] == 'rankgate']); sys.exit(code)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    imported = done.stdout.splitlines()[-1].split()
    lines = sum(len(MODULES[name].read_text(encoding="utf-8").splitlines()) for name in imported)
    assert "rankgate.renderers.terminal" in imported
    assert len(imported) <= MOST_MODULES
    assert lines <= MOST_LINES
