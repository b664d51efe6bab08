"""`rankgate check --untrusted-run`: any bytes as a run give a verdict that says so, or one clear error, and quickly."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from sys import getsizeof
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repositories import commit, git

from rankgate.cli import main
from rankgate.errors import RankgateError
from rankgate.readers import untrusted
from rankgate.readers.gzipped import MAX_EXPANSION
from rankgate.readers.untrusted import (
    MAX_GOLD,
    MAX_HELD,
    MAX_ITEMS,
    MAX_LINE,
    MAX_LINES,
    MAX_PACKED,
    MAX_TEXTS,
    MAX_UNPACKED,
    read_untrusted_run,
)

GOLD = '{"id": "q1", "expected_output": ["a"]}\n{"id": "q2", "expected_output": ["b"]}\n'
GATES = "gates:\n  - {name: recall@2, threshold: 0.9}\n"
FIRST = b'{"query_id": "q1", "retrieved": ["a"]}\n'
GOOD = FIRST + b'{"query_id": "q2", "retrieved": ["b"]}\n'
SUPPLIED = (
    "Rankings supplied by the pull request: they were scored here, by this repository's own gold set and criteria, "
    "but nobody here has seen the retriever return them"
)
PROJECT = {"gold.jsonl": GOLD, "ship-criteria.yaml": GATES, "run.jsonl": GOOD}


def check(*options: str, run: str = "run.jsonl") -> int:
    return main(["check", "--gold", "gold.jsonl", "--run", run, "--untrusted-run", "-o", "report.json", *options])


def report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("report.json").read_text(encoding="utf-8"))
    return found


def refused(run: str = "run.jsonl") -> str:
    """The one problem of a check that could not judge, without the file's name."""
    assert check(run=run) == 2
    said = report()
    assert said["verdict"] == "not_judged"
    assert said["untrusted_run"] is True
    assert len(said["problems"]) == 1
    problem = said["problems"][0]
    assert problem["file"] == run
    line = f"line {problem['line']}: " if "line" in problem else ""
    return f"{line}{problem['message']}"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(GOOD, id="plain"),
        pytest.param(gzip.compress(GOOD), id="gzipped"),
        pytest.param(gzip.compress(FIRST) + gzip.compress(GOOD.removeprefix(FIRST)), id="gzipped in two parts"),
        pytest.param(b"\xef\xbb\xbf" + GOOD, id="with a byte order mark"),
        pytest.param(b"\n \n" + GOOD.replace(b"\n", b"\r\n").rstrip(), id="with other line ends"),
    ],
)
def test_a_run_within_the_limits_is_judged(data: bytes, project: Path) -> None:
    (project / "run.jsonl").write_bytes(data)
    assert check() == 0
    assert report()["verdict"] == "pass"
    assert report()["untrusted_run"] is True


def test_the_verdict_is_that_of_any_other_run(project: Path) -> None:
    (project / "run.jsonl").write_bytes(FIRST)
    assert check() == 1


@pytest.mark.parametrize("output", ["markdown", "terminal"])
def test_a_reader_is_told_whose_rankings_these_are(
    output: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check("--format", output)
    assert SUPPLIED in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("key", "fork_runs", "end"),
    [
        pytest.param("", "untrusted", "; a pass counts once a maintainer has accepted them.", id="not said"),
        pytest.param(
            "fork_runs: untrusted\n",
            "untrusted",
            "; a pass counts once a maintainer has accepted them.",
            id="untrusted",
        ),
        pytest.param("fork_runs: trusted\n", "trusted", ".", id="trusted"),
    ],
)
def test_the_criteria_say_what_such_a_pass_is_worth(key: str, fork_runs: str, end: str, project: Path) -> None:
    (project / "ship-criteria.yaml").write_text(GATES + key, encoding="utf-8")
    assert check() == 0
    assert report()["fork_runs"] == fork_runs
    assert report()["notes"][0] == SUPPLIED + end


def test_another_word_for_it_is_an_error(project: Path) -> None:
    (project / "ship-criteria.yaml").write_text(GATES + "fork_runs: yes\n", encoding="utf-8")
    assert check() == 2
    assert report()["problems"][0]["key"] == "fork_runs"


def test_nothing_is_said_of_a_run_of_ones_own(project: Path) -> None:
    assert main(["check", "--gold", "gold.jsonl", "--run", "run.jsonl", "-o", "report.json"]) == 0
    assert report()["untrusted_run"] is False
    assert not any("supplied" in note for note in report()["notes"])


def test_the_call_that_repeats_the_check_has_the_flag(project: Path) -> None:
    check()
    assert "--untrusted-run" in report()["provenance"]["command"]


def test_what_a_run_says_about_its_origin_is_not_repeated(project: Path) -> None:
    (project / "run.jsonl").write_bytes(GOOD.replace(b'{"query_id": "q1"', b'{"system": "trust me", "query_id": "q1"'))
    check()
    assert report()["provenance"]["run"] == {"path": "run.jsonl", "format": "jsonl", "about": {}}


FLAG = "--untrusted-run"
TOO_LONG = f"a line of more than {MAX_LINE:,} bytes; {FLAG} allows no longer one"
EXPANDS = (
    f"unpacks to more than {MAX_EXPANSION} times its size, the limit for compressed inputs; "
    "if it is meant to, unpack it and name the file without compression"
)
NOISE = b'{"query_id": "q", "x": "%s"}\n' % hashlib.shake_256().hexdigest(10_000).encode()
TOO_LARGE = f"unpacks to more than {MAX_UNPACKED:,} bytes; {FLAG} allows no more"
NO_JSONL = f"is no JSONL: the first line is no JSON object; {FLAG} reads no other format"
NO_KEY = "line 1: broken JSON: expecting property name enclosed in double quotes (column 2)"
KILOBYTE = b'{"query_id": "q", "retrieved": []}'.ljust(999) + b"\n"


def line(retrieved: bytes) -> bytes:
    return b'{"query_id": "q2", "retrieved": ' + retrieved + b"}\n"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(b"", "the file is empty", id="nothing"),
        pytest.param(b"\n \n", "the file is empty", id="blank lines"),
        pytest.param(line(b'["' + b"a" * 5_000_000 + b'"]'), f"line 1: {TOO_LONG}", id="a line of 5 MB"),
        pytest.param(GOOD * 9 + b"{" + b" " * MAX_LINE, f"line 19: {TOO_LONG}", id="the last line, not ended"),
        pytest.param(b"{" * MAX_LINE, NO_KEY, id="just as long as allowed"),
        pytest.param(
            b"{}" + b"\n" * (MAX_LINES + 1),
            f"has more than {MAX_LINES:,} lines; {FLAG} allows no more",
            id="too many lines",
        ),
        pytest.param(gzip.compress(b"{" + bytes(30_000_000)), f"line 1: {TOO_LONG}", id="a gzip bomb of one line"),
        pytest.param(gzip.compress(KILOBYTE * 1000) * 257, EXPANDS, id="a gzip bomb of many parts"),
        pytest.param(gzip.compress(NOISE + KILOBYTE * 1000) * 257, TOO_LARGE, id="many parts that unpack to too much"),
        pytest.param(
            gzip.compress(GOOD)[:-9],
            "damaged gzip data: Compressed file ended before the end-of-stream marker was reached",
            id="half a gzip",
        ),
        pytest.param(gzip.compress(gzip.compress(GOOD)), NO_JSONL, id="a gzip in a gzip"),
        pytest.param(b"PAR1" + bytes(100) + b"PAR1", NO_JSONL, id="Parquet"),
        pytest.param(b"[" + GOOD.replace(b"\n", b","), NO_JSONL, id="a list"),
        pytest.param(b"q1 Q0 a 1 1.0 x\n", NO_JSONL, id="TREC"),
        pytest.param(b"query_id,id\nq1,a\n", NO_JSONL, id="CSV"),
        pytest.param(b"# a\n" + GOOD, NO_JSONL, id="a remark first"),
        pytest.param(
            line(b"[" + b",".join(b"%d" % number for number in range(MAX_ITEMS + 1)) + b"]"),
            f"query 'q2' lists 10,001 results; {FLAG} allows 10,000",
            id="too many results",
        ),
        pytest.param(
            line(b"[" + b'"a",' * MAX_ITEMS + b'"a"]'),
            f"query 'q2' lists 10,001 results; {FLAG} allows 10,000",
            id="too many results, all the same",
        ),
        pytest.param(FIRST + line(b"[" * 1_000_000), "line 2: nested too deeply", id="nested without end"),
        pytest.param(FIRST + line(b"[" + b"9" * 5000 + b"]"), "line 2: an integer of 5000 digits", id="5,000 digits"),
        pytest.param(
            FIRST + line(b'[{"id": "b", "score": NaN}]'),
            "line 2: the score of 'b' is NaN; scores must be finite numbers",
            id="NaN",
        ),
        pytest.param(
            FIRST + line(b'[{"id": "b", "score": 1e999}]'),
            "line 2: the score of 'b' is infinite; scores must be finite numbers",
            id="1e999",
        ),
        pytest.param(
            FIRST + line(b'["\\ud800"]'),
            "line 2: text with half of a surrogate pair (\\ud800 and the like); write valid Unicode",
            id="half of a surrogate pair",
        ),
        pytest.param(FIRST + line(b'["\xff"]'), "line 2: not UTF-8 (byte 0xff); save the file as UTF-8", id="no UTF-8"),
    ],
)
def test_a_hostile_run_is_one_clear_error(data: bytes, problem: str, project: Path) -> None:
    (project / "run.jsonl").write_bytes(data)
    assert refused() == problem


def test_a_file_may_have_a_hundred_megabytes(project: Path) -> None:
    with (project / "run.jsonl").open("wb") as file:
        file.truncate(MAX_PACKED + 1)
    assert refused() == f"has 100,000,001 bytes; {FLAG} allows 100,000,000"
    with (project / "run.jsonl").open("wb") as file:
        file.truncate(MAX_PACKED)
    assert refused() == NO_JSONL


def test_a_list_may_have_ten_thousand_results(project: Path) -> None:
    ids = json.dumps([f"d{number}" for number in range(MAX_ITEMS - 1)] + ["b"]).encode()
    (project / "run.jsonl").write_bytes(FIRST + line(ids))
    assert check() == 1
    assert report()["verdict"] == "fail"


@pytest.mark.parametrize("key", ["raw_topk", "rewrites"])
def test_every_list_of_a_line_has_its_limit(key: str, project: Path) -> None:
    ids = [str(number) for number in range(MAX_ITEMS + 1)]
    more = {"raw_topk": ids, "rewrites": [{"topk": ["a"]}, {"topk": ids}]}
    (project / "run.jsonl").write_bytes(json.dumps({"query_id": "q1", "retrieved": ["a"], key: more[key]}).encode())
    metric = {"raw_topk": "rerank_gain(recall@2)", "rewrites": "rewrite_gain(recall@2)"}[key]
    (project / "ship-criteria.yaml").write_text(f"gates: [{{name: '{metric}', threshold: 0}}]\n", encoding="utf-8")
    assert refused() == f"query 'q1' lists 10,001 results; {FLAG} allows 10,000"


TEN_THOUSAND = b"[" + b",".join(b"%d" % number for number in range(MAX_ITEMS)) + b"]"
FULL_LINE = b'{"query_id": "%d", "retrieved": ' + TEN_THOUSAND + b"}\n"
# One character beyond the usual planes makes every other of its text four bytes long.
WIDE_LINE = b'{"query_id": "%d ' + 3_000 * b"a" + "\U0001f600".encode() + b'", "retrieved": []}\n'


def numbered(line: bytes, count: int) -> bytes:
    return b"".join(line % number for number in range(count))


@pytest.mark.parametrize(
    ("line", "count", "problem"),
    [
        pytest.param(FULL_LINE, 3, None, id="as many ids as are allowed"),
        pytest.param(FULL_LINE, 4, "has more than 30,020 ids and texts", id="more ids"),
        pytest.param(
            WIDE_LINE,
            220,
            "has more than 2,560,000 bytes in memory of ids and texts",
            id="ids that are larger in memory than in the file",
        ),
    ],
)
def test_all_lines_together_have_limits(
    line: bytes, count: int, problem: str | None, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundredth of the real ones."""
    monkeypatch.setattr(untrusted, "MAX_TEXTS", MAX_TEXTS // 100 + 20)
    monkeypatch.setattr(untrusted, "MAX_HELD", MAX_HELD // 100)
    (project / "run.jsonl").write_bytes(gzip.compress(GOOD + numbered(line, count), 1))
    assert (refused() if problem else check()) == (f"{problem}; {FLAG} allows no more" if problem else 0)


def test_three_million_short_ids_are_allowed() -> None:
    assert MAX_TEXTS == 3_000_000
    assert MAX_TEXTS * getsizeof("99999999") < MAX_HELD


@pytest.mark.parametrize(
    ("metric", "more"),
    [
        pytest.param("rerank_gain(recall@2)", b'"raw_topk": %s' % TEN_THOUSAND, id="the list before reranking"),
        pytest.param(
            "rewrite_gain(recall@2)", b'"rewrites": [{"topk": ["a"]}, {"topk": %s}]' % TEN_THOUSAND, id="rewrites"
        ),
        pytest.param(
            "score(faithfulness)",
            b'"scores": {"faithfulness": 1, %s}' % b",".join(b'"%d": 1' % n for n in range(MAX_ITEMS)),
            id="names of scores",
        ),
        pytest.param(
            "entity_f1", b'"entities": [%s]' % b",".join(b'"%d"' % n for n in range(MAX_ITEMS)), id="entities"
        ),
    ],
)
def test_whatever_a_metric_reads_counts_towards_them(
    metric: str, more: bytes, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrusted, "MAX_TEXTS", 3 * MAX_ITEMS)
    (project / "gold.jsonl").write_text(
        '{"id": "q1", "expected_output": ["a"], "metadata": {"entities": ["x"]}}\n', encoding="utf-8"
    )
    direction = ", direction: higher" if metric.startswith("score") else ""
    (project / "ship-criteria.yaml").write_text(f"gates: [{{name: '{metric}', threshold: 0{direction}}}]\n")
    lines = (b'{"query_id": "q%d", "retrieved": ["a"], %s}\n' % (number, more) for number in range(1, 5))
    (project / "run.jsonl").write_bytes(b"".join(lines))
    assert refused() == f"has more than {3 * MAX_ITEMS:,} ids and texts; {FLAG} allows no more"


def as_link(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


def as_dangling_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/nowhere")


def as_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def as_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        pytest.param(as_link, f"is a link; {FLAG} reads regular files alone", id="a link"),
        pytest.param(as_dangling_link, f"is a link; {FLAG} reads regular files alone", id="a link to nowhere"),
        pytest.param(as_pipe, f"is no regular file; {FLAG} reads no other", id="a pipe that nobody writes to"),
        pytest.param(as_folder, f"is no regular file; {FLAG} reads no other", id="a folder"),
        pytest.param(Path.unlink, "cannot be read: No such file or directory", id="nothing"),
    ],
)
def test_what_is_no_regular_file_is_not_read(made: Callable[[Path], None], problem: str, project: Path) -> None:
    made(project / "run.jsonl")
    assert refused() == problem


def test_a_device_and_standard_input_are_not_read(project: Path) -> None:
    assert refused("/dev/zero") == f"is no regular file; {FLAG} reads no other"
    assert check(run="-") == 2
    assert report()["problems"][0]["message"] == f"{FLAG} reads a file, not standard input; name it with --run"


def test_another_format_or_a_map_is_not_applied(project: Path) -> None:
    problem = f"{FLAG} reads JSONL in rankgate's own shape alone; leave out the format and the map"
    for more in ("format: trec", "map: {query_id: query_id, items: retrieved, chunk_id: id}"):
        text = f"{GATES}inputs: {{gold: gold.jsonl, run: {{path: run.jsonl, {more}}}}}\n"
        (project / "ship-criteria.yaml").write_text(text, encoding="utf-8")
        assert main(["check", FLAG, "-o", "report.json"]) == 2
        assert [each["message"] for each in report()["problems"]] == [problem]
    assert check("--run", "parquet:run.jsonl") == 2
    assert [each["message"] for each in report()["problems"]] == [problem]
    (project / "ship-criteria.yaml").write_text(GATES, encoding="utf-8")
    assert check("--run", "jsonl:run.jsonl") == 0


PADDING = b" " * 999 + b"\n"


@pytest.mark.parametrize("change", ["pad", "pack", "link"])
def test_a_gold_set_of_an_untrusted_pull_request_is_never_read(change: str, project: Path) -> None:
    """However large it is, or wherever it leads: the base's files judge alone."""
    git("init", "--quiet")
    commit()
    if change == "link":
        as_link(project / "gold.jsonl")
    else:
        gold = GOLD.encode() + PADDING * (MAX_GOLD // 1000)
        (project / "gold.jsonl").write_bytes(gzip.compress(gold, 1) if change == "pack" else gold)
    commit()
    assert check("--base", "HEAD^1") == 0
    assert (report()["problems"], report()["queries"]["scored"]) == ([], 2)


PIECES = st.sampled_from(
    [
        FIRST,
        GOOD,
        b"{",
        b"}",
        b"[",
        b'"',
        b"\n",
        b'{"query_id": 1, "topk": [',
        b"\\ud800",
        b"1e999",
        b"NaN",
        b"\x1f\x8b",
    ]
)


@given(st.lists(PIECES | st.binary(max_size=5), max_size=8).map(b"".join), st.booleans())
def test_no_bytes_end_in_anything_but_rankings_or_problems(tmp_path: Path, data: bytes, packed: bool) -> None:  # noqa: FBT001
    file = tmp_path / "run.jsonl"
    file.write_bytes(gzip.compress(data) if packed else data)
    try:
        run = read_untrusted_run(str(file))
        assert all(ranking.query_id for ranking in run.rankings)
    except RankgateError as error:
        said = error
    else:
        return
    assert said.problems
