"""One value of a measure with the records it is computed from: fields, file, offset and bytes.

Nothing of this is stored: the rows are queried again, and each record is read again at its offset.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from zlens.catalog import measures, roles
from zlens.catalog.expressions import literal, quote, value_sql
from zlens.compiler import role_origin
from zlens.compiler.nodes import is_joined
from zlens.errors import QueryError
from zlens.explain.lineage import column_lineage
from zlens.inputs.options import TimeSpec
from zlens.inputs.source import RecordSource, Source

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Maximum records of a value that are read again; a sum over guests has one for each of them.
_MOST_RECORDS = 12
#: Maximum subjects that an error names.
_MOST_NAMED = 12
#: Intervals before a record in which the record before it is looked for.
_BEFORE = 2.5
_MOST_LINE = 2000
_LEADING = ("file", "offset", "tod")
#: Values that 2, 4 and 8 bytes have: a counter wraps there.
_SIZES = (1 << 16, 1 << 32, 1 << 64)


class FieldBytes(Struct, frozen=True):
    """A column of a raw table in one record.

    offset      of its bytes from the start of the record; None if no bytes of the record are the value alone
    difference  from the record before it, if the formula has the difference
    """

    column: str
    value: Any
    difference: Any = None
    offset: int | None = None
    length: int = 0


class RecordBytes(Struct, frozen=True):
    """A record, or a line of a text, and its fields that the value is computed from.

    time    of the record
    roles   roles of the fields by name, in the units of the formulas; None if a value is missing
    data    its bytes; None if it cannot be read again, for the reason in `note`
    before  whether it is the record before another one, which the difference is from
    """

    table: str
    file: str
    offset: int | None
    time: dt.datetime | None
    roles: dict[str, Any]
    fields: list[FieldBytes]
    data: bytes | None = None
    before: bool = False
    note: str = ""


class OriginOfValue(Struct, frozen=True):
    """A value of a column and what it is computed from.

    subject  the keys of the row
    inputs   values of the names in the formula that are columns of the same row
    more     number of records that are not shown
    """

    column: str
    system: str
    source: str
    end: dt.datetime | None
    subject: dict[str, Any]
    value: Any
    unit: str
    formula: str
    inputs: dict[str, Any]
    records: list[RecordBytes]
    more: int = 0


def find_origin(
    session: CoreSession,
    name: str,
    system: str | None = None,
    at: TimeSpec | None = None,
    subject: Mapping[str, str] | None = None,
    source: str | None = None,
    window: tuple[dt.datetime | None, dt.datetime | None] = (None, None),
) -> OriginOfValue:
    """Return the origin of a value: of the interval that contains `at`, or the largest value in the window.

    Raises QueryError if the name is not `MEASURE.COLUMN`, and if no row or several rows match.
    """
    table_name, _, column_name = name.partition(".")
    table = measures.load_measure(table_name) if table_name in measures.measure_names() else None
    column = table.column(column_name) if table else None
    if table is None or column is None or not is_joined(table.name):
        raise QueryError(f"{name!r} is not a column of a measure", expected="something like cpu.busy_pct")
    row = _find_row(session, table, column, system, at, dict(subject or {}), source, window)
    keys = {key: row[key] for key in table.row_key}
    end = keys.pop("interval_end", None)
    records: list[_Row] = []
    for entity_name, requested in _roles(table, column).items():
        for part in _parts(session, entity_name, requested, row):
            records += part.rows(row, _key_roles(table, keys, part.entity))
    return OriginOfValue(
        column=name,
        system=row["system"],
        source=row["source"],
        end=end,
        subject={key: value for key, value in keys.items() if key not in ("system", "source")},
        value=row[column.name],
        unit=column.unit,
        formula=column.formula,
        inputs={name: row[name] for name in _named(table, column)},
        records=[record for each in records[:_MOST_RECORDS] for record in each.read(row["system"])],
        more=max(0, len(records) - _MOST_RECORDS),
    )


def _named(table: measures.Measure, column: measures.MeasureColumn) -> list[str]:
    """Return the columns of the same row that the formula names."""
    names = column_lineage().sources(table, column) if column.formula else {}
    return [name for name in names if "." not in name and table.column(name) is not None]


def _roles(table: measures.Measure, column: measures.MeasureColumn) -> dict[str, list[str]]:
    by_entity: dict[str, list[str]] = {}
    for entity_name, role in column_lineage().roles(table.name, column.name):
        by_entity.setdefault(entity_name, []).append(role)
    return by_entity


def _key_roles(table: measures.Measure, keys: dict[str, Any], entity: roles.Entity) -> dict[str, Any]:
    """Return the values of the keys of a row by the role of an entity that each key is."""
    values: dict[str, Any] = {}
    for key, value in keys.items():
        given = [role for name, role in column_lineage().roles(table.name, key) if name == entity.name]
        column = table.column(key)
        if len(given) == 1 and column is not None and column.formula.rpartition(".")[2] == given[0]:
            values[given[0]] = value
        elif not given and key in entity.roles:
            values[key] = value
    return values


def _find_row(
    session: CoreSession,
    table: measures.Measure,
    column: measures.MeasureColumn,
    system: str | None,
    at: TimeSpec | None,
    subject: dict[str, str],
    source: str | None,
    window: tuple[dt.datetime | None, dt.datetime | None],
) -> dict[str, Any]:
    keys = [key for key in table.row_key if key not in ("system", "source", "interval_end")]
    unknown = sorted(set(subject) - set(keys))
    if unknown:
        raise QueryError(
            f"{table.name} has no key {unknown[0]!r}", expected=" or ".join(keys) or "no subject"
        )
    conditions = [f"{quote(column.name)} IS NOT NULL"]
    conditions += [f"CAST({quote(key)} AS VARCHAR) = {literal(text)}" for key, text in subject.items()]
    for name, text in (("system", system), ("source", source)):
        if text is not None:
            conditions.append(f"{name} = {literal(text)}")
    if not table.plain:
        for sign, edge in zip((">", "<="), window, strict=True):
            if edge is not None:
                conditions.append(f"interval_end {sign} {value_sql(edge)}")
    names = list(dict.fromkeys([*table.row_key, "seconds", column.name, *_named(table, column)]))
    names = [name for name in names if table.column(name) is not None or name in measures.LEADING_NAMES]
    statement = (
        f"SELECT {', '.join(map(quote, names))} FROM {quote(table.name)} WHERE {' AND '.join(conditions)}"
    )
    rows = [dict(zip(names, row, strict=True)) for row in session.sql(statement).rows]
    if at is not None and "interval_end" in names:
        rows = [row for row in rows if _contains(session, row, at)]
    if not rows:
        raise QueryError(
            f"no value of {table.name}.{column.name} matches",
            expected="a time and subject of the data, and a column with values",
        )
    subjects = sorted({tuple((key, str(row[key])) for key in ("system", "source", *keys)) for row in rows})
    if at is not None and len(subjects) > 1:
        listed = [", ".join(f"{key}={text}" for key, text in each) for each in subjects[:_MOST_NAMED]]
        rest = len(subjects) - len(listed)
        raise QueryError(
            f"{len(subjects)} rows of {table.name} match",
            expected="one of " + "; ".join(listed) + (f"; and {rest} more" if rest else ""),
        )
    number = isinstance(rows[0][column.name], int | float)
    return max(rows, key=lambda row: row[column.name]) if number else rows[0]


def _contains(session: CoreSession, row: dict[str, Any], at: TimeSpec) -> bool:
    """Return whether the interval of a row contains a time; one of unknown length has its end only."""
    end: dt.datetime | None = row["interval_end"]
    if end is None:
        return False
    recorded_by = row["system"], row["source"]
    last_us = max(
        (info.last_us or 0 for info in session.systems if (info.system, info.source) == recorded_by),
        default=None,
    )
    zone = session.zone(*recorded_by) or dt.UTC
    time = at.at_end(last_us, zone).utc(zone, session.display(end, *recorded_by).date())
    seconds: float = row["seconds"] or 0.0
    return time == end or end - dt.timedelta(seconds=seconds) < time < end


class _Row(Struct):
    """A row of a raw table as queried, with the names of its columns by table, and the row before it."""

    source: Source
    columns: Mapping[str, list[str]]
    values: dict[tuple[str, str], Any]
    roles: dict[str, Any]
    before: bool = False

    def read(self, system: str) -> list[RecordBytes]:
        """Return the records of the row: one for each raw table, usually the same record."""
        # A section that the record does not have gives no row.
        tables = [table for table in self.columns if self.values.get((table, "file")) is not None]
        return [self._record(system, table, self.roles if table == tables[0] else {}) for table in tables]

    def _record(self, system: str, table: str, given: dict[str, Any]) -> RecordBytes:
        def value(name: str) -> Any:
            return self.values.get((table, name))

        file, offset = value("file") or "", value("offset")
        names = self.columns[table]
        plain = [name for name in names if not (name.endswith("_d") and name[:-2] in names)]
        data, places, note = _read(
            self.source, system, table, file, offset, {name: value(name) for name in plain}
        )
        fields = [
            FieldBytes(
                name, value(name), None if self.before else value(f"{name}_d"), *places.get(name, (None, 0))
            )
            for name in plain
            if name not in _LEADING and name != "section_no"
        ]
        return RecordBytes(table, file, offset, value("tod"), given, fields, data, self.before, note)


def _read(
    source: Source, system: str, table: str, file: str, offset: int | None, values: dict[str, Any]
) -> tuple[bytes | None, dict[str, tuple[int, int]], str]:
    """Return the bytes of a record or line, places of columns in it, and why they are missing."""
    if offset is None:
        return None, {}, "the source has no offset of the row"
    if hasattr(source, "folders"):
        return None, {}, "a lake has the rows of the record, not its bytes: open the file itself"
    if isinstance(source, RecordSource):
        record = source.read_record(system, table, file, offset)
        if record is None:
            return (
                None,
                {},
                "its bytes are not in the file as they were read: it is compressed, or has changed",
            )
        rows = [
            places
            for places, known in record.rows
            if all(known[name] == value for name, value in values.items() if name in known and name in places)
        ]
        numbered = values.get("section_no")
        if isinstance(numbered, int) and numbered < len(record.rows):
            rows = [record.rows[numbered][0]]
        return record.data, rows[0] if rows else {}, "" if rows else "the places of its fields are not known"
    try:
        with open(file, "rb") as text:
            text.seek(offset)
            return text.readline(_MOST_LINE).rstrip(b"\r\n"), {}, ""
    except OSError:
        return None, {}, "its bytes are not in a file that can be read again"


class _Part(Struct):
    """What one raw table, with its joined sections, gives to roles of an entity."""

    session: CoreSession
    entity: roles.Entity
    origin: roles.RoleOrigin
    source: Source
    columns: Mapping[str, frozenset[str]]
    requested: list[str]
    release: str | None

    def rows(self, row: dict[str, Any], keys: dict[str, Any]) -> list[_Row]:
        """Return the rows for a row of a measure, each with the row before it if needed.

        keys  values of the roles that are keys of the row
        """
        same = [*keys]
        identity = [key for key in self.entity.key if key not in same]
        _, read = self._record_rows(self.requested)
        sql, query = self._record_rows([*self.requested, *same, *identity])
        if not any(role in sql for role in self.requested):
            return []
        own = self.origin.table
        named = {
            table.removesuffix(roles.ALL_TIMES_SUFFIX): set(names) for table, names in read.reads.items()
        }
        differs = any(name.endswith("_d") for names in named.values() for name in names)
        wanted = {
            table: [
                name
                for name in sorted(
                    {*names, *(name.removesuffix("_d") for name in names), *_LEADING, "section_no"}
                )
                if name in self.columns[table] and name not in ("system", "source", "seconds", "flag")
            ]
            for table, names in named.items()
            if names
        }
        if own not in wanted:
            wanted[own] = [name for name in _LEADING if name in self.columns[own]]
        raw = [(table, name) for table, names in wanted.items() for name in names]
        given = [role for role in (*self.requested, *same, *identity) if role in sql]
        selected = [
            *(f"{'r' if table == own else quote(table)}.{quote(name)}" for table, name in raw),
            *(sql[role] for role in given),
            "r.interval_end",
        ]
        conditions = [f"r.system = {literal(row['system'])}", f"r.source = {literal(row['source'])}"]
        conditions += [
            f"{sql[key]} IS NOT DISTINCT FROM {value_sql(keys[key])}" for key in same if key in sql
        ]
        end = row.get("interval_end")
        if end is not None and not self.entity.lasting:
            first = end - dt.timedelta(seconds=_BEFORE * (row["seconds"] or 0) if differs else 0)
            conditions += [f"r.interval_end >= {value_sql(first)}", f"r.interval_end <= {value_sql(end)}"]
        statement = (
            f"SELECT {', '.join(selected)} {query.sql.replace(roles.ALL_TIMES_SUFFIX, '')} "
            f"WHERE {' AND '.join(conditions)}"
        )
        found = []
        for values in self.session.sql(statement).rows:
            of_roles = dict(zip(given, values[len(raw) :], strict=False))
            record = _Row(self.source, wanted, dict(zip(raw, values, strict=False)), of_roles)
            found.append((record, values[-1]))
        found.sort(
            key=lambda pair: pair[0].values.get((own, "tod")) or dt.datetime.min.replace(tzinfo=dt.UTC)
        )
        result: list[_Row] = []
        for at, (record, interval_end) in enumerate(found):
            if end is not None and not self.entity.lasting and interval_end != end:
                continue
            earlier = [each for each, _ in found[:at]] if differs else []
            former = next((each for each in reversed(earlier) if _precedes(each, record, identity)), None)
            record.roles = {role: record.roles[role] for role in self.requested if role in record.roles}
            result.append(record)
            if former is not None:
                result.append(_Row(self.source, wanted, former.values, {}, before=True))
        return result

    def _record_rows(self, requested: list[str]) -> tuple[dict[str, str], role_origin.RoleQuery]:
        return role_origin.record_rows(self.entity.name, self.origin, requested, self.columns, self.release)


def _parts(
    session: CoreSession, entity_name: str, requested: list[str], row: dict[str, Any]
) -> Iterator[_Part]:
    """Yield the raw tables of the system's source that give roles of an entity."""
    entity = roles.entity(entity_name)
    name = (row["system"], row["source"])
    for source in session.sources:
        info = next((info for info in source.systems if (info.system, info.source) == name), None)
        for origin in entity.origins if info is not None else ():
            columns = {
                table: frozenset(column.name for part in source.tables[table] for column in part.columns)
                for table in roles.tables_read(origin)
                if table in source.tables
            }
            if info is not None and origin.table in columns:
                yield _Part(session, entity, origin, source, columns, requested, info.release)


def _precedes(former: _Row, row: _Row, identity: list[str]) -> bool:
    """Return whether a row is of the same subject, and its values explain the differences of a later row."""
    if any(former.roles.get(key) != row.roles.get(key) for key in identity):
        return False
    pairs = [
        (difference, row.values.get((table, name[:-2])), former.values.get((table, name[:-2])))
        for (table, name), difference in row.values.items()
        if name.endswith("_d") and difference is not None
    ]
    return bool(pairs) and all(_explains(*pair) for pair in pairs)


def _explains(difference: Any, value: Any, former: Any) -> bool:
    """Return whether a difference is that of two values of a counter, which may wrap or count down."""
    if not all(isinstance(number, int) for number in (difference, value, former)):
        return False
    return any((value - former) % size in (difference % size, -difference % size) for size in _SIZES)
