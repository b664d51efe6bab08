"""GitHub's counterparts, which all run on loopback: see the modules beside this one for what each can do."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.forges.description import Description
from tests.forges.emulator import Emulator, fresh_repository
from tests.forges.proxy import Proxy
from tests.forges.scripted import StandingClock
from tests.forges.server import Server, running
from tests.forges.storage import Storage


@pytest.fixture(autouse=True)
def plain_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The developer's own proxies and certificates are not part of a test."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def server(node_modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The emulator's process: one for all tests of a module, each of which gets a repository of its own.

    It limits each user to 5,000 requests an hour, as GitHub does; all modules together send more.
    """
    with running(node_modules, tmp_path_factory.mktemp("emulator")) as server:
        yield server


@pytest.fixture
def github(server: Server) -> Iterator[Emulator]:
    """A fresh repository on the stateful emulator."""
    with fresh_repository(server) as repository:
        yield repository


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the last that the emulator wrote."""
    report = yield
    server = getattr(item, "funcargs", {}).get("server")
    if report.failed and isinstance(server, Server):
        report.sections.append(("emulator", server.log.read_text(encoding="utf-8", errors="replace")[-4_000:]))
    return report


@pytest.fixture(scope="session")
def described(node_modules: Path) -> Description:
    """GitHub's own description of its API, which judges requests."""
    return Description(node_modules / "@octokit" / "openapi" / "generated" / "api.github.com.json")


@pytest.fixture
def proxy(github: Emulator, described: Description) -> Iterator[Proxy]:
    """Stands before the emulator; a request that GitHub would refuse fails the test, unless it takes the violations."""
    with Proxy(github, described).running() as proxy:
        yield proxy


@pytest.fixture(scope="session")
def runner_temp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runner's directory, in which the action is installed, as by a job's first gate: once for all workers."""
    own, base = tmp_path_factory.mktemp("runner"), tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "installed-action"
    shared.mkdir(exist_ok=True)
    places = {
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_WORKSPACE": str(own),
        "GITHUB_OUTPUT": str(own / "output"),
        "RUNNER_TEMP": str(shared),
    }
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["bash", ROOT / "scripts" / "install_action.sh"], env={**os.environ, **places}, check=True)
    (own / "rankgate").mkdir()
    (own / "rankgate" / "venv").symlink_to(shared / "rankgate" / "venv")
    return own


@pytest.fixture
def clock() -> StandingClock:
    """For a client that `client_of` makes."""
    return StandingClock()


@pytest.fixture
def storage() -> Iterator[Storage]:
    """Where artifacts are downloaded from."""
    with Storage().running() as storage:
        yield storage
