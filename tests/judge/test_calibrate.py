"""People beside a judge: what counts, by hand and beside slow implementations."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.gates.judged import few_clusters
from rankgate.judge.calibration import (
    Checked,
    agreement,
    disagreements,
    metric_calibration,
    metrics_of,
    quality_of,
    words_of_people,
)
from rankgate.judge.label_files import Label, LabelKey, Labels, label_of
from rankgate.judge.sample import AnswerKey, Item
from rankgate.model.answers import LABELLED, Entailment
from rankgate.model.verdicts import AnswerState, AnswerVerdicts, MetricCalibration, Support, Supports

METRICS = metrics_of([])
FAITHFULNESS, UNFAITHFUL, ANSWERED, ABSTAINED = METRICS
WORD = st.sampled_from(["supported", "contradicted", "absent"])


def item(n: int, claims: int = 2) -> Item:
    return Item(f"q{n}", "Why?", "So.", ("One.", "Two."), tuple(f"claim {each} of {n}" for each in range(claims)))


def labels_of(by: str, each: Item, *words: str | None) -> dict[LabelKey, Label]:
    """First of the answer, then of its claims; None is no label."""
    given_ = [label_of(each, n, word, by) for n, word in enumerate(words) if word]
    return {label.label_key: label for label in given_}


def support(*words: str) -> Supports:
    return tuple(Support(n, Entailment(word), (2,) if word == "supported" else ()) for n, word in enumerate(words, 1))


def said(query: str, *words: str, no_answer: bool = False) -> AnswerVerdicts:
    state = AnswerState.ASSERTS if words else AnswerState.ABSTAINED
    return AnswerVerdicts(
        query_id=query,
        context=(),
        citations=(),
        no_answer=no_answer,
        state=state,
        claims=words,
        support=support(*words),
    )


def checked(n: int, judge: tuple[str, ...], **people: tuple[str, ...]) -> Checked:
    each = item(n, len(judge))
    return Checked(each, {by: said(f"q{n}", *w) for by, w in people.items()}, (said(f"q{n}", *judge),), support(*judge))


def units(number: int, *empty: int) -> list[AnswerKey]:
    return [AnswerKey(f"q{n}", "" if n in empty else str(n)) for n in range(number)]


def of_run(run: list[AnswerKey], known: dict[str, Checked], drawn: int, **more: dict[str, str]) -> MetricCalibration:
    """Faithfulness, where the first so many answers were drawn."""
    found = metric_calibration(FAITHFULNESS, run, run[:drawn], values_of(judge_and_people(len(run))), known, **more)
    assert found is not None
    return found


def values_of(answers: dict[str, Checked]) -> dict[str, float]:
    found = {query: FAITHFULNESS.mean(each.judge) for query, each in answers.items()}
    return {query: value for query, value in found.items() if value is not None}


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        pytest.param(("asserts", "supported", "absent"), True, id="all"),
        pytest.param(("abstained", None, None), True, id="abstained"),
        pytest.param(("abstained", "supported", None), True, id="abstained-after-all"),
        pytest.param(("asserts", "supported", None), False, id="a-claim-left"),
        pytest.param((None, "supported", "absent"), False, id="the-answer-left"),
        pytest.param((None, None, None), False, id="nothing"),
    ],
)
def test_only_a_completely_labelled_answer_counts(words: tuple[str | None, ...], *, counts: bool) -> None:
    found = words_of_people([item(1)], labels_of("ana", item(1), *words), set())
    assert bool(found) is counts
    if counts:
        own = found[item(1).key]["ana"]
        assert FAITHFULNESS.mean([own]) == (0.5 if words[0] == "asserts" else None)
        assert ANSWERED.mean([own]) == float(words[0] == "asserts")


def test_questions_that_nothing_answers() -> None:
    own = words_of_people([item(1)], labels_of("ana", item(1), "abstained"), {"q1"})[item(1).key]
    assert [metric.mean(own.values()) for metric in METRICS] == [None, None, None, 1.0]


@pytest.mark.full
@given(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=4))
def test_the_value_of_several_people_is_their_mean_in_any_order(words: list[tuple[str, str]]) -> None:
    names = ["ana", "ben", "cem", "dua"][: len(words)]
    means = set()
    for order in permutations(zip(names, words, strict=True)):
        labels: Labels = {p: w for by, each in order for p, w in labels_of(by, item(1), "asserts", *each).items()}
        means.add(FAITHFULNESS.mean(words_of_people([item(1)], labels, set())[item(1).key].values()))
    [mean] = means
    assert mean == pytest.approx(sum(word == "supported" for each in words for word in each) / 2 / len(words))


def test_agreement_is_on_what_two_people_labelled() -> None:
    assert agreement([]) is None
    assert agreement([{"ana": said("q", "absent")}]) is None
    one = {"ana": said("q", "supported", "absent"), "ben": said("q", "supported", "contradicted")}
    assert agreement([one]) == 1.0
    assert agreement([one, {"ana": said("q"), "ben": said("q", "absent")}]) == 1.0
    assert agreement([{"ana": said("q", "supported", "absent"), "ben": said("q", "absent", "supported")}]) == -1.0


@pytest.mark.full
@given(
    st.lists(st.tuples(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=3), WORD, WORD), min_size=3, max_size=12)
)
def test_an_answer_counts_as_much_by_one_person_as_by_three(
    answers: list[tuple[list[tuple[str, str]], str, str]],
) -> None:
    """Beside an answer a person, each with its part of the weight."""
    known = {
        f"q{n}": checked(n, (one, other), **{f"p{k}": each for k, each in enumerate(people)})
        for n, (people, one, other) in enumerate(answers)
    }
    found = quality_of(FAITHFULNESS, known, values_of(known))
    assert found is not None
    hits, among = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}
    for people, *own in answers:
        for words in people:
            for word, judge in zip(words, own, strict=True):
                kind = word == "supported"
                among[kind] += 1 / len(people)
                hits[kind] += (kind == (judge == "supported")) / len(people)
    for kind, share in ((True, found.sensitivity), (False, found.specificity)):
        assert (share.value if share else None) == (pytest.approx(hits[kind] / among[kind]) if among[kind] else None)


def judge_and_people(count: int) -> dict[str, Checked]:
    """The judge finds the first third of the answers unsupported, people every third."""
    return {
        f"q{n}": checked(
            n, ("absent",) if n < count // 3 else ("supported",), ana=("supported" if n % 3 else "absent",)
        )
        for n in range(count)
    }


def test_a_fully_labelled_run_has_peoples_value_whatever_the_judge_says() -> None:
    found = of_run(units(60), judge_and_people(60), 60)
    assert found.value is not None
    assert found.value.value == pytest.approx(40 / 60)
    assert (found.labels, found.rarer) == (60, 20)


def test_answers_of_a_cluster_are_counted_once() -> None:
    known = judge_and_people(30)
    clusters = {f"q{n}": str(n // 3) for n in range(60)}
    found, alone = of_run(units(60), known, 30, clusters=clusters), of_run(units(60), known, 30)
    assert found.value is not None
    assert alone.value is not None
    assert (found.value.n, alone.value.n) == (10, 30)
    assert found.value.value == alone.value.value
    assert few_clusters(found)
    assert not few_clusters(alone)


def test_empty_answers_need_nobody() -> None:
    known = {f"q{n}": checked(n, ("supported",), ana=("supported",)) for n in range(30)}
    run, empty = units(60, *range(30, 60)), {f"q{n}": 0.0 for n in range(30, 60)}
    found = metric_calibration(ANSWERED, run, run, dict.fromkeys(known, 1.0) | empty, known)
    assert found is not None
    assert found.value is not None
    assert found.value.value == pytest.approx(0.5)
    assert found.labels == 30
    assert metric_calibration(ABSTAINED, run, run, {}, known) is None


def test_gates_know_of_what_labels_are() -> None:
    assert tuple(metric.name for metric in METRICS) == LABELLED


def test_disagreements_begin_with_those_of_everybody() -> None:
    known = [
        checked(1, ("supported", "absent"), ana=("absent", "contradicted"), ben=("supported", "absent")),
        checked(2, ("supported",), ana=("absent",), ben=("contradicted",)),
        checked(3, ("supported",), ana=()),
        checked(4, (), ana=()),
    ]
    found = [(each.item.query_id, each.n, each.people, each.judge, each.passage) for each in disagreements(known)]
    assert found == [
        ("q2", 1, {"ana": "absent", "ben": "contradicted"}, "supported", "Two."),
        ("q3", 0, {"ana": "abstained"}, "asserts", ""),
        ("q1", 1, {"ana": "absent", "ben": "supported"}, "supported", "Two."),
    ]
