"""Tests of z/OS texts: DISPLAY M=CORE, M=CPU and HIS, and .CNT files, single, combined and in logs."""

from __future__ import annotations

import datetime as dt
import json
import os
import zoneinfo
from pathlib import Path

import pytest

import zlens
import zos_samples
from samples import needs, sample
from zlens.cli import main
from zlens.inputs.options import Options
from zlens.readers.smf.systems import offset_s
from zlens.readers.zos import log_lines as zos_lines
from zlens.readers.zos import text as zos_text

SAMPLES = sample("dmcore")
#: 2026-03-01 12:00 UTC
WHEN = 1772366400


def files(folder: Path, texts: dict[str, str | bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(folder / name, (WHEN, WHEN))
    return folder


def opened(folder: Path, texts: dict[str, str | bytes], **options: object) -> zlens.Session:
    return zlens.open(files(folder, texts), options=Options(**options))  # type: ignore[arg-type]


RUN = "SELECT counter_sets_asked, counter_sets, smfintval, cntintval, statechange, state_change FROM his_run"


def test_published_his_display(tmp_path: Path) -> None:
    # J. Burg, SHARE 8882 (2011): D HIS on a z196.
    with opened(tmp_path, {"his.txt": zos_samples.DISPLAY_HIS}) as session:
        assert session.sql(RUN).rows == [
            ("ALL", "BASIC, PROBLEM-STATE, CRYPTO-ACTIVITY, EXTENDED", "SYNC", None, "SAVE", None)
        ]
        assert session.sql(
            "SELECT message, displayed, procedure, asid, state, command, start_local, end_local, completion, "
            "file_prefix, version1, version2, title, path, duration, ctronly FROM his_run"
        ).rows == [
            (
                "HIS015I", "11:32:39", "HIS", "0025", "ACTIVE",
                "MODIFY HIS,B,TT='CMU MF COUNTERS ENABLED',CTRONLY,CTR=ALL,SI=SYNC",
                "2010/09/23 09:52:22", None, None, "SYSHIS20100923.095222.", 1, 2,
                "CMU MF COUNTERS ENABLED", ".", "NOLIMIT", True,
            )
        ]  # fmt: skip
        assert session.problems == []
        assert session.sql("SELECT system, epoch(tod), seconds FROM his_run").rows == [
            ("unknown-his", WHEN, None)
        ]


def test_later_display_with_service(tmp_path: Path) -> None:
    with opened(tmp_path, {"his.txt": zos_samples.DISPLAY_HIS_SERVICE}) as session:
        assert session.sql(RUN).rows == [("B, E", "BASIC, EXTENDED", None, "SYNC", "IGNORE", None)]
        assert session.sql(
            "SELECT lost_samples, sampling, counting, cntfile, map, dataloss, service, event_authorized, "
            "event_enabled, sample_enabled, service_buffers, service_rate, end_local FROM his_run"
        ).rows == [
            (
                12, False, True, False, False, "IGNORE", "ACTIVE", "BASIC, PROBLEM-STATE, EXTENDED", "BASIC",
                "NONE", "4 (PAGES/PROCESSOR)", "800000 (SAMPLES/MINUTE)", "2016/02/29 15:30:00",
            )
        ]  # fmt: skip
        assert [problem.kind for problem in session.problems] == ["section"]


def test_command_continues_with_label_operand(tmp_path: Path) -> None:
    text = zos_samples.DISPLAY_HIS.replace(
        "CTR=ALL,SI=\n        SYNC", "CTR=(B,E),\n        SMFINTVAL=5,STATECHANGE=STOP"
    )
    stated = text.replace("  STATECHANGE= SAVE\n  SMFINTVAL= SYNC\n", "")
    with opened(tmp_path, {"his.txt": stated}) as session:
        assert session.sql(RUN).rows[0][:1] == ("B, E",)
        assert session.sql("SELECT smfintval, statechange FROM his_run").rows == [("5", "STOP")]
        (command,) = session.sql("SELECT command FROM his_run").rows[0]
        assert command.endswith("CTR=(B,E),SMFINTVAL=5,STATECHANGE=STOP")


def test_zone_follows_from_published_start() -> None:
    # IBM, Counter sets output in a .CNT file: START TIME 2010/03/01 16:14:06, START TOD C59D40379C442...
    from zlens import _native

    start = _native.unix_us_from_tod(zos_samples.START_TOD)
    assert start // 1_000_000 == 1267478046
    assert offset_s((1267478046 - 5 * 3600) * 1_000_000, start) == -5 * 3600


def test_counters_of_run(tmp_path: Path) -> None:
    with opened(tmp_path, {"SYSHIS20100301.161406.000.CNT": zos_samples.cnt()}) as session:
        assert session.problems == []
        assert session.sql(RUN).rows == [("ALL", "BASIC, PROBLEM-STATE, EXTENDED", "SYNC", None, None, "NO")]
        assert session.sql(
            "SELECT cpu_id, machine_type, version1, version2, cpsp, seconds, epoch(interval_end)::BIGINT, "
            "c0, c1, c5, c32, c159, basic_counters, problem_counters, crypto_counters, extended_counters "
            "FROM his_cnt ORDER BY cpu_id"
        ).rows == [
            (
                cpu, "2097", 1, 1, 4404.0, 60.0, 1267478107, cycles, instructions, 4000, cycles // 2, 159,
                6, 6, None, 32,
            )
            for cpu, (cycles, instructions) in zos_samples.COUNTS.items()
        ]  # fmt: skip
        assert session.sql(
            "SELECT counter_set, counter, value FROM his_counter WHERE cpu_id = 0 AND number IN (2, 33, 130) "
            "ORDER BY number"
        ).rows == [
            ("BASIC", "L1 I-CACHE DIRECTORY-WRITE COUNT", 1000),
            ("PROBLEM-STATE", "PROBLEM-STATE 33", zos_samples.COUNTS[0][1] // 2),
            ("EXTENDED", "EXTENDED 130", 130),
        ]
        (info,) = session.systems
        assert (info.machine, info.model, info.utc_offset_s) == ("2097-1234567812345678", "710", -18000)


def test_consecutive_counter_sets_and_fullword_values(tmp_path: Path) -> None:
    question = "SELECT cpu_id, number, counter_set, value, seconds FROM his_counter ORDER BY ALL"
    with opened(tmp_path / "one", {"a.CNT": zos_samples.cnt()}) as session:
        whole = session.sql(question).rows
    assert len(whole) == 2 * 44
    for name, text in {"set": zos_samples.cnt(by_set=True), "halves": zos_samples.cnt(halves=True)}.items():
        with opened(tmp_path / name, {"a.CNT": text}) as session:
            assert session.sql(question).rows == whole
            assert session.problems == []


def test_documented_loss_lines(tmp_path: Path) -> None:
    # IBM, z/OS MVS System Messages, HIS019I.
    losses = (
        "LOSS OF SAMPLE DATA ALERT: NO SAMPLE BUFFER OVERFLOW COUNT 3\n"
        "LOSS OF COUNTER DATA ALERT: YES\n"
        "STATE CHANGE"
    )
    text = zos_samples.cnt().replace("STATE CHANGE", losses).replace("VERSION 3\n", "VERSION: 3 ")
    text = text.replace("COUNTER VERSION NUMBER 1", "COUNTER VERSION  NUMBER 1").replace(
        " (CPU SPEED", "\n(CPU SPEED"
    )
    text = text.replace("0-    3", "0 \u2013 3").replace(" START TOD", "\nSTART TOD")
    with opened(tmp_path, {"a.CNT": text}) as session:
        assert session.problems == []
        assert session.sql(
            "SELECT lost_sample_data, sample_overflows, lost_counter_data, state_change, message_version, "
            "file_name, version1 FROM his_run"
        ).rows == [(False, 3, True, "NO", "3", "SYSHIS20100301.161406.000.CNT", 1)]
        assert session.sql("SELECT lost, cpsp, c0, seconds FROM his_cnt WHERE cpu_id = 1").rows == [
            (True, 4404.0, zos_samples.COUNTS[1][0], 60.0)
        ]


def test_cpu_numbers(tmp_path: Path) -> None:
    def numbers(names: list[str]) -> list[int]:
        blocks = "".join(
            f"COUNTER VALUES (HEXADECIMAL) FOR CPU {name} (CPU SPEED = 5000 CYCLES/MIC):\n  0 - 0  2A\n"
            for name in names
        )
        head = zos_samples.cnt().partition("START TIME")[0]
        times = f"START TOD: {zos_samples.START_TOD:016X}\nEND TOD: {zos_samples.END_TOD:016X}\n"
        with opened(tmp_path / "-".join(names), {"a.CNT": head + times + blocks}) as session:
            return [row[0] for row in session.sql("SELECT cpu_id FROM his_cnt ORDER BY 1").rows]

    assert numbers(["00", "0A", "10"]) == [0, 10, 16]
    tens = [f"{number:02}" for number in range(12)]
    assert numbers(tens) == list(range(12))
    assert numbers(["00", "10"]) == [0, 16]


CORES = "SELECT core_id, state, cpu_type, polarity, parked, first_cpu, threads, thread_states FROM zos_core"


def test_cores_and_their_threads(tmp_path: Path) -> None:
    with opened(tmp_path, {"core.txt": zos_samples.DISPLAY_CORES}) as session:
        assert session.problems == []
        assert session.sql(CORES).rows == [
            (0, "online", "CP", "Vh", False, 0, 1, "+N"),
            (1, "online", "CP", "Vl", True, 2, 1, "+N"),
            (20, "online", "ZIIP", "Vm", False, 40, 2, "++"),
            (23, "offline", "ZIIP", None, None, 46, 0, None),
        ]
        assert session.sql("SELECT cpu_id, core_id, thread, state, polarity FROM zos_cpu").rows == [
            (0, 0, 0, "online", "Vh"), (1, 0, 1, "not available", "Vh"),
            (2, 1, 0, "online", "Vl"), (3, 1, 1, "not available", "Vl"),
            (40, 20, 0, "online", "Vm"), (41, 20, 1, "online", "Vm"),
            (46, 23, 0, "offline", None), (47, 23, 1, "offline", None),
        ]  # fmt: skip
        assert session.sql(
            "SELECT hiperdispatch, mt, mt_cp, mt_ziip, node, machine_name, lpar, lpar_id, css, mif, "
            "model_hardware, cores_online, cores_parked, displayed FROM zos_status"
        ).rows == [
            (
                True, 2, 1, 2, "008561.T01.IBM.02.000000000078", "MADE", "MADE1", "1B", "1", "B", "T01", 3, 1,
                "14:41:05",
            )
        ]  # fmt: skip
        (info,) = session.systems
        assert (info.system, info.machine, info.model, info.lpar, info.lpar_number, info.threads) == (
            "MADE1", "8561-78", "776", "MADE1", 27, {"cp": 1, "ziip": 2}
        )  # fmt: skip


def test_without_hiperdispatch(tmp_path: Path) -> None:
    text = zos_samples.DISPLAY_CORES.replace("HD=Y   MT=2  MT_MODE: CP=1  zIIP=2", "HD=N   MT=1")
    text = (
        text.replace("  H   FC00", "      FC00")
        .replace("  LP  0000", "      0000")
        .replace("M   0200", "    0200")
    )
    with opened(tmp_path, {"core.txt": text}) as session:
        assert session.sql("SELECT DISTINCT state, polarity, parked FROM zos_core ORDER BY 1").rows == [
            ("offline", None, None),
            ("online", "Hor", False),
        ]
        assert session.systems[0].threads == {"cp": 1, "ziip": 1}


def test_processors_without_cores(tmp_path: Path) -> None:
    with opened(tmp_path, {"cpu.txt": zos_samples.DISPLAY_CPUS}) as session:
        assert session.problems == []
        assert session.sql(
            "SELECT cpu_id, core_id, state, cpu_type, wlm_managed, serial FROM zos_cpu"
        ).rows == [
            (0, None, "online", "CP", False, "0112342097"),
            (1, None, "online", "ZIIP", False, "0112342097"),
            (2, None, "offline", "CP", True, None),
        ]
        assert session.sql("SELECT count(*) FROM zos_core").rows == [(0,)]


def test_documented_older_and_power_save_formats(tmp_path: Path) -> None:
    # IBM, z/OS MVS System Messages, IEE174I (form 23 of 36).
    text = zos_samples.DISPLAY_CPUS.replace("SERIAL", "CR SERIAL").replace(
        "+                    0", "+        +           0"
    )
    text = text.replace("LP NAME", "CPC IS RUNNING AT 83% OF NORMAL EFFECTIVENESS\nLP NAME", 1)
    text = text.replace("DISPLAY M 125\n", "") + "A ASSIST PROCESSOR\nCR CRYPTO FACILITY\nN NOT AVAILABLE\n"
    with opened(tmp_path, {"cpu.txt": text}) as session:
        assert session.problems == []
        assert session.sql("SELECT cpu_id, state, cpu_type, polarity, serial FROM zos_cpu").rows == [
            (0, "online", "CP", None, "0112342097"),
            (1, "online", "ZIIP", None, "0112342097"),
            (2, "offline", "CP", None, None),
        ]
        assert session.sql("SELECT effectiveness_pct, lpar FROM zos_status").rows == [(83, "LPOLD")]


@needs(SAMPLES)
def test_two_real_displays() -> None:
    # Cores of an 8561-776 with MT=2 and of an 8562-Z06 with MT=1: tests of zos-utilities 0.6.1.
    with zlens.open([str(path) for path in SAMPLES.glob("display-m-core*.txt")]) as session:
        assert session.problems == []
        assert session.sql(
            "SELECT system, state, cpu_type, polarity, parked, count(*) FROM zos_core GROUP BY ALL "
            "ORDER BY ALL"
        ).rows == [
            ("CB8A", "not available", "ZIIP", None, None, 8),
            ("CB8A", "offline", "ZIIP", None, None, 13),
            ("CB8A", "online", "CP", "Vh", False, 1),
            ("CB8A", "online", "CP", "Vl", True, 17),
            ("CB8A", "online", "CP", "Vm", False, 2),
            ("CB8A", "online", "ZIIP", "Vh", False, 1),
            ("CB8A", "online", "ZIIP", "Vm", False, 2),
            ("S5E", "offline", "ZIIP", None, None, 6),
            ("S5E", "online", "CP", "Vh", False, 1),
            ("S5E", "online", "CP", "Vl", True, 4),
            ("S5E", "online", "CP", "Vm", False, 1),
            ("S5E", "online", "ZIIP", "Vh", False, 4),
        ]
        assert session.sql("SELECT system, machine, lpar_number, mt_cp, mt_ziip FROM system").rows == [
            ("CB8A", "8561-78", 27, 1, 2),
            ("S5E", "8562-790A8", 33, 1, 1),
        ]


@needs(SAMPLES)
def test_display_asm_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paging = next(SAMPLES.glob("display-asm*.txt"))
    assert main(["info", str(paging)]) == 2
    assert "DISPLAY ASM (IEE200I)" in capsys.readouterr().err
    texts = {"both.txt": paging.read_text() + zos_samples.DISPLAY_CORES}
    with opened(tmp_path, texts) as session:
        assert session.problems == []
        assert session.sql("SELECT name, count FROM inventory ORDER BY 1").rows == [
            ("IEE174I", 1),
            ("IEE200I", 1),
        ]


# Messages in a log ----------------------------------------------------------------------------------


def _hardcopy(text: str, *, first: str = "M 4040000 SYSA     2026060 14:41:05.12 STC00042 00000090  ") -> str:
    """Return a message in hardcopy log format: the first line has the time, the others follow."""
    lines = text.splitlines()
    rest = "D                                         124 00000090  ".ljust(len(first))
    return "\n".join([first + lines[0], *(rest + line for line in lines[1:])]) + "\n"


@pytest.mark.parametrize(
    "text", [zos_samples.DISPLAY_CORES, zos_samples.DISPLAY_HIS, zos_samples.DISPLAY_CPUS]
)
def test_message_of_hardcopy_log(tmp_path: Path, text: str) -> None:
    other = (
        "N 4000000 SYSA     2026060 14:41:00.00 STC00042 00000090  IEF403I MADE - STARTED - TIME=14.41.00\n"
    )
    tables = ("his_run", "zos_core", "zos_cpu")
    plain, log = {}, {}
    with opened(tmp_path / "plain", {"a.txt": text}) as session:
        plain = {
            t: session.sql(f'SELECT * EXCLUDE (system, file, "offset", tod, interval_end) FROM {t}').rows
            for t in tables
        }
    with opened(tmp_path / "log", {"a.txt": other + _hardcopy(text) + other}, tz=dt.UTC) as session:
        log = {
            t: session.sql(f'SELECT * EXCLUDE (system, file, "offset", tod, interval_end) FROM {t}').rows
            for t in tables
        }
        assert session.problems == []
        assert [info.system for info in session.systems] == ["SYSA"]
        shown = "11:32:39" if "HIS015I" in text else "16:20:00" if "M 125" in text else "14:41:05"
        (row,) = session.sql("SELECT strftime(first_time, '%Y-%m-%d %H:%M:%S'), local_time FROM system").rows
        assert row == (f"2026-03-01 {shown}", False)
        assert session._core.sources[0].info()[0]["other_lines"] == 2
    assert plain == log


@pytest.mark.parametrize(
    ("before", "dated"),
    [
        ("S0W1      2021208  14:41:05.00             ", True),
        (" S0W1      2021208  14:41:05.00             ", True),
        ("NC0000000 S0W1     21208 14:41:05.12 STC00042 00000090  ", True),
        (" RESPONSE=S0W1     ", False),
    ],
)
def test_other_logs_with_system_name(tmp_path: Path, before: str, dated: bool) -> None:
    text = before + zos_samples.DISPLAY_CORES.replace("\n", "\n" + " " * len(before))
    with opened(tmp_path, {"a.txt": text}, tz=dt.UTC) as session:
        assert session.problems == []
        expected = "2021-07-27 14:41" if dated else "2026-03-01 12:00"
        assert session.sql("SELECT system, strftime(tod, '%Y-%m-%d %H:%M') FROM zos_status").rows == [
            ("S0W1", expected)
        ]
        assert session.sql("SELECT count(*) FROM zos_core").rows == [(4,)]
        assert session.systems[0].lpar == "MADE1"


def test_undated_display_uses_given_date(tmp_path: Path) -> None:
    given = dt.date(2011, 1, 9)
    with opened(tmp_path, {"a.txt": zos_samples.DISPLAY_CORES}, tz=dt.UTC, date=given) as session:
        (row,) = session.sql("SELECT strftime(tod, '%Y-%m-%d') FROM zos_status").rows
        (source,) = session._core.sources
        assert [info["times"] for info in source.info()] == ["times have the given date"]
    assert row == ("2011-01-09",)


def test_message_deep_in_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = "N 4000000 SYSA     2026060 14:41:00.00 STC00042 00000090  IEF403I MADE - STARTED\n" * 2000
    with opened(tmp_path, {"a.txt": other + _hardcopy(zos_samples.DISPLAY_CORES)}) as session:
        assert session.sql('SELECT count(*), min("offset") > 100000 FROM zos_core').rows == [(4, True)]
        assert session.problems == []
    files(tmp_path / "none", {"b.txt": other})
    assert main(["info", str(tmp_path / "none" / "b.txt")]) == 2
    assert "the file has no usable z/OS message: none found" in capsys.readouterr().err


def test_log_without_zone_is_local(tmp_path: Path) -> None:
    with opened(tmp_path, {"a.txt": _hardcopy(zos_samples.DISPLAY_CORES)}) as session:
        assert session.sql("SELECT local_time FROM system").rows == [(True,)]
    dated = zos_samples.DISPLAY_CORES.replace("IEE174I", "2026-03-01 14:41:06 SYSB IEE174I", 1)
    with opened(tmp_path / "dated", {"a.txt": dated}, tz=zoneinfo.ZoneInfo("America/New_York")) as session:
        assert session.sql("SELECT system, strftime(tod, '%Y-%m-%d %H:%M') FROM zos_status").rows == [
            ("MADE1", "2026-03-01 19:41")
        ]


def test_status_without_line_of_its_message(tmp_path: Path) -> None:
    bare = zos_samples.DISPLAY_CORES.partition("\n")[2]
    with opened(tmp_path, {"a.txt": bare}) as session:
        assert session.sql("SELECT count(*) FROM zos_core").rows == [(4,)]
        assert session.problems == []


def test_ebcdic(tmp_path: Path) -> None:
    data = zos_samples.cnt().replace("\n", "\x85").encode("cp037")
    with opened(tmp_path, {"a.CNT": data}) as session:
        assert session.sql("SELECT cpu_id, c0 FROM his_cnt").rows == [
            (0, zos_samples.COUNTS[0][0]),
            (1, zos_samples.COUNTS[1][0]),
        ]
        assert session.problems == []
        assert session._core.sources[0].info()[0]["format"] == "z/OS text in EBCDIC"


# Files of one system --------------------------------------------------------------------------------


def test_display_of_same_machine_names_counters(tmp_path: Path) -> None:
    with opened(tmp_path, {"a.CNT": zos_samples.cnt(), "cpu.txt": zos_samples.DISPLAY_CPUS}) as session:
        assert [info.system for info in session.systems] == ["LPOLD"]
        assert session.sql("SELECT DISTINCT system FROM his_cnt").rows == [("LPOLD",)]
    with opened(
        tmp_path / "other", {"a.CNT": zos_samples.cnt(), "core.txt": zos_samples.DISPLAY_CORES}
    ) as session:
        # Another machine is another system.
        assert [info.system for info in session.systems] == ["MADE1", "unknown-a"]


def test_files_of_one_run_are_one_system(tmp_path: Path) -> None:
    second = zos_samples.cnt(change="YES,SAVE").replace(".000.CNT", ".001.CNT")
    with opened(tmp_path, {"first.CNT": zos_samples.cnt(), "second.CNT": second}) as session:
        assert len(session.systems) == 1
        assert session.sql("SELECT file_name, state_change, statechange FROM his_run ORDER BY 1").rows == [
            ("SYSHIS20100301.161406.000.CNT", "NO", None),
            ("SYSHIS20100301.161406.001.CNT", "YES,SAVE", "SAVE"),
        ]


def test_info_shows_requested_counters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(tmp_path, {"his.txt": zos_samples.DISPLAY_HIS, "core.txt": zos_samples.DISPLAY_CORES})
    assert main(["info", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    for words in (
        "SMFINTVAL SYNC", "STATECHANGE SAVE", "counter sets asked for ALL",
        "counter sets BASIC + PROBLEM-STATE + CRYPTO-ACTIVITY + EXTENDED",
        "HiperDispatch on, cores online 3, of these parked 1, displayed 14:41:05, cpus online 4",
    ):  # fmt: skip
        assert words in out
    assert main(["info", str(tmp_path / "his.txt"), "--format", "json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert one["facts"]["SMFINTVAL"] == "SYNC"
    assert one["facts"]["counter_sets_asked_for"] == "ALL"


def test_zos_text_detect() -> None:
    for text in (
        zos_samples.DISPLAY_HIS,
        zos_samples.DISPLAY_CORES,
        zos_samples.DISPLAY_CPUS,
        zos_samples.cnt(),
    ):
        assert zos_text.detect(text.encode(), len(text))
    assert not zos_text.detect(b"HIS0159I IEE174 XHIS015I", 24)
    assert not zos_text.detect(b"HIS015I \0", 9)
    assert zos_lines.encoding(zos_samples.cnt().encode("cp037")) == "cp037"
