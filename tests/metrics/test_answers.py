"""Metrics by a judge's verdicts: worked by hand, against a slow second implementation, and never without a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.judge.tasks import QUESTIONS
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import Kind
from rankgate.metrics.lines import GivenRate
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.references import AnswerContains, ExactMatch, TokenF1
from rankgate.metrics.registry import families
from rankgate.metrics.scoring import score
from rankgate.model.answers import Entailment, GoldClaim, UnjudgedKind, VerdictKind
from rankgate.model.scores import Scores
from rankgate.model.values import Details, Gold, Ranking, Sample
from rankgate.model.verdicts import AnswerState, AnswerVerdicts, Support, Unjudged

YES, NO = Entailment.SUPPORTED, Entailment.ABSENT


def supports(*verdicts: tuple[int, ...] | None) -> tuple[Support, ...]:
    """A claim each: the passages that it rests on, or None where it is not supported."""
    return tuple(
        Support(n, NO) if passages is None else Support(n, YES, passages)
        for n, passages in enumerate(verdicts, start=1)
    )


def verdicts(**known: Any) -> AnswerVerdicts:
    given: dict[str, Any] = {"query_id": "q", "context": ("a", "b", "c", "d"), "citations": (), "no_answer": False}
    by_question = {name: known.pop(name) for name in QUESTIONS if name in known}
    return AnswerVerdicts(**given | known, by_question=by_question)


def judged(name: str) -> JudgedMetric:
    metric = parse_metric(name)
    assert isinstance(metric, JudgedMetric)
    return metric


# Three claims: the first rests on passages 1 and 3, the second on 3, the third on nothing.
THREE = supports((1, 3), (3,), None)
GOLD_CLAIMS = (GoldClaim("one"), GoldClaim("two"), GoldClaim("three", vital=False), GoldClaim("four", vital=False))
HALF = supports((1,), None, (2,), None)
FULL_ANSWER: dict[str, Any] = {"state": AnswerState.ASSERTS, "claims": ("x", "y", "z"), "support": THREE}
CRITERIA = {"rubric(cites)": True, "rubric(polite)": False}
OF_GOLD: dict[str, Any] = {"gold_claims": GOLD_CLAIMS, "gold_in_answer": HALF, "gold_in_context": HALF}


@each_row(
    ("name", "known", "value"),
    [
        pytest.param("faithfulness", FULL_ANSWER, 2 / 3, id="two of three claims"),
        pytest.param("groundedness", FULL_ANSWER, 2 / 3, id="by another name"),
        pytest.param("faithfulness", {"claims": (), "support": ()}, None, id="nothing claimed"),
        pytest.param(
            "faithfulness", {"support": (Support(1, Entailment.UNVERIFIED), *supports((1,)))}, 1 / 2, id="false quote"
        ),
        pytest.param("unfaithful_rate", FULL_ANSWER, 1.0, id="one without support"),
        pytest.param("unfaithful_rate", {"support": supports((1,), (2,))}, 0.0, id="all supported"),
        pytest.param("unfaithful_rate", {"support": ()}, None, id="no claim, no lie"),
        pytest.param("answered_rate", {"state": AnswerState.ASSERTS}, 1.0, id="asserts"),
        pytest.param("answered_rate", {"state": AnswerState.ABSTAINED}, 0.0, id="refuses"),
        pytest.param("answered_rate", {"state": AnswerState.MISSING}, 0.0, id="empty"),
        pytest.param("answered_rate", {"state": AnswerState.ASSERTS, "no_answer": True}, None, id="unanswerable"),
        pytest.param("abstained_rate", {"state": AnswerState.ABSTAINED, "no_answer": True}, 1.0, id="abstains rightly"),
        pytest.param("abstained_rate", {"state": AnswerState.ASSERTS, "no_answer": True}, 0.0, id="makes it up"),
        pytest.param("abstained_rate", {"state": AnswerState.MISSING, "no_answer": True}, 0.0, id="says nothing"),
        pytest.param("abstained_rate", {"state": AnswerState.ABSTAINED}, None, id="answerable"),
        pytest.param("claim_recall", OF_GOLD, 1 / 2, id="two of four gold claims"),
        pytest.param("nugget_recall", OF_GOLD, 1 / 2, id="as TREC calls it"),
        pytest.param("claim_recall", {}, None, id="no gold claims"),
        pytest.param("claim_recall", {**OF_GOLD, "no_answer": True}, None, id="claims of what nothing answers"),
        pytest.param("vital_claim_recall", OF_GOLD, 1 / 2, id="one of two vital ones"),
        pytest.param("vital_claim_recall", {**OF_GOLD, "gold_claims": GOLD_CLAIMS[2:]}, None, id="none is vital"),
        pytest.param("context_recall", OF_GOLD, 1 / 2, id="two of four stand in the passages"),
        pytest.param(
            "factual_correctness", {**OF_GOLD, "correctness": THREE}, 2 * (2 / 3) * 0.5 / (2 / 3 + 0.5), id="F1"
        ),
        pytest.param(
            "factual_correctness(beta=2)", {**OF_GOLD, "correctness": THREE}, 5 * (2 / 3) * 0.5 / (8 / 3 + 0.5), id="F2"
        ),
        pytest.param("factual_correctness", {**OF_GOLD, "correctness": ()}, 0.0, id="asserts nothing"),
        pytest.param("factual_correctness", {"correctness": THREE}, None, id="no reference"),
        pytest.param("context_precision", {"relevance": (3, 1, 2, 0)}, (1 + 2 / 3) / 2, id="ranks 1 and 3"),
        pytest.param("context_precision", {"relevance": (1, 0, 1, 0)}, 0.0, id="none relevant"),
        pytest.param("context_precision", {}, None, id="no passage"),
        pytest.param("context_utilization", FULL_ANSWER, 2 / 4, id="passages 1 and 3 of four"),
        pytest.param("context_utilization", {"support": ()}, None, id="nothing claimed uses nothing"),
        pytest.param("context_utilization", {"support": THREE, "context": ()}, None, id="nothing shown"),
        pytest.param(
            "noise_sensitivity",
            {"support": supports((3,), (1, 3), (1,), None), "correctness": supports(None, None, (1,), None)} | OF_GOLD,
            1 / 4,
            id="one wrong claim of four rests on an irrelevant passage alone",
        ),
        pytest.param(
            "noise_sensitivity(mode=relevant)",
            {"support": supports((3,), (1, 3), (1,), None), "correctness": supports(None, None, (1,), None)} | OF_GOLD,
            1 / 4,
            id="another on a relevant one too",
        ),
        pytest.param("noise_sensitivity", {"support": THREE}, None, id="nothing to be wrong by"),
        pytest.param("citation_precision", {**FULL_ANSWER, "citations": ("c", "b", "zz")}, 1 / 3, id="c, not b"),
        pytest.param("citation_precision", FULL_ANSWER, None, id="cites nothing"),
        pytest.param("citation_recall", {**FULL_ANSWER, "citations": ("a",)}, 1 / 3, id="the first claim alone"),
        pytest.param("citation_recall", FULL_ANSWER, 0.0, id="claims without citations"),
        pytest.param("citation_recall", {"support": (), "citations": ("a",)}, None, id="citations without claims"),
        pytest.param("answer_relevancy", {"address": "fully"}, 1.0, id="fully"),
        pytest.param("answer_relevancy", {"address": "partly"}, 0.5, id="partly"),
        pytest.param("answer_relevancy", {"address": "no"}, 0.0, id="not at all"),
        pytest.param("answer_relevancy", {"address": "noncommittal"}, 0.0, id="hedges"),
        pytest.param("answer_relevancy", {"address": "fully", "no_answer": True}, None, id="no answer exists"),
        pytest.param("rubric(cites)", {"rubric": CRITERIA}, 1.0, id="meets it"),
        pytest.param("rubric(polite)", {"rubric": CRITERIA}, 0.0, id="does not"),
        pytest.param("rubric(cites)", {"rubric": CRITERIA, "no_answer": True}, None, id="nothing to meet it"),
    ],
)
def test_worked_by_hand(name: str, known: Mapping[str, Any], value: float | None) -> None:
    found = judged(name).value(verdicts(**known))
    assert found == (value if value is None else pytest.approx(value, rel=1e-12))


WITHOUT_A_JUDGE = {AnswerContains, ExactMatch, TokenF1, GivenRate}  # theirs are in test_references.py and test_lines.py
FAMILIES = [family for family in families() if issubclass(family, JudgedMetric)]
KEYS = [family.key for family in FAMILIES if not family.alone]
NAMES = [*KEYS, "rubric(cites)", "noise_sensitivity(mode=relevant)", "factual_correctness(beta=0.5)"]


def test_every_judged_family_is_here() -> None:
    assert {family for family in families() if family.kind is Kind.ANSWER} - {*FAMILIES} == WITHOUT_A_JUDGE
    assert len(FAMILIES) == 15


def oracle(name: str, given: AnswerVerdicts) -> float | None:
    """Counted claim by claim and passage by passage, without anything of the metrics' own."""
    known: dict[str, Any] = {**dict.fromkeys(QUESTIONS), **msgspec.structs.asdict(given), **given.by_question}
    own = [(each.verdict is YES, set(each.passages)) for each in known["support"] or ()]
    true = [each.verdict is YES for each in known["correctness"] or ()]
    gold = list(
        zip(known["gold_claims"] or (), known["gold_in_answer"] or (), known["gold_in_context"] or (), strict=True)
    )
    answer = [said.verdict is YES for _, said, _ in gold]
    count, shown, cited = len(own), len(known["context"]), list(known["citations"])
    used = {number for number in range(1, shown + 1) for held, places in own if held and number in places}
    fits = {number for _, _, found in gold if found.verdict is YES for number in found.passages}

    def mean(values: list[bool]) -> float | None:
        return values.count(True) / len(values) if values else None

    def precision(values: list[bool]) -> float | None:
        if not values:
            return None
        parts = [sum(values[: rank + 1]) / (rank + 1) for rank, hit in enumerate(values) if hit]
        return math.fsum(parts) / len(parts) if parts else 0.0

    def correctness(beta: float) -> float | None:
        p, r = mean(true) or 0.0, mean(answer)
        if r is None:
            return None
        return 0.0 if not p or not r else (1 + beta**2) / (1 / p + beta**2 / r)

    def noise(*, relevant: bool) -> float | None:
        if not true:
            return None
        bad = [places for (held, places), right in zip(own, true, strict=True) if held and places and not right]
        return len([places for places in bad if bool(places & fits) == relevant]) / count

    def relevancy() -> float | None:
        return {"fully": 1.0, "partly": 0.5}.get(known["address"], 0.0) if known["address"] else None

    meets = known["rubric"]
    unanswerable, state = known["no_answer"], known["state"]
    shows = [known["context"][number - 1] for number in used]
    rows: dict[str, Callable[[], float | None]] = {
        "faithfulness": lambda: mean([held for held, _ in own]),
        "unfaithful_rate": lambda: None if not own else float(not all(held for held, _ in own)),
        "answered_rate": lambda: None if unanswerable else float(state is AnswerState.ASSERTS),
        "abstained_rate": lambda: float(state is AnswerState.ABSTAINED) if unanswerable else None,
        "claim_recall": lambda: None if unanswerable else mean(answer),
        "vital_claim_recall": lambda: (
            None if unanswerable else mean([said.verdict is YES for claim, said, _ in gold if claim.vital])
        ),
        "factual_correctness": lambda: None if unanswerable else correctness(1),
        "factual_correctness(beta=0.5)": lambda: None if unanswerable else correctness(0.5),
        "context_recall": lambda: None if unanswerable else mean([found.verdict is YES for _, _, found in gold]),
        "context_precision": lambda: precision([grade > 1 for grade in known["relevance"] or ()]),
        "context_utilization": lambda: len(used) / shown if own and shown else None,
        "noise_sensitivity": lambda: None if unanswerable else noise(relevant=False),
        "noise_sensitivity(mode=relevant)": lambda: None if unanswerable else noise(relevant=True),
        "citation_precision": lambda: mean([each in shows for each in cited]),
        "citation_recall": lambda: mean(
            [held and any(known["context"][number - 1] in cited for number in places) for held, places in own]
        ),
        "answer_relevancy": lambda: None if unanswerable else relevancy(),
        "rubric(cites)": lambda: None if unanswerable or not meets else float(meets["rubric(cites)"]),
    }
    return rows[name]()


@st.composite
def any_verdicts(draw: st.DrawFn) -> AnswerVerdicts:
    shown = draw(st.integers(0, 4))
    context = tuple("abcd"[:shown])

    def of(count: int) -> st.SearchStrategy[tuple[Support, ...]]:
        places = st.sets(st.integers(1, shown), min_size=1).map(sorted).map(tuple) if shown else st.just(())
        one = st.one_of(st.none(), places) if shown else st.none()
        return st.lists(one, min_size=count, max_size=count).map(lambda each: supports(*each))

    claims, golden = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    gold = draw(st.lists(st.booleans(), min_size=golden, max_size=golden))
    truth = tuple(Support(n, draw(st.sampled_from([YES, NO]))) for n in range(1, claims + 1))
    return verdicts(
        context=context,
        citations=tuple(draw(st.lists(st.sampled_from("abcdz"), unique=True))),
        no_answer=draw(st.booleans()),
        state=draw(st.sampled_from(AnswerState)),
        claims=tuple(f"c{n}" for n in range(claims)),
        support=draw(of(claims)),
        correctness=draw(st.none() | st.just(truth)),
        gold_claims=tuple(GoldClaim(f"g{n}", vital) for n, vital in enumerate(gold)) or None,
        gold_in_answer=draw(of(golden)) or None,
        gold_in_context=draw(of(golden)) or None,
        relevance=tuple(draw(st.lists(st.integers(0, 3), min_size=shown, max_size=shown))) or None,
        address=draw(st.none() | st.sampled_from(["fully", "partly", "no", "noncommittal"])),
        rubric=draw(st.none() | st.sampled_from([{"rubric(cites)": True}, {"rubric(cites)": False}])),
    )


@pytest.mark.full
@given(any_verdicts())
def test_the_slow_implementation_agrees(found: AnswerVerdicts) -> None:
    for name in NAMES:
        value, expected = judged(name).value(found), oracle(name, found)
        assert value == (expected if expected is None else pytest.approx(expected, rel=1e-12)), name
        assert value is None or 0 <= value <= 1


CUT = Unjudged(UnjudgedKind.LENGTH)
SAMPLE = Sample(query_id="q", gains={"a": 1.0}, answers=("ref",), claims=GOLD_CLAIMS)


def scored(name: str, *repeats: AnswerVerdicts, sample: Sample = SAMPLE, others: int = 0) -> Scores:
    samples = {each.query_id: each for each in [sample, *(Sample(query_id=f"{n}", gains={}) for n in range(others))]}
    gold = Gold(samples=samples, name="gold", format="yaml", fingerprint="")
    rankings = [Ranking("q", ["a"], 0, Details(verdicts=repeats))]
    return score(gold, rankings, Plan(metrics=[judged(name)]))


@each_row("name", NAMES)
def test_a_missing_verdict_is_neither_a_value_nor_left_out(name: str) -> None:
    whole: dict[str, Any] = dict(
        FULL_ANSWER, rubric={"rubric(cites)": True}, correctness=THREE, relevance=(1, 2), address="fully", **OF_GOLD
    )
    whole |= {"no_answer": name == "abstained_rate"}
    sample = msgspec.structs.replace(SAMPLE, no_answer=name == "abstained_rate")
    known = verdicts(citations=("a",), **whole)
    metric = judged(name)
    assert scored(name, known, sample=sample).values[metric.name] != [None]
    assert scored(name, known, sample=sample).givers == {}
    for want in (*VerdictKind, *QUESTIONS):
        cut = verdicts(citations=("a",), **whole | {want: CUT})
        for repeats in ([cut], [known, cut]):
            found = scored(name, *repeats, sample=sample)
            assert (found.values[metric.name] == [None]) is (want in metric.asks)
            assert found.givers == ({metric.name: {"q": None}} if want in metric.asks else {})


def test_repeats_are_averaged_as_values_and_never_by_majority() -> None:
    repeats = [verdicts(support=supports((1,), None)), verdicts(support=supports((1,))), verdicts(support=())]
    assert scored("faithfulness", *repeats).values["faithfulness"] == [0.75]


def test_a_query_that_the_run_lacks_is_no_refusal_and_no_faithful_answer() -> None:
    found = {name: scored(name, others=2).values[judged(name).name][1:] for name in ("faithfulness", "answered_rate")}
    assert found == {"faithfulness": [None, None], "answered_rate": [0.0, 0.0]}


def test_every_metric_of_answers_states_which_wrong_answers_it_sees() -> None:
    """`validate` warns of those that no gate sees: a metric that forgot its own would be read as one that sees none."""
    of_answers = [family for family in families() if family.kind is Kind.ANSWER]
    assert len(of_answers) > 10
    assert [family.key for family in of_answers if not hasattr(family, "sees")] == []
    judged = [family for family in of_answers if issubclass(family, JudgedMetric)]
    assert [family.key for family in judged if not hasattr(family, "claims")] == []
