"""Where the token goes, and where it never shows: environment, redirects, links, certificates, messages."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme
from tests.forges.scripted import TOKEN, Play, StandingClock, client_of, everything, playing, refuse, reply, reset

from rankgate.errors import RankgateError
from rankgate.forges.client import Client, ForgeError, LostResponseError

BEARER = f"Bearer {TOKEN}"


# What the environment says


def test_a_netrc_does_not_replace_the_token(
    clock: StandingClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login mallory password hunter2\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(tmp_path))
    with (
        playing(reply(200, b"zip")) as store,
        playing(reply(200, {}), reply(302, Location=f"{store.url}/zip")) as server,
    ):
        client = client_of(server.url, clock)
        client.get("/a")
        client.download("/zip", 10)
    assert [asked.headers.get("authorization") for asked in server.asked + store.asked] == [BEARER, BEARER, None]


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_a_proxy_of_the_environment_is_used(clock: StandingClock, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with playing(reply(200, {})) as proxy:
        monkeypatch.setenv(name, proxy.url)
        client_of("http://127.0.0.1:9", clock).get("/a")
    assert [asked.path for asked in proxy.asked] == ["http://127.0.0.1:9/a"]


@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
def test_a_host_may_be_asked_without_the_proxy(
    clock: StandingClock, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with playing() as proxy, playing(reply(200, {})) as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv(name, "example.org,127.0.0.1")
        client_of(server.url, clock).get("/a")
    assert len(server.asked) == 1


def test_the_proxy_of_an_https_api_never_sees_the_token_and_its_password_is_not_shown(
    clock: StandingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with playing(*[reply(407)] * 4) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url.replace("//", "//user:hunter2@"))
        client = client_of("https://api.example", clock, write_gap=0)
        with pytest.raises(ForgeError) as refused:
            client.send("POST", "/a", {})
    assert [str(asked) for asked in proxy.asked] == ["CONNECT api.example:443"] * 4
    assert all("authorization" not in asked.headers for asked in proxy.asked)
    assert str(refused.value) == (
        "GitHub gave no usable answer to POST /a: the proxy did not connect (3 retries did not help)"
    )
    assert "hunter2" not in everything(refused.value)


@pytest.mark.parametrize("proxy", ["http://:hunter2@", "http://:hunter2@[", "socks5://:hunter2@proxy", "http://a:b:c"])
def test_a_proxy_that_cannot_be_used_is_one_clear_error(
    clock: StandingClock, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(ForgeError) as refused:
        client_of("https://api.example", clock).get("/a")
    assert str(refused.value) == "GitHub gave no usable answer to GET /a: its address or the proxy's cannot be used"
    assert "hunter2" not in everything(refused.value)
    assert clock.slept == []


# Certificates


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return context


@pytest.fixture
def bundle(authority: trustme.CA, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return path


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_a_ca_bundle_of_the_environment_is_trusted(
    clock: StandingClock, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext, bundle: Path, name: str
) -> None:
    monkeypatch.setenv(name, str(bundle))
    with playing(reply(200, b"zip"), tls=tls) as store:
        location = f"https://localhost:{store.server_port}/zip"
        with playing(reply(200, {"id": 7}), reply(302, Location=location), tls=tls) as server:
            client = client_of(f"https://localhost:{server.server_port}", clock)
            assert client.get("/a") == {"id": 7}
            assert client.download("/zip", 10) == b"zip"


@pytest.mark.parametrize("trusts", [False, True], ids=["a CA that nobody trusts", "a certificate of another name"])
def test_no_token_goes_to_a_server_whose_certificate_is_not_trusted(
    clock: StandingClock,
    monkeypatch: pytest.MonkeyPatch,
    tls: ssl.SSLContext,
    bundle: Path,
    trusts: bool,  # noqa: FBT001
) -> None:
    host = "localhost"
    if trusts:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
        host = "127.0.0.1"
    with playing(tls=tls) as server, pytest.raises(ForgeError) as refused:
        client_of(f"https://{host}:{server.server_port}", clock).send("POST", "/a", {})
    assert str(refused.value) == "GitHub gave no usable answer to POST /a: its certificate is not trusted"
    assert type(refused.value) is ForgeError
    assert (server.asked, clock.slept) == ([], [])


@pytest.mark.parametrize(
    "switch",
    [
        pytest.param(
            {"REQUESTS_CA_BUNDLE": "", "CURL_CA_BUNDLE": "", "SSL_CERT_FILE": ""}, id="bundles that are nothing"
        ),
        pytest.param({"PYTHONHTTPSVERIFY": "0"}, id="Python's own"),
        pytest.param({"GIT_SSL_NO_VERIFY": "1", "NODE_TLS_REJECT_UNAUTHORIZED": "0"}, id="of other tools"),
    ],
)
def test_nothing_in_the_environment_turns_the_look_at_certificates_off(
    clock: StandingClock, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext, switch: dict[str, str]
) -> None:
    for name, value in switch.items():
        monkeypatch.setenv(name, value)
    with playing(tls=tls) as server, pytest.raises(ForgeError, match="its certificate is not trusted"):
        client_of(f"https://localhost:{server.server_port}", clock).send("POST", "/a", {})
    assert server.asked == []


def test_a_ca_bundle_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(RankgateError) as refused:
        Client("https://api.github.com", TOKEN)
    assert str(refused.value) == "SSL_CERT_FILE: the CA certificates that it names are not there"


# Redirects and links


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_renamed_repository_is_found_on_the_same_origin(clock: StandingClock, status: int) -> None:
    with playing(reply(status, {}, Location="/repositories/1/pulls?page=1"), reply(200, [1])) as server:
        assert client_of(server.url, clock).get("/repos/o/old/pulls") == [1]
    assert [asked.path for asked in server.asked] == ["/repos/o/old/pulls", "/repositories/1/pulls?page=1"]
    assert server.asked[1].headers["authorization"] == BEARER


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_a_redirect_to_another_origin_is_not_followed(clock: StandingClock, status: int, method: str) -> None:
    with playing() as other, playing(reply(status, b"", Location=f"{other.url}/a")) as server:
        client = client_of(server.url, clock)
        with pytest.raises(ForgeError) as refused:
            client.get("/a") if method == "GET" else client.send(method, "/a")
    assert str(refused.value) == f"GitHub sent {method} /a to another place; it was not followed"
    assert refused.value.status == status


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_write_is_not_sent_on(clock: StandingClock, method: str) -> None:
    with playing(reply(307, {}, Location="/b")) as server, pytest.raises(ForgeError, match="it was not followed"):
        client_of(server.url, clock).send(method, "/a", {})


def test_a_circle_of_redirects_ends(clock: StandingClock) -> None:
    with playing(*[reply(301, Location="/a")] * 4) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).get("/a")
    assert str(refused.value) == "GitHub sent GET /a from one place to the next 4 times"


def test_a_next_page_on_another_origin_is_not_asked_for(clock: StandingClock) -> None:
    with playing() as other, playing(reply(200, [1], Link=f'<{other.url}/a?page=2>; rel="next"')) as server:
        pages = client_of(server.url, clock).pages("/a")
        assert next(pages) == 1
        with pytest.raises(ForgeError) as refused:
            next(pages)
    assert str(refused.value) == "the next page of GET /a is said to lie outside of the API; not followed"


# Messages

ECHO = f"token {TOKEN} is not enough"


@pytest.mark.parametrize(
    "plays",
    [
        pytest.param([refuse(403, ECHO)], id="in a refusal"),
        pytest.param([reply(422, {"message": "no", "errors": [{"message": ECHO}, ECHO]})], id="in its details"),
        pytest.param([refuse(403, "a" * 185 + TOKEN)], id="where long words are cut"),
        pytest.param([refuse(429, ECHO, Retry_After="5"), refuse(403, ECHO)], id="in what is told of a wait"),
        pytest.param([refuse(429, ECHO, Retry_After="999")], id="in a wait that is too long"),
        pytest.param([refuse(502, ECHO)] * 4, id="in trouble"),
        pytest.param([reply(200, ECHO.encode())] * 2, id="in an answer that is not JSON"),
        pytest.param([reply(200, f'{{"{TOKEN}": 1, "{TOKEN}": 2}}'.encode())] * 2, id="in JSON that is not strict"),
        pytest.param([reply(301, Location=f"https://evil.example/{TOKEN}")], id="in a redirect"),
        pytest.param([reply(200, [], Link=f'<https://evil.example/{TOKEN}>; rel="next"')], id="in a link"),
        pytest.param([reset] * 4, id="in a connection that breaks"),
    ],
)
def test_a_token_that_the_server_repeats_is_not_shown(clock: StandingClock, plays: list[Play]) -> None:
    told: list[str] = []
    with playing(*plays) as server, pytest.raises(ForgeError) as refused:
        list(client_of(server.url, clock, tell=told.append).pages("/a"))
    shown = everything(refused.value) + "\n".join(told)
    assert TOKEN[:8] not in shown


def test_a_lost_post_does_not_show_the_token(clock: StandingClock) -> None:
    with playing(reset) as server, pytest.raises(LostResponseError) as lost:
        client_of(server.url, clock).send("POST", "/a", {"body": ECHO})
    assert TOKEN not in everything(lost.value)


def test_a_dry_run_does_not_show_the_token() -> None:
    told: list[str] = []
    client = Client("https://api.github.com", TOKEN, dry_run=True, tell=told.append)
    client.send("POST", "/a", {"body": ECHO})
    assert told == ['POST /a {"body": "token *** is not enough"}']
    assert TOKEN not in repr(client) + str(client)
