"""Multithreading on or off: bounds, rarely a point value, from models/smt/switch.py."""

from __future__ import annotations

from zlens.models.scenario_errors import ScenarioErrors
from zlens.schema.validators import Choice

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
