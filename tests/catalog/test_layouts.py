"""Tests of the record files: completeness, lazy reading, round trips and errors of invalid files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields as members

from iterations import iterations
from zlens.catalog import layouts
from zlens.catalog.layouts import MonitorField, MonitorSection, RecordFile, RecordInfo, RecordLayout
from zlens.errors import CatalogError
from zlens.record_pages import record_file_writer
from zlens.schema import toml

NOWHERE = Path(__file__).parent / "no packs here"


def builtin() -> list[RecordLayout]:
    return [layout for record in layouts.records(NOWHERE) for layout in layouts.layouts(record, NOWHERE)]


def test_built_in_records_are_complete() -> None:
    assert len(layouts.records(NOWHERE)) == 201
    assert layouts.records(NOWHERE)[:3] == ["D0R1", "D0R2", "D0R3"]
    assert layouts.records(NOWHERE)[-1] == "D11R8"


def test_complete_layouts_of_5_3() -> None:
    complete = [x for x in builtin() if x.release == "5.3" and x.complete]
    assert len(complete) == 126
    assert sum(1 for x in complete for f in x.fields if not f.reserved) == 2288
    arrays = {s.name: s for x in complete for s in x.sections}
    assert {"CPUDATA", "MIBDATA", "CHPDATA", "CALLKDATA"} <= set(arrays)


def test_built_in_layouts_have_all_known_fields() -> None:
    known = builtin()
    assert len(known) == 183
    assert sum(len(x.fields) for x in known) == 2849
    assert sum(1 for x in known for f in x.fields if not f.reserved) == 2610
    assert sum(1 for x in known for s in x.sections for f in s.fields if not f.reserved) == 169


#: Lengths on published pages of 5.3, or of another release without changes.
@pytest.mark.parametrize(
    ("record", "length"),
    [
        *[
            ("D0R1", 116),
            ("D0R16", 64),
            ("D0R17", 36),
            ("D0R22", 88),
            ("D1R1", 24),
            ("D1R9", 36),
            ("D1R11", 20),
        ],
        *[("D2R12", 32), ("D4R9", 352), ("D5R3", 384), ("D5R12", 800), ("D6R22", 80), ("D10R2", 52)],
    ],
)
def test_lengths_are_those_of_pages(record: str, length: int) -> None:
    (layout,) = (x for x in layouts.layouts(record, NOWHERE) if x.release == "5.3")
    assert layout.length == length


def test_offsets_confirmed_by_several_sources() -> None:
    (d0r2,) = (x for x in layouts.layouts("D0R2", NOWHERE) if x.release == "5.3")
    places = {f.name.removeprefix("SYTPRP_"): (f.offset, f.length) for f in d0r2.fields if not f.reserved}
    assert places["PFXCPUAD"] == (20, 2)
    assert places["PFXPRBTM"] == (24, 8)
    assert places["PFXUTIME"] == (32, 8)
    assert places["PFXTMSYS"] == (40, 8)
    assert places["PFXTOTWT"] == (68, 8)
    assert places["PFXCPUTY"] == (104, 1)


def test_record_header_is_read_without_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    real = toml.parse

    def parse(text: str) -> dict[str, object]:
        parsed.append(text)
        return real(text)

    layouts.clear_cache()
    monkeypatch.setattr(toml, "parse", parse)
    assert layouts.records(NOWHERE)
    assert parsed == []
    head = layouts.record_info("D0R2", NOWHERE)
    assert head is not None
    assert (head.dsect, head.title, head.kind) == ("MRSYTPRP", "Processor Data (Per Processor)", "sample")
    assert head.lengths["6.4"] == 352
    assert len(parsed) == 1
    assert "PFXUTIME" not in parsed[0]
    layouts.layouts("D0R2", NOWHERE)
    layouts.layouts("D0R2", NOWHERE)
    assert len(parsed) == 2, "a file is parsed once"


def test_unknown_record_has_no_layout() -> None:
    assert layouts.layouts("D31R999", NOWHERE) == []
    assert layouts.record_info("D31R999", NOWHERE) is None
    with pytest.raises(CatalogError, match="not a monitor record"):
        layouts.layouts("SYTPRP", NOWHERE)


def test_packs_add_layouts_and_records(tmp_path: Path) -> None:
    for pack, record in (("7.3", "d00r02"), ("6.4", "d00r02"), ("7.3", "d31r07")):
        (tmp_path / pack).mkdir(exist_ok=True)
        shutil.copy(layouts.MONITOR_FOLDER / "d00r02.toml", tmp_path / pack / f"{record}.toml")
    (tmp_path / "7.3" / "pack.toml").write_text("release = '7.3'\n", encoding="utf-8")
    (tmp_path / ".new-7.4-x").mkdir()
    assert layouts.packs(tmp_path) == ["6.4", "7.3"]
    assert [pack for pack, _ in layouts.files("D0R2", tmp_path)] == ["zlens", "6.4", "7.3"]
    assert {x.pack for x in layouts.layouts("D0R2", tmp_path)} == {"zlens", "6.4", "7.3"}
    assert layouts.records(tmp_path)[-1] == "D31R7"
    head = layouts.record_info("D31R7", tmp_path)
    assert head is not None
    assert head.pack == "7.3"


def test_pack_root_follows_user_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path))
    assert layouts.pack_root() == tmp_path / "packs"
    assert layouts.packs() == []
    monkeypatch.delenv("ZLENS_DATA")
    assert layouts.pack_root().name == "packs"


def test_clear_cache_rereads_changed_files(tmp_path: Path) -> None:
    path = tmp_path / "7.3" / "d00r02.toml"
    path.parent.mkdir()
    shutil.copy(layouts.MONITOR_FOLDER / "d00r02.toml", path)
    assert {x.pack for x in layouts.layouts("D0R2", tmp_path)} == {"zlens", "7.3"}
    path.write_text(
        path.read_text(encoding="utf-8").replace("length = 108", "length = 104"), encoding="utf-8"
    )
    layouts.clear_cache()
    assert 104 in {x.length for x in layouts.layouts("D0R2", tmp_path)}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("dsect =", 'record = "X"\ndsect =', "a monitor record: an id such as D0R2"),
        ('dsect = "MRSYTPRP"', "", "dsect is missing"),
        ('dsect = "MRSYTPRP"', "dsect = 5", "dsect is 5"),
        ('"5.4" = 124', '"5.4" = "124"', 'lengths.5.4 is "124"'),
        ("length = 108", "length = true", "d00r02.toml:12: layout[1].length is true"),
        ('"zpmd"', '"zpmd"\ncolor = 1', "layout[1].color is not known here"),
        ('"zpmd"', '"a page"', "layout[1].status is missing: how well it is known"),
        ("at = 20,", "at = '20',", 'layout[1].fields[1].at is "20"'),
        ("at = 20,", "at = -20,", "at is -20"),
        ("len = 2,", "len = 2, count = 99999999999,", "count is 99999999999"),
        ("len = 2,", "", "len is missing"),
        ("fields = [", "fields = [1,", "layout[1].fields[1] is 1; expected a table"),
        ('subject = ["SYTPRP_PFXCPUAD"]', "subject = [1]", "subject[1] is 1; expected a text"),
        ('"zpmd"', "\"zpmd\"\ncallevel = ['a']", "callevel"),
        ("[[layout]]", "[[layout", "not valid TOML"),
        ("[[layout]]", f"x = {'[' * 100_000}", "not valid TOML"),
    ],
)
def test_invalid_record_file_is_rejected(old: str, new: str, words: str) -> None:
    text = (layouts.MONITOR_FOLDER / "d00r02.toml").read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(CatalogError) as caught:
        layouts.parse(text.replace(old, new, 1), path="d00r02.toml")
    assert words in str(caught.value)


def test_binary_layout_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "d00r02.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CatalogError, match="cannot be read"):
        layouts.read(path)


def test_releases_are_in_order() -> None:
    releases = ["5.3", "5.4", "6.1", "6.4", "7.1", "7.3", "7.10"]
    assert sorted(["6.4", "7.10", "5.4", "7.3", "5.3", "6.1", "7.1"], key=layouts.release_key) == releases
    assert layouts.release_key(None) == ()


# Writing


def test_shipped_fields_are_as_imported_ones() -> None:
    for record in layouts.records(NOWHERE):
        path = layouts.MONITOR_FOLDER / layouts.file_name(record)
        written = record_file_writer.text(layouts.read(path))
        assert rows(written) == rows(path.read_text(encoding="utf-8")), record


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("    {")]


def test_layout_has_keys_of_shared_source() -> None:
    layout = next(one for one in layouts.layouts("D0R2", NOWHERE) if one.release == "5.3")
    assert layout.source.startswith("C declarations of zpmd for z/VM 5.3")
    assert (layout.status, layout.complete) == ("verified-secondary", True)
    stated = next(one for one in layouts.layouts("D6R21", NOWHERE) if one.release == "5.3")
    assert (stated.status, stated.complete) == ("verified-secondary", False)


def test_record_is_named_by_its_file() -> None:
    text = (layouts.MONITOR_FOLDER / "d00r02.toml").read_text(encoding="utf-8")
    assert layouts.parse(text, path="d31r07.toml").head.record == "D31R7"
    with pytest.raises(CatalogError, match="record is missing"):
        layouts.parse(text)


def test_record_file_is_written_atomically(tmp_path: Path) -> None:
    file = layouts.read(layouts.MONITOR_FOLDER / "d00r16.toml")
    path = tmp_path / "new" / "d00r16.toml"
    record_file_writer.save(file, path)
    assert layouts.read(path) == file
    assert [p.name for p in path.parent.iterdir()] == ["d00r16.toml"]


# Pages are read without NUL characters.
_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
_some_text = st.none() | _text
_number = st.integers(0, 4096)
_fields = st.builds(
    MonitorField,
    name=_text,
    offset=_number,
    length=_number,
    type=_text.map(lambda text: text or "signed"),
    kind=_text,
    kind_status=_text,
    unit=_some_text,
    text=_some_text,
    direction=_some_text,
    overlay=st.booleans(),
    count=st.integers(1, 4096),
    first=_number,
    note=_some_text,
    status=_text,
)
_sections = st.builds(
    MonitorSection,
    name=_text,
    title=_text,
    length=_number,
    offset=_number | _text,
    stride=_number | _text,
    count=st.none() | _number | _text,
    fields=st.lists(_fields, max_size=1).map(tuple),
    subject=st.lists(_text, max_size=2).map(tuple),
    subject_kind=_text.map(lambda text: text or None),
    match=st.none() | st.tuples(_text, _text),
    within=_text.map(lambda text: text or None),
    source=_text,
    status=_text,
    note=_text.map(lambda text: text or None),
)


@settings(max_examples=iterations(40, 15), deadline=None)
@given(st.lists(_fields, max_size=2), st.lists(_sections, max_size=1), _text, st.integers(0, 2))
def test_record_file_round_trips_any_text(
    some: list[MonitorField], sections: list[MonitorSection], text: str, copies: int
) -> None:
    named = {
        "record": "D3R4",
        "domain": 3,
        "number": 4,
        "dsect": text,
        "title": text,
        "kind": text,
        "pack": "p",
    }
    head = RecordInfo(
        **named, lengths={text: 1}, variable=bool(copies), note=text or None, changed_by={text: {"VM1": text}}
    )
    record_layouts = tuple(
        RecordLayout(
            **named,
            **{"release": f"{text}{i}", "length": i, "variable": bool(i), "complete": not i, "source": text},
            **{"status": text, "note": text or None, "fields": tuple(some), "subject": (), "reset_on": ()},
            **{"subject_kind": None, "sections": tuple(sections), "callevel": tuple(range(i))},
            stable_to=i or None,
        )
        for i in range(copies)
    )
    file = RecordFile(head, (), None, (), record_layouts)
    assert layouts.parse(record_file_writer.text(file), "p") == file


def test_record_file_writer_covers_field_members() -> None:
    field = MonitorField("N", 1, 2, "signed", "timer", "stated", "u", "t", "up", True, 3, 0, "n", "inferred")
    assert all(getattr(field, m.name) != m.default for m in members(MonitorField))
    named = {"record": "D3R4", "domain": 3, "number": 4, "dsect": "MRX", "title": "t", "kind": "sample"}
    head = RecordInfo(**named, pack="p")
    layout = RecordLayout(
        **named,
        **{
            "release": "5.3",
            "length": 30,
            "complete": True,
            "source": "s",
            "status": "verified",
            "pack": "p",
        },
        **{"fields": (field,), "subject": (), "subject_kind": None, "reset_on": (), "sections": ()},
    )
    assert layouts.parse(record_file_writer.text(RecordFile(head, (), None, (), (layout,))), "p").layouts == (
        layout,
    )


def test_channel_path_layout_fills_known_lengths() -> None:
    (layout,) = (one for one in layouts.layouts("D0R20", NOWHERE) if one.release == "5.3")
    sections = {section.name: section for section in layout.sections}
    for name in ("ECMENTRY", "CMCHARS"):
        assert max(field.end for field in sections[name].fields) == sections[name].length == 32
