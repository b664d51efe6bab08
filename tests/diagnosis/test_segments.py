"""Scores by tag: which segments there are, in what order, and that each is the metric over its own queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gate_rows import scores_of

from rankgate.diagnosis.movements import by_tag
from rankgate.metrics.comparison import compare
from rankgate.metrics.estimates import estimate
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.model.report import Segment, SegmentValue
from rankgate.model.scores import Scores
from rankgate.model.values import Direction, Gold, Sample, Unit


def gold(tags: Mapping[str, Sequence[str]]) -> Gold:
    samples = {
        query_id: Sample(query_id=query_id, gains={"a": 1.0}, tags=tuple(given)) for query_id, given in tags.items()
    }
    return Gold(samples=samples, name="gold.yaml", format="yaml", fingerprint="")


def scores(asked: Gold, values: Sequence[float | None], metric: str, new: Collection[str] = ()) -> Scores:
    return scores_of(
        asked.samples, {parse_metric(metric).name: values}, missing=frozenset(new), new_queries=frozenset(new)
    )


def segments(
    tags: Mapping[str, Sequence[str]],
    now: Sequence[float | None],
    before: Sequence[float | None] | None = None,
    *,
    new: Collection[str] = (),
    metric: str = "recall@5",
) -> list[Segment]:
    asked = gold(tags)
    baseline = None if before is None else scores(asked, before, metric, new)
    return by_tag(asked, parse_metrics(metric), scores(asked, now, metric), baseline)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        pytest.param({"q1": [], "q2": []}, [], id="no tags, no segments"),
        pytest.param(
            {"q1": ["lang:pt-BR"], "q2": ["lang:en"], "q3": ["lang:en"]},
            [("lang", "en", 2), ("lang", "pt-BR", 1)],
            id="by value within a dimension",
        ),
        pytest.param(
            {"q1": ["topic:z"], "q2": ["lang:en", "topic:a"]},
            [("topic", "a", 1), ("topic", "z", 1), ("lang", "en", 1)],
            id="dimensions in the order of the gold",
        ),
        pytest.param(
            {"q1": ["urgent", "lang:en"], "q2": ["old"]},
            [("tag", "old", 1), ("tag", "urgent", 1), ("lang", "en", 1)],
            id="bare words share the dimension tag",
        ),
        pytest.param({"q1": ["url:http://x"]}, [("url", "http://x", 1)], id="the first colon splits"),
        pytest.param({"q1": ["lang:"]}, [("lang", "", 1)], id="an empty value is a value"),
        pytest.param({"q1": ["idioma:português"]}, [("idioma", "português", 1)], id="any script"),
        pytest.param(
            {"q1": ["urgent", "tag:urgent"]}, [("tag", "urgent", 1)], id="two spellings of one tag count once"
        ),
    ],
)
def test_which_segments(tags: Mapping[str, Sequence[str]], expected: list[tuple[str, str, int]]) -> None:
    found = segments(tags, [1.0] * len(tags))
    assert [(segment.dimension, segment.value, segment.queries) for segment in found] == expected


TWO = {"q1": ["lang:en"], "q2": ["lang:en"], "q3": ["lang:pt"]}


@pytest.mark.parametrize(
    ("now", "before", "new", "english"),
    [
        pytest.param([1.0, 0.5, 0.0], None, (), (0.75, 2, None, None, 0), id="without a baseline"),
        pytest.param([1.0, 0.5, 0.0], [1.0, 1.0, 1.0], (), (0.75, 2, 1.0, -0.25, 2), id="with a baseline"),
        pytest.param(
            [1.0, None, 0.0], [1.0, None, 1.0], (), (1.0, 1, 1.0, 0.0, 1), id="undefined queries are left out"
        ),
        pytest.param([None, None, 1.0], [None, None, 1.0], (), (None, 0, None, None, 0), id="undefined everywhere"),
        pytest.param([1.0, 0.0, 1.0], [1.0, 0.0, 1.0], ["q2"], (0.5, 2, 1.0, 0.0, 1), id="a new query is not compared"),
        pytest.param([1.0, 0.0, 1.0], [0.0, 0.0, 1.0], ["q1", "q2"], (0.5, 2, None, None, 0), id="a new segment"),
    ],
)
def test_a_segment_is_the_metric_over_its_own_queries(
    now: Sequence[float | None],
    before: Sequence[float | None] | None,
    new: Collection[str],
    english: tuple[float | None, int, float | None, float | None, int],
) -> None:
    first = segments(TWO, now, before, new=new)[0]
    value, count, baseline, delta, pairs = english
    own = estimate(now[:2], parse_metric("recall@5"))
    assert first == Segment(
        dimension="lang",
        value="en",
        queries=2,
        metrics={
            "recall@5": SegmentValue(
                value=value,
                ci=own.ci if own else None,
                n=count,
                baseline=baseline,
                delta=delta,
                n_pairs=pairs,
                unit=Unit.SHARE,
                direction=Direction.HIGHER,
            )
        },
    )


def test_a_segment_takes_quantiles_as_the_metric_does() -> None:
    found = segments(TWO, [10.0, 30.0, 50.0], [20.0, 20.0, 20.0], metric="latency(quantile=0.9)")
    english = found[0].metrics["latency(quantile=0.9)"]
    assert (english.value, english.baseline, english.delta) == (30.0, 20.0, 10.0)
    assert (english.unit, english.direction) == (Unit.MILLISECONDS, Direction.LOWER)


def test_every_metric_is_in_every_segment_in_the_order_asked() -> None:
    asked = gold(TWO)
    both = scores_of(asked.samples, {"mrr": [1.0, 0.5, 0.0], "recall@5": [1.0, 1.0, 0.0]})
    for segment in by_tag(asked, parse_metrics("recall@5,mrr"), both, both):
        assert list(segment.metrics) == ["recall@5", "mrr"]


shares = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0])
rows = st.lists(
    st.tuples(st.lists(st.sampled_from(["lang:en", "lang:pt", "urgent", "topic:a"]), unique=True), shares, shares),
    min_size=1,
    max_size=12,
)


@given(rows)
def test_a_segment_is_what_its_queries_alone_would_score(
    table: list[tuple[list[str], float | None, float | None]],
) -> None:
    tags = {f"q{number}": row[0] for number, row in enumerate(table)}
    found = segments(tags, [row[1] for row in table], [row[2] for row in table])
    assert sum(segment.queries for segment in found) == sum(len(row[0]) for row in table)
    for segment in found:
        tag = segment.value if segment.dimension == "tag" else f"{segment.dimension}:{segment.value}"
        members = [row for row in table if tag in row[0]]
        now = [row[1] for row in members if row[1] is not None]
        pairs = [(row[1], row[2]) for row in members if row[1] is not None and row[2] is not None]
        value = segment.metrics["recall@5"]
        assert (segment.queries, value.n, value.n_pairs) == (len(members), len(now), len(pairs))
        assert value.value == (pytest.approx(sum(now) / len(now)) if now else None)
        fell = sum(new - old for new, old in pairs)
        assert value.delta == (pytest.approx(fell / len(pairs), abs=1e-12) if pairs else None)


@pytest.mark.full
@given(rows)
def test_a_tag_that_all_queries_share_says_what_the_whole_says(
    table: list[tuple[list[str], float | None, float | None]],
) -> None:
    tags = {f"q{number}": ["all:of-them"] for number in range(len(table))}
    now, before = [row[1] for row in table], [row[2] for row in table]
    (segment,) = segments(tags, now, before)
    metric = parse_metric("recall@5")
    whole = compare(metric, now, baseline_column(metric, scores(gold(tags), before, "recall@5")))
    assert segment.metrics["recall@5"].delta == (whole.delta if whole else None)
