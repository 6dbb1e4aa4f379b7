"""One report of one interval, as parsed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class SectionCount:
    """Number of occurrences and bytes of a section in a report."""

    count: int = 0
    bytes: int = 0
    known: bool = False


@dataclass(slots=True)
class ReportInterval:
    """One report of one interval, as far as it was read."""

    offset: int
    metric: str = ""
    title: str = ""
    type: str = ""
    smf_level: str = ""
    rmf_level: str = ""
    #: Level of the server that responded.
    server: str = ""
    system: str = ""
    start: tuple[str, str | None] | None = None
    end: tuple[str, str | None] | None = None
    length: str = ""
    length_unit: str = ""
    #: Texts of other elements of the header, by name.
    header: dict[str, str] = field(default_factory=dict)
    #: Values of the sections that are lists, by section and column.
    variables: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Rows of the sections that are tables, by section: offset, kind, values.
    rows: dict[str, list[tuple[int, str | None, list[Any]]]] = field(default_factory=dict)
    row_count: int = 0
    lost_rows: int = 0
    #: Number and characters of values kept although the catalog does not list them.
    other_count: int = 0
    other_size: int = 0
    sections: dict[str, SectionCount] = field(default_factory=dict)
    answered: bool = False
    cut: bool = False
    bytes: int = 0

    def digest(self) -> int:
        """A number that tells its values from others."""
        rows = {name: [row[1:] for row in rows] for name, rows in self.rows.items()}
        values = repr((self.length, self.header, self.variables, rows))
        return int.from_bytes(hashlib.blake2b(values.encode(), digest_size=8).digest())
