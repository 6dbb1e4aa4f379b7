"""Tests of rules on channel paths and coupling facilities, from records of SMF 73 and 74-4."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import channel_builder
import coupling_builder
import zlens
from channel_builder import MOST, UNIT, T, entry
from coupling_builder import LOCK
from readers import smf113_builder

RULES = ("CHN-001", "CF-001", "CF-002", "CF-003")


def found(folder: Path, records: list[bytes]) -> dict[str, tuple[str, float]]:
    with zlens.open([smf113_builder.dump(folder / "a", records)]) as session:
        rows = session.findings(only=RULES).rows
    return {one.rule.id: (one.subject, round(one.value, 1)) for one in rows}


@pytest.mark.parametrize(
    ("group", "type", "busy", "expected"),
    [
        (2, "FC_S", 0.51, {"CHN-001": ("channel path 5A", 51.0)}),
        (5, "FC", 0.51, {"CHN-001": ("channel path 5A", 51.0)}),
        (2, "FC_S", 0.49, {}),
        # The limit is of FICON channel paths; OSA is of group 2 too, other adapters of a z17 of group 4.
        (2, "OSD", 0.9, {}),
        (4, "OSD", 0.9, {}),
    ],
)
def test_busy_ficon_channel_path(
    tmp_path: Path, group: int, type: str, busy: float, expected: dict[str, tuple[str, float]]
) -> None:
    """IBM, FICON Express2 Channel Performance Version 1.0: 50% or less."""
    words = {**MOST, "US": UNIT, "TUC": busy * MOST["MCU"] * T, "PUC": 0}
    record = channel_builder.record([entry("5A", group, words, ACR=type)])
    assert found(tmp_path, record) == expected


@pytest.mark.parametrize(
    ("requests", "facility", "busy_us", "expected"),
    [
        ({}, {}, 449, {}),
        ({}, {}, 450, {"CF-001": ("coupling facility CF01", 50.0)}),
        ({"SQRC": 100_100}, {}, 0, {"CF-002": ("coupling facility CF01", 10.0)}),
        ({"SQRC": 100_000}, {}, 0, {}),
        ({}, {"FPBC": 120_000}, 0, {"CF-002": ("coupling facility CF01", 12.0)}),
        ({"SSTA": 100_000}, {}, 0, {"CF-003": ("DSNDB0A_LOCK1 in CF01", 10.0)}),
        ({"SSTA": 99_000}, {}, 0, {}),
    ],
)
def test_busy_coupling_facility(
    tmp_path: Path,
    requests: dict[str, Any],
    facility: dict[str, Any],
    busy_us: int,
    expected: dict[str, tuple[str, float]],
) -> None:
    """IBM Redbook, ISBN 0738426970, page 187; z/OS MVS Setting Up a Sysplex, CHNGD requests."""
    processors = [{"PBSY": busy_us * 1_000_000, "PWAI": (900 - busy_us) * 1_000_000}]
    record = coupling_builder.record([LOCK | requests], processors, **facility)
    assert found(tmp_path, record) == expected
