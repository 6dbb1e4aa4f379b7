"""Tests that captures of the live stream have the same records as MONWRITE files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import monwrite_builder
import zlens
from iterations import draws
from zlens.api import Session
from zlens.errors import InputError
from zlens.readers.recognition import recognize
from zlens.readers.zvm import monwrite

PAGE = 4096
ELEMENT = 12


def stream(monwrite_bytes: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the control elements and data of the stream for an undamaged MONWRITE file."""
    at = 0
    while at < len(monwrite_bytes):
        control = monwrite_bytes[at : at + PAGE]
        at += PAGE
        first, last = (int.from_bytes(control[place : place + 4]) for place in (12, 16))
        count = (last - first + 1) // ELEMENT if control[1] else 0
        for number in range(count):
            entry = control[40 + ELEMENT * number :][:ELEMENT]
            start, end = int.from_bytes(entry[4:8]), int.from_bytes(entry[8:12])
            begin = at + start % PAGE
            yield entry, monwrite_bytes[begin : begin + end - start + 1]
            at += PAGE * ((end >> 12) - (start >> 12) + 1)


def capture(path: Path, *, zeros: bool = False) -> Path:
    """Write the data as a capture next to the file."""
    parts = [entry + data + (bytes(ELEMENT) if zeros else b"") for entry, data in stream(path.read_bytes())]
    target = path.with_suffix(".monreader")
    target.write_bytes(b"".join(parts))
    return target


def groups(minutes: int = 5, cpus: int = 60) -> list[monwrite_builder.Group]:
    """Return samples that need several frames, with an event between them."""
    found = [
        monwrite_builder.configuration(monwrite_builder.START_US),
        *monwrite_builder.minutes(minutes, cpus=cpus),
    ]
    found.insert(
        3,
        monwrite_builder.event(
            "D5R1", monwrite_builder.START_US + 90 * monwrite_builder.S_US, {"PRCVON_PFXCPUAD": 7}
        ),
    )
    return found


def rows(session: Session, table: str = "d0r2") -> list[tuple[Any, ...]]:
    columns = "system, tod, interval_end, seconds, sytprp_pfxcpuad, sytprp_pfxutime, sytprp_pfxutime_d"
    return session.sql(f"SELECT {columns} FROM {table} ORDER BY tod, sytprp_pfxcpuad").rows


@pytest.mark.parametrize("zeros", [False, True])
def test_capture_equals_monwrite_file(zeros: bool, tmp_path: Path) -> None:
    path = monwrite_builder.write(tmp_path / "a.mon", groups())
    copy = capture(path, zeros=zeros)
    with zlens.open([path]) as session:
        expected = rows(session)
        events = session.sql("SELECT time, kind, subject FROM event").rows
        report = session.report("prclog").partition("\n")[2]
    with zlens.open([copy]) as session:
        assert session._core.all_problems() == []
        assert rows(session) == expected
        assert session.sql("SELECT time, kind, subject FROM event").rows == events
        assert session.report("prclog").partition("\n")[2] == report
        (info,) = session._core.sources[0].info()
        assert info["format"] == "z/VM monreader capture"
        assert (info["bytes"], info["complete"]) == (copy.stat().st_size, True)
        # Every row has the offset of its record in the capture.
        data = copy.read_bytes()
        for offset, cpu in session.sql('SELECT "offset", sytprp_pfxcpuad FROM d0r2').rows:
            assert data[offset + 4 : offset + 8] == b"\0\0\0\2"
            assert int.from_bytes(data[offset + 20 : offset + 22]) == cpu


def test_capture_and_file_of_same_time_are_read_once(tmp_path: Path) -> None:
    path = monwrite_builder.write(tmp_path / "a.mon", groups())
    copy = capture(path)
    with zlens.open([path]) as session:
        expected = session.sql("SELECT count(*) FROM d0r2").rows
    with zlens.open([path, copy]) as session:
        assert session.sql("SELECT count(*) FROM d0r2").rows == expected
        repeated = [p for p in session._core.all_problems() if p.kind == "duplicate"]
        assert len(repeated) == 1
        assert "read once" in repeated[0].detail


def test_capture_ending_within_data(tmp_path: Path) -> None:
    copy = capture(monwrite_builder.write(tmp_path / "a.mon", groups()))
    whole = copy.read_bytes()
    copy.write_bytes(whole[:-1000])
    with zlens.open([copy]) as session:
        (problem,) = [p for p in session._core.all_problems() if "control element" in p.detail]
        assert (problem.kind, problem.offset) == ("truncated", len(whole) - 1000)
        assert "1000 bytes of" in problem.detail
        assert "are missing" in problem.detail
        assert 0 < len(rows(session)) < 300
        assert session._core.sources[0].info()[0]["complete"] is False


def test_damaged_element_loses_only_its_data(tmp_path: Path) -> None:
    path = monwrite_builder.write(tmp_path / "a.mon", groups())
    copy = capture(path)
    whole = copy.read_bytes()
    sizes = [len(entry) + len(data) for entry, data in stream(path.read_bytes())]
    third = sum(sizes[:2])
    with zlens.open([copy]) as session:
        expected = rows(session)
    # The element is damaged: data is skipped up to the next one.
    copy.write_bytes(whole[:third] + b"\x7f" + whole[third + 1 :])
    with zlens.open([copy]) as session:
        (problem,) = [p for p in session._core.all_problems() if p.kind != "gap"]
        assert (problem.kind, problem.offset, problem.bytes) == ("resync", third, sizes[2])
    # A record has length zero: only the rest of its frame is skipped.
    record = third + ELEMENT + 10 * 108
    copy.write_bytes(whole[:record] + b"\0\0" + whole[record + 2 :])
    with zlens.open([copy]) as session:
        problem = next(p for p in session._core.all_problems() if p.kind == "length")
        assert problem.offset == record
        assert 0 < problem.bytes <= PAGE
        assert len(expected) - len(rows(session)) < 40


def test_damaged_capture_gives_problems(tmp_path: Path) -> None:
    copy = capture(monwrite_builder.write(tmp_path / "a.mon", groups(minutes=2, cpus=30)))
    whole = copy.read_bytes()
    rng = draws(20261122)
    for number in range(60):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 5)):
            at = rng.randrange(ELEMENT + 32, len(data))
            end = at + rng.randint(1, 60)
            data[at:end] = rng.choice([b"", rng.randbytes(end - at), bytes(end - at)])
        damaged = tmp_path / f"{number}.monreader"
        damaged.write_bytes(data)
        source = monwrite.open_files([str(damaged)], zlens.Options(), None)
        problems = source.problems(complete=True)
        assert all(problem.detail for problem in problems)
        assert all(problem.offset is None or 0 <= problem.offset <= len(data) for problem in problems)
        damaged.unlink()


def test_invalid_capture_is_rejected_with_fix(tmp_path: Path) -> None:
    whole = capture(monwrite_builder.write(tmp_path / "a.mon", groups(minutes=2))).read_bytes()
    translated = bytes({0xE2: 0x53, 0xC5: 0x45}.get(byte, min(byte, 0x7F)) for byte in whole)
    ascii_copy = tmp_path / "ascii.bin"
    ascii_copy.write_bytes(translated)
    with pytest.raises(InputError, match="translated to ASCII") as error:
        zlens.open([ascii_copy])
    assert "binary" in str(error.value)
    empty = tmp_path / "empty.bin"
    empty.write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        zlens.open([empty])
    text = tmp_path / "text.bin"
    text.write_text("S is a letter\n" * 100)
    with pytest.raises(InputError, match="text"):
        zlens.open([text])
    assert recognize([str(tmp_path / "a.monreader")]).files == {
        "zvm.monwrite": [str(tmp_path / "a.monreader")]
    }


def test_changing_or_removed_capture(tmp_path: Path) -> None:
    copy = capture(monwrite_builder.write(tmp_path / "a.mon", groups()))
    whole = copy.read_bytes()
    for change, word in ((whole + bytes(50), "grown"), (whole[:-50], "lost"), (None, "vanished")):
        copy.write_bytes(whole)
        with zlens.open([copy]) as session:
            if change is None:
                copy.unlink()
            else:
                copy.write_bytes(change)
            assert any(p.kind == "changed" and word in p.detail for p in session._core.all_problems())


def test_capture_in_lake_equals_file(tmp_path: Path) -> None:
    from zlens import lake

    copy = capture(monwrite_builder.write(tmp_path / "a.mon", groups()))
    with zlens.open([copy]) as session:
        expected = rows(session)
    lake.add([copy], tmp_path / "lake")
    with zlens.open([tmp_path / "lake"]) as session:
        assert rows(session) == expected
