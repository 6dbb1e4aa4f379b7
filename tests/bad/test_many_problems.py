"""Tests of inputs with a million problems: all are counted, and few are kept."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import zlens

#: Problems that are kept of a file; of the others, the number.
KEPT = 10_000


def short_record(bytes_after_header: int) -> bytes:
    """Build a record of SMF 70 that ends before its section of lengths."""
    date, system = bytes.fromhex("0110068f"), "SYS1".encode("cp037")
    size = 18 + bytes_after_header
    return struct.pack(">HHBBI4s4s", size, 0, 0x5E, 70, 100, date, system) + bytes(bytes_after_header)


@pytest.mark.long
def test_million_problems_are_counted(demo_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.smf"
    # Records between them that can be read; otherwise all would be one damaged end.
    damaged = (short_record(4) + short_record(13)) * 1_000_000
    path.write_bytes((demo_folder / "zlzos.smf").read_bytes() + damaged)
    with zlens.open(str(path)) as session:
        rows = session.sql('SELECT kind, detail, bytes FROM problem ORDER BY "offset"').rows
        assert len(rows) == KEPT + 1
        assert {kind for kind, _, _ in rows} == {"length"}
        assert "more problems from here on are only counted: 990000 length" in rows[-1][1]
        assert sum(lost for _, _, lost in rows[:-1]) == 22 * KEPT
        # The records before them are read.
        assert session.sql("SELECT count(*) FROM cpumf").rows[0][0] > 0
