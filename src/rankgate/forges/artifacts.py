"""The artifact that a workflow run left behind: found, fetched, and one file of it read, all as untrusted data."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rankgate.errors import bad_input
from rankgate.forges.archive import ArchiveError, Limits, member_of
from rankgate.forges.client import Client
from rankgate.readers.json_text import spoken

LIMITS = Limits()
MEMBER = "run.jsonl"  # what the action calls a run in its artifact
GOLD = "gold"  # and a gold set that the job made


class _Artifact(msgspec.Struct, frozen=True):
    id: Annotated[int, msgspec.Meta(ge=1)]
    name: str
    size_in_bytes: Annotated[int, msgspec.Meta(ge=0)]
    expired: bool


def download_artifact(client: Client, repository: str, run_id: int, name: str, *, limits: Limits = LIMITS) -> bytes:
    """The zip archive of a workflow run's newest artifact of a name; each attempt of a run leaves its own."""
    path = f"/repos/{repository}/actions/runs/{run_id}/artifacts"
    every = map(_artifact, client.pages(path, {"name": name}, under="artifacts"))
    newest = max((each for each in every if each.name == name), key=lambda each: each.id, default=None)
    if newest is None:
        message = f"run {run_id} left no artifact of this name; look into its log whether the gate got as far as that"
        raise bad_input(message, key=name)
    if newest.expired:
        raise bad_input(f"the artifact of run {run_id} has expired; run the workflow again", key=name)
    if newest.size_in_bytes > limits.packed:
        message = f"the artifact of run {run_id} has {newest.size_in_bytes:,} bytes, allowed are {limits.packed:,}"
        raise bad_input(message, key=name)
    return client.download(f"/repos/{repository}/actions/artifacts/{newest.id}/zip", limits.packed)


def read_member(data: bytes, name: str, *, limits: Limits = LIMITS, optional: bool = False) -> bytes:
    """One file of an artifact, unpacked in memory; nothing is written anywhere. An `optional` one may be absent: empty.

    The archive is refused if it is larger than allowed, or no plain zip archive from its first byte to its last.
    Nothing that stands in it is repeated.
    """
    try:
        content = member_of(data, name, limits)
        if content is None and not optional:
            raise ArchiveError("it has no file of that name")
    except ArchiveError as error:
        raise bad_input(f"the artifact is not read: {error}", key=name) from error
    return content or b""


def _artifact(item: object) -> _Artifact:
    try:
        return msgspec.convert(item, _Artifact)
    except msgspec.ValidationError as error:
        raise bad_input(f"GitHub lists an artifact that is none: {spoken(error)}", key="artifacts") from error
