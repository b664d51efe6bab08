"""The line of a comment that leads elsewhere: which addresses it has, and what never becomes one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.rows import each_row
from tests.scenario_calls import report_of

from rankgate.metrics.registry import families
from rankgate.model.report import Links, Report
from rankgate.model.report_text import decode_report, encode_report
from rankgate.renderers.links import METRICS, links_of
from rankgate.renderers.markdown import render_comment
from rankgate.renderers.markdown_text import link

ROOT = Path(__file__).parents[2]
RUN = "https://github.com/acme/rag/actions/runs/7/attempts/1"
PAGE = "https://github.com/acme/rag/actions/runs/7/artifacts/31"
CRITERIA = "https://github.com/acme/rag/blob/0123abc/config/ship-criteria.yaml"


def report(verdict: str = "fail", **links: str | None) -> Report:
    return replace(decode_report(report_of(verdict), verdict), links=Links(**links))


def links_line(report: Report) -> str:
    """As our template lays them out."""
    return " · ".join(link(each.name, each.address) for each in links_of(report))


def of_metric(*metrics: str) -> Report:
    made = report(run=RUN)
    return replace(made, gates=[replace(made.gates[0], metric=metric) for metric in metrics])


def test_what_the_job_knows_is_one_line() -> None:
    assert links_line(report(page=PAGE, run=RUN, criteria=CRITERIA)) == (
        f"[2 lost questions](<{PAGE}#way=worse>) · [page](<{PAGE}>) · [run](<{RUN}>) · [criteria](<{CRITERIA}>) · "
        f"[what is `recall@5`?](<{METRICS}#recall>)"
    )


def test_what_it_does_not_know_is_left_out() -> None:
    assert links_line(report(run=RUN)) == f"[run](<{RUN}>) · [what is `recall@5`?](<{METRICS}#recall>)"
    assert links_line(report()) == f"[what is `recall@5`?](<{METRICS}#recall>)"
    assert links_line(report("not_judged", run=RUN)) == f"[run](<{RUN}>)"


def test_where_there_is_no_job_there_is_no_line() -> None:
    """At a terminal nobody waits to be led anywhere; and a report that is read never brings addresses along."""
    local = decode_report(report_of("fail"), "report.json")
    assert links_line(local) == ""
    read = decode_report(encode_report(report(run=RUN)).encode(), "report.json")
    assert links_line(read) == ""
    assert METRICS not in render_comment(local)


def test_it_stands_in_the_comment_once() -> None:
    made = report(page=PAGE, run=RUN)
    assert render_comment(made).count(links_line(made)) == 1


@each_row(
    "address",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://github.com/x",
        "//evil.example/x",
        "/acme/rag",
        "https://github.com/a) [Merge](https://evil.example",
        "https://github.com/a b",
        "https://github.com/a\nb",
        "https://github.com/a\u202eb",
        "https://github.com/a|b",
        "https://github.com/<b>",
        "https://user:password@github.com/a",
        "https://github.com/a?token=1",
        f"https://github.com/{'a' * 2000}",
        "https://",
        "",
    ],
)
@each_row("place", ["page", "run", "criteria"])
def test_nothing_else_becomes_a_link(place: str, address: str) -> None:
    assert links_line(report(**{place: address})) == links_line(report())


def test_an_enterprise_server_with_a_port_is_one_of_the_forge() -> None:
    address = "https://ghe.acme.example:8443/team/rag/actions/runs/7/attempts/2"
    assert f"[run](<{address}>)" in links_line(report(run=address))


@pytest.mark.parametrize(
    ("metric", "shown", "part"),
    [
        pytest.param("mrr", "`mrr`", "mrr", id="without a cut-off"),
        pytest.param("recall(rel=2)@5", "`recall(rel=2)@5`", "recall", id="parameters: no user is notified"),
        pytest.param("latency(quantile=p95)", "`latency(quantile=p95)`", "latency", id="a quantile"),
        pytest.param("recall(tag=`x`](y)@5", "``recall(tag=`x`](y)@5``", "recall", id="hostile parameters"),
    ],
)
def test_a_metric_leads_to_its_part_of_the_docs(metric: str, shown: str, part: str) -> None:
    assert links_line(of_metric(metric)).endswith(f" · [what is {shown}?](<{METRICS}#{part}>)")


@pytest.mark.parametrize("metric", ["first@1", "unknown", "", "recall@5](https://evil.example)[", "Recall@5"])
def test_a_metric_of_another_package_has_no_page_there(metric: str) -> None:
    line = links_line(of_metric(metric))
    assert "evil.example)[" not in re.sub(r"`[^`]*`", "", line)
    if not metric.startswith("recall"):
        assert line == f"[run](<{RUN}>)"
        assert links_line(of_metric(metric, "mrr")).endswith(f"[what is `mrr`?](<{METRICS}#mrr>)"), (
            "the next that has one"
        )


def test_the_docs_have_a_part_for_every_metric() -> None:
    headings = re.findall(r"^### (\w+)$", (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {family.key for family in families()} <= set(headings)
    site: dict[str, Any] = dict(
        re.findall(r'^(site_url) = "(.*)"$', (ROOT / "zensical.toml").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert f"{site['site_url']}metrics/" == METRICS
