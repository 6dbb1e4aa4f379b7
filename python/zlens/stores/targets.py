"""Formats that other programs read: Parquet files, tables of Delta Lake.

A target has a table for each measure. `replace` puts the rows of some systems and days in the place of those
that are there, in one transaction; the same call again changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from zlens.catalog.columns import Column
from zlens.catalog.expressions import literal, quote
from zlens.errors import QueryError
from zlens.lake import folder, names
from zlens.lake.parquet_engine import ParquetEngine, parquet

#: Types of columns in Delta Lake, by those of the catalog.
_DELTA = {"text": "string", "int": "long", "float": "double", "bool": "boolean", "time": "timestamp"}


class Target(Protocol):
    """Where measures are written to."""

    def has(self, table: str) -> bool:
        """Whether there is anything of a measure."""
        ...

    def replace(
        self, table: str, columns: Sequence[Column], path: str, systems: Sequence[str], days: Sequence[str]
    ) -> int:
        """Replace the rows of these systems and days by those of a Parquet file; how many there are now."""
        ...


def comment(column: Column) -> str:
    """What a column holds, with its unit."""
    return f"{column.text} ({column.unit})" if column.unit else column.text


class ParquetFiles:
    """A file for each measure, system and day: TABLE/SYSTEM/DAY.parquet, replaced as a whole.

    Parquet has no comments of columns: units and texts are among the key-value metadata of each file.
    """

    def __init__(self, base: Path, engine: ParquetEngine) -> None:
        self.base = base
        self.engine = engine

    def has(self, table: str) -> bool:
        return (self.base / table).is_dir()

    def replace(
        self, table: str, columns: Sequence[Column], path: str, systems: Sequence[str], days: Sequence[str]
    ) -> int:
        total = 0
        facts = ", ".join(f"{quote(one.name)}: {literal(comment(one))}" for one in columns)
        for system in systems:
            for day in days:
                target = self.base / table / names.escape(system) / f"{day}.parquet"
                chosen = f"FROM {parquet([path])} WHERE system = {literal(system)} AND day = {literal(day)}"
                ((count,),) = self.engine.rows(f"SELECT count(*) {chosen}")
                total += count
                if not count:
                    target.unlink(missing_ok=True)
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                staged = target.with_name(f".{target.name}.new")
                self.engine.rows(
                    f"COPY (SELECT * {chosen}) TO {literal(os.fspath(staged))} "
                    f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{facts}}})"
                )
                folder.sync([os.fspath(staged)])
                os.replace(staged, target)
        return total


class DeltaTables:
    """A table of Delta Lake for each measure, partitioned by system and day."""

    def __init__(self, base: Path, engine: ParquetEngine) -> None:
        self.base = base
        self.engine = engine
        self.delta = _extra("deltalake", "delta")

    def has(self, table: str) -> bool:
        return bool(self.delta.DeltaTable.is_deltatable(os.fspath(self.base / table)))

    def replace(
        self, table: str, columns: Sequence[Column], path: str, systems: Sequence[str], days: Sequence[str]
    ) -> int:
        place = os.fspath(self.base / table)
        ((count,),) = self.engine.rows(f"SELECT count(*) FROM {parquet([path])}")
        if not self.has(table):
            fields = [
                self.delta.Field(
                    one.name, _DELTA[one.type], nullable=True, metadata={"comment": comment(one)}
                )
                for one in columns
            ]
            self.delta.DeltaTable.create(
                place, self.delta.Schema(fields), mode="ignore", name=table, partition_by=["system", "day"]
            )
        listed = [", ".join(map(literal, values)) for values in (systems, days)]
        self.delta.write_deltalake(
            place,
            self.engine.stream(f"SELECT * FROM {parquet([path])}"),
            mode="overwrite",
            schema_mode="merge",
            predicate=f"system IN ({listed[0]}) AND day IN ({listed[1]})",
        )
        return int(count)


def _extra(module: str, extra: str) -> Any:
    """A package of an extra; QueryError if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise QueryError(
            f"the package {module} is not installed", cure=f"install it: pip install 'zlens[{extra}]'"
        ) from None


#: Targets by the name of their format.
TARGETS: dict[str, Callable[[Path, ParquetEngine], Target]] = {"parquet": ParquetFiles, "delta": DeltaTables}
