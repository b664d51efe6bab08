"""`rankgate judge`: a model is asked about answers, and what it said is written; nothing is decided.

`gold pool --judge` asks about documents in the same way: warnings, a bar meanwhile, and what stopped it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rankgate.base_ref.commits import ToJudge, judging_at
from rankgate.cli.inputs import judge_in, metrics_of, required_criteria
from rankgate.cli.judge_calibrate import calibrate
from rankgate.cli.judge_labels import add_actions, named_files, next_line, run_action
from rankgate.cli.options import add_option, add_shared, inputs_of, make_parser, today
from rankgate.cli.output import as_json, bar, say
from rankgate.cli.processes import terminated_as_interrupted
from rankgate.criteria import Criteria
from rankgate.criteria.inputs import PullInputs, Stores, gold_of
from rankgate.criteria.judge_block import KEY_VARIABLE
from rankgate.criteria.runs import candidate_run, runs_of
from rankgate.errors import Problem, RankgateError, bad_input, redacted
from rankgate.files.git import GitError, run_git
from rankgate.files.writing import write_atomic
from rankgate.forges.runner import add_summary, base_branch
from rankgate.gates.judged import judges_by_metric
from rankgate.gates.sights import judged_facts
from rankgate.judge.calibration import OF_SAMPLE, labelled_answer
from rankgate.judge.client import Endpoint
from rankgate.judge.job import (
    RUN,
    Answers,
    Job,
    Outcome,
    Planned,
    Spent,
    do_job,
    plan_job,
    read_answers,
    require_answers,
)
from rankgate.judge.judging import WORKERS
from rankgate.judge.label_files import read_sample
from rankgate.judge.runs import NEEDS, verdict_kinds_of, verdicts_beside
from rankgate.judge.store import Store, by_slot, read_verdicts, stored_verdicts, written
from rankgate.metrics.answers import JudgedMetric
from rankgate.model.answers import JudgeMark, UnjudgedKind
from rankgate.model.judge_words import UNJUDGED_WORDS
from rankgate.model.values import Gold, RunField
from rankgate.model.verdicts import Unjudged
from rankgate.model.wording import count_text, tokens_text
from rankgate.readers.base import Run
from rankgate.readers.source import STDIN
from rankgate.renderers.markdown_text import code
from rankgate.renderers.warnings import fact_text

_MAX_WORKERS = 256  # more is a slip of the finger

NAMELESS = "a model without a name"
_PARAMETERS = (
    "correct these (some models take max_completion_tokens in place of max_tokens), `structured` or the model, "
    "{model!r}."
)
_ADDRESS = "it has no chat completions or no model {model!r}; correct it (it often ends in /v1) or that."
# Why judging ended early (a status, its hundreds, or a kind): the setting at fault, and what to do.
_ADVICE: dict[int | UnjudgedKind, tuple[str, str]] = {
    **dict.fromkeys((401, 403), (KEY_VARIABLE, "the endpoint answered {status}: it does not take it for {model!r}.")),
    **dict.fromkeys((404, 405, 410), ("judge.endpoint", "answered {status}: " + _ADDRESS)),
    402: ("judge.endpoint", "answered 402: it wants to be paid first."),
    429: ("judge.endpoint", "answered 429 again and again; wait, or ask less at once with --workers."),
    3: ("judge.endpoint", "answered {status}: it leads elsewhere, which is not followed; name that address."),
    4: ("judge.parameters", "the endpoint answered {status}; " + _PARAMETERS),
    5: ("judge.endpoint", "answered {status} again and again; wait until it works."),
    UnjudgedKind.BUDGET: ("judge.budget", "is reached, after {cost} in all; raise it."),
    UnjudgedKind.UNREACHABLE: ("judge.endpoint", "cannot be reached; correct it, or start what answers there."),
    UnjudgedKind.ENVELOPE: ("judge.endpoint", "is no OpenAI-compatible API; correct it (it often ends in /v1)."),
}
_NO_USE = ("judge.model", "{model!r} gave no answer of use to a first question: one {word}.")


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "judge",
        "Let a model judge the answers of a run, and those of the baseline where they lack its verdicts, for the\n"
        "metrics of the gates. The model is that of `judge:` in the criteria; its key is read from the environment,\n"
        f"{KEY_VARIABLE}. What it takes is printed before anything is asked; what is judged already costs nothing.\n"
        "`rankgate check` reads the verdicts, without a model.",
        "rankgate judge --dry-run                     # what it would cost: no key, no request",
        "rankgate judge --gold gold.yaml --run run.jsonl --baseline baseline/",
        "rankgate judge --metric faithfulness --metric answered_rate --format json",
        "rankgate judge --again                       # also what the model itself failed at",
        "rankgate check                               # then decide, by run.verdicts.jsonl beside run.jsonl",
        "rankgate judge sample                        # let people check the judge; see `judge sample --help`",
        "rankgate judge label sample.jsonl --by ana",
        "rankgate judge calibrate sample.jsonl        # then gates may count on it",
        exits=(
            "0 judged, but for what the model itself fails at; 2 stopped; 130 interrupted; after both the\n"
            "same command goes on"
        ),
    )
    baseline = "whose answers need verdicts too, as for check (default: inputs.baseline)"
    add_shared(options, "criteria", "gold", "run", baseline=baseline)
    base = "the commit that a pull request is to be merged into: its judge, prompts and budget count"
    add_option(options, "--base REF", base)
    untrusted = (
        "the run is of an untrusted source: it is read as by check, verdicts that lie beside it are not, and --store "
        "has to name a file that its author could not write"
    )
    add_option(options, "--untrusted-run", untrusted)
    # From the reporting job to this one.
    add_option(options, "--fork", argparse.SUPPRESS)
    add_option(options, "--baseline-copy DIR", argparse.SUPPRESS, action="read")
    claims = "ask about the labelled claims of a sample in place of a run's answers, as another judge has to be"
    add_option(options, "--sample FILE", claims, action="read", dest="claims_of")
    metric = "judge for this metric in place of those of the gates; repeats"
    add_option(options, "--metric NAME", metric, action="append", default=[])
    add_option(options, "--dry-run", "print what it would take, and ask nothing")
    add_option(options, "--workers N", f"requests at once (default: {WORKERS})")
    add_option(options, "--again", "ask once more what the model failed at before")
    store = "the verdicts, each appended at once (default: beside the run, run.verdicts.jsonl for run.jsonl)"
    add_option(options, "--store FILE", store, action="write")
    output = "at the end, also the verdicts on these two runs alone, sorted"
    add_option(options, "-o --output FILE", output, action="write")
    add_shared(options, "format")
    add_actions(options)
    return options


def run(arguments: argparse.Namespace, endpoint: Endpoint | None = None) -> int:
    """Plan, ask, write, print, and return 0 or 130; what could not be asked is raised.

    `endpoint` is asked in place of the one that the criteria name, which the judge's identity goes by.
    """
    if arguments.action:
        return (calibrate if arguments.action == "calibrate" else run_action)(arguments)
    if arguments.untrusted_run and not arguments.store:
        raise bad_input("with --untrusted-run, name a file that the author of the run could not write", key="--store")
    with _to_judge(arguments) as to_judge:
        return _judge(arguments, to_judge, endpoint)


@contextmanager
def _to_judge(arguments: argparse.Namespace) -> Iterator[ToJudge]:
    """What to ask about, by what is here, or by the base and what is here."""
    if arguments.base:
        inputs = replace(inputs_of(arguments), untrusted_run=arguments.untrusted_run)
        with judging_at(inputs, arguments.base) as to_judge:
            yield to_judge
        return
    criteria = required_criteria(arguments)
    block = judge_in(criteria)
    golds = [gold_of(arguments.gold, criteria)]
    yield ToJudge(criteria, block, golds, criteria.metrics(), arguments.run or criteria.inputs.run)


def _judge(arguments: argparse.Namespace, to_judge: ToJudge, endpoint: Endpoint | None) -> int:
    run_file = to_judge.run
    _workers(arguments)
    baseline = None if arguments.base else arguments.baseline
    if run_file and run_file.path == STDIN and not arguments.store:
        raise bad_input("the run is read from standard input; name the file for its verdicts", key="--store")
    names, job = _job(arguments, to_judge)
    files = [run_file, baseline or to_judge.criteria.inputs.baseline]
    beside = [verdicts_beside(file.path) for file in files if file]
    path = arguments.store or (verdicts_beside(arguments.claims_of) if arguments.claims_of else beside[0])
    # Of a pull request's run nothing counts that its job may have left beside it.
    others = [] if arguments.untrusted_run or arguments.base else beside
    refuse_committed([path, *others])
    read = [read_verdicts(each) for each in others if each != path and Path(each).exists()]
    job = replace(job, beside=by_slot(record for each in read for record in each.values()))
    with Store(path, writes=not arguments.dry_run) as store:
        return _plan_and_ask(arguments, to_judge, names, job, store, endpoint)


def _plan_and_ask(
    arguments: argparse.Namespace,
    to_judge: ToJudge,
    names: list[str],
    job: Job,
    store: Store,
    endpoint: Endpoint | None,
) -> int:
    criteria = to_judge.criteria
    output = arguments.output
    planned = plan_job(job, store)
    sys.stderr.writelines(f"warning: {warning}\n" for warning in warnings_of(job, planned, criteria))
    mark = JudgeMark(planned.judge.short, planned.judge.model)
    human_labels = judges_by_metric(criteria, mark, today()) if arguments.dry_run and not arguments.claims_of else {}
    needs = [fact_text(fact) for fact in judged_facts(criteria, to_judge.golds[0], [], human_labels)]
    first = f"judge {planned.judge.short} ({planned.judge.model}) for {', '.join(names)}"
    if arguments.format == "terminal":
        say([first, *_plan_lines(job, planned), *needs, *(_next(arguments, None) if arguments.dry_run else [])])
        sys.stdout.flush()  # before anything is asked
    outcome = None if arguments.dry_run else ask_job(job, planned, store, _workers(arguments), endpoint)
    if outcome and output:
        write_atomic(output, written(outcome.records.values()))
    if arguments.format == "json":
        say(_json(job, {"metrics": names, "needs": needs}, planned, outcome, output or store.name))
    elif outcome:
        where = f"verdicts: {redacted(output or store.name)}"
        say([*_outcome_lines(job, outcome), where, *_next(arguments, outcome)])
    if outcome and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
        add_summary(summary, "".join(f"- {code(line, 300)}\n" for line in (first, *_outcome_lines(job, outcome))))
    if outcome is None:
        return 0
    return end_of(outcome, criteria, ".fork_calls" if arguments.fork else "")


def _next(arguments: argparse.Namespace, outcome: Outcome | None) -> list[str]:
    """What comes after a plan, or after all is judged; nothing where another command called this one."""
    if arguments.untrusted_run or arguments.base or (outcome and (outcome.stopped or outcome.failed)):
        return []  # a judge that stopped says that the same command goes on
    if outcome is None:
        given = {"--sample": [arguments.claims_of], "--metric": arguments.metric, "--store": [arguments.store]}
        given |= {"--workers": [arguments.workers], "--output": [arguments.output]}
        words = ["--again"] if arguments.again else []
        words += named_files(arguments)
        for option, values in given.items():
            for value in filter(None, values):
                words += [option, value]
        return [next_line("judge", *words)]
    if arguments.claims_of:
        return [next_line("judge", "calibrate", arguments.claims_of, "--write")]
    elsewhere = ["--verdicts", arguments.output or arguments.store] if arguments.store else []
    return [next_line("check", *named_files(arguments), *elsewhere)]


def _job(arguments: argparse.Namespace, to_judge: ToJudge) -> tuple[list[str], Job]:
    """The names of the metrics, what is judged for them, and the verdicts that stored runs keep."""
    criteria = to_judge.criteria
    golds = to_judge.golds
    block = to_judge.block
    if arguments.fork:
        budget = block.budget.model_copy(update={"calls": block.budget.fork_calls})
        block = block.model_copy(update={"budget": budget})
    if arguments.claims_of:
        labelled = tuple(map(labelled_answer, read_sample(arguments.claims_of)))
        of_sample = Answers(run=arguments.claims_of, answers=labelled)
        return ["the labelled claims"], Job(block=block, verdict_kinds=OF_SAMPLE, run=of_sample, again=arguments.again)
    metrics = _metrics_to_judge(arguments, to_judge)
    verdict_kinds = verdict_kinds_of(metrics)
    inputs = replace(
        inputs_of(arguments),
        run=to_judge.run,
        baseline=None if arguments.base else arguments.baseline,
        base=arguments.base,
        pull=PullInputs(branch=base_branch(os.environ) if arguments.base else None),
        untrusted_run=arguments.untrusted_run,
        stores=Stores(arguments.baseline_copy),
    )
    accepted = runs_of(inputs, criteria, criteria.plan(), golds[0]).accepted
    candidates = [candidate_run(inputs.run, criteria, untrusted=inputs.untrusted_run, gold=gold) for gold in golds]
    opened_candidates = (candidate.open(NEEDS) for candidate in candidates)
    [run] = _read_by_all(opened_candidates, golds, verdict_kinds, block.depth)
    require_answers(run)
    opened_baselines = (accepted.open(NEEDS) for _ in golds)
    baselines = _read_by_all(opened_baselines, golds, verdict_kinds, block.depth)
    baseline = baselines[0] if baselines else None
    stored = accepted.open(frozenset({RunField.VERDICTS})) if baseline else None
    kept = stored_verdicts(stored) if stored and stored.format == "baseline" else {}
    names = [metric.name for metric in metrics]
    return names, Job(
        block=block, verdict_kinds=verdict_kinds, run=run, baseline=baseline, kept=kept, again=arguments.again
    )


def _metrics_to_judge(arguments: argparse.Namespace, to_judge: ToJudge) -> list[JudgedMetric]:
    """Those that `--metric` names, else those of the gates."""
    named = [metric for name in arguments.metric for metric in metrics_of(name, "--metric")]
    metrics = [metric for metric in named or to_judge.metrics if isinstance(metric, JudgedMetric)]
    if verdict_kinds_of(metrics):
        return metrics
    text = "no metric here is by a judge's verdicts, so there is nothing to ask; faithfulness is such a metric"
    if arguments.metric:
        raise bad_input(text, key="--metric")
    raise bad_input(text, file=to_judge.criteria.name, key="gates")


def _read_by_all(
    runs: Iterable[Run | None], golds: Sequence[Gold], verdict_kinds: frozenset[str], depth: int
) -> list[Answers]:
    """One run's answers by all gold sets, opened anew for each; nothing of a run that is not there."""
    by_gold = [read_answers(run, gold, verdict_kinds, depth) for run, gold in zip(runs, golds, strict=True) if run]
    every = dict.fromkeys(answer for answers in by_gold for answer in answers.answers)
    return [replace(by_gold[-1], answers=tuple(every))] if by_gold else []


def _workers(arguments: argparse.Namespace) -> int:
    """How many requests at once."""
    written: str | None = arguments.workers
    if written is None:
        return WORKERS
    if not (re.fullmatch("[0-9]{1,3}", written) and 1 <= int(written) <= _MAX_WORKERS):
        raise bad_input(f"--workers {written!r} is not a number from 1 to {_MAX_WORKERS}")
    return int(written)


def _plan_lines(job: Job, planned: Planned) -> Iterator[str]:
    calls = 0
    for name, run in job.runs.items():
        plan = planned.plans[name]
        known = f"{plan.cached - plan.failed:,} judged already{' or with these' if calls else ''}"
        if plan.failed:
            known += f", {plan.failed:,} that the judge failed at (`--again` asks once more)"
        waiting = "none to judge"
        if left := plan.answers - plan.cached:
            about = tokens_text(round(plan.tokens, 2 - len(str(plan.tokens))))  # two digits
            waiting = f"{left:,} to judge: {count_text(plan.every_call, 'call')}, about {about}"
        yield f"{_of(name)}{count_text(plan.answers, 'answer')}: {known}, {waiting}"
        calls += plan.every_call
        if run.ignored:
            yield f"  {count_text(run.ignored, 'line')} of questions that the gold set lacks, ignored"
        if run.unanswered:
            yield f"  {count_text(run.unanswered, 'line')} without any key of an answer, not judged"
    if not planned.tried:
        yield (
            f"The endpoint was never tried: this is for structured output by {planned.judge.mode}. Where it takes "
            "another form, that is another judge, for which nothing is judged already."
        )


def _of(name: str) -> str:
    return "" if name == RUN else f"the {name}: "


def _outcome_lines(job: Job, outcome: Outcome) -> Iterator[str]:
    for name, run in job.runs.items():
        missing = outcome.unjudged[name]
        reasons = ", ".join(f"{count:,} {UNJUDGED_WORDS[kind]}" for kind, count in missing.most_common())
        rest = f", {missing.total():,} not ({reasons})" if reasons else ""
        judged = f"{len(run.answers) - missing.total():,} judged{rest}"
        yield f"{_of(name)}{count_text(len(run.answers), 'answer')}: {judged}"
    if outcome.again:
        verdicts = count_text(outcome.again, "verdict")
        yield f"the baseline: {verdicts} asked for again, as they were by another model than now answers by this name"
    by = ", ".join(f"{model or NAMELESS} ({count:,})" for model, count in outcome.models.most_common())
    yield f"{cost_text(outcome.spent)}{f'; verdicts by {by}' if by else ''}"


def _json(job: Job, about: Mapping[str, list[str]], planned: Planned, outcome: Outcome | None, output: str) -> str:
    judge = (outcome or planned).judge
    plans = {
        name: {"answers": plan.answers, "cached": plan.cached, "calls": plan.every_call, "tokens": plan.tokens}
        | {"ignored": run.ignored, "unanswered": run.unanswered, "textless": len(run.textless)}
        for (name, run), plan in zip(job.runs.items(), planned.plans.values(), strict=True)
    }
    ended: dict[str, Any] = {}
    if outcome:
        for name, run in job.runs.items():
            missing = outcome.unjudged[name]
            unjudged = {kind.value: count for kind, count in missing.items()}  # msgspec 0.21 takes no enum as a key
            ended[name] = {"judged": len(run.answers) - missing.total(), "unjudged": unjudged}
        ended["calls"] = outcome.spent.calls
        ended["tokens"] = outcome.spent.tokens
        ended["models"] = outcome.models
        ended["verdicts"] = redacted(output)
        failed = Counter[str]()
        for failure, count in outcome.failed.items():
            failed[failure.kind.value] += count
        ended["failed"] = dict(failed)
        ended["stopped"] = (why := outcome.stopped) and {"kind": why.kind, "number": why.number}
    about_judge = {"id": judge.id, "model": judge.model, "structured": judge.mode, "tried": planned.tried}
    return as_json({"judge": about_judge, **about, "plan": plans, "outcome": ended or None})


def refuse_committed(paths: Iterable[str]) -> None:
    """Refuse files of a commit, which its author may have written, or let lead elsewhere; links are followed."""
    for path in filter(os.path.lexists, paths):
        for file in dict.fromkeys([Path(path).absolute(), Path(path).resolve()]):
            with suppress(GitError):  # without git there is no commit
                listed = run_git(str(file.parent), "--literal-pathspecs", "ls-files", "--error-unmatch", file.name)
                if not listed.returncode:
                    advice = "verdicts are taken from no commit: remove it from git, or name another file"
                    raise bad_input(f"is a file that git tracks; {advice}", file=path)


def warnings_of(job: Job, planned: Planned, criteria: Criteria) -> Iterator[Problem]:
    """What to know before anything is asked."""
    plan = planned.plans[RUN]
    budget = job.block.budget
    calls = plan.every_call + (0 if planned.tried else 1)  # one finds out which form of answers the endpoint takes
    for unit, needed, most in (("calls", calls, budget.calls), ("tokens", plan.tokens, budget.tokens)):
        if most is not None and needed > most:
            text = f"{most:,} {unit} will not do: judging these answers takes about {needed:,}; raise it"
            yield Problem(text, criteria.name, key="judge.budget")
    if job.block.is_alias:
        text = f"{job.block.model!r} has no date, so what answers under this name may change; name a dated model"
        yield Problem(text, criteria.name, key="judge.model")
    if job.baseline and job.baseline.textless:
        query_id, item_id = job.baseline.textless[0]
        many = f"{count_text(len(job.baseline.textless), 'answer')} of the baseline"
        text = f"{many} cannot be judged: a passage has no text, such as {item_id!r} of {query_id!r}"
        yield Problem(text, job.baseline.run, key="text")
    elif job.baseline and not job.baseline.answers:
        yield Problem("the baseline states no answer: nothing to compare with", job.baseline.run, key="answer")


def ask_job(job: Job, planned: Planned, store: Store, workers: int, endpoint: Endpoint | None) -> Outcome:
    """Ask under a bar."""
    block = job.block
    spent = Spent()

    def watch(now: Spent) -> None:
        nonlocal spent
        spent = now

    endpoint = endpoint or Endpoint(block.endpoint, auth_header=block.auth_header, timeouts=block.timeouts)

    def share() -> float:
        return min(1.0, spent.calls / max(1, spent.planned))

    with terminated_as_interrupted(), bar(share, lambda: f"judging: {cost_text(spent)}"):
        return do_job(job, planned, store, endpoint, workers=workers, watch=watch)


def end_of(outcome: Outcome, criteria: Criteria, budget: str) -> int:
    """Say what a reader of the verdicts should know; then the exit code, or what was in the way."""
    if len(outcome.models) > 1:
        models = " and ".join(sorted(model or NAMELESS for model in outcome.models))
        text = f"these verdicts are by {models}: what answers as {outcome.judge.model!r} changed, and values with it"
        problem = Problem(f"{text}; name a dated model, by which all is judged again", criteria.name, key="judge.model")
        sys.stderr.write(f"warning: {problem}\n")
    if outcome.stopped and outcome.stopped.kind is UnjudgedKind.INTERRUPTED:
        sys.stderr.write("interrupted; the same command goes on\n")
        return 130
    if outcome.stopped:
        key = budget if outcome.at == RUN else ".baseline_calls"
        raise _stopped_by(outcome.stopped, outcome.judge.model, outcome.spent, criteria, key)
    if outcome.failed:
        reasons = ", ".join(
            f"{count:,} {UNJUDGED_WORDS[why.kind]}{_status_of(why)}" for why, count in outcome.failed.items()
        )
        text = f"{count_text(sum(outcome.failed.values()), 'call')} failed ({reasons}); the same command asks again"
        raise bad_input(text, file=criteria.name, key="judge.endpoint")
    return 0


def _stopped_by(stopped: Unjudged, model: str, spent: Spent, criteria: Criteria, budget: str) -> RankgateError:
    """Why judging ended early, with the setting to correct."""
    status = stopped.number if stopped.kind is UnjudgedKind.HTTP_STATUS else None
    reasons = (status, status // 100) if status else (stopped.kind,)
    key, text = next((_ADVICE[each] for each in reasons if each in _ADVICE), _NO_USE)
    if key == KEY_VARIABLE and not os.environ.get(KEY_VARIABLE):
        text = "is not set, and the endpoint answered {status}; set it to the key."
    where = f"{key}{budget}" if stopped.kind is UnjudgedKind.BUDGET else key
    word = UNJUDGED_WORDS[stopped.kind]
    advice = text.format(status=status, model=model, word=word, cost=cost_text(spent))
    return bad_input(f"{advice} What was answered is kept; the same command goes on", file=criteria.name, key=where)


def _status_of(why: Unjudged) -> str:
    return f" with {why.number}" if why.kind is UnjudgedKind.HTTP_STATUS else ""


def cost_text(spent: Spent) -> str:
    """`8 calls, 880 tokens`."""
    return f"{count_text(spent.calls, 'call')}, {tokens_text(spent.tokens)}"
