"""Records of SMF 73 from counts of channel paths, by measurement group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from readers import section_builder

#: Units of 1024 microseconds of a quarter of an hour, less half a second; the time that they are, in seconds.
PTI = 878_418
T = PTI * 1024e-6
ALL = ["WD1", "WD2", "WD3", "WD4", "WD5"]
#: Counts and maximum rates of a FICON channel path, by the names of group 2.
MOST = {"MBC": 2_000_000, "MCU": 8_000, "MWU": 200_000, "MRU": 220_000}
COUNTS = {
    "TBC": 300_000_000, "TUC": 3_000_000, "PUC": 2_100_000, "TWU": 9_000_000, "PWU": 8_000_000,
    "TRU": 33_000_000, "PRU": 30_000_000,
}  # fmt: skip
UNIT = 4096

THREE = {
    "PDU": 64, "TDU": 0, "PUM": 0, "TUM": 4, "PMS": 30_000, "TMS": 20_000, "PUS": 90, "PUB": 45, "TUB": 180,
    "PDS": 3_000_000, "TDS": 6_000_000,
}  # fmt: skip
EXTENDED = {"ECP": "5B", "EOC": 90_000, "EOD": 450, "EOS": 180_000, "ETC": 0, "ETD": 0, "ETS": 0}


def entry(chpid: str, group: int, words: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    prefix = {4: "G4", 5: "G5"}.get(group, "")
    own = {f"{prefix}{name}": value for name, value in words.items()}
    return {"PID": chpid, "CMG": group, "FG3": ["VLD"], "FG5": ALL, "PTI": PTI, "ACR": "FC_S"} | own | others


def record(
    channels: Sequence[Mapping[str, Any]], extended: Sequence[Mapping[str, Any]] = (), **control: Any
) -> list[bytes]:
    """Return the record of an interval; control fields that are not given mean extended mode."""
    sections = {"control": [{"CMI": 2} | control], "channel": channels, "extended": extended}
    return section_builder.rmf(73, 900, sections)
