"""Columns of the tables that a session computes itself: systems, intervals, inventory, problems."""

from __future__ import annotations

from zlens.catalog import measures
from zlens.catalog.interval_flags import GAP
from zlens.catalog.raw_columns import RawColumn

INVENTORY = (
    RawColumn("system", "text", "", "system"),
    RawColumn("source", "text", "", "where it comes from"),
    RawColumn("file", "text", "", "file"),
    RawColumn("domain", "int", "", "domain of a monitor record"),
    RawColumn("record", "int", "", "number of a monitor record"),
    RawColumn("name", "text", "", "record, or section of a report"),
    RawColumn("title", "text", "", "title of the record"),
    RawColumn("class", "text", "", "sample, event or section"),
    RawColumn("count", "int", "count", "number of records"),
    RawColumn("bytes", "int", "bytes", "number of bytes, headers included"),
    RawColumn("first_time", "time", "", "first timestamp, UTC"),
    RawColumn("last_time", "time", "", "last timestamp, UTC"),
    RawColumn("min_length", "int", "bytes", "shortest"),
    RawColumn("mean_length", "float", "bytes", "their mean"),
    RawColumn("max_length", "int", "bytes", "longest"),
    RawColumn("layout", "text", "", "pack and release of the layout it is decoded with; NULL: unknown"),
    RawColumn("duplicates", "int", "count", "exact duplicates of earlier records; NULL: not checked"),
    RawColumn("out_of_order", "int", "count", "runs of records that are earlier than the preceding record"),
    RawColumn("gaps", "int", "count", f"steps of more than {GAP:g} times interval_s; NULL: no regular pace"),
    RawColumn("interval_s", "float", "s", "usual time until the next ones"),
)


def _of_sources(**types: str) -> tuple[RawColumn, ...]:
    """Return the columns of a table about sources of systems, by name with their types."""
    return tuple(RawColumn(*column) for column in (("system", "text"), ("source", "text"), *types.items()))


#: `gap_end` is the time at which recording resumed after a gap.
_INTERVAL = _of_sources(
    interval_end="time", interval_start="time", seconds="float", flag="text", samples="int",
    bucket_end="time", bucket_flag="text", longest="float", gap_end="time",
)  # fmt: skip
#: Order in which the sources of a system are shown, from zero.
_SOURCES = _of_sources(place="int")
#: Window that the user selects.
_REQUESTED = _of_sources(first="time", last="time")
#: Machines that systems moved to while they were recorded.
_MACHINES = _of_sources(since="time", machine="text")
_RESET = _of_sources(time="time", kind="text", subject="text", detail="text", inferred="bool", record="text")


def always() -> dict[str, tuple[RawColumn, ...]]:
    """Return the columns of the tables that every session has."""
    return {
        "system": measure_columns("system"),
        "interval": measure_columns("interval"),
        "problem": measure_columns("problem"),
        "inventory": INVENTORY,
        # Problems found while reading.
        "_noted": measure_columns("problem"),
        "_interval": _INTERVAL,
        "_requested": _REQUESTED,
        "_machines": _MACHINES,
        "_sources": _SOURCES,
        "_reset": _RESET,
    }


def measure_columns(table: str) -> tuple[RawColumn, ...]:
    """Return the columns of a measure as columns of a table."""
    return tuple(
        RawColumn(column.name, column.type, column.unit, column.text)
        for column in measures.load_measure(table).columns
    )
