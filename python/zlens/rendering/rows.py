"""Rows of a result as text: a table for reading, CSV and JSON for programs."""

from __future__ import annotations

import datetime as dt
import json
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from zlens.schema.plain_text import replace_controls

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Maximum rows shown on a terminal by default.
MAX_TERMINAL_ROWS = 60
#: Digits of a number in a table. CSV and JSON use the shortest text that reads back as the same double, as
#: DuckDB's CSV does: sums may end in ...999999, and rounding them would produce two values for one number.
DIGITS = 6
#: Maximum width of a column on a terminal.
WIDEST = 100

#: Formats a time; the system of the row decides the zone.
Show = Callable[[dt.datetime, Sequence[Any]], str]


def time_formatter(session: CoreSession, columns: Sequence[str]) -> Show:
    """Return a function that formats times in the zone of the row's system, with its UTC offset."""
    system_index, source_index = (
        columns.index(name) if name in columns else None for name in ("system", "source")
    )
    offsets = {info.utc_offset_s for info in session.systems}
    # Systems of one zone share one format.
    only = session.systems[0].system if len(offsets) == 1 and None not in offsets else None
    if len(session.systems) == 1:
        only = session.systems[0].system

    def show(time: dt.datetime, row: Sequence[Any]) -> str:
        system = only if system_index is None else row[system_index]
        source = None if source_index is None else row[source_index]
        # In a user's query, columns with these names may have any type.
        if not isinstance(system, str):
            return time.isoformat(" ")
        recorded_by = system, source if isinstance(source, str) else None
        if session.is_local(*recorded_by):
            # Local times of an unknown zone are shown as recorded.
            return time.replace(tzinfo=None).isoformat(" ")
        return session.display(time, *recorded_by).isoformat(" ")

    return show


def write_table(
    out: TextIO,
    columns: Sequence[str],
    types: Sequence[str],
    rows: Sequence[Sequence[Any]],
    show_time: Show,
    widest: int | None = None,
) -> None:
    """Write aligned columns under their names: numbers right, the rest left, truncated at `widest`."""
    cells = format_columns(types, rows, show_time)
    aligned = [
        _aligned(name, column, kind in ("int", "float"), widest)
        for name, column, kind in zip(columns, cells, types, strict=True)
    ]
    out.writelines(f"{'  '.join(row).rstrip()}\n" for row in zip(*aligned, strict=True))


def format_columns(types: Sequence[str], rows: Sequence[Sequence[Any]], show_time: Show) -> list[list[str]]:
    """Return the cells of each column as text: numbers with equal decimals, NULL, times by `show_time`."""
    return [
        _numbers([row[index] for row in rows])
        if kind == "float"
        else [_cell(row[index], row, show_time) for row in rows]
        for index, kind in enumerate(types)
    ]


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return RFC 4180: one header line, lines end in \\n, NULL is empty, empty text "", times ISO 8601."""
    lines = [
        ",".join(map(_field, columns)),
        *(",".join(_field(_plain(value)) for value in row) for row in rows),
    ]
    return "".join(f"{line}\n" for line in lines)


def _field(value: Any) -> str:
    # The csv module does not quote a carriage return if lines end without one, and readers would split there.
    text = "" if value is None else str(value)
    if text and not any(char in text for char in '",\r\n'):
        return text
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if isinstance(value, str) else text


def json_text(objects: Iterable[Mapping[str, Any]]) -> str:
    """Return one array of objects, whose names may differ; integers are exact."""
    lines = (json.dumps(to_json({**item}), ensure_ascii=False, allow_nan=False) for item in objects)
    text = ",".join(f"\n {line}" for line in lines)
    return f"[{text}\n]\n" if text else "[]\n"


def iso(value: dt.datetime) -> str:
    """Format a time: 2010-03-09T08:30:00Z, with a fraction only if it is not zero."""
    utc = value.astimezone(dt.UTC) if value.tzinfo else value.replace(tzinfo=dt.UTC)
    text = utc.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{utc.microsecond:06}Z" if utc.microsecond else f"{text}Z"


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return iso(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def to_json(value: Any, largest: int | None = None) -> Any:
    """Convert a value to JSON values: times ISO 8601 with Z, non-finite numbers null.

    largest   of exact integers; a larger one becomes text
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if largest is None or -largest <= value <= largest else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dt.datetime):
        return iso(value)
    if isinstance(value, dict):
        return {str(key): to_json(item, largest) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item, largest) for item in value]
    return str(value)


def _cell(value: Any, row: Sequence[Any], show_time: Show) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, dt.datetime):
        return show_time(value, row)
    if isinstance(value, bool):
        return "true" if value else "false"
    return replace_controls(str(value))


def _numbers(values: Sequence[Any]) -> list[str]:
    """Return the column with equal decimals, so that decimal points align."""
    finite = [abs(value) for value in values if isinstance(value, (int, float)) and math.isfinite(value)]
    largest = max(finite, default=0.0)
    smallest = min((value for value in finite if value), default=1.0)
    if largest >= 1e15 or (largest < 1e-3 and largest > 0):
        return ["NULL" if value is None else f"{value:.{DIGITS}g}" for value in values]
    integer_digits = len(str(int(largest)))
    # As many decimals as DIGITS allows, but enough to show small values next to large ones.
    max_decimals = max(DIGITS - integer_digits, min(4, 1 - math.floor(math.log10(smallest))), 0)
    texts = [f"{value:.{max_decimals}f}" for value in finite]
    decimals = max((len(text.rstrip("0").partition(".")[2]) for text in texts if "." in text), default=0)
    return ["NULL" if value is None else f"{value:.{decimals}f}" for value in values]


def _aligned(name: str, column: Sequence[str], right: bool, widest: int | None) -> list[str]:
    """Return a name, a line below it and the cells of its column, all of one width."""
    texts = [name, "", *column]
    # In ASCII, one character occupies one column of the terminal.
    plain = all(map(str.isascii, texts))
    width = max(map(len if plain else _width, texts))
    if widest is not None and width > widest:
        width = widest
        texts = [_clip(text, width) for text in texts]
    texts[1] = "-" * width
    blanks = [" " * (width - (len if plain else _width)(text)) for text in texts]
    return [blank + text if right else text + blank for blank, text in zip(blanks, texts, strict=True)]


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _clip(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    clipped = ""
    for char in text:
        if _width(clipped + char) > width - 3:
            break
        clipped += char
    return clipped + "..."
