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
from rankgate.readers.corpus import Document, read_corpus, source_texts


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


def test_a_corpus_as_parquet(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = "('a', 'A', 'x', [1.5]), ('b', NULL, 'y', NULL), ('a', NULL, 'z', NULL), ('c', NULL, NULL, NULL)"
    for name, count in (("good.parquet", 2), ("bad.parquet", 4)):
        values = f"SELECT * FROM (VALUES {rows}) t(_id, title, text, embedding) LIMIT {count}"  # noqa: S608 -- our own
        duckdb.sql(f"COPY ({values}) TO '{tmp_path / name}'")
    assert read_corpus(str(tmp_path / "good.parquet")) == [Document("a", "A x"), Document("b", "y")]
    with pytest.raises(RankgateError) as caught:
        read_corpus(str(tmp_path / "bad.parquet"))
    assert [each.message for each in caught.value.problems] == [
        f"the id 'a' stands in {tmp_path / 'bad.parquet'} already",
        "text: expected text, found nothing",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", 'expected one document a line, as {"id": …, "text": …}, found [1]'),
        ('{"text": "x"}', "no id; a document has one of chunk_id, id, _id, doc_id (found: 'text')"),
        ("{}", "no id; a document has one of chunk_id, id, _id, doc_id (found: nothing)"),
        ('{"id": "a"}', "document 'a' has no text; it stands under text or contents"),
        ('{"id": true, "text": "x"}', "id: expected an id, found True"),
        ('{"id": "a", "text": ["x"]}', "text: expected text, found ['x']"),
        ('{"id": "a", "title": 3, "text": "x"}', "title: expected text, found 3"),
        ('{"id": "a", "id": "b", "text": "x"}', "the key 'id' stands twice in one object"),
        ('{"id": "ok", "text": "y"}', "the id 'ok' stands in corpus.jsonl:1 already"),
        ("{oops", "broken JSON: expecting property name enclosed in double quotes (column 2)"),
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


@pytest.mark.full
@given(st.dictionaries(st.text(min_size=1).filter(str.strip), st.text(), min_size=1))
def test_what_was_written_is_what_is_read(texts: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = [json.dumps({"id": doc, "text": text}) for doc, text in texts.items()]
        found = read_corpus(corpus(Path(folder), *lines))
    assert {document.id: document.text for document in found} == texts


PAGE = """<html><head><title> The
 page</title><style>p {}</style></head><body><h1>Paid <b>leave</b></h1><p>One  two<br>three &amp; <i>four</i>, five.
<ul><li><p>rye</p></li><li>bread</ul><pre>x  y
 z</pre><details><summary>Why?</summary>Because.</details><script>1 < 2</script></body></html>"""
READ = "# Paid leave\n\nOne two\nthree & four, five.\n\n- rye\n\n- bread\n\nx  y\n z\n\n###### Why?\n\nBecause.\n"


def folder_of(folder: Path, files: dict[str, bytes]) -> str:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return str(folder)


def test_the_documents_of_a_folder(tmp_path: Path) -> None:
    files = {
        "b/p.HTML": PAGE.encode(),
        "a.md": b"\xef\xbb\xbf## Rye\r\n\r\n# Bread #\r\n",
        "c.txt": "日本".encode(),
        "d.jsonl": b'{"_id": "j", "title": "T", "text": "a\\r\\n"}\n',
        "empty.md": b" \n",
        ".git/x.md": b"x",
        ".x.md": b"x",
        "x.pdf": b"x",
    }
    assert [*source_texts(folder_of(tmp_path, files))] == [
        Document("a.md", "## Rye\n\n# Bread #\n"),
        Document("b/p.HTML", READ),
        Document("c.txt", "日本"),
        Document("j", "a\r\n", title="T"),
    ]
    assert [each.id for each in source_texts(str(tmp_path / "c.txt"))] == ["c.txt"]


def test_all_problems_of_a_folder_at_once(tmp_path: Path) -> None:
    files = {"a.md": b"x\n\xff", "b.jsonl": b'{"id": "1", "text": "x"}\n{"id": "1", "text": "x"}\n{}\n'}
    files |= {"c.jsonl": b'{"chunk_id": "d#1", "doc_id": "d", "text": "x"}\n', "d.md": b"x"}
    with pytest.raises(RankgateError) as caught:
        list(source_texts(folder_of(tmp_path, files)))
    assert [str(problem).replace(f"{tmp_path.as_posix()}/", "") for problem in caught.value.problems] == [
        "a.md:2: not UTF-8 (byte 0xff); save the file as UTF-8",
        "b.jsonl:2: the id '1' stands in b.jsonl:1 already",
        "b.jsonl:3: no id; a document has one of chunk_id, id, _id, doc_id (found: nothing)",
        "c.jsonl:1: 'd#1' is a chunk; a corpus holds whole documents",
    ]


@pytest.mark.parametrize(("name", "message"), [("x.pdf", "has no document; they end in .md, "), ("no.md", "no such")])
def test_no_document(name: str, message: str, tmp_path: Path) -> None:
    folder_of(tmp_path, {"x.pdf": b"x"})
    for path in {str(tmp_path / name), str(tmp_path)} if name == "x.pdf" else {str(tmp_path / name)}:
        with pytest.raises(RankgateError, match=message):
            list(source_texts(path))


def test_a_folder_of_empty_files(tmp_path: Path) -> None:
    with pytest.raises(RankgateError, match="has only empty documents; they end in"):
        list(source_texts(folder_of(tmp_path, {"a.md": b"", "b/c.txt": b" \n"})))


def test_links_that_lead_out_of_the_folder_are_skipped(tmp_path: Path) -> None:
    folder_of(tmp_path, {"docs/a.md": b"a", "docs/b/c.md": b"c", "out/secret.md": b"s"})
    links = {"out.md": "../out/secret.md", "up": "../out", "in.md": "b/c.md", "gone.md": "nowhere.md"}
    for name, to in links.items():
        (tmp_path / "docs" / name).symlink_to(to)
    (tmp_path / "link").symlink_to("docs")
    for root in ("docs", "link"):
        assert [each.id for each in source_texts(str(tmp_path / root))] == ["a.md", "b/c.md", "in.md"]
    assert [each.text for each in source_texts(str(tmp_path / "docs/out.md"))] == ["s"], "what is named is read"


@given(st.text())
def test_any_page_is_text(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.html"
        path.write_bytes(f"<p>x{text}".encode("utf-8", "surrogatepass"))
        with suppress(RankgateError):
            assert all(isinstance(each.text, str) for each in source_texts(str(path)))
