"""Tests of storage, paging and networks from records with known counters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import monwrite_builder as monwrite
import zlens
from storage_builder import alike
from zlens.inputs.options import Options

VOLUME = {
    "RDEVDEV": 0x2000, "CALVSER": "PAG000", "CALPAGE": 500, "EXPCTPRD": 6_000, "EXPCTPWR": 600,
    "SCGSSCH": 1_200, "EXPCURQC": 3, "EXPMLOAD": 12,
}  # fmt: skip
AREA = {"RDEVDEV": 0x2000, "CPVOLSER": "PAG000", "CALTYPE": "page", "CALSTART": 1}


def rows(session: zlens.Session, query: str) -> list[dict[str, Any]]:
    answer = session.sql(query)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def last(path: Path, table: str, options: Options | None = None) -> list[dict[str, Any]]:
    """Return the rows of the last interval without NULLs and the columns that every row has."""
    with zlens.open(path, options=options) as session:
        found = rows(
            session,
            f"SELECT * EXCLUDE (system, source, interval_end) FROM {table} "
            f"WHERE interval_end = (SELECT max(interval_end) FROM {table}) ORDER BY ALL",
        )
        assert session.problems == []
    return [{key: value for key, value in row.items() if value is not None} for row in found]


def test_volume_with_area_of_known_size(tmp_path: Path) -> None:
    minute = [
        ("D3R4", VOLUME | {"ZLMLOAD": 1_500}),
        ("D0R1", {"PFXCPUAD": 0, "PLSPIOPR": 4_000}),
        ("D0R1", {"PFXCPUAD": 1, "PLSPIOPR": 2_000}),
        ("D3R8", {"PGDBR": [0] * 9 + [300] + [0] * 9 + [200]}),
    ]
    areas = [AREA | {"ZLSLOTS": 600}, AREA | {"CALSTART": 700, "ZLSLOTS": 400}]
    assert last(alike(tmp_path / "a", minute, areas), "paging") == [
        {
            "seconds": 60.0, "volume": "PAG000", "area": "PAGE", "device": "2000", "slots": 1_000,
            "slots_used": 500, "slots_used_pct": 50.0, "read_rate": 100.0, "write_rate": 10.0,
            "io_rate": 20.0, "queue": 3.0, "blocks_read": 500.0,
            "mload_raw": 12.0, "mload_s": pytest.approx(0.0015), "block_size": pytest.approx(6_000 / 500),
        }
    ]  # fmt: skip


def test_paging_volume_of_5_3_records(tmp_path: Path) -> None:
    path = alike(tmp_path / "a", [("D3R4", VOLUME)], [AREA], make=monwrite.record, config=monwrite.CONFIG)
    assert last(path, "paging") == [
        {
            "seconds": 60.0, "volume": "PAG000", "area": "PAGE", "device": "2000", "slots_used": 500,
            "read_rate": 100.0, "write_rate": 10.0, "io_rate": 20.0, "queue": 3.0, "mload_raw": 12.0,
        }
    ]  # fmt: skip


def test_paging_areas_are_inferred_from_use(tmp_path: Path) -> None:
    spooled = {
        "RDEVDEV": 0x2001,
        "CALVSER": "MIX001",
        "CALPAGE": 7,
        "CALSPOOL": 9,
        "EXPCTSRD": 60,
        "SCGSSCH": 60,
    }
    idle = {"RDEVDEV": 0x2002, "CALVSER": "NEW001", "SCGSSCH": 0}
    found = last(alike(tmp_path / "a", [("D3R4", spooled), ("D3R4", idle)]), "paging")
    assert [(r["volume"], r.get("area"), r.get("slots_used"), r["read_rate"]) for r in found] == [
        ("MIX001", "PAGE", 7, 0.0),
        ("MIX001", "SPOOL", 9, 1.0),
        ("NEW001", None, None, 0.0),
    ]


def test_volume_in_two_records_counts_once(tmp_path: Path) -> None:
    shared = {"CPVOLSER": "PAG000", "EXPCTPRD": 6_000, "SCGSSCH": 1_200}
    minute = [("D3R4", VOLUME)]
    minute += [("D3R11", shared | {"RDEVDEV": 0x2000}), ("D3R11", shared | {"RDEVDEV": 0x2001})]
    found = last(alike(tmp_path / "a", minute, [AREA]), "paging")
    assert [(row["device"], row["read_rate"], row.get("slots_used")) for row in found] == [
        ("2000", 100.0, 500),
        ("2001", 100.0, None),
    ]


STORAGE = {"RSAPGABL": 1_000_000, "RSAAVAIL": 2_000, "RSA2GAVL": 30_000, "RSANONPG": 4_000}
LISTS = {"RSAAVLLT": 1_500, "RSAAVLHT": 2_500, "RSAAVLLG": 20_000, "RSAAVLHG": 40_000, "RSAEMPTY": 30}


def test_storage_in_total_and_by_zone(tmp_path: Path) -> None:
    minute = [
        ("D0R3", STORAGE | {"ZLCPFREE": 500}),
        ("D3R1", LISTS | {"ZLRSVD": 700}),
        ("D0R1", {"PFXCPUAD": 0, "PLSPIOPR": 600, "PLSPIOPW": 60, "PLSPIOSR": 6}),
        ("D0R1", {"PFXCPUAD": 1, "PLSPIOPR": 600, "PLSPIOPW": 60}),
    ]
    above, whole, below = last(alike(tmp_path / "a", minute), "storage")
    whole, below, above = (
        {row["zone"]: row for row in (above, whole, below)}[z] for z in ("all", "below 2 GB", "above 2 GB")
    )
    assert (whole["frames"], whole["available"], whole["nonpageable"]) == (1_000_000, 32_000, 4_000)
    assert (whole["available_low"], whole["available_high"]) == (21_500, 42_500)
    assert (whole["available_empty_rate"], whole["reserved"], whole["free_storage"]) == (0.5, 700, 500)
    assert [whole[f"{k}_rate"] for k in ("page_read", "page_write", "spool_read", "spool_write")] == [
        20.0, 2.0, pytest.approx(0.1), 0.0,
    ]  # fmt: skip
    assert (below["available"], below["available_low"], below["available_high"]) == (2_000, 1_500, 2_500)
    assert (above["available"], above["available_low"], above["available_high"]) == (30_000, 20_000, 40_000)


def test_storage_of_5_3_records(tmp_path: Path) -> None:
    minute = [("D0R3", STORAGE), ("D3R1", LISTS)]
    found = last(alike(tmp_path / "a", minute, make=monwrite.record, config=monwrite.CONFIG), "storage")
    whole = next(row for row in found if row["zone"] == "all")
    assert (whole["frames"], whole["available"], whole["available_low"]) == (1_000_000, 32_000, 21_500)
    # The 5.3 layout does not declare this counter, so it has no difference.
    assert "available_empty_rate" not in whole
    assert "reserved" not in whole


def test_storage_of_single_record_type(tmp_path: Path) -> None:
    (alone,) = last(alike(tmp_path / "a", [("D0R1", {"PFXCPUAD": 0, "PLSPIOPR": 60})]), "storage")
    assert (alone["zone"], alone["page_read_rate"]) == ("all", 1.0)
    assert "available" not in alone


PORTS = [
    ("D6R21", {"RDEVDEV": 0x600, "LANID": "SYSTEM  VSW1", "VMDUSER": "DTCVSW1", "NICRXBYT": 6_000_000,
               "NICTXBYT": 3_000_000, "NICRXPKT": 6_000, "NICTXDSC": 60, "VQSIQOVR": 6, "VQSOQOVR": 6}),
    ("D8R1", {"OWNER": "LNX1", "VDEVDEV": 0x700, "LANID": "SYSTEM  VSW1", "SESTXBYT": 600, "SESRXERR": 6}),
    ("D6R35", {"ZLDEV": 0x601, "ZLLAN": "SYSTEM  VSW1", "ZLTXPKT": 600}),
    ("D6R26", {"RDEVDEV": 0x602, "BYTOA": 600, "BFFRA": 6}),
    ("D8R4", {"ZLNAME": "SYSTEM  GLOBAL1", "ZLRXBYT": 60}),
]  # fmt: skip


def test_ports_of_every_kind(tmp_path: Path) -> None:
    found = {row["kind"]: row for row in last(alike(tmp_path / "a", PORTS), "network")}
    assert {kind: row["port"] for kind, row in found.items()} == {
        "bridge": "SYSTEM  VSW1 0601",
        "global": "SYSTEM  GLOBAL1",
        "nic": "LNX1 0700",
        "qdio": "0602",
        "uplink": "SYSTEM  VSW1 0600",
    }
    uplink = found["uplink"]
    assert (uplink["in_bytes_rate"], uplink["out_bytes_rate"]) == (100_000.0, 50_000.0)
    assert (uplink["in_packets_rate"], uplink["out_discards_rate"]) == (100.0, 1.0)
    assert (uplink["queue_full_rate"], uplink["controller"]) == (pytest.approx(0.2), "DTCVSW1")
    assert (found["nic"]["owner"], found["nic"]["out_bytes_rate"]) == ("LNX1", 10.0)
    assert found["nic"]["in_errors_rate"] == pytest.approx(0.1)
    assert found["bridge"]["out_packets_rate"] == 10.0
    assert (found["qdio"]["out_bytes_rate"], found["qdio"]["in_buffers_rate"]) == (10.0, pytest.approx(0.1))
    assert "in_packets_rate" not in found["qdio"]
    assert found["global"]["in_bytes_rate"] == 1.0


def test_ports_of_5_3_are_named_and_not_counted(tmp_path: Path) -> None:
    path = alike(tmp_path / "a", PORTS[:2], make=monwrite.record, config=monwrite.CONFIG)
    nic, uplink = last(path, "network")
    assert (nic["port"], nic["network"], uplink["network"]) == ("LNX1 0700", "SYSTEM  VSW1", "SYSTEM  VSW1")
    assert not [key for key in (*nic, *uplink) if key.endswith("_rate")]


def volumes(count: int) -> list[tuple[str, dict[str, Any]]]:
    return [
        (
            "D3R4",
            VOLUME
            | {"RDEVDEV": 0x2000 + n, "CALVSER": f"PAG{n:03}", "EXPCTPRD": 60 * n, "ZLMLOAD": 1_000 * n},
        )
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize("every", [None, 120])
def test_groups_of_paging_volumes(tmp_path: Path, every: int | None) -> None:
    (tmp_path / "g.toml").write_text('[volume]\n"PAG00[1-3]" = "no"\n"PAG00?" = "PAGING"\n', encoding="utf-8")
    areas = [
        AREA | {"RDEVDEV": 0x2000 + n, "CPVOLSER": f"PAG{n:03}", "ZLSLOTS": 1_000 * n} for n in range(1, 12)
    ]
    path = alike(tmp_path / "a", volumes(11), areas, minutes=4)
    options = Options(group=str(tmp_path / "g.toml"), every_s=every)
    found = {row["volume"]: row for row in last(path, "paging", options)}
    assert sorted(found) == ["PAG010", "PAG011", "PAGING"]
    group = found["PAGING"]
    assert (group["group_name"], group["slots"], group["slots_used"]) == ("PAGING", 45_000, 4_500)
    assert group["slots_used_pct"] == pytest.approx(10.0)
    assert (group["read_rate"], group["write_rate"], group["queue"]) == (45.0, 90.0, 27.0)
    weights = [n + 10 for n in range(1, 10)]
    assert group["mload_s"] == pytest.approx(
        sum(0.001 * n * w for n, w in enumerate(weights, 1)) / sum(weights)
    )
    assert "device" not in group
    assert found["PAG010"]["device"] == "200A"
    if every:
        assert group["queue_p95"] == 27.0


def test_paging_area_added_while_recording(tmp_path: Path) -> None:
    idle = {"STOASP_RDEVDEV": 0x2002, "STOASP_CALVSER": "NEW001"}
    came = {"STOATC_RDEVDEV": 0x2002, "STOATC_CPVOLSER": "NEW001", "STOATC_CALTYPE": "page"}
    groups = [monwrite.configuration(monwrite.START_US)]
    for count in range(3):
        end = monwrite.START_US + count * monwrite.MINUTE_US
        groups.append(monwrite.interval(end, [monwrite.record("D3R4", end - 100, idle)]))
    groups.append(monwrite.event("D3R7", monwrite.START_US + monwrite.MINUTE_US + 500, came))
    (row,) = last(monwrite.write(tmp_path / "a", groups), "paging")
    assert (row["volume"], row["area"]) == ("NEW001", "PAGE")
