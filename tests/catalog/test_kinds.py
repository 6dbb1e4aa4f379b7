"""What fields are: counters, timers, gauges. A wrong kind makes a wrong number, so these are held by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens.catalog import layouts
from zlens.catalog.layouts import Field

NOWHERE = Path(__file__).parent / "no packs here"


def fields(record: str) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for layout in layouts.layouts(record, NOWHERE):
        for field in (*layout.fields, *(f for s in layout.sections for f in s.fields)):
            found.setdefault(field.name.split("_", 1)[-1], field)
    return found


STATED = [
    ("D0R1", "PLSABNCT", "counter", "count"),
    ("D0R2", "PFXCPUAD", "identifier", None),
    ("D0R2", "PLSCUHAF", "counter", "count"),
    ("D0R2", "PFXPRBTM", "timer", "tod"),
    ("D0R2", "PFXUTIME", "timer", "tod"),
    ("D0R2", "PFXRUNCP", "counter", "count"),
    ("D0R8", "SYSUSRS", "gauge", "count"),
    ("D0R8", "SRMCDORM", "gauge", "count"),
    ("D0R16", "CALCPUOF", "gauge", "bytes"),
    ("D0R23", "CALLCKID", "identifier", "ebcdic"),
    ("D1R7", "RSASTORE", "gauge", "bytes"),
    ("D1R9", "INTERVAL", "gauge", "s"),
    ("D1R9", "HFRATE", "gauge", "cs"),
    ("D1R15", "VMDRELSH", "gauge", None),
    ("D4R3", "VMDUSER", "identifier", "ebcdic"),
    ("D5R2", "VOFFRSON", "identifier", None),
    ("D6R3", "HFRDEVCT", "sampled", "count"),
    ("D6R28", "HPPTRIES", "counter", "count"),
    ("D6R28", "HPPNALIS", "gauge", "count"),
]
INFERRED = [
    ("D0R1", "PLSPRVIS", "counter", "count"),
    ("D0R1", "PLSPIOPR", "counter", "pages"),
    ("D0R2", "PFXTMSYS", "timer", "tod"),
    ("D0R2", "PFXTOTWT", "timer", "tod"),
    ("D0R2", "PFXSPINT", "timer", "tod"),
    ("D0R2", "PFXSPINC", "counter", "count"),
    ("D0R2", "PFXCPUTY", "identifier", None),
    ("D0R10", "CALSLKTM", "timer", "tod"),
    ("D0R11", "PLSISEVM", "counter", "count"),
    ("D0R12", "CALIOWT", "sampled", "count"),
    ("D0R15", "LPARNAME", "identifier", "ebcdic"),
    ("D0R16", "LCUCACTM", "timer", "us"),
    ("D0R16", "LCUCLPTM", "timer", "us"),
    ("D0R16", "LCUCWGHT", "gauge", None),
    ("D0R16", "LCUTCTOD", "time", "tod"),
    ("D0R17", "LCUMGTM", "timer", "us"),
    ("D0R19", "CPUCAPAB", "gauge", None),
    ("D0R23", "CALXSCNT", "counter", "count"),
    ("D0R23", "CALXTIME", "timer", "tod"),
    ("D1R4", "SYSTODST", "time", "tod"),
    ("D1R4", "SYSZONE", "gauge", "s"),
    ("D1R15", "CALTODON", "time", "tod"),
    ("D3R4", "EXPCTPRD", "counter", "pages"),
    ("D3R4", "CALPAGE", "gauge", "slots"),
    ("D4R2", "VMDTTIME", "timer", "tod"),
    ("D4R2", "VMDVTIME", "timer", "tod"),
    ("D4R2", "VMDCTPVR", "gauge", "pages"),
    ("D4R2", "VMDCTPWT", "counter", "count"),
    ("D4R10", "HFIOWT", "sampled", "count"),
    ("D5R12", "PLSDGX44", "counter", "count"),
    ("D6R3", "SCGSSCH", "counter", "count"),
    ("D6R3", "SCMCNTIM", "timer", "128us"),
    ("D6R3", "PAVCNTIM", "timer", "128us"),
    ("D6R3", "RDEVLCNT", "gauge", "count"),
]
#: Nothing that was read says what these count; they stay raw.
UNKNOWN = [
    ("D0R3", "RSAAVAIL"),
    ("D0R8", "CALMPTRV"),
    ("D0R10", "SRMABSDL"),
    ("D0R13", "PLSDSPCN"),
    ("D0R14", "HCPMDCEX"),
    ("D1R16", "SRMTSLIC"),
    ("D3R1", "RSAMAXPP"),
    ("D3R2", "PLSPREAD"),
    ("D3R8", "PGDBR"),
    ("D4R2", "VMDVDISK"),
    ("D5R3", "PLSDSPCM"),
    ("D6R3", "RDEVWRCT"),
    ("D8R1", "SESTXBYT"),
]


@pytest.mark.parametrize(("record", "name", "kind", "unit"), STATED)
def test_stated_kinds(record: str, name: str, kind: str, unit: str | None) -> None:
    field = fields(record)[name]
    assert (field.kind, field.kind_status, field.unit) == (kind, "stated", unit)


@pytest.mark.parametrize(("record", "name", "kind", "unit"), INFERRED)
def test_inferred_kinds(record: str, name: str, kind: str, unit: str | None) -> None:
    field = fields(record)[name]
    assert (field.kind, field.kind_status, field.unit) == (kind, "inferred", unit)


@pytest.mark.parametrize(("record", "name"), UNKNOWN)
def test_unknown_kinds_stay_unknown(record: str, name: str) -> None:
    field = fields(record)[name]
    assert (field.kind, field.kind_status, field.differenced) == ("unknown", "unknown", False)


def test_one_timer_is_known_to_count_down() -> None:
    down = [
        field.name
        for record in layouts.records(NOWHERE)
        for field in fields(record).values()
        if field.direction == "down"
    ]
    assert down == ["SYTPRP_PFXPRBTM"]


def test_a_field_of_one_control_block_is_the_same_thing_in_all_records() -> None:
    seen: dict[str, tuple[str, str]] = {}
    #: Names that different records use for different things.
    apart = {"STATUS", "ACTIVITY", "CALTYPE", "CALDATA", "FLAGS", "OWNER", "PLSESSA"}
    for record in layouts.records(NOWHERE):
        for name, field in fields(record).items():
            if field.kind == "unknown" or name in apart or field.name == name:
                continue
            first = seen.setdefault(name, (field.kind, field.name))
            assert first[0] == field.kind, f"{first[1]} and {field.name}"


def test_zones_west_of_greenwich_are_negative() -> None:
    assert fields("D1R4")["SYSZONE"].type == "signed"


def test_places_that_are_guessed_say_so() -> None:
    (d0r16,) = layouts.layouts("D0R16", NOWHERE)
    (d0r17,) = layouts.layouts("D0R17", NOWHERE)
    for section in (*d0r16.sections, *d0r17.sections):
        assert section.status == "inferred"
        assert section.note is not None
        assert "verify with data" in section.note
    for name in ("LCUCACTM", "LCUCLPTM"):
        assert fields("D0R16")[name].note == "unit guessed"
