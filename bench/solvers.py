"""Cost of exact answers: ten thousand users of CP's shares, and a thousand scenarios of every model.

The limits are seconds. A ratio makes runs on other machines comparable: it relates them to the time of the
same machine to sort one number per virtual processor (users), or to read the scenario's text as TOML
(scenarios).
"""

from __future__ import annotations

import argparse
import platform
import random
import sys
import tomllib
from typing import Any

import bench

from zlens import models
from zlens.models import sweeps
from zlens.models.scenario import example
from zlens.models.shares import model as shares

USERS, SCENARIOS, POOLS = 10_000, 1_000, 20
#: Number of processors that users exhaust, and number of which some stay idle.
PROCESSORS, PROCESSORS_IDLE = 64, 20_000
ABSOLUTE_AT_MOST = 99.0


def users(seed: int = 1) -> dict[str, Any]:
    """Return users of a large system: most have a low demand, some are limited, some are in pools."""
    chance = random.Random(seed)
    entries = []
    for at in range(USERS):
        user: dict[str, Any] = {
            "name": f"U{at:05}",
            "virtual_cpus": chance.choice((1, 1, 2, 4)),
            "relative": chance.choice((100, 100, 200, 400)),
        }
        kind = chance.random()
        if kind < 0.6:
            user["demand"] = chance.uniform(0, 60)
        elif kind > 0.9:
            user |= {"limit": "hard", "maximum_absolute": chance.uniform(0.1, 5)}
        elif kind > 0.85:
            user |= {"limit": "soft", "maximum_absolute": chance.uniform(0.1, 5)}
        elif kind > 0.8:
            user["pool"] = f"P{at % POOLS}"
        entries.append(user)
    pools = [{"name": f"P{at}", "capacity": 1.5} for at in range(POOLS)]
    return {"processors": {"CP": PROCESSORS}, "user": entries, "pool": pools}


def many_users(results: bench.Results, runs: int) -> None:
    given = users()
    share_users = [
        shares.ShareUser(
            user["name"],
            (user["demand"] / user["virtual_cpus"] if "demand" in user else 100.0,) * user["virtual_cpus"],
            relative=user["relative"],
            limit=user.get("limit", "none"),
            maximum_absolute=user.get("maximum_absolute"),
            pool=user.get("pool"),
        )
        for user in given["user"]
    ]
    pools = {pool["name"]: 100.0 * pool["capacity"] for pool in given["pool"]}
    chance = random.Random(2)
    numbers = [chance.random() for user in share_users for _ in user.demands]
    sorting = bench.best(runs, lambda: sorted(numbers))

    def allocate(processors: int) -> float:
        return bench.best(
            runs, lambda: shares.allocate(processors, share_users, pools, absolute_at_most=ABSOLUTE_AT_MOST)
        )

    solved, idle = allocate(PROCESSORS), allocate(PROCESSORS_IDLE)
    whole = bench.best(runs, lambda: models.solve("shares", given))
    results.at_most(
        f"shares of {USERS:,} users",
        solved,
        0.05,
        f"{solved / sorting:.0f} times as long as sorting {len(numbers):,} numbers",
    )
    print(f"        where some stay idle and soft limits give way {idle:.3f} s, {idle / sorting:.0f} times")
    print(f"        with the check of the scenario and the tables {whole:.3f} s, {whole / sorting:.0f} times")


def many_scenarios(results: bench.Results, runs: int) -> None:
    for name in models.MODELS:
        text = models.find(name).example
        given = tomllib.loads(text)

        def solve_all(name: str = name, given: dict[str, Any] = given) -> None:
            for _ in range(SCENARIOS):
                models.solve(name, given)

        seconds = bench.best(runs, solve_all)
        read = bench.best(10, lambda text=text: tomllib.loads(text))  # type: ignore[misc]
        ratio = f"one takes {seconds / SCENARIOS / read:.1f} times as long as reading its text"
        results.at_most(f"{SCENARIOS:,} scenarios of {name}", seconds, 5.0, ratio)
    given = tomllib.loads(example("shares"))
    sweep = f"user.LINUX1.relative=1:{SCENARIOS}"
    seconds = bench.best(runs, lambda: sweeps.solve("shares", given, sweep))
    results.at_most(f"--sweep over {SCENARIOS:,} values, shares", seconds, 5.0, "with table and chart")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="not used: scenarios are made")
    parser.add_argument("--runs", type=int, default=5, help="runs of each; the best counts (5)")
    arguments = parser.parse_args()
    print(f"machine: {bench.machine()}, Python {platform.python_version()}")
    results = bench.Results()
    many_users(results, max(20, arguments.runs))
    many_scenarios(results, min(3, arguments.runs))
    return 1 if results.missed else 0


if __name__ == "__main__":
    sys.exit(main())
