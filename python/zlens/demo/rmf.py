"""The demo machine's hour as reported by its z/OS partition: an RMF Postprocessor CPU report in XML.

The printed figures follow RMF's own rules: times are truncated to the millisecond, percentages and service
units are computed from the times of the interval and rounded.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from itertools import pairwise

from zlens.demo import machine
from zlens.demo.machine import PHYSICAL, MachineMinute

_escape = partial(escape, quote=False)
#: Minutes of one report.
INTERVAL = 15

#: Type and heading of columns.
_CPU_HEADS = (
    ("T", "CPU Number"), ("T", "CPU Type"), ("N", "Time% Online"), ("N", "Time% LPAR Busy"),
    ("N", "Time% MVS Busy"), ("N", "Time% Parked"), ("N", "LOG PROC Share%"),
    ("T", "HiperDispatch Priority"), ("N", "I/O Interrupts Rate"), ("N", "I/O Interrupts% via TPI"),
)  # fmt: skip
_PARTITION_HEADS = (
    ("T", "Partition Name"), ("T", "Partition Status"), ("N", "Partition Weight"), ("N", "MSU Defined"),
    ("N", "MSU Actual"), ("T", "Capping Defined"), ("N", "Capping WLM%"), ("N", "Num of LOG PROCs"),
    ("T", "PROC Type"), ("T", "Effective Dispatch Time"), ("T", "Total Dispatch Time"),
    ("N", "Avg Util%: LOG PROC Effective"), ("N", "Avg Util%: LOG PROC Total"),
    ("N", "Avg Util%: PHYS PROC LPAR MGMT"), ("N", "Avg Util%: PHYS PROC Effective"),
    ("N", "Avg Util%: PHYS PROC Total"),
)  # fmt: skip


def document(quarters: Sequence[MachineMinute]) -> str:
    """Return the report of the intervals between these minutes."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- Made by `zlens demo`: no machine has run this. -->",
        "<ddsml>",
        "<server><name>zlens demo</name><version>1</version><platform>z/OS</platform></server>",
    ]
    for number, (before, after) in enumerate(pairwise(quarters)):
        lines += _postprocessor(number, before, after)
    lines.append("</ddsml>")
    return "\n".join(lines) + "\n"


def _postprocessor(number: int, before: MachineMinute, after: MachineMinute) -> Iterator[str]:
    local = dt.timezone(dt.timedelta(seconds=machine.ZONE_S))
    start = dt.datetime.fromtimestamp(machine.START_US / 1e6 + number * INTERVAL * 60, local)
    end = start + dt.timedelta(minutes=INTERVAL)
    yield "<postprocessor>"
    yield '<metric id="CPU"><description>CPU Activity Report</description><type>Interval</type></metric>'
    yield "<version><smf-data>z/OS V1R11</smf-data><rmf-report>z/OS V1R11</rmf-report></version>"
    yield f"<resource><resname>{machine.ZOS_SYSTEM}</resname><restype>SYSTEM</restype></resource>"
    yield "<time-data>"
    yield f'<display-start locale="en-us">{start:%m/%d/%Y-%H.%M.%S}</display-start>'
    yield f'<display-end locale="en-us">{end:%m/%d/%Y-%H.%M.%S}</display-end>'
    yield f'<report-interval unit="minutes">{INTERVAL}:00:000</report-interval>'
    yield '<cycle unit="milliseconds">1000</cycle>'
    yield "</time-data>"
    yield '<segment id="1"><name>CPU Activity</name><part id="2">'
    yield from _variables(
        3,
        {
            "CPU": machine.MACHINE_TYPE,
            "Model": machine.MODEL,
            "H/W Model": machine.HARDWARE_MODEL,
            "Sequence Code": machine.SERIAL,
            "HiperDispatch": "YES",
            "CPC Capacity": str(machine.MSU_CAPACITY),
            "Change Reason": "NONE",
        },
    )
    yield from _table(4, _CPU_HEADS, _cpus(before, after))
    yield "</part></segment>"
    yield '<segment id="5"><name>Partition Data Report</name><part id="6">'
    yield from _variables(
        7,
        {
            "MVS Partition Name": machine.ZOS_PARTITION,
            "Image Capacity": str(machine.MSU_CAPACITY),
            "Number of Configured Partitions": str(len(after.uses)),
            "Wait Completion": "NO",
            "Dispatch Interval": "DYNAMIC",
            "Initial Capping": "NO",
        },
    )
    yield '</part><part id="8"><name>Number of Physical Processors</name>'
    yield from _table(
        9,
        (("T", "Type"), ("N", "Number")),
        [
            ("General purpose processor (CP)", str(PHYSICAL["CP"])),
            ("Integrated Facility for Linux (IFL) processor", str(PHYSICAL["IFL"])),
            ("Total", str(sum(PHYSICAL.values()))),
        ],
    )
    yield '</part><part id="10"><name>Partition Data</name>'
    yield from _table(11, _PARTITION_HEADS, _partitions(before, after))
    yield "</part></segment></postprocessor>"


def _cpus(before: MachineMinute, after: MachineMinute) -> list[tuple[str, ...]]:
    current, previous = after.use(machine.ZOS_PARTITION), before.use(machine.ZOS_PARTITION)
    interval_us = INTERVAL * machine.MINUTE
    busy = [100 * (b - a) / interval_us for a, b in zip(previous.total_us, current.total_us, strict=True)]
    # z/OS also counts the time in which it was ready but not dispatched.
    mvs = [busy_pct * 1.012 for busy_pct in busy]
    rates = [round(busy_pct * 14.2, 2) for busy_pct in busy]
    rows: list[tuple[str, ...]] = [
        (f"{cpu:X}", "CP", "100.00", f"{busy_pct:.2f}", f"{mvs_pct:.2f}", "0.00", "100.0", "HIGH",
         f"{rate:.2f}", "4.10")
        for cpu, (busy_pct, mvs_pct, rate) in enumerate(zip(busy, mvs, rates, strict=True))
    ]  # fmt: skip
    count = len(busy)
    means = f"{sum(busy) / count:.2f}", f"{sum(mvs) / count:.2f}"
    total = f"{100.0 * count:.1f}"
    rows.append(("TOTAL/AVERAGE", "CP", "", *means, "", total, "", f"{sum(rates):.2f}", "4.10"))
    return rows


def _partitions(before: MachineMinute, after: MachineMinute) -> list[tuple[str, ...]]:
    interval_us = INTERVAL * machine.MINUTE
    rows: list[tuple[str, ...]] = []
    for kind, physical in PHYSICAL.items():
        capacity_us = physical * interval_us
        all_effective = all_total = weight = 0
        for current, previous in zip(after.uses, before.uses, strict=True):
            if current.kind != kind:
                continue
            effective = sum(current.effective_us) - sum(previous.effective_us)
            total = sum(current.total_us) - sum(previous.total_us)
            # RMF's number of logical processors is a mean of the interval: the time they were online.
            capacity = sum(current.online_us) - sum(previous.online_us)
            used_msu = str(round(effective / capacity_us * machine.MSU_CAPACITY))
            msu, capped = (("0", used_msu), "0.0") if kind == "CP" else (("", ""), "")
            processors = f"{capacity / interval_us:.4f}".rstrip("0").rstrip(".")
            of_logical = _pct(effective, capacity), _pct(total, capacity)
            of_physical = (_pct(part, capacity_us) for part in (total - effective, effective, total))
            rows.append(
                (current.name, "Active", str(current.weight), *msu, "N N N", capped, processors, kind,
                 _duration(effective), _duration(total), *of_logical, *of_physical)
            )  # fmt: skip
            all_effective += effective
            all_total += total
            weight += current.weight
        own_us = after.management_us(kind) - before.management_us(kind)
        own_pct = _pct(own_us, capacity_us)
        rows.append(("*PHYSICAL*", *[""] * 7, kind, "", _duration(own_us), "", "", own_pct, "", own_pct))
        used_us = all_total + own_us
        of_physical = (_pct(part, capacity_us) for part in (used_us - all_effective, all_effective, used_us))
        times = _duration(all_effective), _duration(used_us)
        rows.append(("TOTAL", "", str(weight), *[""] * 5, kind, *times, "", "", *of_physical))
    return rows


def _duration(us: int) -> str:
    ms = us // 1000
    seconds, ms = divmod(ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}.{minutes:02}.{seconds:02}.{ms:03}"


def _pct(part: int, total: int) -> str:
    return f"{100 * part / total:.2f}"


def _variables(number: int, values: dict[str, str]) -> Iterator[str]:
    yield f'<var-list id="{number}">'
    for name, value in values.items():
        yield f"<var><name>{_escape(name)}</name><value>{_escape(value)}</value></var>"
    yield "</var-list>"


def _table(number: int, headings: Iterable[tuple[str, str]], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f'<table id="{number}"><column-headers>'
    for kind, heading in headings:
        yield f'<col type="{kind}">{_escape(heading)}</col>'
    yield "</column-headers>"
    for count, row in enumerate(rows, 1):
        sum_row = ' type="SUM"' if row[0].upper().startswith("TOTAL") else ""
        cells = "".join(f"<col>{_escape(cell)}</col>" if cell else "<col/>" for cell in row)
        yield f'<row refno="{count}"{sum_row}>{cells}</row>'
    yield "</table>"
