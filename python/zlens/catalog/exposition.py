"""Names of the measures' columns as metrics of Prometheus: `facts/exposition`.

A name is derived from the declaration of the column, unless the facts have another; so a new measure is
exported without anything more. `names.toml` says how.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from zlens.catalog import measures, roles
from zlens.catalog.measures import LEADING_NAMES, Measure, MeasureColumn
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Integer, Key, ListOf, MapOf, Prose, Spec, Text

#: Labels that Prometheus keeps for itself.
RESERVED = frozenset({"job", "instance", "le", "quantile"})
#: Columns of every measure that are the interval, not values in it.


class BaseUnit(Struct, frozen=True):
    """A base unit: the ending of a metric's name, and how a column's values become those of the metric."""

    suffix: str
    drop: tuple[str, ...]
    per: int
    times: int

    def sql(self, value: str) -> str:
        """SQL of a value in the base unit."""
        if self.per != 1:
            return f"{value} / {self.per}"
        return value if self.times == 1 else f"{value} * {self.times}"


class MetricFamily(Struct, frozen=True):
    """One metric without the prefix of its source.

    name    without prefix, and of an info metric without _info
    kind    gauge, counter or info
    unit    the base unit that OpenMetrics states, '' if there is none
    column  of the measure, or role of the entity; '' of an info metric
    base    how its values are converted
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
    """The metrics of a measure, or the cumulative counters of an entity (`of`).

    labels    label by column of the measure, or role of the entity
    info      columns that are labels of the info metric alone
    prefix    instead of that of the source; '' if there is none
    prefixes  all that the metrics can have
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
        """The names of all samples it can have."""
        for prefix in self.prefixes:
            for family in self.families:
                yield f"{prefix}_{family.sample}"


class ExportedNames(Struct, frozen=True):
    """The facts.

    sources  prefix by source, the preferred source first
    system_labels  column of the measure `system` by label
    groups   measures, then counters
    """

    sources: Mapping[str, str]
    prefixes: Mapping[str, str]
    system_labels: Mapping[str, str]
    left_out: Mapping[str, str]
    groups: tuple[MetricGroup, ...]

    def measure(self, name: str) -> MetricGroup:
        """The metrics of a measure; CatalogError if it is not exported."""
        for group in self.groups:
            if group.measure == name and not group.of:
                return group
        raise CatalogError(f"the measure {name!r} is not exported", file=str(_NAMES_FILE))

    def counters(self, measure: str) -> list[MetricGroup]:
        """The cumulative counters with the labels of a measure."""
        return [group for group in self.groups if group.measure == measure and group.of]


@cache
def names() -> ExportedNames:
    """All metrics of all measures; CatalogError if the facts are wrong."""
    facts = document.load(_NAMES_FILE, _NAMES, "the names")
    counters = document.load(_COUNTERS_FILE, _COUNTERS, "the counters")["counter"]
    unknown = {*facts["measure"], *facts["left_out"]} - {*measures.measure_names()}
    if unknown:
        raise CatalogError(f"there is no measure {min(unknown)!r}", file=str(_NAMES_FILE))
    replaced = {(entry["measure"], name) for entry in counters for name in entry["replaces"]}
    groups = [
        _measure(facts, measures.load_measure(name), {column for of, column in replaced if of == name})
        for name in measures.measure_names()
        if name not in facts["left_out"] and not measures.load_measure(name).empty
    ]
    by_name = {group.measure: group for group in groups}
    groups += [_counters(facts, by_name[entry["measure"]], entry) for entry in counters]
    _unique(groups)
    return ExportedNames(
        facts["sources"], facts["prefixes"], facts["system_labels"], facts["left_out"], tuple(groups)
    )


class NamingConvention(Struct, frozen=True):
    """Another exporter, or a convention, and what it calls the same things: our name, its name."""

    name: str
    source: str
    note: str
    entries: tuple[tuple[str, str], ...]


@cache
def other_conventions() -> list[NamingConvention]:
    """The names of others; CatalogError if they are those of nothing that is exported."""
    programs: list[NamingConvention] = document.load(_OTHERS_FILE, _OTHERS, "the names of others")["program"]
    return programs


def _entry(label: str, metric: str, theirs: str) -> tuple[str, str]:
    if metric:
        measure, _, column = metric.partition(".")
        return family_of(measure, column)[1].sample, theirs
    if label != "system" and label not in names().system_labels:
        raise CatalogError(f"there is no label {label!r}", file=str(_OTHERS_FILE))
    return label, theirs


def check() -> list[str]:
    """What is wrong with the names, if anything."""
    try:
        names(), other_conventions()
    except CatalogError as error:
        return [str(error)]
    return []


def family_of(measure: str, column: str) -> tuple[MetricGroup, MetricFamily]:
    """The metric of a column of a measure; CatalogError if there is none."""
    group = names().measure(measure)
    for family in group.families:
        if family.column == column:
            return group, family
    raise CatalogError(f"{measure}.{column} is not exported", file=str(_NAMES_FILE))


def _measure(facts: Mapping[str, Any], table: Measure, replaced: set[str]) -> MetricGroup:
    own = _OWN.defaults | facts["measure"].get(table.name, {})
    columns = [column for column in table.columns if column.name not in LEADING_NAMES or table.plain]
    keys = [column for column in columns if column.name in table.key]
    subject = own["subject"] or table.name
    labels = {column.name: _label(facts, column.name) for column in keys}
    info: dict[str, str] = {}
    families: list[MetricFamily] = []
    for column in columns:
        if column.name in ("system", "source", "flag", *labels) or column.name in replaced:
            continue
        if column.name == "interval_end" and column.name not in own["columns"]:
            continue
        if column.type == "text" or (
            column.type == "int" and column.aggregate == "state" and not column.unit
        ):
            info[column.name] = _label(facts, column.name)
        else:
            families.append(_family(facts, table, column, subject, own["names"]))
    if info:
        text = f"{table.text.rstrip('.')}: what does not change often"
        families.insert(0, MetricFamily(subject, "info", "", text, "", "text", _PLAIN))
    prefix = own["prefix"]
    all_prefixes = dict.fromkeys(facts["sources"].values())
    main = own["main"] or next((family.column for family in families if family.column), "")
    prefixes = (prefix,) if prefix else own["prefixes"] or tuple(all_prefixes)
    return MetricGroup(table.name, "", labels, info, tuple(families), prefix, prefixes, main)


def _counters(facts: Mapping[str, Any], of: MetricGroup, entry: Mapping[str, Any]) -> MetricGroup:
    entity = roles.catalog_entity(entry["entity"])
    subject = facts["measure"].get(of.measure, {}).get("subject") or of.measure
    families = []
    for role_name, name in entry["roles"].items():
        role = entity.roles.get(role_name)
        if role is None:
            raise CatalogError(f"{entity.name} has no role {role_name!r}", file=str(_COUNTERS_FILE))
        base = facts["units"].get(role.unit, _PLAIN)
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
    labels = {role: label for role, label in of.labels.items() if role in entity.roles}
    if len(labels) < len(of.labels):
        raise CatalogError(f"{entity.name} lacks labels of {of.measure}", file=str(_COUNTERS_FILE))
    return MetricGroup(
        of.measure, entity.name, labels, {}, tuple(families), of.prefix, entry["prefixes"] or of.prefixes, ""
    )


def _family(
    facts: Mapping[str, Any], table: Measure, column: MeasureColumn, subject: str, given: Mapping[str, str]
) -> MetricFamily:
    base = facts["units"].get(column.unit, _PLAIN)
    stem = given.get(column.name)
    if stem is None:
        stem = column.name
        for ending in base.drop:
            if stem == ending or stem.endswith(f"_{ending}"):
                stem = stem.removesuffix(ending).rstrip("_")
                break
    suffix = base.suffix
    # The amount of one interval, not of all time: a gauge.
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
        name,
        "gauge",
        "seconds" if column.type == "time" else unit,
        text,
        column.name,
        column.type,
        base,
    )


def _label(facts: Mapping[str, Any], column: str) -> str:
    label: str = facts["labels"].get(column) or column.removesuffix("_id")
    if label in RESERVED:
        raise CatalogError(f"the label {label!r} is one of Prometheus itself", file=str(_NAMES_FILE))
    return label


def _joined(*parts: str) -> str:
    return "_".join(part for part in parts if part)


def _unique(groups: list[MetricGroup]) -> None:
    """CatalogError if two columns have the same name: their samples would be mixed."""
    seen: dict[str, str] = {}
    for group in groups:
        for name in group.names():
            whose = f"{group.of or group.measure}"
            if name in seen:
                raise CatalogError(f"{name} is of {seen[name]} and of {whose}", file=str(_NAMES_FILE))
            seen[name] = whose


_FOLDER = FACTS / "exposition"
_NAMES_FILE, _COUNTERS_FILE = _FOLDER / "names.toml", _FOLDER / "counters.toml"
_OTHERS_FILE = _FOLDER / "others.toml"
_TEXT, _EMPTY = Text(), Text(100)
_TEXTS = MapOf(_TEXT, 0)
_TUPLE = ListOf(_TEXT, into=tuple)
_UNIT = Spec(
    (
        Key("suffix", _TEXT, "the ending of a metric's name"),
        Key("drop", _TUPLE, "endings of a column's name that it replaces", default=()),
        Key("per", Integer(1, 10**12), "what values are divided by", default=1),
        Key("times", Integer(1, 10**12), "what values are multiplied by", default=1),
    ),
    BaseUnit,
)
_PLAIN = BaseUnit("", (), 1, 1)
_OWN = Spec(
    (
        Key("subject", _EMPTY, "what the names begin with", default=""),
        Key("prefix", _EMPTY, "instead of that of the source", default=""),
        Key("prefixes", _TUPLE, "the only ones it can have", default=()),
        Key("main", _EMPTY, "the column that ranks its rows", default=""),
        Key("names", _TEXTS, "names of columns", default={}),
        Key("columns", _TUPLE, "keys that are values, too", default=()),
    )
)
_NAMES = Spec(
    (
        Key("sources", _TEXTS, "prefix by source"),
        Key("prefixes", _TEXTS, "what a prefix stands for"),
        Key("units", MapOf(_UNIT), "base unit by unit"),
        Key("system_labels", _TEXTS, "label by column of `system`"),
        Key("labels", _TEXTS, "label by column"),
        Key("left_out", MapOf(Prose()), "why a measure is not exported"),
        Key("measure", MapOf(_OWN), "what differs from the default"),
    )
)
_COUNTERS = Spec(
    (
        Key(
            "counter",
            ListOf(
                Spec(
                    (
                        Key("entity", _TEXT, "whose roles they are"),
                        Key("measure", _TEXT, "whose labels they have"),
                        Key("roles", _TEXTS, "name by role"),
                        Key("prefixes", _TUPLE, "the only ones they can have", default=()),
                        Key("replaces", _TUPLE, "columns that say the same", default=()),
                    )
                )
            ),
            "cumulative counters",
        ),
    )
)
_OTHERS = Spec(
    (
        Key(
            "program",
            ListOf(
                Spec(
                    (
                        Key("name", Prose(), "who has the names"),
                        Key("source", Prose(), "where they are published"),
                        Key("note", Prose(), "how they differ"),
                        Key(
                            "entry",
                            ListOf(
                                Spec(
                                    (
                                        Key("label", _EMPTY, "a label", default=""),
                                        Key("metric", _EMPTY, "measure.column", default=""),
                                        Key("theirs", _TEXT, "their name"),
                                    ),
                                    _entry,
                                ),
                                into=tuple,
                            ),
                            "what they call what",
                        ),
                    ),
                    lambda **values: NamingConvention(entries=values.pop("entry"), **values),
                )
            ),
            "exporters and conventions",
        ),
    )
)
