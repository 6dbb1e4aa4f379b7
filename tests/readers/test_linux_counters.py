"""Tests of Linux counters in the formats of perf stat, lshwc and lscpumf."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.api import Session
from zlens.catalog import cpumf, generations, linux_events
from zlens.cli import main
from zlens.inputs.options import Options, parse_zone
from zlens.readers.linux.counters import form_of

PERF_TEXT = """# started on Wed Mar 26 10:34:19 2025


 Performance counter stats for 'system wide':

        57,431,083      L1D_DIR_WRITES                   #     0.02 l4rp
       131,817,067      cpum_cf/L1I_DIR_WRITES/                                                 (50.00%)
               252      L1D_ONDRAWER_L4_SOURCED_WRITES
     2,000,000,000      cycles
     1.000.000.000      instructions                     #    0.50  insn per cycle
   <not supported>      L1D_ONDRAWER_L3_SOURCED_WRITES
          1,001.02 msec task-clock                       #    1.000 CPUs utilized

       2.500000000 seconds time elapsed

       0.001000000 seconds user
"""

PERF_EACH = """#           time CPU                 counts unit events
     1.000100000 CPU0                1,000      cpum_cf/CPU_CYCLES/
     1.000100000 CPU1                2,000      cpum_cf/CPU_CYCLES/
     1.000100000 CPU0                  500      r1
     1.000100000 CPU1                  400      r1
     2.000100000 CPU0                4,000      cpum_cf/CPU_CYCLES/
     2.000100000 CPU1        <not counted>      cpum_cf/CPU_CYCLES/
     2.000100000 CPU0                1,000      r1
     2.000100000 CPU1                  100      r1
"""

PERF_CSV = """# started on Wed Mar 26 10:34:19 2025

1.000100000,CPU0,1000,,cpum_cf/CPU_CYCLES/,1000123,100.00,,
1.000100000,CPU1,2000,,cpum_cf/CPU_CYCLES/,1000123,100.00,,
1.000100000,CPU0,500,,cpum_cf/event=0x1,name=INSTR/,1000123,100.00,0.5,insn per cycle
1.000100000,CPU0,,,,,,0.1,another metric
1.000100000,CPU1,400,,cpum_cf/event=0x1,name=INSTR/,1000123,100.00,,
2.000100000,CPU0,4000,,cpum_cf/CPU_CYCLES/,1000123,100.00,,
2.000100000,CPU1,<not counted>,,cpum_cf/CPU_CYCLES/,0,100.00,,
2.000100000,CPU0,1000,,cpum_cf/event=0x1,name=INSTR/,1000123,25.00,,
2.000100000,CPU1,100,,cpum_cf/event=0x1,name=INSTR/,1000123,100.00,,
"""

LSHWC = """Date,Time,CPU,PROBLEM_STATE_CPU_CYCLES(32),PROBLEM_STATE_INSTRUCTIONS(33)
2021-04-01,11:54:47,CPU0,0,0
2021-04-01,11:54:47,CPU1,0,0
2021-04-01,11:54:47,Total,0,0
2021-04-01,11:55:47,CPU0,818775,14198
2021-04-01,11:55:47,CPU1,125689,1306
2021-04-01,11:55:47,Total,944464,15504
2021-04-01,11:56:47,CPU0,3207071426,1489122591
2021-04-01,11:56:47,CPU1,3225092021,1489278312
2021-04-01,11:56:47,Total,6432163447,2978400903
"""

LSCPUMF = """CPU-measurement Counter Facility
--------------------------------------------------------------------------
Version: 3.7

Authorized counter sets:
    Basic counter Set
    Crypto-Activity counter Set
    Extended counter Set
    MT-diagnostic counter Set
    Problem-State counter Set

Linux perf event support: Yes (PMU: cpum_cf)
"""

SERVICE = """VM: z/VM Version 7 Release 3.0, service level 2301 (64-bit)
CPU-MF: Counter facility: version=3.7 authorization=002f
CPU-MF: Sampling facility: min_rate=18228 max_rate=170650536 cpu_speed=5200
CPU-MF: Sampling facility: mode=basic sample_size=32
"""


def lshwc_json(*, first: int = 3, second: int = 8, host: str = "lnx1") -> dict[str, Any]:
    """Return two samples of one CPU and of all CPUs."""
    measurements = []
    for step, (cycles, instructions) in enumerate(((1000, 500), (5000, 2500))):
        for cpu in (0, "total"):
            counters = [
                {"name": "cpu_cycles", "id": 0, "value": cycles},
                {"name": "instructions", "id": 1, "value": instructions},
                {"id": 290, "value": 1},
            ]
            zone = {"date_time": "2025-03-26 10:34:19+0100", "time_epoch": 1742981659 + 10 * step}
            measurements.append({**zone, "cpu": cpu, "counters": counters})
    info = {"counter first": first, "counter second": second, "authorization": 47}
    return {
        "meta": {"api_level": 1, "host": host},
        "lshwc": {"cpumcf info": info, "measurements": measurements},
    }


def opened(folder: Path, files: dict[str, str], options: Options | None = None) -> Session:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return zlens.open(folder, options=options)


def counted(session: Session) -> list[tuple[Any, ...]]:
    return session.sql(
        "SELECT cpu, number, value, state FROM linux_counter ORDER BY interval_end, number, cpu"
    ).rows


def metrics(session: Session, columns: str) -> list[tuple[Any, ...]]:
    return session.sql(f"SELECT {columns} FROM cpumf ORDER BY interval_end, cpu_id").rows


# perf stat


def test_perf_for_people(tmp_path: Path) -> None:
    with opened(tmp_path, {"run.txt": PERF_TEXT}, Options(tz=parse_zone("+01:00"))) as session:
        rows = session.sql(
            "SELECT counter, number, value, state, running_pct, amount, unit FROM linux_counter"
        )
        assert rows.rows == [
            ("L1D_DIR_WRITES", 4, 57_431_083, None, None, None, None),
            ("cpum_cf/L1I_DIR_WRITES/", 2, 131_817_067, None, 50.0, None, None),
            ("L1D_ONDRAWER_L4_SOURCED_WRITES", 149, 252, None, None, None, None),
            ("cycles", 0, 2_000_000_000, None, None, None, None),
            ("instructions", 1, 1_000_000_000, None, None, None, None),
            ("L1D_ONDRAWER_L3_SOURCED_WRITES", 151, None, "not supported", None, None, None),
            ("task-clock", None, None, None, None, 1001.02, "msec"),
        ]
        (row,) = metrics(session, "cpu_id, seconds, generation, generation_by, cpi, ghz")
        assert row == (None, 2.5, "z13", "names of counters", 2.0, None)
        (end,) = session.sql("SELECT strftime(interval_end, '%Y-%m-%d %H:%M:%S') FROM cpumf").rows
        assert end == ("2025-03-26 09:34:21",)
        (absent,) = (p for p in session.problems if p.kind == "section")
        assert "1 not supported" in absent.detail
        assert "inside a guest" in absent.detail
        assert not absent.bytes


@pytest.mark.parametrize("form", ["text", "csv", "semicolons", "json"])
def test_intervals_of_each_cpu(tmp_path: Path, form: str) -> None:
    text = {
        "text": PERF_EACH,
        "csv": PERF_CSV,
        "semicolons": PERF_CSV.replace("=0x1,name", "=0x1+name").replace(",", ";"),
        "json": perf_json(),
    }[form]
    with opened(tmp_path, {"counts": text}) as session:
        assert counted(session) == [
            (0, 0, 1000, None), (1, 0, 2000, None), (0, 1, 500, None), (1, 1, 400, None),
            (0, 0, 4000, None), (1, 0, None, "not counted"), (0, 1, 1000, None), (1, 1, 100, None),
        ]  # fmt: skip
        rows = metrics(session, "cpu_id, round(seconds, 4), cpi")
        assert rows == [(0, 1.0001, 2.0), (1, 1.0001, 5.0), (0, 1.0, 4.0), (1, 1.0, None)]
        # The cycles of one CPU are unknown in the second interval, so the sum is NULL.
        types = session.sql("SELECT instructions, cycles FROM cpumf_type ORDER BY interval_end").rows
        assert types == [(900, 3000), (1100, None)]
        found = {p.kind for p in session._core.all_problems()}
        assert found == {"zone", "section", "no_layout"}


def perf_json() -> str:
    lines = []
    for line in PERF_EACH.splitlines()[1:]:
        time, cpu, value, event = line.split(None, 3) if "<" not in line else (*line.split()[:2], "", "")
        if "<" in line:
            value, event = "<not counted>", line.split()[-1]
        shown = value.replace(",", "") + (".000000" if value[0] != "<" else "")
        lines.append(
            json.dumps(
                {
                    "interval": float(time), "cpu": cpu[3:], "counter-value": shown, "unit": "",
                    "event": event.strip(), "event-runtime": 1000, "pcnt-running": 100.0,
                }
            )
        )  # fmt: skip
    return "\n".join(lines) + "\n"


def test_parts_of_machine_are_added(tmp_path: Path) -> None:
    text = (
        "S0-D0-C0,2,1000,,cpum_cf/CPU_CYCLES/,10,100.00,,\nS0-D0-C1,2,3000,,cpum_cf/CPU_CYCLES/,10,100.00,,\n"
        "S0-D0-C0,2,500,,INSTRUCTIONS,10,100.00,,\nS0-D0-C1,2,<not counted>,,INSTRUCTIONS,0,100.00,,\n"
        "S0-D0-C0,2,7,,r20,10,100.00,,\nS0-D0-C1,2,8,,r20,10,100.00,,\n"
    )
    with opened(tmp_path, {"cores.csv": text}) as session:
        assert session.sql("SELECT cpu_id, c0, c1, c32, processors, seconds FROM linux_cpumf").rows == [
            (None, 4000, None, 15, None, None)
        ]
        assert session.sql("SELECT part FROM linux_counter LIMIT 2").rows == [("S0-D0-C0",), ("S0-D0-C1",)]


def test_consecutive_perf_runs(tmp_path: Path) -> None:
    run = "1000,,cycles,1,100.00,,\n500,,instructions,1,100.00,,\n"
    with opened(tmp_path, {"runs.csv": run * 3}) as session:
        assert [row[0] for row in metrics(session, "cpi")] == [2.0] * 3
        assert len({row[0] for row in metrics(session, "interval_end")}) == 3


# lshwc


def test_summary_of_intervals_is_read_once(tmp_path: Path) -> None:
    """perf stat -I --summary repeats all intervals; another run after them does not."""
    end = """
 Performance counter stats for 'system wide':

             7,000      cpum_cf/CPU_CYCLES/

       {seconds} seconds time elapsed
"""
    with opened(tmp_path, {"counts.txt": PERF_EACH + end.format(seconds="2.000412345")}) as session:
        assert len(counted(session)) == 8
        assert [p.detail for p in session.problems if p.kind == "duplicate"] == [
            "a summary of the preceding intervals; not read"
        ]
    with opened(tmp_path, {"counts.txt": PERF_EACH + end.format(seconds="30.000412345")}) as session:
        assert len(counted(session)) == 9


def test_counters_since_run_start(tmp_path: Path) -> None:
    with opened(tmp_path, {"hw.csv": LSHWC}, Options(tz=parse_zone("UTC"))) as session:
        rows = session.sql(
            "SELECT cpu, value, total, seconds FROM linux_counter WHERE number = 33 ORDER BY tod, cpu"
        ).rows
        assert rows[:3] == [(0, None, 0, None), (1, None, 0, None), (None, None, 0, None)]
        assert rows[3:6] == [(0, 14198, 14198, 60.0), (1, 1306, 1306, 60.0), (None, 15504, 15504, 60.0)]
        assert rows[6] == (0, 1489122591 - 14198, 1489122591, 60.0)
        # Values of each CPU are not repeated for all CPUs.
        assert session.sql("SELECT cpu_id, c33 FROM linux_cpumf").rows == [
            (0, 14198), (1, 1306), (0, 1489108393), (1, 1489277006),
        ]  # fmt: skip
        assert [p.kind for p in session.problems] == []


def test_restarted_perf_run(tmp_path: Path) -> None:
    lines = LSHWC.splitlines(keepends=True)
    later = "".join(lines[:4]).replace("11:54", "12:54") + "".join(lines[4:7]).replace("11:55", "12:55")
    with opened(tmp_path, {"hw.csv": LSHWC + later}) as session:
        values = session.sql(
            "SELECT value FROM linux_counter WHERE number = 33 AND cpu = 0 ORDER BY tod"
        ).rows
        assert [value for (value,) in values] == [None, 14198, 1489108393, None, 14198]
        assert session.sql("SELECT count(*) FROM event").rows == [(0,)]
    # A counter that decreases within a run was reset.
    with opened(tmp_path, {"hw.csv": LSHWC.replace("3207071426", "818")}) as session:
        (row,) = session.sql("SELECT kind, subject, detail FROM event").rows
        assert row[1] == "CPU 0"
        assert "stepped back" in row[2]


def test_names_in_short_and_hexadecimal(tmp_path: Path) -> None:
    text = "Date,Time,CPU,B0,B1,E145,U250\n2025-01-01,00:00:00,Total,1f00,ab12,10,0\n"
    text += "2025-01-01,00:01:00,Delta,20000,1c0de,0x11,1\n2025-01-01,00:02:00,Delta,10,10,11,0\n"
    with opened(tmp_path, {"hw.csv": text}) as session:
        assert [row[:3] for row in counted(session)][4:8] == [
            (None, 0, 0x20000), (None, 1, 0x1C0DE), (None, 145, 17), (None, 250, 1)
        ]  # fmt: skip
        assert metrics(session, "cpi") == [(pytest.approx(0x20000 / 0x1C0DE),), (1.0,)]
    # One letter in decimal values is damage.
    with opened(tmp_path, {"hw.csv": LSHWC.replace("1489122591", "14891a2591")}) as session:
        assert "'14891a2591' is not a counter value" in session.problems[-1].detail
        assert session.sql("SELECT c33 FROM linux_cpumf WHERE cpu_id = 1").rows[-1] == (1489277006,)


def test_lshwc_in_json(tmp_path: Path) -> None:
    with opened(tmp_path, {"hw.json": json.dumps(lshwc_json(), indent=2)}) as session:
        columns = "system, cpu_id, seconds, generation, generation_by, counter_first, counter_second, cpi"
        assert metrics(session, columns) == [("lnx1", 0, 10.0, "z17", "counter version", 3, 8, 2.0)]
        (info,) = session.systems
        assert (info.utc_offset_s, info.local_time) == (3600, False)
        assert session.problems == []
        (source_info,) = session._core.sources[0].info()
        assert source_info["authorized"] == "basic, problem, crypto, extended, mt_diag"


# Machines


def test_versions_and_speed_from_neighboring_files(tmp_path: Path) -> None:
    files = {"run/hw.csv": LSHWC.replace("(32)", "(0)").replace("(33)", "(1)"), "run/service_levels": SERVICE}
    files["run/hw.csv"] = (
        files["run/hw.csv"].replace("PROBLEM_STATE_CPU", "CPU").replace("PROBLEM_STATE_", "")
    )
    with opened(tmp_path, files) as session:
        row = metrics(session, "generation, generation_by, ghz, lpar_cpu_pct")[0]
        assert row[:3] == ("z16", "counter version", 5.2)
        assert row[3] == pytest.approx(100 * 818775 / 5.2e9 / 60)
        assert [info.system for info in session.systems] == ["unknown-hw"]
    (tmp_path / "run/service_levels").write_text(LSCPUMF)
    with zlens.open(tmp_path) as session:
        assert metrics(session, "generation, ghz")[0] == ("z16", None)


def test_counter_list_determines_machine(tmp_path: Path) -> None:
    """lscpumf -c prints the PMU type number or r before counter numbers."""
    for prefix in ("10:", "r"):
        entries = [
            f"{prefix}{counter.number}\t{counter.name}\n\n                {counter.text}\n"
            f"                Counter {counter.number} / Extended Counter Set.\n\n"
            for counter in cpumf.generation("z15").counters.values()
            if counter.set == "extended"
        ]
        listed = "perf event counter list for IBM z15\n" + "=" * 78 + "\n\nRaw\nevent\tName\tDescription\n"
        files = {"list": listed + "".join(entries), "run.csv": "1000,,r0,1,100.00,,\n500,,r1,1,100.00,,\n"}
        with opened(tmp_path, files) as session:
            assert metrics(session, "generation, generation_by, cpi") == [("z15", "names of counters", 2.0)]
            assert session._core.sources[0].info()[0]["counters"] == len(entries)


def test_machine_type_from_neighboring_sysinfo(tmp_path: Path) -> None:
    facts = {
        "Manufacturer": "IBM", "Type": "3906", "Sequence Code": "00000000000AB1C8", "CPUs Total": "10",
        "CPUs Configured": "10", "CPUs Standby": "0", "LPAR Number": "7", "LPAR Name": "LNXPROD",
    }  # fmt: skip
    sysinfo = "".join(f"{name + ':':<22}{value}\n" for name, value in facts.items())
    names = "1000,,cycles,1,100.00,,\n500,,instructions,1,100.00,,\n9,,TX_NC_TABORT,1,100.00,,\n"
    with opened(tmp_path, {"counts.csv": names, "tree/proc/sysinfo": sysinfo}) as session:
        (row,) = metrics(session, "system, generation, generation_by, cpi")
        assert row == ("LNXPROD", "z14", "machine type", 2.0)
        # The name has another number on other machines.
        assert session.sql("SELECT number FROM linux_counter WHERE counter = 'TX_NC_TABORT'").rows == [(243,)]
    with opened(tmp_path / "alone", {"counts.csv": names}) as session:
        assert session.sql("SELECT number FROM linux_counter WHERE counter = 'TX_NC_TABORT'").rows == [
            (None,)
        ]
        assert "TX_NC_TABORT" in next(p.detail for p in session.problems if p.kind == "no_layout")


def test_counter_names_of_several_machines(tmp_path: Path) -> None:
    text = "1000,,cycles,1,100.00,,\n500,,instructions,1,100.00,,\n"
    text += "5,,L1D_ONDRAWER_L4_SOURCED_WRITES_X,1,100.00,,\n"
    text += "5,,L1D_OFFDRAWER_SCOL_L4_SOURCED_WRITES,1,100.00,,\n5,,IDCW_OFF_DRAWER_IV,1,100.00,,\n"
    with opened(tmp_path, {"mixed.csv": text}) as session:
        assert metrics(session, "cpi, l4rp, generation") == [(2.0, None, None)]
        assert any("no machine has all these counters" in p.detail for p in session.problems)


@pytest.mark.parametrize("number", [1, 64, 144, 265])
@pytest.mark.parametrize("zeros", ["", "0"])
def test_numbers_of_perf_events_may_have_leading_zeros(number: int, zeros: str) -> None:
    expected = linux_events.parse_perf_event(f"r{number:x}")
    for text in (f"event={zeros}{number}", f"event=0x{zeros}{number:x}", f"config={zeros}{number},name=X"):
        assert linux_events.parse_perf_event(f"cpum_cf/{text}/") == expected
        assert expected.number == number


def named(generation: str) -> list[str]:
    return [counter.name for counter in cpumf.generation(generation).counters.values()]


def test_z14_and_z15_have_same_counter_names() -> None:
    events = map(linux_events.parse_perf_event, named("z14"))
    assert linux_events.possible_generations(events).generation_names == "z14 or z15"


@pytest.mark.parametrize("name", generations.names())
def test_counter_names_determine_machine(name: str) -> None:
    events = [linux_events.parse_perf_event(each.name) for each in cpumf.generation(name).counters.values()]
    machine = linux_events.possible_generations(events)
    alike = [other for other in generations.names() if set(named(name)) <= set(named(other))]
    assert machine.generation_names == " or ".join(alike)
    numbers = [machine.number(event) for event in events]
    assert numbers == list(cpumf.generation(name).counters)


def test_linux_formats_are_distinguished() -> None:
    forms = {
        PERF_TEXT: "perf-text", PERF_EACH: "perf-text", PERF_CSV: "perf-csv", perf_json(): "perf-json",
        LSHWC: "lshwc-csv", json.dumps(lshwc_json()): "lshwc-json", LSCPUMF: "facility", SERVICE: "facility",
        "lshwc: No support for CPU Measurement Counter set facility\n": "facility",
        "Date,Time,CPU,KM_DEA(1),KM_TDEA_128(2)\n2025-01-01,00:00:00,Total,1,2\n": "lspai-csv",
        "Date,Time,CPU,C0,C1\n2025-01-01,00:00:00,Total,1,2\n": "lspai-csv",
        "Date,Time,CPU,C64,C65\n2025-01-01,00:00:00,Total,1,2\n": "lshwc-csv",
    }  # fmt: skip
    assert {text: form_of(text.encode()) for text in forms} == forms
    others = (
        "time,transactions\n2025-01-01 00:00:00,5\n",
        "Date,Time,CPU,KM_DEA(2),KM_TDEA_128(1)\n2025-01-01,00:00:00,Total,1,2\n",
        '{"a": 1}\n',
        "<xml/>",
        "",
    )
    assert [form_of(text.encode()) for text in others] == [None] * len(others)


def test_linux_intervals_are_combined_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        f"{second}.000000000,CPU{cpu},{1000 * second},,cycles,1,100.00,,\n"
        f"{second}.000000000,CPU{cpu},500,,instructions,1,100.00,,\n"
        for second in range(1, 7)
        for cpu in range(2)
    ]
    text = "# started on Wed Mar 26 10:00:00 2025\n\n" + "".join(lines)
    with opened(tmp_path, {"run.csv": text}, Options(tz=parse_zone("UTC"), every_s=3)) as session:
        rows = metrics(session, "cpu_id, seconds, cycles, instructions, cpi")
        assert rows == [
            (0, 3.0, 6000, 1500, 4.0), (1, 3.0, 6000, 1500, 4.0),
            (0, 3.0, 15000, 1500, 10.0), (1, 3.0, 15000, 1500, 10.0),
        ]  # fmt: skip
    assert main(["report", "cpumf", str(tmp_path), "--tz", "UTC", "--format", "csv"]) == 0
    printed = capsys.readouterr().out
    assert "unknown-run" in printed
    # The last second: 6,000 cycles for 500 instructions.
    assert any(",12" in line for line in printed.splitlines())
