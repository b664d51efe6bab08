"""A label that was just put on a pull request, and whether it may let violations pass: for one commit, by a writer."""

from __future__ import annotations

from rankgate.forges.client import Client, ForgeError
from rankgate.forges.context import Context
from rankgate.forges.pulls import has_label, head_of, may_write
from rankgate.waivers import SetLabel


def concerns_label(context: Context) -> bool:
    """Whether the event is a label on a pull request of the repository itself.

    A fork's is judged by the reporting job, where only a waiver that is merged counts.
    """
    labelled = context.event == "pull_request" and context.label is not None and context.sender is not None
    return labelled and not context.read_only


def set_label(client: Client, context: Context) -> SetLabel | None:
    """The label of a `labeled` event, with what it is worth; None for any other event.

    Whether the label means anything is for the criteria to say. A job that is run again has the same event, so that
    the label must still be there and the head where it was.
    """
    pull, label, sender = context.pull, context.label, context.sender
    if not concerns_label(context) or pull is None or label is None or sender is None:
        return None
    try:
        if not may_write(client, context.repository, sender):
            return SetLabel(name=label, by=sender, standing="stranger")
        if head_of(client, context.repository, pull.number) != pull.head_sha:
            return SetLabel(name=label, by=sender, standing="head moved")
        if not has_label(client, context.repository, pull.number, label):
            return SetLabel(name=label, by=sender, standing="taken off")
    except ForgeError:
        return SetLabel(name=label, by=sender, standing="unknown")
    return SetLabel(name=label, by=sender, standing="counts")
