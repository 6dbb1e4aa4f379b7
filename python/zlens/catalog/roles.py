"""Roles: names by which measures refer to the contents of records, and their translation into SQL.

A role file defines an entity and, per raw table, the field of each role; measures read the view
`role.<entity>` and never a field. A role whose field is missing in a file's layouts is NULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import codes, expressions
from zlens.catalog.raw_columns import LISTED
from zlens.catalog.units import raw_units
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

SQL_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP WITH TIME ZONE",
}
AGGREGATES = ("sum", "mean", "last")
#: Suffix of a raw table's name that means its rows of all times, not only of the selected window.
ALL_TIMES_SUFFIX = "#whole"
#: Role with the names of withheld values of a row.
IMPOSSIBLE = "impossible"
OVER = ("sum", "max", "min", "any_value", "count")
_KEYS = frozenset(
    {
        *("field", "take", "scale", "codes", "base", "part", "digits"),
        *("value", "expression", "over", "each", "before", "else"),
    }
)


class Role(Struct, frozen=True):
    """A role of an entity. aggregate is how --every aggregates it: sum, mean or last.

    within  formula over `seconds` and roles of the entity that no value exceeds. A value above it, or a
            negative one, is withheld; the role `impossible` names it.
    source  cited source of a numeric limit
    signed  false: a negative value is withheld although there is no upper limit
    """

    name: str
    type: str
    unit: str
    text: str
    aggregate: str
    within: str = ""
    source: str = ""
    signed: bool = True

    @property
    def is_bounded(self) -> bool:
        return bool(self.within) or not self.signed


class SectionJoin(Struct, frozen=True):
    """A section of the same record whose fields are joined with those of a raw table.

    same  columns shared with the rows of that table, in place of those that identify a record
    """

    table: str
    on: str
    same: tuple[str, ...] = ()


class DetailedTable(Struct, frozen=True):
    """A more detailed raw table: its rows of the same system, time and `same` replace those of the origin."""

    table: str
    same: tuple[str, ...] = ()


class RoleOrigin(Struct, frozen=True):
    """Roles of an entity from one raw table.

    began    field with the time at which a subject's counters started, if it has no earlier sample
    seconds  formula of the time that the subject existed, over columns and the `seconds` of the table
    time     column with the time from which a state lasts, or of an event; the record's own otherwise
    unless   more detailed tables, whose rows replace these
    """

    table: str
    source: str
    where: str
    group: bool
    roles: dict[str, dict[str, Any]]
    joins: tuple[SectionJoin, ...] = ()
    began: str | None = None
    seconds: str | None = None
    time: str | None = None
    unless: tuple[DetailedTable, ...] = ()


class Entity(Struct, frozen=True):
    """Subject of measures: its roles, and their tables.

    A lasting entity describes a state: its rows apply from their time `tod` until the next one, and belong
    to no interval.
    """

    name: str
    text: str
    key: tuple[str, ...]
    roles: dict[str, Role]
    origins: tuple[RoleOrigin, ...]
    lasting: bool = False


def root() -> Path:
    """Return the folder of the role files."""
    return FACTS / "roles"


def entities() -> list[str]:
    """Return the names of all entities, without reading their files."""
    return list(_stems(root()))


@cache
def _stems(folder: Path) -> tuple[str, ...]:
    # Cached because it is called hundreds of times: no file is added while a program runs.
    return tuple(sorted(path.stem for path in folder.glob("[!_]*.toml")))


@cache
def bounded_entities() -> tuple[str, ...]:
    """Return entities with bounds: their role `impossible` names the values that are withheld."""
    return tuple(name for name in entities() if IMPOSSIBLE in entity(name).roles)


def entity(name: str) -> Entity:
    """Return one entity with its roles, including the user's bindings; CatalogError if a file is invalid."""
    # user_roles imports this module.
    from zlens.catalog import user_roles

    return user_roles.bind_entity(catalog_entity(name))


@cache
def catalog_entity(name: str) -> Entity:
    """Return one entity as in the catalog; CatalogError if its file is invalid."""
    path = root() / f"{name}.toml"
    if not path.is_file():
        raise CatalogError(
            f"there is no role entity {name!r}", expected=", ".join(entities()), cure="see facts/roles"
        )
    data = document.load_unchecked(path)
    roles: dict[str, Role] = {}
    for role, facts in _expand_names(data["roles"]):
        if facts["type"] not in SQL_TYPES or facts["aggregate"] not in AGGREGATES:
            raise CatalogError(f"role {role}: unknown type or aggregate", file=str(path))
        roles[role] = Role(
            role,
            facts["type"],
            facts.get("unit", ""),
            facts["text"],
            facts["aggregate"],
            facts.get("within", ""),
            facts.get("source", ""),
            facts.get("signed", True),
        )
    if any(role.is_bounded for role in roles.values()):
        roles[IMPOSSIBLE] = Role(
            IMPOSSIBLE, "text", "", "values withheld because they cannot be right", "last"
        )
    origins: list[RoleOrigin] = []
    blocks = data.get("from", [])
    for block in blocks:
        block_roles = _block_roles(block, blocks, path)
        for role, how in block_roles.items():
            unknown = set(how) - _KEYS
            if role not in roles or unknown or how.get("over", "sum") not in OVER:
                problem = (
                    f"has {', '.join(sorted(unknown))}" if unknown else "is not among the entity's roles"
                )
                raise CatalogError(f"{block['table']}: role {role} {problem}", file=str(path))
        origins.append(
            RoleOrigin(
                block["table"],
                block.get("source", ""),
                block.get("where", ""),
                bool(block.get("group")),
                block_roles,
                tuple(
                    SectionJoin(join["table"], join["on"], tuple(join.get("same", ())))
                    for join in block.get("join", [])
                ),
                block.get("began"),
                block.get("seconds"),
                block.get("time"),
                tuple(
                    DetailedTable(detailed["table"], tuple(detailed.get("same", ())))
                    for detailed in block.get("unless", [])
                ),
            )
        )
    lasting = bool(data.get("lasting"))
    key = tuple(data["key"])
    return Entity(data["entity"], data["text"], key, roles, tuple(_recorded_first(origins)), lasting)


def _recorded_first(origins: Sequence[RoleOrigin]) -> Iterator[RoleOrigin]:
    """Yield the origins; records of the same system and time replace a printed origin."""
    recorded = dict.fromkeys(origin.table for origin in origins if not _is_listed(origin))
    for origin in origins:
        if _is_listed(origin):
            yield replace(origin, unless=(*origin.unless, *map(DetailedTable, recorded)))
        else:
            yield origin


def _is_listed(origin: RoleOrigin) -> bool:
    return origin.table.startswith(LISTED)


def state_tables() -> frozenset[str]:
    """Return the raw tables of states: one that applies in an interval may have been recorded long before."""
    texts = {name: (root() / f"{name}.toml").read_text(encoding="utf-8") for name in entities()}
    # Most entities are not lasting: their files need not be parsed.
    lasting = (entity(name) for name, text in texts.items() if "\nlasting" in text)
    return frozenset(
        table
        for lasting_entity in lasting
        if lasting_entity.lasting
        for origin in lasting_entity.origins
        for table in tables_read(origin)
    )


def tables_read(origin: RoleOrigin) -> list[str]:
    """Return the raw tables that an origin reads, its own first."""
    return [origin.table, *(join.table for join in origin.joins)]


_RANGES = re.compile(r"([a-z_]*)\[([a-z0-9_ /-]+)\]([a-z_]*)")
#: A range of decimal numbers, or of hexadecimal numbers with a step.
_RANGE = re.compile(r"(\d+)(?:-(\d+))?|([0-9a-f]+)-([0-9a-f]+)/(\d+)")
_FIELD_PREFIX = re.compile(r"^[A-Z0-9]+(?=_)")


def _block_roles(
    block: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]], path: Path
) -> dict[str, dict[str, Any]]:
    """Return the roles of a block, in addition to those of the block that it resembles."""
    like = block.get("like")
    if like is None:
        return dict(_expand_names(block["roles"]))
    complete = [other for other in blocks if other["table"] == like and "like" not in other]
    if len(complete) != 1:
        raise CatalogError(f"{block['table']}: {like} is not one block with all its roles", file=str(path))
    roles = dict(_expand_names(complete[0]["roles"]))
    if prefix := block.get("prefix"):
        for role, how in roles.items():
            if "field" in how:
                roles[role] = how | {"field": _FIELD_PREFIX.sub(prefix, how["field"])}
    return roles | dict(_expand_names(block.get("roles", {})))


def _expand_names(entries: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield entries, one per word of names with words or ranges (`c[0-5 basic]`); it replaces {n} and {N}."""
    for name, facts in entries.items():
        match = _RANGES.fullmatch(name)
        if match is None:
            yield name, facts
            continue
        for part in match[2].split():
            for word in _range(part):
                yield (
                    f"{match[1]}{word}{match[3]}",
                    {
                        key: value.replace("{n}", word).replace("{N}", word.upper())
                        if isinstance(value, str)
                        else value
                        for key, value in facts.items()
                    },
                )


def _range(part: str) -> list[str]:
    """Return a word; the numbers of a range; or the counters of a set on all machines."""
    from zlens.catalog import cpumf

    match, counters = _RANGE.fullmatch(part), cpumf.sets().get(part)
    if counters is not None:
        numbers = range(counters.first, counters.first + counters.max_size)
    elif match is None:
        return [part]
    elif match[1]:
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1)
    else:
        steps = range(int(match[3], 16), int(match[4], 16) + 1, int(match[5]))
        return [f"{number:0{len(match[3])}x}" for number in steps]
    return [str(number) for number in numbers]


def candidate_fields(how: Mapping[str, Any]) -> list[str]:
    """Return the fields that may provide a role, first choice first."""
    field = how.get("field", [])
    return [field] if isinstance(field, str) else list(field)


def value_of(entity_name: str, role: str, values: Mapping[str, Any]) -> Any:
    """Return a role's value in one decoded record (field name to value); None if it has no such field."""
    for origin in entity(entity_name).origins:
        for field in candidate_fields(origin.roles.get(role, {})):
            if values.get(field) is not None:
                return values[field]
    return None


def code_words_sql(sql: str, table: str) -> str:
    """Return SQL that replaces codes by the words of a table in codes.toml; other codes remain, as text."""
    words = codes.words(table)
    branches = " ".join(
        f"WHEN {expressions.literal(code)} THEN {expressions.literal(word)}"
        for code, word in sorted(words.items())
    )
    text = f"CAST({sql} AS VARCHAR)"
    return f"CASE {text} {branches} ELSE {text} END"


def scale_factor(name: str) -> float:
    """Return the factor from a raw unit to the unit of measures."""
    if name not in raw_units():
        raise CatalogError(f"there is no unit {name!r}", expected="one of facts/units.toml")
    return raw_units()[name].factor


def check() -> list[str]:
    """Return catalog issues of the role files, one sentence each."""
    problems: list[str] = []
    for name in entities():
        try:
            checked = entity(name)
            problems += [
                f"roles/{name}.toml: key {key} is not a role"
                for key in checked.key
                if key not in checked.roles
            ]
            for origin in checked.origins:
                for how in origin.roles.values():
                    if "codes" in how:
                        code_words_sql("x", how["codes"])
                    if "scale" in how:
                        scale_factor(how["scale"])
                    if "expression" in how:
                        expressions.parse(how["expression"])
                other_tables = {other.table for other in checked.origins} - {origin.table}
                problems += [
                    f"roles/{name}.toml: {origin.table} yields to {detailed.table}, which provides no role"
                    for detailed in origin.unless
                    if detailed.table not in other_tables
                ]
                limits = [role.within for role in checked.roles.values()]
                problems += [
                    f"roles/{name}.toml: {role.name} has a number as its limit without a source"
                    for role in checked.roles.values()
                    if role.within.isdigit() and role.unit != "%" and not role.source
                ]
                for formula in (origin.where, *limits, *(join.on for join in origin.joins)):
                    if formula:
                        expressions.parse(formula)
        except (CatalogError, KeyError, TypeError) as error:
            problems.append(f"roles/{name}.toml: {error}")
    return problems
