"""How often the first cause is right: the embedded example, broken on purpose, and the table beside the script."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.append(str(SCRIPTS))

import simulate_causes as simulation  # noqa: E402 -- not a package
from rankgate.diagnosis.causes import SAYS  # noqa: E402 -- as above
from rankgate.model.answers import Stage  # noqa: E402 -- as above

PAGE = (Path(__file__).parents[2] / "docs" / "diagnosis.md").read_text(encoding="utf-8")
TABLE = (SCRIPTS / "tables" / "causes.md").read_text(encoding="utf-8")
# Each is named at least once in a small part of the table; the others need more questions, or lists of other lengths.
NAMED = {"order", "stale_ids", "mixed_up", "reranker", "no_results", "latency_stage", "dropped"}


def test_there_are_enough_breakages_and_each_has_its_name() -> None:
    names = [breakage.name for breakage in simulation.BREAKAGES]
    assert len(names) == len(set(names)) >= 24


@pytest.mark.full
def test_hardly_any_first_cause_is_wrong() -> None:
    docs, questions = simulation.example_world()
    found = list(simulation.outcomes(docs, questions, [100], 1))
    counts = Counter(outcome.partition(":")[0] for _, _, outcome in found)
    assert counts["wrong"] <= 0.05 * (len(found) - counts["no drop"]), [each for each in found if "wrong" in each[2]]
    right = {breakage.name: breakage.right for breakage in simulation.BREAKAGES}
    assert {cause for name, _, outcome in found if outcome == "right" for cause in right[name]} >= NAMED
    assert {name: outcome for name, _, outcome in found}["nothing changed"] == "no drop"


def test_the_page_says_for_every_cause_what_it_is() -> None:
    facts = {"no_results", "known", "one_tag", "latency_stage", "below_floor", "counts", "rising_scores"}
    rules = {*SAYS, *facts, *(stage.value for stage in Stage)}
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == rules
    for where, _ in SAYS.values():
        assert where in PAGE


def test_less_than_five_percent_of_the_table_are_wrong_and_the_page_says_how_many() -> None:
    wrong, drops = re.search(r"Wrong: (\d+) of (\d+) drops", TABLE).groups()  # type: ignore[union-attr]
    assert int(wrong) < 0.05 * int(drops)
    assert f"{wrong} of {drops} drops" in PAGE
    assert all(f"| {breakage.name} |" in TABLE for breakage in simulation.BREAKAGES)
