"""Endpoints of tables: SQL, aggregated and single rows, and where a value comes from."""

from __future__ import annotations

from zlens.catalog.aggregation import STATISTICS
from zlens.schema.validators import (
    Boolean,
    Choice,
    Integer,
    Key,
    ListOf,
    MapOf,
    OneOf,
    Scalar,
    Spec,
    Text,
    Timestamp,
)
from zlens.server.endpoints.endpoint import ANY_SYSTEM, FROM, LIMIT, NAME, SOURCE, TO, Endpoint

_STATISTICS = ListOf(Choice(STATISTICS), 1, len(STATISTICS))
_SERIES = Spec(
    (
        Key("column", NAME, "the column"),
        Key("statistic", Choice(STATISTICS), "the statistic of each bucket (max)", default="max"),
        Key("buckets", Integer(1, 1000), "maximum number of buckets"),
    )
)
_QUERY = Key("query", Text(200_000), "one SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)")
_WHERE = Key(
    "where",
    MapOf(OneOf(ListOf(Scalar(), 0, 1000), Scalar()), 0, 20),
    "required values of columns: a value or a list of values",
    default={},
)
_SELECTION = (ANY_SYSTEM, SOURCE, _WHERE, FROM, TO)

ENDPOINTS = (
    Endpoint(
        "sql",
        "Run a SQL query",
        "sql:answer",
        (
            _QUERY,
            Key("rows", Integer(0, 200_000), "maximum number of rows returned (10000)", default=10_000),
            Key(
                "keep",
                MapOf(ListOf(NAME, 0, 200), 0, 20),
                "columns of measures to compute once: {guest} in the query names a table with them",
                default={},
            ),
        ),
        {
            "columns": "names",
            "types": "int, float, text, bool or time of each",
            "rows": "lists of values; times in ISO 8601 with Z; integers beyond 2**53 as text",
            "more": "whether there are more rows",
            "seconds": "run time of the query",
        },
        apart=True,
        method="POST",
    ),
    Endpoint(
        "export",
        "All rows of a SQL query as a file",
        "sql:export",
        (_QUERY, Key("form", Choice(("csv", "parquet")), "format of the file")),
        {},
        media="application/octet-stream",
        apart=True,
        method="POST",
    ),
    Endpoint(
        "aggregate",
        "Columns of a measure by subject and time, each aggregated by its rule in the catalog",
        "aggregate:answer",
        (
            Key("table", NAME, "a measure"),
            Key(
                "columns",
                OneOf(ListOf(NAME, 1, 60), MapOf(_STATISTICS, 0, 60)),
                "its columns, or for each of them its statistics",
            ),
            Key(
                "statistics",
                _STATISTICS,
                "statistics of each column that has them; left out: its total, its mean or its last value",
                default=None,
            ),
            Key("by", ListOf(NAME, 0, 10), "columns whose values get rows of their own", default=[]),
            Key(
                "top",
                Integer(1, 1000),
                "values of the first `by` to return: the largest of the first column by mean and maximum",
                default=None,
            ),
            *_SELECTION,
            Key(
                "buckets",
                Integer(1, 10_000),
                "rows over time, at most this many; left out: one row",
                default=None,
            ),
            Key(
                "interval_statistics",
                _STATISTICS,
                "statistics of each column instead of those above, if every bucket is one interval",
                default=None,
            ),
            Key("series", _SERIES, "a column over time for each row", default=None),
            Key("order", NAME, "a column of the answer to sort by (its keys)", default=None),
            Key("descending", Boolean(), "largest first (true)", default=True),
            LIMIT,
            Key(
                "keep",
                ListOf(NAME, 0, 100),
                "columns that later requests will use, computed with the columns of this one",
                default=[],
            ),
        ),
        {
            "columns": "names: system, source, those of `by`, t (seconds since 1970) with "
            "buckets, and COLUMN_STATISTIC",
            "rows": "lists of values",
            "units": "of the columns",
            "unweighted": "columns without a mean over time, and the reason",
            "bucket_s": "length of a bucket; 0: every interval separately, or the entire window",
            "series": "values of the requested `series` for each row; else null",
            "series_t": "their times, seconds since 1970; else null",
            "wholes": "what each share is of, by the name of the share; null for several systems",
            "top": "the values that `top` chose, largest first; else null",
            "sql": "the query, as zlens sql accepts it",
            "more": "whether there are more rows",
        },
        method="POST",
        urgent=True,
    ),
    Endpoint(
        "rows",
        "Rows of a measure, not aggregated",
        "rows:answer",
        (
            Key("table", NAME, "a measure"),
            Key("columns", ListOf(NAME, 0, 100), "its columns (all)", default=[]),
            *_SELECTION,
            Key("order", NAME, "a column to sort by (the time)", default=None),
            Key("descending", Boolean(), "largest first (false)", default=False),
            LIMIT,
        ),
        {
            "columns": "names",
            "types": "int, float, text, bool or time of each",
            "rows": "lists of values; times in ISO 8601 with Z",
            "sql": "the query, as zlens sql accepts it",
            "more": "whether there are more rows",
        },
        method="POST",
        urgent=True,
    ),
    Endpoint(
        "explain",
        "Explain a number: formula, inputs, unit, source, status",
        "explain:answer",
        (Key("name", NAME, "a measure, TABLE.COLUMN, a report, a rule, a record"),),
        {
            "name": "the requested name",
            "text": "as zlens explain prints it",
            "sections": "a list: title, facts (label and lines), members (name and text of each), example (a "
            "query), and text of a section without facts",
        },
    ),
    Endpoint(
        "origin",
        "A value of a column with the records it is computed from: fields, file, offset and bytes",
        "explain:origin",
        (
            Key("column", NAME, "MEASURE.COLUMN"),
            ANY_SYSTEM,
            SOURCE,
            FROM,
            TO,
            Key("at", Timestamp(), "a time in its interval; left out: the largest value", default=None),
            Key("of", MapOf(Text(500), 0, 20), "its subject: values of keys", default={}),
        ),
        {
            "column": "the column",
            "system": "its system",
            "source": "its source",
            "end": "end of the interval, seconds since 1970",
            "subject": "the keys of the row",
            "value": "the value",
            "unit": "its unit",
            "formula": "its formula",
            "inputs": "values of the names in the formula that are columns of the same row",
            "records": "table, file, offset, time, roles, fields with places of their bytes, hex; before: "
            "whether it is the sample before, which differences are from",
            "more": "number of records that are not listed",
        },
        method="POST",
    ),
)
