"""Places to keep objects in: a directory, and buckets on a real S3-compatible server."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from tests.baselines.s3_server import s3_server
from tests.conftest import lacking

_NUMBERS = itertools.count(1)
AWS = {
    "AWS_ACCESS_KEY_ID": "AKIATESTKEY",
    "AWS_SECRET_ACCESS_KEY": "SECRET-OF-THE-TEST",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    """The server: one for all tests of a worker, each of which gets a bucket of its own."""
    for package in ("s3fs", "moto", "flask", "flask_cors"):
        if importlib.util.find_spec(package) is None:
            lacking(f"needs {package}, which the extra `dev` installs")
    with s3_server() as address:
        yield address


@pytest.fixture
def s3(s3_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The server, as the one of this test's environment; afterwards its connections are closed.

    Left to itself, s3fs closes them when they are collected, and gives that a tenth of a second: on a busy machine a
    warning about them would then fail whichever test runs at that moment.
    """
    import s3fs
    from fsspec.asyn import sync

    opened: dict[int, Any] = {}
    connect = s3fs.S3FileSystem.set_session

    async def noted(files: Any, *arguments: Any, **options: Any) -> Any:
        found = await connect(files, *arguments, **options)
        opened[id(files._s3creator)] = (files.loop, files._s3creator)
        return found

    monkeypatch.setattr(s3fs.S3FileSystem, "set_session", noted)
    monkeypatch.setattr(s3fs.S3FileSystem, "close_session", staticmethod(lambda loop, creator: None))
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**AWS, "AWS_ENDPOINT_URL": s3_address}.items():
        monkeypatch.setenv(name, value)
    yield s3_address
    for loop, creator in opened.values():
        sync(loop, creator.__aexit__, None, None, None, timeout=300)


@pytest.fixture
def bucket(s3: str) -> str:
    """The name of an empty bucket."""
    name = f"bucket-{next(_NUMBERS)}"
    requests.put(f"{s3}/{name}", timeout=300).raise_for_status()  # the server asks nobody who they are
    return name


@pytest.fixture(params=["file", "memory", pytest.param("s3", marks=pytest.mark.full)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty place, of each kind that is promised to work."""
    if request.param == "file":
        return f"file://{tmp_path}/kept"
    if request.param == "memory":
        return f"memory://{tmp_path.name}-{next(_NUMBERS)}/kept"
    return f"s3://{request.getfixturevalue('bucket')}/teams/search"


@pytest.fixture(params=["file", pytest.param("s3", marks=pytest.mark.full)])
def reached(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty place that other processes reach."""
    return f"file://{tmp_path}/kept" if request.param == "file" else f"s3://{request.getfixturevalue('bucket')}/search"
