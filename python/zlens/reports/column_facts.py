"""Catalog facts of the measures underlying the columns of a report."""

from __future__ import annotations

import os
from pathlib import Path

from zlens.catalog import measures as metrics
from zlens.catalog.reports.definition import FOLDER, STATUSES, ReportColumn, files, load_report
from zlens.errors import CatalogError


def facts(column: ReportColumn) -> list[tuple[str, metrics.MeasureColumn]]:
    """Return the measures underlying a report column: `table.column` and its catalog entry."""
    measures = []
    for measure in column.measures:
        table, _, name = measure.partition(".")
        fact = metrics.load_measure(table).column(name)
        if fact is None:
            raise CatalogError(
                f"column {column.key!r} of the report shows {measure!r}, which is not a measure",
                expected=f"a column of the table {table!r}",
            )
        measures.append((measure, fact))
    return measures


def status(column: ReportColumn) -> str:
    """Return the status of a column: its own, else the weakest of its measures."""
    return column.status or max((fact.status for _, fact in facts(column)), key=STATUSES.index)


def unit(column: ReportColumn) -> str:
    """Return the unit of a column: its own, else that of its first measure."""
    return column.unit or next((fact.unit for _, fact in facts(column)), "")


def text(column: ReportColumn) -> str:
    """Return the description of a column: its own, else those of its measures."""
    return column.text or "; ".join(dict.fromkeys(fact.text for _, fact in facts(column)))


def check(folder: Path = FOLDER) -> list[str]:
    """Return the errors in the report files, one sentence each, including unknown measures."""
    errors = []
    for name, path in files(folder).items():
        location = f"reports/{path.relative_to(folder).as_posix()}"
        try:
            report = load_report(name, folder)
            if any(table.has_intervals for table in report.tables) == bool(report.untimed):
                errors.append(
                    f"{location}: untimed is needed if no table has rows of intervals, and only then"
                )
            for table in report.tables:
                for column in table.columns:
                    facts(column)
        except CatalogError as error:
            errors.append(str(error).replace(f"{folder}{os.sep}", f"reports{os.sep}"))
    return errors
