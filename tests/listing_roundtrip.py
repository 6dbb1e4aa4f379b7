"""Comparison of a printed report with the values read back from it."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from pathlib import Path
from typing import Any

import zlens
from zlens import reports
from zlens.api import Session
from zlens.catalog import listings
from zlens.catalog.reports import definition
from zlens.reports import json_format
from zlens.session.session import CoreSession

NOW = dt.datetime(2026, 11, 21, 8, 0, 0)


def differences(session: CoreSession, name: str, folder: Path) -> tuple[int, list[str]]:
    """Return the number of values of a printed report, and those that are not read back as printed."""
    report = definition.load_report(name)
    path = folder / f"{name}.txt"
    path.write_text(reports.render(name, session, now=NOW), encoding="utf-8")
    wanted = without_peaks(reports.render(name, session, "json"))
    if not wanted:
        return 0, []
    wrong: list[str] = []
    count = 0
    with zlens.open(str(path)) as listing:
        # Columns that are not in the catalog are printed as they were read.
        known = {_without_line(problem.detail) for problem in session.problems}
        details = [problem.detail for problem in listing.problems if problem.kind == "no_layout"]
        wrong += [detail for detail in details if _without_line(detail) not in known]
        for table in report.tables:
            own = [row for row in wanted if row["table"] == table.key] if len(report.tables) > 1 else wanted
            if not own:
                continue
            raw = listings.table_name(report, table)
            # Texts that only the printed row has.
            fixed = {rows.label for rows in table.rows if rows.label} | {
                text for rows in table.rows for text in rows.cells.values() if text
            }
            try:
                found = rows_of(listing, raw)
            except zlens.QueryError:
                wrong.append(f"{raw}: not read, {len(own)} rows")
                continue
            if len(found) != len(own):
                wrong.append(f"{raw}: {len(found)} rows, not {len(own)}")
                continue
            for expected, row in zip(own, found, strict=True):
                for column in table.columns:
                    count += 1
                    problem = differs(expected.get(column.key), row, column)
                    if problem and {row[listings.column_name(column)], expected.get(column.key)} & fixed:
                        continue
                    if problem:
                        wrong.append(f"{raw} line {row['line_number']} {column.key}: {problem}")
    return count, wrong


def _without_line(detail: str) -> str:
    return re.sub(r"^line \d+: ", "", detail)


def without_peaks(text: str) -> list[dict[str, Any]]:
    """Return the rows of a report without those of peaks, which are not read but found again."""
    return [row for row in json.loads(text) if row["row"] != "peak"]


def rows_of(session: Session, raw: str) -> list[dict[str, Any]]:
    answer = session.sql(f"SELECT * FROM {raw} ORDER BY file, line_number")
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def differs(expected: Any, row: dict[str, Any], column: definition.ReportColumn) -> str:
    """Describe how a value differs from the printed one; "" if it is within the printed precision."""
    name = listings.column_name(column)
    value = row[name]
    if column.type == "number":
        if expected is None or value is None:
            return "" if expected is value else f"{value!r} for {expected!r}"
        half = row[name + listings.PRECISION_SUFFIX]
        if not math.isclose(value, float(expected), rel_tol=1e-12, abs_tol=half * (1 + 1e-9)):
            return f"{value!r} +- {half!r} for {expected!r}"
        return ""
    if column.type == "time":
        return "" if (value is None) == (expected is None) else f"{value!r} for {expected!r}"
    if column.type == "bool":
        # Totals have no value.
        missing = expected is None or expected == ""
        return "" if (value is None) == missing else f"{value!r} for {expected!r}"
    if isinstance(value, int):
        return "" if expected is not None and value == int(expected) else f"{value!r} for {expected!r}"
    text = None if expected in (None, "") else " ".join(str(expected).split())
    value = None if value is None else " ".join(value.split())
    return "" if (value or None) == text else f"{value!r} for {expected!r}"


def of_measures(session: CoreSession, name: str, folder: Path) -> tuple[int, list[str], list[str]]:
    """Compare a report computed from its own listing's measures with the printed one.

    Return the number of equal values, the columns that measures do not provide, and the differences. Tables
    and columns that the catalog lists as unmapped are skipped.
    """
    report = definition.load_report(name)
    path = folder / f"{name}.txt"
    path.write_text(reports.render(name, session, now=NOW), encoding="utf-8")
    wanted = without_peaks("".join(json_format.chunks(report, session)))
    if not wanted:
        return 0, [], []
    apart = listings.unmapped_reasons()
    same, missing, wrong = 0, set(), []
    with zlens.open(str(path)) as listing:
        computed = without_peaks("".join(json_format.chunks(report, listing._core)))
    for table in report.tables:
        raw = listings.table_name(report, table)
        # A table of one source is not computed from a listing of it.
        if raw in apart or "source = '" in table.query:
            continue
        own, other = (
            [row for row in rows if row.get("table", table.key) == table.key] for rows in (wanted, computed)
        )
        if len(own) != len(other):
            wrong.append(f"{raw}: {len(other)} rows, not {len(own)}")
            continue
        for expected, row in zip(own, other, strict=True):
            for column in table.columns:
                value, printed = row.get(column.key), expected.get(column.key)
                if value is None and printed is not None:
                    missing.add(f"{raw}.{listings.column_name(column)}")
                elif alike(value, printed, column):
                    same += printed is not None
                else:
                    wrong.append(f"{raw} {column.key}: {value!r} for {printed!r} in {expected}")
    return same, sorted(missing - apart.keys()), wrong


def alike(value: Any, printed: Any, column: definition.ReportColumn) -> bool:
    """Return whether a value equals the printed one: within its last digit or 1%; a time, to the second."""
    if isinstance(value, float) and isinstance(printed, float | int):
        return math.isclose(value, printed, rel_tol=0.011, abs_tol=1.01 / 10**column.decimals)
    if column.type == "time":
        return str(value)[:19] == str(printed)[:19]
    # Blanks and dots are read as no text.
    return bool((value or None) == (printed or None))
