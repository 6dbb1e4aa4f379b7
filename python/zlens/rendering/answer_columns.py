"""Columns of the tables of answers, which are facts: facts/answers has a file for each model."""

from collections.abc import Iterable
from functools import cache
from operator import attrgetter
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from zlens.rendering.answer import AnswerColumn, AnswerTable, Value
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable


class AnswerColumnFacts(FactTable, frozen=True):
    """A column of an answer."""

    heading: Annotated[str, Meta(description="heading, of one or more lines")]
    unit: Annotated[str, Meta(description="its unit; empty for none")] = ""
    text: Annotated[str, Meta(description="what it is")] = ""
    decimals: Annotated[int, Meta(description="decimals in text output", ge=0, le=15)] = 1


@cache
def _file(name: str) -> dict[str, dict[str, AnswerColumnFacts]]:
    return structs.load(FACTS / "answers" / f"{name}.toml", dict[str, dict[str, AnswerColumnFacts]])


@cache
def answer_columns(file: str, table: str) -> tuple[AnswerColumn, ...]:
    """Return the columns of a table of a file. Only code names one, so an unknown one is a bug."""
    return tuple(AnswerColumn(key, **asdict(facts)) for key, facts in _file(file)[table].items())


def answer_table(
    file: str, key: str, title: str, rows: Iterable[tuple[Value, ...] | Struct], columns: str = ""
) -> AnswerTable:
    """Return a table with the columns that a file has under `columns`, by default under the key of the table.

    rows: a value for each column, or structs with an attribute of the name of each
    """
    found = answer_columns(file, columns or key)
    values = attrgetter(*(column.key for column in found))
    return AnswerTable(key, title, found, [row if isinstance(row, tuple) else values(row) for row in rows])
