"""Tests of measures from z/OS texts: system, counters of CPU MF, cores."""

from __future__ import annotations

from pathlib import Path

import zlens
import zos_samples
from readers import smf113_builder
from readers.test_zos_text import SAMPLES, files, opened
from samples import needs


def test_counters_of_run_in_metrics(tmp_path: Path) -> None:
    with opened(tmp_path, {"a.CNT": zos_samples.cnt(), "cpu.txt": zos_samples.DISPLAY_CPUS}) as session:
        # Cycles by instructions, cycles by time and speed: 30 s and 15 s of 60 s.
        assert session.sql(
            "SELECT system, source, seconds, cpu_id, cpu_type, cpi, problem_state_pct, lpar_cpu_pct, ghz "
            "FROM cpumf ORDER BY cpu_id"
        ).rows == [
            ("LPOLD", "zos-text", 60.0, 0, "CP", 3.0, 50.0, 50.0, 4.404),
            ("LPOLD", "zos-text", 60.0, 1, "ZIIP", 5.0, 50.0, 25.0, 4.404),
        ]
        ((l1mp, generation),) = session.sql(
            "SELECT round(l1mp, 8), (SELECT count(*) FROM cpumf WHERE l15p IS NOT NULL) "
            "FROM cpumf WHERE cpu_id = 0"
        ).rows
        assert l1mp == round(100 * (1000 + 3000) / zos_samples.COUNTS[0][1], 8)
        # Level 1.5 exists only on a z10: the machine type is from the text.
        assert generation == 2
        assert session.sql("SELECT cpu_type, lpar_cpu_pct FROM core_type WHERE seconds IS NOT NULL").rows == [
            ("CP", 50.0),
            ("ZIIP", 25.0),
        ]


def test_thread_has_core_and_type_of_display(tmp_path: Path) -> None:
    cnt = zos_samples.cnt().replace("FOR CPU 01", "FOR CPU 29").replace("FOR CPU 00", "FOR CPU 02")
    cores = zos_samples.DISPLAY_CORES.replace("008561", "002097").replace(
        "8561.776.IBM.02.0000000000000078", "2097.710.IBM.02.1234567812345678"
    )
    with opened(tmp_path, {"a.CNT": cnt, "core.txt": cores}) as session:
        assert session.sql("SELECT system, cpu_id, core_id, cpu_type FROM cpumf ORDER BY cpu_id").rows == [
            ("MADE1", 2, 1, "CP"),
            ("MADE1", 41, 20, "ZIIP"),
        ]


def test_state_change_is_event(tmp_path: Path) -> None:
    question = "SELECT strftime(time, '%H:%M:%S'), kind, subject, detail, inferred FROM event"
    with opened(tmp_path, {"a.CNT": zos_samples.cnt(change="YES,SAVE")}) as session:
        assert session.sql(question).rows == [
            (
                "21:15:06", "state change", "HIS",
                "speed or configuration of the processors changed in the run of "
                "SYSHIS20100301.161406.000.CNT: YES,SAVE",
                False,
            )
        ]  # fmt: skip
    with opened(
        tmp_path / "none", {"a.CNT": zos_samples.cnt(), "his.txt": zos_samples.DISPLAY_HIS}
    ) as session:
        assert session.sql(question).rows == []


def test_multithreading_of_core_from_its_counters(tmp_path: Path) -> None:
    with opened(
        tmp_path, {"a.CNT": zos_samples.cnt_of_threads(), "core.txt": zos_samples.DISPLAY_CORES}
    ) as session:
        # 28 and 29 may be decimal: z/OS names CPUs in hexadecimal, and the display agrees.
        assert [problem.kind for problem in session.problems] == ["header"]
        # Busy 30 s with one thread and 15 s with two, of 60 s.
        assert session.sql(
            "SELECT core_id, cpu_type, core_busy_pct, round(thread_density, 4), one_thread_s, two_thread_s "
            "FROM core WHERE seconds IS NOT NULL"
        ).rows == [(20, "ZIIP", 75.0, round(4 / 3, 4), 30.0, 15.0)]


def test_cores_of_display(tmp_path: Path) -> None:
    with opened(tmp_path, {"core.txt": zos_samples.DISPLAY_CORES}) as session:
        assert session.sql(
            "SELECT system, seconds, core_id, cpu_type, state, polarity, parked, threads, parked_pct, "
            "core_busy_pct FROM core ORDER BY core_id"
        ).rows == [
            ("MADE1", None, 0, "CP", "online", "Vh", False, 1, None, None),
            ("MADE1", None, 1, "CP", "online", "Vl", True, 1, None, None),
            ("MADE1", None, 20, "ZIIP", "online", "Vm", False, 2, None, None),
            ("MADE1", None, 23, "ZIIP", "offline", None, None, 0, None, None),
        ]
        assert session.sql(
            "SELECT cpu_type, cores, threads, core_busy_pct FROM core_type ORDER BY 1"
        ).rows == [
            ("CP", 2.0, 1, None),
            ("ZIIP", 1.0, 2, None),
        ]
        assert session.sql(
            "SELECT machine, model, serial, lpar, lpar_number, mt_cp, mt_ziip, first_time = last_time "
            "FROM system"
        ).rows == [("8561-78", "776", "0000000000000078", "MADE1", 27, 1, 2, True)]


@needs(SAMPLES)
def test_cores_of_two_real_systems() -> None:
    with zlens.open([str(path) for path in SAMPLES.glob("display-m-core*.txt")]) as session:
        assert session.sql("SELECT system, cpu_type, cores, threads FROM core_type ORDER BY ALL").rows == [
            ("CB8A", "CP", 20.0, 1),
            ("CB8A", "ZIIP", 3.0, 2),
            ("S5E", "CP", 6.0, 1),
            ("S5E", "ZIIP", 4.0, 1),
        ]
        assert session.sql("SELECT system, sum(parked::INT) FROM core GROUP BY 1 ORDER BY 1").rows == [
            ("CB8A", 17),
            ("S5E", 4),
        ]


def test_display_with_records_of_system(tmp_path: Path) -> None:
    """SMF records name the system of a text of the same machine, and have the zone, which no log has."""
    smf113_builder.dump(
        tmp_path / "day.smf", [smf113_builder.record(1, cpu, 300, zone_s=-18_000) for cpu in (0, 1)]
    )
    log = "M 4040000 SYSA     2026060 14:41:05.12 STC00042 00000090  "
    cores = zos_samples.DISPLAY_CORES.replace(
        "8561.776.IBM.02.0000000000000078", "2817.M15.IBM.02.000000000002A3B4"
    )
    with opened(tmp_path, {"his.txt": log + zos_samples.DISPLAY_HIS, "cores.txt": cores}) as session:
        assert session.sql("SELECT system, source, utc_offset_s, local_time FROM system ORDER BY 2").rows == [
            ("SYSA", "smf", -18_000, False),
            ("SYSA", "zos-text", -18_000, False),
        ]
        # 11:32:39 of 2026-03-01, five hours behind UTC.
        assert session.sql("SELECT system, strftime(tod, '%d %H:%M:%S') FROM his_run").rows == [
            ("SYSA", "01 16:32:39")
        ]
        assert session.sql("SELECT system, lpar FROM zos_status").rows == [("SYSA", "MADE1")]
        assert {one["of_the_system_by"] for one in session._core.sources[1].info()} == {"the machine"}
    # Texts of two partitions, or of another machine, are separate systems.
    two: dict[str, str | bytes] = {"cores.txt": cores, "more.txt": cores.replace("MADE1", "MADE2")}
    for name, texts, expected in (
        ("two", two, ["MADE1", "MADE2", "SYSA"]),
        ("other", {"cores.txt": zos_samples.DISPLAY_CORES}, ["MADE1", "SYSA"]),
    ):
        smf113_builder.dump(files(tmp_path / name, texts) / "day.smf", [smf113_builder.record(1, 0, 300)])
        with zlens.open(tmp_path / name) as session:
            assert sorted(info.system for info in session.systems) == expected
    # A text without a machine belongs to the only system.
    only = files(tmp_path / "only", {"his.txt": zos_samples.DISPLAY_HIS})
    smf113_builder.dump(only / "day.smf", [smf113_builder.record(1, 0, 300)])
    with zlens.open(only) as session:
        assert session.sql("SELECT system, smfintval FROM his_run").rows == [("SYSA", "SYNC")]
        assert session._core.sources[1].info()[0]["of_the_system_by"] == "being the only one"
