"""The ISFC logical link of a relocation as described in a scenario."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from zlens.models.relocation import isfc
from zlens.models.scenario import Scenario
from zlens.rendering.answer import AnswerFigure, AnswerTable
from zlens.rendering.answer_columns import answer_table

#: A MiB in MB of 10^6 bytes.
MB_IN_MIB = 1.048576
#: The first device number of CTCs without one.
_FIRST_NUMBER = 0xC000


def link(scenario: Scenario) -> tuple[float, list[AnswerFigure], list[AnswerTable], list[str]]:
    """Return the throughput of the link in MiB/s, with figures, tables and notes."""
    settings, chpids = scenario["link"], scenario["link"]["chpid"]
    if not chpids:
        scenario.unused("isfc_rate_per_gb")
        rate = settings["rate"]
        return rate, [AnswerFigure("link", rate, "MiB/s", "The link carries", 1)], [], []
    devices = _devices(scenario)
    sender, receiver, notes = _sides(settings)
    sides = isfc.writes_on(devices, sender, receiver), isfc.writes_on(devices, receiver, sender)
    rows = [
        _chpid_row(settings, chpid, [device for device in devices if device.chpid == index], sides[0])
        for index, chpid in enumerate(chpids)
    ]
    carried = math.fsum(row[4] for row in rows) / MB_IN_MIB
    rate = carried if settings["rate"] is None else settings["rate"]
    factor = isfc.capacity_factor([chpid["speed"] for chpid in chpids])
    figures = [
        AnswerFigure("link", rate, "MiB/s", "The link carries", 1),
        AnswerFigure("capacity_factor", factor, "", "ISFC capacity factor", 0),
        AnswerFigure("ctcs", float(len(devices)), "", "CTC devices", 0),
    ]
    path = [
        (
            f"{device.number:04X}",
            chpids[device.chpid]["name"],
            *(side.index(device) + 1 if device in side else None for side in sides),
        )
        for device in devices
    ]
    tables = [
        answer_table("relocation", "chpids", "Link", rows),
        answer_table("relocation", "devices", "Write path", path),
    ]
    return rate, figures, tables, [*notes, *_link_notes(chpids, rows, devices)]


def _sides(settings: dict[str, Any]) -> tuple[str, str, list[str]]:
    """Return names of sender and receiver, and notes; any two names in order if not given."""
    sender, receiver = settings["from"], settings["to"]
    if sender is None or receiver is None:
        return "A", "B", ["without link.from and link.to the sender is assumed to sort first"]
    if isfc.comes_first(sender, receiver) == (sender.upper() < receiver.upper()):
        return sender, receiver, []
    return sender, receiver, [f"{sender} and {receiver} are compared in EBCDIC order: letters before digits"]


def _chpid_row(
    settings: dict[str, Any],
    chpid: dict[str, Any],
    devices: Sequence[isfc.Device],
    sender_devices: Sequence[isfc.Device],
) -> tuple[Any, ...]:
    written = sum(device in sender_devices for device in devices)
    per_gb, ssch = settings["rate_per_gb"], settings["ssch_per_device"]
    carries = isfc.chpid_rate(chpid["speed"], written, per_gb=per_gb, share=chpid["share"], ssch=ssch)
    return chpid["name"], chpid["speed"], len(devices), written, carries, carries / isfc.mb_per_ssch()


def _link_notes(
    chpids: Sequence[dict[str, Any]], rows: Sequence[tuple[Any, ...]], devices: Sequence[isfc.Device]
) -> list[str]:
    """Return notes on deviations from IBM's best practices for ISFC links."""
    notes = []
    if len(chpids) > isfc.MAX_CHPIDS:
        most = isfc.MAX_CHPIDS
        notes.append(f"{len(chpids)} chpids are more than the {most} that IBM recommends for one link")
    speeds = [chpid["speed"] for chpid in chpids]
    if len(set(speeds)) > 1:
        listed = ", ".join(f"{speed:g}" for speed in sorted(set(speeds)))
        notes.append(f"chpids of several speeds ({listed} Gb/s): IBM recommends chpids of one speed")
        # Each side leaves out devices at one end of the numbers.
        ends = {devices[0].chpid, devices[-1].chpid}
        fast = [chpids[index]["name"] for index in sorted(ends) if speeds[index] == max(speeds)]
        if fast and len(chpids) > 2:
            notes.append(
                f"fast chpid {', '.join(fast)} is at an end of the device numbers, where a side does not "
                "write: assign fast chpids to the middle"
            )
    minimum = isfc.recommended_devices(len(chpids))
    fewer = [str(row[0]) for row in rows if row[2] < minimum]
    if fewer:
        notes.append(
            f"chpid {', '.join(fewer)} has fewer CTC devices than the {minimum} that IBM recommends for each "
            f"of {len(chpids)} chpids, and may carry less than assumed here"
        )
    unused = [str(row[0]) for row in rows if not row[3]]
    if unused:
        notes.append(
            f"the sender writes on no device of chpid {', '.join(unused)}: "
            "assign fast chpids to the middle of the device numbers"
        )
    return notes


def _devices(scenario: Scenario) -> list[isfc.Device]:
    """Return all devices of the link by number; by default, numbered in the order of the chpids."""
    devices: list[isfc.Device] = []
    for index, chpid in enumerate(scenario["link"]["chpid"]):
        numbers = (
            [_number(scenario, chpid["name"], text) for text in chpid["rdevs"]]
            if chpid["rdevs"] is not None
            else range(len(devices), len(devices) + chpid["ctcs"])
        )
        devices += [isfc.Device(number, index) for number in numbers]
    return sorted(devices, key=lambda device: device.number)


def numbers(scenario: Scenario) -> list[int]:
    """Return device numbers of the link's CTCs, in order; numbers that are not given count from C000."""
    chpids = scenario["link"]["chpid"]
    return [
        device.number + (0 if chpids[device.chpid]["rdevs"] is not None else _FIRST_NUMBER)
        for device in _devices(scenario)
    ]


def _number(scenario: Scenario, name: str, text: str) -> int:
    try:
        number = int(text, 16)
    except ValueError:
        number = -1
    if not 0 <= number <= 0xFFFF:
        what = f"link.chpid.{name}.rdevs has {text}"
        raise scenario.error(what, "write device numbers", '"0000" to "FFFF"')
    return number


def check_link(scenario: Scenario) -> None:
    error, link = scenario.error, scenario["link"]
    if link["rate"] is None and not link["chpid"]:
        raise error("link has neither rate nor chpid", "write rate = 300 (MiB/s), or [[link.chpid]]")
    if link["from"] is not None and link["to"] is not None and link["from"].upper() == link["to"].upper():
        raise error(f"link.from and link.to are both {link['from']}", "name two systems")
    names = [chpid["name"] for chpid in link["chpid"]]
    if len(set(names)) < len(names):
        raise error("two chpids have the same name", "use unique names")
    numbered = [chpid["rdevs"] is not None for chpid in link["chpid"]]
    for chpid, by_number in zip(link["chpid"], numbered, strict=True):
        if (chpid["ctcs"] is None) != by_number or by_number != numbered[0]:
            raise error(f"link.chpid.{chpid['name']} needs either ctcs or rdevs, the same as the others",
                        "write ctcs = 4 for each chpid, or rdevs for each")  # fmt: skip
    devices = _devices(scenario)
    if len({device.number for device in devices}) < len(devices):
        raise error("link.chpid has the same device number twice", "assign each device to one chpid")
    if len(devices) > isfc.MAX_DEVICES:
        raise error(f"the link has {len(devices)} CTC devices", "leave some out",
                    expected=f"at most {isfc.MAX_DEVICES}")  # fmt: skip
