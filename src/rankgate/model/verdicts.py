"""What a judge said of an answer, as metrics read it: frozen values, with a reason in the place of what is missing.

And what people think of the judge: a calibration, which `rankgate judge calibrate` writes and gates read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from rankgate.model.answers import Entailment, GoldClaim, Rate, UnjudgedKind
from rankgate.statistics.calibration import Powered


class Unjudged(msgspec.Struct, frozen=True, omit_defaults=True):
    """Stands where a verdict is missing; what the numbers mean depends on the kind."""

    kind: UnjudgedKind
    number: int | None = None
    limit: int | None = None


NO_VERDICT = Unjudged(UnjudgedKind.NO_VERDICT)


class Support(msgspec.Struct, frozen=True):
    """The verdict on statement `n`, with the numbers of the passages that it rests on and a quote from them."""

    n: int
    verdict: Entailment
    passages: tuple[int, ...] = ()
    quote: str = ""


Supports: TypeAlias = tuple[Support, ...]


class AnswerState(Enum):
    """Whether an answer asserts something, abstains, or is not there: empty, and not said to be an abstention."""

    ASSERTS = "asserts"
    ABSTAINED = "abstained"
    MISSING = "missing"


class AnswerVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """All that metrics read of one answer.

    Each value is None where it was not wanted or has no meaning for the query, and an `Unjudged` where the judge's word
    is missing. `support` are the claims against the context, `correctness` the claims against the reference, or against
    the gold claims where there is no reference. `gold_in_answer` and `gold_in_context` are the gold claims, which are
    those of the gold or else those of its reference. Of these four each has one verdict a claim, in order; passages are
    numbers, from 1, of `context`, of the reference or the gold claims, of the answer (always 1), and of `context`.
    `by_question` are the verdicts on other questions, by their names: a metric that asks one knows what its verdict is.
    `key` is the SHA-256 of question, answer and passages, where the run has an answer. `served` names what gave the
    verdicts, as the server called it: see `served_names`.
    """

    query_id: str
    context: tuple[str, ...]
    citations: tuple[str, ...]
    no_answer: bool
    state: AnswerState | Unjudged | None = None
    claims: tuple[str, ...] | Unjudged | None = None
    support: Supports | Unjudged | None = None
    correctness: Supports | Unjudged | None = None
    gold_claims: tuple[GoldClaim, ...] | Unjudged | None = None
    gold_in_answer: Supports | Unjudged | None = None
    gold_in_context: Supports | Unjudged | None = None
    by_question: Mapping[str, Any] = {}
    key: str | None = None
    served: str | None = None

    def of(self, kind: str) -> Any:
        """What was wanted under the name of a field or of a question."""
        return self.by_question[kind] if kind in self.by_question else getattr(self, kind, None)


def served_names(models: Iterable[tuple[str, str | None]]) -> str | None:
    """What gave verdicts, a line each: a model as the server called it, with its fingerprint behind a tab.

    None where nothing did.
    """
    names = {f"{model}\t{fingerprint}" if fingerprint else model for model, fingerprint in models}
    return "\n".join(sorted(names)) if names else None


def served_text(names: str) -> str:
    """The same for people: `gpt-4o-2024-08-06, fp_5 and fp_6`."""
    return names.replace("\n", " and ").replace("\t", ", ")


def fingerprints_count(now: Mapping[str, str | None], baseline: Mapping[str, str | None]) -> bool:
    """Whether fingerprints tell models apart, by what gave the values of either run, by query.

    A service of several machines answers by several fingerprints, and both runs have met each. They tell where the
    values that were not taken over have none in common.
    """
    changed = [query for query, names in now.items() if names != baseline.get(query)]
    ours = {name for query in changed for name in (now[query] or "").splitlines()}
    return ours.isdisjoint(name for query in changed for name in (baseline.get(query) or "").splitlines())


def same_served(one: str | None, other: str | None, *, fingerprints: bool) -> bool:
    """Whether two names are of one model; its fingerprint counts where that is asked for.

    A value without a name takes no model's word, as that of an empty answer: it compares with any.
    """
    if one is None or other is None:
        return True
    if fingerprints:
        return one == other
    return _models(one) == _models(other)


def _models(names: str) -> set[str]:
    return {name.partition("\t")[0] for name in names.splitlines()}  # without the fingerprints


CALIBRATION_VERSION = 1


class MetricCalibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One metric: how well the judge agrees with people, and the run that was labelled.

    `labels` are the answers with labels, `rarer` those of the verdict that fewer answers have. `slope` is J. `value` is
    that of the labelled run by PPI++, and `values` the judge's own of it by query, without those it leaves undefined.
    Where answers come in clusters (`clustered`), intervals are of these. `criterion` is the text that a rubric had.
    """

    labels: int
    rarer: int
    sensitivity: Rate | None
    specificity: Rate | None
    slope: Rate | None
    kappa: float | None
    value: Powered | None
    values: Mapping[str, float] = {}
    clustered: bool = False
    criterion: str | None = None


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What labels say of one judge, whose whole id it has, on one run.

    `date` is the ISO day on which it was made, `people` who labelled, `agreement` their kappa with each other, None
    where no two labelled the same. `answers` is the SHA-256 of the run's answers (`judge.sample.answers_key`).
    `segments` has the metrics of single segments, by tag, for people to read.
    """

    version: int = CALIBRATION_VERSION
    judge: str
    model: str
    date: str
    run: str
    answers: str = ""
    people: tuple[str, ...]
    agreement: float | None
    metrics: Mapping[str, MetricCalibration]
    segments: Mapping[str, Mapping[str, MetricCalibration]] = {}
