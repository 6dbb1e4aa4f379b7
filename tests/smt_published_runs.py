"""IBM's published runs of the serialization workload, as scenarios.

Publication: IBM, "z/VM and simultaneous multithreading", 2015 and 2020: single processor serialization
application, without SMT, with SMT-2, with two virtual processors for each client, with twice the clients. It
sets the throughput of the run without SMT to 1 a second.
"""

from __future__ import annotations

from typing import Any


def run(name: str, guests: int, vcpus: int, client: float, **says: Any) -> dict[str, Any]:
    """Build a run; client: busy of each client, percent of one logical processor."""
    parts = [
        {"name": "clients", "guests": guests, "virtual_cpus": vcpus, "busy": client},
        {"name": "servers", "guests": 12},
    ]
    return {"name": name, "cores": 3, "threads": 2, **says, "part": parts}


BASE = run("SMT-0", 3, 1, 70.5, threads=1, etr=1.0, processor_busy=95.8)
SERIAL = run(
    "SMT-2",
    3,
    1,
    95.4,
    etr=0.649,
    processor_busy=61.1,
    core_busy=95.5,
    thread_density=1.28,
    capacity_factor=104,
    max_capacity_factor=115,
)
VCPUS = run(
    "2 vCPUs",
    3,
    2,
    143.8,
    etr=1.065,
    processor_busy=92.6,
    core_busy=95.1,
    thread_density=1.95,
    capacity_factor=149,
    max_capacity_factor=151,
)
#: The publication has no capacity factors for this run.
CLIENTS = run("6 clients", 6, 1, 73.7, etr=1.303, processor_busy=95.6, core_busy=95.7, thread_density=1.99)

RUNS = [BASE, SERIAL, VCPUS, CLIENTS]


def unmeasured(one: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the configuration of a run without its measurements."""
    kept = {key: one[key] for key in ("name", "cores", "threads", "max_capacity_factor") if key in one}
    parts = [{key: value for key, value in part.items() if key != "busy"} for part in one["part"]]
    return {**kept, "part": parts, **more}


def calibrated(one: dict[str, Any], by: str, **more: Any) -> dict[str, Any]:
    """Return the same run with path factors of another, or its own."""
    return {**one, "calibrated_by": by, **more}


def with_paths(one: dict[str, Any], path: float, **more: Any) -> dict[str, Any]:
    """Return the same run with one path factor for all parts."""
    return {**one, **more, "part": [{**part, "path": path} for part in one["part"]]}
