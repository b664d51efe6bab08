"""`rankgate demo`: the embedded example, a search that is recorded and answers that are judged, to explore.

Its judge of answers is a recording. The criteria name an address where nothing listens, which is a part of the judge's
identity; the demo hands `rankgate judge` a server on a free port in its place, which ends with the command.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from socketserver import TCPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec

from rankgate.cli.options import add_option, add_shared, date_of, make_parser
from rankgate.cli.output import say
from rankgate.errors import bad_input, redacted
from rankgate.files.writing import write_atomic
from rankgate.judge.runs import verdicts_beside

if TYPE_CHECKING:
    from rankgate.judge.client import Endpoint

DEFAULT_DIRECTORY = "rankgate-demo"
MARK = "# rankgate demo:"  # the first words of our criteria, by which a directory is known to be ours
EXAMPLE = files("rankgate") / "cli" / "example"
RUNS = ("runs/accepted.jsonl", "runs/harmless.jsonl", "runs/harmful.jsonl", "runs/generator.jsonl")
SEARCH = "search/search.py"
FILES = ("ship-criteria.yaml", "gold.yaml", "articles.jsonl", SEARCH, "search/ship-criteria.yaml", *RUNS)

# Of the search in its folder: what each change does to its code, and the options of the check after it.
PAGE = ("-o", "report.html")
CHANGES = (
    ("2. A harmless change: the title of an article weighs more.", "TITLE = 2", "TITLE = 3", ("-q",)),
    ("3. A harmful one: a limit spares memory, and the last articles are not found.", "MOST = 100", "MOST = 80", PAGE),
)
# Of runs with answers.
STEPS = (
    ("5. Another system, which answers too. Its first check: nothing has been accepted yet.", "accepted"),
    ("6. Accept that run. From now on gates compare with it.", None),
    ("7. A harmless change: the title of an article weighs more than before.", "harmless"),
    ("8. A harmful change: questions from Brazil go through the Spanish text analysis.", "harmful"),
    ("9. Another one: the same search, and a generator that writes what its passages do not say.", "generator"),
)
MAX_BYTES = 1_000_000  # of a request to the replay
SECONDS = 10  # for which it waits for one


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "demo",
        "Judge the embedded example, a help centre in three languages. A small search is recorded and judged: a first\n"
        "check (warn), a harmless change (pass), a harmful one (fail), which is then accepted on purpose. With\n"
        "--answers also runs with answers, whose verdicts are labels by hand, which a server on this machine replays:\n"
        "no model is called, and no key is needed. Leaves all files in a directory, with the commands to repeat each\n"
        "step. Exits 0.",
        "rankgate demo",
        "rankgate demo my-directory",
        "rankgate demo --answers",
    )
    options.add_argument(
        "directory", nargs="?", action="write", default=DEFAULT_DIRECTORY, help=f"default: {DEFAULT_DIRECTORY}"
    )
    add_option(options, "--answers", "judge answers too, by a replay of labels by hand")
    add_shared(options, "date")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Copy the example, judge it step by step, print what happened and what to try."""
    directory = Path(arguments.directory)
    _copy_example(directory)
    date = date_of(arguments)
    start = Path.cwd()
    os.chdir(directory / "search")
    try:
        _record(date)
        os.chdir("..")
        if arguments.answers and (code := _answers(date)):
            return code
    finally:
        os.chdir(start)
    shown = redacted(directory.as_posix())
    say(_AFTERWARDS.format(there=shown, folder=shlex.quote(shown)))
    say(_AFTER_ANSWERS if arguments.answers else "\nWith answers, judged claim by claim: rankgate demo --answers\n")
    say("Next, with your own: rankgate init --gold gold.yaml --retriever my_app.search:retrieve\n")
    say(f"The page of the change that failed: {shown}/search/report.html\n")
    return 0


_AFTERWARDS = """\
All of it lies in {there}/. Try it yourself:

  $ cd {folder}/search
  $ rankgate check --all                               # as the last check, with all that it knows
  $ rankgate explain                                   # what the search misses, and what that has in common
"""
_AFTER_ANSWERS = """\
  $ cd ..
  $ rankgate check --run runs/harmful.jsonl            # exits 1
  $ rankgate explain --run runs/harmful.jsonl
  $ rankgate check --run runs/generator.jsonl          # warns: nobody has checked the judge
  $ rankgate explain q-en-003 --run runs/generator.jsonl
  $ rankgate judge --dry-run --run runs/generator.jsonl
  $ rankgate validate --run runs/harmless.jsonl
  $ rankgate compare runs/accepted.jsonl runs/harmless.jsonl runs/harmful.jsonl --gold gold.yaml

"""


def _answers(date: str) -> int:
    """The story of runs with answers; the exit code of a judge that was interrupted, else 0."""
    say(
        "No model is called here. The answers in the runs were written by hand, and labelled by hand claim by\n"
        "claim. `rankgate judge` gets these labels from a replay: a server on this machine that ends with this\n"
        "command.\n\n"
        "  $ cd ..\n\n"
    )
    with _replay() as endpoint:
        for title, name in STEPS:
            say(f"{title}\n\n")
            if name is None:
                _accept(date, "--run", "runs/accepted.jsonl", gap="\n")
                continue
            run_file = f"runs/{name}.jsonl"
            if code := _do(["judge", "--run", run_file], "--workers", "1", gap="\n", endpoint=endpoint):
                return code
            outputs = ["-o", f"out/{name}/report.json", "-o", f"out/{name}/comment.md"]
            say("\n")
            code = _do(["check", "--run", run_file, *outputs], "--date", date, gap="\n")
            say(f"\n(exit code {code})\n\n")
    return 0


def _record(date: str) -> None:
    """The story of the search in this folder: accepted, changed harmlessly, changed harmfully, accepted on purpose."""
    say("1. A small search, search.py, is asked each question, and its run is judged. Then it is accepted.\n\n")
    say("  $ cd search\n")
    _check_recorded(date, "-q")
    _accept(date)
    for title, before, after, options in CHANGES:
        say(f"{title}\n\n  $ sed -i.bak 's/{before}/{after}/' search.py\n")
        code = Path("search.py").read_bytes()
        write_atomic("search.py.bak", code)
        write_atomic("search.py", code.replace(before.encode(), after.encode()))
        _check_recorded(date, *options)
    say("4. It is accepted on purpose, for a reason that the next comment names.\n\n")
    _accept(date, "--reason", "a smaller index, agreed in #12")


def _check_recorded(date: str, *options: str) -> None:
    code = _do(["check", "--record", *options], "--date", date)
    say(f"(exit code {code})\n\n")


def _accept(date: str, *options: str, gap: str = "") -> None:
    _do(["baseline", "accept", *options], "--commit", "none", "--date", date, gap=gap)
    say("\n")


def _do(words: Sequence[str], *unprinted: str, gap: str = "", endpoint: Endpoint | None = None) -> int:
    """Print a command, and do it in this process with these further options; its exit code."""
    say(f"  $ {shlex.join(['rankgate', *words])}\n{gap}")
    command = import_module(f"rankgate.cli.{words[0]}")
    arguments = command.parser().parse_args([*words[1:], *unprinted])
    code: int = command.run(arguments, endpoint) if endpoint else command.run(arguments)
    return code


def _copy_example(directory: Path) -> None:
    path = directory.as_posix()
    criteria = directory / "ship-criteria.yaml"
    earlier = criteria.is_file() and criteria.read_bytes().startswith(MARK.encode())
    if directory.is_file() or (directory.is_dir() and any(directory.iterdir()) and not earlier):
        raise bad_input("is not an empty directory, nor one of an earlier demo; name another", file=path)
    content = _example()
    there = [name for name in content if (directory / name).is_file()]
    written = {name: [data] for name, data in content.items()}  # by a demo, each state of a file
    written[SEARCH] += _changed(content[SEARCH])
    changed = ", ".join(name for name in there if (directory / name).read_bytes() not in written[name])
    if changed:
        message = f"holds changed files of an earlier demo ({changed}); name another directory, or remove it"
        raise bad_input(message, file=path)
    for name, data in content.items():
        write_atomic(directory / name, data)
    # The story begins without a baseline, a recorded run and verdicts each time.
    patterns = ("baseline/*/*", "search/baseline/*/*", "search/run.jsonl*", *map(verdicts_beside, RUNS))
    for file in (file for pattern in patterns for file in directory.glob(pattern)):
        if file.is_file():
            file.unlink()


def _changed(code: bytes) -> Iterator[bytes]:
    """The search as each change leaves it."""
    for _, before, after, _ in CHANGES:
        code = code.replace(before.encode(), after.encode())
        yield code


def _example() -> dict[str, bytes]:
    """The files of the example; the package has the text of an article once, and not with every answer."""
    content = {name: EXAMPLE.joinpath(name).read_bytes() for name in FILES}
    texts = {article["id"]: article["text"] for article in map(json.loads, content["articles.jsonl"].splitlines())}
    for name in RUNS:
        lines = list(map(json.loads, content[name].splitlines()))
        for line in lines:
            line["context_texts"] = {article: texts[article] for article in line["context"]}
        content[name] = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    return content


@contextmanager
def _replay() -> Iterator[Endpoint]:
    """A judge that says what was recorded, on a free port of this machine, until the block ends."""
    from rankgate.judge.client import Endpoint

    lines = map(json.loads, EXAMPLE.joinpath("replay.jsonl").read_bytes().splitlines())
    replies = {line["content"]: json.dumps(line["reply"]) for line in lines}
    before = os.environ.get("no_proxy")
    with _Server(("127.0.0.1", 0), partial(_Reply, replies)) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            os.environ["no_proxy"] = "127.0.0.1"  # a proxy of the user would look for it on its own machine
            yield Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1", key="")
        finally:
            os.environ.pop("no_proxy")
            os.environ.update({} if before is None else {"no_proxy": before})
            server.shutdown()
            thread.join()


class _Server(TCPServer):
    """One connection after the other. A request that is none gets no answer, and nobody is told."""

    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """As the class says."""


class _Reply(BaseHTTPRequestHandler):
    """The reply recorded for the content of a question; 422 where there is none, so that nothing is made up."""

    timeout = SECONDS
    wbufsize = -1  # one write, so that no half of it waits for an acknowledgement of the other

    def __init__(self, replies: Mapping[str, str], *connection: Any) -> None:
        self._replies = replies
        super().__init__(*connection)

    def do_POST(self) -> None:
        """A completion of the OpenAI API."""
        body = json.loads(self.rfile.read(max(0, min(int(self.headers["Content-Length"]), MAX_BYTES))))
        content = hashlib.sha256(body["messages"][1]["content"].encode()).hexdigest()
        reply = self._replies.get(content[:16])
        choice = {"message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 0, "completion_tokens": 0}
        completion = {"model": body["model"], "choices": [choice], "usage": usage}
        self.send_response(200 if reply else 422)
        self.end_headers()
        self.wfile.write(json.dumps(completion if reply else {"error": {"message": "this was not recorded"}}).encode())

    def log_message(self, format: str, *values: Any) -> None:  # noqa: A002 -- as inherited
        """Nothing is logged."""
