"""The tasks, one file and one row each."""

from collections.abc import Mapping

from rankgate.judge.model import Task
from rankgate.judge.tasks.address import AddressReply
from rankgate.judge.tasks.base import Reply
from rankgate.judge.tasks.entail import EntailReply
from rankgate.judge.tasks.relevance import RelevanceReply
from rankgate.judge.tasks.rubric import RubricReply
from rankgate.judge.tasks.split import SplitReply

REPLIES: Mapping[Task, type[Reply]] = {
    Task.SPLIT: SplitReply,
    Task.ENTAIL: EntailReply,
    Task.RELEVANCE: RelevanceReply,
    Task.ADDRESS: AddressReply,
    Task.RUBRIC: RubricReply,
}
