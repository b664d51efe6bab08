"""What Python holds as a file would: samples, run lines, rows and data frames, each of which names its question."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.rows import each_row

import rankgate
from rankgate.errors import RankgateError

SAMPLES: list[dict[str, Any]] = [{"id": "q", "expected_output": ["a"]}, {"id": "p", "expected_output": {"b": 2}}]
JUDGMENTS = pd.DataFrame({"qid": ["q", "p"], "docno": ["a", "b"], "label": [1, 2]})
RESULTS = pd.DataFrame({"qid": ["q", "p", "p"], "docno": ["a", "x", "b"], "score": [1.0, 2.0, 1.0], "rank": [0, 0, 1]})
BY_QUERY = {"q": ["a"], "p": ["x", "b"]}
LISTS = [{"query_id": query_id, "retrieved": ids} for query_id, ids in BY_QUERY.items()]
RANKED = [{"id": "q", "actual_output": '{"retrieved": ["a"]}'}, {"id": "p", "actual_output": '["x", "b"]'}]


def rows(frame: pd.DataFrame) -> Any:
    return frame.to_dict("records")


@pytest.mark.full
@each_row(
    "gold",
    [
        pytest.param(SAMPLES, id="samples"),
        pytest.param({"samples": SAMPLES}, id="what a JSON file holds"),
        pytest.param(pd.DataFrame(SAMPLES), id="a frame of samples"),
        pytest.param(JUDGMENTS, id="a frame of judgments"),
        pytest.param(pa.Table.from_pandas(JUDGMENTS), id="a table of Arrow"),
        pytest.param(rows(JUDGMENTS), id="judgments as dicts"),
        pytest.param({"q": ["a"], "p": ["b"]}, id="by query"),
    ],
)
@each_row(
    "run",
    [
        pytest.param(BY_QUERY, id="a dict of lists of texts"),
        pytest.param(LISTS, id="run lines"),
        pytest.param(LISTS[::-1], id="run lines in another order"),
        pytest.param(RANKED, id="lists as JSON texts"),
        pytest.param({line["id"]: line for line in RANKED}, id="the same by query"),
        pytest.param(pd.DataFrame(LISTS), id="a frame of lists"),
        pytest.param(
            pd.DataFrame([{**line, "retrieved": np.array(line["retrieved"])} for line in LISTS]), id="of arrays"
        ),
        pytest.param(RESULTS, id="a frame of results"),
        pytest.param(pa.Table.from_pandas(RESULTS), id="a table of Arrow"),
        pytest.param(rows(RESULTS), id="results as dicts"),
    ],
)
def test_what_names_its_question(gold: Any, run: Any) -> None:
    assert rankgate.score(gold, run, metrics="mrr").values == {"mrr": 0.75}
    report = rankgate.check(gold, run, criteria={"gates": [{"name": "mrr", "threshold": 0.7}]})
    assert report.gates[0].measured.value == 0.75


def test_numbers_of_numpy_are_gains_and_nan_of_a_frame_is_no_judgment() -> None:
    run = {"q": ["a", "b"]}
    scores = rankgate.score({"q": {"b": np.int64(2), "a": np.float32(1)}}, run, metrics="weighted_recall@1")
    assert scores.values == {"weighted_recall@1": pytest.approx(1 / 3)}
    frame = pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "label": [np.nan, 1]})
    for written in (frame, frame.convert_dtypes()):
        scores = rankgate.score(written, run, metrics="mrr,judged@2")
        assert scores.values == {"mrr": 0.5, "judged@2": 0.5}


def test_what_names_no_question_goes_by_its_place() -> None:
    gold = [{"expected_output": ["a"]}, {"expected_output": ["b"]}]
    assert rankgate.score(gold, [["a"], ["b"]], metrics="mrr").values == {"mrr": 1.0}
    assert rankgate.score([{"a": 1}], [{"a": 0.5}], metrics="mrr").values == {"mrr": 1.0}, "gains and scores by id"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rankgate.score(SAMPLES + SAMPLES[:1], BY_QUERY), "gold: [2]: sample 'q' stands twice"),
        (
            lambda: rankgate.score(SAMPLES, LISTS + LISTS[:1]),
            "run: [2]: query 'q' stands twice (first at [0]); keep one ranking of it",
        ),
        (
            lambda: rankgate.score(JUDGMENTS, JUDGMENTS),
            "run: no usual name for what orders (found: 'qid', 'docno', 'label'); rename its columns to",
        ),
        (
            lambda: rankgate.score(JUDGMENTS, RESULTS.assign(score=float("nan"))),
            "run: [0]: the score of 'a' is nothing; expected a finite number",
        ),
        (lambda: rankgate.score(JUDGMENTS, RESULTS.assign(qid=1.0)), "run: [0]: the query: expected an id, found 1.0"),
        (lambda: rankgate.score(JUDGMENTS, RESULTS[:0]), "run: no usual name for the query (found: nothing)"),
        (lambda: rankgate.score(SAMPLES, {"q": ["a", ""]}), "run: query 'q': item 2 has an empty id"),
        (
            lambda: rankgate.score(SAMPLES, [{"query_id": "q", "retrieved": "prose"}]),
            "run: [0]: retrieved: expected a list of results, found 'prose'",
        ),
    ],
)
def test_what_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        call()
    assert str(caught.value).startswith(message)
