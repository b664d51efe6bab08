"""`rankgate dashboard`: pages that show how retrieval went, from the memory of runs."""

from __future__ import annotations

import argparse

from rankgate.cli.options import add_date, date_of, make_parser
from rankgate.errors import redacted

USUAL = 500  # runs that a page lists


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = make_parser(
        "dashboard",
        "Write a static site from the history of runs: a page for each criteria file with a curve a metric, what was\n"
        "accepted and why, waivers, releases, and every run. It opens from disk, needs no network and no scripts, and\n"
        "is ready for GitHub Pages.",
        [
            "rankgate dashboard site/",
            "rankgate dashboard site/ --metrics recall@1,5,10,ndcg@10",
            "rankgate dashboard site/ --criteria search/ship-criteria.yaml --criteria faq/ship-criteria.yaml",
            "rankgate dashboard site/ --baseline git+branch:rankgate-baselines --limit 100",
        ],
    )
    made.add_argument("directory", metavar="DIR", help="where to write: a new or empty directory, or a dashboard's")
    made.add_argument(
        "--criteria",
        metavar="FILE",
        action="append",
        help="ship criteria; repeats, a page for each (default: as for `rankgate check`)",
    )
    made.add_argument("--baseline", metavar="SPEC", help="the store (default: inputs.baseline of the criteria)")
    made.add_argument(
        "--metrics",
        metavar="LIST",
        help="further metrics; what was not recorded is rescored from stored rankings, with today's gold set",
    )
    made.add_argument(
        "--limit", metavar="N", type=int, default=USUAL, help=f"the newest runs to list (default: {USUAL})"
    )
    made.add_argument(
        "--repository-url", metavar="URL", help="where commits are linked to (default: the remote on github.com)"
    )
    add_date(made)
    return made


def run(arguments: argparse.Namespace) -> int:
    """Collect, render, write, and say what was written."""
    from rankgate.cli.inputs import open_store
    from rankgate.cli.output import say
    from rankgate.criteria import find_criteria
    from rankgate.errors import bad_input
    from rankgate.metrics.names import UnknownMetricError, parse_metrics
    from rankgate.model.wording import count_text
    from rankgate.renderers.dashboards.collect import Request, collect
    from rankgate.renderers.dashboards.site import write_site
    from rankgate.renderers.dashboards.values import INDEX
    from rankgate.renderers.pages.dashboard import site_of

    if arguments.limit < 1:
        raise bad_input(f"--limit must be at least 1, not {arguments.limit}")
    paths = list(dict.fromkeys(arguments.criteria or [find_criteria()]))
    if arguments.baseline and len(paths) > 1:
        raise bad_input(
            "--baseline names one store; with several criteria files each names its own, as inputs.baseline"
        )
    try:
        metrics = parse_metrics(arguments.metrics) if arguments.metrics else []
    except UnknownMetricError as error:
        raise bad_input(str(error), key="--metrics") from error
    dashboard = collect(
        Request(
            date=date_of(arguments),
            criteria=paths,
            baseline=arguments.baseline,
            metrics=metrics,
            limit=arguments.limit,
            repository=_address(arguments.repository_url),
            open_store=open_store,
        )
    )
    write_site(arguments.directory, site_of(dashboard))
    runs = count_text(sum(len(each.runs) for each in dashboard.sets), "run")
    place = f"{arguments.directory.rstrip('/')}/{INDEX}"
    say(f"wrote {redacted(place)}: {count_text(len(paths), 'gate set')}, {runs}\n")
    return 0


def _address(written: str | None) -> str | None:
    """The address without a slash at its end."""
    import re

    from rankgate.errors import bad_input

    if written is None:
        return None
    if not re.fullmatch(r"https?://[\w.:-]+(/[\w.~%-]+)*/?", written, re.ASCII):
        raise bad_input(f"--repository-url {written!a} is no web address, as https://github.com/acme/search")
    return written.rstrip("/")
