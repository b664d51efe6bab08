"""What is done about a refused or failed request: a table of GitHub's rules, and what must hold for any answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.forges.retry import DAY, RETRIES, Cause, Failure, Stop, Wait, next_step

NOW = 1_700_000_000.0
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
ABUSE = "You have triggered an abuse detection mechanism. Please wait a few minutes before you try again."
PRIMARY = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 40)}


def after(*causes: Any) -> list[Wait]:
    return [Wait(1.0, cause, "") for cause in causes]


def seconds(
    status: int | Failure, headers: Mapping[str, str], message: str = "", earlier: list[Wait] | None = None
) -> float | None:
    """How long a GET waits, None where it is not sent again."""
    step = next_step("GET", status, headers, message, earlier or [], NOW)
    return step.seconds if isinstance(step, Wait) else None


@each_row(
    ("status", "headers", "message", "expected"),
    [
        pytest.param(403, {"retry-after": "7"}, "", 7, id="retry-after in seconds"),
        pytest.param(429, {"retry-after": "7"}, "", 7, id="retry-after of a 429"),
        pytest.param(429, {"retry-after": " 7 "}, "", 7, id="retry-after with blanks"),
        pytest.param(403, {"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, "", 60, id="retry-after as a date"),
        pytest.param(403, {"retry-after": "0"}, "", 1, id="retry-after of nothing waits all the same"),
        pytest.param(403, {"retry-after": "-5"}, "", 60, id="retry-after below nothing"),
        pytest.param(403, {"retry-after": "9" * 5_000}, "", DAY, id="retry-after of many digits"),
        pytest.param(
            403, {"retry-after": "soon"}, "", 60, id="retry-after that cannot be read is a limit all the same"
        ),
        pytest.param(403, {"retry-after": "7"} | PRIMARY, SECONDARY, 7, id="retry-after goes before all else"),
        pytest.param(403, PRIMARY, "", 41, id="no requests left: one second after the reset"),
        pytest.param(429, PRIMARY, "", 41, id="no requests left, said by 429"),
        pytest.param(403, PRIMARY, SECONDARY, 41, id="no requests left goes before the message"),
        pytest.param(403, PRIMARY | {"x-ratelimit-reset": "5"}, "", 1, id="a reset in the past"),
        pytest.param(403, PRIMARY | {"x-ratelimit-reset": "9" * 12}, "", DAY, id="a reset in a far future"),
        pytest.param(403, PRIMARY | {"x-ratelimit-reset": "later"}, "", 60, id="a reset that cannot be read"),
        pytest.param(403, {"x-ratelimit-remaining": "0"}, "", 60, id="no reset"),
        pytest.param(403, {"x-ratelimit-remaining": "4999"}, SECONDARY, 60, id="secondary limit"),
        pytest.param(403, {}, SECONDARY.upper(), 60, id="secondary limit in capitals"),
        pytest.param(403, {}, ABUSE, 60, id="secondary limit by its old name"),
        pytest.param(429, {}, "", 60, id="429 without a word"),
        pytest.param(500, {}, "", 2, id="500"),
        pytest.param(502, {}, SECONDARY, 2, id="502, whatever it says"),
        pytest.param(503, {"retry-after": "7"}, "", 7, id="503 with a retry-after"),
        pytest.param(503, {"retry-after": "1"}, "", 2, id="503 with a retry-after that is short"),
        pytest.param(504, {"retry-after": "soon"}, "", 2, id="504 with a retry-after that cannot be read"),
        pytest.param(Failure.UNREACHED, {}, "", 2, id="no connection"),
        pytest.param(Failure.LOST, {}, "", 2, id="the answer lost"),
        pytest.param(Failure.UNUSABLE, {}, "", None, id="an answer that would be as useless again"),
        pytest.param(403, {}, "Resource not accessible by integration", None, id="another 403 is final"),
        pytest.param(403, {"x-ratelimit-remaining": "1"}, "Must have admin rights", None, id="403 with requests left"),
    ],
)
def test_the_wait_after_the_first_attempt(
    status: int | Failure, headers: Mapping[str, str], message: str, expected: float | None
) -> None:
    assert seconds(status, headers, message) == expected


@pytest.mark.parametrize(
    ("outcome", "headers", "wait"),
    [
        (403, {"retry-after": "9"}, Wait(9, "limit", "the server asks to wait")),
        (403, PRIMARY, Wait(41, "limit", "the rate limit is used up")),
        (403, {"x-ratelimit-remaining": "0"}, Wait(60, "limit", "the rate limit is used up")),
        (429, {}, Wait(60, "limit", "a secondary rate limit")),
        (502, {}, Wait(2, "trouble", "trouble on the way or at the other end")),
        (Failure.LOST, {}, Wait(2, "trouble", "trouble on the way or at the other end")),
    ],
)
def test_a_wait_says_why(outcome: int | Failure, headers: Mapping[str, str], wait: Wait) -> None:
    assert next_step("GET", outcome, headers, "", [], NOW) == wait


@pytest.mark.parametrize("status", [304, 400, 401, 404, 405, 409, 410, 415, 422, 451])
def test_a_refusal_is_final_even_if_it_looks_like_a_limit(status: int) -> None:
    assert seconds(status, {"retry-after": "1"} | PRIMARY, SECONDARY) is None


@pytest.mark.parametrize(
    ("status", "headers", "waits"),
    [
        pytest.param(403, {"retry-after": "3"}, [3, 3, 4, 8], id="asked: never less, and no hammering"),
        pytest.param(403, PRIMARY, [41, 41, 41, 41], id="no requests left: the reset does not move"),
        pytest.param(429, {}, [60, 120, 240, 480], id="secondary limit: at least a minute and growing"),
        pytest.param(500, {}, [2, 4, 8, None], id="trouble: three retries, growing"),
        pytest.param(Failure.UNREACHED, {}, [2, 4, 8, None], id="no connection: three retries, growing"),
    ],
)
def test_waits_for_one_cause_grow(status: int | Failure, headers: Mapping[str, str], waits: list[float | None]) -> None:
    cause = "limit" if status in (403, 429) else "trouble"
    assert [seconds(status, headers, "", after(*[cause] * count)) for count in range(4)] == waits


def test_waits_for_the_limit_do_not_use_up_the_retries_after_trouble_nor_the_other_way_round() -> None:
    assert seconds(502, {}, "", after(*["limit"] * 5)) == 2
    assert seconds(429, {}, "", after(*["trouble"] * RETRIES)) == 60


@pytest.mark.parametrize("method", ["POST", "MERGE"])
@pytest.mark.parametrize("outcome", [500, 502, 503, Failure.LOST])
def test_what_may_have_arrived_and_is_not_the_same_twice_is_looked_for_first(
    method: str, outcome: int | Failure
) -> None:
    assert next_step(method, outcome, {"retry-after": "1"}, "", [], NOW) == Stop(lost=True)


TEXTS = st.one_of(
    st.text(max_size=30),
    st.integers().map(str),
    st.floats().map(str),
    st.datetimes().map(lambda date: date.strftime("%a, %d %b %Y %H:%M:%S GMT")),
    st.from_regex(r"\w{0,4},? ?\d{1,40} (Jan|Feb|Xyz) -?\d{1,40} \d{1,3}:\d{1,3}(:\d{1,30})? ?([+-]\d{1,30}|GMT)?"),
)
HEADERS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("retry-after", "x-ratelimit-remaining", "x-ratelimit-reset"), TEXTS | st.just("0"))
)
EARLIER = st.lists(
    st.builds(Wait, st.floats(1, DAY), st.sampled_from(get_args(Cause)), st.text(max_size=5)), max_size=30
)


@pytest.mark.full
@given(
    method=st.sampled_from(["GET", "POST", "PATCH", "DELETE"]),
    outcome=st.integers(100, 999) | st.sampled_from(Failure),
    headers=HEADERS,
    message=st.text(max_size=50) | st.sampled_from([SECONDARY, ABUSE]),
    earlier=EARLIER,
    now=st.floats(0, 1e11),
)
def test_whatever_comes_back_a_wait_is_between_a_second_and_a_day(
    method: str, outcome: int | Failure, headers: Mapping[str, str], message: str, earlier: list[Wait], now: float
) -> None:
    step = next_step(method, outcome, headers, message, earlier, now)
    if isinstance(step, Wait):
        assert 1 <= step.seconds <= DAY
        assert step.reason


@given(
    outcomes=st.lists(st.sampled_from([403, 429, 500, 502, *Failure]), min_size=1, max_size=20),
    message=st.sampled_from([SECONDARY, ""]),
)
def test_a_post_is_never_sent_again_after_it_may_have_arrived(outcomes: list[int | Failure], message: str) -> None:
    """Of all sequences: what was sent before a further attempt was refused by a limit, or never left."""
    earlier: list[Wait] = []
    for outcome in outcomes:
        step = next_step("POST", outcome, {}, message, earlier, NOW)
        if not isinstance(step, Wait):
            return
        assert outcome in (403, 429, Failure.UNREACHED)
        earlier.append(step)
