"""Reports as JSON: one array of objects, column keys as names, exact values, null where there is none.

`row` says what kind of row it is, or the label of rows that have a question of their own; in a total a column
holds what its rule makes of it, such as the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from zlens._native import Lines
from zlens.reports.definition import Definition
from zlens.reports.rows import Session, fetch, printable


def chunks(definition: Definition, session: Session) -> Iterator[str]:
    blocks = fetch(definition, session)
    between = "[\n"
    for n, table in enumerate(definition.tables):
        first = [("table", table.key)] if len(definition.tables) > 1 else []
        names = [column.key for column in table.columns]
        nothing: list[str | None] = [None] * len(names)
        for block in blocks:
            for part in block.tables[n][1]:
                before = [
                    [*first, ("row", section.rows.called), (definition.block, block.name)] for section in part
                ]
                fixed = [nothing] * len(part)
                lines = Lines.json(printable(part), before, names, fixed, timed=bool(table.time))
                for place, chunk in enumerate(lines):
                    yield chunk if place else between + chunk
                    between = ",\n"
    yield "\n]\n" if between == ",\n" else "[]\n"
