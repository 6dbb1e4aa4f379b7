"""Roles bound by the user: `roles.toml` in the data folder.

The catalog finds a role by the names that fields have on public pages. Where there is no such name, or a
release calls a field otherwise, the user says which field it is; the field's place comes from a layout, of
the catalog or of a pack. What the user says goes before the catalog and leaves it in force for records that
have no such field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from zlens.catalog import codes, layouts, roles
from zlens.catalog.layouts import UNITS, Field, Layout
from zlens.errors import CatalogError
from zlens.schema import toml
from zlens.schema.toml_lines import line_of

FILE = "roles.toml"
TEMPLATE = """\
# Roles of yours: which field gives what measures and reports ask for. A line goes before what the catalog
# says, for records that have the field, and holds at once; `zlens explain guest.dispatch_wait` shows what is
# bound, `zlens catalog check` what of this file cannot be.
#
# A table is an entity (zlens catalog show lists them), a line in it one of its roles.
#
#     [guest]
#     dispatch_wait = { field = "USEACT_NEWFIELD", scale = "tod" }
#
# field   the name on the record page, or several: ["USEACT_NEW", "USEACT_OLD"], the first one that is there
# table   the raw table, such as d4r3 or d0r16_cpudata; may be left out where the field's prefix tells it
# scale   what the number counts where the role is in seconds: tod (4096 are one microsecond), us, 128us, ms
# take    "difference", what was counted since the sample before, or "value", the number as it stands; without
#  it the first for roles that are summed up, the second for others
# codes   a table of codes whose words replace the numbers
# base    16 for text that is a hexadecimal number
"""
_KEYS = ("field", "table", "take", "scale", "codes", "base")
_TAKES = ("difference", "value")
_NAME = re.compile(r"[A-Za-z$#@][A-Za-z0-9_$#@]*")
_TABLE = re.compile(r"d(\d{1,2})r(\d{1,5})(?:_|$)")
_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Binding:
    """One role of one raw table as the user has it."""

    entity: str
    role: str
    table: str
    how: dict[str, Any]
    file: str
    line: int | None

    @property
    def where(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


def path() -> Path:
    """The user's file; it need not exist."""
    return layouts.pack_root().parent / FILE


def bindings() -> tuple[Binding, ...]:
    """All roles that the user binds; CatalogError with file and line where one cannot be."""
    file = path()
    try:
        stat = file.stat()
    except OSError:
        return ()
    return _read(str(file), stat.st_mtime_ns, stat.st_size)


def write_template(data: Path) -> None:
    """Puts a file of nothing but comments into a data folder that has none."""
    file = data / FILE
    if not file.exists():
        file.write_text(TEMPLATE, encoding="utf-8")


def check() -> list[str]:
    """What is wrong with the file, a sentence each; and what of it can have no effect."""
    try:
        bound = bindings()
    except CatalogError as error:
        return [str(error)]
    return [sentence for binding in bound for sentence in _without_effect(binding)]


def of_entity(what: roles.Entity) -> roles.Entity:
    """An entity with the user's word on it."""
    said = [binding for binding in bindings() if binding.entity == what.name]
    if not said:
        return what
    origins = []
    for origin in what.origins:
        taken = dict(origin.roles)
        for binding in said:
            if binding.table == origin.table:
                taken[binding.role] = _before(binding, taken.get(binding.role))
        origins.append(replace(origin, roles=taken))
    return replace(what, origins=tuple(origins))


def of_layout(layout: Layout) -> Layout:
    """A layout in which the fields that the user takes differences of are what that makes them.

    A field of which a page does not say what it is has no differences; that somebody bound it to what is
    counted or timed says it.
    """
    said = {field: binding for binding in bindings() for field in _taken(binding, layout.record)}
    if not said or not (layout.subject or layout.subject_kind == "system"):
        return layout
    return replace(
        layout,
        fields=tuple(_taught(field, said) for field in layout.fields),
        sections=tuple(
            replace(section, fields=tuple(_taught(field, said) for field in section.fields))
            for section in layout.sections
        ),
    )


def _taken(binding: Binding, record: str) -> list[str]:
    own = binding.table.partition("_")[0].upper() == record and binding.how.get("take") == "difference"
    return roles.fields(binding.how) if own else []


def _taught(field: Field, said: Mapping[str, Binding]) -> Field:
    binding = said.get(field.name.upper())
    if binding is None or field.differenced or not 1 <= field.length <= 8:
        return field
    scale = binding.how.get("scale")
    return replace(
        field,
        type="unsigned" if field.type == "bitstring" else field.type,
        kind="timer" if scale else "counter",
        kind_status="stated",
        direction="learn" if scale else "up",
        unit=scale if scale in UNITS else "count",
        note=f"what it is by {binding.where}",
    )


def _before(binding: Binding, other: Mapping[str, Any] | None) -> dict[str, Any]:
    """The user's fields, one behind the other, and the catalog's way behind them.

    Of systems of different releases, read together, each has one of them.
    """
    how = None if other is None else dict(other)
    for name in reversed(roles.fields(binding.how)):
        before = {**binding.how, "field": name, "user": binding.where}
        how = before if how is None else {**before, "else": how}
    assert how is not None
    if other is not None and "over" in other:
        how["over"] = other["over"]
    return how


@cache
def _read(file: str, _when: int, size: int) -> tuple[Binding, ...]:
    if size > _MAX_BYTES:
        raise CatalogError(
            "is too large for a file of roles", file=file, expected=f"at most {_MAX_BYTES:,} bytes"
        )
    text = ""
    try:
        text = Path(file).read_bytes().decode("utf-8")
        data = toml.parse(text)
    except OSError as error:
        raise CatalogError(f"cannot be read: {error.strerror}", file=file) from error
    except (ValueError, RecursionError) as error:
        said = re.search(r"\(at line (\d+)", str(error))
        where = file
        if said or "end of document" in str(error):
            where = f"{file}:{said[1] if said else len(text.splitlines())}"
        raise CatalogError(f"is not TOML: {error}", file=where, cure="correct the line") from error
    return tuple(_bindings(data, file, text))


def _bindings(data: Mapping[str, Any], file: str, text: str) -> Iterator[Binding]:
    for entity, table in data.items():
        at = line_of(text, entity)
        if entity not in roles.entities():
            raise _error(f"there is no entity {entity!r}", roles.entities(), entity, file, at)
        if not isinstance(table, dict):
            raise CatalogError(
                f"{entity} is not a table of roles",
                file=_where(file, at),
                expected=f"[{entity}] and lines in it",
            )
        known = roles.cataloged(entity)
        for role, how in table.items():
            at = line_of(text, f"{entity}.{role}")
            if role not in known.roles:
                raise _error(f"{entity} has no role {role!r}", known.roles, role, file, at)
            yield _binding(known, known.roles[role], how, file, at)


def _binding(known: roles.Entity, role: roles.Role, how: Any, file: str, line: int | None) -> Binding:
    where = _where(file, line)
    called = f"{known.name}.{role.name}"

    def fail(what: str, expected: str) -> CatalogError:
        return CatalogError(f"{called}: {what}", file=where, expected=expected)

    if not isinstance(how, dict) or "field" not in how:
        raise fail("it does not say which field", '{ field = "NAME" }')
    strange = sorted(set(how) - set(_KEYS))
    if strange:
        raise fail(f"{strange[0]!r} cannot be said", f"one of {', '.join(_KEYS)}")
    fields = roles.fields(how) if isinstance(how["field"], str | list) else []
    if not fields or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in fields):
        raise fail(f"field is {how['field']!r}", "the name of a field as on its page, or a list of them")
    take = how.get("take", "difference" if role.aggregate == "sum" else "value")
    if take not in _TAKES:
        raise fail(f"take is {take!r}", f"one of {', '.join(_TAKES)}")
    made: dict[str, Any] = {"field": [name.upper() for name in fields]}
    if take == "difference":
        made["take"] = take
    for key, check in (("scale", roles.scale_factor), ("codes", codes.words)):
        if key in how:
            try:
                check(how[key] if isinstance(how[key], str) else "")
            except CatalogError as error:
                raise fail(error.message, error.expected or "one of the catalog") from None
            made[key] = how[key]
    if "base" in how:
        if how["base"] != 16:
            raise fail(f"base is {how['base']!r}", "16")
        made["base"] = 16
    if role.unit == "s" and take == "difference" and "scale" not in how:
        raise fail("it is in seconds, and scale does not say what the field counts", 'scale = "tod" or "us"')
    return Binding(
        known.name, role.name, _table(known, how.get("table"), made["field"], fail), made, file, line
    )


def _table(known: roles.Entity, said: Any, fields: list[str], fail: Any) -> str:
    """The raw table: the one that is said, else the one whose record's fields begin like these."""
    tables = list(dict.fromkeys(origin.table for origin in known.origins))
    if said is not None:
        if said not in tables:
            raise fail(f"table is {said!r}", f"one of {', '.join(tables)}")
        return str(said)
    prefix = fields[0].partition("_")[0]
    fitting = [table for table in tables if _prefix(table) == prefix] or tables
    if len(fitting) != 1:
        raise fail("it does not say which table", f"table = one of {', '.join(fitting)}")
    return fitting[0]


def _prefix(table: str) -> str | None:
    record = _record(table)
    head = layouts.head(record) if record else None
    return head.dsect.removeprefix("MR") if head else None


def _record(table: str) -> str | None:
    match = _TABLE.match(table)
    return layouts.record_id(int(match[1]), int(match[2])) if match else None


def _without_effect(binding: Binding) -> Iterator[str]:
    """Fields that no layout has, which is what a misspelt name looks like."""
    record = _record(binding.table)
    if record is None:
        return
    known = [*layouts.layouts(record), *layouts.sim_layouts(record)]
    parts = (fields for x in known for fields in (x.fields, *(s.fields for s in x.sections)))
    names = {f.name.upper() for fields in parts for f in fields}
    for name in roles.fields(binding.how):
        if name not in names:
            near = _near(name, names, 1)
            hint = f"; {near[0]} is alike" if near else ""
            yield f"{binding.where}: no layout of {record} has the field {name}{hint}"


def _near(name: str, known: Iterable[str], most: int) -> list[str]:
    # Imported where something is wrong alone.
    import difflib

    return difflib.get_close_matches(name, list(known), most)


def _error(what: str, known: Iterable[str], name: str, file: str, line: int | None) -> CatalogError:
    near = _near(name, known, 3) or sorted(known)[:8]
    return CatalogError(what, file=_where(file, line), expected=f"such as {', '.join(near)}")


def _where(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"
