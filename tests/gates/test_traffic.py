"""What a report says of questions without labels: how many get other results, where, and when no label is needed."""

from __future__ import annotations

import random
from math import comb

import pytest
from msgspec.structs import replace
from tests.report_keys import with_keys

from rankgate.criteria import Criteria
from rankgate.criteria.model import parse_criteria
from rankgate.criteria.traffic import TrafficRuns, compared_as
from rankgate.gates.conclude import concluded, traffic_share
from rankgate.gates.traffic import traffic_of, warnings_of
from rankgate.metrics.matching import BY_CHUNK
from rankgate.model.conclusion import Traffic, TrafficSegment
from rankgate.model.report import Provenance, Report
from rankgate.model.traffic_lists import TrafficFiles, TrafficLabel, TrafficQuestion
from rankgate.model.values import Gold, Ranking, Sample, Verdict
from rankgate.renderers.view.traffic import changed_traffic, traffic_command, traffic_line

PRECISION = {"name": "precision@5", "regression_max": 0.03}
LANGUAGES = ("en", "de", "th", "fi")


def criteria(*gates: dict[str, object], **more: object) -> Criteria:
    return parse_criteria({"gates": list(gates) or [PRECISION], **more})


def gold(*texts: str) -> Gold:
    samples = {f"q{at}": Sample(query_id=f"q{at}", gains={"d": 1.0}, question=text) for at, text in enumerate(texts)}
    return Gold(samples=samples, name="gold", format="python")


def runs(
    changed: set[int], *, asked: int = 200, labels: tuple[TrafficLabel, ...] = (), count: float = 1.0
) -> TrafficRuns:
    """So many questions in four languages, of which those at these places get another first document."""
    questions = tuple(
        TrafficQuestion(
            query_id=f"t{at}",
            question=f"what is {at}?",
            tags=(f"lang:{LANGUAGES[at % 4]}", "all:same", f"user:{at}"),
            count=count if at in changed else 1.0,
        )
        for at in range(asked)
    )
    before = tuple(Ranking(each.query_id, list("abcdefg"), traffic=True) for each in questions)
    other = {f"t{at}": list("xbcdefg") for at in changed}
    now = tuple(Ranking(each.query_id, other.get(each.query_id, each.ids), traffic=True) for each in before)
    return TrafficRuns(files=TrafficFiles(questions=questions, labels=labels), now=now, before=before, how=BY_CHUNK)


THAI = {at for at in range(200) if at % 4 == 2}


@pytest.mark.parametrize(
    ("gates", "default_k", "compared"),
    [
        ([PRECISION], 10, (5, False)),
        ([{"name": "mrr", "threshold": 0.1}, {"name": "ndcg@3", "threshold": 0.1}, PRECISION], 10, (3, True)),
        ([{"name": "ndcg@3", "threshold": 0.1, "severity": "warning"}, PRECISION], 10, (5, False)),
        ([{"name": "mrr", "threshold": 0.1}], 7, (7, False)),
    ],
    ids=["a set", "an order", "that blocks", "no cut-off"],
)
def test_how_lists_are_compared(gates: list[dict[str, object]], default_k: int, compared: tuple[int, bool]) -> None:
    assert compared_as(criteria(*gates, default_k=default_k)) == compared


def test_the_share_its_exact_interval_and_where_it_lies() -> None:
    found = traffic_of(criteria(), gold(), runs(THAI))
    assert (found.asked, found.changed, found.share) == (200, 50, 0.25)
    low, high = found.interval
    assert low
    assert high
    # Clopper & Pearson: by either end what was seen, or more, has a probability of 2.5 %.
    assert sum(comb(200, x) * low**x * (1 - low) ** (200 - x) for x in range(50, 201)) == pytest.approx(0.025)
    assert sum(comb(200, x) * high**x * (1 - high) ** (200 - x) for x in range(51)) == pytest.approx(0.025)
    assert found.concentrated == TrafficSegment(tag="lang:th", asked=50, changed=50, share=1.0)
    assert [each.tag for each in found.segments] == ["lang:th", "lang:de", "lang:en", "lang:fi"], "no tag of one value"


@pytest.mark.parametrize("changed", [set(), set(range(0, 200, 5)), set(range(200))], ids=["none", "alike", "all"])
def test_what_changes_alike_everywhere_is_blamed_on_no_tag(changed: set[int]) -> None:
    assert traffic_of(criteria(), gold(), runs(changed)).concentrated is None


@pytest.mark.full
def test_a_tag_is_rarely_named_by_chance() -> None:
    chance = random.Random(7)  # noqa: S311 -- no secret
    named = sum(
        traffic_of(criteria(), gold(), runs(set(chance.sample(range(200), 24)))).concentrated is not None
        for _ in range(60)
    )
    assert named <= 60 * 0.25, "20 % is what the rule allows"


def test_counts_weigh_the_share_alone() -> None:
    found = traffic_of(criteria(), gold(), runs({2}, asked=10, count=9.0))
    assert (found.share, found.changed, found.asked) == (0.5, 1, 10)
    assert [(each.query_id, each.count) for each in found.examples] == [("t2", 9.0)]


def test_a_question_counts_as_labelled_with_all_documents_that_only_one_list_has() -> None:
    label = [TrafficLabel(query_id=name, document=doc, relevant=True) for name, doc in
             (("t2", "a"), ("t2", "x"), ("t6", "a"), ("t10", "b"))]  # fmt: skip
    assert traffic_of(criteria(), gold(), runs(THAI, labels=tuple(label))).labelled == 1


@pytest.mark.parametrize(
    ("gate", "labels", "bound"),
    [
        pytest.param(PRECISION, (), 0.25 / 5, id="one document of five"),
        pytest.param({"name": "recall@5", "threshold": 0.1}, (), 0.25, id="recall"),
        pytest.param({"name": "mrr@5", "threshold": 0.1}, (), 0.25, id="an order"),
        pytest.param({"name": "precision(rel=2)@5", "threshold": 0.1}, (), 0.25, id="grades, which no label has"),
        pytest.param(PRECISION, (("t2", "a", False), ("t6", "x", True)), 48 / 200 / 5, id="by what is labelled"),
    ],
)
def test_what_can_be_lost_at_most(
    gate: dict[str, object], labels: tuple[tuple[str, str, bool], ...], bound: float
) -> None:
    given = tuple(TrafficLabel(query_id=name, document=doc, relevant=yes) for name, doc, yes in labels)
    found = traffic_of(criteria(gate), gold(), runs(THAI, labels=given))
    assert found.share == 0.25
    assert found.bound == pytest.approx(bound)


def test_questions_of_the_gold_set_are_named() -> None:
    assert traffic_of(criteria(), gold("What  is 3?", "another"), runs(set())).repeated == ["t3"]


def line_of(traffic: Traffic) -> tuple[str, list[str]]:
    return traffic_line(traffic, str), traffic_command(traffic)


COMPARED = Traffic(named=2000, recorded=2000, asked=2000, k=5, limit=0.03)
THAI_PART = TrafficSegment(tag="lang:th", asked=300, changed=146, share=0.61)
POOL = ["rankgate", "gold", "pool", "--traffic", "--n"]


def test_traffic_that_the_accepted_run_or_either_run_lacks() -> None:
    new = replace(runs(set()), before=())
    neither = replace(new, now=())
    assert [line_of(traffic_of(criteria(), gold(), each)) for each in (new, neither)] == [
        ("The 200 traffic questions are compared as soon as a run with traffic is accepted.", []),
        ("The run has no line for the 200 traffic questions: record again.", []),
    ]


@pytest.mark.parametrize(
    ("changed", "k", "count"),
    [
        (1, 5, "1 of 2,000 questions gets other results among the first 5."),
        (2, 5, "2 of 2,000 questions get other results among the first 5."),
        (2, 1, "2 of 2,000 questions get another first result."),
    ],
)
def test_one_question_gets_and_several_get_other_results(changed: int, k: int, count: str) -> None:
    shown = changed_traffic(replace(COMPARED, changed=changed, k=k))
    assert shown is not None
    assert shown.count == count


@pytest.mark.parametrize(
    ("change", "line", "command"),
    [
        pytest.param(
            {"changed": 240, "share": 0.12, "concentrated": THAI_PART},
            "12.0% of 2,000 traffic questions get other results, 61% of them lang:th: unlabelled.",
            [*POOL, "40"],
            id="unlabelled",
        ),
        pytest.param(
            {"changed": 240, "share": 0.12, "labelled": 25, "empty": 7},
            "12.0% of 2,000 traffic questions get other results, 7 none at all: 25 of 240 labelled.",
            [*POOL, "40"],
            id="partly-labelled",
        ),
        pytest.param(
            {"changed": 12, "share": 0.12, "labelled": 12},
            "12.0% of 2,000 traffic questions get other results: 12 of 12 labelled.",
            [],
            id="all-labelled",
        ),
        pytest.param(
            {"changed": 12, "share": 0.2},
            "20.0% of 2,000 traffic questions get other results: unlabelled.",
            [*POOL, "12"],
            id="fewer-than-a-sheet",
        ),
        pytest.param(
            {"changed": 40, "share": 0.02},
            "2.0% of 2,000 traffic questions get other results: at most 2.0 points can be lost there, 3.0 are allowed; "
            "no label is needed.",
            [],
            id="below-the-limit",
        ),
        pytest.param(
            {"changed": 240, "share": 0.12, "bound": 0.024, "labelled": 3},
            "12.0% of 2,000 traffic questions get other results: at most 2.4 points can be lost there, 3.0 are "
            "allowed; no further label is needed.",
            [],
            id="one-document-of-five",
        ),
        pytest.param({}, "None of 2,000 traffic questions gets other results among the first 5.", [], id="none"),
        pytest.param(
            {"asked": 500, "changed": 60, "share": 0.12},
            "12.0% of the 500 traffic questions compared (of 2,000) get other results: unlabelled.",
            [*POOL, "40"],
            id="a-part",
        ),
        pytest.param(
            {"asked": 0, "named": 1},
            "The 1 traffic question is compared as soon as a run with traffic is accepted.",
            [],
            id="one-not-accepted-yet",
        ),
    ],
)
def test_the_second_line(change: dict[str, object], line: str, command: list[str]) -> None:
    given = {"bound": change.get("share", 0.0), **change}
    traffic = replace(COMPARED, **given)
    assert line_of(traffic) == (line, command)
    assert len(f"{line} {' '.join(command)}".split()) <= 30


@pytest.mark.parametrize(
    ("traffic", "verdict"),
    [
        pytest.param(Traffic(named=9, asked=9, changed=9, share=1.0, empty=9), Verdict.PASS, id="never-by-itself"),
        pytest.param(Traffic(named=9, asked=9, changed=9, share=1.0, absent=4), Verdict.WARN, id="lines-are-missing"),
    ],
)
def test_what_it_does_to_the_verdict(traffic: Traffic, verdict: Verdict) -> None:
    report = Report(verdict=Verdict.PASS, summary="", provenance=Provenance(rankgate="0", date="2026-01-31"))
    found = concluded(with_keys(report, traffic=traffic, warnings=warnings_of(traffic)))
    assert (found.verdict, found.conclusion.traffic) == (verdict, traffic_share(traffic))
