"""Rows of the raw table of SMF 113 written in a test, and sessions over them."""

from __future__ import annotations

from typing import Any

from fakes import HEADER, MINUTE_US, START_US, FakeSource, FakeTable, intervals, session, system
from zlens.api import Session
from zlens.catalog import cpumf, generations
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.options import Options

NUMBERS = [number for each in cpumf.sets().values() for number in each.numbers]

#: Columns from the SMF 113 reader: header, identity, and the difference of each counter number.
COLUMNS = (
    *HEADER,
    RawColumn("cpu_id", "int"),
    RawColumn("core_id", "int"),
    RawColumn("cpu_type", "text"),
    RawColumn("machine_type", "text"),
    RawColumn("serial", "text"),
    RawColumn("version1", "int"),
    RawColumn("version2", "int"),
    RawColumn("cpsp", "int"),
    RawColumn("lost", "bool"),
    *(RawColumn(f"{name}_counters", "int") for name in cpumf.sets()),
    *(RawColumn(f"c{number}_d", "int") for number in NUMBERS),
)

#: One machine type of each generation.
TYPE = {machine.generation: type for type, machine in reversed(generations.types().items())}


def row(
    counters: dict[str, float],
    *,
    generation: str = "",
    minute: int = 0,
    system: str = "SYSA",
    seconds: float | None = 60.0,
    flag: str | None = None,
    **facts: Any,
) -> tuple[Any, ...]:
    """Build one sample. Counters are named as in formulas (B0, E145)."""
    end = START_US + minute * MINUTE_US
    values: dict[str, Any] = {"cpu_id": 0, "cpu_type": "CP"}
    if generation:
        known = cpumf.generation(generation)
        sized = cpumf.sizes(known.cfvn, known.csvn)
        values |= {"machine_type": TYPE[generation], "version1": known.cfvn, "version2": known.csvn}
        values |= {f"{name}_counters": size for name, size in sized.items()}
    values |= facts
    values |= {f"c{cpumf.number_of(name)}_d": round(value) for name, value in counters.items()}
    unknown = set(values) - {column.name for column in COLUMNS}
    assert not unknown, unknown
    head = (system, "smf", "made.smf", 0, end, end, seconds, flag)
    return (*head, *(values.get(column.name) for column in COLUMNS[len(HEADER) :]))


def opened(
    rows: list[tuple[Any, ...]], options: Options | None = None, others: list[FakeSource] | None = None
) -> Session:
    """Return a session over samples of one or several systems, a minute apart, and over other sources."""
    systems = []
    for name in sorted({each[0] for each in rows}):
        minutes = {(each[4] - START_US) // MINUTE_US for each in rows}
        info = system(name, known=intervals(max(minutes) + 1))
        info.source = "smf"
        systems.append(info)
    return session([FakeSource(systems, [FakeTable("smf113", COLUMNS, rows)]), *(others or [])], options)


def values(session: Session, columns: str, table: str = "cpumf") -> list[dict[str, Any]]:
    """Return rows of a measure as dictionaries, in order of system, time and key."""
    answer = session.sql(f"SELECT {columns} FROM {table}")
    return [dict(zip(answer.columns, each, strict=True)) for each in answer.rows]
