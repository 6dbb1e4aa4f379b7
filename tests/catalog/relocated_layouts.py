"""Synthetic layouts with relocated fields, imported as record pages of a release.

Output with the pack `zlens-sim` must equal output with a user's pack that has the same fields at other
offsets: then no code depends on the synthetic offsets.

    def test_x(tmp_path, monkeypatch):
        elsewhere = moved(tmp_path, ["D4R3"], "7.3", monkeypatch)
        synthetic = (monwrite.sim_record, monwrite.SIM_CONFIG)
        for make, config in (synthetic, (elsewhere.record, elsewhere.config)):
            ... monwrite.configuration(time, config), make("D4R3", time, values) ...
        assert same(text_of_sim, text_of_moved)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import page_render
import pytest
from msgspec.structs import replace

import monwrite_builder as monwrite
import record_encoder
from zlens import _native
from zlens.catalog import layouts
from zlens.catalog.layouts import HEADER_LENGTH, MonitorField, MonitorSection, RecordLayout
from zlens.record_pages import importer as pages

#: Bytes before the relocated fields: every offset changes.
GAP = 12


@dataclass(frozen=True)
class Moved:
    """Relocated layouts, also in the pack under ZLENS_DATA."""

    release: str
    layouts: Mapping[str, RecordLayout]

    @property
    def config(self) -> Mapping[str, Any]:
        """Fields of the system configuration record in a file of this release."""
        return {**monwrite.SIM_CONFIG, "MTRSYS_HCPCPEID": f"{self.release}.0"}

    def record(
        self,
        name: str,
        time_us: int,
        values: Mapping[str, Any] | None = None,
        entries: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> bytes:
        """Return a record like `monwrite_builder.sim_record`, with the offsets of this release."""
        layout = self.layouts.get(name)
        if layout is None:
            layout = next(one for one in layouts.layouts(name, Path("no packs here")) if one.release == "5.3")
        tod = _native.tod_from_unix_us(time_us)
        return record_encoder.encode(layout, dict(values or {}), tod=tod, entries=entries or {})


def moved(
    tmp_path: Path,
    records: Iterable[str],
    release: str,
    monkeypatch: pytest.MonkeyPatch,
    style: str = "6.2",
    *,
    markup: bool = False,
) -> Moved:
    """Import pages of these records with relocated synthetic fields into a pack of the release."""
    folder = tmp_path / "moved pages"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path / "data"))
    layouts.clear_cache()
    layout_by_record = {}
    for record in records:
        (own,) = layouts.sim_layouts(record)
        layout_by_record[record] = replace(elsewhere(own), release=release)
        text = page_render.page(layout_by_record[record], style, release=release, markup=markup)
        (folder / f"{own.dsect}.txt").write_text(text, encoding="utf-8")
    report = pages.import_pages([folder])
    # A column may truncate array bounds; the importer then computes and reports them.
    disagreements = [one for one in report.disagreements if "truncated; read as" not in one]
    assert not disagreements, disagreements
    assert not report.skipped, report.skipped
    for record, layout in layout_by_record.items():
        (imported,) = (x for x in layouts.layouts(record) if x.pack == release)
        assert _places(imported) == _places(layout)
    return Moved(release, layout_by_record)


def same(first: str, second: str) -> bool:
    """Return whether two reports are equal except for the release in their header."""
    return _plain(first) == _plain(second)


def _plain(text: str) -> list[str]:
    lines = re.sub(r"z/VM (?:zlens-sim|V\.[0-9.]+)", "z/VM", text).split("\n")
    # The release is right-aligned in its line: more blanks precede a shorter one.
    return [re.sub(" +", " ", line) if "z/VM" in line else line for line in lines]


def elsewhere(layout: RecordLayout) -> RecordLayout:
    """Return the layout with the fields from the first synthetic one on reordered at other offsets."""
    path = layouts.MONITOR_FOLDER / layouts.file_name(layout.record)
    real = layouts.read(path).layouts
    known = {(f.name, f.offset, f.length) for one in real for f in one.fields}
    fields, end = _shuffled(layout.fields, known, HEADER_LENGTH, GAP, layout.length)
    parts = [s for one in real for s in one.sections]
    sections = []
    for section in layout.sections:
        if section.derived:
            # The location of a derived section follows from its fields.
            sections.append(section.placed(fields) or section)
            continue
        places = {(f.name, f.offset, f.length) for s in parts if s.name == section.name for f in s.fields}
        sections.append(_section(section, places, layout.length, end))
    return replace(layout, fields=fields, length=end, sections=tuple(sections))


def _section(
    section: MonitorSection, known: set[tuple[str, int, int]], before: int, after: int
) -> MonitorSection:
    fields, length = _shuffled(section.fields, known, 0, 4, section.length)
    offset, stride = section.offset, section.stride
    return replace(
        section,
        fields=fields,
        length=length,
        # Entries with numeric offset and stride follow the fixed part and each other.
        offset=after if offset == before else offset,
        stride=length if stride == section.length else stride,
    )


def _shuffled(
    fields: Iterable[MonitorField], known: set[tuple[str, int, int]], least: int, gap: int, length: int
) -> tuple[tuple[MonitorField, ...], int]:
    """Reverse the fields from the first one with an unknown offset on, after a gap."""
    ordered = sorted(fields, key=lambda f: (f.offset, f.overlay, -f.length * f.count))
    named = [f for f in ordered if not f.reserved and f.length]
    # If only the kinds of fields are synthetic, all fields move.
    ours = [f for f in named if (f.name, f.offset, f.length) not in known] or named
    if not ours:
        return tuple(ordered), length
    # Fields that extend to the record end stay last.
    tail = [f for f in ordered if not f.length]
    start = max(min(f.offset for f in ours), least)
    kept = [f for f in ordered if f.length and f.offset < start]
    start = max([start, *(f.end for f in kept)])
    groups: list[list[MonitorField]] = []
    end = start
    for field in ordered:
        if field.length and field not in kept:
            if not groups or field.offset >= end:
                groups.append([])
            groups[-1].append(field)
            end = max(end, field.end)
    placed = [*kept, MonitorField("*", start, gap)]
    at = start + gap
    for group in reversed(groups):
        begin = group[0].offset
        placed += [replace(f, offset=f.offset - begin + at) for f in group]
        at += max(f.end for f in group) - begin
    return (*placed, *(replace(f, offset=at) for f in tail)), at


def _places(layout: RecordLayout) -> set[tuple[Any, ...]]:
    """Return location and kind of each field and section that a page can express."""
    found = {("", f.name, f.offset, f.length, f.count, f.kind, f.unit) for f in layout.fields}
    for section in layout.sections:
        if section.within is None and section.match is None:
            place = (section.offset, section.stride, section.count)
            found.add((section.name, *place))
            found |= {(section.name, f.name, f.offset, f.length, f.kind) for f in section.fields}
    return {one for one in found if "*" not in one}
