"""Further tables of the answers of ledgers, by the name that a ledger's facts state (`tables`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from zlens.ledger import msu_peaks

if TYPE_CHECKING:
    from zlens.rendering.answer import AnswerTable

#: Returns tables from an input (CoreSession); prices: the user's, or None.
TableFunction = Callable[..., "Iterable[AnswerTable]"]
TABLES: dict[str, TableFunction] = {"msu_peaks": msu_peaks.tables}
