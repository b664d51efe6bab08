"""scripts/lower_bounds.py, run as .ci/run runs it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lower_bounds(pyproject: Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / "scripts" / "lower_bounds.py"
    return subprocess.run([sys.executable, script, pyproject], capture_output=True, text=True, check=False)


def pyproject_with(directory: Path, *requirements: str, extras: str = "") -> Path:
    path = directory / "pyproject.toml"
    path.write_text(f'[project]\nname = "tiny"\ndependencies = {list(requirements)!r}\n{extras}', encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("requirement", "constraint"),
    [
        pytest.param("jinja2>=3.1.4", "jinja2==3.1.4", id="at least"),
        pytest.param("jinja2 >= 3.1.4", "jinja2==3.1.4", id="spaces"),
        pytest.param("jinja2>=3.1.4,<4", "jinja2==3.1.4", id="bounded above too"),
        pytest.param("jinja2<4,!=3.1.5,>=3.1.4", "jinja2==3.1.4", id="bounded above first"),
        pytest.param("jinja2 (>=3.1.4)", "jinja2==3.1.4", id="parentheses"),
        pytest.param("jinja2~=3.1", "jinja2==3.1", id="compatible"),
        pytest.param("jinja2==3.1.4", "jinja2==3.1.4", id="exact"),
        pytest.param("jinja2>=4.0.0rc1", "jinja2==4.0.0rc1", id="pre-release"),
        pytest.param("ruamel.yaml[old-libyaml]>=0.18", "ruamel.yaml==0.18", id="an extra is dropped"),
        pytest.param("tomli>=2; python_version < '3.11'", "tomli==2; python_version < '3.11'", id="a marker is kept"),
    ],
)
def test_a_requirement_becomes_a_constraint_at_its_lower_bound(
    tmp_path: Path, requirement: str, constraint: str
) -> None:
    answer = lower_bounds(pyproject_with(tmp_path, requirement))

    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"{constraint}\n", "")


def test_extras_count_except_dev_and_lists_of_other_extras(tmp_path: Path) -> None:
    extras = """
[project.optional-dependencies]
html = ["plotly>=5.0"]
all = ["tiny[html]"]
dev = ["pytest"]
"""

    answer = lower_bounds(pyproject_with(tmp_path, "rich>=13", extras=extras))

    assert (answer.returncode, answer.stdout) == (0, "plotly==5.0\nrich==13\n")


def test_every_requirement_without_a_lower_bound_is_named_and_nothing_is_printed(tmp_path: Path) -> None:
    pyproject = pyproject_with(tmp_path, "rich", "jinja2>=3.1.4", "pyyaml<7", "spam @ https://example.org/spam.whl")

    answer = lower_bounds(pyproject)

    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.splitlines() == [
        f"{pyproject}: 'rich' has no lower bound; write it as name>=version",
        f"{pyproject}: 'pyyaml<7' has no lower bound; write it as name>=version",
        f"{pyproject}: 'spam @ https://example.org/spam.whl' has no lower bound; write it as name>=version",
    ]


def test_the_projects_own_dependencies_all_have_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    answer = lower_bounds(ROOT / "pyproject.toml")

    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.splitlines()) >= len(project["dependencies"])
