"""scripts/mutate.py, run on a module of four lines."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "mutate.py"
SIZES = """\
LIMIT = 3

def fits(size: int) -> bool:
    return size <= LIMIT
"""


@pytest.mark.parametrize(
    ("checks", "more", "code", "said"),
    [
        pytest.param("fits(3) and not fits(4)", [], 0, ["| sizes.py | 5 | 5 | 0 |"], id="every mistake is noticed"),
        pytest.param(
            "fits(1) and not fits(4)",
            ["--again"],
            1,
            ["sizes.py:1: 3  →  2\n", "sizes.py:4: size <= LIMIT  →  size < LIMIT   (1 tests)", "| 5 | 3 | 2 |"],
            id="a limit that is not tested: both that move it are named",
        ),
        pytest.param("fits(4)", [], 2, ['without any mistake: "test_sizes.py::test_fits" fails'], id="tests that fail"),
    ],
)
def test_mistakes(tmp_path: Path, checks: str, more: list[str], code: int, said: list[str]) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "sizes.py").write_text(SIZES, encoding="utf-8")
    test = f"from sizes import fits\n\ndef test_fits() -> None:\n    assert {checks}\n"
    (tmp_path / "test_sizes.py").write_text(test, encoding="utf-8")
    words = ["src/sizes.py", "--source", "src", *more, "--", "test_sizes.py"]
    variables = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    ran = subprocess.run(
        [sys.executable, SCRIPT, *words],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    assert [text for text in said if text not in ran.stdout] == []
    assert (tmp_path / "src" / "sizes.py").read_text(encoding="utf-8") == SIZES
