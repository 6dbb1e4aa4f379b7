"""Tests of the measures of coupling facilities from SMF 74-4: processors, requests, delays, locks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import coupling_builder
import zlens
from coupling_builder import CACHE, LOCK, PROCESSORS
from readers import smf113_builder
from zlens.api import Session


def opened(
    folder: Path,
    requests: Sequence[Mapping[str, Any]],
    processors: Sequence[Mapping[str, Any]] = PROCESSORS,
    **facility: Any,
) -> Session:
    folder.mkdir(exist_ok=True)
    record = coupling_builder.record(requests, processors, **facility)
    return zlens.open([smf113_builder.dump(folder / "a", record)])


def deviation(count: float, total: float, squares: float) -> float:
    """Return the standard deviation of times from their sum and the sum of their squares."""
    mean = total / count
    return math.sqrt((squares - count * mean**2) / (count - 1))


def test_processors_of_coupling_facility(tmp_path: Path) -> None:
    """CFUTIL: busy of busy and wait time; the effective processors are less than the two defined."""
    with opened(tmp_path, [LOCK, CACHE]) as session:
        (row,) = session.sql(
            "SELECT facility, level, processors, shared_processors, dedicated_processors, busy_pct, "
            "effective_processors, paths, subchannels, storage, storage_available, storage_used_pct "
            "FROM coupling_facility"
        ).rows
    assert row[:5] == ("CF01", 25, 2, 1, 2)
    assert row[5:7] == pytest.approx((100 * 450 / 1350, 1350 / 900))
    assert row[7:] == (4, 14, 4_096_000_000.0, 1_024_000_000.0, 75.0)


def test_requests_of_coupling_facility(tmp_path: Path) -> None:
    """SYNCRT, ASYNCRT, CHNGDP, DREQP, PBSY; APAR II05151 has the estimate of the subchannels."""
    with opened(tmp_path, [LOCK, CACHE]) as session:
        (row,) = session.sql(
            "SELECT request_rate, sync_rate, async_rate, changed_pct, delayed_pct, subchannel_busy_pct, "
            "path_busy_rate, subchannels_busy_rate FROM coupling_facility"
        ).rows
    total = 900_000 + 450 + 100_000
    assert row == pytest.approx(
        (
            total / 900, 900_450 / 900, 100_000 / 900, 100 * 50_000 / total, 100 * 20_000 / total,
            100 * (9.0 + 0.009 + 12.0) / (900 * 14), 90 / 900, 180 / 900,
        )
    )  # fmt: skip


def test_requests_of_structures(tmp_path: Path) -> None:
    with opened(tmp_path, [LOCK, CACHE]) as session:
        cache, lock = session.sql(
            "SELECT structure, structure_type, version, size, user_request_rate, request_rate, sync_pct, "
            "async_pct, changed_pct, sync_service_s, async_service_s, sync_service_sd_s, async_service_sd_s, "
            "contention_rate, false_contention_rate, contention_pct, false_contention_pct "
            "FROM coupling_structure ORDER BY structure"
        ).rows
    assert lock[:4] == ("DSNDB0A_LOCK1", "LOCK", "00d1d2d3d4d5d6d7", 134_217_728.0)
    assert lock[4:] == pytest.approx(
        (
            1_200_000 / 900, 1_000_000 / 900, 90.0, 10.0, 5.0, 10e-6, 120e-6,
            deviation(900_000, 9.0, 117e-6), deviation(100_000, 12.0, 1600e-6),
            6_000 / 900, 2_400 / 900, 0.5, 0.2,
        )
    )  # fmt: skip
    assert cache[:4] == ("DSNDB0A_GBP0", "CACHE", "0011223344556677", 4_194_304.0)
    # No asynchronous executions have no service time, and a cache has no locks.
    sd = deviation(450, 0.009, 190_000e-12)
    expected = (
        0.5,
        0.5,
        100.0,
        0.0,
        0.0,
        pytest.approx(20e-6),
        None,
        pytest.approx(sd),
        None,
        None,
        None,
        None,
        None,
    )
    assert cache[4:] == expected


def test_structure_without_requests(tmp_path: Path) -> None:
    with opened(tmp_path, [{"SNAM": "IDLE", "STYP": 1}]) as session:
        (row,) = session.sql(
            "SELECT structure_type, request_rate, sync_pct, changed_pct, sync_service_s, sync_service_sd_s "
            "FROM coupling_structure"
        ).rows
        assert row == ("LIST", 0.0, None, None, None, None)
        (row,) = session.sql(
            "SELECT changed_pct, delayed_pct, subchannel_busy_pct FROM coupling_facility"
        ).rows
        assert row == (None, None, 0.0)
        (row,) = session.sql(
            "SELECT delayed_rate, delayed_pct, delay_s, delay_per_request_s, delay_sd_s FROM coupling_delay "
            "WHERE reason = 'NO SCH'"
        ).rows
        assert row == (0.0, None, None, None, None)


def test_one_request_has_no_deviation(tmp_path: Path) -> None:
    one = {"SNAM": "ONE", "STYP": 4, "SSRC": 1, "SSTM": 10, "SSSQ": 100, "STRC": 1}
    with opened(tmp_path, [one]) as session:
        (row,) = session.sql("SELECT sync_service_s, sync_service_sd_s FROM coupling_structure").rows
        assert row == (pytest.approx(10e-6), None)


def test_delays_by_reason(tmp_path: Path) -> None:
    waits = {
        "SPTC": 10, "SPST": 5_000, "SPSS": 3_000_000, "SCTC": 4, "SCST": 800, "SCSS": 200_000,
        "SDRC": 2, "SDTM": 6_000, "SDSQ": 20_000_000, "SDTO": 99, "SMRC": 5, "SMTM": 50, "SMSQ": 600,
    }  # fmt: skip
    with opened(tmp_path / "1", [LOCK | waits | {"SXFL": ["SXMO"]}]) as session:
        rows = session.sql(
            "SELECT reason, delayed_rate, delayed_pct, delay_s, delay_sd_s, delay_per_request_s "
            "FROM coupling_delay"
        ).rows
    found = {reason: row for reason, *row in rows}
    expected = {
        "NO SCH": (20_000, 3_000_000, 500_000_000),
        "PR WT": (10, 5_000, 3_000_000),
        "PR CMP": (4, 800, 200_000),
        "DUMP": (2, 6_000, 20_000_000),
        "MONOP": (5, 50, 600),
    }
    assert found.keys() == expected.keys()
    for reason, (count, us, squares) in expected.items():
        assert found[reason] == pytest.approx(
            [
                count / 900, 100 * count / 1_000_000, us / 1e6 / count,
                deviation(count, us, squares) / 1e6, us / 1e6 / 1_000_000,
            ]
        ), reason  # fmt: skip
    # Without bit 3 of SXFL its fields are not valid.
    with opened(tmp_path / "2", [LOCK | waits]) as session:
        assert ("MONOP",) not in session.sql("SELECT reason FROM coupling_delay").rows


def test_asynchronous_duplexing_of_structure(tmp_path: Path) -> None:
    primary = {"SFLG": ["SDAS", "SPRI"], "SXFL": ["SXAP"], "SXSC": 300, "SXST": 60_000}
    secondary = {
        "SNAM": "X",
        "SVER": "0000000000000001",
        "SFLG": ["SDAS", "SSEC"],
        "SXSC": 300,
        "SXST": 60_000,
    }
    with opened(tmp_path, [LOCK | primary, LOCK | secondary, CACHE | {"SFLG": ["SPRI"]}]) as session:
        rows = session.sql(
            "SELECT structure, duplexing, suspended_rate, suspended_s FROM coupling_structure "
            "ORDER BY structure"
        ).rows
    assert rows == [
        ("DSNDB0A_GBP0", None, None, None),
        ("DSNDB0A_LOCK1", "primary", 300 / 900, pytest.approx(200e-6)),
        ("X", "secondary", None, None),
    ]


def test_instances_of_rebuild_are_distinguished(tmp_path: Path) -> None:
    with opened(tmp_path, [LOCK, LOCK | {"SVER": "0000000000000009"}]) as session:
        assert session.sql("SELECT count(*), count(DISTINCT version) FROM coupling_structure").rows == [
            (2, 2)
        ]


def test_gatherer_without_hardware_statistics(tmp_path: Path) -> None:
    with opened(tmp_path, [LOCK], FFLG=["FCEI", "FNOHW"]) as session:
        (row,) = session.sql("SELECT busy_pct, processors, request_rate FROM coupling_facility").rows
        assert row == (None, None, pytest.approx(1_000_000 / 900))


def test_failed_gatherer_has_no_rows(tmp_path: Path) -> None:
    with opened(tmp_path, [LOCK], FFLG=["FPEC"]) as session:
        for measure in ("coupling_facility", "coupling_structure", "coupling_delay"):
            assert session.sql(f"SELECT count(*) FROM {measure}").rows == [(0,)]


def test_facility_of_old_level(tmp_path: Path) -> None:
    """The numbers of shared and dedicated processors are valid from level 15 on."""
    with opened(tmp_path, [LOCK], FLVL=14) as session:
        query = "SELECT level, shared_processors, dedicated_processors FROM coupling_facility"
        assert session.sql(query).rows == [(14, None, None)]


def test_entries_and_data_of_structures(tmp_path: Path) -> None:
    """CREADRT, CWRITERT, CCOUTRT, CXIRT, DIRRCLM and the usage summary; two storage classes are added."""
    with zlens.open([smf113_builder.dump(tmp_path / "a", coupling_builder.complete())]) as session:
        cache, lock, serialized = session.sql(
            "SELECT entries, entries_used, elements, elements_used, lock_entries, "
            "lock_entries_used, changed_entries, execution_s, read_rate, write_rate, castout_rate, "
            "invalidation_rate, reclaim_rate, reclaim_invalidation_rate "
            "FROM coupling_structure ORDER BY structure"
        ).rows
    assert cache[:7] == (8_000, 3_500, 4_000, 1_250, None, None, 75)
    assert cache[7:] == pytest.approx((0.9, 110, 5, 2, 630 / 900, 0.51, 0.05))
    assert serialized == (5_000, 1_000, 6_000, 1_500, 256, 16, None, 4.5, *[None] * 6)
    assert lock[:7] == (0, 0, 0, 0, 0, 0, None)
    assert lock[8:] == (None,) * 6


def test_storage_class_memory_of_structures(tmp_path: Path) -> None:
    """SCMIUP and AUGMIUP: in use of the most; only the list has a section."""
    with zlens.open([smf113_builder.dump(tmp_path / "a", coupling_builder.complete())]) as session:
        found = session.sql(
            "SELECT structure, memory_most, memory_used, memory_used_pct, augmented_used_pct, "
            "memory_entries, memory_elements, memory_read_rate, memory_prefetch_rate, memory_write_rate, "
            "memory_read_s, memory_write_s, memory_read_bytes_rate, memory_write_bytes_rate "
            "FROM coupling_structure WHERE memory_most IS NOT NULL"
        ).rows
    ((structure, *values),) = found
    assert structure == "IXCLIST"
    assert values == pytest.approx(
        [8_192e6, 2_048e6, 25, 10, 700, 900, 0.4, 0.3, 0.5, 100e-6, 200e-6, 8_192, 4_096]
    )


def test_signals_between_coupling_facilities(tmp_path: Path) -> None:
    """9000 signals of 20 microseconds on average; 1000 were delayed by 30, a tenth of all."""
    with zlens.open([smf113_builder.dump(tmp_path / "a", coupling_builder.complete())]) as session:
        (row,) = session.sql(
            "SELECT facility, peer, receiver_paths, sender_paths, subchannels, signal_rate, delayed_pct, "
            "signal_service_s, signal_service_sd_s, delay_s, delay_sd_s, delay_per_signal_s, redriven_rate, "
            "message_rate, message_service_s, message_path_busy_rate, message_no_subchannel_rate "
            "FROM coupling_link"
        ).rows
    assert row[:5] == ("CF01", "CF02", 2, 1, 7)
    assert row[5:] == pytest.approx(
        (
            10, 10, 20e-6, deviation(9_000, 180e-3, 3.78e-6), 30e-6, deviation(1_000, 30e-3, 1.1e-6), 3e-6,
            0.01, 2, 25e-6, 0.02, 0.03,
        )
    )  # fmt: skip


def test_paths_to_coupling_facilities(tmp_path: Path) -> None:
    """Values without their bit of validity, and a round trip of 0, are unknown; 123 us are 12.3 km."""
    with zlens.open([smf113_builder.dump(tmp_path / "a", coupling_builder.complete())]) as session:
        found = session.sql(
            "SELECT peer, direction, chpid, path_type, mode, degraded, round(distance_km, 3), pchid, "
            "adapter, port FROM coupling_path ORDER BY peer, direction, chpid"
        ).rows
    assert found == [
        ("", "", "E0", "CS5", "8X GEN3 PCIE-O SR", True, 12.3, "0140", "001A", "01"),
        ("", "", "E1", "ICP", None, None, None, None, None, None),
        ("CF02", "receiver", "E0", "CL5", None, None, None, None, None, None),
        ("CF02", "sender", "E0", "CL5", None, None, 40.0, None, None, None),
    ]
