"""How metrics are written: every spelling and alias, the canonical name, lists, and what is said of a wrong name."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate import metrics
from rankgate.metrics import answers, registry, views
from rankgate.metrics.base import BaseMetric, Cutoff, Metric
from rankgate.metrics.contents import (
    Containment,
    DistinctDocs,
    Freshness,
    Holes,
    Judged,
    NegativesAbove,
    Novelty,
    Redundancy,
)
from rankgate.metrics.drift import Overlap, RankBiasedOverlap
from rankgate.metrics.lines import (
    EntityF1,
    FalseEvidenceRate,
    GivenRate,
    Latency,
    MisrouteRate,
    Score,
    SourceCoverage,
    SourceShare,
)
from rankgate.metrics.names import UnknownMetricError, at_cutoffs, family_of, parse_metric, parse_metrics
from rankgate.metrics.passages import PassageIoU, PassagePrecision, PassageRecall
from rankgate.metrics.ranks import (
    DCG,
    ERR,
    GRID,
    NDCG,
    AveragePrecision,
    BinaryPreference,
    Discount,
    Gain,
    Ideal,
    RankBiasedPrecision,
    RankBiasedResidual,
    RecallAUC,
    ReciprocalRank,
    RPrecision,
)
from rankgate.metrics.references import AnswerContains, Articles, ExactMatch, TokenF1
from rankgate.metrics.registry import families
from rankgate.metrics.sets import CappedRecall, F, Hit, Of, Precision, Recall, RecallAll, WeightedRecall
from rankgate.metrics.views import ListGain, View
from rankgate.model.values import Direction

FAMILIES = tuple(families())

# Tool, its name, ours: the table of docs/metrics.md.
OTHER_TOOLS: dict[str, dict[str, str]] = {
    "trec_eval": {
        "success_5": "hit@5",
        "recall_5": "recall@5",
        "recall.5": "recall@5",
        "set_recall": "recall@all",
        "P_5": "precision@5",
        "P.10": "precision@10",
        "set_P": "precision(of=retrieved)@all",
        "set_F": "f(of=retrieved)@all",
        "recip_rank": "mrr",
        "map": "map",
        "map_cut_10": "ap@10",
        "ndcg": "ndcg",
        "ndcg_cut_10": "ndcg@10",
        "ndcg_cut.10": "ndcg@10",
        "Rprec": "rprec",
        "bpref": "bpref",
    },
    "ir_measures": {
        "Success@5": "hit@5",
        "R@5": "recall@5",
        "Recall@5": "recall@5",
        "P@5": "precision@5",
        "Precision@5": "precision@5",
        "SetP": "precision(of=retrieved)@all",
        "SetR": "recall@all",
        "SetF": "f(of=retrieved)@all",
        "RR": "mrr",
        "RR@10": "mrr@10",
        "MRR@10": "mrr@10",
        "AP": "map",
        "AP@10": "ap@10",
        "MAP@10": "ap@10",
        "AP(rel=2)": "map(rel=2)",
        "Rprec": "rprec",
        "RPrec(rel=2)": "rprec(rel=2)",
        "Bpref": "bpref",
        "BPref(rel=2)": "bpref(rel=2)",
        "ERR@20": "err@20",
        **{
            f"{name}(judged_only=True){k}": f"{ours}(judged_only=true){k}"
            for k in ("", "@5")
            for name, ours in {"AP": "map" if not k else "ap", "nDCG": "ndcg"}.items()
        },
        "RR(judged_only=True)": "mrr(judged_only=true)",
        "Rprec(judged_only=True)": "rprec(judged_only=true)",
        "P(rel=2, judged_only=True)@5": "precision(rel=2,judged_only=true)@5",
        "SetP(judged_only=True)": "precision(of=retrieved,judged_only=true)@all",
        "Success(judged_only=True)@3": "hit(judged_only=true)@3",
        "P(rel=2)@5": "precision(rel=2)@5",
        "nDCG@10": "ndcg@10",
        "NDCG@10": "ndcg@10",
        "nDCG(dcg='exp-log2')@10": "ndcg(gain=exponential)@10",
        "Judged@10": "judged@10",
    },
    "ranx": {
        "hit_rate@5": "hit@5",
        "recall@5": "recall@5",
        "precision@5": "precision@5",
        "f1@5": "f@5",
        "mrr@5": "mrr@5",
        "map@10": "ap@10",
        "dcg@10": "dcg@10",
        "ndcg@10": "ndcg@10",
        "dcg_burges@10": "dcg(gain=exponential)@10",
        "ndcg_burges@10": "ndcg(gain=exponential)@10",
        "ndcg_burges": "ndcg(gain=exponential)",
    },
    "BEIR": {"NDCG@10": "ndcg@10", "MAP@10": "ap@10", "Recall@10": "recall@10", "P@10": "precision@10"}
    | {"MRR@10": "mrr@10", "R_cap@10": "capped_recall@10", "Hole@10": "holes@10"},
    "MTEB": {"ndcg_at_10": "ndcg@10", "map_at_10": "ap@10", "recall_at_10": "recall@10"}
    | {"precision_at_10": "precision@10", "mrr_at_10": "mrr@10", "hit_rate_at_10": "hit@10"},
    "LongMemEval": {"recall_any@5": "hit@5", "recall_all@5": "recall_all@5"},
    "Ragas": {"id_based_context_precision": "precision(of=retrieved)@all", "id_based_context_recall": "recall@all"}
    | dict.fromkeys(
        ("NonLLMContextPrecisionWithReference", "non_llm_context_precision_with_reference", "ranked_context_precision"),
        "map(of=retrieved)",
    ),
    "dashboards": {f"latency_p{percent}": f"latency(quantile={percent / 100:g})" for percent in (50, 75, 90, 95, 99)}
    | {"p95_latency": "latency(quantile=0.95)", "latency(p90)": "latency(quantile=0.9)"},
    "sentence-transformers": {"accuracy@5": "hit@5", "top-k-accuracy@5": "hit@5", "mean_average_precision": "map"},
    "habits": {"f2@5": "f(beta=2)@5", "f1_5": "f@5", "mrr_10": "mrr@10", "recall_at_5": "recall@5"},
}


@pytest.mark.full
@each_row(
    ("written", "canonical"),
    [
        # Families and their cut-offs.
        pytest.param("rbo", "rbo", id="rbo without a number: the whole list"),
        pytest.param("overlap", "overlap@k", id="overlap without a number: the sample's k"),
        pytest.param("containment", "containment@k", id="containment without a number: the sample's k"),
        pytest.param("judged", "judged@k", id="judged without a number: the sample's k"),
        pytest.param("f", "f@k", id="f without a number: the sample's k"),
        pytest.param("mrr", "mrr", id="mrr without a number: the whole list"),
        pytest.param("map", "map", id="map without a number: the whole list"),
        pytest.param("ap", "map", id="ap without a number is map"),
        pytest.param("dcg", "dcg", id="dcg without a number: the whole list"),
        pytest.param("ndcg", "ndcg", id="ndcg without a number: the whole list"),
        pytest.param("hit", "hit@k", id="hit without a number: the sample's k"),
        pytest.param("recall", "recall@k", id="recall without a number: the sample's k"),
        pytest.param("recall_all", "recall_all@k", id="recall_all without a number: the sample's k"),
        pytest.param("precision", "precision@k", id="precision without a number: the sample's k"),
        pytest.param("recall@k", "recall@k", id="@k"),
        pytest.param("recall@K", "recall@k", id="@K"),
        pytest.param("recall@all", "recall@all", id="@all for a family that is cut otherwise"),
        pytest.param("recall@ALL", "recall@all", id="@ALL"),
        pytest.param("mrr@all", "mrr", id="@all is the default of mrr"),
        pytest.param("ndcg@all", "ndcg", id="@all is the default of ndcg"),
        pytest.param("map@all", "map", id="@all is the default of map"),
        pytest.param("ap@all", "map", id="ap@all is map"),
        pytest.param("mrr@k", "mrr@k", id="@k for a family that is whole otherwise"),
        pytest.param("map@k", "ap@k", id="map with @k is ap"),
        pytest.param("map@10", "ap@10", id="map with a number is ap"),
        pytest.param("recall@05", "recall@5", id="a leading zero"),
        pytest.param("recall@1000000", "recall@1000000", id="a large cut-off"),
        # Aliases.
        pytest.param("R@5", "recall@5", id="R"),
        pytest.param("P@5", "precision@5", id="P"),
        pytest.param("RR", "mrr", id="RR"),
        pytest.param("rr@10", "mrr@10", id="rr with a cut-off"),
        pytest.param("recip_rank", "mrr", id="recip_rank"),
        pytest.param("AP", "map", id="AP"),
        pytest.param("MAP", "map", id="MAP"),
        pytest.param("nDCG@10", "ndcg@10", id="nDCG"),
        pytest.param("success@5", "hit@5", id="success"),
        pytest.param("hit_rate@5", "hit@5", id="hit_rate"),
        pytest.param("hit-rate@5", "hit@5", id="hit-rate"),
        pytest.param("Recall_all@5", "recall_all@5", id="Recall_all"),
        pytest.param("recall-all@5", "recall_all@5", id="recall-all"),
        pytest.param("NDCG_any@5", "ndcg(gain=binary)@5", id="NDCG_any"),
        pytest.param("ndcg_any", "ndcg(gain=binary)", id="ndcg_any, whole list"),
        pytest.param("f1@5", "f@5", id="f1"),
        pytest.param("F1@k", "f@k", id="F1"),
        pytest.param("recall_cap@5", "capped_recall@5", id="recall_cap"),
        pytest.param("answer-containment-at-k", "containment@k", id="answer-containment-at-k"),
        pytest.param("Answer_Containment@5", "containment@5", id="Answer_Containment"),
        pytest.param("false_evidence", "false_evidence_rate", id="false_evidence"),
        pytest.param("misroutes", "misroute_rate", id="misroutes"),
        pytest.param("mean_reciprocal_rank@10", "mrr@10", id="mean_reciprocal_rank"),
        pytest.param("R-precision", "rprec", id="R-precision"),
        pytest.param("ranked_context_precision@5", "ap(of=retrieved)@5", id="of Ragas, with a cut-off"),
        *(
            pytest.param(written, ours, id=written)
            for written, ours in {
                "RBP(p=0.9)@10": "rbp(p=0.9)@10",
                "rbp(p=0.8)": "rbp",
                "rbp-residual": "rbp_residual",
                "err(max=4)": "err",
                "ndcg(judged_only=FALSE)@10": "ndcg@10",
                "recall(judged_only=1,stage=raw)@5": "recall(stage=raw,judged_only=true)@5",
                "wrecall@5": "weighted_recall@5",
                "AUC": "recall_auc",
                "IoU@5": "passage_iou@5",
                "hit_ratio@10": "hit@10",
                "score(cost,P90)": "score(cost,quantile=0.9)",
                "latency(stage=rerank,p90)": "latency(stage=rerank,quantile=0.9)",
                "EM": "exact_match",
                "squad_em": "exact_match(articles=dropped)",
                "squad_f1": "token_f1(articles=dropped)",
                "answer_f1": "token_f1",
                "answer_contains": "answer_contains",
                "score(cost,quantile=p90)": "score(cost,quantile=0.9)",
                "score(drop_from=f1,field=f1 noisy)": "score(f1 noisy,drop_from=f1)",
            }.items()
        ),
        # As other tools write them.
        *(
            pytest.param(name, ours, id=f"{tool}: {name}")
            for tool, names in OTHER_TOOLS.items()
            for name, ours in names.items()
        ),
        # Case, joints and prefix.
        pytest.param("recall_at_5", "recall@5", id="_at_"),
        pytest.param("Recall-AT-5", "recall@5", id="-AT-"),
        pytest.param("recall_at_k", "recall@k", id="_at_k"),
        pytest.param("recall_at_all", "recall@all", id="_at_all"),
        pytest.param("recall_all_at_5", "recall_all@5", id="recall_all with _at_"),
        pytest.param("retrieval_recall_at_5", "recall@5", id="retrieval_ with _at_"),
        pytest.param("retrieval-recall-at-k", "recall@k", id="retrieval- with -at-"),
        pytest.param("retrieval_recall@5", "recall@5", id="retrieval_ with @"),
        pytest.param("RETRIEVAL_RECALL_AT_5", "recall@5", id="all in capitals"),
        pytest.param("retrieval_mrr", "mrr", id="retrieval_mrr"),
        pytest.param("retrieval-answer-containment-at-5", "containment@5", id="retrieval- before an alias"),
        pytest.param("Retrieval_Rerank-Gain(R@5)", "rerank_gain(recall@5)", id="retrieval_ before a gain"),
        pytest.param("retrieval_ndcg-at-10", "ndcg@10", id="joints of both kinds"),
        pytest.param("  recall@5  ", "recall@5", id="space around"),
        # Parameters.
        pytest.param("recall(rel=2)@5", "recall(rel=2)@5", id="rel"),
        pytest.param("recall(rel=2.0)@5", "recall(rel=2)@5", id="rel, a whole number"),
        pytest.param("recall(rel=1.5)@5", "recall(rel=1.5)@5", id="rel between grades"),
        pytest.param("recall(rel=0)@5", "recall@5", id="a parameter at its default is left out"),
        pytest.param("R(rel=2)_at_5", "recall(rel=2)@5", id="an alias with parameter and _at_"),
        pytest.param("recall( rel = 2 )@5", "recall(rel=2)@5", id="spaces inside the brackets"),
        pytest.param("recall()@5", "recall@5", id="empty brackets"),
        pytest.param("ndcg(gain=exponential)@10", "ndcg(gain=exponential)@10", id="gain"),
        pytest.param("nDCG(gain=Exponential)@10", "ndcg(gain=exponential)@10", id="a value in capitals"),
        pytest.param("ndcg(gain=linear)@10", "ndcg@10", id="linear is the default"),
        pytest.param("dcg(gain=binary)", "dcg(gain=binary)", id="dcg with gain"),
        pytest.param("ndcg_any(gain=linear)@5", "ndcg@5", id="a parameter written beats the one implied"),
        pytest.param("latency(stage=rerank)", "latency(stage=rerank)", id="stage"),
        pytest.param("latency(stage=total)", "latency", id="total is the default"),
        pytest.param("latency(quantile=0.9)", "latency(quantile=0.9)", id="quantile"),
        pytest.param("latency(quantile=p95)", "latency(quantile=0.95)", id="quantile as a percentile"),
        pytest.param("latency(quantile=P50)", "latency(quantile=0.5)", id="median as a percentile"),
        pytest.param("latency(stage=rerank,quantile=0.9)", "latency(stage=rerank,quantile=0.9)", id="two parameters"),
        pytest.param(
            "latency(quantile=0.9, stage=rerank)", "latency(stage=rerank,quantile=0.9)", id="in their declared order"
        ),
        pytest.param("f(beta=2)@5", "f(beta=2)@5", id="beta"),
        pytest.param("f(beta=1000)@5", "f(beta=1000)@5", id="the largest beta"),
        pytest.param("f1(beta=2)@5", "f(beta=2)@5", id="a beta written beats the one implied"),
        pytest.param("f(beta=0.5,of=Retrieved)@5", "f(of=retrieved,beta=0.5)@5", id="beta and of"),
        pytest.param("precision(of=retrieved)@all", "precision(of=retrieved)@all", id="of"),
        pytest.param("precision(of=places)@5", "precision@5", id="places is the default"),
        pytest.param("recall_auc(grid=1/10/100)", "recall_auc(grid=1/10/100)", id="grid"),
        pytest.param("recall_auc(grid=1/3/5/10/20)", "recall_auc", id="the default grid"),
        pytest.param("ndcg(discount=Jarvelin)@5", "ndcg(discount=jarvelin)@5", id="discount"),
        pytest.param(
            "ndcg(ideal=retrieved,discount=jarvelin,gain=binary)@5",
            "ndcg(gain=binary,discount=jarvelin,ideal=retrieved)@5",
            id="all that nDCG has",
        ),
        pytest.param("novelty(threshold=0.5)@5", "novelty(threshold=0.5)@5", id="threshold"),
        pytest.param("rbo(p=0.95)", "rbo(p=0.95)", id="p"),
        pytest.param("rbo(p=0.9)@10", "rbo@10", id="the default p"),
        pytest.param(
            "false_evidence_rate(min_score=0)", "false_evidence_rate(min_score=0)", id="min_score 0 is not none"
        ),
        # One parameter may stand without its name, and what users name keeps its case.
        pytest.param("score(Faithfulness)", "score(Faithfulness)", id="a field"),
        pytest.param("SCORE(field=Answer Relevancy)", "score(Answer Relevancy)", id="a field by name, with a blank"),
        pytest.param("score(ragas.context_recall)", "score(ragas.context_recall)", id="a field with a point"),
        pytest.param("source_share(kb-BR)", "source_share(kb-BR)", id="a source"),
        pytest.param("source_share(source=kb-BR)", "source_share(kb-BR)", id="a source by name"),
        pytest.param("source_share(7)", "source_share(7)", id="a source that is a number"),
        pytest.param("score(p90)", "score(p90)", id="a field that is called as a percentile"),
        pytest.param("score(null)", "score(null)", id="a field that is called null"),
        # Other lists, and the questions of a source.
        pytest.param("recall(stage=raw)@50", "recall(stage=raw)@50", id="the list before reranking"),
        pytest.param("recall(stage=final)@5", "recall@5", id="the final list is the default"),
        pytest.param("Recall(Stage=RAW)@50", "recall(stage=raw)@50", id="the list before reranking, in capitals"),
        pytest.param("recall(rewrite=2)@5", "recall(rewrite=2)@5", id="a rewritten question"),
        pytest.param("R(source=kb-BR)@5", "recall(source=kb-BR)@5", id="the questions of a source"),
        pytest.param("recall(source=Straße/2)@5", "recall(source=Straße/2)@5", id="a source of any letters"),
        pytest.param("map(stage=raw)", "map(stage=raw)", id="map keeps its name"),
        pytest.param("NDCG_any(stage=raw)@5", "ndcg(gain=binary,stage=raw)@5", id="after the metric's own parameters"),
        pytest.param(
            "recall(source=KB,stage=raw,rel=2)@5", "recall(rel=2,stage=raw,source=KB)@5", id="in their declared order"
        ),
        pytest.param("recall_auc(stage=raw)", "recall_auc(stage=raw)", id="of a metric without a cut-off"),
        # What a step adds.
        pytest.param("rerank_gain(recall@5)", "rerank_gain(recall@5)", id="of reranking"),
        pytest.param("Rerank-Gain( nDCG_at_10 )", "rerank_gain(ndcg@10)", id="of reranking, in another spelling"),
        pytest.param("rerank_gain(f(beta=2,rel=2)@5)", "rerank_gain(f(rel=2,beta=2)@5)", id="with parameters inside"),
        pytest.param("rerank_gain(recall)", "rerank_gain(recall@k)", id="at the sample's k"),
        pytest.param("rewrite_gain(mrr)", "rewrite_gain(mrr)", id="of rewriting"),
        pytest.param(
            "rewrite_gain(mrr,rewrite=1)", "rewrite_gain(mrr)", id="the first rewritten question is the default"
        ),
        pytest.param("rewrite_gain(R@5, Rewrite = 2)", "rewrite_gain(recall@5,rewrite=2)", id="the second"),
        pytest.param(
            "rewrite_gain(ndcg(gain=binary,ideal=retrieved)@5,rewrite=2)",
            "rewrite_gain(ndcg(gain=binary,ideal=retrieved)@5,rewrite=2)",
            id="the second, with parameters inside",
        ),
        # A name must say what it stands for.
        pytest.param("recall(rel=1.0000001)@5", "recall(rel=1.0000001)@5", id="no digit of a parameter is dropped"),
        pytest.param("latency(quantile=0.9999999)", "latency(quantile=0.9999999)", id="nor of a quantile"),
    ],
)
def test_spelling(written: str, canonical: str) -> None:
    assert parse_metric(written).name == canonical
    assert parse_metric(canonical) == parse_metric(written)


FINITE = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)  # without -0.0
BETAS = st.floats(1e-3, 1000)
SHARE = st.floats(0, 1, exclude_min=True, exclude_max=True)
CUTOFFS = st.one_of(st.integers(1, 9_999_999), st.sampled_from([Cutoff.WHOLE, Cutoff.SAMPLE]))
GRIDS = st.lists(st.integers(1, 9_999_999), min_size=2, max_size=6, unique=True).map(
    lambda points: "/".join(map(str, sorted(points)))
)
# What users call a source or a field.
WORDS = st.from_regex(r"[\w.:/+-]([\w.:/+ -]{0,20}[\w.:/+-])?", fullmatch=True)
BETTER = st.sampled_from(Direction)
AT_RELEVANCE = st.fixed_dictionaries({"cutoff": CUTOFFS, "rel": FINITE})

# Every family with every parameter.
PARAMETERS: dict[type[BaseMetric], st.SearchStrategy[dict[str, Any]]] = {
    **dict.fromkeys((Hit, Recall, RecallAll, CappedRecall, ReciprocalRank), AT_RELEVANCE),
    AveragePrecision: st.fixed_dictionaries({"cutoff": CUTOFFS, "rel": FINITE, "of": st.sampled_from(get_args(Ideal))}),
    **dict.fromkeys((RPrecision, BinaryPreference), st.fixed_dictionaries({"rel": FINITE})),
    **dict.fromkeys(
        (RankBiasedPrecision, RankBiasedResidual), st.fixed_dictionaries({"cutoff": CUTOFFS, "rel": FINITE, "p": SHARE})
    ),
    ERR: st.fixed_dictionaries({"cutoff": CUTOFFS, "max": st.floats(0, 1000, exclude_min=True)}),
    AnswerContains: st.fixed_dictionaries({}),
    **dict.fromkeys((ExactMatch, TokenF1), st.fixed_dictionaries({"articles": st.sampled_from(get_args(Articles))})),
    Precision: st.fixed_dictionaries({"cutoff": CUTOFFS, "rel": FINITE, "of": st.sampled_from(get_args(Of))}),
    F: st.fixed_dictionaries({"cutoff": CUTOFFS, "rel": FINITE, "of": st.sampled_from(get_args(Of)), "beta": BETAS}),
    RecallAUC: st.fixed_dictionaries({"rel": FINITE, "grid": GRIDS}),
    DCG: st.fixed_dictionaries(
        {"cutoff": CUTOFFS, "gain": st.sampled_from(get_args(Gain)), "discount": st.sampled_from(get_args(Discount))}
    ),
    NDCG: st.fixed_dictionaries(
        {
            "cutoff": CUTOFFS,
            "gain": st.sampled_from(get_args(Gain)),
            "discount": st.sampled_from(get_args(Discount)),
            "ideal": st.sampled_from(get_args(Ideal)),
        }
    ),
    **dict.fromkeys(
        (WeightedRecall, NegativesAbove, Judged, Holes, Containment, DistinctDocs, Redundancy, Freshness, Overlap),
        st.fixed_dictionaries({"cutoff": CUTOFFS}),
    ),
    **dict.fromkeys((PassageRecall, PassagePrecision, PassageIoU), st.fixed_dictionaries({"cutoff": CUTOFFS})),
    Novelty: st.fixed_dictionaries({"cutoff": CUTOFFS, "threshold": SHARE | st.just(1.0)}),
    RankBiasedOverlap: st.fixed_dictionaries({"cutoff": CUTOFFS, "p": SHARE}),
    FalseEvidenceRate: st.fixed_dictionaries({"min_score": st.none() | FINITE}),
    **dict.fromkeys((SourceCoverage, MisrouteRate, EntityF1, GivenRate), st.fixed_dictionaries({})),
    SourceShare: st.fixed_dictionaries({"source": WORDS}),
    Score: st.fixed_dictionaries(
        {"field": WORDS, "drop_from": st.none() | WORDS, "quantile": st.none() | SHARE, "better": BETTER}
    ),
    **{family: st.fixed_dictionaries({}) for family in FAMILIES if issubclass(family, answers.JudgedMetric)},
    answers.FactualCorrectness: st.fixed_dictionaries({"beta": st.floats(0.01, 100)}),
    answers.Rubric: st.fixed_dictionaries({"criterion": WORDS}),
    answers.NoiseSensitivity: st.fixed_dictionaries({"mode": st.sampled_from(get_args(answers.Noise))}),
    Latency: st.fixed_dictionaries(
        {
            "stage": st.sampled_from(("total", "rerank"))
            | WORDS.filter(lambda word: word.lower() not in ("retrieve", "rerank", "total")),
            "quantile": st.none() | SHARE,
        }
    ),
}


def of_families(families: Iterable[type[BaseMetric]]) -> st.SearchStrategy[BaseMetric]:
    def made(family: type[BaseMetric]) -> st.SearchStrategy[BaseMetric]:
        return PARAMETERS[family].map(lambda parameters: family(**parameters))

    return st.sampled_from(list(families)).flatmap(made)


RANKING = of_families(family for family in FAMILIES if family.ranking)
VIEWS = st.builds(
    View,
    metric=RANKING,
    stage=st.sampled_from(get_args(views.Stage)),
    source=st.none() | WORDS,
    judged_only=st.booleans(),
) | st.builds(View, metric=RANKING, rewrite=st.integers(1, 99), source=st.none() | WORDS)
GAINS = st.builds(ListGain, metric=RANKING, rewrite=st.none() | st.integers(1, 99))
# A view of the final list for all questions is the metric itself.
METRICS: st.SearchStrategy[Metric] = st.one_of(
    of_families(FAMILIES), VIEWS.map(lambda view: view.metric if view == View(metric=view.metric) else view), GAINS
)


def test_which_way_is_better_is_part_of_a_name() -> None:
    """Two gates may look at one score from both sides, and a report keeps them apart."""
    lower = parse_metric("score(cost,better=lower)")
    assert lower.name == "score(cost,better=lower)"
    assert lower == Score(field="cost", better=Direction.LOWER)


def test_the_table_names_every_family_and_nothing_else() -> None:
    """Every family of the modules of metrics has a row, once."""
    modules = [import_module(f"rankgate.metrics.{each.name}") for each in iter_modules(metrics.__path__)]
    defined = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseMetric) and "key" in vars(value)
    }
    assert set(FAMILIES) == defined
    assert len(FAMILIES) == len(registry.ROWS)


def test_a_metric_that_is_not_parsed_has_its_familys_cut_off() -> None:
    assert (Recall(), RankBiasedOverlap()) == (parse_metric("recall"), parse_metric("rbo"))
    assert (RecallAUC(), Latency()) == (parse_metric("recall_auc"), parse_metric("latency"))


def test_only_another_tools_score_asks_which_way_is_better() -> None:
    assert [family for family in FAMILIES if family.asks_direction] == [Score]


def test_every_family_is_among_the_metrics() -> None:
    assert PARAMETERS.keys() == set(FAMILIES)


@pytest.mark.full
@given(METRICS)
def test_every_metric_reads_back_from_its_name(metric: Metric) -> None:
    assert parse_metric(metric.name) == metric
    assert [each.name for each in parse_metrics(f"mrr@3,{metric.name}")] == list(dict.fromkeys(["mrr@3", metric.name]))


@pytest.mark.full
@given(METRICS)
def test_every_metric_says_what_it_means(metric: Metric) -> None:
    assert metric.meaning.strip()
    assert not set("{}") & set(metric.meaning)


@given(METRICS, METRICS)
def test_two_metrics_have_two_names(one: Metric, other: Metric) -> None:
    assert (one.name == other.name) == (one == other)


@each_row(
    ("written", "canonical"),
    [
        pytest.param("recall@5", ["recall@5"], id="one"),
        pytest.param("recall@5,mrr", ["recall@5", "mrr"], id="two"),
        pytest.param(" recall@5 , mrr ", ["recall@5", "mrr"], id="spaces"),
        pytest.param("recall@1,3,5", ["recall@1", "recall@3", "recall@5"], id="cut-offs expand"),
        pytest.param("recall@1, 3 ,5", ["recall@1", "recall@3", "recall@5"], id="cut-offs with spaces"),
        pytest.param("recall@1,3,mrr@5,10", ["recall@1", "recall@3", "mrr@5", "mrr@10"], id="two lists of cut-offs"),
        pytest.param("recall@1,all", ["recall@1", "recall@all"], id="all among the cut-offs"),
        pytest.param("recall@1,k", ["recall@1", "recall@k"], id="k among the cut-offs"),
        pytest.param("recall_at_1,3", ["recall@1", "recall@3"], id="_at_"),
        pytest.param("Recall_AT_1,3", ["recall@1", "recall@3"], id="_AT_"),
        pytest.param("recall(rel=2)@1,3", ["recall(rel=2)@1", "recall(rel=2)@3"], id="parameters repeat"),
        pytest.param(
            "ndcg(gain=binary)@5,10,map",
            ["ndcg(gain=binary)@5", "ndcg(gain=binary)@10", "map"],
            id="parameters, then another",
        ),
        pytest.param(
            "latency(stage=rerank,quantile=0.9),mrr",
            ["latency(stage=rerank,quantile=0.9)", "mrr"],
            id="a comma in brackets does not part",
        ),
        pytest.param("recall@5,R@5,Recall_at_5", ["recall@5"], id="the same metric once"),
        pytest.param("mrr,recall@5,map", ["mrr", "recall@5", "map"], id="in the order written"),
        pytest.param(
            "recall(stage=raw)@5,50",
            ["recall(stage=raw)@5", "recall(stage=raw)@50"],
            id="of another list, cut-offs expand",
        ),
        pytest.param(
            "rewrite_gain(recall@5,rewrite=2),mrr@1,3",
            ["rewrite_gain(recall@5,rewrite=2)", "mrr@1", "mrr@3"],
            id="a comma inside a gain does not part",
        ),
        pytest.param("score(cost),source_share(KB)", ["score(cost)", "source_share(KB)"], id="what stands alone"),
    ],
)
def test_list(written: str, canonical: list[str]) -> None:
    assert [metric.name for metric in parse_metrics(written)] == canonical


@pytest.mark.parametrize(
    ("written", "cutoffs", "expected"),
    [
        pytest.param("recall", [5], "recall@5", id="one"),
        pytest.param("recall,hit", [1, 3], "recall@1,3,hit@1,3", id="each at each"),
        pytest.param("recall@2,hit", [1, 3], "recall@2,hit@1,3", id="but what has its own"),
        pytest.param("latency,score(cost)", [5], "latency,score(cost)", id="and what takes none"),
        pytest.param("rerank_gain(recall@5)", [3], "rerank_gain(recall@5)", id="or has it inside"),
        pytest.param("Rewrite-Gain(recall@5)", [3], "Rewrite-Gain(recall@5)", id="or has it inside, however spelled"),
        pytest.param("recall at 5", [3], "recall at 5", id="and what is no name, which is for others to say"),
        pytest.param("ndcg(gain=binary,ideal=gold)", [3], "ndcg(gain=binary,ideal=gold)@3", id="after the parameters"),
        pytest.param(
            "source_share(kb),recall(source=kb)", [3], "source_share(kb),recall(source=kb)@3", id="of a source"
        ),
    ],
)
def test_cut_offs_for_all_that_lack_one(written: str, cutoffs: Sequence[int], expected: str) -> None:
    assert at_cutoffs(written, cutoffs) == expected


@pytest.mark.parametrize(
    ("written", "family"),
    [
        pytest.param("recall", Recall, id="a key"),
        pytest.param(" Hit-Rate@5 ", Hit, id="an alias, in any spelling"),
        pytest.param("score", Score, id="without the parameter that it needs"),
        pytest.param("recall(beta=2)@0", Recall, id="whatever its parameters and cut-off"),
        pytest.param("f1", F, id="a name that implies a parameter"),
    ],
)
def test_family(written: str, family: type[BaseMetric]) -> None:
    assert family_of(written) is family


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param("recal", "unknown metric 'recal'; did you mean 'recall'?", id="near"),
        pytest.param("Recal@K", "unknown metric 'Recal@K'; did you mean 'recall@k'?", id="near, with its cut-off"),
        pytest.param("a b", "unknown metric 'a b'; `rankgate metrics` lists them", id="no name at all"),
    ],
)
def test_no_family(written: str, message: str) -> None:
    with pytest.raises(UnknownMetricError) as caught:
        family_of(written)
    assert str(caught.value) == message


KNOWN = "known: rel, stage, rewrite, source, item_source, judged_only"
NO_NAME = "is not a metric name; write it like recall@5 or ndcg(gain=exponential)@10"


@each_row(
    ("written", "message"),
    [
        # No such metric.
        pytest.param("recal@5", "unknown metric 'recal@5'; did you mean 'recall@5'?", id="nearest, with its cut-off"),
        pytest.param("ndgc@10", "unknown metric 'ndgc@10'; did you mean 'ndcg@10'?", id="letters swapped"),
        pytest.param(
            "precision_@5", "unknown metric 'precision_@5'; did you mean 'precision@5'?", id="a letter too many"
        ),
        pytest.param("hit_rete@5", "unknown metric 'hit_rete@5'; did you mean 'hit_rate@5'?", id="a wrong letter"),
        *(
            pytest.param(
                name, f"unknown metric {name!r}; `rankgate metrics` lists them", id=f"no other quantity: {why}"
            )
            for name, why in {
                "mmr": "marginal relevance is no mrr",
                "idcg@10": "the ideal gain is no gain",
                "recall_gain@5": "a gain is no area",
                "f3@5": "another beta",
                "ndcg2@10": "nobody knows what",
                "set_map": "over a set",
                "num_rel_ret": "a count",
                "G_10": "gain",
            }.items()
        ),
        *(
            pytest.param(name, f"unknown metric {name!r}; {answer}", id=name)
            for answer, names in {
                "the change from the baseline is what `regression_max` of a gate on the metric itself looks at, and "
                "what reranking adds is rerank_gain(ndcg@5)": ["delta(ndcg@5)", "Delta(recall@5)", "delta@5"],
                "values are means over the questions, and none is geometric; write map": ["gm_map", "GMAP", "G-MAP"],
                "precision at levels of recall is not computed; write map, or precision@5": [
                    *("iprec_at_recall", "iprec_at_recall_0.10", "IPrec@0.1", "11pt_avg", "11-pt-avg"),
                ],
                "nothing is inferred of unjudged documents; write map(judged_only=true), or bpref": [
                    *("infAP", "infNDCG@10", "xinfAP"),
                ],
                "the gold has no subtopics; write ndcg@10, and novelty@10 for what repeats": [
                    *("alpha_ndcg", "alpha-nDCG@10", "ERR-IA@20"),
                ],
            }.items()
            for name in names
        ),
        pytest.param(
            "hits@5",
            "unknown metric 'hits@5'; some tools count relevant documents by it; write hit@5 for whether there is one, "
            "or precision@5",
            id="what tools mean different things by",
        ),
        *(
            pytest.param(
                name,
                f"unknown metric {name!r}; a model judges it; write its numbers into `scores` of the run's lines and "
                f"name it score({field})",
                id=name,
            )
            for name, field in {
                "context_entity_recall": "context_entity_recall",
                "retrieval_Context-Entity-Recall": "context_entity_recall",
                "answer_accuracy@5": "answer_accuracy",
                "hallucination": "hallucination",
                "semantic_similarity": "semantic_similarity",
            }.items()
        ),
        pytest.param(
            "Recal_at_5", "unknown metric 'Recal_at_5'; did you mean 'recall@5'?", id="nearest in another spelling"
        ),
        pytest.param("recip_renk", "unknown metric 'recip_renk'; did you mean 'recip_rank'?", id="nearest is an alias"),
        pytest.param("xyz", "unknown metric 'xyz'; `rankgate metrics` lists them", id="nothing near"),
        pytest.param("retrieval_", "unknown metric 'retrieval_'; `rankgate metrics` lists them", id="only the prefix"),
        pytest.param("xyz@5", "unknown metric 'xyz@5'; `rankgate metrics` lists them", id="nothing near, with cut-off"),
        pytest.param(
            "rerank_gian(recall@5)", "unknown metric 'rerank_gian(recall@5)'; did you mean 'rerank_gain'?", id="a gain"
        ),
        pytest.param("rerank_gain(recal@5)", "unknown metric 'recal@5'; did you mean 'recall@5'?", id="inside a gain"),
        # No name at all.
        pytest.param("", f"'' {NO_NAME}", id="empty"),
        pytest.param("@5", f"'@5' {NO_NAME}", id="only a cut-off"),
        pytest.param("recall@", f"'recall@' {NO_NAME}", id="nothing after @"),
        pytest.param("recall@-1", f"'recall@-1' {NO_NAME}", id="a negative cut-off"),
        pytest.param("recall@5.5", f"'recall@5.5' {NO_NAME}", id="half a rank"),
        pytest.param("recall@5@6", f"'recall@5@6' {NO_NAME}", id="two cut-offs"),
        pytest.param("recall at 5", f"'recall at 5' {NO_NAME}", id="spaces"),
        pytest.param("recall(rel=2", f"'recall(rel=2' {NO_NAME}", id="an open bracket"),
        # Cut-offs.
        pytest.param(
            "recall@\u0665",
            "'recall@\u0665': the cut-off '\u0665' is neither a number nor `all` nor `k`",
            id="a foreign digit",
        ),
        # Parameters.
        *(
            pytest.param(
                f"{name}({parameter}=null)",
                f"'{name}({parameter}=null)': parameter {parameter} must be a number, not 'null'",
                id=f"{parameter} null",
            )
            for name, parameter in {
                "latency": "quantile",
                "false_evidence_rate": "min_score",
                "recall": "rewrite",
            }.items()
        ),
        *(
            pytest.param(written, f"{written!r}: {problem}", id=written)
            for written, problem in {
                "accuracy": "its number is missing; write accuracy@10",
                "SetF(beta=2.0)": "there beta is the square of what it is here; write f(beta=…,of=retrieved)@all",
                "ndcg_cut": "its number is missing; write ndcg_cut@10",
                "recall_any": "its number is missing; write recall_any@10",
                "recall@0": "the cut-off k must be at least 1",
                "retrieval_recall_at_0": "the cut-off k must be at least 1",
                "recall@five": "the cut-off 'five' is neither a number nor `all` nor `k`",
                "recall@12345678": "the cut-off '12345678' is neither a number nor `all` nor `k`",
                "latency@5": "latency takes no cut-off",
                "latency@all": "latency takes no cut-off",
                "recall(beta=2)@5": f"recall has no parameter 'beta' ({KNOWN})",
                "mrr(gain=binary)": f"mrr has no parameter 'gain' ({KNOWN})",
                "latency(rel=2)": "latency has no parameter 'rel' (known: stage, quantile)",
                "recall(cutoff=5)": f"recall has no parameter 'cutoff' ({KNOWN})",
                "recall(rel=2,rel=3)@5": "parameters are written once each as name=value, not 'rel=3'",
                "recall(rel)@5": "parameters are written once each as name=value, not 'rel'",
                "recall(2)@5": "parameters are written once each as name=value, not '2'",
                "recall(rel=x)@5": "parameter rel must be a finite number, not 'x'",
                "recall(rel=>2)@5": "parameter rel must be a finite number, not '>2'",
                "recall(rel=)@5": "parameters are written once each as name=value, not 'rel='",
                "recall(rel=nan)@5": "parameter rel must be a finite number, not 'nan'",
                "recall(rel=1e999)@5": "parameter rel must be a finite number, not '1e999'",
                "ndcg(gain=cubic)@5": "parameter gain is one of linear, exponential, binary, not 'cubic'",
                "recall(stage=index)@5": "parameter stage is one of final, raw, not 'index'",
                "precision(of=list)@5": "parameter of is one of places, retrieved, not 'list'",
                "judged(stage=raw)@5": "judged has no parameter 'stage' (known: none)",
                "rewrite_gain(recall@5,mrr,rewrite=2)": "rewrite_gain takes one metric, such as rewrite_gain(recall@5)",
                "rewrite_gain(recall@5,rewrite=null)": "parameter rewrite must be a number, not 'null'",
                "recall(rewrite=0)@5": "rewrite counts from 1, not 0",
                "rewrite_gain(mrr,rewrite=0)": "rewrite counts from 1, not 0",
                "recall(stage=raw,rewrite=1)@5": "a rewritten question has one list; leave out stage or rewrite",
                "rerank_gain(recall@5,mrr)": "rerank_gain takes one metric, such as rerank_gain(recall@5)",
                "rerank_gain(recall@5,rewrite=1)": "rerank_gain takes one metric, such as rerank_gain(recall@5)",
                "f(beta=0)@5": "beta must lie above 0 and at most at 1000, not 0",
                "f(beta=-1)@5": "beta must lie above 0 and at most at 1000, not -1",
                "novelty(threshold=0)@5": "threshold must lie above 0 and at most at 1, not 0",
                "novelty(threshold=1.5)@5": "threshold must lie above 0 and at most at 1, not 1.5",
                "rbo(p=0)": "p must lie between 0 and 1, not 0",
                "rbo(p=1)": "p must lie between 0 and 1, not 1",
                "recall_auc(grid=5)": "grid must be two or more ascending cut-offs such as 1/3/5/10/20, not '5'",
                "recall_auc(grid=5/3)": "grid must be two or more ascending cut-offs such as 1/3/5/10/20, not '5/3'",
                "recall_auc(grid=3/3)": "grid must be two or more ascending cut-offs such as 1/3/5/10/20, not '3/3'",
                "recall_auc(grid=1/5/3)": f"grid must be two or more ascending cut-offs such as {GRID}, not '1/5/3'",
                "recall_auc(grid=0/3)": "grid must be two or more ascending cut-offs such as 1/3/5/10/20, not '0/3'",
                "recall_auc@5": "recall_auc takes no cut-off",
                "rprec@5": "rprec takes no cut-off",
                "bpref@5": "bpref takes no cut-off",
                "rbp(p=0)": "p must lie between 0 and 1, not 0",
                "rbp_residual(p=1)@5": "p must lie between 0 and 1, not 1",
                "err(max=0)": "max must lie above 0 and at most at 1000, not 0",
                "err(max=1e4)@5": "max must lie above 0 and at most at 1000, not 10000",
                "recall(judged_only=maybe)@5": "parameter judged_only must be true or false, not 'maybe'",
                "exact_match(articles=the)": "parameter articles is one of kept, dropped, not 'the'",
                "score(cost,quantile=1)": "quantile must lie between 0 and 1, not 1",
                "score(cost)@5": "score takes no cut-off",
                "score": "score needs its field; write score(FIELD)",
                "score()": "score needs its field; write score(FIELD)",
                "score(better=lower)": "score needs its field; write score(FIELD)",
                "score(a,b)": "parameters are written once each as name=value, not 'b'",
                "score(cost,better=less)": "parameter better is one of higher, lower, not 'less'",
                "score(a|b)": "parameter field may hold letters, digits, blanks and . _ : / + -",
                "recall(source=<b>)@5": "parameter source may hold letters, digits, blanks and . _ : / + -",
                "source_share": "source_share needs its source; write source_share(SOURCE)",
            }.items()
        ),
        *(
            pytest.param(
                written, f"{written!r}: {step} takes one ranking metric, such as {step}(recall@5)", id=f"{step}: {what}"
            )
            for step, written, what in [
                ("rerank_gain", "rerank_gain", "of nothing"),
                ("rerank_gain", "rerank_gain()", "of nothing in brackets"),
                ("rerank_gain", "rerank_gain(recall@5)@5", "two cut-offs"),
                ("rerank_gain", "rerank_gain(latency)", "of no ranking metric"),
                ("rerank_gain", "rerank_gain(recall(stage=raw)@5)", "of a view"),
                ("rewrite_gain", "rewrite_gain(judged@5)", "of no ranking metric"),
            ]
        ),
        *(
            pytest.param(
                written, f"{written!r}: rewrite_gain takes one metric, such as rewrite_gain(recall@5)", id=what
            )
            for written, what in {
                "rewrite_gain(recall@5,depth=2)": "another parameter than rewrite",
                "rewrite_gain(recall@5,rewrite)": "rewrite without a number",
            }.items()
        ),
        pytest.param("rewrite_gain(rewrite=x)", f"'rewrite=x' {NO_NAME}", id="rewriting without a metric"),
        *(
            pytest.param(
                f"latency(quantile={q})",
                f"'latency(quantile={q})': quantile must lie between 0 and 1, not {q}",
                id=f"quantile {q}",
            )
            for q in ("0", "1", "1.5", "-0.5", "95")
        ),
    ],
)
def test_wrong_name(written: str, message: str) -> None:
    with pytest.raises(UnknownMetricError) as caught:
        parse_metric(written)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param("recall@5,", f"'' {NO_NAME}", id="a comma too many"),
        pytest.param("", f"'' {NO_NAME}", id="empty"),
        pytest.param("5,recall@5", f"'5' {NO_NAME}", id="a cut-off of nothing"),
        pytest.param("recall@1,0", "'recall@0': the cut-off k must be at least 1", id="k = 0 in a list"),
        pytest.param("recall@1,recal", "unknown metric 'recal'; did you mean 'recall'?", id="the second is wrong"),
    ],
)
def test_wrong_list(written: str, message: str) -> None:
    with pytest.raises(UnknownMetricError) as caught:
        parse_metrics(written)
    assert str(caught.value) == message


@pytest.mark.full
@given(st.text(max_size=30) | st.from_regex(r"[a-z_]{1,6}(\([a-z=0-9.,]{0,12}\))?(@\w{1,3})?", fullmatch=True))
def test_any_text_is_a_metric_or_a_clear_error(text: str) -> None:
    for parse in (parse_metric, parse_metrics):
        with suppress(UnknownMetricError):
            parse(text)
