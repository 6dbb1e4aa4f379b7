"""Tests of consolidation: one file per measure and day for many systems, same rows, fewer files."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import quick_subset
from lake_builder import recording, write
from zlens import lake, stores
from zlens.errors import InputError
from zlens.inputs.options import Options, parse_time_spec
from zlens.lake import file_names, rollup_reader
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.manifest import Manifest
from zlens.stores import bucket_sql, consolidation

SYSTEMS = ["FIRST", "SECOND", "THIRD", "FOURTH"]
QUERY = "SELECT * FROM cpu_hour ORDER BY ALL"


@pytest.fixture(autouse=True)
def three_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rollup_reader, consolidation):
        monkeypatch.setattr(module, "MIN_CONSOLIDATED_SYSTEMS", 3)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A read-only lake of four systems with an hour of one day, rolled up."""
    folder = tmp_path_factory.mktemp("gathering")
    into = folder / "lake"
    lake.add([system_recording(folder, name) for name in SYSTEMS], into)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bucket_sql, "measures", lambda: ["cpu", "guest", "load"])
        for module in (rollup_reader, consolidation):
            patch.setattr(module, "MIN_CONSOLIDATED_SYSTEMS", 3)
        stores.rollup(into)
    return into


@pytest.fixture
def lake_copy(original: Path, tmp_path: Path, few_measures: None) -> Path:
    """A copy of `original` that a test may change."""
    return shutil.copytree(original, tmp_path / "lake")


def system_recording(folder: Path, system: str, begin: int = 0, end: int = 6) -> str:
    return write(folder / f"{system}{begin}.data", recording(range(begin, end), system=system))


def rows(lake_copy: Path, query: str = QUERY, options: Options | None = None) -> list[tuple[Any, ...]]:
    with zlens.open(lake_copy, options=options) as session:
        found = session.sql(query).rows
    del session
    # Without readers, replaced files can be removed.
    gc.collect()
    return found


def apart(
    lake_copy: Path, monkeypatch: pytest.MonkeyPatch, options: Options | None = None
) -> list[tuple[Any, ...]]:
    """Return the rows read from each system's own files."""
    with monkeypatch.context() as alone:
        alone.setattr(rollup_reader, "MIN_CONSOLIDATED_SYSTEMS", 1_000)
        return rows(lake_copy, options=options)


def files(lake_copy: Path, options: Options | None = None) -> list[str]:
    """Return the files that provide the hour rows."""
    with zlens.open(lake_copy, options=options) as session:
        found = [path for table in session._core.sources[-1].tables["cpu_hour"] for path in table.paths]  # type: ignore[attr-defined]
    del session
    gc.collect()
    return found


def test_consolidated_systems_are_read_from_one_file(
    lake_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = files(lake_copy)
    assert "system=" not in path
    found = rows(lake_copy)
    assert found == apart(lake_copy, monkeypatch)
    assert {row[0] for row in found} == {*SYSTEMS}
    assert lake.check(lake_copy).faults == []


@pytest.mark.parametrize(
    "options",
    quick_subset(
        1,
        [
            Options(systems=("FIRST", "THIRD", "FOURTH")),
            Options(end=parse_time_spec("2026-03-02 10:30"), utc=True),
            Options(systems=("SECOND",)),
            Options(start=parse_time_spec("2026-03-02 09:00"), utc=True),
        ],
    ),
)
def test_options_choose_same_rows(lake_copy: Path, options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    if options.systems:
        assert ("system=" not in files(lake_copy, options)[0]) == (len(options.systems) >= 3)
    assert rows(lake_copy, options=options) == apart(lake_copy, monkeypatch, options)


@pytest.mark.long
def test_changed_system_is_read_from_own_files(
    lake_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Consolidated files have the system's old rows until the next consolidation."""
    before = names_of(lake_copy)
    lake.add([system_recording(tmp_path, "SECOND", 6, 12)], lake_copy)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(consolidation, "consolidate", lambda *_: None)
        stores.rollup(lake_copy)
    assert names_of(lake_copy) == before
    assert ["system=" in path for path in files(lake_copy)] == [False, True]
    found = rows(lake_copy)
    assert found == apart(lake_copy, monkeypatch)
    stores.rollup(lake_copy)
    assert names_of(lake_copy) != before
    assert len(files(lake_copy)) == 1
    assert rows(lake_copy) == found
    assert not before & {path.name for path in (lake_copy / file_names.MEASURES / "_gathered").iterdir()}
    assert lake.check(lake_copy).faults == []


@pytest.mark.long
def test_changed_systems_cause_consolidation_of_day(
    lake_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidation, "_SHARE", 2)
    before = names_of(lake_copy)
    lake.add([system_recording(tmp_path, "SECOND", 6, 12)], lake_copy)
    stores.rollup(lake_copy)
    assert names_of(lake_copy) == before
    assert rows(lake_copy) == apart(lake_copy, monkeypatch)
    lake.add([system_recording(tmp_path, "FIRST", 6, 12)], lake_copy)
    stores.rollup(lake_copy)
    assert names_of(lake_copy) != before
    assert len(files(lake_copy)) == 1
    assert rows(lake_copy) == apart(lake_copy, monkeypatch)


def names_of(lake_copy: Path) -> set[str]:
    return {f"{one.day}.{one.key}.json" for one in LakeFolder(lake_copy).load().gathered.values()}


def test_few_or_unchanged_systems_are_not_consolidated(
    lake_copy: Path, tmp_path: Path, few_measures: None
) -> None:
    before = (lake_copy / file_names.MANIFEST).read_bytes()
    stores.rollup(lake_copy)
    assert (lake_copy / file_names.MANIFEST).read_bytes() == before
    few = tmp_path / "few"
    lake.add([system_recording(tmp_path, name) for name in SYSTEMS[:2]], few)
    stores.rollup(few)
    assert LakeFolder(few).load().gathered == {}


def test_rows_of_removed_system_are_removed(lake_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.forget(lake_copy, Options(systems=("FIRST",)))
    gc.collect()
    assert {row[0] for row in rows(lake_copy)} == {*SYSTEMS} - {"FIRST"}
    assert LakeFolder(lake_copy).load().gathered == {}
    stores.rollup(lake_copy)
    assert {row[0] for row in rows(lake_copy)} == {*SYSTEMS} - {"FIRST"}
    # The files with its rows are deleted, not only unlisted.
    assert len([*(lake_copy / file_names.MEASURES / "cpu_hour").glob("day=*/*.parquet")]) == 1
    assert lake.check(lake_copy).faults == []


def test_changed_consolidated_file_is_reported(lake_copy: Path) -> None:
    [path] = (lake_copy / file_names.MEASURES / "cpu_hour").glob("day=*/*.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    with (
        zlens.open(lake_copy) as session,
        pytest.raises(InputError, match="not the file that the manifest lists"),
    ):
        session.sql(QUERY)
    assert [fault.kind for fault in lake.check(lake_copy).faults] == ["changed"]
    [document] = (lake_copy / file_names.MEASURES / "_gathered").iterdir()
    document.write_text("{}")
    with (
        zlens.open(lake_copy) as session,
        pytest.raises(InputError, match="not the file that the manifest lists"),
    ):
        session.sql(QUERY)


@pytest.mark.long
def test_system_with_other_columns_keeps_own_files(
    tmp_path: Path, few_measures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measures computed by earlier rules may have other columns."""
    from zlens.lake.documents import MeasuresDocument

    into = tmp_path / "lake"
    lake.add([system_recording(tmp_path, name) for name in SYSTEMS], into)
    schemas = {"cpu_hour": "0" * 16}
    usual = consolidation._usual

    def of_the_first(documents: Any) -> dict[str, str]:
        found = [*documents]
        found[0].schemas = found[0].schemas | schemas
        return usual(found)

    monkeypatch.setattr(consolidation, "_usual", of_the_first)
    stores.rollup(into)
    (entry,) = LakeFolder(into).load().gathered.values()
    stored = LakeFolder(into).gathered(entry)
    assert [system for system, _ in stored.members] == ["FOURTH", "SECOND", "THIRD"]
    assert {row[0] for row in rows(into)} == {*SYSTEMS}
    assert isinstance(
        LakeFolder(into).measures(LakeFolder(into).load().rollups["FIRST", entry.day]), MeasuresDocument
    )


@pytest.mark.long
def test_interrupted_consolidation_is_repeated(
    tmp_path: Path, few_measures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = tmp_path / "lake"
    lake.add([system_recording(tmp_path, name) for name in SYSTEMS], into)
    replace = LakeFolder._replace

    def interrupted(self: LakeFolder, current: Manifest, folder: Path) -> None:
        if current.gathered:
            raise KeyboardInterrupt
        replace(self, current, folder)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(LakeFolder, "_replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stores.rollup(into)
    assert LakeFolder(into).load().gathered == {}
    assert lake.check(into).faults == []
    found = rows(into)
    stores.rollup(into)
    assert len(files(into)) == 1
    assert rows(into) == found


def test_files_of_killed_process_belong_to_lake() -> None:
    """The next import removes the lake's files that its plan names."""
    key = "0123456789abcdef"
    assert file_names.is_own(file_names.gathered("cpu_hour", "2026-03-02", key))
    assert file_names.is_own(file_names.gathered_document("2026-03-02", key))
    assert not file_names.is_own(file_names.gathered("cpu_hour", "../..", key))
