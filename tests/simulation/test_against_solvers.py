"""Tests that long simulations of random scenarios agree with the solver within 1%.

Users and partitions always have work; dispatches and moves are free. Scenarios either have limits, pools and
caps, with as many virtual CPUs or cores as processors, or any number of them without limits. With both, the
solver's results are higher in some scenarios: credit of limits is added in time slices, and a user whose
virtual CPUs all run cannot make up for a delay (docs/simulator.md).
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from iterations import quick_subset
from zlens import _native, models
from zlens.simulation import run

#: Simulated seconds; slices and run times are some milliseconds.
SECONDS = 120
FREE_CP = {"dispatch_user": 0, "dispatch_system": 0, "lock_hold": 0}
FREE_MOVES = {"move_chip": 0, "move_drawer": 0, "move_beyond": 0}
#: Number of cases in `make test`; `make test-all` runs all.
FEW = 12
SEEDS = quick_subset(FEW, range(300))


def moving(seed: int, seconds: int, **machine: float) -> dict[str, Any]:
    return {
        "simulation": {"seconds": seconds, "interval": 60, "warmup": 20, "seed": seed},
        "machine": FREE_MOVES | machine,
    }


def shares(seed: int, *, wide: bool) -> dict[str, Any]:
    """Return users with random shares on up to 12 processors; wide: with limits and pools."""
    draw = random.Random(seed)
    processors = draw.randint(1, 12)
    pools: list[dict[str, Any]] = []
    for name in ["P0", "P1"][: draw.choice([0, 0, 1, 2]) if wide else 0]:
        if draw.random() < 0.5:
            pools.append({"name": name, "limithard": draw.choice([10, 20, 25, 40, 50])})
        else:
            pools.append({"name": name, "capacity": round(draw.uniform(0.3, processors), 2)})
    users = []
    for number in range(draw.randint(2, 12)):
        user: dict[str, Any] = {"name": f"U{number}"}
        user["virtual_cpus"] = processors if wide else draw.choice([1, 1, 2, 3, 4, 8])
        if draw.random() < 0.8:
            user["relative"] = draw.choice([50, 100, 100, 100, 200, 400, 1000])
        else:
            user["absolute"] = draw.choice([2, 5, 10, 20])
        if wide and draw.random() < 0.25:
            user["limit"] = draw.choice(["hard", "soft"])
            least = user.get("absolute", 5)
            user["maximum_absolute"] = least * draw.choice([1, 1.5, 2, 4])
        if pools and draw.random() < 0.4:
            user["pool"] = draw.choice(pools)["name"]
        users.append(user)
    return {
        "model": "shares",
        "processors": {"CP": processors},
        "user": users,
        "pool": pools,
        "cp": FREE_CP,
        **moving(seed, SECONDS),
    }


def partitions(seed: int, *, wide: bool) -> dict[str, Any]:
    """Return partitions with random weights on up to 16 cores; wide: with own and group caps."""
    draw = random.Random(seed)
    cores = draw.randint(2, 16)
    group = wide and draw.random() < 0.3
    entries = []
    for number in range(draw.randint(2, 8)):
        entry: dict[str, Any] = {
            "name": f"P{number}",
            "cores": cores if wide else draw.randint(1, cores),
            "weight": draw.choice([10, 50, 100, 100, 200, 400, 900]),
            "polarization": draw.choice(["vertical", "horizontal"]),
        }
        if wide and draw.random() < 0.2:
            entry["capped"] = True
        elif wide and draw.random() < 0.2:
            entry["absolute_cap"] = round(draw.uniform(0.2, cores), 2)
        if group and draw.random() < 0.4:
            entry["group"] = "G"
        entries.append(entry)
    return {
        "model": "partitions",
        "processors": {"CP": cores},
        "partition": entries,
        "group": [{"name": "G", "absolute_cap": round(draw.uniform(0.5, cores * 0.6), 2)}] if group else [],
        "cp": FREE_CP | {"parking": False},
        **moving(seed, 3 * SECONDS, dispatch_overhead=0, dispatch_management=0),
    }


def solved(scenario: dict[str, Any]) -> dict[str, float]:
    answer = models.solve(scenario["model"], scenario)
    table = answer.tables[0]
    at = [column.key for column in table.columns].index("allocation")
    return {row[0]: row[at] for row in table.rows}


def simulated(scenario: dict[str, Any]) -> dict[str, Any]:
    ready = run.prepare(scenario)
    text = _native.simulate(json.dumps(ready.lowered.scenario), {}, None)
    return dict(json.loads(text))


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_simulated_users_get_solved_shares(seed: int, wide: bool) -> None:
    scenario = shares(seed, wide=wide)
    users = simulated(scenario)["systems"]["ZVM"]["users"]
    got = {name: 100 * user["cpu_s"] / SECONDS for name, user in users.items()}
    # A limit saves up to 100 ms of credit during the warm-up.
    assert got == pytest.approx(solved(scenario), rel=0.01, abs=0.1)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_simulated_partitions_get_solved_weights(seed: int, wide: bool) -> None:
    scenario = partitions(seed, wide=wide)
    got = {name: used["CP"] for name, used in simulated(scenario)["partitions"].items()}
    assert got == pytest.approx(solved(scenario), rel=0.01, abs=0.001)
