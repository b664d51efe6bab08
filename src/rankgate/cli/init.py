"""`rankgate init`: ship criteria for a team's own gold set, and GitHub's workflows for what these criteria name."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from rankgate import __version__
from rankgate.baselines.directory import holds_acceptance
from rankgate.cli.inputs import add_retriever, retriever_of
from rankgate.cli.options import add_option, add_shared, make_parser
from rankgate.cli.output import reading_bar
from rankgate.criteria import DEFAULT_PATHS, Gate, InputFile, Inputs, find_criteria, inputs_named, load_criteria
from rankgate.criteria.inputs import FIRST_INPUTS, gold_of, missing_inputs
from rankgate.criteria.judge_block import KEY_VARIABLE, JudgeBlock
from rankgate.criteria.runs import candidate_run
from rankgate.criteria.starter import (
    FIRST_GATES,
    SEGMENT_QUESTIONS,
    FirstGate,
    FirstJudge,
    Start,
    block_in,
    criteria_text,
    first_drop,
    first_gates,
    retriever_text,
    segment_tags,
    small_segments,
    tag_sizes,
    why_no_segment,
    with_inputs,
)
from rankgate.errors import RankgateError, bad_input, redacted, shown
from rankgate.files.git import ignore_beside
from rankgate.files.writing import write_atomic
from rankgate.forges.workflows import GATE, REPORT, Job, action_of, gate_text, is_word, report_text, to_do_on_github
from rankgate.gates.sights import Sight, counting, planned, small_parts
from rankgate.gates.warnings import reading_facts
from rankgate.metrics.base import Metric
from rankgate.metrics.estimates import best_possible, estimate
from rankgate.metrics.matching import BY_CHUNK, DEFAULT_K, By, Matching
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan, require_gold_queries
from rankgate.metrics.scored_run import score_run
from rankgate.model.answers import VerdictKind
from rankgate.model.base_ref import ACCEPT_CHANGE
from rankgate.model.scores import Scores
from rankgate.model.values import Evidence, Gold, Sample
from rankgate.model.wording import count_text
from rankgate.readers.field_map import FieldMap
from rankgate.readers.gold_columns import fields_of
from rankgate.readers.source import STDIN
from rankgate.renderers.escape import listed
from rankgate.renderers.warnings import fact_text, sight_text

CRITERIA = "ship-criteria.yaml"
# As the pages of the docs name what `check -o` writes.
REPORTS = ("report.json", "comment.md", "report.html", "junit.xml", "rankgate.badge.json")
MAX_SMALL = 5  # segments that are named
ENDPOINT = "https://api.openai.com/v1"
MODEL = "gpt-4o-2024-08-06"
_TEXTS = {GATE: gate_text, REPORT: report_text}
_REMOTE_HEAD = ".git/refs/remotes/origin/HEAD"


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "init",
        "Write ship criteria for a gold set: metrics that can move on it, floors from a run where there is one, and\n"
        "the retriever to record. With --github also two workflows, for pull requests and for those of forks.\n"
        "Without --gold the criteria are there: a retriever is added, and where they name none run and baseline.",
        "rankgate init --gold gold.yaml --retriever my_app.search:retrieve",
        "rankgate init --gold gold.csv --map question=Frage,document=Dokument --retriever my_app.search:retrieve",
        "rankgate init --gold gold.yaml --url 'https://host/search?q={{question}}'",
        "rankgate init --gold gold.yaml --command 'node search.js'",
        "rankgate init --gold gold.yaml --run run.jsonl --force         # with floors from a run; keeps the retriever",
        "rankgate init --gold gold.yaml --run run.jsonl --judge         # answers are judged, too, by a model",
        "rankgate init --github                                         # the workflows, once there are criteria",
    )
    add_shared(options, "gold")
    columns = "which column of the gold set is what: question, document or documents, rating, id, tags"
    add_option(options, "--map question=NAME,…", columns, action="append", default=[])
    add_shared(options, "run")
    add_retriever(options, "write into the criteria")
    judge = f"also gate the run's answers, as this model judges them (default: {MODEL})"
    add_option(options, "--judge MODEL", judge, nargs="?", const=MODEL)
    to = f"where the criteria go (default: {CRITERIA}); without --gold, where they are"
    add_option(options, "--to FILE", to, action="write")
    add_option(options, "--github", "write the two workflows")
    action = "the action as the workflows use it, best by the hash of a commit (default: this version's tag)"
    add_option(options, "--action OWNER/NAME@REF", action)
    add_option(options, "--force", "overwrite files that exist")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Write the files and print the next steps."""
    gold = arguments.gold
    run_file = arguments.run
    retriever = retriever_of(arguments)
    _refuse_misfits(arguments, records=retriever is not None)
    judge = JudgeBlock(endpoint=ENDPOINT, model=arguments.judge) if arguments.judge else None
    to = arguments.to or (CRITERIA if gold else find_criteria())
    before = ""  # what the criteria say so far
    with suppress(OSError, UnicodeDecodeError):
        before = Path(to).read_text(encoding="utf-8")
    if gold:
        earlier = _inputs_in(to)
        gold = _with_map(gold, earlier.gold, fields_of(arguments.map) if arguments.map else None)
        run_file = run_file and _with_map(run_file, earlier.run)
    block = retriever_text(retriever) if retriever else block_in(before)
    first_run = _first_run(gold.path, to) if gold else ""
    job = _workflow_job(arguments, to, first_run, records=block is not None)
    if not arguments.force:
        _refuse_existing(to if gold else None, has_retriever=retriever is not None, workflows=job is not None)
    start = None
    if gold:
        start = _write_criteria(gold, run_file, to, judge, block, accept_own=_accept_own(arguments))
    elif retriever:
        _add_retriever(to, before, retriever_text(retriever))
    if job:
        for path, text in _TEXTS.items():
            write_atomic(path, text(job))
        print(f"wrote {' and '.join(_TEXTS)}")
    if start:
        _say_what_to_commit(arguments, start, to, committed=job is not None and not job.records)
        print(_next_steps(arguments, records=block is not None), end="")
    if retriever and retriever.function:
        _say_where_to_run(retriever.function, to)
    if job:
        print(to_do_on_github(job), end="")
    return 0


def _refuse_existing(criteria: str | None, *, has_retriever: bool, workflows: bool) -> None:
    """Overwrite neither criteria nor workflows."""
    if criteria and Path(criteria).exists():
        advice = "; without --gold the retriever is added to it" if has_retriever else ""
        raise bad_input(f"exists already; --force overwrites it{advice}", file=criteria)
    for path in _TEXTS:
        if workflows and Path(path).exists():
            raise bad_input("exists already; --force overwrites it", file=path)


def _say_where_to_run(function: str, to: str) -> None:
    """Where Python does not find the retriever's module from here, which may be written later."""
    name = function.partition(":")[0].partition(".")[0]
    beside = Path(to).parent
    folders = [folder for folder in (Path(), beside) if (folder / f"{name}.py").is_file() or (folder / name).is_dir()]
    if Path() in folders or not name or importlib.util.find_spec(name):
        return
    where = f"; run the commands in {beside.as_posix()}" if folders else ""
    print(f"note: there is no module {name!r} in this directory, and none is installed{where}")


def _refuse_misfits(arguments: argparse.Namespace, *, records: bool) -> None:
    """Options that do not go together; `records` says whether a retriever is named."""
    if arguments.action is not None and not arguments.github:
        raise bad_input("--action says how workflows use the action; add --github")
    if arguments.map and arguments.gold is None:
        raise bad_input("--map names columns of a gold set; name it with --gold FILE")
    without_gold = (arguments.github or records) and not arguments.run
    paths = [file.path for file in (arguments.gold, arguments.run) if file]
    if STDIN in paths or (arguments.gold is None and not without_gold):
        named = "name the gold set with --gold FILE (not standard input)"
        raise bad_input(f"init writes paths into the criteria; {named}")
    if arguments.judge is not None and arguments.gold is None:
        raise bad_input("--judge writes criteria, which need the gold set; name it with --gold FILE")
    if arguments.judge == "":
        raise bad_input("expected a name", key="--judge")


def _inputs_in(path: str) -> Inputs:
    """What the criteria name; nothing where there are none that can be read."""
    try:
        return load_criteria(path).inputs if Path(path).is_file() else Inputs()
    except RankgateError:
        return Inputs()


def _with_map(file: InputFile, earlier: InputFile | None, fields: FieldMap | None = None) -> InputFile:
    """The file with these fields, else with the map by which criteria read it already."""
    same = earlier is not None and os.path.realpath(earlier.path) == os.path.realpath(file.path)
    return replace(file, map=fields or (earlier.map if earlier and same else None))


def _accept_own(arguments: argparse.Namespace) -> bool:
    """Whether authors may accept their own pull requests; asked for workflows alone, and where a person can answer."""
    if not arguments.github or os.environ.get("CI") or not sys.stdin.isatty() or not sys.stdout.isatty():
        return False
    answer = input(f"May the author of a pull request set its label `{ACCEPT_CHANGE}`, as in a team of one? [y/N] ")
    return answer.strip().casefold() in ("y", "yes")


def _write_criteria(
    gold_file: InputFile,
    run_file: InputFile | None,
    to: str,
    judge: JudgeBlock | None,
    block: str | None,
    *,
    accept_own: bool,
) -> Start:
    """Write them, say what they gate, and return what they were written from."""
    gold = gold_of(gold_file, None)
    samples = [*gold.samples.values()]
    if block is not None and run_file is None and not any(sample.question for sample in samples):
        hint = "give a folder with qrels/ and queries.jsonl, a table with a column `question`, or --run FILE"
        raise bad_input(f"has no questions, so that the retriever has nothing to be asked; {hint}", file=gold.name)
    first = parse_metric(FIRST_GATES[0][0])
    best = estimate([best_possible(first, sample, DEFAULT_K) for sample in samples], first)
    if best is None:
        raise bad_input("names nothing relevant; write gates on false_evidence_rate or abstained_rate", file=gold.name)
    blocking = {parse_metric(name): blocks for name, blocks in first_gates(best.value)}
    metrics = [*blocking]
    if run_file and judge:
        _require_answers(run_file, gold, judge)
    how, scores = _matched(gold, run_file, metrics)
    gates = [_first_gate(metric, samples, scores, blocks=blocks) for metric, blocks in blocking.items()]
    claims = any(sample.claims or sample.answers for sample in samples)
    folder = Path(to).parent
    baseline = _data_folder(gold_file.path, to) / "baseline"
    first_run = run_file or InputFile(_first_run(gold_file.path, to))
    start = Start(
        gold=replace(gold_file, path=_relative(gold_file.path, folder)),
        run=replace(first_run, path=_relative(first_run.path, folder)),
        baseline=_relative(baseline, folder),
        accepted=holds_acceptance(baseline),
        gates=gates,
        tags=segment_tags(gold),
        measured_run=run_file.path if run_file else None,
        reachable=best.value,
        by=how.by,
        judge=FirstJudge(judge.endpoint, judge.model, len(samples), claims) if judge else None,
        accept_own=accept_own,
    )
    text = criteria_text(start) + (block or "")
    write_atomic(to, text)
    print(f"wrote {redacted(to)}: {text.count('  - name:')} gates over {count_text(len(samples), 'question')}")
    first_gate = gates[0]
    if first_gate.seen is not None:
        sight = Sight(_gate_of(first_gate.metric, first_gate.drop), first_gate.seen)
        print(f"{first_gate.metric.name}: {sight_text(sight)}")
    _say_segments(start, to, gold)
    return start


def _first_gate(metric: Metric, samples: Sequence[Sample], scores: Scores | None, *, blocks: bool) -> FirstGate:
    """A gate with the metric's value in the run, and what its questions allow and can show."""
    value = estimate(scores.values[metric.name], metric, clusters=scores.clusters) if scores else None
    counted = [*filter(None, counting(metric, samples, DEFAULT_K))]
    drop = first_drop(len(counted), value.value if value else None)
    return FirstGate(metric, blocks, value, drop, planned(_gate_of(metric, drop), counted))


def _gate_of(metric: Metric, drop: float) -> Gate:
    return Gate(name=metric.name, metric=metric, regression_max=drop, evidence=Evidence.PROVEN_HARM)


def _relative(path: str | Path, folder: Path = Path()) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _require_answers(run_file: InputFile, gold: Gold, judge: JudgeBlock) -> None:
    from rankgate.judge.job import read_answers, require_answers
    from rankgate.judge.runs import NEEDS

    opened = candidate_run(run_file, None, gold=gold).open(NEEDS)
    require_answers(read_answers(opened, gold, frozenset({VerdictKind.SUPPORT}), judge.depth))


def _matched(gold: Gold, run_file: InputFile | None, metrics: Sequence[Metric]) -> tuple[Matching, Scores | None]:
    """How results match the gold set, which may name documents where the run has their chunks; the run's scores."""
    by_span = any(sample.spans for sample in gold.samples.values())
    candidates = [Matching(by=By.SPAN)] if by_span else [BY_CHUNK, Matching(by=By.DOC)]
    if run_file is None:
        return candidates[0], None
    first: Scores | None = None
    for matching in candidates:
        opened = candidate_run(run_file, None, gold=gold).open(matching.needs)
        with reading_bar() as progress:
            scores = score_run(gold, opened, Plan(metrics=metrics, how=matching), progress)
        require_gold_queries(scores, opened.name, gold)
        if any(map(any, scores.values.values())):
            return matching, scores
        first = scores if first is None else first
    return candidates[0], first


def _say_segments(start: Start, to: str, gold: Gold) -> None:
    """Which tags are gated and which are not, and what of the gold set's file was not read."""
    if start.tags:
        tags = ", ".join(f"{shown(tag)} ({count} values)" for tag, count in start.tags.items())
        blind = small_parts(load_criteria(to), gold)
        print(f"gated by segments, too: {tags}{f'; {fact_text(blind)}' if blind else ''}")
    if small := small_segments(gold, start.tags):
        named = listed([f"{shown(name)} ({count})" for name, count in small], MAX_SMALL)
        print(f"too small to be gated, with fewer than {SEGMENT_QUESTIONS} questions: {named}")
    others = [f"{shown(tag)} ({why})" for tag, sizes in tag_sizes(gold).items() if (why := why_no_segment(sizes))]
    if others:
        print(f"tags without a gate of segments: {', '.join(others)}")
    for fact in reading_facts(gold):
        print(fact_text(fact))


def _data_folder(gold: str, to: str) -> Path:
    """Where run and baseline lie: beside criteria that lie above the gold set, else in the current directory."""
    folder = Path(to).parent
    return folder if Path(gold).resolve().is_relative_to(folder.resolve()) else Path()


def _first_run(gold: str, to: str) -> str:
    """Where the run lies that is recorded."""
    return (_data_folder(gold, to) / "run.jsonl").as_posix()


def _ignore(runs: Sequence[str], folder: Path = Path()) -> str:
    """Keep runs that are recorded out of git, and what the commands write that nobody commits; which those are.

    That is said to git here, or in the folder of the criteria where that is a repository of its own.
    """
    added = [path for path in (*runs, *REPORTS) if ignore_beside(path)]
    if not added and folder != Path():
        others = [*runs, *((folder / report).as_posix() for report in REPORTS)]
        added = [path for path in others if ignore_beside(path, folder=str(folder))]
    return ", ".join(map(redacted, added))


def _say_what_to_commit(arguments: argparse.Namespace, start: Start, to: str, *, committed: bool) -> None:
    """What belongs into git; a run that a workflow takes as it is belongs there, too."""
    base = Path(to).parent
    run_path = _relative(base / start.run.path)
    baseline = _relative(base / start.baseline)
    gold_path = arguments.gold.path
    ignored = _ignore([] if committed else [run_path], _data_folder(gold_path, to))
    paths = [to, gold_path, run_path] if committed else [to, gold_path]
    names = ", ".join(map(redacted, paths))
    kept_out = "" if committed else f", not {redacted(run_path)}"
    if ignored:
        kept_out = f"; .gitignore has {ignored}"
    print(f"commit {names} and {baseline}/{kept_out}")


def _next_steps(arguments: argparse.Namespace, *, records: bool) -> str:
    written_to = arguments.to or CRITERIA
    to = shlex.quote(redacted(written_to))
    criteria = "" if written_to in DEFAULT_PATHS else f" --criteria {to}"
    to_option = "" if written_to == CRITERIA else f" --to {to}"
    steps: list[str] = []
    if not (records or arguments.run):
        steps.append(f"rankgate init{to_option} --retriever MODULE:FUNCTION   # or --url or --command: what is asked")
    if arguments.judge:
        steps += [] if arguments.run else [f"rankgate record{criteria}"]
        steps += [f"rankgate judge --dry-run{criteria}   # what it costs: no key, no request"]
        steps += [f"rankgate judge{criteria}   # with the endpoint's key in {KEY_VARIABLE}, if it wants one"]
    if arguments.judge or arguments.run:
        steps += [f"rankgate validate{criteria}", f"rankgate check{criteria}"]
    else:
        steps += [f"rankgate check --record{criteria}"]
    steps += [f"rankgate baseline accept{criteria}"]
    if not arguments.github:
        steps.append(f"rankgate init --github{to_option}   # adds the workflows")
    return "next:\n" + "".join(f"  $ {step}\n" for step in steps)


def _add_retriever(path: str, before: str, block: str) -> None:
    """Name the retriever at the end of criteria that name none, and where what it answers and what is accepted lie."""
    criteria = load_criteria(path)
    retriever = criteria.retriever
    if retriever is not None:
        raise bad_input("is named already; change it there", file=path, line=retriever.line, key="retriever")
    missing = missing_inputs(criteria)
    write_atomic(path, with_inputs(before, missing).rstrip("\n") + "\n" + block)
    after = _inputs_in(path)
    if any(getattr(after, key) is None for key in missing):
        write_atomic(path, before)
        lines = "".join(f"\n  {key}: {name}" for key, name in missing.items())
        wanted = f"{block}{f'{chr(10)}and under `inputs:`{lines}' if missing else ''}"
        raise bad_input(f"nothing can be added to it; write there yourself:\n{wanted}", file=path)
    keys = ", ".join(["`retriever:`", *(f"`inputs.{key}`" for key in missing)])
    print(f"wrote {keys} into {redacted(path)}")
    if criteria.inputs.gold is None:
        print(f"it names no gold set; add under `inputs:` in {redacted(path)}: `gold: FILE`")
    ignored = _ignore([inputs_named(path).get("inputs.run", FIRST_INPUTS["run"])])
    if ignored:
        print(f".gitignore has {ignored}")
    criteria_option = "" if path in DEFAULT_PATHS else f" --criteria {shlex.quote(redacted(path))}"
    print(f"next:\n  $ rankgate check --record{criteria_option}\n  $ rankgate baseline accept{criteria_option}")


def _workflow_job(arguments: argparse.Namespace, criteria: str, first_run: str, *, records: bool) -> Job | None:
    """What the workflows need to know, from the criteria where no gold set is named; None without `--github`.

    `first_run` is where the run lies that will be recorded.
    """
    if not arguments.github:
        return None
    if arguments.gold is not None:
        gold = arguments.gold.path
        run = arguments.run.path if arguments.run else first_run
        judged = arguments.judge is not None
    else:
        loaded = load_criteria(criteria)
        inputs = loaded.inputs
        if inputs.gold is None or inputs.run is None:
            missing = " and no ".join(key for key in ("gold", "run") if getattr(inputs, key) is None)
            raise bad_input(f"names no {missing}, which the workflow needs; add it", file=loaded.name, key="inputs")
        gold = inputs.gold.path
        run = inputs.run.path
        judged = loaded.judge is not None
        records = records or loaded.retriever is not None
    _inside(gold)
    if not (records or arguments.run or Path(run).is_file()):
        advice = f"name what to record with --retriever, --url or --command, or commit {run!r}"
        raise bad_input(f"the workflow has no run to judge: {advice}")
    run = _inside(run)
    inner = _inside(criteria)
    first = next((path for path in DEFAULT_PATHS if path == inner or Path(path).is_file()), None)
    return Job(
        run=run,
        criteria=None if first == inner else inner,  # the action looks for the first itself
        branches=_default_branches(),
        action=action_of(arguments.action, __version__),
        records=records,
        judged=judged,
    )


def _inside(path: str) -> str:
    inner = _relative(path)
    if inner.startswith("../"):
        raise bad_input("lies outside this directory; run init at the repository's root", file=path)
    return inner


def _default_branches() -> list[str]:
    """The remote's default branch as the clone remembers it; else the two usual names."""
    try:
        branch = Path(_REMOTE_HEAD).read_text(encoding="utf-8").strip().removeprefix("ref: refs/remotes/origin/")
    except (OSError, UnicodeDecodeError):
        branch = ""
    return [branch] if is_word(branch) else ["main", "master"]
