"""Which text of a question a line answers, as it states it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main
from rankgate.criteria import InputFile
from rankgate.criteria.runs import NamedRun, RunFile
from rankgate.errors import RankgateError
from rankgate.model.values import Gold, Sample
from rankgate.readers.base import TEXT_KEY, text_digest, texts_changed
from rankgate.readers.formats import read_run

TEXT = "wer trägt die Kosten?"
WHOLE = hashlib.sha256(TEXT.encode()).hexdigest()


def gold_of(**texts: str | None) -> Gold:
    samples = {name: Sample(query_id=name, gains={"d": 1.0}, question=text) for name, text in texts.items()}
    return Gold(samples=samples, name="gold.yaml", format="yaml")


def written(path: Path, *lines: dict[str, Any]) -> str:
    path.write_text("".join(f"{json.dumps({'query_id': 'q', 'retrieved': ['d'], **line})}\n" for line in lines))
    return str(path)


@pytest.mark.parametrize(
    ("stated", "text", "counts"),
    [
        pytest.param(text_digest(TEXT), TEXT, True, id="the text of the gold set"),
        pytest.param(WHOLE, TEXT, True, id="all digits"),
        pytest.param(WHOLE[:15], TEXT, False, id="too few"),
        pytest.param(WHOLE.upper(), TEXT, False, id="other letters"),
        pytest.param("", TEXT, False, id="empty"),
        pytest.param(text_digest(f"{TEXT} "), TEXT, False, id="another text, by a space"),
        pytest.param(None, TEXT, True, id="none stated"),
        pytest.param(text_digest("x"), None, True, id="the gold set has no texts"),
    ],
)
@pytest.mark.parametrize("key", ["retrieved", "actual_output"], ids=["the usual line", "another one"])
def test_a_line_answers_the_text_that_it_states(
    tmp_path: Path,
    stated: str | None,
    text: str | None,
    counts: bool,  # noqa: FBT001
    key: str,
) -> None:
    line = {"retrieved": None, key: ["d"], **({} if stated is None else {TEXT_KEY: stated})}
    path = written(tmp_path / "run.jsonl", line)
    opened = RunFile(file=InputFile(path), gold=gold_of(q=text)).open(frozenset())
    assert opened.quick is not None
    with opened.quick.opened() as reading:
        assert reading is not None
        assert len(list(reading[0])) == counts
    assert len(list(opened.rankings)) == counts


def test_what_is_wanted_by_its_text_is_not_answered_by_its_id(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", {})
    gold = gold_of(q=TEXT)
    wanted = Gold(samples=gold.samples, name=gold.name, format=gold.format, by_text=frozenset({"q"}))
    assert [
        len(list(RunFile(file=InputFile(path), gold=each).open(frozenset()).rankings)) for each in (gold, wanted)
    ] == [1, 0]


@pytest.mark.parametrize(
    ("second", "wrong"),
    [
        pytest.param({TEXT_KEY: text_digest("b")}, False, id="another text"),
        pytest.param({TEXT_KEY: text_digest("a")}, True, id="the same text"),
        pytest.param({}, True, id="no text"),
    ],
)
@pytest.mark.parametrize("ahead", [False, True], ids=["second", "first"])
def test_a_query_has_one_line_a_text(tmp_path: Path, second: dict[str, Any], wrong: bool, ahead: bool) -> None:  # noqa: FBT001
    lines = [{TEXT_KEY: text_digest("a")}, second]
    opened = read_run(written(tmp_path / "run.jsonl", *(lines[::-1] if ahead else lines)))
    if not wrong:
        assert len(list(opened.rankings)) == 2
        return
    with pytest.raises(RankgateError, match=r"run\.jsonl:2: .*'q' stands twice \(first on line 1\)"):
        list(opened.rankings)


def test_which_texts_are_changed() -> None:
    before = gold_of(same="a", edited="b", removed="c", textless=None)
    assert texts_changed(before, gold_of(same="a", edited="B", textless="d")) == {"edited", "removed"}


def test_a_run_of_two_texts_is_accepted_by_todays_gold_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.yaml").write_text("- {id: q, input: new, expected_output: [d]}\n")
    old, new = ({TEXT_KEY: text_digest(text), "retrieved": [each]} for text, each in (("old", "x"), ("new", "d")))
    written(Path("run.jsonl"), new, old)
    words = ["--gold", "gold.yaml", "--run", "run.jsonl"]
    assert main(["baseline", "accept", *words, "--to", "baseline", "--date", "2026-01-01"]) == 0
    capsys.readouterr()
    assert main(["score", *words, "--metrics", "recall@1", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["recall@1"]["value"] == 1.0
    assert [(each.query_id, each.ids) for each in NamedRun(InputFile("baseline")).open(frozenset()).rankings] == [
        ("q", ["d"])
    ]
