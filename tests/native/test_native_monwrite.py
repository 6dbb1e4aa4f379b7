"""Tests of opening and writing MONWRITE files."""

from __future__ import annotations

import os
import signal
import struct
import time
from pathlib import Path
from typing import Any

import native_builder
import pytest

from zlens import _native
from zlens.errors import InputError


def test_written_monwrite_file_is_indexed(tmp_path: Path) -> None:
    file = native_builder.write(tmp_path / "a.monwrite", range(1, 4), processors=2)
    start = native_builder.START_US
    assert file.path == str(tmp_path / "a.monwrite")
    assert file.size == os.path.getsize(file.path)
    assert file.first_tod == native_builder.tod(start + native_builder.MINUTE_US - 100)
    assert file.last_tod == native_builder.tod(start + 3 * native_builder.MINUTE_US)
    assert file.complete
    assert file.problems() == []
    assert file.changed() is None
    rows = {(row["domain"], row["record"]): row for row in file.inventory()}
    assert set(rows) == {(0, 2), (1, 11)}
    row = rows[0, 2]
    assert (row["sample"], row["count"], row["bytes"]) == (True, 6, 6 * 36)
    assert (row["min_length"], row["max_length"], row["lengths"]) == (36, 36, {36: 6})
    assert row["first_tod"] == file.first_tod
    assert [(end, count) for end, count, _ in file.interval_ends()] == [
        (native_builder.tod(start + minute * native_builder.MINUTE_US), 2) for minute in range(1, 4)
    ]
    records = file.records(0, 2, 3)
    assert len(records) == 3
    assert records[0] == (row["first_offset"], native_builder.processor(0, start + 60_000_000 - 100, 1))
    assert file.records(6, 3) == []


def test_unreadable_files_are_rejected_with_reason(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none", "no such file"), (tmp_path, "not a regular file")):
        with pytest.raises(InputError, match=words) as raised:
            _native.MonwriteFile.open(str(path))
        assert raised.value.file == str(path)
        assert raised.value.expected
        assert raised.value.cure


def test_undecodable_names_are_accepted(tmp_path: Path) -> None:
    name = os.path.join(os.fsencode(tmp_path), b"odd \xff\n.monwrite")
    path = Path(os.fsdecode(name))
    try:
        file = native_builder.write(path, range(2))
    except OSError:
        pytest.skip("this file system has only names that are text")
    assert file.path == str(path)
    ((_, batch),) = list(native_builder.decoder(file).batches())
    assert batch.num_rows == 6


def test_progress_is_reported_and_can_cancel(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    size = native_builder.write(tmp_path / "a", range(100)).size
    calls: list[tuple[int, int]] = []
    _native.MonwriteFile.open(path, lambda done, total: calls.append((done, total)))
    assert calls[-1] == (size, size)

    def stop(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        _native.MonwriteFile.open(path, stop)


def interrupted(work: Any) -> float:
    """Return CPU seconds from Ctrl-C, after 0.3 of them, until the work raises KeyboardInterrupt."""
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, 0.3)
    begin = time.process_time()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    return time.process_time() - begin - 0.3


def test_ctrl_c_stops_opening_and_decoding(tmp_path: Path) -> None:
    # Zeros are skipped quickly, but 64 GiB of them take longer than 0.3 s.
    zeros = tmp_path / "zeros"
    with zeros.open("wb") as file:
        file.truncate(64 << 30)
    assert interrupted(lambda: _native.MonwriteFile.open(str(zeros))) < 3
    # The same small file 5,000 times is a large input.
    many = [native_builder.write(tmp_path / "a", range(200), processors=100)] * 5_000
    decoder = native_builder.decoder(*many, interval_ends=[])
    assert interrupted(lambda: list(decoder.batches())) < 3
    import pyarrow

    def read() -> None:
        try:
            pyarrow.table(decoder.stream("d0r2", ["cpu"]))
        except (pyarrow.ArrowException, OSError):
            time.sleep(1)

    assert interrupted(read) < 3


def test_changes_of_file_on_disk_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a"
    file = native_builder.write(path, range(200))
    with path.open("ab") as more:
        more.write(bytes(4096))
    assert "grown by 4096 bytes" in str(file.changed())
    with path.open("r+b") as less:
        less.truncate(8192)
    assert "lost" in str(file.changed())
    decoder = native_builder.decoder(file)
    rows = sum(batch.num_rows for _, batch in decoder.batches())
    assert 0 < rows < 600
    kinds = {kind for _, _, _, _, _, kind, _ in decoder.problems()}
    assert kinds == {"changed"}
    path.unlink()
    assert "vanished" in str(file.changed())
    assert sum(batch.num_rows for _, batch in decoder.batches()) == rows


def test_monwrite_writer_rejects_invalid_records(tmp_path: Path) -> None:
    writer = _native.MonwriteWriter(str(tmp_path / "a"))
    good = native_builder.processor(0, native_builder.START_US, 0)
    with pytest.raises(ValueError, match="record 1 of a group"):
        writer.write([(True, 1, 0, 0, [good, good[:-1]])])
    with pytest.raises(ValueError, match="1 to 338"):
        writer.write([])
    writer.write([(True, 1, 0, 0xC38, [good]), (False, 0, 1, 0, [good, good])])
    writer.finish()
    with pytest.raises(ValueError, match="finished"):
        writer.finish()
    file = _native.MonwriteFile.open(str(tmp_path / "a"))
    assert [(row["sample"], row["count"]) for row in file.inventory()] == [(True, 1), (False, 2)]
    with pytest.raises(OSError, match="No such file"):
        _native.MonwriteWriter(str(tmp_path / "none" / "a"))


def test_single_values() -> None:
    assert _native.encode_text("AB", 4) == b"\xc1\xc2\x40\x40"
    for text, width in (("ABC", 2), ("€", 4)):
        with pytest.raises(ValueError, match="does not fit"):
            _native.encode_text(text, width)
    assert _native.tod_from_unix_us(0) == 0x7D91048BCA000000
    assert _native.unix_us_from_tod(_native.tod_from_unix_us(123_456_789), leap=27) == 96_456_789
    assert _native.sniff(b"plain text\n" * 1000, 11_000)[0] == "no"
    page = struct.pack(">12xI I 20x", 0x1000, 0x100B) + bytes.fromhex("e2800000 00001000 00001fff")
    assert _native.sniff(page.ljust(4096, b"\0"), 8192) == ("monwrite", "")
