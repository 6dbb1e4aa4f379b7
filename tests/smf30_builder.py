"""Records of SMF 30 with known times and instructions."""

from __future__ import annotations

from typing import Any

from zlens.catalog import smf_sections, smf_writer

#: 2023-11-14 22:14:00 UTC
END_US = 1_700_000_040_000_000
ZONE_S = 3600
MILLION = 1_000_000
INTERVAL, LAST, STEP, JOB, SYSTEM = 2, 3, 4, 5, 6

TIMES = {
    "CPT": 1000, "CPS": 100, "ICU": 10, "ISB": 5, "IIP": 20, "RCT": 3, "HPT": 2,
    "ASR": 150, "ENC": 200, "DET": 50, "TIME_ON_ZIIP": 400, "TIME_ZIIP_ON_CP": 80,
}  # fmt: skip
COUNTS = {
    "INST_CP_TASK": 6_000 * MILLION,
    "INST_CP_NONPREEMPTSRB": 700 * MILLION, "INST_CP_PREEMPTSRB": 300 * MILLION,
    "INST_OFFLOAD": 2_000 * MILLION, "INST_OFFLOADONCP": 400 * MILLION,
    "INST_CP_ENCLAVE": 900 * MILLION, "INST_CP_DEPENC": 90 * MILLION,
    "INST_OFFLOAD_ENCLAVE": 500 * MILLION, "INST_OFFLOAD_DEPENC": 100 * MILLION,
    "INST_OFFLOADONCP_ENCLAVE": 60 * MILLION, "INST_OFFLOADONCP_DEPENC": 40 * MILLION,
}  # fmt: skip
#: I/O and paging of an address space: 300 operations on disks, with times in units of 128 microseconds.
IO: dict[str, Any] = {
    "TEP": 4000, "TEX": 5_000_000_000, "TCN": 250_000, "AIS": 300, "AIC": 4000, "AID": 1500, "AIW": 500,
}  # fmt: skip
STORAGE: dict[str, Any] = {
    "PGI": 12, "PGO": 34, "VPI": 1, "VPO": 2, "HPI": 3, "HPO": 4, "CPI": 5, "LPI": 6, "BIA": 70, "BOA": 80,
    "HVR": 25_600, "HVA": 90, "MEM": 2048,
}  # fmt: skip


def record(
    subtype: int,
    second: float = 0,
    *,
    job: str = "PAYROLL",
    cas: dict[str, Any] | None = TIMES,
    counts: dict[str, Any] | None = COUNTS,
    lengths: dict[str, int] | None = None,
    more: dict[str, list[dict[str, Any]]] | None = None,
) -> bytes:
    """Build a record written a second after its job, step or interval ended; these last a minute.

    more    sections of other kinds
    """
    end = END_US + round(second * MILLION)
    local = end + ZONE_S * MILLION
    named = {"JBN": job, "PGM": "IEFBR14", "STM": "STEP1", "JNM": "JOB00042", "STN": 1, "CL8": "A"}
    if subtype in (INTERVAL, LAST, SYSTEM):
        named |= {"ISS": end - 60 * MILLION, "IET": end}
    if subtype == STEP:
        named |= {"SIT": local - 60 * MILLION, "STD": local - 60 * MILLION}
    sections: dict[str, list[dict[str, Any]]] = {
        "subsystem": [{"OSL": "SP7.2.5"}],
        "id": [named],
        "prf": [{"SCN": "BATCHHI", "WLM": "BATCH", "SNF": 512}],
    }
    if cas is not None:
        sections["cas"] = [cas]
    if counts is not None:
        sections["counter"] = [counts]
    header = {"WID": "JES2", "STP": subtype}
    layout = smf_sections.layout("30")
    return smf_writer.encode_record(
        layout,
        subtype,
        system="SYSA",
        local_us=local + MILLION,
        sections={**sections, **(more or {})},
        lengths=lengths,
        header=header,
    )
