"""What pages say of simulations is what the tables beside the scripts have; no other share stands in their prose."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.test_pages import BLOCK, DOCS, ROOT

TABLES = ROOT / "scripts" / "tables"
PAGES = {"statistics": ROOT / "docs" / "statistics.md", "unlabelled": ROOT / "docs" / "unlabelled.md"}
PAGES |= {"questions": ROOT / "docs" / "questions.md", "intervals": ROOT / "docs/decisions/0005-intervals.md"}
PAGES |= {"clusters": ROOT / "docs/decisions/0011-few-clusters.md"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
HARM = "Blocked (%), limit 3 pp, ±1 and ±0.5"
SHARE = re.compile(r"\d[\d.,]*(?= %| of 100\b)")
# Levels and bounds that a page defines, in place of a result: each is a constant of the program or of a formula.
DEFINED = {
    "statistics": {"95", "80", "2.5", "5", "0.25", "20", "1", "26", "36", "10", "4", "11.6"},
    "unlabelled": {"80"},
    "questions": set[str](),
    "intervals": {"95"},
    "clusters": set[str](),
}


@cache
def table(file: str, title: str) -> dict[str, list[list[float]]]:
    """The rows of a table by their first cell, and of every other cell the numbers."""
    text = (TABLES / f"{file}.md").read_text(encoding="utf-8")
    _, _, after = text.partition(f"**{title}")
    assert after, title
    lines = after.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        row[0].replace("`", ""): [[float(each) for each in NUMBER.findall(cell)] for cell in row[1:]] for row in rows
    }


def column(file: str, title: str, at: int, rows: str) -> list[float]:
    """The first number of one column, of the rows whose first cell matches."""
    found = [cells[at][0] for name, cells in table(file, title).items() if re.search(rows, name)]
    assert found, (title, rows)
    return found


def everything(file: str, title: str, rows: str, number: int = 0) -> list[float]:
    """One number of every cell, of the rows whose first cell matches."""
    body = [cells for name, cells in table(file, title).items() if re.search(rows, name)]
    found = [numbers[number] for cells in body for numbers in cells]
    assert found, (title, rows)
    return found


def cell(file: str, title: str, row: str, at: int) -> float:
    return table(file, title)[row][at][0]


def statistics() -> list[str]:
    return [*promised(), *blocked(), *named(), *in_few_clusters(), *judged()]


def promised() -> list[str]:
    """The first table, and what it leaves out."""
    misses = everything("verdicts", "One-sided misses of the interval of a value", "hit|rank|graded")
    misses += everything("verdicts", "One-sided misses of the interval of a change", "±|rank|all|lopsided|−1")
    detectable = everything("verdicts", "Blocked at the drop that is detectable", "estimate|proven", number=1)
    detectable += everything("verdicts", "The same over conversations", "of", number=1)
    few, many = (cell("verdicts", HARM, "drop 8 pp, proven_harm", at) for at in (0, 3))
    clusters = "One-sided misses over clusters"
    independent = everything("verdicts", clusters, "^of", number=1)
    clustered = max(everything("verdicts", clusters, "^of"))
    signs = everything("verdicts", "Proven harm by the signs of few clusters", "few gain much")[1:]
    return [
        f"at most {max(misses):.1f} %, promised 4 %",
        f"{min(detectable):.0f} to {max(detectable):.0f} % at that drop",
        f"With 100 questions {few:.0f} % of drops of 8 points are blocked, with 400 questions {many:.0f} %",
        f"miss in {min(independent):.0f} to {max(independent):.0f} % instead of at most {clustered:.1f} %",
        f"wrong in {min(signs):.0f} to {max(signs):.0f} %",
    ]


def blocked() -> list[str]:
    """What the modes of evidence block, over all questions, in segments, and where runs shift."""
    shown = ((0, 0), (0, 3), (0, 4), (8, 0), (8, 3))  # the drop, and the column of N
    rows: list[str] = []
    for mode in ("estimate", "proven_harm", "proven_safe"):
        cells = [f"{cell('verdicts', HARM, f'drop {drop} pp, {mode}', at):.1f}" for drop, at in shown]
        rows.append(f"| `{mode}` | {' | '.join(cells)} |")
    shifts = "Blocked where whole runs shift"
    unchanged, wider = (cell("verdicts", shifts, "SD 2 pp, drop 0 pp", at) for at in (3, 4))
    caught, caught_wider = (cell("verdicts", shifts, "SD 2 pp, drop 5 pp", at) for at in (3, 4))
    segments = "No change, 30 segments of about N / 10: at least one blocked"
    estimate, uncorrected, holm = (cell("verdicts", segments, "N = 5000", at) for at in (0, 1, 2))
    assert holm == max(column("verdicts", segments, 2, "N = "))
    return [
        *rows,
        f"blocks {unchanged:.1f} % of unchanged systems at 3 points, and {wider:.1f} % with a limit set this way",
        f"{caught_wider:.1f} % of drops of 5 points are caught instead of {caught:.1f} %",
        f"| at most {holm:.1f} % |",
        f"is blocked in {holm:.1f} % of runs. Uncorrected it is {uncorrected:.1f} %, with `estimate` {estimate:.1f} %",
    ]


def named() -> list[str]:
    """What a check warns of beside its gates, and what the criteria of `init` do."""
    nothing_lost = max(everything("parts", "A part is named", "nothing lost"))
    all_lose = max(everything("parts", "A part is named", "all lose"))
    one = everything("parts", "A part is named", r"loses 36%, N = 300")
    steps = "Said within 100"
    false_steps = max(everything("steps", steps, "in use"))
    at_100 = everything("steps", steps, "^N = 100, in use", number=1)
    at_300 = everything("steps", steps, "^N = 300, in use", number=1)
    unchanged = "Nothing changed: fail, warn"
    failed = everything("checks", unchanged, "N = ")
    warned = everything("checks", unchanged, "N = ", number=1)
    either = max(fail + warn for fail, warn in zip(failed, warned, strict=True))
    few, many = (cell("checks", "A loss is caught", f"all lose 10%, N = {count}", 0) for count in (100, 250))
    both_sizes = f"in {min(at_100):.0f} to {max(at_100):.0f} % of histories at 100 questions"
    return [
        f"in at most {nothing_lost:.0f} % of checks ([parts]",
        f"a part is named in at most {nothing_lost:.0f} % of checks",
        f"in {min(one):.0f} to {max(one):.0f} %. Where all lose the same, a part is named in up to {all_lose:.0f} %",
        f"in at most {false_steps:.1f} % of histories of 100",
        f"warns in at most {false_steps:.1f} %",
        f"{both_sizes}, and in {min(at_300):.0f} to {max(at_300):.0f} % at 300",
        f"at most {max(failed):.1f} %, at most {either:.0f} %",
        f"in at most {max(failed):.1f} % of checks, and fails or warns in at most {either:.0f} %",
        f"in {few:.0f} % at 100 questions, and {many:.0f} % at 250",
    ]


def in_few_clusters() -> list[str]:
    """What a language of few conversations warns of; the second number of a cell is by the rule in use."""
    unchanged = "Nothing changed: a language warns"
    five = max(everything("checks", unchanged, "^40 in 5", number=1))
    twelve = max(everything("checks", unchanged, "in 12", number=1))
    lost, one, two = (table("checks", "A language loses")["40 in 5, recall@5"][at][1] for at in (2, 3, 4))
    return [
        f"at most {five:.0f} % of checks warn that change nothing, with twelve languages at most {twelve:.0f} %",
        f"one that loses 36 % of its questions warns or fails in {lost:.0f} %",
        f"conversation of eight does in {one:.0f} % and two do in {two:.0f} %",
    ]


def judged() -> list[str]:
    held = column("judges", "Intervals at 95 % that hold the true value, 100", 2, "mean")
    too_high = column("judges", "Intervals at 95 % that hold the true value, 100", 4, "mean 0.93")
    below = max(everything("judges", "Floors of a run without labels: found below", "^0"))
    unchanged = [column("judges", "Blocked by `proven_harm`, 3 pp allowed, 200", at, "^0") for at in (1, 2, 3)]
    style = column("judges", "A change that pleases", 0, r"true \+0 pp, judge -")
    assert column("judges", "A change that pleases", 0, r"true -10 pp, judge \+") == [0.0, 0.0]  # "never blocked"
    drift = everything("judges", "A judge that drifts", "10 pp fewer")
    return [
        f"in {min(held):.0f} to {max(held):.0f} % of samples with 100 labels",
        f"in up to {max(too_high):.0f} %, where the mean is 0.93",
        f"blocked in {below:.0f} % at most",
        f"`proven_harm` blocked in at most {max(map(max, unchanged)):.0f} %",
        f"in {min(style):.0f} to {max(style):.0f} %",
        f"in {min(drift):.0f} to {max(drift):.0f} %",
    ]


def unlabelled() -> list[str]:
    held = everything("traffic", "Intervals that hold the truth", "drawn")
    blocked = everything("traffic", "False blocks", "drawn")
    labels = table("traffic", "Labels that prove a loss")
    return [
        f"In {len(held)} cells of a simulation the interval holds the truth in {min(held):.1f} of 100 samples or more",
        f"at most {max(blocked):.1f} of 100 runs",
        *(
            f"| {points} points | " + " | ".join(f"{a:.0f} → {b:.0f}" for a, b in labels[f"{points} points"][1:]) + " |"
            for points in (3, 5, 10)
        ),
    ]


def questions() -> list[str]:
    neutral = cell("verdicts", HARM, "drop 0 pp, estimate", 4)
    return [f"at 1,400 it blocks {neutral:.1f} % of changes without effect"]


def intervals() -> list[str]:
    false_harm, harm = "False harm, the worst of 31", "Harm found"
    largest, full_width = (cell("verdicts", harm, "all move a little, 400 queries, drop 1 pp", at) for at in (0, 4))
    return [
        f"in up to {cell('verdicts', false_harm, 'max abs(d)', 0):.1f} % of samples of 50",
        f"at {max(everything('verdicts', false_harm, '^the width')):.1f} % or less at every size",
        f"{full_width:.0f} % are detected instead of {largest:.0f} %",
    ]


TRIED = "Rules that were tried"


def clusters() -> list[str]:
    """What the rule of decision 11 sees less of than the one before it."""
    names = ("one loses 1 whole", "one loses 2 whole", "one loses 20% of its questions")
    one, two, fifth = ([f"{cell('checks', TRIED, name, at):.1f} %" for at in (5, 0)] for name in names)
    return [
        f"it warns in {' instead of '.join(one)}. Two of eight warn in {' instead of '.join(two)}",
        f"a fifth of the questions in {' instead of '.join(fifth)}",
    ]


CLAIMS = {"statistics": statistics, "unlabelled": unlabelled, "questions": questions, "intervals": intervals}
CLAIMS |= {"clusters": clusters}


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_page_says_of_a_simulation_is_what_its_table_has(name: str) -> None:
    text = " ".join(PAGES[name].read_text(encoding="utf-8").split())
    assert [claim for claim in CLAIMS[name]() if claim not in text] == []


@pytest.mark.parametrize("name", CLAIMS)
def test_every_other_share_of_the_prose_is_defined(name: str) -> None:
    text = re.sub(
        r"^<!-- generated.*?<!-- end -->$", "", PAGES[name].read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    text = " ".join(BLOCK.sub("", text).split())
    for claim in CLAIMS[name]():
        text = text.replace(claim, "")
    assert {share.rstrip(".,") for share in SHARE.findall(text)} - DEFINED[name] == set()


def test_benchmarks_and_decisions_have_no_share_that_no_table_has() -> None:
    """Decision 6 names the level of the program's own rule."""
    others = [ROOT / "docs" / "benchmarks.md", *(page for page in DOCS if page.parent.name == "decisions")]
    found = {
        page.name: SHARE.findall(page.read_text(encoding="utf-8")) for page in others if page not in PAGES.values()
    }
    assert {name: shares for name, shares in found.items() if shares} == {"0006-what-a-gate-rests-on.md": ["8", "2.5"]}


def test_what_statistics_derives_is_what_arithmetic_gives() -> None:
    text = " ".join(PAGES["statistics"].read_text(encoding="utf-8").split())
    assert f"30 questions without a loss exclude losses above {100 * (1 - 0.025 ** (1 / 30)):.1f} %" in text
    assert f"in nine conversations give p = 1/{2**9}" in text
    values = [next(n for n in range(1, 1000) if quantile**n <= 0.025) for quantile in (0.9, 0.99)]
    assert "the upper one of p90 needs {} values, of p99 {}".format(*values) in text
