"""Downloads: fetched from where the API says, without the token, within a limit; the signed address stays here."""

from __future__ import annotations

import pytest
from tests.forges.scripted import (
    TOKEN,
    Play,
    Script,
    StandingClock,
    client_of,
    everything,
    playing,
    refuse,
    reply,
    reset,
)

from rankgate.forges.client import ForgeError

BEARER = f"Bearer {TOKEN}"


def signed(store: Script) -> str:
    """An address that opens a file to everyone who knows it."""
    return f"{store.url}/zip?sig=SECRET"


def test_a_download_leaves_the_token_behind(clock: StandingClock) -> None:
    with playing(reply(200, b"PK")) as store, playing(reply(302, b"", Location=signed(store))) as server:
        assert client_of(server.url, clock).download("/repos/o/r/actions/artifacts/1/zip", 2) == b"PK"
    [asked], [fetched] = server.asked, store.asked
    assert asked.headers["authorization"] == BEARER
    assert fetched.path == "/zip?sig=SECRET"
    assert not [name for name, value in fetched.headers.items() if TOKEN in value]
    assert fetched.headers.keys() == {"host", "user-agent", "accept-encoding"}


def test_a_file_on_the_api_s_own_host_is_fetched_without_the_token_too(clock: StandingClock) -> None:
    with playing(reply(302, b"", Location="/storage/1"), reply(200, b"PK")) as server:
        assert client_of(server.url, clock).download("/zip", 2) == b"PK"
    assert [asked.headers.get("authorization") for asked in server.asked] == [BEARER, None]


def test_a_renamed_repository_s_file_is_asked_for_with_the_token(clock: StandingClock) -> None:
    with (
        playing(reply(200, b"PK")) as store,
        playing(
            reply(301, b"", Location="/repositories/1/zip"), reply(302, b"", Location=f"{store.url}/zip")
        ) as server,
    ):
        assert client_of(server.url, clock).download("/repos/o/old/zip", 2) == b"PK"
    assert [asked.headers.get("authorization") for asked in server.asked + store.asked] == [BEARER, BEARER, None]


def test_a_redirect_of_a_rename_to_another_origin_leaves_the_token_behind(clock: StandingClock) -> None:
    with playing(reply(200, b"PK")) as store, playing(reply(307, b"", Location=f"{store.url}/zip")) as server:
        assert client_of(server.url, clock).download("/zip", 2) == b"PK"
    assert "authorization" not in store.asked[0].headers


def test_a_file_that_the_api_itself_hands_out_is_taken(clock: StandingClock) -> None:
    with playing(reply(200, b"PK")) as server:
        assert client_of(server.url, clock).download("/zip", 2) == b"PK"


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(reply(200, b"a" * 11), id="by what it says"),
        pytest.param(reply(200, b"a" * 100_000, Content_Length="9" * 30), id="by what it says, absurdly"),
        pytest.param(
            reply(200, b"a" * 100_000, Transfer_Encoding="identity", Content_Length="-1"), id="saying nothing"
        ),
    ],
)
@pytest.mark.parametrize("at", ["api", "store"])
def test_a_file_that_is_too_large_is_refused(clock: StandingClock, play: Play, at: str) -> None:
    with playing(*[play] * (at == "store")) as store:
        first = play if at == "api" else reply(302, b"", Location=signed(store))
        with playing(first) as server, pytest.raises(ForgeError) as refused:
            client_of(server.url, clock).download("/zip", 10)
    whom = "GitHub" if at == "api" else "GitHub's file store"
    assert str(refused.value) == f"{whom} gave no usable answer to GET /zip: it is larger than 10 bytes"
    assert clock.slept == []


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("ftp://blob.example/zip?sig=SECRET", id="another scheme"),
        pytest.param("file:///etc/passwd", id="a file"),
        pytest.param("https://user:SECRET@blob.example/zip", id="a password"),
        pytest.param("https://blob.example\\@127.0.0.1/zip?sig=SECRET", id="a backslash"),
        pytest.param("", id="nowhere"),
    ],
)
def test_a_file_that_lies_where_it_cannot_be_fetched_safely_is_not(clock: StandingClock, address: str) -> None:
    with playing(reply(302, b"", Location=address)) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).download("/zip", 10)
    assert str(refused.value) == "GitHub sent GET /zip to an address that is not safe; it was not followed"


@pytest.mark.parametrize(
    ("play", "sentence"),
    [
        pytest.param(
            reply(403, {"message": "signature SECRET is too old"}),
            "GitHub's file store refused GET /zip: 403 Forbidden",
            id="refused",
        ),
        pytest.param(
            reply(302, b"", Location="https://blob.example/SECRET"),
            "GitHub's file store answered GET /zip without a file: 302 Found",
            id="elsewhere again",
        ),
        pytest.param(
            reply(206, b"PK"), "GitHub's file store answered GET /zip without a file: 206 Partial Content", id="a part"
        ),
    ],
)
def test_what_the_file_store_refuses_is_said_without_the_signed_address(
    clock: StandingClock, play: Play, sentence: str
) -> None:
    with (
        playing(play) as store,
        playing(reply(302, b"", Location=signed(store))) as server,
        pytest.raises(ForgeError) as no,
    ):
        client_of(server.url, clock).download("/zip", 10)
    assert str(no.value) == sentence
    assert "SECRET" not in everything(no.value)


def test_a_file_store_that_cannot_be_reached_is_tried_again_and_its_signed_address_not_shown(
    clock: StandingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    with (
        playing(reset, reply(503), reset, reset) as store,
        playing(reply(302, b"", Location=signed(store))) as server,
        pytest.raises(ForgeError) as no,
    ):
        client_of(server.url, clock, tell=told.append).download("/zip", 10)
    assert clock.slept == [2, 4, 8]
    assert str(no.value) == (
        "GitHub's file store gave no usable answer to GET /zip: the connection broke (3 retries did not help)"
    )
    assert "SECRET" not in everything(no.value) + "".join(told)


def test_a_refusal_to_tell_where_a_file_lies_is_github_s_own(clock: StandingClock) -> None:
    with playing(refuse(410, "Artifact has expired")) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).download("/zip", 1)
    assert str(refused.value) == "GitHub refused GET /zip: 410 Artifact has expired"
