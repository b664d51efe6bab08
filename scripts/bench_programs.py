"""The programs that scripts/bench measures: how they are installed and called, and how to read what they print."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench_measure import Command, FailedError, call, say

ROOT = Path(__file__).resolve().parent.parent
PEERS_SCRIPT = ROOT / "scripts" / "bench_peers.py"

IR_MEASURES, PYTREC_EVAL = "ir_measures==0.4.3", "pytrec-eval-terrier==0.5.11"
RANX = "ranx==0.3.21"

# ir_measures' and trec_eval's name of each metric that all compute, and rankgate's.
METRICS = ("recall@5", "mrr", "ndcg@10", "map")
OF_IR_MEASURES = dict(zip(("R@5", "RR", "nDCG@10", "AP"), METRICS, strict=True))
OF_TREC_EVAL = dict(zip(("recall_5", "recip_rank", "ndcg_cut_10", "map"), METRICS, strict=True))

FOUR_DECIMALS = 5.1e-5  # how far a value printed with four decimals may be off; the peers print no more
ALL_DECIMALS = 1e-12

Values = Callable[[str], dict[str, float]]


class Program(NamedTuple):
    """What is measured.

    Attributes:
        name: what --only calls it.
        title: what the table calls it.
        command: how to run it.
        values: the metrics in what it prints; None where it prints none.
        off: how far its values may be from the exact ones.
        optional: left out where it does not run, rather than ending the session.
    """

    name: str
    title: str
    command: Command
    values: Values | None = None
    off: float = 0.0
    optional: bool = False


class Environments:
    """Virtual environments below one directory, each made and filled when it is first asked for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.packages: dict[str, dict[str, str]] = {}

    def program(self, environment: str, program: str, *requirements: str) -> str:
        """Path of a program in an environment; a checkout among the requirements is installed anew each session."""
        binaries = self._directory / environment / "bin"
        if environment not in self.packages:
            say(f"Installing {' and '.join(requirements)}.")
            python = str(binaries / "python")
            if not (binaries / "python").exists():
                call(sys.executable, "-m", "venv", str(binaries.parent))
            pip = (python, "-m", "pip", "--disable-pip-version-check")
            call(*pip, "install", "-q", *requirements)
            listed = json.loads(call(*pip, "list", "--format", "json"))
            self.packages[environment] = {package["name"]: package["version"] for package in listed}
        return str(binaries / program)

    def rankgate(self, program: str = "rankgate") -> str:
        """From this checkout, as a user would have it."""
        return self.program("rankgate", program, str(ROOT))

    def rankgate_with_parquet(self, program: str = "rankgate") -> str:
        """The same with the extra that reads Parquet."""
        return self.program("rankgate-parquet", program, f"{ROOT}[parquet]")

    def rankgate_with_pages(self, program: str = "rankgate") -> str:
        """The same with the extra that draws."""
        return self.program("rankgate-html", program, f"{ROOT}[html]")

    def peers(self, program: str) -> str:
        """An environment of ir_measures and pytrec_eval."""
        return self.program("peers", program, IR_MEASURES, PYTREC_EVAL)

    def ranx(self, program: str) -> str:
        """An environment of ranx, away from the others, since ir_measures would find it."""
        return self.program("ranx", program, RANX)


def rankgate_scores(made: Environments, work: Path) -> list[Program]:
    """The four metrics from JSONL and from TREC."""
    jsonl, trec = ("gold.jsonl", "run.jsonl"), ("qrels.txt", "run.trec")
    rankgate = made.rankgate()
    return [
        score("jsonl", "rankgate, JSONL", rankgate, work, *jsonl),
        score("trec", "rankgate, TREC", rankgate, work, *trec),
    ]


def score(
    name: str,
    title: str,
    rankgate: str,
    work: Path,
    gold: str,
    run: str,
    *,
    metrics: str = ",".join(METRICS),
) -> Program:
    """`rankgate score`, with intervals."""
    words = [rankgate, "score", "--gold", gold, "--run", run, "--metrics", metrics, "--format", "json"]
    return Program(name, title, Command(tuple(words), work), rankgate_values, ALL_DECIMALS)


def peer(name: str, made: Environments, work: Path, trec_eval: Path | None = None) -> Program:
    """Another program that prints the averages of the four metrics, from TREC files; `trec_eval` is where that lies."""
    words: tuple[str, ...]
    after: tuple[str, ...] = ()
    if name == "ir_measures":
        words, after, names = (made.peers(name),), (" ".join(OF_IR_MEASURES),), OF_IR_MEASURES
    elif name == "trec_eval":
        options = ("-m", "recall.5", "-m", "recip_rank", "-m", "ndcg_cut.10", "-m", "map")
        words, names = (str(trec_eval), *options), OF_TREC_EVAL
    else:
        python = made.ranx("python") if name == "ranx" else made.peers("python")
        words, names = (python, str(PEERS_SCRIPT), name), {metric: metric for metric in METRICS}
    command = Command((*words, "qrels.txt", "run.trec", *after), work)
    return Program(name, name, command, printed_values(names), FOUR_DECIMALS)


def decoding(made: Environments, work: Path) -> Program:
    """The floor: a loop over the JSONL that decodes each line and forgets it."""
    words = (made.rankgate("python"), str(PEERS_SCRIPT), "decode", "run.jsonl")
    return Program("decode", "decoding JSONL, no more", Command(words, work))


def agreeing(programs: Sequence[Program], notes: list[str]) -> list[Program]:
    """Run each program once, which also warms the caches, and compare the values; the programs that ran.

    Raises:
        FailedError: one that is not optional does not run, or two disagree.
    """
    ran: list[Program] = []
    seen: dict[tuple[Path, str], tuple[Program, float]] = {}
    for program in programs:
        say(f"Running {program.title} once, unmeasured.")
        try:
            printed = call(*program.command.words, directory=program.command.directory)
        except FailedError as error:
            if not program.optional:
                raise
            notes.append(f"Left out: {program.title} ({last_line(error)})")
            continue
        ran.append(program)
        for metric, value in (program.values(printed) if program.values else {}).items():
            other, first = seen.setdefault((program.command.directory, metric), (program, value))
            if not abs(value - first) <= program.off + other.off:
                raise FailedError(f"{metric}: {other.title} has {first:.6f}, {program.title} has {value:.6f}")
    return ran


def rankgate_values(report: str) -> dict[str, float]:
    """Values in what `rankgate score --format json` prints, or in report.json."""
    return {name: metric["value"] for name, metric in json.loads(report)["metrics"].items()}


def printed_values(names: dict[str, str]) -> Values:
    """Reads values from lines that begin with a metric's name and end with its value.

    Raises:
        FailedError: when used, where a metric is missing.
    """

    def read(printed: str) -> dict[str, float]:
        lines = [line.split() for line in printed.splitlines()]
        values = {names[words[0]]: float(words[-1]) for words in lines if words and words[0] in names}
        if len(values) != len(names):
            raise FailedError(f"expected {', '.join(names)} in:\n{printed}")
        return values

    return read


def last_line(error: FailedError) -> str:
    """The last thing that was said, mostly by a traceback or by pip."""
    return str(error).splitlines()[-1]
