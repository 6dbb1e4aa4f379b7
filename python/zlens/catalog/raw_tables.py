"""Raw tables of readers: `leading_columns.toml`, and the sets of tables in `*_tables.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import Struct

from zlens.catalog.layouts import STATUS
from zlens.catalog.raw_columns import FIXED, TYPES, RawColumn
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Choice, DocumentErrors, Key, ListOf, MapOf, Prose, SingleLine, Spec, Text

_NAME = Text(
    100,
    1,
    re.compile(r"(?:[a-z]|\{set\})(?:[a-z0-9_]|\{number\})*"),
    "a name of lower-case letters, digits and _",
)
COLUMN = Spec(
    (
        Key("name", _NAME, "its name"),
        Key("type", Choice(TYPES), "the type of its values"),
        Key("unit", SingleLine(), "their unit", default=""),
        Key("text", Prose(), "description"),
    ),
    RawColumn,
)
_COLUMNS = ListOf(COLUMN, into=tuple)
ORIGIN = (
    Key("source", Prose(), "where the facts are from"),
    Key("status", Choice(STATUS), "how sure they are"),
)


class RawTableLayout(Struct, frozen=True):
    """Columns of a raw table after the leading ones. others: facts that define the columns before `last`."""

    name: str
    columns: tuple[RawColumn, ...]
    others: str
    last: tuple[RawColumn, ...]


class RawTableSet(Struct, frozen=True):
    """Raw tables of one format."""

    leading: tuple[RawColumn, ...]
    tables: dict[str, RawTableLayout]

    def columns(self, table: str, others: Iterable[RawColumn] = ()) -> tuple[RawColumn, ...]:
        """Return the columns of a table, including those that other facts define."""
        layout = self.tables[table]
        return (*self.leading, *_expand(layout.columns), *others, *_expand(layout.last))


_TABLE = Spec(
    (
        Key("name", _NAME, "its name"),
        Key("columns", _COLUMNS, "its columns", default=()),
        Key("others", Prose(), "source of the columns after these", default=""),
        Key("last", _COLUMNS, "the columns after those", default=()),
    ),
    RawTableLayout,
)
_LEADING = Spec((*ORIGIN, Key("columns", _COLUMNS, "the columns")))
_SET = Spec(
    (
        *ORIGIN,
        Key("leading", MapOf(Prose(), 0), "texts of leading columns"),
        Key("table", ListOf(_TABLE), "a raw table", default=()),
    )
)


@cache
def load_tables(name: str) -> RawTableSet:
    """Return a set of raw tables by its file, such as linux/counter_tables; CatalogError if it is invalid."""
    path = FACTS / f"{name}.toml"
    text = document.text_of(path)
    facts = document.parse_checked(text, str(path), _SET)
    errors = DocumentErrors(str(path), text=text)
    texts = facts["leading"]
    leading = document.load(FACTS / "leading_columns.toml", _LEADING)["columns"]
    for column in texts.keys() - {column.name for column in leading}:
        raise errors.unknown(f"leading.{column}", column, FIXED)
    tables: dict[str, RawTableLayout] = {}
    for number, table in enumerate(facts["table"], 1):
        names = [*FIXED, *(column.name for column in (*table.columns, *table.last))]
        if table.name in tables or len(set(names)) < len(names):
            what = "is defined twice" if table.name in tables else "has two columns of one name"
            raise errors.general_error(f"table {table.name} {what}", "rename one", where=f"table[{number}]")
        tables[table.name] = table
    return RawTableSet(
        tuple(
            RawColumn(each.name, each.type, each.unit, texts.get(each.name, each.text)) for each in leading
        ),
        tables,
    )


def set_names() -> list[str]:
    """Return all sets, as `load_tables` names them."""
    return sorted(str(path.relative_to(FACTS).with_suffix("")) for path in FACTS.rglob("*_tables.toml"))


def check() -> list[str]:
    """Return catalog issues of the files, one sentence each."""
    problems: list[str] = []
    set_by_table: dict[str, str] = {}
    for name in set_names():
        try:
            problems += [
                f"{name}.toml: table {table} is also one of {set_by_table[table]}.toml"
                for table in load_tables(name).tables
                if set_by_table.setdefault(table, name) != name
            ]
        except CatalogError as error:
            problems.append(str(error))
    return problems


def _expand(columns: Iterable[RawColumn]) -> Iterator[RawColumn]:
    """Yield the columns; one with {number} or {set} is repeated for every counter or counter set."""
    for column in columns:
        if "{" not in column.name:
            yield column
            continue
        from zlens.catalog import cpumf

        for counters in cpumf.sets().values():
            numbers = range(counters.first, counters.first + counters.max_size)
            for number in numbers if "{number}" in column.name else ("",):
                name, text = (
                    part.format(set=counters.name, number=number) for part in (column.name, column.text)
                )
                yield RawColumn(name, column.type, column.unit, text)
