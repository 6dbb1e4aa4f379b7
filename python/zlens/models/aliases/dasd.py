"""DASD: identities of a volume's times, and waiting for a base device and its aliases.

Times are in milliseconds, rates in operations per second. Sources: FCX108 DEVICE of z/VM Performance Toolkit,
whose published rows obey the identities to the printed digits; Erlang's formula and Allen-Cunneen for
several exposures (models/queueing/queues.py); facts/models/dasd_bursts.toml for measured queues.
"""

from functools import cache
from typing import Annotated, Literal

from msgspec import Meta, Struct

from zlens.models.queueing.queues import Queue, multi_server_queue
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import SourcedTable


def service(pend: float, disc: float, conn: float) -> float:
    """Return the service time: Serv = Pend + Disc + Conn."""
    return pend + disc + conn


def mean_queue_length(rate: float, resp: float, serv: float) -> float:
    """Return the average number of waiting requests: Little's law over response less service."""
    return rate * (resp - serv) / 1000


def busy(rate: float, serv: float) -> float:
    """Return busy in percent of one exposure; 250 means two and a half exposures."""
    return rate * serv / 10


def alias_use(rate: float, serv: float) -> float:
    """Return the average number of aliases that a volume uses while the pool has enough.

    A request uses the base if it is free: of an offered load a the base carries a / (1 + a), whatever
    the distribution of service (Erlang's loss formula for one server); aliases carry the rest.
    """
    offered = rate * serv / 1000
    return offered * offered / (1 + offered)


def alias_queue(rate: float, serv: float, aliases: int, burst: float) -> Queue | None:
    """Return the queue for a base and its aliases; None if more arrives than they can serve.

    burst: factor on the wait of random arrivals, (Ca2 + Cs2) / 2 of Allen-Cunneen; 1 is M/M/c.
    """
    return multi_server_queue(rate / 1000, serv, 1 + aliases, arrivals=burst, services=burst)


def fewest_aliases(rate: float, serv: float) -> int:
    """Return the minimum number of aliases with which the queue does not grow without limit."""
    return int(rate * serv / 1000)


def burst_of(rate: float, serv: float, resp: float, aliases: int) -> float | None:
    """Return the measured wait over the wait of M/M/c; None if the latter is 0 or unbounded."""
    queue = alias_queue(rate, serv, aliases, 1.0)
    if queue is None or not queue.wait:
        return None
    return (resp - serv) / queue.wait


class Burst(Struct, frozen=True):
    """A published row: rate, service and response as printed, utilization and burst factor."""

    rate: float
    serv: float
    resp: float
    utilization: float
    factor: float


class PublishedBursts(Struct, frozen=True):
    """Burst factors of one kind of work, by utilization."""

    rows: tuple[Burst, ...]
    source: str

    def factor_at(self, utilization: float) -> float:
        """Return the factor interpolated linearly between rows; beyond the ends, of the nearest row."""
        previous = self.rows[0]
        for row in self.rows:
            if utilization <= row.utilization:
                span = row.utilization - previous.utilization
                part = (utilization - previous.utilization) / span if span > 0 else 1.0
                return previous.factor + part * (row.factor - previous.factor)
            previous = row
        return previous.factor


class QueueTable(SourcedTable, frozen=True):
    """Devices with published queues."""

    text: Annotated[str, Meta(description="what devices they are")]
    columns: tuple[Literal["rate"], Literal["serv_ms"], Literal["resp_ms"]]
    rows: Annotated[tuple[tuple[float, float, float], ...], Meta(description="as printed")]


@cache
def published() -> dict[str, PublishedBursts]:
    """Return published measurements by kind of work."""
    by_kind: dict[str, PublishedBursts] = {}
    tables = structs.load(FACTS / "models" / "dasd_bursts.toml", dict[str, QueueTable])
    for kind, table in tables.items():
        rows = []
        for rate, serv, resp in table.rows:
            factor = burst_of(rate, serv, resp, 0)
            assert factor is not None
            rows.append(Burst(rate, serv, resp, rate * serv / 1000, factor))
        by_kind[kind] = PublishedBursts(tuple(sorted(rows, key=lambda row: row.utilization)), table.source)
    return by_kind
