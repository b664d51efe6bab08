"""scripts/npm.sh: npm's packages and a browser for the tests, with stand-ins for npm and apt-get."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("bash", "cksum", "cp", "mkdir", "rm", "touch")
WITHOUT = "Until then, the tests that need npm's packages are skipped."


def executable(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


class Checkout:
    """A checkout with a package.json, on a machine that has the usual tools and what a test puts there."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "a checkout"
        self.bin = directory / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None
            (self.bin / tool).symlink_to(found)
        self.package = self.root / "tests" / "npm" / "package.json"
        self.package.parent.mkdir(parents=True)
        self.package.write_text('{"dependencies": {"one": "1.0.0"}}\n', encoding="utf-8")

    def has_npm(self, *, works: bool = True) -> None:
        executable(self.bin / "npm", NPM if works else "echo 'npm error network' >&2; exit 1")

    def has_apt(self, *, root: bool, brings: str) -> None:
        executable(self.bin / "id", f"echo {0 if root else 1000}")
        executable(self.bin / "program", NPM)
        brought = f'cp "{self.bin}/program" "{self.bin}/{brings}"'
        executable(self.bin / "apt-get", f'echo "$*" >>"{self.bin}/asked"; [ "$1" = update ] || {brought}')

    def call(self, function: str) -> list[str]:
        """What it told. It must not stop whoever calls it."""
        command = f'set -e; source "$1/venv.sh"; source "$1/npm.sh"; {function}; echo went on'
        done = subprocess.run(
            ["bash", "-c", command, "bash", ROOT / "scripts", self.root],
            cwd=self.bin,
            env={"PATH": str(self.bin), "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "went on\n"
        return done.stderr.splitlines()

    def ensure_npm(self) -> list[str]:
        return self.call('ensure_npm "$2"')

    @property
    def installed(self) -> list[str]:
        """The package.json of each time that npm was called, in whose directory it ran."""
        calls = self.root / ".node" / "calls"
        return calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []


# Says nothing of its own on standard error, and its summary on standard output is not shown.
NPM = (
    '[ "$1" = install ] && mkdir -p node_modules && read -r all <package.json && echo "$all" >>calls && echo "added 1"'
)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_call_installs_and_the_second_has_nothing_to_do(checkout: Checkout) -> None:
    checkout.has_npm()

    assert checkout.ensure_npm() == ["Installing the tests' npm packages into .node."]
    assert checkout.ensure_npm() == [".node is up to date."]
    assert checkout.installed == ['{"dependencies": {"one": "1.0.0"}}']


def test_another_list_of_packages_is_installed_again(checkout: Checkout) -> None:
    checkout.has_npm()
    checkout.ensure_npm()
    checkout.package.write_text('{"dependencies": {"one": "2.0.0"}}\n', encoding="utf-8")

    assert checkout.ensure_npm() == ["Installing the tests' npm packages into .node."]
    assert checkout.installed[1:] == ['{"dependencies": {"one": "2.0.0"}}']


def test_packages_that_are_gone_are_installed_again(checkout: Checkout) -> None:
    checkout.has_npm()
    checkout.ensure_npm()
    (checkout.root / ".node" / "node_modules").rmdir()

    assert checkout.ensure_npm() == ["Installing the tests' npm packages into .node."]


def test_a_failed_installation_says_so_and_the_next_one_begins_anew(checkout: Checkout) -> None:
    checkout.has_npm()
    checkout.ensure_npm()
    checkout.package.write_text("{}\n", encoding="utf-8")
    checkout.has_npm(works=False)

    failed = checkout.ensure_npm()
    checkout.package.write_text('{"dependencies": {"one": "1.0.0"}}\n', encoding="utf-8")
    checkout.has_npm()

    assert failed == [
        "Installing the tests' npm packages into .node.",
        "npm error network",
        "That failed; npm says why above. Started again, it tries anew.",
        WITHOUT,
    ]
    assert checkout.ensure_npm() == ["Installing the tests' npm packages into .node."]


def test_without_npm_root_gets_it_installed(checkout: Checkout) -> None:
    checkout.has_apt(root=True, brings="npm")

    assert checkout.ensure_npm() == [
        "There is no npm, and some tests need packages of it.",
        "Installing nodejs npm with apt-get.",
        "Installing the tests' npm packages into .node.",
    ]
    asked = (checkout.bin / "asked").read_text(encoding="utf-8").splitlines()
    assert asked == ["update", "install -y nodejs npm"]


def test_without_npm_a_user_is_told_the_line_to_run(checkout: Checkout) -> None:
    checkout.has_apt(root=False, brings="npm")

    assert checkout.ensure_npm() == [
        "There is no npm, and some tests need packages of it.",
        "Run this line, then start again:",
        "  sudo apt-get install -y nodejs npm",
        WITHOUT,
    ]
    assert not (checkout.bin / "asked").exists()
    assert not (checkout.root / ".node").exists()


def test_where_there_is_neither_npm_nor_apt_it_says_what_to_install(checkout: Checkout) -> None:
    assert checkout.ensure_npm() == [
        "There is no npm, and some tests need packages of it.",
        "Install Node.js with npm, then start again.",
        WITHOUT,
    ]


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_browser_that_is_there_is_taken_without_a_word(checkout: Checkout, name: str) -> None:
    executable(checkout.bin / name, "")

    assert checkout.call("ensure_browser") == []


def test_without_a_browser_root_gets_one_installed(checkout: Checkout) -> None:
    checkout.has_apt(root=True, brings="chromium")

    assert checkout.call("ensure_browser") == [
        "There is no Chromium, and some tests look at comments in one.",
        "Installing chromium with apt-get.",
    ]
    assert (checkout.bin / "chromium").exists()


def test_without_a_browser_a_user_is_told_the_line_to_run(checkout: Checkout) -> None:
    checkout.has_apt(root=False, brings="chromium")

    assert checkout.call("ensure_browser") == [
        "There is no Chromium, and some tests look at comments in one.",
        "Run this line, then start again:",
        "  sudo apt-get install -y chromium",
        "Until then, the tests that need a browser are skipped.",
    ]


def test_the_packages_are_pinned_and_their_directory_is_ignored() -> None:
    text = (ROOT / "tests" / "npm" / "package.json").read_text(encoding="utf-8")

    assert "^" not in text
    assert "~" not in text
    assert ".node/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert os.access(ROOT / "scripts" / "test", os.X_OK)
