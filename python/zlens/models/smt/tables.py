"""Columns of tables of runs with and without multithreading, and published results."""

from __future__ import annotations

from functools import cache
from typing import Any

from zlens.models.answer import Column, Table
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "smt_published.toml"

RUNS = (
    Column("name", "Run"),
    Column("cores", "Cores"),
    Column("threads", "Threads", text="threads per core"),
    Column("etr", "Measured", "1/s", "measured throughput", 3),
    Column("bound", "At most", "1/s", "lowest of its bounds", 3),
    Column("held_by", "Limited by", text="what the lowest bound is for"),
    Column("reached_pct", "Reached", "%", "measured throughput over the bound"),
    Column("demands", "Demands", text="source of the demands in the bounds"),
    Column("predicted", "Predicted", "1/s", "point value; only with path factors", 3),
    Column("error_pct", "Error", "%", "predicted against measured"),
    Column("density", "Density", "", "thread density when the bound from work demands is reached", 2),
)
BOUNDS = (
    Column("run", "Run"),
    Column("held_by", "Bound"),
    Column("demand", "Demand", "s", "CPU time per transaction; work, if from another run", 5),
    Column("at_once", "At once", "", "processors or virtual CPUs", 0),
    Column("most", "At most", "1/s", "throughput", 3),
    Column("binds", "Binds"),
)  # fmt: skip
AGAINST = (
    Column("run", "Run"),
    Column("etr_ratio", "ETRR", "", "external throughput relative to the base run", 3),
    Column("itr_ratio", "ITRR", "", "internal throughput, by busy of all logical processors", 3),
    Column("time_ratio", "CPU/tran", "", "raw CPU time per transaction relative to the base run", 3),
    Column("thread_density", "Density", "", "threads active while a core is busy", 2),
    Column("capacity_factor_pct", "CF", "%", "capacity factor"),
    Column("max_capacity_factor_pct", "Max CF", "%", "largest capacity factor"),
    Column("slowing", "Slowing", "", "part of that from threads slowing each other: density / CF", 3),
    Column("path", "Path", "", "part of that not explained by slowing", 3),
    Column("response", "Response", "s", "transactions in the system / throughput", 4),
)
DEMANDS = (
    Column("run", "Run"),
    Column("part", "Part"),
    Column("virtual_cpus", "VCPUs", "", "virtual processors of all its guests"),
    Column("busy_pct", "Busy", "% of 1", "of each of its guests"),
    Column("demand", "Demand", "s", "raw CPU time per transaction", 5),
    Column("ratio", "Ratio", "", "relative to the base run", 3),
    Column("path", "Path", "", "part not explained by slower threads", 3),
)
_PUBLISHED = (
    Column("what", "Published: with SMT-2 relative to without"),
    Column("machine", "Machine"),
    Column("low", "From", "ratio", decimals=2),
    Column("high", "To", "ratio", decimals=2),
    Column("mean", "Mean", "ratio", decimals=2),
    Column("publication", "Publication"),
)


@cache
def _facts() -> dict[str, list[dict[str, Any]]]:
    return document.facts(_FILE)


def ranges() -> list[dict[str, Any]]:
    """Ranges that IBM has published for multithreading relative to none."""
    return _facts()["range"]


def second_thread(under: str) -> tuple[list[str], str]:
    """Types of cores that can have two threads under z/VM or z/OS, and the source."""
    fact = next(entry for entry in _facts()["second_thread"] if entry["under"] == under)
    return fact["types"], fact["source"]


def published() -> Table:
    """The published ranges as a table."""
    rows = [
        (row["what"], row["machine"], row["low"], row["high"], row.get("mean"), row["publication"])
        for row in ranges()
    ]
    return Table("published", "", _PUBLISHED, rows)
