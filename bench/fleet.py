"""Cost of a fleet: partitions simulated for days, imported by several processes, and queried as one lake.

`--systems 1000 --days 7` is the complete measurement, which takes hours and 45 GB; without arguments it is a
sample, and the last line extrapolates from it. Batches of partitions are simulated and staged by all
processors, then committed and rolled up, and their recordings removed. An interrupted measurement resumes;
the lake stays, and is measured again only after it is removed.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import bench

import zlens
from zlens import lake, stores
from zlens.inputs.options import Options, parse_time_spec
from zlens.studies import fleet

#: Targets in seconds.
BUSIEST_S, DAY_S, VIEW_S = 1.0, 0.3, 2.0
BUSIEST = """
SELECT bucket_end, system, busy_pct FROM load_hour
QUALIFY row_number() OVER (PARTITION BY bucket_end ORDER BY busy_pct DESC) <= 20
ORDER BY bucket_end, busy_pct DESC
"""
FIRST = "2026-01-05T00:00:00Z"
#: Partitions of a machine; machines of a batch.
PARTITIONS, BATCH = 10, 2


def scenario(machine: int, count: int, days: int) -> dict[str, Any]:
    """Return a machine of z/VM systems with four processors and six users each, with a daily load profile."""
    day = [[0, 0.2], [25_200, 0.3], [36_000, 1.0], [57_600, 0.8], [72_000, 0.3]]
    profile = [[at + 86_400 * of, factor] for of in range(days) for at, factor in day]
    names = [f"P{machine:04}{number:02}" for number in range(count)]
    partitions = [
        {
            "name": name,
            "type": "IFL",
            "cores": 4,
            "dedicated": True,
            "zvm": "7.4",
            # Time slices longer than z/VM's usual 5 ms: the same number of records, but fewer events to
            # simulate.
            "cp": {"global_performance_data": name == names[0], "slice": 50},
        }
        for name in names
    ]
    users = [
        {
            "name": f"LINUX{user}",
            "partition": name,
            "type": "IFL",
            "relative": 100,
            "virtual_cpus": 2,
            "demand": 10 + (7 * number + 11 * machine + 5 * user) % 40,
            "load": {"burst": 2000, "profile": profile},
        }
        for number, name in enumerate(names)
        for user in range(6)
    ]
    return {
        "model": "system",
        "processors": {"IFL": 4 * count},
        "machine": {"serial": f"{machine:05}"},
        "partition": partitions,
        "user": users,
        "simulation": {"seconds": 86_400 * days, "start": FIRST, "seed": machine},
    }


def make(folder: Path, machine: int, count: int, days: int) -> dict[str, float]:
    """Simulate and stage a machine's partitions; return bytes of recordings, and CPU seconds of both."""
    work = folder / "recorded" / str(machine)
    for old in (work, area(folder, machine)):
        shutil.rmtree(old, ignore_errors=True)
    work.mkdir(parents=True)
    simulating = took(lambda: zlens.simulate(scenario(machine, count, days), work / "m.monwrite"))[1]
    files = sorted(work.glob("*.monwrite"))
    staging = sum(
        took(lambda file=file: lake.stage([file], area(folder, machine) / file.stem))[1] for file in files
    )
    recorded = sum(file.stat().st_size for file in files)
    shutil.rmtree(work)
    return {"recorded": recorded, "simulate": simulating, "stage": staging}


def area(folder: Path, machine: int) -> Path:
    """Return the folder of a machine's staged data."""
    return folder / "staged" / str(machine)


def publish(folder: Path, machines: Sequence[int]) -> dict[str, float]:
    """Commit and roll up a batch; return CPU seconds of both."""
    # Areas that were committed before an interruption are omitted.
    areas = [one for machine in machines for one in sorted(area(folder, machine).glob("*"))]
    committing = took(lambda: lake.commit(areas, folder / "lake"))[1]
    rolling = took(lambda: stores.rollup(folder / "lake"))[1]
    for machine in machines:
        shutil.rmtree(area(folder, machine))
    return {"commit": committing, "roll": rolling}


def fill(folder: Path, systems: int, days: int) -> list[dict[str, float]]:
    """Fill the lake by batches and return the cost of each; an interrupted run does not repeat batches."""
    log = folder / "batches.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    # The first machine has fewer partitions if their number requires it.
    counts = [PARTITIONS] * (systems // PARTITIONS)
    if systems % PARTITIONS:
        counts.insert(0, systems % PARTITIONS)
    starts = range(sum(int(batch["machines"]) for batch in done), len(counts), BATCH)
    batches = [range(first, min(first + BATCH, len(counts))) for first in starts]
    with ProcessPoolExecutor() as pool:

        def begun(machines: Sequence[int]) -> list[Future[dict[str, float]]]:
            return [pool.submit(make, folder, machine, counts[machine], days) for machine in machines]

        jobs = begun(batches[0]) if batches else []
        for number, machines in enumerate(batches):
            parts = [job.result() for job in jobs]
            # The next batch is simulated while this one is rolled up.
            jobs = begun(batches[number + 1]) if number + 1 < len(batches) else []
            batch = {key: sum(one[key] for one in parts) for key in parts[0]} | publish(folder, machines)
            done.append(batch | {"machines": len(machines)})
            with log.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
            print(f"{machines[-1] + 1} of {len(counts)} machines", flush=True)
    return done


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def took(work: Callable[[], object]) -> tuple[float, float]:
    """Return elapsed and CPU seconds."""
    begin, used = time.perf_counter(), cpu()
    work()
    return time.perf_counter() - begin, cpu() - used


def query_work(path: Path, query: str, options: Options | None = None) -> Callable[[], object]:
    def work() -> object:
        with zlens.open(path, options=options) as session:
            return session.sql(query).rows

    return work


def view(path: Path) -> Callable[[], object]:
    def work() -> object:
        with zlens.open(path) as session:
            return fleet.members(session._core, (None, None))

    return work


def ask(path: Path) -> int:
    """Print the times of queries on a lake; return the number of missed bounds."""
    print("\n| question, opening included | elapsed s | CPU s | to reach |\n|---|--:|--:|--:|")
    # The second day, because the first has only its end.
    day = Options(
        systems=("P000000",), start=parse_time_spec("2026-01-05"), end=parse_time_spec("2026-01-06")
    )
    questions = (
        ("busiest 20 systems by hour", query_work(path, BUSIEST), BUSIEST_S),
        ("one system's day", query_work(path, "SELECT interval_end, busy_pct FROM load", day), DAY_S),
        ("all systems of the fleet view", view(path), VIEW_S),
    )
    missed = 0
    for name, work, bound in questions:
        elapsed, used = min(took(work) for _ in range(3))
        missed += elapsed > bound
        late = " MISSED" if elapsed > bound else ""
        print(f"| {name} | {elapsed:.2f} | {used:.2f} | {bound:g} s{late} |")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=4, help="partitions (4)")
    parser.add_argument("--days", type=int, default=1, help="days of each (1)")
    given = parser.parse_args()
    days = given.days
    folder = bench.DATA / f"fleet-{given.systems}-{days}"
    folder.mkdir(parents=True, exist_ok=True)
    print(bench.machine())
    batches = fill(folder, given.systems, days)
    path = folder / "lake"
    lpar_days = given.systems * days
    total = {key: sum(batch[key] for batch in batches) for key in batches[0]}
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    recorded = total["recorded"]
    print(f"{given.systems} partitions x {days} days at one minute: {recorded / 1e6:.1f} MB recorded")
    print("| of an LPAR-day | CPU s | MB |\n|---|--:|--:|")
    print(f"| simulate | {total['simulate'] / lpar_days:.2f} | |")
    print(f"| record, stage | {total['stage'] / lpar_days:.2f} | {recorded / 1e6 / lpar_days:.2f} |")
    print(f"| commit | {total['commit'] / lpar_days:.2f} | |")
    print(f"| roll up, lake | {total['roll'] / lpar_days:.2f} | {size / 1e6 / lpar_days:.2f} |")
    missed = ask(path)
    year = 1000 * 365 / lpar_days
    imported = (total["stage"] + total["commit"] + total["roll"]) * year / 86_400
    print(
        f"\na year of 1,000 partitions like these: {recorded * year / 1e12:.1f} TB recorded, "
        f"{size * year / 1e12:.2f} TB in the lake, {imported:.1f} days of one processor"
    )
    return missed and 1


if __name__ == "__main__":
    raise SystemExit(main())
