"""CPU, PRIVOP, PROCSUM, TOPOLOG and PUCFGLOG from records whose figures are known: columns by meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from moved_pages import moved, same

import zlens
from monwrite_made import (
    CONFIG,
    MINUTE_US,
    S_US,
    SIM_CONFIG,
    START_US,
    TOD_S,
    configuration,
    interval,
    record,
    sim_record,
    write,
)
from zlens.cli import main
from zlens.inputs.options import Options, parse_moment

OWN = (sim_record, SIM_CONFIG)
REAL = (record, CONFIG)

#: Seconds of a minute on each of two processors, and counts.
TIMES = {"PFXUTIME": (30, 12), "PFXTMSYS": (6, 3), "PFXTOTWT": (12, 45), "PFXSPINT": (3, 0)}
EMULATION = (24, 9)
COUNTS = {
    "D0R1": {"SYTSYP_PLSPRVIS": (600, 60), "SYTSYP_PLSDIAGT": (120, 0), "SYTSYP_PLSEXTNX": (6, 6)},
    "D0R2": {"SYTPRP_PFXRUNCI": (1200, 600), "SYTPRP_PFXRUNPF": (300, 60), "SYTPRP_ZLDIAG9C": (30, 90)},
    "D5R3": {"PRCPRP_HFCOUNT": (30, 30), "PRCPRP_HFUSERZ": (6, 24), "PRCPRP_HFUSERC": (45, 6)},
    "D5R11": {"PRCINS_PLSPRVLP": (60, 0), "PRCINS_PLSSTFLE": (0, 12)},
    "D5R12": {"PRCDIA_PLSDGX9C": (90, 30), "PRCDIA_PLSDG3FC": (1, 0)},
    "D5R17": {"PRCRCD_HFCOUNT": (30, 30), "PRCRCD_HFUSERZ": (3, 30), "PRCRCD_HFUSERC": (60, 0)}
    | {"PRCRCD_ZLSTEAL": (120, 0)},
}


def made(path: Path, records: tuple[str, ...], way: Any = OWN, intervals: int = 3) -> Path:
    written, config = way
    begin = START_US - S_US
    status = [
        written(
            "D1R5",
            begin - 1_200 + cpu,
            known(way, {"MTRPRP_PFXCPUAD": cpu, "MTRPRP_ZLSTATUS": cpu}),
        )
        for cpu in (0, 1)
    ]
    groups = [configuration(begin, config, 60, status)]
    for sample in range(intervals):
        end = START_US + sample * MINUTE_US
        found = []
        for cpu in (0, 1):
            for name in records:
                values = {key: 10 + sample * count[cpu] for key, count in COUNTS[name].items()}
                prefix = next(iter(values)).split("_")[0]
                if name == "D0R2":
                    values |= {f"SYTPRP_{k}": 10**9 + sample * s[cpu] * TOD_S for k, s in TIMES.items()}
                    values["SYTPRP_PFXPRBTM"] = 2**63 - 1 - sample * EMULATION[cpu] * TOD_S
                    values |= {"SYTPRP_PFXCPUTY": 3, "SYTPRP_ZLCORE": 0, "SYTPRP_ZLTHRD": cpu}
                values[f"{prefix}_PFXCPUAD"] = cpu
                found.append(written(name, end - 100, known(way, values)))
        groups.append(interval(end, found))
    return write(path, groups)


def known(way: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the records of 5.3 have of them."""
    return {k: v for k, v in values.items() if way is not REAL or "_ZL" not in k}


def printed(path: Path, name: str) -> str:
    with zlens.open([path]) as session:
        assert session.all_problems() == []
        return re.sub("Run .{19}", "", session.report(name))


def rows(text: str, label: str) -> list[list[str]]:
    return [line[len(label) :].split() for line in text.split("\n") if line.startswith(label)]


@pytest.mark.parametrize("way", [OWN, REAL], ids=["own", "5.3"])
def test_cpu(tmp_path: Path, way: Any) -> None:
    text = printed(made(tmp_path / "x", ("D0R1", "D0R2"), way), "fcx100")
    load, rates = text.split("CP activity, per second")
    assert rows(load, ">>Mean>>") == [
        ["0", "IFL", "60.0", "20.0", "40.0", "20.0", "10.0", "5.0", "75.0"],
        ["1", "IFL", "25.0", "10.0", "15.0", "75.0", "5.0", ".0", "25.0"],
    ]
    assert rows(load, ">>Total>") == [["2", "IFL", "85.0", "30.0", "55.0", "95.0", "15.0", "5.0", "47.2"]]
    sie = "......" if way is REAL else ".0"
    assert rows(rates, ">>Mean>>") == [
        ["0", "IFL", "10.0", "2.0", ".0", ".0", ".0", ".1", "20.0", sie],
        ["1", "IFL", "1.0", ".0", ".0", ".0", ".0", ".1", "10.0", sie],
    ]


def test_privileged_operations(tmp_path: Path) -> None:
    """Real layouts: sums over processors and both intervals; what never happened is left out."""
    text = printed(made(tmp_path / "x", ("D5R11", "D5R12"), REAL), "fcx104")
    operations, codes = text.split("DIAGNOSE instructions\n")
    assert rows(operations, "PLS") == [["PRVLP", "PLSPRVLP", "120", "1.0"]]
    # z/Architecture Principles of Operation: the letters of the counter are the mnemonic.
    assert rows(operations, "STFLE ") == [["Store", "Facility", "List", "Extended", "PLSSTFLE", "24", ".2"]]
    assert rows(codes, "DIAGNOSE ") == [["X'3FC'", "2", ".0"], ["X'9C'", "240", "2.0"]]
    assert rows(operations, ">>Total>") == [["144", "1.2"]]


def test_summary(tmp_path: Path) -> None:
    text = printed(made(tmp_path / "x", ("D0R2", "D5R17")), "fcx239")
    assert rows(text, ">>Mean>>") == [
        ["0", "IFL", "Master", "60.0", "10.0", "20.0", "5.0", "10.0", "2.00", "2.0", ".5", "00/0"],
        ["1", "IFL", "Alternate", "25.0", "5.0", "10.0", "1.0", "100.0", ".00", ".0", "1.5", "00/1"],
    ]
    assert rows(text, ">>Total>")[0][:2] == ["2", "IFL"]


def test_summary_of_5_3(tmp_path: Path) -> None:
    text = printed(made(tmp_path / "x", ("D0R2", "D5R3"), REAL), "procsum")
    (first, second) = rows(text, ">>Mean>>")
    assert first == [
        "0",
        "IFL",
        ".........",
        "60.0",
        "10.0",
        "20.0",
        "5.0",
        "20.0",
        "1.50",
        "......",
        "......",
        "00/0",
    ]
    assert second[-1] == "01/0"


DECISION = {
    "PRCPUP_ZLTYPE": 3,
    "PRCPUP_ZLONLINE": 8,
    "PRCPUP_ZLENTITL": 51_200,
    "PRCPUP_ZLPROJLD": 30_050,
    "PRCPUP_ZLPROJXP": 12_000,
    "PRCPUP_ZLPAD": 100,
    "PRCPUP_ZLEXU": 2,
}


def decided(path: Path, way: Any = OWN) -> Path:
    """Two decisions, and the topology before and after."""
    written, config = way
    sizes = {"D5R16": 32, "D1R26": 16, "D5R14": 16}

    def entries(name: str, time: int, section: str, given: list[dict[str, Any]]) -> bytes:
        prefix = {"D5R16": "PRCPUP_ZLTYP", "D1R26": "MTRTOP_ZLCOR", "D5R14": "PRCTOP_ZLCOR"}[name]
        size, fixed = sizes[name], 28
        if way is not OWN:
            layout = way[0].__self__.layouts[name]
            size, fixed = layout.section(section).length, layout.length
        head = {f"{prefix}OFF": fixed, f"{prefix}LEN": size, f"{prefix}CNT": len(given)}
        made_record: bytes = written(name, time, head, {section: given})
        return made_record

    def cores(prefix: str, drawer: int) -> list[dict[str, Any]]:
        return [
            {
                f"{prefix}_ZLCORE": core,
                f"{prefix}_ZLTYPE": 3,
                f"{prefix}_ZLPOLAR": 3 - core,
                f"{prefix}_ZLNEST3": drawer,
                f"{prefix}_ZLNEST2": 1,
                f"{prefix}_ZLNEST1": core + 1,
            }
            for core in (0, 1)
        ]

    first = entries("D1R26", START_US - S_US - 1_300, "CORES", cores("MTRTOP", 1))
    groups = [configuration(START_US - S_US, config, 60, [first])]
    groups.append(interval(START_US, [record("D0R8", START_US - 9)]))
    for at, unparked in ((2, 8), (4, 6)):
        stanza = {
            **DECISION,
            "PRCPUP_ZLUNPARK": unparked,
            "PRCPUP_ZLMASK": ((1 << unparked) - 1 << 64 - unparked),
        }
        stanza["PRCPUP_ZLMASK"] = stanza["PRCPUP_ZLMASK"].to_bytes(8, "big")
        event = entries("D5R16", START_US + at * S_US, "TYPES", [stanza])
        groups.append((False, [event]))
    groups.append((False, [entries("D5R14", START_US + 30 * S_US, "CORES", cores("PRCTOP", 2))]))
    groups.append(interval(START_US + MINUTE_US, [record("D0R8", START_US + MINUTE_US - 9)]))
    return write(path, groups)


def test_decisions(tmp_path: Path) -> None:
    text = printed(decided(tmp_path / "x"), "fcx299")
    same_words = ["IFL", "8.0", "512", "......", "100", "MEDIUM", "300.5", "120.0"]
    assert rows(text, "09:00:02") == [[*same_words, "8.0", "ff00000000000000"]]
    assert rows(text, "09:00:04") == [[*same_words, "6.0", "fc00000000000000"]]
    assert rows(text, ">>Mean>>") == [[*same_words, "7.0", "MIX"]]


def test_decisions_of_a_part_of_the_time(sim_file: Path) -> None:
    options = Options(start=parse_moment("10:00"), end=parse_moment("10:10"))
    with zlens.open([sim_file], options=options) as session:
        times = re.findall(r"^(\d\d:\d\d):\d\d IFL", session.report("pucfglog"), re.MULTILINE)
    # A decision every two seconds; those at both ends of the window are in it.
    assert len(times) == 301
    assert set(times) == {f"10:{minute:02}" for minute in range(11)}


def test_topology(tmp_path: Path) -> None:
    text = printed(decided(tmp_path / "x"), "fcx287")
    places = [["IFL", "Vh", "No", ".....", "1", "1", "1"], ["IFL", "Vm", "No", ".....", "1", "1", "2"]]
    assert rows(text, "08:59:58") == [["00", *places[0]], ["01", *places[1]]]
    for place in places:
        place[4] = "2"
    assert rows(text, "09:00:30") == [["00", *places[0]], ["01", *places[1]]]


def test_fields_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is bound to the places that our own pack gives the fields."""
    names = ["D0R2", "D1R5", "D1R26", "D5R14", "D5R16", "D5R17"]
    elsewhere = moved(tmp_path, names, "7.3", monkeypatch)
    other = (elsewhere.record, elsewhere.config)
    for way in (OWN, other):
        folder = tmp_path / way[1]["MTRSYS_HCPCPEID"]
        folder.mkdir()
        made(folder / "samples", ("D0R1", "D0R2", "D5R17"), way)
        decided(folder / "events", way)
    for report, file in (
        ("cpu", "samples"),
        ("procsum", "samples"),
        ("pucfglog", "events"),
        ("topolog", "events"),
    ):
        first, second = (printed(tmp_path / way[1]["MTRSYS_HCPCPEID"] / file, report) for way in (OWN, other))
        assert "IFL" in first
        assert same(first, second), report


def test_entitlement_counts_threads(tmp_path: Path) -> None:
    """As in IBM's listing of PRCLOG with two threads per core: four dedicated cores are entitled to 800."""
    groups = [configuration(START_US - S_US, {**SIM_CONFIG, "MTRSYS_ZLMTIFL": 2})]
    for sample in range(3):
        end = START_US + sample * MINUTE_US
        found = []
        for cpu in range(8):
            values = {
                "SYTPRP_PFXCPUAD": cpu,
                "SYTPRP_PFXCPUTY": 3,
                "SYTPRP_PFXUTIME": 10**9 + sample * 45 * TOD_S,
                "SYTPRP_PFXTMSYS": 10**9,
                "SYTPRP_PFXTOTWT": 10**9 + sample * 15 * TOD_S,
                "SYTPRP_ZLCORE": cpu // 2,
                "SYTPRP_ZLTHRD": cpu % 2,
                "SYTPRP_ZLPOLAR": 3,
                "SYTPRP_ZLDED": 1,
                "SYTPRP_ZLENTITL": 10_000,
                "SYTPRP_ZLDVID": (cpu // 2).to_bytes(2, "big"),
            }
            found.append(sim_record("D0R2", end - 100, values))
        groups.append(interval(end, found))
    path = write(tmp_path / "x", groups)
    text = printed(path, "prclog")
    means = rows(text, ">>Mean>>")
    assert [row[:6] for row in means] == [
        [str(cpu), "IFL", "VhD", "100", f"000{cpu // 2}", "0"] for cpu in range(8)
    ]
    assert [row[-2] for row in means] == [f"0{cpu // 2}/{cpu % 2}" for cpu in range(8)]
    assert rows(text, ">>Total>")[0][:6] == ["8", "IFL", "VhD", "800", "MIX", "0"]


def test_threads_per_core_of_a_system(tmp_path: Path) -> None:
    """Of a file, and of a lake it was imported into."""
    config = {**SIM_CONFIG, "MTRSYS_ZLMTIFL": 2, "MTRSYS_ZLMTCP": 1}
    path = made(tmp_path / "x", ("D0R2",), (sim_record, config))
    assert main(["import", str(path), "--lake", str(tmp_path / "lake")]) == 0
    for place in (path, tmp_path / "lake"):
        with zlens.open([place]) as session:
            (levels,) = session.sql("SELECT mt_cp, mt_ifl, mt_icf, mt_ziip FROM system").rows
            assert levels == (1, 2, None, None)
