"""Columns of raw tables, and those that a field of a record provides."""

from typing import TYPE_CHECKING

from msgspec import Struct

from zlens.schema.structs import FactTable

if TYPE_CHECKING:
    from zlens.catalog.fields import MonitorField

#: Leading columns of every raw table; no field may have one of these names.
FIXED = ("system", "source", "file", "offset", "tod", "interval_end", "seconds", "flag")
#: Types of columns.
TYPES = ("int", "float", "text", "bool", "time")
#: Prefix of the raw tables of listings.
LISTED = "listing_"
_INT_MAX = 8


class RawColumn(FactTable, frozen=True):
    """A column of a raw table; type is one of TYPES."""

    name: str
    type: str
    unit: str = ""
    text: str = ""


class FieldElement(Struct, frozen=True):
    """A column that a field provides: the field itself or one element of an array."""

    name: str
    type: str
    field: "MonitorField"
    #: Index of the element, from 0; None for the entire field.
    element: int | None


def field_parts(field: "MonitorField") -> list[FieldElement]:
    """Return the columns of a field, by full name: none for a reserved area, one per element of an array."""
    if field.reserved:
        return []
    kind = column_type(field)
    if field.count == 1 or kind == "hex":
        return [FieldElement(field.name, kind, field, None)]
    return [FieldElement(f"{field.name}_{field.first + i}", kind, field, i) for i in range(field.count)]


def column_type(field: "MonitorField") -> str:
    """Return the decoder's type for a field: int, text, ascii, hex or time."""
    number = field.type != "character" or field.kind in ("counter", "timer", "sampled", "gauge", "flags")
    short = 0 < field.length <= _INT_MAX
    if field.kind == "time" and field.length == 8:
        return "time"
    if field.kind == "text" or field.kind == "identifier":
        if field.unit == "ascii":
            return "ascii"
        if field.unit in ("hex", "packed"):
            return "hex"
        if field.type == "character":
            return "text"
    if field.kind == "time":
        number = True
    return "int" if number and short else "hex"
