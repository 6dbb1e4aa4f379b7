"""Tests that every synthetic layout can be imported from pages with other offsets."""

from __future__ import annotations

from pathlib import Path

import pytest
import relocated_layouts

import monwrite_builder as monwrite
import zlens
from zlens.catalog import layout_selection, layouts, plans


@pytest.mark.parametrize("record", layouts.sim_records())
def test_relocated_pages_give_same_fields(
    record: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own,) = layouts.sim_layouts(record)
    elsewhere = relocated_layouts.moved(tmp_path, [record], "7.3", monkeypatch)
    layout = elsewhere.layouts[record]
    there = {f.name: f.offset for f in own.fields}
    stayed = [f.name for f in layout.fields if there.get(f.name) == f.offset and not f.reserved]
    assert len(stayed) < len(there)
    values = {f.name: 1 for f in own.fields if f.type == "unsigned" and f.count == 1 and 1 <= f.length <= 8}
    values = {name: 1 for name in values if name != "*" and not own.field(name).overlay}  # type: ignore[union-attr]
    data = elsewhere.record(record, monwrite.START_US, values)
    chosen = layout_selection.select_layout(record, len(data), release="7.3").layout
    assert chosen is not None
    assert chosen.pack == "7.3"
    assert {name: plans.decode(chosen, data)[name] for name in values} == values
    (imported,) = (one for one in layouts.layouts(record) if one.pack == "7.3")
    assert (imported.subject, imported.subject_kind) == (own.subject, own.subject_kind)


@pytest.mark.parametrize(("style", "markup"), [("4.x", True), ("6.2", True), ("flat", False)])
def test_page_styles_give_same_fields(
    style: str, markup: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """moved() compares each imported layout with the one that the page was rendered from."""
    records = layouts.sim_records()
    elsewhere = relocated_layouts.moved(tmp_path, records, "6.4", monkeypatch, style, markup=markup)
    assert list(elsewhere.layouts) == records


def test_synthetic_fields_read_same_from_both_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = relocated_layouts.moved(tmp_path, ["D0R2"], "7.3", monkeypatch)
    (own,) = layouts.sim_layouts("D0R2")
    names = [f.name for f in own.fields if f.has_difference and f.unit == "count" and f.count == 1]
    found = []
    for make, config in ((monwrite.sim_record, monwrite.SIM_CONFIG), (elsewhere.record, elsewhere.config)):
        groups = [monwrite.configuration(monwrite.START_US, config)]
        for minute in range(3):
            end = monwrite.START_US + minute * monwrite.MINUTE_US
            values = {name: minute * at for at, name in enumerate(names, 1)}
            groups.append(monwrite.interval(end, [make("D0R2", end - 100, {**values, "SYTPRP_PFXCPUAD": 1})]))
        with zlens.open([monwrite.write(tmp_path / "one.mon", groups)]) as session:
            columns = ", ".join(f"{name.lower()}_d" for name in names)
            found.append(session.sql(f"SELECT {columns} FROM d0r2 ORDER BY tod").rows)
    assert found[0] == found[1]
    assert found[0][2] == tuple(range(1, len(names) + 1))


def test_relocated_reports_differ_only_in_release() -> None:
    one = "PRCLOG     z/VM zlens-sim\n 1  2\n"
    assert relocated_layouts.same(one, "PRCLOG        z/VM V.7.3\n 1  2\n")
    assert not relocated_layouts.same(one, "PRCLOG        z/VM V.7.3\n 1   2\n")
