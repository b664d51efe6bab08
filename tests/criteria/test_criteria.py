"""ship-criteria.yaml: what it means, and every way in which it refuses to guess."""

import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.criteria import Criteria, Gate, InputFile, Limits, SegmentRule, find_criteria, load_criteria
from rankgate.errors import RankgateError
from rankgate.metrics.matching import By, Matching
from rankgate.metrics.names import parse_metric
from rankgate.model.values import Direction, Evidence

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

NAME = "ship-criteria.yaml"


def load(text: str, name: str = NAME) -> Criteria:
    Path(name).write_text(text, encoding="utf-8")
    return load_criteria(name)


def refusal(text: str) -> list[str]:
    """What is said of the file, without its name."""
    with pytest.raises(RankgateError) as caught:
        load(text)
    lines = str(caught.value).split("\n")
    assert all(line.startswith(NAME) for line in lines)
    return [line.removeprefix(NAME).removeprefix(":") for line in lines]


def gate(line: str) -> str:
    """A file with one gate, recall@5, and another line in it."""
    return f"gates:\n  - name: recall_at_5\n    {line}\n"


def test_a_file_that_is_far_too_long_is_not_read() -> None:
    assert refusal("gates: []\n" + "#" * 1_000_000) == [
        " has more than 1,000,000 bytes; ship criteria are not that long; is this another file?"
    ]


AS_IN_THE_DESIGN = """\
gates:
  - name: retrieval_recall_at_5
    threshold: 0.85        # absolute floor
    regression_max: 0.03   # may not drop more than 3pp from baseline
    severity: error        # blocks merge
  - name: retrieval_mrr
    threshold: 0.62
    regression_max: 0.05
    severity: warning      # PR comment, no block
"""


def test_segments_as_they_are_written() -> None:
    (gate,) = load(
        "gates:\n"
        "  - name: recall@5\n"
        "    segments:\n"
        "      - by: lang\n"
        "        threshold: 0.7\n"
        "        regression_max: 0.03\n"
        "        only: {pt-BR: {threshold: 0.85, severity: warning}}\n"
        "      - {by: [lang, topic], threshold: 0.5, min_queries: 10, severity: error}\n"
        "    must_pass: [q1, 7, 'topic:law']\n"
        "    max_lost_queries: 0\n"
    ).gates
    assert gate.segments == (
        SegmentRule(
            by=("lang",), threshold=0.7, regression_max=0.03, only={"pt-BR": Limits(threshold=0.85, severity="warning")}
        ),
        SegmentRule(by=("lang", "topic"), threshold=0.5, severity="error", min_queries=10),
    )
    assert (gate.must_pass, gate.max_lost_queries) == (("q1", "7", "topic:law"), 0)
    assert gate.segments[0].limits_of("lang:pt-BR") == Limits(threshold=0.85, regression_max=0.03, severity="warning")
    assert gate.segments[0].limits_of("lang:en") == Limits(threshold=0.7, regression_max=0.03)
    assert (gate.threshold, gate.regression_max) == (None, None)


def test_evidence_and_confidence_are_the_gates_own_or_the_files() -> None:
    criteria = load(
        "evidence: proven_harm\nconfidence: 0.9\n"
        "gates:\n"
        "  - {name: recall@5, threshold: 0.5}\n"
        "  - {name: mrr, threshold: 0.5, evidence: proven_safe, confidence: 0.99}\n"
    )
    assert [(gate.evidence, gate.confidence) for gate in criteria.gates] == [
        (Evidence.PROVEN_HARM, 0.9),
        (Evidence.PROVEN_SAFE, 0.99),
    ]
    assert [(gate.evidence, gate.confidence) for gate in load(AS_IN_THE_DESIGN).gates] == [
        (Evidence.ESTIMATE, 0.95)
    ] * 2


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("chunk", Matching(), id="chunk"),
        pytest.param("doc", Matching(by=By.DOC), id="doc"),
        pytest.param("{by: doc, separator: '::'}", Matching(by=By.DOC, separator="::"), id="doc, with a separator"),
        pytest.param("{by: text, similarity: 0.8}", Matching(by=By.TEXT, similarity=0.8), id="text, nearly"),
    ],
)
def test_how_items_match_is_said_once_for_all_gates(written: str, expected: Matching) -> None:
    assert load(f"{AS_IN_THE_DESIGN}match: {written}\n").match == expected


@pytest.mark.parametrize(
    ("written", "better", "name"),
    [
        pytest.param("higher", Direction.HIGHER, "score(cost)", id="higher"),
        pytest.param("lower", Direction.LOWER, "score(cost,better=lower)", id="lower"),
    ],
)
def test_a_gate_says_which_way_a_score_is_better(written: str, better: Direction, name: str) -> None:
    (gate,) = load(f"gates:\n  - {{name: score(cost), threshold: 2.5, direction: {written}}}\n").gates
    assert gate.metric.direction is better
    assert gate.metric.name == name


def test_the_file_of_the_design_loads_as_it_is_written() -> None:
    assert load(AS_IN_THE_DESIGN) == Criteria(
        name=NAME,
        gates=(
            Gate(
                name="retrieval_recall_at_5",
                metric=parse_metric("recall@5"),
                threshold=0.85,
                regression_max=0.03,
                line=2,
            ),
            Gate(
                name="retrieval_mrr",
                metric=parse_metric("mrr"),
                threshold=0.62,
                regression_max=0.05,
                severity="warning",
                line=6,
            ),
        ),
        default_k=5,
    )


@each_row(
    ("written", "expected"),
    [
        pytest.param("name: recall@5, threshold: 0.5", ("recall@5", 0.5, None, True), id="only a floor"),
        pytest.param("name: recall@5, regression_max: 0.02", ("recall@5", None, 0.02, True), id="only a drop"),
        pytest.param("name: recall@5, regression_max: 0", ("recall@5", None, 0, True), id="no drop at all"),
        pytest.param("name: recall@5, threshold: 0", ("recall@5", 0, None, True), id="a floor of 0"),
        pytest.param("name: recall@5, threshold: 1", ("recall@5", 1, None, True), id="a floor of 1"),
        pytest.param("name: recall@5, threshold: .5", ("recall@5", 0.5, None, True), id="a floor of .5"),
        pytest.param("name: recall@5, threshold: 5e-1", ("recall@5", 0.5, None, True), id="an exponent"),
        pytest.param("name: mrr, threshold: 0.5, regression_max: ", ("mrr", 0.5, None, True), id="no value"),
        pytest.param("name: mrr, threshold: 0.5, regression_max: null", ("mrr", 0.5, None, True), id="null is absent"),
        pytest.param("name: mrr, threshold: 0.5, severity: warning", ("mrr", 0.5, None, False), id="a warning"),
        pytest.param("name: a b, metric: Recall_at_5, threshold: 0.5", ("recall@5", 0.5, None, True), id="a free name"),
        pytest.param("name: mrr, metric: map, threshold: 0.5", ("map", 0.5, None, True), id="before the name"),
        pytest.param("name: recall, threshold: 0.5", ("recall@k", 0.5, None, True), id="the sample's own k"),
        pytest.param(
            "name: latency, threshold: 300, regression_max: 1000",
            ("latency", 300, 1000, True),
            id="milliseconds have no upper end",
        ),
        pytest.param("name: dcg@10, threshold: 85", ("dcg@10", 85, None, True), id="dcg has none either"),
        pytest.param('\'name\': "recall@5", "threshold": 0.5', ("recall@5", 0.5, None, True), id="quoted"),
    ],
)
def test_gate(written: str, expected: tuple[str, float | None, float | None, bool]) -> None:
    (found,) = load(f"gates:\n  - {{{written}}}\n").gates
    assert found.name == written.partition(",")[0].partition(": ")[2].strip('"')
    assert (found.metric.name, found.threshold, found.regression_max, found.blocks) == expected


def test_direction_is_the_metrics_own() -> None:
    quick, good = load("gates:\n- {name: latency, threshold: 300}\n- {name: mrr, threshold: 0.5}\n").gates
    assert (quick.metric.direction, good.metric.direction) == (Direction.LOWER, Direction.HIGHER)


def test_two_gates_may_share_a_metric() -> None:
    criteria = load(
        "gates:\n"
        "  - {name: low bar, metric: recall@5, threshold: 0.5}\n"
        "  - {name: mrr, threshold: 0.5}\n"
        "  - {name: high bar, metric: R@5, threshold: 0.9, severity: warning}\n"
    )
    assert [gate.name for gate in criteria.gates] == ["low bar", "mrr", "high bar"]
    assert [metric.name for metric in criteria.metrics()] == ["recall@5", "mrr"]


OR_SAY_SO = "; or name the metric with `metric:`"
MATCH_KEYS = ["by", "separator", "similarity", "coverage", "exclude_query_id"]
ONE = "gates:\n  - {name: mrr, threshold: 0.5}\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"gates": [{"name": "mrr", "threshold": 0.5}]}', id="JSON"),
        pytest.param(f"%YAML 1.2\n---\n{ONE}", id="a directive and a document start"),
        pytest.param(ONE.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(f"\ufeff{ONE}", id="byte order mark"),
        pytest.param(f"# Ship criteria\n\n{ONE}\n# the end\n", id="comments"),
    ],
)
def test_forms(text: str) -> None:
    (found,) = load(text).gates
    assert (found.metric.name, found.threshold) == ("mrr", 0.5)


def test_gzip() -> None:
    Path("criteria.gz").write_bytes(gzip.compress(ONE.encode()))
    assert len(load_criteria("criteria.gz").gates) == 1


def test_default_k() -> None:
    assert load(ONE).default_k == 5
    assert load(f"{ONE}default_k: 10\n").default_k == 10


@pytest.mark.parametrize(
    ("criteria", "written", "expected"),
    [
        pytest.param("c.yaml", "gold.yaml", InputFile("gold.yaml"), id="beside the criteria"),
        pytest.param(
            "config/c.yaml", "gold.yaml", InputFile("config/gold.yaml"), id="in the directory of the criteria"
        ),
        pytest.param("config/c.yaml", "../gold.yaml", InputFile("gold.yaml"), id="above it"),
        pytest.param("config/c.yaml", "./data/gold.yaml", InputFile("config/data/gold.yaml"), id="below it"),
        pytest.param("./config/c.yaml", "../../gold.yaml", InputFile("../gold.yaml"), id="out of the repository"),
        pytest.param("config/c.yaml", "/data/gold.yaml", InputFile("/data/gold.yaml"), id="absolute"),
        pytest.param("config/c.yaml", "'no'", InputFile("config/no"), id="quoted"),
        pytest.param("config/c.yaml", "no", InputFile("config/no"), id="a word that other loaders take for false"),
        pytest.param("config/c.yaml", "{path: qrels.txt}", InputFile("config/qrels.txt"), id="a mapping"),
        pytest.param(
            "config/c.yaml", "{path: ../qrels.txt, format: qrels}", InputFile("qrels.txt", "qrels"), id="with a format"
        ),
        pytest.param("config/c.yaml", "{path: x, format: null}", InputFile("config/x"), id="without a format"),
        pytest.param("config/c.yaml", "", None, id="without a value"),
    ],
)
@pytest.mark.parametrize("which", ["gold", "run", "baseline"])
def test_inputs(which: str, criteria: str, written: str, expected: InputFile | None) -> None:
    Path("config").mkdir()
    loaded = load(f"{ONE}inputs:\n  {which}: {written}\n", criteria)
    assert {name: getattr(loaded.inputs, name) for name in ("gold", "run", "baseline")} == {
        "gold": None,
        "run": None,
        "baseline": None,
        which: expected,
    }


@each_row(
    ("written", "problem"),
    {
        'threshold: "0.85"': "threshold: expected a number, found the text '0.85'; remove the quotes",
        "regression_max: '0.03'": "regression_max: expected a number, found the text '0.03'; remove the quotes",
        "threshold: 75%": "threshold: expected a number, found the text '75%'; write 0.75",
        "regression_max: 2,5 %": "regression_max: expected a number, found the text '2,5 %'; write 0.025",
        "threshold: 0,75": "threshold: expected a number, found the text '0,75'; write 0.75",
        "threshold: '%'": "threshold: expected a number, found the text '%'",
        "threshold: true": "threshold: expected a number, found true",
        "threshold: [0.85]": "threshold: expected a number, found [0.85]",
        "threshold: {min: 1}": "threshold: expected a number, found {'min': 1}",
        "threshold: 85": "threshold: 85 lies outside [0, 1], the range of recall@5; write 0.85 for 85%",
        "threshold: 100": "threshold: 100 lies outside [0, 1], the range of recall@5; write 1 for 100%",
        "threshold: 62.5": "threshold: 62.5 lies outside [0, 1], the range of recall@5; write 0.625 for 62.5%",
        "threshold: 101": "threshold: 101 lies outside [0, 1], the range of recall@5",
        "threshold: -0.1": "threshold: -0.1 lies outside [0, 1], the range of recall@5",
        "regression_max: 3": "regression_max: 3 is more than recall@5 can move (1); write 0.03 for 3%",
        "regression_max: 300": "regression_max: 300 is more than recall@5 can move (1)",
        "regression_max: -0.03": "regression_max: expected a number of at least 0, found -0.03",
        "threshold: 0.5\n    segments: {by: lang, min_querys: 5, threshold: 0.5}": (
            "segments.min_querys: unknown key; did you mean 'min_queries'?"
        ),
        "segments: {by: lang}": (
            "segments.by: the segments have no limit; give them a threshold, a regression_max, or both"
        ),
        "segments: {by: [], threshold: 0.5}": "segments.by: name the key of a tag, such as lang",
        "segments: {by: lang, only: {pt: {threshold: 85, severity: high}}}": (
            "segments.only.pt.severity: expected error or warning, found the text 'high'"
        ),
        "metric: latency\n    threshold: 50\n    must_pass: [q1]": (
            "must_pass: latency has no worst value that a question could have"
        ),
        "threshold: 0.5\n    max_lost_queries: -1": "max_lost_queries: expected a whole number of at least 0, found -1",
        "threshold: 0.5\n    confidence: 0.5": "confidence: expected a number above 0.5, found 0.5",
        "threshold: 0.5\n    evidence: proven": (
            "evidence: expected estimate, proven_safe or proven_harm, found the text 'proven'"
        ),
        "threshold: 0.5\n    direction: higher": (
            "direction: recall@5 has its own direction (higher is better); leave the key out"
        ),
        "metric: score(cost)\n    threshold: 0.5\n    direction: down": (
            "direction: expected higher or lower, found the text 'down'"
        ),
        "metric: overlap@5\n    regression_max: 0.5": (
            "regression_max: overlap@5 compares with the baseline already; give it a threshold instead"
        ),
        "metric: rerank_gain(recall@5)\n    threshold: -1.5": (
            "threshold: -1.5 lies outside [-1, 1], the range of rerank_gain(recall@5)"
        ),
        "threshold: 0.5\n    severity:": "severity: expected error or warning, found nothing",
        "threshhold: 0.5": "threshhold: unknown key; did you mean 'threshold'?",
        "threshold: 0.5\n    Severity: error": "Severity: unknown key; did you mean 'severity'?",
        "threshold: 0.5\n    threshold: 0.6": "threshold: duplicate key, first on line 3",
        "threshold: 1\n    must_pass: [q1, true]": "must_pass[1]: expected text, found true",
        "threshold: 1\n    must_pass: q1": "must_pass: expected a list, found the text 'q1'",
    }.items(),
)
def test_a_line_of_a_gate_that_is_refused(written: str, problem: str) -> None:
    """In the last line that is written."""
    line = 2 + len(written.splitlines())
    assert refusal(gate(written)) == [f"{line}: gates[0].{problem}"]


@each_row(
    ("written", "problem"),
    {
        "  - {name: map, threshold: 0.5}\n  - {name: mrr, threshold: 0.6}": (
            "gates[2].name: the gate 'mrr' stands twice; give each its own name"
        ),
        "defualt_k: 5": "defualt_k: unknown key; did you mean 'default_k'?",
        "inputs:\n  baselin: b": "inputs.baselin: unknown key; did you mean 'baseline'?",
        "inputs:\n  gold:\n    path: g\n    fromat: qrels": "inputs.gold.fromat: unknown key; did you mean 'format'?",
        "inputs:\n  gold: 5": "inputs.gold: expected text or a mapping with path, format and map, found 5",
        "accept_own: yes": "accept_own: expected true or false, found the text 'yes'",
        "inputs:\n  run: [a, b]": "inputs.run: expected text or a mapping with path, format and map, found ['a', 'b']",
        "inputs:\n  gold: {format: qrels}": "inputs.gold.path: is missing",
        "match: {by: document}": "match.by: expected chunk, doc, text or span, found the text 'document'",
        "match: document": "match: expected chunk, doc, text or span, found the text 'document'",
        "match: 5": (
            f"match: expected text or a mapping with {', '.join(MATCH_KEYS[:-1])} and {MATCH_KEYS[-1]}, found 5"
        ),
        "baseline: {max_age: {}}": "baseline.max_age.days: the age has no limit; give it days, commits, or both",
    }.items(),
)
def test_a_key_beside_the_gates_that_is_refused(written: str, problem: str) -> None:
    line = 2 + len(written.splitlines())
    assert refusal(f"{ONE}{written}\n") == [f"{line}: {problem}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Numbers that are none.
        *(
            pytest.param(
                gate(f"threshold: {word}"),
                [f"3: gates[0].threshold: expected a number, found the text '{word}'"],
                id=f"threshold: {word}",
            )
            for word in (
                "no",
                "yes",
                "1:30",
                "085",
                "1_000",
                ".nan",
                "nan",
                ".inf",
                "inf",
                "1e999",
                "high",
            )
        ),
        # Numbers out of range.
        (
            "gates:\n  - name: latency\n    threshold: -3\n",
            ["3: gates[0].threshold: -3 lies outside [0, ∞), the range of latency"],
        ),
        # Gates that say nothing.
        ("gates: []\n", ["1: gates: expected a list that is not empty"]),
        ("gates:\n", ["1: gates: expected a list, found nothing"]),
        ("gates: {}\n", ["1: gates: expected a list, found {}"]),
        ("default_k: 5\n", ["1: gates: is missing"]),
        (
            "gates:\n  - name: recall@5\n    severity: error\n",
            ["2: gates[0].name: the gate limits nothing; give it a threshold, a regression_max, or both"],
        ),
        (
            gate("threshold: null"),
            ["2: gates[0].name: the gate limits nothing; give it a threshold, a regression_max, or both"],
        ),
        (
            "gates:\n  - recall@5\n",
            [
                (
                    "2: gates[0]: expected a mapping with name, metric, threshold, regression_max, over, "
                    "severity, evidence, confidence, max_unjudged, segments, must_pass, max_lost_queries and "
                    "direction, found the text 'recall@5'"
                )
            ],
        ),
        ("gates:\n  - threshold: 0.5\n", ["2: gates[0].name: is missing"]),
        ("gates:\n  - name:\n    threshold: 0.5\n", ["2: gates[0].name: expected text, found nothing"]),
        ("gates:\n  - name: ''\n    threshold: 0.5\n", ["2: gates[0].name: expected text that is not empty"]),
        ("gates:\n  - name: 5\n    threshold: 0.5\n", ["2: gates[0].name: expected text, found 5"]),
        # Metrics.
        (
            gate("metric: recal@5\n    threshold: 0.5"),
            ["3: gates[0].metric: unknown metric 'recal@5'; did you mean 'recall@5'?"],
        ),
        (
            "gates:\n  - name: retrieval_recal_at_5\n    threshold: 0.5\n",
            [f"2: gates[0].name: unknown metric 'retrieval_recal_at_5'; did you mean 'recall@5'?{OR_SAY_SO}"],
        ),
        (
            "gates:\n  - name: quality\n    threshold: 0.5\n",
            [f"2: gates[0].name: unknown metric 'quality'; `rankgate metrics` lists them{OR_SAY_SO}"],
        ),
        (
            gate("metric: recall@0\n    threshold: 0.5"),
            ["3: gates[0].metric: 'recall@0': the cut-off k must be at least 1"],
        ),
        (
            gate("metric: ndcg(gian=binary)@5\n    threshold: 0.5"),
            [
                (
                    "3: gates[0].metric: 'ndcg(gian=binary)@5': ndcg has no parameter 'gian' "
                    "(known: gain, discount, ideal, stage, rewrite, source, item_source, judged_only)"
                )
            ],
        ),
        (
            gate("metric: recall@5\n    segments: [{by: lang, only: {pt: {threshold: 85}}}]"),
            [
                (
                    "4: gates[0].segments[0].only.pt.threshold: 85 lies outside [0, 1], the range of recall@5; "
                    "write 0.85 for 85%"
                )
            ],
        ),
        (
            gate("metric: recall@5\n    threshold: 0.5") + "confidence: 95\n",
            ["5: confidence: expected a number below 1, found 95"],
        ),
        (
            gate("metric: score(cost)\n    threshold: 0.5"),
            ["2: gates[0].direction: score(cost) is another tool's number; say which way is better: higher or lower"],
        ),
        (
            gate("metric: recall@5\n    threshold: 0.5") + "match: {by: doc, seperator: '/'}\n",
            ["5: match.seperator: unknown key; did you mean 'separator'?"],
        ),
        (
            gate("metric: recall@5\n    threshold: 0.5") + "match: {by: text, similarity: 0}\n",
            ["5: match.similarity: expected a number above 0, found 0"],
        ),
        (
            gate("metric: recall@5\n    threshold: 0.5") + "match: {by: text, similarity: 1.5}\n",
            ["5: match.similarity: expected a number of at most 1, found 1.5"],
        ),
        (gate("metric: 5\n    threshold: 0.5"), ["3: gates[0].metric: expected text, found 5"]),
        # Severity.
        *(
            pytest.param(
                gate(f"threshold: 0.5\n    severity: {word}"),
                [f"4: gates[0].severity: expected error or warning, found the text '{word}'"],
                id=f"severity: {word}",
            )
            for word in ("warn", "Error", "no")
        ),
        # Keys.
        (
            gate("threshold: 0.5\n    xyzzy: 1"),
            [
                (
                    "4: gates[0].xyzzy: unknown key (known: name, metric, threshold, regression_max, over, "
                    "severity, evidence, confidence, max_unjudged, segments, must_pass, max_lost_queries, direction)"
                )
            ],
        ),
        (
            f"{ONE}severity: error\n",
            [
                (
                    "3: severity: unknown key (known: gates, inputs, baseline, default_k, evidence, confidence, "
                    "max_unjudged, match, fork_runs, accept_own, publish, judge, retriever)"
                )
            ],
        ),
        (
            "gats:\n  - {name: mrr, threshold: 0.5}\n",
            ["1: gats: unknown key; did you mean 'gates'?", "1: gates: is missing"],
        ),
        # The rest of the file.
        *(
            pytest.param(
                f"{ONE}default_k: {written}\n",
                [f"3: default_k: expected a whole number{found}"],
                id=f"default_k: {written}",
            )
            for written, found in {
                "0": " of at least 1, found 0",
                "-1": " of at least 1, found -1",
                "2.5": ", found 2.5",
                "5.0": ", found 5.0",
                "true": ", found true",
                "'5'": ", found the text '5'; remove the quotes",
                "five": ", found the text 'five'",
                "null": ", found nothing",
            }.items()
        ),
        (
            f"{ONE}inputs: gold.yaml\n",
            [
                (
                    "3: inputs: expected a mapping with gold, run, baseline, scores, traffic, traffic_labels and "
                    "waivers, found the text 'gold.yaml'"
                )
            ],
        ),
        (
            f"{ONE}inputs:\n  gold: {{path: 5, format: 6}}\n",
            ["4: inputs.gold.path: expected text, found 5", "4: inputs.gold.format: expected text, found 6"],
        ),
        ("[]\n", ["1: expected `gates:` with a list of gates, found []"]),
        ("recall@5\n", ["1: expected `gates:` with a list of gates, found 'recall@5'"]),
        # YAML that guesses or hides.
        (f"{ONE}{ONE}", ["3: gates: duplicate key, first on line 1"]),
        # All at once.
        (
            (
                "gates:\n"
                "  - name: recall@5\n"
                "    threshold: '0.5'\n"
                "    severity: bad\n"
                "  - name: mrr\n"
                "    threshhold: 0.5\n"
                "  - threshold: 0.5\n"
                "default_k: 0\n"
                "inputs:\n"
                "  glod: x\n"
            ),
            [
                "3: gates[0].threshold: expected a number, found the text '0.5'; remove the quotes",
                "4: gates[0].severity: expected error or warning, found the text 'bad'",
                "6: gates[1].threshhold: unknown key; did you mean 'threshold'?",
                "7: gates[2].name: is missing",
                "8: default_k: expected a whole number of at least 1, found 0",
                "10: inputs.glod: unknown key; did you mean 'gold'?",
            ],
        ),
        (
            (
                "gates:\n"
                "  - name: recal@5\n"
                "    threshold: 0.5\n"
                "  - name: mrr\n"
                "    threshold: 85\n"
                "    regression_max: 5\n"
                "  - name: mrr\n"
            ),
            [
                f"2: gates[0].name: unknown metric 'recal@5'; did you mean 'recall@5'?{OR_SAY_SO}",
                "5: gates[1].threshold: 85 lies outside [0, 1], the range of mrr; write 0.85 for 85%",
                "6: gates[1].regression_max: 5 is more than mrr can move (1); write 0.05 for 5%",
                "7: gates[2].name: the gate 'mrr' stands twice; give each its own name",
                "7: gates[2].name: the gate limits nothing; give it a threshold, a regression_max, or both",
            ],
        ),
        (
            (
                "gates:\n"
                "  - {name: recal@5, threshold: 0.5}\n"
                "  - {name: mrr, threshhold: 0.5}\n"
                "  - {name: map, threshold: 85}\n"
            ),
            [
                f"2: gates[0].name: unknown metric 'recal@5'; did you mean 'recall@5'?{OR_SAY_SO}",
                "3: gates[1].threshhold: unknown key; did you mean 'threshold'?",
                "4: gates[2].threshold: 85 lies outside [0, 1], the range of map; write 0.85 for 85%",
            ],
        ),
        (
            (
                "gates:\n"
                "  - name: low bar\n"
                "    metric: recal@5\n"
                "    severity: bad\n"
                "    threshold: '0.5'\n"
                "  - name: mrr\n"
                "    threshold: 85\n"
                "    regression_max: 5\n"
                "    confidence: yes\n"
                "    direction: higher\n"
                "    segments: {by: [], threshold: 85}\n"
                "  - {name: mrr, metric: 5, thresold: 1}\n"
                "  - {name: latency, threshold: 50, must_pass: [q1], max_lost_queries: 1, confidence: 2}\n"
                "  - mrr\n"
                "default_k: 0\n"
            ),
            [
                "3: gates[0].metric: unknown metric 'recal@5'; did you mean 'recall@5'?",
                "4: gates[0].severity: expected error or warning, found the text 'bad'",
                "5: gates[0].threshold: expected a number, found the text '0.5'; remove the quotes",
                "7: gates[1].threshold: 85 lies outside [0, 1], the range of mrr; write 0.85 for 85%",
                "8: gates[1].regression_max: 5 is more than mrr can move (1); write 0.05 for 5%",
                "9: gates[1].confidence: expected a number, found the text 'yes'",
                "10: gates[1].direction: mrr has its own direction (higher is better); leave the key out",
                "11: gates[1].segments.by: name the key of a tag, such as lang",
                "12: gates[2].name: the gate 'mrr' stands twice; give each its own name",
                "12: gates[2].thresold: unknown key; did you mean 'threshold'?",
                "12: gates[2].metric: expected text, found 5",
                "13: gates[3].confidence: expected a number below 1, found 2",
                "13: gates[3].must_pass: latency has no worst value that a question could have",
                "13: gates[3].max_lost_queries: latency has no worst value that a question could have",
                (
                    "14: gates[4]: expected a mapping with name, metric, threshold, regression_max, over, "
                    "severity, evidence, confidence, max_unjudged, segments, must_pass, max_lost_queries and "
                    "direction, found the text 'mrr'"
                ),
                "15: default_k: expected a whole number of at least 1, found 0",
            ],
        ),
        (
            gate("severity: bad\n    metric: recal@5\n    threshold: 0.5"),
            [
                "3: gates[0].severity: expected error or warning, found the text 'bad'",
                "4: gates[0].metric: unknown metric 'recal@5'; did you mean 'recall@5'?",
            ],
        ),
        # What the file may write in two ways.
        (
            gate("segments: lang"),
            [
                (
                    "3: gates[0].segments: expected a mapping with by, threshold, regression_max, min_queries, "
                    "severity and only or a list, found the text 'lang'"
                )
            ],
        ),
        (
            gate("segments: [{by: 5, threshold: 1}, {by: [a, 5], threshold: 1}]"),
            [
                "3: gates[0].segments[0].by: expected text or a list, found 5",
                "3: gates[0].segments[1].by[1]: expected text, found 5",
            ],
        ),
        (
            gate("segments: {by: lang, only: {threshold: {thresold: 1}, ..: {threshold: 85}, by: 5}}"),
            [
                "3: gates[0].segments.only.threshold.thresold: unknown key; did you mean 'threshold'?",
                (
                    "3: gates[0].segments.only.by: expected a mapping with threshold, regression_max and severity, "
                    "found 5"
                ),
            ],
        ),
        # What a gate or a file knows of itself is no key of it.
        (
            gate("threshold: 1\n    line: 7") + "name: mine\n",
            [
                (
                    "4: gates[0].line: unknown key (known: name, metric, threshold, regression_max, over, "
                    "severity, evidence, confidence, max_unjudged, segments, must_pass, max_lost_queries, direction)"
                ),
                (
                    "5: name: unknown key (known: gates, inputs, baseline, default_k, evidence, confidence, "
                    "max_unjudged, match, fork_runs, accept_own, publish, judge, retriever)"
                ),
            ],
        ),
    ],
)
def test_refused(text: str, expected: list[str]) -> None:
    assert refusal(text) == expected


@pytest.mark.parametrize(
    "empty",
    [
        "gates: [{name: mrr, threshold: 0.5, evidence: , confidence: null, segments: ~, regression_max: }]\n",
        f"{ONE}inputs: {{waivers: , gold: }}\n",
        f"{ONE}baseline: {{max_age: }}\n",
        f"{ONE}retriever:\njudge: null\n",
    ],
)
def test_a_key_without_a_value_is_as_one_that_is_absent(empty: str) -> None:
    assert load(empty).model_copy(update={"gates": ()}) == load(ONE).model_copy(update={"gates": ()})
    assert [gate.model_copy(update={"line": 2}) for gate in load(empty).gates] == list(load(ONE).gates)


def test_an_empty_metric_is_not_taken_for_none() -> None:
    (message,) = refusal(gate("metric: ''\n    threshold: 0.5"))
    assert message.startswith("3: gates[0].metric: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, f"{NAME}: no such file", id="missing"),
        pytest.param(b"", f"{NAME}: the file is empty", id="empty"),
        pytest.param(
            b"# nothing yet\n", f"{NAME}:1: expected `gates:` with a list of gates, found nothing", id="only a comment"
        ),
        pytest.param(
            b"gates:\n  - name: caf\xe9\n", f"{NAME}:2: not UTF-8 (byte 0xe9); save the file as UTF-8", id="not UTF-8"
        ),
        pytest.param(
            b"gates:\n  - {name: mrr\n",
            f"{NAME}:3: not valid YAML: while parsing a flow mapping did not find expected ',' or '}}'",
            id="not YAML",
        ),
    ],
)
def test_file(content: bytes | None, message: str) -> None:
    if content is not None:
        Path(NAME).write_bytes(content)
    with pytest.raises(RankgateError) as caught:
        load_criteria(NAME)
    assert str(caught.value) == message


def test_default_paths_in_their_order() -> None:
    with pytest.raises(RankgateError) as caught:
        find_criteria()
    assert str(caught.value) == (
        "no ship criteria found "
        "(looked for config/ship-criteria.yaml, ship-criteria.yaml, .github/ship-criteria.yaml); "
        "name the file with --criteria, or let `rankgate init --gold GOLD` write one"
    )
    for path in (".github/ship-criteria.yaml", "ship-criteria.yaml", "config/ship-criteria.yaml"):
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(ONE)
        assert find_criteria() == path


def test_a_directory_is_not_found_as_a_file() -> None:
    Path("config/ship-criteria.yaml").mkdir(parents=True)
    Path("ship-criteria.yaml").write_text(ONE)
    assert find_criteria() == "ship-criteria.yaml"


KEYS = st.sampled_from(
    [
        "gates",
        "name",
        "metric",
        "threshold",
        "regression_max",
        "severity",
        "inputs",
        "gold",
        "path",
        "default_k",
        "x",
        "",
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["recall@5", "mrr", "error", "warning", "", "0.5", "x"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)
GATES = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("name", "metric", "threshold", "regression_max", "severity"), SCALARS | VALUES)
)
FILES = VALUES | st.fixed_dictionaries(
    {"gates": st.lists(GATES, max_size=3) | VALUES}, optional={"inputs": VALUES, "default_k": VALUES}
)


@pytest.mark.full
@given(FILES)
def test_whatever_is_written_loads_or_is_refused_clearly(written: Any) -> None:
    with suppress(RankgateError):
        criteria = load(json.dumps(written))
        assert criteria.gates
        assert all(gate.threshold is not None or gate.regression_max is not None for gate in criteria.gates)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("metrics: {retrieval: {default_k: 5}}", "default_k: 5"),
        ("settings: {confidence: 0.9, evidence: estimate}", "confidence: 0.9, evidence: 'estimate'"),
    ],
)
def test_known_keys_within_an_unknown_one_are_named(written: str, said: str) -> None:
    (found,) = refusal(f"{gate('threshold: 1')}{written}\n")
    place = f"{written.partition(':')[0]}: unknown key; what is within it stands by itself, in its place"
    assert found.partition(": ")[2] == f"{place}: {said}"
