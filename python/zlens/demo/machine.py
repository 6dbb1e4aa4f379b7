"""The machine of the first demo files, as its z/VM system recorded it minute by minute.

The records of its z/OS system are derived from this, so that all files describe the same machine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from zlens.models import scenario
from zlens.schema.facts import FACTS
from zlens.session.session import CoreSession

SECOND = 1_000_000
MINUTE = 60 * SECOND

#: Scenario from which its z/VM system is simulated.
SCENARIO = FACTS / "scenarios" / "zldemo.toml"
_GIVEN = scenario.read(str(SCENARIO))

START_US = round(dt.datetime.fromisoformat(_GIVEN["simulation"]["start"]).timestamp()) * SECOND
ZONE_S = 3600 * _GIVEN["simulation"]["zone"]
SYSTEM: str = next(entry["name"] for entry in _GIVEN["partition"] if "records" in entry)
#: The z/OS partition, and the name of its system in SMF (at most four characters).
ZOS_PARTITION = "ZLZOS"
ZOS_SYSTEM = "ZLZ1"
MACHINE_TYPE: str = _GIVEN["machine"]["type"]
MODEL: str = _GIVEN["machine"]["model"]
HARDWARE_MODEL = "E12"
SERIAL: str = _GIVEN["machine"]["serial"]
#: Service units per hour of all three CPs.
MSU_CAPACITY = 315
#: Physical processors by type, in the order of RMF.
PHYSICAL: dict[str, int] = dict(sorted(_GIVEN["processors"].items()))
_WEIGHTS: dict[str, int] = {entry["name"]: entry["weight"] for entry in _GIVEN["partition"]}


class CumulativeUse(Struct, frozen=True):
    """Cumulative use of one type of processor by one partition, by logical processor.

    online_us   time since the start in which the processor was online
    """

    name: str
    kind: str
    weight: int
    effective_us: tuple[int, ...]
    total_us: tuple[int, ...]
    online_us: tuple[int, ...]


class MachineMinute(Struct, frozen=True):
    """Cumulative counts of the hypervisor at the end of a minute; `number` 0 is the start.

    physical    by physical processor: its type, and the time that the hypervisor used itself
    """

    number: int
    end_us: int
    uses: tuple[CumulativeUse, ...]
    physical: tuple[tuple[str, int], ...]

    def use(self, name: str) -> CumulativeUse:
        """Return the use by a partition."""
        return next(use for use in self.uses if use.name == name)

    def management_us(self, kind: str) -> int:
        """Return the hypervisor's own time on the processors of a type, in microseconds."""
        return sum(us for physical_kind, us in self.physical if physical_kind == kind)


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
    """Yield the minutes of the file of its z/VM system."""
    varied = session.sql(_VARIED).rows
    physical = {
        end: tuple((kind, us) for _, kind, us in rows)
        for end, rows in groupby(session.sql(_PHYSICAL).rows, lambda row: row[0])
    }
    by_end = groupby(session.sql(_PARTITIONS).rows, lambda row: row[0])
    for number, (end, rows) in enumerate(by_end):
        uses = []
        for (name, kind), parts in groupby(rows, lambda row: row[1:3]):
            effective, total = zip(*(part[3:] for part in parts), strict=True)
            # Only the z/VM system varies its processors.
            varied_here = varied if name == SYSTEM else []
            online = tuple(_online_us(cpu, end, varied_here) for cpu in range(len(total)))
            uses.append(CumulativeUse(name, kind, _WEIGHTS[name], effective, total, online))
        yield MachineMinute(number, end, tuple(uses), physical[end])


def _online_us(cpu: int, end: int, varied: list[tuple[int, int, bool]]) -> int:
    """Return the online time of a processor since the start, in microseconds; it starts online."""
    online, since, total = True, START_US, 0
    for when, which, on in varied:
        if which != cpu or when >= end:
            continue
        if online and not on:
            total += when - since
        if on:
            since = when
        online = on
    return total + (end - since if online else 0)
