"""Raw tables of readers: `leading_columns.toml`, and the sets of tables in `*_tables.toml`."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from zlens.catalog.layouts import Status
from zlens.catalog.raw_columns import FIXED, RawColumn
from zlens.errors import CatalogError
from zlens.schema import document, structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactFile, FactTable, doc
from zlens.schema.validators import DocumentErrors

Name = Annotated[
    str,
    Meta(
        pattern=r"^([a-z]|\{set\})([a-z0-9_]|\{number\})*$",
        max_length=100,
        title="a name of lower-case letters, digits and _",
        description="its name",
    ),
]


class TableColumn(FactTable, frozen=True):
    """A column of a raw table."""

    name: Name
    type: Annotated[Literal["int", "float", "text", "bool", "time"], doc("the type of its values")]
    text: Annotated[str, Meta(min_length=1, description="description")]
    unit: Annotated[str, doc("their unit")] = ""

    @property
    def raw(self) -> RawColumn:
        """The column as readers use it."""
        return RawColumn(self.name, self.type, self.unit, self.text)


class RawTableLayout(FactTable, frozen=True):
    """Columns of a raw table after the leading ones."""

    name: Name
    columns: Annotated[tuple[TableColumn, ...], doc("its columns")] = ()
    others: Annotated[str, doc("source of the columns after these")] = ""
    last: Annotated[tuple[TableColumn, ...], doc("the columns after those")] = ()


class LeadingFile(FactFile, frozen=True):
    """The columns that every raw table begins with."""

    path: ClassVar = "leading_columns.toml"
    source: Annotated[str, doc("where the facts are from")]
    status: Annotated[Status, doc("how sure they are")]
    columns: tuple[TableColumn, ...]


class RawTableFile(FactTable, frozen=True):
    """Raw tables of one format."""

    source: Annotated[str, doc("where the facts are from")]
    status: Annotated[Status, doc("how sure they are")]
    leading: Annotated[dict[str, str], doc("texts of leading columns")]
    table: Annotated[tuple[RawTableLayout, ...], doc("its raw tables")] = ()


class RawTableSet(Struct, frozen=True):
    """Raw tables of one format."""

    leading: tuple[RawColumn, ...]
    tables: dict[str, RawTableLayout]

    def columns(self, table: str, others: Iterable[RawColumn] = ()) -> tuple[RawColumn, ...]:
        """Return the columns of a table, including those that other facts define."""
        layout = self.tables[table]
        return (*self.leading, *_expand(layout.columns), *others, *_expand(layout.last))


@cache
def load_tables(name: str) -> RawTableSet:
    """Return a set of raw tables by its file, such as linux/counter_tables; CatalogError if it is invalid."""
    path = FACTS / f"{name}.toml"
    text = document.text_of(path)
    facts = structs.parse(text, str(path), RawTableFile)
    errors = DocumentErrors(str(path), text=text)
    leading = {each.name: each.raw for each in LeadingFile.load().columns}
    for column, words in facts.leading.items():
        if column not in leading:
            raise errors.unknown(f"leading.{column}", column, FIXED)
        leading[column] = replace(leading[column], text=words)
    tables: dict[str, RawTableLayout] = {}
    for number, table in enumerate(facts.table, 1):
        names = [*FIXED, *(column.name for column in (*table.columns, *table.last))]
        if table.name in tables or len(set(names)) < len(names):
            what = "is defined twice" if table.name in tables else "has two columns of one name"
            raise errors.general_error(f"table {table.name} {what}", "rename one", where=f"table[{number}]")
        tables[table.name] = table
    return RawTableSet(tuple(leading.values()), tables)


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


def _expand(columns: Iterable[TableColumn]) -> Iterator[RawColumn]:
    """Yield the columns; one with {number} or {set} is repeated for every counter or counter set."""
    for column in columns:
        if "{" not in column.name:
            yield column.raw
            continue
        from zlens.catalog import cpumf

        for counters in cpumf.sets().values():
            for number in counters.numbers if "{number}" in column.name else ("",):
                name, text = (
                    part.format(set=counters.name, number=number) for part in (column.name, column.text)
                )
                yield RawColumn(name, column.type, column.unit, text)
