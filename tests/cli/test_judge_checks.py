"""`rankgate judge drift` and `judge compare` as they are typed, against a judge that moves, errs and fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_judge import write_gold, write_run
from tests.judge.hash_judge import KEY, HashJudge, judging, share, stated, status

from rankgate.cli import main
from rankgate.judge import client

CRITERIA = """\
judge: {{endpoint: {address}, model: hash-2026-01-01, structured: json_schema{more}}}
inputs: {{gold: gold.jsonl, run: run.jsonl{baseline}}}
gates: [{{name: faithfulness, threshold: 0.9}}, {{name: answered_rate, regression_max: 0.05}}]
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HashJudge]:
    """A run of 220 questions that a judge has judged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKGATE_JUDGE_KEY", KEY)
    monkeypatch.setattr(client, "pause", lambda *_: 0.0)
    write_gold(220)
    write_run("run.jsonl", 220)
    with judging() as found:
        criteria(found)
        assert main(["judge"]) == 0
        found.requests.clear()
        yield found


def criteria(server: HashJudge, more: str = "", baseline: str = "", to: str = "ship-criteria.yaml") -> None:
    Path(to).write_text(CRITERIA.format(address=server.address, more=more, baseline=baseline), "utf-8")


def said(capsys: Capture, *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["judge", *words]) == code
    out, err = capsys.readouterr()
    return re.sub(r"\b[0-9a-f]{8}\b", "JUDGE", out + err)


def drift(capsys: Capture, *words: str, code: int = 0) -> Any:
    return json.loads(said(capsys, "drift", "--format", "json", *words, code=code))


def wrong(part: float, what: str = "") -> Any:
    """A truth that is denied of a part of the statements."""
    return lambda statement, passages: 0 if share(what, statement) < part else stated(statement, passages)


# Drift


def test_a_judge_that_says_the_same_has_not_drifted(server: HashJudge, capsys: Capture) -> None:
    before = Path("run.verdicts.jsonl").read_bytes()
    assert said(capsys, "drift") == (
        "judge JUDGE (hash-2026-01-01): 200 calls, about 0.2 M tokens, and one more for each verdict that differs\n"
        "not seen: 0 of 200 verdicts differ\n"
        "At 99% it is excluded that more than 2.3% of the verdicts changed.\n"
        "200 calls, 22,000 tokens\n"
    )
    assert len(server.requests) == 200
    assert Path("run.verdicts.jsonl").read_bytes() == before


def test_a_judge_that_moved_has_drifted_and_what_answers_is_named(server: HashJudge, capsys: Capture) -> None:
    before = Path("run.verdicts.jsonl").read_bytes()
    server.truth, server.served = wrong(0.1), "hash-judge-2"
    found = said(capsys, "drift", code=1)
    [n] = set(re.findall(r"drifted: (\d+) of 200 verdicts differ \((?:\1) stricter, 0 kinder\)", found))
    assert f"by a third verdict {n} changed and 0 are noise\n" in found
    assert "served before by hash-judge-1 fp_hash-judge-1; now by hash-judge-2 fp_hash-judge-2\n" in found
    assert len(server.requests) == 200 + int(n)
    assert Path("run.verdicts.jsonl").read_bytes() == before


def test_a_judge_with_another_name_that_says_the_same_is_named(server: HashJudge, capsys: Capture) -> None:
    server.served = "hash-judge-2"
    assert "served before by hash-judge-1 fp_hash-judge-1; now by hash-judge-2" in said(capsys, "drift")


def test_a_judge_that_is_as_noisy_as_before_has_not_drifted(server: HashJudge, capsys: Capture) -> None:
    """It errs by the hash of the statement and of how often it was asked."""
    asked = [0]

    def noisy(statement: str, passages: list[str]) -> int:
        asked[0] += 1
        return 0 if share(statement, str(asked[0])) < 0.5 else stated(statement, passages)

    server.truth = noisy
    Path("run.verdicts.jsonl").unlink()
    assert main(["judge", "--store", "other.sqlite", "--workers", "1"]) == 0
    found = drift(capsys, "--workers", "1")
    assert found["verdict"] == "not_seen"
    assert min(found["drift"][name] for name in ("differ", "changed", "noise", "fell", "rose")) > 25


def test_repeats_save_the_third_question(server: HashJudge, capsys: Capture) -> None:
    criteria(server, more=", repeats: 2")
    assert main(["judge"]) == 0
    server.requests.clear()
    server.truth = wrong(0.1)
    found = drift(capsys, code=1)
    assert len(server.requests) == found["calls"] == 200
    assert found["drift"]["changed"] == found["drift"]["differ"] > 8
    assert found["drift"]["noise"] == 0


def test_the_baseline_alone_is_enough_and_splits_fill_up(server: HashJudge, capsys: Capture) -> None:
    write_gold(120)
    write_run("run.jsonl", 120)
    assert main(["baseline", "accept", "--to", "baseline", "--date", "2026-01-01"]) == 0
    criteria(server, baseline=", baseline: baseline")
    Path("run.jsonl").unlink()
    Path("run.verdicts.jsonl").unlink()
    assert drift(capsys)["drift"]["compared"] == 200
    assert (len(server.questions("entail")), len(server.questions("split"))) == (120, 80)


def test_a_dry_run_asks_nothing(server: HashJudge, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKGATE_JUDGE_KEY")
    assert drift(capsys, "--dry-run", "--n", "220")["plan"]["calls"] == 220
    assert "220 calls" in said(capsys, "drift", "--dry-run", "--n", "220")
    assert server.requests == []


def test_too_few_verdicts_cannot_tell(server: HashJudge, capsys: Capture) -> None:
    write_run("run.jsonl", 90)
    found = said(capsys, "drift", code=2)
    assert "there are 180 verdicts by judge JUDGE on the run and the baseline; whether it drifted shows in 200" in found
    criteria(server, more=", parameters: {max_tokens: 7}")
    assert "there are 0 verdicts by judge JUDGE" in said(capsys, "drift", code=2)
    assert "'199' is not a number from 200" in said(capsys, "drift", "--n", "199", code=2)
    assert server.requests == []


@pytest.mark.parametrize(
    ("fault", "message", "code"),
    [
        ("text:nothing", "not judged: 200 of 200 questions got no usable verdict now; at most 5% may\n", 2),
        (status(503), "answered 503 again and again; wait until it works. Nothing is known of a drift\n", 2),
        (status(401), "RANKGATE_JUDGE_KEY: the endpoint answered 401", 2),
    ],
    ids=["unusable", "down", "refused"],
)
def test_a_judge_that_fails_is_not_judged(
    server: HashJudge, capsys: Capture, fault: Any, message: str, code: int
) -> None:
    server.always = fault
    assert message in said(capsys, "drift", code=code)


def test_the_budget_holds(server: HashJudge, capsys: Capture) -> None:
    criteria(server, more=", budget: {calls: 150}")
    assert "judge.budget.calls: is reached, after 150 calls" in said(capsys, "drift", code=2)
    assert len(server.requests) == 150


# Two judges


def test_two_judges_on_the_same_answers(server: HashJudge, capsys: Capture) -> None:
    """Of 220 claims, one an answer, B denies those that the hash chooses; faithfulness is as much lower."""
    server.truth = wrong(0.1)
    denied = sum(share("", f"Fact {n} is that the thing holds.") < 0.1 for n in range(220))
    criteria(server, more=", parameters: {max_tokens: 7}", to="other.yaml")
    assert main(["judge", "--criteria", "other.yaml", "-o", "other.jsonl"]) == 0
    server.requests.clear()
    found = said(capsys, "compare", "run.verdicts.jsonl", "other.jsonl")
    percent = 100 * denied / 220
    assert found.startswith("A: judge JUDGE (hash-judge-1), run.verdicts.jsonl\nB: judge JUDGE (hash-judge-1), other.")
    same = f"{100 - percent:.1f}%"
    assert re.search(rf"faithfulness +220 +{same} +100.0% +{same} +−{percent:.1f} pp +−\S+ pp to −\S+ pp\n", found)
    assert f"\n220 claims that both have, word for word: the same verdict on {same}, kappa 0.00\n" in found
    assert len(re.findall(r"\n  q\d+, on the context: A supported, B absent: Fact \d+ is that", found)) == 5
    assert server.requests == []
    told = json.loads(said(capsys, "compare", "--format", "json", "run.verdicts.jsonl", "other.jsonl"))
    assert (told["answers"], told["left"], told["claims"], told["kappa"]) == (220, 0, 220, pytest.approx(0))
    assert told["a"]["model"] == told["b"]["model"] == "hash-judge-1"
    faithfulness = next(each for each in told["metrics"] if each["metric"] == "faithfulness")
    assert faithfulness["b"] == pytest.approx(1 - denied / 220)
    assert faithfulness["ci"][0] < faithfulness["change"] < faithfulness["ci"][1] < 0
    assert len(told["disagreements"]) == denied
    assert told["disagreements"][0].items() >= {"a": "supported", "b": "absent"}.items()


def test_what_one_of_two_judges_lacks_is_counted_and_none_is_refused(server: HashJudge, capsys: Capture) -> None:
    kept = [line for line in Path("run.verdicts.jsonl").read_text("utf-8").splitlines() if '"entail"' in line][:5]
    splits = [line for line in Path("run.verdicts.jsonl").read_text("utf-8").splitlines() if '"split"' in line]
    Path("few.jsonl").write_text("\n".join([*kept, *splits]) + "\n", "utf-8")
    found = said(capsys, "compare", "run.verdicts.jsonl", "few.jsonl")
    assert "5 answers judged by both; 215 more lack verdicts of A or B\n" in found
    Path("none.jsonl").write_text("", "utf-8")
    for name in ("none.jsonl", "missing.jsonl"):
        assert "`rankgate judge --criteria OTHER.yaml -o FILE`" in said(
            capsys, "compare", "run.verdicts.jsonl", name, code=2
        )


def test_verdicts_that_the_baseline_keeps_count_for_either_judge(server: HashJudge, capsys: Capture) -> None:
    """And where two judges agree on all answers, their difference may still be as large as the unseen allow."""
    assert main(["baseline", "accept", "--date", "2026-01-31", "--baseline", "accepted"]) == 0
    kept = Path("run.verdicts.jsonl").read_text("utf-8").splitlines()
    Path("half.jsonl").write_text("".join(f"{each}\n" for each in kept[::2]), "utf-8")
    told = said(capsys, "compare", "--baseline", "accepted", "half.jsonl", "run.verdicts.jsonl", "--format", "json")
    found = json.loads(told)
    assert (found["answers"], found["left"]) == (220, 0)
    for each in found["metrics"]:
        reach = 1 - 0.025 ** (1 / each["answers"])
        assert each["ci"] == pytest.approx([-reach, reach], rel=0.3)


# Repeats


def test_the_noise_of_a_judge_is_said_where_it_repeats(server: HashJudge, capsys: Capture) -> None:
    asked: dict[str, int] = {}

    def noisy(statement: str, passages: list[str]) -> int:
        asked[statement] = asked.get(statement, 0) + 1
        return 0 if share(statement, str(asked[statement])) < 0.5 else stated(statement, passages)

    server.truth = noisy
    Path("run.verdicts.jsonl").unlink()
    criteria(server, more=", repeats: 3")
    found = said(capsys, "--store", "other.sqlite", "--workers", "1")
    share_of = re.search(r"faithfulness: (\d+)% of the variance over answers is the judge's own noise; without", found)
    assert share_of
    assert int(share_of[1]) > 80  # all that answers differ by
    assert "answered_rate:" not in found  # always 1
