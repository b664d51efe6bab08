"""A corpus: JSONL of documents, in the shapes that people have, and what is refused with its line."""

import gzip
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.errors import RankgateError
from rankgate.readers.corpus import Document, read_corpus


def corpus(folder: Path, *lines: str) -> str:
    path = folder / "corpus.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def problems(folder: Path, *lines: str) -> list[str]:
    with pytest.raises(RankgateError) as caught:
        read_corpus(corpus(folder, *lines))
    return [str(problem).replace(f"{folder.as_posix()}/", "") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("line", "document"),
    [
        pytest.param('{"id": "d1", "text": "rye"}', Document("d1", "rye"), id="id and text"),
        pytest.param('{"_id": "d1", "title": "Bread", "text": "rye"}', Document("d1", "Bread rye"), id="BEIR"),
        pytest.param('{"_id": "d1", "title": "", "text": "rye", "metadata": {}}', Document("d1", "rye"), id="no title"),
        pytest.param('{"id": 7, "contents": "rye", "title": null}', Document("7", "rye"), id="Pyserini, a number"),
        pytest.param('{"doc_id": "d1", "text": "rye"}', Document("d1", "rye", "d1"), id="a document"),
        pytest.param(
            '{"chunk_id": "d1#2", "doc_id": "d1", "text": "rye"}', Document("d1#2", "rye", "d1"), id="a chunk of one"
        ),
    ],
)
def test_shapes(line: str, document: Document, tmp_path: Path) -> None:
    assert read_corpus(corpus(tmp_path, line, "")) == [document]


def test_a_gzipped_corpus(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}\n'))
    assert [document.id for document in read_corpus(str(path))] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("[1]", 'expected one document a line, as {"id": …, "text": …}, found [1]', id="a list"),
        pytest.param(
            '{"text": "x"}', "no id; a document has one of chunk_id, id, _id, doc_id (found: 'text')", id="no id"
        ),
        pytest.param(
            "{}", "no id; a document has one of chunk_id, id, _id, doc_id (found: nothing)", id="nothing at all"
        ),
        pytest.param('{"id": "a"}', "document 'a' has no text; it stands under text or contents", id="no text"),
        pytest.param('{"id": true, "text": "x"}', "id: expected an id, found True", id="an id that is none"),
        pytest.param('{"id": "a", "text": ["x"]}', "text: expected text, found ['x']", id="a text that is none"),
        pytest.param(
            '{"id": "a", "title": 3, "text": "x"}', "title: expected text, found 3", id="a title that is none"
        ),
        pytest.param('{"id": "a", "id": "b", "text": "x"}', "the key 'id' stands twice in one object", id="two ids"),
        pytest.param('{"id": "ok", "text": "y"}', "the id 'ok' stands on line 1 already", id="an id twice"),
        pytest.param(
            "{oops", "broken JSON: expecting property name enclosed in double quotes (column 2)", id="no JSON"
        ),
    ],
)
def test_a_broken_line_is_told_with_its_number(line: str, message: str, tmp_path: Path) -> None:
    assert problems(tmp_path, '{"id": "ok", "text": "x"}', line) == [f"corpus.jsonl:2: {message}"]


def test_all_broken_lines_are_told_at_once(tmp_path: Path) -> None:
    assert len(problems(tmp_path, "{}", '{"id": "a", "text": "x"}', "[]", "7")) == 3


def test_json_over_many_lines_is_told_what_a_corpus_is(tmp_path: Path) -> None:
    first, *_ = problems(tmp_path, "[", '  {"id": "a", "text": "x"}', "]")
    assert first.startswith("corpus.jsonl:1: broken JSON: ")
    assert first.endswith("; a corpus is JSONL, one document a line")


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_no_text_ends_in_anything_but_documents_or_an_error(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.jsonl"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        with suppress(RankgateError):
            assert all(isinstance(each, Document) for each in read_corpus(str(path)))


@given(st.dictionaries(st.text(min_size=1).filter(str.strip), st.text(), min_size=1))
def test_what_was_written_is_what_is_read(texts: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = [json.dumps({"id": doc, "text": text}) for doc, text in texts.items()]
        found = read_corpus(corpus(Path(folder), *lines))
    assert {document.id: document.text for document in found} == texts
