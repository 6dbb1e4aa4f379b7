"""Columns of tables of runs with and without multithreading, and published results."""

from __future__ import annotations

from functools import cache
from typing import Any

from zlens.answers.answer import AnswerColumn, AnswerTable
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "smt_published.toml"

RUNS = (
    AnswerColumn("name", "Run"),
    AnswerColumn("cores", "Cores"),
    AnswerColumn("threads", "Threads", text="threads per core"),
    AnswerColumn("etr", "Measured", "1/s", "measured throughput", 3),
    AnswerColumn("bound", "At most", "1/s", "lowest of its bounds", 3),
    AnswerColumn("held_by", "Limited by", text="resource of the lowest bound"),
    AnswerColumn("reached_pct", "Reached", "%", "measured throughput over the bound"),
    AnswerColumn("demands", "Demands", text="source of the demands in the bounds"),
    AnswerColumn("predicted", "Predicted", "1/s", "point value; only with path factors", 3),
    AnswerColumn("error_pct", "Error", "%", "predicted against measured"),
    AnswerColumn("density", "Density", "", "thread density when the bound from work demands is reached", 2),
)
BOUNDS = (
    AnswerColumn("run", "Run"),
    AnswerColumn("held_by", "Bound"),
    AnswerColumn("demand", "Demand", "s", "CPU time per transaction; work, if from another run", 5),
    AnswerColumn("at_once", "At once", "", "processors or virtual CPUs", 0),
    AnswerColumn("most", "At most", "1/s", "throughput", 3),
    AnswerColumn("binds", "Binds"),
)  # fmt: skip
AGAINST = (
    AnswerColumn("run", "Run"),
    AnswerColumn("etr_ratio", "ETRR", "", "external throughput relative to the base run", 3),
    AnswerColumn("itr_ratio", "ITRR", "", "internal throughput, by busy of all logical processors", 3),
    AnswerColumn("time_ratio", "CPU/tran", "", "raw CPU time per transaction relative to the base run", 3),
    AnswerColumn("thread_density", "Density", "", "threads active while a core is busy", 2),
    AnswerColumn("capacity_factor_pct", "CF", "%", "capacity factor"),
    AnswerColumn("max_capacity_factor_pct", "Max CF", "%", "largest capacity factor"),
    AnswerColumn("slowing", "Slowing", "", "part of that from the slowdown of threads: density / CF", 3),
    AnswerColumn("path", "Path", "", "part of that not explained by slowdown", 3),
    AnswerColumn("response", "Response", "s", "transactions in the system / throughput", 4),
)
DEMANDS = (
    AnswerColumn("run", "Run"),
    AnswerColumn("part", "Part"),
    AnswerColumn("virtual_cpus", "VCPUs", "", "virtual CPUs of all its guests"),
    AnswerColumn("busy_pct", "Busy", "% of 1", "of each of its guests"),
    AnswerColumn("demand", "Demand", "s", "raw CPU time per transaction", 5),
    AnswerColumn("ratio", "Ratio", "", "relative to the base run", 3),
    AnswerColumn("path", "Path", "", "part not explained by slower threads", 3),
)
_PUBLISHED = (
    AnswerColumn("what", "Published: with SMT-2 relative to without"),
    AnswerColumn("machine", "Machine"),
    AnswerColumn("low", "From", "ratio", decimals=2),
    AnswerColumn("high", "To", "ratio", decimals=2),
    AnswerColumn("mean", "Mean", "ratio", decimals=2),
    AnswerColumn("publication", "Publication"),
)


@cache
def _facts() -> dict[str, list[dict[str, Any]]]:
    return document.load_unchecked(_FILE)


def ranges() -> list[dict[str, Any]]:
    """Return the ranges that IBM has published for multithreading relative to no multithreading."""
    return _facts()["range"]


def second_thread(under: str) -> tuple[list[str], str]:
    """Return types of cores that can have two threads under z/VM or z/OS, and the source."""
    fact = next(entry for entry in _facts()["second_thread"] if entry["under"] == under)
    return fact["types"], fact["source"]


def published() -> AnswerTable:
    """Return the published ranges as a table."""
    rows = [
        (row["what"], row["machine"], row["low"], row["high"], row.get("mean"), row["publication"])
        for row in ranges()
    ]
    return AnswerTable("published", "", _PUBLISHED, rows)
