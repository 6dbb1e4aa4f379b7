"""Tests of RMF Monitor III responses in a lake."""

from __future__ import annotations

from pathlib import Path

import zlens
from lake_builder import differences, tables
from rmf_builder import document, monitor3
from zlens import lake


def test_monitor3_responses_in_two_files_count_once(tmp_path: Path) -> None:
    ends = ("140140", "140320", "140500")
    files = []
    for at, some in enumerate((ends[:2], ends[1:], ends)):
        path = tmp_path / f"{at}.xml"
        path.write_text(document(*(monitor3(end=end) for end in some)), encoding="utf-8")
        files.append(str(path))
    whole = files.pop()
    expected = tables(whole)
    for order in (files, files[::-1]):
        lake_path = tmp_path / f"lake{order.index(files[0])}"
        for path in order:
            lake.add([path], lake_path)
        assert differences(tables(lake_path), expected) == []
        assert lake.check(lake_path).faults == []
        with zlens.open(lake_path) as session:
            details = [p.detail for p in session._core.all_problems() if p.kind == "duplicate"]
            (system,) = session.sql("SELECT system, source, lpar, mt_cp, utc_offset_s FROM system").rows
        assert len(details) == 1
        assert system == ("SYSA", "rmf3-xml", "ALPHA", 2, -18000)


def test_differing_monitor3_values_are_conflict(tmp_path: Path) -> None:
    one = document(monitor3(), monitor3(end="140320"))
    other = one.replace("29.4", "29.5", 1)
    assert one != other
    for name, text in (("a.xml", one), ("b.xml", other)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        lake.add([str(tmp_path / name)], tmp_path / "lake")
    with zlens.open(tmp_path / "lake") as session:
        found = [(p.kind, p.detail.split()[0]) for p in session._core.all_problems() if p.kind != "gap"]
    assert sorted(found) == [("conflict", "1"), ("duplicate", "1")]
