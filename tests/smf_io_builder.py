"""Records of I/O by RMF (SMF 74-1, 74-5, 78-3) whose counts all differ, and sessions over dumps of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zlens
from fakes import START_US
from zlens import _native
from zlens.api import Session
from zlens.catalog import smf_sections, smf_writer

INTERVAL_S = 900
SAMPLES = 450
#: Unit of most times, in seconds.
UNIT_S = 128e-6
#: Seconds since the cache subsystem was asked before.
COLLECTED_S = 600

DEVICE = {
    "NUM": 0x0A01, "NM2": 0x0A01, "LCU": 0x0042, "SER": "ZLVOL1", "DEV": "33909", "SGN": "SGONE",
    "CAP": 10017, "CNF": ["STA"], "NUX": 4, "SSC": 90_000, "MEC": 80_000, "CNN": 200_000, "PEN":
    125_000, "DIS": 50_000, "QUE": 90, "UTL": 9, "RSV": 18, "ALC": 405, "MTP": 3, "NRD": 2, "NDA":
    1350, "DVB": 10_000, "CMR": 60_000, "IDT": 4_000_000, "CUQ": 2_000, "IOS": 27_000_000.0,
}  # fmt: skip
CONTROL = {"SUB": "0020", "ENF": ["ECM", "FCM", "FID"]}
CACHED = {
    "DVOL": "ZLVOL1", "DEVN": 0x0A01, "DSID": "2401", "DUNT": "01", "DRCR": 40_000.0, "DCRH":
    30_000.0, "DRSR": 10_000.0, "DRSH": 9_000.0, "DRNR": 1_000.0, "DNRH": 500.0, "DWRC": 20_000.0,
    "DWCH": 19_000.0, "DWSR": 5_000.0, "DWSH": 4_800.0, "DWNR": 400.0, "DWNH": 100.0, "DICL": 300.0,
    "DBCR": 100.0, "DTC": 2_000.0, "DNTD": 7_000.0, "DCTD": 6_000.0, "DFWB": 60.0, "DFWR": 30.0,
    "DFWC": 19_500.0, "DFWS": 4_900.0,
}  # fmt: skip
#: Behind the cache: 3000 reads of 8 KiB in 6 ms each, 6000 writes of 64 KiB in 2 ms.
POOL = {
    "1DVN": 0x0A01, "1INC": ["1XFL"], "1FLG": 2, "2XID": 0x1F, "2PRO": 3_000.0, "2PBR": 187.5,
    "2PRT": 1_125.0, "2PWO": 6_000.0, "2PBW": 3_000.0, "2PWT": 750.0, "1CT1": 6_000.0, "1CT2": 1_500.0,
}  # fmt: skip
GLOBAL = {"GFLG": ["GIUD", "GCMR", "GTRD"], "GFLX": ["GAMG", "GECP"]}
IOP = {
    "IQID": "0003", "IFLG": ["IQI"], "IQSM": 1_500, "IQCT": 1_200, "IIPB": 25_000.0, "IIPI":
    75_000.0, "IIFS": 90_000.0, "IPII": 180_000.0, "ICPB": 400.0, "IDPB": 300.0, "ICUB": 200.0,
    "IDVB": 100.0, "ISCB": 50.0, "IECB": 2_000.0,
}  # fmt: skip
PATH = {
    "CPID": "4a", "CPST": ["CPI", "CPO"], "CUN": 1, "CU1": 0x2400, "PT": 60_000, "CUB": 600, "DPB":
    300, "CBT": 9_000, "CMR": 30_000, "CPXF": ["CPXM", "CPTD"], "CPAT": 1, "CTMW": 5_000, "CTRD":
    4_000, "configuration_no": 0,
}  # fmt: skip
LCU = {
    "ID2": 0x42, "DST": ["HIND", "XIND", "LPAT"], "QSM": 700, "QCT": 500, "DCTM": 1_000_000, "CSST":
    40_000, "HCNT": 1, "HIX": 1,
}  # fmt: skip
PAV = {
    "HLCU": 0x42, "HCU": 0x2400, "HNAI": 90.0, "HTIO": 90_000.0, "HAIU": 7, "HCAD": 5, "HIOQ": 3,
    "XANC": 2_000.0, "XAUC": 1_800.0, "XNHC": 300.0, "XABC": 180.0, "XHBC": 2, "XALC": 45.0, "XHLC":
    1, "XNAG": 9.0, "XCQD": 500.0, "XCIU": 6_000.0,
}  # fmt: skip


def record(
    layout: str, number: int, sections: Mapping[str, Any], lengths: Mapping[str, int] | None = None
) -> bytes:
    """Return a record of an interval, numbered from 1; `lengths` are section lengths of another level."""
    own = smf_sections.layout(layout)
    end_us = START_US + number * INTERVAL_S * 1_000_000
    product = {
        **smf_writer.interval(end_us, INTERVAL_S),
        "SNM": "SYSA",
        "MVS": "ZV030100",
        "SAM": SAMPLES,
        "CYC": 2000,
    }
    (subtype,) = own.subtypes
    given = {"product": [product], **sections}
    return smf_writer.encode_record(
        own, subtype, system="SYSA", local_us=end_us + 2_000_000, sections=given, lengths=lengths
    )


def devices(
    *sections: Mapping[str, Any],
    control: Mapping[str, Any] = CONTROL,
    number: int = 1,
    length: int | None = None,
) -> bytes:
    lengths = {"device": length} if length else None
    return record("74-1", number, {"control": [control], "device": sections}, lengths)


def cached(*sections: Mapping[str, Any], number: int = 1, pools: Sequence[Mapping[str, Any]] = ()) -> bytes:
    control = {"CINT": COLLECTED_S, "NEDTYPEN": "2107"}
    return record("74-5", number, {"control": [control], "device": sections, "rank": pools})


def queuing(*, number: int = 1, **changes: Any) -> bytes:
    """Return a record of one logical control unit with two paths; a change gives other sections."""
    sections = {
        "configuration_control": [{"ID1": 0x42, "AMGS": 11}],
        "path": [PATH, {**PATH, "CPID": "4b", "PT": 40_000, "CMR": 10_000, "CPAT": 2}],
        "lcu": [LCU],
        "global": [GLOBAL],
        "iop": [IOP],
        "pav": [PAV],
        **changes,
    }
    return record("78", number, sections)


def written(path: Path, records: list[bytes]) -> Path:
    """Write a dump of records."""
    writer = _native.SmfWriter(str(path))
    writer.write(records)
    writer.finish()
    return path


@contextmanager
def opened(folder: Path, records: list[bytes]) -> Iterator[Session]:
    with zlens.open([str(written(folder / "io.smf", records))]) as session:
        yield session
