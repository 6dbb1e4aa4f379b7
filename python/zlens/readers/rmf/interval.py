"""One report of one interval, as parsed."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

_MASK = 2**64 - 1


class SectionCount(Struct):
    """Number of occurrences and bytes of a section in a report."""

    count: int = 0
    bytes: int = 0
    known: bool = False

    def add(self, other: SectionCount) -> None:
        """Add the occurrences of the section in another report."""
        self.count += other.count
        self.bytes += other.bytes
        self.known = self.known or other.known


#: A row of a table: its offset, its kind, and its values.
TableRow = tuple[int, str | None, tuple[Any, ...]]


class ReportInterval(Struct):
    """One report of one interval, complete or not."""

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
    rows: dict[str, list[TableRow]] = field(default_factory=dict)
    row_count: int = 0
    lost_rows: int = 0
    #: Number and characters of the stored values that are not in the catalog.
    other_count: int = 0
    other_size: int = 0
    sections: dict[str, SectionCount] = field(default_factory=dict)
    answered: bool = False
    cut: bool = False
    #: The numbers of a table's rows have a gap.
    rows_missing: bool = False
    bytes: int = 0
    #: The number of the last page that was read, by name of the printed report.
    pages: dict[str, int] = field(default_factory=dict)

    def digest(self, part: str) -> int:
        """Return a digest of the values of a section, valid in this process; part "": of all sections."""
        rows = tuple([(id, *[row[1:] for row in rows]) for id, rows in self.rows.items() if part in ("", id)])
        variables = tuple((name, *row.items()) for name, row in self.variables.items() if part in ("", name))
        header_values = () if part else (self.length, *self.header.items())
        return hash((header_values, variables, rows)) & _MASK

    def drop(self, part: str) -> None:
        """Remove a section."""
        self.row_count -= len(self.rows.pop(part, ()))
        self.variables.pop(part, None)
