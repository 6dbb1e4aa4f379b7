"""Tests of the pack of synthetic layouts, which only synthetic files use."""

from __future__ import annotations

from pathlib import Path

import pytest

import monwrite_builder as monwrite
import record_encoder
import zlens
from zlens.catalog import layout_selection, layouts, plans, roles
from zlens.checks import records as check
from zlens.cli import main
from zlens.compiler.roles import rows
from zlens.explain import layouts as describe

NOWHERE = Path(__file__).parent / "no packs here"

OWN = (
    """\
length = 40
source = "zlens' own layout"
fields = [
    { name = "SYTPRP_PFXCPUAD", at = 20, len = 2, type = "unsigned", KIND "identifier", STATED },
    { name = "*", at = 22, len = 2 },
    { name = "SYTPRP_ZLOWN", at = 24, len = 8, type = "unsigned", KIND "counter", STATED, unit = "count" },
    { name = "SYTPRP_PFXUTIME", at = 32, len = 8, type = "unsigned", KIND "timer", STATED, UP, unit = "tod" },
]
""".replace("KIND", "kind =")
    .replace("STATED", 'kind_status = "stated"')
    .replace("UP", 'direction = "up"')
)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of synthetic layouts with only one, of D0R2."""
    folder = tmp_path / "sim"
    folder.mkdir()
    (folder / "d00r02.toml").write_text(OWN, encoding="utf-8")
    monkeypatch.setattr(layouts, "SIM_FOLDER", folder)
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path / "data"))
    layouts.clear_cache()
    return folder


def written(path: Path, config: dict[str, str] | None, record: str = "sim") -> Path:
    """Write two intervals of one processor with records in the synthetic layout or the layout of 5.3."""
    make = monwrite.sim_record if record == "sim" else monwrite.record
    groups = [monwrite.configuration(monwrite.START_US, config)]
    for minute in range(3):
        end = monwrite.START_US + minute * monwrite.MINUTE_US
        values = {"SYTPRP_PFXCPUAD": 1, "SYTPRP_PFXUTIME": minute * 30 * monwrite.TOD_S}
        if record == "sim":
            values["SYTPRP_ZLOWN"] = 600 * minute
        groups.append(monwrite.interval(end, [make("D0R2", end - 100, values)]))
    return monwrite.write(path, groups)


def test_synthetic_file_uses_synthetic_pack(own: Path, tmp_path: Path) -> None:
    with zlens.open([written(tmp_path / "sim.mon", dict(monwrite.SIM_CONFIG))]) as session:
        rows = session.sql(
            "SELECT sytprp_zlown, sytprp_zlown_d, sytprp_pfxutime_d FROM d0r2 ORDER BY tod"
        ).rows
        assert rows[2] == (1200, 600, 30 * monwrite.TOD_S)
        assert session.sql("SELECT system, release FROM system").rows == [("SIMTEST", "zlens-sim")]
        # Other packs decode records that this pack does not describe.
        listed = dict(session.sql("SELECT name, layout FROM inventory").rows)
        assert (listed["D0R2"], listed["D1R4"]) == ("zlens-sim", "zlens 5.3")


@pytest.mark.parametrize("mark", ["5.3.0", "ZLENS-SI", "zlenssim", "ZLENSSI"])
def test_real_file_ignores_synthetic_pack(own: Path, tmp_path: Path, mark: str) -> None:
    config = {"MTRSYS_SYSTMID": "SIMTEST", "MTRSYS_HCPCPEID": mark}
    with zlens.open([written(tmp_path / "real.mon", config)]) as session:
        assert "sytprp_zlown" not in session.sql("FROM d0r2").columns
        assert session.sql("SELECT layout FROM inventory WHERE name = 'D0R2'").rows == [("zlens 5.3",)]


def test_file_without_configuration_is_not_synthetic(own: Path, tmp_path: Path) -> None:
    with zlens.open([written(tmp_path / "bare.mon", None)]) as session:
        assert "sytprp_zlown" not in session.sql("FROM d0r2").columns


@pytest.mark.parametrize("first", ["real.mon", "aside.mon"])
def test_synthetic_file_is_separate_system(own: Path, tmp_path: Path, first: str) -> None:
    name = {"MTRSYS_SYSTMID": "SAME"}
    written(tmp_path / first, {**name, "MTRSYS_HCPCPEID": "5.3.0"}, "5.3")
    written(tmp_path / "made.mon", {**name, "MTRSYS_HCPCPEID": "ZLENSSIM"})
    with zlens.open([tmp_path / first, tmp_path / "made.mon"]) as session:
        systems = session.sql("SELECT system, release FROM system ORDER BY system").rows
        assert systems == [("SAME", "5.3"), ("SAME-zlens-sim", "zlens-sim")]
        busy = session.sql("SELECT DISTINCT system FROM d0r2 WHERE sytprp_zlown IS NOT NULL").rows
        assert busy == [("SAME-zlens-sim",)]


@pytest.mark.parametrize("first", ["real", "made"])
def test_synthetic_file_is_separate_system_in_lake(
    own: Path, tmp_path: Path, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = {"MTRSYS_SYSTMID": "SAME"}
    files = {
        "real": written(tmp_path / "real.mon", {**name, "MTRSYS_HCPCPEID": "5.3.0"}, "5.3"),
        "made": written(tmp_path / "made.mon", {**name, "MTRSYS_HCPCPEID": "ZLENSSIM"}),
    }
    second = {"real": "made", "made": "real"}[first]
    lake = str(tmp_path / "lake")
    assert main(["import", str(files[first]), "--lake", lake]) == 0
    capsys.readouterr()
    assert main(["import", str(files[second]), "--lake", lake]) == 2
    assert "SAME is in the lake with data " in capsys.readouterr().err
    with zlens.open([lake]) as session:
        assert [info.release for info in session.systems] == [{"real": "5.3", "made": "zlens-sim"}[first]]


def test_synthetic_layout_is_selected_only_for_its_release(own: Path) -> None:
    chosen = layout_selection.select_layout("D0R2", 40, release="zlens-sim", root=NOWHERE)
    assert chosen.layout is not None
    assert (chosen.layout.pack, chosen.problems) == ("zlens-sim", ())
    for release in (None, "5.3", "7.3"):
        layout = layout_selection.select_layout("D0R2", 40, release=release, root=NOWHERE).layout
        assert layout is not None
        assert layout.pack == "zlens"
    assert [one.pack for one in layouts.layouts("D0R2", NOWHERE)] == ["zlens", "zlens"]


def test_release_conditions_exclude_synthetic_pack(own: Path) -> None:
    columns = {"d0r2": frozenset({"sytprp_pfxcpuad"})}
    wanted = roles.entity("processor").roles
    before = rows("processor", wanted, columns, {"5.3": ["A"]}).sql
    synthetic_sql = rows("processor", wanted, columns, {"zlens-sim": ["A"]}).sql
    assert "CAST(0 AS BIGINT)" in before
    assert "CAST(0 AS BIGINT)" not in synthetic_sql


def test_catalog_show_prints_synthetic_layout(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "show", "D0R2", "--release", "zlens-sim"]) == 0
    said = capsys.readouterr().out
    assert "Layout of release zlens-sim (zlens' own, for synthetic files): 40 bytes, complete" in said
    assert "SYTPRP_ZLOWN" in said
    assert "SYTPRP_PFXPRBTM" not in said
    assert "does not describe D0R1" in describe.describe("D0R1", "zlens-sim", NOWHERE)
    assert "ZLOWN" not in describe.describe("D0R2", None, NOWHERE)


def test_info_names_synthetic_pack(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sim = written(tmp_path / "sim.mon", dict(monwrite.SIM_CONFIG))
    assert main(["info", str(sim)]) == 0
    assert "written with zlens' own pack" in capsys.readouterr().out
    real = written(tmp_path / "real.mon", dict(monwrite.CONFIG), "5.3")
    assert main(["info", str(real)]) == 0
    assert "own pack" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "timer"', 'kind = "counter"', "SYTPRP_PFXUTIME is a timer"),
        ("length = 40", "length = 44", "no field covers bytes 40 to 44"),
        ("length = 40", 'extends = "7.9"\nlength = 40', 'extends is "7.9"'),
    ],
)
def test_check_finds_invalid_synthetic_layout(own: Path, old: str, new: str, words: str) -> None:
    assert check.check_sim(own / "d00r02.toml") == []
    (own / "d00r02.toml").write_text(OWN.replace(old, new), encoding="utf-8")
    layouts.clear_cache()
    assert any(words in str(finding) for finding in check.check(NOWHERE))


def test_synthetic_layout_needs_real_record_file(own: Path) -> None:
    (own / "d00r99.toml").write_text(OWN, encoding="utf-8")
    assert any("no real layout file describes D0R99" in str(one) for one in check.check(NOWHERE))


def test_real_layout_cannot_use_synthetic_release(own: Path, tmp_path: Path) -> None:
    text = (layouts.MONITOR_FOLDER / "d00r02.toml").read_text(encoding="utf-8")
    path = tmp_path / "d00r02.toml"
    path.write_text(text.replace('release = "5.3"', 'release = "zlens-sim"'), encoding="utf-8")
    assert any("and only it" in finding.what for finding in check.check_file(path, "7.3"))


def test_synthetic_layout_extends_real_one(own: Path) -> None:
    """Own fields take the bytes of those at the same place; the others and the subject are the record's."""
    path = own / "d00r02.toml"
    path.write_text(OWN.replace("length = 40", 'extends = "5.3"\nlength = 108'), encoding="utf-8")
    layouts.clear_cache()
    (layout,) = layouts.sim_layouts("D0R2")
    real = next(one for one in layouts.layouts("D0R2", NOWHERE) if one.release == "5.3")
    names = [field.name for field in layout.fields]
    assert names[:5] == ["SYTPRP_PFXCPUAD", "*", "SYTPRP_ZLOWN", "SYTPRP_PFXUTIME", "SYTPRP_PFXTMSYS"]
    assert names[5:] == [field.name for field in real.fields if field.offset > 40]
    assert (layout.subject, layout.subject_kind, layout.status) == (real.subject, "processor", "constructed")
    assert check.check_sim(path) == []


def test_synthetic_layout_keeps_other_sections(own: Path) -> None:
    real = layouts.layouts("D0R16", NOWHERE)[0]
    (own / "d00r16.toml").write_text(
        f'extends = "{real.release}"\nlength = {real.length}\nsource = "zlens\' own layout"\n',
        encoding="utf-8",
    )
    layouts.clear_cache()
    assert layouts.sim_layouts("D0R16")[0].sections == real.sections


@pytest.mark.parametrize("record", layouts.sim_records())
def test_synthetic_layouts_round_trip(record: str) -> None:
    path = layouts.SIM_FOLDER / layouts.file_name(record)
    assert check.check_sim(path) == []
    (layout,) = layouts.sim_layouts(record)
    alone = [f for f in layout.fields if not (f.overlay or f.reserved)]
    values = {f.name: 1 for f in alone if f.type == "unsigned" and f.count == 1 and 1 <= f.length <= 8}
    data = record_encoder.encode(layout, values, tod=1 << 63)
    assert {name: plans.decode(layout, data)[name] for name in values} == values


def test_explain_shows_synthetic_only_field(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "SYTPRP_ZLOWN"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "D0R2 SYTPRP_ZLOWN: meaning not known" in said
    assert (
        "in no known layout except that of synthetic files (zlens-sim); the record page MRSYTPRP of your"
        in said
    )
    assert main(["explain", "SYTPRP_PFXUTIME"]) == 0
    assert "z/VM 5.3, 6.4: byte 32, 8 bytes" in capsys.readouterr().out
