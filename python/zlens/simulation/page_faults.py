"""Whether page faults of a system follow from references to memory, and how its release chooses frames."""

from __future__ import annotations

from collections.abc import Sequence

from zlens.models.scenario import Scenario
from zlens.models.scenario_keys import key_table
from zlens.models.system.partitions import Entry, SystemPartition

_BEFORE_ZONES = ("sim_below_2g", "sim_needle")
#: Constants that only these simulations use.
_CONSTANTS = (
    *(key.constant for key in key_table("system.references").keys if key.constant),
    *(f"sim_{name}" for name in ("reorder", "early_writes", "page_table", "zone", "frame_lock", "fault")),
    *_BEFORE_ZONES,
    "sim_frame_return",
)
_FIRST_AGING = (6, 3)
_FIRST_ZONES = (6, 4)
_PAGES = 256


def computed(
    scenario: Scenario, part: SystemPartition, kind: str | None, needed: float, frames: float
) -> bool:
    """Return whether page faults follow from references; ScenarioError if a system cannot page as it must.

    kind            page_faults of CP, if given
    needed, frames  pages in use and frames for them, in MiB
    """
    error = scenario.error
    short = needed > frames
    room = f"{needed:,.0f} MiB in use, {frames:,.0f} MiB of frames"
    given = next((user for user in part.users if user["load"] and user["load"]["page_rate"]), None)
    computing = [
        f"{table}.{one['name']}.{key}"
        for table, entries in (("user", part.users), ("space", part.spaces))
        for one in entries
        for key in ("references", "reserve")
        if one[key]
    ]
    computing += [f"space.{space['name']}" for space in part.spaces]
    computing += [command["do"] for command in part.commands if command["do"] == "set reserved"]
    computed_by = next(iter(computing), None)
    if given is not None:
        path = f"user.{given['name']}.load.page_rate"
        if kind == "computed" or computed_by:
            other = computed_by or "cp.page_faults"
            raise error(f"{path} gives page faults, and {other} computes them", "leave one of them out")
        if kind is None and not short:
            raise error(
                f"{path} is {given['load']['page_rate']:g}, but nothing is paged: {room}",
                "leave it out and write storage for the partition, working_set and [user.references]; "
                'or write page_faults = "given" in [cp]',
            )
        return False
    if kind == "given" and computed_by:
        raise error(f"cp.page_faults is given, so {computed_by} has no effect", "leave one of them out")
    if kind == "given":
        return False
    slots = [volume["slots"] for volume in part.volumes if volume["paging"]]
    if not slots:
        # An assumed size is no shortage.
        if short and (computed_by or kind or part.common_entry("storage") is not None):
            raise error(f"partition {part.name} must page, but no volume is for paging: {room}",
                        "add [[volume]] with paging = true, or more storage")  # fmt: skip
        return bool(computed_by or kind)
    if short and (needed - frames) * _PAGES > sum(slots):
        size = f"{sum(slots) / _PAGES:,.0f} MiB"
        raise error(f"paging volumes of partition {part.name} are too small: {size}, {room}",
                    "add paging volumes, or more storage")  # fmt: skip
    return bool(short or computed_by or kind)


def unused_constants(paging: Sequence[SystemPartition], queued: bool) -> tuple[str, ...]:
    """Return the constants without effect if these partitions have computed page faults.

    queued   whether all of them queue the frames that they return
    """
    if not paging:
        return _CONSTANTS
    zones = [has_zones(part) for part in paging]
    return (
        (() if not all(zones) else _BEFORE_ZONES)
        + (() if any(zones) else ("sim_zone",))
        + (("sim_frame_return",) if queued else ())
    )


def selection(part: SystemPartition) -> str:
    """Return how the release in a partition chooses the frames that it takes."""
    return "demand scan" if _release(part) < _FIRST_AGING else "aging list"


def has_zones(part: SystemPartition) -> bool:
    """Return whether the release in a partition has zones of storage with a lock each."""
    return _release(part) >= _FIRST_ZONES


def queues_returns(part: SystemPartition, cp: Entry) -> bool:
    """Return whether frames are returned by a queue, without a lock."""
    return has_zones(part) if cp["queued_returns"] is None else bool(cp["queued_returns"])


def _release(part: SystemPartition) -> tuple[int, ...]:
    name = part.common_entry("zvm") or part.common_entry("records") or "9.9"
    return tuple(int(number) for number in name.split()[0].split("."))
