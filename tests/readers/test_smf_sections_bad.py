"""Tests of damaged SMF sections: valid ones are read, the rest is reported."""

from __future__ import annotations

import bisect
import itertools
from pathlib import Path

import pytest
from section_builder import START_US, Sections, job, rmf
from smf113_builder import dump, opened, rows

from iterations import draws
from zlens.inputs.problems import KINDS

MACHINE = {"MOD": "3931", "CSC": "00000000000ABCDE"}


def records() -> list[bytes]:
    """Return a complete record of each type, and one in segments."""
    processors: Sections = {
        "control": [MACHINE],
        "cpu": [{"CID": n} for n in range(4)],
        "partition": [{"LPM": "A", "BDS": 0, "BDN": 3}],
        "logical": [{"PDT": n} for n in range(12)],
        "core": [{"CORE_ID": n, "CPU_SKIP": 2 * n, "CPU_NUM": 2} for n in range(2)],
    }
    classes: Sections = {
        "wms": [{"MCNM": "BATCH"}],
        "scs": [{"CPER": 1, "CRTX": 1, "CWMX": 1, "CWMN": 1, "CCPU": 5.5}],
        "rts": [{"TRDB_1": 50}, {"TRDB_1": 3}],
        "wrs": [{"RTYP": "CICS"}],
    }
    work: Sections = {"id": [{"JBN": "A", "IET": START_US}], "cas": [{"CPT": 1}], "counter": [{}]}
    return [
        *rmf(70, 900, processors),
        *rmf(70, 1800, processors, most=1500),
        *rmf(72, 900, classes),
        job(2, 900, work),
    ]


def read(path: Path) -> dict[str, int]:
    """Return the row count of every table, and check that all columns can be read."""
    source = opened(path)
    counts = {table: len(rows(source, ["section_no", "tod"], table)) for table in source.tables}
    for table in source.tables:
        if table.startswith("smf") and table not in ("smf113", "smf113_change"):
            assert len(rows(source, table=table)) == counts[table], table
    size = path.stat().st_size
    for problem in source.problems(complete=True):
        assert problem.kind in KINDS
        assert problem.offset is None or 0 <= problem.offset <= size
    return counts


def touched(places: list[int]) -> tuple[set[int], bool]:
    """Return the records at some offsets, and whether an offset is in a descriptor word."""
    ends = [*itertools.accumulate(map(len, records()))]
    indexes = [bisect.bisect_right(ends, place) for place in places]
    starts = [0, *ends]
    return {*indexes}, any(place - starts[i] < 4 for place, i in zip(places, indexes, strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_changed_bytes(seed: int, tmp_path: Path) -> None:
    """Unchanged records retain their rows, whatever the damage to others."""
    numbers = draws(seed)
    path = dump(tmp_path / "good.smf", records())
    assert read(path)["smf70_logical"] == 24
    data = bytearray(path.read_bytes())
    places = [numbers.randrange(len(data)) for _ in range(1 << seed % 6)]
    for place in places:
        data[place] = numbers.randrange(256)
    path.write_bytes(data)
    counts = read(path)
    indexes, moved = touched(places)
    if not moved:
        whole = [record for i, record in enumerate(records()) if i not in indexes]
        expected = read(dump(tmp_path / "whole.smf", whole)) if whole else {}
        assert {table: count for table, count in expected.items() if counts.get(table, 0) < count} == {}


def test_every_length_of_dump(tmp_path: Path) -> None:
    """A dump truncated anywhere has its earlier records, and the truncation is reported."""
    whole = dump(tmp_path / "whole.smf", records()).read_bytes()
    lengths = [len(one) for one in records()]
    path = tmp_path / "cut.smf"
    for end in range(lengths[0] + 1, len(whole), 997):
        path.write_bytes(whole[:end])
        source = opened(path)
        assert len(rows(source, ["section_no"], "smf70_control")) >= 1
        assert "truncated" in {problem.kind for problem in source.problems(complete=True)}


def test_dump_truncated_while_read(tmp_path: Path) -> None:
    path = dump(tmp_path / "one.smf", records())
    source = opened(path)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size // 4)
    rows(source, table="smf30_cas")
    assert any(problem.kind == "changed" for problem in source.problems())


def test_sections_longer_than_record(tmp_path: Path) -> None:
    (record,) = rmf(70, 900, {"control": [MACHINE], "logical": [{"PDT": n} for n in range(3)]})
    data = bytearray(record)
    # Number of logical processors: 65,535 of 96 bytes.
    data[74:76] = b"\xff\xff"
    source = opened(dump(tmp_path / "many.smf", [bytes(data)]))
    assert len(rows(source, ["section_no"], "smf70_logical")) == 3
    (problem,) = source.problems(complete=True)
    assert (problem.kind, problem.record) == ("section", "SMF 70.1")
    assert "65535 logical sections of 96 bytes" in problem.detail
    assert problem.detail.endswith("3 do")


def test_record_containing_another(tmp_path: Path) -> None:
    """If records of a block lost their descriptor words, the block's word reads as a record's."""
    first, *others = (rmf(72, 900, {"wms": [{"MCNM": name}], "scs": [{"CPER": 1}]})[0] for name in "ABC")
    block = first + b"".join(other[4:] for other in others)
    source = opened(dump(tmp_path / "block.smf", [block, first]))
    assert len(rows(source, ["section_no"], "smf72_wms")) == 2
    (problem,) = source.problems(complete=True)
    assert (problem.kind, problem.record) == ("long", "SMF 72.3")
    assert problem.bytes == len(block) - len(first)
    assert f"has another at {len(first)} inside" in problem.detail
    assert "SITE RDW" in problem.detail


def test_record_longer_than_its_sections(tmp_path: Path) -> None:
    (record,) = rmf(72, 900, {"wms": [{"MCNM": "A"}]})
    for more, kinds in ((len(record) - 1, []), (len(record) + 1, ["long"])):
        source = opened(dump(tmp_path / f"{more}.smf", [record + bytes(more)]))
        assert [problem.kind for problem in source.problems(complete=True)] == kinds


def test_types_that_are_not_requested_are_not_decoded(tmp_path: Path) -> None:
    """A value that cannot be is found only by a query of its table: others do not decode it."""
    (processors,) = rmf(70, 900, {"control": [MACHINE], "logical": [{"PDT": 2**63 - 1}]})
    data = bytearray(processors)
    data[int.from_bytes(data[68:72])] = 0xFF
    (classes,) = rmf(72, 900, {"wms": [{"MCNM": "A"}], "scs": [{"CPER": 1}]})
    source = opened(dump(tmp_path / "two.smf", [bytes(data), classes]))
    assert len(rows(source, table="smf72_scs")) == 1
    assert len(rows(source, table="smf70_control")) == 1
    assert source.problems() == []
    assert rows(source, ["smf70pdt"], "smf70_logical") == [{"smf70pdt": None}]
    (problem,) = source.problems()
    assert problem.detail.startswith("smf70pdt is above")


def test_invalid_numbers_are_null(tmp_path: Path) -> None:
    (record,) = rmf(70, 900, {"control": [MACHINE], "logical": [{"PDT": 2**63 - 1}]})
    data = bytearray(record)
    product = int.from_bytes(data[28:32])
    data[product + 10 : product + 14] = b"\x09\x99\x99\x9f"
    logical = int.from_bytes(data[68:72])
    data[logical] = 0xFF
    source = opened(dump(tmp_path / "odd.smf", [bytes(data)]))
    assert rows(source, ["smf70ist"], "smf70_product") == [{"smf70ist": None}]
    assert rows(source, ["smf70pdt"], "smf70_logical") == [{"smf70pdt": None}]
    details = {problem.detail for problem in source.problems(complete=True)}
    assert details == {
        "smf70ist: not a valid packed time of day (first occurrence); invalid values are NULL",
        "smf70pdt is above 2^63 - 1 (first occurrence); such values are NULL",
    }
