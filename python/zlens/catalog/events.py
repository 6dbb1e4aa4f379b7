"""Event records, and the query that lists all events.

The facts are in facts/zvm/events.toml, which explains its keys.
"""

import re
from collections.abc import Container, Iterable, Mapping
from typing import Annotated, ClassVar

from msgspec import field

from zlens.catalog import expressions
from zlens.catalog.roles import code_words_sql
from zlens.schema.structs import FactFile, FactTable, doc

PLACE = re.compile(r"\{([A-Za-z0-9_]+(?:\.before)?)(?:(:hex\d?)|\|([a-z0-9_]+))?\}")


class EventJoin(FactTable, frozen=True):
    """A section of the same record whose fields are used, too."""

    table: Annotated[str, doc("its raw table")]
    own: Annotated[str, doc("the column of the event's table")]
    other: Annotated[str, doc("the column of the section that has the same value")]


class Event(FactTable, frozen=True):
    """Records that report an event. {FIELD} in a text is a field's value."""

    table: Annotated[str, doc("their raw table")]
    kind: Annotated[str, doc("what happened")]
    subject: Annotated[
        str | tuple[str, ...],
        doc("the text of what it happened to; of several, the first whose fields are known"),
    ]
    detail: Annotated[str | tuple[str, ...], doc("more: a text, or those whose fields are known")]
    source: Annotated[str, doc("where the record is described")]
    where: Annotated[str, doc("the condition of the rows")] = ""
    changes: Annotated[tuple[str, ...], doc("only rows in which one differs from before")] = ()
    by: Annotated[tuple[str, ...], doc("fields that are equal in the previous row")] = ()
    join: EventJoin | None = None
    unless: Annotated[str | None, doc("the raw table with which it is not listed")] = None
    record: Annotated[str, doc("the record, if it is not the table's name")] = ""
    inferred: Annotated[bool, doc("whether it is inferred from other records")] = False

    @property
    def tables(self) -> list[str]:
        """The raw tables that it reads, its own first."""
        return [self.table, *([self.join.table] if self.join else [])]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The texts of the subject, in the order in which they are tried."""
        return (self.subject,) if isinstance(self.subject, str) else self.subject

    @property
    def details(self) -> tuple[str, ...]:
        """The parts of the detail."""
        return (self.detail,) if isinstance(self.detail, str) else self.detail


class EventFile(FactFile, frozen=True):
    """All events."""

    path: ClassVar = "zvm/events.toml"
    events: tuple[Event, ...] = field(name="event")


def _template_sql(template: str, columns: frozenset[str]) -> str | None:
    """Return SQL of a text with {FIELD} placeholders; None if the table has no such field."""
    parts: list[str] = []
    position = 0
    for match in PLACE.finditer(template):
        if match.start() > position:
            parts.append(expressions.literal(template[position : match.start()]))
        column = match[1].lower()
        if column not in columns:
            return None
        sql = f"r.{expressions.quote(column)}"
        if match[2]:
            sql = f"lpad(printf('%X', {sql}), {match[2][4:] or 4}, '0')"
        elif match[3]:
            sql = code_words_sql(sql, match[3])
        parts.append(f"coalesce(CAST({sql} AS VARCHAR), '')")
        position = match.end()
    if position < len(template):
        parts.append(expressions.literal(template[position:]))
    return " || ".join(parts) or "''"


def _detail_sql(details: Iterable[str], columns: frozenset[str]) -> str:
    """Return SQL of the parts of a detail whose fields the table has, and which are not NULL.

    A part that shows an earlier value is included only if the value has changed.
    """
    parts = [part for part in details if part]
    texts = []
    for part in parts:
        text = _template_sql(part, columns)
        if text is None:
            continue
        changed = [match[1].lower() for match in PLACE.finditer(part) if match[1].endswith(".before")]
        if changed:
            differ = " OR ".join(
                f"r.{expressions.quote(name)} <> r.{expressions.quote(name.removesuffix('.before'))}"
                for name in changed
            )
            text = f"CASE WHEN {differ} THEN {text} END"
        texts.append(text)
    if not texts:
        return "NULL" if parts else "''"
    return texts[0] if len(texts) == 1 else f"concat_ws(', ', {', '.join(texts)})"


def _events_of(
    event: Event, columns: frozenset[str], joined: frozenset[str]
) -> tuple[str, frozenset[str], list[str]]:
    """Return the source of an event's rows, its columns and conditions; `joined` are columns of its join.

    An event with `changes` consists of the rows in which one of these fields differs from the previous row.
    """
    conditions = []
    if event.where:
        conditions.append(expressions.compile_sql(event.where, lambda name: f"r.{expressions.quote(name)}"))
    table = expressions.quote(event.table)
    if event.join:
        join = event.join
        shared = [f"o.{name} = j.{name}" for name in ("system", "source", "file", '"offset"')]
        shared.append(f"o.{expressions.quote(join.own)} = j.{expressions.quote(join.other)}")
        more = "".join(f", j.{expressions.quote(name)}" for name in sorted(joined - columns))
        other = expressions.quote(join.table)
        rows = f"(SELECT o.*{more} FROM {table} AS o JOIN {other} AS j ON {' AND '.join(shared)})"
        return rows, columns | joined, conditions
    if not event.changes:
        return table, columns, conditions
    changed = [name for field in event.changes if (name := field.lower()) in columns]
    lags = "".join(
        f", lag({expressions.quote(name)}) OVER before AS {expressions.quote(name + '.before')}"
        for name in changed
    )
    same = "".join(f", {expressions.quote(field.lower())}" for field in event.by)
    time = "tod" if "tod" in columns else "interval_end"
    order = f'PARTITION BY system, source{same} ORDER BY {time}, file, "offset"'
    differ = [f"r.{expressions.quote(name)} <> r.{expressions.quote(name + '.before')}" for name in changed]
    conditions.append(f"({' OR '.join(differ) or 'false'})")
    rows = f"(SELECT *{lags} FROM {table} WINDOW before AS ({order}))"
    return rows, columns | {f"{name}.before" for name in changed}, conditions


def available_events(tables: Container[str], kinds: Container[str] | None = None) -> list[Event]:
    """Return the events whose tables are available, of some kinds (None: all)."""
    return [
        event
        for event in EventFile.load().events
        if all(table in tables for table in event.tables)
        and event.unless not in tables
        and (kinds is None or event.kind in kinds)
    ]


def events_sql(listed: Iterable[Event], tables: Mapping[str, frozenset[str]], *, resets: bool = True) -> str:
    """Return a SELECT of recorded events over raw tables with these columns, and of resets; '' if empty."""
    parts: list[str] = []
    for event in listed:
        read = event_columns_read([event], tables)
        joined = frozenset(read[event.join.table]) if event.join else frozenset()
        rows, columns, conditions = _events_of(event, tables[event.table], joined)
        subjects = (_template_sql(text, columns) for text in event.subjects)
        subject = next(filter(None, subjects), None)
        detail = _detail_sql(event.details, columns)
        time = "tod" if "tod" in columns else "interval_end"
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        parts.append(
            f"SELECT {'DISTINCT ' if joined else ''}r.system, r.source, r.{time} AS time, "
            f"{expressions.literal(event.kind)} AS kind, "
            f"{subject or 'NULL'} AS subject, {detail or 'NULL'} AS detail, "
            f"{str(event.inferred).lower()} AS inferred, "
            f"{expressions.literal(event.record or event.table.upper())} AS record "
            f"FROM {rows} AS r{where}"
        )
    if resets:
        parts.append("SELECT system, source, time, kind, subject, detail, inferred, record FROM _reset")
    return "\nUNION ALL\n".join(parts)


def event_columns_read(listed: Iterable[Event], tables: Mapping[str, frozenset[str]]) -> dict[str, set[str]]:
    """Return the columns of the raw tables that the SELECT of events reads."""
    columns_read: dict[str, set[str]] = {}
    for event in listed:
        texts = [*event.subjects, *event.details]
        names = {match[1].lower().removesuffix(".before") for text in texts for match in PLACE.finditer(text)}
        if event.where:
            names.update(expressions.names(event.where))
        names.update(name.lower() for name in (*event.changes, *event.by))
        names |= {"system", "source", "tod" if "tod" in tables[event.table] else "interval_end"}
        if event.changes or event.join:
            names |= {"interval_end", "tod", "file", "offset"}
        if event.join:
            names |= {event.join.own, event.join.other}
        for table in event.tables:
            columns_read.setdefault(table, set()).update(names & tables[table])
    return columns_read
