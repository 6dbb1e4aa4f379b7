"""Paging: space that guests can need, its fullness, and the effect of pages per I/O on the volumes."""

from __future__ import annotations

from typing import Any

from zlens.models.paging import page_space
from zlens.models.paging.page_space import GB, PAGE
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerColumn, AnswerFigure, AnswerTable
from zlens.rendering.charts import Chart, ChartSeries
from zlens.schema.validators import Choice, Integer, Key, ListOf, Number, SingleLine, Spec

SUMMARY = "paging: space that guests can need, how full it gets, and pages per I/O on the paging volumes"

_SIZE = Number(0, 1e9)

_GUEST = Spec(
    (
        Key("name", SingleLine(), "name of the guest, or of a group of identical guests"),
        Key("storage", _SIZE, "size of its primary address space", "GB"),
        Key("count", Integer(1, 100_000), "number of them", default=1),
    )
)
_VOLUME = Spec(
    (
        Key("name", SingleLine(), "label of the volume, or of a group of identical volumes"),
        Key("count", Integer(1, 100_000), "number of them", default=1),
        Key("cylinders", Integer(1, 1_200_000), "cylinders of a 3390 used for paging", default=None),
        Key("slots", Integer(1, 2**40), "capacity in pages, if it is not a 3390", default=None),
    )
)
_IO = Spec(
    (
        Key("page_rate", Number(0, 1e9, above=True), "pages read and written", "per second"),
        Key("io_rate", Number(0, 1e9, above=True), "I/O to all paging volumes", "per second", default=None),
        Key("pages_per_io", Number(1, 100_000), "pages in one I/O, if the I/O rate is unknown", default=None),
        Key("service_ms", Number(0, 100_000, above=True), "service time of such an I/O", "ms"),
        Key(
            "per_page_ms",
            _SIZE,
            "service time that each page adds; if left out, between none and all of it",
            "ms",
            default=None,
        ),
        Key("volumes", Integer(1, 100_000), "paging volumes; if left out, the scenario's", default=None),
        Key(
            "try_pages",
            ListOf(Number(1, 100_000), 1),
            "pages in one I/O to try",
            default=[1, 2, 4, 8, 16, 32],
        ),
    )
)

SPEC = Spec(
    (
        Key("guest", ListOf(_GUEST), "a guest that is logged on", default=[]),
        Key("data_spaces", _SIZE, "data spaces that guests create, total", "GB", default=0.0),
        Key("vdisks", _SIZE, "virtual disks in storage (VDISK), total", "GB", default=0.0),
        Key("nss_dcss", _SIZE, "shared NSSes and DCSSes", "GB", default=0.0),
        Key(
            "directory_pages",
            Integer(0, 2**40),
            "pages of the CP directory, as DIRECTXA reports them",
            default=0,
        ),
        Key("growth", Number(0, 10_000), "allowance for growth", "%", default=0.0),
        Key("real", Number(0, 1e9, above=True), "storage of the partition", "GB", default=None),
        Key(
            "storbuf",
            Choice(("current", "older")),
            "defaults of SET SRM STORBUF: z/VM 6.2 and later, or before",
            default="current",
        ),
        Key("volume", ListOf(_VOLUME), "a paging volume", default=[]),
        Key("used_pct", Number(0, 100), "slots currently in use", "%", default=None),
        Key(
            "full_from",
            Number(0, 100, above=True),
            "page space above this is too full",
            "%",
            constant="page_space_full",
        ),
        Key(
            "busy_at_most",
            Number(0, 100, above=True),
            "target utilization of a paging volume",
            "%",
            constant="paging_volume_busy",
        ),
        Key("io", _IO, "paging I/O", default=None),
    )
)

EXAMPLE = """\
# How much paging space do these guests need, and what do pages per I/O do to the volumes?
model = "paging"
title = "Forty Linux guests"

real = 256.0                 # GB of the partition
vdisks = 8.0                 # GB
nss_dcss = 0.5               # GB
directory_pages = 2000       # as DIRECTXA reports them
growth = 10.0                # %
used_pct = 31.0              # of the slots, currently

[[guest]]
name = "web servers"
storage = 8.0                # GB
count = 32

[[guest]]
name = "databases"
storage = 32.0
count = 8

[[volume]]
name = "PAGE01-12"
count = 12
cylinders = 65520            # of a 3390; or slots = ...

[io]                         # as measured: DEVICE (FCX108), PAGING
page_rate = 21100            # pages per second
io_rate = 4030               # I/O per second to all paging volumes
service_ms = 0.855
"""

_SPACE = (
    AnswerColumn("name", "What"),
    AnswerColumn("count", "Count"),
    AnswerColumn("gb", "Size", "GB", "", 2),
    AnswerColumn("share", "Of the need", "%"),
)
_STORBUF_COLUMNS = (
    AnswerColumn("name", "Enters as"),
    AnswerColumn("percent", "STORBUF", "%", "of storage, limit for working sets", 0),
    AnswerColumn("gb", "Size", "GB", "working sets of users in the dispatch list"),
)
_LOADS = (
    AnswerColumn("pages", "Pages/I/O", "", "", 1),
    AnswerColumn("rate", "I/O", "1/s", "of all volumes", 0),
    AnswerColumn("each", "Each volume", "1/s", "I/O"),
    AnswerColumn("busy_least", "Busy from", "%", "at least"),
    AnswerColumn("busy_most", "to", "%", "at most"),
    AnswerColumn("volumes_least", "Volumes from", "", "needed to stay at or below the target"),
    AnswerColumn("volumes_most", "to "),
)


def solve(scenario: Scenario) -> Answer:
    """Solve the parts that the scenario requests: space needed, space available and I/O."""
    answer = Answer("paging", scenario.title or "Paging", [])
    if not scenario["guest"] and scenario["io"] is None:
        raise scenario.problem.general_error("the scenario has neither guest nor io", "add [[guest]] or [io]")
    need = _space(scenario, answer) if scenario["guest"] else None
    slots = sum(_slots(scenario, volume) * volume["count"] for volume in scenario["volume"])
    _fullness(scenario, need, slots, answer)
    if scenario["real"] is not None:
        _storage(scenario, answer)
    if scenario["io"] is not None:
        _io(scenario, answer)
    else:
        scenario.unused("paging_volume_busy")
    return answer


def _space(scenario: Scenario, answer: Answer) -> float:
    """Add the paging space needed to the answer; return it in bytes."""
    guests = scenario["guest"]
    primary = sum(guest["storage"] * guest["count"] for guest in guests)
    spaces, disks, shared = scenario["data_spaces"], scenario["vdisks"], scenario["nss_dcss"]
    pageable = primary + spaces + disks + shared
    exact = page_space.space_needed(
        primary * GB, spaces * GB, disks * GB, shared * GB, scenario["directory_pages"]
    )
    need: float = exact * (1 + scenario["growth"] / 100)
    directory = scenario["directory_pages"] * PAGE / GB
    parts: list[tuple[str, int | None, float]] = [
        *((guest["name"], guest["count"], guest["storage"] * guest["count"]) for guest in guests),
        ("data spaces", None, spaces),
        ("VDISKs", None, disks),
        ("NSSes and DCSSes", None, shared),
        ("DAT structures, 1%", None, exact / GB - directory - pageable),
        ("CP directory", None, directory),
        (f"growth, {scenario['growth']:g}%", None, (need - exact) / GB),
    ]
    rows = [
        (name, count, size, 100 * size * GB / need if need else None)
        for name, count, size in parts
        if size or count
    ]
    answer.tables.append(AnswerTable("space", "Paging space that is needed", _SPACE, rows))
    answer.figures += [
        AnswerFigure("needed", need / GB, "GB", "Paging space needed"),
        AnswerFigure("needed_slots", need / PAGE, "pages", "The same", 0),
    ]
    if scenario["real"] is not None:
        answer.figures.append(
            AnswerFigure("overcommit", pageable / scenario["real"], "", "Pageable storage over real storage")
        )
    answer.notes.append(
        "Space by IBM's formula from z/VM 6.3 on, not doubled; IBM still recommends some reserve"
        + ("" if scenario["growth"] else ": growth adds it")
    )
    return need


def _slots(scenario: Scenario, volume: dict[str, Any]) -> int:
    """Return the pages that one such volume can hold."""
    if (volume["cylinders"] is None) == (volume["slots"] is None):
        raise scenario.problem.general_error(
            f"volume.{volume['name']} has no size or two", "write cylinders = 65520, or slots = ..."
        )
    if volume["slots"] is not None:
        return int(volume["slots"])
    return int(volume["cylinders"]) * page_space.SLOTS_OF_CYLINDER


def _fullness(scenario: Scenario, need: float | None, slots: int, answer: Answer) -> None:
    bound = scenario["full_from"]
    used = scenario["used_pct"]
    has_note = False
    if slots:
        answer.figures.append(AnswerFigure("there_is", slots * PAGE / GB, "GB", "Paging space available"))
        sizes = {_slots(scenario, volume) for volume in scenario["volume"]}
        if len(sizes) > 1:
            answer.notes.append(
                "The volumes differ in size and will not be loaded evenly: IBM advises one model for all"
            )
    if slots and need is not None:
        full_pct = 100 * need / (slots * PAGE)
        answer.figures.append(AnswerFigure("full", full_pct, "%", "Full if everything is paged out", 1))
        if full_pct > 100:
            answer.notes.append(
                f"If the guests use all they may, {(need - slots * PAGE) / GB:.1f} GB do not fit: a "
                "system whose page space is full ends with abend PGT004"
            )
        elif full_pct > bound:
            has_note = True
            answer.notes.append(
                f"Above {bound:g}% full blocks of pages become small and I/O grows (Velocity Software); "
                "IBM's formula is satisfied"
            )
    if used is not None:
        answer.figures.append(AnswerFigure("used", used, "%", "Slots currently in use", 1))
        if used > bound:
            has_note = True
            answer.notes.append(
                f"{used:g}% of the slots are in use, more than {bound:g}%: add paging volumes"
            )
    if not has_note:
        scenario.unused("page_space_full")


def _storage(scenario: Scenario, answer: Answer) -> None:
    defaults = page_space.storbuf()[scenario["storbuf"]]
    rows = [
        (name, percent, percent / 100 * scenario["real"])
        for name, percent in zip(("E1", "E2", "E3"), defaults.percent, strict=True)
    ]
    answer.tables.append(
        AnswerTable("storbuf", f"SET SRM STORBUF, defaults of {defaults.text}", _STORBUF_COLUMNS, rows)
    )


def _io(scenario: Scenario, answer: Answer) -> None:
    io = scenario["io"]
    if (io["io_rate"] is None) == (io["pages_per_io"] is None):
        raise scenario.problem.general_error(
            "io needs exactly one of io_rate and pages_per_io", "set one of them"
        )
    volumes = io["volumes"] or sum(volume["count"] for volume in scenario["volume"])
    if not volumes:
        raise scenario.problem.general_error("io has no volumes", "add [[volume]], or write io.volumes = ...")
    rate = io["page_rate"]
    current = io["pages_per_io"] or page_space.pages_per_io(rate, io["io_rate"]) or 1.0
    service, per_page = io["service_ms"] / 1000, io["per_page_ms"]
    if current < 1:
        raise scenario.problem.general_error(
            f"{rate:g} pages in {io['io_rate']:g} I/Os are less than one page per I/O",
            "check page_rate and io_rate",
        )

    def load_of(pages: float) -> page_space.Load:
        takes = page_space.service_of(pages, current, service, None if per_page is None else per_page / 1000)
        return page_space.paging_load(rate, pages, volumes, takes, scenario["busy_at_most"])

    today = load_of(current)
    loads = [load_of(pages) for pages in sorted({current, *io["try_pages"]})]
    answer.figures += [
        AnswerFigure("pages_per_io", current, "", "Pages in one I/O"),
        AnswerFigure("busy", today.busy_least, "%", "Busy of each volume", 1),
        AnswerFigure("volumes", float(today.volumes_least), "", "Volumes needed to meet the target", 0),
        AnswerFigure("megabytes", rate * PAGE / 1e6, "MB/s", "Data paged", 1),
    ]
    rows = [
        (
            load.pages,
            load.rate,
            load.each,
            load.busy_least,
            load.busy_most,
            load.volumes_least,
            load.volumes_most,
        )
        for load in loads
    ]
    answer.tables.append(
        AnswerTable("loads", f"{rate:,.0f} pages per second on {volumes:,} volumes", _LOADS, rows)
    )
    answer.charts.append(
        Chart(
            "Busy of a paging volume",
            "lines",
            [load.pages for load in loads],
            (
                ChartSeries("at least", [load.busy_least for load in loads]),
                ChartSeries("at most", [load.busy_most for load in loads]),
            ),
            "%",
            "pages in one I/O",
        )
    )
    if per_page is None:
        answer.notes.append(
            "No public source states how the service time of a paging I/O grows with its pages: busy lies "
            "between no growth and growth in proportion to pages (guest I/O of 64 records instead of one "
            "lasted 11.4 times as long in command mode, 9.5 times in transport mode, IBM 2013)"
        )
    if today.busy_least > 100:
        answer.notes.append("The volumes are over 100% busy: rates, service time or volumes are wrong")
    elif today.busy_least > scenario["busy_at_most"]:
        answer.notes.append(
            f"Each volume is {today.busy_least:.1f}% busy, above the target of "
            f"{scenario['busy_at_most']:g}%: more volumes, larger blocks, HyperPAV aliases or High "
            "Performance FICON"
        )
    answer.notes.append(
        "z/VM 6.4 moves more pages in one I/O: IBM measured 42% more transactions with its command-mode "
        "driver, 42% with aliases where I/O queued, 98% in transport mode, 234% with both"
    )
