"""The user's retriever: a function or object by name, an address that answers in JSON, or a command that writes it.

Keys come from the environment alone, and are blotted out of what a server answers. No shell gets a question. What is
written of a service was checked where it was read.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import pkgutil
import re
import selectors
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from signal import SIGKILL, Signals
from tempfile import TemporaryFile
from time import monotonic, time
from types import ModuleType
from typing import Any
from urllib.parse import quote

from rankgate.collecting.waits import MAX_WAIT, seconds_until
from rankgate.errors import Problem, RankgateError, bad_input, did_you_mean, on_one_line, shown
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.results import described

MAX_BYTES = 16_000_000  # of one answer
_GRACE_SECONDS = 5.0  # from the end of a command's output to its own
_SHOWN = 200  # characters of what a server says of a refusal, or a command on standard error
_TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_FLAG = "--retriever"
_LONGEST_MESSAGE = 300
_OURS = Path(__file__).parents[1]
_STANDARD_LIBRARY = Path(os.__file__).parent
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_METHODS = ("invoke", "retrieve", "run", "ainvoke", "aretrieve")


Retrieve = Callable[[str], Any]


Send = Callable[[str, str, bytes | None], Any]  # method, address, body: as `forges.http.exchange`


class Service:
    """A retriever outside of this process, called with the whole `Question`; no run may replace its `files`."""

    system: str
    files: tuple[str, ...] = ()

    def __call__(self, question: Any, /) -> Any: ...  # noqa: D102


class CallError(Exception):
    """A call failed, as its text says; it may be repeated if `again`, or after the `wait` that was asked for."""

    def __init__(self, message: str, *, again: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.again = again
        self.wait = wait


class StopError(RankgateError):
    """No call can succeed, for one reason."""


def load_retriever(spec: str) -> Retrieve:
    """Import what `module:function` names, looking in the current directory first, which stays on `sys.path`.

    The part after the colon may be dotted (`my_app.search:index.retrieve`). Of an object that cannot be called it is
    the first that it has of `invoke` (LangChain), `retrieve` (LlamaIndex), `run` (Haystack), `ainvoke`, `aretrieve`.

    Raises:
        RankgateError: no such module or attribute (the nearest is suggested), nothing that can be called, or the
            module's own code fails on import; then the message is its own, with its file and line.
    """
    module_name, _, attributes = spec.partition(":")
    is_file = "/" in module_name or Path(module_name).is_file()
    if is_file or not all(module_name.split(".")) or not all(attributes.split(".")):
        near = module_name.removesuffix(".py").strip("./").replace("/", ".")
        hint = f"; did you mean {f'{near}:{attributes}'!r}?" if near != module_name and attributes else ""
        raise bad_input(f"{spec!r} is not module:function, as in my_app.search:retrieve{hint}", key=_FLAG)
    function: Any = _imported(module_name)
    path = module_name
    for name in attributes.split("."):
        function = _attribute(function, name, path)
        path += f".{name}"
    if isinstance(function, type):
        raise bad_input(f"{spec} is a class; name a function, an instance or a method of one", key=_FLAG)
    if not callable(function):
        method: Any = next(filter(callable, (getattr(function, name, None) for name in _METHODS)), None)
        if method is None:
            raise bad_input(
                f"{spec} is {described(function)}, not a function, and has no invoke or retrieve", key=_FLAG
            )
        function = functools.partial(_documents, method) if method.__name__ == "run" else method
    retrieve: Retrieve = function
    return retrieve


def _imported(name: str) -> ModuleType:
    here = str(Path.cwd())
    if sys.path[:1] != [here]:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise _no_module(missing, here) from error
        raise _broken(f"importing {name} failed", error) from error


def _no_module(missing: str, here: str) -> RankgateError:
    parent, _, _ = missing.rpartition(".")
    places = getattr(sys.modules.get(parent), "__path__", [here])
    known = [f"{parent}.{module.name}" if parent else module.name for module in pkgutil.iter_modules(places)]
    hint = did_you_mean(missing, known)
    source = Path("src", *missing.split("."))
    if not hint and (source.is_dir() or source.with_suffix(".py").is_file()):
        hint = f"; {source.as_posix()} exists: install the project or set PYTHONPATH=src"
    return bad_input(f"no module named {missing!r}, neither in the current directory nor installed{hint}", key=_FLAG)


def _attribute(owner: Any, name: str, path: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError as error:
        if _location(error)[0] is None:  # raised by getattr itself, not by code of the user's
            hint = did_you_mean(name, [known for known in dir(owner) if not known.startswith("_")])
            raise bad_input(f"{path} has no attribute {name!r}{hint}", key=_FLAG) from error
        raise _broken(f"reading {path}.{name} failed", error) from error
    except Exception as error:
        raise _broken(f"reading {path}.{name} failed", error) from error


def _broken(what: str, error: BaseException) -> RankgateError:
    problem = failure(None, error)
    return bad_input(f"{what}: {problem.message}", file=problem.file, line=problem.line, key=_FLAG)


def _documents(run: Any, question: str) -> Any:
    """What a component of Haystack finds for a `query`, or a pipeline for each text that it requires."""
    if "data" not in inspect.signature(run).parameters:
        outputs = {"": run(query=question)}
    else:
        inputs = [each for sockets in run.__self__.inputs().values() for each in sockets.items()]
        outputs = run({name: question for name, about in inputs if about["is_mandatory"] and about["type"] is str})
    lists = [each["documents"] for each in outputs.values() if isinstance(each, Mapping) and "documents" in each]
    if len(lists) != 1:
        raise CallError(f"{len(lists)} outputs have documents; name a function that returns those of one")
    return lists[0]


def name_of(retrieve: Retrieve) -> str:
    """`module:function` of a function, or of the type of a callable object, as far as it can be told."""
    bare = _bare(retrieve)
    named = bare if hasattr(bare, "__qualname__") else type(bare)
    return f"{named.__module__}:{named.__qualname__}"


def is_async(retrieve: Retrieve) -> bool:
    """Whether a call must be awaited: an async function or generator, also inside a partial or as `__call__`."""
    bare = _bare(retrieve)
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(kind(bare) or kind(type(bare).__call__) for kind in kinds)


def _bare(retrieve: Any) -> Any:
    while isinstance(retrieve, functools.partial):
        retrieve = retrieve.func
    return retrieve


def failure(query_id: str | None, error: BaseException) -> Problem:
    """An error of the user's code as `file:line: query: Type: message`, cut to one line.

    The place is the innermost line that is neither rankgate's, nor an installed package's, nor the standard library's;
    where there is none, the innermost line that is not rankgate's. A CallError is its text alone.
    """
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 -- the user's own __str__
        text = ""
    known = isinstance(error, CallError)
    message = ": ".join(filter(None, ["" if known else type(error).__name__, text]))
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[: _LONGEST_MESSAGE - 1]}…"
    if known:
        return Problem(message, key=query_id)
    file, line = _location(error)
    return Problem(message, file, line, query_id)


def _location(error: BaseException) -> tuple[str | None, int | None]:
    if isinstance(error, SyntaxError) and error.filename:
        return _written(Path(error.filename)), error.lineno
    position: tuple[str | None, int | None] = (None, None)
    in_user_code = False
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        library = file.is_relative_to(_STANDARD_LIBRARY) or not _INSTALLED.isdisjoint(file.parts)
        if file.is_absolute() and not file.is_relative_to(_OURS) and not (library and in_user_code):
            position = (_written(file), line)
            in_user_code = in_user_code or not library
    return position


def _written(file: Path) -> str:
    here = Path.cwd()
    return (file.relative_to(here) if file.is_relative_to(here) else file).as_posix()


class HttpService(Service):
    """One request a question, which goes into texts of the JSON body, or into the query of the address."""

    def __init__(self, url: str, method: str | None, body: Any, send: Send, secrets: Sequence[str] = ()) -> None:
        self.system = url.partition("?")[0]
        self._url = url
        self._send = send
        self._secrets = secrets
        self._body = "" if body is None else json.dumps(body)
        self._method = method or ("GET" if body is None else "POST")
        self._forbidden = False
        self._answered = False

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
            result = self._plain(answer.body)
            if why := _incomplete(result):
                raise CallError(f"the answer has only a part of the results: {why}", again=True)
            return result
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


def _incomplete(result: Any) -> str:
    """What Elasticsearch or OpenSearch says where it answers with 200 before all shards have; nothing elsewhere."""
    if not isinstance(result, Mapping) or "hits" not in result:
        return ""
    shards = result.get("_shards")
    failed = shards.get("failed") if isinstance(shards, Mapping) else None
    if result.get("timed_out") is True:
        return "timed_out is true"
    return f"_shards.failed is {failed}" if isinstance(failed, int) and failed > 0 else ""


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


def _answer_of(data: bytes) -> Any:
    try:
        return strict_json(data)
    except JsonError as error:
        page = "HTML, no JSON" if data.lstrip()[:1] == b"<" else f"no JSON: {error}"
        raise CallError(f"the answer is {page if data.strip() else 'empty'}", again=True) from error
