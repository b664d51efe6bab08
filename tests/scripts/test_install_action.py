"""scripts/install_action.sh as action.yml calls it, for a tiny action with locks and an index of its own."""

from __future__ import annotations

import ensurepip
import os
import py_compile
import shutil
import ssl
import subprocess
import sys
import sysconfig
import threading
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import cache_from_source
from pathlib import Path
from urllib.parse import urlsplit

import pip
import pytest
import trustme
from tests.scripts.packages import Index, sdist, sha256, wheel

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))

from install_action import access, harmless, install, outside, python_of  # noqa: E402 -- scripts are no package

BACK_END = """\
import shutil
import rgt_core  # of the lock, as a build back end is


def build_wheel(to, config_settings=None, metadata_directory=None):
    return shutil.copy("rgt_action-1.0-py3-none-any.whl", to).rpartition("/")[2]
"""


class Runner:
    """A runner with a checkout that somebody else wrote, the action, and the index that it is set up for."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.checkout = directory / "work" / "repo" / "repo"
        self.temp = directory / "work" / "_temp"
        self.home = directory / "home"
        self.action = directory / "work" / "_actions" / "rankgate"
        self.ran = directory / "ran"  # the names of what should not have
        for place in (self.checkout, self.temp, self.home, self.action / "locks", self.action / "scripts"):
            place.mkdir(parents=True)
        for script in ("install_action.sh", "install_action.py"):
            shutil.copy(ROOT / "scripts" / script, self.action / "scripts")
        name, data = wheel("rgt_action")
        (self.action / name).write_bytes(data)
        (self.action / "backend.py").write_text(BACK_END)
        (self.action / "pyproject.toml").write_text(
            '[build-system]\nrequires = ["rgt-core"]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        )
        self.index = Index(directory / "simple")
        self.lock("base", "rgt-core", self.index.put(wheel("rgt_core")))
        self.lock("parquet", "rgt-parquet", self.index.put(wheel("rgt_parquet")))

    def lock(self, part: str, name: str, *hashes: str) -> None:
        """Let a part be one package."""
        text = " ".join(f"--hash={each}" for each in hashes)
        (self.action / "locks" / f"{part}.lock").write_text(f"{name}==1.0 {text}\n")

    def around(self, variables: Mapping[str, str] | None = None, extras: str = "") -> dict[str, str]:
        """What the step is given; without variables pip knows the index."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GITHUB_WORKSPACE": str(self.checkout),
            "GITHUB_ACTION_PATH": str(self.action),
            "GITHUB_OUTPUT": str(self.directory / "output"),
            "RUNNER_TEMP": str(self.temp),
            "RANKGATE_EXTRAS": extras,
            **({"PIP_INDEX_URL": self.index.url} if variables is None else variables),
        }

    def install(self, variables: Mapping[str, str] | None = None, extras: str = "") -> subprocess.CompletedProcess[str]:
        """Run the step."""
        command = ["bash", str(self.action / "scripts" / "install_action.sh")]
        around = self.around(variables, extras)
        return subprocess.run(command, cwd=self.checkout, env=around, capture_output=True, text=True, check=False)

    def fill(self, environment: Path, variables: Mapping[str, str] | None = None, *extras: str) -> None:
        """Install into an environment that there is; making one takes most of the step's time."""
        install(environment, self.action, [*extras], self.around(variables), str(self.checkout))

    def python(self) -> str:
        """What the step said last."""
        return (self.directory / "output").read_text().splitlines()[-1].removeprefix("python=")

    def has(self, module: str, python: str | None = None) -> bool:
        """Whether the environment has it; Python's start runs what is installed to be run at it."""
        command = [python or self.python(), "-I", "-c", f"import {module}"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def evil(self, name: str) -> str:
        """A line of Python that leaves its name."""
        return f"import os; open({str(self.ran)!r}, 'a').write({name!r} + '\\n')\n"

    def executable(self, path: Path) -> None:
        """A program that leaves its name, and does nothing else."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {path.name} >> '{self.ran}'\n")
        path.chmod(0o755)

    def evil_requirement(self) -> Path:
        """A file in the checkout that names a wheel of the checkout, with its hash."""
        name, data = wheel("rgt_evil", files={"rgt_evil.pth": self.evil("a wheel of the checkout")})
        (self.checkout / name).write_bytes(data)
        file = self.checkout / "more.txt"
        file.write_text(f"{(self.checkout / name).as_uri()} --hash={sha256(data)}\n")
        return file


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of the tests' own pip alone, which is compiled already."""
    place = tmp_path_factory.mktemp("made") / "environment"
    venv.create(place, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(place)}))
    shutil.copytree(Path(pip.__file__).parent, packages / "pip")
    return place


@pytest.fixture
def environment(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(made, tmp_path / "environment", symlinks=True)


@pytest.mark.parametrize(
    ("extras", "wrong"),
    [
        ("pdf", "pdf"),
        ("parquet pdf", "pdf"),
        ("base", "base"),
        ("../locks/parquet", "../locks/parquet"),
        ("parquet.lock", "parquet.lock"),
    ],
)
def test_an_extra_that_there_is_not_is_named(runner: Runner, extras: str, wrong: str) -> None:
    done = runner.install(extras=extras)
    assert (done.returncode, done.stdout) == (2, f"::error title=rankgate::extras: {wrong!r} is none of parquet\n")


# Code that the checkout, or whoever serves packages, would like to have run. An install takes seconds, so that doors
# which do not stand in each other's way are tried at once; what ran says which one was open.


def evil_modules(runner: Runner) -> None:
    for name in ("pip", "venv", "logging", "sitecustomize", "rgt_core", "rgt_action"):
        (runner.checkout / f"{name}.py").write_text(runner.evil(name))
    packages = runner.checkout / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "usercustomize.py").write_text(runner.evil("usercustomize"))


def evil_compiled_file(runner: Runner) -> None:
    """What Python takes without looking at the source."""
    source = runner.checkout / "compiled.py"
    of_the_library = str(ensurepip.__file__)
    source.write_text(runner.evil("a compiled file") + Path(of_the_library).read_text(encoding="utf-8"))
    before, sys.pycache_prefix = sys.pycache_prefix, str(runner.checkout / "cache")
    try:
        to = cache_from_source(of_the_library)
    finally:
        sys.pycache_prefix = before
    py_compile.compile(str(source), to, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH, doraise=True)


def evil_config(runner: Runner, place: str) -> Path:
    """A file for pip that names a Python and a further requirement of the checkout."""
    file = runner.checkout / place
    file.parent.mkdir(parents=True, exist_ok=True)
    python = runner.checkout / f"python of {place}".replace("/", " ")
    runner.executable(python)
    file.write_text(f"[global]\npython = {python}\n[install]\nrequirement = {runner.evil_requirement()}\n")
    return file


def evil_programs(runner: Runner) -> Path:
    for name in ("python3", "python", "rm", "mkdir", "dirname", "git", "keyring"):
        runner.executable(runner.checkout / "bin" / name)
    return runner.checkout / "bin"


def variables(runner: Runner) -> dict[str, str]:
    evil_modules(runner)
    evil_compiled_file(runner)
    evil_config(runner, "pip/pip.conf")
    runner.executable(runner.checkout / "python")
    return {
        "PATH": f"{evil_programs(runner)}:{os.environ['PATH']}",
        "PYTHONPATH": f"{runner.checkout}:.",
        "PYTHONUSERBASE": str(runner.checkout),
        "PYTHONPYCACHEPREFIX": str(runner.checkout / "cache"),
        "PIP_CONFIG_FILE": str(evil_config(runner, "pip.conf")),
        "PIP_REQUIREMENT": str(runner.evil_requirement()),
        "PIP_No-Binary": ":all:",  # pip takes any letters after PIP_, and the hyphen
        "PIP_PYTHON": str(runner.checkout / "python"),
        "XDG_CONFIG_HOME": str(runner.checkout),
        "XDG_CONFIG_DIRS": f"/etc/xdg:{runner.checkout}",
        "CDPATH": str(runner.checkout),
    }


def links(runner: Runner) -> dict[str, str]:
    """Places outside of the checkout that lead into it, a home in it, and paths that mean something else elsewhere.

    The Python is one into which the job installed the checkout.
    """
    evil_modules(runner)
    evil_config(runner, ".pip/pip.conf")
    (runner.directory / "linked.conf").symlink_to(evil_config(runner, "pip.conf"))
    (runner.directory / "bin").symlink_to(evil_programs(runner))
    place = runner.directory / "python of the job"
    venv.create(place, symlinks=True)
    [packages] = place.glob("lib/*/site-packages")
    (packages / "__editable__.pth").write_text(f"{runner.checkout}\n{runner.evil('a .pth file')}")
    return {
        "HOME": str(runner.checkout),
        "PATH": f":./bin:bin:{runner.directory / 'bin'}:{place / 'bin'}:{os.environ['PATH']}",
        "PIP_CONFIG_FILE": str(runner.directory / "linked.conf"),
    }


def test_each_extra_is_an_environment_of_its_own_made_once_from_locks_and_nothing_of_the_checkout_runs(
    runner: Runner,
) -> None:
    """Half an environment is none, and what is locked is installed though there is something newer."""
    runner.index.put(wheel("rgt_core", "2.0", files={"rgt_core.pth": runner.evil("a newer version")}))
    half = runner.temp / "rankgate" / "venv-parquet" / "half"
    half.mkdir(parents=True)

    def installs(extras: str, doors: Mapping[str, str]) -> Path:
        done = runner.install({"PIP_INDEX_URL": runner.index.url, **doors}, extras)
        ran = runner.ran.read_text() if runner.ran.exists() else ""
        assert (done.returncode, ran) == (0, ""), done.stdout + done.stderr
        assert runner.has("rgt_action, rgt_core; assert rgt_core.version == '1.0'")
        assert runner.has("rgt_parquet") is ("parquet" in extras)
        assert not runner.ran.exists()
        return Path(runner.python())

    first = installs(" parquet,parquet ", variables(runner))
    assert not half.exists()
    note = first.parent / "note"
    note.touch()
    assert installs("", links(runner)) != first
    assert installs("parquet", {}) == first
    assert note.exists()


@pytest.mark.parametrize(
    ("given", "left"),
    [
        pytest.param({"OPENSSL_CONF": "{checkout}/openssl.cnf"}, {}, id="a file of the checkout"),
        pytest.param({"X": "{checkout}"}, {}, id="the checkout itself"),
        pytest.param({"X": "{checkout}-2/lib"}, {"X": "{checkout}-2/lib"}, id="a neighbour"),
        pytest.param({"X": "/lib:{checkout}/lib:/usr/lib"}, {"X": "/lib:/usr/lib"}, id="one of several paths"),
        pytest.param({"X": "{checkout}/../../elsewhere"}, {"X": "{checkout}/../../elsewhere"}, id="out of it again"),
        pytest.param({"X": "/usr/../{checkout}/lib"}, {}, id="a way around"),
        pytest.param({"X": "file://{checkout}/lib"}, {"X": "file"}, id="an address"),
        pytest.param({"X": "https://example.org/a"}, {"X": "https://example.org/a"}, id="an address elsewhere"),
        pytest.param({"X": ""}, {"X": ""}, id="empty"),
        pytest.param({"PYTHONWARNINGS": "error", "PIP_LOG": "/log", "pip_x": "1", "PythonX": "1"}, {}, id="by name"),
    ],
)
def test_what_is_left_of_the_environment(tmp_path: Path, given: dict[str, str], left: dict[str, str]) -> None:
    here = {name: value.format(checkout=tmp_path) for name, value in given.items()}
    assert harmless(here, str(tmp_path)) == {name: value.format(checkout=tmp_path) for name, value in left.items()}


def test_letters_do_not_hide_a_path(tmp_path: Path) -> None:
    """The file systems of macOS and Windows take one for the other."""
    assert outside(f"{str(tmp_path).upper()}/LIB", str(tmp_path)) == ""


def test_a_python_that_lies_in_the_checkout_alone_is_none(runner: Runner) -> None:
    tools = runner.directory / "tools"
    tools.mkdir()
    for name in ("bash", "env"):
        (tools / name).symlink_to(str(shutil.which(name)))
    (runner.checkout / "bin").mkdir()
    (runner.checkout / "bin" / "python3").symlink_to(sys.executable)
    done = runner.install({"PATH": f"{runner.checkout / 'bin'}:{tools}"})
    assert done.returncode == 2
    assert done.stdout.startswith("::error title=rankgate::Python 3.11 or newer is needed outside of the checkout;")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_a_python_that_is_known_by_its_version_alone_is_found(runner: Runner, version: str) -> None:
    """It runs the installer, which here says so and does nothing else."""
    (runner.action / "scripts" / "install_action.py").write_text("print('the installer')\n")
    tools = runner.directory / "tools"
    tools.mkdir()
    (tools / "bash").symlink_to(str(shutil.which("bash")))
    (tools / f"python{version}").symlink_to(sys.executable)
    done = runner.install({"PATH": str(tools)})
    assert (done.returncode, done.stdout) == (0, "the installer\n")


def other_bytes(runner: Runner) -> None:
    runner.index.put(wheel("rgt_core", files={"rgt_core.pth": runner.evil("other bytes")}))


def to_be_built(runner: Runner) -> None:
    """Its own requirements have no hash."""
    runner.index = Index(runner.directory / "sources")
    runner.index.put(wheel("rgt_builder", files={"rgt_builder.pth": runner.evil("a requirement of the build")}))
    build = '[build-system]\nrequires = ["rgt-builder"]\n'
    source = sdist("rgt_core", files={"pyproject.toml": build, "rgt_core.py": ""})
    runner.lock("base", "rgt-core", runner.index.put(source))


def more_than_is_locked(runner: Runner) -> None:
    runner.index.put(wheel("rgt_more", files={"rgt_more.pth": runner.evil("a dependency")}))
    runner.lock("base", "rgt-core", runner.index.put(wheel("rgt_core", requires=["rgt-more"])))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(other_bytes, "DO NOT MATCH THE HASHES", id="other bytes under a package's name"),
        pytest.param(to_be_built, "No matching distribution", id="what would have to be built"),
        pytest.param(more_than_is_locked, "rgt-more", id="a dependency that is not in the lock"),
    ],
)
def test_what_the_locks_do_not_hold_is_refused(
    runner: Runner, environment: Path, change: Callable[[Runner], None], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    change(runner)
    with pytest.raises(SystemExit) as ended:
        runner.fill(environment)
    said = capfd.readouterr()
    assert ended.value.code == 2
    assert said.out == "::error title=rankgate::rankgate could not be installed; pip says why above\n"
    assert why in " ".join(said.err.split())
    assert not runner.has("rgt_core", python_of(environment))
    assert not runner.ran.exists()


# What of the runner's settings counts.


CONFIG = """\
[global]
index-url = a
extra_index_url = a b
find-links =
  a
  b
no-index = true
proxy = b
cache-dir = a
client-cert = {checkout}/ca
[install]
proxy = a
cert = a
user = true
target = a
[download]
timeout = 1
"""
GIVEN = {
    "PIP_CERT": "b",
    "PIP_TRUSTED-Host": "a",
    "PIP_RETRIES": "1",
    "PIP_PYPI_URL": "{checkout}/a",
    "PIP_PREFIX": "b",
    "PIP_DRY_RUN": "1",
    "PIP_BUILD_CONSTRAINT": "b",
    "PIP_SRC": "c",
}


def settings(folder: Path, text: str, given: Mapping[str, str]) -> dict[str, str]:
    """How pip reaches packages with such a file and variables."""
    checkout = folder / "checkout"
    config = folder / "pip.conf"
    config.write_text(text.format(checkout=checkout))
    names = {name: value.format(checkout=checkout) for name, value in given.items()}
    around = {"PATH": os.environ["PATH"], "HOME": str(folder), "PIP_CONFIG_FILE": str(config), **names}
    return access(sys.executable, around, str(checkout))


@pytest.fixture(scope="module")
def of_the_machine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What pip is told without any setting of ours."""
    return settings(tmp_path_factory.mktemp("home"), "", {})


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return settings(tmp_path_factory.mktemp("home"), CONFIG, GIVEN)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("INDEX_URL", "a", id="a file"),
        pytest.param("EXTRA_INDEX_URL", "a b", id="an underline"),
        pytest.param("PROXY", "a", id="install before global"),
        pytest.param("TIMEOUT", None, id="another command"),
        pytest.param("CERT", "b", id="a variable before both"),
        pytest.param("NO_INDEX", "true", id="a switch"),
        pytest.param("FIND_LINKS", "\na\nb", id="lines"),
        pytest.param("TRUSTED_HOST", "a", id="spelling"),
        pytest.param("RETRIES", "1", id="a variable"),
        *(pytest.param(name, None, id=f"where: {name}") for name in ("USER", "TARGET", "PREFIX", "DRY_RUN")),
        *(pytest.param(name, None, id=f"other code: {name}") for name in ("CACHE_DIR", "BUILD_CONSTRAINT", "SRC")),
        *(pytest.param(name, None, id=f"in the checkout: {name}") for name in ("CLIENT_CERT", "PYPI_URL")),
    ],
)
def test_how_packages_are_reached_is_the_runners_and_nothing_else_is(
    counted: dict[str, str], of_the_machine: dict[str, str], name: str, value: str | None
) -> None:
    assert counted.get(f"PIP_{name}") == (of_the_machine.get(f"PIP_{name}") if value is None else value)
    assert {each.removeprefix("PIP_") for each in counted.keys() - of_the_machine} <= {
        *("INDEX_URL", "EXTRA_INDEX_URL", "PROXY", "CERT", "NO_INDEX", "FIND_LINKS", "TRUSTED_HOST", "RETRIES")
    }


def test_a_file_of_settings_that_a_relative_path_names_counts_nothing(
    tmp_path: Path, of_the_machine: dict[str, str]
) -> None:
    """The installer runs in another directory than the steps of the job."""
    (tmp_path / "pip.conf").write_text("[global]\nproxy = a\n")
    around = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": "pip.conf"}
    with chdir(tmp_path):
        assert access(sys.executable, around, str(tmp_path / "checkout")) == of_the_machine


@contextmanager
def serving(index: Index, context: ssl.SSLContext | None = None) -> Iterator[tuple[ThreadingHTTPServer, list[str]]]:
    """The index by HTTP, for whichever host it is asked as a proxy; and the lines of the requests."""
    lines: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return super().translate_path(urlsplit(path).path)

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002 -- its name there
            lines.append(self.requestline)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(index.directory))) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server, lines
        finally:
            server.shutdown()
            thread.join()


def test_the_runners_proxy_is_used_and_the_users_own_file_names_the_indexes_and_certificates(
    runner: Runner, environment: Path
) -> None:
    """One package is reached by HTTPS on this machine, the other by HTTP through the proxy."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    bundle = runner.home / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    behind = Index(runner.directory / "behind the proxy")
    runner.lock("parquet", "rgt-more", behind.put(wheel("rgt_more")))
    nowhere = (runner.directory / "nowhere").as_uri()
    file = runner.home / ".config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True)
    with serving(runner.index, context) as (server, _), serving(behind) as (proxy, lines):
        indexes = [f"https://localhost:{server.server_port}", "http://packages.invalid"]
        file.write_text(
            f"[global]\nindex-url = {nowhere}\nextra-index-url =\n  {indexes[0]}\n  {indexes[1]}\n"
            f"trusted-host = packages.invalid\ncert = {bundle}\nretries = 0\n[install]\nuser = true\ntarget = nowhere\n"
        )
        around = {"http_proxy": f"http://127.0.0.1:{proxy.server_port}", "no_proxy": "localhost"}
        runner.fill(environment, around, "parquet")
    assert "GET http://packages.invalid/rgt-more/ HTTP/1.1" in lines
    assert runner.has("rgt_action, rgt_core, rgt_more", python_of(environment))
