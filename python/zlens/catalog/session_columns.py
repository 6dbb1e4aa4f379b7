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

_INTERVAL = (
    RawColumn("system", "text"),
    RawColumn("source", "text"),
    RawColumn("interval_end", "time"),
    RawColumn("interval_start", "time"),
    RawColumn("seconds", "float"),
    RawColumn("flag", "text"),
    RawColumn("samples", "int"),
    RawColumn("bucket_end", "time"),
    RawColumn("bucket_flag", "text"),
    RawColumn("longest", "float"),
    # Time at which recording resumed after a gap.
    RawColumn("gap_end", "time"),
)

#: Order in which the sources of a system are shown, from zero.
_SOURCES = (RawColumn("system", "text"), RawColumn("source", "text"), RawColumn("place", "int"))

#: Window that the user selects.
_REQUESTED = (
    RawColumn("system", "text"),
    RawColumn("source", "text"),
    RawColumn("first", "time"),
    RawColumn("last", "time"),
)

#: Machines that systems moved to while they were recorded.
_MACHINES = (
    RawColumn("system", "text"),
    RawColumn("source", "text"),
    RawColumn("since", "time"),
    RawColumn("machine", "text"),
)

_RESET = (
    RawColumn("system", "text"),
    RawColumn("source", "text"),
    RawColumn("time", "time"),
    RawColumn("kind", "text"),
    RawColumn("subject", "text"),
    RawColumn("detail", "text"),
    RawColumn("inferred", "bool"),
    RawColumn("record", "text"),
)


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
