"""The gates that `init` writes guard: whatever the gold set, an index that lost nearly all of its text must not pass.

The story of a team: `init` on its gold set and a run, `baseline accept`, then a pull request whose index holds the
first thirty characters of each document.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.json_lines import write_lines

from rankgate.cli import main
from rankgate.criteria import load_criteria

REAL = Path(__file__).parents[3] / "shared" / "data"
DATE = ["--date", "2026-01-31"]
CUT = 30

Documents = Mapping[str, str]
Samples = list[dict[str, Any]]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def search(documents: Documents, questions: Mapping[str, str], depth: int = 50) -> list[dict[str, Any]]:
    """BM25, as plain as it can be written."""
    counts = {name: Counter(words(text)) for name, text in documents.items()}
    usual = sum(map(sum, (each.values() for each in counts.values()))) / len(counts)
    holders = Counter(word for each in counts.values() for word in each)
    weights: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for name, each in counts.items():
        length = 0.25 + 0.75 * sum(each.values()) / usual
        for word, count in each.items():
            rarity = math.log(1 + (len(counts) - holders[word] + 0.5) / (holders[word] + 0.5))
            weights[word].append((name, rarity * count / (count + 1.2 * length)))
    lines = []
    for query_id, question in questions.items():
        scores: defaultdict[str, float] = defaultdict(float)
        for word in words(question):
            for name, weight in weights.get(word, ()):
                scores[name] += weight
        ranked = sorted(scores, key=lambda name: (-scores[name], name))[:depth]
        lines.append({"query_id": query_id, "retrieved": ranked})
    return lines


def made(topics: int, relevant: int, *, seed: int = 7) -> tuple[Documents, Samples]:
    """A question a topic, and as many documents of it; each begins with the same words, as pages of a site do."""
    chance = random.Random(seed)  # noqa: S311
    own = {topic: [f"w{topic}x{number}" for number in range(6)] for topic in range(topics)}
    documents = {
        f"d{topic}-{number}": " ".join(["Acme handbook, all rights reserved:", *chance.sample(own[topic], 4)])
        for topic in range(topics)
        for number in range(relevant)
    }
    documents |= {f"another-{number}": f"Acme handbook, all rights reserved: misc{number}" for number in range(200)}
    samples: Samples = [
        {
            "id": f"q{topic}",
            "input": {"question": f"Acme handbook {' '.join(chance.sample(own[topic], 3))}"},
            "expected_output": [f"d{topic}-{number}" for number in range(relevant)],
        }
        for topic in range(topics)
    ]
    return documents, samples


def graded() -> tuple[Documents, Samples]:
    documents, samples = made(40, 12)
    for sample in samples:
        sample["expected_output"] = {name: 1 + place % 3 for place, name in enumerate(sample["expected_output"])}
    return documents, samples


def with_no_answer() -> tuple[Documents, Samples]:
    documents, samples = made(40, 1)
    for sample in samples[::4]:
        sample.update(expected_output=[], metadata={"no_answer": True})
    return documents, samples


def in_twelve_languages() -> tuple[Documents, Samples]:
    documents, samples = made(120, 2)
    for number, sample in enumerate(samples):
        sample["metadata"] = {"tags": [f"lang:l{number % 12}"]}
    return documents, samples


def of_clusters() -> tuple[Documents, Samples]:
    documents, samples = made(120, 1)
    for number, sample in enumerate(samples):
        sample["metadata"] = {"cluster": f"conversation-{number // 3}"}
    return documents, samples


def real(name: str) -> tuple[Documents, Samples]:
    if not REAL.is_dir():
        pytest.skip("the shared collections are not here")
    documents, samples = (
        [json.loads(line) for line in (REAL / name / file).read_text(encoding="utf-8").splitlines()]
        for file in ("corpus.jsonl", "gold.jsonl")
    )
    return {each["id"]: f"{each['title']} {each['text']}" for each in documents}, samples


@pytest.mark.full
@pytest.mark.parametrize(
    ("collection", "gated"),
    [
        pytest.param(lambda: made(40, 30), "capped_recall@5", id="30 relevant documents a question"),
        pytest.param(graded, "capped_recall@5", id="12 with grades"),
        pytest.param(lambda: made(40, 1), "recall@5", id="one relevant document"),
        pytest.param(lambda: made(10, 1), "recall@5", id="ten questions"),
        pytest.param(lambda: made(10, 30), "capped_recall@5", id="ten questions, many relevant"),
        pytest.param(with_no_answer, "recall@5", id="a quarter has no answer"),
        pytest.param(in_twelve_languages, "recall@5", id="twelve languages of ten questions"),
        pytest.param(of_clusters, "recall@5", id="conversations"),
        pytest.param(lambda: real("adi"), "recall@5", id="ADI, 35 questions"),
        pytest.param(
            lambda: real("cranfield"), "capped_recall@5", id="Cranfield, 225 questions", marks=pytest.mark.full
        ),
        pytest.param(lambda: real("hotpotqa_sample"), "recall@5", id="HotpotQA, 100 questions", marks=pytest.mark.full),
    ],
)
def test_an_index_of_thirty_characters_does_not_pass(
    collection: Any, gated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    documents, samples = collection()
    questions = {sample["id"]: sample["input"]["question"] for sample in samples}
    write_lines("gold.jsonl", samples)
    write_lines("run.jsonl", search(documents, questions))
    assert main(["init", "--gold", "gold.jsonl", "--run", "run.jsonl"]) == 0
    assert load_criteria("ship-criteria.yaml").gates[0].metric.name == gated
    assert main(["check", *DATE]) == 0
    assert main(["baseline", "accept", *DATE]) == 0
    assert main(["check", *DATE]) == 0
    write_lines("run.jsonl", search({name: text[:CUT] for name, text in documents.items()}, questions))
    capsys.readouterr()
    # Where none of the gold's ids is found any more, and none other of it either, the ids are taken for others.
    assert (main(["check", *DATE]), capsys.readouterr().out[:4]) in {(1, "FAIL"), (2, "NOT ")}
