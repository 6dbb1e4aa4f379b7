"""Tests that the catalog is consistent, and that an inconsistent file is reported with line and fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens.catalog import layouts, plans
from zlens.checks import records as check

NOWHERE = Path(__file__).parent / "no packs here"


def test_built_in_catalog_has_no_findings() -> None:
    assert check.check(NOWHERE) == []


def test_catalog_check_passes() -> None:
    assert check.check_catalog(NOWHERE) == []
    assert check.summary(NOWHERE).startswith("201 records with 183 layouts of 2,779 fields, 0 packs")


D0R2 = (layouts.MONITOR_FOLDER / "d00r02.toml").read_text(encoding="utf-8")
D0R16 = (layouts.MONITOR_FOLDER / "d00r16.toml").read_text(encoding="utf-8")
TMSYS = '    { name = "SYTPRP_PFXTMSYS", at = 40, len = 8, type = "character", kind = "timer"'
UTIME = '{ name = "SYTPRP_PFXUTIME", at = 32, len = 8'
CPUAD = '{ name = "SYTPRP_PFXCPUAD", at = 20, len = 2'


def found(text: str, tmp_path: Path, name: str = "d00r02.toml") -> list[check.CatalogIssue]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    layouts.clear_cache()
    return check.check_file(path, "p")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('dsect = "MRSYTPRP"', 'dsect = "SYTPRP"', "dsect is 'SYTPRP'"),
        ('kind = "sample"', 'kind = "samples"', "kind of the record"),
        ('title = "Processor Data (Per Processor)"', 'title = ""', "no title"),
        ('"5.4" = 124', '"V5" = 124', "the release 'V5'"),
        ('"5.4" = 124', '"5.4" = 12', "length of release 5.4 is 12"),
        ('"5.4" = 124', '"5.3" = 124', "has 108 bytes, the record page 124"),
        ('"7.5" = {}', '"V7" = {}', "changed_by has 'V7' with"),
        ("VM66678 =", "UM66678 =", "changed_by has '7.3' with UM66678"),
        ('release = "6.4"', 'release = "5.3"', "two layouts of 5.3"),
        ('release = "5.3"', 'release = "V5R3"', "not a release"),
        ("length = 108", "length = 5000", "has 5000 bytes"),
        ("length = 108", "length = 110", "no field covers bytes 108 to 110"),
        ("length = 108", "length = 106", "ends at 108, beyond the 106 bytes"),
        ('"zpmd"', '"zpmd"\nstatus = "sure"', "the status 'sure'"),
        ('"zpmd"', '"zpmd"\nstable_to = 4', "stable_to is 4"),
        ('"zpmd"', '"zpmd"\ncallevel = [-1]', "callevel[1] is -1"),
        ('subject = ["SYTPRP_PFXCPUAD"]', 'subject = ["SYTPRP_X"]', "SYTPRP_X of subject"),
        (UTIME, UTIME.replace("at = 32", "at = 36"), "overlap"),
        (UTIME, UTIME.replace("at = 32", "at = 36"), "no field covers bytes 32 to 36"),
        (UTIME, UTIME.replace("SYTPRP_PFXUTIME", "SYTPRP_PFXPRBTM"), "is defined twice"),
        (UTIME, UTIME.replace("SYTPRP_PFXUTIME", "SYTPRP PFXUTIME"), "not a field name"),
        (UTIME, UTIME.replace("SYTPRP_PFXUTIME", "OFFSET"), "the column offset"),
        (UTIME, UTIME.replace("SYTPRP_PFXUTIME", "SYTPRP_PFXRUNCI_D"), "the column sytprp_pfxrunci_d"),
        (UTIME, UTIME.replace("len = 8", 'len = 8, status = "sure"'), "the status 'sure'"),
        (UTIME, UTIME.replace("len = 8", "len = 4, count = 0"), "count is 0"),
        (UTIME, UTIME.replace("len = 8", "len = 0"), "no length and is not at the end"),
        (UTIME, UTIME.replace("len = 8", "len = 9"), "a timer of 9 bytes"),
        (CPUAD, CPUAD.replace("at = 20", "at = 18"), "inside the header"),
        (TMSYS, TMSYS.replace('"timer"', '"clock"'), "the kind 'clock'"),
        (TMSYS, TMSYS.replace('"timer"', '"unknown"'), "is unknown with status inferred"),
        (TMSYS, TMSYS.replace('"timer"', '"gauge"'), "the direction 'learn'"),
        (TMSYS, TMSYS.replace('"character"', '"float"'), "the type 'float'"),
        ('"stated", direction = "down"', '"stated"', "a timer without direction"),
        ('"stated", direction = "down"', '"sure", direction = "down"', "the kind_status 'sure'"),
        ('direction = "down", unit = "tod"', 'direction = "down", unit = "ns"', "the unit 'ns'"),
        ('direction = "down", unit = "tod"', 'direction = "down", unit = "hex"', "a timer in hex"),
        (
            'kind = "timer", kind_status = "stated", direction = "down"',
            'kind = "time", kind_status = "stated"',
            "is a",
        ),
        ("[[layout]]", "[[layout", "is not valid TOML"),
    ],
)
def test_invalid_record_file_is_reported(old: str, new: str, words: str, tmp_path: Path) -> None:
    assert old in D0R2
    messages = [str(one) for one in found(D0R2.replace(old, new, 1), tmp_path)]
    assert any(words in one for one in messages), messages
    assert all(one.startswith(str(tmp_path)) and ";" in one for one in messages)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "CPUDATA"', 'name = "CPU DATA"', "not a valid table name"),
        ("length = 40", "length = 0", "has 0 bytes"),
        ("length = 40", "length = 39", "beyond the 39 bytes"),
        ('\nstatus = "inferred"', '\nstatus = "guessed"', "the status 'guessed'"),
        ('offset = "SYTCUP_CALCPUOF"', 'offset = "SYTCUP_X"', "located by SYTCUP_X"),
        ('stride = "SYTCUP_CALCPULN"', "stride = -4", "stride is -4"),
        ('count = "SYTCUP_LCUPCPCT"', 'within = "OTHER"', "is within OTHER"),
        ('count = "SYTCUP_LCUPCPCT"', 'match = { field = "SYTCUP_X", hex = "00" }', "invalid match"),
        (
            'count = "SYTCUP_LCUPCPCT"',
            'match = { field = "SYTCUP_CALFLGS", hex = "0" }',
            "invalid match",
        ),
        ('subject = ["SYTCUP_LCUCPUID"]', 'subject = ["SYTCUP_X"]', "has the subject SYTCUP_X"),
        ("SYTCUP_LCUCFLGS", "SYTCUP_CALFLGS", "both define the column sytcup_calflgs"),
    ],
)
def test_invalid_section_is_reported(old: str, new: str, words: str, tmp_path: Path) -> None:
    assert old in D0R16
    messages = [str(one) for one in found(D0R16.replace(old, new, 1), tmp_path, "d00r16.toml")]
    assert any(words in one for one in messages), messages


def test_record_issue_has_line(tmp_path: Path) -> None:
    bad = D0R2.replace(TMSYS, TMSYS.replace('"timer"', '"clock"'), 1)
    one = found(bad, tmp_path)[0]
    assert one.line is not None
    assert "PFXTMSYS" in bad.splitlines()[one.line - 1]


def test_overlays_cover_fields(tmp_path: Path) -> None:
    lies = D0R2.replace(UTIME, UTIME.replace("len = 8", "len = 8, overlay = true"), 1)
    assert any("does not overlay a field" in one.what for one in found(lies, tmp_path))


def test_file_is_named_after_its_record(tmp_path: Path) -> None:
    named = f'record = "D0R2"\n{D0R2}'
    assert any("contains D0R2" in one.what for one in found(named, tmp_path, "d00r03.toml"))


def test_check_includes_packs(tmp_path: Path) -> None:
    (tmp_path / "7.3").mkdir()
    (tmp_path / "7.3" / "d00r02.toml").write_text(
        D0R2.replace("length = 108", "length = 100"), encoding="utf-8"
    )
    problems = check.check(tmp_path)
    assert problems
    assert all("7.3" in one.file for one in problems)


def test_record_skeleton_is_valid(tmp_path: Path) -> None:
    text = (layouts.MONITOR_FOLDER / "_skeleton.toml").read_text(encoding="utf-8")
    (layout,) = layouts.parse(text, path="d00r99.toml").layouts
    assert found(text, tmp_path, "d00r99.toml") == []
    assert plans.table_names([layout]) == ["d0r99", "d0r99_entries"]
    assert "D0R99" not in layouts.records(NOWHERE)
