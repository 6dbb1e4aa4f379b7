"""The rows of a ledger as a tree: each below the one that it is a part of, the largest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog.ledgers import Ledger
from zlens.ledger.ledger_row import LedgerRow, add


class LedgerEntry(Struct, frozen=True):
    """A row with its depth below a root, and that root; the sum of several if it is a part of each."""

    row: LedgerRow
    depth: int
    root: LedgerRow


def entries(rows: Sequence[LedgerRow], top: int | None = None) -> Iterator[LedgerEntry]:
    """Yield rows from the roots down. With `top`, the others of an account are one row.

    Parts of a node that several rows have follow the largest: a partition may have processors of two types.
    """
    parts: dict[str | None, list[LedgerRow]] = {}
    of_node: dict[str, list[LedgerRow]] = {}
    for row in rows:
        if row.node is not None:
            of_node.setdefault(row.node, []).append(row)
    for row in rows:
        parts.setdefault(row.parent if row.parent in of_node else None, []).append(row)
    largest = {node: max(found, key=lambda row: row.amount or 0.0) for node, found in of_node.items()}
    tops: dict[str, list[LedgerRow]] = {}

    def roots(node: str) -> list[LedgerRow]:
        """Return the roots that the rows of a node are parts of, each once."""
        if node not in tops:
            found = [
                root
                for row in of_node[node]
                for root in (roots(row.parent) if row.parent in of_node else [row])
            ]
            tops[node] = list({id(root): root for root in found}.values())
        return tops[node]

    def below(parent: str | None, depth: int) -> Iterator[LedgerEntry]:
        for row in _largest(parts.get(parent, ()), top):
            yield LedgerEntry(row, depth, row if parent is None else reduce(add, roots(parent)))
            if row.node is not None and row is largest[row.node]:
                yield from below(row.node, depth + 1)

    yield from below(None, 0)


def _largest(rows: Sequence[LedgerRow], top: int | None) -> Iterator[LedgerRow]:
    """Yield rows in order of their amounts; those of an account beyond `top` as one row, without parts."""
    counts: dict[str, int] = {}
    others: dict[str, LedgerRow] = {}
    for row in sorted(rows, key=lambda row: (-(row.amount or 0.0), row.account, row.subject or "")):
        counts[row.account] = counts.get(row.account, 0) + 1
        if top is None or counts[row.account] <= top:
            yield row
        else:
            other = replace(row, node=None, subject=None)
            others[row.account] = add(others[row.account], other) if row.account in others else other
    for account, row in others.items():
        yield replace(row, subject=f"{counts[account] - (top or 0)} others")


def imbalances(ledger: Ledger, rows: Sequence[LedgerRow]) -> dict[str, float]:
    """Return what each node with parts has more than these; what the rounding of amounts explains is 0."""
    wholes: dict[str, float] = {}
    sums: dict[str, float] = {}
    rounding: dict[str, float] = {}
    unknown: set[str] = set()
    for row in rows:
        for identity, amounts in ((row.node, wholes), (row.parent, sums)):
            if identity is None:
                continue
            if row.amount is None:
                unknown.add(identity)
            amounts[identity] = amounts.get(identity, 0.0) + (row.amount or 0.0)
            rounding[identity] = rounding.get(identity, 0.0) + row.amounts * ledger.step / 2
    differences = {node: wholes[node] - amount for node, amount in sums.items() if node in wholes}
    return {
        node: difference if abs(difference) > rounding[node] else 0.0
        for node, difference in differences.items()
        if node not in unknown
    }
