"""What a report says of the base: which commit, what the pull request changed of the gate, and how each side judged."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rankgate.model.values import Unit, Verdict

SHORT_SHA = 7  # hexadecimal digits that people read

# A commit as a store or a report names it, at least as long as git takes it. Sentences show its digits as they are.
SHA = r"^[0-9a-f]{4,64}$(?!\n)"  # also what JavaScript takes, for schemas
CommitSha = Annotated[str, msgspec.Meta(pattern=SHA)]

# Labels of pull requests.
ACCEPT_CHANGE = "rankgate: accept change"
ACCEPT_RANKINGS = "rankgate: accept rankings"

LabelState = Literal["counts", "outsider", "own", "unreported", "changed", "unknown"]

# Of the base's log of acceptances, which only grows, records are gone or others; or small losses add up from another.
LogChange = Literal["log", "anchor"]

_LIMITS = {"threshold", "regression_max", "max_lost_queries", "must_pass", "max_unjudged"}  # of a gate
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


class SetLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label of ours that stands on the pull request, who set it, and what it is worth."""

    name: str
    by: str
    state: LabelState


class KeyChange(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the criteria with another value: `before` at the base, `after` in the pull request; None for none.

    `key` is its path within the gate, or within the file, as `threshold` or `segments.lang.min_queries`; it may hold
    text from the inputs, as values may. `weakens` is False of a limit that is surely stricter, and True of any other
    change. Numbers are in `unit` where it is there.
    """

    key: str
    before: Value
    after: Value
    weakens: bool
    unit: Unit | None = None

    @property
    def is_limit(self) -> bool:
        """Whether it says what is allowed of a value."""
        return self.key.rpartition(".")[2] in _LIMITS


class GateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A gate that the pull request added, removed or gave other values.

    `line` is where it stands in the pull request's criteria.
    """

    name: str
    change: Literal["removed", "changed", "added"]
    keys: list[KeyChange] = []
    line: int | None = None

    @property
    def weakens(self) -> bool:
        """Whether it warns."""
        return self.change == "removed" or any(key.weakens for key in self.keys)


class WaiverChange(msgspec.Struct, frozen=True, kw_only=True):
    """A waiver, by its gate and segment, that the pull request adds, edits or removes."""

    gate: str
    segment: str | None
    change: Literal["added", "edited", "removed"]


class Grown(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of the gold set, or of a segment of it, which became more."""

    segment: str | None
    before: int
    after: int


class QueryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How the pull request's gold set differs from the base's, which has `queries`; the ids are the first of each.

    `relabelled` have other judgments, also other texts of spans; `edited` have the same and something else that counts
    and that the base has too: another question, another tag, another k. Of the relabelled `toward` find more in this
    run than by the base's labels, or miss less, None where nobody can tell. `repeated` of the added ones have a text
    that the gold set has already. `diluted` are so many more questions that a gate allows half as many more losses.
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
    toward: int | None = None
    repeated: int = 0
    diluted: Grown | None = None

    @property
    def done(self) -> dict[str, int]:
        """To how many queries of the base something was done, so that they are judged otherwise or no longer."""
        counts = {"removes": self.removed, "relabels": self.relabelled, "edits": self.edited}
        return {what: count for what, count in counts.items() if count}


class TrafficChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How the pull request's traffic and its labels differ from the base's, which has so many `questions`.

    `edited` have another text or other tags, `recounted` another count. `unread` says that its criteria name what is no
    file of its commit, `diluted` that so many are added that each weighs a third less.
    """

    questions: int
    added: int = 0
    removed: int = 0
    edited: int = 0
    recounted: int = 0
    labels_removed: int = 0
    labels_changed: int = 0
    labels_added: int = 0
    unread: bool = False
    diluted: bool = False


class OwnLabels(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of the accepted run by the base's labels, and of this run by the pull request's, where ids changed."""

    metric: str
    unit: Unit
    before: float
    now: float


class BaseSide(msgspec.Struct, frozen=True, kw_only=True):
    """The base, what the pull request changed of it, and both verdicts.

    `head_verdict` is by the pull request's own criteria, gold set and waivers, `base_verdict` by the base's; None
    where these are the same, or where the base has no criteria, as `introduced` says. `decides` says whose report
    this is, `base_summary` what the base's said. `accepted_by` is who has set the label by which the pull request's
    own alone counts. `keys` are changed keys that concern all gates. `baseline_changed` says what became of the
    baseline, and `baseline_verdict` how the base judges the run that the pull request brings as one,
    `baseline_short` that this has fewer than half of the base's questions, `baseline_lower` in how many gates its
    value is lower; `own_labels` are there where the base's labels are stale; `acceptances_changed` what it did to
    the base's log of acceptances, whose anchor was accepted on the day `anchor`. `gold_supplied` says that the gold
    set is no file of the base, `values_brought` that the pull request changes files of values that judge it, and
    `run_brought` that it changes the file of the run. Labels are read where the check is `on_github`.
    """

    ref: str
    sha: str
    head_verdict: Verdict
    base_verdict: Verdict | None = None
    decides: Literal["base", "head"] = "head"
    base_summary: str = ""
    accepted_by: str | None = None
    introduced: bool = False
    gates: list[GateChange] = []
    keys: list[KeyChange] = []
    waivers: list[WaiverChange] = []
    queries: QueryChanges | None = None
    traffic: TrafficChanges | None = None
    baseline_changed: Literal["added", "deleted", "replaced"] | None = None
    baseline_verdict: Verdict | None = None
    baseline_short: bool = False
    baseline_lower: int = 0
    own_labels: OwnLabels | None = None
    acceptances_changed: LogChange | None = None
    anchor: str | None = None
    gold_supplied: bool = False
    values_brought: bool = False
    run_brought: bool = False
    on_github: bool = False

    @property
    def commit(self) -> Commit:
        """The commit that is the base."""
        return Commit(ref=self.ref, sha=self.sha)
