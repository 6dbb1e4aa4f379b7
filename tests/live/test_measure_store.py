"""Tests of retained rows: repeated states, and intervals that began before the decoded records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

from zlens.catalog import measures
from zlens.live.measure_store import MeasureStore

_TYPES = {
    "text": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", "UTC"),
}
_KEY = ("ZLZ1", "smf")


@pytest.fixture
def store() -> Iterator[MeasureStore]:
    store = MeasureStore()
    yield store
    store.close()


def _rows(name: str, *rows: Mapping[str, Any]) -> pa.Table:
    """Return rows of a measure; `end` is in minutes."""
    columns = measures.load_measure(name).columns
    schema = pa.schema([(column.name, _TYPES[column.type]) for column in columns])
    known = {"system": _KEY[0], "source": _KEY[1]}
    ends = [dt.datetime.fromtimestamp(row["end"] * 60, dt.UTC) for row in rows]
    complete = [known | dict(row) | {"interval_end": end} for row, end in zip(rows, ends, strict=True)]
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in complete], schema)


def _stored(store: MeasureStore, name: str, *columns: str) -> list[tuple[Any, ...]]:
    table = pa.table(store.stream(name, ["interval_end", *columns], 100))
    rows = [(int(row["interval_end"].timestamp()) // 60, *map(row.get, columns)) for row in table.to_pylist()]
    return sorted(rows)


def test_repeated_states_are_not_stored(store: MeasureStore) -> None:
    """The first rows of decoded records have nothing to compare with but the stored ones."""

    def add(step: int, *states: tuple[int, str]) -> None:
        rows = [{"end": end, "core_id": core, "polarity": one} for end, one in states for core in (0, 1)]
        store.add("topology", _rows("topology", *rows), step, (), {}, {})

    add(1, (10, "Vh"))
    add(2, (25, "Vh"))
    assert _stored(store, "topology", "polarity") == [(10, "Vh")] * 2
    add(3, (40, "Vl"))
    add(4, (55, "Vl"), (60, "Vh"))
    assert _stored(store, "topology", "polarity") == [
        (end, state) for end, state in ((10, "Vh"), (40, "Vl"), (60, "Vh")) for _ in range(2)
    ]
    # Decoding the same records again changes nothing.
    add(5, (60, "Vh"))
    assert len(_stored(store, "topology", "polarity")) == 6


def test_rows_of_incomplete_interval_replace_nothing(store: MeasureStore) -> None:
    def add(step: int, *rows: tuple[int, int, float], begin: int | None = None) -> None:
        begins = {} if begin is None else {_KEY: begin * 60_000_000}
        incoming = [{"end": end, "seconds": seconds, "busy_pct": busy} for end, seconds, busy in rows]
        store.add("load", _rows("load", *incoming), step, (), {}, begins)

    add(1, (15, 900, 50.0), (15, 60, 10.0))
    # Records before minute 10 are gone: only the interval of a minute is complete.
    add(2, (15, 900, 5.0), (15, 60, 11.0), begin=10)
    assert _stored(store, "load", "seconds", "busy_pct") == [(15, 60.0, 11.0), (15, 900.0, 50.0)]
    # A row that is missing now was not computed from all records either.
    add(3, (15, 60, 12.0), begin=10)
    assert _stored(store, "load", "seconds", "busy_pct") == [(15, 60.0, 12.0), (15, 900.0, 50.0)]
    # The first rows of an interval are stored, even if it began earlier.
    add(4, (30, 1800, 7.0), begin=10)
    assert _stored(store, "load", "busy_pct")[-1] == (30, 7.0)
    add(5, (15, 900, 51.0), (15, 60, 12.0), begin=0)
    assert _stored(store, "load", "seconds", "busy_pct")[:2] == [(15, 60.0, 12.0), (15, 900.0, 51.0)]
