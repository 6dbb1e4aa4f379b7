"""Tests of the report burg from counters: its hours are local and in order."""

from __future__ import annotations

import re

from zlens.api import Session


def test_burg_hours_are_local_and_in_order(sim_session: Session) -> None:
    """The demo's sixty intervals of a minute end from 9:31 to 10:30, two hours after UTC."""
    rows = re.findall(r"ZLSIM +MAY +14 \.\. +([\d.]+) ", sim_session.report("burg"))
    assert rows == [f"{9.5 + minute / 60:.2f}" for minute in range(1, 61)]
