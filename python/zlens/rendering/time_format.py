"""Times of an answer in the zones of its systems."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from zlens.rendering.rows import Show
from zlens.session.session import CoreSession


def time_formatter(session: CoreSession, columns: Sequence[str]) -> Show:
    """Formats times in the zone of the row's system, with its UTC offset."""
    system_index = columns.index("system") if "system" in columns else None
    unknown = {info.system for info in session.systems if info.local_time}
    offsets = {info.utc_offset_s for info in session.systems}
    # Systems of one zone share one format.
    only = session.systems[0].system if len(offsets) == 1 and None not in offsets else None
    if len(session.systems) == 1:
        only = session.systems[0].system

    def show(time: dt.datetime, row: Sequence[Any]) -> str:
        system = only if system_index is None else row[system_index]
        if system in unknown:
            # Local times of an unknown zone are shown as recorded.
            return time.replace(tzinfo=None).isoformat(" ")
        return (session.display(time, system) if system else time).isoformat(" ")

    return show
