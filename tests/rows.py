"""A table of rows that need nothing set up is one test, which goes through all of them and names those that fail.

A test of its own costs each row some milliseconds in every worker. `pytest.mark.parametrize` is for rows with fixtures.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from _pytest.mark import ParameterSet

Test = Callable[..., None]


def each_row(
    names: str | tuple[str, ...], rows: Iterable[Any], *, ids: Iterable[object] | Callable[[Any], object] = ()
) -> Callable[[Test], Test]:
    """The decorator, called as `pytest.mark.parametrize` is."""
    argnames = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [ParameterSet.extract_from(row, force_tuple=len(argnames) == 1) for row in rows]
    labels = [] if callable(ids) else list(ids)

    def decorated(test: Test) -> Test:
        known = inspect.signature(test)
        left = [value for name, value in known.parameters.items() if name not in argnames]

        def all_rows(**outer: Any) -> None:
            failures = []
            for number, row in enumerate(table):
                values = dict(zip(argnames, row.values, strict=True))
                try:
                    test(**outer, **values)
                except Exception as error:  # noqa: BLE001 -- every row that fails is named
                    label = row.id or (labels[number] if labels else values)
                    error.add_note(f"row {number}: {label}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows", failures)

        assert table, "a table without rows tests nothing"
        all_rows.__name__ = test.__name__
        all_rows.__doc__ = test.__doc__
        all_rows.__module__ = test.__module__
        all_rows.__signature__ = known.replace(parameters=left)  # type: ignore[attr-defined]
        return all_rows

    return decorated
