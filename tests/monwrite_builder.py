"""MONWRITE files built in a test: any records at any time, framed as CMS frames them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import record_encoder
from zlens import _native
from zlens.catalog import layouts

#: 2026-03-02 09:00:00 UTC
START_US = 1_772_442_000_000_000
MINUTE_US = 60_000_000
S_US = 1_000_000
#: TOD units of a second.
TOD_S = 4096 * S_US

CONFIG: Mapping[str, Any] = {"MTRSYS_SYSTMID": "MADETEST", "MTRSYS_HCPCPEID": "5.3.0"}

#: Configuration of a system in synthetic layouts.
SIM_CONFIG: Mapping[str, Any] = {"MTRSYS_SYSTMID": "SIMTEST", "MTRSYS_HCPCPEID": layouts.SIM_MARK}

#: Records of one control record: whether they are samples, and their bytes.
Group = tuple[bool, Sequence[bytes]]


def record(
    name: str, time_us: int, values: Mapping[str, Any] | None = None, length: int | None = None
) -> bytes:
    """Build a record in the layout of z/VM 5.3, truncated or padded to `length`."""
    layout = next(one for one in layouts.layouts(name) if one.release == "5.3")
    return record_encoder.encode(
        layout, dict(values or {}), tod=_native.tod_from_unix_us(time_us), length=length
    )


def sim_record(
    name: str,
    time_us: int,
    values: Mapping[str, Any] | None = None,
    entries: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> bytes:
    """Build a record in its synthetic layout, or else in the layout of z/VM 5.3."""
    own = layouts.sim_layouts(name) or [one for one in layouts.layouts(name) if one.release == "5.3"]
    return record_encoder.encode(
        own[0], dict(values or {}), tod=_native.tod_from_unix_us(time_us), entries=entries or {}
    )


#: A builder of records, and the configuration of a system with such records.
Way = tuple[Callable[..., bytes], Mapping[str, Any]]
OWN: Way = (sim_record, SIM_CONFIG)
#: By the name used in test cases.
WAYS: Mapping[str, Way] = {"sim": OWN, "5.3": (record, CONFIG)}


def way_of(way: str | Way) -> Way:
    return WAYS[way] if isinstance(way, str) else way


def configuration(
    time_us: int,
    config: Mapping[str, Any] | None = CONFIG,
    interval_s: int | None = 60,
    more: Sequence[bytes] = (),
) -> Group:
    """Build the configuration records at the start of a file; None omits a record."""
    # A file with synthetic layouts is read with them from the first record on.
    written = sim_record if config and config.get("MTRSYS_HCPCPEID") == layouts.SIM_MARK else record
    found = [] if config is None else [written("D1R4", time_us - 2_000, config)]
    if interval_s is not None:
        found.append(written("D1R9", time_us - 1_500, {"MTRSPR_INTERVAL": interval_s}))
    return True, [*found, *more, record("D1R11", time_us - 1_000)]


def interval(end_us: int, records: Sequence[bytes]) -> Group:
    """Build the samples of one interval and its end record."""
    return True, [*records, record("D1R11", end_us)]


def event(name: str, time_us: int, values: Mapping[str, Any] | None = None) -> Group:
    return False, [record(name, time_us, values)]


def bare_event(name: str, time_us: int) -> Group:
    """Build an event record that consists of a header only."""
    domain, number = layouts.record_key(name)
    tod = _native.tod_from_unix_us(time_us)
    return False, [struct.pack(">HHBBHQI", 20, 0, domain, 0, number, tod, 0)]


def write(path: Path, groups: Iterable[Group], *, finish: bool = True) -> Path:
    """Write a file of groups, each after its own control record."""
    writer = _native.MonwriteWriter(str(path))
    for sample, records in groups:
        writer.write([(sample, 0x80, 0, 0x0200, list(records))])
    if finish:
        writer.finish()
    return path


def processors(end_us: int, values: Mapping[int, Mapping[str, Any]]) -> list[bytes]:
    """Build D0R2 of each processor, shortly before the interval end."""
    return [
        record("D0R2", end_us - 100, {"SYTPRP_PFXCPUAD": cpu, "SYTPRP_PFXCPUTY": 3, **given})
        for cpu, given in values.items()
    ]


def minutes(count: int, busy: float = 0.5, cpus: int = 2, first: int = 0) -> list[Group]:
    """Build intervals of a minute in which every processor ran for users for this share of the time."""
    found = []
    for number in range(first, first + count):
        end = START_US + number * MINUTE_US
        user = 10**12 + round(number * 60 * TOD_S * busy)
        wait = 10**12 + round(number * 60 * TOD_S * (1 - busy))
        values = {"SYTPRP_PFXUTIME": user, "SYTPRP_PFXTMSYS": 10**12, "SYTPRP_PFXTOTWT": wait}
        found.append(interval(end, processors(end, dict.fromkeys(range(cpus), values))))
    return found


def beginning(path: Path, intervals: int) -> bytes:
    """Return the first intervals of a recording; the configuration's empty interval does not count."""
    cuts = _native.MonwriteFile.open(str(path)).split_points()
    return path.read_bytes()[: cuts[intervals + 1][1]]
