"""What a report is: one file of the catalog, read and checked here.

A report is data, not a program. It has one or more tables; a table has a query over the measures, columns
that show what the query gives, and kinds of row (means, totals, interval rows). `_skeleton.toml` explains
every key to the person who writes one. Nothing here reads measurements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from zlens.catalog import aggregation, metrics
from zlens.errors import CatalogError, QueryError
from zlens.reports import menus
from zlens.schema import toml
from zlens.schema.facts import FACTS

FOLDER = FACTS / "reports"

#: How well we know that a column shows what its heading says; the words of the whole catalog.
STATUSES = tuple(metrics.STATUSES)
#: Statuses that put a footnote under the report.
REMARKABLE = ("constructed", "derived", "unverified")
TYPES = ("number", "id", "text", "time", "bool")
KINDS = ("mean", "total", "interval", "row", "query")
MEAN_RULES = ("mean", "plain", "sum", "min", "max", "first", "last", "mix", "none")
#: What the means of a report are: as the catalog states of the measures, or as IBM's report prints them.
MEANS = ("weighted", "plain")
TOTAL_RULES = ("sum", "mean", "min", "max", "mix", "count", "none")

LABEL_WIDTH = 8
TIME_HEADING = ("Interval", "End Time")

_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*\Z")
_MEASURE = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*\Z")
_NUMBER_LINE = re.compile(r'^number\s*=\s*"([^"]*)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: what it shows, how wide, and what we know about it."""

    key: str
    column: str  # the column of the query it shows
    name: str  # its full name where there is room for one line
    heading: tuple[str, ...]
    group: str | None
    type: str
    width: int
    decimals: int
    align: str
    keep: bool  # repeated on every part of a folded report
    mean: str
    total: str
    measures: tuple[
        str, ...
    ]  # table.column of the measures it shows; unit, source and status come from there
    text: str  # what it shows, where the measures do not say it
    unit: str
    source_note: str  # what is to be said about its source beyond that
    status: str  # its own status; '' = that of its measures
    missing: str  # why it may be dotted, and what would give it, beyond what the measures need

    @property
    def declared(self) -> metrics.Column | None:
        """What says how it is averaged; a column that no measure explains weighs as long as its interval."""
        if not self.measures:
            return replace(metrics.LEADING[0], name=self.column, type="float", aggregate="gauge")
        found = metrics.columns_named(self.measures[0])
        return next((column for _, column in found if "mean" in aggregation.gives(column)), None)


@dataclass(frozen=True, slots=True)
class Group:
    """A heading over several neighbouring columns."""

    key: str
    heading: str


@dataclass(frozen=True, slots=True)
class Rows:
    """One kind of row of a table."""

    kind: str
    label: str
    of: str  # total: the kind of row it adds up
    by: tuple[str, ...]  # total: one row for each of these columns of the query
    rule: str | None  # total: one rule for every number column instead of the columns' own
    cells: dict[str, str]  # fixed texts by column key
    query: str  # query: its own question
    blank: bool  # a blank line between intervals

    @property
    def called(self) -> str:
        """What csv and json call such a row: its kind, or its label where its question is its own."""
        return self.label.strip("<>. ").lower() if self.kind == "query" and self.label else self.kind


@dataclass(frozen=True, slots=True)
class Table:
    key: str
    title: str
    query: str
    time: str | None
    subject: tuple[str, ...]
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    rows: tuple[Rows, ...]
    #: Where the names stand in rows, not in headings: columns of names, each with the column of their values.
    lines: dict[str, str]
    line_count: int  # how many names its rows have; 0 = its columns are counted

    @property
    def shown(self) -> int:
        """How many things it shows a value of."""
        return self.line_count or len(self.columns)

    def group(self, key: str) -> Group:
        return next(group for group in self.groups if group.key == key)


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote; with `when`, only if that question has a row."""

    text: str
    when: str


@dataclass(frozen=True, slots=True)
class Absent:
    """Columns that the classic report has and ours leaves out, because nothing public gives them."""

    columns: tuple[str, ...]  # their headings
    role: str  # the role or record that would give them
    why: str


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    number: str
    title: str
    group: str
    text: str
    source: str
    status: str
    needs: str
    block: str  # the column of every query whose values get a header block each
    members: str  # which systems a block is of, where the table of systems has no such column: system, block
    tables: tuple[Table, ...]
    notes: tuple[Note, ...]
    absent: tuple[Absent, ...]
    file: str

    @property
    def shown(self) -> int:
        """How many columns it has; a table whose names stand in rows has as many as there are names."""
        return sum(table.shown for table in self.tables)

    @property
    def known(self) -> int:
        """How many columns the classic report has, as far as they are known: ours and the absent ones."""
        return self.shown + sum(len(one.columns) for one in self.absent)


@cache
def files(folder: Path = FOLDER) -> dict[str, Path]:
    """The files of the reports in a folder and the folders of their groups, by the names of the reports.

    A leading underscore hides a file.
    """
    known: dict[str, Path] = {}
    for path in sorted([*folder.glob("[!_]*.toml"), *folder.glob("*/[!_]*.toml")]):
        other = known.setdefault(path.stem, path)
        if other is not path:
            raise CatalogError(f"the report {path.stem} is also in {other.parent.name}", file=str(path))
    return dict(sorted(known.items()))


def names(folder: Path = FOLDER) -> list[str]:
    """Short names of the reports in a folder."""
    return list(files(folder))


def folder_of(group: str) -> str:
    """The name of the folder that has the reports of a group: `pci_functions` for `PCI functions`."""
    return re.sub(r"[^a-z0-9 ]", "", group.lower()).replace(" ", "_")


def numbers(folder: Path = FOLDER) -> dict[str, str]:
    """The numbers of reports, and the short names they lead to; the files are not read beyond that."""
    found: dict[str, str] = {}
    for name, path in files(folder).items():
        line = _NUMBER_LINE.search(path.read_text(encoding="utf-8"))
        if line and line[1]:
            found.setdefault(line[1], name)
    return found


def find(wanted: str, folder: Path = FOLDER) -> str:
    """The short name for a short name or a number, in any case."""
    asked = wanted.strip().lower()
    known = names(folder)
    if asked in known:
        return asked
    numbered = {number.lower(): name for number, name in numbers(folder).items()}
    if asked in numbered:
        return numbered[asked]
    menu = menus.find(asked)
    if menu is not None:
        raise QueryError(
            f"{menu.number} is a menu of reports, not one of them", cure=f"zlens report {asked} lists them"
        )
    raise QueryError(
        f"there is no report {wanted!r}",
        expected=f"one of {', '.join(known)}",
        cure="zlens report --list names them all",
    )


def load(wanted: str, folder: Path = FOLDER) -> Definition:
    """The report of that short name or number, read and checked."""
    path = files(folder)[find(wanted, folder)]
    return read(path.read_text(encoding="utf-8"), str(path), path.stem)


@lru_cache(maxsize=128)
def read(text: str, file: str, stem: str) -> Definition:
    """A definition from the text of its file; CatalogError says what is wrong in it."""
    try:
        data = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise CatalogError(f"not a TOML file: {error}", file=file) from None
    top = _Reader(data, file, "the report")
    name = top.text("name")
    if name != stem:
        top.fail(f"its name is {name!r}", f"the name of its file, {stem!r}")
    definition = Definition(
        name=name,
        number=top.text("number", ""),
        title=top.text("title"),
        group=top.text("group"),
        text=top.text("text"),
        source=top.text("source"),
        status=top.choice("status", STATUSES),
        needs=top.text("needs"),
        block=top.identifier("block", "system"),
        members=top.question("members", ""),
        tables=(),
        notes=tuple(
            Note(note.text("text"), note.question("when", ""))
            for note in top.each("notes", "note", ("text",))
        ),
        absent=tuple(_absent(reader) for reader in top.each("absent", "absent columns", ("role",))),
        file=file,
    )
    plain = top.choice("means", MEANS, "weighted") == "plain"
    tables = tuple(_table(reader, plain) for reader in top.each("tables", "table", ("key",)))
    top.done()
    if not tables:
        top.fail("it has no table", "at least one [[tables]]")
    _once([table.key for table in tables], "table", top)
    return replace(definition, tables=tables)


def _absent(reader: _Reader) -> Absent:
    absent = Absent(reader.lines("columns"), reader.text("role"), reader.text("why"))
    reader.done()
    if not absent.columns or not all(heading.strip() for heading in absent.columns):
        reader.fail(f"columns = {list(absent.columns)!r}", "the headings of the columns it leaves out")
    return absent


def _table(reader: _Reader, plain: bool) -> Table:
    key = reader.identifier("key")
    table = Table(
        key=key,
        title=reader.text("title", ""),
        query=reader.question("query"),
        time=reader.identifier("time", "") or None,
        subject=reader.identifiers("subject"),
        groups=tuple(
            Group(group.identifier("key"), group.text("heading"))
            for group in reader.each("groups", "group", ("key",))
        ),
        columns=tuple(_column(column, plain) for column in reader.each("columns", "column", ("key",))),
        rows=tuple(_rows(rows) for rows in reader.each("rows", "rows", ("kind", "label"))),
        lines=reader.cells("lines"),
        line_count=reader.integer("line_count", 0, 1000, 0),
    )
    reader.done()
    _check_columns(table, reader)
    _check_rows(table, reader)
    return table


def _column(reader: _Reader, plain: bool) -> Column:
    key = reader.identifier("key")
    kind = reader.choice("type", TYPES, "number")
    mean = "mix" if kind != "number" else "plain" if plain else "mean"
    heading = reader.lines("heading")
    measures = reader.lines("measures", ())
    # What no measure explains, the report has to explain itself.
    own = "" if measures else None
    column = Column(
        key=key,
        column=reader.identifier("column", key),
        name=reader.text("name", " ".join(line.strip() for line in heading if line.strip())),
        heading=heading,
        group=reader.identifier("group", "") or None,
        type=kind,
        width=reader.integer("width", 1, 200),
        decimals=reader.integer("decimals", 0, 9, 0),
        align=reader.choice("align", ("left", "right"), "right" if kind in ("number", "id") else "left"),
        keep=reader.flag("keep", False),
        mean=reader.choice("mean", MEAN_RULES, mean),
        total=reader.choice("total", TOTAL_RULES, "none"),
        measures=measures,
        text=reader.text("text", own),
        unit=reader.text("unit", ""),
        source_note=reader.text("source_note", own),
        status=reader.choice("status", STATUSES, own),
        missing=reader.text("missing", ""),
    )
    reader.done()
    for measure in measures:
        if not _MEASURE.match(measure):
            reader.fail(f"the measure {measure!r}", "table.column")
    if column.decimals and kind != "number":
        reader.fail(f"it has {column.decimals} decimals and the type {kind!r}", "decimals only of a number")
    if kind != "number" and {column.mean, column.total} & {"mean", "plain", "sum"}:
        reader.fail(
            f"its rule for means or totals adds up a column of type {kind!r}", "mix, last, count or none"
        )
    for line in heading:
        if len(line) > column.width:
            reader.fail(
                f"the heading {line!r} is wider than the column", f"at most {column.width} characters"
            )
    return column


def _rows(reader: _Reader) -> Rows:
    rows = Rows(
        kind=reader.choice("kind", KINDS),
        label=reader.text("label", ""),
        of=reader.choice("of", ("mean", "interval", "row"), "mean"),
        by=reader.identifiers("by", ()),
        rule=reader.choice("rule", TOTAL_RULES, "") or None,
        cells=reader.cells("cells"),
        query=reader.question("query", ""),
        blank=reader.flag("blank", False),
    )
    reader.done()
    if (rows.kind == "query") != bool(rows.query):
        reader.fail(f"rows of kind {rows.kind!r} and a query of their own", "a query with kind 'query' only")
    return rows


def _check_columns(table: Table, reader: _Reader) -> None:
    if not table.columns:
        reader.fail("it has no column", "at least one [[tables.columns]]")
    if not table.subject:
        reader.fail(
            "its subject is empty", "the columns of the query that tell its rows apart, and order them"
        )
    _once([column.key for column in table.columns], "column", reader)
    _once([group.key for group in table.groups], "group", reader)
    reserved = {"row", "table", "flag", "system", "interval_end"} & {column.key for column in table.columns}
    if reserved:
        reader.fail(f"the key {min(reserved)!r} is the name of a field every row has", "another key")
    spans = group_spans(table.columns)
    for group in table.groups:
        found = [span for span in spans if span[0] == group.key]
        if len(found) != 1:
            what = "over no column" if not found else "over columns that are not neighbours"
            reader.fail(f"the group {group.key!r} is {what}", "one run of neighbouring columns")
        _, first, last = found[0]
        width = sum(column.width for column in table.columns[first : last + 1]) + last - first
        if len(group.heading) + 2 > width:
            reader.fail(
                f"the group heading {group.heading!r} is wider than its columns",
                f"at most {width - 2} characters",
            )
    if bool(table.lines) != bool(table.line_count):
        reader.fail("lines and line_count", "both or none")
    strange = {*table.lines, *table.lines.values()} - {column.key for column in table.columns}
    if strange:
        reader.fail(f"lines of the column {min(strange)!r}", "keys of columns")
    known = {group.key for group in table.groups}
    for column in table.columns:
        if column.group and column.group not in known:
            reader.fail(
                f"column {column.key!r} is in the group {column.group!r}", "a group of [[tables.groups]]"
            )


def _check_rows(table: Table, reader: _Reader) -> None:
    if not table.rows:
        reader.fail("it has no rows", "at least one [[tables.rows]]")
    kinds = {rows.kind for rows in table.rows}
    columns = {column.key for column in table.columns}
    if "mean" in kinds:
        for column in table.columns:
            known = any(metrics.columns_named(name) for name in column.measures)
            if column.mean == "mean" and known and column.declared is None:
                reader.fail(
                    f"column {column.key!r} is of a measure that has no mean",
                    "another rule: last, mix, none",
                )
    for rows in table.rows:
        if rows.kind in ("mean", "interval") and not table.time:
            reader.fail(f"rows of kind {rows.kind!r} need a time", "time = the query's column for it")
        if rows.kind == "row" and table.time:
            reader.fail("rows of kind 'row' have no time", "kind 'interval', or no time in the table")
        if rows.kind == "total" and rows.of not in kinds:
            reader.fail(
                f"a total of {rows.of!r} rows, of which it has none", f"one of {', '.join(sorted(kinds))}"
            )
        if rows.kind != "total" and (rows.by or rows.rule):
            reader.fail(f"by or rule in rows of kind {rows.kind!r}", "them in rows of kind 'total' only")
        shown = {column.column for column in table.columns} | set(table.subject)
        unknown = set(rows.by) - shown
        if unknown:
            reader.fail(f"a total by {min(unknown)!r}", "a column of the subject, or one that is shown")
        strange = set(rows.cells) - columns
        if strange:
            reader.fail(f"a fixed text for the column {min(strange)!r}", "the key of a column")
        if table.time and len(rows.label) > LABEL_WIDTH:
            reader.fail(f"the label {rows.label!r} is too long", f"at most {LABEL_WIDTH} characters")


def group_spans(columns: tuple[Column, ...]) -> list[tuple[str, int, int]]:
    """The runs of neighbouring columns of one group: group, first, last."""
    spans: list[tuple[str, int, int]] = []
    for i, column in enumerate(columns):
        if column.group is None:
            continue
        if spans and spans[-1][0] == column.group and spans[-1][2] == i - 1:
            spans[-1] = (column.group, spans[-1][1], i)
        else:
            spans.append((column.group, i, i))
    return spans


def _once(keys: list[str], what: str, reader: _Reader) -> None:
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        reader.fail(f"the {what} {min(twice)!r} stands in it twice", f"each {what} once")


class _Reader:
    """One TOML table, taken key by key; what is left over at the end is a key nobody knows."""

    def __init__(self, data: dict[str, Any], file: str, what: str) -> None:
        self.data = dict(data)
        self.known = set(data)
        self.asked: set[str] = set()
        self.file = file
        self.what = what

    def fail(self, message: str, expected: str) -> None:
        raise CatalogError(f"{self.what}: {message}", file=self.file, expected=expected)

    def done(self) -> None:
        extra = self.known - self.asked
        if extra:
            self.fail(f"the key {min(extra)!r} is not known", f"one of {', '.join(sorted(self.asked))}")

    def _take(self, key: str, default: Any, kind: type, words: str) -> Any:
        self.asked.add(key)
        if key not in self.data:
            if default is None:
                self.fail(f"the key {key!r} is missing", words)
            return default
        value = self.data[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fail(f"{key} = {value!r}", words)
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = str(self._take(key, default, str, "a text")).strip()
        if not value and default is None:
            self.fail(f"{key} is empty", "a text")
        return value

    def flag(self, key: str, default: bool) -> bool:
        return bool(self._take(key, default, bool, "true or false"))

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        words = f"a whole number from {low} to {high}"
        value = int(self._take(key, default, int, words))
        if not low <= value <= high:
            self.fail(f"{key} = {value}", words)
        return value

    def choice(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        words = f"one of {', '.join(allowed)}"
        value = str(self._take(key, default, str, words))
        if value not in allowed and value != default:
            self.fail(f"{key} = {value!r}", words)
        return value

    def identifier(self, key: str, default: str | None = None) -> str:
        value = self.text(key, default)
        if value != default:
            self._identifier(key, value)
        return value

    def _identifier(self, key: str, value: str) -> str:
        # Keys and columns go into SQL between quotes; only plain lower-case names are let through.
        if not _IDENTIFIER.match(value):
            self.fail(f"{key} = {value!r}", "a name of lower-case letters, digits and _")
        return value

    def lines(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        value = self._take(key, default, list if key in self.data else tuple, "a list of texts")
        if not all(isinstance(line, str) and "\n" not in line for line in value):
            self.fail(f"{key} = {value!r}", "a list of texts of one line")
        return tuple(value)

    def identifiers(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        return tuple(self._identifier(key, value) for value in self.lines(key, default))

    def cells(self, key: str) -> dict[str, str]:
        value = self._take(key, {}, dict, "texts by column key")
        if not all(isinstance(text, str) for text in value.values()):
            self.fail(f"{key} = {value!r}", "texts by column key")
        return dict(value)

    def question(self, key: str, default: str | None = None) -> str:
        """A SELECT, and only one, with the means it names written out."""
        value = self.text(key, default)
        if value and (not re.match(r"(?i)(select|with)\b", value) or ";" in value):
            self.fail(f"{key} begins {value[:30]!r}", "one SELECT (or WITH ... SELECT) without a semicolon")
        try:
            value = aggregation.expanded(value)
        except CatalogError as error:
            self.fail(f"{key}: {error.message}", error.expected or "")
        return value

    def each(self, key: str, what: str, names: tuple[str, ...]) -> list[_Reader]:
        """A reader for each element of an array of tables; called by the first of `names` it has."""
        value = self._take(key, [], list, f"[[{key}]]")
        if not all(isinstance(entry, dict) for entry in value):
            self.fail(f"{key} = {value!r}", f"[[{key}]] tables")
        readers = []
        for i, entry in enumerate(value, 1):
            called = next((str(entry[name]) for name in names if name in entry), str(i))
            readers.append(_Reader(entry, self.file, f"{what} {called[:40]!r}"))
        return readers
