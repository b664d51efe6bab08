"""Finding the user's function: what `module:function` may say, and what is said when it is wrong."""

import functools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankgate.collecting.retriever import failure, is_async, load_retriever, name_of
from rankgate.errors import RankgateError

SEARCH = """\
import functools

class Index:
    def __init__(self, name):
        self.name = name
    def retrieve(self, question):
        return [self.name, question]
    @property
    def closed(self):
        raise ValueError("the index is closed")

index = Index("main")
answer = 42

def retrieve(question):
    return [question]

def fail(question):
    return parse(question)

def parse(question):
    import json
    return json.loads(question)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `my_app` in the current directory, forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    directory = tmp_path / "my_app"
    directory.mkdir()
    (directory / "__init__.py").touch()
    for file in (directory / "search.py", tmp_path / "search.py"):
        file.write_text(SEARCH, encoding="utf-8")
    yield directory
    for name in [name for name in sys.modules if name.split(".")[0] == "my_app"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("spec", "returned"),
    [
        pytest.param("my_app.search:retrieve", ["x"], id="a function"),
        pytest.param("my_app.search:index.retrieve", ["main", "x"], id="a dotted attribute"),
    ],
)
def test_found_in_the_current_directory(package: Path, spec: str, returned: list[str]) -> None:
    assert load_retriever(spec)("x") == returned


@pytest.mark.parametrize(
    ("spec", "message"),
    {
        "my_app.search": "'my_app.search' is not module:function, as in my_app.search:retrieve",
        "my_app.search:": "'my_app.search:' is not module:function",
        ".search:retrieve": "'.search:retrieve' is not module:function",
        "my_app/search.py:retrieve": (
            "'my_app/search.py:retrieve' is not module:function, as in my_app.search:retrieve; "
            "did you mean 'my_app.search:retrieve'?"
        ),
        "search.py:retrieve": "'search.py:retrieve' is not module:function, as in my_app.search:retrieve; "
        "did you mean 'search:retrieve'?",
        "my_ap.search:retrieve": (
            "no module named 'my_ap', neither in the current directory nor installed; did you mean 'my_app'?"
        ),
        "my_app.serch:retrieve": "no module named 'my_app.serch', neither in the current directory nor installed; "
        "did you mean 'my_app.search'?",
        "my_app.search.deeper:retrieve": "no module named 'my_app.search.deeper'",
        "my_app.search:retreive": "my_app.search has no attribute 'retreive'; did you mean 'retrieve'?",
        "my_app.search:index.retreive": "my_app.search.index has no attribute 'retreive'; did you mean 'retrieve'?",
        "my_app.search:answer": "my_app.search:answer is 42 (type int), not a function",
        "my_app.search:Index": "my_app.search:Index is a class; name a function",
    }.items(),
)
def test_a_wrong_name_is_one_error(package: Path, spec: str, message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        load_retriever(spec)
    assert str(caught.value).startswith(f"--retriever: {message}")
    assert len(caught.value.problems) == 1


def test_a_package_under_src_is_pointed_at(package: Path) -> None:
    Path("src", "other_app").mkdir(parents=True)
    with pytest.raises(RankgateError, match="; src/other_app exists: install the project or set PYTHONPATH=src"):
        load_retriever("other_app.search:retrieve")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        pytest.param(
            "\nimport no_such_library", "ModuleNotFoundError: No module named 'no_such_library'", id="missing library"
        ),
        pytest.param("\nfrom json import nothing", "ImportError: cannot import name 'nothing' from 'json'", id="name"),
        pytest.param("\nraise ValueError('no\\n  key')", "ValueError: no key", id="its own error, on one line"),
        pytest.param("\ndef (", "SyntaxError: ", id="syntax"),
        pytest.param("\nraise SystemExit(0)", "SystemExit: 0", id="it exits"),
    ],
)
def test_an_error_of_the_module_itself_is_shown_with_its_place(package: Path, code: str, error: str) -> None:
    (package / "broken.py").write_text(code, encoding="utf-8")
    with pytest.raises(RankgateError) as caught:
        load_retriever("my_app.broken:retrieve")
    assert str(caught.value).startswith(f"my_app/broken.py:2: --retriever: importing my_app.broken failed: {error}")


def test_an_error_of_a_property_is_shown_with_its_place(package: Path) -> None:
    with pytest.raises(RankgateError) as caught:
        load_retriever("my_app.search:index.closed")
    assert str(caught.value) == (
        "my_app/search.py:10: --retriever: reading my_app.search.index.closed failed: ValueError: the index is closed"
    )


def test_a_failure_names_the_innermost_line_of_the_users_code(package: Path) -> None:
    retrieve = load_retriever("my_app.search:fail")
    with pytest.raises(ValueError, match="Expecting property name") as caught:
        retrieve("{")  # fails within the standard library
    assert str(failure("q-1", caught.value)).startswith(
        "my_app/search.py:23: q-1: JSONDecodeError: Expecting property name enclosed in double quotes"
    )


def test_a_failure_outside_of_the_users_code_names_the_innermost_line() -> None:
    with pytest.raises(ValueError, match="Expecting value") as caught:
        json.loads("")
    inner = caught.value.with_traceback(caught.tb.tb_next)  # without the line above
    place = failure("q-1", inner)
    assert place.file is not None
    assert place.file.endswith("json/decoder.py")


class Mute(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(ValueError("a\n\tb"), "ValueError: a b", id="on one line"),
        pytest.param(ValueError(), "ValueError", id="no message"),
        pytest.param(ValueError("x" * 1000), f"ValueError: {'x' * 287}…", id="cut"),
        pytest.param(Mute(), "Mute", id="a message that fails itself"),
    ],
)
def test_a_failure_is_one_line(error: BaseException, message: str) -> None:
    assert failure("q-1", error).message == message


async def search(question: str, k: int = 1) -> list[str]:
    return [question]


async def stream(question: str) -> Any:
    yield question


def plain(question: str) -> list[str]:
    return [question]


class Callable:
    async def __call__(self, question: str) -> list[str]:
        return [question]

    async def method(self, question: str) -> list[str]:
        return [question]


@pytest.mark.parametrize(
    ("retrieve", "awaited", "name"),
    [
        pytest.param(plain, False, "plain", id="function"),
        pytest.param(functools.partial(plain), False, "plain", id="partial"),
        pytest.param(search, True, "search", id="async function"),
        pytest.param(stream, True, "stream", id="async generator"),
        pytest.param(functools.partial(functools.partial(search), k=2), True, "search", id="partial of async"),
        pytest.param(Callable(), True, "Callable", id="async callable"),
        pytest.param(functools.partial(Callable()), True, "Callable", id="partial of async callable"),
        pytest.param(Callable().method, True, "Callable.method", id="async method"),
    ],
)
def test_sync_and_async_are_told_apart_and_named(retrieve: Any, awaited: bool, name: str) -> None:  # noqa: FBT001
    assert is_async(retrieve) is awaited
    assert name_of(retrieve) == f"{__name__}:{name}"
