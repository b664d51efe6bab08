"""What if: the page's verdicts under other criteria are those of a check with these criteria, row by row."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page, expect, sync_playwright
from tests.scenario_calls import make_page

from rankgate.check import check
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.paths import InputFile
from rankgate.gates.what_if import MAX_CARRIED
from rankgate.model.details import ReportDetails
from rankgate.model.report import Report
from rankgate.readers.yaml_text import dump_yaml, load_yaml
from rankgate.renderers.pages.report import render_report
from rankgate.renderers.pages.shell import FOLDER

WORLDS, SETTINGS = 50, 4  # so many gold sets with criteria, and so many changes of each
METRICS = ("recall@5", "recall@3", "ndcg@10", "ndcg@5", "mrr", "precision@5", "latency_p90", "latency", "hit@5")
EVIDENCE = ("estimate", "proven_harm", "proven_safe")


@pytest.fixture(scope="module")
def judge(browser: str) -> Iterator[Page]:
    """A page with the script of `report.html`, whose sliders call the same function."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page()
        page.set_content("<p>what if</p>")
        page.add_script_tag(content=(FOLDER / "whatif.js").read_text(encoding="utf-8"))
        yield page
        chromium.close()


def limit(chance: random.Random, metric: str, kind: str) -> float:
    if metric.startswith("latency"):
        return (
            chance.choice([55.0, 80.0, 100.0, 120.0]) if kind == "threshold" else chance.choice([0.0, 2.0, 8.0, 30.0])
        )
    if kind == "threshold":
        return round(chance.choice([0.3, 0.5, 0.6, 0.7]) + chance.uniform(-0.1, 0.1), 3)
    return chance.choice([0.0, 0.01, 0.02, 0.05, 0.1, 0.2])


def write_inputs(chance: random.Random, folder: Path) -> int:
    """A gold set and two runs: few or many questions, with weights, clusters, judged misses, gaps, or nothing new."""
    count = chance.choice([6, 25, 60, 160, 300])
    clusters, weights, pooled = chance.random() < 0.3, chance.random() < 0.3, chance.random() < 0.3
    loss, gap, silent = chance.choice([0.0, 0.05, 0.15]), chance.choice([0, 0, 0.03]), chance.choice([0, 0, 0, 0.02])
    gold, now, before = [], [], []
    for number in range(count):
        query, relevant = (
            f"q{number}",
            [f"d{number}-{each}" for each in range(chance.choice([0, 1, 1, 1, 2, 3, 7]) or number < 4)],
        )
        tags = [f"lang:{('en', 'pt', 'pt', 'de')[number % 4]}", f"topic:{chance.choice('ab')}", "all"]
        metadata: dict[str, Any] = {"tags": tags}
        metadata |= {"cluster": f"c{number // chance.choice([3, 8])}"} if clusters else {}
        metadata |= {"weight": chance.choice([1, 2, 30])} if weights else {}
        judged = dict.fromkeys(relevant, 1) | ({f"x{number}-0": 0, f"x{number}-1": 0} if pooled else {})
        gold.append({"id": query, "expected_output": judged, "metadata": metadata})
        ids = [f"x{number}-{each}" for each in range(12)]
        for each in relevant:
            if chance.random() < 0.8:
                ids.insert(min(11, int(chance.expovariate(0.4))), each)
        latency = chance.lognormvariate(4, 0.5)
        before.append({"query_id": query, "retrieved": ids, "latency_ms": latency})
        if chance.random() < loss:
            ids = chance.choice([[each for each in ids if each not in relevant], ids[::-1], ids[1:]])
        shown: dict[str, Any] = {"query_id": query}
        shown["retrieved"] = ids if chance.random() > loss / 4 else [*ids[:9], f"y{number}"]
        shown |= {} if chance.random() < silent else {"latency_ms": latency * chance.choice([1, 1, 1.02, 1.6])}
        now += [] if chance.random() < gap else [shown]
    if chance.random() < 0.3:
        before = before[: -(-count * 9 // 10)]
    for name, lines in (("gold", gold), ("now", now), ("before", before)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return count


def criteria(chance: random.Random, count: int, *, weighted: bool) -> dict[str, Any]:
    gates: list[dict[str, Any]] = []
    for name in chance.sample(METRICS, chance.randint(1, 4)):
        gate: dict[str, Any] = {"name": f"gate {name}", "metric": name, "evidence": chance.choice(EVIDENCE)}
        kinds = chance.choice([["threshold"], ["regression_max"], ["threshold", "regression_max"]])
        gate |= {kind: limit(chance, name, kind) for kind in kinds}
        gate |= {"severity": chance.choice(["error", "warning"]), "confidence": chance.choice([0.8, 0.95, 0.95, 0.99])}
        if weighted and name != "latency_p90" and chance.random() < 0.6:
            gate["weight"] = "traffic"
        if name != "latency_p90" and chance.random() < 0.2:
            gate["noise"] = 0.004
        if not name.startswith("latency") and chance.random() < 0.2:
            gate["max_lost_queries"] = chance.choice([0, 2, 9])
        if chance.random() < 0.7:
            gate["segments"] = [rule(chance, name, min(30, count)) for _ in range(chance.choice([1, 1, 2]))]
        gates.append(gate)
    return {"gates": gates}


def rule(chance: random.Random, metric: str, most: int) -> dict[str, Any]:
    kinds = chance.choice([["regression_max"], ["regression_max"], ["threshold"], ["threshold", "regression_max"]])
    made: dict[str, Any] = {"by": [["lang"], ["topic"], ["lang", "topic"]][chance.randrange(3)]}
    made |= {kind: limit(chance, metric, kind) for kind in kinds}
    made |= {"min_queries": chance.choice([1, 5, most])} | ({"severity": "warning"} if chance.random() < 0.3 else {})
    if made["by"] == ["lang"] and chance.random() < 0.5:
        made["only"] = {"pt": {chance.choice(kinds): limit(chance, metric, kinds[0])}}
        made["only"] = {"pt": {key: limit(chance, metric, key) for key in made["only"]["pt"]}}
    return made


def changed(
    chance: random.Random, before: dict[str, Any], offered: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Other criteria, and the settings of the page that say the same."""
    after, settings = json.loads(json.dumps(before)), dict[str, Any]()
    for index, gate in enumerate(after["gates"]):
        shown = offered["gates"][index]
        for key in ("threshold", "regression_max"):
            if chance.random() < (0.5 if key in gate else 0.15):
                gate[key] = settings[f"{index}.{key}"] = limit(chance, gate["metric"], key)
        if chance.random() < 0.5:
            gate["evidence"] = settings[f"{index}.evidence"] = chance.choice(EVIDENCE)
        for place, its in enumerate(gate.get("segments", ())):
            for key in ("threshold", "regression_max"):
                if key in its and chance.random() < 0.3:
                    its[key] = settings[f"{index}.{place}.{key}"] = limit(chance, gate["metric"], key)
        if shown["cutoffs"] and chance.random() < 0.4:
            gate["metric"] = settings[f"{index}.metric"] = chance.choice(list(shown["cutoffs"]))
    return after, settings


def checked(folder: Path, written: dict[str, Any], *, compared: bool, details: int | None = None) -> Report:
    (folder / "ship-criteria.yaml").write_text(dump_yaml(written), encoding="utf-8")
    files = {name: InputFile(str(folder / f"{name}.jsonl")) for name in ("gold", "now", "before")}
    baseline = files["before"] if compared else None
    inputs = Inputs(
        date="2026-01-31", criteria=str(folder / "ship-criteria.yaml"), gold=files["gold"], run=files["now"]
    )
    return check(msgspec.structs.replace(inputs, baseline=baseline, details=details, texts=bool(details)))


def shown(report: Report) -> Any:
    """What the page gives its script."""
    assert isinstance(report.details, ReportDetails)
    values = {key: getattr(report, key) for key in ("gates", "waivers", "failures", "warnings")}
    return json.loads(msgspec.json.encode({"what_if": report.details.what_if, **values}))


def test_the_page_and_a_check_agree_on_every_row_of_two_hundred_criteria(judge: Page, tmp_path: Path) -> None:
    """Of the rows that the change concerns, the page leaves less than a quarter as they were judged."""
    chance, counted, wrong = random.Random(20260131), Counter[str](), list[str]()  # noqa: S311 -- no secret
    for world in range(WORLDS):
        count = write_inputs(chance, tmp_path)
        weighted = "weight" in (tmp_path / "gold.jsonl").read_text()
        compared, own = chance.random() < 0.85, criteria(chance, count, weighted=weighted)
        data = shown(checked(tmp_path, own, compared=compared, details=5))
        others = [changed(chance, own, data["what_if"]) for _ in range(SETTINGS)]
        batch = [settings for _, settings in others]
        found = judge.evaluate("([data, batch]) => batch.map((each) => whatIf(data, each))", [data, batch])
        for (after, settings), what_if in zip(others, found, strict=True):
            counted["criteria"] += 1
            report = checked(tmp_path, after, compared=compared)
            for result, row in zip(report.gates, what_if["rows"], strict=True):
                index = [gate["name"] for gate in after["gates"]].index(result.name)
                concerned = any(key.startswith(f"{index}.") for key in settings)
                counted["concerned"] += concerned
                counted["fixed"] += row["fixed"] is not None
                counted[row["fixed"] or row["verdict"]] += concerned
                if row["fixed"] is None and row["verdict"] != result.verdict.value:
                    wrong.append(f"{world} {settings} {after['gates'][index]} {result.segment}: {result} / {row}")
            if all(row["fixed"] is None for row in what_if["rows"]) and what_if["verdict"] != report.verdict.value:
                wrong.append(f"{world}: {report.verdict} {report.warnings} / {what_if['verdict']}")
    assert wrong == []
    assert counted["criteria"] == 200
    assert counted["fixed"] < 0.25 * counted["concerned"], counted
    assert min(counted[verdict] for verdict in ("pass", "warn", "fail")) > 50, counted


def test_of_a_segment_those_are_named_that_the_rule_of_its_gate_asks_for(tmp_path: Path) -> None:
    """By the estimate: with them as they were the segment holds, with all but one of them it does not."""

    def write(name: str, lost: int) -> None:
        lines = ({"query_id": f"q{n}", "retrieved": ["x" if n < lost and n % 2 == 0 else f"d{n}"]} for n in range(60))
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    gold = (
        {"id": f"q{n}", "expected_output": {f"d{n}": 1}, "metadata": {"tags": [f"lang:{'ab'[n % 2]}"]}}
        for n in range(60)
    )
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(line) + "\n" for line in gold))
    rule = {"by": ["lang"], "regression_max": 0.1, "min_queries": 2}
    own = {"gates": [{"name": "g", "metric": "recall@5", "regression_max": 0.9, "segments": [rule]}]}
    write("before", 0)
    write("now", 20)  # 10 of the 30 questions of a, of which 3 may
    (carried,) = shown(checked(tmp_path, own, compared=True, details=5))["what_if"]["carried"]
    assert (carried["segment"], len(carried["queries"]), carried["tried"], carried["fewest"]) == ("lang:a", 7, 10, True)
    for left, verdict in ((6, "pass"), (8, "fail")):
        write("now", left)
        (row,) = [each for each in checked(tmp_path, own, compared=True).gates if each.segment == "lang:a"]
        assert row.verdict.value == verdict


def test_what_is_not_computed_is_counted_and_a_name_leads_to_its_question(judge: Page, tmp_path: Path) -> None:
    names = [chr(0x202E) + "L" * 400 + f"/{n}" for n in range(MAX_CARRIED + 5)]  # all lost, each a segment of its own
    gold = ({"id": q, "expected_output": {"d": 1}, "metadata": {"tags": [f"n:{n}"]}} for n, q in enumerate(names))
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(line) + "\n" for line in gold))
    for file, found in (("now", "x"), ("before", "d")):
        lines = (json.dumps({"query_id": query, "retrieved": [found]}) + "\n" for query in names)
        (tmp_path / f"{file}.jsonl").write_text("".join(lines))
    rule = {"by": ["n"], "regression_max": 0.1, "min_queries": 1}
    own = {"gates": [{"name": "g", "metric": "recall@5", "regression_max": 0.9, "segments": [rule]}]}
    (tmp_path / "report.html").write_text(render_report(checked(tmp_path, own, compared=True, details=5)))
    assert judge.context.browser
    page = judge.context.browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    items = page.locator(".carried li")
    assert items.last.inner_text() == "The same was not computed for 6 more gates and segments that violate a limit."
    items.nth(1).get_by_role("link").click()
    assert page.locator("#misses > .target details").evaluate("(each) => each.open")
    page.close()


@pytest.fixture
def opened(judge: Page, tmp_path: Path) -> Iterator[tuple[Page, list[str]]]:
    """The page of a check that fails for its drop, and what it said and requested."""
    assert judge.context.browser
    page, said = judge.context.browser.new_page(), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url))
    page.goto(f"{make_page('fail', tmp_path).as_uri()}#q=q7")
    yield page, said[1:]
    page.close()


def test_sliders_work_by_keyboard_are_kept_in_the_address_and_can_be_reset(opened: tuple[Page, list[str]]) -> None:
    page, said = opened
    status, lines = page.locator("#whatif-verdict"), page.locator("#whatif-yaml")
    expect(status).to_have_text("As judged: ✕ fail. What if: ✕ fail. No row changes.")
    expect(page.locator(".rows li").first).to_have_text("all questions: ✕ fail (value 78.6%, change −21.4 pp)")
    drop = page.get_by_role("slider", name="Allowed drop").first
    drop.focus()
    page.keyboard.press("End")
    expect(status).to_have_text("As judged: ✕ fail. What if: ! warn. Rows that change: 1.")
    expect(lines).to_have_text('gates:\n  - name: "retrieval_recall_at_5"\n    regression_max: 1')
    assert page.url.endswith("#q=q7&whatif=0.regression_max~1")

    page.reload()
    expect(status).to_have_text("As judged: ✕ fail. What if: ! warn. Rows that change: 1.")
    page.get_by_role("button", name="Reset to what was judged").click()
    expect(status).to_have_text("As judged: ✕ fail. What if: ✕ fail. No row changes.")
    assert page.url.endswith("#q=q7")
    assert said == []


def test_what_is_set_stays_in_the_address_whatever_questions_are_looked_at(opened: tuple[Page, list[str]]) -> None:
    page, said = opened
    page.get_by_role("slider", name="Allowed drop").first.press("End")
    page.locator("#filters select[name=sort]").select_option("id")
    assert page.url.endswith("#sort=id&whatif=0.regression_max~1")
    page.get_by_role("spinbutton", name="Allowed drop").first.fill("0.5")
    page.locator("#filters select[name=sort]").select_option("value")
    assert page.url.endswith("#sort=value&whatif=0.regression_max~0.5")
    page.reload()
    expect(page.locator("#whatif-yaml")).to_contain_text("regression_max: 0.5")
    page.get_by_role("button", name="Clear").click()
    assert page.url.endswith("#whatif=0.regression_max~0.5")
    page.go_back()
    assert page.locator("#filters select[name=sort]").input_value() == "value"
    assert said == []


def test_a_limit_that_a_gate_lacks_is_none_and_its_slider_stands_where_nothing_is_limited(
    judge: Page, tmp_path: Path
) -> None:
    assert judge.context.browser
    page = judge.context.browser.new_page()
    page.goto(make_page("lower_is_better", tmp_path).as_uri())
    card = page.locator("[data-gate]").filter(has_text="stage=rerank")
    slider, number = (card.get_by_role(role, name="Ceiling of the value") for role in ("slider", "spinbutton"))
    assert (number.input_value(), number.get_attribute("placeholder")) == ("", "none")
    assert float(slider.input_value()) == float(slider.get_attribute("max") or 0)
    page.close()


def test_the_lines_replace_those_of_the_criteria_whatever_names_and_rules_they_have(
    judge: Page, tmp_path: Path
) -> None:
    """Two rules by the same tag, one with limits of its own for a value; a name with what YAML and a reader mistake."""
    chance = random.Random(1)  # noqa: S311 -- no secret
    write_inputs(chance, tmp_path)
    rules: list[dict[str, Any]] = [
        {"by": ["lang"], "regression_max": 0.1, "min_queries": 2, "only": {"pt": {"regression_max": 0.2}}},
        {"by": ["lang"], "threshold": 0.1, "regression_max": 0.3, "min_queries": 2, "severity": "warning"},
    ]
    named = "- recall: 'é' 🚀 #1\u00a0\U000e0041"
    own: dict[str, Any] = {"gates": [{"name": named, "metric": "recall@5", "regression_max": 0.5, "segments": rules}]}
    report = checked(tmp_path, own, compared=True, details=5)
    file = tmp_path / "report.html"
    file.write_text(render_report(report), encoding="utf-8")
    assert judge.context.browser
    page = judge.context.browser.new_page()
    page.goto(f"{file.as_uri()}#whatif=0.metric~recall%4010~0.1.threshold~0.9~0.1.regression_max~0.4")
    (lines,) = load_yaml(page.locator("#whatif-yaml").inner_text(), "lines").value["gates"]
    page.close()
    changed_rule = rules[1] | {"threshold": 0.9, "regression_max": 0.4}
    assert lines == {"name": named, "metric": "recall@10", "segments": [rules[0], changed_rule]}


def test_an_address_that_nobody_wrote_here_changes_nothing(opened: tuple[Page, list[str]]) -> None:
    page, said = opened
    for hostile in ("0.threshold~9~0.evidence~x~7.k~1", "~~~%E0%A4%A", "0.threshold~<b>", "__proto__~1~constructor~2"):
        page.evaluate("(text) => { location.hash = `whatif=${text}` }", hostile)
        expect(page.locator("#whatif-yaml")).to_have_text("# as judged")
    assert said == []


def test_paper_shows_what_would_have_to_change_and_no_controls(opened: tuple[Page, list[str]]) -> None:
    page, _ = opened
    page.emulate_media(media="print")
    expect(page.locator(".carried")).to_be_visible()
    expect(page.locator("#whatif-form")).to_be_hidden()


def test_without_scripts_the_section_says_so(judge: Page, tmp_path: Path) -> None:
    assert judge.context.browser
    context = judge.context.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(make_page("fail", tmp_path).as_uri())
    expect(page.locator("#whatif-off")).to_be_visible()
    expect(page.locator("#whatif-form")).to_be_hidden()
    context.close()


def test_axe_core_finds_nothing_of_any_level_in_the_section(judge: Page, tmp_path: Path, node_modules: Path) -> None:
    assert judge.context.browser
    for width, scheme in ((390, "light"), (1440, "dark")):
        context = judge.context.browser.new_context(bypass_csp=True, viewport={"width": width, "height": 900})
        page = context.new_page()
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.goto(make_page("segments", tmp_path / scheme).as_uri())
        page.add_script_tag(path=node_modules / "axe-core" / "axe.min.js")
        found = page.evaluate("axe.run('.whatif', {resultTypes: ['violations']})")
        assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == [], (width, scheme)
        context.close()
