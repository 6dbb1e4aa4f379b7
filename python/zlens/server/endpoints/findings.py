"""Endpoints of findings, their causes, and the peak of a window."""

from __future__ import annotations

from zlens.schema.validators import Boolean, Key, ListOf, Text
from zlens.server.endpoints.endpoint import FROM, NAME, SOURCE, SYSTEM, SYSTEM_WINDOW, TO, WINDOW, Endpoint

_CLASSES = Key("classes", ListOf(NAME, 0, 10), "classes of rules; all: every class", default=None)

ENDPOINTS = (
    Endpoint(
        "findings",
        "Findings, worst first",
        "findings:answer",
        (_CLASSES, *WINDOW),
        {
            "rows": "the findings",
            "asked": "number of rules checked",
            "missing": "rules that could not be checked, and why",
            "off": "rules of classes not requested",
        },
    ),
    Endpoint(
        "findings/stream",
        "Findings in order of computation, starting with the rules that are computed first",
        "findings:stream",
        (
            _CLASSES,
            Key("few", Boolean(), "no findings if the input has too many systems (wide)", default=False),
            *WINDOW,
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
        "verdict",
        "The causes of the findings of a window, in sentences",
        "findings:verdict",
        SYSTEM_WINDOW,
        {
            "system": "the system",
            "text": "the sentences as one text",
            "sentences": "lists of clauses, each with its kind (cause, effect, meanwhile, added, what-if or "
            "checked), text, the text before it, and the view, its settings, from and to that prove it; "
            "view: null if none does",
        },
    ),
    Endpoint(
        "evidence",
        "Evidence of a rule: its value and threshold over time",
        "findings:evidence",
        (
            Key("rule", NAME, "the rule"),
            SYSTEM,
            Key("subject", Text(200), "the subject of the finding", default=""),
            SOURCE,
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
        "peak",
        "The busiest interval of a window, the subjects that grew with it, and the events around it",
        "peaks:answer",
        SYSTEM_WINDOW,
        {
            "busiest": "the busiest interval: value, usual (the median of all intervals), unit, from and to; "
            "null: no complete interval in the window",
            "peak": "from and to: the time around it in which busy exceeds the midpoint between usual",
            "growth": "groups of subjects, each with the subjects that grew most: value, usual, unit, "
            "their events, and the view that shows them",
            "events": "events from `minutes` before the peak to `minutes` after it, without frequent kinds",
            "minutes": "see events",
        },
        urgent=True,
    ),
    Endpoint(
        "with_processors",
        "Busy as it would have been with the processors online that were varied off; solved, not measured",
        "peaks:with_processors",
        (SYSTEM, FROM, TO),
        {
            "lines": "a line for each set of processors: name, t (seconds since 1970) and value in percent; "
            "empty without an event that took one offline",
            "assumptions": "what is assumed",
        },
    ),
    Endpoint(
        "correlations",
        "Metrics that are correlated with busy in a window, strongest first",
        "peaks:correlated_metrics",
        SYSTEM_WINDOW,
        {
            "rows": "metrics with their rank correlation with busy, their value in the peak of /peak and "
            "outside it (usual)",
            "least": "the rank correlation from which a metric is listed",
            "fewest": "minimum number of intervals for a correlation",
        },
    ),
    Endpoint(
        "window_changes",
        "Metrics and subjects that differ between a window and the rest of the recording",
        "peaks:window_changes",
        SYSTEM_WINDOW,
        {
            "metrics": "metrics of the system: their mean in the window (value) and in the rest of the "
            "recording (usual), largest difference first",
            "groups": "groups of subjects as in growth of /peak, largest change first, also of those that "
            "declined",
        },
    ),
)
