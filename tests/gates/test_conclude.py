"""What a report concludes: which row it speaks of, how much a pass says, and the sentence of each kind."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import RECALL
from tests.report_keys import report_from

from rankgate.errors import Problem
from rankgate.gates.conclude import concluded, with_conclusion
from rankgate.model.conclusion import ConclusionKind, Empties, GivenUp, OtherCode, PartLoss, Strength
from rankgate.model.gate_result import GateResult
from rankgate.model.headline import other_sentences, sentence
from rankgate.model.lineage import GoldChanges
from rankgate.model.report import Call, Provenance, Queries, Report, Source, exit_code
from rankgate.model.values import Direction, EvidenceState, Reason, ReasonKind, Ruling, Unit, Verdict
from rankgate.renderers.view.decided import first_rows

PASS, WARN, FAIL = Verdict.PASS, Verdict.WARN, Verdict.FAIL
RUN = Provenance(rankgate="0.1.0", date="2026-01-31", run=Source(path="run.jsonl", format="jsonl"))


def gate(
    verdict: Verdict = PASS,
    *,
    name: str = "recall@5",
    segment: str | None = None,
    before: float | None = 0.9,
    now: float = 0.9,
    ci: tuple[float | None, float | None] | None = (-0.02, 0.02),
    drop: float | None = 0.03,
    floor: float | None = None,
    n: int = 300,
    **more: Any,
) -> GateResult:
    """A row as `decide` leaves it: of a violated drop unless only a floor is broken."""
    ruling = Ruling.HOLDS if verdict is PASS else Ruling.VIOLATED
    by_floor = floor is not None and now < floor
    kind = ReasonKind.THRESHOLD if by_floor or drop is None else ReasonKind.REGRESSION
    kind = ReasonKind.NO_BASELINE if before is None and verdict is WARN else kind
    row: dict[str, Any] = {
        "name": name,
        "metric": name,
        "segment": segment,
        "value": now,
        "ci": (now - 0.02, now + 0.02),
        "threshold": floor,
        "baseline": before,
        "paired_value": None if before is None else now,
        "delta": None if before is None else now - before,
        "delta_ci": None if before is None else ci,
        "regression_max": drop,
        "verdict": verdict,
        "reasons": [Reason(kind, ruling=ruling)],
        "n": n,
        "n_pairs": 0 if before is None else n,
        "line": 3,
    }
    return changed(RECALL, **{**row, **more})


def asked(total: int, *, missing: int = 0, new: int = 0) -> Queries:
    return Queries(
        total=total, scored=total, no_relevant=0, missing=missing, missing_ids=[], unjudged=0, duplicates=0, new=new
    )


def in_doubt(kind: ReasonKind, at_worst: float) -> Reason:
    """Of a limit that holds, and does not with the worst for nine values that are missing."""
    return Reason(kind, ruling=Ruling.INCONCLUSIVE, count=9, at_worst=at_worst)


def report(*gates: GateResult, **more: Any) -> Report:
    return concluded(report_from(verdict=PASS, summary="", gates=list(gates), provenance=RUN, **more))


LOST = gate(FAIL, now=0.84, before=0.9, ci=(-0.09, -0.02))
THAI = gate(FAIL, segment="lang:th", before=0.96, now=0.56, ci=(-0.6, -0.2), drop=0.1, n=25)
HOLDING = [gate(segment=f"lang:{code}", drop=0.1, n=25) for code in ("ar", "de", "en")]
PART = PartLoss(
    segment="lang:th", metric="recall@5", unit=Unit.SHARE, direction=Direction.HIGHER, before=0.96, now=0.6, n=25,
    worse=9, p=0.002,
)  # fmt: skip
TIMES: dict[str, Any] = {"unit": Unit.MILLISECONDS, "direction": Direction.LOWER}
GIVEN_UP = GivenUp(
    metric="recall@5", unit=Unit.SHARE, direction=Direction.HIGHER, before=0.9, now=0.837, limit=-0.03, n=300,
    anchor="0123456789ab", since="2026-10-01", steps=3,
)  # fmt: skip
SLOWER = replace(
    GIVEN_UP, metric="latency(p90)", unit=Unit.MILLISECONDS, direction=Direction.LOWER, before=200.0, now=320.0,
    limit=50.0, steps=1, with_run=True,
)  # fmt: skip

CUT_SHORT = asked(300, missing=12)
EMPTY_TAGS = {"lang:th": (25, 25), "lang:de": (20, 20), "topic:visa": (23, 23)}


@pytest.mark.parametrize(
    ("found", "kind", "verdict", "sentence"),
    [
        pytest.param(
            report(LOST), "gate_fails", FAIL, "Do not merge: recall@5 lost 6.0 points: 90.0% → 84.0%, 3.0 allowed.",
            id="a drop",
        ),
        pytest.param(
            report(gate(now=0.88), THAI, *HOLDING), "gate_fails", FAIL,
            "Do not merge: lang:th lost 40.0 points of recall@5: 96.0% → 56.0%, 10.0 allowed. The 3 other languages "
            "hold.",
            id="a segment, and those that hold",
        ),
        pytest.param(
            report(gate(FAIL, before=0.84, now=0.841, floor=0.85, drop=None)), "gate_fails", FAIL,
            "Do not merge: recall@5 is 84.1%, below the floor of 85.0%; the baseline was below it, too (84.0%).",
            id="a floor that the baseline missed too",
        ),
        pytest.param(
            report(gate(FAIL, before=None, now=0.841, floor=0.85, drop=None)), "gate_fails", FAIL,
            "Do not merge: recall@5 is 84.1%, below the floor of 85.0%.", id="a floor without a baseline",
        ),
        pytest.param(
            report(LOST, empties=Empties(empty=225, total=225, first="q-001", before=50)), "empty", FAIL,
            "Do not merge: the run is empty: none of the 225 questions got a result. The index or the retriever "
            "returned nothing.",
            id="an empty run, whatever the gates say",
        ),
        pytest.param(
            report(gate(), empties=Empties(empty=23, total=300, segments={"lang:th": (23, 25)}, first="th-1")),
            "empty_segment", WARN, "23 of the 25 questions of lang:th got no result.", id="an empty tag",
        ),
        pytest.param(
            report(gate(), lost_parts=[PART], empties=Empties(empty=68, total=300, segments=EMPTY_TAGS)),
            "empty_segment", WARN,
            "None of the 25 questions of lang:th got a result; nor did 1 more language and 1 part by another tag.",
            id="several empty tags",
        ),
        pytest.param(
            report(gate(FAIL), empties=Empties(empty=1, total=1)), "empty", FAIL,
            "Do not merge: the run is empty: the only question got no result. The index or the retriever returned "
            "nothing.",
            id="an empty run of one question",
        ),
        pytest.param(
            report(gate(now=0.87), lost_parts=[PART]), "lost_part", WARN,
            "recall@5 holds overall (−3.0, allowed), but lang:th lost 36.0 points: 9 of 25 questions got worse.",
            id="a part that no gate names",
        ),
        pytest.param(
            report(gate(now=0.87), lost_parts=[replace(PART, segment="nothing")]), "lost_part", WARN,
            "recall@5 holds overall (−3.0, allowed), but the tag nothing lost 36.0 points: 9 of 25 questions got "
            "worse.",
            id="a part by a bare word",
        ),
        pytest.param(
            report(gate(), other_code=OtherCode(commit="ad05745c", path="search.py")), "other_code", WARN,
            "This run was recorded at ad05745, before the last change of search.py.", id="a run of other code",
        ),
        pytest.param(
            report(gate(WARN, before=None, now=0.076, floor=0.03)), "no_baseline", WARN,
            "Nothing to compare with yet: recall@5 is 7.6%, floor 3.0%.", id="nothing to compare with",
        ),
        pytest.param(
            report(gate(), given_up=[GIVEN_UP, SLOWER], warnings=["the baseline is 90 days old"]), "given_up", WARN,
            "6.3 points of recall@5 were given up in 3 accepted steps since 2026-10-01.", id="small losses",
        ),
        pytest.param(
            report(gate(), given_up=[SLOWER]), "given_up", WARN,
            "latency(p90) rose by 120.0 ms in 1 accepted step and this run since 2026-10-01.", id="small rises",
        ),
        pytest.param(
            report(gate(), warnings=["the baseline is 90 days old"]), "warning", WARN,
            "May be merged, with a warning: the baseline is 90 days old.", id="a warning of no gate",
        ),
        pytest.param(
            report(gate(), failures=["the baseline is 90 days old"]), "failure", FAIL,
            "Do not merge: the baseline is 90 days old.", id="a failure of no gate",
        ),
        pytest.param(
            report(gate(before=0.541, now=0.539, ci=(-0.009, 0.005), n=631)), "pass", PASS,
            "A loss of more than 0.9 points of recall@5 is ruled out (631 questions, 53.9%, −0.2).", id="ruled out",
        ),
        pytest.param(
            report(gate(before=0.607, now=0.6, ci=(-0.147, 0.111), n=30)), "pass", PASS,
            "Unproven: −0.7 points of recall@5, within noise, but with 30 questions a loss of up to 14.7 points is not "
            "excluded; 3.0 are allowed.",
            id="not excluded",
        ),
        pytest.param(
            report(gate(before=0.927, now=0.897, ci=(-0.055, -0.01))), "pass", PASS,
            "Lost 3.0 points of recall@5, which is allowed: 92.7% → 89.7%; more than 5.5 is ruled out.",
            id="lost and allowed",
        ),
        pytest.param(
            report(gate(ci=(0.0, 0.0))), "pass", PASS,
            "No list changed in the first 5: recall@5 stays at 90.0% (300 questions).", id="no list changed",
        ),
        pytest.param(
            report(gate(drop=None, floor=0.8, before=None)), "pass", PASS,
            "Floors only: recall@5 is 90.0%, floor 80.0% (300 questions); no gate that blocks limits a drop of all "
            "questions.",
            id="floors only",
        ),
        pytest.param(
            with_conclusion(
                Report(
                    verdict=Verdict.NOT_JUDGED, summary="", provenance=RUN,
                    problems=[Problem("rank 45 is missing; ranks run from 1 without gaps", "run.jsonl", 12)],
                )
            ),
            "not_judged", Verdict.NOT_JUDGED, "run.jsonl:12: rank 45 is missing; ranks run from 1 without gaps.",
            id="inputs that could not be judged",
        ),
        pytest.param(
            report(gate(before=0.9, now=0.9, ci=(-0.03, 0.03), drop=0.01)), "pass", PASS,
            "Unproven: recall@5 stays at 90.0%, but with 300 questions a loss of up to 3.0 points is not excluded; 1.0 "
            "is allowed.",
            id="one point is allowed",
        ),
        pytest.param(
            report(gate(drop=None, floor=0.8, before=None), queries=CUT_SHORT), "pass", PASS,
            "Floors only: recall@5 is 90.0%, floor 80.0% (300 questions); no gate that blocks limits a drop of all "
            "questions. 12 questions are absent from the run.",
            id="a run that ended early",
        ),
        pytest.param(
            report(gate(WARN, before=None, now=0.9, floor=0.8), queries=CUT_SHORT), "no_baseline", WARN,
            "Nothing to compare with yet: recall@5 is 90.0%, floor 80.0%. 12 questions are absent from the run.",
            id="a first run that ended early",
        ),
        pytest.param(
            report(gate(before=0.9, now=0.9, ci=(-0.0303, 0.0303), n=200)), "pass", PASS,
            "Unproven: recall@5 stays at 90.0%, but with 200 questions a loss of up to 3.03 points is not excluded; "
            "3.00 are allowed.",
            id="a bound that rounds to the limit",
        ),
        pytest.param(
            report(gate(FAIL, before=0.9, now=0.88, ci=(-0.0303, 0.0003))), "gate_fails", FAIL,
            "Do not merge: recall@5 is not proven safe: a loss of 3.03 points is not excluded, 3.00 allowed.",
            id="a bound that rounds to the limit, where safety is asked for",
        ),
        pytest.param(
            report(gate(WARN, now=0.89, reasons=[in_doubt(ReasonKind.REGRESSION, -0.04)])), "gate_warns", WARN,
            "May be merged, with a warning: recall@5 holds only without its missing values (−1.0 point, 3.0 allowed); "
            "with 9 missing values at their worst the change is −4.0 points.",
            id="a drop that missing values leave open",
        ),
        pytest.param(
            report(gate(WARN, floor=0.89, drop=None, reasons=[in_doubt(ReasonKind.THRESHOLD, 0.88)])),
            "gate_warns", WARN,
            "May be merged, with a warning: recall@5 is 90.0%, and holds the floor of 89.0% only without its missing "
            "values; with 9 missing values at their worst it is 88.0%.",
            id="a floor that missing values leave open",
        ),
        pytest.param(
            report(LOST, empties=Empties(empty=92, total=100)), "empty", FAIL,
            "Do not merge: the run is nearly empty: 92 of the 100 questions got no result. The index or the retriever "
            "returned nothing.",
            id="a run with few results",
        ),
        pytest.param(
            report(LOST, empties=Empties(empty=95, total=100, absent=95)), "empty", FAIL,
            "Do not merge: the run lacks 95 of the 100 questions: it has no line for them.",
            id="a run that lacks lines",
        ),
        pytest.param(
            report(gate(ci=(0.0, 0.0), n=100, n_pairs=50, value=0.45), queries=asked(100, new=50)), "pass", PASS,
            "No list changed in the first 5 among the 50 questions compared: recall@5 stays at 90.0%. With all 100 it "
            "is 45.0%: 50 questions are not in the baseline.",
            id="questions that are new",
        ),
        pytest.param(
            report(gate(ci=(0.0, 0.0), n=100, n_pairs=90, value=0.9), queries=asked(100, new=10)), "pass", PASS,
            "No list changed in the first 5 among the 90 questions compared: recall@5 stays at 90.0%. 10 questions are "
            "not in the baseline.",
            id="new ones that move no value",
        ),
        pytest.param(
            report(gate(ci=(0.0, 0.0), n=100, n_pairs=99), queries=asked(100)), "pass", PASS,
            "No list changed in the first 5 among the 99 questions compared: recall@5 stays at 90.0%. 1 question is "
            "not compared.",
            id="a question without a value in the baseline",
        ),
        pytest.param(
            report(gate(ci=(0.0, 0.0)), gold_changes=GoldChanges(queries=311, removed=11)), "pass", PASS,
            "No list changed in the first 5: recall@5 stays at 90.0% (300 questions). 11 questions of the baseline are "
            "no longer in the gold set.",
            id="questions that are gone",
        ),
        pytest.param(
            report(gate(name="latency", ci=(0.0, 0.0), unit=Unit.MILLISECONDS, before=90.0, now=90.0)), "pass", PASS,
            "No value changed: latency stays at 90.00 ms (300 questions).", id="times have no lists",
        ),
        pytest.param(
            report(gate(name="latency(quantile=0.95)", ci=(0.0, 0.0), before=90.0, now=90.0, **TIMES)), "pass", PASS,
            "No change: latency(quantile=0.95) stays at 90.00 ms (300 questions).", id="others may have changed",
        ),
        pytest.param(
            report(gate(before=0.6, now=0.8, ci=(0.1, 0.3))), "pass", PASS,
            "A loss of recall@5 is ruled out (300 questions, 80.0%, +20.0).", id="better",
        ),
        pytest.param(
            report(gate(FAIL, before=0.89, now=0.4, floor=0.9, drop=None)), "gate_fails", FAIL,
            "Do not merge: recall@5 is 40.0%, below the floor of 90.0%; the baseline was below it, too (89.0%, 49.0 "
            "points better).",
            id="a floor that the baseline hardly missed",
        ),
        pytest.param(
            report(gate(FAIL, queries=["q-3"], reasons=[Reason(ReasonKind.MUST_PASS, count=1)])), "gate_fails", FAIL,
            "Do not merge: q-3 must pass and does not (recall@5).", id="a question that must pass",
        ),
        pytest.param(
            report(
                gate(name="latency", before=90.0, now=122.4, drop=60.0, **TIMES),
                lost_parts=[replace(PART, metric="latency", before=102.9, now=502.0, **TIMES)],
            ),
            "lost_part", WARN,
            "latency holds overall (+32.4 ms, allowed), but it rose by 399.1 ms in lang:th: 9 of 25 questions got "
            "worse.",
            id="a part that got slower",
        ),
    ],
)  # fmt: skip
def test_each_kind_has_its_sentence(found: Report, kind: str, verdict: Verdict, sentence: str) -> None:
    assert (found.conclusion.kind.value, found.verdict, found.summary) == (kind, verdict, sentence)
    assert len(sentence.split(". ", maxsplit=1)[0].split()) <= 30


def test_the_largest_violation_is_named_and_floors_come_before_drops() -> None:
    mild = gate(FAIL, name="hit@5", now=0.86, before=0.9)
    floor = gate(FAIL, name="mrr", before=0.8, now=0.7, floor=0.73, drop=None)
    assert report(mild, LOST, floor).conclusion.gate == "recall@5"  # 3.0 beyond the limit, as the floor is: before it
    slow = gate(
        FAIL, name="latency", unit=Unit.MILLISECONDS, direction=Direction.LOWER, before=100.0, now=900.0, drop=10.0
    )
    assert report(slow, mild).conclusion.gate == "hit@5"  # points before other units
    assert report(slow, gate(WARN, now=0.2)).conclusion.gate == "latency"  # what fails before what warns


def test_gates_of_one_cause_are_counted_apart() -> None:
    other = replace(LOST, name="mrr", metric="mrr")
    third = replace(LOST, name="hit@5", metric="hit@5")
    losers = {
        LOST.row_key: ["a", "b", "c", "d", "e"],
        other.row_key: ["a", "b", "c", "d", "x"],  # 80 % of them
        third.row_key: ["a", "x", "y"],
    }
    found = report(LOST, other, third, losers=losers)
    assert (found.conclusion.counts["same_cause"], found.conclusion.counts["gates_fail"]) == (1, 1)
    assert found.summary.endswith("3.0 allowed; 1 more gate fails; 1 more gate fails with it.")
    assert found.conclusion.next == ["rankgate", "explain", "a", "--run", "run.jsonl"]
    with_part = report(LOST, other, third, gate(FAIL, name="map", segment="lang:th", now=0.87), losers=losers)
    assert with_part.summary.endswith("3.0 allowed; 1 more part and 2 more gates fail.")


def test_a_segment_of_two_rules_counts_once_and_holds_by_both() -> None:
    floors = [gate(FAIL, segment="lang:de", now=0.7, floor=0.9), *map(holds, ("lang:en", "lang:fr"))]
    drops = [gate(FAIL, segment="lang:de", now=0.7), holds("lang:en"), gate(FAIL, segment="lang:fr", now=0.86)]
    found = report(gate(), *floors, *drops)
    assert (found.conclusion.segment, found.conclusion.counts["segments_hold"]) == ("lang:de", 1)
    assert [row.name for row in first_rows(found, 9).rows if row.kind == "rest"] == [("1 other language",)]


def test_a_segment_that_one_of_two_rules_cannot_prove_is_unproven_and_one_that_is_too_small_for_one_holds() -> None:
    floors = [gate(FAIL, segment="lang:de", now=0.7, floor=0.9), *map(holds, ("lang:en", "lang:fr"))]
    unproven = holds("lang:en", evidence_state=EvidenceState.INCONCLUSIVE)
    found = report(gate(), *floors, gate(FAIL, segment="lang:de", now=0.7), unproven, holds("lang:fr", too_small=True))
    counts = found.conclusion.counts
    assert (counts["segments_hold"], counts["segments_unproven"]) == (1, 1)
    assert [row.name for row in first_rows(found, 9).rows if row.kind == "rest"] == [("2 other languages, 1 unproven",)]


def holds(segment: str, **more: Any) -> GateResult:
    return gate(segment=segment, n=100, **more)


@pytest.mark.parametrize(
    ("gates", "strength"),
    [
        pytest.param(
            [gate(ci=(-0.01, 0.01)), gate(name="mrr", ci=(-0.2, 0.1))], Strength.NOT_EXCLUDED, id="the weakest"
        ),
        pytest.param(
            [gate(ci=(-0.01, 0.01)), gate(name="mrr", ci=(-0.2, 0.1), severity="warning")], Strength.RULED_OUT,
            id="of gates that block",
        ),
        pytest.param([gate(ci=(None, 0.1))], Strength.NOT_EXCLUDED, id="without a bound"),
        pytest.param([gate(ci=(-0.011, 0.011))], Strength.RULED_OUT, id="lists changed and no value did"),
    ],
)  # fmt: skip
def test_a_pass_is_as_strong_as_the_weakest_of_its_gates(gates: list[GateResult], strength: Strength) -> None:
    assert report(*gates).conclusion.strength is strength


@pytest.mark.parametrize(
    ("found", "code"),
    [
        pytest.param(report(gate(before=0.607, now=0.6, ci=(-0.147, 0.111))), 0, id="a pass within noise"),
        pytest.param(report(gate(), lost_parts=[PART]), 1, id="a part"),
        pytest.param(report(gate(), given_up=[GIVEN_UP]), 1, id="small losses"),
        pytest.param(report(gate(WARN, now=0.84)), 1, id="a gate"),
    ],
)
def test_every_warning_counts_where_warnings_fail(found: Report, code: int) -> None:
    assert exit_code(found, "warn") == code
    assert exit_code(found) == 0


QUESTION = {("recall@5", None): ["q1"]}
EXPLAINED = ["explain", "q1", "--run", "run.jsonl"]
OVER_TRAFFIC = gate(
    FAIL, now=0.84, before=0.9, reasons=[Reason(ReasonKind.TRAFFIC, ruling=Ruling.VIOLATED, count=40, among=40)]
)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param(report(LOST, losers=QUESTION), EXPLAINED, id="what the criteria name is not said"),
        pytest.param(
            report(LOST, losers=QUESTION, call=Call(options={"gold": "g.jsonl", "baseline": "b"})),
            [*EXPLAINED, "--gold", "g.jsonl", "--baseline", "b"],
            id="what they do not name is",
        ),
        pytest.param(
            report(LOST, losers={("recall@5", None): ["--help"]}),
            ["explain", "--run", "run.jsonl", "--", "--help"],
            id="a question that looks like an option",
        ),
        pytest.param(
            report(
                gate(FAIL, before=0.84, now=0.84, floor=0.85, drop=None), lowest={("recall@5", None): "q1"}
            ),
            EXPLAINED,
            id="a floor, where nothing got worse",
        ),
        pytest.param(
            report(LOST, empties=Empties(empty=9, total=9, first="q1"), call=Call(retriever=True)),
            ["record", "--only", "q1"],
            id="an empty run of a retriever that the criteria name",
        ),
        pytest.param(
            report(LOST, empties=Empties(empty=9, total=9, first="-q"), call=Call(retriever=True)),
            ["record", "--only=-q"],
            id="one whose first question looks like an option",
        ),
        pytest.param(
            report(LOST, empties=Empties(empty=9, total=9, first="q1"), call=Call()),
            EXPLAINED,
            id="an empty run of another",
        ),
        pytest.param(
            report(gate(WARN, before=None), call=Call(store=True)), ["baseline", "accept"], id="a first run"
        ),
        pytest.param(
            report(gate(WARN, before=None), call=Call()),
            ["baseline", "accept", "--to", "baseline"],
            id="a first run, and no place for it",
        ),
        pytest.param(report(gate(ci=(-0.01, 0.01))), [], id="nothing after a strong pass"),
        pytest.param(
            report(OVER_TRAFFIC, losers=QUESTION, call=Call(options={"gold": "g.jsonl", "run": "r.jsonl"})),
            ["check", "--gold", "g.jsonl", "--run", "r.jsonl", "-o", "report.html"],
            id="the page of the traffic that changed, whatever questions of the gold set lost",
        ),
    ],
)  # fmt: skip
def test_the_next_command_is_complete(found: Report, words: list[str]) -> None:
    assert found.conclusion.next == (["rankgate", *words] if words else [])


def test_only_gates_that_may_block_say_how_strong_a_pass_is() -> None:
    floor, warns = gate(drop=None, floor=0.5), gate(name="mrr", severity="warning", ci=(-0.01, 0.01))
    assert report(floor, warns).conclusion.strength is Strength.FLOORS_ONLY
    assert report(warns).conclusion.strength is Strength.RULED_OUT


@pytest.mark.parametrize(
    ("tag", "shown"),
    [
        pytest.param("x:<img src=y>`@team`", "one part of the questions", id="no name"),
        pytest.param("topic:วีซ่า", "topic:วีซ่า", id="Thai, whose vowels are marks"),
        pytest.param("topic:बीमा राशि", "topic:बीमा राशि", id="Hindi"),
        pytest.param(f"topic:{'วี' * 30}", "one part of the questions", id="a long one"),
    ],
)
def test_a_tag_reaches_the_summary_if_it_is_a_name(tag: str, shown: str) -> None:
    assert f"{shown} lost 40.0 points" in report(replace(THAI, segment=tag)).summary


def test_whether_a_problem_ends_a_sentence_is_seen_before_it_is_spelled() -> None:
    problems = [Problem("no such file; did you mean 'run.jsonl'?", "runs.jsonl")]
    found = with_conclusion(Report(verdict=Verdict.NOT_JUDGED, summary="", provenance=RUN, problems=problems))
    assert sentence(found, text=lambda _: "…") == "…"


def test_other_empty_tags_are_warnings_in_place_of_what_they_lost() -> None:
    found = report(gate(), lost_parts=[PART], empties=Empties(empty=68, total=300, segments=EMPTY_TAGS))
    texts = ["none of the 20 questions of lang:de got a result", "none of the 23 questions of topic:visa got a result"]
    assert other_sentences(found) == [(WARN, text) for text in texts]


def test_no_conclusion_is_milder_than_its_verdict() -> None:
    kinds = list(ConclusionKind)
    assert kinds.index(report(LOST, warnings=["old"]).conclusion.kind) < kinds.index(ConclusionKind.OTHER_CODE)
