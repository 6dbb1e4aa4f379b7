"""How much of the measures is exported."""

from __future__ import annotations

from msgspec import Struct

#: Rows of each measure and system that are exported unless somebody says otherwise.
DEFAULT_ROWS = 200


class ExportLimits(Struct, frozen=True):
    """How much is exported.

    rows   rows of each measure and system, those with the largest value of its main column; None: all
    """

    rows: int | None = DEFAULT_ROWS
