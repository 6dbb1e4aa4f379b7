"""Roles: names by which measures refer to the contents of records, and their translation into SQL.

A role file defines an entity and, per raw table, the field of each role; measures read the view
`role.<entity>` and never a field. A role whose field is missing in a file's layouts is NULL.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from zlens.catalog import codes, expressions
from zlens.catalog.raw_columns import LISTED
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, NamedFacts, SourcedTable, doc

T = TypeVar("T", bound=FactTable)
FOLDER = FACTS / "roles"
SQL_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP WITH TIME ZONE",
}
#: Suffix of a raw table's name that means its rows of all times, not only of the selected window.
ALL_TIMES_SUFFIX = "#whole"
#: Role with the names of withheld values of a row.
IMPOSSIBLE = "impossible"


class RoleKeys(FactTable, frozen=True, kw_only=True):
    """A role of an entity."""

    type: Annotated[Literal["int", "float", "text", "bool", "time"], doc("of its values")]
    text: Annotated[str, doc("what it is")]
    aggregate: Annotated[Literal["sum", "mean", "last"], doc("how --every aggregates it")]
    unit: Annotated[str, doc("its unit")] = ""
    within: Annotated[
        str, doc("limit over `seconds` and roles: a value above it, or below 0, is withheld")
    ] = ""
    source: Annotated[str, doc("where a limit that is a number is from")] = ""
    signed: Annotated[bool, doc("false: a value below 0 is withheld")] = True


class Role(RoleKeys, frozen=True, kw_only=True):
    """A role with its name. The role `impossible` names the withheld values of a row."""

    name: str

    @property
    def is_bounded(self) -> bool:
        return bool(self.within) or not self.signed


class RoleValue(FactTable, frozen=True, kw_only=True):
    """How a raw table gives a role."""

    field: Annotated[
        str | tuple[str, ...], doc("a field or column, or several, the first existing one counts")
    ] = ()
    take: Annotated[
        Literal["value", "difference", "bits"],
        doc("the number, its change in the interval, or how many bits are on"),
    ] = "value"
    scale: Annotated[str, doc("what the number counts: a unit of units.toml")] = ""
    codes: Annotated[str, doc("a table of codes whose words replace numbers")] = ""
    base: Annotated[Literal[10, 16] | None, doc("of the number that a text is")] = None
    marks: Annotated[str, doc("characters that may follow the number that a text is")] = ""
    part: Annotated[Literal[1, 2] | None, doc("what is before, or after, a slash")] = None
    digits: Annotated[int | None, doc("a number as at least so many hexadecimal digits")] = None
    value: Annotated[bool | int | float | str | None, doc("a constant")] = None
    expression: Annotated[str, doc("formula over columns of the table")] = ""
    over: Annotated[
        Literal["sum", "max", "min", "any_value", "count"] | None,
        doc("of a group: the aggregate over its rows"),
    ] = None
    each: Annotated[str, doc("limit of one row of a group, if it is another")] = ""
    before: Annotated[str, doc("only for z/VM levels before this one")] = ""
    fallback: Annotated["RoleValue | None", doc("if this gives no value")] = msgspec.field(
        default=None, name="else"
    )

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that may provide it, first choice first."""
        return (self.field,) if isinstance(self.field, str) else self.field

    @property
    def suffix(self) -> str:
        """What the names of the columns with its number end with."""
        return "_d" if self.take == "difference" else ""


#: Of a role that a table does not give.
NO_VALUE = RoleValue()


class SectionJoin(FactTable, frozen=True):
    """A section of the same record whose fields are joined with those of a raw table."""

    table: Annotated[str, doc("the raw table of the section")]
    on: Annotated[str, doc("condition that selects the section")]
    same: Annotated[tuple[str, ...], doc("columns shared with its rows, instead of being of one record")] = ()
    distinct: Annotated[
        tuple[str, ...],
        doc("columns that differ in a record's sections; of those that do not, the first counts"),
    ] = ()


class DetailedTable(FactTable, frozen=True):
    """A more detailed raw table: its rows of the same system and time replace those of the origin."""

    table: Annotated[str, doc("the raw table")]
    same: Annotated[tuple[str, ...], doc("other columns that must be the same")] = ()


class RoleOrigin(FactTable, frozen=True):
    """Roles of an entity from one raw table."""

    table: Annotated[str, doc("the raw table")]
    source: Annotated[str, doc("where it is described")] = ""
    where: Annotated[str, doc("condition that selects its rows")] = ""
    group: Annotated[bool, doc("whether rows with the same roles are grouped")] = False
    optional: Annotated[
        bool, doc("whether only some machines fill in these fields; others' rows may be excluded")
    ] = False
    roles: Annotated[dict[str, RoleValue], doc("its roles by name")] = {}
    joins: Annotated[tuple[SectionJoin, ...], doc("joined sections")] = msgspec.field(default=(), name="join")
    began: Annotated[str | None, doc("field of the time when counters started at 0")] = None
    seconds: Annotated[
        str | None, doc("formula of the time that the subject existed, if less than the interval")
    ] = None
    time: Annotated[str | None, doc("column of the time from which a state lasts, or of an event")] = None
    unless: Annotated[tuple[DetailedTable, ...], doc("more detailed tables, whose rows replace these")] = ()
    like: Annotated[str, doc("table of the origin whose roles it has, besides its own")] = ""
    prefix: Annotated[str, doc("what names of fields then begin with")] = ""


class RoleFile(FactTable, frozen=True, kw_only=True):
    """An entity."""

    entity: Annotated[str, doc("its name")]
    text: Annotated[str, doc("what one row is")]
    key: Annotated[tuple[str, ...], doc("roles that identify a row")]
    roles: Annotated[dict[str, RoleKeys], doc("its roles by name")]
    origins: Annotated[tuple[RoleOrigin, ...], doc("raw tables that give them")] = msgspec.field(name="from")
    lasting: Annotated[bool, doc("whether rows are states that last until the next")] = False


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


def entities() -> list[str]:
    """Return the names of all entities, without reading their files."""
    return list(_stems(FOLDER))


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
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise CatalogError(
            f"there is no role entity {name!r}", expected=", ".join(entities()), cure="see facts/roles"
        )
    file = structs.load(path, RoleFile)
    roles = {role: Role(name=role, **asdict(keys)) for role, keys in _expand_names(file.roles)}
    if any(role.is_bounded for role in roles.values()):
        text = "values withheld because they cannot be right"
        roles[IMPOSSIBLE] = Role(name=IMPOSSIBLE, type="text", text=text, aggregate="last")
    origins = [replace(origin, roles=_origin_roles(origin, file.origins, path)) for origin in file.origins]
    for origin in origins:
        for role in origin.roles:
            if role not in roles:
                problem = f"{origin.table}: role {role} is not among the entity's roles"
                raise CatalogError(problem, file=str(path))
    return Entity(file.entity, file.text, file.key, roles, tuple(_recorded_first(origins)), file.lasting)


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
    texts = {name: (FOLDER / f"{name}.toml").read_text(encoding="utf-8") for name in entities()}
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


def _origin_roles(origin: RoleOrigin, origins: Sequence[RoleOrigin], path: Path) -> dict[str, RoleValue]:
    """Return the roles of an origin, in addition to those of the origin that it resembles."""
    own = dict(_expand_names(origin.roles))
    if not origin.like:
        return own
    complete = [other for other in origins if other.table == origin.like and not other.like]
    if len(complete) != 1:
        raise CatalogError(
            f"{origin.table}: {origin.like} is not one block with all its roles", file=str(path)
        )
    roles = dict(_expand_names(complete[0].roles))
    if origin.prefix:
        for role, value in roles.items():
            if isinstance(value.field, str):
                roles[role] = replace(value, field=_FIELD_PREFIX.sub(origin.prefix, value.field))
    return roles | own


def _expand_names(entries: Mapping[str, T]) -> Iterator[tuple[str, T]]:
    """Yield entries, one per word of names with words or ranges (`c[0-5 basic]`); it replaces {n} and {N}."""
    for name, entry in entries.items():
        match = _RANGES.fullmatch(name)
        if match is None:
            yield name, entry
            continue
        texts = {key: value for key, value in asdict(entry).items() if isinstance(value, str)}
        for part in match[2].split():
            for word in _range(part):
                changed = {
                    key: text.replace("{n}", word).replace("{N}", word.upper()) for key, text in texts.items()
                }
                yield f"{match[1]}{word}{match[3]}", replace(entry, **changed)


def _range(part: str) -> list[str]:
    """Return a word; the numbers of a range; or the counters of a set on all machines."""
    from zlens.catalog import cpumf

    match, counters = _RANGE.fullmatch(part), cpumf.sets().get(part)
    if counters is not None:
        numbers = counters.numbers
    elif match is None:
        return [part]
    elif match[1]:
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1)
    else:
        steps = range(int(match[3], 16), int(match[4], 16) + 1, int(match[5]))
        return [f"{number:0{len(match[3])}x}" for number in steps]
    return [str(number) for number in numbers]


def value_of(entity_name: str, role: str, values: Mapping[str, Any]) -> Any:
    """Return a role's value in one decoded record (field name to value); None if it has no such field."""
    for origin in entity(entity_name).origins:
        for field in origin.roles.get(role, NO_VALUE).fields:
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


class RawUnit(NamedFacts, SourcedTable, frozen=True):
    """A unit of raw numbers."""

    path: ClassVar = "units.toml"
    factor: Annotated[float, Meta(gt=0, description="its value in the unit of measures")]
    unit: Annotated[str, doc("the unit of measures")]
    text: Annotated[str, doc("what it is")]


def scale_factor(name: str) -> float:
    """Return the factor from a raw unit to the unit of measures."""
    if name not in RawUnit.by_name():
        raise CatalogError(f"there is no unit {name!r}", expected="one of facts/units.toml")
    return RawUnit.by_name()[name].factor


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
                    if how.codes:
                        code_words_sql("x", how.codes)
                    if how.scale:
                        scale_factor(how.scale)
                    if how.expression:
                        expressions.parse(how.expression)
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
        except CatalogError as error:
            problems.append(f"roles/{name}.toml: {error}")
    return problems
