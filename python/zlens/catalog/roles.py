"""Roles: the names by which measures call what a record holds, and their way into SQL.

A role file says what an entity is and, per raw table, which field is which role; measures read the view
`role.<entity>` and never a field. A role whose field a file's layouts do not have is NULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from zlens.catalog import expressions, toml
from zlens.catalog.layouts import release_key
from zlens.errors import CatalogError

SQL_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP WITH TIME ZONE",
}
AGGREGATES = ("sum", "mean", "last")
#: What the name of a raw table ends with where it has the rows of all times, not of those selected alone.
WHOLE = "#whole"
OVER = ("sum", "max", "min", "any_value", "count")
_KEYS = frozenset(
    {"field", "take", "scale", "codes", "base", "digits", "value", "expression", "over", "before", "else"}
)


@dataclass(frozen=True, slots=True)
class Role:
    """A role of an entity. aggregate says what --every does with it: sum, mean or last."""

    name: str
    type: str
    unit: str
    text: str
    aggregate: str


@dataclass(frozen=True, slots=True)
class Join:
    """A section of the same record whose fields are told beside those of a raw table."""

    table: str
    on: str


@dataclass(frozen=True, slots=True)
class Origin:
    """How one raw table gives the roles of an entity."""

    table: str
    source: str
    where: str
    group: bool
    roles: dict[str, dict[str, Any]]
    joins: tuple[Join, ...] = ()


@dataclass(frozen=True, slots=True)
class Entity:
    """What measures call by one name: its roles, and the tables they come from.

    A lasting entity tells of a state: its rows hold from their time `tod` on until there is another, and are
    of no interval.
    """

    name: str
    text: str
    key: tuple[str, ...]
    roles: dict[str, Role]
    origins: tuple[Origin, ...]
    lasting: bool = False


def root() -> Path:
    """The directory of the role files."""
    return Path(__file__).parent / "roles"


def entities() -> list[str]:
    """The names of all entities, without reading their files."""
    return list(_stems(root()))


@cache
def _stems(folder: Path) -> tuple[str, ...]:
    # Asked for by the hundred: no file is added while a program runs.
    return tuple(sorted(path.stem for path in folder.glob("[!_]*.toml")))


@cache
def _facts(name: str) -> dict[str, Any]:
    return toml.load(Path(__file__).parent / name)


def entity(name: str) -> Entity:
    """One entity with its roles, and the user's word on them; CatalogError if a file is wrong."""
    # Imported when needed: it reads entities itself.
    from zlens.catalog import user_roles

    return user_roles.of_entity(catalogued(name))


@cache
def catalogued(name: str) -> Entity:
    """One entity as the catalog has it; CatalogError if its file is wrong."""
    path = root() / f"{name}.toml"
    try:
        data = toml.load(path)
    except FileNotFoundError:
        raise CatalogError(
            f"there is no role entity {name!r}", expected=", ".join(entities()), cure="see catalog/roles"
        ) from None
    except toml.TOMLDecodeError as error:
        raise CatalogError(f"not valid TOML: {error}", file=str(path)) from None
    roles: dict[str, Role] = {}
    for role, facts in _numbered(data["roles"]):
        if facts["type"] not in SQL_TYPES or facts["aggregate"] not in AGGREGATES:
            raise CatalogError(f"role {role}: type or aggregate is not known", file=str(path))
        roles[role] = Role(role, facts["type"], facts.get("unit", ""), facts["text"], facts["aggregate"])
    origins: list[Origin] = []
    for block in data.get("from", []):
        taken = dict(_numbered(block["roles"]))
        for role, how in taken.items():
            unknown = set(how) - _KEYS
            if role not in roles or unknown or how.get("over", "sum") not in OVER:
                what = f"has {', '.join(sorted(unknown))}" if unknown else "is not among the entity's roles"
                raise CatalogError(f"{block['table']}: role {role} {what}", file=str(path))
        origins.append(
            Origin(
                block["table"],
                block.get("source", ""),
                block.get("where", ""),
                bool(block.get("group")),
                taken,
                tuple(Join(join["table"], join["on"]) for join in block.get("join", [])),
            )
        )
    lasting = bool(data.get("lasting"))
    return Entity(data["entity"], data["text"], tuple(data["key"]), roles, tuple(origins), lasting)


def lasting_tables() -> frozenset[str]:
    """The raw tables that tell of states: what holds in an interval may have been told long before it."""
    texts = {name: (root() / f"{name}.toml").read_text(encoding="utf-8") for name in entities()}
    # Most files need not be parsed to know that they say nothing of it.
    lasting = (entity(name) for name, text in texts.items() if "\nlasting" in text)
    return frozenset(
        table for what in lasting if what.lasting for origin in what.origins for table in read(origin)
    )


def read(origin: Origin) -> list[str]:
    """The raw tables that an origin reads, its own first."""
    return [origin.table, *(join.table for join in origin.joins)]


_RANGES = re.compile(r"([a-z_]+)\[([0-9 -]+)\]")


def _numbered(entries: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Entries; one named with ranges of numbers (`c[0-5 32-37]`) once for each, which {n} stands for."""
    for name, facts in entries.items():
        match = _RANGES.fullmatch(name)
        if match is None:
            yield name, facts
            continue
        for part in match[2].split():
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield (
                    f"{match[1]}{number}",
                    {
                        key: value.replace("{n}", str(number)) if isinstance(value, str) else value
                        for key, value in facts.items()
                    },
                )


def fields(how: Mapping[str, Any]) -> list[str]:
    """The fields that may give a role, first choice first."""
    field = how.get("field", [])
    return [field] if isinstance(field, str) else list(field)


def value_of(entity_name: str, role: str, values: Mapping[str, Any]) -> Any:
    """A role's value in one decoded record (field name to value), None where the record has no such field."""
    for origin in entity(entity_name).origins:
        for field in fields(origin.roles.get(role, {})):
            if values.get(field) is not None:
                return values[field]
    return None


def code_table(codes: str) -> dict[str, str]:
    """The words of a table of codes.toml."""
    table = _facts("codes.toml").get(codes)
    if table is None:
        raise CatalogError(f"there is no table of codes {codes!r}", expected="one of catalog/codes.toml")
    return {k: v for k, v in table.items() if k not in ("text", "status", "source")}


def coded(sql: str, codes: str) -> str:
    """SQL that puts the words of a table of codes.toml in the place of codes; others stay, as text."""
    words = code_table(codes)
    branches = " ".join(
        f"WHEN {expressions.literal(k)} THEN {expressions.literal(v)}" for k, v in sorted(words.items())
    )
    text = f"CAST({sql} AS VARCHAR)"
    return f"CASE {text} {branches} ELSE {text} END"


def scale_factor(name: str) -> float:
    """What a raw unit is worth in the unit of measures."""
    unit = _facts("units.toml").get(name)
    if unit is None:
        raise CatalogError(f"there is no unit {name!r}", expected="one of catalog/units.toml")
    return float(unit["factor"])


def _role_sql(how: Mapping[str, Any], type: str, columns: frozenset[str], release: str | None) -> str:
    """SQL of one role over the columns of its raw table, without `over`; NULL where it cannot be had."""
    found = _way_sql(how, type, columns, release)
    other = _role_sql(how["else"], type, columns, release) if "else" in how else "NULL"
    if "NULL" in (found, other):
        return other if found == "NULL" else found
    return f"coalesce({found}, {other})"


def _way_sql(how: Mapping[str, Any], type: str, columns: frozenset[str], release: str | None) -> str:
    limit = how.get("before")
    if limit is not None and not () < release_key(release) < release_key(limit):
        return "NULL"
    if "value" in how:
        value = how["value"]
        return expressions.literal(value) if isinstance(value, str) else repr(value)
    if "expression" in how:
        formula = how["expression"]
        if any(name not in columns and name != "seconds" for name in expressions.names(formula)):
            return "NULL"
        return expressions.compile_sql(formula, lambda name: f"r.{expressions.quote(name)}", type)
    suffix = "_d" if how.get("take") == "difference" else ""
    for field in fields(how):
        column = field.lower() + suffix
        if column in columns or column == "seconds":
            break
    else:
        return "NULL"
    sql = f"r.{expressions.quote(column)}"
    if how.get("take") == "bits":
        sql = f"bit_count(CAST({sql} AS BIGINT))"
    if "base" in how:
        sql = f"TRY_CAST('0x' || {sql} AS BIGINT)"
    if "digits" in how:
        sql = f"lpad(printf('%X', {sql}), {int(how['digits'])}, '0')"
    if "codes" in how:
        sql = coded(sql, how["codes"])
    if "scale" in how:
        # Written with an exponent: a DECIMAL constant could overflow.
        sql = f"CAST({sql} AS DOUBLE) * {scale_factor(how['scale']):.17e}"
    return sql


#: What tells the records of one raw table apart, and so the sections of one record together.
_RECORD = ("system", "source", "file", "offset")


def _joined(
    entity: Entity, origin: Origin, tables: Mapping[str, frozenset[str]]
) -> tuple[str, frozenset[str]]:
    """SQL of an origin's rows with the fields of the sections beside them, and all their columns."""
    columns = tables[origin.table]
    mark = WHOLE if entity.lasting else ""
    own = expressions.quote(origin.table + mark)
    if not origin.joins:
        return own, columns
    there = {origin.table: columns}
    selected, joins = ["r.*"], []
    for join in origin.joins:
        if join.table not in tables:
            continue
        alias = expressions.quote(join.table)
        there[join.table] = tables[join.table]
        added = sorted(tables[join.table] - columns)
        selected += [f"{alias}.{expressions.quote(name)}" for name in added]

        def resolve(
            name: str, known: frozenset[str] = columns, of: Mapping[str, frozenset[str]] = there
        ) -> str:
            table, dot, column = name.rpartition(".")
            if column not in (of.get(table, ()) if dot else known):
                return "NULL"
            place = table if dot and table != origin.table else next(t for t in of if column in of[t])
            return f"{'r' if place == origin.table else expressions.quote(place)}.{expressions.quote(column)}"

        same = [f"{alias}.{key} = r.{key}" for key in _RECORD]
        condition = " AND ".join([*same, expressions.compile_sql(join.on, resolve)])
        joins.append(f"LEFT JOIN {expressions.quote(join.table + mark)} AS {alias} ON {condition}")
        columns |= set(added)
    return f"(SELECT {', '.join(selected)} FROM {own} AS r {' '.join(joins)})", columns


def _origin_sql(
    entity: Entity,
    origin: Origin,
    tables: Mapping[str, frozenset[str]],
    release: str | None,
    systems: list[str] | None,
) -> str:
    table, columns = _joined(entity, origin, tables)
    selected: list[str] = []
    for role in entity.roles.values():
        how = origin.roles.get(role.name, {})
        over = how.get("over")
        sql = "count(*)" if over == "count" else _role_sql(how, role.type, columns, release)
        if over and over != "count" and sql != "NULL":
            sql = f"{over}({sql})"
        selected.append(f"CAST({sql} AS {SQL_TYPES[role.type]}) AS {expressions.quote(role.name)}")
    conditions = []
    if origin.where:
        # A column that an input does not have, as one imported by an older version, is NULL here too.
        conditions.append(
            expressions.compile_sql(
                origin.where, lambda name: f"r.{expressions.quote(name)}" if name in columns else "NULL"
            )
        )
    if systems is not None:
        conditions.append(f"r.system IN ({', '.join(map(expressions.literal, systems))})")
    if entity.lasting:
        head = f"r.system, r.source, r.{'tod' if 'tod' in columns else 'interval_end'} AS tod"
    elif origin.group:
        head = "r.system, r.source, r.interval_end, max(r.seconds) AS seconds, max(r.flag) AS flag"
    else:
        head = "r.system, r.source, r.interval_end, r.seconds, r.flag"
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    group = " GROUP BY ALL" if origin.group else ""
    return f"SELECT {head}, {', '.join(selected)} FROM {table} AS r{where}{group}"


def view_sql(
    name: str, tables: Mapping[str, frozenset[str]], releases: Mapping[str | None, list[str]]
) -> str:
    """SELECT of an entity's rows, one per sample, over the raw tables there are.

    `tables` gives the columns of each raw table, `releases` the systems of each release (None where the
    release is not known): what holds before a release only is told system by system.
    """
    what = entity(name)
    parts: list[str] = []
    for origin in what.origins:
        if origin.table not in tables:
            continue
        if (
            any("before" in {**how, **how.get("else", {})} for how in origin.roles.values())
            and len(releases) > 1
        ):
            parts += [
                _origin_sql(what, origin, tables, release, systems) for release, systems in releases.items()
            ]
        else:
            release = next(iter(releases), None)
            parts.append(_origin_sql(what, origin, tables, release, None))
    if not parts:
        nothing = ", ".join(
            f"CAST(NULL AS {SQL_TYPES[role.type]}) AS {expressions.quote(role.name)}"
            for role in what.roles.values()
        )
        head = (
            "CAST(NULL AS TIMESTAMPTZ) AS tod"
            if what.lasting
            else (
                "CAST(NULL AS TIMESTAMPTZ) AS interval_end, CAST(NULL AS DOUBLE) AS seconds, "
                "CAST(NULL AS VARCHAR) AS flag"
            )
        )
        parts.append(
            "SELECT CAST(NULL AS VARCHAR) AS system, CAST(NULL AS VARCHAR) AS source, "
            f"{head}, {nothing} WHERE false"
        )
    return "\nUNION ALL\n".join(parts)


def selected_sql(name: str, rows: str) -> str:
    """The rows of an entity in the intervals that the options select (table `_interval`)."""
    what = entity(name)
    roles = ", ".join(f"r.{expressions.quote(role)}" for role in what.roles)
    return (
        "SELECT r.system, r.source, r.interval_end, coalesce(r.seconds, i.seconds) AS seconds, "
        f"coalesce(r.flag, i.flag) AS flag, {roles} FROM ({rows}) AS r "
        "JOIN _interval AS i USING (system, source, interval_end)"
    )


def summed_sql(name: str, rows: str) -> str:
    """The rows of an entity, counters and elapsed time summed over the buckets of --every.

    Flagged rows (stubs, gaps) and rows whose counters began anew are left out, elapsed time included, and so
    are those of records that keep to intervals of their own, longer than a bucket. A sum of which one part is
    not known is not known.
    """
    what = entity(name)
    selected: list[str] = []
    for role in what.roles.values():
        column = f"r.{expressions.quote(role.name)}"
        if role.name in what.key:
            sql = column
        elif role.aggregate == "sum":
            sql = f"CASE WHEN count({column}) = count(*) THEN sum({column}) END"
        elif role.aggregate == "mean":
            sql = f"avg({column})"
        else:
            sql = f"arg_max({column}, r.interval_end)"
        selected.append(f"{sql} AS {expressions.quote(role.name)}")
    keys = "".join(f", r.{expressions.quote(key)}" for key in what.key)
    return (
        "SELECT r.system, r.source, i.bucket_end AS interval_end, sum(r.seconds) AS seconds, "
        f"any_value(i.bucket_flag) AS flag, {', '.join(selected)} FROM ({rows}) AS r "
        "JOIN _interval AS i USING (system, source, interval_end) "
        "WHERE r.seconds IS NOT NULL AND r.flag IS NULL AND i.flag IS NULL "
        "AND r.seconds < i.longest "
        f"GROUP BY r.system, r.source, i.bucket_end{keys}"
    )


def check() -> list[str]:
    """What is wrong with the role files: a sentence each."""
    found: list[str] = []
    for name in entities():
        try:
            what = entity(name)
            found += [
                f"roles/{name}.toml: key {key} is not a role" for key in what.key if key not in what.roles
            ]
            for origin in what.origins:
                for how in origin.roles.values():
                    if "codes" in how:
                        coded("x", how["codes"])
                    if "scale" in how:
                        scale_factor(how["scale"])
                    if "expression" in how:
                        expressions.parse(how["expression"])
                for formula in (origin.where, *(join.on for join in origin.joins)):
                    if formula:
                        expressions.parse(formula)
        except (CatalogError, KeyError, TypeError) as error:
            found.append(f"roles/{name}.toml: {error}")
    return found
