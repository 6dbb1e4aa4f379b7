"""ISFECONF against IBM's published listing, and the other reports of ISFC by meaning.

Publication: IBM, z/VM 7.3 Performance Toolkit Reference, FCX272 ISFC End Point Configuration Screen, initial
status on 2020/08/13. The fields of its rows are written with our own pack, and every printed one is held
against the listing. Pages that have the fields elsewhere must print the same.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import moved_pages
import pytest

import monwrite_made as made
import zlens
from zlens import reports
from zlens.catalog import layouts

NOW = datetime(2026, 11, 21, 8, 0, 0)
RECORDS = ["D1R23", "D1R24", "D9R4"]

#: Id, type, activity, port, association, other node, other port, name. Of the first name the listing has no
#: closing apostrophe.
PUBLISHED = """
00000001 DGR BND *SYNC    --- --- --- 'Synchronization services'
00000002 DGR BND *PLMVOTE --- --- --- ''
00000003 DGR BND *PLMDCSN --- --- --- ''
00000004 DGR BND *PLMSUSP --- --- --- ''
00000005 DGR BND *PLMBITM --- --- --- ''
00000006 DGR BND *PLMBEAT --- --- --- ''
00000007 LSN BND *XSCIF   --- --- --- 'Cross system SCIF listen'
00000008 LSN BND *QITEMS  --- --- --- 'Shared SPOOL et al listen'
00000009 DGR BND *XDISK   --- --- --- ''
0000000A DGR BND *NETWORK --- --- --- 'SSI Network Services'
0000000B LSN BND *LGR     --- --- --- 'Live Guest Relocation Listen'
0000000C DGR BND *RELODOM --- --- --- 'Relocation Domain Synch Port'
0000000D LSN BND *AT      --- --- --- 'AT command listen'
0000000E DGR BND *USRBKS  --- --- --- 'USRBK synchronization'
0000000F DGR BND *LXCHECK --- --- --- 'LOGON cross check'
00000010 DGR BND *RPI     --- --- --- ''
"""


def written(path: Path, build: Callable[..., bytes], config: Any) -> Path:
    head = []
    for line in PUBLISHED.strip().split("\n"):
        number, kind, activity, port, *_ = line.split()
        values = {"MTRISC_ZLEPID": int(number, 16), "MTRISC_ZLTYPE": kind, "MTRISC_ZLACT": activity}
        values |= {"MTRISC_ZLPORT": port, "MTRISC_ZLNAME": line.split("'")[1]}
        head.append(build("D1R23", made.START_US - 1_200, values))
    devices = {f"MTRILC_ZLDEVS_{n}": 0x0A40 + n if n < 4 else 0 for n in range(16)}
    head.append(
        build(
            "D1R24",
            made.START_US - 1_100,
            {"MTRILC_ZLNODE": "MEMBER2", "MTRILC_ZLDEVCT": 4, "MTRILC_ZLDEVS": list(devices.values())},
        )
    )
    groups = [made.configuration(made.START_US, config, more=head)]
    for number in range(3):
        end = made.START_US + number * made.MINUTE_US
        values = {
            "ISFNOD_ZLNODE": "MEMBER2",
            "ISFNOD_ZLLRCV": 10**6 + 600 * number,
            "ISFNOD_ZLLSND": 10**6 + 1200 * number,
            "ISFNOD_ZLFRCV": 30 * number,
            "ISFNOD_ZLFSND": 30 * number,
        }
        groups.append(made.interval(end, [build("D9R4", end - 100, values)]))
    return made.write(path, groups)


def printed(path: Path, name: str) -> str:
    with zlens.open(path) as session:
        assert session.all_problems() == []
        return reports.render(name, session, now=NOW)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("isfc") / "a.mon", made.sim_record, made.SIM_CONFIG)


def test_every_published_field_is_printed(path: Path) -> None:
    lines = printed(path, "fcx272").split("\n")
    at = lines.index(next(line for line in lines if line.startswith("EndPoint")))
    published = PUBLISHED.strip().split("\n")
    assert [line.split() for line in lines[at + 1 : at + 1 + len(published)]] == [
        line.split() for line in published
    ]


def test_headings_are_those_of_the_listing(path: Path) -> None:
    lines = printed(path, "isfeconf").split("\n")
    heading = "EndPoint Typ Act PortName AssocNam OthrNode OthrPort <----- End point name ------->"
    assert [line.rstrip() for line in lines if line.startswith("EndPoint")] == [heading]


def test_links_by_meaning(path: Path) -> None:
    configuration = printed(path, "isflconf")
    assert "MEMBER2        4 0A40 0A41 0A42 0A43" in configuration
    log = printed(path, "isflalog")
    rates = ["MEMBER2", "10.0", "20.0", ".5", ".5"]
    assert [line.split()[1:] for line in log.split("\n") if line.startswith("09:0")] == [rates, rates]
    total = [line.split()[1:] for line in log.split("\n") if line.startswith(">>Total>")]
    assert total == [rates[1:]]
    means = [line for line in printed(path, "isflact").split("\n") if line.startswith(">>Mean>>")]
    assert [line.split()[1:] for line in means] == [rates]


def test_pages_with_other_places_print_the_same(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = moved_pages.moved(tmp_path, RECORDS, "7.3", monkeypatch)
    own_pages = written(tmp_path / "own.mon", elsewhere.record, elsewhere.config)
    for name in ("isfeconf", "isflconf", "isflact", "isflalog"):
        assert moved_pages.same(printed(path, name), printed(own_pages, name))
    layouts.forget()
