"""Reports defined by the catalog, printed as text, CSV, JSON or HTML."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from zlens.catalog.reports.definition import FOLDER, ReportDefinition, load_report, names
from zlens.errors import QueryError
from zlens.reports.column_facts import check
from zlens.reports.from_listing import read_from_listing
from zlens.reports.options import ReportOptions, apply_options
from zlens.reports.report_list import ReportEntry, format_report_list, list_reports
from zlens.reports.rows import has_table_data

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

FORMATS = ("text", "csv", "json", "html")
DEFAULT = ReportOptions()

__all__ = [
    "FORMATS",
    "ReportDefinition",
    "ReportEntry",
    "ReportOptions",
    "apply_options",
    "check",
    "chunks",
    "format_report_list",
    "list_reports",
    "load_report",
    "missing_input",
    "names",
    "render",
]


def render(
    report: ReportDefinition | str,
    session: CoreSession,
    format: str = "text",
    *,
    now: datetime | None = None,
    width: int | None = None,
    options: ReportOptions = DEFAULT,
    folder: Path = FOLDER,
) -> str:
    """Return a report of a session as one string; see `chunks`."""
    return "".join(chunks(report, session, format, now=now, width=width, options=options, folder=folder))


def missing_input(name: str, session: CoreSession) -> str | None:
    """Return the input that a report needs; None if the session has data for it."""
    definition = read_from_listing(load_report(name), session)
    if definition.kept:
        session = session.with_kept_days
    described = definition.describes(info.release for info in session.systems)
    if described and any(has_table_data(table, session) for table in definition.tables):
        return None
    return definition.needs


def chunks(
    report: ReportDefinition | str,
    session: CoreSession,
    format: str = "text",
    *,
    now: datetime | None = None,
    width: int | None = None,
    options: ReportOptions = DEFAULT,
    folder: Path = FOLDER,
) -> Iterator[str]:
    """Yield a report of a session in chunks, so that memory does not grow with its rows.

    `report` is a definition, a short name or an FCX number; `now` is the run time to print (default: the
    local clock); `width` folds wide tables (for terminals; files have the full width).
    """
    if format not in FORMATS:
        raise QueryError(f"reports have no format {format!r}", expected=f"one of {', '.join(FORMATS)}")
    definition = load_report(report, folder) if isinstance(report, str) else report
    definition = apply_options(read_from_listing(definition, session), session, options)
    now = now or datetime.now()
    # Imported on demand: a text report needs none of the others.
    if format == "csv":
        from zlens.reports import csv_format

        return csv_format.chunks(definition, session)
    if format == "json":
        from zlens.reports import json_format

        return json_format.chunks(definition, session)
    if format == "html":
        from zlens.reports import html_format

        return html_format.chunks(definition, session, now=now)
    from zlens.reports import text_format

    return text_format.chunks(definition, session, now=now, width=width)
