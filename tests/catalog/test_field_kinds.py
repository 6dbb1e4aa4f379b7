"""Tests that files of facts agree on kinds and units of fields."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from zlens.catalog import layouts, roles
from zlens.catalog.layouts import MonitorField

NOWHERE = Path(__file__).parent / "no packs here"


def fields(record: str) -> dict[str, MonitorField]:
    found: dict[str, MonitorField] = {}
    for layout in layouts.layouts(record, NOWHERE):
        for field in (*layout.fields, *(f for s in layout.sections for f in s.fields)):
            found.setdefault(field.name.split("_", 1)[-1], field)
    return found


def scales(how: roles.RoleValue) -> Iterator[tuple[str, str]]:
    """Yield the fields that a role reads as times, with the unit that the role assumes."""
    if how.scale:
        yield from ((name.split("_", 1)[-1], how.scale) for name in how.fields)
    if how.fallback:
        yield from scales(how.fallback)


def test_roles_scale_timers_by_layout_unit() -> None:
    """Both the record and the role that reads it define the unit of a timer."""
    records = {name.lower(): fields(name) for name in layouts.records(NOWHERE)}
    compared = 0
    for entity in roles.entities():
        for origin in roles.entity(entity).origins:
            layout = records.get(origin.table.split("_")[0], {})
            for how in origin.roles.values():
                for name, scale in scales(how):
                    if name in layout and layout[name].kind == "timer":
                        compared += 1
                        assert scale == layout[name].unit, f"{entity}: {origin.table} {name}"
    assert compared > 20


def test_control_block_field_has_one_kind_in_all_records() -> None:
    seen: dict[str, tuple[str, str]] = {}
    #: Names that several records use with different meanings.
    apart = {"STATUS", "ACTIVITY", "CALTYPE", "CALDATA", "FLAGS", "OWNER", "PLSESSA"}
    for record in layouts.records(NOWHERE):
        for name, field in fields(record).items():
            if field.kind == "unknown" or name in apart or field.name == name:
                continue
            first = seen.setdefault(name, (field.kind, field.name))
            assert first[0] == field.kind, f"{first[1]} and {field.name}"
