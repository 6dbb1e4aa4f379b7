"""Paging: space that guests can need, its fullness, and the effect of pages per I/O on the volumes."""

from __future__ import annotations

from typing import Any

from zlens.models.optional_numbers import ratio
from zlens.models.paging import page_space
from zlens.models.paging.page_space import GB, PAGE
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerFigure
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries

SUMMARY = "paging: space that guests can need, how full it gets, and pages per I/O on the paging volumes"


def solve(scenario: Scenario) -> Answer:
    """Solve the parts that the scenario requests: space needed, space available and I/O."""
    answer = Answer("paging", scenario.title or "Paging", [])
    if not scenario["guest"] and scenario["io"] is None:
        raise scenario.error("the scenario has neither guest nor io", "add [[guest]] or [io]")
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
    answer.tables.append(answer_table("paging", "space", "Paging space that is needed", rows))
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
    slots, cylinders = volume["slots"], volume["cylinders"]
    if (cylinders is None) == (slots is None):
        cure = "write cylinders = 65520, or slots = ..."
        raise scenario.error(f"volume.{volume['name']} has no size or two", cure)
    return int(cylinders) * page_space.SLOTS_OF_CYLINDER if slots is None else int(slots)


def _fullness(scenario: Scenario, need: float | None, slots: int, answer: Answer) -> None:
    bound = scenario["full_from"]
    used = scenario["used_pct"]
    has_note = False
    available = slots * PAGE
    if slots:
        answer.figures.append(AnswerFigure("there_is", available / GB, "GB", "Paging space available"))
        if len({_slots(scenario, volume) for volume in scenario["volume"]}) > 1:
            answer.notes.append(
                "The volumes differ in size and will not be loaded evenly: IBM advises one model for all"
            )
    if slots and need is not None:
        full_pct = 100 * need / available
        answer.figures.append(AnswerFigure("full", full_pct, "%", "Full if everything is paged out", 1))
        if full_pct > 100:
            answer.notes.append(
                f"If the guests use all they may, {(need - available) / GB:.1f} GB do not fit: a "
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
    defaults = page_space.Storbuf.by_name()[scenario["storbuf"]]
    each = zip(("E1", "E2", "E3"), defaults.percent, strict=True)
    rows = [(name, percent, percent / 100 * scenario["real"]) for name, percent in each]
    answer.tables.append(
        answer_table("paging", "storbuf", f"SET SRM STORBUF, defaults of {defaults.text}", rows)
    )


def _io(scenario: Scenario, answer: Answer) -> None:
    io = scenario["io"]
    if (io["io_rate"] is None) == (io["pages_per_io"] is None):
        raise scenario.error("io needs exactly one of io_rate and pages_per_io", "set one of them")
    volumes = io["volumes"] or sum(volume["count"] for volume in scenario["volume"])
    if not volumes:
        raise scenario.error("io has no volumes", "add [[volume]], or write io.volumes = ...")
    rate = io["page_rate"]
    current = io["pages_per_io"] or ratio(rate, io["io_rate"]) or 1.0
    service, per_page = io["service_ms"] / 1000, io["per_page_ms"]
    if current < 1:
        what = f"{rate:g} pages in {io['io_rate']:g} I/Os are less than one page per I/O"
        raise scenario.error(what, "check page_rate and io_rate")

    def load_of(pages: float) -> page_space.Load:
        takes = page_space.service_of(pages, current, service, ratio(per_page, 1000))
        return page_space.paging_load(rate, pages, volumes, takes, scenario["busy_at_most"])

    today = load_of(current)
    loads = [load_of(pages) for pages in sorted({current, *io["try_pages"]})]
    answer.figures += [
        AnswerFigure("pages_per_io", current, "", "Pages in one I/O"),
        AnswerFigure("busy", today.busy_least, "%", "Busy of each volume", 1),
        AnswerFigure("volumes", float(today.volumes_least), "", "Volumes needed to meet the target", 0),
        AnswerFigure("megabytes", rate * PAGE / 1e6, "MB/s", "Data paged", 1),
    ]
    title = f"{rate:,.0f} pages per second on {volumes:,} volumes"
    answer.tables.append(answer_table("paging", "loads", title, loads))
    pages = [load.pages for load in loads]
    series = (
        ChartSeries("at least", [load.busy_least for load in loads]),
        ChartSeries("at most", [load.busy_most for load in loads]),
    )
    answer.charts.append(Chart("Busy of a paging volume", "lines", pages, series, "%", "pages in one I/O"))
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
