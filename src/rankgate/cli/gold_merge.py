"""`rankgate gold merge`: a gold set and labels in, the larger gold set out."""

from __future__ import annotations

import argparse
from pathlib import Path

from rankgate.cli.gold_output import output_suffix
from rankgate.cli.inputs import file_of, refuse_two_stdins
from rankgate.criteria import InputFile
from rankgate.errors import RankgateError, bad_input
from rankgate.gold_documents import read_documents
from rankgate.inputs import gold_of
from rankgate.labels import Merge, compare_labels
from rankgate.model import Gold
from rankgate.pool_files import read_labels
from rankgate.readers.base import ProblemLog
from rankgate.readers.source import STDIN
from rankgate.wording import count_text

MOST_PROBLEMS = 1000  # conflicts between labellers are a list to work through


def merge_action(arguments: argparse.Namespace) -> tuple[str, str]:
    """The new gold set as text, and what to tell."""
    refuse_two_stdins(*map(InputFile, arguments.labelled))
    if arguments.gold == STDIN or (Path(arguments.gold).exists() and not Path(arguments.gold).is_file()):
        raise bad_input("GOLD is read twice, so it must be a file", file=arguments.gold)
    suffix = output_suffix(arguments, {".jsonl": "", ".json": ""}, "a gold set", arguments.labelled)
    gold = gold_of(file_of(arguments, "gold"), None)
    log = ProblemLog(MOST_PROBLEMS)
    files = [read_labels(path, log) for path in arguments.labelled]
    merge = compare_labels(gold, (label for file in files for label in file.labels), as_judge=arguments.as_judge)
    if log.problems or merge.problems:
        raise RankgateError([*log.problems, *merge.problems])
    documents = read_documents(arguments.gold, gold).with_new(merge.new, as_judge=arguments.as_judge)
    told = _merge_told(merge, sum(file.blank for file in files), gold, as_judge=arguments.as_judge)
    if suffix == ".json":
        return documents.as_json(), told
    if documents.beside:
        told += f"  left out, because JSONL holds samples only: {', '.join(documents.beside)} (-o FILE.json keeps it)\n"
    return documents.as_jsonl(), told


def _merge_told(merge: Merge, blank: int, gold: Gold, *, as_judge: bool) -> str:
    gains = [gain for new in merge.new.values() for gain in new.values()]
    relevant = sum(gain > 0 for gain in gains)
    added = f"{count_text(len(gains), 'judge label' if as_judge else 'judgment')} added"
    if gains:
        queries = count_text(len(gold.samples), "query", "queries")
        added += f", {relevant:,} of them relevant, to {len(merge.new):,} of {queries}"
    return f"{added}\n  {merge.known:,} known already, {blank:,} without a gain left out\n"
