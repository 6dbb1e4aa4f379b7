"""LPAR, LPARLOG and LSHARACT from records: an hour in which every number can be told in the head.

Their layouts are not public, so nothing is held against a listing. What is in our own pack alone must print
the same from record pages that have it elsewhere.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import moved_pages
import pytest

import monwrite_made as made
import partitions_made as lpar
import zlens
from zlens import reports
from zlens.catalog import layouts

MINUTES = 3
NOW = datetime(2026, 11, 21, 8, 0, 0)
OWN = "LPAR1"


def written(
    path: Path, build: lpar.Build = lpar.encoded, config: Any = made.CONFIG, more: Any = None
) -> Path:
    """Our two IFLs half dispatched, 3 s of it for PR/SM; LPAR2's two a quarter, LPAR3's CP always."""
    own = lpar.Partition(OWN, 1, 600, [lpar.Logical(0), lpar.Logical(1)])
    other = lpar.Partition("LPAR2", 2, 200, [lpar.Logical(0), lpar.Logical(1)])
    alone = lpar.Partition("LPAR3", 3, lpar.DEDICATED, [lpar.Logical(0, kind="CP")])
    groups = [made.configuration(made.START_US, {**config, "MTRSYS_LPARNAME": OWN})]
    for number in range(MINUTES + 1):
        end = made.START_US + number * made.MINUTE_US
        if number:
            for one in own.processors:
                one.run(27, 3)
            for one in other.processors:
                one.run(15)
            alone.processors[0].run(60)
        times = {
            "SYTPRP_PFXUTIME": 10**12 + number * 24 * made.TOD_S,
            "SYTPRP_PFXTMSYS": 10**12 + number * 6 * made.TOD_S,
            "SYTPRP_PFXTOTWT": 10**12 + number * 24 * made.TOD_S,
        }
        records = [lpar.own(end - 400, OWN, 1, cpuchar=0x60, lcutnpar=3, lcutpcct=5)]
        records += [
            lpar.partition(end - 300, one, build, (more or {}).get(one.name)) for one in (own, other, alone)
        ]
        records.append(lpar.physical(end - 200, [("IFL", 10**9)] * 4 + [("CP", 10**9)]))
        for cpu in (0, 1):
            whose = {"SYTPRP_PFXCPUAD": cpu, "SYTPRP_PFXCPUTY": 3}
            placed = {"SYTPRP_ZLCORE": cpu, "SYTPRP_ZLPOLAR": 3 - cpu} if more else {}
            records.append(build("D0R2", end - 100, whose | times | placed, {}))
        groups.append(made.interval(end, records))
    return made.write(path, groups)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("lpar") / "a.mon")


def printed(path: Path, name: str) -> str:
    with zlens.open(path) as session:
        assert session.all_problems() == []
        return reports.render(name, session, now=NOW)


def rows(text: str, label: str) -> list[list[str]]:
    return [line[len(label) :].split() for line in text.split("\n") if line.startswith(label)]


PARTITIONS = [
    "LPAR1 1 01 2.0 600 .... Yes 25.0 50.0 5.0 10.0 IFL",
    "LPAR2 2 02 2.0 200 .... ... 12.5 25.0 .0 ..... IFL",
    "LPAR3 3 03 1.0 DED .... ... 100.0 100.0 .0 ..... CP",
]


def test_lparlog(path: Path) -> None:
    text = printed(path, "fcx202")
    expected = [line.split() for line in PARTITIONS]
    assert rows(text, ">>Mean>>") == expected
    assert rows(text, "09:02:00") == expected


def test_lpar(path: Path) -> None:
    text = printed(path, "fcx126")
    assert rows(text, ">>Last>>") == [["3", "5", "dynamic"]]
    assert rows(text, ">>Mean>>") == [
        *(line.split() for line in PARTITIONS),
        *(f"LPAR1 {cpu} 600 50.0 5.0 10.0 50.0 IFL".split() for cpu in (0, 1)),
        *(f"LPAR2 {cpu} 200 25.0 .0 ..... ..... IFL".split() for cpu in (0, 1)),
        ["LPAR3", "0", "DED", "100.0", ".0", ".....", ".....", "CP"],
    ]


def test_lsharact(path: Path) -> None:
    """Of 4 IFLs 3 for a weight of 600 and 1 for 200; a dedicated processor is entitled to itself."""
    text = printed(path, "fcx306")
    assert rows(text, ">>Mean>>") == [
        ["CP", "LPAR3", "1.0", "DED", "......", "100.0", "...", "100.0", ".0", "...", "...", "..."],
        ["IFL", "LPAR1", "2.0", "600", "75.0", "300.0", "Yes", "100.0", "-200.0", "...", "...", "..."],
        ["IFL", "LPAR2", "2.0", "200", "25.0", "100.0", "...", "50.0", "-50.0", "...", "...", "..."],
    ]
    assert [row[:3] for row in rows(text, ">>Total>")] == [["CP", "1.0", "......"], ["IFL", "4.0", "......"]]


def test_what_another_system_of_the_machine_tells_of_itself(path: Path, tmp_path: Path) -> None:
    """LPAR2 ends its intervals two seconds later: idle for 40 s of each, it was suspended for 5 of 60."""
    whole = {"MTRSYS_SYSMTYPE": "2097", "MTRSYS_SYSMMODL": "703", "MTRSYS_SYSMSEQC": "00000000000D3E01"}
    first = written(tmp_path / "first.mon", config={**made.CONFIG, **whole})
    config = {**made.CONFIG, **whole, "MTRSYS_SYSTMID": "SECOND", "MTRSYS_LPARNAME": "LPAR2"}
    groups = [made.configuration(made.START_US, config)]
    for number in range(MINUTES + 1):
        end = made.START_US + number * made.MINUTE_US + 2 * made.S_US
        times = {"SYTPRP_PFXUTIME": number * 15 * made.TOD_S, "SYTPRP_PFXTOTWT": number * 40 * made.TOD_S}
        groups.append(made.interval(end, made.processors(end, {0: times, 1: times})))
    second = made.write(tmp_path / "second.mon", groups)
    with zlens.open([first, second]) as session:
        log = reports.render("lparlog", session, now=NOW)
        load = reports.render("lpar", session, now=NOW)
    expected = [line.split() for line in PARTITIONS]
    expected[1][-2] = "8.3"
    assert rows(log, ">>Mean>>") == expected
    assert rows(load, ">>Mean>>")[:3] == expected
    assert rows(load, ">>Mean>>")[5:7] == [f"LPAR2 {cpu} 200 25.0 .0 8.3 25.0 IFL".split() for cpu in (0, 1)]


def test_own_pack_and_pages_with_other_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = moved_pages.moved(tmp_path, ["D0R2", "D0R16"], "7.3", monkeypatch)
    more = {
        OWN: {"SYTCUP_ZLWAITC": 0, "SYTCUP_ZLCAPPED": 1},
        "LPAR2": {"SYTCUP_ZLWAITC": 1, "SYTCUP_ZLCAPPED": 0},
    }
    sim = written(tmp_path / "sim.mon", made.sim_record, made.SIM_CONFIG, more)
    own_pages = written(tmp_path / "own.mon", elsewhere.record, elsewhere.config, more)
    log = printed(sim, "lparlog")
    assert [row[5:7] for row in rows(log, ">>Mean>>")] == [["No", "Yes"], ["Yes", "No"], ["No", "No"]]
    share = printed(sim, "lsharact")
    assert [row[9:] for row in rows(share, ">>Mean>>")] == [["..."] * 3, ["1", "1", "0"], ["..."] * 3]
    for name in ("lpar", "lparlog", "lsharact"):
        assert moved_pages.same(printed(sim, name), printed(own_pages, name))
    layouts.forget()
