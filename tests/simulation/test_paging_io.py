"""Tests of paging I/O: blocks, High Performance FICON, aliases, the cache of the storage server.

IBM, z/VM 6.4 Performance Update (2016-2018), has charts of larger payloads, HPF and HyperPAV: each helps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zlens

BLOCKS = (1, 8, 32, 128)


def scenario(**cp: Any) -> dict[str, Any]:
    """Return guests that reference 20 pages in a transaction of 2 ms, with frames for a third of all."""
    users = [
        {
            "name": f"G{n}",
            "type": "IFL",
            "relative": 100,
            "demand": 0,
            "storage": 512,
            "working_set": 512,
            "references": {"rate": 10_000},
        }
        for n in range(1, 9)
    ]
    return {
        "model": "system",
        "processors": {"IFL": 4},
        "partition": [
            {"name": "ZVM1", "type": "IFL", "cores": 4, "dedicated": True, "zvm": "7.4", "storage": 1400}
        ],
        "cp": cp,
        "user": users,
        "transaction": [
            {
                "name": "WORK",
                "customers": 16,
                "step": [{"cpu": 2, "user": [user["name"] for user in users]}, {"delay": 1}],
            }
        ],
        "control_unit": [{"name": "CU1"}],
        "volume": [
            {
                "name": f"PAGE0{n}",
                "control_unit": "CU1",
                "paging": True,
                "connect": 0.14,
                "connect_page": 0.017,
                "read_hit": 100,
            }
            for n in range(1, 5)
        ],
        "simulation": {"seconds": 20, "interval": 20, "warmup": 20, "checked": True},
    }


def ended(values: dict[str, Any], path: Path) -> int:
    """Return the transactions that ended."""
    [found] = zlens.simulate(values, str(path))
    ended: int = found.summary["systems"]["ZVM1"]["transactions"]["WORK"]["completed"]
    return ended


def by_block(run_length: float, path: Path) -> list[int]:
    found = []
    for pages in BLOCKS:
        values = scenario(block_pages=pages)
        for user in values["user"]:
            user["references"]["run"] = run_length
        found.append(ended(values, path))
    return found


def test_larger_blocks_help_with_locality(tmp_path: Path) -> None:
    """References to 64 pages next to each other: most of a block of 128 comes in vain."""
    one, eight, many, most = by_block(64, tmp_path / "blocks.monwrite")
    assert 2 * one < eight < many
    assert most < many


def test_larger_blocks_hurt_without_locality(tmp_path: Path) -> None:
    one, eight, many, most = by_block(1, tmp_path / "blocks.monwrite")
    assert one > eight > many > most
    assert one > 4 * most


def test_hpf_and_aliases_shorten_paging(tmp_path: Path) -> None:
    path = tmp_path / "paging.monwrite"
    command = ended(scenario(), path)
    transport, aliases = scenario(), scenario()
    for volume in transport["volume"]:
        volume["transport"] = 60
    aliases["control_unit"][0]["aliases"] = 16
    assert ended(transport, path) > 1.1 * command
    assert ended(aliases, path) > 1.1 * command


def test_mload_is_time_of_page(tmp_path: Path) -> None:
    """An operation takes 0.24 ms, and 0.017 ms for each of its 32 pages; CP's estimate is by page."""
    values = scenario(block_pages=32)
    for volume in values["volume"]:
        volume |= {"pending": 0.1, "variation": 0}
    path = tmp_path / "mload.monwrite"
    zlens.simulate(values, str(path))
    with zlens.open([str(path)]) as session:
        [(connect, mload)] = session.sql(
            "SELECT 1000 * avg(conn_s), 1000 * avg(mload_s)"
            " FROM device JOIN paging USING (interval_end, device)"
        ).rows
    # Channel times are recorded in units of 128 microseconds.
    assert connect == pytest.approx(0.14 + 32 * 0.017, rel=0.01)
    assert mload == pytest.approx((0.1 + 0.14 + 32 * 0.017) / 32, rel=0.05)


def test_cache_hits_fall_as_slots_fill(tmp_path: Path) -> None:
    """Pages on volumes are four times those that the cache has; each is as likely to be read."""
    values = scenario()
    values["control_unit"][0] |= {"cache": 700}
    path = tmp_path / "cache.monwrite"
    zlens.simulate(values, str(path))
    query = """
    SELECT avg(read_hit_pct), 100 * 700 * 256 / max(slots) FROM device
    JOIN (SELECT interval_end, sum(slots_used) AS slots FROM paging GROUP BY ALL) USING (interval_end)
    """
    with zlens.open([str(path)]) as session:
        [(hits, expected)] = session.sql(query).rows
    assert hits == pytest.approx(expected, rel=0.03)
    assert 10 < hits < 40
    values["volume"][0]["read_hit"] = 5
    zlens.simulate(values, str(path))
    with zlens.open([str(path)]) as session:
        [(lowest,)] = session.sql("SELECT min(read_hit_pct) FROM device").rows
    assert lowest == pytest.approx(5, abs=1)


def test_misses_wait_for_ranks(tmp_path: Path) -> None:
    def disconnect(**unit: int) -> float:
        values = scenario()
        values["control_unit"][0] |= unit
        for volume in values["volume"]:
            volume |= {"read_hit": 0, "miss": 1}
        path = tmp_path / "ranks.monwrite"
        zlens.simulate(values, str(path))
        with zlens.open([str(path)]) as session:
            [(found,)] = session.sql("SELECT 1000 * avg(disc_s) FROM device").rows
        return float(found)

    # Of four volumes with one operation at a time, never more than four miss at once.
    assert disconnect(ranks=4) == pytest.approx(disconnect(), rel=0.02)
    assert disconnect(ranks=1) > 2 * disconnect(ranks=4)
