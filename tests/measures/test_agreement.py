"""Tests that measures of the same seconds agree.

Load and its processors, a machine and its partitions, guests and their system. Differences are explained:
use by PR/SM, or work of guests that are not recorded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zlens
from samples import needs, sample
from zlens import demo

OURS = (demo.MONWRITE_NAME, demo.SIM_NAME, demo.SMF_NAME, demo.RMF_NAME)
Z15 = sample("rmf/rmf-postprocessor-cpu-8562-z15.xml")
TWO_WRITERS = sample("public/smf70-rmf-and-cmf.smf")

LOAD = """
    WITH processors AS (
        SELECT system, source, interval_end, sum(busy_pct * seconds) / 100 AS busy_s
        FROM cpu WHERE flag IS NULL GROUP BY ALL HAVING count(busy_pct) = count(*)
    )
    SELECT processors.busy_s, busy_pct * online * seconds / 100, load.busy_s
    FROM load JOIN processors USING (system, source, interval_end) WHERE flag IS NULL
"""
MACHINE = """
    WITH partitions AS (
        SELECT
            machine, source, cpu_type, interval_end, sum(total_s) AS total_s, sum(effective_s) AS effective_s
        FROM partition WHERE flag IS NULL GROUP BY ALL HAVING count(total_s) = count(*)
    )
    SELECT p.total_s, c.total_s - c.management_s, p.effective_s, c.effective_s
    FROM cec AS c JOIN partitions AS p USING (machine, source, cpu_type, interval_end) WHERE c.flag IS NULL
"""
#: z/OS: busy time of the processors equals the partition's time in PR/SM. CP measures its own times.
PARTITION = """
    WITH processors AS (
        SELECT system, source, interval_end, cpu_type, sum(busy_pct * seconds) / 100 AS busy_s
        FROM cpu WHERE flag IS NULL GROUP BY ALL HAVING count(busy_pct) = count(*)
    )
    SELECT busy_s, total_s
    FROM processors JOIN system AS y USING (system, source)
    JOIN partition AS p USING (system, source, interval_end, cpu_type) WHERE p.partition = y.lpar
"""
GUESTS = """
    WITH guests AS (SELECT system, source, interval_end, sum(cpu_s) AS guest_s FROM guest GROUP BY ALL)
    SELECT guest_s, user_pct * online * seconds / 100
    FROM load JOIN guests USING (system, source, interval_end) WHERE flag IS NULL
"""
#: RMF prints hundredths of a percent of each processor.
PRINTED_S = 0.5


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with zlens.open(path) as session:
        return session.sql(query).rows


@pytest.fixture(
    params=[*OURS, pytest.param(Z15, marks=needs(Z15)), pytest.param(TWO_WRITERS, marks=needs(TWO_WRITERS))]
)
def path(request: pytest.FixtureRequest, demo_folder: Path) -> Path:
    named = Path(request.param)
    return named if named.is_absolute() else demo_folder / named


def test_system_busy_equals_processors(path: Path) -> None:
    found = rows(path, LOAD)
    assert found
    for processors, load, busy_s in found:
        assert load == pytest.approx(processors)
        assert busy_s == pytest.approx(processors)


def test_machine_time_is_partitions_plus_management(path: Path) -> None:
    found = rows(path, MACHINE)
    assert found
    for total, without_management, effective, of_machine in found:
        assert without_management == pytest.approx(total, abs=1e-6)
        assert of_machine == pytest.approx(effective)


@pytest.mark.parametrize("name", [demo.SMF_NAME, demo.RMF_NAME])
def test_partition_busy_equals_processors(demo_folder: Path, name: str) -> None:
    found = rows(demo_folder / name, PARTITION)
    assert found
    for processors, partition in found:
        assert partition == pytest.approx(processors, abs=PRINTED_S if name == demo.RMF_NAME else 1e-6)


@pytest.mark.parametrize(("name", "complete"), [(demo.MONWRITE_NAME, False), (demo.SIM_NAME, True)])
def test_guest_time_equals_user_time(demo_folder: Path, name: str, complete: bool) -> None:
    found = rows(demo_folder / name, GUESTS)
    assert found
    for guests, users in found:
        # The first file records few guests: their sum never exceeds the user time.
        assert guests <= users * (1 + 1e-9)
        if complete:
            assert guests == pytest.approx(users)
