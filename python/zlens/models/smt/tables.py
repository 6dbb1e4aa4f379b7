"""Tables of runs with and without multithreading: their columns, and what IBM has published."""

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
    Column("held_by", "Held by", text="what the lowest bound is of"),
    Column("reached_pct", "Reached", "%", "measured throughput of the bound"),
    Column("demands", "Demands", text="where the demands of the bounds are from"),
    Column("predicted", "Predicted", "1/s", "point value; only with path factors", 3),
    Column("error_pct", "Error", "%", "predicted against measured"),
    Column("density", "Density", "", "thread density where the bound of other demands is reached", 2),
)
BOUNDS = (
    Column("run", "Run"),
    Column("held_by", "Bound"),
    Column("demand", "Demand", "s", "CPU time in a transaction; work, where it is another run's", 5),
    Column("at_once", "At once", "", "processors or virtual CPUs", 0),
    Column("most", "At most", "1/s", "throughput", 3),
    Column("binds", "Binds"),
)  # fmt: skip
AGAINST = (
    Column("run", "Run"),
    Column("etr_ratio", "ETRR", "", "external throughput against the base run", 3),
    Column("itr_ratio", "ITRR", "", "internal throughput, by busy of all logical processors", 3),
    Column("time_ratio", "CPU/tran", "", "raw CPU time of a transaction against the base run", 3),
    Column("thread_density", "Density", "", "threads active while a core is busy", 2),
    Column("capacity_factor_pct", "CF", "%", "capacity factor"),
    Column("max_capacity_factor_pct", "Max CF", "%", "largest capacity factor"),
    Column("slowing", "Slowing", "", "of that, by threads beside each other: density / CF", 3),
    Column("path", "Path", "", "of that, what slowing does not explain", 3),
    Column("response", "Response", "s", "transactions in the system / throughput", 4),
)
DEMANDS = (
    Column("run", "Run"),
    Column("part", "Part"),
    Column("virtual_cpus", "VCPUs", "", "virtual processors of all its guests"),
    Column("busy_pct", "Busy", "% of 1", "of each of its guests"),
    Column("demand", "Demand", "s", "raw CPU time of a transaction", 5),
    Column("ratio", "Ratio", "", "against the base run", 3),
    Column("path", "Path", "", "what slower threads do not explain of it", 3),
)
_PUBLISHED = (
    Column("what", "Published: with SMT-2 against without"),
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
    """What IBM has published of multithreading against none."""
    return _facts()["range"]


def second_thread(under: str) -> tuple[list[str], str]:
    """Types of cores that can have two threads under z/VM or z/OS, and who says so."""
    fact = next(one for one in _facts()["second_thread"] if one["under"] == under)
    return fact["types"], fact["source"]


def published() -> Table:
    """The published ranges as a table."""
    rows = [
        (one["what"], one["machine"], one["low"], one["high"], one.get("mean"), one["publication"])
        for one in ranges()
    ]
    return Table("published", "", _PUBLISHED, rows)
