"""scripts/lower_bounds.py, run as .ci/run runs it."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def lower_bounds(pyproject: Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / "scripts" / "lower_bounds.py"
    return subprocess.run([sys.executable, script, pyproject], capture_output=True, text=True, check=False)


def pyproject_with(directory: Path, *requirements: str, extras: str = "") -> Path:
    path = directory / "pyproject.toml"
    path.write_text(f'[project]\nname = "tiny"\ndependencies = {list(requirements)!r}\n{extras}', encoding="utf-8")
    return path


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
