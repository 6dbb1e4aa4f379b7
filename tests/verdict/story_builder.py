"""Small machines with a known story, for the simulator: three of four IFLs, two guests, and what happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Length of a story.
HOURS = 0.3


def guest(name: str, demand: int, **more: Any) -> dict[str, Any]:
    """Return a guest that wants this percentage of a processor."""
    return {"name": name, "type": "IFL", "virtual_cpus": 3, "relative": 100, "demand": demand, **more}


def command(at: int, do: str, **of: Any) -> dict[str, Any]:
    """Return a command at a second after the start."""
    return {"at": at, "do": do, **of}


def story(guests: list[Mapping[str, Any]], *commands: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scenario of a system with three cores."""
    return {
        "model": "system",
        "title": "A story",
        "processors": {"IFL": 4},
        "machine": {"type": "8561", "model": "T01", "capability": 1000, "hardware_counters": False},
        "partition": [{"name": "STORY", "type": "IFL", "cores": 3, "weight": 100, "storage": 8192}],
        "simulation": {"start": "2026-03-02T09:00:00Z", "seed": 1},
        "user": guests,
        "command": list(commands),
    }


OFFLINE = (command(600, "vary off", core=2), command(900, "vary on", core=2))
EVEN = [guest("LINUX1", 100), guest("LINUX2", 100)]
#: LINUX1 wants twice as much from the fifth minute to the sixteenth.
PROFILE = [[0, 0.5], [300, 0.5], [301, 1.0], [960, 1.0], [961, 0.5]]
RISING = guest("LINUX1", 190, load={"profile": PROFILE})

STORIES = {
    "one-cause": story(EVEN, *OFFLINE),
    "two-causes": story(
        [guest("LINUX1", 70), guest("LINUX2", 70), guest("BATCH1", 90, logged_on=False)],
        command(510, "logon", user="BATCH1"),
        *OFFLINE,
        command(1000, "logoff", user="BATCH1"),
    ),
    "effect-before-cause": story([RISING, guest("LINUX2", 100)], *OFFLINE),
    "cause-without-effect": story([guest("LINUX1", 30), guest("LINUX2", 30)], *OFFLINE),
    "no-cause": story([RISING, guest("LINUX2", 100)]),
    "no-effect": story(EVEN),
}
