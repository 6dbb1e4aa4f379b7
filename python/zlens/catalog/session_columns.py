"""Columns of the tables that a session computes itself: systems, intervals, inventory, problems."""

from __future__ import annotations

from zlens.catalog import measures
from zlens.catalog.interval_flags import GAP
from zlens.catalog.raw_columns import Column

INVENTORY = (
    Column("system", "text", "", "system"),
    Column("source", "text", "", "where it comes from"),
    Column("file", "text", "", "file"),
    Column("domain", "int", "", "domain of a monitor record"),
    Column("record", "int", "", "number of a monitor record"),
    Column("name", "text", "", "record, or section of a report"),
    Column("title", "text", "", "what it is"),
    Column("class", "text", "", "sample, event or section"),
    Column("count", "int", "count", "how many"),
    Column("bytes", "int", "bytes", "how many bytes, headers included"),
    Column("first_time", "time", "", "first time stamp, UTC"),
    Column("last_time", "time", "", "last time stamp, UTC"),
    Column("min_length", "int", "bytes", "shortest"),
    Column("mean_length", "float", "bytes", "their mean"),
    Column("max_length", "int", "bytes", "longest"),
    Column("layout", "text", "", "pack and release of the layout it is decoded with; NULL: none is known"),
    Column("duplicates", "int", "count", "how many repeat the bytes of an earlier one; NULL: not checked"),
    Column("out_of_order", "int", "count", "stretches of records that are earlier than the one before them"),
    Column("gaps", "int", "count", f"steps of more than {GAP:g} times interval_s; NULL: no regular pace"),
    Column("interval_s", "float", "s", "usual time until the next ones"),
)

_INTERVAL = (
    Column("system", "text"),
    Column("source", "text"),
    Column("interval_end", "time"),
    Column("interval_start", "time"),
    Column("seconds", "float"),
    Column("flag", "text"),
    Column("samples", "int"),
    Column("bucket_end", "time"),
    Column("bucket_flag", "text"),
    Column("longest", "float"),
    # When recording went on after a time without records.
    Column("gap_end", "time"),
)

#: The order in which the sources of a system are shown, from zero.
_SOURCES = (
    Column("system", "text"),
    Column("source", "text"),
    Column("place", "int"),
)

#: The time that the user selects.
_ASKED = (
    Column("system", "text"),
    Column("source", "text"),
    Column("first", "time"),
    Column("last", "time"),
)

#: Machines that systems moved to while they were recorded.
_MACHINES = (
    Column("system", "text"),
    Column("source", "text"),
    Column("since", "time"),
    Column("machine", "text"),
)

_RESET = (
    Column("system", "text"),
    Column("source", "text"),
    Column("time", "time"),
    Column("kind", "text"),
    Column("subject", "text"),
    Column("detail", "text"),
    Column("inferred", "bool"),
    Column("record", "text"),
)


def always() -> dict[str, tuple[Column, ...]]:
    """The columns of the tables that every session has."""
    return {
        "system": _columns("system"),
        "interval": _columns("interval"),
        "problem": _columns("problem"),
        "inventory": INVENTORY,
        # The problems found by reading alone.
        "_noted": _columns("problem"),
        "_interval": _INTERVAL,
        "_asked": _ASKED,
        "_machines": _MACHINES,
        "_sources": _SOURCES,
        "_reset": _RESET,
    }


def _columns(table: str) -> tuple[Column, ...]:
    return tuple(
        Column(column.name, column.type, column.unit, column.text) for column in measures.table(table).columns
    )
