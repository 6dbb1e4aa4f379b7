"""Reports of storage, paging and networks: columns by meaning, from counters with known rates.

They run on zlens' own pack; read in as record pages with their fields elsewhere, the same records must print
the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from moved_pages import moved, same

import zlens
from monwrite_made import CONFIG, SIM_CONFIG, record, sim_record
from store_made import RECORDS, Maker, alike
from zlens import reports

NOW = datetime(2026, 11, 21, 8, 0, 0)
REPORTS = ("cpowned", "auxlog", "availlog", "paging", "vswitch", "gvswitch", "evswitch", "glonact")
AREAS = [
    {"RDEVDEV": 0x2000, "CPVOLSER": "PAG000", "CALTYPE": "page", "CALSTART": 1, "ZLSLOTS": 1_000_000},
    {"RDEVDEV": 0x2001, "CPVOLSER": "PAG001", "CALTYPE": "page", "CALSTART": 1, "ZLSLOTS": 3_000_000},
    {"RDEVDEV": 0x2001, "CPVOLSER": "PAG001", "CALTYPE": "spol", "CALSTART": 9, "ZLSLOTS": 500_000},
]
MINUTE: list[tuple[str, Mapping[str, Any]]] = [
    ("D3R4", {"RDEVDEV": 0x2000, "CALVSER": "PAG000", "CALPAGE": 250_000, "EXPCTPRD": 60_000,
              "EXPCTPWR": 30_000, "SCGSSCH": 12_000, "EXPCURQC": 3, "ZLMLOAD": 1_500}),
    ("D3R4", {"RDEVDEV": 0x2001, "CALVSER": "PAG001", "CALPAGE": 450_000, "CALSPOOL": 50_000,
              "EXPCTPRD": 6_000, "EXPCTPWR": 24_000, "EXPCTSRD": 600, "EXPCTSWR": 60, "SCGSSCH": 6_000,
              "ZLMLOAD": 5_500}),
    ("D0R1", {"PFXCPUAD": 0, "PLSPIOPR": 66_000, "PLSPIOPW": 54_000}),
    ("D3R8", {"PGDBR": [0] * 5 + [11_000] + [0] * 14}),
    ("D0R3", {"RSAPGABL": 60_000_000, "RSAAVAIL": 2_500, "RSA2GAVL": 41_000, "RSAFRQWT": 2}),
    ("D3R1", {"RSAAVLLT": 1_500, "RSAAVLHT": 3_000, "RSAAVLLG": 20_000, "RSAAVLHG": 50_000, "RSAEMPTY": 15,
              "ZLRSVD": 123_456}),
    ("D6R21", {"RDEVDEV": 0x600, "LANID": "SYSTEM  VSW1", "VMDUSER": "DTCVSW1", "NICRXBYT": 60_000_000,
               "NICTXBYT": 30_000_000, "NICRXPKT": 60_000, "NICTXPKT": 42_000, "NICRXDSC": 30,
               "VQSOQOVR": 6}),
    ("D6R35", {"ZLDEV": 0x604, "ZLLAN": "SYSTEM  VSW1", "ZLRXBYT": 6_000, "ZLTXPKT": 60}),
    ("D8R1", {"OWNER": "LNX001", "VDEVDEV": 0x700, "LANID": "SYSTEM  VSW1", "SESTXBYT": 24_000_000,
              "SESRXBYT": 48_000_000, "SESTXPKT": 30_000, "SESRXPKT": 54_000, "SESRXERR": 6}),
    ("D8R1", {"OWNER": "LNX002", "VDEVDEV": 0x700, "LANID": "SYSTEM  VSW1", "SESTXBYT": 6_000_000,
              "SESRXBYT": 12_000_000, "SESTXDSC": 60}),
    ("D8R4", {"ZLNAME": "SYSTEM  GLOBAL1", "ZLRXBYT": 600_000, "ZLTXBYT": 300_000, "ZLRXPKT": 600}),
]  # fmt: skip


def texts(path: Path, make: Maker = sim_record, config: Mapping[str, Any] = SIM_CONFIG) -> dict[str, str]:
    with zlens.open(alike(path, MINUTE, AREAS, make=make, config=config)) as session:
        return {name: reports.render(name, session, now=NOW) for name in REPORTS}


def rows(text: str, *begins: str) -> list[str]:
    """The rows that begin so, their fields one blank apart; what has no value as one dash."""
    found = [line.split() for line in text.split("\n") if line.startswith(begins)]
    return [" ".join(field if field.strip(".") else "-" for field in fields) for fields in found]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return texts(tmp_path_factory.mktemp("store") / "a")


def test_areas_of_volumes(printed: Mapping[str, str]) -> None:
    assert rows(printed["cpowned"], "2000", "2001", ">>Total>") == [
        "2000 PAG000 PAGE 1000000 25 1000.0 500.0 - - 1500.0 200.0 3.00 1.50 6.0",
        "2001 PAG001 PAGE 3000000 15 100.0 400.0 - - 500.0 100.0 .00 5.50 6.0",
        "2001 PAG001 SPOOL 500000 10 - - 10.0 1.0 11.0 100.0 .00 5.50 6.0",
        ">>Total> PAGE 4000000 - 1100.0 900.0 - - 2000.0 - - - -",
        ">>Total> SPOOL 500000 - - - 10.0 1.0 11.0 - - - -",
    ]


def test_auxiliary_storage_by_time(printed: Mapping[str, str]) -> None:
    # MLOAD by pages: (1500 x 1.5 + 500 x 5.5) / 2000.
    wanted = "4000000 17.5 500000 10.0 1100.0 900.0 10.0 1.0 300.0 3.0 2.50 5.50"
    times = (">>Mean>>", "09:01:00", "09:02:00", "09:03:00")
    assert rows(printed["auxlog"], ">>Mean>>", "09:0") == [f"{time} {wanted}" for time in times]


def test_available_lists_by_time(printed: Mapping[str, str]) -> None:
    wanted = "1500 20000 3000 50000 2500 41000 .25 2 123456 1100.0 900.0"
    times = (">>Mean>>", "09:01:00", "09:02:00", "09:03:00")
    assert rows(printed["availlog"], ">>Mean>>", "09:0") == [f"{time} {wanted}" for time in times]


def test_ports_of_virtual_switches(printed: Mapping[str, str]) -> None:
    assert rows(printed["vswitch"], "SYSTEM", ">>Total>") == [
        "SYSTEM VSW1 0600 DTCVSW1 1000000 500000 1000.0 700.0 .50 .00 .10",
        ">>Total> 1000000 500000 1000.0 700.0 .50 .00 .10",
    ]
    assert rows(printed["gvswitch"], "SYSTEM") == [
        "SYSTEM VSW1 1 1 2 1000000 500000 900.0 500.0 1000100 500000 1000.0 701.0"
    ]
    assert rows(printed["evswitch"], "SYSTEM") == [
        "SYSTEM VSW1 bridge - 0604 100 0 .0 1.0 .00 .00 .00 .00",
        "SYSTEM VSW1 nic LNX001 0700 800000 400000 900.0 500.0 .00 .00 .10 .00",
        "SYSTEM VSW1 nic LNX002 0700 200000 100000 .0 .0 .00 1.00 .00 .00",
        "SYSTEM VSW1 uplink - 0600 1000000 500000 1000.0 700.0 .50 .00 .00 .00",
    ]
    assert rows(printed["glonact"], "SYSTEM") == ["SYSTEM GLOBAL1 10000 5000 10.0 .0 .00 .00 .00 .00"]


def test_paging_volumes_that_are_no_devices_of_the_file(printed: Mapping[str, str]) -> None:
    assert rows(printed["paging"], "2000") == [
        "2000 PAG000 " + 13 * "- " + "1000000 25.0 1000.0 500.0 1.50 3.00"
    ]


def test_nothing_is_bound_to_our_offsets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Mapping[str, str]
) -> None:
    elsewhere = moved(tmp_path, RECORDS, "7.3", monkeypatch)
    found = texts(tmp_path / "b", elsewhere.record, elsewhere.config)
    for name in REPORTS:
        assert same(printed[name], found[name]), name


def test_what_z_vm_5_3_gives(tmp_path: Path) -> None:
    ours = {"ZLMLOAD", "ZLRSVD", "ZLSLOTS"}
    minute = [
        (name, {key: value for key, value in given.items() if key not in ours})
        for name, given in MINUTE
        if name not in ("D6R35", "D8R4")
    ]
    areas = [{key: value for key, value in area.items() if key not in ours} for area in AREAS]
    path = alike(tmp_path / "a", minute, areas, make=record, config=CONFIG)
    with zlens.open(path) as session:
        aux = rows(session.report("auxlog"), ">>Mean>>")
        assert aux == [">>Mean>> - - - - 1100.0 900.0 10.0 1.0 300.0 3.0 - -"]
        lists = rows(session.report("availlog"), ">>Mean>>")
        assert lists == [">>Mean>> 1500 20000 3000 50000 2500 41000 - 2 - 1100.0 900.0"]
        assert "SYSTEM  VSW1" in session.report("vswitch")


@pytest.mark.parametrize("name", REPORTS)
def test_what_the_classic_report_has_beyond_ours_is_told(name: str) -> None:
    definition = reports.load(name)
    assert definition.number == "" if name == "paging" else definition.number.startswith("FCX")
    assert bool(definition.absent) == (name != "paging")
