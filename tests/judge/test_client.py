"""The client: what is repeated and when, what is bounded, and where the key does not go."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forges.faults import Answer as Response
from tests.judge.cases import answer, endpoint, run, some_judge
from tests.judge.hash_judge import KEY, HashJudge, judging, status

from rankgate.errors import RankgateError
from rankgate.judge import client
from rankgate.judge.asking import ask
from rankgate.judge.client import MAX_WAIT, Endpoint, Spending, pause
from rankgate.judge.model import Addressed, Inputs, Mode, Record, Slot, Task
from rankgate.judge.store import Store
from rankgate.model.answers import Unjudged, UnjudgedKind, Want

QUESTION = Inputs(Task.ADDRESS, "How long?", "Thirty days.")
FINE = Addressed("fully", noncommittal=False)


def asked(
    server: HashJudge,
    inputs: Inputs = QUESTION,
    slept: list[float] | None = None,
    mode: Mode = "json_schema",
    **values: Any,
) -> Record:
    judge = some_judge(**values)
    judge = type(judge)(**{name: getattr(judge, name) for name in judge.__struct_fields__} | {"mode": mode})
    return ask(endpoint(server, slept), judge, Slot(judge.id, inputs.task, inputs.key, 0), inputs, Spending())


@pytest.mark.parametrize(
    ("fault", "waits"),
    [
        pytest.param(status(429), (1, 2), id="429"),
        pytest.param(status(429, Retry_After="7"), (7, 11), id="429 that says when"),
        pytest.param(status(429, Retry_After="0.5"), (1, 2), id="429 that says soon"),
        pytest.param(status(429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"), (1, 2), id="429 with a date"),
        pytest.param(status(503, Retry_After="3"), (3, 5), id="503 that says when"),
        pytest.param(status(500), (1, 2), id="500"),
        pytest.param(status(408), (1, 2), id="408"),
        pytest.param("reset", (1, 2), id="a broken connection"),
        pytest.param(b"<html>busy", (1, 2), id="a page with status 200"),
        pytest.param(b'{"error": {"message": "overloaded"}}', (1, 2), id="an error with status 200"),
        pytest.param(b'{"choices": []}', (1, 2), id="no choice"),
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


@given(st.integers(0, 4), st.text(max_size=12), st.integers(0, 2**32 - 1))
def test_a_pause_is_bounded_whatever_the_server_says(attempt: int, text: str, seed: int) -> None:
    found = pause(attempt, {"retry-after": text}, seed)
    assert found is None or 1 <= found <= 1.5 * MAX_WAIT


def test_requests_that_fail_together_come_back_apart() -> None:
    assert len({pause(0, {}, seed) for seed in range(100)}) > 90


def test_any_bytes_end_in_a_verdict_or_a_reason() -> None:
    with judging() as server:

        @given(st.binary(max_size=300))
        @settings(max_examples=60)
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


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(Inputs(Task.SPLIT, "q", "a"), id="split"),
        pytest.param(Inputs(Task.ENTAIL, passages=("a", "b"), statements=("c", "d")), id="entail"),
        pytest.param(Inputs(Task.RELEVANCE, "q", passages=("a", "b")), id="relevance"),
        pytest.param(Inputs(Task.REVERSE, answer="a"), id="reverse"),
    ],
)
def test_any_content_ends_in_a_verdict_or_a_reason(inputs: Inputs) -> None:
    with judging() as server:

        @given(content=st.one_of(st.text(max_size=60), JSON.map(json.dumps), st.binary(max_size=40).map(repr)))
        @settings(max_examples=60)
        def check(content: str) -> None:
            server.always = f"text:{content}"
            found = asked(server, inputs)
            assert (found.verdicts is None) != (found.unjudged is None)
            if found.unjudged:
                assert found.unjudged.kind.lasts
            elif inputs.task is Task.ENTAIL:
                assert [each.n for each in found.verdicts] == [1, 2]
                assert {each.verdict.value for each in found.verdicts} <= {"absent", "contradicted", "unverified"}

        check()


@pytest.mark.parametrize(
    "wrapped",
    [
        pytest.param("{}", id="plain"),
        pytest.param("\n {} \n", id="blanks"),
        pytest.param("```json\n{}\n```", id="a fence"),
        pytest.param("```\n{}\n```\n", id="a fence without a language"),
        pytest.param("<think>It says {}, so fully.</think>\n\n{}", id="thoughts"),
    ],
)
def test_json_in_a_wrapping_that_models_are_used_to_is_read(wrapped: str) -> None:
    with judging() as server:
        server.always = f"text:{wrapped}"
        assert asked(server, mode="prompt").verdicts == FINE


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
        asked(server, Inputs(Task.RELEVANCE, "q", passages=("a", "b")))
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


# Embeddings

SIMILARITY = Inputs(Task.SIMILARITY, answer="abc", passages=("cba", "xyz"))


def test_cosines_come_from_one_request() -> None:
    with judging() as server:
        found = asked(server, SIMILARITY)
    assert server.requests[0]["input"] == ["abc", "cba", "xyz"]
    assert found.verdicts == (pytest.approx(1.0), pytest.approx(35 / 38 * 38 / 35 * 32 / 35))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param([[1, 0], [1, 0]], UnjudgedKind.NUMBERING, id="too few"),
        pytest.param([[1, 0], [1, 0], [1, 0, 0]], UnjudgedKind.SCHEMA, id="of several lengths"),
        pytest.param([[1, 0], [0, 0], [1, 0]], UnjudgedKind.SCHEMA, id="zero"),
        pytest.param([[1, 0], [1.7e308, 1.7e308], [1, 0]], UnjudgedKind.SCHEMA, id="too large"),
        pytest.param([[], [], []], UnjudgedKind.SCHEMA, id="empty"),
        pytest.param([[1, 0], ["a", 0], [1, 0]], UnjudgedKind.ENVELOPE, id="text"),
    ],
)
def test_vectors_that_are_none_have_a_reason(data: list[list[Any]], kind: UnjudgedKind) -> None:
    vectors = [{"index": n, "embedding": vector} for n, vector in enumerate(data)]
    with judging() as server:
        server.always = json.dumps({"data": vectors}).encode()
        found = asked(server, SIMILARITY)
    assert found.unjudged is not None
    assert found.unjudged.kind is kind


# Bounds and the key


def test_an_endless_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_BYTES", 1_000)
    with judging() as server:
        server.always = b" " * 5_000
        assert asked(server).unjudged == Unjudged(UnjudgedKind.UNREACHABLE)


def test_an_answer_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "BODY_SECONDS", -1.0)
    with judging() as server:
        assert asked(server).unjudged == Unjudged(UnjudgedKind.UNREACHABLE)


def test_nobody_is_there() -> None:
    with judging() as server:
        end = endpoint(server)
    found = ask(end, some_judge(), Slot("j", Task.ADDRESS, "k", 0), QUESTION, Spending())
    assert found.unjudged == Unjudged(UnjudgedKind.UNREACHABLE)


def test_a_stopped_endpoint_begins_nothing_and_ends_its_waits() -> None:
    with judging() as server:
        end, found = Endpoint(server.address, KEY), []
        server.always = status(429, Retry_After="100")
        server.began = end.stopped.set

        def work() -> None:
            found.append(ask(end, some_judge(), Slot("j", Task.ADDRESS, "k", 0), QUESTION, Spending()))

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
    judge, slot = some_judge(), Slot("j", Task.ADDRESS, "k", 0)
    with judging() as server:
        for key in (KEY, ""):
            monkeypatch.setenv("RANKGATE_JUDGE_KEY", key)
            ask(Endpoint(server.address), judge, slot, QUESTION, Spending())
        assert server.keys == [f"Bearer {KEY}", None]


@pytest.mark.parametrize("key", ["two words", "line\n", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused_without_naming_it(key: str) -> None:
    with pytest.raises(RankgateError) as refused:
        Endpoint("https://host/v1", key)
    assert str(refused.value) == "RANKGATE_JUDGE_KEY: has a character that no key has"


def test_the_key_is_in_no_text_of_ours() -> None:
    with judging() as server:
        end = endpoint(server)
        server.always = status(400, f"Incorrect API key provided: {KEY}")
        found = ask(end, some_judge(), Slot("j", Task.ADDRESS, "k", 0), QUESTION, Spending())
    assert KEY not in f"{end!r}{found!r}"


def test_what_a_request_takes_is_charged_and_a_refusal_is_not(tmp_path: Path) -> None:
    spending = Spending()
    with judging() as server:
        server.faults = [status(429), status(503), "reset"]
        run(server, [answer()], Store(tmp_path / "s"), wants=frozenset({Want.ADDRESS}), spending=spending)
        assert len(server.requests) == 4
    assert spending.calls == 2, "the broken one may have been answered, and is charged"
    assert spending.tokens > 110
