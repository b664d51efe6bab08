"""Random pull requests, made of the attacks and the legitimate changes, and what has to hold of each.

`python -m tests.base_ref.fuzz --seconds 600 --seed 1` from the root of the repository plays as many as it can, and says
how many could tell pass from warn. `test_properties.py` plays a few.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace
from tests.base_ref.story import (
    FAIL,
    NOT_JUDGED,
    PASS,
    QUERIES,
    Act,
    accepted,
    baseline_of,
    begin,
    edit,
    gold,
    on_main,
    write,
    write_run,
)
from tests.base_ref.test_attacks import ALLOWED, ATTACKS, UNSEEN
from tests.base_ref.test_legitimate import LEGITIMATE
from tests.repositories import commit, git

from rankgate.base_ref.pull_request import against_base
from rankgate.check import reports_of
from rankgate.cli.check import judge
from rankgate.criteria.inputs import Inputs
from rankgate.errors import RankgateError
from rankgate.gates.not_judged import not_judged
from rankgate.model.report import Report
from rankgate.model.report_text import encode_report
from rankgate.model.values import SEVERITY_ORDER, Verdict, blocks
from rankgate.readers.base import TEXT_KEY

INPUTS = Inputs(date="2026-01-31")
LATER = ((), ("q1",), ("q5",), ("q4", "q5"), QUERIES)  # what later runs lose
HARSH = {name: each.act for name, each in ATTACKS.items() if not (each.main or each.flags or name in UNSEEN)}
SOFT: dict[str, Act] = {
    **{name: each.act for name, each in LEGITIMATE.items() if not (each.main or each.flags)},
    "a wider drop": edit("max: 0.03", "max: 0.2"),
    "a stricter drop": edit("max: 0.03", "max: 0.01"),
    "a lower floor": edit("0.85", "0.55"),
    "two questions more": write("gold.yaml", gold(*QUERIES, "n1", "n2")),
    "one question less": write("gold.yaml", gold(*QUERIES[1:])),
    "accept what lost one": baseline_of(("q1",)),
    "accept what lost all": baseline_of(QUERIES),
    "accept three questions": baseline_of((), queries=QUERIES[:3]),
    "accept what it has": accepted("as it is"),
    "accept one": baseline_of((), queries=QUERIES[:1]),
    "one document more for all": write("gold.yaml", gold(*QUERIES, **{each: f"doc-{each}, x" for each in QUERIES})),
}
MAIN_CHANGES = 0.3  # of the plays
STEPS = HARSH | SOFT
MAINS: tuple[Act | None, ...] = (
    *[ALLOWED] * 20,
    *(each.main for each in ATTACKS.values() if each.main and not each.flags),
)


class Play(NamedTuple):
    """What was tried; `telling` says that it passed with another gate, so that a softer one would have shown."""

    names: tuple[str, ...]
    verdict: Verdict
    telling: bool
    broken: tuple[str, ...]


def rank(verdict: Verdict) -> int:
    """Fail and not judged block alike."""
    return SEVERITY_ORDER.index(FAIL if blocks(verdict) else verdict)


def checked_out(tree: str, folder: Path) -> Path:
    """A folder with the files of a commit."""
    git("worktree", "add", "--quiet", "--force", "--detach", str(folder), tree)
    return folder


def alone(folder: Path, job: Path) -> Report:
    """What a folder with the files of a commit says of the job's run."""
    for file in (*job.glob("*.jsonl"), *job.glob("*.csv"), *job.glob("made.yaml")):
        if not file.is_symlink():
            shutil.copy(file, folder)
    with contextlib.chdir(folder):
        return judge(INPUTS)


def bare(report: Report) -> str:
    """A report as it is written, less paths and provenance."""
    values = msgspec.json.decode(encode_report(replace(report, base=None, links=None)))
    for name in ("provenance", "call", "conclusion", "other_code"):
        values.pop(name, None)
    text = msgspec.json.encode(values).decode()
    return re.sub(r" at main \([0-9a-f]{7}\)", "", text)


def broken_rules(repository: Path) -> tuple[Report, list[str], bool]:
    """The report, the properties that it breaks, and whether it could tell pass from warn."""
    try:
        with against_base(replace(INPUTS, base="main"), "main") as pull:
            reports = reports_of(pull, None)
            report = pull.report(reports)
            judged_by_base, by_head = pull.both(reports)
    except RankgateError as error:
        return not_judged(INPUTS, error.problems), [], False
    if report.base is None or report.base.introduced:
        return report, [], False
    broken: list[str] = []
    by_base = judged_by_base or by_head
    base = checked_out("main", repository.parent / "base")
    by_folder = alone(base, repository)
    gone = report.base.queries is not None and report.base.queries.removed > 0
    unanswered = gone and not states_texts(repository)  # by id nobody can tell that the run answers these
    if by_base.verdict is not NOT_JUDGED and not unanswered and bare(by_base) != bare(by_folder):
        broken.append("P1: the base's report is not that of its folder")
    if rank(report.verdict) < max(rank(by_base.verdict), rank(by_head.verdict), rank(by_folder.verdict)):
        broken.append(f"P2: {report.verdict}, though {by_base.verdict}, {by_head.verdict} or {by_folder.verdict}")
    passes = report.verdict is PASS and not report.remarks.warnings
    could_tell = passes and git("diff", "--name-only", "main", "HEAD") != ""
    if could_tell:
        broken += softer(repository, base)
    return report, broken, could_tell


def states_texts(job: Path) -> bool:
    """Whether the job's run says which texts it answers."""
    return any(TEXT_KEY in file.read_text() for file in job.glob("run*.jsonl"))


def softer(repository: Path, base: Path) -> Iterator[str]:
    """Later runs of which the merged gate says something milder than main's did."""
    more = tuple(re.findall(r"id: (\w+)", Path("gold.yaml").read_text())) if Path("gold.yaml").is_file() else QUERIES
    head = checked_out("HEAD", repository.parent / "head")
    for lost in LATER:
        write_run(Path("run.jsonl"), lost=lost, queries=tuple(dict.fromkeys([*QUERIES, *more])))
        before = alone(base, repository).verdict
        after = alone(head, repository).verdict
        if rank(after) < rank(before):
            yield f"P3: {after} where main says {before} of a run that loses {lost}"


def play(seed: str, folder: Path) -> Play | None:
    """One random pull request; None where its changes do not go together."""
    draw = random.Random(seed)  # noqa: S311 -- no secret
    repository = folder / "repository"
    begin(repository)
    with contextlib.chdir(repository), contextlib.redirect_stdout(io.StringIO()):
        soft = draw.sample(sorted(SOFT), draw.choice((1, 1, 2, 2, 3)))
        names = tuple(soft + draw.sample(sorted(HARSH), draw.choice((0, 0, 0, 1))))
        try:
            if draw.random() < MAIN_CHANGES and (main := draw.choice(MAINS)) is not None:
                on_main(main)
            write_run(Path("run.jsonl"), lost=draw.choice(((), (), (), (), *LATER[1:4])))
            for name in names:
                STEPS[name]()
            commit()
        except (AssertionError, OSError, Exception):  # noqa: BLE001 -- what git refuses is no pull request
            return None
        report, broken, telling = broken_rules(repository)
    return Play(names, report.verdict, telling, tuple(broken))


def many(seconds: float, first: int) -> int:
    """Play until the time is over; how many broke a rule."""
    verdicts, telling, failed, number = Counter[str](), 0, 0, first
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder:
            played = play(str(number), Path(folder))
        number += 1
        if played is None:
            continue
        verdicts[played.verdict.value] += 1
        telling += played.telling
        failed += bool(played.broken)
        if played.broken:
            sys.stdout.write(f"seed {number - 1}: {played.names}: {'; '.join(played.broken)}\n")
            sys.stdout.flush()
    tried = sum(verdicts.values())
    sys.stdout.write(f"{tried} tried ({dict(verdicts)}), {telling} could tell pass from warn, {failed} broke a rule\n")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    os.environ.setdefault("GIT_CONFIG_NOSYSTEM", "1")
    given = parser.parse_args()
    sys.exit(many(given.seconds, given.seed) > 0)
