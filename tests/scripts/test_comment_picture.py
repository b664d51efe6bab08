"""The README's pictures show the comment of today's demo."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))

import make_comment_picture as picture  # noqa: E402 -- not a package


def test_the_script_writes_the_pictures_and_their_text_is_the_committed_one(
    browser: str, node_modules: Path, demo_left: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "demo_in", lambda _: demo_left / "rankgate-demo")
    monkeypatch.setattr(sys, "argv", ["make_comment_picture.py", str(tmp_path)])
    assert picture.main() == 0
    names = [f"{what}-{theme}.png" for what in ("comment", "report") for theme in picture.FRAMES]
    pictures = [(tmp_path / name).read_bytes() for name in names]
    assert len(set(pictures)) == 4
    assert all(data.startswith(b"\x89PNG") and len(data) > 50_000 for data in pictures)
    committed = (picture.IMAGES / "comment.txt").read_text(encoding="utf-8")
    assert (tmp_path / "comment.txt").read_text(encoding="utf-8") == committed, "run scripts/make_comment_picture.py"
