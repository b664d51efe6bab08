"""A pooled gold set knows only what was shown to its judges: what nobody has judged is neither right nor wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.json_lines import write_lines
from tests.repositories import commit, git

from rankgate.cli import main

N = 100
DATE = ["--date", "2026-01-31"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pooled(*, wrong: bool = True, tags: bool = False) -> None:
    """For each query two relevant documents, one of which the old system finds, and others, judged wrong."""
    write_lines(
        "gold.jsonl",
        [
            {
                "id": f"q{n}",
                "expected_output": {f"q{n}-right": 1, f"q{n}-other": 1}
                | ({f"q{n}-wrong{each}": 0 for each in range(4)} if wrong else {}),
                "metadata": {"tags": ["lang:pt" if n < N / 2 else "lang:en"]} if tags else {},
            }
            for n in range(N)
        ],
    )
    write_lines("old.jsonl", [line(n, ["right", "wrong0", "wrong1", "wrong2", "wrong3"]) for n in range(N)])


def line(number: int, docs: list[str]) -> dict[str, Any]:
    """Documents of the query itself, or `far…`: right ones of other queries, which nobody judged for this one."""
    others = {f"far{n}": f"q{(number + 1 + n) % N}-right" for n in range(5)}
    return {"query_id": f"q{number}", "topk": [others.get(doc, f"q{number}-{doc}") for doc in docs]}


def candidate(docs: list[str], *, share: float = 1.0) -> None:
    old = ["right", "wrong0", "wrong1", "wrong2", "wrong3"]
    write_lines("new.jsonl", [line(n, docs if n < share * N else old) for n in range(N)])


def check(metric: str = "ndcg@5", **more: Any) -> tuple[int, dict[str, Any]]:
    gate = {"name": metric, "regression_max": 0.05, "evidence": "proven_harm"} | more
    criteria = {
        "gates": [{key: value for key, value in gate.items() if value is not None}],
        "inputs": {"gold": "gold.jsonl", "run": "new.jsonl", "baseline": "old.jsonl"},
    }
    Path("ship-criteria.yaml").write_text(json.dumps(criteria), encoding="utf-8")
    code = main(["check", "--all", "-o", "report.json", "-o", "comment.md", *DATE])
    report: dict[str, Any] = json.loads(Path("report.json").read_text(encoding="utf-8"))
    return code, report


# Right, found, and never shown to a judge.
BETTER = ["new1", "right", "new2", "wrong0", "wrong1"]


def test_a_better_system_whose_documents_nobody_judged_is_not_proven_harmful(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pooled()
    candidate(BETTER)
    code, report = check()
    [gate] = report["gates"]
    assert (code, gate["verdict"], gate["evidence_state"]) == (0, "warn", "inconclusive")
    assert (gate["violation"], gate["only_inconclusive"]) == (None, True)
    assert gate["delta_ci"][1] < -0.05  # the judged documents alone would prove harm
    assert gate["unjudged"] == {
        "judged": pytest.approx(0.6),
        "judged_before": 1.0,
        "condensed": pytest.approx(0.0),
        "relevant": pytest.approx(0.4, abs=0.2),
    }
    assert gate["unjudged"]["relevant"] > 0
    said = "ndcg@5 rests on judgments of 60% of the first results, 100% of the baseline's: the change is −0.226 if the"
    assert gate["reasons"][0]["text"].startswith(said)
    assert gate["reasons"][0]["text"].endswith("rankgate gold pool lists what to label")
    for text in (capsys.readouterr().out, Path("comment.md").read_text(encoding="utf-8")):
        assert said in text  # as a note, in terminal and comment


def test_documents_that_chunks_state_have_the_same_ends_as_documents_by_id() -> None:
    pooled()
    candidate(["new1", "wrong0", "right", "new2", "wrong1"])
    by_id = check()[1]["gates"][0]["unjudged"]
    assert by_id["condensed"] < 0
    for name in ("old.jsonl", "new.jsonl"):
        lines = [json.loads(text) for text in Path(name).read_text(encoding="utf-8").splitlines()]
        stated = [[{"chunk_id": f"{doc}-1", "doc_id": doc} for doc in each["topk"]] for each in lines]
        write_lines(name, [{**each, "topk": items} for each, items in zip(lines, stated, strict=True)])
    criteria = json.loads(Path("ship-criteria.yaml").read_text(encoding="utf-8"))
    match = {"by": "doc", "separator": "-"}  # which these documents have in their ids
    Path("ship-criteria.yaml").write_text(json.dumps({**criteria, "match": match}), encoding="utf-8")
    main(["check", "-o", "report.json", *DATE])
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["gates"][0]["unjudged"] == by_id


@pytest.mark.parametrize(
    ("docs", "share", "more", "verdict"),
    [
        pytest.param(BETTER, 1.0, {}, "warn", id="better, or worse: who knows"),
        pytest.param(BETTER, 1.0, {"evidence": "estimate"}, "fail", id="under estimate both ends are shown, no more"),
        pytest.param(BETTER, 1.0, {"threshold": 0.6, "regression_max": None}, "warn", id="a floor alone"),
        pytest.param(BETTER, 1.0, {"threshold": 0.6}, "warn", id="a floor that falls with what is unjudged"),
        pytest.param(BETTER, 1.0, {"severity": "warning"}, "warn", id="a gate that warns"),
        pytest.param(["wrong0", "wrong1", "wrong2", "new1", "wrong3"], 1.0, {}, "fail", id="harm at both ends"),
        pytest.param([f"far{n}" for n in range(5)], 1.0, {}, "not_judged", id="nothing of it is judged"),
        pytest.param(
            [f"far{n}" for n in range(5)],
            1.0,
            {"severity": "warning"},
            "warn",
            id="nothing is judged, and it only warns",
        ),
        pytest.param(
            ["new1", "wrong0", "wrong1"], 0.1, {"regression_max": 0.0}, "fail", id="less than five points less"
        ),
        pytest.param(["wrong0", "wrong1", "wrong2"], 1.0, {}, "fail", id="all is judged: harm is harm"),
    ],
)
def test_what_is_unjudged_decides_nothing(docs: list[str], share: float, more: dict[str, Any], verdict: str) -> None:
    pooled()
    candidate(docs, share=share)
    code, report = check(**more)
    [gate] = report["gates"]
    assert gate["verdict"] == verdict
    assert code == {"fail": 1, "not_judged": 2}.get(verdict, 0)


def test_a_gold_set_of_right_documents_alone_is_complete() -> None:
    """What it does not list is wrong, so that harm is harm."""
    pooled(wrong=False)
    candidate(BETTER)
    code, report = check()
    assert (code, report["gates"][0]["unjudged"]) == (1, {})


def test_a_gold_set_that_judges_little_of_the_baseline_is_no_pool() -> None:
    pooled()
    write_lines("old.jsonl", [line(n, ["right", "a", "b", "wrong0", "wrong1"]) for n in range(N)])
    candidate(["new1", "new2", "new3", "new4", "right"])
    assert check()[0] == 1


@pytest.mark.parametrize("metric", ["recall@5", "mrr", "map", "precision@5", "hit@3", "recall(rel=1)@5", "ndcg@k"])
def test_every_metric_of_the_list_has_two_ends(metric: str) -> None:
    pooled()
    candidate(
        ["new1", "new2", "wrong0", "right", "wrong1"]
        if metric not in {"recall@5", "recall(rel=1)@5"}
        else ["new1", "new2", "wrong0", "wrong1", "wrong2"]
    )
    code, report = check(metric, regression_max=0.0)
    [gate] = report["gates"]
    assert (code, gate["verdict"]) == (0, "pass" if gate["delta"] == 0 else "warn")


def label(labels: dict[str, float], *, share: float = 1.0) -> None:
    """A judge's labels beside the gold set, for the first of its queries."""
    samples = [json.loads(text) for text in Path("gold.jsonl").read_text(encoding="utf-8").splitlines()]
    for n, sample in enumerate(samples):
        docs = line(n, list(labels))["topk"]
        sample["judge_labels"] = dict(zip(docs, labels.values(), strict=True)) if n < share * N else {}
    write_lines("gold.jsonl", samples)


FAR = {f"far{n}": 1.0 for n in range(5)}
HARM = ["wrong0", "wrong1", "wrong2", "new1", "wrong3"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("docs", "labels", "share", "severity", "verdict"),
    [
        pytest.param(BETTER, {"new1": 1, "new2": 1}, 1.0, "error", "pass", id="right by the judge"),
        pytest.param(BETTER, {"new1": 3, "new2": 3}, 1.0, "error", "pass", id="by grades that the gold set lacks"),
        pytest.param(BETTER, {"new1": 1}, 1.0, "error", "pass", id="enough of it, whatever the rest is"),
        pytest.param(BETTER, {"new1": 0, "new2": 0}, 1.0, "error", "warn", id="wrong by the judge, who proves no harm"),
        pytest.param(BETTER, {"new1": 1, "new2": 1}, 0.1, "error", "warn", id="too little to end the doubt"),
        pytest.param(BETTER, {"elsewhere": 1}, 1.0, "error", "warn", id="labels of what no run shows"),
        pytest.param(HARM, {"new1": 3}, 1.0, "error", "fail", id="harm that people have proven"),
        pytest.param(list(FAR), FAR, 1.0, "error", "pass", id="nothing of it is judged by people"),
        pytest.param(list(FAR), {"far0": 0, "far1": 0}, 1.0, "error", "warn", id="no longer hopeless, but in doubt"),
        pytest.param(list(FAR), dict.fromkeys(FAR, 0.0), 1.0, "error", "not_judged", id="garbage stays not judged"),
        pytest.param(list(FAR), dict.fromkeys(FAR, 0.0), 1.0, "warning", "warn", id="garbage, and it only warns"),
    ],
)
def test_a_judges_labels_end_a_doubt_and_prove_no_harm(
    docs: list[str], labels: dict[str, float], share: float, severity: str, verdict: str
) -> None:
    pooled()
    candidate(docs)
    before = check(severity=severity)[1]["gates"][0]
    label(labels, share=share)
    code, report = check(severity=severity)
    [gate] = report["gates"]
    assert (gate["verdict"], code) == (verdict, {"fail": 1, "not_judged": 2}.get(verdict, 0))
    assert [gate[key] for key in ("value", "delta", "delta_ci")] == [
        before[key] for key in ("value", "delta", "delta_ci")
    ], "the values are people's"
    people = {key: gate["unjudged"][key] for key in before["unjudged"]}
    assert people == before["unjudged"]


def test_what_the_judges_labels_make_of_a_change_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    pooled()
    candidate(BETTER)
    label({"new1": 1.0})
    [gate] = check()[1]["gates"]
    ends = gate["unjudged"]
    assert (ends["judged"], ends["labelled"]) == (pytest.approx(0.6), pytest.approx(0.8))
    assert ends["labels_relevant"] >= ends["labels_wrong"] > ends["condensed"]
    assert (gate["violation"], gate["evidence_state"], gate["only_inconclusive"]) == (None, "clear", False)
    said = "; with the judge's labels, which leave 20% open, it is from +0."
    assert said in gate["reasons"][0]["text"]
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"negatives": ["{}-new1", "{}-new2"]}, id="hard negatives"),
        pytest.param({"metadata": {"no_answer": True}, "expected_output": {"{}-wrong0": 0}}, id="nothing answers it"),
    ],
)
def test_no_label_makes_right_what_the_gold_set_says_is_not(more: dict[str, Any]) -> None:
    """For nine in ten queries, so that the rest cannot end the doubt by themselves."""
    pooled()
    candidate(BETTER)
    label({"new1": 1.0, "new2": 1.0})
    samples = [json.loads(text) for text in Path("gold.jsonl").read_text(encoding="utf-8").splitlines()]
    for sample in samples[: N * 9 // 10]:
        sample.update(json.loads(json.dumps(more).replace("{}", sample["id"])))
    write_lines("gold.jsonl", samples)
    found = check()[1]["gates"][0]["unjudged"]
    plain = [
        {key: value for key, value in sample.items() if key != "judge_labels"} for sample in samples[: N * 9 // 10]
    ]
    write_lines("gold.jsonl", [*plain, *samples[N * 9 // 10 :]])
    assert check()[1]["gates"][0]["unjudged"] == found


@pytest.mark.full
@pytest.mark.parametrize(("docs", "verdict"), [(BETTER, "warn"), (list(FAR), "not_judged")])
def test_labels_that_a_pull_request_brings_end_no_doubt(project: Path, docs: list[str], verdict: str) -> None:
    """They count once they are merged; until then the base's gold set decides, and they are named as relabelled."""
    pooled()
    candidate(docs)
    check()
    (project / ".gitignore").write_text("new.jsonl\nreport.json\ncomment.md\n", encoding="utf-8")
    git("init", "--quiet")
    commit()
    git("branch", "base")
    label(dict.fromkeys(docs, 1.0) | {"wrong0": 0.0})
    commit()
    found = ["check", "-o", "report.json", *DATE]
    assert main(found) == 0
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["gates"][0]["verdict"] == "pass"
    assert main([*found, "--base", "base"]) == {"warn": 0, "not_judged": 2}[verdict]
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert (report["base"]["decides"], report["base"]["base_verdict"]) == ("base", verdict)
    assert report["base"]["queries"]["relabelled"] == N
    git("switch", "--quiet", "--create", "next")  # once they are merged
    commit()
    assert main([*found, "--base", "HEAD^"]) == 0
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["verdict"] == "pass"


def test_labels_under_other_evidence_are_shown_and_no_more() -> None:
    pooled()
    candidate(BETTER)
    label({"new1": 1.0, "new2": 1.0})
    code, report = check(evidence="estimate")
    assert (code, report["gates"][0]["unjudged"]["labelled"]) == (1, 1.0)


def test_segments_have_two_ends_as_well() -> None:
    pooled(tags=True)
    old = ["right", "wrong0", "wrong1", "wrong2", "wrong3"]
    write_lines("new.jsonl", [line(n, BETTER if n < N / 2 else old) for n in range(N)])
    code, report = check(segments={"by": "lang", "regression_max": 0.05})
    found = {gate["segment"]: (gate["verdict"], gate["evidence_state"]) for gate in report["gates"]}
    assert code == 0
    assert found["lang:pt"] == ("warn", "inconclusive")
    assert found["lang:en"] == ("pass", "clear")


def test_by_document_the_parts_of_one_are_judged_with_it() -> None:
    pooled()
    lines = [
        {"query_id": f"q{n}", "topk": [f"q{n}-{doc}#p{part}" for doc in ("wrong0", "wrong1") for part in range(3)]}
        for n in range(N)
    ]
    write_lines("new.jsonl", lines)
    criteria = {
        "match": {"by": "doc"},
        "gates": [{"name": "recall@5", "regression_max": 0.05, "evidence": "proven_harm"}],
        "inputs": {"gold": "gold.jsonl", "run": "new.jsonl", "baseline": "old.jsonl"},
    }
    Path("ship-criteria.yaml").write_text(json.dumps(criteria), encoding="utf-8")
    assert main(["check", "-o", "report.json", *DATE]) == 1  # all judged, and all wrong


COLLECTIONS = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.full
@pytest.mark.skipif(not COLLECTIONS.is_dir(), reason="the real collections are not here")
@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        pytest.param("minilm", "warn", id="another kind of search"),
        pytest.param("bm25_minilm_rerank", "warn", id="a reranker"),
        pytest.param("bm25_rerun", "pass", id="the same again"),
    ],
)
def test_a_pool_of_one_system_is_no_proof_against_another(run: str, verdict: str) -> None:
    """Cranfield, judged only where bm25 put it among its first ten: any other system has unjudged documents."""
    folder = COLLECTIONS / "cranfield"
    lists = {}
    for text in (folder / "runs" / "bm25.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(text)
        lists[entry["query_id"]] = [str(item["chunk_id"]) for item in entry["topk"][:10]]
    samples = []
    for text in (folder / "gold.jsonl").read_text(encoding="utf-8").splitlines():
        sample = json.loads(text)
        judged = sample["expected_output"]
        judged = judged if isinstance(judged, dict) else dict.fromkeys(map(str, judged), 1)
        samples.append(
            {"id": sample["id"], "expected_output": {doc: judged.get(doc, 0) for doc in lists[str(sample["id"])]}}
        )
    write_lines("gold.jsonl", [sample for sample in samples if any(sample["expected_output"].values())])
    for name, path in (("old", "bm25"), ("new", run)):
        Path(f"{name}.jsonl").write_bytes((folder / "runs" / f"{path}.jsonl").read_bytes())
    code, report = check("ndcg@10", regression_max=0.02)
    assert (code, report["gates"][0]["verdict"]) == (0, verdict)


UMBRELA = COLLECTIONS / "judged" / "rag25_human_umbrela.tsv"


@pytest.mark.full
@pytest.mark.skipif(not UMBRELA.is_file(), reason="the real labels are not here")
def test_a_real_judge_beside_real_people() -> None:
    """TREC RAG 2025: the old system found half of each topic's documents, which people judged, the new one the rest.

    The new one ranks by people's own grades, so it is better. Without labels nobody can tell; with UMBRELA's it passes.
    """
    topics: dict[str, list[tuple[str, int, int]]] = {}
    for text in UMBRELA.read_text(encoding="utf-8").splitlines()[1:]:
        topic, doc, human, judge = text.split("\t")
        topics.setdefault(topic, []).append((doc, int(human), int(judge)))
    samples, old, new = [], [], []
    for topic, rows in topics.items():
        known, hidden = rows[::2], rows[1::2]
        if not any(human > 0 for _, human, _ in known):
            continue
        sample = {"id": topic, "expected_output": {doc: human for doc, human, _ in known}}
        samples.append({**sample, "judge_labels": {doc: judge for doc, _, judge in hidden}})
        old.append({"query_id": topic, "topk": [doc for doc, _, _ in known[:10]]})
        best = sorted(hidden, key=lambda row: -row[1])[:10]
        new.append({"query_id": topic, "topk": [doc for doc, _, _ in [*known[:3], *best][:10]]})
    write_lines("old.jsonl", old)
    write_lines("new.jsonl", new)
    for labels, verdict in ((False, "warn"), (True, "pass")):
        write_lines("gold.jsonl", [sample if labels else {**sample, "judge_labels": {}} for sample in samples])
        [gate] = check("ndcg@10", regression_max=0.01)[1]["gates"]
        assert gate["verdict"] == verdict, gate
