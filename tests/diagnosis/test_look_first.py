"""What a check says first of the questions that got worse where no cause is proven: counts, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main

QUESTIONS = 30
GERMAN = 12  # of the first
CRITERIA = """
evidence: {evidence}
inputs: {{gold: gold.csv, run: run.jsonl, baseline: baseline.jsonl}}
gates:
  - {gate}
"""
LOST = "{name: recall@5, regression_max: 0.05, max_lost_queries: 1}"
FLOOR = "{name: recall@5, threshold: 0.95}"
MISS, EMPTY, LOWER, REWORDED, ABSENT = "miss", "empty", "lower", "reworded", "absent"
Lists = Mapping[int, str]


def listed(row: int, state: str | None, scores: Sequence[float]) -> dict[str, Any]:
    """A line of a run: the relevant document first, unless it is missing or stands eighth; or of another text."""
    wrong = [f"x{row}-{place}" for place in range(9)]
    lower = [*wrong[:7], f"d{row}", *wrong[7:]]
    ids = {None: [f"d{row}", *wrong], MISS: wrong, EMPTY: [], LOWER: lower, REWORDED: [f"d{row}"]}[state]
    items = [{"chunk_id": item} | ({"score": scores[place]} if scores else {}) for place, item in enumerate(ids)]
    stated = {"question_sha256": "0" * 64} if state == REWORDED else {}
    return {"query_id": f"q{row:02}", "topk": items, **stated}


def look_first(now: Lists, before: Lists, gate: str, *, rising: bool = False, evidence: str = "proven_harm") -> Any:
    """The first finding; None where there is none."""
    rows = [f"q{row:02},question {row},d{row},{'de' if row < GERMAN else 'en'}" for row in range(QUESTIONS)]
    Path("gold.csv").write_text("\n".join(["id,question,document,lang", *rows]))
    scores = [place / 10 for place in range(10)] if rising else []
    for name, states in (("run", now), ("baseline", before)):
        present = [row for row in range(QUESTIONS) if states.get(row) != ABSENT]
        lines = [listed(row, states.get(row), scores if name == "run" else ()) for row in present]
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    Path("ship-criteria.yaml").write_text(CRITERIA.format(evidence=evidence, gate=gate))
    main(["check", "-o", "report.json"])
    report = json.loads(Path("report.json").read_text())
    assert "no cause" not in json.dumps(report)
    return next(iter(report["diagnosis"]), None)


@pytest.mark.parametrize(
    ("now", "before", "gate", "finding"),
    [
        pytest.param(
            {0: EMPTY, 1: MISS, 2: EMPTY, 3: MISS, 20: EMPTY},
            {},
            LOST,
            "of the 5 questions that got worse 3 return no results now, 2 have lost a relevant document from the list; "
            "4 of them are tagged {tag} (40% of the gold set)",
            id="of several kinds, those without a result first, and a tag of most",
        ),
        pytest.param(
            {0: MISS, 1: LOWER, 13: MISS, 14: MISS},
            {},
            LOST,
            "of the 4 questions that got worse 3 have lost a relevant document from the list, "
            "1 still lists one that fell below the first 5",
            id="no tag of most",
        ),
        pytest.param(
            {13: EMPTY, 14: EMPTY, 15: MISS},
            {},
            LOST,
            "of the 3 questions that got worse 2 return no results now, 1 has lost a relevant document from the list",
            id="a tag that most of the gold set has says nothing",
        ),
        pytest.param(
            {13: EMPTY, 14: REWORDED, 15: MISS},
            {},
            LOST,
            "of the 3 questions that got worse 1 returns no results now, 1 is not answered: the run states no text, or "
            "another one, in its line, 1 has lost a relevant document from the list",
            id="what is not answered is no list without a result",
        ),
        pytest.param(
            {13: EMPTY, 14: ABSENT, 15: MISS},
            {},
            LOST,
            "of the 3 questions that got worse 1 returns no results now, 1 is absent from the run, 1 has lost a "
            "relevant document from the list",
            id="what has no line is no list without a result",
        ),
        pytest.param(
            dict.fromkeys((13, 14, 15), ABSENT),
            {},
            LOST,
            "all 3 questions that got worse are absent from the run",
            id="none has a line",
        ),
        pytest.param(
            {row: EMPTY if row == 0 else MISS for row in range(9)},
            dict.fromkeys(range(4), MISS),
            FLOOR,
            "9 of the 30 questions miss a relevant document, 4 of them in the baseline, too; "
            "of the 5 others all without it in the list",
            id="old misses are not counted with new ones",
        ),
        pytest.param(
            dict.fromkeys(range(9), MISS),
            dict.fromkeys(range(10), MISS),
            FLOOR,
            "9 of the 30 questions miss a relevant document, as in the baseline: all without it in the list",
            id="no new ones",
        ),
    ],
)
def test_counts_where_no_cause_is_proven(
    now: Lists, before: Lists, gate: str, finding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert look_first(now, before, gate)["finding"] == finding


@pytest.mark.parametrize(
    ("rising", "states", "found"),
    [
        pytest.param(True, dict.fromkeys(range(12), MISS), True, id="they rise, and the value fell"),
        pytest.param(False, dict.fromkeys(range(12), MISS), False, id="they do not"),
        pytest.param(True, {}, False, id="nothing fell"),
    ],
)
def test_scores_that_rise_stand_first_where_they_explain_a_fall(
    rising: bool,  # noqa: FBT001
    states: Lists,
    found: bool,  # noqa: FBT001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    few = {27: EMPTY, 28: EMPTY, 29: EMPTY}  # whose lists are too short for that
    first = look_first({**states, **few}, few, LOST, rising=rising)
    assert (first is not None and first["rule"] == "rising_scores") is found
    if found:
        assert first["finding"] == (
            "the scores: in all 27 lists of five or more results they rise from rank to rank, as distances do"
        )


def test_the_next_command_names_the_question_that_every_output_lists_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    look_first({0: MISS, 1: LOWER, 7: EMPTY}, {}, LOST)
    capsys.readouterr()
    main(["check", "--all"])
    shown = capsys.readouterr().out
    assert "\nNext: rankgate explain q07 " in shown
    assert [shown.index(f"  q{row:02}  question") for row in (7, 0, 1)] == sorted(
        shown.index(f"  q{row:02}  question") for row in (7, 0, 1)
    )
    main(["explain"])
    assert "1. q07" in capsys.readouterr().out
