"""Gold as judgments in columns: TREC qrels with their comments, and BEIR's table."""

import csv
import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rankgate.errors import RankgateError
from rankgate.readers.formats import read_gold

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")


def gold(content: str | bytes, form: str | None = None) -> tuple[str, dict[str, dict[str, float]]]:
    """The format that was found, and the gains by query."""
    Path("gold").write_bytes(content.encode() if isinstance(content, str) else content)
    read = read_gold("gold", form)
    return read.format, {query_id: dict(sample.gains) for query_id, sample in read.samples.items()}


def refusal(content: str | bytes, form: str | None = None) -> list[str]:
    with pytest.raises(RankgateError) as caught:
        gold(content, form)
    return str(caught.value).splitlines()


# TREC.

PLAIN = "301 0 CR93E-10279 0\n301 0 CR#93E-1860 1\n302 0 d 2\n"
JUDGED = {"301": {"CR93E-10279": 0.0, "CR#93E-1860": 1.0}, "302": {"d": 2.0}}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(PLAIN, id="no comment"),
        pytest.param(f"# comment here\n{PLAIN}", id="first line"),
        pytest.param(f"# a comment of six words, yes\n#\n\n# and more\n{PLAIN}", id="several, and a blank line"),
        pytest.param(PLAIN.replace("302", "# 301 0 d 1\n#302 0 d 1\n302"), id="a judgment that was commented out"),
        pytest.param(f"{PLAIN}# the end", id="last line, without its end"),
        pytest.param(f"# made by hand\r\n{PLAIN}".replace("\n", "\r\n"), id="CRLF"),
        pytest.param(b"\xef\xbb\xbf# first\n" + PLAIN.encode(), id="after a byte order mark"),
        pytest.param(gzip.compress(f"# zipped\n{PLAIN}".encode()), id="gzip"),
    ],
)
def test_comments_in_trec_qrels(content: str | bytes) -> None:
    """As trec_eval: a line that begins with # is a comment, a # further on is part of an id."""
    assert gold(content) == ("qrels", JUDGED)


def test_a_comment_begins_the_line() -> None:
    assert refusal("301 0 d 1\n301 0 e 1 # sure?\n") == [
        "gold:2: expected 4 columns (query iteration document gain), found 6: '301 0 e 1 # sure?'"
    ]
    assert gold("301 0 d 1\n 302 0 #e 1\n") == ("qrels", {"301": {"d": 1.0}, "302": {"#e": 1.0}})


def test_a_table_with_tabs_and_four_columns_is_none() -> None:
    assert gold("query\tdocument\ttitle\tlang\nq1\ta\tfoo\ten\n") == ("judgments", {"q1": {"a": 1.0}})
    refused = refusal("Frage\tDokument\tSprache\tNote\nq1\ta\tde\t2\n")[0]
    assert "no column is known to be the question (columns: 'Frage', 'Dokument', 'Sprache', 'Note')" in refused
    assert "--map question=Frage,document=Dokument,rating=Note`" in refused
    assert "document=Dokument,rating=rating`" in refusal("Frage,Dokument,rating\nq1,a,2\n")[0]
    assert "the gain 'yes' is not a finite number" in refusal("301\t0\td\tyes\n")[0]


@pytest.mark.parametrize("heading", ["rel", "Relevance", "label"])
def test_header_of_trec_qrels(heading: str) -> None:
    assert refusal(f"qid iter docid {heading}\n301 0 d 1\n") == [
        f"gold:1: qid: the gain '{heading}' is not a finite number; if that is a header, remove the row"
    ]


NAMES = st.sampled_from(["q", "Q1", "#q", "1", *["q", "d"] * 9, "é", "\u00a0", "\x00", "q\x1c", "a b", ""])
GAINS = ["1", "0", "-1", "2.0", "1e3", "1001", "-1001", "-0", "1e999", "nan", "1_0", "+1", "01", ".5", "1,2", "[1]"]
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\n\n", " \n"])
ROWS = st.tuples(NAMES, st.just("0"), NAMES, st.sampled_from(GAINS), ENDS)


def read_with_lines(content: str) -> list[str] | dict[str, tuple[int | None, dict[str, float]]]:
    Path("gold").write_text(content, encoding="utf-8", newline="")
    try:
        samples = read_gold("gold", "qrels", scored=False).samples
    except RankgateError as error:
        return str(error).splitlines()
    return {query_id: (sample.line, dict(sample.gains)) for query_id, sample in samples.items()}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROWS, min_size=1, max_size=3))
@example([("q", "0", "d", "-1001", "\n")])
@example([("q", "0", "d\x1c", "1", "\n")])  # of which a text's split() would take the end for white space
@example([("q", "0", "d", "1,2", "\n"), ("q", "0", "e", "1", "\n")])
@example([("q", "0", "d 1", "1", "\n"), ("q", "", "d", "1", "\n")])  # as many words as two rows have
def test_plain_rows_of_qrels_are_read_as_others(rows: list[tuple[str, ...]]) -> None:
    """A comment has all rows of a small file read one by one."""
    content = "".join(" ".join(row[:4]) + row[4] for row in rows)
    assert read_with_lines(f"x 0 d 1\n{content}") == read_with_lines(f"x 0 d 1\n{content}# in all: {len(rows)}\n")


def test_lines_of_many_qrels() -> None:
    """Rows are read many at a time, and among plain ones stands one that is not."""
    rows = [f"q{number // 2} 0 d{number} {number % 3}\n" for number in range(20_000)]
    rows[9_000] = "q4500 0 é +1\n"
    read = read_with_lines("".join(rows))
    assert isinstance(read, dict)
    assert read["q4500"] == (9_001, {"é": 1.0, "d9001": 1.0})
    assert [line for line, _ in read.values()] == list(range(1, 20_001, 2))
    rows[15_001] = "q7500 0 d15000 9\n"
    rows[19_999] = "q9999 0 d yes\n"
    assert read_with_lines("".join(rows)) == [
        "gold:15002: q7500: conflicting judgment: 'd15000' has gain 0 above and 9 here",
        "gold:20000: q9999: the gain 'yes' is not a finite number; write 1 or 0",
    ]


# BEIR.

HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param("q1\td1\t1\nq1\td2\t0\nq2\td1\t2\n", {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}}, id="plain"),
        pytest.param("q 1\td 1\t1\n", {"q 1": {"d 1": 1}}, id="blanks in ids"),
        pytest.param("q#1\td|1#p2\t1\n#q\td\t1\n", {"q#1": {"d|1#p2": 1}, "#q": {"d": 1}}, id="# and | in ids"),
        pytest.param("água\t文書\t1\n", {"água": {"文書": 1}}, id="Unicode"),
        pytest.param('q\t"d ""x"""\t1\n', {"q": {'d "x"': 1}}, id="quoted as csv.writer does"),
        pytest.param("q\td\t-1\nq\te\t1\n", {"q": {"d": -1, "e": 1}}, id="below zero"),
        pytest.param("q\td\t1\r\n\r\nq\te\t0\r\n", {"q": {"d": 1, "e": 0}}, id="CRLF, a blank line"),
        pytest.param("q\td\t1", {"q": {"d": 1}}, id="no line end"),
        pytest.param("q2\td\t1\nq1\td\t1\nq2\te\t1\n", {"q2": {"d": 1, "e": 1}, "q1": {"d": 1}}, id="scattered"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_beir(rows: str, expected: dict[str, dict[str, float]], *, zipped: bool) -> None:
    content = b"\xef\xbb\xbf" + (HEADER + rows).encode()
    assert gold(gzip.compress(content) if zipped else content) == ("beir", expected)


def test_beir_as_csv_writer_writes_it() -> None:
    """BEIR's own files come from `csv.writer(delimiter="\\t", quoting=csv.QUOTE_MINIMAL)`."""
    ids = ["a\tb", 'c"d"', "e f", "g#h|i", "ü"]
    with Path("written.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
        writer.writerow(["query-id", "corpus-id", "score"])
        writer.writerows(["q", doc, 1] for doc in ids)
    assert gold(Path("written.tsv").read_bytes()) == ("beir", {"q": dict.fromkeys(ids, 1.0)})


def test_beir_columns_in_another_order() -> None:
    assert gold("corpus-id\tquery-id\tscore\nd\tq\t1\n") == ("beir", {"q": {"d": 1.0}})


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("q\td\t1\nq\td\t2\n", ["gold:3: q: conflicting judgment: 'd' has gain 1 above and 2 here"]),
        ("q\td\t1\nq\te\n", ["gold:3: expected 3 cells (query-id, corpus-id, score), found 2: ['q', 'e']"]),
        ("q\td\tone\n", ["gold:2: q: the gain 'one' is not a finite number"]),
        ("q\td\t5000\n", ["gold:2: q: the gain of 'd' is 5000; gains lie between -1000 and 1000"]),
    ],
)
def test_bad_beir(rows: str, expected: list[str]) -> None:
    assert refusal(HEADER + rows, "beir") == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"q\xe9\td\t1\n", "gold:1: not UTF-8 (byte 0xe9); save the file as UTF-8", id="header not UTF-8"),
        pytest.param(
            HEADER.encode() + b"q\xe9\td\t1\n", "gold:2: not UTF-8 (byte 0xe9); save the file as UTF-8", id="row"
        ),
        pytest.param(
            "q\td\t1\nq\te\t1\n",
            "gold:2: no column is known to be the question (columns: 'q', 'd', '1'); say which is which: `rankgate "
            "init --gold gold --map question=q,document=d,rating=1`, or in criteria, beside `path` under inputs.gold: "
            '`map: {query_id: q, question: q, chunk_id: d, gain: "1"}`',
            id="no header",
        ),
        pytest.param(
            HEADER + 'q\t"d" x\t1\n',
            "gold:2: broken CSV: '\\t' expected after '\"'; a cell with quotes is quoted, and its quotes doubled",
            id="half a quote",
        ),
    ],
)
def test_unreadable_beir(content: str | bytes, expected: str) -> None:
    with pytest.raises(RankgateError) as caught:
        gold(content, "beir")
    assert str(caught.value) == expected


def test_scores_in_beir_qrels_are_a_run() -> None:
    (message,) = refusal(f"{HEADER}q\td\t18.4\n")
    assert "that looks like a run: BEIR's gains are whole numbers; if these are gains, name the format: beir" in message
    assert gold(f"{HEADER}q\td\t0.5\n", "beir") == ("beir", {"q": {"d": 0.5}})


def test_three_columns_without_a_header_are_no_gold() -> None:
    (message,) = refusal("q\td\t1\n")
    assert "three columns are BEIR qrels where the first row is query-id corpus-id score" in message
