"""The embedded example is what the demo and the documentation say it is, and its runs come out of its own data."""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.json_lines import read_lines

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "src" / "rankgate" / "cli" / "example"
SCRIPT = ROOT / "scripts" / "make_example.py"
LANGUAGES = ("en", "pt-BR", "es-AR")
RUNS = ("accepted", "harmless", "harmful", "generator")


def tags_of(sample: Mapping[str, Any]) -> dict[str, str]:
    return dict(tag.split(":", 1) for tag in sample["metadata"]["tags"])


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
ARTICLES = read_lines(EXAMPLE / "articles.jsonl")
ARTICLE_BY_ID = {article["id"]: article for article in ARTICLES}
GOLD = yaml.load((EXAMPLE / "gold.yaml").read_text(encoding="utf-8"), LOADER)  # noqa: S506 -- either is safe
SAMPLES: list[dict[str, Any]] = GOLD["samples"]
ANSWERED = [sample for sample in SAMPLES if sample["expected_output"]]


def test_articles_are_spread_evenly_over_three_languages() -> None:
    counts = Counter(article["lang"] for article in ARTICLES)
    assert set(counts) == set(LANGUAGES)
    assert len(set(counts.values())) == 1
    assert len(ARTICLES) >= 60


def test_every_language_covers_the_same_six_to_eight_topics() -> None:
    topics = {lang: {article["topic"] for article in ARTICLES if article["lang"] == lang} for lang in LANGUAGES}
    assert topics["en"] == topics["pt-BR"] == topics["es-AR"]
    assert 6 <= len(topics["en"]) <= 8


def test_an_article_is_short_and_its_id_starts_with_its_language() -> None:
    for article in ARTICLES:
        assert list(article) == ["id", "lang", "topic", "title", "text"]
        assert 40 <= len(article["text"].split()) <= 90, article["id"]
        assert article["id"].startswith(f"{article['lang']}/")


@pytest.mark.parametrize("field", ["id", "title", "text"])
def test_no_two_articles_share(field: str) -> None:
    repeated = [value for value, count in Counter(article[field] for article in ARTICLES).items() if count > 1]
    assert repeated == []


def test_questions_are_spread_evenly_over_the_languages() -> None:
    counts = Counter(tags_of(sample)["lang"] for sample in SAMPLES)
    assert set(counts) == set(LANGUAGES)
    assert len(set(counts.values())) == 1
    assert len(SAMPLES) >= 160


def test_no_two_questions_share_an_id_or_their_words() -> None:
    assert len({sample["id"] for sample in SAMPLES}) == len(SAMPLES)
    assert len({sample["input"]["question"] for sample in SAMPLES}) == len(SAMPLES)


def test_every_question_has_a_language_and_a_topic_of_the_articles() -> None:
    topics = {article["topic"] for article in ARTICLES}
    for sample in SAMPLES:
        assert list(tags_of(sample)) == ["lang", "topic"], sample["id"]
        assert tags_of(sample)["topic"] in topics, sample["id"]


def test_expected_articles_exist_in_the_language_of_the_question() -> None:
    for sample in ANSWERED:
        for article_id in sample["expected_output"]:
            assert ARTICLE_BY_ID[article_id]["lang"] == tags_of(sample)["lang"], sample["id"]


def test_every_article_answers_some_question() -> None:
    assert {article_id for sample in ANSWERED for article_id in sample["expected_output"]} == set(ARTICLE_BY_ID)


def test_some_questions_have_several_articles_and_some_of_these_are_graded() -> None:
    several = [sample for sample in ANSWERED if len(sample["expected_output"]) > 1]
    graded = [sample for sample in several if isinstance(sample["expected_output"], dict)]
    assert len(several) >= 25
    assert len(graded) >= 15
    assert all(set(sample["expected_output"].values()) == {1, 2} for sample in graded)


def test_no_answer_is_said_exactly_where_nothing_is_expected() -> None:
    unanswered = [sample for sample in SAMPLES if not sample["expected_output"]]
    assert len(unanswered) >= 9
    assert [sample for sample in SAMPLES if sample["metadata"].get("no_answer")] == unanswered


def test_the_gold_file_has_no_anchors_or_aliases() -> None:
    tokens = yaml.scan((EXAMPLE / "gold.yaml").read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    assert [token for token in tokens if isinstance(token, yaml.AnchorToken | yaml.AliasToken)] == []


@pytest.mark.parametrize("name", RUNS)
def test_a_run_answers_every_question_in_order_with_ranked_positive_scores(name: str) -> None:
    lines = read_lines(EXAMPLE / "runs" / f"{name}.jsonl")
    assert [line["query_id"] for line in lines] == [sample["id"] for sample in SAMPLES]
    for line in lines:
        order = [(-item["score"], item["chunk_id"]) for item in line["topk"]]
        assert order == sorted(order), line["query_id"]
        assert [item["rank"] for item in line["topk"]] == list(range(1, len(order) + 1))
        assert len(order) <= line["k_raw"]
        assert all(item["score"] > 0 for item in line["topk"])
        assert all(item["text"] == ARTICLE_BY_ID[item["chunk_id"]]["title"] for item in line["topk"][:3])


def test_questions_with_an_answer_have_claims_and_no_others() -> None:
    assert [sample for sample in SAMPLES if sample["metadata"].get("claims")] == ANSWERED


@pytest.mark.parametrize("name", RUNS)
def test_every_line_has_an_answer_and_its_prompt_held_the_first_three_articles(name: str) -> None:
    for line in read_lines(EXAMPLE / "runs" / f"{name}.jsonl"):
        assert line["answer"], line["query_id"]
        assert line["context"] == [item["chunk_id"] for item in line["topk"][:3]]


def test_the_worse_generator_has_the_rankings_of_the_accepted_run() -> None:
    assert ranked_ids("generator", "all") == ranked_ids("accepted", "all")


def test_every_recorded_quote_stands_in_an_article_and_no_reply_is_recorded_twice() -> None:
    replies = read_lines(EXAMPLE / "replay.jsonl")
    assert len({reply["content"] for reply in replies}) == len(replies)
    texts = [article["text"] for article in ARTICLES]
    for entry in (entry for reply in replies for entry in reply["reply"].get("entries", ())):
        assert (entry["verdict"] == "absent") == (entry["quote"] == "")
        assert any(entry["quote"] in text for text in texts)


def ranked_ids(name: str, lang: str) -> dict[str, list[str]]:
    lines = {line["query_id"]: line for line in read_lines(EXAMPLE / "runs" / f"{name}.jsonl")}
    chosen = [sample["id"] for sample in SAMPLES if lang in {"all", tags_of(sample)["lang"]}]
    return {query: [item["chunk_id"] for item in lines[query]["topk"]] for query in chosen}


def recall_at_5(name: str, lang: str = "all") -> float:
    ranked = ranked_ids(name, lang)
    relevant = {sample["id"]: set(sample["expected_output"]) for sample in ANSWERED if sample["id"] in ranked}
    return sum(len(ids & set(ranked[query][:5])) / len(ids) for query, ids in relevant.items()) / len(relevant)


def test_the_accepted_search_is_good_and_not_perfect() -> None:
    assert 0.88 < recall_at_5("accepted") < 0.95


def test_the_harmless_change_moves_rankings_and_no_language_by_more_than_a_point() -> None:
    assert ranked_ids("harmless", "all") != ranked_ids("accepted", "all")
    for lang in ("all", *LANGUAGES):
        assert recall_at_5("harmless", lang) == pytest.approx(recall_at_5("accepted", lang), abs=0.01)


def test_the_harmful_change_hurts_brazil_alone() -> None:
    assert recall_at_5("accepted") - recall_at_5("harmful") > 0.05
    assert recall_at_5("accepted", "pt-BR") - recall_at_5("harmful", "pt-BR") > 0.15
    for lang in ("en", "es-AR"):
        assert ranked_ids("harmful", lang) == ranked_ids("accepted", lang)


def make_example(*arguments: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("bm25s")
    pytest.importorskip("snowballstemmer")
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, check=False, text=True, encoding="utf-8"
    )


@pytest.mark.full
def test_the_committed_runs_are_what_the_script_writes() -> None:
    result = make_example("--check")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.full
def test_a_run_that_no_longer_fits_is_named_with_its_line(tmp_path: Path) -> None:
    directory = tmp_path / "example"
    shutil.copytree(EXAMPLE, directory)
    run = directory / "runs" / "harmless.jsonl"
    lines = run.read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].replace('"rank":1,', '"rank":2,', 1)
    run.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")

    result = make_example("--check", "--directory", str(directory))

    assert result.returncode == 1
    assert result.stderr == (
        f"error: {run}:2 is not what the articles, the gold set and the answers give; "
        "run `python scripts/make_example.py` and commit the result\n"
    )
