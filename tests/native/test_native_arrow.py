"""Tests of Arrow tables and streams, which consumers read or abandon."""

from __future__ import annotations

import gc
import resource
import threading
from pathlib import Path

import duckdb
import native_builder
import pyarrow as pa
import pytest

from zlens import _native

COLUMNS = [("n", "int"), ("x", "float"), ("word", "text"), ("yes", "bool"), ("when", "time")]
ROWS = [(1, 0.5, "né", True, 1_000_000), (None, None, None, None, None), (-(2**63), 1, "", False, -1)]


def small() -> _native.ArrowTable:
    return _native.ArrowTable(COLUMNS, ROWS)


def test_rows_of_python_values_become_columns() -> None:
    table = pa.table(small())
    assert [str(field.type) for field in table.schema] == [
        "int64",
        "double",
        "string",
        "bool",
        "timestamp[us, tz=UTC]",
    ]
    assert table["n"].to_pylist() == [1, None, -(2**63)]
    assert table["x"].to_pylist() == [0.5, None, 1.0]
    assert table["word"].to_pylist() == ["né", None, ""]
    assert table["yes"].to_pylist() == [True, None, False]
    assert table["when"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist() == [1_000_000, None, -1]


def test_duckdb_rereads_stream_without_pyarrow() -> None:
    connection = duckdb.connect()
    connection.register("small", small())
    for _ in range(2):
        found = connection.execute('select n, word, epoch_us("when") from small where yes').fetchall()
        assert found == [(1, "né", 1_000_000)]
    assert connection.execute("select count(*) from small").fetchone() == (3,)


def test_empty_tables_keep_their_columns() -> None:
    table = _native.ArrowTable(COLUMNS, [])
    assert table.num_rows == 0
    assert pa.table(table).column_names == [name for name, _ in COLUMNS]
    assert _native.ArrowTable([], [(), ()]).num_rows == 2


@pytest.mark.parametrize(
    ("columns", "rows", "words"),
    [
        ([("n", "int")], [("one",)], "column n, row 0"),
        ([("n", "int")], [(1,), (2**63,)], "column n, row 1"),
        ([("n", "text")], [(5,)], "column n, row 0"),
        ([("n", "number")], [], "unknown type"),
        ([("n", "int")], [(1, 2)], "row 0 has 2 values for 1 columns"),
    ],
)
def test_arrow_value_errors_name_column(
    columns: list[tuple[str, str]], rows: list[tuple[object, ...]], words: str
) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError), match=words):
        _native.ArrowTable(columns, rows)


def test_every_stream_of_raw_table_is_fresh_scan(tmp_path: Path) -> None:
    stream = native_builder.decoder(native_builder.write(tmp_path / "a", range(10))).stream(
        "d0r2", ["cpu", "busy_d"]
    )
    first, second = (pa.RecordBatchReader.from_stream(stream) for _ in range(2))
    expected = pa.table(stream).to_pydict()
    assert first.read_all().to_pydict() == expected
    assert second.read_all().to_pydict() == expected
    assert pa.schema(stream) == pa.table(stream).schema
    connection = duckdb.connect()
    connection.register("d0r2", stream)
    query = "select cpu, sum(busy_d), count(busy_d) from d0r2 group by cpu order by cpu"
    for _ in range(2):
        assert connection.execute(query).fetchall() == [(0, 9, 9), (1, 18, 9), (2, 27, 9)]
    both = "select count(*) from d0r2 a join d0r2 b using (cpu) where a.busy_d = b.busy_d"
    assert connection.execute(both).fetchone() == (3 * 81,)


def test_batches_are_arrow_arrays(tmp_path: Path) -> None:
    decoder = native_builder.decoder(native_builder.write(tmp_path / "a", range(4), processors=2))
    ((table, batch),) = list(decoder.batches())
    assert (table, batch.num_rows) == ("d0r2", 8)
    columns = pa.record_batch(batch).to_pydict()
    assert columns["cpu"] == [0, 1] * 4
    assert pa.schema(batch).names == [name for name, _ in decoder.schema("d0r2")]


def test_retained_batches_are_unchanged(tmp_path: Path) -> None:
    decoder = native_builder.decoder(native_builder.write(tmp_path / "a", range(400), processors=100))
    kept = [pa.record_batch(batch) for _, batch in decoder.batches(differences=False)]
    assert len(kept) > 3
    busy = [value for batch in kept for value in batch.column("busy").to_pylist()]
    assert busy == [minute * (n + 1) for minute in range(400) for n in range(100)]


def test_abandoned_streams_leak_no_memory(tmp_path: Path) -> None:
    decoder = native_builder.decoder(native_builder.write(tmp_path / "a", range(300), processors=100))
    stream = decoder.stream("d0r2")

    def abandon(times: int) -> int:
        for _ in range(times):
            stream.__arrow_c_stream__()
            reader = pa.RecordBatchReader.from_stream(stream)
            reader.read_next_batch()
            del reader
            next(decoder.batches())[1].__arrow_c_array__()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = abandon(20)
    assert abandon(300) - before < 20_000, "KiB"


def test_streams_are_read_on_several_threads(tmp_path: Path) -> None:
    decoder = native_builder.decoder(native_builder.write(tmp_path / "a", range(200), processors=20))
    expected = pa.table(decoder.stream("d0r2"))
    found: list[pa.Table] = []
    threads = [
        threading.Thread(target=lambda: found.append(pa.table(decoder.stream("d0r2")))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(table.equals(expected) for table in found)
