"""Tests of times and durations: each text has one meaning in all interfaces."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import draws, iterations
from zlens import _native
from zlens.cli import inputs
from zlens.cli.options import add_arguments
from zlens.errors import QueryError, ScenarioError
from zlens.inputs.options import TimeSpec, parse_duration, parse_instant, parse_time_spec
from zlens.models import prepared
from zlens.models.interval_choice import BUSY, choose_interval
from zlens.models.scenario import example
from zlens.plan import planning
from zlens.schema import toml
from zlens.server import buckets
from zlens.server.workspace import Workspace
from zlens.simulation.lowering import lower_scenario
from zlens.studies import measurement

FIRST = dt.datetime(2010, 3, 9, 8, 30, tzinfo=dt.UTC)
WINDOW = (
    "system",
    "from",
    "to",
    "shift",
    "peak",
    "tz",
    "throughput",
    "throughput_columns",
    "throughput_offset",
)


def utc(spec: TimeSpec | None) -> dt.datetime:
    assert spec is not None
    return spec.utc(dt.UTC, FIRST.date())


@pytest.fixture(scope="module")
def place(demo_files: list[Path]) -> Iterator[Workspace]:
    with zlens.open(demo_files[0]) as session:
        yield Workspace(session._core, [str(demo_files[0])])


def by_options(place: Workspace, text: str) -> dt.datetime:
    words = argparse.ArgumentParser()
    add_arguments(words, f"{inputs.INPUTS}\n{inputs.SELECTING}")
    return utc(inputs.parse_options(words.parse_args(["x", "--from", text])).start)


def by_page(place: Workspace, text: str) -> dt.datetime:
    with place.open_narrow(None, text) as session:
        return utc(session.options.start)


def by_study(place: Workspace, text: str) -> dt.datetime:
    return utc(measurement._options({**dict.fromkeys(WINDOW), "from": text}, "load.data", None).start)


def by_rows(place: Workspace, text: str) -> dt.datetime:
    request: dict[str, Any] = {"table": "load", "system": None, "from": text, "to": None, "where": {}}
    [test] = buckets.conditions(request, {"interval_end": "time"})
    return dt.datetime.fromisoformat(test.split("'")[1])


def by_scenario(place: Workspace, text: str) -> dt.datetime:
    scenario = {**toml.parse(example("system")), "simulation": {"start": text}}
    tod = lower_scenario(prepared("system", scenario)).scenario["start_tod"]
    return dt.datetime.fromtimestamp(_native.unix_us_from_tod(tod) / 1e6, dt.UTC)


CALLERS = (by_options, by_page, by_study, by_rows, by_scenario)


def forms(time: dt.datetime) -> list[str]:
    east = time.astimezone(dt.timezone(dt.timedelta(hours=2)))
    return [
        f"{time:%Y-%m-%d %H:%M:%S}",
        f"{time:%Y/%m/%d %H:%M:%S}",
        f"{time:%Y-%m-%dT%H:%M:%SZ}",
        f" {time:%Y-%m-%dT%H:%M:%S} ",
        east.isoformat(),
        f"{east:%Y-%m-%d %H:%M:%S} (UTC+02:00)",
    ]


@pytest.mark.parametrize("caller", CALLERS)
def test_time_is_same_everywhere(caller: Callable[[Workspace, str], dt.datetime], place: Workspace) -> None:
    random = draws("times")
    for _ in range(iterations(50, 3)):
        time = FIRST + dt.timedelta(seconds=random.randrange(3000))
        for text in forms(time):
            assert caller(place, text) == parse_instant(text) == time, text
        assert parse_instant(time.timestamp()) == time


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("text", ["noon", "2010-03-32", "25:00", "2010-03-09 08:30 (Mars)", "90s"])
def test_invalid_time_has_one_error(
    caller: Callable[[Workspace, str], dt.datetime], place: Workspace, text: str
) -> None:
    with pytest.raises(QueryError) as expected:
        parse_time_spec(text)
    with pytest.raises((QueryError, ScenarioError)) as caught:
        caller(place, text)
    assert caught.value.expected == expected.value.expected
    assert repr(text) in caught.value.message or f'"{text}"' in caught.value.message


def test_solve_and_plan_choose_same_interval(place: Workspace) -> None:
    """A time without a zone is in the system's zone, UTC+01:00; without a date it is on its last day."""
    end = FIRST - dt.timedelta(minutes=50)
    zoned = [text for text in forms(end - dt.timedelta(seconds=30)) if "Z" in text or "+" in text]
    for at in (*zoned, "2010-03-09 08:39:30", "08:39:30", end.timestamp()):
        assert choose_interval(place.session, "ZLDEMO", parse_time_spec(at), BUSY) == end
        assert planning.choose_interval(place.session, [], None, at)[1] == end


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("1h30m", 5400), (" 1D ", 86400), ("1d1s", 86401)],
)
def test_lengths_of_time(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds
