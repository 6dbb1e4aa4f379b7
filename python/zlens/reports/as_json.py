"""Reports as JSON: one array of objects, column keys as names, exact values, null where there is none.

`row` says what kind of row it is, or the label of rows that have a question of their own; in a total a column
holds what its rule makes of it, such as the number of rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from zlens.reports import style
from zlens.reports.definition import Definition, Table
from zlens.reports.rows import Block, Session, fetch, order


def render(definition: Definition, session: Session) -> str:
    lines = []
    blocks = fetch(definition, session)
    for n, table in enumerate(definition.tables):
        names = [*fields(definition, table), *(column.key for column in table.columns)]
        for block in blocks:
            for record in records(definition, block, n):
                values = {name: plain(value) for name, value in zip(names, record, strict=True)}
                lines.append(json.dumps(values, ensure_ascii=False, allow_nan=False))
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def fields(definition: Definition, table: Table) -> list[str]:
    """What stands before the columns of the report."""
    names = ["table"] if len(definition.tables) > 1 else []
    names += ["row", definition.block]
    return names + (["interval_end", "flag"] if table.time else [])


def records(definition: Definition, block: Block, n: int) -> Iterator[list[style.Value]]:
    """The rows of the n-th table as values, in the order of printing."""
    table, parts = block.tables[n]
    before: list[style.Value] = [table.key] if len(definition.tables) > 1 else []
    for part in parts:
        for section, i in order(part):
            timed = [section.times[i], section.flags[i]] if table.time else []
            yield [
                *before,
                section.rows.called,
                block.name,
                *timed,
                *(values[i] for values in section.values),
            ]


def plain(value: style.Value) -> style.Value:
    if style.missing(value):
        return None
    return iso(value) if isinstance(value, datetime) else value


def iso(when: datetime) -> str:
    """ISO 8601 with Z."""
    utc = when.astimezone(UTC) if when.tzinfo else when
    return utc.replace(tzinfo=None).isoformat() + "Z"
