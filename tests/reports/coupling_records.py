"""Inputs of channel paths and coupling facilities of z/OS, from counts that can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import channel_builder
import coupling_builder
from channel_builder import COUNTS, EXTENDED, MOST, THREE, UNIT, entry
from coupling_builder import GROUP_BUFFER, LIST, LOCK
from readers import smf113_builder


def smf73(folder: Path) -> Path:
    """Write a FICON channel path with extended measurements, an old one, HiperSockets, an invalid one."""
    words = {**MOST, **COUNTS, "US": UNIT}
    extended = EXTENDED | {"ECP": "5A", "ETC": 9_000, "ETS": 27_000, "ETD": 45}
    channels = [
        entry("10", 1, {"TUT": 2_000_000, "PUT": 500_000}, ACR="CNC_S"),
        entry("5A", 2, words, FG3=["VLD", "SHR"], FG4=["XCM"], EIX=1, SPD=160, GEN=21),
        entry("5B", 2, words, FG2=["VAC"]),
        entry("F7", 3, THREE, ACR="IQD"),
    ]
    return smf113_builder.dump(folder / "a", channel_builder.record(channels, [extended]))


def smf74_4(folder: Path) -> Path:
    """Write a coupling facility with sections of all kinds, and a cache that was dumped."""
    dumped = {"SDRC": 2, "SDTM": 6_000, "SDSQ": 20_000_000}
    record = coupling_builder.complete([LOCK, GROUP_BUFFER | dumped, LIST])
    return smf113_builder.dump(folder / "a", record)
