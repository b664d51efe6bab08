"""What a pull request may do, and the first screen of its comment, as `legitimate.md` has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.base_ref.story import (
    CRITERIA,
    FAIL,
    HARD,
    NOT_JUDGED,
    PASS,
    QUERIES,
    WAIVER,
    WARN,
    Change,
    accepted,
    after,
    all_of,
    baseline_of,
    by_git,
    edit,
    gate_in,
    gold,
    ignored,
    judged,
    link,
    lists,
    on_main,
    remove,
    run,
    told,
    up,
    write,
)
from tests.base_ref.story import repository as repository  # noqa: PLC0414 -- the fixture
from tests.repositories import commit

GOLDEN = Path(__file__).with_name("legitimate.md")

FOUND_ANEW = lists({query: ["new" if query in HARD else f"doc-{query}"] for query in QUERIES})

LEGITIMATE: dict[str, Change] = {
    "nothing of the gate": Change(write("notes.txt", "a change"), PASS, "No list changed"),
    "a comment in the criteria": Change(edit("gates:", "# ours\ngates:"), PASS, ""),
    "a stricter limit": Change(edit("0.85", "0.9"), PASS, "raises the threshold of gate found from 85.0% to 90.0%"),
    "a limit more": Change(edit("0.5}", "0.5, regression_max: 0.1}"), PASS, "adds regression_max 0.100 to gate order"),
    "a gate more": Change(edit("inputs:", "  - {name: ndcg@5, threshold: 0.5}\ninputs:"), PASS, "adds gate ndcg@5"),
    "a gate more that fails": Change(
        all_of(
            edit("inputs:", "  - {name: rank, metric: recall@1, threshold: 0.9}\ninputs:"),
            lists({query: ["x", f"doc-{query}"] for query in QUERIES}),
        ),
        FAIL,
        "recall@1 is 0.0%",
    ),
    "what looks like a tightening": Change(
        edit("max: 0.03}", "max: 0.03, must_pass: [q1]}"),
        WARN,
        "adds q1 to must_pass",
    ),
    "labels corrected, same retriever": Change(
        write("gold.yaml", gold(*QUERIES, q1="doc-q1, x")), WARN, "relabels 1 question"
    ),
    "labels corrected with a retriever that finds the new documents": Change(
        all_of(
            write("gold.yaml", gold(*QUERIES, q4="new", q5="new")),
            FOUND_ANEW,
        ),
        FAIL,
        "by the questions of the base, of which this pull request relabels 2, recall@5 lost",
    ),
    "questions added": Change(
        all_of(write("gold.yaml", gold(*QUERIES, "q6", "q7")), run(queries=(*QUERIES, "q6", "q7"))),
        PASS,
        "adds 2 questions (q6, q7)",
    ),
    "questions removed, which the run answers": Change(
        write("gold.yaml", gold("q1", "q2")), WARN, "removes 3 questions"
    ),
    "questions removed, which the run lacks": Change(
        all_of(write("gold.yaml", gold("q1", "q2")), run(queries=("q1", "q2"))), FAIL, "removes 3 questions"
    ),
    "a field that the retriever needs": Change(
        write("gold.yaml", gold(*QUERIES).replace("[doc-q1]", "[doc-q1], metadata: {tags: [tenant:a]}")), PASS, ""
    ),
    "gold renamed": Change(
        all_of(by_git("mv", "gold.yaml", "labels.yaml"), edit("gold: gold.yaml", "gold: labels.yaml")),
        PASS,
        "changes inputs.gold from gold.yaml to labels.yaml",
    ),
    "good run accepted in it": Change(accepted("better | known"), PASS, "replaces the baseline"),
    "an expired waiver removed": Change(
        remove("ship-waivers.yaml"),
        WARN,
        "removes a waiver of gate found",
        write("ship-waivers.yaml", WAIVER.replace("2026-12", "2025-12")),
    ),
    "main's criteria mended": Change(
        write("ship-criteria.yaml", CRITERIA), NOT_JUDGED, "main", edit("gates:", "gate:")
    ),
    "main's gold set mended": Change(
        write("gold.yaml", gold(*QUERIES)), NOT_JUDGED, "gold.yaml at main", write("gold.yaml", "samples: 5\n")
    ),
    "rankgate introduced": Change(
        write("ship-criteria.yaml", CRITERIA), PASS, "The base has no ship criteria yet", remove("ship-criteria.yaml")
    ),
    "rankgate introduced beside files that are none of its": Change(
        write("ship-criteria.yaml", CRITERIA),
        PASS,
        "The base has no ship criteria yet",
        all_of(
            remove("ship-criteria.yaml"), write("x.yaml", "gates: {logic: and}\n"), write("y.yml", "gates:\n\t- x\n")
        ),
    ),
    "re-chunked: gold and run change together": Change(
        all_of(
            write("gold.yaml", gold(*QUERIES, **{query: f"other-{query}" for query in QUERIES})),
            lists({query: [f"other-{query}"] for query in QUERIES}),
        ),
        NOT_JUDGED,
        "By each one's own labels recall@5 is 100.0% → 100.0%",
    ),
    "criteria moved": Change(
        all_of(write("gates/search.yaml", up(CRITERIA)), remove("ship-criteria.yaml")),
        PASS,
        "No list changed",
        flags=("--criteria", "gates/search.yaml"),
    ),
    "a waiver for its own harm": Change(
        all_of(write("ship-waivers.yaml", WAIVER), run(lost=HARD)), FAIL, "adds a waiver of gate found"
    ),
    "harm accepted in it by a reason": Change(
        all_of(run(lost=HARD), accepted("smaller index")), FAIL, "recall@5 lost 40.0"
    ),
    "notes beside the baseline": Change(write("baseline/notes.txt", "mine\n"), PASS, "No list changed"),
    "a first baseline": Change(baseline_of(()), WARN, "The base has no baseline yet", remove("baseline")),
    "the baseline read otherwise": Change(
        edit("baseline: a.run", "baseline: {path: a.run, map: {query_id: query_id, items: topk, chunk_id: chunk_id}}"),
        WARN,
        "The pull request replaces the baseline",
        all_of(run(file="a.run"), edit("baseline: baseline", "baseline: a.run")),
    ),
    "waivers where main's criteria say": Change(
        run(lost=HARD),
        WARN,
        "waived",
        all_of(write("allowed.yaml", WAIVER), edit("inputs: {", "inputs: {waivers: allowed.yaml, ")),
    ),
    "a gold set that the job makes": Change(
        ignored("made.yaml", gold(*QUERIES)), PASS, "the job supplied it", flags=("--gold", "made.yaml")
    ),
    "a baseline that the job makes": Change(
        run(file="kept.jsonl"),
        PASS,
        "The baseline is no file of the base: the job supplied it",
        flags=("--baseline", "kept.jsonl"),
    ),
    "a gate in a folder, and links past it": Change(
        all_of(link("docs", "search/gold.yaml"), link("again", "search")),
        PASS,
        "No list changed",
        gate_in("search"),
        folder="search",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("name", LEGITIMATE)
def test_a_legitimate_change(
    repository: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, name: str
) -> None:
    change = LEGITIMATE[name]
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    report = after(change._replace(right=True), monkeypatch)
    assert (report.verdict, change.words in told(report)) == (change.verdict, True), told(report)
    screen = first_screen(Path("../comment.md").read_text())
    if request.config.getoption("--refresh"):
        screens = {**golden(), name: screen}
        texts = (f"## {each}\n\n{screens[each]}\n" for each in LEGITIMATE if each in screens)
        GOLDEN.write_text("# First screens of the comments on legitimate changes\n\n" + "\n".join(texts))
    assert golden().get(name) == screen


@pytest.mark.full
def test_the_next_commands_name_the_gold_set_that_the_call_named(repository: Path) -> None:
    """Each commit has its own copy of it, by which the call is not recognised."""

    def another() -> None:
        edit("threshold: 0.85, ", "")()
        write("other.yaml", gold(*QUERIES))()

    on_main(another)
    run(lost=HARD)()
    write("notes.md", "Smaller.\n")()
    commit()
    report = judged("--gold", "other.yaml")
    assert report.verdict is FAIL
    assert report.conclusion.next == ["rankgate", "explain", "q4", "--run", "run.jsonl", "--gold", "other.yaml"]
    assert report.conclusion.accept[-4:] == ["--reason", "WHY", "--gold", "other.yaml"]


def first_screen(comment: str) -> str:
    """What stands above the first fold, without the marker, and without shas, which differ."""
    text = re.sub(r"\b[0-9a-f]{7,40}\b", "1a2b3c4", comment.partition("<details>")[0])
    return "\n".join(line for line in text.splitlines() if line and not line.startswith("<!--"))


def golden() -> dict[str, str]:
    if not GOLDEN.exists():
        return {}
    parts = GOLDEN.read_text().split("\n## ")[1:]
    return {name: text.strip() for name, _, text in (part.partition("\n") for part in parts)}
