"""A sheet of `gold pool --traffic` as a page: blind until a question is labelled, and its labels leave as the sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from rankgate.collecting.traffic import SheetRow, head_of
from rankgate.model.traffic_lists import TrafficPair, TrafficSheet
from rankgate.renderers.pages import page


def render_sheet(rows: Sequence[SheetRow], sheet: TrafficSheet, pairs: Mapping[str, TrafficPair]) -> str:
    """The page; `pairs` say by question which list each document is in."""
    listed = [{**asdict(row), "row": row.key, "list": _list_of(row.document, pairs[row.query_id])} for row in rows]
    return page(
        "sheet.html.j2",
        title="rankgate: questions to label",
        styles=("report.css", "sheet.css"),
        scripts=("sheet.js",),
        data={"sheet-data": {"head": head_of(sheet), "rows": listed}},
        documents=len(rows),
        questions=len({row.query_id for row in rows}),
    )


def _list_of(document: str, pair: TrafficPair) -> str:
    if document in pair.before:
        return "both" if document in pair.now else "before"
    return "now"
