"""The runs that a file of the rig defines: each case with each policy or control, and several seeds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from zlens.models.scenario import set_value
from zlens.rig.definition import Control, Policy, RigCase, RigDefinition

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


def rig_jobs(
    rig: RigDefinition, seeds: int | None = None
) -> Iterator[tuple[RigCase, Policy | Control, list[Job]]]:
    """Yield the runs of each case and policy, then of each case and control.

    A control has one seed, or all if an order is judged, because a single run of each case has an order by
    chance.
    """
    first = int(rig.scenario.get("simulation", {}).get("seed", 1))
    variants: list[Policy | Control] = [*rig.policies, *rig.controls]
    for variant in variants:
        is_control = isinstance(variant, Control)
        single_seed = is_control and not any(observation.order for observation in rig.observations)
        count = 1 if single_seed else seeds or rig.seeds
        for case in rig.cases:
            values = rig.values(case, variant.set)
            parts = [case.name, f"control {variant.name}" if is_control else variant.name]
            jobs = []
            for seed in range(first, first + count):
                name = "-".join(file_name(part) for part in (*parts, str(seed)) if part)
                seeded = set_value(values, "simulation.seed", seed)
                jobs.append(Job(rig.name, name, case.name, variant.name, seed, seeded))
            yield case, variant, jobs


def jobs_by_variant(
    rig: RigDefinition, seeds: int | None = None
) -> list[tuple[Policy | Control, dict[str, list[Job]]]]:
    """Return policies, then controls, with their runs by case."""
    found: dict[tuple[bool, str], tuple[Policy | Control, dict[str, list[Job]]]] = {}
    for case, variant, jobs in rig_jobs(rig, seeds):
        key = isinstance(variant, Control), variant.name
        found.setdefault(key, (variant, {}))[1][case.name] = jobs
    return list(found.values())


def file_name(text: str) -> str:
    """Return a text as a part of a file name: `2 processors` as `2_processors`."""
    return _NO_NAME.sub("_", text.lower()).strip("_")
