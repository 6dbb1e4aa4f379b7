"""The runs that a file of the rig defines: each case with each policy or control, and several seeds."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from zlens.models.scenario import set_value
from zlens.rig.definition import Control, Policy, RigDefinition

_NO_NAME = re.compile(r"[^a-z0-9.]+")


class Job(Struct, frozen=True):
    """A run.

    name       unique in its file, and the name of its monitor data without suffix
    constants  defaults that replace those of the catalog
    """

    rig: str
    name: str
    case: str
    variant: str
    seed: int
    values: dict[str, Any]
    constants: dict[str, Any] = {}


def jobs_by_variant(
    rig: RigDefinition, seeds: int | None = None
) -> list[tuple[Policy | Control, dict[str, list[Job]]]]:
    """Return policies, then controls, with their runs by case.

    A control has one seed, or all if an order is judged, because a single run of each case has an order by
    chance.
    """
    first = int(rig.scenario.get("simulation", {}).get("seed", 1))
    variants: list[Policy | Control] = [*rig.policies, *rig.controls]
    found: list[tuple[Policy | Control, dict[str, list[Job]]]] = []
    for variant in variants:
        is_control = isinstance(variant, Control)
        single_seed = is_control and not any(observation.order for observation in rig.observations)
        count = 1 if single_seed else seeds or rig.seeds
        by_case: dict[str, list[Job]] = {case.name: [] for case in rig.cases}
        for case in rig.cases:
            values = rig.values(case, variant.set)
            parts = [case.name, f"control {variant.name}" if is_control else variant.name]
            for seed in range(first, first + count):
                name = "-".join(file_name(part) for part in (*parts, str(seed)) if part)
                seeded = set_value(values, "simulation.seed", seed)
                by_case[case.name].append(Job(rig.name, name, case.name, variant.name, seed, seeded))
        found.append((variant, by_case))
    return found


def rig_jobs(rig: RigDefinition, seeds: int | None = None) -> list[Job]:
    """Return all runs of a file, those of each policy and control together."""
    return [job for _, by_case in jobs_by_variant(rig, seeds) for jobs in by_case.values() for job in jobs]


def file_name(text: str) -> str:
    """Return a text as a part of a file name: `2 processors` as `2_processors`."""
    return _NO_NAME.sub("_", text.lower()).strip("_")
