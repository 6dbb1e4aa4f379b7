"""SYSCONF and SYSSET against IBM's published listings.

Publication: IBM, "z/VM and simultaneous multithreading", 2015 and 2020: SYSCONF FCX180 of a run without
multithreading and of one with two threads per core, SYSSET FCX154 of the latter. Records are written that say
what the listings print, and every printed field is held against them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from moved_pages import moved, same

import zlens
from monwrite_made import S_US, SIM_CONFIG, configuration, interval, sim_record, write

OWN = (sim_record, SIM_CONFIG)

MACHINE: Mapping[str, Any] = {
    "MTRSYS_SYSTMID": "SYSTEMID",
    "MTRSYS_SYSMTYPE": "2964",
    "MTRSYS_SYSMMODL": "704",
    "MTRSYS_SYSMSEQC": "0000000000012F17",
    "MTRSYS_CPUCAPAB": 492,
    "MTRSYS_SCPCAPAB": 492,
    "MTRSYS_LPARCAF": 41,
    "MTRSYS_CPUCOUNT": 8,
    "MTRSYS_CPUCFGCT": 4,
    "MTRSYS_CPUDEDCT": 4,
    "MTRSYS_ZLRCPTOT": 103,
    "MTRSYS_ZLRCPCFG": 4,
    "MTRSYS_ZLRCPRSV": 99,
    "MTRSYS_ZLSCPTOT": 99,
    "MTRSYS_ZLSCPCFG": 99,
    "MTRSYS_ZLSCPRSV": 4,
    "MTRSYS_ZLCFGMOD": 1,
}
#: What the two runs differ in; the listing of the second one shows no lines of STP.
PLAIN = {"MTRSYS_ZLMTSTAT": 1, "MTRSYS_CPUSTNBY": 4}
THREADS = {"MTRSYS_ZLMTSTAT": 3, "MTRSYS_ZLMTIFL": 2}

PLAIN_LISTING = """
Multithreading          Disabled, No MULTITHREADING statement
XRC_TEST enabled            No        XRC_OPTIONAL enabled        No
STP H/W feature installed   No        STP H/W feature enabled     No
STP Timestamping enabled    No        STP Timezone usage enabled  No
STP is active               No        STP is suspended            No
STP susp. message issued    No
STP TOD clock offset        +00:00:00.0000000000
Initial Status on 2015/02/14 at 16:04, Processor 2964-704
Real Proc: Cap 492.0000    103     4     0     99
Sec. Proc: Cap 492.0000     99    99     0      4
Log. IFL : CAF       41      8     4     4      0    4     0
0   012F17  IFL  Master      00/0
1   012F17  IFL  Alternate   01/0
2   012F17  IFL  Alternate   02/0
3   012F17  IFL  Alternate   03/0
Processor Configuration Mode: LINUX
"""
THREADS_LISTING = """
Multithreading          Enabled
Initial Status on 2015/02/14 at 16:31, Processor 2964-704
Real Proc: Cap 492.0000    103     4     0     99
Sec. Proc: Cap 492.0000     99    99     0      4
Log. IFL : CAF       41      8     4     0      0    4     0
0   012F17  IFL  Master      00/0
1   012F17  IFL  Alternate   00/1
2   012F17  IFL  Alternate   01/0
3   012F17  IFL  Alternate   01/1
4   012F17  IFL  Alternate   02/0
5   012F17  IFL  Alternate   02/1
6   012F17  IFL  Alternate   03/0
7   012F17  IFL  Alternate   03/1
Processor Configuration Mode: LINUX
"""


def made(
    path: Path,
    start: str,
    config: Mapping[str, Any],
    threads: int,
    way: Any = OWN,
    more: Sequence[Any] = (),
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """A file that begins with this configuration and has two intervals."""
    record, first = way
    begin = round(datetime.fromisoformat(f"2015-02-14 {start}").replace(tzinfo=UTC).timestamp()) * S_US
    processors = [
        record(
            "D1R5",
            begin - 1_800 + cpu,
            {
                "MTRPRP_PFXCPUAD": cpu,
                "MTRPRP_PFXIDSER": bytes.fromhex("012F17"),
                "MTRPRP_PFXCPUTY": 3,
                "MTRPRP_ZLCORE": cpu // threads,
                "MTRPRP_ZLTHRD": cpu % threads,
                "MTRPRP_ZLSTATUS": int(cpu > 0),
            },
        )
        for cpu in range(4 * threads)
    ]
    scheduler = record("D1R16", begin - 1_700, SETTINGS if settings is None else settings)
    groups = [
        configuration(
            begin, None, 30, [record("D1R4", begin - 1_900, {**first, **config}), *processors, scheduler]
        )
    ]
    groups += [interval(begin + k * 30 * S_US, [record("D0R8", begin + k * 30 * S_US - 9)]) for k in range(3)]
    return write(path, [*groups, *more])


SETTINGS: Mapping[str, Any] = {
    "MTRSCH_ZLLIMIT": 1,
    "MTRSCH_ZLDSPWD": 1,
    "MTRSCH_ZLPOLAR": 1,
    "MTRSCH_ZLGPD": 1,
    "MTRSCH_ZLMTSTAT": 3,
    "MTRSCH_ZLMTRQMX": 255,
    "MTRSCH_ZLMTACMX": 2,
    "MTRSCH_ZLPADCP": 6400,
    **{f"MTRSCH_ZLTHW{kind}": 1 if kind == "CP" else 2 for kind in ("CP", "IFL", "ICF", "ZIIP")},
    **{f"MTRSCH_ZLTRQ{kind}": 255 for kind in ("CP", "IFL", "ICF", "ZIIP")},
    **{f"MTRSCH_ZLTSY{kind}": 2 if kind == "IFL" else 1 for kind in ("CP", "IFL", "ICF", "ZIIP")},
    **{f"MTRSCH_ZLTAC{kind}": 2 if kind == "IFL" else 1 for kind in ("CP", "IFL", "ICF", "ZIIP")},
}


def printed(path: Path, name: str) -> str:
    with zlens.open([path]) as session:
        assert session.all_problems() == []
        return session.report(name)


def fields(text: str) -> list[list[str]]:
    """The words of every line, without the time that ours print behind what is recorded once."""
    text = re.sub(r" +2015/02/14 \d\d:\d\d:\d\d$", "", text, flags=re.MULTILINE)
    return [line.split() for line in text.split("\n") if line.strip()]


CASES = [
    pytest.param("16:04:29", PLAIN, 1, PLAIN_LISTING, id="plain"),
    pytest.param("16:31:32", THREADS, 2, THREADS_LISTING, id="threads"),
]


@pytest.mark.parametrize(("start", "config", "threads", "listing"), CASES)
def test_configuration(
    tmp_path: Path, start: str, config: dict[str, int], threads: int, listing: str
) -> None:
    text = printed(made(tmp_path / "x", start, {**MACHINE, **config}, threads), "fcx180")
    found = fields(text)
    wanted = fields(listing)
    assert [line for line in found if line in wanted] == wanted
    assert re.search(r"CPU 2964-704   SN 12F17", text)
    assert found[found.index(["Date", "Time", "Changed"]) + 1][-3:] == ["No", "changes", "processed"]


def test_what_stays_is_told_once(tmp_path: Path) -> None:
    """Every file begins with the configuration; what it says again is not printed again."""
    starts = {"16:00:00": {}, "16:04:00": {}, "16:08:00": {"MTRSYS_CPUCFGCT": 5}}
    paths = [
        made(tmp_path / start[3:5], start, {**MACHINE, **PLAIN, **change}, 1)
        for start, change in starts.items()
    ]
    with zlens.open(paths) as session:
        text, settings = session.report("sysconf"), session.report("sysset")
    found = fields(text)
    assert len([line for line in found if line[0] == "Log."]) == 2
    assert len([line for line in found if line[-1:] == ["00/0"]]) == 1
    assert len([line for line in fields(settings) if line[0] == "Polarization"]) == 1


def test_changes_of_the_configuration(tmp_path: Path) -> None:
    begin = round(datetime(2015, 2, 14, 16, 4, 29, tzinfo=UTC).timestamp()) * S_US
    events = [
        (False, [sim_record("D5R2", begin + 70 * S_US, {"PRCVOF_PFXCPUAD": 3})]),
        (False, [sim_record("D1R18", begin + 80 * S_US, {"MTRCCC_CPUCAPAB": 500, "MTRCCC_SCPCAPAB": 492})]),
        (False, [sim_record("D5R21", begin + 85 * S_US, {"PRCSMT_ZLMTSTAT": 3, "PRCSMT_ZLMTIFL": 2})]),
    ]
    text = printed(made(tmp_path / "x", "16:04:29", {**MACHINE, **PLAIN}, 1, OWN, events), "sysconf")
    assert "No changes" not in text
    assert "2015/02/14 16:05:39 CPU 3: vary off processor" in text
    assert "16:05:49 machine: capability change, primary CPU capability 500, secondary 492" in text
    assert "16:05:54 system: multithreading changed, Enabled, threads per core: CP 0, IFL 2" in text


def test_settings(tmp_path: Path) -> None:
    text = printed(made(tmp_path / "x", "16:31:32", {**MACHINE, **THREADS}, 2), "fcx154")
    lines = fields(text)
    listing = """
Initial Scheduler Settings: 2015/02/14 at 16:31:31
LIMITHARD algorithm    Consumption
DSPWD method           Reshuffle
Polarization           Vertical
Global Perf. Data      ON
Multithreading          Enabled
CP   ......   6400%
ZAAP ......      0%
IFL  ......      0%
ICF  ......      0%
ZIIP ......      0%
Max Threads             Max                2
CP core         1       Max      1         1
IFL core        2       Max      2         2
ICF core        2       Max      1         1
ZIIP core       2       Max      1         1
"""
    wanted = fields(listing)
    assert [line for line in lines if line in wanted] == wanted
    assert "..... ........      No changes processed" in text
    assert "Not available in this input: EXCESSUSE.\n" in text
    assert "2015/02/14 16:31:31" in text


def test_settings_of_set_srm(tmp_path: Path) -> None:
    """The defaults of z/VM 6.2 and later (IBM, z/VM Performance Update, 2013: STORBUF 300 250 200)."""
    srm = {
        "SRMBIASI": 90,
        "SRMBIASD": 2,
        "SRMTSLIC": 5_000 * 4096,
        **{f"SRMP{n}LDG": value for n, value in ((1, 100), (2, 75), (3, 60))},
        **{f"SRMP{n}WSS": value for n, value in ((1, 300), (2, 250), (3, 200))},
        **{f"SRML{n}DSP": 32767 for n in (1, 2, 3)},
        "ZLUNPARK": 3,
    }
    more = {f"MTRSCH_{name}": value for name, value in srm.items()}
    text = printed(
        made(tmp_path / "x", "16:31:32", {**MACHINE, **THREADS}, 2, settings={**SETTINGS, **more}), "sysset"
    )
    wanted = fields("""
DSPSLICE    5.000                 ms
IABIAS         90       2         %, time slices
LDUBUF        100      75      60 %
STORBUF       300     250     200 %
DSPBUF      32767   32767   32767 users
UNPARKING   SMALL
""")
    assert [line for line in fields(text) if line in wanted] == wanted


def test_a_time_slice_that_set_srm_does_not_allow_is_withheld(tmp_path: Path) -> None:
    """1 to 100 ms; and a level without the unparking model has dots."""
    more = {"MTRSCH_SRMTSLIC": 101_000 * 4096}
    text = printed(
        made(tmp_path / "x", "16:31:32", {**MACHINE, **THREADS}, 2, settings={**SETTINGS, **more}), "sysset"
    )
    assert ["DSPSLICE", ".......", "ms"] in fields(text)
    assert ["UNPARKING", "......."] in fields(text)


def test_changed_settings(tmp_path: Path) -> None:
    begin = round(datetime(2015, 2, 14, 16, 31, 32, tzinfo=UTC).timestamp()) * S_US
    events = [(False, [sim_record("D2R7", begin + 70 * S_US, {"SCLSRM_SRMBIASI": 90})])]
    text = printed(made(tmp_path / "x", "16:31:32", {**MACHINE, **THREADS}, 2, OWN, events), "sysset")
    assert "2015/02/14 16:32:42 scheduler settings changed: interactive bias intensity 90" in text


def test_fields_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is bound to the places that our own pack gives the fields."""
    elsewhere = moved(tmp_path, ["D1R4", "D1R5", "D1R16"], "7.3", monkeypatch)
    paths = [
        made(tmp_path / name, "16:31:32", {**MACHINE, **THREADS}, 2, way)
        for name, way in (("own", OWN), ("moved", (elsewhere.record, elsewhere.config)))
    ]
    for report in ("sysconf", "sysset"):
        first, second = (re.sub("Run .{19}", "", printed(path, report)) for path in paths)
        assert "Alternate" in first or "Consumption" in first
        assert same(first, second)


def test_without_the_page_of_scheduler_settings(tmp_path: Path) -> None:
    """Of z/VM 5.3, which has none of the fields: dots, and the partition's processors."""
    from monwrite_made import record

    config = {key: value for key, value in MACHINE.items() if "_ZL" not in key}
    way = (lambda name, time, values=None: record(name, time, known(values)), {"MTRSYS_HCPCPEID": "5.3.0"})
    path = made(tmp_path / "x", "16:31:32", config, 1, way)
    assert ["Polarization", "............"] in fields(printed(path, "sysset"))
    text = fields(printed(path, "sysconf"))
    assert ["Multithreading", "." * 40] in text
    assert ["Log.", "IFL", ":", "CAF", "41", "8", "4", "0", "0", "4", "0"] in text


def known(values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (values or {}).items() if "_ZL" not in key}


def test_explain_names_what_a_title_holds() -> None:
    from zlens.explain.reports import explain_report

    assert "\nInitial Status on SINCE, Processor PROCESSOR\n" in explain_report("sysconf")
