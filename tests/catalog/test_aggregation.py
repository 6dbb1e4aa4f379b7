"""The aggregation that is declared: every column of every measure, and what faces make of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import zlens
from zlens import demo
from zlens.catalog import aggregation, metrics
from zlens.catalog.aggregation import Question
from zlens.catalog.expressions import quote
from zlens.catalog.metrics import Column, Table
from zlens.errors import QueryError
from zlens.options import Options, parse_zone
from zlens.session import Session

#: Longer than any demo file: one bucket holds all of it.
WHOLE = 40 * 86_400
ZONE = parse_zone(demo.ZONE)
KINDS = ("counter", "time", "ratio", "gauge")


@pytest.fixture(scope="module")
def demo_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {path.name: path for path in demo.write(tmp_path_factory.mktemp("demo"))}


def measured(table: Table) -> list[Column]:
    """The columns of which several rows give one number."""
    return [column for column in table.columns if column.aggregate in KINDS and column.name != "seconds"]


def compared(session: Session) -> Iterator[Table]:
    for name in metrics.tables():
        table = metrics.table(name)
        if not table.plain and not table.empty and measured(table) and session.fills(name):
            yield table


Row = tuple[object, ...]


def whole(session: Session, table: Table, flagged: bool) -> dict[Row, list[float | None]]:
    """Of each subject every column over all its rows. Buckets of --every may be flagged: they are too few."""
    keys = ", ".join(map(quote, ("system", "source", *table.key)))
    rows = f"(SELECT * REPLACE (NULL AS flag) FROM {table.name})" if flagged else table.name
    shown = ", ".join(aggregation.statistic(table, one, aggregation.usual(one)) for one in measured(table))
    width = 2 + len(table.key)
    found = session.sql(f"SELECT {keys}, {shown} FROM {rows} GROUP BY {keys}").rows
    return {row[:width]: list(row[width:]) for row in found}


def complete(session: Session, table: Table) -> dict[Row, list[bool]]:
    """Of each subject whether no row is flagged and none lacks a column."""
    keys = ", ".join(map(quote, ("system", "source", *table.key)))
    shown = ", ".join(
        f"count({quote(one.name)}) IN (0, count(*)) AND count(flag) = 0" for one in measured(table)
    )
    width = 2 + len(table.key)
    found = session.sql(f"SELECT {keys}, {shown} FROM {table.name} GROUP BY {keys}").rows
    return {row[:width]: list(row[width:]) for row in found}


@pytest.mark.parametrize(
    ("name", "least"),
    [("zldemo.monwrite", 350), ("sim.monwrite", 3500), ("zlzos.smf", 900), ("zlzos-rmf-cpu.xml", 80)],
)
def test_the_value_of_a_window_is_that_of_its_rows(
    demo_files: dict[str, Path], name: str, least: int
) -> None:
    """Each column over all rows of a file, against the measure made of the sums of its records."""
    held = 0
    wrong = []
    plain, bucket = Options(tz=ZONE), Options(tz=ZONE, every_s=WHOLE)
    with (
        zlens.open(demo_files[name], options=plain) as rows,
        zlens.open(demo_files[name], options=bucket) as sums,
    ):
        for table in compared(rows):
            one, other, known = whole(rows, table, False), whole(sums, table, True), complete(rows, table)
            assert set(one) == set(other), table.name
            for subject, values in one.items():
                for column, value, expected, full in zip(
                    measured(table), values, other[subject], known[subject], strict=True
                ):
                    if column.every or column.unweighted or not full:
                        continue
                    held += value is not None
                    if not same(value, expected):
                        wrong.append((table.name, column.name, subject, value, expected))
    assert wrong == []
    # Most columns that the file fills take part.
    assert held >= least


def same(value: float | None, expected: float | None) -> bool:
    if value is None or expected is None:
        return value is expected
    return math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12)
