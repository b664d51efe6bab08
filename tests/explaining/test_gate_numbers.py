"""Every number in a gate's explanation is one that the report has, or the difference of two: nothing is made up."""

import re
from collections.abc import Iterator
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from rankgate.criteria import Gate
from rankgate.gates.decide import decide
from rankgate.gates.explain import checks_of, explain_gate
from rankgate.metrics.base import Metric
from rankgate.metrics.lines import Latency
from rankgate.metrics.ranks import ReciprocalRank
from rankgate.metrics.sets import Recall
from rankgate.model.reasons import sentences
from rankgate.model.report import GateResult, Provenance, Queries, Report
from rankgate.model.values import TOLERANCE, Direction, Evidence, Ruling, Scores, Unit, Verdict
from rankgate.renderers.explaining.gate import render_gates

WIDE = 100_000  # no line is broken, so that every number stands beside its unit
LIMITS = st.none() | st.sampled_from([0.0, 0.03, 0.05, 0.125, 1 / 3]) | st.floats(0, 1)


def scores(metric: Metric, column: list[float | None]) -> Scores:
    return Scores(
        query_ids=tuple(f"q{place}" for place in range(len(column))),
        values={metric.name: column},
        matched={},
        missing=frozenset(),
        unknown_queries=(),
        duplicates=0,
        cut=0,
    )


@st.composite
def results(draw: st.DrawFn) -> tuple[GateResult, Report]:
    metric = draw(st.sampled_from([Recall(cutoff=5), ReciprocalRank(), Latency()]))
    values = st.sampled_from([0.0, 0.5, 1 / 3, 1.0]) | st.floats(0, 1)
    columns = draw(st.lists(st.tuples(st.none() | values, st.none() | values), min_size=1, max_size=30))
    threshold, regression_max = draw(LIMITS), draw(LIMITS)
    gate = Gate(
        name="the gate",
        metric=metric,
        threshold=0.5 if threshold is None and regression_max is None else threshold,
        regression_max=regression_max,
        severity=draw(st.sampled_from(["error", "warning"])),
        evidence=draw(st.sampled_from(Evidence)),
        confidence=draw(st.sampled_from([0.9, 0.95, 0.995])),
        line=draw(st.none() | st.integers(1, 99)),
    )
    now = scores(metric, [new for new, _ in columns])
    before = scores(metric, [old for _, old in columns]) if draw(st.booleans()) else None
    result = decide(gate, now, before)
    report = Report(
        verdict=Verdict.PASS,
        summary="",
        gates=[result],
        queries=Queries(
            total=len(columns), scored=0, no_relevant=0, missing=0, missing_ids=[], unjudged=0, duplicates=0, new=0
        ),
        provenance=Provenance(rankgate="0", date="2026-01-31"),
    )
    return result, report


def text_of(result: GateResult, report: Report) -> str:
    """The explanation without the sentences that stand in the report as they are."""
    text = render_gates([explain_gate(report, result)], report, WIDE)
    for known in (*sentences(result, None), result.meaning, result.metric, "docs/statistics.md"):
        text = text.replace(known, "")
    return text


def known_numbers(result: GateResult, total: int) -> list[float]:
    """Those of the report, and the differences that an explanation states."""
    seen = result.detectable
    limits = [limit for limit in (result.threshold, result.regression_max) if limit is not None]
    compared = [number for number in (result.value, result.paired_value, result.baseline) if number is not None]
    changes = [number for number in (result.delta, result.regression_max) if number is not None]
    numbers = [*compared, *limits, *changes, *(result.ci or ()), *(result.delta_ci or ())]
    numbers += [result.confidence, result.n, result.n_pairs, result.line, total]
    if seen is not None:
        numbers += [seen.detectable, seen.margin, seen.queries, seen.queries_needed, seen.spread]
    found = [float(number) for number in numbers if number is not None]
    found += [abs(a - b) for a, b in permutations([*compared, *limits], 2)]
    found += [abs(abs(a) - abs(b)) for a, b in permutations(changes, 2)]
    found += [abs(a) + abs(b) for a, b in permutations(changes, 2)]
    return [*found, total - result.n, result.n - result.n_pairs, 0.0]


def stated_numbers(text: str) -> Iterator[tuple[str, float, int]]:
    """Each number with its place, its size and its decimals."""
    for match in re.finditer(r"(?<![\w.])(\d[\d,]*)(\.\d+)?(e-\d+)?(?P<unit>%| pp)?", text):
        number = match[0].removesuffix(match["unit"] or "").replace(",", "")
        decimals = len(match[2] or ".") - 1
        yield text[max(0, match.start() - 40) : match.end() + 20], float(number), decimals


@given(results())
def test_every_number_is_one_of_the_report_or_the_difference_of_two(made: tuple[GateResult, Report]) -> None:
    result, report = made
    total = report.queries.total if report.queries else 0
    known = known_numbers(result, total)
    percent = [100 * number for number in known] if result.unit is Unit.SHARE else [100 * result.confidence]
    spread = result.detectable.spread if result.detectable else None
    rounded = [] if spread is None else [spread]  # to three digits
    for place, number, decimals in stated_numbers(text_of(result, report)):
        room = 0.5 * 10**-decimals + 1e-6
        small = [each for each in rounded if number and abs(each - number) <= 0.005 * number]
        near = [each for each in (*known, *percent) if abs(abs(each) - number) <= room]
        assert near or small, f"{number} in {place!r}"


@given(results())
def test_no_rounding_hides_a_violation(made: tuple[GateResult, Report]) -> None:
    """What breaks a limit also looks broken: the two numbers that are compared are not shown alike."""
    result, report = made
    text = text_of(result, report)
    for check in checks_of(result):
        if check.beyond <= TOLERANCE:
            continue
        if check.limit == "threshold":
            shown = re.search(r"([\d.]+)\S* (?:ms )?now − ([\d.]+)\S* (?:ms )?asked for", text)
            assert shown
            worse = float(shown[1]) < float(shown[2])
            assert worse if result.direction is Direction.HIGHER else float(shown[1]) > float(shown[2])
        else:
            assert "more than allowed" in text
            assert not re.search(r"That is 0\.?0*( pp| ms)? more than allowed", text)


@given(results())
def test_limits_rule_as_the_gate_did(made: tuple[GateResult, Report]) -> None:
    result, _ = made
    rulings = {check.ruling for check in checks_of(result)}
    judged = (
        result.verdict is not Verdict.NOT_JUDGED
    )  # else one limit may be violated, and nothing is concluded from it
    assert (result.violation is not None) is (Ruling.VIOLATED in rulings and judged)
    if result.violation is not None:
        assert max(check.beyond for check in checks_of(result) if check.ruling is Ruling.VIOLATED) == result.violation
    if Ruling.INCONCLUSIVE in rulings:
        assert result.verdict is not Verdict.PASS
