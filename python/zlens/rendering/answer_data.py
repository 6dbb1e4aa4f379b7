"""Answers for programs, with exact values: one object of tables (JSON), or rows of all tables (CSV)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec.structs import asdict

from zlens.rendering import rows as out_rows
from zlens.rendering.answer import Answer, Value


def to_json(answer: Answer) -> str:
    """Return one object: model, title, figures, tables by key with units, assumptions and notes."""
    text = json.dumps(out_rows.to_json(document(answer)), ensure_ascii=False, allow_nan=False, indent=1)
    return f"{text}\n"


def document(answer: Answer) -> dict[str, Any]:
    """Return the object of `to_json`; rows of tables are objects by column."""
    return {
        "model": answer.model,
        "title": answer.title,
        "figures": {
            figure.key: {"value": figure.value, "unit": figure.unit, "text": figure.text}
            for figure in answer.figures
        },
        "tables": {
            table.key: {
                "title": table.title,
                "columns": {
                    column.key: {"heading": column.heading, "unit": column.unit, "text": column.text}
                    for column in table.columns
                },
                "rows": table.records(),
            }
            for table in answer.tables
        },
        "assumptions": [asdict(assumption) for assumption in answer.assumptions],
        "notes": list(answer.notes),
    }


def rows(answer: Answer) -> Iterator[dict[str, Value]]:
    """Return all rows as dictionaries, each with `table` first."""
    for figure in answer.figures:
        yield {"table": "figures", "name": figure.key, "value": figure.value, "unit": figure.unit}
    for table in answer.tables:
        yield from ({"table": table.key, **record} for record in table.records())
    for assumption in answer.assumptions:
        facts = {name: getattr(assumption, name) for name in ("name", "value", "unit", "status", "text")}
        yield {"table": "assumptions", **facts}
    for note in answer.notes:
        yield {"table": "notes", "text": note}


def to_csv(answer: Answer) -> str:
    """Return the rows of all tables under the names of all their columns."""
    records = list(rows(answer))
    names = list(dict.fromkeys(name for record in records for name in record))
    return out_rows.csv_text(names, [[record.get(name) for name in names] for record in records])
