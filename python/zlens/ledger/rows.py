"""Rows of a ledger: amounts of accounts over the selected time, or by interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zlens.catalog.expressions import literal
from zlens.catalog.ledgers import Ledger
from zlens.ledger.ledger_row import LedgerRow, add

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

_SUMMED = (
    "level, account, node, parent, machine, partition, cpu_type, subject, group_name, any_value(meter), "
    "CASE WHEN count(amount) = count(*) THEN sum(amount) END, "
    "CASE WHEN count(DISTINCT status) > 1 THEN 'assumed' ELSE any_value(status) END, "
    "sum(transactions), count(*)"
)
_KEYS = "level, account, node, parent, machine, partition, cpu_type, subject, group_name"


def ledger_rows(session: CoreSession, ledger: Ledger, *, by_time: bool = False) -> list[LedgerRow]:
    """Return the rows of a ledger, summed over the selected time, or with `by_time` by interval."""
    end = ", interval_end" if by_time else ""
    query = (
        f"SELECT {_SUMMED}{end} FROM ledger WHERE ledger = {literal(ledger.name)} "
        f"GROUP BY {_KEYS}{end} ORDER BY ALL"
    )
    return _grouped([LedgerRow(*row) for row in session.sql(query).rows])


def _grouped(rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """Return rows with the members of each of the user's groups combined."""
    if all(row.group is None for row in rows):
        return [*rows]
    nodes = {
        row.node: f"{row.level}/{row.parent}/{row.group}"
        for row in rows
        if row.group is not None and row.node
    }
    combined: dict[tuple[object, ...], LedgerRow] = {}
    for row in rows:
        parent = None if row.parent is None else nodes.get(row.parent, row.parent)
        node = None if row.node is None else nodes.get(row.node, row.node)
        row = replace(row, node=node, parent=parent, subject=row.group or row.subject)
        key = row.level, row.account, node, parent, row.cpu_type, row.subject, row.end
        combined[key] = add(combined[key], row) if key in combined else row
    return [*combined.values()]
