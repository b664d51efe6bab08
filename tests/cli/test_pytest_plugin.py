"""The plugin of pytest in projects of users: a test for each gate, and nothing for who does not ask for it."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from tests.test_architecture import ROOT

pytest_plugins = ["pytester"]

GOLD = "".join(
    f'{{"id": "q{n}", "expected_output": ["a"], "metadata": {{"tags": ["lang:{"es" if n > 4 else "en"}"]}}}}\n'
    for n in range(10)
)
LISTS = ['["a"]'] * 5 + ['["x", "a"]'] * 5
RUN = "".join(f'{{"query_id": "q{n}", "topk": {ids}}}\n' for n, ids in enumerate(LISTS))
CRITERIA = """\
inputs: {gold: gold.jsonl, run: run.jsonl}
gates:
  - {name: recall@5, threshold: 0.9}
  - name: retrieval_mrr
    threshold: 0.9
  - {name: "mrr, warned", metric: mrr, threshold: 0.9, severity: warning}
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with criteria of three gates: one holds, one fails, one warns."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    for name, text in {"gold.jsonl": GOLD, "run.jsonl": RUN, "ship-criteria.yaml": CRITERIA}.items():
        (pytester.path / name).write_text(text, encoding="utf-8")
    pytester.makepyfile(test_own="def test_own():\n    pass\n")
    return pytester


# Those of other packages take a second to start, and some load what ours must not.
OTHERS = sorted({each.name for each in entry_points(group="pytest11")} - {"rankgate", "xdist"})
ALONE = [word for name in ("cacheprovider", *OTHERS) for word in ("-p", f"no:{name}")]


def ran(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    """In this process, whose warnings are errors unless it is told otherwise."""
    return project.runpytest_inprocess(*ALONE, "-W", "default", *words)


@pytest.mark.full
def test_a_test_for_each_gate(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess(*ALONE, "--rankgate=ship-criteria.yaml", "-v")
    result.assert_outcomes(passed=3, failed=2, warnings=1)  # its own test, too
    result.stdout.fnmatch_lines(
        [
            "ship-criteria.yaml::recall@5 PASSED*",
            "ship-criteria.yaml::retrieval_mrr FAILED*",
            "ship-criteria.yaml::mrr, warned PASSED*",
            "ship-criteria.yaml::check[[]run.jsonl] FAILED*",
            "*___ retrieval_mrr ___*",
            "mrr is 0.750, below the floor of 0.900*",
            "metric mrr (retrieval_mrr); before → now 0.750; limit ≥ 0.900; status FAIL",
            "*ship-criteria.yaml:6: PytestWarning: mrr is 0.750*",
        ]
    )
    for word in ("Traceback", "pytest_plugin.py"):
        result.stdout.no_fnmatch_line(f"*{word}*")


@pytest.mark.full
def test_beside_other_tests(project: pytest.Pytester) -> None:
    ran(project, "--rankgate=ship-criteria.yaml", ".").assert_outcomes(passed=3, failed=2, warnings=1)
    ran(project, "--rankgate=ship-criteria.yaml", "test_own.py").assert_outcomes(passed=3, failed=2, warnings=1)


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "outcomes"),
    [
        pytest.param(["-k", "retrieval_mrr"], {"failed": 1, "deselected": 4}, id="-k"),
        pytest.param(["ship-criteria.yaml::recall@5"], {"passed": 1}, id="a node"),
        pytest.param(["./ship-criteria.yaml::retrieval_mrr"], {"failed": 1}, id="a node by another path"),
        pytest.param(["-n", "2"], {"passed": 3, "failed": 2, "warnings": 1}, id="two processes"),
        pytest.param(["-W", "error", "-k", "warned"], {"failed": 1, "deselected": 4}, id="warnings are errors"),
    ],
)
def test_options_of_pytest(project: pytest.Pytester, words: list[str], outcomes: dict[str, int]) -> None:
    given = words if "::" in words[0] else [".", *words]
    result = ran(project, "--rankgate=ship-criteria.yaml", *given)
    result.assert_outcomes(**{"deselected": 0, **outcomes})
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_segments_have_tests_of_their_own(project: pytest.Pytester) -> None:
    rule = "    segments: {by: lang, threshold: 0.8, min_queries: 3}\n"
    text = CRITERIA.replace("    threshold: 0.9\n", f"    threshold: 0.5\n{rule}")
    (project.path / "ship-criteria.yaml").write_text(text)
    result = ran(project, "--rankgate=ship-criteria.yaml", "-v")
    result.stdout.fnmatch_lines(["*::retrieval_mrr PASSED*", "*::retrieval_mrr[[]lang:en] PASSED*"])
    result.stdout.fnmatch_lines(["*::retrieval_mrr[[]lang:es] FAILED*"])


def test_the_whole_check_is_a_test_of_the_name_of_its_run(project: pytest.Pytester) -> None:
    empty = "".join(f'{{"query_id": "q{n}", "topk": []}}\n' for n in range(10))
    (project.path / "run.jsonl").write_text(empty)
    (project.path / "ship-criteria.yaml").write_text(CRITERIA.replace("0.9", "0.0"))
    result = ran(project, "--rankgate=ship-criteria.yaml", "-v")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["FAILED ship-criteria.yaml::check[[]run.jsonl] - Failed: Do not merge: the run i*"])


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param("run.jsonl", "", "*run.jsonl: *", id="no run"),
        pytest.param("ship-criteria.yaml", "gates: [{name: recal@5}]", "*recal@5*did you mean*", id="no such metric"),
        pytest.param("gold.jsonl", "{}", "*gold.jsonl:1: *", id="a broken gold set"),
    ],
)
def test_what_cannot_be_judged_is_an_error(project: pytest.Pytester, name: str, text: str, message: str) -> None:
    (project.path / name).write_text(text)
    result = ran(project, "--rankgate=ship-criteria.yaml")
    assert (result.ret, result.parseoutcomes()["errors" if "errors" in result.parseoutcomes() else "error"]) == (2, 1)
    result.stdout.fnmatch_lines([message])
    for word in ("Traceback", "pytest_plugin.py"):
        result.stdout.no_fnmatch_line(f"*{word}*")


@pytest.mark.full
def test_a_gate_without_a_verdict_is_an_error(project: pytest.Pytester) -> None:
    project.makeconftest(
        "from msgspec.structs import replace\nimport rankgate.api\nfrom rankgate.model.values import Verdict\n"
        "judge = rankgate.api.check\n"
        "def check(**named):\n"
        "    report = judge(**named)\n"
        "    first, *others = report.gates\n"
        "    unjudged = replace(first, decision=replace(first.decision, verdict=Verdict.NOT_JUDGED))\n"
        "    return replace(report, verdict=Verdict.NOT_JUDGED, gates=[unjudged, *others])\n"
        "rankgate.api.check = check\n"
    )
    result = project.runpytest_subprocess(*ALONE, "--rankgate=ship-criteria.yaml")
    result.assert_outcomes(errors=2, failed=1, passed=2, warnings=1)
    result.stdout.fnmatch_lines(["*ERROR at setup of recall@5*", "metric recall@5; *"])


@pytest.mark.parametrize("name", ["none.yaml", "", "."])
def test_what_is_no_file_is_a_usage_error_and_not_a_pass(project: pytest.Pytester, name: str) -> None:
    result = ran(project, f"--rankgate={name}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --rankgate={name}: no such file"])


@pytest.mark.full
def test_hostile_names(project: pytest.Pytester) -> None:
    name = r"a::b[c]\n\e[31mred\u202E <x> " + "y" * 500
    text = CRITERIA.replace("name: retrieval_mrr", f'name: "{name}"\n    metric: mrr')
    (project.path / "ship-criteria.yaml").write_text(text, encoding="utf-8")
    result = ran(project, "--rankgate=ship-criteria.yaml", "-v", "-n", "2")
    result.assert_outcomes(passed=3, failed=2, warnings=1)
    assert not {"\x1b", "\u202e"} & set(result.stdout.str())
    result.stdout.fnmatch_lines(["*a::b[[]c]*u202e*"])


def test_the_fixture_is_the_function(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_own="""
        import pytest

        @pytest.fixture(scope="session")
        def report(rankgate_check):
            return rankgate_check({"q": ["a"]}, {"q": ["b"]}, criteria={"gates": [{"name": "mrr", "threshold": 0.5}]})

        def test_it_fails(report):
            assert report.verdict == "fail"

        def test_it_shows_why(report):
            assert report.verdict == "pass"
        """
    )
    result = ran(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Report: FAIL. Do not merge: mrr*"])


@pytest.mark.full
def test_who_does_not_ask_for_it_sees_nothing_of_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_own="""
        import sys

        def test_nothing_is_loaded():
            ours = {name for name in sys.modules if name.partition(".")[0] == "rankgate"}
            assert ours == {"rankgate", "rankgate.cli", "rankgate.cli.pytest_plugin"}
            assert not {"msgspec", "pydantic", "yaml", "jinja2"} & set(sys.modules)
        """
    )
    result = project.runpytest_subprocess(*ALONE, "-v", ".")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*ship-criteria*")


def test_the_wheel_names_it() -> None:
    [found] = entry_points(group="pytest11", name="rankgate")
    assert found.value == "rankgate.cli.pytest_plugin"
