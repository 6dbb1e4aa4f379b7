"""Tests of the events of the catalog: one table each, and only numbers in hexadecimal."""

from __future__ import annotations

import re

from zlens.catalog import events, layouts
from zlens.catalog.raw_columns import field_parts


def test_io_events_have_one_table_each() -> None:
    tables = [one.table for one in events.EventFile.load().events if one.table.startswith("d6r")]
    assert len(tables) == len(set(tables))
    assert len(tables) >= 27


def test_only_numbers_are_written_in_hexadecimal() -> None:
    wrong = []
    for one in events.EventFile.load().events:
        record = one.table.upper()
        text = f"{one.subject} {one.detail}"
        fields = re.findall(r"\{([A-Za-z0-9_]+):hex", text)
        for layout in layouts.layouts(record) if fields else []:
            types = {part.name: part.type for field in layout.fields for part in field_parts(field)}
            wrong += [(record, name) for name in fields if types.get(name, "int") != "int"]
    assert wrong == []
