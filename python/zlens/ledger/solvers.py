"""Accounts whose amounts are calculated: a function by the name that their facts state (`solved`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zlens.catalog.ledgers import Ledger
    from zlens.ledger.ledger_row import LedgerRow

#: Returns rows of an account from an input (CoreSession), the ledger and its other rows. What it returns is
#: taken from the rest of the level.
Solver = Callable[[Any, "Ledger", "Sequence[LedgerRow]"], "Iterable[LedgerRow]"]
SOLVERS: dict[str, Solver] = {}
