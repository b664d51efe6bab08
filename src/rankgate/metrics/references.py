"""Metrics that compare an answer with the references of the gold set, word by word: no judge is asked."""

from __future__ import annotations

import re
from collections import Counter
from typing import ClassVar, Literal
from unicodedata import category

from rankgate.metrics.base import Kind
from rankgate.metrics.lines import LineMetric
from rankgate.metrics.texts import primary, stands_in
from rankgate.model.answers import AnswerFlaw
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import RunField, Unit

Articles = Literal["kept", "dropped"]
# A token each, since blanks do not part words or particles are attached: Thai, Lao, Burmese, Khmer and East Asian ones.
_SIGN = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
_TOKEN = re.compile(rf"{_SIGN}|(?:(?!{_SIGN})\S)+")


class AnswerContains(LineMetric, frozen=True, kw_only=True):
    """Whether the reference (`metadata.answer`) occurs in the line's `answer`, folded as for `containment`.

    Of several references the best counts. "Not 30 days" contains "30 days". 0 without an answer. Undefined without a
    reference and for questions with `no_answer: true`.
    """

    key: ClassVar[str] = "answer_contains"
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset(AnswerFlaw)
    aliases: ClassVar[tuple[str, ...]] = ("string_present",)
    formula: ClassVar[str] = "1 if a reference occurs in the answer, else 0"
    kind: ClassVar[Kind] = Kind.ANSWER
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.ANSWER})
    gold_keys: ClassVar[tuple[str, ...]] = ("metadata.answer",)
    plain: ClassVar[str] = "share of answers in which the reference occurs"

    def per_query(self, query: MatchedQuery) -> float | None:
        """The best agreement, 0 without an answer; None without a reference and where nothing answers the question."""
        sample, generated = query.sample, query.details and query.details.generated
        if sample is None or not sample.answers or sample.no_answer:
            return None
        answer = (generated and generated.answer) or ""
        return max(self.agreement(answer, reference) for reference in sample.answers) if primary(answer) else 0.0

    def agreement(self, answer: str, reference: str) -> float:
        """From 0 to 1; neither text is empty."""
        return float(stands_in(primary(reference), primary(answer)))


def _without_punctuation(sign: re.Match[str]) -> str:
    """A sign that is none of punctuation, as an emoji, and beyond ASCII; else nothing."""
    return sign[0] if category(sign[0])[0] != "P" and sign[0] > "\x7f" else ""


class ExactMatch(AnswerContains, frozen=True, kw_only=True):
    """Whether the answer is the reference (`metadata.answer`), but for case, punctuation and white space.

    Equivalent Unicode forms (NFKC) are equal. Punctuation of any script and ASCII's symbols are removed: 3.5 is 35. 0
    and undefined as `answer_contains`. Source: `squad_em` is SQuAD's (Rajpurkar et al. 2016).

    Attributes:
        articles: kept, or dropped: a, an and the, for English.
    """

    articles: Articles = "kept"

    key: ClassVar[str] = "exact_match"
    aliases: ClassVar[tuple[str, ...]] = ("em", "answer_exact_match")
    formula: ClassVar[str] = "1 if the answer is a reference, else 0"
    plain: ClassVar[str] = "share of answers that are the reference"

    def agreement(self, answer: str, reference: str) -> float:
        """1.0 or 0.0."""
        return float(self.tokens(answer) == self.tokens(reference))

    def tokens(self, text: str) -> list[str]:
        """What is compared of a text; all of it where it is nothing but punctuation and articles."""
        folded = primary(text)
        plain = re.sub(r"[^\w\s]|_", _without_punctuation, folded)
        if self.articles == "dropped":
            plain = re.sub(r"\b(a|an|the)\b", " ", plain)
        return _TOKEN.findall(plain) or [folded]


class TokenF1(ExactMatch, frozen=True, kw_only=True):
    """F1 of the tokens of the answer and of the reference (`metadata.answer`), each as often as it stands there.

    Tokens are words, of Thai, Lao, Burmese, Khmer, Chinese, Japanese and Korean single characters; all else as
    `exact_match`. 0 and undefined as `answer_contains`. Source: `squad_f1` is SQuAD's.
    """

    key: ClassVar[str] = "token_f1"
    aliases: ClassVar[tuple[str, ...]] = ("answer_f1",)
    formula: ClassVar[str] = "2 |A ∩ B| / (|A| + |B|), A and B the tokens of answer and reference"
    unit: ClassVar[Unit] = Unit.SCORE
    plain: ClassVar[str] = "how far answers and references have the same words, 1 = all"

    def agreement(self, answer: str, reference: str) -> float:
        """F1 of the two bags."""
        in_answer = Counter(self.tokens(answer))
        in_reference = Counter(self.tokens(reference))
        return 2 * (in_answer & in_reference).total() / (in_answer.total() + in_reference.total())
