"""The tasks that have a prompt, one file and one row each."""

from collections.abc import Mapping

from rankgate.judge.model import Task
from rankgate.judge.tasks import address, entail, relevance, reverse, split
from rankgate.judge.tasks.base import Spec

SPECS: Mapping[Task, Spec] = {
    Task.SPLIT: split.SPEC,
    Task.ENTAIL: entail.SPEC,
    Task.RELEVANCE: relevance.SPEC,
    Task.ADDRESS: address.SPEC,
    Task.REVERSE: reverse.SPEC,
}
