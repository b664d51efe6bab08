"""Options of the whole suite."""

from __future__ import annotations

import fcntl
import gc
import io
import os
import re
import shutil
import signal
from collections.abc import Generator, Sequence
from contextlib import chdir, redirect_stdout
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import HealthCheck, settings
from tests import children

from rankgate.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent
TERMINAL = ("FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS")
JOB = ("GITHUB_", "GH_", "RUNNER_", "RANKGATE_")
HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")  # with which git would write into the repository itself
PATIENCE = 300_000  # ms for a browser, however busy the machine is
TOKEN = re.compile(r"gh[a-z]_[A-Za-z0-9]{10,}")  # as GitHub issues them


# The fast lane needs Python and git, and nothing else: a test that uses one of these runs in the full lane.
BEYOND_PYTHON = {"browser", "node_modules", "s3_address"}

# Where our dependencies do the work, so that their lowest versions may show: marked `versions`, in either lane.
VERSIONS = (
    "tests/baselines/test_shared.py",  # fsspec and s3fs
    "tests/cli/test_check.py",
    "tests/cli/test_judge.py",
    "tests/cli/test_output_schemas.py",
    "tests/criteria/",  # pydantic and PyYAML
    "tests/forges/test_client",  # requests and urllib3
    "tests/model/test_report.py",  # msgspec
    *(f"tests/readers/test_{name}.py" for name in ("bad_input", "parquet", "properties", "run_details", "yaml_text")),
    *(f"tests/renderers/test_{name}.py" for name in ("escape", "markdown", "terminal")),  # Jinja2, MarkupSafe and rich
    "tests/test_scenarios.py",
)

# Of these files what libraries do no more in than in the other tests: the whole demo, and what races, stops or is long.
NOT_OF_VERSIONS = {
    *("test_of_several_that_add_at_once_nothing_is_lost_and_all_see_one_order", "test_any_number_of_answers"),
    *("test_killed_at_any_moment_it_holds_what_was_there_and_what_was_whole", "test_an_interruption_ends_in_order"),
    *(
        "test_how_many_requests_a_check_and_a_long_history_take",
        "test_an_interruption_does_not_wait_for_calls_that_hang",
    ),
    *("test_identical_inputs_give_identical_bytes_in_every_process", "test_one_input_can_come_from_standard_input"),
}

# The slowest first.
SLOWEST = [
    *(f"test_{name}.py" for name in ("per_query", "typed_pages", "rehearsal", "site", "recipes", "install_action")),
    *(f"test_{name}.py" for name in ("two_commands", "demo", "report_in_a_browser", "questions_in_a_browser", "init")),
    *(f"test_{name}.py" for name in ("first_run", "recording_objects", "comment_picture")),
]

# Nothing depends on how busy the machine is: no example has a deadline, and none is too slow to be made.
settings.register_profile(
    "rankgate",
    max_examples=50,
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.data_too_large, HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("rankgate")

# A job in the background of a script ignores interrupts, and so would every process that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="the full lane: the tests marked `full` too")
    parser.addoption("--refresh", action="store_true", help="write the scenarios' expected files anew")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: to look for garbage in it takes almost half of the time, now and again in the tests.

    It is not even freed at the end, which DuckDB would report as leaked: no test file may import it at its top.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def of_versions(path: Path) -> bool:
    return path.relative_to(ROOT).as_posix().startswith(VERSIONS) and path.name not in SLOWEST


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m versions` no other test file is imported."""
    left_out = config.option.markexpr == "versions" and collection_path.suffix == ".py"
    return True if left_out and not of_versions(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if not BEYOND_PYTHON.isdisjoint(fixtures):
            item.add_marker(pytest.mark.full)
        if (
            of_versions(item.path)
            and item.name.partition("[")[0] not in NOT_OF_VERSIONS
            and "demo_left" not in fixtures
        ):
            item.add_marker(pytest.mark.versions)
    named = {str(Path(word.partition("::")[0]).resolve()) for word in config.args}
    left_out = [item for item in items if item.get_closest_marker("full") and str(item.path) not in named]
    if left_out and not config.getoption("--all"):
        config.hook.pytest_deselected(items=left_out)
        kept = set(items).difference(left_out)
        items[:] = [item for item in items if item in kept]
    items[:] = dealt(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def dealt(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """The order in which each worker's share, as many in a row as any other's, begins with some of the slowest files.

    Else one worker has all of them, or the others wait for them at the end.
    """
    slow = {name: [item for item in items if item.path.name == name] for name in SLOWEST}
    others = iter([item for item in items if item.path.name not in slow])
    order: list[pytest.Item] = []
    for worker in range(workers):
        share = (len(items) - len(order)) // (workers - worker)
        first = [item for name in SLOWEST[worker::workers] for item in slow[name]]
        order += [*first, *islice(others, max(0, share - len(first)))]
    return [*order, *others]


@pytest.fixture(scope="session", autouse=True)
def nothing_waits_for_the_disk() -> Generator[None]:
    """No test cuts the power: what a flush adds is milliseconds, thousands of times. Processes of their own flush."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setenv("GIT_TEST_FSYNC", "0")
        yield


@pytest.fixture(scope="session", autouse=True)
def git_without_maintenance() -> Generator[None]:
    """A commit starts no maintenance, which takes as long as the commit, and no repository has samples of hooks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_TEMPLATE_DIR", "")
        patch.setenv("GIT_CONFIG_COUNT", "1")
        patch.setenv("GIT_CONFIG_KEY_0", "maintenance.auto")
        patch.setenv("GIT_CONFIG_VALUE_0", "false")
        yield


@pytest.fixture(autouse=True)
def ended_children() -> Generator[None]:
    """Also a test that fails leaves no process behind, which another test would be blamed for."""
    yield
    children.end_all()


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer's terminal asks for, or the job or hook that the tests run in, must not show in the tests."""
    for name in [name for name in os.environ if name in (*TERMINAL, *HOOK) or name.startswith(JOB)]:
        monkeypatch.delenv(name)


@pytest.fixture
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages name files as they were given: here without a directory."""
    monkeypatch.chdir(tmp_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """No test of the suite may print a token, nor show one in a traceback: the log of a job is public."""
    report = yield
    text = "".join(content for _, content in report.sections) + report.longreprtext
    if TOKEN.search(text):
        report.outcome = "failed"
        report.longrepr = "a token stands in what this test printed or in its traceback (not repeated here)"
        report.sections = []
    return report


@pytest.fixture(scope="session")
def demo_left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `rankgate demo --answers` was called, once for all workers: `printed.txt` is what it said.

    A test that changes anything there changes a copy. The user's proxy and key do not matter to it.
    """
    return left_by_demo(tmp_path_factory, "demo-left", "--answers")


@pytest.fixture(scope="session")
def lists_left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `demo_left`, of `rankgate demo "some/directory of mine"`, which is there and empty; no answers are judged."""
    return left_by_demo(tmp_path_factory, "lists-left", "some/directory of mine")


def left_by_demo(tmp_path_factory: pytest.TempPathFactory, name: str, word: str) -> Path:
    own = tmp_path_factory.getbasetemp()
    place = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        printed = place / "printed.txt"
        if not printed.exists():
            out = io.StringIO()
            with chdir(place), redirect_stdout(out), pytest.MonkeyPatch.context() as patch:
                for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy"):
                    patch.setenv(proxy, "http://127.0.0.1:1")
                patch.setenv("RANKGATE_JUDGE_KEY", "not a key: no header can hold it")
                if not word.startswith("-"):
                    Path(word).mkdir(parents=True)
                assert main(["demo", word, "--date", "2026-01-31"]) == 0
                assert Path.cwd() == place
            printed.write_text(out.getvalue(), encoding="utf-8")
    return place


@pytest.fixture(scope="session")
def browser() -> str:
    """A Chromium to open pages with. Without one its tests are skipped by name, and fail in CI, which installs it."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        lacking(f"needs a browser: none of {', '.join(names)} is installed")
    return found


@pytest.fixture(scope="module")
def chromium(browser: str) -> Generator[Browser]:
    """That browser, opened once for a file."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Where scripts/test put the packages of tests/npm. Without them, or without node, as without a browser."""
    directory = ROOT / ".node" / "node_modules"
    if shutil.which("node") is None:
        lacking("needs node, which is not installed")
    if not (directory.parent / "setup-finished").is_file():
        lacking(f"needs the npm packages of tests/npm: scripts/test installs them into {directory.parent}")
    return directory


def lacking(message: str) -> NoReturn:
    """Skips where a developer's machine lacks something; CI installs everything, and there it is an error."""
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
