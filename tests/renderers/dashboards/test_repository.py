"""What a real repository says: its releases, its address, and since when a waiver was in force."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.repositories import commit, git

from rankgate.criteria import Criteria, load_criteria
from rankgate.errors import RankgateError
from rankgate.renderers.dashboards.repository import releases, waiver_versions, web_address

ENTRY = "- {{gate: recall@5, up_to: 0.1, expires: {}, issue: 'https://example.org/1', reason: soon, by: ana}}\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    on(monkeypatch, "2026-01-05")
    Path("ship-criteria.yaml").write_text("gates: [{name: recall@5, threshold: 0.5}]\n", encoding="utf-8")
    return tmp_path


def on(monkeypatch: pytest.MonkeyPatch, day: str) -> None:
    """Git's clock."""
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, f"{day}T12:00:00+0000")


def waived(*expires: str) -> None:
    lines = "".join(ENTRY.format(day) for day in expires)
    Path("ship-waivers.yaml").write_text(f"waivers:\n{lines}" if lines else "waivers: []\n", encoding="utf-8")


def criteria() -> Criteria:
    return load_criteria("ship-criteria.yaml")


def versions() -> list[tuple[str | None, list[str]]]:
    return [(each.day, [waiver.expires for waiver in each.waivers]) for each in waiver_versions(criteria())]


def test_releases_are_tags_that_begin_with_v_and_a_digit_with_the_commit_that_they_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = commit()
    git("tag", "v1.0")
    git("tag", "vision")
    git("tag", "1.0")
    on(monkeypatch, "2026-02-07")
    second = commit()
    on(monkeypatch, "2026-02-09")
    git("tag", "--annotate", "--message", "out", "v1.1")
    found = [(tag.name, tag.commit, tag.date) for tag in releases()]
    assert found == [("v1.0", first, "2026-01-05"), ("v1.1", second, "2026-02-09")]


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/acme/search.git", "https://github.com/acme/search"),
        ("https://x-access-token:ghsecret@github.com/acme/search", "https://github.com/acme/search"),
        ("git@github.com:acme/search.git", "https://github.com/acme/search"),
        ("ssh://git@github.com/acme/se.arch.git", "https://github.com/acme/se.arch"),
        ("https://gitlab.com/acme/search.git", None),
        ("https://github.com.evil.example/acme/search", None),
        ("https://evil.example/github.com/acme/search", None),
        ("/srv/git/search.git", None),
    ],
)
def test_the_address_is_that_of_origin_where_that_is_github(remote: str, address: str | None) -> None:
    git("remote", "add", "origin", remote)
    assert web_address() == address


def test_each_commit_says_what_was_waived_and_the_working_tree_what_is(monkeypatch: pytest.MonkeyPatch) -> None:
    commit()
    on(monkeypatch, "2026-01-10")
    waived("2026-03-01")
    commit()
    on(monkeypatch, "2026-01-12")
    commit()  # of something else
    on(monkeypatch, "2026-01-20")
    waived()
    commit()
    waived("2026-04-01")
    assert versions() == [("2026-01-10", ["2026-03-01"]), ("2026-01-20", []), (None, ["2026-04-01"])]


def test_a_file_that_was_deleted_waived_nothing_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    waived("2026-03-01")
    commit()
    on(monkeypatch, "2026-01-20")
    Path("ship-waivers.yaml").unlink()
    commit()
    assert versions() == [("2026-01-05", ["2026-03-01"]), ("2026-01-20", []), (None, [])]


def test_a_version_that_nobody_could_read_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    waived("2026-03-01")
    commit()
    on(monkeypatch, "2026-01-20")
    Path("ship-waivers.yaml").write_text("waivers: {", encoding="utf-8")
    commit()
    waived("2026-03-01")
    assert versions() == [("2026-01-05", ["2026-03-01"]), (None, ["2026-03-01"])]


def test_a_malformed_file_of_today_is_an_error() -> None:
    Path("ship-waivers.yaml").write_text("waivers: {", encoding="utf-8")
    with pytest.raises(RankgateError, match=r"ship-waivers\.yaml"):
        versions()


def test_in_a_shallow_clone_nobody_knows_since_when_the_first_version_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waived("2026-03-01")
    commit()
    on(monkeypatch, "2026-01-20")
    commit()
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth=1", tmp_path.as_uri(), str(clone))
    monkeypatch.chdir(clone)
    assert versions() == [(None, ["2026-03-01"]), (None, ["2026-03-01"])]


def test_outside_of_a_repository_there_is_nothing_but_the_file(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("no-repository"))
    Path("ship-criteria.yaml").write_text("gates: [{name: recall@5, threshold: 0.5}]\n", encoding="utf-8")
    waived("2026-03-01")
    assert (releases(), web_address(), versions()) == ([], None, [(None, ["2026-03-01"])])
