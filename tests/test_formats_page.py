"""docs/formats.md: its full sample and its full run line are read, and have all that metrics ask for."""

import json
from pathlib import Path
from typing import Any

import rankgate
from rankgate.collecting.pool_files import read_labels
from rankgate.metrics.registry import families
from rankgate.metrics.stated import STATED, states
from rankgate.model.values import RunField
from rankgate.readers.base import ProblemLog
from rankgate.readers.formats import read_gold, read_run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "formats.md"
TEXT = PAGE.read_text(encoding="utf-8")


def example(beginning: str) -> str:
    """The longest line of the page that begins like this."""
    return max((line for line in TEXT.splitlines() if line.startswith(beginning)), key=len)


def files(tmp_path: Path) -> tuple[str, str]:
    gold, run = tmp_path / "gold.jsonl", tmp_path / "run.jsonl"
    gold.write_text(example('{"id": ') + "\n", encoding="utf-8")
    run.write_text(example('{"query_id": "q-1", "topk": ') + "\n", encoding="utf-8")
    return str(gold), str(run)


def test_the_sample_has_every_key(tmp_path: Path) -> None:
    (sample,) = read_gold(files(tmp_path)[0]).samples.values()
    unset = {name for name in sample.__struct_fields__ if not getattr(sample, name)}
    assert unset == {"no_answer", "spans"}, "a sample has ids or spans"


def test_the_line_states_all_that_is_needed(tmp_path: Path) -> None:
    (ranking,) = read_run(files(tmp_path)[1], needs=frozenset(RunField) - {RunField.TRAFFIC}).rankings
    assert {need for need in STATED if states(ranking, need)} == set(STATED) - {RunField.VERDICTS}, (
        "these a judge states"
    )


OF_ANOTHER_LIST = ("recall(stage=raw)@50", "rerank_gain(ndcg@5)", "recall(rewrite=1)@5", "rewrite_gain(recall@5)")
OF_A_NAME = ("recall(source=kb-us)@5", "recall(item_source=kb-us)@5", "source_share(kb-us)", "score(faithfulness)")
NOT_OF_ONE_RUN = frozenset({RunField.PASSAGES, RunField.BASELINE, RunField.VERDICTS})


def test_every_metric_that_reads_a_key_has_a_value(tmp_path: Path) -> None:
    """Metrics of passages, of a baseline and of a judge apart."""
    reading = [each for each in families() if (each.reads or each.gold_keys) and not each.reads & NOT_OF_ONE_RUN]
    metrics = [family.key for family in reading if not family.alone]
    assert len(metrics) > 15
    scored = rankgate.score(*files(tmp_path), metrics=[*metrics, *OF_ANOTHER_LIST, *OF_A_NAME])
    undefined = {name for name, value in scored.values.items() if value is None}
    assert undefined == {"false_evidence_rate"}, "the sample has an answer"


def test_the_pool_is_read_back(tmp_path: Path) -> None:
    line = example('{"query_id": "q-1", "question": ')
    written: dict[str, Any] = json.loads(line)
    (tmp_path / "pool.jsonl").write_text(json.dumps({**written, "gain": 1}) + "\n" + line + "\n", encoding="utf-8")
    found = read_labels(str(tmp_path / "pool.jsonl"), ProblemLog())
    assert ([label.gain for label in found.labels], found.blank) == ([1.0], 1)
