"""What must hold of the readers whatever they are given, and that what is written reads back the same."""

import gzip
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.json_lines import json_lines

from rankgate.criteria import load_criteria
from rankgate.errors import Problem, RankgateError
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.corpus import read_corpus
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import GOLD_FORMATS, MAPPED_FORMATS, RUN_FORMATS, read_gold, read_run
from rankgate.readers.loose_lines import LooseLines
from rankgate.readers.per_query import read_scores, read_values
from rankgate.readers.strict_lines import Lines
from rankgate.readers.yaml_text import load_yaml

many = settings(max_examples=40)  # each by every reader
some = settings(max_examples=12)  # each in one of a dozen shapes

TIMES = frozenset({RunField.LATENCY})
ANSWERS = frozenset({RunField.ANSWER})
METRICS = parse_metrics("hit@3,recall@3,precision@all,mrr,map,ndcg,ndcg(gain=exponential)@3,recall(rel=2)@k,latency")


EVERYTHING = frozenset(RunField)
OF_LISTS = FieldMap(query_id="id", items="topk", chunk_id="id", score="score", text="text", latency_ms="k")
OF_ROWS = FieldMap(query_id="id", chunk_id="question", rank="k", doc_id="ids.rank", doc_version="name")


def rankings(
    name: str, form: str | None = None, needs: frozenset[RunField] = frozenset(), fields: FieldMap | None = None
) -> list[Ranking]:
    return list(read_run(name, form, needs=needs, map=fields).rankings)


Read = Callable[[str], object]
READERS: dict[str, Read] = {
    "gold": read_gold,
    "run": rankings,
    "run with times": partial(rankings, needs=TIMES),
    "run with answers": partial(rankings, needs=ANSWERS),
    "criteria": load_criteria,
    "scores": read_scores,
    "values per query": lambda path: read_values(path, lambda columns, _: columns),
    "documents": read_corpus,
    **{f"gold as {form}": partial(read_gold, format=form) for form in GOLD_FORMATS},
    **{f"run as {form}": partial(rankings, form=form) for form in RUN_FORMATS},
    **{f"lists as {form}": partial(rankings, form=form, fields=OF_LISTS) for form in MAPPED_FORMATS},
    **{f"rows as {form}": partial(rankings, form=form, fields=OF_ROWS, needs=EVERYTHING) for form in MAPPED_FORMATS},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("input") / "file"


def read_or_refused(content: bytes, file: Path, *names: str) -> None:
    """Each reader reads it, or refuses it in clear words; any other exception, or a file left open, fails the test."""
    file.write_bytes(content)
    for name in names or READERS:
        problems: tuple[Problem, ...] = ()
        try:
            READERS[name](file.as_posix())
        except RankgateError as error:
            problems = error.problems
            assert problems, name
        for problem in problems:
            assert problem.file == file.as_posix(), name
            assert problem.line is None or problem.line >= 1, name
            assert problem.message, name
            assert str(problem).isprintable(), name  # one line, and nothing that a terminal would obey


# Arbitrary bytes, text and JSON.


@pytest.mark.full
@many
@given(content=st.binary(max_size=200) | st.binary(max_size=60).map(gzip.compress))
@example(content=b"\x1f\x8b\x08")
@example(content=b"{\x00}\x00")
@example(content=b"\xef\xbb\xbf\xef\xbb\xbf{}")
def test_bytes(file: Path, content: bytes) -> None:
    read_or_refused(content, file)


SIGNS = st.text('{}[]:,"\\ \n\r\t-#&*!|>%@`~0123456789.eE+naNIfty\u00e9\ud800\u2028\x00\x85', max_size=40)


@pytest.mark.full
@many
@given(content=st.text(max_size=60) | SIGNS)
@example(content="\ud800")
@example(content='{"id": "\\ud800"}')
@example(content="- - - - -")
@example(content='"a"b\t')
def test_text(file: Path, content: str) -> None:
    read_or_refused(content.encode("utf-8", "surrogatepass"), file)


KEYS = st.text(max_size=3) | st.sampled_from(
    (
        *("id", "query_id", "topk", "retrieved", "actual_output", "actualOutput", "chunk_id", "rank", "score"),
        *("latency_ms", "samples", "expected_output", "ids", "input", "question", "metadata", "k", "tags", "no_answer"),
        *("gates", "name", "threshold", "inputs", ""),
        *("answer", "citations", "context", "context_texts", "abstained", "claims", "text", "vital"),
    )
)
NUMBERS = st.integers() | st.floats() | st.sampled_from([0, 1, -1, 2**63, 2**64, 10**30, 1e300, 5e-324, 1e-17, -0.0])
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.sampled_from(["q1", "a", "recall@5", "error"])
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=15
)


@pytest.mark.full
@many
@given(value=ANYTHING, other=ANYTHING, indent=st.none() | st.integers(0, 2))
@example(value={"\n::error::": None, "\x1b[2J": [1.5]}, other=0, indent=None)
@example(value={"gates": [{"\n": 0}], "\n": 0}, other=0, indent=None)
def test_json(file: Path, value: object, other: object, indent: int | None) -> None:
    """NaN and infinity included, as `json.dumps` writes them; one value, or two on two lines."""
    lines = [json.dumps(value, indent=indent), json.dumps(other)]
    read_or_refused(lines[0].encode(), file)
    read_or_refused("\n".join(lines).encode(), file)


# Valid files, and the same files damaged.

# Ids as the column formats can hold them; the JSON formats hold any text, in gold sets any that is not empty.
COLUMN_IDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)
# Those of queries in qrels, where a line that begins with # is a comment, and U+FEFF at the start of a file a mark.
QRELS_IDS = COLUMN_IDS.filter(lambda text: not text.startswith(("#", "\ufeff")))
LISTS = ("topk", "retrieved", "actual_output", "actualOutput")  # a document with such a key is read as a run line
IDS = (
    COLUMN_IDS | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6) | st.integers(0, 30).map(str)
).filter(lambda text: text not in LISTS)
GAINS = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]) | st.floats(-1000, 1000)


def judged(
    ids: st.SearchStrategy[str], queries: st.SearchStrategy[str] | None = None
) -> st.SearchStrategy[dict[str, dict[str, float]]]:
    """Judgments by query, one of them positive."""
    return st.dictionaries(
        ids if queries is None else queries, st.dictionaries(ids, GAINS, min_size=1, max_size=4), min_size=1, max_size=4
    ).filter(lambda gold: any(gain > 0 for gains in gold.values() for gain in gains.values()))


def ranked(ids: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, list[str]]]:
    """Ranked ids by query, each id once."""
    return st.dictionaries(ids, st.lists(ids, unique=True, max_size=6), max_size=4)


def samples(gold: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    return [{"id": query_id, "expected_output": dict(gains)} for query_id, gains in gold.items()]


def quoted(text: str) -> str:
    """Text as YAML writes it in double quotes, every sign escaped that could mean something."""
    safe = "".join(sign if sign.isascii() and sign.isalnum() else f"\\U{ord(sign):08X}" for sign in text)
    return f'"{safe}"'


def yaml_samples(gold: Mapping[str, Mapping[str, float]]) -> str:
    lines = ["samples:"]
    for query_id, gains in gold.items():
        lines += [f"- id: {quoted(query_id)}", "  expected_output:" if gains else "  expected_output: {}"]
        lines += [f"    {quoted(doc)}: {gain!r}" for doc, gain in gains.items()]
    return "\n".join(lines) + "\n"


IN_COLUMNS = ("qrels", "learning to rank")
GOLD_WRITERS: dict[str, Callable[[Mapping[str, Mapping[str, float]]], tuple[str, str]]] = {
    "YAML": lambda gold: ("yaml", yaml_samples(gold)),
    "JSON": lambda gold: ("json", json.dumps({"samples": samples(gold)}, indent=1)),
    "JSON list": lambda gold: ("json", json.dumps(samples(gold), ensure_ascii=False)),
    "JSONL": lambda gold: ("jsonl", json_lines(samples(gold))),
    "JSONL, under ids": lambda gold: (
        "jsonl",
        json_lines([{"id": query_id, "expected_output": {"ids": gains}} for query_id, gains in gold.items()]),
    ),
    "qrels": lambda gold: (
        "qrels",
        "".join(f"{query} 0 {doc} {gain!r}\n" for query, gains in gold.items() for doc, gain in gains.items()),
    ),
    "learning to rank": lambda gold: (
        "ltr",
        "".join(
            f"{gain!r} qid:{query} 1:0.5 # {doc}\n" for query, gains in gold.items() for doc, gain in gains.items()
        ),
    ),
}


def listed(run: Mapping[str, list[str]], key: str, query: str = "query_id") -> list[dict[str, Any]]:
    return [{query: query_id, key: ids} for query_id, ids in run.items()]


def items(ids: list[str], name: str) -> list[dict[str, Any]]:
    """Items with ranks, listed from the last to the first."""
    return [{name: doc, "rank": rank, "score": 1 / rank} for rank, doc in enumerate(ids, start=1)][::-1]


RUN_WRITERS: dict[str, Callable[[Mapping[str, list[str]]], tuple[str, str]]] = {
    "contract": lambda run: (
        "jsonl",
        json_lines([{"query_id": query, "topk": items(ids, "chunk_id")} for query, ids in run.items()]),
    ),
    "retrieved, bare ids": lambda run: ("jsonl", json_lines(listed(run, "retrieved"))),
    "topk, bare ids": lambda run: ("jsonl", json_lines(listed(run, "topk", "id"))),
    "actual_output": lambda run: ("jsonl", json_lines(listed(run, "actual_output", "id"))),
    "actualOutput, nested": lambda run: (
        "jsonl",
        json_lines([{"id": query, "actualOutput": {"retrieved": items(ids, "id")}} for query, ids in run.items()]),
    ),
    "{query: [ids]}": lambda run: ("json", json.dumps(run, ensure_ascii=False)),
    "list of lines": lambda run: ("json", json.dumps(listed(run, "retrieved"), indent=2)),
    "rows": lambda run: (
        "rows",
        json_lines(
            [
                {"query_id": query, "chunk_id": doc, "score": 1 / rank}
                for query, ids in run.items()
                for rank, doc in enumerate(ids, start=1)
            ]
        ),
    ),
    "TREC": lambda run: (
        "trec",
        "".join(
            f"{query} Q0 {doc} {rank} {1 / rank!r} tag\n"
            for query, ids in run.items()
            for rank, doc in enumerate(ids, start=1)
        ),
    ),
}


@pytest.mark.parametrize("shape", GOLD_WRITERS)
@some
@given(data=st.data(), pack=st.booleans())
def test_gold_reads_back(file: Path, shape: str, data: st.DataObject, pack: bool) -> None:  # noqa: FBT001
    gold = data.draw(judged(COLUMN_IDS, QRELS_IDS) if shape in IN_COLUMNS else judged(IDS))
    form, content = GOLD_WRITERS[shape](gold)
    encoded = content.encode()
    file.write_bytes(gzip.compress(encoded) if pack else encoded)
    read = read_gold(file.as_posix(), form)
    assert {query_id: dict(sample.gains) for query_id, sample in read.samples.items()} == gold
    assert list(read.samples) == list(gold)


@pytest.mark.parametrize("shape", RUN_WRITERS)
@some
@given(data=st.data(), pack=st.booleans())
def test_run_reads_back(file: Path, shape: str, data: st.DataObject, pack: bool) -> None:  # noqa: FBT001
    run = data.draw(ranked(QRELS_IDS if shape == "TREC" else IDS))
    form, content = RUN_WRITERS[shape](run)
    if shape in ("TREC", "rows"):
        run = {query_id: ids for query_id, ids in run.items() if ids}  # they cannot say that a list is empty
    if not content.strip():
        return
    encoded = content.encode()
    file.write_bytes(gzip.compress(encoded) if pack else encoded)
    read = rankings(file.as_posix(), form)
    assert {ranking.query_id: ranking.ids for ranking in read} == run
    assert [ranking.duplicates for ranking in read] == [0] * len(run)


# Ids as people have them.
USUAL_IDS = st.text("abcXYZ0189_.:/#-", max_size=6).map("d{}".format)


@pytest.mark.parametrize("shape", [*GOLD_WRITERS, *RUN_WRITERS])
@some
@given(data=st.data())
def test_what_is_read_when_told_is_also_recognised(file: Path, shape: str, data: st.DataObject) -> None:
    if shape in GOLD_WRITERS:
        form, content = GOLD_WRITERS[shape](data.draw(judged(USUAL_IDS)))
        file.write_bytes(content.encode())
        assert read_gold(file.as_posix()).format == form
    else:
        form, content = RUN_WRITERS[shape](data.draw(ranked(USUAL_IDS).filter(lambda run: any(run.values()))))
        file.write_bytes(content.encode())
        assert read_run(file.as_posix()).format == form


CRITERIA = """\
gates:
  - name: recall_at_5
    threshold: 0.85
    severity: error
inputs: {gold: g, run: {path: r}}
"""
SNIPPETS = st.sampled_from(
    (
        *(
            b"",
            b"\n",
            b'"',
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b":",
            b"\\",
            b"\\ud800",
            b"null",
            b"NaN",
            b"1e999",
            b"-",
            b"0",
        ),
        *(b"\xff", b"\x00", b"\x1f\x8b", b"\xef\xbb\xbf", b'"id": 5, ', b'"topk": 5, ', b'{"a":', b"9" * 5000, b"\t"),
        *(b"#", b"&x ", b"*x ", b"!t ", b"? "),
    )
)


@pytest.mark.full
@pytest.mark.parametrize("shape", [*GOLD_WRITERS, *RUN_WRITERS, "criteria"])
@some
@given(data=st.data(), pack=st.booleans())
def test_damaged_files(file: Path, shape: str, data: st.DataObject, pack: bool) -> None:  # noqa: FBT001
    """A valid file with pieces cut out, doubled or put in, read in the format that it had and as it looks now."""
    if shape == "criteria":
        text, names = CRITERIA, ["criteria"]
    elif shape in GOLD_WRITERS:
        form, text = GOLD_WRITERS[shape](data.draw(judged(USUAL_IDS)))
        names = ["gold", f"gold as {form}"]
    else:
        form, text = RUN_WRITERS[shape](data.draw(ranked(USUAL_IDS)))
        names = ["run", "run with times", f"run as {form}"]
    content = gzip.compress(text.encode()) if pack else text.encode()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 12)))
        content = content[:start] + data.draw(SNIPPETS | st.just(content[start:end] * 2)) + content[end:]
    read_or_refused(content, file, *names)


@many
@given(text=st.text(max_size=60) | SIGNS.filter(lambda text: "\ud800" not in text))
def test_load_yaml(text: str) -> None:
    with suppress(RankgateError):
        load_yaml(text, "file")


# The strict decoder of run lines and the loose one.

FEW_IDS = st.sampled_from(["a", "b", "é", "", "7"])
SCORES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
DOCUMENTS = st.none() | st.integers(1, 2) | st.sampled_from(["A", "B"])
NEARLY_ITEMS = st.lists(
    st.tuples(FEW_IDS, st.integers(0, 4), SCORES).map(
        lambda each: {"chunk_id": each[0], "rank": each[1], "score": each[2]}
    ),
    max_size=4,
)
IN_ORDER = st.lists(FEW_IDS, unique=True, max_size=5).flatmap(
    lambda ids: st.lists(st.tuples(SCORES, DOCUMENTS), min_size=len(ids), max_size=len(ids)).map(
        lambda each: [
            {"chunk_id": item, "rank": rank, "score": score, **({} if document is None else {"doc_id": document})}
            for rank, (item, (score, document)) in enumerate(zip(ids, each, strict=True), start=1)
        ]
    )
)
STRICT_NEEDS = (
    (),
    (RunField.LATENCY,),
    (RunField.DOCS,),
    (RunField.LATENCY, RunField.DOCS, RunField.IDS),
    (RunField.LATENCY, RunField.ANSWER),
)
OF_STRICT = [frozenset(each) for each in STRICT_NEEDS]
OF_LINES = {
    "query_id": st.sampled_from(["q", "é", ""]),
    "latency_ms": st.none() | st.dictionaries(FEW_IDS, st.none() | st.floats(-1, 1e13), max_size=2),
    "system": LEAVES,
    "answer": st.none() | st.sampled_from(["", "yes"]),
    "abstained": st.none() | st.booleans(),
}
NEARLY_STRICT = st.fixed_dictionaries(
    {"topk": IN_ORDER | NEARLY_ITEMS | st.none()}, optional={**OF_LINES, "retrieved": st.none() | st.just(["a"])}
) | st.fixed_dictionaries(
    {"retrieved": st.lists(FEW_IDS, max_size=3)}, optional={**OF_LINES, "actual_output": LEAVES, "actualOutput": LEAVES}
)


@many
@given(line=NEARLY_STRICT, needs=st.sampled_from(OF_STRICT))
def test_the_strict_decoder_reads_what_the_loose_one_reads(line: dict[str, Any], needs: frozenset[RunField]) -> None:
    lines, written = Lines(needs), json.dumps(line).encode()
    strict = lines.strict(written)
    if strict is not None:
        assert strict == LooseLines(lines).ranking(written)


def test_a_line_of_the_contract_is_read_strictly() -> None:
    item = {"rank": 1, "chunk_id": "a", "score": 2, "doc_id": "A"}
    line = {"query_id": "q", "topk": [item], "latency_ms": {"total": 5}}
    stored = {"query_id": "q", "retrieved": ["a", "b"]}
    for needs in OF_STRICT:
        lines = Lines(needs)
        assert lines.strict(json.dumps(line).encode())
        assert lines.strict(json.dumps(stored).encode())
        written = json.dumps(line).replace('"doc_id": "A"', '"doc_id": "A", "doc_id": "B"').encode()
        assert (lines.strict(written) is None) is (RunField.DOCS in needs), "what is read is not stated twice"
        answered = json.dumps({**line, "abstained": True}).replace("abstained", r"abst\u0061ined").encode()
        assert (lines.strict(answered) is None) is (RunField.ANSWER in needs), "also under an escaped key"


# What was read can be scored.


@pytest.mark.full
@many
@given(data=st.data())
def test_whatever_reads_can_be_scored(file: Path, data: st.DataObject) -> None:
    ids = st.sampled_from(["a", "b", "c", "7"])
    shapes = st.sampled_from([shape for shape in GOLD_WRITERS if shape not in IN_COLUMNS])
    gains = st.dictionaries(ids, GAINS | st.sampled_from([5e-324, 1e-17, 1000.0]), max_size=4)
    written = data.draw(st.dictionaries(ids, gains, min_size=1, max_size=3))
    form, content = GOLD_WRITERS[data.draw(shapes)](written)
    file.write_bytes(content.encode())
    try:
        gold: Gold = read_gold(file.as_posix(), form)
    except RankgateError:
        return
    times = st.none() | st.dictionaries(st.sampled_from(["retrieve", "rerank"]), st.floats(0, 1e9), max_size=2)
    run = [
        {"query_id": query, "topk": data.draw(st.lists(ids, max_size=6)), "latency_ms": data.draw(times)}
        for query in data.draw(st.sets(ids, max_size=4))
    ]
    file.write_bytes(json_lines(run).encode() or b"{}")
    scores = score(gold, read_run(file.as_posix(), needs=TIMES).rankings, Plan(metrics=METRICS))
    for metric in METRICS:
        for value in scores.values[metric.name]:
            assert value is None or metric.low is None or metric.low <= value
            assert value is None or metric.high is None or value <= metric.high + 1e-12
