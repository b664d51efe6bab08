"""The user's function, object or service: how it is named, imported and called, and how it fails."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rankgate.errors import Problem, RankgateError, bad_input, did_you_mean
from rankgate.readers.results import described

Retrieve = Callable[[str], Any]


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


_FLAG = "--retriever"
_LONGEST_MESSAGE = 300
_OURS = Path(__file__).parents[1]
_STANDARD_LIBRARY = Path(os.__file__).parent
_INSTALLED = frozenset({"site-packages", "dist-packages"})


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


_METHODS = ("invoke", "retrieve", "run", "ainvoke", "aretrieve")


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
    return Problem(message, *((None, None) if known else _place(error)), query_id)


def _bare(retrieve: Any) -> Any:
    while isinstance(retrieve, functools.partial):
        retrieve = retrieve.func
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
        if _place(error)[0] is None:  # raised by getattr itself, not by code of the user's
            hint = did_you_mean(name, [known for known in dir(owner) if not known.startswith("_")])
            raise bad_input(f"{path} has no attribute {name!r}{hint}", key=_FLAG) from error
        raise _broken(f"reading {path}.{name} failed", error) from error
    except Exception as error:
        raise _broken(f"reading {path}.{name} failed", error) from error


def _broken(what: str, error: BaseException) -> RankgateError:
    problem = failure(None, error)
    return bad_input(f"{what}: {problem.message}", file=problem.file, line=problem.line, key=_FLAG)


def _place(error: BaseException) -> tuple[str | None, int | None]:
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
