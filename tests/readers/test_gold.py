"""Gold in every accepted shape: the same judgments, whatever the format."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rankgate.model.values import Gold, Sample
from rankgate.readers.formats import fingerprint_of, read_gold


def gold(where: Path, content: str | bytes, form: str | None = None) -> Gold:
    path = where / "gold"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_gold(path.as_posix(), form)


def judgments(read: Gold) -> dict[str, dict[str, float]]:
    return {query_id: dict(sample.gains) for query_id, sample in read.samples.items()}


@pytest.mark.parametrize(
    ("content", "form"),
    [
        pytest.param(
            """\
            samples:
              - id: q1
                expected_output: [a, b]
              - id: q2
                expected_output: [c]
            """,
            "yaml",
            id="YAML, samples",
        ),
        pytest.param(
            """\
            - id: q1
              expected_output:
                - a
                - b
            - id: q2
              expected_output:
                - c
            """,
            "yaml",
            id="YAML, bare list",
        ),
        pytest.param(
            """\
            # what our support team judged
            ---
            version: 3
            samples:
              - {id: q1, expected_output: [a, b]}
              - {id: q2, expected_output: [c]}
            """,
            "yaml",
            id="YAML with comment, document start and keys of the user's own",
        ),
        pytest.param(
            '{"samples": [{"id": "q1", "expected_output": ["a", "b"]}, {"id": "q2", "expected_output": ["c"]}]}',
            "json",
            id="JSON, samples",
        ),
        pytest.param(
            """\
            [
              {"id": "q1", "expected_output": ["a", "b"]},
              {"id": "q2", "expected_output": ["c"]}
            ]
            """,
            "json",
            id="JSON, bare list",
        ),
        pytest.param(
            """\
            {"id": "q1", "expected_output": ["a", "b"]}
            {"id": "q2", "expected_output": ["c"]}
            """,
            "jsonl",
            id="JSONL",
        ),
        pytest.param(
            """\

            {"id": "q1", "expected_output": ["a", "b"]}

            {"id": "q2", "expected_output": ["c"]}

            """,
            "jsonl",
            id="JSONL with blank lines",
        ),
        pytest.param(
            """\
            q1 0 a 1
            q1 0 b 1
            q2 0 c 1
            """,
            "qrels",
            id="qrels",
        ),
        pytest.param("q1\tQ0\ta\t1.0\nq1\t0\tb\t1\r\n\nq2   0   c   1", "qrels", id="qrels with tabs, CRLF, spaces"),
        pytest.param("q1 0 a 1\nq2 0 c 1\nq1 0 b 1\n", "qrels", id="qrels, queries interleaved"),
    ],
)
def test_shapes(tmp_path: Path, content: str, form: str) -> None:
    lines = content.splitlines(keepends=True)
    indent = " " * 12 if lines[-1].isspace() or lines[-1].startswith(" " * 12) else ""
    read = gold(tmp_path, "".join(line.removeprefix(indent) for line in lines))
    assert read.format == form
    assert judgments(read) == {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}
    assert list(read.samples) == ["q1", "q2"]
    assert read.name == (tmp_path / "gold").as_posix()


@pytest.mark.parametrize(
    ("expected_output", "gains"),
    [
        pytest.param(["a", "b"], {"a": 1, "b": 1}, id="a list of ids is binary"),
        pytest.param({"a": 3, "b": 1}, {"a": 3, "b": 1}, id="a mapping is graded"),
        pytest.param({"a": 0.5, "b": 2.25}, {"a": 0.5, "b": 2.25}, id="gains between the whole numbers"),
        pytest.param({"a": 1, "b": 0, "c": -1}, {"a": 1, "b": 0, "c": -1}, id="judged and not relevant is kept"),
        pytest.param({"ids": ["a", "b"]}, {"a": 1, "b": 1}, id="ids, a list"),
        pytest.param({"ids": {"a": 3}}, {"a": 3}, id="ids, graded"),
        pytest.param({"ids": ["a"], "answer": "30 days"}, {"a": 1}, id="ids beside an answer"),
        pytest.param({"ids": 2, "a": 1}, {"ids": 2, "a": 1}, id="a document that is called ids"),
        pytest.param(["a", "a", "b"], {"a": 1, "b": 1}, id="an id listed twice is one judgment"),
        pytest.param([7, "8"], {"7": 1, "8": 1}, id="integer ids are their decimal strings"),
        pytest.param([7, "7"], {"7": 1}, id="an integer and its decimal string are one id"),
        pytest.param([-7, 0], {"-7": 1, "0": 1}, id="negative and zero"),
        pytest.param(["007", "7.0", "1e3"], {"007": 1, "7.0": 1, "1e3": 1}, id="text that looks like a number is text"),
        pytest.param(
            [1234567890123456789, 12345678901234567890123],
            {"1234567890123456789": 1, "12345678901234567890123": 1},
            id="integer ids of any length keep every digit",
        ),
        pytest.param(
            ["Alû", "Müller–Lyer", "文書 1", "💡"], {"Alû": 1, "Müller–Lyer": 1, "文書 1": 1, "💡": 1}, id="Unicode"
        ),
        pytest.param(
            ["doc#1:p2", "a,b", "it's", 'say "so"'], {"doc#1:p2": 1, "a,b": 1, "it's": 1, 'say "so"': 1}, id="signs"
        ),
        pytest.param({"a:b": 1, "c": 2}, {"a:b": 1, "c": 2}, id="a graded id with a colon"),
        pytest.param({"a": 1000, "b": -1000}, {"a": 1000, "b": -1000}, id="the largest gains"),
    ],
)
@pytest.mark.parametrize("form", ["yaml", "json", "jsonl"])
def test_expected_output(tmp_path: Path, form: str, expected_output: Any, gains: Mapping[str, float]) -> None:
    sample = json.dumps({"id": "q", "expected_output": expected_output}, ensure_ascii=False)
    written = {"yaml": f"samples:\n  - {sample}\n", "json": f'{{"samples": [{sample}]}}', "jsonl": f"{sample}\n"}
    read = gold(tmp_path, written[form])
    assert read.format == form
    assert judgments(read) == {"q": gains}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("q1", "q1", id="text"),
        pytest.param("17", "17", id="an integer"),
        pytest.param("1234567890123456789", "1234567890123456789", id="19 digits"),
        pytest.param("12345678901234567890123", "12345678901234567890123", id="23 digits"),
        pytest.param("'17'", "17", id="quoted"),
        pytest.param("+17", "+17", id="a plus sign belongs to the id"),
        pytest.param("017", "017", id="a leading zero belongs to the id"),
        pytest.param("no", "no", id="no is not false"),
        pytest.param("1:30", "1:30", id="1:30 is not 90"),
        pytest.param("2025-06-01", "2025-06-01", id="a date is text"),
        pytest.param("0x1F", "0x1F", id="hexadecimal is text"),
        pytest.param("1_000", "1_000", id="an underscore is text"),
    ],
)
def test_plain_yaml_ids(tmp_path: Path, written: str, expected: str) -> None:
    read = gold(tmp_path, f"samples:\n  - id: {written}\n    expected_output: [{written}]\n")
    assert judgments(read) == {expected: {expected: 1}}


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        pytest.param({"input": {"question": "Why?"}}, {"question": "Why?"}, id="the question inside input"),
        pytest.param({"input": "Why?"}, {"question": "Why?"}, id="the question as input"),
        pytest.param({"input": {"question": None, "user": 7}}, {}, id="input without a question"),
        pytest.param({"input": None}, {}, id="no input"),
        pytest.param({"metadata": {"k": 3}}, {"k": 3}, id="k"),
        pytest.param({"metadata": {"tags": ["lang:pt-BR", "hard"]}}, {"tags": ("lang:pt-BR", "hard")}, id="tags"),
        pytest.param({"metadata": {"tags": ["a", "b", "a"]}}, {"tags": ("a", "b")}, id="a tag twice is one tag"),
        pytest.param({"metadata": {"owner": "search team", "n": 5}}, {}, id="metadata of the user's own"),
        pytest.param({"metadata": None}, {}, id="no metadata"),
        pytest.param({"note": "checked"}, {}, id="keys of the user's own"),
        pytest.param(
            {"expected_output": [], "metadata": {"no_answer": True}}, {"gains": {}, "no_answer": True}, id="no answer"
        ),
        pytest.param(
            {"expected_output": {"a": 0}, "metadata": {"no_answer": True}},
            {"gains": {"a": 0}, "no_answer": True},
            id="no answer, with a document judged not relevant",
        ),
        pytest.param({"expected_output": []}, {"gains": {}}, id="nothing relevant"),
        pytest.param({"expected_output": None}, {"gains": {}}, id="expected_output without a value"),
    ],
)
@pytest.mark.parametrize("form", ["yaml", "json", "jsonl"])
def test_sample(tmp_path: Path, form: str, sample: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    lines = [json.dumps({"id": "q", "expected_output": ["a"], **sample}), '{"id": "other", "expected_output": ["z"]}']
    written = {
        "yaml": "".join(["samples:\n", *(f"  - {line}\n" for line in lines)]),
        "json": f"[{', '.join(lines)}]",
        "jsonl": "".join(f"{line}\n" for line in lines),
    }
    line = {"yaml": 2, "json": None, "jsonl": 1}[form]
    default: dict[str, Any] = {"query_id": "q", "gains": {"a": 1.0}, "line": line}
    assert gold(tmp_path, written[form]).samples["q"] == Sample(**default | dict(expected))


def test_an_unanswerable_sample_needs_no_expected_output(tmp_path: Path) -> None:
    read = gold(tmp_path, '{"id": "q1", "metadata": {"no_answer": true}}\n{"id": "q2", "expected_output": ["a"]}\n')
    assert judgments(read) == {"q1": {}, "q2": {"a": 1}}
    assert read.samples["q1"].no_answer


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        pytest.param(
            "samples:\n- id: q1\n  expected_output: [a]\n\n- id: q2\n  expected_output: [a]\n", [2, 5], id="YAML"
        ),
        pytest.param(
            "# one\n- {id: q1, expected_output: [a]}\n- {id: q2, expected_output: [a]}\n", [2, 3], id="YAML list"
        ),
        pytest.param(
            '{"id": "q1", "expected_output": ["a"]}\n\n{"id": "q2", "expected_output": ["a"]}', [1, 3], id="JSONL"
        ),
        pytest.param("q1 0 a 1\nq1 0 b 1\nq2 0 a 1\n", [1, 3], id="qrels: where the query first stands"),
    ],
)
def test_samples_know_their_line(tmp_path: Path, content: str, lines: list[int]) -> None:
    assert [sample.line for sample in gold(tmp_path, content).samples.values()] == lines


@pytest.mark.parametrize(
    ("content", "gains"),
    [
        pytest.param("q 0 a 1\nq 0 b 0\nq 0 c -1\n", {"a": 1, "b": 0, "c": -1}, id="judged and not relevant is kept"),
        pytest.param("q 0 a 2\nq 0 b 0.5\nq 0 c 1e1\n", {"a": 2, "b": 0.5, "c": 10}, id="grades"),
        pytest.param("q 0 a 1\nq 0 a 1\n", {"a": 1}, id="the same judgment twice"),
        pytest.param("q 0 FBIS4-50478 1\nq 0 doc#3:4 1\n", {"FBIS4-50478": 1, "doc#3:4": 1}, id="ids with signs"),
        pytest.param("q 0 Alû 1\nq 0 文書 1\n", {"Alû": 1, "文書": 1}, id="Unicode ids"),
        pytest.param(
            "q 0 d\u00a01 1\nq 0 d\u30002 1\n", {"d\u00a01": 1, "d\u30002": 1}, id="only ASCII space parts columns"
        ),
    ],
)
def test_qrels(tmp_path: Path, content: str, gains: Mapping[str, float]) -> None:
    assert judgments(gold(tmp_path, content, "qrels")) == {"q": gains}


def test_the_fingerprint_is_of_the_judgments_alone(tmp_path: Path) -> None:
    same = [
        "q1 0 a 1\nq1 0 b 2\nq2 0 c 1\n",
        "q2 0 c 1.0\nq1 0 b 2\nq1 0 a 1\n",
        '{"id": "q2", "expected_output": ["c"]}\n{"id": "q1", "expected_output": {"b": 2, "a": 1}}\n',
        '[{"id": "q1", "expected_output": {"a": 1, "b": 2}}, {"id": "q2", "expected_output": {"c": 1}}]',
        'samples:\n- {id: q1, input: "Why?", expected_output: {a: 1, b: 2.0}}\n- {id: q2, expected_output: [c]}\n',
    ]
    other = ["q1 0 a 1\nq1 0 b 1\nq2 0 c 1\n", "q1 0 a 1\nq1 0 b 2\n", "q1 0 a 1\nq1 0 b 2\nq2 0 d 1\n"]
    prints = [fingerprint_of(gold(tmp_path, content)) for content in same + other]
    assert len(set(prints[: len(same)])) == 1
    assert len(set(prints)) == 1 + len(other)
