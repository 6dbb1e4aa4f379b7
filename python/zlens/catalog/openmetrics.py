"""Metrics of programs that export them as text (`openmetrics/*.toml`)."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Annotated

from msgspec import Meta, field

from zlens.catalog.raw_columns import RawColumn
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, SourcedTable

#: Programs whose text is read.
EXPORTERS = ("hmc", "dds")


class MetricLabel(FactTable, frozen=True):
    """A label that is a column."""

    name: Annotated[str, Meta(description="the label")] = field(name="label")
    column: RawColumn
    types: Annotated[bool, Meta(description="whether its value is a processor type")] = False
    of: Annotated[str, Meta(description="the prefix of the metrics that it is used of")] = ""


class ExporterTable(FactTable, frozen=True):
    """A table."""

    name: Annotated[str, Meta(description="what the program's name and _ are put before")]
    key: Annotated[
        tuple[str, ...], Meta(description="columns that identify a row; the first is always there")
    ]
    keep: Annotated[tuple[str, ...], Meta(description="other columns of labels")] = ()
    needs: Annotated[str | None, Meta(description="rows where this column is 0 or missing are left out")] = (
        None
    )
    spread: Annotated[bool, Meta(description="whether a value without a processor type is of all types")] = (
        False
    )


class ExporterMetric(FactTable, frozen=True):
    """A metric that is a column of a part."""

    name: Annotated[str, Meta(description="its name; {type} is one of the types")]
    part: Annotated[str, Meta(description="its part")]
    column: RawColumn
    earlier: Annotated[str, Meta(description="its name in earlier releases")] = ""
    scale: Annotated[float, Meta(description="the factor of its values")] = 1.0
    none: Annotated[float | None, Meta(description="the value that means there is none")] = None
    codes: Annotated[str | None, Meta(description="the table of codes with words for its values")] = None
    alone: Annotated[bool, Meta(description="whether a value is of all processor types together")] = False


class Exporter(SourcedTable, frozen=True, dict=True):
    """The metrics that a program exports."""

    name: Annotated[str, Meta(description="the program's name in those of tables")]
    title: Annotated[str, Meta(description="what the text is")]
    prefix: Annotated[str, Meta(description="that of all metrics")]
    example: Annotated[str, Meta(description="a sample")]
    subject: Annotated[str, Meta(description="what the label of the system names")]
    system: Annotated[tuple[str, ...], Meta(description="labels with the system's name, first choice first")]
    types: Annotated[dict[str, str], Meta(description="processor types by the words of names and labels")]
    labels: Annotated[tuple[MetricLabel, ...], Meta(description="labels of columns")] = field(name="label")
    tables: Annotated[tuple[ExporterTable, ...], Meta(description="tables")] = field(name="part")
    listed: Annotated[tuple[ExporterMetric, ...], Meta(description="columns")] = field(name="metric")
    interval: Annotated[str | None, Meta(description="the metric with the length of the interval")] = None

    @cached_property
    def parts(self) -> dict[str, ExporterTable]:
        """The tables by name."""
        return {table.name: table for table in self.tables}

    @cached_property
    def metrics(self) -> dict[str, tuple[ExporterMetric, str | None]]:
        """The metrics by name, each with its processor type (None: in a label, or all types)."""
        return {
            name.replace("{type}", word): (metric, cpu_type)
            for metric in self.listed
            for name in filter(None, (metric.name, metric.earlier))
            for word, cpu_type in (self.types.items() if "{type}" in name else (("", None),))
        }

    def columns(self, part: str) -> tuple[RawColumn, ...]:
        """Return the columns of the metrics of a part; several metrics may have the same one."""
        columns = (metric.column for metric in self.listed if metric.part == part)
        return tuple({column.name: column for column in reversed([*columns])}.values())[::-1]


@cache
def load_exporter(program: str) -> Exporter:
    """Return the facts of one of EXPORTERS."""
    return structs.load(FACTS / "openmetrics" / f"{program}.toml", Exporter)
