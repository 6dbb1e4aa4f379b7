"""Metrics that `zlens compare` compares, and facts that must match for runs to be comparable."""

from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from msgspec import Meta
from msgspec.structs import asdict

from zlens.catalog import aggregation, measures
from zlens.errors import CatalogError, QueryError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactFile, FactTable, doc

#: Relative difference between runs of the same work that IBM's regression tests accept (rule CMP-001).
REGRESSION_CRITERION = 0.05
_ROOT = FACTS / "compare"
_Word = Annotated[
    str, Meta(pattern=r"^[\w *.-]*$", max_length=200, title="a name, without quotes and commas")
]


class MetricKeys(FactTable, frozen=True):
    """One row of the comparison, or one for each value of `by`."""

    table: Annotated[str, doc("the measure")]
    column: Annotated[str, doc("its column")]
    heading: Annotated[str, doc("its title")]
    unit: Annotated[str, doc("unit after scaling; default: the unit of the column")] = ""
    by: Annotated[tuple[str, ...], doc("columns whose values get rows of their own")] = ()
    where: Annotated[dict[str, _Word], doc("the values that columns must have")] = {}
    form: Annotated[Literal["ratio", "points"], doc("how it is compared")] = "ratio"
    direction: Annotated[Literal["higher", "lower", "none"], doc("which direction is better")] = "none"
    criterion: Annotated[bool, doc("whether IBM's criterion is about it")] = False
    across: Annotated[bool, doc("whether it is compared across generations")] = False
    scale: Annotated[float, doc("factor that converts it to its unit")] = 1.0
    most: Annotated[
        int, Meta(ge=0, le=1000, description="maximum rows of `by`, by size of the difference; 0: all")
    ] = 0
    published: Annotated[str, doc("heading of its column in the published form")] = ""
    published_scale: Annotated[float, doc("factor from its unit to that of the column")] = 1.0
    published_decimals: Annotated[
        int, Meta(ge=-1, le=9, description="digits there after the decimal point; -1: by size")
    ] = -1

    @property
    def key(self) -> str:
        return f"{self.table}.{self.column}"


class ComparedMetric(MetricKeys, frozen=True, kw_only=True):
    """A metric with the title of its group, and the published form that has it; empty: none."""

    group: str
    published_form: str


class PublishedForm(FactTable, frozen=True):
    """Tables as in a publication: metrics as columns, sides as rows, and below them their differences."""

    name: Annotated[str, doc("its name and that of the option that prints it")]
    title: Annotated[str, doc("title of its tables, before the subject")]
    differences: Annotated[
        Literal["improvement", "change"], doc("rows below the sides: base/other, or the change")
    ]
    note: Annotated[str, doc("end of the title")] = ""
    form: Annotated[Literal["", "base/other"], doc("form of all differences of the comparison")] = ""


class PublishedForms(FactFile, frozen=True):
    """Forms of publications in which comparisons can be printed."""

    path: ClassVar = "published_forms.toml"
    form: tuple[PublishedForm, ...]


class ComparedGroup(FactTable, frozen=True):
    """A group of metrics of `zlens compare`."""

    title: Annotated[str, doc("title of the group")]
    order: Annotated[float, doc("position among the groups")]
    metric: Annotated[tuple[MetricKeys, ...], doc("its rows")]
    published_form: Annotated[str, doc("the published form of its metrics with a heading")] = ""


class ComparabilityFact(FactTable, frozen=True):
    """A fact that must match for runs to be comparable."""

    name: Annotated[str, doc("description")]
    table: Annotated[str, doc("the measure")]
    why: Annotated[str, doc("why it must be alike")]
    query: Annotated[str, doc("the query that returns it for each system")]


class ComparabilityFile(FactFile, frozen=True):
    """Facts that must match for runs to be comparable."""

    path: ClassVar = "comparability.toml"
    fact: tuple[ComparabilityFact, ...]


@cache
def compared_metrics() -> tuple[ComparedMetric, ...]:
    """Return all metrics in their order; CatalogError if a file is invalid."""
    return read(_ROOT)


def read(root: Path) -> tuple[ComparedMetric, ...]:
    """Return the metrics in the files of a folder."""
    files = [
        (path, structs.load(path, ComparedGroup, "the group")) for path in sorted(root.glob("[!_]*.toml"))
    ]
    files.sort(key=lambda file: file[1].order)
    metric_list = [_metric(group, keys, str(path)) for path, group in files for keys in group.metric]
    keys = [(metric.key, metric.by) for metric in metric_list]
    for key in keys:
        if keys.count(key) > 1:
            raise CatalogError(f"{key[0]} is compared twice", file=str(root), cure="leave one of them out")
    return tuple(metric_list)


def _metric(group: ComparedGroup, keys: MetricKeys, path: str) -> ComparedMetric:
    name = keys.key
    table = measures.load_measure(keys.table)
    column = table.column(keys.column)
    if column is None or column.type not in ("int", "float"):
        raise CatalogError(f"{name} is not a numeric column", file=path)
    for condition in (*keys.by, *keys.where):
        if table.column(condition) is None:
            raise CatalogError(f"{name}: {table.name} has no column {condition!r}", file=path)
    if "mean" not in aggregation.available_statistics(column) or column.unweighted:
        raise CatalogError(f"{name} has no mean", file=path, expected="a column with a weight")
    if set(keys.by) - set(table.key):
        raise CatalogError(f"{name}: by accepts columns of the key", file=path, expected=", ".join(table.key))
    try:
        merges = aggregation.merges_subjects(table, keys.by, list(keys.where))
    except QueryError as error:
        raise CatalogError(f"{name}: {error.message}", file=path, expected=error.expected) from None
    if merges and aggregation.subject_rule(column) == "none":
        raise CatalogError(f"{name}: rows of several {', '.join(table.key)} return no value", file=path)
    form = group.published_form if keys.published else ""
    if keys.published and form not in published_forms():
        raise CatalogError(
            f"{name} has a published heading without a form of publications",
            file=path,
            expected=f"published_form, one of {', '.join(published_forms())}",
        )
    given = asdict(keys) | {"unit": keys.unit or column.unit}
    return ComparedMetric(group=group.title, published_form=form, **given)


def published_forms() -> dict[str, PublishedForm]:
    """Return the forms of publications by name."""
    return {form.name: form for form in PublishedForms.load().form}
