"""Which lists of the traffic changed, which questions a limit takes, and what labels leave of a change."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from rankgate.collecting.traffic import bounds_of, compared_lists, known_labels, limited, sees_order
from rankgate.metrics.matching import BY_CHUNK
from rankgate.metrics.names import parse_metric
from rankgate.model.traffic_lists import TrafficLabel, TrafficLists, TrafficPair, TrafficQuestion
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import text_digest
from rankgate.readers.formats import read_run

QUESTIONS = [TrafficQuestion(query_id=name, question=f"what of {name}?", count=count) for name, count in
             (("a", 1.0), ("b", 2.0), ("c", 5.0))]  # fmt: skip


def line(query_id: str, documents: str, text: str | None = None) -> Ranking:
    digest = text_digest(f"what of {query_id}?" if text is None else text)
    return Ranking(query_id, list(documents), question_digest=digest, traffic=True)


def lists(now: list[Ranking], before: list[Ranking], *, by_order: bool = False) -> TrafficLists:
    return compared_lists(QUESTIONS, now, before, k=2, by_order=by_order, how=BY_CHUNK)


BEFORE = [line("a", "xyz"), line("b", "xyz"), line("c", "xyz")]


@pytest.mark.parametrize(
    ("now", "by_order", "changed", "share"),
    [
        pytest.param(["xyz", "xyz", "xyz"], False, "", 0.0, id="same"),
        pytest.param(["xyq", "xyz", "xyz"], False, "", 0.0, id="below-k"),
        pytest.param(["yxz", "xyz", "xyz"], False, "", 0.0, id="another-order-of-a-set"),
        pytest.param(["yxz", "xyz", "xyz"], True, "a", 1 / 8, id="another-order"),
        pytest.param(["xyz", "xqz", "xyz"], False, "b", 2 / 8, id="another-document"),
        pytest.param(["xyz", "", "x"], False, "bc", 7 / 8, id="empty-and-shorter"),
    ],
)
def test_what_changed(now: list[str], by_order: bool, changed: str, share: float) -> None:  # noqa: FBT001 -- a table
    found = lists(
        [line(each.query_id, ids) for each, ids in zip(QUESTIONS, now, strict=True)], BEFORE, by_order=by_order
    )
    assert "".join(pair.question.query_id for pair in found.changed) == changed
    assert found.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("now", "before", "asked", "changed", "absent"),
    [
        pytest.param(BEFORE[:2], BEFORE, "abc", "c", "c", id="a-line-left-out-is-empty"),
        pytest.param([*BEFORE[:2], line("c", "xyz", "easier")], BEFORE, "abc", "c", "c", id="of-another-text"),
        pytest.param(BEFORE, BEFORE[:2], "ab", "", "", id="new-since-it-was-accepted"),
        pytest.param(BEFORE, [*BEFORE[:2], line("c", "xyz", "older")], "ab", "", "", id="edited-since-then"),
        pytest.param([*BEFORE, line("d", "q")], [*BEFORE, line("d", "xyz")], "abc", "", "", id="in-no-file"),
        pytest.param([], [line("a", "")], "a", "a", "a", id="no-line-for-a-list-that-was-empty"),
        pytest.param([Ranking("a", ["x", "y"])], BEFORE[:1], "a", "a", "a", id="a-line-of-the-gold-set"),
    ],
)
def test_the_accepted_run_decides_what_counts(
    now: list[Ranking], before: list[Ranking], asked: str, changed: str, absent: str
) -> None:
    found = lists(now, before)
    assert "".join(pair.question.query_id for pair in found.pairs) == asked
    assert "".join(pair.question.query_id for pair in found.changed) == changed
    assert "".join(pair.question.query_id for pair in found.pairs if pair.absent) == absent


@pytest.mark.parametrize(
    ("name", "by_order"),
    [
        ("precision@5", False),
        ("hit@3", False),
        ("recall@10", False),
        ("mrr@10", True),
        ("ndcg@10", True),
        ("map@10", True),
        ("containment@5", False),
    ],
)
def test_metrics_that_see_the_order(name: str, by_order: bool) -> None:  # noqa: FBT001 -- a table
    assert sees_order(parse_metric(name)) is by_order


def test_a_limit_does_not_depend_on_the_order_of_the_file() -> None:
    questions = [TrafficQuestion(query_id=f"q{row}", question="?") for row in range(50)]
    some = {each.query_id for each in limited(questions, 20)}
    assert some == {each.query_id for each in limited(questions[::-1], 20)}
    assert some < {each.query_id for each in limited(questions, 30)}, "a larger one goes on"
    assert some != {each.query_id for each in questions[:20]}
    assert limited(questions, None) == limited(questions, 50) == questions


@pytest.mark.parametrize("name", ["run.jsonl", "run.json"])
@pytest.mark.parametrize("needs", [(), (RunField.LATENCY,), (RunField.DOCS,), (RunField.ANSWER,)], ids=str)
def test_one_file_holds_both_and_the_gold_sees_no_traffic(
    tmp_path: Path, name: str, needs: tuple[RunField, ...]
) -> None:
    rows = [
        '{"query_id": "q1", "topk": [{"rank": 1, "chunk_id": "x"}], "traffic": "head"}',
        '{"query_id": "q2", "topk": []}',
        '{"query_id": "q1", "topk": [{"rank": 1, "chunk_id": "y"}], "traffic": true, "question_sha256": "00"}',
        '{"query_id": "t2", "topk": [{"rank": 1, "chunk_id": "z"}], "traffic": true}',
    ]
    (tmp_path / name).write_text("\n".join(rows) if name == "run.jsonl" else f"[{','.join(rows)}]")

    def read(*more: RunField) -> list[tuple[str, list[str], bool]]:
        run = read_run(str(tmp_path / name), needs=frozenset({*needs, *more}))
        if run.quick is None:
            return [(each.query_id, each.ids, each.traffic) for each in run.rankings]
        with run.quick.opened() as reading:
            assert reading
            quickly = [(each.query_id, each.ids, each.traffic) for each in reading[0]]
        assert quickly == [(each.query_id, each.ids, each.traffic) for each in run.rankings]
        return quickly

    gold = [("q1", ["x"], False), ("q2", [], False)]
    assert read() == gold
    assert read(RunField.TRAFFIC) == [*gold, ("q1", ["y"], True), ("t2", ["z"], True)]


DOCUMENTS = "abcd"


def pair(before: str, now: str) -> TrafficPair:
    question = TrafficQuestion(query_id="q", question="Why?")
    return TrafficPair(question=question, before=tuple(before), now=tuple(now), changed=True)


def value(documents: str, relevant: dict[str, bool], *, hit: bool) -> float:
    hits = sum(relevant[document] for document in documents)
    return float(hits > 0) if hit else hits / 3


@pytest.mark.parametrize("hit", [True, False], ids=["hit", "precision"])
@pytest.mark.parametrize(("before", "now"), [("ab", "cd"), ("abc", "abd"), ("ab", ""), ("a", "abc"), ("abc", "cb")])
def test_bounds_are_the_ends_of_all_completions(before: str, now: str, hit: bool) -> None:  # noqa: FBT001
    for known_values in product((True, False, None), repeat=len(DOCUMENTS)):
        known = {doc: each for doc, each in zip(DOCUMENTS, known_values, strict=True) if each is not None}
        changes: list[float] = []
        for rest in product((True, False), repeat=len(DOCUMENTS)):
            relevant = {**dict(zip(DOCUMENTS, rest, strict=True)), **known}
            changes.append(value(now, relevant, hit=hit) - value(before, relevant, hit=hit))
        assert bounds_of(pair(before, now), [known], k=3, hit=hit) == pytest.approx((min(changes), max(changes)))


def test_nobody_has_labelled_it() -> None:
    assert bounds_of(pair("ab", "bc"), [], k=2, hit=False) == (-0.5, 0.5)


def test_what_one_person_leaves_open_another_fills() -> None:
    said = [("a", True, "ana"), ("b", False, "ana"), ("a", False, "ben"), ("c", True, "cyd")]
    labels = [TrafficLabel(query_id="q", document=doc, relevant=each, labeller=who) for doc, each, who in said]
    assert known_labels(labels) == {
        "q": [
            {"a": True, "b": False, "c": True},
            {"a": False, "b": False, "c": True},
            {"a": True, "b": False, "c": True},
        ]
    }
