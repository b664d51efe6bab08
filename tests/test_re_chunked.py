"""Checks by spans, end to end: on the scenario's runs, of 120 and of 400 words a chunk, whole, damaged and stored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.json_lines import read_lines

from rankgate.cli import main

SCENARIO = Path(__file__).parent / "scenarios" / "re_chunked"
Lines = list[dict[str, Any]]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(SCENARIO, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def change(path: Path, of_item: Callable[[dict[str, Any]], object], *, every: int = 1) -> None:
    """Change every n-th item of a run."""
    lines = read_lines(path)
    for item in [item for line in lines for item in line["topk"]][::every]:
        of_item(item)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def unplaced(item: dict[str, Any]) -> None:
    del item["start"], item["end"]


def check(*more: str) -> tuple[int, dict[str, Any]]:
    code = main(["check", "-o", "report.json", "-o", "comment.md", "--date", "2026-01-31", *more])
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return code, report


def test_the_same_gold_judges_both(work: Path) -> None:
    runs = [{item["chunk_id"] for line in read_lines(work / name) for item in line["topk"]} for name in RUNS]
    code, report = check()
    assert runs[0].isdisjoint(runs[1])
    assert (code, report["verdict"], report["warnings"], report.get("problems", [])) == (0, "pass", [], [])
    assert report["metrics"]["recall@3"]["value"] == report["baseline_metrics"]["recall@3"]["value"] == 1


RUNS = ("accepted.jsonl", "run.jsonl")


def test_a_stored_baseline_keeps_offsets(work: Path) -> None:
    before = check()[1]
    accepting = ["--run", "accepted.jsonl", "--baseline", "store"]
    assert main(["baseline", "accept", *accepting]) == 0
    code, after = check("--baseline", "store")
    assert code == 0
    assert after["baseline_metrics"] == before["baseline_metrics"]
    change(work / "accepted.jsonl", unplaced)
    code, report = check()
    assert (code, report["verdict"]) == (2, "not_judged")
    assert "accepted.jsonl" in str(report["problems"])
    assert "`start` and `end`, or `text`" in str(report["problems"])


def test_some_items_without_offsets_are_counted(work: Path) -> None:
    change(work / "run.jsonl", unplaced, every=6)
    _, report = check()
    text = "10 of 60 items of run.jsonl state no offsets and no text, so that they match nothing"
    assert report["warnings"] == [text]
    assert text in (work / "comment.md").read_text()
    change(work / "run.jsonl", lambda item: "start" in item or item.update(text="something else"))
    _, report = check()
    note = "10 of 60 items of run.jsonl state no offsets; passages are searched in their texts."
    assert report["warnings"] == []
    assert note in report["notes"]
    assert note in (work / "comment.md").read_text()


def test_offsets_and_texts_nowhere(work: Path) -> None:
    change(work / "run.jsonl", unplaced)
    code, report = check()
    assert code == 2
    assert "`match: span` reads `start` and `end`, or `text`, which the run states nowhere" in str(report["problems"])


def test_texts_alone_judge_as_offsets_do(work: Path) -> None:
    gold = json.loads(json.dumps(_gold(work)))
    passages = {span["text"]: span for sample in gold for span in sample["expected_output"]}

    def with_text(item: dict[str, Any]) -> None:
        held = [
            text
            for text, span in passages.items()
            if span["doc"] == item["doc_id"] and item["start"] <= span["start"] and span["end"] <= item["end"]
        ]
        unplaced(item)
        item["text"] = "  ".join(["Before.", *held, "After."]).upper()

    change(work / "run.jsonl", with_text)
    assert check()[1]["metrics"]["mrr"]["value"] == 1


def _gold(work: Path) -> Any:
    from rankgate.readers.yaml_text import load_yaml

    value: Any = load_yaml((work / "gold.yaml").read_text(), "gold").value
    return value["samples"]


def test_other_names_of_documents_are_stale_gold(work: Path) -> None:
    for name in RUNS:
        change(work / name, lambda item: item.update(doc_id=f"docs/{item['doc_id']}.md"))
    code, report = check()  # that the baseline has the same names proves nothing
    assert code == 2
    assert [problem["kind"] for problem in report["problems"]] == ["gold_stale"]


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        pytest.param("match: span", "match: chunk", "ship-criteria.yaml", "as a span; write `match: span`", id="chunk"),
        pytest.param(
            "expected_output:\n      - {", "expected_output: [d#1]\n    x:\n      - {", "gold.yaml", "by id", id="mixed"
        ),
        pytest.param(
            *("expected_output:", "negatives: [d#1]\n    expected_output:", "gold.yaml"),
            "negatives are ids ('d#1'), which `match: span` does not read; remove negatives of the sample",
            id="negatives",
        ),
        pytest.param(
            *("expected_output:", "judge_labels: {d#1: 1}\n    expected_output:", "gold.yaml"),
            "judge_labels are ids ('d#1'), which `match: span` does not read; remove judge_labels of the sample",
            id="labels of a judge",
        ),
    ],
)
def test_ids_and_spans_do_not_mix(work: Path, old: str, new: str, place: str, message: str) -> None:
    (work / place).write_text((work / place).read_text().replace(old, new, 1))
    code, report = check()
    assert code == 2
    assert report["problems"][0]["line"] == 2
    assert report["problems"][0]["file"] == "gold.yaml"
    assert message in report["problems"][0]["message"]


def test_pools_and_labels_name_ids(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gold", "pool", "run.jsonl"]) == 2
    assert "there are none to label" in capsys.readouterr().err
    assert main(["gold", "negatives", "gold.yaml", "--run", "run.jsonl", "-o", "n.jsonl"]) == 2
    assert "negatives are ids, which match: span does not compare" in capsys.readouterr().err
    label = {"query_id": "q1", "id": "handbook#400-1", "gain": 1}
    (work / "labels.jsonl").write_text(json.dumps(label) + "\n")
    assert main(["gold", "merge", "gold.yaml", "labels.jsonl"]) == 2
    assert "the query's gold are spans of documents, and a label names an id" in capsys.readouterr().err
    (work / "labels.jsonl").write_text(json.dumps({**label, "gain": None}) + "\n")
    assert main(["gold", "merge", "gold.yaml", "labels.jsonl", "-o", "merged.json"]) == 0
    assert json.loads((work / "merged.json").read_text())["samples"] == _gold(work)


@pytest.mark.parametrize(
    "call", [["validate"], ["explain"], ["explain", "q1"], ["compare", "accepted.jsonl", "run.jsonl"]]
)
def test_other_commands_read_spans(call: list[str], work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(call)
    printed = capsys.readouterr()
    assert code == 0, printed
    assert "occur in no ranking" not in printed.out


def test_a_baseline_without_texts_is_refused_by_text_too(work: Path) -> None:
    (work / "ship-criteria.yaml").write_text((work / "ship-criteria.yaml").read_text().replace("span", "text", 1))
    (work / "gold.yaml").write_text("- {id: q1, expected_output: [Refunds are paid]}\n")
    change(work / "run.jsonl", lambda item: item.update(text="Refunds"))
    code, report = check()
    assert code == 2
    assert report["problems"][0]["file"] == "accepted.jsonl"
    assert "`match: text` reads `text`" in report["problems"][0]["message"]


# Forty documents of one passage each, two chunks a document, whose border cuts the passage after "thirt".
PREFACE, LATER = "Preface. " * 6, " Other text follows here." * 4
PASSAGES = [f"Refunds for plan {number:02} take thirty days now." for number in range(40)]
MOVED = "Read this before anything else, please. " * 3
OFFSETS, TEXT = ("start", "end"), ("text",)


def forty(
    work: Path, *, quoted: bool = True, changed: tuple[str, str] = ("", ""), keys: tuple[str, ...] = TEXT
) -> None:
    """Write the gold, a baseline of offsets and a run whose documents changed so, of which items state these keys."""
    gold, lines = list[str](), dict[str, list[str]]({"accepted.jsonl": [], "run.jsonl": []})
    for number, passage in enumerate(PASSAGES):
        start = len(PREFACE)
        span = {"doc": f"doc{number}", "start": start, "end": start + len(passage)} | (
            {"text": passage} if quoted else {}
        )
        gold.append(json.dumps({"id": f"q{number}", "expected_output": [span]}))
        for name, stated in (("accepted.jsonl", OFFSETS), ("run.jsonl", keys)):
            document = PREFACE + passage + LATER
            old, new = changed
            if name == "run.jsonl":
                document = new + document if not old else document.replace(old, new)
            cut = document.index("thirt") + 5 if "thirt" in document else start + 30
            items = [(0, cut), (cut, len(document))]
            topk = [{"start": at, "end": end, "text": document[at:end]} for at, end in items]
            topk = [
                {"chunk_id": f"doc{number}#{rank}", **{key: item[key] for key in stated}}
                for rank, item in enumerate(topk)
            ]
            lines[name].append(json.dumps({"query_id": f"q{number}", "topk": topk}))
    (work / "gold.jsonl").write_text("\n".join(gold))
    for name, written in lines.items():
        (work / name).write_text("\n".join(written))
    inputs = "inputs: {gold: gold.jsonl, run: run.jsonl, baseline: accepted.jsonl}"
    gates = "- {name: recall@5, regression_max: 0.03}\n- {name: passage_recall@5, regression_max: 0.03}"
    (work / "ship-criteria.yaml").write_text(f"match: span\ngates:\n{gates}\n{inputs}\n")


@pytest.mark.parametrize(
    ("changed", "keys"),
    [
        pytest.param(("", ""), TEXT, id="a baseline of offsets, a run of texts"),
        pytest.param(("", ""), (*OFFSETS, *TEXT), id="a run of both"),
        pytest.param(("", MOVED), TEXT, id="more in front, by text"),
        pytest.param(("", MOVED), (*OFFSETS, *TEXT), id="more in front, by both"),
        pytest.param((LATER, MOVED), (*OFFSETS, *TEXT), id="other text behind it"),
    ],
)
def test_what_changed_around_a_passage_is_no_loss(changed: tuple[str, str], keys: tuple[str, ...], work: Path) -> None:
    forty(work, changed=changed, keys=keys)
    code, report = check()
    assert (code, report["verdict"]) == (0, "pass"), report
    assert [gate["value"] for gate in report["gates"]] == [1, 1]
    assert [gate["delta"] for gate in report["gates"]] == [0, 0]


def test_changed_passages_are_stale_and_no_loss(work: Path) -> None:
    forty(work, changed=("thirty", "forty"), keys=(*OFFSETS, *TEXT))
    code, report = check()
    assert (code, [problem["kind"] for problem in report["problems"]]) == (2, ["gold_stale"])
    assert "for 40 of 40 questions the run shows another text" in report["problems"][0]["message"]
    forty(work, changed=("plan 07 take thirty", "plan 07 take forty"), keys=(*OFFSETS, *TEXT))
    code, report = check()
    assert (code, report["verdict"]) == (0, "warn")
    assert [gate["value"] for gate in report["gates"]] == [1, 1]
    (warning,) = report["warnings"]
    assert "the gold set is partly stale: run.jsonl shows another text where passages of 1 question ('q7')" in warning


def shed(work: Path, lost: int, *, forged: bool) -> None:
    """A run without the passages of the last questions, and another text in their place where it is forged."""
    forty(work, keys=(*OFFSETS, *TEXT))
    lines = read_lines(work / "run.jsonl")
    for line in lines[len(lines) - lost :]:
        place = {"start": len(PREFACE), "end": len(PREFACE) + len(PASSAGES[0]), "text": MOVED}
        line["topk"] = [{**line["topk"][0], **place}] if forged else []
    (work / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("lost", "forged", "code", "verdict"),
    [
        pytest.param(4, False, 1, "fail", id="lost"),
        pytest.param(4, True, 2, "not_judged", id="another text in the place of what is lost"),
        pytest.param(20, True, 2, "not_judged", id="for half of the questions"),
        pytest.param(1, True, 0, "warn", id="for as many as may be missing"),
    ],
)
def test_no_question_is_shed_by_another_text(lost: int, forged: bool, code: int, verdict: str, work: Path) -> None:  # noqa: FBT001
    shed(work, lost, forged=forged)
    assert (check()[0], check()[1]["verdict"]) == (code, verdict)


def test_more_may_be_missing_and_counts_as_worst(work: Path) -> None:
    shed(work, 4, forged=True)
    criteria = work / "ship-criteria.yaml"
    criteria.write_text(criteria.read_text() + "max_unjudged: 0.1\n")
    code, report = check()
    assert (code, report["verdict"]) == (0, "warn")
    assert [(gate["verdict"], gate["delta"]) for gate in report["gates"]] == [("warn", 0), ("warn", 0)]
    assert "with the worst value there the change is −10.0" in report["gates"][0]["reasons"][0]["text"]


def test_a_baseline_of_which_some_passages_changed_is_compared_on_the_others(work: Path) -> None:
    shed(work, 4, forged=True)
    (work / "run.jsonl").replace(work / "other.jsonl")
    (work / "accepted.jsonl").replace(work / "run.jsonl")
    (work / "other.jsonl").replace(work / "accepted.jsonl")
    code, report = check()
    assert (code, report["verdict"], [gate["n_pairs"] for gate in report["gates"]]) == (0, "warn", [36, 36])


def test_a_baseline_that_is_stale_is_not_compared(work: Path) -> None:
    forty(work, changed=("thirty", "forty"), keys=(*OFFSETS, *TEXT))
    (work / "run.jsonl").replace(work / "other.jsonl")
    (work / "accepted.jsonl").replace(work / "run.jsonl")
    (work / "other.jsonl").replace(work / "accepted.jsonl")
    code, report = check()
    assert (code, report["verdict"]) == (0, "warn"), report
    assert {reason["kind"] for gate in report["gates"] for reason in gate["reasons"]} == {"foreign_baseline"}


def test_where_nothing_can_match_nothing_is_judged(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forty(work, quoted=False)
    code, report = check()
    assert (code, report["verdict"]) == (2, "not_judged")
    (problem,) = report["problems"]
    assert problem["file"] == "run.jsonl"
    assert "nothing can match for 40 of 40 queries ('q0', …): their spans state no `text`" in problem["message"]
    assert main(["validate"]) == 2
    assert "nothing can match" in capsys.readouterr().out
    assert main(["score", "--gold", "gold.jsonl", "--run", "run.jsonl", "--match", "span"]) == 2


def test_a_stored_baseline_keeps_texts_beside_offsets(work: Path) -> None:
    """Else what is found by its text today would be lost once it is accepted."""
    forty(work, changed=("", MOVED), keys=(*OFFSETS, *TEXT))
    assert main(["baseline", "accept", "--run", "run.jsonl", "--baseline", "store"]) == 0
    code, report = check("--baseline", "store")
    assert (code, report["baseline_metrics"]["passage_recall@5"]["value"]) == (0, 1)


def test_passages_need_spans(work: Path) -> None:
    text = (
        (work / "ship-criteria.yaml").read_text().replace("match: span", "match: chunk").replace("mrr", "passage_iou@5")
    )
    (work / "ship-criteria.yaml").write_text(text)
    code, report = check()
    assert code == 2
    assert "passages that the gold set names as spans; write `match: span`" in report["problems"][0]["message"]
