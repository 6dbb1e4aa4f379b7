"""Files of storage, paging and network records of a system in some minutes, from counters at zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from monwrite_builder import MINUTE_US, SIM_CONFIG, START_US, configuration, interval, sim_record, write

Maker = Callable[..., bytes]

#: Fields that count in a minute; all others are constant.
RATES: Mapping[str, frozenset[str]] = {
    "D0R1": frozenset({"PLSPIOPR", "PLSPIOPW", "PLSPIOSR", "PLSPIOSW"}),
    "D3R1": frozenset({"RSAEMPTY"}),
    "D3R4": frozenset({"EXPCTSRD", "EXPCTSWR", "EXPCTPRD", "EXPCTPWR", "SCGSSCH"}),
    "D3R11": frozenset({"EXPCTSRD", "EXPCTSWR", "EXPCTPRD", "EXPCTPWR", "SCGSSCH"}),
    "D3R8": frozenset({"PGDBR"}),
    "D6R21": frozenset({f"NIC{way}{what}" for way in ("TX", "RX") for what in ("BYT", "PKT", "DSC", "ERR")})
    | {"VQSIQOVR", "VQSOQOVR"},
    "D8R1": frozenset({f"SES{way}{what}" for way in ("TX", "RX") for what in ("BYT", "PKT", "DSC", "ERR")}),
    "D6R26": frozenset({"BYTOA", "BYFRA", "BFTOA", "BFFRA"}),
    "D6R35": frozenset({f"ZL{way}{what}" for way in ("TX", "RX") for what in ("BYT", "PKT", "DSC", "ERR")}),
    "D8R4": frozenset({f"ZL{way}{what}" for way in ("TX", "RX") for what in ("BYT", "PKT", "DSC", "ERR")}),
}
#: Prefixes of field names.
PREFIXES = {
    "D0R1": "SYTSYP", "D0R3": "SYTRSG", "D1R8": "MTRPAG", "D3R1": "STORSG", "D3R4": "STOASP",
    "D3R8": "STOBPG", "D3R11": "STOASS", "D6R21": "IODVSW", "D6R26": "IODQDS", "D6R35": "IODBPS",
    "D8R1": "VNDSES", "D8R4": "VNDGLB",
}  # fmt: skip

#: One minute of a system: records and their fields, counters by their increments.
Minute = Sequence[tuple[str, Mapping[str, Any]]]


def _values(record: str, given: Mapping[str, Any], minutes: int) -> dict[str, Any]:
    """Return the fields of a record after this many equal minutes."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in RATES.get(record, ()):
            value = [one * minutes for one in value] if isinstance(value, list) else value * minutes
        found[f"{PREFIXES[record]}_{name}"] = value
    return found


def alike(
    path: Path,
    minute: Minute,
    areas: Sequence[Mapping[str, Any]] = (),
    minutes: int = 3,
    make: Maker = sim_record,
    config: Mapping[str, Any] = SIM_CONFIG,
) -> Path:
    """Write a file of equal minutes; areas are those of CP-owned volumes (D1R8)."""
    area_records = [make("D1R8", START_US - 1_400, _values("D1R8", area, 0)) for area in areas]
    groups = [configuration(START_US, config, 60, area_records)]
    for count in range(minutes + 1):
        end = START_US + count * MINUTE_US
        groups.append(interval(end, [make(r, end - 100, _values(r, given, count)) for r, given in minute]))
    return write(path, groups)
