"""Dump with counters (113) and RMF records (70-1) whose intervals end at different times."""

from __future__ import annotations

from pathlib import Path

from readers.smf113_builder import SECOND, START_US, dump, record
from zlens.catalog import smf_sections, smf_writer

#: Polarity in SMF70POF.
POLARITY = {"Vh": 0xC0, "Vl": 0x40}


def rmf(end: float, polarity: str, parked_s: float, seconds: float = 900.0) -> bytes:
    """Build a quarter of an hour of one processor, which ends at `end` seconds."""
    end_us = START_US + round(end * SECOND)
    sections = {
        "product": [
            {**smf_writer.interval(end_us, seconds), "PTN": 1, "SAM": 900, "MVS": "ZV011200", "SNM": "SYSA"}
        ],
        "control": [{"MOD": "2817", "MDL": "M15", "DSA": 900, "HHF": ["HHS", "HHA"]}],
        "cpu": [{"WAT": 300.0, "CID": 0, "CNF": ["DCI", "STA"], "TYP": 0, "PAT": parked_s}],
        "partition": [{"LPM": "ZOSA", "LPN": 1, "BDN": 1, "BDS": 0, "PFL": ["PWF"]}],
        "logical": [
            {
                "PDT": 500_000_000,
                "EDT": 495_000_000,
                "ONT": round(seconds * SECOND),
                "VPA": 0,
                "POF": POLARITY[polarity],
                "CIX": 1,
            }
        ],
        "name": [{"CIN": "CP", "CTN": 4, "CAN": 3600}],
    }
    return smf_writer.encode_record(
        smf_sections.layout("70"), 1, system="SYSA", local_us=end_us + 30_000, sections=sections
    )


def mixed(path: Path, shift: float = 0.0) -> Path:
    """Write counters every ten minutes, and RMF every quarter of an hour, `shift` seconds later."""
    counters = [
        record(1, 0, end, (6_000_000_000, 3_000_000_000), start=end - 600) for end in (600, 1200, 1800)
    ]
    return dump(path, [*counters, rmf(900 + shift, "Vl", 0.0), rmf(1800 + shift, "Vl", 450.0)])
