"""What `record` asks real servers and real processes: what arrives, and every bad answer."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit

import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.children import start
from tests.json_lines import read_lines

import rankgate
from rankgate.cli import main
from rankgate.collecting.lines import Key
from rankgate.collecting.retriever import CallError, Command, HttpService
from rankgate.collecting.workers import Question
from rankgate.model.values import RunField
from rankgate.readers.field_map import FieldMap
from rankgate.readers.mapped import answer_line
from rankgate.readers.mapping import Finder

TOKEN = "s3cr3t/+token\\value"  # noqa: S105 -- of nobody; JSON escapes some of it
HITS = {
    "hits": {"total": 2, "hits": [{"_id": "a", "_score": 2.5, "_source": {"body": "A"}}, {"_id": "b", "_score": 1}]}
}
BODY = {"query": {"match": {"body": "{{question}}"}}, "id": "{{query_id}}"}
FULL = {"items": "hits.hits", "chunk_id": "_id", "score": "_score", "text": "_source.body"}
KEY = {"Authorization": "Bearer ${TOKEN}"}
Answer = tuple[int, dict[str, str], bytes]


def answer(value: Any, status: int = 200, **headers: str) -> Answer:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return status, {name.replace("_", "-"): text for name, text in headers.items()}, data


class Server:
    """Answers as `script` says, one item a request, then with the hits; keeps what it was asked."""

    def __init__(self) -> None:
        self.script: list[Answer | str] = []
        self.always: Answer | str | None = None
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.free = Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append((self.command, self.path, dict(self.headers), body))
                what = outer.script.pop(0) if outer.script else outer.always or answer(HITS)
                if what in ("hang", "drip"):
                    self.send_response(200)
                    while what == "drip" and not outer.free.wait(0.05):
                        with contextlib.suppress(OSError):
                            self.wfile.write(b"X")
                    outer.free.wait()
                    self.close_connection = True
                    return
                assert not isinstance(what, str)
                status, headers, data = what
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.close_connection = "Connection" in headers
                with contextlib.suppress(OSError):  # the reader has seen enough
                    self.wfile.write(data)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/search"
        Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.free.set()
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with contextlib.closing(Server()) as each:
        yield each


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with three questions, and a token in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKEN", TOKEN)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    samples = [{"id": f"q{n}", "input": f"question {n}", "expected_output": ["a"]} for n in (1, 2, 3)]
    Path("gold.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))


def recorded(*words: str) -> int:
    return main(["record", "--gold", "gold.jsonl", "-o", "run.jsonl", *words])


def named(*words: str, **block: Any) -> int:
    """Record what a block of the criteria names, written as JSON, which is YAML too."""
    gates = [{"name": "recall@5", "threshold": 0.5}]
    inputs = {"gold": "gold.jsonl", "run": "run.jsonl"}
    Path("ship-criteria.yaml").write_text(json.dumps({"gates": gates, "inputs": inputs, "retriever": block}))
    return main(["record", *words])


def by_url(server: Server, *words: str, **block: Any) -> int:
    return named(*words, **{"url": server.url, "body": BODY, "headers": KEY, "map": FULL, **block})


def kept() -> int:
    """How many answers wait for the others; no run is written."""
    assert not Path("run.jsonl").exists()
    return Path("run.jsonl.partial").read_text().count("\n") - 1 if Path("run.jsonl.partial").exists() else 0


@pytest.mark.full
def test_a_search_engine_is_asked_and_read_by_paths(server: Server) -> None:
    assert by_url(server, "--workers", "2") == 0
    assert [line["query_id"] for line in read_lines()] == ["q1", "q2", "q3"]
    assert read_lines()[0]["topk"] == [
        {"rank": 1, "chunk_id": "a", "score": 2.5, "text": "A"},
        {"rank": 2, "chunk_id": "b", "score": 1},
    ]
    assert read_lines()[0]["system"] == server.url
    assert set(read_lines()[0]["latency_ms"]) == {"retrieve"}
    method, path, headers, body = min(server.requests, key=lambda each: each[3])
    assert (method, path, json.loads(body)) == (
        "POST", "/search", {"query": {"match": {"body": "question 1"}}, "id": "q1"}
    )  # fmt: skip
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(["a", "b"], ["a", "b"], id="bare texts"),
        pytest.param([7, 8], [7, 8], id="bare numbers"),
        pytest.param([{"id": "a"}, {"id": "b"}], ["a", "b"], id="with ids"),
        pytest.param({"topk": ["a"], "answer": "A."}, ["a"], id="a whole run line"),
        pytest.param([], [], id="nothing found"),
    ],
)
def test_usual_answers_need_no_paths(server: Server, given: Any, expected: list[Any]) -> None:
    server.always = answer(given)
    assert recorded("--url", server.url + "?q={{question}}") == 0
    assert [item.get("chunk_id", item.get("id")) for item in read_lines()[0]["topk"]] == expected
    assert server.requests[0][:2] == ("GET", "/search?q=question%201")
    assert read_lines()[0].get("answer") == (given.get("answer") if isinstance(given, dict) else None)


def mapped(value: Any, **fields: Any) -> tuple[Any, list[str]]:
    """What an answer holds by a map, and what no part of it had."""
    finder = Finder(FieldMap(query_id="", **fields), frozenset(RunField))
    return answer_line(value, finder), [str(problem) for problem in finder.problems()]


@pytest.mark.parametrize(
    ("value", "fields", "message"),
    [
        pytest.param(HITS, {"items": "hit.hits"}, "the answer has no 'hit.hits'; did you mean 'hits.hits'?", id="near"),
        pytest.param(HITS, {"items": "hits"}, "hits of the answer is no list (found: total, hits)", id="an object"),
        pytest.param(HITS, {}, "map its `items` (found: hits, hits.total, hits.hits)", id="no map"),
        pytest.param({"r": None}, {"items": "r"}, "r of the answer is no list (found: nothing)", id="null"),
        pytest.param("a", {}, "(found: 'a')", id="a text"),
        pytest.param(
            [{"_id": 1}, {"x": 1}], {"chunk_id": "_id"}, "result 2 has no '_id' (found: 'x')", id="one lacks it"
        ),
        pytest.param([{"a": 1, "s": "?"}], {"chunk_id": "a", "score": "s"}, "the score of '1' is '?'", id="no number"),
    ],
)
def test_a_map_that_finds_nothing_says_which_keys_there_are(value: Any, fields: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=r"found|expected") as caught:
        mapped(value, **fields)
    assert message in str(caught.value)


def test_what_no_result_has_is_known_at_the_end() -> None:
    found, lacking = mapped([{"a": 1}, {"a": 2}], chunk_id="a", score="s")
    assert found == [{"chunk_id": "1"}, {"chunk_id": "2"}]
    assert [each for each in lacking if "has no 's' (found: 'a')" in each] == lacking != []


def test_maps_go_through_lists_and_keys_with_dots() -> None:
    value = {"data": [{"rows": [{"fields": {"a.b": ["x"], "n": None}}]}], "said": [{"text": "Yes."}], "ms": 3}
    keys = {"chunk_id": "fields.a.b.0", "score": "fields.n", "answer": "said.0.text", "latency_ms": "ms"}
    found, lacking = mapped(value, items="data.0.rows", **keys)
    assert found == {"topk": [{"chunk_id": "x"}], "answer": "Yes.", "latency_ms": {"total": 3.0}}
    assert lacking == []


def test_a_map_whose_key_no_answer_has_ends_the_recording(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert by_url(server, map={**FULL, "answer": "anwser"}) == 2
    assert "retriever.map.answer" in (printed := capsys.readouterr().err)
    assert "ship-criteria.yaml:" in printed
    assert not Path("run.jsonl").exists()
    assert not Path("run.jsonl.partial").exists()


def test_a_key_that_only_the_first_answers_had_is_none_that_all_lack(server: Server) -> None:
    """A resumed recording knows what is in the lines that it took over."""
    server.script = [answer({**HITS, "text": "A."}), answer({**HITS, "text": "B."}), answer(b"", 500)]
    assert by_url(server, map={**FULL, "answer": "text"}) == 2
    assert by_url(server, map={**FULL, "answer": "text"}) == 0
    assert [line.get("answer") for line in read_lines()] == ["A.", "B.", None]


TROUBLE: list[Any] = [
    pytest.param(answer({"error": "down"}, 500), 'the server answered 500: {"error": "down"}', 3, id="500"),
    pytest.param(answer(b"<html>busy"), "the answer is HTML, no JSON", 3, id="HTML with status 200"),
    pytest.param(answer(b""), "the answer is empty", 3, id="empty"),
    pytest.param(answer(b'{"a": 1, "a": 2}'), "the answer is no JSON: ", 3, id="a key twice"),
    pytest.param(answer(b"\xff"), "the answer is no JSON: ", 3, id="no UTF-8"),
    pytest.param(answer({}), "the answer has no 'hits.hits' (found: nothing)", 1, id="an empty object"),
    pytest.param(answer("x"), "the answer has no 'hits.hits'", 1, id="a text"),
    pytest.param(answer({"timed_out": True, **HITS}), "a part of the results: timed_out is true", 3, id="timed out"),
    pytest.param(
        answer({"timed_out": False, "_shards": {"total": 5, "failed": 1}, **HITS}),
        "a part of the results: _shards.failed is 1",
        3,
        id="a shard failed",
    ),
    pytest.param(answer({"hits": {"hits": None}}), "hits.hits of the answer is no list (found: nothing)", 1, id="null"),
    pytest.param(
        answer({"hits": {"hits": [{"_id": 1.5, "_score": 1, "_source": {"body": "A"}}]}}), "1.5", 1, id="a float"
    ),
    pytest.param(answer({"why": TOKEN}, 400), 'answered 400: {"why": "***"}', 1, id="400 that repeats the key"),
    pytest.param(answer(b"no", 404), "the server answered 404", 1, id="404"),
    pytest.param(answer(b"", 302, Location="http://elsewhere/"), "answered 302, a redirect", 1, id="a redirect"),
    pytest.param(
        answer(b"", 429, Retry_After="3600"), "asks to wait 3600 s, longer than 120 s", 1, id="too much patience"
    ),
    pytest.param(
        answer(b"", 503, Retry_After="Fri, 31 Dec 9999 23:59:59 GMT"), "longer than 120 s", 1, id="until a far date"
    ),
    pytest.param(answer(gzip.compress(bytes(30_000_000)), Content_Encoding="gzip"), "it is compressed", 1, id="a bomb"),
    pytest.param(answer(b" " * 17_000_000), "larger than 16,000,000 bytes", 1, id="too large"),
    pytest.param(
        answer(b'{"a', Content_Length="99", Connection="close"), "no answer that can be used", 3, id="it breaks off"
    ),
]


@pytest.mark.parametrize(("what", "message", "attempts"), TROUBLE)
def test_a_bad_answer_fails_the_question_with_the_reason_and_without_the_key(
    server: Server,
    what: Any,
    message: str,
    attempts: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rankgate.collecting.workers._PAUSE_SECONDS", 0.01)
    server.always = what
    assert by_url(server, retries=2) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "every question failed; run.jsonl is not written" in printed.err
    assert len(server.requests) == 3 * attempts
    assert_no_secret(printed.out + printed.err)


def assert_no_secret(text: str) -> None:
    everything = [text, *(path.read_text(errors="replace") for path in Path().iterdir() if path.is_file())]
    forms = {TOKEN, json.dumps(TOKEN)[1:-1], repr(TOKEN)[1:-1], TOKEN[:-6], TOKEN[:8]}
    assert [form for form in forms for each in everything if form in each] == []


@pytest.mark.parametrize("what", ["hang", "drip"])
def test_a_server_that_never_ends_its_answer_is_left(
    server: Server, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [what]
    assert by_url(server, "--timeout", "1") == 2
    assert "q1: no answer within 1 s\n" in capsys.readouterr().err
    assert kept() == 2


def test_a_limit_is_waited_for_beside_the_retries(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep = time.sleep

    def waited(seconds: float) -> None:
        waits.append(seconds)
        sleep(0)

    monkeypatch.setattr("rankgate.collecting.workers.time.sleep", waited)
    server.script = [answer(b"", 429), answer(b"", 503, Retry_After="7"), answer({}, 429, Retry_After="1")]
    assert by_url(server) == 0
    assert len(server.requests) == 6
    assert max(waits) > 6
    assert_no_secret("")


@pytest.mark.parametrize(
    ("after", "least"),
    [
        pytest.param(60, 50, id="in a minute"),
        pytest.param(-3600, 0.5, id="an hour ago"),
        pytest.param("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0.5, id="a year that is none"),
        pytest.param("tomorrow", 0.5, id="a word"),
    ],
)
def test_a_limit_until_a_date_is_waited_for(
    server: Server, after: float | str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("rankgate.collecting.workers.time.sleep", waits.append)
    date = after if isinstance(after, str) else formatdate(time.time() + after, usegmt=True)
    server.script = [answer(b"", 429, Retry_After=date)]
    assert by_url(server, "--timeout", "600") == 0
    assert least < max(waits) < max(2, 61)
    assert len(server.requests) == 4


REFUSED = "it refuses the key"


@pytest.mark.parametrize(
    ("before", "status", "kept"),
    [
        pytest.param([], 401, "0 of 3 questions were recorded; nothing is kept", id="the key is wrong"),
        pytest.param([403], 403, "0 of 3 questions were recorded; nothing is kept", id="everything is forbidden"),
        pytest.param(
            [200],
            401,
            "1 of 3 questions are recorded and kept in run.jsonl.partial; the same command resumes there",
            id="the key expires",
        ),
    ],
)
def test_a_refused_key_stops_everything_with_one_sentence(
    server: Server, before: list[int], status: int, kept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [*(answer(HITS, each) for each in before), answer({"token": TOKEN}, status)]
    assert by_url(server) == 2
    printed = capsys.readouterr()
    assert printed.err == f"error: {server.url}: the server answered {status}, {REFUSED}: {kept}\n"
    assert_no_secret(printed.out + printed.err)
    asked = len(server.requests)
    assert by_url(server) == 0
    assert len(server.requests) == asked + 3 - before.count(200)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_question_that_a_firewall_rejects_is_one_failure(
    server: Server, place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [*[answer(HITS)] * place, answer(b"<html>blocked", 403)]
    assert by_url(server) == 2
    assert f"error: q{place + 1}: the server answered 403\n" in capsys.readouterr().err
    assert kept() == 2
    server.always = answer(b"", 403)  # asked again alone, as the first of its recording
    assert by_url(server, "--allow-errors", "1") == 0
    assert (len(read_lines()), len(server.requests)) == (2, 4)


def test_two_questions_that_a_firewall_rejects_are_allowed_after_the_third_was_recorded(server: Server) -> None:
    server.script = [answer(HITS)]
    server.always = answer(b"", 403)
    assert by_url(server) == 2
    assert by_url(server, "--allow-errors", "2") == 0
    assert (len(read_lines()), len(server.requests)) == (1, 5)


def test_a_key_that_the_server_repeats_in_its_results_is_not_kept(server: Server) -> None:
    escaped = json.dumps([{"id": f"x{TOKEN}", TOKEN: 1}]).replace("/", "\\/").replace("+", "\\u002b")
    server.always = answer(escaped.encode())
    assert named(url=server.url + "?q={{question}}", headers={"X-Api-Key": "${TOKEN}"}) == 0
    assert_no_secret("")
    assert read_lines()[0]["topk"][0] == {"rank": 1, "id": "x***", "***": 1}


@pytest.mark.full
def test_nobody_there_and_a_certificate_that_nobody_trusts(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert recorded("--url", f"http://127.0.0.1:{port}/?q={{{{question}}}}") == 2
    nobody = f"no answer that can be used: no connection could be made, at http://127.0.0.1:{port}/\n"
    assert nobody in capsys.readouterr().err
    assert recorded("--url", "http://no-such-host.invalid/?q={{question}}") == 2
    assert "its name was not found" in capsys.readouterr().err
    each = Server()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    each.http.socket = context.wrap_socket(each.http.socket, server_side=True)
    with contextlib.closing(each):
        assert recorded("--url", each.url.replace("http:", "https:") + "?q={{question}}") == 2
    assert "its certificate is not trusted" in capsys.readouterr().err


URL = "http://127.0.0.1:9/?q={{question}}"


@pytest.mark.parametrize(
    ("block", "key", "message"),
    [
        pytest.param(
            {"url": URL, "headers": {"Authorization": "Bearer abc"}}, "headers.Authorization",
            "is written out, and would stand in the repository; set a variable", id="a key",
        ),
        pytest.param({"url": URL, "headers": {"X-Api-Key": "abc"}}, "headers.X-Api-Key", "${NAME}", id="another"),
        pytest.param({"url": URL, "headers": {"X": "${NO_SUCH}"}}, "headers.X", "NO_SUCH of the env", id="not set"),
        pytest.param({"url": URL, "headers": {"Cookie": "s=${TOKEN}; a=b"}}, "headers.Cookie", "is written", id="more"),
        pytest.param({"url": URL, "headers": {"X": "${TOKEN}/${TOKEN}"}}, "headers.X", "is written out", id="two"),
        pytest.param({"url": URL, "headers": {"X": "{{question}}"}}, "headers.X", "is written out", id="a template"),
        pytest.param({"url": URL, "headers": {"Content-Type": "${T}"}}, "headers.Content-Type", "by rank", id="ours"),
        pytest.param({"url": URL, "headers": {"X": "${T}", "x": "${T}"}}, "headers.X", "set twice", id="twice"),
        pytest.param({"url": URL, "headers": {"X\nY": "${T}"}}, "headers.X\nY", "is no header", id="two in one"),
        pytest.param({"url": "/_search"}, "url", "is no address such as", id="a path"),
        pytest.param({"url": "http://h/", "body": {"q": "{{qestion}}"}}, "url", "did you mean 'question'?", id="slip"),
        pytest.param({"url": "http://h/", "body": {"q": "{{x}}"}}, "url", "there are {{question}} and", id="unknown"),
        pytest.param({"url": "http://h/", "body": {"q": "{{query_id}}"}}, "url", 'a body: {query: "', id="none"),
        pytest.param({"url": "http://h/?key=${TOKEN}&q={{question}}"}, "url", "headers alone", id="a key there"),
        pytest.param({"url": URL, "map": {"score": "s"}}, "map.score", "add `chunk_id`", id="no id"),
        pytest.param({"url": URL, "map": {"answer": "a"}}, "map.answer", "name that, too: `items`", id="no list"),
        pytest.param({"url": URL, "map": {"order": "ascending"}}, "map.order", "names no `score`", id="no score"),
        pytest.param({"url": URL, "map": {"query_id": "q"}}, "map.query_id", "unknown key", id="of runs alone"),
        pytest.param({"url": URL, "command": "cat"}, "command", "exactly one of", id="two retrievers"),
        pytest.param({"workers": 2}, "", "exactly one of function, url, command", id="none"),
        pytest.param({"command": "cat", "headers": {"X": "${TOKEN}"}}, "headers", "belongs to `url`", id="no address"),
        pytest.param({"command": "cat 'x"}, "command", "into words: no closing quotation", id="an open quote"),
        pytest.param({"command": "cat | sort"}, "command", "no shell runs the command", id="a pipe"),
        pytest.param({"command": " "}, "command", "the command is empty", id="blank"),
        pytest.param({"command": "./no-such"}, "command", "can be run: './no-such'", id="no such program"),
        pytest.param({"function": "no_such:function"}, "function", "no module named 'no_such'", id="no such module"),
    ],
)  # fmt: skip
def test_a_block_that_cannot_be_asked_is_refused_by_file_and_key(
    block: dict[str, Any], key: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert named(**block) == 2
    printed = capsys.readouterr().err
    assert f"error: ship-criteria.yaml:1: retriever{'.' if key else ''}{key.splitlines()[0] if key else ''}" in printed
    assert message in printed
    assert "abc" not in printed


@pytest.mark.parametrize(
    "url",
    [
        "https://user:abc@host/?q={{question}}", "ftp://host/?q={{question}}", "https://{{question}}/", "https:///?q=",
        "https://host:x/?q={{question}}", "https://host/{{question}}", "https://host/?q={{question}}#x",
        "https://host/?p=100%&q={{question}}", "https://[::1/?q={{question}}", "https://host\\@other/?q={{question}}",
    ],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_without_being_repeated(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recorded("--url", url) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: --url: is no address such as https://host/search, with {{question}} after a ?")
    assert "abc" not in printed


TEXTS = st.text(st.characters(exclude_categories=()), max_size=60) | st.sampled_from(
    ["{{question}}", '"', "\\", "{{query_id}} }}", "a\nb\r\0", "..", "-rf", "\ud800", "💥é", "&q=2#%41+ ", "</script>"]
)


@given(TEXTS)
@settings(deadline=None)
def test_any_question_arrives_as_it_is(text: str) -> None:
    sent: list[tuple[str, str, bytes | None]] = []

    def send(*request: Any) -> Any:
        sent.append(request)
        raise CallError("kept")

    requests: list[tuple[str, Any]] = [("http://h/?a=1&q={{question}}&b={{ query_id }}", None), ("http://h/", BODY)]
    for url, body in requests:
        with pytest.raises(CallError, match="kept"):
            HttpService(url, None, body, send)(Question(Key("id {{question}}"), text))
    query = dict(part.split("=") for part in urlsplit(sent[0][1]).query.split("&"))
    assert unquote_to_bytes(query["q"]) == text.encode("utf-8", "surrogatepass")
    assert unquote_to_bytes(query["b"]) == b"id {{question}}"
    assert json.loads(sent[1][2] or b"") == {"query": {"match": {"body": text}}, "id": "id {{question}}"}


def test_hostile_questions_arrive_at_a_real_server(server: Server) -> None:
    texts = ["{{question}}", '"', "\\", "a&q=2#%41+ é💥", "..", "a\nb"]
    samples = [{"id": f"q{n}", "input": text, "expected_output": ["a"]} for n, text in enumerate(texts)]
    Path("gold.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    assert named(url=server.url + "?q={{question}}", map={"items": "hits.hits", "chunk_id": "_id"}) == 0
    assert [parse_qs(urlsplit(path).query)["q"] for _, path, _, _ in server.requests] == [[text] for text in texts]


def test_another_request_begins_a_new_recording(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.script = [answer(HITS), answer(b"", 401)]
    assert by_url(server) == 2
    assert by_url(server, method="GET") == 0
    assert "run.jsonl.partial is of another retriever; starting over" in capsys.readouterr().err
    assert len(server.requests) == 5


# Commands: a program with a mode, which notes what it was asked.
PROGRAM = r"""
import json, os, subprocess, sys, time
mode = sys.argv[1]
def note(question):
    with open("calls.txt", "a") as calls:
        calls.write(question["query_id"] + "\n")
if mode == "deaf":
    print('["a"]'); sys.exit()
if mode == "silent":
    sys.exit()
questions = [json.loads(line) for line in sys.stdin]
for question in questions:
    note(question)
    line = {"query_id": question["query_id"], "topk": [question["question"], "a"]}
    last = question["query_id"] == "q3"
    if mode == "log" and last: print("loading the index")
    if mode == "exit" and last: print("no index é\x1b", file=sys.stderr); sys.exit(3)
    if mode == "kill" and last and not os.path.exists("go"): sys.stdout.flush(); os.kill(os.getpid(), 9)
    if mode == "half" and last and not os.path.exists("go"):
        print(json.dumps(line)[:9], end="", flush=True); sys.exit(1)
    if mode == "wrong" and last: line["query_id"] = "q99"
    if mode == "shape" and last: line = {"query_id": "q3", "hits": []}
    if mode == "chatty": sys.stderr.write("x" * 300_000)
    if mode == "bomb" and last:
        while True: print("x" * 100_000)
    if mode == "hang" and last:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open("pids.txt", "w").write(f"{os.getpid()} {child.pid}")
        sys.stdout.flush(); time.sleep(600)
    print(json.dumps(line), flush=mode != "buffered")
"""


@pytest.fixture
def program() -> str:
    Path("search.py").write_text(PROGRAM)
    return f"{sys.executable} search.py"


def asked() -> list[str]:
    return Path("calls.txt").read_text().split() if Path("calls.txt").exists() else []


@pytest.mark.parametrize("mode", ["plain", "chatty", "buffered"])
def test_a_command_is_asked(program: str, mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert recorded("--command", f"{program} {mode} --key hidden") == 0
    assert [[item["chunk_id"] for item in line["topk"]] for line in read_lines()] == [
        [f"question {n}", "a"] for n in (1, 2, 3)
    ]
    assert {line["system"] for line in read_lines()} == {f"{sys.executable} search.py"}
    assert "latency_ms" in read_lines()[0]
    assert "(median" in capsys.readouterr().out
    assert asked() == ["q1", "q2", "q3"]


def test_a_command_is_asked_by_a_process_with_many_open_files(program: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 4_000), limits[1]))
    try:
        with contextlib.ExitStack() as opened:
            for _ in range(1_100):  # more than select() can name
                opened.enter_context(Path("search.py").open("rb"))
            assert recorded("--command", f"{program} plain") == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert asked() == ["q1", "q2", "q3"]


@pytest.mark.parametrize(
    ("mode", "message", "left"),
    [
        pytest.param("log", "q3: the answer is no JSON", 2, id="a log line"),
        pytest.param("exit", "q3: the command ended by exit code 3; its log ends in: no index", 2, id="exit code 3"),
        pytest.param("kill", "q3: the command ended by SIGKILL", 2, id="killed"),
        pytest.param("half", "q3: the command ended by exit code 1", 2, id="half a line"),
        pytest.param("wrong", "q3: the result is a run line of query 'q99'", 2, id="another query"),
        pytest.param("shape", "q3: the answer is no list", 2, id="another shape"),
        pytest.param("bomb", "q3: the command wrote more than 16 MB a question", 2, id="too much"),
        pytest.param("hang", "q3: ", 2, id="it hangs"),
        pytest.param("silent", "q1: the answer is empty", 0, id="nothing"),
    ],
)
def test_a_bad_command_fails_with_the_reason(
    program: str, mode: str, message: str, left: int, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = ["--timeout", "3"] if mode == "hang" else []
    assert recorded("--command", f"{program} {mode}", *seconds) == 2
    assert message in capsys.readouterr().err
    assert kept() == left
    if mode == "hang":
        assert_ended()


def assert_ended() -> None:
    """Neither the command nor its child runs any more; a zombie that nobody has collected yet does not run."""

    def runs(pid: str) -> bool:
        stat = Path("/proc", pid, "stat")
        with contextlib.suppress(OSError):
            return stat.read_text().rpartition(")")[2].split()[0] != "Z"
        return False

    pids = Path("pids.txt").read_text().split()
    for _ in range(2000):
        if not any(map(runs, pids)):
            return
        time.sleep(0.005)
    pytest.fail(f"still there: {pids}")


def test_a_command_that_reads_nothing_cannot_block(program: str) -> None:
    samples = [{"id": f"q{n}", "input": "x" * 200_000, "expected_output": ["a"]} for n in (1, 2)]
    Path("gold.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    assert recorded("--command", f"{program} deaf") == 0
    assert len(read_lines()) == 2


@pytest.mark.full
@pytest.mark.parametrize("mode", ["kill", "half"])
def test_after_it_died_only_what_is_missing_is_asked(program: str, mode: str) -> None:
    assert recorded("--command", f"{program} {mode}") == 2
    Path("go").touch()
    assert recorded("--command", f"{program} {mode}") == 0
    assert asked() == ["q1", "q2", "q3", "q3"]
    assert len(read_lines()) == 3


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_stopped_recording_ends_its_processes_and_loses_nothing(program: str, number: signal.Signals) -> None:
    words = ["record", "--gold", "gold.jsonl", "-o", "run.jsonl", "--command"]
    environment = {**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parents[1])}
    command = [sys.executable, "-W", "error", "-m", "rankgate", *words, f"{program} hang"]
    process = start(command, env=environment, stderr=subprocess.PIPE)
    while not (Path("pids.txt").exists() and len(Path("pids.txt").read_text().split()) == 2):
        assert process.poll() is None
        time.sleep(0.005)
    while Path("run.jsonl.partial").read_text().count("\n") < 3:
        time.sleep(0.005)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    if number == signal.SIGKILL:  # nobody could end them
        for pid in Path("pids.txt").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
    else:
        assert process.returncode == 130
        assert err.decode().startswith("interrupted: 2 of 3 questions are recorded and kept")
    assert_ended()
    Path("search.py").write_text(PROGRAM.replace('mode == "hang"', "False"))
    assert recorded("--command", f"{program} hang") == 0
    assert asked() == ["q1", "q2", "q3", "q3"]


@pytest.mark.full
@given(TEXTS)
@settings(max_examples=25, deadline=None)
def test_any_question_arrives_at_a_command_as_it_is(text: str) -> None:
    echo = f"{sys.executable} -c 'import sys, json; print(json.dumps([json.loads(sys.stdin.read())[\"question\"]]))'"
    with contextlib.suppress(CallError):  # half of a surrogate pair is refused in answers, and only there
        assert Command(echo)(Question(Key("q"), text)) == [text]
        return
    assert any("\ud800" <= char <= "\udfff" for char in text)


def test_a_run_does_not_replace_the_program(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--gold", "gold.jsonl", "-o", "search.py", "--command", f"{program} plain"]) == 2
    assert "path would write over what the command names" in capsys.readouterr().err
