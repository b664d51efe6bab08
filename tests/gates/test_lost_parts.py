"""A part of the questions that lost what the rest did not: which are looked at, and which are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main
from rankgate.gates.lost_parts import lost_parts
from rankgate.metrics.tags import parts_of
from rankgate.model.conclusion import PartLoss
from rankgate.model.loss_words import parts_texts
from rankgate.model.values import Direction, Sample, Unit

LANGUAGES = [f"l{number}" for number in range(12)]


def parts(each: int = 25) -> dict[str, list[int]]:
    return {f"lang:{code}": list(range(at * each, (at + 1) * each)) for at, code in enumerate(LANGUAGES)}


def changes(lost: dict[int, int], *, each: int = 25, noise: int = 0) -> list[float]:
    """So many questions lost in the parts of these places, and in every part `noise` lost and won."""
    found = [0.0] * (12 * each)
    for at in range(12):
        first = at * each
        for row in range(noise):
            found[first + each - 1 - row] = -1.0 if row % 2 else 1.0
        for row in range(lost.get(at, 0)):
            found[first + row] = -1.0
    return found


@pytest.mark.parametrize(
    ("moved", "named"),
    [
        pytest.param(changes({1: 9}), ["lang:l1"], id="nine of 25 in one of twelve"),
        pytest.param(changes({1: 9, 4: 12}), ["lang:l4", "lang:l1"], id="two, the larger loss first"),
        pytest.param(changes({1: 3}), [], id="three lost prove nothing"),
        pytest.param(changes(dict.fromkeys(range(12), 9)), [], id="all lost alike"),
        pytest.param(changes({}, noise=10), [], id="all moved alike, as much up as down"),
        pytest.param([-x for x in changes({1: 9})], [], id="what one part won"),
        pytest.param([0.0] * 300, [], id="nothing moved"),
    ],
)
def test_what_is_named(moved: list[float], named: list[str]) -> None:
    assert [each.name for each in lost_parts(moved, parts())] == named


def test_a_calm_part_among_volatile_ones_is_spared() -> None:
    """It moved less than the others, so that its seven losses and no win are not tested."""
    moved = changes({1: 7}, noise=10)
    moved[25 + 7 : 50] = [0.0] * 18
    assert lost_parts(moved, parts()) == []
    assert [each.name for each in lost_parts(changes({1: 7}), parts())] == ["lang:l1"]


def test_what_the_rest_lost_nearly_as_much_of_is_not_blamed_on_one() -> None:
    """40 and 25 % lost: more than chance, in the larger loss, but within two standard errors of the rest's."""
    two = {"lang:a": list(range(40)), "lang:b": list(range(40, 100))}
    lost = [-1.0 if row < 16 or 40 <= row < 55 else 0.0 for row in range(100)]
    assert lost_parts(lost, two) == []
    alone = [-1.0 if row < 16 else 0.0 for row in range(100)]
    assert [each.name for each in lost_parts(alone, two)] == ["lang:a"]


def test_where_lower_is_better_it_rose() -> None:
    slower = PartLoss(
        segment="lang:th",
        metric="latency",
        unit=Unit.MILLISECONDS,
        direction=Direction.LOWER,
        before=20.0,
        now=50.5,
        n=25,
        worse=20,
        p=0.001,
    )
    assert parts_texts([slower], str) == ["latency in lang:th rose by 30.5 ms: 20 of 25 questions got worse"]


def test_half_of_the_level_is_kept_for_tags_that_criteria_name() -> None:
    both = {**parts(), "topic:a": list(range(150)), "topic:b": list(range(150, 300))}
    six = changes({1: 6})  # p = 1 / 64, between half of the level and all of it
    assert [each.name for each in lost_parts(six, parts())] == ["lang:l1"]
    assert lost_parts(six, both, named=["topic"]) == []
    seven = changes({1: 7})  # p = 1 / 128: below that half, which two parts of one kind would have to share
    assert {each.name for each in lost_parts(seven, both, named=["topic"])} == {"lang:l1", "topic:a"}


def test_a_cluster_counts_once() -> None:
    lost = changes({1: 9})
    assert lost_parts(lost, parts(), clusters=[f"c{row}" for row in range(300)])
    assert lost_parts(lost, parts(), clusters=[f"c{row // 25}" for row in range(300)]) == []


def test_which_tags_have_parts() -> None:
    def sample(number: int, *tags: str, source: tuple[str, ...] = ()) -> Sample:
        return Sample(query_id=f"q{number}", gains={"d": 1.0}, tags=tags, source=source)

    samples = [sample(n, f"lang:{'de' if n < 5 else 'en'}", "only:one", f"id:{n}", source=("kb",)) for n in range(60)]
    samples += [sample(60 + n, "rare", source=("web",)) for n in range(5)] + [sample(70 + n, "odd") for n in range(4)]
    found = parts_of(samples)
    assert {name: len(rows) for name, rows in found.items()} == {
        "lang:de": 5,
        "lang:en": 55,
        "source:kb": 60,
        "source:web": 5,
        "rare": 5,  # `odd` has too few questions, `only` one value and `id` too many
    }


@pytest.mark.parametrize(
    ("tag", "shown"),
    [
        pytest.param("lang:th", "lang:th", id="a name"),
        pytest.param("x:https://evil.example", "one part of the questions", id="an address"),
        pytest.param("x:see www.evil.example", "one part of the questions", id="an address without a scheme"),
        pytest.param("x:@team`<b>", "one part of the questions", id="Markdown"),
    ],
)
def test_a_language_that_no_gate_names_warns_above_a_whole_that_holds(
    tag: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twelve languages of 25 questions: one falls from 96 to 60 %, the whole by three points, which are allowed."""
    monkeypatch.chdir(tmp_path)
    tags = [tag if at == 1 else f"{tag.partition(':')[0]}:l{at}" for at in range(12)]
    queries = [f"q{number}" for number in range(300)]
    gold = [
        {"id": query, "expected_output": ["a"], "metadata": {"tags": [tags[number // 25]]}}
        for number, query in enumerate(queries)
    ]

    def run(lost: set[int]) -> list[dict[str, Any]]:
        return [{"query_id": q, "retrieved": ["b" if number in lost else "a"]} for number, q in enumerate(queries)]

    files = {"gold": gold, "before": run({25}), "now": run(set(range(25, 35)))}
    for name, lines in files.items():
        Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    Path("ship-criteria.yaml").write_text("gates: [{name: recall@5, regression_max: 0.03}]\n", encoding="utf-8")
    words = ["check", "--gold", "gold.jsonl", "--run", "now.jsonl", "--baseline", "before.jsonl"]
    assert main([*words, "-o", "report.json", "--fail-on", "warn"]) == 1
    lost = "lost 36.0 points: 9 of 25 questions got worse."
    printed = capsys.readouterr().out
    named = f"'{tag}'" if "`" in tag else tag  # what could be read as marks stands in quotes
    assert printed.startswith(f"WARN  recall@5 holds overall (−3.0, allowed), but {named} {lost}\n")
    assert printed.endswith("Next: rankgate explain q26 --run now.jsonl --gold gold.jsonl --baseline before.jsonl\n")
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert report["summary"] == f"recall@5 holds overall (−3.0, allowed), but {shown} {lost}"
    assert [(gate["verdict"], round(gate["delta"], 9)) for gate in report["gates"]] == [("pass", -0.03)]
    (part,) = report["lost_parts"]
    assert (part["segment"], part["n"], part["worse"]) == (tag, 25, 9)
    assert (part["before"], part["now"]) == pytest.approx((0.96, 0.6))
