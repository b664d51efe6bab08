"""pytest as a command line: the fixture `rankgate_check`, and by `--rankgate=FILE` a test for each gate of a check.

pytest loads this module in every environment that has rankgate; all else is imported by who uses it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rankgate import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rankgate`."""
    text = "check by these ship criteria, whose `inputs:` name the files, with a test for each gate and segment"
    parser.getgroup("rankgate").addoption("--rankgate", metavar="FILE", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Take the file that the option names as an argument, unless one names it, or a part of it."""
    path = _named(config)
    if path and not path.is_file():  # as an empty variable: nothing would be judged, and all would pass
        raise pytest.UsageError(f"--rankgate={config.getoption('--rankgate')}: no such file")
    if path and path not in {Path(each.partition("::")[0]).resolve() for each in config.args}:
        config.args.append(str(path))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The criteria are a file of tests; no other file is."""
    return _Criteria.from_parent(parent, path=file_path) if _named(parent.config) == file_path.resolve() else None


def _named(config: pytest.Config) -> Path | None:
    named = config.getoption("--rankgate")
    return None if named is None else Path(named).resolve()


@pytest.fixture(scope="session")
def rankgate_check() -> Callable[..., Report]:
    """`rankgate.check`."""
    from rankgate import check

    return check


class _Criteria(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        """The gates and segments of the report, and the whole check under the name of its run."""
        from rankgate import RankgateError
        from rankgate.api import check
        from rankgate.renderers.escape import one_line
        from rankgate.renderers.view.numbers import HEADINGS, cells_of, row_of

        try:
            report = check(criteria=os.path.relpath(self.path))
        except RankgateError as error:
            raise self.CollectError(str(error)) from error
        for gate in report.gates:
            cells = zip(HEADINGS, cells_of(row_of(gate, report, alone=False)), strict=True)
            numbers = "; ".join(f"{heading} {text}" for heading, text in cells if text)
            texts = [*(f"{one_line(reason.text)}." for reason in gate.decision.reasons), numbers]
            name = one_line(gate.name, 200) + (f"[{one_line(gate.segment, 200)}]" if gate.segment else "")
            yield self._test(name, gate.verdict, texts, gate.line)
        reasons = [*report.remarks.failures, *report.remarks.warnings]
        run = report.provenance.run.path if report.provenance.run else self.name
        texts = [one_line(report.summary), *(f"{one_line(text)}." for text in reasons)]
        yield self._test(f"check[{one_line(run, 200)}]", report.verdict, texts, None)

    def _test(self, name: str, verdict: str, texts: list[str], line: int | None) -> pytest.Item:
        test: _Gate = _Gate.from_parent(self, name=name)
        test.verdict = verdict
        test.text = "\n".join(texts)
        test.line = line or 1
        return test


class _Gate(pytest.Item):
    verdict: str
    text: str
    line: int

    def setup(self) -> None:
        """What is not judged is an error, and neither a pass nor a failure."""
        if self.verdict == "not_judged":
            pytest.fail(self.text, pytrace=False)

    def runtest(self) -> None:
        """A violation fails; a warning is one of pytest."""
        if self.verdict == "fail":
            pytest.fail(self.text, pytrace=False)
        if self.verdict == "warn":
            self.warn(pytest.PytestWarning(self.text))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A warning that `-W error` raises is its text alone."""
        return str(excinfo.value) if excinfo.errisinstance(Warning) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the gate stands in the criteria."""
        return self.path, self.line - 1, self.name
