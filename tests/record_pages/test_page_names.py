"""Tests of fields with only a synthetic name: the user names the field of the record page."""

from __future__ import annotations

from pathlib import Path

import page_render
import pytest
from msgspec.structs import replace

import cpumf_records
import monwrite_builder as monwrite
import record_encoder
import zlens
from zlens import _native
from zlens.catalog import layouts
from zlens.catalog.layouts import RecordLayout
from zlens.record_pages import importer as pages
from zlens.record_pages import packs

RECORD = "D5R13"


def page_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[RecordLayout, dict[str, str], Path]:
    """Import a page of the record, with other names than the synthetic ones, as a pack of 7.3."""
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path / "data"))
    layouts.clear_cache()
    (own,) = layouts.sim_layouts(RECORD)
    names = {field.name: field.name.replace("_ZL", "_X") for field in own.fields if "_ZL" in field.name}
    fields = tuple(replace(field, name=names.get(field.name, field.name)) for field in own.fields)
    there = replace(own, fields=fields, release="7.3", subject=(), reset_on=())
    (tmp_path / "page.txt").write_text(page_render.page(there, release="7.3"), encoding="utf-8")
    report = pages.import_pages([tmp_path / "page.txt"])
    assert not report.skipped
    return there, names, layouts.pack_root() / "7.3" / packs.USER_FILE


def issues_of_names(path: Path, names: dict[str, str]) -> list[str]:
    lines = "".join(f'{ours} = "{theirs}"\n' for ours, theirs in names.items())
    path.write_text(f"[{RECORD}.names]\n{lines}", encoding="utf-8")
    wrong = packs.apply_user_settings("7.3")
    layouts.clear_cache()
    return list(wrong)


def file(path: Path, layout: RecordLayout, names: dict[str, str]) -> Path:
    def make(_: str, time_us: int, values: object) -> bytes:
        given = {names.get(name, name): value for name, value in dict(values).items()}  # type: ignore[call-overload]
        return record_encoder.encode(layout, given, tod=_native.tod_from_unix_us(time_us))

    config = {"MTRSYS_SYSTMID": "REAL", "MTRSYS_HCPCPEID": "7.3.0", "MTRSYS_SYSMTYPE": "3906"}
    groups = [monwrite.configuration(monwrite.START_US, config)]
    for minute in range(3):
        end = monwrite.START_US + minute * monwrite.MINUTE_US
        values = {"B0": minute * 10**9, "B1": minute * 5 * 10**8}
        groups.append(monwrite.interval(end, cpumf_records.counters(make, end - 500, 0, values)))
    return monwrite.write(path, groups)


def test_renamed_fields_keep_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, names, user = page_of(tmp_path, monkeypatch)
    path = file(tmp_path / "real.mon", there, names)
    with zlens.open([path]) as session:
        assert "d5r13_counters" not in session._core.sources[0].tables
        assert session.sql("SELECT * FROM cpumf").rows == []
    assert issues_of_names(user, names) == []
    with zlens.open([path]) as session:
        assert session.sql("SELECT cpi, generation FROM cpumf").rows == [(2.0, "z14"), (2.0, "z14")]


def test_invalid_user_field_names_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, user = page_of(tmp_path, monkeypatch)
    wrong = issues_of_names(
        user,
        {
            "PRCMFC_ZLNOTHING": "PRCMFC_XCPUAD",
            "PRCMFC_ZLCPUAD": "PRCMFC_NOTHING",
            "PRCMFC_ZLCPSP": "PRCMFC_XCFVN",
            "PRCMFC_CCFCMFAC": "PRCMFC_XCFVN",
        },
    )
    for what in (
        "PRCMFC_ZLNOTHING is not a field of the catalog",
        "there is no field PRCMFC_NOTHING",
        "PRCMFC_XCFVN does not have the 4 bytes of PRCMFC_ZLCPSP",
        "the page itself has a field PRCMFC_CCFCMFAC",
    ):
        assert any(what in one for one in wrong), wrong
