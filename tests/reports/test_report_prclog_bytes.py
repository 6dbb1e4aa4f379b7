"""PRCLOG against IBM's published listings, from the counters of records on.

Publication: z/VM SMT: PRCLOG FCX304 listings, IBM z/VM performance presentation 2015/2020 (see
test_report_prclog, whose rows these are). What no real layout has, is written with our own pack; pages that
have it elsewhere must print the same.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import moved_pages
import pytest
from test_report_prclog import (
    KEYS,
    PLAIN,
    PLAIN_HIDDEN,
    PLAIN_TOTAL,
    THREADS,
    THREADS_HIDDEN,
    THREADS_TOTAL,
    fields,
)

import monwrite_made as made
import zlens
from zlens import reports
from zlens.catalog import layouts

NOW = datetime(2026, 11, 21, 8, 0, 0)
RECORDS = ["D0R2", "D0R11", "D3R2"]
INTERVALS = 21
HALF_MINUTE = 30 * made.S_US
VERTICAL_HIGH = 3
#: 2015-02-14 16:04:29 UTC
START_US = 1_423_929_869 * made.S_US

#: Busy is user and system time together; where they print as more than it, both are less.
LESS = {("84.5", "84.4", ".2"): {"user_pct": -0.04, "system_pct": -0.03}}

#: Columns that are shares of time and the timers they are made of; a guest's own time counts down.
TIMES = {"user_pct": "UTIME", "system_pct": "TMSYS", "emulation_pct": "PRBTM"}
#: Columns that are rates, by the record and counter they are made of.
RATES = {
    "inst_sim_rate": ("D0R1", "SYTSYP_PLSPRVIS"),
    "diag_rate": ("D0R1", "SYTSYP_PLSDIAGT"),
    "ssch_rate": ("D0R1", "SYTSYP_PLSCTSS"),
    "page_read_rate": ("D0R1", "SYTSYP_PLSPIOPR"),
    "sigp_rate": ("D0R11", "SYTCOM_ZLSIGP"),
    "msgs_rate": ("D0R11", "SYTCOM_ZLMSGS"),
    "pages_below_2g_rate": ("D3R2", "STORSP_ZLBLW2G"),
    "pgin_rate": ("D3R2", "STORSP_ZLPGIN"),
    "diag9c_rate": ("D0R2", "SYTPRP_ZLDIAG9C"),
}


def records(build: Callable[..., bytes], line: str, hidden: dict[str, float], number: int) -> list[bytes]:
    """The four records of a processor after so many half minutes at its published means."""
    address, _, _, *printed, place = line.split()
    core, thread = place.split("/")
    shown = dict(zip(KEYS, printed, strict=True))
    busy = (shown["busy_pct"], shown["user_pct"], shown["system_pct"])
    hidden = hidden | LESS.get(busy, {})
    end = START_US + number * HALF_MINUTE - 100

    def total(key: str) -> float:
        return max(float(shown[key]) + hidden.get(key, 0), 0) * 30 * number

    values: dict[str, dict[str, Any]] = {
        "D0R1": {"SYTSYP_PFXCPUAD": int(address)},
        "D0R2": {
            "SYTPRP_PFXCPUAD": int(address),
            "SYTPRP_PFXCPUTY": 3,
            "SYTPRP_PFXPRBTM": 0x7FFF_FFFF_0000_0000,
            "SYTPRP_ZLCORE": int(core),
            "SYTPRP_ZLTHRD": int(thread),
            "SYTPRP_ZLPOLAR": VERTICAL_HIGH,
            "SYTPRP_ZLDED": 1,
            "SYTPRP_ZLDVID": bytes.fromhex(shown["dvid"]),
            "SYTPRP_ZLENTITL": 100 * int(shown["entitlement_pct"]),
        },
        "D0R11": {"SYTCOM_PFXCPUAD": int(address)},
        "D3R2": {"STORSP_PFXCPUAD": int(address)},
    }
    for key, timer in TIMES.items():
        ran = round(total(key) / 100 * made.TOD_S)
        values["D0R2"][f"SYTPRP_PFX{timer}"] = 0x7FFF_FFFF_0000_0000 - ran if timer == "PRBTM" else ran
    for key, (record, counter) in RATES.items():
        values[record][counter] = round(total(key))
    return [build(record, end, one) for record, one in values.items()]


def written(
    path: Path, published: str, hidden: dict[str, float], build: Callable[..., bytes], config: Any
) -> Path:
    groups = [made.configuration(START_US, config, interval_s=30)]
    for number in range(INTERVALS + 1):
        samples = [
            one for line in published.strip().split("\n") for one in records(build, line, hidden, number)
        ]
        groups.append(made.interval(START_US + number * HALF_MINUTE, samples))
    return made.write(path, groups)


def printed(path: Path) -> str:
    with zlens.open(path) as session:
        assert session.all_problems() == []
        return reports.render("prclog", session, now=NOW)


CASES = [
    pytest.param(PLAIN, PLAIN_TOTAL, PLAIN_HIDDEN, id="plain"),
    pytest.param(THREADS, THREADS_TOTAL, THREADS_HIDDEN, id="threads"),
]


@pytest.mark.parametrize(("published", "total", "hidden"), CASES)
def test_every_published_field_is_printed(
    tmp_path: Path, published: str, total: str, hidden: dict[str, float]
) -> None:
    text = printed(written(tmp_path / "a.mon", published, hidden, made.sim_record, made.SIM_CONFIG))
    assert fields(text, ">>Mean>>") == [line.split() for line in published.strip().split("\n")]
    assert fields(text, ">>Total>") == [total.split()]


def test_pages_with_other_places_print_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = moved_pages.moved(tmp_path, RECORDS, "7.3", monkeypatch)
    sim = written(tmp_path / "sim.mon", THREADS, THREADS_HIDDEN, made.sim_record, made.SIM_CONFIG)
    own = written(tmp_path / "own.mon", THREADS, THREADS_HIDDEN, elsewhere.record, elsewhere.config)
    assert moved_pages.same(printed(sim), printed(own))
    layouts.forget()
