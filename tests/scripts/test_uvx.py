"""`uvx --from WHEEL rankgate demo`, as the README says it: nothing installed but uv, in an empty directory."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.full


def test_uvx_runs_the_demo_from_the_wheel(tmp_path: Path) -> None:
    built = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    empty = tmp_path / "empty"
    empty.mkdir()
    command = [sys.executable, "-m", "uv", "tool", "run", "--from", str(wheel), "rankgate", "demo"]  # which is uvx
    done = subprocess.run(command, cwd=empty, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "\n(exit code 1)\n" in done.stdout
    assert (empty / "rankgate-demo" / "search" / "baseline" / "accepted" / "00000001.json").is_file()
