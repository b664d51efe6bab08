"""Values that another tool gives a query: missing is not undefined, and numbers of two judges are not compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.json_lines import write_lines

from rankgate.cli import main

N = 120
DATE = ["--date", "2026-01-31"]
Line = dict[str, Any]
Edit = Callable[[int], Line]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tags = ["lang:en" if number % 4 else "lang:pt" for number in range(N)]
    write_lines(
        "gold.jsonl",
        [
            {
                "id": f"q{number}",
                "expected_output": ["d"],
                "metadata": {"tags": [tag], "source": "kb", "entities": ["e"]},
            }
            for number, tag in enumerate(tags)
        ],
    )
    return tmp_path


def run(path: str, edit: Edit) -> None:
    write_lines(path, [{"query_id": f"q{number}", "topk": ["d"], **edit(number)} for number in range(N)])


def scored(value: float | None = 0.8, **more: Any) -> Line:
    return {"scores": {"f": value}, **more}


def first(count: int, then: Edit, otherwise: Edit = lambda _: scored()) -> Edit:
    return lambda number: then(number) if number < count else otherwise(number)


def check(metric: str = "score(f)", *, baseline: str | None = "old.jsonl", **gate: Any) -> tuple[int, dict[str, Any]]:
    limits = {"direction": "higher", "threshold": 0.5, "regression_max": 0.05} | gate
    limits = {key: value for key, value in limits.items() if value is not None}
    inputs = {"gold": "gold.jsonl", "run": "new.jsonl"} | ({"baseline": baseline} if baseline else {})
    criteria = {"gates": [{"name": "g", "metric": metric, **limits}], "inputs": inputs}
    Path("ship-criteria.yaml").write_text(json.dumps(criteria), encoding="utf-8")
    code = main(["check", "--all", "-o", "report.json", "-o", "comment.md", *DATE])
    report: dict[str, Any] = json.loads(Path("report.json").read_text(encoding="utf-8"))
    return code, report


def nothing(_: int) -> Line:
    return {}


def absent_key(_: int) -> Line:
    return {"scores": {"other": 1.0}}


ADVICE = {"run": "state it, or raise `max_unjudged`", "baseline": "accept a run that states it"}


def missing(count: int, source: str = "run", *, among: int = N, metric: str = "score(f)") -> str:
    lacks = f"{metric} is missing (absent, null or NaN) for {count} of {among} questions in the {source}"
    advice = "state it, or correct its name" if count == among and source == "run" else ADVICE[source]
    return f"{lacks}; {advice}"


def null(_: int) -> Line:
    return scored(None)


@pytest.mark.parametrize(
    ("new", "old", "verdict", "reason"),
    [
        pytest.param(first(72, absent_key), first(0, nothing), "not_judged", missing(72), id="in the run"),
        pytest.param(first(72, nothing), first(0, nothing), "not_judged", missing(72), id="no scores"),
        pytest.param(first(72, lambda _: {"scores": {}}), first(0, nothing), "not_judged", missing(72), id="empty"),
        pytest.param(
            first(0, nothing), first(72, absent_key), "not_judged", missing(72, "baseline"), id="in the baseline"
        ),
        pytest.param(first(2, absent_key), first(0, nothing), "not_judged", missing(2), id="two of 120"),
        pytest.param(first(1, absent_key), first(0, nothing), "pass", None, id="one may always be missing"),
        pytest.param(first(72, absent_key), first(72, absent_key), "not_judged", missing(72), id="on both sides"),
        pytest.param(
            *(first(0, nothing), absent_key, "warn"),
            "the baseline has score(f) for none of the questions that are scored now; accept a run that has it",
            id="a baseline from before the field existed",
        ),
        pytest.param(
            *(first(0, nothing), nothing, "warn"),
            "the baseline states no `scores`, which score(f) reads; accept its run again",
            id="a baseline from before any scores",
        ),
        pytest.param(*(absent_key, first(0, nothing), "not_judged", missing(120)), id="nowhere in the run"),
        pytest.param(first(2, null), first(0, nothing), "not_judged", missing(2), id="null is missing too"),
        pytest.param(first(1, null), first(1, null), "pass", None, id="one null on both sides"),
        pytest.param(null, null, "not_judged", missing(120), id="null everywhere"),
        pytest.param(
            first(0, nothing), first(2, null), "not_judged", missing(2, "baseline"), id="null in the baseline"
        ),
        pytest.param(
            *(first(0, nothing), null, "warn"),
            "the baseline has score(f) for none of the questions that are scored now; accept a run that has it",
            id="a baseline that is null everywhere",
        ),
    ],
)
def test_a_missing_value_is_not_judged_away(new: Edit, old: Edit, verdict: str, reason: str | None) -> None:
    run("new.jsonl", new)
    run("old.jsonl", old)
    code, report = check()
    [gate] = report["gates"]
    assert (gate["verdict"], code) == (verdict, 2 if verdict == "not_judged" else 0)
    assert reason is None or gate["reasons"][0]["text"] == reason
    if verdict == "warn":
        assert gate["evidence_state"] == "no_baseline"


def test_a_gate_that_only_warns_warns_of_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """The other gates are judged, and every output says that it warns and why, at a glance."""
    run("new.jsonl", first(72, null))
    run("old.jsonl", lambda _: scored())
    code, report = check(severity="warning", segments={"by": "lang", "threshold": 0.5})
    assert (code, report["verdict"], report["problems"]) == (0, "warn", [])
    assert {gate["verdict"] for gate in report["gates"]} == {"warn"}
    sentence = f"May be merged, with a warning: {missing(72)}; 2 more parts warn."
    assert report["summary"] == sentence
    assert len(sentence.split()) <= 30
    assert sentence in capsys.readouterr().out
    headline = Path("comment.md").read_text(encoding="utf-8").splitlines()[0]
    assert sentence in headline.replace("`score(f)`", "score(f)")
    assert main(["check", "--fail-on", "warn", *DATE]) == 1


def test_a_gate_that_only_warns_is_not_judged_where_its_segments_may_block() -> None:
    run("new.jsonl", nothing)
    write_lines("old.jsonl", [{"query_id": f"other-{number}", "topk": ["d"]} for number in range(N)])
    for more in ({"severity": "error"}, {"only": {"pt": {"severity": "error"}}}):
        segments = {"by": "lang", "regression_max": 0.1, **more}
        code, report = check("recall@5", direction=None, severity="warning", segments=segments)
        assert (code, report["gates"][0]["verdict"]) == (2, "not_judged")
    code, report = check("recall@5", direction=None, severity="warning", segments={"by": "lang", "regression_max": 0.1})
    assert (code, report["gates"][0]["verdict"]) == (0, "warn")


def test_a_part_that_is_new_since_the_baseline_is_not_said_to_hold() -> None:
    run("new.jsonl", nothing)
    write_lines("old.jsonl", [{"query_id": f"q{number}", "topk": ["d"]} for number in range(N) if number % 4])
    segments = {"by": "lang", "regression_max": 0.1}
    said = "Segments: 1 has nothing to compare with, 1 holds."
    for floor in (None, 0.5):
        code, report = check(
            "recall@5", direction=None, segments={**segments, "threshold": floor} if floor else segments
        )
        assert (code, [gate["verdict"] for gate in report["gates"]]) == (0, ["pass"] * 3)
        comment = Path("comment.md").read_text(encoding="utf-8")
        assert (said in comment, "Segments: 2 hold." in comment) == (floor is None, floor is not None)


@pytest.mark.parametrize("limits", [{"max_unjudged": 1.0}, {"max_unjudged": 1.0, "regression_max": None}])
def test_all_values_missing_are_no_undefined_ones_however_many_may_be(limits: Line) -> None:
    run("new.jsonl", null)
    run("old.jsonl", lambda _: scored())
    code, report = check(**limits)
    assert (code, report["gates"][0]["reasons"][0]["text"]) == (2, missing(120))


def test_where_a_part_alone_lacks_all_its_values_the_name_is_right() -> None:
    run("new.jsonl", lambda number: scored(0.8 if number % 4 else None))
    segments = {"by": "lang", "threshold": 0.5}
    _, report = check(baseline=None, max_unjudged=0.3, regression_max=None, segments=segments)
    reasons = {gate["segment"]: gate["reasons"][0]["text"] for gate in report["gates"]}
    lacks = "score(f) is missing (absent, null or NaN) for 30 of 30 questions in the run"
    assert reasons["lang:pt"] == f"{lacks}; {ADVICE['run']}"


def test_queries_left_out_of_the_run_are_missing_values_too() -> None:
    """Leaving the badly judged half out must not raise the mean."""
    run("old.jsonl", lambda _: scored(0.6))
    write_lines("new.jsonl", [{"query_id": f"q{number}", "topk": ["d"], **scored()} for number in range(60)])
    code, report = check()
    assert (code, report["gates"][0]["reasons"][0]["text"]) == (2, missing(60))


def test_a_floor_is_judged_without_a_baseline_of_the_field() -> None:
    run("new.jsonl", lambda _: scored(0.3))
    run("old.jsonl", absent_key)
    code, report = check()
    assert (code, report["verdict"]) == (1, "fail")
    assert report["gates"][0]["reasons"][0]["text"].startswith("score(f) is 0.300, below the floor of 0.500")


@pytest.mark.parametrize("written", [None, float("nan"), {"value": None}, {"value": float("nan"), "judge": "m"}])
def test_null_and_nan_are_missing_and_allowed_as_far_as_the_criteria_say(written: object) -> None:
    edit = first(40, lambda _: {"scores": {"f": written}, "latency_ms": {"a": 1}})
    run("new.jsonl", edit)
    run("old.jsonl", edit)
    assert check(max_unjudged=0.33)[0] == 2
    code, report = check(max_unjudged=0.34)
    [gate] = report["gates"]
    assert (code, gate["verdict"], gate["n"], report["metrics"]["score(f)"]["missing"]) == (0, "pass", 80, 40)
    assert [each["text"] for each in gate["reasons"] if "; 40 questions have no value" in each["text"]]


@pytest.mark.parametrize("form", ["lines", "one document"])
def test_nan_within_a_text_stays_text_and_no_item_may_score_nan(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        {"query_id": f"q{number}", "topk": [{"id": 'say \\"x\\": NaN'}, {"id": "d"}], **scored(float("nan"))}
        for number in range(N)
    ]
    lines[0] |= scored()

    def save(path: str) -> None:
        text = json.dumps(lines) if form == "one document" else "".join(json.dumps(line) + "\n" for line in lines)
        Path(path).write_text(text, encoding="utf-8")

    save("new.jsonl")
    save("old.jsonl")
    code, report = check(threshold=None)
    assert (code, report["gates"][0]["n"]) == (2, 1)
    lines[1]["topk"] = [{"id": "d", "score": float("nan")}]
    save("new.jsonl")
    assert check()[0] == 2
    assert "the score of 'd' is NaN; scores must be finite numbers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param('"0.8"', "scores[...]: expected a number or a mapping, found text", id="a text"),
        pytest.param('"NaN"', "scores[...]: expected a number or a mapping, found text", id="NaN as text"),
        pytest.param("true", "scores[...]: expected a number or a mapping, found true or false", id="a truth"),
        pytest.param("[0.8]", "scores[...]: expected a number or a mapping, found a list", id="a list"),
        pytest.param("1e999", "number", id="infinite by its size"),
        pytest.param('{"judge": "m"}', "scores[...]: ", id="a judge, no value"),
    ],
)
def test_what_is_no_number_is_named(written: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("old.jsonl", first(0, nothing))
    Path("new.jsonl").write_text(f'{{"query_id": "q0", "topk": ["d"], "scores": {{"f": {written}}}}}\n')
    assert check()[0] == 2
    out = capsys.readouterr().out
    assert "new.jsonl:1" in out
    assert message.lower() in out.lower()


AT_WORST = ("only the baseline has a value for ", "and with the worst value there the change is ")


@pytest.mark.parametrize(
    ("new", "old", "gate", "verdict", "doubt"),
    [
        pytest.param(
            *(first(40, null), first(40, lambda n: scored(0.5 if n else 0.2)), {}, "warn"),
            (*AT_WORST, "−0.098"),
            id="the bad ones are null now",
        ),
        pytest.param(
            *(first(40, null), first(40, lambda _: scored(0.3)), {}, "pass", ()),
            id="they were the worst before",
        ),
        pytest.param(
            *(first(40, null), first(1, lambda _: scored(0.0))),
            *({"threshold": None, "evidence": "proven_safe"}, "fail", (*AT_WORST, "−0.260")),
            id="what must be proven safe is not",
        ),
        pytest.param(
            *(first(40, null), first(40, lambda _: scored(0.3)), {"regression_max": 0.4}, "pass", ()),
            id="even at the worst it holds",
        ),
        pytest.param(
            *(first(40, null, lambda _: scored(0.2)), first(0, nothing), {"threshold": None}, "fail", ()),
            id="it fell either way",
        ),
        pytest.param(
            *(first(0, nothing), first(60, null, lambda _: scored(0.9)), {}, "fail", ()),
            id="what only the run has saves no drop",
        ),
        pytest.param(first(60, null), first(60, null), {}, "pass", (), id="on both sides"),
        pytest.param(
            *(first(1, null), first(1, lambda _: scored(0.0))),
            *({"regression_max": 0.0, "threshold": None, "max_unjudged": None}, "pass", ()),
            id="one, which was the worst before",
        ),
        pytest.param(
            *(first(2, lambda n: scored(0.0 if n else None)), first(2, lambda n: scored(0.0 if n else 0.8))),
            *({"regression_max": 0.0, "threshold": None, "max_unjudged": None}, "warn", (*AT_WORST, "−0.007")),
            id="one, which was not",
        ),
        pytest.param(
            *(first(40, null, lambda _: scored(0.2)), first(0, lambda _: {}, lambda _: scored(0.2))),
            *({"direction": "lower", "threshold": None, "regression_max": 0.01}, "pass", ()),
            id="a cost: the worst is the largest observed, which all of them are",
        ),
        pytest.param(
            *(first(40, null), first(0, nothing), {"metric": "score(f,quantile=0.3)", "regression_max": None}, "warn"),
            ("; 40 questions have no value, and the floor does not hold if that is worse than any other",),
            id="a quantile: a third lies beyond all others",
        ),
        pytest.param(
            *(first(40, null), first(0, nothing), {"metric": "score(f,quantile=0.4)"}, "pass", ()),
            id="a quantile that they do not reach",
        ),
    ],
)
def test_what_is_missing_must_not_decide(
    new: Edit, old: Edit, gate: dict[str, Any], verdict: str, doubt: tuple[str, ...]
) -> None:
    run("new.jsonl", new)
    run("old.jsonl", old)
    _, report = check(**{"max_unjudged": 0.5, **gate})
    [found] = report["gates"]
    assert found["verdict"] == verdict
    assert (found["evidence_state"] == "inconclusive") == bool(doubt)
    doubted = [each for each in found["reasons"] if each.get("at_worst")]
    assert all(part in doubted[0]["text"] for part in doubt)
    ruling = "violated" if gate.get("evidence") == "proven_safe" else "inconclusive"
    assert [each["ruling"] for each in doubted] == [ruling] * len(doubted)
    assert bool(doubted) is bool(doubt)


def test_score_and_compare_say_how_many_lack_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    run("new.jsonl", first(72, null))
    run("old.jsonl", first(0, nothing))
    of_new = "score(f) is missing (absent, null or NaN) for 72 of 120 questions in {}."
    sides = [("score", ["--run", "new.jsonl"], "the run"), ("compare", ["old.jsonl", "new.jsonl"], "new.jsonl")]
    for command, files, name in sides:
        assert main([command, *files, "--gold", "gold.jsonl", "--metrics", "score(f),recall@5"]) == 0
        assert of_new.format(name) in (out := capsys.readouterr().out)
        assert out.count("is missing") == 1


def test_the_report_says_how_many_have_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    run("new.jsonl", first(72, lambda number: scored(None) if number % 2 else {}))
    run("old.jsonl", first(0, nothing))
    check()
    said = "48 of 120 questions have a value of {} (72 missing, 0 undefined)."
    assert said.format("score(f)") in capsys.readouterr().out
    comment = Path("comment.md").read_text(encoding="utf-8")
    assert said.format("`score(f)`") in comment
    assert "120 of 120" not in comment


def test_beside_a_ranking_metric_both_counts_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    run("new.jsonl", first(1, absent_key))
    run("old.jsonl", first(0, nothing))
    check()
    criteria = json.loads(Path("ship-criteria.yaml").read_text(encoding="utf-8"))
    criteria["gates"].append({"name": "recall@5", "threshold": 0.1})
    Path("ship-criteria.yaml").write_text(json.dumps(criteria), encoding="utf-8")
    capsys.readouterr()
    main(["check", "--all", *DATE])
    said = "120 of 120 questions scored; 119 of 120 questions have a value of score(f) (1 missing, 0 undefined)."
    assert said in capsys.readouterr().out


# Of 30 in Portuguese six are missing, too many there; of all 600 they are one in a hundred.
def test_a_segment_that_lacks_its_values_is_not_judged() -> None:
    tags = ["lang:pt" if number < 30 else "lang:en" for number in range(600)]
    ids = [f"q{number}" for number in range(600)]
    write_lines(
        "gold.jsonl",
        [
            {"id": each, "expected_output": ["d"], "metadata": {"tags": [tag]}}
            for each, tag in zip(ids, tags, strict=True)
        ],
    )
    write_lines("old.jsonl", [{"query_id": each, "topk": ["d"], **scored()} for each in ids])
    lacking = [{"query_id": each, "topk": ["d"], **(scored() if row >= 6 else {})} for row, each in enumerate(ids)]
    write_lines("new.jsonl", lacking)
    code, report = check(segments={"by": "lang", "threshold": 0.5})
    found = {gate["segment"]: (gate["verdict"], gate["reasons"][0]["text"]) for gate in report["gates"]}
    assert code == 2
    assert found[None][0] == found["lang:en"][0] == "pass"
    assert found["lang:pt"] == (
        "not_judged",
        missing(6, among=30),
    )
    assert "| `lang:pt` · 24 of 30 questions |" in Path("comment.md").read_text(encoding="utf-8")


def test_not_all_questions_have_a_value() -> None:
    run("new.jsonl", first(72, null))
    check(baseline=None, regression_max=None)
    assert "| 48 of 120 questions |" in Path("comment.md").read_text(encoding="utf-8")
    run("new.jsonl", first(1, null, lambda _: scored(0.1)))
    check(baseline=None, regression_max=None)
    assert "| 119 of 120 questions |" in Path("comment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("metric", "gate", "stated"),
    [
        pytest.param("latency", {"direction": None, "threshold": 50}, {"latency_ms": {"retrieve": 9}}, id="latency"),
        pytest.param(
            *("latency(stage=rerank)", {"direction": None, "threshold": 50}),
            {"latency_ms": {"retrieve": 9, "rerank": 5}},
            id="one stage of it",
        ),
        pytest.param("score(cost)", {"direction": "lower", "threshold": 9}, {"scores": {"cost": 0.1}}, id="cost"),
        pytest.param("source_coverage", {"direction": None}, {"source": "kb"}, id="the source"),
        pytest.param("entity_f1", {"direction": None}, {"entities": ["e"]}, id="entities"),
        pytest.param("source_share(kb)", {"direction": None}, {"source": "kb"}, id="the share of a source"),
        pytest.param("rerank_gain(recall@1)", {"direction": None, "threshold": 0}, {"raw_topk": ["d"]}, id="raw lists"),
        pytest.param("recall(stage=raw)@5", {"direction": None}, {"raw_topk": ["d"]}, id="a metric of raw lists"),
        pytest.param("novelty@5", {"direction": None}, {"topk": [{"id": "d", "text": "new"}]}, id="texts of results"),
    ],
)
def test_all_that_lines_state_is_missing_alike(metric: str, gate: dict[str, Any], stated: Line) -> None:
    run("old.jsonl", lambda _: stated)
    run("new.jsonl", lambda _: stated)
    assert check(metric, **gate)[0] == 0
    run("new.jsonl", first(72, nothing, lambda _: stated))
    code, report = check(metric, **gate)
    [found] = report["gates"]
    assert (code, [each["text"] for each in found["reasons"]]) == (2, [missing(72, metric=found["metric"])])


def test_a_time_may_be_null_and_then_so_is_the_sum() -> None:
    def timed(rerank: float | None) -> Line:
        return {"latency_ms": {"retrieve": 30, "rerank": rerank}}

    run("new.jsonl", first(60, lambda _: timed(None), lambda _: timed(5)))
    run("old.jsonl", first(60, lambda _: timed(None), lambda _: timed(5)))
    for metric, n, value in (("latency", 60, 35), ("latency(stage=retrieve)", 120, 30)):
        code, report = check(metric, direction=None, threshold=50, max_unjudged=0.5)
        assert (code, report["gates"][0]["n"], report["gates"][0]["value"]) == (0, n, value)


def by(judge: str | None, value: float = 0.8, *, inside: bool = False) -> Edit:
    if inside:
        return lambda _: {"scores": {"f": {"value": value, "judge": judge}}}
    return lambda _: scored(value, **({} if judge is None else {"judge": judge}))


ANOTHER = (
    "score(f) is not comparable with the baseline: for {} of 120 questions the two runs do not name the same judge"
)


@pytest.mark.parametrize(
    ("new", "old", "pairs"),
    [
        pytest.param(by("m2", 0.2), by("m1"), 120, id="another judge"),
        pytest.param(by("m2", 0.2, inside=True), by("m1", inside=True), 120, id="named within the value"),
        pytest.param(by("m1", 0.2, inside=True), by("m1"), 0, id="the same, named elsewhere"),
        pytest.param(by("m2", 0.2), by(None), 120, id="the baseline names none"),
        pytest.param(by(None, 0.2), by("m1"), 120, id="the run names none"),
        pytest.param(by("", 0.2), by(None), 0, id="an empty name is none"),
        pytest.param(first(60, by("m1", 0.2), by(None, 0.2)), by("m1"), 60, id="named in half of the lines"),
        pytest.param(first(60, by("m1", 0.2), by("m2", 0.2)), by("m1"), 60, id="two judges on one side"),
        pytest.param(first(1, by("m2", 0.2), by("m1", 0.2)), by("m1"), 0, id="one other is few"),
        pytest.param(first(2, by("m2", 0.2), by("m1", 0.2)), by("m1"), 2, id="two others are not"),
        pytest.param(by(None, 0.2), by(None), 0, id="nobody is named"),
    ],
)
def test_numbers_of_two_judges_are_not_compared(new: Edit, old: Edit, pairs: int) -> None:
    run("new.jsonl", new)
    run("old.jsonl", old)
    code, report = check(threshold=None)
    [gate] = report["gates"]
    if not pairs:
        assert (code, gate["verdict"]) == (1, "fail")
        return
    assert (code, gate["verdict"], gate["evidence_state"]) == (0, "warn", "not_comparable")
    assert [each["text"] for each in gate["reasons"]] == [ANOTHER.format(pairs)]
    assert (gate["delta"], gate["baseline"], gate["n_pairs"]) == (None, None, 0)
    code, report = check(threshold=0.5)  # the floor counts whoever judged
    assert (code, report["verdict"]) == (1, "fail")


@pytest.mark.full
def test_a_stored_baseline_keeps_the_judge_and_what_was_missing() -> None:
    run("old.jsonl", first(20, null, by("m1", inside=True)))
    run("new.jsonl", first(20, null, by("m1", 0.2)))
    check(max_unjudged=0.2)
    assert main(["baseline", "accept", "--run", "old.jsonl", "--to", "stored", *DATE]) == 0
    by_run, by_store = (check(baseline=baseline, max_unjudged=0.2)[1] for baseline in ("old.jsonl", "stored"))
    assert by_store["gates"] == by_run["gates"]
    assert by_store["verdict"] == "fail"
    run("new.jsonl", first(20, null, by("m2")))
    assert check(baseline="stored", max_unjudged=0.2)[1]["gates"][0]["evidence_state"] == "not_comparable"


def test_who_gave_a_score_is_counted_while_it_is_read() -> None:
    from rankgate.metrics.names import parse_metrics
    from rankgate.metrics.plan import Plan
    from rankgate.metrics.scored_run import score_run
    from rankgate.readers.formats import read_gold, read_run

    run("new.jsonl", first(40, absent_key, first(80, by("m1"), lambda _: scored(float("nan")))))
    plan, gold = Plan(metrics=parse_metrics("score(f)")), read_gold("gold.jsonl")
    found = score_run(gold, read_run("new.jsonl", needs=plan.needs), plan)
    assert sorted(map(str, found.givers["score(f)"].values())) == ["None"] * 80 + ["m1"] * 40
