"""docs/metrics.md: generated from the docstrings, every name in it parses, and its prose says what the metrics are."""

import re
from pathlib import Path

import pytest

from rankgate.cli.metrics import describe
from rankgate.metrics.base import RERANK_GAIN, REWRITE_GAIN, BaseMetric, Cutoff
from rankgate.metrics.matching import By
from rankgate.metrics.names import UnknownMetricError, family_of, parse_metric, parse_metrics
from rankgate.metrics.plugins import words
from rankgate.metrics.registry import PRESETS, families, find
from rankgate.model.values import RunField

FAMILIES = tuple(families())

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "metrics.md"
TEXT = PAGE.read_text(encoding="utf-8")
NAMING = ("criteria", "decisions/0003-metric-semantics", "formats", "metrics", "statistics", "worked-example")
PAGES = [f"docs/{name}.md" for name in NAMING]

# Code spans of these pages that look like a metric and are another tool's name for one, or no metric at all.
THEIRS = {"hits@5", "SetF(beta=2.0)"}


def spans(text: str) -> list[str]:
    without_blocks = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", without_blocks)


def looks_like_a_metric(span: str) -> bool:
    """A word with a cut-off, or a metric's word, alone or with parentheses."""
    if re.fullmatch(r"[A-Za-z][\w-]*(\(.*\))?(@|_at_|-at-)\w+(,\w+)*", span):
        return True
    stem = re.match(r"(?:retrieval[_-])?([A-Za-z][\w-]*)(\(.*\))?$", span)
    known = {*words(), RERANK_GAIN, REWRITE_GAIN}
    return stem is not None and stem[1].lower().replace("-", "_") in known


@pytest.mark.parametrize("page", PAGES)
def test_every_metric_that_a_page_names_parses(page: str) -> None:
    named = [span for span in spans((ROOT / page).read_text(encoding="utf-8")) if looks_like_a_metric(span)]
    assert named
    wrong: list[str] = []
    for span in dict.fromkeys(named):
        family = find(span)
        if span in THEIRS or (family and family[0].alone):  # the word alone, as `score` is
            continue
        try:
            parse_metrics(span)
        except UnknownMetricError as error:
            wrong.append(str(error))
    assert wrong == []


def test_what_is_excepted_stands_in_the_page_and_is_no_metric() -> None:
    for span in THEIRS:
        assert f"`{span}`" in TEXT
        with pytest.raises(UnknownMetricError):
            parse_metric(span)


def test_every_family_has_a_section_in_display_order() -> None:
    assert re.findall(r"^### (\w+)$", TEXT, re.MULTILINE) == [family.key for family in FAMILIES]


@pytest.mark.parametrize("family", FAMILIES, ids=[family.key for family in FAMILIES])
def test_a_section_has_every_fact(family: type[BaseMetric]) -> None:
    section = re.split(r"^(?:### |<!-- end)", TEXT.partition(f"\n### {family.key}\n")[2], flags=re.MULTILINE)[0]
    assert f"- Formula: `{family.formula}`" in section
    for alias in family.aliases:
        assert f"`{alias}`" in section
    for word, (of, _, _) in PRESETS.items():
        assert bool(re.search(rf"`{word}(@k)?`(, `[^`]+`)* for `", section)) == (of == family.key)
    [needs] = [row for row in TEXT.splitlines() if row.startswith("|") and f"(#{family.key})" in row]
    for key in family.gold_keys:
        assert f"`{key}`" in needs
    said_of_all = "Undefined without relevant documents." in " ".join(describe(family)["description"].split())
    assert ("undefined" in section.lower()) is not said_of_all
    without_example = RunField.VERDICTS in family.reads or family.key == "false_evidence_rate"
    assert ("; example " in section) is not without_example
    for field in family.__struct_fields__:
        if field not in ("cutoff", "rel", "quantile"):
            own, as_another = rf"^- `{field}(=[^`]+)?`: .+", rf"^- Also takes .*\[`{field}`\]\(#\w+\)"
            assert re.search(f"{own}|{as_another}", section, re.MULTILINE), f"{field} is not explained"


def sentence(pattern: str) -> set[str]:
    """The metrics that a sentence of the prose names, by family."""
    found = re.search(pattern, " ".join(TEXT.split()))
    assert found is not None, pattern
    return {family_of(name).key for name in re.findall(r"`([^`]+)`", found[1])}


def test_the_prose_names_the_metrics_of_the_whole_list() -> None:
    whole = {family.key for family in FAMILIES if family.default_cutoff is Cutoff.WHOLE}
    assert sentence(r"Without a cut-off, (.*?) take the whole list") == whole


def test_the_prose_names_the_metrics_that_use_gains_as_they_are() -> None:
    graded = {family.key for family in FAMILIES if family.ranking and "rel" not in family.__struct_fields__}
    assert sentence(r"Of the metrics of the ranking, only (.*?) do without it") == graded


@pytest.mark.full
def test_the_prose_names_the_metrics_that_an_absent_query_leaves_undefined() -> None:
    assert sentence(r"without an answer \((.*?) and the gains\)") == {
        family.key for family in FAMILIES if describe(family)["absent"] is None
    }


def test_the_prose_names_the_metrics_that_judge_labels_bound() -> None:
    assert sentence(r"can only raise (.*?), so that") == {family.key for family in FAMILIES if family.judge_bounds}


def test_the_prose_explains_every_way_of_matching() -> None:
    assert re.findall(r"^- \*\*`(\w+)`\*\*", TEXT, re.MULTILINE) == [by.value for by in By]


@pytest.mark.parametrize(
    "spellings",
    re.findall(r"`recall@5`, `Recall@5`, .*?`retrieval-recall-at-5`", " ".join(TEXT.split())),
)
def test_the_spellings_are_one_metric(spellings: str) -> None:
    assert {parse_metric(name).name for name in spans(spellings)} == {"recall@5"}


def test_the_names_of_other_tools_are_the_metrics_that_the_table_says() -> None:
    """Every name in the second column is written so or is an error; `none`, and what the text before excepts, apart."""
    table = TEXT.partition("| tool | its name | rankgate | difference |")[2]
    excepted = {"-l 2", "hit_rate", "ndcg_any@5", "precision", "recall", "ap", "ndcg"}
    excepted |= {"SetF(beta=2.0)", "-J", "rbp", "rbp_resid"}
    seen = 0
    for row in table.partition("\n\n")[0].splitlines()[2:]:
        tool, theirs, ours, _ = (cell.strip() for cell in row.strip("|").split("|"))
        for name, canonical in zip(spans(theirs), spans(ours), strict=False):
            if ours == "none" or name in excepted:
                continue
            assert parse_metric(name).name == parse_metric(canonical).name, (tool, name)
            seen += 1
    assert seen == 19
