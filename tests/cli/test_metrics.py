"""`rankgate metrics`: what can be gated, as a list for people and as JSON for programs."""

import json
import re
import unicodedata
from typing import Any

import pytest
from tests.rows import each_row

from rankgate.cli import main
from rankgate.cli import metrics as command
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.metrics.registry import families
from rankgate.model.values import RunField

FAMILIES = tuple(families())

KEYS = [family.key for family in FAMILIES]
VIEWS = ["stage", "rewrite", "source", "item_source", "judged_only"]
GAINS = ["rerank_gain", "rewrite_gain"]


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["metrics", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def facts(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shown(capsys, *words, "--format", "json"))
    return found


def columns(line: str) -> int:
    return sum(not unicodedata.combining(character) for character in line)


@pytest.mark.full
def test_the_list_says_first_how_to_ask_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys).startswith("Ask for one by name: `rankgate metrics ndcg`.")


def test_every_family_is_listed_in_display_order_with_its_facts(capsys: pytest.CaptureFixture[str]) -> None:
    entries = [entry for entry in shown(capsys).split("\n\n") if "\n  " in entry]
    found = [entry for entry in entries if re.search(r"^  (higher|lower|as its user states)", entry, re.MULTILINE)]
    stems = [re.split(r"[@(,\s]", entry)[0] for entry in found]
    assert stems == ["map" if key == "ap" else key for key in KEYS]
    for entry, family in zip(found, FAMILIES, strict=True):
        assert family.formula.split()[0] in entry
        for key in family.gold_keys:
            assert f"`{key}`" in entry


def test_the_views_and_gains_are_listed_too(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys)
    for example in (
        "recall(stage=raw)@50",
        "recall(rewrite=1)@5",
        "recall(source=kb-br)@5",
        "map(judged_only=true)",
    ):
        assert f"\n{example} " in out
    for example in ("rerank_gain(recall@5)", "rewrite_gain(recall@5)"):
        assert f"\n{example} " in out


@pytest.mark.parametrize("words", [[], *([name] for name in (*KEYS, *VIEWS, *GAINS, "ndcg(gain=exponential)@10"))])
def test_nothing_is_wider_than_a_terminal(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    out = shown(capsys, *words)
    assert [line for line in out.splitlines() if columns(line) > 80] == []
    assert [line for line in out.splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize(
    ("name", "key"),
    [
        pytest.param("recall", "recall", id="a key"),
        pytest.param("Success", "hit", id="an alias, whatever its case"),
        pytest.param("hit-rate", "hit", id="with a dash"),
        pytest.param("recall@5", "recall", id="with a cut-off"),
        pytest.param("map", "ap", id="the mean's name"),
        pytest.param("f1", "f", id="a name that stands for a parameter"),
        pytest.param("ndcg_any", "ndcg", id="another tool's name"),
        pytest.param("retrieval_recall_at_5", "recall", id="as the criteria write it"),
        pytest.param("ndcg(gain=exponential)@10", "ndcg", id="with a parameter"),
        pytest.param("score", "score", id="without the parameter that it needs"),
        pytest.param("score(faithfulness)", "score", id="with the parameter that it needs"),
        pytest.param("source_share", "source_share", id="without its source"),
    ],
)
def test_a_name_shows_that_metric_in_full(capsys: pytest.CaptureFixture[str], name: str, key: str) -> None:
    out = shown(capsys, name)
    assert re.search(rf"^{key}: ", out, re.MULTILINE)
    for label in ("written", "formula", "better", "cut-off", "absent query", "needs"):
        assert len(re.findall(rf"^  {label}  ", out, re.MULTILINE)) == 1
    [described] = facts(capsys, name)
    assert described["name"] == key
    for parameter in described["parameters"]:
        assert re.search(rf"^  {parameter}\b", out, re.MULTILINE)


def test_a_metric_says_first_what_exactly_it_means(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = shown(capsys, "retrieval-recall-at-3").splitlines()
    assert first == "recall@3: share of the relevant documents found in the first 3 results"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("stage", ["stage"], id="a view"),
        pytest.param("recall(stage=raw)@50", ["recall", "stage"], id="a metric of another list"),
        pytest.param("recall(rewrite=2,source=kb)@5", ["recall", "rewrite", "source"], id="of a list and of some"),
        pytest.param("latency(stage=rerank)", ["latency"], id="a stage that is the metric's own"),
        pytest.param("rerank_gain", ["rerank_gain"], id="a gain"),
        pytest.param("Rewrite-Gain", ["rewrite_gain"], id="a gain, whatever its spelling"),
        pytest.param("rerank_gain(ndcg@5)", ["rerank_gain", "ndcg"], id="a gain of a metric"),
        pytest.param("rewrite_gain(hit@5,rewrite=2)", ["rewrite_gain", "hit"], id="a gain of a rewritten question"),
    ],
)
def test_views_and_gains_are_explained(capsys: pytest.CaptureFixture[str], name: str, expected: list[str]) -> None:
    assert [described["name"] for described in facts(capsys, name)] == expected
    for key in expected:
        assert re.search(rf"^{key}: ", shown(capsys, name), re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("recal", " metric 'recal'; did you mean 'recall'?\n", id="a near name"),
        pytest.param("recall@0", "the cut-off k must be at least 1\n", id="a wrong cut-off"),
        pytest.param("recall(depth=2)@5", "'rel', 'stage', 'rewrite', 'source'", id="a wrong parameter"),
    ],
)
def test_a_name_that_is_no_metric_is_refused(capsys: pytest.CaptureFixture[str], name: str, message: str) -> None:
    assert main(["metrics", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message.replace("'rel', 'stage', 'rewrite', 'source'", "rel, stage, rewrite, source") in err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    [latency] = facts(capsys, "latency")
    assert latency.pop("description").startswith("Milliseconds per query")
    meanings = {name: parameter.pop("meaning") for name, parameter in latency["parameters"].items()}
    assert meanings["stage"].startswith("a stage by the run's own name for it")
    assert meanings["quantile"].startswith("between 0 and 1, as in")
    assert latency == {
        "kind": "metric",
        "name": "latency",
        "written": ["latency"],
        "aliases": [],
        "stands_for": {
            name: f"latency(quantile={each / 100:g})"
            for each in (50, 75, 90, 95, 99)
            for name in (f"latency_p{each}", f"p{each}_latency")
        },
        "meaning": "milliseconds that a question takes on average",
        "formula": "mean or quantile of latency_ms over the queries",
        "direction": "lower",
        "unit": "ms",
        "low": 0.0,
        "high": None,
        "cutoff": "",
        "absent": None,
        "judge_bounds": False,
        "parameters": {
            "stage": {"default": "total", "required": False},
            "quantile": {"default": None, "required": False},
        },
        "views": [],
        "needs": {"run": ["latency_ms"], "gold": [], "baseline": [], "judge": []},
    }


@pytest.mark.full
def test_json_lists_everything(capsys: pytest.CaptureFixture[str]) -> None:
    entries = facts(capsys)
    assert [entry["name"] for entry in entries] == [*KEYS, *VIEWS, *GAINS]
    assert [entry["kind"] for entry in entries] == ["metric"] * len(KEYS) + ["view"] * len(VIEWS) + ["gain"] * 2
    for entry in entries:
        for parameter in entry["parameters"].values():
            assert set(parameter) - {"choices"} == {"default", "required", "meaning"}
            assert parameter["meaning"], entry["name"]


def test_json_has_the_facts_that_are_not_a_constant_of_the_family(capsys: pytest.CaptureFixture[str]) -> None:
    [score, f, raw] = [facts(capsys, name)[0] for name in ("score", "f1", "stage")]
    assert score["direction"] is None  # as its user states
    assert score["parameters"]["field"]["required"]
    assert f["stands_for"] == {
        "f1@k": "f@k",
        "f2@k": "f(beta=2)@k",
        "set_f": "f(of=retrieved)@all",
        "setf": "f(of=retrieved)@all",
    }
    assert f["views"] == VIEWS
    assert raw["needs"] == {"run": ["raw_topk"], "gold": [], "baseline": [], "judge": []}


@pytest.mark.full
def test_what_is_written_parses(capsys: pytest.CaptureFixture[str]) -> None:
    for entry in facts(capsys):
        for name in entry["written"]:
            assert parse_metric(name).name == name
        for alias, name in entry.get("stands_for", {}).items():
            assert parse_metric(alias).name == name


@each_row("need", RunField)
def test_every_need_has_its_place(need: RunField) -> None:
    described = {"needs": command.needs_of_files([need], [])}
    files = {file for file, keys in described["needs"].items() if keys}
    assert files <= {"run", "gold", "baseline", "judge"}
    assert bool(command.needs_text(described)) == (need not in (RunField.IDS, RunField.JUDGED))


def test_the_examples_of_the_help_work(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["metrics", "--help"])
    out = capsys.readouterr().out
    assert "Ask for one by any of its names" in out
    asked = re.findall(r"rankgate metrics '?([^-\s'`\[][^\s'`]*)", out)
    assert len(asked) >= 5
    for name in asked:
        shown(capsys, name)
    for name in re.findall(r"`([a-z_]+@[\d,]+)`", shown(capsys)):
        assert parse_metrics(name)
