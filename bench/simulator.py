"""Speed of the simulator: compared with a loop that only pops and pushes the event queue, and per hour.

The first line compares a simulation of 8 processors and 100 guests with the same number of events of the
queue only, in one run. The others simulate such a machine with all records written, for one hour and for two:
time, and memory, which does not depend on the simulated time.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import bench

ROOT = Path(__file__).parent.parent
GUESTS, PROCESSORS = 100, 8
_ONE = """
import json, resource, sys, time, tomllib
import zlens
begin = time.perf_counter()
[run] = zlens.simulate(json.loads(sys.argv[1]), sys.argv[2])
took = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"s": took, "mib": peak, "events": run.summary["events"]}))
"""


def machine(hours: float) -> dict[str, Any]:
    """Return guests of which a third has unlimited demand, and the others bursts."""
    users = []
    for at in range(GUESTS):
        user: dict[str, Any] = {"name": f"U{at:03}", "relative": 100, "virtual_cpus": 1 + at % 3}
        if at % 3:
            user["demand"] = (4 + at % 7) * user["virtual_cpus"]
        users.append(user | {"load": {"io_rate": 20.0, "volumes": ["VOL001"]}})
    return {
        "model": "system",
        "processors": {"CP": PROCESSORS},
        "simulation": {"seconds": 3600 * hours},
        "partition": [{"name": "ZVM1", "cores": PROCESSORS, "weight": 100, "zvm": "7.4"}],
        "control_unit": [{"name": "CU1", "ssid": 0x5100, "aliases": 16}],
        "volume": [{"name": "VOL001", "device": 0x0200, "control_unit": "CU1"}],
        "user": users,
    }


def against_the_queue(results: bench.Results, runs: int) -> None:
    command = ["cargo", "run", "--release", "--quiet", "-p", "zlens-sim", "--example", "speed"]
    lines = [
        json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
        for _ in range(runs)
    ]
    best = min(lines, key=lambda line: float(line["s"]))
    ratio = min(float(line["ratio"]) for line in lines)
    detail = (
        f"{best['events']:,} events, own queue {best['queue_s']} s, binary heap {best['binary_heap_s']} s"
    )
    results.at_most_ratio("simulation over its event queue", ratio, 4.0, detail)
    results.at_least("million dispatches per second", best["dispatches_per_s"] / 1e6, 5.0, "one core")


def by_the_hour(results: bench.Results) -> None:
    with tempfile.TemporaryDirectory() as folder:
        measured = []
        for hours in (1, 2):
            arguments = [json.dumps(machine(hours)), str(Path(folder) / "machine.data")]
            ran = subprocess.run(
                [sys.executable, "-c", _ONE, *arguments], check=True, capture_output=True, text=True
            )
            measured.append(json.loads(ran.stdout))
    one, two = measured
    events = f"{one['events']:,} events, all records written"
    results.at_most(f"an hour of {PROCESSORS} cores and {GUESTS} guests", one["s"], 20.0, events)
    memory = f"{one['mib']:.0f} MiB for one hour, {two['mib']:.0f} for two"
    results.at_most_ratio("memory of two hours over one", two["mib"] / one["mib"], 1.05, memory)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="not used: scenarios are made")
    parser.add_argument("--runs", type=int, default=5, help="runs of each; the best counts (5)")
    arguments = parser.parse_args()
    print(f"machine: {bench.machine()}, Python {platform.python_version()}")
    results = bench.Results()
    against_the_queue(results, arguments.runs)
    by_the_hour(results)
    return 1 if results.missed else 0


if __name__ == "__main__":
    sys.exit(main())
