"""Bounds of roles: values beyond them are withheld."""

from __future__ import annotations

from collections.abc import Iterable

from zlens.catalog import expressions
from zlens.catalog.roles import IMPOSSIBLE, Entity, Role, RoleOrigin, entity

#: Allowed excess of a value over its limit: a factor, and seconds of short intervals.
_TOLERANCE, _SLACK = "1.02e0", "0.05e0"
#: Column of a short statement of an entity: whether any value of a row may be withheld.
SUSPECT = "#suspect"


def bounded_roles(role_entity: Entity, roles: list[Role], origins: list[RoleOrigin]) -> list[Role]:
    """Return the requested roles with a limit that one of the origins provides.

    These are all of the entity if its impossible values are requested.
    """
    requested = role_entity.roles.values() if any(role.name == IMPOSSIBLE for role in roles) else roles
    provided = {name for origin in origins for name in origin.roles}
    return [role for role in requested if role.is_bounded and role.name in provided]


def beyond(value: str, limit: str | None) -> str:
    """Return whether a value is negative or exceeds its limit; a limit that is not finite is not exceeded."""
    return f"{value} < 0" + (f" OR {_exceeds(value, limit)}" if limit else "")


def possible(value: str, limit: str | None) -> str:
    """Return a value, NULL if it is negative or exceeds its limit."""
    if limit is None:
        return f"CASE WHEN {value} >= 0 THEN {value} END"
    return f"CASE WHEN {beyond(value, limit)} THEN NULL ELSE {value} END"


def _exceeds(value: str, limit: str) -> str:
    return f"{value} > {_TOLERANCE} * ({limit}) + {_SLACK}"


def any_beyond(values: Iterable[tuple[str, str | None]]) -> str:
    """Return whether any value is beyond its limit; shorter than the conditions of all."""
    by_limit: dict[str | None, list[str]] = {}
    for value, limit in values:
        for key in {None, limit}:
            by_limit.setdefault(key, []).append(value)
    # Both functions ignore NULL.
    conditions = [
        f"least({', '.join(names)}) < 0"
        if limit is None
        else _exceeds(f"greatest({', '.join(names)})", limit)
        for limit, names in by_limit.items()
    ]
    return " OR ".join(conditions) or "false"


def worded(role: Role, value: str, limit: str | None) -> str:
    """Return SQL of a text: a role's value, its limit, and the unit."""
    unit = role.unit if role.unit.startswith(("%", "/")) else f" {role.unit}".rstrip()
    name, unit = (expressions.literal(text) for text in (f"{role.name} ", unit))
    number = "format('{{:.6g}}', CAST({} AS DOUBLE))"
    text = f"{name} || {number.format(value)}"
    if limit is not None:
        # A negative value is impossible whatever the limit, which may be unknown.
        text += f" || coalesce(' of ' || {number.format(limit)}, '')"
    return f"{text} || {unit}"


def withheld_columns(name: str) -> list[str]:
    """Return the columns of an entity that `withheld_rows_sql` reads."""
    role_entity = entity(name)
    return ["system", "source", _time(role_entity), *role_entity.key, IMPOSSIBLE]


def _time(role_entity: Entity) -> str:
    return "tod" if role_entity.lasting else "interval_end"


def withheld_rows_sql(name: str) -> str:
    """Return SQL of the samples of an entity with withheld values, by source: its system, kind and detail."""
    role_entity = entity(name)
    subject = ", ".join(f"CAST({expressions.quote(key)} AS VARCHAR)" for key in role_entity.key) or "''"
    time = _time(role_entity)
    order = f"({time}, concat_ws('/', {subject}))"
    noun = name.replace("_", " ")
    return (
        f"SELECT system, source, 'impossible' AS kind, "
        f"count(*) || CASE count(*) WHEN 1 THEN ' sample of {noun} has' "
        f"ELSE ' samples of {noun} have' END "
        f"|| ' impossible values, which are left out; the first: {noun} ' "
        f"|| coalesce(arg_min(concat_ws('/', {subject}), {order}), '?') || ', ' "
        f"|| strftime(min({time}), '%Y-%m-%d %H:%M:%S') || ' UTC: ' "
        f"|| arg_min(impossible, {order}) AS detail "
        f'FROM "role.{name}" WHERE impossible IS NOT NULL GROUP BY system, source'
    )
