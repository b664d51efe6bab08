"""What the report says in words: the sentence of every verdict, the notes, and what is said without a verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.gates.deciding import decide
from tests.gates.test_decide import scores
from tests.renderers.reports import FELL, RECALL
from tests.report_keys import report_from
from tests.rows import each_row

from rankgate import __version__
from rankgate.criteria import Criteria, Gate, InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.waivers import Waivers
from rankgate.diagnosis.gold_set import queries_fingerprint
from rankgate.errors import Problem, ProblemKind
from rankgate.gates.compose import MAX_IDS, compose
from rankgate.gates.conclude import empties_of, with_conclusion
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.not_judged import ISSUES, internal_error, not_judged
from rankgate.gates.results import changes_of
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_baseline import as_baseline
from rankgate.metrics.scored_run import ScoredRun
from rankgate.metrics.scoring import score
from rankgate.model.conclusion import Empties
from rankgate.model.gate_result import GateResult
from rankgate.model.lineage import Difference, GoldChanges, GoldMark
from rankgate.model.report import BaselineSource, Diagnosis, Moved, Provenance, Queries, Report, Source
from rankgate.model.report_text import decode_report, encode_report
from rankgate.model.scores import KeptQueries, RankSummary
from rankgate.model.values import (
    Gold,
    Ranking,
    Reason,
    ReasonKind,
    Ruling,
    Sample,
    Verdict,
)
from rankgate.readers.base import Run, deduplicated

PASS, WARN, FAIL, NOT_JUDGED = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED


def result(verdict: Verdict, metric: str = "recall@5", *reasons: Reason) -> GateResult:
    held = Reason(ReasonKind.THRESHOLD, ruling=Ruling.HOLDS)
    return changed(RECALL, name=metric, metric=metric, verdict=verdict, reasons=list(reasons) or [held], line=None)


def headline(
    verdict: Verdict, results: list[GateResult], problems: Sequence[Problem] = (), warnings: Sequence[str] = ()
) -> str:
    provenance = Provenance(rankgate="0.1.0", date="2026-01-31")
    report = report_from(
        verdict=verdict,
        summary="",
        gates=results,
        provenance=provenance,
        problems=list(problems),
        warnings=list(warnings),
    )
    return with_conclusion(report).summary


NO_BASELINE = Reason(ReasonKind.NO_BASELINE)


SAMPLES = {"q1": ["a"], "q2": ["b"], "q3": ["c", "d"], "none": []}
ACCEPTED = {"q1": "a x", "q2": "x b", "q3": "c d x", "none": "x"}
SAME_QUESTIONS = {query: Sample(query_id=query, gains={}) for query in SAMPLES}
ASKED = queries_fingerprint(Gold(samples=SAME_QUESTIONS, name="gold.yaml", format="yaml"))
INPUTS = Inputs(criteria="ship-criteria.yaml", date="2026-01-31")


def gate(metric: str, *, floor: float | None = None, drop: float | None = None) -> Gate:
    return Gate(name=f"the {metric}", metric=parse_metric(metric), threshold=floor, regression_max=drop, line=3)


SAID = {"system": "bm25", "index": 7}


def accepted_with(*queries: str) -> GoldMark:
    """The gold set of an accepted run, with the same judgments and no other questions."""
    return GoldMark(
        path="g",
        queries=len(queries),
        fingerprint="f00d",
        queries_fingerprint=ASKED,
        judged=dict.fromkeys(queries, ""),
    )


def composed(
    now: Mapping[str, str],
    before: Mapping[str, str] | None = None,
    *,
    gates: Sequence[Gate] = (gate("recall@5", floor=0.5, drop=0.03),),
    samples: Mapping[str, Sequence[str]] = SAMPLES,
    depth: int | None = None,
    inputs: Inputs = INPUTS,
    run_name: str = "run.jsonl",
    diagnosis: Sequence[Diagnosis] = (),
    mark: GoldMark | None = None,
    said_before: Mapping[str, object] = SAID,
) -> Report:
    """The steps of a check on rankings written as words."""
    criteria = Criteria(name="ship-criteria.yaml", gates=tuple(gates), default_k=5)
    made = {query: Sample(query_id=query, gains=dict.fromkeys(ids, 1.0)) for query, ids in samples.items()}
    gold = Gold(samples=made, name="gold.yaml", format="yaml", fingerprint="f00d")
    metrics = criteria.metrics()

    def side(
        name: str, lists: Mapping[str, str], depth_of_run: int | None, about: Mapping[str, object] = SAID
    ) -> ScoredRun:
        rankings = [Ranking(query, *deduplicated(ids.split())) for query, ids in lists.items()]
        opened = Run(name=name, format="jsonl", rankings=iter(()), provenance=about, depth=depth_of_run, gold=mark)
        return ScoredRun(opened, score(gold, rankings, Plan(metrics=metrics, depth=depth, keep_matched=True)))

    candidate = side(run_name, now, None)
    baseline = side("baseline", before, depth, said_before) if before is not None else None
    if baseline is not None:
        baseline = replace(baseline, scores=as_baseline(gold, baseline.run, baseline.scores))
    old = baseline.scores if baseline else None
    results = [decide(each, candidate.scores, old) for each in gates]
    plan = Plan(metrics=metrics, depth=depth)
    case = Case(inputs=inputs, criteria=criteria, gold=gold, waivers=Waivers(name="ship-waivers.yaml"))
    evaluation = Evaluation(gold=gold, plan=plan, run=candidate, baseline=baseline)
    changes = replace(changes_of(case, evaluation, results), findings=list(diagnosis))
    return compose(case, evaluation, results, changes)


def without(*queries: str) -> dict[str, str]:
    return {query: ids for query, ids in ACCEPTED.items() if query not in queries}


FLOOR = (gate("recall@5", floor=0.5),)
WHOLE_LIST = (gate("mrr", drop=0.5),)


@each_row(
    ("make", "notes"),
    [
        pytest.param(lambda: composed(ACCEPTED, ACCEPTED), [], id="nothing to note"),
        pytest.param(
            lambda: composed(without("q1"), ACCEPTED),
            ["1 question is absent from the run; where relevance is scored, that counts as the worst."],
            id="one absent query",
        ),
        pytest.param(
            lambda: composed(without("q1", "q2"), ACCEPTED),
            ["2 questions are absent from the run; where relevance is scored, that counts as the worst."],
            id="two absent queries",
        ),
        pytest.param(
            lambda: composed({**ACCEPTED, "z": "a"}, ACCEPTED),
            ["1 question of the run has no judgment and was ignored."],
            id="one stranger",
        ),
        pytest.param(
            lambda: composed({**ACCEPTED, "y": "a", "z": "a"}, ACCEPTED),
            ["2 questions of the run have no judgment and were ignored."],
            id="two strangers",
        ),
        pytest.param(
            lambda: composed({**ACCEPTED, "q1": "a a"}, ACCEPTED),
            ["1 repeated id was removed from the rankings."],
            id="one repeated id",
        ),
        pytest.param(
            lambda: composed({**ACCEPTED, "q1": "a a a"}, ACCEPTED),
            ["2 repeated ids were removed from the rankings."],
            id="two repeated ids",
        ),
        pytest.param(
            lambda: composed(ACCEPTED),
            ["There is no baseline yet: floors were judged, drops were not."],
            id="no baseline",
        ),
        pytest.param(lambda: composed(ACCEPTED, gates=FLOOR), [], id="no baseline, and no gate that would need one"),
        pytest.param(
            lambda: composed(ACCEPTED, without("q2"), mark=accepted_with("q1", "q3", "none")),
            ["1 question is absent from the baseline, and not compared."],
            id="one new query",
        ),
        pytest.param(
            lambda: composed(ACCEPTED, without("q2", "q3"), mark=accepted_with("q1", "none")),
            ["2 questions are absent from the baseline, and not compared."],
            id="two new queries",
        ),
        pytest.param(
            lambda: composed(ACCEPTED, without("q2", "q3"), mark=accepted_with("q1", "q2", "none")),
            [
                "1 question is absent from the baseline; where relevance is scored, that counts as the worst.",
                "1 question is absent from the baseline, and not compared.",
            ],
            id="one that the baseline was asked, and a new one",
        ),
        pytest.param(
            lambda: composed({**ACCEPTED, "q1": "a x y z"}, ACCEPTED, depth=3, gates=WHOLE_LIST),
            ["To be compared, lists were cut at rank 3, the depth of the baseline, on both sides."],
            id="a list longer than the baseline is deep",
        ),
        pytest.param(
            lambda: composed({**ACCEPTED, "q1": "a x y z"}, ACCEPTED, depth=4, gates=WHOLE_LIST),
            [],
            id="no list longer than the baseline is deep",
        ),
        pytest.param(
            lambda: composed({**ACCEPTED, "q1": "a x y z"}, ACCEPTED, depth=3),
            [],
            id="a longer list, of which no gate sees the end",
        ),
        pytest.param(
            lambda: composed(ACCEPTED, gates=(gate("recall@5", drop=0.03),)),
            ["There is no baseline yet: drops were not judged."],
            id="no baseline, and no floor either",
        ),
        pytest.param(
            lambda: composed(
                {"q1": "a x y z z", "q3": "c", "none": "", "w": ""},
                without("q1", "none"),
                depth=3,
                gates=WHOLE_LIST,
                mark=accepted_with("q2", "q3"),
            ),
            [
                "1 question is absent from the run; where relevance is scored, that counts as the worst.",
                "1 question of the run has no judgment and was ignored.",
                "1 repeated id was removed from the rankings.",
                "2 questions are absent from the baseline, and not compared.",
                "To be compared, lists were cut at rank 3, the depth of the baseline, on both sides.",
            ],
            id="all at once, in this order",
        ),
    ],
)
def test_notes(make: Callable[[], Report], notes: list[str]) -> None:
    """What so few questions cannot see is a note of its own, and the last: see test_detectable.py."""
    assert [note for note in make().remarks.notes if "from noise" not in note] == notes


def test_what_became_of_the_queries() -> None:
    mark = accepted_with("q2", "q3", "none")
    found = composed({"q1": "a a", "q3": "c", "none": "", "z": "a"}, without("q1"), mark=mark)
    assert found.measured.queries == Queries(
        total=4, scored=3, no_relevant=1, missing=1, missing_ids=["q2"], unjudged=1, duplicates=1, new=1
    )


def test_a_few_absent_queries_are_named_in_the_order_of_the_gold() -> None:
    samples = {f"q{number}": ["a"] for number in range(30)}
    found = composed({"q3": "a"}, samples=samples).measured.queries
    assert found is not None
    assert found.missing == 29
    assert found.missing_ids == [f"q{number}" for number in range(30) if number != 3][:MAX_IDS]
    assert MAX_IDS == 20


def test_metrics_stand_in_the_order_of_the_gates_each_once() -> None:
    gates = [gate("mrr", floor=0.1), gate("recall@5", floor=0.1), gate("MRR", drop=0.5)]
    found = composed(ACCEPTED, ACCEPTED, gates=gates)
    assert list(found.measured.metrics) == list(found.measured.baseline_metrics) == ["mrr", "recall@5"]
    assert [each.metric for each in found.gates] == ["mrr", "recall@5", "mrr"]


def test_metrics_of_both_runs_with_what_was_left_out() -> None:
    found = composed(without("q1"), without("q2"), mark=accepted_with("q1", "q3", "none"))
    now, before = found.measured.metrics["recall@5"], found.measured.baseline_metrics["recall@5"]
    assert now.value == pytest.approx(2 / 3)
    assert (now.n, now.undefined) == (3, 1)
    assert (before.value, before.n, before.undefined) == (1.0, 2, 2), (
        "a query that is new to the baseline is not its zero"
    )


def test_the_first_of_empty_lists_is_that_which_had_most() -> None:
    found = composed({**without("q2"), "q1": "", "q3": ""}, ACCEPTED).measured.empties
    assert found == Empties(empty=3, total=3, absent=1, first="q3", before=3)


def test_values_without_lists_are_no_empty_lists() -> None:
    gold = Gold(samples={"q0": Sample(query_id="q0", gains={"a": 1.0})}, name="gold", format="python")
    of_values, absent = scores([0.5]), scores([0.0], missing=[0])
    of_table = replace(of_values, kept=KeptQueries(rank_summaries={"q0": RankSummary((None,), None, 5, ())}))
    assert [empties_of(gold, each, None) for each in (of_values, of_table)] == [None, None]
    assert empties_of(gold, absent, None) == Empties(empty=1, total=1, absent=1, first="q0")


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_a_run_compared_with_itself_has_the_same_numbers_as_its_baseline(confidence: float) -> None:
    """Those of the run are taken from a gate at 95 %; no question can reach a recall@5 of 1."""
    lists = {f"q{number}": "a b x" if number % 2 else "a x" for number in range(12)}
    own = gate("recall@5", drop=0.03).model_copy(update={"confidence": confidence})
    found = composed(lists, lists, samples=dict.fromkeys(lists, "abcdefgh"), gates=[own]).measured
    now, before = found.metrics["recall@5"], found.baseline_metrics["recall@5"]
    assert now.ci is not None
    assert replace(now, missing=before.missing) == before


def test_a_metric_without_a_value_is_null_and_a_problem_at_the_gates_line() -> None:
    found = composed(ACCEPTED, gates=[gate("recall@5", floor=0.1), gate("latency", floor=50.0)])
    latency = found.measured.metrics["latency"]
    assert (latency.value, latency.n, latency.undefined) == (None, 0, 4)
    assert found.verdict is NOT_JUDGED
    (problem,) = found.problems
    assert str(problem).startswith("ship-criteria.yaml:3: gate the latency: latency is missing (absent, null or NaN)")


@pytest.mark.parametrize(
    ("now", "before", "moved"),
    [
        pytest.param(ACCEPTED, None, None, id="without a baseline nothing can move"),
        pytest.param(ACCEPTED, ACCEPTED, Moved(worse=0, better=0), id="the same run"),
        pytest.param({**ACCEPTED, "q1": "x", "q2": "x"}, ACCEPTED, Moved(worse=2, better=0), id="two lost"),
        pytest.param({**ACCEPTED, "q1": "x"}, {**ACCEPTED, "q2": "x"}, Moved(worse=1, better=1), id="one each way"),
        pytest.param({**ACCEPTED, "q3": "c"}, {**ACCEPTED, "q3": "d"}, Moved(worse=0, better=0), id="one for another"),
    ],
)
def test_how_many_questions_moved(
    now: Mapping[str, str], before: Mapping[str, str] | None, moved: Moved | None
) -> None:
    assert composed(now, before).changes.moved == moved


def test_provenance_says_what_was_compared_and_how_to_do_it_again() -> None:
    about = {"index": 7, "system": "bm25"}
    found = composed(ACCEPTED, ACCEPTED, depth=3).provenance
    assert len(found.gold_queries_fingerprint or "") == 64
    assert found == Provenance(
        rankgate=__version__,
        date="2026-01-31",
        criteria="ship-criteria.yaml",
        gold=Source(path="gold.yaml", format="yaml"),
        gold_fingerprint="f00d",
        gold_queries_fingerprint=found.gold_queries_fingerprint,
        run=Source(path="run.jsonl", format="jsonl", about=about),
        baseline=BaselineSource(path="baseline", format="jsonl", about=about),
        depth=3,
        command=[
            *("rankgate", "check", "--criteria", "ship-criteria.yaml", "--gold", "gold.yaml"),
            *("--run", "run.jsonl", "--baseline", "baseline"),
        ],
    )


OTHER_INDEX = Difference(what="index", before="6", after="7")
OTHER_LABELS = Difference(what="gold", key="labels", before="cafe", after="f00d")
CAFE = GoldMark(path="g", queries=4, fingerprint="cafe", queries_fingerprint=ASKED)
STRANGERS = Inputs(criteria="ship-criteria.yaml", date="2026-01-31", untrusted_run=True)


@pytest.mark.parametrize(
    ("made", "differences"),
    [
        pytest.param(composed(ACCEPTED, ACCEPTED), [], id="nothing"),
        pytest.param(composed(ACCEPTED), [], id="without a baseline there is nothing to differ from"),
        pytest.param(
            composed(ACCEPTED, ACCEPTED, said_before={**SAID, "index": 6}, mark=CAFE),
            [OTHER_INDEX, OTHER_LABELS],
            id="what the runs say, and the gold set",
        ),
        pytest.param(
            composed(ACCEPTED, ACCEPTED, said_before={**SAID, "index": 6}, mark=CAFE, inputs=STRANGERS),
            [OTHER_LABELS],
            id="nothing is read of what a stranger's run says, so it does not differ",
        ),
    ],
)
def test_what_differs_from_the_baseline(made: Report, differences: list[Difference]) -> None:
    assert made.explanation.differences == differences


def test_what_a_run_says_of_itself_stands_in_the_order_of_the_alphabet() -> None:
    """The same facts read the same, whichever a system writes first."""
    run = composed(ACCEPTED).provenance.run
    assert run is not None
    assert list(run.about) == ["index", "system"]


def test_without_a_baseline_none_is_in_the_provenance() -> None:
    found = composed(ACCEPTED).provenance
    assert (found.baseline, found.depth) == (None, None)
    assert "--baseline" not in found.command


def test_the_command_names_standard_input_as_it_is_typed() -> None:
    inputs = Inputs(criteria="ship-criteria.yaml", date="2026-01-31", run=InputFile("-"))
    command = composed(ACCEPTED, inputs=inputs, run_name="standard input").provenance.command
    assert command[command.index("--run") + 1] == "-"


def test_the_command_names_the_verdicts_that_were_named() -> None:
    inputs = Inputs(criteria="ship-criteria.yaml", date="2026-01-31", verdicts="of a judge.jsonl")
    command = composed(ACCEPTED, inputs=inputs).provenance.command
    assert command[command.index("--verdicts") + 1] == "of a judge.jsonl"
    assert "--verdicts" not in composed(ACCEPTED).provenance.command


def test_the_command_forces_the_format_that_was_forced() -> None:
    inputs = Inputs(criteria="ship-criteria.yaml", date="2026-01-31", run=InputFile("run.jsonl", "jsonl"))
    command = composed(ACCEPTED, inputs=inputs).provenance.command
    assert command[command.index("--run") + 1] == "jsonl:run.jsonl"


@pytest.mark.parametrize(
    ("before", "lists", "verdict"),
    [
        pytest.param(None, ACCEPTED, WARN, id="warn"),
        pytest.param(ACCEPTED, ACCEPTED, PASS, id="pass"),
        pytest.param(ACCEPTED, {"q1": ""}, FAIL, id="fail"),
        pytest.param({"z": "a"}, ACCEPTED, NOT_JUDGED, id="not judged"),
    ],
)
def test_the_verdict_is_the_worst_of_the_gates(
    before: Mapping[str, str] | None, lists: Mapping[str, str], verdict: Verdict
) -> None:
    gates = [gate("mrr", floor=0.0), gate("recall@5", floor=0.5, drop=0.03), gate("hit@5", floor=0.0)]
    assert composed(lists, before, gates=gates).verdict is verdict


STALE = Diagnosis(rule="stale_ids", finding="the ids of the gold set: …", evidence={})


@pytest.mark.parametrize(
    ("lists", "verdict", "begins"),
    [
        pytest.param(
            ACCEPTED, WARN, "May be merged, with a warning: the gold set is partly stale", id="pass becomes warn"
        ),
        pytest.param({"q1": "x", "q2": "y", "q3": "z"}, FAIL, "Do not merge: recall@5 lost", id="a fail stays one"),
    ],
)
def test_a_partly_stale_gold_set_warns(lists: Mapping[str, str], verdict: Verdict, begins: str) -> None:
    found = composed(lists, ACCEPTED, diagnosis=[STALE])
    assert (found.verdict, sum("stale" in each for each in found.remarks.warnings)) == (verdict, 1)
    assert found.summary.startswith(begins)


@pytest.mark.parametrize("verdict", [WARN, FAIL])
def test_a_drop_leads_the_headline_whatever_warns_beside_it(verdict: Verdict) -> None:
    both = headline(verdict, [result(PASS), result(verdict, "mrr", FELL)], [], ["the gold set is partly stale"])
    assert "mrr" in both
    assert "stale" not in both


def test_a_warning_leads_where_gates_only_lack_a_baseline() -> None:
    lacking = changed(result(WARN, "mrr"), reasons=[NO_BASELINE])
    assert headline(WARN, [lacking], [], ["it is old"]) == "May be merged, with a warning: it is old."


def test_other_findings_warn_of_nothing() -> None:
    found = composed(ACCEPTED, ACCEPTED, diagnosis=[replace(STALE, rule="order")])
    assert (found.verdict, found.remarks.warnings) == (PASS, [])


def test_a_stale_gold_set_is_said_in_the_first_line() -> None:
    problem = Problem("0 of 9 relevant ids occur in any ranking", "gold.yaml", kind=ProblemKind.GOLD_STALE)
    assert headline(NOT_JUDGED, [], [problem]) == "gold.yaml: 0 of 9 relevant ids occur in any ranking."


@pytest.mark.parametrize(
    ("gates", "lists", "said"),
    [
        pytest.param(WHOLE_LIST, "a v w x", True, id="twice as long"),
        pytest.param(WHOLE_LIST, "a v w", False, id="about as long"),
        pytest.param(FLOOR, "a v w x", False, id="no metric of the whole list"),
    ],
)
def test_lists_of_another_length_are_noted(gates: Sequence[Gate], lists: str, *, said: bool) -> None:
    before = dict.fromkeys(ACCEPTED, "a v")
    told = "Lists have up to 4 results now, 2 in the baseline; metrics of the whole list see that."
    assert (told in composed({**before, "q1": lists}, before, gates=gates).remarks.notes) is said


def test_what_changed_in_the_gold_set_is_in_the_report_and_a_note() -> None:
    found = composed(
        ACCEPTED, ACCEPTED, mark=GoldMark(path="gold.yaml", queries=3, fingerprint="other", queries_fingerprint=ASKED)
    )
    assert found.explanation.gold_changes == GoldChanges(queries=3)
    told = "The gold set changed since the baseline was accepted; both runs are scored with today's."
    assert told in found.remarks.notes
    assert composed(ACCEPTED, ACCEPTED).explanation.gold_changes is None


def test_a_report_without_a_verdict_says_why_and_of_what() -> None:
    inputs = Inputs(
        criteria="ship-criteria.yaml",
        date="2026-01-31",
        gold=InputFile("gold.yaml"),
        run=InputFile("results/run.txt", "trec"),
    )
    problems = [Problem("no such file", "gold.yaml"), Problem("broken", "results/run.txt", 7, "q1")]
    found = not_judged(inputs, problems)
    assert (found.verdict, found.problems) == (NOT_JUDGED, problems)
    assert found.summary == "gold.yaml: no such file. 1 more problem below."
    assert found.provenance == Provenance(
        rankgate=__version__,
        date="2026-01-31",
        criteria="ship-criteria.yaml",
        gold=Source(path="gold.yaml", format="not read"),
        run=Source(path="results/run.txt", format="trec"),
    )


def test_a_report_without_a_verdict_survives_the_round_trip() -> None:
    report = not_judged(INPUTS, [Problem("bad", "x.yaml", 1, "gates[0]"), Problem("worse")])
    assert decode_report(encode_report(report).encode(), "report.json") == report


VERSIONS = f"(rankgate {__version__}, Python {'.'.join(map(str, sys.version_info[:3]))})"
PLEA = f"this is our bug, please report this line at {ISSUES}"


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error) as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "what"),
    [
        pytest.param(ValueError("no root"), "ValueError: no root", id="its type and text"),
        pytest.param(KeyError("q1"), "KeyError: 'q1'", id="a missing key"),
        pytest.param(ValueError("one\n  two\tthree"), "ValueError: one two three", id="on one line"),
        pytest.param(ValueError("x" * 500), f"ValueError: {'x' * 200}", id="cut"),
        pytest.param(RecursionError(), "RecursionError", id="without a text"),
    ],
)
def test_an_internal_error_is_one_line_to_report(error: BaseException, what: str) -> None:
    assert internal_error(raised(error)) == Problem(
        f"internal error: {what} {VERSIONS}; {PLEA}", kind=ProblemKind.INTERNAL
    )


def test_an_internal_error_names_the_place_in_rankgate() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        parse_metric("recall@5").aggregate([])
    assert caught.value.__traceback__ is not None
    innermost = caught.traceback[-1]
    place = f"rankgate.metrics.base:{innermost.lineno + 1}"
    assert internal_error(caught.value).message == (
        f"internal error: ZeroDivisionError: {caught.value} in {place} {VERSIONS}; {PLEA}"
    )
