"""IOCHANGE FCX185: events of the I/O domain, in words; its layout is not public."""

from __future__ import annotations

import re
from pathlib import Path

import zlens
from monwrite_made import MINUTE_US, S_US, START_US, bare_event, configuration, event, minutes, write
from zlens.catalog import events, layouts
from zlens.catalog.columns import field_parts
from zlens.inputs.options import Options, parse_moment

FIRST = START_US + 30 * S_US


def made(path: Path) -> Path:
    happened = [
        ("D6R1", {"IODVON_RDEVDEV": 0x145, "IODVON_RDEVSER": "VMPG1C"}),
        ("D6R17", {"IODDCH_CALCHPID": 0x41}),
        ("D6R29", {"IODHPC_HPPOOLNM": 2, "IODHPC_HPPTOKEN": 0x0600}),
        ("D6R25", {"IODQDA_RDEVDEV": 0xF00, "IODQDA_VMDUSER": "TCPIP", "IODQDA_VDEVDEV": 0x600}),
        ("D4R1", {"USELON_VMDUSER": "SOMEBODY"}),
        ("D6R2", {"IODVOF_RDEVDEV": 0x145}),
    ]
    first, *later = minutes(4)
    events = [event(name, FIRST + i * S_US, values) for i, (name, values) in enumerate(happened[:-1])]
    last = [
        event(*happened[-1][:1], FIRST + 2 * MINUTE_US, happened[-1][1]),
        bare_event("D6R42", FIRST - S_US),
    ]
    return write(path, [configuration(START_US), first, *events, *later[:2], *last, later[2]])


def test_changes_are_told_in_the_order_they_happened(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        text = session.report("fcx185")
    lines = [line.rstrip() for line in text.split("\n") if line.startswith("2026/")]
    assert [line.split("  ")[0] for line in lines] == [
        "2026/03/02 09:00:29 PCI function added",
        "2026/03/02 09:00:30 vary on device",
        "2026/03/02 09:00:31 delete channel path",
        "2026/03/02 09:00:32 HyperPAV pool created",
        "2026/03/02 09:00:33 QDIO device activated",
        "2026/03/02 09:02:30 vary off device",
    ]
    assert [line.split()[-1] for line in lines] == ["D6R42", "D6R1", "D6R17", "D6R29", "D6R25", "D6R2"]
    for words in ("device 0145 ", "channel path 41 ", "subsystem 0600", "user TCPIP, virtual device 0600"):
        assert words in text
    assert "SOMEBODY" not in text


def test_changes_of_a_device_and_of_a_time(tmp_path: Path) -> None:
    path = made(tmp_path / "a")
    with zlens.open([path]) as session:
        text = session.report("iochange", only=["device 0145"])
    assert text.count("device 0145") == 2
    assert "HyperPAV" not in text
    with zlens.open([path], options=Options(start=parse_moment("09:02"))) as session:
        text = session.report("iochange")
    assert text.count("device 0145") == 1


def test_every_event_of_the_io_domain_is_told_once() -> None:
    tables = [one["table"] for one in events.events() if one["table"].startswith("d6r")]
    assert len(tables) == len(set(tables))
    assert len(tables) >= 27


def test_only_numbers_are_written_in_hexadecimal() -> None:
    wrong = []
    for one in events.events():
        record = one["table"].upper()
        told = f"{one['subject']} {one['detail']}"
        fields = re.findall(r"\{([A-Za-z0-9_]+):hex", told)
        for layout in layouts.layouts(record) if fields else []:
            types = {part.name: part.type for field in layout.fields for part in field_parts(field)}
            wrong += [(record, name) for name in fields if types.get(name, "int") != "int"]
    assert wrong == []
