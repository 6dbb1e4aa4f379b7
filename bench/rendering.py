"""Cost of a long report: PRCLOG of 1.6 million rows, as text and as CSV, against DuckDB's own COPY.

COPY writes the same columns of the same rows to CSV from a separate table, so it neither reads the file nor
computes a measure. Seconds are CPU time of complete commands and of the one statement.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import answers
import bench
import duckdb
import mix

import zlens
from zlens.catalog.reports.definition import load_report

#: A sample has D0R2 of 16 processors, and the records that PRCLOG needs for its intervals.
SAMPLES = (("D0R2", 16, 0),)
INTERVALS = 100_000
BOUND = 3


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="not used: the report has its own length")
    parser.add_argument("--runs", type=int, default=3, help="runs of each, the least counts (3)")
    parser.add_argument("--intervals", type=int, default=INTERVALS, help=f"of 16 processors ({INTERVALS:,})")
    arguments = parser.parse_args()
    print(f"machine: {bench.machine()}")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "prclog.monwrite"
        mix.write(path, intervals=arguments.intervals, samples=SAMPLES, events=())
        rows, base = copied(path, Path(folder), arguments.runs)
        print(f"file: {path.stat().st_size / 1e6:.0f} MB, {rows:,} rows")
        print(f"COPY to CSV: {base:.2f} s of CPU\n")
        for form in ("text", "csv", "json"):
            seconds = min(
                answers.zlens_cpu("report", "prclog", str(path), "--format", form)
                for _ in range(arguments.runs)
            )
            bound = None if form == "json" else BOUND
            late = bound is not None and seconds > bound * base
            missed += late
            mark = "MISSED" if late else "ok" if bound else ""
            print(
                f"{mark:<6}  PRCLOG as {form:<5} {seconds:7.2f} s {seconds / base:6.2f} x  {bound or '':>3}"
            )
    print(f"\n{missed} of 2 missed" if missed else "\nall 2 reached")
    return 0


def copied(path: Path, folder: Path, runs: int) -> tuple[int, float]:
    """Return the number of rows, and the CPU time of a COPY of the report's columns."""
    (table,) = (table for table in load_report("prclog").tables if table.time)
    columns = ", ".join(f'"{column.column}"' for column in table.columns)
    connection = duckdb.connect()
    with zlens.open(path) as session:
        held = session.sql(f"SELECT system, interval_end, {columns} FROM ({table.query})")
        connection.register("answer", held)
        connection.execute("CREATE TABLE rows AS FROM answer")
    least = float("inf")
    for _ in range(runs):
        before = time.process_time()
        connection.execute(f"COPY rows TO '{folder}/rows.csv' (FORMAT csv)")
        least = min(least, time.process_time() - before)
        os.unlink(folder / "rows.csv")
    return connection.execute("SELECT count(*) FROM rows").fetchall()[0][0], least


if __name__ == "__main__":
    sys.exit(main())
