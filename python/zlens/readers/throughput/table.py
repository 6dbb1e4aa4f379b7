"""The throughput file (--throughput): throughput and response times of an application, in CSV.

The file is not a source of its own. Its rows of start, end, transactions and response time are joined with
the intervals of systems. Headings are matched with the names in facts/throughput.toml, unless the user names
the columns. A bad line is an error, because users can correct their own file.
"""

import csv
import datetime as dt
import itertools
import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar

from msgspec import Struct

from zlens.catalog.interval_flags import GAP
from zlens.errors import InputError, QueryError
from zlens.inputs.unix_time import local_us, to_unix_us
from zlens.schema import user_files
from zlens.schema.structs import FactFile, FactTable, doc
from zlens.schema.wording import phrase

#: Maximum size of a file, in bytes, rows and columns.
LARGEST = 64 * 1024**2
MOST_ROWS = 500_000
MOST_COLUMNS = 1_000
_SECOND = 1_000_000
_DELIMITERS = ",;\t|"
_CURE = "write a heading line and rows such as 2026-03-02 09:15:00,1200,0.25: see docs/getting-data.md"
_YEARFIRST = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})([T ].*)?")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
#: Numeric times by digits before the point: seconds or milliseconds since 1970.
_STAMPS = ((re.compile(r"\d{9,10}(\.\d+)?"), _SECOND), (re.compile(r"\d{12,13}(\.\d+)?"), _SECOND // 1000))


class ThroughputRow(Struct, frozen=True):
    """One row. Times are in microseconds since 1970, by the clock of the file; None: not in the file."""

    line: int
    start_us: int
    end_us: int
    transactions: float | None
    response_s: float | None
    system: str | None
    workload: str | None


class MatchedColumn(Struct, frozen=True):
    """A column of the file: its meaning and unit, and whether the unit was assumed."""

    meaning: str
    heading: str
    unit: str
    factor: float
    assumed: bool
    place: int

    def describe(self) -> str:
        unit = f" in {self.unit}" if self.unit else ""
        return f"{self.meaning} from {self.heading!r}{unit}{' (assumed)' if self.assumed else ''}"


class Throughput(Struct, frozen=True):
    """A throughput file. local: its times have no zone; unused: headings that match no column."""

    path: str
    rows: tuple[ThroughputRow, ...]
    columns: tuple[MatchedColumn, ...]
    local: bool
    unused: tuple[str, ...] = ()


class Meaning(FactTable, frozen=True):
    """What a column contains."""

    text: Annotated[str, doc("what that is")]
    names: Annotated[tuple[str, ...], doc("headings in lower case")]
    unit: Annotated[str, doc("the kind of its units; empty if it has none")] = ""


class HeadingFacts(FactFile, frozen=True, rename={"meanings": "meaning", "units": "unit"}):
    """Headings and units of throughput files."""

    path: ClassVar = "throughput.toml"
    source: Annotated[str, doc("where they are from")]
    meanings: Annotated[dict[str, Meaning], doc("meanings by name")]
    units: Annotated[dict[str, dict[str, float]], doc("values in the first one, by kind")]


def parse_columns(text: str) -> dict[str, tuple[str, str]]:
    """Parse 'time=When,rate=Load:per min' into meaning -> (heading, unit or '')."""
    meanings = HeadingFacts.load().meanings
    columns: dict[str, tuple[str, str]] = {}
    for part in text.split(","):
        meaning, equals, rest = part.partition("=")
        heading, _, unit = rest.rpartition(":") if ":" in rest else (rest, "", "")
        meaning = meaning.strip().lower()
        if not equals or not heading.strip() or meaning not in meanings or meaning in columns:
            expected = f"MEANING=HEADING or MEANING=HEADING:UNIT; MEANING one of {', '.join(meanings)}"
            raise QueryError(f"{part!r} names no column of a throughput file", expected=expected)
        unit = _words(unit)
        units = HeadingFacts.load().units.get(meanings[meaning].unit, {})
        if unit and unit not in units:
            message = f"{part!r}: {meaning} is not counted in {unit!r}"
            raise QueryError(message, expected=", ".join(units) or "no unit")
        columns[meaning] = (heading.strip(), unit)
    return columns


def read(path: str, column_names: Mapping[str, tuple[str, str]] | None = None) -> Throughput:
    """Return the rows in order of time. Raises InputError with the line if the file is not as expected."""
    text = _text(path)
    lines = _lines(path, text)
    first, headings = next(lines, (0, None))
    if headings is None:
        raise InputError("contains no row", file=path, cure=_CURE)
    if len(headings) > MOST_COLUMNS:
        expected = f"at most {MOST_COLUMNS:,}"
        raise _wrong(path, first, f"has {len(headings):,} columns", expected=expected)
    columns = _columns(path, first, headings, column_names or {})
    rows = [_raw(path, line, cells, columns) for line, cells in lines]
    if not rows:
        raise InputError("has a heading line but no row", file=path, cure=_CURE)
    locals_ = {row.local for row in rows}
    if len(locals_) > 1:
        different, *_ = (row for row in rows if row.local != rows[0].local)
        raise _wrong(path, different.line, "differs from other lines: some times have a zone and some do not")
    used = {column.place for column in columns.values()}
    unused = tuple(heading for index, heading in enumerate(headings) if heading and index not in used)
    return Throughput(path, tuple(_spans(path, rows)), tuple(columns.values()), locals_.pop(), unused)


def _text(path: str) -> str:
    data = user_files.read_content(path, LARGEST, "CSV file of times and rates", _CURE)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("is UTF-16 text", file=path, offset=0, cure="save it as CSV in UTF-8")
    text = user_files.decoded(data, path, _CURE, "utf-8-sig")
    if "\0" in text:
        raise InputError("is not text: it contains zero bytes", file=path, offset=data.index(0), cure=_CURE)
    return text


def _lines(path: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each line with content; lines that start with # are comments."""
    # splitlines() would split at more characters than editors do.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    heading = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    delimiter = max(_DELIMITERS, key=heading.count)
    # Parse line by line, so that an unclosed quote cannot swallow the rest of the file.
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if number > MOST_ROWS:
            message = f"is beyond the limit of {MOST_ROWS:,} lines"
            raise _wrong(path, number, message, cure="aggregate the rows first")
        try:
            cells = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except csv.Error as error:
            raise _wrong(path, number, f"is not CSV: {error}") from None
        yield number, [cell.strip() for cell in cells]


def _wrong(
    path: str, line: int, predicate: str, expected: str | None = None, cure: str | None = None
) -> InputError:
    return InputError(f"line {line} {predicate}", file=path, expected=expected, cure=cure)


# Columns ------------------------------------------------------------------------------------------


def _words(heading: str) -> str:
    """Return a heading in lower case with single blanks."""
    return " ".join(re.sub(r"[^a-z0-9µ]+", " ", heading.lower().replace("/", " per ")).split())


def _columns(
    path: str, line: int, headings: Sequence[str], column_names: Mapping[str, tuple[str, str]]
) -> dict[str, MatchedColumn]:
    columns: dict[str, MatchedColumn] = {}
    for meaning, (heading, unit) in column_names.items():
        indexes = [index for index, text in enumerate(headings) if text.lower() == heading.lower()]
        if len(indexes) != 1:
            predicate = f"has no column {heading!r}" if not indexes else f"has the column {heading!r} twice"
            raise _wrong(path, line, predicate, expected=", ".join(map(repr, headings)))
        match = _match_heading(headings[indexes[0]])
        heading_unit = match[1] if match and match[0] in (meaning, "transactions") else ""
        columns[meaning] = _column(meaning, headings[indexes[0]], unit or heading_unit, indexes[0])
    used = {column.place for column in columns.values()}
    for index, heading in enumerate(headings):
        match = _match_heading(heading)
        if match is None or index in used or match[0] in column_names:
            continue
        if match[0] in columns:
            message = f"has two columns of {match[0]}: {columns[match[0]].heading!r} and {heading!r}"
            raise _wrong(path, line, message, cure=phrase("throughput_column", column=match[0]))
        columns[match[0]] = _column(match[0], heading, match[1], index)
    if not {"start", "end", "time"} & set(columns):
        raise _missing(path, line, headings, "a time", "time, or start and end", "time")
    if "start" in columns and "end" in columns:
        columns.pop("time", None)
    elif "time" in columns:
        columns.pop("start", None)
        columns.pop("end", None)
    if "transactions" not in columns and "rate" not in columns:
        raise _missing(path, line, headings, "transactions", "transactions or rate", "transactions")
    if "transactions" in columns:
        columns.pop("rate", None)
    return columns


def _missing(
    path: str, line: int, headings: Sequence[str], subject: str, expected: str, meaning: str
) -> InputError:
    shown = ", ".join(repr(heading[:40]) for heading in headings[:12])
    cure = phrase("throughput_heading", column=meaning)
    return _wrong(path, line, f"has no column of {subject}: {shown}", f"headings such as {expected}", cure)


def _match_heading(heading: str) -> tuple[str, str] | None:
    """Return the meaning of a heading and the unit in it ('' for none), or None if it is unknown."""
    meanings, units = HeadingFacts.load().meanings, HeadingFacts.load().units
    words = _words(heading)
    for meaning, fact in meanings.items():
        if words in fact.names:
            return meaning, ""
        for unit in units.get(fact.unit, ()):
            if words.endswith(" " + unit) and words.removesuffix(" " + unit) in fact.names:
                return meaning, unit
    for unit in units["rate"]:
        if words.endswith(" " + unit) and words.removesuffix(" " + unit) in meanings["transactions"].names:
            return "rate", unit
    return None


def _column(meaning: str, heading: str, unit: str, index: int) -> MatchedColumn:
    units = HeadingFacts.load().units.get(HeadingFacts.load().meanings[meaning].unit)
    if not units:
        return MatchedColumn(meaning, heading, "", 1.0, False, index)
    assumed = not unit and not (meaning == "rate" and _words(heading) in ("tps", "rps"))
    first, *_ = units
    unit = unit or first
    return MatchedColumn(meaning, heading, unit, units[unit], assumed, index)


# Rows ---------------------------------------------------------------------------------------------


class _Raw(Struct, frozen=True):
    line: int
    times: dict[str, int]
    local: bool
    amount: float | None
    is_rate: bool
    response_s: float | None
    system: str | None
    workload: str | None


def _raw(path: str, line: int, cells: Sequence[str], columns: Mapping[str, MatchedColumn]) -> _Raw:
    last = max(column.place for column in columns.values())
    if len(cells) <= last:
        raise _wrong(path, line, f"has {len(cells)} columns", expected=f"{last + 1} or more")
    times = {}
    local = False
    for meaning in ("start", "end", "time"):
        if meaning in columns:
            times[meaning], is_local = _time(path, line, cells[columns[meaning].place])
            local = local or is_local
    amount_column = columns.get("transactions") or columns["rate"]
    text = {name: cells[columns[name].place] or None for name in ("system", "workload") if name in columns}
    amount = _number(path, line, cells, amount_column)
    response_s = _number(path, line, cells, columns["response"]) if "response" in columns else None
    is_rate = amount_column.meaning == "rate"
    return _Raw(line, times, local, amount, is_rate, response_s, text.get("system"), text.get("workload"))


def _number(path: str, line: int, cells: Sequence[str], column: MatchedColumn) -> float | None:
    """Return a number of 0 or more, or None if the cell is empty or marked as missing."""
    text = cells[column.place]
    if text.lower() in ("", "-", "n/a", "na", "nan", "null", "none"):
        return None
    try:
        # 1,234 is ambiguous: a thousands separator or a decimal comma.
        number = math.nan if _THOUSANDS.fullmatch(text) else float(text.replace(",", ".", 1))
    except ValueError:
        number = math.nan
    if not 0 <= number < 1e15 or "_" in text:
        message = f"has {text[:40]!r} as {column.meaning}"
        raise _wrong(path, line, message, expected="a number of 0 or more, such as 1234.5")
    return number * column.factor


def _time(path: str, line: int, text: str) -> tuple[int, bool]:
    """Return microseconds since 1970, and whether the time has no zone."""
    for pattern, unit in _STAMPS:
        if pattern.fullmatch(text):
            return round(float(text) * unit), False
    match = _YEARFIRST.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        rest = (match[4] or "").strip().replace(",", ".")
        day = f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}"
        timestamp = dt.datetime.fromisoformat(f"{day}T{rest.removeprefix('T')}" if rest else day)
        if not 1970 < timestamp.year < 2200:
            raise ValueError
        is_local = timestamp.tzinfo is None
        return (local_us(timestamp) if is_local else to_unix_us(timestamp)), is_local
    except (ValueError, OverflowError):
        expected = "2026-03-02 09:15:00, with or without a zone, or seconds since 1970"
        raise _wrong(path, line, f"has {text[:40]!r} as time", expected=expected) from None


def _spans(path: str, rows: Sequence[_Raw]) -> Iterator[ThroughputRow]:
    """Yield the rows with start and end, by time; rows of one workload must not overlap."""
    series: dict[tuple[str | None, str | None], list[_Raw]] = {}
    for row in rows:
        series.setdefault((row.system, row.workload), []).append(row)
    unnamed = next((row for row in rows if row.system is None), None)
    if unnamed is not None and any(row.system for row in rows):
        raise _wrong(path, unnamed.line, "has no system, but other lines do")
    spans: list[ThroughputRow] = []
    for workload_rows in series.values():
        key, *_ = (name for name in ("time", "end", "start") if name in workload_rows[0].times)
        workload_rows.sort(key=lambda row: row.times[key])
        previous: ThroughputRow | None = None
        for row, (start, end) in zip(workload_rows, _ends(path, workload_rows), strict=True):
            if end <= start:
                raise _wrong(path, row.line, "does not end after its start")
            # Rounding of clocks is not an overlap.
            if previous is not None and previous.end_us - start > 0.01 * (end - start):
                expected = "intervals that do not overlap"
                cure = "add a column with the workload or the system"
                raise _wrong(path, row.line, f"overlaps line {previous.line}", expected, cure)
            amount = row.amount
            if amount is not None and row.is_rate:
                amount *= (end - start) / _SECOND
            previous = ThroughputRow(row.line, start, end, amount, row.response_s, row.system, row.workload)
            spans.append(previous)
    return iter(sorted(spans, key=lambda row: (row.start_us, row.line)))


def _ends(path: str, rows: Sequence[_Raw]) -> Iterator[tuple[int, int]]:
    """Yield start and end of rows: from the file, or from the times of adjacent rows."""
    if {"start", "end"} <= set(rows[0].times):
        yield from ((row.times["start"], row.times["end"]) for row in rows)
        return
    key, *_ = rows[0].times
    times = [row.times[key] for row in rows]
    steps = [later - earlier for earlier, later in itertools.pairwise(times)]
    for row, step in zip(rows[1:], steps, strict=True):
        if not step:
            message = "has the same time as the line before"
            raise _wrong(path, row.line, message, cure="add a column with the workload")
    if not steps:
        message = "is the only row, so its length is unknown"
        raise _wrong(path, rows[0].line, message, cure="add start and end")
    usual = round(statistics.median(steps))
    # After a gap, a row has the usual length.
    lengths = [step if step <= GAP * usual else usual for step in steps]
    if key == "start":
        yield from zip(times, (t + n for t, n in zip(times, [*lengths, usual], strict=True)), strict=True)
    else:
        yield from zip((t - n for t, n in zip(times, [usual, *lengths], strict=True)), times, strict=True)
