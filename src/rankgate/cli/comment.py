"""`rankgate comment`: the bot. It publishes what a report says, never scores, and never changes a verdict."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from msgspec.structs import replace

from rankgate.cli.inputs import read_report
from rankgate.cli.options import add_option, make_parser, today
from rankgate.cli.output import complain
from rankgate.cli.processes import interrupted_once
from rankgate.criteria.inputs import Inputs
from rankgate.errors import RankgateError, bad_input
from rankgate.files.environment import api_url, token_in
from rankgate.files.git import GitError, repository_around
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.comments import ACTIONS_LOGIN, DEFAULT_GATE, checked_gate_id
from rankgate.forges.publish import Published, Settings, When, announce, publish
from rankgate.forges.pulls import pull_of
from rankgate.forges.runner import Context, add_summary, context_of
from rankgate.gates.not_judged import not_judged
from rankgate.model.report import Report
from rankgate.renderers.markdown_text import code


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "comment",
        "Publish a report: one comment on the pull request, updated in place, and the check rankgate/verdict. What\n"
        "it belongs to comes from the environment of a job of GitHub Actions, or from the options; the token from\n"
        "GITHUB_TOKEN.\n\n"
        "What cannot be published is said on standard error and in the step summary.",
        "rankgate comment report.json",
        "rankgate comment report.json --dry-run              # prints the requests, sends none",
        "rankgate comment --begin                            # puts the check in progress, before the work",
        "rankgate comment report.json --repository acme/rag --pull 12 --bot-login my-bot[bot]",
        exits=(
            '0 done, also where GitHub refuses; 2 there is no report, or a damaged one, and "not judged" is\n'
            "published, so that no old verdict stays"
        ),
    )
    add_option(options, "report REPORT", "what `rankgate check -o report.json` wrote", nargs="?")
    add_option(options, "--begin", "only put the check in progress; needs no report")
    when = "when there is a comment: changed, once a verdict is not pass; failing, once the check is no success"
    add_option(options, "--comment", when, choices=get_args(When), default="always")
    add_option(options, "--repository OWNER/NAME", "on GitHub (default: that of the job)")
    add_option(options, "--pull N", "the pull request (default: that of the job)", type=int)
    dry = "print the requests that write instead of sending them; without a token as if nothing was posted yet"
    add_option(options, "--dry-run", dry)
    gate = "tells several gates of a repository apart: each has its own comment and check (default: default)"
    add_option(options, "--gate-id ID", gate, default=DEFAULT_GATE)
    login = "whom GitHub's token posts as (default: github-actions[bot]); only this account's comments are ever changed"
    add_option(options, "--bot-login LOGIN", login, default=ACTIONS_LOGIN)
    add_option(options, "--fail-on", "as it was for the check", choices=["fail", "warn"], default="fail")
    add_option(options, "--max-wait SECONDS", "to wait for GitHub in all (default: 300)", type=float, default=300.0)
    return options


def run(arguments: argparse.Namespace) -> int:
    """Publish, say what was done, and return 0, or 2 where the report is none."""
    if (arguments.report is None) != arguments.begin:
        raise bad_input("name the report to publish, or --begin", key="REPORT")
    report: Report | None = None
    code = 0
    if not arguments.begin:
        report, code = read_or_not_judged(arguments.report, today())
    settings = Settings(
        gate=checked_gate_id(arguments.gate_id),
        login=arguments.bot_login,
        comment=arguments.comment,
        fail_on=arguments.fail_on,
    )

    def act(client: Client) -> Published:
        context = _context(arguments, client)
        if report is None:
            return announce(client, context, settings)
        return publish(client, context, report, settings)

    with interrupted_once():
        if arguments.dry_run and token_in(os.environ) is None:
            say(outcome_of(lambda: act(_NothingPosted(_head()))))
        else:
            say(publishing(api_url(os.environ), act, max_wait=arguments.max_wait, dry_run=arguments.dry_run))
    return code


class _NothingPosted(Client):
    """A dry run without a token: GitHub is not asked, as if nothing was posted on the pull request yet."""

    def __init__(self, head: str) -> None:
        super().__init__("https://api.github.com", "a-dry-run-has-no-token", dry_run=True, tell=print)
        self._head = head

    def get(self, path: str, params: Mapping[str, str | int] = {}) -> Any:
        """A pull request of this repository, whatever is asked for."""
        del params
        number = path.rpartition("/")[2]
        repository = {"id": 1}
        return {
            "number": int(number) if number.isdecimal() else 0,
            "head": {"sha": self._head, "repo": repository},
            "base": {"sha": self._head, "ref": "main", "repo": repository},
        }

    def pages(self, path: str, params: Mapping[str, str | int] = {}, *, under: str | None = None) -> Iterator[Any]:
        """Nothing is there; which pull requests decide nobody knows."""
        del params, under
        if path.endswith("/pulls"):
            raise ForgeError("a dry run without a token asks for no pull requests")
        return iter(())


def _head() -> str:
    """The commit that the pull request is taken to be at: the event's, else the one that is checked out."""
    if os.environ.get("GITHUB_EVENT_NAME") and (pull := context_of(os.environ).pull):
        return pull.head_sha
    try:
        return repository_around(".").commit("HEAD")
    except GitError:
        return "0" * 40


def publishing(
    url: str, act: Callable[[Client], Published], *, max_wait: float = 300.0, dry_run: bool = False
) -> Published:
    """What was told with a client for this API and the token of the environment; every failure is only told too."""
    return outcome_of(lambda: act(Client(url, token_of(), max_wait=max_wait, dry_run=dry_run, tell=print)))


def outcome_of(act: Callable[[], Published]) -> Published:
    """What was done, or the failure as a trouble."""
    try:
        return act()
    except (ForgeError, RankgateError) as error:
        return Published([], str(error).splitlines())
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        shape = f"GitHub answered in a shape that its documentation does not know ({type(error).__name__})"
        return Published([], [shape])


def read_or_not_judged(path: str, date: str) -> tuple[Report, int]:
    """The report, and 0; or one that says why there is none, and 2, each problem on standard error."""
    try:
        return read_report(path), 0
    except RankgateError as error:
        for problem in error.problems:
            complain(f"error: {problem}")
        return not_judged(Inputs(date=date), error.problems), 2


def say(outcome: Published) -> None:
    """What was done on standard output, what was not on standard error and in the step summary."""
    for line in outcome.done:
        print(line)
    for line in outcome.troubles:
        complain(f"warning: not published: {line}")
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if outcome.troubles and summary:
        add_summary(summary, "".join(f"- Not published: {code(line, 600)}\n" for line in outcome.troubles))


def token_of() -> str:
    """The token from the environment."""
    token = token_in(os.environ)
    if token is None:
        raise bad_input("no token to publish with; set it in env, as GITHUB_TOKEN: ${{ github.token }}")
    return token


def _context(arguments: argparse.Namespace, client: Client) -> Context:
    """The job's context, with the repository and the pull request that the options name."""
    if os.environ.get("GITHUB_EVENT_NAME"):
        context = context_of(os.environ)
        context = replace(context, repository=arguments.repository or context.repository)
    elif arguments.repository and arguments.pull is not None:
        context = Context(
            event="",
            api_url=api_url(os.environ),
            server_url=os.environ.get("GITHUB_SERVER_URL") or "https://github.com",
            repository=arguments.repository,
        )
    else:
        raise bad_input("not in GitHub Actions; name what to comment on with --repository OWNER/NAME and --pull N")
    if arguments.pull is None:
        return context
    pull = pull_of(client, context.repository, arguments.pull)
    return replace(context, pull=pull, sha=pull.head_sha, base=pull.base_sha)
