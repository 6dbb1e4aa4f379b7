"""Reports of guests, on zlens' own pack and on pages with the same fields at other places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from moved_pages import moved, same

import guest_made as guests
import monwrite_made as made
import zlens
from zlens.catalog.reports.definition import load
from zlens.explain.reports import explain_report
from zlens.inputs.options import Options, parse_moment
from zlens.reports.entries import values

MINUTES = range(5)
RECORDS = ("D0R2", "D4R2", "D4R3", "D4R4", "D4R11", "D4R12")


def printed(path: Path, name: str, **options: Any) -> str:
    with zlens.open(path, options=Options(utc=True, **options)) as session:
        return re.sub(r"Run [0-9/]+ [0-9:]+", "Run", session.report(name))


def row(text: str, first: str) -> list[str]:
    """The fields of the row that begins with this."""
    return next(line.split() for line in text.split("\n") if line.startswith(first + " "))


def written(
    path: Path, make: guests.Make = made.sim_record, config: Mapping[str, Any] = made.SIM_CONFIG
) -> Path:
    """Two Linux guests and a CMS user who logs off; all guests of the hour with one relocated."""
    at = guests.end_of
    intervals = []
    for n in MINUTES:
        found = [guests.processor(at(n), 48.0 * n - 3 * (n > 3), 38.4 * n, make=make)]
        for vcpu, rate in ((0, 30), (1, 12)):
            facts = {"VMDVDSCT": 600 * n, "VMDVUSCT": 60 * n, "VMDMDCIA": 120 * n, "ZLD98IO": 30 * n}
            facts |= {"CALCPPGR": 90 * n, "CALCPPGW": 30 * n, "CALCPPST": 6 * n, "VMDCTFLT": 60 * n}
            facts |= {"VMDCTPVR": 1000, "VMDCTPVG": 2000, "VMDCTPVL": 10, "VMDWSSPR": 2500, "CALCTPGS": 400}
            facts |= {"ZLDSPWT": guests.seconds(0.003 * n), "ZLDSPCT": 1000 * n}
            found.append(guests.activity(at(n), "LNX1", 1000 + rate * n, vcpu=vcpu, make=make, **facts))
        found.append(
            guests.states(
                at(n),
                "LNX1",
                {"CPURN": 12 * n, "CPUWT": 3 * n, "IOWT": 6 * n, "DORM": 8 * n, "TSVM": n, "DISP1": 22 * n},
                make=make,
            )
        )
        if n < 3:
            found.append(guests.activity(at(n), "CMS1", 10 + 6 * n, make=make))
            found.append(guests.states(at(n), "CMS1", {"DORM": 27 * n, "CFWT": 3 * n}, make=make))
        intervals.append(found)
    when = at(2) + 30 * made.S_US
    events = {
        1: [relocated(make, at(0) + 20 * made.S_US, "LNX1", ended=True)],
        2: [relocated(make, at(1) + 40 * made.S_US, "LNX2", ended=False)],
        3: [guests.logoff(when, "CMS1", 25, make=make)],
    }
    return guests.write(path, intervals, events, config)


def relocated(make: guests.Make, time_us: int, userid: str, *, ended: bool) -> made.Group:
    prefix, record = ("USERLE", "D4R12") if ended else ("USERLS", "D4R11")
    values: dict[str, Any] = {"ZLUSER": userid, "ZLFROM": "ZVM1", "ZLTO": "ZVM2"}
    if ended:
        values |= {"ZLSTART": guests.tod(time_us - 12 * made.S_US), "ZLRLTM": guests.seconds(11.5)}
        values |= {"ZLQUTM": guests.seconds(0.25), "ZLPASS": 4, "ZLPAGE": 123_456, "ZLCODE": 0}
    return False, [make(record, time_us, {f"{prefix}_{name}": value for name, value in values.items()})]


def test_user_tells_processors_io_and_paging_of_every_guest(tmp_path: Path) -> None:
    text = printed(written(tmp_path / "data"), "fcx112")
    # 42 seconds a minute in 4 minutes, on two virtual processors, each with the same I/O.
    assert row(text, "LNX1") == [
        "LNX1", "70.0", "168.0", "134.4", "1.25", "22.0", "20.0", "4.0", "1.0", "2.0", "4.0", "2", "dispatch",
    ]  # fmt: skip
    # Two minutes of 6 seconds, and 3 in half a minute before the logoff.
    assert row(text, "CMS1")[:5] == ["CMS1", "10.0", "15.0", "12.0", "1.25"]
    # 183 of 189 seconds: what the processors were charged for beyond the guests' own records.
    assert re.search(r"\n +183\.0 +189\.0 +96\.8\n", text)
    assert "CPU times are raw" in text


def test_upage_tells_pages_of_every_guest(tmp_path: Path) -> None:
    text = printed(written(tmp_path / "data"), "upage")
    assert row(text, "LNX1") == ["LNX1", "3.0", "1.0", ".2", "2.0", "5000", "6000", "20", "800"]


def test_ustat_is_in_percent_of_samples(tmp_path: Path) -> None:
    text = printed(written(tmp_path / "data"), "ustat")
    # 30 samples a minute: 12 running, 3 waiting for a processor, 6 for I/O, 8 dormant, 1 for a server.
    assert row(text, "LNX1") == [
        "LNX1", "73", "40", "10", "0", "0", "20", "0", "0", "0", "0", "27", "0", "0", "0", "3", "0",
        "0", "73", "0", "0", "120",
    ]  # fmt: skip
    assert row(text, "CMS1")[:3] + row(text, "CMS1")[-1:] == ["CMS1", "10", "0", "60"]
    # All guests together: each sample counts alike.
    assert row(text, ">System<")[1:4] == ["52", "27", "7"]
    assert "Percentages are of samples, not of time." in text


def test_dispatch_wait_of_every_guest(tmp_path: Path) -> None:
    text = printed(written(tmp_path / "data"), "dispwait")
    assert row(text, "LNX1") == ["LNX1", "2", "168.0", ".024", "33.3", "3.00", ".0"]


def test_syssumlg_ends_with_the_captured_percentage(tmp_path: Path) -> None:
    text = printed(written(tmp_path / "data"), "syssumlg")
    assert row(text, "09:01:00")[1:7] == ["80.0", "80.0", "64.0", "1.25", "1.0", "......"]
    assert row(text, "09:01:00")[7] == "2"
    assert row(text, "09:04:00")[-1] == "93.3"
    assert re.search(r"\n +183\.0 +189\.0 +96\.8\n", text)


def test_syssumlg_tells_of_storage_and_spooling(tmp_path: Path) -> None:
    intervals = [
        [
            guests.processor(guests.end_of(n), 30 * n),
            made.record(
                "D0R1", guests.end_of(n) - 70, {"SYTSYP_PLSPIOSR": 90 * n, "SYTSYP_PLSPIOSW": 30 * n}
            ),
            made.record("D0R3", guests.end_of(n) - 60, {"SYTRSG_RSAPGABL": 8000, "SYTRSG_RSAAVAIL": 400}),
        ]
        for n in MINUTES
    ]
    text = printed(guests.write(tmp_path / "data", intervals), "syssumlg")
    assert row(text, ">>Mean>>")[-3:] == ["95.0", "2.0", "....."]


def test_indicate_load_in_the_form_of_the_command(tmp_path: Path) -> None:
    text = printed(written(tmp_path / "data"), "indload")
    assert "\n2026/03/02 09:03:00 2026/03/02 09:04:00\n" in text
    assert re.search(r"\nAVGPROC-075% 01 +processors\nPROC 0000-075% IFL +each processor\n", text)
    earlier = printed(written(tmp_path / "data"), "indload", end=parse_moment("2026-03-02 09:01:00"))
    assert "\n2026/03/02 09:00:00 2026/03/02 09:01:00\n" in earlier
    assert "AVGPROC-080% 01" in earlier
    queues = {"CDISP": 9, "CDLDG": 1, "C1DSP": 2, "C3DSP": 6, "C3DLD": 1, "C2ELG": 4, "LLCNT": 3}
    queued = {f"SYTSCG_SRM{name}": count for name, count in queues.items()}
    users = {"SYTUSR_SYSUSRS": 40, "SYTUSR_SRMCDORM": 33}
    intervals = [
        [
            *(guests.processor(guests.end_of(n), rate * n, cpu=cpu) for cpu, rate in enumerate((30, 6, 54))),
            made.record("D0R8", guests.end_of(n) - 90, users),
            made.record("D0R10", guests.end_of(n) - 80, queued),
            *(
                made.record(
                    "D0R1", guests.end_of(n) - 70, {"SYTSYP_PFXCPUAD": cpu, "SYTSYP_PLSPIOPR": 200 * n}
                )
                for cpu in range(3)
            ),
        ]
        for n in MINUTES
    ]
    path = guests.write(tmp_path / "queues", intervals)
    lines = printed(path, "indload").split("INDICATE LOAD ")[1].split("\n* ")[0].strip().split("\n")[1:]
    assert [re.split("  +(?=[a-z])", line) for line in lines] == [
        ["AVGPROC-050% 03", "processors"],
        ["PAGING-10/SEC", "paging"],
        ["Q0-00001(00000)                           DORMANT-00033", "dormant, queue 0"],
        ["Q1-00002(00000)           E1-00000(00000)", "queue 1"],
        ["Q2-00000(00000)           E2-00004(00000)", "queue 2"],
        ["Q3-00006(00001)           E3-00000(00000)", "queue 3"],
        ["PROC 0000-050% IFL   PROC 0001-010% IFL", "each processor"],
        ["PROC 0002-090% IFL", "each processor"],
        ["LIMITED-00003", "limit list"],
    ]
    # Eight lines, though PROC is there twice, and the interval they are of.
    definition = load("indload")
    with zlens.open(path) as session:
        available = values(definition, session, {}).count
    assert (definition.shown, available) == (10, 10)


def test_relocations_that_ended_and_that_did_not(tmp_path: Path) -> None:
    text = printed(written(tmp_path / "data"), "relocations")
    lines = [line.split() for line in text.split("\n") if line.startswith("2026/03/02")]
    assert lines[0] == [
        "2026/03/02", "09:00:08", "2026/03/02", "09:00:20", "LNX1", "ZVM1", "ZVM2", "11.500", ".250", "4",
        "123456", "0", "completed",
    ]  # fmt: skip
    assert lines[1][:2] == ["2026/03/02", "09:01:40"]
    assert lines[1][3:6] == ["LNX2", "ZVM1", "ZVM2"]


def test_nothing_is_bound_to_our_own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("user", "upage", "ustat", "dispwait", "syssumlg", "relocations", "chargeback")

    def bodies(path: Path) -> list[str]:
        # Footnotes on faults of a release are for those that have them.
        with zlens.open(path, options=Options(utc=True)) as session:
            found = [session.report(name).split("\n* ")[0] for name in names]
        return [re.sub(r"Run [0-9/]+ [0-9:]+", "Run", text) for text in found]

    ours = bodies(written(tmp_path / "sim"))
    elsewhere = moved(tmp_path, RECORDS, "7.3", monkeypatch)
    theirs = bodies(written(tmp_path / "moved", elsewhere.record, elsewhere.config))
    assert [same(one, other) for one, other in zip(ours, theirs, strict=True)] == [True] * len(names)


def test_classes_of_guests_are_shown_together(tmp_path: Path) -> None:
    groups = tmp_path / "groups.toml"
    groups.write_text('[guest]\n"*1" = "all"\n', encoding="utf-8")
    path = written(tmp_path / "data")
    assert row(printed(path, "user", group=str(groups)), "all")[2] == "183.0"
    assert row(printed(path, "ustat", group=str(groups)), "all")[-1] == "180"
    assert row(printed(path, "dispwait", group=str(groups)), "all")[5] == "3.00"


REAL = {"MTRSYS_SYSTMID": "REAL53", "MTRSYS_HCPCPEID": "5.3.0"}


def test_without_a_page_reports_are_partial_and_say_so(tmp_path: Path) -> None:
    at = guests.end_of(1) + 20 * made.S_US
    path = guests.write(
        tmp_path / "data",
        ([*made.processors(guests.end_of(n), {0: {"SYTPRP_PFXUTIME": 10**12 + n}})] for n in MINUTES),
        {
            2: [guests.real_end("D4R9", at, "CMS1", 10.0, VMDCTPVR=300, VMDWSSPR=200)],
            3: [guests.real_end("D4R2", at + 60 * made.S_US, "CMS1", 12.0)],
        },
        REAL,
    )
    text = printed(path, "user")
    assert "Partial: no page of D4R3" in text
    # 10 of the 12 seconds were told of once, from a logon before the recording.
    assert row(text, "CMS1")[1:4] == ["3.3", "2.0", "1.6"]
    # One record tells of one virtual processor, not how many there are.
    assert row(text, "CMS1")[11] == "...."
    assert row(printed(path, "upage"), "CMS1")[5:7] == ["100", "150"]
    nothing = printed(path, "ustat")
    assert "nothing for this report" in nothing
    assert "of samples, not of time" not in nothing
    assert "Partial" not in printed(written(tmp_path / "sim"), "user")


def test_virtual_processors_are_those_defined_where_no_samples_tell(tmp_path: Path) -> None:
    ends = [
        guests.real_end("D4R9", guests.end_of(1) + at * made.S_US, userid, used, VMDCTPVR=300)
        for at, used in ((10, 100.0), (40, 109.0))
        for userid in ("LNX1", "LNX2")
    ]
    known = {"MTRUSR_VMDUSER": "LNX1", "MTRUSR_VMDCPUCT": 2}
    path = guests.write(
        tmp_path / "data",
        ([*made.processors(guests.end_of(n), {0: {"SYTPRP_PFXUTIME": 10**12 + n}})] for n in MINUTES),
        {2: ends},
        REAL,
        [made.record("D1R15", made.START_US - made.MINUTE_US - 1_200, known)],
    )
    text = printed(path, "user")
    # The same number as UCONF; each guest has a record of one of its virtual processors.
    assert row(text, "LNX1")[1:3] + row(text, "LNX1")[11:12] == ["30.0", "9.0", "2"]
    assert row(text, "LNX2")[1:3] + row(text, "LNX2")[11:12] == ["30.0", "9.0", "...."]
    assert row(printed(path, "uconf"), "LNX1")[1] == "2"
    assert [row(printed(path, "chargeback"), name)[5] for name in ("LNX1", "LNX2")] == ["9.0", "9.0"]


def test_configuration_of_guests_is_the_last_that_was_told(tmp_path: Path) -> None:
    at = guests.end_of(0)
    user = {"MTRUSR_VMDUSER": "LNX1", "MTRUSR_VMDCPUCT": 2, "MTRUSR_VMDRELSH": 100}
    user |= {
        "MTRUSR_ASCDEFSZ": 2**32,
        "MTRUSR_VMDACTNO": "DEPT1",
        "MTRUSR_CALTODON": guests.tod(guests.LOGON_US),
        "MTRUSR_CALCPCT": 1,
        "MTRUSR_CALIFLCT": 1,
    }
    pool = {"MTRCPC_LIMPOOL": "WEB", "MTRCPC_ZLTYPE": 3, "MTRCPC_ZLLIMTY": 2, "MTRCPC_ZLLIMIT": 150}
    logon = {"USELON_VMDUSER": "CMS1", "USELON_VMDABSSH": 500, "USELON_ASCDEFSZ": 2**27}
    path = guests.write(
        tmp_path / "data",
        (
            [
                guests.processor(guests.end_of(n), n),
                guests.activity(guests.end_of(n), "LNX1", n, ZLPOOL="WEB" if n > 1 else "TEST"),
            ]
            for n in MINUTES
        ),
        {
            2: [
                made.event("D4R1", at + 70 * made.S_US, logon),
                made.event(
                    "D2R9",
                    at + 80 * made.S_US,
                    {"SCLSHR_VMDUSER": "LNX1", "SCLSHR_VMDRELSH": 300, "SCLSHR_VMDMXSHR": 9},
                ),
            ]
        },
        more=[
            made.record("D1R15", at - made.MINUTE_US - 1_200, user),
            made.sim_record("D1R28", at - made.MINUTE_US - 1_100, pool),
        ],
    )
    text = printed(path, "uconf")
    assert row(text, "LNX1") == [
        "LNX1", "2", "1", "CP", "1", "IFL", "4096", "relative", "300", "limited", "0", "DEPT1", "WEB",
        "CAPACITY", "1.5", "2026/03/02", "08:00:00",
    ]  # fmt: skip
    assert row(text, "CMS1")[:7] == ["CMS1", "....", "..............", "128", "absolute", "0", "none"]


def test_every_guest_report_says_what_it_leaves_out() -> None:
    for name in ("upage", "ustat", "uconf", "indload"):
        assert load(name).absent, name
    text = explain_report("dispwait")
    assert "not bound for any z/VM release" in text


#: Table 11, mean dispatch wait in microseconds by 16, 32, 48, 64 and 80 logical processors.
LARGE = (("0.36", "0.60", "0.66", "0.90", "0.73"), ("6.50", "2.20", "2.43", "3.26", "1.76"))
SMALL = (("1.23", "9.58", "11.78", "17.89", "16.22"), ("23.78", "87.28", "145.23", "208.51", "257.17"))


@pytest.mark.parametrize("published", [LARGE, SMALL], ids=["large", "small"])
def test_mean_dispatch_wait_of_clients_and_servers(
    tmp_path: Path, published: tuple[tuple[str, ...], ...]
) -> None:
    """IBM, z/VM Performance Report, Eighty Logical Processors, table 11: each run is a system here."""
    groups = tmp_path / "groups.toml"
    groups.write_text('[guest]\n"CLI*" = "clients"\n"SRV*" = "servers"\n', encoding="utf-8")
    folder = tmp_path / "in"
    folder.mkdir()
    for run, (client, server) in enumerate(zip(*published, strict=True)):
        # Clients are 4-ways and servers 1-ways; of two guests of a kind one waits shorter and more often.
        waits = [("CLI1", vcpu, 3000, 0.8, client) for vcpu in range(4)]
        waits += [("CLI2", vcpu, 1000, 1.6, client) for vcpu in range(4)]
        waits += [("SRV1", 0, 20_000, 1.0, server)]
        intervals = [
            [
                guests.activity(
                    guests.end_of(n),
                    userid,
                    n,
                    vcpu=vcpu,
                    ZLDSPCT=n * count,
                    ZLDSPWT=guests.seconds(n * count * part * float(mean) / 1e6),
                )
                for userid, vcpu, count, part, mean in waits
            ]
            for n in MINUTES
        ]
        guests.write(
            folder / f"run{run}", intervals, config={**made.SIM_CONFIG, "MTRSYS_SYSTMID": f"AP{run}Z604"}
        )
    text = printed(folder, "dispwait", group=str(groups))
    for name, kind in (("clients", 0), ("servers", 1)):
        means = [line.split()[5] for line in text.split("\n") if line.startswith(name)]
        assert means == [one.removeprefix("0") for one in published[kind]]
