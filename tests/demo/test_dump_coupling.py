"""Tests of the demo dump's channel paths and coupling facility against the classes of the same hour."""

from __future__ import annotations

import pytest

from zlens.api import Session

CLASSES = (
    "SELECT c.interval_end, sum(r723circ), sum(r723crcp) FROM smf72_scs AS c "
    'JOIN smf72_wms AS w USING (file, "offset") WHERE NOT r723mscf_mrcl GROUP BY ALL ORDER BY ALL'
)


def test_channel_paths_carry_disk_requests(dump_session: Session) -> None:
    """Each request is a work unit and an operation; other partitions use the path, too."""
    classes = dump_session.sql(CLASSES).rows
    paths = dump_session.sql(
        "SELECT interval_end, sum(smf73puc), sum(smf73tuc), sum(smf73pru + smf73pwu) "
        "FROM smf73_channel WHERE smf73cmg = 2 GROUP BY ALL ORDER BY ALL"
    ).rows
    operations = dump_session.sql(
        "SELECT interval_end, sum((ficon_rate + zhpf_rate) * measured_s) FROM channel "
        "WHERE measurement_group = 2 GROUP BY ALL ORDER BY ALL"
    ).rows
    assert len(classes) == len(paths) == len(operations) == 4
    for (end, requests, _), (path_end, own, total, units), (_, started) in zip(
        classes, paths, operations, strict=True
    ):
        assert (path_end, own, units) == (end, requests, 3 * requests)
        assert own < total
        assert started == pytest.approx(total)


def test_bytes_of_channel_paths(dump_session: Session) -> None:
    """A request has three units of 4096 bytes; the time base is that of the channel path."""
    rows = dump_session.sql(
        "SELECT interval_end, sum((partition_read_rate + partition_write_rate) * measured_s) FROM channel "
        "WHERE measurement_group = 2 GROUP BY ALL ORDER BY ALL"
    ).rows
    for (_, requests, _), (_, transferred) in zip(dump_session.sql(CLASSES).rows, rows, strict=True):
        assert transferred == pytest.approx(requests * 3 * 4096)


def test_structures_are_used_by_transactions(dump_session: Session) -> None:
    """A transaction uses nine locks and five pages; each request takes four microseconds."""
    rows = dump_session.sql(
        "SELECT s.interval_end, any_value(f.busy_pct * f.processor_s / 100), "
        "any_value(f.request_rate) * 900, sum(s.request_rate) * 900, "
        "max(s.request_rate * 900) FILTER (structure = 'DSNZL_LOCK1'), "
        "max(s.request_rate * 900) FILTER (structure = 'DSNZL_GBP0'), sum(s.execution_s), "
        "sum((s.read_rate + s.write_rate) * 900) "
        "FROM coupling_structure AS s JOIN coupling_facility AS f USING (system, interval_end, facility) "
        "GROUP BY ALL ORDER BY ALL"
    ).rows
    for (_, _, transactions), (_, busy_s, requests, total, locks, pages, *rest) in zip(
        dump_session.sql(CLASSES).rows, rows, strict=True
    ):
        assert (locks, pages) == pytest.approx((9 * transactions, 5 * transactions))
        assert requests == pytest.approx(total)
        assert busy_s == pytest.approx(requests * 4e-6)
        # The processors do nothing else, and each request for a page reads or writes it.
        assert rest == pytest.approx([busy_s, pages])
