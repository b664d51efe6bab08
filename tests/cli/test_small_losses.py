"""Losses that were accepted one by one and add up since the anchor, on every kind of store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from tests.repositories import commit, git

from rankgate.baselines.base import Where
from rankgate.baselines.directory import directory_store
from rankgate.baselines.stores import copied, remote_memory
from rankgate.cli import main
from rankgate.model.lineage import AnchorMark

Capture = pytest.CaptureFixture[str]
QUESTIONS = 300
CRITERIA = """\
evidence: proven_harm
gates:
  - {name: recall@1, threshold: 0.2, regression_max: 0.03}
inputs: {gold: gold.jsonl, run: run.jsonl, baseline: baseline}
"""
KINDS = [
    pytest.param("baseline", id="a directory"),
    pytest.param("git+branch:kept", id="a branch"),
    pytest.param("file://{here}/bucket", id="a bucket"),
]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    Path("ship-criteria.yaml").write_text(CRITERIA)
    ask(range(QUESTIONS))
    return tmp_path


def ask(numbers: Sequence[int]) -> None:
    """The gold set asks these questions."""
    lines = (json.dumps({"id": f"q{n:04}", "expected_output": [f"d{n}"]}) for n in numbers)
    Path("gold.jsonl").write_text("".join(f"{line}\n" for line in lines))


def lose(count: int, numbers: Sequence[int] = range(QUESTIONS)) -> None:
    """The run misses the first so many of these questions; one that it finds is worth a third of a point."""
    lists = ((n, f"d{n}" if place >= count else f"x{n}") for place, n in enumerate(numbers))
    lines = (json.dumps({"query_id": f"q{n:04}", "retrieved": [found, f"y{n}"]}) for n, found in lists)
    Path("run.jsonl").write_text("".join(f"{line}\n" for line in lines))


def accept(count: int, day: int, *words: str, store: str = "baseline") -> int:
    lose(count)
    date = ["--date", f"2026-01-{day:02}"]
    return main(["baseline", "accept", "--baseline", store, "--commit", "none", *date, *words])


def check(
    count: int, *words: str, store: str = "baseline", numbers: Sequence[int] = range(QUESTIONS)
) -> dict[str, Any]:
    lose(count, numbers)
    main(["check", "--baseline", store, "--date", "2026-01-31", "-o", "report.json", *words])
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


def records(folder: str = "baseline") -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(Path(folder, "accepted").iterdir())]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.full
def test_three_losses_are_said_once_and_again_when_they_have_grown(kind: str, project: Path, capsys: Capture) -> None:
    store = kind.format(here=project)
    for day, count in enumerate((0, 6, 12), start=1):
        assert accept(count, day, store=store) == 0
    report = check(18, store=store)
    assert report["verdict"] == "warn"
    said = "6.0 points of recall@1 were given up since 2026-01-01: 2.0 by this run, the rest in 2 accepted steps."
    assert report["summary"] == said
    (loss,) = report["given_up"]
    assert (loss["before"], loss["now"], loss["n"], loss["limit"]) == (1.0, 0.94, 300, -0.03)
    assert report["conclusion"]["kind"] == "given_up"
    assert report["conclusion"]["next"][:4] == ["rankgate", "compare", loss["anchor"], "run.jsonl"]
    assert main(report["conclusion"]["next"][1:]) == 0, "what it says to type works"
    assert main(["check", "--baseline", store, "--date", "2026-01-31"]) == 0
    assert main(["check", "--baseline", store, "--date", "2026-01-31", "--fail-on", "warn"]) == 1

    capsys.readouterr()
    assert accept(18, 4, store=store) == 0
    assert f"noted: {said.removesuffix('.')}\n" in capsys.readouterr().out
    assert [check(count, store=store)["verdict"] for count in (18, 24)] == ["pass", "pass"]
    assert accept(24, 5, store=store) == 0
    again = check(28, store=store)
    grown = "9.3 points of recall@1 were given up since 2026-01-01: 1.3 by this run, the rest in 4 accepted steps."
    assert again["summary"] == grown


@pytest.mark.parametrize(
    ("accepted", "count", "told"),
    [
        pytest.param((0, 0), 30, 0, id="the run alone, of a step without a loss"),
        pytest.param((6, 0), 30, 0, id="the run alone, after a step that gained"),
        pytest.param((0, 6), 30, 1, id="a step had a part in it"),
    ],
)
def test_what_the_run_alone_lost_was_given_up_in_no_step(accepted: tuple[int, ...], count: int, told: int) -> None:
    for day, lost in enumerate(accepted, start=1):
        assert accept(lost, day) == 0
    report = check(count)
    assert (report["verdict"], len(report["given_up"])) == ("fail", told)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.full
def test_the_anchor_moves_for_a_reason_and_is_never_pruned(kind: str, project: Path, capsys: Capture) -> None:
    store = kind.format(here=project)
    for day, count in enumerate((0, 6, 12), start=1):
        accept(count, day, store=store)
    assert main(["baseline", "prune", "--baseline", store, "--log", "accepted", "--keep", "1", "--yes"]) == 0
    assert check(18, store=store)["conclusion"]["kind"] == "given_up"
    capsys.readouterr()
    assert accept(18, 4, "--new-anchor", store=store) == 2
    assert "--new-anchor needs --reason TEXT" in capsys.readouterr().err
    assert accept(18, 4, "--new-anchor", "--reason", "a cheaper index", store=store) == 0
    told = capsys.readouterr().out
    assert "small losses add up from this run on\nallowed: reason given: a cheaper index" in told
    assert [check(count, store=store)["verdict"] for count in (18, 26)] == ["pass", "pass"]
    accept(24, 5, store=store)
    accept(30, 6, store=store)
    late = check(36, store=store)
    said = "6.0 points of recall@1 were given up since 2026-01-04: 2.0 by this run, the rest in 2 accepted steps."
    assert late["summary"] == said
    main(["baseline", "verify", "--baseline", store])
    assert "all whole" in capsys.readouterr().out


def without_its_record() -> None:
    Path("baseline/accepted/00000001.json").unlink()


def without_its_run() -> None:
    Path("baseline/rankings", records()[0]["run"]).unlink()


@pytest.mark.full
@pytest.mark.parametrize(
    ("damage", "why"),
    [
        pytest.param(without_its_record, "is no longer in the log of acceptances", id="its record"),
        pytest.param(without_its_run, "is not there any more, or cannot be read", id="its run"),
    ],
)
def test_an_anchor_that_is_gone_is_named_and_none_takes_its_place(damage: Any, why: str) -> None:
    for day, count in enumerate((0, 6, 12), start=1):
        accept(count, day)
    anchor = records()[-1]["anchor"]["id"]
    damage()
    report = check(18)
    assert (report["verdict"], report["given_up"]) == ("warn", [])
    advice = "restore it, or accept the next run with --new-anchor --reason TEXT"
    assert report["warnings"] == [
        f"the run accepted on 2026-01-01 ({anchor}), from which small losses add up, {why}; {advice}"
    ]
    accept(18, 4)
    assert check(18)["verdict"] == "warn", "an acceptance does not hide it"
    accept(18, 5, "--new-anchor", "--reason", "the log was cut")
    assert check(18)["verdict"] == "pass"


@pytest.mark.full
def test_where_fewer_than_half_of_its_questions_are_asked_the_next_oldest_is_the_anchor() -> None:
    numbers = range(200, 500)
    accept(0, 1)
    for day, count in ((2, 0), (3, 6), (4, 12)):
        ask(numbers)
        lose(count, numbers)
        words = ["--commit", "none", "--date", f"2026-01-{day:02}", "--reason", "other questions"]
        assert main(["baseline", "accept", "--baseline", "git+branch:kept", *words]) == 0
        assert main(["baseline", "accept", *words]) == 0
    assert records()[1]["anchor"]["date"] == "2026-01-01"
    report = check(18, numbers=numbers)
    assert report["conclusion"]["kind"] == "given_up"
    assert report["given_up"][0]["since"] == "2026-01-02"


def test_an_anchor_of_other_ids_is_named() -> None:
    accept(0, 1)
    gold = Path("gold.jsonl")
    gold.write_text(gold.read_text().replace('["d', '["new'))
    lose(0)
    Path("run.jsonl").write_text(Path("run.jsonl").read_text().replace('"d', '"new'))
    date = ["--date", "2026-01-02", "--reason", "chunked anew"]
    assert main(["baseline", "accept", "--commit", "none", *date]) == 0
    main(["check", "--date", "2026-01-31", "-o", "report.json"])
    assert "has other document ids than the gold set" in json.loads(Path("report.json").read_text())["summary"]


@pytest.mark.full
def test_nothing_is_scored_beside_where_nothing_can_have_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one acceptance, or where the accepted run has the anchor's rankings."""
    from rankgate.gates import anchor

    monkeypatch.setattr(anchor, "scored_as_baseline", None)
    accept(0, 1)
    assert check(12)["given_up"] == []
    accept(0, 2)
    assert check(12)["given_up"] == []


@pytest.mark.full
def test_what_a_judging_job_reads_has_the_anchor_and_its_steps(project: Path) -> None:
    bucket = f"file://{project}/bucket"
    for day, count in enumerate((0, 3, 6, 12), start=1):
        accept(count, day, store=bucket)
    copied(remote_memory(bucket), "copy", Where(date="2026-01-31"))
    log = directory_store("copy").memory.read("accepted")
    assert [each.anchor for each in log] == [UNSET, AnchorMark(id=log[0].id, date="2026-01-01", steps=3)]
    assert all(map(directory_store("copy").memory.keeps, log))


# With a base


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        pytest.param((), None, id="an acceptance more"),
        pytest.param(
            ("--new-anchor", "--reason", "start anew"),
            "the pull request moves the anchor: small losses add up from the run accepted on 2026-01-01, and would no "
            "longer", id="the anchor moved",
        ),
        pytest.param(
            (), "the pull request changes or removes acceptances that the base has, whose log only grows",
            id="a record taken out",
        ),
    ],
)  # fmt: skip
@pytest.mark.full
def test_a_pull_request_must_not_move_the_anchor(words: Sequence[str], stated: str | None) -> None:
    for day, count in enumerate((0, 6, 12), start=1):
        accept(count, day)
    commit()
    git("switch", "-q", "-c", "change")
    accept(18, 4, *words)
    removed = stated is not None and "removes" in stated
    if removed:
        without_its_record()
    commit()
    report = check(18, "--base", "main")
    assert report["given_up"][0]["since"] == "2026-01-01", "the base's decides"
    told = [text for text in [*report["warnings"], *report["failures"]] if "anchor" in text or "log" in text]
    assert [text.partition(";")[0] for text in told] == ([stated] if stated else [])
    assert report["verdict"] == ("fail" if removed else "warn")
