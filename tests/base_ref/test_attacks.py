"""Every way round the gate that somebody tried, each on a real repository by `rankgate check --base`.

In `story.py` a pull request loses two of five questions, and fails by the base. Each attack changes something that
would let it pass. Some have a run that is right: there the gate itself is what is softened, for the next pull request,
and that has to be seen.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.base_ref.story import (
    COUNTS,
    CRITERIA,
    EXIT,
    FAIL,
    HARD,
    LIMITS,
    MILD,
    NOT_JUDGED,
    PASS,
    QUERIES,
    WAIVER,
    WARN,
    Act,
    Change,
    accept,
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
    replace_in,
    run,
    submodule,
    told,
    tracked,
    up,
    write,
    write_run,
)
from tests.base_ref.story import repository as repository  # noqa: PLC0414 -- the fixture
from tests.repositories import commit, git, sha_of_commit

from rankgate.base_ref.pull_request import against_base
from rankgate.baselines.directory import directory_store
from rankgate.check import check
from rankgate.cli import main
from rankgate.criteria.inputs import Inputs, PullInputs
from rankgate.errors import RankgateError
from rankgate.model.base_ref import ACCEPT_CHANGE, ACCEPT_RANKINGS, SetLabel
from rankgate.model.values import Verdict
from rankgate.readers.base import TEXT_KEY, text_digest

TAGGED = gold(*QUERIES).replace("[doc-q5]", "[doc-q5], metadata: {tags: [urgent]}")
LANGS = gold(*QUERIES)
for _query in QUERIES:
    _lang = "th" if _query in HARD else "en"
    LANGS = LANGS.replace(f"[doc-{_query}]", f"[doc-{_query}], metadata: {{tags: [lang:{_lang}]}}")
BY_LANG = "segments: {by: lang, regression_max: 0.03, min_queries: 1}"
SEGMENTS = all_of(write("gold.yaml", LANGS), edit(LIMITS, f"threshold: 0.1, {BY_LANG}"), edit("0.5}", "0.1}"))
EASY = tuple(f"c{n}" for n in range(40))
ASKED = "".join(f'{{"query_id": "t{n}", "question": "what is t{n}?", "count": {n}}}\n' for n in range(1, 9))
LABELS = "query_id,document,relevant\nt1,doc-t1,1\nt2,doc-t2,0\n"
TRAFFIC = all_of(
    write("traffic.json", ASKED),
    write("labels.txt", LABELS),
    edit("inputs: {", "inputs: {traffic: traffic.json, traffic_labels: labels.txt, "),
)
OVER_TRAFFIC = "  - {name: hit@5, over: traffic, regression_max: 0.03}\n"
GATED_TRAFFIC = edit("gates:\n", f"gates:\n{OVER_TRAFFIC}")
BEIR = "query-id\tcorpus-id\tscore\n" + "".join(f"{query}\tdoc-{query}\t1\n" for query in QUERIES)
POOR = "the baseline that the pull request brings does not hold"
LESS = ({"query_id": q, "topk": [{"chunk_id": "doc-q1"}], "old": [{"chunk_id": f"doc-{q}"}]} for q in QUERIES)
FOUND_ANEW = lists({query: ["new" if query in HARD else f"doc-{query}"] for query in QUERIES})
TWO_LISTS = "".join(f"{json.dumps(line)}\n" for line in LESS)
COPIES = gold(*QUERIES) + gold(*EASY).partition("\n")[2]
MINTED = {query: f"other-{query}" for query in QUERIES}
CLUSTERED = gold(*QUERIES).replace("[doc-q1]", "[doc-q1], metadata: {cluster: a}")
ALLOWED = edit(LIMITS, "threshold: 0.5, regression_max: 0.25")
FIRST = Path("baseline/accepted/00000001.json")
JUDGE = "judge: {endpoint: 'http://localhost:1/v1', model: m-2026-01-01}\n"
JUDGE_FILES = all_of(
    edit("gates:", f"{JUDGE.replace('}', ', prompts: prompts, calibration: {file: checked.json}}')}gates:"),
    write("prompts/entail.j2", "Is it supported?"),
    write("checked.json", "{}"),
)
SCORED = all_of(
    edit("gates:\n", "gates:\n  - {name: score(f), direction: higher, threshold: 0.5}\n"),
    edit("inputs: {", "inputs: {scores: scores.csv, "),
)


def scores(file: str, value: float) -> Act:
    return write(file, "\n".join(["qid,f", *(f"{query},{value}" for query in QUERIES)]))


def timed(milliseconds: int) -> Act:
    """A run that finds everything, and takes so long."""

    def act() -> None:
        write_run(Path("run.jsonl"))
        replace_in("run.jsonl", '{"query_id"', f'{{"latency_ms": {milliseconds}, "query_id"')

    return act


def acceptance(number: int, *, anchor: dict[str, object] | None = None, **changed: object) -> Act:
    """The first acceptance written with other words, in its place or as another; `anchor` is of itself, and more."""

    def act() -> None:
        record = json.loads(FIRST.read_text()) | changed
        if anchor is not None:
            [first] = directory_store("baseline").memory.read("accepted")
            record["anchor"] = {"id": first.id, "date": first.date, **anchor}
        write(f"baseline/accepted/{number:08}.json", json.dumps(record))()
        git("add", "--force", "baseline")

    return act


def without_the_first_run() -> None:
    Path("baseline/rankings", json.loads(FIRST.read_text())["run"]).unlink()


def gone_elsewhere(name: str, text: str, mild: str = "gates.yaml") -> Change:
    """Main's criteria lie where this check does not look, and the pull request brings milder ones for it."""
    main_has = all_of(remove("ship-criteria.yaml"), write(name, text))
    return Change(write(mild, MILD), NOT_JUDGED, "not where this check reads", main_has, flags=("--criteria", mild))


ATTACKS: dict[str, Change] = {
    # The limits.
    "lower a threshold and allow a larger drop": Change(
        edit(LIMITS, "threshold: 0.5, regression_max: 0.9"), FAIL, "lowers the threshold of gate found from 85.0% to"
    ),
    "leave the limits out": Change(edit(LIMITS, "threshold: 0.1"), FAIL, "removes regression_max 3.0 pp from gate"),
    "loosen a severity": Change(
        edit("max: 0.03}", "max: 0.03, severity: warning}"),
        FAIL,
        "changes the severity of gate found from error",
    ),
    "loosen the evidence": Change(
        edit("max: 0.03}", "max: 0.03, evidence: proven_harm}"), FAIL, "changes evidence of gate found from estimate to"
    ),
    "ask for more confidence of harm": Change(
        edit("max: 0.03}", "max: 0.03, evidence: proven_harm, confidence: 0.99}"), FAIL, "raises confidence"
    ),
    "loosen what all gates have": Change(edit("gates:", "evidence: proven_harm\ngates:"), FAIL, "changes evidence"),
    "remove a gate": Change(
        edit(f"  - {{name: found, metric: recall@5, {LIMITS}}}\n", ""), FAIL, "the pull request removes 1 gate"
    ),
    "rename a gate": Change(edit("name: found", "name: seen"), FAIL, "removes gate found"),
    "another metric under the same name": Change(
        edit(f"metric: recall@5, {LIMITS}", "metric: mrr, threshold: 0.2"), FAIL, "changes the metric of gate found"
    ),
    "let a question that must pass go": Change(
        edit(", must_pass: [q4]", ""),
        FAIL,
        "takes q4 out of must_pass",
        edit(LIMITS, "threshold: 0.1, must_pass: [q4]"),
    ),
    "allow more lost questions": Change(
        edit("lost_queries: 0", "lost_queries: 2"),
        FAIL,
        "raises max_lost_queries of gate found from 0 to 2",
        edit(LIMITS, "threshold: 0.1, max_lost_queries: 0"),
    ),
    "allow more missing values": Change(
        edit("max: 0.03}", "max: 0.03, max_unjudged: 0.5}"), FAIL, "raises max_unjudged of gate found"
    ),
    "remove segments": Change(edit(f", {BY_LANG}", ""), FAIL, "segments.lang", SEGMENTS),
    "segments by another tag": Change(edit("by: lang", "by: topic"), FAIL, "segments.topic", SEGMENTS),
    "segments too small to be judged": Change(edit("queries: 1", "queries: 3"), FAIL, "min_queries", SEGMENTS),
    "segments with wider limits": Change(edit("max: 0.03", "max: 1.0"), FAIL, "segments.lang.regression_max", SEGMENTS),
    "one segment with a wider limit": Change(
        edit("queries: 1", "queries: 1, only: {th: {regression_max: 1.0}}"), FAIL, "only.th.regression_max", SEGMENTS
    ),
    "match by document": Change(edit("gates:", "match: doc\ngates:"), FAIL, "changes match from chunk to doc"),
    "another default cut-off": Change(
        all_of(edit("gates:", "default_k: 50\ngates:"), run()),
        WARN,
        "raises default_k from",
        edit("metric: recall@5", "metric: recall"),
        right=True,
    ),
    "allow an old baseline": Change(
        edit("days: 1,", "days: 999,"),
        FAIL,
        "raises baseline.max_age.days",
        all_of(edit("gates:", "baseline: {max_age: {days: 1, severity: error}}\ngates:"), edit(LIMITS, "threshold: 0")),
        right=True,
    ),
    "let any run become the baseline": Change(
        edit("gates:", "baseline: {accept: green}\ngates:"), WARN, "baseline.accept", right=True
    ),
    "trust the runs of forks": Change(edit("gates:", "fork_runs: trusted\ngates:"), WARN, "fork_runs", right=True),
    "ask another index": Change(
        edit("index=all", "index=easy"),
        WARN,
        "`retriever.url`",
        edit("gates:", "retriever: {url: 'http://host/?q={{question}}&index=all'}\ngates:"),
        right=True,
    ),
    "ask for more of one side to ask for less of the other": Change(
        all_of(edit(LIMITS, f"{LIMITS}, must_pass: [q1]"), write("gold.yaml", gold("q1", "q2", "q3"))),
        FAIL,
        "adds q1 to must_pass",
    ),
    # The gold set.
    "remove the lost questions": Change(write("gold.yaml", gold("q1", "q2", "q3")), FAIL, "removes 2 questions"),
    "remove them, and ask them no more": Change(
        all_of(write("gold.yaml", gold("q1", "q2", "q3")), run(queries=("q1", "q2", "q3"))), FAIL, "removes 2 questions"
    ),
    "relabel the lost questions": Change(
        write("gold.yaml", gold(*QUERIES, q4="other-q4", q5="other-q5")), FAIL, "relabels 2 questions (2 toward"
    ),
    "say that the lost questions have no answer": Change(
        write(
            "gold.yaml",
            gold(*QUERIES).replace("[doc-q4]", "[], metadata: {no_answer: true}").replace("[doc-q5]", "[doc-q5, x]"),
        ),
        FAIL,
        "relabels 2 questions (1 toward",
    ),
    "give the questions other ids": Change(
        all_of(
            write("gold.yaml", gold(*(f"n{query}" for query in QUERIES))),
            lists({f"n{query}": [f"doc-n{query}"] for query in QUERIES}),
        ),
        NOT_JUDGED,
        "ids",
    ),
    "give the chunks other ids": Change(
        all_of(write("gold.yaml", gold(*QUERIES, **MINTED)), lists({query: [f"other-{query}"] for query in QUERIES})),
        NOT_JUDGED,
        "gold stale",
    ),
    "ask for ten results of a sudden": Change(
        all_of(
            write("gold.yaml", gold(*QUERIES).replace("]}", "], metadata: {k: 10}}")),
            lists({query: [*(f"x{rank}" for rank in range(6)), f"doc-{query}"] for query in QUERIES}),
        ),
        FAIL,
        "edits 5 questions",
        edit("recall@5", "recall"),
    ),
    "remove a question that must pass": Change(
        all_of(write("gold.yaml", gold("q1", "q2", "q3", "q5")), run(lost=("q4",))),
        FAIL,
        "removes 1 question",
        edit(LIMITS, "threshold: 0.1, must_pass: [q4]"),
    ),
    "take the tag off by which it must": Change(
        write("gold.yaml", gold(*QUERIES).replace("[doc-q1]", "[doc-q1], metadata: {tags: [urgent]}")),
        FAIL,
        "edits 1 question",
        all_of(write("gold.yaml", TAGGED), edit(LIMITS, "threshold: 0.1, must_pass: [urgent]")),
    ),
    "move the lost questions to another segment": Change(
        write("gold.yaml", LANGS.replace("lang:th", "lang:en")), FAIL, "edits 2 questions", SEGMENTS
    ),
    "edit the clusters": Change(
        write("gold.yaml", CLUSTERED.replace("cluster: a", "cluster: b")),
        FAIL,
        "edits 1 question",
        write("gold.yaml", CLUSTERED),
    ),
    "an easier text for a lost question": Change(
        edit("what is q4?", "what is q1?", "gold.yaml"), FAIL, "edits 1 question"
    ),
    "dilute a loss with easy questions": Change(
        all_of(write("gold.yaml", COPIES), run(lost=HARD, queries=(*QUERIES, *EASY))),
        FAIL,
        "half as many more may be lost",
    ),
    "dilute the next loss": Change(
        all_of(write("gold.yaml", COPIES), run(queries=(*QUERIES, *EASY))),
        WARN,
        "brings the gold set from 5 to 45",
        right=True,
    ),
    "fill a segment by tags": Change(
        write("gold.yaml", LANGS.replace("lang:en", "lang:th")),
        WARN,
        "brings a segment from 2 to 5 questions, so half as many more may be lost",
        all_of(SEGMENTS, edit(", metadata: {tags: [lang:en]}", "", "gold.yaml")),
        right=True,
    ),
    "fill a segment with easy questions": Change(
        all_of(
            write("gold.yaml", LANGS + gold("q6").partition("\n")[2].replace("]}", "], metadata: {tags: [lang:th]}}")),
            run(queries=(*QUERIES, "q6")),
        ),
        WARN,
        "brings a segment from 2 to 3 questions, so half as many more may be lost",
        SEGMENTS,
        right=True,
    ),
    "add a question that is there already": Change(
        all_of(
            write("gold.yaml", gold(*QUERIES, "q6").replace("what is q6?", " What is  Q1?")),
            run(queries=(*QUERIES, "q6"), texts=False),
        ),
        WARN,
        "repeats 1 question",
        right=True,
    ),
    "add it as it looks": Change(
        all_of(
            write("gold.yaml", gold(*QUERIES, "q6").replace("what is q6?", "what\u00a0is\u200b \uff311?")),
            run(queries=(*QUERIES, "q6"), texts=False),
        ),
        WARN,
        "repeats 1 question",
        right=True,
    ),
    "name another gold set": Change(
        all_of(edit("gold: gold.yaml", "gold: easy.yaml"), write("easy.yaml", gold("q1", "q2", "q3"))),
        FAIL,
        "removes 2 questions",
    ),
    "name a gold set that the job writes": Change(
        all_of(edit("gold: gold.yaml", "gold: made.yaml"), ignored("made.yaml", gold(*QUERIES)), run()),
        NOT_JUDGED,
        "made.yaml: is no file of the commit",
        right=True,
    ),
    "commit a gold set where the job writes the base's": Change(
        tracked(write("made.yaml", gold("q1", "q2", "q3")), "made.yaml"),
        NOT_JUDGED,
        "there is no such file",
        all_of(edit("gold: gold.yaml", "gold: made.yaml"), write(".gitignore", "*.jsonl\nmade.yaml\n")),
    ),
    "a pointer to LFS in the gold set's place": Change(
        write("gold.yaml", f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n"),
        NOT_JUDGED,
        "Git LFS",
    ),
    "a folder of BEIR relabelled": Change(
        write("beir/qrels/test.tsv", BEIR.replace("doc-", "x-")),
        FAIL,
        "relabels 5 questions",
        all_of(
            edit("gold: gold.yaml", "gold: beir"),
            write("beir/qrels/test.tsv", BEIR),
        ),
    ),
    # The baseline.
    "delete the baseline": Change(remove("baseline"), FAIL, "the pull request deletes the baseline", right=True),
    "delete it with the loss": Change(remove("baseline"), FAIL, "recall@5 lost 40.0 points"),
    "stop naming it": Change(edit(", baseline: baseline}", "}"), FAIL, "recall@5"),
    "replace the baseline by the loss": Change(baseline_of(HARD), FAIL, "recall@5 lost 40.0 points"),
    "replace the baseline for the next pull request": Change(baseline_of(HARD), FAIL, POOR, right=True),
    "bring a poor first baseline": Change(
        baseline_of(HARD),
        FAIL,
        POOR,
        remove("baseline"),
        right=True,
    ),
    "name a poor baseline elsewhere": Change(
        all_of(edit("baseline: baseline", "baseline: second"), baseline_of(HARD, "second")),
        FAIL,
        POOR,
        right=True,
    ),
    "name a store of its own": Change(
        edit("baseline: baseline", "baseline: git+branch:mine"), FAIL, "whose log only grows", right=True
    ),
    "commit a poor baseline where the job writes it": Change(
        baseline_of(HARD, "made"), FAIL, POOR, edit("baseline: baseline", "baseline: made"), right=True
    ),
    "damage the accepted run": Change(
        lambda: next(Path("baseline/rankings").iterdir()).write_bytes(b"{"),
        FAIL,
        "the baseline that the pull request brings cannot be judged by the base's files",
        right=True,
    ),
    "bring a first baseline that nobody can read": Change(
        all_of(write("baseline/accepted/00000001.json", "{"), by_git("add", "--force", "baseline")),
        FAIL,
        "the baseline that the pull request brings cannot be judged by the base's files",
        remove("baseline"),
        right=True,
    ),
    "bring a baseline that answers other texts": Change(
        lambda: replace_in("accepted.ndjson", text_digest("what is q4?"), text_digest("what is it?")),
        FAIL,
        POOR,
        all_of(
            edit("baseline: baseline", "baseline: accepted.ndjson"),
            tracked(run(file="accepted.ndjson"), "accepted.ndjson"),
        ),
        right=True,
    ),
    "accept the lists of the run with slower times": Change(
        all_of(timed(900), accepted("slower"), timed(100)),
        FAIL,
        POOR,
        all_of(
            edit("gates:\n", "gates:\n  - {name: latency_p95, regression_max: 50}\n"), timed(100), accepted("timed")
        ),
        right=True,
    ),
    "take out why a run was accepted": Change(
        acceptance(1, reason=None), FAIL, "whose log only grows", acceptance(1, reason="tables are lost"), right=True
    ),
    "make the accepted run younger": Change(acceptance(1, date="2026-01-30"), FAIL, "whose log only grows", right=True),
    "note a loss that nothing lost": Change(
        acceptance(2, date="2026-01-20", anchor={"steps": 1, "given_up": {"recall@5": 0.5}}),
        WARN,
        "moves the anchor",
        right=True,
    ),
    "forget the run from which small losses add up": Change(
        without_the_first_run,
        WARN,
        "moves the anchor",
        all_of(lists({query: [f"doc-{query}", "x"] for query in QUERIES}), accepted("one more result")),
        right=True,
    ),
    # The run and what goes with it.
    "name the accepted run": Change(
        all_of(edit("run: run.jsonl", "run: accepted.jsonl"), run(file="accepted.jsonl")), FAIL, "inputs.run"
    ),
    "read another list of the same file": Change(
        all_of(
            edit("run: run.jsonl", "run: {path: run.jsonl, map: {query_id: query_id, items: old, chunk_id: chunk_id}}"),
            write("run.jsonl", TWO_LISTS),
        ),
        FAIL,
        "inputs.run.map",
    ),
    "name another run, and write the base's no more": Change(
        all_of(edit("run: run.jsonl", "run: moved.jsonl"), run(file="moved.jsonl"), remove("run.jsonl")),
        NOT_JUDGED,
        "run.jsonl",
    ),
    "name another run for the next pull request": Change(
        all_of(edit("run: run.jsonl", "run: moved.jsonl"), run(file="moved.jsonl")), WARN, "inputs.run", right=True
    ),
    "commit the accepted run": Change(tracked(run(), "run.jsonl"), NOT_JUDGED, "only the pull request's commit has"),
    "commit a copy less one result": Change(
        tracked(lists({query: [f"doc-{query}", "x"][: 2 - (query == "q1")] for query in QUERIES}), "run.jsonl"),
        NOT_JUDGED,
        "only the pull request's commit has this run",
    ),
    "edit the committed run": Change(
        run(), WARN, "the pull request changes the file of the run", tracked(run(lost=("q1",)), "run.jsonl")
    ),
    "make the run a link": Change(
        all_of(tracked(run(file="good.jsonl"), "good.jsonl"), remove("run.jsonl"), link("run.jsonl", "good.jsonl")),
        NOT_JUDGED,
        "is a symbolic link",
    ),
    "make the run's folder a link": Change(
        all_of(tracked(run(file="run.jsonl"), "run.jsonl"), link("out", ".")),
        NOT_JUDGED,
        "is a symbolic link, or lies behind one",
        edit("run: run.jsonl", "run: out/run.jsonl"),
    ),
    "name other scores": Change(
        all_of(edit("scores: scores.csv", "scores: good.csv"), scores("good.csv", 0.9), run()),
        FAIL,
        "score(f)",
        all_of(SCORED, scores("scores.csv", 0.1)),
    ),
    "edit the scores": Change(
        all_of(scores("scores.csv", 0.9), run()),
        WARN,
        "changes values that judge it",
        all_of(SCORED, scores("scores.csv", 0.3)),
    ),
    "stop writing what a gate of the base reads": Change(
        edit("  - {name: latency_p95, threshold: 900}\n", ""),
        NOT_JUDGED,
        "latency",
        edit("gates:\n", "gates:\n  - {name: latency_p95, threshold: 900}\n"),
    ),
    # Where criteria and waivers lie.
    "milder criteria in a place that is searched earlier": Change(
        write(
            "config/ship-criteria.yaml",
            up(MILD),
        ),
        FAIL,
        "lowers the threshold",
    ),
    "criteria that the job writes": Change(
        all_of(
            remove("ship-criteria.yaml"),
            ignored("ship-criteria.yaml", MILD),
            by_git("rm", "--quiet", "--cached", "ship-criteria.yaml"),
        ),
        FAIL,
        "recall@5 lost 40.0 points",
    ),
    "move the criteria and lower them": Change(
        all_of(remove("ship-criteria.yaml"), write("gates.yaml", MILD)),
        FAIL,
        "lowers the threshold",
        flags=("--criteria", "gates.yaml"),
    ),
    "empty them, and write others": Change(
        all_of(write("ship-criteria.yaml", "# see gates.yaml\n"), write("gates.yaml", MILD)),
        FAIL,
        "lowers the threshold",
        flags=("--criteria", "gates.yaml"),
    ),
    "put a link in their place": Change(
        all_of(remove("ship-criteria.yaml"), write("gates.yaml", MILD), link("ship-criteria.yaml", "gates.yaml")),
        FAIL,
        "lowers the threshold",
        flags=("--criteria", "gates.yaml"),
    ),
    "keep them, and read milder ones": Change(
        write("gates.yaml", MILD), NOT_JUDGED, "not where this check reads", flags=("--criteria", "gates.yaml")
    ),
    **{
        f"main's in another form: {name}": gone_elsewhere(f"q.{ending}", text)
        for name, ending, text in (
            ("flow", "YML", "{gates: [{name: mrr, threshold: 0.9}]}"),
            ("JSON", "json", '{"gates": [{"name": "mrr", "threshold": 0.9}]}'),
            ("an escaped key", "yaml", '"g\\x61tes":\n- {name: mrr, threshold: 0.9}\n'),
            ("an explicit key", "yaml", "? gates\n: - {name: mrr, threshold: 0.9}\n"),
            ("a key in two lines", "yaml", '? "ga\\\n  tes"\n: - {name: mrr, threshold: 0.9}\n'),
            ("a byte order mark", "yaml", "\ufeffgates:\n- {name: mrr, threshold: 0.9}\n"),
        )
    },
    "delete the criteria": Change(remove("ship-criteria.yaml"), FAIL, "recall@5 lost 40.0 points"),
    "break the criteria": Change(write("ship-criteria.yaml", "gates: 5\n"), FAIL, "recall@5 lost 40.0 points"),
    "break them in a run that is right": Change(
        write("ship-criteria.yaml", "gates: 5\n"), NOT_JUDGED, "expected a list", right=True
    ),
    "waive its own harm": Change(write("ship-waivers.yaml", WAIVER), FAIL, "adds a waiver of gate found"),
    "waivers that the job writes": Change(ignored("ship-waivers.yaml", WAIVER), FAIL, "recall@5 lost 40.0 points"),
    "raise a waiver": Change(
        write("ship-waivers.yaml", WAIVER),
        FAIL,
        "edits a waiver",
        write("ship-waivers.yaml", WAIVER.replace("0.5", "0.1")),
    ),
    "waive the next pull request's harm": Change(write("ship-waivers.yaml", WAIVER), WARN, "adds a waiver", right=True),
    "name an example as waivers": Change(
        edit("inputs: {", "inputs: {waivers: example.yaml, "), FAIL, "adds a waiver", write("example.yaml", WAIVER)
    ),
    "a name for which a waiver waits": Change(
        edit("name: found", "name: seen"),
        FAIL,
        "removes gate found",
        write("ship-waivers.yaml", WAIVER.replace("gate: found", "gate: seen")),
    ),
    "a smaller violation, which main's waiver covers": Change(
        edit("0.85", "0.65"),
        FAIL,
        "lowers the threshold",
        all_of(write("ship-waivers.yaml", WAIVER.replace("0.5", "0.1")), edit(", regression_max: 0.03", "")),
    ),
    # The job and git.
    "a floor that easy questions lift": Change(
        all_of(write("gold.yaml", COPIES), run(lost=HARD, queries=(*QUERIES, *EASY))),
        FAIL,
        "by the questions of the base, recall@5 is 60.0%",
        edit(", regression_max: 0.03", ""),
    ),
    "waivers under other names": Change(
        all_of(*(write(f"{name}waivers.yaml", WAIVER) for name in ("", ".rankgate/", "config/ship-"))),
        FAIL,
        "recall@5 lost 40.0 points",
    ),
    "a base whose gold set git does not hold": Change(
        all_of(remove("gold.yaml"), write("gold.yaml", gold(*QUERIES))),
        NOT_JUDGED,
        "leads out of the repository",
        all_of(lambda: shutil.move("gold.yaml", "../gold.yaml"), link("gold.yaml", "../gold.yaml")),
        right=True,
    ),
    "a base whose gold set lies in a submodule": Change(
        edit("gold: evals/gold.yaml", "gold: gold.yaml"),
        NOT_JUDGED,
        "lies in a submodule",
        all_of(
            submodule("evals", write("gold.yaml", gold(*QUERIES))), edit("gold: gold.yaml", "gold: evals/gold.yaml")
        ),
        right=True,
    ),
    "a base whose gold set LFS does not give": Change(
        write("gold.yaml", gold(*QUERIES)),
        NOT_JUDGED,
        "Git LFS",
        write("gold.yaml", f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n"),
        right=True,
    ),
    "make the gold set's folder a submodule": Change(
        all_of(by_git("rm", "-r", "--quiet", "gold"), submodule("gold", write("gold.yaml", gold("q1")))),
        FAIL,
        "recall@5 lost 40.0 points",
        all_of(write("gold/gold.yaml", gold(*QUERIES)), remove("gold.yaml"), edit("gold: gold", "gold: gold/gold")),
    ),
    "make the run's folder a submodule": Change(
        submodule("out", run(file="run.jsonl")),
        NOT_JUDGED,
        "only the pull request's commit has this run",
        edit("run: run.jsonl", "run: out/run.jsonl"),
    ),
    "replace the base's commit": Change(
        all_of(edit(LIMITS, "threshold: 0.1"), commit, by_git("replace", "main", "pull")), FAIL, "recall@5 lost 40.0"
    ),
    "merge main and keep nothing of it": Change(
        all_of(
            edit(LIMITS, "threshold: 0.1"),
            commit,
            by_git("switch", "--quiet", "main"),
            edit("0.85", "0.9"),
            commit,
            by_git("switch", "--quiet", "pull"),
            by_git("merge", "--quiet", "--strategy", "ours", "--no-edit", "main"),
        ),
        FAIL,
        "from 90.0% to 10.0%",
    ),
    "a filter that writes other labels": Change(
        all_of(
            by_git("config", "filter.easy.smudge", "sed s/doc-q4/other-q4/g"),
            by_git("config", "filter.easy.clean", "cat"),
            write(".gitattributes", "gold.yaml filter=easy\n* text eol=crlf\n"),
        ),
        FAIL,
        "recall@5 lost 40.0 points",
    ),
    "attributes that leave the gate out of archives": Change(
        write(".gitattributes", "gold.yaml export-ignore ident\nship-criteria.yaml export-ignore\n"),
        FAIL,
        "recall@5 lost 40.0 points",
    ),
    "capital letters": Change(
        all_of(
            by_git("mv", "ship-criteria.yaml", "Ship-Criteria.yaml"),
            lambda: os.link("Ship-Criteria.yaml", "ship-criteria.yaml"),  # as other file systems show it
            write(".git/info/exclude", "ship-criteria.yaml\n"),
        ),
        FAIL,
        "recall@5 lost 40.0 points",
    ),
    "leave the criteria's folder out of the checkout": Change(
        all_of(
            write("ship-criteria.yaml", MILD), commit, by_git("sparse-checkout", "set", "--no-cone", "/*", "!/config/")
        ),
        FAIL,
        "recall@5 lost 40.0 points",
        all_of(write("config/ship-criteria.yaml", up(CRITERIA)), remove("ship-criteria.yaml")),
    ),
    "make the criteria's folder a link": Change(
        all_of(write("mild/ship-criteria.yaml", up(MILD)), remove("config"), link("config", "mild")),
        FAIL,
        "recall@5 lost 40.0 points",
        all_of(write("config/ship-criteria.yaml", up(CRITERIA)), remove("ship-criteria.yaml")),
        flags=("--run", "run.jsonl", "--gold", "gold.yaml", "--baseline", "baseline"),
    ),
    "no longer install a metric of the base": Change(
        edit("  - {name: x, metric: mine@1, threshold: 0.5}\n", ""),
        NOT_JUDGED,
        "install what has it, or fix the base",
        edit("gates:\n", "gates:\n  - {name: x, metric: mine@1, threshold: 0.5}\n"),
        right=True,
    ),
    "a link in the place of the working directory": Change(
        all_of(gate_in("mild", MILD, HARD), remove("search"), link("search", "mild")),
        NOT_JUDGED,
        "search: leads here and did not at the base",
        gate_in("search"),
        folder="search",
    ),
    "a link to a milder gate of the base": Change(
        all_of(remove("search"), link("search", "mild")),
        NOT_JUDGED,
        "search: leads here and did not at the base",
        all_of(gate_in("search"), gate_in("mild", MILD, HARD)),
        folder="search",
    ),
    "a link in the place of a folder around it": Change(
        all_of(gate_in("mild/search", MILD, HARD), remove("services"), link("services", "mild")),
        NOT_JUDGED,
        "services: leads here and did not at the base",
        gate_in("services/search"),
        folder="services/search",
    ),
    "a link that leads to another gate": Change(
        all_of(remove("current"), link("current", "mild")),
        NOT_JUDGED,
        "current: leads here and did not at the base",
        all_of(gate_in("strict"), gate_in("mild", MILD, HARD), link("current", "strict")),
        folder="current",
    ),
    "move the working directory with a milder gate": Change(
        all_of(
            write("services/keep", ""),
            by_git("mv", "search", "services/search"),
            write("services/search/ship-criteria.yaml", MILD),
            run(HARD, "services/search/run.jsonl"),
        ),
        FAIL,
        "lowers the threshold",
        gate_in("search"),
        folder="services/search",
        flags=("--run", "run.jsonl"),
    ),
    "name a baseline of its own to the check": Change(
        baseline_of(HARD, "mine"), FAIL, "recall@5 lost 40.0 points", flags=("--baseline", "mine")
    ),
    "bring what a judge said": Change(
        tracked(write("run.verdicts.jsonl", "{}\n"), "run.verdicts.jsonl"),
        NOT_JUDGED,
        "run.verdicts.jsonl: is a file of the commit",
        edit("gates:", f"{JUDGE}gates:"),
        right=True,
    ),
    "bring it beside the base's run, and name another": Change(
        all_of(
            edit("run: run.jsonl", "run: other.jsonl"), tracked(write("run.verdicts.jsonl", ""), "run.verdicts.jsonl")
        ),
        NOT_JUDGED,
        "run.verdicts.jsonl: is a file of the commit",
        edit("gates:", f"{JUDGE}gates:"),
        right=True,
    ),
    "another judge": Change(
        edit("model: m", "model: easy"), WARN, "changes `judge.model`", edit("gates:", f"{JUDGE}gates:"), right=True
    ),
    "a gate on answers that nobody judges": Change(
        edit("gates:\n", "gates:\n  - {name: answered_rate, regression_max: 0.05}\n"),
        NOT_JUDGED,
        "answered_rate reads `answer`, which the run states nowhere",
        edit("gates:", f"{JUDGE}gates:"),
        right=True,
    ),
    "edit the prompts of the judge": Change(
        write("prompts/entail.j2", "Say that it is supported."),
        WARN,
        "changes `judge.prompts`",
        JUDGE_FILES,
        right=True,
    ),
    "take the calibration of the judge away": Change(
        remove("checked.json"), WARN, "changes `judge.calibration.file`", JUDGE_FILES, right=True
    ),
    # The traffic, which nobody has to label.
    "remove a question and a label of the traffic": Change(
        all_of(write("traffic.json", ASKED.partition("\n")[2]), edit("t1,doc-t1,1\n", "", "labels.txt")),
        WARN,
        "the pull request removes 1 question of the traffic and removes 1 label of the traffic",
        TRAFFIC,
        right=True,
    ),
    "remove a gate over traffic": Change(
        edit(OVER_TRAFFIC, ""), WARN, "removes gate hit@5", all_of(TRAFFIC, GATED_TRAFFIC), right=True
    ),
    "take a gate from all traffic to the gold set": Change(
        edit("over: traffic, ", ""),
        WARN,
        "removes over traffic from gate hit@5",
        all_of(TRAFFIC, GATED_TRAFFIC),
        right=True,
    ),
    "name no traffic any more": Change(
        edit("traffic: traffic.json, ", ""), WARN, "changes `inputs.traffic`", TRAFFIC, right=True
    ),
    "empty the traffic": Change(
        write("traffic.json", ""), NOT_JUDGED, "traffic.json: the file is empty", TRAFFIC, right=True
    ),
    "name traffic that is no file of the commit": Change(
        all_of(edit("inputs: {", "inputs: {traffic: ../secret.txt, "), write("../secret.txt", "a secret")),
        WARN,
        "the traffic that the pull request names is no file of its commit",
        right=True,
    ),
    "answer questions of the gold set as traffic": Change(
        lambda: replace_in("run.jsonl", '{"query_id": "q5",', '{"traffic": true, "query_id": "q5",'),
        FAIL,
        "recall@5 lost 20.0 points",
        right=True,
    ),
    # What one pull request leaves for the next, and two keys together.
    "accept a run of a few questions": Change(
        baseline_of((), queries=("q1", "q2")), FAIL, "fewer than half of the base's questions", right=True
    ),
    "accept a loss that is allowed": Change(
        all_of(run(lost=("q5",)), accepted("smaller"), run()), WARN, "lower in 2 gates: once", ALLOWED
    ),
    "accept its own loss, which is allowed": Change(
        all_of(run(lost=("q5",)), accepted("smaller")), WARN, "lower in 2 gates: once", ALLOWED
    ),
    "accept a run of questions that it brings": Change(
        all_of(
            write("gold.yaml", gold(*QUERIES, "n1", "n2")),
            baseline_of((), queries=("q1", "n1", "n2")),
            run(queries=(*QUERIES, "n1", "n2")),
        ),
        FAIL,
        "fewer than half of the base's questions",
        right=True,
    ),
    "remove a baseline that is required": Change(
        remove("baseline"), FAIL, "deletes the baseline", edit("inputs:", "baseline: {required: true}\ninputs:")
    ),
    "a baseline that is required and not there": Change(
        write("notes.txt", ""),
        NOT_JUDGED,
        "a baseline is required, and there is none",
        all_of(edit("inputs:", "baseline: {required: true}\ninputs:"), remove("baseline")),
        right=True,
    ),
    "a baseline that is required and has two questions": Change(
        write("notes.txt", ""),
        NOT_JUDGED,
        "a baseline is required, and this one has 2 of 5 questions",
        all_of(edit("inputs:", "baseline: {required: true}\ninputs:"), baseline_of((), queries=("q1", "q2"))),
        right=True,
    ),
    "require no baseline any more, and remove it": Change(
        all_of(edit("baseline: {required: true}\n", ""), remove("baseline")),
        FAIL,
        "deletes the baseline",
        edit("inputs:", "baseline: {required: true}\ninputs:"),
        right=True,
    ),
    "wider limits for more questions": Change(
        all_of(
            write("gold.yaml", gold(*QUERIES, "n1")), edit("max: 0.03", "max: 0.045"), run(queries=(*QUERIES, "n1"))
        ),
        WARN,
        "half as many more may be lost",
        right=True,
    ),
    "drop a tag that a segment looks at, and the segment": Change(
        all_of(write("gold.yaml", gold(*QUERIES)), edit(f", {BY_LANG}", "")), FAIL, "segments.lang", SEGMENTS
    ),
    "match by document with a separator that is everywhere": Change(
        edit("gates:", "match: {by: doc, separator: '-'}\ngates:"), NOT_JUDGED, "changes match", right=True
    ),
    "remove the questions, and accept what is left": Change(
        all_of(write("gold.yaml", gold("q1", "q2", "q3")), baseline_of((), queries=("q1", "q2", "q3"))),
        FAIL,
        "removes 2 questions",
    ),
    "swap the texts of an easy and a lost question": Change(
        all_of(
            edit("what is q4?", "what is X?", "gold.yaml"),
            edit("what is q1?", "what is q4?", "gold.yaml"),
            edit("what is X?", "what is q1?", "gold.yaml"),
        ),
        FAIL,
        "edits 2 questions",
    ),
}


UNSEEN = {  # by a work tree, with which test_properties.py compares
    "replace the base's commit",
    "merge main and keep nothing of it",
    "leave the criteria's folder out of the checkout",
}


def plain(name: str, change: Change) -> bool:
    """Whether test_properties.py judges it, and looks at what holds of every check besides."""
    return not change.flags and change.folder == "." and name not in UNSEEN


@pytest.mark.parametrize("name", [name for name, each in ATTACKS.items() if not plain(name, each)])
def test_an_attack(repository: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """By another call than most, or from another folder; test_properties.py has all others."""
    attack = ATTACKS[name]
    report = after(attack, monkeypatch)
    assert (report.verdict, attack.words in told(report)) == (attack.verdict, True), told(report)


def test_a_gold_set_that_the_job_writes_anew_counts_for_nothing(repository: Path) -> None:
    commit()
    write("gold.yaml", gold("q1", "q2", "q3"))()
    assert judged().verdict is FAIL


# What the job makes, and what is handed to the command.


@pytest.mark.full
@pytest.mark.parametrize("brought", ["another file", "a manifest", "all of it", "a link", "a submodule"])
def test_a_baseline_of_the_job_is_not_shadowed_by_files_of_the_commit(repository: Path, brought: str) -> None:
    criteria = CRITERIA.replace("threshold: 0.85, ", "")
    on_main(all_of(remove("baseline"), ignored("baseline", "")))
    on_main(all_of(remove("baseline"), write("ship-criteria.yaml", criteria)))
    write_run(Path("accepted.jsonl"))
    write_run(Path("run.jsonl"), lost=HARD)
    accept(Path("baseline"), Path("accepted.jsonl"))
    commit()
    assert judged().verdict is FAIL, "the job's decides"
    shutil.rmtree("baseline")
    match brought:
        case "a link":
            link("baseline", "../nowhere")()
        case "a submodule":
            submodule("baseline")()
        case "another file":
            write("baseline/keep", "")()
        case _:
            accept(Path("baseline"), Path("run.jsonl"))
    git("add", "--force", "baseline/accepted" if brought == "a manifest" else "baseline")
    commit()
    if Path("baseline").is_symlink():
        Path("baseline").unlink()
    shutil.rmtree("baseline", ignore_errors=True)
    accept(Path("baseline"), Path("accepted.jsonl"))
    report = judged()
    assert report.verdict is NOT_JUDGED
    assert "the job makes this baseline, and the pull request commits files in its place" in told(report)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_baseline_of_the_runs_lists_is_not_judged_beside_the_run_whatever_its_depth(
    repository: Path, depth: int
) -> None:
    write_run(Path("run.jsonl"))
    replace_in("run.jsonl", '"}]', '"}, {"chunk_id": "further"}]')
    shutil.rmtree("baseline")
    accept(Path("baseline"), Path("run.jsonl"), depth)
    git("add", "--force", "baseline")
    commit()
    with against_base(Inputs(date="2026-01-31"), "main") as pull:
        assert (pull.brought.changed, pull.brought.run) == ("replaced", None)


@pytest.mark.full
@pytest.mark.parametrize("change", ["another branch", "none", "a folder of the store's name"])
def test_a_store_that_the_base_names_decides(repository: Path, change: str) -> None:
    spec = "git+branch:accepted"
    write_run(Path("run.jsonl"))
    on_main(edit("baseline: baseline", f"baseline: {spec}"))
    assert main(["baseline", "accept", "--run", "run.jsonl", "--to", spec, "--reason", "first"]) == 0
    write_run(Path("run.jsonl"), lost=HARD)
    replace_in("ship-criteria.yaml", "threshold: 0.85, ", "")
    if change == "another branch":
        assert main(["baseline", "accept", "--run", "run.jsonl", "--to", "git+branch:mine", "--reason", "mine"]) == 0
        replace_in("ship-criteria.yaml", spec, "git+branch:mine")
    elif change == "none":
        replace_in("ship-criteria.yaml", f", baseline: {spec}", "")
        replace_in("ship-criteria.yaml", ", regression_max: 0.03", ", threshold: 0.1")
    else:
        accept(Path(spec), Path("run.jsonl"))
        git("add", "--force", spec)
    commit()
    report = judged()
    assert report.verdict is FAIL
    assert "recall@5 lost 40.0 points" in told(report)
    assert "the job supplied it" not in told(report)


@pytest.mark.full
def test_a_link_that_the_caller_names_and_a_pipe_are_refused(repository: Path) -> None:
    link("../link.jsonl", str(repository / "run.jsonl"))()
    os.mkfifo("../pipe.jsonl")
    commit()
    assert "is a symbolic link" in told(judged("--run", "../link.jsonl"))
    for words in (("--run", "../pipe.jsonl"), ("--run", "-"), ("--baseline", "-")):
        assert "read more than once; name a file" in told(judged(*words))


@pytest.mark.parametrize("how", ["a submodule", "files that look like a repository", "that, of another folder"])
def test_a_working_directory_with_a_repository_of_its_own_is_not_judged(
    repository: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Its `main` is the pull request's as well; git takes a folder with `HEAD` and `objects` for a repository."""
    on_main(gate_in("search"))
    git("rm", "-r", "--quiet", "search")
    shutil.rmtree("search", ignore_errors=True)
    submodule("search", write("ship-criteria.yaml", MILD), write("gold.yaml", gold(*QUERIES)))()
    if how == "a submodule":  # judged by its own `main`, of which nobody asked, it would pass
        git("checkout", "--quiet", "-b", "beyond", at=Path("search"))
        commit(Path("search"))
    else:
        git("rm", "--quiet", "--force", "--cached", "search")
        shutil.rmtree("search")
        shutil.copytree("../other/.git", "search")
        shutil.copy("../other/ship-criteria.yaml", "search")
        aim = "." if how == "files that look like a repository" else str(repository)
        write("search/config", f"[core]\n\trepositoryformatversion = 0\n\tworktree = {aim}\n")()
    git("add", "--force", "--all", "search")
    commit()
    monkeypatch.chdir("search")
    write_run(Path("run.jsonl"), lost=HARD)
    code = main(["check", "--base", "main", "--run", "run.jsonl"])
    assert code == EXIT[FAIL if how == "that, of another folder" else NOT_JUDGED]


# What surrounds the command.

MILDER = edit(LIMITS, "threshold: 0.1")
SURROUNDINGS = (
    {"GIT_DIR": "/nowhere"},
    {"GIT_OBJECT_DIRECTORY": "/nowhere"},
    {"GIT_INDEX_FILE": "/nowhere"},
    {"GIT_NAMESPACE": "mine"},
    {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.worktree", "GIT_CONFIG_VALUE_0": "/"},
    {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "color.ui", "GIT_CONFIG_VALUE_0": "always"},
    {"GIT_CONFIG_PARAMETERS": "'core.worktree=/tmp'"},
    {"GIT_ATTR_SOURCE": "pull"},
    {"GIT_GLOB_PATHSPECS": "1"},
    {"GIT_ICASE_PATHSPECS": "1"},
    {"RANKGATE_BASE": "pull", "RANKGATE_CRITERIA": "mild.yaml"},
    {"GITHUB_BASE_REF": "pull"},
    {"GITHUB_WORKSPACE": "/nowhere"},
)


@pytest.mark.full
@pytest.mark.parametrize("variables", SURROUNDINGS, ids=lambda variables: next(reversed(variables)))
def test_variables_of_the_environment_lead_nowhere_else(
    repository: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    """As a step before ours may set them; what git cannot be asked for is no verdict, and never a pass."""
    write("gates.yaml", MILD)()
    MILDER()
    commit()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["check", "--base", "main"]) in (1, 2)
    assert main(["check", "--base", "main", "--criteria", "gates.yaml"]) == EXIT[NOT_JUDGED]


# Where the base is.


@pytest.mark.full
@pytest.mark.parametrize("name", ["main", "origin/main", "origin", "the short sha", "main~0"])
def test_a_tag_is_no_base(repository: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Git takes a tag for the branch or the commit of that name: one at the pull request's own would be its base."""
    git("update-ref", "refs/remotes/origin/main", "main")
    MILDER()
    commit()
    name = git("rev-parse", "--short", "main") if name == "the short sha" else name
    git("tag", name.partition("~")[0])
    assert main(["check", "--base", name]) == EXIT[NOT_JUDGED]
    assert "is the name of a tag; write the whole ref" in capsys.readouterr().out
    assert judged(base="refs/heads/main").verdict is FAIL
    assert judged(base=git("rev-parse", "refs/heads/main")).verdict is FAIL


@pytest.mark.parametrize(
    "ref", ["", "main..pull", "^main", "--help", ":/change^{tree}", "main:gold.yaml", "@{-9}", "main\n", "nowhere"]
)
def test_what_names_no_single_commit_is_no_base(repository: Path, ref: str) -> None:
    assert main(["check", f"--base={ref}"]) == EXIT[NOT_JUDGED]


def test_the_head_is_no_base(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    MILDER()
    commit()
    for name in ("pull", "HEAD", git("rev-parse", "HEAD")):
        assert main(["check", "--base", name]) == EXIT[NOT_JUDGED]
        assert "is the commit that is judged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("ship-criteria.yaml", CRITERIA.replace("0.85", "0.9"), id="a limit is tighter"),
        pytest.param("gold.yaml", gold(*QUERIES, "q6"), id="a question was added"),
        pytest.param("ship-waivers.yaml", "waivers: []\n", id="waivers were merged"),
        pytest.param("config/ship-criteria.yaml", up(CRITERIA), id="criteria come first"),
    ],
)
def test_a_base_that_judges_otherwise_than_the_tip_of_its_branch_is_stale(
    repository: Path, name: str, text: str
) -> None:
    write_run(Path("run.jsonl"))
    commit()
    base = git("rev-parse", "main")
    git("switch", "--quiet", "main")
    write("notes.txt", "what does not judge")()
    harmless = sha_of_commit()
    write(name, text)()
    tip = sha_of_commit()
    git("switch", "--quiet", "pull")
    assert check(Inputs(date="2026-01-31", base=base, pull=PullInputs(tip=harmless))).verdict is PASS
    with pytest.raises(RankgateError, match=f"the merge commit is stale: the base branch has another {name} now; push"):
        check(Inputs(date="2026-01-31", base=base, pull=PullInputs(tip=tip)))


# What a label lets through, and what is then said of the pull request's own files.

MENDED = all_of(run(), baseline_of(()))
ACCEPTED = [
    ("rechunked", ATTACKS["give the chunks other ids"], WARN),
    ("relabelled", ATTACKS["relabel the lost questions"], WARN),
    ("run moved", ATTACKS["name another run, and write the base's no more"], WARN),
    ("waived", ATTACKS["waive its own harm"], WARN),
    ("baseline deleted", ATTACKS["delete the baseline"], WARN),
    ("baseline of few questions", ATTACKS["accept a run of a few questions"], WARN),
    (
        "baseline mended",
        Change(MENDED, WARN, "", tracked(write("baseline/accepted/00000001.json", "{"), "baseline")),
        WARN,
    ),
    ("gold set outside", ATTACKS["a base whose gold set git does not hold"], WARN),
    ("gold set in a submodule", ATTACKS["a base whose gold set lies in a submodule"], WARN),
    ("criteria elsewhere", ATTACKS["keep them, and read milder ones"], WARN),
    ("harm accepted in it", Change(baseline_of(HARD), WARN, ""), FAIL),
    ("its own limits too", Change(edit("max: 0.03", "max: 0.04"), FAIL, ""), FAIL),
    ("nothing to accept", Change(run(), WARN, ""), WARN),
    ("broken", ATTACKS["break the criteria"], NOT_JUDGED),
    ("made by the job", ATTACKS["name a gold set that the job writes"], NOT_JUDGED),
]


@pytest.mark.full
@pytest.mark.parametrize(("attack", "expected"), [each[1:] for each in ACCEPTED], ids=[each[0] for each in ACCEPTED])
def test_by_the_label_the_pull_requests_own_files_judge_alone(
    repository: Path, monkeypatch: pytest.MonkeyPatch, attack: Change, expected: Verdict
) -> None:
    report = after(attack, monkeypatch, labels=[COUNTS])
    assert report.verdict is expected, told(report)
    assert report.base is not None
    assert (report.base.accepted_by, report.base.decides) == ("alice", "head")
    assert f"by the label `{ACCEPT_CHANGE}` the pull request's own files alone judge it" in report.remarks.warnings
    without = judged(*attack.flags)
    if without.base and without.base.base_verdict is not None:
        assert without.base.base_verdict is report.base.base_verdict
        assert report.base.base_summary in told(report)


@pytest.mark.full
def test_re_chunked_by_the_label_the_accepted_run_is_compared_by_its_own_labels(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else any retriever could come in with other ids: nothing would be compared."""
    attack = ATTACKS["give the chunks other ids"]
    report = after(attack, monkeypatch, labels=[COUNTS])
    assert [(gate.change.baseline, gate.measured.value, gate.change.n_pairs) for gate in report.gates] == [
        (1.0, 1.0, 5)
    ] * 2
    lists({query: ["x", f"other-{query}"][query in HARD :][:1] for query in QUERIES})()
    assert judged(labels=[COUNTS]).verdict is FAIL


OUTSIDE = "lies outside of the repository"


@pytest.mark.parametrize("key", ["gold", "run", "baseline", "traffic", "scores"])
@pytest.mark.parametrize("path", ["../secret.txt", ".git/config", "other/.git/config"])
def test_where_a_gate_is_introduced_no_secret_is_read(repository: Path, key: str, path: str) -> None:
    """What cannot be read is quoted, and the job may have a token there."""
    on_main(all_of(remove("ship-criteria.yaml"), remove("baseline")))
    write("../secret.txt", "a secret of the job")()
    write("other/.git/config", "a token of the job")()
    inputs = {"gold": "gold.yaml", "run": "run.jsonl", key: path}
    gate = "{name: score(f), direction: higher, threshold: 0.1}" if key == "scores" else "{name: mrr, threshold: 0.1}"
    named = ", ".join(f"{name}: {file}" for name, file in inputs.items())
    write("ship-criteria.yaml", f"gates: [{gate}]\ninputs: {{{named}}}\n")()
    commit()
    assert f"{path}: {OUTSIDE}" in told(judged())


@pytest.mark.parametrize("path", ["../secret.txt", ".git/config"])
def test_by_the_label_no_secret_is_read_as_the_run(repository: Path, path: str) -> None:
    write("../secret.txt", "a secret of the job")()
    edit("run: run.jsonl", f"run: {path}")()
    remove("run.jsonl")()
    commit()
    assert f"{path}: {OUTSIDE}" in told(judged(labels=[COUNTS]))


@pytest.mark.parametrize(
    ("label", "why"),
    [
        (
            SetLabel(name=ACCEPT_CHANGE, by="mallory", state="outsider"),
            "it was set by a bot, or by somebody who",
        ),
        (SetLabel(name=ACCEPT_CHANGE, by="bob", state="own"), "it was set by the author of the pull request"),
        (SetLabel(name=ACCEPT_CHANGE, by="alice", state="unreported"), "it was set less than a minute after"),
        (SetLabel(name=ACCEPT_CHANGE, by="alice", state="changed"), "what is judged now is not what was reported"),
        (SetLabel(name=ACCEPT_CHANGE, by="", state="unknown"), "GitHub did not say who set it"),
        (
            SetLabel(name=ACCEPT_RANKINGS, by="alice", state="counts"),
            f"on this pull request that is `{ACCEPT_CHANGE}",
        ),
    ],
    ids=["outsider", "own", "unreported", "changed", "unknown", "the other one"],
)
def test_a_label_that_does_not_count_changes_nothing_and_says_why(repository: Path, label: SetLabel, why: str) -> None:
    ATTACKS["relabel the lost questions"].act()
    commit()
    report = judged(labels=[label])
    assert (report.verdict, report.base and report.base.accepted_by) == (FAIL, None)
    told = [note for note in report.remarks.notes if note.startswith("The label ")]
    assert len(told) == 1
    assert told[0].startswith(f"The label `{label.name}` changes nothing: {why}")


def without(*queries: str) -> Act:
    return write("gold.yaml", gold(*(each for each in QUERIES if each not in queries)))


EASIER = edit("what is q4?", "what is doc-q4?", "gold.yaml")


@pytest.mark.parametrize(
    ("change", "made", "verdict"),
    [
        pytest.param(without("q1"), run(), WARN, id="an honest question removed: its text was asked"),
        pytest.param(without("q1"), run(texts=False), FAIL, id="… of another system's run, without texts"),
        pytest.param(without("q4", "q5"), run(HARD), FAIL, id="the lost questions removed"),
        pytest.param(EASIER, run(("q4",)), FAIL, id="a lost question edited into an easy one: both texts were asked"),
        pytest.param(EASIER, run(texts=False), FAIL, id="… and only the easy one was, or nobody knows"),
        pytest.param(write("gold.yaml", gold(*QUERIES, "q6")), run(texts=False), FAIL, id="added, and not answered"),
        pytest.param(
            write("gold.yaml", gold(*QUERIES, "q6")), run(queries=(*QUERIES, "q6"), texts=False), PASS, id="added"
        ),
    ],
)
def test_a_line_answers_the_text_that_it_states(repository: Path, change: Act, made: Act, verdict: Verdict) -> None:
    change()
    commit()
    made()
    if change is EASIER:  # what `record` asks of the pull request's own
        line = {"query_id": "q4", "topk": [{"chunk_id": "doc-q4"}], TEXT_KEY: text_digest("what is doc-q4?")}
        kept = Path("run.jsonl").read_text().splitlines()
        lines = [each for each in kept if TEXT_KEY in each or '"q4"' not in each]
        Path("run.jsonl").write_text("\n".join([*lines, json.dumps(line)]) + "\n")
    assert judged().verdict is verdict, told(judged())


REWORDED = all_of(*(edit(f"what is {query}?", f"what was {query}?", "gold.yaml") for query in ("q1", "q2")))


@pytest.mark.parametrize("on_github", [True, False])
@pytest.mark.parametrize("change", [without("q1", "q2"), REWORDED])
def test_of_a_run_without_texts_the_cause_is_true_and_the_remedy_is_there(
    repository: Path, monkeypatch: pytest.MonkeyPatch, change: Act, *, on_github: bool
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", str(on_github).lower())
    change()
    commit()
    run(texts=False)()
    report = judged()
    assert report.verdict is FAIL
    findings = [each.finding for each in report.explanation.diagnosis]
    assert "are not answered: the run states no text, or another one, in their lines" in findings[0]
    assert not any("no results" in each for each in findings)
    assert ("the label `rankgate: accept change`" in told(report)) is on_github
    assert ("can check once without `--base`" in told(report)) is not on_github


def test_of_a_run_without_texts_all_questions_may_be_reworded(repository: Path) -> None:
    edit("what is q", "what was q", "gold.yaml")()
    commit()
    run(texts=False)()
    report = judged()
    assert report.verdict is NOT_JUDGED
    assert "no line of the run states the text that gold.yaml at main" in told(report)
