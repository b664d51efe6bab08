"""Answers to judge, and a judge to ask, without waiting for anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.judge.hash_judge import KEY, HashJudge

from rankgate.criteria.judge_block import JudgeBlock, Timeouts
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.identity import judge_of
from rankgate.judge.judging import Ending, judge_answers, settle
from rankgate.judge.model import Answer, Judge, Passage
from rankgate.judge.plan import judged
from rankgate.judge.runs import answer_of
from rankgate.judge.store import Store
from rankgate.judge.tasks import QUESTIONS
from rankgate.model.answers import GoldClaim, VerdictKind
from rankgate.model.values import Gold, Ranking
from rankgate.model.verdicts import AnswerVerdicts

RETURNS = Passage("doc_1#p1", "You can return an article within 30 days. The refund takes two weeks.")
SHIPPING = Passage("doc_2#p4", "Shipping within Europe costs five euros. Returns are free of charge.")
ALL = frozenset([*VerdictKind, *QUESTIONS])


def answer(text: str | None = "You can return an article within 30 days.", **values: Any) -> Answer:
    """An answer to one question over two passages, with two gold claims."""
    known: dict[str, Any] = {
        "query_id": "q-1",
        "question": "How long can I return an article?",
        "context": (RETURNS, SHIPPING),
        "reference": "You can return an article within 30 days.",
        "claims": (
            GoldClaim("You can return an article within 30 days"),
            GoldClaim("Returns are free of charge", vital=False),
        ),
    }
    return Answer(answer=text, **known | values)


def block(server: HashJudge | None = None, **values: Any) -> JudgeBlock:
    """The settings that name a server."""
    address = server.address if server else "http://localhost:1/v1"
    known: dict[str, Any] = {"endpoint": address, "model": "hash-judge-2026-01-01"}
    return JudgeBlock(**known | values)


def endpoint(server: HashJudge, slept: list[float] | None = None, timeouts: Timeouts | None = None) -> Endpoint:
    """The client's end, which notes waits in place of waiting."""
    return Endpoint(server.address, KEY, timeouts=timeouts, wait=(slept if slept is not None else []).append)


def some_judge(**values: Any) -> Judge:
    return judge_of(block(**values), "json_schema")


def settled(server: HashJudge, **values: Any) -> Judge:
    found = settle(block(server, **values), endpoint(server), Spending())
    assert isinstance(found, Judge)
    server.requests.clear()
    return found


def run(
    server: HashJudge, answers: Sequence[Answer], store: Store, judge: Judge | None = None, **values: Any
) -> Ending:
    """Judge answers with one worker, so that faults come in the order of the calls."""
    known: dict[str, Any] = {"endpoint": endpoint(server), "spending": Spending(), "workers": 1}
    verdict_kinds = values.pop("verdict_kinds", ALL)
    return judge_answers(answers, judge or some_judge(), verdict_kinds, store=store, **known | values)


def verdicts(
    server: HashJudge, answer: Answer, folder: Path, verdict_kinds: frozenset[str] = ALL, **values: Any
) -> AnswerVerdicts:
    """Judge one answer and read what is known of it then."""
    with Store(folder / "verdicts.jsonl") as store:
        run(server, [answer], store, verdict_kinds=verdict_kinds, **values)
        return judged(answer, some_judge(), verdict_kinds, store)


def answers_of(gold: Gold, rankings: Iterable[Ranking], depth: int) -> list[Answer]:
    """The answers of a run to the gold's queries."""
    return [answer_of(gold.samples[each.query_id], each, depth) for each in rankings if each.query_id in gold.samples]
