"""Tests of the demo dump's I/O records against each other and against the service classes of its hour."""

from __future__ import annotations

import pytest

from zlens.api import Session

QUARTERS = 4


@pytest.fixture(scope="module")
def session(dump_session: Session) -> Session:
    return dump_session


def by_quarter(session: Session, columns: str, table: str) -> list[tuple[object, ...]]:
    answer = session.sql(f"SELECT {columns} FROM {table} GROUP BY interval_end ORDER BY interval_end")
    assert len(answer.rows) == QUARTERS
    return answer.rows


def test_disks_do_what_service_classes_waited_for(session: Session) -> None:
    """Each quarter, up to the rounding of units of 128 microseconds and of operations."""
    disks = by_quarter(
        session,
        "sum(rate * seconds), sum(conn_s * rate * seconds), sum(disc_s * rate * seconds), "
        "sum(pend_s * rate * seconds)",
        "device",
    )
    classes = by_quarter(
        session,
        "sum(r723circ), 0.000128 * sum(r723cict), 0.000128 * sum(r723cidt), 0.000128 * sum(r723ciwt)",
        'smf72_scs JOIN smf72_wms USING (file, "offset", interval_end) WHERE NOT r723mscf_mrcl',
    )
    for disk, service in zip(disks, classes, strict=True):
        assert disk == pytest.approx(service, rel=1e-6, abs=1e-3)


def test_each_request_takes_one_path_and_processor(session: Session) -> None:
    rows = [
        by_quarter(session, f"sum({rate} * seconds)", table)
        for rate, table in (
            ("rate", "device"),
            ("taken_rate", "lcu_path"),
            ("taken_rate", "lcu"),
            ("start_rate", "io_processor"),
            ("interrupt_rate", "io_processor"),
            ("io_rate", "alias_pool"),
            ("io_rate", "cache"),
        )
    ]
    for requests, *others in zip(*rows, strict=True):
        assert others == [pytest.approx(requests)] * len(others)


def test_units_divide_pending_time_of_disks(session: Session) -> None:
    """Command response, device busy, control unit busy and waits in the channel subsystem are all of it."""
    units = session.sql(
        "SELECT lcu, interval_end, (initial_response_s + cu_busy_s + subsystem_s) * taken_rate * seconds, "
        "transfers FROM lcu ORDER BY ALL"
    ).rows
    disks = session.sql(
        "SELECT lcu, interval_end, sum((pend_s - device_busy_s) * rate * seconds), sum(conn_s * rate) "
        "FROM device GROUP BY ALL ORDER BY ALL"
    ).rows
    assert len(units) == 2 * QUARTERS
    for unit, disk in zip(units, disks, strict=True):
        assert unit[:2] == disk[:2]
        assert unit[2:] == pytest.approx(disk[2:])


def test_caches_know_the_volumes_of_the_disks(session: Session) -> None:
    cached = session.sql("SELECT DISTINCT device, volume FROM cache ORDER BY ALL").rows
    assert cached == session.sql("SELECT DISTINCT device, volume FROM device ORDER BY ALL").rows
    assert len(cached) == 6
