"""How metrics are written: every spelling and alias, the canonical name, lists, and what is said of a wrong name."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankgate.metrics.base import Cutoff
from rankgate.metrics.gains import DCG, NDCG, Gain
from rankgate.metrics.latency import Latency, Stage
from rankgate.metrics.names import UnknownMetricError, parse_metric, parse_metrics
from rankgate.metrics.ranks import AveragePrecision, ReciprocalRank
from rankgate.metrics.sets import Hit, Precision, Recall, RecallAll


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        # Families and their cut-offs.
        pytest.param("hit@5", "hit@5", id="hit"),
        pytest.param("recall@5", "recall@5", id="recall"),
        pytest.param("recall_all@5", "recall_all@5", id="recall_all"),
        pytest.param("precision@5", "precision@5", id="precision"),
        pytest.param("mrr@10", "mrr@10", id="mrr"),
        pytest.param("ap@10", "ap@10", id="ap"),
        pytest.param("dcg@10", "dcg@10", id="dcg"),
        pytest.param("ndcg@10", "ndcg@10", id="ndcg"),
        pytest.param("latency", "latency", id="latency takes no cut-off"),
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
        # Case, joints and prefix.
        pytest.param("Recall@5", "recall@5", id="capital"),
        pytest.param("RECALL@5", "recall@5", id="capitals"),
        pytest.param("recall_at_5", "recall@5", id="_at_"),
        pytest.param("recall-at-5", "recall@5", id="-at-"),
        pytest.param("Recall-AT-5", "recall@5", id="-AT-"),
        pytest.param("recall_at_k", "recall@k", id="_at_k"),
        pytest.param("recall_at_all", "recall@all", id="_at_all"),
        pytest.param("recall_all_at_5", "recall_all@5", id="recall_all with _at_"),
        pytest.param("hit_rate_at_5", "hit@5", id="an alias with _at_"),
        pytest.param("retrieval_recall_at_5", "recall@5", id="retrieval_ with _at_"),
        pytest.param("retrieval-recall-at-k", "recall@k", id="retrieval- with -at-"),
        pytest.param("retrieval_recall@5", "recall@5", id="retrieval_ with @"),
        pytest.param("RETRIEVAL_RECALL_AT_5", "recall@5", id="all in capitals"),
        pytest.param("retrieval_mrr", "mrr", id="retrieval_mrr"),
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
        pytest.param("hit(rel=2)@1", "hit(rel=2)@1", id="hit with rel"),
        pytest.param("map(rel=2)", "map(rel=2)", id="map with rel"),
        pytest.param("mrr(rel=2)@10", "mrr(rel=2)@10", id="mrr with rel"),
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
        # A name must say what it stands for.
        pytest.param("recall(rel=1.0000001)@5", "recall(rel=1.0000001)@5", id="no digit of a parameter is dropped"),
        pytest.param("latency(quantile=0.9999999)", "latency(quantile=0.9999999)", id="nor of a quantile"),
    ],
)
def test_spelling(written: str, canonical: str) -> None:
    assert parse_metric(written).name == canonical
    assert parse_metric(canonical) == parse_metric(written)


RELEVANCE = [Hit, Recall, RecallAll, Precision, ReciprocalRank, AveragePrecision]
CUTOFFS = st.one_of(st.integers(1, 9_999_999), st.sampled_from([Cutoff.WHOLE, Cutoff.SAMPLE]))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
METRICS = st.one_of(
    st.builds(lambda family, **fields: family(**fields), st.sampled_from(RELEVANCE), cutoff=CUTOFFS, rel=FINITE),
    st.builds(
        lambda family, **fields: family(**fields),
        st.sampled_from([DCG, NDCG]),
        cutoff=CUTOFFS,
        gain=st.sampled_from(Gain),
    ),
    st.builds(
        Latency,
        stage=st.sampled_from(Stage),
        quantile=st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True),
    ),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(METRICS)
def test_every_metric_reads_back_from_its_name(metric: Recall | DCG | Latency) -> None:
    assert parse_metric(metric.name) == metric


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(METRICS, METRICS)
def test_two_metrics_have_two_names(one: Recall | DCG | Latency, other: Recall | DCG | Latency) -> None:
    assert (one.name == other.name) == (one == other)


@pytest.mark.parametrize(
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
        pytest.param("recall-at-1,3", ["recall@1", "recall@3"], id="-at-"),
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
    ],
)
def test_list(written: str, canonical: list[str]) -> None:
    assert [metric.name for metric in parse_metrics(written)] == canonical


NO_NAME = "is not a metric name; write it like recall@5 or ndcg(gain=exponential)@10"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        # No such metric.
        pytest.param("recal@5", "unknown metric 'recal@5'; did you mean 'recall@5'?", id="nearest, with its cut-off"),
        pytest.param("ndgc@10", "unknown metric 'ndgc@10'; did you mean 'ndcg@10'?", id="letters swapped"),
        pytest.param("hits@5", "unknown metric 'hits@5'; did you mean 'hit@5'?", id="plural"),
        pytest.param(
            "Recal_at_5", "unknown metric 'Recal_at_5'; did you mean 'recall@5'?", id="nearest in another spelling"
        ),
        pytest.param("recall5", "unknown metric 'recall5'; did you mean 'recall'?", id="nearest without cut-off"),
        pytest.param(
            "reciprocal_rank", "unknown metric 'reciprocal_rank'; did you mean 'recip_rank'?", id="nearest is an alias"
        ),
        pytest.param("xyz", "unknown metric 'xyz'; `rankgate metrics` lists them", id="nothing near"),
        pytest.param("retrieval_", "unknown metric 'retrieval_'; `rankgate metrics` lists them", id="only the prefix"),
        pytest.param("f1@5", "unknown metric 'f1@5'; `rankgate metrics` lists them", id="nothing near, with cut-off"),
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
        pytest.param("recall@0", "'recall@0': the cut-off k must be at least 1", id="k = 0"),
        pytest.param("retrieval_recall_at_0", "'retrieval_recall_at_0': the cut-off k must be at least 1", id="_at_0"),
        pytest.param(
            "recall@five",
            "'recall@five': the cut-off 'five' is neither a number nor `all` nor `k`",
            id="a word as cut-off",
        ),
        pytest.param(
            "recall@12345678",
            "'recall@12345678': the cut-off '12345678' is neither a number nor `all` nor `k`",
            id="a cut-off longer than any ranking",
        ),
        pytest.param(
            "recall@\u0665",
            "'recall@\u0665': the cut-off '\u0665' is neither a number nor `all` nor `k`",
            id="a foreign digit",
        ),
        pytest.param("latency@5", "'latency@5': latency takes no cut-off", id="cut-off on latency"),
        pytest.param("latency@all", "'latency@all': latency takes no cut-off", id="@all on latency"),
        # Parameters.
        pytest.param(
            "recall(beta=2)@5",
            "'recall(beta=2)@5': recall has no parameter 'beta' (known: rel)",
            id="unknown parameter",
        ),
        pytest.param(
            "mrr(gain=binary)", "'mrr(gain=binary)': mrr has no parameter 'gain' (known: rel)", id="another's"
        ),
        pytest.param(
            "latency(rel=2)",
            "'latency(rel=2)': latency has no parameter 'rel' (known: stage, quantile)",
            id="two known",
        ),
        pytest.param(
            "recall(cutoff=5)", "'recall(cutoff=5)': recall has no parameter 'cutoff' (known: rel)", id="cutoff by name"
        ),
        pytest.param(
            "recall(rel=2,rel=3)@5",
            "'recall(rel=2,rel=3)@5': parameters are written once each as name=value, not 'rel=3'",
            id="twice",
        ),
        pytest.param(
            "recall(rel)@5", "'recall(rel)@5': parameters are written once each as name=value, not 'rel'", id="no value"
        ),
        pytest.param(
            "recall(2)@5", "'recall(2)@5': parameters are written once each as name=value, not '2'", id="a bare value"
        ),
        pytest.param(
            "recall(rel=x)@5", "'recall(rel=x)@5': parameter rel: Expected `float`, got `str`", id="not a number"
        ),
        pytest.param(
            "recall(rel=)@5", "'recall(rel=)@5': parameter rel: Expected `float`, got `str`", id="empty value"
        ),
        pytest.param("recall(rel=nan)@5", "'recall(rel=nan)@5': parameter rel must be a finite number", id="NaN"),
        pytest.param("recall(rel=1e999)@5", "'recall(rel=1e999)@5': parameter rel: Number out of range", id="infinite"),
        pytest.param(
            "ndcg(gain=cubic)@5", "'ndcg(gain=cubic)@5': parameter gain: Invalid enum value 'cubic'", id="unknown gain"
        ),
        pytest.param(
            "latency(stage=index)",
            "'latency(stage=index)': parameter stage: Invalid enum value 'index'",
            id="unknown stage",
        ),
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
        pytest.param("recall@1,mmr", "unknown metric 'mmr'; did you mean 'mrr'?", id="the second is wrong"),
    ],
)
def test_wrong_list(written: str, message: str) -> None:
    with pytest.raises(UnknownMetricError) as caught:
        parse_metrics(written)
    assert str(caught.value) == message


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=30) | st.from_regex(r"[a-z_]{1,6}(\([a-z=0-9.,]{0,12}\))?(@\w{1,3})?", fullmatch=True))
def test_any_text_is_a_metric_or_a_clear_error(text: str) -> None:
    for parse in (parse_metric, parse_metrics):
        with suppress(UnknownMetricError):
            parse(text)
