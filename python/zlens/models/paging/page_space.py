"""Arithmetic of paging: how much space it takes, and what the number of pages in one I/O does.

Space: IBM, z/VM 6.3 Performance Report, Performance Considerations (630con), which repeats the formula of CP
Planning and Administration. I/O: utilization law; a page is 4 KB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from zlens.schema import document
from zlens.schema.facts import FACTS

PAGE = 4096
GB = 2**30
#: Pages are described by structures that are paged, too: 1 % more (IBM, 630con).
DAT_STRUCTURES = 1.01
#: Pages on a cylinder of a 3390: 12 on each of 15 tracks (10,016 cylinders are 1,761 K pages in QUERY ALLOC).
SLOTS_OF_CYLINDER = 180

_STORBUF = FACTS / "models" / "storbuf.toml"


@dataclass(frozen=True, slots=True)
class Storbuf:
    """Defaults of SET SRM STORBUF for E1, E2, E3, percent of storage."""

    text: str
    percent: tuple[float, float, float]
    source: str
    status: str


@cache
def storbuf() -> dict[str, Storbuf]:
    """By `current` and `older`."""
    facts = document.facts(_STORBUF)
    return {name: Storbuf(**{**one, "percent": tuple(one["percent"])}) for name, one in facts.items()}


def needed(
    primary: float, data_spaces: float, vdisks: float, shared: float, directory_pages: int = 0
) -> float:
    """Bytes of page space: what can be paged with its DAT structures, and the pages of the CP directory.

    primary      primary address spaces of the guests that are logged on, bytes
    data_spaces  data spaces they create; vdisks: virtual disks in storage; shared: NSSes and DCSSes, bytes
    """
    return (primary + data_spaces + vdisks + shared) * DAT_STRUCTURES + directory_pages * PAGE


@dataclass(frozen=True, slots=True)
class Load:
    """Paging I/O by the number of pages in one.

    pages       pages in one I/O
    rate        I/O per second, all volumes; each: per second and volume
    busy_least, busy_most   of each volume, percent: the service of an I/O stays what it is, or goes with its
                pages; both the same where it is known how it grows
    volumes_least, volumes_most   so many volumes keep it at or below the target
    """

    pages: float
    rate: float
    each: float
    busy_least: float
    busy_most: float
    volumes_least: int
    volumes_most: int


def payload(page_rate: float, io_rate: float) -> float | None:
    """Pages in one I/O: pages per second over I/O per second."""
    return page_rate / io_rate if io_rate > 0 else None


def load(
    page_rate: float,
    pages: float,
    volumes: int,
    service: tuple[float, float],
    at_most: float,
) -> Load:
    """The paging I/O of so many pages per second in I/O of so many pages.

    service  the shortest and the longest an I/O of so many pages can take, seconds
    at_most  target of the busy of a volume, percent
    """
    rate = page_rate / pages
    each = rate / volumes
    low, high = (100 * each * one for one in service)
    fewest, most = (_volumes(rate * one, at_most) for one in service)
    return Load(pages, rate, each, low, high, fewest, most)


def _volumes(busy: float, at_most: float) -> int:
    """Volumes that share so much work, in volumes that are wholly busy."""
    return max(1, math.ceil(100 * busy / at_most - 1e-9))


def service_of(pages: float, now: float, service: float, per_page: float | None) -> tuple[float, float]:
    """How long an I/O of so many pages takes at least and at most, seconds, from one of `now` pages.

    per_page: what each page adds; where that is not known, from nothing to all of it.
    """
    if per_page is not None:
        known = max(0.0, service + per_page * (pages - now))
        return known, known
    whole = service * pages / now
    return min(service, whole), max(service, whole)
