"""Which stored run people mean: the accepted one, an anchor by its name, any by its id or the begin of its commit."""

from __future__ import annotations

from rankgate.baselines.memory import Memory
from rankgate.baselines.records import Record
from rankgate.errors import bad_input, shown

SHORTEST = 4  # digits


def lookup(memory: Memory, word: str) -> Record:
    """The record that a word names; of several that it could, the newest.

    Args:
        memory: where to look.
        word: `accepted`, an anchor's name, or the first digits of an id or a commit.

    Raises:
        RankgateError: there is none.
    """
    accepted = memory.read("accepted")
    if word == "accepted":
        if not accepted:
            raise bad_input("nothing has been accepted yet", file=memory.spec)
        return accepted[-1]
    anchors = memory.read("anchors")
    named = [record for record in anchors if record.name == word]
    if named:
        return named[-1]
    known = [*memory.read("history"), *anchors, *accepted]
    if len(word) >= SHORTEST:
        by_id = [record for record in known if record.id.startswith(word)]
        by_commit = [record for record in known if (record.commit or "").startswith(word)]
        if by_id or by_commit:
            return (by_id or by_commit)[-1]
    wanted = "an id, the first digits of a commit, an anchor's name, or `accepted`"
    raise bad_input(
        f"has no run {shown(word)}; name {wanted} (`rankgate baseline history` lists them)", file=memory.spec
    )
