"""Tests of the schema: measures and reports with data for each system, and interval ends."""

from __future__ import annotations

import datetime as dt

import pytest

import zlens
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_time_spec
from zlens.server import intervals, schema
from zlens.server.workspace import Workspace


@pytest.fixture(scope="module")
def place(demo_files):
    paths = [str(path) for path in demo_files if path.suffix in (".monwrite", ".smf")]
    with zlens.open(paths) as session:
        yield Workspace(session._core, paths)


def test_reports_list_their_systems(place):
    systems = {report["name"]: report["systems"] for report in schema.answer(place, {})["reports"]}
    assert systems["user"] == ["ZLDEMO", "ZLSIM"]
    assert systems["prclog"] == ["ZLDEMO", "ZLSIM", "ZLZ1"]
    assert systems["cpumf"] == ["ZLSIM", "ZLZ1"]
    assert systems["workload"] == ["ZLZ1"]
    # The records of its first table are missing, though another table has a row of load.
    assert systems["rmfcpu"] == ["ZLZ1"]
    assert systems["ustat"] == ["ZLSIM"]


def test_schema_is_requested_by_part(place):
    complete = schema.answer(place, {})
    parts = {
        name: schema.answer(place, {"parts": [name]}) for name in ("systems", "tables", "reports", "models")
    }
    assert {name for name in parts if name != "systems"} == complete.keys() - parts["systems"].keys()
    joined = {key: value for part in parts.values() for key, value in part.items()}
    assert joined == complete
    some = schema.answer(place, {"parts": ["tables"], "tables": ["load", "cpu", "load"]})["tables"]
    assert some == [
        next(table for table in complete["tables"] if table["name"] == name) for name in ("load", "cpu")
    ]
    with pytest.raises(QueryError, match="there is no measure 'nosuch'"):
        schema.answer(place, {"parts": ["tables"], "tables": ["nosuch"]})


def test_measures_follow_inputs_of_system(place):
    fills = {entry["system"]: entry["fills"] for entry in schema.answer(place, {})["systems"]}
    assert "cpumf" in fills["ZLZ1"]
    # Both are z/VM systems of one source, which shares its tables.
    assert "cpumf" in fills["ZLSIM"]
    assert "cpumf" not in fills["ZLDEMO"]
    assert "guest" not in fills["ZLZ1"]


def test_ends_of_intervals(place):
    assert intervals.answer(place, {"system": "ZLDEMO"})["runs"] == [[1268119860, 60, 60]]


@pytest.mark.parametrize(
    ("options", "minutes"),
    [
        (Options(start=parse_time_spec("07:40"), end=parse_time_spec("07:50"), utc=True), 10),
        (Options(peak_minutes=5), 5),
    ],
    ids=["times", "peak"],
)
def test_time_range_is_that_of_options(demo_folder, options, minutes):
    """The time axis shows the window asked for, not the entire recording."""
    path = str(demo_folder / "zldemo.monwrite")
    with zlens.open([path], options=options) as session:
        narrow = Workspace(session._core, [path])
        [system] = schema.answer(narrow, {"parts": ["systems"]})["systems"]
        [[first, step, count]] = intervals.answer(narrow, {"system": "ZLDEMO"})["runs"]
        times = [row[0] for row in session.sql("SELECT interval_end FROM load ORDER BY 1").rows]
    assert (system["intervals"], step, count) == (minutes, 60, minutes)
    assert dt.datetime.fromisoformat(system["end"]) == times[-1]
    assert times[-1] - dt.datetime.fromisoformat(system["start"]) == dt.timedelta(minutes=minutes)
    assert first == times[0].timestamp()


def test_window_end_is_rounded_up_to_interval():
    assert intervals.runs([1]) == [[1, 0, 1]]
    assert intervals.runs([60, 120, 181, 242]) == [[60, 60, 2], [181, 61, 2]]
