"""The origin of a value as text: the value, its formula, and the bytes of its records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from zlens.explain.value_origin import OriginOfValue, RecordBytes

_ROW = 16


def format_origin(origin: OriginOfValue, local: Callable[[dt.datetime], dt.datetime]) -> str:
    """Return the origin of a value as text. `local` converts times to the system's zone."""
    subject = "".join(f", {key} {value}" for key, value in origin.subject.items())
    time = f", interval that ended {_time(local(origin.end))}" if origin.end is not None else ""
    lines = [f"{origin.column} = {_number(origin.value)} {origin.unit}".rstrip()]
    lines.append(f"{origin.system} ({origin.source}){subject}{time}")
    if origin.formula:
        lines += ["", f"Formula  {origin.formula}"]
    lines += [f"         {name} = {_number(value)}" for name, value in origin.inputs.items()]
    for record in origin.records:
        lines += ["", *_record(record, local)]
    if origin.more:
        lines += ["", f"{origin.more} more records are not shown."]
    return "\n".join(lines) + "\n"


def _record(record: RecordBytes, local: Callable[[dt.datetime], dt.datetime]) -> Iterator[str]:
    place = "" if record.offset is None else f" at offset {record.offset}"
    time = "" if record.time is None else f", {_time(local(record.time))}"
    former = ", the sample before" if record.before else ""
    yield f"{record.table}: record{place} of {record.file or '?'}{time}{former}"
    for name, value in record.roles.items():
        yield f"  {name} = {_number(value)}"
    width = max((len(field.column) for field in record.fields), default=0)
    for field in record.fields:
        place = ""
        if field.offset is not None and record.data is not None:
            raw = record.data[field.offset : field.offset + field.length].hex()
            place = f"  byte {field.offset}, {field.length} bytes: {raw}"
        change = "" if field.difference is None else f", difference {_number(field.difference)}"
        yield f"  {field.column:<{width}}  {_number(field.value)}{change}{place}"
    if record.note:
        yield f"  ({record.note})"
    yield from _dump(record)


def _dump(record: RecordBytes) -> Iterator[str]:
    """Yield the rows of bytes that contain fields; all of them if no place is known."""
    if record.data is None:
        return
    places = [(field.offset, field.length) for field in record.fields if field.offset is not None]
    wanted = {at // _ROW for start, length in places for at in range(start, start + length)}
    for row in range((len(record.data) + _ROW - 1) // _ROW):
        if not places or row in wanted:
            yield f"  {row * _ROW:06x}  {record.data[row * _ROW : (row + 1) * _ROW].hex(' ')}"


def _time(time: dt.datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} ({time.tzname() or 'UTC'})"


def _number(value: Any) -> str:
    if value is None:
        return "..."
    return f"{value:.10g}" if isinstance(value, float) else str(value)
