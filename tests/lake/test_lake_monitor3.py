"""Answers of RMF Monitor III in a lake."""

from __future__ import annotations

from pathlib import Path

from lake_made import differences, tables

import zlens
from rmf_made import document, monitor3
from zlens import lake


def test_answers_that_stand_in_two_files(tmp_path: Path) -> None:
    ends = ("140140", "140320", "140500")
    files = []
    for at, some in enumerate((ends[:2], ends[1:], ends)):
        path = tmp_path / f"{at}.xml"
        path.write_text(document(*(monitor3(end=end) for end in some)), encoding="utf-8")
        files.append(str(path))
    whole = files.pop()
    expected = tables(whole)
    for order in (files, files[::-1]):
        made = tmp_path / f"lake{order.index(files[0])}"
        for path in order:
            lake.add([path], made)
        assert differences(tables(made), expected) == []
        assert lake.check(made).faults == []
        with zlens.open(made) as session:
            told = [p.detail for p in session.all_problems() if p.kind == "duplicate"]
            (system,) = session.sql("SELECT system, source, lpar, mt_cp, utc_offset_s FROM system").rows
        assert len(told) == 1
        assert system == ("SYSA", "rmf3-xml", "ALPHA", 2, -18000)
