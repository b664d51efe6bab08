"""Killed by `kill -9` before a file operation of any write, a directory holds what was or what was to be, whole."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.children import Forking

import rankgate
from rankgate.baselines.directory import directory_store
from rankgate.baselines.records import Log
from rankgate.cli.baseline import verified as verify

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals as POSIX has them")

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parent.parent)}
LAST_MOMENT = 80
EACH = 4  # operations

# What a process does to a directory: `moment` is the file operation before which it dies; 0 for never.
SCRIPT = """
import os, signal, sys
from rankgate.baselines.directory import directory_store
from rankgate.baselines.packing import pack, recorded
from rankgate.model.values import Ranking

def add(memory, log, found):
    packed = pack([Ranking("q1", [found])], source=found)
    record = recorded(packed, source=found, provenance={}, gold=None, date="2026-01-31")
    memory.add(log, record, packed.data)

def act(what, moment, place):
    memory = directory_store(place).memory
    if what == "before":
        add(memory, "accepted", "one")
        add(memory, "accepted", "between")
        add(memory, "accepted", "two")
        add(memory, "history", "one")
        return 0
    step = 0

    def audit(event, arguments):
        nonlocal step
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.link"):
            if any(isinstance(each, (str, bytes)) and os.fsdecode(each).startswith(place) for each in arguments):
                step += 1
                if step == moment:
                    os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(audit)
    if what == "prune":
        memory.prune("accepted", [record.id for record in memory.read("accepted")[1:-1]])
    else:
        add(memory, what, "new")
    return 0
"""


def logs(folder: Path) -> dict[Log, list[str]]:
    memory = directory_store(folder.as_posix()).memory
    names: tuple[Log, ...] = ("history", "accepted")
    return {log: [record.source for record in memory.read(log)] for log in names}


BEFORE: dict[Log, list[str]] = {"history": ["one"], "accepted": ["one", "between", "two"]}


@pytest.mark.full
@pytest.mark.parametrize(
    ("what", "after"),
    [
        pytest.param("accepted", {**BEFORE, "accepted": ["one", "between", "two", "new"]}, id="accepting"),
        pytest.param("history", {**BEFORE, "history": ["one", "new"]}, id="recording"),
        pytest.param("prune", {**BEFORE, "accepted": ["one", "two"]}, id="pruning"),
    ],
)
def test_killed_before_any_file_operation_it_holds_the_old_or_the_new(
    tmp_path: Path, what: str, after: dict[Log, list[str]]
) -> None:
    driver, killed, seen = Forking(SCRIPT, ENVIRONMENT), 0, []
    assert driver.act("before", 0, str(tmp_path / "before")) == 0
    for moment in range(1, LAST_MOMENT, EACH):
        folder = tmp_path / str(moment)
        shutil.copytree(tmp_path / "before", folder)
        code = driver.act(what, moment, str(folder))
        seen.append(logs(folder))
        assert seen[-1] in (BEFORE, after), f"killed before operation {moment}"
        damaged = verify(directory_store(folder.as_posix()).memory).problems
        assert [problem for problem in damaged if "digest" in problem.message or "damaged" in problem.message] == []
        if code == 0:
            break
        assert code == -signal.SIGKILL
        killed += 1
        assert driver.act(what, 0, str(folder)) == 0
        assert verify(directory_store(folder.as_posix()).memory).problems == []
        assert not [file.name for file in folder.rglob("*") if file.name.endswith(".tmp")]
    assert seen[0] == BEFORE
    assert seen[-1] == after
    assert killed >= 3, "the process was hardly ever killed: what is it that this test tests?"
