"""Limits, trouble and lost answers: when the client waits, for how long, and what it never sends twice."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forges.scripted import TOKEN, Play, StandingClock, client_of, playing, refuse, reply, reset

from rankgate.forges.client import Client, ForgeError, LostResponseError

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
COMMENTS = "/repos/o/r/issues/1/comments"
COMMENT = "/repos/o/r/issues/comments/7"


# Rate limits


def test_403_primary_waits_until_the_limit_is_reset(clock: StandingClock) -> None:
    limits = {"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": str(int(clock.now()) + 40)}
    with playing(refuse(403, "API rate limit exceeded for installation.", **limits), reply(200, {})) as server:
        client_of(server.url, clock).get("/a")
    assert clock.slept == [41]


def test_403_secondary_waits_a_minute_and_then_two_even_for_a_post(clock: StandingClock) -> None:
    told: list[str] = []
    with playing(refuse(403, SECONDARY), refuse(403, SECONDARY), reply(201, {"id": 1})) as server:
        assert client_of(server.url, clock, tell=told.append).send("POST", COMMENTS, {}) == {"id": 1}
    assert clock.slept == [60, 120]
    assert told == [
        f"GitHub refused POST {COMMENTS}: 403 {SECONDARY}; trying again in {seconds} s (a secondary rate limit)"
        for seconds in (60, 120)
    ]


def test_429_waits_as_long_as_it_asks(clock: StandingClock) -> None:
    with playing(refuse(429, "", Retry_After="5"), reply(200, {})) as server:
        client_of(server.url, clock).get("/a")
    assert clock.slept == [5]


def test_too_long_a_wait_is_refused_before_it_begins(clock: StandingClock) -> None:
    with playing(refuse(429, "Slow down", Retry_After="301")) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).get("/a")
    assert clock.slept == []
    assert refused.value.status == 429
    assert str(refused.value) == (
        "GitHub refused GET /a: 429 Slow down; waiting 301 s more (the server asks to wait) would exceed 300 s in all"
    )


def test_the_limit_of_all_waits_is_that_of_the_client_not_of_a_request(clock: StandingClock) -> None:
    limited = refuse(429, "", Retry_After="100")
    with playing(limited, reply(200, {}), limited, reply(200, {}), limited, limited) as server:
        client = client_of(server.url, clock)
        client.get("/a")
        client.get("/b")
        with pytest.raises(ForgeError, match="would exceed 300 s in all"):
            client.get("/c")
    assert clock.slept == [100, 100, 100]


# Trouble


def test_502_is_tried_three_times_more(clock: StandingClock) -> None:
    with playing(*[reply(502, b"<html>")] * 4) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).get("/a")
    assert clock.slept == [2, 4, 8]
    assert refused.value.status == 502
    assert str(refused.value) == "GitHub failed at GET /a: 502 Bad Gateway (3 retries did not help)"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(reset, id="reset before the response"),
        pytest.param(reply(502), id="502"),
        pytest.param(reply(200, b'{"a"', Content_Length="90"), id="the answer breaks off"),
        pytest.param(reply(200, b"", Content_Length="9"), id="the answer has no body"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_what_is_the_same_twice_is_sent_again_after(clock: StandingClock, fault: Play, method: str) -> None:
    with playing(fault, reply(200, {"id": 7})) as server:
        client = client_of(server.url, clock, write_gap=0)
        assert (client.get("/a") if method == "GET" else client.send(method, "/a", {"b": 1})) == {"id": 7}
    assert [asked.method for asked in server.asked] == [method, method]
    assert server.asked[0].body == server.asked[1].body
    assert clock.slept == [2]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        pytest.param(reset, "GitHub gave no usable answer to POST /a: the connection broke", id="response lost"),
        pytest.param(
            reply(201, b"{", Content_Length="90"),
            "GitHub gave no usable answer to POST /a: the connection broke",
            id="the answer breaks off",
        ),
        pytest.param(reply(502), "GitHub failed at POST /a: 502 Bad Gateway", id="502"),
    ],
)
def test_a_post_whose_response_was_lost_is_not_sent_again(clock: StandingClock, fault: Play, sentence: str) -> None:
    with playing(fault) as server, pytest.raises(LostResponseError) as lost:
        client_of(server.url, clock).send("POST", "/a", {})
    assert str(lost.value) == f"{sentence}; it may have been done all the same"
    assert len(server.asked) == 1
    assert clock.slept == []


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, and which nobody else can take."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_post_that_reached_nobody_is_sent_again(clock: StandingClock, closed_port: int) -> None:
    with pytest.raises(ForgeError) as refused:
        client_of(f"http://127.0.0.1:{closed_port}", clock, write_gap=0).send("POST", "/a", {})
    assert clock.slept == [2, 4, 8]
    assert type(refused.value) is ForgeError
    assert refused.value.status is None
    assert str(refused.value) == (
        "GitHub gave no usable answer to POST /a: no connection could be made (3 retries did not help)"
    )


def test_a_post_that_reached_nobody_arrives_once_the_way_is_free(
    clock: StandingClock, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port}")
    clock.on_sleep = lambda: monkeypatch.delenv("http_proxy", raising=False)
    with playing(reply(201, {"id": 7})) as server:
        assert client_of(server.url, clock, write_gap=0).send("POST", "/a", {}) == {"id": 7}
    assert clock.slept == [2]


@pytest.mark.parametrize("earlier", [[], [reset]], ids=["at once", "when tried again"])
def test_a_delete_that_finds_nothing_is_done(clock: StandingClock, earlier: list[Play]) -> None:
    with playing(*earlier, refuse(404, "Not Found")) as server:
        assert client_of(server.url, clock, write_gap=0).send("DELETE", COMMENT) == {}
    assert len(server.asked) == len(earlier) + 1


def test_a_patch_that_finds_nothing_when_tried_again_is_refused(clock: StandingClock) -> None:
    with playing(reset, refuse(404, "Not Found")) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).send("PATCH", COMMENT, {})
    assert refused.value.status == 404


# Writes


def test_writes_are_at_least_a_second_apart_and_reads_are_not(clock: StandingClock) -> None:
    with playing(*[reply(200, {})] * 5) as server:
        client = client_of(server.url, clock)
        client.get("/a")
        client.send("POST", "/a", {})
        client.get("/a")
        clock.seconds += 0.25
        client.send("PATCH", "/a", {})
        clock.seconds += 1
        client.send("DELETE", "/a")
    assert clock.slept == [0.75]


def test_the_gap_between_writes_is_no_wait_for_a_limit(clock: StandingClock) -> None:
    with playing(*[reply(200, {})] * 3) as server:
        client = client_of(server.url, clock, max_wait=0)
        for _ in range(3):
            client.send("POST", "/a", {})
    assert clock.slept == [1, 1]


# Together

MAY_HAVE_ARRIVED: dict[str, Play] = {"500": reply(500), "502": reply(502), "reset": reset}
LIMITS: dict[str, Play] = {
    "secondary": refuse(403, SECONDARY),
    "429": reply(429),
    "asked": reply(429, Retry_After="20"),
    "absurd": reply(403, Retry_After="-99999999999999999999"),
}
FINAL: dict[str, Play] = {"201": reply(201, {}), "404": reply(404), "403": refuse(403, "no")}
PLAYS = MAY_HAVE_ARRIVED | LIMITS | FINAL


@pytest.mark.full
@settings(max_examples=60)
@given(
    method=st.sampled_from(["POST", "PATCH", "DELETE", "GET"]),
    names=st.lists(st.sampled_from(sorted(PLAYS)), min_size=30, max_size=30),
    max_wait=st.integers(0, 1_000),
)
def test_in_any_weather_waits_stay_within_the_limit_and_a_post_is_done_once(
    method: str, names: list[str], max_wait: int
) -> None:
    clock = StandingClock()
    with playing() as server:
        server.plays = [PLAYS[name] for name in names]
        client = Client(server.url, TOKEN, clock=clock, max_wait=max_wait, write_gap=0)
        with suppress(ForgeError):
            client.get("/a") if method == "GET" else client.send(method, "/a", {})
        played = names[: len(server.asked)]
        server.plays = []
    assert sum(clock.slept) <= max_wait
    assert all(slept > 0 for slept in clock.slept)
    assert all(name in LIMITS for name in played[:-1] if method == "POST")
