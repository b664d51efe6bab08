"""`rankgate.score(...)`: metrics of a run in Python, from files or from plain lists; and how values are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import msgspec

from rankgate.errors import bad_input, from_python, on_one_line
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.metrics.held import GoldLike, RunLike, held_gold, held_run, refuse_unequal
from rankgate.metrics.matching import DEFAULT_K, By, Matching
from rankgate.metrics.names import UnknownMetricError, at_cutoffs, parse_metric, parse_metrics
from rankgate.metrics.plan import Plan, require_fields, require_gold_queries
from rankgate.metrics.scored_baseline import ids_of, in_numbers
from rankgate.metrics.scored_run import of_gold, score_run, without_own
from rankgate.model.scores import Scores
from rankgate.model.values import RunField
from rankgate.readers.results import listed

DEFAULT_METRICS = "hit,recall,precision,mrr@all,map@all,ndcg"

MAX_ROWS = 12  # of a representation


class PerQuery(Mapping[str, Mapping[str, float | None]]):
    """The values query by query: `per_query["q-1"]["recall@5"]`, in gold order; None where a metric is undefined."""

    def __init__(self, scores: Scores) -> None:
        self._rows = {query_id: row for row, query_id in enumerate(scores.query_ids)}
        self._columns = scores.values

    def __getitem__(self, query_id: str) -> Mapping[str, float | None]:
        row = self._rows[query_id]
        return {name: column[row] for name, column in self._columns.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Shown:
    """What a prompt and a notebook show in a few lines: the title and the rows of `table`, whose first is the head."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """What the command prints by `--format json`."""
        raise NotImplementedError

    def table(self) -> tuple[str, Sequence[Sequence[str]]]:
        """Of values with `metrics` by name and counts of `queries`."""
        value = self.to_dict()
        keys = dict.fromkeys(key for row in value["metrics"].values() for key in row or () if key != "distribution")
        rows = [[name, *(_cell((row or {}).get(key)) for key in keys)] for name, row in value["metrics"].items()]
        return ", ".join(f"{count:,} {key}" for key, count in value["queries"].items()), [["metric", *keys], *rows]

    def __repr__(self) -> str:
        title, rows = self.table()
        kept = [[on_one_line(cell) for cell in row] for row in rows[: MAX_ROWS + 1]]
        widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
        lines = [f"  {'  '.join(map(str.ljust, row, widths))}".rstrip() for row in kept]
        lines += [f"  and {len(rows) - len(kept)} more"] if len(rows) > len(kept) else []
        return "\n".join([f"{type(self).__name__}: {on_one_line(title)}", *lines])

    def _repr_html_(self) -> str:
        title, rows = self.table()
        lines = ["".join(f"<td>{escape(on_one_line(cell))}</td>" for cell in row) for row in rows]
        return f"<p>{escape(on_one_line(title))}</p><table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _cell(value: Any) -> str:
    """A number to four digits, an interval as its bounds, and a dash for nothing."""
    if isinstance(value, tuple):
        return " to ".join(map(_cell, value))
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


class RunComparison(Shown, msgspec.Struct, frozen=True):
    """Two runs on the same questions: `comparison["recall@5"].delta` is the change, in any spelling of the name.

    What has no value in both runs is None; what compares B with A by itself is an `Estimate` of B. `total` queries are
    in the gold set; A lacks `missing_a` of them and B `missing_b`, and these are not compared.
    """

    metrics: Mapping[str, Comparison | Estimate | None]
    total: int
    missing_a: int
    missing_b: int

    def __getitem__(self, name: str) -> Comparison | Estimate | None:
        return self.metrics[_canonical(name, self.metrics)]

    def to_dict(self) -> dict[str, Any]:
        """What `rankgate compare --format json` prints."""
        queries = {"total": self.total, "missing_a": self.missing_a, "missing_b": self.missing_b}
        return {"metrics": {name: in_numbers(each) for name, each in self.metrics.items()}, "queries": queries}


def _canonical(name: str, known: Mapping[str, object]) -> str:
    return name if name in known else parse_metric(name).name


class Evaluation(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What a run scored: `evaluation["recall@5"]` is its value, in any spelling of the name.

    It is None where the metric is defined for no query.

    Attributes:
        estimates: by canonical name the value over all queries, its 95 % interval, `n` scored and `undefined` queries,
            and the distribution of a rate; None where the metric is defined for no query.
        columns: by canonical name one value a gold query, in gold order; None where undefined.
        per_query: the same by query: `per_query["q-1"]["recall@5"]`.
        missing: gold queries that the run lacks; they score as worst.
        unjudged: queries of the run that the gold lacks; they are ignored.
        duplicates: repeated ids that were removed from the lists.
    """

    estimates: Mapping[str, Estimate | None]
    columns: Mapping[str, Sequence[float | None]]
    per_query: PerQuery
    missing: tuple[str, ...]
    unjudged: tuple[str, ...]
    duplicates: int

    def __getitem__(self, name: str) -> float | None:
        estimated = self.estimates[_canonical(name, self.estimates)]
        return None if estimated is None else estimated.value

    @property
    def values(self) -> dict[str, float | None]:
        """The run's value by canonical name."""
        return {name: self[name] for name in self.estimates}

    def to_dict(self) -> dict[str, Any]:
        """What `rankgate score --format json` prints, without single queries."""
        total = len(self.per_query)
        none = {"value": None, "ci": None, "n": 0, "undefined": total, "distribution": None}
        metrics = {name: msgspec.to_builtins(each) if each else none for name, each in self.estimates.items()}
        counts = {"missing": len(self.missing), "unjudged": len(self.unjudged), "duplicates": self.duplicates}
        return {"metrics": metrics, "queries": {"total": total, **counts}}

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row a query by id and a column a metric, NaN where undefined; needs pandas."""
        try:
            import pandas  # noqa: PLC0415, ICN001 -- of whoever asks for a frame
        except ImportError as error:
            raise bad_input("to_frame() needs pandas: pip install pandas") from error
        return pandas.DataFrame(dict(self.columns), index=pandas.Index([*self.per_query], name="query_id"), dtype=float)


@from_python
def score(
    gold: GoldLike,
    run: RunLike | None = None,
    *,
    retrieved: RunLike | None = None,
    metrics: str | Sequence[str] | None = None,
    k: int | Sequence[int] | None = None,
    match: str | Matching = "chunk",
    default_k: int = DEFAULT_K,
    baseline: RunLike | None = None,
) -> Evaluation:
    """Score a run, from files or from what a notebook has in memory.

    >>> import rankgate
    >>> found = rankgate.score(gold=[["doc1", "doc2"], ["doc3"]], retrieved=[["doc2", "doc9"], ["doc3"]], k=[1, 5])
    >>> found["recall@5"], found["mrr"]
    (0.75, 1.0)
    >>> found.columns["recall@5"]
    [0.5, 1.0]

    Args:
        gold: a gold file of any format, or per query the relevant ids or `{id: gain}`: a mapping by query id, or a list
            in the order of `retrieved`, whose queries are then called "0", "1" and so on. Or samples as dicts, or
            judgments, a row each, as dicts or a data frame.
        run: a run file of any format, or, as a mapping or a list, per query what a retriever may return to `record`,
            best first: ids, (id, score) pairs, mappings, objects with an id such as LangChain's `Document` and
            LlamaIndex' `NodeWithScore`, a run line with `topk`; or `{id: score}`, the highest score first, ties by
            id descending. Or run lines or rows with a result each, as dicts or a data frame, each of which names its
            question. All else is an error, a set among it.
        retrieved: another name for `run`.
        metrics: names such as `"recall@5,mrr"` or `["recall@5", "ndcg(gain=exponential)@10"]`; by default hit, recall,
            precision and nDCG at `k`, and MRR and MAP over the whole list.
        k: cut-offs for every name that has none of its own: `k=[1, 5]` makes recall@1 and recall@5 of `recall`.
        match: chunk, doc, text or span, or a `Matching` with its parameters. By text, gold has passages, and a run in
            memory may have bare texts where it else has ids.
        default_k: the cut-off where neither a name, nor `k`, nor the gold's sample states one.
        baseline: the run to compare with, for metrics such as overlap and rbo.

    Raises:
        RankgateError: what cannot be scored, with file, line and query where there are any.
    """
    if (run is None) == (retrieved is None):
        raise bad_input("give the run once, as run= or retrieved=")
    how, named = matching_of(match), metrics_of(DEFAULT_METRICS if metrics is None else metrics, k)
    plan = Plan(metrics=named, default_k=default_k, how=how, keep_matched=baseline is not None)
    gold = listed(gold)
    baseline = listed(baseline)
    run = listed(retrieved if run is None else run)
    judged = held_gold(gold)
    if baseline is not None:
        accepted = score_run(judged, without_own(held_run(baseline, plan.needs, how, "baseline"), how), plan)
        plan = msgspec.structs.replace(plan, baseline_ids=ids_of(accepted, plan), keep_matched=False)
    for metric in plan.metrics:
        if RunField.BASELINE in metric.needs and baseline is None:
            raise bad_input(f"{metric.name} compares with a baseline; give it as baseline=")
    opened = of_gold(held_run(run, plan.needs, how, "run"), judged, how)
    refuse_unequal(gold, run)
    scores = score_run(judged, opened, plan)
    require_gold_queries(scores, opened.name, judged)
    require_fields(scores, plan, opened.name)
    columns = ((metric, scores.values[metric.name]) for metric in plan.metrics)
    return Evaluation(
        estimates={metric.name: estimate(column, metric, clusters=scores.clusters) for metric, column in columns},
        columns={name: [*column] for name, column in scores.values.items()},
        per_query=PerQuery(scores),
        missing=tuple(query_id for query_id in scores.query_ids if query_id in scores.missing),
        unjudged=scores.unknown_queries,
        duplicates=scores.duplicates,
    )


def metrics_of(written: str | Sequence[str], k: int | Sequence[int] | None = None) -> list[Metric]:
    """Metrics by their names; each that has no cut-off is asked for at every `k`."""
    text = written if isinstance(written, str) else ",".join(written)
    cutoffs = tuple(k or ()) if isinstance(k, Sequence | None) else (k,)
    if any(type(cutoff) is not int or cutoff < 1 for cutoff in cutoffs):
        raise bad_input(f"k must be whole numbers from 1 up, not {k!r}")
    try:
        return parse_metrics(at_cutoffs(text, cutoffs) if cutoffs else text)
    except UnknownMetricError as error:
        raise bad_input(str(error)) from error


def matching_of(written: str | Matching) -> Matching:
    """How ids are matched, as `score` takes it."""
    if isinstance(written, Matching):
        return written
    if written not in (choices := [by.value for by in By]):
        raise bad_input(f"match is one of {', '.join(choices)}, not {written!r}")
    return Matching(by=By(written))
