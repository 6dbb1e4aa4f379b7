"""Tests that records of newer releases are read at the positions that their record pages have.

`published_positions.txt` has what IBM's record pages say, apart from the facts: record, length and class,
then name, offset, length and form of each field.
"""

from __future__ import annotations

import datetime as dt
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import monwrite_builder as monwrite
from iterations import draws, iterations
from zlens import _native
from zlens.catalog import layouts
from zlens.cli import main
from zlens.session.session import CoreSession

PAGES = Path(__file__).parent / "published_positions.txt"
LETTERS = "ABCXYZ0123456789$#@"
TOD_EPOCH = dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
#: Records of each length in a file.
COPIES = 3


class Position(Struct, frozen=True):
    name: str
    offset: int
    length: int
    form: str

    def of(self, record: bytes) -> Any:
        """Return the value that the field has in a record."""
        data = record[self.offset : self.offset + self.length]
        match self.form:
            case "text":
                return data.decode("cp037").rstrip()
            case "hex":
                return data.hex()
            case "tod":
                return TOD_EPOCH + dt.timedelta(microseconds=int.from_bytes(data) >> 12)
        number = int.from_bytes(data, signed=self.form == "signed")
        return number if number < 2**63 else None


class Page(Struct, frozen=True):
    record: str
    length: int
    sampled: bool
    fields: list[Position]

    def random_record(self, rng: random.Random, time_us: int) -> bytes:
        domain, number = layouts.record_key(self.record)
        tod = _native.tod_from_unix_us(time_us)
        data = bytearray(struct.pack(">HHBBHQI", self.length, 0, domain, 0, number, tod, 0))
        data += rng.randbytes(self.length - len(data))
        for field in self.fields:
            if field.form == "text":
                text = "".join(rng.choice(LETTERS) for _ in range(rng.randint(0, field.length)))
                data[field.offset : field.offset + field.length] = text.ljust(field.length).encode("cp037")
        return bytes(data)


def pages() -> list[Page]:
    found: list[Page] = []
    for line in PAGES.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if line.startswith(" "):
            found[-1].fields.append(Position(words[0], int(words[1]), int(words[2]), words[3]))
        else:
            found.append(Page(words[0], int(words[1]), words[2] == "sample", []))
    return found


@pytest.mark.parametrize("seed", range(iterations(20, 2)))
def test_fields_are_read_at_published_positions(seed: int, tmp_path: Path) -> None:
    rng = draws(seed)
    written: dict[str, list[tuple[Page, bytes]]] = {}
    groups: list[monwrite.Group] = [monwrite.configuration(monwrite.START_US)]
    for page in pages():
        records = [
            page.random_record(rng, monwrite.START_US + rng.randrange(monwrite.MINUTE_US))
            for _ in range(COPIES)
        ]
        written.setdefault(page.record, []).extend((page, record) for record in records)
        groups.append((page.sampled, records))
    path = monwrite.write(
        tmp_path / "all.mon", [*groups, monwrite.interval(monwrite.START_US + monwrite.MINUTE_US, [])]
    )
    with CoreSession([str(path)]) as session:
        for record, expected in written.items():
            table = session.sql(f'SELECT * FROM {record.lower()} ORDER BY "offset"')
            for row, (page, data) in zip(table.rows, expected, strict=True):
                values = dict(zip(table.columns, row, strict=True))
                for field in page.fields:
                    assert values[field.name.lower()] == field.of(data), (record, page.length, field.name)


def test_pages_have_every_known_position() -> None:
    """A field of the facts that the pages do not have is inferred, or of a layout of another source."""
    for page in pages():
        for layout in layouts.layouts(page.record, Path(__file__).parent / "no packs here"):
            if layout.length == page.length and layout.status == "verified":
                places = {(field.name, field.offset, field.length) for field in page.fields}
                known = {
                    (field.name, field.offset, field.length)
                    for field in layout.fields
                    if not field.reserved and not field.status
                }
                assert known <= places, page.record


def test_power_record_is_table_of_sql(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (page,) = (page for page in pages() if page.record == "D0R25")
    record = page.random_record(draws(0), monwrite.START_US + 1)
    groups = [
        monwrite.configuration(monwrite.START_US),
        monwrite.interval(monwrite.START_US + monwrite.MINUTE_US, [record]),
    ]
    path = monwrite.write(tmp_path / "power.mon", groups)
    query = "SELECT sytpow_powcount, sytpow_powunasgn FROM d0r25"
    assert main(["sql", str(path), "--query", query, "--format", "csv"]) == 0
    count, unassigned = (field.of(record) for field in (page.fields[0], page.fields[-1]))
    assert capsys.readouterr().out.splitlines() == [
        "sytpow_powcount,sytpow_powunasgn",
        ",".join("" if value is None else str(value) for value in (count, unassigned)),
    ]
