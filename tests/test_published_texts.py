"""What leaves the job: with `publish: {texts: ids}` no text of a question, an answer or a passage does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.json_lines import write_lines
from tests.renderers.pages.exhibits import unpacked
from tests.report_keys import with_keys
from tests.repositories import commit, git

from rankgate.cli import main
from rankgate.gates.compose import published
from rankgate.model.answers import (
    AnswerChanges,
    AnswerLoss,
    Entailment,
    LostClaim,
    Stage,
    Unsupported,
    UnsupportedClaim,
    VerdictKind,
)
from rankgate.model.report import Provenance, Published, Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Verdict
from rankgate.renderers.github import check_run_output

WORD = "Zanzibar"
OUTPUTS = ("report.json", "comment.md", "report.html", "junit.xml", "rankgate.badge.json")
IDS, FULL = "publish: {texts: ids}\n", "publish: {texts: full}\n"
DOCUMENT = f"The refund of a {WORD} order takes ten days, and then some more days."
GATE = "gates: [{name: recall@1, regression_max: 0.03}]\n"


def write_inputs(criteria: str, expected: Any = None) -> None:
    """Forty questions whose texts and passages hold a word, of which the run loses ten."""
    Path("ship-criteria.yaml").write_text(criteria, encoding="utf-8")
    names = [f"q{number}" for number in range(40)]
    questions = [{"input": f"Where is my {WORD} order {name}?", "id": name} for name in names]
    write_lines("gold.jsonl", [{**each, "expected_output": [expected or f"{each['id']}-doc"]} for each in questions])
    for path, lost in (("before.jsonl", 0), ("run.jsonl", 10)):
        right = {name: {"doc_id": f"{name}-doc", "chunk_id": f"{name}-doc", "text": DOCUMENT} for name in names}
        wrong = {"doc_id": "x", "chunk_id": "x", "text": f"Nothing of {WORD[::-1]} here."}
        lists = [[wrong] if place < lost else [right[name]] for place, name in enumerate(names)]
        write_lines(path, [{"query_id": name, "topk": found} for name, found in zip(names, lists, strict=True)])


def with_places(path: str) -> None:
    """All that was right is the one document now, and says which characters of it a passage is."""
    text = Path(path).read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.replace("-doc", "").splitlines()]
    for record in records:
        right = record["topk"][0]["doc_id"] != "x"
        record["topk"][0] |= {"doc_id": "q0-doc" if right else "x", "start": 0, "end": len(DOCUMENT)}
    write_lines(path, records)


def checked(*more: str) -> dict[str, str]:
    """What every output says of a check that fails, the check run and the annotations among them."""
    files = ["--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", "before.jsonl", *more]
    written = [word for name in OUTPUTS for word in ("-o", name)]
    assert main(["check", "--date", "2026-01-31", "--all", *files, *written]) == 1
    texts = {name: Path(name).read_text(encoding="utf-8") for name in OUTPUTS}
    texts["report.html"] += str(unpacked(texts["report.html"]))
    report = decode_report(texts["report.json"].encode(), "report.json")
    return {**texts, "check run": msgspec.json.encode(check_run_output(report)).decode()}


def saying(texts: Mapping[str, str]) -> set[str]:
    return {name for name, text in texts.items() if WORD in text}


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        pytest.param("", None, id="chunks"),
        pytest.param("match: text\n", DOCUMENT, id="texts"),
        pytest.param("match: span\n", {"doc": "q0-doc", "start": 0, "end": 40, "text": DOCUMENT[:40]}, id="spans"),
    ],
)
def test_with_ids_no_text_leaves(
    match: str, expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs(f"{IDS}{match}{GATE}", expected)
    if "span" in match:
        for path in ("run.jsonl", "before.jsonl"):
            with_places(path)
    texts = checked()
    assert saying({**texts, "terminal": capsys.readouterr().out}) == set()
    assert "q0" in texts["comment.md"]


def test_otherwise_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs(GATE)
    assert saying(checked()) == {"report.json", "comment.md", "report.html", "check run"}


@pytest.mark.parametrize(("texts", "leave"), [("full", True), ("gold", True), ("ids", False), ("numbers", False)])
def test_claims_of_answers_that_lost_or_lack_support_leave_as_texts_do(texts: Published, *, leave: bool) -> None:
    claim = UnsupportedClaim(
        text=f"It ships to {WORD}.", verdict=Entailment.ABSENT, passages=("p",), quote=f"to {WORD}"
    )
    lacks = Unsupported(query_id="q1", question=f"Where is {WORD}?", claims=(claim,), among=2)
    lost = LostClaim(text=claim.text, asked=VerdictKind.SUPPORT, before=Entailment.SUPPORTED, now=Entailment.ABSENT)
    loss = AnswerLoss("q1", lacks.question, "faithfulness", 1.0, 0.5, Stage.GENERATOR, (lost,))
    report = Report(verdict=Verdict.PASS, summary="", provenance=Provenance(rankgate="0", date="2026-01-31"))
    answers = AnswerChanges(None, 1, [loss], [lacks])
    found = published(with_keys(report, answers=answers), texts).changes.answers
    assert found is not None
    assert (len(found.losses[0].claims), len(found.unsupported[0].claims)) == (1, 1)
    assert (WORD in msgspec.json.encode(found).decode()) is leave


@pytest.mark.parametrize(
    ("base", "head", "shown"),
    [
        pytest.param(IDS, FULL, False, id="a pull request publishes nothing that the base keeps"),
        pytest.param(IDS, IDS, False, id="both keep them"),
        pytest.param("", IDS, True, id="it counts once it is merged"),
    ],
)
def test_it_counts_as_the_base_has_it(
    base: str, head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shown: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch=main")
    write_inputs(f"{base}{GATE}")
    commit()
    git("switch", "--quiet", "--create", "change")
    write_inputs(f"{head}{GATE}")
    commit()
    assert bool(saying(checked("--base", "main"))) is shown
