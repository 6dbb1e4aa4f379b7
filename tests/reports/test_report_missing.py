"""Tests of missing data of reports: records, roles, and why."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import monwrite_builder as monwrite
import zlens
from zlens.catalog import layouts
from zlens.catalog.reports import definition
from zlens.cli import main
from zlens.explain import missing_data


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path / "data"))
    layouts.clear_cache()
    return tmp_path / "data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three reports: one of processors, one of guests, and one whose columns name no measures."""
    here = tmp_path / "reports"
    here.mkdir()
    for name in ("prclog", "user"):
        shutil.copy(definition.files()[name], here)
    (here / "links.toml").write_text(
        """title = "Links"
text = "x"
source = "x"
status = "derived"
needs = "x"

[[tables]]
key = "x"
query = "SELECT system, 'x' AS p FROM role.isfc_link"
subject = ["p"]

[tables.columns]
p = { heading = "P", width = 8, type = "text", text = "x", source_note = "x", status = "derived" }

[[tables.rows]]
kind = "row"

[[absent]]
columns = ["Q"]
role = "x"
why = "x"
""",
        encoding="utf-8",
    )
    return here


def found(file: Path, folder: Path) -> dict[str, missing_data.MissingReportData]:
    with zlens.open([file]) as session:
        (source,) = session._core.sources
        tables = {
            name: frozenset(column for column, _ in session._core.engine.raw_columns(name))
            for name in source.tables
        }
        records = frozenset(row.name for row in source.inventory())
        listed = missing_data.missing_by_report(
            session._core, missing_data.AvailableData(tables, records), folder
        )
    return {one.entry.name: one for one in listed}


def processors(tmp_path: Path) -> Path:
    return monwrite.write(
        tmp_path / "x.mon", [monwrite.configuration(monwrite.START_US), *monwrite.minutes(3)]
    )


def test_missing_records_and_unbound_roles(tmp_path: Path, folder: Path) -> None:
    one = found(processors(tmp_path), folder)
    assert "D4R3" in one["user"].records
    assert one["user"].entry.state == "none"
    assert "processor.polarity" in one["prclog"].roles
    assert "(page MRSYTPRP)" in one["prclog"].missing["processor.polarity"].why
    # Roles with values are not missing.
    assert not {"processor.user_time", "processor.wait_time"} & set(one["prclog"].missing)
    text = missing_data.format_missing(list(one.values()))
    assert "  D4R3    User Activity Data\n" in text
    assert "\n  processor.polarity\n      " in text


def test_report_without_measures_names_missing_records(tmp_path: Path, folder: Path) -> None:
    one = found(processors(tmp_path), folder)["links"]
    assert one.records
    assert not one.roles
    assert all(layouts.record_info(record) is not None for record in one.records)
    assert (
        "  links  0 of 2 columns (no data, 1 have no public source)\n         missing: D"
        in missing_data.format_missing([one])
    )


def test_existing_record_is_not_missing(tmp_path: Path, folder: Path) -> None:
    bare = monwrite.bare_event("D9R4", monwrite.START_US + 30 * monwrite.S_US)
    groups = [monwrite.configuration(monwrite.START_US), *monwrite.minutes(2), bare]
    one = found(monwrite.write(tmp_path / "x.mon", groups), folder)["links"]
    assert one.records == []
    assert one.missing["isfc_link"].why == "no layout of D9R4 is known (page MRISFNOD)"


def test_field_of_pack_is_not_missing(tmp_path: Path, folder: Path) -> None:
    groups = [monwrite.configuration(monwrite.START_US, monwrite.SIM_CONFIG)]
    for minute in range(3):
        end = monwrite.START_US + minute * monwrite.MINUTE_US
        groups.append(
            monwrite.interval(end, [monwrite.sim_record("D0R2", end - 100, {"SYTPRP_PFXCPUAD": 1})])
        )
    one = found(monwrite.write(tmp_path / "x.mon", groups), folder)["prclog"]
    assert "processor.polarity" not in one.roles


@pytest.fixture
def few(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of a few reports, to which the command is limited."""
    monkeypatch.setattr(missing_data, "FOLDER", folder)
    return definition.names(folder)


def test_needs_lists_pages_and_reports(
    tmp_path: Path, few: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", "needs", str(processors(tmp_path))]) == 0
    said = capsys.readouterr().out
    assert "every byte of its records has a layout\n\nReports of this input\n" in said
    for name in few:
        assert f"\n  {name} " in said
    assert max(map(len, said.split("\n"))) <= 140


def test_needs_of_synthetic_file_and_lake(
    tmp_path: Path, few: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    groups = [monwrite.configuration(monwrite.START_US, monwrite.SIM_CONFIG), *monwrite.minutes(2)]
    sim = monwrite.write(tmp_path / "sim.mon", groups)
    assert main(["catalog", "needs", str(sim)]) == 0
    assert capsys.readouterr().out.startswith(
        "SIMTEST was written with zlens' own pack: no page describes it\n\nRep"
    )
    lake = tmp_path / "lake"
    assert main(["import", str(processors(tmp_path)), "--lake", str(lake)]) == 0
    capsys.readouterr()
    assert main(["catalog", "needs", str(lake)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("\nReports of this input\n")
    assert "\n  D4R3    User Activity Data\n" in said


def test_catalog_show_lists_user_files(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "show"]) == 0
    said = capsys.readouterr().out
    assert f"Your roles ({data / 'roles.toml'})\n  none" in said
    assert "(zlens-sim)\n  D0R2, " in said
    data.mkdir()
    (data / "roles.toml").write_text('[guest]\nlocked = { field = "USEACT_X" }\n', encoding="utf-8")
    assert main(["catalog", "show"]) == 0
    assert "\n  guest.locked: USEACT_X of d4r3\n" in capsys.readouterr().out
