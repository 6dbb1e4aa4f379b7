"""Fake source with rows written in a test, as the engine sees a reader."""

from __future__ import annotations

from typing import Any

from zlens import _native
from zlens.api import Session
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.options import Options
from zlens.inputs.source import Interval, InventoryRow, SystemInfo
from zlens.session.session import CoreSession

HEADER = (
    RawColumn("system", "text"),
    RawColumn("source", "text"),
    RawColumn("file", "text"),
    RawColumn("offset", "int"),
    RawColumn("tod", "time"),
    RawColumn("interval_end", "time"),
    RawColumn("seconds", "float"),
    RawColumn("flag", "text"),
)


class FakeTable:
    """A raw table that records the requested columns."""

    def __init__(self, name: str, columns: tuple[RawColumn, ...], rows: list[tuple[Any, ...]]) -> None:
        self.name = name
        self.columns = columns
        self.rows = rows
        self.requested: list[list[str]] = []

    def stream(self, columns: list[str]) -> _native.ArrowTable:
        self.requested.append(columns)
        place = {column.name: index for index, column in enumerate(self.columns)}
        return _native.ArrowTable(
            [(name, self.columns[place[name]].type) for name in columns],
            [tuple(row[place[name]] for name in columns) for row in self.rows],
        )


class FakeSource:
    name = "zvm-monitor"

    def __init__(self, systems: list[SystemInfo], tables: list[FakeTable]) -> None:
        self.systems = systems
        self.tables: dict[str, list[FakeTable]] = {}
        for table in tables:
            self.tables.setdefault(table.name, []).append(table)

    def problems(self, *, complete: bool = False) -> list[Any]:
        return []

    def resets(self) -> list[Any]:
        return []

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        return []

    def info(self) -> list[dict[str, Any]]:
        return []


def session(sources: list[FakeSource], options: Options | None = None) -> Session:
    """Return a session over sources without files."""
    return Session(CoreSession.from_sources([*sources], options or Options()))


def system(name: str = "SYSA", **facts: Any) -> SystemInfo:
    return SystemInfo(
        name,
        "zvm-monitor",
        **{
            "machine_type": "2964",
            "serial": "0000000000012F17",
            "release": "5.3",
            "nominal_s": 60.0,
            **facts,
        },
    )


MINUTE_US = 60_000_000
#: 2023-11-14 22:14:00 UTC, a Tuesday
START_US = 1_700_000_040_000_000
TOD_PER_S = 4096e6


def intervals(count: int, start_us: int = START_US) -> list[Interval]:
    """Return consecutive intervals of a minute."""
    return [Interval(start_us + k * MINUTE_US, 60.0, None, 10) for k in range(count)]


def processors(
    name: str, shares: list[list[float | None]], *, flags: dict[int, str] | None = None
) -> FakeTable:
    """Build D0R2 of one system; shares[k][cpu] is the share of minute k in which the processor ran for users.

    None is a sample after a counter reset: its differences and seconds are NULL.
    """
    fields = ("pfxcpuad", "pfxcputy", "pfxutime", "pfxutime_d", "pfxprbtm_d", "pfxtmsys_d", "pfxtotwt_d")
    columns = (*HEADER, *(RawColumn(f"sytprp_{field}", "int") for field in fields))
    rows: list[tuple[Any, ...]] = []
    for k, minute in enumerate(shares):
        for cpu, share in enumerate(minute):
            end = START_US + k * MINUTE_US
            flag = (flags or {}).get(k)
            head = (name, "zvm-monitor", "x", 0, end, end, None if share is None else 60.0, flag)
            if share is None:
                rows.append((*head, cpu, 3, 1, None, None, None, None))
                continue
            used = round(share * 60 * TOD_PER_S)
            idle = round((0.9 - share) * 60 * TOD_PER_S)
            rows.append((*head, cpu, 3, 1, used, round(0.8 * used), round(0.05 * 60 * TOD_PER_S), idle))
    return FakeTable("d0r2", columns, rows)
