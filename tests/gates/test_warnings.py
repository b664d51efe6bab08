"""Suspicious facts: each is told once, with at most three examples, and a sound set of inputs has none."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gate_rows import scores_of
from tests.gates.deciding import decide
from tests.rows import each_row

from rankgate.criteria import Criteria, Gate, Limits, SegmentRule
from rankgate.gates.judged import Judge, PeopleUnits, without_labels
from rankgate.gates.sights import (
    SightFact,
    UnseenAnswers,
    judged_facts,
    power_facts,
    proof_facts,
    sight_facts,
    small_parts,
)
from rankgate.gates.warnings import InputFact, gate_facts, gold_facts, run_facts, unseen_facts
from rankgate.metrics.answers import SPREADS
from rankgate.metrics.matching import By, Matching
from rankgate.metrics.names import parse_metric
from rankgate.model.answers import Advisory, AnswerFlaw
from rankgate.model.values import Details, Evidence, Gold, Item, Ranking, Sample
from rankgate.renderers import warnings
from rankgate.renderers.warnings import fact_text


def sample(query_id: str, *relevant: str, **known: object) -> Sample:
    return Sample(query_id=query_id, gains=dict.fromkeys(relevant, 1.0), **known)  # type: ignore[arg-type]


def stated(query_id: str, documents: dict[str, str]) -> Ranking:
    items = [Item(doc_id=document) for document in documents.values()]
    return Ranking(query_id, list(documents), details=Details(items=items))


def gold_of(*samples: Sample) -> Gold:
    return Gold(samples={each.query_id: each for each in samples}, name="gold.yaml", format="yaml", fingerprint="")


def many(count: int) -> list[str]:
    return [f"q{number}" for number in range(1, count + 1)]


LEFT_OUT = "without a relevant document and without no_answer: true, left out of relevance metrics"
CAPPED = "1 question has more relevant documents than recall@2 sees, so that it can reach 83.3% at best; 'q1'"


def never_passes(gate: str, floor: str, best: str) -> str:
    return f"gate {gate!r} can never pass: its floor is {floor}, the best possible {gate} on this gold set is {best}"


SOUND = gold_of(sample("q1", "a", question="one"), sample("q2", "b", question="two"), sample("q3", no_answer=True))


@pytest.mark.parametrize(
    ("gold", "facts"),
    [
        pytest.param(SOUND, [], id="sound"),
        pytest.param(gold_of(sample("q1", "a"), sample("q2", "b")), [], id="no questions at all"),
        pytest.param(gold_of(sample("q1", "a"), sample("q2")), [f"1 sample {LEFT_OUT}; 'q2'"], id="nothing relevant"),
        pytest.param(
            gold_of(Sample(query_id="q1", gains={"a": 0.0, "b": -1.0})),
            [f"1 sample {LEFT_OUT}; 'q1'"],
            id="only gains that are not relevant",
        ),
        pytest.param(
            gold_of(*map(sample, many(5))),
            [f"5 samples {LEFT_OUT}; 'q1', 'q2', 'q3' and 2 more"],
            id="at most three examples",
        ),
        pytest.param(
            gold_of(
                sample("q1", "a", question="How much?"),
                sample("q2", "b", question="  how\n MUCH? "),
                sample("q3", "c", question="how much"),
            ),
            ["1 question is asked more than once: 'q1' = 'q2'"],
            id="a question twice, in other letters and spaces",
        ),
        pytest.param(
            gold_of(*(sample(f"q{n}{m}", "a", question=f"question {n}") for n in range(4) for m in "ab")),
            ["4 questions are asked more than once: 'q0a' = 'q0b'; 'q1a' = 'q1b'; 'q2a' = 'q2b'"],
            id="several questions twice",
        ),
        pytest.param(
            gold_of(sample("a\x1b[31m")), [rf"1 sample {LEFT_OUT}; 'a\x1b[31m'"], id="control characters in an id"
        ),
    ],
)
def test_facts_of_a_gold_set(gold: Gold, facts: list[str]) -> None:
    assert said(gold_facts(gold)) == facts


ANSWERS = [Ranking("q1", ["a"]), Ranking("q2", ["b"]), Ranking("q3", ["x"])]


@pytest.mark.parametrize(
    ("rankings", "facts"),
    [
        pytest.param(ANSWERS, [], id="sound"),
        pytest.param(
            ANSWERS[:2], ["1 question is absent from the run and would score as worst; 'q3'"], id="an absent query"
        ),
        pytest.param(
            ANSWERS[:1],
            ["2 questions are absent from the run and would score as worst; 'q2', 'q3'"],
            id="absent queries",
        ),
        pytest.param(
            [*ANSWERS, Ranking("q4", ["a"])],
            ["1 question of the run without a sample in the gold set; 'q4'"],
            id="an unknown query",
        ),
        pytest.param(
            [*ANSWERS, *(Ranking(query_id, ["a"]) for query_id in many(9)[3:])],
            ["6 questions of the run without a sample in the gold set; 'q4', 'q5', 'q6' and 3 more"],
            id="unknown queries",
        ),
        pytest.param(
            [Ranking("q1", ["a"], duplicates=2), Ranking("q2", ["b"], duplicates=1), ANSWERS[2]],
            ["3 repeated ids in 2 rankings of the run would be removed; 'q1', 'q2'"],
            id="repeated ids",
        ),
        pytest.param(
            [Ranking("q1", []), *ANSWERS[1:]], ["1 ranking of the run without a single result; 'q1'"], id="empty list"
        ),
        pytest.param(
            [Ranking("q1", []), Ranking("q4", ["a"]), Ranking("q2", ["b"], duplicates=1)],
            [
                "1 question is absent from the run and would score as worst; 'q3'",
                "1 question of the run without a sample in the gold set; 'q4'",
                "1 repeated id in 1 ranking of the run would be removed; 'q2'",
                "1 ranking of the run without a single result; 'q1'",
            ],
            id="all at once",
        ),
    ],
)
def test_facts_of_a_run(rankings: list[Ranking], facts: list[str]) -> None:
    assert said(run_facts(SOUND, rankings)) == facts


@pytest.mark.parametrize(
    ("runs", "facts"),
    [
        pytest.param([ANSWERS], [], id="all are seen"),
        pytest.param([], [], id="no run"),
        pytest.param([[Ranking("q1", ["b", "a"])]], [], id="seen for another query"),
        pytest.param([[Ranking("q1", ["a"])], [Ranking("q2", ["b"])]], [], id="seen in either run"),
        pytest.param([ANSWERS[:1]], ["1 of 2 relevant ids occurs in no ranking; 'b'"], id="one is not"),
        pytest.param(
            [[Ranking("q1", ["a#1"]), Ranking("q2", ["b#1"])]],
            ["2 of 2 relevant ids occur in no ranking; 'a', 'b'; did the ids change since the gold was written?"],
            id="most are not",
        ),
    ],
)
def test_relevant_ids_that_no_ranking_holds(runs: list[list[Ranking]], facts: list[str]) -> None:
    assert said(unseen_facts(SOUND, runs, Matching())) == facts


@pytest.mark.parametrize(
    ("rankings", "how"),
    [
        pytest.param([Ranking("q1", ["a#1"]), Ranking("q2", ["b#1"])], By.DOC, id="documents by the ids"),
        pytest.param([stated("q1", {"x": "a"}), stated("q2", {"y": "b"})], By.DOC, id="documents as they are stated"),
        pytest.param([Ranking("q1", ["x"])], By.TEXT, id="passages are no ids"),
    ],
)
def test_ids_are_seen_as_they_are_matched(rankings: list[Ranking], how: By) -> None:
    assert unseen_facts(SOUND, [rankings], Matching(by=how)) == []


def criteria_of(
    name: str, threshold: float | None = None, default_k: int = 5, evidence: Evidence = Evidence.ESTIMATE
) -> Criteria:
    gate = Gate(
        name=name, metric=parse_metric(name), threshold=threshold, regression_max=0.1, evidence=evidence, line=2
    )
    return Criteria(name="c.yaml", gates=(gate,), default_k=default_k)


@pytest.mark.parametrize(("severity", "unseen"), [("error", [*AnswerFlaw][1:]), ("warning", [*AnswerFlaw])])
def test_that_answers_are_empty_is_seen_without_a_judge_where_the_gate_blocks(
    severity: str, unseen: list[AnswerFlaw]
) -> None:
    (gate,) = criteria_of("answered_rate").gates
    criteria = Criteria(name="c.yaml", gates=(gate.model_copy(update={"severity": severity}),))
    judges = {"answered_rate": Judge(None, PeopleUnits(without_labels(Advisory.FILE)))}
    assert judged_facts(criteria, SOUND, [], judges)[-1] == UnseenAnswers(tuple(unseen), asks_rubric=False)


THREE_RELEVANT = gold_of(sample("q1", "a", "b", "c"), sample("q2", "d"), sample("q3", no_answer=True))
LONG = [Ranking("q1", [f"x{number}" for number in range(50)])]


@each_row(
    ("criteria", "gold", "rankings", "facts"),
    [
        pytest.param(criteria_of("recall@5", 0.9), SOUND, LONG, [], id="sound"),
        pytest.param(criteria_of("recall@5"), SOUND, [], [], id="no run"),
        pytest.param(
            criteria_of("recall@5"),
            SOUND,
            ANSWERS,
            ["the longest ranking has 1 result, and 'recall@5' looks at more"],
            id="lists shorter than the cut-off",
        ),
        pytest.param(criteria_of("mrr", 0.9), SOUND, ANSWERS, [], id="no cut-off to fall short of"),
        pytest.param(
            criteria_of("recall@2"), THREE_RELEVANT, LONG, [CAPPED], id="more relevant documents than the cut-off"
        ),
        pytest.param(
            criteria_of("recall@2", 0.9),
            THREE_RELEVANT,
            LONG,
            [CAPPED, never_passes("recall@2", "90.0%", "83.3%")],
            id="a floor out of reach",
        ),
        pytest.param(
            criteria_of("recall@2", 0.8334),
            THREE_RELEVANT,
            LONG,
            [CAPPED, never_passes("recall@2", "83.34%", "83.33%")],
            id="a floor out of reach by less than a decimal",
        ),
        pytest.param(
            criteria_of("recall@2", 0.8333333333333334),
            THREE_RELEVANT,
            LONG,
            [CAPPED],
            id="a floor just within reach, as gates round",
        ),
        pytest.param(
            criteria_of("precision@5", 0.5),
            SOUND,
            LONG,
            [never_passes("precision@5", "50.0%", "20.0%")],
            id="fewer relevant documents than places",
        ),
        pytest.param(
            criteria_of("recall", default_k=1),
            THREE_RELEVANT,
            LONG,
            ["1 question has more relevant documents than recall@k sees, so that it can reach 66.7% at best; 'q1'"],
            id="the criteria's own k",
        ),
        pytest.param(criteria_of("ndcg@2", 0.99), THREE_RELEVANT, LONG, [], id="a metric that k does not cap"),
        pytest.param(criteria_of("latency", 10), SOUND, LONG, [], id="latency has no best"),
        pytest.param(
            criteria_of("err", 0.9),
            gold_of(sample("q1", *"abcdefg")),
            LONG,
            [never_passes("err", "0.900", "0.146")],
            id="no list reaches 1, and all of it counts",
        ),
        pytest.param(criteria_of("dcg", 10), SOUND, LONG, [], id="nor has a metric without an upper end"),
        pytest.param(
            criteria_of("recall@5", 0.9), gold_of(sample("q1", no_answer=True)), LONG, [], id="nothing to find"
        ),
    ],
)
def test_what_is_impossible_for_a_gate(
    criteria: Criteria, gold: Gold, rankings: list[Ranking], facts: list[str]
) -> None:
    assert said(gate_facts(criteria, gold, rankings)) == facts


def said(facts: Sequence[InputFact | SightFact]) -> list[str]:
    return [fact_text(fact) for fact in facts]


def test_every_fact_has_its_sentence() -> None:
    kinds = {each for kind in (SightFact, InputFact) for each in leaves(kind)}
    assert kinds == set(warnings.WORDED)


def leaves(kind: type[object]) -> set[type[object]]:
    """The classes below one that have none below them."""
    below = kind.__subclasses__()
    return {kind} if not below else {leaf for each in below for leaf in leaves(each)}


def power_of(gold: Gold, *gates: str, **known: object) -> list[str]:
    found = [criteria_of(name).gates[0] for name in gates]
    criteria = Criteria(name="c.yaml", gates=tuple(gate.model_copy(update=known) for gate in found), default_k=5)
    return said(power_facts(criteria, gold, []))


BLIND = (
    "{} detect a drop of {} points or more in 4 of 5 runs (10.0 points allowed); to detect 20.0 points take about {}"
)
BY_LANG = SegmentRule(by=("lang",), threshold=None, regression_max=0.1, min_queries=3)


def tagged(**sizes: int) -> Gold:
    pairs = [(lang, number) for lang, size in sizes.items() for number in range(size)]
    return gold_of(*(sample(f"{lang}-{number}", "a", tags=(f"lang:{lang}",)) for lang, number in pairs))


def test_before_any_run_the_number_of_questions_tells_what_can_be_seen() -> None:
    few, enough = (gold_of(*(sample(query_id, "a") for query_id in many(count))) for count in (13, 14))
    assert power_of(few, "recall@5") == [f"gate 'recall@5': {BLIND.format('13 questions', '20.0', 14)}"]
    assert power_of(enough, "recall@5", "latency") == []


def test_questions_that_a_gate_cannot_score_do_not_help_it_to_see() -> None:
    unanswered = (sample(f"none-{number}", no_answer=True) for number in range(100))
    [fact] = power_of(gold_of(*unanswered, sample("q1", "a")), "recall@5")
    assert fact.startswith("gate 'recall@5': 1 question detects a drop of 46.2 points or more ")


def test_of_segments_the_smallest_is_named_that_is_judged_at_all() -> None:
    gold = tagged(en=14, pt=13, es=10, fr=2)
    assert power_of(gold, "recall@5", regression_max=None, segments=(BY_LANG,)) == [
        f"gate 'recall@5', 2 segments of 4: in 'lang:es' {BLIND.format('10 questions', '21.4', 14)}"
    ]


def test_what_a_gate_sees_is_said_though_it_is_enough() -> None:
    gold = gold_of(*(sample(query_id, "a") for query_id in many(800)))
    of_harm = criteria_of("recall@5", evidence=Evidence.PROVEN_HARM)
    assert said(sight_facts(of_harm, gold, [])) == [
        "gate 'recall@5': 800 questions detect a drop of 11.3 points or more in 4 of 5 runs (10.0 points allowed)"
    ]
    few = gold_of(sample("q1", "a"))
    assert (sight_facts(of_harm, few, []), len(power_facts(of_harm, few, []))) == ([], 1)


@pytest.mark.parametrize(
    ("sizes", "evidence", "sentence"),
    [
        pytest.param({"en": 200, "de": 200}, Evidence.PROVEN_HARM, None, id="large enough"),
        pytest.param(
            {"en": 200, "de": 25},
            Evidence.PROVEN_HARM,
            "1 of 2 segments, of 25 questions, detects only losses above 34.5 points in 4 of 5 runs",
            id="one too small",
        ),
        pytest.param(
            {f"l{number}": 25 for number in range(12)},
            Evidence.PROVEN_HARM,
            "12 of 12 segments, of 25 questions, detect only losses above 40.4 points in 4 of 5 runs",
            id="twelve share the level",
        ),
        pytest.param(
            {"en": 13, "de": 12},
            Evidence.ESTIMATE,
            "2 of 2 segments, of 12 to 13 questions, detect only losses above 20.0 points in 4 of 5 runs",
            id="by estimate",
        ),
        pytest.param({"en": 2, "de": 2}, Evidence.PROVEN_HARM, None, id="not judged at all"),
    ],
)
def test_segments_too_small_to_prove_their_limit_are_counted(
    sizes: dict[str, int], evidence: Evidence, sentence: str | None
) -> None:
    gate = criteria_of("recall@5", evidence=evidence).gates[0].model_copy(update={"segments": (BY_LANG,)})
    small = small_parts(Criteria(name="c.yaml", gates=(gate,), default_k=5), tagged(**sizes))
    assert (small and fact_text(small)) == sentence


def test_recall_of_many_documents_moves_in_small_steps_and_clusters_count_as_one() -> None:
    samples = [sample(query_id, *(f"d{number}" for number in range(16))) for query_id in many(12)]
    assert power_of(gold_of(*samples), "recall@5") == []  # a spread of 0.125, not 0.43
    clustered = [replace(each, cluster=f"c{number // 6}") for number, each in enumerate(samples)]
    [fact] = power_of(gold_of(*clustered), "recall@5", regression_max=0.06)
    assert "12 questions detect a drop of 13.4 points" in fact  # by a spread of 0.125 · √6


def test_segments_without_a_drop_of_their_own_promise_none() -> None:
    rule = BY_LANG.model_copy(update={"threshold": 0.5, "regression_max": None})
    assert power_of(tagged(en=10), "recall@5", regression_max=None, segments=(rule,)) == []


def test_with_runs_what_moved_tells_what_can_be_seen() -> None:
    gold = gold_of(*(sample(query_id, "a") for query_id in many(100)))
    criteria = criteria_of("recall@5", evidence=Evidence.PROVEN_HARM)
    moved: list[float | None] = [float(number < 40) for number in range(100)]
    before, now = (scores_of(gold.samples, {"recall@5": each}) for each in (moved, moved[::-1]))
    assert power_facts(criteria, gold, []) == []
    fact, lost = said(power_facts(criteria, gold, [decide(criteria.gates[0], now, before)]))
    assert fact.startswith("gate 'recall@5': 100 questions detect a drop of 26.8 points or more ")
    assert "assumed" not in fact
    assert lost == "gate 'recall@5': a fifth of 40.0%, 8.0 points, can be lost unseen: a drop of 10.0 points is allowed"
    won = replace(now, values={"recall@5": [1.0] * 100})
    assert power_facts(criteria, gold, [decide(criteria.gates[0], won, before)]) == [], "it excludes the limit"


def test_a_rule_that_judges_none_of_its_segments_is_named_with_the_number_that_it_takes() -> None:
    rule = BY_LANG.model_copy(update={"min_queries": 30})
    twelve = tagged(**{f"l{number}": 25 for number in range(12)})
    said = (
        "gate 'recall@5' judges none of its 12 segments by 'lang': at most 25 questions, fewer than 30 (`min_queries`)"
    )
    assert said in power_of(twelve, "recall@5", segments=(rule,))
    one = "gate 'recall@5' does not judge its only segment by 'lang': at most 29 questions, fewer than 30"
    assert any(fact.startswith(one) for fact in power_of(tagged(en=29), "recall@5", segments=(rule,)))
    for enough in (tagged(en=30), tagged(en=30, **{f"l{number}": 25 for number in range(12)})):
        assert [
            fact
            for fact in power_of(enough, "recall@5", segments=(rule,))
            if "only segment" in fact or "none of its" in fact
        ] == []


@pytest.mark.parametrize("metric", ["faithfulness", "unfaithful_rate", "citation_recall"])
def test_where_only_an_answer_tells_what_counts_every_question_may(metric: str) -> None:
    """Of segments of judged gates only what two runs measured is said: without people's labels J is not known."""
    assert power_of(tagged(en=40, de=29), metric, segments=(BY_LANG,)) == []
    gold = gold_of(*(sample(f"q{n}", cluster=f"c{n}") for n in range(100)))
    assert proof_facts(criteria_of(metric), gold) == []


@pytest.mark.parametrize("moved", [0, 3])
def test_answers_that_hardly_moved_promise_no_more_than_before_any_run(moved: int) -> None:
    """What a gate sees then lies between the two that `validate` names."""
    gate, units = criteria_of("faithfulness").gates[0], PeopleUnits(without_labels(Advisory.FILE))
    ids = tuple(many(200))
    now, before = (
        scores_of(ids, {"faithfulness": [*([0.0] * count), *([1.0] * (200 - count))]}) for count in (moved, 0)
    )
    result = decide(gate, now, before, units)
    assert result.evidence.detectable
    assert SPREADS[0] < result.evidence.detectable.spread < SPREADS[1]
    criteria = Criteria(name="c.yaml", gates=(gate,), default_k=5)
    gold = gold_of(*(sample(query_id) for query_id in ids))
    judges = {"faithfulness": Judge(None, units)}
    facts = [said(judged_facts(criteria, gold, each, judges)) for each in ([result], [])]
    assert facts[0] == facts[1]


def test_only_segments_with_limits_count_for_a_rule() -> None:
    rule = SegmentRule(by=("lang",), only={"de": Limits(threshold=0.5)}, min_queries=30)
    [fact] = power_of(tagged(en=100, de=20), "recall@5", segments=(rule,))
    assert fact.startswith("gate 'recall@5' does not judge its only segment by 'lang': at most 20 questions")


THREE = "a drop of 3.0 points is allowed"
LOST = "gate 'found': a fifth of {}, {}, can be lost unseen: {}"


@pytest.mark.parametrize(
    ("value", "count", "known", "fact"),
    [
        pytest.param(
            0.11,
            1000,
            {},
            LOST.format("11.0%", "2.2 points", THREE),
            id="three points of 11 %",
        ),
        pytest.param(0.9, 1000, {}, None, id="three points of 90 %"),
        pytest.param(0.15, 100_000, {}, LOST.format("15.0%", "3.0 points", THREE), id="exactly"),
        pytest.param(
            0.9,
            10,
            {"evidence": Evidence.PROVEN_HARM},
            LOST.format("90.0%", "18.0 points", "only drops of 65.7 points or more are detected in 4 of 5 runs"),
            id="ten questions prove little",
        ),
        pytest.param(0.9, 40, {"evidence": Evidence.PROVEN_HARM}, None, id="forty prove enough"),
        pytest.param(0.11, 1000, {"threshold": 0.1}, None, id="the floor catches it"),
        pytest.param(
            0.11,
            1000,
            {"threshold": 0.1, "evidence": Evidence.PROVEN_HARM},
            LOST.format("11.0%", "2.2 points", THREE),
            id="a floor that would have to be proven does not",
        ),
        pytest.param(0.11, 1000, {"regression_max": None, "threshold": 0.01}, None, id="no drop is promised to stop"),
        pytest.param(0.0, 1000, {}, None, id="nothing is left to lose"),
        pytest.param(0.11, 1000, {"metric": parse_metric("misroute_rate")}, None, id="lower is better"),
    ],
)
def test_a_gate_that_cannot_see_a_fifth_of_its_value_lost_is_named(
    value: float, count: int, known: dict[str, object], fact: str | None
) -> None:
    gate = Gate(name="found", metric=parse_metric("recall@5"), threshold=None, regression_max=0.03, line=1)
    gate = gate.model_copy(update=known)
    hits = round(value * count)
    column: list[float | None] = [float(row < hits) for row in range(count)]
    now = scores_of(many(count), {gate.metric.name: column})
    criteria = criteria_of("recall@5").model_copy(update={"gates": (gate,)})
    gold = gold_of(sample("q1", "a"))
    facts = said(power_facts(criteria, gold, [decide(gate, now, now)]))
    assert [each for each in facts if "can be lost unseen" in each] == ([fact] if fact else [])


@pytest.mark.parametrize(
    ("questions", "limit", "share"),
    [
        pytest.param(100, 3, "24%", id="100 questions"),
        pytest.param(200, 3, "74%", id="200 questions"),
        pytest.param(300, 3, "94%", id="300 questions"),
        pytest.param(100, 0, "92%", id="none may be lost"),
        pytest.param(100, 5, "4%", id="one too few"),
        pytest.param(100, 6, None, id="enough"),
        pytest.param(20_000, 3, "100%", id="many questions"),
        pytest.param(5, 5, None, id="as many as there are"),
    ],
)
def test_what_max_lost_queries_does_to_neutral_changes_is_said(questions: int, limit: int, share: str | None) -> None:
    """The expected share adds up the binomial distribution in whole numbers, where these are few."""
    gold = gold_of(*(sample(query_id, "a") for query_id in many(questions)))
    facts = power_of(gold, "recall@5", max_lost_queries=limit, evidence=Evidence.PROVEN_HARM)
    said = (
        f"gate 'recall@5': `max_lost_queries: {limit}` beside proven_harm blocks {share} of the changes that lose 2.5% "
        f"of {questions:,} questions and win as many"
    )
    assert [fact for fact in facts if "max_lost" in fact] == ([said] if share else [])
    if questions <= 300:
        blocked = 1 - float(_at_most(questions, limit))
        assert (f"{blocked:.0%}" == share) if share else blocked <= 0.025
    assert not any("max_lost" in fact for fact in power_of(gold, "recall@5", max_lost_queries=limit))


def _at_most(questions: int, count: int) -> Fraction:
    lost = Fraction(1, 40)
    return sum(
        (comb(questions, k) * lost**k * (1 - lost) ** (questions - k) for k in range(count + 1)), start=Fraction(0)
    )


CLUSTER = "of questions; from"
HARM = "6 on harm can be proven, from 10 on a low value can"


@pytest.mark.parametrize(
    ("metric", "clusters", "facts"),
    [
        pytest.param("recall@5", [None] * 40, [], id="no clusters"),
        pytest.param("recall@5", [*map(str, range(10))] * 4, [], id="ten"),
        pytest.param(
            "recall@5",
            [*map(str, range(9))] * 4,
            [f"gate 'g': 9 clusters {CLUSTER} 10 on a low value can"],
            id="nine: no interval",
        ),
        pytest.param("recall@5", ["a", "b"] * 20, [f"gate 'g': 2 clusters {CLUSTER} {HARM}"], id="two: no proof"),
        pytest.param("recall@5", ["a"] * 20 + [None] * 20, [], id="a question of none is one of its own"),
        pytest.param(
            "latency(quantile=0.99)",
            [None] * 367,
            ["gate 'g': 367 questions give latency(quantile=0.99) no bound; the swap test alone can prove a change"],
            id="too few for a bound",
        ),
        pytest.param("latency(quantile=0.99)", ["a"] * 368, [], id="enough; clusters are not asked for"),
    ],
)
def test_what_is_too_few_for_a_proof(metric: str, clusters: list[str | None], facts: list[str]) -> None:
    gold = gold_of(*(sample(f"q{row}", "a", cluster=cluster) for row, cluster in enumerate(clusters)))
    assert said(proof_facts(proving(Gate(name="g", metric=parse_metric(metric), **LIMITS)), gold)) == facts


LIMITS: Any = {"threshold": None, "regression_max": 0.03, "line": None}


def proving(gate: Gate) -> Criteria:
    return Criteria(name="c.yaml", gates=(gate,), default_k=5)


def test_segments_of_too_few_clusters_are_named_where_they_are_judged_at_all() -> None:
    tags = [("de", 3, 30), ("en", 8, 40), ("fr", 12, 36), ("pt", 2, 10)]
    gold = gold_of(
        *(
            sample(f"{lang}{row}", "a", tags=(f"lang:{lang}",), cluster=f"{lang}{row % clusters}")
            for lang, clusters, size in tags
            for row in range(size)
        )
    )
    rule = SegmentRule(by=("lang",), threshold=0.5, regression_max=None)
    found = said(proof_facts(proving(Gate(name="g", metric=parse_metric("mrr"), segments=(rule,), **LIMITS)), gold))
    assert found == [
        f"gate 'g', 'lang:de': 3 clusters {CLUSTER} {HARM}",
        f"gate 'g', 'lang:en': 8 clusters {CLUSTER} 10 on a low value can",
    ]
