"""What a fleet costs: partitions simulated for days, imported by several processes, and asked together.

`--systems 1000 --days 7` is the whole measure and takes hours; without arguments it is a sample, from which
the last line extrapolates. The data are made once and kept beside those of other measurements.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import bench

import zlens
from zlens import lake, stores
from zlens.inputs.options import Options
from zlens.studies import fleet

#: What is to be reached, in seconds.
BUSIEST_S, DAY_S, VIEW_S = 1.0, 0.3, 2.0
BUSIEST = """
SELECT bucket_end, system, busy_pct FROM load_hour
QUALIFY row_number() OVER (PARTITION BY bucket_end ORDER BY busy_pct DESC) <= 20
ORDER BY bucket_end, busy_pct DESC
"""
FIRST = "2026-01-05T00:00:00Z"


def scenario(number: int, days: int) -> dict[str, Any]:
    """A small z/VM system with six users whose load follows the day."""
    day = [[0, 0.2], [25_200, 0.3], [36_000, 1.0], [57_600, 0.8], [72_000, 0.3], [86_400, 0.2]]
    profile = [[at + 86_400 * of, factor] for of in range(days) for at, factor in day]
    users = [
        {
            "name": f"LINUX{user}",
            "type": "IFL",
            "relative": 100,
            "virtual_cpus": 2,
            "demand": 10 + (7 * number + 5 * user) % 40,
            "load": {"burst": 2000, "profile": profile},
        }
        for user in range(6)
    ]
    return {
        "model": "system",
        "processors": {"IFL": 4},
        "partition": [{"name": f"P{number:06}", "type": "IFL", "cores": 4, "dedicated": True, "zvm": "7.4"}],
        "user": users,
        "simulation": {"seconds": 86_400 * days, "start": FIRST, "seed": number},
    }


def make(folder: Path, number: int, days: int) -> tuple[int, float]:
    """Simulate a partition; bytes of its file, and CPU seconds."""
    begin = time.process_time()
    path = folder / f"P{number:06}.monwrite"
    if not path.exists():
        zlens.simulate(scenario(number, days), folder / f"{path.name}.part")
        os.replace(folder / f"{path.name}.part", path)
    return path.stat().st_size, time.process_time() - begin


def stage(folder: Path, number: int, area: Path) -> float:
    begin = time.process_time()
    lake.stage([folder / f"P{number:06}.monwrite"], area / str(number))
    return time.process_time() - begin


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def took(work: Callable[[], object]) -> tuple[float, float]:
    """Elapsed and CPU seconds."""
    begin, used = time.perf_counter(), cpu()
    work()
    return time.perf_counter() - begin, cpu() - used


def asked(made: Path, query: str, system: str | None = None) -> Callable[[], object]:
    def work() -> object:
        with zlens.open(made, options=Options(systems=(system,) if system else ())) as session:
            return session.sql(query).rows

    return work


def view(made: Path) -> Callable[[], object]:
    def work() -> object:
        with zlens.open(made) as session:
            return fleet.members(session, (None, None))

    return work


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=4, help="partitions (4)")
    parser.add_argument("--days", type=int, default=1, help="days of each (1)")
    given = parser.parse_args()
    numbers, days = range(1, given.systems + 1), given.days
    folder = bench.DATA / f"fleet-{given.days}"
    folder.mkdir(parents=True, exist_ok=True)
    print(bench.machine())
    lpar_days = given.systems * days
    with ProcessPoolExecutor() as pool:
        simulated = [*pool.map(make, [folder] * len(numbers), numbers, [days] * len(numbers))]
        area, made = folder / "staged", folder / "lake"
        for old in (area, made):
            shutil.rmtree(old, ignore_errors=True)
        area.mkdir()
        staged = sum(pool.map(stage, [folder] * len(numbers), numbers, [area] * len(numbers)))
    committed = took(lambda: lake.commit([area / str(number) for number in numbers], made))
    rolled = took(lambda: stores.rollup(made))
    size = sum(file.stat().st_size for file in made.rglob("*") if file.is_file())
    recorded = sum(length for length, _ in simulated)
    print(f"{given.systems} partitions x {days} days at one minute: {recorded / 1e6:.1f} MB recorded")
    print("| of an LPAR-day | CPU s | MB |\n|---|--:|--:|")
    if any(used for _, used in simulated):
        print(f"| simulate | {sum(used for _, used in simulated) / lpar_days:.2f} | |")
    print(f"| record, stage | {staged / lpar_days:.2f} | {recorded / 1e6 / lpar_days:.2f} |")
    print(f"| commit | {committed[1] / lpar_days:.2f} | |")
    print(f"| roll up, lake | {rolled[1] / lpar_days:.2f} | {size / 1e6 / lpar_days:.2f} |")
    print("\n| question, opening included | elapsed s | CPU s | to reach |\n|---|--:|--:|--:|")
    questions = (
        ("busiest 20 systems by hour", asked(made, BUSIEST), BUSIEST_S),
        ("one system's day", asked(made, "SELECT interval_end, busy_pct FROM load", "P000001"), DAY_S),
        ("all systems of the fleet view", view(made), VIEW_S),
    )
    missed = 0
    for name, work, bound in questions:
        elapsed, used = min(took(work) for _ in range(3))
        missed += elapsed > bound
        late = " MISSED" if elapsed > bound else ""
        print(f"| {name} | {elapsed:.2f} | {used:.2f} | {bound:g} s{late} |")
    year = 1000 * 365 / lpar_days
    print(
        f"\na year of 1,000 partitions like these: {recorded * year / 1e12:.1f} TB recorded, "
        f"{size * year / 1e12:.2f} TB in the lake, {(staged + committed[1] + rolled[1]) * year / 86_400:.1f} "
        "days of one processor"
    )
    return missed and 1


if __name__ == "__main__":
    raise SystemExit(main())
