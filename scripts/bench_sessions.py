"""The sessions of scripts/bench: for each workload its programs, the ratios to show, and what is to be reached."""

import gzip
import importlib.util
import shutil
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from bench_measure import Command, FailedError, call, say
from bench_programs import (
    ALL_DECIMALS,
    ROOT,
    Environments,
    Program,
    decoding,
    last_line,
    peer,
    rankgate_scores,
    rankgate_values,
    score,
)
from bench_tables import Column, Goal, Quantity
from bench_workload import Incomplete, Workload, files_of

SMALL = Workload()
LARGE = Workload(queries=100_000, depth=100, accepted=False)
HUGE = LARGE._replace(queries=1_000_000)
PAGE = Workload(queries=5_000, depth=50, tagged=True)

# What --only knows of each workload.
RANKGATE_NAMES = ("jsonl", "trec")
PEER_NAMES = ("pytrec_eval", "ir_measures", "ranx", "trec_eval")
SMALL_NAMES = ("check", "help", "version", "ir_measures", "pytrec_eval", "python")
LARGE_NAMES = (*RANKGATE_NAMES, "parquet", "recall-20", "recall-1-to-20", *PEER_NAMES, "decode")
PAGE_NAMES = ("check", "page", "texts")
HUGE_NAMES = (*RANKGATE_NAMES, *PEER_NAMES)

QUANTITIES: dict[str, Quantity] = {"CPU": "cpu", "wall": "wall", "peak": "peak"}


class Session(NamedTuple):
    """Programs to measure on a workload, the ratios to show, what is to be reached, and what was left out and why."""

    programs: list[Program]
    columns: list[Column]
    goals: list[Goal]
    notes: list[str]
    packages: dict[str, dict[str, str]]


class Wish(NamedTuple):
    """What the caller asked for.

    Attributes:
        cache: where environments and data lie.
        only: names of programs; empty for all.
        peers: whether to measure others on the huge workload too.
        trec_eval: the program trec_eval; None where there is none.
    """

    cache: Path
    only: Collection[str] = ()
    peers: bool = False
    trec_eval: Path | None = None

    def wants(self, name: str) -> bool:
        """Whether this program is to be measured."""
        return not self.only or name in self.only

    def others(self, names: Collection[str], made: Environments, work: Path) -> list[Program]:
        """Those of the peers that are wanted and there."""
        lacking = () if self.trec_eval else ("trec_eval",)
        return [peer(name, made, work, self.trec_eval) for name in names if self.wants(name) and name not in lacking]

    def chosen(self, programs: Collection[Program]) -> list[Program]:
        """Those that are wanted."""
        return [program for program in programs if self.wants(program.name)]

    def notes(self) -> list[str]:
        """What is wanted and not there."""
        lacking = self.wants("trec_eval") and self.trec_eval is None
        return ["Left out: trec_eval (not on PATH; --trec-eval says where it is)"] if lacking else []


def small(wish: Wish) -> Session:
    """`rankgate check` with everything it does, beside two that score one run."""
    made = Environments(wish.cache)
    work = workload(wish.cache / "small", SMALL)
    rankgate, python, report = made.rankgate(), made.rankgate("python"), work / "report.json"
    call(rankgate, "baseline", "accept", "--run", "accepted.jsonl", "--to", "baseline", directory=work)
    check = (rankgate, "check", "-o", report.name, "-o", "comment.md")
    peer_names = ("ir_measures", "pytrec_eval")
    programs = [
        Program(
            "check", "rankgate check", Command(check, work), lambda _: rankgate_values(report.read_text()), ALL_DECIMALS
        ),
        Program("help", "rankgate --help", Command((rankgate, "--help"), work)),
        Program("version", "rankgate --version", Command((rankgate, "--version"), work)),
        *wish.others(peer_names, made, work),
        Program("python", "python -c pass", Command((python, "-c", "pass"), work)),
    ]
    columns = [Column(f"CPU / {name}", "cpu", _always(name)) for name in peer_names]
    goals = [
        Goal("rankgate check: at most 0.20 s CPU", 0.20, "cpu", "check"),
        Goal("rankgate check: at most 60 MiB", 60, "peak", "check"),
        Goal("rankgate check: no slower than ir_measures scoring one run, by CPU", 1, "cpu", "check", "ir_measures"),
        Goal("rankgate --help: at most 0.06 s CPU", 0.06, "cpu", "help"),
        Goal("rankgate --version: at most 0.06 s CPU", 0.06, "cpu", "version"),
    ]
    return Session(wish.chosen(programs), columns, goals, [], made.packages)


def large(wish: Wish) -> Session:
    """`rankgate score` of one run in several formats, beside all others."""
    made, notes = Environments(wish.cache), wish.notes()
    work = workload(wish.cache / "large", LARGE)
    rankgate, jsonl, cutoffs = made.rankgate(), ("gold.jsonl", "run.jsonl"), "recall@1,3,5,10,20"
    programs = [
        *rankgate_scores(made, work),
        *(parquet(made, work, notes) if wish.wants("parquet") else []),
        score("recall-20", "rankgate, JSONL, recall@20 alone", rankgate, work, *jsonl, metrics="recall@20"),
        score("recall-1-to-20", f"rankgate, JSONL, {cutoffs}", rankgate, work, *jsonl, metrics=cutoffs),
        *wish.others(PEER_NAMES, made, work),
        decoding(made, work),
    ]
    columns = [
        Column("CPU / pytrec_eval", "cpu", _always("pytrec_eval")),
        Column("wall / pytrec_eval", "wall", _always("pytrec_eval")),
        *(Column(f"CPU / {name}", "cpu", _always(name)) for name in PEER_NAMES if name != "pytrec_eval"),
    ]
    goals = [
        Goal("JSONL: at most 3.3 s CPU", 3.3, "cpu", "jsonl"),
        Goal("JSONL: at most 120 MiB", 120, "peak", "jsonl"),
        Goal("JSONL: at most a third of pytrec_eval's CPU", 1 / 3, "cpu", "jsonl", "pytrec_eval"),
        Goal("JSONL: at most a third of pytrec_eval's wall time", 1 / 3, "wall", "jsonl", "pytrec_eval"),
        Goal("TREC: no slower than pytrec_eval, by CPU", 1, "cpu", "trec", "pytrec_eval"),
        Goal("TREC: faster than pytrec_eval, by wall time", 1, "wall", "trec", "pytrec_eval"),
        Goal("recall at five cutoffs, CPU by that of recall@20 alone", None, "cpu", "recall-1-to-20", "recall-20"),
        Goal("JSONL, CPU by that of decoding alone", None, "cpu", "jsonl", "decode"),
    ]
    return Session(wish.chosen(programs), columns, goals, notes, made.packages)


def huge(wish: Wish) -> Session:
    """`rankgate score` on ten times as many queries, in relation to the large workload; others only if wished for."""
    made = Environments(wish.cache)
    programs: list[Program] = []
    goals: list[Goal] = []
    for size, letter, data in (("large", "b", LARGE), ("huge", "c", HUGE)):
        work = workload(wish.cache / size, data)
        there = [program for program in rankgate_scores(made, work) if program.name in HUGE_NAMES]
        there += wish.others(PEER_NAMES, made, work) if wish.peers else []
        programs += [
            program._replace(name=f"{size}:{program.name}", title=f"({letter}) {program.title}")
            for program in wish.chosen(there)
        ]
    for program in programs:
        kind, large_one = program.name.partition(":")[2], _on_large(program.name)
        if program.name != large_one and kind in RANKGATE_NAMES:
            title = f"{program.title}: at most 10.5 times the"
            goals += [
                Goal(f"{title} CPU time of B", 10.5, "cpu", program.name, large_one),
                Goal(f"{title} wall time of B", 10.5, "wall", program.name, large_one),
                Goal(f"{program.title}: MiB", None, "peak", program.name),
            ]
    columns = [
        *(Column(f"{title} / B", quantity, _on_large) for title, quantity in QUANTITIES.items()),
        Column("CPU / pytrec_eval", "cpu", lambda name: f"{name.partition(':')[0]}:pytrec_eval"),
    ]
    return Session(programs, columns, goals, wish.notes() if wish.peers else [], made.packages)


def page(wish: Wish) -> Session:
    """`rankgate check` with the page for the browser, beside the same without it."""
    made = Environments(wish.cache)
    work = workload(wish.cache / "page", PAGE)
    rankgate, report, html = made.rankgate_with_pages(), work / "report.json", work / "report.html"
    call(rankgate, "baseline", "accept", "--run", "accepted.jsonl", "--to", "baseline", directory=work)
    with_page = (rankgate, "check", "-o", report.name, "-o", html.name)
    with_texts = (*with_page, "--corpus", "corpus.jsonl")
    notes = []
    for what, command in (("", with_page), (" with passages", with_texts)):
        call(*command, directory=work)
        size = len(gzip.compress(html.read_bytes()))
        notes.append(f"report.html{what}: {html.stat().st_size / 1e6:.2f} MB, {size / 1e6:.2f} compressed (at most 2)")
        notes += loading(html)

    def values(_: str) -> dict[str, float]:
        return rankgate_values(report.read_text())

    programs = [
        Program("check", "check -o report.json", Command(with_page[:4], work), values, ALL_DECIMALS),
        Program("page", "check -o report.json -o report.html", Command(with_page, work), values, ALL_DECIMALS),
        Program("texts", "the same with --corpus", Command(with_texts, work), values, ALL_DECIMALS),
    ]
    goals = [Goal("report.html: times the CPU time of a check without it", None, "cpu", "page", "check")]
    columns = [Column("CPU / without", "cpu", _always("check"))]
    return Session(wish.chosen(programs), columns, goals, notes, made.packages)


def loading(page: Path) -> list[str]:
    """How long Chromium takes to load a page and draw its list, five times; nothing without Playwright or Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        return ["Left out: how long the page takes to load (needs Playwright and Chromium)"]
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- only here, and seldom installed

    times: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(5):
            opened = browser.new_page()
            opened.goto(page.as_uri())
            times.append(opened.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000)
            opened.close()
        browser.close()
    return [f"  loaded in {sorted(times)[2]:.2f} s, {min(times):.2f} to {max(times):.2f} (at most 1.5)"]


def parquet(made: Environments, work: Path, notes: list[str]) -> list[Program]:
    """The four metrics from Parquet, which is written now; nothing but a note where the extra cannot be installed."""
    try:
        rankgate, python = made.rankgate_with_parquet(), made.rankgate_with_parquet("python")
        workload(work, LARGE, parquet_by=python)
    except FailedError as error:
        notes.append(f"Left out: rankgate, Parquet ({last_line(error)})")
        return []
    files = ("gold.jsonl", "run.parquet")
    return [score("parquet", "rankgate, Parquet", rankgate, work, *files)._replace(optional=True)]


def workload(directory: Path, wanted: Workload, *, parquet_by: str | None = None) -> Path:
    """Write a workload unless it is there; the Parquet too where a Python with DuckDB is given.

    Raises:
        FailedError: the disk has no room for it.
    """
    try:
        files = files_of(directory, wanted)
    except Incomplete:
        files = []
    if not files or (parquet_by and "run.parquet" not in files):
        directory.mkdir(parents=True, exist_ok=True)
        if not files:
            make_room(directory, wanted)
        say(f"Writing {'Parquet of ' if files else ''}the workload in {directory}.")
        sizes = [f"--{key}={getattr(wanted, key)}" for key in ("queries", "depth", "seed")]
        options = [*sizes, *([] if wanted.accepted else ["--run-only"]), *(["--parquet"] if parquet_by else [])]
        options += ["--tagged"] * wanted.tagged
        writer = str(ROOT / "scripts" / "bench_workload.py")
        call(parquet_by or sys.executable, writer, str(directory), *options)
    return directory


def make_room(directory: Path, wanted: Workload) -> None:
    """Remove an incomplete workload, and say how much disk the whole one takes.

    Raises:
        FailedError: the disk has no room for it.
    """
    for name in ("run.jsonl", "run.trec", "run.parquet"):
        (directory / name).unlink(missing_ok=True)
    free = shutil.disk_usage(directory).free
    say(
        f"{wanted.queries:,} queries of {wanted.depth} results take about {_disk(wanted.needs)} in {directory}, where "
        f"{_disk(free)} are free."
    )
    if free < wanted.needs:
        raise FailedError("the disk has no room for the workload; --cache DIR names another place")


def _always(other: str) -> Callable[[str], str]:
    return lambda _: other


def _on_large(name: str) -> str:
    return f"large:{name.partition(':')[2]}"


def _disk(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 10**8 else f"{size / 1e6:,.0f} MB"
