"""Bad gold sets and runs: what the user sees, word for word, as `file:line: key: message`."""

import gzip
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.rows import each_row

from rankgate.baselines.packing import unpack
from rankgate.baselines.records import Record
from rankgate.errors import Problem, RankgateError
from rankgate.model.values import RunField
from rankgate.readers import gzipped
from rankgate.readers.formats import read_gold, read_run
from rankgate.readers.gzipped import MAX_EXPANSION
from rankgate.readers.source import open_source

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

TIMES = frozenset({RunField.LATENCY})


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def problems(read: Callable[[], object]) -> tuple[Problem, ...]:
    with pytest.raises(RankgateError) as caught:
        read()
    assert str(caught.value) == "\n".join(map(str, caught.value.problems))
    return caught.value.problems


def gold_problems(name: str, form: str | None = None) -> tuple[Problem, ...]:
    return problems(lambda: read_gold(name, form))


def run_problems(name: str, form: str | None = None, needs: frozenset[RunField] = frozenset()) -> tuple[Problem, ...]:
    return problems(lambda: list(read_run(name, form, needs=needs).rankings))


def seen(found: tuple[Problem, ...]) -> list[str]:
    return [str(problem) for problem in found]


EITHER = pytest.mark.parametrize("problems_of", [gold_problems, run_problems])
ProblemsOf = Callable[[str], tuple[Problem, ...]]


# Files.


@EITHER
def test_a_link_that_leads_nowhere(problems_of: ProblemsOf) -> None:
    """Its own name is no advice."""
    Path("run.jsonl").symlink_to("nowhere")
    assert seen(problems_of("run.jsonl")) == ["run.jsonl: no such file"]


@EITHER
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        *((name, name) for name in ("missing.jsonl", "missing/gold.yaml", "../missing.jsonl.gz", "a b/ç.yaml")),
        *(("a\nb.yaml", "a\\nb.yaml"), ("\x1b[2J", "\\x1b[2J"), ("\udcff.yaml", "\\udcff.yaml")),
    ],
)
def test_missing_file(problems_of: ProblemsOf, name: str, shown: str) -> None:
    """Its name is shown on one line."""
    assert seen(problems_of(name)) == [f"{shown}: no such file"]


@EITHER
def test_name_that_no_file_can_have(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of("a\0b")
    assert str(problem).startswith("a\\x00b: ")


@EITHER
def test_directory(problems_of: ProblemsOf) -> None:
    """A gold set may be a folder of BEIR, and a run one of Parquet files."""
    Path("folder").mkdir()
    expected = (
        "is a directory, and as one of BEIR it needs one file of judgments, qrels/test.tsv (found none)",
        "holds no Parquet file (*.parquet); a folder, a pattern or an address is read as Parquet alone",
    )
    for name in ("folder", "folder/", "."):
        (problem,) = seen(problems_of(name))
        assert problem in {f"{name.rstrip('/')}: {each}" for each in expected}


@EITHER
def test_file_inside_a_file(problems_of: ProblemsOf) -> None:
    write("file", "x")
    assert seen(problems_of("file/gold.yaml")) == ["file/gold.yaml: cannot be read: Not a directory"]


@EITHER
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_of_somebody_else(problems_of: ProblemsOf) -> None:
    Path(write("secret", "x")).chmod(0)
    assert seen(problems_of("secret")) == ["secret: cannot be read: Permission denied"]


@EITHER
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="no byte"),
        pytest.param(b"\n \t\r\n", id="only space"),
        pytest.param(b"\xef\xbb\xbf", id="only a byte order mark"),
        pytest.param(gzip.compress(b""), id="gzip of nothing"),
        pytest.param(gzip.compress(b"\n\n"), id="gzip of space"),
    ],
)
def test_empty_file(problems_of: ProblemsOf, content: bytes) -> None:
    assert seen(problems_of(write("input", content))) == ["input: the file is empty"]


TEXT_THAT_PACKS = b'{"query_id": "q", "topk": []}\n' * 50


@EITHER
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(gzip.compress(TEXT_THAT_PACKS)[:-5], id="without its last bytes"),
        pytest.param(gzip.compress(TEXT_THAT_PACKS)[:20], id="cut in the data"),
        pytest.param(gzip.compress(TEXT_THAT_PACKS)[:5], id="cut in the header"),
        pytest.param(b"\x1f\x8b", id="only the first two bytes"),
    ],
)
def test_truncated_gzip(problems_of: ProblemsOf, content: bytes) -> None:
    assert seen(problems_of(write("input.gz", content))) == [
        "input.gz: damaged gzip data: Compressed file ended before the end-of-stream marker was reached"
    ]


TOO_MUCH = (
    f"unpacks to more than {MAX_EXPANSION} times its size, the limit for compressed inputs; "
    "if it is meant to, unpack it and name the file without compression"
)
START_OF_A_LINE = b'{"id": "q", "query_id": "q", "topk": ["'
MAX_OF_FEW = 1 << 20  # in place of `_ANY_EXPANSION`, which takes seconds
LARGE = MAX_OF_FEW + 1


@pytest.fixture
def few_may_be_less(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gzipped._ANY_EXPANSION == 1 << 24
    monkeypatch.setattr(gzipped, "_ANY_EXPANSION", MAX_OF_FEW)


def bomb(start: bytes, repeated: bytes, times: int) -> bytes:
    return gzip.compress(start + repeated * times)


@pytest.mark.usefixtures("few_may_be_less")
@EITHER
@pytest.mark.parametrize(
    ("start", "repeated", "times", "parts"),
    [
        pytest.param(START_OF_A_LINE, b"a", LARGE, 1, id="in one line"),
        pytest.param(b"", b"\0", LARGE, 1, id="of nothing"),
        pytest.param(b"", b"\0", LARGE // 4 + 1, 4, id="in several parts"),
        pytest.param(b"", b"\n", LARGE, 1, id="in empty lines"),
        pytest.param(b"", b"# x\n", LARGE // 4 + 1, 1, id="in remarks"),
    ],
)
def test_a_gzip_bomb(problems_of: ProblemsOf, start: bytes, repeated: bytes, times: int, parts: int) -> None:
    content = bomb(start, repeated, times) * parts
    assert seen(problems_of(write("input.gz", content))) == [f"input.gz: {TOO_MUCH}"]


@pytest.mark.usefixtures("few_may_be_less")
@pytest.mark.parametrize(
    ("repeated", "times", "allowed"),
    [
        pytest.param(bytes(1), MAX_OF_FEW, True, id="few bytes may be anything"),
        pytest.param(bytes(1), LARGE, False, id="one byte more"),
        pytest.param(bytes(400), 6_000, True, id="many, of numbers and space"),
    ],
)
def test_how_far_gzip_may_unpack(repeated: bytes, times: int, allowed: bool) -> None:  # noqa: FBT001
    numbered = len(repeated) > 1
    content = b"".join(b"%09d" % n + repeated for n in range(times)) if numbered else repeated * times
    path = write("input.gz", gzip.compress(content))
    if allowed:
        with open_source(path) as source:
            assert source.stream.read() == content
    else:
        with pytest.raises(RankgateError, match="unpacks to more than"), open_source(path) as source:
            source.stream.read()


@pytest.mark.full
def test_a_gzip_bomb_from_a_pipe_and_as_what_a_store_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bomb(START_OF_A_LINE, b"a", 40_000_000)  # enough to fill what is read first of a pipe
    record = Record(
        run="r", sha256="0", depth=9, queries=1, cut=0, kept=[], date="2026-01-01", source="r", provenance={}, gold=None
    )
    with pytest.raises(RankgateError, match="store: unpacks to more than"):
        list(unpack(record, data, frozenset(), name="store").rankings)
    reading, writing = os.pipe()
    writer = threading.Thread(target=os.write, args=(writing, data))
    writer.start()
    with os.fdopen(reading) as pipe, os.fdopen(writing), monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", pipe)
        with pytest.raises(RankgateError, match="standard input: unpacks to more than"), open_source("-"):
            pass
        writer.join()


def changed(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place:][1:]


@EITHER
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(changed(gzip.compress(TEXT_THAT_PACKS), -6), id="wrong checksum"),
        pytest.param(changed(gzip.compress(TEXT_THAT_PACKS), -1), id="wrong length"),
        pytest.param(changed(gzip.compress(TEXT_THAT_PACKS), 12), id="a byte of the data changed"),
        pytest.param(changed(gzip.compress(TEXT_THAT_PACKS), 2), id="unknown compression"),
        pytest.param(gzip.compress(TEXT_THAT_PACKS) + b"garbage", id="something behind it"),
    ],
)
def test_damaged_gzip(problems_of: ProblemsOf, content: bytes) -> None:
    (problem,) = problems_of(write("input.gz", content))
    assert str(problem).startswith("input.gz: damaged gzip data: ")


# Gold sets.

SAMPLE = '{"id": "q1", "expected_output": ["a"]}\n'

NO_IDS = "expected a list of ids or a mapping of ids to gains"
GAINS = "gains lie between -1000 and 1000"
BOTH = "says no_answer: true and names relevant documents"


BAD_GOLD: dict[str, dict[str | bytes, list[str]]] = {
    "gold.yaml": {
        b"samples:\n  - id: caf\xe9\n    expected_output: [a]\n": ["2: not UTF-8 (byte 0xe9); save the file as UTF-8"],
        "samples:\n  - id: q1\n    expected_output: {a: 1, b: 1, a: 2}\n    id: q2\n": [
            "3: samples[0].expected_output.a: duplicate key, first on line 3",
            "4: samples[0].id: duplicate key, first on line 2",
        ],
        "samples:\n  - id: q1\n    expected_output: " + "[" * 60 + "]" * 60: ["3: nested deeper than 50 levels"],
        "queries:\n  - id: q1\n": ["1: expected `samples:` with a list of samples, found {'queries': [{'id': 'q1'}]}"],
        "samples:\n": ["1: samples: expected `samples:` with a list of samples, found nothing"],
        "owner: us\nsamples: q1\n": ["2: samples: expected `samples:` with a list of samples, found 'q1'"],
        'samples:\n  - id: "é"\n  - id: "q\x07"\n': [
            "3: not valid YAML: unacceptable character #x0007: control characters are not allowed"
        ],
        # Samples that are not mappings.
        "samples:\n  - q1\n  -\n  - 5\n": [
            "2: samples[0]: expected a sample with id and expected_output, found 'q1'",
            "3: samples[1]: expected a sample with id and expected_output, found nothing",
            "4: samples[2]: expected a sample with id and expected_output, found 5",
        ],
        "samples:\n  - expected_output: [a]\n  - id:\n    expected_output: [a]\n": [
            "2: samples[0]: the sample has no id",
            "3: samples[1]: the sample has no id",
        ],
        "samples:\n  - id: 1.5\n    expected_output: [a]\n  - id: true\n    expected_output: [a]\n": [
            "2: samples[0]: sample '1.5': id: expected an id, found a number",
            "4: samples[1]: sample 'True': id: expected an id, found true or false",
        ],
        (
            "samples:\n  - id: q1\n    expected_output: [a]\n  - id: q2\n    expected_output: [a]\n"
            "  - id: q1\n    expected_output: [b]\n"
        ): ["6: samples[2]: sample 'q1' stands twice (first on line 2); keep one"],
        "samples:\n  - id: q1\n  - id: q2\n    expected_output: [a]\n": [
            "2: samples[0]: sample 'q1' has no expected_output; an unanswerable one says no_answer: true"
        ],
        "samples:\n  - id: q1\n    expected_output: a, b\n": [
            f"2: samples[0].expected_output: sample 'q1': {NO_IDS}, found 'a, b'"
        ],
        "samples:\n  - id: q1\n    expected_output: [a, [b], 1.5, null, true]\n": [
            "2: samples[0].expected_output: sample 'q1': expected a document id, found ['b']"
        ],
        'samples:\n  - id: q1\n    expected_output: {a: "1"}\n  - id: q2\n    expected_output: {a: yes}\n': [
            "2: samples[0].expected_output: sample 'q1': the gain of 'a' is '1', not a number",
            "4: samples[1].expected_output: sample 'q2': the gain of 'a' is 'yes', not a number",
        ],
        "samples:\n  - id: q1\n    expected_output: {a: .nan}\n  - id: q2\n    expected_output: {a: .inf}\n": [
            "2: samples[0].expected_output: sample 'q1': the gain of 'a' is '.nan', not a number",
            "4: samples[1].expected_output: sample 'q2': the gain of 'a' is '.inf', not a number",
        ],
        (
            "samples:\n  - id: q1\n    expected_output: [a]\n    metadata: {k: 0}\n"
            "  - id: q2\n    expected_output: [a]\n    metadata: {k: -3}\n"
        ): [
            "2: samples[0].metadata.k: sample 'q1': k must be at least 1, not 0",
            "5: samples[1].metadata.k: sample 'q2': k must be at least 1, not -3",
        ],
        "samples:\n  - id: q1\n    expected_output: [a]\n    metadata: {no_answer: true}\n": [
            f"2: samples[0].metadata.no_answer: sample 'q1' {BOTH}"
        ],
    },
    "gold.json": {
        b'{"samples": [\n  {"id": "q1",\n   "expected_output": ["caf\xe9"]}]}': [
            "3: not UTF-8 (byte 0xe9); save the file as UTF-8"
        ],
        '{"samples": [\n  {"id": "q1", "expected_output": ["a"]},\n  {"id": "q2", "expected_output": ["a"]\n]}\n': [
            "4: broken JSON: expecting ',' delimiter (column 1)"
        ],
        "[\n  {'id': 'q1'}\n]\n": ["2: broken JSON: expecting property name enclosed in double quotes (column 4)"],
        '{"samples": {"q1": ["a"]}}': ["1: samples: expected `samples:` with a list of samples, found {'q1': ['a']}"],
        '[["q1"], {"id": "q2", "expected_output": ["a"]}]': [
            " [0]: expected a sample with id and expected_output, found ['q1']"
        ],
        f"[{SAMPLE}, {SAMPLE}]": [" [1]: sample 'q1' stands twice; keep one"],
        "[" * 100_000: ["1: nested too deeply"],
    },
    "gold.jsonl": {
        (
            SAMPLE.encode() + b'{"id": "caf\xe9", "expected_output": ["a"]}\n{"id": "caf\xff", "expected_output": []}\n'
        ): [
            "2: not UTF-8 (byte 0xe9); save the file as UTF-8",
            "3: not UTF-8 (byte 0xff); save the file as UTF-8",
        ],
        SAMPLE + '{"id": "q2", "expected_output": ["a"}\n{"id": "q3" "expected_output": ["a"]}\n': [
            "2: broken JSON: expecting ',' delimiter (column 37)",
            "3: broken JSON: expecting ',' delimiter (column 13)",
        ],
        SAMPLE + '{"id": "q2", "expected_output": [\n': ["2: broken JSON: expecting value (column 34)"],
        '{"id": "q1", "expected_output": ["a"]}\n5\n': ["2: expected a sample with id and expected_output, found 5"],
        # JSONL, an id as a number and as text.
        '{"id": 7, "expected_output": ["a"]}\n\n{"id": "7", "expected_output": ["a"]}\n': [
            "3: sample '7' stands twice (first on line 1); keep one"
        ],
        (
            '{"id": "q1", "expected_output": [null]}\n{"id": "q2", "expected_output": [true]}\n'
            '{"id": "q3", "expected_output": [1.5]}\n{"id": "q4", "expected_output": [{"id": "a"}]}\n'
        ): [
            "1: expected_output: sample 'q1': expected a document id, found nothing",
            "2: expected_output: sample 'q2': expected a document id, found True",
            "3: expected_output: sample 'q3': expected a document id, found 1.5",
            (
                "4: expected_output[0]: sample 'q4': expected a span of doc, start, end, text, gain: "
                "object contains unknown field id"
            ),
        ],
        # An id that is empty, which an empty id of a run would match.
        (
            '{"id": "q1", "expected_output": ["a", ""]}\n{"id": "q2", "expected_output": {"": 1}}\n'
            '{"id": "", "expected_output": ["a"]}\n{"id": "q4", "expected_output": ["a"], "negatives": [""]}\n'
        ): [
            "1: expected_output: sample 'q1': expected a document id, found ''",
            "2: expected_output: sample 'q2': expected a document id, found ''",
            "3: the sample has no id",
            "4: negatives: sample 'q4': a negative is empty; write its id, or leave it out",
        ],
        (
            '{"id": "q1", "expected_output": {"a": "1"}}\n{"id": "q2", "expected_output": {"a": true}}\n'
            '{"id": "q3", "expected_output": {"a": null}}\n{"id": "q4", "expected_output": {"a": [1]}}\n'
        ): [
            "1: expected_output: sample 'q1': the gain of 'a' is '1', not a number",
            "2: expected_output: sample 'q2': the gain of 'a' is True, not a number",
            "3: expected_output: sample 'q3': the gain of 'a' is nothing, not a number",
            "4: expected_output: sample 'q4': the gain of 'a' is [1], not a number",
        ],
        (
            '{"id": "q1", "expected_output": {"a": NaN}}\n{"id": "q2", "expected_output": {"a": -Infinity}}\n'
            '{"id": "q3", "expected_output": {"a": 1e999}}\n'
        ): [
            "1: NaN is not a number that JSON allows; use a finite number or leave the key out",
            "2: -Infinity is not a number that JSON allows; use a finite number or leave the key out",
            "3: the number 1e999 is too large",
        ],
        '{"id": "q1", "expected_output": {"a": 1001}}\n{"id": "q2", "expected_output": {"a": -1e300}}\n': [
            f"1: expected_output: sample 'q1': the gain of 'a' is 1001; {GAINS}",
            f"2: expected_output: sample 'q2': the gain of 'a' is -1e+300; {GAINS}",
        ],
        SAMPLE + '{"id": "q2", "expected_output": {"a": 1, "b": 1, "a": 2}}\n': [
            "2: the key 'a' stands twice in one object"
        ],
        SAMPLE + '{"id": "q2", "expected_output": {"ids": {"a": 1, "a": 2}}}\n': [
            "2: the key 'a' stands twice in one object"
        ],
        SAMPLE + '{"id": "q2", "expected_output": {"a": 1}, "expected_output": {"a": 2}}\n': [
            "2: the key 'expected_output' stands twice in one object"
        ],
        '{"id": "q1", "id": "q2", "expected_output": ["a"]}\n': ["1: the key 'id' stands twice in one object"],
        SAMPLE + '{"id": "q2", "expected_output": ["a"], "metadata": {"k": 2}, "cluster": "c", "note": 1}\n': [
            "2: cluster: sample 'q2': cluster belongs under metadata; write metadata: {cluster: …}"
        ],
        (
            '{"id": "q1", "expected_output": ["a"], "metadata": {"k": "5"}}\n'
            '{"id": "q2", "expected_output": ["a"], "metadata": {"k": 2.5}}\n'
            '{"id": "q3", "expected_output": ["a"], "metadata": {"tags": "hard"}}\n'
            '{"id": "q4", "expected_output": ["a"], "metadata": {"tags": ["hard", 5]}}\n'
            '{"id": "q5", "expected_output": ["a"], "metadata": {"no_answer": "no"}}\n'
            '{"id": "q6", "expected_output": ["a"], "metadata": []}\n'
            '{"id": "q7", "expected_output": ["a"], "input": 5}\n'
            '{"id": "q8", "expected_output": ["a"], "input": {"question": 5}}\n'
        ): [
            "1: sample 'q1': metadata.k: expected a whole number, found text",
            "2: sample 'q2': metadata.k: expected a whole number, found a number",
            "3: sample 'q3': metadata.tags: expected a list, found text",
            "4: sample 'q4': metadata.tags[1]: expected text, found a whole number",
            "5: sample 'q5': metadata.no_answer: expected true or false, found text",
            "6: sample 'q6': metadata: expected a mapping, found a list",
            "7: sample 'q7': input: expected text or a mapping, found a whole number",
            "8: sample 'q8': input.question: expected text, found a whole number",
        ],
        SAMPLE + '{"id": "q2", "expected_output": ["\\ud83d"]}\n{"id": "\\udca9\\ud83d", "expected_output": []}\n': [
            "2: text with half of a surrogate pair (\\ud800 and the like); write valid Unicode",
            "3: text with half of a surrogate pair (\\ud800 and the like); write valid Unicode",
        ],
        (
            SAMPLE
            + f'{{"id": {"1" * 5000}, "expected_output": []}}\n{{"id": "q", "expected_output": [{"1" * 5000}]}}\n'
        ): ["2: an integer of 5000 digits", "3: an integer of 5000 digits"],
        SAMPLE + f'{{"id": "q2", "expected_output": {{"a": 1{"0" * 400}}}}}\n': [
            f"2: expected_output: sample 'q2': the gain of 'a' is 1{'0' * 58}…; gains lie between -1000 and 1000"
        ],
        SAMPLE + f'{{"id": "q2", "expected_output": {"[" * 100_000}{"]" * 100_000}}}\n': ["2: nested too deeply"],
    },
    "qrels.txt": {
        b"q1 0 a 1\nq1 0 caf\xe9 1\n": ["2: not UTF-8 (byte 0xe9); save the file as UTF-8"],
        "q1 0 a x\nq1 0 b nan\nq1 0 c inf\nq1 0 d 1e999\nq1 0 e 1_0\n": [
            "1: q1: the gain 'x' is not a finite number",
            "2: q1: the gain 'nan' is not a finite number",
            "3: q1: the gain 'inf' is not a finite number",
            "4: q1: the gain '1e999' is not a finite number",
            "5: q1: the gain '1_0' is not a finite number",
        ],
        # Qrels, a digit of another script.
        "q1 0 a \u0663\n": ["1: q1: the gain '\u0663' is not a finite number"],
        "q1 0 a 1\nq2 0 a 1\nq1 0 a 2\nq1 0 a 1\nq1 0 a -1\n": [
            "3: q1: conflicting judgment: 'a' has gain 1 above and 2 here",
            "5: q1: conflicting judgment: 'a' has gain 1 above and -1 here",
        ],
        "q1 0 a 1\nq1 0 a\nq1 0 a b 1\nq1,0,a,1\n": [
            "2: expected 4 columns (query iteration document gain), found 3: 'q1 0 a'",
            "3: expected 4 columns (query iteration document gain), found 5: 'q1 0 a b 1'",
            "4: expected 4 columns (query iteration document gain), found 1: 'q1,0,a,1'",
        ],
        "q1 0 a 1\nq1 0 b 5000\n": ["2: q1: the gain of 'b' is 5000; gains lie between -1000 and 1000"],
    },
}


@each_row(
    ("name", "content", "expected"),
    [
        *((name, *row) for name, rows in BAD_GOLD.items() for row in rows.items()),
        *(
            pytest.param(
                "gold.yaml",
                f"- {{id: q1, expected_output: [a]}}\n- {{id: q2, expected_output: [a], {key}: {value}}}\n",
                [f"2: [1].{key}: sample 'q2': {key} belongs under metadata; write metadata: {{{key}: …}}"],
                id=f"{key} beside metadata",
            )
            for key, value in {"no_answer": "true", "k": "3", "tags": "[]", "as_of": '"2025-01-01"'}.items()
        ),
        *(
            pytest.param(
                "gold.jsonl",
                SAMPLE + '{"id": "q2", ' + rest + "}\n",
                [f"2: the key {key!r} stands twice in one object"],
                id=f"JSONL, {name} twice",
            )
            for name, key, rest in (
                ("input", "input", '"input": "Why?", "expected_output": ["a"], "input": "How?"'),
                ("question", "question", '"input": {"question": "a", "question": "b"}, "expected_output": ["a"]'),
                ("metadata", "metadata", '"expected_output": ["a"], "metadata": {"k": 1}, "metadata": {}'),
                ("k of metadata", "k", '"expected_output": ["a"], "metadata": {"k": 1, "k": 2}'),
                ("an escaped id", "id", '"expected_output": ["a"], "\\u0069d": "q3"'),
                ("an own key", "note", '"expected_output": ["a"], "note": 1, "note": 2'),
            )
        ),
    ],
)
def test_gold(name: str, content: str | bytes, expected: list[str]) -> None:
    assert seen(gold_problems(write(name, content))) == [f"{name}:{each}" for each in expected]


@pytest.mark.parametrize(
    ("content", "message", "line"),
    [
        (
            '{"samples": [\n{"id": "q1",\n "expected_output": {"a": 1,\n  "b": 1, "a": 2}}]}',
            "the key 'a' stands twice in one object",
            4,
        ),
        (
            '[\n{"id": "q1", "expected_output": ["a"]},\n{"id": "q1",\n "id": "q2", "expected_output": ["a"]}]',
            "the key 'id' stands twice in one object",
            4,
        ),
        (
            '[\n{"id": "Infinity", "expected_output": ["a"]},\n{"id": "q2", "expected_output": {"a": Infinity}}]',
            "Infinity is not a number that JSON allows; use a finite number or leave the key out",
            3,
        ),
        ('[\n{"id": "q1",\n "expected_output": {"a": 1e999}}]', "the number 1e999 is too large", 3),
        (f'[\n{{"id": "q1",\n "expected_output": [{"1" * 5000}]}}]', "an integer of 5000 digits", 3),
        (
            '[\n{"id": "q1",\n "expected_output": ["\\ud800"]}]',
            "text with half of a surrogate pair (\\ud800 and the like); write valid Unicode",
            3,
        ),
    ],
)
def test_strict_json_documents_name_the_right_line_or_none(content: str, message: str, line: int) -> None:
    (problem,) = gold_problems(write("gold.json", content), "json")
    assert (problem.message, problem.file) == (message, "gold.json")
    assert problem.line in (line, None)
    if "Infinity" in content:
        return  # which is a missing value in a run
    (problem,) = run_problems("gold.json", "json")
    assert (problem.message, problem.file) == (message, "gold.json")
    assert problem.line in (line, None)


def test_a_misspelt_expected_output_is_not_recommended() -> None:
    (problem,) = gold_problems(write("gold.yaml", "samples:\n  - id: q1\n    expected_ouput: [a]\n"))
    assert "'expected_ouput'" in problem.message
    assert "did you mean 'expected_ouput'" not in problem.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "samples: []\n",
            "gold: the gold set has no sample, so none names a relevant document; nothing could be scored",
        ),
        (
            '{"id": "q1", "expected_output": []}',
            "gold: the gold set has 1 sample, none of which names a relevant document; nothing could be scored",
        ),
        (
            "q1 0 a 0\nq2 0 b -1\n",
            "gold: the gold set has 2 samples, none of which names a relevant document; nothing could be scored",
        ),
        (
            '{"id": "q1", "expected_output": []}\n{"id": "q2", "expected_output": {"a": 0}}\n',
            "gold: the gold set has 2 samples, none of which names a relevant document; nothing could be scored",
        ),
    ],
)
def test_gold_without_any_relevant_document(content: str, message: str) -> None:
    assert seen(gold_problems(write("gold", content))) == [message]


# Runs.


def ranked(*ranks: object) -> str:
    """A JSONL line whose items a, b, c … have these ranks."""
    items = [
        {"chunk_id": doc} if rank is None else {"chunk_id": doc, "rank": rank}
        for doc, rank in zip("abcdef", ranks, strict=False)
    ]
    return json.dumps({"query_id": "q1", "topk": items}) + "\n"


TWO_LISTS = "more than one list of results; write one of topk, retrieved, actual_output"
LINE = '{"query_id": "q0", "topk": [{"chunk_id": "a"}]}\n'


BAD_RUNS: dict[str, dict[str | bytes, list[str]]] = {
    "run.jsonl": {
        LINE.encode() + b'{"query_id": "caf\xe9", "topk": []}\n': ["2: not UTF-8 (byte 0xe9); save the file as UTF-8"],
        # JSONL that is not UTF-8 where nobody reads.
        LINE.encode() + b'{"query_id": "q1", "topk": [{"chunk_id": "a", "text": "caf\xe9"}]}\n': [
            "2: not UTF-8 (byte 0xe9); save the file as UTF-8"
        ],
        LINE + '{"query_id": "q1", "topk": [}\nnonsense\n{"query_id": "q2", "topk": []} {}\n': [
            "2: broken JSON: expecting value (column 29)",
            "3: broken JSON: expecting value (column 1)",
            "4: broken JSON: extra data (column 32)",
        ],
        LINE + '{"query_id": "q1", "topk": [\n': ["2: broken JSON: expecting value (column 29)"],
        # JSONL, the writer was stopped.
        LINE + '{"query_id": "q1", "topk": [{"chunk_id": "a': [
            "2: broken JSON: unterminated string starting at (column 42)"
        ],
        '{"topk": []}\n{"query_id": null, "topk": []}\n{"queryid": "q1", "topk": []}\n': [
            f"{line}: no query id; write it as query_id (or id)" for line in (1, 2, 3)
        ],
        LINE + '{"query_id": 1.5, "topk": []}\n{"query_id": ["q1"], "topk": []}\n{"query_id": true, "topk": []}\n': [
            "2: query_id: expected an id, found a number",
            "3: query_id: expected an id, found a list",
            "4: query_id: expected an id, found true or false",
        ],
        LINE + '{"query_id": 7, "topk": []}\n\n{"id": "7", "retrieved": []}\n{"query_id": "q0", "topk": []}\n': [
            "4: query '7' stands twice (first on line 2); keep one ranking of it",
            "5: query 'q0' stands twice (first on line 1); keep one ranking of it",
        ],
        '{"query_id": "q1", "topk": [{"chunk_id": "a"}, {"doc_id": "b"}]}\n{"query_id": "q2", "topk": [{}]}\n': [
            "1: query 'q1': item 2 has neither chunk_id nor id",
            "2: query 'q2': item 1 has neither chunk_id nor id",
        ],
        # Ids that are empty, in the shape of the contract and in others.
        (
            '{"query_id": "q1", "topk": [{"rank": 1, "chunk_id": ""}]}\n{"query_id": "q2", "retrieved": ["a", ""]}\n'
            '{"query_id": "", "topk": [{"rank": 1, "chunk_id": "a"}]}\n{"id": "", "topk": ["a"]}\n'
        ): [
            "1: query 'q1': item 1: expected an id, found ''",
            "2: query 'q2': item 2: expected an id, found ''",
            "3: the query: expected an id, found ''",
            "4: the query: expected an id, found ''",
        ],
        (
            LINE + '{"query_id": "q1", "topk": [{"chunk_id": 1.5}]}\n{"query_id": "q2", "topk": ["a", null]}\n'
            '{"query_id": "q3", "topk": [["a"]]}\n{"query_id": "q4", "topk": [{"chunk_id": true}]}\n'
        ): [
            "2: topk[0].chunk_id: expected an id, found a number",
            "3: topk[1]: expected an id or a mapping, found nothing",
            "4: topk[0]: expected an id or a mapping, found a list",
            "5: topk[0].chunk_id: expected an id, found true or false",
        ],
        LINE + '{"query_id": "q1"}\n{"query_id": "q2", "results": ["a"]}\n{"query_id": "q3", "topk": null}\n': [
            f"{n}: no list of results{found}; write one of topk, retrieved, actual_output"
            for n, found in ((2, " (found: 'query_id')"), (3, " (found: 'query_id', 'results')"), (4, ""))
        ],
        (
            '{"id": "q1", "topk": ["a"], "retrieved": ["b"]}\n'
            '{"id": "q2", "actual_output": ["a"], "actualOutput": ["b"]}\n'
        ): [f"{n}: {TWO_LISTS}" for n in (1, 2)],
        # Two lists, one of them the contract's.
        (
            '{"query_id": "q1", "topk": [{"chunk_id": "a"}], "retrieved": ["b"]}\n'
            '{"query_id": "q2", "topk": [{"chunk_id": "a"}], "actual_output": ["b"]}\n'
            '{"query_id": "q3", "topk": [{"chunk_id": "a"}], "actualOutput": ["b"]}\n'
            '{"query_id": "q4", "retrieved": ["a"], "actual_output": ["b"]}\n'
        ): [f"{n}: {TWO_LISTS}" for n in (1, 2, 3, 4)],
        # Two lists, whatever stood above.
        '{"query_id": "q0", "retrieved": ["z"]}\n{"query_id": "q1", "topk": [{"id": "a"}], "retrieved": ["b"]}\n': [
            f"2: {TWO_LISTS}"
        ],
        (
            LINE + '{"query_id": "q1", "topk": "a"}\n{"query_id": "q2", "topk": {"a": 0.5}}\n'
            '{"query_id": "q3", "retrieved": 5}\n[]\n"q4"\nnull\n'
        ): [
            "2: topk: expected a list of results, found 'a': the text of an answer goes under `answer`",
            "3: topk: expected a list, found a mapping",
            "4: retrieved: expected a list, found a whole number",
            "5: expected a mapping, found a list",
            "6: expected a mapping, found text",
            "7: expected a mapping, found nothing",
        ],
        (
            LINE + '{"query_id": "q1", "topk": [{"chunk_id": "a", "score": 1}, {"chunk_id": "b", "score": "0.5"}]}\n'
            '{"query_id": "q2", "topk": [{"chunk_id": "a", "rank": "1"}]}\n'
            '{"query_id": "q3", "topk": [{"chunk_id": "a", "rank": 1.5}]}\n'
            '{"query_id": "q4", "topk": [{"chunk_id": "a", "score": true}]}\n'
        ): [
            "2: topk[1].score: expected a number, found text",
            "3: topk[0].rank: expected a whole number, found text",
            "4: topk[0].rank: expected a whole number, found a number",
            "5: topk[0].score: expected a number, found true or false",
        ],
        # The same words, whatever stood above.
        (
            '{"id": "q0", "actual_output": ["z"]}\n{"query_id": "q1", "topk": [{"chunk_id": "a", "score": "0.5"}]}\n'
            '{"query_id": "q2", "retrieved": ["a", 1.5]}\n'
        ): [
            "2: topk[0].score: expected a number, found text",
            "3: retrieved[1]: expected an id or a mapping, found a number",
        ],
        ranked(1, 1, 3): ["1: query 'q1': rank 1 stands twice ('a', 'b')"],
        ranked(0, 1, 2): ["1: query 'q1': 'a' has rank 0; ranks start at 1"],
        ranked(0, 0): ["1: query 'q1': 'a' has rank 0; ranks start at 1"],
        ranked(1, -2): ["1: query 'q1': 'b' has rank -2; ranks start at 1"],
        ranked(1, 2, 4): ["1: query 'q1': rank 3 is missing; ranks run from 1 without gaps"],
        ranked(2, 3): ["1: query 'q1': rank 1 is missing; ranks run from 1 without gaps"],
        # A very large gap.
        ranked(1, 10**12): ["1: query 'q1': rank 2 is missing; ranks run from 1 without gaps"],
        ranked(1, None, 3): ["1: query 'q1': 'b' has no rank but others do; give all or none"],
        ranked(None, 1): ["1: query 'q1': 'a' has no rank but others do; give all or none"],
        '{"id": "q1", "retrieved": [{"id": "a", "rank": 1}, "b"]}\n': [
            "1: query 'q1': 'b' has no rank but others do; give all or none"
        ],
        LINE + '{"query_id": "q1", "topk": [{"chunk_id": "\\ud83d"}]}\n': [
            "2: text with half of a surrogate pair (\\ud800 and the like); write valid Unicode"
        ],
        f'{{"query_id": "q1", "doc_id": "a", "score": 1{"0" * 400}}}\n': [
            f"1: the score of 'a' is 1{'0' * 58}…; expected a finite number"
        ],
        LINE + f'{{"query_id": {"1" * 5000}, "topk": []}}\n{{"query_id": "q", "topk": [{"1" * 5000}]}}\n': [
            "2: an integer of 5000 digits",
            "3: an integer of 5000 digits",
        ],
        (
            LINE + f'{{"query_id": "q1", "topk": {"[" * 100_000}{"]" * 100_000}}}\n'
            f'{{"query_id": "q2", "topk": [], "x": {"[" * 100_000}{"]" * 100_000}}}\n'
        ): ["2: nested too deeply", "3: nested too deeply"],
    },
    "run.json": {
        b'{"q1": ["a"],\n "q2": ["caf\xe9"]}': ["2: not UTF-8 (byte 0xe9); save the file as UTF-8"],
        '{"q1": ["a"],\n "q2": ["b"]\n "q3": ["c"]}': ["3: broken JSON: expecting ',' delimiter (column 2)"],
        '[{"query_id": "q1", "topk": []}, {"query_id": "q2", "topk": []}, {"id": "q1", "topk": []}]': [
            " [2]: query 'q1' stands twice (first at [0]); keep one ranking of it"
        ],
        f'{{"q1": {{"a": 0.5, "b": 1{"0" * 400}}}}}': [
            f" query 'q1': the score of 'b' is 1{'0' * 58}…, not a number",
        ],
        '{"q1": {"a": 0.5, "": 0.4}, "": {"a": 0.5}}': [
            " query 'q1': the id of a result is empty",
            " query '': its id is empty",
        ],
        '{"q1": ["a"], "q2": {"a": 0.5}, "q3": null, "q4": "a"}': [
            " q2: expected a list of ids for this query, or numbers by id, found {'a': 0.5}",
            " q3: expected a list of ids for this query, or numbers by id, found nothing",
            " q4: expected a list of ids for this query, or numbers by id, found 'a'",
        ],
        '[{"query_id": "q1", "topk": ["a"]}, "q2", ["a"], {"query_id": "q3"}]': [
            " [1]: expected a mapping, found text",
            " [2]: expected a mapping, found a list",
            " [3]: no list of results (found: 'query_id'); write one of topk, retrieved, actual_output",
        ],
        '{"q1": [{"id": "a", "rank": 1}, {"id": "b", "rank": 1}]}': [" q1: query 'q1': rank 1 stands twice ('a', 'b')"],
        "[" * 100_000: ["1: nested too deeply"],
    },
    "run.trec": {
        # A TREC run that is not UTF-8, among other problems.
        b"q1 Q0 a 1 0.5 t\nq1 Q0 b\nq1 Q0 caf\xe9 1 0.5 t\nq1 Q0 c 1 x t\n": [
            "2: expected 6 columns (query Q0 document rank score tag), found 3: 'q1 Q0 b'",
            "3: not UTF-8 (byte 0xe9); save the file as UTF-8",
            "4: query 'q1': the score of 'c' is 'x'; scores must be finite numbers",
        ],
        "q1 Q0 a 1 0.5 t\nq1 Q0 a 1 0.5\nq1 Q0 a b 1 0.5 t\n": [
            "2: expected 6 columns (query Q0 document rank score tag), found 5: 'q1 Q0 a 1 0.5'",
            "3: expected 6 columns (query Q0 document rank score tag), found 7: 'q1 Q0 a b 1 0.5 t'",
        ],
        (
            "".join(
                f"q1 Q0 d{n} 1 {score} t\n" for n, score in enumerate(["nan", "NaN", "inf", "-Infinity", "1e999", "x"])
            )
        ): [
            f"{n}: query 'q1': the score of 'd{n - 1}' is '{score}'; scores must be finite numbers"
            for n, score in enumerate(["nan", "NaN", "inf", "-Infinity", "1e999", "x"], start=1)
        ],
        # TREC, what only Python takes for a number.
        "q1 Q0 a 1 1_0 t\nq1 Q0 b 1 \u0663 t\nq1 Q0 c 1 0x1 t\n": [
            "1: query 'q1': the score of 'a' is '1_0'; scores must be finite numbers",
            "2: query 'q1': the score of 'b' is '\u0663'; scores must be finite numbers",
            "3: query 'q1': the score of 'c' is '0x1'; scores must be finite numbers",
        ],
    },
}


@each_row(
    ("name", "content", "expected"),
    [
        *((name, *row) for name, rows in BAD_RUNS.items() for row in rows.items()),
    ],
)
def test_run(name: str, content: str | bytes, expected: list[str]) -> None:
    assert seen(run_problems(write(name, content))) == [f"{name}:{each}" for each in expected]


LITERALS = {"NaN": "NaN", **dict.fromkeys(("Infinity", "-Infinity", "1e999", "-1e999"), "infinite")}
each_literal = pytest.mark.parametrize(("literal", "said"), LITERALS.items(), ids=LITERALS)


@each_literal
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param('{"query_id": "q1", "topk": [%s]}', id="topk"),
        pytest.param('{"id": "q1", "retrieved": [%s]}', id="retrieved"),
        pytest.param('{"id": "q1", "actual_output": [%s]}', id="actual_output"),
        pytest.param('{"id": "q1", "actualOutput": [%s]}', id="actualOutput"),
        pytest.param('{"id": "q1", "actual_output": {"retrieved": [%s]}}', id="nested"),
    ],
)
@pytest.mark.parametrize("key", ["chunk_id", "id"])
def test_score_that_is_not_finite(shape: str, key: str, literal: str, said: str) -> None:
    items = (
        f'{{"{key}": "a", "score": 0.5}}, {{"{key}": "b", "score": {literal}}}, {{"{key}": "c", "score": {literal}}}'
    )
    content = LINE + shape % items + "\n"
    message = f"run.jsonl:2: the score of 'b' is {said}; scores must be finite numbers"
    assert seen(run_problems(write("run.jsonl", content))) == [message]


@each_literal
@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(
            '[\n{"query_id": "q1", "topk": []},\n{"id": "q2", "topk": [{"id": "b", "score": %s}]}\n]', 3, id="list"
        ),
        pytest.param('{"q1": [],\n"q2": [\n{"chunk_id": "b", "score": %s}]}', 3, id="{query: items}"),
        pytest.param('{"query_id": "q1",\n"topk": [{"id": "b", "score": %s}]}', 2, id="one line object"),
    ],
)
def test_score_that_is_not_finite_in_a_document(content: str, line: int, literal: str, said: str) -> None:
    """A document has no lines of its own, so the line may be left out; a wrong one may not be given."""
    (problem,) = run_problems(write("run.json", content % literal), "json")
    assert (problem.file, problem.message) == ("run.json", f"the score of 'b' is {said}; scores must be finite numbers")
    assert problem.line in (line, None)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('{"retrieve": "35"}', "run.jsonl:2: latency_ms[...]: expected a number, found text"),
        ('{"retrieve": true}', "run.jsonl:2: latency_ms[...]: expected a number, found true or false"),
        ('"35"', "run.jsonl:2: latency_ms: expected a number or a mapping, found text"),
        ("[35]", "run.jsonl:2: latency_ms: expected a number or a mapping, found a list"),
        ("-1", "run.jsonl:2: query 'q1': latency_ms must lie between 0 and 1e+12"),
        ('{"retrieve": 1e999}', "run.jsonl:2: the number 1e999 is too large"),
        ('{"retrieve": 35, "rerank": -1}', "run.jsonl:2: query 'q1': latency_ms must lie between 0 and 1e+12"),
        ('{"retrieve": 1e300}', "run.jsonl:2: query 'q1': latency_ms must lie between 0 and 1e+12"),
    ],
)
def test_latency_that_is_needed(written: str, message: str) -> None:
    content = f'{LINE}{{"query_id": "q1", "topk": [], "latency_ms": {written}}}\n'
    assert seen(run_problems(write("run.jsonl", content), needs=TIMES)) == [message]


# Many problems, and very deep ones.


def test_problems_of_several_kinds_are_reported_at_once() -> None:
    lines = [
        LINE,
        "{broken\n",
        ranked(1, 1, 3),
        '{"query_id": "q0", "topk": []}\n',
        '{"query_id": "q2", "topk": [{"chunk_id": "a", "score": NaN}]}\n',
        '{"query_id": "q3"}\n',
        '{"query_id": "q4", "topk": []}\n',
    ]
    assert seen(run_problems(write("run.jsonl", "".join(lines)))) == [
        "run.jsonl:2: broken JSON: expecting property name enclosed in double quotes (column 2)",
        "run.jsonl:3: query 'q1': rank 1 stands twice ('a', 'b')",
        "run.jsonl:4: query 'q0' stands twice (first on line 1); keep one ranking of it",
        "run.jsonl:5: the score of 'a' is NaN; scores must be finite numbers",
        "run.jsonl:6: no list of results (found: 'query_id'); write one of topk, retrieved, actual_output",
    ]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        pytest.param("gold.jsonl", '{"id": "q%d"}\n', "sample 'q%d' has no expected_output", id="gold, JSONL"),
        pytest.param("qrels.txt", "q%d 0 a x\n", "q%d: the gain 'x' is not a finite number", id="gold, qrels"),
        pytest.param(
            "run.jsonl", '{"query_id": "q%d", "topk": [{}]}\n', "query 'q%d': item 1 has neither", id="run, JSONL"
        ),
        pytest.param("run.trec", "q%d Q0 a 1 x t\n", "query 'q%d': the score of 'a' is 'x'", id="run, TREC"),
    ],
)
def test_reading_stops_after_twenty_problems(name: str, line: str, message: str) -> None:
    def found(count: int) -> list[str]:
        write(name, "".join(line % number for number in range(1, count + 1)))
        return seen(run_problems(name) if name.startswith("run") else gold_problems(name))

    assert len(found(19)) == 19
    for count in (20, 1000):
        *first, last = found(count)
        assert len(first) == 20
        assert all(text.startswith(f"{name}:{n}: {message % n}") for n, text in enumerate(first, start=1))
        assert last == f"{name}: stopped after 20 problems; there may be more"


def test_the_number_of_problems_can_be_chosen() -> None:
    write("gold.jsonl", "".join(f'{{"id": "q{number}"}}\n' for number in range(100)))
    with pytest.raises(RankgateError) as caught:
        read_gold("gold.jsonl", most_problems=3)
    assert len(caught.value.problems) == 4
    assert caught.value.problems[-1].message == "stopped after 3 problems; there may be more"
    write("run.jsonl", "".join(f'{{"query_id": "q{number}"}}\n' for number in range(100)))
    with pytest.raises(RankgateError) as caught:
        list(read_run("run.jsonl", most_problems=1000).rankings)
    assert len(caught.value.problems) == 100


NESTED: dict[str, tuple[str, Callable[[str], object]]] = {
    "a sample": ("%s\n", lambda name: read_gold(name, "jsonl")),
    "expected_output": ('{"id": "q", "expected_output": %s}\n', lambda name: read_gold(name, "jsonl")),
    "a sample id": ('{"id": %s, "expected_output": ["a"]}\n', lambda name: read_gold(name, "jsonl")),
    "metadata": (
        '{"id": "q", "expected_output": ["a"], "metadata": {"x": %s}}\n',
        lambda name: read_gold(name, "jsonl"),
    ),
    "a gold document": ("%s", lambda name: read_gold(name, "json")),
    "samples of a document": ('{"samples": [%s]}', lambda name: read_gold(name, "json")),
    "topk": ('{"query_id": "q", "topk": %s}\n', lambda name: list(read_run(name, "jsonl").rankings)),
    "a key of the user's own": (
        '{"query_id": "q", "topk": [], "x": %s}\n',
        lambda name: list(read_run(name, "jsonl").rankings),
    ),
    "a run document": ("%s", lambda name: list(read_run(name, "json").rankings)),
    "a query of a document": ('{"q": %s}', lambda name: list(read_run(name, "json").rankings)),
}


@pytest.mark.full
@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("where", NESTED)
def test_no_depth_of_nesting_ends_in_a_crash(where: str, opening: str) -> None:
    """Somewhere the interpreter's limit is reached while reading, or only later while telling what was found."""
    content, read = NESTED[where]
    for depth in (*range(850, 1005, 3), 3_000, 30_000):
        name = write("input", content % (opening * depth + "1" + {"[": "]", '{"a":': "}"}[opening] * depth))
        with suppress(RankgateError):
            read(name)


def test_a_gold_set_that_yaml_takes_minutes_for_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankgate.readers.samples.MAX_YAML", 100)
    Path("gold.yaml").write_text("samples:\n" + "# a comment\n" * 10)
    assert seen(gold_problems("gold.yaml")) == [
        "gold.yaml: has more than 100 bytes; write so large a gold set as JSONL"
    ]
