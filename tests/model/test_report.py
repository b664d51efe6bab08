"""`report.json`: read back as it was written, the same bytes for the same inputs, and every key that others rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.baselines.accepting import accept_into
from tests.gate_rows import gate_result
from tests.report_keys import report_from, with_keys
from tests.rows import each_row

from rankgate.check import check
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.errors import Problem, RankgateError
from rankgate.model import report as report_module
from rankgate.model.gate_result import to_row
from rankgate.model.lineage import GoldChanges
from rankgate.model.report import REPORT_PARTS, Diagnosis, MetricValue, Provenance, Report, Source
from rankgate.model.report_text import SCHEMA_VERSION, decode_report, encode_report
from rankgate.model.values import Direction, EvidenceState, Reason, ReasonKind, Ruling, RunField, Unit, Verdict
from rankgate.readers.formats import read_run

CRITERIA = """\
gates:
  - {name: recall@5, threshold: 0.5, regression_max: 0.03}
  - {name: mrr, regression_max: 0.05, severity: warning}
  - {name: latency, threshold: 500}
inputs: {gold: data/gold.yaml, run: results/run.jsonl, baseline: baseline}
"""
GOLD = """\
samples:
  - id: q1
    input: {question: "¿abren el domingo?"}
    expected_output: {horario: 3, feriados: 1}
    metadata: {tags: [lang:es, urgent]}
  - {id: q2, expected_output: [hours], metadata: {tags: [lang:en]}}
  - {id: q3, expected_output: [prices], metadata: {tags: [lang:en]}}
  - {id: q4, expected_output: [], metadata: {no_answer: true}}
"""
ACCEPTED = """\
{"query_id": "q1", "system": "bm25", "topk": [{"rank": 1, "chunk_id": "horario"}], "latency_ms": {"retrieve": 30}}
{"query_id": "q2", "topk": [{"rank": 1, "chunk_id": "hours"}], "latency_ms": {"retrieve": 35}}
"""
RUN = """\
{"query_id": "q1", "system": "hybrid", "topk": [{"rank": 1, "chunk_id": "x"}], "latency_ms": {"retrieve": 40}}
{"query_id": "q3", "topk": [{"rank": 1, "chunk_id": "prices"}], "latency_ms": {"retrieve": 45}}
{"query_id": "q4", "topk": [], "latency_ms": {"retrieve": 45}}
{"query_id": "q9", "topk": [{"rank": 1, "chunk_id": "y"}], "latency_ms": {"retrieve": 45}}
"""
INPUTS = Inputs(criteria="config/ship-criteria.yaml", date="2026-01-31")

# What a report has beside its file.
OF_THE_PROCESS: dict[str, Any] = {
    "losers": {},
    "lowest": {},
    "anchor": None,
    "details": None,
    "call": None,
    "links": None,
}


def lay_out(folder: Path) -> Path:
    """A repository with criteria, gold set, run and an accepted baseline, as a project has them."""
    files = {
        "config/ship-criteria.yaml": CRITERIA.replace("data/", "../data/").replace("results/", "../results/"),
        "data/gold.yaml": GOLD,
        "results/run.jsonl": RUN,
        "accepted.jsonl": ACCEPTED,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    accepted = read_run(str(folder / "accepted.jsonl"), needs=frozenset({RunField.LATENCY}))
    about = accepted.provenance
    accept_into(
        folder / "config" / "baseline", accepted.rankings, source="accepted.jsonl", provenance=about, date="2026-01-01"
    )
    return folder


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A report in which nothing is empty: a fail with a baseline, segments, movements, strangers and absent queries."""
    monkeypatch.chdir(lay_out(tmp_path))
    return check(INPUTS)


def test_a_report_is_read_back_as_it_was_written(full: Report) -> None:
    text = encode_report(full)
    back = decode_report(text.encode(), "report.json")
    assert back == with_keys(full, **OF_THE_PROCESS)
    assert encode_report(back) == text


def test_a_field_is_a_key_of_the_file_or_of_the_process_alone(full: Report) -> None:
    written = set(json.loads(encode_report(full)))
    assert set(to_row(full, REPORT_PARTS)) == written - {"schema_version"} | set(OF_THE_PROCESS)


@pytest.mark.parametrize("key", OF_THE_PROCESS)
def test_nothing_of_the_process_is_read_from_a_file(full: Report, key: str) -> None:
    forged = json.loads(encode_report(full)) | {key: {"page": "https://elsewhere.example"}}
    assert decode_report(json.dumps(forged).encode(), "report.json") == with_keys(full, **OF_THE_PROCESS)


def test_it_is_json_for_people_and_diffs(full: Report) -> None:
    text = encode_report(full)
    assert text.endswith("}\n")
    assert text.splitlines()[1] == '  "schema_version": 2,'
    assert "¿abren el domingo?" in text, "text stays readable"


def keys_of(value: Any) -> set[str]:
    assert isinstance(value, dict)
    return set(value)


PROMISED: list[tuple[str, Callable[[Any], Any], str]] = [
    (
        "report",
        lambda report: report,
        "schema_version verdict problems summary gates metrics baseline_metrics queries segments misses provenance",
    ),
    (
        "gate",
        lambda report: report["gates"][0],
        (
            "name metric segment severity value ci threshold baseline delta delta_ci regression_max evidence "
            "evidence_state verdict reasons n n_pairs"
        ),
    ),
    ("metric", lambda report: report["metrics"]["recall@5"], "value ci n undefined"),
    ("baseline's metric", lambda report: report["baseline_metrics"]["recall@5"], "value ci n undefined"),
    ("queries", lambda report: report["queries"], "total scored missing"),
]


@pytest.mark.parametrize(
    ("part", "key"),
    [pytest.param(part, key, id=f"{name}: {key}") for name, part, keys in PROMISED for key in keys.split()],
)
def test_the_keys_that_others_rely_on(full: Report, part: Callable[[Any], Any], key: str) -> None:
    assert key in keys_of(part(json.loads(encode_report(full))))


@pytest.mark.parametrize(
    "key", ["baseline", "depth", "gold", "gold_fingerprint", "run", "criteria", "date", "rankgate", "command"]
)
def test_the_provenance_says_what_was_compared(full: Report, key: str) -> None:
    assert getattr(full.provenance, key) is not None


def test_verdicts_units_and_directions_are_words(full: Report) -> None:
    value = json.loads(encode_report(full))
    assert value["verdict"] == "fail"
    assert [(gate["verdict"], gate["unit"], gate["direction"]) for gate in value["gates"]] == [
        ("fail", "share", "higher"),
        ("warn", "score", "higher"),
        ("warn", "ms", "lower"),
    ]


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in strings(part)]
    if isinstance(value, list):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


def test_relative_inputs_leave_no_absolute_path(full: Report, tmp_path: Path) -> None:
    text = encode_report(full)
    assert str(tmp_path) not in text
    assert [found for found in strings(json.loads(text)) if found.startswith(("/", "~"))] == []
    provenance = full.provenance
    assert [source.path for source in (provenance.gold, provenance.run, provenance.baseline) if source] == [
        "data/gold.yaml",
        "results/run.jsonl",
        "config/baseline",
    ]
    assert provenance.criteria == "config/ship-criteria.yaml"


def test_identical_inputs_give_identical_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice in one place, once in another directory, and by named files instead of the criteria's."""
    texts = []
    named = Inputs(
        criteria="config/ship-criteria.yaml",
        date="2026-01-31",
        gold=InputFile("data/gold.yaml"),
        run=InputFile("results/run.jsonl"),
        baseline=InputFile("config/baseline"),
    )
    for folder, inputs in (("here", INPUTS), ("here", INPUTS), ("some where/else", INPUTS), ("here", named)):
        monkeypatch.chdir(lay_out(tmp_path / folder))
        texts.append(encode_report(check(inputs)))
    assert len(set(texts)) == 1


@pytest.mark.full
@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_identical_inputs_give_identical_bytes_in_every_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: str
) -> None:
    """No hash order, locale or time zone may show."""
    monkeypatch.chdir(lay_out(tmp_path))
    program = (
        "import sys; from rankgate.check import check; from rankgate.criteria.inputs import Inputs\n"
        "from rankgate.model.report_text import encode_report\n"
        "inputs = Inputs(criteria='config/ship-criteria.yaml', date='2026-01-31')\n"
        "sys.stdout.buffer.write(encode_report(check(inputs)).encode())"
    )
    source = str(Path(report_module.__file__).parents[2])
    environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONPATH": source}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert found.stdout.decode() == encode_report(check(INPUTS))


def test_a_newer_report_is_refused_whatever_else_it_holds() -> None:
    with pytest.raises(RankgateError) as caught:
        decode_report(b'{"schema_version": 3}', "report.json")
    message = "report schema 3 is newer than this rankgate reads (2); upgrade rankgate"
    assert caught.value.problems == (Problem(message, "report.json"),)


# The keys that each gate has.
PLAIN_GATE: dict[str, object] = {
    **dict.fromkeys(("segment", "value", "ci", "threshold", "baseline", "paired_value", "delta", "delta_ci", "line")),
    "name": "r",
    "metric": "mrr",
    "meaning": "",
    "unit": "score",
    "direction": "higher",
    "n": 1,
    "n_pairs": 0,
    "severity": "error",
    "regression_max": None,
    "evidence_state": "clear",
    "verdict": "pass",
}


@each_row(
    ("data", "named"),
    {
        b"": "",
        b"{": "",
        b"# A comment": "",
        b"[]": "",
        b"{}": "schema_version",
        b'{"schema_version": 2, "verdict": "pass"}': "summary",
        json.dumps({"schema_version": 2, "gates": [{**PLAIN_GATE, "reasons": [1]}, 2]}).encode(): "$.reasons[0]",
        json.dumps(
            {"schema_version": 2, "gates": [{**PLAIN_GATE, "reasons": [], "evidence": "hearsay"}]}
        ).encode(): "`$.evidence`",
        json.dumps(
            {"schema_version": 2, "gates": [{**PLAIN_GATE, "reasons": [], "too_small": 3}]}
        ).encode(): "`$.too_small`",
        b'{"schema_version": 2, "verdict": "great", "summary": "", "provenance": {"rankgate": "1", "date": ""}}': (
            "$.verdict"
        ),
        b'{"schema_version": 1}': "there is no schema 1",
        b'{"schema_version": "2"}': "$.schema_version",
        b"[" * 100_000: "",
        b'{"schema_version": 2, "verdict": "\xff"}': "",
        b'{"schema_version": 2, "summary": "\\ud800"}': "",
    }.items(),
)
def test_what_is_no_report_or_hostile_is_refused(data: bytes, named: str) -> None:
    with pytest.raises(RankgateError) as caught:
        decode_report(data, "report.json")
    (problem,) = caught.value.problems
    assert problem.file == "report.json"
    assert problem.key == ("gates[0]" if b'"gates"' in data else None)
    assert problem.message.startswith("not a rankgate report: ")
    assert named in problem.message


def test_a_newer_report_is_refused_by_its_version_alone(full: Report) -> None:
    newer = json.loads(encode_report(full)) | {"schema_version": SCHEMA_VERSION + 1}
    with pytest.raises(RankgateError, match="newer than this rankgate reads"):
        decode_report(json.dumps(newer).encode(), "report.json")


def test_keys_that_a_later_release_of_this_schema_adds_are_ignored(full: Report) -> None:
    value = json.loads(encode_report(full))
    value["forecast"] = {"rain": 1}
    value["gates"][0]["mood"] = "fine"
    assert decode_report(json.dumps(value).encode(), "report.json") == with_keys(full, **OF_THE_PROCESS)


finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
bounds = st.none() | st.tuples(st.none() | finite, st.none() | finite)
metrics = st.builds(
    MetricValue,
    value=st.none() | finite,
    ci=bounds,
    n=st.integers(0, 1000),
    undefined=st.integers(0, 1000),
    unit=st.sampled_from(Unit),
    direction=st.sampled_from(Direction),
    meaning=texts,
)
reasons = st.builds(
    Reason,
    st.sampled_from(ReasonKind),
    ruling=st.none() | st.sampled_from(Ruling),
    state=st.none() | st.sampled_from(EvidenceState),
    clusters=st.booleans(),
    count=st.integers(0, 1000),
    at_worst=st.none() | finite,
    corrected_for=st.integers(0, 30),
)
gates = st.builds(
    gate_result,
    name=texts,
    metric=texts,
    meaning=texts,
    unit=st.sampled_from(Unit),
    direction=st.sampled_from(Direction),
    segment=st.none(),
    severity=st.sampled_from(["error", "warning"]),
    value=st.none() | finite,
    ci=bounds,
    threshold=st.none() | finite,
    baseline=st.none() | finite,
    paired_value=st.none() | finite,
    delta=st.none() | finite,
    delta_ci=bounds,
    regression_max=st.none() | finite,
    evidence_state=st.sampled_from(EvidenceState),
    verdict=st.sampled_from(Verdict),
    reasons=st.lists(reasons, max_size=3),
    n=st.integers(0, 1000),
    n_pairs=st.integers(0, 1000),
    line=st.none() | st.integers(1, 100),
)
sources = st.builds(
    Source, path=texts, format=texts, about=st.dictionaries(texts, texts | st.integers(0, 9), max_size=3)
)
evidence = st.dictionaries(texts, texts | st.integers(0, 9) | finite, max_size=3)
reports = st.builds(
    report_from,
    verdict=st.sampled_from(Verdict),
    summary=texts,
    problems=st.lists(st.builds(Problem, texts, st.none() | texts, st.none() | st.integers(1, 9)), max_size=2),
    warnings=st.lists(texts, max_size=2),
    diagnosis=st.lists(st.builds(Diagnosis, rule=texts, finding=texts, evidence=evidence), max_size=2),
    gates=st.lists(gates, max_size=2),
    metrics=st.dictionaries(texts, metrics, max_size=2),
    gold_changes=st.none() | st.builds(GoldChanges, queries=st.integers(0, 9), added=st.none() | st.integers(0, 9)),
    provenance=st.builds(Provenance, rankgate=texts, date=texts, gold=st.none() | sources, run=st.none() | sources),
)


@pytest.mark.full
@given(reports)
def test_any_report_survives_the_round_trip(report: Report) -> None:
    """Whatever the kinds of its reasons, which may lack their numbers: it may come from anybody."""
    assert decode_report(encode_report(report).encode(), "report.json") == report


def test_a_sentence_beside_a_kind_is_written_for_others_and_not_read(full: Report) -> None:
    written = json.loads(encode_report(full))
    kinds = [reason["kind"] for gate in written["gates"] for reason in gate["reasons"]]
    assert {"regression", "threshold"} <= set(kinds)
    for gate in written["gates"]:
        for reason in gate["reasons"]:
            assert gate["metric"] in reason["text"]
            reason["text"] = "all is well"
    assert decode_report(json.dumps(written).encode(), "report.json") == with_keys(full, **OF_THE_PROCESS)
