"""A table of a compressed database, written in parts; columns with one value are not stored."""

from __future__ import annotations

from msgspec import Struct, field

from zlens.catalog import expressions
from zlens.engine.cancellation import interruptible
from zlens.engine.connection import COMPRESSED, Connection, Error, compress

#: Beginning of an error about a row with another value.
_OTHER = "another value of "


class CompressedTable(Struct):
    """A table that is being written.

    name      its name in SQL, with that of the database
    database  the database, in memory or a file
    columns   the types of its columns by name
    values    SQL of the value of each column that has the same in all rows so far, which is not stored
    """

    cursor: Connection
    name: str
    database: str = COMPRESSED
    columns: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)

    def create(self, rows: str) -> None:
        """Create it with its first rows, SQL of a SELECT."""
        self._run(f"CREATE TABLE {self.name} AS {rows}")
        described = self.cursor.execute(f"DESCRIBE {self.name}").fetchall()
        self.columns = {name: type for name, type, *_ in described}
        # Texts, and of other columns whether there is a value.
        items = [
            quoted if type == "VARCHAR" else f"nullif({quoted} IS NOT NULL, false)"
            for name, type in self.columns.items()
            for quoted in [expressions.quote(name)]
        ]
        row = self.cursor.execute(f"SELECT {', '.join(items)} FROM {self.name} LIMIT 1").fetchone()
        if row is None:
            return
        values = {
            name: f"CAST({'NULL' if value is None else expressions.literal(value)} AS {type})"
            for (name, type), value in zip(self.columns.items(), row, strict=True)
            if value is not True
        }
        tests = [f"bool_and({_same(name, value)})" for name, value in values.items()]
        same = self.cursor.execute(f"SELECT {', '.join(tests) or 'true'} FROM {self.name}").fetchone() or ()
        self.values = {name: value for (name, value), each in zip(values.items(), same, strict=False) if each}
        # One column remains, because a table has one.
        if len(self.values) == len(self.columns):
            self.values.popitem()
        for name in self.values:
            self._run(f"ALTER TABLE {self.name} DROP COLUMN {expressions.quote(name)}")

    def insert(self, rows: str) -> None:
        """Add rows, SQL of a SELECT of the same columns."""
        while True:
            checked = [
                f"CASE WHEN {_same(name, value)} THEN true ELSE error('{_OTHER}{name}') END"
                for name, value in self.values.items()
            ]
            selected = ", ".join(expressions.quote(name) for name in self.columns if name not in self.values)
            where = f" WHERE {' AND '.join(checked)}" if checked else ""
            try:
                self._run(f"INSERT INTO {self.name} BY NAME SELECT {selected} FROM ({rows}){where}")
            except Error as error:
                if not self._store(str(error)):
                    raise
            else:
                return

    def delete(self, where: str) -> None:
        self._run(f"DELETE FROM {self.name} WHERE {where}")

    def compress(self) -> None:
        compress(self.cursor, self.database)

    def select(self) -> str:
        """Return a SELECT of all columns, in their order."""
        items = (
            f"{self.values[name]} AS {expressions.quote(name)}"
            if name in self.values
            else expressions.quote(name)
            for name in self.columns
        )
        return f"SELECT {', '.join(items)} FROM {self.name}"

    def _store(self, error: str) -> bool:
        """Store the columns that an error names; returns whether there are any."""
        others = [name for name in self.values if error.rstrip().endswith(_OTHER + name)]
        for name in others:
            value = self.values.pop(name)
            added = f"{expressions.quote(name)} {self.columns[name]} DEFAULT {value}"
            self._run(f"ALTER TABLE {self.name} ADD COLUMN {added}")
        return bool(others)

    def _run(self, text: str) -> None:
        interruptible(self.cursor, lambda: self.cursor.execute(text))


def _same(name: str, value: str) -> str:
    return f"{expressions.quote(name)} IS NOT DISTINCT FROM {value}"
