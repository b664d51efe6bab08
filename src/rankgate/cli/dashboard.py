"""`rankgate dashboard`: pages that show how retrieval went, from the memory of runs."""

from __future__ import annotations

import argparse
import re

from rankgate.cli.inputs import metrics_of
from rankgate.cli.options import add_option, add_shared, date_of, make_parser
from rankgate.cli.output import say
from rankgate.criteria import find_criteria
from rankgate.errors import bad_input, redacted
from rankgate.model.wording import count_text
from rankgate.renderers.dashboards.build import DashboardRequest, collect
from rankgate.renderers.dashboards.site import write_site
from rankgate.renderers.dashboards.values import INDEX
from rankgate.renderers.pages.dashboard import site_of


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "dashboard",
        "Write a static site from the history of runs: for each criteria file what failed of late, curves,\n"
        "what was accepted and why, and every run. It opens from disk, needs no network and no scripts, and\n"
        "is ready for GitHub Pages.",
        "rankgate dashboard site/",
        "rankgate dashboard site/ --metrics recall@1,5,10,ndcg@10",
        "rankgate dashboard site/ --criteria search/ship-criteria.yaml --criteria faq/ship-criteria.yaml",
        "rankgate dashboard site/ --baseline git+branch:rankgate-baselines",
    )
    add_option(options, "directory DIR", "where to write: a new or empty directory, or a dashboard's", action="write")
    criteria = "ship criteria; repeats, a page for each (default: as for `rankgate check`)"
    add_option(options, "--criteria FILE", criteria, action="read", default=[])
    add_option(options, "--baseline SPEC", "the store (default: inputs.baseline of the criteria)", action="read")
    metrics = "metrics in place of recall@1,5,10,ndcg@10, beside those of the gates; what was not recorded is rescored"
    add_option(options, "--metrics LIST", metrics)
    add_option(options, "--repository-url URL", "where commits are linked to (default: the remote on github.com)")
    add_shared(options, "date")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Collect, render, write, and say what was written."""
    paths = list(dict.fromkeys(arguments.criteria or [find_criteria()]))
    if arguments.baseline and len(paths) > 1:
        advice = "with several criteria files each names its own, as inputs.baseline"
        raise bad_input(f"--baseline names one store; {advice}")
    metrics = metrics_of(arguments.metrics) if arguments.metrics else []
    address = arguments.repository_url
    if address is not None and not re.fullmatch(r"https?://[\w.:-]+(/[\w.~%-]+)*/?", address, re.ASCII):
        raise bad_input(f"--repository-url {address!a} is no web address, as https://github.com/acme/search")
    dashboard = collect(
        DashboardRequest(
            date=date_of(arguments),
            criteria=paths,
            baseline=arguments.baseline,
            metrics=metrics,
            repository=address and address.rstrip("/"),
        )
    )
    write_site(arguments.directory, site_of(dashboard))
    runs = count_text(sum(len(each.runs) for each in dashboard.sets), "run")
    page = f"{arguments.directory.rstrip('/')}/{INDEX}"
    say(f"wrote {redacted(page)}: {count_text(len(paths), 'gate set')}, {runs}\n")
    return 0
