"""The simulation of judges: its parts do what their names say, and its tables are there."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.append(str(SCRIPTS))

import simulate_judges as simulation  # noqa: E402 -- not a package

TABLES = (SCRIPTS / "tables" / "judges.md").read_text(encoding="utf-8")


def test_judges_err_as_often_as_they_should() -> None:
    chance = np.random.default_rng(1)
    answers = simulation.drawn(chance, 4000)
    for judge in (simulation.Judge(0.9, 0.7), simulation.Judge(0.9, 0.7, alike=1.0)):
        said = judge.verdicts(chance, answers)
        assert said[answers.claims].mean() == pytest.approx(0.9, abs=0.02)
        assert said[answers.there & ~answers.claims].mean() == pytest.approx(0.3, abs=0.04)
    assert answers.values(answers.claims).mean() == pytest.approx(simulation.MEAN, abs=0.02)


@pytest.mark.parametrize("drop", [-0.05, 0.0, 0.2])
def test_a_run_written_again_has_the_drop_that_was_asked_for(drop: float) -> None:
    chance = np.random.default_rng(2)
    pair = simulation.two_runs(chance, simulation.Judge(1.0, 1.0), 20_000, 0.6, drop)
    assert pair.true.mean() == pytest.approx(-drop, abs=0.01)
    assert (pair.seen == pair.true).all()
    assert not pair.seen[~pair.rewritten].any()


def test_every_table_is_there_and_no_bar_is_missed() -> None:
    titles = re.findall(r"(?:title = |table\()f?\"(.{20})", (SCRIPTS / "simulate_judges.py").read_text())
    assert len(titles) == 6
    assert all(title.partition("{")[0] in TABLES for title in titles)
    values = [row.split("|")[4] for row in TABLES.splitlines() if re.match(r"\| 0.*\(.*\(.*\(.* / ", row)]
    assert len(values) > 20
    assert min(float(value.split("(")[0]) for value in values) >= 92.5
    [useless] = [row.split("|")[2:-1] for row in TABLES.splitlines() if row.startswith("| 0.5 / 0.5 ")]
    assert all(float(cell) == 0 for cell in useless)
