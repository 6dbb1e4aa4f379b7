"""Trend of a measure: percentiles by shift and month, growth, and the day on which a limit is met."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from statistics import quantiles
from typing import TYPE_CHECKING

from msgspec import Struct

from zlens.catalog import measures
from zlens.errors import QueryError, ScenarioError
from zlens.inputs.options import Options, Shift, parse_date, parse_shift, parse_time_spec
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerColumn, AnswerFigure, AnswerTable, Value
from zlens.rendering.charts import Chart, ChartSeries
from zlens.rendering.text_lines import with_unit
from zlens.schema.validators import Key, ListOf, MapOf, Number, SingleLine, Spec, Text
from zlens.schema.wording import phrase
from zlens.studies.growth import Growth, fit_growth
from zlens.studies.measurement import resolve_path

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

SUMMARY = "a measure over months: percentiles by shift, growth with its uncertainty, when a limit is reached"

_DAY = Text(10, 10, re.compile(r"\d{4}-\d\d-\d\d"), "a date: 2026-01-05")
SPEC = Spec(
    (
        Key("data", ListOf(SingleLine(), into=tuple), "inputs: files, folders, lakes", default=()),
        Key("system", ListOf(SingleLine(), into=tuple), "only these systems", default=()),
        Key("from", SingleLine(), 'hours after this time: "2026-01-01"', default=None),
        Key("to", SingleLine(), 'hours up to this time: "2026-07-01"', default=None),
        Key("measure", SingleLine(), "a measure with one row per system and interval", default="load"),
        Key("column", SingleLine(), "its column", default="busy_pct"),
        Key("limit", Number(0, above=True), "limit for the busiest hour of a day", constant="trend_limit"),
        Key("shift", MapOf(SingleLine(), 0), 'hours by name: prime = "Mon-Fri 08:00-17:00"', default={}),
        Key(
            "series",
            ListOf(
                Spec(
                    (
                        Key("name", SingleLine(), "its name"),
                        Key("from", _DAY, "the day of its first value"),
                        Key("values", ListOf(Number(0), least=1, into=tuple), "a value for each day"),
                    )
                )
            ),
            "numbers instead of data: the busiest hour of each day",
            default=(),
        ),
    )
)


#: Name of the shift of all hours.
ALL = "all"
#: Average days of a month.
_MONTH = 365.25 / 12
#: Days after which a limit counts as not met: no growth is steady for that long.
_FAR = 3653
_LINES = 8


class ShiftHours(Struct, frozen=True, dict=True):
    """Hours of a system in a shift: local end, mean and its weight. A series has one per day."""

    system: str
    shift: str
    hours: list[tuple[dt.datetime, float, float]]

    @cached_property
    def days(self) -> list[tuple[int, float]]:
        """Number and busiest hour of each day."""
        by_day: dict[int, float] = {}
        for end, value, _ in self.hours:
            # Midnight belongs to the previous day.
            day = end.toordinal() - (not (end.hour or end.minute or end.second or end.microsecond))
            by_day[day] = max(value, by_day.get(day, value))
        return sorted(by_day.items())


def _day(end: dt.datetime) -> dt.date:
    """Return the day of an hour that ends at this time: midnight belongs to the previous day."""
    return (end - dt.timedelta(microseconds=1)).date()


def solve(scenario: Scenario, *, as_published: bool = False) -> Answer:
    name, limit = f"{scenario['measure']}.{scenario['column']}", float(scenario["limit"])
    all_hours = list(_series(scenario) if scenario["series"] else _measured(scenario))
    title = scenario.title or f"Trend of {'the series' if scenario['series'] else name}"
    return trend_answer(title, all_hours, _unit(scenario), limit, scenario.problem.constant("trend_days"))


def trend_answer(
    title: str, all_hours: Sequence[ShiftHours], unit: str, limit: float, min_days: int
) -> Answer:
    """Return the growth and months of systems and shifts; growth requires `min_days` days."""
    lines = [(shift_hours, fit_trend(shift_hours, min_days)) for shift_hours in all_hours]
    heading = f"Growth of the busiest hour of a day, limit {with_unit(f'{limit:g}', unit)}"
    growths = [row(shift_hours, line, limit) for shift_hours, line in lines]
    months = [row for shift_hours in all_hours for row in _by_month(shift_hours)]
    tables = [
        AnswerTable("growth", heading, growth_columns(unit), growths),
        AnswerTable("months", "Hours by month", _months(unit), months),
    ]
    met = float(sum(growth[8] is not None for growth in growths))
    text = "systems and shifts that meet the limit in ten years"
    figures = [AnswerFigure("meets_limit", met, "", text, 0)]
    notes = _notes(all_hours, lines, min_days)
    return Answer("trend", title, tables, figures, _charts(all_hours, unit), notes)


def fit_trend(shift_hours: ShiftHours, min_days: int) -> Growth | None:
    """Return the growth of the busiest hour of a day; None with fewer than `min_days` days."""
    days = shift_hours.days
    return fit_growth([float(day) for day, _ in days], [value for _, value in days], min_days)


def _series(scenario: Scenario) -> Iterator[ShiftHours]:
    if scenario["data"]:
        raise ScenarioError("has data and series", expected="one of them", cure="remove one")
    for series in scenario["series"]:
        try:
            first = dt.datetime.combine(parse_date(series["from"]), dt.time())
        except QueryError as error:
            raise ScenarioError(error.message, expected=error.expected) from None
        days = [first + dt.timedelta(days=number, hours=12) for number in range(len(series["values"]))]
        points = zip(days, series["values"], strict=True)
        yield ShiftHours(series["name"], ALL, [(day, value, 1.0) for day, value in points])


def _measured(scenario: Scenario) -> Iterator[ShiftHours]:
    from zlens.lake.file_names import is_url
    from zlens.session.session import CoreSession

    if not scenario["data"]:
        raise ScenarioError("has no data", cure='write data = ["lake"], or [[series]] with numbers')
    options = Options(
        systems=scenario["system"],
        start=None if scenario["from"] is None else parse_time_spec(scenario["from"]),
        end=None if scenario["to"] is None else parse_time_spec(scenario["to"]),
    )
    scenario_file = scenario.problem.file
    names = [name if is_url(name) else resolve_path(name, scenario_file) for name in scenario["data"]]
    with CoreSession(names, options) as session:
        yield from measured_hours(session, scenario["measure"], scenario["column"], scenario["shift"])


def measured_hours(
    session: CoreSession, measure: str, column: str, shifts: Mapping[str, str]
) -> Iterator[ShiftHours]:
    """Yield the hours of each system in each shift, by its name; all hours without shifts.

    Raise QueryError if the column has no value in the input.
    """
    from zlens.stores.hourly import hourly_values

    parsed: dict[str, Shift | None] = {key: parse_shift(text) for key, text in shifts.items()} or {ALL: None}
    by_system: dict[str, list[tuple[dt.datetime, float, float]]] = {}
    for hour in hourly_values(session, measure, [column]):
        value = hour.mean()
        if value is not None:
            local = session.display(hour.end, hour.system, hour.source)
            by_system.setdefault(hour.system, []).append((local, value, hour.weights[0] or 0.0))
    if not by_system:
        raise QueryError(f"{measure}.{column} has no value in this input")
    for system, values in by_system.items():
        for name, shift in parsed.items():
            inside = [entry for entry in values if shift is None or shift.contains(entry[0])]
            yield ShiftHours(system, name, inside)


def _unit(scenario: Scenario) -> str:
    """Return the unit of the column, even if the file contains its values."""
    measure, name = scenario["measure"], scenario["column"]
    column = measures.load_measure(measure).column(name) if measure in measures.measure_names() else None
    if column is None:
        raise ScenarioError(f"there is no column {measure}.{name}", cure=phrase("columns_of"))
    return column.unit


def growth_columns(unit: str) -> tuple[AnswerColumn, ...]:
    """Return the columns of a table of growth; `unit` is the unit of the measure."""
    per_month = f"{unit} per month".strip()
    return (
        AnswerColumn("system", "System"),
        AnswerColumn("shift", "Shift"),
        AnswerColumn("days", "Days", "", "days with values", 0),
        AnswerColumn("now", "Now", unit, "the line through the days, at the last day"),
        AnswerColumn("growth", "Growth", per_month, "median slope of all pairs of days (Theil)", 2),
        AnswerColumn("growth_low", "From", per_month, "its 95% confidence interval (Sen): lower end", 2),
        AnswerColumn("growth_high", "To", per_month, "upper end", 2),
        AnswerColumn("last_day", "Last day"),
        AnswerColumn("meets", "Meets limit", "", "the day on which the line reaches the limit"),
        AnswerColumn("earliest", "Earliest", "", "with the growth at the upper end"),
        AnswerColumn("latest", "Latest", "", "with the growth at the lower end"),
    )


def row(shift_hours: ShiftHours, line: Growth | None, limit: float) -> tuple[Value, ...]:
    """Return the row of a system and shift, with `growth_columns`."""
    days = shift_hours.days
    subject: tuple[Value, ...] = (shift_hours.system, shift_hours.shift, len(days))
    last = days[-1][0] if days else None
    text = None if last is None else dt.date.fromordinal(last).isoformat()
    if line is None or last is None:
        return (*subject, None, None, None, None, text, None, None, None)
    reached = line.limit_crossing(limit, last)
    dates = [
        None if x is None or x - last > _FAR else dt.date.fromordinal(round(x)).isoformat() for x in reached
    ]
    slopes = [slope * _MONTH for slope in (line.slope, line.low, line.high)]
    return (*subject, line.value(last), *slopes, text, *dates)


def _months(unit: str) -> tuple[AnswerColumn, ...]:
    return (
        AnswerColumn("system", "System"),
        AnswerColumn("shift", "Shift"),
        AnswerColumn("month", "Month"),
        AnswerColumn("hours", "Hours", "", "hours with values; of a series, days", 0),
        AnswerColumn("mean", "Mean", unit),
        AnswerColumn("p50", "50th", unit, "half of the hours are at most this busy"),
        AnswerColumn("p90", "90th", unit, "90% of the hours are at most this busy"),
        AnswerColumn("p95", "95th", unit, "95% of the hours are at most this busy"),
        AnswerColumn("busiest", "Busiest", unit, "the busiest hour"),
    )


def _by_month(shift_hours: ShiftHours) -> Iterator[tuple[Value, ...]]:
    by_month: dict[str, list[tuple[float, float]]] = {}
    for end, value, weight in shift_hours.hours:
        by_month.setdefault(f"{_day(end):%Y-%m}", []).append((value, weight))
    for month, hours in sorted(by_month.items()):
        values = [value for value, _ in hours]
        # Interpolated like percentiles of measures. The mean has the weights of the intervals.
        cut_points = quantiles(values, n=20, method="inclusive") if len(values) > 1 else values * 19
        mean = sum(value * weight for value, weight in hours) / sum(weight for _, weight in hours)
        percentiles = (cut_points[9], cut_points[17], cut_points[18])
        subject = (shift_hours.system, shift_hours.shift, month)
        yield (*subject, len(values), mean, *percentiles, max(values))


def _charts(all_hours: Sequence[ShiftHours], unit: str) -> list[Chart]:
    charted = all_hours[:_LINES]
    by_day: list[Mapping[int, float]] = [dict(shift_hours.days) for shift_hours in charted]
    all_days = sorted({day for days in by_day for day in days})
    if len(all_days) < 2:
        return []
    names = [each.system + f" {each.shift}" * (each.shift != ALL) for each in charted]
    values = [[days.get(day) for day in all_days] for days in by_day]
    along = f"days from {dt.date.fromordinal(all_days[0]).isoformat()}"
    axis = [float(day - all_days[0]) for day in all_days]
    lines = tuple(map(ChartSeries, names, values))
    return [Chart("Busiest hour of each day", "lines", axis, lines, unit, along)]


def _notes(
    all_hours: Sequence[ShiftHours], growths: Sequence[tuple[ShiftHours, Growth | None]], min_days: int
) -> list[str]:
    notes = [
        "The limit is reached where a line through the busiest hours of the days reaches it.",
        "Earliest and latest day use the ends of the growth's 95% confidence interval.",
        "Less than a year of data does not show what recurs every year.",
    ]
    too_short = sorted({shift_hours.system for shift_hours, line in growths if line is None})
    if too_short:
        notes.append(f"{', '.join(too_short[:8])}: fewer than {min_days} days, so no growth.")
    if len(all_hours) > _LINES:
        notes.append(f"The chart shows the first {_LINES} of {len(all_hours)} lines.")
    return notes
