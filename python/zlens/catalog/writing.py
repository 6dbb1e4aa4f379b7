"""Compiles layouts into the plan with which the simulator writes records.

A simulated file uses zlens' own layouts where the real positions of fields are not public, and those of
z/VM 5.3 otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from zlens.catalog import layouts
from zlens.catalog.columns import column_type
from zlens.catalog.layouts import Field, Layout, Section
from zlens.errors import CatalogError

#: The release whose layouts are used where zlens has none of its own.
RELEASE = "5.3"
#: How a value becomes bytes, by the type of its column.
_FORMS = {"text": "ebcdic", "ascii": "ascii", "hex": "bytes"}


def layout(record: str) -> Layout:
    """The layout with which a simulated file writes a record; CatalogError if there is none."""
    for candidate in layouts.sim_layouts(record):
        return candidate
    for candidate in layouts.layouts(record):
        if candidate.pack == layouts.BUILTIN and candidate.release == RELEASE:
            return candidate
    raise CatalogError(f"{record} has no layout to write it with", expected=f"one of zlens or of {RELEASE}")


def plan(records: Iterable[str]) -> list[dict[str, Any]]:
    """The layouts of records as the simulator reads them: fields by name, without their record's prefix."""
    return [_record(layout(record)) for record in records]


def _record(layout: Layout) -> dict[str, Any]:
    prefix = layout.dsect.removeprefix("MR") + "_"
    return {
        "record": layout.record,
        "domain": layout.domain,
        "number": layout.number,
        "length": layout.length,
        "fields": _fields(layout.fields, prefix),
        # Sections whose records are joined have their bytes in a field that runs to the record's end.
        "sections": {
            section.name: _section(section, prefix) for section in layout.sections if section.join is None
        },
    }


def _fields(fields: Sequence[Field], prefix: str) -> dict[str, dict[str, Any]]:
    return {
        field.name.removeprefix(prefix): {
            "at": field.offset,
            "length": field.length,
            "count": field.count,
            "form": _FORMS.get(column_type(field), "number"),
        }
        for field in fields
    }


def _section(section: Section, prefix: str) -> dict[str, Any]:
    def place(value: str | int | None) -> str | int | None:
        return value.removeprefix(prefix) if isinstance(value, str) else value

    return {
        "length": section.length,
        "stride": place(section.stride),
        "offset": place(section.offset),
        "count": place(section.count),
        "fields": _fields(section.fields, prefix),
    }
