"""What changed in the criteria, and which way: a gate that asks for less must never read as one that asks for more."""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.renderers.page import Page
from tests.rows import each_row

from rankgate.base_ref.changes import gate_changes, key_changes, query_changes, traffic_changes
from rankgate.criteria import (
    BaselinePolicy,
    Criteria,
    Gate,
    Inputs,
    Limits,
    SegmentRule,
    judge_block,
    load_criteria,
    model,
    retriever_block,
)
from rankgate.criteria import gate as gate_module
from rankgate.criteria.judge_block import Budget, CalibrationFile, JudgeBlock, Timeouts
from rankgate.criteria.model import Age, GoldFile, MatchRule, Publish
from rankgate.criteria.parts import Part, Stricter, keys_of
from rankgate.criteria.retriever_block import GoldMap, Retriever, RunMap
from rankgate.model.base_ref import BaseSide, GateChange, Grown, KeyChange, QueryChanges, WaiverChange
from rankgate.model.remarks import warnings_of
from rankgate.model.report import Provenance, Report
from rankgate.model.traffic_lists import TrafficFiles, TrafficLabel, TrafficQuestion
from rankgate.model.values import Gold, Sample, Verdict
from rankgate.renderers.base_changes import changes
from rankgate.renderers.github import quoted
from rankgate.renderers.markdown_text import code


def criteria(text: str) -> Criteria:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("ship-criteria.yaml").write_text(text)
        return load_criteria("ship-criteria.yaml")


def report_of(**changed: Any) -> Report:
    base = BaseSide(ref="main", sha="1a2b3c4", head_verdict=Verdict.PASS, **changed)
    return Report(verdict=Verdict.PASS, summary="", base=base, provenance=Provenance(rankgate="0", date="2026-01-31"))


def told(before: Criteria, after: Criteria) -> list[tuple[bool, str]]:
    """Whether each change weakens, and how it reads."""
    report = report_of(gates=gate_changes(before, after), keys=key_changes(before, after))
    return [
        (change.weakens, change.text.removeprefix("The pull request ").removesuffix("."))
        for change in changes(report, quoted)
    ]


ONE = "gates: [{name: mrr, threshold: 0.5}]\n"

# A change of every key that criteria may have, so that a new key cannot be changed without being named.
GATE = "name: mrr, threshold: 0.5"
RULE = "by: lang, threshold: 0.5"
ASKED = "'http://h/?q={{question}}'"
JUDGE = "endpoint: 'http://host/v1', model: m"
CHECKED = "calibration: {file: c.json"
EVERY_KEY: dict[tuple[type[Part], str], tuple[str, str]] = {
    (Criteria, "gates"): (ONE, "gates: [{name: map, threshold: 0.5}]\n"),
    (Criteria, "inputs"): (ONE, f"inputs: {{gold: g}}\n{ONE}"),
    (Criteria, "baseline"): (ONE, f"baseline: {{accept: green}}\n{ONE}"),
    (Criteria, "default_k"): (ONE, f"default_k: 3\n{ONE}"),
    (Criteria, "evidence"): (ONE, f"evidence: proven_safe\n{ONE}"),
    (Criteria, "confidence"): (ONE, f"confidence: 0.9\n{ONE}"),
    (Criteria, "max_unjudged"): (ONE, f"max_unjudged: 0.02\n{ONE}"),
    (Criteria, "match"): (ONE, f"match: doc\n{ONE}"),
    (Criteria, "fork_runs"): (ONE, f"fork_runs: trusted\n{ONE}"),
    (Criteria, "accept_own"): (ONE, f"accept_own: true\n{ONE}"),
    (Criteria, "retriever"): (ONE, f"retriever: {{function: 'app:search'}}\n{ONE}"),
    **{
        (Retriever, kind): (f"retriever: {{{kind}: {value}}}\n{ONE}", f"retriever: {{{kind}: {other}}}\n{ONE}")
        for kind, value, other in (
            ("function", "'a:b'", "'a:c'"),
            ("command", "node a.js", "node b.js"),
            ("url", ASKED, ASKED.replace("h/", "other/")),
        )
    },
    **{
        (Retriever, key): (f"retriever: {{url: {ASKED}}}\n{ONE}", f"retriever: {{url: {ASKED}, {key}: {value}}}\n{ONE}")
        for key, value in (
            ("method", "POST"),
            ("body", "{size: 3}"),
            ("headers", "{X-Key: '${KEY}'}"),
            ("map", "{items: hits}"),
            ("files", "src"),
            ("timeout", "5"),
            ("retries", "5"),
            ("workers", "5"),
        )
    },
    (Criteria, "publish"): (ONE, f"publish: {{texts: ids}}\n{ONE}"),
    (Publish, "texts"): (f"publish: {{texts: full}}\n{ONE}", f"publish: {{texts: ids}}\n{ONE}"),
    (Criteria, "judge"): (ONE, f"judge: {{{JUDGE}}}\n{ONE}"),
    (JudgeBlock, "endpoint"): (f"judge: {{{JUDGE}}}\n{ONE}", f"judge: {{{JUDGE.replace('host', 'other')}}}\n{ONE}"),
    (JudgeBlock, "model"): (f"judge: {{{JUDGE}}}\n{ONE}", f"judge: {{{JUDGE}-2}}\n{ONE}"),
    **{
        (JudgeBlock, key): (f"judge: {{{JUDGE}}}\n{ONE}", f"judge: {{{JUDGE}, {key}: {value}}}\n{ONE}")
        for key, value in (
            ("parameters", "{seed: 1}"),
            ("structured", "prompt"),
            ("repeats", 2),
            ("budget", "{calls: 1}"),
            ("prompts", "folder"),
            ("rubrics", "{polite: It is polite.}"),
            ("auth_header", "api-key"),
            ("depth", 3),
            ("context_tokens", 100),
            ("allow_unjudged", "warn"),
            ("timeouts", "{read: 3}"),
            ("calibration", "{file: c.json}"),
        )
    },
    **{
        (CalibrationFile, key): (f"judge: {{{JUDGE}, {CHECKED}}}}}\n{ONE}", f"judge: {{{JUDGE}, {other}}}}}\n{ONE}")
        for key, other in (("file", CHECKED.replace("c.json", "d.json")), ("max_days", f"{CHECKED}, max_days: 90"))
    },
    **{
        (Timeouts, key): (f"judge: {{{JUDGE}}}\n{ONE}", f"judge: {{{JUDGE}, timeouts: {{{key}: 1}}}}\n{ONE}")
        for key in ("connect", "read", "total")
    },
    **{
        (Budget, key): (f"judge: {{{JUDGE}}}\n{ONE}", f"judge: {{{JUDGE}, budget: {{{key}: 1}}}}\n{ONE}")
        for key in ("calls", "tokens", "baseline_calls", "fork_calls")
    },
    (MatchRule, "by"): (f"match: {{by: doc}}\n{ONE}", f"match: {{by: text}}\n{ONE}"),
    (MatchRule, "separator"): (f"match: {{by: doc}}\n{ONE}", f"match: {{by: doc, separator: '-'}}\n{ONE}"),
    (MatchRule, "similarity"): (f"match: {{by: text}}\n{ONE}", f"match: {{by: text, similarity: 0.5}}\n{ONE}"),
    (MatchRule, "exclude_query_id"): (f"match: {{exclude_query_id: true}}\n{ONE}", f"match: chunk\n{ONE}"),
    (MatchRule, "coverage"): (f"match: {{by: span}}\n{ONE}", f"match: {{by: span, coverage: 0.9}}\n{ONE}"),
    **{
        (Inputs, key): (ONE, f"inputs: {{{key}: x}}\n{ONE}")
        for key in ("gold", "run", "baseline", "scores", "waivers", "traffic", "traffic_labels")
    },
    (GoldFile, "path"): (f"inputs: {{gold: {{path: x}}}}\n{ONE}", f"inputs: {{gold: {{path: y}}}}\n{ONE}"),
    (GoldFile, "format"): (
        f"inputs: {{gold: {{path: x}}}}\n{ONE}",
        f"inputs: {{gold: {{path: x, format: samples}}}}\n{ONE}",
    ),
    (GoldFile, "map"): (
        f"inputs: {{gold: {{path: x}}}}\n{ONE}",
        f"inputs: {{gold: {{path: x, map: {{query_id: q, items: i}}}}}}\n{ONE}",
    ),
    (BaselinePolicy, "accept"): (ONE, f"baseline: {{accept: green}}\n{ONE}"),
    (BaselinePolicy, "required"): (ONE, f"baseline: {{required: true}}\n{ONE}"),
    (BaselinePolicy, "max_age"): (ONE, f"baseline: {{max_age: {{days: 1}}}}\n{ONE}"),
    (Age, "days"): (f"baseline: {{max_age: {{days: 1}}}}\n{ONE}", f"baseline: {{max_age: {{days: 2}}}}\n{ONE}"),
    (Age, "commits"): (ONE, f"baseline: {{max_age: {{commits: 2}}}}\n{ONE}"),
    (Age, "severity"): (
        f"baseline: {{max_age: {{days: 1}}}}\n{ONE}",
        f"baseline: {{max_age: {{days: 1, severity: error}}}}\n{ONE}",
    ),
    **{
        (Gate, key): (f"gates: [{{{GATE}}}]\n", f"gates: [{{{GATE}, {key}: {value}}}]\n")
        for key, value in (
            ("metric", "map"),
            ("regression_max", 0.1),
            ("severity", "warning"),
            ("evidence", "proven_safe"),
            ("confidence", 0.9),
            ("max_unjudged", 0.02),
            ("segments", f"{{{RULE}}}"),
            ("must_pass", "[q]"),
            ("max_lost_queries", 0),
        )
    },
    (Gate, "name"): (ONE, ONE.replace("name: mrr", "name: other, metric: mrr")),
    (Gate, "threshold"): (ONE, ONE.replace("0.5", "0.6")),
    (Gate, "over"): (
        f"inputs: {{traffic: t}}\ngates: [{{{GATE}}}, {{name: hit@5, regression_max: 0.1}}]\n",
        f"inputs: {{traffic: t}}\ngates: [{{{GATE}}}, {{name: hit@5, regression_max: 0.1, over: traffic}}]\n",
    ),
    (Gate, "direction"): (
        "gates: [{name: score(x), direction: higher, threshold: 0.5}]\n",
        "gates: [{name: score(x), direction: lower, threshold: 0.5}]\n",
    ),
    (SegmentRule, "by"): (
        f"gates: [{{{GATE}, segments: {{{RULE}}}}}]\n",
        f"gates: [{{{GATE}, segments: {{{RULE.replace('lang', 'team')}}}}}]\n",
    ),
    (SegmentRule, "threshold"): (
        f"gates: [{{{GATE}, segments: {{{RULE}}}}}]\n",
        f"gates: [{{{GATE}, segments: {{{RULE.replace('0.5', '0.4')}}}}}]\n",
    ),
    **{
        (SegmentRule, key): (
            f"gates: [{{{GATE}, segments: {{{RULE}}}}}]\n",
            f"gates: [{{{GATE}, segments: {{{RULE}, {key}: {value}}}}}]\n",
        )
        for key, value in (
            ("regression_max", 0.1),
            ("min_queries", 3),
            ("severity", "warning"),
            ("only", "{de: {threshold: 0.4}}"),
        )
    },
    **{
        (Limits, key): (
            f"gates: [{{{GATE}, segments: {{{RULE}}}}}]\n",
            f"gates: [{{{GATE}, segments: {{{RULE}, only: {{de: {{{key}: {value}}}}}}}}}]\n",
        )
        for key, value in (("threshold", 0.4), ("regression_max", 0.1), ("severity", "warning"))
    },
}


@pytest.mark.full
@each_row(
    ("before", "after"),
    [pytest.param(*texts, id=f"{kind.__name__}.{key}") for (kind, key), texts in EVERY_KEY.items()],
)
def test_no_key_is_changed_without_being_named(before: str, after: str) -> None:
    old, new = criteria(before), criteria(after)
    assert told(old, new) != []
    assert told(new, old) != []
    assert told(old, criteria(f"# the same\n{before}")) == []


def test_a_changed_and_a_new_gate_have_the_lines_where_they_are_now() -> None:
    old = criteria("gates:\n- {name: mrr, threshold: 0.5}\n")
    new = criteria("gates:\n# lower\n- {name: mrr, threshold: 0.4}\n- {name: recall@5, threshold: 0.1}\n")
    found = [(each.name, each.change, each.line) for each in gate_changes(old, new)]
    assert found == [("mrr", "changed", 3), ("recall@5", "added", 4)]


LIVE = ("@octocat", "www.e.example", "https://e.example", "#1", "<b>", "[a](b)", "![a](b)", "**a**", "a.severity")


@pytest.mark.parametrize("live", LIVE)
def test_nothing_of_the_criteria_is_live(live: str) -> None:
    """Whatever a pull request writes into its criteria is shown as code."""
    keys = [
        KeyChange(key=key, before=before, after=after, weakens=True)
        for key in (f"segments.{live}.severity", f"segments.{live}", live, "metric", "must_pass", "inputs.run.map")
        for before, after in ((None, live), (live, None), (live, "error"), ([live], [live, f"{live}2"]))
    ]
    removed, changed = GateChange(name=live, change="removed"), GateChange(name=live, change="changed", keys=keys)
    waiver = WaiverChange(gate=live, segment=live, change="added")
    report = report_of(gates=[removed, changed], keys=keys, waivers=[waiver])
    page = Page("\n".join(f"- {change.text}" for change in changes(report, lambda text: code(text, 80))))
    assert {tag for tag, _ in page.tags} <= {"ul", "li", "code", "p"}
    assert live not in page.plain


def test_a_segments_key_that_ends_like_one_of_ours_does_not_make_its_value_one_of_ours() -> None:
    tag = "www.e.example/.severity"
    old, new = (
        criteria(f"gates: [{{name: mrr, threshold: 0.5{rule}}}]\n")
        for rule in (f', segments: {{by: "{tag}", threshold: 0.5}}', "")
    )
    assert told(old, new) == [(True, f"removes 'segments.{tag}' from gate 'mrr'")]


@pytest.mark.parametrize("key", ["traffic", "traffic_labels"])
def test_traffic_that_is_named_no_longer_warns(key: str) -> None:
    """Named anew it can only make a verdict worse; under another name its content is compared."""
    named, other = (criteria(f"inputs: {{{key}: {name}}}\n{ONE}") for name in ("x", "y"))
    assert [weakens for weakens, _ in told(criteria(ONE), named)] == [False]
    assert [weakens for weakens, _ in told(named, other)] == [False]
    assert [weakens for weakens, _ in told(named, criteria(ONE))] == [True]


def test_a_milder_limit_alone_brings_no_questions() -> None:
    gold = Gold(name="gold.yaml", format="samples", samples={"q1": Sample(query_id="q1", gains={"a": 1.0})})
    milder = criteria(ONE.replace("0.5", "0.1"))
    assert query_changes(gold, gold, criteria(ONE), milder) is None


QUESTION = TrafficQuestion(query_id="t1", question="late?", count=3.0)
LABEL = TrafficLabel(query_id="t1", document="d", relevant=True, labeller="ann")
OTHER_LABEL = replace(LABEL, document="e")
BEFORE = TrafficFiles(questions=(QUESTION,), labels=(LABEL,))
TURNED = replace(LABEL, relevant=False)
BOBS = replace(LABEL, labeller="bob")
RARE = replace(QUESTION, count=1.0)
EDITED = replace(QUESTION, question="early?")
TAGGED = replace(QUESTION, tags=("lang:th",))
OTHER = replace(QUESTION, query_id="t2")


@each_row(
    ("changes", "texts"),
    [
        pytest.param({}, [], id="the same"),
        pytest.param(None, ["the traffic that the pull request names is no file of its commit"], id="gone"),
        pytest.param({"labels": ()}, ["removes 1 label of the traffic"], id="label removed"),
        pytest.param({"labels": (TURNED,)}, ["changes 1 label of the traffic"], id="label turned"),
        pytest.param({"labels": (BOBS,)}, ["removes 1 label of the traffic"], id="label of another person"),
        pytest.param({"questions": (RARE,)}, ["changes the count of 1 question of the traffic"], id="count"),
        pytest.param({"questions": (EDITED,)}, ["edits 1 question of the traffic"], id="text"),
        pytest.param({"questions": (TAGGED,)}, ["edits 1 question of the traffic"], id="tag"),
        pytest.param({"questions": (OTHER,)}, ["removes 1 question of the traffic"], id="another in its place"),
        pytest.param(
            {"questions": (QUESTION, OTHER), "labels": (LABEL, OTHER_LABEL)},
            ["adds 1 question to the traffic, so half as many more may be lost"],
            id="as much again",
        ),
        pytest.param(
            {"questions": (QUESTION, replace(OTHER, count=1.0)), "labels": (LABEL, OTHER_LABEL)}, [], id="more of both"
        ),
    ],
)
def test_what_is_done_to_the_traffic_warns_unless_it_only_grows(
    changes: dict[str, Any] | None, texts: list[str]
) -> None:
    after = None if changes is None else replace(BEFORE, **changes)
    base = report_of(traffic=traffic_changes(BEFORE, after, named=True)).base
    assert base
    warnings = warnings_of(base)
    assert [text in warning for text, warning in zip(texts, warnings, strict=True)] == [True] * len(texts)


def test_what_a_first_sentence_has_no_room_for_is_counted() -> None:
    report = report_of(
        keys=[KeyChange(key=key, before=1, after=2, weakens=True) for key in ("max_unjudged", "confidence")],
        queries=QueryChanges(
            queries=5,
            added=4,
            removed=2,
            relabelled=3,
            edited=0,
            added_ids=[],
            removed_ids=[],
            relabelled_ids=[],
            edited_ids=[],
            toward=3,
            diluted=Grown(segment=None, before=5, after=9),
        ),
    )
    assert report.base
    [warning] = warnings_of(report.base)
    assert any("brings the gold set from 5 to 9 questions" in change.text for change in changes(report, quoted))
    assert warning == (
        "the pull request changes `max_unjudged`, changes `confidence`, removes 2 questions, "
        "relabels 3 questions (3 toward this run) and makes 1 more change"
    )
    assert len(f"May be merged, with a warning: {warning}".split()) <= 30


def own_keys_of(kind: type[Part]) -> set[tuple[type[Part], str]]:
    """The keys that a part of the file has, and those that it has of its own where it is a kind of another part."""
    (parent,) = kind.__bases__
    inherited = keys_of(parent) if parent is not Part else []
    return {(kind, name) for name in keys_of(kind) if name not in inherited}


def test_the_table_has_every_key_of_the_criteria() -> None:
    modules = (model, gate_module, judge_block, retriever_block)
    named = [each for module in modules for each in vars(module).values()]
    known = [each for each in named if isinstance(each, type) and issubclass(each, Part)]
    parts = set(known) - {Part, GoldMap, RunMap}  # a map is compared as a whole
    assert set(EVERY_KEY) == {key for part in parts for key in own_keys_of(part)}


@pytest.mark.parametrize("part", [Gate, SegmentRule, Limits])
def test_every_limit_says_which_value_is_stricter(part: type[Part]) -> None:
    """A number that may be left out and then limits nothing; without the word every change of it weakens."""
    limits = {
        name: [each for each in field.metadata if isinstance(each, Stricter)]
        for name, field in part.model_fields.items()
        if field.default is None and name != "line" and re.search(r"\b(int|float)\b", str(field.annotation))
    }
    assert limits.keys() >= {"threshold", "regression_max"}
    assert all(len(rules) == 1 for rules in limits.values()), limits
