"""Columns of a measure aggregated by subject and time, each by its rule in the catalog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from zlens.catalog import aggregation, measures
from zlens.catalog.expressions import quote
from zlens.catalog.measure_query import MeasureQuery
from zlens.catalog.measures import Measure, MeasureColumn
from zlens.errors import QueryError
from zlens.server import buckets, json_values, time_series
from zlens.server.window_queries import WindowQueries
from zlens.server.workspace import Workspace

#: Maximum rows of a response.
MOST = 100_000


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    table = _with_intervals(measure(request["table"]))
    selected = _wanted(table, request)
    by = [_key(table, name) for name in dict.fromkeys(request["by"])]
    types = {column.name: column.type for column in table.columns}
    conditions = buckets.of_columns(request, types)
    # Conditions on groups are separate, because blocks shared by windows do not depend on them.
    groups = [conditions.pop(name) for name in [*conditions] if name in by]
    if request["system"] is not None:
        conditions["system"] = buckets.is_one_of("system", [request["system"]])
    where = " AND ".join(conditions.values()) or "true"
    pinned = aggregation.pinned_columns(table, request["where"])
    width, time = 0.0, None
    if request["buckets"] is not None:
        width, nominal = buckets.buckets(workspace, request, request["buckets"])
        time = buckets.time_of(width, nominal)
        if not width and request["interval_statistics"] is not None:
            selected = [
                (column, _statistics(column, request["interval_statistics"])) for column, _ in selected
            ]
    fixed = _fixed(workspace, request["system"], by)
    known = workspace.session.queries.states_known(table.name)
    top = None
    if request["top"] is not None:
        if not by:
            raise QueryError("top without by", expected="by: the column whose values are ranked")
        ranked = [(selected[0][0], ["mean", "max"])]
        largest = MeasureQuery(table, ranked, quote(table.name), by, pinned, where, fixed=fixed, known=known)
        top = _top_values(workspace, largest, request, groups)
        groups.append(buckets.is_one_of(by[0], top))
    measure_query = MeasureQuery(table, selected, quote(table.name), by, pinned, where, time, fixed, known)
    series = _series_query(workspace, measure_query, request) if request["series"] else None
    read = [*measure_query.columns(), *(series.columns() if series else ()), *request["where"]]
    workspace.materialized_table(
        table.name, [*read, *_columns_of_later_queries(measure_query, request["keep"])]
    )
    windowed = WindowQueries(workspace, table.name, read, buckets.window(request), groups)
    wholes = _wholes(workspace, measure_query, request)

    def query(sql_of: Callable[[WindowQueries, MeasureQuery], str]) -> str:
        whole_rows = {share: sql_of(rows, whole) for share, (rows, whole) in wholes.items()}
        rows = measure_query.shares_sql(sql_of(windowed, measure_query), whole_rows)
        if series:
            rows = time_series.series_sql(measure_query, series, rows, sql_of(windowed, series))
        return f"{rows}{_order(request, measure_query)}"

    result = workspace.session.queries.select(
        f"{query(WindowQueries.sql)}\nLIMIT {request['limit'] + 1}",
        {table.name: read, **{rows.table: rows.read for rows, _ in wholes.values()}},
    )
    rows, all_series, axis = json_values.first_rows(result, request["limit"]), None, None
    if series:
        plain_rows, all_series, axis = time_series.align_series(rows.text)
        rows = replace(plain_rows, more=rows.more)
    return {
        "columns": [*measure_query.keys(), *(["t"] if time else []), *measure_query.names()],
        "rows": rows,
        "units": {column.name: column.unit for column, _ in selected},
        "unweighted": {column.name: column.unweighted for column, _ in selected if column.unweighted},
        "bucket_s": width,
        "series": all_series,
        "series_t": axis,
        "wholes": _whole_totals(workspace, wholes) if request["buckets"] is None else {},
        "top": top,
        # SQL over measures only, which zlens sql accepts.
        "sql": query(WindowQueries.full_scan_sql),
        "more": rows.more,
    }


def reads(workspace: Workspace, request: dict[str, Any]) -> list[str]:
    """Return the columns of a measure that a request without a series reads."""
    table = measure(request["table"])
    pinned = aggregation.pinned_columns(table, request["where"])
    known = workspace.session.queries.states_known(table.name)
    measure_query = MeasureQuery(
        table, _wanted(table, request), quote(table.name), request["by"], pinned, known=known
    )
    return [*measure_query.columns(), *request["where"]]


def _fixed(workspace: Workspace, system: str | None, by: list[str]) -> dict[str, str]:
    """Return system and source if they are the same in all requested rows."""
    sources = {info.source for info in workspace.session.systems if info.system == system}
    if system is None or len(sources) != 1 or {"system", "source"} & {*by}:
        return {}
    return {"system": system, "source": sources.pop()}


def _series_query(workspace: Workspace, measure_query: MeasureQuery, request: dict[str, Any]) -> MeasureQuery:
    """Return the same query for one column over time."""
    if request["buckets"] is not None:
        raise QueryError("series and buckets exclude each other", expected="one of them")
    series = request["series"]
    column = column_of(measure_query.table, series["column"])
    _has(column, [series["statistic"]])
    time = buckets.time_of(*buckets.buckets(workspace, request, series["buckets"]))
    return replace(measure_query, wanted=[(column, [series["statistic"]])], bucket=time)


def _wholes(
    workspace: Workspace, measure_query: MeasureQuery, request: dict[str, Any]
) -> dict[str, tuple[WindowQueries, MeasureQuery]]:
    """Return the query of the whole of each share over the requested system and window."""
    wholes = {}
    for share, query in measure_query.wholes().items():
        where = "true" if request["system"] is None else buckets.is_one_of("system", [request["system"]])
        read = query.columns()
        workspace.materialized_table(query.table.name, read)
        rows = WindowQueries(workspace, query.table.name, read, buckets.window(request), [])
        wholes[share] = (rows, replace(query, where=where))
    return wholes


def _whole_totals(
    workspace: Workspace, wholes: dict[str, tuple[WindowQueries, MeasureQuery]]
) -> dict[str, float | None]:
    """Return what each share is of; None if there is not one system."""
    totals = {}
    for share, (rows, query) in wholes.items():
        found = workspace.session.queries.select(rows.sql(query), {rows.table: rows.read}).rows
        totals[share] = json_values.json_value(found[0][-1]) if len(found) == 1 else None
    return totals


def _columns_of_later_queries(measure_query: MeasureQuery, keep: list[str]) -> list[str]:
    """Return the columns that queries for `keep` read, whatever they group by."""
    table = measure_query.table
    columns = measure_query.difference_columns() if keep else []
    for name in keep:
        columns += aggregation.mean_inputs(table, column_of(table, name), subjects=True)
    return list(dict.fromkeys(columns))


def _top_values(
    workspace: Workspace, measure_query: MeasureQuery, request: dict[str, Any], groups: list[str]
) -> list[Any]:
    """Return the values largest by mean and by maximum, alternating, because a mean hides short peaks."""
    name = quote(measure_query.by[0])
    mean, peak = (f"max({quote(name)})" for name in measure_query.names())
    read = [*measure_query.columns(), *request["where"]]
    workspace.materialized_table(measure_query.table.name, read)
    sql = WindowQueries(workspace, measure_query.table.name, read, buckets.window(request), groups).sql(
        measure_query
    )
    ranking = workspace.session.queries.select(
        f"SELECT {name} FROM (SELECT {name}, "
        f"row_number() OVER (ORDER BY {mean} DESC NULLS LAST, {name}) AS mostly, "
        f"row_number() OVER (ORDER BY {peak} DESC NULLS LAST, {name}) AS once "
        f"FROM ({sql}) WHERE {name} IS NOT NULL GROUP BY {name}) "
        f"ORDER BY least(mostly, once), mostly LIMIT {request['top']}",
        {measure_query.table.name: read},
    )
    return [row[0] for row in ranking.rows]


def measure(name: str) -> Measure:
    if name not in measures.measure_names():
        raise QueryError(f"there is no measure {name!r}", cure="SHOW TABLES lists them")
    return measures.load_measure(name)


def _with_intervals(table: Measure) -> Measure:
    if not {"interval_end", "seconds", "flag"} <= {column.name for column in table.columns} or table.plain:
        raise QueryError(f"{table.name} has no intervals", cure="use /rows for its rows")
    return table


def column_of(table: Measure, name: str) -> MeasureColumn:
    column = table.column(name)
    if column is None:
        raise QueryError(f"{table.name} has no column {name!r}", cure=f"DESCRIBE {table.name} lists them")
    return column


def _key(table: Measure, name: str) -> str:
    column = column_of(table, name)
    if column.aggregate not in ("key", "state") or column.type == "time":
        raise QueryError(f"{table.name}.{name} is not a column to group by", expected=", ".join(table.key))
    return name


def _wanted(table: Measure, request: dict[str, Any]) -> list[tuple[MeasureColumn, list[str]]]:
    """Return columns and their statistics: requested for the column or for all columns, or the default."""
    if isinstance(request["columns"], dict):
        selected = [
            (column_of(table, name), list(dict.fromkeys(statistics)))
            for name, statistics in request["columns"].items()
        ]
        for column, statistics in selected:
            _has(column, statistics)
        return selected
    columns = [column_of(table, name) for name in dict.fromkeys(request["columns"])]
    return [(column, _statistics(column, request["statistics"])) for column in columns]


def _statistics(column: MeasureColumn, requested: list[str] | None) -> list[str]:
    """Return the requested statistics that a column has; by default its default statistic."""
    if requested is None:
        return [aggregation.default_statistic(column)]
    statistics = [
        statistic
        for statistic in dict.fromkeys(requested)
        if statistic in aggregation.available_statistics(column)
    ]
    if not statistics:
        _has(column, requested)
    return statistics


def _has(column: MeasureColumn, requested: list[str]) -> None:
    missing = [
        statistic for statistic in requested if statistic not in aggregation.available_statistics(column)
    ]
    if missing:
        raise QueryError(
            f"{column.name} has no {missing[0]}",
            expected=f"one of {', '.join(aggregation.available_statistics(column))}",
        )


def _order(request: dict[str, Any], measure_query: MeasureQuery) -> str:
    """Return the ORDER BY of a request: the requested column, or the keys."""
    name = request["order"]
    keys = [*measure_query.keys(), *(["t"] if measure_query.bucket else [])]
    prefix = "rows." if request["series"] else ""
    if name is None:
        return "\nORDER BY " + ", ".join(f"{prefix}{quote(key)}" for key in keys)
    if name not in [*keys, *measure_query.names()]:
        raise QueryError(
            f"order is {name!r}", expected=f"one of {', '.join([*keys, *measure_query.names()])}"
        )
    direction = "DESC" if request["descending"] else "ASC"
    rest = "".join(f", {prefix}{quote(key)}" for key in keys if key != name)
    return f"\nORDER BY {prefix}{quote(name)} {direction} NULLS LAST{rest}"
