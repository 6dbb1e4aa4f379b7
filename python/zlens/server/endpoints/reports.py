"""Endpoints of reports and comparisons."""

from __future__ import annotations

from zlens.compare import comparison as compare_options
from zlens.reports import options as report_options
from zlens.schema.validators import Choice, Key, ListOf, Spec, Text
from zlens.server.endpoints.endpoint import NAME, WINDOW, Endpoint

_SIDE = Spec((*WINDOW, Key("name", Text(40, 1), "name of the side", default=None)))

ENDPOINTS = (
    Endpoint(
        "reports",
        "Number of columns of each report that have values; decodes everything once",
        "schema:reports",
        (),
        {"reports": "name, has, of and state of each"},
    ),
    Endpoint(
        "report",
        "A classic report",
        "reports:answer",
        (
            Key("name", NAME, "short name or FCX number"),
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
            *WINDOW,
        ),
        {
            "name": "short name",
            "text": "the report if the form is text, csv, json or html",
            "tables": "the tables if the form is table, with title, facts and notes",
        },
    ),
    Endpoint(
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
        method="POST",
    ),
)
