"""Roles bound by the user: `roles.toml` in the data folder.

The catalog finds a role by the field names on public record pages. If there is no such name, or a release
has another name for a field, the user can bind it; the field's offset comes from a layout of
the catalog or of a pack. The user's bindings take precedence; the catalog still applies to records
without these fields.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from zlens.catalog import codes, layouts, roles
from zlens.catalog.layouts import UNITS, MonitorField, RecordLayout
from zlens.errors import CatalogError
from zlens.schema import document, structs
from zlens.schema.structs import FactTable, doc
from zlens.schema.validators import DocumentErrors

FILE = "roles.toml"
TEMPLATE = """\
# Your roles: which field provides a role of measures and reports. A line takes precedence over the catalog
# for records that have the field, and takes effect at once; `zlens explain guest.dispatch_wait` shows what is
# bound, `zlens catalog check` the errors in this file.
#
# A table is an entity (zlens catalog show lists them), a line in it one of its roles.
#
#     [guest]
#     dispatch_wait = { field = "USEACT_NEWFIELD", scale = "tod" }
#
# field   the name on the record page, or several: ["USEACT_NEW", "USEACT_OLD"], the first existing one counts
# table   the raw table, such as d4r3 or d0r16_cpudata; optional if the field's prefix determines it
# scale   what the number counts if the role is in seconds: tod (4096 are one microsecond), us, 128us, ms
# take    "difference", the count since the previous sample, or "value", the number as is; the default is
#   the first for roles that are summed up, the second for others
# codes   a table of codes whose words replace the numbers
# base    16 for text that is a hexadecimal number
"""
_NAME = re.compile(r"[A-Za-z$#@][A-Za-z0-9_$#@]*")
_MAX_BYTES = 1024 * 1024


class UserRole(FactTable, frozen=True, kw_only=True):
    """How a field gives a role."""

    # A pattern cannot be stated here: msgspec crashes for a union of it and a list.
    field: Annotated[
        str | Annotated[tuple[str, ...], Meta(min_length=1)],
        doc("a field, or several, the first existing one counts"),
    ]
    table: Annotated[str | None, doc("the raw table, if the field's prefix leaves it open")] = None
    take: Annotated[
        Literal["difference", "value"] | None,
        doc("the number, or its change; default: the change for roles that are summed up"),
    ] = None
    scale: Annotated[str, doc("what the number counts if the role is in seconds")] = ""
    codes: Annotated[str, doc("a table of codes whose words replace numbers")] = ""
    base: Annotated[Literal[16] | None, doc("of text that is a hexadecimal number")] = None


class BoundValue(roles.RoleValue, frozen=True, kw_only=True):
    """The value of a role as the user binds it at a line of a file."""

    where: str


class RoleBinding(Struct, frozen=True):
    """One role of one raw table, bound by the user."""

    entity: str
    role: str
    table: str
    value: roles.RoleValue
    where: str


def path() -> Path:
    """Return the path of the user's file; it need not exist."""
    return layouts.pack_root().parent / FILE


def bindings() -> tuple[RoleBinding, ...]:
    """Return all roles that the user binds; CatalogError with file and line if one is invalid."""
    file = path()
    try:
        stat = file.stat()
    except OSError:
        return ()
    return _read(str(file), stat.st_mtime_ns, stat.st_size)


def write_template(data: Path) -> None:
    """Write a file that contains only comments into a data folder without one."""
    file = data / FILE
    if not file.exists():
        file.write_text(TEMPLATE, encoding="utf-8")


def check() -> list[str]:
    """Return catalog issues of the file, one sentence each, including bindings without effect."""
    try:
        user_bindings = bindings()
    except CatalogError as error:
        return [str(error)]
    return [sentence for binding in user_bindings for sentence in _without_effect(binding)]


def bind_entity(role_entity: roles.Entity) -> roles.Entity:
    """Return an entity with the user's bindings."""
    entity_bindings = [binding for binding in bindings() if binding.entity == role_entity.name]
    if not entity_bindings:
        return role_entity
    origins = []
    for origin in role_entity.origins:
        origin_roles = dict(origin.roles)
        for binding in entity_bindings:
            if binding.table == origin.table:
                origin_roles[binding.role] = _combined(binding, origin_roles.get(binding.role))
        origins.append(replace(origin, roles=origin_roles))
    return replace(role_entity, origins=tuple(origins))


def bind_layout(layout: RecordLayout) -> RecordLayout:
    """Return a layout whose fields with a bound difference have a kind that allows it.

    A field whose kind the record page does not state has no differences; binding it to a counted or timed
    role states its kind.
    """
    bound = {field: binding for binding in bindings() for field in _bound_fields(binding, layout.record)}
    if not bound or not (layout.subject or layout.subject_kind == "system"):
        return layout
    return replace(
        layout,
        fields=tuple(_with_binding(field, bound) for field in layout.fields),
        sections=tuple(
            replace(section, fields=tuple(_with_binding(field, bound) for field in section.fields))
            for section in layout.sections
        ),
    )


def _bound_fields(binding: RoleBinding, record: str) -> tuple[str, ...]:
    applies = binding.table.partition("_")[0].upper() == record and binding.value.take == "difference"
    return binding.value.fields if applies else ()


def _with_binding(field: MonitorField, bound: Mapping[str, RoleBinding]) -> MonitorField:
    binding = bound.get(field.name.upper())
    if binding is None or field.has_difference or not 1 <= field.length <= 8:
        return field
    scale = binding.value.scale
    return replace(
        field,
        type="unsigned" if field.type == "bitstring" else field.type,
        kind="timer" if scale else "counter",
        kind_status="stated",
        direction="learn" if scale else "up",
        unit=scale if scale in UNITS else "count",
        note=f"by {binding.where}",
    )


def _combined(binding: RoleBinding, cataloged: roles.RoleValue | None) -> roles.RoleValue:
    """Return the user's fields, in order, followed by the catalog's definition.

    If systems of different releases are read, each system has one of the fields.
    """
    value = cataloged
    for name in reversed(binding.value.fields):
        keys = asdict(binding.value) | {"field": name, "fallback": value}
        value = BoundValue(**keys, where=binding.where)
    assert value is not None
    return value if cataloged is None else replace(value, over=cataloged.over)


@cache
def _read(file: str, _when: int, size: int) -> tuple[RoleBinding, ...]:
    if size > _MAX_BYTES:
        raise CatalogError(
            "is too large for a file of roles", file=file, expected=f"at most {_MAX_BYTES:,} bytes"
        )
    text = document.text_of(Path(file))
    return tuple(_bindings(document.parse_toml(text, file), file, text))


def _bindings(data: Mapping[str, Any], file: str, text: str) -> Iterator[RoleBinding]:
    problem = DocumentErrors(file, text=text)
    for entity, keys_by_role in structs.convert(data, dict[str, dict[str, UserRole]], problem).items():
        if entity not in roles.entities():
            raise _error(f"there is no entity {entity!r}", roles.entities(), entity, problem.place(entity))
        cataloged = roles.catalog_entity(entity)
        for role, keys in keys_by_role.items():
            where = problem.place(f"{entity}.{role}") or file
            if role not in cataloged.roles:
                raise _error(f"{entity} has no role {role!r}", cataloged.roles, role, where)
            yield _binding(cataloged, cataloged.roles[role], keys, where)


def _binding(cataloged: roles.Entity, role: roles.Role, keys: UserRole, where: str) -> RoleBinding:
    def fail(problem: str, expected: str) -> CatalogError:
        return CatalogError(f"{cataloged.name}.{role.name}: {problem}", file=where, expected=expected)

    names = (keys.field,) if isinstance(keys.field, str) else keys.field
    if not all(map(_NAME.fullmatch, names)):
        raise fail(f"field is {keys.field!r}", "the name of a field as on its page, or a list of them")
    for text, check in ((keys.scale, roles.scale_factor), (keys.codes, codes.words)):
        try:
            if text:
                check(text)
        except CatalogError as error:
            raise fail(error.message, error.expected or "one of the catalog") from None
    take = keys.take or ("difference" if role.aggregate == "sum" else "value")
    if role.unit == "s" and take == "difference" and not keys.scale:
        raise fail(
            "it is in seconds, but scale does not define the unit of the field", 'scale = "tod" or "us"'
        )
    fields = tuple(name.upper() for name in names)
    value = roles.RoleValue(field=fields, take=take, scale=keys.scale, codes=keys.codes, base=keys.base)
    table = _table(cataloged, keys.table, fields, fail)
    return RoleBinding(cataloged.name, role.name, table, value, where)


def _table(cataloged: roles.Entity, named_table: str | None, fields: tuple[str, ...], fail: Any) -> str:
    """Return the raw table: the named one, else the one whose record's fields have the same prefix."""
    tables = list(dict.fromkeys(origin.table for origin in cataloged.origins))
    if named_table is not None:
        if named_table not in tables:
            raise fail(f"table is {named_table!r}", f"one of {', '.join(tables)}")
        return named_table
    prefix = fields[0].partition("_")[0]
    fitting = [table for table in tables if _prefix(table) == prefix] or tables
    if len(fitting) != 1:
        raise fail("it does not name a table", f"table = one of {', '.join(fitting)}")
    return fitting[0]


def _prefix(table: str) -> str | None:
    record = layouts.record_of_table(table)
    info = layouts.record_info(record) if record else None
    return info.dsect.removeprefix("MR") if info else None


def _without_effect(binding: RoleBinding) -> Iterator[str]:
    """Yield errors for fields that no layout has, which are usually misspelled."""
    record = layouts.record_of_table(binding.table)
    if record is None:
        return
    layout_list = [*layouts.layouts(record), *layouts.sim_layouts(record)]
    parts = (
        fields
        for layout in layout_list
        for fields in (layout.fields, *(section.fields for section in layout.sections))
    )
    names = {field.name.upper() for fields in parts for field in fields}
    for name in binding.value.fields:
        if name not in names:
            near = _similar_names(name, names, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield f"{binding.where}: no layout of {record} has the field {name}{hint}"


def _similar_names(name: str, names: Iterable[str], limit: int) -> list[str]:
    # Imported only if there is an error.
    import difflib

    return difflib.get_close_matches(name, list(names), limit)


def _error(message: str, names: Iterable[str], name: str, where: str | None) -> CatalogError:
    near = _similar_names(name, names, 3) or sorted(names)[:8]
    return CatalogError(message, file=where, expected=f"such as {', '.join(near)}")
