"""`rankgate metrics`: what can be gated, as a list for people and as JSON for programs."""

import json
import re

import pytest

from rankgate.cli import main
from rankgate.metrics.registry import FAMILIES

KEYS = [family.key for family in FAMILIES]


def test_every_family_is_listed_in_display_order_with_its_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics"]) == 0
    paragraphs = capsys.readouterr().out.split("\n\n")
    assert [re.split(r"[,\n]", paragraph.strip())[0] for paragraph in paragraphs] == KEYS
    for paragraph in paragraphs:
        for fact in ("  formula:    ", "  better:     ", "  without @k: ", "  needs:      ids"):
            assert fact in paragraph


def test_a_short_list_has_the_first_paragraph_of_the_description_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics"]) == 0
    assert "Also called success@k and hit rate." not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "key"),
    [
        pytest.param("recall", "recall", id="a key"),
        pytest.param("Success", "hit", id="an alias, whatever its case"),
        pytest.param("hit-rate", "hit", id="with a dash"),
        pytest.param("recall@5", "recall", id="with a cut-off"),
        pytest.param("ndcg_any", "ndcg", id="another tool's name"),
        pytest.param("retrieval_recall_at_5", "recall", id="as the criteria write it"),
        pytest.param("ndcg(gain=exponential)@10", "ndcg", id="with a parameter"),
    ],
)
def test_a_name_shows_that_metric_in_full(capsys: pytest.CaptureFixture[str], name: str, key: str) -> None:
    assert main(["metrics", name]) == 0
    out = capsys.readouterr().out
    assert re.split(r"[,\n]", out)[0] == key
    assert out.count("formula:") == 1
    [family] = [family for family in FAMILIES if family.key == key]
    *_, last = (family.__doc__ or "").strip().splitlines()
    assert last.strip() in out


def test_a_name_that_is_no_metric_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "recal"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(" metric 'recal'; did you mean 'recall'?\n")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "latency", "--format", "json"]) == 0
    [latency] = json.loads(capsys.readouterr().out)
    assert latency.pop("description").startswith("Milliseconds per query")
    assert latency == {
        "name": "latency",
        "aliases": [],
        "formula": "mean or quantile of latency_ms over the queries",
        "direction": "lower",
        "cutoff": "",
        "parameters": {"stage": "total", "quantile": None},
        "needs": ["ids", "latency_ms"],
        "low": 0.0,
        "high": None,
    }


def test_json_lists_every_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "--format", "json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == KEYS
