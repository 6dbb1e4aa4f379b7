"""Disks: what their times say about each other, and waiting for a base device and its aliases.

Times are in milliseconds, rates in operations a second. Sources: FCX108 DEVICE of z/VM Performance Toolkit,
whose published rows obey the identities to the digits that are printed; Erlang's formula and Allen-Cunneen
for several exposures (models/queueing/queues.py); facts/models/dasd_bursts.toml for queues that were
measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from zlens.models.queueing.queues import Queue, many_servers
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "dasd_bursts.toml"


def service(pend: float, disc: float, conn: float) -> float:
    """Serv = Pend + Disc + Conn."""
    return pend + disc + conn


def queued(rate: float, resp: float, serv: float) -> float:
    """Requests that wait on average: Little's law over what is not service."""
    return rate * (resp - serv) / 1000


def busy(rate: float, serv: float) -> float:
    """Percent of one exposure; 250 keeps two and a half at work."""
    return rate * serv / 10


def alias_use(rate: float, serv: float) -> float:
    """Aliases that a volume has in use on average while there are enough of them.

    A request takes the base where that is free: of an offered load a the base carries a / (1 + a), whatever
    the distribution of service (Erlang's loss formula for one server); aliases carry the rest.
    """
    offered = rate * serv / 1000
    return offered * offered / (1 + offered)


def waiting(rate: float, serv: float, aliases: int, burst: float) -> Queue | None:
    """The queue for a base and its aliases; None where more comes than they can serve.

    burst: how much longer requests wait than by chance, (Ca2 + Cs2) / 2 of Allen-Cunneen; 1 is M/M/c.
    """
    return many_servers(rate / 1000, serv, 1 + aliases, arrivals=burst, services=burst)


def fewest_aliases(rate: float, serv: float) -> int:
    """Aliases without which the queue grows and grows."""
    return int(rate * serv / 1000)


def burst_of(rate: float, serv: float, resp: float, aliases: int) -> float | None:
    """Measured wait over that of M/M/c; None where M/M/c has no wait, or no end of it."""
    chance = waiting(rate, serv, aliases, 1.0)
    if chance is None or not chance.wait:
        return None
    return (resp - serv) / chance.wait


@dataclass(frozen=True, slots=True)
class Burst:
    """A published row: what was printed, busy part of the exposure, and the factor."""

    rate: float
    serv: float
    resp: float
    utilization: float
    factor: float


@dataclass(frozen=True, slots=True)
class Published:
    """Bursts of one kind of work, by utilization."""

    rows: tuple[Burst, ...]
    source: str

    def at(self, utilization: float) -> float:
        """Along straight lines between rows; beyond the ends the factor of the end."""
        before = self.rows[0]
        for row in self.rows:
            if utilization <= row.utilization:
                span = row.utilization - before.utilization
                part = (utilization - before.utilization) / span if span > 0 else 1.0
                return before.factor + part * (row.factor - before.factor)
            before = row
        return before.factor


@cache
def published() -> dict[str, Published]:
    """What was measured, by kind of work."""
    found: dict[str, Published] = {}
    for kind, facts in document.facts(_FILE).items():
        rows = []
        for rate, serv, resp in facts["rows"]:
            factor = burst_of(rate, serv, resp, 0)
            assert factor is not None
            rows.append(Burst(rate, serv, resp, rate * serv / 1000, factor))
        found[kind] = Published(tuple(sorted(rows, key=lambda row: row.utilization)), facts["source"])
    return found
