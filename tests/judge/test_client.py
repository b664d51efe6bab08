"""The client: what is repeated and when, what is bounded, and where the key does not go."""

from __future__ import annotations

import gzip
import json
import threading
import time
import tracemalloc
from collections.abc import Iterator
from email.message import Message
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.forges.faults import Answer as Response
from tests.forges.loopback_server import Handler, LoopbackServer, serving
from tests.judge.cases import answer, block, endpoint, run, some_judge
from tests.judge.hash_judge import KEY, HashJudge, judging, status
from tests.rows import each_row

from rankgate.criteria.judge_block import Timeouts
from rankgate.errors import RankgateError
from rankgate.judge import client
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.judging import ask
from rankgate.judge.model import Inputs, Mode
from rankgate.judge.records import Record, Slot
from rankgate.judge.store import Store
from rankgate.judge.tasks import Address
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Unjudged

QUESTION = Inputs("address", "How long?", "Thirty days.")
FINE = Address("fully", noncommittal=False)


def asked(
    server: HashJudge,
    inputs: Inputs = QUESTION,
    slept: list[float] | None = None,
    mode: Mode = "json_schema",
    timeouts: Timeouts | None = None,
    **values: Any,
) -> Record:
    judge = some_judge(**values)
    judge = type(judge)(**{name: getattr(judge, name) for name in judge.__struct_fields__} | {"mode": mode})
    end = endpoint(server, slept, timeouts)
    return ask(end, judge, Slot(judge.id, inputs.task, inputs.key, 0), inputs, Spending())


def test_what_is_left_of_a_limit_is_looked_at_before_the_next_request() -> None:
    """Also of an answer that came well, so that no request runs into the refusal."""
    slept: list[float] = []
    with judging() as server:
        end = endpoint(server, slept)
        for wanted in ("7s", "0s"):
            server.faults = [
                Response(200, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": wanted}, GOOD)
            ]
            ask(end, some_judge(), Slot("j", "address", "k", 0), QUESTION, Spending())
        ask(end, some_judge(), Slot("j", "address", "k", 0), QUESTION, Spending())
        assert len(server.requests) == 3
    assert [6 < each <= 7 for each in slept] == [True, True], "the clock of this test does not wait"


@each_row(
    ("fault", "waits"),
    [
        pytest.param(status(429), (1, 2), id="429"),
        pytest.param(status(429, Retry_After="7"), (7, 11), id="429 that says when"),
        pytest.param(status(429, Retry_After="0.5"), (1, 2), id="429 that says soon"),
        pytest.param(status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), (1, 2), id="429 with a date gone by"),
        pytest.param(status(429, Retry_After="in a minute"), (1, 2), id="429 with words"),
        pytest.param(status(503, Retry_After="3"), (3, 5), id="503 that says when"),
        pytest.param(status(500), (1, 2), id="500"),
        pytest.param(status(408), (1, 2), id="408"),
        pytest.param("reset", (1, 2), id="a broken connection"),
        pytest.param(b"<html>busy", (1, 2), id="a page with status 200"),
        pytest.param(b'{"error": {"message": "overloaded"}}', (1, 2), id="an error with status 200"),
        pytest.param(b'{"choices": null}', (1, 2), id="no choice"),
        pytest.param(Response(200, {"Content-Length": "9999"}, b'{"choi'), (1, 2), id="a body that breaks off"),
    ],
)
def test_trouble_is_waited_for(fault: Any, waits: tuple[float, float]) -> None:
    slept: list[float] = []
    with judging() as server:
        server.faults = [fault]
        found = asked(server, slept=slept)
    assert found.verdicts == FINE
    assert len(slept) == 1
    assert waits[0] <= slept[0] < waits[1]


def test_five_tries_and_longer_waits() -> None:
    slept: list[float] = []
    with judging() as server:
        server.always = status(500)
        found = asked(server, slept=slept)
        assert len(server.requests) == 5
    assert found.unjudged == Unjudged(UnjudgedKind.HTTP_STATUS, 500)
    assert [int(each // 2**n) for n, each in enumerate(slept)] == [1, 1, 1, 1]


def test_a_server_that_asks_for_too_much_patience_is_not_waited_for() -> None:
    slept: list[float] = []
    with judging() as server:
        server.always = status(429, Retry_After="3600")
        assert asked(server, slept=slept).unjudged == Unjudged(UnjudgedKind.HTTP_STATUS, 429)
    assert slept == []


@pytest.mark.full
def test_any_bytes_end_in_a_verdict_or_a_reason() -> None:
    with judging() as server:

        @given(st.binary(max_size=300))
        def check(body: bytes) -> None:
            server.always = body
            found = asked(server)
            assert (found.verdicts is None) != (found.unjudged is None)
            assert found.unjudged == Unjudged(UnjudgedKind.ENVELOPE)

        check()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.just("supported"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["entries", "n", "verdict", "passages", "quote", "claims", "asserts"]), inner)
    ),
    max_leaves=12,
)


@pytest.mark.full
@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(Inputs("split", "q", "a"), id="split"),
        pytest.param(Inputs("entail", passages=("a", "b"), statements=("c", "d")), id="entail"),
        pytest.param(Inputs("relevance", "q", passages=("a", "b")), id="relevance"),
        pytest.param(Inputs("address", "q", "a"), id="address"),
    ],
)
def test_any_content_ends_in_a_verdict_or_a_reason(inputs: Inputs) -> None:
    with judging() as server:

        @given(content=st.one_of(st.text(max_size=60), JSON.map(json.dumps), st.binary(max_size=40).map(repr)))
        def check(content: str) -> None:
            server.always = f"text:{content}"
            found = asked(server, inputs)
            assert (found.verdicts is None) != (found.unjudged is None)
            if found.unjudged:
                assert found.unjudged.kind.lasts
            elif inputs.task == "entail":
                assert [each.n for each in found.verdicts] == [1, 2]
                assert {each.verdict.value for each in found.verdicts} <= {"absent", "contradicted", "unverified"}

        check()


@pytest.mark.parametrize(
    ("mode", "form", "schema"),
    [
        pytest.param("json_schema", "json_schema", False, id="schema beside the prompt"),
        pytest.param("json_object", "json_object", True, id="schema in the prompt"),
        pytest.param("prompt", None, True, id="prompt alone"),
    ],
)
def test_the_form_of_the_answer_is_requested(mode: Mode, form: str | None, *, schema: bool) -> None:
    with judging() as server:
        asked(server, mode=mode, parameters={"max_tokens": 2000})
    body = server.requests[0]
    assert body.get("response_format", {}).get("type") == form
    assert ("noncommittal" in body["messages"][0]["content"].rpartition("JSON")[2]) is schema
    assert (body["max_tokens"], "temperature" in body) == (2000, False)
    assert body["model"] == "hash-judge-2026-01-01"


def test_what_was_wrong_is_said_with_the_answer() -> None:
    with judging() as server:
        server.faults = ["numbering", "length"]
        asked(server, Inputs("relevance", "q", passages=("a", "b")))
        roles = [[message["role"] for message in body["messages"]] for body in server.requests]
        words = [body["messages"][-1]["content"] for body in server.requests[1:]]
    assert roles == [["system", "user"], ["system", "user", "assistant", "user"], ["system", "user", "user"]]
    assert "it has 1 entries; there must be exactly 2" in words[0]
    assert "it was cut off" in words[1]


def test_tokens_of_all_attempts_are_recorded_with_who_answered() -> None:
    with judging() as server:
        server.faults = ["empty"]
        found = asked(server)
    assert found.tokens == (200, 20)
    assert (found.model, found.fingerprint) == ("hash-judge-1", "fp_hash-judge-1")


def test_a_server_that_names_nothing_is_recorded_as_such() -> None:
    with judging() as server:
        server.served, server.usage = None, None
        found = asked(server)
    assert (found.model, found.fingerprint, found.verdicts) == ("", None, FINE)
    assert found.tokens[0] > 0


# Bounds and the key


def test_an_endless_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_BYTES", 1_000)
    with judging() as server:
        server.always = b" " * 5_000
        assert asked(server).unjudged == Unjudged(UnjudgedKind.UNREACHABLE)


BEGIN = b"HTTP/1.1 200 OK\r\n"
CHUNKED = BEGIN + b"Transfer-Encoding: chunked\r\n\r\n"
MOVED = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"


@cache
def bomb() -> bytes:
    return gzip.compress(b" " * 50_000_000)


class Trickle:
    """Bytes that begin like an answer and then go on, slowly, for as long as anybody listens."""

    def __init__(self, begin: bytes, more: bytes, pause: float = 0.01) -> None:
        self.begin, self.more, self.pause = begin, more, pause

    def __iter__(self) -> Iterator[bytes]:
        yield self.begin
        while True:
            time.sleep(self.pause)
            yield self.more


@pytest.mark.parametrize(
    "trickle",
    [
        pytest.param(Trickle(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0), id="interim answers"),
        pytest.param(Trickle(b"", b"\r\n", 0), id="empty lines before the status"),
        pytest.param(Trickle(BEGIN, b"x"), id="one header"),
        pytest.param(Trickle(BEGIN, b"A: b\r\n", 0.05), id="headers"),
        pytest.param(Trickle(BEGIN + b"\r\n", b" "), id="a body without a length"),
        pytest.param(Trickle(BEGIN + b"Content-Length: 999999\r\n\r\n", b" "), id="a body with one"),
        pytest.param(Trickle(CHUNKED, b"1\r\n \r\n"), id="chunks"),
        pytest.param(Trickle(CHUNKED, b"1"), id="the length of a chunk"),
        pytest.param(Trickle(CHUNKED + b"0\r\n", b"A: b\r\n", 0), id="trailers"),
        pytest.param(Trickle(MOVED + b"\r\n", b" "), id="the body of a redirect"),
        pytest.param(Trickle(b"HTTP/1.1 429 Slow\r\n\r\n", b" "), id="the body of a refusal"),
    ],
)
def test_an_answer_that_trickles_is_given_up(trickle: Trickle, monkeypatch: pytest.MonkeyPatch) -> None:
    """This ends; whether in a bad answer or in none depends on how far it came."""
    monkeypatch.setattr(client, "TRIES", 2)
    with judging() as server:
        server.always = trickle
        found = asked(server, timeouts=Timeouts(total=0.3)).unjudged
    assert found is not None
    assert found.kind in {UnjudgedKind.UNREACHABLE, UnjudgedKind.ENVELOPE, UnjudgedKind.HTTP_STATUS}


def test_after_one_that_trickled_the_next_request_is_answered() -> None:
    with judging() as server:
        server.faults = [Trickle(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0)]
        assert asked(server, timeouts=Timeouts(total=0.5)).verdicts == FINE


def test_a_silent_endpoint_is_given_up_by_the_time_without_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "TRIES", 1)
    with judging() as server:
        server.always = Trickle(BEGIN, b"A: b\r\n", 2)
        found = asked(server, timeouts=Timeouts(read=0.2)).unjudged
    assert found is not None
    assert found.kind is UnjudgedKind.UNREACHABLE


@pytest.mark.parametrize("status", [b"200 OK", b"302 Found", b"500 No"])
def test_a_compressed_bomb_is_not_unpacked(status: bytes) -> None:
    about = b"Location: /x\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb())
    with judging() as server:
        server.always = [b"HTTP/1.1 " + status + b"\r\n" + about + bomb()]
        tracemalloc.start()
        found = asked(server)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert found.unjudged is not None
    assert peak < 10 * len(bomb()) < 5_000_000


GOOD = b'{"choices": [{"message": {"content": "{\\"addresses\\": \\"fully\\", \\"noncommittal\\": false}"}}]}'
STATUSES = st.one_of(
    st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 429 Slow", b"HTTP/1.1 302 Found", b"HTTP/9 7"]),
    st.integers(-1, 99_999).map(lambda code: b"HTTP/1.1 %d X" % code),
    st.binary(max_size=12),
)
HEADERS = st.lists(
    st.one_of(
        st.sampled_from(
            [b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Content-Encoding: gzip", b"garbage"]
            + [b"Location: http://[", b"Set-Cookie: a=b; max-age=1e99; expires=x", b"Connection: close", b" folded"]
            + [b"Content-Length: " + value for value in (b"5, 6", b"-1", b"abc", b"0", b"99999", b"1" * 400)]
            + [b"Retry-After: " + value for value in (b"1e9", b"-1", b"\xb2", b"Thu, 99")]
        ),
        st.tuples(st.binary(max_size=9), st.binary(max_size=9)).map(b": ".join),
    ),
    max_size=5,
).map(b"\r\n".join)
CONTENTS = st.one_of(
    st.just(GOOD),
    st.binary(max_size=60),
    st.tuples(st.integers(0, 9), st.binary(max_size=30)).map(lambda each: b"%x\r\n%b\r\n" % each),
)


@pytest.mark.full
def test_any_bytes_in_place_of_http_end_in_a_verdict_or_a_reason() -> None:
    with judging() as server:

        @given(status=STATUSES, headers=HEADERS, content=CONTENTS, cut=st.integers(0, 400))
        def check(status: bytes, headers: bytes, content: bytes, cut: int) -> None:
            server.always = [b"\r\n".join([status, *([headers] if headers else []), b"", content])[:cut]]
            found = asked(server)
            assert (found.verdicts is None) != (found.unjudged is None)
            assert found.verdicts in {None, FINE}
            assert found.unjudged is None or found.unjudged.kind is not UnjudgedKind.INTERRUPTED

        check()


def test_nobody_is_there() -> None:
    with judging() as server:
        end = endpoint(server)
    found = ask(end, some_judge(), Slot("j", "address", "k", 0), QUESTION, Spending())
    assert found.unjudged == Unjudged(UnjudgedKind.UNREACHABLE)


def test_a_stopped_endpoint_begins_nothing_and_ends_its_waits() -> None:
    with judging() as server:
        end, found = Endpoint(server.address, KEY), []
        server.always = status(429, Retry_After="100")
        server.began = end.stopped.set

        def work() -> None:
            found.append(ask(end, some_judge(), Slot("j", "address", "k", 0), QUESTION, Spending()))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        assert len(server.requests) == 1
    assert found[0].unjudged == Unjudged(UnjudgedKind.INTERRUPTED)


def test_a_redirect_is_not_followed_so_that_the_key_stays() -> None:
    with judging() as server, judging() as other:
        server.always = status(302, Location=f"{other.address}/chat/completions")
        assert asked(server).unjudged == Unjudged(UnjudgedKind.HTTP_STATUS, 302)
        assert other.requests == []


def test_the_key_comes_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("default login a password b", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    judge, slot = some_judge(), Slot("j", "address", "k", 0)
    with judging() as server:
        for key in (KEY, ""):
            monkeypatch.setenv("RANKGATE_JUDGE_KEY", key)
            ask(Endpoint(server.address), judge, slot, QUESTION, Spending())
        assert server.keys == [f"Bearer {KEY}", None]


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        pytest.param("Authorization", ("Authorization", f"Bearer {KEY}"), id="the standard's"),
        pytest.param("authorization", ("Authorization", f"Bearer {KEY}"), id="in small letters"),
        pytest.param("api-key", ("api-key", KEY), id="Azure"),
        pytest.param("X-Goog-Api-Key", ("X-Goog-Api-Key", KEY), id="of a gateway"),
    ],
)
def test_the_header_of_the_key(name: str, sent: tuple[str, str]) -> None:
    with judging() as server:
        seen = headers_at(server)
        end = Endpoint(server.address, KEY, auth_header=name)
        ask(end, some_judge(), Slot("j", "address", "k", 0), QUESTION, Spending())
    assert seen[0][sent[0]] == sent[1]
    assert str(seen[0]).count(KEY) == 1


def headers_at(server: HashJudge) -> list[Message]:
    """The headers of each request that comes from now on."""
    seen: list[Message] = []
    respond = server.answer

    def noting(handler: Handler, body: bytes) -> Response | None:
        seen.append(handler.headers)
        return respond(handler, body)

    server.answer = noting
    return seen


@pytest.mark.parametrize("name", ["", "two words", "a:b", "Host", "content-length", "schlüssel", "a\n"])
def test_a_name_that_no_header_of_a_key_has_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="expected the name of the header that takes the key"):
        block(auth_header=name)


class Proxy(LoopbackServer):
    """Passes requests on, as a proxy for http does, and tunnels nothing."""

    def __init__(self) -> None:
        super().__init__(self.forward)
        self.seen: list[tuple[str, str, str | None]] = []

    def forward(self, handler: Handler, body: bytes) -> Response:
        self.seen.append((handler.command, handler.path, handler.headers.get("Proxy-Authorization")))
        if handler.command == "CONNECT":
            assert "Authorization" not in handler.headers
            return Response(403, {}, b"")
        target = urlsplit(handler.path)
        connection = HTTPConnection(str(target.hostname), target.port)
        try:
            connection.request("POST", target.path, body, dict(handler.headers.items()))
            response = connection.getresponse()
            return Response(response.status, {}, response.read())
        finally:
            connection.close()


@pytest.mark.parametrize(
    ("variables", "address", "through"),
    [
        pytest.param({"http_proxy": "http://{}"}, None, ("POST", None), id="http"),
        pytest.param({"HTTP_PROXY": "http://{}"}, None, ("POST", None), id="in capitals"),
        pytest.param({"all_proxy": "http://{}"}, None, ("POST", None), id="for all"),
        pytest.param({"http_proxy": "http://ana:word@{}"}, None, ("POST", "Basic YW5hOndvcmQ="), id="with a password"),
        pytest.param({"http_proxy": "http://{}", "no_proxy": "127.0.0.1"}, None, None, id="not for this host"),
        pytest.param({"https_proxy": "http://{}"}, None, None, id="for https alone"),
        pytest.param({"https_proxy": "http://{}"}, "https://a.invalid/v1", ("CONNECT", None), id="a tunnel, refused"),
    ],
)
def test_a_proxy_by_the_usual_variables(
    variables: dict[str, str],
    address: str | None,
    through: tuple[str, str | None] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    proxy = Proxy()
    with judging() as server, serving(proxy):
        for name, value in variables.items():
            monkeypatch.setenv(name, value.format(proxy.url.removeprefix("http://")))
        end = Endpoint(address or server.address, KEY, wait=list[float]().append)
        found = ask(end, some_judge(), Slot("j", "address", "k", 0), QUESTION, Spending())
        assert {(command, word) for command, _, word in proxy.seen} == ({through} if through else set())
        assert server.keys == ([] if address else [f"Bearer {KEY}"])
    assert (found.verdicts == FINE) is (address is None)


@pytest.mark.parametrize("key", ["two words", "line\n", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused_without_naming_it(key: str) -> None:
    with pytest.raises(RankgateError) as refused:
        Endpoint("https://host/v1", key)
    assert str(refused.value) == "RANKGATE_JUDGE_KEY: has a character that no key has"


def test_the_key_is_in_no_text_of_ours() -> None:
    with judging() as server:
        end = endpoint(server)
        server.always = status(400, f"Incorrect API key provided: {KEY}")
        found = ask(end, some_judge(), Slot("j", "address", "k", 0), QUESTION, Spending())
    assert KEY not in f"{end!r}{found!r}"


def test_what_a_request_takes_is_charged_and_a_refusal_is_not() -> None:
    spending = Spending()
    with judging() as server:
        server.faults = [status(429), status(503), "reset"]
        run(server, [answer()], Store(), verdict_kinds=frozenset({"address"}), spending=spending)
        assert len(server.requests) == 4
    assert spending.calls == 2, "the broken one may have been answered, and is charged"
    assert spending.tokens > 110
