"""Measures: the columns of every table that views read, from the catalog.

A file of `facts/measures` contains one measure, or several with the same columns whose rows differ in grain;
it is named after them, joined by a plus. Files are read on first use; copy `_skeleton.toml` to add one.
Measure and MeasureColumn below explain the keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Boolean, Choice, DocumentErrors, Key, ListOf, MapOf, Prose, Spec, Text

TYPES = ("int", "float", "text", "bool", "time")
#: Kinds of columns, and how several rows of one subject aggregate: see docs/aggregation.md.
AGGREGATES = {
    "key": "names the row",
    "counter": "added",
    "time": "added",
    "ratio": "computed from the sums of its parts",
    "gauge": "averaged, with p50, p95 and maximum in addition to the mean",
    "state": "the last value",
}
#: Aggregates over the subjects of one interval, if the kind does not define it: see docs/aggregation.md.
ACROSS = {
    "sum": "added",
    "mean": "mean by weight",
    "same": "the value that all have",
    "max": "the largest",
    "min": "the smallest",
    "none": "nothing",
}
#: Certainty of a formula, with the words that describe it, best first.
STATUSES = {
    "verified": "read in a document of IBM, or reproduced from numbers that IBM's program printed",
    "linux": "a metric that IBM wrote for Linux perf, turned into counter numbers",
    "carried": "read for an earlier machine; the counters it uses are unchanged",
    "verified-secondary": "read in a source that is not IBM's",
    "constructed": "built from the definitions of the counters it uses",
    "derived": "follows from definitions or was found in the data; printed nowhere as a formula",
    "unverified": "not confirmed by any source; absent or marked until it is confirmed",
}
#: Subjects of one value.
SCOPES = {
    "cpu": "one logical processor (one thread, under multithreading)",
    "core": "one core",
    "type": "the cores of one type of a system",
    "system": "one system",
    "machine": "the processors of one type of the machine",
    "partition": "one partition and type of processor",
    "guest": "one guest",
    "workload": "one class period",
    "device": "one device",
    "pool": "one pool of aliases",
    "lock": "one lock",
    "zone": "one zone of storage",
    "volume": "one volume",
    "port": "one port",
    "channel": "one channel path",
    "row": "the row",
}
UNITS = frozenset(
    {
        "",
        "%",
        "/s",
        "GHz",
        "MIPS",
        "MSU/h",
        "bytes",
        "bytes/s",
        "cores",
        "count",
        "cycles",
        "cycles/instruction",
        "frames",
        "index",
        "pages",
        "processors",
        "ratio",
        "s",
        "slots",
        "threads",
    }
)

#: Values of `varies_by`.
BY = ("", "generation")


class MeasureColumn(Struct, frozen=True):
    """One column of a measure.

    formula     over roles (entity.role) and earlier columns, compiled into SQL; '' if there is none
    varies_by   'generation': the formula depends on the machine, see facts/machines
    counts      for a rate, instead of a formula: the counted role, per second in which it is known
    preferred_formula  with varies_by: a formula over roles that provide the value itself; it takes precedence
    published   the formula to use instead with --as-published: rounded like published tables
    definition  the formula in words or counters, if nothing computes it yet or machines differ
    aggregate   its kind, which determines how several rows of one subject aggregate: see AGGREGATES
    weight      for a ratio or a gauge: a formula over columns of the row, proportional to its denominator
    unweighted  for a ratio: why it has no weight, and so no mean over rows
    over_subjects      how several subjects aggregate: one of ACROSS, or `by` and a formula; '' = by its kind
    subject_filter     a formula over columns of the row: the subjects that a sum over subjects includes
    every_note         why --every returns another value than the mean of the rows of a bucket
    scope       the scope of one value: see SCOPES
    needs       what the input must contain for it
    status      certainty of its formula: see STATUSES
    """

    name: str
    type: str
    text: str
    aggregate: str
    scope: str
    status: str
    source: str
    unit: str = ""
    formula: str = ""
    definition: str = ""
    needs: str = ""
    note: str = ""
    varies_by: str = ""
    counts: str = ""
    preferred_formula: str = ""
    published: str = ""
    weight: str = ""
    unweighted: str = ""
    over_subjects: str = ""
    subject_filter: str = ""
    every_note: str = ""

    @property
    def type_and_unit(self) -> str:
        """Its type, and its unit if it has one."""
        return f"{self.type}, {self.unit}" if self.unit else self.type


class Measure(Struct, frozen=True):
    """One measure. `key` and the leading columns identify a row; no reader feeds an empty table yet.

    A lazy table is too large to materialize: every query computes only the parts that it needs. A sparse
    table without rows or values means that no event occurred. `rows` is the FROM clause of its formulas, with
    roles and helpers (catalog/helpers); it is empty if the measure is computed otherwise, or no reader feeds
    it yet. Rows that differ in a column of `never_merged` stay separate: processor types, or a total and
    its parts. `parts` lists, for such a column, values that are parts of one total: rows with these may be
    merged. `records` names the records that provide the rows, for the web UI of an input without them.
    """

    name: str
    text: str
    grain: str
    key: tuple[str, ...]
    scope: str
    plain: bool
    no_reader: bool
    columns: tuple[MeasureColumn, ...]
    sparse: bool = False
    lazy: bool = False
    rows: str = ""
    never_merged: tuple[str, ...] = ()
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    records: str = ""
    #: Length of a row that groups consecutive rows; otherwise the maximum length of the rows applies.
    span: str = ""

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a row, including the leading ones."""
        return self.key if self.plain else ("system", "source", "interval_end", *self.key)

    def column(self, name: str) -> MeasureColumn | None:
        for column in self.columns:
            if column.name == name:
                return column
        return None


def _leading(name: str, type: str, unit: str, text: str, aggregate: str, source: str) -> MeasureColumn:
    return MeasureColumn(name, type, text, aggregate, "row", "derived", source, unit)


#: Leading columns of every table, except tables marked plain.
LEADING = (
    _leading("system", "text", "", "system", "key", "the system the record or report names"),
    _leading("source", "text", "", "where the row comes from: zvm-monitor, rmf-xml", "key", "the reader"),
    _leading("interval_end", "time", "", "end of the interval, UTC", "key", "the interval of the source"),
    _leading(
        "seconds",
        "float",
        "s",
        "length of the row's interval: the time since the sample before",
        "time",
        "times of the two samples, or the interval the source prints",
    ),
    _leading(
        "flag",
        "text",
        "",
        "short: a short interval; gap: the sample before is missing; means exclude such rows; else NULL",
        "state",
        "length of the interval against the usual one",
    ),
)
LEADING_NAMES = tuple(column.name for column in LEADING)


def measures_folder() -> Path:
    """Return the folder of the measures' files."""
    return FACTS / "measures"


def measure_names() -> list[str]:
    """Return the names of all measures, without reading their files."""
    return list(_files(measures_folder()))


def measure_files() -> list[Path]:
    """Return the files of all measures."""
    return sorted(set(_files(measures_folder()).values()))


@cache
def _files(folder: Path) -> dict[str, Path]:
    # Cached because every query needs them several times.
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("[!_]*.toml")):
        for name in path.stem.split("+") if path.stem != "aliases" else ():
            if name in files:
                raise CatalogError(
                    f"{name} is a measure of {files[name].name} too", file=str(path), cure="rename one"
                )
            files[name] = path
    return dict(sorted(files.items()))


@cache
def load_measure(name: str) -> Measure:
    """Return one measure with its columns, the leading ones first; CatalogError if its file is invalid."""
    path = _files(measures_folder()).get(name)
    if path is None:
        raise CatalogError(f"there is no measure {name!r}", expected=", ".join(measure_names()))
    for measure in _load_file(path):
        if measure.name == name:
            return measure
    raise CatalogError(f"has no measure {name!r}", file=str(path), cure="name the file after its measures")


@cache
def _load_file(path: Path) -> tuple[Measure, ...]:
    return parse(path.read_text(encoding="utf-8"), str(path))


_TEXT = Text()
_NAMES = ListOf(_TEXT, into=tuple)
_REQUIRED = frozenset({"type", "text", "aggregate", "status", "source"})
#: Keys of a column: its own, those of its group, and those that a measure of the file overrides.
_KEYS = tuple(
    Key(name, Choice(BY) if name == "varies_by" else _TEXT, default=None)
    for name in MeasureColumn.__struct_fields__
    if name != "name"
)
_MEMBER = (
    *_KEYS,
    Key("only", ListOf(_TEXT, least=1), "the measures of the file that have it", default=None),
    Key("measure", MapOf(Spec(_KEYS)), "differences of a measure of the file", default=None),
)
_GROUP = Spec(
    (
        *_MEMBER,
        Key("name", _TEXT, "the name of a column", default=None),
        Key("each", MapOf(Spec(_MEMBER)), "columns that share these keys, by name", default=None),
    )
)
_MEASURE = (
    Key("table", _TEXT, "its name, which the name of the file contains"),
    Key("text", _TEXT, "description"),
    Key("grain", _TEXT, "subject of a row"),
    Key("key", _NAMES, "the columns that identify a row"),
    Key("scope", _TEXT, "subject of one value", default="system"),
    Key("plain", Boolean(), "whether it has no leading columns", default=False),
    Key("no_reader", Boolean(), "whether no reader feeds it yet", default=False),
    Key("sparse", Boolean(), "whether a missing row or value means zero", default=False),
    Key("lazy", Boolean(), "whether it is too large to cache", default=False),
    Key("rows", Prose(empty=True), "entities that its formulas use", default=""),
    Key("never_merged", _NAMES, "columns whose values are never merged", default=()),
    Key("parts", MapOf(_NAMES), "values that are parts of one total", default={}),
    Key("records", _TEXT, "source of its rows, in words", default=""),
    Key("span", Prose(empty=True), "length of a row that groups successive rows", default=""),
    Key("rate", Prose(), "rate of {counts} per second", default="sum({counts}) / seconds"),
    Key("words", MapOf(_TEXT), "words that replace {names} in the texts of its columns", default={}),
)
_FILE = Spec(
    (
        *_MEASURE,
        Key("measure", ListOf(Spec(_MEASURE)), "more measures of these columns", default=()),
        Key("column", ListOf(_GROUP), "their columns"),
    )
)
_WORD = re.compile(r"\{(\w+)\}")


class _SharedColumn(Struct, frozen=True):
    """A column of the measures of a file.

    place        its location in errors
    keys         its keys, including those it shares with its group
    only         the measures that have it
    differences  the keys that it overrides in some of these measures
    """

    name: str
    place: str
    keys: Mapping[str, Any]
    only: Sequence[str]
    differences: Mapping[str, Mapping[str, Any]]


def parse(text: str, path: str) -> tuple[Measure, ...]:
    """Return the measures from the text of their file; unknown keys and missing keys are errors."""
    problem = DocumentErrors(path, root="the measure", text=text)
    values = _FILE.check(document.parse_toml(text, path), "", problem)
    groups = values.pop("column")
    tables = [values, *values.pop("measure")]
    columns = list(_shared_columns(groups, [table["table"] for table in tables], problem))
    return tuple(_measure(table, columns, problem) for table in tables)


def _shared_columns(
    groups: Sequence[Mapping[str, Any]], measures: Sequence[str], problem: DocumentErrors
) -> Iterator[_SharedColumn]:
    for number, group in enumerate(groups, 1):
        group_location, shared = f"column[{number}]", _stated(group)
        name, each = shared.pop("name", None), shared.pop("each", None)
        if (name is None) == (each is None):
            raise problem.general_error(
                f"{group_location} has both name and each, or neither", "state one", where=group_location
            )
        for member, member_keys in (each or {name: {}}).items():
            location = f"{group_location}.each.{member}" if each else group_location
            keys = shared | _stated(member_keys)
            only, differences = keys.pop("only", measures), keys.pop("measure", {})
            for key, names, known in (("only", only, measures), ("measure", differences, only)):
                for unknown in [other for other in names if other not in known]:
                    raise problem.general_error(
                        f"{location}.{key} names {unknown}",
                        "name measures of the file that have the column",
                        f"one of {', '.join(known)}",
                        f"{location}.{key}",
                    )
            for missing in sorted(_REQUIRED - keys.keys()):
                raise problem.missing(f"{location}.{missing}", Key(missing, _TEXT))
            yield _SharedColumn(member, location, keys, only, differences)


def _stated(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in keys.items() if value is not None}


def _measure(table: Mapping[str, Any], shared: Iterable[_SharedColumn], problem: DocumentErrors) -> Measure:
    values = dict(table)
    name, rate, words = values.pop("table"), " ".join(values.pop("rate").split()), values.pop("words")
    columns = [] if values["plain"] else [*LEADING]
    for column in shared:
        if name not in column.only:
            continue
        keys = {"scope": values["scope"], **column.keys, **_stated(column.differences.get(name, {}))}
        for word in sorted(set(_WORD.findall(keys["text"])) - set(words)):
            raise problem.general_error(
                f"{column.place}.text has {{{word}}}, which {name} does not define",
                "add it to words",
                where=column.place,
            )
        keys["text"] = _WORD.sub(lambda match: words[match[1]], keys["text"])
        if "counts" in keys:
            keys.setdefault("formula", rate.replace("{counts}", keys["counts"]))
        columns.append(MeasureColumn(column.name, **keys))
    return Measure(name, **values | {"columns": tuple(columns)})


@cache
def aliases() -> dict[str, tuple[str, str]]:
    """Return normalized names of other sources, each with zlens' `table.column` and the cited source."""
    path = measures_folder() / "aliases.toml"
    data = document.load_unchecked(path)
    targets: dict[str, tuple[str, str]] = {}
    for source in data["source"]:
        for name, column in source["names"].items():
            targets.setdefault(_plain(name), (column, source["text"]))
    return targets


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "_", name.strip().lower())


def alias_source(name: str) -> str:
    """Return the cited source of an alias; '' if it is not an alias."""
    return aliases().get(_plain(name), ("", ""))[1]


def find_columns(name: str) -> list[tuple[Measure, MeasureColumn]]:
    """Return the columns that a name may mean: `table.column`, a bare column of any table, or an alias."""
    plain_name = _plain(name)
    columns = columns_named(plain_name)
    return columns_named(aliases()[plain_name][0]) if not columns and plain_name in aliases() else columns


def columns_named(name: str) -> list[tuple[Measure, MeasureColumn]]:
    """Return the columns with a name, as `table.column` or in any table; aliases are ignored."""
    table_name, dot, bare = name.rpartition(".")
    searched = measure_names() if not dot else [table_name] if table_name in measure_names() else []
    pairs = [(load_measure(name), load_measure(name).column(bare)) for name in searched]
    return [(measure, column) for measure, column in pairs if column is not None]


def all_columns() -> Iterator[tuple[Measure, MeasureColumn]]:
    """Yield every column of every measure."""
    for name in measure_names():
        for column in load_measure(name).columns:
            yield load_measure(name), column
