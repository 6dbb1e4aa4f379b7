"""Tests of layout packs on disk: several packs, merges, atomic writes, and preserved user settings."""

from __future__ import annotations

import multiprocessing
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import page_render
import pytest
from msgspec.structs import replace

from zlens.catalog import layouts
from zlens.catalog.layout_selection import select_layout
from zlens.catalog.layouts import MonitorField, MonitorSection, RecordLayout
from zlens.errors import CatalogError
from zlens.record_pages import importer as pages
from zlens.record_pages import packs, record_file_writer

NOWHERE = Path("/nonexistent")


def layout_of(record: str) -> RecordLayout:
    return next(x for x in layouts.layouts(record, NOWHERE) if x.complete)


def with_new(layout: RecordLayout, name: str = "SYTPRP_NEW", text: str = "how much of it") -> RecordLayout:
    new = MonitorField(name, layout.length, 8, "unsigned", text=text)
    return replace(layout, fields=(*layout.fields, new), length=layout.length + 8)


def bring(
    base: Path, *record_layouts: RecordLayout, release: str = "7.3", new: bool = False
) -> pages.ImportReport:
    folder = base.parent / "pages"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for layout in record_layouts:
        (folder / f"{layout.dsect}.txt").write_text(
            page_render.page(layout, release=release), encoding="utf-8"
        )
    return pages.import_pages([folder], pack_root=base, replace=new)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "packs"


def seen(base: Path, record: str, name: str, pack: str = "7.3") -> MonitorField:
    layouts.clear_cache()
    field = next(x for x in layouts.layouts(record, base) if x.pack == pack).field(name)
    assert field is not None
    return field


def test_pack_root_is_user_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path))
    assert layouts.pack_root() == tmp_path / "packs"
    assert packs.installed_packs() == []
    monkeypatch.delenv("ZLENS_DATA")
    assert layouts.pack_root().parts[-2:] == ("zlens", "packs")


@pytest.mark.parametrize("text", ["7.3", "7.3.0", "V7R3", "v7r3.0", "z/VM 7.3", "07.03"])
def test_release_names_are_normalized(text: str) -> None:
    assert packs.release_name(text) == "7.3"


@pytest.mark.parametrize(
    "text", ["", "..", "../7.3", "7", "7.3/..", "7.3.0.0", "seven", "\0", "123.4", "7.3\n/x"]
)
def test_invalid_release_is_rejected(text: str, base: Path) -> None:
    with pytest.raises(CatalogError, match="not a z/VM release"):
        packs.release_name(text)
    with pytest.raises(CatalogError, match="not a z/VM release"):
        pages.import_pages([base], release=text, pack_root=base)


def test_pack_lists_its_pages(base: Path) -> None:
    bring(base, with_new(layout_of("D0R2")))
    [pack] = packs.installed_packs(base)
    [entry] = pack.pages
    assert (entry.record, entry.name, entry.file) == ("D0R2", "MRSYTPRP", "MRSYTPRP.txt")
    assert len(entry.sha256) == 64
    assert (entry.new, entry.findings) == (1, ())
    assert entry.when.endswith("Z")
    assert packs.load("7.3", base) == pack
    text = (base / "7.3" / "pack.toml").read_text(encoding="utf-8")
    assert 'release = "7.3"' in text
    assert "new_fields = 1" in text


def test_packs_of_several_releases_coexist(base: Path) -> None:
    bring(base, layout_of("D0R2"), release="6.4")
    bring(base, layout_of("D0R2"), release="7.3")
    (base / "made-by-hand").mkdir()
    (base / "made-by-hand" / "pack.toml").write_text("", encoding="utf-8")
    assert [pack.release for pack in packs.installed_packs(base)] == ["6.4", "7.3"]
    assert [x.pack for x in layouts.layouts("D0R2", base)][-2:] == ["6.4", "7.3"]


def test_repeated_import_replaces_only_its_record(base: Path) -> None:
    bring(base, layout_of("D0R2"), layout_of("D4R1"))
    bring(base, with_new(layout_of("D0R2")))
    [pack] = packs.installed_packs(base)
    assert pack.records == ["D0R2", "D4R1"]
    assert seen(base, "D0R2", "SYTPRP_NEW").offset == layout_of("D0R2").length
    assert [x.pack for x in layouts.layouts("D4R1", base)][-1] == "7.3"
    bring(base, layout_of("D0R3"), new=True)
    [pack] = packs.installed_packs(base)
    assert pack.records == ["D0R3"]
    assert not (base / "7.3" / "d04r01.toml").exists()


def test_null_record_loses_layout(base: Path, tmp_path: Path) -> None:
    bring(base, layout_of("D4R1"), layout_of("D0R2"))
    page = tmp_path / "null.txt"
    page.write_text(page_render.null_page("MRSYTPRP", 0, 2), encoding="utf-8")
    pages.import_pages([page], pack_root=base)
    [pack] = packs.installed_packs(base)
    assert (pack.records, pack.null_records) == (["D4R1"], ["D0R2"])
    assert not (base / "7.3" / "d00r02.toml").exists()


def test_truncated_page_does_not_replace_complete_one(base: Path, tmp_path: Path) -> None:
    layout = layout_of("D0R2")
    bring(base, layout)
    text = page_render.page(layout)
    cut = tmp_path / "cut.txt"
    cut.write_text(text[: text.index("SYTPRP_PFXSPINC")] + "\nbased on z/VM V7R3.0", encoding="utf-8")
    with pytest.raises(CatalogError, match="but the pack has the complete record"):
        pages.import_pages([cut], pack_root=base)
    report = pages.import_pages([cut], pack_root=base, replace=True)
    assert not layouts.layouts("D0R2", base)[-1].complete
    assert report.imported[0].findings


# User settings


def say(base: Path, text: str) -> list[str]:
    (base / "7.3" / "user.toml").write_text(text, encoding="utf-8")
    return packs.apply_user_settings("7.3", base)


def test_user_field_settings_survive_import(base: Path) -> None:
    bring(base, with_new(layout_of("D0R2")))
    assert seen(base, "D0R2", "SYTPRP_NEW").kind == "unknown"
    assert say(base, '[D0R2.SYTPRP_NEW]\nkind = "timer"\nunit = "tod"\ntext = "time of mine"\n') == []
    field = seen(base, "D0R2", "SYTPRP_NEW")
    assert (field.kind, field.kind_status, field.unit, field.direction) == ("timer", "stated", "tod", "learn")
    assert "set by the user" in (field.note or "")
    bring(base, with_new(layout_of("D0R2")))
    assert seen(base, "D0R2", "SYTPRP_NEW") == field
    bring(base, with_new(layout_of("D0R2")), new=True)
    assert seen(base, "D0R2", "SYTPRP_NEW") == field
    assert say(base, '[D0R2.SYTPRP_NEW]\nkind = "gauge"\n') == []
    assert seen(base, "D0R2", "SYTPRP_NEW").unit is None
    report = pages.import_pages([], release="7.3", pack_root=base)
    assert report.text() == f"user.toml applied to the pack {base / '7.3'}\n"


def test_new_pack_has_commented_user_file(base: Path) -> None:
    (own,) = layouts.sim_layouts("D5R13")
    fields = (replace(f, name=f.name.replace("PRCMFC_ZLCPUAD", "PRCMFC_NEWFIELD")) for f in own.fields)
    page = replace(own, release="7.3", fields=tuple(fields), subject=())
    bring(base, with_new(layout_of("D0R2")), layout_of("D0R16"), page)
    path = base / "7.3" / "user.toml"
    text = path.read_text(encoding="utf-8")
    assert "zlens catalog import --release 7.3" in text
    assert tomllib.loads(text) == {}
    # The examples apply once they have names of the pack.
    examples = [line[6:] for line in text.split("\n") if line.startswith("#     ")]
    said = "\n".join(examples).replace("SYTPRP_PFXNEW", "SYTPRP_NEW")
    said = said.replace("D6R99", "D0R2").replace("IODNEW_RDEVDEV", "SYTPRP_PFXCPUAD")
    assert say(base, said) == []
    assert seen(base, "D0R2", "SYTPRP_NEW").kind == "counter"
    bring(base, with_new(layout_of("D0R2")))
    assert path.read_text(encoding="utf-8") == said


def test_removed_user_setting_restores_import(base: Path) -> None:
    bring(base, with_new(layout_of("D0R2")))
    before = (base / "7.3" / "d00r02.toml").read_bytes()
    say(base, '[D0R2.SYTPRP_NEW]\nkind = "gauge"\n')
    assert (base / "7.3" / "imported" / "d00r02.toml").read_bytes() == before
    assert (base / "7.3" / "d00r02.toml").read_bytes() != before
    say(base, "")
    assert (base / "7.3" / "d00r02.toml").read_bytes() == before
    assert not (base / "7.3" / "imported").exists()


def test_user_sets_record_subject(base: Path) -> None:
    new = replace(
        layout_of("D0R2"),
        record="D6R99",
        domain=6,
        number=99,
        dsect="MRIODNEW",
        title="Something (Per Device)",
        fields=(
            MonitorField("IODNEW_RDEVDEV", 20, 2, "unsigned", text="device number"),
            MonitorField("*", 22, 2),
            MonitorField("IODNEW_COUNT", 24, 4, "unsigned", text="number of times it was used"),
        ),
        length=28,
    )
    bring(base, new)
    assert not seen(base, "D6R99", "IODNEW_COUNT").has_difference
    assert say(base, '[D6R99]\nsubject = ["IODNEW_RDEVDEV"]\nreset_on = []\n') == []
    assert seen(base, "D6R99", "IODNEW_COUNT").has_difference
    assert layouts.layouts("D6R99", base)[0].subject == ("IODNEW_RDEVDEV",)


def test_user_sets_section_location(base: Path) -> None:
    old = layout_of("D0R2")
    section = replace(
        layout_of("D0R16").sections[0],
        name="STANZA",
        offset="SYTPRP_PFXCPUAD",
        stride=8,
        count=1,
        length=8,
        fields=(MonitorField("SYTPRP_STCOUNT", 0, 8, "unsigned", text="cumulative count of things"),),
        subject=(),
        subject_kind=None,
    )
    bring(base, replace(old, sections=(section,), variable=True))
    layouts.clear_cache()
    [stored] = layouts.layouts("D0R2", base)[-1].sections
    assert (stored.name, stored.count) == ("STANZA", 0)
    assert "user.toml" in (stored.note or "")
    assert say(base, '[D0R2.section.STANZA]\noffset = "SYTPRP_PLSCUHAF"\nstride = 8\ncount = 2\n') == []
    layouts.clear_cache()
    [stored] = layouts.layouts("D0R2", base)[-1].sections
    assert (stored.offset, stored.stride, stored.count) == ("SYTPRP_PLSCUHAF", 8, 2)


def test_user_sets_section_subject(base: Path) -> None:
    entry = (
        MonitorField("SYTPRP_WHO", 0, 2, "unsigned"),
        MonitorField("SYTPRP_USES", 2, 4, "unsigned", text="number of times"),
    )
    section = MonitorSection(
        name="STANZA",
        title="one of them",
        length=6,
        offset=0,
        stride=6,
        fields=entry,
        source="",
        status="unverified",
    )
    bring(base, replace(layout_of("D0R2"), sections=(section,)))
    place = '[D0R2.section.STANZA]\noffset = "SYTPRP_PLSCUHAF"\nstride = 6\ncount = 2\n'
    assert say(base, place + 'subject = ["SYTPRP_WHO"]\n') == []
    layouts.clear_cache()
    [stored] = layouts.layouts("D0R2", base)[-1].sections
    assert stored.subject == ("SYTPRP_WHO",)
    assert [f.name for f in stored.fields if f.has_difference] == ["SYTPRP_USES"]
    assert say(base, place) == []
    layouts.clear_cache()
    [stored] = layouts.layouts("D0R2", base)[-1].sections
    assert not any(f.has_difference for f in stored.fields)


def test_user_sets_callevel_bits(base: Path) -> None:
    bring(base, with_new(layout_of("D0R2")))
    length = layout_of("D0R2").length + 8
    assert say(base, "[D0R2]\ncallevel = [9]\n") == []
    on, off = bytes([0, 0x40]), bytes([0, 0])
    packs_used = []
    for bits in (on, off, None):
        layout = select_layout("D0R2", length, callevel=bits, release="7.3", root=base).layout
        packs_used.append(layout and layout.pack)
    assert packs_used == ["7.3", "zlens", "zlens"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[D0R2.SYTPRP_NEW]\nkind = "speed"', "kind is 'speed'"),
        ("[D0R2.SYTPRP_NEW]\nkind = 3", "kind is 3"),
        ('[D0R2.SYTPRP_NEW]\ndirection = "left"', "direction is 'left'"),
        ("[D0R2.SYTPRP_NEW]\noffset = 4", "unknown key offset"),
        ('[D0R2.SYTPRP_GHOST]\nkind = "gauge"', "no field or section SYTPRP_GHOST"),
        ('[D0R99.X]\nkind = "gauge"', "no layout of 'D0R99'"),
        ('["../../etc"]\nkind = "gauge"', "no layout of '../../etc'"),
        ("D0R2 = 4", "is not a table"),
        ("[D0R2]\nsubject = 4", "subject is not a list"),
        ('[D0R2]\nsubject = ["GHOST"]', "subject names GHOST"),
        ("[D0R2]\nsection = 4", "is not a table"),
        ("[D0R2]\ncallevel = [-1]", "not a list of bit numbers"),
        ("[D0R2]\ncallevel = [true]", "not a list of bit numbers"),
        ("[D0R2]\ncallevel = 9", "not a list of bit numbers"),
        ('[D0R2.section.GHOST]\noffset = "X"', "no field or section GHOST"),
    ],
)
def test_invalid_user_setting_is_reported_and_rest_applies(base: Path, text: str, what: str) -> None:
    bring(base, with_new(layout_of("D0R2")), layout_of("D4R1"))
    wrong = say(base, text + '\n[D4R1.USELON_VMDUSER]\ntext = "mine"\n')
    assert len(wrong) == 1, wrong
    assert what in wrong[0]
    assert seen(base, "D4R1", "USELON_VMDUSER").text == "mine"
    assert seen(base, "D0R2", "SYTPRP_NEW").kind == "unknown"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[D0R2.SYTPRP_NEW]\ntext = "x"\n\n[D0R2.SYTPRP_GHOST]\nkind = "gauge"\n', 4),
        ('# x\n[D0R2]\nsubject = ["GHOST"]\n', 3),
        ('\nD0R99.X.kind = "gauge"\n', 2),
        ('[D0R2]\nSYTPRP_NEW.text = "x"\nSYTPRP_PFXUTIME = { kind = "speed" }\n', 3),
    ],
)
def test_invalid_user_setting_has_line(base: Path, text: str, line: int) -> None:
    bring(base, with_new(layout_of("D0R2")))
    [wrong] = say(base, text)
    assert wrong.startswith(f"user.toml:{line}: ")


def test_invalid_user_file_stops_import(base: Path) -> None:
    bring(base, layout_of("D0R2"))
    before = sorted((p.name, p.read_bytes()) for p in (base / "7.3").glob("d*.toml"))
    with pytest.raises(CatalogError, match="not valid TOML"):
        say(base, "this is = = not")
    with pytest.raises(CatalogError, match="correct the file or remove it"):
        bring(base, with_new(layout_of("D0R2")))
    assert sorted((p.name, p.read_bytes()) for p in (base / "7.3").glob("d*.toml")) == before


# Atomic writes


def files(base: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(base)): p.read_bytes()
        for p in sorted(base.rglob("*"))
        if p.is_file() and p.name != ".lock"
    }


def interrupted(at: int, function: Callable[..., object], error: BaseException) -> Callable[..., object]:
    """Return the function, failing at its n-th call."""
    calls = [0]

    def stopped(*args: object, **options: object) -> object:
        calls[0] += 1
        if calls[0] == at:
            raise error
        return function(*args, **options)

    return stopped


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("place", ["save", "rename", "write_text"])
def test_interrupted_import_leaves_pack_unchanged(
    base: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, at: int, place: str
) -> None:
    bring(base, layout_of("D0R2"), layout_of("D0R3"), layout_of("D4R1"))
    before = files(base)
    owner = record_file_writer if place == "save" else Path
    monkeypatch.setattr(owner, place, interrupted(at, getattr(owner, place), error))
    try:
        bring(base, with_new(layout_of("D0R2")), with_new(layout_of("D0R3")), layout_of("D3R1"))
    except (KeyboardInterrupt, CatalogError, OSError):
        assert files(base) == before
    monkeypatch.undo()
    assert [p.name for p in base.iterdir() if p.name != ".lock"] == ["7.3"]
    bring(base, with_new(layout_of("D0R2")))
    assert seen(base, "D0R2", "SYTPRP_NEW").length == 8


def test_killed_import_is_repaired(base: Path) -> None:
    bring(base, layout_of("D0R2"))
    before = files(base)
    (base / "7.3").rename(base / ".old-7.3-abc")
    (base / ".new-7.3-abc").mkdir()
    bring(base, layout_of("D4R1"), release="7.2")
    now = files(base)
    assert {name: data for name, data in now.items() if name.startswith("7.3/")} == before
    assert not [p for p in base.iterdir() if p.name.startswith((".old-", ".new-"))]


def _bring_one(base: Path, record: str) -> None:
    layout = layout_of(record)
    page = base.parent / f"{record}.txt"
    page.write_text(page_render.page(layout), encoding="utf-8")
    pages.import_pages([page], pack_root=base)


def test_concurrent_imports_keep_all_records(base: Path) -> None:
    records = ["D0R2", "D0R3", "D4R1", "D3R1"]
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_bring_one, args=(base, record)) for record in records]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
        assert worker.exitcode == 0
    [pack] = packs.installed_packs(base)
    assert sorted(pack.records) == sorted(records)


def test_import_into_existing_file_is_error(tmp_path: Path) -> None:
    (tmp_path / "packs").write_text("not a folder")
    with pytest.raises(CatalogError, match="cannot be written"):
        packs.save("7.3", [], [], base=tmp_path / "packs")


@pytest.mark.parametrize("text", ["[[page]]", "page = 4", "page = [4]", "= =", "\udcff"])
def test_invalid_pack_file_is_error_until_next_import(base: Path, text: str) -> None:
    bring(base, layout_of("D0R2"))
    (base / "7.3" / "pack.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(CatalogError, match="import the pages again"):
        packs.load("7.3", base)
    bring(base, layout_of("D0R2"))
    assert packs.load("7.3", base).records == ["D0R2"]
