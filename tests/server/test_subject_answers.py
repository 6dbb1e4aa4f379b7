"""Tests of the table, charts and owners of each kind of subject, with the requests of the web UI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.catalog import aggregation, measures, subjects
from zlens.catalog.subjects import Subject, columns_of
from zlens.server import json_values
from zlens.server.endpoints import ENDPOINTS
from zlens.server.workspace import Workspace

ENDPOINT = next(one for one in ENDPOINTS if one.name == "aggregate")
#: Columns without values in the demo files.
UNKNOWN = {
    "guest": {"limit_kind_last", "share_limit_last"},
    "workload": set[str](),
    "job": set[str](),
}


@pytest.fixture(scope="module")
def places(demo_files: list[Path]) -> Iterator[dict[str, Workspace]]:
    """Workspaces by measure, each over the last demo file with data: the newest release."""
    found: dict[str, Workspace] = {}
    opened = [(str(path), zlens.open(str(path))) for path in demo_files]
    for path, session in opened:
        for one in subjects.declared():
            if session._core.has_data(one.table):
                found[one.table] = Workspace(session._core, [path])
    yield found
    for _, session in opened:
        session.close()


def rows(place: Workspace, **parameters: Any) -> list[dict[str, Any]]:
    return named(answered(place, **parameters))


def answered(place: Workspace, **parameters: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(json_values.body(ENDPOINT.answer(place, ENDPOINT.check(parameters))))
    assert not answer["more"]
    return answer


def named(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]


def conditions(one: Subject) -> list[dict[str, list[str]]]:
    return [records.where for records in one.records] or [{}]


@pytest.mark.parametrize("one", subjects.declared(), ids=lambda one: one.table)
def test_every_table_figure_has_data(one: Subject, places: dict[str, Workspace]) -> None:
    wanted: dict[str, list[str]] = {}
    for figure in one.figure:
        for column, statistic in (
            [(figure.column, figure.statistic)]
            if figure.column
            else [(name, "last") for name in columns_of(figure.pieces)]
        ):
            wanted.setdefault(column, []).append(statistic)
    series = {"column": one.series.column, "statistic": one.series.statistic, "buckets": 60}
    by = [name.column for name in one.name]
    known: set[str] = set()
    for where in conditions(one):
        answer = answered(
            places[one.table], table=one.table, by=by, columns=wanted, where=where, series=series
        )
        known |= {key for row in named(answer) for key, value in row.items() if value is not None}
        if answer["rows"]:
            assert any(value is not None for values in answer["series"] for value in values)
    requested = {f"{column}_{statistic}" for column, each in wanted.items() for statistic in each}
    assert requested - known <= UNKNOWN[one.table]


@pytest.mark.parametrize("one", subjects.declared(), ids=lambda one: one.table)
def test_every_subject_chart_has_data(one: Subject, places: dict[str, Workspace]) -> None:
    columns = {line.column: ["p50", "min", "max", "last"] for chart in one.chart for line in chart.lines}
    where = conditions(one)[0]
    by = [name.column for name in one.name]
    [first, *_] = rows(places[one.table], table=one.table, by=by, columns=[one.use_column], where=where)
    where = {**where, **{name: first[name] for name in by}}
    points = rows(places[one.table], table=one.table, columns=columns, where=where, buckets=400)
    assert [point["t"] for point in points] == sorted(point["t"] for point in points)
    assert any(value is not None for point in points for value in list(point.values())[3:])


@pytest.mark.parametrize("one", subjects.declared(), ids=lambda one: one.table)
def test_owners_sum_use_of_subjects(one: Subject, places: dict[str, Workspace]) -> None:
    place = places[one.table]
    where = one.owners.where or conditions(one)[0]
    wanted = {
        one.use_column: ["total"],
        **{name: ["last"] for group in one.owners.group for name in columns_of(group.pieces)},
    }
    owned = rows(place, table=one.table, by=list(one.owners.by), columns=wanted, where=where)
    by = [name.column for name in one.name]
    used = rows(place, table=one.table, by=by, columns={one.use_column: ["total"]}, where=where)
    key = f"{one.use_column}_total"
    assert sum(row[key] or 0 for row in owned) == pytest.approx(sum(row[key] or 0 for row in used))
    if one.part:
        columns = {one.use_column: ["total"]}
        parts = rows(place, table=one.part.table, by=[*one.owners.by, *one.part.keys], columns=columns)
        assert sum(row[key] or 0 for row in parts) == pytest.approx(
            sum(row[key] or 0 for row in used), rel=1e-3
        )


def test_share_is_of_busy_time(places: dict[str, Workspace]) -> None:
    found = rows(places["guest"], table="guest", by=["userid"], columns={"cpu_s": ["total", "share"]})
    [(whole,)] = places["guest"].session.sql("SELECT sum(busy_s) FROM load").rows
    assert whole > 0
    for row in found:
        used = row["cpu_s_total"]
        assert row["cpu_s_share"] == (None if used is None else pytest.approx(100 * used / whole))


def test_columns_divided_by_one_time_join_it_once(places: dict[str, Workspace]) -> None:
    columns = {"cp_s": ["rate"], "idle_s": ["rate"]}
    checked = ENDPOINT.check({"table": "capacity", "columns": columns, "buckets": 10})
    sql = ENDPOINT.answer(places["guest"], checked)["sql"]
    assert sql.count("JOIN") == 1
    assert sql.count("/ nullif(whole0.") == 2


def test_subject_schema_equals_catalog(places: dict[str, Workspace]) -> None:
    schema = next(one for one in ENDPOINTS if one.name == "schema")
    shown = schema.answer(places["guest"], schema.check({}))["subjects"]
    assert [one["table"] for one in shown] == [one.table for one in subjects.declared()]
    for one, declared in zip(shown, subjects.declared(), strict=True):
        assert [figure["key"] for figure in one["figure"]] == [figure.key for figure in declared.figure]
        table = measures.load_measure(one["table"])
        for figure in one["figure"]:
            if figure["column"]:
                column = table.column(figure["column"])
                assert column is not None
                assert figure["statistic"] in aggregation.available_statistics(column)
