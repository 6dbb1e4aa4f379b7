"""Endpoints of what the inputs contain: schema, problems, intervals and times."""

from __future__ import annotations

from zlens.schema.validators import Boolean, Choice, Key, ListOf, Text, Timestamp
from zlens.server.endpoints.endpoint import NAME, SOURCE, SYSTEM, Endpoint

#: Parts of the schema: everything about the inputs, and what only some views need.
_PARTS = ("systems", "tables", "reports", "models")

ENDPOINTS = (
    Endpoint(
        "schema",
        "Contents of the inputs and what can be requested of them",
        "schema:answer",
        (
            Key("parts", ListOf(Choice(_PARTS), 1), "what to return (all)", default=None),
            Key("tables", ListOf(NAME, 0, 400), "only these measures in `tables` (all tables)", default=None),
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
        urgent=True,
    ),
    Endpoint(
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
        "intervals",
        "Ends of the intervals of a system",
        "intervals:answer",
        (SYSTEM,),
        {"runs": "evenly spaced ends: the first in integer seconds since 1970, rounded up; step; count"},
        urgent=True,
    ),
    Endpoint(
        "window",
        "The window that a text means, such as 9:00-9:30, yesterday 14-16 or last hour",
        "intervals:window",
        (
            Key("text", Text(100, 1), "the text"),
            Key("system", NAME, "the system, whose zone and end of data apply"),
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
        "days",
        "A window and the same hours of other days",
        "intervals:days",
        (
            SYSTEM,
            SOURCE,
            Key("from", Timestamp(), "start of the window"),
            Key("to", Timestamp(), "end of the window"),
        ),
        {
            "column": "the column of the values, in percent",
            "days": "the window and the nearest other days in order of time, each with from, to, t (seconds "
            "since 1970) and value; empty if there are none",
        },
    ),
)
