"""Columns of a measure put together by subject and time, as the catalog states of each column."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from zlens.catalog import aggregation, metrics
from zlens.catalog.aggregation import Question
from zlens.catalog.expressions import quote
from zlens.catalog.metrics import Column, Table
from zlens.errors import QueryError
from zlens.server import buckets, courses, values
from zlens.server.place import Place
from zlens.server.windows import Windowed

#: Rows of an answer.
MOST = 100_000


def answer(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    table = _with_intervals(measure(asked["table"]))
    wanted = _wanted(table, asked)
    by = [_key(table, name) for name in dict.fromkeys(asked["by"])]
    types = {column.name: column.type for column in table.columns}
    held = buckets.of_columns(asked, types)
    # What leaves out whole groups is no part of what windows have in common.
    groups = [held.pop(name) for name in [*held] if name in by]
    if asked["system"] is not None:
        held["system"] = buckets.is_one_of("system", [asked["system"]])
    where = " AND ".join(held.values()) or "true"
    pinned = aggregation.pinned(table, asked["where"])
    width, time = 0.0, None
    if asked["buckets"] is not None:
        width, nominal = buckets.buckets(place, asked, asked["buckets"])
        time = buckets.time_of(width, nominal)
    fixed = _fixed(place, asked["system"], by)
    top = None
    if asked["top"] is not None:
        if not by:
            raise QueryError("top without by", expected="by: the column of whose values some are chosen")
        chosen = [(wanted[0][0], ["mean", "max"])]
        largest = Question(table, chosen, quote(table.name), by, pinned, where, fixed=fixed)
        top = _largest(place, largest, asked, groups)
        groups.append(buckets.is_one_of(by[0], top))
    question = Question(table, wanted, quote(table.name), by, pinned, where, time, fixed)
    course = _course(place, question, asked) if asked["course"] else None
    read = [*question.columns(), *(course.columns() if course else ()), *asked["where"]]
    place.kept(table.name, [*read, *_ahead(table, asked["keep"])])
    windowed = Windowed(place, table.name, read, buckets.window(asked), groups)

    def text(of: Callable[[Question], str]) -> str:
        rows = courses.sql(question, course, of(question), of(course)) if course else of(question)
        return f"{rows}{_order(asked, question)}"

    found = place.session.select(f"{text(windowed.sql)}\nLIMIT {asked['limit'] + 1}", {table.name: read})
    rows, lines, axis = values.limited(found, asked["limit"]), None, None
    if course:
        plain, lines, axis = courses.placed(json.loads(rows.text))
        rows = replace(rows, text=values.text(plain))
    return {
        "columns": [*question.keys(), *(["t"] if time else []), *question.names()],
        "rows": rows,
        "units": {column.name: column.unit for column, _ in wanted},
        "unweighted": {column.name: column.unweighted for column, _ in wanted if column.unweighted},
        "bucket_s": width,
        "courses": lines,
        "course_t": axis,
        "top": top,
        # What anybody can ask, of measures alone.
        "sql": text(windowed.plain),
        "more": rows.more,
    }


def _fixed(place: Place, system: str | None, by: list[str]) -> dict[str, str]:
    """System and source, where all rows asked for have the same."""
    sources = {info.source for info in place.session.systems if info.system == system}
    if system is None or len(sources) != 1 or {"system", "source"} & {*by}:
        return {}
    return {"system": system, "source": sources.pop()}


def _course(place: Place, question: Question, asked: dict[str, Any]) -> Question:
    """The same question of one column over time."""
    if asked["buckets"] is not None:
        raise QueryError("course is asked for with buckets", expected="one of them")
    course = asked["course"]
    column = column_of(question.table, course["column"])
    _has(column, [course["statistic"]])
    time = buckets.time_of(*buckets.buckets(place, asked, course["buckets"]))
    return replace(question, wanted=[(column, [course["statistic"]])], bucket=time)


def _ahead(table: Table, keep: list[str]) -> list[str]:
    """The columns that questions about some columns will read, by whatever they group."""
    found = aggregation.counted(table) if keep else []
    for name in keep:
        found += aggregation.columns(table, column_of(table, name), subjects=True)
    return list(dict.fromkeys(found))


def _largest(place: Place, question: Question, asked: dict[str, Any], groups: list[str]) -> list[Any]:
    """The largest on average and the largest once, in turns: a mean alone hides who was busy for a moment."""
    name = quote(question.by[0])
    mean, most = (f"max({quote(name)})" for name in question.names())
    read = [*question.columns(), *asked["where"]]
    place.kept(question.table.name, read)
    sql = Windowed(place, question.table.name, read, buckets.window(asked), groups).sql(question)
    found = place.session.select(
        f"SELECT {name} FROM (SELECT {name}, "
        f"row_number() OVER (ORDER BY {mean} DESC NULLS LAST, {name}) AS mostly, "
        f"row_number() OVER (ORDER BY {most} DESC NULLS LAST, {name}) AS once "
        f"FROM ({sql}) WHERE {name} IS NOT NULL GROUP BY {name}) "
        f"ORDER BY least(mostly, once), mostly LIMIT {asked['top']}",
        {question.table.name: read},
    )
    return [row[0] for row in found.rows]


def measure(name: str) -> Table:
    if name not in metrics.tables():
        raise QueryError(f"there is no measure {name!r}", cure="SHOW TABLES lists them")
    return metrics.table(name)


def _with_intervals(table: Table) -> Table:
    if not {"interval_end", "seconds", "flag"} <= {column.name for column in table.columns} or table.plain:
        raise QueryError(f"{table.name} has no intervals", cure="ask for its rows")
    return table


def column_of(table: Table, name: str) -> Column:
    column = table.column(name)
    if column is None:
        raise QueryError(f"{table.name} has no column {name!r}", cure=f"DESCRIBE {table.name} lists them")
    return column


def _key(table: Table, name: str) -> str:
    column = column_of(table, name)
    if column.aggregate not in ("key", "state") or column.type == "time":
        raise QueryError(f"{table.name}.{name} names nothing to group by", expected=", ".join(table.key))
    return name


def _wanted(table: Table, asked: dict[str, Any]) -> list[tuple[Column, list[str]]]:
    """Columns and what is told of each: what was asked for of it, of all of them, else what is usual."""
    if isinstance(asked["columns"], dict):
        own = [(column_of(table, name), list(dict.fromkeys(told))) for name, told in asked["columns"].items()]
        for column, told in own:
            _has(column, told)
        return own
    columns = [column_of(table, name) for name in dict.fromkeys(asked["columns"])]
    return [(column, _statistics(column, asked["statistics"])) for column in columns]


def _statistics(column: Column, asked: list[str] | None) -> list[str]:
    """What is told of a column: what was asked for as far as it has that, else what is usual."""
    if asked is None:
        return [aggregation.usual(column)]
    given = [what for what in dict.fromkeys(asked) if what in aggregation.gives(column)]
    if not given:
        _has(column, asked)
    return given


def _has(column: Column, asked: list[str]) -> None:
    lacking = [what for what in asked if what not in aggregation.gives(column)]
    if lacking:
        raise QueryError(
            f"{column.name} has no {lacking[0]}", expected=f"one of {', '.join(aggregation.gives(column))}"
        )


def _order(asked: dict[str, Any], question: Question) -> str:
    """ORDER BY of the answer, in place of the order of its keys."""
    name = asked["order"]
    keys = [*question.keys(), *(["t"] if question.bucket else [])]
    of = "rows." if asked["course"] else ""
    if name is None:
        return "\nORDER BY " + ", ".join(f"{of}{quote(key)}" for key in keys)
    if name not in [*keys, *question.names()]:
        raise QueryError(f"order is {name!r}", expected=f"one of {', '.join([*keys, *question.names()])}")
    direction = "DESC" if asked["descending"] else "ASC"
    rest = "".join(f", {of}{quote(key)}" for key in keys if key != name)
    return f"\nORDER BY {of}{quote(name)} {direction} NULLS LAST{rest}"
