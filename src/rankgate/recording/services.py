"""Retrievers outside of this process: an address that answers in JSON, or a command that writes it.

Keys come from the environment alone, and are blotted out of what a server answers. No shell gets a question.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from math import inf
from pathlib import Path
from signal import SIGKILL, Signals
from tempfile import TemporaryFile
from time import monotonic, time
from typing import Any
from urllib.parse import quote

from rankgate.errors import Problem, bad_input, did_you_mean, on_one_line, shown
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.mapping import MISSING, MissingNameError, names_of
from rankgate.recording.retriever import CallError, Service, StopError

MAX_BYTES = 16_000_000  # of one answer
MAX_WAIT = 120.0  # seconds; a server that asks for more is not waited for
_GRACE_SECONDS = 5.0  # from the end of a command's output to its own
_SHOWN = 200  # characters of what a server says of a refusal, or a command on standard error
_SHORTEST_SECRET = 8  # a shorter one is a word that may stand anywhere
_ADDRESS = re.compile(
    r"https?://([^][\s\\@/?#{}:]+|\[[\da-fA-F:.]+])(:\d{1,5})?(/([^\s\\@?#{%]|%(?=[\dA-Fa-f]{2}))*)?(\?([^#%]|%(?=[\dA-Fa-f]{2}))*)?"
)
_ENVIRONMENT = re.compile(r"(?<!\S)env:(\w+)(?!\S)", re.ASCII)
_HEADER = re.compile(r"([!#$%&'*+.^`|~\w-]+):\s*((?:(?!\{\{)[ -~])*)", re.ASCII)
_OURS = {"accept-encoding", "connection", "content-length", "content-type", "transfer-encoding"}
# Names of headers with a word that ends like this hold a key, and so do values that begin like this.
_NAMES = "auth|authorization|cookie|credentials?|jwt|key|password|secret|session|token"
_SECRET = re.compile(rf"[^:]*({_NAMES})(?![a-z])|[^:]*:\s*(basic|bearer|apikey|token)\s", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)

# By `results`, `chunk_id`, `score`, `text`, `doc_id`: keys and, for lists, positions from 0, joined by dots.
Paths = Mapping[str, str]
Send = Callable[[str, str, bytes | None], Any]  # method, address, body: as `forges.http.exchange`


def run_line_of(value: Any, paths: Paths) -> Any:
    """The run line of an answer: with the list that a path leads to, or itself where it has `topk`.

    Each result has the id, and at least one the score, the text and the document that paths lead to. Null is absent. A
    CallError where a path leads to nothing, or to no list: it says which keys there are.
    """
    line = value if "results" not in paths and isinstance(value, dict) and "topk" in value else {}
    path = "topk" if line else paths.get("results", "")
    found = _at(value, path) if path else value
    if found is MISSING:
        raise _missing(path, "the answer", value)
    if not isinstance(found, list):
        what = f"the answer's {path} is no list" if path else "the answer is no list; --results says where in it one is"
        raise CallError(f"{what} (found: {', '.join(names_of(found))[:_SHOWN] or json.dumps(found)[:_SHOWN]})")
    keys = [key for key in paths if key != "results"]
    items = [{key: _at(item, paths[key]) for key in keys} for item in found]
    for key in keys:
        lacking = [at for at, item in enumerate(items) if item[key] is MISSING]
        if lacking and (key == "chunk_id" or len(lacking) == len(items)):
            raise _missing(paths[key], f"result {lacking[0] + 1}", found[lacking[0]])
    stated = [{key: each for key, each in item.items() if each not in (None, MISSING)} for item in items]
    return {**line, "topk": stated if keys else found}


def _at(value: Any, path: str) -> Any:
    if isinstance(value, list):
        first, dot, rest = path.partition(".")
        inner = value[int(first)] if re.fullmatch("[0-9]{1,9}", first) and int(first) < len(value) else MISSING
        return _at(inner, rest) if dot else inner
    known = value if isinstance(value, dict) else {}
    ends = [dot.start() for dot in re.finditer(r"\.", path) if path[: dot.start()] in known]
    found = [known[path]] if path in known else [_at(known[path[:end]], path[end + 1 :]) for end in ends]
    return next((each for each in found if each is not MISSING), MISSING)


def _missing(path: str, where: str, value: Any) -> CallError:
    return CallError(str(MissingNameError("", path, where, names_of(value))))


def _answer_of(data: bytes) -> Any:
    try:
        return strict_json(data)
    except JsonError as error:
        page = "HTML, no JSON" if data.lstrip()[:1] == b"<" else f"no JSON: {error}"
        raise CallError(f"the answer is {page if data.strip() else 'empty'}", again=True) from error


def headers_of(written: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Headers from `NAME: VALUE` words, and the secrets in them: each word `env:VARIABLE` is what the environment has.

    A RankgateError where a word is no header or one that is set here, a key is written out, no variable has it, or
    `env:` stands within a word of the value, where it would be sent as it is.
    """
    headers: dict[str, str] = {}
    secrets: list[str] = []
    for word in written:
        parts = _HEADER.fullmatch(word.strip())
        if parts is None or parts[1].lower() in {*_OURS, *map(str.lower, headers)}:
            raise bad_input("is no 'NAME: VALUE' in ASCII without {{…}}, or set twice or by rankgate", key="--header")
        variables = _ENVIRONMENT.findall(parts[2])
        if re.search(r"\benv:\w", _ENVIRONMENT.sub("", parts[2])):
            what = "fills in env:VARIABLE only as a word of its own; put the whole word into a variable"
            raise bad_input(f"{parts[1]} {what}", key="--header")
        if _SECRET.match(word) and not variables:
            hint = f"write '{parts[1]}: env:VARIABLE' or '{parts[1]}: Bearer env:VARIABLE' and set that variable"
            raise bad_input(f"{parts[1]} has a key, which logs would show; {hint}", key="--header")
        for variable in variables:
            secrets.append(os.environ.get(variable, ""))
            if not re.fullmatch("[!-~]+", secrets[-1]):
                raise bad_input(f"{variable} of the environment is not set, or holds what no key has", key="--header")
        headers[parts[1]] = _ENVIRONMENT.sub(lambda found: os.environ[found[1]], parts[2])
    return headers, [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]


class HttpService(Service):
    """One request a question, which goes into texts of the JSON body, or into the query of the address.

    Without a method it is GET, with a body POST. A RankgateError where one of them cannot be used, or has no question.
    """

    def __init__(
        self, url: str, method: str | None, body: str | None, paths: Paths, send: Send, secrets: Sequence[str] = ()
    ) -> None:
        self.system = url.partition("?")[0]
        if not _ADDRESS.fullmatch(url):
            what = "is no address such as https://host/search, with {{question}} after a ?, no user, and a % as %25"
            empty = "; it begins with a path: is a variable before that empty?" if url.startswith("/") else ""
            raise bad_input(what + empty, key="--url")
        try:
            self._body = None if body is None else json.dumps(strict_json(body))
        except JsonError as error:
            file = '; of a file it is --body "$(cat FILE)"' if (body or "").startswith("@") else ""
            raise bad_input(f'is not JSON, with "{{{{question}}}}" in quotes: {error}{file}', key="--body") from error
        names = {name.strip() for name in _TEMPLATE.findall(f"{url} {self._body}")}
        for name in sorted(names - {"question", "query_id"}):
            hint = did_you_mean(name, ("question", "query_id")) or "; there are {{question}} and {{query_id}}"
            raise bad_input(f"nothing is filled in for {{{{{name}}}}}{hint}", key="--url or --body")
        if re.search(r"[=&?]env:\w", url):
            raise bad_input("env:VARIABLE is filled into --header alone: an address stands in logs", key="--url")
        if "question" not in names:
            raise bad_input("has no {{question}}, nor has --body: all would get one answer", key="--url")
        self._url, self._paths, self._send, self._secrets = url, paths, send, secrets
        self._method = method or ("GET" if body is None else "POST")
        self._forbidden = self._answered = False

    def __call__(self, question: Any, /) -> Any:
        """The results of one question; 401 ends the recording, and so does a second 403 before any answer."""
        texts = {"question": question.text, "query_id": question.query_id}
        url = _TEMPLATE.sub(lambda at: quote(texts[at[1].strip()], safe="", errors="surrogatepass"), self._url)
        body = _TEMPLATE.sub(lambda at: json.dumps(texts[at[1].strip()])[1:-1], self._body or "").encode() or None
        answer = self._send(self._method, url, body)
        if not hasattr(answer, "status"):
            why = f"no answer that can be used: {answer.why}, at {self.system}"
            raise CallError(why, again=answer.failure.value != "unusable")
        status, said = answer.status, f"the server answered {answer.status}"
        forbidden = status == 403 and not (self._answered or question.resumed)  # noqa: PLR2004
        if status == 401 or (forbidden and self._forbidden):  # noqa: PLR2004
            what = "refuses the key of --header" if self._secrets else "wants a key: --header 'NAME: env:VARIABLE'"
            raise StopError([Problem(f"{self.system}: {said}, it {what}")])
        self._forbidden |= forbidden
        if answer.succeeded:
            self._answered = True
            return run_line_of(self._plain(answer.body), self._paths)
        if status < 400:  # noqa: PLR2004 -- refusals begin there
            raise CallError(f"{said}, a redirect, which is not followed; give the address that it leads to")
        with suppress(CallError):
            said += f": {on_one_line(json.dumps(self._plain(answer.body), ensure_ascii=False)[:_SHOWN])}"
        asked = answer.headers.get("retry-after", "").strip()
        with suppress(ValueError, OverflowError):  # no date
            asked = f"{max(0.0, parsedate_to_datetime(asked).timestamp() - time()):.0f}"
        wait = float(asked[:9]) if asked.isdecimal() else None
        if wait is not None and wait > MAX_WAIT:
            raise CallError(f"the server asks to wait {wait:.0f} s, longer than {MAX_WAIT:.0f} s; {said}")
        limited = status == 429 or (status == 503 and wait is not None)  # noqa: PLR2004 -- as servers limit rates
        raise CallError(said, again=status == 429 or status >= 500, wait=(wait or 0.0) if limited else None)  # noqa: PLR2004

    def _plain(self, data: bytes) -> Any:
        """JSON without the secrets, however they are escaped in it."""
        value = _answer_of(data)
        for secret in self._secrets:
            value = json.loads(json.dumps(value).replace(json.dumps(secret)[1:-1], "***"))
        return value


class Command(Service):
    """A command that gets one question a process, and as many seconds."""

    def __init__(self, command: str, paths: Paths, seconds: float = inf) -> None:
        """Nothing is started yet; a RankgateError where there is no such program."""
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise bad_input(f"the command cannot be split into words: {str(error).lower()}") from error
        if not self._words or not shutil.which(self._words[0]) or not hasattr(os, "killpg"):
            raise bad_input(f"the command has no program that can be run: {shown(' '.join(self._words[:1]))}")
        if {"|", "||", "&&", ";", "<", ">"} & {*self._words}:
            raise bad_input("no shell runs the command, for pipes and the like; put them into a script")
        self._paths, self._seconds = paths, seconds
        self.files = tuple(word for word in self._words if Path(word).is_file())
        self.system = shlex.join(dict.fromkeys([self._words[0], *self.files]))  # of the other words one may be a key
        self._groups: set[int] = set()

    def __call__(self, question: Any, /) -> Any:
        """The results of one question, the JSON that a process writes; one that does not exit with 0 has none."""
        return run_line_of(_answer_of(self._output_for(question)), self._paths)

    def close(self) -> None:
        """End every process that still runs, with what it started."""
        for group in self._groups.copy():
            _end(group)

    def _output_for(self, question: Any) -> bytes:
        """What the process writes; a CallError where it fails, with the end of its log."""
        with TemporaryFile() as asked, TemporaryFile() as log:  # files, so that neither of the two waits for the other
            asked.write(json.dumps({"query_id": question.query_id, "question": question.text}).encode() + b"\n")
            asked.seek(0)
            how: dict[str, Any] = {"stdin": asked, "stdout": subprocess.PIPE, "stderr": log, "start_new_session": True}
            with subprocess.Popen(self._words, **how) as process:  # noqa: S603 -- what the user gave
                self._groups.add(process.pid)
                try:
                    return self._output(process)
                except CallError as error:
                    log.seek(max(0, log.seek(0, os.SEEK_END) - _SHOWN))
                    text = on_one_line(" ".join(log.read().decode(errors="replace").split()))
                    raise CallError(f"{error}; its log ends in: {text or 'nothing'}", again=True) from error
                finally:
                    _end(process.pid)
                    self._groups.discard(process.pid)

    def _output(self, process: subprocess.Popen[bytes]) -> bytes:
        output, found, end = process.stdout.fileno(), bytearray(), monotonic() + self._seconds  # type: ignore[union-attr]
        while True:
            if not select.select([output], [], [], min(86_400.0, max(0.0, end - monotonic())))[0]:
                raise CallError(f"the command wrote nothing more within {self._seconds:g} s")
            chunk = os.read(output, 65_536)
            found += chunk
            if len(found) > MAX_BYTES:
                raise CallError("the command wrote more than 16 MB a question")
            if not chunk:
                break
        with suppress(subprocess.TimeoutExpired):  # it goes on without any output
            if code := process.wait(_GRACE_SECONDS):
                raise CallError(f"the command ended by {Signals(-code).name if code < 0 else f'exit code {code}'}")
        return bytes(found)


def _end(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # there is none any more
        os.killpg(group, SIGKILL)
