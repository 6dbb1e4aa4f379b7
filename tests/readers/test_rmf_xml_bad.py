"""Tests of the RMF XML reader on damaged, truncated and hostile files: damage is reported, the rest read."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from damage import peak_of, xml_survives
from iterations import draws, quick_subset
from raw_rows import rows
from rmf_builder import (
    CPU_HEADS,
    DECLARATION,
    Opened,
    document,
    half_hours,
    kinds,
    part,
    report,
    segment,
    table,
    utc,
)
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import KINDS
from zlens.readers import column_store
from zlens.readers.rmf import problem_list as rmf_notes
from zlens.readers.rmf import source as rmf_source
from zlens.readers.rmf.postprocessor import RmfXmlSource, detect, open_files


def whole(source: RmfXmlSource) -> None:
    """Check that a source with damaged files has readable tables, and problems with offsets."""
    assert source.systems
    counted = sum(len(s.intervals) for s in source.systems)
    for name, (raw,) in source.tables.items():
        found = pa.table(raw.stream([c.name for c in raw.columns]))
        if name == "rmf_interval":
            assert found.num_rows == counted
    for problem in source.problems():
        assert problem.kind in KINDS
        assert problem.detail
        # Only problems without a location have no offset.
        assert problem.offset is not None or problem.kind == "gap" or problem.bytes is None
    source.inventory()
    source.info()


def test_missing_numbered_row_of_rmf_xml(opened: Opened) -> None:
    """Row numbers of a table show which rows are missing, but for the last."""
    lines = document(*half_hours(2)).splitlines(keepends=True)
    numbered = [n for n, line in enumerate(lines) if line.startswith("<row refno=")]
    assert len(numbered) > 10
    found = 0
    for n in numbered:
        source = opened("".join(lines[:n] + lines[n + 1 :]).encode())
        problems = [p for p in source.problems() if p.kind == "truncated"]
        flags = [i["flag"] for i in rows(source, "rmf_interval")]
        if lines[n + 1].startswith("<row"):
            second = "".join(lines[:n]).count("</postprocessor>")
            assert flags == (["cut", None] if not second else [None, "cut"])
            assert [p.detail.split(" of a")[0] for p in problems] == [
                f"1 row missing before row {lines[n + 1].split(chr(34))[1]}"
            ]
            found += 1
        else:
            assert flags == [None, None]
            assert problems == []
    assert found > 5


def test_truncated_rmf_xml(opened: Opened) -> None:
    """Complete data before the truncation is read, and its offset is reported."""
    text = document(*half_hours(3)).encode()
    ends = [n + 16 for n in range(len(text)) if text.startswith(b"</postprocessor>", n)]
    kept_partial = 0
    refused = []
    for cut in range(40, len(text) - 9, 97):
        if not detect(text[:cut], cut):
            assert cut < 60
            continue
        closed = sum(end <= cut for end in ends)
        try:
            source = opened(text[:cut])
        except InputError as error:
            refused.append((closed, error.offset == cut, "the file ends inside" in error.message))
            continue
        whole(source)
        flags = [i["flag"] for i in rows(source, "rmf_interval")]
        partial = len(flags) - closed
        assert partial in {0, 1}
        kept_partial += partial
        assert flags == [None] * closed + ["cut"] * partial
        (problem,) = [p for p in source.problems() if p.kind == "truncated"]
        assert problem.offset == cut
        before_cut = text[:cut].count(b"</row>")
        stored = sum(len(rows(source, n)) for n in ("rmf_cpu", "rmf_partition", "rmf_processor_count"))
        if partial:
            assert stored == before_cut
            assert f"{before_cut - closed * 9:,} rows are complete" in problem.detail
    assert kept_partial > 50
    assert set(refused) == {(0, True, True)}


def test_damage_costs_one_interval(opened: Opened) -> None:
    reports = half_hours(4)
    damages = [
        "<",
        "&",
        "<row>",
        "</part>",
        "</postprocessor>",
        "\0\0\0",
        "<postprocessor>",
        "<![CDATA[",
        "<!--",
    ]
    for damage in damages:
        middle = reports[1].index("00.06.06.000")
        hurt = reports[1][:middle] + damage + reports[1][middle:]
        source = opened(document(reports[0], hurt, *reports[2:]))
        whole(source)
        ends = [i["interval_end"].strftime("%H%M") for i in rows(source, "rmf_interval")]
        if damage in {"<![CDATA[", "<!--"}:
            # Without an end it includes the rest of the file, which is then truncated.
            assert ends == ["0930", "1000"]
            assert "truncated" in kinds(source)
            continue
        assert ends == ["0930", "1000", "1030", "1100"], damage
        assert "resync" in kinds(source)


def test_several_documents_in_one_file(opened: Opened) -> None:
    first, second = half_hours(2)
    source = opened(document(first) + document(second) + "\x1a")
    assert len(rows(source, "rmf_interval")) == 2
    assert kinds(source) == ["resync", "resync"]


BOMB = (
    "<!DOCTYPE ddsml [\n<!ENTITY l0 'ha'>\n"
    + "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>\n" for n in range(1, 12))
    + "]>\n"
)


@pytest.mark.parametrize(
    "doctype",
    [
        BOMB,
        "<!DOCTYPE ddsml SYSTEM 'http://127.0.0.1:9/evil.dtd'>",
        "<!DOCTYPE ddsml [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>",
        "<!DOCTYPE ddsml [<!ENTITY % p SYSTEM 'file:///etc/passwd'> %p;]>",
        "<!DOCTYPE ddsml [<!ATTLIST row type CDATA 'SUM'>]>",
    ],
)
@pytest.mark.parametrize("entity", ["", "&l11;", "&x;"])
def test_rmf_xml_expands_no_entities(opened: Opened, doctype: str, entity: str) -> None:
    reports = half_hours(2)
    body = document(reports[0].replace("SYSA", f"SYSA{entity}"), reports[1])
    text = body.replace(DECLARATION, DECLARATION + doctype)
    source = opened(text)
    whole(source)
    first = source.problems()[0]
    assert first.kind == "header"
    assert len(DECLARATION) < first.offset < len(DECLARATION + doctype)
    assert "document type" in first.detail
    # Neither the entity nor the attribute default of the declaration is used.
    ends = [i["interval_end"].strftime("%H%M") for i in rows(source, "rmf_interval")]
    assert ends == (["1000"] if entity else ["0930", "1000"])
    assert all("root:" not in str(row) and "haha" not in str(row) for row in rows(source, "rmf_interval"))
    assert sum(r["row_kind"] == "total" for r in rows(source, "rmf_partition")) == len(ends)


def test_document_type_declaration_is_rejected(opened: Opened) -> None:
    with pytest.raises(InputError, match="document type declaration") as caught:
        opened(DECLARATION + BOMB + "<ddsml>&l11;</ddsml>")
    assert caught.value.offset
    assert len(DECLARATION) < caught.value.offset < len(DECLARATION + BOMB)


BIG = 8_000_000
LONG = "x" * BIG
HOSTILE = {
    "deep": ("<a>" * 400_000, "header"),
    "long cell": (f"<col>{LONG}</col>", "length"),
    "long name": (f"<var><name>{LONG}</name><value>1</value></var>", "length"),
    "long tag": (f"<{LONG}/>", "length"),
    "long attribute": (f"<a b='{LONG}'/>", "length"),
    "long comment": (f"<!--{LONG}-->", "length"),
    "long instruction": (f"<?x {LONG}?>", "length"),
    "many sections": ("".join(f"<part><name>n{n}</name></part>" for n in range(20_000)), "section"),
    "many elements": ("".join(f"<e{n}/>" for n in range(60_000)), "section"),
    "many heads": (part(table(["h"] * 60_000, ["1"])), "section"),
    "many cells": (part(table(CPU_HEADS, ["1|" * 60_000])), "long"),
    "many rows": (part(table(CPU_HEADS, ["0|CP|1|1|1|HIGH"] * 30_000)), "length"),
}


@pytest.mark.parametrize(("hostile", "kind"), HOSTILE.values(), ids=HOSTILE)
def test_rmf_xml_lengths_are_bounded(opened: Opened, hostile: str, kind: str) -> None:
    hurt = report(body=segment("CPU Activity", hostile))
    good = report(end="03/02/2026-10.00.00", start="03/02/2026-09.30.00")
    source = opened(document(hurt, good))
    whole(source)
    assert kind in kinds(source)
    assert len(source.problems()) <= rmf_notes.MAX_NOTES + 5
    assert rows(source, "rmf_interval")[-1]["interval_end"] == utc("2026-03-02 10:00")


@pytest.mark.parametrize(
    "hostile", quick_subset(2, [hostile for hostile, _ in HOSTILE.values()]), ids=HOSTILE
)
def test_rmf_xml_memory_is_bounded(opened: Opened, tmp_path: Path, hostile: str) -> None:
    hurt = report(body=segment("CPU Activity", hostile))
    good = report(end="03/02/2026-10.00.00", start="03/02/2026-09.30.00")
    source = opened(document(hurt, good))
    assert source.systems
    path = str(tmp_path / "report0.xml")
    assert peak_of(lambda: open_files([path], Options())) < 12_000_000


def test_reported_damage_is_bounded(opened: Opened) -> None:
    """In a file of damaged starts, a limited number is tried, then the rest is skipped."""
    source = opened(document(report()) + "<postprocessor></x>" * 200_000)
    assert kinds(source) == ["resync"] * 3
    assert sum(p.bytes or 0 for p in source.problems()) > 3_000_000
    assert len(rows(source, "rmf_interval")) == 1


def test_rmf_xml_with_trailing_zeros(opened: Opened) -> None:
    text = document(*half_hours(2))
    source = opened(text.encode() + bytes(4 * 1024 * 1024))
    (problem,) = source.problems()
    assert (problem.kind, problem.offset, problem.bytes) == ("resync", len(text), 4 * 1024 * 1024)


def test_rmf_xml_reports_changing_file(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "report0.xml"
    text = document(*half_hours(300)).encode()

    def run(change: Callable[[], object]) -> RmfXmlSource:
        path.write_bytes(text)
        pending = [change]

        def progress(done: int, total: int, what: str) -> None:
            if pending:
                pending.pop()()

        return open_files([str(path)], Options(tz=dt.UTC), progress)

    def grow() -> None:
        with path.open("ab") as file:
            file.write(b"<more/>")

    grown = run(grow)
    assert len(rows(grown, "rmf_interval")) == 300
    (problem,) = grown.problems()
    assert (problem.kind, problem.offset) == ("changed", len(text))

    shrunk = run(lambda: os.truncate(path, 501_500))
    assert 10 < len(rows(shrunk, "rmf_interval")) < 300
    assert set(kinds(shrunk)) == {"truncated", "changed"}
    assert rows(shrunk, "rmf_interval")[-1]["flag"] == "cut"

    vanished = run(path.unlink)
    assert len(rows(vanished, "rmf_interval")) == 300
    with pytest.raises(InputError, match="cannot be read"):
        open_files([str(path)], Options())
    path.write_bytes(text)
    beside = open_files([str(tmp_path / "not there.xml"), str(path)], Options(tz=dt.UTC))
    assert kinds(beside) == ["changed"]


def test_rmf_xml_mutations(tmp_path: Path) -> None:
    """Damaged copies of a small report give a source or an InputError."""
    seed = document(*half_hours(2)).encode()
    xml_survives(
        seed,
        tmp_path / "mutation.xml",
        detect,
        lambda path: open_files([path], Options(tz=dt.UTC)),
        whole,
        draws(20260302),
    )


@pytest.mark.parametrize(
    ("bound", "value", "kept"),
    [("MAX_INTERVALS", 2, 2), ("MAX_ROWS", 45, 4), ("MAX_NAMES", 1, 1)],
)
def test_stored_rmf_data_is_bounded(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, kept: int
) -> None:
    monkeypatch.setattr(rmf_source, bound, value)
    each = [report(system=f"SYS{n}") for n in range(6)] if bound == "MAX_NAMES" else half_hours(6)
    source = opened(document(*each))
    whole(source)
    assert len(rows(source, "rmf_interval")) == kept
    (problem,) = [p for p in source.problems() if p.kind == "length"]
    assert "not read" in problem.detail
    assert problem.bytes


def test_stored_texts_are_bounded(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_store, "MAX_TEXTS", 20)
    source = opened(document(report()))
    whole(source)
    assert "texts beyond the limit" in source.problems()[-1].detail


@pytest.mark.parametrize(
    ("refno", "column", "value", "words"),
    [
        (1, "cpu_number", "0", "the row 0, 0 of CPU Activity"),
        (4, "partition", "BETA", "the row BETA of Partition Data Report: Partition Data"),
    ],
)
def test_rmf_xml_drops_repeated_row(opened: Opened, refno: int, column: str, value: str, words: str) -> None:
    text = document(report())
    begin = text.index(f'<row refno="{refno}">')
    row = text[begin : text.index("</row>", begin) + 7]
    assert f"<col>{value}</col>" in row
    name = "rmf_cpu" if column == "cpu_number" else "rmf_partition"
    source = opened(text.replace(row, row * 2, 1))
    assert [r[column] for r in rows(source, name, column)].count(value) == 1
    details = [(p.kind, p.detail) for p in source.problems() if p.kind != "zone"]
    assert details == [("duplicate", f"{words} comes twice; read once")]
