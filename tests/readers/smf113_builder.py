"""Builders of SMF type 113 records and dumps of them. Times are seconds after START_US."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from zlens import _native
from zlens.catalog import smf, smf_record
from zlens.catalog.smf_record import CounterSetValues
from zlens.inputs.options import Options
from zlens.readers.smf.dump import SmfSource, open_files

#: 2011-01-09 22:20:00 UTC.
START_US = 1_294_611_600_000_000
SECOND = 1_000_000
#: Fields that have another name in the other subtype.
_OTHER = {"CPUSPEED": "CPSP", "CTRVERSION1": "CTRVN1", "CTRVERSION2": "CTRVN2", "LOSTCTRDATA": "LOSTDATA"}

Row = dict[str, Any]


def tod(second: float) -> int:
    return _native.tod_from_unix_us(START_US + round(second * SECOND))


def record(
    subtype: int,
    cpu: int,
    end: float,
    counters: Sequence[int] = (1,),
    *,
    start: float | None = None,
    written: float | None = None,
    run: float = -86_400,
    system: str = "SYSA",
    speed: int = 5206,
    zone_s: int = 0,
    sets: Sequence[CounterSetValues] | None = None,
    short_data: int | None = None,
    **fields: Any,
) -> bytes:
    """Return the record of an interval that ends at `end`; `counters` are the first of the basic set."""
    written = end if written is None else written
    values: dict[str, Any] = {
        "PNM": "HIS",
        "OSL": "SP7.1.2",
        "INTERVALSTART": tod(end - 300 if start is None else start),
        "INTERVALEND": tod(end),
        "CTS": tod(run),
        "CTM": tod(written),
        "CPUID": cpu,
        "CPUPROCCLASS": 0,
        "CPUSPEED": speed,
        "CTRVERSION1": 1,
        "CTRVERSION2": 2,
        "MACHTYPE": "2817",
        "MACHMODEL": "M15",
        "MACHSEQCODE": "000000000002A3B4",
        **fields,
    }
    if subtype == 2:
        values = {_OTHER.get(name, name): value for name, value in values.items()}
    return smf_record.encode(
        smf.layout(113),
        subtype,
        system=system,
        local_us=START_US + round(written * SECOND) + zone_s * SECOND,
        values=values,
        sets=sets
        if sets is not None
        else [CounterSetValues("basic", [*counters, *[0] * (6 - len(counters))])],
        short_data=short_data,
    )


def other(
    record: int, subtype: int | None, second: float = 0, length: int = 100, system: str = "SYSA"
) -> bytes:
    """Return a record of another type; without `subtype`, like the first and last of a dump."""
    header = bytearray(smf_record.header(record, subtype or 0, system, START_US + round(second * SECOND)))
    if subtype is None:
        header = header[:18]
        header[4] &= ~0x40
        return bytes(header)
    return bytes(header) + bytes(length - len(header))


def dump(path: Path, records: Iterable[bytes]) -> Path:
    writer = _native.SmfWriter(str(path))
    writer.write(list(records))
    writer.finish()
    return path


def opened(*paths: Path, **options: Any) -> SmfSource:
    return open_files([str(path) for path in paths], Options(**options))


def rows(source: SmfSource, columns: Sequence[str] | None = None, table: str = "smf113") -> list[Row]:
    (raw,) = source.tables[table]
    names = [column.name for column in raw.columns] if columns is None else list(columns)
    found: list[Row] = pa.table(raw.stream(names)).to_pylist()
    return found
