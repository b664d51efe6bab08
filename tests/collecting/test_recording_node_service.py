"""A service in Node that returns texts and answers in a shape of its own: one command records and judges them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.children import start
from tests.conftest import lacking
from tests.judge.calibrated import always, calibrated
from tests.judge.hash_judge import judging

from rankgate.cli import main

SERVICE = """
const http = require("node:http");
const answer = (n) => n === 7 ? "It is a gift." : `Article ${n} can be returned.`;
http.createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  if (request.headers["x-key"] !== "key-of-the-test") { response.writeHead(401); response.end("{}"); return; }
  const n = Number(url.searchParams.get("q").match(/[0-9]+/)[0]);
  const hits = [
    { ref: `doc_${n}#1`, meta: { doc: `doc_${n}` }, passage: `Article ${n} can be returned.`, rating: 2 },
    { ref: "other", passage: "Nothing.", rating: 1 },
  ];
  response.writeHead(200, { "Content-Type": "application/json" });
  const took = { search: 3, generate: 40 };
  const reply = answer(n);
  response.end(JSON.stringify({ data: [{ hits }], reply, sources: [`doc_${n}#1`], took, refused: undefined }));
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
"""
COUNT = 20
MAP = {"items": "data.0.hits", "chunk_id": "ref", "doc_id": "meta.doc", "text": "passage", "score": "rating"}
MAP |= {"answer": "reply", "citations": "sources", "latency_ms": "took"}


@pytest.mark.full
def test_texts_and_answers_of_a_service_are_recorded_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    node = shutil.which("node")
    if node is None:
        lacking("needs node")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERVICE_KEY", "key-of-the-test")
    Path("service.js").write_text(SERVICE)
    metadata = [f"Article {n} can be returned." for n in range(COUNT)]
    lines = [
        {"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"doc_{n}"], "metadata": {"answer": text}}
        for n, text in enumerate(metadata)
    ]
    Path("gold.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    service = start([str(node), "service.js"], stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    port = service.stdout.readline().strip()
    names = ["recall@1", "containment@5", "faithfulness", "citation_precision", "latency_p95"]
    with judging() as judge:
        criteria = {
            "match": "doc",
            "evidence": "estimate",
            "gates": [{"name": name, "threshold": 100 if name.startswith("latency") else 0.9} for name in names],
            "inputs": {"gold": "gold.jsonl", "run": "run.jsonl"},
            "judge": {"endpoint": judge.address, "model": "hash-judge-2026-01-01", "structured": "json_schema"},
            "retriever": {
                "url": f"http://127.0.0.1:{port}/ask?q={{{{question}}}}",
                "headers": {"X-Key": "${SERVICE_KEY}"},
                "map": MAP,
                "workers": 4,
            },
        }
        criteria["judge"] |= {"calibration": {"file": "calibration.json", "max_days": 99_999}}  # type: ignore[operator]
        Path("ship-criteria.yaml").write_text(json.dumps(criteria))
        assert main(["record"]) == 0
        calibrated("ship-criteria.yaml", always(1.0, COUNT), "calibration.json")
        assert main(["judge"]) == 0
        assert main(["check", "-o", "report.json"]) == 0, capsys.readouterr()
    gates = {gate["name"]: gate["value"] for gate in json.loads(Path("report.json").read_text())["gates"]}
    assert gates["recall@1"] == gates["containment@5"] == 1.0
    assert gates["faithfulness"] == pytest.approx(0.95, abs=0.06)
    assert gates["latency_p95"] == 43
    first = json.loads(Path("run.jsonl").read_text().splitlines()[0])
    assert first["latency_ms"] == {"search": 3.0, "generate": 40.0}
    assert first["topk"][0]["doc_id"] == "doc_0"
    assert "key-of-the-test" not in Path("run.jsonl").read_text() + Path("report.json").read_text()
    capsys.readouterr()
    assert main(["record", "--only", "q7"]) == 0
    assert capsys.readouterr().out.endswith("answer: It is a gift.\n")
