"""Measures: the columns of every table that views read, from the catalog.

One file of `metrics/` per table, read on first use; copy `_skeleton.toml` to add one. Table
and Column below explain the keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Boolean, Choice, Key, ListOf, MapOf, Prose, Spec, Text

TYPES = ("int", "float", "text", "bool", "time")
#: The kinds of columns, and how several rows of one subject aggregate: see docs/aggregation.md.
AGGREGATES = {
    "key": "names the row",
    "counter": "added",
    "time": "added",
    "ratio": "computed from the sums of its parts",
    "gauge": "averaged, with p50, p95 and maximum beside the mean",
    "state": "the last value",
}
#: How several subjects of one interval aggregate, if the kind does not say it: see docs/aggregation.md.
ACROSS = {
    "sum": "added",
    "mean": "mean by weight",
    "same": "the value that all have",
    "max": "the largest",
    "min": "the smallest",
    "none": "nothing",
}
#: How well a formula is known, with the words that describe it, best first.
STATUSES = {
    "verified": "read in a document of IBM, or found again in the figures that IBM's own program printed",
    "linux": "a metric that IBM wrote for Linux perf, turned into counter numbers",
    "carried": "read for an earlier machine; the counters it uses are unchanged",
    "verified-secondary": "read in a source that is not IBM's",
    "constructed": "built from the definitions of the counters it uses",
    "derived": "follows from definitions or was found in the data; printed nowhere as a formula",
    "unverified": "not confirmed by any source; absent or marked until somebody confirms it",
}
SCOPES = (
    "cpu",
    "core",
    "type",
    "system",
    "machine",
    "partition",
    "guest",
    "workload",
    "device",
    "pool",
    "lock",
    "zone",
    "volume",
    "port",
    "channel",
    "row",
)
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

#: What a formula may depend on.
BY = ("", "generation")


class MeasureColumn(Struct, frozen=True):
    """One column of a measure.

    formula     over roles (entity.role) and earlier columns, compiled into SQL; '' if there is none
    by          'generation': the formula depends on the machine, see facts/machines
    counts      of a rate, instead of a formula: what it counts, per second in which that is known
    given       with by: a formula over roles that give the value itself; it takes precedence
    published   the formula to use instead with --as-published: rounded as published tables are
    definition  the formula in words or counters, if nothing computes it yet or machines differ
    aggregate   its kind, which determines how several rows of one subject aggregate: see AGGREGATES
    weight      for a ratio or a gauge: a formula over columns of the row, proportional to its denominator
    unweighted  for a ratio: why it has no weight, and so no mean over rows
    across      how several subjects aggregate: one of ACROSS, or `by` and a formula; '' = as the kind says
    among       the subjects that a sum over subjects needs: a formula over columns of the row; '' = all
    every       why --every gives another value than the mean of the rows it joins
    scope       the scope of one value: see SCOPES
    needs       what the input must contain for it
    status      how well its formula is known: see STATUSES
    """

    name: str
    type: str
    unit: str
    text: str
    formula: str
    definition: str
    aggregate: str
    scope: str
    needs: str
    status: str
    source: str
    note: str
    by: str = ""
    counts: str = ""
    given: str = ""
    published: str = ""
    weight: str = ""
    unweighted: str = ""
    across: str = ""
    among: str = ""
    every: str = ""


class Measure(Struct, frozen=True):
    """One measure. `key` and the leading columns identify a row; an empty table has no reader yet.

    A lazy table is too large to keep: it is computed for every query, as far as that needs it. `rows` is
    the FROM clause of its formulas, with roles and helpers (catalog/helpers); empty if it is made
    otherwise, or no reader feeds it yet. Rows that differ in a column of `apart` are never merged:
    processor types, or a whole and its parts. `parts` lists, for such a column, values that are parts
    of one whole: rows with these may be merged. `records` names the records that give the rows, for the page
    of an input without them.
    """

    name: str
    text: str
    grain: str
    key: tuple[str, ...]
    scope: str
    plain: bool
    empty: bool
    columns: tuple[MeasureColumn, ...]
    lazy: bool = False
    rows: str = ""
    apart: tuple[str, ...] = ()
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    records: str = ""
    #: Length of a row, where the rows it groups follow each other; else that of the longest.
    span: str = ""
    #: Seconds of a row in which {counts} is known; else all of them.
    known: str = ""

    def column(self, name: str) -> MeasureColumn | None:
        for column in self.columns:
            if column.name == name:
                return column
        return None


def _leading(name: str, type: str, unit: str, text: str, aggregate: str, source: str) -> MeasureColumn:
    return MeasureColumn(name, type, unit, text, "", "", aggregate, "row", "", "derived", source, "")


#: The columns that every table begins with, except those marked plain.
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
        "short: a stub; gap: the sample before is missing; such rows are left out of means; else NULL",
        "state",
        "length of the interval against the usual one",
    ),
)


def measures_folder() -> Path:
    """The directory of the measures' files."""
    return FACTS / "measures"


def measure_names() -> list[str]:
    """Names of all measures, without reading their files."""
    return list(_stems(measures_folder()))


@cache
def _stems(folder: Path) -> tuple[str, ...]:
    # Every query asks for them several times.
    return tuple(sorted(path.stem for path in folder.glob("[!_]*.toml") if path.stem != "aliases"))


@cache
def load_measure(name: str) -> Measure:
    """One measure with its columns, the leading ones first; CatalogError if its file is wrong."""
    path = measures_folder() / f"{name}.toml"
    if name not in measure_names():
        raise CatalogError(f"there is no measure {name!r}", expected=", ".join(measure_names()))
    return parse(path.read_text(encoding="utf-8"), str(path))


_TEXT = Text()
_NAMES = ListOf(_TEXT, into=tuple)
_NEEDED = ("name", "type", "unit", "text", "aggregate", "status", "source")
_LEFT_OUT = frozenset(MeasureColumn.__struct_fields__) - {*_NEEDED, "by"}
_COLUMN = Spec(
    (
        *(Key(name, _TEXT) for name in _NEEDED),
        Key("by", Choice(BY), "what it differs by", default=""),
        *(Key(name, _TEXT, default="") for name in sorted(_LEFT_OUT)),
    ),
    MeasureColumn,
)
_TABLE = Spec(
    (
        Key("table", _TEXT, "its name, that of its file"),
        Key("text", _TEXT, "what it is"),
        Key("grain", _TEXT, "what a row is"),
        Key("key", _NAMES, "the columns that tell rows apart"),
        Key("scope", _TEXT, "what one value is of", default=""),
        Key("plain", Boolean(), "whether it lacks the leading columns", default=False),
        Key("empty", Boolean(), "whether no reader feeds it yet", default=False),
        Key("lazy", Boolean(), "whether it is too large to keep", default=False),
        Key("rows", Prose(empty=True), "what its formulas are over", default=""),
        Key("apart", _NAMES, "columns whose values are never put together", default=()),
        Key("parts", MapOf(_NAMES), "values that are parts of one whole", default={}),
        Key("records", _TEXT, "what gives its rows, in words", default=""),
        Key("span", Prose(empty=True), "length of a row that groups successive rows", default=""),
        Key("known", Prose(empty=True), "seconds of a row in which {counts} is known", default=""),
        Key("column", ListOf(_COLUMN), "its columns"),
    )
)


def parse(text: str, path: str) -> Measure:
    """A measure from the text of its file; unknown keys and missing keys are errors."""
    values = document.parse_checked(text, path, _TABLE, "the measure")
    scope = values["scope"] or _scope(values["table"])
    columns: list[MeasureColumn] = values.pop("column")
    known = f"({' '.join(values['known'].split())})" if values["known"] else "seconds"

    def completed(column: MeasureColumn) -> MeasureColumn:
        column = column if column.scope else replace(column, scope=scope)
        rate = f"sum({column.counts}) / {known.replace('{counts}', column.counts)}" if column.counts else ""
        return replace(column, formula=column.formula or rate)

    leading = () if values["plain"] else LEADING
    return Measure(
        values.pop("table"), **values | {"scope": scope, "columns": (*leading, *map(completed, columns))}
    )


def _scope(name: str) -> str:
    """The scope of a table that does not state it: its own name, the machine, or the system."""
    return name if name in SCOPES else {"cec": "machine"}.get(name, "system")


@cache
def aliases() -> dict[str, tuple[str, str]]:
    """Names that other sources use, normalized, each with our `table.column` and its source."""
    path = measures_folder() / "aliases.toml"
    data = document.load_unchecked(path)
    targets: dict[str, tuple[str, str]] = {}
    for source in data["source"]:
        for name, ours in source["names"].items():
            targets.setdefault(_plain(name), (ours, source["text"]))
    return targets


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "_", name.strip().lower())


def alias_source(name: str) -> str:
    """The source of an alias; '' if it is none."""
    return aliases().get(_plain(name), ("", ""))[1]


def find_columns(name: str) -> list[tuple[Measure, MeasureColumn]]:
    """The columns that a name may mean: `table.column`, a bare column of any table, or an alias."""
    plain_name = _plain(name)
    columns = columns_named(plain_name)
    return columns_named(aliases()[plain_name][0]) if not columns and plain_name in aliases() else columns


def columns_named(name: str) -> list[tuple[Measure, MeasureColumn]]:
    """The columns with a name, as `table.column` or in any table; aliases are ignored."""
    table_name, dot, bare = name.rpartition(".")
    searched = measure_names() if not dot else [table_name] if table_name in measure_names() else []
    pairs = [(load_measure(name), load_measure(name).column(bare)) for name in searched]
    return [(measure, column) for measure, column in pairs if column is not None]


def all_columns() -> Iterator[tuple[Measure, MeasureColumn]]:
    """Every column of every measure."""
    for name in measure_names():
        for column in load_measure(name).columns:
            yield load_measure(name), column
