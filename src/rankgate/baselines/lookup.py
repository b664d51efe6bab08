"""Which stored run people mean: the accepted one, an anchor by its name, any by its id or the begin of its commit."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.baselines.memory import Memory
from rankgate.baselines.records import Record
from rankgate.errors import bad_input, shown

SHORTEST = 4  # digits
MAX_SHOWN = 12  # of a commit's digits


def lookup(memory: Memory, word: str) -> Record:
    """The record that a word names; of several for one id or one commit, the newest.

    Args:
        memory: where to look.
        word: `accepted`, an anchor's name, or the first digits of an id or a commit.

    Raises:
        RankgateError: there is none, or these are the first digits of several.
    """
    accepted = memory.read("accepted")
    if word == "accepted":
        if not accepted:
            raise bad_input("nothing has been accepted yet", file=memory.spec)
        return accepted[-1]
    anchors = memory.read("anchors")
    named = anchor_named(anchors, word)
    if named:
        return named
    if len(word) >= SHORTEST:
        # Both are named by their digits; of a commit the newest record counts, as it does where a check chooses one.
        # Dates are compared as they are written; of one day what stands later in the logs.
        known = sorted([*memory.read("history"), *anchors, *accepted], key=lambda record: record.date)
        found = {name: record for record in known for name in (record.commit, record.id) if name}
        meant = [word] if word in found else [name for name in found if name.startswith(word)]
        if len(meant) > 1:
            named_by = ", ".join(f"{name[:MAX_SHOWN]} of {found[name].date}" for name in meant)
            raise bad_input(f"{shown(word)} are the first digits of {named_by}; write more of them", file=memory.spec)
        if meant:
            return found[meant[0]]
    wanted = "an id, the first digits of a commit, an anchor's name, or `accepted`"
    raise bad_input(
        f"has no run {shown(word)}; name {wanted} (`rankgate baseline history` lists them)", file=memory.spec
    )


def anchor_named(anchors: Sequence[Record], name: str) -> Record | None:
    """The anchor of a name: the first, for an anchor never moves. Two that named one at once may both be in the log."""
    return next((record for record in anchors if record.name == name), None)
