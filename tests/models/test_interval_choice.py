"""Tests of the busiest interval: one rule for models, plans and the overview."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import zlens
from zlens import models
from zlens.models import interval_choice
from zlens.plan import planning
from zlens.server import peaks
from zlens.server.workspace import Workspace


@pytest.mark.parametrize("file", [0, 3])
def test_models_and_plans_choose_same_interval(demo_files: list[Path], file: int) -> None:
    with zlens.open(demo_files[file]) as session:
        (system,) = {info.system for info in session.systems}
        ((busiest,),) = session.sql(
            "SELECT arg_max(interval_end, busy_pct) FROM load WHERE flag IS NULL"
        ).rows
        ends: dict[str, dt.datetime] = {}
        for name in ("aliases", "capacity", "partitions", "shares", "smt"):
            module = models.measured(name)
            if session.sql(f'SELECT count(*) FROM "{module.TABLE}"').rows[0][0]:
                ends[name] = interval_choice.choose_interval(session._core, system, None, module.busy([]))
        assert {"capacity", "partitions", "shares"} <= set(ends)
        assert set(ends.values()) == {busiest}, ends
        assert planning.choose_interval(session, [], system, None) == (system, busiest)
        request = {"system": system, "from": None, "to": None}
        lead = peaks.answer(Workspace(session._core, [str(demo_files[file])]), request)["busiest"]
        assert lead["to"] == busiest.timestamp()
