"""What scripts/bench runs of other libraries, as short as each library's user would write it.

    python scripts/bench_peers.py pytrec_eval QRELS RUN
    python scripts/bench_peers.py ranx QRELS RUN
    python scripts/bench_peers.py decode RUN.jsonl

The first two print the averages of the four metrics from TREC files. The last prints nothing: it only decodes each line
into typed structs, which is the least that reading JSONL from Python costs.
"""

# ruff: noqa: PLC0415 -- each stands in an environment that has only its own library
import sys
from collections.abc import Callable

RECALL, MRR, NDCG, MAP = "recall@5", "mrr", "ndcg@10", "map"


def pytrec_eval(qrels_file: str, run_file: str) -> dict[str, float]:
    """Averages over the queries of the run."""
    import pytrec_eval

    with open(qrels_file) as file:  # noqa: PTH123 -- as in the library's own examples
        qrels = pytrec_eval.parse_qrel(file)
    with open(run_file) as file:  # noqa: PTH123
        run = pytrec_eval.parse_run(file)
    names = {RECALL: "recall_5", MRR: "recip_rank", NDCG: "ndcg_cut_10", MAP: "map"}
    scores = pytrec_eval.RelevanceEvaluator(qrels, set(names.values())).evaluate(run).values()
    return {shown: sum(query[name] for query in scores) / len(scores) for shown, name in names.items()}


def ranx(qrels_file: str, run_file: str) -> dict[str, float]:
    """Averages over the queries of the run."""
    from ranx import Qrels, Run, evaluate

    qrels = Qrels.from_file(qrels_file, kind="trec")
    run = Run.from_file(run_file, kind="trec")
    return dict(evaluate(qrels, run, [RECALL, MRR, NDCG, MAP]))


def decode(run_file: str) -> dict[str, float]:
    """Nothing, but each line was a struct for a moment."""
    import msgspec

    class Item(msgspec.Struct, gc=False):
        rank: int
        chunk_id: str
        score: float

    class Line(msgspec.Struct, gc=False):
        query_id: str
        topk: list[Item]

    decoded = msgspec.json.Decoder(Line).decode
    with open(run_file, "rb") as lines:  # noqa: PTH123
        for line in lines:
            decoded(line)
    return {}


if __name__ == "__main__":
    programs: dict[str, Callable[..., dict[str, float]]] = {"pytrec_eval": pytrec_eval, "ranx": ranx, "decode": decode}
    for metric, value in programs[sys.argv[1]](*sys.argv[2:]).items():
        print(f"{metric}\t{value:.4f}")
