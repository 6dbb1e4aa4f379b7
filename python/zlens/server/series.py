"""Columns over time: every interval as it is, or buckets of whole intervals, never a mean alone."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

from zlens.catalog import aggregation, metrics, roles
from zlens.catalog.expressions import literal, quote
from zlens.errors import QueryError
from zlens.server import values
from zlens.server.place import Place, moment

#: Rows of an answer: points of all series together.
MOST = 400_000
#: What is told of a bucket. Percentiles are those of --every.
AGGREGATES = {
    "min": "min({0})",
    "max": "max({0})",
    "first": "arg_min({0}, interval_end)",
    "last": "arg_max({0}, interval_end)",
    "p50": "quantile_cont({0}, 0.5)",
    "p95": "quantile_cont({0}, 0.95)",
}
_NUMBERS = ("int", "float", "bool")


def answer(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    table, columns, by = asked["table"], list(dict.fromkeys(asked["columns"])), asked["by"]
    types = types_of(place, table)
    held = conditions(place, asked, types)
    for name in columns:
        if types.get(name) not in _NUMBERS:
            what = "is no number" if name in types else "is not there"
            raise QueryError(f"{table}.{name} {what}", cure=f"DESCRIBE {table} lists its columns")
    if by is not None and by not in types:
        raise QueryError(f"{table} has no column {by!r}", cure=f"DESCRIBE {table} lists its columns")
    mean, weights = _mean(table, columns[0], types)
    needed = [*columns, *weights, *asked["where"], "system", "interval_end"] + ([by] if by else [])
    read = place.kept(table, [name for name in [*needed, "flag"] if name in types])
    width, nominal = buckets(place, asked, asked["points"])
    told = [name for name in AGGREGATES if name in asked["aggregates"]]
    if width and "flag" in types:
        # As --every does: a stub or a gap is no interval like the others.
        held.append(aggregation.kept())
    chosen: list[Any] | None = None
    if by is not None and asked["top"] is not None:
        chosen = [
            row[0] for row in place.session.sql(_largest(read, columns[0], mean, by, asked["top"], held)).rows
        ]
        held.append(_is(by, chosen))
    sql = _question(_source(table), columns, told, by, width, nominal, held)
    rows, more = place.session.sql(_question(read, columns, told, by, width, nominal, held)).first(MOST)
    return {
        "bucket_s": width,
        "sql": sql,
        "units": {name: unit_of(table, name) for name in columns},
        "series": _series(rows, columns, told, chosen),
        "more": more,
    }


def types_of(place: Place, table: str) -> dict[str, str]:
    """Names and types of a table's columns, which must have a time."""
    engine = place.session.engine
    known = table in metrics.tables() or table in engine.raw_tables()
    if not known and table.removeprefix("role.") not in (roles.entities() if "." in table else ()):
        raise QueryError(f"there is no table {table!r}", cure="show tables lists them")

    def work() -> dict[str, str]:
        found = place.session.sql(f"SELECT * FROM {_source(table)}")
        return dict(zip(found.columns, found.types, strict=True))

    types: dict[str, str] = place.once(("types", table), work)
    if "interval_end" not in types:
        raise QueryError(f"{table} has no intervals", cure="ask it in SQL")
    return types


def _source(table: str) -> str:
    return table if table.startswith("role.") else quote(table)


def unit_of(table: str, name: str) -> str:
    column = metrics.table(table).column(name) if table in metrics.tables() else None
    return column.unit if column else ""


def conditions(place: Place, asked: dict[str, Any], types: dict[str, str]) -> list[str]:
    """What holds for the rows that are asked for, as SQL says it."""
    held = []
    if asked["system"] is not None:
        held.append(_is("system", [asked["system"]]))
    for name, value in asked["where"].items():
        if name not in types:
            raise QueryError(
                f"{asked['table']} has no column {name!r}", cure=f"DESCRIBE {asked['table']} lists them"
            )
        held.append(_is(name, value if isinstance(value, list) else [value]))
    for name, sign in (("from", ">"), ("to", "<=")):
        if asked[name] is not None:
            held.append(f"interval_end {sign} TIMESTAMPTZ '{_instant(asked[name]).isoformat(sep=' ')}'")
    return held


def _instant(value: float | str) -> dt.datetime:
    found = moment(value)
    if found.date is None:
        raise QueryError(f"{value!r} has no date", expected="seconds since 1970, or a date with a time")
    return found.utc(dt.UTC, found.date)


def _is(name: str, wanted: Sequence[Any]) -> str:
    """A column has one of some values."""
    there = [_literal(value) for value in wanted if value is not None]
    parts = [f"{quote(name)} IN ({', '.join(there)})"] if there else []
    if None in wanted:
        parts.append(f"{quote(name)} IS NULL")
    return f"({' OR '.join(parts)})" if parts else "false"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMPTZ '{value.isoformat(sep=' ')}'"
    return repr(value) if isinstance(value, int | float) else literal(str(value))


def buckets(place: Place, asked: dict[str, Any], most: int) -> tuple[float, float]:
    """Length of a bucket and of an interval; 0 where all intervals are no more than `most`."""
    infos = [
        info
        for info in place.session.systems
        if info.nominal_s and asked["system"] in (None, info.system) and info.first_us is not None
    ]
    if not infos:
        return 0.0, 0.0
    every = place.session.options.every_s
    nominal = max(min(info.nominal_s or 0.0 for info in infos), every or 0.0)
    first = min(info.first_us or 0 for info in infos) / 1e6
    last = max(info.last_us or 0 for info in infos) / 1e6
    if asked["from"] is not None:
        first = max(first, _instant(asked["from"]).timestamp())
    if asked["to"] is not None:
        last = min(last, _instant(asked["to"]).timestamp())
    # Times of intervals move a little: what is one more by a hair is none.
    intervals = math.ceil((last - first) / nominal - 0.01)
    if intervals <= most:
        return 0.0, nominal
    return math.ceil(intervals / most) * nominal, nominal


def time_of(width: float, nominal: float) -> str:
    """SQL of the time that a row belongs to: its interval's end, or that of its bucket."""
    if not width:
        return "epoch(interval_end)"
    # Where the middle of an interval lies decides: it ends some milliseconds after what names it.
    return f"(floor((epoch(interval_end) - {nominal / 2!r}) / {width!r}) + 1) * {width!r}"


def _mean(table: str, name: str, types: dict[str, str]) -> tuple[str, list[str]]:
    """SQL of the mean that the catalog states of a column, and the columns it is made of."""
    measure = metrics.table(table) if table in metrics.tables() else None
    column = measure.column(name) if measure else None
    if measure is not None and column is not None and aggregation.weight(column) and "flag" in types:
        return aggregation.mean(column), aggregation.columns(measure, column)
    return f"avg({quote(name)})", []


def _largest(table: str, column: str, mean: str, by: str, top: int, held: list[str]) -> str:
    """The largest on average and the largest once, in turns: a mean alone hides who was busy for a moment."""
    where = " AND ".join([*held, f"{quote(by)} IS NOT NULL"])
    name, value = quote(by), quote(column)
    return (
        f"SELECT {name} FROM (SELECT {name}, "
        f"row_number() OVER (ORDER BY {mean} DESC NULLS LAST, {name}) AS mostly, "
        f"row_number() OVER (ORDER BY max({value}) DESC NULLS LAST, {name}) AS once "
        f"FROM {table} WHERE {where} GROUP BY {name}) ORDER BY least(mostly, once), mostly LIMIT {top}"
    )


def _question(
    table: str,
    columns: Sequence[str],
    told: Sequence[str],
    by: str | None,
    width: float,
    nominal: float,
    held: list[str],
) -> str:
    time = time_of(width, nominal)
    subject = quote(by) if by is not None else "NULL"
    shown = ",\n    ".join(
        f"{AGGREGATES[what].format(f'CAST({quote(name)} AS DOUBLE)')} AS {quote(f'{name}_{what}')}"
        for name in columns
        for what in told
    )
    where = f"\nWHERE {' AND '.join(held)}" if held else ""
    shown = f"{subject} AS subject, {time} AS t,\n    {shown}"
    return f"SELECT {shown}\nFROM {table}{where}\nGROUP BY 1, 2\nORDER BY 1, 2"


def _series(
    rows: list[tuple[Any, ...]], columns: Sequence[str], told: Sequence[str], chosen: list[Any] | None
) -> list[dict[str, Any]]:
    """One for each value of `by` and column; the largest first where only some were asked for."""
    parts: dict[Any, list[tuple[Any, ...]]] = {}
    for row in rows:
        parts.setdefault(row[0], []).append(row)
    found = []
    for value in [one for one in chosen if one in parts] if chosen is not None else parts:
        turned = list(zip(*parts[value], strict=True))
        for at, column in enumerate(columns):
            begin = 2 + at * len(told)
            one: dict[str, Any] = {"by": values.plain(value), "column": column, "t": turned[1]}
            for place, name in enumerate(told):
                one[name] = [
                    None if number is None or not math.isfinite(number) else number
                    for number in turned[begin + place]
                ]
            found.append(one)
    return found
