"""Reports as CSV: a header row of keys, then every row with its exact values.

Before the columns of the report stand the kind of row, the system and, where rows have one, the time (UTC,
ISO 8601) and the flag of the interval. Several tables of one report follow each other after an empty line.
"""

from __future__ import annotations

import csv
import io
from datetime import datetime

from zlens.reports import as_json, style
from zlens.reports.definition import Definition
from zlens.reports.rows import Session, fetch


def render(definition: Definition, session: Session) -> str:
    blocks = fetch(definition, session)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for n, table in enumerate(definition.tables):
        if n:
            out.write("\n")
        writer.writerow([*as_json.fields(definition, table), *(column.key for column in table.columns)])
        for block in blocks:
            for record in as_json.records(definition, block, n):
                writer.writerow([plain(value) for value in record])
    return out.getvalue()


def plain(value: style.Value) -> style.Value:
    """A value as CSV has it: empty for none, floats with all their digits."""
    if style.missing(value):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return as_json.iso(value)
    return repr(value) if isinstance(value, float) else value
