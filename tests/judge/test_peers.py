"""Other tools on the same verdicts: Ragas 0.4.3 and deepeval 4.3.1 compute what ours does, or differ as docs say.

With verdicts that are read in place of a model's. `--refresh` runs their packages, in environments of their own, and
writes their values anew.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.metrics.test_answers import judged, supports, verdicts

from rankgate.metrics.answers import share_supported
from rankgate.model.answers import GoldClaim
from rankgate.model.verdicts import AnswerVerdicts

HERE = Path(__file__).parent / "peers"
RAGAS = ("ragas==0.4.3", "langchain-community==0.3.31")  # it imports a module that a later one lacks
DEEPEVAL = ("deepeval==4.3.1",)
QUIET = {"RAGAS_DO_NOT_TRACK": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_UPDATE_WARNING_OPT_IN": "NO"}


def peers_values(request: pytest.FixtureRequest, requirements: tuple[str, ...], script: str, folder: Path) -> Any:
    """What a script prints for the cases, by a Python that has these packages and nothing of ours: a line a case."""
    kept = HERE / script.replace(".py", ".jsonl")
    if request.config.getoption("--refresh"):
        added = [word for each in requirements for word in ("--with", each)]
        command = [sys.executable, "-m", "uv", "run", "--no-project", "--quiet", "--python", sys.executable, *added]
        done = subprocess.run(
            [*command, "python", str(HERE / script)],
            input=json.dumps(CASES),
            cwd=folder,
            env={**os.environ, **QUIET},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        values = json.loads(done.stdout.splitlines()[-1])
        kept.write_text("".join(f"{json.dumps(each)}\n" for each in values), encoding="utf-8")
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def drawn(random: Random) -> dict[str, Any]:
    """Verdicts on one answer: those that have none of something are among them."""
    shown, claims, gold = random.randint(1, 5), random.randint(0, 5), random.randint(0, 4)

    def places() -> list[int]:
        return sorted(random.sample(range(1, shown + 1), random.randint(0, shown)))

    def flags(count: int) -> list[bool]:
        return [random.random() < 0.5 for _ in range(count)]

    return {
        "shown": shown,
        "support": [places() for _ in range(claims)],
        "gold_places": [places() for _ in range(gold)],
        "relevant": flags(shown),
        "correct": flags(claims),
        "said": flags(gold),
        "words": random.choices(("yes", "no", "borderline"), k=claims),
    }


CASES = [drawn(Random(seed)) for seed in range(80)]  # noqa: S311 -- data, not a secret


def read(case: dict[str, Any]) -> AnswerVerdicts:
    """The same verdicts as ours."""
    return verdicts(
        context=tuple(f"p{n}" for n in range(case["shown"])),
        support=supports(*(tuple(each) or None for each in case["support"])),
        correctness=supports(*((1,) if each else None for each in case["correct"])),
        gold_claims=tuple(GoldClaim(f"g{n}") for n in range(len(case["said"]))),
        gold_in_answer=supports(*((1,) if each else None for each in case["said"])),
        gold_in_context=supports(*(tuple(each) or None for each in case["gold_places"])),
        relevance=tuple(3 if each else 1 for each in case["relevant"]),
    )


@pytest.mark.full
def test_ragas_computes_the_same(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    differs = 0
    for case, theirs in zip(CASES, peers_values(request, RAGAS, "ragas_values.py", tmp_path), strict=True):
        found = read(case)
        for name, value in theirs.items():
            own = judged(name).value(found)
            if name == "factual_correctness":  # the recall of theirs counts what of the answer is supported
                hits, said = sum(case["correct"]), sum(case["said"])
                wrong = len(case["correct"]) - hits + len(case["said"]) - said
                assert value == pytest.approx(round(hits / (hits + wrong / 2), 2) if hits else 0.0, abs=1e-6)
                same = len(case["said"]) and share_supported(found.correctness) is not None and hits == said
                assert not same or own == pytest.approx(value, abs=0.0051)
                differs += not same and own is not None and abs(own - value) > 0.0051
            elif isinstance(value, str):  # an error, for one without claims or without a reference's
                assert name.startswith("noise_sensitivity")
                assert not case["support"] or not case["gold_places"]
            elif math.isnan(value):
                assert own is None
            else:
                assert own == pytest.approx(value, abs=1e-9), name
    assert differs, "the difference was met"


def test_deepeval_computes_the_same_but_for_what_is_empty_or_doubtful(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    met = {"without claims": 0, "without a reference": 0, "doubtful": 0}
    for case, theirs in zip(CASES, peers_values(request, DEEPEVAL, "deepeval_values.py", tmp_path), strict=True):
        words, found = case["words"], read(case)
        assert theirs["context_precision"] == pytest.approx(judged("context_precision").value(found))
        recall = judged("context_recall").value(found)
        assert theirs["context_recall"] == (0 if recall is None else pytest.approx(recall))
        sure = supports(*((1,) if word == "yes" else None for word in words))
        faithful = judged("faithfulness").value(verdicts(support=sure))
        kept = [word != "no" for word in words]  # theirs, of claims as of the statements of its relevancy
        assert theirs["faithfulness"] == theirs["answer_relevancy"]
        assert theirs["faithfulness"] == (pytest.approx(sum(kept) / len(kept)) if kept else 1)
        assert faithful is None or "borderline" in words or faithful == pytest.approx(theirs["faithfulness"])
        met["without claims"] += faithful is None
        met["without a reference"] += recall is None
        met["doubtful"] += "borderline" in words
    assert all(met.values())
