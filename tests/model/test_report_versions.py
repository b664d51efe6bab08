"""Reports that earlier releases wrote: each version's is read and rendered by this one.

`reports/` has a report as it was written by the first release of each schema. Adding optional keys makes no new schema;
what an old report lacks has the value that means "not known".
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.rows import each_row

from rankgate.errors import RankgateError
from rankgate.model.report import Explanation, Report
from rankgate.model.report_text import SCHEMA_VERSION, decode_report, encode_report
from rankgate.renderers.base import RENDERERS

REPORTS = Path(__file__).parents[1] / "reports"
STORED = sorted(REPORTS.glob("*.json"))


def stored(path: Path) -> Report:
    return decode_report(path.read_bytes(), path.name)


def test_every_schema_has_a_stored_report() -> None:
    assert {json.loads(path.read_bytes())["schema_version"] for path in STORED} == set(range(1, SCHEMA_VERSION + 1))


@each_row("path", STORED, ids=lambda path: path.stem)
@each_row("name", RENDERERS)
def test_a_stored_report_is_rendered(path: Path, name: str) -> None:
    text = RENDERERS[name](stored(path))
    assert text.endswith("\n")
    assert "recall@5" in text


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_what_a_stored_report_says_is_kept_when_it_is_written_again(path: Path) -> None:
    def within(old: object, new: object) -> bool:
        if isinstance(old, dict) and isinstance(new, dict):
            return all(key in new and within(value, new[key]) for key, value in old.items())
        if isinstance(old, list) and isinstance(new, list):
            return len(old) == len(new) and all(within(*pair) for pair in zip(old, new, strict=True))
        return type(old) is type(new) and old == new

    before, after = json.loads(path.read_bytes()), json.loads(encode_report(stored(path)))
    if before.pop("schema_version") == 1:  # whose reasons were sentences and nothing else
        for gate in before["gates"]:
            gate["reasons"] = [{"kind": "text", "text": sentence} for sentence in gate["reasons"]]
    for gate in before["gates"]:
        gate.pop("judged_by", None)  # a report is by one side as a whole, which `base.decides` names
    assert after.pop("schema_version") == SCHEMA_VERSION
    assert within(before, after)


def test_the_first_schema_as_it_was_first_written() -> None:
    report = stored(REPORTS / "schema_1_first.json")
    assert "differences" not in json.loads((REPORTS / "schema_1_first.json").read_bytes())
    assert (report.explanation, report.base) == (Explanation(), None)
    assert report.provenance.gold_queries_fingerprint is None
    assert "What differs" not in RENDERERS["markdown"](report) + RENDERERS["terminal"](report)


def test_a_commit_under_provenance_as_it_was_once_written_is_read_over() -> None:
    """`base` has it."""
    written = json.loads(STORED[0].read_bytes())
    written["provenance"]["base"] = {"ref": "main", "sha": "1a2b3c4"}
    assert decode_report(json.dumps(written).encode(), "report.json") == stored(STORED[0])


def test_a_lineage_whose_commit_is_no_sha_is_no_report() -> None:
    written = json.loads(STORED[0].read_bytes())
    lineage = {"record": "0", "date": "2026-01-31", "days_behind": 0, "commit": "@octocat"}
    written["provenance"]["baseline"] = {"path": "baseline", "format": "baseline", "lineage": lineage}
    with pytest.raises(RankgateError, match=r"not a rankgate report: .*`\$\.provenance\.baseline\.lineage\.commit`"):
        decode_report(json.dumps(written).encode(), "report.json")


def test_a_later_schema_is_refused_by_its_number() -> None:
    later = json.loads(STORED[0].read_bytes()) | {"schema_version": SCHEMA_VERSION + 1}
    with pytest.raises(RankgateError) as caught:
        decode_report(json.dumps(later).encode(), "report.json")
    assert str(caught.value.problems[0]) == (
        f"report.json: report schema {SCHEMA_VERSION + 1} is newer than this rankgate reads ({SCHEMA_VERSION}); "
        "upgrade rankgate"
    )
