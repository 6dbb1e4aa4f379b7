"""Guests in a file with synthetic layouts: their use and states, minute by minute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import monwrite_builder as monwrite
from zlens import _native

#: Builds a record from its name, time and values.
Make = Callable[..., bytes]

#: An hour before the first interval ends.
LOGON_US = monwrite.START_US - 3600 * monwrite.S_US


def seconds(count: float) -> int:
    """Return seconds in the unit of CPU timers."""
    return round(count * monwrite.TOD_S)


def tod(time_us: int) -> int:
    return _native.tod_from_unix_us(time_us)


def activity(
    end_us: int,
    userid: str,
    used_s: float,
    *,
    vcpu: int = 0,
    logon_us: int = LOGON_US,
    make: Make = monwrite.sim_record,
    **more: Any,
) -> bytes:
    """Build D4R3 of a virtual CPU that used this many seconds since logon, four fifths of them virtual time.

    MT-1 equivalent is 0.7 and prorated 0.6 of it, unless `more` has other values.
    """
    values = {
        "VMDUSER": userid,
        "VMDCPUAD": vcpu,
        "VMDSLIST": 55,
        "VMDPUTYP": 3,
        "CALTODON": tod(logon_us),
        "VMDTTIME": seconds(used_s),
        "VMDVTIME": seconds(0.8 * used_s),
        "VMDTTIME_MT1": seconds(0.7 * used_s),
        "VMDTTIME_PRO": seconds(0.6 * used_s),
    } | more
    return make("D4R3", end_us - 200, {f"USEACT_{name}": value for name, value in values.items()})


def states(
    end_us: int, userid: str, counts: Mapping[str, int], *, vcpu: int = 0, make: Make = monwrite.sim_record
) -> bytes:
    """Build D4R4: the number of samples of a virtual CPU in each state since logon."""
    values: dict[str, Any] = {"USEINT_VMDUSER": userid, "USEINT_VMDCPUAD": vcpu}
    values |= {f"USEINT_HF{state}": count for state, count in counts.items()}
    return make("D4R4", end_us - 150, values)


def processor(
    end_us: int, user_s: float, own_s: float = 0.0, cpu: int = 0, make: Make = monwrite.sim_record
) -> bytes:
    """Build D0R2 of a processor with this many seconds charged to users and of guest instructions."""
    return make(
        "D0R2",
        end_us - 100,
        {
            "SYTPRP_PFXCPUAD": cpu,
            "SYTPRP_PFXCPUTY": 3,
            "SYTPRP_PFXUTIME": 10**12 + seconds(user_s),
            "SYTPRP_PFXTMSYS": 10**12,
            "SYTPRP_PFXPRBTM": 2**62 - seconds(own_s),
        },
    )


def logoff(
    time_us: int,
    userid: str,
    used_s: float,
    *,
    vcpu: int = 0,
    logon_us: int = LOGON_US,
    make: Make = monwrite.sim_record,
    **more: Any,
) -> monwrite.Group:
    """Build D4R2 with all time that a virtual CPU used since logon."""
    return False, [make("D4R2", time_us, _ended("USELOF", userid, used_s, vcpu, logon_us, more))]


def real_end(
    record: str, time_us: int, userid: str, used_s: float, *, logon_us: int = LOGON_US, **more: Any
) -> monwrite.Group:
    """Build D4R2 or D4R9 as z/VM 5.3 writes it."""
    prefix = {"D4R2": "USELOF", "D4R9": "USEATE"}[record]
    values = _ended(prefix, userid, used_s, 0, logon_us, more)
    return False, [monwrite.record(record, time_us, {k: v for k, v in values.items() if "_MT1" not in k})]


def _ended(
    prefix: str, userid: str, used_s: float, vcpu: int, logon_us: int, more: Mapping[str, Any]
) -> dict[str, Any]:
    values: dict[str, Any] = {
        "VMDUSER": userid,
        "VMDCPUAD": vcpu,
        "CALTODON": tod(logon_us),
        "VMDTTIME": seconds(used_s),
        "VMDVTIME": seconds(0.8 * used_s),
        "VMDTTIME_MT1": seconds(0.7 * used_s),
        **more,
    }
    return {f"{prefix}_{name}": value for name, value in values.items()}


def write(
    path: Path,
    intervals: Iterable[Iterable[bytes]],
    events: Mapping[int, Iterable[monwrite.Group]] | None = None,
    config: Mapping[str, Any] | None = None,
    more: Iterable[bytes] = (),
) -> Path:
    """Write a file of intervals of a minute; `events` precede the interval with their number."""
    groups = [
        monwrite.configuration(
            monwrite.START_US - monwrite.MINUTE_US, config or monwrite.SIM_CONFIG, more=list(more)
        )
    ]
    for number, records in enumerate(intervals):
        groups += (events or {}).get(number, ())
        groups.append(monwrite.interval(end_of(number), list(records)))
    return monwrite.write(path, groups)


def end_of(number: int) -> int:
    """Return the end of an interval; differences start with interval 0."""
    return monwrite.START_US + number * monwrite.MINUTE_US
