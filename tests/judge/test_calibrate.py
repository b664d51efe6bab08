"""People beside a judge, by hand and beside slow implementations; no file of theirs says what no labels can."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge.calibrated import TODAY, metric_found

from rankgate.errors import RankgateError
from rankgate.gates.judged import few_clusters, trust_of
from rankgate.judge.calibration import (
    Checked,
    agreement,
    disagreements,
    labelled_verdicts,
    metric_calibration,
    quality_of,
    read_calibration,
)
from rankgate.judge.label_files import Label, LabelKey, Labels, label_of
from rankgate.judge.sample import AnswerKey, Item, metrics_of
from rankgate.model.answers import LABELLED, Advisory, Entailment, GateJudge, JudgeMark, LabelCounts, Rate
from rankgate.model.judge_words import labels_text
from rankgate.model.verdicts import AnswerState, AnswerVerdicts, Calibration, MetricCalibration, Support, Supports

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
    found = labelled_verdicts([item(1)], labels_of("ana", item(1), *words), set())
    assert bool(found) is counts
    if counts:
        own = found[item(1).key]["ana"]
        assert FAITHFULNESS.mean([own]) == (0.5 if words[0] == "asserts" else None)
        assert ANSWERED.mean([own]) == float(words[0] == "asserts")


def test_questions_that_nothing_answers() -> None:
    own = labelled_verdicts([item(1)], labels_of("ana", item(1), "abstained"), {"q1"})[item(1).key]
    assert [metric.mean(own.values()) for metric in METRICS] == [None, None, None, 1.0]


@pytest.mark.full
@given(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=4))
def test_the_value_of_several_people_is_their_mean_in_any_order(words: list[tuple[str, str]]) -> None:
    names = ["ana", "ben", "cem", "dua"][: len(words)]
    means = set()
    for order in permutations(zip(names, words, strict=True)):
        labels: Labels = {p: w for by, each in order for p, w in labels_of(by, item(1), "asserts", *each).items()}
        means.add(FAITHFULNESS.mean(labelled_verdicts([item(1)], labels, set())[item(1).key].values()))
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


GOOD = Calibration(
    judge="a" * 64,
    model="m",
    date=TODAY,
    run="r",
    people=("ana",),
    agreement=None,
    metrics={"faithfulness": metric_found({f"q{n}": n % 2 for n in range(200)})},
)


def written(path: Path, keys: str, value: Any) -> str:
    document = msgspec.to_builtins(GOOD)
    *outer, last = keys.split(".")
    place = document
    for key in outer:
        place = place[key]
    place[last] = value
    path.write_text(json.dumps(document))
    return str(path)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read_calibration(written(tmp_path / "c.json", "date", TODAY)) == GOOD
    assert read_calibration(str(tmp_path / "none.json")) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", 2),
        ("date", "31.1.2026"),
        ("judge", "abc"),
        ("judge", ""),
        ("metrics.faithfulness.slope.low", 1.5),
        ("metrics.faithfulness.slope.value", float("nan")),
        ("metrics.faithfulness.slope.n", -1),
        ("metrics.faithfulness.slope", {"value": 2.0, "low": 1.9, "high": 2.1, "n": 200}),
        ("metrics.faithfulness.slope", {"value": 1e9, "low": 1e9, "high": 1e9, "n": 200}),
        ("metrics.faithfulness.slope.high", 1e308),
        ("metrics.faithfulness.value.value", 2.0),
        ("metrics.faithfulness.value.value", -3.0),
        ("metrics.faithfulness.value.error", 1e300),
        ("metrics.faithfulness.values", {"q1": 5.0}),
        ("metrics.faithfulness.sensitivity.high", 1.2),
        ("metrics.faithfulness.rarer", 5_000),
        ("metrics.faithfulness.labels", -5),
        ("metrics.faithfulness.kappa", 3),
        ("metrics.faithfulness.value.error", -0.1),
        ("metrics.faithfulness.value.df", 0),
        ("metrics.faithfulness.value.tuning", 2),
        ("metrics.faithfulness.values", {"q1": 1e999}),
        ("metrics.faithfulness.unknown", 1),
    ],
)
def test_what_cannot_be_is_refused(key: str, value: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "c.json", key, value)
    with pytest.raises(RankgateError) as refused:
        read_calibration(path)
    assert refused.value.problems[0].file == path


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_that_never_ends_is_not_read(device: str) -> None:
    if not Path(device).exists():
        pytest.skip("no such device")
    with pytest.raises(RankgateError, match="is a device, not a file"):
        read_calibration(device)


def test_a_judge_is_known_by_the_whole_id_and_more_labels_are_asked_for_where_they_may_help() -> None:
    assert trust_of(GOOD, JudgeMark("a" * 64, "m"), "faithfulness").floor is None
    assert trust_of(GOOD, JudgeMark("a" * 8, "m"), "faithfulness").floor is Advisory.JUDGE

    def told(low: float, value: float, high: float, **more: int) -> str:
        counts = LabelCounts(**{"answers": 200, "rarer": 60, "people": 2, "among": 5_000, **more})
        few = counts.answers < 100
        reason = Advisory.LABELS if few else Advisory.CANNOT_TELL
        return labels_text("faithfulness", GateJudge(reason=reason, labels=counts, j=Rate(value, low, high, 200)))

    assert "cannot tell right from wrong" in told(-0.1, 0.1, 0.3)
    assert "More labels will not help: fix the rule" in told(-0.1, 0.1, 0.3)
    assert "may not tell right from wrong" in told(0.01, 0.38, 0.75)
    assert "More labels may not help: fix the rule" in told(0.01, 0.38, 0.75)
    assert told(0.05, 0.6, 1.1, answers=12, rarer=3).endswith(
        "answers, of which 3 have the rarer verdict; 100 and 30 are needed. About 120 labelled answers would do"
    )
    assert "; this run has 12 answers, so that it takes a larger one" in told(
        0.05, 0.6, 1.1, answers=12, rarer=3, among=12
    )
    assert "Draw a larger sample; this run has 1 answer, so" in told(0.05, 0.6, 1.1, answers=1, rarer=0, among=1)
