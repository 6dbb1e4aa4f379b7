"""Functions that ledgers name in their facts: of accounts that are calculated, and of further tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from zlens.ledger import msu_peaks

if TYPE_CHECKING:
    from zlens.catalog.ledgers import Ledger
    from zlens.ledger.ledger_row import LedgerRow
    from zlens.rendering.answer import AnswerTable

#: Returns rows of an account from an input (CoreSession), the ledger and its other rows. What it returns is
#: taken from the rest of the level.
Solver = Callable[[Any, "Ledger", "Sequence[LedgerRow]"], "Iterable[LedgerRow]"]
SOLVERS: dict[str, Solver] = {}
#: Returns further tables of the answer (`tables`) from an input (CoreSession); prices: the user's, or None.
Tables = Callable[..., "Iterable[AnswerTable]"]
TABLES: dict[str, Tables] = {"msu_peaks": msu_peaks.tables}
