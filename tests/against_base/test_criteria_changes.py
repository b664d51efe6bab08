"""What changed in the criteria, and which way: a gate that asks for less must never read as one that asks for more."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankgate.against_base.criteria_changes import gate_changes, key_changes
from rankgate.base_side import BaseSide, GateChange
from rankgate.criteria import Criteria, load_criteria
from rankgate.model import Verdict
from rankgate.renderers.base_changes import changes, quoted
from rankgate.report import Provenance, Report


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


WEAKER, STRONGER = True, False


@pytest.mark.parametrize(
    ("before", "after", "there", "back"),
    [
        pytest.param(
            "mrr, threshold: 0.6",
            "mrr, threshold: 0.5",
            "lowers the threshold of gate 'mrr' from 0.600 to 0.500",
            "raises the threshold of gate 'mrr' from 0.500 to 0.600",
            id="a floor",
        ),
        pytest.param(
            "latency, threshold: 50",
            "latency, threshold: 80",
            "raises the threshold of gate 'latency' from 50.0 ms to 80.0 ms",
            "lowers the threshold of gate 'latency' from 80.0 ms to 50.0 ms",
            id="a ceiling, where lower is better",
        ),
        pytest.param(
            "recall@5, threshold: 0.8551, regression_max: 0.1",
            "recall@5, regression_max: 0.1",
            "removes the threshold 85.51% from gate 'recall@5'",
            "adds the threshold 85.51% to gate 'recall@5'",
            id="no floor",
        ),
        pytest.param(
            "recall@5, regression_max: 0.03",
            "recall@5, regression_max: 0.031",
            "raises regression_max of gate 'recall@5' from 3.0 pp to 3.1 pp",
            "lowers regression_max of gate 'recall@5' from 3.1 pp to 3.0 pp",
            id="an allowed drop",
        ),
        pytest.param(
            "recall@5, threshold: 0.5, regression_max: 0",
            "recall@5, threshold: 0.5",
            "removes regression_max 0.0 pp from gate 'recall@5'",
            "adds regression_max 0.0 pp to gate 'recall@5'",
            id="no allowed drop at all, and any drop",
        ),
        pytest.param(
            "mrr, threshold: 0.6",
            "mrr, threshold: 0.6, severity: warning",
            "loosens the severity of gate 'mrr' from error to warning",
            "tightens the severity of gate 'mrr' from warning to error",
            id="the severity",
        ),
        pytest.param(
            "mrr, threshold: 0.6, evidence: proven_safe",
            "mrr, threshold: 0.6, evidence: estimate",
            "loosens evidence of gate 'mrr' from proven_safe to estimate",
            "tightens evidence of gate 'mrr' from estimate to proven_safe",
            id="the evidence",
        ),
        pytest.param(
            "mrr, threshold: 0.6, evidence: estimate",
            "mrr, threshold: 0.6, evidence: proven_harm",
            "loosens evidence of gate 'mrr' from estimate to proven_harm",
            "tightens evidence of gate 'mrr' from proven_harm to estimate",
            id="the evidence, at the mild end",
        ),
        pytest.param(
            "mrr, threshold: 0.6, evidence: proven_harm, confidence: 0.9",
            "mrr, threshold: 0.6, evidence: proven_harm, confidence: 0.99",
            "raises confidence of gate 'mrr' from 0.9 to 0.99",
            "lowers confidence of gate 'mrr' from 0.99 to 0.9",
            id="more confidence before harm counts",
        ),
        pytest.param(
            "mrr, threshold: 0.6, evidence: proven_safe, confidence: 0.99",
            "mrr, threshold: 0.6, evidence: proven_safe, confidence: 0.9",
            "lowers confidence of gate 'mrr' from 0.99 to 0.9",
            "raises confidence of gate 'mrr' from 0.9 to 0.99",
            id="less confidence that all is well",
        ),
        pytest.param(
            "mrr, threshold: 0.6, must_pass: [a, b]",
            "mrr, threshold: 0.6, must_pass: [b]",
            "takes 'a' out of must_pass of gate 'mrr'",
            "adds 'a' to must_pass of gate 'mrr'",
            id="a question that must pass",
        ),
        pytest.param(
            "mrr, threshold: 0.6, max_lost_queries: 0",
            "mrr, threshold: 0.6, max_lost_queries: 2",
            "raises max_lost_queries of gate 'mrr' from 0 to 2",
            "lowers max_lost_queries of gate 'mrr' from 2 to 0",
            id="questions that may be lost",
        ),
        pytest.param(
            "mrr, threshold: 0.6, max_lost_queries: 0",
            "mrr, threshold: 0.6",
            "removes max_lost_queries 0 from gate 'mrr'",
            "adds max_lost_queries 0 to gate 'mrr'",
            id="any number of lost questions",
        ),
        pytest.param(
            "mrr, threshold: 0.6, segments: {by: lang, threshold: 0.5}",
            "mrr, threshold: 0.6",
            "removes 'segments.lang' 'lang' from gate 'mrr'",
            "adds 'segments.lang' 'lang' to gate 'mrr'",
            id="a rule for segments",
        ),
        pytest.param(
            "mrr, segments: {by: lang, threshold: 0.5}",
            "mrr, segments: {by: lang, threshold: 0.4}",
            "lowers 'segments.lang.threshold' of gate 'mrr' from 0.500 to 0.400",
            "raises 'segments.lang.threshold' of gate 'mrr' from 0.400 to 0.500",
            id="the floor of segments",
        ),
        pytest.param(
            "mrr, segments: {by: [lang, topic], threshold: 0.5, min_queries: 30}",
            "mrr, segments: {by: [lang, topic], threshold: 0.5, min_queries: 300}",
            "raises 'segments.lang+topic.min_queries' of gate 'mrr' from 30 to 300",
            "lowers 'segments.lang+topic.min_queries' of gate 'mrr' from 300 to 30",
            id="segments too small to be judged",
        ),
        pytest.param(
            "mrr, segments: {by: lang, threshold: 0.5}",
            "mrr, segments: {by: lang, threshold: 0.5, only: {de: {threshold: 0.2}}}",
            "lowers 'segments.lang.only.de.threshold' of gate 'mrr' from 0.500 to 0.200",
            "raises 'segments.lang.only.de.threshold' of gate 'mrr' from 0.200 to 0.500",
            id="one segment with a limit of its own",
        ),
        pytest.param(
            "mrr, segments: {by: lang, threshold: 0.5}",
            "mrr, segments: {by: lang, threshold: 0.5, severity: warning}",
            "adds 'segments.lang.severity' warning to gate 'mrr'",
            "removes 'segments.lang.severity' warning from gate 'mrr'",
            id="segments that only warn",
        ),
        pytest.param(
            "mrr, segments: [{by: lang, threshold: 0.5}, {by: lang, regression_max: 0.1}]",
            "mrr, segments: [{by: lang, threshold: 0.5}, {by: lang, regression_max: 0.2}]",
            "raises 'segments.lang#2.regression_max' of gate 'mrr' from 0.100 to 0.200",
            "lowers 'segments.lang#2.regression_max' of gate 'mrr' from 0.200 to 0.100",
            id="the second rule for the same tags",
        ),
    ],
)
def test_a_gate_that_asks_for_less_and_the_way_back(before: str, after: str, there: str, back: str) -> None:
    old, new = (criteria(f"gates: [{{name: {gate}}}]\n") for gate in (before, after))
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
            "the metric",
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
            [(WEAKER, "changes match from 'doc, separator -' to 'doc'")],
            id="where a document's name ends",
        ),
        pytest.param(
            "match: {by: text, similarity: 0.9}\n",
            "match: {by: text, similarity: 0.2}\n",
            [(WEAKER, "changes match from 'text, similarity 0.9' to 'text, similarity 0.2'")],
            id="how alike texts must be",
        ),
        pytest.param("", "default_k: 50\n", [(WEAKER, "raises default_k from 5 to 50")], id="the cut-off"),
        pytest.param(
            "gold_changes: fail\n", "", [(WEAKER, "loosens gold_changes from fail to warn")], id="gold changes warn"
        ),
        pytest.param(
            "", "gold_changes: fail\n", [(STRONGER, "tightens gold_changes from warn to fail")], id="gold changes fail"
        ),
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
