"""`artifact:NAME`: the run that the base branch's newest green workflow left, as a memory to read only.

What counts is a run of that one workflow, on the base branch of this very repository, set off by a push, and ended in
success. GitHub is asked for those alone, and each is looked at again: a fork may have a branch called main too.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from itertools import islice
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from rankgate.baselines.memory import Unless
from rankgate.baselines.packing import Packed, checked, pack, recorded
from rankgate.baselines.records import Log, Record
from rankgate.errors import RankgateError, bad_input, shown
from rankgate.files.environment import api_url, token_in
from rankgate.forges.artifacts import LIMITS, MEMBER, download_artifact, listed, read_member
from rankgate.forges.base_branch import base_branch
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.context import REPOSITORY, Sha
from rankgate.model.values import Need
from rankgate.readers.base import ProblemLog
from rankgate.readers.json_text import spoken
from rankgate.readers.run_lines import provenance, read_jsonl
from rankgate.readers.source import Source

WORKFLOW = "rankgate.yml"
WHOLE = 10_000  # ranks: more than a list has, so that nothing of an uploaded run is cut
_NEWEST = 100  # runs among which the newest is; GitHub lists new ones first
_HEAD = 1 << 18
_SPEC = re.compile(r"artifact:(?P<name>[\w.-]{1,200})(?:@(?P<workflow>[\w.-]{1,200}\.ya?ml))?", re.ASCII)


class _Repository(msgspec.Struct, frozen=True):
    full_name: str
    default_branch: str | None = None


class _WorkflowRun(msgspec.Struct, frozen=True):
    id: Annotated[int, msgspec.Meta(ge=1)]
    event: str
    status: str | None
    conclusion: str | None
    head_branch: str | None
    head_sha: Sha
    created_at: Annotated[str, msgspec.Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T")]
    head_repository: _Repository | None

    def counts(self, repository: str, branch: str) -> bool:
        """Whether it is what was asked for, whatever GitHub answered."""
        return (
            (self.event, self.status, self.conclusion) == ("push", "completed", "success")
            and self.head_branch == branch
            and self.head_repository is not None
            and self.head_repository.full_name.lower() == repository.lower()
        )


class ArtifactMemory:
    """A `Memory` of one accepted record. The next green run on the base branch is the next one."""

    def __init__(self, client: Client, spec: str, repository: str, branch: str | None) -> None:
        """Nothing is requested yet; without a branch it is the repository's default branch."""
        self.spec = spec
        self._name, self._workflow = _parts(spec)
        self._client = client
        self._repository = repository
        self._branch = branch

    def read(self, log: Log, *, last: int | None = None) -> Sequence[Record]:
        """The one accepted record; none where the workflow was never green on the base branch. Other logs are empty."""
        del last
        return [self._newest[0]] if log == "accepted" and self._newest else []

    def recent(self, log: Log, most: int, *, until: str) -> Sequence[Record]:
        """The one accepted record, if it is not dated later."""
        return [record for record in self.read(log) if record.date <= until][:most]

    def fetch(self, record: Record) -> bytes:
        """The compressed run file of that record."""
        if self._newest is None:
            raise bad_input(f"the run {record.run!r} is not there", file=self.spec)
        return checked(self._newest[1], record, self.spec)

    def add(self, log: Log, record: Record, data: bytes, *, unless: Unless | None = None) -> bool:
        """Never."""
        del log, record, data, unless
        raise self._read_only()

    def prune(self, log: Log, ids: Collection[str]) -> int:
        """Never."""
        del log, ids
        raise self._read_only()

    def _read_only(self) -> RankgateError:
        message = (
            f"is read, not written: what {self._workflow} uploads on the base branch is accepted when it is green. "
            "To accept runs yourself, keep the baseline in path/, git+branch:NAME or s3://"
        )
        return bad_input(message, file=self.spec)

    @cached_property
    def _newest(self) -> tuple[Record, bytes] | None:
        try:
            branch = self._branch or self._default_branch()
            run = self._newest_run(branch)
            if run is None:
                return None
            archive = download_artifact(self._client, self._repository, run.id, self._name)
        except ForgeError as error:
            hint = "; the job needs `permissions: actions: read`" if error.status == HTTPStatus.FORBIDDEN else ""
            raise bad_input(f"{error}{hint}", file=self.spec) from error
        packed, provenance = _packed(read_member(archive, MEMBER), f"{self.spec}/{MEMBER}")
        record = recorded(packed, source=MEMBER, provenance=provenance, gold=None, date=run.created_at[:10])
        return replace(record, commit=run.head_sha, branch=branch), packed.data

    def _newest_run(self, branch: str) -> _WorkflowRun | None:
        path = f"/repos/{self._repository}/actions/workflows/{self._workflow}/runs"
        params: dict[str, str | int] = {"branch": branch, "event": "push", "status": "success"}
        every = listed(self._client, path, params, _WorkflowRun, "a workflow run", under="workflow_runs")
        counting = (run for run in every if run.counts(self._repository, branch))
        return max(islice(counting, _NEWEST), key=lambda run: run.id, default=None)

    def _default_branch(self) -> str:
        try:
            default = msgspec.convert(self._client.get(f"/repos/{self._repository}"), _Repository).default_branch
        except msgspec.ValidationError as error:
            raise bad_input(f"GitHub answered without a repository: {spoken(error)}", file=self.spec) from error
        if not default:
            raise bad_input("GitHub does not say which branch is the default one", file=self.spec)
        return default


def artifact_memory(spec: str, environment: Mapping[str, str]) -> ArtifactMemory:
    """The memory that `artifact:NAME` names, with repository, base branch and token from a job's environment.

    The base branch is that of the pull request or the merge queue, else the repository's default branch: a push to
    another branch is compared with that too, never with what the branch itself did before.
    """
    _parts(spec)
    repository = environment.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(REPOSITORY, repository):
        message = "no repository is named; outside of GitHub Actions set GITHUB_REPOSITORY to OWNER/NAME"
        raise bad_input(message, file=spec)
    token = token_in(environment)
    if token is None:
        message = (
            "GitHub gives artifacts to nobody without a token; set it in env, as GITHUB_TOKEN: ${{ github.token }}"
        )
        raise bad_input(message, file=spec)
    return ArtifactMemory(Client(api_url(environment), token), spec, repository, base_branch(environment))


def _parts(spec: str) -> tuple[str, str]:
    parts = _SPEC.fullmatch(spec)
    if parts is None:
        raise bad_input(f"expected artifact:NAME or artifact:NAME@WORKFLOW.yml, found {shown(spec)}", key="baseline")
    return parts["name"], parts["workflow"] or WORKFLOW


def _packed(data: bytes, name: str) -> tuple[Packed, Mapping[str, Any]]:
    """The run as a baseline holds it, with all that any metric could read, and what it says of itself."""
    plain = _unzipped(data, name) if data.startswith(b"\x1f\x8b") else data
    about, lines = (Source(name, io.BytesIO(plain), plain[:_HEAD]) for _ in range(2))
    rankings = read_jsonl(lines, frozenset(Need), ProblemLog(), stored=True)
    return pack(rankings, source=name, depth=WHOLE), provenance(about)


def _unzipped(data: bytes, name: str) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        plain = unzip.decompress(data, LIMITS.unpacked)
    except zlib.error as error:
        raise bad_input(f"damaged gzip data: {error}", file=name) from error
    if not unzip.eof or unzip.unused_data:
        raise bad_input(f"is no whole gzip file of at most {LIMITS.unpacked:,} bytes", file=name)
    return plain
