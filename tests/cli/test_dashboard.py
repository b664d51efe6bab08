"""`rankgate dashboard` from store to folder: what stands on the pages, and that they hold together."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.renderers.dashboards.memories import CRITERIA, GOLD, made

from rankgate.baselines.directory import directory_store
from rankgate.baselines.stores import remote_memory
from rankgate.cli import main
from rankgate.renderers.dashboards import build

DATE = ("--date", "2026-02-01")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bucket with four runs, of which the second was accepted for a reason."""
    monkeypatch.chdir(tmp_path)
    Path("gold.yaml").write_text(GOLD, encoding="utf-8")
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("STORE", (tmp_path / "store").as_uri()), encoding="utf-8")
    memory = remote_memory((tmp_path / "store").as_uri())
    for day, right in (("2025-12-20", 9), ("2026-01-05", 6), ("2026-01-20", 7), ("2026-01-30", 8)):
        record, data = made(day, right)
        memory.add("history", record, data)
        if right == 6:
            memory.add("accepted", replace(record, reason="smaller index, #12", by="ana"), data)
    return tmp_path


def written(*words: str) -> dict[str, str]:
    assert main(["dashboard", "site", *words, *DATE]) == 0
    return {file.name: file.read_text(encoding="utf-8") for file in Path("site").iterdir()}


def text(page: str) -> str:
    """What a person reads."""
    said: list[str] = []

    class Reader(HTMLParser):
        hidden = 0

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.hidden += tag in ("style", "svg")

        def handle_endtag(self, tag: str) -> None:
            self.hidden -= tag in ("style", "svg")

        def handle_data(self, data: str) -> None:
            if not self.hidden:
                said.append(data)

    Reader().feed(page)
    return " ".join(" ".join(said).split())


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["dashboard", "site", *words, *DATE]) == 2
    assert not Path("site").exists()
    return capsys.readouterr().err


def test_it_says_where_the_pages_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(written()) == [".nojekyll", ".rankgate-dashboard", "index.html", "ship-criteria.html"]
    assert capsys.readouterr().out == "wrote site/index.html: 1 gate set, 4 runs\n"


def test_one_run_is_no_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_RUNS", 1)
    written()
    assert capsys.readouterr().out == "wrote site/index.html: 1 gate set, 1 run\n"


def test_the_first_sentence_says_how_it_stands_and_how_it_was_a_month_ago() -> None:
    pages = written()
    sentence = "The last run, of 2026-01-30, passed. Compared with 30 days ago it is about the same in recall@1."
    for name in ("index.html", "ship-criteria.html"):
        assert sentence in text(pages[name])


def test_the_page_tells_what_was_accepted_and_why_and_the_largest_steps() -> None:
    page = text(written()["ship-criteria.html"])
    assert re.search(r"2026-01-05 \w{7} FAIL smaller index, #12 ana 60\.0%", page)
    assert "Largest step" not in page, "ten questions prove nothing"
    month, accepted = "95%: −43.4 to +25.6 pp; was 90.0%", "95%: −21.1 to +55.3 pp; was 60.0%"
    assert f"80.0% about the same (−10.0 pp) {month} about the same (+20.0 pp) {accepted}" in page


def test_what_the_stored_rankings_prove_is_a_change_and_the_rest_is_folded() -> None:
    Path("gold.yaml").write_text("".join(f"- {{id: q{n}, expected_output: [d{n}]}}\n" for n in range(100)), "utf-8")
    memory = remote_memory((Path.cwd() / "large").as_uri())
    days = [("2025-12-20", 90), ("2025-12-21", 90), ("2026-01-05", 89), ("2026-01-20", 72), ("2026-01-30", 80)]
    for day, right in days:
        memory.add("history", *made(day, right, of=100))
    page = text(written("--baseline", (Path.cwd() / "large").as_uri())["ship-criteria.html"])
    assert "it is worse in recall@1 (−10.0 pp)." in page
    assert re.search(
        r"Largest step for the worse: −17\.0 pp worse 95%: .* was 89\.0% , with the run of 2026-01-20", page
    )
    assert re.search(
        r"Largest step for the better: \+8\.0 pp better 95%: .* was 72\.0% , with the run of 2026-01-30", page
    )
    assert "2 further runs without a change, an event or another verdict" in page
    assert "rankgate compare" in page


def test_a_gold_set_that_cannot_be_read_costs_the_comparisons_alone() -> None:
    Path("gold.yaml").unlink()
    page = text(written()["ship-criteria.html"])
    assert "Runs could not be compared: gold.yaml: " in page
    assert "80.0% not compared (−10.0 pp) was 90.0% not compared (+20.0 pp) was 60.0%" in page


def test_a_second_run_of_the_command_writes_the_same_bytes() -> None:
    first = written("--metrics", "recall@1,ndcg@10")
    assert written("--metrics", "recall@1,ndcg@10") == first


def test_every_link_within_the_site_leads_somewhere() -> None:
    copy = Path("faq.yaml")
    copy.write_text(Path("ship-criteria.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    pages = written("--criteria", "ship-criteria.yaml", "--criteria", "faq.yaml")
    ids = {name: set(re.findall(r'\bid="([^"]+)"', page)) for name, page in pages.items()}
    links = [(name, link) for name, page in pages.items() for link in re.findall(r'href="([^"]+)"', page)]
    inside = [(name, *link.partition("#")[::2]) for name, link in links if "://" not in link]
    assert [found for found in inside if found[2] and found[2] not in ids[found[1] or found[0]]] == []
    assert {file or name for name, file, _ in inside} == {"index.html", "faq.html", "ship-criteria.html"}
    for page in pages.values():
        found = re.findall(r'\bid="([^"]+)"', page)
        assert len(found) == len(set(found))
        assert not re.search(r'(?:src|href)="/', page), "under a sub-path such an address leads elsewhere"


def test_each_run_has_a_row_of_its_own_to_link_to() -> None:
    page = written()["ship-criteria.html"]
    rows = re.findall(r'<tr id="run-([0-9a-f]{12})">', page)
    assert rows == [
        made(day, right)[0].id
        for day, right in (("2026-01-30", 8), ("2026-01-20", 7), ("2026-01-05", 6), ("2025-12-20", 9))
    ]
    assert all(f'<a href="#run-{row}">' in page for row in rows)


@pytest.mark.parametrize(
    ("words", "link"),
    [
        pytest.param((), None, id="no repository: no link"),
        pytest.param(
            ("--repository-url", "https://git.example/acme/search/"), "https://git.example/acme/search", id="named"
        ),
    ],
)
def test_commits_are_linked_to_where_the_repository_is(words: tuple[str, ...], link: str | None) -> None:
    page = written(*words)["ship-criteria.html"]
    sha = made("2026-01-30")[0].commit
    assert re.findall(rf'href="([^"]*)/commit/{sha}"', page) == ([link] if link else [])


def test_further_metrics_are_scored_from_the_stored_rankings_and_the_page_says_so() -> None:
    page = text(written("--metrics", "recall@1,recall@5,ndcg@10")["ship-criteria.html"])
    assert "what was not recorded was rescored from the stored rankings, with today's gold set" in page
    assert re.search(r"2026-01-30 \w{7} PASS 80\.0% 100\.0% 0\.926", page)


def test_where_no_metrics_are_named_recall_and_ndcg_stand_beside_those_of_the_gates() -> None:
    page = written()["ship-criteria.html"]
    assert re.findall(r'<h3 id="metric-\d+">(.*?)</h3>', page) == ["recall@1", "recall@5", "recall@10", "ndcg@10"]


def test_what_cannot_be_scored_is_said() -> None:
    memory = directory_store("baseline").memory
    memory.add("history", *made("2026-01-05", 7))
    memory.add("history", *made("2026-01-20", 8))
    memory.add("accepted", *made("2026-01-20", 8))
    page = text(written("--baseline", "baseline", "--metrics", "recall@5,recall@500")["ship-criteria.html"])
    assert (
        "1 run could not be rescored or compared: this store keeps the rankings of what is accepted now, "
        "and of all others the numbers alone."
    ) in page
    assert "1 value could not be rescored: baseline: the gates read ranks down to 500" in page


def test_only_the_newest_are_listed_and_the_others_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_RUNS", 1)
    page = text(written()["ship-criteria.html"])
    assert "Not listed: 3 older runs of 2025-12-20 to 2026-01-20 (1 FAIL, 2 PASS)." in page


def test_a_store_without_a_run_has_a_page_that_says_what_to_do() -> None:
    Path("baseline").mkdir()
    pages = written("--baseline", "baseline")
    assert "No run has been recorded yet." in text(pages["index.html"])
    assert "Runs appear here once rankgate baseline record" in text(pages["ship-criteria.html"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--metrics", "recal@5"), "error: --metrics: unknown metric 'recal@5'; did you mean 'recall@5'?"),
        (("--metrics", "overlap@5"), "compares with a baseline"),
        (("--baseline", "gold.yaml"), "error: gold.yaml: is a run file, which remembers nothing"),
        (
            ("--repository-url", "javascript:alert(1)"),
            "error: --repository-url 'javascript:alert(1)' is no web address, as https://github.com/acme/search\n",
        ),
        (("--baseline", "a", "--criteria", "b", "--criteria", "c"), "error: --baseline names one store"),
    ],
)
def test_what_cannot_be_is_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    assert said in refused(capsys, *words)


def test_criteria_without_a_store_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ship-criteria.yaml").write_text("gates: [{name: recall@1, threshold: 0.5}]\n", encoding="utf-8")
    said = "error: ship-criteria.yaml: names no baseline store; add inputs.baseline, or name one with --baseline\n"
    assert refused(capsys) == said
