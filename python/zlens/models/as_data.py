"""An answer for programs: rows of all its tables, exact values.

Each row names its table; figures, assumptions and notes are tables, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zlens.models.answer import Answer, Value


def rows(answer: Answer) -> Iterator[dict[str, Value]]:
    """All rows as dictionaries, each with `table` first."""
    for figure in answer.figures:
        yield {"table": "figures", "name": figure.key, "value": figure.value, "unit": figure.unit}
    for table in answer.tables:
        names = [column.key for column in table.columns]
        for row in table.rows:
            yield {"table": table.key, **dict(zip(names, row, strict=True))}
    for assumption in answer.assumptions:
        facts = {
            "name": assumption.name,
            "value": assumption.value,
            "unit": assumption.unit,
            "status": assumption.status,
        }
        yield {"table": "assumptions", **facts, "text": assumption.text}
    for note in answer.notes:
        yield {"table": "notes", "text": note}


def flat(answer: Answer) -> tuple[list[str], list[Sequence[Value]]]:
    """Headings and all rows, for CSV."""
    records = list(rows(answer))
    names = list(dict.fromkeys(name for record in records for name in record))
    return names, [[record.get(name) for name in names] for record in records]
