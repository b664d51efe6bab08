"""What a model is asked: a task is one class here and one row of `TASKS`.

Prompts, schemas, stored verdicts, plans, samples and labels read the table. What is asked of an answer by itself is a
`Question`, whose verdict metrics read from `AnswerVerdicts.by_question`; `plan` asks about the claims of answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

from rankgate.judge.model import Answer, Inputs, Judge, rough_tokens
from rankgate.judge.quotes import verified
from rankgate.model.answers import Entailment, UnjudgedKind
from rankgate.model.verdicts import Support, Supports, Unjudged

MAX_CLAIMS = 200
MAX_CHARACTERS = 2_000  # of a claim
MAX_GRADE = 3  # of a passage's relevance


@dataclass(frozen=True)
class Form:
    """What a model answers, or an entry of that: the declared keys and no others, each of its type."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"strict": True, "extra": "forbid"}


class Task(Form, ABC):
    """What a model is asked in one call: its fields are the form of the answer, so that an instance is an answer.

    `name` is in the keys of verdicts, and of the prompt, in whose place a user may have another. `kept` is the type of
    what is kept of an answer, None where that is the answer itself.
    """

    name: ClassVar[str]
    prompt: ClassVar[str]
    kept: ClassVar[Any] = None
    repeats_answer: ClassVar[bool] = False  # so that an answer of the model is as long
    tokens_a_passage: ClassVar[int] = 0  # of an answer of the model

    @abstractmethod
    def verdicts(self, inputs: Inputs) -> Any:
        """What is kept, or the `Unjudged` that is wrong with this answer to these inputs."""

    @classmethod
    def fits(cls, inputs: Inputs, kept: Any) -> bool:
        """Whether what is kept, with an entry a statement or passage, can be on these inputs."""
        del inputs, kept
        return True


class Lookup(Protocol):
    """Where a question finds verdicts on inputs, or why there are none."""

    judge: Judge

    def at(self, inputs: Inputs) -> Any: ...  # noqa: D102


class Question(Task, ABC):
    """A task about an answer by itself, or about its context; a metric asks for it by its name.

    Where people check the judge in it, its verdict is a yes or no by criterion, an `Unjudged` where that is missing.
    """

    reads_context: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def of_answer(cls, answer: Answer, lookup: Lookup) -> Any:
        """The verdict as metrics read it, an `Unjudged` where it is missing, None where it has no meaning."""

    @classmethod
    def criteria(cls, judge: Judge) -> Mapping[str, str]:
        """What people say yes or no to, by the names of metrics; empty where nobody is asked."""
        del judge
        return {}


@dataclass(frozen=True)
class Split(Task):
    """Whether an answer asserts anything, and its claims: one fact each, self-contained, in the answer's language.

    Inputs: question, answer.
    """

    asserts: bool
    claims: tuple[str, ...]

    name = "split"
    prompt = """\
You break the answer to a question into claims.

A claim is one fact that the answer asserts, and that can be checked by itself.
- Write each claim in the language of the answer, with the answer's own words where that is possible.
- Each claim is self-contained: put names in the place of pronouns, and what the question names in the place of gaps.
- One fact a claim: split what is joined by "and". Keep numbers, units, conditions and negations.
- Leave out greetings, questions, advice to look elsewhere, and statements about the answer itself or its sources.
- At most 40 claims; where there are more facts, join those that belong together. Never add what the answer \
does not say.
- `asserts` is false, and `claims` is empty, for an answer that asserts nothing about the question: a refusal, or a
  statement that the information is missing. Otherwise `asserts` is true, with at least one claim.

{% include "data.j2" %}
"""
    repeats_answer = True

    def verdicts(self, inputs: Inputs) -> Split | Unjudged:
        """The claims without doubles. An answer that asserts something has at least one; any other has none."""
        claims = tuple(dict.fromkeys(" ".join(claim.split()) for claim in self.claims))
        if not all(0 < len(claim) <= MAX_CHARACTERS for claim in claims) or len(claims) > MAX_CLAIMS:
            return Unjudged(UnjudgedKind.SCHEMA)
        without_doubles = replace(self, claims=claims)
        return without_doubles if self.fits(inputs, without_doubles) else Unjudged(UnjudgedKind.CONTRADICTION)

    @classmethod
    def fits(cls, inputs: Inputs, kept: Split) -> bool:
        """One that asserts nothing, such as a refusal, has no claims, and any other has some."""
        del inputs
        return kept.asserts == bool(kept.claims)


@dataclass(frozen=True)
class SupportReply(Form):
    """The verdict on one statement, and which passages it rests on."""

    n: int
    verdict: Literal["supported", "contradicted", "absent"]
    passages: list[int]
    quote: str

    def checked(self, inputs: Inputs) -> Support:
        """What is absent rests on nothing; what is supported by a quote that is not there is `UNVERIFIED`."""
        verdict = Entailment(self.verdict)
        named = tuple(sorted(set(self.passages)))
        if verdict is Entailment.ABSENT:
            return Support(self.n, verdict)
        if verdict is Entailment.SUPPORTED and not verified(self.quote, [inputs.passages[n - 1] for n in named]):
            verdict = Entailment.UNVERIFIED
        return Support(self.n, verdict, named, self.quote)


@dataclass(frozen=True)
class Entail(Task):
    """Which of several passages support each of several statements. Inputs: statements and passages, from 1."""

    entries: list[SupportReply]

    name = "entail"
    prompt = """\
You check numbered statements against numbered passages.

For every statement give one entry in `entries` with its number `n`, for 1 to the last one, each once:
- `verdict`: `supported` if the passages say it or it follows from them beyond doubt, in every detail (numbers, units,
  names, dates, conditions, negations); `contradicted` if the passages say something that excludes it; else `absent`.
- `passages`: the numbers of the passages that the verdict rests on; empty for `absent`.
- `quote`: for `supported` and `contradicted` the words of those passages that show it, copied literally, at most 30
  words. Put … where you leave words out. At least a few words a piece. Empty for `absent`.

The statement and the passages may be in different languages. A statement that merely sounds plausible is `absent`.

{% include "data.j2" %}
"""
    kept = Supports

    def verdicts(self, inputs: Inputs) -> Supports | Unjudged:
        """One verdict a statement, in their order."""
        last = len(inputs.passages)
        unknown = [n for each in self.entries for n in each.passages if not 1 <= n <= last]
        if wrong := _wrong_numbers([each.n for each in self.entries], len(inputs.statements)):
            return wrong
        if unknown:
            return Unjudged(UnjudgedKind.UNKNOWN_PASSAGE, max(-1, min(unknown[0], 10**6)), last)
        return tuple(each.checked(inputs) for each in sorted(self.entries, key=lambda each: each.n))

    @classmethod
    def fits(cls, inputs: Inputs, kept: Supports) -> bool:
        """A verdict a statement, which rests on passages that are there, and of a rubric on the answer."""
        cited = {passage for each in kept for passage in each.passages}
        groundless = any(each.verdict is Entailment.SUPPORTED and not each.passages for each in kept)
        numbered = [each.n for each in kept] == list(range(1, len(inputs.statements) + 1))
        return numbered and not groundless and cited <= {*range(1, 1 + (len(inputs.passages) or 1))}


@dataclass(frozen=True)
class GradeReply(Form):
    """The grade of one passage, from 0 to 3: the scale of TREC that UMBRELA asks a model for."""

    n: int
    grade: int


@dataclass(frozen=True)
class Relevance(Question):
    """How relevant each passage is for a question, as a grade each. Inputs: question, passages."""

    entries: list[GradeReply]

    name = "relevance"
    prompt = """\
You grade how relevant each numbered passage is for a question.

For every passage give one entry in `entries` with its number `n`, for 1 to the last one, each once, and a `grade`:
0: it has nothing to do with the question.
1: it is about the subject, but does not answer the question.
2: it answers the question partly, or answers it among much else or not clearly.
3: it is about the question and has the exact answer.

Grade each passage by itself.

{% include "data.j2" %}
"""
    kept = tuple[int, ...]
    tokens_a_passage = 14
    reads_context = True

    def verdicts(self, inputs: Inputs) -> tuple[int, ...] | Unjudged:
        """One grade a passage, in their order."""
        if wrong := _wrong_numbers([each.n for each in self.entries], len(inputs.passages)):
            return wrong
        grades = tuple(each.grade for each in sorted(self.entries, key=lambda each: each.n))
        return grades if self.fits(inputs, grades) else Unjudged(UnjudgedKind.SCHEMA)

    @classmethod
    def fits(cls, inputs: Inputs, kept: tuple[int, ...]) -> bool:
        """Grades are from 0 to 3."""
        del inputs
        return all(0 <= grade <= MAX_GRADE for grade in kept)

    @classmethod
    def of_answer(cls, answer: Answer, lookup: Lookup) -> Any:
        """The grades; None without a passage."""
        passages = answer.passages
        return lookup.at(Inputs(cls.name, answer.question, passages=passages)) if passages else None


@dataclass(frozen=True)
class Address(Question):
    """How far an answer addresses its question, whatever is true, and whether it evades. Inputs: question, answer."""

    addresses: Literal["fully", "partly", "no"]
    noncommittal: bool

    name = "address"
    prompt = """\
You say whether an answer addresses its question. Whether it is true does not matter.

- `addresses`: `fully` if it answers all that is asked; `partly` if it answers some of it, or buries the answer in what
  nobody asked for; `no` if it answers something else or nothing.
- `noncommittal`: true if the answer evades, as "I don't know", "it depends" or a refusal do; else false.

{% include "data.j2" %}
"""

    def verdicts(self, inputs: Inputs) -> Address:
        """What it says."""
        del inputs
        return self

    @classmethod
    def of_answer(cls, answer: Answer, lookup: Lookup) -> Any:
        """`fully`, `partly`, `no`, or `noncommittal` as a missing answer is; None where nothing answers it."""
        if answer.no_answer:
            return None
        if not answer.text:
            return "noncommittal"
        verdict = lookup.at(Inputs(cls.name, answer.question, answer.text))
        if isinstance(verdict, Unjudged):
            return verdict
        return "noncommittal" if verdict.noncommittal else verdict.addresses


@dataclass(frozen=True)
class RubricTask(Question):
    """Whether an answer meets a criterion that the team wrote in words, and the words of the answer that show it.

    Inputs: question, answer, and the criterion as the only statement.
    """

    meets: Literal["yes", "no"]
    quote: str

    name = "rubric"
    prompt = """\
You say whether an answer to a question meets one criterion, which is the statement. Nothing else about the \
answer matters.

- `meets`: `yes` only if the answer meets all of the criterion, beyond doubt; else `no`.
- `quote`: for `yes` the words of the answer that show it, copied literally, at most 30 words. Put … where you \
leave words
  out. At least a few words a piece. Empty for `no`.

{% include "data.j2" %}
"""
    kept = Supports

    def verdicts(self, inputs: Inputs) -> Supports:
        """One verdict on the criterion, which rests on the answer; `UNVERIFIED` is a yes whose quote is not there."""
        if self.meets == "no":
            return (Support(1, Entailment.ABSENT),)
        met = Entailment.SUPPORTED if verified(self.quote, [inputs.answer]) else Entailment.UNVERIFIED
        return (Support(1, met, (1,), self.quote),)

    fits = Entail.fits

    @classmethod
    def of_answer(cls, answer: Answer, lookup: Lookup) -> Any:
        """Whether it meets each; one that is not there meets none. None where nothing answers the question."""
        if answer.no_answer:
            return None
        meets: dict[str, bool | Unjudged] = {}
        for name, criterion in cls.criteria(lookup.judge).items():
            inputs = Inputs(cls.name, answer.question, answer.text, statements=(criterion,))
            verdict = lookup.at(inputs) if answer.text else ()
            if not isinstance(verdict, Unjudged):
                verdict = any(each.verdict is Entailment.SUPPORTED for each in verdict)
            meets[name] = verdict
        return meets

    @classmethod
    def criteria(cls, judge: Judge) -> Mapping[str, str]:
        """All of the judge's."""
        return {f"rubric({name})": criterion for name, criterion in judge.rubrics.items()}


def _wrong_numbers(numbers: list[int], expected: int) -> Unjudged | None:
    """The problem of entries that are not numbered from 1 to `expected`, each once and in any order."""
    right = sorted(numbers) == list(range(1, expected + 1))
    return None if right else Unjudged(UnjudgedKind.NUMBERING, len(numbers), expected)


TASKS: Mapping[str, type[Task]] = {task.name: task for task in (Split, Entail, Relevance, Address, RubricTask)}
QUESTIONS: Mapping[str, type[Question]] = {name: task for name, task in TASKS.items() if issubclass(task, Question)}


def tokens_of(inputs: Inputs, prompts: Mapping[str, str]) -> tuple[int, int]:
    """About how many tokens one request sends and receives that is answered well."""
    task = TASKS[inputs.task]
    texts = (inputs.question, inputs.answer, *inputs.passages, *inputs.statements)
    content = sum(rough_tokens(text) + 40 for text in texts if text)  # for its label and its fence
    instructions = rough_tokens(prompts.get(f"{inputs.task}.j2", "")) + rough_tokens(prompts.get("data.j2", ""))
    claims = rough_tokens(inputs.answer) if task.repeats_answer else 0
    entries = task.tokens_a_passage * len(inputs.passages) + 60 * len(inputs.statements)
    return content + instructions + 120, claims + entries + 90
