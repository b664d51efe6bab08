"""What changed in the criteria, and which way: a gate that asks for less must never read as one that asks for more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.renderers.page import Page

from rankgate.base_ref.changes import gate_changes, key_changes
from rankgate.criteria import BaselinePolicy, Criteria, Gate, Inputs, Limits, SegmentRule, load_criteria, model
from rankgate.criteria.judge_block import Budget, CalibrationFile, JudgeBlock
from rankgate.criteria.maps import GoldMap, RunMap
from rankgate.criteria.model import Age, GoldFile, MatchRule
from rankgate.criteria.parts import Part, keys_of
from rankgate.criteria.retriever_block import Retriever
from rankgate.model.base_ref import BaseSide, GateChange, KeyChange
from rankgate.model.report import Provenance, Report
from rankgate.model.values import Verdict
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import code, quoted

PAGE = (Path(__file__).parents[2] / "docs" / "base.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory to work in."""
    monkeypatch.chdir(tmp_path)


def criteria(text: str) -> Criteria:
    Path("ship-criteria.yaml").write_text(text)
    return load_criteria("ship-criteria.yaml")


def told(before: Criteria, after: Criteria) -> list[tuple[bool, str]]:
    """Whether each change weakens, and how it reads."""
    base = BaseSide(
        ref="main",
        sha="1a2b3c4",
        head_verdict=Verdict.PASS,
        gates=gate_changes(before, after),
        keys=key_changes(before, after),
    )
    provenance = Provenance(rankgate="0", date="2026-01-31")
    report = Report(verdict=Verdict.PASS, summary="", base=base, provenance=provenance)
    return [
        (change.weakens, change.text.removeprefix("The pull request ").removesuffix("."))
        for change in changes(report, quoted)
    ]


def ways(text: str) -> list[str]:
    return [re.sub(r"<([^|>]*)\|([^>]*)>", rf"\{way}", text) for way in (1, 2)]


WEAKER, STRONGER = True, False


@pytest.mark.parametrize(
    ("gate", "change"),
    [
        pytest.param(
            "mrr, threshold: <0.6|0.5>",
            "<lowers|raises> the threshold of gate 'mrr' from <0.600|0.500> to <0.500|0.600>",
            id="a floor",
        ),
        pytest.param(
            "latency, threshold: <50|80>",
            "<raises|lowers> the threshold of gate 'latency' from <50.0|80.0> ms to <80.0|50.0> ms",
            id="a ceiling, where lower is better",
        ),
        pytest.param(
            "recall@5<, threshold: 0.8551|>, regression_max: 0.1",
            "<removes|adds> the threshold 85.51% <from|to> gate 'recall@5'",
            id="no floor",
        ),
        pytest.param(
            "recall@5, regression_max: <0.03|0.031>",
            "<raises|lowers> regression_max of gate 'recall@5' from <3.0|3.1> pp to <3.1|3.0> pp",
            id="an allowed drop",
        ),
        pytest.param(
            "recall@5, threshold: 0.5<, regression_max: 0|>",
            "<removes|adds> regression_max 0.0 pp <from|to> gate 'recall@5'",
            id="no allowed drop at all, and any drop",
        ),
        pytest.param(
            "mrr, threshold: 0.6<|, severity: warning>",
            "<loosens|tightens> the severity of gate 'mrr' from <error|warning> to <warning|error>",
            id="the severity",
        ),
        pytest.param(
            "mrr, threshold: 0.6, evidence: <proven_safe|estimate>",
            "<loosens|tightens> evidence of gate 'mrr' from <proven_safe|estimate> to <estimate|proven_safe>",
            id="the evidence",
        ),
        pytest.param(
            "mrr, threshold: 0.6, evidence: <estimate|proven_harm>",
            "<loosens|tightens> evidence of gate 'mrr' from <estimate|proven_harm> to <proven_harm|estimate>",
            id="the evidence, at the mild end",
        ),
        pytest.param(
            "mrr, threshold: 0.6, evidence: proven_harm, confidence: <0.9|0.99>",
            "<raises|lowers> confidence of gate 'mrr' from <0.9|0.99> to <0.99|0.9>",
            id="more confidence before harm counts",
        ),
        pytest.param(
            "mrr, threshold: 0.6, evidence: proven_safe, confidence: <0.99|0.9>",
            "<lowers|raises> confidence of gate 'mrr' from <0.99|0.9> to <0.9|0.99>",
            id="less confidence that all is well",
        ),
        pytest.param(
            "mrr, threshold: 0.6, must_pass: [<a, |>b]",
            "<takes|adds> 'a' <out of|to> must_pass of gate 'mrr'",
            id="a question that must pass",
        ),
        pytest.param(
            "mrr, threshold: 0.6, max_lost_queries: <0|2>",
            "<raises|lowers> max_lost_queries of gate 'mrr' from <0|2> to <2|0>",
            id="questions that may be lost",
        ),
        pytest.param(
            "mrr, threshold: 0.6<, max_lost_queries: 0|>",
            "<removes|adds> max_lost_queries 0 <from|to> gate 'mrr'",
            id="any number of lost questions",
        ),
        pytest.param(
            "mrr, segments: {by: lang, threshold: 0.5, only: {de: {threshold: 0.6, regression_max: <0.1|0.2>}}}",
            "<raises|lowers> 'segments.lang.only.de.regression_max' of gate 'mrr' from <0.100|0.200> to <0.200|0.100>",
            id="the drop that one segment is allowed",
        ),
        pytest.param(
            "mrr, segments: {by: lang, threshold: 0.5, severity: error, only: {de: {severity: <error|warning>}}}",
            "<loosens|tightens> 'segments.lang.only.de.severity' of gate 'mrr' from <error|warning> to <warning|error>",
            id="one segment that only warns",
        ),
        pytest.param(
            "mrr, threshold: 0.6<, segments: {by: lang, threshold: 0.5}|>",
            "<removes|adds> 'segments.lang' 'lang' <from|to> gate 'mrr'",
            id="a rule for segments",
        ),
        pytest.param(
            "mrr, segments: {by: lang, threshold: <0.5|0.4>}",
            "<lowers|raises> 'segments.lang.threshold' of gate 'mrr' from <0.500|0.400> to <0.400|0.500>",
            id="the floor of segments",
        ),
        pytest.param(
            "mrr, segments: {by: [lang, topic], threshold: 0.5, min_queries: <30|300>}",
            "<raises|lowers> 'segments.lang+topic.min_queries' of gate 'mrr' from <30|300> to <300|30>",
            id="segments too small to be judged",
        ),
        pytest.param(
            "mrr, segments: {by: lang, threshold: 0.5<|, only: {de: {threshold: 0.2>}<|}}>",
            "<lowers|raises> 'segments.lang.only.de.threshold' of gate 'mrr' from <0.500|0.200> to <0.200|0.500>",
            id="one segment with a limit of its own",
        ),
        pytest.param(
            "mrr, segments: {by: lang, threshold: 0.5<|, severity: warning>}",
            "<adds|removes> 'segments.lang.severity' warning <to|from> gate 'mrr'",
            id="segments that only warn",
        ),
        pytest.param(
            "mrr, segments: [{by: lang, threshold: 0.5}, {by: lang, regression_max: <0.1|0.2>}]",
            "<raises|lowers> 'segments.lang#2.regression_max' of gate 'mrr' from <0.100|0.200> to <0.200|0.100>",
            id="the second rule for the same tags",
        ),
    ],
)
def test_a_gate_that_asks_for_less_and_the_way_back(gate: str, change: str) -> None:
    """A row has `<there|back>` where the two ways differ."""
    old, new = (criteria(f"gates: [{{name: {each}}}]\n") for each in ways(gate))
    there, back = ways(change)
    assert told(old, new) == [(WEAKER, there)]
    assert [change.change for change in gate_changes(old, new)] == ["weakened"]
    assert told(new, old) == [(STRONGER, back)]
    assert [change.change for change in gate_changes(new, old)] == ["strengthened"]
    assert told(old, old) == []


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        pytest.param("mrr, threshold: 0.5", "mrr, metric: map, threshold: 0.5", "the metric", id="another metric"),
        pytest.param(
            "score(x), direction: higher, threshold: 0.5",
            "score(x), direction: lower, threshold: 0.5",
            "the direction",
            id="the other way round",
        ),
    ],
)
def test_what_cannot_be_compared_counts_as_weaker_both_ways(before: str, after: str, text: str) -> None:
    old, new = (criteria(f"gates: [{{name: {gate}}}]\n") for gate in (before, after))
    for one, other in ((old, new), (new, old)):
        ((weakens, said),) = told(one, other)
        assert weakens
        assert said.startswith(f"changes {text} of gate ")


def test_the_direction_of_another_tools_number_is_named_as_it_is_written() -> None:
    old, new = (
        criteria(f"gates: [{{name: cost, metric: score(x), direction: {way}, threshold: 0.5}}]\n")
        for way in ("higher", "lower")
    )
    assert told(old, new) == [(WEAKER, "changes the direction of gate 'cost' from 'higher' to 'lower'")]


@pytest.mark.parametrize("way", ["higher", "lower"])
@pytest.mark.parametrize("of", ["y", "x,quantile=0.1", "x,drop_from=y"])
def test_another_tools_other_number_is_another_metric_whichever_way_round(of: str, way: str) -> None:
    old, new = (
        criteria(f'gates: [{{name: cost, metric: "score({each})", direction: {so}, threshold: 0.5}}]\n')
        for each, so in (("x", "higher"), (of, way))
    )
    ((weakens, said),) = told(old, new)
    assert weakens
    assert said.startswith(
        f"changes the metric of gate 'cost' from 'score(x)' to 'score({of.split(',', maxsplit=1)[0]}"
    )


ONE = "gates: [{name: mrr, threshold: 0.5}]\n"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            "", "match: doc\n", [(WEAKER, "changes match from 'chunk' to 'doc'")], id="how results are matched"
        ),
        pytest.param(
            "match: {by: doc, separator: '-'}\n",
            "match: doc\n",
            [(WEAKER, "changes match from 'doc, separator -' to 'doc, separator #'")],
            id="where a document's name ends",
        ),
        pytest.param(
            "match: {by: span, coverage: 0.5}\n",
            "match: {by: span, coverage: 0.01}\n",
            [(WEAKER, "changes match from 'span, coverage 0.5' to 'span, coverage 0.01'")],
            id="how much of a passage suffices",
        ),
        pytest.param(
            "match: {by: span, coverage: 0.5, separator: '-'}\n",
            "match: {by: span, coverage: 0.50000001, separator: '-'}\n",
            [(WEAKER, "changes match from 'span, coverage 0.5' to 'span, coverage 0.50000001'")],
            id="only what differs, however little",
        ),
        pytest.param(
            "match: {by: span, coverage: 0.1, separator: '-'}\n",
            "match: doc\n",
            [(WEAKER, "changes match from 'span, separator -, coverage 0.1' to 'doc'")],
            id="another kind of match, from what is no default",
        ),
        pytest.param(
            "",
            "match: {by: chunk, separator: /}\n",
            [(WEAKER, "changes match from 'chunk, separator #' to 'chunk, separator /'")],
            id="what documents are for metrics that count them",
        ),
        pytest.param(
            "match: {by: text, similarity: 0.9}\n",
            "match: {by: text, similarity: 0.2}\n",
            [(WEAKER, "changes match from 'text, similarity 0.9' to 'text, similarity 0.2'")],
            id="how alike texts must be",
        ),
        pytest.param("", "default_k: 50\n", [(WEAKER, "raises default_k from 5 to 50")], id="the cut-off"),
        pytest.param(
            "gold_changes: fail\n", "", [(WEAKER, "removes gold_changes fail")], id="gold changes judged again"
        ),
        pytest.param(
            "", "gold_changes: fail\n", [(STRONGER, "adds gold_changes fail to the criteria")], id="gold changes fail"
        ),
        pytest.param(
            "", "gold_changes: warn\n", [(WEAKER, "adds gold_changes warn to the criteria")], id="gold changes warn"
        ),
        pytest.param("gold_changes: warn\n", "", [(STRONGER, "removes gold_changes warn")], id="gold changes judged"),
        pytest.param(
            "",
            "fork_runs: trusted\n",
            [(WEAKER, "loosens fork_runs from untrusted to trusted")],
            id="runs of forks are trusted",
        ),
        pytest.param(
            "inputs: {gold: a.yaml}\n",
            "inputs: {gold: b.yaml}\n",
            [(STRONGER, "changes 'inputs.gold' from 'a.yaml' to 'b.yaml'")],
            id="where the gold set lies",
        ),
        pytest.param("", "inputs: {run: r}\n", [(STRONGER, "adds 'inputs.run' 'r' to the criteria")], id="a path"),
        pytest.param(
            "inputs: {run: {path: r, format: jsonl}}\n",
            "inputs: {run: {path: r, map: {query_id: q, items: found, chunk_id: c}}}\n",
            [
                (STRONGER, "removes 'inputs.run.format' 'jsonl'"),
                (STRONGER, "adds 'inputs.run.map' 'query_id q, items found, chunk_id c' to the criteria"),
            ],
            id="how the run is read",
        ),
        pytest.param(
            "inputs: {gold: {path: g, format: samples}}\n",
            "inputs: {gold: {path: g, format: trec}}\n",
            [(STRONGER, "changes 'inputs.gold.format' from 'samples' to 'trec'")],
            id="how the gold set is read",
        ),
        pytest.param(
            "inputs: {waivers: a.yaml}\n",
            "inputs: {waivers: b.yaml}\n",
            [(STRONGER, "changes 'inputs.waivers' from 'a.yaml' to 'b.yaml'")],
            id="where the waivers lie",
        ),
        pytest.param(
            "",
            "baseline: {accept: green}\n",
            [(WEAKER, "changes 'baseline.accept' from 'manual' to 'green'")],
            id="the baseline moves by itself",
        ),
        pytest.param(
            "baseline: {max_age: {days: 3, commits: 5, severity: error}}\n",
            "baseline: {max_age: {days: 30, commits: 50}}\n",
            [
                (WEAKER, "raises 'baseline.max_age.days' from 3 to 30"),
                (WEAKER, "raises 'baseline.max_age.commits' from 5 to 50"),
                (WEAKER, "loosens 'baseline.max_age.severity' from error to warning"),
            ],
            id="an older baseline",
        ),
        pytest.param(
            "evidence: proven_safe\n",
            "",
            [(WEAKER, "loosens evidence of gate 'mrr' from proven_safe to estimate")],
            id="the evidence of all gates",
        ),
        pytest.param("evidence: estimate\nconfidence: 0.9\n", "confidence: 0.9\n", [], id="a default written out"),
    ],
)
def test_keys_beside_the_gates(before: str, after: str, expected: list[tuple[bool, str]]) -> None:
    assert told(criteria(before + ONE), criteria(after + ONE)) == expected


def test_gates_added_removed_and_renamed() -> None:
    old = criteria(
        "gates:\n  - {name: a, metric: mrr, threshold: 0.5}\n  - {name: b, metric: map, threshold: 0.5}\n"
        "  - {name: c, metric: hit@5, threshold: 0.5}\n",
    )
    new = criteria(
        "gates:\n  - {name: c, metric: hit@5, threshold: 0.5}\n  - {name: z, metric: mrr, threshold: 0.5}\n"
        "  - {name: y, metric: map, threshold: 0.4}\n",
    )
    assert gate_changes(old, new) == [
        GateChange(name="a", change="renamed", new_name="z", line=3),
        GateChange(name="b", change="removed"),
        GateChange(name="y", change="added", line=4),
    ]
    assert told(old, new) == [
        (WEAKER, "removes gate 'b'"),
        (STRONGER, "renames gate 'a' to 'z'"),
        (STRONGER, "adds gate 'y'"),
    ]


def test_one_new_gate_is_the_new_name_of_one_old_one() -> None:
    """Of two equal gates that become one, one is removed."""
    old = criteria("gates: [{name: a, metric: mrr, threshold: 0.5}, {name: b, metric: mrr, threshold: 0.5}]\n")
    new = criteria("gates: [{name: z, metric: mrr, threshold: 0.5}]\n")
    assert [change.change for change in gate_changes(old, new)] == ["renamed", "removed"]


JUDGED = "judge: {endpoint: 'http://host/v1', model: m%s}\n"


@pytest.mark.parametrize(
    ("mild", "strict"),
    [
        pytest.param("max_unjudged: 0.05\n", "max_unjudged: 0.01\n", id="of the file"),
        pytest.param("max_unjudged: 0.05\n", "", id="the default"),
        pytest.param(JUDGED % ", allow_unjudged: warn", JUDGED % "", id="answers that nobody asked about"),
    ],
)
def test_more_values_that_are_missing_are_weaker(mild: str, strict: str) -> None:
    old, new = (criteria(each + ONE) for each in (strict, mild))
    assert [strength for strength, _ in told(old, new)] == [WEAKER]
    assert [strength for strength, _ in told(new, old)] == [STRONGER]


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
    (Criteria, "gold_changes"): (ONE, f"gold_changes: fail\n{ONE}"),
    (Criteria, "fork_runs"): (ONE, f"fork_runs: trusted\n{ONE}"),
    (Criteria, "waiver_label"): (ONE, f"waiver_label: fine\n{ONE}"),
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
            ("depth", 3),
            ("context_tokens", 100),
            ("allow_unjudged", "warn"),
            ("calibration", "{file: c.json}"),
        )
    },
    **{
        (CalibrationFile, key): (f"judge: {{{JUDGE}, {CHECKED}}}}}\n{ONE}", f"judge: {{{JUDGE}, {other}}}}}\n{ONE}")
        for key, other in (("file", CHECKED.replace("c.json", "d.json")), ("max_days", f"{CHECKED}, max_days: 90"))
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
        (Inputs, key): (ONE, f"inputs: {{{key}: x}}\n{ONE}") for key in ("gold", "run", "baseline", "scores", "waivers")
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


def own_keys_of(kind: type[Part]) -> set[tuple[type[Part], str]]:
    """The keys that a part of the file has, and those that it has of its own where it is a kind of another part."""
    (parent,) = kind.__bases__
    inherited = keys_of(parent) if parent is not Part else []
    return {(kind, name) for name in keys_of(kind) if name not in inherited}


def test_the_table_has_every_key_of_the_criteria() -> None:
    named = [*vars(model).values(), Budget, CalibrationFile]
    known = [each for each in named if isinstance(each, type) and issubclass(each, Part)]
    parts = set(known) - {Part, GoldMap, RunMap}  # a map is compared as a whole
    assert set(EVERY_KEY) == {key for part in parts for key in own_keys_of(part)}


@pytest.mark.parametrize(
    ("before", "after"),
    [pytest.param(*texts, id=f"{kind.__name__}.{key}") for (kind, key), texts in EVERY_KEY.items()],
)
def test_no_key_is_changed_without_being_named(before: str, after: str) -> None:
    old, new = criteria(before), criteria(after)
    assert told(old, new) != []
    assert told(new, old) != []
    assert told(old, criteria(f"# the same\n{before}")) == []


def test_the_page_on_the_base_names_every_key() -> None:
    within = {BaselinePolicy: "baseline.", Age: "baseline.max_age.", JudgeBlock: "judge.", Budget: "judge.budget."}
    within |= {CalibrationFile: "judge.calibration.", Retriever: "retriever."}
    keys = {within.get(kind, "") + key for kind, key in EVERY_KEY}
    assert {key for key in keys if f"`{key}`" not in PAGE} == set()


# Whatever a pull request writes into its criteria is shown as code.

LIVE = (
    "@octocat",
    "www.e.example",
    "https://e.example",
    "#1",
    "<b>",
    "[a](b)",
    "![a](b)",
    "**a**",
    "a.severity",
    "error",
)
LIVE_TEXT = st.lists(st.sampled_from(LIVE) | st.text(max_size=3), min_size=1, max_size=4).map("x".join)
VALUES = st.none() | LIVE_TEXT | st.sampled_from(LIVE) | st.lists(LIVE_TEXT, max_size=3) | st.floats(0, 1)
KEYS = (
    st.builds("segments.{}.{}".format, LIVE_TEXT, st.sampled_from(("severity", "evidence", "threshold")))
    | st.builds("segments.{}".format, LIVE_TEXT)
    | st.sampled_from(("metric", "must_pass", "waiver_label", "match", "baseline.accept", "inputs.run.map"))
)
KEY_CHANGES = st.builds(KeyChange, key=KEYS, before=VALUES, after=VALUES, weakens=st.booleans())


@given(LIVE_TEXT, LIVE_TEXT, st.lists(KEY_CHANGES, max_size=3), st.lists(KEY_CHANGES, max_size=2))
def test_nothing_of_the_criteria_is_live(
    name: str, new_name: str, of_gate: list[KeyChange], others: list[KeyChange]
) -> None:
    base = BaseSide(
        ref="main",
        sha="1a2b3c4",
        head_verdict=Verdict.PASS,
        gates=[
            GateChange(name=name, change="removed"),
            GateChange(name=name, change="renamed", new_name=new_name),
            GateChange(name=name, change="weakened", keys=of_gate),
        ],
        keys=others,
    )
    provenance = Provenance(rankgate="0", date="2026-01-31")
    report = Report(verdict=Verdict.PASS, summary="", base=base, provenance=provenance)
    found = changes(report, lambda text: code(text, 80))
    page = Page("\n".join(f"- {change.text}" for change in found))
    assert {tag for tag, _ in page.tags} <= {"ul", "li", "code", "p"}
    for live in LIVE[:-1]:
        assert live not in page.plain


def test_a_segments_key_that_ends_like_one_of_ours_does_not_make_its_value_one_of_ours() -> None:
    tag = "www.e.example/.severity"
    old, new = (
        criteria(f"gates: [{{name: mrr, threshold: 0.5{rule}}}]\n")
        for rule in (f', segments: {{by: "{tag}", threshold: 0.5}}', "")
    )
    assert told(old, new) == [(WEAKER, f"removes 'segments.{tag}' '{tag}' from gate 'mrr'")]
