"""CPLCONF and CPLACT: written with our own pack, and with pages that have the same fields elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import moved_pages
import pytest

import monwrite_made as made
import zlens
from zlens import _native, reports
from zlens.catalog import layouts, plans

NOW = datetime(2026, 11, 21, 8, 0, 0)
RECORDS = ["D1R28", "D1R29", "D4R13", "D5R19"]
CAPACITY, LIMITHARD = 2, 1
IFL = 3


def written(path: Path, build: Callable[..., bytes], config: Any) -> Path:
    """Pool WEB of 1.5 IFLs: 75 s of 90 s used in a minute, limited twice for 6 s; BATCH is changed later."""
    web = {"MTRCPC_LIMPOOL": "WEB", "MTRCPC_ZLLIMTY": CAPACITY, "MTRCPC_ZLLIMIT": 150}
    batch = {"MTRCPC_LIMPOOL": "BATCH", "MTRCPC_FLAGS": 0x80}
    head = [build("D1R28", made.START_US - 1_200, one | {"MTRCPC_ZLTYPE": IFL}) for one in (web, batch)]
    groups = [made.configuration(made.START_US, config, more=head)]
    for number in range(4):
        end = made.START_US + number * made.MINUTE_US
        if number == 2:
            changed = {"MTRCPD_LIMPOOL": "BATCH", "MTRCPD_ZLACTN": 2, "MTRCPD_ZLTYPE": IFL}
            changed |= {"MTRCPD_ZLLIMTY": LIMITHARD, "MTRCPD_ZLLIMIT": 2500}
            joins = {
                "USECPC_ZLUSER": "LNXBAT01",
                "USECPC_ZLPOOL": "BATCH",
                "USECPC_ZLACTN": 1,
                "USECPC_ZLCMD": 1,
            }
            at = end - 30 * made.S_US
            groups.append((False, [build("D1R29", at, changed), build("D4R13", at + made.S_US, joins)]))
        samples = [
            {
                "PRCCPU_ZLPOOL": "WEB",
                "PRCCPU_ZLCPUTM": 10**12 + number * 75 * made.TOD_S,
                "PRCCPU_ZLLIMTM": number * 6 * made.TOD_S,
                "PRCCPU_ZLLIMCT": 2 * number,
                "PRCCPU_ZLUSERS": 7,
            },
            {
                "PRCCPU_ZLPOOL": "BATCH",
                "PRCCPU_ZLCPUTM": number * 15 * made.TOD_S,
                "PRCCPU_ZLUSERS": number // 2,
            },
        ]
        groups.append(made.interval(end, [build("D5R19", end - 100, values) for values in samples]))
    return made.write(path, groups)


def printed(path: Path, name: str) -> str:
    with zlens.open(path) as session:
        assert session.all_problems() == []
        return reports.render(name, session, now=NOW)


def rows(text: str, *labels: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n") if line.startswith(labels)]


def test_used_and_limited(tmp_path: Path) -> None:
    text = printed(written(tmp_path / "a.mon", made.sim_record, made.SIM_CONFIG), "fcx309")
    web = ["WEB", "IFL", "CAPACITY", "1.50", "7.0", "125.0", "83.3", "10.0", ".03"]
    assert rows(text, "09:01:00", "09:02:00") == [
        ["09:01:00", "BATCH", "IFL", "NOLIMIT", ".......", ".0", "25.0", ".....", ".0", ".00"],
        ["09:01:00", *web],
        ["09:02:00", "BATCH", "IFL", "LIMITHARD", "25.00", "1.0", "25.0", ".....", ".0", ".00"],
        ["09:02:00", *web],
    ]
    assert rows(text, ">>Mean>>")[1] == [">>Mean>>", *web]


def test_what_the_pools_are_and_what_was_changed(tmp_path: Path) -> None:
    text = printed(written(tmp_path / "a.mon", made.sim_record, made.SIM_CONFIG), "cplconf")
    assert rows(text, "BATCH", "WEB", "2026") == [
        ["BATCH", "IFL", "LIMITHARD", "25.00", "No", "No"],
        ["WEB", "IFL", "CAPACITY", "1.50", "No", "No"],
        ["2026/03/02", "09:01:30", "CPU", "pool", "BATCH", "changed"],
        ["2026/03/02", "09:01:31", "user", "LNXBAT01", "joins", "CPU", "pool", "BATCH", "by", "SCHEDULE"],
    ]


def test_pages_with_other_places_print_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = moved_pages.moved(tmp_path, RECORDS, "7.3", monkeypatch)
    sim = written(tmp_path / "sim.mon", made.sim_record, made.SIM_CONFIG)
    own_pages = written(tmp_path / "own.mon", elsewhere.record, elsewhere.config)
    for name in ("cplconf", "cplact"):
        assert moved_pages.same(printed(sim, name), printed(own_pages, name))
    layouts.forget()


def test_without_a_page_pools_have_names(tmp_path: Path) -> None:
    """Of a real file it is known what its pools are called, and no more: nothing is made up."""
    layout = next(one for one in layouts.layouts("D1R28") if one.release == "7.3")
    tod = _native.tod_from_unix_us(made.START_US - 1_200)
    pool = plans.encode(layout, {"MTRCPC_LIMPOOL": "WEB"}, tod=tod)
    config = {**made.CONFIG, "MTRSYS_HCPCPEID": "7.3.0"}
    groups = [made.configuration(made.START_US, config, more=[pool]), *made.minutes(2)]
    with zlens.open(made.write(tmp_path / "a.mon", groups)) as session:
        assert [problem.kind for problem in session.all_problems()] == ["long"]
        text = session.report("cplconf")
    assert rows(text, "WEB") == [["WEB", "....", ".........", "........", "No", "No"]]
