"""Tests of lakes of many systems: one scan reads them all, and a query of some opens only their files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import lake_copies
import zlens
from lake_builder import differences, recording, tables, write
from zlens import lake
from zlens.api import Session
from zlens.inputs.options import Options
from zlens.lake import file_names

SYSTEMS = 60
#: The engine's limit of memory, which a command may use besides that of Python, in bytes.
MEMORY = 4 * 1024**3


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lake_copies.make(tmp_path_factory.mktemp("many"), map(lake_copies.name, range(SYSTEMS)))


def plan_of_table(session: Session, table: str, columns: Sequence[str], where: str) -> str:
    """Return the engine's plan for rows of a raw table."""
    store = session._core.engine.store
    cursor = store.cursor()
    rows = store.raw_rows(cursor, table, columns)
    [(_, plan)] = cursor.execute(f"EXPLAIN ANALYZE SELECT * FROM ({rows}) WHERE {where}").fetchall()
    return str(plan)


def test_one_scan_reads_table_of_all_systems(many: Path) -> None:
    with zlens.open(many) as session:
        plan = plan_of_table(session, "d0r2", ["system", "offset"], "true")
        assert plan.count("READ_PARQUET") == 1
        assert "Total Files Read: 120" in plan
        # A measure whose statement names its table several times.
        rows = session.sql("SELECT system, count(*), max(busy_pct) FROM cpu GROUP BY system ORDER BY 1").rows
    # Two of three intervals have differences; processor 2 is the busiest.
    assert [row[:2] for row in rows] == [(lake_copies.name(number), 6) for number in range(SYSTEMS)]
    assert {round(row[2], 6) for row in rows} == {36.005}


def test_query_of_one_of_many_opens_its_files(many: Path) -> None:
    with zlens.open(many) as session:
        plan = plan_of_table(session, "d0r2", ["system", "offset"], "system = 'SYS00007'")
        assert "Scanning Files: 2/120" in plan
        assert "SYS00008" not in plan


def test_rows_of_copied_system_equal_those_of_its_file(many: Path, tmp_path: Path) -> None:
    name = lake_copies.name(SYSTEMS - 1)
    path = write(tmp_path / "one.data", recording(range(3), system=name))
    found = tables(many, Options(systems=(name,)))
    assert differences(found, tables(path)) == []


def test_lake_below_folder_with_equals_sign(tmp_path: Path) -> None:
    path = write(tmp_path / "one.data", recording(range(3), system="RIGHT"))
    wrong = tmp_path / "system=WRONG" / "source=wrong"
    lake.add([path], wrong / "lake")
    assert differences(tables(wrong / "lake"), tables(path)) == []


@pytest.mark.parametrize(
    ("system", "is_in_path"),
    [
        ("ZVM1", True),
        ("a/b=c d%41", True),
        ("Zürich", True),
        ("", False),
        ("S" * 201, False),
        ("__HIVE_DEFAULT_PARTITION__", False),
    ],
)
def test_system_in_path_is_its_name_or_not_read(system: str, is_in_path: bool, tmp_path: Path) -> None:
    assert file_names.is_in_path(system) is is_in_path
    with zlens.open(lake_copies.make(tmp_path, [system])) as session:
        rows = session.sql("SELECT DISTINCT system FROM d0r2").rows
    assert rows == [(system,)]


# Thousands of systems --------------------------------------------------------------------------------

#: Runs a command; prints its exit status, seconds, and peak memory in KiB.
_MEASURED = """
import os, resource, subprocess, sys, time
start = time.monotonic()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(status, time.monotonic() - start, peak)
"""


@pytest.mark.long
def test_lake_of_5000_systems_within_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lake_copies.make(tmp_path, map(lake_copies.name, range(5000)))
    new = write(tmp_path / "new.data", recording(range(3), system="NEWSYS"))
    commands = [
        ["lake", "show", path],
        ["lake", "check", path],
        ["info", path],
        ["sql", path, "-q", "SELECT * FROM cpu WHERE system = 'SYS00777'"],
        ["sql", path, "-q", "SELECT max(busy_pct) FROM load"],
        ["sql", path, "-q", "SELECT system, count(*) FROM cpu GROUP BY system"],
        ["report", "cpu", path],
        ["findings", path],
        ["import", new, "--lake", path],
    ]
    with capsys.disabled():
        for command in commands:
            words = [sys.executable, "-c", _MEASURED, sys.executable, "-m", "zlens", *map(os.fspath, command)]
            text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            status, seconds, peak = (float(word) for word in text.split())
            print(f"\n{command[0]} {command[-1]}: {seconds:.1f} s, {peak / 1024:.0f} MiB", end="")
            assert status == 0
            assert peak * 1024 < MEMORY
