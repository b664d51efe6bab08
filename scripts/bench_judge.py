#!/usr/bin/env python3
"""Measures what `rankgate judge` takes of the processor, beside a judge on loopback in a process of its own.

    .venv/bin/python scripts/bench_judge.py [--answers N] [--workers N]

Each of N answers (10,000) has two claims and five passages of 80 words, and takes two calls. The judge of the tests
answers them at once. Prints CPU and wall time, the peak of memory, and the CPU time of a call.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_measure import Command, measure

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 3.0  # milliseconds of CPU a call
SERVER = """\
import sys
from tests.judge.hash_judge import judging
with judging() as server:
    print(server.address, flush=True)
    sys.stdin.read()
"""
CRITERIA = """\
judge:
  endpoint: {address}
  model: hash-judge-2026-01-01
  structured: json_schema
  budget: {{calls: null, tokens: null}}
inputs: {{gold: gold.jsonl, run: run.jsonl}}
gates: [{{name: faithfulness, threshold: 0.5}}, {{name: answered_rate, threshold: 0.5}}]
"""


def write_workload(directory: Path, answers: int) -> None:
    """Questions, answers and passages, of which the first has the first claim of its answer."""
    with (directory / "gold.jsonl").open("w") as gold, (directory / "run.jsonl").open("w") as run:
        for number in range(answers):
            facts = [f"Fact {number} of {n} is that the parcel {number * 7 + n} left on day {n}." for n in range(5)]
            texts = [f"{fact} " + f"It was a day like number {number + n}. " * 9 for n, fact in enumerate(facts)]
            listed = [{"chunk_id": f"d{number}-{n}", "text": text} for n, text in enumerate(texts)]
            answer = f"{facts[0]} Nobody has seen parcel {number} since."
            line = {
                "id": f"q{number}",
                "input": f"When did parcel {number} leave?",
                "expected_output": [f"d{number}-0"],
            }
            gold.write(json.dumps(line) + "\n")
            run.write(json.dumps({"query_id": f"q{number}", "topk": listed, "answer": answer}) + "\n")


def main() -> None:
    """Write, judge once and print."""
    parser = argparse.ArgumentParser(description="Measure rankgate judge.")
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=8)
    arguments = parser.parse_args()
    command = [sys.executable, "-c", SERVER]
    with (
        TemporaryDirectory() as name,
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        directory = Path(name)
        write_workload(directory, arguments.answers)
        address = server.stdout.readline().strip() if server.stdout else ""
        (directory / "ship-criteria.yaml").write_text(CRITERIA.format(address=address), encoding="utf-8")
        words = (sys.executable, "-m", "rankgate", "judge", "--workers", str(arguments.workers))
        usage = measure(Command(words, directory))
        calls = sum(1 for _ in (directory / "run.verdicts.jsonl").open("rb"))
        server.communicate()
    each = 1_000 * usage.cpu / calls
    print(f"{arguments.answers:,} answers, {calls:,} calls, {arguments.workers} workers")
    print(f"{usage.cpu:.1f} s CPU, {usage.wall:.1f} s, {usage.peak:.0f} MiB")
    print(f"{each:.2f} ms of CPU a call: {'met' if each <= LIMIT else 'missed'}, the target is at most {LIMIT:g}")


if __name__ == "__main__":
    main()
