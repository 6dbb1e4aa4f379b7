"""Tests of the user's throughput file: columns, times, and errors of invalid files."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest

from iterations import draws
from zlens.errors import InputError, QueryError
from zlens.readers.throughput import table as throughput

NINE = 1_772_442_000_000_000  # 2026-03-02 09:00:00 in the file's local time
MINUTE = 60_000_000


def read(tmp_path: Path, text: str | bytes, columns: str | None = None) -> throughput.Throughput:
    path = tmp_path / "load.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return throughput.read(str(path), throughput.parse_columns(columns) if columns else None)


def test_times_are_consecutive_interval_ends(tmp_path: Path) -> None:
    throughput = read(
        tmp_path,
        "# remarks are passed over\nTime,Transactions,Response (ms)\n"
        "2026-03-02 09:01:00,600,250\n2026-03-02T09:02:00,1200,\n2026/03/02 09:03:00.000,0,10\n",
    )
    assert throughput.local
    spans = [((row.start_us - NINE) / MINUTE, (row.end_us - NINE) / MINUTE) for row in throughput.rows]
    assert spans == [(0, 1), (1, 2), (2, 3)]
    assert [row.transactions for row in throughput.rows] == [600, 1200, 0]
    assert [row.response_s for row in throughput.rows] == [0.25, None, 0.01]
    assert [row.line for row in throughput.rows] == [3, 4, 5]
    assert [column.describe() for column in throughput.columns] == [
        "time from 'Time'",
        "transactions from 'Transactions'",
        "response from 'Response (ms)' in ms",
    ]


def test_throughput_start_lasts_until_next_start(tmp_path: Path) -> None:
    throughput = read(
        tmp_path,
        "start;tps\n2026-03-02 09:00:00Z;1,5\n2026-03-02 09:01:00Z;2\n"
        "2026-03-02 09:02:00Z;2\n2026-03-02 10:00:00Z;3\n",
    )
    assert not throughput.local
    assert [row.transactions for row in throughput.rows] == [90, 120, 120, 180]
    assert {row.end_us - row.start_us for row in throughput.rows} == {MINUTE}


@pytest.mark.parametrize(
    ("heading", "meaning", "unit"),
    [
        ("Transactions", "transactions", "count"),
        ("tx/min", "rate", "per min"),
        ("Transactions per second", "rate", "per second"),
        ("TPS", "rate", "per s"),
        ("rate [per hour]", "rate", "per hour"),
    ],
)
def test_headings_and_units(tmp_path: Path, heading: str, meaning: str, unit: str) -> None:
    throughput = read(tmp_path, f"start,end,{heading}\n1772442000,1772442060,30\n")
    taken = {column.meaning: column for column in throughput.columns}
    assert taken[meaning].unit == ("" if unit == "count" else unit)
    (row,) = throughput.rows
    assert not throughput.local
    factor = {"count": 1, "per min": 1, "per second": 60, "per s": 60, "per hour": 1 / 60}[unit]
    assert row.transactions == pytest.approx(30 * factor)


def test_columns_named_by_user(tmp_path: Path) -> None:
    text = "Zeit,Last,Antwort\n2026-03-02 09:00,60,2\n2026-03-02 09:01,120,2\n"
    with pytest.raises(InputError, match="line 1 has no column of a time"):
        read(tmp_path, text)
    throughput = read(tmp_path, text, "start=Zeit,rate=Last:per min,response=Antwort:ms")
    assert [row.transactions for row in throughput.rows] == [pytest.approx(60), pytest.approx(120)]
    assert throughput.rows[0].response_s == 0.002
    with pytest.raises(InputError, match=r"line 1 has no column 'Zeiten'; expected 'Zeit', 'Last'"):
        read(tmp_path, text, "time=Zeiten,rate=Last")


NO_COLUMN = "names no column of a throughput file; expected MEANING=HEADING"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, f"'{text}' {NO_COLUMN}") for text in ("", "when", "=x", "a=b=c", "time=")),
        ("when=x,time=y", f"'when=x' {NO_COLUMN}"),
        ("time=x,time=y", f"'time=y' {NO_COLUMN}"),
        ("rate=x:ms", "'rate=x:ms': rate is not counted in 'ms'; expected per s, 1 per s, tx per s"),
        ("time=a:s", "'time=a:s': time is not counted in 's'; expected no unit"),
    ],
)
def test_invalid_column_options_are_rejected(text: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        throughput.parse_columns(text)
    assert str(caught.value).startswith(said)


def test_throughput_headings_are_unambiguous() -> None:
    facts = throughput.HeadingFacts.load()
    names = [name for fact in facts.meanings.values() for name in fact.names]
    assert len(names) == len(set(names))
    assert {fact.unit for fact in facts.meanings.values()} <= {"", "count", *facts.units}
    for units in facts.units.values():
        assert next(iter(units.values())) == 1.0
        assert all(0 < factor <= 1 for factor in units.values())


def test_workloads_share_times(tmp_path: Path) -> None:
    lines = [f"2026-03-02 09:0{m},{w},6" for w in ("web", "batch") for m in range(3)]
    throughput = read(tmp_path, "time,workload,count\n" + "\n".join(lines))
    assert {row.workload for row in throughput.rows} == {"web", "batch"}
    assert len(throughput.rows) == 6


BAD = {
    "": "contains no row",
    "# only a remark\n": "contains no row",
    "time,count\n": "has a heading line but no row",
    "2026-03-02 09:00,5\n2026-03-02 09:01,5\n": "line 1 has no column of a time",
    "time,note\n2026-03-02 09:00,x\n": "line 1 has no column of transactions",
    "time,count,requests\n2026-03-02 09:00,1,2\n": "line 1 has two columns of transactions",
    "time,count\n2026-03-02 09:00,5\n": "line 2 is the only row",
    "time,count\n2026-03-02 09:00,5\n2026-03-02 09:00,6\n": "line 3 has the same time as the line before",
    "time,count\n2026-03-02 09:00,5\n09:01,6\n": "line 3 has '09:01' as time",
    "time,count\n2026-03-02 09:00,5\n03/02/2026 09:01,6\n": "line 3 has '03/02/2026 09:01' as time",
    "time,count\n2026-03-02 09:00,5\n2026-13-02 09:01,6\n": "line 3 has '2026-13-02 09:01' as time",
    "time,count\n2026-03-02 09:00,5\n0001-01-01 00:00,6\n": "line 3 has '0001-01-01 00:00' as time",
    "time,count\n2026-03-02 09:00,5\n2026-03-02 09:01+01:00,6\n": "line 3 differs from other lines",
    "time,count\n2026-03-02 09:00,5\n2026-03-02 09:01\n": "line 3 has 1 columns",
    "time,count\n2026-03-02 09:00,-5\n2026-03-02 09:01,1\n": "line 2 has '-5' as transactions",
    "time,count\n2026-03-02 09:00,1e99\n2026-03-02 09:01,1\n": "line 2 has '1e99'",
    "time,count\n2026-03-02 09:00,inf\n2026-03-02 09:01,1\n": "line 2 has 'inf'",
    'time,count\n2026-03-02 09:00,"1,234"\n2026-03-02 09:01,1\n': "line 2 has '1,234'",
    'time,count\n"2026-03-02 09:00,1\n2026-03-02 09:01,1\n': "line 2 is not CSV",
    "start,end,count\n2026-03-02 09:00,2026-03-02 09:00,1\n": "line 2 does not end after its start",
    "start,end,count\n1772442000,1772442600,1\n1772442300,1772442900,1\n": "line 3 overlaps line 2",
    "time,system,count\n2026-03-02 09:00,A,1\n2026-03-02 09:01,,1\n": "line 3 has no system",
    "time,count\n2026-03-02 09:00,\0\n": "is not text",
    "time,count" + "," * 1000 + "\n2026-03-02 09:00,5\n": "line 1 has 1,002 columns",
}


@pytest.mark.parametrize(("text", "said"), BAD.items(), ids=[f"bad{n}" for n in range(len(BAD))])
def test_invalid_throughput_line_has_number(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert said in str(raised.value)
    assert raised.value.file == str(tmp_path / "load.csv")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfet\0i\0", "at byte 0: is UTF-16 text; save it as CSV in UTF-8"),
        (b"time,count\n\xe4\xf6\n", "at byte 11: is not text in UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0", "at byte 0: is not text in UTF-8"),
    ],
)
def test_binary_throughput_file_is_rejected(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(tmp_path, data)


def test_missing_throughput_file_is_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        throughput.read(str(tmp_path / "nothing.csv"))
    with pytest.raises(InputError, match="cannot be read"):
        throughput.read(str(tmp_path))


def plain(line: bytes) -> list[object] | None:
    """Return a row as Python's float and datetime parse it; None if they cannot."""
    try:
        start, end, count, response = line.decode().strip().split(",")
        times = [dt.datetime.fromisoformat(text.strip()).replace(tzinfo=dt.UTC) for text in (start, end)]
        numbers = [float(text) if text.strip() else None for text in (count, response)]
    except ValueError:
        return None
    return [*(round(time.timestamp() * 1e6) for time in times), *numbers]


#: The location in every error of this file.
SENTENCE = re.compile(r"load\.csv( at byte \d+: is|: line \d+ (has|is|does|overlaps|differs))")
DIGITS = b"0123456789"
HEADINGS = b"start,end,count,response (ms)\n"


def test_damaged_throughput_gives_rows_or_error(tmp_path: Path) -> None:
    """Rows equal the lines as Python parses them; an error names the line or the byte."""
    good = HEADINGS + b"".join(
        b"2026-03-02 09:%02d:00,2026-03-02 09:%02d:59,%d,0.5\n" % (m, m, m) for m in range(20)
    )
    numbers = draws(5)
    read_well = compared = 0
    said: list[InputError] = []
    for _ in range(400):
        data = bytearray(good)
        for _ in range(numbers.randint(1, 4)):
            place = numbers.randrange(len(data))
            match numbers.randrange(6):
                case 0:
                    del data[place : place + numbers.randint(1, 60)]
                case 1:
                    data[place] = numbers.randrange(256)
                case _ if data[place] in DIGITS:
                    data[place] = numbers.choice(DIGITS)
        try:
            found = read(tmp_path, bytes(data))
        except InputError as error:
            said.append(error)
            continue
        read_well += 1
        assert [row.start_us for row in found.rows] == sorted(row.start_us for row in found.rows)
        assert all(row.end_us > row.start_us for row in found.rows)
        assert all(row.transactions is None or row.transactions >= 0 for row in found.rows)
        lines = bytes(data).splitlines()
        if data.startswith(HEADINGS) and b'"' not in data:
            for row in found.rows:
                expected = plain(lines[row.line - 1])
                if expected is not None:
                    compared += 1
                    response = None if row.response_s is None else row.response_s * 1000
                    values = [row.start_us, row.end_us, row.transactions, response]
                    assert values == pytest.approx(expected), lines[row.line - 1]
    assert {error.file for error in said} == {str(tmp_path / "load.csv")}
    assert [str(error) for error in said if not SENTENCE.search(str(error))] == []
    assert 0 < read_well < 400
    assert compared > 500
