"""Every way round the gate that somebody tried, each on a real repository by `rankgate check --base`.

The story is that of a pull request whose run loses two of five questions, so that it fails by the base. Each attack
changes something that would let it pass. Some have a run that is right: there the gate itself is what is softened, for
the next pull request, and that has to be seen.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from tests.base_ref.test_sides import CRITERIA, HARD, QUERIES, accept, gold, replace_in, write_run
from tests.base_ref.test_sides import repository as repository  # noqa: PLC0414 -- the fixture
from tests.repositories import commit, git

from rankgate.cli import main
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Verdict
from rankgate.model.waiver_use import ACCEPT_CHANGE, SetLabel
from rankgate.renderers.base_changes import changes

PASS, WARN, FAIL, NOT_JUDGED = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED
EXIT = {PASS: 0, WARN: 0, FAIL: 1, NOT_JUDGED: 2}
LIMITS = "threshold: 0.85, regression_max: 0.03"
Act = Callable[[], object]


class Attack(NamedTuple):
    """What the pull request does, what becomes of it, words that say why, and what main had before."""

    change: Act
    verdict: Verdict
    words: str
    main: Act | None = None
    right: bool = False
    flags: tuple[str, ...] = ()


def judged(*flags: str, base: str = "main", labels: Iterable[SetLabel] = ()) -> Report:
    """The report of the command, whose exit code goes with its verdict."""
    words = ["check", "--base", base, "--date", "2026-01-31", "-o", "../report.json", *flags]
    if named := list(labels):
        Path("../labels.json").write_bytes(msgspec.json.encode(named))
        words += ["--labels", "../labels.json"]
    code = main(words)
    report = decode_report(Path("../report.json").read_bytes(), "report.json")
    assert code == EXIT[report.verdict]
    return report


def told(report: Report) -> str:
    """All that is said."""
    said = [report.summary, *report.failures, *report.warnings, *report.notes, *map(str, report.problems)]
    return "\n".join([*said, *(change.text for change in changes(report, str))])


def on_main(act: Act) -> None:
    """Commit a change on main, and begin the pull request anew there."""
    git("switch", "--quiet", "main")
    act()
    commit()
    git("switch", "--quiet", "--force-create", "pull")


def all_of(*acts: Act) -> Act:
    def act() -> None:
        for each in acts:
            each()

    return act


def edit(old: str, new: str, file: str = "ship-criteria.yaml") -> Act:
    return lambda: replace_in(file, old, new)


def write(file: str, text: str) -> Act:
    def act() -> None:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(text)

    return act


def remove(file: str) -> Act:
    return lambda: shutil.rmtree(file) if Path(file).is_dir() else Path(file).unlink()


def ignored(file: str, text: str) -> Act:
    """What the job writes: git does not know it."""
    return all_of(write(".git/info/exclude", f"{file}\n"), write(file, text))


def tracked(act: Act, path: str) -> Act:
    return all_of(act, lambda: git("add", "--force", path))


def untracked() -> None:
    git("rm", "--quiet", "--cached", "ship-criteria.yaml")


def run(lost: tuple[str, ...] = (), file: str = "run.jsonl", queries: tuple[str, ...] = QUERIES) -> Act:
    return lambda: write_run(Path(file), lost=lost, queries=queries)


def lists(items: Mapping[str, list[str]], file: str = "run.jsonl") -> Act:
    lines = ({"query_id": query, "topk": [{"chunk_id": each} for each in ids]} for query, ids in items.items())
    return write(file, "".join(f"{json.dumps(line)}\n" for line in lines))


def link(path: str, aim: str) -> Act:
    return lambda: Path(path).symlink_to(aim)


def baseline_of(lost: tuple[str, ...], folder: str = "baseline") -> Act:
    """Accept another run in the place of the base's."""

    def act() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        write_run(Path("other.jsonl"), lost=lost)
        accept(Path(folder), Path("other.jsonl"))
        git("add", "--force", folder)

    return act


MILD = CRITERIA.replace("0.85, regression_max: 0.03", "0.1").replace("mrr, threshold: 0.5", "mrr, threshold: 0.1")
WITHIN = MILD.replace("gold: ", "gold: ../").replace("run: ", "run: ../").replace("baseline: ", "baseline: ../")
TAGGED = gold(*QUERIES).replace("[doc-q5]", "[doc-q5], metadata: {tags: [urgent]}")
LANGS = gold(*QUERIES)
for _query in QUERIES:
    _lang = "th" if _query in HARD else "en"
    LANGS = LANGS.replace(f"[doc-{_query}]", f"[doc-{_query}], metadata: {{tags: [lang:{_lang}]}}")
BY_LANG = "segments: {by: lang, regression_max: 0.03, min_queries: 1}"
SEGMENTS = all_of(write("gold.yaml", LANGS), edit(LIMITS, f"threshold: 0.1, {BY_LANG}"), edit("0.5}", "0.1}"))
EASY = tuple(f"c{n}" for n in range(40))
BEIR = "query-id\tcorpus-id\tscore\n" + "".join(f"{query}\tdoc-{query}\t1\n" for query in QUERIES)
POOR = "the baseline that the pull request brings does not hold"
LESS = ({"query_id": q, "topk": [{"chunk_id": "doc-q1"}], "old": [{"chunk_id": f"doc-{q}"}]} for q in QUERIES)
FOUND_ANEW = lists({query: ["new" if query in HARD else f"doc-{query}"] for query in QUERIES})
TWO_LISTS = "".join(f"{json.dumps(line)}\n" for line in LESS)
COPIES = gold(*QUERIES) + gold(*EASY).partition("\n")[2]
MINTED = {query: f"other-{query}" for query in QUERIES}
CLUSTERED = gold(*QUERIES).replace("[doc-q1]", "[doc-q1], metadata: {cluster: a}")
WAIVER = """\
waivers:
  - gate: found
    up_to: 0.5
    expires: 2026-12-31
    issue: https://example.org/1
    reason: the parser loses tables
    by: alice
"""
SCORED = all_of(
    edit("gates:\n", "gates:\n  - {name: score(f), direction: higher, threshold: 0.5}\n"),
    edit("inputs: {", "inputs: {scores: scores.csv, "),
)


def scores(file: str, value: float) -> Act:
    return write(file, "\n".join(["qid,f", *(f"{query},{value}" for query in QUERIES)]))


def gone_elsewhere(name: str, text: str, mild: str = "gates.yaml") -> Attack:
    """Main's criteria lie where this check does not look, and the pull request brings milder ones for it."""
    main_has = all_of(remove("ship-criteria.yaml"), write(name, text))
    return Attack(write(mild, MILD), NOT_JUDGED, "not where this check reads", main_has, flags=("--criteria", mild))


ATTACKS: dict[str, Attack] = {
    # The limits.
    "lower a threshold and allow a larger drop": Attack(
        edit(LIMITS, "threshold: 0.5, regression_max: 0.9"), FAIL, "lowers the threshold of gate found from 85.0% to"
    ),
    "leave the limits out": Attack(edit(LIMITS, "threshold: 0.1"), FAIL, "removes regression_max 3.0 pp from gate"),
    "loosen a severity": Attack(
        edit("max: 0.03}", "max: 0.03, severity: warning}"),
        FAIL,
        "changes the severity of gate found from error",
    ),
    "loosen the evidence": Attack(
        edit("max: 0.03}", "max: 0.03, evidence: proven_harm}"), FAIL, "changes evidence of gate found from estimate to"
    ),
    "ask for more confidence of harm": Attack(
        edit("max: 0.03}", "max: 0.03, evidence: proven_harm, confidence: 0.99}"), FAIL, "raises confidence"
    ),
    "loosen what all gates have": Attack(edit("gates:", "evidence: proven_harm\ngates:"), FAIL, "changes evidence"),
    "remove a gate": Attack(
        edit(f"  - {{name: found, metric: recall@5, {LIMITS}}}\n", ""), FAIL, "the pull request removes 1 gate"
    ),
    "rename a gate": Attack(edit("name: found", "name: seen"), FAIL, "removes gate found"),
    "another metric under the same name": Attack(
        edit(f"metric: recall@5, {LIMITS}", "metric: mrr, threshold: 0.2"), FAIL, "changes the metric of gate found"
    ),
    "let a question that must pass go": Attack(
        edit(", must_pass: [q4]", ""),
        FAIL,
        "takes q4 out of must_pass",
        edit(LIMITS, "threshold: 0.1, must_pass: [q4]"),
    ),
    "allow more lost questions": Attack(
        edit("lost_queries: 0", "lost_queries: 2"),
        FAIL,
        "raises max_lost_queries of gate found from 0 to 2",
        edit(LIMITS, "threshold: 0.1, max_lost_queries: 0"),
    ),
    "allow more missing values": Attack(
        edit("max: 0.03}", "max: 0.03, max_unjudged: 0.5}"), FAIL, "raises max_unjudged of gate found"
    ),
    "remove segments": Attack(edit(f", {BY_LANG}", ""), FAIL, "segments.lang", SEGMENTS),
    "segments by another tag": Attack(edit("by: lang", "by: topic"), FAIL, "segments.topic", SEGMENTS),
    "segments too small to be judged": Attack(edit("queries: 1", "queries: 3"), FAIL, "min_queries", SEGMENTS),
    "segments with wider limits": Attack(edit("max: 0.03", "max: 1.0"), FAIL, "segments.lang.regression_max", SEGMENTS),
    "one segment with a wider limit": Attack(
        edit("queries: 1", "queries: 1, only: {th: {regression_max: 1.0}}"), FAIL, "only.th.regression_max", SEGMENTS
    ),
    "match by document": Attack(edit("gates:", "match: doc\ngates:"), FAIL, "changes match from chunk to doc"),
    "another default cut-off": Attack(
        all_of(edit("gates:", "default_k: 50\ngates:"), run()),
        WARN,
        "raises default_k from",
        edit("metric: recall@5", "metric: recall"),
        right=True,
    ),
    "allow an old baseline": Attack(
        edit("days: 1,", "days: 999,"),
        FAIL,
        "raises baseline.max_age.days",
        all_of(edit("gates:", "baseline: {max_age: {days: 1, severity: error}}\ngates:"), edit(LIMITS, "threshold: 0")),
        right=True,
    ),
    "let any run become the baseline": Attack(
        edit("gates:", "baseline: {accept: green}\ngates:"), WARN, "baseline.accept", right=True
    ),
    "trust the runs of forks": Attack(edit("gates:", "fork_runs: trusted\ngates:"), WARN, "fork_runs", right=True),
    "ask for more of one side to ask for less of the other": Attack(
        all_of(edit(LIMITS, f"{LIMITS}, must_pass: [q1]"), write("gold.yaml", gold("q1", "q2", "q3"))),
        FAIL,
        "adds q1 to must_pass",
    ),
    "a second gate that warns in the first one's place": Attack(
        edit("name: found", "name: seen, severity: warning"), FAIL, "removes gate found"
    ),
    # The gold set.
    "remove the lost questions": Attack(write("gold.yaml", gold("q1", "q2", "q3")), FAIL, "removes 2 questions"),
    "remove them, and ask them no more": Attack(
        all_of(write("gold.yaml", gold("q1", "q2", "q3")), run(queries=("q1", "q2", "q3"))), FAIL, "removes 2 questions"
    ),
    "relabel the lost questions": Attack(
        write("gold.yaml", gold(*QUERIES, q4="other-q4", q5="other-q5")), FAIL, "relabels 2 questions (2 toward"
    ),
    "say that the lost questions have no answer": Attack(
        write(
            "gold.yaml",
            gold(*QUERIES).replace("[doc-q4]", "[], metadata: {no_answer: true}").replace("[doc-q5]", "[doc-q5, x]"),
        ),
        FAIL,
        "relabels 2 questions",
    ),
    "give the questions other ids": Attack(
        all_of(
            write("gold.yaml", gold(*(f"n{query}" for query in QUERIES))),
            lists({f"n{query}": [f"doc-n{query}"] for query in QUERIES}),
        ),
        NOT_JUDGED,
        "ids",
    ),
    "give the chunks other ids": Attack(
        all_of(write("gold.yaml", gold(*QUERIES, **MINTED)), lists({query: [f"other-{query}"] for query in QUERIES})),
        NOT_JUDGED,
        "gold stale",
    ),
    "ask for ten results of a sudden": Attack(
        all_of(
            write("gold.yaml", gold(*QUERIES).replace("]}", "], metadata: {k: 10}}")),
            lists({query: [*(f"x{rank}" for rank in range(6)), f"doc-{query}"] for query in QUERIES}),
        ),
        FAIL,
        "edits 5 questions",
        edit("recall@5", "recall"),
    ),
    "remove a question that must pass": Attack(
        all_of(write("gold.yaml", gold("q1", "q2", "q3", "q5")), run(lost=("q4",))),
        FAIL,
        "removes 1 question",
        edit(LIMITS, "threshold: 0.1, must_pass: [q4]"),
    ),
    "take the tag off by which it must": Attack(
        write("gold.yaml", gold(*QUERIES).replace("[doc-q1]", "[doc-q1], metadata: {tags: [urgent]}")),
        FAIL,
        "edits 1 question",
        all_of(write("gold.yaml", TAGGED), edit(LIMITS, "threshold: 0.1, must_pass: [urgent]")),
    ),
    "move the lost questions to another segment": Attack(
        write("gold.yaml", LANGS.replace("lang:th", "lang:en")), FAIL, "edits 2 questions", SEGMENTS
    ),
    "edit the clusters": Attack(
        write("gold.yaml", CLUSTERED.replace("cluster: a", "cluster: b")),
        FAIL,
        "edits 1 question",
        write("gold.yaml", CLUSTERED),
    ),
    "an easier text for a lost question": Attack(
        edit("what is q4?", "what is q1?", "gold.yaml"), FAIL, "edits 1 question"
    ),
    "dilute a loss with easy questions": Attack(
        all_of(write("gold.yaml", COPIES), run(lost=HARD, queries=(*QUERIES, *EASY))),
        FAIL,
        "half as many more may be lost",
    ),
    "dilute the next loss": Attack(
        all_of(write("gold.yaml", COPIES), run(queries=(*QUERIES, *EASY))),
        WARN,
        "brings the gold set from 5 to 45",
        right=True,
    ),
    "add a question that is there already": Attack(
        all_of(
            write("gold.yaml", gold(*QUERIES, "q6").replace("what is q6?", " What is  Q1?")),
            run(queries=(*QUERIES, "q6")),
        ),
        WARN,
        "repeats 1 question",
        right=True,
    ),
    "name another gold set": Attack(
        all_of(edit("gold: gold.yaml", "gold: easy.yaml"), write("easy.yaml", gold("q1", "q2", "q3"))),
        FAIL,
        "removes 2 questions",
    ),
    "name a gold set that the job writes": Attack(
        all_of(edit("gold: gold.yaml", "gold: made.yaml"), ignored("made.yaml", gold(*QUERIES)), run()),
        NOT_JUDGED,
        "made.yaml: is no file of the commit",
        right=True,
    ),
    "name a gold set outside": Attack(
        all_of(edit("gold: gold.yaml", "gold: ../made.yaml"), write("../made.yaml", gold(*QUERIES)), run()),
        NOT_JUDGED,
        "is no file of the commit",
        right=True,
    ),
    "let the job write the committed gold set anew": Attack(
        all_of(commit, write("gold.yaml", gold("q1", "q2", "q3"))), FAIL, "recall@5 lost 40.0 points"
    ),
    "commit a gold set where the job writes the base's": Attack(
        tracked(write("made.yaml", gold("q1", "q2", "q3")), "made.yaml"),
        NOT_JUDGED,
        "there is no such file",
        all_of(edit("gold: gold.yaml", "gold: made.yaml"), write(".gitignore", "*.jsonl\nmade.yaml\n")),
    ),
    "a pointer to LFS in the gold set's place": Attack(
        write("gold.yaml", f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n"),
        NOT_JUDGED,
        "Git LFS",
    ),
    "a folder of BEIR relabelled": Attack(
        write("beir/qrels/test.tsv", BEIR.replace("doc-", "x-")),
        FAIL,
        "relabels 5 questions",
        all_of(
            edit("gold: gold.yaml", "gold: beir"),
            write("beir/qrels/test.tsv", BEIR),
        ),
    ),
    # The baseline.
    "delete the baseline": Attack(remove("baseline"), FAIL, "the pull request deletes the baseline", right=True),
    "delete it with the loss": Attack(remove("baseline"), FAIL, "recall@5 lost 40.0 points"),
    "stop naming it": Attack(edit(", baseline: baseline}", "}"), FAIL, "recall@5"),
    "replace the baseline by the loss": Attack(baseline_of(HARD), FAIL, "recall@5 lost 40.0 points"),
    "replace the baseline for the next pull request": Attack(baseline_of(HARD), FAIL, POOR, right=True),
    "bring a poor first baseline": Attack(
        baseline_of(HARD),
        FAIL,
        POOR,
        remove("baseline"),
        right=True,
    ),
    "name a poor baseline elsewhere": Attack(
        all_of(edit("baseline: baseline", "baseline: second"), baseline_of(HARD, "second")),
        FAIL,
        POOR,
        right=True,
    ),
    "name a store of its own": Attack(
        edit("baseline: baseline", "baseline: git+branch:mine"), FAIL, "whose log only grows", right=True
    ),
    "commit a poor baseline where the job writes it": Attack(
        baseline_of(HARD, "made"), FAIL, POOR, edit("baseline: baseline", "baseline: made"), right=True
    ),
    # The run and what goes with it.
    "name the accepted run": Attack(
        all_of(edit("run: run.jsonl", "run: accepted.jsonl"), run(file="accepted.jsonl")), FAIL, "inputs.run"
    ),
    "name the baseline as the run": Attack(edit("run: run.jsonl", "run: baseline"), FAIL, "inputs.run"),
    "read another list of the same file": Attack(
        all_of(
            edit("run: run.jsonl", "run: {path: run.jsonl, map: {query_id: query_id, items: old, chunk_id: chunk_id}}"),
            write("run.jsonl", TWO_LISTS),
        ),
        FAIL,
        "inputs.run.map",
    ),
    "name another run, and write the base's no more": Attack(
        all_of(edit("run: run.jsonl", "run: moved.jsonl"), run(file="moved.jsonl"), remove("run.jsonl")),
        NOT_JUDGED,
        "run.jsonl",
    ),
    "name another run for the next pull request": Attack(
        all_of(edit("run: run.jsonl", "run: moved.jsonl"), run(file="moved.jsonl")), WARN, "inputs.run", right=True
    ),
    "commit the accepted run": Attack(tracked(run(), "run.jsonl"), NOT_JUDGED, "only the pull request's commit has"),
    "commit a copy less one result": Attack(
        tracked(lists({query: [f"doc-{query}", "x"][: 2 - (query == "q1")] for query in QUERIES}), "run.jsonl"),
        NOT_JUDGED,
        "only the pull request's commit has this run",
    ),
    "edit the committed run": Attack(
        run(), WARN, "the pull request changes the file of the run", tracked(run(lost=("q1",)), "run.jsonl")
    ),
    "make the run a link": Attack(
        all_of(tracked(run(file="good.jsonl"), "good.jsonl"), remove("run.jsonl"), link("run.jsonl", "good.jsonl")),
        NOT_JUDGED,
        "is a symbolic link",
    ),
    "make the run's folder a link": Attack(
        all_of(tracked(run(file="run.jsonl"), "run.jsonl"), link("out", ".")),
        NOT_JUDGED,
        "is a symbolic link, or lies behind one",
        edit("run: run.jsonl", "run: out/run.jsonl"),
    ),
    "name other scores": Attack(
        all_of(edit("scores: scores.csv", "scores: good.csv"), scores("good.csv", 0.9), run()),
        FAIL,
        "score(f)",
        all_of(SCORED, scores("scores.csv", 0.1)),
    ),
    "edit the scores": Attack(
        all_of(scores("scores.csv", 0.9), run()),
        WARN,
        "changes values that judge it",
        all_of(SCORED, scores("scores.csv", 0.3)),
    ),
    "commit scores where the job writes them": Attack(
        all_of(scores("scores.csv", 0.9), run()), WARN, "changes values that judge it", SCORED
    ),
    "stop writing what a gate of the base reads": Attack(
        edit("  - {name: latency_p95, threshold: 900}\n", ""),
        NOT_JUDGED,
        "latency",
        edit("gates:\n", "gates:\n  - {name: latency_p95, threshold: 900}\n"),
    ),
    # Where criteria and waivers lie.
    "milder criteria in a place that is searched earlier": Attack(
        write(
            "config/ship-criteria.yaml",
            WITHIN,
        ),
        FAIL,
        "lowers the threshold",
    ),
    "criteria that the job writes there": Attack(
        ignored("config/ship-criteria.yaml", MILD), FAIL, "recall@5 lost 40.0 points"
    ),
    "criteria that the job writes": Attack(
        all_of(
            remove("ship-criteria.yaml"),
            ignored("ship-criteria.yaml", MILD),
            untracked,
        ),
        FAIL,
        "recall@5 lost 40.0 points",
    ),
    "move the criteria and lower them": Attack(
        all_of(remove("ship-criteria.yaml"), write("gates.yaml", MILD)),
        FAIL,
        "lowers the threshold",
        flags=("--criteria", "gates.yaml"),
    ),
    "empty them, and write others": Attack(
        all_of(write("ship-criteria.yaml", "# see gates.yaml\n"), write("gates.yaml", MILD)),
        FAIL,
        "lowers the threshold",
        flags=("--criteria", "gates.yaml"),
    ),
    "put a link in their place": Attack(
        all_of(remove("ship-criteria.yaml"), write("gates.yaml", MILD), link("ship-criteria.yaml", "gates.yaml")),
        FAIL,
        "lowers the threshold",
        flags=("--criteria", "gates.yaml"),
    ),
    "keep them, and read milder ones": Attack(
        write("gates.yaml", MILD), NOT_JUDGED, "not where this check reads", flags=("--criteria", "gates.yaml")
    ),
    "main's in another form: flow": gone_elsewhere("q.YML", "{gates: [{name: mrr, threshold: 0.9}]}"),
    "main's in another form: JSON": gone_elsewhere("q.json", '{"gates": [{"name": "mrr", "threshold": 0.9}]}'),
    "main's in another form: an escaped key": gone_elsewhere("q.yaml", '"g\\x61tes":\n- {name: mrr, threshold: 0.9}\n'),
    "main's in another form: an explicit key": gone_elsewhere("q.yaml", "? gates\n: - {name: mrr, threshold: 0.9}\n"),
    "main's in another form: a key in two lines": gone_elsewhere(
        "q.yaml", '? "ga\\\n  tes"\n: - {name: mrr, threshold: 0.9}\n'
    ),
    "main's in another form: a byte order mark": gone_elsewhere(
        "q.yaml", "\ufeffgates:\n- {name: mrr, threshold: 0.9}\n"
    ),
    "delete the criteria": Attack(remove("ship-criteria.yaml"), FAIL, "recall@5 lost 40.0 points"),
    "break the criteria": Attack(write("ship-criteria.yaml", "gates: 5\n"), FAIL, "recall@5 lost 40.0 points"),
    "break them in a run that is right": Attack(
        write("ship-criteria.yaml", "gates: 5\n"), NOT_JUDGED, "expected a list", right=True
    ),
    "an alias": Attack(
        all_of(edit("gates:", "x: &mild {threshold: 0.1}\ngates:"), edit("name: found,", "<<: *mild, name: found,")),
        NOT_JUDGED,
        "anchor &mild is not allowed",
        right=True,
    ),
    "a key twice": Attack(
        edit("threshold: 0.85,", "threshold: 0.85, threshold: 0.1,"), NOT_JUDGED, "duplicate key", right=True
    ),
    "two documents": Attack(write("ship-criteria.yaml", f"{CRITERIA}---\n{MILD}"), NOT_JUDGED, "YAML", right=True),
    "waive its own harm": Attack(write("ship-waivers.yaml", WAIVER), FAIL, "adds a waiver of gate found"),
    "waivers that the job writes": Attack(ignored("ship-waivers.yaml", WAIVER), FAIL, "recall@5 lost 40.0 points"),
    "raise a waiver": Attack(
        write("ship-waivers.yaml", WAIVER),
        FAIL,
        "edits a waiver",
        write("ship-waivers.yaml", WAIVER.replace("0.5", "0.1")),
    ),
    "waive the next pull request's harm": Attack(write("ship-waivers.yaml", WAIVER), WARN, "adds a waiver", right=True),
    "name an example as waivers": Attack(
        edit("inputs: {", "inputs: {waivers: example.yaml, "), FAIL, "adds a waiver", write("example.yaml", WAIVER)
    ),
    "a name for which a waiver waits": Attack(
        edit("name: found", "name: seen"),
        FAIL,
        "removes gate found",
        write("ship-waivers.yaml", WAIVER.replace("gate: found", "gate: seen")),
    ),
    "a smaller violation, which main's waiver covers": Attack(
        edit("0.85", "0.65"),
        FAIL,
        "lowers the threshold",
        all_of(write("ship-waivers.yaml", WAIVER.replace("0.5", "0.1")), edit(", regression_max: 0.03", "")),
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack(repository: Path, name: str) -> None:
    attack = ATTACKS[name]
    if attack.main:
        on_main(attack.main)
    write_run(Path("run.jsonl"), lost=() if attack.right else HARD)
    attack.change()
    if name != "let the job write the committed gold set anew":
        commit()
    report = judged(*attack.flags)
    assert (report.verdict, attack.words in told(report)) == (attack.verdict, True), told(report)


# Where the base is, and what a label lets through.


@pytest.mark.parametrize("name", ["main", "origin/main", "origin", "the short sha", "main~0"])
def test_a_tag_is_no_base(repository: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Git takes a tag for the branch or the commit of that name: one at the pull request's own would be its base."""
    git("update-ref", "refs/remotes/origin/main", "main")
    replace_in("ship-criteria.yaml", LIMITS, "threshold: 0.1")
    commit()
    name = git("rev-parse", "--short", "main") if name == "the short sha" else name
    git("tag", name.partition("~")[0])
    assert main(["check", "--base", name]) == EXIT[NOT_JUDGED]
    assert "is the name of a tag; write the whole ref" in capsys.readouterr().out
    assert judged(base="refs/heads/main").verdict is FAIL
    assert judged(base=git("rev-parse", "refs/heads/main")).verdict is FAIL


def test_the_head_is_no_base(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace_in("ship-criteria.yaml", LIMITS, "threshold: 0.1")
    commit()
    for name in ("pull", "HEAD", git("rev-parse", "HEAD")):
        assert main(["check", "--base", name]) == EXIT[NOT_JUDGED]
        assert "is the commit that is judged" in capsys.readouterr().out


COUNTS = SetLabel(name=ACCEPT_CHANGE, by="alice", standing="counts")
# What a label lets through, and what is then said of the pull request's own files.
ACCEPTED = [
    ("rechunked", ATTACKS["give the chunks other ids"], WARN),
    ("relabelled", ATTACKS["relabel the lost questions"], WARN),
    ("run moved", ATTACKS["name another run, and write the base's no more"], WARN),
    ("waived", ATTACKS["waive its own harm"], WARN),
    ("baseline deleted", ATTACKS["delete the baseline"], WARN),
    ("criteria elsewhere", ATTACKS["keep them, and read milder ones"], WARN),
    ("harm accepted in it", Attack(baseline_of(HARD), WARN, ""), FAIL),
    ("its own limits too", Attack(edit("max: 0.03", "max: 0.04"), FAIL, ""), FAIL),
    ("nothing to accept", Attack(run(), WARN, ""), WARN),
    ("broken", ATTACKS["break the criteria"], NOT_JUDGED),
    ("made by the job", ATTACKS["name a gold set that the job writes"], NOT_JUDGED),
]


@pytest.mark.parametrize(("attack", "expected"), [each[1:] for each in ACCEPTED], ids=[each[0] for each in ACCEPTED])
def test_by_the_label_the_pull_requests_own_files_judge_alone(
    repository: Path, attack: Attack, expected: Verdict
) -> None:
    write_run(Path("run.jsonl"), lost=() if attack.right else HARD)
    attack.change()
    commit()
    report = judged(*attack.flags, labels=[COUNTS])
    assert report.verdict is expected, told(report)
    assert report.base is not None
    assert (report.base.accepted_by, report.base.decides) == ("alice", "head")
    assert f"by the label `{ACCEPT_CHANGE}` the pull request's own files alone judge it" in report.warnings
    without = judged(*attack.flags)
    if without.base and without.base.base_verdict is not None:
        assert without.base.base_verdict is report.base.base_verdict
        assert report.base.base_summary in told(report)


@pytest.mark.parametrize("standing", ["outsider", "head moved", "unreported", "unknown"])
def test_a_label_that_does_not_count_changes_nothing_and_says_why(repository: Path, standing: str) -> None:
    ATTACKS["relabel the lost questions"].change()
    commit()
    label = msgspec.convert({"name": ACCEPT_CHANGE, "by": "mallory", "standing": standing}, SetLabel)
    report = judged(labels=[label])
    assert (report.verdict, report.base and report.base.accepted_by) == (FAIL, None)
    assert report.notes[-1].startswith("The label that lets a pull request's own files judge alone changes nothing: ")
    other = SetLabel(name="rankgate: accept rankings", by="alice", standing="counts")
    assert judged(labels=[other]).verdict is FAIL


# What a pull request may do.

LEGITIMATE: dict[str, Attack] = {
    "nothing of the gate": Attack(write("notes.txt", "a change"), PASS, "No list changed"),
    "a comment in the criteria": Attack(edit("gates:", "# ours\ngates:"), PASS, ""),
    "a stricter limit": Attack(edit("0.85", "0.9"), PASS, "raises the threshold of gate found from 85.0% to 90.0%"),
    "a limit more": Attack(edit("0.5}", "0.5, regression_max: 0.1}"), PASS, "adds regression_max 0.100 to gate order"),
    "a gate more": Attack(edit("inputs:", "  - {name: ndcg@5, threshold: 0.5}\ninputs:"), PASS, "adds gate ndcg@5"),
    "a gate more that fails": Attack(
        all_of(
            edit("inputs:", "  - {name: rank, metric: recall@1, threshold: 0.9}\ninputs:"),
            lists({query: ["x", f"doc-{query}"] for query in QUERIES}),
        ),
        FAIL,
        "recall@1 is 0.0%",
    ),
    "what looks like a tightening": Attack(
        edit("max: 0.03}", "max: 0.03, must_pass: [q1]}"),
        WARN,
        "adds q1 to must_pass",
    ),
    "labels corrected, same retriever": Attack(
        write("gold.yaml", gold(*QUERIES, q1="doc-q1, x")), WARN, "relabels 1 question"
    ),
    "labels corrected with a retriever that finds the new documents": Attack(
        all_of(
            write("gold.yaml", gold(*QUERIES, q4="new", q5="new")),
            FOUND_ANEW,
        ),
        FAIL,
        "by the questions of the base, of which this pull request relabels 2, recall@5 lost",
    ),
    "questions added": Attack(
        all_of(write("gold.yaml", gold(*QUERIES, "q6", "q7")), run(queries=(*QUERIES, "q6", "q7"))),
        PASS,
        "adds 2 queries (q6, q7)",
    ),
    "questions removed, which the run answers": Attack(write("gold.yaml", gold("q1", "q2")), WARN, "removes 3 queries"),
    "questions removed, which the run lacks": Attack(
        all_of(write("gold.yaml", gold("q1", "q2")), run(queries=("q1", "q2"))), FAIL, "removes 3 queries"
    ),
    "a field that the retriever needs": Attack(
        write("gold.yaml", gold(*QUERIES).replace("[doc-q1]", "[doc-q1], metadata: {tags: [tenant:a]}")), PASS, ""
    ),
    "gold renamed": Attack(
        all_of(lambda: git("mv", "gold.yaml", "labels.yaml"), edit("gold: gold.yaml", "gold: labels.yaml")),
        PASS,
        "changes inputs.gold from gold.yaml to labels.yaml",
    ),
    "good run accepted in it": Attack(baseline_of(()), PASS, "replaces the baseline"),
    "an expired waiver removed": Attack(
        remove("ship-waivers.yaml"),
        WARN,
        "removes a waiver of gate found",
        write("ship-waivers.yaml", WAIVER.replace("2026-12", "2025-12")),
    ),
    "main's criteria mended": Attack(
        write("ship-criteria.yaml", CRITERIA), NOT_JUDGED, "main", edit("gates:", "gate:")
    ),
    "main's gold set mended": Attack(
        write("gold.yaml", gold(*QUERIES)), NOT_JUDGED, "gold.yaml at main", write("gold.yaml", "samples: 5\n")
    ),
    "rankgate introduced": Attack(
        write("ship-criteria.yaml", CRITERIA), PASS, "The base has no ship criteria yet", remove("ship-criteria.yaml")
    ),
    "rankgate introduced beside files that are none of its": Attack(
        write("ship-criteria.yaml", CRITERIA),
        PASS,
        "The base has no ship criteria yet",
        all_of(
            remove("ship-criteria.yaml"), write("x.yaml", "gates: {logic: and}\n"), write("y.yml", "gates:\n\t- x\n")
        ),
    ),
}


@pytest.mark.parametrize("name", LEGITIMATE)
def test_a_legitimate_change(repository: Path, name: str) -> None:
    change = LEGITIMATE[name]
    if change.main:
        on_main(change.main)
    write_run(Path("run.jsonl"))
    change.change()
    commit()
    report = judged(*change.flags)
    assert (report.verdict, change.words in told(report)) == (change.verdict, True), told(report)


# What holds of all of them.


def test_without_a_change_of_the_gate_the_report_is_the_one_without_a_base(repository: Path) -> None:
    commit()
    report = judged()
    assert main(["check", "--date", "2026-01-31", "-o", "../alone.json"]) == EXIT[FAIL]
    alone = decode_report(Path("../alone.json").read_bytes(), "alone.json")
    assert report.base is not None
    assert (report.base.base_verdict, report.base.decides, report.base.keys) == (None, "head", [])
    old = alone.provenance
    provenance = msgspec.structs.replace(report.provenance, command=old.command, baseline=old.baseline)
    same = msgspec.structs.replace(report, base=None, provenance=provenance)
    assert msgspec.to_builtins(same) == msgspec.to_builtins(alone)


@pytest.mark.parametrize("name", ATTACKS)
def test_no_verdict_is_milder_than_what_a_folder_with_the_bases_files_says(repository: Path, name: str) -> None:
    """The base's files laid out by themselves, with the job's run: what they say, the check says at least."""
    attack = ATTACKS[name]
    if attack.main:
        on_main(attack.main)
    write_run(Path("run.jsonl"), lost=() if attack.right else HARD)
    attack.change()
    commit()
    report = judged(*attack.flags)
    room = Path("../room")
    git("worktree", "add", "--quiet", "--force", "--detach", str(room), "main")
    for file in (*Path().glob("*.jsonl"), *Path().glob("*.csv")):
        if not file.is_symlink():
            shutil.copy(file, room)
    with pytest.MonkeyPatch.context() as there:
        there.chdir(room)
        main(["check", "--date", "2026-01-31", "-o", "../alone.json"])
    alone = decode_report(Path("../alone.json").read_bytes(), "alone.json")
    blocks = (FAIL, NOT_JUDGED)
    assert report.verdict in blocks or alone.verdict not in blocks
