"""Retrievers outside of this process: an address that answers in JSON, or a command that writes it.

Keys come from the environment alone, and are blotted out of what a server answers. No shell gets a question. What is
written of a retriever was checked where it was read.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from signal import SIGKILL, Signals
from tempfile import TemporaryFile
from time import monotonic, time
from typing import Any
from urllib.parse import quote

from rankgate.collecting.retriever import CallError, Service, StopError
from rankgate.collecting.waits import MAX_WAIT, seconds_until
from rankgate.errors import Problem, bad_input, on_one_line, shown
from rankgate.readers.json_text import JsonError, strict_json

MAX_BYTES = 16_000_000  # of one answer
_GRACE_SECONDS = 5.0  # from the end of a command's output to its own
_SHOWN = 200  # characters of what a server says of a refusal, or a command on standard error
_TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)

Send = Callable[[str, str, bytes | None], Any]  # method, address, body: as `forges.http.exchange`


def _answer_of(data: bytes) -> Any:
    try:
        return strict_json(data)
    except JsonError as error:
        page = "HTML, no JSON" if data.lstrip()[:1] == b"<" else f"no JSON: {error}"
        raise CallError(f"the answer is {page if data.strip() else 'empty'}", again=True) from error


class HttpService(Service):
    """One request a question, which goes into texts of the JSON body, or into the query of the address."""

    def __init__(self, url: str, method: str | None, body: Any, send: Send, secrets: Sequence[str] = ()) -> None:
        self.system = url.partition("?")[0]
        self._url = url
        self._send = send
        self._secrets = secrets
        self._body = "" if body is None else json.dumps(body)
        self._method = method or ("GET" if body is None else "POST")
        self._forbidden = self._answered = False

    def __call__(self, question: Any, /) -> Any:
        """The answer to one question; 401 ends the recording, and so does a second 403 before any answer."""
        texts = {"question": question.text, "query_id": question.query_id}
        url = _TEMPLATE.sub(lambda at: quote(texts[at[1].strip()], safe="", errors="surrogatepass"), self._url)
        body = _TEMPLATE.sub(lambda at: json.dumps(texts[at[1].strip()])[1:-1], self._body).encode() or None
        answer = self._send(self._method, url, body)
        if not hasattr(answer, "status"):
            why = f"no answer that can be used: {answer.why}, at {self.system}"
            raise CallError(why, again=answer.failure.value != "unusable")
        status = answer.status
        refusal = f"the server answered {status}"
        forbidden = status == 403 and not (self._answered or question.resumed)  # noqa: PLR2004
        if status == 401 or (forbidden and self._forbidden):  # noqa: PLR2004
            what = "refuses the key" if self._secrets else "wants a key: retriever: {headers: {NAME: ${VARIABLE}}}"
            raise StopError([Problem(f"{self.system}: {refusal}, it {what}")])
        self._forbidden |= forbidden
        if answer.succeeded:
            self._answered = True
            return self._plain(answer.body)
        if status < 400:  # noqa: PLR2004 -- refusals begin there
            raise CallError(f"{refusal}, a redirect, which is not followed; give the address that it leads to")
        with suppress(CallError):
            refusal += f": {on_one_line(json.dumps(self._plain(answer.body), ensure_ascii=False)[:_SHOWN])}"
        wait = seconds_until(answer.headers.get("retry-after", ""), time())
        if wait is not None and wait > MAX_WAIT:
            raise CallError(f"the server asks to wait {wait:.0f} s, longer than {MAX_WAIT:.0f} s; {refusal}")
        limited = status == 429 or (status == 503 and wait is not None)  # noqa: PLR2004 -- as servers limit rates
        raise CallError(refusal, again=status == 429 or status >= 500, wait=max(wait or 0.0, 0.0) if limited else None)  # noqa: PLR2004

    def _plain(self, data: bytes) -> Any:
        """JSON without the secrets, however they are escaped in it."""
        value = _answer_of(data)
        for secret in self._secrets:
            value = json.loads(json.dumps(value).replace(json.dumps(secret)[1:-1], "***"))
        return value


class Command(Service):
    """A command that gets one question a process, and as many seconds."""

    def __init__(self, command: str, seconds: float = inf) -> None:
        """Nothing is started yet; a RankgateError where there is no such program."""
        self._words = shlex.split(command)
        if not shutil.which(self._words[0]) or not hasattr(os, "killpg"):
            raise bad_input(f"the command has no program that can be run: {shown(self._words[0])}", key="--command")
        self._seconds = seconds
        self.files = tuple(word for word in self._words if Path(word).is_file())
        self.system = shlex.join(dict.fromkeys([self._words[0], *self.files]))  # of the other words one may be a key
        self._groups: set[int] = set()

    def __call__(self, question: Any, /) -> Any:
        """The answer to one question, the JSON that a process writes; one that does not exit with 0 has none."""
        return _answer_of(self._output_for(question))

    def close(self) -> None:
        """End every process that still runs, with what it started."""
        for group in self._groups.copy():
            _end(group)

    def _output_for(self, question: Any) -> bytes:
        """What the process writes; a CallError where it fails, with the end of its log."""
        # Files, so that neither of the two waits for the other.
        with TemporaryFile() as question_file, TemporaryFile() as log:
            question_file.write(json.dumps({"query_id": question.query_id, "question": question.text}).encode() + b"\n")
            question_file.seek(0)
            how: dict[str, Any] = {
                "stdin": question_file,
                "stdout": subprocess.PIPE,
                "stderr": log,
                "start_new_session": True,
            }
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
        output = process.stdout.fileno()  # type: ignore[union-attr]
        content = bytearray()
        end = monotonic() + self._seconds
        with selectors.DefaultSelector() as readable:  # which knows no largest number of open files
            readable.register(output, selectors.EVENT_READ)
            while True:
                if not readable.select(min(86_400.0, max(0.0, end - monotonic()))):
                    raise CallError(f"the command wrote nothing more within {self._seconds:g} s")
                chunk = os.read(output, 65_536)
                content += chunk
                if len(content) > MAX_BYTES:
                    raise CallError("the command wrote more than 16 MB a question")
                if not chunk:
                    break
        with suppress(subprocess.TimeoutExpired):  # it goes on without any output
            if code := process.wait(_GRACE_SECONDS):
                raise CallError(f"the command ended by {Signals(-code).name if code < 0 else f'exit code {code}'}")
        return bytes(content)


def _end(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # there is none any more
        os.killpg(group, SIGKILL)
