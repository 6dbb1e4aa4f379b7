"""Tests that storage, paging and networks with synthetic layouts agree."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from zlens.api import Session
from zlens.inputs.options import Options

#: Pages of a block, and paging volumes.
BLOCK, PAGING = 8, 8


def test_pages_of_volumes_are_those_of_processors(session: Session) -> None:
    rows = session.sql(
        "SELECT any_value(s.page_read_rate), any_value(s.page_write_rate), any_value(s.spool_write_rate), "
        "sum(p.read_rate) FILTER (WHERE area = 'PAGE'), sum(p.write_rate) FILTER (WHERE area = 'PAGE'), "
        "sum(p.write_rate) FILTER (WHERE area = 'SPOOL'), any_value(p.block_size) "
        "FROM storage AS s JOIN paging AS p USING (system, source, interval_end) "
        "WHERE s.zone = 'all' AND s.page_read_rate IS NOT NULL GROUP BY interval_end"
    ).rows
    assert len(rows) == 60
    for read, written, spooled, reads, writes, spools, block in rows:
        # Processors count a block at its request, volumes at its completion.
        under_way = BLOCK * 8 / 60
        assert reads == pytest.approx(read, abs=under_way)
        assert writes == pytest.approx(written, abs=under_way)
        assert spools == pytest.approx(spooled)
        assert block == pytest.approx(BLOCK, rel=0.1)


def test_paging_volume_rates_equal_device_rates(session: Session) -> None:
    rows = session.sql(
        "SELECT p.io_rate, d.rate, p.mload_s, d.serv_s FROM paging AS p "
        "JOIN device AS d USING (system, source, interval_end, device) "
        "WHERE p.area = 'PAGE' AND d.rate IS NOT NULL"
    ).rows
    assert len(rows) == 60 * PAGING
    for operations, rate, mload, service in rows:
        assert operations == pytest.approx(rate)
        # CP's estimate is smoothed over the last operations and stays in their range on a quiet volume.
        assert rate < 5 or 0.5 < mload / service < 2


def test_sent_traffic_is_received(session: Session) -> None:
    """Traffic that NICs sent beyond the uplink equals what other NICs received beyond it."""
    rows = session.sql(
        "SELECT sum(out_bytes_rate) FILTER (WHERE kind = 'nic') "
        "- sum(out_bytes_rate) FILTER (WHERE kind = 'uplink'), "
        "sum(in_bytes_rate) FILTER (WHERE kind = 'nic') - sum(in_bytes_rate) FILTER (WHERE kind = 'uplink') "
        "FROM network GROUP BY interval_end HAVING count(in_bytes_rate) > 0"
    ).rows
    assert len(rows) == 60
    assert all(sent == pytest.approx(got) and sent > 0 for sent, got in rows)


def test_free_storage_stays_within_frames(session: Session) -> None:
    rows = session.sql(
        "SELECT available, available_low, available_high, frames FROM storage WHERE zone = 'all'"
    ).rows
    assert all(low <= there < frames and high > low for there, low, high, frames in rows)


def test_storage_reports_have_data(session: Session) -> None:
    for name in ("auxlog", "availlog", "vswitch", "gvswitch"):
        assert "Dotted" not in session.report(name), name
    assert "PAGE01" in session.report("cpowned")


def test_paging_volumes_as_group(sim_file: Path, tmp_path: Path, session: Session) -> None:
    (tmp_path / "g.toml").write_text('[volume]\n"PAGE??" = "PAGING"\n', encoding="utf-8")
    with zlens.open([sim_file], options=Options(group=str(tmp_path / "g.toml"))) as opened:
        (found,) = opened.sql("SELECT sum(rate), any_value(volume) FROM device WHERE device = 'PAGING'").rows
    (wanted,) = session.sql("SELECT sum(rate) FROM device WHERE volume LIKE 'PAGE%'").rows
    assert found == (pytest.approx(wanted[0]), None)
