"""Export formats: Parquet files, and tables of Delta Lake and Iceberg.

A target has a table for each measure. `replace` replaces the rows of some systems and days in one
transaction; it is idempotent.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from zlens.catalog.expressions import literal, quote
from zlens.catalog.raw_columns import RawColumn
from zlens.errors import QueryError
from zlens.lake import file_names, lake_folder
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.parquet_streams import read_parquet_sql

#: Column types of Delta Lake and Iceberg, by catalog type.
_DELTA = {"text": "string", "int": "long", "float": "double", "bool": "boolean", "time": "timestamp"}
_ICEBERG = {
    **{"text": "StringType", "int": "LongType", "float": "DoubleType", "bool": "BooleanType"},
    "time": "TimestamptzType",
}
_NAMESPACE = "zlens"


class ExportTarget(Protocol):
    """Destination of exported measures."""

    def has(self, table: str) -> bool:
        """Return whether the table of a measure exists."""
        ...

    def replace(
        self, table: str, columns: Sequence[RawColumn], path: str, systems: Sequence[str], days: Sequence[str]
    ) -> int:
        """Replace the rows of these systems and days with a Parquet file; returns its number of rows."""
        ...


def comment(column: RawColumn) -> str:
    """Return the description of a column with its unit."""
    return f"{column.text} ({column.unit})" if column.unit else column.text


class ParquetFiles(Struct):
    """A file for each measure, system and day: TABLE/SYSTEM/DAY.parquet.

    Parquet has no column comments; each file stores units and texts as key-value metadata.
    """

    base: Path
    engine: ParquetEngine

    def has(self, table: str) -> bool:
        return (self.base / table).is_dir()

    def replace(
        self, table: str, columns: Sequence[RawColumn], path: str, systems: Sequence[str], days: Sequence[str]
    ) -> int:
        total = 0
        facts = ", ".join(f"{quote(column.name)}: {literal(comment(column))}" for column in columns)
        for system in systems:
            for day in days:
                target = self.base / table / file_names.escape(system) / f"{day}.parquet"
                condition = f"system = {literal(system)} AND day = {literal(day)}"
                selection = f"FROM {read_parquet_sql([path])} WHERE {condition}"
                ((count,),) = self.engine.rows(f"SELECT count(*) {selection}")
                total += count
                if not count:
                    target.unlink(missing_ok=True)
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                staged = target.with_name(f".{target.name}.new")
                self.engine.rows(
                    f"COPY (SELECT * {selection}) TO {literal(os.fspath(staged))} "
                    f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{facts}}})"
                )
                lake_folder.fsync_files([os.fspath(staged)])
                os.replace(staged, target)
        return total


class DeltaTables:
    """A Delta Lake table for each measure, partitioned by system and day."""

    def __init__(self, base: Path, engine: ParquetEngine) -> None:
        self.base = base
        self.engine = engine
        self.delta = _extra("deltalake", "delta")

    def has(self, table: str) -> bool:
        return bool(self.delta.DeltaTable.is_deltatable(os.fspath(self.base / table)))

    def replace(
        self, table: str, columns: Sequence[RawColumn], path: str, systems: Sequence[str], days: Sequence[str]
    ) -> int:
        table_path = os.fspath(self.base / table)
        ((count,),) = self.engine.rows(f"SELECT count(*) FROM {read_parquet_sql([path])}")
        if not self.has(table):
            fields = [
                self.delta.Field(
                    column.name, _DELTA[column.type], nullable=True, metadata={"comment": comment(column)}
                )
                for column in columns
            ]
            schema, parts = self.delta.Schema(fields), ["system", "day"]
            self.delta.DeltaTable.create(table_path, schema, mode="ignore", name=table, partition_by=parts)
        listed = [", ".join(map(literal, values)) for values in (systems, days)]
        self.delta.write_deltalake(
            table_path,
            self.engine.stream(f"SELECT * FROM {read_parquet_sql([path])}"),
            mode="overwrite",
            schema_mode="merge",
            predicate=f"system IN ({listed[0]}) AND day IN ({listed[1]})",
        )
        return int(count)


class IcebergTables:
    """An Iceberg table for each measure, partitioned by system and day, with a catalog in the same folder.

    The catalog is an SQLite file, `catalog.db`; its namespace is `zlens`.
    """

    def __init__(self, base: Path, engine: ParquetEngine) -> None:
        self.engine = engine
        base = base.absolute()
        catalogs = _extra("pyiceberg.catalog.sql", "iceberg")
        self.arrow = _extra("pyarrow", "iceberg")
        self.iceberg = _extra("pyiceberg.expressions", "iceberg")
        uri = f"sqlite:///{base / 'catalog.db'}"
        self.catalog = catalogs.SqlCatalog(_NAMESPACE, uri=uri, warehouse=base.as_uri())
        self.catalog.create_namespace_if_not_exists(_NAMESPACE)

    def has(self, table: str) -> bool:
        return bool(self.catalog.table_exists((_NAMESPACE, table)))

    def replace(
        self, table: str, columns: Sequence[RawColumn], path: str, systems: Sequence[str], days: Sequence[str]
    ) -> int:
        name = (_NAMESPACE, table)
        stored = self.catalog.load_table(name) if self.has(table) else self._create(name, columns)
        known = {field.name for field in stored.schema().fields}
        if new_columns := [column for column in columns if column.name not in known]:
            # Measures of later rules may have more columns.
            with stored.update_schema() as update:
                for column in new_columns:
                    update.add_column(column.name, self._type(column), doc=comment(column))
        listed = ", ".join(quote(column.name) for column in columns)
        rows = self.arrow.table(self.engine.stream(f"SELECT {listed} FROM {read_parquet_sql([path])}"))
        expressions = self.iceberg
        replaced_rows = expressions.And(expressions.In("system", {*systems}), expressions.In("day", {*days}))
        # Deletion and insertion are one transaction; a table without a snapshot has nothing to delete.
        with stored.transaction() as transaction:
            if stored.current_snapshot() is not None:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", message="Delete operation did not match any records")
                    transaction.delete(replaced_rows)
            if len(rows):
                transaction.append(rows)
        return len(rows)

    def _type(self, column: RawColumn) -> Any:
        return getattr(_extra("pyiceberg.types", "iceberg"), _ICEBERG[column.type])()

    def _create(self, name: tuple[str, str], columns: Sequence[RawColumn]) -> Any:
        field = _extra("pyiceberg.types", "iceberg").NestedField
        fields = [
            field(number, column.name, self._type(column), required=False, doc=comment(column))
            for number, column in enumerate(columns, 1)
        ]
        parts = _extra("pyiceberg.partitioning", "iceberg")
        identity = _extra("pyiceberg.transforms", "iceberg").IdentityTransform()
        numbers = {column.name: number for number, column in enumerate(columns, 1)}
        part_fields = [
            parts.PartitionField(numbers[part], 1000 + index, identity, part)
            for index, part in enumerate(("system", "day"))
        ]
        schema = _extra("pyiceberg.schema", "iceberg").Schema(*fields)
        return self.catalog.create_table(name, schema, partition_spec=parts.PartitionSpec(*part_fields))


def _extra(module: str, extra: str) -> Any:
    """Import a module of an extra. Raises QueryError if its package is not installed."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        cure = f"install it, in a checkout: pip install '.[{extra}]'"
        raise QueryError(f"the package {package} is not installed", cure=cure) from None


#: Targets by format name.
TARGETS: dict[str, Callable[[Path, ParquetEngine], ExportTarget]] = {
    "parquet": ParquetFiles,
    "delta": DeltaTables,
    "iceberg": IcebergTables,
}
