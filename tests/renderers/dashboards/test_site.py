"""The folder of a dashboard: written whole, and nothing of others is touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankgate.errors import RankgateError
from rankgate.files.writing import write_atomic
from rankgate.renderers.dashboards import site
from rankgate.renderers.dashboards.site import MARKER, write_site

PAGES = {"index.html": "index", "search.html": "search"}


def held(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name != MARKER}


def refused(folder: Path) -> str:
    before = {file.name: file.read_bytes() for file in folder.iterdir()} if folder.is_dir() else None
    with pytest.raises(RankgateError) as caught:
        write_site(str(folder), PAGES)
    assert before == ({file.name: file.read_bytes() for file in folder.iterdir()} if folder.is_dir() else None)
    return str(caught.value)


@pytest.mark.parametrize("folder", [".", "new/site"], ids=["empty", "new"])
def test_an_empty_and_a_new_directory_are_written_to(tmp_path: Path, folder: str) -> None:
    write_site(str(tmp_path / folder), PAGES)
    assert held(tmp_path / folder) == {**PAGES, ".nojekyll": ""}


def test_pages_that_are_no_more_go_and_what_others_put_there_stays(tmp_path: Path) -> None:
    write_site(str(tmp_path), PAGES)
    (tmp_path / "CNAME").write_text("example.org", encoding="utf-8")
    write_site(str(tmp_path), {"index.html": "new", "faq.html": "faq"})
    assert held(tmp_path) == {"index.html": "new", "faq.html": "faq", ".nojekyll": "", "CNAME": "example.org"}


def test_a_directory_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine", encoding="utf-8")
    said = refused(tmp_path)
    assert said == (
        f"{tmp_path}: is not empty and was not written by `rankgate dashboard` (it has no {MARKER}); name an empty "
        "or a new directory"
    )


def test_a_file_of_somebody_else_with_the_name_of_a_page_is_refused(tmp_path: Path) -> None:
    write_site(str(tmp_path), {"index.html": "index"})
    (tmp_path / "search.html").write_text("mine", encoding="utf-8")
    assert refused(tmp_path).startswith(f"{tmp_path}/search.html: is not a file that `rankgate dashboard` wrote")


def test_a_link_that_leads_nowhere_is_somebodys_too(tmp_path: Path) -> None:
    write_site(str(tmp_path), {"index.html": "index"})
    (tmp_path / "search.html").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RankgateError, match="is not a file that"):
        write_site(str(tmp_path), PAGES)


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    file = tmp_path / "site"
    file.write_text("", encoding="utf-8")
    assert refused(file) == f"{file}: is a file; name a directory"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": []}'], ids=["empty", "cut", "a list", "half"])
def test_a_damaged_marker_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_text(text, encoding="utf-8")
    assert refused(tmp_path) == f"{tmp_path}/{MARKER}: is damaged; name a new directory"


@pytest.mark.parametrize("name", ["../other.html", "/etc/other.html", "notes.txt", "..", ".git", "a/b.html", MARKER])
def test_a_marker_that_names_what_no_dashboard_writes_deletes_nothing(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "site"
    write_site(str(folder), PAGES)
    (tmp_path / "other.html").write_text("mine", encoding="utf-8")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    marker["files"].append(name)
    (folder / MARKER).write_text(json.dumps(marker), encoding="utf-8")
    write_site(str(folder), PAGES)
    assert (tmp_path / "other.html").exists()
    assert held(folder) == {**PAGES, ".nojekyll": "", "notes.txt": "mine"}


@pytest.mark.parametrize("after", range(6))
def test_whoever_was_killed_leaves_a_folder_that_the_next_one_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    folder = tmp_path / "site"
    write_site(str(folder), {"index.html": "old", "gone.html": "old"})
    written: list[str] = []

    def dies(path: Path, data: str | bytes) -> None:
        if len(written) == after:
            raise KeyboardInterrupt
        written.append(path.name)
        write_atomic(path, data)

    monkeypatch.setattr(site, "write_atomic", dies)
    if after < 5:
        with pytest.raises(KeyboardInterrupt):
            write_site(str(folder), PAGES)
        # The index is the last page, so that what it links to is there.
        assert held(folder)["index.html"] == ("index" if after > 3 else "old")
        assert (folder / "search.html").exists() or held(folder)["index.html"] == "old"
    monkeypatch.setattr(site, "write_atomic", write_atomic)
    write_site(str(folder), PAGES)
    assert held(folder) == {**PAGES, ".nojekyll": ""}
