"""Gates over traffic: measured by the draw for this pair of runs, and failing only by what that proves."""

from __future__ import annotations

import pytest

from rankgate.collecting.traffic import drawn_for, sheet_of
from rankgate.criteria.gate import Gate
from rankgate.criteria.model import Criteria, criteria_in
from rankgate.gates.traffic import decide_traffic
from rankgate.model.reasons import sentences
from rankgate.model.traffic_lists import TrafficLabel, TrafficLists, TrafficPair, TrafficQuestion, TrafficSheet
from rankgate.model.values import EvidenceState, Verdict

GOLD = "inputs: {traffic: traffic.jsonl}\ngates:\n- {name: recall@5, threshold: 0.5}\n"
OTHER = TrafficSheet(run="0" * 16, baseline="0" * 16, n=40)


def criteria(gate: str) -> Criteria:
    return criteria_in(f"{GOLD}- {gate}\n", "criteria.yaml")


def gate_of(text: str = "{name: precision@2, over: traffic, regression_max: 0.03}") -> Gate:
    return criteria(text).traffic_gates[0]


def pair(number: int, *, changed: bool, count: float = 1.0) -> TrafficPair:
    """One of two documents gave way to another."""
    name = f"q{number}"
    question = TrafficQuestion(query_id=name, question=f"What is {number}?", count=count)
    now = ("both", f"new{number}" if changed else "old")
    return TrafficPair(question=question, before=("both", "old"), now=now, changed=changed)


def lists(changed: int, asked: int = 400) -> TrafficLists:
    pairs = tuple(pair(number, changed=number < changed) for number in range(asked))
    return TrafficLists(k=2, named=asked, pairs=pairs)


def labels(some: TrafficLists, n: int, *, losing: int, blank: int = 0, who: str = "ana") -> list[TrafficLabel]:
    """Of the first so many drawn questions the old document is relevant, and of no other anything."""
    given: list[TrafficLabel] = []
    for rank, question in enumerate(drawn_for(some, n).questions[: n - blank]):
        old = TrafficLabel(query_id=question, document="old", relevant=rank < losing, labeller=who)
        new = TrafficLabel(query_id=question, document=f"new{question[1:]}", relevant=False, labeller=who)
        given += [old, new]
    return given


@pytest.mark.parametrize(
    ("losing", "blank", "verdict", "state"),
    [
        pytest.param(40, 0, Verdict.FAIL, EvidenceState.CLEAR, id="all lose: 10 points"),
        pytest.param(20, 0, Verdict.FAIL, EvidenceState.CLEAR, id="half lose: 5 points"),
        pytest.param(5, 0, Verdict.PASS, EvidenceState.CLEAR, id="within what is allowed"),
        pytest.param(0, 0, Verdict.PASS, EvidenceState.CLEAR, id="none loses"),
        pytest.param(30, 10, Verdict.FAIL, EvidenceState.CLEAR, id="ten left blank, and it is proven all the same"),
        pytest.param(29, 11, Verdict.PASS, EvidenceState.NO_INTERVAL, id="29 labelled are too few"),
    ],
)
def test_the_verdict_by_40_labels(losing: int, blank: int, verdict: Verdict, state: EvidenceState) -> None:
    some = lists(80)
    result = decide_traffic(gate_of(), some, labels(some, 40, losing=losing, blank=blank), [sheet_of(some, 40)])
    assert (result.verdict, result.evidence.evidence_state) == (verdict, state)
    assert (result.metric, result.segment, result.measured.n) == ("precision@2 over traffic", None, 400)


def test_what_a_failure_says() -> None:
    some = lists(80)
    result = decide_traffic(gate_of(), some, labels(some, 40, losing=30, blank=5), [sheet_of(some, 40)])
    assert result.change.delta == pytest.approx(-0.2 * (30 * 0.5) / 40)
    change = "precision@2 over traffic fell by 7.5 pp (95%: −9.7 to −4.0 pp; allowed drop: 3.0 pp)"
    assert sentences(result) == [f"{change}, by labels of 35 of 40 drawn questions"]


def test_labels_of_another_pair_of_runs_are_no_sample() -> None:
    some = lists(80)
    result = decide_traffic(gate_of(), some, labels(some, 40, losing=40), [OTHER])
    assert (result.verdict, result.change.delta) == (Verdict.PASS, None)
    missing = "precision@2 over traffic is not measured: labels of 30 of 30 drawn questions are missing"
    assert sentences(result) == [f"{missing} (`rankgate gold pool --traffic --n 40`)"]


def test_another_run_is_another_pair() -> None:
    some, other = lists(80), lists(81)
    assert sheet_of(some, 40).baseline == sheet_of(other, 40).baseline
    assert sheet_of(some, 40).run != sheet_of(other, 40).run


def test_the_next_run_of_a_pull_request_gets_a_draw_of_its_own() -> None:
    """Otherwise the questions that it repaired, since they had been drawn, would speak for all."""
    first = set(drawn_for(lists(80), 40).questions)
    repaired = set(drawn_for(lists(81), 40).questions)
    assert 10 < len(first & repaired) < 30


def test_a_change_that_cannot_lose_as_much_needs_no_label() -> None:
    """6 % of the traffic get one other document of two."""
    result = decide_traffic(gate_of(), lists(24), [], [])
    assert result.verdict is Verdict.PASS
    assert sentences(result) == [
        "precision@2 over traffic can lose 3.0 pp at most, whatever further labels say (allowed drop: 3.0 pp)"
    ]


def test_all_that_changed_may_be_fewer_than_30() -> None:
    some = lists(8, asked=20)
    sheets = [sheet_of(some, 40)]
    assert decide_traffic(gate_of(), some, labels(some, 8, losing=8), sheets).verdict is Verdict.FAIL
    result = decide_traffic(gate_of(), some, labels(some, 8, losing=8, blank=1), sheets)
    assert (result.verdict, result.decision.reasons[0].count) == (Verdict.PASS, 1)


def test_hit_needs_to_know_of_what_both_lists_have() -> None:
    gate = gate_of("{name: hit@2, over: traffic, regression_max: 0.03}")
    some = lists(80)
    given, sheets = labels(some, 40, losing=40), [sheet_of(some, 40)]
    assert decide_traffic(gate, some, given, sheets).evidence.evidence_state is EvidenceState.NO_INTERVAL
    for relevant, verdict in ((True, Verdict.PASS), (False, Verdict.FAIL)):
        questions = [pair.question.query_id for pair in some.changed]
        more = [TrafficLabel(query_id=each, document="both", relevant=relevant, labeller="ana") for each in questions]
        assert decide_traffic(gate, some, [*given, *more], sheets).verdict is verdict


def test_two_people_count_half_each() -> None:
    some = lists(80)
    given = [*labels(some, 40, losing=40), *labels(some, 40, losing=0, who="ben")]
    assert decide_traffic(gate_of(), some, given, [sheet_of(some, 40)]).change.delta == pytest.approx(-0.05)


def test_a_gate_that_only_warns() -> None:
    some = lists(80)
    gate = gate_of("{name: precision@2, over: traffic, regression_max: 0.03, severity: warning}")
    result = decide_traffic(gate, some, labels(some, 40, losing=40), [sheet_of(some, 40)])
    assert (result.verdict, result.evidence.only_inconclusive) == (Verdict.WARN, False)


def test_without_an_accepted_list_it_warns() -> None:
    result = decide_traffic(gate_of(), TrafficLists(k=2, named=5, pairs=()), [], [])
    assert (result.verdict, result.evidence.evidence_state) == (Verdict.WARN, EvidenceState.NO_BASELINE)
    assert sentences(result) == ["no baseline: precision@2 over traffic compares with it"]
