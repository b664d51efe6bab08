"""scripts/demo, scripts/test and the environment that they share, on a tiny project and without a network.

The tiny project brings its own build backend, so that pip has nothing to download. What takes seconds in making an
environment is unpacking pip: the `python3` that the scripts find here lends the pip that the tests themselves have.
"""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BACKEND = """
import os, pathlib, tomllib, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    if os.environ.get("BROKEN_BUILD"):
        raise SystemExit("this build is broken")
    project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
    name, info = project["name"], f"{project['name']}-1.dist-info"
    extras = [f"Provides-Extra: {extra}\\nRequires-Dist: {each} ; extra == '{extra}'"
              for extra, group in project.get("optional-dependencies", {}).items() for each in group]
    files = {
        f"tiny_{name}.py": f"import os, sys\\ndef main(): print('{name}', *sys.argv[1:], 'in', os.getcwd())\\n",
        f"{info}/METADATA": "\\n".join(["Metadata-Version: 2.1", f"Name: {name}", "Version: 1", *extras, ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: tiny\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": f"[console_scripts]\\n{name} = tiny_{name}:main\\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"])
    wheel = f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(directory, wheel), "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel

build_editable = build_wheel
"""

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "{name}"
version = "1"
"""

BASE_PYTHON = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")

# What find_python calls, and what its stand-ins below call: a search path of these holds no Python of the machine.
TOOLS = ["bash", "head", "mktemp", "rm", "sort", "cp", "mkdir", "touch"]


def run(*command: str | Path, path: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "VIRTUAL"))
    }
    environment = {**inherited, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PATH": path, **variables}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def executable(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


class Project:
    """A checkout with the project's own scripts around a package that only prints how it was called."""

    def __init__(self, root: Path, search_path: str) -> None:
        self.root = root
        self.search_path = search_path
        stand_in = root / "pytest stand-in"
        for directory, name in [(root, "rankgate"), (stand_in, "pytest")]:
            directory.mkdir(parents=True)
            (directory / "backend.py").write_text(BACKEND, encoding="utf-8")
            (directory / "pyproject.toml").write_text(PYPROJECT.format(name=name), encoding="utf-8")
        self.append_to_pyproject(f'[project.optional-dependencies]\ndev = ["pytest @ {stand_in.as_uri()}"]\n')
        (root / "scripts").mkdir()
        for script in ("demo", "test", "venv.sh", "npm.sh"):
            shutil.copy(ROOT / "scripts" / script, root / "scripts" / script)
        (root / "tests" / "npm").mkdir(parents=True)
        (root / "tests" / "npm" / "package.json").write_text("{}\n", encoding="utf-8")

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    def append_to_pyproject(self, text: str) -> None:
        with (self.root / "pyproject.toml").open("a", encoding="utf-8") as pyproject:
            pyproject.write(text)

    def run(self, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        elsewhere = self.root.parent
        return run(self.root / "scripts" / script, *arguments, path=self.search_path, cwd=elsewhere, **variables)


@pytest.fixture(scope="session")
def search_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("bin")
    pip = importlib.util.find_spec("pip")
    assert pip is not None
    assert pip.origin is not None
    pip_alone = tmp_path_factory.mktemp("pip alone")
    (pip_alone / "pip").symlink_to(Path(pip.origin).parent)
    executable(
        directory / "python3",
        f"""
        if [ "$1 $2" = "-m venv" ]; then
          "{BASE_PYTHON}" -m venv --without-pip "$3"
          echo "{pip_alone}" >"$(echo "$3"/lib/python*/site-packages)/pip.pth"
        else
          exec "{BASE_PYTHON}" "$@"
        fi
        """,
    )
    executable(directory / "npm", "mkdir node_modules")
    executable(directory / "chromium", "")
    return f"{directory}:{os.environ['PATH']}"


@pytest.fixture
def fresh(tmp_path: Path, search_path: str) -> Project:
    return Project(tmp_path / "a fresh checkout", search_path)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory, search_path: str) -> Project:
    """Shared by the tests of this file, each of which leaves a working environment behind."""
    project = Project(tmp_path_factory.mktemp("used") / "a used checkout", search_path)
    assert project.run("demo").returncode == 0
    return project


def test_the_first_run_sets_up_and_the_second_has_nothing_to_do(fresh: Project) -> None:
    first = fresh.run("demo")
    second = fresh.run("demo")

    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout == second.stdout == f"rankgate demo rankgate-demo in {fresh.root.parent}\n"
    making, installing, running, activate = first.stderr.splitlines()
    assert making.startswith("Making .venv with ")
    assert making.endswith(", because there is none yet.")
    assert installing == "Installing the project into .venv. This can take a minute."
    assert running == "Running: rankgate demo rankgate-demo"
    assert activate.startswith("To type its commands yourself, first: source ")
    (environment,) = shlex.split(activate.partition(": source ")[2])
    assert Path(environment) == fresh.root / ".venv" / "bin" / "activate"
    assert Path(environment).is_file()
    assert second.stderr.splitlines() == [".venv is up to date.", running, activate]


def test_what_the_tests_need_is_added_to_the_environment_of_the_demo(fresh: Project) -> None:
    fresh.run("demo")

    tests = fresh.run("test", "-k", "some words")
    demo = fresh.run("demo")

    assert tests.stdout == f"pytest -n auto -k some words in {fresh.root}\n", tests.stderr
    assert tests.stderr.splitlines() == [
        "Installing the project (dev) into .venv. This can take a minute.",
        "Installing the tests' npm packages into .node.",
        "Running: pytest -n auto -k some words",
    ]
    assert demo.stderr.splitlines()[0] == ".venv is up to date."


def test_a_changed_pyproject_is_installed_again_with_the_extras_that_were_there(fresh: Project) -> None:
    fresh.run("test")
    fresh.append_to_pyproject("# changed\n")

    answer = fresh.run("demo")

    assert answer.returncode == 0
    assert answer.stderr.splitlines()[0] == "Installing the project (dev) into .venv. This can take a minute."


@pytest.mark.parametrize(
    ("given", "passed_on"),
    [
        pytest.param(["elsewhere"], "elsewhere", id="a directory"),
        pytest.param(["else where", "--seed", "3"], "else where --seed 3", id="a directory and options"),
        pytest.param(["--seed", "3"], "rankgate-demo --seed 3", id="options alone"),
    ],
)
def test_the_demo_passes_its_arguments_on(used: Project, given: list[str], passed_on: str) -> None:
    assert used.run("demo", *given).stdout == f"rankgate demo {passed_on} in {used.root.parent}\n"


def test_the_scripts_can_be_called_through_a_link(used: Project, tmp_path: Path) -> None:
    link = tmp_path / "demo"
    link.symlink_to(used.root / "scripts" / "demo")

    assert run(link, path=used.search_path, cwd=tmp_path).stdout == f"rankgate demo rankgate-demo in {tmp_path}\n"


def site_packages(venv: Path) -> Path:
    return next(venv.glob("lib/python*/site-packages"))


@pytest.mark.parametrize(
    ("break_it", "because"),
    [
        pytest.param(
            lambda venv: (venv / "setup-finished").unlink(), "its setup was not finished", id="killed during setup"
        ),
        pytest.param(
            lambda venv: (venv / "setup-finished").write_text("/some\n"), "its setup was not finished", id="stamp cut"
        ),
        pytest.param(lambda venv: (venv / "bin" / "python").unlink(), "its Python is gone", id="python removed"),
        pytest.param(
            lambda venv: (site_packages(venv) / "pip.pth").unlink(),
            "it is broken (ModuleNotFoundError: No module named 'pip')",
            id="pip removed",
        ),
        pytest.param(
            lambda venv: (venv / "bin" / "rankgate").unlink(),
            "it is broken (../../../bin/rankgate is missing)",
            id="a file of a package removed",
        ),
        pytest.param(
            lambda venv: (venv / "setup-finished").write_text(f"{venv.parent}\n3.11.0a1\n1 1\n\n"),
            f"its Python was 3.11.0a1 and is now {'.'.join(map(str, sys.version_info[:3]))}",
            id="another python",
        ),
    ],
)
def test_a_broken_environment_is_made_anew(used: Project, break_it: Callable[[Path], object], because: str) -> None:
    leftover = used.venv / "leftover"
    leftover.touch()
    break_it(used.venv)

    answer = used.run("demo")

    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == f"rankgate demo rankgate-demo in {used.root.parent}\n"
    assert answer.stderr.splitlines()[0].endswith(f", because {because}.")
    assert not leftover.exists()


def test_a_moved_checkout_gets_its_own_environment(fresh: Project) -> None:
    fresh.run("demo")
    before, fresh.root = fresh.root, fresh.root.with_name("moved")
    before.rename(fresh.root)

    answer = fresh.run("demo")

    assert answer.returncode == 0
    assert answer.stderr.splitlines()[0].endswith(f", because the one here was made in {before}.")


def test_a_failed_setup_says_so_and_the_next_one_begins_anew(fresh: Project) -> None:
    fresh.run("demo")
    fresh.append_to_pyproject("# changed\n")

    failed = fresh.run("demo", BROKEN_BUILD="1")
    mended = fresh.run("demo")

    assert (failed.returncode, failed.stdout) == (2, "")
    assert "this build is broken" in failed.stderr
    assert failed.stderr.splitlines()[-1] == (
        "Setting up .venv failed; pip says why above. Started again, it begins anew."
    )
    assert mended.returncode == 0
    assert mended.stderr.splitlines()[0].endswith(", because its setup was not finished.")


@pytest.mark.skipif(shutil.which("flock") is None, reason="without flock, setups do not take turns")
def test_of_two_runs_at_once_one_sets_up_and_the_other_waits(fresh: Project) -> None:
    both = "a/scripts/demo 2>one & a/scripts/demo 2>two & wait -n && wait -n".replace("a/", "'a fresh checkout'/")

    answer = run("bash", "-c", both, path=fresh.search_path, cwd=fresh.root.parent)

    told = [(fresh.root.parent / name).read_text(encoding="utf-8").splitlines() for name in ("one", "two")]
    waiting, working = sorted(told, key=lambda lines: "Waiting for another setup of .venv to finish." not in lines)
    assert answer.returncode == 0
    assert [line.split()[0] for line in working] == ["Making", "Installing", "Running:", "To"]
    assert waiting[1:-1] == [".venv is up to date.", "Running: rankgate demo rankgate-demo"]


class Machine:
    """A search path with the usual tools and only the Pythons that a test puts there."""

    def __init__(self, directory: Path) -> None:
        self.bin = directory
        self.mended = directory / "mended"
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None
            (directory / tool).symlink_to(found)

    def has_python(self, name: str, version: str, *, makes_venvs: bool = True) -> None:
        works = "true" if makes_venvs else f'[ -e "{self.mended}" ]'
        executable(
            self.bin / name,
            f"""
            case "$1 $2" in
              "-c "*) echo "{version} $0" ;;
              "-m venv") {works} && mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
            esac
            """,
        )

    def has_apt(self, *, root: bool, works: bool = True) -> None:
        executable(self.bin / "id", f"echo {0 if root else 1000}")
        result = f'touch "{self.mended}"' if works else "echo 'E: Unable to locate package'; exit 100"
        executable(self.bin / "apt-get", f'echo "$*" >>"{self.bin}/asked"\n[ "$1" = update ] || {{ {result}; }}')

    @property
    def apt_was_asked(self) -> list[str]:
        asked = self.bin / "asked"
        return asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []

    def find_python(self) -> subprocess.CompletedProcess[str]:
        command = 'source "$1" && find_python'
        return run("bash", "-c", command, "bash", ROOT / "scripts" / "venv.sh", path=str(self.bin), cwd=self.bin)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        pytest.param({"python3": "3.11.2"}, "python3", id="the oldest that will do"),
        pytest.param({"python3": "3.11.2", "python3.13": "3.13.0"}, "python3", id="python3 goes first"),
        pytest.param({"python3": "3.9.2", "python3.11": "3.11.9"}, "python3.11", id="python3 is too old"),
        pytest.param({"python3.12": "3.12.1", "python3.13": "3.13.0"}, "python3.13", id="newest of the rest"),
        pytest.param({"python3": "4.0.0"}, "python3", id="a major version to come"),
    ],
)
def test_the_first_python_that_is_new_enough_is_taken(machine: Machine, pythons: dict[str, str], chosen: str) -> None:
    for name, version in pythons.items():
        machine.has_python(name, version)

    answer = machine.find_python()

    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"{machine.bin / chosen}\n", "")


@pytest.mark.parametrize(
    ("pythons", "found"),
    [
        pytest.param({}, "none of them", id="no python"),
        pytest.param({"python3": "3.9.2"}, "python3 is 3.9.2", id="too old"),
        pytest.param({"python3": "2.7.18", "python3.11": "3.1.0"}, "python3 is 2.7.18, python3.11 is 3.1.0", id="two"),
    ],
)
def test_without_a_python_that_is_new_enough_it_says_what_there_is(
    machine: Machine, pythons: dict[str, str], found: str
) -> None:
    for name, version in pythons.items():
        machine.has_python(name, version)

    answer = machine.find_python()

    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.splitlines() == [
        "rankgate needs Python 3.11 or newer, as python3, python3.13, python3.12 or python3.11.",
        f"Found: {found}.",
    ]


LACKING = "python3 is 3.11.2, which is new enough, but it cannot make virtual environments."


def test_a_python_without_ensurepip_is_passed_over_where_there_is_another(machine: Machine) -> None:
    machine.has_python("python3", "3.11.2", makes_venvs=False)
    machine.has_python("python3.12", "3.12.1")
    machine.has_apt(root=True)

    assert machine.find_python().stdout == f"{machine.bin / 'python3.12'}\n"
    assert machine.apt_was_asked == []


def test_without_ensurepip_a_user_is_told_the_line_to_run(machine: Machine) -> None:
    machine.has_python("python3", "3.11.2", makes_venvs=False)
    machine.has_apt(root=False)

    answer = machine.find_python()

    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.splitlines() == [
        LACKING,
        "Run this line, then start again:",
        "  sudo apt-get install -y python3-venv",
    ]
    assert machine.apt_was_asked == []


def test_without_ensurepip_root_gets_it_installed(machine: Machine) -> None:
    machine.has_python("python3", "3.11.2", makes_venvs=False)
    machine.has_apt(root=True)

    answer = machine.find_python()

    assert (answer.returncode, answer.stdout) == (0, f"{machine.bin / 'python3'}\n")
    assert answer.stderr.splitlines() == [LACKING, "Installing python3-venv with apt-get."]
    assert [line.split()[0] for line in machine.apt_was_asked] == ["update", "install"]
    assert machine.apt_was_asked[1].endswith(" python3-venv")


def test_where_apt_fails_its_words_are_shown(machine: Machine) -> None:
    machine.has_python("python3.12", "3.12.1", makes_venvs=False)
    machine.has_apt(root=True, works=False)

    answer = machine.find_python()

    assert answer.returncode == 2
    assert answer.stderr.splitlines()[1:] == [
        "Installing python3.12-venv with apt-get.",
        "E: Unable to locate package",
        "That failed. Once this line works, start again:",
        "  apt-get install -y python3.12-venv",
    ]


def test_where_there_is_no_apt_it_says_what_is_lacking(machine: Machine) -> None:
    machine.has_python("python3", "3.11.2", makes_venvs=False)

    answer = machine.find_python()

    assert answer.returncode == 2
    assert answer.stderr.splitlines() == [
        LACKING,
        "Install what it lacks (the modules venv and ensurepip), then start again.",
    ]


def test_in_an_activated_environment_the_python_behind_it_is_meant(tmp_path: Path) -> None:
    ask = 'source "$1" && "$2" -c "$PYTHON_FACTS" "$2"'
    active = tmp_path / "venv" / "bin" / "python"
    subprocess.run([BASE_PYTHON, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)

    answer = run("bash", "-c", ask, "bash", ROOT / "scripts" / "venv.sh", active, path=os.environ["PATH"], cwd=tmp_path)

    version, python = answer.stdout.strip().split(" ", 1)
    assert version == ".".join(map(str, sys.version_info[:3]))
    assert Path(python).samefile(active)
    assert not Path(python).is_relative_to(tmp_path)


def test_the_scripts_and_pyproject_agree_on_the_oldest_python(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ask = 'source "$1" && echo ">=$MINIMUM_PYTHON"'

    answer = run("bash", "-c", ask, "bash", ROOT / "scripts" / "venv.sh", path=os.environ["PATH"], cwd=tmp_path)

    assert answer.stdout.strip() == project["requires-python"]
