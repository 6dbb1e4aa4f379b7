"""Metrics of programs that export them as text (`openmetrics/*.toml`)."""

from functools import cache, cached_property
from typing import Annotated

from msgspec import field

from zlens.catalog.raw_columns import RawColumn
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, SourcedTable, doc

#: Programs whose text is read.
EXPORTERS = ("hmc", "dds")


class MetricLabel(FactTable, frozen=True):
    """A label that is a column."""

    name: Annotated[str, doc("the label")] = field(name="label")
    column: RawColumn
    types: Annotated[bool, doc("whether its value is a processor type")] = False
    of: Annotated[str, doc("the prefix of the metrics that it is used of")] = ""


class ExporterTable(FactTable, frozen=True):
    """A table."""

    name: Annotated[str, doc("what the program's name and _ are put before")]
    key: Annotated[tuple[str, ...], doc("columns that identify a row; the first is always there")]
    keep: Annotated[tuple[str, ...], doc("other columns of labels")] = ()
    needs: Annotated[str | None, doc("rows where this column is 0 or missing are left out")] = None
    spread: Annotated[bool, doc("whether a value without a processor type is of all types")] = False


class ExporterMetric(FactTable, frozen=True):
    """A metric that is a column of a part."""

    name: Annotated[str, doc("its name; {type} is one of the types")]
    part: Annotated[str, doc("its part")]
    column: RawColumn
    earlier: Annotated[str, doc("its name in earlier releases")] = ""
    scale: Annotated[float, doc("the factor of its values")] = 1.0
    none: Annotated[float | None, doc("the value that stands for no value")] = None
    codes: Annotated[str | None, doc("the table of codes with words for its values")] = None
    alone: Annotated[bool, doc("whether a value is of all processor types together")] = False


class Exporter(SourcedTable, frozen=True, dict=True):
    """The metrics that a program exports."""

    name: Annotated[str, doc("the program's name in those of tables")]
    title: Annotated[str, doc("what the text is")]
    prefix: Annotated[str, doc("that of all metrics")]
    example: Annotated[str, doc("a sample")]
    subject: Annotated[str, doc("what the label of the system names")]
    system: Annotated[tuple[str, ...], doc("labels with the system's name, first choice first")]
    types: Annotated[dict[str, str], doc("processor types by the words of names and labels")]
    labels: Annotated[tuple[MetricLabel, ...], doc("labels of columns")] = field(name="label")
    tables: Annotated[tuple[ExporterTable, ...], doc("tables")] = field(name="part")
    listed: Annotated[tuple[ExporterMetric, ...], doc("columns")] = field(name="metric")
    interval: Annotated[str | None, doc("the metric with the length of the interval")] = None

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
