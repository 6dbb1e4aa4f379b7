"""Property test of SMF sections: random bytes against a decoder of its own, from the files of layouts.

Records and values are put together here and read back here; of the program only the tables are used.
"""

from __future__ import annotations

import datetime as dt
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
from smf113_builder import dump, opened, rows

from iterations import draws, iterations
from zlens.inputs.options import parse_zone
from zlens.schema.facts import FACTS

FILES = sorted((FACTS / "smf" / "sections").glob("[0-9]*.toml"))
EPOCH = dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
DAY = dt.datetime(2026, 3, 5, tzinfo=dt.UTC)
ZONE = dt.timedelta(hours=1)
#: Names of fields that say whether a record is split, or when its interval was.
INTERVAL = ("RAO", "RAL", "RAN", "IST", "DAT", "INT", "GIE", "IET", "LGO", "OIL")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$#@."


def packed(digits: str, length: int) -> bytes:
    return bytes.fromhex(digits.zfill(2 * length - 1) + "f")


def hexadecimal(raw: bytes) -> float:
    fraction = int.from_bytes(raw[1:]) / 256.0 ** (len(raw) - 1)
    return (-1 if raw[0] & 0x80 else 1) * fraction * 16.0 ** ((raw[0] & 0x7F) - 64)


def random_field(field: dict[str, Any], chance: random.Random) -> tuple[bytes, Any]:
    """Return the bytes of a field and its value."""
    kind, length = field["kind"], field["length"]
    raw = chance.randbytes(length)
    if kind in ("unsigned", "flags"):
        number = int.from_bytes(raw)
        return raw, number if number < 2**63 else None
    if kind == "signed":
        return raw, int.from_bytes(raw, signed=True)
    if kind == "hex":
        return raw, raw.hex()
    if kind == "hfp":
        return raw, hexadecimal(raw)
    if kind in ("duration", "offset"):
        return raw, float(int.from_bytes(raw, signed=kind == "offset")) / 4_096_000_000
    if kind == "text":
        text = "".join(chance.choices(LETTERS, k=chance.randint(1, length)))
        return text.ljust(length).encode("cp037"), text
    if kind == "packed":
        digits = str(chance.randrange(1, 10 ** min(2 * length - 1, 15)))
        return packed(digits, length), int(digits)
    if kind == "packed_duration":
        minutes, milliseconds = chance.randint(0, 99), chance.randint(1, 59_999)
        return packed(f"{minutes:02}{milliseconds:05}", length), minutes * 60 + milliseconds / 1000
    if kind == "date":
        return packed(f"1{DAY:%y%j}", length), f"{DAY:%Y-%m-%d}"
    seconds = chance.randrange(86_400)
    at = DAY + dt.timedelta(seconds=seconds)
    if kind == "packed_time":
        return packed(f"{at:%H%M%S}", length), at - ZONE
    if kind == "hundredths":
        return (seconds * 100).to_bytes(length), at - ZONE
    microseconds = int((at - EPOCH) / dt.timedelta(microseconds=1))
    return (microseconds << 12).to_bytes(8), at if kind == "tod" else at - ZONE


def random_text(chance: random.Random) -> tuple[bytes, dict[str, Any]]:
    """Return the bytes of a section with a length of its own, often empty, and its values."""
    text = "".join(chance.choices(LETTERS, k=chance.choice((0, 1, 5, 40))))
    return bytes((len(text),)) + text.encode("cp037"), {"ACL": len(text), "ACT": text}


def random_section(
    section: dict[str, Any], when: dict[str, int], chance: random.Random
) -> tuple[bytearray, dict[str, Any]]:
    """Return the bytes of a section and the values of its fields that `when` allows."""
    data, values = bytearray(section["length"]), {}
    for field in section["fields"]:
        start, length = field["offset"], field["length"]
        if field.get("when", when) != when:
            values[field["name"]] = None
            continue
        raw, value = random_field(field, chance)
        if field["name"] in when:
            value = when[field["name"]]
            raw = value.to_bytes(length)
        data[start : start + length] = raw
        values[field["name"]] = value
    for field in section["fields"]:
        # Of two times of day with one date, the later event may be of the next day.
        if "after" in field and values[field["name"]] < values[field["after"]]:
            values[field["name"]] += dt.timedelta(days=1)
    return data, values


def put(data: bytearray, section: dict[str, Any], name: str, raw: bytes) -> None:
    (start,) = (field["offset"] for field in section["fields"] if field["name"] == name)
    data[start : start + len(raw)] = raw


def sections_of(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sections of a file and of its base, those with the triplets of others first."""
    listed = list(facts["section"])
    if "base" in facts:
        base = tomllib.loads((FACTS / "smf" / "sections" / f"_{facts['base']}.toml").read_text())
        listed = base["section"] + listed
    inner = [section for section in listed if "within" in section]
    return [section for section in listed if "triplet" in section and "within" not in section] + inner


def own_fields(sections: list[dict[str, Any]], section: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields that lie over the triplet of a section; none if that is in the header."""
    if "within" not in section:
        return []
    (outer,) = (other for other in sections if other["name"] == section["within"])
    triplet = range(section["triplet"], section["triplet"] + 8)
    return [field for field in outer["fields"] if field["offset"] in triplet]


def product_fields() -> dict[str, bytes]:
    """Return an interval of 15 minutes from 1:00 local time on, in a complete record."""
    end = int((DAY + dt.timedelta(minutes=15) - EPOCH) / dt.timedelta(microseconds=1)) << 12
    return {
        "RAO": bytes(4),
        "RAL": bytes(2),
        "RAN": bytes(2),
        "IST": packed("010000", 4),
        "DAT": packed(f"1{DAY:%y%j}", 4),
        "INT": packed("1500000", 4),
        "GIE": end.to_bytes(8),
        "IET": end.to_bytes(8),
        "LGO": (3600 * 4_096_000_000).to_bytes(8),
        "OIL": (900).to_bytes(2),
    }


def random_record(
    facts: dict[str, Any], when: dict[str, int], chance: random.Random
) -> tuple[bytes, dict[str, list[dict[str, Any]]]]:
    """Return a record with one to three sections of each kind, and the values of their fields by kind."""
    sections = sections_of(facts)
    values: dict[str, list[dict[str, Any]]] = {}
    begins: dict[str, int] = {}
    lengths = {section["name"]: section["length"] for section in sections}
    data = bytearray(max(s["triplet"] for s in sections if "within" not in s) + 8)
    data[4:6] = bytes((0x5E, facts["record"]))
    data[6:14] = (450_000).to_bytes(4) + packed(f"1{DAY:%y%j}", 4)
    data[14:24] = "SYSARMF ".encode("cp037") + max(map(int, facts["subtypes"])).to_bytes(2)
    for section in sections:
        name, length = section["name"], section["length"]
        count = 1 if name == "product" else chance.randint(1, 3)
        begins[name], values[name] = len(data), []
        for _ in range(count):
            own_length = section.get("length_byte", False)
            content, own = random_text(chance) if own_length else random_section(section, when, chance)
            if name == "product" and "base" in facts:
                for field, raw in product_fields().items():
                    put(content, section, field, raw)
            if facts.get("time", {}).get("of") == "job" and name == facts["time"]["section"]:
                # With the time in the header, the end of the interval tells the time zone.
                put(content, section, facts["time"]["end"], product_fields()["IET"])
            data += content
            values[name].append({field: value for field, value in own.items() if field not in INTERVAL})
        if section.get("length_byte", False):
            length = len(data) - begins[name]
        at = section["triplet"] + begins.get(section.get("within", ""), 0)
        data[at : at + 8] = begins[name].to_bytes(4) + length.to_bytes(2) + count.to_bytes(2)
        for field in own_fields(sections, section):
            # All sections of its kind have been written: the first leads to these, the others to none.
            for nth, own in enumerate(values[section["within"]]):
                start = begins[section["within"]] + nth * lengths[section["within"]] + field["offset"]
                if nth:
                    data[start : start + field["length"]] = bytes(field["length"])
                own[field["name"]] = int.from_bytes(data[start : start + field["length"]])
    return bytes(data), values


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_random_sections_are_decoded_by_places(file: Path, tmp_path: Path) -> None:
    facts = tomllib.loads(file.read_text())
    sections = sections_of(facts)
    needed = [field["when"] for section in sections for field in section["fields"] if "when" in field]
    chance = draws(file.stem)
    for number in range(iterations(40, 4)):
        data, values = random_record(facts, chance.choice(needed) if needed else {}, chance)
        source = opened(dump(tmp_path / f"{number}.smf", [data]), tz=parse_zone("+01:00"))
        for section in sections:
            table = f"smf{file.stem.replace('-', '_')}_{section['name']}"
            prefix = section["prefix"].format(record=facts["record"])
            found = rows(source, table=section.get("table", table))
            assert len(found) == len(values[section["name"]])
            for row, expected in zip(found, values[section["name"]], strict=True):
                for field in section["fields"]:
                    name, length = field["name"], field["length"]
                    if name not in expected:
                        continue
                    column, value = field.get("column", prefix + name.lower()), expected[name]
                    assert row[column] == value, (table, name)
                    for bit, (place, _) in field.get("bits", {}).items():
                        is_on = None if value is None else bool(value >> (8 * length - 1 - place) & 1)
                        assert row[f"{column}_{bit.lower()}"] == is_on, (table, name, bit)
