"""The machine of the first demo files, as its z/VM system recorded it minute by minute.

The records of its z/OS system are made from this, so that all files tell of the same machine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from msgspec import Struct

from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.session.session import CoreSession

SECOND = 1_000_000
MINUTE = 60 * SECOND

#: The scenario that its z/VM system is simulated from.
SCENARIO = FACTS / "scenarios" / "zldemo.toml"
_GIVEN: dict[str, Any] = document.load_unchecked(SCENARIO)

START_US = round(dt.datetime.fromisoformat(_GIVEN["simulation"]["start"]).timestamp()) * SECOND
ZONE_S = 3600 * _GIVEN["simulation"]["zone"]
SYSTEM: str = next(entry["name"] for entry in _GIVEN["partition"] if "records" in entry)
#: The z/OS partition, and the name of its system in SMF, which has at most four characters.
ZOS_PARTITION = "ZLZOS"
ZOS_SYSTEM = "ZLZ1"
MACHINE_TYPE: str = _GIVEN["machine"]["type"]
MODEL: str = _GIVEN["machine"]["model"]
HARDWARE_MODEL = "E12"
SERIAL: str = _GIVEN["machine"]["serial"]
#: Service units per hour of the three CPs together.
MSU_CAPACITY = 315
#: Physical processors by type, in the order of RMF.
PHYSICAL: dict[str, int] = dict(sorted(_GIVEN["processors"].items()))
_WEIGHTS: dict[str, int] = {entry["name"]: entry["weight"] for entry in _GIVEN["partition"]}


class CumulativeUse(Struct, frozen=True):
    """The cumulative use of one type of processor by one partition, by logical processor."""

    name: str
    kind: str
    weight: int
    effective_us: tuple[int, ...]
    total_us: tuple[int, ...]


class MachineMinute(Struct, frozen=True):
    """What the hypervisor counted until the end of a minute; `number` 0 is the beginning.

    physical    by physical processor: its type, and the time that the hypervisor took for itself
    online_us   by processor of the z/VM system: how much of this minute it was online
    """

    number: int
    end_us: int
    uses: tuple[CumulativeUse, ...]
    physical: tuple[tuple[str, int], ...]
    online_us: dict[int, int]

    def use(self, name: str) -> CumulativeUse:
        """That of a partition."""
        return next(use for use in self.uses if use.name == name)

    def management_us(self, kind: str) -> int:
        """The hypervisor's own time on the processors of a type."""
        return sum(us for of, us in self.physical if of == kind)


_PARTITIONS = """
SELECT cast(epoch_us(p.interval_end) AS bigint), p.sytcup_lcupname, c.sytcup_lcxcptyp,
    c.sytcup_lcuclptm, c.sytcup_lcucactm
FROM d0r16 AS p JOIN d0r16_cpudata AS c USING (file, "offset")
ORDER BY p.interval_end, p.sytcup_lcuppnum, c.sytcup_lcucpuid
"""
_PHYSICAL = """
SELECT cast(epoch_us(interval_end) AS bigint), sytcum_lcuptype, sytcum_lcumgtm
FROM d0r17_mibdata ORDER BY interval_end, sytcum_lcumcpu
"""
_VARIED = """
SELECT cast(epoch_us(tod) AS bigint) AS moment, prcvof_pfxcpuad, false FROM d5r2
UNION ALL SELECT cast(epoch_us(tod) AS bigint), prcvon_pfxcpuad, true FROM d5r1 ORDER BY moment
"""


def minutes(session: CoreSession) -> Iterator[MachineMinute]:
    """The minutes of the file of its z/VM system."""
    varied = session.sql(_VARIED).rows
    cpus = len(session.sql("SELECT DISTINCT sytprp_pfxcpuad FROM d0r2").rows)
    physical = {
        end: tuple((kind, us) for _, kind, us in rows)
        for end, rows in groupby(session.sql(_PHYSICAL).rows, lambda row: row[0])
    }
    by_end = groupby(session.sql(_PARTITIONS).rows, lambda row: row[0])
    for number, (end, rows) in enumerate(by_end):
        uses = []
        for (name, kind), parts in groupby(rows, lambda row: row[1:3]):
            effective, total = zip(*(part[3:] for part in parts), strict=True)
            uses.append(CumulativeUse(name, kind, _WEIGHTS[name], effective, total))
        online = {cpu: _online_us(cpu, end - MINUTE, end, varied) for cpu in range(cpus)}
        yield MachineMinute(number, end, tuple(uses), physical[end], online)


def _online_us(cpu: int, begin: int, end: int, varied: list[tuple[int, int, bool]]) -> int:
    """How long a processor was online between two times; all are at the beginning."""
    online, since, total = True, begin, 0
    for at, which, on in varied:
        if which != cpu or at >= end:
            continue
        moment = max(at, begin)
        if online and not on:
            total += moment - since
        if on:
            since = moment
        online = on
    return total + (end - since if online else 0)
