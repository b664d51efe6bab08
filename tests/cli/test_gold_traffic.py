"""From questions without labels to a FAIL with its number: sheet, labels, check."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from rankgate.cli import main

GOLD = "".join(f'{{"id": "g{n}", "input": "gold {n}", "expected_output": ["d{n}"]}}\n' for n in range(10))
TRAFFIC = "".join(
    json.dumps({"query_id": f"t{n}", "question": f"what of {n}?", "tags": [f"lang:{'th' if n % 5 == 0 else 'en'}"]})
    + "\n"
    for n in range(300)
)
CRITERIA = """\
inputs:
  {gold: gold.jsonl, run: run.jsonl, baseline: baseline, traffic: traffic.jsonl, traffic_labels: traffic-labels.jsonl}
gates:
  - {name: recall@5, threshold: 0.5}
  - {name: precision@2, over: traffic, regression_max: 0.03}
"""


def run_text(changed: range) -> str:
    """Traffic question n has documents n.a and n.b, and other ones where it changed."""
    lines: list[dict[str, object]] = [{"query_id": f"g{n}", "retrieved": [f"d{n}"]} for n in range(10)]
    for n in range(300):
        documents = [f"{n}.x", f"{n}.y"] if n in changed else [f"{n}.a", f"{n}.b"]
        lines.append({"query_id": f"t{n}", "traffic": True, "retrieved": documents})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


PROJECT = {
    "gold.jsonl": GOLD,
    "traffic.jsonl": TRAFFIC,
    "ship-criteria.yaml": CRITERIA,
    "run.jsonl": run_text(range(0)),
}
THAI = range(0, 300, 5)
pytestmark = pytest.mark.usefixtures("accepted")


@pytest.fixture
def accepted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "accept", "--to", "baseline"]) == 0
    (project / "run.jsonl").write_text(run_text(THAI))
    capsys.readouterr()


def pool(*words: str) -> int:
    return main(["gold", "pool", "--traffic", "--n", "40", "-o", "sheet.csv", *words])


def merge(*sheets: str) -> int:
    return main(["gold", "merge", "--traffic", "traffic-labels.jsonl", *sheets])


def fill(name: str, good: str, blank: int = 0) -> None:
    """The sheet, filled in: documents whose name ends so are relevant; the last rows are left empty."""
    header, *rows = list(csv.reader(Path("sheet.csv").read_text(encoding="utf-8-sig").splitlines()))
    column = next(place for place, cell in enumerate(header) if cell.startswith("relevant"))
    for row in rows[: len(rows) - blank]:
        row[column] = "1" if row[2].endswith(tuple(good)) else "0"
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def gate(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    """The exit code of a check, and the row over traffic."""
    code = main(["check", "-o", "report.json"])
    capsys.readouterr()
    return code, json.loads(Path("report.json").read_text())["gates"][-1]


@pytest.mark.full
def test_from_a_sheet_to_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    missing = "precision@2 over traffic not measured (labels of 30 of 30 drawn questions are missing)."
    assert missing in capsys.readouterr().out
    code, row = gate(capsys)
    assert (code, row["verdict"], row["evidence_state"]) == (0, "pass", "no_interval")
    assert pool() == 0
    assert capsys.readouterr().out == (
        "wrote sheet.csv: 160 documents of 40 questions to label\n"
        "  drawn from 60 questions that get other results, 20.0% of the traffic\n"
        "  40 questions without texts, since not all of their documents have one (--corpus DIR adds them)\n"
        "write 1 (relevant) or 0 into every `relevant`; then:\n"
        "  $ rankgate gold merge --traffic traffic-labels.jsonl sheet.csv\n"
    )
    fill("ana.csv", good="a")
    assert merge("ana.csv") == 0
    assert capsys.readouterr().out == (
        "wrote traffic-labels.jsonl: 160 labels added by ana\n  0 known already, 0 rows left empty\n"
    )
    code, row = gate(capsys)
    assert (code, row["metric"], row["verdict"]) == (1, "precision@2 over traffic", "fail")
    assert row["delta"] == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("good", "blank", "code"),
    [
        pytest.param("ax", 0, 0, id="as good as before"),
        pytest.param("xy", 0, 0, id="better"),
        pytest.param("ab", 0, 1, id="worse"),
        pytest.param("ab", 20, 1, id="some rows left empty"),
        pytest.param("ab", 60, 0, id="too many left empty"),
    ],
)
def test_a_filled_sheet(good: str, blank: int, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    pool()
    fill("ana.csv", good=good, blank=blank)
    merge("ana.csv")
    assert gate(capsys)[0] == code


@pytest.mark.full
def test_a_sheet_of_another_pair_of_runs_keeps_its_labels_and_proves_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pool()
    fill("ana.csv", good="ab")
    Path("run.jsonl").write_text(run_text(range(0, 300, 4)))
    assert merge("ana.csv") == 0
    assert gate(capsys)[1]["evidence_state"] == "no_interval"
    assert pool("--force") == 0
    drawn = {row.partition(",")[0] for row in Path("sheet.csv").read_text(encoding="utf-8-sig").splitlines()[1:]}
    labelled = {json.loads(line).get("query_id") for line in Path("traffic-labels.jsonl").read_text().splitlines()}
    assert len(drawn) < 40
    assert not drawn & labelled
    fill("ana.csv", good="ab")
    assert merge("ana.csv") == 0
    assert gate(capsys)[1]["verdict"] == "fail"


@pytest.mark.full
def test_a_draw_counts_once_its_sheet_came_back_also_where_nothing_is_left_to_label(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pool()
    fill("ana.csv", good="ab")
    merge("ana.csv")
    labels = Path("traffic-labels.jsonl").read_text().splitlines(keepends=True)
    Path("traffic-labels.jsonl").write_text("".join(labels[1:]))
    assert gate(capsys)[1]["evidence_state"] == "no_interval"
    assert pool("--force") == 0
    assert "nothing is left to label; so that this draw counts:" in capsys.readouterr().out
    assert merge("sheet.csv") == 0
    assert gate(capsys)[1]["verdict"] == "fail"


def test_two_people_who_disagree(capsys: pytest.CaptureFixture[str]) -> None:
    pool()
    fill("ana.csv", good="ab")
    fill("ben.csv", good="b")
    capsys.readouterr()
    assert merge("ana.csv", "ben.csv") == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "wrote traffic-labels.jsonl: 320 labels added by ana, ben"
    assert told[2] == "  people differ on 40 of 160 labels (kappa 0.50)"
    assert len(told) == 43
    assert gate(capsys)[1]["delta"] == pytest.approx(-0.15)


def test_nothing_is_written_where_a_person_says_both(capsys: pytest.CaptureFixture[str]) -> None:
    pool()
    fill("ana.csv", good="ab")
    merge("ana.csv")
    before = Path("traffic-labels.jsonl").read_bytes()
    fill("ana.csv", good="xy")
    assert merge("ana.csv") == 2
    assert "has the other label by 'ana' already" in capsys.readouterr().err
    assert Path("traffic-labels.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["run.jsonl"], "--traffic takes run and baseline from the criteria; name no RUN", id="a run"),
        pytest.param(["--n", "0"], "--n must be at least 1, not 0", id="no question"),
        pytest.param(
            ["-o", "sheet.txt"], "a sheet is written as .jsonl or .csv or .html, not as .txt", id="another form"
        ),
    ],
)
def test_what_is_refused(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert pool(*words) == 2
    assert expected in capsys.readouterr().err


def test_a_corpus_gives_the_texts(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [json.dumps({"id": f"{n}.{name}", "text": f"Text {name} of {n}."}) for n in THAI for name in "abxy"]
    (project / "corpus.jsonl").write_text("\n".join(texts))
    assert pool("--corpus", "corpus.jsonl") == 0
    assert "without texts" not in capsys.readouterr().out
    assert "Text a of" in (project / "sheet.csv").read_text(encoding="utf-8-sig")


@pytest.mark.full
@pytest.mark.parametrize("form", ["report.json", "report.html", "comment.md", "report.xml"])
def test_every_form_shows_the_row(form: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool()
    fill("ana.csv", good="ab")
    merge("ana.csv")
    kinds = {"comment.md": ["--format", "markdown"], "report.xml": ["--format", "junit"]}
    assert main(["check", *kinds.get(form, []), "-o", form]) == 1
    assert "precision@2 over traffic" in (project / form).read_text(encoding="utf-8")
    assert "precision@2 over traffic fell by 20.0 pp" in capsys.readouterr().out


def test_a_sheet_as_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gold", "pool", "--traffic", "--n", "40", "-o", "sheet.html"]) == 0
    assert "rankgate gold merge --traffic traffic-labels.jsonl sheet.jsonl" in capsys.readouterr().out
    page = Path("sheet.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="sheet-data">')[2].partition("</script>")[0])
    assert len({row["query_id"] for row in data["rows"]}) == 40
    assert {(row["document"][-1] in "xy", row["list"]) for row in data["rows"]} == {(True, "now"), (False, "before")}
    assert main(["gold", "pool", "--traffic", "-o", "sheet.jsonl"]) == 0
    assert {"head": data["head"]} == json.loads(Path("sheet.jsonl").read_text().partition("\n")[0])
