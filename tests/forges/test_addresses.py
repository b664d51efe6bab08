"""Where the API lies, and which of the addresses that a server names the token may go to."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row
from urllib3.util import parse_url

from rankgate.errors import RankgateError
from rankgate.forges.http import Base, base_of

GITHUB = base_of("https://api.github.com")
ENTERPRISE = base_of("https://ghe.example/api/v3/")
LOCAL = base_of("http://127.0.0.1:4101")


@pytest.mark.parametrize(
    ("api_url", "base"),
    [
        pytest.param("https://api.github.com", Base("https://api.github.com", ""), id="github.com"),
        pytest.param("https://api.github.com/", Base("https://api.github.com", ""), id="slash at the end"),
        pytest.param("https://API.github.com", Base("https://api.github.com", ""), id="capitals"),
        pytest.param("https://ghe.example/api/v3", Base("https://ghe.example", "/api/v3"), id="Enterprise"),
        pytest.param("https://ghe.example:8443/api/v3/", Base("https://ghe.example:8443", "/api/v3"), id="a port"),
        pytest.param("http://127.0.0.1:4101", Base("http://127.0.0.1:4101", ""), id="loopback"),
        pytest.param("http://127.9.9.9", Base("http://127.9.9.9", ""), id="all of 127.0.0.0/8 is loopback"),
        pytest.param("http://localhost:80", Base("http://localhost:80", ""), id="loopback by name"),
        pytest.param("http://[::1]:4101", Base("http://[::1]:4101", ""), id="loopback, IPv6"),
    ],
)
def test_the_api_lies_at_an_address_with_or_without_a_path(api_url: str, base: Base) -> None:
    assert base_of(api_url) == base


@each_row(
    "api_url",
    [
        pytest.param("", id="nothing"),
        pytest.param("api.github.com", id="no scheme"),
        pytest.param("ftp://api.github.com", id="another scheme"),
        pytest.param("https://", id="no host"),
        pytest.param("https://user:hunter2@api.github.com", id="a password"),
        pytest.param("https://api.github.com?a=1", id="a query"),
        pytest.param("https://api.github.com#a", id="a fragment"),
        pytest.param("https://api.github.com:https", id="a port that is no number"),
        pytest.param("https://api.github.com:0", id="no port"),
        pytest.param("https://[::1", id="half of an address"),
        pytest.param("https://api.github.com\n", id="a line break"),
        pytest.param("https://api.github.com\\@evil.example", id="a backslash"),
        pytest.param("https://api.gïthub.com", id="not ASCII"),
    ],
)
def test_what_is_no_address_of_an_api_is_refused(api_url: str) -> None:
    with pytest.raises(RankgateError) as refused:
        base_of(api_url)
    assert str(refused.value) == "api url: is no address of an API, as https://api.github.com or https://HOST/api/v3"


@pytest.mark.parametrize("host", ["api.github.com", "ghe.example:8080", "localhost.example", "10.0.0.1", "128.0.0.1"])
def test_http_would_show_the_token_on_the_way(host: str) -> None:
    with pytest.raises(RankgateError) as refused:
        base_of(f"http://{host}/api/v3")
    name = host.partition(":")[0]
    assert str(refused.value) == f"api url: is http, which would show the token to everyone on the way to {name}"


def test_a_path_is_put_below_the_api_and_params_are_quoted() -> None:
    assert ENTERPRISE.url("/repos/o/r", {"q": "a b&c", "page": 2}) == (
        "https://ghe.example/api/v3/repos/o/r?q=a+b%26c&page=2"
    )
    assert GITHUB.url("/repos/o/r.x/issues/1/labels/a%20b%2Fc", {}) == (
        "https://api.github.com/repos/o/r.x/issues/1/labels/a%20b%2Fc"
    )


@each_row(
    "path",
    [
        *(
            "",
            "repos/o/r",
            "//evil.example/x",
            "/repos//r",
            "/repos/o/r/",
            "/repos/../user",
            "/repos/.",
            "/repos/%2e%2E",
        ),
        *(
            "/repos/.%2e/user",
            "/a?b",
            "/a#b",
            "/a b",
            "/a\nb",
            "/a\\b",
            "/ä",
            "/a%",
            "/a%zz",
            "@evil.example/x",
            "/a\n",
        ),
    ],
)
def test_what_is_no_plain_path_is_not_asked_for(path: str) -> None:
    assert GITHUB.url(path, {}) is None


@pytest.mark.parametrize(
    ("address", "url"),
    [
        pytest.param("https://api.github.com/repositories/1?page=2", None, id="as the server writes it"),
        pytest.param("/repositories/1", "https://api.github.com/repositories/1", id="without a host"),
        pytest.param("?page=3", "https://api.github.com/repos/o/r?page=3", id="a query alone"),
        pytest.param("https:///a", "https://api.github.com/a", id="a scheme alone"),
        pytest.param("https://api.github.com/a#b", "https://api.github.com/a", id="a fragment stays here"),
    ],
)
def test_an_address_of_the_api_is_its_own(address: str, url: str | None) -> None:
    assert GITHUB.within(address, seen_at="https://api.github.com/repos/o/r") == (url or address)


@each_row(
    "address",
    [
        *("https://evil.example/a", "//evil.example/a", "http://api.github.com/a", "https://api.github.com:8443/a"),
        *("https://api.github.com.evil.example/a", "https://api.github.com@evil.example/a", "javascript:alert(1)", ""),
        *("https://user@api.github.com/a", "https://evil.example\\@api.github.com/a", "https://api.github.com/a\nb"),
        *("https://api.github.com:x/", "https://[/", "file:///etc/passwd", "\\\\evil.example\\a"),
    ],
)
def test_an_address_of_anyone_else_is_not(address: str) -> None:
    assert GITHUB.within(address, seen_at="https://api.github.com/repos/o/r") is None


@given(
    st.text(alphabet="htps:/\\@.#?[]%&abevilgu0123456789 \t\n-_", max_size=40)
    | st.tuples(
        st.sampled_from(["https://evil.example", "https:", "//", "https://api.github.com", "\\\\", "https://a:b"]),
        st.text(alphabet="\\@:/.#?\t\n ;,%40", max_size=6),
        st.sampled_from(["api.github.com/a", "evil.example", "@api.github.com", "", ":443/a"]),
    ).map("".join)
)
def test_no_writing_of_an_address_takes_the_token_elsewhere(address: str) -> None:
    """Judged by two readers of addresses: the one that decides and the one that connects."""
    url = GITHUB.within(address, seen_at="https://api.github.com/repos/o/r")
    if url is not None:
        parsed = parse_url(url)
        assert (parsed.scheme, parsed.auth, parsed.host, parsed.port) == ("https", None, "api.github.com", None)
        assert urlsplit(url).netloc == "api.github.com"


@pytest.mark.parametrize(
    ("base", "address", "follows"),
    [
        pytest.param(GITHUB, "https://blob.example/zip?sig=1", True, id="https"),
        pytest.param(GITHUB, "http://blob.example/zip", False, id="http"),
        pytest.param(GITHUB, "http://127.0.0.1/zip", False, id="http to this machine from elsewhere"),
        pytest.param(GITHUB, "https://user:password@blob.example/zip", False, id="with a password"),
        pytest.param(GITHUB, "file:///etc/passwd", False, id="a file"),
        pytest.param(GITHUB, "https://blob.example/a\\b", False, id="a backslash"),
        pytest.param(GITHUB, "", False, id="nothing"),
        pytest.param(LOCAL, "http://127.0.0.1:9/zip", True, id="http where the API itself is http"),
        pytest.param(LOCAL, "https://blob.example/zip", True, id="https where the API itself is http"),
    ],
)
def test_a_file_is_fetched_as_safely_as_the_api_is_asked(base: Base, address: str, follows: bool) -> None:  # noqa: FBT001
    assert base.elsewhere(address, seen_at=base.origin) == (address if follows else None)
