"""Metrics of other packages, found by entry point: a real one, built and installed, and those that are refused."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rankgate
from rankgate.cli import main
from rankgate.metrics import plugins

pytestmark = pytest.mark.full

PACKAGE = Path(rankgate.__file__).resolve().parents[1]

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "rankgate-top-heavy"
version = "1.0"

[project.entry-points."rankgate.metrics"]
top_heavy = "top_heavy:TopHeavy"

[tool.hatch.build.targets.wheel]
only-include = ["top_heavy.py"]
"""

MODULE = '''\
"""A metric of our own."""

from typing import ClassVar

from rankgate.metrics.base import RelevanceMetric, Unit
from rankgate.model.scores import MatchedQuery


class TopHeavy(RelevanceMetric, frozen=True, kw_only=True):
    """Relevant documents, each worth a fraction of the one above.

    Attributes:
        share: what a rank is worth of the rank above it.
    """

    share: float = 0.5

    key: ClassVar[str] = "top_heavy"
    aliases: ClassVar[tuple[str, ...]] = ("heavy",)
    unit: ClassVar[Unit] = Unit.NUMBER
    high: ClassVar[float | None] = None
    formula: ClassVar[str] = "sum of share^(rank - 1) over the relevant ranks"
    plain: ClassVar[str] = "relevant documents in {first}, each rank worth half of the one above"

    def per_query(self, query: MatchedQuery) -> float | None:
        if not self.relevant(query):
            return None
        return sum(self.share ** (rank - 1) for rank in self.ranks(query))
'''

GOLD = """\
samples:
  - {id: q1, expected_output: {a: 1, b: 2, c: 1}}
  - {id: q2, expected_output: [a], metadata: {k: 1}}
  - {id: q3, expected_output: []}
"""
FILES = ("--gold", "gold.yaml", "--run", "run.json")
MODULES = ("top_heavy", "plugin", "raises")  # of the packages here
Command = Callable[..., tuple[int, str, str]]
RUN = {"q1": ["a", "x", "b", "c"], "q2": ["x", "a"], "q3": ["a"]}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which pip has installed the package, built from source."""
    pytest.importorskip("hatchling")
    pytest.importorskip("pip")
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "top_heavy.py").write_text(MODULE)
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)]
    subprocess.run(command, check=True, timeout=300)
    return target


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    (tmp_path / "gold.yaml").write_text(GOLD)
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    return tmp_path


@pytest.fixture
def command(inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """A command that finds the packages of a directory besides its own; its exit code, and what it prints."""
    monkeypatch.chdir(inputs)

    def run(packages: Path, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.syspath_prepend(packages)
        plugins._installed.cache_clear()
        code = main(arguments)
        return code, *capsys.readouterr()

    yield run
    plugins._installed.cache_clear()
    for name in MODULES:
        sys.modules.pop(name, None)


def scoring(metrics: str) -> tuple[str, ...]:
    return ("score", *FILES, "--per-query", "scores.jsonl", "--metrics", metrics, "--format", "json")


@pytest.mark.parametrize(
    ("written", "canonical", "per_query"),
    [
        pytest.param("top_heavy@3", "top_heavy@3", [1 + 1 / 4, 0.5, None], id="by its key"),
        pytest.param("Top-Heavy_at_4", "top_heavy@4", [1 + 1 / 4 + 1 / 8, 0.5, None], id="in any spelling"),
        pytest.param("heavy@1", "top_heavy@1", [1, 0, None], id="by its alias"),
        pytest.param("top_heavy", "top_heavy@k", [1 + 1 / 4 + 1 / 8, 0, None], id="at the sample's k"),
        pytest.param("top_heavy@all", "top_heavy@all", [1 + 1 / 4 + 1 / 8, 0.5, None], id="over the whole list"),
        pytest.param("top_heavy(rel=2)@3", "top_heavy(rel=2)@3", [1 / 4, None, None], id="with an inherited parameter"),
        pytest.param(
            "top_heavy(share=0.1)@3", "top_heavy(share=0.1)@3", [1.01, 0.1, None], id="with its own parameter"
        ),
    ],
)
def test_installed_metric_scores(
    installed: Path, inputs: Path, command: Command, written: str, canonical: str, per_query: list[float | None]
) -> None:
    code, out, err = command(installed, *scoring(written))
    assert (code, err) == (0, "")
    lines = (inputs / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    values = [json.loads(line)["scores"][canonical] for line in lines]
    assert values == [None if value is None else pytest.approx(value) for value in per_query]
    defined = [value for value in per_query if value is not None]
    metrics = json.loads(out)["metrics"]
    assert metrics.keys() == {canonical}
    assert metrics[canonical]["value"] == pytest.approx(sum(defined) / len(defined))
    assert metrics[canonical]["undefined"] == len(per_query) - len(defined)


def test_installed_metric_can_be_gated(installed: Path, inputs: Path) -> None:
    (inputs / "ship-criteria.yaml").write_text("gates:\n  - {name: retrieval_top_heavy_at_3, threshold: 0.9}\n")
    path = os.pathsep.join([str(installed), str(PACKAGE)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "rankgate", "check", *FILES, "-o", "report.json", "--date", "2026-01-31"],
        cwd=inputs,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads((inputs / "report.json").read_text(encoding="utf-8"))
    assert [(gate["metric"], gate["verdict"]) for gate in report["gates"]] == [("top_heavy@3", "fail")]


def test_installed_metric_does_not_change_ours(installed: Path, command: Command) -> None:
    _, out, _ = command(installed, *scoring("recall@1"))
    assert json.loads(out)["metrics"]["recall@1"]["value"] == pytest.approx((1 / 3 + 0) / 2)


def test_installed_metric_is_among_the_near_names(installed: Path, command: Command) -> None:
    code, _, err = command(installed, *scoring("topheavy@3"))
    assert code == 2
    assert err == "error: --metrics: unknown metric 'topheavy@3'; did you mean 'top_heavy@3'?\n"


def test_without_the_package_the_name_is_unknown(tmp_path: Path, command: Command) -> None:
    code, _, err = command(tmp_path, *scoring("top_heavy@3"))
    assert code == 2
    assert err == "error: --metrics: unknown metric 'top_heavy@3'; `rankgate metrics` lists them\n"


METRIC = """
from typing import ClassVar
from rankgate.metrics.base import BaseMetric, RelevanceMetric
from rankgate.model.values import RunField
NUMBER = 5
def function(): ...
class Plain: ...
class Recall(RelevanceMetric, frozen=True, kw_only=True):
    key: ClassVar[str] = "recall"
class Loud(RelevanceMetric, frozen=True, kw_only=True):
    key: ClassVar[str] = "Loud"
class ShortName(RelevanceMetric, frozen=True, kw_only=True):
    key: ClassVar[str] = "rank_biased"
    aliases: ClassVar[tuple[str, ...]] = ("r",)
class AnyGain(RelevanceMetric, frozen=True, kw_only=True):
    key: ClassVar[str] = "ndcg_any"
class Mine(RelevanceMetric, frozen=True, kw_only=True):
    key: ClassVar[str] = "mine"
    formula: ClassVar[str] = "1"
    plain: ClassVar[str] = "one"
class Nameless(RelevanceMetric, frozen=True, kw_only=True):
    pass
class Slow(BaseMetric, frozen=True, kw_only=True):
    key: ClassVar[str] = "slow"
    formula: ClassVar[str] = "1"
    plain: ClassVar[str] = "one"
    reads = frozenset({RunField.LATENCY})
"""


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"lost": "no_such_module:Metric"},
            "no_such_module:Metric cannot be imported: No module named 'no_such_module'",
        ),
        ({"lost": "plugin:Nothing"}, "plugin:Nothing cannot be imported: module 'plugin' has no attribute 'Nothing'"),
        ({"broken": "raises:Metric"}, "raises:Metric cannot be imported: out of order"),
        *(
            ({"odd": f"plugin:{name}"}, f"plugin:{name} is not a subclass of rankgate.metrics.base.BaseMetric")
            for name in ("NUMBER", "function", "Plain")
        ),
        ({"ours": "plugin:Recall"}, "the name 'recall' is already taken"),
        ({"ours": "plugin:ShortName"}, "the name 'r' is already taken"),  # an alias of recall
        ({"ours": "plugin:Loud"}, "the name 'Loud' must be lower-case letters, digits and underscores"),
        ({"ours": "plugin:AnyGain"}, "the name 'ndcg_any' is already taken"),  # it stands for ndcg
        ({"first": "plugin:Mine", "second": "plugin:Mine"}, "the name 'mine' is already taken"),
        ({"blank": "plugin:Nameless"}, "plugin:Nameless has no key"),
        (
            {"slow": "plugin:Slow"},
            "plugin:Slow reads more than ids and gains, so it has to say what of a retrieval it measures: `kind`",
        ),
    ],
)
def test_refused_entry_point(tmp_path: Path, command: Command, entries: dict[str, str], message: str) -> None:
    packages = tmp_path / "packages"
    about = packages / "plugin-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    lines = [f"{name} = {target}" for name, target in entries.items()]
    (about / "entry_points.txt").write_text("\n".join(["[rankgate.metrics]", *lines, ""]))
    (packages / "plugin.py").write_text(METRIC)
    (packages / "raises.py").write_text("raise RuntimeError('out of order')\n")

    code, _, err = command(packages, *scoring("foreign@3"))
    assert (code, err) == (2, f"error: entry point {[*entries][-1]!r} of rankgate.metrics: {message}\n")
    # Names of our own mean what they always mean, and do not even look at the packages.
    assert command(packages, *scoring("recall@3"))[0] == 0
