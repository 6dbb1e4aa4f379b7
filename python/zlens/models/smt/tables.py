"""Columns of tables of runs with and without multithreading, and published results."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from msgspec import Meta, field

from zlens.rendering.answer import AnswerColumn, AnswerTable
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, SourcedTable

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


class PublishedRange(SourcedTable, frozen=True):
    """Results with multithreading relative to those without it."""

    what: Annotated[str, Meta(description="what was measured")]
    machine: Annotated[str, Meta(description="the machine generation")]
    low: Annotated[float, Meta(gt=0, description="the smallest ratio")]
    high: Annotated[float, Meta(gt=0, description="the largest ratio")]
    publication: Annotated[str, Meta(description="the publication, in short")]
    mean: Annotated[float | None, Meta(description="the mean ratio, if stated")] = None


class SecondThread(SourcedTable, frozen=True):
    """Cores that can have two threads."""

    under: Annotated[str, Meta(description="z/VM or z/OS")]
    types: Annotated[tuple[str, ...], Meta(description="types of cores")]


class ThreadFile(FactTable, frozen=True):
    """What is published of multithreading."""

    ranges: tuple[PublishedRange, ...] = field(name="range")
    second_thread: tuple[SecondThread, ...]


@cache
def _facts() -> ThreadFile:
    return structs.load(FACTS / "models" / "smt_published.toml", ThreadFile)


def ranges() -> tuple[PublishedRange, ...]:
    """Return the ranges that IBM has published for multithreading relative to no multithreading."""
    return _facts().ranges


def second_thread(under: str) -> SecondThread:
    """Return the cores that can have two threads under z/VM or z/OS."""
    return next(entry for entry in _facts().second_thread if entry.under == under)


def published() -> AnswerTable:
    """Return the published ranges as a table."""
    rows = [(row.what, row.machine, row.low, row.high, row.mean, row.publication) for row in ranges()]
    return AnswerTable("published", "", _PUBLISHED, rows)
