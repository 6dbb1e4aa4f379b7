"""Builders of SMF records that consist of sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import smf_split
from zlens.catalog import smf_sections, smf_writer

#: 2026-01-01 00:00 UTC.
START_US = 1_767_225_600_000_000
SECOND = 1_000_000

Sections = Mapping[str, Sequence[Mapping[str, Any]]]


def rmf(
    record: int | str,
    end: float,
    sections: Sections,
    *,
    seconds: float = 900,
    zone_s: int = 0,
    system: str = "SYSA",
    product: Mapping[str, Any] | None = None,
    lengths: Mapping[str, int] | None = None,
    most: int | None = None,
) -> list[bytes]:
    """Return an RMF record of the interval that ends at `end`, in segments of up to `most` bytes."""
    layout = smf_sections.layout(str(record))
    end_us = START_US + round(end * SECOND)
    own = {
        "SNM": system,
        "MVS": "ZV030100",
        **smf_writer.interval(end_us, seconds, zone_s),
        **(product or {}),
    }
    given: dict[str, Any] = {
        "system": system,
        "local_us": end_us + (zone_s + 2) * SECOND,
        "sections": {"product": [own], **sections},
        "lengths": lengths,
    }
    (subtype,) = layout.subtypes
    written = smf_writer.encode_record(layout, subtype, **given)
    return [written] if most is None else smf_split.split(layout, written, most)


def job(subtype: int, end: float, sections: Sections, *, zone_s: int = 0, system: str = "SYSA") -> bytes:
    """Return a type 30 record written at `end`."""
    layout = smf_sections.layout("30")
    local_us = START_US + round((end + zone_s) * SECOND)
    given = {"subsystem": [{"PNM": "SMF", "OSL": "SP7.3.1", "SYN": system}], **sections}
    header = {"WID": "JES2"}
    return smf_writer.encode_record(
        layout, subtype, system=system, local_us=local_us, sections=given, header=header
    )
