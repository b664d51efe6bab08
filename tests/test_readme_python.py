"""The Python of the README does what stands below it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_there_is_some() -> None:
    assert BLOCKS


@pytest.mark.parametrize(("program", "printed"), BLOCKS)
def test_it_prints_what_the_readme_says(program: str, printed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", printed)
