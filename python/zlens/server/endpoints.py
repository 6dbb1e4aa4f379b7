"""All endpoints as data, used to check requests and to generate the OpenAPI document."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from msgspec import Struct

from zlens import models
from zlens.catalog.aggregation import STATISTICS
from zlens.catalog.ledgers import ledger_names
from zlens.compare import comparison as compare_options
from zlens.errors import QueryError
from zlens.reports import options as report_options
from zlens.schema.validators import (
    Boolean,
    Choice,
    DocumentErrors,
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
from zlens.server.aggregate import MOST
from zlens.server.workspace import Workspace

ROOT = "/api/v1"
_NAME = Text(120, 1)

_ID = Key("id", Text(64, 1), "a name by which POST /cancel cancels the request", default=None)
_RUN = Key("run", Text(400, 1), "a run of the rig instead of the inputs: SCENARIO/RUN", default=None)
_SYSTEM = Key("system", _NAME, "only this system", default=None)
_SOURCE = Key(
    "source",
    _NAME,
    "the source to show where several describe a system (the first one in /schema)",
    default=None,
)
_FROM = Key("from", Timestamp(), "intervals that end after this time", default=None)
_TO = Key("to", Timestamp(), "intervals that end at or before this time", default=None)
_INPUT = Key("input", Text(1000, 1), "only this input, by its name in /schema", default=None)
_WINDOW = (_SYSTEM, _FROM, _TO, _INPUT, _SOURCE)
_WHERE = Key(
    "where",
    MapOf(OneOf(ListOf(Scalar(), 0, 1000), Scalar()), 0, 20),
    "required values of columns: a value or a list of values",
    default={},
)
_STATISTICS = ListOf(Choice(STATISTICS), 1, len(STATISTICS))
_SERIES = Spec(
    (
        Key("column", _NAME, "the column"),
        Key("statistic", Choice(STATISTICS), "the statistic of each bucket (max)", default="max"),
        Key("buckets", Integer(1, 1000), "maximum number of buckets"),
    )
)
_SET = Key("set", ListOf(Text(500), 0, 200), "other values: KEY=VALUE", default=[])
#: Parts of the schema: everything about the inputs, and what only some views need.
_PARTS = ("systems", "tables", "reports", "models")
_SIDE = Spec((*_WINDOW, Key("name", Text(40, 1), "name of the side", default=None)))


class WrongParameterError(QueryError):
    """A parameter of a request is wrong."""


class Endpoint(Struct, frozen=True):
    """One endpoint.

    work     module and function of this package: (workspace, request) -> JSON value; "" if the application
             itself responds
    gives    descriptions of the keys of the response
    lists    description of the response if it is a list
    lines    description of the response if it is lines of JSON, each an object with these keys
    media    type of a response that is a file
    tagged   whether the response has an ETag, by which a client revalidates what it keeps
    apart    whether a worker process runs it, because input of the user may need any time and memory
    """

    method: str
    name: str
    summary: str
    work: str
    parameters: tuple[Key, ...]
    gives: dict[str, str]
    lists: str = ""
    lines: str = ""
    media: str = ""
    tagged: bool = False
    apart: bool = False

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.name}"

    @property
    def record(self) -> Spec:
        has_id = any(parameter.name == "id" for parameter in self.parameters)
        return Spec((*self.parameters, _RUN) if has_id else (*self.parameters, _ID, _RUN))

    def check(self, params: Any) -> dict[str, Any]:
        """Return the checked parameters of a request; raises QueryError with the allowed values."""
        checked: dict[str, Any] = self.record.check(
            params, "", DocumentErrors(error=WrongParameterError, root="the request", json=True)
        )
        return checked

    def answer(self, workspace: Workspace, request: dict[str, Any]) -> Any:
        module, _, function = self.work.partition(":")
        return getattr(import_module(f"zlens.server.{module}"), function)(workspace, request)


_ANSWER = {"answer": "model, title, figures, tables, charts, notes and assumptions"}

ENDPOINTS = (
    Endpoint(
        "GET",
        "schema",
        "Contents of the inputs and what can be requested of them",
        "schema:answer",
        (
            Key("parts", ListOf(Choice(_PARTS), 1), "what to return (all)", default=None),
            Key(
                "tables", ListOf(_NAME, 0, 400), "only these measures in `tables` (all tables)", default=None
            ),
        ),
        {
            "version": "of zlens",
            "synthetic": "whether any of the data is synthetic",
            "inputs": "inputs the server was started with",
            "systems": "systems and their time ranges",
            "tables": "measures, raw tables and roles with their columns",
            "reports": "classic reports, with the number of columns possible with these inputs",
            "subjects": "measures of processor use by subject, and how each is shown",
            "models": "models, each with an example scenario and the measure that measured intervals need",
            "expected": "models that can be applied to a measured interval",
            "events": "whether events are recorded",
            "runs": "whether there are runs of the rig",
            "live": "whether data still arrive: /follow has an event for each closed interval",
            "wide": "whether systems are too many to compute measures of all for a page",
        },
        tagged=True,
    ),
    Endpoint(
        "GET",
        "rig",
        "Results of the rig: scenarios with what is expected and observed, their charts and runs",
        "laboratory:rig",
        (),
        {
            "version": "of zlens that judged them",
            "date": "of the results",
            "scenarios": "by area: source, verdicts, numbers, charts, and runs, which may be opened",
        },
    ),
    Endpoint(
        "GET",
        "reports",
        "Number of columns of each report that have values; decodes everything once",
        "schema:reports",
        (),
        {"reports": "name, has, of and state of each"},
    ),
    Endpoint(
        "GET",
        "problems",
        "All problems of the inputs by kind, if there are many systems, without those that measures show;  "
        "decodes all records once",
        "problems:answer",
        (),
        {
            "count": "number of problems",
            "damaged": "whether any kind means damage",
            "rows": "kind, damage, count, bytes lost, and first: the text of the first one",
        },
    ),
    Endpoint(
        "POST",
        "sql",
        "Run a SQL query",
        "sql:answer",
        (
            Key("query", Text(200_000), "one SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)"),
            Key("rows", Integer(0, 200_000), "maximum number of rows returned (10000)", default=10_000),
            Key(
                "keep",
                MapOf(ListOf(_NAME, 0, 200), 0, 20),
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
    ),
    Endpoint(
        "POST",
        "export",
        "All rows of a SQL query as a file",
        "sql:export",
        (
            Key("query", Text(200_000), "one SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)"),
            Key("form", Choice(("csv", "parquet")), "format of the file"),
        ),
        {},
        media="application/octet-stream",
        apart=True,
    ),
    Endpoint(
        "POST",
        "aggregate",
        "Columns of a measure by subject and time, each aggregated by its rule in the catalog",
        "aggregate:answer",
        (
            Key("table", _NAME, "a measure"),
            Key(
                "columns",
                OneOf(ListOf(_NAME, 1, 60), MapOf(_STATISTICS, 0, 60)),
                "its columns, or for each of them its statistics",
            ),
            Key(
                "statistics",
                _STATISTICS,
                "statistics of each column that has them; left out: its total, its mean or its last value",
                default=None,
            ),
            Key("by", ListOf(_NAME, 0, 10), "columns whose values get rows of their own", default=[]),
            Key(
                "top",
                Integer(1, 1000),
                "values of the first `by` to return: the largest of the first column by mean and maximum",
                default=None,
            ),
            _SYSTEM,
            _SOURCE,
            _WHERE,
            _FROM,
            _TO,
            Key(
                "buckets",
                Integer(1, 10_000),
                "rows over time, at most this many; left out: one row",
                default=None,
            ),
            Key("series", _SERIES, "a column over time for each row", default=None),
            Key("order", _NAME, "a column of the answer to sort by (its keys)", default=None),
            Key("descending", Boolean(), "largest first (true)", default=True),
            Key("limit", Integer(1, MOST), "maximum number of rows returned (10000)", default=10_000),
            Key(
                "keep",
                ListOf(_NAME, 0, 100),
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
    ),
    Endpoint(
        "POST",
        "rows",
        "Rows of a measure, not aggregated",
        "rows:answer",
        (
            Key("table", _NAME, "a measure"),
            Key("columns", ListOf(_NAME, 0, 100), "its columns (all)", default=[]),
            _SYSTEM,
            _SOURCE,
            _WHERE,
            _FROM,
            _TO,
            Key("order", _NAME, "a column to sort by (the time)", default=None),
            Key("descending", Boolean(), "largest first (false)", default=False),
            Key("limit", Integer(1, MOST), "maximum number of rows returned (10000)", default=10_000),
        ),
        {
            "columns": "names",
            "types": "int, float, text, bool or time of each",
            "rows": "lists of values; times in ISO 8601 with Z",
            "sql": "the query, as zlens sql accepts it",
            "more": "whether there are more rows",
        },
    ),
    Endpoint(
        "GET",
        "explain",
        "Explain a number: formula, inputs, unit, source, status",
        "explain:answer",
        (Key("name", _NAME, "a measure, TABLE.COLUMN, a report, a rule, a record"),),
        {
            "name": "the requested name",
            "text": "as zlens explain prints it",
            "sections": "a list: title, facts (label and lines), members (name and text of each), example (a "
            "query), and text of a section without facts",
        },
    ),
    Endpoint(
        "POST",
        "origin",
        "A value of a column with the records it is computed from: fields, file, offset and bytes",
        "explain:origin",
        (
            Key("column", _NAME, "MEASURE.COLUMN"),
            _SYSTEM,
            _SOURCE,
            _FROM,
            _TO,
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
    ),
    Endpoint(
        "GET",
        "report",
        "A classic report",
        "reports:answer",
        (
            Key("name", _NAME, "short name or FCX number"),
            Key(
                "format",
                Choice(("text", "csv", "json", "html", "table")),
                "form of the report (text)",
                default="text",
            ),
            *report_options.KEYS,
            Key("shift", Text(100, 1), "only these hours: Mon-Fri 08:00-17:00", default=None),
            Key("peak", Text(32, 1), "only the busiest period of each system: 60m, 2h", default=None),
            Key("every", Text(32, 1), "combine intervals up to this length: 15m, 1h", default=None),
            Key("group", Text(100_000, 1), "groups: the lines of a file of groups", default=None),
            *_WINDOW,
        ),
        {
            "name": "short name",
            "text": "the report if the form is text, csv, json or html",
            "tables": "the tables if the form is table, with title, facts and notes",
        },
    ),
    Endpoint(
        "GET",
        "findings",
        "Findings, worst first",
        "findings:answer",
        (
            Key("classes", ListOf(_NAME, 0, 10), "classes of rules; all: every class", default=None),
            *_WINDOW,
        ),
        {
            "rows": "the findings",
            "asked": "number of rules checked",
            "missing": "rules that could not be checked, and why",
            "off": "rules of classes not requested",
        },
    ),
    Endpoint(
        "GET",
        "findings/stream",
        "Findings in order of computation, starting with the rules that are computed first",
        "findings:stream",
        (
            Key("classes", ListOf(_NAME, 0, 10), "classes of rules; all: every class", default=None),
            Key("few", Boolean(), "no findings if the input has too many systems (wide)", default=False),
            *_WINDOW,
        ),
        {
            "rows": "findings of the rules of this line, worst first",
            "orders": "for each of them, its sort key among the findings of all lines",
            "asked": "rules checked, each with its title and the systems it applies to; null: all of them",
            "missing": "rules that could not be checked, and why",
            "off": "rules of classes not requested",
            "error": "instead of all these, as the last line: the error",
        },
        lines="one line for each stage",
    ),
    Endpoint(
        "GET",
        "verdict",
        "The causes of the findings of a window, in sentences",
        "findings:verdict",
        (Key("system", _NAME, "the system"), _SOURCE, _FROM, _TO),
        {
            "system": "the system",
            "text": "the sentences as one text",
            "sentences": "lists of clauses, each with its kind (cause, effect, meanwhile, added, what-if or "
            "checked), text, the text before it, and the view, its settings, from and to that prove it; "
            "view: null if none does",
        },
    ),
    Endpoint(
        "GET",
        "evidence",
        "Evidence of a rule: its value and threshold over time",
        "findings:evidence",
        (
            Key("rule", _NAME, "the rule"),
            Key("system", _NAME, "the system"),
            Key("subject", Text(200), "the subject of the finding", default=""),
            _SOURCE,
        ),
        {
            "rule": "the rule",
            "unit": "of the values",
            "column": "of a rule about events: the column shown before and after them; else null",
            "sql": "the query, as zlens sql accepts it",
            "t": "ends of intervals, seconds since 1970",
            "value": "values",
            "threshold": "thresholds",
            "held": "whether the condition was met",
        },
    ),
    Endpoint(
        "GET",
        "intervals",
        "Ends of the intervals of a system",
        "intervals:answer",
        (Key("system", _NAME, "the system"),),
        {"runs": "evenly spaced ends: the first in integer seconds since 1970, rounded up; step; count"},
    ),
    Endpoint(
        "GET",
        "window",
        "The window that a text means, such as 9:00-9:30, yesterday 14-16 or last hour",
        "intervals:window",
        (
            Key("text", Text(100, 1), "the text"),
            Key("system", _NAME, "the system, whose zone and end of data apply"),
            Key(
                "near",
                Timestamp(),
                "times without a date are on the day of this time; left out: on the last day of the data",
                default=None,
            ),
            Key("lenient", Boolean(), "answer null for other texts instead of an error", default=False),
        ),
        {"from": "start of the window, seconds since 1970", "to": "its end"},
    ),
    Endpoint(
        "GET",
        "days",
        "A window and the same hours of other days",
        "intervals:days",
        (
            Key("system", _NAME, "the system"),
            _SOURCE,
            Key("from", Timestamp(), "start of the window"),
            Key("to", Timestamp(), "end of the window"),
        ),
        {
            "column": "the column of the values, in percent",
            "days": "the window and the nearest other days in order of time, each with from, to, t (seconds "
            "since 1970) and value; empty if there are none",
        },
    ),
    Endpoint(
        "GET",
        "peak",
        "The busiest interval of a window, the subjects that grew with it, and the events around it",
        "peaks:answer",
        (Key("system", _NAME, "the system"), _SOURCE, _FROM, _TO),
        {
            "busiest": "the busiest interval: value, usual (the median of all intervals), unit, from and to; "
            "null: no complete interval in the window",
            "peak": "from and to: the time around it in which busy exceeds the midpoint between usual",
            "growth": "groups of subjects, each with the subjects that grew most: value, usual, unit, "
            "their events, and the view that shows them",
            "events": "events from `minutes` before the peak to `minutes` after it, without frequent kinds",
            "minutes": "see events",
        },
    ),
    Endpoint(
        "GET",
        "with_processors",
        "Busy as it would have been with the processors online that were varied off; solved, not measured",
        "peaks:with_processors",
        (Key("system", _NAME, "the system"), _FROM, _TO),
        {
            "lines": "a line for each set of processors: name, t (seconds since 1970) and value in percent; "
            "empty without an event that took one offline",
            "assumptions": "what is assumed",
        },
    ),
    Endpoint(
        "GET",
        "ledger",
        "A ledger: accounts that add up, from a machine to its jobs",
        "ledger:answer",
        (
            Key("name", Choice(ledger_names()), "the ledger", default="cpu"),
            Key("top", Integer(1, 1000), "subjects of an account below one row; others are one", default=12),
            _FROM,
            _TO,
            _INPUT,
            _SOURCE,
        ),
        {
            "title": "its title",
            "unit": "unit of all amounts",
            "text": "what it counts",
            "not_counted": "what it does not count",
            "needs": "what an input without rows lacks",
            "ledgers": "all ledgers, each with name and title",
            "levels": "its levels, each with name and title",
            "rows": "amounts, each after the one that it is a part of: depth, level, account with title "
            "and text, subject, amount, status, meter, transactions, and the identities node and parent",
        },
    ),
    Endpoint(
        "GET",
        "fleet",
        "All systems compared: utilization by hour, and forecast growth",
        "fleet:answer",
        (
            _FROM,
            _TO,
            Key(
                "base_from",
                Timestamp(),
                "hours of another span, to compare with: after this time",
                default=None,
            ),
            Key("base_to", Timestamp(), "hours of that span: at or before this time", default=None),
        ),
        {
            "unit": "of all values: percent of the system's processors",
            "limit": "limit for the busiest hour of a day",
            "t": "ends of the hours, seconds since 1970",
            "systems": "each system with machine, sysplex, cluster and release; its mean over the span, "
            "the busiest hour and the time it ended at; before, the mean over the other span, and the change "
            "from it; growth of the busiest hour of a day per month, and the day it meets the limit; its "
            "series by hour",
        },
    ),
    Endpoint(
        "GET",
        "cluster",
        "Resources that the members of a cluster share, and each member's use of them",
        "fleet:members",
        (Key("name", _NAME, "the cluster, as /fleet names it"), _FROM, _TO),
        {
            "members": "its systems",
            "volumes": "unit, the column to explain, and a row for each volume: its name, device busy of all "
            "members together, the number of members that have it, and device busy of each member",
            "guests": "the same of guests by name: CPU time in percent of a processor",
        },
    ),
    Endpoint(
        "GET",
        "machine",
        "The partitions of a machine by hour",
        "fleet:machine",
        (Key("name", _NAME, "the machine, as /fleet names it"), _FROM, _TO),
        {
            "unit": "of all values: percent of the machine's processors of the type",
            "explain": "the column to explain",
            "t": "ends of the hours, seconds since 1970",
            "partitions": "each partition and type of processors: its mean over the span, "
            "and its series by hour",
        },
    ),
    Endpoint(
        "GET",
        "trend",
        "How busy all systems are by shift and month, and where growth leads",
        "fleet:trends",
        (
            Key(
                "shifts",
                Text(400),
                "hours by name, with semicolons between them: prime=Mon-Fri 08:00-17:00; night=22:00-06:00",
                default="",
            ),
        ),
        {"answer": "the answer of zlens study trend, in the format of /solve"},
    ),
    Endpoint(
        "GET",
        "correlations",
        "Metrics that are correlated with busy in a window, strongest first",
        "peaks:correlated_metrics",
        (Key("system", _NAME, "the system"), _SOURCE, _FROM, _TO),
        {
            "rows": "metrics with their rank correlation with busy, their value in the peak of /peak and "
            "outside it (usual)",
            "least": "the rank correlation from which a metric is listed",
            "fewest": "minimum number of intervals for a correlation",
        },
    ),
    Endpoint(
        "GET",
        "window_changes",
        "Metrics and subjects that differ between a window and the rest of the recording",
        "peaks:window_changes",
        (Key("system", _NAME, "the system"), _SOURCE, _FROM, _TO),
        {
            "metrics": "metrics of the system: their mean in the window (value) and in the rest of the "
            "recording (usual), largest difference first",
            "groups": "groups of subjects as in growth of /peak, largest change first, also of those that "
            "declined",
        },
    ),
    Endpoint(
        "POST",
        "compare",
        "Compare systems, time windows or inputs",
        "compare:answer",
        (
            Key("base", _SIDE, "the side that the others are compared with"),
            Key("others", ListOf(_SIDE, 1, 8), "the other sides"),
            *compare_options.KEYS,
            Key("format", Choice(("data", "html")), "data, or one HTML file (data)", default="data"),
        ),
        {
            "sides": "names, systems and time ranges",
            "differences": "beyond the noise first, then not tested, then within the noise",
            "waterfall": "parts of changes",
            "warnings": "reasons why the sides are not comparable",
            "notes": "further notes",
            "criterion": "results of IBM's 5% regression criterion, one line each",
            "not_tested": "reasons why differences could not be tested",
            "html": "instead of all these: the comparison as one HTML file that fetches nothing",
        },
    ),
    Endpoint(
        "GET",
        "model",
        "Keys of a scenario of a model",
        "laboratory:keys",
        (Key("model", Choice(models.MODELS), "the model"),),
        {
            "name": "the model",
            "summary": "its purpose",
            "example": "a scenario",
            "keys": "keys of a scenario",
        },
    ),
    Endpoint(
        "POST",
        "solve",
        "Solve a scenario exactly",
        "laboratory:solve",
        (
            Key("model", Choice(models.MODELS), "the model"),
            Key("scenario", Text(1_000_000), "the scenario, in TOML; it may not refer to files"),
            _SET,
            Key("sweep", Text(200), "KEY=START:STOP[:STEP]", default=None),
            Key("check", Boolean(), "check the scenario only", default=False),
        ),
        {
            **_ANSWER,
            "numbers": "of a check: the numbers of the scenario by their keys for set, with allowed values",
            "wrong": "of a check: the error in the scenario, as in an error response, or null",
        },
        apart=True,
    ),
    Endpoint(
        "POST",
        "expected",
        "Expected and observed values of a measured interval",
        "laboratory:expected",
        (
            Key("model", Choice(models.MEASURED), "the model"),
            _SYSTEM,
            _SOURCE,
            Key("at", Timestamp(), "a time in the interval; left out: the busiest", default=None),
            _SET,
        ),
        {**_ANSWER, "system": "the system", "at": "end of the interval"},
    ),
    Endpoint(
        "POST",
        "plan",
        "What-if on a measured interval, solved before and after the change",
        "laboratory:plan",
        (
            _SYSTEM,
            _SOURCE,
            Key("at", Timestamp(), "a time in the interval; left out: the busiest", default=None),
            Key(
                "set",
                ListOf(Text(500), 0, 200),
                "keys to change; empty: list the keys that can be changed",
                default=[],
            ),
        ),
        _ANSWER,
    ),
    Endpoint(
        "GET",
        "running",
        "Requests in progress",
        "",
        (),
        {},
        "a list: id, what, seconds, and done, of and text if the work reports its progress",
    ),
    Endpoint(
        "POST",
        "cancel",
        "Cancel a request",
        "",
        (Key("id", Text(64, 1), "the name of the request"),),
        {"cancelled": "number of requests of that name"},
    ),
    Endpoint(
        "POST",
        "login",
        "Exchange the token for a cookie",
        "",
        (Key("token", Text(1000, 1), "the token that zlens serve printed"),),
        {"entered": "true; the answer sets a cookie that later requests send"},
    ),
    Endpoint("GET", "openapi.json", "This description", "", (), {"openapi": "3.1.0"}),
)


def find(method: str, name: str) -> Endpoint:
    """Return the endpoint with this method and name."""
    return {(endpoint.method, endpoint.name): endpoint for endpoint in ENDPOINTS}[method, name]
