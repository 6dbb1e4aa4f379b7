"""What fields are: counters, timers, gauges."""

from __future__ import annotations

from pathlib import Path

from zlens.catalog import layouts
from zlens.catalog.layouts import Field

NOWHERE = Path(__file__).parent / "no packs here"


def fields(record: str) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for layout in layouts.layouts(record, NOWHERE):
        for field in (*layout.fields, *(f for s in layout.sections for f in s.fields)):
            found.setdefault(field.name.split("_", 1)[-1], field)
    return found


def test_time_is_what_timers_count() -> None:
    units = {
        field.unit
        for record in layouts.records(NOWHERE)
        for field in fields(record).values()
        if field.kind == "timer"
    }
    assert units <= {"tod", "us", "128us", "ms"}


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
