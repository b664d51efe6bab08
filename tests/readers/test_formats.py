"""Which format a file has: told from its content or forced by name, plain or gzipped, from a file or from a pipe."""

import gzip
import json
import os
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

import pytest

import rankgate
from rankgate.errors import RankgateError
from rankgate.readers.formats import read_gold, read_run, split_format

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

PACKAGE = Path(rankgate.__file__).resolve().parents[1]

YAML = "samples:\n  - id: q\n    expected_output: [a]\n"
SAMPLE = '{"id": "q", "expected_output": ["a"]}'
OTHER_SAMPLE = '{"id": "q2", "expected_output": []}'
LINE = '{"query_id": "q", "topk": [{"chunk_id": "a"}]}'

GOLD_NAMES = "yaml, json, jsonl, qrels, beir, ltr, ragas, llama_index, dict, judgments"
RUN_NAMES = "jsonl, json, rows, trec, mteb, ragas, dict, msmarco, csv, parquet"

GOLDS = {
    "yaml": YAML,
    "json": f'{{"samples": [{SAMPLE}]}}',
    "jsonl": f"{SAMPLE}\n",
    "qrels": "q 0 a 1\n",
    "ltr": "1 qid:q # a\n",
    "beir": "query-id\tcorpus-id\tscore\nq\ta\t1\n",
    "dict": '{"q": {"a": 1}}',
    "ragas": '{"user_input": "q", "reference_context_ids": ["a"]}\n',
    "llama_index": '{"queries": {"q": "?"}, "corpus": {}, "relevant_docs": {"q": ["a"]}, "mode": "text"}',
}
RUNS = {
    "jsonl": f"{LINE}\n",
    "json": '{"q": ["a"]}',
    "rows": '{"query_id": "q", "doc_id": "a", "score": 0.5}\n',
    "trec": "q Q0 a 1 0.5 tag\n",
    "dict": '{"q": {"a": 0.5}}',
    "mteb": '{"mteb_model_meta": {"model_name": "m"}, "default": {"test": {"q": {"a": 0.5}}}}',
    "ragas": '{"user_input": "q", "retrieved_context_ids": ["a"]}\n',
    "msmarco": "q\ta\t1\n",
    "csv": "qid,docid,score\nq,a,0.5\n",
}


def gold(content: str | bytes, form: str | None = None) -> tuple[str, dict[str, list[str]]]:
    """The format that was found, and the relevant ids by query."""
    Path("gold").write_bytes(content.encode() if isinstance(content, str) else content)
    read = read_gold("gold", form)
    return read.format, {query_id: sample.relevant() for query_id, sample in read.samples.items()}


def run(content: str | bytes, form: str | None = None) -> tuple[str, dict[str, list[str]]]:
    """The format that was found, and the ranked ids by query."""
    Path("run").write_bytes(content.encode() if isinstance(content, str) else content)
    read = read_run("run", form)
    return read.format, {ranking.query_id: ranking.ids for ranking in read.rankings}


@pytest.mark.parametrize(
    ("content", "form"),
    [
        *(pytest.param(content, form, id=form) for form, content in GOLDS.items()),
        pytest.param(f"\n\n{YAML}", "yaml", id="yaml after blank lines"),
        pytest.param(f"# judged by hand: see the wiki\n\n{YAML}", "yaml", id="yaml after a comment"),
        pytest.param(f"# four words of comment\n{YAML}", "yaml", id="yaml after a comment of four columns"),
        pytest.param(f"---\n{YAML}", "yaml", id="yaml after a document start"),
        pytest.param(f"%YAML 1.2\n---\n{YAML}", "yaml", id="yaml after a directive"),
        pytest.param(YAML.replace("\n", "\r\n"), "yaml", id="yaml with CRLF"),
        pytest.param("- id: q\n  expected_output: [a]\n", "yaml", id="yaml, bare list"),
        pytest.param("- {id: q, expected_output: [a]}\n", "yaml", id="yaml, list of braces"),
        pytest.param("-\n  id: q\n  expected_output: [a]\n", "yaml", id="yaml, list with the dash alone"),
        pytest.param("samples: [{id: q, expected_output: [a]}]\n", "yaml", id="yaml on one line"),
        pytest.param(f"owner: search team\n{YAML}", "yaml", id="yaml, another key first"),
        pytest.param(f"schema_version: 1\n{YAML}", "yaml", id="yaml, another key first, with an underscore"),
        pytest.param(f"made-by: us\n{YAML}", "yaml", id="yaml, another key first, with a hyphen"),
        pytest.param(YAML.replace("samples", '"samples"'), "yaml", id="yaml, quoted key"),
        pytest.param(
            YAML.replace("samples:", "samples: # all, of them"), "yaml", id="yaml, a comment on the first line"
        ),
        pytest.param(json.dumps({"samples": [json.loads(SAMPLE)]}, indent=2), "json", id="json, indented"),
        pytest.param(f'{{"samples": [\n{SAMPLE}\n]}}\n', "json", id="json, a sample a line"),
        pytest.param(f'{{"samples": [\r\n{SAMPLE}\r\n]}}\r\n', "json", id="json, a sample a line, CRLF"),
        pytest.param(f'{{"version": 3,\n"samples": [{SAMPLE}]}}', "json", id="json, another key first"),
        pytest.param(f"[{SAMPLE}]", "json", id="json, bare list"),
        pytest.param(f"[\n{SAMPLE}\n]", "json", id="json, bare list, a sample a line"),
        pytest.param(SAMPLE, "jsonl", id="jsonl, one line without its end"),
        pytest.param(f"\n{SAMPLE}\n\n{OTHER_SAMPLE}\n", "jsonl", id="jsonl, blank lines"),
        pytest.param(
            '{"id": "q", "input": "two samples: [a, b]", "expected_output": ["a"]}\n', "jsonl", id="jsonl, YAML inside"
        ),
        pytest.param(
            '{"id": "q", "expected_output": ["a"], "actual_output": ["b"]}\n', "jsonl", id="jsonl, a run beside it"
        ),
        pytest.param('{"id": "samples", "expected_output": ["a"]}\n', "jsonl", id="jsonl, a question about samples"),
        pytest.param("q\t0\ta\t1\n", "qrels", id="qrels with tabs"),
        pytest.param("q 0 a 1\r\n", "qrels", id="qrels with CRLF"),
        pytest.param("\nq 0 a 1\n", "qrels", id="qrels after a blank line"),
        pytest.param("q 0 http://example.org/a 1\n", "qrels", id="qrels, a document with a colon"),
        pytest.param("conv:17 0 a 1\n", "qrels", id="qrels, a query with a colon"),
        pytest.param("question,document\nNote: when?,a\n", "judgments", id="a table, a question with a colon"),
        pytest.param("id;question;doc\n1;When: now?;a\n2;x;b\n", "judgments", id="a table, a colon in a cell"),
    ],
)
def test_gold_is_recognised(content: str, form: str) -> None:
    found, samples = gold(content)
    assert found == form
    assert len(samples) >= 1


@pytest.mark.parametrize(
    ("content", "form"),
    [
        *(pytest.param(content, form, id=form) for form, content in RUNS.items()),
        pytest.param(LINE, "jsonl", id="jsonl, one line without its end"),
        pytest.param(f"\n{LINE}\n\n", "jsonl", id="jsonl, blank lines"),
        pytest.param(f'{LINE}\n{{"query_id": "q2", "topk": []}}\n', "jsonl", id="jsonl, two lines"),
        pytest.param(f'{LINE}\r\n{{"query_id": "q2", "topk": []}}\r\n', "jsonl", id="jsonl, CRLF"),
        pytest.param('{"id": "q", "retrieved": ["a"]}', "jsonl", id="jsonl, retrieved"),
        pytest.param('{"id": "q", "actual_output": ["a"]}', "jsonl", id="jsonl, actual_output"),
        pytest.param('{"id": "q", "actualOutput": ["a"]}', "jsonl", id="jsonl, actualOutput"),
        pytest.param(json.dumps(json.loads(LINE), indent=2), "json", id="json, one query, indented"),
        pytest.param(
            '{"query_id": "q", "topk": [\n{"chunk_id": "a"}\n]}\n', "json", id="json, one query, an item a line"
        ),
        pytest.param('{"q": ["a"],\n"q2": []}\n', "json", id="json, a query a line"),
        pytest.param('{"q": [\n{"id": "a"}\n]}\n', "json", id="json, an item a line"),
        pytest.param(f"[{LINE}]", "json", id="json, list"),
        pytest.param(f"[\n{LINE}\n]", "json", id="json, list, a line each"),
        pytest.param("q\tQ0\ta\t1\t0.5\ttag\n", "trec", id="trec with tabs"),
        pytest.param('{"In Q0 of last year?": {"a": 0.5}}', "dict", id="dict, a question that looks like a TREC row"),
        pytest.param("q:1 0 a 1 0.5 tag\n", "trec", id="trec with a colon"),
        pytest.param("\nq Q0 a 1 0.5 tag\n", "trec", id="trec after a blank line"),
    ],
)
def test_run_is_recognised(content: str, form: str) -> None:
    found, rankings = run(content)
    assert found == form
    assert next(iter(rankings.values())) == ["a"]


each_wrapping = pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda data: b"\xef\xbb\xbf" + data, id="byte order mark"),
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(lambda data: gzip.compress(b"\xef\xbb\xbf" + data), id="gzip around a byte order mark"),
        pytest.param(lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]), id="gzip in two members"),
    ],
)


@pytest.mark.parametrize("form", GOLDS)
@each_wrapping
def test_gold_is_recognised_inside(wrap: Callable[[bytes], bytes], form: str) -> None:
    assert gold(wrap(GOLDS[form].encode())) == (form, {"q": ["a"]})


@pytest.mark.parametrize("form", RUNS)
@each_wrapping
def test_run_is_recognised_inside(wrap: Callable[[bytes], bytes], form: str) -> None:
    assert run(wrap(RUNS[form].encode())) == (form, {"q": ["a"]})


def test_the_name_does_not_matter() -> None:
    Path("run.trec").write_text(RUNS["jsonl"])
    Path("gold.txt.bak").write_bytes(gzip.compress(YAML.encode()))
    assert read_run("run.trec").format == "jsonl"
    assert read_gold("gold.txt.bak").format == "yaml"


@pytest.mark.full
def test_large_input_is_read_whole() -> None:
    queries = {f"q{number}": [f"d{rank}" for rank in range(100)] for number in range(1000)}
    lines = "".join(json.dumps({"query_id": query, "retrieved": ids}) + "\n" for query, ids in queries.items())
    assert run(gzip.compress(lines.encode())) == ("jsonl", queries)
    assert run(json.dumps(queries)) == ("json", queries)


LONG = "x" * 600_000  # a text that is longer than what is looked at to tell the format


def test_long_lines_are_recognised() -> None:
    sample = {"id": "q", "input": LONG, "expected_output": ["a"]}
    line = {"query_id": "q", "topk": [{"chunk_id": "a", "text": LONG}]}
    for content, form in (
        (json.dumps(sample) + f"\n{OTHER_SAMPLE}\n", "jsonl"),
        (json.dumps({"samples": [sample, json.loads(OTHER_SAMPLE)]}), "json"),
        (json.dumps([sample, json.loads(OTHER_SAMPLE)]), "json"),
    ):
        assert gold(content) == (form, {"q": ["a"], "q2": []})
    for content, form in (
        (json.dumps(line) + '\n{"query_id": "q2", "topk": []}\n', "jsonl"),
        (json.dumps({"q": line["topk"], "q2": []}), "json"),
        (json.dumps([line, {"query_id": "q2", "topk": []}]), "json"),
    ):
        assert run(content) == (form, {"q": ["a"], "q2": []})


@pytest.mark.parametrize(
    ("content", "form", "expected"),
    [
        pytest.param(GOLDS["json"], "yaml", {"q": ["a"]}, id="JSON is YAML too"),
        pytest.param(SAMPLE, "yaml", None, id="one sample is not a list of them"),
        pytest.param("# 0 a 1\n", "qrels", None, id="a comment that looks like a judgment"),
        pytest.param("- 0 a 1\n", "qrels", {"-": ["a"]}, id="a query that looks like a list"),
        pytest.param(
            '{"id": "q", "expected_output": ["a"], "samples": 5}', "jsonl", {"q": ["a"]}, id="a line with samples"
        ),
    ],
)
def test_gold_in_a_forced_format(content: str, form: str, expected: dict[str, list[str]] | None) -> None:
    if expected is None:
        with pytest.raises(RankgateError):
            gold(content, form)
    else:
        assert gold(content, form) == (form, expected)


@pytest.mark.parametrize(
    ("content", "form", "expected"),
    [
        pytest.param(LINE, "json", {"q": ["a"]}, id="one line is a document"),
        pytest.param(
            '{"q": ["a"], "note": ["\\"topk\\""]}', "json", {"q": ["a"], "note": ['"topk"']}, id="a query about topk"
        ),
        pytest.param(
            '{"x": 1, "query_id": "q", "retrieved": ["a"]}', "jsonl", {"q": ["a"]}, id="a line, keys in any order"
        ),
        pytest.param("{} [] a 1 0.5 tag\n", "trec", {"{}": ["a"]}, id="a query that looks like JSON"),
    ],
)
def test_run_in_a_forced_format(content: str, form: str, expected: dict[str, list[str]]) -> None:
    assert run(content, form) == (form, expected)


ARCHIVE = "that is a spreadsheet or a zip; save the sheet as CSV, or unpack it"
NOTHING_LIKE_IT = "no gold format starts like that"
MSMARCO = "three columns are BEIR qrels where the first row is query-id corpus-id score, and a run of MS MARCO else"


SWAPPED = "; are gold set and run swapped? Name it with "
SAMPLES = "that looks like samples, which are a gold set"
NO_RUN = "no run format starts like that; JSONL, JSON and CSV of another shape are read with `map:` under inputs.run"


@pytest.mark.parametrize(
    ("content", "saw", "why"),
    [
        pytest.param("hello world\n", "'hello world'", NOTHING_LIKE_IT, id="prose"),
        pytest.param(RUNS["csv"], "'qid,docid,score'", "that looks like a run as a table", id="a run as a table"),
        pytest.param("# 3 1\nq d 1\n", "'# 3 1'", MSMARCO, id="a run of MS MARCO after a comment"),
        pytest.param(RUNS["trec"], "'q Q0 a 1 0.5 tag'", "that looks like a TREC run", id="a TREC run"),
        pytest.param(RUNS["jsonl"], f"'{LINE}'", "that looks like a run", id="a JSONL run"),
        pytest.param(
            '{"id": "q", "actualOutput": []}',
            """'{"id": "q", "actualOutput": []}'""",
            "that looks like a run",
            id="actualOutput",
        ),
        pytest.param(b"\x00\x01\x02\xff\n", "'\\x00\\x01\\x02\ufffd'", NOTHING_LIKE_IT, id="bytes"),
        pytest.param(b"PK\x03\x04\x14\x00", "'PK\\x03\\x04\\x14\\x00'", ARCHIVE, id="an archive"),
        pytest.param("x" * 200, f"'{'x' * 58}…", NOTHING_LIKE_IT, id="a long line is cut"),
    ],
)
def test_what_is_no_gold_set(content: str | bytes, saw: str, why: str) -> None:
    with pytest.raises(RankgateError) as caught:
        gold(content)
    end = SWAPPED + "--run FILE" if "looks like" in why or why == MSMARCO else f" (known formats: {GOLD_NAMES})"
    assert str(caught.value) == f"gold: cannot be read as a gold set: it starts with {saw}; {why}{end}"


@pytest.mark.parametrize(
    ("content", "saw", "why"),
    [
        pytest.param("hello world\n", "'hello world'", NO_RUN, id="prose"),
        pytest.param(GOLDS["qrels"], "'q 0 a 1'", "that looks like TREC qrels, which is a gold set", id="qrels"),
        pytest.param(GOLDS["yaml"], "'samples:'", SAMPLES, id="a YAML gold set"),
        pytest.param(GOLDS["json"], f"'{GOLDS['json']}'", SAMPLES, id="a JSON gold set"),
        pytest.param(f"{SAMPLE}\n{SAMPLE}\n", f"'{SAMPLE}'", SAMPLES, id="a JSONL gold set"),
    ],
)
def test_what_is_no_run(content: str | bytes, saw: str, why: str) -> None:
    with pytest.raises(RankgateError) as caught:
        run(content)
    end = SWAPPED + "--gold FILE" if "looks like" in why else f" (known formats: {RUN_NAMES})"
    assert str(caught.value) == f"run: cannot be read as a run: it starts with {saw}; {why}{end}"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("read", [run, gold], ids=["run", "gold"])
@pytest.mark.parametrize("content", ["q,doc\n", '{"id": "q"}\n', "samples:\n"])
def test_utf_16_is_named(read: Callable[[str | bytes], object], encoding: str, content: str) -> None:
    """With its byte order mark, which whatever writes UTF-16 to a file puts first."""
    mark = "" if encoding in {"utf-16", "utf-32"} else "\ufeff"
    with pytest.raises(RankgateError) as caught:
        read((mark + content).encode(encoding))
    assert str(caught.value).endswith(": is text in UTF-16; save it as UTF-8")


@pytest.mark.parametrize("query", ["[q", "{q", "[1]", "{}", "[", '{"a":'])
@pytest.mark.parametrize(
    ("row", "form"),
    [
        pytest.param("{} Q0 d 1 2.5 tag", "trec", id="trec"),
        pytest.param("{}\td\t1", "msmarco", id="msmarco"),
        pytest.param("{} 0 d 1", "qrels", id="qrels"),
        pytest.param("{}\t0\td\t2", "qrels", id="qrels with tabs"),
    ],
)
def test_a_query_may_begin_as_json_does(query: str, row: str, form: str) -> None:
    content = row.replace("{}", query) + "\n" + row.replace("{}", "q2") + "\n"
    if form == "qrels":
        assert (gold(content)[0], list(gold(content)[1])) == (form, [query, "q2"])
    else:
        assert run(content) == (form, {query: ["d"], "q2": ["d"]})


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("query-id\tcorpus-id\tscore\nq\td\t1\nq\te\t0\n", id="BEIR"),
        pytest.param("query-id,corpus-id,score\nq,d,1\nq,e,0\n", id="as CSV"),
        pytest.param('"query-id","corpus-id","score"\r\n"q","d","1"\r\n"q","e","0"\r\n', id="as CSV with quotes"),
        pytest.param("score,query-id,corpus-id\n1,q,d\n0,q,e\n", id="as CSV in another order"),
        pytest.param("query-id;corpus-id;score\nq;d;1\nq;e;0\n", id="with semicolons"),
        pytest.param("score\tcorpus-id\tquery-id\n1\td\tq\n0\te\tq\n", id="another order"),
    ],
)
def test_qrels_of_hugging_face(content: str) -> None:
    assert gold(content) == ("beir", {"q": ["d"]})
    with pytest.raises(RankgateError, match="looks like BEIR qrels, which is a gold set"):
        run(content)
    scores = content.replace("1", "1.5")
    with pytest.raises(RankgateError, match="looks like a run"):
        gold(scores)
    assert run(scores) == ("csv", {"q": ["d", "e"]})


def test_a_trec_run_whose_tag_has_a_blank() -> None:
    with pytest.raises(RankgateError) as caught:
        run("q Q0 a 1 0.5 my tag\n")
    expected = "expected 6 columns (query Q0 document rank score tag), found 7: 'q Q0 a 1 0.5 my tag'"
    assert str(caught.value) == f"run:1: {expected}"


@pytest.mark.parametrize(
    ("read", "form", "message"),
    [
        pytest.param(gold, "yml", f"unknown gold format 'yml'; did you mean 'yaml'? (known: {GOLD_NAMES})", id="near"),
        pytest.param(gold, "trec", f"unknown gold format 'trec' (known: {GOLD_NAMES})", id="a format of runs"),
        pytest.param(
            gold, "JSONL", f"unknown gold format 'JSONL'; did you mean 'jsonl'? (known: {GOLD_NAMES})", id="case"
        ),
        pytest.param(gold, "", f"unknown gold format '' (known: {GOLD_NAMES})", id="empty"),
        pytest.param(run, "jsnol", f"unknown run format 'jsnol'; did you mean 'jsonl'? (known: {RUN_NAMES})", id="run"),
    ],
)
def test_unknown_format(read: Callable[[str, str], object], form: str, message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        read(LINE, form)
    assert str(caught.value) == f"{read.__name__}: {message}"


# Standard input, in a process of its own.

READ = """
import json, sys
from rankgate.errors import RankgateError
from rankgate.readers.formats import read_gold, read_run, split_format
try:
    if sys.argv[1] == "gold":
        read = read_gold("-")
        ids = {key: list(sample.gains) for key, sample in read.samples.items()}
    else:
        read = read_run("-")
        ids = {ranking.query_id: ranking.ids for ranking in read.rankings}
    print(json.dumps([read.name, read.format, ids]))
except RankgateError as error:
    print(json.dumps(str(error)))
"""


def reader(what: str, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", READ, what]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE), "PYTHONUTF8": "1"}
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **options
    )


def answer(process: subprocess.Popen[str]) -> object:
    with process:
        output, errors = process.communicate(timeout=300)
    assert errors == ""
    return json.loads(output)


STANDARD_INPUTS = [
    *(pytest.param("gold", content.encode(), form, id=f"gold, {form}") for form, content in GOLDS.items()),
    *(pytest.param("run", content.encode(), form, id=f"run, {form}") for form, content in RUNS.items()),
    pytest.param("gold", b"\xef\xbb\xbf# judged\n\n" + YAML.encode(), "yaml", id="gold, byte order mark and comment"),
    pytest.param("run", gzip.compress(RUNS["jsonl"].encode()), "jsonl", id="run, gzip"),
]


@pytest.mark.parametrize(("what", "content", "form"), [STANDARD_INPUTS[0], *STANDARD_INPUTS[-2:]])
def test_standard_input_from_a_file(what: str, content: bytes, form: str) -> None:
    Path("input").write_bytes(content)
    with Path("input").open("rb") as file:
        assert answer(reader(what, stdin=file)) == ["standard input", form, {"q": ["a"]}]


@pytest.mark.full
@pytest.mark.parametrize(("what", "content", "form"), STANDARD_INPUTS)
def test_standard_input_from_a_pipe_that_gives_one_byte_at_a_time(what: str, content: bytes, form: str) -> None:
    theirs, ours = os.pipe()
    process = reader(what, stdin=theirs)
    os.close(theirs)
    try:
        for byte in content:
            os.write(ours, bytes([byte]))
            while process.poll() is None and waiting(ours):
                time.sleep(0.0005)
    except BrokenPipeError:
        pass  # it did not read to the end; its answer says why
    finally:
        os.close(ours)
    assert answer(process) == ["standard input", form, {"q": ["a"]}]


def waiting(pipe: int) -> int:
    """How many bytes lie in the pipe, unread."""
    return int.from_bytes(ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.parametrize("what", ["gold", "run"])
def test_standard_input_that_is_empty(what: str) -> None:
    assert answer(reader(what, stdin=subprocess.DEVNULL)) == "standard input: the file is empty"


@pytest.mark.parametrize("what", ["gold", "run"])
def test_standard_input_that_is_closed(what: str) -> None:
    closing = [sys.executable, "-c", "import os, sys; os.close(0); os.execv(sys.argv[1], sys.argv[1:])"]
    command = [*closing, sys.executable, "-W", "error", "-c", READ, what]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE)}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.stderr == ""
    assert json.loads(done.stdout) == "standard input: is closed; there is nothing to read"


def test_a_quoted_separator_in_an_id_of_hugging_faces_qrels() -> None:
    assert gold('query-id,corpus-id,score\nq,"d, or e",1\nq,f,0\n') == ("beir", {"q": ["d, or e"]})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param("trec:old.run", ("trec", "old.run"), id="a run's format"),
        pytest.param("qrels:gold.txt", ("qrels", "gold.txt"), id="a gold set's"),
        pytest.param("parquet:s3://bucket/run/*.parquet", ("parquet", "s3://bucket/run/*.parquet"), id="of an address"),
        pytest.param("per_query:now.parquet", ("per_query", "now.parquet"), id="values"),
        pytest.param("csv:-", ("csv", "-"), id="standard input"),
        pytest.param("./csv:run", (None, "./csv:run"), id="a file that is called so"),
        pytest.param("run 12:30.jsonl", (None, "run 12:30.jsonl"), id="a time"),
        pytest.param("git+branch:baseline", (None, "git+branch:baseline"), id="a store"),
        pytest.param("C:/runs/run.jsonl", (None, "C:/runs/run.jsonl"), id="a drive"),
        pytest.param("TREC:old.run", (None, "TREC:old.run"), id="other letters, no such file"),
    ],
)
def test_a_format_stands_before_the_first_colon(text: str, named: tuple[str | None, str]) -> None:
    assert split_format(text) == named


def test_a_word_that_is_no_format_before_a_file_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.run").write_text("q1 Q0 a 1 0.5 x\n")
    with pytest.raises(RankgateError, match="no format 'trek'; did you mean 'trec'"):
        split_format("trek:old.run")
    Path("trek:old.run").write_text("")
    assert split_format("trek:old.run") == (None, "trek:old.run")
