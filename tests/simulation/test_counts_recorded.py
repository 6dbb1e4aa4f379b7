"""Tests that the records of a simulated system are the sums of the records of its parts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from zlens.api import Session

SCENARIO = """
model = "system"
[processors]
IFL = 2
[[partition]]
name = "ZVM1"
type = "IFL"
cores = 2
weight = 100
zvm = "7.4"
[[pool]]
name = "POOL"
type = "IFL"
limithard = 30
[[user]]
name = "A"
type = "IFL"
relative = 100
virtual_cpus = 2
pool = "POOL"
demand = 80
[[user]]
name = "B"
type = "IFL"
relative = 100
demand = 60
[[function]]
id = 7
user = "A"
type = 1
format = "DMA"
attach = 60
in = 1.0
[simulation]
seconds = 180
interval = 60
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    [run] = zlens.simulate(tomllib.loads(SCENARIO), tmp_path_factory.mktemp("counts") / "counts.data")
    with zlens.open([*run.files.values()]) as session:
        yield session


def test_pool_use_equals_member_use(recorded: Session) -> None:
    rows = recorded.sql(
        "SELECT prccpu_zlcputm, sum(useact_vmdttime) FROM d5r19 JOIN d4r3 USING (interval_end) "
        "WHERE useact_vmduser = 'A' GROUP BY interval_end, prccpu_zlcputm"
    ).rows
    assert len(rows) >= 3
    assert all(pool == member > 0 for pool, member in rows)


def test_system_instructions_equal_processors(recorded: Session) -> None:
    rows = recorded.sql(
        "WITH dispatched AS (SELECT interval_end, sum(sytprp_pfxrunci) AS n FROM d0r2 GROUP BY 1), "
        "simulated AS (SELECT interval_end, sum(sytsyp_plsprvis) AS n FROM d0r1 GROUP BY 1) "
        "SELECT sytsyg_zlsieint, d.n + s.n FROM d0r19 "
        "JOIN dispatched AS d USING (interval_end) JOIN simulated AS s USING (interval_end)"
    ).rows
    assert len(rows) >= 3
    assert all(system == processors > 0 for system, processors in rows)


def test_function_is_attached_once_at_given_time(recorded: Session) -> None:
    """It is attached at an interval end and belongs to the next interval."""
    [(function, at)] = recorded.sql("SELECT iodpat_rpcipfid, tod FROM d6r36").rows
    # The first sample has no interval.
    end = recorded.sql("SELECT min(interval_end) FROM interval").rows[0][0]
    assert (function, at) == (7, end)
    # Before, it has no samples; its counts begin with the first one.
    samples = recorded.sql("SELECT interval_end, iodpac_zldmard FROM d6r39 ORDER BY interval_end").rows
    ends = recorded.sql("SELECT interval_end FROM interval ORDER BY 1").rows
    assert [(end,) for end, _ in samples] == ends[1:]
    assert samples[0][1] == 0 < samples[1][1]


def test_limit_changed_at_interval_end_is_next(tmp_path: Path) -> None:
    """A pool has the limit until the end of the interval before which its use was limited by it."""
    scenario = tomllib.loads(SCENARIO)
    scenario["user"][0]["demand"] = 200
    scenario["command"] = [{"at": 60, "do": "set pool limit", "pool": "POOL", "limit": 10}]
    [run] = zlens.simulate(scenario, tmp_path / "limit.data")
    with zlens.open([*run.files.values()]) as session:
        rows = session.sql("SELECT limit_amount, cpu_pct FROM cpu_pool ORDER BY interval_end").rows
    assert [row[0] for row in rows] == [30, 10, 10]
    # Percent of one of two processors.
    assert [row[1] for row in rows] == pytest.approx([60, 20, 20], abs=0.5)
