"""Records of a machine's partitions (D0R15, D0R16, D0R17) as z/VM 5.3 writes them, from times in seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import record_encoder
from zlens import _native
from zlens.catalog import layouts

Build = Callable[[str, int, Mapping[str, Any], Mapping[str, Sequence[Mapping[str, Any]]]], bytes]

US = 1_000_000
#: Weight of a dedicated logical processor.
DEDICATED = 0xFFFF


@dataclass
class Logical:
    """A logical processor, with its times since the machine was started."""

    address: int
    kind: str = "IFL"
    dispatched_us: int = 7 * 10**12
    effective_us: int = 6 * 10**12

    def run(self, effective_s: float, overhead_s: float = 0) -> None:
        effective = round(effective_s * US)
        self.effective_us += effective
        self.dispatched_us += effective + round(overhead_s * US)


@dataclass
class Partition:
    name: str
    number: int
    weight: int
    processors: list[Logical] = field(default_factory=list)


def encoded(
    name: str, time_us: int, values: Mapping[str, Any], entries: Mapping[str, Sequence[Mapping[str, Any]]]
) -> bytes:
    """Encode a record with its entries in the layout of z/VM 5.3."""
    layout = next(one for one in layouts.layouts(name) if one.release == "5.3")
    return record_encoder.encode(layout, dict(values), tod=_native.tod_from_unix_us(time_us), entries=entries)


def partition(
    time_us: int, given: Partition, build: Build = encoded, more: Mapping[str, Any] | None = None
) -> bytes:
    """Build D0R16 of one partition, with `more` fields if the layout of `build` has them."""
    rows = [
        {
            "SYTCUP_LCUCPUID": one.address,
            "SYTCUP_LCUCWGHT": given.weight,
            "SYTCUP_LCUCACTM": one.dispatched_us,
            "SYTCUP_LCUCLPTM": one.effective_us,
            "SYTCUP_LCXCPTYP": one.kind,
        }
        for one in given.processors
    ]
    values = {
        "SYTCUP_LCUPNAME": given.name,
        "SYTCUP_LCUPPNUM": given.number,
        "SYTCUP_LCXPUPID": given.number,
        "SYTCUP_LCUPCPCT": len(rows),
    }
    return build("D0R16", time_us, values | dict(more or {}), {"CPUDATA": rows})


def physical(time_us: int, management_us: Sequence[tuple[str, int]]) -> bytes:
    """Build D0R17: type and management time of each physical processor."""
    rows = [
        {"SYTCUM_LCUMCPU": number, "SYTCUM_LCUMGTM": time, "SYTCUM_LCUPTYPE": kind}
        for number, (kind, time) in enumerate(management_us)
    ]
    return encoded("D0R17", time_us, {"SYTCUM_LCUPCPCT": len(rows)}, {"MIBDATA": rows})


def own(time_us: int, name: str, number: int, **values: int) -> bytes:
    """Build D0R15: the partition that the system runs in."""
    full = {"SYTCUG_LPARNAME": name, "SYTCUG_LPNUMBER": number}
    return encoded("D0R15", time_us, full | {f"SYTCUG_{k.upper()}": v for k, v in values.items()}, {})
