"""Reports as CSV: a header row of keys, then every row with its exact values.

Before the columns of the report stand the kind of row, the system and, where rows have one, the time (UTC,
ISO 8601) and the flag of the interval. Several tables of one report follow each other after an empty line.
"""

from __future__ import annotations

from collections.abc import Iterator

from zlens._native import Lines
from zlens.reports.definition import Definition, Table
from zlens.reports.rows import Session, fetch, printable


def chunks(definition: Definition, session: Session) -> Iterator[str]:
    blocks = fetch(definition, session)
    for n, table in enumerate(definition.tables):
        names = [*fields(definition, table), *(column.key for column in table.columns)]
        yield ("\n" if n else "") + ",".join(names) + "\n"
        first = [table.key] if len(definition.tables) > 1 else []
        for block in blocks:
            for part in block.tables[n][1]:
                before = [[*first, section.rows.called, block.name] for section in part]
                yield from Lines.csv(printable(part), before, timed=bool(table.time))


def fields(definition: Definition, table: Table) -> list[str]:
    """What stands before the columns of the report."""
    names = ["table"] if len(definition.tables) > 1 else []
    names += ["row", definition.block]
    return names + (["interval_end", "flag"] if table.time else [])
