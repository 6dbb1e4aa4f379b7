"""Tests of the choice of a record's layout, and of its problems."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from zlens.catalog import layouts
from zlens.catalog.layout_selection import missing_pages, page_url, select_layout
from zlens.catalog.layouts import MonitorField, RecordFile, RecordInfo, RecordLayout
from zlens.inputs.problems import KINDS
from zlens.record_pages import record_file_writer

NOWHERE = Path(__file__).parent / "no packs here"


def field(name: str, at: int, length: int = 4, kind: str = "counter") -> MonitorField:
    status = "unknown" if kind == "unknown" else "stated"
    return MonitorField(f"SYTPRP_{name}", at, length, "unsigned", kind, status)


def layout(
    release: str, length: int, *fields: MonitorField, complete: bool = True, callevel: tuple[int, ...] = ()
) -> RecordLayout:
    at = 20
    filled: list[MonitorField] = []
    for one in fields:
        if complete and one.offset > at:
            filled.append(MonitorField("*", at, one.offset - at))
        filled.append(one)
        at = one.end
    if complete and at < length:
        filled.append(MonitorField("*", at, length - at))
    return RecordLayout(
        **{"record": "D0R2", "domain": 0, "number": 2, "dsect": "MRSYTPRP", "title": "Processor Data"},
        **{"kind": "sample", "release": release, "length": length, "complete": complete, "source": "a test"},
        **{"status": "verified", "pack": "x", "fields": tuple(filled), "subject": (), "reset_on": ()},
        **{"subject_kind": "processor", "sections": (), "callevel": callevel},
    )


@pytest.fixture
def packs(tmp_path: Path) -> Packs:
    return Packs(tmp_path)


class Packs:
    """Layout packs in a separate folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, pack: str, *record_layouts: RecordLayout, record: str = "D0R2") -> None:
        domain, number = layouts.record_key(record)
        head = RecordInfo(
            record=record,
            domain=domain,
            number=number,
            dsect="MRSYTPRP",
            title="Processor Data",
            kind="sample",
            pack=pack,
        )
        file = RecordFile(head, (), "processor", (), record_layouts)
        record_file_writer.save(file, self.root / pack / layouts.file_name(record))
        layouts.clear_cache()


def names(chosen: RecordLayout | None) -> list[str]:
    assert chosen is not None
    return [f.name.split("_", 1)[1] for f in chosen.fields if not f.reserved]


def test_record_as_long_as_its_layout() -> None:
    chosen = select_layout("D0R2", 108, release="5.3", root=NOWHERE)
    assert chosen.layout is not None
    assert (chosen.layout.release, chosen.layout.length) == ("5.3", 108)
    assert chosen.problems == ()


def test_longer_record_is_decoded_up_to_layout_end() -> None:
    # Only the first four fields of 6.4 are known; the layout of 5.3 has more of these 352 bytes.
    chosen = select_layout("D0R2", 352, release="6.4", root=NOWHERE)
    assert chosen.layout is not None
    assert chosen.layout.release == "5.3"
    assert "PFXTOTWT" in names(chosen.layout)
    (problem,) = chosen.problems
    assert (problem.kind, problem.bytes) == ("long", 244)
    assert "352" in problem.detail


def test_shorter_record_is_decoded_up_to_record_end() -> None:
    chosen = select_layout("D0R1", 96, release="5.1", root=NOWHERE)
    assert chosen.layout is not None
    assert chosen.layout.length == 116
    (problem,) = chosen.problems
    assert (problem.kind, problem.bytes) == ("short", 0)


def test_partial_layout_reports_remaining_bytes() -> None:
    chosen = select_layout("D4R3", 508, root=NOWHERE)
    assert names(chosen.layout) == ["VMDUSER", "VMDCPUAD", "VMDMODE", "CALMODE", "VMDSLIST"]
    (problem,) = chosen.problems
    assert (problem.kind, problem.bytes) == ("long", 508 - 33)
    assert select_layout("D4R3", 600, root=NOWHERE).problems[0].bytes == 600 - 33


def test_more_complete_partial_layout_is_selected() -> None:
    known = ["LANOWNER", "LANNAME", "NICOWNER", "NICBASE", "NICTYPE", "LANTYPE", "NICMGPOR", "NICMGIFI"]
    assert names(select_layout("D8R3", 60, root=NOWHERE).layout) == known
    assert names(select_layout("D8R3", 56, root=NOWHERE).layout) == [*known[:4], *known[6:]]


def test_sections_extend_record_without_problem() -> None:
    assert select_layout("D0R16", 64 + 4 * 40, root=NOWHERE).problems == ()


def test_changed_record_is_decoded_up_to_first_difference() -> None:
    chosen = select_layout("D1R6", 320, root=NOWHERE)
    assert chosen.layout is not None
    assert max(f.end for f in chosen.layout.fields) == 68
    assert chosen.problems[0].bytes == 320 - 68
    same = select_layout("D1R6", 244, root=NOWHERE).layout
    assert same is not None
    assert max(f.end for f in same.fields) == 244


@pytest.mark.parametrize("record", ["D5R13", "D31R99"])
def test_no_layout(record: str) -> None:
    chosen = select_layout(record, 100, root=NOWHERE)
    assert chosen.layout is None
    assert (chosen.problems[0].kind, chosen.problems[0].bytes) == ("no_layout", 80)


def test_every_record_length_has_layout() -> None:
    for record in layouts.records(NOWHERE):
        known = layouts.layouts(record, NOWHERE)
        for length in (20, 21, 30, *(x.length for x in known), 2000):
            chosen = select_layout(record, length, release="6.1", root=NOWHERE)
            assert (chosen.layout is None) == (not known)
            assert all(problem.kind in KINDS for problem in chosen.problems)


def test_exact_length_takes_precedence_over_release(packs: Packs) -> None:
    packs.add("6.4", layout("6.4", 352, field("NEW", 348)))
    packs.add("7.3", layout("7.3", 360, field("NEWER", 356)))
    assert names(select_layout("D0R2", 352, release="7.3", root=packs.root).layout) == ["NEW"]
    assert names(select_layout("D0R2", 360, release="6.4", root=packs.root).layout) == ["NEWER"]


def test_nearest_older_release_is_selected(packs: Packs) -> None:
    for release in ("6.2", "6.4", "7.2"):
        packs.add(release, layout(release, 352, field(f"R{release.replace('.', '')}", 340)))

    def chosen(release: str | None) -> str:
        selected = select_layout("D0R2", 352, release=release, root=packs.root).layout
        assert selected is not None
        return selected.release

    assert chosen("6.4") == "6.4"
    assert chosen("7.1") == "6.4"
    assert chosen("7.5") == "7.2"
    assert chosen("6.1") == "6.2"
    assert chosen(None) == "7.2"


def test_disagreeing_layouts_drop_field(packs: Packs) -> None:
    packs.add(
        "6.2", layout("6.2", 352, field("SAME", 20), field("MOVED", 24), field("ITS", 40, kind="gauge"))
    )
    packs.add("6.4", layout("6.4", 352, field("SAME", 20), field("MOVED", 28), field("ITS", 40)))
    chosen = select_layout("D0R2", 352, release="7.1", root=packs.root)
    assert names(chosen.layout) == ["SAME"]
    assert [p.kind for p in chosen.problems] == ["no_layout", "no_layout"]
    assert "SYTPRP_MOVED" in chosen.problems[0].detail
    assert "pack 6.2" in chosen.problems[0].detail
    only = select_layout("D0R2", 352, release="7.1", needed={"SYTPRP_ITS"}, root=packs.root)
    assert [("ITS" in p.detail) for p in only.problems] == [True]
    assert names(only.layout) == ["SAME"]
    # The release decides if it is the release of a pack.
    assert names(select_layout("D0R2", 352, release="6.4", root=packs.root).layout) == [
        "SAME",
        "MOVED",
        "ITS",
    ]


def test_renamed_bytes_disagree_and_reserved_bytes_agree(packs: Packs) -> None:
    packs.add("6.2", layout("6.2", 352, field("OLD", 20)))
    packs.add("6.4", layout("6.4", 352, field("NEW", 20), field("MORE", 30)))
    assert names(select_layout("D0R2", 352, release="7.1", root=packs.root).layout) == ["MORE"]


def test_unknown_kind_does_not_disagree(packs: Packs) -> None:
    packs.add("6.2", layout("6.2", 352, field("X", 20, kind="unknown")))
    packs.add("6.4", layout("6.4", 352, field("X", 20)))
    assert names(select_layout("D0R2", 352, release="7.1", root=packs.root).layout) == ["X"]


def test_callevel_bits_select_layout_of_same_length(packs: Packs) -> None:
    packs.add(
        "7.3",
        layout("7.3", 352, field("BEFORE", 340)),
        layout("7.3", 352, field("AFTER", 340), callevel=(9,)),
    )

    def chosen(bits: bytes | None) -> list[str]:
        return names(select_layout("D0R2", 352, callevel=bits, release="7.3", root=packs.root).layout)

    assert chosen(None) == ["BEFORE"]
    assert chosen(bytes([0xFF, 0x80])) == ["BEFORE"]
    assert chosen(bytes([0x00, 0x40])) == ["AFTER"]
    assert chosen(b"\xff") == ["BEFORE"]


def test_pack_overrides_built_in_layout(packs: Packs) -> None:
    (own,) = (x for x in layouts.layouts("D0R2", NOWHERE) if x.release == "5.3")
    packs.add("5.3", own)
    chosen = select_layout("D0R2", 108, release="5.3", root=packs.root)
    assert chosen.layout is not None
    assert chosen.layout.pack == "5.3"
    assert chosen.problems == ()


def test_later_layout_extends_older_one(packs: Packs) -> None:
    (own,) = (x for x in layouts.layouts("D0R2", NOWHERE) if x.release == "5.3")
    more = (
        *own.fields,
        field("MT", 108, 8),
        field("LATER", 348, 8),
        MonitorField("*", 116, 232),
        field("END", 356, 4),
    )
    packs.add("7.3", replace(own, release="7.3", length=360, fields=more))
    chosen = select_layout("D0R2", 352, release="6.4", root=packs.root)
    assert chosen.layout is not None
    assert chosen.layout.release == "5.3"
    assert names(chosen.layout)[-2:] == ["PFXCPUTY", "MT"], "LATER ends beyond the record"
    assert chosen.problems == ()
    moved = tuple(replace(f, offset=f.offset + 4) if f.name == "SYTPRP_PFXSPINC" else f for f in more)
    packs.add("7.3", replace(own, release="7.3", length=360, fields=moved))
    apart = select_layout("D0R2", 352, release="6.4", root=packs.root)
    assert "MT" not in names(apart.layout)
    assert apart.problems[0].bytes == 244


def test_incomplete_page_keeps_known_fields(packs: Packs) -> None:
    packs.add("7.3", layout("7.3", 352, field("PFXCPUAD", 20, 2, "identifier"), complete=False))
    assert "PFXTOTWT" in names(select_layout("D0R2", 352, release="7.3", root=packs.root).layout)


# Needs


def test_needs_list_pages_with_missing_fields() -> None:
    inventory = {
        "D0R2": [352],
        "D4R3": [508],
        "D5R13": [400, 300],
        "D0R1": [116],
        "D1R11": [20],
        "D31R9": [64],
        "D5R18": [44],
    }
    found = {need.record: need for need in missing_pages(inventory, release="6.4", root=NOWHERE)}
    assert list(found) == ["D0R2", "D4R3", "D5R13", "D5R18", "D31R9"]
    d0r2 = found["D0R2"]
    assert (d0r2.page, d0r2.reason, d0r2.bytes, d0r2.decoded_with) == ("MRSYTPRP", "longer", 244, "5.3")
    assert d0r2.url == "https://www.vm.ibm.com/pubs/mon640/MRSYTPRP.HTML"
    assert (found["D4R3"].reason, found["D4R3"].bytes) == ("partial", 475)
    d5r13 = found["D5R13"]
    assert (d5r13.page, d5r13.reason, d5r13.bytes, d5r13.lengths) == (
        "MRPRCMFC",
        "no layout",
        380,
        (300, 400),
    )
    assert (found["D5R18"].bytes, found["D5R18"].note) == (16, "28 to 43 and the stanzas are not known")
    assert (found["D31R9"].page, found["D31R9"].url) == (None, None)


def test_imported_page_is_not_needed(packs: Packs) -> None:
    packs.add("6.4", layout("6.4", 352, field("ALL", 20)))
    assert missing_pages({"D0R2": [352]}, release="6.4", root=packs.root) == []


@pytest.mark.parametrize(
    ("release", "start"),
    [
        ("6.4", "https://www.vm.ibm.com/pubs/mon640/MRSYTPRP.HTML"),
        ("7.2", "https://www.vm.ibm.com/pubs/mon720/MRSYTPRP.HTML"),
        ("7.3.0", "https://www.ibm.com/support/pages/zvm/pubs/mon730/mrsytprp.html"),
        ("9.9", "https://www.ibm.com/support/pages/zvm/pubs/mon750/mrsytprp.html"),
        (None, "https://www.ibm.com/support/pages/zvm/pubs/mon750/mrsytprp.html"),
    ],
)
def test_record_page_url(release: str | None, start: str) -> None:
    assert page_url("MRSYTPRP", release) == start
