"""One report of one interval as the parser hands it over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Seen:
    """How often a section stands in a report, and how long it is."""

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
    #: What the server that answered says of its level.
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
    #: What is kept that the catalog does not know: values, characters.
    other_count: int = 0
    other_size: int = 0
    sections: dict[str, Seen] = field(default_factory=dict)
    answered: bool = False
    cut: bool = False
    bytes: int = 0
