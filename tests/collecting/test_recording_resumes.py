"""The partial file: what is resumed, what is asked again, and what is not trusted."""

import errno
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tests.repositories import commit, git

from rankgate.collecting.lines import PartialRun
from rankgate.collecting.recorder import Recorded, record
from rankgate.errors import RankgateError
from rankgate.model.values import Gold, Sample
from rankgate.readers.base import TEXT_KEY, text_digest
from rankgate.readers.formats import read_run

TOTAL = 5


def gold_of(*, judged: str = "d", questions: str = "question") -> Gold:
    samples = {
        f"q{number}": Sample(query_id=f"q{number}", gains={judged: 1.0}, question=f"{questions} {number}")
        for number in range(1, TOTAL + 1)
    }
    return Gold(samples=samples, name="gold.jsonl", format="jsonl", fingerprint=f"of {judged}")


class Retriever:
    """Counts what it is asked, and is interrupted on the question that it is told."""

    def __init__(self, interrupted_by: str = "") -> None:
        self.interrupted_by = interrupted_by
        self.asked: list[str] = []

    def __call__(self, question: str) -> list[str]:
        if question == self.interrupted_by:
            raise KeyboardInterrupt
        self.asked.append(question[-1])
        return [f"d{question[-1]}"]


class Another(Retriever):
    pass


def silent(notice: str) -> None:
    pass


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a run whose recording was interrupted at the fourth of five questions."""
    monkeypatch.chdir(tmp_path)
    path = Path("run.jsonl")
    with pytest.raises(KeyboardInterrupt) as caught:
        record(gold_of(), Retriever("question 4"), path, provenance={"a": 1, "b": 2})
    assert caught.value.__notes__ == [
        "3 of 5 questions are recorded and kept in run.jsonl.partial; the same command resumes there"
    ]
    return path


def resumed(run: Path, asking: Retriever, /, **changes: Any) -> tuple[Recorded, list[str]]:
    notices: list[str] = []
    arguments = {"gold": gold_of(), "provenance": {"a": 1, "b": 2}, "notice": notices.append, **changes}
    done = record(arguments.pop("gold"), asking, run, **arguments)
    assert [ranking.ids for ranking in read_run(str(run)).rankings] == [[f"d{n}"] for n in range(1, TOTAL + 1)]
    assert not Path("run.jsonl.partial").exists()
    return done, notices


def test_the_same_recording_goes_on_where_it_stopped(run: Path) -> None:
    retriever = Retriever()
    done, notices = resumed(run, retriever)
    assert retriever.asked == ["4", "5"]
    assert (done.recorded, done.resumed) == (5, 3)
    [notice] = notices
    assert notice == (
        "resuming run.jsonl.partial: 3 of 5 questions are recorded already and not asked again; "
        "if the retriever has changed since, remove run.jsonl.partial to begin again (restart=True in Python)"
    )


def test_by_default_the_notice_goes_to_standard_error(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(gold_of(), Retriever(), run, provenance={"b": 2, "a": 1})  # in another order, and still the same
    assert capsys.readouterr().err.startswith("resuming run.jsonl.partial: 3 of 5 questions")


def test_it_may_be_interrupted_again(run: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        record(gold_of(), Retriever("question 5"), run, provenance={"a": 1, "b": 2}, notice=silent)
    retriever = Retriever()
    assert resumed(run, retriever)[0].resumed == 4
    assert retriever.asked == ["5"]


def test_restart_asks_everything_without_a_word(run: Path) -> None:
    retriever = Retriever()
    assert resumed(run, retriever, restart=True)[1] == []
    assert retriever.asked == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        pytest.param({"gold": gold_of(judged="e")}, "of another gold set", id="relabelled"),
        pytest.param({"gold": gold_of(questions="new")}, "of another set of questions", id="other questions"),
        pytest.param({"provenance": {"a": 1}}, "of another provenance", id="less provenance"),
        pytest.param({"provenance": {"a": True, "b": 2}}, "of another provenance", id="true is not 1"),
        pytest.param({"retriever": "x:y"}, "of another retriever", id="another name"),
        pytest.param(
            {"provenance": None, "retriever": "x:y"}, "of another retriever and another provenance", id="two of them"
        ),
    ],
)
def test_what_belongs_to_something_else_is_not_used(run: Path, changes: dict[str, Any], what: str) -> None:
    retriever = Retriever()
    assert resumed(run, retriever, **changes)[1] == [f"run.jsonl.partial is {what}; starting over"]
    assert retriever.asked == ["1", "2", "3", "4", "5"]


def test_another_type_of_callable_is_another_retriever(run: Path) -> None:
    assert resumed(run, Another())[1] == ["run.jsonl.partial is of another retriever; starting over"]


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(change(data.splitlines(keepends=True)))


@pytest.mark.parametrize(
    ("damage", "asked"),
    [
        pytest.param(lambda data: data[:-1], ["3", "4", "5"], id="torn before the last newline"),
        pytest.param(lambda data: data[:-30], ["3", "4", "5"], id="torn in the last line"),
        pytest.param(lambda data: data + b'{"query_id":"q4","to', ["4", "5"], id="torn in one more line"),
        pytest.param(lines(lambda all_: [*all_[:2], b"\0\xff\n", *all_[3:]]), ["2", "4", "5"], id="a damaged line"),
        pytest.param(lines(lambda all_: [*all_, b'{"query_id":"q4"}\n']), ["4", "5"], id="a line without results"),
        pytest.param(
            lines(lambda all_: [*all_, all_[1].replace(b'"q1"', b'"q9"')]), ["4", "5"], id="a line of another question"
        ),
        pytest.param(lines(lambda all_: all_[:1]), ["1", "2", "3", "4", "5"], id="only the header"),
    ],
)
def test_damaged_lines_are_asked_again(run: Path, damage: Callable[[bytes], bytes], asked: list[str]) -> None:
    partial = Path("run.jsonl.partial")
    partial.write_bytes(damage(partial.read_bytes()))
    retriever = Retriever()
    done, _ = resumed(run, retriever)
    assert retriever.asked == asked
    assert done.resumed == TOTAL - len(asked)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"rankgate_partial":1,"gold', id="torn header"),
        pytest.param(b"\xff\n", id="not text"),
        pytest.param(b"[]\n", id="not a mapping"),
        pytest.param(b'{"rankgate_partial":2}\n', id="another version"),
    ],
)
def test_a_damaged_header_starts_over(run: Path, content: bytes) -> None:
    Path("run.jsonl.partial").write_bytes(content)
    notice = "run.jsonl.partial is damaged or of another version of rankgate; starting over"
    assert resumed(run, Retriever())[1] == [notice]


def test_killed_between_the_last_answer_and_the_run_nothing_is_asked(run: Path) -> None:
    kept = Path("run.jsonl.partial")
    text = kept.read_text()
    last = text.splitlines(keepends=True)[-1]
    digest = {n: text_digest(f"question {n}") for n in (3, 4, 5)}
    others = (last.replace(digest[3], digest[n]).replace("q3", f"q{n}").replace("d3", f"d{n}") for n in (4, 5))
    kept.write_text(text + "".join(others))
    assert resumed(run, Retriever("any"))[0].resumed == TOTAL


def test_failing_questions_are_asked_again(run: Path) -> None:
    def failing(question: str) -> list[str]:
        if question == "question 2":
            raise LookupError(question)
        return Retriever("question 4")(question)

    again = {"provenance": {"a": 1, "b": 2}, "retriever": "my_app.search:retrieve", "notice": silent}
    with pytest.raises(KeyboardInterrupt):
        record(gold_of(), failing, run, **again)  # type: ignore[arg-type]
    retriever = Retriever()
    assert resumed(run, retriever, **again)[0].resumed == 2
    assert retriever.asked == ["2", "4", "5"]


def test_interrupted_before_the_first_answer_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        record(gold_of(), Retriever("question 1"), tmp_path / "run.jsonl")
    assert caught.value.__notes__ == ["0 of 5 questions were recorded; nothing is kept"]
    assert list(tmp_path.iterdir()) == []


def test_the_old_run_stays_until_the_new_one_is_whole(run: Path) -> None:
    run.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        record(gold_of(), Retriever("question 5"), run)
    assert run.read_text() == "old"
    resumed(run, Retriever(), provenance=None)


class CutShort(dict[Any, Any]):
    """Is interrupted when the third line stands in the file and is not yet counted."""

    def __setitem__(self, key: object, line: object) -> None:
        if len(self) == 2:
            raise KeyboardInterrupt
        super().__setitem__(key, line)


def test_an_interrupt_between_the_file_and_its_count_tells_what_the_file_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    enter = PartialRun.__enter__

    def cut_short(self: PartialRun) -> PartialRun:
        self.lines = CutShort()
        return enter(self)

    monkeypatch.setattr(PartialRun, "__enter__", cut_short)
    with pytest.raises(KeyboardInterrupt) as caught:
        record(gold_of(), Retriever(), "run.jsonl")
    assert caught.value.__notes__ == [
        "3 of 5 questions are recorded and kept in run.jsonl.partial; the same command resumes there"
    ]
    assert len(Path("run.jsonl.partial").read_text().splitlines()) == 1 + 3


class Full:
    """A disk without room for another line."""

    def __init__(self, file: BinaryIO) -> None:
        self.close = file.close

    def write(self, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_recording(run: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    enter = PartialRun.__enter__

    def full(self: PartialRun) -> PartialRun:
        enter(self)
        monkeypatch.setattr(self, "_file", Full(self._file))
        return self

    monkeypatch.setattr(PartialRun, "__enter__", full)
    with pytest.raises(RankgateError, match=r"run\.jsonl\.partial: cannot be written: No space left on device"):
        record(gold_of(), Retriever(), run, workers=workers, provenance={"a": 1, "b": 2}, notice=silent)


def test_a_partial_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl.partial").mkdir()
    with pytest.raises(RankgateError, match=r"run\.jsonl\.partial: cannot be read: Is a directory"):
        record(gold_of(), Retriever(), tmp_path / "run.jsonl")


@pytest.mark.parametrize("link", [False, True], ids=["a file", "a link to one"])
def test_what_a_commit_brings_is_deleted_and_the_retriever_asked(run: Path, link: bool) -> None:  # noqa: FBT001
    """Whatever it says of its gold set and its code: else a pull request could answer in place of the retriever."""
    kept = Path("run.jsonl.partial")
    if link:
        kept.rename("elsewhere")
        kept.symlink_to("elsewhere")
    git("init", "--quiet", ".")
    commit()
    retriever = Retriever()
    assert resumed(run, retriever)[1] == ["run.jsonl.partial is a file of the commit; starting over"]
    assert retriever.asked == ["1", "2", "3", "4", "5"]
    assert Path("elsewhere").exists() is link


def test_in_a_repository_the_same_code_goes_on_and_another_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", ".")
    Path("search.py").write_text("")
    commit()
    for changed, asked in ((False, ["4", "5"]), (True, ["1", "2", "3", "4", "5"])):
        with pytest.raises(KeyboardInterrupt):
            record(gold_of(), Retriever("question 4"), "run.jsonl", provenance={"a": 1, "b": 2}, notice=silent)
        Path("search.py").write_text("changed" if changed else "")
        retriever = Retriever()
        assert resumed(Path("run.jsonl"), retriever)[0].resumed == TOTAL - len(asked)
        assert retriever.asked == asked


def test_where_git_cannot_tell_nothing_is_resumed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout without git, as in a container that has none, may hold what a commit brought."""
    monkeypatch.setenv("PATH", "")
    retriever = Retriever()
    [notice] = resumed(run, retriever)[1]
    assert notice.startswith("run.jsonl.partial may be a file of the commit (")
    assert retriever.asked == ["1", "2", "3", "4", "5"]


def test_questions_of_both_gold_sets_are_asked_each_text_once(run: Path) -> None:
    """An edited question by either text, and one that the pull request has removed; and resumed so."""
    before = {f"q{n}": Sample(query_id=f"q{n}", gains={"d": 1.0}, question=f"question {n}") for n in (1, 2, 9)}
    edited = {**gold_of().samples, "q2": Sample(query_id="q2", gains={"d": 1.0}, question="new 2")}
    gold = Gold(samples=edited, name="gold.jsonl", format="jsonl", fingerprint="of e")
    base = Gold(samples=before, name="gold.jsonl", format="jsonl")
    done = list[Recorded]()
    for interrupted_by, asked in (("question 9", ["1", "2", "3", "4", "5", "2"]), ("", ["9"])):
        retriever = Retriever(interrupted_by)
        with suppress(KeyboardInterrupt):
            done = [record(gold, retriever, run, base_gold=base, notice=silent)]
        assert retriever.asked == asked
    assert [(each.total, each.recorded, each.resumed) for each in done] == [(7, 7, 6)]
    lines = [json.loads(line) for line in run.read_text().splitlines()]
    assert [(each["query_id"], each[TEXT_KEY]) for each in lines] == [
        *((f"q{n}", text_digest("new 2" if n == 2 else f"question {n}")) for n in range(1, 6)),
        ("q2", text_digest("question 2")),
        ("q9", text_digest("question 9")),
    ]
    assert len(list(read_run(str(run)).rankings)) == 7
