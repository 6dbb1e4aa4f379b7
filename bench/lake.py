"""Cost of a lake: import compared with DuckDB writing the same tables, and a query on a month of systems.

The month is built once and stored with the other data: daily files of eight systems with eight processors,
one-minute intervals, each imported when it is written. Everything is measured with files in the page cache.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

import bench
import duckdb
import mix

import record_encoder
import zlens
from zlens import _native, lake
from zlens.inputs.options import Options, parse_time_spec
from zlens.lake import documents, manifest

SYSTEMS = [f"ZVM{number}" for number in range(1, 9)]
DAYS = 30
#: Records of an interval of a system with eight processors.
SAMPLES = (
    ("D0R1", 8, 0),
    ("D0R2", 8, 0),
    ("D0R3", 1, 0),
    ("D0R8", 1, 0),
    ("D0R12", 1, 0),
    ("D0R16", 4, 8),
    ("D0R17", 1, 16),
    ("D3R1", 1, 0),
    ("D5R3", 8, 0),
)
PER_DAY = 1440
QUESTION = (
    "SELECT sytprp_pfxcpuad, sum(sytprp_pfxutime_d) AS used, max(seconds) AS longest "
    "FROM d0r2 {where} GROUP BY sytprp_pfxcpuad ORDER BY sytprp_pfxcpuad"
)
#: The fifteenth day.
FIRST, LAST = "2026-01-15 00:00:30Z", "2026-01-16 00:00:30Z"


def writing_alone(path: Path) -> float:
    """Return the seconds in which DuckDB writes the decoded tables from memory, with the lake's settings."""
    source = bench.source_of(path)
    source.read_all()
    seconds = 0.0
    with tempfile.TemporaryDirectory(dir=bench.DATA) as folder:
        for name, parts in source.tables.items():
            connection = duckdb.connect()
            connection.execute("SET TimeZone = 'UTC'")
            for part in parts:
                connection.register("decoded", part.stream([column.name for column in part.columns]))
                connection.execute("CREATE TABLE held AS FROM decoded").fetchall()
                begin = time.perf_counter()
                connection.execute(
                    f"COPY held TO '{folder}/{name}.parquet' "
                    "(FORMAT parquet, COMPRESSION zstd, DICTIONARY_SIZE_LIMIT 0)"
                ).fetchall()
                seconds += time.perf_counter() - begin
            connection.close()
    return seconds


def importing(path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=bench.DATA) as folder:
        lake.add([path], Path(folder) / "lake")


def configuration(system: str, tod: int) -> list[bytes]:
    facts = {"MTRSYS_SYSTMID": system, "MTRSYS_HCPCPEID": "5.3.0"}
    return [
        record_encoder.encode(mix._layout("D1R4"), facts, tod=tod),
        record_encoder.encode(mix._layout("D1R9"), {"MTRSPR_INTERVAL": 60}, tod=tod),
    ]


def month(results: bench.Results) -> Path:
    """Return the lake of a month, built once."""
    # Another mix or another layout of the lake requires another month.
    sources = [Path(__file__), Path(mix.__file__), Path(documents.__file__), Path(manifest.__file__)]
    recipe = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    path = bench.DATA / f"month-{recipe}"
    if path.exists():
        return path
    for old in bench.DATA.glob("month-*"):
        shutil.rmtree(old)
    begin = time.perf_counter()
    imports = 0.0
    with tempfile.TemporaryDirectory(dir=bench.DATA) as folder:
        lake_path = Path(folder) / "lake"
        for number, system in enumerate(SYSTEMS):
            samples = mix.Maker(number).interval(SAMPLES, 0, closed=True)
            for day in range(DAYS):
                file = Path(folder) / f"{system}-{day:02}.data"
                write_day(file, system, samples, day)
                before = time.perf_counter()
                lake.add([file], lake_path)
                imports += time.perf_counter() - before
                file.unlink()
        lake_path.rename(path)
    took = time.perf_counter() - begin
    print(f"made a month of {len(SYSTEMS)} systems in {took:.0f} s, {imports:.0f} s of them for 240 imports")
    return path


def write_day(path: Path, system: str, samples: mix.Interval, day: int) -> None:
    writer = _native.MonwriteWriter(str(path))
    tod = _native.tod_from_unix_us(
        mix.START_US + (day * PER_DAY - 1) * mix.INTERVAL_US + mix.INTERVAL_US // 2
    )
    writer.write([(True, 0x40, 0, 0, configuration(system, tod))])
    for number in range(day * PER_DAY, (day + 1) * PER_DAY):
        writer.write([(True, 0xB6, 0, 0x0400, samples.records(number))])
    writer.finish()


def ask(path: Path, *, options: bool) -> int:
    """Query one day of one system, selected by options or in the query."""
    if options:
        chosen = Options(systems=("ZVM5",), start=parse_time_spec(FIRST), end=parse_time_spec(LAST))
        where = ""
    else:
        chosen = Options()
        where = (
            f"WHERE system = 'ZVM5' AND interval_end > TIMESTAMPTZ '{FIRST}' "
            f"AND interval_end <= TIMESTAMPTZ '{LAST}'"
        )
    with zlens.open(path, options=chosen) as session:
        return len(session.sql(QUESTION.format(where=where)).rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the file (1000)")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the best counts (5)")
    arguments = parser.parse_args()
    print(f"machine: {bench.machine()}")
    results = bench.Results()

    file = bench.bench_file(arguments.megabytes * 1_000_000)
    runs = max(1, arguments.runs // 2)
    alone = min(writing_alone(file) for _ in range(runs))
    seconds = bench.best(runs, lambda: importing(file))
    results.at_least(
        "zlens import", alone / seconds, 1 / 3, f"{seconds:.1f} s; writing Parquet alone {alone:.1f} s"
    )

    path = month(results)
    held = lake.contents(path)
    rows = sum(one.amount.rows for one in held.systems)
    size = sum(one.amount.bytes for one in held.systems)
    print(f"month: {len(held.inputs)} inputs, {rows:,} rows, {size / 1e6:.0f} MB of Parquet")
    assert ask(path, options=True) == ask(path, options=False) == 8
    seconds = bench.best(arguments.runs, lambda: ask(path, options=True))
    results.at_most("a day of a system, by options", seconds, 0.3, "opening the lake included")
    seconds = bench.best(arguments.runs, lambda: ask(path, options=False))
    results.at_most("a day of a system, by WHERE", seconds, 0.3, "opening the lake included")
    words = [
        "sql",
        str(path),
        "-q",
        QUESTION.format(where=""),
        "--system",
        "ZVM5",
        "--from",
        FIRST,
        "--to",
        LAST,
    ]
    seconds = bench.best(arguments.runs, bench.command(str(bench.PROGRAM), *words))
    start = bench.best(arguments.runs, bench.command(sys.executable, "-c", "import zlens.engine"))
    results.at_most("zlens sql of that, the whole program", seconds, start + 0.3, f"{start:.3f} s to start")
    print(f"\n{results.missed} missed" if results.missed else "\nall reached")
    return 0


if __name__ == "__main__":
    sys.exit(main())
