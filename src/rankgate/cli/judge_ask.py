"""Asking a judge, for `rankgate judge` and `gold pool --judge`: warnings, a bar meanwhile, and what stopped it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from rankgate.cli.output import bar
from rankgate.cli.signals import terminated_as_interrupted
from rankgate.criteria import Criteria
from rankgate.criteria.judge_block import KEY_VARIABLE
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.files.git import GitError, run_git
from rankgate.judge.client import Endpoint
from rankgate.judge.job import RUN, Job, Outcome, Planned, Spent, do_job
from rankgate.judge.store import Store
from rankgate.model.answers import UnjudgedKind
from rankgate.model.judge_words import UNJUDGED_WORDS
from rankgate.model.verdicts import Unjudged
from rankgate.model.wording import count_text, tokens_text

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
    for unit, needed, most in (("calls", plan.every_call, budget.calls), ("tokens", plan.tokens, budget.tokens)):
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
        reasons = ", ".join(f"{count:,} {UNJUDGED_WORDS[kind]}" for kind, count in outcome.failed.items())
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


def cost_text(spent: Spent) -> str:
    """`8 calls, 880 tokens`."""
    return f"{count_text(spent.calls, 'call')}, {tokens_text(spent.tokens)}"
