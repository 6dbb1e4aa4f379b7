"""Multithreading on or off: bounds, rarely a point value, from models/smt/measurement.py."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zlens.models.scenario_errors import ScenarioErrors
from zlens.models.smt import measurement
from zlens.rendering.answer import Answer
from zlens.schema.validators import Choice

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

KEY = "smt"
TEXT = "multithreading of the cores of the system, with no other change"
VALUE = "on or off"
THREADS = {"on": 2, "off": 1}
#: Settings that can be combined with it.
COMPATIBLE_SETTINGS = (
    "max_capacity_factor",
    "path",
    "guest.NAME.path",
    "guest.NAME.serial",
    "guest.NAME.serial_at_once",
)


def threads(setting: str) -> int:
    """Return the requested threads per core."""
    value = setting.partition("=")[2].strip()
    return THREADS[Choice(tuple(THREADS)).check(value, KEY, ScenarioErrors(None))]


def answer(
    session: CoreSession,
    system: str,
    end: dt.datetime,
    threads: int,
    settings: Sequence[str],
) -> Answer:
    """Return bounds on throughput, and IBM's published range."""
    return measurement.switch_bounds(session, system, end, threads, settings)
