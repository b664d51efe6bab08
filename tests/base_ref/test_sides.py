"""`--base`: every way in which a pull request could make its own gate milder, on real repositories.

The story is that of a pull request whose run loses questions. By the base it fails; each scenario changes something
that would let it pass, and says what becomes of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.baselines.accepting import accept_into
from tests.repositories import commit, git

from rankgate.base_ref.stricter import stricter
from rankgate.check import check
from rankgate.cli import main
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.errors import RankgateError
from rankgate.model.reasons import sentences as sentences_of
from rankgate.model.report import Diagnosis, Report
from rankgate.model.report_text import decode_report, encode_report
from rankgate.model.values import Verdict
from rankgate.readers.formats import read_run
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import quoted
from rankgate.renderers.github import render_github
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.terminal import render_terminal

PASS, WARN, FAIL, NOT_JUDGED = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED

CRITERIA = """\
gates:
  - {name: found, metric: recall@5, threshold: 0.85, regression_max: 0.03}
  - {name: order, metric: mrr, threshold: 0.5}
inputs: {gold: gold.yaml, run: run.jsonl, baseline: baseline}
"""
QUERIES = ("q1", "q2", "q3", "q4", "q5")
HARD = ("q4", "q5")


def gold(*queries: str, **labels: str) -> str:
    """A gold set in which every query has one relevant document, named after it unless said otherwise."""
    lines = (
        f'  - {{id: {query}, input: {{question: "what is {query}?"}}, '
        f"expected_output: [{labels.get(query, f'doc-{query}')}]}}\n"
        for query in queries
    )
    return "samples:\n" + "".join(lines)


def write_run(path: Path, lost: tuple[str, ...] = (), queries: tuple[str, ...] = QUERIES) -> None:
    """A run that finds the relevant document of every query but the lost ones, where it finds another."""
    lines = (
        json.dumps({"query_id": query, "topk": [{"chunk_id": f"other-{query}" if query in lost else f"doc-{query}"}]})
        for query in queries
    )
    path.write_text("\n".join(lines) + "\n")


def accept(folder: Path, run: Path, depth: int = 100) -> None:
    opened = read_run(str(run))
    accept_into(folder, opened.rankings, source=run.name, date="2026-01-01", depth=depth)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose gate is in use, on the branch of a pull request that lost the hard queries."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "--quiet", "--initial-branch", "main", ".")
    (folder / ".gitignore").write_text("*.jsonl\n")
    (folder / "ship-criteria.yaml").write_text(CRITERIA)
    (folder / "gold.yaml").write_text(gold(*QUERIES))
    write_run(folder / "run.jsonl")
    accept(folder / "baseline", folder / "run.jsonl")
    git("add", "--force", "baseline")
    commit()
    git("switch", "--quiet", "--create", "pull")
    write_run(folder / "run.jsonl", lost=HARD)
    return folder


def judge(base: str | None = "main", *, gold: InputFile | None = None, baseline: InputFile | None = None) -> Report:
    return check(Inputs(date="2026-01-31", base=base, gold=gold, baseline=baseline))


def told(report: Report) -> list[str]:
    """What the pull request changed, in sentences."""
    return [change.text for change in changes(report, quoted)]


def replace_in(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def criteria(old: str, new: str) -> Callable[[], None]:
    return lambda: replace_in("ship-criteria.yaml", old, new)


def test_without_a_change_of_the_gate_the_report_is_the_one_without_a_base(repository: Path) -> None:
    commit()
    alone, found = judge(base=None), judge()
    assert found.base is not None
    assert found.provenance.command == [*alone.provenance.command, "--base", "main"]
    provenance = msgspec.structs.replace(found.provenance, command=alone.provenance.command)
    assert msgspec.structs.replace(found, base=None, provenance=provenance) == alone
    assert (found.base.base_verdict, found.base.gates, found.base.queries) == (None, [], None)
    assert (found.verdict, told(found)) == (FAIL, [])


SIDE_DOORS = [
    pytest.param(
        criteria("threshold: 0.85, regression_max: 0.03", "threshold: 0.5, regression_max: 0.9"),
        [
            "The pull request lowers the threshold of gate 'found' from 85.0% to 50.0%.",
            "The pull request raises regression_max of gate 'found' from 3.0 pp to 90.0 pp.",
        ],
        "the pull request weakens 1 gate",
        "by the criteria of the base, recall@5 dropped from 100.0% to 60.0%",
        id="lower a threshold and allow a larger drop",
    ),
    pytest.param(
        criteria("  - {name: found, metric: recall@5, threshold: 0.85, regression_max: 0.03}\n", ""),
        ["The pull request removes gate 'found'."],
        "the pull request removes 1 gate",
        "by the criteria of the base, recall@5 dropped from 100.0% to 60.0%",
        id="remove a gate",
    ),
    pytest.param(
        criteria("regression_max: 0.03}", "regression_max: 0.03, severity: warning}"),
        ["The pull request loosens the severity of gate 'found' from error to warning."],
        "the pull request weakens 1 gate",
        "by the criteria of the base, recall@5 dropped from 100.0% to 60.0%",
        id="loosen a severity",
    ),
    pytest.param(
        criteria("regression_max: 0.03}", "regression_max: 0.03, evidence: proven_harm}"),
        ["The pull request loosens evidence of gate 'found' from estimate to proven_harm."],
        "the pull request weakens 1 gate",
        "by the criteria of the base, recall@5 dropped from 100.0% to 60.0%",
        id="loosen the evidence",
    ),
    pytest.param(
        criteria("metric: recall@5, threshold: 0.85, regression_max: 0.03", "metric: mrr, threshold: 0.2"),
        ["The pull request changes the metric of gate 'found' from 'recall@5' to 'mrr'."],
        "the pull request weakens 1 gate",
        "by the criteria of the base, recall@5 dropped from 100.0% to 60.0%",
        id="another metric under the same name",
    ),
    pytest.param(
        criteria("gates:", "match: doc\ngates:"),
        ["The pull request changes match from 'chunk' to 'doc'."],
        "the pull request changes `match`",
        None,
        id="match by document",
    ),
    pytest.param(
        lambda: Path("gold.yaml").write_text(gold("q1", "q2", "q3")),
        [
            (
                "The pull request removes 2 queries ('q4', 'q5') from the gold set; judged with them, recall@5 dropped "
                "from 100.0% to 60.0% (−40.0 pp; allowed drop: 3.0 pp), within noise (95%: −89.7 to +39.3 pp)."
            )
        ],
        "the pull request removes 2 queries of the gold set",
        "by the questions of the base, of which this pull request removes 2, recall@5 dropped from 100.0% to 60.0%",
        id="remove the hard queries",
    ),
    pytest.param(
        lambda: Path("gold.yaml").write_text(gold(*QUERIES, q4="other-q4", q5="other-q5")),
        ["The pull request relabels 2 queries ('q4', 'q5')."],
        "the pull request relabels 2 queries of the gold set",
        "by the questions of the base, of which this pull request relabels 2, recall@5 dropped from 100.0% to 60.0%",
        id="relabel the hard queries",
    ),
]


@pytest.mark.parametrize(("change", "sentences", "warning", "reason"), SIDE_DOORS)
def test_a_side_door(
    repository: Path, change: Callable[[], None], sentences: list[str], warning: str, reason: str | None
) -> None:
    change()
    commit()
    found = judge()
    assert told(found) == sentences
    assert warning in found.warnings
    assert found.verdict is FAIL
    if reason:
        (gate,) = [gate for gate in found.gates if gate.judged_by]
        said = sentences_of(gate, found.base)[0]
        assert found.summary.startswith("Do not merge: ")
        assert found.conclusion.gate == gate.name
        assert (gate.name, gate.verdict, said[: len(reason)]) == ("found", FAIL, reason)
        lines = [other.line for other in found.gates if other.name == "found" and not other.judged_by]
        assert [gate.line] == (lines or [None]), "a line of the pull request's file or none"
        row = next(line for line in render_markdown(found).splitlines() if line.startswith("| ❌"))
        assert f"by {found.base and found.base.judges}" in row
        assert f"::{said}" in render_github(found).replace("%25", "%")
        assert "recall@5, by the base" in render_terminal(found)


def test_what_a_reviewer_reads(repository: Path) -> None:
    """The whole of it in ten seconds: the sentence, the row, the reason, the change."""
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.5")
    replace_in("ship-criteria.yaml", "regression_max: 0.03", "regression_max: 0.9")
    sha = git("rev-parse", "main")
    commit()
    text = render_markdown(judge())
    assert "**recall@5**, by the criteria of the base: share" in text
    assert "- WARN: the pull request weakens 1 gate.\n" in text
    assert (
        f"Changed since `main ({sha[:7]})`; judged also by the criteria of the base, the stricter verdict counts:"
        in text
    )
    assert "- ⚠️ The pull request lowers the threshold of gate `found` from 85.0% to 50.0%.\n" in text


def test_annotations_point_at_the_weakened_gate(repository: Path) -> None:
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.5")
    commit()
    text = render_github(judge())
    place = "::warning file=ship-criteria.yaml,line=2,title=rankgate::"
    assert f"{place}The pull request lowers the threshold of gate 'found' from 85.0%25 to 50.0%25." in text


def test_what_to_look_at_first_is_said_by_the_side_that_failed(repository: Path) -> None:
    theirs = judge(base=None)
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    head, base = judge(base=None), judge().base
    assert base is not None
    said = [Diagnosis(rule="r", finding="look there", evidence={})]
    assert stricter(head, msgspec.structs.replace(theirs, diagnosis=said), base).diagnosis == said
    assert stricter(head, msgspec.structs.replace(head, diagnosis=said), base).diagnosis == []
    own = msgspec.structs.replace(head, diagnosis=[*said, *said])
    assert stricter(own, msgspec.structs.replace(theirs, diagnosis=said), base).diagnosis == own.diagnosis


# What a pull request may do to the gold set is a matter of its own.


@pytest.mark.parametrize("where", ["main", "pull", "both"])
@pytest.mark.parametrize(
    ("text", "failure"),
    [
        pytest.param(gold("q1", "q2", "q3"), "the pull request removes 2 queries of the gold set", id="removed"),
        pytest.param(
            gold(*QUERIES, q4="other-q4"), "the pull request relabels 1 query of the gold set", id="relabelled"
        ),
        pytest.param(
            gold(*QUERIES).replace("[doc-q4]", "[doc-q4], metadata: {claims: [it is q4]}"),
            "the pull request relabels 1 query of the gold set",
            id="another claim of a right answer",
        ),
        pytest.param(
            gold(*QUERIES).replace("what is q4?", "what is doc-q4?"),
            "the pull request edits 1 query of the gold set",
            id="another question",
        ),
        pytest.param(
            gold("q1", "q2", "q3", q1="x").replace("what is q2?", "q2?"),
            "the pull request removes 2 queries, relabels 1 query and edits 1 query of the gold set",
            id="all at once",
        ),
    ],
)
def test_gold_changes_fail_where_either_side_says_so(repository: Path, where: str, text: str, failure: str) -> None:
    """A pull request cannot switch that off for itself; and it may switch it on."""
    write_run(Path("run.jsonl"))
    strict = f"gold_changes: fail\n{CRITERIA}"
    git("switch", "--quiet", "main")
    Path("ship-criteria.yaml").write_text(CRITERIA if where == "pull" else strict)
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("ship-criteria.yaml").write_text(CRITERIA if where == "main" else strict)
    Path("gold.yaml").write_text(text)
    commit()
    found = judge()
    assert (found.verdict, found.failures) == (FAIL, [failure])
    assert f"- FAIL: {failure}." in render_markdown(found) or f"Do not merge: {failure}." in render_markdown(found)
    assert f"::error title=rankgate::{failure}." in render_github(found)
    assert failure in render_terminal(found)


def test_removed_queries_that_the_run_does_not_answer_tell_nothing(repository: Path) -> None:
    """The job asked the questions of the pull request's own gold set; here the base lets gold sets change."""
    lenient_base()
    Path("gold.yaml").write_text(gold("q1", "q2", "q3"))
    write_run(Path("run.jsonl"), queries=("q1", "q2", "q3"))
    commit()
    found = judge()
    (text,) = told(found)
    assert text.endswith("gold set; the run does not answer them, so that nobody can tell what they would change.")
    assert found.verdict is WARN


def lenient_base() -> None:
    """The base says in so many words that changes of the gold set only warn."""
    git("switch", "--quiet", "main")
    Path("ship-criteria.yaml").write_text(f"gold_changes: warn\n{CRITERIA}")
    commit()
    git("switch", "--quiet", "--force-create", "pull")


def test_removed_queries_that_would_change_nothing(repository: Path) -> None:
    write_run(Path("run.jsonl"), queries=("q1", "q2", "q3", "q4"))
    Path("gold.yaml").write_text(gold("q1", "q2", "q3", "q5"))
    commit()
    expected = "The pull request removes 1 query ('q4') from the gold set; judged with them, no gate is worse."
    assert told(judge()) == [expected]


def test_a_gold_set_of_other_queries_is_judged_by_the_old_limits(repository: Path) -> None:
    """With no query in common the old labels say nothing, the old limits do."""
    git("switch", "--quiet", "main")
    replace_in("ship-criteria.yaml", ", regression_max: 0.03", "")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("gold.yaml").write_text(gold("n1", "n2", "n3", "n4"))
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.3")
    write_run(Path("run.jsonl"), lost=("n3", "n4"), queries=("n1", "n2", "n3", "n4"))
    commit()
    found = judge()
    assert (found.verdict, found.gates[1].judged_by) == (FAIL, "base")
    assert "recall@5 is 50.0%, below the floor of 85.0%" in sentences_of(found.gates[1], found.base)[-1]


def test_ids_and_labels_that_change_together_are_judged_by_the_old_limits(repository: Path) -> None:
    """The chunker changed: by the old labels the gold set is stale, which is no fault of the run."""
    Path("gold.yaml").write_text(gold(*QUERIES, **{query: f"new-{query}" for query in QUERIES}))
    lines = (f'{{"query_id": "{query}", "topk": [{{"chunk_id": "new-{query}"}}]}}\n' for query in QUERIES)
    Path("run.jsonl").write_text("".join(lines))
    commit()
    found = judge()
    assert found.base is not None
    assert "gold stale" in str(found.base.problems[0])
    assert "gold.yaml at main (" in str(found.base.problems[0])
    assert "the pull request relabels 5 queries of the gold set" in found.warnings


def test_must_pass_queries_and_segments_that_are_gone_are_no_error(repository: Path) -> None:
    """Their removal is named already, and no more than that where the base lets gold sets change."""
    lenient_base()
    git("switch", "--quiet", "main")
    rules = (
        "must_pass: [q5, urgent], segments: {by: lang, threshold: 0.1, min_queries: 1, only: {de: {threshold: 0.2}}}}"
    )
    replace_in("ship-criteria.yaml", "regression_max: 0.03}", f"regression_max: 0.03, {rules}")
    tagged = gold(*QUERIES).replace("[doc-q5]", "[doc-q5], metadata: {tags: [lang:de, urgent]}")
    Path("gold.yaml").write_text(tagged.replace("[doc-q1]", "[doc-q1], metadata: {tags: [lang:en]}"))
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("ship-criteria.yaml").write_text(CRITERIA)
    Path("gold.yaml").write_text(gold("q1", "q2", "q3", "q4"))
    write_run(Path("run.jsonl"))
    commit()
    found = judge()
    assert found.verdict is WARN
    assert "The pull request takes 'q5', 'urgent' out of must_pass of gate 'found'." in told(found)
    assert "The pull request removes 'segments.lang' 'lang' from gate 'found'." in told(found)


def test_a_must_pass_query_that_is_let_go_still_has_to_pass(repository: Path) -> None:
    git("switch", "--quiet", "main")
    Path("ship-criteria.yaml").write_text(
        "gates:\n  - {name: hard, metric: recall@5, must_pass: [q5]}\n" + CRITERIA[7:]
    )
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    replace_in("ship-criteria.yaml", "must_pass: [q5]", "must_pass: [q1]")
    commit()
    found = judge()
    assert found.verdict is FAIL
    assert found.summary.startswith("Do not merge: by the criteria of the base, q5 must pass and does not")
    assert told(found) == [
        "The pull request takes 'q5' out of must_pass of gate 'hard' and adds 'q1' to must_pass of gate 'hard'."
    ]


# The baseline of the base decides.


def test_a_deleted_baseline_still_decides(repository: Path) -> None:
    git("rm", "-r", "--quiet", "baseline")
    commit()
    found = judge()
    assert found.verdict is FAIL
    assert found.base is not None
    assert found.base.baseline_changed == "deleted"
    assert "The pull request deletes the baseline: the base's decides until that is merged." in found.notes
    assert found.provenance.baseline is not None
    assert found.provenance.baseline.path == f"baseline at main ({git('rev-parse', '--short=7', 'main')})"
    assert found.provenance.command[-4:] == ["--baseline", "baseline", "--base", "main"]


def test_a_replaced_baseline_does_not_decide_yet(repository: Path) -> None:
    """The run that lost questions, accepted in the same pull request: no drop against itself."""
    accept(Path("baseline"), Path("run.jsonl"))
    git("add", "--force", "baseline")
    commit()
    alone, found = judge(base=None), judge()
    assert alone.gates[0].delta == 0
    assert found.gates[0].delta == pytest.approx(-0.4)
    assert (
        "The pull request replaces the baseline: the base's decides, its own counts once it is merged." in found.notes
    )


def test_what_is_no_part_of_a_baseline_makes_it_no_other_one(repository: Path) -> None:
    Path("baseline/notes.txt").write_text("mine\n")
    commit()
    found = judge()
    assert found.base is not None
    assert found.base.baseline_changed is None


@pytest.mark.parametrize("named", [False, True], ids=["by the criteria", "by a flag"])
def test_a_first_baseline_does_not_decide_yet(repository: Path, *, named: bool) -> None:
    git("switch", "--quiet", "main")
    git("rm", "-r", "--quiet", "baseline")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    write_run(Path("run.jsonl"))
    accept(Path("baseline"), Path("run.jsonl"))
    git("add", "--force", "baseline")
    commit()
    found = judge(baseline=InputFile("baseline") if named else None)
    assert (found.verdict, found.provenance.baseline) == (WARN, None)
    assert "The base has no baseline yet: the pull request's own copy counts once it is merged." in found.notes
    assert "There is no baseline yet: floors were judged, drops were not." in found.notes
    if named:
        assert found.provenance.command[-4:] == ["--baseline", "baseline", "--base", "main"]


def test_a_broken_baseline_can_be_mended(repository: Path) -> None:
    """Otherwise nothing could be merged any more, not even its repair."""
    git("switch", "--quiet", "main")
    Path("baseline/manifest.json").write_text("{")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    write_run(Path("run.jsonl"))
    accept(Path("baseline"), Path("run.jsonl"))
    git("add", "--force", "--all", "baseline")
    commit()
    found = judge()
    assert (found.verdict, found.provenance.baseline) == (WARN, None)
    (problem,) = found.base.problems if found.base else []
    assert str(problem).startswith("baseline/manifest.json at main (")
    git("switch", "--quiet", "main")
    with pytest.raises(RankgateError, match="damaged baseline manifest"):
        judge()


@pytest.mark.parametrize("what", ["gold", "baseline"])
def test_inputs_that_the_criteria_move_elsewhere(repository: Path, what: str) -> None:
    """The base's criteria name the base's files."""
    if what == "gold":
        replace_in("ship-criteria.yaml", "gold: gold.yaml", "gold: easy.yaml")
        Path("easy.yaml").write_text(gold(*QUERIES, q4="other-q4", q5="other-q5"))
    else:
        accept(Path("mine"), Path("run.jsonl"))
        git("add", "--force", "mine")
        replace_in("ship-criteria.yaml", "baseline: baseline", "baseline: mine")
        replace_in("ship-criteria.yaml", "threshold: 0.85, ", "")
    commit()
    found = judge()
    assert found.verdict is FAIL
    assert any(
        "recall@5 dropped from 100.0% to 60.0%" in reason
        for gate in found.gates
        for reason in sentences_of(gate, found.base)
    )
    assert [text for text in told(found) if f"'inputs.{what}'" in text] != []


def test_a_baseline_folder_without_a_baseline_is_none_yet(repository: Path) -> None:
    git("switch", "--quiet", "main")
    accepted = {path.name: path.read_bytes() for path in Path("baseline").iterdir()}
    git("rm", "-r", "--quiet", "baseline")
    Path("baseline").mkdir()
    stale = "baseline/run-0123456789ab.jsonl.gz"  # what an acceptance leaves that was killed
    Path(stale).write_bytes(b"")
    git("add", "--force", stale)
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    for name, data in accepted.items():
        Path("baseline", name).write_bytes(data)
    git("add", "--force", "baseline")
    commit()
    found = judge()
    assert found.base is not None
    assert (found.base.baseline_changed, found.provenance.baseline) == ("added", None)


def test_the_same_baseline_read_otherwise_is_another(repository: Path) -> None:
    git("switch", "--quiet", "main")
    write_run(Path("accepted.run"))
    replace_in("ship-criteria.yaml", "baseline: baseline", "baseline: accepted.run")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    map_ = "{path: accepted.run, map: {query_id: query_id, items: topk, chunk_id: chunk_id}}"
    replace_in("ship-criteria.yaml", "baseline: accepted.run", f"baseline: {map_}")
    commit()
    found = judge()
    assert found.base is not None
    assert (found.base.baseline_changed, found.gates[0].n_pairs) == ("replaced", 5)


# Where the criteria are.


def test_a_file_that_comes_earlier_in_the_usual_places_does_not_hide_the_base(repository: Path) -> None:
    """`config/ship-criteria.yaml` is looked for first; adding one is no way around the old ones."""
    Path("config").mkdir()
    mild = CRITERIA.replace("0.85, regression_max: 0.03", "0.1").replace("{gold: ", "{gold: ../")
    Path("config/ship-criteria.yaml").write_text(
        mild.replace("run: ", "run: ../").replace("baseline: ", "baseline: ../")
    )
    commit()
    found = judge()
    assert (found.verdict, found.provenance.criteria) == (FAIL, "config/ship-criteria.yaml")
    assert "The pull request lowers the threshold of gate 'found' from 85.0% to 10.0%." in told(found)


def test_introducing_the_gate(repository: Path) -> None:
    git("switch", "--quiet", "main")
    git("rm", "--quiet", "ship-criteria.yaml")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("ship-criteria.yaml").write_text(CRITERIA)
    write_run(Path("run.jsonl"))
    commit()
    found = judge()
    assert (found.verdict, told(found)) == (PASS, [])
    assert found.base is not None
    assert (found.base.introduced, found.base.base_verdict) == (True, None)
    assert "The base has no ship criteria yet: the pull request's own decide alone." in found.notes


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        pytest.param("ship-criteria.yaml", "gates: 5\n", "ship-criteria.yaml at main ({}):1: gates: ", id="criteria"),
        pytest.param("gold.yaml", "samples: 5\n", "gold.yaml at main ({})", id="gold"),
    ],
)
def test_what_cannot_be_read_at_the_base_is_named(repository: Path, file: str, text: str, problem: str) -> None:
    """The other half of the base still judges: here a limit that is lowered, or a label that is changed."""
    git("switch", "--quiet", "main")
    good = Path(file).read_text()
    Path(file).write_text(text)
    sha = commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path(file).write_text(good)
    if file == "gold.yaml":
        replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    else:
        Path("gold.yaml").write_text(gold(*QUERIES, q4="other-q4", q5="other-q5"))
    commit()
    found = judge()
    assert found.verdict is FAIL
    assert found.base is not None
    assert str(found.base.problems[0]).startswith(problem.format(sha[:7]))
    assert any(text.startswith("Could not be used as the base has it: ") for text in told(found))
    assert any(warning.startswith("1 problem with what the base has") for warning in found.warnings)


@pytest.mark.parametrize("text", [None, "gates: 5\n"], ids=["deleted", "broken"])
def test_criteria_that_the_pull_request_deletes_or_breaks_are_an_error(
    repository: Path, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ship-criteria.yaml").unlink() if text is None else Path("ship-criteria.yaml").write_text(text)
    commit()
    assert main(["check", "--base", "main"]) == 2
    assert "NOT JUDGED" in capsys.readouterr().out


def test_a_waiver_that_the_pull_request_brings_changes_nothing(repository: Path) -> None:
    commit()
    before = judge()
    for name in ("waivers.yaml", ".rankgate/waivers.yaml", "config/ship-waivers.yaml"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("waivers: [{gate: found, until: 2099-01-01, reason: please}]\n")
    commit()
    assert judge() == before
    assert before.verdict is FAIL


# What is not asked for is not stricter.


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        pytest.param(
            criteria("threshold: 0.5}", "threshold: 0.6}"),
            ["The pull request raises the threshold of gate 'order' from 0.500 to 0.600."],
            id="a threshold raised",
        ),
        pytest.param(
            criteria("inputs:", "  - {name: hit@5, threshold: 0.9}\ninputs:"),
            ["The pull request adds gate 'hit@5'."],
            id="a gate added",
        ),
        pytest.param(
            criteria("{name: order,", "{name: rank,"),
            ["The pull request renames gate 'order' to 'rank'."],
            id="a gate renamed",
        ),
        pytest.param(criteria("gates:", "# Why these: see the wiki.\ngates:"), [], id="a comment"),
        pytest.param(
            lambda: Path("gold.yaml").write_text(gold(*QUERIES, "q6")),
            ["The pull request adds 1 query ('q6') to the gold set."],
            id="a query added",
        ),
        pytest.param(
            lambda: Path("gold.yaml").write_text(
                gold(*QUERIES).replace("[doc-q1]", "[doc-q1], metadata: {tags: [new]}")
            ),
            [],
            id="a tag added",
        ),
    ],
)
def test_a_harmless_change_passes_and_is_named(
    repository: Path, change: Callable[[], None], sentences: list[str]
) -> None:
    write_run(Path("run.jsonl"), queries=(*QUERIES, "q6"))
    change()
    commit()
    found = judge()
    assert (found.verdict, told(found), found.warnings) == (PASS, sentences, [])
    assert {gate.judged_by for gate in found.gates} == {None}


def test_added_easy_queries_do_not_lift_a_mean_over_its_floor(repository: Path) -> None:
    """The old queries are judged by themselves too."""
    replace_in("ship-criteria.yaml", ", regression_max: 0.03", "")
    git("switch", "--quiet", "--force-create", "main")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    easy = tuple(f"easy{number}" for number in range(30))
    Path("gold.yaml").write_text(gold(*QUERIES, *easy))
    write_run(Path("run.jsonl"), lost=HARD, queries=(*QUERIES, *easy))
    commit()
    assert judge(base=None).verdict is PASS
    found = judge()
    assert found.verdict is FAIL
    assert found.summary.startswith("Do not merge: by the questions of the base, recall@5 is 60.0%, below the floor")


def test_what_a_gate_of_the_base_reads_must_be_there(repository: Path) -> None:
    """Removing a gate and what it reads at once would go around it; removing the gate first does not."""
    git("switch", "--quiet", "main")
    replace_in("ship-criteria.yaml", "inputs:", "  - {name: latency, threshold: 50}\ninputs:")
    sha = commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("ship-criteria.yaml").write_text(CRITERIA)
    commit()
    with pytest.raises(RankgateError) as caught:
        judge()
    assert "the metric latency reads `latency_ms`, which the run states nowhere" in str(caught.value)
    assert str(caught.value).endswith(f"(asked for by the criteria at main ({sha[:7]}))")


def test_an_error_of_the_base_says_so_whatever_became_of_the_gold_set(repository: Path) -> None:
    git("switch", "--quiet", "main")
    replace_in("ship-criteria.yaml", "inputs:", "  - {name: latency, threshold: 50}\ninputs:")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("ship-criteria.yaml").write_text(CRITERIA)
    Path("gold.yaml").write_text(gold(*QUERIES, q1="x"))
    commit()
    with pytest.raises(RankgateError, match="asked for by the criteria at main"):
        judge()


def test_other_ids_and_another_way_to_match_them_at_once(repository: Path) -> None:
    """By the base's way no id is known. Match by document first, then cut the documents anew."""
    replace_in("ship-criteria.yaml", "gates:", "match: doc\ngates:")
    lines = (f'{{"query_id": "{query}", "topk": [{{"chunk_id": "doc-{query}#new"}}]}}\n' for query in QUERIES)
    Path("run.jsonl").write_text("".join(lines))
    commit()
    with pytest.raises(RankgateError, match=r"gold stale: .* \(asked for by the criteria at main"):
        judge()


def test_a_gate_that_only_removed_queries_have(repository: Path) -> None:
    """Nothing is left to judge it by; that the queries are gone is named."""
    git("switch", "--quiet", "main")
    replace_in("ship-criteria.yaml", "inputs:", "  - {name: false_evidence_rate, threshold: 1}\ninputs:")
    answerable = Path("gold.yaml").read_text()
    Path("gold.yaml").write_text(answerable + "  - {id: no, expected_output: [], metadata: {no_answer: true}}\n")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("ship-criteria.yaml").write_text(CRITERIA)
    Path("gold.yaml").write_text(answerable)
    write_run(Path("run.jsonl"), queries=(*QUERIES, "no"))
    commit()
    found = judge()
    assert found.verdict is WARN
    assert told(found) == [
        "The pull request removes gate 'false_evidence_rate'.",
        "The pull request removes 1 query ('no') from the gold set; judged with them, no gate is worse.",
    ]


def test_a_gate_that_the_base_cannot_judge_is_not_passed(repository: Path) -> None:
    """No query of the new gold set is in the base's baseline."""
    Path("gold.yaml").write_text(gold("n1", "n2", "n3"))
    replace_in("ship-criteria.yaml", ", regression_max: 0.03", "")
    write_run(Path("run.jsonl"), queries=("n1", "n2", "n3"))
    sha = git("rev-parse", "--short=7", "main")
    commit()
    found = judge()
    assert found.verdict is NOT_JUDGED
    assert [problem.file for problem in found.problems] == [f"ship-criteria.yaml at main ({sha})"]


def test_runs_of_forks_are_not_trusted_by_the_pull_request_itself(repository: Path) -> None:
    replace_in("ship-criteria.yaml", "gates:", "fork_runs: trusted\ngates:")
    commit()
    assert (judge(base=None).fork_runs, judge().fork_runs) == ("trusted", "untrusted")


def test_a_warning_of_the_pull_requests_own_side_stays(repository: Path) -> None:
    """Here the gold set is partly stale, whatever else changed."""
    queries = [f"s{number}" for number in range(24)]

    def run(name: str) -> str:
        lists = {query: [name.format(query), *(f"other-{query}-{place}" for place in range(3))] for query in queries}
        return "".join(f"{json.dumps({'query_id': query, 'topk': ids})}\n" for query, ids in lists.items())

    Path("run.jsonl").write_text(run("new-{}"))
    git("switch", "--quiet", "main")
    samples = [{"id": query, "expected_output": [f"doc-{query}", f"other-{query}-0"]} for query in queries]
    Path("gold.yaml").write_text(json.dumps({"samples": samples}))
    Path("accepted.run").write_text(run("doc-{}"))
    replace_in("ship-criteria.yaml", "baseline: baseline", "baseline: accepted.run")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.8")
    commit()
    assert [warning.partition(":")[0] for warning in judge().warnings] == [
        "the pull request weakens 1 gate",
        "the gold set is partly stale",
    ]


def test_a_file_in_lfs_that_cannot_be_had_is_the_checkouts_fault(repository: Path) -> None:
    """No warning that the base is broken: it is not."""
    git("switch", "--quiet", "main")
    good = Path("gold.yaml").read_text()
    Path("gold.yaml").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("gold.yaml").write_text(good)
    commit()
    with pytest.raises(RankgateError, match="is kept in Git LFS"):
        judge()


# Where it runs.


def test_from_a_folder_within_the_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are those of the current directory, at the base too."""
    git("switch", "--quiet", "main")
    Path("search").mkdir()
    for name in ("ship-criteria.yaml", "gold.yaml", "baseline"):
        git("mv", name, f"search/{name}")
    git("add", "--all")
    git("commit", "--quiet", "--message", "moved")
    git("switch", "--quiet", "--force-create", "pull")
    Path("run.jsonl").rename("search/run.jsonl")
    monkeypatch.chdir("search")
    Path("gold.yaml").write_text(gold(*QUERIES, q4="other-q4", q5="other-q5"))
    replace_in("ship-criteria.yaml", "0.85", "0.8")
    commit()
    found = judge()
    assert (found.verdict, found.provenance.criteria) == (FAIL, "ship-criteria.yaml")
    assert "The pull request relabels 2 queries ('q4', 'q5')." in told(found)


def test_in_a_worktree_without_a_branch(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_in("ship-criteria.yaml", "regression_max: 0.03", "regression_max: 0.9")
    sha = commit()
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), sha)
    write_run(tmp_path / "tree" / "run.jsonl", lost=HARD)
    monkeypatch.chdir(tmp_path / "tree")
    assert "The pull request raises regression_max of gate 'found' from 3.0 pp to 90.0 pp." in told(judge())


def test_named_by_its_sha(repository: Path) -> None:
    sha = git("rev-parse", "main")
    replace_in("gold.yaml", "doc-q1", "doc-x")
    git("rm", "-r", "--quiet", "baseline")
    commit()
    found = judge(base=sha)
    assert found.provenance.baseline is not None
    assert found.provenance.baseline.path == f"baseline at {sha[:7]}"


def test_nothing_of_the_temporary_directory_shows(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a report nor in an error, wherever temporary files lie."""
    room = tmp_path / "repository" / "room"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    replace_in("gold.yaml", "doc-q1", "doc-x")
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.8")
    git("rm", "-r", "--quiet", "baseline")
    commit()
    report = judge()
    text = encode_report(report) + render_markdown(report) + render_terminal(report)
    assert "room" not in text
    assert list(room.iterdir()) == []


def test_a_run_from_a_pipe_is_read_for_both_sides(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came through standard input cannot be read again, and both sides need it."""
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    commit()
    program = "import sys; from rankgate.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "check", "--run", "-", "--base", "main", "-o", "out/report.json"]
    found = subprocess.run(command, input=Path("run.jsonl").read_bytes(), capture_output=True, check=False)
    assert found.returncode == 1, found.stderr
    report = decode_report(Path("out/report.json").read_bytes(), "report.json")
    assert report.provenance.run is not None
    assert report.provenance.run.path == "standard input"
    assert report.gates[1].judged_by == "base"
    command = report.provenance.command
    assert command[command.index("--run") + 1] == "-"


def test_a_strangers_run_does_not_come_through_a_pipe(repository: Path) -> None:
    """Nothing of it is stored before it has been measured."""
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    commit()
    program = "import sys; from rankgate.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "check", "--run", "-", "--untrusted-run"]
    alone, found = (
        subprocess.run([*command, *base], input=Path("run.jsonl").read_bytes(), capture_output=True, check=False)
        for base in ([], ["--base", "main"])
    )
    assert (found.returncode, found.stdout) == (2, alone.stdout)


@pytest.mark.parametrize("where", ["outside", "ignored"])
def test_a_gold_set_that_the_repository_does_not_have_is_used_as_it_is(
    repository: Path, tmp_path: Path, where: str
) -> None:
    """Made or fetched by the job: there is no other one to judge by."""
    file = tmp_path / "gold.jsonl" if where == "outside" else Path("gold.jsonl")
    file.write_text("".join(f'{{"id": "{query}", "expected_output": ["doc-{query}"]}}\n' for query in QUERIES))
    commit()
    found = judge(gold=InputFile(str(file)))
    assert found.base is not None
    assert (found.base.queries, found.base.problems, found.base.base_verdict) == (None, [], None)
    assert "The gold set is no file of the base: the job supplied it." in found.notes


def test_a_gold_set_that_came_later_than_the_base_is_named(repository: Path) -> None:
    Path("gold2.yaml").write_text(gold("q1", "q2", "q3"))
    commit()
    found = judge(gold=InputFile("gold2.yaml"))
    assert found.base is not None
    (problem,) = found.base.problems
    assert str(problem).endswith("there is no such file")
    assert (found.verdict, found.base.gold) == (FAIL, "absent")


def test_text_of_the_inputs_is_shown_as_code(repository: Path) -> None:
    """Names and ids of a pull request come from a stranger."""
    hostile = "@team <b>x</b> | `y`"
    git("switch", "--quiet", "main")
    replace_in("ship-criteria.yaml", "name: found", f"name: {json.dumps(hostile)}")
    replace_in("gold.yaml", "id: q4", f"id: {json.dumps(hostile)}")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.8")
    Path("gold.yaml").write_text(gold("q1", "q2", "q3", "q5"))
    commit()
    text = render_markdown(judge())
    assert "gate `` @team <b>x</b> | `y` `` from 85.0% to 80.0%" in text
    assert "removes 1 query (`` @team <b>x</b> | `y` ``)" in text


def test_the_exit_codes(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("run.jsonl"))
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.8")
    commit()
    assert main(["check", "--base", "main"]) == 0
    assert main(["check", "--base", "main", "--fail-on", "warn"]) == 1
    assert main(["check", "--base", "nowhere"]) == 2
    assert main(["check", "--base", ""]) == 2
    assert "nowhere" in capsys.readouterr().out
