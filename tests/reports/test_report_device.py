"""DEVICE FCX108 against IBM's published rows.

Publications: z/VM 6.4 Performance Update (IBM, 2016-2018), six volumes of a run that shares HyperPAV aliases;
z/VM Performance Report, Eighty Logical Processors (IBM, 2019), paging volumes put together by run (two of its
five rows do not have Resp = Serv + Qued / Rate). Counters are fed that give the published numbers, and every
printed field is held against them.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from io_made import Form, devices
from moved_pages import moved, same

import zlens
from zlens import reports
from zlens.cli import main
from zlens.errors import QueryError

NOW = datetime(2026, 11, 21, 8, 0, 0)

# What rounding hides of the published numbers: the sums are of unrounded times.
VOLUMES = {
    0xBE0E: "BE0E 3390-9 QRMD00        32   4 2149    .0 .229 .003 .193 .426 6.57 .000 13.2",
    0xBE0F: "BE0F 3390-9 QRMD01        32   4 2142    .0 .230 .003 .194 .427 7.04 .000 14.2",
    0xBE12: "BE12 3390-9 ATP003         0   4  748    .0 .233 .003 1.06 1.30 1.30 .101  .00",
    0xBE14: "BE14 3390-9 ATP003         0   4  743    .0 .233 .002 1.07 1.30 1.30 .103  .00",
    0xBE1A: "BE1A 3390-9 ATP003         0   4  741    .0 .232 .001 1.08 1.31 1.31 .101  .00",
    0xBE1F: "BE1F 3390-9 ATP000         0   4  742    .0 .233 .002 1.07 1.31 1.31 .102  .00",
}
FED = {
    0xBE0E: (2149, 0.2293, 0.0032, 0.1933, 0.0, 13.2),
    0xBE0F: (2142, 0.230, 0.003, 0.194, 0.0, 14.165),
    0xBE12: (748, 0.233, 0.003, 1.060, 0.101, 0.0),
    0xBE14: (743, 0.233, 0.002, 1.069, 0.103, 0.0),
    0xBE1A: (741, 0.232, 0.001, 1.080, 0.101, 0.0),
    0xBE1F: (742, 0.233, 0.002, 1.071, 0.102, 0.0),
}
RUNS = {
    1: "180    .0 .147 .479 .229 .855 1.50 .000  .12   15   97",
    2: "89.4    .0 .156 2.77 .271 3.19 6.46 .000  .29   29   93",
    5: "45.5    .0 .241 10.5 .480 11.2 30.8 .000  .89   51   84",
}
FED_RUNS = {
    1: (180.0, 0.147, 0.479, 0.229, 0.0, 0.1161, 97),
    2: (89.4, 0.156, 2.766, 0.271, 0.0, 0.292, 93),
    5: (45.5, 0.241, 10.5, 0.480, 0.0, 0.8908, 84),
}
NAMES = ("rate", "pend", "disc", "conn", "cu_wait", "queued", "read_pct")


def rows(text: str) -> dict[str, list[str]]:
    """The fields of each row by its first field."""
    found = {}
    for line in text.split("\n"):
        if line[:1].isalnum() and not line.startswith(("FCX", "From", "To", "For", "General", "Addr")):
            found[line.split()[0]] = line.split()
    return found


def opened(path: Path, samples: list[dict[int, dict[str, object]]], **more: int) -> zlens.Session:
    configuration = {n: {"MTRDEV_RDEVDVID": "3390", "MTRDEV_CALMODLN": 9} for n in samples[0]}
    return zlens.open([devices(path, samples, configuration, **more)])


def test_every_published_field_of_the_volumes_is_printed(tmp_path: Path) -> None:
    fed: dict[int, dict[str, object]] = {}
    for number, line in VOLUMES.items():
        _, _, serial, links, *_ = line.split()
        fed[number] = dict(zip(NAMES, FED[number], strict=False)) | {
            "IODDEV_RDEVSER": serial,
            "IODDEV_RDEVLCNT": int(links),
            "IODDEV_RDEVLPM": 0b1111_0000,
        }
    with opened(tmp_path / "a", [fed], minutes=10) as session:
        printed = rows(session.report("fcx108"))
    for line in VOLUMES.values():
        assert printed[line.split()[0]][: len(line.split())] == line.split()


def test_published_rows_of_paging_volumes_are_printed(tmp_path: Path) -> None:
    fed = {number: dict(zip(NAMES, values, strict=True)) for number, values in FED_RUNS.items()}
    # An hour: queues are known by counting samples.
    with opened(tmp_path / "a", [fed], minutes=60) as session:
        printed = rows(session.report("device"))
    for number, line in RUNS.items():
        assert printed[f"{number:04X}"][-len(line.split()) :] == line.split()


def test_headings_are_those_of_the_listing(tmp_path: Path) -> None:
    with opened(tmp_path / "a", [{0x145: {"rate": 4.6}}]) as session:
        lines = session.report("device").split("\n")
    assert lines[8:10] == [
        "<-- Device Descr. -->  Mdisk Pa- <-Rate/s-> <------- Time (msec) -------> Req. <Percent>",
        "Addr Type   Label/ID   Links ths  I/O Avoid Pend Disc Conn Serv Resp CUWt Qued Busy READ",
    ]


def test_the_row_of_all_dasd_is_the_mean_disk_and_weights_times_by_operations(tmp_path: Path) -> None:
    fed = [{1: {"rate": 30.0, "pend": 1.0, "queued": 0.3}, 2: {"rate": 10.0, "pend": 5.0, "queued": 0.0}}]
    path = devices(tmp_path / "a", fed, {1: {}, 2: {}, 3: {"MTRDEV_RDEVCLAS": 64}})
    with zlens.open([path]) as session:
        line = next(one for one in session.report("device").split("\n") if one.startswith(">> All DASD <<"))
    fields = line.removeprefix(">> All DASD <<").split()
    # Rate: a disk's; pend: (30 x 1 + 10 x 5) / 40; resp: + queue of a disk / its rate = .15 / 20 s.
    assert fields[2:] == ["20.0", ".0", "2.00", ".000", ".000", "2.00", "9.50", ".000", ".15", "4", "...."]


def test_devices_that_are_no_disks_are_not_among_all_dasd(tmp_path: Path) -> None:
    fed = [{1: {"rate": 30.0}, 2: {"rate": 10.0}, 3: {"rate": 500.0}}]
    path = devices(tmp_path / "a", fed, {1: {}, 2: {}, 3: {"MTRDEV_RDEVCLAS": 64}})
    with zlens.open([path]) as session:
        line = next(one for one in session.report("device").split("\n") if one.startswith(">> All DASD <<"))
    assert line.removeprefix(">> All DASD <<").split()[2] == "20.0"


def test_an_idle_device_has_no_times_and_is_not_busy(tmp_path: Path) -> None:
    with opened(tmp_path / "a", [{0x300: {"rate": 0.0}}]) as session:
        assert rows(session.report("device"))["0300"] == [
            "0300", "3390-9", "........." , "0", "0", ".0", ".0", *["...."] * 6, ".00", "0", "....",
        ]  # fmt: skip


def test_only_the_devices_asked_for_are_shown(tmp_path: Path) -> None:
    with opened(tmp_path / "a", [{n: {"rate": 1.0} for n in (0x145, 0x146, 0x200)}]) as session:
        assert list(rows(session.report("device", only=["0145"]))) == ["0145"]
        assert list(rows(session.report("device", only=["014?", "9999"]))) == ["0145", "0146"]
        assert ">> All DASD <<" in session.report("device")
        assert ">> All DASD <<" not in session.report("device", only=["0145"])
        with pytest.raises(QueryError, match=r"no rows for '9999'.*0145, 0146, 0200"):
            session.report("device", only=["9999"])


def test_a_percent_sign_in_a_name_is_no_pattern(tmp_path: Path) -> None:
    with opened(tmp_path / "a", [{0x145: {"rate": 1.0}}]) as session, pytest.raises(QueryError):
        session.report("device", only=["01%"])


@pytest.mark.parametrize("report", ["device", "device110"])
def test_it_is_not_bound_to_our_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str) -> None:
    samples = [{0x145: {"rate": 30.0, "pend": 1.0, "read_pct": 70}, 0x146: {"rate": 5.0, "read_pct": 40}}] * 2
    with zlens.open([devices(tmp_path / "a", samples)]) as session:
        ours = reports.render(report, session, now=NOW)
    elsewhere = moved(tmp_path, ["D6R3"], "7.3", monkeypatch)
    form = Form(elsewhere.record, elsewhere.config)
    with zlens.open([devices(tmp_path / "b", samples, form=form)]) as session:
        assert same(ours, reports.render(report, session, now=NOW))


def test_the_command_takes_one_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = devices(tmp_path / "a", [{n: {"rate": 1.0} for n in (0x145, 0x146)}])
    assert main(["report", "fcx108", str(path), "--only", "0146"]) == 0
    assert list(rows(capsys.readouterr().out)) == ["0146"]
    assert main(["report", "fcx108", str(path), "--only", "0999"]) == 2
    assert "no rows for '0999'" in capsys.readouterr().err
