"""GitHub on loopback, and clocks for which no time passes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.forges.description import Description
from tests.forges.github import GitHub
from tests.forges.in_process import InProcess
from tests.forges.scripted import StandingClock


@pytest.fixture(autouse=True)
def plain_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The developer's own proxies and certificates are not part of a test."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def described(node_modules: Path) -> Description:
    """GitHub's own description of its API, which judges requests."""
    return Description(node_modules / "@octokit" / "openapi" / "generated" / "api.github.com.json")


@pytest.fixture
def github(described: Description) -> Iterator[GitHub]:
    """A repository on a GitHub of its own; a request that GitHub would refuse fails the test."""
    with GitHub(described).running() as github:
        yield github


@pytest.fixture
def runner_temp(tmp_path: Path) -> Path:
    """The runner's directory, in which the action is installed."""
    places = {
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_WORKSPACE": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "RUNNER_TEMP": str(tmp_path / "installed"),
    }
    (tmp_path / "installed").mkdir()
    subprocess.run(["bash", ROOT / "scripts" / "install_action.sh"], env={**os.environ, **places}, check=True)
    return tmp_path / "installed"


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks at a base start no interpreter; what their processes see has tests that do."""
    monkeypatch.setattr("rankgate.forges.base_checkout.subprocess", InProcess)


@pytest.fixture
def clock() -> StandingClock:
    """For a client that `client_of` makes."""
    return StandingClock()
