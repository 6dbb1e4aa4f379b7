"""All questions that can be asked, as data: requests are checked by it, and the OpenAPI document tells it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from zlens import models
from zlens.catalog.aggregation import STATISTICS
from zlens.compare import AGAINST, FORMS
from zlens.errors import QueryError
from zlens.schema.kinds import (
    Anything,
    Choice,
    Either,
    Flag,
    Integer,
    Key,
    Many,
    Moment,
    Named,
    Problem,
    Spec,
    Text,
)
from zlens.server.aggregate import MOST
from zlens.server.place import Place

ROOT = "/api/v1"
_NAME = Text(120, 1)

_ID = Key("id", Text(64, 1), "a name by which POST /cancel ends the question", default=None)
_SYSTEM = Key("system", _NAME, "only this system", default=None)
_FROM = Key("from", Moment(), "intervals that end after this time", default=None)
_TO = Key("to", Moment(), "intervals that end not after this time", default=None)
_INPUT = Key("input", Text(1000, 1), "only this input, by its name in /schema", default=None)
_WINDOW = (_SYSTEM, _FROM, _TO, _INPUT)
_WHERE = Key(
    "where",
    Named(Either(Many(Anything(), 0, 1000), Anything()), 0, 20),
    "what columns are to be: a value or a list of them",
    default={},
)
_STATISTICS = Many(Choice(STATISTICS), 1, len(STATISTICS))
_COURSE = Spec(
    (
        Key("column", _NAME, "the column"),
        Key("statistic", Choice(STATISTICS), "what is told of each bucket (max)", default="max"),
        Key("buckets", Integer(1, 1000), "at most so many"),
    )
)
_SET = Key("set", Many(Text(500), 0, 200), "other values: KEY=VALUE", default=[])
_SIDE = Spec((*_WINDOW, Key("name", Text(40, 1), "what the side is called", default=None)))


class WrongParameterError(QueryError):
    """A parameter of a question is wrong."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One question.

    work     module and function of this package that answers it: (place, asked) -> what JSON holds;
             "" where the server itself does
    gives    names of what the answer holds, and what they are
    lists    what the answer lists, where it is a list
    """

    method: str
    name: str
    summary: str
    work: str
    parameters: tuple[Key, ...]
    gives: dict[str, str]
    lists: str = ""

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.name}"

    @property
    def record(self) -> Spec:
        named = any(parameter.name == "id" for parameter in self.parameters)
        return Spec(self.parameters if named else (*self.parameters, _ID))

    def check(self, given: Any) -> dict[str, Any]:
        """The parameters of a question, checked; QueryError with what is allowed."""
        found: dict[str, Any] = self.record.check(
            given, "", Problem(error=WrongParameterError, root="the question", json=True)
        )
        return found

    def answer(self, place: Place, asked: dict[str, Any]) -> Any:
        module, _, function = self.work.partition(":")
        return getattr(import_module(f"zlens.server.{module}"), function)(place, asked)


_ANSWER = {"answer": "model, title, figures, tables, charts, notes and assumptions"}

ENDPOINTS = (
    Endpoint(
        "GET",
        "schema",
        "What is in the inputs and what can be asked of it",
        "schema:answer",
        (),
        {
            "version": "of zlens",
            "made": "whether any of the data were made and not measured",
            "inputs": "what the server was started with",
            "systems": "systems and their time spans",
            "tables": "measures, raw tables and roles with their columns",
            "reports": "classic reports, and how many of their columns are possible here",
            "subjects": "measures of who uses the processors, and how each is shown",
            "models": "models, each with a scenario to begin with",
            "expected": "models that can be asked of a measured interval",
            "events": "whether events are recorded",
        },
    ),
    Endpoint(
        "GET",
        "reports",
        "For how many columns of each report there are values; decodes everything once",
        "schema:reports",
        (),
        {"reports": "name, has, of and state of each"},
    ),
    Endpoint(
        "POST",
        "sql",
        "Any question in SQL",
        "sql:answer",
        (
            Key("query", Text(200_000), "one SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)"),
            Key("rows", Integer(0, 200_000), "most rows that are handed out (10000)", default=10_000),
            Key(
                "keep",
                Named(Many(_NAME, 0, 200), 0, 20),
                "columns of measures that are worked out once: {guest} in the query is a table with them",
                default={},
            ),
        ),
        {
            "columns": "names",
            "types": "int, float, text, bool or time of each",
            "rows": "lists of values; times in ISO 8601 with Z; whole numbers beyond 2**53 as text",
            "more": "whether there are more rows",
            "seconds": "that it took",
        },
    ),
    Endpoint(
        "POST",
        "aggregate",
        "Columns of a measure by subject and time, each aggregated as the catalog states of it",
        "aggregate:answer",
        (
            Key("table", _NAME, "a measure"),
            Key(
                "columns",
                Either(Many(_NAME, 1, 60), Named(_STATISTICS, 0, 60)),
                "its columns, or for each of them its statistics",
            ),
            Key(
                "statistics",
                _STATISTICS,
                "what is told of each column that has it; left out: its total, its mean or its last value",
                default=None,
            ),
            Key("by", Many(_NAME, 0, 10), "columns whose values get rows of their own", default=[]),
            Key(
                "top",
                Integer(1, 1000),
                "only so many values of the first of `by`: the largest of the first column, in mean and once",
                default=None,
            ),
            _SYSTEM,
            _WHERE,
            _FROM,
            _TO,
            Key(
                "buckets",
                Integer(1, 10_000),
                "rows over time, at most so many; left out: one row",
                default=None,
            ),
            Key(
                "course",
                _COURSE,
                "a column over time beside each row",
                default=None,
            ),
            Key("order", _NAME, "a column of the answer to sort by (its keys)", default=None),
            Key("descending", Flag(), "the largest first (true)", default=True),
            Key("limit", Integer(1, MOST), "most rows that are handed out (10000)", default=10_000),
            Key(
                "keep",
                Many(_NAME, 0, 100),
                "columns that other questions will be about, worked out at once with those of this one",
                default=[],
            ),
        ),
        {
            "columns": "names: system, source, those of `by`, t (seconds since 1970) where there are "
            "buckets, and COLUMN_STATISTIC",
            "rows": "lists of values",
            "units": "of the columns",
            "unweighted": "columns without a mean over time, and why",
            "bucket_s": "length of a bucket; 0: every interval as it is, or the whole window",
            "courses": "of each row the values of `course`; else null",
            "course_t": "their times, seconds since 1970; else null",
            "top": "the values that `top` chose, largest first; else null",
            "sql": "the question, as zlens sql takes it",
            "more": "whether there are more rows",
        },
    ),
    Endpoint(
        "POST",
        "rows",
        "Rows of a measure as they are",
        "rows:answer",
        (
            Key("table", _NAME, "a measure"),
            Key("columns", Many(_NAME, 0, 100), "its columns (all)", default=[]),
            _SYSTEM,
            _WHERE,
            _FROM,
            _TO,
            Key("order", _NAME, "a column to sort by (the time)", default=None),
            Key("descending", Flag(), "the largest first (false)", default=False),
            Key("limit", Integer(1, MOST), "most rows that are handed out (10000)", default=10_000),
        ),
        {
            "columns": "names",
            "types": "int, float, text, bool or time of each",
            "rows": "lists of values; times in ISO 8601 with Z",
            "sql": "the question, as zlens sql takes it",
            "more": "whether there are more rows",
        },
    ),
    Endpoint(
        "GET",
        "explain",
        "Where a number comes from: formula, inputs, unit, source, status",
        "explain:answer",
        (Key("name", _NAME, "a measure, TABLE.COLUMN, a report, a rule, a record"),),
        {"name": "as asked for", "text": "as zlens explain prints it"},
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
            Key("only", Many(_NAME, 0, 50), "only these subjects; * and ? may be in it", default=[]),
            *_WINDOW,
        ),
        {
            "name": "short name",
            "text": "the report, where the form is text, csv, json or html",
            "tables": "the tables, where the form is table, beside title, facts and notes",
        },
    ),
    Endpoint(
        "GET",
        "findings",
        "What stands out, worst first",
        "findings:answer",
        (
            Key("classes", Many(_NAME, 0, 10), "classes of rules; all: every class", default=None),
            *_WINDOW,
        ),
        {
            "rows": "the findings",
            "asked": "how many rules were held against the input",
            "missing": "rules that could not be, and why",
            "off": "rules of classes not asked for",
        },
    ),
    Endpoint(
        "GET",
        "evidence",
        "What a rule looked at: its value over time beside the threshold",
        "findings:evidence",
        (
            Key("rule", _NAME, "the rule"),
            Key("system", _NAME, "the system"),
            Key("subject", Text(200), "the subject of the finding", default=""),
        ),
        {
            "rule": "the rule",
            "unit": "of the values",
            "sql": "the question, as zlens sql takes it",
            "t": "ends of intervals, seconds since 1970",
            "value": "values",
            "threshold": "thresholds",
            "held": "whether the rule held",
        },
    ),
    Endpoint(
        "POST",
        "compare",
        "Systems, stretches of time or inputs side by side",
        "compare:answer",
        (
            Key("base", _SIDE, "what the others are held against"),
            Key("others", Many(_SIDE, 1, 8), "the other sides"),
            Key("form", Choice(FORMS), "form of differences (new/base)", default="new/base"),
            Key("against", Choice(AGAINST), "first or previous (first)", default="first"),
            Key("burg", Flag(), "base/new of everything, shares too", default=False),
            Key(
                "across_generations",
                Flag(),
                "everything, though the machines are of different generations",
                default=False,
            ),
            Key("format", Choice(("data", "html")), "data, or one HTML file (data)", default="data"),
        ),
        {
            "sides": "names, systems and time spans",
            "differences": "beyond the noise first",
            "waterfall": "parts of changes",
            "warnings": "what makes the sides not comparable",
            "notes": "what to know beside",
            "criterion": "what IBM's regression criterion of 5 % says, a line each",
            "html": "instead of all these: the comparison as one HTML file that fetches nothing",
        },
    ),
    Endpoint(
        "GET",
        "model",
        "What a scenario of a model may say",
        "laboratory:keys",
        (Key("model", Choice(models.MODELS), "the model"),),
        {"name": "of the model", "summary": "what it is", "example": "a scenario", "keys": "what it may say"},
    ),
    Endpoint(
        "POST",
        "solve",
        "What should happen: an exact answer to a scenario",
        "laboratory:solve",
        (
            Key("model", Choice(models.MODELS), "the model"),
            Key("scenario", Text(1_000_000), "the scenario, in TOML; it names no files"),
            _SET,
            Key("sweep", Text(200), "KEY=START:STOP[:STEP]", default=None),
            Key("check", Flag(), "check the scenario only", default=False),
        ),
        {
            **_ANSWER,
            "numbers": "of a check: the numbers of the scenario, as set takes them, and what they may be",
            "wrong": "of a check: what is wrong with the scenario, as in an error, or null",
        },
    ),
    Endpoint(
        "POST",
        "expected",
        "What should have happened in a measured interval beside what did",
        "laboratory:expected",
        (
            Key("model", Choice(models.MEASURED), "the model"),
            _SYSTEM,
            Key("at", Moment(), "a time in the interval; the busiest where it is left out", default=None),
            _SET,
        ),
        {**_ANSWER, "system": "the system", "at": "end of the interval"},
    ),
    Endpoint(
        "POST",
        "plan",
        "What if: a measured interval changed, solved before and after",
        "laboratory:plan",
        (
            _SYSTEM,
            Key("at", Moment(), "a time in the interval; the busiest where it is left out", default=None),
            Key("set", Many(Text(500), 0, 200), "what to change; nothing: what can be asked", default=[]),
        ),
        _ANSWER,
    ),
    Endpoint(
        "GET",
        "running",
        "Questions that are being worked on",
        "",
        (),
        {},
        "a list: id, what, seconds, and done, of and text where the work tells how far it has come",
    ),
    Endpoint(
        "POST",
        "cancel",
        "End a question",
        "",
        (Key("id", Text(64, 1), "the name of the question"),),
        {"cancelled": "how many questions of that name there were"},
    ),
    Endpoint("GET", "openapi.json", "This description", "", (), {"openapi": "3.1.0"}),
)
