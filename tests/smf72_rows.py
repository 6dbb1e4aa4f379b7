"""Rows of class periods of SMF 72-3 written in a test, as the engine sees such records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fakes import HEADER, START_US, FakeSource, FakeTable, session, system
from zlens.api import Session
from zlens.catalog import smf_sections
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.options import Options
from zlens.inputs.source import Interval

QUARTER_US = 900_000_000
#: All fields of a period have values; service coefficients are 1, and a zIIP is as fast as a CP.
CLASS = {
    "r723mcnm": "ONLINE",
    "r723mscf_mrcl": False,
    "r723mwnm": "WORK",
    "r723mnsp": "POLICY",
    "r723mcpu": 10_000,
    "r723msrb": 10_000,
    "r723madj": 16,
    "r723mflg_hisf": False,
    "r723mcf": 0,
    "r723mcfs": 0,
    "r723mcfi": 0,
    "r723nffs": 256,
    "r723nffi": 256,
}
PERIOD = {"r723cadf": 0b1110_0000, "r723crs1": 0, "r723cper": 1, "r723crtx": 0, "r723crgf": 0, "r723crtf": 0}
#: Service units per second with these coefficients.
UNITS = 1e6

Row = dict[str, Any]


def period(
    seconds: float = 900.0, of: Row | None = None, buckets: list[int] | None = None, **values: Any
) -> Row:
    """Build a period with fields by their names, of a class with fields `of`; unnamed counters are 0."""
    counted = {
        column.name: 0 for column in smf_sections.columns(*_section("scs")) if column.type in ("int", "float")
    }
    fields = {f"r723{name.lower()}": value for name, value in values.items()}
    belongs = {f"r723{name.lower()}": value for name, value in (of or {}).items()}
    if buckets is not None:
        fields["r723crtx"] = 1
    return {
        "seconds": seconds,
        "class": CLASS | belongs,
        "period": counted | PERIOD | fields,
        "buckets": buckets,
    }


def opened(*moments: Iterable[Row], options: Options | None = None) -> Session:
    """Return a session over class periods: `moments` are the intervals, with a record for each row."""
    rows: dict[str, list[Row]] = {"wms": [], "scs": [], "rts": [], "rgs": []}
    seen: list[Interval] = []
    record = 0
    for k, moment in enumerate(moments):
        end = START_US + k * QUARTER_US
        for one in moment:
            record += 1
            head = {
                "system": "SYSA", "source": "smf", "file": "x", "offset": record * 1000, "tod": end,
                "interval_end": end, "seconds": one["seconds"], "flag": None, "section_no": 0,
            }  # fmt: skip
            rows["wms"].append(head | one["class"])
            rows["scs"].append(head | {"period": one["period"]["r723cper"]} | one["period"])
            if one["class"].get("r723ggnm"):
                rows["rgs"].append(head | {"r723ggnm": one["class"]["r723ggnm"]})
            if one["buckets"] is not None:
                counts = {f"r723trdb_{n}": count for n, count in enumerate(one["buckets"], 1)}
                rows["rts"] += [head | {"r723trdb_1": 50}, head | {"section_no": 1, "scs_no": 0} | counts]
            seconds = one["seconds"]
        seen.append(Interval(end, seconds, None, 1))
    info = system(nominal_s=900.0)
    info.source = "smf"
    info.intervals = seen
    source = FakeSource([info], [_table(name, values) for name, values in rows.items() if values])
    source.name = "smf"
    return session([source], options)


def one(select: str, row: Row) -> tuple[Any, ...]:
    """Return columns of the measure `workload` for one period."""
    with opened([row]) as session:
        ((*values,),) = session.sql(f"SELECT {select} FROM workload").rows
    return tuple(values)


def _section(name: str) -> tuple[smf_sections.SmfLayout, smf_sections.SmfSection]:
    layout = smf_sections.layout("72")
    return layout, layout.section(name)


def _table(name: str, rows: list[Row]) -> FakeTable:
    layout, section = _section(name)
    columns: tuple[RawColumn, ...] = (*HEADER, *smf_sections.columns(layout, section))
    return FakeTable(section.table, columns, [tuple(row.get(c.name) for c in columns) for row in rows])
