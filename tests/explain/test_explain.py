"""Tests of `zlens explain`: every name is explained, with the expected text."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from zlens.catalog import layouts, listings, measures, roles
from zlens.catalog.reports import definition
from zlens.catalog.roles import SQL_TYPES
from zlens.errors import QueryError
from zlens.explain import records as explain_records
from zlens.explain.names import _report_names, example, explain, known_names
from zlens.explain.reports import explain_report


@pytest.mark.parametrize("name", measures.measure_names())
def test_every_column_of_measure(name: str) -> None:
    table = measures.load_measure(name)
    assert explain(name).find(f"{name}: {table.text[:30]}") >= 0
    for column in table.columns:
        text = explain(f"{name}.{column.name}")
        assert f"{name}.{column.name}: {column.text[:20]}" in text
        for head in ("Table", "Value", "--every", "Source", "Status", "NULL", "Example"):
            assert f"\n{head:<9}" in text, f"{name}.{column.name} says nothing under {head}"
        assert column.status in text
        if column.formula:
            assert "\nFormula  " in text
            assert "\nInputs   " in text
        assert max(map(len, text.splitlines())) <= 140


def test_every_example_runs() -> None:
    database = duckdb.connect()
    for name in measures.measure_names():
        columns = ", ".join(f'"{c.name}" {SQL_TYPES[c.type]}' for c in measures.load_measure(name).columns)
        database.execute(f'CREATE TABLE "{name}" ({columns})')
    for table, column in measures.all_columns():
        database.execute(example(table, column))


@pytest.mark.long
def test_every_report_and_each_of_its_columns() -> None:
    for name in _report_names():
        assert explain(name)
    for name in definition.names():
        for table in definition.load_report(name).tables:
            for column in table.columns:
                text = explain(f"{name}.{column.key}")
                assert f"{name}.{column.key}: " in text
                for measure in column.measures:
                    assert measure in text


def test_every_role() -> None:
    for entity in roles.entities():
        what = roles.entity(entity)
        assert f"role.{entity}: " in explain(f"role.{entity}")
        for role in what.roles:
            assert f"role.{entity}.{role}: " in explain(f"{entity}.{role}")


def test_every_record() -> None:
    for record in layouts.records():
        text = explain(record)
        head = layouts.record_info(record)
        assert head is not None
        assert head.dsect in text
        assert explain(record.lower()) == text


def test_every_column_of_printed_report() -> None:
    for report in explain_records.printed_reports():
        for table in report.tables:
            assert f"{table.name}: " in explain(table.name)
            for column in table.columns:
                assert column.name in explain(f"{table.name}.{column.name}")


def test_every_alias() -> None:
    for alias, (ours, _) in measures.aliases().items():
        assert f"{ours}: " in explain(alias)


def test_explain_shows_record_field_and_offset() -> None:
    text = explain("cpu.user_pct")
    assert "processor.user_time" in text
    assert "D0R2: SYTPRP_PFXUTIME, difference of two samples" in text
    assert "byte 32, 8 bytes, timer (stated)" in text


def test_inferred_place_and_changes_are_named() -> None:
    text = explain("SYTPOW_POWUNASGN")
    assert "inferred byte 76, 8 bytes, counter (stated)" in text
    assert "inferred: the order of control block POWBK and the length of the record" in text
    text = " ".join(explain("d0r25").split())
    assert "7.3: VM66823 (2025-06-11); 7.4: VM66824 (2025-06-18)" in text
    assert "that belong to no partition (inferred)" in text


def test_missing_input_names_its_record_page() -> None:
    sentence = "D0R2: not available so far; its record page MRSYTPRP may describe a field"
    assert sentence in explain("cpu.mvs_busy_pct")
    # A field with a known name and an unknown offset.
    sentence = "D0R2: SYTPRP_ZLPOLAR", "the record page MRSYTPRP of your release has it"
    assert all(each in " ".join(explain("cpu.polarity").split()) for each in sentence)
    assert "(MRSYTCOM)" in explain("cpu.sigp_rate")


def test_field_by_any_of_its_names() -> None:
    for name in ("SYTPRP_PFXUTIME", "PFXUTIME", "sytprp_pfxutime_d", "d0r2.sytprp_pfxutime", "D0R2.PFXUTIME"):
        text = explain(name)
        assert text.startswith("D0R2 SYTPRP_PFXUTIME: ")
        assert "processor.user_time" in text
    assert explain("MRSYTPRP") == explain("d0r2")
    assert explain("d0r2.tod").startswith("d0r2.tod: timestamp of the record")


def test_unqualified_column_explains_every_table() -> None:
    text = explain("busy_pct")
    assert "cpu.busy_pct: " in text
    assert "load.busy_pct: " in text


def test_common_columns_are_explained_once() -> None:
    text = explain("interval_end")
    assert "the first columns of every measure" in text
    assert "cpumf.interval_end" not in text


def test_spread_of_gauge() -> None:
    assert "online_p95 is its 95th percentile" in explain("load.online_p95")


def test_field_of_user_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built_in = layouts.files("D0R2")[0][1].read_text(encoding="utf-8")
    pack = tmp_path / "packs" / "zvm-9.9"
    pack.mkdir(parents=True)
    moved = built_in.replace('release = "6.4"', 'release = "9.9"').replace(
        '"SYTPRP_PFXUTIME", at = 32', '"SYTPRP_PFXUTIME", at = 48'
    )
    (pack / "d00r02.toml").write_text(moved, encoding="utf-8")
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path))
    layouts.clear_cache()
    try:
        assert "(pack zvm-9.9): byte 48, 8 bytes, timer (stated)" in explain("cpu.user_pct")
    finally:
        monkeypatch.undo()
        layouts.clear_cache()


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("busy_pc", "busy_pct"),
        ("cpu.bussy_pct", "cpu.busy_pct"),
        ("SYTPRP_PFXUTIM", "SYTPRP_PFXUTIME"),
        ("processor.usertime", "processor.user_time"),
        ("", "zlens.reports.names()"),
        ("'; DROP TABLE cpu; --", "zlens.reports.names()"),
        ("x" * 10_000, "zlens.reports.names()"),
        ("d0r2.", ""),
        ("role.", ""),
    ],
)
def test_unknown_name_error_has_suggestions(wrong: str, near: str) -> None:
    with pytest.raises(QueryError) as caught:
        explain(wrong)
    assert near in str(caught.value)


def test_all_known_names_are_explained() -> None:
    for name in known_names()[:50]:
        assert explain(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("d10r2_mon_fsstatd.fs_dir", "a text of an entry of mon_fsstatd, after its length"),
        ("d10r2_mon_fsstatd.fs_flag", "byte 64 after the texts of an entry of mon_fsstatd, 8 bytes"),
        ("d3r8_blocks.stobpg_block_size", "the number of the entry of blocks"),
        ("d5r13_counters.c0_d", "c0_d is the difference from the sample before"),
        ("freeram", "column   freeram of table d10r2_linux_mem"),
    ],
)
def test_explain_fields_without_fixed_offset(name: str, words: str) -> None:
    assert words in explain(name).replace("Column", "column")


def test_column_of_several_tables_is_described_once() -> None:
    text = explain_report("cpumf")
    blocks = [block for block in text.split("\n\n") if block.startswith("CPI [cpi]")]
    assert len(blocks) == 3
    assert [block.endswith("as above") for block in blocks] == [False, True, True]


def test_explain_describes_mean_rows() -> None:
    weighted, plain = (" ".join(explain_report(name).split()) for name in ("throughput", "procsum"))
    assert "averaged over its intervals by the weight of the column" in weighted
    assert "the plain mean of its recorded intervals" in plain


@pytest.mark.parametrize("name", measures.measure_names())
def test_explain_shows_weight_of_mean(name: str) -> None:
    """Ratios and gauges are averaged; all others are added, or are of one row."""
    for column in measures.load_measure(name).columns:
        has_mean = "\nMean     " in explain(f"{name}.{column.name}")
        assert has_mean == (column.aggregate in {"ratio", "gauge"}), column.name


@pytest.mark.long
def test_listing_table_names_its_roles_or_reason() -> None:
    assert "Feeds    role page_area: a paging or spool area" in explain("listing_cpowned")
    assert "not block_size: it covers all volumes" in explain("listing_cpowned")
    assert "Feeds    guest.page_reads" in explain("listing_upage.page_read_rate")
    assert "Feeds    no role: it adds up all volumes" in explain("listing_auxlog")
    assert "Feeds    role processor: one sample" in explain("listing_cpu_load")
    assert "Feeds    no role: no measure has it" in explain("listing_mondata")
    assert all("Feeds " in explain(name) for name in listings.tables())
    assert "Feeds    no role: it is a text of several numbers" in explain("listing_uconf.types")


def test_unmapped_listing_columns_exist_and_feed_nothing() -> None:
    for name in listings.unmapped_reasons():
        table, _, column = name.partition(".")
        report, key = listings.tables()[table]
        if column:
            assert column in {each.key for each in definition.load_report(report).table(key).columns}
        assert "Feeds    no role: " in explain(name)
