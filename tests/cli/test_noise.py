"""`rankgate noise`: what moves between repeated runs of one system, and the margin that this suggests."""

import json
import math
import random
from pathlib import Path
from statistics import variance
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.cli import main
from rankgate.gates.noise import Noise, lower_fifth, noise_of
from rankgate.metrics.names import parse_metric

GOLD = "".join(f'{{"id": "q{number}", "expected_output": ["a"]}}\n' for number in (1, 2, 3, 4))
GOLD_FLAG = ["--gold", "gold.jsonl"]


def run_of(**found_at: int) -> str:
    """A run whose queries hold the relevant document at the given rank."""
    return "".join(
        json.dumps({"query_id": query, "retrieved": [*(f"x{n}" for n in range(rank - 1)), "a"]}) + "\n"
        for query, rank in found_at.items()
    )


RUNS = {
    "one.jsonl": run_of(q1=1, q2=1, q3=2, q4=1),
    "two.jsonl": run_of(q1=1, q2=2, q3=1, q4=1),
    "three.jsonl": run_of(q1=1, q2=2, q3=2, q4=1),
}
PROJECT = {"gold.jsonl": GOLD, **RUNS}
pytestmark = pytest.mark.usefixtures("project")


def described(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["noise", *words, *GOLD_FLAG, "--format", "json"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """hit@1 of one: 1 1 0 1, of two: 1 0 1 1, of three: 1 0 0 1."""
    value = described(capsys, *RUNS, "--metrics", "hit@1,hit@5")
    found = value["metrics"]["hit@1"]
    spread = math.sqrt((2 / 3 + 1 / 4 + 1 / 4) / 3)  # variances of (0 -1 1 0), (0 -1 0 0) and (0 0 -1 0)
    assert found["values"] == [0.75, 0.75, 0.5]
    assert (found["largest"], found["n_pairs"]) == (0.25, 4)
    assert found["mean"] == pytest.approx((0 + 0.25 + 0.25) / 3)
    assert found["moving"] == pytest.approx((2 + 1 + 1) / 4 / 3)
    assert found["spread"] == pytest.approx(spread)
    twice, q = (0 + 1 / 16 + 1 / 16) / 3, spread**2 / 4  # 2 Var of the means, and s²/N
    assert twice == pytest.approx(2 * variance([0.75, 0.75, 0.5]))
    assert found["margin"] == pytest.approx(1.96 * math.sqrt(max(0.0, twice * 2 / 0.4463 - q) + q))
    assert found["noise"] == pytest.approx(math.sqrt(max(0.0, twice - q) / 2))
    still = {
        "values": [1.0] * 3,
        "largest": 0.0,
        "mean": 0.0,
        "moving": 0.0,
        "spread": 0.0,
        "n_pairs": 4,
        "margin": 0.0,
        "noise": 0.0,
    }
    assert value["metrics"]["hit@5"] == still
    assert value["runs"] == [{"path": name, "missing": 0} for name in RUNS]
    assert value["queries"] == 4


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["noise", *RUNS, *GOLD_FLAG, "--metrics", "hit@1,mrr"]) == 0
    assert capsys.readouterr().out == (
        "  metric  values             largest shift  mean shift  queries moving     SD  regression_max  noise\n"
        "  hit@1   75.0% 75.0% 50.0%        25.0 pp     16.7 pp           33.3%  0.624           0.847      0\n"
        "  mrr     0.875 0.875 0.750          0.125       0.083           33.3%  0.312           0.424      0\n"
    )


def test_of_many_runs_the_ends_are_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"{number}.jsonl" for number in range(6)]
    for number, name in enumerate(names):
        (project / name).write_text(run_of(q1=1 + (number % 2), q2=1, q3=1, q4=1), encoding="utf-8")
    assert main(["noise", *names, *GOLD_FLAG, "--metrics", "hit@1"]) == 0
    assert " 75.0% … 100.0% " in capsys.readouterr().out


def test_where_nothing_moves_it_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "again.jsonl").write_text(RUNS["one.jsonl"], encoding="utf-8")
    assert main(["noise", "one.jsonl", "again.jsonl", *GOLD_FLAG]) == 0
    assert capsys.readouterr().out.endswith(
        "\nNothing moved: on these questions the system gives the same results every time.\n"
    )


def test_with_criteria_the_gates_say_which_metrics_and_are_told_if_they_allow_too_little(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tight, wide = "{name: tight, metric: hit@1, regression_max: 0.03}", "{name: mrr, regression_max: 0.9}"
    gates = f"{tight}, {wide}, {{name: rbo, threshold: 0}}"
    (project / "ship-criteria.yaml").write_text(f"gates: [{gates}]\ninputs: {{gold: gold.jsonl}}\n", encoding="utf-8")
    assert main(["noise", *RUNS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["metric", "hit@1", "mrr"]
    assert lines[3:] == ["", "The gate 'tight' allows 0.03, less than the 0.847 that noise alone asks for."]


def test_queries_that_a_run_lacks_are_told_and_not_compared(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "short.jsonl").write_text(run_of(q1=1, q2=1), encoding="utf-8")
    assert main(["noise", "one.jsonl", "short.jsonl", *GOLD_FLAG, "--metrics", "hit@1"]) == 0
    out = capsys.readouterr().out
    assert " 75.0% 100.0% " in out
    assert out.endswith("\n2 queries are absent from short.jsonl, and not compared.\n")


def test_a_baseline_directory_is_a_run_and_all_lists_end_where_it_was_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "accept", "--run", "one.jsonl", "--to", "baseline", "--depth", "1"]) == 0
    capsys.readouterr()
    found = described(capsys, "baseline", "three.jsonl", "--metrics", "mrr")["metrics"]["mrr"]
    assert found["values"] == [0.75, 0.5]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["one.jsonl", *GOLD_FLAG], "noise compares repeated runs of one system; name at least two", id="one"
        ),
        pytest.param(["one.jsonl", "one.jsonl", *GOLD_FLAG], "one.jsonl: named twice; a run beside itself", id="twice"),
        pytest.param(["one.jsonl", "absent", *GOLD_FLAG], "absent: no such file or baseline directory", id="absent"),
        pytest.param(["-", "-", *GOLD_FLAG], "only one input can be read from standard input (-)", id="stdin twice"),
        pytest.param(["one.jsonl", "two.jsonl"], "no gold named; give the gold set with --gold FILE", id="no gold"),
        pytest.param(
            ["one.jsonl", "two.jsonl", *GOLD_FLAG, "--metrics", "recal"],
            "--metrics: unknown metric 'recal'; did you mean 'recall'?",
            id="metric",
        ),
        pytest.param(
            ["one.jsonl", "two.jsonl", *GOLD_FLAG, "--metrics", "rbo"],
            "--metrics: rbo compares with a baseline; use `rankgate compare A B`",
            id="a metric that compares",
        ),
        pytest.param(
            ["one.jsonl", "two.jsonl", *GOLD_FLAG, "--metrics", "latency"],
            "one.jsonl: the metric latency reads `latency_ms`, which the run states nowhere",
            id="a metric that the runs do not have",
        ),
        pytest.param(
            ["one.jsonl", "others.jsonl", *GOLD_FLAG],
            "others.jsonl: the run has none of the 4 gold queries",
            id="other queries",
        ),
    ],
)
def test_what_shows_no_noise_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    (project / "others.jsonl").write_text(run_of(z=1), encoding="utf-8")
    assert main(["noise", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")


RECALL = parse_metric("recall@5")
COLUMNS = st.integers(2, 30).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=size, max_size=size), min_size=2, max_size=5
    )
)


def noise(columns: list[list[float]]) -> Noise:
    found = noise_of(RECALL, columns)
    assert found is not None
    return found


@given(COLUMNS)
def test_no_run_moves_farther_than_the_metric_can_and_two_suggest_nothing(columns: list[list[float]]) -> None:
    found = noise(columns)
    assert 0 <= found.mean <= found.largest <= 1
    assert (found.moving == 0) == (found.spread == 0 and found.largest == 0)
    if len(columns) < 3:
        assert (found.margin, found.noise) == (None, None)
        return
    assert found.margin is not None
    assert found.noise is not None
    assert 0 <= math.sqrt(2) * found.noise <= max(found.margin, found.largest) <= 1


@given(COLUMNS)
def test_the_order_of_the_runs_means_nothing(columns: list[list[float]]) -> None:
    there, back = noise(columns), noise(columns[::-1])
    assert there.values == back.values[::-1]
    for one, other in ((there.largest, back.largest), (there.mean, back.mean), (there.margin, back.margin)):
        assert one == (None if other is None else pytest.approx(other))


@pytest.mark.parametrize(
    ("metric", "columns", "expected"),
    [
        pytest.param("recall@5", [[None, 1.0], [0.0, None]], None, id="no query in common"),
        pytest.param("recall@5", [[1.0], [0.0]], (1.0, None, None), id="one query has no spread"),
        pytest.param("latency(quantile=0.5)", [[1.0, 2.0, 3.0], [2.0, 3.0, 5.0]], (1.0, 0.577, None), id="a quantile"),
        pytest.param("recall@5", [[1.0, 1.0], [0.0, 0.0]], (1.0, 0.0, None), id="two runs say nothing of runs"),
        pytest.param(
            *("recall@5", [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]], (1.0, 0.0, 1.0)), id="no more than the whole range"
        ),
        pytest.param(
            "latency(quantile=0.5)", [[1.0, 2.0], [2.0, 3.0], [1.0, 2.0]], (1.0, 0.0, None), id="three of a quantile"
        ),
    ],
)
def test_what_few_queries_and_quantiles_suggest(
    metric: str, columns: list[list[float | None]], expected: tuple[float, float | None, float | None] | None
) -> None:
    found = noise_of(parse_metric(metric), columns)
    assert (found and (found.largest, found.spread and round(found.spread, 3), found.margin)) == expected


@pytest.mark.parametrize("freedom", [2, 3, 4, 6, 7, 12, 30])
def test_the_lower_fifth_is_that_of_chi_squared(freedom: int) -> None:
    """Of K columns of one query each, whose means are the queries' values, the bound is known: by drawing."""
    draw = random.Random(freedom)  # noqa: S311 -- seeded on purpose
    sums = sorted(sum(draw.gauss(0, 1) ** 2 for _ in range(freedom)) for _ in range(20_000))
    assert lower_fifth(freedom) == pytest.approx(sums[len(sums) // 5], rel=0.06)


@pytest.mark.parametrize("shared", [0.0, 0.02])
def test_a_run_without_a_change_stays_within_the_margin(shared: float) -> None:
    """Five runs suggest it, two more are judged by it: seldom blocked, with and without what whole runs share."""
    draw = random.Random(4)  # noqa: S311 -- seeded on purpose
    blocked, taus = 0, []
    for _ in range(300):
        shifts = [draw.gauss(0, shared) for _ in range(7)]
        columns = [[shift + float(draw.random() < 0.9) for _ in range(100)] for shift in shifts]
        found = noise(columns[:5])
        assert found.margin is not None
        assert found.noise is not None
        taus.append(found.noise)
        blocked += (sum(columns[5]) - sum(columns[6])) / 100 > found.margin
    assert blocked <= 12
    assert sum(taus) / len(taus) == pytest.approx(shared, abs=0.012)  # it is noisy, and not below zero
