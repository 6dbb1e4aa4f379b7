"""SQL of a role's rows: from the fields of the raw tables of an input to the requested roles."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from zlens.catalog import expressions
from zlens.catalog.raw_columns import FIXED
from zlens.catalog.roles import (
    IMPOSSIBLE,
    NO_VALUE,
    SQL_TYPES,
    Entity,
    Role,
    RoleOrigin,
    entities,
    entity,
)
from zlens.compiler.role_bounds import SUSPECT, bounded_roles
from zlens.compiler.role_intervals import (
    LASTING_HEAD,
    ValueSql,
    lasting_rows,
    select_rows,
    sum_rows,
    suspect_rows,
)
from zlens.compiler.role_origin import OriginQuery, RoleQuery, Tables, is_before, is_finite

#: Leading columns of every role's rows in an interval.
HEAD = (
    ("system", "text"),
    ("source", "text"),
    ("interval_end", "time"),
    ("seconds", "float"),
    ("flag", "text"),
)
#: Minimum length of a formula that gets a query layer of its own.
_LONG = 60

Releases = Mapping[str | None, list[str]]


def columns(name: str) -> list[tuple[str, str]]:
    """Return names and types of the columns of a role's rows."""
    role_entity = entity(name)
    leading = LASTING_HEAD if role_entity.lasting else HEAD
    return [*leading, *((role.name, role.type) for role in role_entity.roles.values())]


def origins(name: str, tables: Tables) -> list[RoleOrigin]:
    """Return the origins of a role's rows in an input.

    A record without any decoded field provides no role.
    """
    available = (origin for origin in entity(name).origins if origin.table in tables)
    return [origin for origin in available if not set(FIXED).issuperset(tables[origin.table])]


def taken(table: str, columns: Collection[str]) -> tuple[str, set[str]]:
    """Return the condition on a raw table's rows that entities with intervals use, and its columns.

    A condition that depends on joined tables counts as true.
    """
    conditions: list[str] = []
    named_columns: set[str] = set()
    for role_entity in map(entity, entities()):
        for origin in role_entity.origins:
            if origin.table != table or role_entity.lasting:
                continue
            names = {*expressions.names(origin.where)} if origin.where else set()
            if not names or (origin.joins and not names <= {*columns}):
                return "true", set()
            resolve = {name: expressions.quote(name) if name in columns else "NULL" for name in names}
            conditions.append(f"({expressions.compile_sql(origin.where, resolve.__getitem__)})")
            named_columns |= names.intersection(columns)
    return " OR ".join(conditions) or "true", named_columns


def rows(
    name: str, requested: Collection[str], tables: Tables, releases: Releases, *, summed: bool = False
) -> RoleQuery:
    """Return SQL of an entity's rows with the requested roles, in the intervals that the options select.

    tables    columns of each raw table in the input
    releases  systems of each release: fields that apply only before a release are read system by system
    summed    whether counters and elapsed time are summed over the buckets of --every

    SUSPECT is a column of its own: whether IMPOSSIBLE may have a text. Values that are not finite count.
    """
    role_entity = entity(name)
    suspects = SUSPECT in requested
    roles = [
        role
        for role in role_entity.roles.values()
        if role.name in ((IMPOSSIBLE,) if suspects else requested)
        or (summed and role.name in role_entity.key)
    ]
    known = origins(name, tables)
    bounds = bounded_roles(role_entity, roles, known)
    shown = roles
    read_by_bounds = {role.name for role in bounds}
    read_by_bounds.update(*(expressions.names(role.within) for role in bounds if role.within))
    roles = [
        role
        for role in role_entity.roles.values()
        if role.name != IMPOSSIBLE and (role.name in read_by_bounds or (role in shown and not suspects))
    ]
    result = RoleQuery()
    parts: list[str] = []
    # The counters of a subject that began within an interval were counted entirely within it.
    since = [role for role in roles if any(_counts_since(origin, role) for origin in known)]
    limits = {name for role in bounds if role.within for name in expressions.names(role.within)}
    long = [
        role
        for role in roles
        if (role.name not in limits if suspects else not role_entity.lasting)
        and _needs_layer(role, known, since, tables, shortest=0 if suspects else _LONG)
    ]
    names_broken = any(role.name == IMPOSSIBLE for role in shown) and any(origin.group for origin in known)
    for origin in known:
        for release, systems in _releases(origin, releases):
            part = OriginQuery(role_entity, origin, tables, release, result)
            names = {role.name for role in long}
            parts.append(
                part.select(
                    roles,
                    systems,
                    since,
                    names,
                    named=not parts,
                    names_broken=names_broken,
                    suspects=suspects,
                )
            )
    union = "\nUNION ALL\n".join(parts) or _no_rows(role_entity, roles)
    if suspects:
        # The layer that makes them finite is left out.
        values = ValueSql(since, [], bounds, result, lasting=role_entity.lasting, names_broken=names_broken)
        result.sql = suspect_rows(union, values, lasting=role_entity.lasting)
        return result
    values = ValueSql(since, long, bounds, result, lasting=role_entity.lasting, names_broken=names_broken)
    if role_entity.lasting:
        result.sql = lasting_rows(shown, union, values) if bounds or shown != roles else union
        return result
    result.sql = (
        sum_rows(role_entity, shown, union, result, values)
        if summed
        else select_rows(shown, roles, union, result, values)
    )
    return result


def _counts_since(origin: RoleOrigin, role: Role) -> bool:
    how = origin.roles.get(role.name, NO_VALUE)
    return origin.began is not None and how.take == "difference"


def _needs_layer(
    role: Role, known: list[RoleOrigin], since: list[Role], tables: Tables, shortest: int
) -> bool:
    """Return whether a layer above the records makes a role finite: it is a long formula in some origin.

    That mentions the formula twice. In every origin, the role must be just a value.
    """
    hows = [(origin, how) for origin in known if (how := origin.roles.get(role.name))]
    return (
        role.type == "float"
        and role not in since
        and any(
            len(how.expression) > shortest and not is_finite(origin, how.expression, tables)
            for origin, how in hows
        )
        and not any(how.fallback or how.over for _, how in hows)
    )


def _releases(origin: RoleOrigin, releases: Releases) -> list[tuple[str | None, list[str] | None]]:
    """Return a release for each way to read an origin, with its systems; None for all systems."""
    hows = [*origin.roles.values(), *(how.fallback for how in origin.roles.values() if how.fallback)]
    limits = {how.before for how in hows if how.before}
    ways: dict[frozenset[str], tuple[str | None, list[str]]] = {}
    for release, systems in releases.items():
        before = frozenset(limit for limit in limits if is_before(release, limit))
        ways.setdefault(before, (release, []))[1].extend(systems)
    if len(ways) > 1:
        return [(release, [*dict.fromkeys(systems)]) for release, systems in ways.values()]
    return [(next(iter(releases), None), None)]


def _no_rows(role_entity: Entity, roles: list[Role]) -> str:
    leading = LASTING_HEAD if role_entity.lasting else HEAD
    typed = [*leading, *((role.name, role.type) for role in roles)]
    nulls = (f"NULL::{SQL_TYPES[type]} AS {expressions.quote(name)}" for name, type in typed)
    return f"SELECT {', '.join(nulls)} WHERE false"
