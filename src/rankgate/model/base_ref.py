"""What a report says of the base: which commit, what the pull request changed of the gate, and how each side judged."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rankgate.errors import Problem
from rankgate.model.values import Unit, Verdict

SHORT_SHA = 7  # hexadecimal digits that people read

# A commit as a store or a report names it, at least as long as git takes it. Sentences show its digits as they are.
SHA = r"^[0-9a-f]{4,64}$(?!\n)"  # also what JavaScript takes, for schemas
CommitSha = Annotated[str, msgspec.Meta(pattern=SHA)]

# The gold set that the base names is not there; by it nothing can be judged; a question that must pass is gone. Each
# fails until a label has accepted the pull request's own. Or the job supplied the only one there is.
GoldState = Literal["absent", "ids", "must_pass", "accepted", "supplied"]

# Of the base's log of acceptances, which only grows, records are gone or others; or small losses add up from another.
LogChange = Literal["log", "anchor"]

Value = int | float | str | list[str] | None


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit: the ref as it was named, and the full sha that it stood for."""

    ref: str
    sha: str

    @property
    def shown(self) -> str:
        """`main (1a2b3c4)`, or `1a2b3c4` where it was named by its sha."""
        short = self.sha[:SHORT_SHA]
        return short if self.sha.startswith(self.ref) else f"{self.ref} ({short})"


class KeyChange(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the criteria with another value: `before` at the base, `after` in the pull request; None for none.

    `key` is its path within the gate, or within the file, as `threshold` or `segments.lang.min_queries`; it may hold
    text from the inputs, as values may. `weakens` is True also where nobody can tell which value asks for more. Numbers
    are in `unit` where it is there.
    """

    key: str
    before: Value
    after: Value
    weakens: bool
    unit: Unit | None = None


class GateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A gate that the pull request added, removed, renamed or gave other values.

    `name` is the gate's at the base, or the new one's; `new_name` that of a renamed gate. `line` is where it stands in
    the pull request's criteria.
    """

    name: str
    change: Literal["removed", "weakened", "strengthened", "renamed", "added"]
    keys: list[KeyChange] = []
    new_name: str | None = None
    line: int | None = None


class QueryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How the pull request's gold set differs from the base's, which has `queries`; the ids are the first of each.

    `relabelled` have other judgments, also other texts of spans; `edited` have the same and something else that counts:
    another question, fewer tags, another k. `verdict_with_removed` is what the removed queries would have made of the
    verdict, None where there are none or nobody can tell, and `judged_with_removed` the first reason where it is worse;
    `removed_unanswered` says how many of them the run lacks. Private queries are counted, their ids left out.
    """

    queries: int
    added: int
    removed: int
    relabelled: int
    edited: int
    added_ids: list[str]
    removed_ids: list[str]
    relabelled_ids: list[str]
    edited_ids: list[str]
    verdict_with_removed: Verdict | None = None
    judged_with_removed: str | None = None
    removed_unanswered: int = 0

    @property
    def done(self) -> dict[str, int]:
        """To how many queries of the base something was done, so that they are judged otherwise or no longer."""
        counts = {"removes": self.removed, "relabels": self.relabelled, "edits": self.edited}
        return {what: count for what, count in counts.items() if count}


class BaseSide(msgspec.Struct, frozen=True, kw_only=True):
    """The base, what the pull request changed of it, and both verdicts.

    `head_verdict` is by the pull request's own criteria and gold set, `base_verdict` by the base's; None where these
    are the same, where the base has no criteria, or where they could not judge. `introduced` says that the base has no
    criteria, `elsewhere` where it has some and none for this gate. `keys` are changed keys that
    concern all gates. `baseline_is_this_run` says whether the pull request's own copy of the baseline holds the
    rankings that were judged, None where it brings none or nobody can tell. `problems` say why something of the base
    could not be used.

    `gold` says what a maintainer has to accept, or has, or that the job supplied the gold set (see `GoldState`).
    `run_moved` says that the run that the base names is absent, and what became of the pull request's own;
    `run_copied` that the run's rankings are those of the baseline: of the job, or of a file that the pull request
    changed; `acceptances_changed` what it did to the base's log of acceptances, whose anchor was accepted on the day
    `anchor`; `scores_brought` that it changed the file of another tool's scores, which a gate reads.
    """

    ref: str
    sha: str
    head_verdict: Verdict
    base_verdict: Verdict | None = None
    introduced: bool = False
    elsewhere: list[str] = []
    gates: list[GateChange] = []
    keys: list[KeyChange] = []
    queries: QueryChanges | None = None
    gold_changes: Literal["warn", "fail"] = "warn"
    baseline_changed: Literal["added", "deleted", "replaced"] | None = None
    baseline_is_this_run: bool | None = None
    acceptances_changed: LogChange | None = None
    anchor: str | None = None
    waivers_changed: Literal["added", "deleted", "edited"] | None = None
    gold: GoldState | None = None
    run_moved: Literal["refused", "accepted"] | None = None
    run_copied: Literal["job", "commit"] | None = None
    scores_brought: bool = False
    problems: list[Problem] = []

    @property
    def commit(self) -> Commit:
        """The commit that is the base."""
        return Commit(ref=self.ref, sha=self.sha)

    @property
    def judges(self) -> str:
        """What of the base judges otherwise than the pull request's own, in words."""
        gates = any(gate.change != "renamed" for gate in self.gates)
        criteria = gates or any(not key.key.startswith("inputs.") for key in self.keys)
        if self.queries is None or not (self.queries.done or self.queries.added):
            return "the criteria of the base"
        done = " and ".join(f"{what} {count:,}" for what, count in self.queries.done.items())
        whole = "the criteria and the questions of the base" if criteria else "the questions of the base"
        return whole + (f", of which this pull request {done}" if done else "")
