"""Names of the measures' columns as Prometheus metrics (`facts/exposition`).

A name is derived from the declaration of the column, unless the facts define another; a new measure is
exported without further declarations. `names.toml` explains the rules.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from zlens.catalog import measures, roles
from zlens.catalog.measures import LEADING_NAMES, Measure, MeasureColumn
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, doc

#: Labels that Prometheus reserves.
RESERVED = frozenset({"job", "instance", "le", "quantile"})


_FOLDER = FACTS / "exposition"
_NAMES_FILE, _COUNTERS_FILE = _FOLDER / "names.toml", _FOLDER / "counters.toml"
_OTHERS_FILE = _FOLDER / "others.toml"


class BaseUnit(FactTable, frozen=True):
    """Base unit: the suffix of metric names, and the conversion of column values to it."""

    suffix: Annotated[str, doc("the ending of a metric's name")]
    drop: Annotated[tuple[str, ...], doc("endings of a column's name that it replaces")] = ()
    per: Annotated[int, Meta(ge=1, le=10**12, description="divisor of values")] = 1
    times: Annotated[int, Meta(ge=1, le=10**12, description="factor of values")] = 1

    def sql(self, value: str) -> str:
        """Return SQL of a value in the base unit."""
        if self.per != 1:
            return f"{value} / {self.per}"
        return value if self.times == 1 else f"{value} * {self.times}"


_PLAIN = BaseUnit("")


class MeasureNames(FactTable, frozen=True):
    """Metric names of a measure that differ from the default."""

    subject: Annotated[str, doc("prefix of the names")] = ""
    prefix: Annotated[str, doc("instead of the source's prefix")] = ""
    prefixes: Annotated[tuple[str, ...], doc("the only ones it can have")] = ()
    main: Annotated[str, doc("the column that ranks its rows")] = ""
    names: Annotated[dict[str, str], doc("names of columns")] = {}
    columns: Annotated[tuple[str, ...], doc("keys that are values, too")] = ()


class NamesFile(FactTable, frozen=True):
    """Rules for the names of metrics."""

    sources: Annotated[dict[str, str], doc("prefix by source, the preferred source first")]
    prefixes: Annotated[dict[str, str], doc("meaning of a prefix")]
    units: Annotated[dict[str, BaseUnit], doc("base unit by unit")]
    system_labels: Annotated[dict[str, str], doc("label by column of `system`")]
    labels: Annotated[dict[str, str], doc("label by column")]
    left_out: Annotated[dict[str, str], doc("why a measure is not exported")]
    measure: Annotated[dict[str, MeasureNames], doc("differences from the default")]


class CounterNames(FactTable, frozen=True):
    """Cumulative counters of an entity."""

    entity: Annotated[str, doc("whose roles they are")]
    measure: Annotated[str, doc("whose labels they have")]
    roles: Annotated[dict[str, str], doc("name by role")]
    prefixes: Annotated[tuple[str, ...], doc("the only ones they can have")] = ()
    replaces: Annotated[tuple[str, ...], doc("columns with the same meaning")] = ()


class CountersFile(FactTable, frozen=True):
    """The cumulative counters."""

    counter: Annotated[tuple[CounterNames, ...], doc("cumulative counters")]


class MetricFamily(Struct, frozen=True):
    """One metric without the prefix of its source.

    name    without prefix, and for an info metric without _info
    kind    gauge, counter or info
    unit    the base unit that OpenMetrics states, '' if there is none
    column  column of the measure, or role of the entity; '' for an info metric
    base    conversion of its values
    """

    name: str
    kind: str
    unit: str
    text: str
    column: str
    type: str
    base: BaseUnit

    @property
    def sample(self) -> str:
        """The name of its samples, without prefix."""
        return self.name + {"counter": "_total", "info": "_info"}.get(self.kind, "")


class MetricGroup(Struct, frozen=True):
    """Metrics of a measure, or cumulative counters of an entity (`of`).

    labels    label by column of the measure, or role of the entity
    info      columns that are labels of the info metric only
    prefix    instead of the prefix of the source; '' if there is none
    prefixes  all prefixes that the metrics can have
    main      the column that ranks the rows
    """

    measure: str
    of: str
    labels: Mapping[str, str]
    info: Mapping[str, str]
    families: tuple[MetricFamily, ...]
    prefix: str
    prefixes: tuple[str, ...]
    main: str

    def names(self) -> Iterator[str]:
        """Yield the names of all samples it can have."""
        for prefix in self.prefixes:
            for family in self.families:
                yield f"{prefix}_{family.sample}"


class ExportedNames(Struct, frozen=True):
    """All exported metrics.

    sources        prefix by source, the preferred source first
    system_labels  column of the measure `system` by label
    groups         measures, then counters
    """

    sources: Mapping[str, str]
    prefixes: Mapping[str, str]
    system_labels: Mapping[str, str]
    left_out: Mapping[str, str]
    groups: tuple[MetricGroup, ...]

    def measure(self, name: str) -> MetricGroup:
        """Return the metrics of a measure; CatalogError if it is not exported."""
        for group in self.groups:
            if group.measure == name and not group.of:
                return group
        raise CatalogError(f"the measure {name!r} is not exported", file=str(_NAMES_FILE))

    def counters(self, measure: str) -> list[MetricGroup]:
        """Return the cumulative counters with the labels of a measure."""
        return [group for group in self.groups if group.measure == measure and group.of]


@cache
def names() -> ExportedNames:
    """Return all metrics of all measures; CatalogError if the facts are invalid."""
    facts = structs.load(_NAMES_FILE, NamesFile, "the names")
    counters = structs.load(_COUNTERS_FILE, CountersFile, "the counters").counter
    unknown = {*facts.measure, *facts.left_out} - {*measures.measure_names()}
    if unknown:
        raise CatalogError(f"there is no measure {min(unknown)!r}", file=str(_NAMES_FILE))
    replaced = {(entry.measure, name) for entry in counters for name in entry.replaces}
    groups = [
        _measure(facts, measures.load_measure(name), {column for of, column in replaced if of == name})
        for name in measures.measure_names()
        if name not in facts.left_out and not measures.load_measure(name).no_reader
    ]
    by_name = {group.measure: group for group in groups}
    groups += [_counters(facts, by_name[entry.measure], entry) for entry in counters]
    _unique(groups)
    return ExportedNames(facts.sources, facts.prefixes, facts.system_labels, facts.left_out, tuple(groups))


class OtherName(FactTable, frozen=True):
    """Name of a label or a metric in another naming convention."""

    theirs: Annotated[str, doc("their name")]
    label: Annotated[str, doc("a label of zlens")] = ""
    metric: Annotated[str, doc("measure.column")] = ""


class NamingConvention(FactTable, frozen=True):
    """Names of another exporter or convention for metrics of zlens."""

    name: Annotated[str, doc("the program with the names")]
    source: Annotated[str, doc("where they are published")]
    note: Annotated[str, doc("how they differ")]
    entry: Annotated[tuple[OtherName, ...], doc("their names for concepts of zlens")]

    def names(self) -> list[tuple[str, str]]:
        """Return zlens' names, each with the other name; CatalogError if zlens exports no such name."""
        return [(_own_name(entry), entry.theirs) for entry in self.entry]


class ConventionsFile(FactTable, frozen=True):
    """Naming conventions of other exporters."""

    program: Annotated[tuple[NamingConvention, ...], doc("exporters and conventions")]


@cache
def other_conventions() -> tuple[NamingConvention, ...]:
    """Return the naming conventions of other exporters; CatalogError if the file is invalid."""
    return structs.load(_OTHERS_FILE, ConventionsFile, "the names of others").program


def _own_name(entry: OtherName) -> str:
    if entry.metric:
        measure, _, column = entry.metric.partition(".")
        return family_of(measure, column)[1].sample
    if entry.label != "system" and entry.label not in names().system_labels:
        raise CatalogError(f"there is no label {entry.label!r}", file=str(_OTHERS_FILE))
    return entry.label


def family_of(measure: str, column: str) -> tuple[MetricGroup, MetricFamily]:
    """Return the metric of a column of a measure; CatalogError if there is none."""
    group = names().measure(measure)
    for family in group.families:
        if family.column == column:
            return group, family
    raise CatalogError(f"{measure}.{column} is not exported", file=str(_NAMES_FILE))


def _measure(facts: NamesFile, table: Measure, replaced: set[str]) -> MetricGroup:
    overrides = facts.measure.get(table.name, MeasureNames())
    columns = [column for column in table.columns if column.name not in LEADING_NAMES or table.plain]
    keys = [column for column in columns if column.name in table.key]
    subject = overrides.subject or table.name
    labels = {column.name: _label(facts, column.name) for column in keys}
    info: dict[str, str] = {}
    families: list[MetricFamily] = []
    for column in columns:
        if column.name in ("system", "source", "flag", *labels) or column.name in replaced:
            continue
        if column.name == "interval_end" and column.name not in overrides.columns:
            continue
        if column.type == "text" or (
            column.type == "int" and column.aggregate == "state" and not column.unit
        ):
            info[column.name] = _label(facts, column.name)
        else:
            families.append(_family(facts, table, column, subject, overrides.names))
    if info:
        text = f"{table.text.rstrip('.')}: values that seldom change"
        families.insert(0, MetricFamily(subject, "info", "", text, "", "text", _PLAIN))
    prefix = overrides.prefix
    all_prefixes = dict.fromkeys(facts.sources.values())
    main = overrides.main or next((family.column for family in families if family.column), "")
    prefixes = (prefix,) if prefix else overrides.prefixes or tuple(all_prefixes)
    return MetricGroup(table.name, "", labels, info, tuple(families), prefix, prefixes, main)


def _counters(facts: NamesFile, group: MetricGroup, entry: CounterNames) -> MetricGroup:
    entity = roles.catalog_entity(entry.entity)
    subject = facts.measure.get(group.measure, MeasureNames()).subject or group.measure
    families = []
    for role_name, name in entry.roles.items():
        role = entity.roles.get(role_name)
        if role is None:
            raise CatalogError(f"{entity.name} has no role {role_name!r}", file=str(_COUNTERS_FILE))
        base = facts.units.get(role.unit, _PLAIN)
        families.append(
            MetricFamily(
                _joined(subject, name, base.suffix if not name.endswith(base.suffix) else ""),
                "counter",
                base.suffix,
                f"{role.text} (role.{entity.name}.{role_name}, as recorded)",
                role_name,
                role.type,
                base,
            )
        )
    labels = {role: label for role, label in group.labels.items() if role in entity.roles}
    if len(labels) < len(group.labels):
        raise CatalogError(f"{entity.name} has no labels of {group.measure}", file=str(_COUNTERS_FILE))
    prefixes = entry.prefixes or group.prefixes
    return replace(
        group, of=entity.name, labels=labels, info={}, families=tuple(families), prefixes=prefixes, main=""
    )


def _family(
    facts: NamesFile, table: Measure, column: MeasureColumn, subject: str, stems: Mapping[str, str]
) -> MetricFamily:
    base = facts.units.get(column.unit, _PLAIN)
    stem = stems.get(column.name)
    if stem is None:
        stem = column.name
        for ending in base.drop:
            if stem == ending or stem.endswith(f"_{ending}"):
                stem = stem.removesuffix(ending).rstrip("_")
                break
    suffix = base.suffix
    # The value of one interval is not cumulative: it is a gauge.
    if column.aggregate in ("counter", "time") and subject != "interval":
        suffix = _joined("interval", suffix)
    if column.type == "time":
        suffix = "timestamp_seconds"
    if suffix and (stem == suffix or stem.endswith(f"_{suffix}")):
        suffix = ""
    name = _joined(subject, stem, suffix)
    unit = base.suffix if name.endswith(f"_{base.suffix}") else ""
    text = f"{column.text} ({table.name}.{column.name}"
    text += f" / {base.per})" if base.per != 1 else f" * {base.times})" if base.times != 1 else ")"
    return MetricFamily(
        name, "gauge", "seconds" if column.type == "time" else unit, text, column.name, column.type, base
    )


def _label(facts: NamesFile, column: str) -> str:
    label: str = facts.labels.get(column) or column.removesuffix("_id")
    if label in RESERVED:
        raise CatalogError(f"the label {label!r} is one of Prometheus itself", file=str(_NAMES_FILE))
    return label


def _joined(*parts: str) -> str:
    return "_".join(part for part in parts if part)


def _unique(groups: list[MetricGroup]) -> None:
    """Raise CatalogError if two columns have the same name: their samples would be mixed."""
    seen: dict[str, str] = {}
    for group in groups:
        for name in group.names():
            whose = f"{group.of or group.measure}"
            if name in seen:
                raise CatalogError(f"{name} is of {seen[name]} and of {whose}", file=str(_NAMES_FILE))
            seen[name] = whose
