"""A gate on the queries that share a tag: what is judged, what blocks, and how many segments are corrected for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import scores_of
from tests.gates.deciding import decide
from tests.rows import each_row

from rankgate.criteria import Gate, Limits, SegmentRule
from rankgate.errors import RankgateError
from rankgate.gates.segments import decide_segments, refuse_unknown
from rankgate.metrics.names import parse_metric
from rankgate.model.gate_result import GateResult
from rankgate.model.headline import paradox_of
from rankgate.model.reasons import sentences
from rankgate.model.scores import KeptQueries, RankSummary, Scores
from rankgate.model.values import Evidence, EvidenceState, Gold, ReasonKind, Sample, Verdict

PASS, WARN, FAIL = Verdict.PASS, Verdict.WARN, Verdict.FAIL
ESTIMATE, SAFE, HARM = Evidence.ESTIMATE, Evidence.PROVEN_SAFE, Evidence.PROVEN_HARM


def gold(tags: Sequence[Sequence[str]]) -> Gold:
    samples = {
        f"q{row}": Sample(query_id=f"q{row}", gains={"a": 1.0}, tags=tuple(each)) for row, each in enumerate(tags)
    }
    return Gold(samples=samples, name="gold.yaml", format="yaml")


def scores(values: Sequence[float | None], metric: str = "recall@5") -> Scores:
    ids = tuple(f"q{row}" for row in range(len(values)))
    columns = {metric: list(values)}
    return scores_of(ids, columns)


def limits(floor: float | None = None, drop: float | None = None) -> Any:
    return {"threshold": floor, "regression_max": drop}


def gate(rule: SegmentRule, evidence: Evidence = ESTIMATE, metric: str = "recall@5") -> Gate:
    return Gate(
        name="the gate",
        metric=parse_metric(metric),
        threshold=0.0,
        regression_max=None,
        evidence=evidence,
        segments=(rule,),
        line=3,
    )


def judged(
    rule: SegmentRule,
    tags: Sequence[Sequence[str]],
    now: Sequence[float | None],
    before: Sequence[float | None] | None = None,
    evidence: Evidence = ESTIMATE,
) -> dict[str, GateResult]:
    found = decide_segments(gate(rule, evidence), gold(tags), scores(now), None if before is None else scores(before))
    return {str(result.segment): result for result in found}


EN, ES = ["lang:en"], ["lang:es"]
TAGS = [EN] * 40 + [ES] * 40
LEVEL = [1.0] * 80


def lost(en: int, es: int) -> list[float]:
    return [0.0] * en + [1.0] * (40 - en) + [0.0] * es + [1.0] * (40 - es)


def test_each_segment_is_judged_for_itself() -> None:
    found = judged(SegmentRule(by=("lang",), **limits(0.9)), TAGS, lost(2, 8))
    assert [(name, result.verdict, result.measured.value) for name, result in found.items()] == [
        ("lang:en", PASS, 0.95),
        ("lang:es", FAIL, 0.8),
    ]
    assert sentences(found["lang:es"]) == [
        "recall@5 is 80.0%, below the floor of 90.0%, within noise (95%: 64.4 to 90.9%)"
    ]
    assert found["lang:es"].measured.n == 40


def test_a_drop_is_taken_within_the_segment() -> None:
    found = judged(SegmentRule(by=("lang",), **limits(None, 0.05)), TAGS, lost(0, 4), LEVEL)
    assert {name: (result.verdict, result.change.delta) for name, result in found.items()} == {
        "lang:en": (PASS, 0.0),
        "lang:es": (FAIL, pytest.approx(-0.1)),
    }


def test_what_a_segment_can_see_depends_on_its_own_relevant_documents() -> None:
    """Recall of one relevant document is a hit and spreads by 0.43, of 25 by 0.5 / sqrt(25) = 0.1.

    A drop of 5 points is allowed, and 0.8416 standard errors of 40 questions more are detected. By the 13 relevant
    documents that a question has in the whole run it would be 0.05 + 0.8416 * 0.1387 / sqrt(40) = 0.0685 in both.
    """
    one, many = (RankSummary(ranks=(1,) * count, retrieved=25, k=5) for count in (1, 25))
    summaries = {f"q{row}": one if tags == EN else many for row, tags in enumerate(TAGS)}
    candidate = replace(scores(LEVEL), kept=KeptQueries(summaries), samples=gold(TAGS).samples)
    found = decide_segments(gate(SegmentRule(by=("lang",), **limits(None, 0.05))), gold(TAGS), candidate, None)
    seen = {result.segment: result.evidence.detectable for result in found}
    assert {segment: round(each.detectable, 4) for segment, each in seen.items() if each} == {
        "lang:en": 0.1072,  # 0.05 + 0.8416 * 0.43 / sqrt(40)
        "lang:es": 0.0633,  # 0.05 + 0.8416 * 0.1 / sqrt(40)
    }


def test_the_values_that_are_named_have_limits_of_their_own() -> None:
    rule = SegmentRule(by=("lang",), **limits(0.9), only={"es": Limits(**limits(0.7), severity="warning")})
    found = judged(rule, TAGS, lost(8, 16))
    assert [(name, result.limits.threshold, result.severity, result.verdict) for name, result in found.items()] == [
        ("lang:en", 0.9, "error", FAIL),
        ("lang:es", 0.7, "warning", WARN),
    ]


def test_without_limits_for_all_only_the_named_are_judged() -> None:
    rule = SegmentRule(by=("lang",), **limits(), only={"es": Limits(**limits(0.9))})
    assert list(judged(rule, TAGS, lost(40, 0))) == ["lang:es"]


@pytest.mark.parametrize(
    ("smallest", "verdict", "small"),
    [pytest.param(40, FAIL, False, id="as many as asked"), pytest.param(41, PASS, True, id="one too few")],
)
def test_a_small_segment_is_shown_and_never_blocks(smallest: int, verdict: Verdict, *, small: bool) -> None:
    found = judged(SegmentRule(by=("lang",), **limits(0.9), min_queries=smallest), TAGS, lost(40, 40))["lang:es"]
    assert (found.verdict, found.evidence.too_small, found.measured.value) == (verdict, small, 0.0)
    assert found.decision.violation == (None if small else 0.9)
    if small:
        assert sentences(found) == ["40 questions, fewer than the 41 that a segment needs to be judged"]


@each_row(
    ("lost", "smallest", "fell"),
    [
        pytest.param(11, 41, True, id="11 of 40 lost, too few to be judged"),
        pytest.param(5, 41, False, id="5 lost may be noise"),
        pytest.param(0, 41, False, id="none lost"),
        pytest.param(6, 40, True, id="6 lost, judged, and more are allowed"),
    ],
)
@each_row("evidence", list(Evidence))
def test_a_segment_that_certainly_fell_is_marked_though_it_does_not_block(
    lost: int, smallest: int, evidence: Evidence, *, fell: bool
) -> None:
    rule = SegmentRule(by=("lang",), **limits(None, 0.3), min_queries=smallest)
    now = [*LEVEL[:40], *[0.0] * lost, *LEVEL[: 40 - lost]]
    found = judged(rule, TAGS, now, LEVEL, evidence)["lang:es"]
    assert found.evidence.fell == fell
    if evidence is not SAFE:
        assert found.verdict is PASS


def test_it_is_marked_where_the_correction_for_many_segments_takes_the_proof_away() -> None:
    """Six lost of 40 are certain alone, and not among twelve."""
    tags = [[f"lang:{number:02}"] for number in range(12) for _ in range(40)]
    before, now = [1.0] * 480, [0.0] * 6 + [1.0] * 474
    found = judged(SegmentRule(by=("lang",), **limits(None, 0.05)), tags, now, before, HARM)
    assert [name for name, result in found.items() if result.evidence.fell] == ["lang:00"]
    first = found["lang:00"]
    assert (first.verdict, first.evidence.evidence_state) == (PASS, EvidenceState.INCONCLUSIVE)


def test_where_lower_is_better_a_rise_is_what_marks() -> None:
    before, now = [0.0] * 80, [0.0] * 40 + [1.0] * 20 + [0.0] * 20
    rule = SegmentRule(by=("lang",), **limits(None, 0.6))
    gold_set, metric = gold(TAGS), "misroute_rate"
    found = decide_segments(gate(rule, metric=metric), gold_set, scores(now, metric), scores(before, metric))
    assert [result.evidence.fell for result in found] == [False, True]


def test_undefined_queries_do_not_count_for_the_size() -> None:
    now = [*LEVEL[:75], *[None] * 5]
    found = judged(SegmentRule(by=("lang",), **limits(0.9), min_queries=36), TAGS, now)
    assert (found["lang:en"].evidence.too_small, found["lang:es"].evidence.too_small) == (False, True)


def test_segments_of_two_tags_are_crossed_where_asked() -> None:
    tags = [["lang:en", "topic:a"], ["lang:en", "topic:b"], ["lang:es", "topic:a", "topic:b"], ["lang:es"]]
    rule = SegmentRule(by=("lang", "topic"), **limits(0.5), min_queries=1)
    found = judged(rule, tags, [1.0, 0.0, 1.0, 0.0])
    assert {name: result.measured.value for name, result in found.items()} == {
        "lang:en × topic:a": 1.0,
        "lang:en × topic:b": 0.0,
        "lang:es × topic:a": 1.0,
        "lang:es × topic:b": 1.0,
    }


def test_a_missing_baseline_is_the_gates_to_say_not_every_segments() -> None:
    found = judged(SegmentRule(by=("lang",), **limits(None, 0.05)), TAGS, LEVEL)
    assert {result.verdict for result in found.values()} == {PASS}
    assert {result.evidence.evidence_state for result in found.values()} == {EvidenceState.NO_BASELINE}


@pytest.mark.parametrize("drop", [None, 0.05])
def test_the_floor_of_a_segment_counts_where_all_of_its_questions_are_new(drop: float | None) -> None:
    before = [1.0] * 40 + [None] * 40
    found = judged(SegmentRule(by=("lang",), **limits(0.8, drop)), TAGS, lost(0, 40), before)
    assert found["lang:en"].verdict is PASS
    assert (found["lang:es"].verdict, found["lang:es"].decision.violation) == (FAIL, 0.8)


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param({"regression_max": 0.05}, id="of every segment"),
        pytest.param({"only": {"en": Limits(regression_max=0.05)}}, id="of one segment"),
    ],
)
def test_a_gate_whose_segments_alone_limit_a_drop_says_that_there_is_no_baseline(limit: dict[str, Any]) -> None:
    result = decide(gate(SegmentRule(by=("lang",), **limit)), scores(LEVEL), None)
    assert result.verdict is WARN
    assert [each.kind for each in result.decision.reasons] == [ReasonKind.NO_BASELINE]
    floors = decide(gate(SegmentRule(by=("lang",), threshold=0.5)), scores(LEVEL), None)
    assert floors.verdict is PASS


def test_questions_that_may_be_lost_are_counted_in_the_whole_and_not_in_a_segment() -> None:
    counting = gate(SegmentRule(by=("lang",), threshold=0.5)).model_copy(update={"max_lost_queries": 0})
    found = decide_segments(counting, gold(TAGS), scores(LEVEL), None)
    assert [[each.kind for each in result.decision.reasons] for result in found] == [[ReasonKind.THRESHOLD]] * 2


def many(segments: int, each: int) -> list[list[str]]:
    return [[f"part:{segment:02}"] for segment in range(segments) for _ in range(each)]


def test_proof_of_harm_is_corrected_for_the_number_of_segments() -> None:
    """Six lost of forty are proof for one segment, as the sign test has it, and none among thirty."""
    rule = SegmentRule(by=("part",), **limits(None, 0.03))

    def first_of(segments: int) -> GateResult:
        before = [1.0] * 40 * segments
        return judged(rule, many(segments, 40), [0.0] * 6 + before[6:], before, HARM)["part:00"]

    assert first_of(1).verdict is FAIL
    found = first_of(30)
    assert found.verdict is PASS
    assert found.evidence.evidence_state is EvidenceState.INCONCLUSIVE
    assert sentences(found)[0].endswith("corrected for 30 segments")
    assert found.limits.confidence > 0.99


def test_without_proof_asked_nothing_is_corrected() -> None:
    tags = many(30, 40)
    before = [1.0] * len(tags)
    now = [0.0] * 6 + before[6:]
    found = judged(SegmentRule(by=("part",), **limits(None, 0.03)), tags, now, before, ESTIMATE)
    assert {result.limits.confidence for result in found.values()} == {0.95}
    assert found["part:00"].verdict is FAIL


def test_within_noise_a_segment_neither_warns_nor_blocks() -> None:
    found = judged(SegmentRule(by=("lang",), **limits(None, 0.03)), TAGS, lost(0, 4), LEVEL, HARM)["lang:es"]
    assert (found.verdict, found.evidence.evidence_state, found.evidence.only_inconclusive) == (
        PASS,
        EvidenceState.INCONCLUSIVE,
        False,
    )


Talk = tuple[int, int]  # how many questions a conversation has, and how many it lost (below zero) or won


def conversations(talks: Sequence[Talk], metric: str = "recall@5") -> GateResult:
    """A segment of these conversations, of which every tenth question may be lost, as `init` allows."""
    lower = metric == "misroute_rate"
    before, now, labels = list[float](), list[float](), list[str]()
    for number, (size, change) in enumerate(talks):
        labels += [f"talk {number}"] * size
        before += [float(row >= change) != lower for row in range(size)]
        now += [float(row >= -change) != lower for row in range(size)]
    rule = SegmentRule(by=("lang",), **limits(None, 0.1), min_queries=1)
    new, old = (replace(scores(column, metric), clusters=tuple(labels)) for column in (now, before))
    (result,) = decide_segments(gate(rule, HARM, metric), gold([EN] * len(labels)), new, old)
    return result


STILL = (10, 0)


@pytest.mark.parametrize(
    ("talks", "verdict", "p"),
    [
        pytest.param([(10, -10), *[STILL] * 7], PASS, 1 / 2, id="one of eight: 12.5 points"),
        pytest.param([(10, -10), (10, -10), *[STILL] * 6], WARN, 1 / 4, id="two of eight: 25 points"),
        pytest.param([(10, -7), (10, -8), *[STILL] * 6], PASS, 1 / 4, id="two of eight: 19 points"),
        pytest.param([*[(10, -3)] * 3, *[STILL] * 5], WARN, 1 / 8, id="three of eight: 11 points"),
        pytest.param([*[(10, -10)] * 3, (10, 10), *[STILL] * 4], PASS, 5 / 16, id="three lost, one won"),
        pytest.param([*[(10, -2)] * 7, (10, 2), STILL], WARN, 9 / 256, id="seven lost, one won: no proof"),
        pytest.param([*[(10, -10)] * 4, *[(10, 10)] * 2], PASS, 22 / 64, id="four lost, two won"),
        pytest.param([*[(10, -2)] * 6, STILL], FAIL, 1 / 64, id="six lost: proof"),
        pytest.param([(10, -2)], WARN, 1 / 2, id="a single one: its sign tells nothing"),
        pytest.param([(20, -20), (4, 0), (4, 0)], WARN, 1 / 2, id="one with two thirds of the questions"),
        pytest.param([(20, -18), (4, 0), (4, 0)], PASS, 1 / 2, id="less than two thirds are lost"),
        pytest.param([*[(10, -10)] * 4, *[STILL] * 26], PASS, None, id="of thirty the interval decides"),
        pytest.param([(10, -1), *[STILL] * 7], PASS, None, id="what is allowed"),
    ],
)
@pytest.mark.parametrize("metric", ["recall@5", "misroute_rate"])
def test_a_loss_in_few_conversations(talks: list[Talk], verdict: Verdict, p: float | None, metric: str) -> None:
    found = conversations(talks, metric)
    state = {PASS: EvidenceState.INCONCLUSIVE, WARN: EvidenceState.NO_INTERVAL, FAIL: EvidenceState.CLEAR}[verdict]
    unproven = found.verdict is not FAIL and p is not None
    assert found.verdict is verdict
    assert found.evidence.only_inconclusive == (verdict is WARN)
    if unproven:
        assert found.evidence.evidence_state is state
        assert found.change.exact is not None
        assert found.change.exact.p == p


def test_what_is_said_of_a_loss_in_few_conversations() -> None:
    for lost, ending in ((1, ", within noise (p = 0.5)"), (2, ", with too few clusters to tell it from noise")):
        (sentence,) = sentences(conversations([*[(10, -10)] * lost, *[STILL] * (8 - lost)]))
        assert sentence.endswith(f"allowed drop: 10.0 pp){ending}")


def test_a_floor_and_a_drop_in_few_conversations() -> None:
    """One of eight conversations is lost: of the drop that is noise; of the floor nobody can tell."""
    rule = SegmentRule(by=("lang",), **limits(0.9, 0.1), min_queries=1)
    labels = tuple(f"talk {row // 10}" for row in range(80))
    new, old = (replace(scores(column), clusters=labels) for column in ([0.0] * 10 + [1.0] * 70, [1.0] * 80))
    (found,) = decide_segments(gate(rule, HARM), gold([EN] * 80), new, old)
    states = {reason.kind: reason.state for reason in found.decision.reasons}
    assert (found.verdict, found.evidence.evidence_state) == (WARN, EvidenceState.NO_INTERVAL)
    assert states == {
        ReasonKind.THRESHOLD: EvidenceState.NO_INTERVAL,
        ReasonKind.REGRESSION: EvidenceState.INCONCLUSIVE,
    }


found_or_not = st.lists(st.sampled_from([0.0, 1.0]), min_size=36, max_size=36)


@given(found_or_not, found_or_not, st.lists(st.integers(0, 35), max_size=12), st.sampled_from([1, 2, 3, 4]))
def test_a_worse_run_is_judged_no_milder_in_few_conversations(
    before: list[float], now: list[float], lost: list[int], size: int
) -> None:
    """Not even where another segment loses: two segments, of five to eighteen conversations each."""
    worse = [0.0 if row in lost else value for row, value in enumerate(now)]
    rule = SegmentRule(by=("lang",), **limits(None, 0.1), min_queries=1)
    labels = tuple(f"talk {row // 2 // size}, {row % 2}" for row in range(36))
    pair = [replace(scores(column), clusters=labels) for column in (now, worse)]
    old = replace(scores(before), clusters=labels)
    verdicts = [
        [result.verdict for result in decide_segments(gate(rule, HARM), gold([EN, ES] * 18), new, old)] for new in pair
    ]
    order = [PASS, WARN, FAIL]
    assert all(order.index(one) <= order.index(other) for one, other in zip(*verdicts, strict=True))


values = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=24, max_size=24)


@pytest.mark.full
@given(values, values)
def test_holm_blocks_no_segment_that_would_pass_alone(before: list[float], now: list[float]) -> None:
    rule = SegmentRule(by=("part",), **limits(None, 0.03), min_queries=1)
    tags = many(4, 6)
    together = judged(rule, tags, now, before, HARM)
    for number, (name, result) in enumerate(together.items()):
        part = slice(6 * number, 6 * number + 6)
        (alone,) = judged(rule, tags[part], now[part], before[part], HARM).values()
        assert name == alone.segment
        assert not (result.verdict is FAIL and alone.verdict is PASS)


def whole(now: Sequence[float], before: Sequence[float]) -> GateResult:
    plain = gate(SegmentRule(by=("lang",), **limits(None, 0.03)))
    return decide(plain, scores(now), scores(before))


@pytest.mark.parametrize(
    ("now", "before", "named"),
    [
        pytest.param(lost(0, 14), lost(20, 0), True, id="the whole rose, Spanish fell"),
        pytest.param(lost(0, 10), lost(10, 0), True, id="the whole is level, Spanish fell"),
        pytest.param(lost(0, 14), lost(5, 0), False, id="the whole fell too"),
        pytest.param(lost(0, 3), lost(20, 0), False, id="Spanish may have fallen by chance"),
        pytest.param(lost(0, 0), lost(20, 14), False, id="both rose"),
    ],
)
def test_simpsons_paradox(now: list[float], before: list[float], *, named: bool) -> None:
    parts = judged(SegmentRule(by=("lang",), **limits(None, 0.5)), TAGS, now, before)
    assert bool(paradox_of([whole(now, before), *parts.values()])) is named


@pytest.mark.full
def test_thirty_segments_name_no_paradox_by_chance() -> None:
    """Six lost of 40 are certain alone, and not among thirty, whatever decides; twelve are."""
    tags = [[f"lang:{number:02}"] for number in range(30) for _ in range(40)]
    rule = SegmentRule(by=("lang",), **limits(None, 0.5))
    for lost_here, named in ((6, False), (12, True)):
        now, before = [0.0] * lost_here + [1.0] * (1200 - lost_here), [1.0] * (1200 - lost_here) + [0.0] * lost_here
        for evidence in Evidence:
            parts = judged(rule, tags, now, before, evidence)
            assert parts["lang:00"].evidence.fell
            assert bool(paradox_of([whole(now, before), *parts.values()])) is named


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        pytest.param(
            SegmentRule(by=("land",), **limits(0.5)),
            "gate the gate: segments.by: no question of gold.yaml has a tag 'land'; did you mean 'lang'?",
            id="a key that no question has",
        ),
        pytest.param(
            SegmentRule(by=("lang",), **limits(0.5), min_queries=81),
            (
                "gate the gate: segments.min_queries: 81 is more than the 80 questions of gold.yaml: "
                "no segment could be judged"
            ),
            id="more than there are",
        ),
        pytest.param(
            SegmentRule(by=("lang",), **limits(0.5), only={"pt": Limits(**limits(0.1))}),
            "gate the gate: segments.only.pt: no question of gold.yaml is in this segment (known: en, es)",
            id="a value that no question has",
        ),
    ],
)
def test_rules_must_fit_the_gold(rule: SegmentRule, message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        refuse_unknown([gate(rule)], gold(TAGS), "ship-criteria.yaml")
    assert str(caught.value) == f"ship-criteria.yaml:3: {message}"


def test_rules_that_fit_are_not_refused() -> None:
    refuse_unknown(
        [gate(SegmentRule(by=("lang",), **limits(0.5), only={"en": Limits(**limits(0.9))}))], gold(TAGS), "f"
    )
