"""What is read from a job's environment: the token, and where the API is."""

from __future__ import annotations

import pytest

from rankgate.files.environment import api_url, token_in


@pytest.mark.parametrize(
    ("environment", "token"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"GITHUB_TOKEN": ""}, None, id="an empty one is none"),
        pytest.param({"GH_TOKEN": "c", "GITHUB_TOKEN": "b", "RANKGATE_TOKEN": "a"}, "a", id="ours first"),
        pytest.param({"GH_TOKEN": "c", "GITHUB_TOKEN": "b", "RANKGATE_TOKEN": ""}, "b", id="then the job's"),
        pytest.param({"GH_TOKEN": "c", "TOKEN": "d"}, "c", id="then its other name, and no other"),
    ],
)
def test_the_token(environment: dict[str, str], token: str | None) -> None:
    assert token_in(environment) == token


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        pytest.param({}, "https://api.github.com", id="GitHub itself"),
        pytest.param({"GITHUB_API_URL": ""}, "https://api.github.com", id="set to nothing"),
        pytest.param({"GITHUB_API_URL": "https://acme.example/api/v3"}, "https://acme.example/api/v3", id="GHES"),
    ],
)
def test_where_the_api_is(environment: dict[str, str], url: str) -> None:
    assert api_url(environment) == url
