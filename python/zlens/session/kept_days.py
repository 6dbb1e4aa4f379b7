"""Days of a lake without raw tables: ledgers take them from the measures by day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from zlens.catalog.local_days import DAY_US
from zlens.compiler.kept_rows import KeptDays
from zlens.inputs.options import Options
from zlens.inputs.source import Source, SystemInfo, kept_days

_EPOCH = dt.date(1970, 1, 1)


def find(sources: Iterable[Source], systems: Sequence[SystemInfo], options: Options) -> KeptDays:
    """Return the days of systems that have measures by day, but not all raw tables."""
    known = kept_days(sources)
    infos = {info.system: info for info in reversed(systems) if info.system in known}
    whole: dict[str, tuple[int, ...]] = {}
    partial: dict[str, tuple[int, ...]] = {}
    for system, info in infos.items():
        shares = {day: _is_selected(options, info, day) for day in known[system]}
        whole[system] = tuple(day for day, selected in shares.items() if selected)
        partial[system] = tuple(day for day, selected in shares.items() if selected is None)
    offsets = {
        (info.system, info.source): 1_000_000 * info.utc_offset_s
        for info in systems
        if info.system in infos and info.utc_offset_s
    }
    return KeptDays(whole, partial, offsets)


def _is_selected(options: Options, info: SystemInfo, day: int) -> bool | None:
    """Return whether all times of a day that a system recorded are selected; None: only some are."""
    low, high = options.bounds_us(info.zone(), info.last_us)
    start = day * DAY_US - 1_000_000 * (info.utc_offset_s or 0)
    end = start + DAY_US
    if (low is not None and end <= low) or (high is not None and start >= high):
        return False
    by_clock = (options.start is not None and low is None) or (options.end is not None and high is None)
    if by_clock or options.shift or options.peak_minutes:
        return None
    start, end = max(start, info.first_us or start), min(end, info.last_us or end)
    return ((low is None or low <= start) and (high is None or end <= high)) or None


def note(kept: KeptDays, systems: Iterable[str]) -> str | None:
    """Return which days of some systems come from measures by day, and which do not; None without any."""
    shown = {*systems}
    parts = [
        f"{text}: {listed}."
        for text, days in (
            ("From measures by day, as raw tables are removed", kept.whole),
            ("Only what raw tables still have, as the selected times have a part of the day", kept.partial),
        )
        if (listed := _listed({system: days[system] for system in days if system in shown}))
    ]
    return " ".join(parts) or None


def _listed(days: Mapping[str, tuple[int, ...]]) -> str:
    found = sorted((listed, system) for system, listed in days.items() if listed)
    return "; ".join(
        f"{', '.join(system for _, system in members)} {_name(listed[0])}"
        + (f" to {_name(listed[-1])} ({len(listed)} days)" if len(listed) > 1 else "")
        for listed, members in groupby(found, key=lambda each: each[0])
    )


def _name(day: int) -> str:
    return (_EPOCH + dt.timedelta(days=day)).isoformat()
