"""Waits: what headers of services ask for, in each of their forms, within a bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.collecting.waits import MAX_WAIT, pause, seconds_until, until_limits_end

NOW = 1_792_567_680.0  # 2026-10-21 07:28:00 UTC


@each_row(
    ("text", "seconds"),
    [
        pytest.param("7", 7, id="seconds"),
        pytest.param(" 0.5 ", 0.5, id="a part of one"),
        pytest.param("1s", 1, id="OpenAI"),
        pytest.param("6m0s", 360, id="OpenAI, minutes"),
        pytest.param("20ms", 0.02, id="OpenAI, milliseconds"),
        pytest.param("7.66s", 7.66, id="Groq"),
        pytest.param("2m59.56s", 179.56, id="Groq, minutes"),
        pytest.param("1h0m0s", 3600, id="an hour"),
        pytest.param("1d", 86400, id="a day"),
        pytest.param("1792567690", 10, id="since 1970"),
        pytest.param("1792567690000", 10, id="OpenRouter, milliseconds since 1970"),
        pytest.param("2026-10-21T07:28:40Z", 40, id="Anthropic"),
        pytest.param("2026-10-21T09:28:40+02:00", 40, id="of another zone"),
        pytest.param("Wed, 21 Oct 2026 07:28:40 GMT", 40, id="a date of HTTP"),
        pytest.param("Wed, 21 Oct 2026 07:27:00 GMT", -60, id="gone by"),
        pytest.param("Wed, 99 Oct 2026", None, id="no such day"),
        pytest.param("2026-10-21T07:28:40", None, id="without a zone"),
        pytest.param("in a minute", None, id="words"),
        pytest.param("5 s", None, id="a blank within"),
        pytest.param("-3", None, id="below 0"),
        pytest.param("\xb2", None, id="no digit"),
        pytest.param("", None, id="nothing"),
        pytest.param("9" * 5000, None, id="many digits"),
    ],
)
def test_what_a_header_asks_for(text: str, seconds: float | None) -> None:
    assert seconds_until(text, NOW) == (None if seconds is None else pytest.approx(seconds))


@each_row(
    ("headers", "seconds"),
    [
        pytest.param({}, 0, id="none"),
        pytest.param({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, 0.02, id="calls"),
        pytest.param({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m5s"}, 65, id="tokens"),
        pytest.param({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "9s"}, 0, id="one is left"),
        pytest.param(
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "5s",
            },
            5,
            id="the longer one",
        ),
        pytest.param(
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-10-21T07:28:09Z",
            },
            9,
            id="Anthropic",
        ),
        pytest.param({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1792567690000"}, 10, id="OpenRouter"),
        pytest.param({"ratelimit-remaining": "0", "ratelimit-reset": "4"}, 4, id="the draft of the IETF"),
        pytest.param({"x-ratelimit-remaining-tokens": "0"}, 0, id="no word of when"),
        pytest.param({"x-ratelimit-remaining-tokens": "-12", "x-ratelimit-reset-tokens": "3s"}, 3, id="below 0"),
        pytest.param({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1d"}, MAX_WAIT, id="a day"),
        pytest.param({"x-ratelimit-remaining-tokens": "few", "x-ratelimit-reset-tokens": "1s"}, 0, id="no number"),
    ],
)
def test_how_long_a_limit_is_waited_for(headers: dict[str, str], seconds: float) -> None:
    assert until_limits_end(headers, NOW) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "least"),
    [
        pytest.param("Wed, 21 Oct 2026 07:28:40 GMT", 40, id="a date"),
        pytest.param("Wed, 21 Oct 2026 07:27:00 GMT", 1, id="gone by"),
        pytest.param("Wed, 21 Oct 2026 08:00:00 GMT", None, id="too far ahead"),
        pytest.param("Wed, 99 Oct 2026", 1, id="none"),
    ],
)
def test_retry_after(text: str, least: float | None) -> None:
    found = pause(0, {"retry-after": text}, 7, NOW)
    assert found is None if least is None else least <= (found or 0) <= 1.5 * least


@given(st.integers(0, 4), st.text(max_size=12), st.integers(0, 2**32 - 1))
def test_a_wait_is_bounded_whatever_the_server_says(attempt: int, text: str, seed: int) -> None:
    found = pause(attempt, {"retry-after": text}, seed, NOW)
    assert found is None or 1 <= found <= 1.5 * MAX_WAIT
    limited = until_limits_end({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": text}, NOW)
    assert 0 <= limited <= MAX_WAIT


def test_requests_that_fail_together_come_back_apart() -> None:
    assert len({pause(0, {}, seed, NOW) for seed in range(100)}) > 90
