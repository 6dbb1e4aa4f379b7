"""Tests of busy with processors online that were varied off."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import zlens
from zlens import demo
from zlens.plan import planning
from zlens.plan.offline_processors import busy_with_processors


def test_busy_with_varied_processor_online(demo_folder: Path) -> None:
    """CPU 3 is offline from 09:07:20 to 09:13:40; four cores would have done the work of three."""
    with zlens.open(demo_folder / demo.MONWRITE_NAME) as session:
        [line] = busy_with_processors(session._core, "ZLDEMO")
        measured = dict(session.sql("SELECT interval_end, busy_pct FROM load").rows)
        answer = planning.plan(session._core, ["logical_cores=+1"], at="2010-03-09 09:10")
        late = dt.datetime(2010, 3, 9, 8, 11, tzinfo=dt.UTC)
        [part] = busy_with_processors(session._core, "ZLDEMO", late)
    assert line.processors == ("CPU 3",)
    # Only intervals in which it was offline throughout.
    assert [end.minute for end in line.ends] == [9, 10, 11, 12, 13]
    assert line.busy == pytest.approx([0.75 * measured[end] for end in line.ends])
    assert (part.ends, part.busy) == (line.ends[3:], line.busy[3:])
    # The same as the plan, in which the partition's use does not change.
    [row] = [row for row in answer.table("expected").rows if row[0] == "ZLDEMO"]
    assert row[3:5] == (row[2], row[2])


def test_no_line_without_a_processor_varied_off(demo_folder: Path) -> None:
    with zlens.open(demo_folder / demo.RMF_NAME) as session:
        assert busy_with_processors(session._core, "ZLZ1") == []
    with zlens.open(demo_folder / demo.SIM_NAME) as session:
        assert busy_with_processors(session._core, "ZLSIM") == []
