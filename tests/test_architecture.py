"""What imports what, read from the source: layers go one way, decisions are pure, and heavy libraries have one home.

The rules are the map of the package in a form that fails when the code leaves it. A new module needs a line in LAYERS.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "rankgate"


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def imports_in(tree: ast.AST) -> Iterator[str]:
    """Full names of what is imported, within functions and for types only as well: a dependency is a dependency."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in TREES else str(node.module)


def without_types(tree: ast.Module) -> ast.Module:
    """What is left of a module when nobody checks types."""
    body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
    ]
    return ast.Module(body=body, type_ignores=[])


IMPORTS = {module: set(imports_in(tree)) for module, tree in TREES.items()}
# The package offers names that load on first use; only to type checkers does it say where from.
IMPORTS["rankgate"] = set(imports_in(without_types(TREES["rankgate"])))


def unit(module: str) -> str:
    """The step or the seam that a module belongs to: `rankgate.metrics.gains` is of `metrics`."""
    return module.split(".")[1] if "." in module else module


def ours(module: str) -> set[str]:
    return {unit(name) for name in IMPORTS[module] if name.split(".")[0] == "rankgate"}


def theirs(module: str) -> set[str]:
    return {name for name in IMPORTS[module] if name.split(".")[0] != "rankgate"}


# A step may import the steps of the layers above its own line, and a folder itself. Why each stands where it does:
LAYERS: list[tuple[set[str], str]] = [
    ({"rankgate"}, "the version and the public names: imported by everything, so it imports nothing"),
    ({"redaction"}, "what of an address may be shown: a problem and a source have none of the rest"),
    ({"model", "errors"}, "the values that flow and the one error: the words in which all others speak"),
    ({"texts"}, "how two texts compare: words and white space, nothing of gold or run"),
    ({"statistics"}, "arithmetic on numbers: knows no metric and no run, so that it can be checked against textbooks"),
    ({"metrics"}, "a metric sees one matched query: never a file, a threshold, a verdict or a report"),
    ({"gold_changes"}, "what a baseline remembers of the gold set, and what has changed since"),
    ({"differences"}, "what a run, a baseline and the gold set say of themselves, side by side"),
    ({"base_side", "waiver_use"}, "what a report says of the commit it is judged against, and of waivers"),
    ({"git"}, "what git has at a commit: the only module that calls it"),
    ({"environment"}, "where a job finds GitHub, and its token: for stores and the bot alike"),
    (
        {"matching", "files", "yaml_text", "quoting", "wording"},
        "single steps: on plain values, a file, a text; how numbers read",
    ),
    ({"lineage"}, "what a report says of the accepted run that was compared with"),
    ({"shapes"}, "from a document to checked values"),
    ({"readers"}, "files become gold sets and runs; what is done with them later is not theirs to know"),
    ({"exhibit"}, "what pages show beyond the report"),
    ({"lexical"}, "what BM25 finds for a question of the exhibit: a second opinion, and no part of any verdict"),
    ({"plan", "estimates", "scoring", "report"}, "the values of a run, and the shape of what is said"),
    ({"report_text", "exit_codes", "deciding"}, "the report as a file, as a number, and what of it decided"),
    ({"transfer"}, "the values of a part of a run as bytes"),
    ({"parallel"}, "a run is scored in one process or in several: the only module that starts any"),
    ({"pooling", "labels"}, "what to label and what was labelled, beside the gold: from values to values"),
    ({"pool_files", "gold_documents"}, "pools, and gold sets with all that stands in them, as files"),
    ({"comparison"}, "two runs' values, paired"),
    ({"staleness"}, "whether gold and lists speak of the same ids: from values to values, or an error"),
    ({"side"}, "a run and its scores, as one of the two that are compared"),
    ({"tags"}, "which queries share a tag"),
    ({"written"}, "the criteria file as it is written"),
    ({"criteria_problems"}, "what is wrong with what it means"),
    ({"criteria", "baselines"}, "what is asked for, and where the accepted run lies: neither has seen a score"),
    ({"waivers"}, "what may be violated for a while: known by the names of gates alone"),
    ({"evidence", "reasons"}, "what a limit and an interval say together, and how it reads"),
    ({"detectable", "noise"}, "what a gold set can see, and what moves by itself"),
    (
        {"gates", "segment_gates", "paradox", "segments", "movements", "facts", "starting"},
        "decisions and findings: from values to values",
    ),
    ({"workflows"}, "what a team's repository needs on GitHub, as text: of the gate it knows only names"),
    ({"hard_checks", "anchoring", "judging"}, "all gates, on all their queries"),
    ({"trend"}, "how it went before: records become what a report says of them"),
    ({"inputs"}, "from what the caller and the criteria name to opened files"),
    ({"evaluation"}, "scores for a notebook: the same steps without criteria or verdict"),
    ({"validation"}, "everything wrong or odd at once"),
    ({"diagnosis"}, "what to look at first: from values to values"),
    ({"notes"}, "what a careful reader would ask of the scores"),
    ({"acceptance"}, "whether a run may become the baseline: from a report to values"),
    ({"headline"}, "decisions become a sentence"),
    ({"waiving"}, "what a waiver makes of a decision"),
    ({"exhibiting"}, "matched queries become what pages show"),
    ({"compose"}, "decisions become a report"),
    ({"explaining"}, "a report with its exhibit becomes the answer to one question"),
    ({"against_base"}, "the story with a base: it is given how one side is judged"),
    ({"check"}, "the story: the only module that knows the order of the steps"),
    ({"dashboards"}, "what a lead looks at once a month: a memory of runs as values, and the folder for the pages"),
    ({"renderers"}, "a report becomes text; rendering never scores, so it needs none of the steps"),
    ({"recording"}, "the user's own retriever is run: the gate itself never does"),
    ({"forges"}, "a report reaches a platform; publishing never scores, and no step knows that there is a network"),
    ({"cli"}, "arguments, exit codes and printing: nothing below may know that there is a command line"),
    ({"__main__"}, "python -m rankgate"),
]
LEVEL = {name: level for level, (names, _) in enumerate(LAYERS) for name in names}

# What the order of the layers alone would allow, and the design does not.
FORBIDDEN = {
    "errors": ({"model"}, "errors are made before there are values"),
    "model": ({"errors"}, "values do not fail"),
    "statistics": ({"rankgate", "model", "errors"}, "numbers in, numbers out"),
    "matching": ({"metrics", "errors", "statistics"}, "gold and ranking in, hits out"),
    "metrics": ({"readers", "scoring", "gates", "criteria", "report", "cli", "renderers", "baselines"}, "one query"),
    "transfer": ({"readers", "metrics", "errors"}, "a tally in, bytes out"),
    "scoring": ({"readers", "files", "yaml_text", "report", "wording"}, "reads no file and says no word"),
    "comparison": ({"readers", "files", "report", "wording"}, "reads no file and says no word"),
    "pooling": ({"readers", "files", "metrics", "scoring"}, "rankings in, pairs out: what is scored is another step"),
    "labels": ({"readers", "files", "metrics", "scoring"}, "labels in, judgments out"),
    "gates": ({"readers", "files", "baselines", "segments", "movements"}, "pure: scores in, a decision out"),
    "report": ({"scoring", "criteria", "gates", "readers"}, "the bot reads a report without the machinery"),
    "git": ({"readers", "files", "report"}, "paths and objects, whatever they hold"),
    "against_base": ({"renderers", "gates", "scoring"}, "what one side says is given to it"),
    "renderers": (
        {
            "scoring",
            "comparison",
            "gates",
            "criteria",
            "readers",
            "baselines",
            "inputs",
            "compose",
            "check",
            "matching",
        },
        "everything that a renderer shows is in the report",
    ),
    "workflows": ({"criteria", "gates", "report", "files", "readers"}, "names and paths in, text out"),
    "baselines": ({"criteria", "scoring", "comparison", "report", "wording"}, "a store keeps runs, it judges none"),
    "recording": (
        {"check", "compose", "gates", "criteria", "baselines", "scoring", "renderers"},
        "recording writes a run; judging it is another command, often on another machine",
    ),
    "check": ({"renderers", "files", "readers", "baselines"}, "named steps only; details are further down"),
}


# What one module may import against the order, within a function: nobody else pays for it.
AGAINST_THE_ORDER = {
    "rankgate.baselines.stores": ({"forges"}, "`artifact:NAME` lies behind a platform's API, asked where it is named"),
}


@pytest.mark.parametrize("module", TREES)
def test_imports_go_one_way(module: str) -> None:
    own = unit(module)
    assert own in LEVEL, f"{own} is new: give it its place in LAYERS"
    for name in ours(module) - {own} - AGAINST_THE_ORDER.get(module, (set(), ""))[0]:
        assert LEVEL[name] < LEVEL[own] or {name, own} <= LAYERS[LEVEL[own]][0], f"{module} imports {name}"
        forbidden, why = FORBIDDEN.get(own, (set(), ""))
        assert name not in forbidden, f"{module} imports {name}; but {why}"


def test_the_layers_name_only_what_there_is() -> None:
    assert set(LEVEL) == {unit(module) for module in TREES}


def test_no_step_imports_itself_by_a_detour() -> None:
    """Steps of one layer may know each other, but not in a circle; nor may the modules of a folder."""
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " → ".join((*path[path.index(module) :], module)) if module in path else ""
        if module not in done:
            for name in sorted(IMPORTS[module] & set(TREES)):
                visit(name, (*path, module))
            done.add(module)

    for module in TREES:
        visit(module, ())


def test_model_and_errors_stand_alone() -> None:
    """Everything imports them, so whatever they imported everything would pay for."""
    for module in ("rankgate.model.values", "rankgate.errors", "rankgate.errors"):
        assert ours(module) <= {"model", "errors", "redaction"}
        allowed = {"__future__", "msgspec", "msgspec.structs", "enum", "difflib", "collections.abc", "functools", "re"}
        assert theirs(module) <= allowed


PURE_UNITS = {
    *("model", "metrics", "matching", "plan", "scoring", "estimates", "transfer", "statistics", "comparison"),
    *("gates", "segments", "movements", "facts", "starting", "wording", "report", "detectable", "noise"),
    *("pooling", "labels", "staleness", "diagnosis", "gold_changes", "quoting", "workflows"),
    *("criteria_problems", "waiver_use", "waiving", "trend"),
    *("exhibit", "exhibiting", "explaining", "deciding"),
    *("environment", "base_side", "headline", "differences", "lineage", "anchoring", "acceptance"),
}
PURE_MODULES = {
    "rankgate.forges.waiting",
    "rankgate.baselines.base",
    *(f"rankgate.renderers.dashboards.{name}" for name in ("values", "days", "spans", "curves", "build")),
    *(f"rankgate.base_ref.{name}" for name in ("criteria_changes", "queries", "stricter")),
}  # of folders that otherwise see the world
PURE = sorted(module for module in TREES if unit(module) in PURE_UNITS or module in PURE_MODULES)

# Libraries that see more than their arguments: files, processes, environment, clocks, chance, the network, a log.
WORLD = {
    *("os", "io", "pathlib", "shutil", "tempfile", "glob", "fileinput", "gzip", "zlib", "sqlite3", "subprocess"),
    *("time", "datetime", "random", "secrets", "uuid", "platform", "locale", "getpass", "signal", "threading"),
    *("logging", "warnings", "requests", "urllib", "http", "socket", "asyncio", "ssl", "jinja2", "rich", "argparse"),
}
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}


@pytest.mark.parametrize("module", PURE)
def test_a_decision_depends_on_its_arguments_alone(module: str) -> None:
    """Otherwise the same inputs would not give the same verdict, and a fork's run could not be judged elsewhere."""
    assert {name for name in theirs(module) if name.split(".")[0] in WORLD} == set()
    called = {
        node.func.id
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called & WORLDLY_CALLS == set()


@pytest.mark.parametrize("module", PURE)
def test_of_the_interpreter_only_its_largest_number_is_used(module: str) -> None:
    """`sys` also has arguments, streams and the environment's encoding."""
    used = {
        node.attr
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys"
    }
    assert used <= {"maxsize"}
    assert "sys" not in {str(node.module) for node in ast.walk(TREES[module]) if isinstance(node, ast.ImportFrom)}, (
        "from sys import …"
    )


def test_packages_are_looked_for_in_one_place() -> None:
    """Metrics of other packages come through entry points: the one look at the environment that a metric costs."""
    assert {module for module in TREES if "importlib.metadata" in IMPORTS[module]} == {"rankgate.metrics.registry"}


HOMES = [
    pytest.param("multiprocessing", set(), id="multiprocessing: nowhere, what it sends is pickled"),
    pytest.param(
        "threading", {"parallel", "cli.progress", "recording", "renderers.isolation"}, id="threading: around the work"
    ),
    pytest.param("argparse", {"cli"}, id="argparse: only the command line has arguments"),
    pytest.param(
        "jinja2", {"renderers.environment", "renderers.pages.shell"}, id="jinja2: Markdown and pages have templates"
    ),
    pytest.param("vl_convert", {"renderers.pages.charts"}, id="vl_convert: an extra, draws the charts of pages"),
    pytest.param("resource", {"renderers.sandboxed"}, id="resource: only a user's template is limited"),
    pytest.param("rich", {"cli", "recording"}, id="rich: only where something is shown at a terminal"),
    pytest.param("xml", {"renderers.junit"}, id="xml: written, never read"),
    pytest.param("yaml", {"yaml_text"}, id="yaml: one strict reading of YAML, for criteria and gold sets alike"),
    pytest.param(
        "tempfile",
        {"files", "readers.parquet", "forges.base_checkout", "against_base.files"},
        id="tempfile: one way to write a file whole; room for DuckDB; files of a commit",
    ),
    pytest.param("csv", {"pool_files", "readers.delimited"}, id="csv: one strict reading of tables; and label sheets"),
    pytest.param("fsspec", {"baselines.cloud_objects"}, id="fsspec: an extra, for baselines in a bucket"),
    pytest.param("bm25s", {"lexical"}, id="bm25s: an extra, for `explain --bm25` alone"),
    pytest.param("duckdb", {"readers.parquet"}, id="duckdb: an extra, for Parquet alone"),
    pytest.param(
        "datetime", {"cli.options", "readers.dates", "recording"}, id="datetime: --date is the only clock of a check"
    ),
    pytest.param(
        "time",
        {"recording", "forges.exchange", "baselines.git_branch", "baselines.git_place"},
        id="time: a recorded retriever is timed; the API asks to wait, and so do pushes of others",
    ),
    pytest.param("pydantic", set(), id="pydantic: nowhere, msgspec checks what is read"),
    pytest.param("logging", set(), id="logging: nowhere, results are values"),
    pytest.param("random", set(), id="random: nowhere, nothing is drawn"),
    pytest.param("statistics", set(), id="statistics: nowhere, its import costs more than an interval"),
    pytest.param("numpy", set(), id="numpy: nowhere, its import costs more than a check"),
    pytest.param("requests", {"forges.exchange"}, id="requests: where a request is sent, nowhere else"),
    pytest.param("urllib3", {"forges.exchange"}, id="urllib3: what requests says about a failure, in our words"),
    pytest.param("urllib", {"forges"}, id="urllib: addresses, and only of a platform's API"),
    pytest.param("pickle", set(), id="pickle: nowhere, reading data must not run it"),
    pytest.param(
        "subprocess",
        {"forges.base_checkout", "renderers.isolation", "git"},
        id="subprocess: our own interpreter, and git; no input becomes a command",
    ),
]


@pytest.mark.parametrize(("library", "homes"), HOMES)
def test_a_library_has_its_home(library: str, homes: set[str]) -> None:
    users = {
        module.removeprefix("rankgate.")
        for module in TREES
        if library in {name.split(".")[0] for name in theirs(module)}
    }
    strangers = {user for user in users if user not in homes and user.split(".")[0] not in homes}
    assert strangers == set()


def test_every_library_is_declared_and_every_declared_library_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (each for extra, group in project["optional-dependencies"].items() if extra != "dev" for each in group)
    declared = [*project["dependencies"], *extras]
    names = {name.split(">=")[0].split("[")[0].lower() for name in declared}
    used = {name.split(".")[0] for module in TREES for name in theirs(module)} - set(sys.stdlib_module_names)
    loaded = {"s3fs"}  # by fsspec, for s3://
    assert {{"yaml": "pyyaml", "vl_convert": "vl-convert-python"}.get(name, name) for name in used} | loaded == names


def test_the_story_fits_on_one_screen() -> None:
    assert len((SOURCE / "check.py").read_text(encoding="utf-8").splitlines()) < 70


VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "misc", "core", "base_utils", "tools", "lib"}


def test_every_module_is_named_after_something() -> None:
    """A drawer for odds and ends is where the next reader looks last."""
    assert {module for module in TREES if VAGUE & set(module.split("."))} == set()
    assert {module for module in TREES if module.split(".")[-1].endswith(("_utils", "_helpers", "_manager"))} == set()


def test_every_module_says_what_it_is() -> None:
    assert {module for module, tree in TREES.items() if not ast.get_docstring(tree)} == set()


def test_nothing_knows_the_command_line() -> None:
    """Neither by an import nor by a name to import later."""
    assert {module for module in TREES if "cli" in ours(module) and unit(module) != "cli"} == {"rankgate.__main__"}
    named = {
        module
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("rankgate.cli")
    }
    assert {unit(module) for module in named} <= {"cli"}


def test_the_package_itself_imports_nothing_of_weight() -> None:
    """`import rankgate` for its version costs nothing; public names load on first use."""
    assert IMPORTS["rankgate"] == {"__future__", "typing", "importlib"}


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        pytest.param("import rankgate", {"msgspec", "rankgate.model.values", "argparse"}, id="import rankgate"),
        pytest.param(
            "import rankgate.check",
            {"jinja2", "rich", "requests", "numpy", "pydantic", "argparse", "rankgate.cli", "rankgate.renderers"},
            id="the story",
        ),
        pytest.param(
            "import rankgate.cli.check", {"requests", "urllib3", "rankgate.forges.client"}, id="rankgate check"
        ),
        pytest.param(
            "import rankgate.gates.decide, rankgate.metrics.scoring, rankgate.metrics.names",
            {"jinja2", "rich", "gzip", "tempfile", "rankgate.baselines", "rankgate.inputs"},
            id="deciding",
        ),
        pytest.param(
            "import rankgate.diagnosis.misses, rankgate.renderers.explaining.misses, rankgate.diagnosis.lexical",
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
