"""Renderer of a layout as a monitor record page, in each style in which such pages are saved.

Columns, headings and the order of the sections are as published; the descriptions are synthetic. The pages
also have what the catalog's fields do not contain: header, group labels and bits.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zlens.catalog.layouts import MonitorField, MonitorSection, RecordLayout

STYLES = ("4.x", "6.2", "flat")

_CLASSES = {
    "event": "Event",
    "sample": "Sample",
    "sample-config": "Sample Configuration",
    "event-config": "Event Configuration",
    "event+sample": "Event and Sample",
    "event+sample-config": "Event and Sample Configuration",
}
_DOMAINS = (
    "System",
    "Monitor",
    "Scheduler",
    "Storage",
    "User",
    "Processor",
    "I/O",
    "Seek",
    "Virtual Network",
)
_HEADER = (
    ("MRHDR", 0, 20, "Character", ""),
    ("MRHDRLEN", 0, 2, "Unsigned", "how long the record is"),
    ("MRHDRZER", 2, 2, "Unsigned", "nothing but zeros"),
    ("MRHDRDM", 4, 1, "Unsigned", "domain"),
    ("*", 5, 1, "Unsigned", ""),
    ("MRHDRRC", 6, 2, "Unsigned", "number of the record"),
    (
        "MRHDRTOD",
        8,
        8,
        "Character",
        "when the record was made, as a clock value of 64 bits, of which 4096 units are 1 us",
    ),
    ("*", 16, 4, "Character", ""),
    ("MRHDR_END", 20, 0, "Character", ""),
)


@dataclass(frozen=True)
class Columns:
    """Positions of the columns of a table."""

    head: str
    dec: int
    hex: int
    type: int
    length: int
    name: int
    text: int

    @property
    def width(self) -> int:
        return self.text - self.name


COLUMNS = {
    "4.x": Columns("Dec Hex  Type       Len  Name (Dim)          Description", 3, 7, 9, 23, 25, 45),
    "6.2": Columns("Dec  Hex  Type        Len  Name (Dim)             Description", 4, 8, 10, 25, 27, 50),
}


def page(
    layout: RecordLayout,
    style: str = "6.2",
    *,
    release: str | None = "7.3",
    markup: bool = False,
    bits: Mapping[str, Iterable[tuple[int, str]]] | None = None,
    cross: bool = True,
    length: int | None = None,
    cross_changes: Mapping[str, tuple[int, int]] | None = None,
) -> str:
    """Return a page of one record. `bits` has the named bits (value, name) of bitstrings; `length` replaces
    the layout's record length, `cross_changes` offsets and lengths in the cross reference."""
    columns = COLUMNS["6.2" if style == "flat" else style]
    table, references = _table(layout, columns, bits or {}, length)
    for name, place in (cross_changes or {}).items():
        references[name] = [(place[0], place[1], None)]
    name = layout.dsect
    parts = [
        f"{name}\n\nProlog\nControl Block Contents\nCross Reference\n\n{name} Prolog\n",
        _prolog(layout),
        f"\n{name} Control Block Contents\n\nOffsets\n{columns.head}\n \n{table}\n",
    ]
    if cross:
        parts.append(f"\n{name} Cross Reference\n\n{_cross(references)}\n")
    if release:
        major, minor = release.split(".")
        parts.append(f"\nThis page is based on z/VM V{major}R{minor}.0.\n")
    text = "\n".join(parts)
    if style == "flat":
        return " ".join(text.split())
    if markup:
        inside = html.escape(text).replace("Prolog\n", '<a href="#p">Prolog</a>\n', 1)
        return (
            f"<!DOCTYPE html><html><head><title>x</title></head><body>\n<pre>\n{inside}</pre></body></html>\n"
        )
    return text


def null_page(name: str, domain: int, number: int, release: str = "7.3") -> str:
    """Return a page of a record that is no longer produced: only a prolog."""
    major, minor = release.split(".")
    return (
        f"{name}\n\nProlog\n\n{name} Prolog\n\n DSECT NAME - {name[2:]}\n NAME - {name}\n"
        f" DESCRIPTIVE NAME - Monitor Event Record\n"
        f"                    Domain {domain} - {_DOMAINS[domain]} Domain\n"
        f"                    Record {number} - Null Record\n DESCRIPTION - Not made any more.\n\n"
        f"This page is\nbased on z/VM V{major}R{minor}.0.\n"
    )


def _prolog(layout: RecordLayout) -> str:
    domain = _DOMAINS[layout.domain] if layout.domain < len(_DOMAINS) else "Other"
    title = textwrap.wrap(f"Record {layout.number} - {layout.title}", 40)
    lines = [
        f" DSECT NAME - {layout.dsect[2:]}",
        f" NAME - {layout.dsect}",
        f" DESCRIPTIVE NAME - Monitor {_CLASSES[layout.kind]} Record",
        f"                    Domain {layout.domain}  - {domain} Domain",
        *(f"                    {'' if at == 0 else '           '}{line}" for at, line in enumerate(title)),
        " DESCRIPTION - Says where the fields of this record stand.",
        " NOTES:",
        "   - 12 0C and 20 14 are numbers that are no row of the table.",
    ]
    return "\n".join(lines)


def _table(
    layout: RecordLayout, columns: Columns, bits: Mapping[str, Iterable[tuple[int, str]]], length: int | None
) -> tuple[str, dict[str, list[tuple[int, int | None, int | None]]]]:
    short = layout.dsect[2:]
    references: dict[str, list[tuple[int, int | None, int | None]]] = {}
    lines: list[str] = []

    def row(name: str, at: int, size: int, kind: str, text: str, *, dim: str = "", plus: str = "") -> None:
        lines.extend(_row(columns, name + dim, at, size, kind, text, plus))
        if name != "*":
            references.setdefault(name, []).append((at, size, None))

    def field(f: MonitorField) -> None:
        dim = "" if f.count == 1 else f"({f.first}:{f.first + f.count - 1})"
        row(f.name, f.offset, f.length, f.type.capitalize(), f.text or "", dim=dim)
        for value, name in bits.get(f.name, ()):
            lines.extend(_bit(columns, value, name))
            if name != "*":
                references.setdefault(name, []).append((f.offset, None, value))

    sections = [section for section in layout.sections if not section.derived]
    size = layout.length if length is None else length
    row(short, 0, size, "Structure", "where the record begins", plus="+" if layout.variable else "")
    row(f"{short}_MRHDR", 0, 0, "Character", "the header that every record begins with")
    for name, at, width, kind, text in _HEADER:
        row(name, at, width, kind, text)
    for f in layout.fields:
        field(f)
    for section in sections:
        row(_section_name(short, section), layout.length, 0, "Character", "where the entries begin")
    if not sections and not any(f.length == 0 for f in layout.fields):
        row(f"{short}_END", layout.length, 0, "Character", "")
    for section in sections:
        row(_section_name(short, section), 0, section.length, "Structure", section.title)
        for f in section.fields:
            field(f)
    return "\n".join(lines), references


def _section_name(short: str, section: MonitorSection) -> str:
    return f"{short}_{section.name}"


def _row(columns: Columns, name: str, at: int, size: int, kind: str, text: str, plus: str) -> list[str]:
    line = f"{at:>{columns.dec}}{at:>{columns.hex - columns.dec}X}"
    line = f"{line:<{columns.type}}{kind}"
    line = f"{line:<{columns.type + 10}}{size:>{columns.length - columns.type - 10}}{plus}"
    return _described(columns, f"{line:<{columns.name}}", name, text)


def _bit(columns: Columns, value: int, name: str) -> list[str]:
    pattern = "".join("1" if value >> bit & 1 else "." for bit in range(7, -1, -1))
    line = f"{' ' * columns.type}{pattern[:4]} {pattern[4:]}"
    return _described(
        columns, f"{line:<{columns.name}}", name, "" if name == "*" else "what the bit means when it is on"
    )


def _described(columns: Columns, line: str, name: str, text: str) -> list[str]:
    # A name that is too long is truncated; its description follows without a blank, as on published pages.
    wrapped = textwrap.wrap(text, 30) or [""]
    first = f"{line}{name[: columns.width]:<{columns.width}}{wrapped[0]}"
    return [first, *(" " * columns.text + more for more in wrapped[1:])]


def _cross(references: Mapping[str, list[tuple[int, int | None, int | None]]]) -> str:
    lines = ["                      Hex           Hex", "Name                  Offset Length Value", " "]
    for name in sorted(references):
        for at, size, value in references[name]:
            end = f"{size:>7}" if value is None else f"{f'{value:02X}':>14}"
            lines.append(f"{name:<21}{at:>7X}{end}")
    return "\n".join(lines)
