"""The reporting job and the judge's key: whose answers it pays for, to whom the key goes, and what a fork cannot do."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests import repositories
from tests.forges.faults import Answer
from tests.judge.calibrated import always, calibrated
from tests.judge.hash_judge import KEY, HashJudge, judging, status

from rankgate.criteria.judge_block import KEY_VARIABLE
from rankgate.errors import RankgateError
from rankgate.forges.base_checkout import BaseCheckout
from rankgate.forges.runner import Pull
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Report
from rankgate.model.values import ReasonKind
from rankgate.renderers.github import conclusion_of

COUNT = 6
TEXT = """\
judge: {{endpoint: '{}', model: hash-2026-01-01, structured: json_schema, budget: {{fork_calls: {}}},
        calibration: {{file: calibration.json}}}}
evidence: estimate
gates:
  - {{name: recall@1, threshold: 0.9}}
  - {{name: faithfulness, threshold: 0.9, severity: error}}
  - {{name: answered_rate, threshold: 0.5, must_pass: [q1]}}
inputs: {{gold: gold.yaml}}
fork_runs: {}
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HashJudge]:
    """The base's judge; the current directory is the reporting job's checkout of the default branch."""
    repositories.git("init", "--quiet", "--bare", "--initial-branch=main", str(tmp_path / "origin.git"))
    repositories.git("init", "--quiet", "--initial-branch=main", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    repositories.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_of_the_job")
    Path("gold.yaml").write_text(
        "".join(f"- {{id: q{n}, input: 'Is it {n}?', expected_output: [d{n}]}}\n" for n in range(COUNT))
    )
    with judging() as found:
        base(found)
        yield found


def base(server: HashJudge, fork_calls: int = 100, fork_runs: str = "untrusted", branch: str = "main") -> None:
    Path("ship-criteria.yaml").write_text(TEXT.format(server.address, fork_calls, fork_runs))
    calibrated("ship-criteria.yaml", always(1.0, COUNT), "calibration.json")
    repositories.commit()
    repositories.git("push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}")


def run(wrong: int = 0, *, found: bool = True) -> bytes:
    lines: list[dict[str, Any]] = []
    for n in range(COUNT):
        items = [{"chunk_id": f"d{n if found else (n + 1) % COUNT}", "text": f"Article {n} costs {n} euros."}]
        answer = "It is a gift." if n < wrong else f"Article {n} costs {n} euros."
        lines.append({"query_id": f"q{n}", "topk": items, "answer": answer, "verdicts": [{"verdict": "supported"}]})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def fork(base_ref: str = "main") -> Pull:
    return Pull(number=1, head_sha="a" * 40, base_ref=base_ref, base_sha="b" * 40, head_repository=2, from_fork=True)


def report_on(pull: Pull, answers: bytes, tmp_path: Path, *, own: bool = False, accepted: bool = False) -> Report:
    at_base = BaseCheckout(repository=Path.cwd(), date="2026-01-31", store=tmp_path / "store" / "verdicts.jsonl")
    based = at_base.at_tip(pull)
    return at_base.judge(based, answers, head=at_base.merged(based) if own else None, accepted=accepted)


def gates(report: Report) -> dict[str, GateResult]:
    return {gate.name: gate for gate in report.gates}


def verdicts(report: Report) -> dict[str, str]:
    return {gate.name: gate.verdict.value for gate in report.gates}


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("fork_runs", ["untrusted", "trusted"])
def test_before_the_label_nobody_is_asked_the_ranking_decides_and_the_check_asks_for_a_maintainer(
    fork_runs: str, server: HashJudge, tmp_path: Path
) -> None:
    """Also where the rankings of all forks are trusted: that costs nothing."""
    base(server, fork_runs=fork_runs)
    report = report_on(fork(), run(), tmp_path)
    assert server.keys == []
    assert verdicts(report) == {"recall@1": "pass", "faithfulness": "warn", "answered_rate": "warn"}
    kinds = {
        reason.kind for name in ("faithfulness", "answered_rate") for reason in gates(report)[name].decision.reasons
    }
    assert kinds == {ReasonKind.AWAITS_LABEL}
    assert conclusion_of(report) == "action_required"
    worse = report_on(fork(), run(found=False), tmp_path)
    assert (worse.verdict.value, conclusion_of(worse)) == ("fail", "failure")


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
def test_after_the_label_its_answers_are_judged_once_and_with_the_key(server: HashJudge, tmp_path: Path) -> None:
    report = report_on(fork(), run(), tmp_path, accepted=True)
    assert (report.verdict.value, gates(report)["faithfulness"].measured.value) == ("pass", 1.0)
    assert len(server.requests) == 2 * COUNT
    assert set(server.keys) == {f"Bearer {KEY}"}
    again = report_on(fork(), run(wrong=3), tmp_path, accepted=True)
    assert (again.verdict.value, gates(again)["faithfulness"].measured.value) == ("fail", 0.5)
    assert len(server.requests) == 2 * COUNT + 2 * 3, "only what is new"


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("calls", [0, 5])
def test_a_fork_costs_what_the_base_allows_and_retrieval_is_judged_all_the_same(
    calls: int, server: HashJudge, tmp_path: Path
) -> None:
    base(server, fork_calls=calls)
    report = report_on(fork(), run(), tmp_path, accepted=True)
    assert len(server.requests) == calls
    assert (report.verdict.value, verdicts(report)["recall@1"]) == ("not_judged", "pass")
    assert any("judge.budget.fork_calls: is reached" in note for note in report.remarks.notes)


@pytest.mark.full
@pytest.mark.parametrize("fault", [status(401), status(500)], ids=["no key", "down"])
def test_a_judge_that_cannot_be_asked_is_named_and_retrieval_is_judged(
    fault: Answer, server: HashJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankgate.forges.base_checkout.MAX_JUDGING", 4.0)  # it waits between its tries
    server.always = fault
    report = report_on(fork(), run(), tmp_path, accepted=True)
    assert (report.verdict.value, verdicts(report)["recall@1"]) == ("not_judged", "pass")
    assert any(note.startswith("Not all answers were judged: `") for note in report.remarks.notes)
    assert KEY not in str(report)


@pytest.mark.usefixtures("in_process")
def test_the_key_follows_no_redirect(server: HashJudge, tmp_path: Path) -> None:
    with judging() as elsewhere:
        server.always = Answer(307, {"Location": f"{elsewhere.address}/chat/completions"})
        report = report_on(fork(), run(), tmp_path, accepted=True)
        assert elsewhere.keys == []
    assert any("leads elsewhere" in note for note in report.remarks.notes)


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("own", [False, True], ids=["a fork's", "a writer's"])
def test_the_key_goes_to_no_endpoint_that_only_another_branch_names(
    own: bool,  # noqa: FBT001 -- a table's column
    server: HashJudge,
    tmp_path: Path,
) -> None:
    """Whoever can push makes a base of his own, and a pull request to it."""
    with judging(lambda *_: 1) as evil:
        base(evil, branch="evil")
        head = repositories.git("rev-parse", "HEAD")
        base(server)
        pull = replace(fork("evil"), head_sha=head, from_fork=not own)
        report = report_on(pull, run(), tmp_path, own=own, accepted=not own)
        assert (evil.keys, server.keys) == ([], [])
    sent = "is not that of the default branch, to which alone the key is sent"
    assert any(sent in note for note in report.remarks.notes)
    assert verdicts(report) == {"recall@1": "pass", "faithfulness": "not_judged", "answered_rate": "not_judged"}


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
def test_a_writers_pull_request_is_judged_by_the_bases_judge_within_its_whole_budget(
    server: HashJudge, tmp_path: Path
) -> None:
    base(server, fork_calls=0)
    repositories.git("switch", "--quiet", "--create", "change")
    with judging(lambda *_: 1) as evil:
        Path("ship-criteria.yaml").write_text(TEXT.format(evil.address, 1000, "trusted"))
        head = repositories.sha_of_commit()
        repositories.git("switch", "--quiet", "main")
        pull = replace(fork(), head_sha=head, from_fork=False)
        report = report_on(pull, run(wrong=3), tmp_path, own=True)
        assert evil.keys == []
    assert len(server.requests) == 2 * COUNT
    assert (report.verdict.value, gates(report)["faithfulness"].measured.value) == ("fail", 0.5)


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
def test_prompts_of_the_base_are_used(server: HashJudge, tmp_path: Path) -> None:
    Path("prompts").mkdir()
    Path("prompts/split.j2").write_text("Say which claims there are. PROMPT OF THE BASE")
    text = Path("ship-criteria.yaml").read_text().replace("json_schema,", "json_schema, prompts: prompts,")
    base(server)
    Path("ship-criteria.yaml").write_text(text)
    repositories.commit()
    repositories.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    report = report_on(fork(), run(), tmp_path, accepted=True)
    assert report.verdict.value == "pass"
    assert any("PROMPT OF THE BASE" in body["messages"][0]["content"] for body in server.requests)


@pytest.mark.full
@pytest.mark.usefixtures("in_process")
def test_verdicts_in_the_checkout_and_in_the_run_count_for_nothing(server: HashJudge, tmp_path: Path) -> None:
    """What was committed beside the run's name, or in the recorded lines."""
    report_on(fork(), run(), tmp_path, accepted=True)
    said = (tmp_path / "store" / "verdicts.jsonl").read_bytes()
    Path("run.verdicts.jsonl").write_bytes(said.replace(b'"absent"', b'"supported"'))
    base(server)
    asked = len(server.requests)
    report = report_on(fork(), run(wrong=COUNT), tmp_path / "a new runner", accepted=True)
    assert (report.verdict.value, gates(report)["faithfulness"].measured.value) == ("fail", 0.0)
    assert len(server.requests) == asked + 2 * COUNT


@pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a shell script")
def test_the_process_that_judges_has_the_judges_key_and_no_token_and_the_check_neither(
    server: HashJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = tmp_path / "python"
    interpreter.write_text(f'#!/bin/sh\nenv > "{tmp_path}/seen-$4"\n')
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setenv("RANKGATE_TOKEN", "ghs_of_the_app")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of a bucket")
    with pytest.raises(RankgateError, match="left no report"):
        report_on(fork(), run(), tmp_path, accepted=True)
    judge, check = ((tmp_path / f"seen-{command}").read_text() for command in ("judge", "check"))
    assert f"{KEY_VARIABLE}={KEY}\n" in judge
    assert KEY_VARIABLE not in check
    for secret in (os.environ["GITHUB_TOKEN"], "ghs_of_the_app", "of a bucket"):
        assert secret not in judge + check
