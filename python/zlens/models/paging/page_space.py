"""Arithmetic of paging: space needed, and the effect of the number of pages in one I/O.

Space: IBM, z/VM 6.3 Performance Report, Performance Considerations (630con), which repeats the formula of CP
Planning and Administration. I/O: utilization law; a page is 4 KB.
"""

import math
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from zlens.schema.structs import NamedFacts, SourcedTable

PAGE = 4096
GB = 2**30
#: Structures that describe pages are paged, too: 1% more (IBM, 630con).
DAT_STRUCTURES = 1.01
#: Pages on a cylinder of a 3390: 12 on each of 15 tracks (10,016 cylinders are 1,761 K pages in QUERY ALLOC).
SLOTS_OF_CYLINDER = 180


class Storbuf(NamedFacts, SourcedTable, frozen=True):
    """Defaults of SET SRM STORBUF."""

    #: Its tables are `current` and `older`.
    path: ClassVar = "models/storbuf.toml"
    text: Annotated[str, Meta(description="what they apply to")]
    percent: Annotated[tuple[int, int, int], Meta(description="for E1, E2, E3, percent of storage")]


def space_needed(
    primary: float, data_spaces: float, vdisks: float, shared: float, directory_pages: int = 0
) -> float:
    """Return bytes of page space: pageable storage with its DAT structures, and pages of the CP directory.

    primary      primary address spaces of the guests that are logged on, bytes
    data_spaces  data spaces they create; vdisks: virtual disks in storage; shared: NSSes and DCSSes, bytes
    """
    return (primary + data_spaces + vdisks + shared) * DAT_STRUCTURES + directory_pages * PAGE


class Load(Struct, frozen=True):
    """Paging I/O for a number of pages per I/O.

    pages       pages in one I/O
    rate        I/O per second, all volumes; each: per second and volume
    busy_least, busy_most   of each volume, percent: service time does not grow with pages, or in proportion;
                equal if the growth is known
    volumes_least, volumes_most   volumes needed to stay at or below the target
    """

    pages: float
    rate: float
    each: float
    busy_least: float
    busy_most: float
    volumes_least: int
    volumes_most: int


def paging_load(
    page_rate: float, pages: float, volumes: int, service: tuple[float, float], at_most: float
) -> Load:
    """Return paging I/O for `page_rate` pages per second and `pages` pages per I/O.

    service  shortest and longest service time of such an I/O, seconds
    at_most  target utilization of a volume, percent
    """
    rate = page_rate / pages
    each = rate / volumes
    low, high = (100 * each * time for time in service)
    lowest, highest = (_volumes(rate * time, at_most) for time in service)
    return Load(pages, rate, each, low, high, lowest, highest)


def _volumes(busy: float, at_most: float) -> int:
    """Return the volumes needed for the work of `busy` fully busy ones at the target utilization, percent."""
    return max(1, math.ceil(100 * busy / at_most - 1e-9))


def service_of(pages: float, current: float, service: float, per_page: float | None) -> tuple[float, float]:
    """Return least and greatest service time in seconds of an I/O of `pages` pages, from one of `current`.

    per_page: time each page adds; None if unknown, which allows 0 to all of it.
    """
    if per_page is not None:
        exact = max(0.0, service + per_page * (pages - current))
        return exact, exact
    proportional = service * pages / current
    return min(service, proportional), max(service, proportional)
