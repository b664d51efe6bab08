"""An artifact of a workflow run, found and fetched through a client that plays GitHub's answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from typing import Any

import pytest

from rankgate.errors import RankgateError
from rankgate.forges.artifacts import LIMITS, Limits, download_artifact

LIST = "/repos/acme/rag/actions/runs/55/artifacts"


class Answers:
    """Lists what it is given, in several pages as one, and notes what was asked for."""

    def __init__(self, *artifacts: object) -> None:
        self.artifacts = artifacts
        self.asked: list[tuple[object, ...]] = []

    def pages(self, path: str, params: Mapping[str, str | int] = {}, *, under: str | None = None) -> Iterator[Any]:
        self.asked.append((path, dict(params), under))
        yield from self.artifacts

    def download(self, path: str, limit: int) -> bytes:
        self.asked.append((path, limit))
        return b"zip"


def artifact(number: int, name: str = "rankgate", *, size: object = 100, expired: object = False) -> dict[str, object]:
    return {"id": number, "name": name, "size_in_bytes": size, "expired": expired, "url": "https://api.github.com/x"}


@pytest.mark.parametrize(
    ("artifacts", "found"),
    [
        pytest.param([], None, id="none"),
        pytest.param([artifact(7)], 7, id="one"),
        pytest.param([artifact(6, "coverage"), artifact(7), artifact(8, "rankgate-eu")], 7, id="among others"),
        pytest.param([artifact(8, "Rankgate")], None, id="only another spelling"),
        pytest.param([artifact(7), artifact(9), artifact(8)], 9, id="that of the newest attempt"),
        pytest.param([artifact(7, expired=True), artifact(9)], 9, id="an older one has expired"),
        pytest.param([artifact(7, size=LIMITS.packed)], 7, id="just as large as allowed"),
    ],
)
def test_the_newest_of_the_name_is_fetched(artifacts: list[object], found: int | None) -> None:
    client: Any = Answers(*artifacts)
    with suppress(RankgateError) if found is None else nullcontext():
        download_artifact(client, "acme/rag", 55, "rankgate")
    assert client.asked[0] == (LIST, {"name": "rankgate"}, "artifacts")
    assert [path for path, _ in client.asked[1:]] == (
        [] if found is None else [f"/repos/acme/rag/actions/artifacts/{found}/zip"]
    )


@pytest.mark.parametrize(
    ("artifacts", "message"),
    [
        (
            [artifact(7), artifact(9, expired=True)],
            "rankgate: the artifact of run 55 has expired; run the workflow again",
        ),
        (
            [artifact(7, size=10_000_000_000)],
            "rankgate: the artifact of run 55 has 10,000,000,000 bytes, allowed are 100,000,000",
        ),
        (
            [artifact(7, size="100")],
            "artifacts: GitHub lists an artifact that is none: size_in_bytes: expected a whole number, found text",
        ),
        (
            [artifact(7, size=None)],
            "artifacts: GitHub lists an artifact that is none: size_in_bytes: expected a whole number, found nothing",
        ),
        (
            [artifact(7, "coverage"), 5],
            "artifacts: GitHub lists an artifact that is none: expected a mapping, found a whole number",
        ),
    ],
)
def test_an_artifact_that_is_not_fetched(artifacts: list[object], message: str) -> None:
    client: Any = Answers(*artifacts)
    with pytest.raises(RankgateError) as caught:
        download_artifact(client, "acme/rag", 55, "rankgate")
    assert str(caught.value) == message
    assert len(client.asked) == 1


def test_an_artifact_is_fetched_within_the_limit() -> None:
    client: Any = Answers(artifact(7))
    assert download_artifact(client, "acme/rag", 55, "rankgate", limits=Limits(packed=100)) == b"zip"
    assert client.asked[1:] == [("/repos/acme/rag/actions/artifacts/7/zip", 100)]
    with pytest.raises(RankgateError, match=r"has 100 bytes, allowed are 99$"):
        download_artifact(client, "acme/rag", 55, "rankgate", limits=Limits(packed=99))


def test_an_artifact_that_is_not_there_says_where_to_look() -> None:
    client: Any = Answers(artifact(7, "coverage"))
    with pytest.raises(RankgateError) as caught:
        download_artifact(client, "acme/rag", 55, "rankgate")
    assert str(caught.value) == (
        "rankgate: run 55 left no artifact of this name; look into its log whether the gate got as far as that"
    )
