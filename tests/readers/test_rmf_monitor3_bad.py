"""Tests of the Monitor III reader on damaged, truncated and hostile files: problems have offsets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from damage import peak_of, xml_survives
from iterations import draws, quick_subset
from raw_rows import rows
from rmf_builder import CPC_HEADS, DECLARATION, cells, document, kinds, monitor3, variables
from zlens import cli
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import KINDS
from zlens.readers.rmf import problem_list as rmf_notes
from zlens.readers.rmf.monitor3 import RmfMonitor3Source, detect, open_files

ENDS = ("140140", "140320", "140500", "140640")


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str | bytes], RmfMonitor3Source]:
    def go(content: str | bytes) -> RmfMonitor3Source:
        path = tmp_path / "answer.xml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return open_files([str(path)], Options())

    return go


Read = Callable[[str | bytes], RmfMonitor3Source]


def whole(source: RmfMonitor3Source) -> None:
    """Check the invariants of a source with damaged files."""
    assert source.systems
    for raw in (table for tables in source.tables.values() for table in tables):
        pa.table(raw.stream([column.name for column in raw.columns]))
    for problem in source.problems():
        assert problem.kind in KINDS
        assert problem.detail
    source.inventory()
    source.info()


def test_truncated_monitor3(read: Read) -> None:
    """Complete reports before the truncation are read, and its offset is reported."""
    text = document(*(monitor3(end=end) for end in ENDS[:2])).encode()
    closed = [n + len(b"</report>") for n in range(len(text)) if text.startswith(b"</report>", n)]
    heads = [n for n in range(len(text)) if text.startswith(b"</column-headers>", n)]
    refused: list[tuple[int, bool, bool]] = []
    partial = 0
    for cut in range(140, len(text) - 9, 61):
        before = sum(end <= cut for end in closed)
        try:
            source = read(text[:cut])
        except InputError as error:
            refused.append((before, error.offset == cut, "the file ends inside" in error.message))
            continue
        whole(source)
        flags = [row["flag"] for row in rows(source, "rmf3_cpc")]
        assert flags[:before] == [None] * before
        assert flags[before:] in ([], ["cut"])
        partial += len(flags) - before
        # A report has rows if it has headings.
        assert len(rows(source, "rmf3_partition")) == 6 * sum(at + 17 <= cut for at in heads)
        (problem,) = [p for p in source.problems() if p.kind == "truncated"]
        assert problem.offset == cut
    assert set(refused) == {(0, True, True)}
    assert partial > 20


@pytest.mark.parametrize(
    "damage", ["<", "&", "<row>", "</caption>", "</report>", "\0\0\0", "<report>", "<postprocessor>", "]]>"]
)
def test_damage_costs_one_report(read: Read, damage: str) -> None:
    reports = [monitor3(end=end) for end in ENDS]
    middle = reports[1].index("ALPHA</col>")
    reports[1] = reports[1][:middle] + damage + reports[1][middle:]
    source = read(document(*reports))
    whole(source)
    ends = [row["interval_end"].strftime("%H%M%S") for row in rows(source, "rmf3_cpc")]
    assert [end for end in ENDS if end != ENDS[1]] == [end for end in ends if end != ENDS[1]]
    assert "resync" in kinds(source)


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE ddsml [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>",
        "<!DOCTYPE ddsml SYSTEM 'http://127.0.0.1:9/evil.dtd'>",
        "<!DOCTYPE ddsml [<!ENTITY a 'ha'><!ENTITY x '&a;&a;&a;'>]>",
    ],
)
def test_monitor3_expands_no_entities(read: Read, doctype: str) -> None:
    text = document(monitor3(system="SYS&x;"), monitor3(end="140320"))
    source = read(text.replace(DECLARATION, DECLARATION + doctype))
    whole(source)
    first = source.problems()[0]
    assert first.kind == "header"
    assert "document type" in first.detail
    (row,) = rows(source, "rmf3_cpc")
    assert row["system"] == "SYSA"


BIG = 8_000_000
LONG = "x" * BIG
HOSTILE = {
    "deep": ("<a>" * 400_000, "header"),
    "long cell": (f"<row><col>{LONG}</col></row>", "length"),
    "long tag": (f"<{LONG}/>", "length"),
    "long comment": (f"<!--{LONG}-->", "length"),
    "many elements": ("".join(f"<e{n}/>" for n in range(60_000)), "section"),
    "many rows": (f"<row>{cells(['1'] * 15)}</row>" * 60_000, "length"),
    "rows of empty cells": (f"<row>{'<col/>' * 300}</row>" * 3_000, "section"),
    "many heads": (f"<column-headers>{cells(['h'] * 60_000)}</column-headers>", "section"),
    "many cells": (f"<row>{cells(['1'] * 60_000)}</row>", "section"),
    "many names": (
        variables({f"n{n}": f"v{n}" for n in range(60_000)}).replace("var-list", "caption"),
        "section",
    ),
}


@pytest.mark.parametrize(("hostile", "kind"), HOSTILE.values(), ids=HOSTILE)
def test_monitor3_lengths_are_bounded(read: Read, hostile: str, kind: str) -> None:
    hurt = monitor3(body=f"{hostile}<row>{cells(['ALPHA'] * 15)}</row>")
    source = read(document(hurt, monitor3(end="140320")))
    whole(source)
    assert kind in kinds(source)
    assert len(source.problems()) <= rmf_notes.MAX_NOTES + 5
    assert rows(source, "rmf3_cpc")[-1]["interval_end"].strftime("%H%M%S") == "140320"


@pytest.mark.parametrize(
    "hostile", quick_subset(2, [hostile for hostile, _ in HOSTILE.values()]), ids=HOSTILE
)
def test_monitor3_memory_is_bounded(read: Read, tmp_path: Path, hostile: str) -> None:
    hurt = monitor3(body=f"{hostile}<row>{cells(['ALPHA'] * 15)}</row>")
    source = read(document(hurt, monitor3(end="140320")))
    assert source.systems
    path = str(tmp_path / "answer.xml")
    assert peak_of(lambda: open_files([path], Options())) < 16_000_000


def test_repeated_or_missing_headings(read: Read) -> None:
    twice = monitor3().replace("<col>CPCPWGHT</col>", "<col>CPCPIND</col>")
    source = read(document(twice))
    whole(source)
    assert "'CPCPIND' appears twice; the first is read" in {p.detail for p in source.problems()}
    assert {row["weight"] for row in rows(source, "rmf3_partition")} == {None}
    source = read(document(monitor3().replace(cells(CPC_HEADS), "")))
    whole(source)
    assert rows(source, "rmf3_partition") == []
    assert "a row without column headings; stored as text (6 times, the first here)" in {
        p.detail for p in source.problems()
    }
    assert len(rows(source, "rmf3_other")) > 50


def test_trailing_zeros_and_continuous_damage(read: Read) -> None:
    text = document(monitor3()).encode()
    source = read(text + bytes(4 * 1024 * 1024))
    (problem,) = source.problems()
    assert (problem.kind, problem.offset, problem.bytes) == ("resync", len(text), 4 * 1024 * 1024)
    # A limited number of damaged starts is tried, then the rest is skipped.
    source = read(text + b"<report></x>" * 300_000)
    assert sum(p.bytes or 0 for p in source.problems()) > 3_000_000
    assert set(kinds(source)) == {"resync"}
    assert len(rows(source, "rmf3_cpc")) == 1


def test_monitor3_reports_changing_file(tmp_path: Path) -> None:
    path = tmp_path / "answer.xml"
    stamps = [f"{hour:02}{minute:02}00" for hour in range(24) for minute in range(0, 60, 2)]
    text = document(*(monitor3(end=stamp) for stamp in stamps)).encode()

    def run(change: Callable[[], object]) -> RmfMonitor3Source:
        path.write_bytes(text)
        pending = [change]

        def progress(done: int, total: int, what: str) -> None:
            if pending:
                pending.pop()()

        return open_files([str(path)], Options(), progress)

    def grow() -> None:
        with path.open("ab") as file:
            file.write(b"<more/>")

    grown = run(grow)
    assert len(rows(grown, "rmf3_cpc")) == len(stamps)
    assert [p.offset for p in grown.problems() if p.kind == "changed"] == [len(text)]
    shrunk = run(lambda: os.truncate(path, 401_500))
    assert 10 < len(rows(shrunk, "rmf3_cpc")) < len(stamps)
    assert {"truncated", "changed"} <= set(kinds(shrunk))
    vanished = run(path.unlink)
    assert len(rows(vanished, "rmf3_cpc")) == len(stamps)
    with pytest.raises(InputError, match="cannot be read"):
        open_files([str(path)], Options())


def test_repeated_monitor3_file_and_unusual_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = document(monitor3())
    names = ["a b.xml", "Zähler-ΔT.xml", "-dash.xml", "quote'd.xml"]
    for name in names:
        (tmp_path / name).write_text(text)
    (tmp_path / "other.xml").write_text(document(monitor3(end="150000")))
    status = cli.main(["sql", str(tmp_path), "--format", "json", "-q", "SELECT kind FROM problem ORDER BY 1"])
    found = [row["kind"] for row in json.loads(capsys.readouterr().out)]
    assert (status, found.count("duplicate")) == (0, len(names) - 1)


def test_monitor3_responses_on_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = '<message id="GPM0731I"><description>The system is not there</description></message>'
    error, good = tmp_path / "error.xml", tmp_path / "good.xml"
    error.write_text(document(monitor3(body=said)))
    good.write_text(document(monitor3()))
    for command in (["info"], ["report", "partition"], ["sql", "-q", "FROM rmf3_cpc"]):
        name, *rest = command
        status = cli.main(
            [name, *(rest[:1] if name == "report" else []), str(error), *rest[name == "report" :]]
        )
        captured = capsys.readouterr()
        assert (status, captured.out) == (2, "")
        assert captured.err.count("\n") == 1
        assert "GPM0731I: The system is not there" in captured.err
        assert f"{error} at byte " in captured.err
    assert cli.main(["info", str(good), str(error), "--strict", "--format", "json"]) == 1
    formats = [found["format"] for found in json.loads(capsys.readouterr().out) if "format" in found]
    assert "RMF Monitor III XML" in formats


def test_monitor3_mutations(tmp_path: Path) -> None:
    """Damaged copies of two responses give a source or an InputError."""
    seed = document(*(monitor3(end=end) for end in ENDS[:2])).encode()
    xml_survives(
        seed,
        tmp_path / "mutation.xml",
        detect,
        lambda path: open_files([path], Options()),
        whole,
        draws(20260303),
    )


def test_monitor3_drops_repeated_row(read: Read) -> None:
    """A partition has one row for each processor type; weights are not added twice."""
    text = document(monitor3())
    begin = text.index('<row refno="2">')
    row = text[begin : text.index('<row refno="3">')]
    source = read(text.replace(row, row * 2))
    assert [r["partition"] for r in rows(source, "rmf3_partition", "partition")].count("ALPHA") == 2
    assert [(p.kind, p.detail) for p in source.problems()] == [
        ("duplicate", "the row ALPHA, CP of Rows comes twice; read once")
    ]
    source = read(text.replace(row, row + row.replace("<col>60</col>", "<col>70</col>")))
    found = rows(source, "rmf3_partition", "partition", "cpu_type", "weight")
    weights = [r["weight"] for r in found if (r["partition"], r["cpu_type"]) == ("ALPHA", "CP")]
    assert weights == [60]
    assert [(p.kind, p.detail) for p in source.problems()] == [
        ("conflict", "the row ALPHA, CP of Rows comes again with other values; the first is shown")
    ]
