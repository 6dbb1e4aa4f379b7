"""A row of a ledger: an amount of a subject in an account."""

from __future__ import annotations

import datetime as dt

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog.ledgers import STATUSES


class LedgerRow(Struct, frozen=True):
    """An amount of a subject in an account.

    node          identity of a row that the level below divides; None if none does
    parent        the node that the amount is a part of; None for a root
    subject       whose amount it is, or the group of it, with the user's groups
    amount        in the unit of the ledger; None if a part of it is unknown
    status        one of STATUSES
    transactions  that the amount was used for; None if unknown
    per_transaction  the amount of one; None for several subjects
    amounts       number of amounts that it is the sum of, each rounded (Ledger.step)
    end           end of the interval, UTC; None for a sum over the selected time
    """

    level: str
    account: str
    node: str | None
    parent: str | None
    machine: str | None
    partition: str | None
    cpu_type: str | None
    subject: str | None
    meter: str | None
    amount: float | None
    status: str
    transactions: float | None = None
    per_transaction: float | None = None
    amounts: int = 1
    end: dt.datetime | None = None


def add(one: LedgerRow, other: LedgerRow) -> LedgerRow:
    """Return the sum of two rows; its status is the weaker one."""
    ranks = [*STATUSES]
    return replace(
        one,
        amount=None if one.amount is None or other.amount is None else one.amount + other.amount,
        status=max(one.status, other.status, key=ranks.index),
        transactions=None
        if one.transactions is None or other.transactions is None
        else one.transactions + other.transactions,
        per_transaction=None,
        amounts=one.amounts + other.amounts,
    )
