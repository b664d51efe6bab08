"""The triage table: which questions are misses, which comes first, what they share, and what stands in a lost place."""

import pytest
from msgspec.structs import replace
from tests.report_keys import report_from

from rankgate.diagnosis.misses import Lexical, explain_misses
from rankgate.diagnosis.movements import worst_rows
from rankgate.metrics.tags import violated_segments
from rankgate.model.details import Cause, Expected, Listed, Measure, Question, ReportDetails
from rankgate.model.report import BaselineSource, Movement, Provenance, Report
from rankgate.model.values import Direction, Unit, Verdict

K = 2


def question(
    name: str,
    cause: Cause,
    values: tuple[float | None, float | None] = (1.0, 0.0),
    *,
    tags: str = "",
    before: str | None = "",
    now: str | None = "",
) -> Question:
    lists = [
        None if ids is None else tuple(Listed(id=each, gain=1.0 if each == "a" else None) for each in ids)
        for ids in (before, now)
    ]
    return Question(
        query_id=name,
        question=f"what is {name}?",
        tags=tuple(tags.split()),
        cause=cause,
        values={"recall@2": values},
        expected=(Expected(id="a", gain=1.0, before=1, after=None),),
        before=lists[0],
        now=lists[1],
    )


def details(*questions: Question, direction: Direction = Direction.HIGHER) -> ReportDetails:
    measure = Measure(name="recall@2", meaning="", unit=Unit.SHARE, direction=direction)
    found = ReportDetails(
        leading="recall@2", k=K, depth=5, measures=(measure,), panel=(), sweeps=(), questions=questions
    )
    return replace(found, order=worst_rows(found, violated_segments([])))


def report(*moves: Movement, compared: bool = True) -> Report:
    baseline = BaselineSource(path="b", format="jsonl") if compared else None
    return report_from(
        verdict=Verdict.FAIL,
        summary="",
        misses=list(moves),
        provenance=Provenance(rankgate="0", date="2026-01-31", baseline=baseline),
    )


ALL = details(*(question(cause.value, cause) for cause in Cause))


def test_misses_are_what_is_lost_or_never_found() -> None:
    found = explain_misses(report(), ALL, limit=9)
    assert [miss.query_id for miss in found.listed] == ["no_result", "gone", "lower", "never_found"]
    assert found.causes == {"no_result": 1, "gone": 1, "lower": 1, "never_found": 1}
    assert found.questions == len(Cause)


@pytest.mark.parametrize("cause", Cause)
def test_any_cause_can_be_asked_for(cause: Cause) -> None:
    found = explain_misses(report(), ALL, cause=cause, limit=9)
    assert [miss.query_id for miss in found.listed] == [cause.value]


@pytest.mark.parametrize(
    ("direction", "order"),
    [
        pytest.param(Direction.HIGHER, ["fell most", "fell", "low", "high", "unknown", "rose"], id="higher is better"),
        pytest.param(Direction.LOWER, ["rose", "high", "low", "unknown", "fell", "fell most"], id="lower is better"),
    ],
)
def test_the_worst_change_comes_first_then_the_worst_value(direction: Direction, order: list[str]) -> None:
    found = explain_misses(
        report(),
        details(
            question("unknown", Cause.NEVER_FOUND, (None, None)),
            question("rose", Cause.NEVER_FOUND, (0.2, 0.4)),
            question("high", Cause.NEVER_FOUND, (0.7, 0.7)),
            question("low", Cause.NEVER_FOUND, (0.3, 0.3)),
            question("fell", Cause.GONE, (0.5, 0.4)),
            question("fell most", Cause.LOWER, (0.9, 0.1)),
            direction=direction,
        ),
        limit=9,
    )
    names = [miss.query_id for miss in found.listed]
    assert [name for name in names if name != "unknown"] == [name for name in order if name != "unknown"]


def test_the_limit_says_how_many_more() -> None:
    found = explain_misses(report(), ALL, limit=3)
    assert (len(found.listed), found.more) == (3, 1)


def tagged(lost: dict[str, int], fine: dict[str, int]) -> ReportDetails:
    names = [(tags, Cause.GONE) for tags, count in lost.items() for _ in range(count)]
    names += [(tags, Cause.FINE) for tags, count in fine.items() for _ in range(count)]
    return details(*(question(f"q{place}", cause, tags=tags) for place, (tags, cause) in enumerate(names)))


@pytest.mark.parametrize(
    ("lost", "fine", "shared"),
    [
        pytest.param({"pt x": 14, "en x": 3}, {"en x": 83}, [("pt", 14, 17, 14, 100)], id="fourteen of seventeen"),
        pytest.param({"pt": 5}, {"pt": 5, "en": 10}, [], id="twice as many as among all, as chance may give"),
        pytest.param({"pt": 5}, {"pt": 6, "en": 10}, [], id="hardly more than the others"),
        pytest.param({"pt": 4}, {"en": 90}, [("pt", 4, 4, 4, 94)], id="four, and nobody else"),
        pytest.param({"pt": 5, "en": 5}, {"en": 90}, [], id="not more than half of the lost"),
        pytest.param({"pt b": 5, "b": 1}, {"en": 94}, [("b", 6, 6, 6, 100), ("pt", 5, 6, 5, 100)], id="two tags"),
    ],
)
def test_what_the_lost_questions_share(
    lost: dict[str, int], fine: dict[str, int], shared: list[tuple[str, int, int, int, int]]
) -> None:
    found = explain_misses(report(), tagged(lost, fine), limit=1)
    assert [
        (share.tag, share.misses, share.of_misses, share.questions, share.of_questions) for share in found.shared
    ] == shared
    assert found.of_lost


def test_what_was_never_found_is_not_lost() -> None:
    """But where there is no baseline, or a cause is asked for, all that is listed counts."""
    never = [question(f"n{place}", Cause.NEVER_FOUND, tags="pt") for place in range(6)]
    shown = details(*never, *(question(f"f{place}", Cause.FINE, tags="en") for place in range(30)))
    assert explain_misses(report(), shown, limit=1).shared == ()
    for found in (
        explain_misses(report(compared=False), shown, limit=1),
        explain_misses(report(), shown, cause=Cause.NEVER_FOUND, limit=1),
    ):
        assert [share.tag for share in found.shared] == ["pt"]
        assert not found.of_lost


@pytest.mark.parametrize(
    ("before", "now", "instead"),
    [
        pytest.param("ab", "xb", ("x",), id="what is new in the first k"),
        pytest.param("ab", "bx", ("x",), id="what moved up within it is not new"),
        pytest.param("bca", "cx", ("x",), id="nor what stood there"),
        pytest.param("bxa", "bc", ("c",), id="what came from below k is"),
        pytest.param("bc", "ax", ("x",), id="a relevant document takes no place"),
        pytest.param(None, "xy", ("x", "y"), id="without a list before, what stands first"),
        pytest.param("ab", None, (), id="no list now"),
    ],
)
def test_what_stands_in_the_place(before: str | None, now: str | None, instead: tuple[str, ...]) -> None:
    found = explain_misses(report(), details(question("q", Cause.GONE, before=before, now=now)), limit=1)
    assert found.listed[0].instead == instead


def test_the_report_knows_better_what_took_a_place() -> None:
    """It saw the whole lists, and may look deeper than what is shown."""
    move = Movement(
        query_id="q",
        question=None,
        tags=[],
        metric="recall@2",
        before=1.0,
        after=0.0,
        worse=True,
        k=K,
        lost=1,
        gained=0,
        documents=[],
        instead=["from the report"],
    )
    found = explain_misses(report(move), details(question("q", Cause.GONE, before="ab", now="xb")), limit=1)
    assert found.listed[0].instead == ("from the report",)


def test_questions_of_a_tag_are_counted_among_themselves() -> None:
    shown = tagged({"pt": 3, "en": 2}, {"pt": 4, "en": 5})
    found = explain_misses(report(), shown, tag="pt", limit=9)
    assert (found.questions, found.causes) == (7, {"gone": 3})


def test_only_what_is_listed_is_looked_up() -> None:
    asked: list[str] = []

    def look(asked_for: Question) -> Lexical:
        asked.append(asked_for.query_id)
        return Lexical(first=(), expected=(), suggests="neither")

    found = explain_misses(report(), ALL, limit=2, lexical=look)
    assert asked == ["no_result", "gone"]
    assert found.found_by_words == 0
