"""`rankgate judge calibrate` as it is typed: from a run over a judge and people's labels to a gate that counts."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_judge import printed, write_lines
from tests.judge.calibrated import metric_found
from tests.judge.hash_judge import KEY, REFUSAL, HashJudge, judging, share

from rankgate.cli import judge_calibrate, main
from rankgate.cli.judge_calibrate import _row
from rankgate.criteria import load_criteria
from rankgate.gates.judged import advisory
from rankgate.judge import client
from rankgate.judge.calibration import read_calibration
from rankgate.judge.label_files import add_labels, label_of, read_labels, read_sample
from rankgate.judge.sample import Item
from rankgate.statistics.calibration import Powered

pytestmark = pytest.mark.full

CRITERIA = """\
judge: {{endpoint: {address}, model: {model}, structured: json_schema, calibration: {{file: calibration.json}}}}
inputs: {{gold: gold.jsonl, run: run.jsonl, baseline: base.jsonl}}
gates:
  - {{name: faithfulness, regression_max: 0.03, segments: [{{by: lang, regression_max: 0.5}}]}}
  - {{name: answered_rate, regression_max: 0.05}}
"""
LANGUAGES = ("en", "de", "pt-BR", "ja", "zh", "ar", "he", "hi", "th", "ko", "ru", "el")
# "Sentence N of M" in as many languages; they end as the hash judge splits.
WORDS = (
    "Sentence {} of {}.",
    "Satz {} von {}.",
    "Frase {} de {}.",
    "\u6587{}\u306e{}\u3002",
    "\u53e5{}\u5728{}\u3002",
    "\u062c\u0645\u0644\u0629 {} \u0645\u0646 {}.",
    "\u05de\u05e9\u05e4\u05d8 {} \u05de\u05ea\u05d5\u05da {}.",
    "\u0935\u093e\u0915\u094d\u092f {} {}\u0964",
    "\u0e1b\u0e23\u0e30\u0e42\u0e22\u0e04 {} \u0e02\u0e2d\u0e07 {}.",
    "\ubb38\uc7a5 {} \uc911 {}.",
    "\u0424\u0440\u0430\u0437\u0430 {} \u0438\u0437 {}.",
    "\u03a0\u03c1\u03cc\u03c4\u03b1\u03c3\u03b7 {} \u03b1\u03c0\u03cc {}.",
)
COUNT = 300
Capture = pytest.CaptureFixture[str]


def line(n: int, drop: float = 0.0) -> dict[str, Any]:
    """An answer of three claims, of which often all or none are in its passage; every twentieth refuses."""
    luck = share("truth", str(n))
    true = 3 if luck < 0.4 else 0 if luck < 0.7 else 1 + (luck < 0.85)
    true = 0 if share("drop", str(n)) < drop else true
    claims = [WORDS[n % 12].format(each, n) for each in range(3)]
    text = " ".join([*claims[:true], f"And there is more to say of {n}."])
    return {
        "query_id": f"q{n}",
        "topk": [{"chunk_id": f"d{n}", "text": text}],
        "answer": REFUSAL if n % 20 == 0 else " ".join(claims),
    }


def truth(item: Item, claim: str) -> str:
    return "supported" if claim.strip(" .\u3002\u0964") in item.passages[0] else "absent"


def label(sample: str, to: str, by: str, *, wrong: float = 0.0, of: Callable[[Item], bool] = lambda _: True) -> None:
    """All labels of a person who errs at a rate."""
    for item in filter(of, read_sample(sample)):
        asserts = item.answer != REFUSAL
        labels = [label_of(item, 0, "asserts" if asserts else "abstained", by)]
        for n, claim in enumerate(item.claims, start=1):
            word = truth(item, claim)
            other = "contradicted" if word == "supported" else "supported"
            labels.append(label_of(item, n, other if share(by, claim) < wrong else word, by))
        add_labels(to, labels)


def write_criteria(server: HashJudge, model: str = "hash-2026-01-01") -> None:
    Path("ship-criteria.yaml").write_text(CRITERIA.format(address=server.address, model=model), "utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HashJudge, Path]]:
    """A judged run of 300 answers in 12 languages and a sample of it."""
    root = tmp_path_factory.mktemp("project")
    with judging(se=0.95, sp=0.9) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("RANKGATE_JUDGE_KEY", KEY)
        patch.setattr(client, "pause", lambda *_: 0.0)
        gold = [
            {"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"d{n}"]}
            | {"metadata": {"tags": [f"lang:{LANGUAGES[n % 12]}"]}}
            for n in range(COUNT)
        ]
        write_lines("gold.jsonl", gold)
        write_lines("run.jsonl", [line(n) for n in range(COUNT)])
        shutil.copy("run.jsonl", "base.jsonl")
        write_criteria(server)
        assert main(["judge"]) == 0
        assert main(["judge", "sample"]) == 0
        label("sample.jsonl", "sample.labels.jsonl", "ana")
        label("sample.jsonl", "ben.jsonl", "ben", wrong=0.05)
        yield server, root


@pytest.fixture
def server(project: tuple[HashJudge, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HashJudge:
    shutil.copytree(project[1], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKGATE_JUDGE_KEY", KEY)
    monkeypatch.setattr(client, "pause", lambda *_: 0.0)
    project[0].se, project[0].sp = 0.95, 0.9
    return project[0]


def calibrated(capsys: Capture, *words: str) -> Any:
    return json.loads(printed(capsys, "calibrate", "sample.jsonl", *words, "--format", "json")[0])


def refused(capsys: Capture, *words: str) -> str:
    return printed(capsys, "calibrate", *(words or ("sample.jsonl",)), code=2)[1]


@pytest.mark.usefixtures("server")
def test_a_sheet_is_by_whom_its_name_says(capsys: Capture) -> None:
    """The sheet that was drawn, filled in, says what the file of labels says."""
    expected = calibrated(capsys, "sample.labels.jsonl")
    labels = {(each.key, each.n): each.verdict for each in read_labels("sample.labels.jsonl").values()}
    with Path("sample.csv").open(encoding="utf-8-sig", newline="") as file:
        head, *rows = csv.reader(file)
    for row in rows:
        row[6] = str(labels[row[7], int(row[1])]).upper()[: 2 if row[1] == "0" else 1]
    with Path("ana.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows([head, *rows])
    assert calibrated(capsys, "ana.csv") == expected
    assert calibrated(capsys, "ana.csv", "sample.labels.jsonl") == expected
    text = Path("ana.csv").read_text("utf-8")
    Path("ana.csv").write_text(text.replace(";S;", ";maybe;", 1), "utf-8")
    assert "verdict: expected supported, contradicted, absent or nothing" in refused(capsys, "sample.jsonl", "ana.csv")


@pytest.mark.usefixtures("server")
def test_a_calibrated_gate_blocks_a_true_drop(capsys: Capture) -> None:
    out, _ = printed(capsys, "calibrate", "sample.jsonl", "sample.labels.jsonl", "ben.jsonl")
    for words in (
        "200 of 200 answers labelled by ana, ben, who agree with kappa 0.",
        "faithfulness: floors and drops may block\n",
        "faithfulness in lang:pt-BR  ",
        "written: calibration.json\n",
    ):
        assert words in out
    assert "left to label" not in out
    assert "next: rankgate check\n" in out
    shutil.move("run.verdicts.jsonl", "elsewhere.jsonl")
    out, _ = printed(capsys, "calibrate", "sample.jsonl", "--verdicts", "elsewhere.jsonl")
    assert "next: rankgate check --verdicts elsewhere.jsonl\n" in out
    shutil.move("elsewhere.jsonl", "run.verdicts.jsonl")
    printed(capsys, "calibrate", "sample.jsonl", "sample.labels.jsonl", "ben.jsonl")
    found = read_calibration("calibration.json")
    assert found is not None
    of = found.metrics["faithfulness"]
    assert advisory(of, drop=True) is None
    assert of.sensitivity is not None
    assert of.specificity is not None
    assert of.value is not None
    assert of.slope is not None
    # Of ben's words 5 % are wrong, and of all half are ben's.
    assert of.sensitivity.value == pytest.approx(0.93, abs=0.05)
    assert of.specificity.value == pytest.approx(0.88, abs=0.05)
    assert of.slope.low < of.slope.value < of.sensitivity.value + of.specificity.value - 1 + 0.1
    people = [sum(truth_of(each)) / 3 for each in map(line, range(COUNT)) if each["answer"] != REFUSAL]
    assert of.value.value == pytest.approx(sum(people) / len(people), abs=0.04)
    assert len(of.values) == 285
    assert found.metrics["answered_rate"].value is not None
    assert found.metrics["answered_rate"].value.value == pytest.approx(0.95, abs=0.005)
    assert "abstained_rate" not in found.metrics
    write_lines("run.jsonl", [line(n, drop=0.2) for n in range(COUNT)])
    assert main(["judge"]) == 0
    capsys.readouterr()
    assert main(["check"]) == 1
    assert "faithfulness" in capsys.readouterr().out


def test_what_labels_give_beyond_all_answers_is_all_of_them() -> None:
    found = metric_found({"q": 1.0}, value=Powered(value=1.05, error=0.03, tuning=0.2, cumulant=0, unseen=0, n=40))
    assert _row("faithfulness", found)[-2:] == ("100.0% (95%: 98.9 to 100.0%)", "100.0%")


def truth_of(written: dict[str, Any]) -> list[bool]:
    claims = re.findall(r".+?[.\u3002\u0964]", written["answer"])
    return [claim.strip(" .\u3002\u0964") in written["topk"][0]["text"] for claim in claims]


@pytest.mark.usefixtures("server")
def test_the_file_follows_from_the_labels_alone(capsys: Capture) -> None:
    printed(capsys, "calibrate", "sample.jsonl", "sample.labels.jsonl", "ben.jsonl")
    before = Path("calibration.json").read_bytes()
    printed(capsys, "calibrate", "sample.jsonl", "ben.jsonl", "sample.labels.jsonl", "-o", "other.json")
    assert Path("other.json").read_bytes() == before
    text = Path("ben.jsonl").read_text("utf-8") + Path("sample.labels.jsonl").read_text("utf-8")
    Path("all.jsonl").write_text(text, "utf-8")
    printed(capsys, "calibrate", "sample.jsonl", "all.jsonl")
    assert Path("calibration.json").read_bytes() == before


def test_another_judge_is_asked_about_the_labelled_claims(server: HashJudge, capsys: Capture) -> None:
    write_criteria(server, "hash-2026-02-02")
    assert "of those to draw from; `rankgate judge --metric faithfulness --metric answered_rate`" in refused(capsys)
    original = server.judge

    def coarse(task: str, content: dict[str, list[str]], *, lying: bool = False) -> dict[str, Any]:
        """Another judge, who takes all of an answer for one claim."""
        whole = {"asserts": content.get("answer") != [REFUSAL], "claims": content.get("answer", [])}
        return whole | ({} if whole["asserts"] else {"claims": []}) if task == "split" else original(task, content)

    try:
        server.judge = coarse  # type: ignore[method-assign]
        assert main(["judge", "--metric", "faithfulness", "--metric", "answered_rate"]) == 0
        assert "about the labelled claims of 188 answers; `rankgate judge --sample sample.jsonl` asks" in refused(
            capsys
        )
        out, _ = printed(capsys, "--sample", "sample.jsonl")
        assert "for the labelled claims\n200 answers: 12 judged already, 188 to judge: 188 calls" in out
        assert "verdicts: sample.verdicts.jsonl\n" in out
    finally:
        server.judge = original  # type: ignore[method-assign]
    found = calibrated(capsys)["calibration"]
    assert found["model"] == "hash-2026-02-02"
    assert found["metrics"]["faithfulness"]["sensitivity"]["value"] == pytest.approx(0.95, abs=0.04)


def test_a_useless_judge_only_warns(server: HashJudge, capsys: Capture) -> None:
    server.se = server.sp = 0.5
    for name in ("run.verdicts.jsonl", *map(str, Path.cwd().glob("sample.*"))):
        Path(name).unlink()
    assert main(["judge"]) == 0
    assert main(["judge", "sample"]) == 0
    label("sample.jsonl", "sample.labels.jsonl", "ana")
    out, _ = printed(capsys, "calibrate", "sample.jsonl")
    assert "faithfulness: warns at most; the judge cannot tell right from wrong: it may see as little as 0%" in out
    assert "More labels will not help: fix the rule of labelling, or change the judge" in out
    write_lines("run.jsonl", [line(n, drop=0.5) for n in range(COUNT)])
    assert main(["judge"]) == 0
    assert main(["check"]) == 0


def test_unfinished_labels_do_not_count(server: HashJudge, capsys: Capture) -> None:
    Path("sample.labels.jsonl").unlink()
    assert "sample.labels.jsonl: is not there; `rankgate judge label` writes it" in refused(capsys)
    items = read_sample("sample.jsonl")
    asserting = next(item for item in items if item.claims)
    add_labels("sample.labels.jsonl", [label_of(asserting, 0, "asserts", "ana")])
    assert "nobody has labelled all of an answer yet" in refused(capsys)
    label("sample.jsonl", "sample.labels.jsonl", "ana", of=lambda item: item.answer == REFUSAL)
    first = (
        f"sample.jsonl: labels count in the order of the sample: label '{items[0].query_id}', for 12 labelled answers"
    )
    assert first in refused(capsys)
    Path("sample.labels.jsonl").unlink()
    label("sample.jsonl", "sample.labels.jsonl", "ana", of=[*items[:90], *items[95:100]].__contains__)
    out, _ = printed(capsys, "calibrate", "sample.jsonl")
    assert re.search(
        r"faithfulness: warns at most; people have labelled \d+ answers, of which \d+ have .*; 100 and 30 are needed",
        out,
    )
    skipped = (
        f"Labels count in the order of the sample: '{items[90].query_id}' is not labelled, so that 5 labelled answers"
    )
    assert skipped in out
    assert "105 answers of the sample left to label: `rankgate judge label` goes on" in out
    assert json.loads(printed(capsys, "calibrate", "sample.jsonl", "--format", "json")[0])["counted"] == 90
    found = read_calibration("calibration.json")
    assert found is not None
    assert found.agreement is None
    assert found.people == ("ana",)
    assert server.errors == []


BLOCKS = {
    "a flow": CRITERIA.replace(", calibration: {{file: calibration.json}}", ""),
    "a block": """\
# Ours.
inputs: {{gold: gold.jsonl, run: run.jsonl, baseline: base.jsonl}}
judge:   # asked at night

    endpoint: {address}   # ours
    model: {model}
    structured: json_schema
gates:
  - {{name: faithfulness, regression_max: 0.03, segments: [{{by: lang, regression_max: 0.5}}]}}  # blocks
  - {{name: answered_rate, regression_max: 0.05}}
""",
    "a flow of lines": """\
{{"judge": {{"endpoint": "{address}", "model": "{model}",
            "structured": "json_schema"
           }}, "inputs": {{"gold": "gold.jsonl", "run": "run.jsonl", "baseline": "base.jsonl"}},
 "gates": [{{"name": "faithfulness", "regression_max": 0.03}}, {{"name": "answered_rate", "regression_max": 0.05}}]}}
""",
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("block", BLOCKS)
def test_the_calibration_is_named_in_the_criteria_and_nothing_else_changes(
    block: str, newline: str, server: HashJudge, capsys: Capture
) -> None:
    criteria = Path("ship-criteria.yaml")
    before = BLOCKS[block].format(address=server.address, model="hash-2026-01-01").replace("\n", newline).encode()
    criteria.write_bytes(before)
    out, _ = printed(capsys, "calibrate", "sample.jsonl", "-o", "sub dir/c.json", "--write")
    assert "ship-criteria.yaml: names it now\ngates that may block now: faithfulness\n" in out
    after = criteria.read_bytes()
    entry = b'calibration: {file: "sub dir/c.json"}'
    added = [b", " + entry, entry + newline.encode() + b"    "]
    assert any(after.replace(each, b"", 1) == before for each in added if each in after)
    found = load_criteria("ship-criteria.yaml").judge
    assert found is not None
    assert found.calibration is not None
    assert found.calibration.file == "sub dir/c.json"


def test_the_calibration_is_named_only_with_write_and_once(server: HashJudge, capsys: Capture) -> None:
    criteria = Path("ship-criteria.yaml")
    before = BLOCKS["a block"].format(address=server.address, model="hash-2026-01-01").encode()
    criteria.write_bytes(before)
    out, _ = printed(capsys, "calibrate", "sample.jsonl", "-o", "sub dir/c.json")
    assert '(`--write` does): judge: {calibration: {file: "sub dir/c.json"}}' in out
    assert criteria.read_bytes() == before
    printed(capsys, "calibrate", "sample.jsonl", "-o", "sub dir/c.json", "--write")
    after = criteria.read_bytes()
    assert after != before
    printed(capsys, "calibrate", "sample.jsonl", "--write")
    assert criteria.read_bytes() == after, "it names one already"


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(None, id="nowhere to add it"),
        pytest.param("gates: [", id="no YAML"),
        pytest.param("gates: [{name: recall@5, threshold: 0.1}]\n", id="other criteria"),
    ],
)
def test_criteria_that_cannot_be_written_are_left_alone(
    after: str | None, server: HashJudge, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was computed is kept, and the line to add is printed."""
    criteria = Path("ship-criteria.yaml")
    criteria.write_text(BLOCKS["a block"].format(address=server.address, model="hash-2026-01-01"), "utf-8")
    before = criteria.read_bytes()
    monkeypatch.setattr(judge_calibrate, "with_entry", lambda *_: after)
    err = printed(capsys, "calibrate", "sample.jsonl", "-o", "c.json", "--write", code=2)[1]
    assert 'add this line to `judge:` yourself: calibration: {file: "c.json"}' in err
    assert criteria.read_bytes() == before
    assert read_calibration("c.json") is not None


@pytest.mark.usefixtures("server")
def test_options_count_before_and_after_the_name(capsys: Capture) -> None:
    known = ("--verdicts", "run.verdicts.jsonl", "--run", "base.jsonl", "-o", "c.json", "--format", "json")
    files = ("calibrate", "sample.jsonl")
    shown = []
    for words in ((*files, *known), ("calibrate", *known, "sample.jsonl"), (*known[4:], *files, *known[:4])):
        shown.append(json.loads(printed(capsys, *words)[0]))
        Path("c.json").unlink()
    assert shown[0] == shown[1] == shown[2]
    assert shown[0]["output"] == "c.json"
    printed(capsys, "-o", "s.jsonl", "--gold", "gold.jsonl", "sample")
    assert Path("s.jsonl").read_bytes() == Path("sample.jsonl").read_bytes()
    printed(capsys, "-o", "l.jsonl", "label", "s.jsonl", "--by", "ben", "--import", "none.csv", code=2)


@pytest.mark.usefixtures("server")
def test_labels_of_one_class(capsys: Capture) -> None:
    for item in read_sample("sample.jsonl"):
        labels = [label_of(item, 0, "asserts" if item.claims else "abstained", "eve")]
        add_labels(
            "eve.jsonl", [*labels, *(label_of(item, n, "supported", "eve") for n, _ in enumerate(item.claims, 1))]
        )
    found = calibrated(capsys, "eve.jsonl")
    of = found["calibration"]["metrics"]["faithfulness"]
    assert (of["rarer"], of["slope"], of["specificity"], of["kappa"]) == (0, None, None, 0.0)
    assert of["sensitivity"]["value"] < 0.9
    assert found["labels_needed"]["faithfulness"] is None
    assert main(["check"]) == 0


@pytest.mark.usefixtures("server")
def test_what_does_not_belong_together(capsys: Capture) -> None:
    other = read_sample("sample.jsonl")[0]
    stranger = Item(other.query_id, "Why?", "So.", (), ())
    add_labels("other.jsonl", [label_of(stranger, 0, "asserts", "ana")])
    assert "other.jsonl: key: has labels of other samples alone" in refused(capsys, "sample.jsonl", "other.jsonl")
    assert "nothing.jsonl: " in refused(capsys, "nothing.jsonl")
    for name in ("Ana", " ana ", "\uff41na"):
        Path("again.jsonl").unlink(missing_ok=True)
        label("sample.jsonl", "again.jsonl", name)
        assert f"has labels by {name!r}, and others are by 'ana'" in refused(
            capsys, "sample.jsonl", "sample.labels.jsonl", "again.jsonl"
        )
    label("sample.jsonl", "ana.jsonl", "ana", wrong=0.05)
    for files in (("sample.labels.jsonl", "ana.jsonl"), ("ana.jsonl", "sample.labels.jsonl")):
        assert re.search(
            r": verdict: 'ana' labelled claim \d of 'q\d+' differently", refused(capsys, "sample.jsonl", *files)
        )
    for name in ("other.jsonl", "sample.labels.jsonl", "sample.design.json", "ben.jsonl", "report.json"):
        Path("report.json").write_text('{"metrics": {}}')
        before = Path(name).read_bytes()
        assert f"{name}: exists, and is no calibration" in refused(capsys, "sample.jsonl", "-o", name)
        assert Path(name).read_bytes() == before
    design = json.loads(Path("sample.design.json").read_text("utf-8"))
    for change, told in (
        ({"sample": "0" * 64}, "sample.design.json: sample: is of another sample; take both files"),
        ({"sampled": 999}, "sampled: is not from 0 to the number of units"),
        ({"units": 3}, "sample.design.json: "),
        ({"more": 3}, "sample.design.json: "),
    ):
        Path("sample.design.json").write_text(json.dumps(design | change), "utf-8")
        assert told in refused(capsys)
    Path("sample.design.json").write_text("{", "utf-8")
    assert "sample.design.json" in refused(capsys)
    Path("sample.design.json").unlink()
    assert "sample.design.json" in refused(capsys)
    Path("sample.design.json").write_text(json.dumps(design), "utf-8")
    write_lines("run.jsonl", [line(n, drop=0.5) for n in range(COUNT)])
    assert main(["judge"]) == 0
    told = refused(capsys)
    assert re.search(r"run\.jsonl: answer: has another answer to 'q\d+' than was labelled; name the run", told)


@pytest.mark.usefixtures("server")
def test_hostile_texts_are_shown_harmlessly(capsys: Capture) -> None:
    hostile = "\x1b[2J\u202eevil\x07 ::error::x \u2028"
    write_lines("run.jsonl", [{**line(n), "answer": f"{line(n)['answer']} {hostile} {n}."} for n in range(COUNT)])
    assert main(["judge"]) == 0
    assert main(["judge", "sample", "-o", "h.jsonl"]) == 0
    for item in read_sample("h.jsonl"):
        words = ["asserts", *("supported" for _ in item.claims)]
        add_labels("h.labels.jsonl", [label_of(item, n, word, f"a{hostile}") for n, word in enumerate(words)])
    out, _ = printed(capsys, "calibrate", "h.jsonl")
    assert "evil" in out
    assert not {"\x1b", "\u202e", "\x07", "\u2028"} & set(out)
    assert not any(each.lstrip().startswith("::") for each in out.splitlines())


RUBRIC = "Ask us again."  # which the hash judge finds where the answer has it
RUBRIC_CRITERIA = """\
judge:
  endpoint: {address}
  model: hash-2026-01-01
  structured: json_schema
  rubrics: {{asks: {criterion}}}
inputs: {{gold: gold.jsonl, run: base.jsonl, baseline: base.jsonl}}
evidence: estimate
gates:
  - {{name: rubric(asks), regression_max: 0.05, severity: error}}
  - {{name: answered_rate, regression_max: 0.05, severity: warning}}
  - {{name: faithfulness, regression_max: 0.05, severity: warning}}
"""


def answers_with_criterion(name: str, rest: int) -> None:
    """Of 105 answers those meet the criterion whose number has another rest, by three, or is small."""
    lines = [line(n) for n in range(105)]
    for n, each in enumerate(lines):
        each["answer"] = f"Sentence {n}. {RUBRIC}" if n % 3 > rest else f"Sentence {n}."
        each["topk"] = [{"chunk_id": f"d{n}", "text": f"Sentence {n}. {RUBRIC}"}]
    write_lines(name, lines)


def test_labels_of_a_criterion_in_words_let_its_gate_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKGATE_JUDGE_KEY", KEY)
    write_lines(
        "gold.jsonl", [{"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"d{n}"]} for n in range(105)]
    )
    answers_with_criterion("base.jsonl", 0)
    answers_with_criterion("worse.jsonl", 1)
    check = ["check", "--run", "worse.jsonl", "-o", "report.json"]
    with judging() as server:
        criteria = RUBRIC_CRITERIA.format(address=server.address, criterion=RUBRIC)
        Path("ship-criteria.yaml").write_text(criteria, "utf-8")
        assert main(["judge", "--run", "worse.jsonl"]) == 0
        assert main(["judge"]) == 0
        assert main(["judge", "sample", "--n", "105"]) == 0
        assert main(check) == 0
        assert reason() == "file", "nobody has checked the judge"
        capsys.readouterr()
        for item in read_sample("sample.jsonl"):
            words = ["asserts", *("supported" for _ in item.claims), "yes" if RUBRIC in item.answer else "no"]
            add_labels("sample.labels.jsonl", [label_of(item, n, word, "ana") for n, word in enumerate(words)])
        assert main(["judge", "calibrate", "sample.jsonl", "--write"]) == 0
        out = capsys.readouterr().out
        assert re.search(r"rubric\(asks\) +105 \(35\) +100%", out), out
        assert "gates that may block now: rubric(asks)" in out
        assert main(check) == 1
        assert "rubric(asks) lost 33.3 points" in capsys.readouterr().out
        text = Path("ship-criteria.yaml").read_text("utf-8")
        Path("ship-criteria.yaml").write_text(text.replace(RUBRIC, "Ask us."), "utf-8")
        assert main(["judge", "--run", "worse.jsonl"]) == 0
        assert main(check) == 0
        assert reason() == "metric", "people have labelled another criterion"


def reason() -> str | None:
    """Why the first gate's judge does not count."""
    word: str | None = json.loads(Path("report.json").read_text("utf-8"))["gates"][0]["judge"]["reason"]
    return word
