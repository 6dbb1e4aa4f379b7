"""Tests that roles and events name only columns of SMF sections: a typo would silently be NULL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from zlens.catalog import events, expressions, roles, smf_sections

HEADER = {"system", "source", "file", "offset", "tod", "interval_end", "seconds", "flag"}


def columns(table: str) -> set[str] | None:
    """Return the columns of a table of sections; None if the table is of another kind."""
    found = smf_sections.find(table)
    return None if found is None else HEADER | {column.name for column in smf_sections.columns(*found)}


def named(how: roles.RoleValue) -> Iterator[str]:
    """Yield the columns that a role value names."""
    yield from (field.lower() for field in how.fields)
    if how.expression:
        yield from expressions.names(how.expression)
    if how.fallback:
        yield from named(how.fallback)


def origins() -> list[tuple[str, roles.RoleOrigin]]:
    return [
        (name, origin)
        for name in roles.entities()
        for origin in roles.entity(name).origins
        if columns(origin.table) is not None
    ]


@pytest.mark.parametrize(
    ("entity", "origin"), [pytest.param(*one, id=f"{one[0]}-{one[1].table}") for one in origins()]
)
def test_smf_roles_name_existing_columns(entity: str, origin: roles.RoleOrigin) -> None:
    there = {table: columns(table) or set() for table in roles.tables_read(origin)}
    known = set().union(*there.values())
    wanted = {name for how in origin.roles.values() for name in named(how)}
    for condition in filter(None, (origin.where, *(join.on for join in origin.joins))):
        for name in expressions.names(condition):
            table, dot, column = name.rpartition(".")
            if dot:
                assert column in there[table], f"roles/{entity}.toml: {name}"
            else:
                wanted.add(column)
    assert wanted <= known, f"roles/{entity}.toml: {sorted(wanted - known)}"


def test_measured_sections_have_roles() -> None:
    read = {table for _, origin in origins() for table in roles.tables_read(origin)}
    sections = ("product", "control", "cpu", "asid", "partition", "logical", "name", "core")
    assert {f"smf70_{name}" for name in sections} <= read


def test_smf_events_name_existing_columns() -> None:
    smf_events = [event for event in events.EventFile.load().events if columns(event.table) is not None]
    assert {event.kind for event in smf_events} >= {"capacity change", "boost", "processor reconfigured"}
    for event in smf_events:
        places = [
            match[1] for text in (*event.subjects, *event.details) for match in events.PLACE.finditer(text)
        ]
        wanted = {place.lower().removesuffix(".before") for place in places}
        wanted |= {field.lower() for field in event.changes}
        wanted |= set(expressions.names(event.where)) if event.where else set()
        there = set().union(*(columns(table) or set() for table in event.tables))
        assert wanted <= there, event.kind
