"""The client against a server that plays scripted answers: reading, writing, faults, and how long it waits."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest
from tests.forges.scripted import TOKEN, Play, StandingClock, client_of, playing, refuse, reply, trickle

from rankgate import __version__
from rankgate.errors import RankgateError
from rankgate.forges import client as subject
from rankgate.forges import http
from rankgate.forges.client import Client, ForgeError, LostResponseError
from rankgate.forges.http import Clock

COMMENTS = "/repos/o/r/issues/1/comments"
COMMENT = "/repos/o/r/issues/comments/7"


def test_a_get_asks_as_github_documents_it_and_decodes_the_answer(clock: StandingClock) -> None:
    with playing(reply(200, {"id": 7})) as server:
        assert client_of(server.url, clock).get("/repos/o/r", {"state": "open", "q": "a b"}) == {"id": 7}
    [asked] = server.asked
    assert str(asked) == "GET /repos/o/r?state=open&q=a+b"
    assert asked.headers == {
        "host": server.url.removeprefix("http://"),
        "authorization": f"Bearer {TOKEN}",
        "accept": "application/vnd.github+json",
        "accept-encoding": "identity",
        "user-agent": f"rankgate/{__version__}",
        "x-github-api-version": "2022-11-28",
    }


def test_a_write_sends_json_and_returns_the_answer(clock: StandingClock) -> None:
    with playing(reply(201, {"id": 7})) as server:
        assert client_of(server.url, clock).send("POST", COMMENTS, {"body": "é\n"}) == {"id": 7}
    [asked] = server.asked
    assert str(asked) == f"POST {COMMENTS}"
    assert asked.headers["content-type"] == "application/json"
    assert json.loads(asked.body) == {"body": "é\n"}


def test_a_delete_without_an_answer_returns_an_empty_object(clock: StandingClock) -> None:
    with playing(reply(204)) as server:
        assert client_of(server.url, clock).send("DELETE", COMMENT) == {}
    [asked] = server.asked
    assert (asked.body, "content-type" in asked.headers) == (b"", False)


@pytest.mark.parametrize("method", ["GET", "post", "HEAD"])
def test_only_three_methods_write(clock: StandingClock, method: str) -> None:
    with playing() as server, pytest.raises(ValueError, match="is none of POST, PATCH, DELETE"):
        client_of(server.url, clock).send(method, COMMENTS)


def test_the_api_of_an_enterprise_lies_below_a_path(clock: StandingClock) -> None:
    with playing(reply(200, {})) as server:
        client_of(f"{server.url}/api/v3/", clock).get("/repos/o/r")
    assert [str(each) for each in server.asked] == ["GET /api/v3/repos/o/r"]


def test_what_is_no_path_is_not_asked_for(clock: StandingClock) -> None:
    with playing() as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).get("/repos/../user")
    assert str(refused.value) == "GET '/repos/../user' is not sent: that is no path of the API"


def test_a_number_that_json_has_not_is_not_sent(clock: StandingClock) -> None:
    with playing() as server, pytest.raises(ValueError, match="JSON compliant"):
        client_of(server.url, clock).send("POST", "/a", {"a": float("nan")})


def test_the_machine_s_own_clock_is_the_usual_one() -> None:
    with playing(reply(200, {}), reply(200, {})) as server:
        client = Client(server.url, TOKEN, write_gap=0.05)
        began = Clock().monotonic()
        client.send("POST", "/a", {})
        client.send("POST", "/a", {})
    assert Clock().monotonic() - began >= 0.05
    assert abs(Clock().now() - time.time()) < 60


# Pages


def test_all_pages_are_read_by_their_links(clock: StandingClock) -> None:
    with playing() as server:
        link = f'<{server.url}/repositories/1/comments?page=%d>; rel="next", <{server.url}/x?page=3>; rel="last"'
        server.plays = [reply(200, [1, 2], Link=link % 2), reply(200, [3], Link=link % 3), reply(200, [])]
        assert list(client_of(server.url, clock).pages(COMMENTS, {"since": "2025"})) == [1, 2, 3]
    assert [str(each) for each in server.asked] == [
        f"GET {COMMENTS}?per_page=100&since=2025",
        "GET /repositories/1/comments?page=2",
        "GET /repositories/1/comments?page=3",
    ]
    assert all(asked.headers["authorization"] == f"Bearer {TOKEN}" for asked in server.asked)


def test_pages_may_have_their_list_under_a_key_and_another_length(clock: StandingClock) -> None:
    with playing(reply(200, {"total_count": 2, "check_runs": [1, 2]})) as server:
        found = client_of(server.url, clock).pages("/a", {"per_page": 2}, under="check_runs")
        assert list(found) == [1, 2]
    assert [str(each) for each in server.asked] == ["GET /a?per_page=2"]


@pytest.mark.parametrize(
    ("page", "under"),
    [
        pytest.param({"message": "moved"}, None, id="an object for a list"),
        pytest.param([1], "check_runs", id="a list for an object"),
        pytest.param({"check_runs": 1}, "check_runs", id="no list under the key"),
        pytest.param({}, "check_runs", id="nothing under the key"),
    ],
)
def test_a_page_without_a_list_is_an_error(clock: StandingClock, page: Any, under: str | None) -> None:
    with playing(reply(200, page), reply(200, page)) as server, pytest.raises(ForgeError) as refused:
        list(client_of(server.url, clock).pages("/a", under=under))
    assert str(refused.value) == "GET /a was answered without a list, as a proxy on the way may do"


def test_pages_without_end_are_an_error(clock: StandingClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MAX_PAGES", 3)
    with (
        playing(*[reply(200, [1], Link='</a?page=2>; rel="next"')] * 3) as server,
        pytest.raises(ForgeError) as refused,
    ):
        list(client_of(server.url, clock).pages("/a"))
    assert str(refused.value) == "GET /a has more than 3 pages"


# Refusals


@pytest.mark.parametrize(
    ("play", "sentence"),
    [
        pytest.param(
            refuse(403, "Resource not accessible by integration"),
            "403 Resource not accessible by integration",
            id="no permission",
        ),
        pytest.param(refuse(401, "Bad credentials"), "401 Bad credentials", id="a bad token"),
        pytest.param(refuse(400, "Bad"), "400 Bad", id="the lowest status of a refusal"),
        pytest.param(reply(404, [1]), "404 Not Found", id="a list"),
        pytest.param(reply(404), "404 Not Found", id="no words"),
        pytest.param(reply(499), "499", id="a status without a meaning"),
        pytest.param(reply(404, {"message": 5}), "404 Not Found", id="a message of another type"),
        pytest.param(reply(403, b"<html><body>Blocked by <b>Gateway</b>"), "403 Forbidden", id="the page of a proxy"),
        pytest.param(
            reply(
                422, {"message": "Validation Failed", "errors": [{"message": "body is too long"}, "b", {"code": "c"}]}
            ),
            "422 Validation Failed: body is too long; b; c",
            id="with details",
        ),
        pytest.param(
            reply(422, {"message": "Validation Failed", "errors": [{"field": "head_sha", "code": "invalid"}, 5]}),
            "422 Validation Failed: head_sha invalid",
            id="with a field and a code",
        ),
        pytest.param(
            refuse(404, "a\nb\x1b[31m \u202ec"),
            "404 a b\\u001b[31m \\u202ec",
            id="control and bidi characters are made visible",
        ),
        pytest.param(refuse(404, "é" * 1_000), f"404 {'é' * 199}…", id="long words are cut"),
    ],
)
def test_a_refusal_is_one_sentence(clock: StandingClock, play: Play, sentence: str) -> None:
    with playing(play) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).get("/a")
    assert str(refused.value) == f"GitHub refused GET /a: {sentence}"
    assert refused.value.status == int(sentence[:3])
    assert clock.slept == []


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<!DOCTYPE html><title>Sign in</title>", id="the page of a proxy"),
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"a": NaN}', id="NaN"),
        pytest.param(b'{"a": 1e999}', id="infinite"),
        pytest.param(DEEP, id="deep nesting"),
        pytest.param(b"1" * 5_000, id="5,000 digits"),
        pytest.param(b'"\\ud800"', id="half of a surrogate pair"),
        pytest.param(b'{"a": 1, "a": 2}', id="a key twice"),
        pytest.param(b'"\xff"', id="not UTF-8"),
    ],
)
def test_an_answer_that_is_not_strict_json_is_one_clear_error(clock: StandingClock, body: bytes) -> None:
    with playing(reply(200, body), reply(200, body)) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).get("/a")
    assert (
        str(refused.value) == "GET /a was answered with something else than strict JSON, as a proxy on the way may do"
    )
    assert refused.value.status is None


PAGE = b"<!DOCTYPE html><title>Sign in</title>"
GARBAGE = [
    pytest.param(PAGE, id="the page of a proxy"),
    pytest.param(b'{"id": 1', id="half of it"),
    pytest.param(b"", id="nothing"),
    pytest.param(b"\x1f\x8b\x00", id="bytes"),
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_read_that_a_proxy_answered_is_tried_once_more(clock: StandingClock, garbage: bytes) -> None:
    with playing(reply(200, garbage), reply(200, {"a": 1}), reply(200, garbage), reply(200, [1])) as server:
        client = client_of(server.url, clock)
        assert client.get("/a") == {"a": 1}
        assert list(client.pages("/b")) == [1]
    assert [str(each) for each in server.asked] == ["GET /a"] * 2 + ["GET /b?per_page=100"] * 2
    assert clock.slept == [2, 2]


def test_a_later_page_is_tried_once_more_and_no_item_comes_twice(clock: StandingClock) -> None:
    with playing() as server:
        more = {"Link": f'<{server.url}/a?page=2>; rel="next"'}
        server.plays.extend([reply(200, [1], **more), reply(200, PAGE), reply(200, [2])])
        assert list(client_of(server.url, clock).pages("/a")) == [1, 2]


def test_a_file_for_which_a_page_came_is_fetched_once_more(clock: StandingClock) -> None:
    page = reply(200, PAGE, Content_Type="text/html; charset=utf-8")
    with playing(page, reply(200, b"PK", Content_Type="application/zip"), page, page) as server:
        client = client_of(server.url, clock)
        assert client.download("/a", 100) == b"PK"
        with pytest.raises(ForgeError, match="GET /a was answered with a page"):
            client.download("/a", 100)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("garbage", [*GARBAGE, pytest.param(b"[]", id="a list")])
def test_a_write_that_a_proxy_answered_may_have_been_done(clock: StandingClock, method: str, garbage: bytes) -> None:
    with playing(reply(200, garbage)) as server, pytest.raises(LostResponseError):
        client_of(server.url, clock).send(method, "/a", {})
    assert len(server.asked) == 1


def test_a_delete_is_answered_by_what_is_left_or_by_nothing(clock: StandingClock) -> None:
    with playing(reply(200, [{"name": "bug"}]), reply(204)) as server:
        client = client_of(server.url, clock)
        assert client.send("DELETE", "/a") == [{"name": "bug"}]
        assert client.send("DELETE", "/a") == {}


# Limits on an answer


def test_an_answer_has_a_limit(clock: StandingClock, monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = b" " * 1_000_000
    with playing(trickle(chunk, lambda: None)) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).get("/a")
    assert str(refused.value) == "GitHub gave no usable answer to GET /a: it is larger than 20,000,000 bytes"
    assert clock.slept == []


def test_a_refusal_has_a_limit(clock: StandingClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_BYTES", 100)
    with (
        playing(refuse(404, "a" * 100)) as server,
        pytest.raises(ForgeError, match="no usable answer to GET /a: it is"),
    ):
        client_of(server.url, clock).get("/a")


def test_an_answer_that_trickles_has_a_time(clock: StandingClock) -> None:
    def wait() -> None:
        clock.seconds += 25

    with playing(*[trickle(b" ", wait)] * 4) as server, pytest.raises(ForgeError) as refused:
        client_of(server.url, clock).get("/a")
    assert str(refused.value) == (
        "GitHub gave no usable answer to GET /a: it did not end within 120 s (3 retries did not help)"
    )


def test_silence_has_a_time(clock: StandingClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "READ_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(LostResponseError, match="nothing came for"):
        client_of(f"http://127.0.0.1:{silent.getsockname()[1]}", clock).send("POST", "/a", {})


def test_a_compressed_answer_was_not_asked_for(clock: StandingClock) -> None:
    play = reply(200, b"\x1f\x8b", Content_Encoding="gzip")
    with playing(play) as server, pytest.raises(ForgeError, match="it is compressed, which was not asked for"):
        client_of(server.url, clock).get("/a")


def test_a_dry_run_reads_and_tells_its_writes(clock: StandingClock) -> None:
    told: list[str] = []
    with playing(reply(200, [1])) as server:
        client = client_of(server.url, clock, dry_run=True, tell=told.append)
        assert client.dry_run
        assert list(client.pages("/a")) == [1]
        assert client.send("POST", COMMENTS, {"body": "é\n"}) == {}
        assert client.send("DELETE", COMMENT) == {}
    assert told == [f'POST {COMMENTS} {{"body": "\\u00e9\\n"}}', f"DELETE {COMMENT}"]


@pytest.mark.parametrize("token", ["", "ghs_\n", "a b", "é", "\x00"])
def test_a_token_that_is_none_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(RankgateError) as refused:
        Client("https://api.github.com", token)
    assert str(refused.value) == "token: is empty or has a character that no token has"
