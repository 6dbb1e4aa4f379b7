"""Tests of the SQL of roles."""

from __future__ import annotations

import duckdb

from zlens.compiler.roles import rows

PROCESSORS = {
    "d0r2": {"system", "source", "interval_end", "seconds", "flag", "sytprp_pfxcpuad", "sytprp_zlcore"}
}
RELEASES: dict[str | None, list[str]] = {"5.4": ["A"], "6.2": ["B"], "6.3": ["C"], "7.3": ["D"], None: ["E"]}


def test_releases_with_equal_formulas_are_read_together() -> None:
    """Before 6.3 a processor is a core: facts/roles/processor.toml."""
    query = rows("processor", ["core_id"], PROCESSORS, RELEASES)
    assert query.sql.count('FROM "d0r2"') == 2
    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE d0r2 AS SELECT system, 'x' AS source, TIMESTAMPTZ '2024-01-01' AS interval_end, "
            "60.0 AS seconds, NULL::VARCHAR AS flag, 7 AS sytprp_pfxcpuad, core::BIGINT AS sytprp_zlcore "
            "FROM (VALUES ('A'), ('B'), ('C'), ('D'), ('E')) AS s(system), (VALUES (NULL), (3)) AS c(core)"
        )
        database.execute(
            "CREATE TABLE _interval AS SELECT DISTINCT system, source, interval_end, 60.0 AS seconds, "
            "NULL::VARCHAR AS flag, NULL::TIMESTAMPTZ AS gap_end FROM d0r2"
        )
        found = database.execute(f"SELECT system, core_id FROM ({query.sql}) ORDER BY ALL NULLS LAST")
        cores = dict[str, list[int | None]]()
        for system, core in found.fetchall():
            cores.setdefault(system, []).append(core)
    assert cores == {name: [3, 7] if name in "AB" else [3, None] for name in "ABCDE"}


def test_all_systems_are_read_together_if_formulas_are_equal() -> None:
    query = rows("processor", ["cpu_id"], PROCESSORS, {"6.3": ["C"], "7.3": ["D"]})
    assert query.sql.count('FROM "d0r2"') == 1
    assert " IN (" not in query.sql


def typed(type: str) -> dict[str, dict[str, str]]:
    """Columns of the logical processors of SMF 70, with one type for the numbers."""
    numbers = dict.fromkeys(("smf70ont", "smf70pdt", "smf70edt", "partition_no"), type)
    leading = {"system": "text", "source": "text", "interval_end": "time", "seconds": "float", "flag": "text"}
    return {"smf70_logical": {**leading, "file": "text", "offset": "int", **numbers}}


def test_group_mentions_values_of_rows_once() -> None:
    """The limit of a time, its test and its sum read the columns of a layer below."""
    names = ["logical_cpus", "effective_time", "dispatch_time"]
    query = rows("partition", names, typed("int"), RELEASES)
    assert query.sql.count('"smf70ont"') == 1
    assert query.sql.count('"smf70pdt"') == 1
    assert query.sql.count('sum(r."dispatch_time")') == 1


def test_formulas_over_integers_are_finite() -> None:
    tested = {
        type: "isfinite" in rows("partition", ["logical_cpus"], typed(type), RELEASES).sql
        for type in ("int", "float")
    }
    assert tested == {"int": False, "float": True}


def test_floating_point_fields_become_finite() -> None:
    """Measures pass roles on as they are."""
    number = {"system": "text", "source": "text", "interval_end": "time", "row_kind": "text"}
    query = rows("partition", ["weight"], {"rmf_partition": {**number, "weight": "float"}}, RELEASES)
    assert 'CASE WHEN isfinite(r."weight"' in query.sql


def test_only_first_query_of_union_names_columns() -> None:
    query = rows("processor", ["core_id"], PROCESSORS, RELEASES)
    first, *others = query.sql.split("UNION ALL")
    assert 'AS "core_id"' in first
    assert others
    assert 'AS "core_id"' not in others[0].partition(" FROM ")[0]


def test_values_that_no_table_gives_have_no_bounds() -> None:
    """Only z/OS records the time without a wait; both values must not exceed the time online."""
    given, missing = (
        rows("processor", [name], PROCESSORS, RELEASES) for name in ("user_time", "mvs_busy_time")
    )
    assert 'r."user_time" < 0' in given.sql
    assert 'r."mvs_busy_time" < 0' not in missing.sql


def test_no_value_is_impossible_without_records() -> None:
    query = rows("address_space", ["impossible"], {}, RELEASES)
    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE _interval (system VARCHAR, source VARCHAR, interval_end TIMESTAMPTZ, "
            "seconds DOUBLE, flag VARCHAR, gap_end TIMESTAMPTZ)"
        )
        found = database.sql(f"SELECT impossible FROM ({query.sql})")
        assert found.types == ["VARCHAR"]
        assert found.fetchall() == []
