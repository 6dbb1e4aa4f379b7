"""Measures as a data source of Apache Spark and of Sail (needs `pip install 'zlens[spark]'`).

    from zlens.spark import ZlensDataSource

    spark.dataSource.register(ZlensDataSource)
    spark.read.format("zlens").option("table", "load").load("/data/lake").show()

A partition is the systems of a machine, whose measures depend on each other. Executors compute its rows as
any zlens does, with DuckDB, so that no statement is translated; they need zlens, and the input under the same
path. PYSPARK_PYTHON names their Python.

Options, besides the path: `table`; `columns`, separated by commas (all); `system`, names separated by commas;
`from` and `to`, as on the command line; `tz`. A schema that is given narrows the columns, too. Conditions on
`system` and on the end of intervals are taken from a query where Spark hands them down
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
#: Comparisons of Spark's filters, by the names of their classes.
_COMPARED = {
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}


@dataclass(frozen=True)
class ReadOptions:
    """What is asked of an input: as plain values, since it goes to other processes."""

    path: str
    table: str
    columns: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None
    tz: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ReadOptions:
        """From the options of a reader; QueryError for one that is missing or unknown."""
        given = {name.lower(): value for name, value in options.items()}
        if unknown := sorted(given.keys() - {*_OPTIONS}):
            raise QueryError(f"there is no option {unknown[0]}", expected=f"one of {', '.join(_OPTIONS)}")
        for name in ("path", "table"):
            if not given.get(name):
                raise QueryError(f"the option {name} is missing", cure=_CURE[name])
        return cls(
            given["path"],
            given["table"],
            _listed(given.get("columns", "")),
            _listed(given.get("system", "")),
            given.get("from"),
            given.get("to"),
            given.get("tz"),
        )

    def open(self, systems: Iterable[str] = ()) -> Session:
        """The input, as far as some systems need it."""
        start, end = (None if one is None else parse_time_spec(one) for one in (self.start, self.end))
        zone = None if self.tz is None else parse_zone(self.tz)
        options = Options(systems=tuple(systems) or self.system, start=start, end=end, tz=zone)
        return zlens.open(self.path, options=options)

    def select(self, columns: Iterable[str], condition: str = "") -> str:
        listed = ", ".join(quote(name) for name in columns) or "*"
        return f"SELECT {listed} FROM {quote(self.table)}{condition and f' WHERE {condition}'}"


_CURE = {"path": "name the input: .load(PATH)", "table": 'name it: .option("table", "load")'}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass
class MachineInputPartition(InputPartition):  # type: ignore[misc]
    """The systems of a machine; none: everything, of a table that is not of systems."""

    names: tuple[str, ...] = ()


class ZlensDataSource(DataSource):  # type: ignore[misc]
    """The format `zlens` of Spark and Sail."""

    @classmethod
    def name(cls) -> str:
        return "zlens"

    def schema(self) -> str:
        question = ReadOptions.from_options(self.options)
        with question.open() as session:
            answer = session.sql(question.select(question.columns))
            pairs = zip(answer.columns, answer.types, strict=True)
            return ", ".join(f"`{name}` {_TYPES[kind]}" for name, kind in pairs)

    def reader(self, schema: Any) -> DataSourceReader:
        question = ReadOptions.from_options(self.options)
        made = _FilteringReader if _pushes_filters(sys._getframe().f_back) else _Reader
        return made(question, _arrow(schema))


def _pushes_filters(caller: FrameType | None) -> bool:
    """Whether filters will be handed down.

    Spark refuses a reader that takes filters where the setting is off, and does not say in which process it
    makes one: that which hands filters down is a program of its own.
    """
    name = "" if caller is None else os.path.basename(caller.f_code.co_filename)
    return name.startswith("data_source_pushdown_filters")


def _arrow(schema: Any) -> pa.Schema:
    """The types that rows must have: Spark gives its own schema, Sail one of Arrow."""
    if isinstance(schema, pa.Schema):
        return schema
    fields = []
    for one in schema.fields:
        kind = _KINDS.get(one.dataType.simpleString())
        if kind is None:
            raise QueryError(
                f"the column {one.name} cannot be {one.dataType.simpleString()}",
                expected=f"one of {', '.join(_KINDS)}",
            )
        fields.append((one.name, _ARROW[kind]))
    return pa.schema(fields)


@dataclass
class _Reader(DataSourceReader):  # type: ignore[misc]
    question: ReadOptions
    schema: pa.Schema
    conditions: list[str] = field(default_factory=list)

    def partitions(self) -> list[InputPartition]:
        with self.question.open() as session:
            named = "system" in session.sql(self.question.select(())).columns
            # Problems of a file are of no system.
            if not named or self.question.table == "problem":
                return [MachineInputPartition()]
            machines: dict[str, dict[str, None]] = {}
            of_system: dict[str, str] = {}
            for info in session.systems:
                if info.machine:
                    of_system.setdefault(info.system, info.machine)
            for info in session.systems:
                machines.setdefault(of_system.get(info.system, f"\n{info.system}"), {})[info.system] = None
        return [MachineInputPartition(tuple(names)) for names in machines.values()] or [
            MachineInputPartition()
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with self.question.open(partition.names) as session:
            if (self.question.table,) not in {row[:1] for row in session.sql("SHOW TABLES").rows}:
                # A raw table that other systems have.
                return
            # Layouts differ by release: what these systems do not have is NULL.
            there = {*session.sql(self.question.select(())).columns} & {*self.schema.names}
            condition = " AND ".join(self.conditions)
            answer = session.sql(self.question.select(sorted(there) or ["system"], condition))
            for batch in pa.RecordBatchReader.from_stream(answer):
                columns = [
                    batch.column(one.name) if one.name in there else pa.nulls(len(batch), one.type)
                    for one in self.schema
                ]
                yield from pa.table(columns, names=self.schema.names).cast(self.schema).to_batches()


@dataclass
class _FilteringReader(_Reader):
    """Takes conditions on system and time; Spark checks all others, and does not check these."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802
        for one in filters:
            condition = _condition(one)
            if condition is None:
                yield one
            else:
                self.conditions.append(condition)


def _condition(one: Any) -> str | None:
    """SQL of a filter on system or the end of an interval; None for any other."""
    compared = _COMPARED.get(type(one).__name__)
    name, *deeper = getattr(one, "attribute", ("",))
    if compared is None or deeper:
        return None
    value = one.value
    if name == "system" and compared == "=" and isinstance(value, str):
        return f"system = {literal(value)}"
    if name == "interval_end" and isinstance(value, dt.datetime) and value.tzinfo is not None:
        return f"interval_end {compared} TIMESTAMPTZ {literal(value.isoformat())}"
    return None
