"""Limits of the export of metrics."""

from __future__ import annotations

from msgspec import Struct

#: Default number of rows exported for each measure and system.
DEFAULT_ROWS = 200


class ExportLimits(Struct, frozen=True):
    """Limits of an export.

    rows   rows of each measure and system, with the largest values of its main column; None: all
    """

    rows: int | None = DEFAULT_ROWS
