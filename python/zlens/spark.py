"""Measures as a data source of Apache Spark and of Sail (needs `pip install '.[spark]'`).

    from zlens.spark import ZlensDataSource

    spark.dataSource.register(ZlensDataSource)
    spark.read.format("zlens").option("table", "load").load("/data/lake").show()

A partition contains the systems of a machine, because their measures depend on each other. Executors compute
its rows with DuckDB, so no statement is translated; they need zlens, and the input under the same path.
PYSPARK_PYTHON names their Python.

Options in addition to the path: `table`; `columns`, separated by commas (all); `system`, names separated by
commas; `from` and `to`, as on the command line; `tz`. An explicit schema narrows the columns, too. Conditions
on `system` and `interval_end` are applied to the input if Spark pushes filters down
(spark.sql.python.filterPushdown.enabled).
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

import zlens
from zlens.api import Session
from zlens.catalog.expressions import literal, quote
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_time_spec, parse_zone

_TYPES = {"text": "string", "int": "bigint", "float": "double", "bool": "boolean", "time": "timestamp"}
_ARROW = {
    "text": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", "UTC"),
}
_KINDS = {spark: kind for kind, spark in _TYPES.items()}
_OPTIONS = ("path", "table", "columns", "system", "from", "to", "tz")
#: SQL operators by the class names of Spark's filters.
_COMPARED = {
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}


@dataclass(frozen=True)
class ReadOptions:
    """Options of a read, as plain values, because they are pickled for other processes."""

    path: str
    table: str
    columns: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None
    tz: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ReadOptions:
        """Parse the options of a reader; raises QueryError if one is missing or unknown."""
        values = {name.lower(): value for name, value in options.items()}
        if unknown := sorted(values.keys() - {*_OPTIONS}):
            raise QueryError(f"there is no option {unknown[0]}", expected=f"one of {', '.join(_OPTIONS)}")
        for name in ("path", "table"):
            if not values.get(name):
                raise QueryError(f"the option {name} is missing", cure=_CURE[name])
        return cls(
            values["path"],
            values["table"],
            _listed(values.get("columns", "")),
            _listed(values.get("system", "")),
            values.get("from"),
            values.get("to"),
            values.get("tz"),
        )

    def open(self, systems: Iterable[str] = ()) -> Session:
        """Open the input, limited to `systems` if any are named."""
        start, end = (None if text is None else parse_time_spec(text) for text in (self.start, self.end))
        zone = None if self.tz is None else parse_zone(self.tz)
        options = Options(systems=tuple(systems) or self.system, start=start, end=end, tz=zone)
        return zlens.open(self.path, options=options)

    def select(self, columns: Iterable[str], condition: str = "") -> str:
        column_list = ", ".join(quote(name) for name in columns) or "*"
        return f"SELECT {column_list} FROM {quote(self.table)}{condition and f' WHERE {condition}'}"


_CURE = {"path": "name the input: .load(PATH)", "table": 'name it: .option("table", "load")'}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass
class MachineInputPartition(InputPartition):  # type: ignore[misc]
    """The systems of a machine; empty for a table that is not partitioned by system."""

    names: tuple[str, ...] = ()


class ZlensDataSource(DataSource):  # type: ignore[misc]
    """The format `zlens` of Spark and Sail."""

    @classmethod
    def name(cls) -> str:
        return "zlens"

    def schema(self) -> str:
        options = ReadOptions.from_options(self.options)
        with options.open() as session:
            result = session.sql(options.select(options.columns))
            pairs = zip(result.columns, result.types, strict=True)
            return ", ".join(f"`{name}` {_TYPES[kind]}" for name, kind in pairs)

    def reader(self, schema: Any) -> DataSourceReader:
        options = ReadOptions.from_options(self.options)
        reader_type = _FilteringReader if _pushes_filters(sys._getframe().f_back) else _Reader
        return reader_type(options, _arrow(schema))


def _pushes_filters(caller: FrameType | None) -> bool:
    """Return whether the caller is the program of Spark that pushes filters down.

    Spark rejects a reader that accepts filters if pushdown is off, and does not say which of its programs
    creates the reader.
    """
    name = "" if caller is None else os.path.basename(caller.f_code.co_filename)
    return name.startswith("data_source_pushdown_filters")


def _arrow(schema: Any) -> pa.Schema:
    """Return the Arrow schema of the rows: Spark passes its own kind of schema, Sail one of Arrow."""
    if isinstance(schema, pa.Schema):
        return schema
    fields = []
    for column in schema.fields:
        kind = _KINDS.get(column.dataType.simpleString())
        if kind is None:
            raise QueryError(
                f"the column {column.name} cannot be {column.dataType.simpleString()}",
                expected=f"one of {', '.join(_KINDS)}",
            )
        fields.append((column.name, _ARROW[kind]))
    return pa.schema(fields)


@dataclass
class _Reader(DataSourceReader):  # type: ignore[misc]
    question: ReadOptions
    schema: pa.Schema
    conditions: list[str] = field(default_factory=list)

    def partitions(self) -> list[InputPartition]:
        with self.question.open() as session:
            has_system = "system" in session.sql(self.question.select(())).columns
            # Problems of a file have no system.
            if not has_system or self.question.table == "problem":
                return [MachineInputPartition()]
            machines: dict[str, dict[str, None]] = {}
            machine_by_system: dict[str, str] = {}
            for info in session.systems:
                if info.machine:
                    machine_by_system.setdefault(info.system, info.machine)
            for info in session.systems:
                machines.setdefault(machine_by_system.get(info.system, f"\n{info.system}"), {})[
                    info.system
                ] = None
        return [MachineInputPartition(tuple(names)) for names in machines.values()] or [
            MachineInputPartition()
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with self.question.open(partition.names) as session:
            if (self.question.table,) not in {row[:1] for row in session.sql("SHOW TABLES").rows}:
                # A raw table that only other systems have.
                return
            # Layouts differ by release: columns that these systems do not have are NULL.
            available = {*session.sql(self.question.select(())).columns} & {*self.schema.names}
            condition = " AND ".join(self.conditions)
            result = session.sql(self.question.select(sorted(available) or ["system"], condition))
            for batch in pa.RecordBatchReader.from_stream(result):
                columns = [
                    batch.column(column.name)
                    if column.name in available
                    else pa.nulls(len(batch), column.type)
                    for column in self.schema
                ]
                yield from pa.table(columns, names=self.schema.names).cast(self.schema).to_batches()


@dataclass
class _FilteringReader(_Reader):
    """A reader that applies conditions on system and time; Spark applies all others."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802
        for spark_filter in filters:
            condition = _condition(spark_filter)
            if condition is None:
                yield spark_filter
            else:
                self.conditions.append(condition)


def _condition(spark_filter: Any) -> str | None:
    """Return the SQL of a filter on system or interval end; None for any other filter."""
    operator = _COMPARED.get(type(spark_filter).__name__)
    name, *nested = getattr(spark_filter, "attribute", ("",))
    if operator is None or nested:
        return None
    value = spark_filter.value
    if name == "system" and operator == "=" and isinstance(value, str):
        return f"system = {literal(value)}"
    if name == "interval_end" and isinstance(value, dt.datetime) and value.tzinfo is not None:
        return f"interval_end {operator} TIMESTAMPTZ {literal(value.isoformat())}"
    return None
