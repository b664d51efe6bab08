"""`rankgate init`: ship criteria for a team's own gold set, and GitHub's workflows."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rankgate import __version__
from rankgate.baselines.directory import holds_acceptance
from rankgate.cli.inputs import file_of, refuse_two_stdins
from rankgate.cli.options import add_gold, add_retriever, add_run, make_parser, retriever_of
from rankgate.cli.progress import bar
from rankgate.criteria import DEFAULT_PATHS, Gate, InputFile, Inputs, find_criteria, inputs_named, load_criteria
from rankgate.criteria.inputs import FIRST_INPUTS, gold_of, missing_inputs, run_of
from rankgate.criteria.judge_block import KEY_VARIABLE, JudgeBlock
from rankgate.criteria.retriever_block import Retriever
from rankgate.criteria.starter import (
    FIRST_GATES,
    FirstJudge,
    Start,
    block_in,
    criteria_text,
    first_drop,
    first_gates,
    retriever_text,
    segment_tags,
    tag_sizes,
    why_no_segment,
    with_inputs,
)
from rankgate.errors import RankgateError, bad_input, redacted, shown
from rankgate.files.git import ignore_beside
from rankgate.files.writing import write_atomic
from rankgate.forges.workflows.advice import to_do_on_github
from rankgate.forges.workflows.written import GATE, REPORT, Job, action_of, gate_text, is_word, report_text
from rankgate.gates.power import sight_text
from rankgate.gates.warnings import counting, planned, reading_facts, small_parts
from rankgate.metrics.estimates import best_possible, estimate
from rankgate.metrics.matching import BY_CHUNK, DEFAULT_K, By, Matching
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import score_run
from rankgate.metrics.scoring import require_gold_queries
from rankgate.model.answers import VerdictKind
from rankgate.model.gate_result import Detectable
from rankgate.model.values import Evidence, Gold
from rankgate.model.waiver_use import ACCEPT_CHANGE
from rankgate.model.wording import count_text
from rankgate.readers.gold_columns import fields_of
from rankgate.readers.mapping import FieldMap
from rankgate.readers.source import STDIN

CRITERIA = "ship-criteria.yaml"
REPORTS = ("report.json", "comment.md", "report.html")  # as the pages of the docs name what `check -o` writes
ENDPOINT, MODEL = "https://api.openai.com/v1", "gpt-4o-2024-08-06"
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
    add_gold(options)
    columns = "which column of the gold set is what: question, document or documents, rating, id, tags"
    options.add_argument("--map", metavar="question=NAME,…", action="append", default=[], help=columns)
    add_run(options)
    add_retriever(options, "write into the criteria")
    judge = f"also gate the run's answers, as this model judges them (default: {MODEL})"
    options.add_argument("--judge", metavar="MODEL", nargs="?", const=MODEL, help=judge)
    endpoint = f"the OpenAI-compatible API that has the model (default: {ENDPOINT})"
    options.add_argument("--judge-endpoint", metavar="URL", help=endpoint)
    to = f"where the criteria go (default: {CRITERIA}); without --gold, where they are"
    options.add_argument("--to", metavar="FILE", help=to)
    options.add_argument("--github", action="store_true", help="write the two workflows")
    action = "the action as the workflows use it, best by the hash of a commit (default: this version's tag)"
    options.add_argument("--action", metavar="OWNER/NAME@REF", help=action)
    own = (
        "let authors of pull requests set the label that accepts their own change, as in a team of one (default: asked "
        "at a terminal, else no)"
    )
    options.add_argument("--accept-own", action="store_true", help=own)
    options.add_argument("--force", action="store_true", help="overwrite files that exist")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Write the files and print the next steps."""
    gold, run_file = file_of(arguments, "gold"), file_of(arguments, "run")
    retriever = retriever_of(arguments)
    _refuse_misfits(arguments, gold, run_file, retriever)
    judge = _judge_block(arguments)
    to = arguments.to or (CRITERIA if gold else find_criteria())
    before = _text_of(to)
    if gold:
        gold, run_file = _with_maps(gold, run_file, arguments.map, _earlier_inputs(to))
    block = retriever_text(retriever) if retriever else block_in(before)
    job = _job(arguments, to, records=block is not None) if arguments.github else None
    if not arguments.force:
        added = "; without --gold the retriever is added to it" if retriever else ""
        _refuse_existing({to: added} if gold else {})
        _refuse_existing(dict.fromkeys(_TEXTS if job else (), ""))
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


def _with_maps(
    gold: InputFile, run_file: InputFile | None, written: Sequence[str], earlier: Inputs
) -> tuple[InputFile, InputFile | None]:
    """Both files with their maps: the gold set's as it is written now, else those of the criteria so far."""
    fields = fields_of(written) if written else _map_of(gold, earlier.gold)
    run_file = run_file and InputFile(run_file.path, run_file.format, _map_of(run_file, earlier.run))
    return InputFile(gold.path, gold.format, fields), run_file


def _refuse_existing(advice: Mapping[str, str]) -> None:
    """Overwrite no file; what else can be done is said by path."""
    for path, more in advice.items():
        if Path(path).exists():
            raise bad_input(f"exists already; --force overwrites it{more}", file=path)


def _say_where_to_run(function: str, to: str) -> None:
    """Where Python does not find the retriever's module from here, which may be written later."""
    name = function.partition(":")[0].partition(".")[0]
    beside = Path(to).parent
    folders = [folder for folder in (Path(), beside) if (folder / f"{name}.py").is_file() or (folder / name).is_dir()]
    if Path() in folders or not name or importlib.util.find_spec(name):
        return
    where = f"; run the commands in {beside.as_posix()}" if folders else ""
    print(f"note: there is no module {name!r} in this directory, and none is installed{where}")


def _refuse_misfits(
    arguments: argparse.Namespace, gold: InputFile | None, run_file: InputFile | None, retriever: Retriever | None
) -> None:
    refuse_two_stdins(gold, run_file)
    if arguments.action is not None and not arguments.github:
        raise bad_input("--action says how workflows use the action; add --github")
    if arguments.map and gold is None:
        raise bad_input("--map names columns of a gold set; name it with --gold FILE")
    if arguments.accept_own and gold is None:
        raise bad_input("--accept-own writes criteria, which need --gold; in those that are there add accept_own: true")
    goldless = arguments.github or retriever is not None
    if STDIN in (arguments.gold, arguments.run) or (gold is None and (run_file or not goldless)):
        named = "name the gold set with --gold FILE (not standard input)"
        raise bad_input(f"init writes paths into the criteria; {named}")


def _earlier_inputs(path: str) -> Inputs:
    """What the criteria that are overwritten name; nothing where there are none that can be read."""
    try:
        return load_criteria(path).inputs if Path(path).is_file() else Inputs()
    except RankgateError:
        return Inputs()


def _map_of(file: InputFile, earlier: InputFile | None) -> FieldMap | None:
    """The map by which criteria read this file already."""
    same = earlier is not None and os.path.realpath(earlier.path) == os.path.realpath(file.path)
    return earlier.map if earlier and same else None


def _accept_own(arguments: argparse.Namespace) -> bool:
    """Whether authors may accept their own pull requests; asked for workflows alone, and where a person can answer."""
    asks = arguments.github and not os.environ.get("CI") and sys.stdin.isatty() and sys.stdout.isatty()
    if arguments.accept_own or not asks:
        return bool(arguments.accept_own)
    answer = input(f"May the author of a pull request set its label `{ACCEPT_CHANGE}`, as in a team of one? [y/N] ")
    return answer.strip().casefold() in ("y", "yes")


def _judge_block(arguments: argparse.Namespace) -> JudgeBlock | None:
    """Who judges answers, if that is asked for."""
    if arguments.judge is None:
        if arguments.judge_endpoint is not None:
            raise bad_input("--judge-endpoint goes with --judge")
        return None
    if arguments.gold is None:
        raise bad_input("--judge writes criteria, which need the gold set; name it with --gold FILE")
    if not arguments.judge:
        raise bad_input("expected a name", key="--judge")
    try:
        return JudgeBlock(endpoint=arguments.judge_endpoint or ENDPOINT, model=arguments.judge)
    except ValueError as error:
        raise bad_input(f"expected an address such as {ENDPOINT}", key="--judge-endpoint") from error


def _write_criteria(
    gold_file: InputFile,
    run_file: InputFile | None,
    to: str,
    judge: JudgeBlock | None,
    block: str | None,
    *,
    accept_own: bool,
) -> Start:
    gold = gold_of(gold_file, None)
    if block is not None and run_file is None:
        _refuse_mute(gold)
    first = parse_metric(FIRST_GATES[0][0])
    best = estimate([best_possible(first, sample, DEFAULT_K) for sample in gold.samples.values()], first)
    reachable = best.value if best else None
    metrics = [parse_metric(name) for name, _ in first_gates(reachable)]
    by_span = any(sample.spans for sample in gold.samples.values())
    ways = [Matching(by=By.SPAN)] if by_span else [BY_CHUNK, Matching(by=By.DOC)]
    how, scores = ways[0], None
    if run_file and judge:
        from rankgate.judge.job import read_answers, require_answers
        from rankgate.judge.runs import NEEDS

        require_answers(
            read_answers(run_of(run_file, None, NEEDS, gold=gold), gold, frozenset({VerdictKind.SUPPORT}), judge.depth)
        )
    for way in ways if run_file else []:
        opened = run_of(run_file, None, way.needs, gold=gold)
        found = score_run(gold, opened, Plan(metrics=metrics, how=way), watch=bar)
        require_gold_queries(found, opened.name, gold)
        finds = any(map(any, found.values.values()))
        if finds or scores is None:  # the gold may name documents, and the run their chunks
            how, scores = way, found
        if finds:
            break
    base = os.path.dirname(to) or "."  # noqa: PTH120
    baseline_path = _data_folder(gold_file.path, to) / "baseline"
    paths = (gold_file.path, run_file.path if run_file else _first_run(gold_file.path, to), baseline_path)
    gold_path, run_path, baseline = (Path(os.path.relpath(path, base)).as_posix() for path in paths)
    measured = [
        (metric, estimate(scores.values[metric.name], metric, clusters=scores.clusters) if scores else None)
        for metric in metrics
    ]
    samples = [*gold.samples.values()]
    drops, gates, sees = list[float](), list[Gate](), list[Detectable | None]()
    for metric, value in measured:
        counted = [*filter(None, counting(metric, samples, DEFAULT_K))]
        drops.append(first_drop(len(counted), value.value if value else None))
        gates.append(Gate(name=metric.name, metric=metric, regression_max=drops[-1], evidence=Evidence.PROVEN_HARM))
        sees.append(planned(gates[-1], counted))
    claims = any(sample.claims or sample.answers for sample in gold.samples.values())
    start = Start(
        gold=gold_path,
        run=run_path,
        baseline=baseline,
        accepted=holds_acceptance(Path(baseline_path)),
        gold_format=gold_file.format,
        gold_map=gold_file.map,
        run_format=run_file.format if run_file else None,
        run_map=run_file.map if run_file else None,
        measured=measured,
        drops=drops,
        sees=sees,
        tags=segment_tags(gold),
        measured_run=run_file.path if run_file else None,
        reachable=reachable,
        by=how.by,
        judge=FirstJudge(judge.endpoint, judge.model, len(gold.samples), claims) if judge else None,
        accept_own=accept_own,
    )
    text = criteria_text(start) + (block or "")
    write_atomic(to, text)
    print(f"wrote {redacted(to)}: {text.count('  - name:')} gates over {count_text(len(gold.samples), 'question')}")
    if sees[0] is not None:
        print(f"{measured[0][0].name}: {sight_text(gates[0], sees[0])}")
    _say_segments(start, to, gold)
    return start


def _refuse_mute(gold: Gold) -> None:
    """A gold set without questions leaves a retriever nothing to be asked."""
    if not any(sample.question for sample in gold.samples.values()):
        hint = "give a folder with qrels/ and queries.jsonl, a table with a column `question`, or --run FILE"
        raise bad_input(f"has no questions, so that the retriever has nothing to be asked; {hint}", file=gold.name)


def _say_segments(start: Start, to: str, gold: Gold) -> None:
    """Which tags are gated and which are not, and what of the gold set's file was not read."""
    if start.tags:
        tags = ", ".join(f"{shown(tag)} ({count} values)" for tag, count in start.tags.items())
        blind = small_parts(load_criteria(to), gold)
        print(f"gated by segments, too: {tags}{f'; {blind}' if blind else ''}")
    others = [f"{shown(tag)} ({why})" for tag, sizes in tag_sizes(gold).items() if (why := why_no_segment(sizes))]
    if others:
        print(f"tags without a gate of segments: {', '.join(others)}")
    for fact in reading_facts(gold):
        print(fact)


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
    run_path = Path(os.path.relpath(base / start.run)).as_posix()
    baseline = Path(os.path.relpath(base / start.baseline)).as_posix()
    ignored = _ignore([] if committed else [run_path], _data_folder(arguments.gold, to))
    names = ", ".join(map(redacted, (to, arguments.gold, *[run_path] * committed)))
    kept_out = "" if committed else f", not {redacted(run_path)}"
    if ignored:
        kept_out = f"; .gitignore has {ignored}"
    print(f"commit {names} and {baseline}/{kept_out}")


def _next_steps(arguments: argparse.Namespace, *, records: bool) -> str:
    written_to = arguments.to or CRITERIA
    to = shlex.quote(redacted(written_to))
    criteria = "" if written_to in DEFAULT_PATHS else f" --criteria {to}"
    place = "" if written_to == CRITERIA else f" --to {to}"
    steps: list[str] = []
    if not (records or arguments.run):
        steps.append(f"rankgate init{place} --retriever MODULE:FUNCTION   # or --url or --command: what is asked")
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
        steps.append(f"rankgate init --github{place}   # adds the workflows")
    return "next:\n" + "".join(f"  $ {step}\n" for step in steps)


def _text_of(path: str) -> str:
    """What the criteria say so far; nothing where there are none."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _add_retriever(path: str, before: str, block: str) -> None:
    """Name the retriever at the end of criteria that name none, and where what it answers and what is accepted lie."""
    criteria = load_criteria(path)
    retriever = criteria.retriever
    if retriever is not None:
        raise bad_input("is named already; change it there", file=path, line=retriever.line, key="retriever")
    missing = missing_inputs(criteria)
    write_atomic(path, with_inputs(before, missing).rstrip("\n") + "\n" + block)
    try:
        after = load_criteria(path).inputs
    except RankgateError:
        after = Inputs()
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


def _job(arguments: argparse.Namespace, criteria: str, *, records: bool) -> Job:
    """What the workflows need to know, from the criteria where no gold set is named."""
    gold, run, judged = arguments.gold, arguments.run or "", arguments.judge is not None
    if gold is not None:
        run = run or _first_run(gold, criteria)
    else:
        loaded = load_criteria(criteria)
        inputs = loaded.inputs
        if inputs.gold is None or inputs.run is None:
            missing = " and no ".join(key for key in ("gold", "run") if getattr(inputs, key) is None)
            raise bad_input(f"names no {missing}, which the workflow needs; add it", file=loaded.name, key="inputs")
        gold, run, judged = inputs.gold.path, inputs.run.path, loaded.judge is not None
        records |= loaded.retriever is not None
    _inside(gold)
    if not (records or arguments.run or Path(run).is_file()):
        advice = f"name what to record with --retriever, --url or --command, or commit {run!r}"
        raise bad_input(f"the workflow has no run to judge: {advice}")
    return Job(
        run=_inside(run),
        criteria=_named(_inside(criteria)),
        branches=_default_branches(),
        version=__version__,
        action=action_of(arguments.action, __version__),
        records=records,
        judged=judged,
    )


def _named(criteria: str) -> str | None:
    """Criteria as the action's input; None where they are the first that it looks for."""
    first = next((path for path in DEFAULT_PATHS if path == criteria or Path(path).is_file()), None)
    return None if first == criteria else criteria


def _inside(path: str) -> str:
    inner = Path(os.path.relpath(path)).as_posix()
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
