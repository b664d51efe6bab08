"""The explicit table of metric families, in display order; `plugins` has those of other packages.

Adding a metric takes its class and one row here. A module is imported when a name is not one of the rows before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module

from rankgate.metrics.base import BaseMetric

# Those that read ids and gains alone come first, and then those of which most checks ask for none.
ROWS = (
    "rankgate.metrics.sets:Hit",
    "rankgate.metrics.sets:Recall",
    "rankgate.metrics.sets:RecallAll",
    "rankgate.metrics.sets:CappedRecall",
    "rankgate.metrics.sets:WeightedRecall",
    "rankgate.metrics.ranks:RecallAUC",
    "rankgate.metrics.sets:Precision",
    "rankgate.metrics.sets:F",
    "rankgate.metrics.ranks:ReciprocalRank",
    "rankgate.metrics.ranks:AveragePrecision",
    "rankgate.metrics.ranks:RPrecision",
    "rankgate.metrics.ranks:BinaryPreference",
    "rankgate.metrics.ranks:RankBiasedPrecision",
    "rankgate.metrics.ranks:RankBiasedResidual",
    "rankgate.metrics.ranks:DCG",
    "rankgate.metrics.ranks:NDCG",
    "rankgate.metrics.ranks:ERR",
    "rankgate.metrics.lines:Latency",
    "rankgate.metrics.contents:NegativesAbove",
    "rankgate.metrics.lines:FalseEvidenceRate",
    "rankgate.metrics.contents:Judged",
    "rankgate.metrics.contents:Holes",
    "rankgate.metrics.passages:PassageRecall",
    "rankgate.metrics.passages:PassagePrecision",
    "rankgate.metrics.passages:PassageIoU",
    "rankgate.metrics.contents:Containment",
    "rankgate.metrics.contents:DistinctDocs",
    "rankgate.metrics.contents:Redundancy",
    "rankgate.metrics.contents:Novelty",
    "rankgate.metrics.contents:Freshness",
    "rankgate.metrics.lines:SourceCoverage",
    "rankgate.metrics.lines:MisrouteRate",
    "rankgate.metrics.lines:SourceShare",
    "rankgate.metrics.lines:EntityF1",
    "rankgate.metrics.lines:GivenRate",
    "rankgate.metrics.answers:Faithfulness",
    "rankgate.metrics.answers:UnfaithfulRate",
    "rankgate.metrics.answers:AnsweredRate",
    "rankgate.metrics.answers:AbstainedRate",
    "rankgate.metrics.answers:ClaimRecall",
    "rankgate.metrics.answers:VitalClaimRecall",
    "rankgate.metrics.answers:FactualCorrectness",
    "rankgate.metrics.contexts:ContextRecall",
    "rankgate.metrics.contexts:ContextPrecision",
    "rankgate.metrics.contexts:ContextUtilization",
    "rankgate.metrics.answers:NoiseSensitivity",
    "rankgate.metrics.contexts:CitationPrecision",
    "rankgate.metrics.contexts:CitationRecall",
    "rankgate.metrics.answers:AnswerRelevancy",
    "rankgate.metrics.answers:Rubric",
    "rankgate.metrics.lines:Score",
    "rankgate.metrics.drift:Overlap",
    "rankgate.metrics.drift:RankBiasedOverlap",
    "rankgate.metrics.references:AnswerContains",
    "rankgate.metrics.references:ExactMatch",
    "rankgate.metrics.references:TokenF1",
)

# Other tools' names that stand for a family with parameters and, where none is written, a cut-off; `?` asks for one.
Preset = tuple[str, dict[str, str], str]
_SET = {"of": "retrieved"}
_EXPONENTIAL = {"gain": "exponential"}
_ENGLISH = {"articles": "dropped"}
_RAGAS = ("ranked_context_precision", "nonllmcontextprecisionwithreference", "non_llm_context_precision_with_reference")
PRESETS: dict[str, Preset] = {
    "ndcg_any": ("ndcg", {"gain": "binary"}, ""),  # LongMemEval
    "recall_any": ("hit", {}, "?"),
    "f1": ("f", {"beta": "1"}, ""),
    "f2": ("f", {"beta": "2"}, ""),
    **dict.fromkeys(("set_p", "setp", "id_based_context_precision"), ("precision", _SET, "all")),  # trec_eval, …, Ragas
    **dict.fromkeys(("set_recall", "setr", "id_based_context_recall"), ("recall", {}, "all")),
    **dict.fromkeys(("set_f", "setf"), ("f", _SET, "all")),
    **dict.fromkeys(_RAGAS, ("ap", _SET, "all")),
    "squad_em": ("exact_match", _ENGLISH, ""),
    "squad_f1": ("token_f1", _ENGLISH, ""),
    "map_cut": ("ap", {}, "?"),
    "ndcg_cut": ("ndcg", {}, "?"),
    "dcg_burges": ("dcg", _EXPONENTIAL, ""),  # ranx
    "ndcg_burges": ("ndcg", _EXPONENTIAL, ""),
    **{
        name: ("latency", {"quantile": f"p{percent}"}, "")
        for percent in (50, 75, 90, 95, 99)
        for name in (f"latency_p{percent}", f"p{percent}_latency")
    },
    **dict.fromkeys(("accuracy", "top_k_accuracy"), ("hit", {}, "?")),  # of retrieval: DPR, sentence-transformers
}
Meaning = tuple[type[BaseMetric], dict[str, str], str]


def families() -> Iterator[type[BaseMetric]]:
    """The families of the table in its order, each imported when it is reached."""
    for row in ROWS:
        module, _, name = row.partition(":")
        family: type[BaseMetric] = getattr(import_module(module), name)
        yield family


def find(word: str) -> Meaning | None:
    """The family, and the parameters and the cut-off that its name implies, for a key or an alias in lower case."""
    key, parameters, cutoff = PRESETS.get(word, (word, {}, ""))
    family = named(key, families())
    return (family, parameters, cutoff) if family else None


def named(word: str, families: Iterable[type[BaseMetric]]) -> type[BaseMetric] | None:
    """The first of the families with this key or alias."""
    return next((family for family in families if word == family.key or word in family.aliases), None)
