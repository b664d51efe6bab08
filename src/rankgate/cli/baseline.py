"""`rankgate baseline accept`: make a run the one that gates compare with."""

from __future__ import annotations

import argparse

from rankgate.cli.options import add_criteria, add_date, add_gold, add_run, date_of, make_parser


def parser() -> argparse.ArgumentParser:
    """The command's options, one sub-command."""
    made = make_parser(
        "baseline",
        "Keep the accepted run. What is stored is the ranked ids, so that both runs are scored with today's gold\n"
        "and metrics at every check.",
        ["rankgate baseline accept --run run.jsonl --to baseline/", "rankgate baseline accept   # paths from inputs:"],
    )
    actions = made.add_subparsers(dest="action", metavar="ACTION", required=True)
    accept = actions.add_parser(
        "accept",
        help="store a run as the accepted baseline",
        description="Store a run's ranked ids, compressed, with a manifest. The old baseline stays whole until the "
        "new one is complete.",
        allow_abbrev=False,
    )
    add_run(accept)
    accept.add_argument("--to", metavar="DIR", help="the baseline directory (default: inputs.baseline of the criteria)")
    add_gold(accept)
    add_criteria(accept)
    accept.add_argument(
        "--depth", metavar="N", type=int, default=None, help="ranks to keep of each list (default: 100)"
    )
    add_date(accept)
    return made


def run(arguments: argparse.Namespace) -> int:
    """Accept the run and say what was stored."""
    print(accept(arguments), end="")
    return 0


def accept(arguments: argparse.Namespace) -> str:
    """Store the run; returns what to tell."""
    from rankgate.baselines.directory import DEFAULT_DEPTH, DirectoryStore
    from rankgate.baselines.stores import store_for
    from rankgate.cli.inputs import criteria_if_any, file_of, refuse_two_stdins
    from rankgate.errors import bad_input
    from rankgate.gold_changes import mark_of
    from rankgate.inputs import gold_of, run_of
    from rankgate.model import Need
    from rankgate.readers.formats import fingerprint_of
    from rankgate.wording import count_text

    depth = DEFAULT_DEPTH if arguments.depth is None else arguments.depth
    if depth < 1:
        raise bad_input(f"--depth must be at least 1, not {depth}")
    gold_file, run_file = file_of(arguments, "gold"), file_of(arguments, "run")
    refuse_two_stdins(gold_file, run_file)
    criteria = criteria_if_any(arguments)
    target = arguments.to or (criteria.baseline.path if criteria and criteria.baseline else None)
    if target is None:
        raise bad_input("no place for the baseline; name a directory with --to, or as inputs.baseline in the criteria")
    store = store_for(target)
    if not isinstance(store, DirectoryStore):
        raise bad_input("is a file; a baseline is accepted into a directory", file=target)
    gold = gold_of(gold_file, criteria) if gold_file or (criteria and criteria.gold) else None
    # Latencies always, for later gates; of the rest what today's gates read.
    needs = frozenset({Need.LATENCY}) | (criteria.plan().needs if criteria else frozenset())
    opened = run_of(run_file, criteria, needs)
    rankings = list(opened.rankings)
    if gold:
        known = sum(ranking.query_id in gold.samples for ranking in rankings)
        if not known:
            raise bad_input(f"the run has none of the {len(gold.samples)} queries of {gold.name}", file=opened.name)
    manifest = store.accept(
        rankings,
        source=opened.name,
        provenance=opened.provenance,
        gold=mark_of(gold, fingerprint_of(gold)) if gold else None,
        date=date_of(arguments),
        depth=depth,
    )
    cut = sum(len(ranking.ids) > depth for ranking in rankings)
    text = (
        f"accepted {opened.name} as the baseline in {store.spec}: {count_text(manifest.queries, 'query', 'queries')}, "
        f"ranks to {depth}" + (f" ({count_text(cut, 'list was', 'lists were')} longer and cut)" if cut else "")
    )
    if gold is None:
        text += "\nno gold set was named, so the manifest does not say which one was current"
    return text + "\n"
