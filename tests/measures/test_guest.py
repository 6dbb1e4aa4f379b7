"""Tests of guests: three kinds of CPU time, waits, and the share of the total time that they explain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import guest_builder as guests
import monwrite_builder as monwrite
import record_encoder
import zlens
from zlens.catalog import layouts, measures
from zlens.inputs.options import Options, parse_time_spec

MINUTES = range(5)


def rows(path: Path, query: str, **options: Any) -> list[tuple[Any, ...]]:
    with zlens.open(path, options=Options(**options)) as session:
        return session.sql(query).rows


def steady(path: Path, **more: Any) -> Path:
    """Write LNX1 with two virtual CPUs of 30 and 12 seconds a minute, on a processor that charges all 42."""
    return guests.write(
        path,
        (
            [
                guests.processor(guests.end_of(n), 42 * n, 33.6 * n),
                guests.activity(guests.end_of(n), "LNX1", 1000 + 30 * n, VMDVDSCT=600 * n, **more),
                guests.activity(guests.end_of(n), "LNX1", 500 + 12 * n, vcpu=1, VMDVDSCT=60 * n, **more),
            ]
            for n in MINUTES
        ),
    )


def test_guest_has_three_kinds_of_time(tmp_path: Path) -> None:
    path = steady(tmp_path / "data")
    found = rows(
        path, "SELECT DISTINCT userid, vcpus, cpu_s, mt1_s, prorated_s, virtual_s, cpu_pct, tv FROM guest"
    )
    assert found == [("LNX1", 2.0, *map(pytest.approx, (42, 29.4, 25.2, 33.6, 70, 1.25)))]
    by_cpu = rows(path, "SELECT DISTINCT vcpu, cpu_type, list, basis, cpu_s FROM guest_cpu ORDER BY vcpu")
    assert by_cpu == [
        (0, "IFL", "dispatch", "sample", pytest.approx(30)),
        (1, "IFL", "dispatch", "sample", pytest.approx(12)),
    ]


def test_guest_rates_are_sums_of_virtual_cpus(tmp_path: Path) -> None:
    path = steady(tmp_path / "data", VMDVCSCT=7)
    found = rows(path, "SELECT DISTINCT dasd_io_rate, console_io_rate, virtual_io_rate FROM guest")
    assert found == [tuple(map(pytest.approx, (11, 0, 11)))]


def test_guest_time_is_compared_with_processor_time(tmp_path: Path) -> None:
    path = steady(tmp_path / "data")
    found = rows(path, "SELECT DISTINCT capture_pct, active, virtual_io_rate, tv FROM load")
    assert found == [tuple(map(pytest.approx, (100, 1, 11, 1.25)))]


def leaving(path: Path, used_s: float = 120, **more: Any) -> Path:
    """Write CMS1, which logs off half a minute after its third sample; `used_s` is since logon."""
    when = guests.end_of(2) + 30 * monwrite.S_US
    return guests.write(
        path,
        (
            [
                guests.processor(guests.end_of(n), 36 * min(n, 3)),
                *([guests.activity(guests.end_of(n), "CMS1", 10 + 36 * n)] if n < 3 else []),
            ]
            for n in MINUTES
        ),
        {3: [guests.logoff(when, "CMS1", used_s, **more)]},
    )


def test_use_after_last_sample_counts_at_logoff(tmp_path: Path) -> None:
    path = leaving(tmp_path / "data")
    found = rows(path, "SELECT basis, seconds, flag, cpu_s, mt1_s FROM guest_cpu ORDER BY interval_end")
    assert found[:2] == [("sample", pytest.approx(60), None, pytest.approx(36), pytest.approx(25.2))] * 2
    # 120 in total, of which the last sample had 82; this logoff has no prorated time.
    assert found[2:] == [
        ("logoff", pytest.approx(30, abs=0.01), None, pytest.approx(38), pytest.approx(26.6))
    ]
    assert rows(path, "SELECT capture_pct FROM load ORDER BY interval_end")[2] == (
        pytest.approx(100 * 38 / 36),
    )


def test_logoff_after_first_sample_has_difference(tmp_path: Path) -> None:
    """In a recording that starts with the sample, or in a window, its own interval has no length."""
    path = leaving(tmp_path / "data")
    query = "SELECT basis, seconds, cpu_s FROM guest_cpu ORDER BY interval_end"
    expected = [("logoff", pytest.approx(30, abs=0.01), pytest.approx(38))]
    with zlens.open(path) as session:
        ends = session.sql("SELECT interval_end FROM interval ORDER BY 1").rows
    start = parse_time_spec(f"{ends[1][0]:%Y-%m-%d %H:%M:%S}Z")
    assert rows(path, query, start=start) == expected


def test_every_keeps_use_up_to_logoff(tmp_path: Path) -> None:
    path = leaving(tmp_path / "data", 118)
    found = rows(path, "SELECT basis, cpu_s FROM guest_cpu ORDER BY basis DESC", every_s=3600)
    assert found == [("sample", pytest.approx(72)), ("logoff", pytest.approx(36))]
    assert rows(path, "SELECT capture_pct FROM load", every_s=3600) == [(pytest.approx(100),)]


def test_logoff_of_other_logon_is_separate(tmp_path: Path) -> None:
    path = leaving(tmp_path / "data", 5.0, logon_us=guests.end_of(2) + 10 * monwrite.S_US)
    found = rows(path, "SELECT seconds, cpu_s FROM guest_cpu WHERE basis = 'logoff'")
    assert found == [(pytest.approx(20), pytest.approx(5))]


def test_logoff_below_last_sample_is_null(tmp_path: Path) -> None:
    path = leaving(tmp_path / "data", 50)
    assert rows(path, "SELECT cpu_s FROM guest_cpu WHERE basis = 'logoff'") == [(None,)]
    assert rows(path, "SELECT cpu_s FROM guest WHERE basis = 'logoff'") == [(None,)]


def test_first_sample_counts_since_logon(tmp_path: Path) -> None:
    logon = guests.end_of(2) + 45 * monwrite.S_US
    path = guests.write(
        tmp_path / "data",
        (
            [
                guests.processor(guests.end_of(n), 9.0 * n),
                *(
                    [guests.activity(guests.end_of(n), "NEW1", 9.0 + 6 * (n - 3), logon_us=logon)]
                    if n >= 3
                    else []
                ),
            ]
            for n in MINUTES
        ),
    )
    found = rows(path, "SELECT seconds, cpu_s, cpu_pct FROM guest_cpu ORDER BY interval_end")
    assert found == [
        (pytest.approx(15, abs=0.01), pytest.approx(9), pytest.approx(60, abs=0.1)),
        (pytest.approx(60), pytest.approx(6), pytest.approx(10)),
    ]


def test_new_logon_is_evidence_of_reset(tmp_path: Path) -> None:
    later = guests.end_of(1) + 20 * monwrite.S_US
    path = guests.write(
        tmp_path / "data",
        (
            [
                guests.activity(
                    guests.end_of(n),
                    "CMS1",
                    100 + n if n < 2 else 3 * n,
                    logon_us=guests.LOGON_US if n < 2 else later,
                )
            ]
            for n in MINUTES
        ),
    )
    found = rows(path, "SELECT cpu_s FROM guest ORDER BY interval_end")
    # 6 since the second logon; no record here has the final time of the first one.
    assert [one for (one,) in found] == list(map(pytest.approx, (1, 6, 3, 3)))
    assert rows(path, "SELECT subject, detail FROM event WHERE kind = 'counters were reset'") == [
        ("guest CMS1, virtual CPU 0", "useact_caltodon changed")
    ]


def test_guest_sum_with_null_part_is_null(tmp_path: Path) -> None:
    path = guests.write(
        tmp_path / "data",
        (
            [
                guests.processor(guests.end_of(n), 60.0 * n),
                guests.activity(guests.end_of(n), "LNX1", 30.0 * n),
                # The first sample, although logged on long before.
                *([guests.activity(guests.end_of(n), "LNX1", 900.0 + 30 * n, vcpu=1)] if n > 1 else []),
            ]
            for n in MINUTES
        ),
    )
    assert rows(path, "SELECT cpu_s FROM guest ORDER BY interval_end") == [
        (pytest.approx(30),),
        (None,),
        (pytest.approx(60),),
        (pytest.approx(60),),
    ]
    found = [one for (one,) in rows(path, "SELECT capture_pct FROM load ORDER BY interval_end")]
    assert found == [pytest.approx(50), None, pytest.approx(100), pytest.approx(100)]


STATES = (
    "IOWT", "CFWT", "SIMWT", "WTPAG", "LLIST", "CPUWT", "CPURN", "ESVM", "LOAD", "DORM", "DSVM", "IOACT",
    "TIDL", "TSVM", "PGACT", "OTHR",
)  # fmt: skip


def test_wait_states_add_up_to_100(tmp_path: Path) -> None:
    path = guests.write(
        tmp_path / "data",
        (
            [
                guests.activity(guests.end_of(n), "LNX1", n),
                guests.states(guests.end_of(n), "LNX1", {s: n * k for k, s in enumerate(STATES, 1)}),
            ]
            for n in MINUTES
        ),
    )
    shares = [
        column.name
        for column in measures.load_measure("guest").columns
        if "share of the samples" in column.text and column.name != "eligible_pct"
    ]
    assert len(shares) == len(STATES)
    for measure in ("guest", "guest_cpu"):
        found = rows(path, f"SELECT samples, {', '.join(shares)} FROM {measure}")[0]
        assert found[0] == 136
        assert sum(found[1:]) == pytest.approx(100)
        assert found[1:] == tuple(pytest.approx(100 * k / 136) for k in range(1, 17))
    counted = rows(path, "SELECT samples, io_wait_samples, other_samples FROM guest_wait")[0]
    assert counted == (136, 1, 16)


def test_guest_state_samples_have_equal_weight(tmp_path: Path) -> None:
    path = guests.write(
        tmp_path / "data",
        (
            [
                guests.activity(guests.end_of(n), "LNX1", n),
                guests.activity(guests.end_of(n), "LNX1", n, vcpu=1),
                guests.states(guests.end_of(n), "LNX1", {"CPURN": 30 * n}),
                guests.states(guests.end_of(n), "LNX1", {"DORM": 10 * n}, vcpu=1),
            ]
            for n in MINUTES
        ),
    )
    assert set(rows(path, "SELECT samples, running_pct, dormant_pct FROM guest")) == {(40, 75.0, 25.0)}


def test_dispatch_wait_in_synthetic_pack(tmp_path: Path) -> None:
    path = guests.write(
        tmp_path / "data",
        (
            [
                guests.activity(
                    guests.end_of(n), "LNX1", n, ZLDSPWT=guests.seconds(0.003 * n), ZLDSPCT=1000 * n
                )
            ]
            for n in MINUTES
        ),
    )
    found = rows(path, "SELECT DISTINCT dispatch_wait_s, dispatch_wait_mean_s FROM guest")
    assert found == [(pytest.approx(0.003), pytest.approx(3e-6))]


REAL = {"MTRSYS_SYSTMID": "REAL53", "MTRSYS_HCPCPEID": "5.3.0"}


def known_of_it(end_us: int, userid: str) -> bytes:
    """Return D4R3 with its public fields: the user ID and the list."""
    layout = layouts.layouts("D4R3")[0]
    values = {"USEACT_VMDUSER": userid, "USEACT_VMDSLIST": 11}
    return record_encoder.encode(layout, values, tod=guests.tod(end_us - 200))


def partial(path: Path) -> Path:
    """Write a real system without a page of D4R3: CMS1 ends two transactions and logs off."""
    second = monwrite.S_US
    return guests.write(
        path,
        (
            [
                *monwrite.processors(guests.end_of(n), {0: {"SYTPRP_PFXUTIME": 10**12 + n}}),
                known_of_it(guests.end_of(n), "MAINT"),
                *([known_of_it(guests.end_of(n), "CMS1")] if n < 3 else []),
            ]
            for n in MINUTES
        ),
        {
            1: [guests.real_end("D4R9", guests.end_of(0) + 20 * second, "CMS1", 10.0, VMDCTPVR=300)],
            2: [
                guests.real_end(
                    "D4R9", guests.end_of(1) + 20 * second, "CMS1", 16.0, VMDCTPVR=500, VMDVDSCT=120
                )
            ],
            3: [guests.real_end("D4R2", guests.end_of(2) + 40 * second, "CMS1", 20.0)],
        },
        REAL,
    )


def test_logoffs_without_d4r3_page(tmp_path: Path) -> None:
    path = partial(tmp_path / "data")
    found = rows(
        path,
        "SELECT basis, seconds, flag, cpu_s, virtual_s, mt1_s, resident_pages "
        "FROM guest_cpu WHERE basis <> 'sample' ORDER BY interval_end",
    )
    assert found == [
        # The first covers all since logon, an hour before the recording: its share there is unknown.
        ("transaction", None, None, None, None, None, 300),
        ("transaction", pytest.approx(60), None, pytest.approx(6), pytest.approx(4.8), None, 500),
        ("session", pytest.approx(80), None, pytest.approx(4), pytest.approx(3.2), None, 0),
    ]
    assert set(rows(path, "SELECT capture_pct, active, virtual_io_rate FROM load")) == {(None, None, None)}
    by_guest = rows(
        path, "SELECT userid, basis, cpu_s, dasd_io_rate FROM guest ORDER BY interval_end, userid"
    )
    # An end record covers one virtual CPU, not their number.
    assert rows(path, "SELECT vcpus FROM guest WHERE basis = 'session'") == [(None,)]
    assert by_guest[:4] == [
        ("CMS1", "transaction", None, None),
        ("MAINT", "sample", None, None),
        ("CMS1", "transaction", pytest.approx(6), pytest.approx(2)),
        ("MAINT", "sample", None, None),
    ]
    assert by_guest[4] == ("CMS1", "session", pytest.approx(4), None)
    assert set(rows(path, "SELECT userid, list FROM guest_cpu WHERE basis = 'sample'")) == {
        ("CMS1", "dormant"),
        ("MAINT", "dormant"),
    }


def ending(path: Path, logon_us: int, ends: Sequence[tuple[str, int, float]]) -> Path:
    """Write CMS1 without a page of D4R3; `ends`: record, seconds after the first interval, CPU time."""
    events: dict[int, list[monwrite.Group]] = {}
    for record, second, used_s in ends:
        when = guests.end_of(0) + second * monwrite.S_US
        logoff_record = guests.real_end(
            record, when, "CMS1", used_s, logon_us=logon_us, VMDVDSCT=int(30 * used_s)
        )
        events.setdefault(1 + second // 60, []).append(logoff_record)
    return guests.write(
        path,
        ([*monwrite.processors(guests.end_of(n), {0: {"SYTPRP_PFXUTIME": 10**12 + n}})] for n in MINUTES),
        events,
        REAL,
    )


ENDS = (("D4R9", 40, 148_000.0), ("D4R9", 50, 148_004.0), ("D4R2", 100, 148_010.0))


@pytest.mark.parametrize("every_s", [None, 3600])
def test_use_before_recording_is_excluded(tmp_path: Path, every_s: int | None) -> None:
    path = ending(tmp_path / "data", guests.LOGON_US, ENDS)
    # 148,000 s were used in the nine days, or the hour, before the recording.
    assert rows(path, "SELECT sum(cpu_s), sum(seconds) FROM guest_cpu", every_s=every_s) == [
        (pytest.approx(10), pytest.approx(60, abs=0.01))
    ]
    assert rows(path, "SELECT max(dasd_io_rate) FROM guest_cpu", every_s=every_s) == [
        (pytest.approx(12, abs=0.01),)
    ]


def test_use_since_logon_in_recording_is_included(tmp_path: Path) -> None:
    logon = guests.end_of(0) + 20 * monwrite.S_US
    path = ending(
        tmp_path / "data", logon, [(record, second, used - 147_992) for record, second, used in ENDS]
    )
    found = rows(path, "SELECT basis, seconds, cpu_s FROM guest_cpu ORDER BY interval_end, cpu_s DESC")
    assert found == [
        ("transaction", pytest.approx(20), pytest.approx(8)),
        ("transaction", pytest.approx(10), pytest.approx(4)),
        ("session", pytest.approx(50), pytest.approx(6)),
    ]


def test_guest_use_follows_selected_times(tmp_path: Path) -> None:
    path = partial(tmp_path / "data")
    query = "SELECT cpu_s FROM guest WHERE userid = 'CMS1'"
    found = rows(path, query, start=parse_time_spec("2026-03-02 09:02:30"), utc=True)
    # Use before the window is known as well.
    assert found == [(pytest.approx(4),)]


def test_transactions_count_in_interval_of_end(tmp_path: Path) -> None:
    path = partial(tmp_path / "data")
    query = "SELECT transaction_rate FROM guest WHERE userid = 'CMS1' ORDER BY interval_end"
    assert rows(path, query) == [(pytest.approx(1 / 60),), (pytest.approx(1 / 60),), (None,)]


def test_guest_counts_from_logon_with_every(tmp_path: Path) -> None:
    """The first sample of a guest that logged on in the interval is its use, in rows and in buckets."""
    logon = guests.end_of(1) + 20 * monwrite.S_US
    path = guests.write(
        tmp_path / "data",
        (
            [
                guests.processor(guests.end_of(n), 42 * n, 33.6 * n),
                guests.activity(guests.end_of(n), "OLD", 1000 + 30 * n),
                *(
                    [
                        guests.activity(
                            guests.end_of(n), "NEW", 16 + 10 * (n - 2), logon_us=logon, VMDVDSCT=400 * (n - 1)
                        )
                    ]
                    if n >= 2
                    else []
                ),
            ]
            for n in MINUTES
        ),
    )
    query = "SELECT sum(cpu_s), sum(seconds), sum(dasd_io_rate * seconds) FROM guest WHERE userid = 'NEW'"
    for every in (None, 60, 300):
        near = (pytest.approx(36), pytest.approx(160, abs=0.001), pytest.approx(1200))
        assert rows(path, query, every_s=every) == [near], every


def test_cp_time_by_io(tmp_path: Path) -> None:
    """42 s charged to users, 33.6 of them their own: 8.4 s of CP time for 600 start subchannels a minute."""
    path = guests.write(
        tmp_path / "data",
        (
            [
                guests.processor(guests.end_of(n), 42 * n, 33.6 * n),
                monwrite.record(
                    "D0R1", guests.end_of(n) - 90, {"SYTSYP_PFXCPUAD": 0, "SYTSYP_PLSCTSS": 600 * n}
                ),
            ]
            for n in MINUTES
        ),
    )
    found = rows(path, "SELECT DISTINCT ssch_rate, cp_io_s FROM load WHERE ssch_rate IS NOT NULL")
    assert found == [(pytest.approx(10), pytest.approx(0.014))]
    # A ratio of sums over a longer time.
    assert rows(path, "SELECT cp_io_s FROM load", every_s=3600) == [(pytest.approx(0.014),)]
