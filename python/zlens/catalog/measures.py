"""Measures: the columns of every table that views read, from the catalog.

A file of `facts/measures` contains one measure, or several with the same columns whose rows differ in grain;
it is named after them, joined by a plus. Files are read on first use; copy `_skeleton.toml` to add one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from zlens.catalog import expressions
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactFile, FactTable, doc
from zlens.schema.validators import DocumentErrors

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
    "pool": "one pool, of aliases or of CPU time",
    "lock": "one lock",
    "zone": "one zone of storage",
    "volume": "one volume",
    "port": "one port",
    "facility": "one coupling facility",
    "structure": "one structure of a coupling facility",
    "channel": "one channel path",
    "row": "the row",
}
UNITS = frozenset(
    {
        "", "%", "/s", "GHz", "MIPS", "MSU/h", "bytes", "bytes/s", "cores", "count", "cycles",
        "cycles/instruction", "frames", "index", "km", "pages", "processors", "ratio", "s", "slots",
        "threads", "W", "J", "°C",
    }
)  # fmt: skip


class MeasureColumn(Struct, frozen=True):
    """One column of a measure. ColumnKeys explains its attributes."""

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
    mean: str = ""
    share_of: str = ""
    #: The columns that `mean` names.
    mean_columns: "tuple[MeasureColumn, ...]" = ()

    @property
    def type_and_unit(self) -> str:
        """Its type, and its unit if it has one."""
        return f"{self.type}, {self.unit}" if self.unit else self.type


class ColumnKeys(FactTable, frozen=True, kw_only=True):
    """What a file states of a column: in itself, in its group, or for a measure of the file."""

    type: Annotated[str | None, doc("the type of its values")] = None
    text: Annotated[str | None, doc("description")] = None
    aggregate: Annotated[str | None, doc("its kind, see AGGREGATES")] = None
    scope: Annotated[str | None, doc("the subject of one value, see SCOPES")] = None
    status: Annotated[str | None, doc("certainty of its formula, see STATUSES")] = None
    source: Annotated[str | None, doc("where it is described")] = None
    unit: Annotated[str | None, doc("its unit")] = None
    formula: Annotated[str | None, doc("over roles (entity.role) and earlier columns")] = None
    definition: Annotated[str | None, doc("in words, if it is not computed or varies")] = None
    needs: Annotated[str | None, doc("what the input must contain for it")] = None
    note: Annotated[str | None, doc("a remark")] = None
    varies_by: Annotated[
        Literal["", "generation"] | None, doc("instead of a formula: see facts/machines")
    ] = None
    counts: Annotated[str | None, doc("of a rate, instead of a formula: what it counts")] = None
    preferred_formula: Annotated[str | None, doc("of roles that have the value itself")] = None
    published: Annotated[str | None, doc("formula with --as-published")] = None
    weight: Annotated[str | None, doc("formula proportional to its denominator")] = None
    unweighted: Annotated[str | None, doc("why it has no weight, and so no mean")] = None
    over_subjects: Annotated[str | None, doc("one of ACROSS, or `by` and a formula")] = None
    subject_filter: Annotated[str | None, doc("the subjects that a sum includes")] = None
    every_note: Annotated[str | None, doc("why --every returns another mean")] = None
    share_of: Annotated[
        str | None, doc("what its total is a share of: MEASURE.COLUMN, over the whole system")
    ] = None
    mean: Annotated[
        str | None, doc("instead of a weight, its mean as a formula over means of other columns")
    ] = None


class MemberKeys(ColumnKeys, frozen=True, kw_only=True):
    """A column of several measures."""

    only: Annotated[tuple[str, ...], Meta(min_length=1, description="the measures that have it")] = ()
    measure: Annotated[dict[str, ColumnKeys], doc("what a measure has otherwise")] = {}


class ColumnGroup(MemberKeys, frozen=True, kw_only=True):
    """A column, or columns that share keys."""

    name: Annotated[str | None, doc("the name of a column")] = None
    each: Annotated[dict[str, MemberKeys], doc("columns that share these keys, by name")] = {}


class MeasureKeys(FactTable, frozen=True, kw_only=True):
    """One measure without its columns."""

    name: Annotated[str, doc("its name, which the name of the file contains")] = field(name="table")
    text: Annotated[str, doc("description")]
    grain: Annotated[str, doc("subject of a row")]
    key: Annotated[tuple[str, ...], doc("its columns that identify a row, beside the leading")]
    scope: Annotated[str, doc("the subject of one value, see SCOPES")] = "system"
    plain: Annotated[bool, doc("whether it has no leading columns")] = False
    no_reader: Annotated[bool, doc("whether no reader feeds it yet")] = False
    sparse: Annotated[bool, doc("whether no row, or no value, means no event")] = False
    lazy: Annotated[bool, doc("whether it is too large to materialize")] = False
    repeats: Annotated[
        bool, doc("whether its amounts are those of other measures: it retains no raw table")
    ] = False
    rows: Annotated[str, doc("FROM clause of its formulas, with roles and helpers")] = ""
    never_merged: Annotated[tuple[str, ...], doc("columns whose values stay separate")] = ()
    parts: Annotated[dict[str, tuple[str, ...]], doc("of such a column: values that may be merged")] = {}
    records: Annotated[str, doc("what provides its rows, for an input without it")] = ""
    span: Annotated[str, doc("length of a row that groups consecutive rows")] = ""
    rate: Annotated[str, doc("formula of columns with counts")] = "sum({counts}) / seconds"
    words: Annotated[dict[str, str], doc("what texts of columns say for {names}")] = {}


class MeasureFile(MeasureKeys, frozen=True, kw_only=True):
    """Measures with the same columns."""

    measure: Annotated[tuple[MeasureKeys, ...], doc("more measures of these columns")] = ()
    column: Annotated[tuple[ColumnGroup, ...], doc("their columns")]


class Measure(MeasureKeys, frozen=True, kw_only=True):
    """One measure.

    A lazy table is computed for every query, only as far as needed. A sparse table without rows or values
    means that no event occurred. `rows` is empty if the measure is computed otherwise, or no reader feeds it
    yet. Rows that differ in a column of `never_merged` stay separate: processor types, or a total and its
    parts, which `parts` lists. Without `span`, a row is as long as the longest of its rows.
    """

    columns: tuple[MeasureColumn, ...]

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a row, including the leading ones."""
        return self.key if self.plain else ("system", "source", "interval_end", *self.key)

    @property
    def has_changes(self) -> bool:
        """Whether its rows are states, each time that they changed."""
        return self.grain.startswith("change ")

    def column(self, name: str) -> MeasureColumn | None:
        return next((column for column in self.columns if column.name == name), None)


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
FOLDER = FACTS / "measures"


def measure_names() -> list[str]:
    """Return the names of all measures, without reading their files."""
    return list(_files(FOLDER))


def measure_files() -> list[Path]:
    """Return the files of all measures."""
    return sorted(set(_files(FOLDER).values()))


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
    path = _files(FOLDER).get(name)
    if path is None:
        raise CatalogError(f"there is no measure {name!r}", expected=", ".join(measure_names()))
    for measure in _load_file(path):
        if measure.name == name:
            return measure
    raise CatalogError(f"has no measure {name!r}", file=str(path), cure="name the file after its measures")


@cache
def _load_file(path: Path) -> tuple[Measure, ...]:
    return parse(path.read_text(encoding="utf-8"), str(path))


_REQUIRED = ("aggregate", "source", "status", "text", "type")
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
    keys: Mapping[str, str]
    only: Sequence[str]
    differences: Mapping[str, ColumnKeys]


def parse(text: str, path: str) -> tuple[Measure, ...]:
    """Return the measures from the text of their file; unknown keys and missing keys are errors."""
    problem = DocumentErrors(path, root="the measure", text=text)
    file = structs.parse(text, path, MeasureFile, problem.root)
    tables = (file, *file.measure)
    columns = list(_shared_columns(file.column, [table.name for table in tables], problem))
    return tuple(_measure(table, columns, problem) for table in tables)


def _shared_columns(
    groups: Sequence[ColumnGroup], measures: Sequence[str], problem: DocumentErrors
) -> Iterator[_SharedColumn]:
    for number, group in enumerate(groups, 1):
        group_location = f"column[{number}]"
        if (group.name is None) == (not group.each):
            raise problem.general_error(
                f"{group_location} has both name and each, or neither", "state one", where=group_location
            )
        shared = _stated(group)
        for name, member in (group.each or {group.name or "": group}).items():
            location = f"{group_location}.each.{name}" if group.each else group_location
            keys = shared if member is group else shared | _stated(member)
            only = member.only or group.only or measures
            differences = member.measure or group.measure
            for key, names, known in (("only", only, measures), ("measure", differences, only)):
                for unknown in [other for other in names if other not in known]:
                    raise problem.general_error(
                        f"{location}.{key} names {unknown}",
                        "name measures of the file that have the column",
                        f"one of {', '.join(known)}",
                        f"{location}.{key}",
                    )
            for missing in [key for key in _REQUIRED if key not in keys]:
                raise structs.missing_error(ColumnKeys, missing, location, problem)
            yield _SharedColumn(name, location, keys, only, differences)


def _stated(keys: ColumnKeys) -> dict[str, str]:
    return {
        name: value for name in ColumnKeys.__struct_fields__ if (value := getattr(keys, name)) is not None
    }


def _measure(table: MeasureKeys, shared: Iterable[_SharedColumn], problem: DocumentErrors) -> Measure:
    rate = " ".join(table.rate.split())
    columns = [] if table.plain else [*LEADING]
    for column in shared:
        if table.name not in column.only:
            continue
        keys: dict[str, Any] = {"scope": table.scope, **column.keys}
        if table.name in column.differences:
            keys |= _stated(column.differences[table.name])
        for word in sorted(set(_WORD.findall(keys["text"])) - set(table.words)):
            raise problem.general_error(
                f"{column.place}.text has {{{word}}}, a word that {table.name} does not have",
                "add it to words",
                where=column.place,
            )
        keys["text"] = _WORD.sub(lambda match: table.words[match[1]], keys["text"])
        if "counts" in keys:
            keys.setdefault("formula", rate.replace("{counts}", keys["counts"]))
        columns.append(MeasureColumn(column.name, **keys))
    complete = tuple(_with_mean_columns(column, columns) for column in columns)
    values = {name: getattr(table, name) for name in MeasureKeys.__struct_fields__}
    return Measure(**values | {"rows": table.rows.strip(), "columns": complete})


def _with_mean_columns(column: MeasureColumn, columns: Sequence[MeasureColumn]) -> MeasureColumn:
    if not column.mean:
        return column
    names = expressions.names(column.mean)
    return replace(column, mean_columns=tuple(other for other in columns if other.name in names))


class AliasSource(FactTable, frozen=True):
    """Names of columns in other sources."""

    text: Annotated[str, doc("the cited source")]
    names: Annotated[dict[str, str], doc("the `table.column` that each name means")]


class AliasFile(FactFile, frozen=True):
    """The names that other sources use for columns of measures."""

    path: ClassVar = "measures/aliases.toml"
    source: tuple[AliasSource, ...]


@cache
def aliases() -> dict[str, tuple[str, str]]:
    """Return normalized names of other sources, each with zlens' `table.column` and the cited source."""
    targets: dict[str, tuple[str, str]] = {}
    for source in AliasFile.load().source:
        for name, column in source.names.items():
            targets.setdefault(_plain(name), (column, source.text))
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
