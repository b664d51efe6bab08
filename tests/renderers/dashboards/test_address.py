"""Where a real repository says that its commits can be seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.repositories import git

from rankgate.renderers.dashboards.build import web_address


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
def test_the_address_is_that_of_origin_where_that_is_github(
    remote: str, address: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert web_address() is None
    git("init", "-q", "-b", "main")
    git("remote", "add", "origin", remote)
    assert web_address() == address
