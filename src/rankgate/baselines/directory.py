"""A baseline in a directory: `manifest.json` and the compressed run that it names.

The run file carries its own digest in its name and is written first; replacing the manifest is the one step that makes
it the baseline. Killed at any byte, the directory holds the old baseline or the new one, whole.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from rankgate import __version__
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.files import write_atomic
from rankgate.gold_changes import GoldMark
from rankgate.model import Details, Item, Need, Ranking
from rankgate.readers.base import Run
from rankgate.readers.formats import read_run
from rankgate.readers.source import shown_path

SCHEMA_VERSION = 1
DEFAULT_DEPTH = 100
MANIFEST = "manifest.json"


class DamagedBaselineError(RankgateError):
    """A manifest that cannot be read; accepting a run again mends it."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored, how deep, and where it came from."""

    schema_version: int = SCHEMA_VERSION
    run: str
    sha256: str
    depth: Annotated[int, msgspec.Meta(ge=1)]
    queries: int
    cut: int = 0
    kept: list[str]
    accepted: str
    source: str
    provenance: Mapping[str, Any]
    gold: GoldMark | None
    rankgate: str = __version__


class DirectoryStore(msgspec.Struct, frozen=True):
    """The default store: a directory, usually in the repository."""

    path: str

    @property
    def spec(self) -> str:
        """The directory's path."""
        return self.path

    def manifest(self) -> Manifest | None:
        """The manifest; None where the directory does not exist or is empty.

        Raises:
            RankgateError: damaged, or of a newer schema.
        """
        file = Path(self.path) / MANIFEST
        if not file.exists():
            if any(not _OURS.fullmatch(name) for name in self._names()):
                raise bad_input(f"is no baseline: it has no {MANIFEST}", file=self.path)
            return None  # nothing, or what a first acceptance left when it was killed
        try:
            data = file.read_bytes()
            version = msgspec.json.decode(data, type=_Version).schema_version
            if version > SCHEMA_VERSION:
                raise bad_input(
                    f"baseline schema {version} is newer than this rankgate reads ({SCHEMA_VERSION}); upgrade rankgate",
                    file=file.as_posix(),
                )
            return msgspec.json.decode(data, type=Manifest)
        except OSError as error:
            raise bad_input(f"cannot be read: {error.strerror}", file=file.as_posix()) from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            message = f"damaged baseline manifest: {error}; {RESTORE}"
            raise DamagedBaselineError([Problem(message, file.as_posix())]) from error

    def open(self, needs: frozenset[Need], *, deepest: int = 0) -> Run | None:
        """The accepted run, its digest checked.

        Raises:
            RankgateError: damaged, of a newer schema, or stored less deep than `deepest`.
        """
        manifest = self.manifest()
        if manifest is None:
            return None
        if deepest > manifest.depth:
            raise bad_input(
                f"the gates read ranks down to {deepest}, this baseline was stored to {manifest.depth}; "
                f"accept its run again with --depth {deepest}",
                file=self.path,
            )
        file = Path(self.path) / manifest.run
        if Path(manifest.run).name != manifest.run or not file.is_file():
            raise bad_input(f"damaged baseline: the run {manifest.run!r} is not there; {RESTORE}", file=self.path)
        try:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise bad_input(f"cannot be read: {error.strerror}", file=file.as_posix()) from error
        if digest != manifest.sha256:
            raise bad_input(f"damaged baseline: its digest is not the manifest's; {RESTORE}", file=file.as_posix())
        run = read_run(file.as_posix(), "jsonl", needs=needs)
        return msgspec.structs.replace(
            run,
            name=shown_path(self.path),
            format="baseline",
            provenance={**manifest.provenance, "accepted": manifest.accepted},
            depth=manifest.depth,
            cut=manifest.cut,
            gold=manifest.gold,
        )

    def accept(
        self,
        rankings: Iterable[Ranking],
        *,
        source: str,
        provenance: Mapping[str, Any],
        gold: GoldMark | None,
        date: str,
        depth: int = DEFAULT_DEPTH,
    ) -> Manifest:
        """Store a run as the accepted baseline and return its manifest.

        Ids are kept to `depth`, and what the rankings were read with: latencies, and what gated metrics need. The same
        run gives the same bytes.

        Raises:
            RankgateError: the run is malformed, or the directory cannot be written or holds something else.
        """
        # What lies there before anything is written; another acceptance at the same time tidies its own.
        stale = [name for name in self._names() if _OURS.fullmatch(name)]
        try:
            self.manifest()
        except DamagedBaselineError:
            # This call mends a damaged manifest, unless it stands among files of something else.
            if not stale and self._names() != [MANIFEST]:
                raise
        encode = msgspec.json.Encoder().encode
        lines: list[bytes] = []
        kept: set[str] = set()
        cut = 0
        for ranking in rankings:
            entry = _kept(ranking, depth)
            kept |= entry.keys() - {"query_id", "retrieved"}
            if ranking.details and ranking.details.items:
                kept |= {key for item in ranking.details.items for key, value in _keys(item) if value is not None}
            lines.append(encode(entry) + b"\n")
            cut += len(ranking.ids) > depth
        if not lines:
            raise bad_input("the run has no query; nothing to accept", file=source)
        data = _packed(b"".join(lines))
        digest = hashlib.sha256(data).hexdigest()
        manifest = Manifest(
            run=f"run-{digest[:12]}.jsonl.gz",
            sha256=digest,
            depth=depth,
            queries=len(lines),
            cut=cut,
            kept=sorted(kept),
            accepted=date,
            source=source,
            provenance=provenance,
            gold=gold,
        )
        write_atomic(Path(self.path) / manifest.run, data)
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        write_atomic(Path(self.path) / MANIFEST, text + b"\n")
        for name in stale:
            if name != manifest.run:
                (Path(self.path) / name).unlink(missing_ok=True)
        if not (Path(self.path) / manifest.run).exists():  # tidied away by another acceptance at the same time
            write_atomic(Path(self.path) / manifest.run, data)
        return manifest

    def _names(self) -> list[str]:
        return [file.name for file in Path(self.path).iterdir()] if Path(self.path).is_dir() else []


def _kept(ranking: Ranking, depth: int) -> dict[str, Any]:
    """The line of a ranking that has more than ids, as a run writes it; what it does not state is left out."""
    details = ranking.details or Details()
    entry: dict[str, Any] = {"query_id": ranking.query_id, "retrieved": _listed(ranking, depth)}
    if details.raw is not None:
        entry[Need.RAW.value] = _listed(details.raw, depth)
    if details.rewrites is not None:
        entry[Need.REWRITES.value] = [{"topk": _listed(each, depth)} for each in details.rewrites]
    stated = {
        Need.LATENCY: details.latency_ms or None,
        Need.SOURCE: details.source,
        Need.ENTITIES: details.entities,
        Need.SCORES: details.scores,
    }
    return entry | {need.value: value for need, value in stated.items() if value is not None}


def _listed(ranking: Ranking, depth: int) -> list[Any]:
    """Bare ids, or items where they have more than that."""
    items = ranking.details.items if ranking.details else None
    if not items:
        return ranking.ids[:depth]
    return [
        {"id": item_id, **{key: value for key, value in _keys(item) if value is not None}}
        for item_id, item in zip(ranking.ids[:depth], items, strict=False)
    ]


def _keys(item: Item) -> Iterator[tuple[str, object]]:
    yield Need.DOCS.value, item.doc_id
    yield Need.VERSIONS.value, item.version
    yield Need.TEXTS.value, item.text
    yield Need.ITEM_SCORES.value, item.score


# A stored run, or a temporary file that a killed acceptance left; never anything that somebody else put there.
_OURS = re.compile(r"run-[0-9a-f]{12}\.jsonl\.gz|\.(?:run-[0-9a-f]{12}\.jsonl\.gz|manifest\.json)\.\w+\.tmp")

RESTORE = "restore it from version control or accept a run again"


def _packed(data: bytes) -> bytes:
    """Gzip with the same header on every Python and system: no time, no name, no operating system."""
    packed = bytearray(gzip.compress(data, mtime=0))
    packed[9] = 255
    return bytes(packed)


class _Version(msgspec.Struct):
    schema_version: int
