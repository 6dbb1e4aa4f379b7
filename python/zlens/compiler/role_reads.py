"""The raw columns that columns of a role may read in any input."""

from __future__ import annotations

from collections.abc import Collection

from zlens.catalog import expressions
from zlens.catalog.raw_columns import FIXED
from zlens.catalog.roles import ALL_TIMES_SUFFIX, Entity, entity, tables_read
from zlens.compiler.role_origin import OriginQuery, RoleQuery
from zlens.compiler.roles import Releases, rows


def columns_read(name: str, requested: Collection[str]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the raw columns that columns of a role read if every table exists: for values, and all others.

    The others determine the rows: they are used to join, compare and group.
    """
    role_entity = entity(name)
    tables = {
        table: _named(role_entity, table) for origin in role_entity.origins for table in tables_read(origin)
    }
    values = RoleQuery()
    for origin in role_entity.origins:
        for release in _ANY:
            part = OriginQuery(role_entity, origin, tables, release, values)
            for column in requested:
                if column in role_entity.roles:
                    part.role(role_entity.roles[column])
                else:
                    part.column(column)
    all_reads = rows(name, requested, tables, _ANY).reads
    others = {
        table: columns - values.reads.get(table, set())
        for table, columns in all_reads.items()
        if not table.startswith("_")
    }
    return _without_whole(values.reads), _without_whole(others)


#: A release before every limit, and an unknown one.
_ANY: Releases = {"0": ["#"], None: ["#"]}


def _without_whole(reads: dict[str, set[str]]) -> dict[str, set[str]]:
    merged: dict[str, set[str]] = {}
    for table, columns in reads.items():
        merged.setdefault(table.removesuffix(ALL_TIMES_SUFFIX), set()).update(columns)
    return merged


def _named(role_entity: Entity, table: str) -> frozenset[str]:
    """Return the columns that a raw table may have: those of a section if known, else those in roles."""
    from zlens.catalog import smf_sections

    section = smf_sections.find(table)
    if section is not None:
        return frozenset({*FIXED, *(column.name for column in smf_sections.columns(*section))})
    names = set(FIXED)
    for origin in role_entity.origins:
        formulas = (formula for formula in (origin.where, origin.seconds) if formula)
        named_columns = {name for formula in formulas for name in expressions.names(formula)}
        ways = list(origin.roles.values())
        for how in ways:
            if origin.table == table:
                names |= {field.lower() + how.suffix for field in how.fields}
                names |= {field.lower() for field in how.fields} if origin.began else set()
            named_columns |= {*expressions.names(how.expression)} if how.expression else set()
            ways += [how.fallback] if how.fallback else []
        for join in origin.joins:
            named_columns |= {*expressions.names(join.on)}
            names |= {*join.same} if table in (origin.table, join.table) else set()
        for detailed in origin.unless:
            names |= {*detailed.same} if table in (origin.table, detailed.table) else set()
        split = [name.rpartition(".") for name in named_columns]
        names |= {column for owner, _, column in split if owner == table}
        if origin.table == table:
            names |= {column for owner, _, column in split if not owner}
            names |= {name.lower() for name in (origin.began, origin.time) if name}
    return frozenset(names)
