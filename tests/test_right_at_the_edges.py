"""Gates where intervals end: few clusters, quantiles without a bound, values that did not move, whole runs that do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main

Report = dict[str, Any]
Line = Mapping[str, Any]
Check = Callable[..., Report]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Judges runs of these lines, one a question, and gives the report."""
    monkeypatch.chdir(tmp_path)

    def checked(gates: str, gold: Sequence[Line], before: Sequence[Line], now: Sequence[Line]) -> Report:
        Path("ship-criteria.yaml").write_text(f"evidence: proven_harm\ngates:\n{gates}", encoding="utf-8")
        named = [
            {"id": f"q{row}", "expected_output": ["a"], **line, "metadata": line.get("metadata", {})}
            for row, line in enumerate(gold)
        ]
        runs = [
            [{"query_id": f"q{row}", "topk": ["a"], **line} for row, line in enumerate(run)] for run in (before, now)
        ]
        for name, lines in (("gold", named), ("before", runs[0]), ("now", runs[1])):
            Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        sides = ["--gold", "gold.jsonl", "--baseline", "before.jsonl", "--run", "now.jsonl"]
        code = main(["check", *sides, "-o", "report.json", "--date", "2026-01-31"])
        report: Report = json.loads(Path("report.json").read_text(encoding="utf-8"))
        assert code == {"pass": 0, "warn": 0, "fail": 1, "not_judged": 2}[report["verdict"]]
        return report

    return checked


def talks(sizes: Sequence[int], tags: Sequence[str] = ()) -> list[Line]:
    """Questions in conversations of these sizes."""
    return [
        {"metadata": {"cluster": f"talk {talk}", "tags": list(tags)}}
        for talk, size in enumerate(sizes)
        for _ in range(size)
    ]


LOST: Line = {"topk": ["b"]}
FOUND: Line = {"topk": ["a"]}
RECALL = "  - {name: recall@5, regression_max: 0.03}\n"
BY_LANGUAGE = "  - {name: recall@5, regression_max: 1, segments: {by: lang, regression_max: 0.03, min_queries: 30}}\n"


@pytest.mark.parametrize(
    ("lost", "verdict", "state"),
    [
        pytest.param([30] * 9, "fail", "clear", id="all 270 questions of nine conversations"),
        pytest.param([30] * 6 + [0] * 3, "fail", "clear", id="six of nine conversations"),
        pytest.param([30] * 5 + [0] * 4, "warn", "no_interval", id="five of nine: 1 in 32 is no proof"),
        pytest.param([30] * 6, "fail", "clear", id="all of six"),
        pytest.param([30] * 5, "warn", "no_interval", id="all of five: nothing can be proven of five"),
        pytest.param([30], "warn", "no_interval", id="one conversation"),
        pytest.param([1] * 9 + [0] * 20, "fail", "clear", id="one question in each of nine of 29"),
        pytest.param([0] * 9, "pass", "clear", id="nothing"),
    ],
)
def test_what_few_conversations_prove(check: Check, lost: list[int], verdict: str, state: str) -> None:
    gold = talks([30] * len(lost) if len(lost) < 20 else [5] * len(lost), ["lang:en"])
    size = len(gold) // len(lost)
    now = [LOST if row % size < lost[row // size] else FOUND for row in range(len(gold))]
    report = check(
        RECALL + BY_LANGUAGE.replace("recall@5,", "parts, metric: recall@5,"), gold, [FOUND] * len(gold), now
    )
    whole, _, part = report["gates"]
    assert (whole["verdict"], whole["evidence_state"]) == (verdict, state)
    assert (part["verdict"], part["evidence_state"]) == (verdict, state)
    assert report["verdict"] == verdict
    assert report["summary"].startswith("No list changed") == (verdict == "pass")


def test_what_goes_both_ways_in_few_conversations_is_within_noise(check: Check) -> None:
    gold = talks([30] * 9)
    before = [FOUND if row // 30 < 6 else LOST for row in range(270)]
    now = [LOST if row // 30 < 6 else FOUND for row in range(270)]
    (gate,) = check(RECALL, gold, before, now)["gates"]
    assert (gate["verdict"], gate["evidence_state"]) == ("pass", "inconclusive")
    assert gate["exact"]["p"] == pytest.approx(130 / 512)  # at most three of nine the other way
    assert [each["text"] for each in gate["reasons"]] == [
        "recall@5 dropped from 66.7% to 33.3% (−33.3 pp; allowed drop: 3.0 pp), within noise (p = 0.25)"
    ]


def test_a_floor_of_few_conversations_only_warns(check: Check) -> None:
    gates = "  - {name: recall@5, threshold: 0.9, segments: {by: lang, threshold: 0.9}}\n"
    report = check(gates, talks([30] * 9, ["lang:en"]), [LOST] * 270, [LOST] * 270)
    assert [(gate["verdict"], gate["only_inconclusive"]) for gate in report["gates"]] == [("warn", True)] * 2
    assert [each["text"] for each in report["gates"][0]["reasons"]] == [
        "recall@5 is 0.0%, below the floor of 90.0%, with too few clusters to tell it from noise"
    ]


@pytest.mark.full
def test_one_p_is_shared_out_among_segments(check: Check) -> None:
    """Nine conversations in each of twenty languages: 1 in 512 is more than a twentieth of 2.5 %."""
    gold = [line for lang in range(20) for line in talks([4] * 9, [f"lang:l{lang}"])]
    gold = [{"metadata": {**line["metadata"], "cluster": f"{row // 4}"}} for row, line in enumerate(gold)]
    now = [LOST] * 36 + [FOUND] * (len(gold) - 36)
    _, first, *others = check(BY_LANGUAGE, gold, [FOUND] * len(gold), now)["gates"]
    assert (first["verdict"], first["evidence_state"]) == ("warn", "no_interval")
    assert {part["verdict"] for part in others} == {"pass"}
    gold, now = gold[: 36 * 10], now[: 36 * 10]
    assert check(BY_LANGUAGE, gold, [FOUND] * len(gold), now)["gates"][1]["verdict"] == "fail"


def test_segments_of_too_few_conversations_are_no_burden_for_the_others(check: Check) -> None:
    """Six of forty lost are proof for one segment alone; those that cannot be proven take no share of the error."""
    gold: list[Line] = [{"metadata": {"tags": ["lang:en"]}} for _ in range(40)]
    for lang in range(20):
        gold += [{"metadata": {"tags": [f"lang:l{lang}"], "cluster": f"{lang}.{row % 4}"}} for row in range(36)]
    now = [LOST] * 6 + [FOUND] * (len(gold) - 6)
    found = check(BY_LANGUAGE, gold, [FOUND] * len(gold), now)["gates"]
    assert [gate["verdict"] for gate in found if gate["segment"] == "lang:en"] == ["fail"]


def slow(times: int, of: int, by: float = 100.0) -> list[Line]:
    return [{"latency_ms": {"all": 10.0 * (by if row < times else 1) + row / 100}} for row in range(of)]


SLOWEST = "  - {name: p99, metric: latency(quantile=0.99), regression_max: 5}\n"


@pytest.mark.parametrize(
    ("slower", "of", "verdict"),
    [
        pytest.param(270, 270, "fail", id="every question"),
        pytest.param(14, 270, "fail", id="five in a hundred"),
        pytest.param(4, 270, "warn", id="four of 270: no proof"),
        pytest.param(2, 270, "pass", id="two of 270: p99 stays"),
        pytest.param(0, 270, "pass", id="none"),
        pytest.param(7, 7, "fail", id="all of seven"),
        pytest.param(5, 5, "warn", id="all of five"),
    ],
)
def test_a_quantile_without_a_bound(check: Check, slower: int, of: int, verdict: str) -> None:
    gates = SLOWEST + (
        "  - {name: parts, metric: latency(quantile=0.99), regression_max: 9999,"
        " segments: {by: lang, regression_max: 5, min_queries: 5}}\n"
    )
    gold = [{"metadata": {"tags": ["lang:en"]}}] * of
    whole, _, part = check(gates, gold, slow(0, of), slow(slower, of))["gates"]
    assert whole["delta_ci"] == ([0.0, 0.0] if not slower else [None, *whole["delta_ci"][1:]])
    assert (whole["verdict"], whole["exact"]) == (verdict, part["exact"])
    assert part["verdict"] == ("pass" if whole["evidence_state"] == "inconclusive" else verdict)


def test_a_median_that_rises_leaves_the_slowest_alone(check: Check) -> None:
    before = [{"latency_ms": {"all": 10.0 + row}} for row in range(270)]
    now = [{"latency_ms": {"all": max(10.0 + row, 250.0)}} for row in range(270)]
    assert check(SLOWEST, [{}] * 270, before, now)["verdict"] == "pass"


@pytest.mark.parametrize(
    ("now", "bound"),
    [
        pytest.param(["a", "x", "y"], 0.0, id="the same lists"),
        pytest.param(["a", "x", "z"], 0.0, id="another document below the cut-off"),
        pytest.param(["a", "a", "x", "y"], 0.0, id="the same lists once repeats are removed"),
        pytest.param(["a", "z", "y"], 1 - 0.0125 ** (1 / 30), id="another document within it"),
        pytest.param(["x", "a", "y"], 1 - 0.0125 ** (1 / 30), id="the relevant document moved within it"),
        pytest.param(["a"], 1 - 0.0125 ** (1 / 30), id="a shorter list"),
    ],
)
def test_values_that_did_not_move_prove_nothing_unless_the_lists_are_the_same(
    check: Check, now: list[str], bound: float
) -> None:
    """None of sixty lost excludes a loss of 6.0 %, not one of anything; of thirty, by half the error, 13.6 %."""
    gates = "  - {name: recall@2, regression_max: 0.03, segments: {by: lang, regression_max: 0.03}}\n"
    gold = [{"metadata": {"tags": ["lang:en"]}}] * 30 + [{"metadata": {"tags": ["lang:de"]}}] * 30
    before = [{"topk": ["a", "x", "y"]}] * 60
    whole, de, en = check(gates, gold, before, [{"topk": now}] * 30 + before[:30])["gates"]
    assert en["delta_ci"] == [pytest.approx(-bound), pytest.approx(bound)]
    assert de["delta_ci"] == [0.0, 0.0]
    both = 1 - 0.025 ** (1 / 60) if bound else 0.0
    assert whole["delta_ci"] == [pytest.approx(-both), pytest.approx(both)]


def test_an_unchanged_run_is_safe_at_any_limit_and_a_changed_one_is_not(check: Check) -> None:
    gates = "  - {name: recall@2, regression_max: 0, evidence: proven_safe}\n"
    before = [{"topk": ["a", "x", "y"]}] * 30
    assert check(gates, [{}] * 30, before, before)["verdict"] == "pass"
    assert check(gates, [{}] * 30, before, [{"topk": ["a", "z"]}, *before[1:]])["verdict"] == "fail"


def test_lists_of_questions_without_a_value_do_not_count(check: Check) -> None:
    gold: list[Line] = [{}] * 30 + [{"expected_output": [], "metadata": {"no_answer": True}}] * 5
    before = [{"topk": ["a", "x"]}] * 35
    (gate,) = check(RECALL, gold, before, before[:30] + [{"topk": ["z"]}] * 5)["gates"]
    assert (gate["n"], gate["delta_ci"]) == (30, [0.0, 0.0])


@pytest.mark.parametrize(
    ("clusters", "bound"), [(12, 1 - 0.025 ** (1 / 12)), (9, None)], ids=["twelve", "too few for an interval"]
)
def test_conversations_whose_values_did_not_move_count_once(check: Check, clusters: int, bound: float | None) -> None:
    gold = talks([5] * clusters)
    (gate,) = check(RECALL, gold, [{"topk": ["a", "x"]}] * len(gold), [{"topk": ["a", "z"]}] * len(gold))["gates"]
    assert gate["delta_ci"] == (None if bound is None else [pytest.approx(-bound), pytest.approx(bound)])
    assert gate["verdict"] == "pass"


def test_metrics_that_cannot_reach_the_end_are_judged_by_what_they_can(check: Check) -> None:
    """Of fifty relevant documents recall@5 finds a tenth at most: three points of ten are a third of it."""
    right = [f"d{number}" for number in range(50)]
    gold = [{"expected_output": right}] * 100
    before = [{"topk": right[:5]}] * 100
    now = [{"topk": [*right[:1], "x", "x1", "x2", "x3"] if row % 2 else right[:5]} for row in range(100)]
    (gate,) = check(RECALL, gold, before, now)["gates"]
    assert gate["delta"] == pytest.approx(-0.04)
    assert gate["verdict"] == "fail"
    assert gate["delta_ci"][1] < -0.025
    assert gate["ci"][1] < 0.08


def test_twelve_of_two_hundred_lost_and_none_won_is_proof(check: Check) -> None:
    gates = "  - {name: recall@5, regression_max: 0.03, segments: {by: lang, regression_max: 0.03}}\n"
    gold = [{"metadata": {"tags": ["lang:en"]}}] * 200
    whole, part = check(gates, gold, [FOUND] * 200, [LOST] * 12 + [FOUND] * 188)["gates"]
    assert (whole["verdict"], part["verdict"]) == ("fail", "fail")


def test_validate_names_what_has_too_few_conversations_and_no_bound(
    check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = [{**line, "latency_ms": {"all": 1}} for line in talks([30] * 5, ["lang:en"])]
    runs = slow(0, 150)
    check(SLOWEST + BY_LANGUAGE, gold, runs, runs)
    capsys.readouterr()
    assert main(["validate", "--gold", "gold.jsonl", "--run", "now.jsonl", "--baseline", "before.jsonl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    few = "5 clusters of questions; from 6 on harm can be proven, from 10 on a low value can"
    bound = "150 questions give latency(quantile=0.99) no bound; the swap test alone can prove a change"
    for line in (
        f"look at: gate 'p99': {bound}",
        f"look at: gate 'recall@5': {few}",
        f"look at: gate 'recall@5', 'lang:en': {few}",
    ):
        assert line in lines


def test_compare_says_no_change_of_the_same_lists_alone(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    before = [{"topk": ["a", "x"]}] * 30
    check(RECALL, [{}] * 30, before, [{"topk": ["a", "z"]}] * 30)
    Path("copy.jsonl").write_bytes(Path("before.jsonl").read_bytes())
    capsys.readouterr()
    bounds = []
    for other in ("copy.jsonl", "now.jsonl"):
        call = [
            "compare",
            "before.jsonl",
            other,
            "--gold",
            "gold.jsonl",
            "--metrics",
            "recall@1,5,recall(judged_only=true)@1",
            "--format",
            "json",
        ]
        assert main(call) == 0
        bounds.append([found["ci"][1] for found in json.loads(capsys.readouterr().out)["metrics"].values()])
    wide = pytest.approx(1 - 0.025 ** (1 / 30))
    # recall@1 sees the first document alone, but in a list without what nobody judged others may come first.
    assert bounds == [[0.0, 0.0, 0.0], [0.0, wide, wide]]


SIDES = ["--gold", "gold.jsonl", "--baseline", "before.jsonl", "--run", "now.jsonl"]


@pytest.mark.parametrize("talk", [1, 5])
def test_what_too_few_conversations_cannot_prove_is_not_called_noise(check: Check, talk: int) -> None:
    """All lost: a warning, which stops where warnings do."""
    gold = talks([24] * talk)
    assert check(RECALL, gold, [FOUND] * len(gold), [LOST] * len(gold))["verdict"] == "warn"
    assert main(["check", *SIDES, "--fail-on", "warn"]) == 1


def test_an_unchanged_run_is_proven_safe_whatever_has_no_bound(check: Check) -> None:
    gate = "  - {name: slowest, metric: latency(quantile=0.99), regression_max: 5, evidence: proven_safe}\n"
    [found] = check(gate, [{}] * 120, slow(3, 120), slow(3, 120))["gates"]
    assert (found["verdict"], found["delta_ci"]) == ("pass", [0.0, 0.0])


@pytest.mark.parametrize(("count", "verdict"), [(2, "warn"), (9, "warn"), (10, "fail")])
def test_a_few_equal_values_without_a_range_prove_nothing(check: Check, count: int, verdict: str) -> None:
    gate = "  - {name: score(f), direction: higher, threshold: 0.75}\n"
    assert (
        check(gate, [{}] * count, [{"scores": {"f": 0.8}}] * count, [{"scores": {"f": 0.7}}] * count)["verdict"]
        == verdict
    )


@pytest.mark.parametrize(
    ("now", "before", "direction", "moved", "verdict", "ci"),
    [
        pytest.param(3, 3, "higher", False, "fail", (None, 3), id="equal values say nothing of a worse one"),
        pytest.param(-3, -3, "lower", False, "fail", (-3, None), id="nor of a larger one"),
        pytest.param(1, 1, "higher", False, "pass", (0.9119, 1), id="hits are counted"),
        pytest.param(0, 0, "lower", False, "pass", (0, 0.0881), id="and misses"),
        pytest.param(1, 5, "lower", False, "fail", (1, None), id="no hits: the baseline has other values"),
        pytest.param(0, 0, "lower", True, "fail", (0, 0.0881), id="of other lists a hit could be a miss"),
    ],
)
def test_what_is_all_alike_proves_no_safety_without_a_range(
    check: Check, now: float, before: float, direction: str, *, moved: bool, verdict: str, ci: tuple[float | None, ...]
) -> None:
    limit = now - 0.1 if direction == "higher" else now + 0.1
    gate = f"  - {{name: score(f), direction: {direction}, threshold: {limit}, regression_max: 0.05"
    lists = (["a"], ["b", "a"] if moved else ["a"])
    sides = ([{"topk": docs, "scores": {"f": each}}] * 40 for docs, each in zip(lists, (before, now), strict=True))
    [found] = check(gate + ", evidence: proven_safe}\n", [{}] * 40, *sides)["gates"]
    assert (found["verdict"], found["ci"]) == (verdict, pytest.approx(ci, abs=1e-4))


def test_an_unchanged_score_under_other_lists_is_not_proven_safe(check: Check) -> None:
    gate = "  - {name: score(f), direction: higher, regression_max: 0.05, evidence: proven_safe}\n"
    sides = ([{"topk": docs, "scores": {"f": row}} for row in range(40)] for docs in (["a"], ["b", "a"]))
    [found] = check(gate, [{}] * 40, *sides)["gates"]
    assert (found["verdict"], found["evidence_state"], found["delta_ci"]) == ("fail", "no_interval", None)


def test_a_run_of_empty_lists_does_not_pass_in_silence(check: Check) -> None:
    gate = "  - {name: false_evidence_rate, threshold: 0.5}\n"
    gold = [{"expected_output": [], "metadata": {"no_answer": True}}] * 20 + [{}] * 40
    found = check(gate, gold, [FOUND] * 60, [{"topk": []}] * 60)
    assert (found["verdict"], found["conclusion"]["kind"]) == ("fail", "empty")
    assert found["summary"].startswith("Do not merge: the run is empty: none of the 40 questions got a result.")


def test_the_interval_that_decides_is_shown_where_no_value_changed(
    check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [{"topk": ["a", "junk"]}] * 40
    check("  - {name: recall@5, regression_max: 0.03, evidence: proven_safe}\n", [{}] * 40, [FOUND] * 40, now)
    capsys.readouterr()
    main(["check", *SIDES])
    assert "−8.8 to +8.8" in capsys.readouterr().out


def test_what_the_exact_test_proves_is_said_beside_an_interval_that_does_not(
    check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, lost = talks([30] * 10 + [170]), [LOST] * 300 + [FOUND] * 170
    assert check(RECALL, gold, [FOUND] * 470, lost)["verdict"] == "fail"
    capsys.readouterr()
    main(["check", *SIDES])
    assert "exact test, p = 0.00098" in capsys.readouterr().out


def test_validate_plans_by_one_spread(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    """What no run has moved yet: many relevant documents a question, so that recall moves in small steps."""
    gold = [{"expected_output": [f"d{n}" for n in range(16)]}] * 40
    check(RECALL, gold, [{"topk": ["d1", "d2"]}] * 40, [{"topk": ["d1", "d2"]}] * 40)
    capsys.readouterr()
    main(["validate", "--gold", "gold.jsonl", "--run", "now.jsonl"])
    said = capsys.readouterr().out
    assert len(set(re.findall(r"detect a drop of ([0-9.]+ points)", said))) == 1, said
